"""The figures of rate, decay and data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from lib.composition import palette
from lib.core.read import style

Cell = Sequence[tuple[float, bool]]
"""The runs of a cell: the share of an answer, and whether the run has learned."""


def shares_grid(
    panels: Mapping[str, Mapping[tuple[float, float], Cell]],
    rows: Sequence,
    columns: Sequence,
    ylabel: str,
    xlabel: str,
    leans: Mapping[tuple[float, float], float] | None = None,
) -> Figure:
    """Shares of an answer over a grid of two settings, a stripe a run, those of a cell in rising order; crossed where the run
    has not learned. panels: {"symmetric", …: {(row, column): its runs}}, side by side. leans: {(row, column):
    its mean lean}; a line is drawn between neighbours that lean to different answers."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 1.35 + 0.42 * len(rows)), sharey=True, squeeze=False)
        for ax, (name, cells) in zip(axes[0], panels.items(), strict=True):
            for (row, column), runs in cells.items():
                _stripes(ax, rows.index(row), columns.index(column), sorted(runs), palette.FILL[name])
            _boundary(ax, [[(leans or {}).get((row, column)) for column in columns] for row in rows])
            ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(-0.5, len(rows) - 0.5), xlabel=xlabel)
            names = [f"{c:g}" for c in columns]
            ax.set_xticks(range(len(columns)), names, rotation=30 if max(map(len, names)) > 4 else 0)
            ax.set_yticks(range(len(rows)), [f"{r:g}" for r in rows])
            ax.set_title(palette.LABEL[name], fontsize=8.5)
            style.bare(ax)
            scale = ScalarMappable(Normalize(0, 1), palette.FILL[name])
            fig.colorbar(scale, ax=ax, label="share of answers to (4, 3)" if ax is axes[0, -1] else "", aspect=15)
        axes[0, 0].set_ylabel(ylabel)
        crossed = Line2D([], [], ls="", marker="x", ms=5, color="#444444", label="not learned")
        line = Line2D([], [], color=BOUNDARY, lw=2, label="boundary: the mean leans to the other answer beyond it")
        fig.legend(handles=[crossed, line] if leans else [crossed], loc="outside lower center", ncols=2)
    return fig


BOUNDARY = "black"


def _boundary(ax: Axes, leans: Sequence[Sequence[float | None]]) -> None:
    """Lines between neighbouring cells that lean to different answers; None leans to neither."""
    differ = lambda a, b: a is not None and b is not None and (a > 0) != (b > 0)
    for i, line in enumerate(leans):
        for j, one in enumerate(line):
            if j + 1 < len(line) and differ(one, line[j + 1]):
                ax.plot([j + 0.5, j + 0.5], [i - 0.5, i + 0.5], color=BOUNDARY, lw=2, zorder=5)
            if i + 1 < len(leans) and differ(one, leans[i + 1][j]):
                ax.plot([j - 0.5, j + 0.5], [i + 0.5, i + 0.5], color=BOUNDARY, lw=2, zorder=5)


def _stripes(ax: Axes, row: int, column: int, runs: Cell, fill: Colormap) -> None:
    """A frame with a stripe for each run."""
    wide = 0.9 / max(1, len(runs))
    for i, (share, learned) in enumerate(runs):
        x = column - 0.45 + i * wide
        ax.add_patch(Rectangle((x, row - 0.4), wide, 0.8, facecolor=fill(share), edgecolor="white", lw=0.8))
        if not learned:
            ax.plot(x + wide / 2, row, "x", ms=5, mew=1.2, color="#222222")
    ax.add_patch(Rectangle((column - 0.45, row - 0.4), 0.9, 0.8, fill=False, edgecolor="#BBBBBB", lw=0.8))


def learning_time(steps: Mapping[float, np.ndarray], groups: Sequence[int], limit: int) -> Figure:
    """Steps until the seen pairs are learned against the number of groups that break with composition.

    steps: {γ: (groups, seeds)}, infinity where a run never learned them, drawn as a cross above the limit. Lines: medians.
    """
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 3.3))
        never = 1.12 * limit
        for i, (gamma, values) in enumerate(sorted(steps.items())):
            colour = style.GAMMA(0.15 + 0.6 * i)
            x = np.array(groups) + 0.16 * (i - 0.5)
            ax.plot(x, np.minimum(np.median(values, 1), never), color=colour, lw=1.3, label=f"γ = {gamma:g}")
            for seed, column in enumerate(values.T):
                late = np.isinf(column)
                fan = 0.05 * (seed - (values.shape[1] - 1) / 2)
                ax.plot(x[~late], column[~late], "o", ms=4, mew=0, alpha=0.6, color=colour)
                ax.plot(x[late] + fan, np.full(late.sum(), never), "x", ms=5, color=colour)
        ax.axhline(1.04 * limit, color="#BBBBBB", lw=0.8, ls=":")
        ticks = [t for t in ax.get_yticks() if 0 <= t <= limit]
        ax.set_yticks([*ticks, never], [*(f"{t:,.0f}" for t in ticks), "never"])
        ax.set(xlabel="groups of pairs that break with composition", ylabel="steps until 99 % right", ylim=(0, 1.18 * limit))
        never_learned = Line2D([], [], ls="", marker="x", ms=5, color="#444444", label="never learned")
        handles, _ = ax.get_legend_handles_labels()
        fig.legend(handles=[*handles, never_learned], loc="outside lower center", ncols=len(handles) + 1)
    return fig
