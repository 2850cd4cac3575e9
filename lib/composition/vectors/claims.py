"""Claims on vectors (chapter 4).

The criteria of `vectors-anchor` and `vectors-centred`, in their present form, were fixed before any run of composition-confirm
at γ other than .55 and 1.25 was looked at; those two γ suggested them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.composition.flip import CONFIRM_FIRST, confirmed_runs
from lib.composition.information_flow.metrics import compare_ways
from lib.composition.phase_diagram.metrics import exact_kind
from lib.composition.vectors.metrics import ANCHOR, APART, CENTRED, LOW, MEASURES, NEAR, PLAIN, VALUES, answers
from lib.core.read.claim import Claim, Measured, Part, by_exact_test
from lib.core.read.statistics import RARE, compare
from lib.core.record.store import Store, StoredRun


def _new(store: Store, profile: str) -> list[StoredRun]:
    if not (runs := [run for run in confirmed_runs(store, profile) if run.has_weights]):
        raise LookupError("no γ has all the new seeds with their weights")
    return runs


def _seeds(runs: Sequence[StoredRun]) -> int:
    return len({run.spec.seed for run in runs})


def _ways(*names: str):  # noqa: ANN202
    """A check that contrasts are higher where the key goes first, at the γ that were not looked at when this was asked."""

    def check(store: Store, profile: str) -> Measured:
        if not (runs := [run for run in _new(store, profile) if run.spec.gamma not in CONFIRM_FIRST]):
            raise LookupError("no further γ has all its new seeds; the two that suggested the question do not judge it")
        found = {name: compare_ways(runs, MEASURES[name]) for name in names}
        if None in found.values():
            raise LookupError("no further γ has runs of both ways")
        parts = [by_exact_test(f"contrast at the {name}: p", c.p, c.opposite, c.least, RARE) for name, c in found.items() if c]
        return Measured(tuple(parts), _seeds(runs))

    return check


def _fused(store: Store, profile: str) -> Measured:
    runs = {m: [run for run in _new(store, profile) if exact_kind(run) == m] for m in ("symmetric", "inferential")}
    if not all(runs.values()):
        raise LookupError("the new seeds do not have runs of both answers")
    equal, other = np.median([answers(run) for run in runs["inferential"]], axis=0).tolist()
    low = float(np.median([answers(run)[0] for run in runs["symmetric"]]))
    every = [run for some in runs.values() for run in some]
    c = compare([MEASURES[PLAIN](run) for run in every], [exact_kind(run) == "inferential" for run in every])
    parts = (
        by_exact_test("contrast, inferential above symmetric: p", c.p, c.opposite, c.least, RARE),
        Part("inferential: cosine of equal numbers", equal, ">=", NEAR, group="inferential"),
        Part("inferential: others lower by", equal - other, ">=", APART, group="inferential"),
        Part("symmetric: cosine of equal answers", low, "<", LOW),
    )
    return Measured(parts, _seeds(every))


_MOVED = (
    "asked of the answers of an older pool of several widths, depths and batches, mostly in bfloat16; in its present form, of "
    "the way, it was suggested by the new seeds at two γ, which do not judge it"
)
_TEST = "new seeds at γ that did not suggest it: higher where the key goes first than where it is read last, each γ by itself"
CHAPTER_04 = (
    Claim(
        "vectors-fused",
        "zhang2024",
        "Fig 4a, b",
        "Fused vectors of equal answers are near-parallel in the inferential phase; in the symmetric one cosines are low.",
        "heatmaps of one model of each phase",
        f"new seeds, last token: contrast higher in inferential runs (exact test, p ≤ {RARE:g}); their median cosine of equal "
        f"numbers at least {NEAR:g}, others {APART:g} lower; the same cosine in symmetric runs below {LOW:g}",
        _fused,
        revised="asked of an older pool of several widths and depths, mostly in bfloat16, depth by depth; results of both were "
        "known",
        question="simple",
        figure="4.3",
    ),
    Claim(
        "vectors-anchor",
        "zhang2024",
        "Fig 4c",
        "Where the key goes first, the first anchor holds the intermediate value: equal values are near-parallel there.",
        "a heatmap of one model",
        f"{_TEST}, both by the state after attention without each anchor's mean and by the plain values V (exact tests, "
        f"p ≤ {RARE:g})",
        _ways(ANCHOR, VALUES),
        revised=_MOVED,
        question="simple",
        figure="4.1",
    ),
    Claim(
        "vectors-centred",
        "ours",
        "centred contrast",
        "Without the part that all vectors share, equal answers stand out where the key goes first.",
        "not reported",
        f"{_TEST} (exact test, p ≤ {RARE:g})",
        _ways(CENTRED),
        revised=_MOVED,
        question="simple",
        figure="4.2",
    ),
)
