"""What chapters read of stored runs: whether one has learned, which stands for an answer, and its model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lib.composition.task import FIRST_KEY, LAST_KEY, N_PLACES, Task
from lib.core.model.transformer import Transformer, from_weights
from lib.core.read.measures import first_step, memoized
from lib.core.record.store import StoredRun

MAPPINGS = ("symmetric", "inferential")
SHADOW = 0.90
"""Below this test accuracy on the seen pairs a cell is shadowed (Zhang et al. 2024, Fig. 2)."""
REGION = 0.95
"""A cell belongs to a mapping's region from this accuracy on (our choice)."""
LEARNED = 0.99
"""Share of training rows from which on a run has learned what it was taught (our choice)."""
FITTED = 0.99
"""Test accuracy on seen pairs from which a run counts as having learned the table (our choice)."""
MAJORITY = 0.5
"""A run is of the kind that more than this share of its answers has, counted exactly (our choice)."""


def exact_kind(run: StoredRun) -> str:
    """The mapping that more than half of the answers have exactly, or "neither"."""
    return next((m for m in MAPPINGS if run.metrics[m] > MAJORITY), "neither")


def learned(run: StoredRun) -> bool:
    """Has the run learned what it was taught? By its training rows; a run that was stored before these were asked, by the seen
    pairs at held-out places, as the paper's shadow."""
    return run.metrics["train"] >= LEARNED if "train" in run.metrics else run.metrics["test"] >= SHADOW


def learned_among(runs: Sequence[StoredRun]) -> list[StoredRun]:
    return [run for run in runs if learned(run)]


def generalizes(run: StoredRun) -> bool:
    """Has the run learned, and does it answer the seen pairs at held-out places, too? There from the paper's shadow on."""
    return learned(run) and run.metrics["test"] >= SHADOW


def learned_at(run: StoredRun, share: float = LEARNED) -> float:
    """The first evaluated step at which this share of the training rows is right; infinity for never.

    Of a run that was stored before these were asked: of the seen pairs at held-out places.
    """
    step = first_step(run, "train" if "train" in run.history else "test", share)
    return math.inf if step is None else float(step)


MOST_ROWS = 0.9
"""Share of training rows whose step is compared between roundings."""


def log_steps(run: StoredRun, share: float) -> float:
    """The logarithm of the steps until this share of the training rows is right; of the last step where it never is."""
    return math.log(min(learned_at(run, share), run.steps))


def clearest(runs: Sequence[StoredRun], mapping: str) -> StoredRun:
    """The run with the highest accuracy under a mapping among those that generalize; where none does, among those that have
    learned; among all where none has.

    Ties go to the lowest γ, then seed, then rate.
    """
    good = [run for run in runs if generalizes(run)] or learned_among(runs) or list(runs)
    return min(good, key=lambda r: (-r.metrics[mapping], r.spec.gamma, r.spec.seed, r.spec.rate))


def preference(run: StoredRun) -> float:
    return run.metrics["inferential"] - run.metrics["symmetric"]


def model_of(run: StoredRun) -> Transformer:
    """The stored model, ready to be asked. Raises StoreError if the run was stored without weights."""
    return from_weights(run.spec.model, run.weights())


@memoized
def offsets_by_key(run: StoredRun) -> np.ndarray:
    """What a run adds to the key when asked (4, 3): (80 keys, 7 places), from its stored weights.

    Raises StoreError if the run was stored without weights.
    """
    rows = Task().held_out_rows()
    answers = model_of(run)(rows.tokens[None])[0].argmax(-1)
    offsets = np.zeros((LAST_KEY - FIRST_KEY + 1, N_PLACES), dtype=int)
    offsets[rows.key - FIRST_KEY, rows.place] = answers - rows.key
    return offsets
