"""Words of any study's prose: counts, lists and capital letters."""

from __future__ import annotations

from collections.abc import Sequence


def number_of(n: int, what: str = "run") -> str:
    """`1 run`, `2 runs`."""
    return f"{n} {what}{'s' * (n != 1)}"


def sentence(words: str) -> str:
    """With a capital letter, and nothing else changed."""
    return words[:1].upper() + words[1:]


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
