"""What Theorem 3 and Figures 14 and 15 of Li et al. (2024a) say of pruning, as claims (chapter 14)."""

from __future__ import annotations

import numpy as np

from lib.core.read.claim import Claim, Measured, Part, asking, by_interval, by_worst
from lib.core.read.statistics import mean_interval
from lib.core.record.store import Store
from lib.in_context.experiments import ALPHA, LENGTH
from lib.in_context.pruning.metrics import (
    FIG14,
    FREE,
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
from lib.in_context.runs import main_runs

FEWEST, MOST = 0.2, 0.95
"""Between these shares of large neurons we call the fraction constant; the paper's own is .83."""
ERROR_RISE, LOSS_RISE = 0.005, FREE
"""What leaving out all that are not large may cost, on average."""
RATE = 0.2
"""The share of neurons that is removed where random pruning is compared with pruning by magnitude."""
WORSE, FLAT = 0.01, 0.005
"""By how much more errors random pruning must leave, and how far by magnitude the hinge loss may move."""
CORRELATION = 0.9
PART = 0.001
"""At WIDEST, hinge losses of neighbouring α' are so far apart at least."""


def large_share(store: Store, profile: str) -> Measured:
    found = large_shares(main_runs(store, profile))
    parts = (
        by_worst("share of large neurons, lowest seed", found, ">=", FEWEST, group="share"),
        by_worst("the same, highest seed", found, "<=", MOST, group="share"),
    )
    return Measured(parts, len(found))


def small_are_free(store: Store, profile: str) -> Measured:
    runs = main_runs(store, profile)
    full, without = over_runs(runs, "magnitude").at(0), over_runs(runs, "rest").at(0)
    # rounded here, so that rounding errors of either sign, which depend on the number of threads, are one zero
    error, loss = (mean_interval(np.round(a - b, 5) + 0.0) for a, b in ((without.error, full.error), (without.loss, full.loss)))
    parts = (
        Part("share of small neurons, lowest seed", 1 - max(large_shares(runs)), ">", 0.0, given=True),
        by_interval("rise of the share of wrong signs", error, "<=", ERROR_RISE, "{:.4f}"),
        by_interval("rise of the hinge loss", loss, "<=", LOSS_RISE, "{:.4f}"),
    )
    return Measured(parts, len(runs))


def random_error(store: Store, profile: str) -> Measured:
    ordered, random = at_rate(main_runs(store, profile), RATE, alpha=FIG14)
    more = mean_interval(np.round(random.error - ordered.error, 9) + 0.0)
    part = by_interval("share of wrong signs, random less magnitude", more, ">", WORSE, "{:.4f}", neutral=0.0)
    return Measured((part,), len(random.error))


def random_loss(store: Store, profile: str) -> Measured:
    runs = main_runs(store, profile)
    ordered, random = at_rate(runs, RATE, alpha=FIG14)
    rise = np.abs(ordered.loss - over_runs(runs, "magnitude", alpha=FIG14).at(0).loss)
    parts = (
        by_worst("hinge loss, random less magnitude, lowest seed", random.loss - ordered.loss, ">", 0.0, "{:.4f}", neutral=0.0),
        by_worst("by magnitude, farthest from unpruned", rise, "<=", FLAT, "{:.4f}"),
    )
    return Measured(parts, len(runs))


def linear(store: Store, profile: str) -> Measured:
    runs = main_runs(store, profile)
    shares, loss = np.array(SHARES[1:]), over_runs(runs, "large").loss
    each = (loss[:, 1:] - loss[:, :1]) / shares  # (runs, R)
    rise = each.mean(0) * shares
    correlation = float(np.corrcoef(shares, rise)[0, 1]) if np.ptp(rise) > 0 else 0.0
    least = mean_interval(each[:, each.mean(0).argmin()])
    parts = (
        by_interval("rise of the mean hinge loss over R, the least", least, ">=", SLOPE, neutral=0.0),
        Part("its correlation with R", correlation, ">=", CORRELATION),
    )
    return Measured(parts, len(runs))


def alpha_order(store: Store, profile: str) -> Measured:
    runs = main_runs(store, profile)
    first, last = losses_by_alpha(runs)  # by α', which rises, and by run
    unpruned, pruned = (-np.diff(losses, axis=0) for losses in (first, last))
    spread = mean_interval(first[first.mean(1).argmax()] - first[first.mean(1).argmin()])
    step = mean_interval(pruned[pruned.mean(1).argmin()])
    wider = pruned - np.maximum(unpruned, 0)
    parts = (
        by_interval("unpruned, range of mean hinge losses over α'", spread, "<=", TOGETHER, "{:.4f}"),
        by_interval("pruned, mean step from one α' to the next, the least", step, ">=", PART, "{:.4f}", neutral=0.0),
        by_worst("pruned less unpruned step, lowest seed", wider, ">", 0.0, "{:.4f}", neutral=0.0),
        by_interval(
            "pruned, the first above the last by", mean_interval(last[0] - last[-1]), ">", TOGETHER, "{:.4f}", neutral=0.0
        ),
    )
    return Measured(parts, len(runs))


CLAIMS = asking(
    "prompt",
    Claim(
        "icl-prune-large-share",
        "li2024nonlinear",
        "Theorem 3",
        "A constant fraction of the neurons of W_O is large after training, and the rest is small.",
        "a constant fraction",
        f"share of neurons with at least half of the norm of the largest tenth: between {FEWEST:g} and {MOST:g} in every seed",
        large_share,
        revised="the paper's own share, .83, was outside the first criterion, at most .8",
        figure="14.1",
    ),
    Claim(
        "icl-prune-small",
        "li2024nonlinear",
        "Theorem 3",
        "Pruning all neurons that are not large leaves the out-of-domain error almost as it was.",
        "almost the same as without pruning",
        f"α' = {ALPHA:g}, l = {LENGTH}, mean over seeds: the share of wrong signs rises by at most {ERROR_RISE:g}, the hinge "
        f"loss by at most {LOSS_RISE:g}; in every seed there is something to remove (this was added after the results)",
        small_are_free,
        figure="14.1",
    ),
    Claim(
        "icl-prune-random-error",
        "li2024nonlinear",
        "Fig 14",
        "The same number of neurons, chosen at random, costs more errors than the smallest.",
        "random pruning rises at once, pruning by magnitude stays flat until the small ones are gone",
        f"{RATE:.0%} removed, α' = {FIG14:g}, l = {LENGTH}: the mean share after random pruning is larger by more than "
        f"{WORSE:g}",
        random_error,
        figure="14.2",
    ),
    Claim(
        "icl-prune-random-loss",
        "ours",
        "Fig 14.2, hinge loss",
        "The same number of neurons, chosen at random, costs more hinge loss than the smallest.",
        "not reported",
        f"the same: random above magnitude in every seed; by magnitude within {FLAT:g} of unpruned in every seed",
        random_loss,
        figure="14.2",
    ),
    Claim(
        "icl-prune-linear",
        "li2024nonlinear",
        "Theorem 3",
        "Pruning a share R of the large neurons costs an error of the order of R at least.",
        "greater than Ω(R)",
        f"the mean hinge loss rises by at least {SLOPE:g} R for R = {SHARES[1]:g}, …, {SHARES[-1]:g}; its correlation with R "
        f"is at least {CORRELATION:g}",
        linear,
        figure="14.3",
    ),
    Claim(
        "icl-prune-alpha",
        "li2024nonlinear",
        "Fig 15",
        "Models prune worse on prompts with fewer examples of the task: alike when whole, ordered by α' when pruned.",
        "all start at .007 and part with pruning, ordered by α'",
        f"by magnitude, l = {LENGTH}, mean hinge losses at α' = {PRUNED_ALPHAS}: unpruned within {TOGETHER:g}; with "
        f"{WIDEST:.0%} removed in order, each step at least {PART:g}, in every seed larger than unpruned; the first then "
        f"above the last by more than {TOGETHER:g}",
        alpha_order,
        revised="errors at 8 examples were ordered by α' before any pruning, as prompts without a match are; then losses "
        "counted as alike when whole and as parted when pruned at the same distance, so that the last two parts were added",
        figure="14.2",
    ),
)
