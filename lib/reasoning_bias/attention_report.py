"""Arrays, lines and sentences of chapter 11."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.measures import spread
from lib.core.store import StoredRun
from lib.reasoning_bias import analysis, attention_checks, checks
from lib.reasoning_bias.analysis import Ratio, by_gamma
from lib.reasoning_bias.attention_checks import beginning
from lib.reasoning_bias.experiments import LARGE, SMALL
from lib.reasoning_bias.study import causal_average
from lib.reasoning_bias.task import LENGTH, N_PLACES


def matrices(runs: Sequence[StoredRun], seed: int) -> dict[str, np.ndarray]:
    """The causal average, and the first attention early and late at small initialization, early at large, of one seed."""
    pick = lambda gamma: next((r for r in checks.at(runs, gamma) if r.spec.seed == seed), checks.at(runs, gamma)[0])
    small, large, early = pick(SMALL), pick(LARGE), beginning(runs)
    of = lambda run, step: run.snapshots()[step]["attention"].numpy()
    return {
        "1 / i": causal_average(LENGTH).numpy(),
        f"γ = {SMALL:g}, early": of(small, early),
        f"γ = {SMALL:g}, late": of(small, max(small.snapshots())),
        f"γ = {LARGE:g}, early": of(large, early),
    }


def far_from_average(run: StoredRun, step: int) -> float:
    """Largest distance of the mean first attention from 1 / i."""
    return float((run.snapshots()[step]["attention"] - causal_average(LENGTH)).abs().max())


def causal_line(runs: Sequence[StoredRun]) -> str:
    step = beginning(runs)
    parts = [f"{g:g}: {spread([far_from_average(r, step) for r in group])}" for g, group in by_gamma(runs).items()]
    return f"largest distance of the mean attention from 1 / i after {step:,} steps, by γ, " + "; ".join(parts)


def deviations_at(runs: Sequence[StoredRun]) -> dict[str, dict[float, list[float]]]:
    """{epoch: {γ: ε of each seed}} at the first snapshot, a twentieth of training and the end."""
    kept = list(runs[0].snapshots())
    found = {}
    for step in dict.fromkeys((kept[0], beginning(runs), kept[-1])):
        at = {g: [float(r.snapshots()[step]["deviation"].max()) for r in group] for g, group in by_gamma(runs).items()}
        found[f"epoch {step / analysis.epoch(runs[0].spec):g}"] = at
    return found


def start_line(profile: str) -> str:
    before = attention_checks.start_deviations(profile)
    return ", ".join(f"γ = {g:g} {np.mean(v):.1g}" for g, v in before.items())


def spectra(runs: Sequence[StoredRun], gammas: Sequence[float]) -> dict[str, np.ndarray]:
    """{title: (seeds, n)} singular values of the first W^V at a twentieth of training."""
    step = beginning(runs)
    groups = by_gamma(runs)
    return {f"γ = {g:g}": np.array([analysis.singular_values(r, step) for r in groups[g]]) for g in gammas if g in groups}


def alignment(runs: Sequence[StoredRun], gammas: Sequence[float]) -> dict[str, tuple[np.ndarray, dict[str, np.ndarray]]]:
    """{title: (epochs, {kind: (seeds, epochs)})}."""
    found = {}
    for gamma in gammas:
        parts = [analysis.alignments(run) for run in checks.at(runs, gamma)]
        epochs = parts[0][0] / analysis.epoch(runs[0].spec)
        found[f"γ = {gamma:g}"] = epochs, {k: np.array([p[1][k].mean(1) for p in parts]) for k in analysis.KINDS}
    return found


def alignment_line(runs: Sequence[StoredRun]) -> str:
    """At small initialization: σ1 / σ2 and the alignments, at a twentieth of training, and the largest at any time."""
    step = beginning(runs)
    kinds = next(iter(alignment(runs, [runs[0].spec.gamma]).values()))[1]
    at = list(runs[0].snapshots()).index(step)
    gap = [float(v[0] / v[1]) for v in (analysis.singular_values(r, step) for r in runs)]
    parts = [f"{k} {spread(v[:, at])} (at any time at most {spread(v.max(1))})" for k, v in kinds.items()]
    return f"γ = {runs[0].spec.gamma:g}: first over second singular value {spread(gap)}; alignment with anchors: " + ", ".join(
        parts
    )


def readings(runs: Sequence[StoredRun]) -> dict[str, np.ndarray]:
    """{title: (seeds, 7, 4)} of the runs whose weights were kept."""
    found = np.array([analysis.reading(run) for run in runs if run.has_weights])
    return {"layer 1, second anchor's position": found[:, 0], "layer 2, last token": found[:, 1]}


def reading_line(runs: Sequence[StoredRun]) -> str:
    found = np.array([analysis.reading(run)[1] for run in runs if run.has_weights]).mean(1)
    each = [", ".join(f"{name} {v:.2f}" for name, v in zip(analysis.ROLES, row, strict=True)) for row in found]
    return f"layer 2, last token, mean over {N_PLACES} places, by seed: " + "; ".join(each)


def causes_text(runs: Sequence[StoredRun]) -> str:
    """Is what is seen also used? The models' answers with an attention replaced by the causal average."""
    found = [analysis.averaged(run) for run in runs if run.has_weights]
    words = ", ".join(f"{spread([f[name] for f in found])} {how}" for name, how in analysis.AVERAGED.items())
    return f"Is what is seen also used? Share of right answers on new reasoning rows: {words}. Both attentions are needed."


def ablation_points(
    taken: Mapping[str, Sequence[StoredRun]],
) -> tuple[dict[str, dict[float, list[Ratio]]], dict[str, dict[float, list[float]]]]:
    """For each ablation and γ: the ratios of halving steps, and the best shares of held-out pairs."""
    ratios, shares = {}, {}
    for name, runs in taken.items():
        groups = by_gamma(runs)
        ratios[name] = {g: [r for r in map(analysis.slowdown, group) if r is not None] for g, group in groups.items()}
        shares[name] = {g: checks.best(group).tolist() for g, group in groups.items()}
    return ratios, shares


def ablation_line(taken: Mapping[str, Sequence[StoredRun]]) -> str:
    ratios, _ = ablation_points(taken)
    say = lambda found: checks.words(found) if found else "never"
    return "; ".join(f"{name}: " + ", ".join(f"γ = {g:g} {say(v)}" for g, v in by.items()) for name, by in ratios.items())
