"""What the figures of several chapters share: looks of starts and arms, shares along training, and arms in rows."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lib.core.read import style
from lib.language.arms import learned_mean

STARTS = tuple(style.GAMMA(x) for x in (0.1, 0.5, 0.9))
"""A colour for each of three starts, dark for the largest."""
ARMS = tuple(zip(STARTS[1:], "o^", strict=True))
"""Colour and mark of the paper's large arm and of its small one."""
Curve = tuple[np.ndarray, np.ndarray]
"""Steps (n,) and shares (R, n)."""


def along(panels: Mapping[str, Mapping[str, Mapping[str, Curve]]], ylabel: str) -> Figure:
    """Shares along training: of training (dashed) and of a test (solid; band: range of the runs), a colour an arm.

    panels: {title: {arm: {"train" or "test": curve}}}, the paper's arms last; every arm is in the first panel."""
    names = list(next(iter(panels.values())))
    colours = dict(zip(names, STARTS[-len(names) :], strict=True))
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 2.9), sharey=True)
        for ax, (title, arms) in zip(axes, panels.items(), strict=True):
            for name, curves in arms.items():
                steps, values = curves["train"]
                ax.plot(steps, values.mean(0), "--", lw=1.2, color=colours[name])
                style.band(ax, *curves["test"], 0.2, color=colours[name], label=name)
            ax.set(xlabel="step", ylim=(-0.03, 1.03))
            ax.xaxis.set_major_locator(MaxNLocator(4))
            ax.xaxis.set_major_formatter("{x:,.0f}")
            ax.set_title(title, fontsize=9)
        axes[0].set_ylabel(ylabel)
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(names))
    return fig


def arms(found: Mapping[str, tuple[np.ndarray, np.ndarray]], xlabel: str, chance: float | None = None) -> Figure:
    """Shares at the end, arm by arm, a point a run; open: one that has not learned its rows of training; a bar at the mean of
    the others; dotted: `chance`. found: {arm: (shares (R,), has a run learned? (R,))}."""
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 0.9 + 0.32 * len(found)))
        for row in range(len(found)):
            ax.axhline(row, color=style.LIGHT, lw=0.6, zorder=0)
        if chance is not None:
            ax.axvline(chance, color=style.GREY, lw=0.9, ls=":", zorder=0)
        for row, (values, learned) in enumerate(found.values()):
            ax.plot([learned_mean(values, learned)] * 2, [row - 0.3, row + 0.3], color=style.GREEN, lw=1.5)
            for some, face in ((learned, style.GREEN), (~learned, "white")):
                ax.plot(values[some], [row] * int(some.sum()), "o", ms=6, mec=style.GREEN, mfc=face, alpha=0.8)
        ax.set_yticks(range(len(found)), list(found))
        ax.invert_yaxis()
        ax.set(xlabel=xlabel, xlim=(-0.03, 1.03))
    return fig
