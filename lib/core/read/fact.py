"""A fact: a number that a text uses, how it is written, and what it rests on; and the links by which a text names it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lib.core.read import typeset

LINK = re.compile(r"\[([^\]\[]+)\]\(#(n|claim)-([a-z0-9-]+)\)")
"""`[93%](#n-right-at-055)` names the fact `right-at-055`, `[reproduced](#claim-it-is-right)` the claim `it-is-right`."""
ABSENT = "–"
_WORDS = ("none", *["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"])


@dataclass(frozen=True)
class Fact:
    """`form` is a template for str.format; of several values, `value` is a tuple. None and NaN stand for what these results do
    not have. `rests_on`: which runs, which statistic, which unit."""

    value: float | str | tuple[float | str | None, ...] | None
    form: str
    rests_on: str

    @property
    def text(self) -> str:
        """As a text writes it."""
        values = self.value if isinstance(self.value, tuple) else (self.value,)
        if any(v is None or (isinstance(v, float) and math.isnan(v)) for v in values):
            return ABSENT
        return typeset.characters(self.form.format(*values))


@dataclass(frozen=True)
class Link:
    """A number ("n") or a verdict ("claim") in a text: what is written, and the fact or claim that it names."""

    written: str
    kind: str
    name: str


def mean(values: Iterable[float | None]) -> float | None:
    """None where there are no values, or one is missing."""
    found = list(values)
    known = [value for value in found if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(found) else None


def span(values: Iterable[float]) -> tuple[float | None, float | None]:
    """The least and the largest; None of no values."""
    found = list(values)
    return (min(found), max(found)) if found else (None, None)


def links(cells: Iterable[str]) -> list[Link]:
    """Those of Markdown cells, in their order."""
    return [Link(*match.groups()) for cell in cells for match in LINK.finditer(cell)]


def in_words(n: int) -> str:
    """`three`; digits from 13 on."""
    return _WORDS[n] if 0 <= n < len(_WORDS) else str(n)


def number_of(n: int, what: str = "run") -> str:
    """`1 run`, `2 runs`."""
    return f"{n} {what}{'s' * (n != 1)}"


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def same(written: str, fact: Fact) -> bool:
    """Does a text say the fact? A sentence may begin with it."""
    found, expected = typeset.characters(written.strip()), fact.text
    return found[:1].lower() + found[1:] == expected[:1].lower() + expected[1:]
