"""The figures of addition: what is held out, and where in the square a model adds."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.colors
import matplotlib.patches
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from lib.core.read import style
from lib.language.addition_task import Addition
from lib.language.drawing import ARMS, STARTS


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


def by_distance(arms: Mapping[str, np.ndarray]) -> Figure:
    """Share of right sums by the distance of a pair from the edge of the square. arms: {name: (R, distances)}, from the largest
    start on; thin lines: runs, thick: their means, the last dashed so that what lies under it is seen."""
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 3.1))
        for (name, values), colour in zip(arms.items(), STARTS[-len(arms) :], strict=True):
            x = np.arange(values.shape[1])
            ax.plot(x, values.T, color=colour, lw=0.9, alpha=0.7)
            ax.plot(x, values.mean(0), "--" if name == list(arms)[-1] else "-", color=colour, lw=2.8, label=name)
        ax.set(xlabel="distance from the edge of the square", ylabel="share of right sums", ylim=(-0.03, 1.03))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        fig.legend(loc="outside lower center", ncols=len(arms))
    return fig


def by_rate(found: Mapping[tuple[str, float], Mapping[str, tuple[np.ndarray, np.ndarray]]]) -> Figure:
    """Shares at the end by the learning rate, a panel a form, a point a run; open: one that has not learned its pairs of
    training. found: {(form, learning rate): {arm: (shares (R,), has a run learned? (R,))}}, the large arm first."""
    forms, rates = (sorted(set(at)) for at in zip(*found, strict=True))
    with style.look():
        fig, axes = plt.subplots(1, len(forms), figsize=(style.WIDTH, 2.9), sharey=True, squeeze=False)
        for ax, form in zip(axes[0], reversed(forms), strict=True):
            ax.set_title(form)
            for at, rate in enumerate(rates):
                there = found.get((form, rate), {}).values()
                for (values, learned), (colour, mark), y in zip(there, ARMS, (0.2, -0.2), strict=False):
                    heights = at + y + np.linspace(-0.09, 0.09, len(values))  # so that runs that end alike are seen
                    for some, face in ((learned, colour), (~learned, "white")):
                        ax.plot(values[some], heights[some], mark, ms=6.5, mec=colour, mfc=face, alpha=0.8)
            for edge in range(1, len(rates)):
                ax.axhline(edge - 0.5, color=style.LIGHT, lw=0.6, zorder=0)
            ax.set(xlabel="share of right sums in the square", xlim=(-0.03, 1.03), ylim=(-0.5, len(rates) - 0.5))
        axes[0, 0].set_yticks(range(len(rates)), [f"{rate:g}" for rate in rates])
        axes[0, 0].set_ylabel("learning rate")
        marks = [Line2D([], [], color=colour, marker=mark, ls="", ms=6.5) for colour, mark in ARMS]
        fig.legend(marks, list(next(iter(found.values()))), loc="outside lower center", ncols=2)
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


LONGEST = 20
"""The longest error that is drawn, in turns."""


def turns(runs: Mapping[str, Mapping[str, np.ndarray]], cut: Mapping[str, str]) -> Figure:
    """By how much runs miss, in turns of their own dial, where a part of their numbers is cut. runs: {run: what `parts.cuts`
    says}; cut: {the part: title}, a panel each; a row a run, a dot a size of an error, as large as it is frequent among all."""
    with style.look():
        shape = {"figsize": (style.WIDTH, 1.3 + 0.27 * len(runs)), "sharey": True}
        fig, axes = plt.subplots(1, len(cut), **shape)
        for ax, (part, title), colour in zip(axes, cut.items(), (style.VERMILLION, style.BLUE), strict=True):
            for turn in range(LONGEST + 1):
                ax.axvline(turn, color=style.LIGHT, lw=0.8, zorder=0)
            for row, found in enumerate(runs.values()):
                size, count = np.unique(abs(found[part][found[part] != 0]), return_counts=True)
                area = 80 * count / max(1, count.sum())
                ax.scatter(size / found["period"], np.full(len(size), row), area, color=colour, alpha=0.85, lw=0)
            ax.set(xlabel="error, in turns of the dial", xlim=(-0.5, LONGEST + 0.5))
            ax.set_title(title, fontsize=9)
        axes[0].set_yticks(range(len(runs)), list(runs))
        axes[0].set_ylim(len(runs) - 0.5, -0.5)
    return fig


def alike(groups: Mapping[str, np.ndarray]) -> Figure:
    """How alike two numbers are by their distance. groups: {start: (R, distances) mean cosines}, the larger start first; a line
    a run, a mark where numbers are most alike."""
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 3.1))
        for (name, values), colour in zip(groups.items(), (style.BLUE, style.VERMILLION), strict=True):
            x = np.arange(1, values.shape[1] + 1)
            for row, line in enumerate(values):
                ax.plot(x, line, color=colour, lw=1.4, label=name if not row else None)
                ax.plot(x[line.argmax()], line.max(), "o", ms=6, mfc="white", mec=colour)
        ax.set(xlabel="distance of two numbers", ylabel="mean cosine of their embeddings")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        fig.legend(loc="outside lower center", ncols=len(groups))
    return fig
