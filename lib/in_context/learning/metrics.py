"""What chapter 12 asks of its runs: a prompt, trained matrices, neurons along training, gradients."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lib.core.read.fact import Fact, in_words
from lib.core.read.measures import history
from lib.core.record.store import StoredRun
from lib.in_context import starts, theory
from lib.in_context.runs import (
    LEVEL,
    LUCKY,
    N_FRESH,
    activity,
    ask,
    fresh,
    large_rows,
    last_neurons,
    lucky,
    neurons_at,
    positive,
    row_norms,
    row_size,
    shape_of,
    small,
    snapshots,
    start_attention,
    start_neurons,
    start_values,
    steps_to,
    task_of,
    trained,
    untrained,
)
from lib.in_context.study import N_TEST
from lib.in_context.task import D_X, Task

PAPER_ATTENTION = 0.98
"""Fig. 9, read off the plot: attention on the query's pattern, by epoch 120."""
PRUNED = 0.4
"""The share of neurons that the picture of matrices leaves out (Fig. 6)."""


# --- What the model reads ---


@dataclass(frozen=True)
class ShownPrompt:
    """One prompt: `matrix` (rows, l + 1) of the rows that hold something, whether an example has the query's pattern (l,), and
    the query's attention (l,) by the model's name."""

    task: Task
    matrix: np.ndarray
    same: np.ndarray
    attention: Mapping[str, np.ndarray]


def shown_rows(task: Task) -> list[int]:
    """The rows of a column that hold something: the feature half and q."""
    return [*range(task.m1 + task.m2), D_X]


def shown_prompt(run: StoredRun) -> ShownPrompt:
    """A fresh prompt of an unseen task, and the attention of the run's model before and after training."""
    task = task_of(run)
    drawn = fresh(task, run.spec.seed, 1)
    models = {"at the start": untrained(run), "trained": trained(run)}
    return ShownPrompt(
        task,
        drawn.prompt[0][:, shown_rows(task)].numpy().T,
        drawn.same[0].numpy(),
        {name: model.query_attention(drawn.prompt[None])[0][0, 0].numpy() for name, model in models.items()},
    )


@dataclass(frozen=True)
class Matrices:
    """Trained matrices, of the rows that hold something: `compare` (rows, rows) W_Kᵀ W_Q, `read` (m, rows) W_O W_V, neurons
    with positive a first and each half by falling norm of W_O; `kept` (m,) which of these stay when the smallest share
    of W_O is pruned."""

    task: Task
    compare: np.ndarray
    read: np.ndarray
    kept: np.ndarray


def matrices(run: StoredRun, rate: float = PRUNED) -> Matrices:
    task, model = task_of(run), trained(run)
    rows, norms, layer = shown_rows(task), row_norms(model), model.layers[0]
    order = np.lexsort((-norms, -model.a.numpy()))
    compare = (layer.attention.W_K.weight[0].T @ layer.attention.W_Q.weight[0])[rows][:, rows].numpy()
    read = (layer.W_O.weight[0] @ layer.W_V.weight[0])[:, rows].numpy()
    return Matrices(task, compare, read[order], (norms >= np.quantile(norms, rate))[order])


# --- Neurons ---


def neurons_along(run: StoredRun, steps: Sequence[int]) -> dict[int, dict[str, np.ndarray]]:
    """{step: neurons, as runs.neurons_at has them}."""
    return {step: neurons_at(run, step) for step in steps}


def label_angles(run: StoredRun) -> tuple[float, float]:
    """Mean angle to q of the large neurons with a > 0 and with a < 0, in units of π."""
    big = large_rows(run)
    found = last_neurons(run)["label angle"]
    return float(found[big & positive(run)].mean()), float(found[big & ~positive(run)].mean())


def shares_large(run: StoredRun, chosen: np.ndarray) -> tuple[float, float]:
    """Which share of the neurons `chosen` (m,), and of the others, ends large; NaN for an empty group."""
    big = large_rows(run)
    share = lambda mask: float(big[mask].mean()) if mask.any() else float("nan")
    return share(chosen), share(~chosen)


def luck_shares(run: StoredRun) -> tuple[float, float]:
    """Those of the lucky neurons and of the others."""
    return shares_large(run, lucky(run))


def mean_shares(runs: Sequence[StoredRun], chosen: Sequence[np.ndarray]) -> tuple[float, float]:
    """The mean of `shares_large` over the runs that have both groups."""
    found = [shares_large(run, mask) for run, mask in zip(runs, chosen, strict=True) if 0 < mask.sum() < len(mask)]
    return (float(np.mean([a for a, _ in found])), float(np.mean([b for _, b in found]))) if found else (math.nan, math.nan)


@dataclass(frozen=True)
class Growth:
    """Norms of the rows of W_O W_V of one group of neurons: the mean at each of `steps` (R, n), and all trained ones (N,)."""

    steps: tuple[int, ...]
    means: np.ndarray
    trained: np.ndarray


def growth_by_luck(runs: Sequence[StoredRun]) -> dict[str, Growth]:
    """Of the lucky neurons and of the others."""
    steps = tuple(sorted(snapshots(runs[0])))
    found = {}
    for name, chosen in (("lucky", True), ("others", False)):
        masks = [lucky(run) == chosen for run in runs]
        sizes = [[row_size(neurons_at(run, step))[mask] for step in steps] for run, mask in zip(runs, masks, strict=True)]
        means = np.array([[size.mean() for size in of_run] for of_run in sizes])
        found[name] = Growth(steps, means, np.concatenate([of_run[-1] for of_run in sizes]))
    return found


# --- Gradients ---


def gradient_gap(run: StoredRun, query_too: bool) -> float:
    """The largest deviation of a slide's gradient from automatic differentiation, over the largest entry of that gradient,
    before and after training; in double precision."""
    gaps = []
    drawn = fresh(task_of(run), run.spec.seed, 100)
    prompts, z = drawn.prompt.double(), drawn.answer.double()
    for model in (untrained(run), trained(run)):
        model = copy.deepcopy(model).double().requires_grad_(True)
        layer = model.layers[0]
        context = prompts if query_too else prompts[:, :-1]
        margin = layer(context[None], prompts[None, :, -1:])[0, :, 0] @ model.a
        (1 - z * margin).clamp(min=0).mean().backward()
        told = theory.gradients(theory.arrays(model), prompts.numpy(), z.numpy(), query_too)
        parts = {"W_O": layer.W_O, "W_V": layer.W_V, "W_K": layer.attention.W_K, "W_Q": layer.attention.W_Q}
        for name, part in parts.items():
            assert part.weight.grad is not None
            grad = part.weight.grad[0].numpy()
            gaps.append(np.abs(told[name] - grad).max() / max(np.abs(grad).max(), 1e-12))
    return float(max(gaps))


def half_way(run: StoredRun) -> int:
    """How many evaluations there are until attention on the query's pattern is half way from its start to its end."""
    values = np.array(run.history["attention.1"], dtype=float)
    return int(np.argmax(values >= (start_attention(run)[0] + values[-1]) / 2)) + 1


def push_until_half_way(run: StoredRun) -> float:
    """The mean over these evaluations of the cosine of the push on W_Q p_query with the query's pattern."""
    return float(np.mean(np.array(run.history["push"], dtype=float)[: half_way(run)]))


# --- The text ---

MOVED = 0.5
"""Attention is at its half where it passes this; what neurons read by then is asked at the last snapshot before it."""


def before_attention(runs: Sequence[StoredRun]) -> int | None:
    """The last snapshot at which attention on the query's pattern is below MOVED in every seed; None where there is none."""
    steps, attention = history(runs, "attention.1")
    kept = [s for s in sorted(snapshots(runs[0])) if (attention[:, np.searchsorted(steps, s)] < MOVED).all()]
    return kept[-1] if kept else None


@dataclass(frozen=True)
class Grown:
    """How a length has grown by some step: how many times it is as long as before training, and which share that is of its way
    to the last length."""

    times: float
    way: float

    @staticmethod
    def of(first: np.ndarray, then: np.ndarray, last: np.ndarray) -> Grown:
        """Of means over seeds, (R,) each."""
        a, b, c = (float(np.mean(values)) for values in (first, then, last))
        return Grown(b / a, (b - a) / (c - a))


def grown(runs: Sequence[StoredRun], step: int) -> tuple[Grown, Grown]:
    """At a snapshot: label halves of the neurons that end large, and W_Q p_query."""
    label = lambda rows, run: rows["label norm"][large_rows(run)].mean()
    steps, query = history(runs, "query norm")
    halves = [
        np.array([label(rows(run), run) for run in runs])
        for rows in (start_neurons, lambda r: neurons_at(r, step), last_neurons)
    ]
    first = np.array([start_values(run)["query norm"] for run in runs])
    return Grown.of(*halves), Grown.of(first, query[:, np.searchsorted(steps, step)], query[:, -1])


def reversed_tasks(task: Task) -> int:
    """How many of the unseen tasks are trained ones with their labels exchanged."""
    trained_pairs = set(map(tuple, task.pairs.tolist()))
    return sum((b, a) in trained_pairs for a, b in task.unseen.tolist())


def facts(runs: Sequence[StoredRun]) -> dict[str, Fact]:
    """What the text of chapter 12 says of its main runs."""
    seeds = f"{len(runs)} seeds"
    steps, attention = history(runs, "attention.1")
    learned = [s for run in runs if (s := steps_to(run)) is not None]
    span = (min(learned), max(learned)) if learned else None
    wrong = [round((1 - run.metrics["unseen"]) * N_TEST) for run in runs]
    along, first = [push_until_half_way(run) for run in runs], [float(start_values(run)["push"]) for run in runs]
    soon = [float(run.history["push"][0]) for run in runs]
    luck, other = ([lucky(run, own=own) for run in runs] for own in (True, False))
    of_luck, of_other = mean_shares(runs, luck), mean_shares(runs, other)
    by_sign = mean_shares(runs, [np.greater(*activity(run)) for run in runs])
    agree = float(np.mean(np.equal(luck, other)))
    up, down = np.mean([label_angles(run) for run in runs], 0)
    end = [last_neurons(run) for run in runs]
    big = [large_rows(run) for run in runs]
    feature = float(np.mean([rows["feature angle"][mask].mean() for rows, mask in zip(end, big, strict=True)]))
    step = before_attention(runs)
    at = float(attention[:, np.searchsorted(steps, step)].mean()) if step is not None else None
    turned = [neurons_at(run, step)["label angle"] for run in runs] if step is not None else []
    side = lambda sign: (
        None
        if step is None
        else float(np.mean([a[b & (positive(r) == sign)].mean() for a, b, r in zip(turned, big, runs, strict=True)]))
    )
    half, query = grown(runs, step) if step is not None else (None, None)
    times = lambda part: None if part is None else part.times
    way = lambda part: None if part is None else part.way
    task = task_of(runs[0])
    asked = [float(ask(trained(run), fresh(task_of(run), run.spec.seed)).attention.mean()) for run in runs]
    spread_of = lambda values: (float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)
    return {
        "asked": Fact(N_TEST, "{:,}", "prompts of tasks that are not trained, the same for all seeds"),
        "wrong": Fact(in_words(max(wrong)), "{}", f"wrong signs among these in the worst of {seeds}"),
        "steps": Fact(span, "{} and {}", f"steps to a hinge loss of {LEVEL:g}, {seeds}"),
        "attention": Fact(float(attention[:, -1].mean()), "{:.2f}", f"attention to the query's pattern at the end, {seeds}"),
        "seeds": Fact(in_words(len(runs)), "{}", "seeds of the main runs"),
        "below": Fact(
            in_words(sum(value < PAPER_ATTENTION for value in asked)),
            "{}",
            f"seeds with less than {PAPER_ATTENTION:g} on {N_FRESH:,} fresh prompts of unseen tasks each",
        ),
        "short": Fact(max(0.0, PAPER_ATTENTION - min(asked)), "{:.3f}", f"by how much the lowest of {seeds} misses it there"),
        "first-step": Fact(in_words(int(steps[0])), "{}", "steps to the first evaluation"),
        "soon-push": Fact(float(np.mean(soon)), "{:.2f}", f"cosine of the push there, mean over {seeds}"),
        "soon-push-low": Fact(min(soon), "{:.2f}", f"the same in the lowest of {seeds}"),
        "first-push": Fact(spread_of(first), "{:.2f} ± {:.2f}", f"cosine of the push before the first step, {seeds}"),
        "push": Fact(spread_of(along), "{:.2f} ± {:.2f}", f"cosine of the push until attention is half way, {seeds}"),
        "large": Fact(float(np.mean([mask.mean() for mask in big])), "{:.0%}", f"neurons with a large row of W_O W_V, {seeds}"),
        "feature": Fact(feature, "{:.2f} π", "angle of feature halves of large neurons to the mean pattern, at the end"),
        "label-up": Fact(float(up), "{:.2f} π", "angle of label halves of large neurons to q, a > 0, at the end"),
        "label-down": Fact(float(down), "{:.2f} π", "the same, a < 0"),
        "order-step": Fact(step, "{}", f"the last snapshot with attention below {MOVED:g} in every seed"),
        "order-attention": Fact(at, "{:.2f}", f"attention on the query's pattern there, {seeds}"),
        "start-attention": Fact(float(attention[:, 0].mean()), "{:.2f}", f"the same at step {steps[0]}"),
        "order-up": Fact(side(True), "{:.2f} π", "angle of label halves to q there, neurons that end large, a > 0"),
        "order-down": Fact(side(False), "{:.2f} π", "the same, a < 0"),
        "order-half-times": Fact(
            times(half), "{:.1f}", f"norm of their label halves there, over that before training, {seeds}"
        ),
        "order-half-way": Fact(way(half), "{:.1%}", "the same, as a share of the way to the norm at the end"),
        "order-query-times": Fact(times(query), "{:.1f}", f"norm of W_Q p_query there, over that before training, {seeds}"),
        "order-query-way": Fact(way(query), "{:.1%}", "the same, as a share of the way to the norm at the end"),
        "lucky-large": Fact(of_luck[0], "{:.0%}", f"lucky neurons that end large, {seeds}"),
        "others-large": Fact(of_luck[1], "{:.0%}", f"other neurons that end large, {seeds}"),
        "other-sign-large": Fact(
            of_other[0], "{:.0%}", f"of neurons active on {LUCKY:.0%} of the other sign's prompts, {seeds}"
        ),
        "other-sign-rest": Fact(of_other[1], "{:.0%}", f"of the others than these, {seeds}"),
        "same-group": Fact(agree, "{:.0%}", f"neurons that both ways of sorting put alike, {seeds}"),
        "own-more": Fact(by_sign[0], "{:.0%}", f"large of neurons active more often on their own sign's prompts, {seeds}"),
        "own-less": Fact(by_sign[1], "{:.0%}", f"of the others than these, {seeds}"),
        "trained-tasks": Fact(len(task.pairs), "{}", "tasks that are trained"),
        "tasks": Fact(len(task.pairs) + len(task.unseen), "{}", "tasks: ordered pairs of relevant patterns"),
        "reversed": Fact(
            (reversed_tasks(task), len(task.unseen)), "{} of {}", "unseen tasks that are trained ones with labels exchanged"
        ),
        "neurons": Fact(shape_of(runs[0]).neurons, "{}", "neurons of the layer"),
    }


def norm_rows(runs: Sequence[StoredRun]) -> list[tuple[str, str, str]]:
    """(what, the talk's range, mean ± standard deviation here) of the norms that the talk prints."""
    maths = lambda name: name.replace("W_O W_V", "$W_O W_V$") if "W_V" in name else name.replace("W_O", "$W_O$")
    return [
        (maths(q.name), f"{q.low:g} to {q.high:g}", small([starts.measured(run)[q.name] for run in runs], 3))
        for q in starts.TALK
    ]


def trial_rows(found: Mapping[tuple[int, float], Sequence[StoredRun]]) -> list[tuple[str, str, str]]:
    """(neurons m, size of a, distance to the talk's norms) of each trial of the start."""
    return [(str(m), f"{total:g} / {m}", small([starts.distance(run) for run in runs])) for (m, total), runs in found.items()]
