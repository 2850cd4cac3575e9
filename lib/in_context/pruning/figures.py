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
from lib.in_context.pruning.numbers import RATES, SHARES, SLOPE, WIDEST, Cost, Norms

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
        axes[0].set_ylim(0, 1.45 * float(max(one.after.max(), one.before.max())))  # room for the legend
        axes[0].legend(loc="upper left")
        after, before, bounds = everyone.after, everyone.before, everyone.bounds
        bins = np.linspace(0, float(after.max()) * 1.02, 40)
        axes[1].hist(after.ravel(), bins=bins, color=style.DARK, alpha=0.7, label="after training")
        axes[1].hist(before.ravel(), bins=bins, color=style.GREY, alpha=0.7, label="before")
        axes[1].axvspan(min(bounds), max(bounds), color=style.VERMILLION, alpha=0.25, lw=0)
        axes[1].set(
            xlabel="norm of the row of $W_O$", ylabel=f"neurons of {len(after)} model{'s' * (len(after) > 1)}", yscale="log"
        )
        axes[1].legend()
    return fig


def _errors(ax: Axes, values: Sequence[np.ndarray], prompts: int) -> None:
    """A logarithmic axis for shares of wrong signs with room for none at all; below one prompt of `prompts` it is linear."""
    floor = 1 / prompts
    ax.set_yscale("symlog", linthresh=floor, linscale=0.4)
    ax.set_ylim(0, max(10 * floor, 3 * max(float(v.max()) for v in values)))
    ax.yaxis.set_minor_locator(plt.NullLocator())


def pruning(found: Mapping[str, Cost], prompts: int) -> Figure:
    """Fig. 14: hinge losses against the share of neurons that is removed, over the paper's range (left), and shares of wrong
    signs over nearly all (right). found: {order: costs (R, n)}; `prompts` is how many a run answers."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9))
        n = RATES.index(WIDEST) + 1
        for how, costs in found.items():
            label, colour, dash = HOW[how]
            wide = 3 if how == "magnitude" else 1.5  # where one lies on the other, both are seen
            band(axes[0], RATES[:n], costs.loss[:, :n], color=colour, ls=dash, label=label)
            band(axes[1], RATES, costs.error, color=colour, ls=dash, lw=wide)
        axes[0].set(ylabel="hinge loss", ylim=(0, None))
        _errors(axes[1], [c.error for c in found.values()], prompts)
        axes[1].set_ylabel("share of wrong signs")
        for ax in axes:
            ax.set_xlabel("neurons removed")
            ax.xaxis.set_major_formatter(PercentFormatter(1, 0))
        axes[0].legend(loc="upper left")
    return fig


def pruning_by_alpha(found: Mapping[float, Cost]) -> Figure:
    """Fig. 15: hinge loss after removing the smallest rows of W_O, for several α' (left), and how much of it is above that of
    the largest α', seed by seed (right). found: {α': costs (R, n)}."""
    colours = (style.VERMILLION, style.GREEN, style.BLUE)
    last = found[max(found)]
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9))
        n = RATES.index(WIDEST) + 1
        for (alpha, costs), colour, dash, wide in zip(found.items(), colours, ("-", "--", ":"), (3, 2, 1.5), strict=True):
            look = {"color": colour, "ls": dash, "lw": wide, "label": f"α' = {alpha:g}"}
            band(axes[0], RATES[:n], costs.loss[:, :n], **look)
            if costs is not last:
                band(axes[1], RATES[:n], (costs.loss - last.loss)[:, :n], **look)
        axes[0].set(ylabel="hinge loss", ylim=(0, None))
        axes[1].set(ylabel=f"hinge loss above that at α' = {max(found):g}")
        axes[1].axhline(0, color=style.GREY, lw=0.9, zorder=0)
        for ax in axes:
            ax.set_xlabel("neurons removed, smallest first")
            ax.xaxis.set_major_formatter(PercentFormatter(1, 0))
            ax.legend(loc="upper left")
    return fig


def share_of_large(left: Cost, scaled: Cost) -> Figure:
    """Theorem 3: what is left after removing a share R of the large neurons at random, (R, n) each. Left: mean margins, and the
    one that the hinge loss asks for. Right: hinge losses. Grey: every margin times 1 − R. Dots: the claim's line."""
    shares = np.array(SHARES)
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9))
        for ax, name in zip(axes, ("margin", "loss"), strict=True):
            thick = {"color": style.GREY, "lw": 5, "alpha": 0.6, "solid_capstyle": "butt", "zorder": 0}
            ax.plot(shares, getattr(scaled, name).mean(0), label="every margin times 1 − R", **thick)
            band(ax, shares, getattr(left, name), color=style.BLUE, label="large neurons removed", lw=1.5)
        axes[0].axhline(1, color=style.DARK, lw=0.9, ls="--", label="asked for by the hinge loss")
        axes[1].plot(shares, SLOPE * shares, color=style.DARK, ls=(0, (1, 2)), lw=1.2, label=f"{SLOPE:g} R")
        for ax, label in zip(axes, ("mean margin zF", "hinge loss"), strict=True):
            ax.set(xlabel="large neurons removed, R", ylabel=label, ylim=(0, None))
            ax.xaxis.set_major_formatter(PercentFormatter(1, 0))
            ax.legend(fontsize=8)
    return fig


def by_luck(norms: Sequence[np.ndarray], angles: Sequence[np.ndarray], names: Sequence[str]) -> Figure:
    """Neurons after training, by how often they were active before it: norms of rows of W_O (left) and angles of the label
    half to the q of their sign (right, units of π). norms, angles: for each group all its neurons, of all runs. Boxes:
    quartiles; whiskers: 5 to 95 %."""
    places = [i for i, group in enumerate(norms) if len(group)]
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9), sharex=True)
        for ax, groups, label in zip(
            axes, (norms, angles), ("norm of the row of $W_O$", "angle of the label half (π)"), strict=True
        ):
            boxes = ax.boxplot(
                [groups[i] for i in places],
                positions=places,
                widths=0.6,
                whis=(5, 95),
                showfliers=False,
                patch_artist=True,
                medianprops={"color": style.VERMILLION, "lw": 1.6},
            )
            for box in boxes["boxes"]:
                box.set(facecolor=style.LIGHT, edgecolor=style.DARK, lw=0.8)
            ax.set_xticks(range(len(names)), names, fontsize=7.5)
            ax.set(xlabel="active before training (%)", ylabel=label, ylim=(0, None))
    return fig
