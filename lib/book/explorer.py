"""The explorer: sliders for γ, depth and step, and what they select. On a page without a kernel, and live with one.

`data` is plain data. Its parts:
  series     sets of results: {name, profile, cells, runs}; a cell is one (γ, depth) with means and spreads over all its runs,
             a run has its history, attention, map and spectrum (lib/composition/exploration.py makes them)
  answers, seen   the metrics: {id, label, short}
  question   the tokens that the attention is of; width, firstNumber, range: axes; mapped: what the map is of ("numbers")
  exclusive  false where the answers are shares of different questions and do not add up
  asked      what is said under the answers; presets, points to begin with: {label, to: {series, gamma, depth, seed}}
A run may have `moments`, a list of {step, and any of attention, path, answer, map, explained, spectrum}: what was kept of steps
along training. A panel that has none of the chosen step shows the trained run, in grey.
One script draws both views (explorer.js, with the pieces of draw.js). The static view holds the scripts, their style and the
data, and asks for nothing: `host` makes such a view of any script.
"""

from __future__ import annotations

import base64
import functools
import io
import json
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from matplotlib.figure import Figure

from lib.core.read import style
from lib.core.record.spec import SpecError, check_count, check_number
from lib.core.record.store import StoredRun

PANELS = ("answers", "diagram", "curve", "flow", "map", "spectrum")
LIMIT = 2_000_000
"""Bytes that the static view of one page may have."""
_HERE = Path(__file__).parent
Train = Callable[..., StoredRun]


@functools.cache
def asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def script_safe(value: Any) -> str:
    """JSON that can stand inside <script>: nothing in it can close the element or open a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def check_id(what: str, id: Any) -> None:
    """Raise SpecError unless `id` can be part of an element's id."""
    if not isinstance(id, str) or not id.replace("-", "").isalnum() or not id.isascii():
        raise SpecError(f"{what} is made of letters, digits and dashes, got {id!r}.")


def host(data: dict[str, Any], kind: str, scripts: Sequence[str], mount: str, words: str, image: str, less: str) -> str:
    """HTML that shows `data` on its own, without a network, and a picture for where scripts do not run.

    `data["id"]` names it on its page; `mount` is what is run after the scripts, where `part` finds an element of its own;
    `image` is a PNG in base64, and `words` say what it shows. Raises ValueError, with `less` as the advice, where it would
    be larger than LIMIT.
    """
    id = data["id"]
    source = "\n".join(asset(name) for name in scripts)
    html = (
        f'<div class="rm-explorer-host" id="{id}">'
        f"<style>{asset('explorer.css')}</style>"
        f'<div id="{id}-view"></div>'
        f'<noscript><img alt="{escape(words)}" src="data:image/png;base64,{image}"></noscript>'
        f'<script type="application/json" id="{id}-data">{script_safe(data)}</script>'
        f"<script>(function () {{\n{source}\n"
        f'const part = (name) => document.getElementById("{id}-" + name);\n'
        f"{mount}\n}}());</script></div>"
    )
    if (size := len(html.encode())) > LIMIT:
        raise ValueError(f"the {kind} {id} has {size:,} bytes, more than {LIMIT:,}: {less}.")
    return html


def encoded(figure: Figure) -> str:
    """A figure as a PNG in base64; the figure is closed."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=90, metadata={"Software": None})
    plt.close(figure)
    return base64.b64encode(buffer.getvalue()).decode()


_PARTS = {"flow": ("attention", "path", "answer"), "map": ("map", "explained"), "spectrum": ("spectrum",)}
"""What a run and its moments keep for a panel alone."""


def lighter(data: dict[str, Any]) -> dict[str, Any]:
    """The same for a page that is loaded as a whole: without what none of its panels shows, and with maps as base64, a byte a
    coordinate."""
    unseen = {part for panel, parts in _PARTS.items() if panel not in data["panels"] for part in parts}
    if "spectrum" not in data["panels"]:
        unseen.add("eigenvalues")

    def less(part: dict[str, Any]) -> dict[str, Any]:
        found = {name: value for name, value in part.items() if name not in unseen}
        if "map" in found:
            found["map"] = base64.b64encode(bytes(c for point in found["map"] for c in point)).decode()
        if "history" in found:
            found["history"] = less(found["history"])
        if "moments" in found:
            kept = [less(moment) for moment in found["moments"]]
            found["moments"] = [moment for moment in kept if len(moment) > 1]  # a step alone shows nothing
        return found

    return data | {"series": [s | {"runs": [less(run) for run in s["runs"]]} for s in data["series"]]}


class Explorer:
    """One explorer of a page. `id` names it on its page; `panels` are shown in their order; the start is what it opens at."""

    def __init__(
        self, data: dict[str, Any], id: str, gamma: float, depth: int, seed: int = 0, panels: Sequence[str] = PANELS
    ) -> None:
        if unknown := set(panels) - set(PANELS):
            raise SpecError(f"unknown panel {sorted(unknown)[0]!r}: use some of {', '.join(PANELS)}.")
        check_id("the id of an explorer", id)
        check_number("gamma", gamma)
        check_count("depth", depth)
        start = {"gamma": gamma, "depth": depth, "seed": seed}
        # the sliders reach as far as what they open at
        ends = {name: [min(low, start[name]), max(high, start[name])] for name, (low, high) in data["range"].items()}
        self.data = data | {"id": id, "start": start, "range": ends, "panels": list(panels)}

    def static(self) -> str:
        """HTML that works on its own, without a network, and a picture for where scripts do not run.

        Raises ValueError where it would be larger than LIMIT.
        """
        figure = encoded(draw_cells(self.data))
        mount = 'mountExplorer(part("view"), JSON.parse(part("data").textContent), null);'
        return host(
            lighter(self.data), "explorer", ("draw.js", "explorer.js"), mount, self.words(), figure, "give it fewer runs"
        )

    def words(self) -> str:
        """The opening view in one line: for those who do not see it, and for regression tests."""
        run = nearest(self.data["series"][0], **self.data["start"])
        answers = [*self.data["answers"], self.data["seen"]]
        shares = ", ".join(f"{a['short']} {run['final'][a['id']]:.2f}" for a in answers)
        points = sum(len(s["cells"]) for s in self.data["series"])
        return (
            f"Explorer of {points} points; it opens at γ = {run['gamma']:g}, depth {run['depth']}, seed {run['seed']}, "
            f"profile {self.data['series'][0]['profile']}, run {run['key']}: {shares}"
        )

    def show(self, train: Train | None = None, record: Callable[[StoredRun], dict[str, Any]] | None = None) -> None:
        """Display both views as one output. A front end with widgets shows the live one, every other place the static one.

        `train(gamma, depth, seed, on_step, stop)` trains a point and `record` describes it; without them there is no button.
        """
        from lib.book.live import Live  # a page that is only built needs no widgets

        bundle = {"text/html": self.static(), "text/plain": self.words()}
        view = Live(self.data, train, record).widget._repr_mimebundle_() or {}
        key = "application/vnd.jupyter.widget-view+json"
        display(bundle | {key: view[key]} if key in view else bundle, raw=True)


def nearest(series: dict[str, Any], gamma: float, depth: int, seed: int) -> dict[str, Any]:
    """The run of a series that is shown for what is asked: nearest in depth, then in γ; at that point, nearest in seed."""
    far = lambda r: (abs(r["depth"] - depth), round(abs(r["gamma"] - gamma), 6), r["gamma"], abs(r["seed"] - seed), r["seed"])
    return min(series["runs"], key=far)


def with_run(data: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """The data with one more run in the first series; a point that had no cell gets one, of the runs that are shown there."""
    first, *others = data["series"]
    runs = [r for r in first["runs"] if r["key"] != run["key"]] + [run]
    cells, place = first["cells"], (run["gamma"], run["depth"])
    if "fixed" not in first:
        first = first | {"fixed": [(c["gamma"], c["depth"]) for c in cells]}
    if place not in first["fixed"]:
        here = [r["final"] for r in runs if (r["gamma"], r["depth"]) == place]
        cell: dict[str, Any] = {"gamma": run["gamma"], "depth": run["depth"], "runs": len(here)}
        for name in here[0]:
            values = [final[name] for final in here]
            cell[name] = [mean(values), stdev(values) if len(values) > 1 else None]
        cells = [c for c in cells if (c["gamma"], c["depth"]) != place] + [cell]
    return data | {"series": [first | {"runs": runs, "cells": cells}, *others]}


def draw_cells(data: dict[str, Any]) -> Figure:
    """Mean share of each answer over γ and depth, as the explorer's first panel has it, with the spread over runs."""
    cells = data["series"][0]["cells"]
    gammas, depths = sorted({c["gamma"] for c in cells}), sorted({c["depth"] for c in cells})
    with style.look():
        fig, axes = plt.subplots(1, len(data["answers"]), figsize=(style.WIDTH, 1.2 + 0.5 * len(depths)), sharey=True)
        colours = (style.BLUE, style.VERMILLION, style.GREY)
        for ax, answer, colour in zip(np.atleast_1d(axes), data["answers"], colours, strict=False):
            values, spread = np.full((2, len(depths), len(gammas)), np.nan)
            for c in cells:
                place = depths.index(c["depth"]), gammas.index(c["gamma"])
                values[place], deviation = c[answer["id"]]
                spread[place] = np.nan if deviation is None else deviation
            ax.imshow(values, origin="lower", aspect="auto", vmin=0, vmax=1, cmap=style.FILL[colour])
            style.tick_grid(
                ax, gammas, depths, "initialization rate γ", "depth (layers)" if ax is np.atleast_1d(axes)[0] else ""
            )
            style.write_values(ax, values, size=6.5, spread=None if np.isnan(spread).all() else np.nan_to_num(spread))
            ax.set_title(answer["label"], fontsize=9)
            style.bare(ax)
    return fig
