"""Numbers of chapter 9: curves along training, ratios over γ and their trend, and what variants of the table do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from lib.core.read.fact import Fact
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
    more_specs,
    rows_specs,
)
from lib.reasoning_bias.ratios import Ratio, middle, ratios, ratios_by_gamma, slowdown
from lib.reasoning_bias.runs import EARLY_EMB, at, best, epoch, histories, snapshot_near
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


def small_runs(store: Store, profile: str) -> list[StoredRun]:
    """All main runs at the paper's small initialization, the further seeds too."""
    return [*at(load(bias_specs(profile), store), SMALL), *load(more_specs(profile), store)]


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


def own_settings(profile: str) -> list[tuple[str, str]]:
    """(setting, value) of what is not in every spec."""
    s = SETTINGS[profile]
    return [
        ("training rows, epochs", f"{s.rows:,}, {s.train.steps * s.train.batch / s.rows:,.0f}"),
        ("Emb-MLP: hidden units, peak learning rate, steps", f"{3 * s.d_model}, {s.emb_rate:g}, {s.emb_train.steps:,}"),
    ]


def facts(
    runs: Sequence[StoredRun],
    small: Sequence[StoredRun],
    finer: Sequence[StoredRun],
    plain: Sequence[StoredRun],
    many: Sequence[StoredRun],
    emb: Sequence[StoredRun],
    noisy: Sequence[StoredRun],
) -> dict[str, Fact]:
    """What the text of chapter 9 says: of the main runs, all at SMALL, a finer grid, runs without norms, on many rows, of
    Emb-MLP and of Emb-MLP with noise."""
    large = at(runs, LARGE)
    ratio = lambda group: middle(ratios(group)) if any(slowdown(run) for run in group) else None
    held = lambda group: float(best(group).mean())
    fine = ratios_by_gamma([*runs, *finer])
    kept = {gamma: middle(found) for gamma, found in fine.items() if found}
    first, last = min(fine), max(fine)
    near = max((g for g in fine if g <= 0.4), default=first)
    known = all(g in kept for g in (first, near, last)) and kept[last] > kept[first]
    share = np.log(kept[near] / kept[first]) / np.log(kept[last] / kept[first]) if known else None
    value, low, high = trend(runs) if sum(slowdown(run) is not None for run in runs) > 1 else (None,) * 3
    who, few = f"{len(small)} seeds", f"{len(large)} seeds"
    end = lambda group, name: float(np.mean([run.metrics[name] for run in group]))
    return {
        "small": Fact(
            ratio(small), "{:.1f}", f"steps to half of the loss, memory over reasoning, γ = {SMALL:g}, geometric mean, {who}"
        ),
        "large": Fact(ratio(large), "{:.1f}", f"the same, γ = {LARGE:g}, {few}"),
        "held-small": Fact(held(small), "{:.0%}", f"held-out pairs right at best, γ = {SMALL:g}, mean of {who}"),
        "held-large": Fact(held(large), "{:.0%}", f"the same, γ = {LARGE:g}, {few}"),
        "rows-small": Fact(
            end(small, "reasoning"), "{:.0%}", f"trained rows of reasoning right at the end, γ = {SMALL:g}, {who}"
        ),
        "end-small": Fact(end(small, "held out"), "{:.0%}", f"held-out pairs right at the end, γ = {SMALL:g}, {who}"),
        "trend": Fact(
            (value, low, high), "{:.2f} ({:.2f} to {:.2f})", f"rank correlation of γ with the ratio, {len(runs)} runs"
        ),
        "jump": Fact(
            None if share is None else float(share),
            "{:.0%}",
            f"of the rise from γ = {first:g} to {last:g}, in logarithms, below {near:g}",
        ),
        "plain-small": Fact(held(at(plain, SMALL)), "{:.0%}", f"held-out pairs right at best without norms, γ = {SMALL:g}"),
        "plain-large": Fact(held(at(plain, LARGE)), "{:.0%}", f"the same, γ = {LARGE:g}"),
        "many-small": Fact(held(at(many, SMALL)), "{:.0%}", f"held-out pairs right at best, ten times the rows, γ = {SMALL:g}"),
        "many-large": Fact(held(at(many, LARGE)), "{:.0%}", f"the same, γ = {LARGE:g}"),
        "emb-small": Fact(held(at(emb, SMALL)), "{:.0%}", f"held-out pairs right at best, Emb-MLP, γ = {SMALL:g}"),
        "emb-large": Fact(held(at(emb, LARGE)), "{:.0%}", f"the same, γ = {LARGE:g}"),
        "emb-noise": Fact(
            float(best(noisy).max()), "{:.0%}", "held-out pairs right at best, Emb-MLP on all nine tokens, highest run"
        ),
    }
