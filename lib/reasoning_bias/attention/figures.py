"""Figures of attention: the causal average, Lemma 1 as a curve, the two circuits, alignment of W^V, what is read."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lib.core.read import style
from lib.core.record.store import StoredRun
from lib.reasoning_bias.attention.metrics import CIRCUITS_OF, ROLES, alignments, selects_late
from lib.reasoning_bias.runs import by_gamma, epoch
from lib.reasoning_bias.task import LENGTH


def causal(matrices: Mapping[str, np.ndarray]) -> Figure:
    """Fig. 6: first attention matrices, (9, 9) each, times i: 1 everywhere is the causal average."""
    with style.look():
        fig, axes = plt.subplots(1, len(matrices), figsize=(style.WIDTH, 2.3), sharey=True)
        for ax, (title, matrix) in zip(axes, matrices.items(), strict=True):
            relative = matrix * np.arange(1, LENGTH + 1)[:, None]
            ax.set_facecolor("#ABABAB")  # where a position cannot look; darker than any pale cell
            image = ax.imshow(np.where(np.tri(LENGTH), relative, np.nan), cmap=style.COSINE, vmin=0, vmax=2)
            ax.set_xticks(range(0, LENGTH, 2), range(1, LENGTH + 1, 2))
            ax.set_yticks(range(0, LENGTH, 2), range(1, LENGTH + 1, 2))
            ax.set_title(title, fontsize=9)
            style.bare(ax)
            ax.set_xlabel("attends to position")
        axes[0].set_ylabel("position i")
        fig.colorbar(image, ax=axes, label="attention × i", shrink=0.8, extend="max", ticks=[0, 1, 2])
    return fig


LOOK = {True: (style.VERMILLION, "o"), False: (style.BLUE, "s")}
"""Colour and mark of a run with the paper's circuit, and with the other."""


def circuits(runs: Sequence[StoredRun], earlier: Sequence[StoredRun] = ()) -> Figure:
    """Held-out pairs right at the end against γ, a mark a run by its circuit; above, how many runs of each γ have the paper's.
    Hollow: `earlier` runs."""
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 3.4))
        for late, (colour, mark) in LOOK.items():
            for group, filled in ((earlier, False), (runs, True)):
                own = [run for run in group if selects_late(run) == late]
                shift = (0.012 if late else -0.012) + (0.0 if filled else 0.03 * (1 if late else -1))
                look = {"mfc": colour if filled else "none", "mec": colour, "alpha": 0.8 if filled else 0.5}
                label = CIRCUITS_OF[late] if filled else None
                x, y = [run.spec.gamma + shift for run in own], [run.metrics["held out"] for run in own]
                ax.plot(x, y, mark, ms=6, label=label, **look)
        for gamma, group in by_gamma(runs).items():
            ax.text(gamma, 1.06, f"{sum(map(selects_late, group))} of {len(group)}", ha="center", color=LOOK[True][0])
        ax.set(xlabel="initialization rate γ", ylabel="held-out pairs right", ylim=(-0.02, 1.0))
        ax.set_xticks(sorted(by_gamma(runs)))
        fig.legend(loc="outside lower center", ncols=2)
    return fig


def scales(groups: Mapping[str, Sequence[StoredRun]]) -> Figure:
    """Held-out pairs (left) and memory rows of training (right) that are right at the end, a row a setting, a mark a run by its
    circuit; beside the names, how many runs have the paper's."""
    groups = {name: runs for name, runs in groups.items() if runs}
    count = lambda runs: f"{sum(map(selects_late, runs))} of {len(runs)}"
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 1.3 + 0.4 * len(groups)), sharey=True)
        for ax, metric, title in zip(axes, ("held out", "memory"), ("held-out pairs", "memory rows"), strict=True):
            for row, runs in enumerate(groups.values()):
                for i, run in enumerate(sorted(runs, key=lambda run: run.spec.seed)):
                    colour, mark = LOOK[selects_late(run)]
                    ax.plot(run.metrics[metric], row + 0.5 * (i / max(1, len(runs) - 1) - 0.5), mark, color=colour, alpha=0.8)
            for row in range(len(groups)):
                ax.axhline(row, color=style.LIGHT, lw=0.6, zorder=0)
            ax.set(xlabel="share right at the end", xlim=(-0.04, 1.04), ylim=(len(groups) - 0.5, -0.5))
            ax.set_title(title, fontsize=10)
        axes[0].set_yticks(range(len(groups)), [f"{name}\n{count(runs)}" for name, runs in groups.items()])
        lines = [
            Line2D([], [], color=colour, marker=mark, ls="", label=CIRCUITS_OF[late]) for late, (colour, mark) in LOOK.items()
        ]
        fig.legend(handles=lines, loc="outside lower center", ncols=2)
    return fig


def decided(runs: Sequence[StoredRun], epochs: float, told: float, chance: float) -> Figure:
    """Alignment of the first singular direction of W^V with the anchors along training, a line a run by its circuit: with the
    reasoning anchors (left), with the memory anchors (right). Dashed: the epoch and the line that tell them apart."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 3.0), sharey=True)
        for run in runs:
            steps, kinds = alignments(run)
            colour = LOOK[selects_late(run)][0]
            for ax, kind in zip(axes, ("reasoning", "memory"), strict=True):
                ax.plot(steps / epoch(run.spec), kinds[kind].mean(1), color=colour, lw=0.9, alpha=0.7)
        for ax, kind in zip(axes, ("reasoning", "memory"), strict=True):
            ax.axhline(chance, color=style.GREY, lw=0.8, ls=":")
            ax.set(xscale="log", xlabel="epoch", ylim=(0, 1))
            ax.set_title(f"with {kind} anchors", fontsize=10)
        axes[0].axvline(epochs, color="#888888", lw=0.8, ls="--")
        axes[0].axhline(told, color="#888888", lw=0.8, ls="--")
        axes[0].set_ylabel("|cosine| of W$^V$'s first direction")
        lines = [Line2D([], [], color=LOOK[late][0], label=CIRCUITS_OF[late]) for late in LOOK]
        lines.append(Line2D([], [], color=style.GREY, ls=":", label="two random directions"))
        fig.legend(handles=lines, loc="outside lower center", ncols=3)
    return fig


def lemma(before: Mapping[float, Sequence[float]], during: Mapping[str, Mapping[float, Sequence[float]]]) -> Figure:
    """Lemma 1 as a curve: the largest distance ε of the first attention from 1 / i against γ, before training and at some
    epochs. Points are seeds, lines their geometric means."""
    series = {"before training": before, **during}
    colours = style.GAMMA(np.linspace(0, 0.95, len(series)))
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 3.7))
        for (name, points), colour, marker in zip(series.items(), colours, itertools.cycle("osD^vP"), strict=False):
            gammas = sorted(points)
            for gamma in gammas:
                ax.plot([gamma] * len(points[gamma]), points[gamma], marker, color=colour, ms=3, alpha=0.4, mew=0)
            ax.plot(gammas, [np.exp(np.mean(np.log(points[g]))) for g in gammas], color=colour, marker=marker, ms=4, label=name)
        ax.set(yscale="log", xlabel="initialization rate γ", ylabel="ε, largest |A − 1 / i|")
        fig.legend(loc="outside lower center", ncols=len(series))
    return fig


def reading(panels: Mapping[str, np.ndarray], average: np.ndarray) -> Figure:
    """The appendix's second attention: how a query shares its attention out among the roles, in stacked bars that end at 1, a
    bar for each place of the key: the second anchor's in layer 1 (top), the last token's there and in layer 2 (below).

    panels: {title: (3, 7, 4)}, a column each; average: (3, 7), what the causal average gives to one token: a dash is what it
    gives to all three.
    """
    colours = (style.GREEN, style.PURPLE, style.ORANGE, style.LIGHT)
    looks = ("second anchor,\nlayer 1", "last token,\nlayer 1", "last token,\nlayer 2")
    with style.look():
        fig, axes = plt.subplots(3, len(panels), figsize=(style.WIDTH, 4.8), sharex=True, sharey=True, squeeze=False)
        for column, (title, found) in zip(axes.T, panels.items(), strict=True):
            for ax, shares, one in zip(column, found, average, strict=True):
                places = np.arange(1, len(shares) + 1)
                for role, (name, colour) in enumerate(zip(ROLES, colours, strict=True)):
                    below = shares[:, :role].sum(1)
                    ax.bar(places, shares[:, role], 0.85, bottom=below, color=colour, lw=0, label=name)
                ax.plot(places, (len(ROLES) - 1) * one, "_", color=style.DARK, ms=13, mew=1.6, label="an average, all three")
                ax.set(ylim=(0, 1), xticks=places[::2])
            column[0].set_title(title, fontsize=9)
            column[-1].set_xlabel("position of the key")
        for ax, look in zip(axes[:, 0], looks, strict=True):
            ax.set_ylabel(look)
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig
