"""Figures that several chapters draw: shares against γ, and runs by the kind of their answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lib.composition import palette
from lib.composition.runs import SHADOW, exact_kind, learned
from lib.core.read import style
from lib.core.record.store import StoredRun


def gamma_curves(panels: Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]]) -> Figure:
    """Fig. 2c: shares against γ; every run a point, hollow where it answers fewer than 90 % of the seen pairs right; lines join
    the means over seeds. Shares of most runs lie near 0 or 1, so no bar stands for their spread.

    panels: {title: {"symmetric", "inferential" or "test": (γ (n,), shares (n, seeds))}}; up to three stand in a row.
    """
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    with style.look():
        size = (style.WIDTH, (2.3 if rows > 1 else 2.9) * rows + 0.7)
        alike = len({tuple(gammas) for curves in panels.values() for gammas, _ in curves.values()}) == 1
        fig, axes = plt.subplots(rows, columns, figsize=size, sharex=alike, sharey=True, squeeze=False)
        for ax in axes.ravel()[len(panels) :]:
            ax.remove()
        for i, (ax, (title, curves)) in enumerate(zip(axes.ravel(), panels.items(), strict=False)):
            gap = min(np.diff(curves["test"][0]), default=0.1) if "test" in curves else 0.05
            for name, (gammas, values) in curves.items():
                colour = palette.COLOUR[name]
                line = "--" if name == "test" else "-"
                ax.plot(gammas, values.mean(1), line, color=colour, lw=1.4, label=palette.LABEL[name])
                if name == "test":
                    continue
                short = curves["test"][1] < SHADOW if "test" in curves else np.zeros(values.shape, dtype=bool)
                side = -1 if name == "symmetric" else 1  # the two answers side by side, seeds fanned out
                fan = side * gap * (0.08 + 0.06 * np.arange(values.shape[1]))
                x = gammas[:, None] + fan
                marker = {"symmetric": "o", "inferential": "s"}[name]
                for where, face in ((~short, colour), (short, "white")):
                    ax.plot(x[where], values[where], marker, ms=4, mew=0.9, mec=colour, mfc=face, alpha=0.75)
            ax.set(ylim=(-0.04, 1.06))
            ticks = sorted({float(g) for gammas, _ in curves.values() for g in gammas})
            if len(ticks) <= 7:
                ax.set_xticks(ticks, [f"{g:g}" for g in ticks], fontsize=8)
            ax.set_title(title, fontsize=9)
            if i + columns >= len(panels):
                ax.set_xlabel("initialization rate γ")
                ax.tick_params(labelbottom=True)
            if i % columns == 0:
                ax.set_ylabel("share of answers")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        hollow = Line2D([], [], ls="", marker="o", mec=palette.SEEN, mfc="white")
        fig.legend(
            [*handles, hollow], [*labels, "seen pairs not learned"], loc="outside lower center", ncols=4, columnspacing=1.2
        )
    return fig


# --- By kind ---


def square(ax: Axes, x: float, y: float, run: StoredRun, size: float = 6.5) -> None:
    """A run in the colour of its kind, hollow where it has not learned. size: in points."""
    colour = palette.COLOUR[exact_kind(run)]
    face = colour if learned(run) else "none"
    ax.plot(x, y, "s", ms=size, mec=colour, mfc=face, mew=0.8 if size < 5 else 1.2)


def legend_of_kinds(fig: Figure, columns: int) -> None:
    names = {"symmetric": palette.LABEL["symmetric"], "inferential": palette.LABEL["inferential"], "neither": "neither"}
    handles = [Line2D([], [], ls="", marker="s", ms=6.5, color=palette.COLOUR[k], label=v) for k, v in names.items()]
    hollow = Line2D([], [], ls="", marker="s", ms=6.5, mec=style.DARK, mfc="none", label="has not learned")
    fig.legend(handles=[*handles, hollow], loc="outside lower center", ncols=columns)


def roundings(arms: Mapping[str, Sequence[StoredRun]]) -> Figure:
    """The kind of each seed (columns) under other roundings (rows), a panel a γ. arms: {rounding: runs}."""
    gammas = sorted({run.spec.gamma for runs in arms.values() for run in runs})
    numbers = sorted({run.spec.seed for runs in arms.values() for run in runs})
    step = 2 if len(numbers) <= 8 else 4
    size = 6.5 if len(numbers) <= 8 else 4.0
    with style.look():
        fig, axes = plt.subplots(1, len(gammas), figsize=(style.WIDTH, 2.2), sharey=True, squeeze=False)
        for ax, gamma in zip(axes[0], gammas, strict=True):
            for row, runs in enumerate(arms.values()):
                for run in (run for run in runs if run.spec.gamma == gamma):
                    square(ax, numbers.index(run.spec.seed), row, run, size)
            ax.set(xlim=(-0.6, len(numbers) - 0.4), ylim=(len(arms) - 0.5, -0.5), xlabel="seed")
            ax.set_xticks(range(0, len(numbers), step), [f"{seed}" for seed in numbers[::step]])
            ax.set_yticks(range(len(arms)), list(arms))
            ax.set_title(f"γ = {gamma:g}", fontsize=9.5)
        legend_of_kinds(fig, 2)
    return fig
