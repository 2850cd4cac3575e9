"""Three layers (chapter 16): attention and neurons of every layer, from the start on, and the claims on them "
"(Figs 21 to 26)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from lib.core.claim import Claim, Finding, graded
from lib.core.ensemble import at_start
from lib.core.measures import remembered, spread
from lib.core.store import Store, StoredRun
from lib.core.sweep import load
from lib.in_context import study
from lib.in_context.experiments import deep_specs
from lib.in_context.runs import history, large, neurons_at, row_size, snapshots

THEORY, NO_SKIP = "stacked", "no skip, larger start"
SELECTS = 0.9
"""Attention on the query's own pattern from which on we say that a layer selects."""
TURNED, MOST = 0.25, 0.8
"""A label half is near q or −q within this angle (units of π); a layer separates where this share of its large neurons is."""
GROWN = 1.1


def variants(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    """{variant: runs}. Raises LookupError where some are missing."""
    return {name: load(specs, store) for name, specs in deep_specs(profile).items()}


def whole(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs that did not diverge."""
    return [run for run in runs if run.status != "diverged"]


def layers_of(run: StoredRun) -> range:
    """Numbers of the layers, the first is 1."""
    return range(1, run.spec.model.depth + 1)


@remembered
def start_attention(run: StoredRun) -> tuple[float, ...]:
    """The query's attention to its own pattern in each layer before the first step, on the prompts of the run's history."""
    with torch.no_grad():
        found = study.make_study(run.spec).watch(at_start(run.spec))
    return tuple(float(found[f"attention.{k}"]) for k in layers_of(run))


@remembered
def start_neurons(run: StoredRun) -> tuple[dict[str, np.ndarray], ...]:
    """The rows of W_O W_V of each layer before the first step, named as in the snapshots."""
    model, m1 = at_start(run.spec), study.make_study(run.spec).task.m1
    return tuple({name: v[0].numpy() for name, v in study.neurons(model, m1, k).items()} for k in layers_of(run))


def attention_of(runs: Sequence[StoredRun], layer: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps (n,) from 0 on, and a layer's attention to the query's own pattern, (R, n)."""
    steps, values = history(runs, f"attention.{layer}")
    start = np.array([[start_attention(run)[layer - 1]] for run in runs])
    return np.concatenate([[0], steps]), np.concatenate([start, values], 1)


def last_neurons(run: StoredRun, layer: int) -> dict[str, np.ndarray]:
    return neurons_at(run, max(snapshots(run)), layer)


def separated(run: StoredRun, layer: int) -> float:
    """Of a layer's large neurons the share whose label half is near q or −q at the end."""
    rows = last_neurons(run, layer)
    angle = rows["label angle"][large(row_size(rows))]
    return float(((angle <= TURNED) | (angle >= 1 - TURNED)).mean())


def growth(run: StoredRun, layer: int) -> np.ndarray:
    """(m,) norms of the rows of W_O W_V at the end over those before training."""
    return row_size(last_neurons(run, layer)) / np.maximum(row_size(start_neurons(run)[layer - 1]), 1e-12)


def grown(run: StoredRun, layer: int) -> float:
    """Share of neurons that are at least a tenth longer than before training."""
    return float((growth(run, layer) >= GROWN).mean())


def by_layer(runs: Sequence[StoredRun], values: Sequence[Sequence[float]], digits: int = 2) -> str:
    """layer 1 …, layer 2 …: values of each layer, over runs."""
    return ", ".join(f"layer {k} {spread(v, digits)}" for k, v in zip(layers_of(runs[0]), values, strict=True))


def ends_of(runs: Sequence[StoredRun]) -> list[np.ndarray]:
    """Attention before and after training of each layer, (R, 2)."""
    return [attention_of(runs, k)[1][:, [0, -1]] for k in layers_of(runs[0])]


def alive(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """All runs. Raises LookupError where one of them diverged, as then nothing can be said of every seed."""
    if len(whole(runs)) < len(runs):
        raise LookupError(f"{len(runs) - len(whole(runs))} of {len(runs)} runs diverged")
    return list(runs)


def selects(store: Store, profile: str) -> Finding:
    runs = alive(variants(store, profile)[THEORY])
    ends = ends_of(runs)
    return Finding(
        f"attention on the same pattern at the end: {by_layer(runs, [v[:, 1] for v in ends], 3)}; before training: "
        f"{by_layer(runs, [v[:, 0] for v in ends], 3)}",
        graded([bool((v[:, 1] >= SELECTS).all()) for v in ends]),
        len(runs),
    )


def selects_without_skip(store: Store, profile: str) -> Finding:
    runs = alive(variants(store, profile)[NO_SKIP])
    ends = ends_of(runs)
    return Finding(
        f"attention on the same pattern at the end: {by_layer(runs, [v[:, 1] for v in ends], 3)}; before training: "
        f"{by_layer(runs, [v[:, 0] for v in ends], 3)}",
        graded([bool((v[:, 1] >= SELECTS).all()) for v in ends] + [bool((v[:, 1] > v[:, 0]).all()) for v in ends]),
        len(runs),
    )


def separates(store: Store, profile: str) -> Finding:
    runs = alive(variants(store, profile)[THEORY])
    found = [[separated(run, k) for run in runs] for k in layers_of(runs[0])]
    return Finding(
        f"share of large neurons whose label half is near q or −q: {by_layer(runs, found)}",
        graded([any(min(v) >= MOST for v in found)]),
        len(runs),
    )


def grows(store: Store, profile: str) -> Finding:
    runs = alive(variants(store, profile)[THEORY])
    found = [[grown(run, k) for run in runs] for k in layers_of(runs[0])]
    return Finding(
        f"share of neurons that are at least a tenth longer than before training: {by_layer(runs, found)}",
        graded([min(v) > 0.5 for v in found]),
        len(runs),
    )


CHAPTER_16 = (
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
