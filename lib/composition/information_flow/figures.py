"""The figures of information flow: attention diagrams, maps of states, tables of cuts and patches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from lib.composition import palette
from lib.composition.information_flow import metrics
from lib.composition.information_flow.metrics import EDGES, GROUPS, ROUTES, Flow, essential
from lib.composition.phase_diagram.metrics import share_of
from lib.composition.task import INFERENTIAL_OFFSET, SYMMETRIC_OFFSET
from lib.core.read import style
from lib.core.read.ways import EFFECT, KEY_FIRST, WAYS
from lib.core.record.store import StoredRun

_TOKEN_COLOURS = (palette.KEY, palette.FIRST_ANCHOR, palette.SECOND_ANCHOR)


def _token_colour(position: int, place: int) -> str:
    ahead = position - place
    return _TOKEN_COLOURS[ahead] if 0 <= ahead <= 2 else palette.NOISE


def _edge(ax: Axes, source: int, query: int, layer: int, width: float, colour: str, alpha: float, order: int) -> None:
    """A curve from token `source` at level `layer` to token `query` one level up."""
    low, high = layer + 0.13, layer + 0.87
    path = Path(
        [(source, low), (source, layer + 0.55), (query, layer + 0.45), (query, high)],
        [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
    )
    ax.add_patch(PathPatch(path, fill=False, lw=width, edgecolor=colour, alpha=alpha, zorder=order, capstyle="round"))


def _flow_panel(ax: Axes, flow: Flow, title: str) -> None:
    layers, n, _ = flow.attention.shape
    on_path = essential(flow.attention, range(flow.place, flow.place + 3))
    for layer, query, source in np.argwhere(flow.attention > 0.02):
        weight, strong = flow.attention[layer, query, source], on_path[layer, query, source]
        colour = _token_colour(source, flow.place) if strong else "#B5B5B5"
        _edge(ax, source, query, layer, float(0.4 + 4.6 * weight), colour, 0.95 if strong else 0.45, 3 if strong else 1)
    for level in range(layers + 1):
        for position in range(n):
            colour = _token_colour(position, flow.place) if level == 0 else "white"
            ax.plot(position, level, "o", ms=15 if level == 0 else 8, mfc=colour, mec="#555555", mew=0.7, zorder=5)
            if level == 0:
                dark = sum(to_rgb(colour)) < 1.75
                text = str(flow.tokens[position])
                ax.text(position, 0, text, ha="center", va="center", fontsize=7.5, color="white" if dark else "black", zorder=6)
    ax.text(n - 1, layers + 0.17, f"→ {flow.answer}", ha="center", va="bottom", fontsize=9, weight="bold")
    names = ["input", *(f"layer {layer}" for layer in range(1, layers + 1))]
    ax.set_yticks(range(layers + 1), names)
    ax.set_xticks(range(n), [str(i) for i in range(n)])
    ax.set(xlim=(-0.6, n - 0.4), ylim=(-0.35, layers + 0.55), xlabel="position", title=title)
    style.bare(ax)


def flow_diagram(flows: Sequence[Flow], titles: Sequence[str]) -> Figure:
    """Fig. 3a, c: attention on one question, layer over layer. Line width is the attention weight; a line on the essential
    path (lib.composition.information_flow.metrics.essential) has the colour of the token it starts at, the others are grey."""
    height = 0.9 + 1.15 * max(len(flow.attention) for flow in flows)
    with style.look():
        fig, axes = plt.subplots(1, len(flows), figsize=(style.WIDTH, height), squeeze=False)
        for ax, flow, title in zip(axes[0], flows, titles, strict=True):
            _flow_panel(ax, flow, title)
    return fig


# --- Which edges a run needs ---

_ANSWERS = {
    "−6": ((SYMMETRIC_OFFSET,), palette.SYMMETRIC),
    "−10": ((INFERENTIAL_OFFSET,), palette.INFERENTIAL),
    "−9 or −11": ((INFERENTIAL_OFFSET + 1, INFERENTIAL_OFFSET - 1), "#F2B78B"),
}
_ROWS = [
    *(("symmetric", step) for step in sorted(ROUTES["symmetric"])),
    *(("inferential", step) for step in sorted(ROUTES["inferential"])),
    ("neither", (1, "first anchor", "second anchor")),
    ("neither", (1, "key", "last")),
]
"""Every edge from which a way leads on to the last token, by the route of the paper that it belongs to."""


def _short(step: metrics.Step) -> str:
    layer, source, query = step
    return f"{source} → {query}, {layer}".replace("first anchor", "anchor 1").replace("second anchor", "anchor 2")


def edge_figure(runs: Sequence[StoredRun], narrow: bool = False) -> Figure:
    """All runs of two layers: above, what each answers to (4, 3); below, how many of its answers change when one edge is cut
    in one layer. Blue edges belong to the symmetric route that the paper draws, orange ones to the inferential (its Fig. 3).
    `narrow`, for a phone: a run is a row instead of a column."""
    order, at, ends = metrics.columns(runs)
    if narrow:  # a line more above each γ, for its name
        lines = {gamma: 0.8 * i for i, gamma in enumerate(dict.fromkeys(gamma for gamma, *_ in ends))}
        at = at + [lines[run.spec.gamma] for run in order]
        ends = [(gamma, name, first + lines[gamma], last + lines[gamma]) for gamma, name, first, last in ends]
    along, across = ("y", "x") if narrow else ("x", "y")
    length = 1.6 + 0.125 * (at[-1] - at[0])
    shape = {"nrows": 1, "ncols": 2, "width_ratios": (1, 2.4), "sharey": True, "figsize": (style.NARROW, length)}
    wide = {"nrows": 2, "height_ratios": (1.1, 2.6), "sharex": True, "figsize": (style.WIDTH, 4.9)}
    with style.look():
        fig, (bars, cells) = plt.subplots(**(shape if narrow else wide))
        low = np.zeros(len(order))
        shares = {name: np.array([share_of(run, offsets) for run in order]) for name, (offsets, _) in _ANSWERS.items()}
        shares["other"] = 1 - np.sum([*shares.values()], 0)
        for name, share in shares.items():
            colour = _ANSWERS[name][1] if name in _ANSWERS else style.LIGHT
            (bars.barh if narrow else bars.bar)(at, share, 0.86, low, color=colour, label=name)
            low += share
        bars.set(**{f"{across}lim": (0, 1), f"{across}ticks": (0, 0.5, 1), f"{across}label": "answers"})
        costs = np.stack([metrics.edge_costs(run) for run in order])
        for row, (mapping, (layer, *edge)) in enumerate(_ROWS):
            fill = palette.FILL[mapping]
            for place, value in zip(at, costs[:, layer - 1, EDGES.index(tuple(edge))], strict=True):
                x, y = (row, place) if narrow else (place, row)
                cells.barh(y, 0.86, 0.86, left=x - 0.43, color=fill(float(value)), edgecolor="#DDDDDD", lw=0.4)
        cells.set(**{f"{across}ticks": range(len(_ROWS))})
        names = [_short(step) for _, step in _ROWS]
        labels = cells.set_xticklabels(names, rotation=90) if narrow else cells.set_yticklabels(names)
        for label, (mapping, _) in zip(labels, _ROWS, strict=True):
            label.set_color(palette.COLOUR[mapping] if mapping != "neither" else style.DARK)
        cells.set(**{f"{across}label": "edge cut, in layer"})
        groups = [name for _, name, *_ in ends]
        (bars if narrow else cells).set(**{f"{along}ticks": [(a + b) / 2 for *_, a, b in ends], f"{along}ticklabels": groups})
        for gamma in dict.fromkeys(g for g, *_ in ends):
            first, last = min(a for g, _, a, _ in ends if g == gamma), max(b for g, *_, b in ends if g == gamma)
            place = (0, first - 0.6) if narrow else ((first + last) / 2, 1.04)
            bars.text(*place, f"γ = {gamma:g}", ha="left" if narrow else "center", va="bottom", fontsize=9, weight="bold")
        bars.set(**{f"{along}lim": (at[-1] + 0.7, at[0] - 2.2) if narrow else (at[0] - 0.7, at[-1] + 0.7)})
        if narrow:
            fig.legend(loc="outside upper center", ncols=4, columnspacing=1, handlelength=1)
        else:
            cells.tick_params(axis="x", rotation=90, labelsize=7.5)  # a group may be of a single run
            cells.invert_yaxis()
            bars.legend(ncols=4, loc="lower left", bbox_to_anchor=(0, 1.12), columnspacing=1.2, handlelength=1.2)
        for ax in (bars, cells):
            style.bare(ax)
    return fig


def exact_figure(runs: Sequence[StoredRun]) -> Figure:
    """Share of exactly −10 among the answers of the runs that compose to within one step, by their way and γ."""
    asked = metrics.composing(runs)
    gammas = sorted({run.spec.gamma for run in asked})
    names = [name for name in WAYS if any(metrics.way(run) == name for run in asked)]
    with style.look():
        fig, axes = plt.subplots(
            max(len(gammas), 1), 1, figsize=(style.WIDTH, 0.9 + 1.0 * max(len(gammas), 1)), sharex=True, squeeze=False
        )
        for ax, gamma in zip(axes[:, 0], gammas, strict=False):
            for y, name in enumerate(names):
                here = [r.metrics["inferential"] for r in asked if r.spec.gamma == gamma and metrics.way(r) == name]
                marker = "s" if name == KEY_FIRST else "o"
                ax.plot(here, [y] * len(here), marker, ms=8, color=palette.INFERENTIAL, alpha=0.75, mew=0)
            ax.set_yticks(range(len(names)), names)
            ax.set(ylim=(-0.6, len(names) - 0.4), xlim=(0, 1.02))
            ax.set_title(f"γ = {gamma:g}", fontsize=9)
        axes[-1, 0].set_xlabel("share of answers that are exactly key − 10")
    return fig


# --- States ---

_HUES = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]


def state_maps(maps: Mapping[str, np.ndarray], pairs: Sequence[tuple[int, int]]) -> Figure:
    """Fig. 3b: maps of states, one point a sequence. Mirror images (a, b) and (b, a) share a colour, light and dark.

    maps: {title: (n, 2)}; pairs: n pairs.
    """
    unordered = sorted({tuple(sorted(pair)) for pair in pairs})
    with style.look():
        fig, axes = plt.subplots(1, len(maps), figsize=(style.WIDTH, 4.1), squeeze=False)
        for ax, (title, points) in zip(axes[0], maps.items(), strict=True):
            for i, base in enumerate(unordered):
                for pair, marker, mix in ((base, "o", 0.0), (base[::-1], "^", 0.5)):
                    which = np.array([tuple(p) == pair for p in pairs])
                    colour = tuple(1 - (1 - c) * (1 - mix) for c in to_rgb(_HUES[i % len(_HUES)]))
                    ax.scatter(*points[which].T, s=11, marker=marker, color=colour, lw=0, label=f"{pair}")
            ax.set_title(title, fontsize=8.5)
            ax.set(xticks=[], yticks=[], xlabel="first t-SNE coordinate")
        axes[0, 0].set_ylabel("second t-SNE coordinate")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside lower center", ncols=6, title="anchors", columnspacing=0.8, handletextpad=0.1)
    return fig


# --- Deeper models and patches ---


def _heat(ax: Axes, values: np.ndarray, columns: Sequence[str], rows: Sequence[str]) -> None:
    ax.imshow(values, vmin=0, vmax=1, cmap=palette.FILL["inferential"], aspect="auto")
    ax.set_xticks(range(len(columns)), columns, fontsize=7.5)
    ax.set_yticks(range(len(rows)), rows)
    for edge in np.arange(0.5, len(columns) - 1):
        ax.axvline(edge, color="#E4E4E4", lw=0.7)
    style.bare(ax)


def _write(ax: Axes, values: np.ndarray, words: Mapping[tuple[int, int], str]) -> None:
    """Words in cells, light on dark ones. values: what the panel's image shows."""
    (image,) = ax.images
    for (row, column), text in words.items():
        colour = "white" if np.dot(image.cmap(values[row, column])[:3], (0.3, 0.59, 0.11)) < 0.5 else "#222222"
        ax.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)


def group_figure(runs: Sequence[StoredRun]) -> Figure:
    """How many runs of each depth change EFFECT of their answers to (4, 3) or more when a group of edges is cut in a layer."""
    depths = sorted({run.spec.model.depth for run in runs})
    of = lambda depth: [metrics.group_costs(run) for run in runs if run.spec.model.depth == depth]
    costs = {f"{depth} layers": np.stack(of(depth)) >= EFFECT for depth in depths}
    with style.look():
        fig, axes = plt.subplots(1, len(costs), figsize=(style.WIDTH, 2.4), squeeze=False)
        for ax, (title, lose) in zip(axes[0], costs.items(), strict=True):
            n, share = len(lose), lose.mean(0)[::-1]
            rows = [f"layer {i}" for i in range(len(share), 0, -1)]
            _heat(ax, share, [name.replace(" → ", "\n→ ") for name in GROUPS], rows)
            _write(ax, share, {(i, j): f"{round(share[i, j] * n)} of {n}" for i, j in np.argwhere(share > 0).tolist()})
            ax.set_title(title, fontsize=8.5)
            ax.set_xlabel("edges that were cut")
    return fig
