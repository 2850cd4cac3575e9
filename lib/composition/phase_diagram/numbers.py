"""What runs answer to (4, 3) beyond the paper's two shares: every offset, counted. Pure numbers.

The paper counts two answers exactly, key − 6 and key − 10. A model that confuses neighbouring numbers composes and still misses
by one or three. So there is a second reading beside the exact one, added after seeing data: does an answer lie nearer −10 or
nearer −6, and what is the median offset?
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from lib.composition.condensation.numbers import keys_embedding
from lib.composition.runs import MAPPINGS, offsets_by_key
from lib.composition.study import LOW_KEYS, OFFSETS, histogram
from lib.composition.task import (
    FIRST_KEY,
    INFERENTIAL_OFFSET,
    LAST_KEY,
    N_PLACES,
    SEEN_PAIRS,
    SYMMETRIC_OFFSET,
    Task,
    taught,
)
from lib.core.measures import remembered
from lib.core.model import from_weights
from lib.core.store import StoredRun


@remembered
def counts(run: StoredRun) -> np.ndarray:
    """(34,) how often each of OFFSETS was answered to (4, 3), and last all others; from the weights where it was not counted.

    Raises StoreError for a run that has neither counts nor weights.
    """
    if "offsets" in run.metrics:
        return np.array(run.metrics["offsets"], dtype=float)
    return histogram(torch.as_tensor(offsets_by_key(run)).flatten()[None])[0].numpy().astype(float)


def has_counts(run: StoredRun) -> bool:
    return "offsets" in run.metrics or run.has_weights


def shares(run: StoredRun) -> np.ndarray:
    """(34,) the same as shares of all answers."""
    found = counts(run)
    return found / found.sum()


def share_of(run: StoredRun, offsets: Sequence[int]) -> float:
    """Share of the answers with one of these offsets."""
    return float(sum(shares(run)[OFFSETS.index(o)] for o in offsets))


MIDDLE = (SYMMETRIC_OFFSET + INFERENTIAL_OFFSET) / 2


def nearer(run: StoredRun) -> dict[str, float]:
    """Shares of the answers that lie nearer to each mapping's offset than to the other's; an answer in the middle, or outside
    OFFSETS, is neither's."""
    return {
        "symmetric": share_of(run, [o for o in OFFSETS if o > MIDDLE]),
        "inferential": share_of(run, [o for o in OFFSETS if o < MIDDLE]),
    }


def kind(run: StoredRun) -> str:
    """The mapping that more than half of the answers lie nearer to; "neither" where there is none."""
    return next((name for name, share in nearer(run).items() if share > 0.5), "neither")


def median_offset(run: StoredRun) -> float:
    """The median of the offsets that lie among OFFSETS; NaN where none does."""
    found = counts(run)[:-1]
    if not found.sum():
        return math.nan
    place = np.searchsorted(np.cumsum(found), [(found.sum() - 1) / 2 + 0.5, found.sum() / 2 + 0.5])
    return float(np.mean([OFFSETS[i] for i in place]))


def exact_above(run: StoredRun, low: int = LOW_KEYS) -> float:
    """Share of exactly inferential answers to keys from 30 on, whose answers occur in the input."""
    if "offsets" in run.metrics:
        high = counts(run) - np.array(run.metrics["offsets_low"], dtype=float)
        return float(high[OFFSETS.index(INFERENTIAL_OFFSET)] / high.sum())
    return float((offsets_by_key(run)[low - FIRST_KEY :] == INFERENTIAL_OFFSET).mean())


def neighbour_steps(run: StoredRun) -> np.ndarray:
    """(80,) how far from each number, as a number, its nearest neighbour in the embedding is (Zhang et al. 2024, Fig. 5c)."""
    vectors = keys_embedding(run.weights())
    distance = np.linalg.norm(vectors[:, None] - vectors[None], axis=-1)
    np.fill_diagonal(distance, np.inf)
    return np.abs(distance.argmin(1) - np.arange(len(vectors)))


def step_shares(run: StoredRun, largest: int = 8) -> np.ndarray:
    """(largest + 1,) share of numbers whose nearest neighbour is 1, 2, …, `largest` or further away."""
    steps = Counter(np.minimum(neighbour_steps(run), largest + 1).tolist())
    return np.array([steps[i + 1] for i in range(largest + 1)]) / (LAST_KEY - FIRST_KEY + 1)


def teachers() -> np.ndarray:
    """(80,) for each key, how many seen pairs teach the number that composing (4, 3) gives for it as an answer."""
    answers = np.arange(FIRST_KEY, LAST_KEY + 1) + INFERENTIAL_OFFSET
    offsets = [taught(pair) for pair in SEEN_PAIRS]
    return np.array([sum(FIRST_KEY <= answer - offset <= LAST_KEY for offset in offsets) for answer in answers])


def by_teachers(run: StoredRun) -> tuple[np.ndarray, np.ndarray]:
    """(numbers of teaching pairs, share of exactly inferential answers to the keys that have so many)."""
    right = (offsets_by_key(run) == INFERENTIAL_OFFSET).mean(1)
    taught_by = teachers()
    levels = np.unique(taught_by)
    return levels, np.array([right[taught_by == level].mean() for level in levels])


@remembered
def by_place(run: StoredRun) -> np.ndarray:
    """(7,) the most frequent offset at each place of the key, keys from 30 on; from the weights."""
    offsets = offsets_by_key(run)[LOW_KEYS - FIRST_KEY :]
    return np.array([Counter(column.tolist()).most_common(1)[0][0] for column in offsets.T])


def seen_by_place(run: StoredRun, seed: int = 1) -> np.ndarray:
    """(7, keys) share of the seen pairs that are answered right, by place and key, trained or not; from the weights."""
    task = Task(**{name: value for name, value in dict(run.spec.task).items() if name != "rows"})
    n, pairs = task.keys * N_PLACES, len(task.taught)
    place, key = torch.meshgrid(torch.arange(N_PLACES), torch.arange(task.keys) + FIRST_KEY, indexing="ij")
    rows = task.questions(
        key.flatten().repeat(pairs), place.flatten().repeat(pairs), torch.arange(pairs).repeat_interleave(n), seed
    )
    answer = from_weights(run.spec.model, run.weights())(rows.tokens[None])[0].argmax(-1)
    return (answer == rows.target).float().view(pairs, N_PLACES, task.keys).mean(0).numpy()


@dataclass(frozen=True)
class Ends:
    """The two ends of a row of γ: where each mapping's mean share is largest, and both means there."""

    gamma: dict[str, float]
    mean: dict[str, dict[str, float]]

    @property
    def flips(self) -> bool:
        """Is each mapping ahead by half of all answers where it is strongest, the symmetric one at larger weights?"""
        ahead = [self.mean[m][m] - self.mean[m][other] >= 0.5 for m, other in (MAPPINGS, MAPPINGS[::-1])]
        return self.gamma["symmetric"] < self.gamma["inferential"] and all(ahead)


def ends(runs: Sequence[StoredRun]) -> Ends:
    """Raises ValueError for no runs."""
    if not runs:
        raise ValueError("a row of γ needs runs.")
    gammas = sorted({run.spec.gamma for run in runs})
    means = {g: {m: float(np.mean([r.metrics[m] for r in runs if r.spec.gamma == g])) for m in MAPPINGS} for g in gammas}
    gamma = {m: max(gammas, key=lambda g, m=m: means[g][m]) for m in MAPPINGS}
    return Ends(gamma, {m: means[gamma[m]] for m in MAPPINGS})
