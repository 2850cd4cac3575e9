"""The figures of rate, decay and data, of width, and of GPT-2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.composition.width.numbers import VARIABLES, Transition
from lib.core import style


def _cells(ax: Axes, mean: np.ndarray, spread: np.ndarray, name: str, rows: Sequence, columns: Sequence) -> None:
    """A heatmap of shares with mean and standard deviation written into each cell."""
    ax.imshow(mean, origin="lower", aspect="auto", vmin=0, vmax=1, cmap=style.ACCURACY[name])
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
            ax.set_title(style.MAPPING_LABEL[name], fontsize=8.5)
            ax.set_xlabel(xlabel)
        axes[0, 0].set_ylabel(ylabel)
    return fig


def learning_time(steps: Mapping[float, np.ndarray], groups: Sequence[int], limit: int) -> Figure:
    """Steps until the seen pairs are learned against the number of groups that break with composition.

    steps: {γ: (groups, seeds)}, infinity where a run never learned them, drawn as a cross at the limit. Lines: medians.
    """
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH * 0.75, 3.0))
        for i, (gamma, values) in enumerate(sorted(steps.items())):
            colour = style.GAMMA(0.15 + 0.6 * i)
            x = np.array(groups) + 0.08 * (i - 0.5)
            for column in values.T:
                never = np.isinf(column)
                ax.plot(x[~never], column[~never], "o", ms=4, mew=0, alpha=0.5, color=colour)
                ax.plot(x[never], np.full(never.sum(), limit), "x", color=colour)
            ax.plot(x, np.minimum(np.median(values, 1), limit), color=colour, label=f"γ = {gamma:g}")
        ax.set(xlabel="groups of pairs that break with composition", ylabel="steps until 99 % right", ylim=(0, None))
        ax.legend()
    return fig


def gamma_curves(panels: Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]], ylabel: str = "share of answers") -> Figure:
    """Fig. 2c: shares against γ; every run a point, lines join the means, bars are standard deviations over seeds.

    panels: {title: {"symmetric", "inferential" or "test": (γ (n,), shares (n, seeds))}}; up to three stand in a row.
    """
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    with style.look():
        size = (style.WIDTH, (2.3 if rows > 1 else 2.9) * rows + 0.7)
        fig, axes = plt.subplots(rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False)
        for ax in axes.ravel()[len(panels) :]:
            ax.set_visible(False)
        for i, (ax, (title, curves)) in enumerate(zip(axes.ravel(), panels.items(), strict=False)):
            for name, (gammas, values) in curves.items():
                colour, marker = style.MAPPING_COLOUR[name], {"symmetric": "o", "inferential": "s", "test": "^"}[name]
                ax.plot(np.repeat(gammas, values.shape[1]), values.ravel(), marker, ms=3.2, mew=0, alpha=0.35, color=colour)
                spread = values.std(1, ddof=1) if values.shape[1] > 1 else np.zeros(len(values))
                line = "--" if name == "test" else "-"
                ax.errorbar(
                    gammas, values.mean(1), spread, fmt=line, color=colour, capsize=2, lw=1.6, label=style.MAPPING_LABEL[name]
                )
            ax.set(ylim=(-0.04, 1.06))
            ax.set_title(title, fontsize=9)
            if i + columns >= len(panels):
                ax.set_xlabel("initialization rate γ")
                ax.tick_params(labelbottom=True)
            if i % columns == 0:
                ax.set_ylabel(ylabel)
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def shape_curves(shapes: Mapping[tuple[int, int], Mapping[str, tuple[np.ndarray, np.ndarray]]]) -> Figure:
    """The same for models of several shapes {(width, depth): …}."""
    return gamma_curves({f"width {w}, depth {d}": curves for (w, d), curves in shapes.items()})


def collapse_figure(
    points: Mapping[str, Mapping[tuple[int, int], tuple[np.ndarray, np.ndarray]]],
    transitions: Mapping[str, Mapping[tuple[int, int], Transition]],
    ratios: Mapping[str, float],
) -> Figure:
    """The share of symmetric answers of every shape against each candidate variable; bars are 95 % intervals of the centres.

    points: {variable: {(width, depth): (x, share)}}; ratios: how badly one curve describes all shapes.
    """
    shapes = list(next(iter(points.values())))
    with style.look():
        fig, axes = plt.subplots(2, 3, figsize=(style.WIDTH, 5.4), sharey=True)
        axes[1, 2].set_visible(False)
        for ax, name in zip(axes.ravel(), VARIABLES, strict=False):
            for i, shape in enumerate(shapes):
                x, share = points[name][shape]
                colour = style.GAMMA(i / max(1, len(shapes) - 1))
                levels = np.unique(x)
                ax.plot(x, share, "o", ms=3, mew=0, alpha=0.35, color=colour)
                means = [share[x == v].mean() for v in levels]
                ax.plot(levels, means, color=colour, lw=1.5, label=f"width {shape[0]}, depth {shape[1]}")
                t = transitions[name][shape]
                if t.found:
                    height = -0.1 - 0.07 * i
                    ax.plot([t.low, t.high], [height, height], color=colour, lw=2)
                    ax.plot(t.centre, height, "d", ms=5, color=colour)
            low, high = (f(min(x) if f is min else max(x) for x, _ in points[name].values()) for f in (min, max))
            margin = 0.06 * (high - low)
            ax.set(xlabel=name, xlim=(low - margin, high + margin), ylim=(-0.15 - 0.07 * len(shapes), 1.05))
            ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
            ax.set_title(f"deviation × {ratios[name]:.2f}", fontsize=8.5)
        for ax in axes[:, 0]:
            ax.set_ylabel("share of symmetric answers", fontsize=8.5)
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig
