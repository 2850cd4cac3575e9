"""Pruning rows of W_O (chapter 14): which neurons go, in what order, what that costs, and what the claims ask of it.

F is a sum over neurons, so that a row of W_O is removed by leaving its neuron out of the sum. One pass over the prompts then
serves every rate and every order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lib.core.claim import Finding, graded
from lib.core.measures import spread
from lib.core.store import Store, StoredRun
from lib.core.sweep import load
from lib.in_context.analysis import contributions, fresh, large, lucky, row_norms, task_of, trained
from lib.in_context.experiments import ALPHA, LENGTH, train_specs
from lib.in_context.study import FOREIGN_SUM
from lib.in_context.task import Task

RATES = tuple(round(0.05 * i, 2) for i in range(20))
"""Shares of all neurons that are removed; the paper's figures end at WIDEST."""
WIDEST = 0.4
SHARES = tuple(round(0.1 * i, 1) for i in range(10))
"""Shares R of the large neurons that are removed (Theorem 3)."""
ORDERS = 10
"""Random orders of each run, of which the mean is taken."""
SHORT = 8
"""A prompt length at which errors can be seen: one of 20 examples leaves almost none."""
PRUNED_ALPHAS = (0.6, 0.8, 1.0)
"""The α' of Figure 15."""
LUCK = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Bounds of groups of neurons by how often they are active before training on the prompts that fit their sign."""


@dataclass(frozen=True)
class Cost:
    """Share of wrong signs and mean hinge loss after removing some neurons, (..., n) for n amounts."""

    error: np.ndarray
    loss: np.ndarray


def kept(order: np.ndarray, counts: Sequence[int], neurons: int) -> np.ndarray:
    """(n, neurons): which neurons stay when the first `count` of `order` are removed, for n counts."""
    place = np.full(neurons, neurons)
    place[order] = np.arange(len(order))
    return place >= np.asarray(counts)[:, None]


def cost(effects: np.ndarray, answer: np.ndarray, masks: np.ndarray) -> Cost:
    """What is left of F, (prompts, m) effects of neurons, for masks (n, m) of those that stay. A margin of 0 is wrong."""
    right = (effects @ masks.T.astype(effects.dtype)) * answer[:, None]
    return Cost((right <= 0).mean(0), np.maximum(0, 1 - right).mean(0))


def counts_of(shares: Sequence[float], total: int) -> list[int]:
    return [round(share * total) for share in shares]


_COSTS: dict[tuple[str, Task], dict[str, Cost]] = {}


def costs(run: StoredRun, **change: object) -> dict[str, Cost]:
    """Out of domain (S₁ = 1.1), for one run: "magnitude" and "random" at each of RATES, "large" at each of SHARES, and "small"
    when every neuron that is not large is gone, (1,). `change` is of the test prompts: alpha, length. Kept for this process."""
    task = task_of(run, sum=FOREIGN_SUM, **change)
    if (key := (str(run.path), task)) not in _COSTS:
        prompts = fresh(task, run.spec.seed)
        effects, answer = contributions(trained(run), prompts).numpy(), prompts.answer.numpy()
        norms = row_norms(trained(run))
        is_large, m, rng = large(norms), len(norms), np.random.default_rng(run.spec.seed)
        several = lambda order, shares, total: _mean_cost(
            [cost(effects, answer, kept(order(), counts_of(shares, total), m)) for _ in range(ORDERS)]
        )
        _COSTS[key] = {
            "magnitude": cost(effects, answer, kept(np.argsort(norms), counts_of(RATES, m), m)),
            "random": several(lambda: rng.permutation(m), RATES, m),
            "large": several(lambda: rng.permutation(np.flatnonzero(is_large)), SHARES, int(is_large.sum())),
            "small": cost(effects, answer, is_large[None]),
        }
    return _COSTS[key]


def _mean_cost(found: Sequence[Cost]) -> Cost:
    return Cost(np.mean([c.error for c in found], 0), np.mean([c.loss for c in found], 0))


def over_runs(runs: Sequence[StoredRun], how: str, **change: object) -> Cost:
    """The same for several runs, (R, n)."""
    found = [costs(run, **change)[how] for run in runs]
    return Cost(np.array([c.error for c in found]), np.array([c.loss for c in found]))


def luck(run: StoredRun) -> np.ndarray:
    """(m,) group of each neuron, 0 … 5: how many of LUCK its share of activity before training reaches."""
    return np.sum([lucky(run, share) for share in LUCK], 0)


# --- Claims ---


def main_runs(store: Store, profile: str) -> list[StoredRun]:
    """Raises LookupError where some are missing."""
    return load(train_specs(profile), store)


def large_share(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    found = [float(large(row_norms(trained(run))).mean()) for run in runs]
    return Finding(
        f"share of large neurons {spread(found)}, from {min(found):.2f} to {max(found):.2f}",
        graded([min(found) >= 0.2 and max(found) <= 0.8]),
        len(runs),
    )


def small_are_free(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    all_there, without = over_runs(runs, "magnitude"), over_runs(runs, "small")
    error, loss = without.error[:, 0] - all_there.error[:, 0], without.loss[:, 0] - all_there.loss[:, 0]
    return Finding(
        f"without the small neurons the error changes by {spread(error, 5)} and the hinge loss by {spread(loss, 4)} "
        f"(α' = {ALPHA:g}, l = {LENGTH})",
        graded([error.mean() <= 0.005, loss.mean() <= 0.01]),
        len(runs),
    )


def at_rate(runs: Sequence[StoredRun], rate: float) -> tuple[Cost, Cost]:
    """By magnitude and at random, (R,) each at one rate."""
    column = RATES.index(rate)
    both = (over_runs(runs, how) for how in ("magnitude", "random"))
    first, second = (Cost(c.error[:, column], c.loss[:, column]) for c in both)
    return first, second


def random_error(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    ordered, random = at_rate(runs, 0.2)
    return Finding(
        f"error with 20 % removed: {spread(ordered.error, 5)} by magnitude, {spread(random.error, 5)} at random",
        graded([random.error.mean() - ordered.error.mean() > 0.01]),
        len(runs),
    )


def random_loss(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    ordered, random = at_rate(runs, 0.2)
    rise = ordered.loss - over_runs(runs, "magnitude").loss[:, 0]
    return Finding(
        f"hinge loss with 20 % removed: {spread(ordered.loss, 4)} by magnitude (unpruned {rise.mean():+.4f} less), "
        f"{spread(random.loss, 4)} at random; random is higher in {(random.loss > ordered.loss).sum()} of {len(runs)} seeds",
        graded([bool((random.loss > ordered.loss).all()), bool((np.abs(rise) <= 0.005).all())]),
        len(runs),
    )


def linear(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    shares, loss = np.array(SHARES[1:]), over_runs(runs, "large").loss.mean(0)[1:]
    correlation = float(np.corrcoef(shares, loss)[0, 1]) if np.ptp(loss) > 0 else 0.0
    slope = loss / shares
    return Finding(
        f"mean hinge loss over R between {slope.min():.2f} and {slope.max():.2f} for R = {shares[0]:g} to {shares[-1]:g}; "
        f"correlation with R {correlation:+.2f}",
        graded([bool((loss >= 0.2 * shares).all()), correlation >= 0.9]),
        len(runs),
    )


def by_alpha(runs: Sequence[StoredRun]) -> Mapping[float, Cost]:
    """{α': costs by magnitude at RATES} on short prompts (Fig. 15)."""
    return {alpha: over_runs(runs, "magnitude", alpha=alpha, length=SHORT) for alpha in PRUNED_ALPHAS}


def alpha_order(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    few, middle, many = (found.error.mean(0)[: RATES.index(WIDEST) + 1] for found in by_alpha(runs).values())
    holds = (few > middle) & (middle > many)
    return Finding(
        f"the order holds at {holds.sum()} of {len(holds)} rates; errors unpruned "
        + ", ".join(f"{v[0]:.4f}" for v in (few, middle, many))
        + f", with {WIDEST:.0%} removed "
        + ", ".join(f"{v[-1]:.4f}" for v in (few, middle, many)),
        graded([bool(holds.all())]),
        len(runs),
    )
