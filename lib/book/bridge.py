"""The bridge: what a smaller initialization changes on every task of the book, side by side.

A row is a task: the share of questions that training did not show and that runs answer by the rule, from a large start and from
a small one, with the difference and its 95 % interval over seeds. (The mix of two corpora asks nothing; there it is the share
by which the loss of one lies below that of the other.) The two starts of a row are fixed by rule and not chosen by what came
out: the paper's pair, by equal gain where the width is another, and for composition the ends of the row as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from lib.composition.diagram import gain, gamma_of_gain, two_layers
from lib.composition.experiments import GRIDS
from lib.composition.phase_diagram.metrics import PAPER_PAIR, near
from lib.composition.trajectories import PLAYED
from lib.core.read import style
from lib.core.read.fact import listed, number_of
from lib.core.read.tables import table
from lib.core.record.store import Store, StoredRun, load
from lib.in_context.experiments import train_specs, wide_specs
from lib.language import arms
from lib.language.addition.metrics import of_arms
from lib.language.experiments import ASKING, CHAIN, GAMMAS, LARGE, SMALL, SQUARE, TURN, Kind
from lib.language.mixture.metrics import gap, of_mix
from lib.language.prontoqa.metrics import of_asking
from lib.language.scan_cogs.metrics import of_cogs, of_scan
from lib.reasoning_bias.experiments import PAPER_GAMMAS, bias_specs


@dataclass(frozen=True)
class Task:
    """`large`, `small`: (R,) shares from the two starts; `starts` says which they are; `what` is counted."""

    name: str
    chapter: str
    what: str
    starts: tuple[str, str]
    large: np.ndarray
    small: np.ndarray
    runs: tuple[StoredRun, ...]

    @property
    def decays_too(self) -> bool:
        """Does the weight decay change with the start?"""
        return len({run.spec.decay for run in self.runs}) > 1

    @property
    def lead(self) -> tuple[float, float, float]:
        """Small less large, and its 95 % interval over seeds (Welch's t)."""
        return arms.difference(self.small, self.large)


def _task(
    name: str,
    chapter: str,
    what: str,
    groups: Sequence[Sequence[StoredRun]],
    metric: str | Callable[[StoredRun], float],
    starts: tuple[str, str] | None = None,
) -> Task:
    value = metric if callable(metric) else lambda run: run.metrics[metric]
    large, small = groups
    names = starts or tuple(f"γ = {listed([f'{g:g}' for g in sorted({run.spec.gamma for run in group})])}" for group in groups)
    shares = [np.array([value(run) for run in group], dtype=float) for group in groups]
    return Task(name, chapter, what, names, *shares, (*large, *small))  # type: ignore[arg-type]


def _pair(runs: Sequence[StoredRun], gammas: Sequence[float]) -> list[list[StoredRun]]:
    """The runs at the stored γ nearest to each of these."""
    return [near(runs, gamma) for gamma in gammas]


def _by_gain(runs: Sequence[StoredRun]) -> list[list[StoredRun]]:
    """At the γ whose gain σ√d is that of the paper's pair at the paper's width."""
    width = runs[0].spec.model.d_model
    return _pair(runs, [gamma_of_gain(gain(g, GRIDS["paper"].d_model), width) for g in PAPER_PAIR])


def _ends(runs: Sequence[StoredRun]) -> list[list[StoredRun]]:
    """At the largest and the smallest stored start."""
    gammas = [run.spec.gamma for run in runs]
    return _pair(runs, (min(gammas), max(gammas)))


def _pre_norm_runs(store: Store, profile: str) -> list[StoredRun]:
    """Those of the first page's figure."""
    return load(PLAYED.specs(profile), store)


def _composed(
    name: str,
    runs_of: Callable[[Store, str], list[StoredRun]],
    choose: Callable[[Sequence[StoredRun]], list[list[StoredRun]]],
    chapter: str = "02-phase-diagram",
) -> Callable[[Store, str], Task]:
    return lambda store, profile: _task(name, chapter, "composes (4, 3)", choose(runs_of(store, profile)), "inferential")


def _anchors(store: Store, profile: str) -> Task:
    runs = load(bias_specs(profile), store)
    ends = PAPER_GAMMAS[0], PAPER_GAMMAS[-1]
    groups = _pair(runs, sorted(ends))
    return _task("a rule among facts", "09-memory-and-reasoning", "held-out pairs of anchors right", groups, "held out")


def _copying(store: Store, profile: str) -> Task:
    groups = [load(specs(profile), store) for specs in (wide_specs, train_specs)]
    starts = ("W_O as 1 / √m", "small W_O")
    return _task("copying from a prompt", "17-one-story", "signs right on unseen tasks", groups, "unseen", starts)


_ARMS = arms.name_of(LARGE), arms.name_of(SMALL)


def _commands(
    name: str, what: str, runs_of: Callable[[Store, str], dict[Kind, list[StoredRun]]], main: str, metric: str, which: int
) -> Callable[[Store, str], Task]:
    """`which` of the sizes of the training set, from the largest down."""

    def make(store: Store, profile: str) -> Task:
        runs = runs_of(store, profile)
        sizes = sorted({size for kind, size, *_ in runs if kind == main})
        size = sizes[max(which, -len(sizes))]
        groups = [runs[(main, size, *arm)] for arm in (LARGE, SMALL)]
        return _task(f"{name}, {size:,} rows", "20-scan-and-cogs", what, groups, metric, _ARMS)

    return make


def _addition(store: Store, profile: str) -> Task:
    runs = of_arms(store, profile)
    groups = [runs[(SQUARE, *arm)] for arm in (LARGE, SMALL)]
    return _task("addition", "19-addition", "sums right in the square", groups, "test", _ARMS)


def _asking(which: Callable[[str], int]) -> Callable[[Store, str], Task]:
    """At the size of the training set that `which` finds for a profile."""

    def make(store: Store, profile: str) -> Task:
        runs, size = of_asking(store, profile), which(profile)
        groups = [runs[(CHAIN, size, *arm)] for arm in (LARGE, SMALL)]
        what = "labels right behind the gold chain"
        return _task(f"PrOntoQA, {size:,} questions", "21-prontoqa", what, groups, "label", _ARMS)

    return make


def _mix(store: Store, profile: str) -> Task:
    """1 − L_PrOntoQA / L_stories at equal progress: ΔL of Yao et al. 2025, Fig. 7A, as a share."""
    runs = of_mix(store, profile)
    groups = [runs[True, gamma] for gamma in (min(GAMMAS), max(GAMMAS))]
    below = [1 - 1 / (1 + gap(group, profile)) for group in groups]
    names = tuple(f"γ = {gamma:g}" for gamma in (min(GAMMAS), max(GAMMAS)))
    what = "by how much the loss of questions is below that of stories"
    large, small = (values[np.isfinite(values)] for values in below)
    return Task("a mix, questions and stories", "22-questions-and-stories", what, names, large, small, (*groups[0], *groups[1]))  # type: ignore[arg-type]


TASKS: tuple[Callable[[Store, str], Task], ...] = (
    _composed("composition, paper's pair by gain", two_layers, _by_gain),
    _composed("composition, ends of γ", two_layers, _ends),
    _composed("composition (pre-norm), paper's pair by gain", _pre_norm_runs, _by_gain, "08-gpt2"),
    _composed("composition (pre-norm), ends of γ", _pre_norm_runs, _ends, "08-gpt2"),
    _anchors,
    _copying,
    *[_commands("SCAN, turn left", "commands right", of_scan, TURN, "test", which) for which in (-2, -1)],
    *[_commands("COGS, 21 cases", "sentences right", of_cogs, "COGS", "gen", which) for which in (-2, -1)],
    _asking(lambda profile: ASKING[profile].middle),
    _asking(lambda profile: max(ASKING[profile].sizes)),
    _addition,
    _mix,
)


def tasks(store: Store, profile: str) -> list[Task]:
    """Every task, in the order of the book. Raises LookupError where runs are missing."""
    return [make(store, profile) for make in TASKS]


def draw(found: Sequence[Task], narrow: bool = False) -> Figure:
    """A row a task: runs (small dots) and means (large ones) from the large start (grey) and the small one (orange); on the
    right, or below where it is `narrow`, the difference with its interval."""
    with style.look():
        height = 0.5 + 0.42 * len(found)
        if narrow:
            fig, (left, right) = plt.subplots(2, 1, figsize=(style.NARROW, 1.8 * height), sharey=True)
        else:
            fig, (left, right) = plt.subplots(1, 2, figsize=(style.WIDTH, height), sharey=True, width_ratios=(3, 2))
        for row, task in enumerate(found):
            means = task.large.mean(), task.small.mean()
            left.annotate(
                "", (means[1], row), (means[0], row), arrowprops={"arrowstyle": "-", "color": style.LIGHT, "lw": 3}, zorder=1
            )
            for values, colour, shift in ((task.large, style.GREY, -0.17), (task.small, style.VERMILLION, 0.17)):
                left.plot(values, np.full(len(values), row + shift), "o", ms=3, color=colour, alpha=0.6, clip_on=False)
                left.plot(values.mean(), row, "o", ms=8, color=colour, mec="white", clip_on=False)
            gap, low, high = task.lead
            right.plot([low, high], [row, row], color=style.DARK, lw=1.6)
            right.plot(gap, row, "D", ms=5, color=style.DARK)
        left.set_yticks(range(len(found)), [task.name for task in found])
        left.invert_yaxis()
        left.set(xlim=(-0.02, 1.02), xlabel="share answered by the rule")
        right.axvline(0, color=style.GREY, lw=0.8)
        right.set(xlabel="difference, small start less large")
        right.tick_params(left=False)
        for colour, label in ((style.GREY, "large start"), (style.VERMILLION, "small start")):
            left.plot([], [], "o", ms=7, color=colour, label=label)
        fig.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


def kinds(found: Sequence[Task]) -> int:
    """How many different tasks there are; some are compared in several settings."""
    return len({re.split(r",| \(", task.name)[0] for task in found})


def sentence(found: Sequence[Task]) -> str:
    """In how many rows the small start is ahead, behind, or neither."""
    leads = {task.name: task.lead for task in found}
    ahead = [name for name, (_, low, _) in leads.items() if low > 0]
    behind = [name for name, (*_, high) in leads.items() if high < 0]
    open_ = [name for name in leads if name not in ahead and name not in behind]
    named = lambda names: f" ({'; '.join(names)})" if names else ""
    decayed = [task for task in found if task.decays_too]
    return (
        f"On {number_of(kinds(found), 'task')} in {number_of(len(leads), 'setting')} the smaller start is ahead in "
        f"{len(ahead)}{named(ahead)}, behind in {len(behind) or 'none'}{named(behind)}; in the other {len(open_)} its 95% "
        "interval over seeds holds zero."
        + (f" In {len(decayed)} of the settings weight decay changes with the start, as in the paper." if decayed else "")
    )


def rows(found: Sequence[Task]) -> str:
    """The numbers of the figure as a table."""
    head = ("task", "counted", "large start", "small start", "runs", "share, large", "share, small", "difference [95 %]")
    return table(
        head,
        [
            (
                f"[{t.name}]({t.chapter})",
                t.what,
                *t.starts,
                f"{len(t.large)}, {len(t.small)}",
                f"{t.large.mean():.2f}",
                f"{t.small.mean():.2f}",
                "{:+.2f} [{:+.2f}, {:+.2f}]".format(*t.lead),
            )
            for t in found
        ],
    )
