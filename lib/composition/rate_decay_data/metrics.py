"""Learning rate, weight decay and the complexity of data: grids, trends and learning times, over runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from lib.composition.runs import lean, learned_among, learned_at
from lib.composition.trends import BY_GAMMA, Trend, Value, levels, slope
from lib.core.read.statistics import spearman
from lib.core.record.store import StoredRun

BY_KEYS: Value = lambda run: float(dict(run.spec.task)["keys"])
"""How many numbers there are."""


def with_fewest(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Those with the fewest numbers."""
    fewest = min(map(BY_KEYS, runs))
    return [run for run in runs if BY_KEYS(run) == fewest]


def grid(runs: Sequence[StoredRun], row: Value, column: Value, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation (n − 1; 0 for one run) of a metric over the runs of each cell."""
    rows, columns = levels(runs, row), levels(runs, column)
    mean, spread = np.full((len(rows), len(columns)), np.nan), np.zeros((len(rows), len(columns)))
    for i, r in enumerate(rows):
        for j, c in enumerate(columns):
            values = [run.metrics[metric] for run in runs if row(run) == r and column(run) == c]
            mean[i, j] = np.mean(values) if values else np.nan
            spread[i, j] = np.std(values, ddof=1) if len(values) > 1 else 0.0
    return mean, spread


def cells(runs: Sequence[StoredRun], row: Value, column: Value, metric: str) -> dict[tuple[float, float], list]:
    """{(row, column): (metric, has the run learned the seen pairs) of each of its runs}."""
    found: dict[tuple[float, float], list[tuple[float, bool]]] = {}
    for run in runs:
        found.setdefault((row(run), column(run)), []).append((run.metrics[metric], run in learned_among([run])))
    return found


def leans(runs: Sequence[StoredRun], row: Value, column: Value) -> dict[tuple[float, float], float]:
    """{(row, column): mean lean, inferential − symmetric, of its runs that have learned}; cells without one are left out."""
    found: dict[tuple[float, float], list[float]] = {}
    for run in learned_among(runs):
        found.setdefault((row(run), column(run)), []).append(lean(run))
    return {cell: float(np.mean(values)) for cell, values in found.items()}


def turns_from(runs: Sequence[StoredRun], row: Value) -> dict[float, float | None]:
    """{row: the γ from which on runs that have learned lean to the inferential answer, by the mean at each γ}; None where they
    do not at the largest γ that has such runs."""
    means = leans(runs, row, BY_GAMMA)
    found: dict[float, float | None] = {}
    for value in levels(runs, row):
        line = sorted((gamma, mean) for (r, gamma), mean in means.items() if r == value)
        last = max((i for i, (_, mean) in enumerate(line) if mean <= 0), default=-1)
        found[value] = line[last + 1][0] if last < len(line) - 1 else None
    return found


def lean_by_numbers(runs: Sequence[StoredRun]) -> Trend:
    """Rank correlation of the number of keys with the lean, and its 95 % interval by resampling runs."""
    return trend_of(runs, BY_KEYS, lean)


def learning_steps(runs: Sequence[StoredRun]) -> dict[float, np.ndarray]:
    """{γ: (groups, seeds)} steps until the seen pairs are learned; infinity for a run that never learned them.

    Learned: the first evaluation at which 99 % are answered right.
    """
    found = {}
    for gamma in levels(runs, BY_GAMMA):
        rows = []
        for k in levels(runs, n_groups):
            cell = sorted((r for r in runs if r.spec.gamma == gamma and n_groups(r) == k), key=lambda r: r.spec.seed)
            rows.append([learned_at(r) for r in cell])
        found[gamma] = np.array(rows, dtype=float)
    return found


def n_groups(run: StoredRun) -> float:
    return float(dict(run.spec.task)["groups"])


def harder(values: np.ndarray) -> float:
    """Rank correlation of the number of groups and the steps, (groups, seeds); never is later than any step."""
    return spearman(np.repeat(np.arange(len(values)), values.shape[1]).astype(float), values.ravel())


def doubled(values: np.ndarray, groups: Sequence[float]) -> float | None:
    """The number of groups from which on the median is more than twice that with the fewest; None for nowhere.

    values: (groups, seeds) steps, in the order of `groups`.
    """
    medians = np.median(values, 1)
    above = [bool(m > 2 * medians[0]) for m in medians]
    first = next((i for i in range(len(above)) if all(above[i:])), None)
    return None if first is None else float(groups[first])


def trend_of(runs: Sequence[StoredRun], value: Value, measure: Callable[[StoredRun], float], seed: int = 0) -> Trend:
    """Rank correlation of a setting with a measure of the run, and its 95 % interval by resampling runs."""
    return slope([replace(r, metrics={"measure": measure(r)}) for r in runs], value, "measure", seed)
