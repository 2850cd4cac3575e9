"""The figures of the phase diagram: each takes loaded results and returns a matplotlib Figure."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.composition.analysis import MAPPINGS, SHADOW, PhaseTable
from lib.composition.task import FIRST_KEY, INFERENTIAL_OFFSET, LAST_KEY
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


def seed_spread(table: PhaseTable) -> Figure:
    """Every run of the diagram as a point: accuracy under each mapping against γ, one panel a depth; lines join the means."""
    with style.look():
        fig, axes = plt.subplots(1, len(table.depths), figsize=(style.WIDTH, 2.7), sharey=True, squeeze=False)
        for d, ax in enumerate(axes[0]):
            for mapping, marker, shift in zip(MAPPINGS, "os", (-0.006, 0.006), strict=True):
                values = getattr(table, mapping)[d].reshape(len(table.gammas), -1)
                x = np.repeat(table.gammas + shift, values.shape[1])
                colour = style.MAPPING_COLOUR[mapping]
                ax.plot(x, values.ravel(), marker, ms=3.5, alpha=0.45, color=colour, mew=0)
                ax.plot(table.gammas, values.mean(1), "-", color=colour, label=style.MAPPING_LABEL[mapping])
            ax.set(title=f"depth {table.depths[d]}", xlabel="initialization rate γ", ylim=(-0.04, 1.04))
        axes[0, 0].set_ylabel("share of answers to (4, 3)")
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
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


def by_key(offsets: np.ndarray) -> Figure:
    """Which keys get the inferential answer: share over places, each run a thin line, their mean thick.

    offsets: (runs, 80 keys, 7 places), what each run adds to the key. Shaded: keys whose answer lies below every token that
    occurs in the input.
    """
    keys = np.arange(FIRST_KEY, LAST_KEY + 1)
    shares = (offsets == INFERENTIAL_OFFSET).mean(-1)
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 2.4))
        ax.axvspan(FIRST_KEY - 0.5, FIRST_KEY - INFERENTIAL_OFFSET - 0.5, color="#EFEFEF", lw=0)
        ax.plot(keys, shares.T, color=style.INFERENTIAL, lw=0.5, alpha=0.25)
        if len(shares):
            ax.plot(keys, shares.mean(0), color=style.INFERENTIAL)
        ax.text(FIRST_KEY + 0.2, 1.06, "answer below 20", fontsize=8)
        ax.set(xlabel="key", ylabel="share of key − 10", xlim=(FIRST_KEY - 0.5, LAST_KEY + 0.5), ylim=(-0.03, 1.16))
    return fig


def training_curves(runs: Sequence[StoredRun], titles: Sequence[str]) -> Figure:
    """Accuracy along training for given runs: seen pairs at held-out places, and both mappings on (4, 3)."""
    with style.look():
        fig, axes = plt.subplots(1, len(runs), figsize=(style.WIDTH, 2.7), sharey=True, squeeze=False)
        for ax, run, title in zip(axes[0], runs, titles, strict=True):
            for name, line in (("test", "--"), ("symmetric", "-"), ("inferential", "-")):
                ax.plot(
                    run.history["step"],
                    run.history[name],
                    line,
                    color=style.MAPPING_COLOUR[name],
                    label=style.MAPPING_LABEL[name],
                )
            ax.set(title=title, xlabel="step", ylim=(-0.04, 1.04))
            ax.title.set_fontsize(9)
        axes[0, 0].set_ylabel("share of answers")
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig
