"""The figures of vectors and their angles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lib.composition.vectors.numbers import LOWER, UPPER, Similarity
from lib.core.read import style


def _similarity(ax: Axes, s: Similarity, title: str) -> object:
    """One heatmap on the book's scale for cosines; boxes where the numbers agree."""
    image = ax.imshow(s.values, vmin=-1, vmax=1, cmap=style.COSINE)
    for row, column in np.argwhere(s.agree):
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="black", lw=1.1))
    ax.set_title(title, fontsize=8.5)
    style.bare(ax)
    return image


def _rows(rows: Mapping[str, Sequence[Similarity]], titles: Sequence[str], labels: tuple[str, str], paint: Callable) -> Figure:
    """Heatmaps in rows; the left column names the row, the top one the model. labels: of the vertical and of the
    horizontal axis."""
    with style.look():
        size = style.WIDTH / (len(titles) + 0.6)
        fig, axes = plt.subplots(len(rows), len(titles), figsize=(style.WIDTH, size * len(rows) + 0.5), squeeze=False)
        for i, (name, similarities) in enumerate(rows.items()):
            for j, (s, title) in enumerate(zip(similarities, titles, strict=True)):
                ax = axes[i, j]
                boxes = s if paint is _paint_keys else replace(s, agree=np.zeros_like(s.agree))
                image = _similarity(ax, boxes, title if i == 0 else "")
                paint(ax, s)
                if j == 0:
                    ax.set_ylabel(f"{name}\n{labels[0]}", fontsize=8)
                if i == len(rows) - 1:
                    ax.set_xlabel(labels[1], fontsize=8)
        fig.colorbar(image, ax=axes, shrink=0.6, label="cosine")
    return fig


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


_KEYS = (f"key of {LOWER[0]}, or {UPPER[0]}", f"key of {LOWER[1]}, or {UPPER[1]}")
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


def contrast_figure(groups: Mapping[str, Sequence[np.ndarray]], colours: Mapping[str, str], ylabels: Sequence[str]) -> Figure:
    """One number a run and layer, counted from the last layer; every run a point, lines join the means.

    groups: {title: one list of (layers,) arrays for each panel}.
    """
    panels = len(ylabels)
    with style.look():
        fig, axes = plt.subplots(1, panels, figsize=(style.WIDTH, 2.9), squeeze=False)
        for p, ax in enumerate(axes[0]):
            for i, (title, lists) in enumerate(groups.items()):
                by_distance: dict[int, list[float]] = {}
                for values in lists[p]:
                    for layer, value in enumerate(values):
                        by_distance.setdefault(layer - len(values) + 1, []).append(float(value))
                marker = "os^D"[i % 4]
                for where, numbers in by_distance.items():
                    ax.plot(
                        [where + 0.06 * (i - 0.5)] * len(numbers),
                        numbers,
                        marker,
                        ms=3.8,
                        mew=0,
                        alpha=0.45,
                        color=colours[title],
                    )
                x = sorted(by_distance)
                ax.plot(x, [np.mean(by_distance[w]) for w in x], color=colours[title], label=f"{title} (n = {len(lists[p])})")
            ax.axhline(0, color="#999999", lw=0.6)
            ticks = sorted({int(t) for line in ax.lines for t in np.round(line.get_xdata()) if t <= 0})
            ax.set_xticks([t for t in ticks if t == int(t)], [("last" if t == 0 else f"−{-t}") for t in ticks])
            ax.set(xlabel="layer, from the last", ylabel=ylabels[p])
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig
