"""Arrays, lines and sentences of chapter 14."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.record.store import StoredRun
from lib.in_context.pruning.metrics import (
    ORDERS,
    PRUNED_ALPHAS,
    RATES,
    SHARES,
    SLOPE,
    TOGETHER,
    WIDEST,
    at_rate,
    free_until,
    large_by_luck,
    large_shares,
    left_of_one_sign,
    losses_by_alpha,
    luck_groups,
    luck_names,
    norms_of,
    over_runs,
    prunings,
)
from lib.in_context.runs import N_FRESH, counted, large, small
from lib.in_context.task import Task

SHOWN_RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8)
SHOWN_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
AT = 0.2
"""The share of neurons at which the verdict compares two orders."""
FREE, ALIKE = 0.005, 0.0005
"""The hinge loss up to which something costs next to nothing, and up to which two orders cost the same, in wrong signs too."""
LATE = 0.8
"""The share of neurons at which pruning by magnitude is looked at beyond the paper's range."""


def percent(share: float) -> str:
    """With one digit, or that it is less than that, or none."""
    return "none" if share == 0 else "less than 0.1%" if share < 0.0005 else f"{share:.1%}"


def verdict(runs: Sequence[StoredRun]) -> str:
    """What pruning shows: small neurons, whether it matters which go, and where the order turns round."""
    share = float(np.mean(large_shares(runs)))
    full, rest = over_runs(runs, "magnitude").at(0).loss, over_runs(runs, "rest").at(0).loss
    if share == 1:
        first = "No neuron is small after training: there is nothing that pruning could take for free."
    else:
        cost = float((rest - full).mean())
        free = "costs next to nothing" if cost <= FREE else f"costs a hinge loss of {cost:.2f}"
        first = f"Training leaves some neurons small ({1 - share:.0%}), and removing all of these {free}."
    ordered, random = at_rate(runs, AT)
    apart, wrong = float((random.loss - ordered.loss).mean()), float((random.error - ordered.error).mean())
    if apart > ALIKE:
        second = f"With {AT:.0%} removed a random choice costs more hinge loss than the smallest"
    elif apart < -ALIKE:
        second = f"With {AT:.0%} removed a random choice costs less hinge loss than the smallest"
    else:
        second = f"With {AT:.0%} removed it does not matter for the hinge loss whether the smallest go or any"
    if abs(wrong) <= ALIKE:
        third = "in wrong signs, which the paper plots, the order makes no difference there"
    else:
        third = f"in wrong signs, which the paper plots, a random choice costs {'more' if wrong > 0 else 'less'}"
    ordered, random = (float(cost.error.mean()) for cost in at_rate(runs, LATE))
    far = (
        f" With {LATE:.0%} removed smallest first is the worse choice: {percent(ordered)} of the signs are wrong, and "
        f"{percent(random)} at random."
        if ordered > random + ALIKE
        else ""
    )
    return f"{first} {second}; {third}.{far}"


def conclusion(runs: Sequence[StoredRun]) -> str:
    """The three parts of the theorem, one after another."""
    share = float(np.mean(large_shares(runs)))
    half, whole = (over_runs(runs, "large").at(SHARES.index(share)) for share in (0.5, 0.0))
    more = float(half.error.mean() - whole.error.mean())
    if more <= 0:
        signs = "no more signs are wrong than before"
    elif more <= ALIKE:
        signs = "hardly a sign more is wrong than before"
    else:
        signs = f"{percent(half.error.mean())} of the signs are wrong, where it was {counted(whole.error, N_FRESH)}"
    rest = over_runs(runs, "rest").at(0).loss - over_runs(runs, "magnitude").at(0).loss
    parts = {
        "1": "There are two groups of neurons"
        if share < 1
        else "There is one group of neurons, so that part 2 has nothing to remove",
        "2": "Without the small ones nothing changes that could be measured"
        if float(rest.mean()) <= FREE
        else "Without the small ones the loss rises",
        "3": f"Without half of the large ones the margin falls from {whole.margin.mean():.2f} to {half.margin.mean():.2f}, and "
        f"{signs}",
    }
    if share == 1:
        del parts["2"]
    return "\n".join(f"{number}. {said}." for number, said in parts.items())


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
    parts = [f"{how} {small(c.error[:, column], 4)} and {small(c.loss[:, column], 4)}" for how, c in found.items()]
    return (
        f"l = {length}: error and hinge loss unpruned {small(start.error, 4)} and {small(start.loss, 4)}; "
        f"with {WIDEST:.0%} removed, by order: " + ", ".join(parts)
    )


def pruning_table(runs: Sequence[StoredRun], length: int) -> str:
    """Hinge losses at some shares as a table, and how far errors move."""
    found = prunings(runs, length)
    rows = []
    for rate in SHOWN_RATES:
        column = RATES.index(rate)
        rows.append((f"{rate:.0%}", *(small(c.loss[:, column], 3) for c in found.values())))
    far = {how: c.error.mean(0).max() for how, c in found.items()}
    return (
        f"Hinge losses on prompts of {length} examples, mean ± standard deviation over {len(runs)} seeds:\n\n"
        + table(("removed", "smallest rows of $W_O$ first", "at random"), rows)
        + f"\n\nUnpruned, {counted(found['magnitude'].error[:, 0], N_FRESH)} signs are wrong; with up to {RATES[-1]:.0%} "
        + f"removed at most {percent(far['magnitude'])} by magnitude and {percent(far['random'])} at random. There are "
        + f"{ORDERS} random orders and {N_FRESH:,} prompts a seed."
    )


def order_text(runs: Sequence[StoredRun], length: int) -> str:
    """Where the curves of the two orders begin to rise, in hinge loss and in wrong signs."""
    found, widest = prunings(runs, length), RATES.index(WIDEST)
    until = {how: free_until(c, FREE) for how, c in found.items()}
    margin, small_ones = found["magnitude"].margin[:, 0].mean(), 1 - float(np.mean(large_shares(runs)))
    if until["magnitude"] > until["random"]:
        shape = "The order of the paper's two curves is there"
    else:
        shape = "The order is the reverse" if until["magnitude"] < until["random"] else "The curves bend together"
    bends = (
        f"{shape}, in the hinge loss: it stays within {FREE:g} of the unpruned one until {until['magnitude']:.0%} are gone by "
        f"magnitude, and until {until['random']:.0%} at random."
    )
    if margin > 1:
        bends += (
            f" But {small_ones:.0%} are small, and random pruning should cost at once. The hinge loss does not see the first "
            f"neurons go, whichever they are, because the mean margin is {margin:.2f} and it asks for 1. So only the order of "
            "the two curves, not where they bend, can be held against the paper's figure."
        )
    moved = {how: float((c.error[:, : widest + 1].mean(0) - c.error[:, 0].mean()).max()) for how, c in found.items()}
    if max(moved.values()) <= ALIKE:
        signs = (
            f"The signs notice nothing up to {WIDEST:.0%}, the paper's range, in whichever order. The paper's errors rise "
            "there."
        )
    else:
        signs = (
            f"Up to {WIDEST:.0%}, the paper's range, the share of wrong signs rises by up to {percent(moved['magnitude'])} by "
            f"magnitude and {percent(moved['random'])} at random."
        )
    late = {how: float(c.error[:, RATES.index(LATE)].mean()) for how, c in found.items()}
    text = f"{bends}\n\n{signs}"
    if late["magnitude"] > late["random"] + ALIKE:
        one_sided = sum(left_of_one_sign(run, LATE) == 1 for run in runs)
        text += (
            f" Later, pruning by magnitude is the worse: with {LATE:.0%} gone {percent(late['magnitude'])} of the signs are "
            f"wrong, and {percent(late['random'])} at random. In {one_sided} of {len(runs)} seeds all neurons that are left by "
            "magnitude have one sign of $a$, and say nothing on prompts of the other; a random choice keeps both."
        )
    return text


def free_text(runs: Sequence[StoredRun], length: int) -> str:
    """What removing every neuron that is not large costs, beside Theorem 3's bound at this size."""
    task = Task()
    full, without = over_runs(runs, "magnitude", length=length).at(0), over_runs(runs, "rest", length=length).at(0)
    wrong, after = (counted(c.error, N_FRESH) for c in (full, without))
    signs = f"{wrong} signs are wrong, as with them" if wrong == after else f"the wrong signs go from {wrong} to {after}"
    bound, other = task.m2**-0.5, task.m1**-0.5
    rise = float((without.error - full.error).mean())
    held = "Either is kept" if rise <= bound else "Not both are kept"
    tell = ", with so much to spare that models of our size cannot tell which it should be" if rise <= bound / 10 else ""
    change = small(np.round(without.loss - full.loss, 6) + 0.0, 4)
    loss = "does not change" if change == "0" else f"changes by {change}"
    return (
        f"Without the small neurons {signs}, and the hinge loss {loss}. The theorem allows an error of the order of "
        f"$M_2^{{-1/2}}$ = {bound:.2f} in one version and of $M_1^{{-1/2}}$ = {other:.2f} in another. {held}{tell}."
    )


def alpha_text(runs: Sequence[StoredRun]) -> str:
    """How far the losses at several α' are apart, beside how far pruning moves them all."""
    first, last = losses_by_alpha(runs)
    names = [f"{low:g} and {high:g}" for low, high in itertools.pairwise(PRUNED_ALPHAS)]
    unpruned, pruned = (-np.diff(losses, axis=0) for losses in (first, last))
    rows = [
        (pair, small(before, 4), small(after, 4), f"{(after > before).sum()} of {len(runs)}")
        for pair, before, after in zip(names, unpruned, pruned, strict=True)
    ]
    widest, rise = float(np.ptp(last.mean(1))), float((last - first).mean())
    fewest, most = PRUNED_ALPHAS[0], PRUNED_ALPHAS[-1]
    head = ("α' of the two losses", "difference unpruned", f"with {WIDEST:.0%} removed", "seeds in which it grows")
    if (np.diff(last.mean(1)) >= 0).any():
        said = f"With {WIDEST:.0%} of the neurons removed, a smaller α' does not always mean a larger loss."
    elif widest > TOGETHER:
        said = f"With {WIDEST:.0%} of the neurons removed, prompts with fewer examples of the task lose more, as in the paper."
    else:
        said = (
            f"The order is the paper's, the parting is not. With {WIDEST:.0%} of the neurons removed, prompts with fewer "
            "examples of the task lose more, but hardly more."
        )
    said += f" Pruning raises all by about {rise:.2f}; those at α' = {fewest:g} and {most:g} then differ by {widest:.3f}."
    return f"{said}\n\n".replace("-", "−") + table(head, rows)


def share_line(runs: Sequence[StoredRun], length: int) -> str:
    found = over_runs(runs, "large", length=length)
    at = [f"{share:g}: {small(found.loss[:, SHARES.index(share)], 3)}" for share in SHOWN_SHARES]
    return "hinge loss by R: " + ", ".join(at)


def share_text(runs: Sequence[StoredRun], length: int) -> str:
    """Why the loss is no line in R: margins are larger than the hinge loss asks for."""
    found = over_runs(runs, "large", length=length)
    margin, loss = found.margin[:, 0], found.loss.mean(0)
    scaled = over_runs(runs, "scaled", length=length).loss.mean(0)
    text = f"The mean margin of the whole model is {spread(margin)}, and the hinge loss is content with 1. "
    if margin.mean() > 1:
        text += f"So a share of about 1 − 1/{margin.mean():.2f} = {1 - 1 / margin.mean():.2f} can go before the loss notices. "
    text += (
        "The loss differs from the grey curve, on which every margin shrinks by the share R, by at most "
        f"{np.abs(loss - scaled).max():.3f}."
    )
    below = [f"{share:g}" for share, v in zip(SHARES[1:], loss[1:], strict=True) if v < SLOPE * share]
    where = f"lies below our criterion's line at R = {', '.join(below)}" if below else "lies on or above our criterion's line"
    return f"{text} It {where}{' and above it elsewhere' * (0 < len(below) < len(SHARES) - 1)}."


def luck_line(runs: Sequence[StoredRun]) -> str:
    parts = [
        f"{name} %: {len(n)} neurons, norm {np.median(n):.2f}, angle {np.median(a):.2f} π"
        for n, a, name in zip(*luck_groups(runs), strict=True)
        if len(n)
    ]
    return "medians by activity before training, " + "; ".join(parts)


def luck_text(runs: Sequence[StoredRun]) -> str:
    """The shares of large neurons by activity before training."""
    groups = large_by_luck(runs)
    rows = [
        (f"{name} %", f"{among.mean():.0%}", f"{big.mean():.0%}" if len(big) else "–")
        for name, (among, big) in zip(luck_names(), groups, strict=True)
    ]
    return table(("active before training, of own prompts", "share of all neurons", "of these large"), rows)


def shown_text(one: Sequence[StoredRun], runs: Sequence[StoredRun]) -> str:
    """How many small rows the model has that is drawn, beside the mean of all."""
    own, mean = (1 - float(np.mean(large_shares(some))) for some in (one, runs))
    return f"This one has {own:.0%} of small rows; the mean of all models is {mean:.0%}."
