"""Addition a + b = c with a square of the table held out (Zhang et al. 2024, Fig. 17; the square after Hu et al. 2024).

a and b are whole numbers below `numbers`; the pairs with both in low … high, inclusive, are the test, all others training. The
control holds out as many pairs at random. Two forms, both our choice: *whole*, where a number is one token and a row is
`a b OUT c` with its loss on c; and *digits*, rows `a + b OUT c END` with OUT for the sign =, numbers without leading zeros, and
c from its last digit to its first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from lib.core.model.rng import randint
from lib.language.text import END, OUT, PAD, LanguageError, Rows, Vocabulary

SPLITS = ("square", "random")
MARKS = (PAD, OUT, END)
_PAD, _OUT = MARKS.index(PAD), MARKS.index(OUT)
DIGITS = Vocabulary((*MARKS, "+", *map(str, range(10))))
"""The words of the digits form."""
_DIGIT = {word: token for token, word in enumerate(DIGITS.words)}
MOST_NUMBERS = 5000
"""All pairs are listed in memory."""
_PAIR, _SPLIT = 81, 82  # streams of random numbers


@dataclass(frozen=True)
class Batch:
    """tokens (..., 3) `a b OUT` and target (...,) c, both as tokens, int64; pair (..., 2): the numbers a and b."""

    tokens: Tensor
    target: Tensor
    pair: Tensor


@dataclass(frozen=True)
class Addition:
    """Pairs of numbers below `numbers`, tested on the square low … high or, for split "random", on as many pairs that
    `split_seed` draws. The paper's sizes are the defaults: 40,401 test pairs, 959,599 in training; the small ones are
    (200, 80, 120): 1,681 and 38,319. Raises LanguageError for sizes that leave no test or no training.
    """

    numbers: int = 1000
    low: int = 400
    high: int = 600
    split: str = "square"
    split_seed: int = 0

    def __post_init__(self) -> None:
        for name in ("numbers", "low", "high"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise LanguageError(f"{name} must be an integer, got {value!r}.")
        if self.numbers > MOST_NUMBERS:
            raise LanguageError(f"numbers must be at most {MOST_NUMBERS}, got {self.numbers}.")
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
        order = randint(torch.tensor(self.split_seed), _SPLIT, torch.arange(len(square)), 2**31).argsort(stable=True)
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

    def draw(self, seed: Tensor, index: Tensor) -> Tensor:
        """(..., 2) pairs, uniform on those of training; number `index` of the data set `seed` is a pure function of the two
        (broadcast together)."""
        trained = self._trained.to(index.device)
        return self._pairs(trained[randint(seed, _PAIR, index, len(trained))])

    def edge_distance(self, pair: Tensor) -> Tensor:
        """(..., 2) → (...,): how far a pair within the square is from its edge, in steps of one in a or b; 0 on the edge,
        negative outside."""
        return torch.minimum(pair - self.low, self.high - pair).amin(-1)

    # ---------------------------------------------------------------- whole numbers

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of the whole form: the marks, then a token for each of 0 … 2 (numbers − 1), in order."""
        return Vocabulary((*MARKS, *map(str, range(2 * self.numbers - 1))))

    def whole(self, pair: Tensor) -> Batch:
        """(..., 2) pairs in the whole form."""
        mark = torch.full_like(pair[..., :1], _OUT)
        return Batch(torch.cat([pair + len(MARKS), mark], -1), pair.sum(-1) + len(MARKS), pair)

    def rows(self, seed: Tensor, index: Tensor) -> Batch:
        """Training rows in the whole form, drawn as `draw` does."""
        return self.whole(self.draw(seed, index))

    # ---------------------------------------------------------------- digits

    def digits(self, pair: Tensor) -> Rows:
        """(..., 2) pairs in the digits form, as Rows of tokens of DIGITS, all padded to the longest that there can be."""
        a, b = pair.unbind(-1)
        parts = [
            _digits(a, self.numbers - 1, reverse=False),
            _word("+", a),
            _digits(b, self.numbers - 1, reverse=False),
            _word(OUT, a),
            _digits(a + b, 2 * self.numbers - 2, reverse=True),
            _word(END, a),
        ]
        padded = torch.cat(parts, -1)
        written = padded != _PAD
        order = (~written).int().argsort(dim=-1, stable=True)  # what is written first, as it stands
        start = torch.cat(parts[:4], -1).ne(_PAD).sum(-1)
        return Rows(padded.gather(-1, order), start, written.sum(-1))


def _word(word: str, like: Tensor) -> Tensor:
    """(...,) → (..., 1): the token of a word of DIGITS."""
    return torch.full_like(like, _DIGIT[word])[..., None]


def _digits(number: Tensor, largest: int, reverse: bool) -> Tensor:
    """(...,) → (..., n): the tokens of a number's digits, PAD for leading zeros; n: as many as `largest` has; `reverse`: the
    last digit first."""
    power = 10 ** torch.arange(len(str(largest)), device=number.device)
    left = number[..., None] // power
    tokens = torch.where((left > 0) | (power == 1), left % 10 + _DIGIT["0"], _PAD)
    return tokens if reverse else tokens.flip(-1)
