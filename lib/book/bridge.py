"""The bridge: what a smaller initialization changes on every task of the book, side by side.

A row is a task, and the question that it asks in a few words: the share of questions that training did not show and that runs
answer by the rule, from a large start and from a small one, with the difference and its 95 % interval over seeds, paired where
the two have the same. A task that is compared in several settings has a line for each, so that none is picked. Starts are
fixed by rule and not chosen by what came out: the paper's pair, by equal gain where the width is another, and for composition
the ends of the row as well. Runs that have not learned what they were trained on are open, and not in the means.

What cannot be compared is not on one axis: tasks of two answers, where half is right by chance, have their own. The mix of two
corpora asks nothing: it is in the table alone. So are trials, of one seed each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.composition.diagram import gain, gamma_of_gain, two_layers
from lib.composition.experiments import GRIDS
from lib.composition.flip import confirmed_runs
from lib.composition.phase_diagram.metrics import PAPER_PAIR, near
from lib.composition.runs import learned
from lib.composition.trajectories import PLAYED
from lib.core.read import style
from lib.core.read.fact import listed, number_of
from lib.core.read.tables import table
from lib.core.record.store import Store, StoredRun, load
from lib.in_context.experiments import train_specs, wide_specs
from lib.language import arms
from lib.language.addition import metrics as addition
from lib.language.experiments import AS_BEFORE, ASKING, CHAIN, GAMMAS, HIGH_RATE, LARGE, SHUFFLED, SMALL, SQUARE, TURN, Kind
from lib.language.mixture.metrics import gap, of_mix
from lib.language.prontoqa import metrics as prontoqa
from lib.language.scan_cogs.metrics import of_cogs, of_cogs_decays, of_decays, of_longer_cogs, of_scan
from lib.reasoning_bias.experiments import PAPER_GAMMAS, bias_specs
from lib.reasoning_bias.memory_and_reasoning import metrics as anchors

Runs = Sequence[StoredRun]


@dataclass(frozen=True)
class Setting:
    """`large`, `small`: (R,) shares from the two starts, `learned` which runs of each count; `starts` says which they are;
    `name` tells it from other settings of its task."""

    name: str
    starts: tuple[str, str]
    large: np.ndarray
    small: np.ndarray
    learned: tuple[np.ndarray, np.ndarray]
    groups: tuple[Runs, Runs]

    @property
    def runs(self) -> tuple[StoredRun, ...]:
        return (*self.groups[0], *self.groups[1])

    @property
    def decays_too(self) -> bool:
        """Does the weight decay change with the start?"""
        return len({run.spec.decay for run in self.runs}) > 1

    @property
    def means(self) -> tuple[float, float]:
        """Of the runs that count, from the large start and from the small one."""
        large, small = (arms.learned_mean(v, there) for v, there in zip((self.large, self.small), self.learned, strict=True))
        return float(large), float(small)

    @property
    def comparable(self) -> bool:
        """Do two runs of either start count?"""
        return all(there.sum() > 1 for there in self.learned)

    @property
    def lead(self) -> arms.Interval:
        """Small less large, of the runs that count, and its 95 % interval over seeds, where they are comparable."""
        large, small = self.learned
        seeds = [
            [run.spec.seed for run, counts in zip(group, there, strict=True) if counts]
            for group, there in zip(self.groups, self.learned, strict=True)
        ]
        return arms.paired(self.small[small], self.large[large], (seeds[1], seeds[0]))


@dataclass(frozen=True)
class Task:
    """A row: the `question` in a few words, `what` is counted, and one `settings` or more. `two_valued`: by chance half of its
    answers are right; `drawn`: is it a share that the picture can show?"""

    name: str
    question: str
    chapter: str
    what: str
    settings: tuple[Setting, ...]
    two_valued: bool = False
    drawn: bool = True

    @property
    def runs(self) -> tuple[StoredRun, ...]:
        return tuple(run for setting in self.settings for run in setting.runs)


def setting(
    name: str,
    groups: Sequence[Runs],
    metric: str | Callable[[StoredRun], float],
    starts: tuple[str, str] | None = None,
    learned: Callable[[Runs], np.ndarray] = lambda runs: np.ones(len(runs), bool),
) -> Setting:
    value = metric if callable(metric) else lambda run: run.metrics[metric]
    of = lambda group: f"γ = {listed([f'{g:g}' for g in sorted({run.spec.gamma for run in group})])}"
    large, small = groups
    shares = lambda group: np.array([value(run) for run in group], dtype=float)
    there = learned(large), learned(small)
    return Setting(name, starts or (of(large), of(small)), shares(large), shares(small), there, (large, small))


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


def _composing(runs: Runs) -> np.ndarray:
    """(R,) has a run learned what it was taught?"""
    return np.array([learned(run) for run in runs])


def _post_norm_runs(store: Store, profile: str) -> list[StoredRun]:
    """The new seeds, where there are such."""
    return confirmed_runs(store, profile) or two_layers(store, profile)


def _pre_norm_runs(store: Store, profile: str) -> list[StoredRun]:
    """Those of the first page's figure."""
    return load(PLAYED.specs(profile), store)


def _composed(name: str, runs_of: Callable[[Store, str], list[StoredRun]], chapter: str) -> Callable[[Store, str], Task]:
    def make(store: Store, profile: str) -> Task:
        runs = runs_of(store, profile)
        chosen = (("pair, by gain", _by_gain), ("ends of γ", _ends))
        settings = [setting(said, choose(runs), "inferential", learned=_composing) for said, choose in chosen]
        return Task(f"composition, {name}", "are functions composed?", chapter, "composes (4, 3)", tuple(settings))

    return make


def _anchors(store: Store, profile: str) -> Task:
    runs = load(bias_specs(profile), store)
    one = setting("", _pair(runs, sorted((PAPER_GAMMAS[0], PAPER_GAMMAS[-1]))), "held out", learned=anchors.learned)
    what = "held-out pairs of anchors right"
    return Task("anchors", "is a rule found?", "09-memory-and-reasoning", what, (one,))


def _copying(store: Store, profile: str) -> Task:
    groups = [load(specs(profile), store) for specs in (wide_specs, train_specs)]
    one = setting("", groups, "unseen", ("W_O as 1 / √m", "small W_O"))
    return Task("prompts", "is the label copied?", "17-one-story", "signs right on unseen tasks", (one,), two_valued=True)


_ARMS = arms.name_of(LARGE), arms.name_of(SMALL)


def _sized(
    runs: Mapping[Kind, Runs], main: str, metric: str, sizes: Sequence[int], of: str, learned: Callable[[Runs], np.ndarray]
) -> tuple[Setting, ...]:
    """The paper's two arms at each of these sizes of the training set; `of` stands right behind the size in a name."""
    pair = lambda size: [runs[(main, size, *arm)] for arm in (LARGE, SMALL)]
    return tuple(setting(f"{size:,}{of}", pair(size), metric, _ARMS, learned) for size in sizes)


_RunsOf = Callable[[Store, str], Mapping[Kind, Runs]]


def _decays(runs: Mapping[Kind, Runs], metric: str) -> tuple[Setting, ...]:
    """With each decay that both starts have."""
    of = {kind[2:]: group for kind, group in runs.items()}
    pair = lambda decay: [of[gamma, decay] for gamma in (LARGE[0], SMALL[0])]
    decays = sorted({decay for _, decay in of})
    return tuple(setting(f"decay {decay:g}, both", pair(decay), metric, learned=arms.fitted) for decay in decays)


def _commands(
    name: str,
    question: str,
    what: str,
    main: str,
    metric: str,
    runs_of: _RunsOf,
    decays_of: _RunsOf,
    longer_of: _RunsOf = lambda *_: {},
) -> Callable[[Store, str], Task]:
    """At the two largest sizes of the training set; the longer runs and those with more decay, where there are such."""

    def make(store: Store, profile: str) -> Task:
        runs, longer = runs_of(store, profile), longer_of(store, profile)
        sizes = arms.sizes(runs, main, *SMALL)[-2:]
        settings = _sized(runs, main, metric, sizes, " rows", arms.fitted)
        if longer:
            settings += _sized(longer, main, metric, sizes[-1:], ", longer", arms.fitted)
        settings += _decays(decays_of(store, profile), metric)
        return Task(name, question, "20-scan-and-cogs", what, settings)

    return make


def _addition(store: Store, profile: str) -> Task:
    runs = addition.of_arms(store, profile)
    pairs: dict[str, list[Runs]] = {"post-norm": [runs[SQUARE, *arm] for arm in (LARGE, SMALL)]}
    if gpt2 := addition.in_gpt2_form(store, profile):
        pairs["GPT-2’s form"] = addition.of_papers(gpt2)
    if high := addition.at_high_rate(store, profile):
        pairs[f"post-norm, rate {HIGH_RATE:g}"] = addition.of_papers(high)
    rates = addition.at_rates(store, profile)
    for rate in sorted({rate for rate, *_ in rates}):
        pairs[f"GPT-2’s form, rate {rate:g}"] = [rates[rate, *arm] for arm in (LARGE, SMALL)]
    settings = [setting(form, pair, "test", _ARMS, arms.fitted) for form, pair in pairs.items()]
    return Task("addition", "are unseen sums right?", "19-addition", "sums right in the square", tuple(settings))


def _asking(store: Store, profile: str) -> Task:
    """At the size at which all arms were trained, and at the largest; and on new seeds, with as many steps and with more."""
    runs, even = prontoqa.of_asking(store, profile), prontoqa.of_even(store, profile)
    ends = lambda groups: sorted({ASKING[profile].middle, arms.largest(groups, CHAIN)})
    settings = _sized(runs, CHAIN, "label", ends(runs), " questions", prontoqa.learned)
    if even:
        settings += _sized(even, AS_BEFORE, "label", [ASKING[profile].middle], ", new seeds", prontoqa.learned)
        settings += _sized(even, CHAIN, "label", ends(even), ", longer", prontoqa.learned)
    what = "labels right behind the gold chain"
    return Task("PrOntoQA", "true or false?", "21-prontoqa", what, settings, two_valued=True)


def _following(store: Store, profile: str) -> Task:
    """Beside a twin of the chain, on questions that only who joins rules answers."""
    pair = list(prontoqa.paper_arms(prontoqa.of_twins(store, profile), SHUFFLED).values())
    right = lambda run: float(prontoqa.joined([run])[0])
    one = setting("", pair, right, _ARMS, prontoqa.learned)
    what = f"labels right behind an own chain of {prontoqa.JOINED} rules"
    return Task("PrOntoQA, twin", "which chain is followed?", "21-prontoqa", what, (one,), two_valued=True)


def _mix(store: Store, profile: str) -> Task:
    """1 − L_PrOntoQA / L_stories at equal progress: ΔL of Yao et al. 2025, Fig. 7A, as a share."""
    runs = of_mix(store, profile)
    groups = [runs[True, gamma] for gamma in (min(GAMMAS), max(GAMMAS))]
    below = lambda run: 1 - 1 / (1 + float(gap([run], profile)[0]))
    there = lambda group: np.isfinite(gap(group, profile))
    what = "by how much the loss of questions is below that of stories"
    one = setting("", groups, below, learned=there)
    return Task("a mix", "do questions lead?", "22-questions-and-stories", what, (one,), drawn=False)


TASKS: tuple[Callable[[Store, str], Task], ...] = (
    _composed("post-norm", _post_norm_runs, "02-phase-diagram"),
    _composed("pre-norm", _pre_norm_runs, "08-gpt2"),
    _anchors,
    _copying,
    _commands("SCAN", "is “turn left” composed?", "commands right", TURN, "test", of_scan, of_decays),
    _commands(
        "COGS", "words in new roles?", "sentences right in 21 cases", "COGS", "gen", of_cogs, of_cogs_decays, of_longer_cogs
    ),
    _asking,
    _following,
    _addition,
    _mix,
)


def tasks(store: Store, profile: str) -> list[Task]:
    """Every task, in the order of the book. Raises LookupError where runs are missing."""
    return [make(store, profile) for make in TASKS]


def trials(store: Store, profile: str) -> list[Task]:
    """The trials of addition, a setting a form and learning rate, and of PrOntoQA, a setting a size. Raises LookupError where
    runs are missing."""
    added = [
        setting(f"{form}{'’s form' * (form == 'GPT-2')}, learning rate {rate:g}", pair, "test", _ARMS, arms.fitted)
        for (form, rate), *pair in addition.both_arms([addition.trials(store, profile)])
    ]
    tried = prontoqa.of_trials(store, profile)
    asked = _sized(tried, CHAIN, "label", arms.sizes(tried, CHAIN, *SMALL), " questions", prontoqa.learned)
    return [
        Task("addition, trial", "are unseen sums right?", "19-addition", "sums right in the square", tuple(added)),
        Task("PrOntoQA, trial", "true or false?", "21-prontoqa", "labels right behind the gold chain", asked, two_valued=True),
    ]


_LOOKS = {"large start": (style.GREY, -0.17), "small start": (style.PURPLE, 0.17)}
"""Colour and shift."""


def draw(found: Sequence[Task], narrow: bool = False) -> Figure:
    """A row a task, a line a setting: runs (small dots, open if they do not count) and means (large ones) from the large start
    (grey) and the small one (purple, since orange is composing); on the right, or below where it is `narrow`, the difference
    with its interval. Tasks of two answers stand below, on an axis of their own."""
    blocks = [block for two in (False, True) if (block := [t for t in found if t.drawn and t.two_valued == two])]
    heights = [0.75 + 0.26 * len(block) + 0.3 * sum(len(t.settings) for t in block) for block in blocks]
    with style.look():
        if narrow:
            shape = {"nrows": 2 * len(blocks), "ncols": 1, "height_ratios": [h for h in heights for _ in (0, 1)]}
            fig, axes = plt.subplots(**shape, figsize=(style.NARROW, 2 * sum(heights) + 0.6), squeeze=False)
            pairs = list(zip(axes[::2, 0], axes[1::2, 0], strict=True))
        else:
            shape = {"nrows": len(blocks), "ncols": 2, "height_ratios": heights, "width_ratios": (3, 2)}
            fig, axes = plt.subplots(**shape, figsize=(style.WIDTH, sum(heights) + 0.4), squeeze=False)
            pairs = [(left, right) for left, right in axes]
        for block, (left, right) in zip(blocks, pairs, strict=True):
            _block(left, right, block, narrow)
        for label, (colour, _) in _LOOKS.items():
            pairs[0][0].plot([], [], "o", ms=7, color=colour, label=label)
        fig.legend(*pairs[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


def _block(left: Axes, right: Axes, block: Sequence[Task], narrow: bool) -> None:
    """Tasks on one axis of shares and one of differences."""
    at, middles = 0.0, []
    for task in block:
        middles.append(at + (len(task.settings) - 1) / 2)
        for one in task.settings:
            large, small = one.means
            left.plot([large, small], [at, at], color=style.LIGHT, lw=3, zorder=1)
            for values, there, mean, (colour, shift) in zip(
                (one.large, one.small), one.learned, one.means, _LOOKS.values(), strict=True
            ):
                for value, counts in zip(values, there, strict=True):
                    face = colour if counts else "white"
                    left.plot(value, at + shift, "o", ms=3, mec=colour, mfc=face, alpha=0.6, clip_on=False)
                left.plot(mean, at, "o", ms=8, color=colour, mec="white", clip_on=False)
            if one.comparable:
                gap, low, high = one.lead
                right.plot([low, high], [at, at], color=style.DARK, lw=1.6)
                right.plot(gap, at, "D", ms=5, color=style.DARK)
            for ax in ((left, right) if narrow else (right,)) if one.name else ():
                ax.text(
                    1.08 if narrow else 1.02,
                    at,
                    one.name,
                    transform=ax.get_yaxis_transform(),
                    va="center",
                    fontsize=8,
                    color=style.DARK,
                )
            at += 1
        at += 0.5
    for ax in (left, right) if narrow else (left,):
        ax.set_yticks(middles, [f"{task.name}:\n{task.question}" for task in block])
    for ax in (left, right):
        ax.set_ylim(at - 0.5, -1)
    if not narrow:
        right.set_yticks([])
    if block[0].two_valued:
        left.axvline(0.5, color=style.GREY, lw=0.8, ls=":")
        left.set(xlim=(0.38, 1.02), xlabel="share right of two answers")
    else:
        left.set(xlim=(-0.02, 1.02), xlabel="share answered by the rule")
    right.axvline(0, color=style.GREY, lw=0.8)
    right.set(xlabel="small start less large")
    right.tick_params(left=False)


def compared(found: Sequence[Task]) -> list[tuple[Task, Setting]]:
    """The settings that the picture shows with a difference."""
    return [(task, one) for task in found if task.drawn for one in task.settings if one.comparable]


def sentence(found: Sequence[Task]) -> str:
    """In how many settings the small start is ahead, behind, or neither."""
    leads = {", ".join(filter(None, (task.name, one.name))): one.lead for task, one in compared(found)}
    ahead = [name for name, (_, low, _) in leads.items() if low > 0]
    behind = [name for name, (*_, high) in leads.items() if high < 0]
    open_ = [name for name in leads if name not in ahead and name not in behind]
    named = lambda names: f" ({'; '.join(names)})" if names else ""
    decayed = sum(one.decays_too for _, one in compared(found))
    count = sum(any(one.comparable for one in task.settings) for task in found if task.drawn)
    unlearned = [task.name for task in found if task.drawn and not all(one.comparable for one in task.settings)]
    return (
        f"In {number_of(count, 'row')} with {number_of(len(leads), 'setting')} the smaller start is ahead in "
        f"{len(ahead)}{named(ahead)}, behind in {len(behind) or 'none'}{named(behind)}; in the other {len(open_)} its 95% "
        "interval over seeds holds zero."
        + (
            f" Not compared, since of a start fewer than two runs learned their training: {'; '.join(unlearned)}."
            if unlearned
            else ""
        )
        + (f" In {decayed} of the settings weight decay changes with the start, as in the paper." if decayed else "")
    )


def trial_sentence(tried: Sequence[Task]) -> str:
    """What the picture leaves out: how many trials there are, and the one that is furthest the other way."""
    return "Not in it are trials, one seed each. " + " ".join(map(_of_trials, tried))


def _of_trials(task: Task) -> str:
    behind = [one for one in task.settings if one.small.mean() < one.large.mean()]
    said = f"In {len(task.settings)} of {task.name.split(',')[0]} the small start is behind in"
    if not behind:
        return f"{said} none."
    worst = min(behind, key=lambda one: one.small.mean() - one.large.mean())
    unlearned = [there for there in worst.learned if not there.all()]
    note = "; one of the two has not learned its training" if len(unlearned) == 1 else "; neither has" if unlearned else ""
    return (
        f"{said} {len(behind)}, the most with {worst.name}: {worst.small.mean():.1%} against {worst.large.mean():.1%} of "
        f"{task.what}{note}."
    )


HEAD = ("task", "setting", "counted", "large start", "small start", "runs", "share, large", "share, small", "difference [95 %]")


def rows(found: Sequence[Task], tried: Sequence[Task] = ()) -> str:
    """The numbers of the figure as a table, with what it leaves out. Means of the runs that count, or of all if none does."""
    every = [(task, one) for task in (*found, *tried) for one in task.settings]
    return table(HEAD, [_row(task, one) for task, one in every])


def _row(task: Task, one: Setting) -> tuple[str, ...]:
    counts = [f"{int(there.sum())} of {len(there)}" if not there.all() else f"{len(there)}" for there in one.learned]
    means = [
        f"{mean:.2f}" if there.any() else f"{values.mean():.2f}, not learned"
        for mean, there, values in zip(one.means, one.learned, (one.large, one.small), strict=True)
    ]
    lead = "{:+.2f} [{:+.2f}, {:+.2f}]".format(*one.lead) if one.comparable else "–"
    return f"[{task.name}]({task.chapter})", one.name or "–", task.what, *one.starts, ", ".join(counts), *means, lead
