"""Where does one answer turn into the other, and which variable makes the transitions of several widths fall together?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lib.core.init import gamma_std
from lib.core.store import StoredRun

VARIABLES: dict[str, Callable[[float, int, int], float]] = {
    "γ": lambda gamma, width, depth: gamma,
    "log₁₀ σ": lambda gamma, width, depth: math.log10(gamma_std(width, gamma)),
    "log₁₀ σ√d": lambda gamma, width, depth: log_gain(gamma, width),
    "log₁₀ (depth · σ√d)": lambda gamma, width, depth: log_gain(gamma, width) + math.log10(depth),
    "depth · log₁₀ σ√d": lambda gamma, width, depth: depth * log_gain(gamma, width),
}
"""Candidates for the variable on which the boundary depends, as functions of γ, width and depth. σ = width^−γ; σ√d is the
gain of a square random map: how much it stretches a vector on average. Over the depth, gains may add up or multiply."""


def log_gain(gamma: float, width: int) -> float:
    """log₁₀ of σ√d."""
    return math.log10(gamma_std(width, gamma) * math.sqrt(width))


def variable(name: str, run: StoredRun) -> float:
    return VARIABLES[name](run.spec.gamma, run.spec.model.d_model, run.spec.model.depth)


@dataclass(frozen=True)
class Transition:
    """Of a logistic fit p(x) = 1 / (1 + exp(−(x − centre) / width)): where p = 1/2, how wide, and an interval of the centre.

    The width is positive for falling curves too. `found` is False where the data have no transition inside their range; then
    centre and interval mean little.
    """

    centre: float
    width: float
    low: float
    high: float
    found: bool


def fit_logistic(x: np.ndarray, p: np.ndarray, prior: float = 0.05, rounds: int = 60) -> tuple[float, float]:
    """Intercept a and slope b of p = 1 / (1 + exp(−(a + b x))), by Newton's method on the log-likelihood of shares p in [0, 1].

    A small ridge, `prior` times the square of the slope on x scaled to unit variance, keeps the fit finite where data can be
    told apart perfectly. Raises ValueError for fewer than two values of x.
    """
    x, p = np.asarray(x, dtype=float), np.asarray(p, dtype=float)
    scale, shift = x.std(), x.mean()
    if scale == 0:
        raise ValueError("a logistic fit needs two values of x at least.")
    design = np.stack([np.ones_like(x), (x - shift) / scale], 1)
    ridge = np.diag([1e-6, prior])
    beta = np.zeros(2)
    for _ in range(rounds):
        q = 1 / (1 + np.exp(-np.clip(design @ beta, -30, 30)))
        gradient = design.T @ (p - q) - ridge @ beta
        hessian = (design.T * (q * (1 - q))) @ design + ridge
        step = np.linalg.solve(hessian, gradient)
        beta += step * min(1.0, 2.0 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-10:
            break
    return float(beta[0] - beta[1] * shift / scale), float(beta[1] / scale)


def fit_transition(x: np.ndarray, p: np.ndarray, groups: np.ndarray, draws: int = 400, seed: int = 0) -> Transition:
    """The transition of shares p at x, with a 95 % interval of its centre by resampling runs within each value of x.

    groups: (n,) which runs are exchangeable, one number for each value of x.
    """
    x, p = np.asarray(x, dtype=float), np.asarray(p, dtype=float)
    a, b = fit_logistic(x, p)
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    centres = []
    for _ in range(draws):
        pick = np.concatenate([rng.choice(m, len(m)) for m in members])
        c, d = fit_logistic(x[pick], p[pick])
        centres.append(-c / d if d else math.inf)
    low, high = np.percentile(np.clip(centres, -1e3, 1e3), [2.5, 97.5])
    centre = -a / b if b else math.inf
    inside = x.min() <= centre <= x.max()
    crossing = min(p[x == v].mean() for v in np.unique(x)) < 0.5 < max(p[x == v].mean() for v in np.unique(x))
    return Transition(float(centre), float(abs(1 / b)) if b else math.inf, float(low), float(high), bool(inside and crossing))


def collapse(x: Mapping[object, np.ndarray], p: Mapping[object, np.ndarray]) -> float:
    """How badly one curve in x describes every group: mean squared residual of one logistic fit to all, over that of a fit
    to each alone. About 1 means that the curves fall on each other. Groups weigh by their runs."""
    all_x, all_p = np.concatenate(list(x.values())), np.concatenate([p[g] for g in x])
    together = _residual(all_x, all_p)
    alone = sum(_residual(x[g], p[g]) * len(x[g]) for g in x) / len(all_x)
    return together / max(alone, 1e-12)


def _residual(x: np.ndarray, p: np.ndarray) -> float:
    a, b = fit_logistic(x, p)
    return float(np.mean((p - 1 / (1 + np.exp(-np.clip(a + b * x, -30, 30)))) ** 2))


def by_shape(runs: Sequence[StoredRun]) -> dict[tuple[int, int], list[StoredRun]]:
    """{(width, depth): runs}, in ascending order."""
    found: dict[tuple[int, int], list[StoredRun]] = {}
    for run in sorted(runs, key=lambda r: (r.spec.model.depth, r.spec.model.d_model, r.spec.gamma, r.spec.seed)):
        found.setdefault((run.spec.model.d_model, run.spec.model.depth), []).append(run)
    return found
