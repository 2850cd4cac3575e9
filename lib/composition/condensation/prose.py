"""What chapter 5 says of its numbers: which models its panels show, and whether simple weights foretell the answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from lib.composition.condensation.metrics import (
    FEW,
    KIND,
    RARE,
    STRANDS,
    Auc,
    Stratum,
    answer_of,
    aucs,
    by_stratum,
    common_step,
    contest,
    counts,
    fitted,
    growth,
    measures_of,
    pairs,
    rules,
    scores,
    strata,
    tells,
    twin,
)
from lib.composition.runs import MAPPINGS, SHADOW, lean, learned
from lib.composition.words import set_name, setting_words
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


NEAR = 0.1
"""A run is as simple as another if its condensation and its order are at most this much lower (our choice)."""


def settings_text(runs: Sequence[StoredRun]) -> str:
    """What else differs between the runs of two panels: `width 400, batch 2048, … on the left, … on the right`."""
    left, right = (setting_words(run.spec) for run in runs)
    if left == right:
        return f"Both have {left}"
    return f"The two differ in more than γ: {left} on the left, {right} on the right"


def twin_text(runs: Sequence[StoredRun], example: StoredRun) -> str:
    """Has a run of the other answer weights as simple as those of an example?"""
    if (other := twin(runs, example)) is None:
        return "No fitted run of this depth is decided for the other answer: whether it has such weights, too, cannot be asked."
    simple = lambda run: [measures_of(run)[name] for name in SIMPLER_ABOVE]
    written = lambda run: "condensation {:.2f} and order {:.2f}".format(*simple(run))
    as_simple = all(theirs >= ours - NEAR for theirs, ours in zip(simple(other), simple(example), strict=True))
    mapping = answer_of(other)
    return (
        (
            "**Weights as simple are found with the other answer, too**"
            if as_simple
            else "**The nearest weights of the other answer are less simple**"
        )
        + f": the {mapping} run whose five measures lie nearest to those on the right has {written(other)} "
        f"(γ = {other.spec.gamma:g}, {setting_words(other.spec)}; {mapping} share {other.metrics[mapping]:.2f}), against "
        f"{written(example)}."
        + (" So it is small weights that make the picture on the right, not the answer." if as_simple else "")
    )


def panels_text(runs: Sequence[StoredRun]) -> str:
    """Which answers the models of a diagram give at small initialization, and what condensation goes with, depth by depth."""
    middle = float(np.median([r.spec.gamma for r in runs]))
    count = Counter(answer_of(r) for r in runs if r.spec.gamma > middle)
    rows = []
    for depth in sorted({r.spec.model.depth for r in runs}):
        here = [r for r in runs if r.spec.model.depth == depth]
        values = np.array([measures_of(r)["condensation of W_Q(1)"] for r in here])
        goes_with = (spearman(np.array([value(r) for r in here]), values) for value in (lambda r: r.spec.gamma, lean))
        rows.append((depth, len(here), *(f"{value:+.2f}" for value in goes_with)))
    return (
        f"Of the {number_of(count.total(), 'model')} of all depths and seeds with γ above {middle:g}, {count['inferential']} "
        f"answer (4, 3) mostly by composition and {count['symmetric']} mostly by symmetry. How condensation goes with γ and "
        "with the answer (inferential minus symmetric share), as rank correlations within a depth:\n\n"
        + table(("depth", "models", "condensation and γ", "condensation and the answer"), rows)
    )


def neighbours_text(runs: Sequence[StoredRun]) -> str:
    """How far the nearest neighbour of a number is, for every model of a diagram."""
    steps = {(r.spec.model.depth, r.spec.gamma, r.spec.seed, r.spec.key): common_step(r) for r in runs}
    fixed = {place: step for place, (step, share) in steps.items() if share >= STRANDS}
    depths, gammas = (sorted({place[i] for place in steps}) for i in (0, 1))
    small = gammas[-2:]
    among = [place for place in steps if place[1] in small]
    few = Counter(fixed[place] for place in among if place in fixed)
    cell = lambda *at: ", ".join(str(fixed.get(place, "–")) for place in sorted(steps) if place[:2] == at)
    found = f" (a step of {listed([f'{step} in {n}' for step, n in sorted(few.items())])})" if few else ""
    return (
        f"**In {len(fixed)} of {number_of(len(steps), 'model')} neighbours differ by a fixed step**, and in {few.total()} of "
        f"the {len(among)} at γ = {listed([f'{g:g}' for g in small])}{found}. The step is fixed where the nearest neighbour of "
        f"at least {STRANDS:.0%} of the numbers lies at one distance. A step of 1 means one row of numbers, a larger one means "
        "strands. The table has the fixed step of each seed, and a dash where there is none.\n\n"
        + table(("depth", *(f"γ = {g:g}" for g in gammas)), [(d, *(cell(d, g) for g in gammas)) for d in depths])
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
        + f" ({number_of(len(runs))} of all sets, widths and depths together)."
    )


def _words(auc: Auc) -> str:
    return "{:.2f} [{:.2f}, {:.2f}]".format(*auc[:3])


def _rarely(auc: Auc) -> str:
    return f"{auc.p:.1%}" if auc.p >= 0.001 else "less than 0.1%"


def order_text(runs: Sequence[StoredRun]) -> str:
    """Do measures of fitted runs, or does γ, tell the two answers apart? runs: the fitted ones."""
    symmetric, inferential = counts(runs)
    said = (
        f"Of {number_of(len(runs), 'fitted run')} {inferential} are decidedly inferential and {symmetric} decidedly symmetric."
    )
    found = aucs(runs)
    if not found:
        return said + " No experiment and depth has both: nothing can be told apart."
    best = contest(found)[0]
    small = sum(pairs(here) for here in strata(runs).values() if min(counts(here)) < FEW)
    within = f"They make {number_of(pairs(runs), 'pair')} within one experiment and depth" + (
        f", {small} of them in groups with fewer than {FEW} runs of one kind." if small else "."
    )
    return (
        f"{said} {within} **{sentence(_outcome(found))}.** The best measure is {best}, with {_words(found[best])}; γ has "
        f"{_words(found['γ'])}; chance alone is as far from 0.5 {_rarely(found[best])} and {_rarely(found['γ'])} of the time "
        f"(exact test; at most {RARE:.0%} counts). Below 0.5, inferential runs have the *lower* values, which foretells as "
        f"well. The best was chosen among {len(found) - 1} measures, which flatters it."
    )


def _outcome(found: Mapping[str, Auc]) -> str:
    """Does γ, and does the simplicity of weights, tell which answer a fitted run gives? Of fitted runs' aucs."""
    _, informs, better, clear = contest(found)
    if not informs:
        if tells(found["γ"]):
            return (
                "the initialization rate γ tells which of the two answers a fitted run gives, and no measure of simplicity does"
            )
        return "neither γ nor any measure of simplicity tells which of the two answers a fitted run gives"
    if not better:
        return "how simple the weights are foretells the answer no better than γ itself"
    return f"how simple the weights are foretells the answer {'better' if clear else 'somewhat better'} than γ itself"


def rules_text(runs: Sequence[StoredRun]) -> str:
    """Does the outcome hang on who is counted? runs: all, fitted or not."""
    by_rule = {rule: (some, aucs(some)) for rule, some in rules(runs).items()}
    by_rule = {rule: (some, found) for rule, (some, found) in by_rule.items() if found}
    if not by_rule:
        return "Under no rule does an experiment and depth have both answers."
    ways = [_ways(found) for _, found in by_rule.values()]
    if len(set().union(*ways)) > 1:
        said = "**Who is counted decides which way the measures point.**"
    elif any(ways) and not all(ways):
        said = "**Who is counted decides whether a measure tells the answers apart.**"
    else:
        said = f"**The rule does not matter**: {'the direction is the same' if any(ways) else 'no measure tells'} under each."
    names = list(next(iter(by_rule.values()))[1])
    written = lambda auc: f"**{_words(auc)}**" if tells(auc) else _words(auc)
    rows = [
        ("inferential and symmetric runs", *("{1} and {0}".format(*counts(some)) for some, _ in by_rule.values())),
        ("pairs of one experiment and depth", *(pairs(some) for some, _ in by_rule.values())),
        *((name, *(written(found[name]) for _, found in by_rule.values())) for name in names),
    ]
    return (
        f"{said} The chance that an inferential run has the higher value, between runs of one experiment and depth, with 95 % "
        f"intervals; bold where chance alone is as far from 0.5 at most {RARE:.0%} of the time (exact test):"
        f"\n\n{table(('', *by_rule), rows)}\n\n{_left_out(runs)}"
    )


def _left_out(runs: Sequence[StoredRun]) -> str:
    """Whose pairs the chapter's rule takes away most, and how many runs it leaves out by their training rows alone."""
    kept = fitted(runs)
    lost = {s: pairs(some) - pairs(strata(kept).get(s, [])) for s, some in strata(runs).items()}
    said = []
    if (most := max(lost, key=lambda s: lost[s])) and lost[most]:
        before, after = counts(strata(runs)[most]), counts(strata(kept).get(most, []))
        said.append(
            f"Most pairs that the rule of this chapter takes away are of {_group(most)}: {before[1]} inferential and "
            f"{before[0]} symmetric among all runs, {after[1]} and {after[0]} among the fitted."
        )
    by_rows = [r for r in runs if r.metrics["test"] >= SHADOW and not learned(r)]
    if by_rows:
        said.append(
            f"By its training rows alone the rule leaves out {number_of(len(by_rows))}, {sum(counts(by_rows)) or 'none'} of "
            "them decided."
        )
    return " ".join(said)


def _group(stratum: Stratum) -> str:
    experiment, version, depth = stratum
    return f"{set_name(experiment, version)}, depth {depth}"


def depth_text(runs: Sequence[StoredRun]) -> str:
    """The same for each experiment and depth, where there are enough runs of both kinds."""
    lines, few = [], []
    for stratum, (symmetric, inferential, found) in by_stratum(runs).items():
        if not found:
            few.append(f"{_group(stratum)} ({symmetric} and {inferential})")
            continue
        numbers = f"{symmetric} symmetric and {number_of(inferential, 'inferential run')}"
        told = _told(found) or "neither γ nor any measure tells the two apart"
        lines.append(f"- *{sentence(_group(stratum))}* ({numbers}): {told}.")
    if few:
        lines.append(f"- Too few symmetric or inferential runs: {'; '.join(few)}.")
    return "\n".join(lines) + _directions(runs)


def _directions(runs: Sequence[StoredRun]) -> str:
    """Do groups that can tell agree on which answer has the lower rank? Nothing where no group can be asked."""
    asked = {_group(s): found["mean stable rank"] for s, (*_, found) in by_stratum(runs).items() if "mean stable rank" in found}
    if not asked:
        return ""
    lower, higher = ([g for g, v in asked.items() if tells(v) and (v.value < 0.5) is below] for below in (True, False))
    if not lower and not higher:
        return "\n\n**No group that can be asked shows a direction**: chance alone explains the mean stable ranks of each."
    if lower and higher:
        return (
            "\n\n**Groups do not agree on the direction**: inferential runs have the lower mean stable rank in "
            f"{'; '.join(lower)}, and the higher one in {'; '.join(higher)}."
        )
    which, where = ("lower", lower) if lower else ("higher", higher)
    return f"\n\n**Where a group shows a direction, inferential runs have the {which} mean stable rank**: {'; '.join(where)}."


SIMPLER_ABOVE = ("condensation of W_Q(1)", "order of the embedding")
"""Measures of which a larger value means simpler weights; of the others a smaller one does."""


def _ways(found: Mapping[str, Auc]) -> set[bool]:
    """By the measures that tell the answers apart: do inferential runs have the simpler weights?"""
    return {(v.value > 0.5) == (n in SIMPLER_ABOVE) for n, v in found.items() if n != "γ" and tells(v)}


def _told(found: Mapping[str, Auc]) -> str:
    """By what the answers are told apart, and which way; nothing if neither γ nor a measure does."""
    said = []
    if "γ" in found and tells(found["γ"]):
        said.append(f"inferential runs have the {'larger' if found['γ'].value > 0.5 else 'smaller'} γ")
    if ways := _ways(found):
        kind = "now simpler, now less simple" if len(ways) > 1 else "simpler" if True in ways else "less simple"
        names = listed([n for n, v in found.items() if n != "γ" and tells(v)])
        said.append(f"by {names} {'' if said else 'inferential runs have '}the {kind} weights")
    return " and ".join(said)


def simplicity(runs: Sequence[StoredRun], found: Mapping[str, Auc]) -> str:
    """Does small initialization make weights simple, and do simple weights foretell the answer? found: aucs(runs)."""
    by = scores(runs)
    with_gamma = [spearman(by["γ"], by[name]) for name in ("mean stable rank", "condensation of W_Q(1)")]
    simple = with_gamma[0] < -0.5 and with_gamma[1] > 0.5
    said = "The smaller the initialization, the simpler the weights" if simple else "Smaller weights do not get simpler here"
    said = f"**{said}.** "
    if not found:
        return said + "Whether simple weights mean a composed answer cannot be asked of these runs."
    best, informs, *_ = contest(found)
    outcome = f"but {_outcome(found)}" if simple and not informs else _outcome(found)
    return (
        f"{said}**{sentence(outcome)}** (γ: {_words(found['γ'])}; the best measure, {best}: {_words(found[best])}; 0.5 is a "
        "coin toss)."
    )


def taken_away(runs: Sequence[StoredRun]) -> str:
    """The chapter's question answered in two sentences. runs: all, fitted or not."""
    by_rule = {rule: aucs(some) for rule, some in rules(runs).items()}
    if not (found := by_rule["fitted runs"]):
        return "No experiment and depth has fitted runs of both answers, so the question cannot be asked."
    best = contest(found)[0]
    told = {rule: _told(auc) for rule, auc in by_rule.items() if rule != "fitted runs" and auc}
    hangs = "; ".join(f"among {rule}, {words or 'nothing tells them apart'}" for rule, words in told.items())
    return (
        f"**{sentence(_outcome(found))}**, between runs of one experiment and depth: the chance that the inferential run has "
        f"the higher value is {_words(found['γ'])} for γ and {_words(found[best])} for {best}, the best of {len(found) - 1} "
        "measures."
        + (f" It hangs on who is counted: {hangs}." if len({bool(_told(found)), *map(bool, told.values())}) > 1 else "")
    )
