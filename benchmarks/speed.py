"""Time per run-step: the plain loop, the engine, and the machine's matrix products, in turns in one run.

Each contender is a process of its own (the engine has as many as a sweep would) and works only when told to, so that what else
the machine does falls on all of them alike. Of the rounds the median is taken.
"""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from benchmarks.reference import plain_step
from lib.composition.experiments import GRIDS, model_spec, point_specs
from lib.composition.study import make_study
from lib.core.record.spec import RunSpec
from lib.core.train.loop import Trainer
from lib.core.train.machine import cores, keep_freed_memory
from lib.core.train.plan import Options, backend_for, bytes_per_run, slots_that_fit, training_work, workers_for

SIZES = ("laptop", "paper")


@dataclass(frozen=True)
class Timing:
    """Times are milliseconds for one step of one run; memory is what the engine takes at its highest, beyond PyTorch itself,
    divided by the number of runs, in MB (10⁶ bytes)."""

    size: str
    device: str
    depth: int
    d_model: int
    batch: int
    precision: str
    backend: str
    runs: int
    workers: int
    slots: int
    reference_ms: float | None
    engine_ms: float
    ratio: float | None
    ratio_same_allocator: float | None
    peak_tflops: float
    fraction_of_peak: float
    memory_mb_per_run: float
    memory_mb_planned: float
    rounds: int


def spec_of(size: str, depth: int, d_model: int | None = None) -> RunSpec:
    """The run of a size that is timed: γ = .6, the middle rate of its profile."""
    specs = point_specs(size, 0.6, depth)
    spec = specs[len(GRIDS[size].rates) // 2]
    return spec if d_model is None else dataclasses.replace(spec, model=model_spec(d_model, depth))


def _steps(step: Callable[[], Any], device: torch.device, seconds: float) -> tuple[int, float]:
    """Call step for about `seconds`, at least twice; the number of calls and the seconds they took."""
    count, began = 0, time.perf_counter()
    while count < 2 or time.perf_counter() - began < seconds:
        step()
        count += 1
    if device.type == "cuda":
        torch.cuda.synchronize()
    return count, time.perf_counter() - began


def _resident(device: torch.device) -> float:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated() / 1e6
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) * 1024 / 1e6


Measure = Callable[[float], float]
"""Work for about so many seconds; what was measured: seconds for a step of one run, or operations a second."""


def _stepping(step: Callable[[], Any], device: torch.device, runs: int) -> Measure:
    def measure(seconds: float) -> float:
        count, took = _steps(step, device, seconds)
        return took / count / runs

    return measure


def _engine(spec: RunSpec, options: Options) -> Measure:
    keep_freed_memory()
    runs = [dataclasses.replace(spec, seed=i) for i in range(options.slots)]
    group = Trainer(runs, make_study(spec), options)
    group.refill()
    return _stepping(group.step, group.device, len(runs))


def _plain(spec: RunSpec, options: Options) -> Measure:
    device, _ = options.resolve()
    return _stepping(plain_step(spec, make_study(spec), device), device, 1)


def _tuned(spec: RunSpec, options: Options) -> Measure:
    keep_freed_memory()
    return _plain(spec, options)


def _peak(spec: RunSpec, options: Options) -> Measure:
    """The fastest of several shapes of matrix products."""
    device, dtype = options.resolve()
    shapes = [(2304, 64, 192, 8), (4096, 400, 1200, 1), (2048, 2048, 2048, 1), (4096, 4096, 4096, 1)]
    if device.type == "cuda":
        shapes += [(8192, 8192, 8192, 1)]
    draw = lambda *shape: torch.randn(*shape, dtype=dtype, device=device)
    pairs = [(draw(r, m, k), draw(r, k, n)) for m, k, n, r in shapes]

    def measure(seconds: float) -> float:
        rates = []
        for a, b in pairs:
            count, took = _steps(lambda a=a, b=b: torch.bmm(a, b), device, seconds / len(pairs))
            rates.append(2 * a.numel() * b.shape[-1] * count / took)
        return max(rates)

    return measure


Role = Callable[[RunSpec, Options], Measure]
_ROLES: dict[str, Role] = {"engine": _engine, "plain": _plain, "plain, tuned allocator": _tuned, "peak": _peak}


def _contend(pipe: Connection, role: str | Role, spec: RunSpec, options: Options, threads: int) -> None:
    """A process that gets ready, says how much memory that took, and then works for as long as each message says."""
    torch.set_num_threads(threads)
    device, _ = options.resolve()
    before = _resident(device)
    measure = (_ROLES[role] if isinstance(role, str) else role)(spec, options)
    measure(0.0)
    pipe.send(_resident(device) - before)
    while (seconds := pipe.recv()) is not None:
        pipe.send(measure(seconds))


class BenchmarkError(RuntimeError):
    """A benchmark that could not be finished; the message says why."""


class _Contender:
    def __init__(self, role: str | Role, spec: RunSpec, options: Options, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.role = role
        self.process = context.Process(target=_contend, args=(theirs, role, spec, options, threads), daemon=True)
        self.process.start()
        theirs.close()

    def answer(self) -> float:
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            raise BenchmarkError(
                f"the process that times {self.role!r} died, perhaps for want of memory: try a smaller size or fewer slots."
            ) from None

    def work(self, seconds: float | None) -> None:
        with contextlib.suppress(BrokenPipeError):  # the answer will be missed, and that is said then
            self.pipe.send(seconds)


def time_size(
    size: str,
    depth: int,
    options: Options = Options(),
    d_model: int | None = None,
    seconds: float = 2.0,
    rounds: int = 7,
    reference: bool = True,
) -> Timing:
    """One row of the table. `seconds` is for each contender in each round."""
    spec = spec_of(size, depth, d_model)
    device, dtype = options.resolve()
    workers = workers_for([spec] * cores(), options)
    study = make_study(spec)
    slots = options.slots or slots_that_fit(spec, study.length, dataclasses.replace(options, sharing=workers))
    options = dataclasses.replace(options, slots=slots, sharing=workers)
    engine = [_Contender("engine", spec, options, max(1, cores() // workers)) for _ in range(workers)]
    ready = [c.answer() for c in engine]
    plain = [_Contender(role, spec, options, cores()) for role in ("plain", "plain, tuned allocator") if reference]
    for contender in plain:
        contender.answer()
    peak = _Contender("peak", spec, options, cores())
    peak.answer()
    times: dict[str, list[float]] = {"engine": [], "peak": [], "plain": [], "tuned": []}
    for _ in range(rounds):
        for name, contender in zip(("plain", "tuned"), plain, strict=False):
            contender.work(seconds)
            times[name].append(contender.answer())
        for contender in engine:
            contender.work(seconds)
        times["engine"].append(statistics.mean(c.answer() for c in engine) / workers)
        peak.work(seconds)
        times["peak"].append(peak.answer())
    for contender in (*engine, *plain, peak):
        contender.work(None)
        contender.process.join()

    def against(name: str) -> float | None:
        pairs = zip(times[name], times["engine"], strict=True)
        return _round(statistics.median(theirs / ours for theirs, ours in pairs)) if plain else None

    middle = {name: statistics.median(values) for name, values in times.items() if values}
    flops = 2 * training_work(spec, study.length) / spec.train.steps
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{platform.machine()}, {cores()} cores"
    return Timing(
        size=size,
        device=f"{device.type} ({name})",
        depth=depth,
        d_model=spec.model.d_model,
        batch=spec.train.batch,
        precision=str(dtype).removeprefix("torch."),
        backend=backend_for([spec] * slots, options),
        runs=slots * workers,
        workers=workers,
        slots=slots,
        reference_ms=_round(middle["plain"] * 1e3) if plain else None,
        engine_ms=_round(middle["engine"] * 1e3),
        ratio=against("plain"),
        ratio_same_allocator=against("tuned"),
        peak_tflops=_round(middle["peak"] / 1e12),
        fraction_of_peak=_round(flops / middle["engine"] / middle["peak"]),
        memory_mb_per_run=_round(statistics.mean(ready) / slots),
        memory_mb_planned=_round(bytes_per_run(spec.model, spec.train.batch, study.length) / 1e6),
        rounds=rounds,
    )


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def scaling(options: Options = Options(), seconds: float = 1.0, rounds: int = 3) -> list[dict[str, Any]]:
    """Rows for the plot: against the number of runs at once, the depth, and the width, each from the laptop size."""
    workers = workers_for([spec_of("laptop", 3)] * cores(), options)
    rows = []
    for runs in (1, 2, 4, 8, 16, 32, 64):
        share = dataclasses.replace(options, workers=min(workers, runs), slots=max(1, runs // workers))
        rows.append(("runs", runs, time_size("laptop", 3, share, None, seconds, rounds, reference=False)))
    for depth in (1, 2, 3, 4, 6):
        rows.append(("depth", depth, time_size("laptop", depth, options, None, seconds, rounds)))
    for width in (32, 64, 128, 256):
        rows.append(("width", width, time_size("laptop", 3, options, width, seconds, rounds)))
    return [{"against": against, "value": value} | asdict(timing) for against, value, timing in rows]


def as_table(timings: list[Timing]) -> str:
    head = f"{'size':8}{'depth':>6}{'plain loop':>12}{'engine':>12}{'ratio':>8}{'of peak':>9}{'memory/run':>12}  how"
    lines = [head]
    for t in timings:
        plain = f"{t.reference_ms:9.3g} ms" if t.reference_ms else f"{'–':>12}"
        ratio = f"{t.ratio:8.2f}" if t.ratio else f"{'–':>8}"
        engine = f"{t.engine_ms:9.3g} ms{ratio}{t.fraction_of_peak:9.0%}{t.memory_mb_per_run:9.0f} MB"
        how = f"{t.backend}, {t.workers} × {t.slots} runs, {t.precision}, {t.device}; peak {t.peak_tflops:.2f} TFLOP/s"
        lines.append(f"{t.size:8}{t.depth:6}{plain:>12}{engine}  {how}")
    return "\n".join(lines)
