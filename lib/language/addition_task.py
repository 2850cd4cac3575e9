"""Addition a + b = c with a square of the table held out (Zhang et al. 2024, Fig. 17; the square after Hu et al. 2024).

a and b are whole numbers below `numbers`; the pairs with both in low … high, inclusive, are the test, all others training. The
control holds out as many pairs at random. A number is one token, and a row is `a b OUT c` with its loss on c (our choice).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from lib.core.model.rng import randint
from lib.language.text import END, OUT, PAD, LanguageError

SPLITS = ("square", "random")
MARKS = (PAD, OUT, END)
_OUT = MARKS.index(OUT)
_PAIR, _SPLIT = 81, 82  # streams of random numbers


@dataclass(frozen=True)
class Addition:
    """Pairs of numbers below `numbers`, tested on the square low … high or, for split "random", on as many pairs drawn
    once. The paper's sizes are the defaults: 40,401 test pairs, 959,599 in training; the small ones are
    (200, 80, 120): 1,681 and 38,319. Raises LanguageError for sizes that leave no test or no training.
    """

    numbers: int = 1000
    low: int = 400
    high: int = 600
    split: str = "square"

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high < self.numbers:
            raise LanguageError(
                f"the square must lie within the numbers 0 to {self.numbers - 1}: choose 0 ≤ low ≤ high < numbers, got "
                f"low {self.low} and high {self.high}."
            )
        if self.high - self.low + 1 == self.numbers:
            raise LanguageError(f"the square {self.low} to {self.high} leaves nothing to train on: make it smaller.")
        if self.split not in SPLITS:
            raise LanguageError(f"split must be one of {', '.join(SPLITS)}, got {self.split!r}.")

    @cached_property
    def _tested(self) -> Tensor:
        """(numbers²,) bool: is the pair number a · numbers + b held out?"""
        number = torch.arange(self.numbers)
        inside = (number >= self.low) & (number <= self.high)
        square = (inside[:, None] & inside).flatten()
        if self.split == "square":
            return square
        order = randint(torch.tensor(0), _SPLIT, torch.arange(len(square)), 2**31).argsort(stable=True)
        return torch.zeros_like(square).index_fill(0, order[: int(square.sum())], True)

    @cached_property
    def _trained(self) -> Tensor:
        """(M,) int32: the numbers of the pairs of training, ascending."""
        return (~self._tested).nonzero()[:, 0].int()

    def _pairs(self, number: Tensor) -> Tensor:
        return torch.stack([number // self.numbers, number % self.numbers], -1).long()

    @property
    def train(self) -> Tensor:
        """(M, 2) int64: every pair of training once."""
        return self._pairs(self._trained)

    @property
    def test(self) -> Tensor:
        """(T, 2) int64: every test pair once."""
        return self._pairs(self._tested.nonzero()[:, 0])

    def edge_distance(self, pair: Tensor) -> Tensor:
        """(..., 2) → (...,): how far a pair within the square is from its edge, in steps of one in a or b; 0 on the edge,
        negative outside."""
        return torch.minimum(pair - self.low, self.high - pair).amin(-1)

    def whole(self, pair: Tensor) -> tuple[Tensor, Tensor]:
        """(..., 2) pairs as tokens (..., 3) `a b OUT` and targets (...,) c, int64."""
        mark = torch.full_like(pair[..., :1], _OUT)
        return torch.cat([pair + len(MARKS), mark], -1), pair.sum(-1) + len(MARKS)

    def rows(self, seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        """Training rows, uniform on the pairs of training; number `index` of the data set `seed` is a pure function of the two
        (broadcast together)."""
        trained = self._trained.to(index.device)
        return self.whole(self._pairs(trained[randint(seed, _PAIR, index, len(trained))]))
