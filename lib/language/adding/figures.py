"""The figures of addition: what is held out, curves, and where in the square a model adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from lib.core.read import style
from lib.language.addition import Addition

LOOK = (
    {"color": style.BLUE, "marker": "s"},
    {"color": style.VERMILLION, "marker": "o"},
)
"""Of the large start and of the small one."""


def held_out(tasks: Mapping[str, Addition]) -> Figure:
    """The pairs (a, b): of training, grey, and held out, blue. A panel a split."""
    with style.look():
        fig, axes = plt.subplots(1, len(tasks), figsize=(style.WIDTH * 0.75, 3.0), sharey=True)
        for ax, (title, task) in zip(axes, tasks.items(), strict=True):
            shown = np.zeros((task.numbers, task.numbers))
            a, b = task.test.numpy().T
            shown[a, b] = 1
            ax.imshow(shown, origin="lower", cmap=plt.matplotlib.colors.ListedColormap([style.LIGHT, style.BLUE]))
            ax.set(title=title, xlabel="b")
        axes[0].set_ylabel("a")
    return fig


def along(panels: Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]]) -> Figure:
    """Shares of right sums along training: pairs of training (dashed) and held-out ones (solid); a panel a split, a colour an
    arm. panels: {split: {"arm, train" or "arm, test": (steps (n,), shares (R, n))}} with arms in the order of LOOK."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 2.8), sharey=True)
        for ax, (title, curves) in zip(axes, panels.items(), strict=True):
            for i, (name, (steps, values)) in enumerate(curves.items()):
                colour, dash = LOOK[i // 2]["color"], "-" if i % 2 else "--"
                ax.plot(steps, values.mean(0), dash, color=colour, lw=1.6, label=name)
                ax.fill_between(steps, values.min(0), values.max(0), color=colour, alpha=0.15, lw=0)
            ax.set(title=title, xlabel="step", ylim=(-0.03, 1.03))
        axes[0].set_ylabel("share of right sums")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def by_distance(arms: Mapping[str, np.ndarray]) -> Figure:
    """Share of right sums by the distance of a pair from the edge of the square. arms: {name: (R, distances)}, in the order of
    LOOK; thin lines: runs."""
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH * 0.7, 2.9))
        for (name, values), look in zip(arms.items(), LOOK, strict=True):
            x = np.arange(values.shape[1])
            ax.plot(x, values.T, color=look["color"], lw=0.6, alpha=0.5)
            ax.plot(x, values.mean(0), ms=4, label=name, **look)
        ax.set(
            xlabel="distance from the edge of the square (steps of a or b)", ylabel="share of right sums", ylim=(-0.03, 1.03)
        )
        ax.legend()
    return fig


def maps(arms: Mapping[str, np.ndarray], low: int) -> Figure:
    """The share of runs that answer a pair of the square right. arms: {name: (side, side)}, a up and b across."""
    with style.look():
        fig, axes = plt.subplots(1, len(arms), figsize=(style.WIDTH * 0.85, 3.2), sharey=True)
        for ax, (title, values) in zip(axes, arms.items(), strict=True):
            edge = low - 0.5, low + len(values) - 0.5
            image = ax.imshow(values, origin="lower", vmin=0, vmax=1, cmap=style.FILL[style.GREEN], extent=(*edge, *edge))
            ax.set(title=title, xlabel="b")
        axes[0].set_ylabel("a")
        fig.colorbar(image, ax=axes, label="share of runs that are right", shrink=0.8)
    return fig


def arms(found: Mapping[str, Sequence[float]], not_fitted: Sequence[str] = ()) -> Figure:
    """Share of right sums in the square at the end, arm by arm, a point a run; open where the pairs of training are not all
    learned."""
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH * 0.75, 0.9 + 0.34 * len(found)))
        for row, (name, values) in enumerate(found.items()):
            face = "white" if name in not_fitted else style.GREEN
            ax.plot(values, [row] * len(values), "o", ms=6, mec=style.GREEN, mfc=face, alpha=0.8)
        ax.set_yticks(range(len(found)), list(found))
        ax.invert_yaxis()
        ax.set(xlabel="share of right sums in the square", xlim=(-0.03, 1.03))
    return fig
