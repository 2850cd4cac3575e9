"""The figures of the phase diagram and of what runs answer to (4, 3): every run is shown, and nothing is averaged that seeds do
not share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from lib.composition import palette
from lib.composition.figures import legend_of_kinds, square
from lib.composition.phase_diagram.metrics import PhaseTable
from lib.composition.runs import MAPPINGS, SHADOW, exact_kind, learned
from lib.composition.study import OFFSETS
from lib.composition.task import INFERENTIAL_OFFSET, SYMMETRIC_OFFSET
from lib.core.read import style
from lib.core.record.store import StoredRun

# --- The grid over γ and depth ---


def _diagram(ax: Axes, table: PhaseTable, values: np.ndarray, name: str, shadow: np.ndarray, title: str) -> None:
    image = ax.imshow(values, origin="lower", aspect="auto", vmin=0, vmax=1, cmap=palette.FILL[name])
    style.tick_grid(ax, list(table.gammas), list(table.depths), "initialization rate γ", "depth (layers)")
    style.write_values(ax, values)
    for row, column in np.argwhere(shadow).tolist():
        place = column - 0.44, row - 0.4
        ax.add_patch(Rectangle(place, 0.88, 0.8, fill=False, ls=(0, (3, 2)), lw=1.3, edgecolor="#222222"))
    ax.set_title(title)
    ax.figure.colorbar(image, ax=ax, shrink=0.9, label="share of answers")
    style.bare(ax)


def phase_diagram(table: PhaseTable) -> Figure:
    """Selected accuracy on (4, 3) under each mapping over γ and depth (Fig. 2a, b); framed where seen pairs are below 90 %."""
    with style.look():
        fig, axes = plt.subplots(2, 1, figsize=(style.WIDTH, 1.1 + 0.95 * len(table.depths)), sharex=True)
        for ax, mapping, letter in zip(axes, MAPPINGS, "ab", strict=True):
            accuracy, test = table.selected(mapping)
            _diagram(ax, table, accuracy, mapping, test < SHADOW, f"{letter}  {palette.LABEL[mapping]}, selected")
        axes[0].set_xlabel("")
    return fig


def own_point(runs: Sequence[StoredRun]) -> Figure:
    """Shares of the three kinds of answer for every run of one point, grouped by seed, with test accuracy on seen pairs."""
    names = ("symmetric", "inferential", "neither")
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 0.9 + 0.24 * len(runs)))
        left = np.zeros(len(runs))
        for name in names:
            width = np.array([r.metrics[name] if name in r.metrics else 1 - sum(r.metrics[m] for m in MAPPINGS) for r in runs])
            ax.barh(range(len(runs)), width, left=left, color=palette.COLOUR[name], label=palette.LABEL[name])
            left += width
        ax.plot([r.metrics["test"] for r in runs], range(len(runs)), "k|", ms=11, mew=2, label=palette.LABEL["test"])
        ax.set_yticks(range(len(runs)), [f"seed {r.spec.seed}, learning rate {r.spec.rate:g}" for r in runs])
        ax.set(xlim=(0, 1.005), xlabel="share of answers to (4, 3)")
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
        fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return fig


# --- Answers of two layers ---

GAMMA = "initialization rate γ  (weights get smaller →)"


def histogram(gammas: Sequence[float], values: np.ndarray, narrow: bool = False) -> Figure:
    """The phase diagram of all answers: a column a run, a row an offset from the key; `narrow`: for a phone.

    gammas: of the runs, ascending; values: (33, runs) shares of OFFSETS.
    """
    with style.look():
        fig, ax = plt.subplots(figsize=(style.NARROW if narrow else style.WIDTH, 4.2))
        image = ax.imshow(
            np.sqrt(values), origin="lower", aspect="auto", vmin=0, vmax=1, cmap="Greys", extent=(0, len(gammas), *_ends())
        )
        for name, offset in (("symmetric", SYMMETRIC_OFFSET), ("inferential", INFERENTIAL_OFFSET)):
            for edge in (-0.5, 0.5):
                ax.axhline(offset + edge, color=palette.COLOUR[name], lw=1.2)
            label = name if narrow else palette.LABEL[name]
            ax.text(len(gammas) * 1.005, offset, label, color=palette.COLOUR[name], va="center", fontsize=8)
        _mark_gammas(ax, gammas, room=0.12 if narrow else 0.05)
        ax.set(xlabel="γ; a column a run" if narrow else f"{GAMMA}; a column a run", ylabel="answer − key")
        bar = fig.colorbar(
            image, ax=ax, location="top", shrink=0.9 if narrow else 0.4, aspect=30, label="share of a run's answers"
        )
        bar.set_ticks([share**0.5 for share in (0, 0.04, 0.25, 0.5, 1)], labels=["0", "0.04", "0.25", "0.5", "1"])
    return fig


def _ends() -> tuple[float, float]:
    return OFFSETS[0] - 0.5, OFFSETS[-1] + 0.5


def _mark_gammas(ax: Axes, gammas: Sequence[float], room: float) -> None:
    """Columns of one γ stand together over its value, where there is `room` for that: a share of the axis."""
    edges = [i for i in range(1, len(gammas)) if gammas[i] != gammas[i - 1]]
    for edge in edges:
        ax.axvline(edge, color="white", lw=2.5)
    middles = [(a + b) / 2 for a, b in pairwise([0, *edges, len(gammas)])]
    marked: list[float] = []
    for middle in middles:
        if not marked or middle - marked[-1] > room * len(gammas):
            marked.append(middle)
    ax.set_xticks(marked, [f"{gammas[int(m)]:g}" for m in marked])
    ax.tick_params(length=0)


def neighbour_steps(by_gamma: Mapping[float, np.ndarray]) -> Figure:
    """How far the nearest neighbour in the embedding is as a number (Fig. 5c's steps of 3 and 4), a row a γ.

    by_gamma: {γ: (n + 1,) shares of the steps 1 to n, and of all larger ones}.
    """
    gammas, values = list(by_gamma), np.array(list(by_gamma.values()))
    largest = values.shape[1] - 1
    labels = [str(i + 1) for i in range(largest)] + [f"> {largest}"]
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 0.9 + 0.25 * len(gammas)))
        image = ax.imshow(values, aspect="auto", vmin=0, vmax=1, cmap=palette.FILL["neither"])
        xlabel = "distance of the nearest neighbour, as a number"
        style.tick_grid(ax, labels, [f"{g:g}" for g in gammas], xlabel, "initialization rate γ")
        for (row, column), share in np.ndenumerate(values):
            if share >= 0.05:
                ax.text(column, row, f"{share:.0%}", ha="center", va="center", fontsize=8, color="#222222")
        style.bare(ax)
        fig.colorbar(image, ax=ax, label="share of the numbers")
    return fig


# --- By kind ---

KINDS = ("symmetric", "neither", "inferential")


def kinds(
    panels: Mapping[str, Sequence[StoredRun]], edge: float | None = None, steps: int = 100, narrow: bool = False
) -> Figure:
    """A square a run, stacked over its γ (rounded to 1 / `steps`) and coloured by its kind; hollow where it has not learned.
    `edge`: γ between the bands of Figure 2.6; `narrow`: for a phone. panels: {title: runs}, one above the other."""
    columns: dict[str, dict[float, list[StoredRun]]] = {title: {} for title in panels}
    for title, runs in panels.items():
        for run in runs:
            columns[title].setdefault(round(steps * run.spec.gamma) / steps, []).append(run)
    tops = [1 + max(map(len, found.values()), default=1) for found in columns.values()]
    with style.look():
        size = (style.NARROW if narrow else style.WIDTH, 1.0 + 0.5 * narrow + sum(0.6 + 0.145 * top for top in tops))
        fig, axes = plt.subplots(
            len(panels), 1, figsize=size, sharex=True, squeeze=False, height_ratios=[2 + top for top in tops]
        )
        for ax, (title, found), top in zip(axes[:, 0], columns.items(), tops, strict=True):
            for gamma, group in found.items():
                ordered = sorted(group, key=lambda r: (KINDS.index(exact_kind(r)), not learned(r), r.spec.gamma, r.spec.seed))
                for height, run in enumerate(ordered):
                    square(ax, gamma, height + 0.5, run, 4.0 if narrow else 6.5)
            if edge is not None:
                ax.axvline(edge, color=style.GREY, lw=1, ls=":")
            ax.set(ylim=(0, top))
            ax.set_yticks(range(0, top, 4) if top > 4 else [])
            ax.set_title(title, fontsize=9.5)
        axes[0, 0].set_ylabel("runs")
        axes[-1, 0].set_xlabel(GAMMA)
        legend_of_kinds(fig, 1 if narrow else 2)
    return fig


def early(points: Sequence[tuple[StoredRun, float]]) -> Figure:
    """The early answer of runs (− 10 less − 7, when 60 % of training rows are right) against what they answer at the end
    (inferential less symmetric), coloured by kind; squares: single precision."""
    with style.look():
        fig, ax = plt.subplots(figsize=(style.NARROW + 1.2, 3.4))
        for x in (ax.axvline, ax.axhline):
            x(0, color="#BBBBBB", lw=0.8)
        for run, value in points:
            marker = "s" if run.provenance["precision"] == "float32" else "o"
            final = run.metrics["inferential"] - run.metrics["symmetric"]
            ax.plot(value, final, marker, ms=6, mew=0, alpha=0.8, color=palette.COLOUR[exact_kind(run)])
        ax.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
        ax.set(xlabel="early: share of −10 less −7", ylabel="at the end: share of −10 less −6")
        handles = [Line2D([], [], ls="", marker="o", ms=6, color=palette.COLOUR[k], label=k) for k in KINDS]
        fig.legend(handles=handles, loc="outside lower center", ncols=3)
    return fig
