"""In-context classification as the training loop sees it: prompts, errors on seen and unseen tasks, attention and neurons."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from lib.core.record.spec import RunSpec, SpecError, check_count
from lib.core.sweep.jobs import records
from lib.core.train.ensemble import Ask
from lib.in_context.models import OneLayer, VectorGPT2, VectorGPT2Spec, hinge
from lib.in_context.task import D_X, Prompts, Task, all_pairs

TEST_SEED = 1_000_003
"""The stream of test prompts that every run answers on the way; training streams are 62-bit seeds."""
N_TEST, N_WATCHED = 1000, 300
FOREIGN_SUM = 1.1
"""S₁ of the out-of-domain patterns on which attention is watched."""
SUMS = (0.5, 0.7, 0.9, 1.1, 1.3)
"""The paper's S₁ (Fig. 12)."""
CONDITIONS: tuple[tuple[str, dict[str, float | bool]], ...] = (
    ("in domain", {}),
    *((f"S1 = {s:g}", {"sum": s}) for s in SUMS),
    ("outside the span", {"outside": True}),
)
ALPHAS = (0.8, 0.9, 1.0)
"""The paper's α' (Fig. 13)."""


class InContext:
    """Task arguments (of RunSpec.task): those of lib.in_context.task.Task for the training prompts; `keep`, the evaluated steps
    at which every run leaves its neurons; `prompts`, on how many prompts a GPT-2 is tested for each condition when trained;
    `only`, the one condition that it is tested in."""

    def __init__(self, keep: tuple[int, ...] = (), prompts: int = 0, only: str = "", **task: Any) -> None:
        self.task, self.keep, self.prompts, self.only = Task(**task), frozenset(keep), prompts, only
        self.length = self.task.length + 1
        self.sets = {"seen": self._test(self.task, self.task.pairs)}
        if len(self.task.unseen):
            self.sets["unseen"] = self._test(self.task, self.task.unseen)
        watched = {"": self._test(self.task, all_pairs(self.task.count), N_WATCHED)}
        # out of domain there are M₁ / mix patterns, of which a task's two must leave one
        if self.keep and self.task.m1 // self.task.mix >= 3:
            watched["foreign "] = self._test(foreign(self.task, sum=FOREIGN_SUM), None, N_WATCHED)
        self.watched = watched

    @staticmethod
    def _test(task: Task, pairs: Tensor | None, count: int = N_TEST) -> Prompts:
        return task.draw(torch.tensor(TEST_SEED), torch.arange(count), pairs)

    def batch(self, seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        """Training prompts (prompt, target) number `index` of data set `seed`."""
        drawn = self.task.draw(seed, index)
        return drawn.prompt, drawn.target

    def measure(self, ask: Ask) -> dict[str, Tensor]:
        """Of each set, seen tasks and unseen ones, the share of right signs under its name and the hinge loss of the query
        under "name loss", each (R,)."""
        found = {}
        for name, test in self.sets.items():
            margin = ask.logits(test.prompt).cpu()
            margin = margin[..., -1] if margin.dim() == 3 else margin
            found[name] = (margin * test.answer > 0).float().mean(1)
            found[f"{name} loss"] = hinge(margin, test.answer).mean(1)
        return found

    @torch.no_grad()
    def watch(self, model: nn.Module) -> dict[str, Tensor]:
        """Of each layer "attention.k": the query's attention to columns of its own pattern. Where snapshots are kept, also
        out of domain (names that begin with "foreign"), and of one layer the norms of W_Q p_query and W_K p_i with their
        projections on the unit pattern (Fig. 8), and `push`."""
        if not isinstance(model, OneLayer):
            return {}
        found = {}
        for where, test in self.watched.items():
            prompt = test.prompt.to(model.a.device).expand(model.n_runs, *test.prompt.shape)
            same = test.same.to(model.a.device)
            for k, attention in enumerate(model.query_attention(prompt), start=1):
                found[f"{where}attention.{k}"] = (attention * same).sum(-1).mean(1)
            if model.spec.depth == 1 and self.keep:
                task = foreign(self.task, sum=FOREIGN_SUM) if where else self.task
                found |= {f"{where}{name}": value for name, value in projections(model, task, test, prompt).items()}
                if not where:
                    found["push"] = push(model, task, test, prompt)
        return found

    @torch.no_grad()
    def snapshot(self, model: nn.Module, step: int) -> dict[str, Tensor]:
        """At the steps to keep: of every layer k the neurons, see `neurons`. Of a trained GPT-2 "errors" and "counts" (R, n,
        l + 1): the share of wrong signs at every prompt length in every condition, and on how many queries."""
        if step not in self.keep:
            return {}
        if isinstance(model, VectorGPT2):
            return self.errors(model)
        if not isinstance(model, OneLayer):
            raise ValueError(f"a {type(model).__name__} has no neurons to keep.")
        return {
            f"{name}.{k}": value
            for k in range(1, model.spec.depth + 1)
            for name, value in neurons(model, self.task.m1, k).items()
        }

    def errors(self, model: VectorGPT2, chunk: int = 500) -> dict[str, Tensor]:
        """Every column with a label is the query of the columns before it, so that one prompt tests all lengths."""
        wrong, count = [], []
        for row, (condition, alpha) in enumerate(error_rows(self.only)):
            change = dict(CONDITIONS)[condition]
            task = foreign(self.task, alpha=alpha, **change) if change else replace(self.task, alpha=alpha)
            pairs = None if change else self.task.unseen
            total, right = torch.zeros((), dtype=torch.int64), torch.zeros((), dtype=torch.int64)
            for start in range(0, self.prompts, chunk):
                index = torch.arange(start, min(start + chunk, self.prompts)) + row * self.prompts
                test = task.draw(torch.tensor(TEST_SEED), index, pairs)
                margin = model(test.prompt.expand(model.n_runs, *test.prompt.shape)).float()
                right = right + (margin * test.target > 0).sum(1)
                total = total + (test.target != 0).sum(0)
            wrong.append(1 - right / total)
            count.append(total.expand(model.n_runs, -1))
        return {"errors": torch.stack(wrong, 1), "counts": torch.stack(count, 1).float()}


def error_rows(only: str = "") -> list[tuple[str, float]]:
    """The rows of "errors": condition and α', of all conditions or of one."""
    return [(name, alpha) for name, _ in CONDITIONS for alpha in ALPHAS if only in ("", name)]


def foreign(task: Task, **change: object) -> Task:
    """The out-of-domain task that goes with a training task. There are M₁ / mix patterns, and all their pairs are asked."""
    return replace(task, shifts=(1,), among=0, drawn=0, within=None, **change)


def projections(model: OneLayer, task: Task, test: Prompts, prompt: Tensor) -> dict[str, Tensor]:
    """(R,) each: mean norms of W_Q p_query and W_K p_i, and mean lengths along the unit pattern of their column."""
    attention = model.layers[0].attention
    unit = nn.functional.pad(task.patterns, (0, prompt.shape[-1] - D_X)).to(prompt.device)[test.pattern]
    query, key = attention.W_Q(prompt[:, :, -1]), attention.W_K(prompt[:, :, :-1])
    return {
        "query norm": query.norm(dim=-1).mean(1),
        "query projection": (query * unit[:, -1]).sum(-1).mean(1),
        "key norm": key.norm(dim=-1).mean((1, 2)),
        "key projection": (key * unit[:, :-1]).sum(-1).mean((1, 2)),
    }


def push(model: OneLayer, task: Task, test: Prompts, prompt: Tensor) -> Tensor:
    """(R,) the mean cosine of −∂L/∂W_Q p_query with the query's unit pattern, where L is the hinge loss of all prompts; 0 where
    no margin is below 1."""
    name = "layers.0.attention.W_Q.weight"
    weight = model.get_parameter(name).detach().requires_grad_()
    with torch.enable_grad():
        margin = torch.func.functional_call(model, {name: weight}, (prompt,))
        loss = hinge(margin, test.answer.to(margin.device)).mean(1).sum()
    (gradient,) = torch.autograd.grad(loss, weight)
    pushed = -(prompt[:, :, -1] @ gradient.mT)
    unit = task.patterns.to(pushed.device)[test.pattern[:, -1]]
    return ((pushed[..., :D_X] * unit).sum(-1) / pushed.norm(dim=-1).clamp(min=1e-30)).mean(1)


def neurons(model: OneLayer, m1: int, layer: int = 1) -> dict[str, Tensor]:
    """Rows of W_O W_V, (R, m) each: the feature half's norm and its angle to the mean pattern, the label half's norm and its
    angle to q, angles in units of π (Figs 10 and 11); and "row norm", that of the row of W_O (Fig. 14). The `m1` relevant
    patterns lie along the first axes."""
    part = model.layers[layer - 1]
    rows = (part.W_O.weight @ part.W_V.weight).nan_to_num()
    feature, label = rows[..., :D_X], rows[..., D_X:]
    return {
        "feature norm": feature.norm(dim=-1),
        "feature angle": angle(feature, (torch.arange(D_X, device=feature.device) < m1).float()),
        "label norm": label.norm(dim=-1),
        "label angle": angle(label, torch.eye(label.shape[-1], device=label.device)[0]),
        "row norm": part.W_O.weight.nan_to_num().norm(dim=-1),
    }


def angle(rows: Tensor, direction: Tensor) -> Tensor:
    """Angles in units of π, ½ for a zero row."""
    cosine = (rows @ direction) / (rows.norm(dim=-1) * direction.norm()).clamp(min=1e-12)
    return cosine.clamp(-1, 1).acos() / math.pi


def task_from(spec: RunSpec) -> Task:
    """The task of a run's training prompts."""
    return Task(**{name: value for name, value in spec.task if name not in ("keep", "prompts", "only")})


@records("seen", "seen loss", sometimes=("unseen", "unseen loss"))
def make_study(spec: RunSpec) -> InContext:
    """Raises SpecError for snapshots that would never be taken and for prompts that do not fit the model."""
    task = dict(spec.task)
    if lost := [step for step in task.get("keep", ()) if step % spec.train.eval_every or not 0 < step <= spec.train.steps]:
        raise SpecError(f"a snapshot at step {lost[0]} would never be taken: use multiples of {spec.train.eval_every}.")
    if spec.model.kind == VectorGPT2Spec.kind and task.get("keep"):
        check_count("prompts", task.get("prompts"))
        if not error_rows(task.get("only", "")):
            raise SpecError(f"unknown condition {task['only']!r}: choose from {', '.join(dict(CONDITIONS))}.")
    study = InContext(**task)
    if study.length != spec.model.positions:
        raise SpecError(f"a prompt of {study.length} columns needs a model with as many positions, got {spec.model.positions}.")
    return study
