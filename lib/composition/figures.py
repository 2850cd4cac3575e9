"""The figures of the phase diagram: each takes loaded results and returns a matplotlib Figure."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.composition.runs import MAPPINGS, SHADOW, PhaseTable
from lib.core import style
from lib.core.store import StoredRun


def _diagram(ax: Axes, table: PhaseTable, values: np.ndarray, name: str, shadow: np.ndarray | None, title: str) -> None:
    image = ax.imshow(values, origin="lower", aspect="auto", vmin=0, vmax=1, cmap=style.ACCURACY[name])
    style.tick_grid(ax, list(table.gammas), list(table.depths), "initialization rate γ", "depth (layers)")
    style.write_values(ax, values)
    if shadow is not None:
        style.hatch_cells(ax, shadow)
    ax.set_title(title)
    ax.figure.colorbar(image, ax=ax, shrink=0.9, label="share of answers")
    for spine in ax.spines.values():
        spine.set_visible(False)


def phase_diagram(table: PhaseTable) -> Figure:
    """Selected accuracy on (4, 3) under each mapping over γ and depth (Fig. 2a, b); hatched where seen pairs are below 90 %."""
    with style.look():
        fig, axes = plt.subplots(2, 1, figsize=(style.WIDTH, 1.1 + 0.95 * len(table.depths)), sharex=True)
        for ax, mapping, letter in zip(axes, MAPPINGS, "ab", strict=True):
            accuracy, test = table.selected(mapping)
            _diagram(ax, table, accuracy, mapping, test < SHADOW, f"{letter}  {style.MAPPING_LABEL[mapping]}, selected")
        axes[0].set_xlabel("")
    return fig


def plain_diagram(table: PhaseTable) -> Figure:
    """The same grid without selection: mean over every rate and seed of both answers and of neither."""
    shadow = table.plain("test") < SHADOW
    with style.look():
        fig, axes = plt.subplots(3, 1, figsize=(style.WIDTH, 1.3 + 1.25 * len(table.depths)), sharex=True)
        for ax, name, letter in zip(axes, (*MAPPINGS, "neither"), "abc", strict=True):
            _diagram(ax, table, table.plain(name), name, shadow, f"{letter}  {style.MAPPING_LABEL[name]}, mean of all runs")
        for ax in axes[:-1]:
            ax.set_xlabel("")
    return fig


def own_point(runs: Sequence[StoredRun]) -> Figure:
    """Shares of the three kinds of answer for every run of one point, grouped by seed, with test accuracy on seen pairs."""
    names = ("symmetric", "inferential", "neither")
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 0.9 + 0.24 * len(runs)))
        left = np.zeros(len(runs))
        for name in names:
            width = np.array([r.metrics[name] if name in r.metrics else 1 - sum(r.metrics[m] for m in MAPPINGS) for r in runs])
            ax.barh(range(len(runs)), width, left=left, color=style.MAPPING_COLOUR[name], label=style.MAPPING_LABEL[name])
            left += width
        ax.plot([r.metrics["test"] for r in runs], range(len(runs)), "k|", ms=11, mew=2, label=style.MAPPING_LABEL["test"])
        ax.set_yticks(range(len(runs)), [f"seed {r.spec.seed}, rate {r.spec.rate:g}" for r in runs])
        ax.set(xlim=(0, 1.005), xlabel="share of answers to (4, 3)")
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
        fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return fig
