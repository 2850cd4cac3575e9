"""The figures of vectors and their angles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lib.composition.information_flow.metrics import KEY_FIRST
from lib.composition.vectors.metrics import LOWER, MEASURES, UPPER, Similarity, counted
from lib.core.read import style
from lib.core.record.store import StoredRun


def _similarity(ax: Axes, s: Similarity, title: str) -> object:
    """One heatmap on the book's scale for cosines; boxes where the numbers agree."""
    image = ax.imshow(s.values, vmin=-1, vmax=1, cmap=style.COSINE)
    for row, column in np.argwhere(s.agree):
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="black", lw=1.1))
    ax.set_title(title, fontsize=8.5)
    style.bare(ax)
    return image


def _rows(rows: Mapping[str, Sequence[Similarity]], titles: Sequence[str], labels: tuple[str, str], paint: Callable) -> Figure:
    """Above heatmaps of the centred cosines, a model each; below them all plain cosines of the same questions, as points.

    rows: {"plain" and "centred": one a model}; labels: of the vertical and of the horizontal axis.
    """
    with style.look():
        size = style.WIDTH / (len(titles) + 0.6)
        fig, axes = plt.subplots(
            2, len(titles), figsize=(style.WIDTH, size + 2.0), squeeze=False, height_ratios=(size, 0.85), sharex="row"
        )
        for above, below, s, plain, title in zip(*axes, rows["centred"], rows["plain"], titles, strict=True):
            boxes = s if paint is _paint_keys else replace(s, agree=np.zeros_like(s.agree))
            image = _similarity(above, boxes, title)
            paint(above, s)
            above.set_xlabel(labels[1], fontsize=8)
            _strip(below, plain)
        axes[0, 0].set_ylabel(labels[0], fontsize=8)
        for ax in axes[1, 1:]:
            ax.set_yticklabels([])
        fig.colorbar(image, ax=axes[0], shrink=0.9, label="cosine, centred")
        low = min(float(s.values[counted(s)].min()) for s in rows["plain"])
        axes[1, 0].set_xlim(min(low - 0.05, 0.45), 1.03)
    return fig


def _strip(ax: Axes, s: Similarity) -> None:
    """All cosines that count, those of equal numbers apart from the others, and a bar at each mean."""
    for y, (which, colour) in enumerate(((~s.agree, style.GREY), (s.agree, style.ORANGE))):
        values = s.values[which & counted(s)]
        jitter = 0.28 * np.sin(7.3 * np.arange(len(values)))  # spread evenly, and the same each time
        ax.plot(values, y + jitter, ".", ms=5, mew=0, alpha=0.65, color=colour)
        ax.plot([values.mean()] * 2, [y - 0.38, y + 0.38], color="black", lw=1.2, zorder=1)
    ax.set_yticks([0, 1], ["others", "equal numbers"])
    ax.tick_params(axis="y", length=0)
    ax.set(ylim=(-0.6, 1.6))
    ax.set_xlabel("plain cosine", fontsize=8)


def _paint_keys(ax: Axes, s: Similarity) -> None:
    ax.set_xticks(range(0, len(s.columns), 2), s.columns[::2], fontsize=7)
    ax.set_yticks(range(0, len(s.rows), 2), s.rows[::2], fontsize=7)
    ax.plot([-0.5, len(s.rows) - 0.5], [-0.5, len(s.rows) - 0.5], color="#555555", lw=0.6)


def _paint_blocks(ax: Axes, s: Similarity) -> None:
    for start in range(0, len(s.rows), 4):
        ax.add_patch(Rectangle((start - 0.5, start - 0.5), 4, 4, fill=False, edgecolor="black", lw=1.0))
    middles = [str(middle_of(s.rows[i])) for i in range(0, len(s.rows), 8)]
    for set_ticks in (ax.set_xticks, ax.set_yticks):
        set_ticks(np.arange(1.5, len(s.rows), 8), middles, fontsize=7)


_KEYS = (f"key of {LOWER[0]} or {UPPER[0]}", f"key of {LOWER[1]} or {UPPER[1]}")
"""Below the diagonal the first pair, above it the second."""


def fused_figure(rows: Mapping[str, Sequence[Similarity]], titles: Sequence[str]) -> Figure:
    """Fig. 4a, b: cosines of fused vectors at the last token; boxes where the answers agree. rows: {name: one a model}."""
    return _rows(rows, titles, _KEYS, _paint_keys)


def held_figure(rows: Mapping[str, Sequence[Similarity]], titles: Sequence[str]) -> Figure:
    """Fig. 4c: cosines of the values at the first anchor; boxes where the numbers in between agree."""
    return _rows(rows, titles, _KEYS, _paint_keys)


def block_figure(rows: Mapping[str, Sequence[Similarity]], titles: Sequence[str]) -> Figure:
    """The follow-up's blocks: questions sorted by the intermediate value, each four of which share it."""
    return _rows(rows, titles, ("key + first anchor's offset",) * 2, _paint_blocks)


def middle_of(name: str) -> int:
    """The number that a row's name stands for: "46+5" → 51."""
    sign = "+" if "+" in name else "-"
    key, offset = name.split(sign)
    return int(key) + int(sign + offset)


def contrast_figure(groups: Mapping[tuple[float, str], Sequence[StoredRun]]) -> Figure:
    """The contrasts of all runs by γ and way; every run a point, those that go key first filled squares.

    groups: {(γ, way): runs}.
    """
    with style.look():
        fig, axes = plt.subplots(2, 2, figsize=(style.WIDTH, 5.0), sharex=True)
        for ax, (name, measure) in zip(axes.ravel(), MEASURES.items(), strict=True):
            for x, ((_, way), runs) in enumerate(groups.items()):
                values = np.array([measure(run) for run in runs])
                fan = 0.12 * np.sin(7.3 * np.arange(len(values)))
                first = way == KEY_FIRST
                face = style.PURPLE if first else "white"
                ax.plot(x + fan, values, "s" if first else "o", ms=6, mfc=face, mec=style.PURPLE if first else style.DARK)
            ax.axhline(0, color="#999999", lw=0.6)
            names = [f"{way}\n{gamma:g}".replace(" ", "\n") for gamma, way in groups]
            ax.set_xticks(range(len(groups)), names, fontsize=8)
            ax.set(xlim=(-0.6, len(groups) - 0.4))
            ax.set_title(name, fontsize=9)
        for ax in axes[:, 0]:
            ax.set_ylabel("contrast")
        for ax in axes[-1]:
            ax.set_xlabel("way, and γ")
    return fig
