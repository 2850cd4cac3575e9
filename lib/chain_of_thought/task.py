"""K-step reasoning in a prompt (Li et al. 2025, section 2): patterns, chains of them, and the columns that a model reads.

A task is f = f_K ∘ … ∘ f_1 over patterns. An example is a chain z_0 → z_1 → … → z_K, written as K columns (z_{k−1}; z_k); the
query is the first k − 1 columns of a chain and then (z_{k−1}; 0), and the answer is z_k. The column of step k gets the code
c_k, which is c_{i mod K} of the papers, added to its input half.

The model's start and gradient descent do not change under a rotation of the inputs, so the M patterns of training (the paper's
TRR patterns) and the K codes are unit vectors along the axes. That every f_k is a permutation, drawn afresh for every prompt,
makes every pattern equally likely at every step, which Theorem 4 asks for; that it is drawn this way is our reading.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from lib.core.model.rng import randint
from lib.core.record.spec import SpecError, check_count, check_number

D_X = D_Y = 30
"""Widths of the input half and the output half of a column."""
D = D_X + D_Y
_START, _MATCH, _OTHER, _PERMUTE, _STEP = 51, 52, 53, 54, 55  # streams of random numbers
FINE = 2**24
WIDEST_SUM = math.sqrt(2)


@dataclass(frozen=True)
class Prompts:
    """Chains as pattern numbers, and where the query stands. `examples` (..., l, K + 1); `query` (..., K + 1); `step` (...,):
    the step k in 1 … K that is asked for."""

    examples: Tensor
    query: Tensor
    step: Tensor

    def __getitem__(self, index: int | slice) -> Prompts:
        """Some of many prompts."""
        return Prompts(self.examples[index], self.query[index], self.step[index])

    @property
    def answer(self) -> Tensor:
        """(...,) the number of the pattern z_k."""
        return self.query.gather(-1, self.step[..., None])[..., 0]

    @property
    def state(self) -> Tensor:
        """(...,) the number of the pattern z_{k−1} that the query shows."""
        return self.query.gather(-1, self.step[..., None] - 1)[..., 0]

    @property
    def groups(self) -> Tensor:
        """(4, ..., l·K): is a column of the examples of the same step and the same pattern as the query, of the same step and
        another pattern, of another step and the same pattern, of neither?"""
        pattern, step = (self.examples[..., :-1] == self.state[..., None, None]).flatten(-2), self._own_step
        return torch.stack([step & pattern, step & ~pattern, ~step & pattern, ~step & ~pattern])

    @property
    def other_steps(self) -> Tensor:
        """(2, ..., l·K): is a column of the examples of another step than the query, and of an example that starts as the query
        does, or of one that does not? In training these are the examples whose columns of the query's step match it."""
        columns = self.examples[..., :-1].shape
        same, step = (self.examples[..., :1] == self.query[..., None, :1]).expand(columns).flatten(-2), self._own_step
        return torch.stack([~step & same, ~step & ~same])

    @property
    def _own_step(self) -> Tensor:
        """(..., l·K): is a column of the examples of the query's step?"""
        columns = self.examples[..., :-1]
        place = torch.arange(columns.shape[-1], device=columns.device)
        return (place == self.step[..., None, None] - 1).expand(columns.shape).flatten(-2)


GROUPS = {
    "both": "same step, same pattern",
    "step only": "same step, other pattern",
    "pattern only": "other step, same pattern",
    "neither": "other step, other pattern",
}
"""The columns of the examples, by what they share with the query."""
OTHER_STEPS = {"same example": "other step, matching example", "other example": "other step, other example"}
"""Those of other steps, by whether their example is one that matches the query."""


@dataclass(frozen=True)
class Columns:
    """Every kind of column that P `patterns` (P, D_X) and K `codes` (K, D_X) can make, so that prompts are drawn as
    integers."""

    patterns: Tensor
    codes: Tensor

    @property
    def steps(self) -> int:
        return len(self.codes)

    @property
    def absent(self) -> int:
        """The kind of a column that is not there: all zero, without a code."""
        return len(self.patterns) * self.steps * (len(self.patterns) + 1)

    def bare(self, step: Tensor) -> Tensor:
        """The kind of a column with nothing but the code of its step, counted from 0."""
        return self.absent + 1 + step

    def kind(self, pattern: Tensor, step: Tensor | int, output: Tensor | int) -> Tensor:
        """The number of the column (μ_pattern + c_step; μ_output), with steps counted from 0; output P: nothing is written."""
        return (pattern * self.steps + step) * (len(self.patterns) + 1) + output

    @cached_property
    def table(self) -> Tensor:
        """(P·K·(P + 1) + 1 + K, D) the column of each kind."""
        p, k = len(self.patterns), self.steps
        inputs = (self.patterns[:, None] + self.codes)[:, :, None].expand(p, k, p + 1, D_X)
        outputs = torch.cat([self.patterns, torch.zeros(1, D_Y)]).expand(p, k, p + 1, D_Y)
        bare = torch.cat([self.codes, torch.zeros(k, D_Y)], -1)
        return torch.cat([torch.cat([inputs, outputs], -1).flatten(0, 2), torch.zeros(1, D), bare])

    def kinds(self, prompts: Prompts) -> Tensor:
        """(..., l·K + K): the columns of the examples, K − 1 columns for the earlier steps of the query, absent from step k on,
        and last the query's own."""
        step = torch.arange(self.steps, device=prompts.query.device)
        written = lambda states: self.kind(states[..., :-1], step, states[..., 1:])
        earlier = torch.where(step < prompts.step[..., None] - 1, written(prompts.query), self.absent)[..., :-1]
        own = self.kind(prompts.state, prompts.step - 1, len(self.patterns))
        return torch.cat([written(prompts.examples).flatten(-2), earlier, own[..., None]], -1)

    def direct(self, prompts: Prompts) -> Tensor:
        """(..., l·K + K): the prompt of in-context learning, from the query's start. An example is (z_0; z_K) at the first step
        and K − 1 columns of nothing but their code; the earlier steps of the query are absent."""
        ends = prompts.examples[..., [0, -1]]
        first = self.kind(ends[..., :1], 0, ends[..., 1:])
        rest = self.bare(torch.arange(1, self.steps, device=ends.device)).expand(*ends.shape[:-1], -1)
        own = self.kind(prompts.query[..., :1], 0, len(self.patterns))
        gone = torch.full_like(own, self.absent).expand(*own.shape[:-1], self.steps - 1)
        return torch.cat([torch.cat([first, rest], -1).flatten(-2), gone, own], -1)

    def vectors(self, kinds: Tensor) -> Tensor:
        """(...) → (..., D) what a model reads."""
        return F.embedding(kinds, self.table.to(kinds.device))


@dataclass(frozen=True)
class Task:
    """Training prompts: `patterns` = M, `steps` = K, `length` = l_tr examples, each of which starts at the query's pattern with
    probability `alpha` and else at one of the others. Every example is correct. Raises SpecError for what cannot be drawn."""

    patterns: int = 20
    steps: int = 3
    alpha: float = 0.4
    length: int = 20

    def __post_init__(self) -> None:
        for name, low in (("patterns", 2), ("steps", 1), ("length", 1)):
            check_count(name, getattr(self, name), low)
        if self.patterns + self.steps > D_X:
            raise SpecError(
                f"patterns and codes must be {D_X} orthogonal vectors at most, got {self.patterns} patterns and "
                f"{self.steps} steps."
            )
        if check_number("alpha", self.alpha, low=0) > 1:
            raise SpecError(f"alpha must lie in [0, 1], got {self.alpha!r}.")

    @cached_property
    def columns(self) -> Columns:
        """Axes of the input half: first the M patterns, then the K codes."""
        return columns(torch.eye(D_X)[: self.patterns], self.patterns, self.steps)

    def draw(self, seed: Tensor, index: Tensor) -> Prompts:
        """Prompts number `index` of the stream `seed` (broadcast together)."""
        seed = seed + torch.zeros_like(index)
        within = lambda count: index[..., None] * count + torch.arange(count, device=index.device)
        shuffled = randint(seed[..., None], _PERMUTE, within(self.steps * self.patterns), 2**31)
        task = shuffled.unflatten(-1, (self.steps, self.patterns)).argsort(-1)
        start = randint(seed, _START, index, self.patterns)
        match = randint(seed[..., None], _MATCH, within(self.length), FINE) < round(self.alpha * FINE)
        other = another(start[..., None], randint(seed[..., None], _OTHER, within(self.length), self.patterns - 1))
        first = torch.cat([torch.where(match, start[..., None], other), start[..., None]], -1)
        chains = [first]
        for k in range(self.steps):
            chains.append(task[..., k, :].gather(-1, chains[-1]))
        states = torch.stack(chains, -1)
        return Prompts(states[..., :-1, :], states[..., -1, :], 1 + randint(seed, _STEP, index, self.steps))


def columns(patterns: Tensor, trained: int, steps: int) -> Columns:
    """Columns with `patterns` in the span of the `trained` patterns of training, and the codes of training."""
    return Columns(patterns, torch.eye(D_X)[trained : trained + steps])


def another(number: Tensor, draw: Tensor) -> Tensor:
    """One of the other numbers: draws in [0, count − 1) become numbers in [0, count) without `number`."""
    return draw + (draw >= number).long()


def combined(count: int, total: float) -> Tensor:
    """(count, D_X) the paper's TSR patterns: μ'_j = k₁ μ_{2j−1} + k₂ μ_{2j} of unit norm with k₁ + k₂ = `total` (the paper's
    S₁; this construction is ours). Raises SpecError for a sum beyond ±√2 and for more patterns than pairs."""
    if abs(check_number("sum", total)) > WIDEST_SUM:
        raise SpecError(f"sum must lie within ±√2, for patterns of unit norm, got {total!r}.")
    root = math.sqrt(max(0.0, 2 - total**2))
    axes = torch.eye(D_X)
    return (total + root) / 2 * axes[0 : 2 * count : 2] + (total - root) / 2 * axes[1 : 2 * count : 2]
