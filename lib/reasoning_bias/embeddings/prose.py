"""Arrays, lines, tables and sentences of chapter 10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.read.measures import cosines, spread
from lib.core.read.statistics import numerical_order
from lib.core.read.tables import table
from lib.core.record.store import StoredRun
from lib.reasoning_bias.embeddings import numbers
from lib.reasoning_bias.runs import KINDS, anchors
from lib.reasoning_bias.task import FIRST_KEY, LAST_KEY


def cosine_line(times: Mapping[str, tuple[Sequence[StoredRun], int]]) -> str:
    parts = []
    for name, (runs, step) in times.items():
        memory = [numbers.off_diagonal(numbers.anchor_cosines(r, "memory", step)).mean() for r in runs]
        lag = numbers.lag_cosines(runs, step)
        parts.append(f"{name}: memory {spread(memory)}, reasoning {spread(lag[:, 0])} at distance 1, {spread(lag[:, -1])} at 9")
    return "; ".join(parts)


def memory_text(times: Mapping[str, tuple[Sequence[StoredRun], int]]) -> str:
    """How alike memory anchors are: counted labels, what they have moved in Emb-MLP, and embeddings of the transformer."""
    (emb, step), (deep, _) = times["Emb-MLP early"], times["transformer late"]
    own = numbers.sampled_distributions("memory", dict(deep[0].spec.task)["rows"])
    mean = lambda matrix: float(numbers.off_diagonal(matrix).mean())
    whole = [mean(numbers.anchor_cosines(run, "memory", step)) for run in emb]
    moved = [mean(numbers.moved_cosines(run, step, "memory")) for run in emb]
    most = max(np.mean([mean(numbers.anchor_cosines(r, "memory", at)) for r in deep]) for at in deep[0].snapshots())
    counted = mean(cosines(own, own))
    mostly = 1 - np.mean(moved) < (1 - np.mean(whole)) / 2
    text = f"In Emb-MLP, early, memory anchors have a mean cosine of {spread(whole)}. " + (
        f"What keeps them from 1 is mostly their random start: what they have *moved* has {spread(moved)}. "
        if mostly
        else f"Their random start is not most of what keeps them from 1: what they have *moved* has {spread(moved)}. "
    )
    if most >= numbers.ALIKE:
        return text + f"In the transformer they are alike at some snapshot, too ({most:.2f}, mean over seeds)."
    text += f"In the transformer they are not alike at any snapshot (at most {most:.2f}, mean over seeds). "
    return (
        text
        + (
            "That the training set is finite does not explain this: the label distributions counted in it have "
            if counted >= numbers.ALIKE
            else "That the training set is finite may explain this: the label distributions counted in it have only "
        )
        + f"{counted:.2f}."
    )


def deviation_table(times: Mapping[str, tuple[Sequence[StoredRun], int]]) -> str:
    """How far measured cosines are from each theory, on average over pairs of anchors; first those of what has moved."""
    theories = numbers.theories()
    emb = times["Emb-MLP early"][0]
    first = min(emb[0].snapshots())
    found = {f"Emb-MLP, moved, {numbers.epoch_words(emb[0], first)}": [numbers.moved_cosines(run, first) for run in emb]}
    for name, (runs, step) in times.items():
        matrices = [numbers.anchor_cosines(run, "reasoning", step) for run in runs]
        found[f"{name}, {numbers.epoch_words(runs[0], step)}"] = matrices
    names = [f"${name}$" if "^" in name else name for name in theories]
    rows = [
        (name, *(spread([numbers.distance(m, t) for m in matrices]) for t in theories.values()))
        for name, matrices in found.items()
    ]
    return table(("mean distance of cosines from", *names), rows)


def order_line(runs: Sequence[StoredRun], step: int) -> str:
    """Numeric order in the plane of two components, by kind of anchor."""
    of = lambda kind: [numbers.order(anchors(r, step)[KINDS[kind]]) for r in runs]
    return "order in the plane, all seeds: " + ", ".join(f"{kind} anchors {spread(of(kind))}" for kind in KINDS)


def order_text(late: tuple[Sequence[StoredRun], int]) -> str:
    """Numeric order of anchors and keys, in all dimensions and in the plane that maps show."""
    runs, step = late
    rows = {kind: [anchors(r, step)[where] for r in runs] for kind, where in KINDS.items()}
    rows = {f"{kind} anchors": vectors for kind, vectors in rows.items()}
    rows["keys"] = [r.weights()["embedding.token"].numpy()[FIRST_KEY : LAST_KEY + 1] for r in runs if r.has_weights]
    rows = {name: vectors for name, vectors in rows.items() if vectors}
    said = "; ".join(
        f"{name} {spread([numerical_order(v) for v in vectors])} in all dimensions, "
        f"{spread([numbers.order(v) for v in vectors])} in the plane"
        for name, vectors in rows.items()
    )
    return f"Do they keep the order of numbers? Rank correlation of |i − j| with the distance of i and j, over seeds: {said}."


def theory_text() -> str:
    ahead, true, flat = numbers.labels_of_anchor()
    return (
        f"The labels of an anchor s have their mean at s + {ahead:.1f}, a standard deviation of {true:.1f}, and are flat over "
        f"{flat} values. Eq. 14 sits at s and has a width of √6 = {np.sqrt(6):.1f}. So neither its place nor its width is what "
        "Proposition 1 gives. A common shift changes no cosine; the width does. It is a **fitted shape**."
    )


def flow_line(models: Mapping[str, tuple[Sequence[StoredRun], bool]]) -> str:
    parts = []
    for name, (runs, exact) in models.items():
        found = np.array([numbers.flow_numbers(r, exact) for r in runs])
        parts.append(
            f"{name} up to step {found[:, 2].mean():.0f}: error {spread(found[:, 0])}, cosine {spread(found[:, 1], 3)}"
        )
    return "; ".join(parts)


def flow_text(models: Mapping[str, tuple[Sequence[StoredRun], bool]]) -> str:
    """Where the flow is right: at the best snapshot, and at the last before the loss has begun to fall."""
    lines = []
    for name, (runs, exact) in models.items():
        found = [numbers.flow_error(run, exact) for run in runs]
        low = {kind: [float(f.error[kind].mean(1).min()) for f in found] for kind in KINDS}
        end = np.array([numbers.flow_numbers(run, exact) for run in runs])
        lines.append(
            f"- **{name}**: the smallest relative error is {spread(low['reasoning'])} for reasoning and "
            f"{spread(low['memory'])} for memory anchors. At the last snapshot before the loss has fallen by "
            f"{numbers.FEW:.0%}, it is {spread(end[:, 0])}, with a cosine of {spread(end[:, 1], 3)}."
        )
    return "\n".join(lines)


def plane_text(runs: Sequence[StoredRun]) -> str:
    """Numeric order in the plane of the entire embedding, seed by seed."""
    found = [numbers.plane_orders(run) for run in runs if run.has_weights]
    if not found:
        return "No weights of these runs are kept, so that the entire embedding cannot be shown."
    rows = [(f"{kind}s", ", ".join(f"{orders[kind.split()[0]]:.2f}" for orders in found)) for kind in PLANE_KINDS]
    return table(("order in the plane of the entire embedding, of", "by seed"), rows)


PLANE_KINDS = ("reasoning anchor", "memory anchor", "key")


def spread_text(runs: Sequence[StoredRun], step: int) -> str:
    """Which σ_P of Theorem 1 fits the cosines of the trained reasoning anchors, and how well."""
    width, off = numbers.best_spread(runs, step)
    plotted = numbers.deviation(runs, step, numbers.theories()["Eq. 14"])
    return (
        f"The theorem leaves σ_P free. At the paper's √6 the mean distance of cosines is {spread(plotted)}; the one that fits "
        f"our runs best is {width:.2f}, and it leaves {spread(off)} (by seed {', '.join(f'{v:.2f}' for v in off)})."
    )


def verdict(times: Mapping[str, tuple[Sequence[StoredRun], int]]) -> str:
    """What embeddings come to at small initialization."""
    runs, step = times["transformer late"]
    lag = numbers.lag_cosines(runs, step).mean(0)
    memory = float(np.mean([numbers.off_diagonal(numbers.anchor_cosines(r, "memory", step)).mean() for r in runs]))
    ordered = bool((np.diff(lag) < 0).all())
    first = (
        f"Embeddings of reasoning anchors come to lie in the order of their numbers: the cosine falls from {lag[0]:z.2f} for "
        f"neighbours to {lag[-1]:z.2f} for the farthest."
        if ordered
        else "Embeddings of reasoning anchors do not come to lie in the order of their numbers."
    )
    alike = memory >= numbers.ALIKE
    second = (
        f"Memory anchors stay alike ({memory:.2f} on average)."
        if alike
        else f"Memory anchors do not stay alike in the transformer ({memory:.2f} on average)."
    )
    emb = times["Emb-MLP early"][0]
    theory = numbers.theories()["P^s"]
    off = np.mean([numbers.distance(numbers.moved_cosines(run, min(emb[0].snapshots())), theory) for run in emb])
    third = (
        "The first movement is the one that the distribution of labels drives"
        if off <= NEAR
        else "The first movement is not the one that the distribution of labels drives"
    )
    return f"{first} {second} {third} (mean distance of cosines {off:.2f})."


NEAR = 0.1
"""The mean distance of cosines up to which two sets of vectors lie alike."""
