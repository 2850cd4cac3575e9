"""Planted runs of the composition study: at any point of its grids, new seeds of two layers, and tiny models with weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from planted import Planted, planted_run
from tiny import make_tiny_spec

from lib.composition.claims import CLAIMS_OF
from lib.composition.flip import CONFIRM
from lib.composition.information_flow.metrics import BOTH, EDGES, KEY_FIRST, PAIR_FIRST, ROUTES
from lib.composition.study import OFFSETS
from lib.core.model.init import apply_gamma_stacked
from lib.core.model.transformer import Transformer
from lib.core.record.result import RunResult
from lib.core.record.store import Store, StoredRun

CLAIMS = tuple(claim for claims in CLAIMS_OF.values() for claim in claims)


def make_run(
    depth: int = 2,
    gamma: float = 0.5,
    seed: int = 0,
    rate: float = 1e-3,
    width: int = 16,
    test: float = 1.0,
    symmetric: float = 0.0,
    inferential: float = 0.0,
    **told: Any,
) -> Planted:
    """A run without history; told: its other metrics."""
    spec = make_tiny_spec(depth=depth, gamma=gamma, seed=seed, rate=rate, d_model=width)
    return planted_run(spec, {"test": test, "symmetric": symmetric, "inferential": inferential} | told)


def table(columns: Iterable[Any], given: Mapping[tuple[int, Any], float], depth: int = 2) -> np.ndarray:
    """(depth, columns): zeros, but for {(layer, column): value}."""
    at = list(columns)
    found = np.zeros((depth, len(at)))
    for (layer, column), value in given.items():
        found[layer - 1, at.index(column)] = value
    return found


ALL_EDGES = ROUTES["symmetric"] | ROUTES["inferential"]
NEEDS = {PAIR_FIRST: ROUTES["symmetric"], KEY_FIRST: ROUTES["inferential"], BOTH: ALL_EDGES}


def new_seed(
    gamma: float = 1.25,
    seed: int = 0,
    needs: str | Iterable[tuple[int, str, str]] = (),
    offsets: Mapping[int, float] | None = None,
    depth: int = 2,
    **told: Any,
) -> Planted:
    """The `seed`-th new seed of a γ. needs: the edges whose cut costs much, or the way whose edges they are; offsets: shares of
    answers; told: what its measures say under `telling`, by name."""
    first = CONFIRM.specs("laptop")[0]
    model = dataclasses.replace(first.model, depth=depth)
    spec = dataclasses.replace(first, gamma=gamma, seed=first.seed + seed, model=model)
    shares = {"symmetric": -6, "inferential": -10}
    metrics = {"test": 1.0} | {name: (offsets or {}).get(offset, 0.0) for name, offset in shares.items()}
    counts = [1000 * (offsets or {}).get(offset, 0.0) for offset in OFFSETS]
    edges = NEEDS.get(needs, ()) if isinstance(needs, str) else needs
    costs = table(EDGES, {(edge[0], edge[1:]): 0.9 for edge in edges}, depth)
    said = {"offsets": [*counts, 1000 - sum(counts)], "edge_costs": costs}
    return planted_run(spec, metrics | said | told)


TOLD = {
    "information_flow": ("edge_costs", "group_costs", "drawn", "patch_effects", "forgets_order", "knows_pair"),
    "vectors": ("plain_contrast", "answers", "between", "answered", "shift", "mended"),
    "condensation": ("measures_of", "step_shares"),
}
"""Measures that need weights, which a new seed tells under `telling`."""


def untrained(gamma: float = 0.0, **changes: Any) -> Transformer:
    """A tiny model; at γ = 0 answers differ from question to question."""
    spec = make_tiny_spec(gamma=gamma, **changes)
    model = Transformer(spec.model)
    apply_gamma_stacked(model, [spec.gamma], [spec.seed])
    return model.eval().requires_grad_(False)


def stored(root: Path, gamma: float = 0.0, **changes: Any) -> StoredRun:
    """The same as a stored run."""
    spec, store = make_tiny_spec(gamma=gamma, **changes), Store(root)
    weights = {name: p[0] for name, p in untrained(gamma, **changes).named_parameters()}
    store.put(RunResult(spec, {}, {}, 0, "unfitted", None, 0.0, weights), {}, keep_weights=True)
    run = store.get(spec)
    assert run is not None
    return run
