"""One visual language for every figure of the book: colours, type, sizes, and how accuracies and diagrams look."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
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


def png(figure: Figure) -> bytes:
    """The figure in twice the pixels that a page shows, in at most 256 colours; it is closed.

    Every figure has the full width, so that type has one size throughout: what lies beyond its edges is added, and of the
    height only what is drawn on is kept.
    """
    with mpl.rc_context(_RC):
        figure.canvas.draw()
        drawn, (width, _) = figure.get_tightbbox(), figure.get_size_inches()
        box = Bbox([[min(0.0, drawn.x0), drawn.y0 - PAD], [max(width, drawn.x1), drawn.y1 + PAD]])
        raw, small = io.BytesIO(), io.BytesIO()
        figure.savefig(raw, format="png", dpi=DPI, bbox_inches=box, metadata={"Software": None})
    plt.close(figure)
    colours = Image.open(raw).convert("RGB").quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    palette = np.array(colours.getpalette()).reshape(-1, 3)
    palette[(palette > 250).all(1)] = 255  # white paper stays white
    colours.putpalette(palette.ravel().tolist())
    colours.save(small, format="png", optimize=True)
    return small.getvalue()


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
