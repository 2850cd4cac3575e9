"""Figures of one story: attention and steps against δ, maps over δ and γ, runs along training, attention against errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm, PowerNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lib.core.read import style
from lib.core.record.store import StoredRun
from lib.in_context.drawing import band
from lib.in_context.runs import LEVEL, history, steps_to
from lib.in_context.story.metrics import (
    Grid,
    delta_of,
    deltas_of,
    end_attention,
    everyone,
    gammas_of,
    learned,
    steps,
    unseen_error,
)

MARKERS = "oDs^vP"
MAPS = (
    ("steps", f"steps to a loss of {LEVEL:g} on unseen tasks", 0),
    ("excess", "excess loss on unseen tasks", 3),
)
"""Name, title and digits of each map."""


def _colours(values: Sequence[float]) -> dict[float, object]:
    return dict(zip(values, style.GAMMA(np.linspace(0, 0.95, len(values))), strict=True))


def against_delta(found: Grid, before: Mapping[tuple[float, float], float], theory: tuple[np.ndarray, np.ndarray]) -> Figure:
    """Left: attention on the same pattern `before` training (open) and after (filled, a point a run), and the softmax of δ²
    times products of columns at the mean counts (line, (n,) δ and attention). Right: steps to the held-out loss, a point a
    run; a triangle where it is never reached; lines through the means."""
    gammas, colours = gammas_of(found), _colours(gammas_of(found))
    aside = {gamma: 1.03 ** (2 * i - len(gammas) + 1) for i, gamma in enumerate(gammas)}
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 3.1))
        axes[0].plot(*theory, color=style.GREY, lw=1.2, zorder=0)
        for (delta, gamma), runs in found.items():
            x = delta * aside[gamma]
            look = {"color": colours[gamma], "ms": 4, "alpha": 0.7}
            axes[0].plot(x, before[delta, gamma], "o", mfc="none", **look)
            axes[0].plot([x] * len(runs), [end_attention(run) for run in runs], "o", mew=0, **look)
            for run in runs:
                axes[1].plot(x, steps(run), "o" if steps_to(run) else "^", mew=0, **look)
        for gamma in gammas:
            line = [(d * aside[gamma], np.mean([steps(run) for run in runs])) for (d, g), runs in found.items() if g == gamma]
            axes[1].plot(*np.array(line).T, color=colours[gamma], lw=1.3, label=f"γ = {gamma:g}", zorder=0)
        axes[0].set(ylabel="attention on the same pattern", ylim=(0, 1.03))
        axes[1].set(ylabel=f"steps to a held-out loss of {LEVEL:g}", yscale="log")
        for ax in axes:
            ax.set(xscale="log", xlabel="start of attention, δ")
            ax.set_xticks(deltas_of(found), [f"{d:g}" for d in deltas_of(found)])
            ax.minorticks_off()
        fig.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=len(gammas))
    return fig


def maps(values: Mapping[str, np.ndarray], deltas: Sequence[float], gammas: Sequence[float]) -> Figure:
    """Means over seeds on the grid, a panel for each of MAPS: {name: (δ, γ)}; darker is slower, or farther behind. NaN: no
    run has the value."""
    with style.look():
        fig, axes = plt.subplots(1, len(MAPS), figsize=(style.WIDTH, 2.6), sharey=True)
        for ax, (name, title, digits) in zip(axes.flat, MAPS, strict=True):
            grid = values[name]
            top = float(np.nanmax(grid)) if np.isfinite(grid).any() else 1.0
            scale = LogNorm(float(np.nanmin(grid)) / 1.5, top * 1.01) if name == "steps" else PowerNorm(0.5, 0, max(top, 1e-3))
            ax.imshow(grid, origin="lower", aspect="auto", cmap=style.FILL[style.BLUE], norm=scale)
            for (row, column), value in np.ndenumerate(grid):
                text = "–" if np.isnan(value) else f"{value:.{digits}f}"
                dark = not np.isnan(value) and float(scale(value)) > 0.6
                ax.text(column, row, text, ha="center", va="center", fontsize=8.5, color="white" if dark else "#222222")
            style.tick_grid(ax, list(gammas), [f"{d:g}" for d in deltas], "start of $W_O$, γ (smaller: larger weights)", "")
            ax.set_title(title, fontsize=9)
            style.bare(ax)
        axes[0].set_ylabel("start of attention, δ")
    return fig


def along(groups: Mapping[str, Sequence[StoredRun]]) -> Figure:
    """Along training, a column a group: share of wrong signs on trained and unseen tasks (top), attention (below)."""
    with style.look():
        fig, axes = plt.subplots(2, len(groups), figsize=(style.WIDTH, 4.0), sharex=True, sharey="row", squeeze=False)
        for column, (title, runs) in zip(axes.T, groups.items(), strict=True):
            steps_there, seen = history(runs, "seen")
            band(column[0], steps_there, 1 - seen, color=style.DARK, ls="--", label="trained tasks")
            band(column[0], steps_there, 1 - history(runs, "unseen")[1], color=style.VERMILLION, label="unseen tasks")
            band(column[1], *history(runs, "attention.1"), color=style.GREEN)
            column[0].set_title(title, fontsize=9)
            column[0].set_ylim(0, 0.6)
            column[1].set(xlabel="training step", xscale="log", ylim=(0, 1.02))
        axes[0, 0].set_ylabel("share of wrong signs")
        axes[1, 0].set_ylabel("attention")
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def copying(found: Grid, floor: float, seed: int = 0) -> Figure:
    """Attention on the same pattern against the share of wrong signs on unseen tasks, a point a run at the end: colour γ,
    marker δ, a cross where the run did not learn its tasks; how many runs err nowhere. Thin: the way there of the runs of one
    seed. Below one of 1,000 prompts the axis is linear. Dotted: `floor`."""
    gammas, deltas = gammas_of(found), deltas_of(found)
    colours, marks = _colours(gammas), dict(zip(deltas, MARKERS, strict=False))
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 3.4))
        for (_, gamma), runs in found.items():
            if one := [run for run in runs if run.spec.seed == seed and run.status != "diverged"]:
                way = history(one, "attention.1")[1][0], 1 - history(one, "unseen")[1][0]
                ax.plot(*way, color=colours[gamma], lw=0.8, alpha=0.6, zorder=0)
        for run in everyone(found):
            mark = {"marker": marks[delta_of(run)], "mew": 0} if learned(run) else {"marker": "x", "mew": 1}
            ax.plot(end_attention(run), unseen_error(run), ls="", color=colours[run.spec.gamma], alpha=0.75, ms=5, **mark)
        ax.axhline(floor, color="#888888", lw=0.9, ls=":", zorder=0)
        ax.set_yscale("symlog", linthresh=1e-3, linscale=0.5)
        ax.set(xlabel="attention on the same pattern", ylabel="wrong on unseen tasks", ylim=(-2e-4, 1))
        if zero := sum(learned(run) and unseen_error(run) == 0 for run in everyone(found)):
            ax.text(0.02, 0, f"{zero} runs without an error →", transform=ax.get_yaxis_transform(), va="center", fontsize=8.5)
        handles = [Line2D([], [], marker="o", ls="", color=colours[g], label=f"γ = {g:g}") for g in gammas]
        outline = {"ls": "", "mfc": "none", "mec": style.DARK}
        handles += [Line2D([], [], marker=marks[d], label=f"δ = {d:g}", **outline) for d in deltas]
        if not all(map(learned, everyone(found))):
            handles.append(Line2D([], [], marker="x", label="did not learn", **outline))
        ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return fig
