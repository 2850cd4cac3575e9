"""What the claims on attention (chapter 11) ask of stored results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.core.claim import Finding, graded
from lib.core.measures import spread
from lib.core.store import Store, StoredRun
from lib.core.sweep import load
from lib.reasoning_bias import runs as analysis
from lib.reasoning_bias.attention import numbers as attention
from lib.reasoning_bias.experiments import ABLATIONS, BIAS, LARGE, SMALL, ablation_specs
from lib.reasoning_bias.memory_and_reasoning.claims import BEGINNING, at, seeds, transformers, words


def start_deviations(profile: str) -> dict[float, list[float]]:
    """{γ: ε of Lemma 1 before training, of each seed}."""
    found: dict[float, list[float]] = {}
    for spec in BIAS.specs(profile):
        found.setdefault(spec.gamma, []).append(attention.deviation_at_start(spec))
    return dict(sorted(found.items()))


def lemma(store: Store, profile: str) -> Finding:
    before = start_deviations(profile)
    gammas = list(before)
    means = np.array([np.mean(before[g]) for g in gammas])
    small = max(before[SMALL])
    return Finding(
        f"ε before training, by γ: {', '.join(f'{g:g}: {min(v):.1g} to {max(v):.1g}' for g, v in before.items())}",
        graded([bool((np.diff(means) < 0).all()), small <= 0.01]),
        len(before[SMALL]),
    )


def beginning(runs: Sequence[StoredRun]) -> int:
    return analysis.snapshot_near(runs[0], BEGINNING)


def stays_causal(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile, SMALL)
    step = beginning(runs)
    far = [attention.off_average(r, step) for r in runs]
    worst = [float(r.snapshots()[step]["deviation"].max()) for r in runs]
    return Finding(
        f"after {step / analysis.epoch(runs[0].spec):g} epochs the mean attention is at most {spread(far)} from 1 / i, "
        f"that of single sequences {spread(worst)}",
        graded([max(far) <= 0.1]),
        seeds(runs),
    )


def one_direction(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile, SMALL)
    step = beginning(runs)
    gap = [attention.gap(r, step) for r in runs]
    rest = [attention.gap(r, step, 3) for r in runs]
    return Finding(
        f"after {step / analysis.epoch(runs[0].spec):g} epochs the largest singular value is {spread(gap)} times the second "
        f"and {spread(rest)} times the third",
        graded([min(gap) >= 2]),
        seeds(runs),
    )


def aligned(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile, SMALL)
    step = beginning(runs)
    found = {kind: [] for kind in analysis.KINDS}
    for run in runs:
        steps, kinds = attention.alignments(run)
        for kind, values in kinds.items():
            found[kind].append(float(values[list(steps).index(step)].mean()))
    return Finding(
        f"|cosine| of the first direction of W^V with reasoning anchors {spread(found['reasoning'])}, "
        f"with memory anchors {spread(found['memory'])}, after {step / analysis.epoch(runs[0].spec):g} epochs",
        graded([min(found["reasoning"]) >= 0.5, max(found["memory"]) <= 0.2]),
        seeds(runs),
    )


def picks_the_key(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile, SMALL)
    key = [float(attention.reading(r)[1, :, 0].min()) for r in runs]
    return Finding(
        "share of the last token's second attention on the key, at the key's worst place, by seed: "
        + ", ".join(f"{v:.2f}" for v in key),
        graded([v >= 0.8 for v in key]),
        seeds(runs),
    )


def follows_the_place(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile, SMALL)
    found = [attention.moved(r)["other place"] for r in runs]
    return Finding(
        "with the attention keys of a sequence whose key stands elsewhere, weight on the own place and on the other, by seed: "
        + ", ".join(f"{own:.2f} and {other:.2f}" for own, other in found),
        graded([other >= 0.5 and own <= 0.2 for own, other in found]),
        seeds(runs),
    )


def ablated(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    return {name: load(specs, store) for name, specs in ablation_specs(profile).items()}


def survives(store: Store, profile: str) -> Finding:
    parts, said, fewest = [], [], 0
    for name, runs in ablated(store, profile).items():
        if name == ABLATIONS[0]:
            continue
        fewest = min(fewest or seeds(runs), seeds(runs))
        pair = []
        for gamma in (LARGE, SMALL):
            halved = [r for r in (analysis.slowdown(run) for run in at(runs, gamma)) if r is not None]
            pair.append(halved)
        large, small = pair
        decided = bool(small) and bool(large) and not any(r.open for r in large)  # two lower bounds cannot be compared
        parts.append(decided and min(r.value for r in small) > max(r.value for r in large))
        said.append(f"{name}: " + " and ".join(words(p) if p else "never halved" for p in pair))
    return Finding(f"ratio at γ = {LARGE:g} and {SMALL:g}; " + "; ".join(said), graded(parts), fewest)
