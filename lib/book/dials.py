"""The dials: sliders whose every stop was computed, and what was computed there. For pages without a kernel.

`data` is plain data. Its parts:
  dials    one to four sliders {id, label, values}; the values are increasing numbers, and nothing lies between two of them
  x, fan   ids of dials: the horizontal axis, and (may be left out) the one whose other values are thin lines beside the chosen
  y        the vertical axis: {label, log, low, high}
  series   one to four {id, label, values}: lists in lists, one level for each dial in their order; a leaf is
           [mean, low, high], or None where nothing was computed
  bars     (may be left out) {label, items}: shares beside the curves; an item is {label, values}, its leaves are numbers from
           0 to 1 or None
  start    the value of every dial that the page opens at
  about    what the means and the bands are of, in a sentence
dials.js draws it with the pieces of draw.js. On a logarithmic axis what is below `low` stands at the floor, as an open mark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.book.display import rounded
from lib.book.explorer import check_id, encoded, host
from lib.core.read import style

COLOURS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE)
DASHES = ("-", (0, (4, 2)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))


class Dials:
    """One set of dials. `data` is what the module describes, its numbers kept to six digits; `id` names it on its page.

    Raises SpecError for an id that is none.
    """

    def __init__(self, data: dict[str, Any], id: str) -> None:
        check_id("the id of dials", id)
        self.data: dict[str, Any] = rounded(data) | {"id": id}

    def static(self) -> str:
        """HTML that works on its own, without a network, and a picture for where scripts do not run.

        Raises ValueError where it would be larger than explorer.LIMIT.
        """
        image = encoded(draw_opening(self.data))
        mount = 'mountDials(part("view"), JSON.parse(part("data").textContent));'
        return host(self.data, "dials", ("draw.js", "dials.js"), mount, self.words(), image, "give the dials fewer values")

    def words(self) -> str:
        """The opening view in one line: for those who do not see it, and for regression tests."""
        data = self.data
        where = _opening(data)
        count = sum(leaf is not None for s in data["series"] for leaf in _leaves(s["values"], len(data["dials"])))
        at = ", ".join(f"{d['label']} = {number(d['values'][where[d['id']]])}" for d in data["dials"])
        told = ", ".join(f"{s['label']} {_told(_at(data, s['values'], where), data['y'])}" for s in data["series"])
        return f"Dials over {count} computed values; they open at {at}; {data['y']['label']}: {told}"

    def show(self) -> None:
        """Display the page's view, and the opening view in words where there is no HTML."""
        display({"text/html": self.static(), "text/plain": self.words()}, raw=True)


def number(value: float) -> str:
    """A setting in at most six significant digits, without an exponent: as the page's script writes it."""
    exact = Context(prec=6, rounding=ROUND_HALF_UP).create_decimal_from_float(value)
    return format(exact.normalize(), ",f")


def result(value: float) -> str:
    """A result in three significant digits, all of them written, or 0."""
    exact = Context(prec=3, rounding=ROUND_HALF_UP).create_decimal_from_float(value)
    return format(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 2)), ",f") if value else "0"


def _value(value: float, y: dict[str, Any]) -> str:
    return f"below {number(y['low'])}" if y["log"] and value < y["low"] and value != 0 else result(value)


def _told(leaf: list[float] | None, y: dict[str, Any]) -> str:
    """Mean and interval; without an interval where it has no width."""
    if leaf is None:
        return "not computed"
    mean, low, high = leaf
    return _value(mean, y) + (f" ({_value(low, y)} to {_value(high, y)})" if low < high else "")


# --- Reading lists in lists ---


def _opening(data: dict[str, Any]) -> dict[str, int]:
    """The place of each dial's opening value among its values."""
    return {d["id"]: d["values"].index(data["start"][d["id"]]) for d in data["dials"]}


def _at(data: dict[str, Any], values: Any, where: dict[str, int]) -> Any:
    for d in data["dials"]:
        values = values[where[d["id"]]]
    return values


def _leaves(values: Any, levels: int) -> list[Any]:
    return [leaf for part in values for leaf in _leaves(part, levels - 1)] if levels else [values]


# --- A picture of the opening view ---


def _literal(words: str) -> str:
    """Words for a figure, in which a dollar is a dollar."""
    return words.replace("$", r"\$")


def draw_opening(data: dict[str, Any]) -> Figure:
    """What the dials show when the page opens: the curves with their bands, and the bars."""
    where, bars = _opening(data), data.get("bars")
    with style.look():
        ratios = (3, 2) if bars else (1,)
        fig, axes = plt.subplots(1, len(ratios), figsize=(style.WIDTH, 3.3), squeeze=False, width_ratios=ratios)
        _curves(axes[0, 0], data, where)
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower left", ncols=2, fontsize=7.5)
        if bars:
            _bars(axes[0, 1], [(item["label"], _at(data, item["values"], where)) for item in bars["items"]], bars["label"])
    return fig


def _along(data: dict[str, Any], values: Any, where: dict[str, int]) -> np.ndarray:
    """Over the horizontal axis: mean, low and high, (points, 3); NaN where nothing was computed; within the frame."""
    axis = next(d for d in data["dials"] if d["id"] == data["x"])
    leaves = [_at(data, values, where | {axis["id"]: i}) for i in range(len(axis["values"]))]
    found = np.array([[math.nan] * 3 if leaf is None else leaf for leaf in leaves])
    return np.clip(found, data["y"]["low"], data["y"]["high"])


def _curves(ax: Axes, data: dict[str, Any], where: dict[str, int]) -> None:
    dials, y = {d["id"]: d for d in data["dials"]}, data["y"]
    axis = dials[data["x"]]
    x = np.array(axis["values"])
    if "fan" in data:
        for i, value in enumerate(dials[data["fan"]]["values"]):
            mean = _along(data, data["series"][0]["values"], where | {data["fan"]: i})[:, 0]
            if i != where[data["fan"]] and np.isfinite(mean).any():
                ax.plot(x, mean, color=COLOURS[0], linewidth=0.7, alpha=0.7)
                last = np.flatnonzero(np.isfinite(mean))[-1]
                ax.annotate(number(value), (x[last], mean[last]), (4, 0), textcoords="offset points", fontsize=7, va="center")
    for s, colour, dash in zip(data["series"], COLOURS, DASHES, strict=False):
        mean, low, high = _along(data, s["values"], where).T
        style.between(ax, x, low, high, colour)
        ax.plot(x, mean, color=colour, linestyle=dash, label=_literal(s["label"]))
        leaves = [_at(data, s["values"], where | {axis["id"]: i}) for i in range(len(x))]
        floor = [leaf is not None and y["log"] and leaf[0] < y["low"] for leaf in leaves]
        for i, (place, value) in enumerate(zip(x, mean, strict=True)):
            size = 6.5 if i == where[axis["id"]] else 3
            ax.plot(place, value, "o", color=colour, ms=size, mfc="white" if floor[i] else colour, clip_on=False)
    ax.set_yscale("log" if y["log"] else "linear")
    ax.set_ylim(y["low"], y["high"])
    ax.set_xlabel(_literal(axis["label"]))
    ax.set_ylabel(_literal(y["label"]))


def _bars(ax: Axes, shares: Sequence[tuple[str, float | None]], label: str) -> None:
    for i, (name, share) in enumerate(shares):
        ax.barh(i, share or 0, height=0.4, color=COLOURS[0])
        ax.text((share or 0) + 0.02, i, "not computed" if share is None else result(share), va="center", fontsize=7.5)
        ax.text(0.02, i - 0.25, _literal(name), fontsize=8)
    ax.set_yticks([])
    ax.set_xticks([0, 0.5, 1])
    ax.set_ylim(len(shares) - 0.6, -0.7)
    ax.set_xlim(0, 1.15)
    ax.set_xlabel(_literal(label))
