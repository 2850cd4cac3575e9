"""Claims on width and depth (chapter 7)."""

from __future__ import annotations

import math
from dataclasses import replace

from lib.composition.phase_diagram.metrics import clear_trend, ends, largest
from lib.composition.runs import MAPPINGS, learned_among
from lib.composition.trends import BY_GAMMA, GOES_WITH, levels, slope
from lib.composition.variations import FLIP, WIDTH
from lib.composition.width.metrics import advantage, attainable, by_shape, shape_name, where_known
from lib.core.read.claim import NO_EFFECT, TOO_SMALL, Claim, Measured, Part, above_zero, by_interval, missed
from lib.core.read.measures import seeds
from lib.core.record.store import Store, load

CLEAR, LEADS = 0.9, 0.5
"""Mean shares from which on an answer is clear, and from which on it leads."""
WIDE = 1.5
"""An interval of a ratio that is wider than this factor could not show that another variable does a little better."""


def _flip(store: Store, profile: str) -> Measured:
    runs = load(FLIP.specs(profile), store)
    if not (known := where_known(runs)):
        raise LookupError("no γ at which the seen pairs are learned on average")
    gamma = ends(known).gamma
    in_order = gamma["inferential"] > gamma["symmetric"]
    least = min(largest(known, m) for m in MAPPINGS) if in_order else (0.0, -math.inf, math.inf)
    trend = clear_trend(runs) or (math.nan, math.nan, math.nan)
    parts = (
        by_interval("the lesser of both answers, each where it is most frequent, in this order", least, ">=", LEADS),
        by_interval("the same, clearly", least, ">=", CLEAR),
        above_zero("slope of the lean over γ, learned runs", trend, what="slope", form="{:.2f}"),
    )
    return Measured(parts, seeds(runs))


def _declines(store: Store, profile: str) -> Measured:
    runs, parts = load(WIDTH.specs(profile), store), []
    if not learned_among(runs):
        raise LookupError("no run has learned the seen pairs")
    for shape, group in by_shape(runs).items():
        done = learned_among(group)
        known = len(levels(done, BY_GAMMA)) > 1
        for mapping, sign in zip(MAPPINGS, (-1, 1), strict=True):
            value, low, high = slope(done, BY_GAMMA, mapping) if known else (math.nan,) * 3
            trend = (value, low, high) if sign > 0 else (-value, -high, -low)
            words = f"{shape_name(shape)}: {'rise' if sign > 0 else 'fall'} of the {mapping} answer"
            part = above_zero(words, trend, GOES_WITH, "correlation", "{:.2f}")
            parts.append(replace(part, group=shape_name(shape)))
    return Measured(tuple(parts), seeds(runs))


def _collapses(store: Store, profile: str) -> Measured:
    runs = load(WIDTH.specs(profile), store)
    better = advantage(runs)
    best = max(better, key=lambda name: better[name][0])
    _, low, high = better[best]
    possible = attainable(runs)
    failure = missed((low, high), ">=", possible, neutral=1.0)
    failure = TOO_SMALL if failure == NO_EFFECT and high > WIDE * low else failure
    power = f"its interval ends at {high:.2f}, and a perfect variable would have {possible:.2f}" * (failure == TOO_SMALL)
    words = f"times better than γ, {best}, lower end"
    return Measured((Part(words, low, ">", 1.0, failure=failure, power=power),), seeds(runs))


CLAIMS = (
    Claim(
        "flip-at-one-rate",
        "zhang2024",
        "Fig 2, text",
        "At depth 2, γ alone turns the symmetric answer into the inferential one.",
        "γ = .5 symmetric, γ = .8 inferential",
        f"large-batch runs, means over seeds, seen pairs learned: symmetric at least {LEADS:g} and, at a larger γ, "
        f"inferential at least {LEADS:g}; both at least {CLEAR:g}; the lean rises with γ among the runs that have learned",
        _flip,
        question="flip",
        figure="7.1",
    ),
    Claim(
        "width-trend",
        "ours",
        "widths and depths",
        "At every width and depth the symmetric answer gets rarer, and the inferential more frequent, as γ grows.",
        "not reported",
        "rank correlations over runs of a shape that have learned: intervals below and above 0, both in one shape (the last "
        "added after seeing results)",
        _declines,
        revised="before, of all runs, with those that had not learned the seen pairs; it was found out with results known, and "
        "the verdict was the same",
        question="flip",
        figure="7.2",
    ),
    Claim(
        "width-collapse",
        "ours",
        "widths and depths",
        "The transition depends on the size of the weights rather than on γ as such.",
        "not reported",
        "one curve on the best other variable deviates less than one on γ, the 95 % interval of the ratio above 1; an interval "
        "that reaches what a perfect variable would have is too small to tell",
        _collapses,
        revised="what a perfect variable would have was asked with results known; before, the verdict was no clear effect",
        question="flip",
        figure="7.3",
    ),
)
