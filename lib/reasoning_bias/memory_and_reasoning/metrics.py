"""Numbers of chapter 9: curves along training, ratios over γ and their trend, and what variants of the table do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from lib.core.read.statistics import Trend, rank_trend
from lib.core.record.store import Store, StoredRun, load
from lib.reasoning_bias.experiments import (
    LARGE,
    SETTINGS,
    SMALL,
    TABLES,
    ablation_specs,
    bias_specs,
    long_specs,
    many_rows_specs,
    rows_specs,
)
from lib.reasoning_bias.ratios import Ratio, ratios_by_gamma, slowdown
from lib.reasoning_bias.runs import EARLY_EMB, at, epoch, histories, snapshot_near
from lib.reasoning_bias.study import SETS
from lib.reasoning_bias.task import GROUP_LABELS, MEMORY, memory_group


def of_table(store: Store, profile: str, memory: str) -> list[StoredRun]:
    return [r for r in load(TABLES.specs(profile), store) if dict(r.spec.task)["memory"] == memory]


def many_rows(store: Store, profile: str, gamma: float | None = None) -> list[StoredRun]:
    """The main runs on MANY times as many rows. Raises LookupError where there is none at a γ."""
    runs = load(many_rows_specs(profile), store)
    return runs if gamma is None else at(runs, gamma)


def without_norms(store: Store, profile: str, gamma: float | None = None) -> list[StoredRun]:
    """The main runs without norms, at the paper's γ. Raises LookupError where there is none at a γ."""
    runs = load(long_specs(profile)["no norms"], store)
    return runs if gamma is None else at(runs, gamma)


def by_length(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    """{length of training: runs on the main training set at the paper's large and small initialization}, shortest first."""
    s = SETTINGS[profile]
    groups = [
        load(rows_specs(profile)[f"{s.rows:,} rows"], store),
        load(ablation_specs(profile)["as it is"], store),
        [run for gamma in (LARGE, SMALL) for run in at(load(bias_specs(profile), store), gamma)],
    ]
    names = ("shortest", "shorter", "main runs")
    return {f"{name}, {runs[0].spec.train.steps:,} steps": runs for name, runs in zip(names, groups, strict=True)}


def of_sizes(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    return {name: load(specs, store) for name, specs in rows_specs(profile).items()}


def trend(runs: Sequence[StoredRun]) -> Trend:
    """Rank correlation of γ with the ratio memory over reasoning, and its 95 % interval by resampling runs.

    Raises LookupError where fewer than two runs have a ratio.
    """
    pairs = np.array([(r.spec.gamma, s.value) for r in runs if (s := slowdown(r)) is not None])
    if len(pairs) < 2:
        raise LookupError("the reasoning loss halves in fewer than two stored runs")
    return rank_trend(*pairs.T)


def curves(panels: Mapping[str, Sequence[StoredRun]]) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """{title: {metric: epochs (n,) and values (runs, n)}} of the share of right answers and the loss of every set."""
    metrics = [metric for name in SETS for metric in (name, f"{name} loss")]
    return {title: {metric: histories(runs, metric) for metric in metrics} for title, runs in panels.items()}


def ends(panels: Mapping[str, Sequence[StoredRun]]) -> dict[str, dict[str, list[float]]]:
    """{title: {set: the share of right answers of each run at the end of training, asked in single precision}}."""
    return {title: {name: [run.metrics[name] for run in runs] for name in SETS} for title, runs in panels.items()}


def bias(models: Mapping[str, Sequence[StoredRun]]) -> dict[str, dict[str, dict[float, list[Ratio]]]]:
    """{model: {slower set: {γ: ratios}}} of memory and of the held-out pairs."""
    return {name: {slower: ratios_by_gamma(runs, slower) for slower in ("memory", "held out")} for name, runs in models.items()}


def group_outputs(runs: Sequence[StoredRun]) -> np.ndarray:
    """(seeds, 4, V) the early mean output distribution of each memory group."""
    return np.array([run.snapshots()[early_step(run)]["groups"].numpy() for run in runs])


def group_mass(run: StoredRun) -> np.ndarray:
    """(4,) probability that the early mean output of each memory group gives to the group's own range of labels."""
    output = run.snapshots()[early_step(run)]["groups"].numpy()
    return np.array([row[labels].sum() / row.sum() for row, labels in zip(output, GROUP_LABELS, strict=True)])


def group_is_nearer(run: StoredRun) -> np.ndarray:
    """(4,) is the early mean output of a group nearer, in total variation, to the labels of this group than to those of all
    memory rows? The ranges are nested, so that a model that knows no group would also put much mass inside the wider ones."""
    output = run.snapshots()[early_step(run)]["groups"].numpy().astype(float)
    labels = np.zeros_like(output)
    for row, own in zip(labels, GROUP_LABELS, strict=True):
        row[own] = 1 / len(own)
    share = np.array([np.mean([int(memory_group(torch.tensor(s))) == i + 1 for s in MEMORY]) for i in range(4)])
    far = lambda other: np.abs(output - other).sum(1) / 2
    return far(labels) < far(share @ labels)


def early_step(run: StoredRun) -> int:
    return snapshot_near(run, EARLY_EMB)


def early_epoch(run: StoredRun) -> float:
    return early_step(run) / epoch(run.spec)
