"""What Figures 21 to 26 of Li et al. (2024a) say of three layers, as claims (chapter 16)."""

from __future__ import annotations

from collections.abc import Sequence

from lib.core.claim import Claim, Finding, graded
from lib.core.store import Store, StoredRun
from lib.in_context.deeper.numbers import (
    MOST,
    NO_SKIP,
    SELECTS,
    THEORY,
    by_layer,
    deep_runs,
    ends_of,
    grown,
    layers_of,
    separated,
    whole,
)


def alive(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """All runs. Raises LookupError where one of them diverged, as then nothing can be said of every seed."""
    if len(whole(runs)) < len(runs):
        raise LookupError(f"{len(runs) - len(whole(runs))} of {len(runs)} runs diverged")
    return list(runs)


def selects(store: Store, profile: str) -> Finding:
    runs = alive(deep_runs(store, profile)[THEORY])
    ends = ends_of(runs)
    return Finding(
        f"attention on the same pattern at the end: {by_layer(runs, [v[:, 1] for v in ends], 3)}; before training: "
        f"{by_layer(runs, [v[:, 0] for v in ends], 3)}",
        graded([bool((v[:, 1] >= SELECTS).all()) for v in ends]),
        len(runs),
    )


def selects_without_skip(store: Store, profile: str) -> Finding:
    runs = alive(deep_runs(store, profile)[NO_SKIP])
    ends = ends_of(runs)
    return Finding(
        f"attention on the same pattern at the end: {by_layer(runs, [v[:, 1] for v in ends], 3)}; before training: "
        f"{by_layer(runs, [v[:, 0] for v in ends], 3)}",
        graded([bool((v[:, 1] >= SELECTS).all()) for v in ends] + [bool((v[:, 1] > v[:, 0]).all()) for v in ends]),
        len(runs),
    )


def separates(store: Store, profile: str) -> Finding:
    runs = alive(deep_runs(store, profile)[THEORY])
    found = [[separated(run, k) for run in runs] for k in layers_of(runs[0])]
    return Finding(
        f"share of large neurons whose label half is near q or −q: {by_layer(runs, found)}",
        graded([any(min(v) >= MOST for v in found)]),
        len(runs),
    )


def grows(store: Store, profile: str) -> Finding:
    runs = alive(deep_runs(store, profile)[THEORY])
    found = [[grown(run, k) for run in runs] for k in layers_of(runs[0])]
    return Finding(
        f"share of neurons that are at least a tenth longer than before training: {by_layer(runs, found)}",
        graded([min(v) > 0.5 for v in found]),
        len(runs),
    )


CLAIMS = (
    Claim(
        "icl-deep-selects",
        "li2024nonlinear",
        "Figs 21–23",
        "In three layers, too, the attention of every layer comes to lie on the examples with the query's pattern.",
        "every layer selects",
        "stacked blocks, the recipe of theory: attention at the end at least .9 in every seed (a part for each layer)",
        selects,
    ),
    Claim(
        "icl-deep-selects-variants",
        "ours",
        "without the residual stream",
        "Without a residual stream, and from a larger start, every layer selects as well.",
        "not reported",
        "attention at the end at least .9, and above its value before training, in every seed (two parts for each layer)",
        selects_without_skip,
    ),
    Claim(
        "icl-deep-separates",
        "li2024nonlinear",
        "Figs 24–26",
        "The label halves of neurons separate towards q and −q.",
        "at least one layer separates",
        "stacked: in one layer at least .8 of the large neurons have an angle ≤ .25 π or ≥ .75 π, in every seed",
        separates,
    ),
    Claim(
        "icl-deep-grow",
        "li2024nonlinear",
        "Figs 24–26",
        "Neurons grow in training.",
        "norms grow",
        "stacked: rows of W_O W_V of more than half of the neurons grow by a tenth, in every seed (a part for each layer)",
        grows,
    ),
)
