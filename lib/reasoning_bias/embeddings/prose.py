"""Arrays, lines, tables and sentences of chapter 10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.measures import cosines, numerical_order, spread
from lib.core.store import StoredRun
from lib.reasoning_bias import runs as analysis
from lib.reasoning_bias.embeddings import claims as embedding_checks
from lib.reasoning_bias.memory_and_reasoning import claims as checks
from lib.reasoning_bias.task import FIRST_KEY, LAST_KEY, REASONING, VOCAB


def epoch_words(run: StoredRun, step: int) -> str:
    return f"epoch {step / analysis.epoch(run.spec):g}"


def matrices(
    times: Mapping[str, tuple[Sequence[StoredRun], int]], seed: int
) -> tuple[dict[str, dict[str, np.ndarray]], list[StoredRun]]:
    """Columns for the figure of cosine matrices, of one seed, and the runs they are of."""
    columns, used = {}, []
    for name, (runs, step) in times.items():
        run = next((r for r in runs if r.spec.seed == seed), runs[0])
        model = name.rsplit(" ", 1)[0]
        columns[f"{model}\n{epoch_words(run, step)}"] = {
            kind: analysis.anchor_cosines(run, kind, step) for kind in analysis.KINDS
        }
        used.append(run)
    return columns, used


def cosine_line(times: Mapping[str, tuple[Sequence[StoredRun], int]]) -> str:
    parts = []
    for name, (runs, step) in times.items():
        memory = [analysis.off_diagonal(analysis.anchor_cosines(r, "memory", step)).mean() for r in runs]
        lag = embedding_checks.lag_cosines(runs, step)
        parts.append(f"{name}: memory {spread(memory)}, reasoning {spread(lag[:, 0])} at distance 1, {spread(lag[:, -1])} at 9")
    return "; ".join(parts)


def lag_series(
    times: Mapping[str, tuple[Sequence[StoredRun], int]], width: int, gamma: float
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Measured and theoretical curves of cosine against distance. Eq. 14 with its noise is the mean of 200 draws."""
    measured = {
        f"{name} ({epoch_words(runs[0], step)})": embedding_checks.lag_cosines(runs, step)
        for name, (runs, step) in times.items()
    }
    emb = times["Emb-MLP early"][0]
    first = min(emb[0].snapshots())
    moved = [analysis.by_lag(embedding_checks.moved_cosines(run, first)) for run in emb]
    measured = {f"Emb-MLP, moved ({epoch_words(emb[0], first)})": np.array(moved)} | measured
    exact = analysis.exact_distributions("reasoning")
    drawn = [analysis.fitted(width, gamma, i) for i in range(200)]
    theory = {
        r"$P^s - 1/d_\mathrm{vob}$ (Prop. 1)": analysis.by_lag(cosines(exact, exact)),
        f"Eq. 14 with its noise, γ = {gamma:g}": np.mean([analysis.by_lag(cosines(v, v)) for v in drawn], 0),
    }
    return measured, theory


def memory_text(times: Mapping[str, tuple[Sequence[StoredRun], int]]) -> str:
    """How alike memory anchors are: counted labels, what they have moved in Emb-MLP, and embeddings of the transformer."""
    (emb, step), (deep, _) = times["Emb-MLP early"], times["transformer late"]
    own = analysis.sampled_distributions("memory", dict(deep[0].spec.task)["rows"])
    mean = lambda matrix: float(analysis.off_diagonal(matrix).mean())
    whole = [mean(analysis.anchor_cosines(run, "memory", step)) for run in emb]
    moved = [mean(embedding_checks.moved_cosines(run, step, "memory")) for run in emb]
    most = max(np.mean([mean(analysis.anchor_cosines(r, "memory", at)) for r in deep]) for at in deep[0].snapshots())
    return (
        f"In Emb-MLP, early, memory anchors have a mean cosine of {spread(whole)}. What keeps them from 1 is "
        "mostly their random "
        f"start: what they have *moved* has {spread(moved)}. In the transformer they are not alike at any snapshot (at most "
        f"{most:.2f}, mean over seeds). That the training set is finite does not explain this: the label distributions counted "
        f"in it have {mean(cosines(own, own)):.2f}."
    )


def formation(runs: Sequence[StoredRun]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Epochs (n,) and mean cosines along training, each (seeds, n)."""
    steps = list(runs[0].snapshots())
    lag = np.array([[analysis.by_lag(analysis.anchor_cosines(r, "reasoning", s)) for s in steps] for r in runs])
    memory = [[analysis.off_diagonal(analysis.anchor_cosines(r, "memory", s)).mean() for s in steps] for r in runs]
    names = ("reasoning, distance 1", "reasoning, distance 9", "memory")
    return np.array(steps) / analysis.epoch(runs[0].spec), dict(
        zip(names, (lag[..., 0], lag[..., -1], np.array(memory)), strict=True)
    )


def deviation_table(times: Mapping[str, tuple[Sequence[StoredRun], int]]) -> str:
    """How far measured cosines are from each theory, on average over pairs of anchors; first those of what has moved."""
    theories = embedding_checks.theories(200)
    emb = times["Emb-MLP early"][0]
    first = min(emb[0].snapshots())
    found = {f"Emb-MLP, moved, {epoch_words(emb[0], first)}": [embedding_checks.moved_cosines(run, first) for run in emb]}
    for name, (runs, step) in times.items():
        matrices = [analysis.anchor_cosines(run, "reasoning", step) for run in runs]
        found[f"{name}, {epoch_words(runs[0], step)}"] = matrices
    names = [f"${name}$" if "^" in name else name for name in theories]
    head = f"| mean distance of cosines from | {' | '.join(names)} |\n|---|{'---|' * len(names)}\n"
    rows = [
        f"| {name} | "
        + " | ".join(spread([embedding_checks.distance(m, t) for m in matrices]) for t in theories.values())
        + " |"
        for name, matrices in found.items()
    ]
    return head + "\n".join(rows)


def labels_of_anchor() -> tuple[float, float, int]:
    """Mean distance of a label from its reasoning anchor, their standard deviation, and the values on the flat top."""
    p = analysis.exact_distributions("reasoning")[0] + 1 / VOCAB
    i = np.arange(len(p))
    mean = float((p * i).sum())
    flat = int(np.isclose(p, p.max()).sum())
    return mean - REASONING[0], float(np.sqrt((p * (i - mean) ** 2).sum())), flat


def order_line(runs: Sequence[StoredRun], step: int) -> str:
    """Numeric order in the plane of two components, by kind of anchor."""
    of = lambda kind: [analysis.order(analysis.anchors(r, step)[analysis.KINDS[kind]]) for r in runs]
    return "order in the plane, all seeds: " + ", ".join(f"{kind} anchors {spread(of(kind))}" for kind in analysis.KINDS)


def order_text(late: tuple[Sequence[StoredRun], int]) -> str:
    """Numeric order of anchors and keys, in all dimensions and in the plane that maps show."""
    runs, step = late
    rows = {kind: [analysis.anchors(r, step)[where] for r in runs] for kind, where in analysis.KINDS.items()}
    rows = {f"{kind} anchors": vectors for kind, vectors in rows.items()}
    rows["keys"] = [r.weights()["embedding.token"].numpy()[FIRST_KEY : LAST_KEY + 1] for r in runs if r.has_weights]
    rows = {name: vectors for name, vectors in rows.items() if vectors}
    said = "; ".join(
        f"{name} {spread([numerical_order(v) for v in vectors])} in all dimensions, "
        f"{spread([analysis.order(v) for v in vectors])} in the plane"
        for name, vectors in rows.items()
    )
    return f"Do they keep the order of numbers? Rank correlation of |i − j| with the distance of i and j, over seeds: {said}."


def theory_text() -> str:
    ahead, true, flat = labels_of_anchor()
    return (
        f"The labels of an anchor s have their mean at s + {ahead:.1f}, a standard deviation of {true:.1f}, and "
        f"are flat over {flat} "
        f"values. Eq. 14 sits at s and has a width of √6 = {np.sqrt(6):.1f}. So neither its place nor its width "
        "is what Proposition 1 "
        "gives. A common shift changes no cosine; the width does. It is a **fitted shape**."
    )


def flow_line(models: Mapping[str, tuple[Sequence[StoredRun], bool]]) -> str:
    parts = []
    for name, (runs, exact) in models.items():
        found = np.array([embedding_checks.flow_numbers(r, exact) for r in runs])
        parts.append(
            f"{name} up to step {found[:, 2].mean():.0f}: error {spread(found[:, 0])}, cosine {spread(found[:, 1], 3)}"
        )
    return "; ".join(parts)


def flow_text(models: Mapping[str, tuple[Sequence[StoredRun], bool]]) -> str:
    """Where the flow is right: at the best snapshot, and at the last before the loss has begun to fall."""
    lines = []
    for name, (runs, exact) in models.items():
        found = [analysis.flow_error(run, exact) for run in runs]
        low = {kind: [float(f.error[kind].mean(1).min()) for f in found] for kind in analysis.KINDS}
        end = np.array([embedding_checks.flow_numbers(run, exact) for run in runs])
        lines.append(
            f"- **{name}**: the relative error falls to {spread(low['reasoning'])} for reasoning and {spread(low['memory'])} "
            f"for memory anchors. At the last snapshot before the loss has fallen by {checks.FEW:.0%}, it is "
            f"{spread(end[:, 0])}, "
            f"with a cosine of {spread(end[:, 1], 3)}."
        )
    return "\n".join(lines)


def parted(runs: Sequence[StoredRun], by: float = 0.2) -> float:
    """The epoch of the first snapshot at which near and far reasoning anchors differ in mean cosine by this much; ∞: none."""
    epochs, curves = formation(runs)
    near, far, _ = curves.values()
    apart = np.flatnonzero((near - far).mean(0) >= by)
    return float(epochs[apart[0]]) if len(apart) else float("inf")
