"""The loop: fill the slots of an ensemble, step, evaluate, hand out every run as it finishes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from lib.core.ensemble import Ensemble, check_same_shape, slots_for
from lib.core.spec import RunSpec


class Study(Protocol):
    """What the loop needs of a task."""

    def batch(self, seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        """Training rows (tokens, target) number `index` of data set `seed`."""

    def measure(self, predict: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
        """Metrics in [0, 1], each (R,), of predict: tokens (B, N) → answers (R, B)."""


@dataclass
class RunResult:
    """What one finished run leaves: final metrics, their history, and its weights (without the run axis)."""

    spec: RunSpec
    metrics: dict[str, float]
    history: dict[str, list[float]]
    steps: int
    status: str  # "fitted", "unfitted" (stopped at the step limit) or "diverged"
    fit_step: int | None
    seconds: float
    weights: dict[str, Tensor] = field(repr=False, default_factory=dict)


def worth_compiling(specs: Sequence[RunSpec]) -> bool:
    """Is there so much to train that compiling first (a minute at most) pays? Counts floating-point operations."""
    work = sum(
        s.train.steps * s.train.batch * s.model.depth * s.model.d_model * (s.model.d_ff + s.model.d_model) for s in specs
    )
    return work > 2e11


class DeviceError(RuntimeError):
    """A device that is unknown or not there; the message says which to use instead."""


@dataclass(frozen=True)
class Options:
    """How to compute, which may change speed and rounding but not what is learned."""

    device: str = "auto"
    slots: int = 8
    bf16: bool = True
    compile: bool | None = None
    """None compiles where the work outlasts the compiler: see worth_compiling."""

    def __post_init__(self) -> None:
        if self.slots < 1:
            raise ValueError(f"slots must be at least 1, got {self.slots}.")

    def resolve(self) -> tuple[torch.device, torch.dtype]:
        """Raises DeviceError for a device that is not there."""
        return choose_device(self.device), torch.bfloat16 if self.bf16 else torch.float32


def choose_device(name: str) -> torch.device:
    """ "auto" is a GPU where there is one, else the CPU. Raises DeviceError for a device that is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise DeviceError(f"unknown device {name!r}: use auto, cpu or cuda.") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise DeviceError("no CUDA device was found here: use device=cpu or device=auto.")
    if device.type not in ("cpu", "cuda"):
        raise DeviceError(f"device {name!r} is not supported: use auto, cpu or cuda.")
    return device


def train(
    specs: Sequence[RunSpec], study: Study, options: Options, on_step: Callable[[dict[str, Any]], None] | None = None
) -> Iterator[RunResult]:
    """Train runs of one shape, yielding each as it finishes, in the order in which they finish.

    `on_step` is called at every evaluation with what there is to show.
    """
    if not specs:
        return
    check_same_shape(specs)
    device, dtype = options.resolve()
    t = specs[0].train
    queue = list(specs)[::-1]
    compiled = worth_compiling(specs) if options.compile is None else options.compile
    ensemble = Ensemble(specs[0], slots_for(len(queue), options.slots), device, dtype, compiled)
    rows = torch.compile(study.batch, dynamic=False) if compiled else study.batch
    histories: dict[int, dict[str, list[float]]] = {}
    fit_steps: dict[int, int | None] = {}
    costs: dict[int, float] = {}
    tick, ticks = time.perf_counter(), 0
    while queue or ensemble.active:
        for slot, run in enumerate(ensemble.runs):
            if run is None and queue:
                ensemble.load(slot, queue.pop())
                histories[slot], fit_steps[slot], costs[slot] = {}, None, 0.0
        wanted = slots_for(len(ensemble.active), len(ensemble.runs))
        if wanted < len(ensemble.runs):
            old = ensemble.active
            ensemble.compact(wanted)
            for table in (histories, fit_steps, costs):
                moved = {new: table[slot] for new, slot in enumerate(old)}
                table.clear()
                table.update(moved)
        ensemble.advance(rows)
        ticks += 1
        if ticks % t.eval_every:
            continue
        elapsed, tick = time.perf_counter() - tick, time.perf_counter()
        metrics = {name: v.tolist() for name, v in study.measure(ensemble.predict).items()}
        means, steps, diverged = ensemble.mean_losses(), ensemble.step.tolist(), ensemble.diverged_at.tolist()
        active = ensemble.active
        for slot in active:
            costs[slot] += elapsed / len(active)
            now = {"step": steps[slot], "loss": means[slot]} | {name: v[slot] for name, v in metrics.items()}
            for name, value in now.items():
                histories[slot].setdefault(name, []).append(value if math.isfinite(value) else None)
            if t.schedule == "fit" and fit_steps[slot] is None and now[t.fit_metric] >= t.fit_level:
                fit_steps[slot] = steps[slot]
                ensemble.anneal_from[slot] = min(steps[slot] + t.hold, t.steps - t.anneal)
        ends = (ensemble.anneal_from + t.anneal if t.schedule == "fit" else ensemble.step * 0 + t.steps).tolist()
        done = [slot for slot in active if diverged[slot] >= 0 or steps[slot] >= ends[slot]]
        if done:
            final = {name: v.tolist() for name, v in study.measure(lambda x: ensemble.predict(x, torch.float32)).items()}
        for slot in done:
            status = "diverged" if diverged[slot] >= 0 else "fitted" if final[t.fit_metric][slot] >= t.fit_level else "unfitted"
            yield RunResult(
                spec=ensemble.runs[slot],
                metrics={name: v[slot] for name, v in final.items()},
                history=histories[slot],
                steps=diverged[slot] if status == "diverged" else steps[slot],
                status=status,
                fit_step=fit_steps[slot],
                seconds=round(costs[slot], 3),
                weights=ensemble.weights(slot),
            )
            ensemble.free(slot)
        if on_step is not None:
            on_step(
                {
                    "done": len(specs) - len(queue) - len(ensemble.active),
                    "total": len(specs),
                    "metrics": metrics,
                    "steps": steps,
                }
            )
