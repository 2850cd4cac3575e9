"""How what runs answer goes with a setting: shares level by level, and rank correlations with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lib.composition.runs import MAPPINGS
from lib.core.read.statistics import Comparison, Trend, compare, rank_trend
from lib.core.record.store import StoredRun

Value = Callable[[StoredRun], float]
BY_DECAY: Value = lambda r: r.spec.decay
BY_RATE: Value = lambda r: r.spec.rate
BY_GAMMA: Value = lambda r: r.spec.gamma
GOES_WITH = 0.3
"""Rank correlation above which a number counts as going with a setting (our choice)."""


def levels(runs: Sequence[StoredRun], value: Value) -> list[float]:
    return sorted({value(r) for r in runs})


def above_median(runs: Sequence[StoredRun], measure: Callable[[StoredRun], float]) -> tuple[Comparison, list[StoredRun]] | None:
    """A measure of the runs above their median γ against that of those below it, and these runs; None where a side has none."""
    middle = float(np.median([run.spec.gamma for run in runs]))
    apart = [run for run in runs if run.spec.gamma != middle]
    above = [run.spec.gamma > middle for run in apart]
    return (compare([measure(run) for run in apart], above), apart) if {True, False} <= set(above) else None


def curves(runs: Sequence[StoredRun], value: Value = BY_GAMMA) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """{metric: (levels (n,), shares (n, seeds))}. Raises ValueError unless every level has as many runs."""
    xs = levels(runs, value)
    groups = [sorted((r for r in runs if value(r) == x), key=lambda r: r.spec.seed) for x in xs]
    if len({len(g) for g in groups}) != 1:
        raise ValueError("every level needs as many runs as the others.")
    metrics = ("test", *MAPPINGS)
    return {m: (np.array(xs), np.array([[r.metrics[m] for r in g] for g in groups])) for m in metrics}


def slope(runs: Sequence[StoredRun], value: Value, metric: str) -> Trend:
    """Rank correlation of a setting with a metric over runs, and its 95 % interval by resampling runs."""
    return rank_trend([value(r) for r in runs], [r.metrics[metric] for r in runs])
