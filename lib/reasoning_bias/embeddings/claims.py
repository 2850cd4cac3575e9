"""Claims on embeddings (chapter 10): the criteria, and whether stored results meet them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lib.core.read.claim import Claim, Finding, graded
from lib.core.read.measures import cosines
from lib.core.read.statistics import spearman
from lib.core.record.store import Store, StoredRun, load
from lib.reasoning_bias import theory
from lib.reasoning_bias.embeddings import metrics
from lib.reasoning_bias.embeddings.metrics import COSINE, ERROR, NEAR, told, written
from lib.reasoning_bias.experiments import QUIET, SMALL, bias_specs, flow_specs
from lib.reasoning_bias.runs import KINDS, LATE, anchors, emb_mlps, epoch, seeds, short, snapshot_near, transformers

FALLS = 0.9
"""By at most minus this rank correlation with distance, cosines fall."""
IN_ORDER, IN_PLANE, WITHOUT_ORDER = 0.9, 0.75, 0.5
"""Rank correlations of distance in number and in the plane: where numbers are in order in a plane of their own, in one that
shows all tokens, and where they are not."""
EXACT = 0.001
"""How far cosines may be from an independent calculation."""
UNIFORM = 0.9
"""Cosine of memory anchors that have moved in one direction."""

ORDERED = f"rank correlation of distance in number and in the plane at least {short(IN_ORDER)} in every seed"
MEMORY_UNORDERED = f"below {short(WITHOUT_ORDER)} for memory anchors"
AS_CALCULATED = f"cosines within {short(EXACT)} of an independent calculation"
WHOLE_ORDERED = f"rank correlation of distance in number and in this plane at least {short(IN_PLANE)} in every seed"
MOVED = f"at the first snapshot, every seed: mean deviation at most {short(NEAR)}"
MEMORY_MOVED = f"memory anchors at least {short(UNIFORM)}"
AS_FITTED = f"mean deviation over all pairs of anchors at most {short(NEAR)} in every seed"
RIGHT_LENGTH, RIGHT_DIRECTION = f"relative error at most {short(ERROR)}", f"cosine at least {short(COSINE)}"


def _parts(store: Store, profile: str, value: Callable[[StoredRun, int], float], holds: Callable[[float], bool]) -> Finding:
    found = {name: [value(r, step) for r in runs] for name, (runs, step) in metrics.at_times(store, profile).items()}
    return Finding(
        "; ".join(f"{name} {told(values)}" for name, values in found.items()),
        graded({name: all(holds(v) for v in values) for name, values in found.items()}),
        len(next(iter(found.values()))),
    )


def falls_with_distance(store: Store, profile: str) -> Finding:
    lag = np.arange(1.0, 10.0)
    return _parts(store, profile, lambda r, s: spearman(lag, metrics.lag_cosines([r], s)[0]), lambda v: v <= -FALLS)


def memory_alike(store: Store, profile: str) -> Finding:
    value = lambda r, s: float(metrics.off_diagonal(metrics.anchor_cosines(r, "memory", s)).mean())
    return _parts(store, profile, value, lambda v: v >= metrics.ALIKE)


def numeric_order(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile, SMALL)
    late = snapshot_near(runs[0], LATE)
    own = [metrics.order(anchors(r, late)[KINDS["reasoning"]]) for r in runs]
    memory = [metrics.order(anchors(r, late)[KINDS["memory"]]) for r in runs]
    return Finding(
        f"order in the plane of two components: reasoning anchors {told(own)}, memory anchors {told(memory)}",
        graded({ORDERED: min(own) >= IN_ORDER, MEMORY_UNORDERED: max(memory) < WITHOUT_ORDER}),
        seeds(runs),
    )


CHECKED = (0.998, 0.992, 0.982, 0.970, 0.955, 0.938, 0.919, 0.899, 0.878)
"""Cosines of P^s − 1 / 200 by distance 1 … 9, calculated independently of this code."""


def exact_and_sampled(store: Store, profile: str) -> Finding:
    exact = metrics.exact_distributions("reasoning")
    rows = dict(bias_specs(profile)[0].task)["rows"]
    sampled = metrics.sampled_distributions("reasoning", rows)
    lag = lambda d: metrics.by_lag(cosines(d, d))
    counted = lag(sampled)
    off, near = np.abs(lag(exact) - CHECKED).max(), np.abs(counted - lag(exact)).max()
    return Finding(
        f"exact cosines within {off:.4f} of an independent calculation; those of {rows:,} rows within {near:.4f} of the exact, "
        f"{counted[0]:.3f} at distance 1 and {counted[-1]:.3f} at 9",
        graded({AS_CALCULATED: bool(off < EXACT)}),
    )


def movement_explained(store: Store, profile: str) -> Finding:
    runs = emb_mlps(store, profile, SMALL)
    step, exact = min(runs[0].snapshots()), metrics.theories()["P^s"]
    off = [metrics.distance(metrics.moved_cosines(r, step), exact) for r in runs]
    memory = [float(metrics.off_diagonal(metrics.moved_cosines(r, step, "memory")).mean()) for r in runs]
    lag = np.mean([metrics.by_lag(metrics.moved_cosines(r, step)) for r in runs], 0)
    epochs = step / epoch(runs[0].spec)
    return Finding(
        f"after {epochs:g} epoch{'s' * (epochs != 1)} mean deviation from the exact distributions {told(off)}; at "
        f"distance 1 and 9 {written(lag[0])} and {written(lag[-1])}; memory anchors {told(memory)}, where they have 1",
        graded({MOVED: max(off) <= NEAR, MEMORY_MOVED: min(memory) >= UNIFORM}),
        seeds(runs),
    )


def whole_plane(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile, SMALL)
    found = [metrics.plane_orders(run) for run in runs]
    say = lambda kind: ", ".join(written(orders[kind]) for orders in found)
    return Finding(
        f"order in the plane of the entire embedding, by seed: reasoning anchors {say('reasoning')}; keys {say('key')}; memory "
        f"anchors {say('memory')}",
        graded(
            {
                WHOLE_ORDERED: min(orders["reasoning"] for orders in found) >= IN_PLANE,
                MEMORY_UNORDERED: max(orders["memory"] for orders in found) < WITHOUT_ORDER,
            }
        ),
        seeds(runs),
    )


def fitted_explains(store: Store, profile: str) -> Finding:
    runs, step = metrics.at_times(store, profile)["transformer late"]
    off = {name: metrics.deviation(runs, step, t) for name, t in metrics.theories().items()}
    best, fitted = metrics.best_spread(runs, step)
    return Finding(
        f"mean deviation of cosines {told(fitted)} at the σ_P that fits best, {best:.2f}; {told(off['Eq. 14'])} "
        f"at the paper's √6 = {theory.SPREAD:.2f}, {told(off['P^s'])} for P^s",
        graded({AS_FITTED: bool(fitted.max() <= NEAR)}),
        seeds(runs),
    )


def flow_follows(model: str, exact: bool = False) -> Callable[[Store, str], Finding]:
    """A check that integrated flow and training agree while the loss has hardly fallen."""

    def check(store: Store, profile: str) -> Finding:
        runs = load(flow_specs(profile)[model], store)
        found = [metrics.flow_numbers(r, exact) for r in runs]
        error, cosine = (np.array([f[i] for f in found]) for i in (0, 1))
        at = [metrics.compared(r, exact) for r in runs]
        ends = ", where the runs end" if all(c.ended for c in at) else ""
        return Finding(
            f"after {told([c.step for c in at], 0)} steps{ends}: the loss has fallen by "
            f"{100 * np.mean([c.fallen for c in at]):.1f} %, embeddings have moved by {told([c.grown for c in at])} of their "
            f"size; relative error {told(error)}, cosine {told(cosine, 3)}",
            graded({RIGHT_LENGTH: bool(error.max() <= ERROR), RIGHT_DIRECTION: bool(cosine.min() >= COSINE)}),
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
        f"rank correlation of distance and mean cosine at most −{short(FALLS)} in every seed; one part for each model and time",
        falls_with_distance,
    ),
    Claim(
        "embedding-memory-alike",
        "yao2025",
        "Figs 4A, 5A",
        "Memory anchors keep a high cosine with each other.",
        "high early and late",
        f"mean cosine at least {short(metrics.ALIKE)} in every seed; one part for each model and time",
        memory_alike,
    ),
    Claim(
        "embedding-plane",
        "yao2025",
        "Fig 5B",
        "In the plane of two principal components reasoning anchors stand in numeric order; memory anchors do not.",
        "order is seen",
        f"in a plane of their own: {ORDERED}; {MEMORY_UNORDERED}",
        numeric_order,
    ),
    Claim(
        "embedding-plane-whole",
        "yao2025",
        "Fig 5B",
        "They do so in the plane of the entire embedding, too, which is the one that the paper shows.",
        "order is seen",
        f"{WHOLE_ORDERED}, less than in a plane of their own, as all tokens share this one; {MEMORY_UNORDERED} (asked "
        "after the results)",
        whole_plane,
    ),
    Claim(
        "embedding-distributions",
        "yao2025",
        "Fig 4B, C",
        "Label distributions of near reasoning anchors are nearly parallel, those of far ones less.",
        "cosines fall with distance",
        AS_CALCULATED,
        exact_and_sampled,
        by_construction=True,
    ),
    Claim(
        "embedding-moves-as-distributions",
        "yao2025",
        "Prop. 1",
        "What the embeddings of Emb-MLP have moved at first has the cosines of the label distributions.",
        "derived for velocities",
        f"{MOVED}; {MEMORY_MOVED} (asked after the results)",
        movement_explained,
    ),
    Claim(
        "embedding-theorem-1",
        "yao2025",
        "Theorem 1, Fig 5C",
        "The trained transformer's reasoning anchors have the cosines of the vectors of Theorem 1 (Eq. 12).",
        "curves lie on each other for s = 15",
        f"with the one σ_P that fits best: {AS_FITTED}",
        fitted_explains,
        revised="σ_P is free in the theorem, and the claim had taken the value that the paper plots",
    ),
    Claim(
        "embedding-flow-emb-mlp",
        "yao2025",
        "Eq. 4",
        "The embeddings of Emb-MLP follow the flow that the label distributions drive.",
        "derived for small embeddings",
        f"at the last snapshot before the loss has fallen by {100 * metrics.FEW:g} %, every seed: {RIGHT_LENGTH}; "
        f"{RIGHT_DIRECTION}",
        flow_follows("Emb-MLP"),
        revised="at a fall of 5 % the premise, a uniform output, has ended",
    ),
    Claim(
        "embedding-flow-one-layer",
        "yao2025",
        "Props 2, 3",
        "The embeddings of the one-layer transformer follow the flow with the two matrices of its attention and its FFN.",
        "derived for small embeddings",
        "the same, with ten times the batch and the formula as it is printed",
        flow_follows(QUIET),
        revised="with the smaller batch noise was part of what was compared",
    ),
    Claim(
        "embedding-flow-positions",
        "ours",
        "Fig 10.9, by positions",
        "They follow it if the residual stream counts only where the anchor stands last.",
        "not discussed",
        "the same, with that share in place of 1 / L",
        flow_follows(QUIET, exact=True),
        revised="as above",
    ),
)
