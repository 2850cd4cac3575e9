"""One story (chapter 17): copy from the prompt or remember pairs, over the starts of attention (δ) and of W_O (γ).

Runs are trained on the six tasks of a cycle alone, in which each pair of patterns has one answer that could be remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch

from lib.core.claim import Claim, Finding, graded
from lib.core.ensemble import at_start
from lib.core.measures import remembered, spearman, spread
from lib.core.store import Store, StoredRun
from lib.core.sweep import load
from lib.in_context.experiments import HALF, story_specs
from lib.in_context.runs import LEVEL, steps_to
from lib.in_context.study import make_study

Grid = Mapping[tuple[float, float], list[StoredRun]]
LEARNED = 0.02
"""A run has learned its tasks where at most this share of signs is wrong on them at the end."""
LARGE_DELTA, SOME_DELTA, LARGE_START = 1.0, 0.2, 0.1
"""The largest δ, that of the main runs, and the γ of the largest start of W_O."""


def grid(store: Store, profile: str) -> dict[tuple[float, float], list[StoredRun]]:
    """{(δ, γ): runs}. Raises LookupError where some are missing."""
    return {place: load(specs, store) for place, specs in story_specs(profile).items()}


def everyone(found: Grid) -> list[StoredRun]:
    return [run for runs in found.values() for run in runs]


def at_delta(found: Grid, delta: float) -> dict[float, list[StoredRun]]:
    """{γ: runs}. Raises LookupError where there are none at this δ."""
    if not (kept := {g: runs for (d, g), runs in found.items() if d == delta}):
        raise LookupError(f"no runs at δ = {delta:g} belong to this profile")
    return kept


def at_gamma(found: Grid, gamma: float) -> dict[float, list[StoredRun]]:
    """{δ: runs}. Raises LookupError where there are none at this γ."""
    if not (kept := {d: runs for (d, g), runs in found.items() if g == gamma}):
        raise LookupError(f"no runs at γ = {gamma:g} belong to this profile")
    return kept


@remembered
def start_attention(run: StoredRun) -> float:
    """The query's attention to its own pattern before the first step, on the prompts of the run's history."""
    with torch.no_grad():
        return float(make_study(run.spec).watch(at_start(run.spec))["attention.1"])


def end_attention(run: StoredRun) -> float:
    """The same after training; NaN where the run diverged."""
    value = run.history["attention.1"][-1]
    return float("nan") if value is None else value


def seen_error(run: StoredRun) -> float:
    """Share of wrong signs on the trained tasks at the end."""
    return 1 - (run.metrics["seen"] or 0.0)


def unseen_error(run: StoredRun) -> float:
    """The same on the tasks that were not trained."""
    return 1 - (run.metrics["unseen"] or 0.0)


def gap(run: StoredRun) -> float:
    """How many more signs are wrong on tasks that were not trained."""
    return unseen_error(run) - seen_error(run)


def excess(run: StoredRun) -> float:
    """Hinge loss on unseen tasks less that on trained ones where the latter falls to LEVEL, on a straight line between two
    evaluations; NaN where it never does, or has done so by the first evaluation."""
    seen, unseen = (np.array(run.history[f"{name} loss"], dtype=float) for name in ("seen", "unseen"))
    below = np.flatnonzero(seen <= LEVEL)
    if not len(below) or below[0] == 0:
        return float("nan")
    now, before = below[0], below[0] - 1
    share = (seen[before] - LEVEL) / (seen[before] - seen[now])
    return float(unseen[before] + share * (unseen[now] - unseen[before]) - LEVEL)


def learned(run: StoredRun) -> bool:
    return run.status != "diverged" and seen_error(run) <= LEARNED


def steps(run: StoredRun) -> int:
    """Steps to a held-out hinge loss of LEVEL; the step limit where it is never reached."""
    found = steps_to(run)
    return run.spec.train.steps if found is None else found


def delta_of(run: StoredRun) -> float:
    return run.spec.model.delta


# --- Claims ---


def lazy(store: Store, profile: str) -> Finding:
    runs = [run for group in at_delta(grid(store, profile), LARGE_DELTA).values() for run in group]
    before = np.array([start_attention(run) for run in runs])
    moved = np.abs([end_attention(run) for run in runs] - before)
    return Finding(
        f"attention before training {spread(before)}; it moves by {spread(moved, 3)}, at most {moved.max():.3f}",
        graded([bool((before >= 0.8).all()), bool((moved < 0.1).all())]),
        len({run.spec.seed for run in runs}),
    )


def slow(store: Store, profile: str) -> Finding:
    groups = at_gamma(grid(store, profile), HALF)
    if len(groups) < 3:
        raise LookupError(f"{len(groups)} values of δ are too few for a trend")
    runs = [run for group in groups.values() for run in group]
    value = spearman(np.array([delta_of(run) for run in runs]), np.array([steps(run) for run in runs], dtype=float))
    never = sum(steps_to(run) is None for run in runs)
    words = ", ".join(f"δ = {d:g} {spread([steps(run) for run in group], 0)}" for d, group in groups.items())
    return Finding(
        f"steps to a held-out loss of {LEVEL:g}: {words}; rank correlation {value:+.2f}; {never} of {len(runs)} runs never "
        "get there",
        graded([value <= -0.8]),
        len({run.spec.seed for run in runs}),
    )


def larger_gap(store: Store, profile: str) -> Finding:
    found = at_delta(grid(store, profile), SOME_DELTA)
    if LARGE_START not in found or HALF not in found:
        raise LookupError(f"this profile has no runs at γ = {LARGE_START:g} and {HALF:g}")
    pairs = [(a, b) for a, b in zip(found[LARGE_START], found[HALF], strict=True) if learned(a) and learned(b)]
    if not pairs:
        raise LookupError("no seed learned its tasks at both γ")
    large, small = ([gap(pair[i]) for pair in pairs] for i in (0, 1))
    return Finding(
        f"gap {spread(large, 4)} at γ = {LARGE_START:g}, {spread(small, 4)} at γ = {HALF:g}, in the {len(pairs)} of "
        f"{len(found[HALF])} seeds that learned their tasks at both",
        graded([all(a > b for a, b in zip(large, small, strict=True))]),
        len(pairs),
    )


def copying(store: Store, profile: str) -> Finding:
    runs = everyone(grid(store, profile))
    good = [run for run in runs if learned(run)]
    if len(good) < 3:
        raise LookupError(f"{len(good)} runs learned their tasks, too few for a correlation")
    value = spearman(np.array([end_attention(run) for run in good]), np.array([unseen_error(run) for run in good]))
    return Finding(
        f"rank correlation of the final attention with the error on unseen tasks {value:+.2f}, over {len(good)} of "
        f"{len(runs)} runs that learned their tasks",
        graded([value <= -0.5]),
        len({run.spec.seed for run in good}),
    )


def _claim(id: str, statement: str, criterion: str, check: Callable[[Store, str], Finding]) -> Claim:
    return Claim(id, "ours", "chapter 17", statement, "not in the sources", criterion, check)


CHAPTER_17 = (
    _claim(
        "story-large-delta-lazy",
        "With a large δ attention selects before training, and then hardly moves.",
        "at δ = 1 in every run: attention at least .8 before training; it moves by less than .1 (two parts)",
        lazy,
    ),
    _claim(
        "story-small-delta-slow",
        "The smaller δ, the longer it takes to learn.",
        "at γ = .5: rank correlation of δ with the steps to a held-out loss of .1, over all runs, at most −.8",
        slow,
    ),
    _claim(
        "story-gap",
        "From a larger start of W_O more signs are wrong on unseen than on trained tasks at the end of training.",
        "at δ = .2: unseen − seen error larger at γ = .1 than at .5 in every seed, where both learned their tasks (≤ .02)",
        larger_gap,
    ),
    _claim(
        "story-copy",
        "Who copies more generalizes better.",
        "rank correlation of final attention with the unseen error at most −.5, over all runs that learned their tasks",
        copying,
    ),
)
