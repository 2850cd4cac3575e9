"""Figures of learning to learn in context: prompts and matrices, attention, projections, neurons."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.core.read import style
from lib.core.read.measures import history
from lib.core.record.store import StoredRun
from lib.in_context.learning.metrics import PAPER_ATTENTION, Growth, Matrices, ShownPrompt
from lib.in_context.task import Task

POSITIVE, NEGATIVE = style.VERMILLION, style.BLUE
SAME, OTHER = style.GREEN, style.GREY
SHOWN = 150
"""Training steps that the curves show: later little changes."""
SOME = 6
"""Of the irrelevant patterns, which are all alike, so many are shown in a matrix."""
SHADE = 0.18
"""How dense a band is."""


def _rows_axis(ax: Axes, task: Task) -> None:
    """Names for the rows: relevant patterns, irrelevant ones, q."""
    ends = [task.m1, task.m1 + task.m2]
    for end in ends:
        ax.axhline(end - 0.5, color="#888888", lw=0.6)
    ax.set_yticks([(task.m1 - 1) / 2, (sum(ends) - 1) / 2, ends[1]], ["relevant μ", "irrelevant ν", "label q"])
    ax.tick_params(axis="y", length=0)


def prompt(shown: ShownPrompt) -> Figure:
    """Fig. 7: one prompt as the matrix that the model reads, and the query's attention before and after training."""
    matrix, same = shown.matrix, shown.same
    with style.look():
        fig, axes = plt.subplots(3, 1, figsize=(style.WIDTH, 5.6), sharex=True, height_ratios=(4, 1, 1))
        picture = axes[0].imshow(matrix, aspect="auto", cmap=style.COSINE, vmin=-2, vmax=2, interpolation="nearest")
        _rows_axis(axes[0], shown.task)
        for column in np.flatnonzero(same):
            axes[0].axvspan(column - 0.5, column + 0.5, fill=False, ec=SAME, lw=1.4)
        fig.colorbar(picture, ax=axes[0], label="entry", pad=0.01, fraction=0.03)
        for ax, (name, attention) in zip(axes[1:], shown.attention.items(), strict=True):
            ax.bar(range(len(attention)), attention, color=np.where(same, SAME, OTHER))
            ax.set(ylabel="attention", ylim=(0, None))
            ax.set_title(f"{name}: {attention[same].sum():.2f} on the query's pattern", fontsize=9)
        last = matrix.shape[1] - 1
        named = [i for i in (0, 4, 9, 14, 19) if i < last - 2]
        axes[2].set_xticks([*named, last], [*(f"{i + 1}" for i in named), "query"])
        axes[2].set_xlabel("column of the prompt")
    return fig


def matrices(shown: Matrices) -> Figure:
    """Figs 5 and 6: the trained matrices, on one scale of colours, with SOME of the irrelevant patterns. Left, W_Kᵀ W_Q, which
    compares a column with the query; right, the rows of W_O W_V, those with positive a above, and beside them the rows that go
    where the smallest of W_O are pruned."""
    m1, some = shown.task.m1, min(SOME, shown.task.m2)
    entries = [*range(m1 + some), len(shown.compare) - 1]
    compare, read = shown.compare[entries][:, entries], shown.read[:, entries]
    rows, count = len(entries), len(read)
    groups = [0, m1, rows - 1, rows]
    middles = [(low + high - 1) / 2 for low, high in itertools.pairwise(groups)]
    top = float(max(np.abs(compare).max(), np.quantile(np.abs(read), 0.995)))
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 3.7))
        for ax, matrix in zip(axes, (compare, read), strict=True):
            picture = ax.imshow(matrix, aspect="auto", cmap=style.COSINE, vmin=-top, vmax=top, interpolation="nearest")
            for end in groups[1:-1]:
                ax.axvline(end - 0.5, color="#888888", lw=0.6)
            ax.set_xticks(middles, ["relevant μ", f"{some} irrelevant ν", "q"])
            ax.tick_params(length=0)
        for end in groups[1:-1]:
            axes[0].axhline(end - 0.5, color="#888888", lw=0.6)
        axes[0].set_yticks(middles, ["μ", "ν", "q"])
        axes[0].set(title="$W_K^\\top W_Q$", xlabel="entry of the query", ylabel="entry of a column")
        axes[1].axhline(count / 2 - 0.5, color="#444444", lw=0.8)
        axes[1].set(title="$W_O W_V$", xlabel="entry of a column", ylabel="neuron: a > 0 above, a < 0 below")
        gone = np.flatnonzero(~shown.kept)
        for part in np.split(gone, np.flatnonzero(np.diff(gone) > 1) + 1):
            if len(part):
                ends = (part[0] - 0.5, part[-1] + 0.5)
                axes[1].plot([rows - 0.2] * 2, ends, color=style.GREY, lw=5, clip_on=False, solid_capstyle="butt")
        fig.colorbar(picture, ax=axes, location="bottom", label="entry", aspect=50, shrink=0.7)
    return fig


def learning(runs: Sequence[StoredRun]) -> Figure:
    """Hinge loss and share of wrong signs along training, on trained and on unseen tasks."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.7), sharex=True)
        for name, label, colour, dash, wide in (  # where one lies on the other, both are seen
            ("unseen", "unseen tasks", POSITIVE, "-", 4.0),
            ("seen", "trained tasks", style.DARK, (0, (3, 1.5)), 1.4),
        ):
            steps, loss = history(runs, f"{name} loss")
            style.band(axes[0], steps, loss, SHADE, color=colour, label=label, ls=dash, lw=wide)
            style.band(axes[1], steps, 1 - history(runs, name)[1], SHADE, color=colour, label=label, ls=dash, lw=wide)
        axes[0].set(xlabel="training step", ylabel="hinge loss of the query", xlim=(0, SHOWN), ylim=(0, None))
        axes[1].set(xlabel="training step", ylabel="share of wrong signs", ylim=(0, None))
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def projections(runs: Sequence[StoredRun]) -> Figure:
    """Fig. 8: norms of W_Q p_query and of W_K p_i, and their projections on the unit pattern of their column, along
    training; in domain and out of domain, a panel each."""
    with style.look():
        fig, axes = plt.subplots(1, 4, figsize=(style.WIDTH, 2.5), sharey=True)
        panels = itertools.product(("", "foreign "), (("query", "$W_Q\\,p_{query}$"), ("key", "$W_K\\,p_i$")))
        for ax, (where, (part, name)) in zip(axes, panels, strict=True):
            for kind, label, colour, dash in (
                ("norm", "whole length", style.DARK, "-"),
                ("projection", "part along the column's own pattern", POSITIVE, "--"),
            ):
                steps, values = history(runs, f"{where}{part} {kind}")
                style.band(ax, steps, values, SHADE, color=colour, label=label, ls=dash)
            ax.set_title(f"{name}\n{'out of' if where else 'in'} domain", fontsize=9)
            ax.set(xlabel="training step", xlim=(0, SHOWN))
        axes[0].set(ylabel="length", ylim=(0, None))
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def attention(runs: Sequence[StoredRun]) -> Figure:
    """Fig. 9: the query's attention summed over columns of its own pattern, and over all others, along training."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.7), sharey=True)
        for ax, where, title in zip(axes, ("", "foreign "), ("in domain", "out of domain, S₁ = 1.1"), strict=True):
            steps, values = history(runs, f"{where}attention.1")
            style.band(ax, steps, values, SHADE, color=SAME, label="columns of the query's pattern")
            style.band(ax, steps, 1 - values, SHADE, color=OTHER, label="all other columns", ls="--")
            ax.axhline(PAPER_ATTENTION, color="#444444", lw=0.8, ls=":")
            ax.set(xlabel="training step", title=title, ylim=(0, 1), xlim=(0, SHOWN))
        axes[0].set_ylabel("attention, summed")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def neurons(along: Mapping[int, Mapping[str, np.ndarray]], half: str, positive: np.ndarray) -> Figure:
    """Figs 10 and 11 for one run: angles of rows of W_O W_V against their norms, {step: neurons}. half "feature": the angle to
    the mean pattern. "label": the angle to q, `positive` neurons (m,) as triangles up and the others as triangles down."""
    with style.look():
        fig, axes = plt.subplots(1, len(along), figsize=(style.WIDTH, 2.7), sharex=True, sharey=True)
        for ax, (step, found) in zip(np.atleast_1d(axes), along.items(), strict=True):
            size, angle = found[f"{half} norm"], found[f"{half} angle"]
            if half == "feature":
                ax.plot(size, angle, "o", ms=3.5, alpha=0.5, mew=0, color=style.DARK)
            else:
                ax.plot(size[positive], angle[positive], "^", ms=4, alpha=0.5, mew=0, color=POSITIVE, label="a > 0")
                ax.plot(size[~positive], angle[~positive], "v", ms=4, alpha=0.5, mew=0, color=NEGATIVE, label="a < 0")
            ax.axhline(0.5, color="#888888", lw=0.7, zorder=0)
            ax.set(title=f"step {step}", ylim=(-0.03, 1.03), xlabel=f"norm of the {half} half")
            ax.title.set_fontsize(9)
        first = np.atleast_1d(axes)[0]
        first.set_ylabel("angle to the mean pattern (π)" if half == "feature" else "angle to q (π)")
        first.set_yticks([0, 0.25, 0.5, 0.75, 1])
        if half == "label":
            fig.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=2, handletextpad=0.1)
    return fig


def luck(groups: Mapping[str, Growth]) -> Figure:
    """Norms of the rows of W_O W_V along training, of lucky and of other neurons: means over neurons, a thin line a seed
    (left); and how the final norms are distributed over the neurons of all seeds (right)."""
    widest = max(float(group.trained.max()) for group in groups.values() if len(group.trained))
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.8))
        for (name, group), colour in zip(groups.items(), (POSITIVE, OTHER), strict=True):
            axes[0].plot(group.steps, group.means.T, color=colour, lw=0.6, alpha=0.6)
            axes[0].plot(group.steps, np.mean(group.means, 0), color=colour, label=name)
            axes[1].hist(group.trained, bins=np.linspace(0, widest, 26), color=colour, alpha=0.6, label=name)
        axes[0].set(xlabel="training step", ylabel="mean norm of a row of $W_O W_V$", xscale="log")
        axes[1].set(xlabel="norm of a row of $W_O W_V$, trained", ylabel="neurons, all seeds")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig
