"""What chapter 17 asks of its own runs, as claims."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lib.core.read.claim import Claim, Finding, graded
from lib.core.read.measures import spread
from lib.core.read.statistics import spearman
from lib.core.record.store import Store
from lib.in_context.experiments import HALF
from lib.in_context.runs import LEVEL, start_attention, steps_to
from lib.in_context.story.metrics import (
    FEWEST,
    LARGE_DELTA,
    LARGE_START,
    LEARNED,
    MAIN_GAMMA,
    SOME_DELTA,
    at_delta,
    at_gamma,
    at_most,
    correlation,
    delta_of,
    end_attention,
    everyone,
    gap,
    learned,
    signed,
    steps,
    story_runs,
    unseen_error,
)

SELECTS, MOVES = 0.8, 0.1
"""Attention before training from which on it has selected, and what it moves by at most where training is lazy."""
NEVER, ENOUGH = 0.01, 0.9
"""The share of errors of who copies, and of runs that learn their tasks."""
SLOWER, BETTER = -0.8, -0.5
"""Rank correlations of δ with steps, and of attention with errors."""

BEFORE = f"in every run attention is at least {SELECTS:g} before training"
STAYS = f"in every run it moves by less than {MOVES:g}"
SLOW = f"rank correlation of δ with the steps to a held-out loss of {LEVEL:g}, over all runs, at most −{-SLOWER:g}"
EVERYWHERE = f"in every run that learned its tasks at most {NEVER:g} of the signs are wrong on unseen ones"
MOST_LEARN = f"at least {ENOUGH:.0%} of the runs learned them"
GAP = f"unseen − seen error larger at γ = {LARGE_START:g} than at {HALF:g} in every seed"
COPIES = f"rank correlation of final attention with the unseen error at most −{-BETTER:g}"
"""The parts of the criteria."""


def lazy(store: Store, profile: str) -> Finding:
    runs = [run for group in at_delta(story_runs(store, profile), LARGE_DELTA).values() for run in group]
    before = np.array([start_attention(run)[0] for run in runs])
    moved = np.abs([end_attention(run) for run in runs] - before)
    return Finding(
        f"attention before training at least {before.min():.2f}; it moves by at most {moved.max():.3f}",
        graded({BEFORE: bool((before >= SELECTS).all()), STAYS: bool((moved < MOVES).all())}),
        len({run.spec.seed for run in runs}),
    )


def slow(store: Store, profile: str) -> Finding:
    groups = at_gamma(story_runs(store, profile), MAIN_GAMMA)
    if len(groups) < FEWEST:
        raise LookupError(f"{len(groups)} values of δ are too few for a trend")
    runs = [run for group in groups.values() for run in group]
    value = spearman(np.array([delta_of(run) for run in runs]), np.array([steps(run) for run in runs], dtype=float))
    never = sum(steps_to(run) is None for run in runs)
    words = ", ".join(f"δ = {d:g} {spread([steps(run) for run in group], 0)}" for d, group in groups.items())
    return Finding(
        f"steps to a held-out loss of {LEVEL:g}: {words}; rank correlation {signed(value)}; "
        + (f"{never} of {len(runs)} runs never get there" if never else f"all {len(runs)} runs get there"),
        graded({SLOW: value <= SLOWER}),
        len({run.spec.seed for run in runs}),
    )


def copies(store: Store, profile: str) -> Finding:
    runs = everyone(story_runs(store, profile))
    good = [run for run in runs if learned(run)]
    if not good:
        raise LookupError("no run learned its tasks")
    errors = np.array([unseen_error(run) for run in good])
    return Finding(
        f"{len(good)} of {len(runs)} runs learned their tasks; wrong on unseen tasks: {at_most(errors)}",
        graded({EVERYWHERE: bool(errors.max() <= NEVER), MOST_LEARN: len(good) >= ENOUGH * len(runs)}),
        len({run.spec.seed for run in good}),
    )


def larger_gap(store: Store, profile: str) -> Finding:
    found = at_delta(story_runs(store, profile, wide=True), SOME_DELTA)
    if LARGE_START not in found or HALF not in found:
        raise LookupError(f"this profile has no runs at γ = {LARGE_START:g} and {HALF:g}")
    pairs = [(a, b) for a, b in zip(found[LARGE_START], found[HALF], strict=True) if learned(a) and learned(b)]
    if not pairs:
        raise LookupError("no seed learned its tasks at both γ")
    large, small = ([gap(pair[i]) for pair in pairs] for i in (0, 1))
    return Finding(
        f"gap {spread(large, 4)} at γ = {LARGE_START:g}, {spread(small, 4) if any(small) else 'none'} at γ = {HALF:g}, in the "
        f"{len(pairs)} of {len(found[HALF])} seeds that learned their tasks at both",
        graded({GAP: all(a > b for a, b in zip(large, small, strict=True))}),
        len(pairs),
    )


def copying(store: Store, profile: str) -> Finding:
    runs = everyone(story_runs(store, profile, wide=True))
    good = [run for run in runs if learned(run)]
    if len(good) < FEWEST:
        raise LookupError(f"{len(good)} runs learned their tasks, too few for a correlation")
    value = correlation(good)
    return Finding(
        f"rank correlation of the final attention with the error on unseen tasks {signed(value)}, over {len(good)} of "
        f"{len(runs)} runs that learned their tasks",
        graded({COPIES: value <= BETTER}),
        len({run.spec.seed for run in good}),
    )


def _claim(id: str, statement: str, criterion: str, check: Callable[[Store, str], Finding], revised: str = "") -> Claim:
    return Claim(id, "ours", "chapter 17", statement, "not in the sources", criterion, check, revised=revised)


THEN = "after the runs with the large readout"
LARGE_ONLY = f"{THEN}, this was asked of them alone, and they were known to show it"
"""Why criteria were replaced."""


CLAIMS = (
    _claim(
        "story-large-delta-lazy",
        "With a large δ attention selects before training, and then hardly moves.",
        f"at δ = {LARGE_DELTA:g}: {BEFORE}; {STAYS}",
        lazy,
    ),
    _claim(
        "story-small-delta-slow",
        "The smaller δ, the longer it takes to learn.",
        f"at γ = {MAIN_GAMMA:g}: {SLOW}",
        slow,
        f"{THEN}, γ went from {HALF:g}, which those with the small one do not have, to the γ of chapter 12",
    ),
    _claim(
        "story-copies",
        "With the small readout the model copies from every start of attention and of W_O.",
        f"{EVERYWHERE}; {MOST_LEARN}",
        copies,
        f"added {THEN}, in which copying won",
    ),
    _claim(
        "story-gap",
        "With a large readout, from a larger start of W_O more signs are wrong on unseen than on trained tasks at the "
        "end of training.",
        f"a of order 1 / √m, at δ = {SOME_DELTA:g}: {GAP}, where both learned their tasks (≤ {LEARNED:g})",
        larger_gap,
        LARGE_ONLY,
    ),
    _claim(
        "story-copy",
        "Who copies more generalizes better.",
        f"a of order 1 / √m: {COPIES}, over all runs that learned their tasks",
        copying,
        LARGE_ONLY,
    ),
)
