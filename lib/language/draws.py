"""Random choices for text: the k-th choice of document (seed, stream, number) is a hash of these four numbers.

The same hash as in `lib/core/model/rng.py`, in integers of Python, because text is put together choice by choice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

T = TypeVar("T")
_MASK = 2**64 - 1


def mix(x: int) -> int:
    """SplitMix64's finalizer on an unsigned 64-bit integer."""
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


class Draws:
    """The choices of one document, one after the other."""

    def __init__(self, seed: int, stream: int, number: int) -> None:
        self._key = mix(mix((seed * 1_000_003 + stream) & _MASK) + number & _MASK)
        self._count = 0

    def uniform(self) -> float:
        """In [0, 1), in steps of 2⁻⁵³."""
        x = (self._key + self._count + 0x9E3779B97F4A7C15) & _MASK  # `mix` in place: text is made of millions of choices
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
        self._count += 1
        return ((x ^ (x >> 31)) >> 11) * 2.0**-53

    def chance(self, probability: float) -> bool:
        return self.uniform() < probability

    def below(self, high: int) -> int:
        """In 0 … high − 1, all equally likely (up to 2⁻⁵³)."""
        return int(self.uniform() * high)

    def one(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[T], cumulative: Sequence[float]) -> T:
        """Option k with weight cumulative[k] − cumulative[k − 1]."""
        return options[bisect_right(cumulative, self.uniform() * cumulative[-1], hi=len(options) - 1)]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """All of them in an order that is uniform (Fisher and Yates)."""
        found = list(options)
        for last in range(len(found) - 1, 0, -1):
            other = self.below(last + 1)
            found[last], found[other] = found[other], found[last]
        return found


def zipf(count: int) -> list[float]:
    """(count,) cumulative weights: the k-th option, from 1, has weight 1 / k."""
    return list(accumulate(k**-1.0 for k in range(1, count + 1)))  # 1 / k is rounded otherwise, and draws would differ
