"""What the claims of chapter 13 ask of stored results: which tasks, how many steps and examples, which new patterns, whom it
beats."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from lib.core.claim import Finding, graded
from lib.core.measures import log_slope, spread
from lib.core.store import Store, StoredRun
from lib.core.sweep import load
from lib.in_context import classical
from lib.in_context.classical import ICL, LEARNERS, LOGISTIC
from lib.in_context.experiments import ALPHA, COVERS, GPT2, LENGTH, TRAIN, cover_specs, speed_specs
from lib.in_context.runs import N_FRESH, Share, ask, fresh, gpt_errors, needed, steps_to, task_of, trained
from lib.in_context.study import ALPHAS, FOREIGN_SUM, SUMS
from lib.in_context.task import Prompts, Task, no_match_floor

SPAN = "outside the span"
CYCLE, CONTROL = list(COVERS)[1:]
ENOUGH = 0.02
"""The share of errors at which a prompt has examples enough."""
THEORY = {"α": -2 / 3, "M₁": 0.0, "α l": 0.0}
"""The exponents of the steps in Theorem 1, T = Θ(α^−2/3): neither M₁ nor l is in it."""


def main(store: Store, profile: str) -> list[StoredRun]:
    return load(TRAIN.specs(profile), store)


def gpts(store: Store, profile: str) -> list[StoredRun]:
    return load(GPT2.specs(profile), store)


def covers(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    return {name: load(specs, store) for name, specs in cover_specs(profile).items()}


def speeds(store: Store, profile: str, what: str) -> dict[float, list[StoredRun]]:
    return {value: load(specs, store) for value, specs in speed_specs(profile)[what].items()}


def seeds(runs: Sequence[StoredRun]) -> int:
    return len({run.spec.seed for run in runs})


# --- Numbers ---


def span_of(total: float | None) -> dict[str, object]:
    """What to change in a task for patterns of a coefficient sum S₁; None for patterns outside the span."""
    return {"outside": True} if total is None else {"sum": total}


@dataclass(frozen=True)
class Along:
    """One-layer runs at several prompt lengths, each (R, n): the share of wrong signs, the mean hinge loss, the mean margin zF
    and the query's mean attention to its own pattern, over `total` prompts a run."""

    lengths: tuple[int, ...]
    error: np.ndarray
    loss: np.ndarray
    margin: np.ndarray
    attention: np.ndarray
    total: int

    @property
    def shares(self) -> list[Share]:
        return [Share(each, self.total) for each in self.error.T]


_ALONG: dict[tuple[object, ...], np.ndarray] = {}


def along(runs: Sequence[StoredRun], lengths: Sequence[int], count: int = N_FRESH, **change: object) -> Along:
    """The runs on fresh prompts of a changed task (alpha, sum, outside), of which they read the first l examples."""
    found = []
    for run in runs:
        task = task_of(run, length=max(lengths), **change)
        if (key := (str(run.path), task, tuple(lengths), count)) not in _ALONG:
            drawn = fresh(task, run.spec.seed, count)
            said = [ask(trained(run), first(drawn, length)) for length in lengths]
            _ALONG[key] = np.array([(a.error, a.loss, (a.margin * a.answer).mean(), a.attention.mean()) for a in said])
        found.append(_ALONG[key])
    return Along(tuple(lengths), *np.moveaxis(np.array(found), -1, 0), count)


def first(prompts: Prompts, length: int) -> Prompts:
    """The same queries with the first `length` examples only."""
    kept = torch.tensor([*range(length), -1])
    return Prompts(prompts.prompt[..., kept, :], prompts.target[..., kept], prompts.pattern[..., kept], prompts.pair)


@dataclass(frozen=True)
class Steps:
    """Steps to the level, a run each: x (n,) is what is varied, and where `open` (n,) the run never got there, so that its step
    limit is a lower bound."""

    x: np.ndarray
    steps: np.ndarray
    open: np.ndarray

    @property
    def slope(self) -> tuple[float, float, float]:
        """The exponent and its 95 % interval; lower bounds count as they are."""
        return log_slope(self.x, self.steps)

    @property
    def closed(self) -> Steps:
        """Only the values at which every run gets there; all, where that leaves fewer than two."""
        kept = ~np.isin(self.x, self.x[self.open])
        return Steps(self.x[kept], self.steps[kept], self.open[kept]) if len(set(self.x[kept])) > 1 else self

    @property
    def words(self) -> str:
        value, low, high = self.slope
        never = ""
        if self.open.any():
            never = f"; {int(self.open.sum())} of {len(self.open)} never get there, and count at the limit"
        if self.open.any() and not self.closed.open.any():
            never += "; without them {:+.2f} [{:+.2f}, {:+.2f}]".format(*self.closed.slope)
        return f"exponent {value:+.2f} [{low:+.2f}, {high:+.2f}] over {len(self.x)} runs{never}"


def steps(groups: Mapping[float, Sequence[StoredRun]]) -> Steps:
    """Steps until the held-out hinge loss is at most runs.LEVEL."""
    found = [(value, steps_to(run), run.steps) for value, runs in groups.items() for run in runs]
    x, reached, limit = zip(*found, strict=True)
    taken = [last if step is None else step for step, last in zip(reached, limit, strict=True)]
    return Steps(np.array(x, float), np.array(taken, float), np.array([step is None for step in reached]))


def gpt(runs: Sequence[StoredRun], condition: str, alpha: float = ALPHA) -> list[Share]:
    """GPT-2's errors at every prompt length 0 … 20, with an interval over prompts."""
    return gpt_errors(runs, condition, alpha)


def gpt_needed(runs: Sequence[StoredRun], condition: str) -> dict[float, int | None]:
    """{α': the examples from which on the mean error of the seeds stays at ENOUGH or below}."""
    shares = {alpha: [share.mean for share in gpt(runs, condition, alpha)] for alpha in ALPHAS}
    return {alpha: needed(range(len(found)), found, ENOUGH) for alpha, found in shares.items()}


def at_foreign(total: float) -> str:
    return f"S1 = {total:g}"


def errors_of(runs: Sequence[StoredRun], name: str) -> np.ndarray:
    """(R,) shares of wrong answers at the end of training, of "seen" or "unseen" tasks."""
    return 1 - np.array([run.metrics[name] for run in runs], dtype=float)


# --- Claims ---


def cover(store: Store, profile: str) -> Finding:
    groups = covers(store, profile)
    cycle, control = (errors_of(groups[name], "unseen") for name in (CYCLE, CONTROL))
    return Finding(
        f"unseen tasks wrong: {spread(cycle, 3)} after the cycle (worst seed {cycle.max():.3f}), {spread(control, 3)} after "
        f"three patterns only; smallest difference in a seed {(control - cycle).min():.2f}",
        graded([bool((cycle <= 0.01).all()), bool((control - cycle >= 0.1).all())]),
        seeds(groups[CYCLE]),
    )


def steps_alpha(store: Store, profile: str) -> Finding:
    groups = speeds(store, profile, "α")
    found = steps(groups)
    return Finding(f"{found.words}; theory −0.67", graded([found.slope[2] < 0]), seeds(next(iter(groups.values()))))


def steps_m1(store: Store, profile: str) -> Finding:
    groups = speeds(store, profile, "M₁")
    found = steps(groups)
    _, low, high = found.slope
    return Finding(found.words, graded([low <= 0 <= high]), seeds(next(iter(groups.values()))))


def prompt_length(store: Store, profile: str) -> Finding:
    groups = speeds(store, profile, "α l")
    found = steps(groups)
    long = found.x >= 8 - 1e-9
    means = ", ".join(f"{x:g}: {found.steps[found.x == x].mean():.0f}" for x in groups)
    return Finding(
        f"{int((~found.open & long).sum())} of {int(long.sum())} runs with α l ≥ 8 get there; mean steps by α l {means}; "
        f"{found.words}",
        graded([not bool((found.open & long).any())]),
        seeds(next(iter(groups.values()))),
    )


def floor(store: Store, profile: str) -> Finding:
    runs = main(store, profile)
    lengths = range(1, 11)
    found = along(runs, lengths, alpha=ALPHA)
    floors = [no_match_floor(ALPHA, length) for length in lengths]
    above = [share.interval[1] >= line for share, line in zip(found.shares, floors, strict=True)]
    at = lambda length: f"{found.shares[length - 1].mean:.3f} against {floors[length - 1]:.3f} at l = {length}"
    return Finding(
        f"not below the floor at {sum(above)} of {len(above)} lengths; {at(1)}, {at(4)}, {at(10)}",
        graded([all(above)]),
        seeds(runs),
    )


def floor_gpt2(store: Store, profile: str) -> Finding:
    runs = gpts(store, profile)
    found, floors = gpt(runs, "in domain"), {length: no_match_floor(ALPHA, length) for length in (1, 2)}
    parts = [
        f"{found[n].mean:.3f} (up to {found[n].interval[1]:.3f}) against {line:.3f} at l = {n}" for n, line in floors.items()
    ]
    return Finding(", ".join(parts), graded([found[n].interval[1] < line for n, line in floors.items()]), seeds(runs))


def sum_hinge(store: Store, profile: str) -> Finding:
    runs = main(store, profile)
    loss = {s: along(runs, [LENGTH], alpha=ALPHA, **span_of(s)).loss[:, 0] for s in (*SUMS, None)}
    inside = np.array([loss[s] for s in SUMS])
    falls = (inside[1:] < inside[:-1]) | ((inside[1:] == 0) & (inside[:-1] == 0))
    words = ", ".join(f"{spread(loss[s], 5)} at S₁ = {s:g}" for s in SUMS)
    return Finding(
        f"mean hinge loss {words}; {SPAN} {spread(loss[None])}",
        graded(
            [
                bool(falls.all()),
                all(bool((loss[s] <= 0.01).all()) for s in SUMS if s >= 1),
                bool((loss[None] >= 0.5).all()),
            ]
        ),
        seeds(runs),
    )


def sum_needed(store: Store, profile: str) -> Finding:
    runs = main(store, profile)
    loss = {s: along(runs, [LENGTH], alpha=ALPHA, **span_of(s)).loss[:, 0] for s in SUMS if s < 1}
    return Finding(
        "mean hinge loss " + ", ".join(f"{spread(values, 5)} at S₁ = {s:g}" for s, values in loss.items()),
        graded([bool((values > 0.01).all()) for values in loss.values()]),
        seeds(runs),
    )


def sum_gpt2(store: Store, profile: str) -> Finding:
    runs = gpts(store, profile)
    each = {s: gpt_errors(runs, at_foreign(s), ALPHA)[LENGTH].each for s in SUMS}
    mean = [float(each[s].mean()) for s in SUMS]
    return Finding(
        f"error at l = {LENGTH}: " + ", ".join(f"{spread(each[s], 4)} at S₁ = {s:g}" for s in SUMS),
        graded(
            [
                all(m < 0.01 for s, m in zip(SUMS, mean, strict=True) if s >= 1),
                all(m >= 0.01 for s, m in zip(SUMS, mean, strict=True) if s < 1),
                all(b <= a for a, b in itertools.pairwise(mean)),
            ]
        ),
        seeds(runs),
    )


def alpha_length(store: Store, profile: str) -> Finding:
    runs = gpts(store, profile)
    found = {name: gpt_needed(runs, name) for name in ("in domain", at_foreign(FOREIGN_SUM))}
    say = lambda by: ", ".join(f"{'never' if n is None else n} at α' = {alpha:g}" for alpha, n in by.items())
    return Finding(
        "examples needed: "
        + "; ".join(f"{'out of domain' if i else 'in domain'} {say(by)}" for i, by in enumerate(found.values()))
        + f"; at l = {LENGTH} errors are "
        + "; ".join(", ".join(f"{gpt(runs, name, a)[LENGTH].mean:.4f} at α' = {a:g}" for a in ALPHAS) for name in found),
        graded([ordered(by) for by in found.values()]),
        seeds(runs),
    )


def ordered(by: Mapping[float, int | None]) -> bool:
    """Does the smallest α' need more examples than the largest, and what lies between no less and no more?"""
    count = [np.inf if by[alpha] is None else by[alpha] for alpha in sorted(by)]
    return count[0] > count[-1] and all(a >= b for a, b in itertools.pairwise(count))


def classical_close(store: Store, profile: str) -> Finding:
    runs = main(store, profile)
    icl, logistic = ([p.mean for p in classical.curve(runs, who, 0.8)] for who in (ICL, LOGISTIC))
    apart = float(np.abs(np.subtract(icl, logistic)).mean())
    return Finding(
        f"mean difference {apart:.4f} over l = {classical.LENGTHS[0]} … {classical.LENGTHS[-1]}; at l = {classical.LENGTHS[0]} "
        f"in context {icl[0]:.3f}, logistic regression {logistic[0]:.3f}",
        graded([apart <= 0.02]),
        seeds(runs),
    )


def classical_best(store: Store, profile: str) -> Finding:
    runs = main(store, profile)
    icl = np.array([p.mean for p in classical.curve(runs, ICL, 0.6)])
    others = {who: np.array([p.mean for p in classical.curve(runs, who, 0.6)]) for who in LEARNERS}
    below = {who: int((icl < error).sum()) for who, error in others.items()}
    n, short = len(classical.LENGTHS), classical.LENGTHS[0]
    return Finding(
        f"below at so many of {n} lengths: {', '.join(f'{who} {count}' for who, count in below.items())}; wrong at "
        f"l = {short}: in context {icl[0]:.3f}, " + ", ".join(f"{who} {error[0]:.3f}" for who, error in others.items()),
        graded([all(count == n for count in below.values())]),
        seeds(runs),
    )


def fraction(task: Task) -> tuple[int, int, float]:
    """Training tasks, all tasks, and the least share of Theorem 1, (M₁ − 1)^−½."""
    return len(task.pairs), task.m1 * (task.m1 - 1), (task.m1 - 1) ** -0.5
