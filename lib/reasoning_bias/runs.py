"""The stored runs of this study: loading them, their groups, their histories and snapshots."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lib.core.read.measures import history
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store, StoredRun, load
from lib.reasoning_bias.experiments import EMB, bias_specs
from lib.reasoning_bias.task import MEMORY

KINDS = {"memory": slice(0, len(MEMORY)), "reasoning": slice(len(MEMORY), None)}
"""Where the anchors of a kind are among the 20."""
EARLY_EMB, EARLY, LATE = 0.05, 0.2, 0.9
"""Where in training the paper's Figures 4 and 5 look: epochs 50, 200 and 900 of 1,000, as shares."""


def at(runs: Sequence[StoredRun], gamma: float) -> list[StoredRun]:
    """Raises LookupError where there is none at this γ."""
    if not (found := [r for r in runs if r.spec.gamma == gamma]):
        raise LookupError(f"no runs at γ = {gamma:g} are stored")
    return found


def transformers(store: Store, profile: str, gamma: float | None = None) -> list[StoredRun]:
    runs = load(bias_specs(profile), store)
    return runs if gamma is None else at(runs, gamma)


def emb_mlps(store: Store, profile: str, gamma: float | None = None, noise: bool = False) -> list[StoredRun]:
    runs = [r for r in load(EMB.specs(profile), store) if dict(r.spec.task)["noise"] == noise]
    return runs if gamma is None else at(runs, gamma)


def short(value: float) -> str:
    """`.25` for 0.25: shares and γ as the criteria of claims write them."""
    return f"{value:g}".lstrip("0")


def best(runs: Sequence[StoredRun]) -> np.ndarray:
    """The highest share of held-out pairs that each run has right along training or at the end; NaN where it never was finite.

    Along training a run is asked in the precision in which it is trained, at the end in single precision.
    """
    along = [[v for v in run.history["held out"] if v is not None] for run in runs]
    ends = [run.metrics["held out"] for run in runs]
    return np.array([max(*shares, end) if shares else np.nan for shares, end in zip(along, ends, strict=True)])


def by_gamma(runs: Sequence[StoredRun]) -> dict[float, list[StoredRun]]:
    """Runs by γ, each group in the order of its seeds."""
    found: dict[float, list[StoredRun]] = {}
    for run in sorted(runs, key=lambda r: (r.spec.gamma, r.spec.seed)):
        found.setdefault(run.spec.gamma, []).append(run)
    return found


def histories(runs: Sequence[StoredRun], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Epochs (n,) and values (runs, n) of a metric; NaN where a run was not finite or had stopped."""
    steps, values = history(runs, name)
    return steps / epoch(runs[0].spec), values


def epoch(spec: RunSpec) -> float:
    """Steps of an epoch; 1 where every row is new."""
    return (dict(spec.task)["rows"] or spec.train.batch) / spec.train.batch


def snapshot_near(run: StoredRun, share: float) -> int:
    """The step of the snapshot nearest, by ratio, to this share of training."""
    return min(run.snapshots(), key=lambda step: abs(math.log(step / (share * run.spec.train.steps))))


def anchors(run: StoredRun, step: int) -> np.ndarray:
    """(20, D) embeddings of the anchors 1 … 20 at a snapshot."""
    return run.snapshots()[step]["anchors"].numpy()
