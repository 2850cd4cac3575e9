"""Figures of pruning: sorted norms, errors and losses against what is removed, and which neurons stay small (Figs 14, 15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from lib.core.read import style
from lib.in_context.pruning.metrics import RATES, SHARES, SLOPE, WIDEST, Cost, Norms

LATE, LEAST = 0.5, 1e-3
"""From which share of neurons removed wrong signs are drawn, and where the axis of hinge losses begins."""
HOW = {
    "magnitude": ("smallest rows of $W_O$ first", style.BLUE, "-"),
    "random": ("at random", style.VERMILLION, "--"),
}


def sorted_norms(one: Norms, everyone: Norms) -> Figure:
    """Fig. 14: norms of the rows of W_O. Left: of one model in ascending order, after training and before, and the bound above
    which a neuron is large. Right: how the norms of all models are distributed."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9))
        share = (np.arange(one.after.shape[1]) + 0.5) / one.after.shape[1]
        for values, colour, dash, label in (
            (one.after, style.DARK, "-", "after training"),
            (one.before, style.GREY, "--", "before"),
        ):
            axes[0].plot(share, np.sort(values, axis=1).mean(0), color=colour, ls=dash, label=label)
        axes[0].axhline(float(one.bounds.mean()), color=style.VERMILLION, lw=1, label="bound of large neurons")
        axes[0].xaxis.set_major_formatter(PercentFormatter(1, 0))
        axes[0].set(xlabel="neurons, smallest first", ylabel="norm of the row of $W_O$", xlim=(0, 1))
        axes[0].set_ylim(0, None)
        after, before, bounds = everyone.after, everyone.before, everyone.bounds
        bins = np.linspace(0, float(after.max()) * 1.02, 40)
        axes[1].hist(after.ravel(), bins=bins, color=style.DARK, alpha=0.7, label="after training")
        axes[1].hist(before.ravel(), bins=bins, color=style.GREY, alpha=0.7, label="before")
        axes[1].axvspan(min(bounds), max(bounds), color=style.VERMILLION, alpha=0.25, lw=0)
        axes[1].set(
            xlabel="norm of the row of $W_O$", ylabel=f"neurons of {len(after)} model{'s' * (len(after) > 1)}", yscale="log"
        )
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def pruning(found: Mapping[str, Cost]) -> Figure:
    """Fig. 14: hinge losses against the share of neurons that is removed (left, logarithmic; shaded: the paper's range), and
    shares of wrong signs where there are any to speak of (right). Thick: means; thin: seeds. found: {order: costs (R, n)}."""
    rates = np.array(RATES)
    late = rates >= LATE
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 3.1))
        for how, costs in found.items():
            label, colour, dash = HOW[how]
            for ax, values, x in ((axes[0], costs.loss.clip(LEAST), rates), (axes[1], costs.error[:, late], rates[late])):
                ax.plot(x, values.T, color=colour, lw=0.6, alpha=0.45)
                ax.plot(x, values.mean(0), color=colour, ls=dash, lw=2.2, label=label)
        axes[0].axvspan(0, WIDEST, color=style.LIGHT, alpha=0.4, lw=0, zorder=0)
        axes[0].set(ylabel="hinge loss", yscale="log", ylim=(LEAST, 1.2), xlim=(0, 1))
        axes[1].set(ylabel="share of wrong signs", ylim=(-0.01, 0.6), xlim=(LATE, 1))
        for ax in axes:
            ax.set_xlabel("neurons removed")
            ax.xaxis.set_major_formatter(PercentFormatter(1, 0))
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def share_of_large(left: Cost, scaled: Cost) -> Figure:
    """Theorem 3: what is left after removing a share R of the large neurons at random, (R, n) each. Left: mean margins, and the
    one that the hinge loss asks for. Right: hinge losses. A point a seed; grey: every margin times 1 − R. Dots: the claim's
    line."""
    shares = np.array(SHARES)
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 3.1))
        count = len(left.margin)
        aside = 0.004 * (np.arange(count) - (count - 1) / 2)[:, None]
        for ax, name in zip(axes, ("margin", "loss"), strict=True):
            ax.plot(shares, getattr(scaled, name).mean(0), color=style.GREY, lw=1.5, label="every margin times 1 − R", zorder=0)
            points = {"color": style.BLUE, "ms": 3.5, "alpha": 0.7, "mew": 0}
            ax.plot((shares + aside).ravel(), getattr(left, name).ravel(), "o", label="measured, a seed", **points)
        axes[0].axhline(1, color=style.DARK, lw=0.9, ls="--", label="asked for by the hinge loss")
        axes[1].plot(shares, SLOPE * shares, color=style.VERMILLION, ls=(0, (1, 1.5)), lw=1.6, label=f"{SLOPE:g} R")
        for ax, label in zip(axes, ("mean margin zF", "hinge loss"), strict=True):
            ax.set(xlabel="large neurons removed, R", ylabel=label, ylim=(0, None))
            ax.xaxis.set_major_formatter(PercentFormatter(1, 0))
        named = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        fig.legend(named.values(), named.keys(), loc="outside lower center", ncols=4, handlelength=1.6, columnspacing=1.2)
    return fig


def by_luck(norms: Sequence[np.ndarray], angles: Sequence[np.ndarray], names: Sequence[str]) -> Figure:
    """Neurons after training, by how often they were active before it: norms of rows of W_O (left) and angles of the label
    half to the q of their sign (right, units of π), a point a neuron. norms, angles: for each group all its neurons, of all
    runs. Bars: medians."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 3.0), sharex=True)
        labels = ("norm of the row of $W_O$", "angle to the neuron's own label (π)")
        for ax, groups, label in zip(axes, (norms, angles), labels, strict=True):
            for i, group in enumerate(groups):
                side = i + 0.6 * ((np.arange(len(group)) * 0.618) % 1 - 0.5)  # spread evenly, and the same in every drawing
                ax.plot(side, group, "o", color=style.DARK, ms=2.5, alpha=0.3, mew=0)
                if len(group):
                    ax.hlines(np.median(group), i - 0.4, i + 0.4, color=style.VERMILLION, lw=2)
            ax.set_xticks(range(len(names)), names, fontsize=8)
            ax.set(xlabel="own prompts that it is active on at first (%)", ylabel=label, ylim=(0, None))
        axes[1].set_ylim(-0.03, 1.03)
        axes[1].set_yticks([0, 0.5, 1], ["0, reads\nits label", "0.5", "1, reads\nthe other"])
    return fig
