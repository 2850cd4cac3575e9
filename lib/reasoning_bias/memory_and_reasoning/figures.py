"""Figures of memory against reasoning: the task, losses and accuracies, the bias as a curve, variants of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lib.core import style
from lib.core.store import StoredRun
from lib.reasoning_bias.runs import Ratio, by_gamma, epoch, histories, slowdown
from lib.reasoning_bias.study import SETS
from lib.reasoning_bias.task import LENGTH, Batch

LOOK = {
    "memory": {"color": style.MEMORY, "ls": "-"},
    "reasoning": {"color": style.REASONING, "ls": "-"},
    "held out": {"color": style.REASONING, "ls": (0, (4, 2))},
}
NAMES = {"memory": "memory", "reasoning": "reasoning, trained pairs", "held out": "reasoning, held-out pairs"}
MODELS = {"transformer": ("o", style.SEEN), "Emb-MLP": ("s", "#7B5EA7")}


def examples(memory: Batch, reasoning: Batch) -> Figure:
    """Fig. 2: rows of the two kinds, (rows, 9) tokens each, with their labels; noise grey, key green, anchors coloured."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 0.5 + 0.42 * len(memory.target)), sharey=True)
        for ax, batch, title in zip(axes, (memory, reasoning), ("memory: look the label up", "reasoning: add"), strict=True):
            for row, (tokens, place, target) in enumerate(zip(batch.tokens, batch.place, batch.target, strict=True)):
                for column, token in enumerate(tokens.tolist()):
                    ahead = column - int(place)
                    own = {0: style.KEY, 1: style.FIRST_ANCHOR, 2: style.SECOND_ANCHOR}.get(ahead, style.NOISE)
                    ax.add_patch(Rectangle((column - 0.46, row - 0.36), 0.92, 0.72, facecolor=own))
                    white = "white" if ahead == 0 else "#222222"
                    ax.text(column, row, token, ha="center", va="center", fontsize=7.5, color=white)
                ax.text(LENGTH - 0.2, row, f"→ {int(target)}", va="center", fontsize=8.5, weight="bold")
            ax.set(xlim=(-0.7, LENGTH + 1.2), ylim=(len(batch.target) - 0.4, -0.6), title=title, yticks=[])
            ax.set_xticks(range(LENGTH), range(1, LENGTH + 1))
            ax.set_xlabel("position")
            style.bare(ax)
    return fig


def _band(ax: Axes, x: np.ndarray, values: np.ndarray, label: str | None, **look: object) -> None:
    """Mean over runs with the range of all runs."""
    ax.plot(x, np.nanmean(values, 0), label=label, **look)
    ax.fill_between(x, np.nanmin(values, 0), np.nanmax(values, 0), color=look["color"], alpha=0.15, lw=0)


def training(runs: Sequence[StoredRun], gammas: Sequence[float]) -> Figure:
    """Fig. 3A: losses (top) and accuracies (bottom) of the three sets along training, a column for each γ."""
    groups = by_gamma(runs)
    with style.look():
        fig, axes = plt.subplots(2, len(gammas), figsize=(style.WIDTH, 4.2), sharex=True, sharey="row", squeeze=False)
        for column, gamma in zip(axes.T, gammas, strict=True):
            for name in SETS:
                for ax, metric in zip(column, (f"{name} loss", name), strict=True):
                    _band(ax, *histories(groups[gamma], metric), NAMES[name], **LOOK[name])
            column[0].set_title(f"γ = {gamma:g}")
            column[0].set_ylim(0, 8)
            column[1].set(xlabel="epoch", xscale="log", ylim=(-0.03, 1.03))
        axes[0, 0].set_ylabel("loss (nats)")
        axes[1, 0].set_ylabel("share of right answers")
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def emb_training(panels: Mapping[str, Sequence[StoredRun]]) -> Figure:
    """Fig. 3B: accuracies of Emb-MLP along training, one panel for each group of runs."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 2.7), sharey=True, squeeze=False)
        for ax, (title, runs) in zip(axes[0], panels.items(), strict=True):
            for name in SETS:
                _band(ax, *histories(runs, name), NAMES[name], **LOOK[name])
            ax.set(title=title, xlabel="epoch", xscale="log", ylim=(-0.03, 1.03))
            ax.title.set_fontsize(9)
        axes[0, 0].set_ylabel("share of right answers")
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def bias(models: Mapping[str, Sequence[StoredRun]]) -> Figure:
    """The bias as one number against γ: steps to half of the initial loss, of memory (left) and of the held-out pairs (right),
    over those of the trained reasoning pairs. A point a run, a line through the means of logarithms; a triangle where the
    slower loss never halved, so that the ratio is larger; the line is dashed where most of its points have such bounds."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 3.1), sharey=True)
        for ax, slower in zip(axes, ("memory", "held out"), strict=True):
            for shift, (name, runs) in enumerate(models.items()):
                marker, colour = MODELS[name]
                _ratios(ax, runs, slower, marker, colour, name, 0.012 * (2 * shift - 1))
            ax.axhline(1, color="#888888", lw=0.8, zorder=0)
            ax.set(xlabel="initialization rate γ", yscale="log")
            ax.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
            ax.minorticks_off()
        axes[0].set_title("memory over reasoning")
        axes[1].set_title("held-out pairs over trained pairs")
        axes[0].set_ylabel("ratio of steps to half of the loss")
        axes[0].legend(loc="upper left")
    return fig


def _ratios(ax: Axes, runs: Sequence[StoredRun], slower: str, marker: str, colour: str, label: str, shift: float) -> None:
    xs, means, bounds = [], [], []
    for gamma, group in by_gamma(runs).items():
        found = [r for r in (slowdown(run, slower) for run in group) if isinstance(r, Ratio)]
        if not found:
            continue
        xs.append(gamma + shift)
        means.append(np.exp(np.mean(np.log([r.value for r in found]))))
        bounds.append(any(r.open for r in found))
        for ratio in found:
            ax.plot(gamma + shift, ratio.value, "^" if ratio.open else marker, color=colour, ms=4, alpha=0.55, mew=0)
    ax.plot(xs, means, color=colour, lw=1.5, label=label, ls="--" if sum(bounds) > len(bounds) / 2 else "-")


def memory_variants(variants: Mapping[str, Sequence[StoredRun]]) -> Figure:
    """Fig. 8, left: loss and accuracy of memory along training, a line for each kind of table."""
    colours = (style.MEMORY, style.KEY)
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.7))
        for (name, runs), colour in zip(variants.items(), colours, strict=True):
            _band(axes[0], *histories(runs, "memory loss"), name, color=colour)
            _band(axes[1], *histories(runs, "memory"), name, color=colour)
        axes[0].set(xlabel="epoch", ylabel="loss of memory (nats)")
        axes[1].set(xlabel="epoch", ylabel="share of right answers", ylim=(-0.03, 1.03))
        axes[0].legend()
    return fig


def points_by_name(
    ratios: Mapping[str, Mapping[float, Sequence[Ratio]]], shares: Mapping[str, Mapping[float, Sequence[float]]]
) -> Figure:
    """Variants at large and small initialization: the ratio of halving steps, memory over reasoning (left; a triangle is a
    lower bound), and the largest share of right answers on the held-out pairs along training (right). A point a run."""
    names = list(ratios)
    gammas = sorted(next(iter(ratios.values())))
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 0.9 + 0.42 * len(names)), sharey=True)
        for shift, gamma in enumerate(gammas):
            colour = style.GAMMA((0.1, 0.75)[shift])
            for row, name in enumerate(names):
                y = row + 0.24 * (shift - 0.5)
                for ratio in ratios[name][gamma]:
                    axes[0].plot(ratio.value, y, "^" if ratio.open else "o", color=colour, ms=5, alpha=0.7, mew=0)
                found, label = shares[name][gamma], f"γ = {gamma:g}" if row == 0 else None
                axes[1].plot(found, [y] * len(found), "o", color=colour, ms=5, alpha=0.7, mew=0, label=label)
        axes[0].set(xscale="log", xlabel="steps to half of the loss, memory / reasoning")
        axes[0].set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
        axes[0].minorticks_off()
        axes[0].axvline(1, color="#888888", lw=0.8, zorder=0)
        axes[0].set_yticks(range(len(names)), names)
        axes[0].invert_yaxis()
        axes[1].set(xlabel="held-out pairs right, best along training", xlim=(-0.03, 1.03))
        axes[1].legend(loc="best")
    return fig


def group_outputs(runs: Sequence[StoredRun], step: int) -> Figure:
    """Fig. 8, right: the mean output distribution of each memory group early in training (mean over seeds, and each seed),
    over the range of the group's labels (shaded)."""
    outputs = np.array([run.snapshots()[step]["groups"].numpy() for run in runs])
    with style.look():
        fig, axes = plt.subplots(1, 4, figsize=(style.WIDTH, 2.3), sharey=True)
        for i, ax in enumerate(axes):
            ax.axvspan(30, 29 + 20 * (i + 1), color=style.NOISE, alpha=0.7, lw=0)
            for one in outputs[:, i]:
                ax.plot(one, color=style.MEMORY, lw=0.5, alpha=0.5)
            ax.plot(outputs[:, i].mean(0), color=style.MEMORY)
            ax.set(xlabel="label", title=f"30 … {29 + 20 * (i + 1)}", xlim=(0, 165))
        axes[0].set_ylabel("probability")
        fig.suptitle(f"Groups by the range of their labels, after {step / epoch(runs[0].spec):g} epochs", fontsize=9)
    return fig
