"""What Theorem 3 and Figures 14 and 15 of Li et al. (2024a) say of pruning, as claims (chapter 14)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.core.read.claim import Claim, Finding, graded
from lib.core.read.measures import spread
from lib.core.record.store import Store
from lib.in_context.experiments import ALPHA, LENGTH
from lib.in_context.pruning.metrics import (
    ORDERS,
    PRUNED_ALPHAS,
    SHARES,
    SLOPE,
    TOGETHER,
    WIDEST,
    at_rate,
    large_shares,
    losses_by_alpha,
    over_runs,
)
from lib.in_context.runs import N_FRESH, counted, main_runs, small

FEWEST, MOST = 0.2, 0.95
"""Between these shares of large neurons we call the fraction constant; the paper's own is .83."""
ERROR_RISE, LOSS_RISE = 0.005, 0.01
"""What leaving out all that are not large may cost, on average."""
RATE = 0.2
"""The share of neurons that is removed where random pruning is compared with pruning by magnitude."""
WORSE, FLAT = 0.01, 0.005
"""By how much more errors random pruning must leave, and how far by magnitude the hinge loss may move."""
CORRELATION = 0.9
PART = 0.001
"""At WIDEST, hinge losses of neighbouring α' are so far apart at least."""

SHARE = f"share of neurons with at least half of the norm of the largest tenth: between {FEWEST:g} and {MOST:g} in every seed"
ERROR_STAYS = f"the error rises by at most {ERROR_RISE:g}"
LOSS_STAYS = f"the hinge loss rises by at most {LOSS_RISE:g}"
SOME_SMALL = "in every seed there is something to remove"
RANDOM_ERROR = f"the mean error after random pruning is larger by more than {WORSE:g}"
RANDOM_ABOVE = "random above magnitude in every seed"
MAGNITUDE_FLAT = f"magnitude within {FLAT:g} of unpruned in every seed"
ENOUGH = f"mean hinge loss at least {SLOPE:g} R for R = {SHARES[1]:g}, …, {SHARES[-1]:g}"
STRAIGHT = f"its correlation with R at least {CORRELATION:g}"
START_TOGETHER = f"unpruned, mean hinge losses within {TOGETHER:g} of each other"
IN_ORDER = (
    f"with {WIDEST:.0%} removed, "
    + " above ".join(f"α' = {alpha:g}" for alpha in PRUNED_ALPHAS)
    + f", each by at least {PART:g}"
)
GROWING_APART = "in every seed each of these differences is positive, and larger than unpruned"
PARTED = f"the first then above the last by more than {TOGETHER:g}"
"""The parts of the criteria."""


def _share_words(found: Sequence[float]) -> str:
    return f"share of large neurons {spread(found)}, from {min(found):.2f} to {max(found):.2f}"


def large_share(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    found = large_shares(runs)
    return Finding(_share_words(found), graded({SHARE: min(found) >= FEWEST and max(found) <= MOST}), len(runs))


def small_are_free(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    full, without = over_runs(runs, "magnitude").at(0), over_runs(runs, "rest").at(0)
    # rounded here, so that rounding errors of either sign, which depend on the number of threads, are one zero
    error, loss = (np.round(a - b, 5) + 0.0 for a, b in ((without.error, full.error), (without.loss, full.loss)))
    empty = int(np.sum(np.array(large_shares(runs)) == 1))
    empty_words = f", so that in {empty} of {len(runs)} seeds there is nothing to remove" if empty else ""
    return Finding(
        f"{spread(large_shares(runs))} of the neurons are large{empty_words}; without the others the error changes by "
        f"{small(error, 5)} and the hinge loss by {small(loss, 4)} (α' = {ALPHA:g}, l = {LENGTH})",
        graded(
            {
                ERROR_STAYS: bool(error.mean() <= ERROR_RISE),
                LOSS_STAYS: bool(loss.mean() <= LOSS_RISE),
                SOME_SMALL: empty == 0,
            }
        ),
        len(runs),
    )


def random_error(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    ordered, random = at_rate(runs, RATE)
    return Finding(
        f"wrong signs with {100 * RATE:g} % removed: {counted(ordered.error, N_FRESH)} by magnitude, "
        f"{counted(random.error, N_FRESH * ORDERS)} at random, in {ORDERS} orders",
        graded({RANDOM_ERROR: bool(random.error.mean() - ordered.error.mean() > WORSE)}),
        len(runs),
    )


def random_loss(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    ordered, random = at_rate(runs, RATE)
    rise = ordered.loss - over_runs(runs, "magnitude").at(0).loss
    return Finding(
        f"hinge loss with {100 * RATE:g} % removed: {small(ordered.loss, 4)} by magnitude (a change of {small(rise, 4)}), "
        f"{small(random.loss, 4)} at random, which is higher in {(random.loss > ordered.loss).sum()} of {len(runs)} seeds",
        graded({RANDOM_ABOVE: bool((random.loss > ordered.loss).all()), MAGNITUDE_FLAT: bool((np.abs(rise) <= FLAT).all())}),
        len(runs),
    )


def linear(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    shares, loss = np.array(SHARES[1:]), over_runs(runs, "large").loss.mean(0)[1:]
    correlation = float(np.corrcoef(shares, loss)[0, 1]) if np.ptp(loss) > 0 else 0.0
    enough = loss >= SLOPE * shares
    return Finding(
        f"mean hinge loss {loss[0]:.4f} at R = {shares[0]:g}, {loss[4]:.3f} at {shares[4]:g}, {loss[-1]:.3f} at "
        f"{shares[-1]:g}; at least {str(SLOPE).lstrip('0')} R for {enough.sum()} of {len(enough)} R; correlation with R "
        f"{correlation:.2f}".replace("-", "−"),
        graded({ENOUGH: bool(enough.all()), STRAIGHT: correlation >= CORRELATION}),
        len(runs),
    )


def alpha_order(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    first, last = losses_by_alpha(runs)  # by α', which rises, and by run
    say = lambda losses: ", ".join(
        f"{small([v], 4)} at α' = {alpha:g}" for alpha, v in zip(PRUNED_ALPHAS, losses.mean(1), strict=True)
    )
    unpruned, pruned = (-np.diff(losses, axis=0) for losses in (first, last))
    larger = (pruned > np.maximum(unpruned, 0)).all(0)
    return Finding(
        f"mean hinge loss unpruned {say(first)}; with {WIDEST:.0%} removed {say(last)}; differences are larger then in "
        f"{larger.sum()} of {len(runs)} seeds",
        graded(
            {
                START_TOGETHER: bool(np.ptp(first.mean(1)) <= TOGETHER),
                IN_ORDER: bool((-np.diff(last.mean(1)) >= PART).all()),
                GROWING_APART: bool(larger.all()),
                PARTED: bool(last[0].mean() - last[-1].mean() > TOGETHER),
            }
        ),
        len(runs),
    )


CLAIMS = (
    Claim(
        "icl-prune-large-share",
        "li2024nonlinear",
        "Theorem 3",
        "A constant fraction of the neurons of W_O is large after training, and the rest is small.",
        "a constant fraction",
        SHARE,
        large_share,
        revised="the paper's own share, .83, was outside the first criterion, at most .8",
    ),
    Claim(
        "icl-prune-small",
        "li2024nonlinear",
        "Theorem 3",
        "Pruning all neurons that are not large leaves the out-of-domain error almost as it was.",
        "almost the same as without pruning",
        f"α' = {ALPHA:g}, l = {LENGTH}, mean over seeds: {ERROR_STAYS}; {LOSS_STAYS}; and {SOME_SMALL} (this part was added "
        "after the results)",
        small_are_free,
    ),
    Claim(
        "icl-prune-random-error",
        "li2024nonlinear",
        "Fig 14",
        "The same number of neurons, chosen at random, costs more errors than the smallest.",
        "random pruning rises at once, pruning by magnitude stays flat until the small ones are gone",
        f"{100 * RATE:g} % removed, α' = {ALPHA:g}, l = {LENGTH}: {RANDOM_ERROR}",
        random_error,
    ),
    Claim(
        "icl-prune-random-loss",
        "ours",
        "Fig 14.2, hinge loss",
        "The same number of neurons, chosen at random, costs more hinge loss than the smallest.",
        "not reported",
        f"{100 * RATE:g} % removed: {RANDOM_ABOVE}; {MAGNITUDE_FLAT}",
        random_loss,
    ),
    Claim(
        "icl-prune-linear",
        "li2024nonlinear",
        "Theorem 3",
        "Pruning a share R of the large neurons costs an error of the order of R at least.",
        "greater than Ω(R)",
        f"{ENOUGH}; {STRAIGHT}",
        linear,
    ),
    Claim(
        "icl-prune-alpha",
        "li2024nonlinear",
        "Fig 15",
        "Models prune worse on prompts with fewer examples of the task: alike when whole, ordered by α' when pruned.",
        "all start at .007 and part with pruning, ordered by α'",
        f"by magnitude, l = {LENGTH}: {START_TOGETHER}; {IN_ORDER}; {GROWING_APART}; {PARTED}",
        alpha_order,
        revised="errors at 8 examples were ordered by α' before any pruning, as prompts without a match are; then losses "
        "counted as alike when whole and as parted when pruned at the same distance, so that the last two parts were added",
    ),
)
