"""What chapter 13 asks of its runs: which tasks, how many steps and examples, which new patterns; and what its dials show."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch

from lib.core.read.disk_cache import disk_cached
from lib.core.read.fact import Fact, in_words, span
from lib.core.read.measures import falls_to
from lib.core.read.statistics import Trend, log_slope, spearman, two_sided
from lib.core.record.spec import SpecError, check_number
from lib.core.record.store import Store, StoredRun, load
from lib.in_context.experiments import (
    ALIKE,
    ALPHA,
    APART,
    COVERS,
    CROSSED,
    DRAWN,
    EVEN,
    GPT,
    LENGTH,
    TURNED,
    cover_specs,
    floor_specs,
    gpt_specs,
    speed_specs,
)
from lib.in_context.runs import N_FRESH, Share, ask, fresh, snapshots, steps_to, task_of, trained
from lib.in_context.study import ALPHAS, N_TEST, SUMS, error_rows
from lib.in_context.task import Prompts, Task, no_match_floor

SPAN = "outside the span"
SETS = (GPT, TURNED, *DRAWN)
"""The sets of training tasks of which the order of errors was first seen."""
LOW_SUM = 0.5
"""The smallest S₁, at which that order was seen."""
CYCLE, CONTROL = list(COVERS)[1:]
ENOUGH = 0.1
"""The share of errors at which a prompt has examples enough. The talk's own curves for α' = .8 and .9 never reach .02."""
SMALL_LOSS = 0.01
"""The hinge loss of who generalizes."""
RARE = 0.01
"""The share of errors that GPT-2 is below, as in the talk's figure, where S₁ ≥ 1."""
UNREACHED = ((0.2, LENGTH), (ALPHA, 5))
"""(α, l) of the trainings of which no run gets to the level: of their prompts, many hold no example of the query's pattern."""
THEORY = {"α": -2 / 3, "M₁": 1.0, "α l": 0.0}
"""The exponents of the steps in Theorem 1 as slides on the paper have it, T = Θ(M₁ α^−2/3 β^−2/3 √log M₁ / η): l is not in it.
The talk's own slide leaves M₁, β and η out. The factor √log M₁ is not in these exponents: see `theorem_m1`."""
CURVE_LENGTHS = (*range(1, 11), 12, 14, 16, 18, 20)
"""The prompt lengths of the one-layer model's curves."""
CURVE_COUNT = 2000
"""Prompts a run for each of these curves."""
SHOWN_SUMS = (-1.4, -1.0, -0.6, -0.2, 0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4)
"""The S₁ of the one-layer model at one prompt length."""
DIAL_SHARES = (0.4, 0.6, 0.8, 1.0)
DIAL_LENGTHS = (1, 2, 4, 6, 8, 10, 14, 20)
DIAL_COUNT = 1000
"""Prompts a run and point of the one-layer model."""
DIAL_START = {"alpha": 0.8, "sum": 1.1, "length": 10}


def gpt_runs(store: Store, profile: str, variant: str = GPT) -> list[StoredRun]:
    return load(gpt_specs(profile)[variant], store)


def floor_runs(store: Store, profile: str) -> list[StoredRun]:
    """GPT-2 on other seeds and more prompts, of its own tasks alone."""
    return load(floor_specs(profile), store)


def gpt_variants(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    """{variant: runs}"""
    return {name: gpt_runs(store, profile, name) for name in gpt_specs(profile)}


def cover_runs(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    return {name: load(specs, store) for name, specs in cover_specs(profile).items()}


def speed_runs(store: Store, profile: str, what: str) -> dict[float, list[StoredRun]]:
    return {value: load(specs, store) for value, specs in speed_specs(profile)[what].items()}


def check(alpha: float, total: float) -> None:
    """Raises SpecError unless α' is a share above 0 and S₁ one that patterns of unit norm can have."""
    if check_number("alpha", alpha, low=0) == 0:
        raise SpecError("alpha must be above 0: without an example of the task there is nothing to learn from a prompt.")
    Task(alpha=alpha, sum=check_number("sum", total))


# --- Which tasks, and how many steps ---


def errors_of(runs: Sequence[StoredRun], name: str) -> np.ndarray:
    """(R,) shares of wrong answers at the end of training, of "seen" or "unseen" tasks."""
    return 1 - np.array([run.metrics[name] for run in runs], dtype=float)


@dataclass(frozen=True)
class Steps:
    """Steps to the level, a run each: x (n,) is what is varied, and where `open` (n,) the run never got there, and its step
    limit stands for them."""

    x: np.ndarray
    steps: np.ndarray
    open: np.ndarray

    @property
    def slope(self) -> tuple[float, float, float]:
        """The exponent and its 95 % interval; step limits count as they are."""
        return log_slope(self.x, self.steps)

    @property
    def closed(self) -> Steps:
        """Only the values at which every run gets there; all, where that leaves fewer than two."""
        kept = ~np.isin(self.x, self.x[self.open])
        return self._of(kept) if len(set(self.x[kept])) > 1 else self

    def above(self, value: float) -> Steps:
        """Only the larger values."""
        return self._of(self.x > value)

    def _of(self, kept: np.ndarray) -> Steps:
        return Steps(self.x[kept], self.steps[kept], self.open[kept])


def steps(groups: Mapping[float, Sequence[StoredRun]]) -> Steps:
    """Steps until the held-out hinge loss is at most runs.LEVEL."""
    found = [(value, steps_to(run), run.steps) for value, runs in groups.items() for run in runs]
    x, reached, limit = zip(*found, strict=True)
    taken = [last if step is None else step for step, last in zip(reached, limit, strict=True)]
    return Steps(np.array(x, float), np.array(taken, float), np.array([step is None for step in reached]))


def without_match(runs: Sequence[StoredRun], alpha: float, length: int, count: int = N_FRESH) -> np.ndarray:
    """(R, 2) mean hinge loss of one-layer runs on fresh prompts of this α and l: of all, and of those with a match, which hold
    an example of the query's pattern."""
    return np.array([_matched(run, alpha, length, count) for run in runs])


@disk_cached(version=1)
def _matched(run: StoredRun, alpha: float, length: int, count: int) -> np.ndarray:
    """(2,): what `without_match` has of one run."""
    drawn = fresh(task_of(run, alpha=alpha, length=length), run.spec.seed, count)
    said = ask(trained(run), drawn)
    loss = np.maximum(0, 1 - said.margin * said.answer)
    return np.array([loss.mean(), loss[drawn.same.any(-1).numpy()].mean()])


def doubling(s: Steps) -> float | None:
    """The steps that a doubling of what is varied costs, by least squares; None of one value."""
    return float(np.polyfit(np.log2(s.x), s.steps, 1)[0]) if len(set(s.x)) > 1 else None


def theorem_m1(s: Steps) -> Trend:
    """The exponent of steps against the theorem's M₁ √log M₁, which would be 1, and its 95 % interval."""
    return log_slope(s.x * np.sqrt(np.log(s.x)), s.steps)


# --- New patterns and lengths, one layer ---


def span_of(total: float | None) -> dict[str, Any]:
    """What to change in a task for patterns of a coefficient sum S₁; None for patterns outside the span."""
    return {"outside": True} if total is None else {"sum": total}


@dataclass(frozen=True)
class Along:
    """One-layer runs at several prompt lengths, each (R, n): the share of wrong signs, the mean hinge loss, the mean margin zF
    and the query's mean attention to its own pattern, over `total` prompts a run."""

    error: np.ndarray
    loss: np.ndarray
    margin: np.ndarray
    attention: np.ndarray
    total: int

    @property
    def shares(self) -> list[Share]:
        return [Share(each, self.total) for each in self.error.T]


def along(runs: Sequence[StoredRun], lengths: Sequence[int], count: int = N_FRESH, **change: Any) -> Along:
    """The runs on fresh prompts of a changed task (alpha, sum, outside), of which they read the first l examples."""
    found = np.array([_along(run, tuple(lengths), count, change) for run in runs])
    error, loss, margin, attention = np.moveaxis(found, -1, 0)
    return Along(error, loss, margin, attention, count)


@disk_cached(version=1)
def _along(run: StoredRun, lengths: tuple[int, ...], count: int, change: dict[str, Any]) -> np.ndarray:
    """(lengths, 4): what `Along` has of one run."""
    drawn = fresh(task_of(run, length=max(lengths), **change), run.spec.seed, count)
    said = [ask(trained(run), first(drawn, length)) for length in lengths]
    return np.array([(a.error, a.loss, (a.margin * a.answer).mean(), a.attention.mean()) for a in said])


def first(prompts: Prompts, length: int) -> Prompts:
    """The same queries with the first `length` examples only."""
    kept = torch.tensor([*range(length), -1])
    return Prompts(prompts.prompt[..., kept, :], prompts.target[..., kept], prompts.pattern[..., kept], prompts.pair)


# --- GPT-2, and how many examples ---


def at_foreign(total: float) -> str:
    return f"S1 = {total:g}"


def gpt_errors(runs: Sequence[StoredRun], condition: str, alpha: float = ALPHA) -> list[Share]:
    """For every prompt length 0 … l the share of wrong signs of GPT-2 runs in a condition that they were tested in.

    All runs answer the same prompts, so that the interval over prompts is that of one run: `total` counts each prompt once.
    """
    row = error_rows().index((condition, alpha))
    last = [max(snapshots(run)) for run in runs]
    wrong = np.array([snapshots(run)[step]["errors"][row] for run, step in zip(runs, last, strict=True)])
    counts = snapshots(runs[0])[last[0]]["counts"][row]
    return [Share(each, float(total), own=False) for each, total in zip(wrong.T, counts, strict=True)]


def by_sum(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R, n) errors of GPT-2 runs at the longest prompt, at every S₁ of SUMS."""
    return np.array([gpt_errors(runs, at_foreign(s))[LENGTH].each for s in SUMS]).T


N = TypeVar("N", int, float)


def needed(lengths: Sequence[N], shares: Sequence[float], level: float) -> N | None:
    """The smallest length from which on the share of errors stays at or below a level; None for none."""
    found = None
    for length, share in zip(lengths, shares, strict=True):
        found = (length if found is None else found) if share <= level else None
    return found


def crossing(lengths: Sequence[int], shares: Sequence[float]) -> float | None:
    """Where the share of errors falls to ENOUGH for good, interpolated between lengths in the logarithm of errors. None for
    never."""
    if (last := needed(lengths, shares, ENOUGH)) is None:
        return None
    if not (i := list(lengths).index(last)):
        return float(last)
    around = slice(i - 1, i + 1)
    return falls_to(np.array(lengths[around]), np.log(np.maximum(shares[around], 1e-6)), math.log(ENOUGH))


def reached(lengths: Sequence[int], shares: Sequence[Share]) -> float | None:
    """The length at which the mean error falls to ENOUGH for good; None for never."""
    return crossing(lengths, [s.mean for s in shares])


def ordered(runs: Sequence[StoredRun], condition: str) -> int:
    """In how many seeds every α' of ALPHAS needs more examples than the next larger one."""
    curves = [np.array([share.each for share in gpt_errors(runs, condition, alpha)]).T for alpha in ALPHAS]
    return sum(falling([crossing(range(LENGTH + 1), shares) for shares in of]) for of in zip(*curves, strict=True))


def falling(counts: Sequence[float | None]) -> bool:
    """Is each smaller than the one before, where None is more than any number?"""
    return all(b is not None and (a is None or a > b) for a, b in itertools.pairwise(counts))


def both_labels_floor(alpha: float, length: int) -> float:
    """½ (1 − α')^l: the error of whoever uses the labels of both patterns of a task, and guesses where no example shows one."""
    return 0.5 * (1 - alpha) ** length


def panels(
    runs: Sequence[StoredRun], gpts: Sequence[StoredRun], total: float
) -> dict[str, dict[float, tuple[Sequence[int], list[Share]]]]:
    """{title: {α': (lengths, errors)}} of Fig. 13: both models, in domain and out of it; none where GPT-2 was not tested."""
    other = f"$S_1$ = {total:g}"
    tested = {"in domain": "in domain", other: at_foreign(total) if total in SUMS else None}
    found: dict[str, dict[float, tuple[Sequence[int], list[Share]]]] = {}
    for name, condition in tested.items():
        known = ALPHAS if condition is not None else ()
        found[f"GPT-2, {name}"] = {a: (range(LENGTH + 1), gpt_errors(gpts, condition or "", a)) for a in known}
    for name, change in (("in domain", {}), (other, span_of(total))):
        found[f"one layer, {name}"] = {
            a: (CURVE_LENGTHS, along(runs, CURVE_LENGTHS, CURVE_COUNT, alpha=a, **change).shares) for a in ALPHAS
        }
    return found


Curve = tuple[Sequence[int], Sequence[float]]
"""Lengths of prompts, and the mean share of wrong answers at each."""


@dataclass(frozen=True)
class Need:
    """The examples from which on errors are rare enough, by the mean curve and by those of the seeds; None for never."""

    mean: float | None
    seeds: list[float | None]


def needs(found: Mapping[str, Mapping[float, tuple[Sequence[int], Sequence[Share]]]]) -> dict[str, dict[float, Need]]:
    """{title: {α': examples needed}} of what `panels` gives; what was not tested is left out."""
    of = lambda x, shares: Need(reached(x, shares), [crossing(x, each) for each in np.array([s.each for s in shares]).T])
    return {title: {alpha: of(*curve) for alpha, curve in curves.items()} for title, curves in found.items() if curves}


def readers(runs: Sequence[StoredRun], variants: Mapping[str, Sequence[StoredRun]]) -> dict[str, Curve]:
    """{model: its mean errors on unseen tasks of old patterns against the length of the prompt}, at α' = ALPHA."""
    one = along(runs, CURVE_LENGTHS, CURVE_COUNT, alpha=ALPHA).shares
    found: dict[str, Curve] = {"one layer": (CURVE_LENGTHS, [share.mean for share in one])}
    for name, words in ((GPT, "each task with its reverse"), (TURNED, "reverses left out")):
        shares = gpt_errors(variants[name], "in domain")
        found[f"GPT-2, {words}"] = (range(len(shares)), [share.mean for share in shares])
    return found


def agreeing(errors: np.ndarray) -> int:
    """In how many seeds errors (R, n) fall from every S₁ to the next."""
    return int((np.diff(errors, axis=1) < 0).all(1).sum())


def first_small(sums: Sequence[float], found: Sequence[Along]) -> float | None:
    """The S₁ from which on the hinge loss is at most SMALL_LOSS in every seed; None for none."""
    return needed(sums, [float(a.loss.max()) for a in found], SMALL_LOSS)


def passes(sums: Sequence[float], margins: Sequence[float]) -> float | None:
    """The S₁ at which mean margins pass 1, on straight lines between them; None where they do not."""
    for (x0, y0), (x1, y1) in itertools.pairwise(zip(sums, margins, strict=True)):
        if y0 < 1 <= y1:
            return x0 + (x1 - x0) * (1 - y0) / (y1 - y0)
    return None


def steps_rows(found: Mapping[str, Steps]) -> list[tuple[str, ...]]:
    """(what is varied, its exponent without values at which a run never learns, the theorem's)."""
    written = lambda trend: "{:+.2f} [{:+.2f}, {:+.2f}]".format(*trend)
    theory = {"α": "−2/3", "M₁": "1, times √log M₁", "α l": "0: it is not in the theorem's steps"}
    return [(name, written(s.closed.slope), theory[name]) for name, s in found.items()]


def order_rows(variants: Mapping[str, Sequence[StoredRun]]) -> list[tuple[str, ...]]:
    """(training of GPT-2, its mean errors at each S₁, seeds in which they fall all along, errors on unseen tasks)."""
    rows = []
    for name, runs in variants.items():
        errors = by_sum(runs)
        inside = gpt_errors(runs, "in domain")[LENGTH].mean
        rows.append((name, *(f"{v:.3f}" for v in errors.mean(0)), f"{agreeing(errors)} of {len(errors)}", f"{inside:.3f}"))
    return rows


def facts(
    runs: Sequence[StoredRun],
    variants: Mapping[str, Sequence[StoredRun]],
    covers: Mapping[str, Sequence[StoredRun]],
    speed: Mapping[str, Steps],
    grid: Sequence[Along],
) -> dict[str, Fact]:
    """What the text of chapter 13 says; `grid` is of the one-layer runs at SHOWN_SUMS and the longest prompt."""
    few = f"{len(covers[CYCLE])} seeds"
    gpts, who = variants[GPT], f"GPT-2, {len(variants[GPT])} seeds, {LENGTH} examples, α' = {ALPHA:g}"
    cycle, control = (errors_of(covers[name], "unseen") for name in (CYCLE, CONTROL))
    margin = [float(a.margin.mean()) for a in grid]
    at = dict(zip(SHOWN_SUMS, grid, strict=True))
    one = f"one layer, {len(runs)} seeds, {LENGTH} examples"
    errors, turned = by_sum(gpts), by_sum(variants[TURNED])
    inside = gpt_errors(gpts, "in domain")
    need = {a: reached(range(LENGTH + 1), gpt_errors(gpts, "in domain", a)) for a in ALPHAS}
    alphas, m1 = speed["α"], speed["M₁"]
    trend = lambda s: tuple(float(v) for v in s)
    mean_at = lambda s, x: float(s.steps[s.x == x].mean()) if (s.x == x).any() else None
    no_match = tuple(2 * no_match_floor(*prompt) for prompt in UNREACHED)
    found = {
        "cycle": Fact(
            in_words(round(float(cycle.sum()) * N_TEST)), "{}", f"wrong of {N_TEST * len(cycle):,} on unseen tasks, {few}"
        ),
        "control": Fact(float(control.mean()), "{:.0%}", f"wrong on unseen tasks, mean of {few}"),
        "least": Fact((Task(**COVERS[CYCLE]).m1 - 1) ** -0.5, "{:.0%}", "(M₁ − 1)^−½, the theorem's share of tasks"),
        "alpha": Fact(
            trend(alphas.closed.slope), "{:.2f} ({:.2f} to {:.2f})", "exponent of steps against α where all runs learn"
        ),
        "m1": Fact(trend(m1.slope), "{:.2f} ({:.2f} to {:.2f})", "exponent of steps against M₁"),
        "m1-double": Fact(doubling(m1), "{:.0f}", "steps that a doubling of M₁ costs, least squares"),
        "m1-unseen": Fact(doubling(m1.above(min(m1.x))), "{:.0f}", f"the same without M₁ = {min(m1.x):g}"),
        "m1-first": Fact(mean_at(m1, min(m1.x)), "{:.0f}", f"mean steps at M₁ = {min(m1.x):g}"),
        "m1-last": Fact(mean_at(m1, max(m1.x)), "{:.0f}", f"mean steps at M₁ = {max(m1.x):g}"),
        "from": Fact(
            first_small(SHOWN_SUMS, grid), "{:g}", f"S₁ from which on the hinge loss is at most {SMALL_LOSS:g}, {one}"
        ),
        "passes": Fact(passes(SHOWN_SUMS, margin), "{:.2f}", f"S₁ at which the mean margin passes 1, {one}"),
        "half": Fact(
            float(at[0.0].margin.mean() / at[1.0].margin.mean()), "{:.0%}", f"mean margin at S₁ = 0 over that at 1, {one}"
        ),
        "signs": Fact(
            (max(round(float(a.error.sum()) * a.total) for a in grid), N_FRESH * len(runs)),
            "{} of {:,}",
            "most wrong signs at any S₁, all seeds",
        ),
        "gpt-below": Fact(float(errors[:, SUMS.index(0.7)].mean()), "{:.3f}", f"errors at S₁ = .7, {who}"),
        "gpt-above": Fact(float(errors[:, SUMS.index(1.1)].mean()), "{:.3f}", f"errors at S₁ = 1.1, {who}"),
        "gpt-eight": Fact(gpt_errors(gpts, at_foreign(0.5))[8].mean, "{:.3f}", "errors with 8 examples, S₁ = .5, GPT-2"),
        "gpt-twenty": Fact(gpt_errors(gpts, at_foreign(0.5))[LENGTH].mean, "{:.3f}", f"the same with {LENGTH}"),
        "gpt-order": Fact((agreeing(errors), len(errors)), "{} of {}", "seeds in which errors fall from every S₁ to the next"),
        "turned-order": Fact((agreeing(turned), len(turned)), "{} of {}", f"the same, GPT-2 trained on {TURNED}"),
        "gpt-one": Fact(
            gpt_errors(gpts, at_foreign(1.1), 1.0)[LENGTH].mean, "{:.3f}", f"errors at S₁ = 1.1 and α' = 1, {LENGTH} examples"
        ),
        "gpt-inside": Fact(inside[LENGTH].mean, "{:.3f}", f"errors on unseen tasks, {who}"),
        "no-match": Fact(
            no_match,
            "{:.0%} and {:.0%}",
            f"(1 − α/2)^l: prompts without an example of the query's pattern, {_written(UNREACHED)}",
        ),
        "floor-long": Fact(no_match_floor(ALPHA, LENGTH), "{:.1g}", f"½ (1 − α'/2)^{LENGTH}"),
    }
    for alpha, name in zip(ALPHAS, ("08", "09", "1"), strict=True):
        found[f"need-{name}"] = Fact(need[alpha], "{:.1f}", f"examples for {ENOUGH:.0%} wrong, GPT-2 in domain, α' = {alpha:g}")
    return found | _facts_on_choices(variants)


def _facts_on_choices(variants: Mapping[str, Sequence[StoredRun]]) -> dict[str, Fact]:
    """Of GPT-2 after random choices of training tasks, and of how many of its tasks are within a mixture."""
    errors = [by_sum(variants[name]) for name in DRAWN]
    means = np.array([each.mean(0) for each in errors])
    who = f"GPT-2 after {len(errors)} random choices, {len(errors[0])} seeds each"
    counts = {
        "choices-fall": (agreeing(means), "choices after which mean errors fall from every S₁ to the next"),
        "choices-below-one": (agreeing(means[:, :4]), "choices after which mean errors fall up to S₁ = 1.1"),
    }
    found = {
        name: Fact((in_words(n), in_words(len(means))), "{} of {}", f"{words}, {who}") for name, (n, words) in counts.items()
    }
    found["choices-most"] = Fact(float(means.max()), "{:.3f}", f"largest mean of the errors at any S₁, {who}")
    for name, total in (("half", LOW_SUM), ("above", 1.1)):
        at = means[:, SUMS.index(total)]
        found[f"choices-{name}"] = Fact(span(at), "{:.3f} to {:.3f}", f"mean errors at S₁ = {total:g}, {who}")
    return found | _facts_on_mixtures(variants)


def _facts_on_mixtures(variants: Mapping[str, Sequence[StoredRun]]) -> dict[str, Fact]:
    """Of two counts of training tasks, of the sets that tell them apart, and of what each set has more than one within it."""
    parts, errors = between(variants), low_errors(variants)
    low = {name: each.mean() for name, each in errors.items()}
    rank = lambda count, names: spearman(*(np.array([of[name] for name in names]) for of in (count, low)))
    (within, of_mixtures), (parity, odd) = parts.items()
    alike = {name: len(task.pairs) - odd_even(task) for name in odd for task in [task_of(variants[name][0])]}
    apart = lambda a, b: two_sided(
        [*errors[a], *errors[b]], [False] * len(errors[a]) + [True] * len(errors[b]), [0] * (len(errors[a]) + len(errors[b]))
    )
    test = "two-sided rank test of seeds"
    seen, at = [of_mixtures[name] for name in SETS], f"errors at S₁ = {LOW_SUM:g}"
    sets = "sets of eighteen training tasks"
    return {
        "halves-range": Fact((in_words(int(min(seen))), in_words(int(max(seen)))), "{} to {}", f"{within}, five {sets}"),
        "halves-rank": Fact(rank(of_mixtures, SETS), "{:.1f}", f"rank correlation of {at} and {within}, five {sets}"),
        "parity-rank": Fact(rank(odd, (*SETS, APART, EVEN)), "{:.1f}", f"rank correlation of {at} and {parity}, seven {sets}"),
        "alike-rank": Fact(
            rank(alike, list(alike)), "{:.2f}", f"rank correlation of {at} and trained tasks of one parity, {len(alike)} sets"
        ),
        "all-odd-even": Fact(
            (float(low[GPT]), float(low[CROSSED])), "{:.3f} and {:.3f}", f"mean {at} after {GPT} (all odd-even), and {CROSSED}"
        ),
        "added-p": Fact(
            (apart(ALIKE, APART), apart(ALIKE, EVEN)), "{:.2f} and {:.2f}", f"p of {at}, {ALIKE} and six more, {test}"
        ),
        "within-p": Fact(apart(CROSSED, GPT), "{:.3f}", f"p of {at}, {CROSSED} and six more within mixtures, {test}"),
        **{
            name: Fact(float(low[kind]), "{:.3f}", f"mean {at} after {kind}")
            for name, kind in (("apart", APART), ("even", EVEN), ("crossed", CROSSED), ("alike", ALIKE))
        },
    }


def facts_on_reach(runs: Sequence[StoredRun]) -> dict[str, Fact]:
    """Of the main runs on prompts as those of UNREACHED: how far copying gets there."""
    every, matched = np.array([without_match(runs, *prompt).mean(0) for prompt in UNREACHED]).T.tolist()
    who = (
        f"mean hinge loss, one layer, {len(runs)} seeds trained at α = {ALPHA:g}, l = {LENGTH}, asked at {_written(UNREACHED)}"
    )
    return {
        "reach": Fact(tuple(every), "{:.3f} and {:.3f}", who),
        "reach-matched": Fact(max(matched), "{:.3f}", f"{who}: with an example of the query's pattern, the larger"),
    }


def _written(prompts: Sequence[tuple[float, int]]) -> str:
    return " and ".join(f"α = {alpha:g}, l = {length}" for alpha, length in prompts)


def facts_on_precision(again: Sequence[StoredRun]) -> dict[str, Fact]:
    """Of the first choice's GPT-2 once more in single precision, as it is and with the last bit moved; nothing of no runs."""
    arms = [[run for run in again if run.spec.nudge == nudge] for nudge in (0, 1)]
    found = {}
    for name, total in (("half", LOW_SUM), ("above", 1.1)):
        means = tuple(float(by_sum(runs)[:, SUMS.index(total)].mean()) for runs in arms if runs)
        rests = (
            f"mean errors at S₁ = {total:g} after {GPT}, single precision, and with the last bit of the initial weights moved"
        )
        found[f"single-{name}"] = Fact(means or None, "{:.3f} and {:.3f}", rests)
    return found


def low_errors(sets: Mapping[str, Sequence[StoredRun]]) -> dict[str, np.ndarray]:
    """{set of training tasks: (R,) errors at LOW_SUM}"""
    return {name: by_sum(runs)[:, SUMS.index(LOW_SUM)] for name, runs in sets.items()}


def between(sets: Mapping[str, Sequence[StoredRun]]) -> dict[str, dict[str, float]]:
    """{what is counted: {set of training tasks: how many, or what share}}, of those that chapter 13 compares by it."""
    tasks = {name: task_of(sets[name][0]) for name in (*SETS, APART, EVEN, CROSSED, ALIKE)}
    return {
        "training tasks within a mixture (of six)": {name: halves(task) for name, task in tasks.items()},
        "share of odd-even training tasks": {name: odd_even(task) / len(task.pairs) for name, task in tasks.items()},
    }


def halves(task: Task) -> int:
    """How many training tasks are between the two patterns that a new one mixes."""
    return sum(a // 2 == b // 2 for a, b in task.pairs.tolist())


def odd_even(task: Task) -> int:
    """How many training tasks are between an odd and an even pattern, as the two of every mixture are."""
    return sum((a + b) % 2 for a, b in task.pairs.tolist())


# --- Dials ---


def dial_data(runs: Sequence[StoredRun], count: int = DIAL_COUNT) -> dict[str, Any]:
    """What lib.book.dials needs: the mean margin of one-layer runs over the length of the prompt, beside that in domain, and
    the query's attention."""
    found: list[list[Along]] = [[along(runs, DIAL_LENGTHS, count, alpha=a, sum=s) for s in SUMS] for a in DIAL_SHARES]
    inside = [along(runs, DIAL_LENGTHS, count, alpha=a) for a in DIAL_SHARES]
    attention = [[[rounded(v) for v in a.attention.mean(0)] for a in row] for row in found]
    rest = [[[rounded(1 - v) for v in a.attention.mean(0)] for a in row] for row in found]
    lines = {
        "new": ("new patterns", [[_margins(a) for a in row] for row in found]),
        "old": ("patterns of training", [[_margins(a)] * len(SUMS) for a in inside]),
        "asked": ("above it no hinge loss", [[[[1.0] * 3] * len(DIAL_LENGTHS)] * len(SUMS)] * len(DIAL_SHARES)),
    }
    least = min(a.margin.mean(0).min() for a in (*itertools.chain(*found), *inside))
    most = max(a.margin.max() for a in (*itertools.chain(*found), *inside))
    return {
        "dials": [
            {"id": "alpha", "label": "share of task examples α′", "values": list(DIAL_SHARES)},
            {"id": "sum", "label": "coefficient sum S₁", "values": list(SUMS)},
            {"id": "length", "label": "examples in the prompt", "values": list(DIAL_LENGTHS)},
        ],
        "x": "length",
        "fan": "sum",
        "y": {
            "label": "mean margin zF, one layer",
            "log": False,
            "low": min(0.0, math.floor(10 * least) / 10),
            "high": max(1.2, math.ceil(10 * most) / 10),
        },
        "series": [{"id": id, "label": label, "values": values} for id, (label, values) in lines.items()],
        "bars": {
            "label": "attention of the query",
            "items": [
                {"label": "examples of its own pattern", "values": attention},
                {"label": "all other examples", "values": rest},
            ],
        },
        "start": DIAL_START,
        "about": f"The one-layer model. Means over {len(runs)} seeds; bands: the range of all seeds. Thin: the other S₁.",
    }


def _margins(found: Along) -> list[list[float]]:
    """Mean, least and largest margin of the seeds at every length."""
    return [[rounded(v) for v in (of.mean(), of.min(), of.max())] for of in found.margin.T]


def rounded(value: float) -> float:
    """Four significant digits: what a page shows, and less than the results' own uncertainty."""
    return float(f"{value:.4g}")
