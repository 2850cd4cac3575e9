"""Figures of three layers: attention along training, errors, label halves of neurons, and how much neurons grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lib.core.read import style
from lib.core.record.store import StoredRun
from lib.in_context.deeper.numbers import GROWN, SELECTS, TURNED, Layers, whole
from lib.in_context.drawing import band
from lib.in_context.models import signs
from lib.in_context.runs import history

POSITIVE, NEGATIVE, NO_SIGN = style.VERMILLION, style.BLUE, style.GREY
LAYERS = ((style.PURPLE, "-", 4.0), (style.GREEN, "-", 2.2), (style.DARK, "-", 1.1), (style.BLUE, ":", 1.0))
"""Colour, dash and width of each layer, the first to the last: where one lies on another, both are seen."""


def _empty(ax: Axes) -> None:
    ax.text(0.5, 0.5, "every run diverged", ha="center", va="center", transform=ax.transAxes, fontsize=8.5)


def _legend_above(fig: Figure, axes: Sequence[Axes]) -> None:
    """One legend for all panels, with the names that the first of them that has any gives."""
    named = next((found for ax in axes if (found := ax.get_legend_handles_labels())[0]), None)
    if named:
        fig.legend(*named, loc="outside upper center", ncols=len(named[0]))


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
        _legend_above(fig, axes[0])
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
        axes[0].set(xlabel="training step", ylabel="hinge loss, unseen tasks", ylim=(0, None))
        axes[1].set(xlabel="training step", ylabel="wrong signs, unseen tasks", ylim=(0, None))
        axes[0].legend()
    return fig


def neurons(rows: Mapping[str, Sequence[Layers]], together: bool = False) -> Figure:
    """Figs 24 to 26: label halves of the rows of W_O W_V, angle to q against norm; a row of panels a time or variant, a column
    a layer, a point a neuron of any run. Colour: the sign of a, which only the last layer has. Shaded: near q or −q.

    rows: {name: for each run, for each layer, its neurons}. `together`: all panels have one scale of norms, else each row its
    own.
    """
    depth = max((len(runs[0]) for runs in rows.values() if runs), default=1)
    with style.look():
        size = (style.WIDTH, 0.7 + 1.75 * len(rows))
        fig, axes = plt.subplots(len(rows), depth, figsize=size, sharey=True, sharex=together or "row", squeeze=False)
        norms = {name: [float(layer["label norm"].max()) for one in runs for layer in one] for name, runs in rows.items()}
        most = max((v for found in norms.values() for v in found), default=1.0)
        for line, (name, runs) in zip(axes, rows.items(), strict=True):
            longest = most if together else max(norms[name], default=1.0)
            for k, ax in enumerate(line, start=1):
                for one in runs:
                    norm, angle = one[k - 1]["label norm"], one[k - 1]["label angle"]
                    positive = signs(len(norm)).numpy() > 0
                    colour = np.where(positive, POSITIVE, NEGATIVE) if k == depth else NO_SIGN
                    ax.scatter(norm, angle, s=5, c=colour, alpha=0.45, lw=0)
                if not runs:
                    _empty(ax)
                for low, high in ((0, TURNED), (1 - TURNED, 1)):
                    ax.axhspan(low, high, color=style.LIGHT, alpha=0.35, lw=0, zorder=0)
                ax.set(xlim=(0, 1.05 * longest), ylim=(0, 1), yticks=(0, 0.25, 0.5, 0.75, 1))
            line[0].set_ylabel(f"{name}\nangle to q (π)")
        for k in range(depth):
            axes[0, k].set_title(f"layer {k + 1}", fontsize=9)
            axes[-1, k].set_xlabel("norm of the label half")
        dot = lambda colour, label: Line2D([], [], marker="o", ls="", ms=4, color=colour, label=label)
        dots = [dot(NO_SIGN, "no sign"), dot(POSITIVE, "a > 0"), dot(NEGATIVE, "a < 0")]
        fig.legend(handles=dots, loc="outside upper center", ncols=3, handletextpad=0)
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
        _legend_above(fig, axes[0])
    return fig
