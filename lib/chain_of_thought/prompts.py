"""Prompts for testing: patterns that were never seen, examples that err, and what of a prompt a model's answer depends on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from lib.chain_of_thought.task import D_X, FINE, Columns, Prompts, another, columns, combined
from lib.chain_of_thought.transitions import Transitions, parting, reconverging
from lib.core.model.rng import randint
from lib.core.record.spec import SpecError, check_count, check_number

_START, _MATCH, _OTHER, _NEXT, _LABEL = 56, 57, 58, 59, 60  # streams of random numbers, after those of training
JOINS = ("parting", "reconverging")


@dataclass(frozen=True)
class Trial:
    """Test prompts over `count` = M' new patterns, each the sum of two of the `trained` ones with coefficients that add up to
    `sum` (S₁). An example starts at the query's pattern with probability `alpha` (α'), else at one of the others. Its steps are
    correct with a probability that makes `tau` (τ) the probability of a correct path; `errors` says where wrong steps lead
    (lib.chain_of_thought.transitions), `competitors` to how many places each, `starts` from how many patterns Condition 1
    fails (0: from all) where errors reconverge, and `first` which share of log τ the first step takes (0: as all). M' = 10 is
    recalled from the paper; the matrices and S₁ are ours.

    Raises SpecError for what cannot be drawn.
    """

    alpha: float = 0.8
    tau: float = 0.5
    errors: str = "parting"
    competitors: int = 1
    steps: int = 3
    count: int = 10
    trained: int = 20
    sum: float = 1.2
    starts: int = 0
    first: float = 0.0

    def __post_init__(self) -> None:
        check_count("steps", self.steps)
        check_count("trained", self.trained, 2, D_X - self.steps)  # every step has a pattern of its own
        check_count("count", self.count, low=2)
        if not 0 <= check_number("alpha", self.alpha) <= 1:
            raise SpecError(f"alpha must lie in [0, 1], got {self.alpha!r}.")
        if 2 * self.count > self.trained:
            raise SpecError(f"count must be at most {self.trained // 2}, half of the trained patterns, got {self.count}.")
        if self.errors not in JOINS:
            raise SpecError(f"errors must be one of {', '.join(JOINS)}, got {self.errors!r}.")
        unread = ("starts",) if self.errors == "parting" else ("competitors", "first")
        if lost := [name for name in unread if getattr(self, name) != type(self).__dataclass_fields__[name].default]:
            raise SpecError(f"{lost[0]} says nothing of errors that are {self.errors}: leave it out.")
        _ = self.transitions, self.columns  # raise for a τ or a sum that cannot be had

    @cached_property
    def transitions(self) -> Transitions:
        if self.errors == "reconverging":
            return reconverging(self.count, self.steps, self.tau, self.starts)
        return parting(self.count, self.steps, self.tau, self.competitors, self.first)

    @cached_property
    def columns(self) -> Columns:
        return columns(combined(self.count, self.sum), self.trained, self.steps)

    def draw(self, seed: int, prompts: int, length: int) -> Prompts:
        """`prompts` prompts of `length` examples, and the correct path of the query, asked at its first step. Random numbers
        are those of other trials with the same seed, and the examples of a shorter prompt are the first of a longer one's."""
        return draw(self.transitions, self.alpha, seed, prompts, length)


@dataclass(frozen=True)
class Draws:
    """The random numbers of some prompts, which trials share: starts (N,), shares in [0, 1) that decide on matches (N, L) and
    on each step (N, L, K), other starts (N, L), and the labels of patterns at each step (N, K + 1, M')."""

    start: Tensor
    match: Tensor
    other: Tensor
    step: Tensor
    labels: Tensor


@lru_cache(maxsize=8)
def draws(seed: int, prompts: int, length: int, steps: int, count: int) -> Draws:
    """Drawn once for all trials with these sizes."""
    key, index = torch.tensor(seed), torch.arange(prompts)
    place = index[:, None] * 2**16 + torch.arange(length)
    share = lambda stream, where: randint(key, stream, where, FINE).float() / FINE
    labels = randint(key, _LABEL, index[:, None] * (steps + 1) * count + torch.arange((steps + 1) * count), 2**31)
    return Draws(
        start=randint(key, _START, index, count),
        match=share(_MATCH, place),
        other=randint(key, _OTHER, place, count - 1),
        step=share(_NEXT, place[..., None] * steps + torch.arange(steps)),
        labels=labels.unflatten(-1, (steps + 1, count)).argsort(-1),
    )


def draw(transitions: Transitions, alpha: float, seed: int, prompts: int, length: int) -> Prompts:
    """The same for any transition matrices. Each prompt has a task of its own: at every step its patterns are relabelled."""
    steps = transitions.steps
    drawn = draws(seed, prompts, length, steps, transitions.count)
    ordered, order = torch.sort(transitions.matrices, descending=True, stable=True)
    reach = ordered.cumsum(-1).float()  # the correct output first, so that a draw that is right is right at every larger τ
    support = int((transitions.matrices > 0).sum(-1).max())
    start = drawn.start[:, None]
    examples = [torch.where(drawn.match < alpha, start, another(start, drawn.other))]
    for step in range(steps):
        beyond = (drawn.step[..., step, None] >= reach[step, :, : support - 1][examples[-1]]).sum(-1)
        examples.append(order[step][examples[-1], beyond])
    query = drawn.labels.gather(-1, transitions.paths[drawn.start][..., None])[..., 0]
    return Prompts(drawn.labels.gather(-1, torch.stack(examples, 1)).mT, query, torch.ones_like(query[:, 0]))
