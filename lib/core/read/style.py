"""One visual language for every figure of the book: colours, type, sizes, and how accuracies and diagrams look."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import Any, Literal, cast

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec, SubplotSpec
from matplotlib.text import Text
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

XY = Literal["x", "y"]
_RC: Any = {
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


def png(figure: Figure, close: bool = True, laid_out: bool = False) -> bytes:
    """The figure in twice the pixels that a page shows, in at most 256 colours; it is closed, unless somebody goes on with it.

    Every figure has the full width, so that type has one size throughout: what lies beyond its edges is added, and of the
    height only what is drawn on is kept. Its panels are placed once, for this many pixels, since that takes longer than to draw
    them; not at all where they are `laid_out` already.
    """
    with mpl.rc_context(_RC):
        figure.set_dpi(DPI)
        if not laid_out:
            figure.draw_without_rendering()
        engine = figure.get_layout_engine()
        figure.set_layout_engine("none")
        drawn, (width, _) = figure.get_tightbbox(), figure.get_size_inches()
        box = Bbox([[min(0.0, drawn.x0), drawn.y0 - PAD], [max(width, drawn.x1), drawn.y1 + PAD]])
        raw, small = io.BytesIO(), io.BytesIO()
        figure.savefig(raw, format="png", dpi=DPI, bbox_inches=box, metadata={"Software": None})
        figure.set_layout_engine(engine)
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
_MOST, _BESIDE = 6, 3
"""Panels that a reader scrolls through, a larger grid being read as a grid; and columns of one that a phone has room for."""
_BAR = 0.8
"""The width that a colour bar takes, in inches."""


def stack(figure: Figure) -> str:
    """Put the panels of a figure one below the other, for a phone; a grid of more than _MOST panels, or where several colour
    bars have several panels each, stays a grid. Returns "stacked" or, where rows have become columns, "turned"; "" where words
    leave no room, or lie on one another, or the panels are in no simple grid: then nothing is done.

    Panels that share an axis then have its ticks and label each, and those without a label that of the first in their row.
    Where the first row alone has titles, a column stays together.
    """
    panels = [ax for ax in figure.axes if ax.get_subplotspec() is not None]
    grids = {_spec(ax).get_gridspec() for ax in panels}
    if len(grids) != 1:
        return ""
    (grid,) = grids
    owners = [getattr(ax, "_colorbar_info", {}).get("parents", ()) for ax in figure.axes]  # matplotlib says it nowhere else
    common = [axes for axes in owners if len(axes) > 1]
    if len(panels) > _MOST or len(common) > 1:
        return _narrow(figure, panels)
    titled = {_row(ax) for ax in panels if _title(ax)}
    panels.sort(key=lambda ax: (_column(ax), _row(ax)) if titled == {0} else (_row(ax), _column(ax)))
    for ax in panels:
        beside, above = ([other for other in panels if at(other) == at(ax)] for at in (_row, _column))
        _unshare(ax, beside, "y", "labelleft", ax.get_shared_y_axes().joined)
        _unshare(ax, above, "x", "labelbottom", ax.get_shared_x_axes().joined)
        if not ax.get_ylabel():
            ax.set_ylabel(beside[0].get_ylabel())
    width, height = figure.get_size_inches()
    heights = []
    for ax in panels:
        spec = _spec(ax)
        high, wide = height * len(spec.rowspan) / grid.nrows, width * len(spec.colspan) / grid.ncols
        heights.append(high if wide > NARROW else min(high * NARROW / wide, max(high, 2.7)))
    below = GridSpec(len(panels), 1, figure=figure, height_ratios=heights)
    for i, ax in enumerate(panels):
        ax.set_subplotspec(below[i])
    return "stacked" if _fits(figure, panels, 1, sum(heights)) else ""


def _narrow(figure: Figure, panels: list[Axes]) -> str:
    """Draw a grid as wide as a phone: the panels of a row two by two where rows differ in number; else with at most _BESIDE
    columns, rows and columns in each other's place where that makes fewer of them, and with them what is said of each."""
    figure.draw_without_rendering()
    box = panels[0].get_window_extent()
    rows, turned = [[ax for ax in panels if _row(ax) == r] for r in sorted({_row(ax) for ax in panels})], False
    if len({len(row) for row in rows}) > 1:
        rows = [row[i : i + 2] for row in rows for i in range(0, len(row), 2)]
    elif turned := len(rows[0]) > max(len(rows), _BESIDE):
        rows = _turned(figure, rows)
    columns = max(map(len, rows))
    if columns > _BESIDE:
        return ""
    spec = GridSpec(len(rows), columns, figure=figure)
    for r, row in enumerate(rows):
        for c, ax in enumerate(row):
            ax.set_subplotspec(spec[r, c])
    wide = (NARROW - 0.4 - _BAR * (len(figure.axes) > len(panels))) / columns - 0.1
    high = len(rows) * (wide * min(max(box.height / box.width, 0.6), 1.3) + 0.5)
    return ("turned" if turned else "stacked") if _fits(figure, panels, columns, high) else ""


def _turned(figure: Figure, rows: list[list[Axes]]) -> list[list[Axes]]:
    """The columns of a grid as rows; and the words left of its rows, and those above or below its columns, where they belong
    then."""
    turned = [list(column) for column in zip(*rows, strict=True)]
    panels = [ax for row in rows for ax in row]
    above = not any(_title(ax) for row in rows[1:] for ax in row)
    named = len({ax.get_xlabel() for ax in rows[-1]}) > 1
    of_rows = [row[0].get_ylabel() for row in rows]
    of_columns = [_title(column[0]) if above else column[-1].get_xlabel() for column in turned]
    edges: tuple[tuple[XY, str, list[Axes]], ...] = (
        ("x", "labelbottom", turned[-1]),
        ("y", "labelleft", [row[0] for row in turned]),
    )
    for name, ticks, edge in edges:
        if all(getattr(panels[0], f"get_shared_{name}_axes")().joined(panels[0], ax) for ax in panels):
            words = next((w for ax in panels if (w := getattr(ax, f"get_{name}label")())), "")
            for ax in panels:
                ax.tick_params(axis=name, **{ticks: ax in edge})
                ax.set(**{f"{name}label": words if ax in edge else ""})
    if not (above or named):  # every panel has a title of its own
        return turned
    for row, words in zip(rows, of_rows, strict=True):
        row[0].set_ylabel("")
        if not above:
            row[-1].set_xlabel(words)
    for column, words in zip(turned, of_columns, strict=True):
        if above:
            for loc in ("left", "center", "right"):
                column[0].set_title("", loc=loc)
        elif column is not turned[-1]:
            column[-1].set_xlabel("")
        column[0].set_ylabel(words, rotation=90 if above else 0, ha="center" if above else "right")
    if above:
        for row, words in zip(rows, of_rows, strict=True):
            row[0].set_title(words)
    x, y = figure.get_supxlabel(), figure.get_supylabel()
    if x or y:
        figure.supxlabel(y, fontsize=9)
        figure.supylabel(x, fontsize=9)
    return turned


def _fits(figure: Figure, panels: list[Axes], columns: int, high: float) -> bool:
    """As wide as a phone and so high, legends at the edge and words broken: does nothing lie on anything else?"""
    letters = int(_LETTERS * (1 - _BAR / NARROW * (len(figure.axes) > len(panels))) / columns)
    for ax in panels:
        for loc in ("left", "center", "right"):
            if (title := ax.get_title(loc)) != (broken := _wrapped(title, letters)):
                for text in ax.findobj(lambda t, title=title: isinstance(t, Text) and t.get_text() == title):
                    cast(Text, text).set_text(broken)
        if columns > 1:
            ax.xaxis.label.set_text(_wrapped(ax.get_xlabel(), letters))
            ax.yaxis.label.set_text(_wrapped(ax.get_ylabel(), letters))
    for legend in list(figure.legends):
        labels = [text.get_text() for text in legend.get_texts()]
        legend.remove()
        across = max(1, min(len(labels), (_LETTERS + 8) // (max(map(len, labels)) + 7)))
        title, place = legend.get_title().get_text(), "upper" if figure.get_supxlabel() else "lower"
        figure.legend(
            cast("list[Artist]", legend.legend_handles),
            labels,
            loc=cast(Any, f"outside {place} left"),
            ncols=across,
            title=title or None,
        )
    if figure.get_suptitle():
        figure.suptitle(_wrapped(figure.get_suptitle(), _LETTERS))
    figure.set_size_inches(NARROW, high + 0.3 * len(figure.legends))
    with warnings.catch_warnings(record=True) as complaints:  # of a layout that leaves the panels no room
        warnings.simplefilter("always")
        figure.draw_without_rendering()
        for ax in figure.axes:
            _thin(ax)
            if columns == 1 and ax.xaxis.label.get_window_extent().width > ax.bbox.width:  # as beside long names
                ax.xaxis.label.set_text(_wrapped(ax.get_xlabel(), 2 * letters // 3))
        figure.draw_without_rendering()
    pixel = figure.dpi / _RC["figure.dpi"]
    boxes = [box.padded(-2 * pixel) for ax in figure.axes if (box := ax.get_tightbbox()) is not None]
    inside = all(box.x1 <= figure.bbox.x1 + pixel for box in boxes)
    return inside and not complaints and not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def _spec(ax: Axes) -> SubplotSpec:
    """Raises ValueError for what is in no grid."""
    if (found := ax.get_subplotspec()) is None:
        raise ValueError("these axes are in no grid.")
    return found


def _row(ax: Axes) -> int:
    return _spec(ax).rowspan.start


def _column(ax: Axes) -> int:
    return _spec(ax).colspan.start


def _title(ax: Axes) -> str:
    return next((title for loc in ("left", "center", "right") if (title := ax.get_title(loc))), "")


def _thin(ax: Axes) -> None:
    """Where labels below a panel touch, leave out every other number until they do not; write names upwards."""
    ticks = [(tick.get_loc(), tick.label1) for tick in ax.xaxis.get_major_ticks() if tick.label1.get_text()]
    ticks = [(place, label) for place, label in ticks if min(ax.get_xlim()) <= place <= max(ax.get_xlim())]
    boxes = [label.get_window_extent() for _, label in ticks]
    touching = lambda by: any(a.overlaps(b.padded(1)) for a, b in zip(boxes[::by], boxes[by::by], strict=False))
    by = next((n for n in (1, 2, 3, 4, 6, 8) if not touching(n)), 8)
    if by > 1 and ax.xaxis.get_tick_params().get("labelbottom", True):
        words = [label.get_text() for _, label in ticks]
        if any(char.isdigit() for word in words for char in word):
            ax.set_xticks([place for place, _ in ticks][::by], words[::by])
        else:
            ax.set_xticks([place for place, _ in ticks], [" ".join(word.split()) for word in words], rotation=90)


def _wrapped(words: str, letters: int) -> str:
    """In lines of at most so many letters; where that is few, lines that were broken stay so."""
    parts = [words.replace("\n", " ")] if letters > _LETTERS / 2 else words.split("\n")
    return "\n".join(line for part in parts for line in textwrap.wrap(part, max(letters, 8), break_long_words=False) or [""])


def _unshare(ax: Axes, others: list[Axes], name: XY, ticks: str, joined: Callable[[Axes, Axes], bool]) -> None:
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
    """Write each value into its cell of the image on these axes, and its spread below if there is one; a dash for NaN."""
    cells = ax.images[-1].to_rgba(values)
    rgb = cells[..., :3] * cells[..., 3:] + 1 - cells[..., 3:]  # on white paper
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    dark = linear @ (0.2126, 0.7152, 0.0722) < 0.213  # the luminance at which white and #222222 contrast alike (WCAG 2)
    for (row, column), value in np.ndenumerate(values):
        text = "–" if np.isnan(value) else f"{value:.{digits}f}"
        if spread is not None and not np.isnan(value):
            text += f"\n±{spread[row, column]:.{digits}f}"
        colour = "white" if dark[row, column] else "#222222"
        ax.text(column, row, text, ha="center", va="center", fontsize=size, color=colour)


def band(ax: Axes, x: Sequence[float] | np.ndarray, values: np.ndarray, shade: float = 0.15, **look: Any) -> None:
    """Mean over runs and the range of all runs. values: (R, n); NaN is left out. `shade`: how dense the band is."""
    ax.plot(x, np.nanmean(values, 0), **look)
    between(ax, x, np.nanmin(values, 0), np.nanmax(values, 0), look["color"], shade)


def between(
    ax: Axes, x: Sequence[float] | np.ndarray, low: np.ndarray, high: np.ndarray, colour: str, shade: float = 0.15
) -> None:
    """A band without an edge, as of an interval. low, high: (n,)."""
    ax.fill_between(x, low, high, color=colour, alpha=shade, lw=0)


def bare(ax: Axes) -> None:
    """No frame and no tick marks: what lies on a grid of cells needs neither."""
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
