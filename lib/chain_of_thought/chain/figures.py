"""Figures of chapter 15: prompts and matrices of examples that err, attention along training and in inference, errors against
examples, iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from lib.chain_of_thought.chain import metrics
from lib.chain_of_thought.chain.metrics import (
    BOUND,
    COMPARED,
    LEVEL,
    MIDDLE,
    STAGES,
    SYMBOLS,
    Curve,
    iterations,
)
from lib.chain_of_thought.task import D_X, GROUPS, OTHER_STEPS, Columns, Prompts
from lib.chain_of_thought.transitions import Transitions
from lib.core.read import style
from lib.core.read.measures import history
from lib.core.read.statistics import Trend
from lib.core.record.spec import SpecError
from lib.core.record.store import StoredRun

GROUP_LOOK = {
    "both": {"color": style.VERMILLION, "ls": "-"},
    "step only": {"color": style.BLUE, "ls": "--"},
    "same example": {"color": style.GREEN, "ls": ":"},
    "other example": {"color": style.GREY, "ls": "-."},
}
METHOD_LOOK = {
    "ends": {"color": style.VERMILLION, "marker": "o", "ls": "-"},
    "leap": {"color": style.BLUE, "marker": "s", "ls": "--"},
    "thought": {"color": style.VERMILLION, "marker": None, "ls": ":"},
}
FLOOR = 2e-4
"""Where axes of errors end: below it intervals are wider than the axis."""
NAMES = {"α": "matching examples, α", "K": "steps, K", "M": "patterns, M"}
"""What the symbols of Theorem 4 stand for."""
STAGE_LOOK = {"step": (style.BLUE, "s"), "pattern": (style.VERMILLION, "o"), "loss": (style.GREEN, "^")}


def prompts(panels: Mapping[str, tuple[Columns, Prompts]], patterns: int) -> Figure:
    """Prompts as the model reads them, (D, n) real arrays, one each: rows are coordinates, above the line those of the input
    with patterns and codes, below it those of the output. The last column is the query. `patterns`: how many were trained."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 4.0), sharey=True, squeeze=False)
        for ax, (title, (columns, chains)) in zip(axes[0], panels.items(), strict=True):
            matrix = columns.vectors(columns.kinds(chains)).numpy().T
            if matrix.ndim != 2:
                raise SpecError("draw one prompt at a time: index the chains with a number.")
            image = ax.imshow(matrix, cmap="Greys", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
            n, k = matrix.shape[1], columns.steps
            for boundary in range(k, n - k + 1, k):
                ax.axvline(boundary - 0.5, color="#BBBBBB", lw=0.6)
            ax.axvline(n - k - 0.5, color=style.VERMILLION, lw=1.4)
            ax.axhline(D_X - 0.5, color="#222222", lw=1)
            ax.axhspan(patterns - 0.5, patterns + k - 0.5, color=style.GREEN, alpha=0.18, lw=0)
            ax.set(title=title, xlabel="example, three columns each")
            ax.title.set_fontsize(9)
            ax.set_xticks(np.arange((k - 1) / 2, n, k), [*range(1, n // k), "query"])
            ax.tick_params(length=0)
        places = [patterns / 2, patterns + columns.steps / 2 - 0.5, D_X + patterns / 2]
        axes[0, 0].set_yticks(places, ["input:\npattern", "code of\nthe step", "output:\npattern"])
        fig.colorbar(image, ax=axes[0].tolist(), label="entry", fraction=0.03)
    return fig


def matrices(example: Transitions, kinds: Mapping[str, Transitions], narrow: bool = False) -> Figure:
    """Transition matrices: of a small example every step and B, their product; of other tasks the second step and B. Correct
    outputs are framed. `narrow`, for a phone: a task has a row of its own."""
    names = [f"$A_{k + 1}$" for k in range(example.steps)]
    top = {name: (a, a.argmax(-1)) for name, a in zip(names, example.matrices, strict=True)}
    rows = [top | {"$B$": (example.product, example.paths[:, -1])}]
    of_tasks = []
    for title, task in kinds.items():
        second = task.matrices[1]
        of_tasks.append({f"{title}\n$A_2$": (second, second.argmax(-1)), f"{title}\n$B$": (task.product, task.paths[:, -1])})
    rows += of_tasks if narrow else [{name: found for task in of_tasks for name, found in task.items()}]
    heights = (1.5, *(2.1 for _ in of_tasks)) if narrow else (2.05, 2.35)
    with style.look():
        fig = plt.figure(figsize=(style.NARROW if narrow else style.WIDTH, sum(heights)))
        parts: Any = fig.subfigures(len(rows), 1, height_ratios=heights)
        for part, found in zip(parts, rows, strict=True):
            for ax, (title, (matrix, right)) in zip(part.subplots(1, len(found)), found.items(), strict=True):
                ax.imshow(matrix.numpy(), cmap=style.FILL[style.BLUE], vmin=0, vmax=1)
                for row, column in enumerate(right.tolist()):
                    frame = Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, ec=style.VERMILLION, lw=1.3)
                    ax.add_patch(frame)
                ticks = range(0, len(matrix), 1 if len(matrix) < 4 else 3)
                ax.set_xticks(ticks, [str(t + 1) for t in ticks])
                ax.set_yticks(ticks, [str(t + 1) for t in ticks])
                if len(matrix) < 4:
                    style.write_values(ax, matrix.numpy(), size=8.5)
                ax.set_title(title, fontsize=8.5)
                ax.set_xlabel("to")
                style.bare(ax)
            part.axes[0].set_ylabel("from")
    return fig


def training(runs: Sequence[StoredRun]) -> Figure:
    """Fig. 20: mean attention to four groups of columns along training (left), those of other steps by their example, and the
    loss (right); bands: all seeds."""
    with style.look():
        fig, (left, right) = plt.subplots(1, 2, figsize=(style.WIDTH, 3.2), width_ratios=(1.7, 1))
        for name, look in GROUP_LOOK.items():
            style.band(left, *history(runs, name), 0.2, label=(GROUPS | OTHER_STEPS)[name], **look)
        style.band(right, *history(runs, "held out"), 0.2, color=style.DARK)
        left.set(xlabel="iteration", ylabel="mean attention", ylim=(-0.02, 1.02), xscale="log")
        fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        right.set(xlabel="iteration", ylabel="held-out loss, ½ ‖z − f‖²", xscale="log", yscale="log")
    return fig


def attended(weights: np.ndarray, same: np.ndarray, by_alpha: Mapping[float, np.ndarray]) -> Figure:
    """Left: where one trained model looks, (K, n), at each step of the correct path of one short test prompt; a row a step, a
    column a column of the prompt, dots where step and pattern are the query's, `same`. Right: mean attention to these by step,
    {α': (S, K)}."""
    steps = len(weights)
    examples = (weights.shape[1] + 1) // steps - 1
    with style.look():
        fig, (left, right) = plt.subplots(1, 2, figsize=(style.WIDTH, 2.8), width_ratios=(1.6, 1))
        image = left.imshow(weights, cmap="Greys", vmin=0, vmax=weights.max(), aspect="auto")
        rows, columns = np.nonzero(same)
        left.plot(columns, rows, "o", ms=4, mfc="none", mec=style.VERMILLION, mew=1.2)
        for boundary in range(steps, examples * steps + 1, steps):
            left.axvline(boundary - 0.5, color="#BBBBBB", lw=0.6)
        left.set_yticks(range(steps), range(1, steps + 1))
        middles = np.arange((steps - 1) / 2, examples * steps, steps)
        left.set_xticks([*middles, examples * steps + (steps - 2) / 2], [*range(1, examples + 1), "query"])
        left.tick_params(length=0)
        left.set(xlabel="example", ylabel="step of inference")
        fig.colorbar(image, ax=left, label="attention", location="top", aspect=40)
        for shift, (alpha, found) in enumerate(by_alpha.items()):
            where = np.arange(1, steps + 1) + 0.16 * (shift - (len(by_alpha) - 1) / 2)
            colour = style.GAMMA(shift / max(1, len(by_alpha) - 1))
            right.vlines(where, found.min(0), found.max(0), color=colour, lw=1)
            right.plot(where, found.mean(0), "o", ms=4, color=colour, label=f"α' = {alpha:g}")
        least = min(float(found.min()) for found in by_alpha.values())
        right.set(xlabel="step of inference", ylabel="attention there", ylim=(min(0.8, 0.9 * least), 1.005))
        right.set_title(f"{MIDDLE} examples", fontsize=9)
        right.set_xticks(range(1, steps + 1))
        fig.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=4, handletextpad=0.1, columnspacing=1)
    return fig


def _error(ax: Axes, found: Curve, label: str | None, **look: Any) -> None:
    """Mean and 95 % interval; points without any error stay away from the logarithmic axis."""
    low, high = found.interval
    seen = found.mean > 0
    look = {"ms": 3.5, "lw": 1.5} | look
    ax.plot(found.lengths[seen], found.mean[seen], label=label, **look)
    if look.get("marker"):
        style.between(ax, found.lengths[seen], np.maximum(low, FLOOR / 2)[seen], high[seen], look["color"], 0.2)


def _legend_below(ax: Axes, columns: int) -> None:
    """A panel's own legend, under its axis."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=columns, handlelength=1.6, columnspacing=1)


def errors(panels: Mapping[str, tuple[str, Mapping[float, Curve], Mapping[float, Curve]]]) -> Figure:
    """Figs. 17 and 18: the share of wrong steps against examples, {title: (symbol, curves of trained models, of the vote)}."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 3.5), sharey=True, squeeze=False)
        for ax, (title, (symbol, curves, votes)) in zip(axes[0], panels.items(), strict=True):
            for i, (value, found) in enumerate(sorted(curves.items())):
                colour = style.GAMMA(i / max(1, len(curves) - 1))
                _error(ax, found, f"{symbol} = {value:g}", color=colour, marker="osD^v"[i % 5])
                _error(ax, votes[value], None, color=colour, ls=":", lw=1)
            ax.set(title=title, xlabel="examples in the prompt", yscale="log", ylim=(FLOOR, 1))
            ax.set_yticks([10.0**-i for i in range(4)])
            _legend_below(ax, 2)
        axes[0, 0].set_ylabel("share of wrong steps")
    return fig


def comparison(panels: Mapping[str, Mapping[str, Curve]]) -> Figure:
    """Fig. 19: chain of thought against in-context learning, a panel for each kind of task."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 3.0), sharey=True, squeeze=False)
        for ax, (title, curves) in zip(axes[0], panels.items(), strict=True):
            for name, found in curves.items():
                _error(ax, found, COMPARED[name], **METHOD_LOOK[name])
            ax.set(title=title, xlabel="examples in the prompt", yscale="log", ylim=(5e-3, 1.1))
        axes[0, 0].set_ylabel("share of wrong answers")
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def needed(points: Sequence[tuple[float, float, float]], slope: Trend, spread: Mapping[int, tuple[Curve, Curve]]) -> Figure:
    """Left: examples until the error is LEVEL against 1 / (α'τρ)², with the fitted power and lines of slope 1, on which the
    theorem's law would lie for some constant. Right: errors for different numbers of competitors at the same τ, and the vote's
    (dotted)."""
    with style.look():
        fig, (left, right) = plt.subplots(1, 2, figsize=(style.WIDTH, 3.5))
        x, y = np.array([(a * t * metrics.gap(t)) ** -BOUND for a, t, _ in points]), np.array([n for *_, n in points])
        for i, tau in enumerate(taus := sorted({t for _, t, _ in points})):
            own = [t == tau for _, t, _ in points]
            colour = style.GAMMA(i / max(1, len(taus) - 1))
            left.plot(x[own], y[own], "osD^v"[i % 5], color=colour, ms=5, label=f"τ = {tau:g}")
        ends = np.array([x.min(), x.max()])
        middle = np.exp(np.log(x).mean()), np.exp(np.log(y).mean())
        left.plot(ends, middle[1] * (ends / middle[0]) ** (slope[0] / BOUND), color=style.DARK, lw=1.2, label="fitted power")
        for shift in (0.4, 1.0, 2.5):
            left.plot(ends, shift * middle[1] * ends / middle[0], color="#BBBBBB", lw=0.8, zorder=0)
        left.set(xscale="log", yscale="log", ylim=(0.6 * y.min(), 1.7 * y.max()))
        for axis, (low, high) in ((left.xaxis, ends), (left.yaxis, left.get_ylim())):
            ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if low <= t <= high]
            axis.set_ticks(ticks, [str(t) for t in ticks])
            axis.set_minor_locator(NullLocator())
        left.set(xlabel="1 / (α'τρ)²", ylabel=f"examples for an error of {LEVEL:g}")
        _legend_below(left, 3)
        for (competitors, (found, vote)), colour in zip(
            spread.items(), (style.VERMILLION, style.GREEN, style.DARK), strict=False
        ):
            _error(right, found, f"wrong steps to {competitors} pattern{'s' * (competitors > 1)}", color=colour, marker="o")
            _error(right, vote, None, color=colour, ls=":", lw=1)
        right.set(xlabel="examples in the prompt", ylabel="share of wrong steps", yscale="log", ylim=(FLOOR, 1))
        _legend_below(right, 1)
    return fig


def steps_to(variants: Mapping[str, Mapping[str, Mapping[float, Sequence[StoredRun]]]]) -> Figure:
    """Theorem 4: iterations until attention or loss is where it should be, against α, K and M (columns) for each variant
    (rows). A point a run, lines through means over seeds."""
    settings = next(iter(variants.values()))
    with style.look():
        size = (style.WIDTH, 0.9 + 2.2 * len(variants))
        fig, axes = plt.subplots(len(variants), len(settings), figsize=size, sharex="col", sharey=True, squeeze=False)
        for row, (variant, found) in zip(axes, variants.items(), strict=True):
            for ax, groups in zip(row, found.values(), strict=True):
                for stage, (colour, marker) in STAGE_LOOK.items():
                    points = np.array(iterations(groups, stage)).reshape(-1, 2)
                    ax.plot(*points.T, marker, ms=4, color=colour, alpha=0.6, mew=0)
                    got = {value: mean for value, mean in metrics.means(groups, stage).items() if mean is not None}
                    ax.plot(list(got), list(got.values()), color=colour, lw=1.2)
                    ax.plot([], [], color=colour, lw=1.2, marker=marker, ms=4, label=STAGES[stage])
                ax.set(xscale="log", yscale="log")
                ax.set_xticks(list(groups), [f"{v:g}" for v in groups])
                ax.xaxis.set_minor_locator(NullLocator())
            row[0].set_ylabel("iterations")
            if len(variants) > 1:
                row[0].set_title(variant.replace("W_V", "$W_V$"), fontsize=9)
        for ax, name in zip(axes[-1], settings, strict=True):
            ax.set_xlabel(NAMES.get(SYMBOLS[name], SYMBOLS[name]))
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(STAGES))
    return fig
