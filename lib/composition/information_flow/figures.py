"""The figures of information flow: attention diagrams, maps of states, tables of cuts and patches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from lib.composition import palette
from lib.composition.information_flow.metrics import EDGES, EFFECT, ROLES, Cuts, Flow, essential, route_classes
from lib.core.read import style

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
        _edge(ax, source, query, layer, 0.4 + 4.6 * weight, colour, 0.95 if strong else 0.45, 3 if strong else 1)
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
    ax.set_xticks(range(n), range(n))
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


def state_map(points: np.ndarray, pairs: Sequence[tuple[int, int]], title: str) -> Figure:
    """Fig. 3b: a map of states, one point a sequence. Mirror images (a, b) and (b, a) share a colour, light and dark.

    points: (n, 2); pairs: n pairs.
    """
    unordered = sorted({tuple(sorted(pair)) for pair in pairs})
    palette = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 3.9))
        for i, base in enumerate(unordered):
            for pair, marker, mix in ((base, "o", 0.0), (base[::-1], "^", 0.5)):
                which = np.array([tuple(p) == pair for p in pairs])
                colour = tuple(1 - (1 - c) * (1 - mix) for c in to_rgb(palette[i % len(palette)]))
                ax.scatter(*points[which].T, s=11, marker=marker, color=colour, lw=0, label=f"{pair}")
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), ncols=2, title="anchors", columnspacing=0.6, handletextpad=0.1)
        ax.set_title(title, fontsize=8.5)
        ax.set(xticks=[], yticks=[], xlabel="first t-SNE coordinate", ylabel="second t-SNE coordinate")
    return fig


def _heat(ax: Axes, values: np.ndarray, colour: str, columns: Sequence[str], rows: Sequence[str]) -> None:
    ax.imshow(values, vmin=0, vmax=1, cmap=palette.FILL[colour], aspect="auto")
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


def _by_layer(layers: Sequence[int], columns: int, height: float) -> tuple[Figure, np.ndarray]:
    """One row of panels a model, as high as it has layers. Call inside style.look()."""
    return plt.subplots(len(layers), columns, figsize=(style.WIDTH, height), squeeze=False, height_ratios=layers, sharex=True)


def cut_figure(cuts: Mapping[str, Cuts], mappings: Mapping[str, str]) -> Figure:
    """How many runs of each group lose EFFECT of an accuracy or more when one class of edges is cut in one layer; nothing is
    written where none does. Frames: the edges that the paper draws in its two layers.

    cuts: {title: Cuts}; mappings: {title: the mapping whose accuracy the right column shows}.
    """
    layers = [next(iter(c.after.values())).shape[1] for c in cuts.values()]
    columns = [name.replace(" → ", "\n→ ") for name in EDGES]
    with style.look():
        fig, axes = _by_layer(layers, 2, 0.9 + 0.36 * sum(layers) + 0.38 * len(cuts))
        for row, (title, c), depth in zip(axes, cuts.items(), layers, strict=True):
            mapping = mappings[title]
            for ax, name, colour in ((row[0], "test", "neither"), (row[1], mapping, mapping)):
                lose = c.whole[name][:, None, None] - c.after[name] >= EFFECT
                n, share = len(lose), lose.mean(0)
                _heat(ax, share, colour, columns, [f"layer {i + 1}" for i in range(depth)])
                _write(ax, share, {(i, j): f"{lose[:, i, j].sum()} of {n}" for i, j in np.argwhere(share > 0).tolist()})
                if depth == 2:
                    for layer, edges in route_classes(mapping):
                        place = list(EDGES).index(edges) - 0.5, layer - 1.5
                        ax.add_patch(Rectangle(place, 1, 1, fill=False, edgecolor="black", lw=1.5, clip_on=False, zorder=3))
                label = "seen pairs" if name == "test" else palette.LABEL[name]
                ax.set_title(f"{title}: {label}", fontsize=8.5)
            row[1].set_yticks([])
        for ax in axes[-1]:
            ax.set_xlabel("edges that were cut")
    return fig


def patch_figure(patches: Mapping[str, Mapping[str, np.ndarray]], colours: Mapping[str, str]) -> Figure:
    """How often a patch of one position turns the answer into the other question's; nothing is written below 0.05.

    patches: {title: {what differs: array}}.
    """
    columns = [role.replace(" anchor", "\nanchor") for role in ROLES]
    layers = [next(iter(p.values())).shape[0] for p in patches.values()]
    with style.look():
        fig, axes = _by_layer(layers, 3, 1.0 + 0.38 * sum(layers) + 0.4 * len(patches))
        for row, (title, patch) in zip(axes, patches.items(), strict=True):
            for ax, (what, values) in zip(row, patch.items(), strict=True):
                names = ["embedding", *(f"after layer {i}" for i in range(1, len(values)))]
                _heat(ax, values, colours[title], columns, names if ax is row[0] else [""] * len(values))
                _write(ax, values, {(i, j): f"{values[i, j]:.1f}" for i, j in np.argwhere(values >= 0.05).tolist()})
                ax.set_title(f"{title}\nother {what}" if ax is row[0] else f"other {what}", fontsize=8.5)
        for ax in axes[-1]:
            ax.set_xlabel("patched position")
    return fig
