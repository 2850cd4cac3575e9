"""The chain-of-thought task as the training loop sees it: batches of real columns, held-out prompts, where attention goes."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from lib.chain_of_thought.inference import nearest
from lib.chain_of_thought.models import OneLayer, OneLayerSpec, half_square
from lib.chain_of_thought.task import GROUPS, OTHER_STEPS, Task
from lib.core.record.spec import RunSpec, SpecError
from lib.core.sweep.jobs import records
from lib.core.train.ensemble import Ask

HELD_OUT_SEED = 7
N_QUESTIONS = 300
"""Prompts over which a run is measured, the same at every step; their tasks are never trained."""


class ChainOfThought:
    """Task arguments (of RunSpec.task): those of lib.chain_of_thought.task.Task. `length` is the number of columns of a
    prompt."""

    def __init__(self, patterns: int = 20, steps: int = 3, alpha: float = 0.4, length: int = 20) -> None:
        self.task = Task(patterns, steps, alpha, length)
        self.columns = self.task.columns
        self.length = (length + 1) * steps
        self.questions = self.task.draw(torch.tensor(HELD_OUT_SEED), torch.arange(N_QUESTIONS))
        self.prompt = self.columns.vectors(self.columns.kinds(self.questions))
        self.answer = self.columns.patterns[self.questions.answer]

    def batch(self, seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        """Prompts (R, B, n, D) and patterns to answer with (R, B, D_Y)."""
        prompts = self.task.draw(seed, index)
        return self.columns.vectors(self.columns.kinds(prompts)), self.columns.patterns.to(index.device)[prompts.answer]

    @torch.no_grad()
    def measure(self, ask: Ask) -> dict[str, Tensor]:
        """On held-out prompts of the training kind, each (R,): `held out`, the mean of ½ ‖z − f‖²; `right`, the share of
        answers whose nearest pattern is z; and the mean attention to the four groups of columns of the examples, and to those
        of other steps by their example."""
        model = cast(OneLayer, ask.ensemble.model)
        prompt = self.prompt.to(ask.ensemble.device)
        answer = model(prompt.expand(model.n_runs, *prompt.shape)).cpu()
        attention = model.weights(prompt.expand(model.n_runs, *prompt.shape)).cpu()
        groups = torch.cat([self.questions.groups, self.questions.other_steps]).float()
        attention = attention[..., : groups.shape[-1]]
        names = (*GROUPS, *OTHER_STEPS)
        found = {name: (attention * group).sum(-1).mean(1) for name, group in zip(names, groups, strict=True)}
        right = nearest(answer, self.columns.patterns) == self.questions.answer
        return {"held out": half_square(answer, self.answer).mean(1), "right": right.float().mean(1)} | found


@records("both", "pattern only", "step only", "neither", "right", "held out", "same example", "other example")
def make_study(spec: RunSpec) -> ChainOfThought:
    """Raises SpecError where the model is not of the prompts' shape."""
    study = ChainOfThought(**dict(spec.task))
    model = cast(OneLayerSpec, spec.model)
    if (model.steps, model.positions) != (study.task.steps, study.length):
        raise SpecError(
            f"prompts of {study.task.length} examples of {study.task.steps} steps need a model of {study.task.steps} steps and "
            f"{study.length} positions, got {model.steps} and {model.positions}."
        )
    return study
