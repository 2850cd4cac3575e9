"""Claims on embeddings (chapter 10): the criteria, and whether stored results meet them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lib.core.claim import Claim, Finding, graded
from lib.core.measures import cosines, spearman, spread
from lib.core.store import Store, StoredRun
from lib.core.sweep import load
from lib.reasoning_bias.embeddings import numbers
from lib.reasoning_bias.experiments import BIAS, SMALL, flow_specs
from lib.reasoning_bias.runs import (
    KINDS,
    LATE,
    anchors,
    emb_mlps,
    epoch,
    seeds,
    snapshot_near,
    transformers,
)


def _parts(store: Store, profile: str, value: Callable[[StoredRun, int], float], holds: Callable[[float], bool]) -> Finding:
    found = {name: [value(r, step) for r in runs] for name, (runs, step) in numbers.at_times(store, profile).items()}
    return Finding(
        "; ".join(f"{name} {spread(values)}" for name, values in found.items()),
        graded([all(holds(v) for v in values) for values in found.values()]),
        len(next(iter(found.values()))),
    )


def falls_with_distance(store: Store, profile: str) -> Finding:
    lag = np.arange(1.0, 10.0)
    return _parts(store, profile, lambda r, s: spearman(lag, numbers.lag_cosines([r], s)[0]), lambda v: v <= -0.9)


def memory_alike(store: Store, profile: str) -> Finding:
    value = lambda r, s: float(numbers.off_diagonal(numbers.anchor_cosines(r, "memory", s)).mean())
    return _parts(store, profile, value, lambda v: v >= 0.5)


def numeric_order(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile, SMALL)
    late = snapshot_near(runs[0], LATE)
    own = [numbers.order(anchors(r, late)[KINDS["reasoning"]]) for r in runs]
    memory = [numbers.order(anchors(r, late)[KINDS["memory"]]) for r in runs]
    return Finding(
        f"order in the plane of two components: reasoning anchors {spread(own)}, memory anchors {spread(memory)}",
        graded([min(own) >= 0.9, max(memory) < 0.5]),
        seeds(runs),
    )


CHECKED = (0.998, 0.992, 0.982, 0.970, 0.955, 0.938, 0.919, 0.899, 0.878)
"""Cosines of P^s − 1 / 200 by distance 1 … 9, calculated independently of this code."""


def exact_and_sampled(store: Store, profile: str) -> Finding:
    exact = numbers.exact_distributions("reasoning")
    rows = dict(BIAS.specs(profile)[0].task)["rows"]
    sampled = numbers.sampled_distributions("reasoning", rows)
    lag = lambda d: numbers.by_lag(cosines(d, d))
    counted = lag(sampled)
    off, near = np.abs(lag(exact) - CHECKED).max(), np.abs(counted - lag(exact)).max()
    return Finding(
        f"exact cosines within {off:.4f} of an independent calculation; those of {rows:,} rows within {near:.4f} of the exact, "
        f"{counted[0]:.3f} at distance 1 and {counted[-1]:.3f} at 9",
        graded([bool(off < 0.001), bool(near < 0.1)]),
    )


def distribution_explains(store: Store, profile: str) -> Finding:
    runs, step = numbers.at_times(store, profile)["Emb-MLP early"]
    counted = numbers.sampled_distributions("reasoning", dict(runs[0].spec.task)["rows"])
    counted = cosines(counted, counted)
    own, exact = numbers.deviation(runs, step, counted), numbers.deviation(runs, step, numbers.theories(200)["P^s"])
    lag, told = numbers.lag_cosines(runs, step).mean(0), numbers.by_lag(counted)
    return Finding(
        f"mean deviation of cosines {spread(own)} from the training set's distributions, {spread(exact)} from the exact ones; "
        f"at distance 1 and 9 {lag[0]:.2f} and {lag[-1]:.2f}, where the training set has {told[0]:.2f} and {told[-1]:.2f}",
        graded([bool(own.max() <= 0.1)]),
        seeds(runs),
    )


def movement_explained(store: Store, profile: str) -> Finding:
    runs = emb_mlps(store, profile, SMALL)
    step, exact = min(runs[0].snapshots()), numbers.theories(200)["P^s"]
    off = [numbers.distance(numbers.moved_cosines(r, step), exact) for r in runs]
    memory = [float(numbers.off_diagonal(numbers.moved_cosines(r, step, "memory")).mean()) for r in runs]
    lag = np.mean([numbers.by_lag(numbers.moved_cosines(r, step)) for r in runs], 0)
    return Finding(
        f"after {step / epoch(runs[0].spec):g} epochs mean deviation from the exact distributions {spread(off)}; at "
        f"distance 1 and 9 {lag[0]:.2f} and {lag[-1]:.2f}; memory anchors {spread(memory)}, where they have 1",
        graded([max(off) <= 0.1, min(memory) >= 0.9]),
        seeds(runs),
    )


def fitted_explains(store: Store, profile: str) -> Finding:
    runs, step = numbers.at_times(store, profile)["transformer late"]
    off = {name: numbers.deviation(runs, step, t) for name, t in numbers.theories(200).items()}
    return Finding(
        f"mean deviation of cosines from Eq. 14 {spread(off['Eq. 14'])}, from P^s {spread(off['P^s'])}",
        graded([bool(off["Eq. 14"].max() <= 0.1)]),
        seeds(runs),
    )


def flow_follows(model: str, exact: bool = False) -> Callable[[Store, str], Finding]:
    """A check that integrated flow and training agree while the loss has hardly fallen: error at most 25 %, cosine 0.95."""

    def check(store: Store, profile: str) -> Finding:
        runs = load(flow_specs(profile)[model], store)
        found = [numbers.flow_numbers(r, exact) for r in runs]
        error, cosine = (np.array([f[i] for f in found]) for i in (0, 1))
        return Finding(
            f"after {spread([f[2] for f in found], 0)} steps, when embeddings have moved by "
            f"{spread([f[3] for f in found])} of their size: relative error {spread(error)}, cosine {spread(cosine, 3)}",
            graded([bool(error.max() <= 0.25), bool(cosine.min() >= 0.95)]),
            seeds(runs),
        )

    return check


CLAIMS = (
    Claim(
        "embedding-distance",
        "yao2025",
        "Figs 4A, 5A",
        "At small initialization the cosine of two reasoning anchors falls with their distance.",
        "seen early and late, in both models",
        "rank correlation of distance and mean cosine at most −.9 in every seed; one part for each model and time",
        falls_with_distance,
    ),
    Claim(
        "embedding-memory-alike",
        "yao2025",
        "Figs 4A, 5A",
        "Memory anchors keep a high cosine with each other.",
        "high early and late",
        "mean cosine at least .5 in every seed; one part for each model and time",
        memory_alike,
    ),
    Claim(
        "embedding-plane",
        "yao2025",
        "Fig 5B",
        "In the plane of two principal components reasoning anchors stand in numeric order; memory anchors do not.",
        "order is seen",
        "rank correlation of distance in number and in the plane at least .9 in every seed; below .5 for memory anchors",
        numeric_order,
    ),
    Claim(
        "embedding-distributions",
        "yao2025",
        "Fig 4B, C",
        "Label distributions of near reasoning anchors are nearly parallel, those of far ones less.",
        "cosines fall with distance",
        "cosines within .001 of an independent calculation; counted in the training set, within .1",
        exact_and_sampled,
    ),
    Claim(
        "embedding-follows-distributions",
        "yao2025",
        "Prop. 1, Fig 4",
        "Early embeddings of Emb-MLP, random start included, have the cosines of the label distributions.",
        "similar structure",
        "mean deviation of cosines from those of the training set's own distributions at most .1 in every seed",
        distribution_explains,
    ),
    Claim(
        "embedding-moves-as-distributions",
        "yao2025",
        "Prop. 1",
        "What the embeddings of Emb-MLP have moved at first has the cosines of the label distributions.",
        "derived for velocities",
        "at the first snapshot, every seed: mean deviation at most .1; memory anchors at least .9 (asked after the results)",
        movement_explained,
    ),
    Claim(
        "embedding-theorem-1",
        "yao2025",
        "Theorem 1, Fig 5C",
        "The trained transformer's reasoning anchors have the cosines of the vectors of Theorem 1 as plotted (Eq. 14).",
        "curves lie on each other for s = 15",
        "mean deviation over all pairs of anchors at most .1 in every seed",
        fitted_explains,
    ),
    Claim(
        "embedding-flow-emb-mlp",
        "yao2025",
        "Eq. 4",
        "The embeddings of Emb-MLP follow the flow that the label distributions drive.",
        "derived for small embeddings",
        "at the last snapshot before the loss has fallen by 5 %: relative error at most .25, cosine at least .95, every seed",
        flow_follows("Emb-MLP"),
    ),
    Claim(
        "embedding-flow-one-layer",
        "yao2025",
        "Props 2, 3",
        "The embeddings of the one-layer transformer follow the flow with the two matrices of its attention and its FFN.",
        "derived for small embeddings",
        "the same, with the formula as it is printed",
        flow_follows("one layer"),
    ),
    Claim(
        "embedding-flow-positions",
        "ours",
        "Props 2, 3",
        "They follow it if the residual stream counts only where the anchor stands last.",
        "not discussed",
        "the same, with that share in place of 1 / L",
        flow_follows("one layer", exact=True),
    ),
)
