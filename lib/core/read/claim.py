"""A claim: a statement of a source, and a function from stored results to whether it holds here."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lib.core.read import typeset
from lib.core.read.statistics import Trend, mean_interval
from lib.core.record.store import Store

OURS = {"ours": "this book"}
"""The source of claims that no paper makes; papers are named by the studies that read them."""
REPRODUCED, PARTLY, NOT_RUN = "reproduced", "partly", "not run"
OPPOSITE, NO_EFFECT, TOO_SMALL = "opposite", "no clear effect", "too small to tell"
STATUSES = (REPRODUCED, PARTLY, OPPOSITE, NO_EFFECT, TOO_SMALL, NOT_RUN)
"""OPPOSITE, NO_EFFECT and TOO_SMALL are what is not reproduced, told apart by an interval or an exact test."""
QUESTIONS = {
    "flip": "γ flips the answer",
    "simple": "small weights are simpler",
    "rule": "the rule comes first",
    "prompt": "prompts are copied",
    "language": "language",
}
"""The questions of the book, each of which claims answer."""


@dataclass(frozen=True)
class Finding:
    """What a check found: the measured value in words, its status, on how many seeds (0 where none are involved), and the
    named parts of the criterion that do not hold."""

    measured: str
    status: str
    n_seeds: int = 0
    failed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status must be one of {STATUSES}, got {self.status!r}.")


_COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
_WRITTEN = {">=": "at least", ">": "more than", "<=": "at most", "<": "below"}


@dataclass(frozen=True)
class Part:
    """One named part of a criterion: holds if `measured` compares so with `threshold`. `given`: it has to hold before the
    others can say anything, and earns nothing by holding.

    What a part that does not hold says is `failure`: OPPOSITE, NO_EFFECT or TOO_SMALL, decided by its test or its interval
    (`by_exact_test`, `above_zero`, `by_interval`, `by_worst`). The default is for counts, which have neither.
    """

    name: str
    measured: float
    compare: str
    threshold: float
    form: str = "{:.2f}"
    given: bool = False
    failure: str = NO_EFFECT
    power: str = ""
    """What is behind it, in words: of a test that is too small to tell what it could have shown, of a value its interval."""
    group: str = ""
    """Parts of one group earn by holding together alone."""

    @property
    def holds(self) -> bool:
        return not math.isnan(self.measured) and bool(_COMPARE[self.compare](round(self.measured, 9), self.threshold))

    def words(self) -> str:
        """`contrast: 0.12 (needed: at least 0.9)`."""
        measured = "none" if math.isnan(self.measured) else self.form.format(self.measured)
        needed = f"{_WRITTEN[self.compare]} {self.form.format(self.threshold)}"
        return typeset.characters(f"{self.name}: {measured} (needed: {needed}{'; ' * bool(self.power)}{self.power})")

    def as_dict(self) -> dict[str, Any]:
        measured = None if math.isnan(self.measured) else self.measured
        kept = {"name": self.name, "measured": measured, "compare": self.compare, "threshold": self.threshold}
        return kept | {"given": self.given, "holds": self.holds} | ({} if self.holds else {"failure": self.failure})


def by_exact_test(name: str, p: float, p_opposite: float, least: float, level: float = 0.05) -> Part:
    """A one-sided exact test. One that fails is opposite if the other side is rare, and too small to tell if no outcome of
    these runs could have been rare: `least` is the smallest p that they allow."""
    failure = OPPOSITE if p_opposite <= level else TOO_SMALL if least > level else NO_EFFECT
    power = f"the least p that these runs allow is {least:.2g}" * (failure == TOO_SMALL)
    return Part(name, p, "<=", level, "{:.2g}", failure=failure, power=power)


def above_zero(
    name: str, found: tuple[float, float, float], little: float = 0.0, what: str = "difference", form: str = "{:.3f}"
) -> Part:
    """A value with its 95 % interval lies above 0. An interval that ends below `little` shows that there is none worth the
    name; one that reaches further tells too little. what: how the value is called."""
    value, low, high = found
    failure = OPPOSITE if high < 0 else NO_EFFECT if high < little else TOO_SMALL
    power = f"{what} {form.format(value)}, upper end {form.format(high)}" if math.isfinite(high) else ""
    return Part(f"{name}: lower end of the 95 % interval", low, ">", 0.0, form, failure=failure, power=power)


def missed(ends: tuple[float, float], compare: str, threshold: float, neutral: float | None = None) -> str:
    """What it says that a value misses a threshold, by its 95 % interval: TOO_SMALL where the interval reaches the threshold
    or has no end; OPPOSITE where all of it lies on the other side of `neutral`, the value of no effect (None: there is no
    other side); else NO_EFFECT."""
    rises = compare in (">", ">=")
    far = ends[rises]
    if math.isnan(far) or _COMPARE[compare](round(far, 9), threshold):
        return TOO_SMALL
    return OPPOSITE if neutral is not None and (far < neutral if rises else far > neutral) else NO_EFFECT


def by_interval(
    name: str,
    found: Trend,
    compare: str,
    threshold: float,
    form: str = "{:.2f}",
    neutral: float | None = None,
    group: str = "",
) -> Part:
    """A value holds by itself; where it does not, its 95 % interval says what that means (`missed`)."""
    value, *ends = found
    known = all(map(math.isfinite, ends))
    power = f"95 % interval {' to '.join(map(form.format, ends))}" * known
    failure = missed((ends[0], ends[1]), compare, threshold, neutral)
    return Part(name, value, compare, threshold, form, failure=failure, power=power, group=group)


def by_worst(name: str, values: ArrayLike, compare: str, threshold: float, form: str = "{:.2f}", **how: Any) -> Part:
    """Asked of every run: the worst of their values holds; where it does not, the interval of their mean says what that
    means. form, neutral, group: as of `by_interval`."""
    worst = float((np.min if compare in (">", ">=") else np.max)(values))
    mean, *ends = mean_interval(values)
    part = by_interval(name, (mean, ends[0], ends[1]), compare, threshold, form, **how)
    power = f"mean {form.format(mean)}, {part.power}" * bool(part.power)
    return replace(part, measured=worst, power=power)


@dataclass(frozen=True)
class Measured:
    """What a check measured, part by part, and on how many seeds."""

    parts: tuple[Part, ...]
    n_seeds: int

    def finding(self) -> Finding:
        """The verdict: too small to tell where what has to be given is not; else reproduced if all parts hold, partly if some
        do, groups as one; of none, what the parts say. Without parts nothing was run."""
        if not self.parts:
            return Finding("nothing that it asks for is stored", NOT_RUN)
        asked = [part for part in self.parts if not part.given]
        failed = [part for part in self.parts if not part.holds]
        broken = {part.group or part.name for part in failed}
        if any(part.given for part in failed):
            status = TOO_SMALL
        elif any((part.group or part.name) not in broken for part in asked):
            status = PARTLY if failed else REPRODUCED
        else:
            failures = {part.failure for part in failed}
            status = next((kind for kind in (OPPOSITE, TOO_SMALL) if kind in failures), NO_EFFECT)
        words = "; ".join(part.words() for part in self.parts)
        return Finding(words, status, self.n_seeds, tuple(part.name for part in failed))


def in_settings(found: Mapping[str, Measured]) -> Measured:
    """One question asked in several settings, {setting: what was measured there}: a part and its group are named by their
    setting. On as many seeds as the setting with the fewest has."""
    parts = [
        replace(part, name=f"{setting}: {part.name}", group=part.group and f"{setting}: {part.group}")
        for setting, measured in found.items()
        for part in measured.parts
    ]
    return Measured(tuple(parts), min(measured.n_seeds for measured in found.values()))


@dataclass(frozen=True)
class Claim:
    """`check(store, profile)` computes the finding, or measures its parts; it raises LookupError itself (no KeyError or
    IndexError) where the results
    that it needs are not stored.

    `by_construction`: it tests the task itself, on which no trained model has a say, and so must not count as a result.
    `question`: which of QUESTIONS it answers. `figure`: the number of the figure of this book that shows it.
    `revised`: where the criterion is not the first one, why it was replaced. Results of the former were known by then.
    """

    id: str
    paper: str
    item: str
    statement: str
    reported: str
    criterion: str
    check: Callable[[Store, str], Finding | Measured]
    by_construction: bool = False
    revised: str = ""
    question: str = ""
    figure: str = ""

    def evaluate(self, store: Store, profile: str) -> dict[str, Any]:
        """The claim with what was measured, as plain data."""
        parts: tuple[Part, ...] = ()
        try:
            finding = self.check(store, profile)
            if isinstance(finding, Measured):
                parts, finding = finding.parts, finding.finding()
        except (IndexError, KeyError):
            raise  # a mistake, not a missing result
        except LookupError as error:
            finding = Finding(str(error).strip("'\""), NOT_RUN)
        names = [field.name for field in fields(self)]
        at = names.index("check")  # in its place stands what it found
        told = lambda some: {name: getattr(self, name) for name in some}
        found = {
            "measured": finding.measured,
            "status": finding.status,
            "profile": profile,
            "n_seeds": finding.n_seeds,
            "failed": list(finding.failed),
        }
        return told(names[:at]) | found | told(names[at + 1 :]) | {"parts": [part.as_dict() for part in parts]}


def asking(question: str, *claims: Claim) -> tuple[Claim, ...]:
    """Claims that answer this question, but for those that name another."""
    return tuple(replace(claim, question=claim.question or question) for claim in claims)
