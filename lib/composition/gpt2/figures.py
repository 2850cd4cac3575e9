"""Figures of chapter 8: inferential answers with one factor changed at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lib.composition.runs import learned
from lib.composition.variations import FACTORS_GAMMAS
from lib.core.read import style
from lib.core.record.store import StoredRun


def factors(found: Mapping[str, Sequence[StoredRun]]) -> Figure:
    """Inferential shares by what is changed: a row a factor, a dot a run, its colour γ, hollow where it has not learned; a
    bar the mean of a γ."""
    gammas = sorted({run.spec.gamma for runs in found.values() for run in runs})
    every = sorted({*FACTORS_GAMMAS, *gammas})  # a γ has its colour in every such figure
    colours = dict(zip(every, style.GAMMA(np.linspace(0.05, 0.8, len(every))), strict=True))
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 1.2 + 0.55 * len(found)))
        for row, runs in enumerate(found.values()):
            for i, gamma in enumerate(gammas):
                own = [run for run in runs if run.spec.gamma == gamma]
                y = row + 0.22 * (i - (len(gammas) - 1) / 2)
                for run in own:
                    fill = colours[gamma] if learned(run) else "none"
                    ax.plot(run.metrics["inferential"], y, "o", ms=5, mfc=fill, mec=colours[gamma], alpha=0.8)
                if own:
                    mean = np.mean([run.metrics["inferential"] for run in own])
                    ax.plot([mean, mean], [y - 0.09, y + 0.09], color=colours[gamma], lw=2.5)
        ax.set_yticks(range(len(found)), [name.replace(", ", ",\n") for name in found])
        ax.set(xlabel="inferential answers", xlim=(-0.03, 1.03), ylim=(len(found) - 0.5, -0.5))
        lines = [Line2D([], [], marker="o", ls="", color=colours[gamma], label=f"γ = {gamma:g}") for gamma in gammas]
        fig.legend(handles=lines, loc="outside lower center", ncols=len(gammas))
    return fig
