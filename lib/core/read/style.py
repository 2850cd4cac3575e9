"""One visual language for every figure of the book: colours, type, sizes, and how accuracies and diagrams look."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.transforms import Bbox
from PIL import Image

# Okabe and Ito's palette, which colour-blind readers can tell apart. What a colour stands for is each study's to say.
BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, ORANGE = "#CC79A7", "#E69F00"
DARK, GREY, LIGHT = "#333333", "#8A8A8A", "#D9D9D9"

FILL = {colour: LinearSegmentedColormap.from_list(colour, ["#FFFFFF", colour]) for colour in (BLUE, VERMILLION, GREEN, GREY)}
"""Shares from 0 (white) to 1, in a colour."""

COSINE = LinearSegmentedColormap.from_list("cosine", ["#5E3C99", "#FFFFFF", "#E66101"])
"""Cosines from −1 to 1: violet, white, orange."""
GAMMA = LinearSegmentedColormap.from_list("gamma", ["#440154", "#31688E", "#35B779", "#C7B400"])
"""Values along an axis such as γ, dark for the largest initialization."""

WIDTH = 7.2
"""Width of a full figure in inches: the text column at 100 %."""
NARROW = 3.8
"""Width of a figure of the first page on a phone."""
DPI = 192
"""Twice what the text column of a page has."""
PAD = 0.05
"""What is left blank above and below a figure, in inches."""

_RC = {
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.8,
    "hatch.linewidth": 0.8,
    "hatch.color": "#555555",
    "svg.hashsalt": "reason-or-memorize",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


@contextmanager
def look() -> Iterator[None]:
    """Draw inside the book's look; the caller's settings come back afterwards."""
    with mpl.rc_context(_RC):
        yield


def png(figure: Figure, close: bool = True) -> bytes:
    """The figure in twice the pixels that a page shows, in at most 256 colours; it is closed, unless somebody goes on with it.

    Every figure has the full width, so that type has one size throughout: what lies beyond its edges is added, and of the
    height only what is drawn on is kept.
    """
    with mpl.rc_context(_RC):
        figure.canvas.draw()
        drawn, (width, _) = figure.get_tightbbox(), figure.get_size_inches()
        box = Bbox([[min(0.0, drawn.x0), drawn.y0 - PAD], [max(width, drawn.x1), drawn.y1 + PAD]])
        raw, small = io.BytesIO(), io.BytesIO()
        figure.savefig(raw, format="png", dpi=DPI, bbox_inches=box, metadata={"Software": None})
    if close:
        plt.close(figure)
    colours = Image.open(raw).convert("RGB").quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    palette = np.array(colours.getpalette()).reshape(-1, 3)
    palette[(palette > 250).all(1)] = 255  # white paper stays white
    colours.putpalette(palette.ravel().tolist())
    colours.save(small, format="png", optimize=True)
    return small.getvalue()


_LETTERS = 44
"""Of a title, and a few more of a legend, that a phone's width holds."""
_MOST = 6
"""Panels that a reader scrolls through; a larger grid is read as a grid."""


def stack(figure: Figure) -> bool:
    """Put the panels of a figure one below the other, for a phone. False where they are more than _MOST or in no simple
    grid, and nothing is done; or where words leave no room, or lie on one another.

    Panels that share an axis then have its ticks and label each. Where the first row alone has titles, a column stays together.
    """
    panels = [ax for ax in figure.axes if ax.get_subplotspec() is not None]
    grids = {ax.get_subplotspec().get_gridspec() for ax in panels}
    if len(grids) != 1 or len(panels) > _MOST:
        return False
    (grid,) = grids
    row = lambda ax: ax.get_subplotspec().rowspan.start
    column = lambda ax: ax.get_subplotspec().colspan.start
    titled = {row(ax) for ax in panels if any(ax.get_title(loc) for loc in ("left", "center", "right"))}
    panels.sort(key=lambda ax: (column(ax), row(ax)) if titled == {0} else (row(ax), column(ax)))
    for ax in panels:
        beside, above = ([other for other in panels if at(other) == at(ax)] for at in (row, column))
        _unshare(ax, beside, "y", "labelleft", ax.get_shared_y_axes().joined)
        _unshare(ax, above, "x", "labelbottom", ax.get_shared_x_axes().joined)
    width, height = figure.get_size_inches()
    heights = []
    for ax in panels:
        spec = ax.get_subplotspec()
        high, wide = height * len(spec.rowspan) / grid.nrows, width * len(spec.colspan) / grid.ncols
        heights.append(high if wide > NARROW else min(high * NARROW / wide, max(high, 2.7)))
    below = GridSpec(len(panels), 1, figure=figure, height_ratios=heights)
    for i, ax in enumerate(panels):
        ax.set_subplotspec(below[i])
        for loc in ("left", "center", "right"):
            if title := ax.get_title(loc):
                ax.set_title(_wrapped(title), loc=loc)
    for legend in list(figure.legends):
        labels = [text.get_text() for text in legend.get_texts()]
        legend.remove()
        columns = max(1, min(len(labels), (_LETTERS + 8) // (max(map(len, labels)) + 7)))
        figure.legend(legend.legend_handles, labels, loc="outside lower left", ncols=columns)
    if figure.get_suptitle():
        figure.suptitle(_wrapped(figure.get_suptitle()))
    figure.set_size_inches(NARROW, sum(heights) + 0.3 * len(figure.legends))
    with warnings.catch_warnings(record=True) as complaints:  # of a layout that leaves the panels no room
        warnings.simplefilter("always")
        figure.canvas.draw()
        for ax in figure.axes:
            _thin(ax)
        figure.canvas.draw()
    boxes = [box.padded(-2) for ax in figure.axes if (box := ax.get_tightbbox()) is not None]
    return not complaints and not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def _thin(ax: Axes) -> None:
    """Leave out every other label below a panel as long as two of them touch."""
    ticks = [(tick.get_loc(), tick.label1) for tick in ax.xaxis.get_major_ticks() if tick.label1.get_text()]
    ticks = [(place, label) for place, label in ticks if min(ax.get_xlim()) <= place <= max(ax.get_xlim())]
    boxes = [label.get_window_extent() for _, label in ticks]
    touching = lambda by: any(a.overlaps(b.padded(1)) for a, b in zip(boxes[::by], boxes[by::by], strict=False))
    by = next((n for n in (1, 2, 3, 4, 6, 8) if not touching(n)), 8)
    if by > 1 and ax.xaxis.get_tick_params().get("labelbottom", True):
        ax.set_xticks([place for place, _ in ticks][::by], [label.get_text() for _, label in ticks][::by])


def _wrapped(title: str) -> str:
    return "\n".join(textwrap.wrap(title.replace("\n", " "), _LETTERS))


def _unshare(ax: Axes, others: list[Axes], name: str, ticks: str, joined: Callable[[Axes, Axes], bool]) -> None:
    """Give a panel the tick labels and the label of an axis that it shares with others, one of which shows them."""
    for other in others:
        if other is ax or not joined(ax, other):
            continue
        mine, theirs = (getattr(one, f"{name}axis") for one in (ax, other))
        if theirs.get_tick_params().get(ticks, True) and not mine.get_tick_params().get(ticks, True):
            ax.tick_params(axis=name, **{ticks: True})
        if theirs.get_label_text() and not mine.get_label_text():
            mine.set_label_text(theirs.get_label_text())


def tick_grid(ax: Axes, columns: list, rows: list, xlabel: str, ylabel: str) -> None:
    """Label the cells of an image drawn with origin='lower'."""
    ax.set_xticks(range(len(columns)), [f"{c:g}" if isinstance(c, float) else str(c) for c in columns])
    ax.set_yticks(range(len(rows)), [str(r) for r in rows])
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.tick_params(length=0)


def write_values(ax: Axes, values: np.ndarray, digits: int = 2, size: float = 7.5, spread: np.ndarray | None = None) -> None:
    """Write each cell's value into it, light on dark cells, and its spread below if there is one; a dash for NaN."""
    for (row, column), value in np.ndenumerate(values):
        text = "–" if np.isnan(value) else f"{value:.{digits}f}"
        if spread is not None and not np.isnan(value):
            text += f"\n±{spread[row, column]:.{digits}f}"
        ax.text(column, row, text, ha="center", va="center", fontsize=size, color="white" if value > 0.6 else "#222222")


def bare(ax: Axes) -> None:
    """No frame and no tick marks: what lies on a grid of cells needs neither."""
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
