"""Figures of three layers: attention along training, errors, label halves of neurons, and how much neurons grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from lib.core.read import style
from lib.core.record.store import StoredRun
from lib.in_context.deeper.metrics import GROWN, SELECTS, TURNED, Turned, whole
from lib.in_context.drawing import band
from lib.in_context.runs import history

POSITIVE, NEGATIVE, NO_SIGN, PALE = style.VERMILLION, style.BLUE, "#6E6E6E", "#C8C8C8"
SHOWN = 120
"""Training steps that Figure 16.1 shows: later all curves lie at zero."""
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
        fig, axes = plt.subplots(1, len(groups), figsize=(style.WIDTH, 2.8), sharey=True, squeeze=False)
        for ax, (name, layers) in zip(axes[0], groups.items(), strict=True):
            for k, (curve, (colour, dash, wide)) in enumerate(zip(layers, LAYERS, strict=False), start=1):
                band(ax, *curve, color=colour, ls=dash, lw=wide, label=f"layer {k}")
            if not layers:
                _empty(ax)
            ax.axhline(SELECTS, color="#888888", lw=0.8, zorder=0)
            ax.set(xlabel="training step", ylim=(0, 1.02))
            ax.set_title(name, fontsize=9)
        axes[0, 0].set_ylabel("attention on the same pattern")
        _legend_below(fig, axes[0])
    return fig


def learning(groups: Mapping[str, Sequence[StoredRun]]) -> Figure:
    """Hinge loss (left) and share of wrong signs on unseen tasks along training, a line a variant."""
    looks = ((style.DARK, "-"), (style.BLUE, "--"), (style.VERMILLION, ":"))
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.7))
        for (name, runs), (colour, dash) in zip(groups.items(), looks, strict=False):
            if good := whole(runs):
                steps, loss = history(good, "unseen loss")
                band(axes[0], steps, loss, color=colour, ls=dash, label=name)
                band(axes[1], steps, 1 - history(good, "unseen")[1], color=colour, ls=dash)
        axes[0].set(xlabel="training step", ylabel="hinge loss", ylim=(0, None), xlim=(0, SHOWN))
        axes[1].set(xlabel="training step", ylabel="share of wrong signs", ylim=(0, None), xlim=(0, SHOWN))
        _legend_below(fig, axes)
    return fig


def angles(groups: Mapping[str, Sequence[Turned]]) -> Figure:
    """Figs 24 to 26: where label halves of the rows of W_O W_V point, as shares of the neurons of all runs by their angle to
    q; a row of panels a layer, a column a variant. Filled: large rows, by the sign of a where they have one; pale: the others;
    line: before training. Shaded: near q or −q, and the share of the large rows there."""
    depth = max((len(layers) for layers in groups.values()), default=1)
    edges = np.linspace(0, 1, 21)
    with style.look():
        size = (style.WIDTH, 0.9 + 1.35 * depth)
        fig, axes = plt.subplots(depth, len(groups), figsize=size, sharex=True, sharey=True, squeeze=False)
        for column, (name, layers) in zip(axes.T, groups.items(), strict=True):
            column[0].set_title(name, fontsize=9)
            column[-1].set_xlabel("angle to q (π)")
            for k, ax in enumerate(column, start=1):
                for low, high in ((0, TURNED), (1 - TURNED, 1)):
                    ax.axvspan(low, high, color=style.LIGHT, alpha=0.5, lw=0, zorder=0)
                if not layers:
                    _empty(ax)
                    continue
                found, last = layers[k - 1], k == depth
                signed = [found.long & found.positive, found.long & ~found.positive] if last else [found.long]
                parts = [found.after[which] for which in (*signed, ~found.long)]
                colours = [*((POSITIVE, NEGATIVE) if last else (NO_SIGN,)), PALE]
                each = 1 / len(found.after)
                ax.hist(parts, edges, stacked=True, color=colours, weights=[np.full(len(p), each) for p in parts])
                shares = np.histogram(found.before, edges)[0] * each
                ax.stairs(shares, edges, color=style.DARK, lw=1.0)
                ax.text(0.5, 0.96, f"{found.near:.0%} near ±q", ha="center", va="top", transform=ax.transAxes, fontsize=8.5)
        for k, ax in enumerate(axes[:, 0], start=1):
            ax.set_ylabel(f"layer {k}: share")
        top = axes[0, 0].get_ylim()[1]
        axes[0, 0].set(xlim=(0, 1), xticks=(0, 0.25, 0.5, 0.75, 1), ylim=(0, 1.25 * top))
        axes[0, 0].set_xticklabels(["0", "¼", "½", "¾", "1"])
        patch = lambda colour, label: Patch(color=colour, label=label)
        named = [patch(POSITIVE, "large, a > 0"), patch(NEGATIVE, "large, a < 0"), patch(NO_SIGN, "large, no sign of a")]
        named += [patch(PALE, "not large"), Line2D([], [], color=style.DARK, lw=1.0, label="before training")]
        fig.legend(handles=named, loc="outside lower center", ncols=5, handlelength=1.2, columnspacing=1.2)
    return fig


def growing(groups: Mapping[str, Sequence[np.ndarray]]) -> Figure:
    """Norms of rows of W_O W_V after training over those before: the share of neurons (of all runs) below a value, a line a
    layer, a panel a variant. Vertical line: the tenth that the claim asks for. groups: {variant: for each layer the growth of
    all neurons, ascending}."""
    with style.look():
        fig, axes = plt.subplots(1, len(groups), figsize=(style.WIDTH, 2.6), sharey=True, squeeze=False)
        for ax, (name, layers) in zip(axes[0], groups.items(), strict=True):
            for k, (ratios, (colour, dash, wide)) in enumerate(zip(layers, LAYERS, strict=False), start=1):
                share = np.arange(1, len(ratios) + 1) / len(ratios)
                ax.plot(ratios, share, color=colour, ls=dash, lw=wide, label=f"layer {k}")
            if not layers:
                _empty(ax)
            ax.axvline(GROWN, color="#888888", lw=0.8, zorder=0)
            ax.set(xlabel="norm after / before", xscale="log", ylim=(0, 1), xlim=(0.8, 8))
            ax.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
            ax.minorticks_off()
            ax.set_title(name, fontsize=9)
        axes[0, 0].set_ylabel("share of neurons below")
        _legend_below(fig, axes[0])
    return fig
