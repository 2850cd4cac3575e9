"""What all chapters of this study ask of an arm, runs that differ by their seed alone: shares, and one arm against another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student

from lib.core.record.store import StoredRun

FITTED = 0.99
"""A run has fitted when it answers this share of its rows of training right: before that it is no evidence (our choice)."""


def name_of(arm: Sequence[float | str]) -> str:
    """An arm in words; whatever stands before its γ and weight decay is left out."""
    gamma, decay = arm[-2:]
    return f"γ = {gamma:g}, decay {decay:g}"


def shares(runs: Sequence[StoredRun], name: str = "test") -> np.ndarray:
    """(R,) shares of right sums at the end."""
    return np.array([run.metrics[name] for run in runs], dtype=float)


def fitted(runs: Sequence[StoredRun]) -> bool:
    """Has every run learned its rows of training?"""
    return bool((shares(runs, "train") >= FITTED).all())


def fit_steps(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R,) the first evaluated step from which a run answers FITTED of its rows of training right; NaN where it never does."""
    found = []
    for run in runs:
        step = [at for at, share in zip(run.history["step"], run.history["train"], strict=True) if share >= FITTED]
        found.append(step[0] if step else np.nan)
    return np.array(found, dtype=float)


def history(runs: Sequence[StoredRun], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps (n,) and values (R, n)."""
    return np.array(runs[0].history["step"]), np.array([run.history[name] for run in runs], dtype=float)


def difference(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float]:
    """mean(a) − mean(b), and its 95 % interval (Welch's t); the interval is a point where nothing varies.

    scipy's test warns, and so writes into a notebook, where one of the two does not vary, as shares of 1 often do not."""
    gap = float(a.mean() - b.mean())
    parts = [values.var(ddof=1) / len(values) if len(values) > 1 else np.nan for values in (a, b)]
    if not np.isfinite(parts).all() or not sum(parts):
        return gap, gap, gap
    freedom = sum(parts) ** 2 / sum(part**2 / (len(values) - 1) for part, values in zip(parts, (a, b), strict=True))
    half = float(student.ppf(0.975, freedom) * np.sqrt(sum(parts)))
    return gap, gap - half, gap + half


def lead(small: Sequence[StoredRun], large: Sequence[StoredRun], name: str = "test") -> tuple[float, float, float]:
    """By how much the share of one arm exceeds the other's, with its interval over seeds."""
    return difference(shares(small, name), shares(large, name))
