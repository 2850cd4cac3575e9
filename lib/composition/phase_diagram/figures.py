"""The figures of the phase diagram and of what runs answer to (4, 3): every run is shown, and nothing is averaged that seeds do
not share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lib.composition import palette
from lib.composition.phase_diagram.metrics import PhaseTable, Setting
from lib.composition.runs import MAPPINGS, SHADOW, learned, learned_at
from lib.composition.study import OFFSETS
from lib.composition.task import INFERENTIAL_OFFSET, SYMMETRIC_OFFSET
from lib.core.read import style
from lib.core.record.store import StoredRun

# --- The grid over γ and depth ---


def _diagram(ax: Axes, table: PhaseTable, values: np.ndarray, name: str, shadow: np.ndarray, title: str) -> None:
    image = ax.imshow(values, origin="lower", aspect="auto", vmin=0, vmax=1, cmap=palette.FILL[name])
    style.tick_grid(ax, list(table.gammas), list(table.depths), "initialization rate γ", "depth (layers)")
    style.write_values(ax, values)
    for row, column in np.argwhere(shadow).tolist():
        place = column - 0.44, row - 0.4
        ax.add_patch(plt.Rectangle(place, 0.88, 0.8, fill=False, ls=(0, (3, 2)), lw=1.3, edgecolor="#222222"))
    ax.set_title(title)
    ax.figure.colorbar(image, ax=ax, shrink=0.9, label="share of answers")
    for spine in ax.spines.values():
        spine.set_visible(False)


def phase_diagram(table: PhaseTable) -> Figure:
    """Selected accuracy on (4, 3) under each mapping over γ and depth (Fig. 2a, b); framed where seen pairs are below 90 %."""
    with style.look():
        fig, axes = plt.subplots(2, 1, figsize=(style.WIDTH, 1.1 + 0.95 * len(table.depths)), sharex=True)
        for ax, mapping, letter in zip(axes, MAPPINGS, "ab", strict=True):
            accuracy, test = table.selected(mapping)
            _diagram(ax, table, accuracy, mapping, test < SHADOW, f"{letter}  {palette.LABEL[mapping]}, selected")
        axes[0].set_xlabel("")
    return fig


def plain_diagram(table: PhaseTable) -> Figure:
    """The same grid without selection: mean over every rate and seed of both answers and of neither."""
    shadow = table.plain("test") < SHADOW
    with style.look():
        fig, axes = plt.subplots(3, 1, figsize=(style.WIDTH, 1.3 + 1.25 * len(table.depths)), sharex=True)
        for ax, name, letter in zip(axes, (*MAPPINGS, "neither"), "abc", strict=True):
            _diagram(ax, table, table.plain(name), name, shadow, f"{letter}  {palette.LABEL[name]}, mean of all runs")
        for ax in axes[:-1]:
            ax.set_xlabel("")
    return fig


def own_point(runs: Sequence[StoredRun]) -> Figure:
    """Shares of the three kinds of answer for every run of one point, grouped by seed, with test accuracy on seen pairs."""
    names = ("symmetric", "inferential", "neither")
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 0.9 + 0.24 * len(runs)))
        left = np.zeros(len(runs))
        for name in names:
            width = np.array([r.metrics[name] if name in r.metrics else 1 - sum(r.metrics[m] for m in MAPPINGS) for r in runs])
            ax.barh(range(len(runs)), width, left=left, color=palette.COLOUR[name], label=palette.LABEL[name])
            left += width
        ax.plot([r.metrics["test"] for r in runs], range(len(runs)), "k|", ms=11, mew=2, label=palette.LABEL["test"])
        ax.set_yticks(range(len(runs)), [f"seed {r.spec.seed}, learning rate {r.spec.rate:g}" for r in runs])
        ax.set(xlim=(0, 1.005), xlabel="share of answers to (4, 3)")
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
        fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return fig


# --- Answers of two layers ---

GAMMA = "initialization rate γ  (weights get smaller →)"
_SHIFT = {"symmetric": -0.006, "inferential": 0.006}


def _gammas(runs: Sequence[StoredRun]) -> list[float]:
    return sorted({run.spec.gamma for run in runs})


def flip(panels: Mapping[str, Sequence[StoredRun]], narrow: bool = False) -> Figure:
    """Fig. 2a, b along γ: the shares of both answers, one dot a run, hollow where it has not learned.

    Lines join means over two runs at least. panels: {title: runs}, on one axis of γ, up to three in a row; `narrow`, for a
    phone, one above the other.
    """
    columns = 1 if narrow else len(panels) if len(panels) <= 3 else 2
    lines = -(-len(panels) // columns)
    with style.look():
        size = (style.NARROW, 2.6 * lines) if narrow else (style.WIDTH, 3.0 if lines == 1 else 0.6 + 2.4 * lines)
        fig, axes = plt.subplots(lines, columns, figsize=size, sharex=True, sharey=True, squeeze=False)
        for ax in axes.flat[len(panels) :]:
            ax.set_visible(False)
        for ax, (title, runs) in zip(axes.flat, panels.items(), strict=False):
            gammas = _gammas(runs)
            several = len(runs) > len(gammas)
            for mapping, marker in zip(MAPPINGS, "os", strict=True):
                colour = palette.COLOUR[mapping]
                for run in runs:
                    face = colour if learned(run) else "white"
                    x, y = run.spec.gamma + _SHIFT[mapping], run.metrics[mapping]
                    ax.plot(x, y, marker, ms=5.5, mec=colour, mfc=face, alpha=0.85, clip_on=False)
                means = [np.mean([r.metrics[mapping] for r in runs if r.spec.gamma == g]) for g in gammas]
                ax.plot(gammas, means, ls="-" if several else "", color=colour, lw=1.4)
            each = sorted({sum(run.spec.gamma == g for run in runs) for g in gammas})
            counts = f"{' to '.join(map(str, dict.fromkeys((each[0], each[-1]))))} run{'s' * (each != [1])} a γ"
            ax.set(ylim=(-0.02, 1.04))
            ax.set_title(f"{fill(title, 30) if columns > 2 else title}\n{counts}", fontsize=9)
        for ax in axes[-1]:
            ax.set_xlabel(GAMMA if len(panels) == 1 else "initialization rate γ")
        for ax in axes[:, 0]:
            ax.set_ylabel("share of answers to (4, 3)")
        labels = [palette.LABEL[mapping] for mapping in MAPPINGS]
        handles = [
            Line2D([], [], color=palette.COLOUR[m], marker=marker, ms=5.5) for m, marker in zip(MAPPINGS, "os", strict=True)
        ]
        hollow = Line2D([], [], ls="", marker="o", mec=palette.SEEN, mfc="white")
        ncols = 1 if narrow else 3
        fig.legend([*handles, hollow], [*labels, "has not learned"], loc="outside lower center", ncols=ncols)
    return fig


def histogram(gammas: Sequence[float], values: np.ndarray) -> Figure:
    """The phase diagram of all answers: a column a run, a row an offset from the key.

    gammas: of the runs, ascending; values: (33, runs) shares of OFFSETS.
    """
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 4.2))
        image = ax.imshow(
            np.sqrt(values), origin="lower", aspect="auto", vmin=0, vmax=1, cmap="Greys", extent=(0, len(gammas), *_ends())
        )
        for name, offset in (("symmetric", SYMMETRIC_OFFSET), ("inferential", INFERENTIAL_OFFSET)):
            for edge in (-0.5, 0.5):
                ax.axhline(offset + edge, color=palette.COLOUR[name], lw=1.2)
            label = palette.LABEL[name]
            ax.text(len(gammas) * 1.005, offset, label, color=palette.COLOUR[name], va="center", fontsize=8)
        _mark_gammas(ax, gammas)
        ax.set(xlabel=f"{GAMMA}; a column a run", ylabel="answer − key")
        bar = fig.colorbar(image, ax=ax, location="top", shrink=0.4, aspect=30, label="share of a run's answers")
        bar.set_ticks([share**0.5 for share in (0, 0.04, 0.25, 0.5, 1)], labels=["0", "0.04", "0.25", "0.5", "1"])
    return fig


def _ends() -> tuple[float, float]:
    return OFFSETS[0] - 0.5, OFFSETS[-1] + 0.5


def place_by_place(gammas: Sequence[float], offsets: np.ndarray) -> Figure:
    """The most frequent offset at each place of the key (rows) of every run (columns); coloured if it is a mapping's.

    gammas: of the runs, ascending; offsets: (7, runs).
    """
    name = {SYMMETRIC_OFFSET: "symmetric", INFERENTIAL_OFFSET: "inferential"}
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 2.9))
        for (place, column), offset in np.ndenumerate(offsets):
            colour = palette.COLOUR[name[offset]] if offset in name else "#DDDDDD"
            ax.add_patch(plt.Rectangle((column, place - 0.5), 1, 1, facecolor=colour, edgecolor="white", lw=0.8))
            if offset not in name:
                text = str(-offset) if offset <= 0 else f"+{offset}"
                ax.text(column + 0.5, place, text, ha="center", va="center", fontsize=7, color="black")
        ax.set(
            xlim=(0, len(gammas)),
            ylim=(-0.5, len(offsets) - 0.5),
            ylabel="place of the key",
            xlabel=f"{GAMMA}; a column a run",
        )
        _mark_gammas(ax, gammas)
        faces = {palette.LABEL[n]: palette.COLOUR[n] for n in name.values()} | {"another offset: 7 is key − 7": "#DDDDDD"}
        boxes = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in faces.values()]
        fig.legend(boxes, list(faces), loc="outside lower center", ncols=3)
    return fig


def _mark_gammas(ax: Axes, gammas: Sequence[float]) -> None:
    """Columns of one γ stand together under its value."""
    edges = [i for i in range(1, len(gammas)) if gammas[i] != gammas[i - 1]]
    for edge in edges:
        ax.axvline(edge, color="white", lw=2.5)
    middles = [(a + b) / 2 for a, b in pairwise([0, *edges, len(gammas)])]
    ax.set_xticks(middles, [f"{gammas[int(m)]:g}" for m in middles])
    ax.tick_params(length=0)


def along_training(runs: Sequence[StoredRun], titles: Sequence[str]) -> Figure:
    """Shares of both answers, and of training rows that are right, along the training of some runs."""
    columns = min(3, len(runs))
    rows = -(-len(runs) // columns)
    with style.look():
        fig, axes = plt.subplots(rows, columns, figsize=(style.WIDTH, 0.6 + 1.75 * rows), sharey=True, squeeze=False)
        for ax in axes.ravel()[len(runs) :]:
            ax.set_visible(False)
        for ax, run, title in zip(axes.ravel(), runs, titles, strict=False):
            for name, line in (("train", "--"), ("symmetric", "-"), ("inferential", "-")):
                label = "training rows right" if name == "train" else palette.LABEL[name]
                colour = palette.SEEN if name == "train" else palette.COLOUR[name]
                ax.plot(np.array(run.history["step"]) / 1000, run.history[name], line, color=colour, lw=1.4, label=label)
            ax.set_ylim(-0.04, 1.04)
            ax.set_title(title, fontsize=8.5)
        for ax in axes[-1]:
            ax.set_xlabel("steps (thousands)")
        for ax in axes[:, 0]:
            ax.set_ylabel("share")
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def fit_against_answer(panels: Mapping[str, Sequence[StoredRun]], limit: Mapping[str, int]) -> Figure:
    """When a run has learned against what it answers: inferential minus symmetric share, a dot a run, coloured by γ.

    limit: {title: steps}; a run that never learned is a cross beyond it, spread over a narrow band.
    """
    every = [run for runs in panels.values() for run in runs]
    low, high = min(r.spec.gamma for r in every), max(r.spec.gamma for r in every)
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 2.9), sharey=True, squeeze=False)
        for ax, (title, runs) in zip(axes[0], panels.items(), strict=True):
            never = limit[title] * 1.6
            late = sorted((r for r in runs if not np.isfinite(learned_at(r))), key=lambda r: r.spec.gamma)
            beyond = dict(zip((r.path for r in late), never * np.geomspace(0.85, 1.15, max(1, len(late))), strict=False))
            for run in runs:
                lean = run.metrics["inferential"] - run.metrics["symmetric"]
                colour = style.GAMMA((run.spec.gamma - low) / max(high - low, 1e-9))
                late_x = beyond.get(run.path)
                ax.plot(late_x or learned_at(run), lean, "x" if late_x else "o", ms=5, color=colour, alpha=0.85)
            ax.axhline(0, color="#BBBBBB", lw=0.8)
            ax.axvline(limit[title] * 1.15, color="#BBBBBB", lw=0.8, ls=":")
            ax.set(xscale="log", xlabel="step at which the task is learned", ylim=(-1.05, 1.05))
            first = min([learned_at(r) for r in runs if r not in late], default=limit[title])
            ticks = [n * 10**k for k in range(7) for n in (1, 2, 5) if 0.9 * first <= n * 10**k <= limit[title] / 1.3]
            ax.set_xticks([*ticks, never], [*(f"{tick:,}" for tick in ticks), "never"])
            ax.set_xticks([], minor=True)
            ax.set_title(title, fontsize=9.5)
        axes[0, 0].set_ylabel("inferential − symmetric share")
        scale = plt.cm.ScalarMappable(plt.Normalize(low, high), style.GAMMA)
        fig.colorbar(scale, ax=axes, label="initialization rate γ", shrink=0.9)
    return fig


def separations(found: Sequence[Setting]) -> Figure:
    """How far the two ends of γ lie apart, a row a setting, the widest apart on top.

    A line joins the mean lean (inferential minus symmetric share) at large weights, dark, to that at small weights,
    light. A small mark is a run. A clean flip runs from −1 to +1.
    """
    ends = {"large": (style.GAMMA(0.05), "o"), "small": (style.GAMMA(0.7), "s")}
    rows = sorted(found, key=lambda s: s.separation)
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 1.3 + 0.29 * len(rows)))
        for y, setting in enumerate(rows):
            leans = {end: getattr(setting, end) for end in ends}
            means = [lean.mean() for lean in leans.values()]
            ax.plot(means, [y, y], color="#888888", lw=1.6, zorder=1)
            for (end, lean), aside in zip(leans.items(), (-0.2, 0.2), strict=True):
                colour, marker = ends[end]
                ax.plot(lean, [y + aside] * len(lean), marker, ms=3.6, color=colour, alpha=0.6, mew=0, zorder=2)
                ax.plot(lean.mean(), y, marker, ms=7, color=colour, zorder=3)
        ax.axvline(0, color="#BBBBBB", lw=0.8, zorder=0)
        specs = [setting.spec for setting in rows]
        fixed = ["; fixed rows" * bool(dict(spec.task).get("rows")) for spec in specs]
        sizes = [f"{s.model.d_model}, {s.train.batch}, {s.rate:g}, {s.decay:g}, {s.train.steps:,}" for s in specs]
        runs = [f"  ({len(setting.large)}, {len(setting.small)})" for setting in rows]
        names = list(map("".join, zip(sizes, fixed, runs, strict=True)))
        ax.set_yticks(range(len(rows)), names, fontsize=8)
        ax.tick_params(axis="y", length=0)
        ax.set(xlim=(-1.05, 1.05), ylim=(-0.6, len(rows) - 0.4), xlabel="inferential − symmetric share")
        ax.set_ylabel("width, batch, learning rate, decay, steps (runs at large, at small weights)")
        handles = [Line2D([], [], ls="", marker=m, ms=7, color=c, label=f"{end} weights") for end, (c, m) in ends.items()]
        fig.legend(handles=handles, loc="outside lower center", ncols=2)
    return fig


def neighbour_steps(by_gamma: Mapping[float, np.ndarray]) -> Figure:
    """How far the nearest neighbour in the embedding is as a number (Fig. 5c's steps of 3 and 4), a row a γ.

    by_gamma: {γ: (n + 1,) shares of the steps 1 to n, and of all larger ones}.
    """
    gammas, values = list(by_gamma), np.array(list(by_gamma.values()))
    largest = values.shape[1] - 1
    labels = [str(i + 1) for i in range(largest)] + [f"> {largest}"]
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 0.9 + 0.25 * len(gammas)))
        image = ax.imshow(values, aspect="auto", vmin=0, vmax=1, cmap=palette.FILL["neither"])
        xlabel = "distance of the nearest neighbour, as a number"
        style.tick_grid(ax, labels, [f"{g:g}" for g in gammas], xlabel, "initialization rate γ")
        for (row, column), share in np.ndenumerate(values):
            if share >= 0.05:
                ax.text(column, row, f"{share:.0%}", ha="center", va="center", fontsize=8, color="#222222")
        style.bare(ax)
        fig.colorbar(image, ax=ax, label="share of the numbers")
    return fig


def teaching_pairs(levels: np.ndarray, shares: np.ndarray) -> Figure:
    """The share of exactly inferential answers against the number of seen pairs that teach the answer; a thin line a run.

    levels: (n,) numbers of pairs; shares: (runs, n).
    """
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 2.8))
        for share in shares:
            ax.plot(levels, share, color=palette.INFERENTIAL, lw=0.7, alpha=0.35)
        ax.plot(levels, shares.mean(0), "o-", color=palette.INFERENTIAL, ms=4)
        ax.set(
            xlabel="seen pairs that teach the answer key − 10", ylabel="share of key − 10", ylim=(-0.03, 1.03), xticks=levels
        )
    return fig


def seen_by_place(right: np.ndarray, held_out: np.ndarray) -> Figure:
    """Which share of the seen questions of one run is answered right, place by place: (7, keys) shares, those of keys that
    trained at the place apart from those that were held out there."""
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 2.4))
        places = np.arange(len(right))
        for which, marker, label in ((~held_out, "o", "keys that trained at this place"), (held_out, "D", "held-out keys")):
            shares = [row[mask].mean() if mask.any() else np.nan for row, mask in zip(right, which, strict=True)]
            colour = style.GREY if marker == "o" else style.DARK
            ax.plot(places, shares, marker, ms=7, color=colour, label=label, clip_on=False, zorder=3)
        ax.set_xticks(places)
        ax.set(ylim=(0, 1.03), xlabel="place of the key", ylabel="seen pairs right")
        ax.grid(axis="y", color="#E4E4E4", lw=0.7)
        fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig
