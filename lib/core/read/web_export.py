"""What a page can show of runs, small: rounded shares, points on a grid of 256 steps, means over the runs of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lib.core.record.store import StoredRun


def rounded(value: float, digits: int = 3) -> float:
    return round(float(value), digits)


def on_grid(points: np.ndarray) -> list[list[int]]:
    """Points on a grid of 256 steps, both axes at one scale."""
    reach = float(np.abs(points).max()) or 1.0
    return np.rint(127.5 + 127.5 * points / reach).astype(int).tolist()


def cells(runs: Sequence[StoredRun], metrics: Sequence[str]) -> list[dict[str, Any]]:
    """For every γ and depth the mean and standard deviation (n − 1) of each share over all runs there, nothing selected."""
    groups: dict[tuple[int, float], list[StoredRun]] = {}
    for run in runs:
        groups.setdefault((run.spec.model.depth, run.spec.gamma), []).append(run)
    found = []
    for (depth, gamma), group in sorted(groups.items()):
        seeds, rates = ({getattr(run.spec, name) for run in group} for name in ("seed", "rate"))
        cell: dict[str, Any] = {"gamma": gamma, "depth": depth, "runs": len(group), "seeds": len(seeds), "rates": len(rates)}
        for name in metrics:
            values = np.array([run.metrics[name] for run in group])
            cell[name] = [rounded(values.mean(), 6), rounded(values.std(ddof=1), 6) if len(values) > 1 else None]
        found.append(cell)
    return found


def record(run: StoredRun, metrics: Sequence[str]) -> dict[str, Any]:
    """What every explorer draws of one run: which it is, its final shares and their history."""
    history: dict[str, Any] = {"step": run.history["step"]}
    for name in metrics:
        history[name] = [None if v is None else rounded(v) for v in run.history[name]]
    return {
        "gamma": run.spec.gamma,
        "depth": run.spec.model.depth,
        "seed": run.spec.seed,
        "rate": run.spec.rate,
        "key": run.key,
        "experiment": run.spec.experiment,
        "steps": run.steps,
        "final": {name: rounded(run.metrics[name]) for name in metrics},
        "history": history,
    }
