"""Arrays, lines and sentences of chapter 11."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.core.measures import spread
from lib.core.store import StoredRun
from lib.reasoning_bias import runs as analysis
from lib.reasoning_bias.attention import claims as attention_checks
from lib.reasoning_bias.attention import numbers as attention
from lib.reasoning_bias.attention.claims import beginning
from lib.reasoning_bias.experiments import LARGE, SMALL
from lib.reasoning_bias.memory_and_reasoning import claims as checks
from lib.reasoning_bias.runs import by_gamma
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


def causal_line(runs: Sequence[StoredRun]) -> str:
    step = beginning(runs)
    parts = [f"{g:g}: {spread([attention.off_average(r, step) for r in group])}" for g, group in by_gamma(runs).items()]
    return f"largest distance of the mean attention from 1 / i after {step:,} steps, by γ, " + "; ".join(parts)


def deviations_at(runs: Sequence[StoredRun]) -> dict[str, dict[float, list[float]]]:
    """{epoch: {γ: ε of each seed}} at the first snapshots, to a twentieth of training, and at the end."""
    kept = list(runs[0].snapshots())
    found = {}
    for step in dict.fromkeys((*(k for k in kept if k <= beginning(runs)), kept[-1])):
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
    return {f"γ = {g:g}": np.array([attention.singular_values(r, step) for r in groups[g]]) for g in gammas if g in groups}


def alignment(runs: Sequence[StoredRun], gammas: Sequence[float]) -> dict[str, tuple[np.ndarray, dict[str, np.ndarray]]]:
    """{title: (epochs, {kind: (seeds, epochs)})}."""
    found = {}
    for gamma in gammas:
        parts = [attention.alignments(run) for run in checks.at(runs, gamma)]
        epochs = parts[0][0] / analysis.epoch(runs[0].spec)
        found[f"γ = {gamma:g}"] = epochs, {k: np.array([p[1][k].mean(1) for p in parts]) for k in analysis.KINDS}
    return found


def leading(runs: Sequence[StoredRun], count: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Epochs (n,) and the leading singular values of the first W^V along training, (seeds, n, count)."""
    steps = list(runs[0].snapshots())
    values = [[attention.singular_values(run, step)[:count] for step in steps] for run in runs]
    return np.array(steps) / analysis.epoch(runs[0].spec), np.array(values)


def alignment_line(runs: Sequence[StoredRun]) -> str:
    """At small initialization: σ1 / σ2 and the alignments, at a twentieth of training, and the largest at any time."""
    step = beginning(runs)
    kinds = next(iter(alignment(runs, [runs[0].spec.gamma]).values()))[1]
    at = list(runs[0].snapshots()).index(step)
    gap = [attention.gap(r, step) for r in runs]
    parts = [f"{k} {spread(v[:, at])} (at any time at most {spread(v.max(1))})" for k, v in kinds.items()]
    return f"γ = {runs[0].spec.gamma:g}: first over second singular value {spread(gap)}; alignment with anchors: " + ", ".join(
        parts
    )


def readings(runs: Sequence[StoredRun]) -> dict[str, np.ndarray]:
    """{title: (seeds, 7, 4)} of the runs whose weights were kept."""
    found = np.array([attention.reading(run) for run in runs if run.has_weights])
    return {"layer 1, second anchor's position": found[:, 0], "layer 2, last token": found[:, 1]}


def reading_line(runs: Sequence[StoredRun]) -> str:
    found = np.array([attention.reading(run)[1] for run in runs if run.has_weights]).mean(1)
    each = [", ".join(f"{name} {v:.2f}" for name, v in zip(attention.ROLES, row, strict=True)) for row in found]
    return f"layer 2, last token, mean over {N_PLACES} places, by seed: " + "; ".join(each)


def causes_text(runs: Sequence[StoredRun]) -> str:
    """Is what is seen also used? The models' answers with an attention replaced by the causal average."""
    found = [attention.averaged(run) for run in runs if run.has_weights]
    words = ", ".join(f"{spread([f[name] for f in found])} {how}" for name, how in attention.AVERAGED.items())
    kept = [attention.moved(run) for run in runs if run.has_weights]
    own = {name: ", ".join(f"{pairs[name][0]:.2f}" for pairs in kept) for name in kept[0]}
    there = [pairs["other place"][1] for pairs in kept]
    gone = ", ".join(f"{v:.2f}" for v in there)
    return (
        f"Is what is seen also used? Share of right answers on new reasoning rows: {words}.\n\n"
        "Does the second attention look for a *place* or for a *token*? Give layer 2 the attention keys of another sequence. "
        f"If that one has its key at the same place, the weight on this place stays (by seed {own['same place']}; with its own "
        f"keys {own['itself']}). If it has its key elsewhere, {own['other place']} is left, and "
        f"{gone} has gone to the place of the other one's key. In {sum(v > 0.5 for v in there)} of {len(there)} seeds, then, "
        "the second attention matches *where* the key is, whichever key it is. It could hardly do otherwise: the key's own "
        "position cannot see the anchors behind it, so that nothing written there says that it is the key."
    )


def lemma_text(runs: Sequence[StoredRun]) -> str:
    """How long the average holds at small initialization: the range of ε over seeds at each snapshot, to a twentieth."""
    kept = [step for step in runs[0].snapshots() if step <= beginning(runs)]
    parts = []
    for step in kept:
        found = [float(r.snapshots()[step]["deviation"].max()) for r in runs]
        parts.append(f"{min(found):.1g} to {max(found):.1g} at epoch {step / analysis.epoch(runs[0].spec):g}")
    return f"At γ = {runs[0].spec.gamma:g}, ε is " + ", ".join(parts) + " (range over seeds)."


def direction_text(runs: Sequence[StoredRun]) -> str:
    """The gap between the singular values and the alignments, seed by seed, at two early snapshots."""
    kept = [step for step in runs[0].snapshots() if step <= beginning(runs)]
    rows = []
    for step in dict.fromkeys((kept[min(1, len(kept) - 1)], kept[-1])):
        gap = [attention.gap(r, step) for r in runs]
        at = list(runs[0].snapshots()).index(step)
        kinds = {k: [float(attention.alignments(r)[1][k][at].mean()) for r in runs] for k in analysis.KINDS}
        say = lambda values: ", ".join(f"{v:.2f}" for v in values)
        rows.append(
            f"| {step / analysis.epoch(runs[0].spec):g} | {say(gap)} | {say(kinds['reasoning'])} | {say(kinds['memory'])} |"
        )
    head = "| epoch | first over second singular value | with reasoning anchors | with memory anchors |\n|---|---|---|---|\n"
    return f"Seed by seed at γ = {runs[0].spec.gamma:g}, |cosines| of the first direction:\n\n" + head + "\n".join(rows)


def solutions_text(runs: Sequence[StoredRun]) -> str:
    """Seed by seed: what is read where, and how well the model does on new reasoning rows and on held-out pairs."""
    head = (
        "| seed | layer 1, second anchor reads the key | layer 2, last token reads the key | reads the anchors "
        "| new reasoning rows right | held-out pairs right |\n|---|---|---|---|---|---|\n"
    )
    rows = []
    for run in runs:
        if run.has_weights:
            read = attention.reading(run).mean(1)
            cells = (read[0, 0], read[1, 0], read[1, 1] + read[1, 2], attention.averaged(run)[""], run.metrics["held out"])
            rows.append(f"| {run.spec.seed} | " + " | ".join(f"{v:.2f}" for v in cells) + " |")
    return head + "\n".join(rows)


def chance(run: StoredRun) -> float:
    """The mean |cosine| of two random directions at the run's width d: √(2 / π d) for large d."""
    return float(np.sqrt(2 / (np.pi * run.spec.model.d_model)))
