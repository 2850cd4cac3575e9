"""Figures of generalization: which tasks are trained, how many steps, which new patterns, how many examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lib.core.read import style
from lib.core.read.measures import history
from lib.core.record.store import StoredRun
from lib.in_context.drawing import log_errors
from lib.in_context.out_of_domain.metrics import ENOUGH, THEORY, Along, Curve, Need, Steps, both_labels_floor, crossing
from lib.in_context.runs import LEVEL, Share
from lib.in_context.task import Task, no_match_floor

SEEN, UNSEEN = style.BLUE, style.VERMILLION
IN_DOMAIN = style.DARK
OUTSIDE = style.ORANGE
TALK = {0.5: 0.045, 0.7: 0.025, 0.9: 0.0135, 1.1: 0.001, 1.3: 0.001}
"""Errors at 20 examples by S₁, read off the talk's Fig. 12; the last two lie near .001."""
SHOWN = 200
"""Training steps that Figure 13.1 shows: later nothing changes."""


def shade(index: int, count: int) -> tuple[float, ...]:
    """The colour of the index-th of `count` values in order, dark for the smallest."""
    return style.GAMMA(index / max(1, count - 1))


def covers(tasks: Mapping[str, Task], runs: Mapping[str, Sequence[StoredRun]]) -> Figure:
    """Theorem 1, condition 1. Top: the pairs (a, b) of patterns that are trained, a square each. Bottom: shares of wrong
    answers on trained and on unseen tasks along training; line: mean over seeds, band: their range."""
    with style.look():
        fig, axes = plt.subplots(2, len(tasks), figsize=(style.WIDTH, 4.4), height_ratios=(1, 1.15), squeeze=False)
        for grid, ax, (name, task) in zip(axes[0], axes[1], tasks.items(), strict=True):
            _pairs(grid, task)
            grid.set_title(name.replace(", ", ",\n"), fontsize=9)
            for what, colour, label, dash in (
                ("seen", SEEN, "trained tasks", "--"),
                ("unseen", UNSEEN, "unseen tasks", "-"),
            ):
                steps, right = history(runs[name], what)
                style.band(ax, steps, 1 - right, 0.18, color=colour, label=label, ls=dash)
            ax.set(ylim=(-0.02, 0.62), xlim=(0, SHOWN), xlabel="training step")
        axes[0, 0].set_ylabel("pattern of label +1")
        axes[1, 0].set_ylabel("share of wrong answers")
        fig.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def _pairs(ax: Axes, task: Task) -> None:
    shown = np.full((task.m1, task.m1), 0.0)
    shown[tuple(task.pairs.T.numpy())] = 1
    np.fill_diagonal(shown, np.nan)
    ax.set_facecolor("#CCCCCC")
    ax.imshow(shown, cmap=style.FILL[style.BLUE], vmin=0, vmax=1.3)
    ax.set_xticks(range(task.m1), [str(i + 1) for i in range(task.m1)])
    ax.set_yticks(range(task.m1), [str(i + 1) for i in range(task.m1)])
    ax.set_xticks(np.arange(0.5, task.m1 - 1), minor=True)
    ax.set_yticks(np.arange(0.5, task.m1 - 1), minor=True)
    ax.grid(which="minor", color="#BBBBBB", lw=0.6)
    ax.tick_params(which="minor", length=0)
    ax.set_xlabel("pattern of label −1")
    style.bare(ax)


def speed(found: Mapping[str, Steps]) -> Figure:
    """Theorem 1, condition 3: steps to a held-out hinge loss of .1 against what is varied. A point a run; a triangle, at its
    limit, one that never gets there. Solid: the power law fitted to the values at which every run gets there. Dashed: theory's
    exponent, through the middle of these points, as it gives no constant; against M₁ with its factor √log M₁."""
    names = {"α": "share α of task examples", "M₁": "relevant patterns M₁", "α l": "task examples α l"}
    with style.look():
        fig, axes = plt.subplots(1, len(found), figsize=(style.WIDTH, 3.0), sharey=True, squeeze=False)
        for ax, (name, s) in zip(axes[0], found.items(), strict=True):
            jitter = np.exp(0.012 * (np.arange(len(s.x)) % 6 - 2.5))
            for mask, marker in ((~s.open, "o"), (s.open, "^")):
                ax.plot((s.x * jitter)[mask], s.steps[mask], marker, color=style.DARK, ms=4.5, alpha=0.6, mew=0)
            _power(ax, s.closed, s.closed.slope[0], color=UNSEEN)
            _power(ax, s.closed, THEORY[name], name == "M₁", color=SEEN, ls=(0, (4, 2)))
            ax.set(xscale="log", yscale="log", xlabel=names[name])
            values = np.unique(s.x)
            ax.set_xticks(values, [f"{v:g}" for v in values])
            ax.minorticks_off()
        axes[0, 0].set_ylabel(f"steps to a held-out loss of {LEVEL:g}")
        low, high = axes[0, 0].get_ylim()
        ticks = [t for t in (10, 20, 30, 50, 100, 150, 200, 300, 600) if low <= t <= high]
        axes[0, 0].set_yticks(ticks, [str(t) for t in ticks])
        looks = ((UNSEEN, "-"), (SEEN, (0, (4, 2))))
        lines = [Line2D([], [], color=colour, ls=dash, lw=1.5) for colour, dash in looks]
        fig.legend(lines, ["fitted where all runs learn", "Theorem 1"], loc="outside lower center", ncols=2)
    return fig


def _power(ax: Axes, s: Steps, exponent: float, root: bool = False, **look: Any) -> None:
    """A power law through the middle of the points, in logarithms; with `root` times √log x."""
    law = lambda x: exponent * np.log(x) + (0.5 * np.log(np.log(x)) if root else 0.0)
    x = np.geomspace(s.x.min(), s.x.max(), 30)
    ax.plot(x, np.exp(law(x) + (np.log(s.steps) - law(s.x)).mean()), lw=1.5, **look)


def gpt_sums(inside: Sequence[Share], sums: Mapping[float, Sequence[Share]], outside: Sequence[Share]) -> Figure:
    """Fig. 12: GPT-2's share of wrong answers against the length of the prompt, for patterns of several S₁; beside them
    in-domain patterns and patterns outside the span. Stars: TALK at the longest prompt."""
    low = 7e-4
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 3.6))
        x = range(len(inside))
        for i, (total, shares) in enumerate(sums.items()):
            log_errors(ax, x, shares, low, f"$S_1$ = {total:g}", color=shade(i, len(sums)))
        log_errors(ax, x, inside, low, "in domain,\nunseen tasks", color=IN_DOMAIN, ls=(0, (4, 2)))
        log_errors(ax, x, outside, low, "outside the span", color=OUTSIDE, ls=(0, (1, 1)))
        for i, total in enumerate(sums):
            look = {"color": shade(i, len(sums)), "mec": style.DARK, "mew": 0.5, "ms": 9, "clip_on": False, "zorder": 6}
            ax.plot(len(inside) - 0.2 + 0.5 * (i % 2), TALK[total], "*", **look)
        ax.set(xlabel="examples in the prompt", ylabel="share of wrong answers")
        ax.set_xticks(range(0, len(inside), 2))
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def within(
    counts: Mapping[str, Mapping[str, float]], errors: Mapping[str, np.ndarray], after: Mapping[str, str], title: str
) -> Figure:
    """GPT-2's share of wrong answers at the smallest S₁, {set of tasks: (R,)}, against each count of its tasks, {axis: {set:
    count}}; sets in `after`, {set: colour}, came when the others had been seen. Small: a seed; bar: the mean."""
    with style.look():
        fig, axes = plt.subplots(1, len(counts), figsize=(style.WIDTH, 3.0), sharey=True)
        for ax, (words, count) in zip(axes, counts.items(), strict=True):
            wide = max(count.values()) / 25
            for name in count:
                each, colour = errors[name], after.get(name, style.GREY)
                ax.plot(np.full(len(each), count[name]), each, "o", color=colour, alpha=0.6, ms=5, mew=0)
                ax.plot([count[name] - wide, count[name] + wide], [each.mean()] * 2, color=colour, lw=2)
            ax.set(yscale="log", xlabel=words)
            ax.yaxis.set_major_formatter("{x:g}")
        axes[0].set(ylabel="share of wrong answers")
        fig.suptitle(title)
    return fig


def layer_sums(sums: Sequence[float], found: Sequence[Along], outside: Along, one: int | None = None) -> Figure:
    """Theorem 2 on the one-layer model at one prompt length: hinge loss and margin zF against S₁; beside them ("none") patterns
    outside the span. Thin: a seed, number `one` of them in colour; thick: their mean. Vertical: the theorem's S₁ = 1. Losses of
    0 stand at the foot of the axis."""
    panels = {"loss": ("mean hinge loss", 1e-5), "margin": ("mean margin zF", None)}
    away = max(sums) + 0.35
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 3.0))
        for ax, (name, (label, low)) in zip(axes.flat, panels.items(), strict=True):
            values, apart = np.array([getattr(a, name)[:, 0] for a in found]).T, getattr(outside, name)[:, 0]
            if low is not None:
                values, apart = values.clip(low), apart.clip(low)
                ax.set(yscale="log", ylim=(low, 2))
            ax.plot(sums, values.T, color=style.DARK, lw=0.5, alpha=0.4)
            if one is not None:
                ax.plot(sums, values[one], color=SEEN, lw=1.4, ls=(0, (3, 1.5)), zorder=4)
            ax.plot(sums, values.mean(0), "o-", color=style.DARK, ms=3.5, clip_on=False)
            ax.plot([away] * len(apart), apart, "o", color=OUTSIDE, ms=4, alpha=0.5, mew=0)
            ax.plot(away, apart.mean(), "D", color=OUTSIDE, ms=5.5)
            ax.axvline(1, color="#888888", lw=0.8, ls="--", zorder=0)
            ax.set_ylabel(label)
        axes[1].axhline(1, color="#BBBBBB", lw=0.8, zorder=0)
        for ax in axes:
            ax.set_xlabel("coefficient sum $S_1$")
            ax.set_xticks([-1, -0.5, 0, 0.5, 1, away], ["−1", "−0.5", "0", "0.5", "1", "none"])
            ax.get_xticklabels()[-1].set_color("#8A5A00")
    return fig


READERS = (
    {"color": style.VERMILLION, "marker": "o", "ls": "-"},
    {"color": style.BLUE, "marker": "s", "ls": "-"},
    {"color": style.GREEN, "marker": "D", "ls": "-"},
)
IDEAL = {"copies a match, else guesses": (0, (1, 1.5)), "uses both labels, else guesses": (0, (5, 1.5, 1, 1.5))}
"""Dashes of the readers that are worked out."""


def examples(readers: Mapping[str, Curve], needs: Mapping[str, Mapping[float, Need]], alpha: float) -> Figure:
    """Left: share of wrong answers in domain against the number of examples at one α', {model: (lengths, means)}. Right, after
    Fig. 13: the examples from which on errors are rare enough, against α', {model and patterns: {α': its seeds and their mean
    curve}}; filled in domain, open elsewhere; a small point a seed. Grey: readers that are worked out."""
    least = 1e-3
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 3.6), width_ratios=(1.25, 1))
        for (label, dash), floor in zip(IDEAL.items(), (no_match_floor, both_labels_floor), strict=True):
            ideal = {"color": style.GREY, "ls": dash, "lw": 1.5, "zorder": 0}
            axes[0].plot(range(21), [floor(alpha, n) for n in range(21)], label=label, **ideal)
            shares = sorted({a for found in needs.values() for a in found})
            axes[1].plot(shares, [crossing(range(21), [floor(a, n) for n in range(21)]) for a in shares], **ideal)
        for (name, (x, errors)), look in zip(readers.items(), READERS, strict=False):
            kept = np.array(errors) >= least
            axes[0].plot(np.array(x)[kept], np.array(errors)[kept], ms=3.5, lw=1.4, label=name, **look)
        axes[0].axhline(ENOUGH, color="#BBBBBB", lw=0.8, zorder=0)
        axes[0].set(yscale="log", ylim=(least, 0.7), xlabel="examples in the prompt", ylabel="share of wrong answers")
        axes[0].set_title(f"in domain, α' = {alpha:g}", fontsize=9)
        axes[0].set_xticks(range(0, 21, 4))
        for i, (name, found) in enumerate(needs.items()):
            look = READERS[0 if name.startswith("one layer") else 1]
            inside, aside = name.endswith("in domain"), 0.005 * (i - (len(needs) - 1) / 2)
            for a, need in found.items():
                seeds = [n for n in need.seeds if n is not None]
                axes[1].plot([a + aside] * len(seeds), seeds, look["marker"], color=look["color"], ms=2.5, alpha=0.4, mew=0)
            means = [(a + aside, need.mean) for a, need in found.items() if need.mean is not None]
            if means:
                style_of = look | {"mfc": look["color"] if inside else "white", "ls": "-" if inside else "--"}
                axes[1].plot(*zip(*means, strict=True), ms=5, lw=1.2, **style_of)
        axes[1].set(xlabel="share α' of task examples", ylabel="examples needed", ylim=(0, None))
        axes[1].set_title(f"for at most {ENOUGH:.0%} wrong", fontsize=9)
        if shares:
            axes[1].set_xticks(shares, [f"{a:g}" for a in shares])
        handles, labels = axes[0].get_legend_handles_labels()
        outside = next((name.split(", ")[1] for name in needs if not name.endswith("in domain")), "")
        if outside:
            handles.append(Line2D([], [], marker="o", ls="--", color=style.DARK, mfc="white", ms=5, lw=1.2))
            labels.append(f"open, right: {outside}")
        fig.legend(handles, labels, loc="outside lower center", ncols=2)
    return fig
