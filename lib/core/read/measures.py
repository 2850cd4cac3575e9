"""Small measures of runs and of vectors that every study uses."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from lib.core.record.store import StoredRun

T = TypeVar("T")


def memoized(measure: Callable[[StoredRun], T]) -> Callable[[StoredRun], T]:
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
    steps, values = run.history["step"], run.history[name]
    return next((int(s) for s, v in zip(steps, values, strict=True) if v is not None and v >= level), None)


def falls_to(x: np.ndarray, y: np.ndarray, level: float) -> float | None:
    """Where y (n,) has first fallen to a level, on the straight line between the two points around it; the first x where y
    begins there, None for never."""
    there = np.flatnonzero(y <= level)
    if not there.size:
        return None
    if (i := there[0]) == 0:
        return float(x[0])
    return float(x[i - 1] + (level - y[i - 1]) * (x[i] - x[i - 1]) / (y[i] - y[i - 1]))


def history(runs: Sequence[StoredRun], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps (n,) and values (R, n) of a metric along training; NaN where it was not finite or the run had stopped."""
    steps = max((run.history["step"] for run in runs), key=len)
    values = np.full((len(runs), len(steps)), np.nan)
    for row, run in zip(values, runs, strict=True):
        got = [np.nan if v is None else v for v in run.history[name]]
        row[: len(got)] = got
    return np.array(steps), values


def seeds(runs: Sequence[StoredRun]) -> int:
    """How many different seeds runs have."""
    return len({run.spec.seed for run in runs})


def mean_std(values: Sequence[float] | np.ndarray, digits: int = 2) -> str:
    """Mean ± standard deviation (n − 1) in words; the value alone where there is but one."""
    values = np.asarray(values, dtype=float)
    return f"{values.mean():z.{digits}f}" + (f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else "")


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


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(n, D), (m, D) → (n, m) cosines; 0 where a vector is zero."""
    unit = lambda v: v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12)
    return unit(a) @ unit(b).T
