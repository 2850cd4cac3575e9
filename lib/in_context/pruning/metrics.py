"""Pruning neurons (chapter 14): which go, in what order, and what that costs.

F is a sum over neurons, so that a row of W_O is removed by leaving its neuron out of the sum. One pass over the prompts then
serves every rate and every order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lib.core.read.disk_cache import disk_cached
from lib.core.read.fact import Fact, in_words, mean, span
from lib.core.record.store import StoredRun
from lib.in_context import starts
from lib.in_context.experiments import LENGTH
from lib.in_context.runs import (
    N_FRESH,
    contributions,
    fresh,
    large,
    large_bound,
    last_neurons,
    lucky,
    positive,
    row_norms,
    shape_of,
    task_of,
    trained,
    untrained,
)
from lib.in_context.study import FOREIGN_SUM

RATES = tuple(round(0.05 * i, 2) for i in range(20))
"""Shares of all neurons that are removed; the paper's figures end at WIDEST."""
WIDEST = 0.4
SHARES = tuple(round(0.1 * i, 1) for i in range(10))
"""Shares R of the large neurons that are removed (Theorem 3)."""
SLOPE = 0.2
"""The hinge loss that removing a share R of the large neurons should cost at least, over R."""
ORDERS = 10
"""Random orders of each run, of which the mean is taken."""
PRUNED_ALPHAS = (0.6, 0.8, 1.0)
"""The α' of Figure 15."""
TOGETHER = 0.01
"""Hinge losses at several α' are alike where they lie within this of each other, unpruned as pruned."""
SOME, TENTH = 0.2, 0.1
"""The share of neurons at which two orders are compared, and the one up to which random pruning is free."""
FREE = 0.01
"""By how much the hinge loss may rise where what is removed counts as free."""
NEARLY_ALL, MANY_WRONG = 0.9, 0.1
"""A share of the neurons that is removed, and a share of wrong answers by which seeds are counted there."""
FIG14 = 0.6
"""The α' of the talk's Fig. 14: its curve of magnitudes is that of Fig. 15 at .6, point for point."""
LUCK = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Bounds of groups of neurons by how often they are active before training on the prompts that fit their sign."""


class Cost(NamedTuple):
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
        return Cost(*np.stack(found, 1))

    def mean(self) -> Cost:
        """Over the first axis."""
        return Cost(*(part.mean(0) for part in self))

    def at(self, column: int) -> Cost:
        return Cost(*(part[..., column] for part in self))


def kept(order: np.ndarray, counts: Sequence[int], neurons: int) -> np.ndarray:
    """(n, neurons): which neurons stay when the first `count` of `order` are removed, for n counts."""
    place = np.full(neurons, neurons)
    place[order] = np.arange(len(order))
    return place >= np.asarray(counts)[:, None]


def cost(effects: np.ndarray, answer: np.ndarray, masks: np.ndarray) -> Cost:
    """What is left of (prompts, m) effects of neurons, for masks (n, m) of those that stay."""
    return Cost.of((effects @ masks.T.astype(effects.dtype)) * answer[:, None])


def costs(run: StoredRun, **change: object) -> dict[str, Cost]:
    """What pruning costs a run out of domain (S₁ = 1.1); `change` is of the test prompts: alpha, length.

    "magnitude" (smallest rows of W_O first) and "random" are at each of RATES. "large" is at each of SHARES of the large
    neurons, "rest" without all that are not large, (1,). "scaled": F times 1 − R, at each of SHARES.
    """
    return {how: Cost(*values) for how, values in _costs(run, change).items()}


@disk_cached(version=1)
def _costs(run: StoredRun, change: dict[str, object]) -> dict[str, np.ndarray]:
    """Those of `costs`, each (3, n)."""
    prompts = fresh(task_of(run, sum=FOREIGN_SUM, **change), run.spec.seed)
    effects, answer = contributions(trained(run), prompts).numpy(), prompts.answer.numpy()
    m, rng = effects.shape[1], np.random.default_rng(run.spec.seed)

    def removed(order: Callable[[], np.ndarray], shares: Sequence[float], total: int, times: int = 1) -> Cost:
        counts = [round(share * total) for share in shares]
        return Cost.stack([cost(effects, answer, kept(order(), counts, m)) for _ in range(times)]).mean()

    norms = row_norms(trained(run))
    big = np.flatnonzero(large(norms))
    whole = effects.sum(1) * answer
    found = {
        "random": removed(lambda: rng.permutation(m), RATES, m, ORDERS),
        "magnitude": removed(lambda: np.argsort(norms), RATES, m),
        "large": removed(lambda: rng.permutation(big), SHARES, len(big), ORDERS),
        "rest": cost(effects, answer, large(norms)[None]),
        "scaled": Cost.of(whole[:, None] * (1 - np.array(SHARES))),
    }
    return {how: np.array(c) for how, c in found.items()}


@disk_cached(version=1)
def margin_parts(run: StoredRun) -> np.ndarray:
    """(m,) what each neuron adds to the mean margin zF, on the prompts of `costs`."""
    prompts = fresh(task_of(run, sum=FOREIGN_SUM), run.spec.seed)
    return (contributions(trained(run), prompts) * prompts.answer[:, None]).mean(0).numpy()


@disk_cached(version=1)
def as_many_large(run: StoredRun) -> float:
    """By how much the hinge loss rises without as many large neurons as there are small ones, on the prompts of `costs`; mean
    of ORDERS random choices."""
    prompts = fresh(task_of(run, sum=FOREIGN_SUM), run.spec.seed)
    effects, answer = contributions(trained(run), prompts).numpy(), prompts.answer.numpy()
    big, rng = large(row_norms(trained(run))), np.random.default_rng(run.spec.seed)
    count = int((~big).sum())
    masks = [kept(rng.permutation(np.flatnonzero(big)), [0, count], len(big)) for _ in range(ORDERS)]
    return float(np.mean([np.diff(cost(effects, answer, mask).loss)[0] for mask in masks]))


def share_of_small(run: StoredRun) -> float:
    """The part of the mean margin that the small neurons hold together."""
    parts, big = margin_parts(run), large(row_norms(trained(run)))
    return float(parts[~big].sum() / parts.sum())


def shares_of_large(run: StoredRun) -> np.ndarray:
    """(n,) what each large neuron adds to the mean margin, over the mean of the large ones."""
    parts = margin_parts(run)[large(row_norms(trained(run)))]
    return parts / parts.mean()


def over_runs(runs: Sequence[StoredRun], how: str, **change: object) -> Cost:
    """One of `costs` for several runs, (R, n)."""
    return Cost.stack([costs(run, **change)[how] for run in runs])


def luck(run: StoredRun, own: bool = True) -> np.ndarray:
    """(m,) group of each neuron, 0 … 5: how many of LUCK its share of activity before training reaches, on the prompts of its
    sign or, not `own`, on those of the other."""
    return np.sum([lucky(run, share, own) for share in LUCK], 0)


def losses_by_alpha(runs: Sequence[StoredRun]) -> tuple[np.ndarray, np.ndarray]:
    """Hinge losses unpruned and at WIDEST, smallest rows first (Fig. 15), (n, R) each for the n of PRUNED_ALPHAS."""
    losses = np.array([over_runs(runs, "magnitude", alpha=alpha, length=LENGTH).loss for alpha in PRUNED_ALPHAS])
    return losses[..., 0], losses[..., RATES.index(WIDEST)]


def large_by_luck(runs: Sequence[StoredRun], own: bool = True) -> list[tuple[int, int]]:
    """For each group of luck how many of its neurons, in all runs, are large, and how many there are."""
    group = np.concatenate([luck(run, own) for run in runs])
    big = np.concatenate([large(row_norms(trained(run))) for run in runs])
    return [(int(big[group == i].sum()), int((group == i).sum())) for i in range(len(LUCK) + 1)]


def luck_names() -> list[str]:
    """The groups of luck, in percent of activity before training."""
    return [f"{100 * low:.0f}–{100 * high:.0f}" for low, high in itertools.pairwise((0.0, *LUCK, 1.0))]


def large_shares(runs: Sequence[StoredRun]) -> list[float]:
    return [float(large(row_norms(trained(run))).mean()) for run in runs]


def at_rate(runs: Sequence[StoredRun], rate: float, **change: object) -> tuple[Cost, Cost]:
    """Smallest rows first and at random, (R,) each, at one rate."""
    column = RATES.index(rate)
    return over_runs(runs, "magnitude", **change).at(column), over_runs(runs, "random", **change).at(column)


@dataclass(frozen=True)
class Norms:
    """Norms of the rows of W_O after training and before it, (R, m), and of each run the smallest norm of a large one, (R,)."""

    after: np.ndarray
    before: np.ndarray
    bounds: np.ndarray


def norms_of(runs: Sequence[StoredRun]) -> Norms:
    after, before = (np.array([row_norms(model(run)) for run in runs]) for model in (trained, untrained))
    return Norms(after, before, np.array([large_bound(n) for n in after]))


def prunings(runs: Sequence[StoredRun], length: int) -> dict[str, Cost]:
    """Costs at RATES, smallest rows first and at random, as in Fig. 14."""
    return {how: over_runs(runs, how, length=length, alpha=FIG14) for how in ("magnitude", "random")}


def luck_groups(runs: Sequence[StoredRun]) -> tuple[list[np.ndarray], list[np.ndarray], list[str]]:
    """For each group of luck all neurons of all runs after training: norms of rows of W_O, angles of the label half to the q of
    their sign (units of π), and the group's name."""
    groups, norms, angles = [], [], []
    for run in runs:
        angle = last_neurons(run)["label angle"]
        groups.append(luck(run))
        norms.append(row_norms(trained(run)))
        angles.append(np.where(positive(run), angle, 1 - angle))
    group, norm, angle = (np.concatenate(values) for values in (groups, norms, angles))
    names = luck_names()
    select = lambda values: [values[group == i] for i in range(len(names))]
    return select(norm), select(angle), names


def facts(runs: Sequence[StoredRun], trials: Sequence[StoredRun]) -> dict[str, Fact]:
    """What the text of chapter 14 says of the main runs, and of the trials by which their start was chosen."""
    seeds, m = f"{len(runs)} seeds", shape_of(runs[0]).neurons
    large_share = np.array(large_shares(runs))
    rest, full = over_runs(runs, "rest").at(0), over_runs(runs, "magnitude").at(0)
    asked = f"out of domain, α' = {FIG14:g}, {LENGTH} examples, mean over {seeds}"
    two = {rate: at_rate(runs, rate, alpha=FIG14) for rate in (SOME, WIDEST)}
    wrong = [round(float(cost.error.mean()) * N_FRESH * len(runs)) for cost in two[WIDEST]]
    whole = round(float(over_runs(runs, "magnitude", alpha=FIG14).at(0).error.mean()) * N_FRESH * len(runs))
    left, scaled = over_runs(runs, "large").mean(), over_runs(runs, "scaled").mean()
    half = SHARES.index(0.5)
    first, last = (losses.mean(1) for losses in losses_by_alpha(runs))
    groups, others = large_by_luck(runs), large_by_luck(runs, own=False)
    late = at_rate(runs, NEARLY_ALL, alpha=FIG14)[0].error
    stay = [count - big for big, count in groups]
    found = {
        "late-wrong": Fact(
            in_words(int((late > MANY_WRONG).sum())),
            "{}",
            f"seeds with more than {100 * MANY_WRONG:g} % wrong, smallest {NEARLY_ALL:.0%} removed",
        ),
        "small-between": Fact(
            (sum(stay[1:-1]), sum(stay)), "{} of {}", f"not large, of neither the least active nor the most, all of {seeds}"
        ),
        "neurons": Fact(m, "{}", "neurons of the layer, counted in the talk's Fig. 14"),
        "small": Fact(1 - float(large_share.mean()), "{:.0%}", f"neurons that are not large, mean over {seeds}"),
        "free": Fact(
            float(np.round(rest.loss - full.loss, 4).mean()), "{:.4f}", f"rise of the hinge loss without them, {seeds}"
        ),
        "margin": Fact(float(full.margin.mean()), "{:.2f}", f"mean margin zF of the whole model, {seeds}"),
        "prompts": Fact(N_FRESH * len(runs), "{:,}", f"test prompts of all {seeds}"),
        "whole-wrong": Fact(whole, "{}", f"wrong signs of these unpruned, α' = {FIG14:g}"),
        "ordered-wrong": Fact(wrong[0], "{}", f"with {WIDEST:.0%} removed, smallest first"),
        "random-wrong": Fact(wrong[1], "{}", f"with {WIDEST:.0%} removed at random, mean of {ORDERS} orders"),
        "half-margin": Fact(float(left.margin[half]), "{:.2f}", f"mean margin without half of the large neurons, {seeds}"),
        "half-loss": Fact(float(left.loss[half]), "{:.2f}", f"mean hinge loss without half of the large neurons, {seeds}"),
        "tenth-loss": Fact(float(left.loss[1]), "{:.4f}", f"mean hinge loss without a tenth of the large neurons, {seeds}"),
        "scaled": Fact(
            float(np.abs(left.loss - scaled.loss).max()), "{:.3f}", "largest deviation from every margin times 1 − R"
        ),
        "alpha-apart": Fact(float(last[0] - last[-1]), "{:.3f}", f"hinge loss at α' = .6 less 1, {WIDEST:.0%} removed"),
        "alpha-whole": Fact(float(first[0] - first[-1]), "{:.3f}", "the same, unpruned"),
        "small-margin": Fact(
            mean(map(share_of_small, runs)),
            "{:.1%}",
            f"of the mean margin held by neurons that are not large, mean over {seeds}",
        ),
        "large-free": Fact(
            in_words(sum(as_many_large(run) <= FREE for run in runs)),
            "{}",
            f"seeds in which the hinge loss rises by at most {FREE:g} without as many large neurons, mean of {ORDERS} choices",
        ),
        "seeds": Fact(in_words(len(runs)), "{}", "seeds"),
        "each-share": Fact(
            span(np.concatenate([shares_of_large(run) for run in runs]).tolist()),
            "{:.2f} to {:.2f}",
            f"a large neuron's part of the mean margin over the mean part of its run, all neurons of {seeds}",
        ),
        "random-10": Fact(
            float(at_rate(runs, TENTH, alpha=FIG14)[1].loss.mean()), "{:.3f}", f"hinge loss with {TENTH:.0%} removed at random"
        ),
        "trials": Fact(len(trials), "{}", "trials of the number of neurons and the size of a"),
        "trials-small": Fact(
            span(starts.measured(run)[f"{starts.SHARE}, {starts.END}"] for run in trials),
            "{:.0%} to {:.0%}",
            "neurons that are not large, in these trials",
        ),
    }
    for name, i in (("unlucky", 0), ("luckiest", -1)):
        big, count = groups[i]
        rests = f"large among neurons active on {luck_names()[i]} %, all of {seeds}"
        found[f"{name}-large"] = Fact(big / count if count else None, "{:.0%}", rests)
        found[f"{name}-count"] = Fact((big, count), "{} of {}", rests)
        big, count = others[i]
        rests = f"large among neurons active on {luck_names()[i]} % of prompts of the other sign, all of {seeds}"
        found[f"{name}-other-large"] = Fact(big / count if count else None, "{:.0%}", rests)
    for name, cost in zip(("ordered", "random"), zip(*two.values(), strict=True), strict=True):
        for rate, at in zip((SOME, WIDEST), cost, strict=True):
            rests = f"hinge loss with {rate:.0%} removed, {'smallest first' if name == 'ordered' else 'at random'}, {asked}"
            found[f"{name}-{round(100 * rate)}"] = Fact(float(at.loss.mean()), "{:.3f}", rests)
    return found
