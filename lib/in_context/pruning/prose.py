"""Arrays, lines and sentences of chapter 14."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.record.store import StoredRun
from lib.in_context.experiments import LENGTH
from lib.in_context.pruning.numbers import (
    LUCK,
    ORDERS,
    RATES,
    SHARES,
    WIDEST,
    at_rate,
    by_alpha,
    large_shares,
    luck,
    luck_groups,
    norms_of,
    over_runs,
    prunings,
)
from lib.in_context.runs import N_FRESH, large, row_norms, trained
from lib.in_context.task import Task

SHOWN_RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8)
SHOWN_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
AT = 0.2
"""The share of neurons at which the verdict compares two orders."""
FREE, ALIKE = 0.005, 0.0005
"""The hinge loss up to which something costs next to nothing, and up to which two orders cost the same."""


def verdict(runs: Sequence[StoredRun]) -> str:
    """What pruning shows, in two or three sentences."""
    share = float(np.mean(large_shares(runs)))
    full, rest = over_runs(runs, "magnitude").at(0).loss, over_runs(runs, "rest").at(0).loss
    ordered, random = at_rate(runs, AT)
    if share == 1:
        first = "No neuron is small after training: there is nothing that pruning could take for free."
    else:
        cost = float((rest - full).mean())
        free = "costs next to nothing" if cost <= FREE else f"costs a hinge loss of {cost:.2f}"
        first = f"Training leaves {1 - share:.0%} of the neurons small, and removing all of these {free}."
    apart = float((random.loss - ordered.loss).mean())
    if apart > ALIKE:
        wins = int((random.loss > ordered.loss).sum())
        second = (
            f"With {AT:.0%} removed, a random choice costs more hinge loss than the smallest, in {wins} of {len(runs)} seeds."
        )
    elif apart < -ALIKE:
        second = f"With {AT:.0%} removed, a random choice costs less hinge loss than the smallest."
    else:
        second = f"With {AT:.0%} removed it does not matter whether the smallest go or any."
    half, whole = (over_runs(runs, "large").at(SHARES.index(share)) for share in (0.5, 0.0))
    third = (
        f"The large neurons share one work: without half of them the margin is {half.margin.mean():.2f} where it was "
        f"{whole.margin.mean():.2f}; of the signs {half.error.mean():.2%} are wrong, where it was {whole.error.mean():.2%}."
    )
    return f"{first} {second} {third}"


def norms_line(runs: Sequence[StoredRun]) -> str:
    norms = norms_of(runs)
    after, before = norms.after, norms.before
    big = [large(norms) for norms in after]
    parts = [f"share of large rows {spread(large_shares(runs))}"]
    for name, groups in (("large", big), ("small", [~b for b in big])):
        means = [norms[group].mean() for norms, group in zip(after, groups, strict=True) if group.any()]
        parts.append(f"mean norm of {name} rows {spread(means, 3)}" if means else f"no {name} rows")
    return "; ".join([*parts, f"of all before training {spread(before.mean(1), 3)}"])


def pruning_line(runs: Sequence[StoredRun], length: int) -> str:
    column, found = RATES.index(WIDEST), prunings(runs, length)
    start = found["magnitude"].at(0)
    parts = [f"{how} {spread(c.error[:, column], 4)} and {spread(c.loss[:, column], 4)}" for how, c in found.items()]
    return (
        f"l = {length}: error and hinge loss unpruned {spread(start.error, 4)} and {spread(start.loss, 4)}; "
        f"with {WIDEST:.0%} removed, by order: " + ", ".join(parts)
    )


def pruning_table(runs: Sequence[StoredRun], length: int) -> str:
    """Hinge losses at some rates as a table, and how far errors move."""
    found = prunings(runs, length)
    rows = []
    for rate in SHOWN_RATES:
        column = RATES.index(rate)
        rows.append((f"{rate:.0%}", *(spread(c.loss[:, column], 3) for c in found.values())))
    start = found["magnitude"].error[:, 0].mean()
    far = {how: c.error.mean(0).max() for how, c in found.items()}
    return (
        f"Hinge losses on prompts of {length} examples, mean ± standard deviation over {len(runs)} seeds:\n\n"
        + table(("removed", "smallest rows of W_O first", "at random"), rows)
        + f"\n\nUnpruned, signs are wrong for {start:.5f} of the prompts; over all rates up to {RATES[-1]:.0%} "
        + f"for at most {far['magnitude']:.5f} by magnitude and {far['random']:.5f} at random. There are "
        + f"{ORDERS} random orders and {N_FRESH:,} prompts a seed."
    )


def free_text(runs: Sequence[StoredRun], length: int) -> str:
    """What removing every neuron that is not large costs, beside Theorem 3's bound at this size."""
    task = Task()
    full, without = over_runs(runs, "magnitude", length=length).at(0), over_runs(runs, "rest", length=length).at(0)
    return (
        f"{spread(large_shares(runs))} of the neurons are large. Without all others the error goes from "
        f"{full.error.mean():.5f} to {without.error.mean():.5f}, the hinge loss from {full.loss.mean():.4f} to "
        f"{without.loss.mean():.4f}. The theorem allows an error of the order $M_2^{{-1/2}}$ = {task.m2**-0.5:.2f} here on the "
        f"slide, and $M_1^{{-1/2}}$ = {task.m1**-0.5:.2f} in another version, up to constants that are not given."
    )


def alpha_line(runs: Sequence[StoredRun]) -> str:
    column = RATES.index(WIDEST)
    parts = [
        f"α' = {alpha:g}: {spread(c.loss[:, 0], 4)} unpruned, {spread(c.loss[:, column], 4)} with {WIDEST:.0%} removed"
        for alpha, c in by_alpha(runs).items()
    ]
    return f"hinge loss at l = {LENGTH}, " + "; ".join(parts)


def share_line(runs: Sequence[StoredRun], length: int) -> str:
    found = over_runs(runs, "large", length=length)
    at = [f"{share:g}: {spread(found.loss[:, SHARES.index(share)], 3)}" for share in SHOWN_SHARES]
    return "hinge loss by R: " + ", ".join(at)


def share_text(runs: Sequence[StoredRun], length: int) -> str:
    """Why the loss is no line in R: margins are larger than the hinge loss asks for."""
    found = over_runs(runs, "large", length=length)
    margin, loss = found.margin[:, 0], found.loss.mean(0)
    scaled = over_runs(runs, "scaled", length=length).loss.mean(0)
    text = f"The mean margin of the whole model is {spread(margin)}, and the hinge loss is content with 1. "
    if margin.mean() > 1:
        text += f"So a share of about 1 − 1/{margin.mean():.2f} = {1 - 1 / margin.mean():.2f} can go before the loss notices. "
    return text + (
        "The loss differs from the grey curve, on which every margin shrinks by the share R, by at most "
        f"{np.abs(loss - scaled).max():.3f}."
    )


def luck_line(runs: Sequence[StoredRun]) -> str:
    parts = [
        f"{name} %: {len(n)} neurons, norm {np.median(n):.2f}, angle {np.median(a):.2f} π"
        for n, a, name in zip(*luck_groups(runs), strict=True)
        if len(n)
    ]
    return "medians by activity before training, " + "; ".join(parts)


def luck_text(runs: Sequence[StoredRun]) -> str:
    """The shares of large neurons among the lucky, the unlucky and the rest."""
    groups = [luck(run) for run in runs]
    is_large = [large(row_norms(trained(run))) for run in runs]
    kinds = {
        f"active on {LUCK[-1]:.0%} or more": lambda g: g == len(LUCK),
        "in between": lambda g: (g > 0) & (g < len(LUCK)),
        f"active on less than {LUCK[0]:.0%}": lambda g: g == 0,
    }
    rows = []
    for name, choose in kinds.items():
        big = [float(b[choose(g)].mean()) for g, b in zip(groups, is_large, strict=True) if choose(g).any()]
        among = spread([float(choose(g).mean()) for g in groups])
        rows.append((name, among, spread(big) if big else "–"))
    return table(("neurons, by activity before training", "share of all", "of these large"), rows)
