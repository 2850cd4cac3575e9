"""What chapter 5 says of its numbers: which models its panels show, and whether simple weights foretell the answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from lib.composition.condensation.numbers import (
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


def with_gamma_text(runs: Sequence[StoredRun]) -> str:
    """How each measure goes with γ: rank correlations over runs."""
    gammas = np.array([r.spec.gamma for r in runs])
    words = [f"{name} {spearman(gammas, v):+z.2f}" for name, v in scores(runs).items() if name != "γ"]
    return f"Rank correlation with γ over {number_of(len(runs))}: " + ", ".join(words) + "."


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
    words = lambda name: f"{found[name][0]:.2f} [{found[name][1]:.2f}, {found[name][2]:.2f}]"
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
        f"{counts} {verdict}. The best is {best}, {words(best)}; γ has {words('γ')}. (Below 0.5, inferential runs have the "
        "*lower* values, which foretells as well.) The best was chosen among five measures, which flatters it."
    )


def _group(stratum: tuple[str, int, int]) -> str:
    experiment, version, depth = stratum
    return f"{set_name(experiment, version)}, depth {depth}"


def depth_text(runs: Sequence[StoredRun]) -> str:
    """The same for each experiment and depth, where there are enough runs of both kinds."""
    lines = []
    for stratum, (symmetric, inferential, found) in by_stratum(runs).items():
        head = f"- {sentence(_group(stratum))} ({symmetric} symmetric and {number_of(inferential, 'inferential run')})"
        words = ", ".join(f"{name} {v:.2f} [{low:.2f}, {high:.2f}]" for name, (v, low, high) in found.items())
        lines.append(f"{head}: {words or 'too few of one kind'}.")
    return "\n".join(lines) + _directions(runs)


def _directions(runs: Sequence[StoredRun]) -> str:
    """Do groups agree on which answer has the lower rank? Nothing where fewer than two can tell."""
    values = {s: found["mean stable rank"][0] for s, (*_, found) in by_stratum(runs).items() if "mean stable rank" in found}
    if len(values) < 2:
        return ""
    each = listed([f"{value:.2f} ({_group(stratum)})" for stratum, value in values.items()])
    agree = min(values.values()) >= 0.5 or max(values.values()) <= 0.5
    return (
        f"\n\n**Groups {'agree' if agree else 'do not agree'} on the direction**: the chance that an inferential run has the "
        f"higher mean stable rank is {each}."
    )


SIMPLER_ABOVE = ("condensation of W_Q(1)", "order of the embedding")
"""Measures of which a larger value means simpler weights; of the others a smaller one does."""


def _apart(runs: Sequence[StoredRun]) -> str:
    """In which groups a measure of complexity foretells the answer, whatever it does over all of them; nothing if in none."""
    said = []
    for stratum, (*_, found) in by_stratum(runs).items():
        off = {n: v > 0.5 for n, (v, low, high) in found.items() if n != "γ" and (low > 0.5 or high < 0.5)}
        if off:
            simpler = {above == (name in SIMPLER_ABOVE) for name, above in off.items()}
            which = "now simpler, now less simple" if len(simpler) > 1 else "simpler" if True in simpler else "less simple"
            said.append(f"{_group(stratum)}, where by {listed(list(off))} inferential runs have the {which} weights")
    return f" It is otherwise within one group of runs: {'; '.join(said)}." if said else ""


def simplicity(runs: Sequence[StoredRun], found: Mapping[str, Auc]) -> str:
    """Does small initialization make weights simple, and do simple weights foretell the answer? found: aucs(runs)."""
    by = scores(runs)
    names = ("mean stable rank", "condensation of W_Q(1)")
    with_gamma = [spearman(by["γ"], by[name]) for name in names]
    simple = with_gamma[0] < -0.5 and with_gamma[1] > 0.5
    said = (
        f"**The smaller the initialization, the simpler the weights{'' if simple else ': not so here'}**: rank correlations of "
        "γ with "
        + listed([f"{name} {value:+z.2f}" for name, value in zip(names, with_gamma, strict=True)])
        + f" over {number_of(len(runs))}. "
    )
    if not found:
        return said + "Whether simple weights mean a composed answer cannot be asked of these runs."
    _, informs, better, clear = contest(dict(found))
    if not informs:
        said += (
            "**But simple weights do not foretell a composed answer**: over all runs together no measure tells the two answers "
            "apart."
        )
    elif not better:
        said += "**Simple weights foretell the answer no better than γ itself.**"
    else:
        said += f"**Simple weights foretell the answer {'better' if clear else 'somewhat better'} than γ itself.**"
    return said + _apart(runs)
