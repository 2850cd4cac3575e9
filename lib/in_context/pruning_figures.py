"""Figures of pruning: sorted norms, errors and losses against what is removed, and which neurons stay small (Figs 14, 15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from lib.core import style
from lib.in_context.pruning_checks import RATES, SHARES, WIDEST, Cost

HOW = {"magnitude": ("smallest first", style.SYMMETRIC, "-"), "random": ("at random", style.INFERENTIAL, "--")}
KINDS = (("error", "share of wrong signs"), ("loss", "hinge loss"))


def sorted_norms(trained: np.ndarray, start: np.ndarray, bounds: Sequence[float]) -> Figure:
    """Norms of the rows of W_O in ascending order, (R, m) after and before training: thin a run, thick the mean; the band is
    where the R bounds between small and large lie (Fig. 14)."""
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH * 0.75, 3.1))
        share = (np.arange(trained.shape[1]) + 0.5) / trained.shape[1]
        for values, colour, dash, label in (
            (trained, style.SEEN, "-", "after training"),
            (start, style.NEITHER, "--", "before"),
        ):
            ordered = np.sort(values, axis=1)
            ax.plot(share, ordered.T, color=colour, lw=0.5, alpha=0.4, ls=dash)
            ax.plot(share, ordered.mean(0), color=colour, ls=dash, label=label)
        ax.axhspan(min(bounds), max(bounds), color=style.INFERENTIAL, alpha=0.35, lw=0.8, label="bound between small and large")
        ax.xaxis.set_major_formatter(PercentFormatter(1))
        ax.set(xlabel="neurons, smallest first", ylabel="norm of the row of $W_O$", xlim=(0, 1), ylim=(0, None))
        ax.legend()
    return fig


def _band(ax: Axes, x: Sequence[float], values: np.ndarray, **look: object) -> None:
    """Mean over runs and the range of all runs. values: (R, n)."""
    ax.plot(x, values.mean(0), **look)
    ax.fill_between(x, values.min(0), values.max(0), color=look["color"], alpha=0.15, lw=0)


def _percent(ax: Axes, errors: Sequence[np.ndarray] | None, prompts: int) -> None:
    """Percent below, and where errors are given a logarithmic axis that has room for none at all."""
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    if errors is not None:
        floor = 1 / prompts
        ax.set_yscale("symlog", linthresh=floor, linscale=0.5)
        ax.set_ylim(0, max(10 * floor, 2 * max(float(e.max()) for e in errors)))
        ax.yaxis.set_minor_locator(plt.NullLocator())


def pruning(found: Mapping[str, Cost], prompts: int) -> Figure:
    """Fig. 14: errors (top) and hinge losses against the share of neurons that is removed, by magnitude and at random, over
    the paper's range (left) and beyond. found: {how: costs (R, n)}; `prompts` is how many a run answers."""
    with style.look():
        fig, axes = plt.subplots(2, 2, figsize=(style.WIDTH, 4.6), sharex="col")
        for (kind, label), row in zip(KINDS, axes, strict=True):
            for ax, widest in zip(row, (WIDEST, RATES[-1]), strict=True):
                n = RATES.index(widest) + 1
                for how, (name, colour, dash) in HOW.items():
                    _band(ax, RATES[:n], getattr(found[how], kind)[:, :n], color=colour, ls=dash, label=name)
                _percent(ax, [getattr(c, kind)[:, :n] for c in found.values()] if kind == "error" else None, prompts)
                if kind == "loss":
                    ax.set_ylim(0, None)
                    ax.set_xlabel("neurons removed")
            row[0].set_ylabel(label)
        axes[0, 0].set_title("the paper's range", fontsize=9)
        axes[0, 1].set_title("nearly all", fontsize=9)
        axes[1, 0].legend()
    return fig


def pruning_by_alpha(found: Mapping[float, Cost], prompts: int) -> Figure:
    """Fig. 15: error (left) and hinge loss after pruning by magnitude, for several α'. found: {α': costs (R, n)}."""
    colours = (style.INFERENTIAL, style.KEY, style.SYMMETRIC)
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9))
        n = RATES.index(WIDEST) + 1
        for (alpha, costs), colour, dash in zip(found.items(), colours, ("-", "--", ":"), strict=True):
            for ax, (kind, _) in zip(axes, KINDS, strict=True):
                _band(ax, RATES[:n], getattr(costs, kind)[:, :n], color=colour, ls=dash, label=f"α' = {alpha:g}")
        for ax, (kind, label) in zip(axes, KINDS, strict=True):
            _percent(ax, [c.error[:, :n] for c in found.values()] if kind == "error" else None, prompts)
            ax.set(xlabel="neurons removed, smallest first", ylabel=label)
        axes[1].set_ylim(0, None)
        axes[1].legend()
    return fig


def share_of_large(long: Cost, short: Cost, lengths: tuple[int, int], prompts: int) -> Figure:
    """Hinge loss (left) and error against the share R of the large neurons that is removed at random, for two lengths of
    prompts. Dotted: the line .2 R of the claim."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9))
        for costs, length, colour, dash in zip(
            (long, short), lengths, (style.SYMMETRIC, style.INFERENTIAL), ("-", "--"), strict=True
        ):
            _band(axes[0], SHARES, costs.loss, color=colour, ls=dash, label=f"l = {length}")
            _band(axes[1], SHARES, costs.error, color=colour, ls=dash)
        axes[0].plot(SHARES, 0.2 * np.array(SHARES), color=style.SEEN, ls=":", lw=1.2, label=".2 R")
        _percent(axes[1], [long.error, short.error], prompts)
        axes[0].xaxis.set_major_formatter(PercentFormatter(1))
        for ax, label in zip(axes, ("hinge loss", "share of wrong signs"), strict=True):
            ax.set(xlabel="large neurons removed, R", ylabel=label)
        axes[0].set_ylim(0, None)
        axes[0].legend()
    return fig


def by_luck(norms: Sequence[np.ndarray], angles: Sequence[np.ndarray], names: Sequence[str]) -> Figure:
    """Neurons after training, by how often they were active before it: norms of rows (left) and distances of the label half
    from ±q (right, units of π). norms, angles: for each group all its neurons, of all runs."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9), sharex=True)
        places = [i for i, group in enumerate(norms) if len(group)]
        for ax, groups, label in zip(
            axes, (norms, angles), ("norm of the row of $W_O$", "angle of the label half to its q (π)"), strict=True
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
            ax.set_xticks(range(len(names)), names, fontsize=8)
            ax.set(xlabel="active before training, of the prompts that fit", ylabel=label, ylim=(0, None))
    return fig
