"""How a chapter shows things: a figure with its caption, its provenance and its one summary line; claims as a table."""

from __future__ import annotations

import base64
import copy
import dataclasses
import inspect
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import matplotlib.pyplot as plt
import numpy as np
import torch
from IPython.display import HTML, Markdown, display
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lib.book.paths import ROOT
from lib.core.read import style, tables, typeset
from lib.core.record.store import StoredRun

if TYPE_CHECKING:  # dials round their data as figures do
    from lib.book.dials import Dials
    from lib.book.explorer import Explorer


def provenance_line(runs: Sequence[StoredRun], profile: str) -> str:
    """Which profile, how many seeds, on what device, which results: one line for under a figure."""
    if not runs:
        return "drawn from the task itself; no trained model is involved"
    runs = list({run.path: run for run in runs}.values())  # of several sets that share runs, each counts once
    seeds = len({run.spec.seed for run in runs})
    devices = Counter(f"{run.provenance['device']}, {run.provenance['precision']}" for run in runs)
    device = " and ".join(name for name, _ in devices.most_common())
    experiments = sorted({run.spec.experiment for run in runs})
    which = f"run {runs[0].key}" if len(runs) == 1 else f"{len(runs)} runs"
    return f"profile {profile} · {seeds} seed{'s' * (seeds > 1)} · {device} · {which} of {', '.join(experiments)}"


def source_of(function: Callable[..., Any]) -> str:
    """`lib/…/figures.py`, function: where a figure is drawn."""
    path = Path(inspect.getsourcefile(function) or "").resolve()
    where = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    return f"<code>{escape(where)}</code>, <code>{escape(function.__name__)}</code>"


def made_from(told: str, draw: Callable[..., Any]) -> str:
    """What stands under a picture: what it shows, in words, and what drew it."""
    return f'<p class="rm-provenance">{escape(told)} · drawn by {source_of(draw)}</p>'


def show(
    draw: Callable[..., Figure],
    *args: Any,
    number: str,
    caption: str,
    runs: Sequence[StoredRun] = (),
    profile: str = "",
    source: str = "",
) -> None:
    """Draw `draw(*args)`, and under it the caption, the provenance and the summary line that regression tests compare:
    what the numbers that were drawn come to. A phone is shown what `draw` draws with `narrow=True`, where it has such
    an argument; else the panels one below the other, where `style.stack` can put them so.

    `source` says what was drawn where it is neither runs nor the task.
    """
    numbers = [rounded(arg) for arg in args]
    figure = draw(*numbers)
    digest = drawn(figure)  # as it is before panels are put below each other
    display({"image/png": style.png(figure, close=False), "text/plain": repr(figure)}, raw=True)
    with style.look():
        if "narrow" in inspect.signature(draw).parameters:
            phone, how = style.png(draw(*numbers, narrow=True)), "stacked"
        else:
            how = style.stack(figure)
            phone = style.png(figure, laid_out=True) if how else b""
    stacked, marks = base64.b64encode(phone).decode(), "rm-stacked rm-turned" if how == "turned" else "rm-stacked"
    plt.close(figure)
    title = f"<strong>Figure {escape(number)}.</strong> {typeset.markdown(caption)}"
    display(
        HTML(
            (f'<img class="{marks}" hidden alt="" src="data:image/png;base64,{stacked}">' if stacked else "")
            + f'<p class="rm-caption" id="figure-{anchor(number)}">{title}</p>'
            + made_from(source or provenance_line(runs, profile), draw)
        )
    )
    print(f"Figure {number}: {digest}")


def drawn(figure: Figure) -> str:
    """`across: 56 numbers, mean 0.41, spread 0.38, order −0.02; up: …`: of what a figure shows, not of what it was made
    from. Spread is the standard deviation; order changes where the same numbers stand in another order. All are rounded to four
    digits of the size of the numbers, which is the same on every machine."""
    found: dict[str, list[np.ndarray]] = {}
    for ax in (part for outer in figure.axes for part in (outer, *cast("list[Axes]", outer.child_axes))):
        for kind, values in _shown(ax):
            found.setdefault(kind, []).append(np.ma.filled(np.ma.asarray(values, dtype=float), np.nan).ravel())
    said = [f"{kind}: {_moments(np.concatenate(parts))}" for kind, parts in found.items() if sum(map(len, parts))]
    return "; ".join(said) or "no numbers"


def _moments(values: np.ndarray) -> str:
    """In words. What is not finite (a run that diverged, a gap in a line) is counted alone."""
    known = values[np.isfinite(values)]
    if not len(known):
        return f"{len(values)} numbers, none finite"
    size = math.sqrt(float((known**2).mean()))
    digits = 3 - math.floor(math.log10(size)) if size else 0
    place = np.linspace(-1, 1, len(known)) if len(known) > 1 else np.zeros(1)
    moments = [round(float(v), digits) + 0.0 for v in (known.mean(), known.std(), (place * known).mean())]  # 0.0: no −0
    return f"{len(values)} numbers, " + ", ".join(
        f"{name} {value:.10g}" for name, value in zip(("mean", "spread", "order"), moments, strict=True)
    )


def _both(points: Any) -> tuple[tuple[str, Any], tuple[str, Any]]:
    """Points (n, 2) as numbers of either axis: steps of thousands would hide shares."""
    return ("across", points[:, 0]), ("up", points[:, 1])


def _shown(ax: Axes) -> Iterator[tuple[str, Any]]:
    """(kind, numbers) of every artist that shows data: where it stands, its values, its colours, numbers that are written."""
    for line in ax.lines:
        yield from _both(line.get_xydata())
        colours = line.get_color(), line.get_markerfacecolor(), line.get_markeredgecolor()
        yield "colours", to_rgba_array([*colours])
    for held in ax.collections:
        if isinstance(held, PathCollection):
            yield from _both(held.get_offsets())
        elif not isinstance(held, QuadMesh):
            yield from (part for path in held.get_paths() for part in _both(path.vertices))
        if held.get_array() is not None:
            yield "values", held.get_array()
        else:
            yield "colours", np.concatenate([held.get_facecolor(), held.get_edgecolor()])
    for patch in ax.patches:
        if isinstance(patch, Rectangle):
            yield from _both(patch.get_bbox().get_points())
            yield "colours", to_rgba_array([patch.get_facecolor()])
    yield from (("values", image.get_array()) for image in ax.images)
    words = [*(text.get_text() for text in ax.texts), *(ax.get_title(loc) for loc in ("left", "center", "right"))]
    yield "written", [float(v) for said in words for v in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", said.replace("−", "-"))]


def rounded(value: Any) -> Any:
    """With numbers to six digits: what another machine computes differs in the last ones, and is drawn in the same pixels."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.array([float(f"{v:.6g}") for v in value.ravel().tolist()], dtype=value.dtype).reshape(value.shape)
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return torch.from_numpy(rounded(value.numpy()))
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(v) for key, v in value.items()}
    if type(value) in (list, tuple):
        made: Any = type(value)
        return made(map(rounded, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type | StoredRun):
        copied = copy.copy(value)
        for name, held in vars(value).items():
            object.__setattr__(copied, name, rounded(held))
        return copied
    return value


def plain(text: str) -> str:
    """Foreign words in Markdown: what a result file or a parameter says stays words, and is neither markup nor HTML."""
    return re.sub(r"[\\`*_\[\]|<>{}#$~]", lambda match: f"&#{ord(match[0])};", text.replace("&", "&amp;"))


def anchor(number: str) -> str:
    """`2.1` → `2-1`: the part of a figure's anchor that its number gives."""
    return "-".join(re.findall(r"[a-z0-9]+", number.lower()))


def explore(widget: Explorer | Dials, runs: Sequence[StoredRun], profile: str, *live: Any) -> None:
    """An explorer or dials, under it what it was made from, and its opening view in one line. `live`: what an explorer trains
    with, and how it reads what was trained."""
    widget.show(*live)
    display(HTML(made_from(provenance_line(runs, profile), type(widget))))
    print(widget.words())


def say(text: str) -> None:
    """Prose with numbers that were computed just now."""
    display(Markdown(typeset.markdown(text)))


def settings(columns: dict[str, Sequence[tuple[str, str]]]) -> None:
    """Settings side by side: {whose: rows of (name, value)}, all with the same names."""
    rows = [(row[0][0], *(value for _, value in row)) for row in zip(*columns.values(), strict=True)]
    say(tables.table(("setting", *columns), rows))
