"""Arrays, lines and sentences of chapter 14."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.core.read.measures import spread
from lib.core.record.store import StoredRun
from lib.in_context.pruning.numbers import (
    LUCK,
    ORDERS,
    RATES,
    SHARES,
    SHORT,
    SIZES,
    WIDEST,
    by_alpha,
    large_shares,
    luck,
    luck_groups,
    no_match,
    norms_of,
    over_runs,
    product_norms,
    prunings,
)
from lib.in_context.runs import N_FRESH, answers, large, trained
from lib.in_context.study import FOREIGN_SUM
from lib.in_context.task import Task

SHOWN_RATES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.95)
SHOWN_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


def norms_line(runs: Sequence[StoredRun]) -> str:
    parts = []
    for name, (after, before, _) in norms_of(runs).items():
        ratio = [float(np.quantile(v, 0.9) / np.quantile(v, 0.1)) for v in after]
        parts.append(
            f"rows of {name}: large {spread(large_shares(runs, name))} of all; ninth decile over first {spread(ratio)}, mean "
            f"norm {spread(before.mean(1), 3)} before and {spread(after.mean(1), 3)} after"
        )
    return "; ".join(parts)


def norms_text(runs: Sequence[StoredRun]) -> str:
    """What the two sizes say of which neurons are large."""
    norms = norms_of(runs)
    moved = [a.mean() / b.mean() for a, b in zip(*norms["W_O"][:2], strict=True)]
    rows = [
        f"| rows of {name} | {spread(large_shares(runs, name))} | {spread(b.mean(1), 3)} | {spread(a.mean(1), 3)} |"
        for name, (a, b, _) in norms.items()
    ]
    return (
        "| size of a neuron | share of large neurons | mean norm before training | after |\n|---|---|---|---|\n"
        + "\n".join(rows)
        + f"\n\nOn average a row of W_O is {spread(moved)} times as long after training as before."
    )


def pruning_line(runs: Sequence[StoredRun], length: int) -> str:
    column, found = RATES.index(WIDEST), prunings(runs, length)
    start = found["W_O"].at(0)
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
        cells = [spread(c.loss[:, column], 3) for c in found.values()]
        rows.append(f"| {rate:.0%} | " + " | ".join(cells) + " |")
    start = found["W_O"].error[:, 0].mean()
    far = {how: c.error.mean(0).max() for how, c in found.items()}
    return (
        f"Hinge losses on prompts of {length} examples, mean ± standard deviation over {len(runs)} seeds:\n\n"
        "| removed | smallest rows of W_O first | smallest rows of W_O W_V first | at random |\n|---|---|---|---|\n"
        + "\n".join(rows)
        + f"\n\nUnpruned, signs are wrong for {start:.5f} of the prompts; over all rates up to {RATES[-1]:.0%} "
        + f"for at most {far['W_O']:.5f} (W_O), {far['W_O W_V']:.5f} (W_O W_V) and {far['random']:.5f} (at random). There are "
        + f"{ORDERS} random orders and {N_FRESH:,} prompts a seed."
    )


def free_text(runs: Sequence[StoredRun], length: int) -> str:
    """What removing every neuron that is not large costs, beside Theorem 3's bound at this size."""
    task, parts = Task(), []
    for name in SIZES:
        full, without = over_runs(runs, name, length=length).at(0), over_runs(runs, f"rest, {name}", length=length).at(0)
        parts.append(
            f"Large by rows of {name}: {spread(large_shares(runs, name))} of the neurons. Without the others the error goes "
            f"from {full.error.mean():.5f} to {without.error.mean():.5f}, the hinge loss from {full.loss.mean():.4f} to "
            f"{without.loss.mean():.4f}."
        )
    return (
        "- "
        + "\n- ".join(parts)
        + f"\n\nThe theorem allows an error of the order $M_2^{{-1/2}}$ = {task.m2**-0.5:.2f} here on "
        f"the slide, and $M_1^{{-1/2}}$ = {task.m1**-0.5:.2f} in another version, up to constants that are not given."
    )


def alpha_line(runs: Sequence[StoredRun]) -> str:
    column = RATES.index(WIDEST)
    parts = [
        f"α' = {alpha:g}: {spread(c.error[:, 0], 4)} unpruned, {spread(c.error[:, column], 4)} with {WIDEST:.0%} removed"
        for alpha, c in by_alpha(runs).items()
    ]
    return f"share of wrong signs at l = {SHORT}, " + "; ".join(parts)


def alpha_text(runs: Sequence[StoredRun]) -> str:
    """Where the order of Figure 15 comes from: errors are prompts without a matching example."""
    n, rows = RATES.index(WIDEST) + 1, []
    for alpha, costs in by_alpha(runs).items():
        wrong, none = [], []
        for run in runs:
            asked = answers(run, alpha=alpha, length=SHORT, sum=FOREIGN_SUM)
            wrong.append(asked.margin * asked.answer <= 0)
            none.append(no_match(run, alpha))
        missed, alone = np.concatenate(wrong), np.concatenate(none)
        of_none = f"{missed[alone].mean():.2f}" if alone.any() else "–"
        with_match = f"{missed[~alone].mean():.4f}"
        change = np.abs(costs.error[:, :n].mean(0) - costs.error[:, 0].mean()).max()
        rows.append(f"| {alpha:g} | {alone.mean():.4f} | {of_none} | {with_match} | {change:.4f} |")
    head = (
        "| α' | prompts without a matching example | of these wrong | of the others wrong "
        f"| largest change of the error up to {WIDEST:.0%} |\n|---|---|---|---|---|\n"
    )
    return f"Prompts of {SHORT} examples, unpruned models, all seeds together:\n\n" + head + "\n".join(rows)


def share_line(runs: Sequence[StoredRun], length: int) -> str:
    parts = []
    for name in SIZES:
        found = over_runs(runs, f"large, {name}", length=length)
        at = [f"{share:g}: {spread(found.loss[:, SHARES.index(share)], 3)}" for share in SHOWN_SHARES]
        parts.append(f"large in {name}, hinge loss by R: " + ", ".join(at))
    return "; ".join(parts)


def share_text(runs: Sequence[StoredRun], length: int) -> str:
    """Why the loss is no line in R: margins are larger than the hinge loss asks for."""
    found = over_runs(runs, "large, W_O", length=length)
    margin, loss = found.margin[:, 0], found.loss.mean(0)
    scaled = over_runs(runs, "scaled", length=length).loss.mean(0)
    rest = over_runs(runs, "rest, W_O W_V", length=length).at(0).margin / margin
    lower = rest.mean() < 0.995 and over_runs(runs, "large, W_O W_V", length=length).loss.mean() < loss.mean()
    text = f"The mean margin of the whole model is {spread(margin)}, and the hinge loss is content with 1. "
    if margin.mean() > 1:
        text += f"So a share of about 1 − 1/{margin.mean():.2f} = {1 - 1 / margin.mean():.2f} can go before the loss notices. "
    return text + (
        "The loss differs from the grey curve, on which every margin shrinks by the share R, by at most "
        f"{np.abs(loss - scaled).max():.3f}. The neurons with large rows of W_O W_V alone carry {spread(rest)} of the "
        f"margin{', which is why their curve lies lower' if lower else ''}."
    )


def luck_line(runs: Sequence[StoredRun]) -> str:
    parts = [
        f"{name} %: {len(n)} neurons, norm {np.median(n):.2f}, angle {np.median(a):.2f} π"
        for n, a, name in zip(*luck_groups(runs), strict=True)
        if len(n)
    ]
    return "medians by activity before training, " + "; ".join(parts)


def luck_text(runs: Sequence[StoredRun]) -> str:
    """The shares of neurons with large rows of W_O W_V among the lucky, the unlucky and the rest."""
    groups = [luck(run) for run in runs]
    is_large = [large(product_norms(trained(run))) for run in runs]
    kinds = {
        f"lucky: active on {LUCK[-1]:.0%} or more": lambda g: g == len(LUCK),
        "in between": lambda g: (g > 0) & (g < len(LUCK)),
        f"unlucky: active on less than {LUCK[0]:.0%}": lambda g: g == 0,
    }
    rows = []
    for name, choose in kinds.items():
        big = [float(b[choose(g)].mean()) for g, b in zip(groups, is_large, strict=True) if choose(g).any()]
        among = spread([float(choose(g).mean()) for g in groups])
        rows.append(f"| {name} | {among} | {spread(big) if big else '–'} |")
    return "| neurons | share of all | of these large in W_O W_V |\n|---|---|---|\n" + "\n".join(rows)
