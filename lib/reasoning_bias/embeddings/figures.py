"""Figures of embeddings: cosines of anchors, label distributions, the plane of all tokens, the integrated flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D

from lib.core.read import style
from lib.core.read.measures import cosines
from lib.reasoning_bias import drawing
from lib.reasoning_bias.drawing import COLOUR
from lib.reasoning_bias.embeddings.metrics import FlowError
from lib.reasoning_bias.task import MEMORY, REASONING

TOKENS = {"memory": MEMORY, "reasoning": REASONING}


def _heat(ax: Axes, matrix: np.ndarray, tokens: Sequence[int], every: int = 3) -> AxesImage:
    image = ax.imshow(matrix, cmap=style.COSINE, vmin=-1, vmax=1)
    names = [str(token) for token in tokens[::every]]
    ax.set_xticks(range(0, len(tokens), every), names)
    ax.set_yticks(range(0, len(tokens), every), names)
    style.bare(ax)
    return image


def anchor_matrices(columns: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """Figs 4A, 5A: cosines of the embeddings of memory (top) and reasoning anchors. columns: {title: {kind: (10, 10)}}; of at
    most two columns all matrices stand in one row."""
    few = len(columns) <= 2
    with style.look():
        if few:
            fig, axes = plt.subplots(1, 2 * len(columns), figsize=(style.WIDTH, 2.2), squeeze=False)
            grid = axes.reshape(len(columns), 2).T
        else:
            height = 3.6 * (0.25 + 2.6 / len(columns))  # so that narrow matrices leave no gap between the rows
            fig, axes = plt.subplots(2, len(columns), figsize=(style.WIDTH, min(3.6, height)))
            grid = axes
        for column, (title, kinds) in zip(grid.T, columns.items(), strict=True):
            for ax, (kind, matrix) in zip(column, kinds.items(), strict=True):
                image = _heat(ax, matrix, TOKENS[kind], 3 if len(columns) <= 4 else len(matrix) - 1)
                if few or ax in grid[:, 0]:
                    ax.set_ylabel(f"{kind} anchor" if few else kind)
                if few or ax in grid[1]:
                    ax.set_xlabel("anchor")
            column[0].set_title(title, fontsize=9)
        fig.colorbar(image, ax=axes, label="cosine", shrink=0.8, ticks=[-1, -0.5, 0, 0.5, 1])
    return fig


def label_distributions(exact: np.ndarray, sampled: np.ndarray) -> Figure:
    """Fig. 4B, C: P^s − 1 / d_vob of the reasoning anchors, exact (lines), and of one as counted in the training set (grey dots
    behind the lines); the cosines of both. exact, sampled: (10, d_vob)."""
    with style.look():
        fig, axes = plt.subplots(1, 3, figsize=(style.WIDTH, 2.8), width_ratios=(1.7, 1, 1))
        colours = style.GAMMA(np.linspace(0, 1, len(exact)))
        labels = np.arange(exact.shape[1])
        for line, colour in zip(exact, colours, strict=True):
            axes[0].plot(labels, line, color=colour, lw=1.2)
        dots = f"counted, anchor {REASONING[COUNTED]}"
        axes[0].plot(labels, sampled[COUNTED], "o", color="#AAAAAA", ms=2, mew=0, zorder=0, label=dots)
        axes[0].plot([], [], color=style.DARK, lw=1.2, label="exact")
        axes[0].set(xlabel="label i", ylabel=r"$P^s_i - 1\,/\,d_\mathrm{vob}$", title="labels of an anchor")
        fig.legend(loc="outside lower left", ncols=2, markerscale=2)
        shades = ScalarMappable(Normalize(REASONING[0] - 0.5, REASONING[-1] + 0.5), ListedColormap(colours))
        fig.colorbar(shades, ax=axes[0], label="anchor s", ticks=REASONING[::3], shrink=0.7)
        low = min(cosines(v, v).min() for v in (exact, sampled))
        for ax, vectors, title in zip(axes[1:], (exact, sampled), ("cosines, exact", "counted"), strict=True):
            image = _heat(ax, cosines(vectors, vectors), REASONING)
            image.set(cmap="viridis", clim=(low, 1))
            ax.set(title=title, xlabel="reasoning anchor")
        fig.colorbar(image, ax=axes[1:], label="cosine", shrink=0.7)
    return fig


COUNTED = 4
"""Which anchor's labels are drawn as they are counted, from 0: 15, which the paper shows."""


def formation(models: Mapping[str, tuple[np.ndarray, Mapping[str, np.ndarray]]]) -> Figure:
    """When the order forms: mean cosines along training, {model: (epochs, {name: (seeds, epochs)})}; the first two names are of
    reasoning anchors at two distances, the third of memory anchors. Lines: means over seeds; bands: range."""
    looks = ((drawing.COLOUR["reasoning"], "-"), (drawing.COLOUR["reasoning"], "--"), (drawing.COLOUR["memory"], "-"))
    with style.look():
        fig, axes = plt.subplots(1, len(models), figsize=(style.WIDTH, 2.7), sharey=True)
        for ax, (title, (epochs, curves)) in zip(axes, models.items(), strict=True):
            for (name, values), (colour, dash) in zip(curves.items(), looks, strict=True):
                style.band(ax, epochs, values, color=colour, ls=dash, label=name)
            ax.axhline(0, color="#BBBBBB", lw=0.7, zorder=0)
            ax.set(xscale="log", xlabel="epoch")
            ax.set_title(title, fontsize=9)
        axes[0].set_ylabel("mean cosine")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig


def flow(
    models: Mapping[str, Mapping[str, Sequence[FlowError]]], losses: Mapping[str, tuple[np.ndarray, np.ndarray]], few: float
) -> Figure:
    """The embedding flow, integrated with the measured W, against training: relative error and cosine of the displacement, by
    kind of anchor (mean over anchors; one line a seed; formulas {model: {name: runs}} by dashes), and below it what is left of
    the training loss, {model: (steps, (seeds, n))}, with a line at a fall by `few`."""
    with style.look():
        fig, axes = plt.subplots(3, len(models), figsize=(style.WIDTH, 5.2), sharex="col", sharey="row", squeeze=False)
        for column, (title, formulas) in zip(axes.T, models.items(), strict=True):
            for (formula, runs), dash in zip(formulas.items(), ("-", "--", ":")[: len(formulas)], strict=True):
                for run in runs:
                    for kind in TOKENS:
                        name = f"{kind}, {formula}" if run is runs[0] else None
                        look = {"color": COLOUR[kind], "lw": 1.1, "ls": dash, "label": name}
                        column[0].plot(run.steps, run.error[kind].mean(1), **look)
                        column[1].plot(run.steps, run.cosine[kind].mean(1), **look)
            for values in losses[title][1]:
                column[2].plot(losses[title][0], values, color=style.DARK, lw=1)
            column[0].set(title=title, yscale="log", ylim=(0.02, 20))
            column[0].title.set_fontsize(9)
            column[0].axhline(1, color="#BBBBBB", lw=0.7, zorder=0)
            column[2].axhline(1 - few, color=style.GREY, lw=0.9, ls=":")
            column[2].set_xlabel("step")
        axes[0, 0].set_ylabel("relative error")
        axes[1, 0].set_ylabel("cosine")
        axes[2, 0].set_ylabel("loss left")
        named = max((ax.get_legend_handles_labels() for ax in axes[0]), key=lambda found: len(found[1]))
        fig.legend(*named, loc="outside lower center", ncols=len(named[1]), handlelength=1.6, columnspacing=1.4)
    return fig


PLANE = {
    "reasoning": (drawing.COLOUR["reasoning"], "o", 22),
    "memory": (drawing.COLOUR["memory"], "s", 18),
    "key": (style.GREEN, ".", 16),
}


def whole_planes(planes: Mapping[str, Mapping[str, np.ndarray]]) -> Figure:
    """Fig. 5B: anchors and keys in the plane of the first two principal components of the entire embedding, a panel a run.
    planes: {title: {kind: (n, 2)}}; the darker, the larger the number."""
    with style.look():
        fig, axes = plt.subplots(1, len(planes), figsize=(style.WIDTH, 2.6), squeeze=False)
        for ax, (title, found) in zip(axes[0], planes.items(), strict=True):
            for kind in ("key", "memory", "reasoning"):
                colour, marker, size = PLANE[kind]
                points = found[kind]
                ax.scatter(*points.T, color=colour, marker=marker, s=size, alpha=np.linspace(0.3, 1, len(points)), lw=0)
                if kind == "reasoning":
                    ax.plot(*points.T, color=colour, lw=0.7, alpha=0.5, zorder=0)
                    for i in (0, len(points) - 1):
                        ax.annotate(str(REASONING[i]), points[i], fontsize=8, xytext=(3, 3), textcoords="offset points")
            ax.set_title(title, fontsize=9)
            ax.set_xticks([])
            ax.set_yticks([])
            ax.set_xlabel("first component")
        axes[0, 0].set_ylabel("second component")
        marks = [Line2D([], [], color=colour, marker=marker, ms=7, ls="") for colour, marker, _ in PLANE.values()]
        fig.legend(marks, list(PLANE), loc="outside upper center", ncols=3)
    return fig


Fits = Mapping[str, Mapping[float, Sequence[tuple[float, float]]]]
"""{circuit: {γ: (the parameter that fits best, mean deviation) of each run}}."""


def spreads(found: Fits, lines: Fits, paper: float) -> Figure:
    """The σ_P of Theorem 1 that fits a run best (left) and what it leaves (right) against γ, a mark a run by its circuit;
    hollow: what a straight line leaves, which has as many free parameters. Dashed: the paper's σ_P."""
    looks = ((style.VERMILLION, "o"), (style.BLUE, "s"))
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 3.2))
        for i, ((name, groups), (colour, mark)) in enumerate(zip(found.items(), looks, strict=True)):
            for gamma, values in groups.items():
                x = [gamma + 0.012 * (1 - 2 * i)] * len(values)
                spread, left = zip(*values, strict=True)
                straight = [deviation for _, deviation in lines[name][gamma]]
                for ax, y in zip(axes, (spread, left), strict=True):
                    ax.plot(x, y, mark, color=colour, ms=5.5, alpha=0.8, mew=0, label=f"bump, {name}")
                axes[1].plot(x, straight, mark, mfc="none", mec=colour, ms=5, alpha=0.8, label=f"line, {name}")
        axes[0].axhline(paper, color="#888888", lw=0.9, ls="--")
        axes[0].set(yscale="log", xlabel="initialization rate γ", ylabel="σ$_P$ that fits best")
        axes[0].set_yticks([2, 3, 5, 10, 20], ["2", "3", "5", "10", "20"])
        axes[0].minorticks_off()
        axes[1].set(xlabel="initialization rate γ", ylabel="mean distance of cosines", ylim=(0, None))
        handles, labels = axes[1].get_legend_handles_labels()
        named = dict(zip(labels, handles, strict=True))
        fig.legend(named.values(), named.keys(), loc="outside lower center", ncols=2)
    return fig
