"""The figures of condensation, embeddings and spectra."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from lib.composition import palette
from lib.composition.condensation.metrics import condensation, greedy_groups, measures_of
from lib.composition.information_flow.metrics import columns, composing
from lib.composition.phase_diagram.metrics import share_of, step_shares
from lib.composition.runs import MAPPINGS, exact_kind
from lib.composition.spectra import N_EIGENVALUES
from lib.composition.task import FIRST_KEY, INFERENTIAL_OFFSET, LAST_KEY
from lib.core.read import style
from lib.core.record.store import StoredRun

Cells = Mapping[tuple[Any, Any], np.ndarray]
"""{(row, column): array}: what each cell of a grid of panels shows."""


Answers = Mapping[tuple[Any, Any], str]
"""{(row, column): "symmetric", "inferential" or "neither"}: what the model of each panel mostly answers."""


def _grid(cells: Cells, row_name: str, column_name: str, answers: Answers | None) -> tuple[Figure, dict[tuple, Axes]]:
    """One small square panel a cell; rows from bottom to top, labels at the edges; framed in the colour of its answer, where
    these are given. Call inside style.look()."""
    rows, columns = sorted({r for r, _ in cells}, reverse=True), sorted({c for _, c in cells})
    size = min(style.WIDTH / len(columns), 1.6)
    figsize = style.WIDTH, 0.98 * size * len(rows) + (0.8 if answers else 0.5)
    fig, axes = plt.subplots(len(rows), len(columns), figsize=figsize, squeeze=False)
    write = lambda v: f"{v:g}" if isinstance(v, float) else str(v)
    places = {}
    for i, r in enumerate(rows):
        for j, c in enumerate(columns):
            places[r, c] = ax = axes[i, j]
            ax.set(xticks=[], yticks=[])
            answer = (answers or {}).get((r, c))
            for spine in ax.spines.values():
                spine.set(visible=True, linewidth=2 if answer else 0.5, color=palette.COLOUR[answer] if answer else "#AAAAAA")
        axes[i, 0].set_ylabel(write(r), rotation=0, ha="right", va="center")
    for ax, c in zip(axes[-1], columns, strict=True):
        ax.set_xlabel(write(c))
    fig.supxlabel(column_name, fontsize=9)
    fig.supylabel(row_name, fontsize=9)
    if answers:
        shown = [answer for answer in (*MAPPINGS, "neither") if answer in answers.values()]
        handles = [Line2D([], [], color=palette.COLOUR[answer], lw=2, label=answer) for answer in shown]
        fig.legend(handles=handles, loc="outside upper center", ncols=len(shown), title="answer to (4, 3)")
    return fig, places


def neuron_grid(cells: Cells, row_name: str, column_name: str, answers: Answers | None = None) -> Figure:
    """Figs 5a, b, 10 and 15: cosines of the neurons of W_Q(1), sorted by the greedy grouping; the number is condensation.

    cells: {(row, column): (n, n) cosines}; panels are framed by their answers, if given.
    """
    with style.look():
        fig, places = _grid(cells, row_name, column_name, answers)
        image: Any = None
        for place, cosine in cells.items():
            order = [i for group in greedy_groups(cosine) for i in group]
            image = places[place].imshow(cosine[np.ix_(order, order)], vmin=-1, vmax=1, cmap=style.COSINE)
            if answers:  # a white edge, so that the frame's colour is not taken for a cosine
                low, high = -0.5 - 0.05 * len(order), 1.05 * len(order) - 0.5
                places[place].set(xlim=(low, high), ylim=(high, low))
            places[place].set_title(f"{condensation(cosine):.2f}", fontsize=7.5, pad=2, fontweight="normal")
        fig.colorbar(image, ax=list(places.values()), shrink=0.6, label="cosine of input weights")
    return fig


def embedding_grid(cells: Cells, row_name: str, column_name: str, answers: Answers | None = None) -> Figure:
    """Figs 5c, d, 11 and 16: a map of the embeddings of the numbers 20 … 99, coloured by number; what is written is the order
    of the embedding itself. cells: {(row, column): (80, 3)}, two coordinates and, the same in every row, the order. Panels
    are framed by their answers, if given."""
    numbers = np.arange(FIRST_KEY, LAST_KEY + 1)
    with style.look():
        fig, places = _grid(cells, row_name, column_name, answers)
        for place, points in cells.items():
            ax = places[place]
            ax.plot(*points[:, :2].T, color="#CCCCCC", lw=0.4, zorder=1)
            ax.scatter(*points[:, :2].T, c=numbers, cmap=style.GAMMA, s=4, lw=0, zorder=2)
            ax.margins(0.08)
            ax.set_title(f"{points[0, 2]:.2f}", fontsize=7.5, pad=2, fontweight="normal")
        scale = ScalarMappable(Normalize(FIRST_KEY, LAST_KEY), style.GAMMA)
        fig.colorbar(scale, ax=list(places.values()), shrink=0.6, label="number")
    return fig


def _free(points: np.ndarray, named: np.ndarray) -> np.ndarray:
    """Where the labels of the named points of a map go: of places around each, at two distances, the one furthest from all
    points and earlier labels. points: (n, 2); named: (n,) bool; returns (labels, 2)."""
    span = np.ptp(points, axis=0)
    angle = np.arange(0, 2 * np.pi, np.pi / 12)
    circle = np.concatenate([radius * np.c_[np.cos(angle), np.sin(angle)] for radius in (0.045, 0.065)])
    taken, found = points / span, []
    for at in points[named] / span:
        free = np.linalg.norm((at + circle)[:, None] - taken, axis=-1).min(1)
        found.append(at + circle[free.argmax()])
        taken = np.vstack([taken, found[-1]])
    return np.array(found) * span


def phase_pair(models: Mapping[str, tuple[np.ndarray, np.ndarray]], narrow: bool = False) -> Figure:
    """Fig. 5: {title: ((n, n) cosines of the neurons of W_Q(1), (80, 2) map of the embeddings of 20 … 99)}, a column each.

    Neurons are sorted by the greedy grouping. In the maps every tenth number is written, and neighbours are joined. `narrow`,
    for a phone: a row each.
    """
    numbers = np.arange(FIRST_KEY, LAST_KEY + 1)
    shape, width, height = (2, len(models)), style.WIDTH, style.WIDTH * 0.88
    if narrow:
        shape, width, height = shape[::-1], style.NARROW, 0.7 + 2.1 * len(models)
    with style.look():
        fig, axes = plt.subplots(*shape, figsize=(width, height), squeeze=False)
        places = axes if narrow else axes.T
        for (left, right), (title, (cosine, points)) in zip(places, models.items(), strict=True):
            order = [i for group in greedy_groups(cosine) for i in group]
            image = left.imshow(cosine[np.ix_(order, order)], vmin=-1, vmax=1, cmap=style.COSINE)
            condensed = f"condensation {condensation(cosine):.2f}"
            left.set(xticks=[], yticks=[], xlabel=condensed if narrow else f"neuron ({condensed})")
            left.set_title(title, fontsize=9)
            right.plot(*points.T, color="#CCCCCC", lw=0.6, zorder=1)
            dots = right.scatter(*points.T, c=numbers, cmap=style.GAMMA, s=14, lw=0, zorder=2)
            tens = numbers % 10 == 0
            for number, at, place in zip(numbers[tens], points[tens], _free(points, tens), strict=True):
                arrow = {"arrowstyle": "-", "lw": 0.6, "color": "#555555", "shrinkA": 0, "shrinkB": 2}
                label = right.annotate(str(number), at, place, fontsize=8.5, ha="center", va="center", arrowprops=arrow)
                label.set_path_effects([withStroke(linewidth=2, foreground="white")])
            right.margins(0.1)
            right.set(xticks=[], yticks=[], xlabel="map of the embedding")
        places[0, 0].set_ylabel("neuron of the query" if narrow else "neuron of the first query matrix")
        bar: dict[str, Any] = {"location": "bottom", "shrink": 0.9} if narrow else {"shrink": 0.8}
        fig.colorbar(image, ax=places[:, 0], label="cosine of weights" if narrow else "cosine of input weights", **bar)
        fig.colorbar(dots, ax=places[:, 1], label="number", **bar)
    return fig


def eigenvalues_along_training(runs: Sequence[StoredRun], titles: Sequence[str]) -> Figure:
    """Fig. 12b: the leading eigenvalues of the embedding's covariance along training, and below them the share of seen pairs
    that are right. Each run has a scale of its own."""
    names = [f"eigenvalue {i + 1}" for i in range(N_EIGENVALUES)]
    with style.look():
        size = (style.WIDTH, 3.8)
        fig, axes = plt.subplots(2, len(runs), figsize=size, squeeze=False, sharex="col", height_ratios=(2.4, 1))
        for (above, below), run, title in zip(axes.T, runs, titles, strict=True):
            for i, name in enumerate(n for n in names if n in run.history):
                above.plot(run.history["step"], run.history[name], color=style.GAMMA(i / len(names)), lw=1.4, label=str(i + 1))
            below.plot(run.history["step"], run.history["test"], color=palette.SEEN, lw=1.2)
            above.set(ylim=(0, None))
            below.set(xlabel="step", ylim=(0, 1.03))
            below.xaxis.set_major_locator(MaxNLocator(4))
            below.xaxis.set_major_formatter("{x:,.0f}")
            above.set_title(title, fontsize=9)
        axes[0, 0].set_ylabel("eigenvalue")
        axes[1, 0].set_ylabel("seen pairs\nright")
        fig.legend(
            *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=8, title="number of the eigenvalue"
        )
    return fig


MEASURES = {
    "condensation of W_Q(1)": "condensation of $W_Q^{(1)}$",
    "order of the embedding": "order of the embedding",
    "embedding's effective dimension": "effective dimension\nof the embedding",
    "mean stable rank": "mean stable rank",
}


def measures_figure(runs: Sequence[StoredRun]) -> Figure:
    """Four measures of simple weights over γ, a point a run, in the colour of its answer; lines join the medians."""
    gammas = sorted({run.spec.gamma for run in runs})
    with style.look():
        fig, axes = plt.subplots(2, 2, figsize=(style.WIDTH, 4.2), sharex=True, sharey=True)
        for ax, (name, title) in zip(axes.ravel(), MEASURES.items(), strict=True):
            value = {run.path: measures_of(run)[name] for run in runs}
            middle = [float(np.median([value[r.path] for r in runs if r.spec.gamma == g])) for g in gammas]
            ax.plot(gammas, middle, color=style.LIGHT, lw=1.2, zorder=1)
            for aside, kind in zip((-0.012, 0, 0.012), ("neither", *MAPPINGS), strict=True):
                here = [r for r in runs if exact_kind(r) == kind]
                at = [r.spec.gamma + aside for r in here], [value[r.path] for r in here]
                ax.plot(*at, "o", ms=6, mew=0, alpha=0.7, color=palette.COLOUR[kind], label=kind)
            ax.set(ylim=(-0.04, 1.04), xticks=gammas)
            ax.set_title(title, fontsize=9)
        for ax in axes[-1]:
            ax.set_xlabel("initialization rate γ")
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, title="answer to (4, 3)")
    return fig


_DISTANCES = {"1 apart": ((1,), style.PURPLE), "3": ((3,), style.GREEN), "4": ((4,), "#8FD3BD"), "other": ((), style.LIGHT)}


def row_figure(runs: Sequence[StoredRun]) -> Figure:
    """Runs that compose to within one step: above, how far the nearest neighbour of a number lies in the embedding; below, how
    far off −10 the answers to (4, 3) are that are off."""
    order, at, ends = columns(composing(runs))
    with style.look():
        fig, (above, below) = plt.subplots(2, 1, figsize=(style.WIDTH, 4.8), sharex=True)
        near, missed = np.zeros(len(order)), np.zeros(len(order))
        for name, (steps, colour) in _DISTANCES.items():
            share = np.array([sum(step_shares(run)[s - 1] for s in steps) for run in order]) if steps else 1 - near
            off = [INFERENTIAL_OFFSET + sign * s for s in steps for sign in (1, -1)]
            wrong = np.array([1 - run.metrics["inferential"] for run in order])
            miss = np.array([share_of(run, off) for run in order]) if steps else wrong - missed
            above.bar(at, share, 0.86, bottom=near, color=colour, label=name)
            below.bar(at, miss, 0.86, bottom=missed, color=colour)
            near, missed = near + share, missed + miss
        above.set(ylim=(0, 1), ylabel="numbers, by distance\nof their neighbour")
        below.set(ylabel="answers that miss −10,\nby how much")
        above.legend(ncols=4, loc="lower left", bbox_to_anchor=(0, 1.15), columnspacing=1.2, handlelength=1.2)
        below.set_xticks([(a + b) / 2 for *_, a, b in ends], [name.replace(" ", "\n") for _, name, *_ in ends])
        for i, gamma in enumerate(dict.fromkeys(g for g, *_ in ends)):
            places = [place for g, _, *both in ends if g == gamma for place in both]
            x, words, ha = (min(places) + max(places)) / 2, f"{gamma:g}", "center"
            if i == 0:  # the only one with its name, to the left, where a phone has room
                x, words, ha = max(places) + 0.43, f"γ = {gamma:g}", "right"
            above.text(x, 1.06, words, ha=ha, va="bottom", weight="bold")
        for ax in (above, below):
            style.bare(ax)
    return fig
