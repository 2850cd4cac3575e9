"""What Theorem 3 and Figures 14 and 15 of Li et al. (2024a) say of pruning, as claims (chapter 14)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.core.claim import Claim, Finding, graded
from lib.core.measures import spread
from lib.core.store import Store, StoredRun
from lib.in_context.experiments import ALPHA, LENGTH
from lib.in_context.pruning.numbers import RATES, SHARES, WIDEST, at_rate, by_alpha, large_shares, over_runs
from lib.in_context.runs import main_runs

PAPER = "li2024nonlinear"


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


CLAIMS = (
    Claim(
        "icl-prune-large-share",
        PAPER,
        "Theorem 3",
        "A constant fraction of the neurons of W_O is large after training, and the rest is small.",
        "a constant fraction",
        "share of neurons with at least half of the norm of the largest tenth: between .2 and .8 in every seed",
        large_share,
    ),
    Claim(
        "icl-prune-small",
        PAPER,
        "Theorem 3",
        "Pruning all neurons that are not large leaves the out-of-domain error almost as it was.",
        "almost the same as without pruning",
        "α' = .8, l = 20, mean over seeds: the error rises by at most .005; the hinge loss by at most .01; and in every seed "
        "there is something to remove (this part was added after the results)",
        small_are_free,
    ),
    Claim(
        "icl-prune-random-error",
        PAPER,
        "Fig 14",
        "The same number of neurons, chosen at random, costs more errors than the smallest.",
        "random pruning rises at once, pruning by magnitude stays flat",
        "20 % removed, α' = .8, l = 20: the mean error after random pruning is larger by more than .01",
        random_error,
    ),
    Claim(
        "icl-prune-random-loss",
        "ours",
        "Fig 14, in the hinge loss",
        "The same in the hinge loss, which sees what the sign does not.",
        "not reported",
        "20 % removed: random above magnitude in every seed; magnitude within .005 of unpruned in every seed (two parts)",
        random_loss,
    ),
    Claim(
        "icl-prune-linear",
        PAPER,
        "Theorem 3",
        "Pruning a share R of the large neurons costs an error of the order of R at least.",
        "greater than Ω(R)",
        "mean hinge loss at least .2 R for R = .1, …, .9; its correlation with R at least .9 (two parts)",
        linear,
    ),
    Claim(
        "icl-prune-alpha",
        PAPER,
        "Fig 15",
        "The more examples of a prompt show the task, the smaller is the error, at every pruning rate.",
        "ordered by α'",
        "by magnitude, l = 8, at every rate from 0 to 40 %: mean error at α' = .6 above .8 above 1",
        alpha_order,
    ),
    Claim(
        "icl-prune-product",
        "ours",
        "Theorem 3, for rows of W_O W_V",
        "Among the rows of W_O W_V a constant fraction is large, and the others can go.",
        "not reported",
        "asked after the results: share of large ones between .2 and .8 in every seed; the two parts of icl-prune-small",
        product,
    ),
)
