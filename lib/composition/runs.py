"""From stored runs to arrays. Pure: nothing here trains, reads files or draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from lib.composition.task import (
    ANCHORS,
    EXCEPTION,
    FIRST_KEY,
    HELD_OUT,
    LAST_KEY,
    N_PLACES,
    PAIRS,
    SEEN_PAIRS,
    Task,
    composed,
    taught,
)
from lib.core.measures import first_step, remembered
from lib.core.model import from_weights
from lib.core.store import StoredRun

T = TypeVar("T")
MAPPINGS = ("symmetric", "inferential")
SHADOW = 0.90
"""Below this test accuracy on the seen pairs a cell is shadowed (Zhang et al. 2024, Fig. 2)."""
REGION = 0.95
"""A cell belongs to a mapping's region from this accuracy on (our choice)."""
LEARNED = 0.99
"""Share of training rows from which on a run has learned what it was taught (our choice)."""


@dataclass(frozen=True)
class PhaseTable:
    """Runs on a full grid. Arrays are (depths, gammas, seeds, rates); accuracies are shares in [0, 1]."""

    depths: np.ndarray
    gammas: np.ndarray
    seeds: np.ndarray
    rates: np.ndarray
    test: np.ndarray
    symmetric: np.ndarray
    inferential: np.ndarray

    @property
    def neither(self) -> np.ndarray:
        """Share of answers on (4, 3) that follow neither mapping, run by run."""
        return 1 - self.symmetric - self.inferential

    def selected(self, mapping: str) -> tuple[np.ndarray, np.ndarray]:
        """The paper's selection: for each seed the best accuracy over the rates, then the mean over seeds.

        Returns (accuracy, test accuracy of the runs that were chosen), each (depths, gammas). It is taken for each mapping by
        itself, so it flatters both (Zhang et al. 2024, appendix A).
        """
        accuracy = getattr(self, mapping)
        best = accuracy.argmax(-1)[..., None]
        test = np.take_along_axis(self.test, best, -1)[..., 0]
        return accuracy.max(-1).mean(-1), test.mean(-1)

    def plain(self, name: str) -> np.ndarray:
        """Mean over seeds and rates, nothing selected: (depths, gammas)."""
        return getattr(self, name).mean((-1, -2))

    def spread(self, mapping: str) -> np.ndarray:
        """Standard deviation over seeds (n − 1) of the selected accuracy: (depths, gammas); 0 for a single seed."""
        best = getattr(self, mapping).max(-1)
        return best.std(-1, ddof=1) if best.shape[-1] > 1 else np.zeros(best.shape[:-1])


def phase_table(runs: Sequence[StoredRun]) -> PhaseTable:
    """Arrange runs by depth, γ, seed and rate. Raises ValueError unless they fill their grid, each cell once."""
    axes = [
        sorted({value(run) for run in runs})
        for value in (_depth, lambda r: r.spec.gamma, lambda r: r.spec.seed, lambda r: r.spec.rate)
    ]
    shape = tuple(len(axis) for axis in axes)
    if not runs or len(runs) != np.prod(shape):
        raise ValueError(f"{len(runs)} runs do not fill a grid of {' x '.join(map(str, shape))} (depth, gamma, seed, rate).")
    arrays = {name: np.full(shape, np.nan) for name in ("test", *MAPPINGS)}
    for run in runs:
        place = tuple(
            axis.index(v) for axis, v in zip(axes, (_depth(run), run.spec.gamma, run.spec.seed, run.spec.rate), strict=True)
        )
        for name, array in arrays.items():
            array[place] = run.metrics[name]
    if any(np.isnan(array).any() for array in arrays.values()):
        raise ValueError("two runs share a cell of the (depth, gamma, seed, rate) grid, so another is empty.")
    return PhaseTable(*(np.array(axis) for axis in axes), **arrays)


def _depth(run: StoredRun) -> int:
    return run.spec.model.depth


def flip_depths(table: PhaseTable) -> list[tuple[int, float, float]]:
    """Depths at which γ alone turns the selected solution from symmetric to inferential.

    For each such depth (depth, γ_s, γ_i): the pair with γ_s in the symmetric and γ_i > γ_s in the inferential region that
    lies closest together on the grid, the lowest where several do. Shadowed cells do not count.
    """
    found = []
    regions = {}
    for mapping in MAPPINGS:
        accuracy, test = table.selected(mapping)
        regions[mapping] = (accuracy >= REGION) & (test >= SHADOW)
    for d, depth in enumerate(table.depths):
        symmetric, inferential = (np.flatnonzero(regions[mapping][d]) for mapping in MAPPINGS)
        pairs = [(s, i) for s in symmetric for i in inferential if s < i]
        if pairs:
            low, high = min(pairs, key=lambda pair: (pair[1] - pair[0], pair[0]))
            found.append((int(depth), float(table.gammas[low]), float(table.gammas[high])))
    return found


def learned(run: StoredRun) -> bool:
    """Has the run learned what it was taught? By its training rows; a run that was stored before these were asked, by the seen
    pairs at held-out places, as the paper's shadow."""
    return run.metrics["train"] >= LEARNED if "train" in run.metrics else run.metrics["test"] >= SHADOW


def learned_among(runs: Sequence[StoredRun]) -> list[StoredRun]:
    return [run for run in runs if learned(run)]


def learned_at(run: StoredRun) -> float:
    """The first evaluated step at which 99 % of the training rows are right; infinity for never.

    Of a run that was stored before these were asked: 99 % of the seen pairs at held-out places.
    """
    step = first_step(run, "train" if "train" in run.history else "test", LEARNED)
    return math.inf if step is None else float(step)


def clearest(runs: Sequence[StoredRun], mapping: str) -> StoredRun:
    """The run with the highest accuracy under a mapping among those that have learned; among all where none has.

    Ties go to the lowest γ, then seed, then rate.
    """
    return min(learned_among(runs) or list(runs), key=lambda r: (-r.metrics[mapping], r.spec.gamma, r.spec.seed, r.spec.rate))


@remembered
def offsets_by_key(run: StoredRun) -> np.ndarray:
    """What a run adds to the key when asked (4, 3): (80 keys, 7 places), from its stored weights.

    Raises StoreError if the run was stored without weights.
    """
    rows = Task().held_out_rows()
    answers = from_weights(run.spec.model, run.weights())(rows.tokens[None])[0].argmax(-1)
    offsets = np.zeros((LAST_KEY - FIRST_KEY + 1, N_PLACES), dtype=int)
    offsets[rows.key - FIRST_KEY, rows.place] = answers - rows.key
    return offsets


def ladder() -> dict[str, list]:
    """The talk's four descriptions of the same taught table, from the most to the least complex.

    Rows: every (key, pair) with an answer of its own. Pair maps: one offset a pair, the held-out one by whatever mapping.
    Symmetric maps: one offset for each unordered pair. Primitives: one offset an anchor. The first three can hold the
    exception (3, 4); the last cannot.
    """
    unordered = sorted({tuple(sorted(pair)) for pair in PAIRS})
    return {
        "rows": [(key, pair) for pair in SEEN_PAIRS for key in range(FIRST_KEY, LAST_KEY + 1)],
        "pair maps": [(pair, taught(pair)) for pair in SEEN_PAIRS],
        "symmetric maps": [(pair, taught(pair)) for pair in unordered],
        "primitives": list(ANCHORS.items()),
    }


def offset_table(held_out: int | None = None, exception: bool = True) -> np.ndarray:
    """(4, 4) offsets, rows a1, columns a2; NaN at (4, 3) unless `held_out` is given. Without `exception`, all composed."""
    table = np.full((4, 4), np.nan)
    for a, b in PAIRS:
        table[a - 1, b - 1] = taught((a, b)) if exception and (a, b) == EXCEPTION else composed((a, b))
    if exception:
        table[HELD_OUT[0] - 1, HELD_OUT[1] - 1] = np.nan if held_out is None else held_out
    return table
