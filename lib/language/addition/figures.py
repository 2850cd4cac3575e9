"""The figures of addition: what is held out, curves, and where in the square a model adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.colors
import matplotlib.patches
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lib.core.read import style
from lib.language.addition_task import Addition


def _colours(count: int) -> list[tuple[float, ...]]:
    """One for each start, dark for the largest."""
    return [style.GAMMA(x) for x in np.linspace(0.1, 0.9, count)]


def held_out(tasks: Mapping[str, Addition]) -> Figure:
    """The pairs (a, b): of training, grey, and held out, blue. A panel a split."""
    with style.look():
        fig, axes = plt.subplots(1, len(tasks), figsize=(style.WIDTH, 3.3), sharey=True)
        for ax, (title, task) in zip(axes, tasks.items(), strict=True):
            shown = np.zeros((task.numbers, task.numbers))
            a, b = task.test.numpy().T
            shown[a, b] = 1
            ax.imshow(shown, origin="lower", cmap=matplotlib.colors.ListedColormap([style.LIGHT, style.BLUE]))
            ax.set(title=title, xlabel="second number, b")
        axes[0].set_ylabel("first number, a")
        handles = [matplotlib.patches.Patch(color=c) for c in (style.LIGHT, style.BLUE)]
        fig.legend(handles, ("training", "held out"), loc="outside lower center", ncols=2)
    return fig


def along(panels: Mapping[str, Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]]]) -> Figure:
    """Shares of right sums along training: pairs of training (dashed) and held-out ones (solid); a panel a split, a colour a
    start. panels: {split: {arm: {"train" or "test": (steps (n,), shares (R, n))}}}; every arm is in the first panel."""
    names = list(next(iter(panels.values())))
    colours = dict(zip(names, _colours(len(names)), strict=True))
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 2.9), sharey=True)
        for ax, (title, arms) in zip(axes, panels.items(), strict=True):
            for name, curves in arms.items():
                for metric, dash in (("train", "--"), ("test", "-")):
                    steps, values = curves[metric]
                    label = name if metric == "test" else None
                    ax.plot(steps, values.mean(0), dash, color=colours[name], lw=1.5, label=label)
                    if metric == "test":
                        ax.fill_between(steps, values.min(0), values.max(0), color=colours[name], alpha=0.15, lw=0)
            ax.set(title=title, xlabel="step", ylim=(-0.03, 1.03))
            ax.xaxis.set_major_locator(MaxNLocator(4))
            ax.xaxis.set_major_formatter("{x:,.0f}")
        axes[0].set_ylabel("share of right sums")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(names))
    return fig


def by_distance(arms: Mapping[str, np.ndarray]) -> Figure:
    """Share of right sums by the distance of a pair from the edge of the square. arms: {name: (R, distances)}, from the largest
    start on; thin lines: runs, thick: their means, the last dashed so that what lies under it is seen."""
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 3.1))
        for (name, values), colour in zip(arms.items(), _colours(len(arms)), strict=True):
            x = np.arange(values.shape[1])
            ax.plot(x, values.T, color=colour, lw=0.9, alpha=0.7)
            ax.plot(x, values.mean(0), "--" if name == list(arms)[-1] else "-", color=colour, lw=2.8, label=name)
        ax.set(xlabel="distance from the edge of the square", ylabel="share of right sums", ylim=(-0.03, 1.03))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        fig.legend(loc="outside lower center", ncols=len(arms))
    return fig


def maps(runs: Mapping[str, np.ndarray], low: int) -> Figure:
    """Which pairs of the square are added right, a panel a run. runs: {name: (side, side)}, 1 where right; a up, b across."""
    wrong, right = style.LIGHT, style.GREEN
    with style.look():
        fig, axes = plt.subplots(1, len(runs), figsize=(style.WIDTH, 2.9), sharey=True, squeeze=False)
        for ax, (title, values) in zip(axes[0], runs.items(), strict=True):
            edge = low - 0.5, low + len(values) - 0.5
            colours = matplotlib.colors.ListedColormap([wrong, right])
            ax.imshow(values, origin="lower", vmin=0, vmax=1, cmap=colours, extent=(*edge, *edge))
            ax.set_title(title, fontsize=9)
            ax.set_xlabel("second number, b")
        axes[0, 0].set_ylabel("first number, a")
        handles = [matplotlib.patches.Patch(color=colour) for colour in (right, wrong)]
        fig.legend(handles, ("right", "wrong"), loc="outside lower center", ncols=2)
    return fig


def arms(found: Mapping[str, Sequence[float]], not_fitted: Sequence[str] = ()) -> Figure:
    """Share of right sums in the square at the end, arm by arm, a point a run; open where the pairs of training are not all
    learned."""
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 0.9 + 0.32 * len(found)))
        for row in range(len(found)):
            ax.axhline(row, color=style.LIGHT, lw=0.6, zorder=0)
        style.point_rows(ax, found, not_fitted)
        ax.set(xlabel="share of right sums in the square", xlim=(-0.03, 1.03))
    return fig
