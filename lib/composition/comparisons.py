"""Chapters 4 to 7: is what a figure shows what the paper shows, and do repeated runs agree? Computed sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from lib.composition.condensation.prose import lean, measures_of
from lib.composition.experiments import FAST
from lib.composition.information_flow.prose import listed
from lib.composition.phases import Phase
from lib.composition.rate_decay_data.claims import BY_DECAY, BY_RATE, Value, slope
from lib.composition.runs import MAPPINGS, learned_among
from lib.composition.vectors.claims import split
from lib.composition.vectors.numbers import Similarity
from lib.core.measures import spearman
from lib.core.store import Store, StoredRun
from lib.core.sweep import load

Trend = tuple[float, float, float]
"""A rank correlation with the ends of its 95 % interval."""


def number_of(n: int, what: str = "run") -> str:
    """`1 run`, `2 runs`."""
    return f"{n} {what}{'s' * (n != 1)}"


def sentence(words: str) -> str:
    """With a capital letter, and nothing else changed."""
    return words[:1].upper() + words[1:]


def trend_words(trend: Trend) -> str:
    return f"{trend[0]:+.2f} [{trend[1]:+.2f}, {trend[2]:+.2f}]"


# --- Chapter 4: the pictures of vectors ---

NEAR, APART, LOW = 0.9, 0.1, 0.5
"""Mean cosines: near-parallel from NEAR on, apart from the others by APART at least, low below LOW (our choice)."""


def picture_text(number: str, shown: Sequence[Phase], plain: Sequence[Similarity], low: bool = False) -> str:
    """Is a figure of plain cosines the paper's, at its two layers? `low`: the paper has low cosines in the symmetric phase."""
    first = shown[0].depth
    of = {p.mapping: (p, *split(s)) for p, s in zip(shown, plain, strict=True) if p.depth == first}
    phase, inside, outside = of["inferential"]
    as_reported = [inside >= NEAR, inside - outside >= APART]
    said = f"the inferential model has a mean cosine of {inside:.2f} where numbers are equal and of {outside:.2f} elsewhere"
    if low:
        _, *cosines = of["symmetric"]
        as_reported.append(max(cosines) < LOW)
        said += f"; the symmetric one, whose cosines the paper finds low, has {cosines[0]:.2f} and {cosines[1]:.2f}"
    n = len(phase.runs) if phase.genuine else 0
    return (
        f"**At depth {first} Figure {number} is {'' if all(as_reported) else 'not '}the paper's picture**, in which equal "
        f"numbers are near-parallel and others are not: {said}. There {'is' if n == 1 else 'are'} "
        f"{number_of(n, 'inferential run')} of this depth to choose from."
    )


# --- Chapter 5: which models the panels show ---


def answer_of(run: StoredRun) -> str:
    """The mapping that more than half of a run's answers follow exactly; "neither" where there is none."""
    return next((m for m in MAPPINGS if run.metrics[m] > 0.5), "neither")


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
        f"{spearman(gammas, values):+.2f} with γ and {with_answer:+.2f} with the answer (inferential minus symmetric share)."
    )


# --- Chapter 6: do learning rate and decay condense the weights? ---


def trend_of(runs: Sequence[StoredRun], value: Value, measure: Callable[[StoredRun], float], seed: int = 0) -> Trend:
    """Rank correlation of a setting with a measure of the run, and its 95 % interval by resampling runs."""
    return slope([replace(r, metrics={"measure": measure(r)}) for r in runs], value, "measure", seed)


def condensing_text(runs: Sequence[StoredRun], shown: Sequence[StoredRun], seed: int = 0) -> str:
    """Do learning rate and decay condense the weights? By the rank of W_Q(1) of all runs, and by the weights that are shown."""
    settings = {"learning rate": BY_RATE, "weight decay": BY_DECAY}
    good = learned_among(runs) or list(runs)
    rank = lambda r: r.history["rank W_Q(1)"][-1]
    by_rank = {name: trend_of(good, value, rank, seed) for name, value in settings.items()}
    words = {
        True: "lowers the rank of the first query matrix",
        False: "has no clear effect on the rank of the first query matrix",
    }
    lines = [
        f"a larger {name} {'raises the rank of the first query matrix' if low > 0 else words[high < 0]}"
        for name, (_, low, high) in sorted(by_rank.items(), key=lambda item: item[1][0])
    ]
    said = f"**{sentence('; '.join(lines))}.** Rank correlation with its stable rank, over the {number_of(len(good))} that "
    said += "learned the seen pairs: " + ", ".join(f"{name} {trend_words(trend)}" for name, trend in by_rank.items()) + "."
    if len(shown) > 2:
        for measure in ("condensation of W_Q(1)", "order of the embedding"):
            trends = {
                name: trend_of(shown, value, lambda r, m=measure: measures_of(r)[m], seed) for name, value in settings.items()
            }
            said += f" With the {measure}, over the {len(shown)} runs shown: "
            said += ", ".join(f"{name} {trend_words(trend)}" for name, trend in trends.items()) + "."
    return said


# --- Chapter 7: runs that repeat others ---

DIFFER = 0.1
"""Two runs with the same settings disagree if their shares of one answer differ by more than this (our choice)."""


def repeats(runs: Sequence[StoredRun], others: Sequence[StoredRun]) -> list[tuple[StoredRun, StoredRun]]:
    """Pairs of runs of two experiments that have all settings and the seed in common."""
    settings = lambda r: replace(r.spec, experiment=FAST.folder, version=FAST.version)
    known = {settings(r): r for r in others}
    return [(r, known[settings(r)]) for r in runs if settings(r) in known]


def repeats_text(runs: Sequence[StoredRun], store: Store, profile: str) -> str:
    """How far runs agree with those of the diagram over γ and depth that have the same settings and seed."""
    try:
        pairs = repeats(runs, load(FAST.specs(profile), store))
    except LookupError:
        return "The runs of the diagram over γ and depth are not in this store, so nothing can be said of repeats."
    if not pairs:
        return "None of these runs repeats a run of the diagram over γ and depth."
    n, names = len(pairs), ("symmetric", "inferential")
    apart = {m: sum(abs(a.metrics[m] - b.metrics[m]) > DIFFER for a, b in pairs) for m in names}
    leads = lambda r: r.metrics["inferential"] > r.metrics["symmetric"]
    same = sum(leads(a) == leads(b) for a, b in pairs)
    widths = listed(sorted({str(a.spec.model.d_model) for a, _ in pairs}))
    another = all(a.provenance.get("program") != b.provenance.get("program") for a, b in pairs)
    stable = same >= 0.9 * n and max(apart.values()) > 0.1 * n
    return (
        f"{number_of(n)} of width {widths} repeat{'s' * (n == 1)} a run of the diagram over γ and depth, with the same "
        f"settings and seed{', by another program of the [engine](engine)' * another}. The share of inferential answers "
        f"differs by more than {DIFFER:g} in {apart['inferential']} of them, that of symmetric ones in {apart['symmetric']}. "
        f"Which of the two answers leads is the same in {same} of {n}."
        + (" **The kind of answer is stable; how exactly it is given is noise.**" if stable else "")
    )
