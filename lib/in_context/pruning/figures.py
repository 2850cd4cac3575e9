"""Figures of pruning: sorted norms, errors and losses against what is removed, and which neurons stay small (Figs 14, 15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from lib.core.read import style
from lib.in_context.drawing import band
from lib.in_context.pruning.numbers import RATES, SHARES, SLOPE, WIDEST, Cost

HOW = {
    "W_O": ("smallest rows of $W_O$ first", style.SYMMETRIC, "-"),
    "W_O W_V": ("smallest rows of $W_O W_V$ first", style.KEY, ":"),
    "random": ("at random", style.INFERENTIAL, "--"),
}
MATH = {"W_O": "$W_O$", "W_O W_V": "$W_O W_V$"}


def sorted_norms(panels: Mapping[str, tuple[np.ndarray, np.ndarray, Sequence[float]]]) -> Figure:
    """Fig. 14: norms of rows in ascending order, for each size of a neuron (R, m) after and before training, and the R bounds
    above which a neuron is large, as a band. Thin: a run; thick: the mean."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 2.9), sharey=True)
        for ax, (name, (after, before, bounds)) in zip(axes, panels.items(), strict=True):
            share = (np.arange(after.shape[1]) + 0.5) / after.shape[1]
            for values, colour, dash, label in (
                (after, style.SEEN, "-", "after training"),
                (before, style.NEITHER, "--", "before"),
            ):
                ordered = np.sort(values, axis=1)
                ax.plot(share, ordered.T, color=colour, lw=0.5, alpha=0.4, ls=dash)
                ax.plot(share, ordered.mean(0), color=colour, ls=dash, label=label)
            ax.axhspan(min(bounds), max(bounds), color=style.INFERENTIAL, alpha=0.4, lw=0.8, label="bound of large neurons")
            ax.xaxis.set_major_formatter(PercentFormatter(1, 0))
            ax.set(xlabel="neurons, smallest first", title=f"rows of {MATH[name]}", xlim=(0, 1), ylim=(0, None))
        axes[0].set_ylabel("norm")
        axes[-1].legend(loc="upper left")
    return fig


def _errors(ax: Axes, values: Sequence[np.ndarray], prompts: int) -> None:
    """A logarithmic axis for shares of wrong signs with room for none at all; below one prompt of `prompts` it is linear."""
    floor = 1 / prompts
    ax.set_yscale("symlog", linthresh=floor, linscale=0.4)
    ax.set_ylim(0, max(10 * floor, 3 * max(float(v.max()) for v in values)))
    ax.yaxis.set_minor_locator(plt.NullLocator())


def pruning(found: Mapping[str, Cost], prompts: int) -> Figure:
    """Fig. 14: shares of wrong signs (top) and hinge losses against the share of neurons that is removed, over the paper's
    range (left) and beyond. found: {order: costs (R, n)}; `prompts` is how many a run answers."""
    with style.look():
        fig, axes = plt.subplots(2, 2, figsize=(style.WIDTH, 4.6), sharex="col")
        for column, widest, title in zip(axes.T, (WIDEST, RATES[-1]), ("the paper's range", "nearly all"), strict=True):
            n = RATES.index(widest) + 1
            for how, costs in found.items():
                label, colour, dash = HOW[how]
                band(column[0], RATES[:n], costs.error[:, :n], color=colour, ls=dash, label=label)
                band(column[1], RATES[:n], costs.loss[:, :n], color=colour, ls=dash)
            _errors(column[0], [c.error[:, :n] for c in found.values()], prompts)
            column[0].set_title(title, fontsize=9)
            column[1].set(xlabel="neurons removed", ylim=(0, None))
            column[1].xaxis.set_major_formatter(PercentFormatter(1, 0))
        axes[0, 0].set_ylabel("share of wrong signs")
        axes[1, 0].set_ylabel("hinge loss")
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=len(found))
    return fig


def pruning_by_alpha(found: Mapping[float, Cost], none: Mapping[float, float]) -> Figure:
    """Fig. 15: share of wrong signs (left) and hinge loss after removing the smallest rows of W_O, for several α'. Grey: how
    many prompts have no example with the query's pattern. found: {α': costs (R, n)}."""
    colours = (style.INFERENTIAL, style.KEY, style.SYMMETRIC)
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9))
        n = RATES.index(WIDEST) + 1
        for (alpha, costs), colour, dash in zip(found.items(), colours, ("-", "--", ":"), strict=True):
            band(axes[0], RATES[:n], costs.error[:, :n], color=colour, ls=dash, label=f"α' = {alpha:g}")
            band(axes[1], RATES[:n], costs.loss[:, :n], color=colour, ls=dash, label=f"α' = {alpha:g}")
            axes[0].axhline(none[alpha], color=style.NEITHER, lw=0.9, ls=dash, zorder=0)
        axes[0].set(yscale="log", ylabel="share of wrong signs")
        axes[0].set_yticks([0.003, 0.01, 0.03, 0.1], ["0.003", "0.01", "0.03", "0.1"])
        axes[0].minorticks_off()
        axes[1].set(ylabel="hinge loss", ylim=(0, None))
        for ax in axes:
            ax.set_xlabel("neurons removed, smallest first")
            ax.xaxis.set_major_formatter(PercentFormatter(1, 0))
        axes[1].legend(loc="center right")
    return fig


def share_of_large(left: Mapping[str, np.ndarray], losses: Mapping[str, np.ndarray], scaled: np.ndarray) -> Figure:
    """Theorem 3: what is left after removing a share R of the large neurons at random, for each size of a neuron. Left: the
    mean margin over the whole one, {size: (R, n)}. Right: hinge losses. Grey: every margin times 1 − R. Dots: the claim's line.
    """
    shares = np.array(SHARES)
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9))
        for name in losses:
            look = {"color": HOW[name][1], "ls": HOW[name][2], "label": f"large rows of {MATH[name]}"}
            band(axes[0], shares, left[name], **look)
            band(axes[1], shares, losses[name], **look)
        axes[0].plot(shares, 1 - shares, color=style.NEITHER, lw=1, zorder=0)
        axes[1].plot(shares, scaled.mean(0), color=style.NEITHER, lw=1, label="every margin times 1 − R", zorder=0)
        axes[1].plot(shares, SLOPE * shares, color=style.SEEN, ls=(0, (1, 2)), lw=1.2, label=f"{SLOPE:g} R")
        for ax, label in zip(axes, ("mean margin, of the whole", "hinge loss"), strict=True):
            ax.set(xlabel="large neurons removed, R", ylabel=label, ylim=(0, None))
            ax.xaxis.set_major_formatter(PercentFormatter(1, 0))
        axes[1].legend(fontsize=8)
    return fig


def by_luck(norms: Sequence[np.ndarray], angles: Sequence[np.ndarray], names: Sequence[str]) -> Figure:
    """Neurons after training, by how often they were active before it: norms of rows of W_O W_V (left) and angles of the label
    half to the q of their sign (right, units of π). norms, angles: for each group all its neurons, of all runs. Boxes:
    quartiles; whiskers: 5 to 95 %."""
    places = [i for i, group in enumerate(norms) if len(group)]
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9), sharex=True)
        for ax, groups, label in zip(
            axes, (norms, angles), ("norm of the row of $W_O W_V$", "angle of the label half (π)"), strict=True
        ):
            boxes = ax.boxplot(
                [groups[i] for i in places],
                positions=places,
                widths=0.6,
                whis=(5, 95),
                showfliers=False,
                patch_artist=True,
                medianprops={"color": style.INFERENTIAL, "lw": 1.6},
            )
            for box in boxes["boxes"]:
                box.set(facecolor=style.NOISE, edgecolor=style.SEEN, lw=0.8)
            ax.set_xticks(range(len(names)), names, fontsize=7.5)
            ax.set(xlabel="active before training (%)", ylabel=label, ylim=(0, None))
    return fig
