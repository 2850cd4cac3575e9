"""The figures of width: shares for models of several shapes, and their crossings."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from lib.composition.width.metrics import Crossing, shape_name
from lib.core.read import style


def collapse_figure(
    points: Mapping[tuple[int, int], tuple[np.ndarray, np.ndarray]],
    crossings: Mapping[tuple[int, int], Crossing],
    better: Mapping[str, tuple[float, float, float]],
) -> Figure:
    """Left: the share of symmetric answers of every shape against γ, and below it the transitions that are found, with 95 %
    intervals. Right: how many times as good as γ each other variable describes all shapes with one curve.

    points: {(width, depth): (γ, share)}; crossings: {(width, depth): its transition}; better: {variable: (value, low, high)}.
    """
    markers = "osD^v"
    with style.look():
        fig, (left, right) = plt.subplots(1, 2, figsize=(style.WIDTH, 3.7), width_ratios=(1.25, 1))
        every = np.concatenate([x for x, _ in points.values()])
        gap = min(np.diff(np.unique(every)), default=0.1)
        for i, (shape, (x, share)) in enumerate(points.items()):
            look = {"color": style.GAMMA(i / max(1, len(points) - 1)), "marker": markers[i % len(markers)]}
            levels = np.unique(x)
            aside = 0.12 * gap * (i - (len(points) - 1) / 2)  # shapes side by side
            left.plot(x + aside, share, ls="", ms=3.5, mew=0, alpha=0.5, **look)
            means = [share[x == v].mean() for v in levels]
            left.plot(levels + aside, means, lw=1.5, ms=5, label=shape_name(shape), **look)
            if (t := crossings[shape]).found:
                height = -0.12 - 0.075 * i
                left.plot([t.low, t.high], [height, height], color=look["color"], lw=2)
                left.plot(t.centre, height, ms=6, **look)
        left.axhline(-0.05, color="#BBBBBB", lw=0.8)
        left.set_yticks([0, 0.25, 0.5, 0.75, 1])
        left.set(xlim=(every.min() - 0.6 * gap, every.max() + 0.6 * gap), ylim=(-0.16 - 0.075 * len(points), 1.05))
        left.set(xlabel="initialization rate γ", ylabel="share of symmetric answers")
        left.set_title("a  Shares, and transitions below", fontsize=9)
        for i, (value, low, high) in enumerate(better.values()):
            right.plot([low, high], [i, i], color="#666666", lw=2)
            right.plot(value, i, "o", color="black", ms=5)
        right.axvline(1, color="#BBBBBB", lw=0.8)
        right.set_yticks(range(len(better)), list(better))
        right.tick_params(axis="y", length=0)
        right.set(ylim=(len(better) - 0.5, -0.5), xlabel="times as good as γ")
        right.set_title("b  One curve for all shapes", fontsize=9)
        fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=min(4, len(points)), columnspacing=1.2)
    return fig
