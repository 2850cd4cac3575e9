"""The memory and reasoning task as the training loop sees it: batches, losses of three sets, what is kept on the way."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lib.core.model.rng import randint
from lib.core.model.transformer import ActivationCache, Transformer
from lib.core.record.spec import RunSpec, SpecError, check_count
from lib.core.sweep.jobs import records
from lib.core.train.ensemble import Ask, Ensemble
from lib.reasoning_bias.models import EmbMLP
from lib.reasoning_bias.task import LENGTH, MEMORY, N_PLACES, REASONING, VOCAB, Batch, Task, memory_group
from lib.reasoning_bias.theory import label_distribution

SETS = ("memory", "reasoning", "held out")
ANCHORS = torch.tensor(MEMORY + REASONING)
_DRAW, _CHOOSE = 15, 16  # streams of random numbers, after those of the task
N_ROWS = 600
FEWEST_ROWS = 198
N_QUESTIONS = 64
"""Sequences over which attention is measured."""
N_FOLLOWED = 40
"""Sequences of each place of the key over which the second attention is followed along training."""


class MemoryAndReasoning:
    """Task arguments (of RunSpec.task): `table_seed`, `memory` and `noise` as in lib.reasoning_bias.task.Task; `rows`, the size
    of the training set, which all runs share, in an order of their own (0: every row is drawn afresh); `keep`, the evaluated
    steps at which every run leaves a snapshot; `drive`, whether snapshots hold what drives the embeddings; `follow`, whether
    the history holds which circuit a run is in (`watch`)."""

    def __init__(
        self,
        table_seed: int = 0,
        memory: str = "key",
        noise: bool = True,
        rows: int = 0,
        keep: tuple[int, ...] = (),
        drive: bool = False,
        follow: bool = False,
    ) -> None:
        self.task, self.keep, self.drive = Task(table_seed, memory, noise), frozenset(keep), drive
        self.length = self.task.length
        self.task.rows(torch.tensor(0), torch.arange(1))  # makes the tables, outside any compiled program
        self.data = self.task.rows(torch.tensor(table_seed), torch.arange(rows)) if rows else None
        self.sets = {name: self._some(name) for name in SETS}
        every = self.task.every("memory")
        chosen = torch.arange(0, len(every.key), len(every.key) // N_QUESTIONS)[:N_QUESTIONS]
        self.questions = every.tokens[chosen]
        self.memory_rows, self.groups = every.tokens[::10], memory_group(every.first[::10])
        self.followed = [placed(self.task, place, N_FOLLOWED) for place in range(N_PLACES)] if follow else []

    def batch(self, seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        """Training rows (tokens, target) number `index` of data set `seed`."""
        if self.data is None:
            batch = self.task.rows(seed, index)
            return batch.tokens, batch.target
        chosen = randint(seed, _DRAW, index, len(self.data.target))
        return self.data.tokens.to(index.device)[chosen], self.data.target.to(index.device)[chosen]

    def _some(self, name: str) -> Batch:
        """Rows of a set, the same in every run: of the two trained sets those of the training set, if it is a fixed one."""
        if self.data is not None and name != "held out":
            rows = self.data
            own = (rows.first <= MEMORY[-1]) == (name == "memory")
            chosen = own.nonzero()[:N_ROWS, 0]
        else:
            rows = self.task.every(name)
            order = randint(torch.tensor(0), _CHOOSE, torch.arange(len(rows.key)), 2**30).argsort()
            chosen = order[:N_ROWS]
        return Batch(**{part: getattr(rows, part)[chosen] for part in Batch.__dataclass_fields__})

    def measure(self, ask: Ask) -> dict[str, Tensor]:
        """Of each set, memory, reasoning (its training pairs) and held out (its two masked pairs), the share of right answers
        under its name and the cross-entropy in nats under "name loss", each (R,)."""
        found = {}
        for name, batch in self.sets.items():
            logits = ask.logits(batch.tokens).cpu()
            target = batch.target.expand(logits.shape[:2])
            found[name] = (logits.argmax(-1) == target).float().mean(1)
            found[f"{name} loss"] = F.cross_entropy(logits.movedim(-1, 1), target, reduction="none").mean(1)
        return found

    def snapshot(self, model: Any, step: int) -> dict[str, Tensor]:
        """At the steps to keep: `anchors` (R, 20, D), the anchors' embeddings, and what explains them in this kind of model."""
        if step not in self.keep:
            return {}
        found = {"anchors": model.embedding.token[:, ANCHORS.to(model.embedding.token.device)]}
        if self.task.memory == "groups":
            found["groups"] = self._distributions(model)
        if self.drive:
            found |= drive(model)
        if isinstance(model, Transformer):
            found |= self.attention(model)
        return found

    def attention(self, model: Transformer) -> dict[str, Tensor]:
        """Of the first layer. `spectrum` (R, min(D, d_v)), the singular values of W^V, and `direction` (R, D), the left
        singular vector of the largest; `attention` and `deviation` (R, N, N), its attention, the mean over questions, and the
        largest distance of any question's from the causal average 1 / i (Lemma 1)."""
        questions = self.questions.to(model.embedding.token.device)
        activations = ActivationCache()
        model(questions.expand(model.n_runs, *questions.shape), activations)
        attention = activations["attention.1"].mean(2)  # (R, B, N, N), over heads
        far = (attention - causal_average(self.length).to(attention.device)).abs().amax(1)
        direction, spectrum = first_direction(model)
        return {"spectrum": spectrum, "direction": direction, "attention": attention.mean(1), "deviation": far}

    @torch.no_grad()
    def watch(self, model: Any) -> dict[str, Tensor]:
        """Where the history follows the circuit, each (R,): `on the key`, the share of the last token's second attention that
        goes to the key, mean over its places; `along reasoning`, the mean |cosine| of the first direction of the first layer's
        W^V with the embeddings of the reasoning anchors."""
        if not self.followed:
            return {}
        tokens = torch.cat(self.followed).to(model.embedding.token.device)
        place = torch.cat([torch.full((len(rows),), i) for i, rows in enumerate(self.followed)]).to(tokens.device)
        activations = ActivationCache()
        model(tokens.expand(model.n_runs, *tokens.shape), activations)
        last = activations["attention.2"].mean(2)[:, :, -1]  # (R, B, N), mean over heads
        key = last.gather(2, place.expand(len(last), -1)[..., None])[..., 0]
        anchors = model.embedding.token[:, torch.tensor(REASONING, device=tokens.device)]
        cosine = F.cosine_similarity(anchors, first_direction(model)[0][:, None], dim=-1)
        return {"on the key": key.mean(1), "along reasoning": cosine.abs().mean(1)}

    def _distributions(self, model: Any) -> Tensor:
        """(R, 4, V): the mean output distribution of the memory rows of each group."""
        rows = self.memory_rows.to(model.embedding.token.device)
        found = model(rows.expand(model.n_runs, *rows.shape)).float().softmax(-1).cpu()
        return torch.stack([found[:, self.groups == i].mean(1) for i in range(1, 5)], 1)


def first_direction(model: Transformer) -> tuple[Tensor, Tensor]:
    """Of the first layer's W^V: the left singular vector of the largest singular value, (R, D), and all values, falling."""
    values = model.blocks[0].attention.W_V.weight.nan_to_num()  # a diverged run must not stop those beside it
    left, spectrum, _ = torch.linalg.svd(values, full_matrices=False)
    return left[..., 0], spectrum


def placed(task: Task, place: int, n: int = 200) -> Tensor:
    """(n, 9) reasoning rows whose key stands at this place."""
    every = task.every("reasoning")
    tokens = every.tokens[every.place == place]
    return tokens[:: max(1, len(tokens) // n)][:n]


def causal_average(length: int) -> Tensor:
    """(N, N): every place attends to itself and all before it alike."""
    return torch.ones(length, length).tril() / torch.arange(1, length + 1)[:, None]


def drive(model: Any) -> dict[str, Tensor]:
    """`drive` (R, 20, D): for each anchor d_vob times what theory multiplies by r_s, the share of sequences with that anchor.

    Emb-MLP (Eq. 4): (P^s − 1 / d_vob) W_2ᵀ W_1ᵀ. One-layer transformer without norm and head (Props 2 and 3):
    (P^s − 1 / d_vob) (W^f + 1)ᵀ (W^VO + 1)ᵀ / L, with W^f = W_1 W_2 and W^VO = W^V W^O; there `direct` is the part of the
    second 1, along the residual stream, by which the anchor moves only where it stands last.
    """
    far = torch.stack([torch.tensor(label_distribution(int(s)) * VOCAB - 1).float() for s in ANCHORS])
    if isinstance(model, EmbMLP):
        return {"drive": far.to(model.W_1.weight.device) @ (model.W_1.weight @ model.W_2.weight).mT}
    if not isinstance(model, Transformer) or model.spec.depth != 1 or model.spec.head or model.spec.norm != "none":
        raise ValueError("the flow of embeddings is that of an Emb-MLP or of one layer without norm and head.")
    block = model.blocks[0]
    one = torch.eye(model.spec.d_model, device=block.W_1.weight.device)
    after, values = block.W_1.weight @ block.W_2.weight, block.attention.W_V.weight @ block.attention.W_O.weight
    direct = far.to(one.device) @ (after + one).mT / LENGTH
    return {"drive": direct @ (values + one).mT, "direct": direct}


@records("memory", "memory loss", "reasoning", "reasoning loss", "held out", "held out loss")
def make_study(spec: RunSpec) -> MemoryAndReasoning:
    """Raises SpecError for a training set that is too small to hold both kinds, and for snapshots that would never be taken."""
    task = dict(spec.task)
    check_count("rows", task.get("rows", 0), low=0)
    if 0 < task.get("rows", 0) < FEWEST_ROWS:
        raise SpecError(f"rows must be 0 or at least {FEWEST_ROWS}, so that every pair occurs, got {task['rows']}.")
    if lost := [step for step in task.get("keep", ()) if step % spec.train.eval_every or not 0 < step <= spec.train.steps]:
        raise SpecError(f"a snapshot at step {lost[0]} would never be taken: use multiples of {spec.train.eval_every}.")
    return MemoryAndReasoning(**dict(spec.task))


def losses_at_start(spec: RunSpec) -> dict[str, float]:
    """The losses of the three sets before the first step of a run, in nats."""
    ensemble = Ensemble(spec, 1, torch.device("cpu"), torch.float32, "eager")
    ensemble.load(0, spec)
    found = make_study(spec).measure(Ask(ensemble))
    return {name: float(found[f"{name} loss"]) for name in SETS}
