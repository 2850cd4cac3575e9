"""The figures of width: shares for models of several shapes, and their crossings."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from lib.composition.figures import gamma_curves
from lib.composition.width.numbers import VARIABLES, Crossing
from lib.core.read import style


def shape_curves(shapes: Mapping[tuple[int, int], Mapping[str, tuple[np.ndarray, np.ndarray]]]) -> Figure:
    """The same for models of several shapes {(width, depth): …}."""
    return gamma_curves({f"width {w}, depth {d}": curves for (w, d), curves in shapes.items()})


def collapse_figure(
    points: Mapping[str, Mapping[tuple[int, int], tuple[np.ndarray, np.ndarray]]],
    crossings: Mapping[str, Mapping[tuple[int, int], Crossing]],
    ratios: Mapping[str, float],
) -> Figure:
    """The share of symmetric answers of every shape against each candidate variable; bars are 95 % intervals of the centres.

    points: {variable: {(width, depth): (x, share)}}; ratios: how badly one curve describes all shapes.
    """
    shapes = list(next(iter(points.values())))
    with style.look():
        fig, axes = plt.subplots(2, 3, figsize=(style.WIDTH, 5.4), sharey=True)
        axes[1, 2].set_axis_off()
        for ax, name in zip(axes.ravel(), VARIABLES, strict=False):
            for i, shape in enumerate(shapes):
                x, share = points[name][shape]
                colour = style.GAMMA(i / max(1, len(shapes) - 1))
                levels = np.unique(x)
                step = 0.012 * np.ptp(np.concatenate([p[0] for p in points[name].values()]))  # shapes side by side
                ax.plot(x + step * (i - (len(shapes) - 1) / 2), share, "o", ms=3.2, mew=0, alpha=0.5, color=colour)
                means = [share[x == v].mean() for v in levels]
                ax.plot(levels, means, color=colour, lw=1.5, label=f"width {shape[0]}, depth {shape[1]}")
                t = crossings[name][shape]
                if t.found:
                    height = -0.1 - 0.07 * i
                    ax.plot([t.low, t.high], [height, height], color=colour, lw=2)
                    ax.plot(t.centre, height, "d", ms=5, color=colour)
            low, high = (f(min(x) if f is min else max(x) for x, _ in points[name].values()) for f in (min, max))
            margin = 0.06 * (high - low)
            ax.set(xlabel=name, xlim=(low - margin, high + margin), ylim=(-0.15 - 0.07 * len(shapes), 1.05))
            ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
            ax.axhline(-0.04, color="#BBBBBB", lw=0.8)
            ax.set_title(f"deviation × {ratios[name]:.2f}", fontsize=8.5)
        for ax in axes[:, 0]:
            ax.set_ylabel("share of symmetric answers", fontsize=8.5)
        axes[1, 2].legend(*axes[0, 0].get_legend_handles_labels(), loc="center")
    return fig
