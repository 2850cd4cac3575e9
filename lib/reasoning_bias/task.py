"""Memory and reasoning anchors (Yao et al. 2025, section 3).

A sequence of 9 tokens is noise but for three adjacent ones, [z, a, a'], a key and two anchors. Both anchors are of one kind.
*Reasoning* anchors stand for their own number: the label is z + a + a'. *Memory* anchors stand for nothing: each (z, a, a')
has a label of its own, drawn once and then fixed. The label depends neither on the noise nor on the place of the key. Two of
the 100 pairs of reasoning anchors are never shown.

What the paper leaves open is our choice: the key may stand at the places 0 … 6, uniformly; noise is uniform on the keys' range;
the 200 pairs of anchors take turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from lib.core.model.rng import randint

FIRST_KEY, LAST_KEY = 21, 120
N_KEYS = LAST_KEY - FIRST_KEY + 1
MEMORY, REASONING = tuple(range(1, 11)), tuple(range(11, 21))
HELD_OUT = ((11, 13), (13, 11))
LENGTH, N_PLACES = 9, 7
VOCAB, POSITIONS = 200, 9
_TABLE, _PLACE, _KEY, _NOISE = 11, 12, 13, 14  # streams of random numbers
GROUP_LABELS = tuple(range(30, 30 + 20 * group) for group in range(1, 5))
"""The labels of each memory group, in the variant "groups"."""
VARIANTS = ("key", "window", "groups")


@dataclass(frozen=True)
class Batch:
    """tokens (..., length) and target (...,), int64, with the parts they were made of, each (...,)."""

    tokens: Tensor
    target: Tensor
    key: Tensor
    first: Tensor
    second: Tensor
    place: Tensor


@dataclass(frozen=True)
class Task:
    """`table_seed` draws the memory table. `memory` says from where its labels come (Fig. 8 of the paper):

    "key": uniform on the keys 21 … 120 (the paper's main task, F1); "window": uniform on z − a − a' … z + a + a' (F2);
    "groups": the first anchor's group i = 1 … 4 has labels 30 … 29 + 20 i, groups being the anchors (1, 2, 3), (4, 5),
    (6, 7, 8) and (9, 10), which is our choice. `noise`: False leaves the three tokens alone, as the Emb-MLP model has them.
    """

    table_seed: int = 0
    memory: str = "key"
    noise: bool = True

    def __post_init__(self) -> None:
        if self.memory not in VARIANTS:
            raise ValueError(f"memory must be one of {', '.join(VARIANTS)}, got {self.memory!r}.")

    @property
    def length(self) -> int:
        return LENGTH if self.noise else 3

    @cached_property
    def table(self) -> Tensor:
        """(100, 10, 10) labels of the memory anchors: key, first and second anchor, each counted from its first."""
        key, first, second = torch.meshgrid(
            torch.arange(FIRST_KEY, LAST_KEY + 1), torch.tensor(MEMORY), torch.tensor(MEMORY), indexing="ij"
        )
        low, count = self._label_range(key, first, second)
        index = torch.arange(key.numel()).reshape(key.shape)
        return low + randint(torch.tensor(self.table_seed), _TABLE, index, count)

    def _label_range(self, key: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """The smallest label that an entry may have, and how many there are from it on."""
        if self.memory == "window":
            reach = first + second
            return key - reach, 2 * reach + 1
        if self.memory == "groups":
            ranges = torch.tensor([(labels.start, len(labels)) for labels in GROUP_LABELS], device=key.device)
            low, count = ranges[memory_group(first) - 1].unbind(-1)
            return low, count
        return torch.full_like(key, FIRST_KEY), torch.full_like(key, N_KEYS)

    @cached_property
    def pairs(self) -> Tensor:
        """(198, 2) pairs of anchors that are trained: 100 of memory, then 98 of reasoning."""
        memory = [(a, b) for a in MEMORY for b in MEMORY]
        reasoning = [(a, b) for a in REASONING for b in REASONING if (a, b) not in HELD_OUT]
        return torch.tensor([*memory, *reasoning])

    def label(self, key: Tensor, first: Tensor, second: Tensor) -> Tensor:
        """The label of any key with two anchors of one kind."""
        looked_up = self.table.to(key.device)[key - FIRST_KEY, (first - 1).clamp(max=9), (second - 1).clamp(max=9)]
        return torch.where(first <= MEMORY[-1], looked_up, key + first + second)

    def rows(self, seed: Tensor, index: Tensor) -> Batch:
        """Training rows. Row `index` of the data set `seed` is a pure function of the two (broadcast together)."""
        pair = self.pairs.to(index.device)[(index + torch.zeros_like(seed)) % len(self.pairs)]
        key = FIRST_KEY + randint(seed, _KEY, index, N_KEYS)
        place = randint(seed, _PLACE, index, N_PLACES) if self.noise else torch.zeros_like(key)
        return self._assemble(seed, index, key, pair[..., 0], pair[..., 1], place)

    def every(self, which: str, seed: int = 0) -> Batch:
        """Each key with each pair once, at a random place: "memory" (10,000 rows), "reasoning" (9,800), "held out" (200)."""
        choose = {"memory": slice(0, 100), "reasoning": slice(100, None)}
        pairs = torch.tensor(HELD_OUT) if which == "held out" else self.pairs[choose[which]]
        key = torch.arange(FIRST_KEY, LAST_KEY + 1).repeat(len(pairs))
        first, second = pairs.repeat_interleave(N_KEYS, 0).unbind(1)
        index = torch.arange(len(key))
        place = randint(torch.tensor(seed), _PLACE, index, N_PLACES) if self.noise else torch.zeros_like(key)
        return self._assemble(torch.tensor(seed), index, key, first, second, place)

    def examples(self, which: str, count: int = 4) -> Batch:
        """A few rows of a set with different keys and pairs, for a figure."""
        rows = self.every(which)
        chosen = torch.arange(count) * (len(rows.key) // count) + 37 * torch.arange(1, count + 1)
        return Batch(**{part: getattr(rows, part)[chosen] for part in Batch.__dataclass_fields__})

    def _assemble(self, seed: Tensor, index: Tensor, key: Tensor, first: Tensor, second: Tensor, place: Tensor) -> Batch:
        target = self.label(key, first, second)
        column = torch.arange(self.length, device=index.device)
        tokens = FIRST_KEY + randint(seed[..., None], _NOISE, index[..., None] * LENGTH + column, N_KEYS)
        for ahead, value in enumerate((key, first, second)):
            tokens = torch.where(column - place[..., None] == ahead, value[..., None], tokens)
        return Batch(tokens, target, key, first, second, place)


def memory_group(first: Tensor) -> Tensor:
    """The group 1 … 4 of a memory anchor, in the variant "groups"."""
    return 1 + (first > 3).long() + (first > 5).long() + (first > 8).long()
