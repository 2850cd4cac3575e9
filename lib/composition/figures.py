"""The figures of the composition study: each takes loaded results or the task and returns a matplotlib Figure."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from lib.composition import analysis
from lib.composition.analysis import MAPPINGS, SHADOW, PhaseTable
from lib.composition.task import (
    ANCHORS,
    EXCEPTION,
    EXCEPTION_OFFSET,
    FIRST_KEY,
    HELD_OUT,
    INFERENTIAL_OFFSET,
    LAST_KEY,
    N_PLACES,
    PAIRS,
    SYMMETRIC_OFFSET,
    Task,
)
from lib.core import style
from lib.core.store import StoredRun


def signed(offset: float) -> str:
    """+5, −8, with a true minus sign; empty for NaN."""
    return "" if np.isnan(offset) else f"{int(offset):+d}".replace("-", "−")


def _box(
    ax: Axes, x: float, y: float, text: str, colour: str, width: float = 0.9, height: float = 0.7, size: float = 9
) -> None:
    ax.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=colour,
            edgecolor="#444444",
            linewidth=0.6,
        )
    )
    dark = colour in (style.SYMMETRIC, style.INFERENTIAL, style.KEY)
    ax.text(x, y, text, ha="center", va="center", fontsize=size, color="white" if dark else "#111111")


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = "#444444", bend: float = 0.0) -> None:
    ax.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=10, color=colour, linewidth=1.2, connectionstyle=f"arc3,rad={bend}"
        )
    )


def _offsets(ax: Axes, table: np.ndarray, fills: dict[tuple[int, int], str], notes: dict[tuple[int, int], str]) -> None:
    """A 4 by 4 table of offsets, rows a1, columns a2."""
    for (row, column), value in np.ndenumerate(table):
        pair = (row + 1, column + 1)
        colour = fills.get(pair, "#F2F2F2")
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=2))
        light = colour in (style.SYMMETRIC, style.INFERENTIAL)
        ax.text(
            column,
            row,
            notes.get(pair, signed(value)),
            ha="center",
            va="center",
            color="white" if light else "#111111",
            fontsize=9,
        )
    ax.set(xlim=(-0.5, 3.5), ylim=(3.5, -0.5), aspect="equal")
    ax.set_xticks(range(4), [f"{a}" for a in ANCHORS])
    ax.set_yticks(range(4), [f"{a}" for a in ANCHORS])
    ax.tick_params(length=0)
    ax.set_xlabel("second anchor $a_2$")
    ax.set_ylabel("first anchor $a_1$")
    for spine in ax.spines.values():
        spine.set_visible(False)


def data_examples(task: Task, seed: int, n_rows: int = 5) -> Figure:
    """Rows of the training set as the model sees them, and the table of offsets that it is taught (Fig. 1a)."""
    batch = task.rows(torch.tensor(seed), torch.arange(n_rows) * 4)
    with style.look():
        fig, (left, right) = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9), width_ratios=[2.1, 1])
        for r in range(n_rows):
            y, place = n_rows - r, int(batch.place[r])
            colours = {place: style.KEY, place + 1: style.FIRST_ANCHOR, place + 2: style.SECOND_ANCHOR}
            for column, token in enumerate(batch.tokens[r].tolist()):
                _box(left, column, y, str(token), colours.get(column, style.NOISE))
            _arrow(left, (8.55, y), (9.35, y))
            _box(left, 9.9, y, str(int(batch.target[r])), "white")
        for x, text, colour in (
            (0.0, "key", style.KEY),
            (1.9, "first anchor", style.FIRST_ANCHOR),
            (4.7, "second anchor", style.SECOND_ANCHOR),
            (7.7, "noise", style.NOISE),
        ):
            _box(left, x - 0.2, 0, "", colour, 0.4, 0.4)
            left.text(x + 0.15, 0, text, va="center", fontsize=8.5)
        left.text(9.9, n_rows + 0.7, "target", ha="center", fontsize=8.5)
        left.set(xlim=(-0.7, 10.5), ylim=(-0.5, n_rows + 1.1), title="a  Sequences and their targets")
        left.axis("off")
        _offsets(
            right,
            analysis.offset_table(),
            {EXCEPTION: style.SYMMETRIC, HELD_OUT: "#FFFFFF"},
            {HELD_OUT: "?"},
        )
        right.set_title("b  Offsets taught")
    return fig


def mechanisms(key: int = 99) -> Figure:
    """The two answers to the held-out pair, step by step (Fig. 1b). Every number comes from the task."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.5))
        top, bottom = 2.0, 0.6
        for ax, title in zip(axes, ("Symmetric: recall the mirrored pair", "Inferential: compose single anchors"), strict=True):
            ax.set(xlim=(-0.7, 6.7), ylim=(-0.2, 2.8), title=title)
            ax.axis("off")
            for x, text, colour in (
                (0, str(key), style.KEY),
                (1, str(HELD_OUT[0]), style.FIRST_ANCHOR),
                (2, str(HELD_OUT[1]), style.SECOND_ANCHOR),
            ):
                _box(ax, x, top, text, colour)
        left, right = axes
        for x, text, colour in (
            (0, str(key), style.KEY),
            (1, str(EXCEPTION[0]), style.SECOND_ANCHOR),
            (2, str(EXCEPTION[1]), style.FIRST_ANCHOR),
        ):
            _box(left, x, bottom, text, colour)
        _arrow(left, (1, top - 0.4), (2, bottom + 0.4))
        _arrow(left, (2, top - 0.4), (1, bottom + 0.4))
        _arrow(left, (2.6, bottom), (4.9, bottom))
        left.text(3.75, bottom + 0.2, f"taught: {signed(EXCEPTION_OFFSET)}", ha="center", fontsize=8.5)
        _box(left, 5.7, bottom, str(key + SYMMETRIC_OFFSET), style.SYMMETRIC, 1.3)
        steps = [key, key + ANCHORS[HELD_OUT[0]], key + INFERENTIAL_OFFSET]
        _arrow(right, (0, top - 0.4), (0.2, bottom + 0.4))
        _box(right, 0.3, bottom, str(steps[0]), style.KEY, 1.0)
        for i, (anchor, colour) in enumerate(zip(HELD_OUT, (style.FIRST_ANCHOR, style.SECOND_ANCHOR), strict=True)):
            x = 0.3 + 2.7 * i
            _arrow(right, (x + 0.55, bottom), (x + 2.0, bottom), colour)
            right.text(
                x + 1.25, bottom + 0.2, f"{anchor}: {signed(ANCHORS[anchor])}", ha="center", fontsize=8.5, color="#222222"
            )
            _box(right, x + 2.7, bottom, str(steps[i + 1]), style.INFERENTIAL if i else "white", 1.3)
    return fig


def generalizations() -> Figure:
    """Which (pair, key-and-place) combinations training sees, and the two ways to go beyond them (Fig. 8)."""
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 2.3))
        for x, y, width, height, colour, text in (
            (0, 1, 9, 1.5, "#E8E8E8", "training"),
            (9, 1, 2.6, 1.5, "#FFFFFF", "data generalization\nseen pairs at new\n(key, place)"),
            (0, 0, 11.6, 1, "#FFFFFF", "task generalization: pair (4, 3), never trained at any key or place"),
        ):
            ax.add_patch(Rectangle((x, y), width, height, facecolor=colour, edgecolor="#444444", linewidth=1))
            ax.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=8.5)
        ax.set(xlim=(-0.1, 11.7), ylim=(-0.05, 2.55))
        ax.set_yticks([0.5, 1.75], ["(4, 3)", "15 seen pairs"])
        ax.set_xticks([4.5, 10.3], ["(key, place) that train", "held out"])
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
    return fig


def split(tasks: Sequence[Task]) -> Figure:
    """Which keys train at which place, for each split (Fig. 9): dark cells are held out for testing."""
    with style.look():
        fig, axes = plt.subplots(len(tasks), 1, figsize=(style.WIDTH, 1.25 * len(tasks) + 0.3), sharex=True, squeeze=False)
        for ax, task in zip(axes[:, 0], tasks, strict=True):
            ax.imshow(~task.trains.numpy(), aspect="auto", cmap="Greys", vmin=0, vmax=1.3, interpolation="nearest")
            keys = range(FIRST_KEY, LAST_KEY + 1, 10)
            ax.set_xticks([k - FIRST_KEY for k in keys], [str(k) for k in keys])
            ax.set_yticks(range(N_PLACES))
            ax.set_ylabel("key's place")
            share = float(task.trains.float().mean())
            ax.set_title(f"key mod {task.modulus} = place is held out: {1 - share:.1%} of the combinations")
        axes[-1, 0].set_xlabel("key")
    return fig


def ladder() -> Figure:
    """Four ways to hold the same table, from rows to primitives (the talk's ladder), drawn from the task."""
    rungs = analysis.ladder()
    names = list(rungs)
    palette = plt.get_cmap("Set3").colors
    with style.look():
        fig, axes = plt.subplots(1, 4, figsize=(style.WIDTH, 2.45))
        table = analysis.offset_table()
        unordered = [pair for pair, _ in rungs["symmetric maps"]]
        flat = {pair: "#F2F2F2" for pair, _ in rungs["pair maps"]}
        mirrored = {(a, b): palette[unordered.index(tuple(sorted((a, b))))] for a in ANCHORS for b in ANCHORS}
        _offsets(axes[0], table, flat | {HELD_OUT: "#FFFFFF"}, dict.fromkeys(flat, "80\nkeys") | {HELD_OUT: "?"})
        _offsets(axes[1], table, flat | {HELD_OUT: "#FFFFFF"}, {HELD_OUT: "?"})
        _offsets(axes[2], analysis.offset_table(SYMMETRIC_OFFSET), mirrored, {})
        for ax, name, count in zip(axes, names, (len(rungs[name]) for name in names), strict=True):
            ax.set_title(f"{count:,} of {len(PAIRS)} pair maps" if name == "pair maps" else f"{count:,} {name}", fontsize=9)
        for ax in axes[1:3]:
            ax.set_ylabel("")
        axes[3].axis("off")
        axes[3].set(xlim=(0, 1), ylim=(4.2, -0.7))
        for row, (anchor, offset) in enumerate(rungs["primitives"]):
            axes[3].text(0.5, row, f"{anchor}:  key → key {signed(offset)}", ha="center", va="center", fontsize=9.5)
        axes[3].text(0.5, 4.0, "compose two of them", ha="center", va="center", fontsize=8.5, style="italic")
    return fig


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
