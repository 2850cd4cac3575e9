"""The figures of the mix: two losses of one model, how far one is ahead of the other, and its embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from lib.core.read import style
from lib.language.drawing import STARTS
from lib.language.mixture.metrics import CORPORA
from lib.language.stories import SUBSTITUTE

COLOUR = dict(zip(CORPORA, (style.VERMILLION, style.BLUE), strict=True))
"""As reasoning and memory in the other chapters on the same paper."""
LABEL = dict(zip(CORPORA, (CORPORA[0], f"{CORPORA[1]} ({SUBSTITUTE})"), strict=True))
MARKS = ((9, "s"), (7.5, "o"), (5, "D"))
"""Size and mark of a start's runs, each smaller than the one that it may lie upon."""
Along = tuple[np.ndarray, np.ndarray]
"""Steps (n,), and a value of each corpus along training (R, n, 2)."""


def _corpora(ax: Axes, curves: Along) -> None:
    """A line a corpus, the mean of the runs, in a band that is their range."""
    steps, values = curves
    for corpus, name in enumerate(CORPORA):
        style.band(ax, steps, values[..., corpus], 0.2, color=COLOUR[name], label=LABEL[name])


def _step_axis(ax: Axes) -> None:
    """Steps on a logarithmic axis: what is learned first takes the first few."""
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(2,)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda step, _: f"{step:,.0f}"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("step")


def _legend(fig: Figure, ax: Axes) -> None:
    handles, labels = ax.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def losses(panels: Mapping[str, Along], levels: Sequence[float], of: str, ylabel: str = "loss (nats a token)") -> Figure:
    """The loss of each corpus along training, a panel a start; dashed: the level of each corpus, `of` what."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 2.8), sharey=True, squeeze=False)
        for ax, (title, curves) in zip(axes[0], panels.items(), strict=True):
            for level, name in zip(levels, CORPORA, strict=True):
                ax.axhline(level, color=style.DARK if len(set(levels)) == 1 else COLOUR[name], ls="--", lw=1)
            _corpora(ax, curves)
            ax.set_title(title)
            _step_axis(ax)
            ax.set_ylim(bottom=0)
        axes[0, 0].set_ylabel(ylabel)
        axes[0, 0].plot([], [], color=style.DARK, ls="--", lw=1, label=of)
        _legend(fig, axes[0, 0])
    return fig


def gap(
    along: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]],
    reached: Mapping[str, tuple[np.ndarray, np.ndarray]],
    even: float,
) -> Figure:
    """ΔL at the same step, and at the same mean of the two losses; a point where a run is compared, if it comes so far.

    along: {start: (steps (n,), ΔL (R, n), mean losses (R, n))}; reached: {start: (mean losses (R,), ΔL (R,))}; `even`: the ΔL
    of two bigram models.
    """
    with style.look():
        fig, (left, right) = plt.subplots(1, 2, figsize=(style.WIDTH, 3.1), sharey=True)
        for (name, (steps, values, progress)), colour, (size, mark) in zip(along.items(), STARTS, MARKS, strict=True):
            style.band(left, steps, values, 0.2, color=colour, label=name)
            right.plot(progress.T, values.T, color=colour, lw=1)
            right.plot(*reached[name], mark, ms=size, mew=0.8, mec="white", mfc=colour, zorder=4)
        for ax in (left, right):
            ax.axhline(even, color=style.GREY, ls="--", lw=1, zorder=0)
        left.plot([], [], color=style.GREY, ls="--", lw=1, label="two bigram models")
        left.set(title="at the same step", ylabel="ΔL")
        _step_axis(left)
        right.set(title="at the same mean loss", xlabel="mean of the two losses (nats a token)")
        right.invert_xaxis()
        _legend(fig, left)
    return fig


def late(panels: Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]]) -> Figure:
    """ΔL by how far longer training has come, a panel a kind of losses. panels: {title: {start: (mean losses (R, n), ΔL (R,
    n))}}."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 3.1), sharey=True, squeeze=False)
        for ax, (title, along) in zip(axes[0], panels.items(), strict=True):
            for (name, (progress, values)), colour, look in zip(along.items(), STARTS, ("-", "--", ":"), strict=True):
                for x, y in zip(progress, values, strict=True):
                    ax.plot(x, y, look, color=colour, lw=1.4)
                ax.plot([], [], look, color=colour, lw=1.8, label=name)
            ax.axhline(0, color=style.GREY, lw=1, zorder=0)
            ax.set_xscale("log")
            ax.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
            ax.xaxis.set_major_formatter("{x:g}")
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set(xlim=(3.2, 0.04), xlabel="mean training loss\n(nats a token)")
            ax.set_title(title)
        axes[0, 0].set_ylabel("ΔL")
        _legend(fig, axes[0, 0])
    return fig


def cosines(panels: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]) -> Figure:
    """The mean cosine of embeddings of each corpus along training, a panel a kind of embeddings, a point where a run is at the
    compared progress. panels: {kind: (steps (n,), cosines (R, n, 2), steps of the points (R,), their cosines (R, 2))}."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 2.8), sharey=True, squeeze=False)
        for ax, (title, (steps, values, reached, points)) in zip(axes[0], panels.items(), strict=True):
            _corpora(ax, (steps, values))
            for corpus, name in enumerate(CORPORA):
                ax.plot(reached, points[:, corpus], "o", ms=5, mec=COLOUR[name], mfc="white")
            ax.axhline(0, color=style.LIGHT, lw=1, zorder=0)
            ax.set_title(title)
            _step_axis(ax)
        axes[0, 0].set_ylabel("mean cosine of two words")
        axes[0, 0].plot([], [], "o", ms=5, mec=style.DARK, mfc="white", label="equal progress")
        _legend(fig, axes[0, 0])
    return fig
