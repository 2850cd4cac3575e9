"""Claims on width and depth (chapter 7)."""

from __future__ import annotations

import numpy as np

from lib.composition.phase_diagram.metrics import clear_trend
from lib.composition.runs import MAPPINGS, SHADOW
from lib.composition.trends import BY_GAMMA, curves, slope
from lib.composition.variations import FLIP, WIDTH
from lib.composition.width.metrics import advantage, by_shape, shape_name
from lib.core.read.claim import Claim, Finding, graded
from lib.core.read.measures import spread
from lib.core.read.words import number_of
from lib.core.record.store import Store, load


def _flip(store: Store, profile: str) -> Finding:
    runs = load(FLIP.specs(profile), store)
    shares = curves(runs)
    gammas = shares["test"][0]
    good = shares["test"][1].mean(1) >= SHADOW
    if not good.any():
        raise LookupError("no γ at which the seen pairs are learned on average")
    sym, inf = (np.where(good, shares[m][1].mean(1), np.nan) for m in MAPPINGS)
    s, i = int(np.nanargmax(sym)), int(np.nanargmax(inf))
    words = lambda m, at: f"{spread(shares[m][1][at])} at γ = {gammas[at]:g}"
    flips = gammas[i] > gammas[s]
    least = min(sym[s], inf[i]) if flips else 0.0
    return Finding(
        f"symmetric {words('symmetric', s)}; inferential {words('inferential', i)} (means over seeds, nothing selected)",
        graded(
            {
                "both at least .5, in this order": bool(least >= 0.5),
                "both at least .9, in this order": bool(least >= 0.9),
                "the lean rising with γ in between": bool(least >= 0.5 and (trend := clear_trend(runs)) and trend[1] > 0),
            }
        ),
        shares["test"][1].shape[1],
    )


def _declines(store: Store, profile: str) -> Finding:
    words, parts = [], {}
    runs = load(WIDTH.specs(profile), store)
    for shape, group in by_shape(runs).items():
        s, low, high = slope(group, BY_GAMMA, "symmetric")
        i, i_low, i_high = slope(group, BY_GAMMA, "inferential")
        parts[shape_name(shape)] = high < 0 and i_low > 0
        words.append(
            f"{shape_name(shape)}: symmetric {s:+.2f} [{low:+.2f}, {high:+.2f}], "
            f"inferential {i:+.2f} [{i_low:+.2f}, {i_high:+.2f}]"
        )
    return Finding(
        f"both in {sum(parts.values())} of {number_of(len(parts), 'shape')}; rank correlation with γ, " + "; ".join(words),
        graded(parts),
        len({r.spec.seed for r in runs}),
    )


def _collapses(store: Store, profile: str) -> Finding:
    runs = load(WIDTH.specs(profile), store)
    better = advantage(runs)
    best = max(better, key=lambda n: better[n][0])
    value, low, high = better[best]
    return Finding(
        f"deviation on γ over that on the other variable: {best} {value:.2f} [{low:.2f}, {high:.2f}]; "
        + ", ".join(f"{n} {v[0]:.2f}" for n, v in better.items() if n != best),
        graded({"interval above 1": low > 1}),
        len({r.spec.seed for r in runs}),
    )


CHAPTER_07 = (
    Claim(
        "flip-at-one-rate",
        "zhang2024",
        "Fig 2, text",
        "At depth 2, γ alone turns the symmetric answer into the inferential one.",
        "γ = .5 symmetric, γ = .8 inferential",
        "means over seeds, seen pairs learned: symmetric ≥ .9 and, at a larger γ, inferential ≥ .9 (partly: both ≥ .5); the "
        "lean rises with γ among the runs that have learned",
        _flip,
    ),
    Claim(
        "width-trend",
        "ours",
        "widths and depths",
        "At every width and depth the symmetric answer gets rarer, and the inferential more frequent, as γ grows.",
        "not reported",
        "rank correlations over runs of a shape: intervals below and above 0, both in one shape (the last added after seeing "
        "results)",
        _declines,
    ),
    Claim(
        "width-collapse",
        "ours",
        "widths and depths",
        "The transition depends on the size of the weights rather than on γ as such.",
        "not reported",
        "one curve on the best other variable deviates less than one on γ, the 95 % interval of the ratio above 1",
        _collapses,
    ),
)
