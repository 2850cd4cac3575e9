"""Does the flip sharpen as models get larger, quieter and longer-trained? Two-layer settings side by side. Pure numbers.

A setting is everything but γ and seed. Its *lean* at an end of γ is the mean over runs of the inferential minus the symmetric
share; its *separation* is the lean at small weights minus the lean at large ones, halved, so that a clean flip is 1. The ends
are ranges of the gain σ√d, so that widths can be compared: the paper's γ = .5 and .8 lie inside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lib.composition.diagram import gain
from lib.composition.task import N_KEYS
from lib.core.measures import spearman
from lib.core.spec import RunSpec
from lib.core.store import StoredRun

LARGE, SMALL = (0.6, 1.3), (0.0, 0.2)
"""The two ends as ranges of gain (our choice); at width 400, γ from .46 to .59 and from .77 on."""


@dataclass(frozen=True)
class Setting:
    """Two-layer runs that differ in γ and seed only, those of the two ends; `lean`s in [−1, 1], one a run."""

    spec: RunSpec
    large: np.ndarray
    small: np.ndarray

    @property
    def separation(self) -> float:
        return float(self.small.mean() - self.large.mean()) / 2

    @property
    def error(self) -> float:
        """Standard error of the separation over runs; NaN where an end has a single run."""
        if min(len(self.large), len(self.small)) < 2:
            return float("nan")
        return 0.5 * float(np.hypot(*(end.std(ddof=1) / len(end) ** 0.5 for end in (self.large, self.small))))


AXES: Mapping[str, Callable[[RunSpec], float]] = {
    "width": lambda s: s.model.d_model,
    "learning rate / √batch": lambda s: s.rate / s.train.batch**0.5,
    "training rows seen": lambda s: s.train.batch * s.train.steps,
}
"""What settings are compared by. Rows seen are those of the step limit."""


def compared(run: StoredRun) -> bool:
    """Two layers of the paper's block on the paper's task with all its numbers; no other experiment's variant."""
    task, model = dict(run.spec.task), run.spec.model
    plain = task.get("unseen", "one") == "one" and task.get("groups") is None and task.get("keys", N_KEYS) == N_KEYS
    return plain and task.get("modulus", 7) == 7 and model.depth == 2 and model.norm == "post" and model.activation == "relu"


def lean(run: StoredRun) -> float:
    return run.metrics["inferential"] - run.metrics["symmetric"]


def settings(runs: Sequence[StoredRun]) -> list[Setting]:
    """Every setting that has runs at both ends, by width and then by how quiet it is. The same settings of several experiments
    are one; always new rows and a fixed set of them are two."""
    groups: dict[tuple, list[StoredRun]] = {}
    for run in filter(compared, {run.path: run for run in runs}.values()):
        s = run.spec
        key = (s.model.d_model, AXES["learning rate / √batch"](s), s.train, s.rate, s.decay, dict(s.task).get("rows", 0))
        groups.setdefault(key, []).append(run)
    found = []
    for key in sorted(groups, key=lambda k: (k[:2], k[3:], str(k[2]))):
        at = {
            end: np.array([lean(r) for r in groups[key] if end[0] <= gain(r.spec.gamma, r.spec.model.d_model) <= end[1]])
            for end in (LARGE, SMALL)
        }
        if all(len(values) for values in at.values()):
            found.append(Setting(groups[key][0].spec, at[LARGE], at[SMALL]))
    return found


def trend(found: Sequence[Setting], axis: str, draws: int = 2000, seed: int = 0) -> tuple[float, float, float]:
    """Rank correlation over settings of an axis with the separation, and its 95 % interval by resampling settings.

    Raises ValueError for fewer than three settings.
    """
    if len(found) < 3:
        raise ValueError("a trend needs three settings.")
    x, y = np.array([AXES[axis](s.spec) for s in found]), np.array([s.separation for s in found])
    picks = np.random.default_rng(seed).integers(0, len(x), (draws, len(x)))
    low, high = np.percentile([spearman(x[p], y[p]) for p in picks], [2.5, 97.5])
    return spearman(x, y), float(low), float(high)
