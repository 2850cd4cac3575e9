"""Arrays, lines, tables and sentences of chapter 10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.read.measures import cosines
from lib.core.read.statistics import numerical_order
from lib.core.read.tables import table
from lib.core.record.store import StoredRun
from lib.reasoning_bias import theory
from lib.reasoning_bias.embeddings import metrics
from lib.reasoning_bias.embeddings.metrics import NEAR, told, written
from lib.reasoning_bias.runs import KINDS, anchors
from lib.reasoning_bias.task import FIRST_KEY, LAST_KEY


def cosine_line(times: Mapping[str, tuple[Sequence[StoredRun], int]]) -> str:
    parts = []
    for name, (runs, step) in times.items():
        memory = [metrics.off_diagonal(metrics.anchor_cosines(r, "memory", step)).mean() for r in runs]
        lag = metrics.lag_cosines(runs, step)
        parts.append(f"{name}: memory {told(memory)}, reasoning {told(lag[:, 0])} at distance 1, {told(lag[:, -1])} at 9")
    return "; ".join(parts)


def memory_text(times: Mapping[str, tuple[Sequence[StoredRun], int]]) -> str:
    """How alike memory anchors are: counted labels, what they have moved in Emb-MLP, and embeddings of the transformer."""
    (emb, step), (deep, _) = times["Emb-MLP early"], times["transformer late"]
    own = metrics.sampled_distributions("memory", dict(deep[0].spec.task)["rows"])
    mean = lambda matrix: float(metrics.off_diagonal(matrix).mean())
    whole = [mean(metrics.anchor_cosines(run, "memory", step)) for run in emb]
    moved = [mean(metrics.moved_cosines(run, step, "memory")) for run in emb]
    most = max(metrics.memory_alike(deep).values())
    counted = mean(cosines(own, own))
    mostly = 1 - np.mean(moved) < (1 - np.mean(whole)) / 2
    text = f"In Emb-MLP, early, memory anchors have a mean cosine of {told(whole)}. " + (
        f"What keeps them from 1 is mostly their random start: what they have *moved* has {told(moved)}. "
        if mostly
        else f"Their random start is not most of what keeps them from 1: what they have *moved* has {told(moved)}. "
    )
    if most >= metrics.ALIKE:
        return (
            text + f"In the transformer they are alike at some snapshot, too ({most:.2f}, mean over seeds)." + plain_text(times)
        )
    text += f"In the transformer they are not alike at any snapshot (at most {most:.2f}, mean over seeds). "
    return (
        text
        + (
            "That the training set is finite does not explain this: the label distributions counted in it have "
            if counted >= metrics.ALIKE
            else "That the training set is finite may explain this: the label distributions counted in it have only "
        )
        + f"{counted:.2f}."
        + plain_text(times)
    )


def plain_text(times: Mapping[str, tuple[Sequence[StoredRun], int]]) -> str:
    """The same of the transformer without norms, where it is among the times."""
    if "no norms late" not in times:
        return ""
    runs, late = times["no norms late"]
    along = metrics.memory_alike(runs)
    top = max(along, key=lambda step: along[step])
    when = {step: metrics.epoch_words(runs[0], step) for step in (top, late)}
    if top == late:
        return f" Without norms they have {written(along[late])} at {when[late]}, the most of all."
    return f" Without norms they reach {written(along[top])} at {when[top]}, and have {written(along[late])} at {when[late]}."


def deviation_table(times: Mapping[str, tuple[Sequence[StoredRun], int]]) -> str:
    """How far measured cosines are from each theory, on average over pairs of anchors; first those of what has moved."""
    theories = metrics.theories()
    emb = times["Emb-MLP early"][0]
    first = min(emb[0].snapshots())
    found = {f"Emb-MLP, moved, {metrics.epoch_words(emb[0], first)}": [metrics.moved_cosines(run, first) for run in emb]}
    for name, (runs, step) in times.items():
        matrices = [metrics.anchor_cosines(run, "reasoning", step) for run in runs]
        found[f"{name}, {metrics.epoch_words(runs[0], step)}"] = matrices
    names = [f"${name}$" if "^" in name else name for name in theories]
    rows = [
        (name, *(told([metrics.distance(m, t) for m in matrices]) for t in theories.values()))
        for name, matrices in found.items()
    ]
    return table(("mean distance of cosines from", *names), rows)


def order_line(runs: Sequence[StoredRun], step: int) -> str:
    """Numeric order in the plane of two components of their own, by kind of anchor."""
    of = lambda kind: [metrics.order(anchors(r, step)[KINDS[kind]]) for r in runs]
    return "order in the plane, all seeds: " + ", ".join(f"{kind} anchors {told(of(kind))}" for kind in KINDS)


def order_text(late: tuple[Sequence[StoredRun], int]) -> str:
    """Numeric order of anchors and keys: in all dimensions, in a plane of their own, and in that of the entire embedding."""
    runs, step = late
    kept = [run for run in runs if run.has_weights]
    rows = {f"{kind} anchors": [anchors(r, step)[where] for r in runs] for kind, where in KINDS.items()}
    rows["keys"] = [r.weights()["embedding.token"].numpy()[FIRST_KEY : LAST_KEY + 1] for r in kept]
    rows = {name: vectors for name, vectors in rows.items() if vectors}
    whole = [metrics.plane_orders(run) for run in kept]
    cells, means = [], {}
    for name, vectors in rows.items():
        free, own = ([order(v) for v in vectors] for order in (numerical_order, metrics.order))
        entire = [orders[name.removesuffix("s").split()[0]] for orders in whole]
        means[name] = [float(np.mean(found)) for found in (free, own, entire) if found]
        cells.append((name, told(free), told(own), ", ".join(map(written, entire)) or "–"))
    words = {
        "keep the order of numbers": [name for name, found in means.items() if min(found) >= ORDERED],
        "do not": [name for name, found in means.items() if max(found) < LOOSE],
    }
    words["keep it loosely"] = [name for name in means if not any(name in names for names in words.values())]
    said = [f"{' and '.join(names)} {how}" for how, names in words.items() if names]
    said = ", ".join(said) if len(said) < 3 else f"{', '.join(said[:-1])}, and {said[-1]}"
    head = (
        "rank correlation of distances in number and in place",
        "all dimensions",
        "own plane",
        "plane of all tokens, by seed",
    )
    rule = f"To keep it takes a correlation of at least {ORDERED:g} in every column; below {LOOSE:g} there is no order."
    return f"In the transformer, late, {said}:\n\n{table(head, cells)}\n\n{rule}"


ORDERED, LOOSE = 0.75, 0.25
"""Rank correlations from which tokens are in numeric order, and below which they are not."""


def theory_text() -> str:
    ahead, true, flat = metrics.labels_of_anchor()
    return (
        f"The labels of an anchor s have their mean at s + {ahead:.1f}, a standard deviation of {true:.1f}, and are flat over "
        f"{flat} values. Eq. 14 sits at s and has a width of √6 = {theory.SPREAD:.2f}. So neither its place nor its width is "
        "what Proposition 1 gives. A common shift changes no cosine; the width does. It is a **fitted shape**."
    )


Cases = Mapping[str, tuple[Sequence[StoredRun], bool]]


def flow_line(models: Cases) -> str:
    parts = []
    for name, (runs, exact) in models.items():
        found = [metrics.compared(r, exact) for r in runs]
        both = np.array([metrics.flow_numbers(r, exact) for r in runs])
        parts.append(
            f"{name} at step {told([c.step for c in found], 0)}: error {told(both[:, 0])}, cosine {told(both[:, 1], 3)}"
        )
    return "; ".join(parts)


def flow_table(models: Cases) -> str:
    """Where flow and training are compared, and how far they are from each other there, by kind of anchor."""
    shown = [(what, kind) for what in ("error", "cosine") for kind in ("reasoning", "memory")]
    digits = {"error": 2, "cosine": 3}
    head = ("", *(f"{what}, {kind}" for what, kind in shown), "step", "loss fallen by", "embeddings moved by")
    rows = []
    for name, (runs, exact) in models.items():
        found = [metrics.compared(run, exact) for run in runs]
        cells = [told([getattr(c, what)[kind] for c in found], digits[what]) for what, kind in shown]
        fallen = 100 * float(np.mean([c.fallen for c in found]))
        moved = told([c.grown for c in found])
        rows.append((name, *cells, told([c.step for c in found], 0), f"{fallen:.1f} %", moved))
    return table(head, rows)


def flow_text(models: Cases) -> str:
    """Does the flow arrive where training does, where not and why, and where the runs end."""
    lines = []
    for name, (runs, exact) in models.items():
        found = [metrics.compared(run, exact) for run in runs]
        agree = [kind for kind in KINDS if all(c.agrees(kind) for c in found)]
        line = f"- **{name}**: "
        if len(agree) == len(KINDS):
            line += "the flow arrives where training arrives, for both kinds of anchors."
        else:
            line += (
                "the flow arrives elsewhere, for both kinds of anchors: "
                if not agree
                else f"the flow arrives where training arrives for {agree[0]} anchors, and elsewhere for the others: "
            )
            line += "; ".join(_off(kind, found) for kind in KINDS if kind not in agree) + "."
        lines.append(line)
    return "\n".join(lines) + "\n\n" + end_text(models)


def _off(kind: str, found: Sequence[metrics.Compared]) -> str:
    mean = lambda what: float(np.mean([getattr(c, what)[kind] for c in found]))
    error = f"{kind} anchors go {mean('length'):.1f} times as far as in training, with a cosine of {written(mean('cosine'))}"
    return f"{error} (error {mean('error'):.2f})"


def end_text(models: Cases) -> str:
    """Which runs end before the loss has fallen enough, so that their end is what is compared."""
    short: dict[tuple[str, ...], list[str]] = {}
    for name, (runs, exact) in models.items():
        found = [metrics.compared(run, exact) for run in runs]
        if all(c.ended for c in found):
            fallen = 100 * float(np.mean([c.fallen for c in found]))
            where = (f"step {max(c.step for c in found):,}", f"{fallen:.1f} %", told([c.grown for c in found]))
            short.setdefault(where, []).append(name)
    said = [
        f"The runs of {_both(names)} end at {step}, before that: the loss has fallen by {fallen}, and embeddings have moved "
        f"by {moved} of their size. What is compared there is the very beginning."
        for (step, fallen, moved), names in short.items()
    ]
    rule = f"All are compared at the last snapshot before the loss has fallen by {100 * metrics.FEW:g} %."
    return " ".join([rule, *said])


def _both(names: Sequence[str]) -> str:
    quoted = [f"“{name}”" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def batch_text(large: tuple[Sequence[StoredRun], bool], small: tuple[Sequence[StoredRun], bool]) -> str:
    """What ten times the batch changes in the error, at the last step that both are compared at or before."""
    shares, step = metrics.error_left(large, small)
    halved = [kind for kind, share in shares.items() if share <= HALVED]
    left = ", ".join(f"{share:.0%} of that of {kind} anchors" for kind, share in shares.items())
    first = f"At the same step ({step:,}), ten times the batch "
    if len(halved) == len(shares):
        return f"{first}at least halves both errors (it leaves {left}): with the smaller batch they were mostly noise."
    if halved:
        other = next(kind for kind in shares if kind not in halved)
        return (
            f"{first}at least halves the error of {halved[0]} anchors, which was mostly noise, and not that of {other} anchors "
            f"(it leaves {left})."
        )
    if min(shares.values()) < 1:
        return f"{first}halves neither error (it leaves {left}): noise is not most of them."
    return f"{first}does not lower the errors (it leaves {left}): they are not noise."


HALVED = 0.5
"""The share of an error that larger batches leave at most where noise was most of it."""


def spread_text(runs: Sequence[StoredRun], step: int) -> str:
    """Which σ_P of Theorem 1 fits the cosines of the trained reasoning anchors, and how well."""
    width, off = metrics.best_spread(runs, step)
    plotted = metrics.deviation(runs, step, metrics.theories()["Eq. 14"])
    return (
        f"At the paper's σ_P = √6 = {theory.SPREAD:.2f} the mean distance of cosines is {told(plotted)}; the σ_P that fits "
        f"our runs best is {width:.2f}, and it leaves {told(off)} (by seed {', '.join(f'{v:.2f}' for v in off)})."
    )


Times = Mapping[str, tuple[Sequence[StoredRun], int]]


def answer(times: Times, cases: Cases) -> str:
    """In two sentences: do embeddings lie as the theory has it, and does it say what moves them?"""
    runs, step = times["transformer late"]
    ordered = _ordered(runs, step)
    along = metrics.memory_alike(runs)
    memory = (
        "are alike in the trained transformer"
        if along[step] >= metrics.ALIKE
        else "do not stay alike in the trained transformer"
        if max(along.values()) >= metrics.ALIKE
        else "never become alike in the trained transformer"
    )
    said = "come" if ordered else "do not come"
    joint = "and" if ordered == (along[step] >= metrics.ALIKE) else "but"
    first = (
        f"At small initialization the embeddings of reasoning anchors {said} to lie in the order of their numbers, {joint} "
        f"those of memory anchors {memory}."
    )
    moves = _first_off(times) <= NEAR
    agree = _agree(cases)
    printed, ours = (len(agree[name]) == len(KINDS) for name in LAYER)
    drives = f"The distribution of labels {'drives' if moves else 'does not drive'} the first movement in Emb-MLP"
    layer = (
        "holds"
        if printed
        else "fails as printed; with our correction it holds"
        if ours
        else f"fails as printed; with our correction it holds for {agree[LAYER[1]][0]} anchors alone"
        if agree[LAYER[1]]
        else "fails, with our correction too"
    )
    return f"{first} {drives}. For a transformer of one layer the theory's formula {layer}."


def _ordered(runs: Sequence[StoredRun], step: int) -> bool:
    """Does the mean cosine of reasoning anchors fall at every step of their distance?"""
    return bool((np.diff(metrics.lag_cosines(runs, step).mean(0)) < 0).all())


def verdict(times: Times, cases: Cases) -> str:
    """The numbers behind the answer: how embeddings lie, what moves them first, and which shape fits."""
    runs, step = times["transformer late"]
    lag = metrics.lag_cosines(runs, step).mean(0)
    falls = "falls" if _ordered(runs, step) else "does not fall at every step"
    first = (
        f"In the transformer the cosine of reasoning anchors {falls} with their distance, from {written(lag[0])} for "
        f"neighbours to {written(lag[-1])} for the farthest."
    )
    along = metrics.memory_alike(runs)
    memory, most = along[step], max(along.values())
    if memory >= metrics.ALIKE:
        second = f"In the transformer they have a mean cosine of {written(memory)} late."
    elif most >= metrics.ALIKE:
        second = f"In the transformer they reach a mean cosine of {written(most)}, and have {written(memory)} late."
    else:
        second = f"In the transformer they have a mean cosine of at most {written(most)}."
    second += plain_text(times)
    parts = {"Order": first, "Memory anchors": second, "First movement": first_movement(times, cases)}
    parts["Shape"] = shape_text(runs, step)
    return "\n".join(f"- **{name}.** {said}" for name, said in parts.items())


def _first_off(times: Times) -> float:
    """The mean distance of cosines of what Emb-MLP has moved first from those of the distributions of labels."""
    emb = times["Emb-MLP early"][0]
    exact = metrics.theories()["P^s"]
    return float(np.mean([metrics.distance(metrics.moved_cosines(run, min(emb[0].snapshots())), exact) for run in emb]))


def _compared(cases: Cases) -> dict[str, list[metrics.Compared]]:
    return {name: [metrics.compared(run, cases[name][1]) for run in cases[name][0]] for name in LAYER}


def _agree(cases: Cases) -> dict[str, list[str]]:
    """{formula of one layer: the kinds of anchors for which the flow arrives where training does in every seed}."""
    return {name: [kind for kind in KINDS if all(c.agrees(kind) for c in found)] for name, found in _compared(cases).items()}


def first_movement(times: Times, cases: Cases) -> str:
    """Whether embeddings set out as the distribution of labels drives them: in Emb-MLP, and in one layer."""
    off = _first_off(times)
    not_ = "" if off <= NEAR else "not "
    first = f"In Emb-MLP it is {not_}the one that the distribution of labels drives (mean distance of cosines {off:.2f})."
    found, agree = _compared(cases), _agree(cases)
    error = lambda name, kind: f"{np.mean([c.error[kind] for c in found[name]]):.2f}"
    said = {name: " and ".join(f"{error(name, kind)} for {kind} anchors" for kind in KINDS) for name in LAYER}
    printed, ours = LAYER
    if len(agree[printed]) == len(KINDS):
        return f"{first} For a transformer of one layer the formula holds, too (relative errors {said[printed]})."
    corrected = (
        "with our correction it does"
        if len(agree[ours]) == len(KINDS)
        else f"with our correction it does for {agree[ours][0]} anchors alone"
        if agree[ours]
        else "nor does it with our correction"
    )
    return (
        f"{first} For a transformer of one layer the formula does not hold (relative errors {said[printed]}), {corrected} "
        f"({said[ours]})."
    )


LAYER = (metrics.AS_PRINTED, metrics.BY_POSITIONS)


def shape_text(runs: Sequence[StoredRun], step: int) -> str:
    """How near the shape of Theorem 1 comes to the trained transformer, in how many seeds near enough."""
    width, off = metrics.best_spread(runs, step)
    near = int((off <= NEAR).sum())
    seeds = "every seed" if near == len(off) else "no seed" if not near else f"{near} of {len(off)} seeds"
    return (
        f"Theorem 1's shape, with the width that fits best ({width:.2f}), has the cosines of the trained transformer to "
        f"{NEAR:g} in {seeds} (mean distance {told(off)})."
    )
