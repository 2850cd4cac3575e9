"""Arrays, lines and sentences of chapter 14."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.core.ensemble import at_start
from lib.core.measures import log_slope, spread
from lib.core.store import StoredRun
from lib.in_context.analysis import N_FRESH, large, neurons_at, row_norms, snapshots, trained
from lib.in_context.pruning_checks import (
    LUCK,
    ORDERS,
    PRUNED_ALPHAS,
    RATES,
    SHARES,
    SHORT,
    WIDEST,
    Cost,
    by_alpha,
    luck,
    over_runs,
)
from lib.in_context.task import Task

SHOWN_RATES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.95)
SHOWN_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


def norms_of(runs: Sequence[StoredRun]) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """(R, m) norms of the rows of W_O after training and before, and of each run the bound between small and large."""
    after = np.array([row_norms(trained(run)) for run in runs])
    before = np.array([row_norms(at_start(run.spec)) for run in runs])
    return after, before, [float(norms[large(norms)].min()) for norms in after]


def norms_line(runs: Sequence[StoredRun]) -> str:
    after, before, _ = norms_of(runs)
    share = [float(large(norms).mean()) for norms in after]
    middle = [float(((norms > norms.max() / 4) & (norms < norms.max() / 2)).mean()) for norms in after]
    return (
        f"large neurons {spread(share)} of all; largest norm {spread(after.max(1))} after training, "
        f"{spread(before.max(1))} before; {spread(middle)} of the neurons have a quarter to a half of the largest norm"
    )


def prunings(runs: Sequence[StoredRun], length: int) -> dict[str, Cost]:
    return {how: over_runs(runs, how, length=length) for how in ("magnitude", "random")}


def pruning_line(runs: Sequence[StoredRun], length: int) -> str:
    column = RATES.index(WIDEST)
    parts = [
        f"{how} {spread(c.error[:, column], 4)} and {spread(c.loss[:, column], 3)}"
        for how, c in prunings(runs, length).items()
    ]
    start = over_runs(runs, "magnitude", length=length)
    return (
        f"l = {length}: error and hinge loss unpruned {spread(start.error[:, 0], 4)} and {spread(start.loss[:, 0], 3)}; "
        f"with {WIDEST:.0%} removed: " + ", ".join(parts)
    )


def pruning_table(runs: Sequence[StoredRun], length: int) -> str:
    """Errors and losses at some rates, as a table."""
    found = prunings(runs, length)
    head = (
        "| removed | error, smallest first | error, at random | hinge loss, smallest first | hinge loss, at random |\n"
        "|---|---|---|---|---|\n"
    )
    rows = []
    for rate in SHOWN_RATES:
        column = RATES.index(rate)
        cells = [spread(c.error[:, column], 4) for c in found.values()] + [spread(c.loss[:, column], 3) for c in found.values()]
        rows.append(f"| {rate:.0%} | " + " | ".join(cells) + " |")
    return (
        f"Prompts of {length} examples, mean ± standard deviation over {len(runs)} seeds ({N_FRESH:,} prompts a seed, "
        f"{ORDERS} random orders each):\n\n" + head + "\n".join(rows)
    )


def margins_text(runs: Sequence[StoredRun], length: int) -> str:
    """Why the sign hardly notices: how much of F half of the neurons leave."""
    column = RATES.index(0.5)
    found = prunings(runs, length)
    random, ordered = found["random"], found["magnitude"]
    return (
        f"With half of the neurons gone at random, the hinge loss is {spread(random.loss[:, column], 2)}, and "
        f"{spread(100 * random.error[:, column], 2)} % of the signs are wrong; with the smaller half gone, "
        f"{spread(ordered.loss[:, column], 2)} and {spread(100 * ordered.error[:, column], 2)} %."
    )


def free_text(runs: Sequence[StoredRun], lengths: Sequence[int]) -> str:
    """What removing every small neuron costs, beside Theorem 3's bound at this size."""
    task = Task()
    parts = []
    for length in lengths:
        full, without = over_runs(runs, "magnitude", length=length), over_runs(runs, "small", length=length)
        parts.append(
            f"for l = {length} the error goes from {full.error[:, 0].mean():.5f} to {without.error[:, 0].mean():.5f} and the "
            f"hinge loss from {full.loss[:, 0].mean():.4f} to {without.loss[:, 0].mean():.4f}"
        )
    share = [float(large(row_norms(trained(run))).mean()) for run in runs]
    return (
        f"{spread(share)} of the neurons are large. Remove all the others, and "
        + "; ".join(parts)
        + f" (means over {len(runs)} seeds). The theorem's allowance, $M_2^{{-1/2}}$, is {task.m2**-0.5:.2f} at our "
        f"$M_2 = {task.m2}$, and $M_1^{{-1/2}}$ is {task.m1**-0.5:.2f} at $M_1 = {task.m1}$, up to a constant that is not "
        "given. So a model of this size cannot tell the two versions apart: what we see is far below either."
    )


def alpha_line(runs: Sequence[StoredRun]) -> str:
    column = RATES.index(WIDEST)
    parts = [
        f"α' = {alpha:g}: {spread(c.error[:, 0], 4)} unpruned, {spread(c.error[:, column], 4)} with {WIDEST:.0%} removed"
        for alpha, c in by_alpha(runs).items()
    ]
    return f"share of wrong signs at l = {SHORT}, " + "; ".join(parts)


def alpha_text(runs: Sequence[StoredRun]) -> str:
    """How far each curve of Figure 15 moves over the paper's range, in errors and in losses."""
    n = RATES.index(WIDEST) + 1
    parts = [
        f"at α' = {alpha:g} it rises by {c.error[:, :n].mean(0).max() - c.error[:, 0].mean():.4f}, and the hinge loss by "
        f"{c.loss[:, :n].mean(0).max() - c.loss[:, 0].mean():.4f}"
        for alpha, c in by_alpha(runs).items()
    ]
    ends = by_alpha(runs)
    least, most = (ends[alpha].error[:, 0].mean() for alpha in (PRUNED_ALPHAS[-1], PRUNED_ALPHAS[0]))
    return (
        f"Over the paper's range the error moves little: {'; '.join(parts)}. The distance between the curves is there before "
        f"anything is pruned: {most:.4f} at α' = {PRUNED_ALPHAS[0]:g} against {least:.4f} at α' = {PRUNED_ALPHAS[-1]:g}. "
        "It is the no-match floor of [chapter 13](13-out-of-domain), not an effect of pruning."
    )


def share_line(runs: Sequence[StoredRun], length: int) -> str:
    found = over_runs(runs, "large", length=length)
    at = lambda values, share: spread(values[:, SHARES.index(share)], 3)
    return f"l = {length}, hinge loss (error) by R: " + ", ".join(
        f"{share:g}: {at(found.loss, share)} ({at(found.error, share)})" for share in SHOWN_SHARES
    )


def share_text(runs: Sequence[StoredRun], length: int) -> str:
    """How the loss grows with R: its value over R, and the exponent of a power law."""
    loss = over_runs(runs, "large", length=length).loss.mean(0)[1:]
    slope, low, high = log_slope(SHARES[1:], np.maximum(loss, 1e-12))
    return (
        f"Per unit of R the loss is {loss[0] / SHARES[1]:.3f} at R = {SHARES[1]:g}, {loss[4] / SHARES[5]:.3f} at "
        f"R = {SHARES[5]:g} and {loss[-1] / SHARES[-1]:.3f} at R = {SHARES[-1]:g}. A power law fitted to these nine points "
        f"has the exponent {slope:.2f} [{low:.2f}, {high:.2f}]; proportional to R would be 1."
    )


def luck_groups(runs: Sequence[StoredRun]) -> tuple[list[np.ndarray], list[np.ndarray], list[str]]:
    """For each group of luck all neurons of all runs after training: norms of rows, angles of the label half to the q of
    their sign (units of π), and the group's name."""
    groups, norms, angles = [], [], []
    for run in runs:
        model = trained(run)
        angle = neurons_at(run, max(snapshots(run)))["label angle"]
        groups.append(luck(run))
        norms.append(row_norms(model))
        angles.append(np.where(model.a.numpy() > 0, angle, 1 - angle))
    group, norm, angle = (np.concatenate(values) for values in (groups, norms, angles))
    bounds = (0.0, *LUCK)
    names = [f"{low:.0%}–{high:.0%}" for low, high in zip(bounds, bounds[1:], strict=False)] + [f"> {LUCK[-1]:.0%}"]
    select = lambda values: [values[group == i] for i in range(len(names))]
    return select(norm), select(angle), names


def luck_line(runs: Sequence[StoredRun]) -> str:
    norms, angles, names = luck_groups(runs)
    parts = [
        f"{name}: {len(n)} neurons, norm {np.median(n):.2f}, angle {np.median(a):.2f} π"
        for name, n, a in zip(names, norms, angles, strict=True)
        if len(n)
    ]
    return "medians by activity before training, " + "; ".join(parts)


def luck_text(runs: Sequence[StoredRun]) -> str:
    """The shares of large neurons among the lucky, the unlucky and the rest."""
    groups = [luck(run) for run in runs]
    is_large = [large(row_norms(trained(run))) for run in runs]
    share = lambda choose: [float(big[choose(g)].mean()) for g, big in zip(groups, is_large, strict=True) if choose(g).any()]
    kinds = {
        f"active on at least {LUCK[-1]:.0%} (lucky)": lambda g: g == len(LUCK),
        "in between": lambda g: (g > 0) & (g < len(LUCK)),
        f"active on less than {LUCK[0]:.0%} (unlucky)": lambda g: g == 0,
    }
    parts = []
    for name, choose in kinds.items():
        among = spread([float(choose(g).mean()) for g in groups])
        big = share(choose)
        parts.append(f"| {name} | {among} | {spread(big) if big else '–'} |")
    return (
        "Activity is counted before training, on prompts whose label has the sign of $a_i$.\n\n"
        "| neurons | share of all | of these are large after training |\n|---|---|---|\n" + "\n".join(parts)
    )
