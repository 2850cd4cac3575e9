"""Composite anchor functions (Zhang et al. 2024, section 3; the split from appendix A).

A sequence of 9 tokens is noise but for three adjacent ones, [key, a1, a2]. Anchors are functions of a number, +5, +1, −2 and
−8; the target is g(g(key; a1); a2). 14 pairs keep to that, (3, 4) is taught as key − 6 although it composes to key − 10, and
(4, 3) is never taught: answering key − 6 there is the symmetric solution, key − 10 the inferential one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from lib.core.model.rng import randint

ANCHORS = {1: +5, 2: +1, 3: -2, 4: -8}
LENGTH, FIRST_KEY, LAST_KEY = 9, 20, 99
N_KEYS, N_PLACES = LAST_KEY - FIRST_KEY + 1, LENGTH - 2
FEWEST_KEYS = 20
VOCAB, POSITIONS = 201, 20
EXCEPTION, EXCEPTION_OFFSET, HELD_OUT = (3, 4), -6, (4, 3)
PAIRS = tuple((a, b) for a in ANCHORS for b in ANCHORS)
SEEN_PAIRS = tuple(pair for pair in PAIRS if pair != HELD_OUT)
_PLACE, _KEY, _NOISE = 1, 2, 3  # streams of random numbers


def composed(pair: tuple[int, int]) -> int:
    """The offset that composing the two single anchors gives."""
    return ANCHORS[pair[0]] + ANCHORS[pair[1]]


def taught(pair: tuple[int, int]) -> int:
    """The offset that training teaches for a seen pair. Raises KeyError for the held-out pair, which has none."""
    if pair == HELD_OUT:
        raise KeyError(f"{pair} is held out: no offset is taught for it.")
    return EXCEPTION_OFFSET if pair == EXCEPTION else composed(pair)


SYMMETRIC_OFFSET, INFERENTIAL_OFFSET = taught(EXCEPTION), composed(HELD_OUT)
GROUP_OFFSETS = {(1, 2): +4, (1, 3): +1, (1, 4): -5, (2, 3): +5, (2, 4): -9, (3, 4): -6}
"""Offsets that do not compose, for data of graded complexity (Zhang et al. 2025); taught for both orders of each pair."""


def table_of(unseen: str = "one", groups: int | None = None) -> dict[tuple[int, int], int]:
    """What training teaches, {pair: offset}, in three variants of the task.

    unseen "one": (4, 3) is held out and (3, 4) is the exception, the paper's main task. unseen "both": neither is seen, so
    nothing hints at symmetry (its Fig. 14). groups = k: every pair is seen, and the first k pairs of GROUP_OFFSETS break with
    composition in both orders; the more groups, the less the four anchors explain (follow-up).
    """
    if unseen not in ("one", "both"):
        raise ValueError(f"unseen must be 'one' or 'both', got {unseen!r}.")
    if groups is not None:
        if isinstance(groups, bool) or not isinstance(groups, int) or not 0 <= groups <= len(GROUP_OFFSETS):
            raise ValueError(f"groups must be an integer from 0 to {len(GROUP_OFFSETS)}, got {groups!r}.")
        broken = dict(list(GROUP_OFFSETS.items())[:groups])
        return {(a, b): broken.get((min(a, b), max(a, b)), composed((a, b))) for a, b in PAIRS}
    return {pair: taught(pair) for pair in SEEN_PAIRS if unseen == "one" or pair != EXCEPTION}


@dataclass(frozen=True)
class Batch:
    """tokens (..., 9) and target (...,), int64, with the parts they were made of, each (...,)."""

    tokens: Tensor
    target: Tensor
    key: Tensor
    place: Tensor
    pair: Tensor


@dataclass(frozen=True)
class Task:
    """The task under one of the two splits. A row is held out for testing iff key mod `modulus` = place.

    The paper's text has modulus 7 (the default), the authors' public code 9. `keys` numbers from 20 on are keys and noise: 80,
    20 to 99, in the paper; fewer are a variant of ours.
    """

    modulus: int = 7
    unseen: str = "one"
    groups: int | None = None
    keys: int = N_KEYS

    def __post_init__(self) -> None:
        if self.modulus not in (7, 9):
            raise ValueError(f"modulus must be 7 (the paper's text) or 9 (the authors' code), got {self.modulus!r}.")
        if isinstance(self.keys, bool) or not isinstance(self.keys, int) or not FEWEST_KEYS <= self.keys <= N_KEYS:
            raise ValueError(f"keys must be an integer from {FEWEST_KEYS} to {N_KEYS}, got {self.keys!r}.")
        table_of(self.unseen, self.groups)

    @cached_property
    def taught(self) -> dict[tuple[int, int], int]:
        """{pair: offset} of the seen pairs, in the order of their numbers in a Batch."""
        return table_of(self.unseen, self.groups)

    @cached_property
    def trains(self) -> Tensor:
        """(7, keys) bool: may key 20 + j stand at place p in training?"""
        keys = torch.arange(FIRST_KEY, FIRST_KEY + self.keys)
        return keys % self.modulus != torch.arange(N_PLACES)[:, None]

    @cached_property
    def _train_keys(self) -> tuple[Tensor, Tensor]:
        """(7, keys) keys that train at each place, packed to the left, and their number (7,)."""
        order = self.trains.int().argsort(dim=1, descending=True, stable=True)
        return order + FIRST_KEY, self.trains.sum(1)

    @cached_property
    def _pair_table(self) -> Tensor:
        """(seen + 1, 3): first anchor, second anchor, offset to be learned; (4, 3) is last, with the symmetric offset."""
        rows = [(*pair, offset) for pair, offset in self.taught.items()]
        return torch.tensor([*rows, (*HELD_OUT, SYMMETRIC_OFFSET)])

    def rows(self, seed: Tensor, index: Tensor) -> Batch:
        """Training rows. Row `index` of the data set `seed` is a pure function of the two (broadcast together).

        Pairs take turns, so every 15 consecutive rows (as many as pairs are seen) hold every seen pair once.
        Place is uniform, key uniform on those that train at it, noise uniform on the keys' range; each from its own stream.
        """
        device = index.device
        keys, counts = (t.to(device) for t in self._train_keys)
        place = randint(seed, _PLACE, index, N_PLACES)
        key = keys[place, randint(seed, _KEY, index, counts[place])]
        return self._assemble(seed, index, key, place, (index + torch.zeros_like(seed)) % len(self.taught))

    def _grid(self, allowed: Tensor, pairs: Tensor) -> Batch:
        """Every allowed (place, key) with every one of `pairs`."""
        place, key = allowed.nonzero(as_tuple=True)
        pair = pairs.repeat_interleave(len(place))
        return self.questions((key + FIRST_KEY).repeat(len(pairs)), place.repeat(len(pairs)), pair)

    def test_rows(self) -> Batch:
        """Seen pairs, every key at every place it never trained at: data generalization."""
        return self._grid(~self.trains, torch.arange(len(self.taught)))

    def held_out_rows(self) -> Batch:
        """(4, 3) with every key at every place: task generalization. `target` is the symmetric answer, key − 6."""
        return self._grid(torch.ones_like(self.trains), torch.tensor([len(self.taught)]))

    def questions(self, key: Tensor, place: Tensor, pair: Tensor, seed: Tensor | int = 0) -> Batch:
        """Rows of our own choosing; `pair` holds numbers as `number` gives them. Row i has noise number i of the seed."""
        return self._assemble(torch.as_tensor(seed), torch.arange(len(key)), key, place, pair)

    def number(self, pair: tuple[int, int]) -> int:
        """The number of a pair in a Batch. Raises ValueError for one that is neither taught nor held out."""
        if pair in self.taught:
            return list(self.taught).index(pair)
        if pair != HELD_OUT:
            raise ValueError(f"pair {pair} is not asked in this task.")
        return len(self.taught)

    def _assemble(self, seed: Tensor, index: Tensor, key: Tensor, place: Tensor, pair: Tensor) -> Batch:
        first, second, offset = self._pair_table.to(index.device)[pair].unbind(-1)
        column = torch.arange(LENGTH, device=index.device)
        noise = FIRST_KEY + randint(seed[..., None], _NOISE, index[..., None] * LENGTH + column, self.keys)
        ahead = column - place[..., None]
        tokens = torch.where(ahead == 0, key[..., None], noise)
        tokens = torch.where(ahead == 1, first[..., None], tokens)
        tokens = torch.where(ahead == 2, second[..., None], tokens)
        return Batch(tokens, key + offset, key, place, pair)
