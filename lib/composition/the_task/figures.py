"""The figures of the chapter on the task: drawn from the task object, no trained model involved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from lib.composition import palette
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
from lib.composition.the_task import metrics
from lib.core.read import style


def signed(offset: float) -> str:
    """+5, −8, with a true minus sign; empty for NaN."""
    return "" if np.isnan(offset) else f"{int(offset):+d}".replace("-", "−")


def _box(ax: Axes, x: float, y: float, text: str, colour: str, width: float = 0.9, height: float = 0.7) -> None:
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
    dark = colour in (palette.SYMMETRIC, palette.INFERENTIAL, palette.KEY)
    ax.text(x, y, text, ha="center", va="center", fontsize=9, color="white" if dark else "#111111")


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = "#444444") -> None:
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=10, color=colour, linewidth=1.2))


def _offsets(ax: Axes, table: np.ndarray, fills: Mapping[tuple[int, int], Any], notes: dict[tuple[int, int], str]) -> None:
    """A 4 by 4 table of offsets, rows a1, columns a2."""
    for (row, column), value in np.ndenumerate(table):
        pair = (row + 1, column + 1)
        colour = fills.get(pair, "#F2F2F2")
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=2))
        light = colour in (palette.SYMMETRIC, palette.INFERENTIAL)
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
    ax.set_xlabel("second anchor $a_2$")
    ax.set_ylabel("first anchor $a_1$")
    style.bare(ax)


def data_examples(task: Task, seed: int) -> Figure:
    """Rows of the training set as the model sees them, and the table of offsets that it is taught (Fig. 1a)."""
    n_rows = 5
    batch = task.rows(torch.tensor(seed), 1 + 6 * torch.arange(n_rows))  # pairs of every first anchor, and mirror images
    with style.look():
        fig, (left, right) = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9), width_ratios=[2.1, 1])
        for r in range(n_rows):
            y, place = n_rows - r, int(batch.place[r])
            colours = {place: palette.KEY, place + 1: palette.FIRST_ANCHOR, place + 2: palette.SECOND_ANCHOR}
            for column, token in enumerate(batch.tokens[r].tolist()):
                _box(left, column, y, str(token), colours.get(column, palette.NOISE))
            _arrow(left, (8.55, y), (9.35, y))
            _box(left, 9.9, y, str(int(batch.target[r])), "white")
        for x, text, colour in (
            (0.0, "key", palette.KEY),
            (1.9, "first anchor", palette.FIRST_ANCHOR),
            (4.7, "second anchor", palette.SECOND_ANCHOR),
            (8.5, "noise", palette.NOISE),
        ):
            _box(left, x - 0.2, 0, "", colour, 0.4, 0.4)
            left.text(x + 0.15, 0, text, va="center", fontsize=8.5)
        left.text(9.9, n_rows + 0.7, "target", ha="center", fontsize=8.5)
        left.set(xlim=(-0.7, 10.5), ylim=(-0.5, n_rows + 1.1), title="a  Sequences and their targets")
        left.axis("off")
        _offsets(
            right,
            metrics.offset_table(),
            {EXCEPTION: palette.SYMMETRIC, HELD_OUT: "#FFFFFF"},
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
                (0, str(key), palette.KEY),
                (1, str(HELD_OUT[0]), palette.FIRST_ANCHOR),
                (2, str(HELD_OUT[1]), palette.SECOND_ANCHOR),
            ):
                _box(ax, x, top, text, colour)
        left, right = axes
        for x, text, colour in (
            (0, str(key), palette.KEY),
            (1, str(EXCEPTION[0]), palette.SECOND_ANCHOR),
            (2, str(EXCEPTION[1]), palette.FIRST_ANCHOR),
        ):
            _box(left, x, bottom, text, colour)
        _arrow(left, (1, top - 0.4), (2, bottom + 0.4))
        _arrow(left, (2, top - 0.4), (1, bottom + 0.4))
        _arrow(left, (2.6, bottom), (4.9, bottom))
        left.text(3.75, bottom + 0.2, f"taught: {signed(EXCEPTION_OFFSET)}", ha="center", fontsize=8.5)
        _box(left, 5.7, bottom, str(key + SYMMETRIC_OFFSET), palette.SYMMETRIC, 1.3)
        steps = [key, key + ANCHORS[HELD_OUT[0]], key + INFERENTIAL_OFFSET]
        _arrow(right, (0, top - 0.4), (0.2, bottom + 0.4))
        _box(right, 0.3, bottom, str(steps[0]), palette.KEY, 1.0)
        for i, (anchor, colour) in enumerate(zip(HELD_OUT, (palette.FIRST_ANCHOR, palette.SECOND_ANCHOR), strict=True)):
            x = 0.3 + 2.7 * i
            _arrow(right, (x + 0.55, bottom), (x + 2.0, bottom), colour)
            right.text(
                x + 1.25, bottom + 0.2, f"{anchor}: {signed(ANCHORS[anchor])}", ha="center", fontsize=8.5, color="#222222"
            )
            _box(right, x + 2.7, bottom, str(steps[i + 1]), palette.INFERENTIAL if i else "white", 1.3)
    return fig


def generalizations(task: Task, place: int = 3) -> Figure:
    """Which questions with the key at one place train, and the two ways to go beyond them (Fig. 8): a row a pair."""
    held_out = ~task.trains[place].numpy()
    row = PAIRS.index(HELD_OUT)
    image = np.tile(held_out.astype(float), (len(PAIRS), 1))
    image[row] = np.nan
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 2.6))
        fill = ListedColormap([palette.NOISE, style.DARK])
        keys = range(FIRST_KEY, LAST_KEY + 1)
        ax.imshow(image, aspect="auto", cmap=fill, vmin=0, vmax=1, interpolation="nearest")
        for edge in np.arange(0.5, len(PAIRS) - 1):
            ax.axhline(edge, color="white", lw=1)
        ax.add_patch(Rectangle((-0.5, row - 0.5), len(keys), 1, facecolor="white", edgecolor="#555555", hatch="////", lw=0.8))
        named = (PAIRS[0], EXCEPTION, HELD_OUT)
        ax.set_yticks([PAIRS.index(pair) for pair in named], [f"({a}, {b})" for a, b in named])
        ax.set_xticks([key - FIRST_KEY for key in keys[::10]], [str(key) for key in keys[::10]])
        ax.set(xlabel=f"key, at place {place}", ylabel="pair of anchors")
        style.bare(ax)
        boxes = [
            Rectangle((0, 0), 1, 1, facecolor=palette.NOISE, label="trained"),
            Rectangle((0, 0), 1, 1, facecolor=style.DARK, label="tests data generalization"),
            Rectangle((0, 0), 1, 1, facecolor="white", edgecolor="#555555", hatch="////", label="tests task generalization"),
        ]
        fig.legend(handles=boxes, loc="outside lower center", ncols=3)
    return fig


def split(tasks: Sequence[Task]) -> Figure:
    """Which keys train at which place, for each split (Fig. 9): dark cells are held out for testing."""
    with style.look():
        fig, axes = plt.subplots(len(tasks), 1, figsize=(style.WIDTH, 1.25 * len(tasks) + 0.3), sharex=True, squeeze=False)
        for ax, task in zip(axes[:, 0], tasks, strict=True):
            ax.imshow(~task.trains.numpy(), aspect="auto", cmap="Greys", vmin=0, vmax=1.3, interpolation="nearest")
            keys = range(FIRST_KEY, LAST_KEY + 1, 10)
            ax.set_xticks([k - FIRST_KEY for k in keys], [str(k) for k in keys])
            ax.set_yticks(range(0, N_PLACES, 3))
            ax.set_ylabel("key's place")
            share = float(task.trains.float().mean())
            ax.set_title(f"key mod {task.modulus} = place is held out: {1 - share:.1%} of the combinations")
        axes[-1, 0].set_xlabel("key")
    return fig


def ladder() -> Figure:
    """Four ways to hold the same table, from rows to primitives (the talk's ladder), drawn from the task."""
    rungs = metrics.ladder()
    names = list(rungs)
    palette = mpl.color_sequences["Set3"]
    with style.look():
        fig, axes = plt.subplots(1, 4, figsize=(style.WIDTH, 2.45))
        table = metrics.offset_table()
        unordered = [pair for pair, _ in rungs["symmetric maps"]]
        flat = {pair: "#F2F2F2" for pair, _ in rungs["pair maps"]}
        mirrored = {(a, b): palette[unordered.index((min(a, b), max(a, b)))] for a in ANCHORS for b in ANCHORS}
        _offsets(axes[0], table, flat | {HELD_OUT: "#FFFFFF"}, dict.fromkeys(flat, "80\nkeys") | {HELD_OUT: "?"})
        _offsets(axes[1], table, flat | {HELD_OUT: "#FFFFFF"}, {HELD_OUT: "?"})
        _offsets(axes[2], metrics.offset_table(SYMMETRIC_OFFSET), mirrored, {})
        for ax, name, count in zip(axes, names, (len(rungs[name]) for name in names), strict=True):
            ax.set_title(f"{count:,} of {len(PAIRS)} pair maps" if name == "pair maps" else f"{count:,} {name}", fontsize=9)
        for ax in axes[1:3]:
            ax.set_ylabel("")
        axes[3].axis("off")
        axes[3].set(xlim=(0, 1), ylim=(4.2, -0.7), box_aspect=1)
        for row, (anchor, offset) in enumerate(rungs["primitives"]):
            axes[3].text(0.5, row, f"{anchor}:  key → key {signed(offset)}", ha="center", va="center", fontsize=9.5)
        axes[3].text(0.5, 4.0, "compose two of them", ha="center", va="center", fontsize=8.5, style="italic")
    return fig
