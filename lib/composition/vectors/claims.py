"""Claims on vectors (chapter 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lib.composition.phases import material, phases
from lib.composition.vectors.numbers import (
    APART,
    ENOUGH,
    LOW,
    MEASURES,
    NEAR,
    Comparison,
    answers,
    compared,
    counts,
    depths,
    middles,
    of_depth,
    pooled,
)
from lib.core.read.claim import Claim, Finding, graded
from lib.core.read.measures import spread
from lib.core.record.store import Store, StoredRun


def _genuine(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    groups = [p for p in phases(material(store, profile)) if p.genuine]
    runs = pooled(groups)
    if set(runs) != {"symmetric", "inferential"}:
        raise LookupError("one of the phases has no stored run with weights")
    return runs


def _compared(runs: dict[str, list[StoredRun]], name: str) -> tuple[str, Comparison, dict[str, bool]]:
    """A measure in inferential against symmetric runs: in words; over pairs of one depth; and {"depth 2": is it clearly higher
    there by itself?} for each depth with enough runs."""
    found = compared(runs, MEASURES[name])
    if found is None:
        raise LookupError("no depth has stored runs of both phases")
    words = []
    for depth, n in counts(runs).items():
        if min(n):
            s, i = (np.array([MEASURES[name](r) for r in of_depth(runs[m], depth)]) for m in ("symmetric", "inferential"))
            words.append(f"depth {depth}: inferential {spread(i)} ({len(i)}), symmetric {spread(s)} ({len(s)})")
    words.append(f"the inferential run higher in {found.share:.0%} of pairs of one depth (p = {found.p:.2g})")
    return "; ".join(words), found, {f"depth {depth}": found.clear_at(depth) for depth in found.own}


def _enough(runs: dict[str, list[StoredRun]]) -> dict[str, bool]:
    """What has to be given for every depth with both phases to say something by itself."""
    return {f"{ENOUGH} runs of each phase at every depth": all(min(n) >= ENOUGH for n in counts(runs).values() if min(n))}


def _median(runs: Sequence[StoredRun], measure: Callable[[StoredRun], tuple[float, float]]) -> tuple[float, float]:
    """Medians over runs: the mean cosine of equal numbers, and by how much others are below."""
    found = np.array([measure(r) for r in runs])
    return float(np.median(found[:, 0])), float(np.median(found[:, 0] - found[:, 1]))


def _near(
    runs: dict[str, list[StoredRun]], measure: Callable[[StoredRun], tuple[float, float]]
) -> tuple[list[str], dict[str, bool]]:
    """Are equal numbers near-parallel in inferential runs, and apart from others? Depth by depth, in words and as parts."""
    words, parts = [], {}
    for depth in depths({"inferential": runs["inferential"]}):
        cosine, gap = _median(of_depth(runs["inferential"], depth), measure)
        words.append(f"depth {depth} {cosine:z.2f}, others {gap:z.2f} below")
        parts[f"depth {depth}: equal ones near-parallel, others not"] = cosine >= NEAR and gap >= APART
    return words, parts


def _seeds(runs: dict[str, list[StoredRun]]) -> int:
    return len({r.spec.seed for group in runs.values() for r in group})


def _fused(store: Store, profile: str) -> Finding:
    runs = _genuine(store, profile)
    words, contrast, own = _compared(runs, "last token")
    near, parts = _near(runs, answers)
    symmetric = {d: _median(of_depth(runs["symmetric"], d), answers)[0] for d in depths({"symmetric": runs["symmetric"]})}
    return Finding(
        f"contrast, {words}. Median cosine of equal answers: inferential {'; '.join(near)}; symmetric "
        + "; ".join(f"depth {depth} {cosine:z.2f}" for depth, cosine in symmetric.items()),
        graded(
            {"contrast higher": contrast.clear}
            | {f"contrast higher at {depth}": holds for depth, holds in own.items()}
            | parts
            | {f"depth {depth}: symmetric cosine below .5": cosine < LOW for depth, cosine in symmetric.items()},
            _enough(runs),
        ),
        _seeds(runs),
    )


def _anchor(store: Store, profile: str) -> Finding:
    runs = _genuine(store, profile)
    words, centred, own = _compared(runs, "first anchor, centred")
    plain_words, plain, plain_own = _compared(runs, "first anchor, values V")
    near, parts = _near(runs, middles)
    return Finding(
        f"without each anchor's mean, {words}. Plain values V, {plain_words}. Median cosine of equal values V in the "
        f"inferential phase: {'; '.join(near)}",
        graded(
            {"higher without the mean": centred.clear, "higher plain": plain.clear}
            | {f"higher at {depth} without the mean": holds for depth, holds in own.items()}
            | {f"higher at {depth} plain": holds for depth, holds in plain_own.items()}
            | parts,
            _enough(runs),
        ),
        _seeds(runs),
    )


def _centred(store: Store, profile: str) -> Finding:
    """Do the two phases part on the centred contrast, run by run, within each depth?"""
    runs = _genuine(store, profile)
    words, found, own = _compared(runs, "last token, centred")
    return Finding(
        words,
        graded(
            {"higher": found.clear, "higher in 90 % of pairs": round(found.share, 9) >= 0.9}
            | {f"higher at {depth}": holds for depth, holds in own.items()},
            _enough(runs),
        ),
        _seeds(runs),
    )


_TEST = (
    "higher in the inferential run in more of the pairs of one depth than chance gives (exact test, p ≤ .05), and by itself at "
    f"every depth with both phases, given {ENOUGH} runs of each"
)
_FEW = "it compared means by their standard errors, which two or three runs do not give; replaced after seeing results"
CHAPTER_04 = (
    Claim(
        "vectors-fused",
        "zhang2024",
        "Fig 4a, b",
        "Fused vectors of equal answers are near-parallel in the inferential phase; in the symmetric one cosines are low.",
        "heatmaps of one model of each phase",
        f"last token: contrast {_TEST}; median over the runs of each depth of the cosine of equal answers: inferential ≥ .9 "
        "and others .1 below, symmetric < .5",
        _fused,
        revised=f"{_FEW}. So were mean cosines over all depths together, of which the inferential ones had only to be .9, as "
        "many symmetric ones are, too",
    ),
    Claim(
        "vectors-anchor",
        "zhang2024",
        "Fig 4c",
        "In the inferential phase the first anchor holds the intermediate value: equal values are near-parallel there.",
        "a heatmap of one model",
        f"first anchor: contrast {_TEST}; both of the state after attention without each anchor's mean and of the plain values "
        "V; median over the inferential runs of each depth of the plain cosine of equal values V ≥ .9, others .1 below",
        _anchor,
        revised=f"{_FEW}. Whether equal values are near-parallel was not asked; added after seeing results",
    ),
    Claim(
        "vectors-centred",
        "ours",
        "centred contrast",
        "Without the part that all vectors share, the contrast tells the two phases apart run by run.",
        "not reported",
        f"{_TEST}; the higher one in 90 % of pairs of one depth",
        _centred,
        revised=_FEW,
    ),
)
