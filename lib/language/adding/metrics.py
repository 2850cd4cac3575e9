"""Numbers of the chapter on addition: what each arm knows of the held-out square, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lib.core.record.store import Store, StoredRun, load
from lib.language import arms
from lib.language.addition import Addition
from lib.language.experiments import ADDITION_SEARCH, LARGE, SMALL, SQUARE, adding_specs, low_rate_specs

Arm = tuple[str, float, float]
"""Split, γ and weight decay."""
WELL = 0.95
"""The share of right sums in the square from which on we say that a model adds there (our choice)."""


def of_arms(store: Store, profile: str) -> dict[Arm, list[StoredRun]]:
    """Raises LookupError where some are missing."""
    return {arm: load(specs, store) for arm, specs in adding_specs(profile).items()}


def at_low_rate(store: Store, profile: str) -> dict[Arm, list[StoredRun]]:
    """The same arms at the low learning rate; none but for the laptop. Raises LookupError where some are missing."""
    return {arm: load(specs, store) for arm, specs in low_rate_specs(profile).items()}


Setting = tuple[str, float]
"""Form of the model and learning rate."""


def form_of(run: StoredRun) -> str:
    return "post-norm" if run.spec.model.norm == "post" else "GPT-2"


def by_setting(groups: Sequence[Sequence[StoredRun]]) -> dict[Setting, tuple[list[StoredRun], list[StoredRun]]]:
    """The runs of the paper's large and of its small arm on the square, by form and learning rate."""
    found: dict[Setting, tuple[list[StoredRun], list[StoredRun]]] = {}
    for run in (run for group in groups for run in group):
        arm = run.spec.gamma, run.spec.decay
        if arm in (LARGE, SMALL) and dict(run.spec.task)["split"] == SQUARE:
            found.setdefault((form_of(run), run.spec.rate), ([], []))[arm == SMALL].append(run)
    return dict(sorted(found.items()))


def trials(store: Store, profile: str) -> list[StoredRun]:
    """The stored trials. Raises LookupError where some are missing."""
    return load(ADDITION_SEARCH.specs(profile), store)


def task_of(run: StoredRun) -> Addition:
    return Addition(**{name: value for name, value in run.spec.task if name != "keep"})


def rings(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R, distances) shares of right sums at the end by the distance of a pair from the edge of the square."""
    return np.array([run.metrics["rings"] for run in runs], dtype=float)


def off(run: StoredRun) -> np.ndarray:
    """(side, side): by how much the run's answer is off, for every pair of the square, a down and b across."""
    side = task_of(run).high - task_of(run).low + 1
    return run.snapshots()[run.steps]["off"].numpy().reshape(side, side)


def right(runs: Sequence[StoredRun]) -> np.ndarray:
    """(side, side): the share of runs that answer a pair of the square right."""
    return np.mean([off(run) == 0 for run in runs], 0)


def examples(run: StoredRun, count: int = 3) -> dict[str, list[tuple[int, int, int]]]:
    """{right or wrong: (a, b, answer) of some pairs along the diagonal of the square}, from the edge to the middle."""
    task, found = task_of(run), off(run)
    diagonal = [(task.low + i, task.low + i, 2 * (task.low + i) + int(found[i, i])) for i in range((len(found) + 1) // 2)]
    kinds = {"right": [d for d in diagonal if d[2] == d[0] + d[1]], "wrong": [d for d in diagonal if d[2] != d[0] + d[1]]}
    return {
        kind: [group[i] for i in np.unique(np.linspace(0, len(group) - 1, count).astype(int))] if group else []
        for kind, group in kinds.items()
    }


def _along(run: StoredRun, point: Sequence[float]) -> list[float]:
    """The share at the distance of a point of the dials along training; at its end the one that is reported."""
    return [ring[int(point[2])] for ring in (*run.history["rings"][:-1], run.metrics["rings"])]


def dial_data(runs: Mapping[Arm, Sequence[StoredRun]]) -> dict[str, Any]:
    """What lib.book.dials needs: shares of right sums by the distance from the edge, along training, by γ and weight decay."""
    crossed = {arm[1:]: group for arm, group in runs.items() if arm[0] == SQUARE and arm[1] in (LARGE[0], SMALL[0])}
    depth = rings(next(iter(crossed.values()))).shape[1]
    groups = {(decay, gamma, d): group for (gamma, decay), group in crossed.items() for d in range(depth)}
    return arms.dial_data(
        groups,
        {"decay": "weight decay", "gamma": "γ", "distance": "distance from the edge"},
        {"right": ("held-out sums", _along)},
        {"label": "share of right sums"} | arms.SHARE,
        f"Distance 0 is the outermost line of the square. {arms.seeds_text(groups)} Thin: the other γ.",
        x="distance",
        start={"decay": LARGE[1], "gamma": LARGE[0], "distance": depth // 2},
    )
