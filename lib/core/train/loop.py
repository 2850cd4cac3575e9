"""The loop: fill the slots of an ensemble, step, evaluate, hand out every run as it finishes, stop and go on at any step."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec
from lib.core.train import checkpoint
from lib.core.train.checkpoint import Checkpoint, CheckpointError, Record
from lib.core.train.ensemble import Ask, Ensemble, check_same_shape
from lib.core.train.machine import DeviceError, compiling, keep_freed_memory, one_thread, say_once, threads
from lib.core.train.plan import Options, backend_for, precision_of, slots_for, slots_that_fit, worth_compiling, worth_shrinking


class Study(Protocol):
    """What the loop needs of a task. `length` is the number of tokens of a sequence.

    A study may also have `watch(model) -> {name: (R,)}`, numbers of the weights that go into every run's history, and
    `snapshot(model, step) -> {name: (R, …)}`, arrays that every run keeps of each evaluated step (an empty dictionary: none).
    """

    length: int

    def batch(
        self, seed: Int[Tensor, "R 1"], index: Int[Tensor, "R B"]
    ) -> tuple[Shaped[Tensor, "R B *rest"], Shaped[Tensor, "R B *other"]]:
        """Training rows (tokens, target) number `index` of data set `seed`: tokens (R, B, N), vectors (R, B, N, D), or whatever
        the model takes."""
        ...

    def measure(self, ask: Ask) -> dict[str, Shaped[Tensor, " R *n"]]:
        """Metrics: accuracies in [0, 1], losses in nats, counts."""
        ...


@dataclass(frozen=True)
class Progress:
    """How far training is. `share` counts runs, those on their way by their steps; metrics are of the slots in use."""

    done: int
    total: int
    share: float
    step: int
    metrics: dict[str, list[float]]


class Interrupted(KeyboardInterrupt):
    """Training was asked to stop: it finished its step and, where it has a place for it, left a checkpoint."""


def _finite(value: Any) -> Any:
    """The value, with None for what is no finite number."""
    if isinstance(value, list):
        return [_finite(v) for v in value]
    return value if math.isfinite(value) else None


class Trainer:
    """Runs of one shape on their way: the ensemble, the queue, and a record of each run."""

    def __init__(self, specs: Sequence[RunSpec], study: Study, options: Options) -> None:
        check_same_shape(specs)
        self.study, self.train, self.total = study, specs[0].train, len(specs)
        self.device, self.dtype = precision_of(specs[0], options)
        self.backend = backend_for(specs, options)
        self.queue = list(specs)[::-1]
        slots = slots_for(len(specs), slots_that_fit(specs[0], study.length, options))
        self._start(specs[0], slots)
        self.records: dict[RunSpec, Record] = {}
        self.steps = 0

    def _start(self, spec: RunSpec, slots: int) -> None:
        self.ensemble = Ensemble(spec, slots, self.device, self.dtype, self.backend)
        compiled = self.backend == "compiled"
        compiled_rows = compiled and not getattr(self.study, "varying", False)
        self.rows = torch.compile(self.study.batch, dynamic=False) if compiled_rows else self.study.batch
        self.fresh = True  # the next step compiles
        # Threads of a small model wait for each other, the longer the more other work the cores have.
        self.small = self.backend == "eager" and self.device.type == "cpu" and not worth_compiling([spec] * self.total)

    @classmethod
    def resume(cls, saved: Checkpoint, study: Study, options: Options) -> Trainer:
        """Go on where a checkpoint was taken, with the precision and the slots it was taken with."""
        self = cls.__new__(cls)
        runs = saved.unfinished
        check_same_shape(runs)
        self.study, self.train, self.total = study, runs[0].train, len(saved.records) + len(saved.queue)
        self.device, self.dtype = precision_of(runs[0], options)
        if saved.precision == "float32":
            self.dtype = torch.float32
        try:
            self.backend = backend_for(runs, replace(options, backend=saved.backend))
        except DeviceError:  # carried to another machine
            self.backend = backend_for(runs, options)
        self.queue, self.records, self.steps = saved.queue, saved.records, saved.ticks
        slots_that_fit(runs[0], study.length, replace(options, slots=len(saved.slots)))
        self._start(runs[0], len(saved.slots))
        self.ensemble.restore(saved.slots, saved.arrays)
        return self

    def checkpoint(self) -> Checkpoint:
        return Checkpoint(
            slots=list(self.ensemble.runs),
            queue=list(self.queue),
            records=self.records,
            ticks=self.steps,
            backend=self.backend,
            precision=self.precision,
            arrays=self.ensemble.state(),
        )

    @property
    def precision(self) -> str:
        """Of matrix products, by PyTorch's name for it."""
        return str(self.dtype).removeprefix("torch.")

    @property
    def threads(self) -> int | None:
        """That a run is trained with, None for a device that has none."""
        if self.device.type != "cpu":
            return None
        return threads() if self.backend == "native" else 1 if self.small else torch.get_num_threads()

    @property
    def finished(self) -> bool:
        return not self.queue and not self.ensemble.active

    def refill(self) -> None:
        """Give free slots to waiting runs; shrink the ensemble where half of it would do."""
        for slot, run in enumerate(self.ensemble.runs):
            if run is None and self.queue:
                waiting = self.queue.pop()
                self.ensemble.load(slot, waiting)
                self.records[waiting] = Record()
        wanted = slots_for(len(self.ensemble.active), len(self.ensemble.runs))
        saved = len(self.ensemble.runs) - wanted
        if saved and (self.backend != "compiled" or self._worth_shrinking(saved)):
            self.ensemble.compact(wanted)
            self.fresh = True

    def _worth_shrinking(self, slots_saved: int) -> bool:
        steps = self.ensemble.step[self.ensemble.active]
        left = self.train.steps - int(steps.min())
        first = self.ensemble.run(self.ensemble.active[0])
        return worth_shrinking(first, self.study.length, slots_saved, left, self.device.type)

    def step(self) -> None:
        began = time.perf_counter()
        if self.fresh and self.backend == "compiled":
            self._compile()
        else:
            with one_thread() if self.small or self.backend == "native" else contextlib.nullcontext():
                self.ensemble.train_step(self.rows)
        self.fresh = False
        self.steps += 1
        self._charge(began)

    def _compile(self) -> None:
        """The first step, which compiles; without the compiler where that fails."""
        try:
            with compiling():
                self.ensemble.train_step(self.rows)
        except torch._dynamo.exc.BackendCompilerFailed as error:  # pyright: ignore  # before it changed a number
            why = str(error).strip().splitlines()[0]
            say_once(f"The compiler failed ({why}), so training takes PyTorch as it is, which is several times slower.")
            self.backend, self.rows = "eager", self.study.batch
            self.ensemble.do_without_compiler()
            self.ensemble.train_step(self.rows)

    def _charge(self, began: float) -> None:
        runs = [run for run in self.ensemble.runs if run is not None]
        for run in runs:
            self.records[run].seconds += (time.perf_counter() - began) / len(runs)

    @torch.no_grad()
    def _snapshot(self, step: int) -> dict[str, Tensor]:
        """What the study keeps of every run that is at this step."""
        study: Any = self.study
        return study.snapshot(self.ensemble.model, step) if hasattr(study, "snapshot") else {}

    def evaluate(self) -> tuple[list[RunResult], Progress]:
        """Measure every run; return, and free the slots of, those that have finished."""
        with one_thread() if self.small else contextlib.nullcontext():
            return self._evaluate()

    def _evaluate(self) -> tuple[list[RunResult], Progress]:
        began = time.perf_counter()
        t, ensemble = self.train, self.ensemble
        metrics = {name: v.tolist() for name, v in self.study.measure(Ask(ensemble)).items()}
        watch = getattr(self.study, "watch", lambda model: {})
        watched = {name: v.tolist() for name, v in watch(ensemble.model).items()}
        means, steps, diverged = ensemble.mean_losses(), ensemble.step.tolist(), ensemble.diverged_at.tolist()
        active = ensemble.active
        snapshots = {step: self._snapshot(step) for step in {steps[slot] for slot in active}}
        for slot in active:
            record = self.records[ensemble.run(slot)]
            now = {"step": steps[slot], "loss": means[slot]} | {name: v[slot] for name, v in (metrics | watched).items()}
            for name, value in now.items():
                record.history.setdefault(name, []).append(_finite(value))
            if kept := snapshots[steps[slot]]:
                record.snapshots[steps[slot]] = {name: array[slot].detach().cpu().clone() for name, array in kept.items()}
            if t.schedule == "fit" and record.fit_step is None and now[t.fit_metric] >= t.fit_level:
                record.fit_step = steps[slot]
                ensemble.anneal_from[slot] = min(steps[slot] + t.hold, t.steps - t.anneal)
        ends = (ensemble.anneal_from + t.anneal if t.schedule == "fit" else ensemble.step * 0 + t.steps).tolist()
        done = [slot for slot in active if diverged[slot] >= 0 or steps[slot] >= ends[slot]]
        final = {}
        if done:
            final = {name: v.tolist() for name, v in self.study.measure(Ask(ensemble, torch.float32)).items()}
        self._charge(began)
        results = []
        for slot in done:
            run = ensemble.run(slot)
            record = self.records[run]
            status = "diverged" if diverged[slot] >= 0 else "fitted" if final[t.fit_metric][slot] >= t.fit_level else "unfitted"
            results.append(
                RunResult(
                    spec=run,
                    metrics={name: _finite(v[slot]) for name, v in final.items()},
                    history=record.history,
                    steps=diverged[slot] if status == "diverged" else steps[slot],
                    status=status,
                    fit_step=record.fit_step,
                    seconds=round(record.seconds, 3),
                    weights=ensemble.weights(slot),
                    snapshots=record.snapshots,
                    precision=self.precision,
                    program=self.backend,
                    threads=self.threads,
                )
            )
            ensemble.free(slot)
        left = len(self.queue) + len(ensemble.active)
        share = self.total - left + sum(steps[slot] / ends[slot] for slot in ensemble.active)
        shown = {name: [v[slot] for slot in active] for name, v in metrics.items() if not isinstance(v[0], list)}
        return results, Progress(self.total - left, self.total, share, max(steps[slot] for slot in active), shown)


def train(
    specs: Sequence[RunSpec],
    study: Study,
    options: Options = Options(),
    on_step: Callable[[Progress], None] | None = None,
    checkpoint_path: Path | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[RunResult]:
    """Train runs of one shape, yielding each as it finishes, in the order in which they finish.

    `on_step` is called at every evaluation. With a checkpoint_path, training goes on from the checkpoint there, if it is of
    these runs, writes one every options.checkpoint_every seconds, and removes it at the end. `stop` is asked after every step;
    where it says yes, the checkpoint is written and Interrupted raised. Raises CheckpointError for a checkpoint that is not
    of these runs, DeviceError where not one run fits into memory.
    """
    if not specs:
        return
    if options.resolve()[0].type == "cpu":
        keep_freed_memory()
    trainer = None
    if checkpoint_path is not None and checkpoint_path.exists():
        saved = checkpoint.load(checkpoint_path)
        if not set(saved.unfinished) <= set(specs):
            raise CheckpointError(f"the checkpoint {checkpoint_path} is of other runs: move it away, then run again.")
        try:
            trainer = Trainer.resume(saved, study, options)
        except ValueError as error:
            raise CheckpointError(f"the checkpoint {checkpoint_path} cannot be resumed ({error}): move it away.") from None
        except DeviceError as error:
            raise DeviceError(f"the checkpoint {checkpoint_path} cannot be resumed here: {error}") from None
    trainer = trainer or Trainer(specs, study, options)
    written = time.monotonic()
    while not trainer.finished:
        trainer.refill()
        trainer.step()
        if trainer.steps % trainer.train.eval_every == 0:
            results, progress = trainer.evaluate()
            yield from results
            if on_step is not None:
                on_step(progress)
        stopping = stop()
        due = stopping or time.monotonic() - written >= options.checkpoint_every
        if due and checkpoint_path is not None and not trainer.finished:
            trainer.checkpoint().save(checkpoint_path)
            written = time.monotonic()
        if stopping and not trainer.finished:
            raise Interrupted
    if checkpoint_path is not None:
        checkpoint_path.unlink(missing_ok=True)
