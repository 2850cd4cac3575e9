"""Claims on vectors (chapter 4).

The criteria of `vectors-anchor`, in its present form, and of `vectors-early` were fixed before any run of composition-confirm
at γ other than .55 and 1.25 was looked at; those two γ suggested them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lib.composition.flip import kept_runs, later_runs
from lib.composition.information_flow.metrics import compare_ways, way
from lib.composition.runs import exact_kind
from lib.composition.trends import above_median
from lib.composition.vectors.metrics import APART, LOW, NEAR, answers, between, compare_answers, knows_early, passes_on
from lib.core.read.claim import Claim, Measured, by_exact_test, by_interval
from lib.core.read.measures import seeds
from lib.core.read.statistics import RARE, median_interval
from lib.core.read.ways import KEY_FIRST
from lib.core.record.store import Store


def _anchor(store: Store, profile: str) -> Measured:
    runs = later_runs(store, profile)
    if (c := compare_ways(runs, passes_on)) is None:
        raise LookupError("no further γ has runs of both ways")
    first = [between(run)[1] for run in runs if way(run) == KEY_FIRST]
    ahead = median_interval([number - key for number, key in first])
    test = by_exact_test("same number nearest, key first against others of their γ: p", c.p, c.opposite, c.least, RARE)
    words = "key first: same number nearest less same key nearest, median"
    there = by_interval(words, ahead, ">", 0.0, neutral=0.0, group="sum")
    parts = replace(test, group="sum"), there
    return Measured(parts, seeds(runs))


def _early(store: Store, profile: str) -> Measured:
    runs = later_runs(store, profile)
    if (compared := above_median(runs, knows_early)) is None:
        raise LookupError("fewer than two further γ have all their new seeds")
    c, apart = compared
    name = "same answer nearest after attention, above against below the median γ: p"
    part = by_exact_test(name, c.p, c.opposite, c.least, RARE)
    return Measured((part,), seeds(apart))


def _fused(store: Store, profile: str) -> Measured:
    runs = {m: [run for run in kept_runs(store, profile) if exact_kind(run) == m] for m in ("symmetric", "inferential")}
    if not all(runs.values()):
        raise LookupError("the new seeds do not have runs of both answers")
    equal, other = np.array([answers(run) for run in runs["inferential"]]).T
    low = median_interval([answers(run)[0] for run in runs["symmetric"]])
    every = [run for some in runs.values() for run in some]
    if (c := compare_answers(every)) is None:
        raise LookupError("no γ has new seeds of both answers")
    parts = (
        by_exact_test("contrast, inferential above symmetric of their γ: p", c.p, c.opposite, c.least, RARE),
        by_interval("inferential: cosine of equal numbers", median_interval(equal), ">=", NEAR, group="inferential"),
        by_interval(
            "inferential: others lower by", median_interval(equal, other), ">=", APART, neutral=0.0, group="inferential"
        ),
        by_interval("symmetric: cosine of equal answers", low, "<", LOW),
    )
    return Measured(parts, seeds(every))


CHAPTER_04 = (
    Claim(
        "vectors-fused",
        "zhang2024",
        "Fig 4a, b",
        "Fused vectors of equal answers are near-parallel in the inferential phase; in the symmetric one cosines are low.",
        "heatmaps of one model of each phase",
        f"new seeds, last token: contrast higher in inferential runs than in symmetric ones of the same γ (exact test, "
        f"p ≤ {RARE:g}); their median cosine of equal numbers at least {NEAR:g}, others {APART:g} lower; the same cosine in "
        f"symmetric runs below {LOW:g}",
        _fused,
        revised="asked of an older pool of several widths and depths, mostly in bfloat16, depth by depth; then of all γ "
        "together, which compares γ as well; now each γ by itself, which left the verdict. Results of all were known",
        question="simple",
        figure="4.4",
    ),
    Claim(
        "vectors-anchor",
        "zhang2024",
        "Fig 4c",
        "Where the key goes first, the first anchor passes on the number in between, and not the key.",
        "a heatmap of one model",
        "new seeds at γ that did not suggest it: among values V of other first anchors the nearest has the same number in "
        "between, to within one, more often where the key goes first than in others of the same γ (exact test, "
        f"p ≤ {RARE:g}), and there more often than it has the same key (median)",
        _anchor,
        revised="before, of an older pool, mean cosines of equal numbers against others, which a vector that holds the key "
        "alone passes, too, once each anchor's mean is taken off",
        question="simple",
        figure="4.2",
    ),
    Claim(
        "vectors-early",
        "ours",
        "two stages",
        "The smaller the initialization, the sooner the last token has the answer: after attention, not after feed-forward.",
        "not reported",
        "new seeds at γ that did not suggest it: after the last attention the nearest state of another pair has the same "
        f"answer, to within one, more often above than below their median γ (exact test, p ≤ {RARE:g})",
        _early,
        question="simple",
        figure="4.3",
    ),
)
