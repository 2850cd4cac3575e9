"""The figures of rate, decay and data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.composition import palette
from lib.core.read import style


def _cells(ax: Axes, mean: np.ndarray, spread: np.ndarray, name: str, rows: Sequence, columns: Sequence) -> None:
    """A heatmap of shares with mean and standard deviation written into each cell."""
    ax.imshow(mean, origin="lower", aspect="auto", vmin=0, vmax=1, cmap=palette.FILL[name])
    style.write_values(ax, mean, size=6.8, spread=spread)
    ax.set_xticks(range(len(columns)), [f"{c:g}" for c in columns])
    ax.set_yticks(range(len(rows)), [f"{r:g}" for r in rows])
    style.bare(ax)


def shares_grid(
    panels: Mapping[str, tuple[np.ndarray, np.ndarray]], rows: Sequence, columns: Sequence, ylabel: str, xlabel: str
) -> Figure:
    """Panels of (mean, standard deviation) over a grid of two settings, side by side. panels: {"symmetric", …: arrays}."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 1.1 + 0.42 * len(rows)), sharey=True, squeeze=False)
        for ax, (name, (mean, spread)) in zip(axes[0], panels.items(), strict=True):
            _cells(ax, mean, spread, "neither" if name == "test" else name, rows, columns)
            ax.set_title(palette.LABEL[name], fontsize=8.5)
            ax.set_xlabel(xlabel)
        axes[0, 0].set_ylabel(ylabel)
    return fig


def learning_time(steps: Mapping[float, np.ndarray], groups: Sequence[int], limit: int) -> Figure:
    """Steps until the seen pairs are learned against the number of groups that break with composition.

    steps: {γ: (groups, seeds)}, infinity where a run never learned them, drawn as a cross above the limit. Lines: medians.
    """
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH * 0.75, 3.0))
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
        ax.legend()
    return fig
