"""The composition task as the training loop sees it: batches, and what is measured on the way."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from lib.composition.task import INFERENTIAL_OFFSET, LENGTH, SYMMETRIC_OFFSET, Task
from lib.core.rng import randint
from lib.core.spec import RunSpec

_DRAW = 4  # stream of random numbers, after those of the task


class Composition:
    """Task arguments (of RunSpec.task): `modulus` of the split; `rows`, the size of the training set; `unseen` and `groups`,
    the variant of the task (lib.composition.task.table_of).

    rows = 0 draws every row afresh. Otherwise each row is drawn, with replacement, from a fixed set of that size.
    """

    def __init__(self, modulus: int = 7, rows: int = 0, unseen: str = "one", groups: int | None = None) -> None:
        self.task, self.n_rows, self.length = Task(modulus, unseen, groups), rows, LENGTH
        self.task.rows(torch.tensor(0), torch.arange(1))  # makes the tables, outside any compiled program
        self.test, self.held_out = self.task.test_rows(), self.task.held_out_rows()

    def batch(self, seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        """Training rows (tokens, target) number `index` of data set `seed`."""
        if self.n_rows:
            index = randint(seed, _DRAW, index, self.n_rows)
        batch = self.task.rows(seed, index)
        return batch.tokens, batch.target

    def measure(self, ask: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
        """Shares of answers, each (R,): `test` right on seen pairs at held-out (key, place); on (4, 3) the `symmetric` answer
        key − 6 and the `inferential` answer key − 10 (Zhang et al. 2024, section 3). What is left is neither."""
        test = ask(self.test.tokens).cpu() == self.test.target
        offset = ask(self.held_out.tokens).cpu() - self.held_out.key
        return {
            "test": test.float().mean(1),
            "symmetric": (offset == SYMMETRIC_OFFSET).float().mean(1),
            "inferential": (offset == INFERENTIAL_OFFSET).float().mean(1),
        }


def make_study(spec: RunSpec) -> Composition:
    return Composition(**dict(spec.task))
