"""The figures of vectors and their angles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lib.composition.information_flow.metrics import by_way
from lib.composition.vectors.metrics import KEYS, LOWER, UPPER, Nearest, Similarity
from lib.core.read import style
from lib.core.read.ways import KEY_FIRST
from lib.core.record.store import StoredRun


def cosine_figure(rows: Sequence[Similarity], titles: Sequence[str]) -> Figure:
    """Fig. 4: heatmaps of cosines in the paper's layout, a model each, boxes where the numbers agree; below them the same
    cosines as points."""
    with style.look():
        size = style.WIDTH / (len(titles) + 0.6)
        fig, axes = plt.subplots(
            2,
            len(titles),
            figsize=(style.WIDTH, size + 2.0),
            squeeze=False,
            height_ratios=(size, 0.85),
            sharex="row",
            sharey="row",
        )
        for above, below, s, title in zip(*axes, rows, titles, strict=True):
            image = above.imshow(s.values, vmin=-1, vmax=1, cmap=style.COSINE)
            for row, column in np.argwhere(s.agree):
                above.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="black", lw=1.1))
            above.set_xticks(range(0, len(KEYS), 2), [str(key) for key in KEYS[::2]], fontsize=7)
            above.set_yticks(range(0, len(KEYS), 2), [str(key) for key in KEYS[::2]], fontsize=7)
            above.plot([-0.5, len(KEYS) - 0.5], [-0.5, len(KEYS) - 0.5], color="#555555", lw=0.6)
            above.set_title(title, fontsize=8.5)
            above.set_xlabel(f"key of {LOWER[1]} or {UPPER[1]}", fontsize=8)
            style.bare(above)
            _strip(below, s)
        axes[0, 0].set_ylabel(f"key of {LOWER[0]} or {UPPER[0]}", fontsize=8)
        fig.colorbar(image, ax=axes[0], shrink=0.9, label="cosine")
        low = min(float(s.values.min()) for s in rows)
        axes[1, 0].set_xlim(min(low - 0.05, 0.45), 1.03)
    return fig


def _strip(ax: Axes, s: Similarity) -> None:
    """All cosines, those of equal numbers apart from the others, and a bar at each mean."""
    for y, (which, colour) in enumerate(((~s.agree, style.GREY), (s.agree, style.ORANGE))):
        values = s.values[which]
        jitter = 0.28 * np.sin(7.3 * np.arange(len(values)))  # spread evenly, and the same each time
        ax.plot(values, y + jitter, ".", ms=5, mew=0, alpha=0.65, color=colour)
        ax.plot([values.mean()] * 2, [y - 0.38, y + 0.38], color="black", lw=1.2, zorder=1)
    ax.set_yticks([0, 1], ["others", "equal numbers"])
    ax.tick_params(axis="y", length=0)
    ax.set(ylim=(-0.6, 1.6))
    ax.set_xlabel("plain cosine", fontsize=8)


def nearest_figure(rows: Mapping[str, Sequence[Nearest]], titles: Sequence[str], number: str) -> Figure:
    """Questions as points: the number of each, and that of the question with the nearest vector. On the diagonal they are
    equal; lines beside it are questions whose nearest has the same key.

    rows: {stage: one a model}.
    """
    with style.look():
        fig, axes = plt.subplots(
            len(rows), len(titles), figsize=(style.WIDTH, 2.45 * len(rows) + 0.3), squeeze=False, sharex=True, sharey=True
        )
        for line, (stage, found) in zip(axes, rows.items(), strict=True):
            for ax, near, title in zip(line, found, titles, strict=True):
                same = np.abs(near.number - near.nearest_number) <= 1
                for which, colour, size in ((~same, style.GREY, 3), (same, style.PURPLE, 5.5)):
                    ax.plot(near.number[which], near.nearest_number[which], ".", ms=size, mew=0, alpha=0.7, color=colour)
                ax.set_aspect("equal")
                ax.set_title(f"{title}\n{stage}: {same.mean():.0%}", fontsize=8.5)
            line[0].set_ylabel(f"{number}\nof the nearest", fontsize=8)
        for ax in axes[-1]:
            ax.set_xlabel(number, fontsize=8)
    return fig


def shares_figure(runs: Sequence[StoredRun], measures: Mapping[str, Callable[[StoredRun], float]], label: str) -> Figure:
    """A share of every run by γ and way, one panel for each of `measures`; runs that go key first are filled squares."""
    groups = {
        (g, w): some
        for g in sorted({run.spec.gamma for run in runs})
        for w, some in by_way([run for run in runs if run.spec.gamma == g]).items()
    }
    with style.look():
        fig, axes = plt.subplots(1, len(measures), figsize=(style.WIDTH, 3.3), sharey=True, squeeze=False)
        for ax, (title, measure) in zip(axes[0], measures.items(), strict=True):
            for x, ((_, way), some) in enumerate(groups.items()):
                fan = 0.14 * np.sin(7.3 * np.arange(len(some)))
                first = way == KEY_FIRST
                look = {"marker": "s" if first else "o", "mfc": style.PURPLE if first else "white"}
                ax.plot(x + fan, [measure(run) for run in some], ls="", ms=6, mec=style.PURPLE if first else style.DARK, **look)
            ax.set_xticks(range(len(groups)), [f"{gamma:g}, {way}" for gamma, way in groups], fontsize=7.5, rotation=90)
            ax.set(xlim=(-0.6, len(groups) - 0.4), ylim=(-0.04, 1.04))
            ax.set_title(title, fontsize=9)
        axes[0, 0].set_ylabel(label)
    return fig
