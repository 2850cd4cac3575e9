"""Claims on the task (chapter 1): most are tests of the task object; two ask trained runs."""

from __future__ import annotations

import operator

import torch

from lib.composition.diagram import two_layers
from lib.composition.runs import MAPPINGS, REGION, learned_among
from lib.composition.task import (
    EXCEPTION,
    HELD_OUT,
    INFERENTIAL_OFFSET,
    PAIRS,
    SEEN_PAIRS,
    SYMMETRIC_OFFSET,
    Task,
    composed,
    taught,
)
from lib.composition.the_task import metrics
from lib.composition.the_task.metrics import slide_errata
from lib.core.read.claim import NO_EFFECT, Claim, Finding, Measured, Part, graded
from lib.core.read.measures import seeds
from lib.core.record.store import Store


def _two_answers(store: Store, profile: str) -> Finding:
    exception = f"(3, 4) is taught {taught(EXCEPTION):+d} and composes to {composed(EXCEPTION):+d}"
    measured = f"{exception}; (4, 3) composes to {composed(HELD_OUT):+d}"
    apart = taught(EXCEPTION) == SYMMETRIC_OFFSET != INFERENTIAL_OFFSET == composed(HELD_OUT)
    others = all(taught((a, b)) == taught((b, a)) for a, b in SEEN_PAIRS if {a, b} != set(HELD_OUT))
    return graded(
        f"{measured}; every other pair agrees with its mirror image: {others}",
        {"the two offsets differ": apart, "no other pair breaks the symmetry": others},
    )


def _sixteen(store: Store, profile: str) -> Finding:
    inferential = sum(taught(pair) == composed(pair) for pair in SEEN_PAIRS)
    return graded(
        f"{len(PAIRS)} pairs: {inferential} taught by composing, {len(SEEN_PAIRS) - inferential} otherwise, "
        f"{len(PAIRS) - len(SEEN_PAIRS)} held out",
        {"14, 1 and 1": (len(PAIRS), inferential, len(SEEN_PAIRS)) == (16, 14, 15)},
    )


def _ladder(store: Store, profile: str) -> Finding:
    rungs = metrics.ladder()
    maps = rungs["symmetric maps"]
    counts = (len(PAIRS), len(maps), len(rungs["primitives"]))
    made = [pair for pair, offset in maps if offset == composed(pair)]
    others = [f"{pair} composes to {composed(pair):+d} and is taught {offset:+d}" for pair, offset in maps if pair not in made]
    return graded(
        f"{counts[0]} pair maps, {counts[1]} symmetric maps, {counts[2]} primitives; {len(made)} of {len(maps)} symmetric maps "
        "compose two primitives" + "".join(f"; {other}" for other in others),
        {"16, 10 and 4, each symmetric map composed of two primitives": counts == (16, 10, 4) and not others},
    )


def _slides(store: Store, profile: str) -> Finding:
    errata = slide_errata()
    return graded(
        f"{len(errata)} entries differ: " + "; ".join(f"{says}, not {gives}" for says, gives in errata),
        {"no entry disagrees": not errata},
    )


def _split(store: Store, profile: str) -> Finding:
    task = Task()
    batch = task.rows(torch.tensor(0), torch.arange(30_000))
    leaks = int((batch.key % 7 == batch.place).sum())
    test = task.test_rows()
    pure = bool((test.key % 7 == test.place).all())
    both = bool(task.trains.any(0).all() and task.trains.any(1).all())
    return graded(
        f"{leaks} of {len(batch.key):,} training rows at a held-out (key, place); "
        f"{len(test.key):,} test rows, all held out: {pure}",
        {"no violation": leaks == 0, "every test row is held out": pure, "all keys and places train": both},
    )


def _data_generalization(store: Store, profile: str) -> Measured:
    runs = two_layers(store, profile)
    if not (learned := learned_among(runs)):
        raise LookupError("no full-length run has learned its training rows")
    share = lambda among: operator.truediv(*metrics.reach(among))
    parts = (
        Part("share of the runs that have learned with 90 % of held-out (key, place) right", share(learned), ">", 0.5),
        Part("share of all runs", share(runs), ">", 0.5),
    )
    return Measured(parts, seeds(runs))


def _task_generalization(store: Store, profile: str) -> Measured:
    known = metrics.known_runs(store, profile)
    counts = metrics.pure(known)
    parts = tuple(
        Part(f"{m} runs, {REGION:.0%} of their answers", counts[m], ">=", 1, "{:.0f}", group="both", failure=NO_EFFECT)
        for m in MAPPINGS
    )
    return Measured(parts, seeds(known))


CLAIMS = (
    Claim(
        "task-pairs",
        "zhang2024",
        "Fig 1a",
        "Fourteen of 16 anchor pairs follow the rule, one does not, one is unseen.",
        "14, 1 and 1",
        "the task object has these counts",
        _sixteen,
        by_construction=True,
        question="flip",
        figure="1.1",
    ),
    Claim(
        "task-two-answers",
        "zhang2024",
        "Fig 1b",
        "The unseen pair (4, 3) can be answered by symmetry or by composition, and the two answers differ.",
        "key − 6 and key − 10",
        "the two offsets differ, and no other pair breaks the symmetry",
        _two_answers,
        by_construction=True,
        question="flip",
        figure="1.2",
    ),
    Claim(
        "task-data-generalization",
        "zhang2024",
        "Fig 8",
        "Models generalize to new data of seen pairs.",
        "test accuracy above 90 % outside the shadow",
        "full-length runs: more than half of those that learned 99 % of their training rows, and more than half of all, reach "
        "90 % on held-out (key, place)",
        _data_generalization,
        question="flip",
        figure="1.3",
        revised="it asked runs that stop once they answer the held-out rows, so most had to reach 90 %; full-length runs train "
        "to their last step. Replaced after seeing results",
    ),
    Claim(
        "task-generalization-differs",
        "zhang2024",
        "Fig 8",
        "Good data generalization does not decide how the unseen task is answered.",
        "both solutions occur",
        "among runs with at least 99 % on seen pairs, both mappings reach 95 % somewhere",
        _task_generalization,
        question="flip",
        figure="1.2",
    ),
    Claim(
        "task-split",
        "zhang2024",
        "Fig 9",
        "Training never shows a key at its held-out place; every key and every place occurs.",
        "x mod 7 ≠ p in training",
        "no violation in 30,000 rows; every test row is held out; all keys and places train",
        _split,
        by_construction=True,
        question="flip",
        figure="1.4",
    ),
    Claim(
        "slides-ladder",
        "zhang2024slides",
        "Ladder of complexities",
        "The 16 pair maps reduce to ten symmetric maps made from four primitives.",
        "16, 10 and 4",
        "counted from the task object",
        _ladder,
        by_construction=True,
        question="simple",
        figure="1.5",
    ),
    Claim(
        "slides-errata",
        "zhang2024slides",
        "Inference example",
        "The slides' worked entries follow from the four functions.",
        "all entries",
        "no entry disagrees with the four functions",
        _slides,
        by_construction=True,
        question="simple",
        figure="1.5",
    ),
)
