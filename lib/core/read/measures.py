"""Small measures of runs and of vectors that every study uses."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from lib.core.record.store import StoredRun

T = TypeVar("T")


def remembered(measure: Callable[[StoredRun], T]) -> Callable[[StoredRun], T]:
    """The measure of a stored run, computed once in a process: figures, tables and claims ask for the same."""
    found: dict[Path, T] = {}

    @functools.wraps(measure)
    def of(run: StoredRun) -> T:
        if run.path not in found:
            found[run.path] = measure(run)
        return found[run.path]

    return of


def first_step(run: StoredRun, name: str, level: float) -> int | None:
    """The first evaluated step at which a metric of the history has reached a level; None for never."""
    return next((s for s, v in zip(run.history["step"], run.history[name], strict=True) if v is not None and v >= level), None)


def spread(values: Sequence[float] | np.ndarray, digits: int = 2) -> str:
    """Mean ± standard deviation (n − 1) in words; the value alone where there is but one."""
    values = np.asarray(values, dtype=float)
    return f"{values.mean():z.{digits}f}" + (f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else "")


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Rank correlation, ties at their mean rank; 0 where one of the two does not vary.

    Our own, since sweeps import this module and may need no more than torch and numpy.
    """
    a, b = ranks(x), ranks(y)
    a, b = a - a.mean(), b - b.mean()
    norm = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / norm) if norm > 0 else 0.0


def ranks(x: np.ndarray) -> np.ndarray:
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def principal_map(vectors: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """(n, D) → (n, 2) first two principal components, and the percent of variance each explains.

    The sign of a component is the one in which it grows along the vectors, so that maps can be compared.
    """
    centred = vectors - vectors.mean(0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    scores = u[:, :2] * s[:2]
    rising = np.arange(len(scores)) - (len(scores) - 1) / 2
    scores = scores * np.where(rising @ scores < 0, -1.0, 1.0)
    total = float((s**2).sum())
    return scores, [float(v) for v in 100 * s[:2] ** 2 / total] if total else [0.0, 0.0]


def numerical_order(embedding: np.ndarray) -> float:
    """Does the embedding keep the order of numbers? Spearman's rank correlation of |i − j| and distance, over all pairs.

    1 for even steps on a line, about 0 without order.
    """
    n = len(embedding)
    i, j = np.triu_indices(n, 1)
    distance = np.linalg.norm(embedding[i] - embedding[j], axis=1)
    return spearman((j - i).astype(float), distance)


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(n, D), (m, D) → (n, m) cosines; 0 where a vector is zero."""
    unit = lambda v: v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12)
    return unit(a) @ unit(b).T


def wilson(count: float, total: float, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927), which is sound for shares near 0, too. (0, 1) where nothing was counted."""
    if total <= 0:
        return 0.0, 1.0
    share, weight = count / total, z * z / total
    middle = (share + weight / 2) / (1 + weight)
    half = z * np.sqrt(share * (1 - share) / total + weight / (4 * total)) / (1 + weight)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def log_slope(x: Sequence[float], y: Sequence[float], draws: int = 2000) -> tuple[float, float, float]:
    """The exponent of a power law y ∝ x^s by least squares in logarithms, and its 95 % interval by resampling the points.

    Raises ValueError unless all are positive and x takes two values at least.
    """
    points = np.array([x, y], dtype=float)
    if not (points > 0).all() or len(set(points[0])) < 2:
        raise ValueError("a power law needs positive numbers at two places at least.")
    points = np.log(points)
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, points.shape[1], (draws, points.shape[1]))
    slopes = [_slope(*points[:, c]) for c in chosen if np.ptp(points[0, c]) > 0]
    low, high = np.percentile(slopes, (2.5, 97.5))
    return _slope(*points), float(low), float(high)


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    centred = x - x.mean()
    return float(centred @ y / (centred @ centred))
