"""The figures of PrOntoQA: steps and accuracy by size, curves, three readings of an answer, and the hard variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.core.read import style
from lib.language.arms import FITTED, learned_mean
from lib.language.drawing import ARMS

READINGS = ((style.DARK, "o", "-"), (style.VERMILLION, "s", "-"), (style.BLUE, "v", "--"))
"""Colour, mark and dash of the readings of an answer."""
BEST_READER = "best simple reader"
CHANCE = 0.5


def _by_size(ax: Axes, sizes: Sequence[int]) -> None:
    """Sizes along a logarithmic axis, each with its number."""
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    ax.set(xlim=(sizes[0] / 1.7, sizes[-1] * 1.7), xlabel="questions of training")


def _share(ax: Axes, half: bool = True) -> None:
    """Shares up, with a line at chance where that is one half."""
    if half:
        ax.axhline(CHANCE, color=style.GREY, lw=0.9, ls=":", zorder=0)
    ax.set_ylim(-0.03, 1.04)


def _apart(count: int, step: float) -> np.ndarray:
    """Factors that set things at one place of a logarithmic axis apart."""
    return np.exp(step * (np.arange(count) - (count - 1) / 2))


def over_sizes(
    sizes: Sequence[int], steps: Mapping[str, np.ndarray], right: Mapping[str, np.ndarray], limits: Sequence[int]
) -> Figure:
    """Left: steps until labels are learned, (S, R), NaN for never, above the `limits` of the sizes (S,). Right: shares of right
    labels, (S, R). A mark a run, open where it never learns them, a line through the means of the runs that do; {arm: values},
    the large start first."""
    ends, top = np.array(limits, float), max(limits)
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 3.2))
        for ax, values in zip(axes, (steps, right), strict=True):
            for (name, found), (colour, mark), aside in zip(values.items(), ARMS, _apart(len(values), 0.14), strict=False):
                x = np.array(sizes) * aside
                ax.plot(x, learned_mean(found, np.isfinite(steps[name])), "-", color=colour, lw=1.5, label=name)
                for run, fit, shift in zip(found.T, steps[name].T, _apart(found.shape[1], 0.07), strict=True):
                    never = np.isnan(fit)
                    shown = np.where(np.isnan(run), ends + 0.07 * top, run)
                    ax.plot(x[~never] * shift, shown[~never], mark, ms=4.5, mec=colour, mfc=colour, alpha=0.75)
                    ax.plot(x[never] * shift, shown[never], mark, ms=4.5, mec=colour, mfc="white")
            _by_size(ax, sizes)
        at = np.array(sizes)
        axes[0].hlines(ends + 0.02 * top, at / 1.6, at * 1.6, color=style.GREY, lw=0.9, ls="--", zorder=0)
        axes[0].set_ylim(0, 1.14 * top)
        axes[0].yaxis.set_major_formatter(lambda tick, _: f"{tick:,.0f}")
        axes[0].plot([], [], "o", ms=4.5, mec=style.DARK, mfc="white", label="not learned when its steps end")
        axes[0].set(ylabel="steps", title=f"Until {FITTED:.0%} of own labels are right")
        _share(axes[1])
        axes[1].set(ylabel="share of right labels", title="New questions, gold chain given")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def along(
    panels: Mapping[str, Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]]],
    learned: Mapping[str, np.ndarray],
    halves: Sequence[str],
) -> Figure:
    """Shares along training, a column a size, a row a metric, a thin line a run, dotted if it never learns, thick the mean of
    the others; chance is one half for the metrics in `halves`. panels: {size: {arm: {metric: (steps (n,), shares (R, n))}}},
    the large start first, the same metrics everywhere; learned: {arm: (S, R)}."""
    metrics = list(next(iter(next(iter(panels.values())).values())))
    with style.look():
        fig, axes = plt.subplots(
            len(metrics), len(panels), figsize=(style.WIDTH, 0.9 + 1.45 * len(metrics)), sharex=True, sharey=True, squeeze=False
        )
        for place, (column, (title, arms)) in enumerate(zip(axes.T, panels.items(), strict=True)):
            for ax, metric in zip(column, metrics, strict=True):
                for (name, curves), (colour, _) in zip(arms.items(), ARMS, strict=False):
                    steps, values = curves[metric]
                    there = learned[name][place]
                    for run, has in zip(values, there, strict=True):
                        ax.plot(steps, run, "-" if has else ":", color=colour, lw=0.6 if has else 1.2, alpha=0.6)
                    ax.plot(steps, learned_mean(values.T, there), color=colour, lw=1.6, label=name)
                _share(ax, metric in halves)
            column[0].set_title(title, fontsize=9)
            column[-1].set_xlabel("step")
            column[-1].xaxis.set_major_formatter("{x:,.0f}")
        for ax, metric in zip(axes[:, 0], metrics, strict=True):
            ax.set_ylabel(metric)
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def readings(sizes: Sequence[int], panels: Mapping[str, Mapping[str, np.ndarray]], learned: Mapping[str, np.ndarray]) -> Figure:
    """Shares by size, a panel an arm, a line a reading, (S, R). learned: {arm: (S, R)}; runs that have not are open, and not in
    the means."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 3.3), sharey=True)
        for ax, (title, lines) in zip(axes, panels.items(), strict=True):
            for (name, found), (colour, mark, dash), aside in zip(
                lines.items(), READINGS, _apart(len(lines), 0.12), strict=False
            ):
                x = np.array(sizes) * aside
                there, at = learned[title], np.broadcast_to(x[:, None], found.shape)
                ax.plot(x, learned_mean(found, there), dash, color=colour, lw=1.4)
                for some, face in ((there, colour), (~there, "white")):
                    ax.plot(at[some], found[some], mark, ms=4, mec=colour, mfc=face, alpha=0.7, mew=0.8)
                ax.plot([], [], dash, marker=mark, ms=4, color=colour, lw=1.4, label=name)
            _by_size(ax, sizes)
            _share(ax)
            ax.set_title(title, fontsize=9)
        axes[0].set_ylabel("share of test questions")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def variants(
    panels: Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]], readers: Mapping[str, Mapping[str, float]]
) -> Figure:
    """Shares of right answers, a panel a variant, a mark a run, open if it has not learned, a bar at the mean of the others,
    arm by arm, the large start first; a line: the best of the readers that do not reason, where there are such. panels:
    {variant: {arm: (shares (R,), has a run learned? (R,))}}; readers: {variant: {reader: share}}."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 3.3), sharey=True)
        for ax, (title, arms) in zip(axes, panels.items(), strict=True):
            if title in readers:
                ax.axhline(max(readers[title].values()), color=style.VERMILLION, lw=1.5, ls="--", label=BEST_READER, zorder=1)
            for place, ((values, learned), (colour, mark)) in enumerate(zip(arms.values(), ARMS, strict=False)):
                x = place + 0.09 * (np.arange(len(values)) - (len(values) - 1) / 2)
                for some, face in ((learned, colour), (~learned, "white")):
                    ax.plot(x[some], values[some], mark, ms=6, mec=colour, mfc=face, alpha=0.85, mew=0.8)
                ax.plot([place - 0.2, place + 0.2], [learned_mean(values, learned)] * 2, color=colour, lw=1.5)
            ax.set_xticks(range(len(arms)), list(arms))
            ax.set_xlim(-0.6, len(arms) - 0.4)
            _share(ax, title in readers)
            ax.set_title(title, fontsize=9)
        axes[0].set_ylabel("share of new questions")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center")
    return fig
