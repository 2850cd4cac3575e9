"""The bias as one number: how many times longer one loss takes to halve than another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import cast

import numpy as np

from lib.core.model.transformer import TokenModel
from lib.core.read.disk_cache import disk_cached
from lib.core.read.measures import falls_to
from lib.core.record.store import StoredRun
from lib.reasoning_bias.runs import best, by_gamma
from lib.reasoning_bias.study import losses_at_start


@disk_cached(version=1)
def first_losses(run: StoredRun) -> dict[str, float]:
    """The losses of the three sets before the first step, in nats."""
    return losses_at_start(run.spec)


def half(run: StoredRun, name: str) -> float:
    """Half of the loss of a set before training, in nats; half of a uniform guess's loss where that of training is no less.

    A model without norms that is started large begins with a loss many times that of a guess. Half of it is reached while the
    outputs merely shrink, before anything is learned.
    """
    first, guess = first_losses(run)[name], math.log(cast(TokenModel, run.spec.model).vocab)
    return (first if first / 2 < guess else guess) / 2


def halving(run: StoredRun, name: str) -> float | None:
    """The step at which the loss of a set has first fallen to `half`, on the straight line between the two evaluations around
    it; None for never."""
    losses = [first_losses(run)[name], *takewhile(lambda loss: loss is not None, run.history[f"{name} loss"])]
    return falls_to(np.array([0, *run.history["step"]]), np.array(losses), half(run, name))


def reaching(run: StoredRun, name: str, share: float) -> float | None:
    """The step at which this share of a set's answers is first right, on the straight line between the two evaluations around
    it, none being right before training; None for never."""
    shares = [0.0, *takewhile(lambda value: value is not None, run.history[name])]
    return falls_to(np.array([0, *run.history["step"]]), -np.array(shares), -share)


def right_at(run: StoredRun, name: str, step: float | None) -> float | None:
    """The share of a set's answers that is right at a step, between two evaluations on the straight line; None where there is
    no such step, or the run was not finite there."""
    if step is None:
        return None
    shares = [math.nan if value is None else value for value in (0.0, *run.history[name])]
    found = float(np.interp(step, [0, *run.history["step"]], shares))
    return None if math.isnan(found) else found


@dataclass(frozen=True)
class Ratio:
    """How many times as long one loss takes to halve as another. `open`: the slower one never did, so the ratio is a lower
    bound: it is that of the whole of training."""

    value: float
    open: bool


def slowdown(run: StoredRun, slower: str = "memory") -> Ratio | None:
    """The bias as one number: steps to half of the loss, memory over reasoning. None where that of reasoning never halves."""
    one, other = halving(run, slower), halving(run, "reasoning")
    if other is None:
        return None
    return Ratio((run.steps if one is None else one) / other, one is None)


def ratios(runs: Sequence[StoredRun], slower: str = "memory") -> list[Ratio]:
    """Raises LookupError unless the reasoning loss halves in some run."""
    if not (found := [r for r in (slowdown(run, slower) for run in runs) if r is not None]):
        raise LookupError("the reasoning loss halves in no stored run")
    return found


def ratios_by_gamma(runs: Sequence[StoredRun], slower: str = "memory") -> dict[float, list[Ratio]]:
    """{γ: the ratios of its runs}; an empty list where the reasoning loss never halves."""
    return {
        gamma: [r for r in (slowdown(run, slower) for run in group) if r is not None] for gamma, group in by_gamma(runs).items()
    }


def slowdown_to(run: StoredRun, share: float) -> Ratio | None:
    """The bias without a loss: steps until this share of rows is right, memory over reasoning. None where reasoning never has
    it."""
    one, other = reaching(run, "memory", share), reaching(run, "reasoning", share)
    if other is None:
        return None
    return Ratio((run.steps if one is None else one) / other, one is None)


def closed(found: Sequence[Ratio]) -> bool:
    """Is none of them a lower bound?"""
    return not any(r.open for r in found)


def middle(found: Sequence[Ratio]) -> float:
    """Geometric mean; lower bounds count as they are."""
    return float(np.exp(np.mean(np.log([r.value for r in found]))))


def points_of(
    taken: Mapping[str, Sequence[StoredRun]],
) -> tuple[dict[str, dict[float, list[Ratio]]], dict[str, dict[float, list[float]]]]:
    """For each variant and γ: the ratios of halving steps, and the best shares of held-out pairs."""
    ratios = {name: ratios_by_gamma(runs) for name, runs in taken.items()}
    shares = {name: {g: best(group).tolist() for g, group in by_gamma(runs).items()} for name, runs in taken.items()}
    return ratios, shares
