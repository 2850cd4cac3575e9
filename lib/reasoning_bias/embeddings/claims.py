"""What the claims on embeddings (chapter 10) ask of stored results."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from lib.core.claim import Finding, graded
from lib.core.measures import cosines, spearman, spread
from lib.core.store import Store, StoredRun
from lib.core.sweep import load
from lib.reasoning_bias import runs as analysis
from lib.reasoning_bias.experiments import BIAS, SMALL, flow_specs
from lib.reasoning_bias.memory_and_reasoning.claims import EARLY, EARLY_EMB, FEW, LATE, emb_mlps, seeds, transformers


def at_times(store: Store, profile: str) -> dict[str, tuple[list[StoredRun], int]]:
    """{name: (runs at small initialization, step)} for both models at the paper's two times."""
    t, e = transformers(store, profile, SMALL), emb_mlps(store, profile, SMALL)
    near = analysis.snapshot_near
    return {
        "Emb-MLP early": (e, near(e[0], EARLY_EMB)),
        "Emb-MLP late": (e, near(e[0], LATE)),
        "transformer early": (t, near(t[0], EARLY)),
        "transformer late": (t, near(t[0], LATE)),
    }


def lag_cosines(runs: Sequence[StoredRun], step: int) -> np.ndarray:
    """(runs, 9) mean cosines of reasoning anchors by their distance."""
    return np.array([analysis.by_lag(analysis.anchor_cosines(r, "reasoning", step)) for r in runs])


def _parts(store: Store, profile: str, value: Callable[[StoredRun, int], float], holds: Callable[[float], bool]) -> Finding:
    found = {name: [value(r, step) for r in runs] for name, (runs, step) in at_times(store, profile).items()}
    return Finding(
        "; ".join(f"{name} {spread(values)}" for name, values in found.items()),
        graded([all(holds(v) for v in values) for values in found.values()]),
        len(next(iter(found.values()))),
    )


def falls_with_distance(store: Store, profile: str) -> Finding:
    lag = np.arange(1.0, 10.0)
    return _parts(store, profile, lambda r, s: spearman(lag, lag_cosines([r], s)[0]), lambda v: v <= -0.9)


def memory_alike(store: Store, profile: str) -> Finding:
    value = lambda r, s: float(analysis.off_diagonal(analysis.anchor_cosines(r, "memory", s)).mean())
    return _parts(store, profile, value, lambda v: v >= 0.5)


def numeric_order(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile, SMALL)
    late = analysis.snapshot_near(runs[0], LATE)
    own = [analysis.order(analysis.anchors(r, late)[analysis.KINDS["reasoning"]]) for r in runs]
    memory = [analysis.order(analysis.anchors(r, late)[analysis.KINDS["memory"]]) for r in runs]
    return Finding(
        f"order in the plane of two components: reasoning anchors {spread(own)}, memory anchors {spread(memory)}",
        graded([min(own) >= 0.9, max(memory) < 0.5]),
        seeds(runs),
    )


CHECKED = (0.998, 0.992, 0.982, 0.970, 0.955, 0.938, 0.919, 0.899, 0.878)
"""Cosines of P^s − 1 / 200 by distance 1 … 9, calculated independently of this code."""


def exact_and_sampled(store: Store, profile: str) -> Finding:
    exact = analysis.exact_distributions("reasoning")
    rows = dict(BIAS.specs(profile)[0].task)["rows"]
    sampled = analysis.sampled_distributions("reasoning", rows)
    lag = lambda d: analysis.by_lag(cosines(d, d))
    counted = lag(sampled)
    off, near = np.abs(lag(exact) - CHECKED).max(), np.abs(counted - lag(exact)).max()
    return Finding(
        f"exact cosines within {off:.4f} of an independent calculation; those of {rows:,} rows within {near:.4f} of the exact, "
        f"{counted[0]:.3f} at distance 1 and {counted[-1]:.3f} at 9",
        graded([bool(off < 0.001), bool(near < 0.1)]),
    )


def distance(matrix: np.ndarray, theory: np.ndarray) -> float:
    """Mean distance of cosines over the pairs of anchors. Both (10, 10)."""
    return float(np.abs(analysis.off_diagonal(matrix - theory)).mean())


def deviation(runs: Sequence[StoredRun], step: int, theory: np.ndarray) -> np.ndarray:
    """(runs,) distance of the measured cosines of reasoning anchors from a theory's. theory: (10, 10)."""
    return np.array([distance(analysis.anchor_cosines(r, "reasoning", step), theory) for r in runs])


def theories(width: int) -> dict[str, np.ndarray]:
    """{name: (10, 10) cosines of reasoning anchors} of Proposition 1 and of Theorem 1 as plotted, without its noise."""
    p, shape = analysis.exact_distributions("reasoning"), analysis.fitted(width, SMALL, None)
    return {"P^s": cosines(p, p), "Eq. 14": cosines(shape, shape)}


def distribution_explains(store: Store, profile: str) -> Finding:
    runs, step = at_times(store, profile)["Emb-MLP early"]
    counted = analysis.sampled_distributions("reasoning", dict(runs[0].spec.task)["rows"])
    counted = cosines(counted, counted)
    own, exact = deviation(runs, step, counted), deviation(runs, step, theories(200)["P^s"])
    lag, told = lag_cosines(runs, step).mean(0), analysis.by_lag(counted)
    return Finding(
        f"mean deviation of cosines {spread(own)} from the training set's distributions, {spread(exact)} from the exact ones; "
        f"at distance 1 and 9 {lag[0]:.2f} and {lag[-1]:.2f}, where the training set has {told[0]:.2f} and {told[-1]:.2f}",
        graded([bool(own.max() <= 0.1)]),
        seeds(runs),
    )


def moved_cosines(run: StoredRun, step: int, kind: str = "reasoning") -> np.ndarray:
    """(10, 10) cosines of what the embeddings of the anchors of a kind have moved from their random start."""
    vectors = analysis.moved_by(run, step)[analysis.KINDS[kind]]
    return cosines(vectors, vectors)


def movement_explained(store: Store, profile: str) -> Finding:
    runs = emb_mlps(store, profile, SMALL)
    step, exact = min(runs[0].snapshots()), theories(200)["P^s"]
    off = [distance(moved_cosines(r, step), exact) for r in runs]
    memory = [float(analysis.off_diagonal(moved_cosines(r, step, "memory")).mean()) for r in runs]
    lag = np.mean([analysis.by_lag(moved_cosines(r, step)) for r in runs], 0)
    return Finding(
        f"after {step / analysis.epoch(runs[0].spec):g} epochs mean deviation from the exact distributions {spread(off)}; at "
        f"distance 1 and 9 {lag[0]:.2f} and {lag[-1]:.2f}; memory anchors {spread(memory)}, where they have 1",
        graded([max(off) <= 0.1, min(memory) >= 0.9]),
        seeds(runs),
    )


def fitted_explains(store: Store, profile: str) -> Finding:
    runs, step = at_times(store, profile)["transformer late"]
    off = {name: deviation(runs, step, t) for name, t in theories(200).items()}
    return Finding(
        f"mean deviation of cosines from Eq. 14 {spread(off['Eq. 14'])}, from P^s {spread(off['P^s'])}",
        graded([bool(off["Eq. 14"].max() <= 0.1)]),
        seeds(runs),
    )


def flow_follows(model: str, exact: bool = False) -> Callable[[Store, str], Finding]:
    """A check that integrated flow and training agree while the loss has hardly fallen: error at most 25 %, cosine 0.95."""

    def check(store: Store, profile: str) -> Finding:
        runs = load(flow_specs(profile)[model], store)
        found = [flow_numbers(r, exact) for r in runs]
        error, cosine = (np.array([f[i] for f in found]) for i in (0, 1))
        return Finding(
            f"after {spread([f[2] for f in found], 0)} steps, when embeddings have moved by "
            f"{spread([f[3] for f in found])} of their size: relative error {spread(error)}, cosine {spread(cosine, 3)}",
            graded([bool(error.max() <= 0.25), bool(cosine.min() >= 0.95)]),
            seeds(runs),
        )

    return check


def flow_numbers(run: StoredRun, exact: bool) -> tuple[float, float, int, float]:
    """Error and cosine (means over anchors), step and growth at the last snapshot before the loss has fallen by FEW."""
    found = analysis.flow_error(run, exact)
    loss = dict(zip(run.history["step"], run.history["loss"], strict=True))
    first = np.mean([analysis.first_losses(run)[name] for name in ("memory", "reasoning")])
    held = lambda i: (value := loss[int(found.steps[i])]) is not None and value > (1 - FEW) * first
    good = list(itertools.takewhile(held, range(len(found.steps))))
    if not good:
        raise LookupError("the loss has fallen before the first snapshot")
    i = good[-1]
    mean = lambda parts: float(np.mean([values[i].mean() for values in parts.values()]))
    return mean(found.error), mean(found.cosine), int(found.steps[i]), float(found.grown[i])
