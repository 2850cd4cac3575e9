"""What chapter 4 says of its numbers: whether pictures are the paper's, contrasts, and their verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.composition.phases import LEVEL, Phase
from lib.composition.runs import LEARNED, SHADOW
from lib.composition.vectors.numbers import (
    APART,
    ENOUGH,
    LOW,
    MEASURES,
    NEAR,
    RARE,
    Comparison,
    Similarity,
    alike,
    answers,
    compared,
    counts,
    depths,
    of_depth,
    split,
)
from lib.composition.words import direction, trend_words
from lib.core.read.statistics import rank_trend
from lib.core.read.tables import table
from lib.core.read.words import listed, number_of, sentence
from lib.core.record.store import StoredRun

PLAIN, CENTRED = "last token", "last token, centred"
"""The paper's measure, and the same without the part that all vectors share."""


def rule_text() -> str:
    return (
        "The runs are those of [chapter 3](03-information-flow), and so is the rule that puts them into phases: a run belongs "
        f"to one from {LEVEL:.0%} of its answers to (4, 3) on, if it has learned {LEARNED:.0%} of its training rows and "
        f"answers {SHADOW:.0%} of the seen pairs at held-out places. How many there are is listed under Figure 4.4."
    )


def picture_text(number: str, shown: Sequence[Phase], plain: Sequence[Similarity], low: bool = False) -> str:
    """Is a figure of plain cosines the paper's, at its two layers? `low`: the paper has low cosines in the symmetric phase."""
    first = shown[0].depth
    of = {p.mapping: (p, *split(s)) for p, s in zip(shown, plain, strict=True) if p.depth == first}
    phase, inside, outside = of["inferential"]
    differs = []
    if inside < NEAR:
        differs.append(f"in the inferential model equal numbers are not near-parallel (mean cosine {inside:z.2f})")
    if inside - outside < APART:
        among = ", among questions with different first anchors" if any(s.counted is not None for s in plain) else ""
        differs.append(f"in the inferential model other numbers are nearly as alike as equal ones{among}")
    if low and max(of["symmetric"][1:]) >= LOW:
        differs.append("the symmetric model's cosines, which the paper finds low, are not")
    n = len(phase.runs) if phase.genuine else 0
    return (
        f"**At depth {first} the plain cosines of Figure {number} are {'not ' * bool(differs)}the paper's picture**, in which "
        "equal numbers are near-parallel and others are not"
        + (f": {'; '.join(differs)}" if differs else "")
        + f". There {'is' if n == 1 else 'are'} {number_of(n, 'inferential run')} of this depth to choose from."
    )


def similarity_line(names: Sequence[str], rows: Mapping[str, Sequence[Similarity]]) -> str:
    """Mean cosines inside and outside of the boxes, row by row and model by model."""
    words = lambda s: f"{split(s)[0]:z.2f} against {split(s)[1]:z.2f}"
    return "; ".join(
        f"{row}: " + ", ".join(f"{name} {words(s)}" for name, s in zip(names, line, strict=True)) for row, line in rows.items()
    )


def map_text(number: str, shown: Sequence[Phase], centred: Sequence[Similarity], what: str) -> str:
    """How a figure's maps read: in which model equal numbers stand out most, and how far in the others."""
    means = {f"the {p.mapping} one of {p.depth} layers": split(s) for p, s in zip(shown, centred, strict=True)}
    most, *rest = sorted(means, key=lambda name: means[name][1] - means[name][0])
    words = lambda name: f"{means[name][0]:z.2f} against {means[name][1]:z.2f}"
    return (
        f"In the maps of Figure {number} equal {what} stand out most in {most.replace('one', 'model', 1)}: their mean cosine "
        f"is {words(most)} among the others."
        + (f" {sentence(listed([f'in {name} it is {words(name)}' for name in rest]))}." if rest else "")
    )


def among_text(phase: Phase, context: int = 0) -> str:
    """Where the model that stands for a phase lies among the phase's runs of that depth, by the cosine of equal answers."""
    values = np.array([alike(run, context) for run in phase.runs])
    own, others = alike(phase.example, context), len(values) - 1
    if not others:
        return f"There is no other {phase.mapping} run of {phase.depth} layers to compare it with."
    low, middle, high = np.percentile(values, (25, 50, 75))
    return (
        f"The {phase.mapping} model is {'a' if low <= own <= high else 'no'} typical one: its mean plain cosine of equal "
        f"answers, {own:z.2f}, is lower than that of {int((values > own).sum())} of the other {others} {phase.mapping} runs of "
        f"{phase.depth} layers. Their median, its own among them, is {middle:z.2f}."
    )


def contrast_line(runs: Mapping[str, Sequence[StoredRun]]) -> str:
    return "; ".join(
        f"{mapping} ({number_of(len(group))}): "
        + ", ".join(f"{name} {np.mean([measure(r) for r in group]):z.2f}" for name, measure in MEASURES.items())
        for mapping, group in runs.items()
    )


def _chance(p: float) -> str:
    return f"= {p:.2g}" if p >= 0.001 else "< 0.001"


def compared_text(runs: Mapping[str, Sequence[StoredRun]]) -> str:
    """Every measure over pairs of runs of one depth, and how many runs of each phase there are, depth by depth."""
    here = "; ".join(f"{s} symmetric and {i} inferential at depth {d}" for d, (s, i) in counts(runs).items())
    found = {name: compared(runs, measure) for name, measure in MEASURES.items()}
    rows = [(name, f"{c.share:.0%}", _chance(c.p).removeprefix("= ")) for name, c in found.items() if c]
    if not rows:
        return f"Runs: {here}. No depth has both phases, so there is nothing to compare."
    return (
        "Of two runs of one depth, the inferential one has the higher contrast:\n\n"
        + table(("contrast", "in % of pairs", "exact p"), rows)
        + f"\n\nRuns: {here}. p is how often chance would give so many pairs if it drew the phases anew within each depth. Up "
        f"to {RARE:g} the contrast counts as clearly higher (our choice). {_own_words(found)}"
    )


def _own_words(found: Mapping[str, Comparison | None]) -> str:
    """What depths with enough runs say by themselves."""
    asked = sorted({depth for c in found.values() if c for depth in c.own})
    if not asked:
        return f"By itself no depth can be compared: none has {number_of(ENOUGH)} of each phase."
    words = [f"{name} at depth {d}" for name, c in found.items() if c for d in c.own if c.clear_at(d)]
    return f"Compared by itself is depth {listed([*map(str, asked)])}: " + (
        f"clearly higher is {listed(words)}." if words else "no contrast is clearly higher."
    )


def by_gamma_text(runs: Mapping[str, Sequence[StoredRun]]) -> str:
    """Does the contrast depend on γ within one phase and depth? Where there are enough runs, of three γ at least."""
    rows, falls = [], {PLAIN: 0, CENTRED: 0}
    for mapping, group in runs.items():
        for depth in depths({mapping: group}):
            here = of_depth(group, depth)
            gammas = [r.spec.gamma for r in here]
            if len(here) >= ENOUGH and len(set(gammas)) > 2:
                trends = {name: rank_trend(gammas, [MEASURES[name](r) for r in here]) for name in falls}
                rows.append((f"{mapping}, depth {depth}", len(here), *map(trend_words, trends.values())))
                for name, trend in trends.items():
                    falls[name] += direction(trend) == "falls"
    if not rows:
        return f"No phase has {number_of(ENOUGH)} of one depth and of three γ, so we cannot say."
    return (
        "Rank correlation of γ with the contrast at the last token, and its 95 % interval, where a phase has "
        f"{number_of(ENOUGH)} of one depth:\n\n"
        + table(("phase", "runs", "plain", "centred"), rows)
        + f"\n\nThe plain contrast falls with γ in {falls[PLAIN]} of {number_of(len(rows), 'group')}, the centred one in "
        f"{falls[CENTRED]}."
        + (" So by plain cosines models of different γ are not compared on equal terms." if falls[PLAIN] else "")
    )


def _two_layers(runs: Mapping[str, Sequence[StoredRun]]) -> str:
    symmetric, inferential = counts(runs).get(2, (0, 0))
    if min(symmetric, inferential) >= ENOUGH:
        p = compared({m: of_depth(group, 2) for m, group in runs.items()}, MEASURES[PLAIN]).p
        return f"At two layers, which the paper is about, the plain contrast is {'' if p <= RARE else 'not '}clearly higher."
    return (
        f"At two layers, which the paper is about, there {'is' if inferential == 1 else 'are'} "
        f"{number_of(inferential, 'inferential run')} and {symmetric} symmetric, too few to say."
    )


def _medians(runs: Mapping[str, Sequence[StoredRun]]) -> tuple[str, dict[str, tuple[float, float]]]:
    """Which phases have equal answers look alike, in words; {mapping: median plain cosines of equal answers and of others}."""
    medians = {m: tuple(np.median([answers(r) for r in group], axis=0)) for m, group in runs.items() if group}
    where = [m for m, (equal, _) in medians.items() if equal >= LOW]
    return "both phases" if len(where) > 1 else f"the {where[0]} phase only" if where else "neither phase", medians


def likeness(runs: Mapping[str, Sequence[StoredRun]]) -> str:
    """Do equal numbers look alike inside, and inside inferential models more than inside symmetric ones? {mapping: runs}."""
    where, medians = _medians(runs)
    each = depths(runs)
    at = f", at {listed([str(d) for d in each])} layers," if len(each) > 1 else ""
    by_depth = {m: [_medians({m: of_depth(runs[m], d)})[1].get(m) for d in each] for m in medians}
    written = lambda m, which: listed([f"{pair[which]:z.2f}" if pair else "–" for pair in by_depth[m]])
    words = listed([f"{written(m, 0)} in {m} runs (of others {written(m, 1)})" for m in medians])
    lines = [f"**Equal answers have similar vectors in {where}**: the median plain cosine{at} is {words}."]
    plain, centred = (compared(runs, MEASURES[name]) for name in (PLAIN, CENTRED))
    if plain is None or centred is None:
        return f"{lines[0]} No depth has runs of both phases to compare."
    by = lambda c: (
        f"in {c.share:.0%} of pairs of runs of one depth the inferential one has the higher contrast, p {_chance(c.p)}"
    )
    lines.append(
        f"By the paper's plain cosine they {'' if plain.clear else 'do not clearly '}stand out more in inferential models than "
        f"in symmetric ones ({by(plain)}); without the part that all vectors share they {'do' if centred.clear else 'do not'}"
        f"{', too' if plain.clear and centred.clear else ', either' if not plain.clear and not centred.clear else ''} "
        f"({centred.share:.0%}, p {_chance(centred.p)})."
    )
    return " ".join([*lines, _two_layers(runs)])


def taken_away(runs: Mapping[str, Sequence[StoredRun]]) -> str:
    """Do equal numbers look alike inside? By the plain cosine in each phase, and by which measures more in inferential runs."""
    where, medians = _medians(runs)
    words = "; ".join(f"{m} {equal:z.2f}, others {other:z.2f}" for m, (equal, other) in medians.items())
    found = {name: c for name, measure in MEASURES.items() if (c := compared(runs, measure))}
    clear, rest = ([f"“{name}” ({c.share:.0%})" for name, c in found.items() if c.clear is held] for held in (True, False))
    lines = [
        f"By the plain cosine equal answers look alike in {where} (median over runs of every depth: {words}). They stand out "
        + (
            f"clearly more in inferential runs by {listed(clear)}"
            if clear
            else "clearly more in inferential runs by no contrast"
        )
        + (f", {'but ' if clear else ''}not clearly by {listed(rest)}" if rest else "")
        + "; in brackets is the share of pairs of one depth in which the inferential run has the higher contrast.",
        _two_layers(runs),
    ]
    return " ".join(lines)
