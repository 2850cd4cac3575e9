"""What the training loop needs of the tasks: rows by number, and what is measured along training."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lib.core.record.spec import RunSpec
from lib.core.train.ensemble import Ask
from lib.language.addition import MARKS, Addition

N_ASKED = 2000
_ASKED = 83  # stream of random numbers


class Adding:
    """Addition of whole numbers: tokens `a b OUT`, and the sum as the one target."""

    length = 3

    def __init__(self, task: Addition, keep: tuple[int, ...] = ()) -> None:
        self.task, self.keep = task, frozenset(keep)
        self.test = task.whole(task.test)
        self.known = task.rows(torch.tensor(_ASKED), torch.arange(N_ASKED))
        distance = task.edge_distance(task.test)
        self.rings = [distance == d for d in range(int(distance.max()) + 1)] if task.split == "square" else []

    def batch(self, seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        rows = self.task.rows(seed, index)
        return rows.tokens, rows.target

    def measure(self, ask: Ask) -> dict[str, Tensor]:
        """Shares of right sums among the held-out pairs (`test`; `rings` by their distance from the edge of the square) and
        among pairs of training (`train`), and the cross-entropies of both, in nats."""
        found = {}
        for name, rows in (("test", self.test), ("train", self.known)):
            logits = ask.logits(rows.tokens)
            right = (logits.argmax(-1) == rows.target).float()
            target = rows.target.to(logits.device).expand(len(logits), -1)
            found[name] = right.mean(1)
            found[f"{name} loss"] = F.cross_entropy(logits.transpose(1, 2), target, reduction="none").mean(1)
            if name == "test" and self.rings:
                found["rings"] = torch.stack([right[:, ring].mean(1) for ring in self.rings], 1)
        return found

    @torch.no_grad()
    def snapshot(self, model: nn.Module, step: int) -> dict[str, Tensor]:
        """At the steps to keep: by how much the answer to every held-out pair is off, (R, pairs), in the order of `task.test`.
        A mark instead of a number counts as one below 0."""
        if step not in self.keep:
            return {}
        tokens = self.test.tokens.to(next(model.parameters()).device)
        answer = model(tokens.expand(model.n_runs, *tokens.shape)).argmax(-1).cpu()
        return {"off": (answer.clamp(min=len(MARKS) - 1) - self.test.target).float()}


def make_adding(spec: RunSpec) -> Adding:
    task = dict(spec.task)
    return Adding(keep=task.pop("keep", ()), task=Addition(**task))
