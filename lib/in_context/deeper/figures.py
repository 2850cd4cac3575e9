"""Figures of three layers: attention along training, errors, label halves of neurons, and how much neurons grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from lib.core.read import style
from lib.core.read.measures import history
from lib.core.record.store import StoredRun
from lib.in_context.deeper.metrics import SELECTS, TURNED, Turned, whole

POSITIVE, NEGATIVE, PALE = style.VERMILLION, style.BLUE, "#C8C8C8"
SHOWN = 400
"""Training steps that the figure of the losses shows: later all curves lie flat."""
LAYERS = ((style.PURPLE, "-", 4.0), (style.GREEN, "-", 2.2), (style.DARK, "-", 1.1), (style.BLUE, ":", 1.0))
"""Colour, dash and width of each layer, the first to the last: where one lies on another, both are seen."""


def _empty(ax: Axes) -> None:
    ax.text(0.5, 0.5, "every run diverged", ha="center", va="center", transform=ax.transAxes, fontsize=8.5)


def _legend_below(fig: Figure, axes: Sequence[Axes]) -> None:
    """One legend for all panels, with the names that the first of them that has any gives."""
    named = next((found for ax in axes if (found := ax.get_legend_handles_labels())[0]), None)
    if named:
        fig.legend(*named, loc="outside lower center", ncols=len(named[0]))


def attention(groups: Mapping[str, Sequence[tuple[np.ndarray, np.ndarray]]]) -> Figure:
    """Figs 21 to 23: attention of the query to examples with its own pattern along training, a line a layer, a panel a variant;
    step 0 is before training. groups: {variant: for each layer steps (n,) and attention (R, n)}."""
    with style.look():
        fig, axes = plt.subplots(2, 2, figsize=(style.WIDTH, 5), sharex=True, sharey=True)
        for ax, (name, layers) in zip(axes.flat, groups.items(), strict=True):
            for k, (curve, (colour, dash, wide)) in enumerate(zip(layers, LAYERS, strict=False), start=1):
                style.band(ax, *curve, color=colour, ls=dash, lw=wide, label=f"layer {k}")
            if not layers:
                _empty(ax)
            ax.axhline(SELECTS, color="#888888", lw=0.8, zorder=0)
            ax.set(ylim=(0, 1.02))
            ax.set_title(name, fontsize=10)
        for ax in axes[1]:
            ax.set_xlabel("training step")
        for ax in axes[:, 0]:
            ax.set_ylabel("attention")
        _legend_below(fig, axes.flat)
    return fig


def learning(groups: Mapping[str, Sequence[StoredRun]]) -> Figure:
    """Hinge loss (left) and share of wrong signs on unseen tasks along training, a line a variant."""
    looks = ((style.DARK, "-"), (style.BLUE, "--"), (style.VERMILLION, ":"), (style.GREEN, "-."))
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.7))
        for (name, runs), (colour, dash) in zip(groups.items(), looks, strict=False):
            if good := whole(runs):
                steps, loss = history(good, "unseen loss")
                style.band(axes[0], steps, loss, color=colour, ls=dash, label=name)
                style.band(axes[1], steps, 1 - history(good, "unseen")[1], color=colour, ls=dash)
        axes[0].set(xlabel="training step", ylabel="hinge loss", ylim=(0, None), xlim=(0, SHOWN))
        axes[1].set(xlabel="training step", ylabel="share of wrong signs", ylim=(0, None), xlim=(0, SHOWN))
        _legend_below(fig, axes)
    return fig


def angles(layers: Sequence[Turned]) -> Figure:
    """Figs 24 to 26: where label halves of the rows of W_O W_V point, as shares of the neurons of all runs by their angle to
    q, a panel a layer. Filled: large rows by the sign of a; pale: the others; line: before training. Shaded: near q or −q, and
    the share of the large rows there."""
    edges = np.linspace(0, 1, 21)
    with style.look():
        fig, axes = plt.subplots(1, max(len(layers), 1), figsize=(style.WIDTH, 2.7), sharey=True, squeeze=False)
        for k, (ax, found) in enumerate(zip(axes[0], layers, strict=False), start=1):
            for low, high in ((0, TURNED), (1 - TURNED, 1)):
                ax.axvspan(low, high, color=style.LIGHT, alpha=0.5, lw=0, zorder=0)
            parts = [found.after[which] for which in (found.long & found.positive, found.long & ~found.positive, ~found.long)]
            each = 1 / len(found.after)
            colours = (POSITIVE, NEGATIVE, PALE)
            ax.hist(parts, edges, stacked=True, color=colours, weights=[np.full(len(p), each) for p in parts])
            ax.stairs(np.histogram(found.before, edges)[0] * each, edges, color=style.DARK, lw=1.0)
            ax.text(0.5, 0.97, f"{found.near:.0%} near ±q", ha="center", va="top", transform=ax.transAxes)
            ax.set_title(f"layer {k}", fontsize=10)
            ax.set(xlim=(0, 1), xlabel="angle to q (π)")
            ax.set_xticks((0, 0.25, 0.5, 0.75, 1), ("0", "¼", "½", "¾", "1"))
        if not layers:
            _empty(axes[0, 0])
        axes[0, 0].set(ylabel="share of neurons", ylim=(0, 1.2 * axes[0, 0].get_ylim()[1]))
        named: list[Artist] = [
            Patch(color=c, label=w) for c, w in ((POSITIVE, "large, a > 0"), (NEGATIVE, "large, a < 0"), (PALE, "not large"))
        ]
        named.append(Line2D([], [], color=style.DARK, lw=1.0, label="before training"))
        fig.legend(handles=named, loc="outside lower center", ncols=4, handlelength=1.2, columnspacing=1.2)
    return fig


def shares(found: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """What layers do in each version: a panel a measure, a row a version, a dot a layer and run. found: {measure: {version:
    shares (layers, R)}}."""
    with style.look():
        fig, axes = plt.subplots(1, len(found), figsize=(style.WIDTH, 3.0), sharey=True)
        for ax, (what, versions) in zip(axes, found.items(), strict=True):
            for row, values in enumerate(versions.values()):
                for k, (shares_of, (colour, *_), mark) in enumerate(zip(values, LAYERS, "osD^", strict=False), start=1):
                    y = np.full(len(shares_of), row + 0.22 * (k - 2))
                    ax.plot(shares_of, y, mark, color=colour, ms=5, alpha=0.7, mew=0, label=f"layer {k}" if row == 0 else None)
            ax.set_yticks(range(len(versions)), [name.replace(", ", ",\n") for name in versions])
            ax.set(xlim=(-0.04, 1.04), xlabel=f"share of {what}", ylim=(len(versions) - 0.5, -0.5))
            ax.set_xticks((0, 0.5, 1), ("0", "½", "1"))
        _legend_below(fig, axes)
    return fig
