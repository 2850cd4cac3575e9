"""How what runs answer goes with a setting: shares level by level, and rank correlations with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lib.composition.runs import MAPPINGS
from lib.core.read.measures import spearman
from lib.core.record.store import StoredRun

Value = Callable[[StoredRun], float]
BY_DECAY: Value = lambda r: r.spec.decay
BY_RATE: Value = lambda r: r.spec.rate
BY_GAMMA: Value = lambda r: r.spec.gamma
Trend = tuple[float, float, float]
"""A rank correlation with the ends of its 95 % interval."""


def levels(runs: Sequence[StoredRun], value: Value) -> list[float]:
    return sorted({value(r) for r in runs})


def curves(runs: Sequence[StoredRun], value: Value = BY_GAMMA) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """{metric: (levels (n,), shares (n, seeds))}. Raises ValueError unless every level has as many runs."""
    xs = levels(runs, value)
    groups = [sorted((r for r in runs if value(r) == x), key=lambda r: r.spec.seed) for x in xs]
    if len({len(g) for g in groups}) != 1:
        raise ValueError("every level needs as many runs as the others.")
    metrics = ("test", *MAPPINGS)
    return {m: (np.array(xs), np.array([[r.metrics[m] for r in g] for g in groups])) for m in metrics}


def slope(runs: Sequence[StoredRun], value: Value, metric: str, seed: int = 0, draws: int = 1000) -> tuple[float, float, float]:
    """Rank correlation of a setting with a metric over runs, and its 95 % interval by resampling runs."""
    x, y = np.array([value(r) for r in runs], dtype=float), np.array([r.metrics[metric] for r in runs])
    rng = np.random.default_rng(seed)
    found = [spearman(x[pick], y[pick]) for pick in (rng.integers(0, len(x), len(x)) for _ in range(draws))]
    return spearman(x, y), float(np.percentile(found, 2.5)), float(np.percentile(found, 97.5))
