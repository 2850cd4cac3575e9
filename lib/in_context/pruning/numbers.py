"""Pruning neurons (chapter 14): which go, in what order, what that costs, and what the claims ask of it.

F is a sum over neurons, so that a row of W_O is removed by leaving its neuron out of the sum. One pass over the prompts then
serves every rate and every order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lib.core.claim import Finding, graded
from lib.core.measures import spread
from lib.core.store import Store, StoredRun
from lib.core.sweep import load
from lib.in_context.experiments import ALPHA, LENGTH, train_specs
from lib.in_context.models import OneLayer
from lib.in_context.runs import contributions, fresh, large, lucky, row_norms, task_of, trained
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
"""A prompt length at which errors can be seen: 20 examples leave almost none."""
PRUNED_ALPHAS = (0.6, 0.8, 1.0)
"""The α' of Figure 15."""
LUCK = (0.05, 0.25, 0.5, 0.75, 0.95)
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


def counts_of(shares: Sequence[float], total: int) -> list[int]:
    return [round(share * total) for share in shares]


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
            return Cost.stack([cost(effects, answer, kept(order(), counts_of(shares, total), m)) for _ in range(times)]).mean()

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


# --- Claims ---


def main_runs(store: Store, profile: str) -> list[StoredRun]:
    """Raises LookupError where some are missing."""
    return load(train_specs(profile), store)


def _share_words(found: Sequence[float]) -> str:
    return f"share of large neurons {spread(found)}, from {min(found):.2f} to {max(found):.2f}"


def large_share(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    found = large_shares(runs)
    return Finding(_share_words(found), graded([min(found) >= 0.2 and max(found) <= 0.8]), len(runs))


def _without_rest(runs: Sequence[StoredRun], name: str) -> tuple[str, list[bool]]:
    full, without = over_runs(runs, name).at(0), over_runs(runs, f"rest, {name}").at(0)
    # rounded here, so that rounding errors of either sign, which depend on the number of threads, are one zero
    error, loss = (np.round(a - b, 5) + 0.0 for a, b in ((without.error, full.error), (without.loss, full.loss)))
    words = f"without the others the error changes by {spread(error, 5)} and the hinge loss by {spread(loss, 4)}"
    return f"{words} (α' = {ALPHA:g}, l = {LENGTH})", [bool(error.mean() <= 0.005), bool(loss.mean() <= 0.01)]


def small_are_free(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    words, parts = _without_rest(runs, "W_O")
    empty = int(np.sum(np.array(large_shares(runs)) == 1))
    empty_words = f", so that in {empty} of {len(runs)} seeds there is nothing to remove" if empty else ""
    return Finding(
        f"{spread(large_shares(runs))} of the neurons are large{empty_words}; {words}", graded([*parts, empty == 0]), len(runs)
    )


def at_rate(runs: Sequence[StoredRun], rate: float) -> tuple[Cost, Cost]:
    """Smallest rows of W_O first and at random, (R,) each, at one rate."""
    column = RATES.index(rate)
    return over_runs(runs, "W_O").at(column), over_runs(runs, "random").at(column)


def random_error(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    ordered, random = at_rate(runs, 0.2)
    return Finding(
        f"error with 20 % removed: {spread(ordered.error, 5)} by magnitude, {spread(random.error, 5)} at random",
        graded([bool(random.error.mean() - ordered.error.mean() > 0.01)]),
        len(runs),
    )


def random_loss(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    ordered, random = at_rate(runs, 0.2)
    rise = ordered.loss - over_runs(runs, "W_O").at(0).loss
    return Finding(
        f"hinge loss with 20 % removed: {spread(ordered.loss, 5)} by magnitude ({rise.mean():+.5f} of unpruned), "
        f"{spread(random.loss, 5)} at random, which is higher in {(random.loss > ordered.loss).sum()} of {len(runs)} seeds",
        graded([bool((random.loss > ordered.loss).all()), bool((np.abs(rise) <= 0.005).all())]),
        len(runs),
    )


def linear(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    shares, loss = np.array(SHARES[1:]), over_runs(runs, "large, W_O").loss.mean(0)[1:]
    correlation = float(np.corrcoef(shares, loss)[0, 1]) if np.ptp(loss) > 0 else 0.0
    enough = loss >= 0.2 * shares
    return Finding(
        f"mean hinge loss {loss[0]:.4f} at R = {shares[0]:g}, {loss[4]:.3f} at {shares[4]:g}, {loss[-1]:.3f} at "
        f"{shares[-1]:g}; at least .2 R for {enough.sum()} of {len(enough)} R; correlation with R {correlation:+.2f}",
        graded([bool(enough.all()), correlation >= 0.9]),
        len(runs),
    )


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


def product(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    found = large_shares(runs, "W_O W_V")
    words, parts = _without_rest(runs, "W_O W_V")
    return Finding(f"{_share_words(found)}; {words}", graded([min(found) >= 0.2 and max(found) <= 0.8, *parts]), len(runs))
