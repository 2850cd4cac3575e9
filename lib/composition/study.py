"""The composition task as the training loop sees it: batches, and what is measured on the way."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lib.composition.task import INFERENTIAL_OFFSET, LENGTH, N_KEYS, SYMMETRIC_OFFSET, Task
from lib.core.model.rng import randint
from lib.core.record.spec import RunSpec
from lib.core.sweep.jobs import records
from lib.core.train.ensemble import Ask

_DRAW = 4  # stream of random numbers, after those of the task
OFFSETS = range(-20, 13)
"""Offsets from the key that are counted one by one; answers further off, or below the keys by more, are counted together."""
LOW_KEYS = 30
"""Keys below this one have inferential answers below 20, which no sequence ever shows."""
_TRAINED = 1500  # training rows that are asked, 100 of each pair


def histogram(offset: Tensor) -> Tensor:
    """How often each offset was answered: (R, B) → (R, 34) int64, one column for each of OFFSETS and one for the rest."""
    first, n = OFFSETS[0], len(OFFSETS)
    place = torch.where((offset >= first) & (offset <= OFFSETS[-1]), offset - first, n)
    return torch.zeros(len(offset), n + 1, dtype=torch.int64).scatter_add_(1, place, torch.ones_like(place))


class Composition:
    """Task arguments (of RunSpec.task): `modulus` of the split; `rows`, the size of the training set; `unseen` and `groups`,
    the variant of the task (lib.composition.task.table_of); `keys`, how many numbers there are.

    rows = 0 draws every row afresh. Otherwise each row is drawn, with replacement, from a fixed set of that size.
    """

    def __init__(
        self, modulus: int = 7, rows: int = 0, unseen: str = "one", groups: int | None = None, keys: int = N_KEYS
    ) -> None:
        self.task, self.n_rows, self.length = Task(modulus, unseen, groups, keys), rows, LENGTH
        # This makes the task's tables, too, outside any compiled program.
        self.trained = self.task.rows(torch.tensor(0), torch.arange(_TRAINED))
        self.test, self.held_out = self.task.test_rows(), self.task.held_out_rows()

    def batch(self, seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        """Training rows (tokens, target) number `index` of data set `seed`."""
        if self.n_rows:
            index = randint(seed, _DRAW, index, self.n_rows)
        batch = self.task.rows(seed, index)
        return batch.tokens, batch.target

    def measure(self, ask: Ask) -> dict[str, Tensor]:
        """What the runs answer; all but the last three (R,).

        `test`: share right on seen pairs at held-out (key, place); `symmetric` and `inferential`: shares of key − 6 and of
        key − 10 on (4, 3) (Zhang et al. 2024, section 3); what is left is neither. `train` and `train_loss`: share right and
        cross-entropy in nats on rows that training draws from, every pair equally often. `offsets` (R, 34): the histogram of
        answers to (4, 3), and `offsets_low` that of keys below 30; `pairs` (R, seen pairs): `test` of each pair.
        """
        test = (ask(self.test.tokens).cpu() == self.test.target).float()
        offset = ask(self.held_out.tokens).cpu() - self.held_out.key
        logits = ask.logits(self.trained.tokens).cpu()
        target = self.trained.target.expand(len(logits), -1)
        loss = F.cross_entropy(logits.transpose(1, 2), target, reduction="none")
        return {
            "test": test.mean(1),
            "symmetric": (offset == SYMMETRIC_OFFSET).float().mean(1),
            "inferential": (offset == INFERENTIAL_OFFSET).float().mean(1),
            "train": (logits.argmax(-1) == target).float().mean(1),
            "train_loss": loss.mean(1),
            "offsets": histogram(offset),
            "offsets_low": histogram(offset[:, self.held_out.key < LOW_KEYS]),
            "pairs": torch.stack([test[:, self.test.pair == p].mean(1) for p in range(len(self.task.taught))], 1),
        }


METRICS = ("test", "symmetric", "inferential", "train", "train_loss", "offsets", "offsets_low", "pairs")


@records(*METRICS, length=LENGTH)
def make_study(spec: RunSpec) -> Composition:
    return Composition(**dict(spec.task))
