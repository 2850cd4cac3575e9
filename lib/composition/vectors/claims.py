"""Claims on vectors (chapter 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lib.composition.phases import material, phases
from lib.composition.vectors.metrics import (
    APART,
    CENTRED,
    ENOUGH,
    LOW,
    MEASURES,
    NEAR,
    PLAIN,
    answers,
    compared,
    counts,
    depths,
    median_cosines,
    middles,
    of_depth,
    pooled,
    shared_depths,
)
from lib.core.read.claim import Claim, Measured, Part, by_exact_test
from lib.core.read.statistics import RARE
from lib.core.record.store import Store, StoredRun

Runs = Mapping[str, Sequence[StoredRun]]
SHARE = 0.9
"""Of pairs of runs of one depth in which the inferential one has to have the higher centred contrast (our choice)."""


def _genuine(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    runs = pooled([p for p in phases(material(store, profile)) if p.genuine])
    if set(runs) != {"symmetric", "inferential"}:
        raise LookupError("one of the phases has no stored run with weights")
    return runs


def _enough(runs: Runs) -> Part:
    """What has to be given for every depth with both phases to say something by itself."""
    if not shared_depths(runs):
        raise LookupError("no depth has stored runs of both phases")
    fewest = min(min(n) for n in counts(runs).values() if min(n))
    return Part("runs of each phase at every depth", fewest, ">=", ENOUGH, "{:.0f}", given=True)


def _higher(runs: Runs, name: str) -> list[Part]:
    """Is a contrast higher in inferential runs: over pairs of one depth, and at each depth with enough runs by itself?"""
    asked = {f"contrast at the {name}, p": None}
    asked |= {f"contrast at the {name}, depth {depth} alone, p": depth for depth in shared_depths(runs, ENOUGH)}
    found = {words: compared(runs, MEASURES[name], depth) for words, depth in asked.items()}
    return [by_exact_test(words, c.p, c.opposite, c.least, RARE) for words, c in found.items() if c]


def _near(runs: Runs, measure: Callable[[StoredRun], tuple[float, float]]) -> list[Part]:
    """Are equal numbers near-parallel in inferential runs, and apart from others? Depth by depth."""
    parts = []
    for depth in depths({"inferential": runs["inferential"]}):
        equal, _, gap = median_cosines(of_depth(runs["inferential"], depth), measure)
        group = f"depth {depth}, inferential"
        parts.append(Part(f"{group}: cosine of equal numbers", equal, ">=", NEAR, group=group))
        parts.append(Part(f"{group}: others lower by", gap, ">=", APART, group=group))
    return parts


def _low(runs: Runs) -> list[Part]:
    """Are the cosines of equal answers low in symmetric runs?"""
    return [
        Part(
            f"depth {depth}, symmetric: cosine of equal answers",
            median_cosines(of_depth(runs["symmetric"], depth), answers)[0],
            "<",
            LOW,
        )
        for depth in depths({"symmetric": runs["symmetric"]})
    ]


def _measured(runs: Runs, *parts: Part) -> Measured:
    return Measured((_enough(runs), *parts), len({r.spec.seed for group in runs.values() for r in group}))


def _fused(store: Store, profile: str) -> Measured:
    runs = _genuine(store, profile)
    return _measured(runs, *_higher(runs, PLAIN), *_near(runs, answers), *_low(runs))


def _anchor(store: Store, profile: str) -> Measured:
    runs = _genuine(store, profile)
    contrasts = [part for name in list(MEASURES)[2:] for part in _higher(runs, name)]
    return _measured(runs, *contrasts, *_near(runs, middles))


def _centred(store: Store, profile: str) -> Measured:
    """Do the two phases part on the centred contrast, run by run, within each depth?"""
    runs = _genuine(store, profile)
    share = compared(runs, MEASURES[CENTRED]).share
    parts = Part("share of pairs in which the inferential run is higher", share, ">=", SHARE)
    return _measured(runs, *_higher(runs, CENTRED), parts)


_TEST = (
    "higher in the inferential run in more of the pairs of one depth than chance gives (exact test, "
    f"p ≤ {RARE:g}), and by itself at every depth with {ENOUGH} runs of each phase, which every depth with both has to have"
)
_MEDIANS = (
    f"median over the inferential runs of each depth of the cosine of equal numbers at least {NEAR:g}, others {APART:g} lower"
)
_FEW = "it compared means by their standard errors, which two or three runs do not give; replaced after seeing results"
CHAPTER_04 = (
    Claim(
        "vectors-fused",
        "zhang2024",
        "Fig 4a, b",
        "Fused vectors of equal answers are near-parallel in the inferential phase; in the symmetric one cosines are low.",
        "heatmaps of one model of each phase",
        f"last token: contrast {_TEST}; {_MEDIANS}; the same cosine in symmetric runs below {LOW:g}",
        _fused,
        revised=f"{_FEW}. So were mean cosines over all depths together, of which the inferential ones had only to be .9, as "
        "many symmetric ones are, too",
        question="simple",
        figure="4.1",
    ),
    Claim(
        "vectors-anchor",
        "zhang2024",
        "Fig 4c",
        "In the inferential phase the first anchor holds the intermediate value: equal values are near-parallel there.",
        "a heatmap of one model",
        f"first anchor: contrast {_TEST}; both of the state after attention without each anchor's mean and of the plain values "
        f"V; {_MEDIANS}",
        _anchor,
        revised=f"{_FEW}. Whether equal values are near-parallel was not asked; added after seeing results",
        question="simple",
        figure="4.3",
    ),
    Claim(
        "vectors-centred",
        "ours",
        "centred contrast",
        "Without the part that all vectors share, the contrast tells the two phases apart run by run.",
        "not reported",
        f"{_TEST}; the higher one in {SHARE:.0%} of pairs of one depth",
        _centred,
        revised=_FEW,
        question="simple",
        figure="4.2",
    ),
)
