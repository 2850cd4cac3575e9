"""Binary classification in context (Li et al. 2024a, section 2): patterns, tasks and prompts.

Inputs are x = μ_j + κ ν_k: a relevant pattern and an irrelevant one, κ uniform on ±½. All patterns are orthonormal. A task
is an ordered pair (a, b): inputs with μ_a have the label +1, those with μ_b −1, all others a fair coin's. A prompt is a
matrix whose columns are (x_i; ±q), and last (x_query; 0).

The model's start and gradient descent do not change under a rotation of the inputs, so patterns are unit vectors along the
axes. Out of domain, relevant patterns are mixtures of disjoint sets of trained ones, of unit norm, whose coefficients add up to
S₁ (our construction). Two patterns a mixture leave no freedom: S₁ sets the angle to the nearest trained pattern as well. Of
three the largest coefficient is kept at LEADING for every S₁, so that this angle is always the same. Irrelevant patterns are
(ν_{2k−1} + ν_{2k}) / √2. Unit norms, the share of a and b in the query (one half) and κ are our reading.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import torch
from torch import Tensor

from lib.core.model.rng import randint
from lib.core.record.spec import SpecError, check_count, check_number

LOUDEST = 1e3
"""Noise beyond this leaves no digit of a feature."""
D_X = D_Y = 30
"""Widths of the feature half and the label half of a column."""
D = D_X + D_Y
_TASK, _PATTERN, _OTHER, _NOISE, _KAPPA, _COIN, _CHOICE = (*range(31, 37), 39)  # streams of random numbers
_FINE = 2**24
LEADING = 0.8
"""The largest coefficient of a mixture of three patterns."""


@dataclass(frozen=True)
class Prompts:
    """prompt (..., l + 1, D); target (..., l + 1): the task's label of every column's input, 0 where it is a coin's; pattern
    (..., l + 1): the number of its relevant pattern; pair (..., 2): the task."""

    prompt: Tensor
    target: Tensor
    pattern: Tensor
    pair: Tensor

    @property
    def same(self) -> Tensor:
        """(..., l): does a column of the context share its relevant pattern with the query?"""
        return self.pattern[..., :-1] == self.pattern[..., -1:]

    @property
    def answer(self) -> Tensor:
        """(...,): the query's label, ±1."""
        return self.target[..., -1]


@dataclass(frozen=True)
class Task:
    """`m1` relevant and `m2` irrelevant patterns; each example shows the task's two patterns with probability `alpha`.

    Tasks are the pairs (i, i + s mod `among`) for s in `shifts`, i < `among` (0: all m1), shown to a model in training; or as
    many of all pairs drawn by the seed `drawn`, if it is not 0, such that every pattern is first at least once, and second;
    `within`: of the tasks between the two patterns of a mixture, (2j, 2j + 1) and back, all as well if True, none if False.
    `unseen` takes those that are not. `sum`: S₁ of out-of-domain patterns, each of `mix` trained ones; None in domain.
    `outside`: relevant patterns are irrelevant ones of training, so that they lie outside the span. `loud`: times
    the irrelevant pattern is larger than in training, so that κ ~ U(−loud/2, loud/2). `hidden`: every label of the context is
    a coin's, so that the query's can be told by which task it is alone. Raises SpecError for what cannot be drawn.
    """

    m1: int = 6
    m2: int = 24
    alpha: float = 0.8
    length: int = 20
    shifts: tuple[int, ...] = (1, 2, 3)
    among: int = 0
    norm: float = 2.0
    sum: float | None = None
    outside: bool = False
    mix: int = 2
    loud: float = 1.0
    drawn: int = 0
    within: bool | None = None
    hidden: bool = False

    def __post_init__(self) -> None:
        for name, low in (("m1", 2), ("m2", 1), ("length", 1), ("among", 0), ("drawn", 0)):
            check_count(name, getattr(self, name), low)
        check_count("mix", self.mix, 2, 3)
        if check_number("loud", self.loud, low=0) > LOUDEST:
            raise SpecError(f"loud must be at most {LOUDEST:g}, got {self.loud!r}.")
        if isinstance(self.shifts, str) or not isinstance(self.shifts, Iterable):
            raise SpecError(f"shifts must be numbers from 1 to {(self.among or self.m1) - 1}, got {self.shifts!r}.")
        object.__setattr__(self, "shifts", tuple(self.shifts))
        if self.m1 + self.m2 > D_X:
            raise SpecError(f"m1 + m2 must be at most {D_X} orthogonal patterns, got {self.m1} + {self.m2}.")
        check_number("alpha", self.alpha, low=0)
        check_number("norm", self.norm, low=0, strict=True)
        if not 0 <= self.alpha <= 1 or (self.alpha < 1 and self.count < 3):
            raise SpecError(f"alpha must lie in [0, 1], and be 1 where there are but two patterns, got {self.alpha!r}.")
        low, high = self.widest
        if self.sum is not None and not low <= check_number("sum", self.sum) <= high:
            raise SpecError(f"sum must lie between {low:.3g} and {high:.3g}, for patterns of unit norm, got {self.sum!r}.")
        known = {s for s in self.shifts if type(s) is int and 0 < s < (self.among or self.m1)}
        if not known or len(known) < len(self.shifts) or self.among > self.m1:
            raise SpecError(f"shifts must be numbers from 1 to {(self.among or self.m1) - 1}, got {self.shifts!r}.")
        if self.drawn and (self.among or self.foreign):
            raise SpecError("tasks are drawn from the pairs of all m1 patterns, in domain: leave among, sum and outside out.")
        if self.drawn and len(self.shifts) < 2:  # a choice with every pattern on both sides is not soon found
            raise SpecError(f"at least two tasks a pattern can be drawn: give two shifts or more, got {self.shifts!r}.")
        if type(self.hidden) is not bool:
            raise SpecError(f"hidden must be True or False, got {self.hidden!r}.")
        halved = self.mix == 2 and not (self.m1 % 2 or self.drawn or self.among)
        if self.within is not None and not (type(self.within) is bool and halved):
            raise SpecError("within must be None, or True or False with an even m1 mixed by twos, no drawn and no among.")
        if self.foreign and (self.count < 2 or self.m2 < 2 * self.count):
            raise SpecError(
                f"out of domain there must be two patterns at least: use m1 of at least {2 * self.mix}, and m2 of at least "
                f"{2 * max(2, self.count)}."
            )

    @property
    def foreign(self) -> bool:
        """Is it out of domain?"""
        return self.sum is not None or self.outside

    @property
    def count(self) -> int:
        """How many relevant patterns a prompt may show: M₁, out of domain M₁' = M₁ / mix."""
        return self.m1 // self.mix if self.foreign else self.m1

    @property
    def widest(self) -> tuple[float, float]:
        """The least and the largest S₁ that mixtures of unit norm can have."""
        lead, rest = self._leading
        return (lead or 0.0) - rest, (lead or 0.0) + rest

    @property
    def _leading(self) -> tuple[float | None, float]:
        """The coefficient of a mixture that S₁ leaves as it is, if there is one, and the largest sum of the other two."""
        return (None, math.sqrt(2)) if self.mix == 2 else (LEADING, math.sqrt(2 * (1 - LEADING**2)))

    @cached_property
    def patterns(self) -> Tensor:
        """(count, D_X) relevant patterns."""
        axes = torch.eye(D_X)
        if self.outside:
            return axes[self.m1 : self.m1 + self.count]
        if self.sum is None:
            return axes[: self.m1]
        lead, widest = self._leading
        left = self.sum - (lead or 0.0)
        root = math.sqrt(max(0.0, widest**2 - left**2))
        weights = ([] if lead is None else [lead]) + [(left + root) / 2, (left - root) / 2]
        parts = [weight * axes[i : self.mix * self.count : self.mix] for i, weight in enumerate(weights)]
        return cast(Tensor, sum(parts))

    @cached_property
    def irrelevant(self) -> Tensor:
        """(n, D_X) irrelevant patterns; outside the span, those that are not taken for relevant ones."""
        axes = torch.eye(D_X)[self.m1 : self.m1 + self.m2]
        if not self.foreign:
            return axes
        free = axes[self.count :] if self.outside else axes
        return (free[0 : len(free) // 2 * 2 : 2] + free[1::2][: len(free) // 2]) / math.sqrt(2)

    @cached_property
    def pairs(self) -> Tensor:
        """(n, 2) the training tasks; out of domain all ordered pairs."""
        if self.foreign:
            return all_pairs(self.count)
        among = self.among or self.m1
        if self.drawn:
            return self._choice(len(self.shifts) * among)
        shown = [(i, (i + s) % among) for s in self.shifts for i in range(among)]
        if self.within is not None:
            halves = [(i, i ^ 1) for i in range(among)]
            shown = [pair for pair in shown if pair not in halves] + halves * self.within
        return torch.tensor(shown)

    def _choice(self, size: int) -> Tensor:
        """(size, 2) pairs in their order, the first choice of the stream in which each pattern has both labels."""
        every = all_pairs(self.m1)
        place = torch.arange(len(every))
        for attempt in itertools.count():
            order = randint(torch.tensor(self.drawn), _CHOICE, place + attempt * len(every), 2**31).argsort(stable=True)
            chosen = every[order[:size].sort().values]
            if all(len(side.unique()) == self.m1 for side in chosen.T):
                return chosen
        raise AssertionError  # at least m1 pairs are drawn, so that such a choice exists

    @cached_property
    def unseen(self) -> Tensor:
        """(n, 2) the tasks of the domain that are not among `pairs`; empty if there are none."""
        shown = set(map(tuple, self.pairs.tolist()))
        left = [pair for pair in map(tuple, all_pairs(self.count).tolist()) if pair not in shown]
        return torch.tensor(left, dtype=torch.int64).view(-1, 2)

    def draw(self, seed: Tensor, index: Tensor, pairs: Tensor | None = None) -> Prompts:
        """Prompts number `index` of the stream `seed` (broadcast together), of tasks from `pairs` (default: the training
        tasks)."""
        pairs = (self.pairs if pairs is None else pairs).to(index.device)
        if not len(pairs):
            raise SpecError("there are no such tasks: leave some out of training.")
        seed = seed + torch.zeros_like(index)
        pair = pairs[randint(seed, _TASK, index, len(pairs))]
        place = index[..., None] * (self.length + 1) + torch.arange(self.length + 1, device=index.device)
        pattern = self._pattern(seed[..., None], place, pair)
        kappa = self.loud * (randint(seed[..., None], _KAPPA, place, _FINE).float() / _FINE - 0.5)
        noise = self.irrelevant.to(index.device)[randint(seed[..., None], _NOISE, place, len(self.irrelevant))]
        x = self.norm * self.patterns.to(index.device)[pattern] + kappa[..., None] * noise
        target = (pattern == pair[..., :1]).float() - (pattern == pair[..., 1:]).float()
        coin = 2.0 * randint(seed[..., None], _COIN, place, 2) - 1
        y = torch.zeros(*x.shape[:-1], D_Y, device=index.device)
        y[..., :-1, 0] = torch.where((target == 0) | self.hidden, coin, target)[..., :-1]
        return Prompts(torch.cat([x, y], -1), target, pattern, pair)

    def _pattern(self, seed: Tensor, place: Tensor, pair: Tensor) -> Tensor:
        """The relevant pattern of each column: one of the pair with probability alpha, else one of the others; the query's
        is one of the pair."""
        draw = randint(seed, _PATTERN, place, _FINE)
        shown = draw < round(self.alpha * _FINE)
        shown[..., -1] = True
        low, high = pair.sort(-1).values.unbind(-1)
        other = randint(seed, _OTHER, place, max(1, self.count - 2))
        other = other + (other >= low[..., None]).long()
        other = other + (other >= high[..., None]).long()
        return torch.where(shown, torch.where(draw % 2 == 0, pair[..., :1], pair[..., 1:]), other)


def all_pairs(count: int) -> Tensor:
    """(count · (count − 1), 2) every ordered pair of different patterns."""
    return torch.tensor([(a, b) for a in range(count) for b in range(count) if a != b])


def no_match_floor(alpha: float, length: int) -> float:
    """½ (1 − α'/2)^l: the error of whoever copies labels of matching examples and guesses where none of l examples matches.

    Who also uses that the task's other pattern has the other label can do better.
    """
    return 0.5 * (1 - alpha / 2) ** length
