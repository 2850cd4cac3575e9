"""Claims on vectors (chapter 4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lib.composition.condensation.numbers import stratified_auc
from lib.composition.phases import material, phases
from lib.composition.vectors.numbers import (
    alike,
    at_anchor,
    at_anchor_plain,
    larger,
    last_token,
    last_token_centred,
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


def _by_depth(measure: Callable[[StoredRun], float], runs: dict[str, list[StoredRun]]) -> tuple[list[str], dict[str, bool]]:
    """Inferential against symmetric runs within each depth: words, and {"depth 2": is the difference above two standard
    errors?} for each depth with two runs of either kind. Depth is kept apart since deep runs are mostly inferential and
    contrasts grow with depth in both."""
    words, parts = [], {}
    for depth in sorted({r.spec.model.depth for group in runs.values() for r in group}):
        s, i = (np.array([measure(r) for r in of_depth(runs[m], depth)]) for m in ("symmetric", "inferential"))
        if not len(s) or not len(i):
            continue
        words.append(f"depth {depth}: inferential {spread(i)} ({len(i)}), symmetric {spread(s)} ({len(s)})")
        if min(len(s), len(i)) > 1:
            parts[f"depth {depth}"] = larger(i, s)
    if not parts:
        raise LookupError("no depth has two stored runs of either phase")
    return words, parts


def _seeds(runs: dict[str, list[StoredRun]]) -> int:
    return len({r.spec.seed for group in runs.values() for r in group})


def _fused(store: Store, profile: str) -> Finding:
    runs = _genuine(store, profile)
    words, parts = _by_depth(lambda r: float(last_token(r)[-1]), runs)
    cosine = {m: np.array([alike(r) for r in group]) for m, group in runs.items()}
    return Finding(
        "contrast, " + "; ".join(words) + f". Cosine of equal answers: inferential {spread(cosine['inferential'])}, symmetric "
        f"{spread(cosine['symmetric'])}",
        graded(
            {f"contrast at {depth}": holds for depth, holds in parts.items()}
            | {
                "inferential cosine at least .9": bool(cosine["inferential"].mean() >= 0.9),
                "symmetric cosine below .5": bool(cosine["symmetric"].mean() < 0.5),
            }
        ),
        _seeds(runs),
    )


def _anchor(store: Store, profile: str) -> Finding:
    runs = _genuine(store, profile)
    words, parts = _by_depth(lambda r: float(at_anchor(r)[-2]), runs)
    plain, plain_parts = _by_depth(at_anchor_plain, runs)
    return Finding(
        "without each anchor's mean, " + "; ".join(words) + ". Plain, " + "; ".join(plain),
        graded(
            {f"{depth} without the mean": holds for depth, holds in parts.items()}
            | {f"{depth} plain": holds for depth, holds in plain_parts.items()}
        ),
        _seeds(runs),
    )


def _centred(store: Store, profile: str) -> Finding:
    """Do the two phases part on the centred contrast, run by run, within each depth?"""
    runs = _genuine(store, profile)
    words, parts = _by_depth(lambda r: float(last_token_centred(r)[-1]), runs)
    group = [(m, r) for m, members in runs.items() for r in members]
    chance = stratified_auc(
        [float(last_token_centred(r)[-1]) for _, r in group],
        [m == "inferential" for m, _ in group],
        [r.spec.model.depth for _, r in group],
    )
    return Finding(
        "; ".join(words) + f". Of two runs of one depth, the inferential one has the higher contrast in {chance:.0%} of pairs",
        graded(parts | {"higher in 90 % of pairs": chance >= 0.9}),
        _seeds(runs),
    )


CHAPTER_04 = (
    Claim(
        "vectors-fused",
        "zhang2024",
        "Fig 4a, b",
        "Fused vectors of equal answers are near-parallel in the inferential phase; in the symmetric one cosines are low.",
        "heatmaps of one model of each phase",
        "last token: contrast larger by two standard errors within each depth; cosine of equal answers ≥ .9, symmetric < .5",
        _fused,
    ),
    Claim(
        "vectors-anchor",
        "zhang2024",
        "Fig 4c",
        "In the inferential phase the first anchor holds the intermediate value: equal values are near-parallel there.",
        "a heatmap of one model",
        "first anchor: contrast larger by two standard errors within each depth, of the state after attention without each "
        "anchor's mean, and of the plain values V",
        _anchor,
    ),
    Claim(
        "vectors-centred",
        "ours",
        "centred contrast",
        "Without the part that all vectors share, the contrast tells the two phases apart run by run.",
        "not reported",
        "larger by two standard errors within each depth; the higher one in 90 % of pairs of one depth",
        _centred,
    ),
)
