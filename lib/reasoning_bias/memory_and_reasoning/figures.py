"""Figures of memory against reasoning: the task, losses and accuracies, the bias as a curve, variants of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from lib.core.read import style
from lib.reasoning_bias import drawing
from lib.reasoning_bias.ratios import Ratio, closed, middle
from lib.reasoning_bias.study import SETS
from lib.reasoning_bias.task import GROUP_LABELS, LENGTH, Batch

LOOK = {
    "memory": {"color": drawing.COLOUR["memory"], "ls": "-"},
    "reasoning": {"color": drawing.COLOUR["reasoning"], "ls": "-"},
    "held out": {"color": drawing.COLOUR["reasoning"], "ls": (0, (4, 2))},
}
Curve = tuple[np.ndarray, np.ndarray]
"""Epochs (n,) and values (runs, n)."""
NAMES = {"memory": "memory", "reasoning": "reasoning, trained pairs", "held out": "reasoning, held-out pairs"}
MODELS = {"transformer": ("o", style.DARK), "Emb-MLP": ("s", "#7B5EA7")}


def examples(memory: Batch, reasoning: Batch) -> Figure:
    """Fig. 2: rows of the two kinds, (rows, 9) tokens each, with their labels; noise grey, key green, anchors coloured."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 0.5 + 0.42 * len(memory.target)), sharey=True)
        for ax, batch, title in zip(axes, (memory, reasoning), ("memory: look the label up", "reasoning: add"), strict=True):
            for row, (tokens, place, target) in enumerate(zip(batch.tokens, batch.place, batch.target, strict=True)):
                for column, token in enumerate(tokens.tolist()):
                    ahead = column - int(place)
                    own = {0: style.GREEN, 1: style.PURPLE, 2: style.ORANGE}.get(ahead, style.LIGHT)
                    ax.add_patch(Rectangle((column - 0.46, row - 0.36), 0.92, 0.72, facecolor=own))
                    white = "white" if ahead == 0 else "#222222"
                    ax.text(column, row, token, ha="center", va="center", fontsize=7.5, color=white)
                ax.text(LENGTH - 0.2, row, f"→ {int(target)}", va="center", fontsize=8.5, weight="bold")
            ax.set(xlim=(-0.7, LENGTH + 1.2), ylim=(len(batch.target) - 0.4, -0.6), title=title, yticks=[])
            ax.set_xticks(range(LENGTH), range(1, LENGTH + 1))
            ax.set_xlabel("position")
            style.bare(ax)
    return fig


def training(
    panels: Mapping[str, Mapping[str, Curve]], ends: Mapping[str, Mapping[str, Sequence[float]]] | None = None
) -> Figure:
    """Fig. 3A: losses (top) and accuracies (bottom) of the three sets along training, a column for each group of runs.
    panels: {title: {metric: curve}}. ends: {title: {set: shares of right answers at the end, in single precision}}, whose mean
    is a point at the last epoch, open for held-out pairs."""
    with style.look():
        fig, axes = plt.subplots(2, len(panels), figsize=(style.WIDTH, 4.2), sharex=True, sharey="row", squeeze=False)
        for column, (title, curves) in zip(axes.T, panels.items(), strict=True):
            for name in SETS:
                for ax, metric in zip(column, (f"{name} loss", name), strict=True):
                    style.band(ax, *curves[metric], label=NAMES[name], **LOOK[name])
                if ends:
                    fill = {"mfc": "white"} if name == "held out" else {}
                    at = (curves[name][0][-1], np.mean(ends[title][name]))
                    column[1].plot(*at, "o", color=LOOK[name]["color"], ms=5, clip_on=False, zorder=5, **fill)
            column[0].set_title(title)
            column[0].set_ylim(0, 8)
            column[1].set(xlabel="epoch", xscale="log", ylim=(-0.03, 1.03))
        axes[0, 0].set_ylabel("loss (nats)")
        axes[1, 0].set_ylabel("share of right answers")
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def bias(models: Mapping[str, Mapping[str, Mapping[float, Sequence[Ratio]]]]) -> Figure:
    """The bias as one number against γ: steps to half of the loss, of memory (top) and of the held-out pairs (below),
    over those of the trained reasoning pairs. models: {model: {slower set: {γ: ratios}}}. A point a run, a line through the
    means of logarithms; a triangle where the slower loss never halved, so that the ratio is larger; the line is dashed where
    most of its points have such bounds."""
    with style.look():
        fig, axes = plt.subplots(2, 1, figsize=(style.WIDTH, 5.2), sharex=True)
        for ax, slower in zip(axes, ("memory", "held out"), strict=True):
            for shift, (name, ratios) in enumerate(models.items()):
                _ratios(ax, ratios[slower], name, 0.004 * (2 * shift - 1))
            ax.axhline(1, color="#888888", lw=0.8, zorder=0)
            ax.set(yscale="log", ylabel="ratio of steps")
            ax.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
            ax.minorticks_off()
        axes[0].set_title("memory over reasoning")
        axes[1].set_title("held-out pairs over trained pairs")
        axes[1].set_xlabel("initialization rate γ")
        marks = [(*MODELS[name], name) for name in models] + [("^", style.GREY, "lower bound: the slower loss never halved")]
        handles = [Line2D([], [], ls="", marker=marker, color=colour, ms=5) for marker, colour, _ in marks]
        fig.legend(handles, [name for *_, name in marks], loc="outside lower center", ncols=len(marks), handletextpad=0.2)
    return fig


def _ratios(ax: Axes, ratios: Mapping[float, Sequence[Ratio]], model: str, shift: float) -> None:
    marker, colour = MODELS[model]
    xs, means, bounds = [], [], []
    for gamma, found in ratios.items():
        if not found:
            continue
        xs.append(gamma + shift)
        means.append(middle(found))
        bounds.append(not closed(found))
        for ratio in found:
            ax.plot(gamma + shift, ratio.value, "^" if ratio.open else marker, color=colour, ms=4, alpha=0.55, mew=0)
    ax.plot(xs, means, color=colour, lw=1.5, label=model, ls="--" if sum(bounds) > len(bounds) / 2 else "-")


def memory_variants(variants: Mapping[str, Mapping[str, Curve]]) -> Figure:
    """Fig. 8, left: loss and accuracy of memory along training, a line for each kind of table. variants: {name: {metric:
    curve}}."""
    colours = (drawing.COLOUR["memory"], style.GREEN)
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.7))
        for (name, curves), colour in zip(variants.items(), colours, strict=True):
            style.band(axes[0], *curves["memory loss"], label=name, color=colour)
            style.band(axes[1], *curves["memory"], label=name, color=colour)
        axes[0].set(xlabel="epoch", ylabel="loss of memory (nats)", ylim=(0, None))
        axes[1].set(xlabel="epoch", ylabel="share of right answers", ylim=(-0.03, 1.03))
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(variants))
    return fig


def group_outputs(outputs: np.ndarray, epoch: float) -> Figure:
    """Fig. 8, right: the mean output distribution of each memory group early in training (mean over seeds, and each seed),
    over the range of the group's labels (shaded). outputs: (seeds, 4, V)."""
    with style.look():
        fig, axes = plt.subplots(1, 4, figsize=(style.WIDTH, 2.3), sharey=True)
        for i, (ax, labels) in enumerate(zip(axes, GROUP_LABELS, strict=True)):
            ax.axvspan(labels[0], labels[-1], color=style.LIGHT, alpha=0.7, lw=0)
            for one in outputs[:, i]:
                ax.plot(one, color=drawing.COLOUR["memory"], lw=0.5, alpha=0.5)
            ax.plot(outputs[:, i].mean(0), color=drawing.COLOUR["memory"])
            ax.set(xlabel="label", title=f"{labels[0]} … {labels[-1]}", xlim=(0, 165))
        axes[0].set_ylabel("probability")
        fig.suptitle(f"Groups by the range of their labels, after {epoch:g} epochs", fontsize=9)
    return fig
