"""The figures of SCAN and COGS: shares by the size of the training set, arm by arm and case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lib.core.read import style
from lib.language.arms import learned_mean
from lib.language.drawing import ARMS

Colour = tuple[float, float, float, float] | str
_LIMITS = (-0.03, 1.03)


def _points(ax: Axes, x: np.ndarray, y: np.ndarray, look: tuple[Colour, str], learned: np.ndarray) -> None:
    """A point a run; open where it has not learned its rows of training."""
    colour, mark = look
    for some, face in ((learned, colour), (~learned, "white")):
        if not some.any():  # nothing, unclipped, would take the room of the axes
            continue
        ax.plot(x[some], y[some], mark, ms=5, mec=colour, mfc=face, alpha=0.8, clip_on=False)


def by_size(
    panels: Mapping[str, Mapping[str, tuple[Sequence[int], np.ndarray, np.ndarray]]], of: str = "rows of training"
) -> Figure:
    """Share of rows right by the size of the training set, or `of` the model. panels: {title: {arm: (sizes, shares (S, R), has
    a run learned? (S, R))}}, the large arm first; points are runs, lines the means of those that have learned."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 2.9), sharey=True, squeeze=False)
        axes = axes[0]
        for ax, (title, arms) in zip(axes, panels.items(), strict=True):
            for (sizes, values, learned), look, aside in zip(arms.values(), ARMS, (0.96, 1.04), strict=True):
                places = np.array(sizes) * aside  # so that marks of the arms lie beside each other
                ax.plot(places, learned_mean(values, learned), color=look[0])
                _points(ax, np.broadcast_to(places[:, None], values.shape), values, look, learned)
            every = sorted({size for sizes, _, _ in arms.values() for size in sizes})
            ax.set_xscale("log")
            ax.set_xticks(every, [f"{size:,}" for size in every], fontsize=8)
            ax.set_xticks([], minor=True)
            ax.set_xlim(every[0] / 1.5, every[-1] * 1.5)
            ax.set(xlabel=of, ylim=_LIMITS)
            ax.set_title(title, fontsize=9)
        axes[0].set_ylabel("share of rows right")
        handles = [Line2D([], [], color=c, marker=m, label=name) for (c, m), name in zip(ARMS, arms, strict=True)]
        fig.legend(handles=handles, loc="outside lower center", ncols=2)
    return fig


def _rows(ax: Axes, names: Sequence[str], xlabel: str) -> None:
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel=xlabel, xlim=_LIMITS, ylim=(len(names) - 0.5, -0.5))
    ax.tick_params(axis="y", length=0)


def arms(panels: Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]], ours: Sequence[str] = ()) -> Figure:
    """Every arm in a row, from the largest start on, a panel a test. panels: {title: {arm: (shares (R,), has a run learned?
    (R,))}}, the first with every arm; the arms in `ours` are not the paper's, and grey."""
    names, looks = list(next(iter(panels.values()))), iter(ARMS)
    looked = {name: (style.GREY, "s") if name in ours else next(looks) for name in names}
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 1.0 + 0.32 * len(names)), sharey=True)
        for ax, (title, found) in zip(axes, panels.items(), strict=True):
            for row, name in enumerate(names):
                ax.axhline(row, color=style.LIGHT, lw=0.6, zorder=0)
                if name not in found:
                    ax.text(0, row, "not trained", va="center", fontsize=7.5, color=style.GREY, backgroundcolor="white")
                    continue
                values, learned = found[name]
                ax.plot([learned_mean(values, learned)] * 2, [row - 0.3, row + 0.3], color=looked[name][0])
                _points(ax, values, np.full(len(values), row), looked[name], learned)
            _rows(ax, names, "share of rows right")
            ax.set_title(title, fontsize=9)
    return fig


def cases(panels: Mapping[str, Mapping[str, Mapping[str, np.ndarray]]], structural: int) -> Figure:
    """The cases of COGS in rows, the last `structural` of them apart, both arms in each; a panel a size.

    panels: {title: {arm: {case: (R,) shares}}}, the large arm first; small marks are runs, large ones their means."""
    names = list(next(iter(next(iter(panels.values())).values())))
    with style.look():
        size = style.WIDTH, 1.3 + 0.255 * len(names)
        fig, axes = plt.subplots(1, len(panels), figsize=size, sharey=True, squeeze=False)
        for ax, (title, found) in zip(axes[0], panels.items(), strict=True):
            for row in range(len(names)):
                ax.axhline(row, color=style.LIGHT, lw=0.6, zorder=0)
            ax.axhline(len(names) - structural - 0.5, color=style.GREY, lw=0.9, ls=":")
            for shares, look, at in zip(found.values(), ARMS, (-0.15, 0.15), strict=True):
                for row, values in enumerate(shares.values()):
                    ax.plot(values, [row + at] * len(values), look[1], ms=3, color=look[0], alpha=0.55, mew=0, clip_on=False)
                    ax.plot(values.mean(), row + at, look[1], ms=6, color=look[0], clip_on=False)
            _rows(ax, names, "share of rows right")
            ax.set_title(title, fontsize=9)
        handles = [Line2D([], [], ls="", color=c, marker=m, label=name) for (c, m), name in zip(ARMS, found, strict=True)]
        fig.legend(handles=handles, loc="outside lower center", ncols=2)
    return fig
