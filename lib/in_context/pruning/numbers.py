"""Pruning neurons (chapter 14): which go, in what order, and what that costs.

F is a sum over neurons, so that a row of W_O is removed by leaving its neuron out of the sum. One pass over the prompts then
serves every rate and every order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lib.core.record.store import StoredRun
from lib.in_context.experiments import LENGTH
from lib.in_context.models import OneLayer
from lib.in_context.runs import (
    LUCKY,
    answers,
    contributions,
    fresh,
    large,
    large_bound,
    lucky,
    neurons_at,
    positive,
    row_norms,
    snapshots,
    task_of,
    trained,
    untrained,
)
from lib.in_context.study import FOREIGN_SUM
from lib.in_context.task import Task

RATES = tuple(round(0.05 * i, 2) for i in range(20))
"""Shares of all neurons that are removed; the paper's figures end at WIDEST."""
WIDEST = 0.4
SHARES = tuple(round(0.1 * i, 1) for i in range(10))
"""Shares R of the large neurons that are removed (Theorem 3)."""
SLOPE = 0.2
"""The hinge loss that removing a share R of the large neurons should cost at least, over R."""
ORDERS = 10
"""Random orders of each run, of which the mean is taken."""
SHORT = 8
"""A prompt length at which errors can be seen: 20 examples leave almost none."""
PRUNED_ALPHAS = (0.6, 0.8, 1.0)
"""The α' of Figure 15."""
LUCK = (0.05, 0.25, 0.5, 0.75, LUCKY)
"""Bounds of groups of neurons by how often they are active before training on the prompts that fit their sign."""


def product_norms(model: OneLayer) -> np.ndarray:
    """(m,) norms of the rows of W_O W_V in the last layer: what a neuron reads of the columns that attention mixes."""
    layer = model.layers[-1]
    return (layer.W_O.weight[0] @ layer.W_V.weight[0]).norm(dim=-1).numpy()


SIZES: dict[str, Callable[[OneLayer], np.ndarray]] = {"W_O": row_norms, "W_O W_V": product_norms}
"""What is called the size of a neuron: the theorem's rows of W_O, and ours."""


@dataclass(frozen=True)
class Cost:
    """After removing some neurons: share of wrong signs, mean hinge loss and mean margin z F, (..., n) for n amounts."""

    error: np.ndarray
    loss: np.ndarray
    margin: np.ndarray

    @staticmethod
    def of(right: np.ndarray) -> Cost:
        """right: (prompts, n) values of z F. A margin of 0 is wrong."""
        return Cost((right <= 0).mean(0), np.maximum(0, 1 - right).mean(0), right.mean(0))

    @staticmethod
    def stack(found: Sequence[Cost]) -> Cost:
        """(R, n) from R times (n,)."""
        return Cost(*(np.array([getattr(c, name) for c in found]) for name in ("error", "loss", "margin")))

    def mean(self) -> Cost:
        """Over the first axis."""
        return Cost(self.error.mean(0), self.loss.mean(0), self.margin.mean(0))

    def at(self, column: int) -> Cost:
        return Cost(self.error[..., column], self.loss[..., column], self.margin[..., column])


def kept(order: np.ndarray, counts: Sequence[int], neurons: int) -> np.ndarray:
    """(n, neurons): which neurons stay when the first `count` of `order` are removed, for n counts."""
    place = np.full(neurons, neurons)
    place[order] = np.arange(len(order))
    return place >= np.asarray(counts)[:, None]


def cost(effects: np.ndarray, answer: np.ndarray, masks: np.ndarray) -> Cost:
    """What is left of (prompts, m) effects of neurons, for masks (n, m) of those that stay."""
    return Cost.of((effects @ masks.T.astype(effects.dtype)) * answer[:, None])


_COSTS: dict[tuple[str, Task], dict[str, Cost]] = {}


def costs(run: StoredRun, **change: object) -> dict[str, Cost]:
    """What pruning costs a run out of domain (S₁ = 1.1); `change` is of the test prompts: alpha, length. Kept for this process.

    "W_O" and "W_O W_V" (smallest rows first) and "random" are at each of RATES. For each size, "large, …" is at each of SHARES
    of the neurons that are large by it, "rest, …" without all that are not, (1,). "scaled": F times 1 − R, at each of SHARES.
    """
    task = task_of(run, sum=FOREIGN_SUM, **change)
    if (key := (str(run.path), task)) not in _COSTS:
        prompts = fresh(task, run.spec.seed)
        effects, answer = contributions(trained(run), prompts).numpy(), prompts.answer.numpy()
        m, rng = effects.shape[1], np.random.default_rng(run.spec.seed)

        def removed(order: Callable[[], np.ndarray], shares: Sequence[float], total: int, times: int = 1) -> Cost:
            counts = [round(share * total) for share in shares]
            return Cost.stack([cost(effects, answer, kept(order(), counts, m)) for _ in range(times)]).mean()

        found = {"random": removed(lambda: rng.permutation(m), RATES, m, ORDERS)}
        for name, size in SIZES.items():
            norms = size(trained(run))
            big = np.flatnonzero(large(norms))
            found[name] = removed(lambda norms=norms: np.argsort(norms), RATES, m)
            found[f"large, {name}"] = removed(lambda big=big: rng.permutation(big), SHARES, len(big), ORDERS)
            found[f"rest, {name}"] = cost(effects, answer, large(norms)[None])
        whole = effects.sum(1) * answer
        found["scaled"] = Cost.of(whole[:, None] * (1 - np.array(SHARES)))
        _COSTS[key] = found
    return _COSTS[key]


def over_runs(runs: Sequence[StoredRun], how: str, **change: object) -> Cost:
    """One of `costs` for several runs, (R, n)."""
    return Cost.stack([costs(run, **change)[how] for run in runs])


def luck(run: StoredRun) -> np.ndarray:
    """(m,) group of each neuron, 0 … 5: how many of LUCK its share of activity before training reaches."""
    return np.sum([lucky(run, share) for share in LUCK], 0)


def by_alpha(runs: Sequence[StoredRun]) -> Mapping[float, Cost]:
    """{α': costs at RATES, smallest rows of W_O first} on short prompts (Fig. 15)."""
    return {alpha: over_runs(runs, "W_O", alpha=alpha, length=SHORT) for alpha in PRUNED_ALPHAS}


def large_shares(runs: Sequence[StoredRun], name: str = "W_O") -> list[float]:
    return [float(large(SIZES[name](trained(run))).mean()) for run in runs]


def margin_left(runs: Sequence[StoredRun], name: str, length: int = LENGTH) -> np.ndarray:
    """(R, n) mean margin after removing each of SHARES of the neurons that are large by a size, over the whole margin."""
    left = over_runs(runs, f"large, {name}", length=length).margin
    return left / left[:, :1]


def at_rate(runs: Sequence[StoredRun], rate: float) -> tuple[Cost, Cost]:
    """Smallest rows of W_O first and at random, (R,) each, at one rate."""
    column = RATES.index(rate)
    return over_runs(runs, "W_O").at(column), over_runs(runs, "random").at(column)


def norms_of(runs: Sequence[StoredRun]) -> dict[str, tuple[np.ndarray, np.ndarray, list[float]]]:
    """For each size of a neuron: (R, m) norms after training and before, and of each run the smallest norm of a large one."""
    found = {}
    for name, size in SIZES.items():
        after = np.array([size(trained(run)) for run in runs])
        before = np.array([size(untrained(run)) for run in runs])
        found[name] = after, before, [large_bound(n) for n in after]
    return found


def prunings(runs: Sequence[StoredRun], length: int) -> dict[str, Cost]:
    """Costs at RATES, smallest rows first by either size, and at random."""
    return {how: over_runs(runs, how, length=length) for how in (*SIZES, "random")}


def none_shares(runs: Sequence[StoredRun]) -> dict[float, float]:
    """{α': share of short prompts in which no example has the query's pattern}, as it was drawn."""
    return {alpha: float(np.mean([no_match(run, alpha).mean() for run in runs])) for alpha in PRUNED_ALPHAS}


def no_match(run: StoredRun, alpha: float) -> np.ndarray:
    """(n,) has no example of a prompt the query's pattern? Then nothing of the attention can be on it."""
    return answers(run, alpha=alpha, length=SHORT, sum=FOREIGN_SUM).attention == 0


def luck_groups(runs: Sequence[StoredRun]) -> tuple[list[np.ndarray], list[np.ndarray], list[str]]:
    """For each group of luck all neurons of all runs after training: norms of rows of W_O W_V, angles of the label half to
    the q of their sign (units of π), and the group's name."""
    groups, norms, angles = [], [], []
    for run in runs:
        angle = neurons_at(run, max(snapshots(run)))["label angle"]
        groups.append(luck(run))
        norms.append(product_norms(trained(run)))
        angles.append(np.where(positive(run), angle, 1 - angle))
    group, norm, angle = (np.concatenate(values) for values in (groups, norms, angles))
    bounds = (0.0, *LUCK, 1.0)
    names = [f"{100 * low:.0f}–{100 * high:.0f}" for low, high in itertools.pairwise(bounds)]
    select = lambda values: [values[group == i] for i in range(len(names))]
    return select(norm), select(angle), names
