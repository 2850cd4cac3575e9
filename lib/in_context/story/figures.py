"""Figures of one story: attention and steps against δ, maps over δ and γ, runs along training, attention against errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lib.core.read import style
from lib.core.read.measures import history
from lib.in_context.runs import LEVEL, steps_to
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


def _colours(values: Sequence[float]) -> dict[float, Any]:
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


def behind(found: Mapping[str, Mapping[float, np.ndarray]]) -> Figure:
    """By how much the loss on unseen tasks is larger where that on trained ones passes LEVEL: a panel a readout, a dot a run, a
    bar the mean. found: {readout: {γ: (R,)}}."""
    with style.look():
        fig, axes = plt.subplots(1, len(found), figsize=(style.WIDTH, 2.9), sharey=True, squeeze=False)
        for ax, (name, groups) in zip(axes[0], found.items(), strict=True):
            for i, values in enumerate(groups.values()):
                ax.plot(i + np.linspace(-0.12, 0.12, len(values)), values, "o", color=style.BLUE, ms=5, alpha=0.7, mew=0)
                if len(values):
                    ax.plot([i - 0.25, i + 0.25], [values.mean()] * 2, color=style.DARK, lw=1.5)
            ax.set_xticks(range(len(groups)), [f"{gamma:g}" for gamma in groups])
            ax.set_xlabel("start of $W_O$, γ")
            ax.set_title(f"{name} readout", fontsize=10)
        every = [values.max() for groups in found.values() for values in groups.values() if len(values)]
        axes[0, 0].set_ylim(0, 1.08 * max(every, default=1.0))
        axes[0, 0].set_ylabel("excess loss on unseen tasks")
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
            ax.set_title(f"{zero} runs lie at 0", fontsize=9, loc="left")
        handles = [Line2D([], [], marker="o", ls="", color=colours[g], label=f"γ = {g:g}") for g in gammas]
        outline: dict[str, Any] = {"ls": "", "mfc": "none", "mec": style.DARK}
        handles += [Line2D([], [], marker=marks[d], label=f"δ = {d:g}", **outline) for d in deltas]
        if not all(map(learned, everyone(found))):
            handles.append(Line2D([], [], marker="x", label="did not learn", **outline))
        ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return fig
