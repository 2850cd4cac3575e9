"""What chapter 5 says of its numbers: which models its panels show, and whether simple weights foretell the answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from lib.composition.condensation.numbers import (
    KIND,
    STRANDS,
    Auc,
    answer_of,
    aucs,
    by_stratum,
    common_step,
    contest,
    decided,
    growth,
    measures_of,
    scores,
)
from lib.composition.runs import MAPPINGS, lean
from lib.composition.words import set_name
from lib.core.read.statistics import spearman
from lib.core.read.tables import table
from lib.core.read.words import listed, number_of, sentence
from lib.core.record.store import StoredRun


def panel_title(runs: Sequence[StoredRun]) -> str:
    """γ of the runs of a panel, and what they answer to (4, 3): the shares of one run, or how many give which answer."""
    if len(runs) == 1:
        words = ", ".join(f"{m} {runs[0].metrics[m]:.2f}" for m in MAPPINGS)
    else:
        count = Counter(map(answer_of, runs))
        words = ", ".join(f"{count[m]} {m}" for m in (*MAPPINGS, "neither") if count[m])
    return f"γ = {runs[0].spec.gamma:g}: {words}"


def pair_text(large: Sequence[StoredRun], small: Sequence[StoredRun]) -> str:
    """Do the panels of a large and a small initialization compare the paper's two phases?"""
    found, papers = [{answer_of(r) for r in runs} for runs in (large, small)], [{m} for m in MAPPINGS]
    which = {True: "are the paper's two phases", False: "are not the paper's two phases"}[found == papers]
    if found == papers[::-1]:
        which = "are the paper's two phases the other way round"
    return (
        f"**By their answers to (4, 3) the two {which}.** The paper sets a symmetric model at large initialization against "
        f"an inferential one at small; here {panel_title(large)}, and {panel_title(small)}."
        + ("" if found == papers else " So what is compared is γ, not the two solutions.")
    )


def panels_text(cells: Mapping[tuple[int, float], StoredRun]) -> str:
    """Which answers the models of a grid of panels give at small initialization, and what condensation goes with."""
    runs = list(cells.values())
    gammas = np.array([r.spec.gamma for r in runs])
    middle = float(np.median(gammas))
    count = Counter(answer_of(r) for r in runs if r.spec.gamma > middle)
    values = np.array([measures_of(r)["condensation of W_Q(1)"] for r in runs])
    with_answer = spearman(np.array([lean(r) for r in runs]), values)
    return (
        f"Of the {number_of(count.total(), 'model')} with γ above {middle:g}, {count['inferential']} answer (4, 3) mostly by "
        f"composition and {count['symmetric']} mostly by symmetry. Over all panels the rank correlation of condensation is "
        f"{spearman(gammas, values):+z.2f} with γ and {with_answer:+z.2f} with the answer (inferential minus symmetric share)."
    )


def neighbours_text(cells: dict[tuple[int, float], StoredRun]) -> str:
    """How far the nearest neighbour of a number is, for every panel of a grid {(depth, γ): run}."""
    steps = {place: common_step(run) for place, run in sorted(cells.items())}
    fixed: dict[int, list[str]] = {}
    for (depth, gamma), (step, share) in steps.items():
        if share >= STRANDS:
            fixed.setdefault(step, []).append(f"(γ = {gamma:g}, depth {depth})")
    depths, gammas = (sorted({place[i] for place in steps}) for i in (0, 1))
    cell = lambda place: f"{steps[place][0]} ({steps[place][1]:.0%})" if place in steps else ""
    rows = [(d, *(cell((d, g)) for g in gammas)) for d in depths]
    said = [f"{step} away at {listed(where)}" for step, where in sorted(fixed.items())]
    return (
        f"**In {sum(map(len, fixed.values()))} of {len(steps)} panels neighbours differ by a fixed step.** "
        + (
            f"There the nearest neighbour of at least {STRANDS:.0%} of the numbers lies " + "; ".join(said) + ". "
            if said
            else ""
        )
        + "A step of 1 means one row of numbers, a larger one means strands. The table has the most frequent step, and the "
        "share of the numbers that have it.\n\n" + table(("depth", *(f"γ = {g:g}" for g in gammas)), rows)
    )


def by_gamma_line(runs: Sequence[StoredRun], name: str) -> str:
    """Mean of a measure for every γ."""
    groups: dict[float, list[float]] = {}
    for run in runs:
        groups.setdefault(run.spec.gamma, []).append(measures_of(run)[name])
    return ", ".join(f"γ {g:g}: {np.mean(v):.2f}" for g, v in sorted(groups.items()))


def growth_line(runs: Sequence[StoredRun]) -> str:
    def steps(run: StoredRun) -> str:
        grown = [f"{s:.0f}" for s in growth(run) if not math.isinf(s)]
        rest = len(growth(run)) - len(grown)
        return " ".join([*grown, *([f"({number_of(rest, 'other')} not)" if grown else "none"] if rest else [])])

    return "steps at which each eigenvalue has grown threefold: " + "; ".join(
        f"γ = {r.spec.gamma:g}, seed {r.spec.seed}: {steps(r)}" for r in runs
    )


def kinds_text(cells: Mapping[tuple[int, float], Mapping[str, float]]) -> str:
    """Which kinds of matrices lose rank from the largest to the smallest initialization. cells: {(depth, γ): {kind: rank}}."""
    ends = min(g for _, g in cells), max(g for _, g in cells)
    means = {
        kind: [float(np.mean([cell[kind] for (_, g), cell in cells.items() if g == end])) for end in ends]
        for kind in next(iter(cells.values()))
    }
    stay = {kind: large for kind, (large, small) in means.items() if small > large / 2}
    said = f"From γ = {ends[0]:g} to γ = {ends[1]:g} the stable rank falls to less than half in "
    if len(stay) == len(means):
        return said + "no kind of matrix."
    said += "every kind of matrix" + (f" but {listed([f'the {KIND.get(kind, kind)}' for kind in stay])}" if stay else "")
    if stay and max(stay.values()) < max(large for large, _ in means.values()) / 2:
        said += f", which {'has' if len(stay) == 1 else 'have'} few directions at the large initialization already"
    return said + "."


def with_gamma_text(runs: Sequence[StoredRun]) -> str:
    """How each measure goes with γ: by which of them smaller initialization means simpler weights."""
    by = scores(runs)
    towards = {n: spearman(by["γ"], v) * (1 if n in SIMPLER_ABOVE else -1) for n, v in by.items() if n != "γ"}
    clear = [n for n, value in towards.items() if value > 0.5]
    sizes = sorted(towards[n] for n in clear)
    return (
        f"By {'every measure' if len(clear) == len(towards) else listed(clear) or 'no measure'} weights get clearly simpler as "
        "γ grows"
        + (f": rank correlations with γ are {sizes[0]:.2f} to {sizes[-1]:.2f} in size" if len(clear) > 1 else "")
        + f" ({number_of(len(runs))})."
    )


def order_text(runs: Sequence[StoredRun]) -> str:
    which = [r for r, d in zip(runs, decided(runs), strict=True) if d]
    n_inferential = sum(lean(r) > 0 for r in which)
    found = aucs(runs)
    counts = (
        f"Of {number_of(len(runs))} that fit the seen pairs {n_inferential} are decidedly inferential and "
        f"{len(which) - n_inferential} decidedly symmetric."
    )
    if not found:
        return counts + " No experiment and depth has both: nothing can be told apart."
    best, informs, better, clear = contest(found)
    if not informs:
        verdict = "**Over all groups together no measure of complexity foretells the answer**: every interval holds 0.5, chance"
    elif not better:
        verdict = "**γ foretells the answer at least as well as any measure of complexity**"
    elif clear:
        verdict = "**Complexity foretells the answer better than γ**: the intervals do not overlap"
    else:
        verdict = "**The best measure of complexity does somewhat better than γ**, but the intervals overlap"
    return (
        f"{counts} {verdict}. The best is {best}, with {found[best][0]:.2f}; γ has {found['γ'][0]:.2f}. (Below 0.5, "
        "inferential runs have the *lower* values, which foretells as well.) The best was chosen among five measures, which "
        "flatters it."
    )


def _group(stratum: tuple[str, int, int]) -> str:
    experiment, version, depth = stratum
    return f"{set_name(experiment, version)}, depth {depth}"


def depth_text(runs: Sequence[StoredRun]) -> str:
    """The same for each experiment and depth, where there are enough runs of both kinds."""
    lines, few = [], []
    for stratum, (symmetric, inferential, found) in by_stratum(runs).items():
        if not found:
            few.append(_group(stratum))
            continue
        said = f"by {which}" if (which := _which(found)) else "no measure tells the two apart"
        counts = f"{symmetric} symmetric and {number_of(inferential, 'inferential run')}"
        lines.append(f"- *{sentence(_group(stratum))}* ({counts}): {said}.")
    if few:
        lines.append(f"- Too few of one kind: {'; '.join(few)}.")
    return "\n".join(lines) + _directions(runs)


def _directions(runs: Sequence[StoredRun]) -> str:
    """Do groups agree on which answer has the lower rank? Nothing where fewer than two can tell."""
    values = {s: found["mean stable rank"][0] for s, (*_, found) in by_stratum(runs).items() if "mean stable rank" in found}
    if len(values) < 2:
        return ""
    lower, higher = ([_group(s) for s, v in values.items() if (v < 0.5) is below] for below in (True, False))
    if not lower or not higher:
        which = "lower" if lower else "higher"
        return f"\n\n**Groups agree on the direction**: inferential runs tend to the {which} mean stable rank."
    return (
        "\n\n**Groups do not agree on the direction**: inferential runs tend to the lower mean stable rank in "
        f"{'; '.join(lower)}, and to the higher one in {'; '.join(higher)}."
    )


SIMPLER_ABOVE = ("condensation of W_Q(1)", "order of the embedding")
"""Measures of which a larger value means simpler weights; of the others a smaller one does."""


def _which(found: Mapping[str, Auc]) -> str:
    """By which measures inferential runs have the simpler or less simple weights; nothing if none foretells the answer."""
    off = {n: v > 0.5 for n, (v, low, high) in found.items() if n != "γ" and (low > 0.5 or high < 0.5)}
    if not off:
        return ""
    simpler = {above == (name in SIMPLER_ABOVE) for name, above in off.items()}
    kind = "now simpler, now less simple" if len(simpler) > 1 else "simpler" if True in simpler else "less simple"
    return f"{listed(list(off))} inferential runs have the {kind} weights"


def simplicity(runs: Sequence[StoredRun], found: Mapping[str, Auc]) -> str:
    """Does small initialization make weights simple, and do simple weights foretell the answer? found: aucs(runs)."""
    by = scores(runs)
    with_gamma = [spearman(by["γ"], by[name]) for name in ("mean stable rank", "condensation of W_Q(1)")]
    simple = with_gamma[0] < -0.5 and with_gamma[1] > 0.5
    said = "The smaller the initialization, the simpler the weights" if simple else "Smaller weights do not get simpler here"
    said = f"**{said}.** "
    if not found:
        return said + "Whether simple weights mean a composed answer cannot be asked of these runs."
    _, informs, better, clear = contest(dict(found))
    if not informs:
        return said + (
            f"**{'But simple' if simple else 'Simple'} weights do not foretell a composed answer**: over all runs together no "
            "measure of them tells the two answers apart."
        )
    if not better:
        return said + "**Simple weights foretell the answer no better than γ itself.**"
    return said + f"**Simple weights foretell the answer {'better' if clear else 'somewhat better'} than γ itself.**"


def taken_away(runs: Sequence[StoredRun]) -> str:
    """What the answer does not say: in which groups of runs a measure foretells the answer, and which way."""
    groups = {_group(stratum): found for stratum, (*_, found) in by_stratum(runs).items() if found}
    if not groups:
        return "No group of runs has enough of both answers to be asked."
    off = [f"in {group}, by {which}" for group, found in groups.items() if (which := _which(found))]
    found = aucs(runs)
    said = (
        f"Within {len(off)} of {number_of(len(groups), 'group')} of runs that share settings and depth some measure tells the "
        "two answers apart" + (f": {'; '.join(off)}." if off else ".")
    )
    if found and not contest(found)[1]:
        said += (
            " What small initialization does to weights and what it does to answers are two findings; here the first does not "
            "explain the second."
        )
    return said
