"""Many runs of one shape as one batched program.

An ensemble has slots. A slot holds one run: its weights, its optimizer's moments, its step, its rate and decay. Runs enter and
leave slots on their own clocks: a slot whose run has finished takes the next run of the queue, and the program keeps its
shape. No number passes from one slot to another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from lib.core.model.init import apply_gamma_stacked
from lib.core.record.spec import RunSpec, derived_seed
from lib.core.train.machine import threads
from lib.core.train.native import Program
from lib.core.train.optim import adamw_step, sgd_step, warmup_cosine

Rows = Callable[[Int[Tensor, "R 1"], Int[Tensor, "R B"]], tuple[Shaped[Tensor, "R B *rest"], Shaped[Tensor, "R B *other"]]]
"""Data seeds and row numbers → tokens (R, B, N) or whatever the model takes, and targets."""


def precision(device: torch.device, dtype: torch.dtype) -> torch.autocast:
    """Matrix products in `dtype`, everything else in single precision."""
    return torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32)


def losses(model: Any, tokens: Shaped[Tensor, "R B *rest"], target: Shaped[Tensor, "R B *other"]) -> Float[Tensor, " R"]:
    """The mean loss of each run: the model's own `losses` where it has one, else cross-entropy of the last position, of
    tokens (R, B, N) against targets (R, B)."""
    if hasattr(model, "losses"):
        return model.losses(tokens, target)
    logits = model(tokens).float()
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none").view(target.shape).mean(1)


class Ensemble:
    """`slots` runs of the shape of `spec` on one device. Empty slots have rate 0 and are ignored."""

    _CLOCKS = ("step", "data_seed", "rate", "decay", "anneal_from", "diverged_at", "loss_sum", "loss_steps")

    def __init__(self, spec: RunSpec, slots: int, device: torch.device, dtype: torch.dtype, backend: str) -> None:
        self.train, self.device, self.dtype, self.backend = spec.train, device, dtype, backend
        self.model: Any = spec.model.build(slots).to(device)
        self._threads = threads()
        self.runs: list[RunSpec | None] = [None] * slots
        self.exp_avg = [torch.zeros_like(p) for p in self.model.parameters()]
        self.exp_avg_sq = [torch.zeros_like(p) for p in self.model.parameters()]
        vector = lambda dtype, fill=0: torch.full((slots,), fill, dtype=dtype, device=device)
        self.step, self.data_seed = vector(torch.int64), vector(torch.int64)
        self.rate, self.decay = vector(torch.float64), vector(torch.float64)
        self.anneal_from = vector(torch.int64)  # where the schedule "fit" begins to anneal
        self.diverged_at = vector(torch.int64, -1)
        self.loss_sum, self.loss_steps = vector(torch.float64), vector(torch.int64)
        self._build()

    def _build(self) -> None:
        self._programs: dict[int, Program] = {}  # by the length of sequences
        if self.backend == "compiled":  # one program for each number of slots and each shape that a process trains
            torch._dynamo.config.recompile_limit = 64
        wrap: Any = torch.compile(dynamic=False) if self.backend == "compiled" else (lambda f: f)
        self._losses, self._update = wrap(losses), wrap(adamw_step if self.train.optimizer == "adamw" else sgd_step)

    def do_without_compiler(self) -> None:
        self.backend = "eager"
        self._build()

    @property
    def active(self) -> list[int]:
        return [slot for slot, run in enumerate(self.runs) if run is not None]

    def run(self, slot: int) -> RunSpec:
        """Raises ValueError for an empty slot."""
        if (run := self.runs[slot]) is None:
            raise ValueError(f"slot {slot} has no run")
        return run

    def load(self, slot: int, run: RunSpec) -> None:
        """Start `run` in `slot` from its γ initialization."""
        apply_gamma_stacked(self.model, [run.gamma], [derived_seed(run.seed, "weights")], [slot])
        if run.nudge:
            self._nudge(slot, run.nudge)
        for moment in (*self.exp_avg, *self.exp_avg_sq):
            moment[slot] = 0
        self.runs[slot] = run
        self.step[slot], self.diverged_at[slot], self.loss_sum[slot], self.loss_steps[slot] = 0, -1, 0, 0
        self.data_seed[slot] = derived_seed(run.seed, "data")
        self.rate[slot], self.decay[slot] = run.rate, run.decay
        self.anneal_from[slot] = self.train.steps - self.train.anneal

    @torch.no_grad()
    def _nudge(self, slot: int, number: int) -> None:
        """Move every weight that is not zero by one unit in its last place, up or down by lot."""
        lots = torch.Generator().manual_seed(derived_seed(number, "nudge"))
        for p in self.model.parameters():
            up = torch.randint(2, p.shape[1:], generator=lots, dtype=torch.bool).to(p.device)
            moved = torch.nextafter(p[slot], torch.where(up, torch.inf, -torch.inf).to(p))
            p[slot] = torch.where(p[slot] == 0, p[slot], moved)

    def free(self, slot: int) -> None:
        self.runs[slot], self.rate[slot], self.decay[slot] = None, 0, 0

    def weights(self, slot: int) -> dict[str, Tensor]:
        """The weights of one run, without the run axis, on the CPU."""
        return {name: p[slot].detach().cpu().clone() for name, p in self.model.named_parameters()}

    @torch.no_grad()
    def compact(self, slots: int) -> None:
        """Keep the active runs in an ensemble of `slots` slots (at least as many as are active)."""
        keep = (self.active + [s for s, run in enumerate(self.runs) if run is None])[:slots]
        old = list(self.model.parameters())
        self.model = self.model.spec.build(slots).to(self.device)
        for p, q in zip(self.model.parameters(), old, strict=True):
            p.copy_(q[keep])
        self.exp_avg, self.exp_avg_sq = [m[keep] for m in self.exp_avg], [v[keep] for v in self.exp_avg_sq]
        self.runs = [self.runs[s] for s in keep]
        for name in self._CLOCKS:
            setattr(self, name, getattr(self, name)[keep])
        self._build()

    def state(self) -> dict[str, Shaped[Tensor, "R ..."]]:
        """Everything that a step reads and writes, copied to the CPU."""
        arrays = {name: getattr(self, name) for name in self._CLOCKS}
        for i, (name, p) in enumerate(self.model.named_parameters()):
            arrays |= {f"weight.{name}": p.detach(), f"mean.{name}": self.exp_avg[i], f"square.{name}": self.exp_avg_sq[i]}
        return {name: tensor.to("cpu", copy=True) for name, tensor in arrays.items()}

    @torch.no_grad()
    def restore(self, runs: Sequence[RunSpec | None], state: dict[str, Shaped[Tensor, "R ..."]]) -> None:
        """Put back what `state` returned of an ensemble of the same shape. Raises ValueError for another's."""
        here = self.state()
        if {n: t.shape for n, t in here.items()} != {n: t.shape for n, t in state.items()} or len(runs) != len(self.runs):
            raise ValueError("these arrays are not of an ensemble of this shape")
        self.runs = list(runs)
        for name in self._CLOCKS:
            getattr(self, name).copy_(state[name])
        for i, (name, p) in enumerate(self.model.named_parameters()):
            for kind, target in (("weight", p), ("mean", self.exp_avg[i]), ("square", self.exp_avg_sq[i])):
                target.copy_(state[f"{kind}.{name}"])

    def current_rate(self) -> Float[Tensor, " R"]:
        t = self.train
        if t.schedule == "cosine":
            return warmup_cosine(self.step, self.rate, t.warmup, t.steps, t.start, t.final)
        rise = warmup_cosine(self.step, self.rate, t.warmup, t.warmup, t.start, 1.0)
        fall = warmup_cosine(self.step - self.anneal_from, self.rate, 0, t.anneal, 1.0, t.final)
        return torch.where(self.step < self.anneal_from, rise, fall)

    def train_step(self, rows: Rows) -> None:
        """One step of every slot."""
        batch = torch.arange(self.train.batch, device=self.device)
        at = self.step
        if None in self.runs and self.active:  # an empty slot must not make the rows of a step longer
            empty = torch.tensor([run is None for run in self.runs], device=self.device)
            at = torch.where(empty, at[self.active[0]], at)
        tokens, target = rows(self.data_seed[:, None], at[:, None] * self.train.batch + batch)
        loss = self._native_step(tokens, target) if self.backend == "native" else self._torch_step(tokens, target)
        bad = ~loss.isfinite() & (self.diverged_at < 0)
        self.diverged_at = torch.where(bad, self.step, self.diverged_at)
        self.loss_sum += loss
        self.loss_steps += 1
        self.step += 1

    def _torch_step(self, tokens: Tensor, target: Tensor) -> Tensor:
        with precision(self.device, self.dtype):
            loss = self._losses(self.model, tokens, target)
        params = list(self.model.parameters())
        grads = torch.autograd.grad(loss.sum(), params)
        rate, decay, count = self.current_rate().float(), self.decay.float(), (self.step + 1).float()
        with torch.no_grad():
            if self.train.optimizer == "adamw":
                self._update(params, grads, self.exp_avg, self.exp_avg_sq, rate, decay, count, self.train.clip)
            else:
                self._update(params, grads, rate, decay, self.train.clip)
        return loss.detach()

    def _native_step(self, tokens: Tensor, target: Tensor) -> Tensor:
        batch, length = tokens.shape[1:]
        if length not in self._programs:
            self._programs[length] = Program(self.model.spec, batch, length, min(self._threads, len(self.runs)), self.dtype)
        clocks = (self.current_rate(), self.decay, self.step + 1)
        moments = (self.exp_avg, self.exp_avg_sq)
        return self._programs[length].step(self.model, moments, tokens, target, self.active, *clocks, self.train.clip)

    def predict(
        self, tokens: Int[Tensor, "B N"], dtype: torch.dtype | None = None, chunk: int = 2048
    ) -> Int[Tensor, "R B *each"]:
        """The answer of every run to the same rows, the argmax of the last position; or of each, where a model has it."""
        return self._ask(tokens, dtype, chunk, lambda logits: logits.argmax(-1))

    def logits(
        self, tokens: Shaped[Tensor, "B N *D"], dtype: torch.dtype | None = None, chunk: int = 2048
    ) -> Float[Tensor, "R B *V"]:
        """The last position's logits of every run on the same rows, in single precision; of a model that answers with numbers,
        these."""
        return self._ask(tokens, dtype, chunk, Tensor.float)

    @torch.no_grad()
    def _ask(self, tokens: Tensor, dtype: torch.dtype | None, chunk: int, keep: Callable[[Tensor], Tensor]) -> Tensor:
        with precision(self.device, dtype or self.dtype):
            parts = tokens.to(self.device).split(chunk)
            return torch.cat([keep(self.model(part.expand(len(self.runs), *part.shape))) for part in parts], 1)

    def mean_losses(self) -> list[float]:
        """Mean training loss of each slot since the last call."""
        mean = (self.loss_sum / self.loss_steps.clamp(min=1)).tolist()
        self.loss_sum.zero_()
        self.loss_steps.zero_()
        return mean


@dataclass(frozen=True)
class Ask:
    """What a study may ask the runs of an ensemble: answers by a call, or logits."""

    ensemble: Ensemble
    dtype: torch.dtype | None = None

    def __call__(self, tokens: Int[Tensor, "B N"]) -> Int[Tensor, "R B *each"]:
        return self.ensemble.predict(tokens, self.dtype)

    def logits(self, tokens: Shaped[Tensor, "B N *D"]) -> Float[Tensor, "R B *V"]:
        return self.ensemble.logits(tokens, self.dtype)


def check_same_shape(specs: Sequence[RunSpec]) -> None:
    if len({spec.shape for spec in specs}) > 1:
        raise ValueError("the runs of one ensemble must agree in everything but gamma, seed, nudge, rate and decay.")
