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

from lib.core.rng import randint

ANCHORS = {1: +5, 2: +1, 3: -2, 4: -8}
LENGTH, FIRST_KEY, LAST_KEY = 9, 20, 99
N_KEYS, N_PLACES = LAST_KEY - FIRST_KEY + 1, LENGTH - 2
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

    The paper's text has modulus 7 (the default), the authors' public code 9.
    """

    modulus: int = 7

    def __post_init__(self) -> None:
        if self.modulus not in (7, 9):
            raise ValueError(f"modulus must be 7 (the paper's text) or 9 (the authors' code), got {self.modulus!r}.")

    @cached_property
    def trains(self) -> Tensor:
        """(7, 80) bool: may key 20 + j stand at place p in training?"""
        keys = torch.arange(FIRST_KEY, LAST_KEY + 1)
        return keys % self.modulus != torch.arange(N_PLACES)[:, None]

    @cached_property
    def _train_keys(self) -> tuple[Tensor, Tensor]:
        """(7, 80) keys that train at each place, packed to the left, and their number (7,)."""
        order = self.trains.int().argsort(dim=1, descending=True, stable=True)
        return order + FIRST_KEY, self.trains.sum(1)

    @cached_property
    def _pair_table(self) -> Tensor:
        """(16, 3): first anchor, second anchor, offset to be learned; the held-out pair is last, with the symmetric offset."""
        rows = [(*pair, taught(pair)) for pair in SEEN_PAIRS]
        return torch.tensor([*rows, (*HELD_OUT, SYMMETRIC_OFFSET)])

    def rows(self, seed: Tensor, index: Tensor) -> Batch:
        """Training rows. Row `index` of the data set `seed` is a pure function of the two (broadcast together).

        Pairs take turns, so every 15 consecutive rows hold every seen pair once. Place is uniform, key uniform on those that
        train at it, noise uniform on the keys' range; each from its own stream.
        """
        device = index.device
        keys, counts = (t.to(device) for t in self._train_keys)
        place = randint(seed, _PLACE, index, N_PLACES)
        key = keys[place, randint(seed, _KEY, index, counts[place])]
        return self._assemble(seed, index, key, place, (index + torch.zeros_like(seed)) % len(SEEN_PAIRS))

    def _grid(self, allowed: Tensor, pairs: Tensor, seed: int, draws: int) -> Batch:
        """Every allowed (place, key) with every one of `pairs`, each with `draws` draws of noise."""
        place, key = allowed.nonzero(as_tuple=True)
        n = len(place)
        place, key = place.repeat(len(pairs) * draws), (key + FIRST_KEY).repeat(len(pairs) * draws)
        pair = pairs.repeat_interleave(n).repeat(draws)
        index = torch.arange(len(place))
        return self._assemble(torch.tensor(seed), index, key, place, pair)

    def test_rows(self, seed: int = 0, draws: int = 1) -> Batch:
        """Seen pairs, every key at every place it never trained at: data generalization."""
        return self._grid(~self.trains, torch.arange(len(SEEN_PAIRS)), seed, draws)

    def held_out_rows(self, seed: int = 0, draws: int = 1) -> Batch:
        """(4, 3) with every key at every place: task generalization. `target` is the symmetric answer, key − 6."""
        return self._grid(torch.ones_like(self.trains), torch.tensor([len(SEEN_PAIRS)]), seed, draws)

    def _assemble(self, seed: Tensor, index: Tensor, key: Tensor, place: Tensor, pair: Tensor) -> Batch:
        first, second, offset = self._pair_table.to(index.device)[pair].unbind(-1)
        column = torch.arange(LENGTH, device=index.device)
        noise = FIRST_KEY + randint(seed[..., None], _NOISE, index[..., None] * LENGTH + column, N_KEYS)
        ahead = column - place[..., None]
        tokens = torch.where(ahead == 0, key[..., None], noise)
        tokens = torch.where(ahead == 1, first[..., None], tokens)
        tokens = torch.where(ahead == 2, second[..., None], tokens)
        return Batch(tokens, key + offset, key, place, pair)
