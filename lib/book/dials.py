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

import itertools
import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.book.explorer import check_id, encoded, host
from lib.core.read import style
from lib.core.record.spec import SpecError, check_number

MOST = 4
"""Dials, and series, that a page may have: more sliders or lines than that nobody can read."""
COLOURS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE)
DASHES = ("-", (0, (4, 2)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))
_TAKEN = {"view", "data", "caption"}  # what ends the ids of other elements
_SLACK = 1e-9
Leaf = Callable[[str, Any], Any]


class Dials:
    """One set of dials. `data` is what the module describes; `id` names it on its page.

    Raises SpecError, in a sentence that says what to change, where the data are not that. Numbers keep six digits.
    """

    def __init__(self, data: dict[str, Any], id: str) -> None:
        check_id("the id of dials", id)
        self.data = _checked(data) | {"id": id}

    def static(self) -> str:
        """HTML that works on its own, without a network, and a picture for where scripts do not run.

        Raises ValueError where it would be larger than explorer.LIMIT.
        """
        image = encoded(draw_opening(self.data))
        mount = 'mountDials(part("view"), JSON.parse(part("data").textContent));'
        return host(self.data, "dials", ("draw.js", "dials.js"), mount, self.words(), image, "give the dials fewer values")

    def words(self) -> str:
        """The opening view in one line: for those who do not see it, and for regression tests."""
        data: dict[str, Any] = self.data
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


# --- What may be given ---


def _checked(data: dict[str, Any]) -> dict[str, Any]:
    """A copy of the data, numbers rounded. Raises SpecError."""
    data = _part("the data of dials", data, ("dials", "x", "y", "series", "start", "about"), ("fan", "bars"))
    dials = [_dial(d) for d in _few("dials", data["dials"], MOST)]
    ids = [d["id"] for d in dials]
    _different("dials", ids)
    for name in ("x", "fan"):
        if data.get(name) not in ids and not (name == "fan" and data.get(name) is None):
            raise SpecError(f"{name} must be the id of a dial, one of {', '.join(ids)}, got {data[name]!r}.")
    if data.get("fan") == data["x"]:
        raise SpecError(f"fan and x are both {data['x']!r}: fan out another dial, or none.")
    axis = dials[ids.index(data["x"])]
    if len(axis["values"]) < 2:
        raise SpecError(f"the dial {axis['id']!r} is the horizontal axis and needs two values or more.")
    y, sizes = _axis(data["y"]), tuple(len(d["values"]) for d in dials)
    series = []
    for given in _few("series", data["series"], MOST):
        s = _part("a series", given, ("id", "label", "values"))
        check_id("the id of a series", s["id"])
        leaf: Leaf = lambda what, value: _interval(what, value, y)
        series.append(s | {"values": _nested(f"series {s['id']!r}", s["values"], sizes, leaf), "label": _words(s["label"])})
    _different("series", [s["id"] for s in series])
    found = {"dials": dials, "x": data["x"], "y": y, "series": series, "start": _start(data["start"], dials)}
    found["about"] = _words(data["about"])
    if data.get("fan") is not None:
        found["fan"] = data["fan"]
    if data.get("bars") is not None:
        bars, items = _part("bars", data["bars"], ("label", "items")), []
        for given in _few("items of bars", bars["items"]):
            item = _part("an item of bars", given, ("label", "values"))
            name = _words(item["label"])
            items.append({"label": name, "values": _nested(f"the bar {name!r}", item["values"], sizes, _share)})
        found["bars"] = {"label": _words(bars["label"]), "items": items}
    return found


def _part(what: str, part: Any, needed: Sequence[str], more: Sequence[str] = ()) -> dict[str, Any]:
    """The dictionary itself, if it has what is needed and nothing that is unknown."""
    if not isinstance(part, dict):
        raise SpecError(f"{what} must be a dictionary with {', '.join(needed)}, got {part!r}.")
    if missing := [name for name in needed if name not in part]:
        raise SpecError(f"{what} must have {missing[0]!r} as well.")
    if unknown := [name for name in part if name not in (known := (*needed, *more))]:
        raise SpecError(f"{what} has an unknown part {unknown[0]!r}: use {', '.join(known)}.")
    return part


def _few(what: str, parts: Any, most: int | None = None) -> Sequence[Any]:
    if not isinstance(parts, list | tuple) or not 1 <= len(parts) <= (most or len(parts)):
        raise SpecError(f"{what} must be a list of 1 {f'to {most}' if most else 'or more'}.")
    return parts


def _different(what: str, ids: Sequence[str]) -> None:
    if len(set(ids)) < len(ids):
        raise SpecError(f"two {what} have one id: give each its own, got {', '.join(ids)}.")


def _words(words: Any) -> str:
    if not isinstance(words, str) or not words.strip():
        raise SpecError(f"a label must be words, got {words!r}.")
    return words


def _round(value: float) -> float:
    return float(f"{value:.6g}")


def _dial(given: Any) -> dict[str, Any]:
    d = _part("a dial", given, ("id", "label", "values"))
    check_id("the id of a dial", d["id"])
    if d["id"] in _TAKEN:
        raise SpecError(f"a dial cannot have the id {d['id']!r}: use another than {', '.join(sorted(_TAKEN))}.")
    values = [_round(check_number(f"a value of the dial {d['id']!r}", v)) for v in _few(f"values of {d['id']!r}", d["values"])]
    if any(b <= a for a, b in itertools.pairwise(values)):
        raise SpecError(f"the values of the dial {d['id']!r} must increase, got {values}.")
    return {"id": d["id"], "label": _words(d["label"]), "values": values}


def _axis(given: Any) -> dict[str, Any]:
    y = _part("y", given, ("label", "log", "low", "high"))
    if not isinstance(y["log"], bool):
        raise SpecError(f"log of y must be True or False, got {y['log']!r}.")
    low = check_number("low of y", y["low"], low=0 if y["log"] else -math.inf, strict=y["log"])
    high = check_number("high of y", y["high"], low, strict=True)
    return {"label": _words(y["label"]), "log": y["log"], "low": _round(low), "high": _round(high)}


def _start(given: Any, dials: Sequence[dict[str, Any]]) -> dict[str, float]:
    start = _part("start", given, [d["id"] for d in dials])
    found = {d["id"]: _round(check_number(f"the start of {d['id']!r}", start[d["id"]])) for d in dials}
    for d in dials:
        if found[d["id"]] not in d["values"]:
            among = ", ".join(number(v) for v in d["values"])
            raise SpecError(f"the start of {d['id']!r} must be one of its values {among}, got {start[d['id']]!r}.")
    return found


def _nested(what: str, values: Any, sizes: Sequence[int], leaf: Leaf) -> list[Any]:
    def down(values: Any, left: Sequence[int]) -> Any:
        if not left:
            return leaf(what, values)
        if not isinstance(values, list | tuple) or len(values) != left[0]:
            lengths = " × ".join(map(str, sizes))
            raise SpecError(f"the values of {what} must be lists in lists, {lengths}, one level for each dial in their order.")
        return [down(value, left[1:]) for value in values]

    return down(values, sizes)


def _share(what: str, value: Any) -> float | None:
    if value is None:
        return None
    share = _round(check_number(f"a value of {what}", value, low=0))
    if share > 1:
        raise SpecError(f"a value of {what} must be a share from 0 to 1, got {value!r}.")
    return share


def _interval(what: str, value: Any, y: dict[str, Any]) -> list[float] | None:
    """Intervals that rounding has moved off their mean are mended; others are refused."""
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise SpecError(f"a value of {what} must be [mean, low, high] or None, got {value!r}.")
    mean, low, high = (check_number(f"a value of {what}", v) for v in value)
    if mean < low - _SLACK or mean > high + _SLACK:
        raise SpecError(f"a mean of {what} must lie in its interval, got {list(value)}.")
    if not (0 if y["log"] else y["low"]) <= _round(mean) <= y["high"]:
        raise SpecError(f"{what} has the mean {mean:g}, which the axis does not hold: change low or high of y.")
    return [_round(mean), min(_round(low), _round(mean)), max(_round(high), _round(mean))]


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
        ax.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
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
