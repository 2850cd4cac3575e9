"""How many runs at once, in how many processes, compiled or not: decided from the work and from the memory there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from lib.core.model.transformer import AnyModel, n_parameters
from lib.core.record.spec import RunSpec, SpecError, check_count, check_number
from lib.core.train import native
from lib.core.train.machine import DeviceError, choose_device, cores, free_memory, has_bf16, has_compiler, say_once

# A step touches about this many activations of one layer at once on a CPU: more do not stay in its caches, fewer leave it
# waiting for the next call. Measured at widths 64 and 400 (benchmarks/).
_CPU_ACTIVATIONS = 2**20
_MAX_SLOTS = {"cpu": 8, "cuda": 64}
_NATIVE_SLOTS = 16  # a thread for each run: more than one core needs, so that no core waits for the last
BACKENDS = ("auto", "native", "compiled", "eager")
# Training that multiplies and adds less often than this is over before the compiler would be.
_WORTH_COMPILING = 7e12
# Shrinking an ensemble at the end of its queue means compiling once more, for a smaller shape: it must save twice as much.
# A GPU does in the same time thirty times as much (an H100, in single precision, with other programs on it).
_WORTH_SHRINKING = {"cpu": 2e13, "cuda": 6e14}


@dataclass(frozen=True)
class Options:
    """How to compute: speed and rounding. `bf16` counts where a spec leaves its precision open. None: decided here.

    backend: "native" (lib/core/train/native.py), "compiled" (torch.compile) or "eager"; slots: runs trained as one program;
    workers: processes, of cores / workers threads each; memory: bytes that the jobs of one machine (or card) may take, of
    which there are `sharing`; checkpoint_every: seconds between checkpoints.
    """

    device: str = "auto"
    slots: int | None = None
    workers: int | None = None
    bf16: bool = True
    backend: str = "auto"
    memory: float | None = None
    sharing: int = 1
    checkpoint_every: float = 60.0

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise SpecError(f"backend must be one of {', '.join(BACKENDS)}, got {self.backend!r}.")
        for name in ("slots", "workers", "sharing"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if self.memory is not None:
            check_number("memory", self.memory, low=0, strict=True)
        check_number("checkpoint_every", self.checkpoint_every, low=0)

    def resolve(self) -> tuple[torch.device, torch.dtype]:
        """The device, and the precision of matrix products there: single where it has no bfloat16.

        Raises DeviceError for a device that is not there.
        """
        device = choose_device(self.device)
        return device, torch.bfloat16 if self.bf16 and has_bf16(device) else torch.float32


def precision_of(spec: RunSpec, options: Options) -> tuple[torch.device, torch.dtype]:
    """The device and the precision of matrix products; single where the run or its kind of model asks for it."""
    device, dtype = options.resolve()
    return device, torch.float32 if spec.single_precision else dtype


def training_work(spec: RunSpec, length: int, every_position: bool = False) -> float:
    """Multiply-adds of one run at its step limit: forward, and twice as many backward."""
    return 3.0 * spec.train.steps * spec.train.batch * spec.model.multiply_adds(length, every_position)


def worth_compiling(specs: Sequence[RunSpec]) -> bool:
    """Is there so much to train that compiling first (half a minute) pays?"""
    return sum(training_work(s, s.model.positions) for s in specs) > _WORTH_COMPILING


def worth_shrinking(spec: RunSpec, length: int, slots_saved: int, steps_left: int, device: str) -> bool:
    """May the empty slots cost more, until the last run ends, than compiling for fewer slots?"""
    return training_work(spec, length) / spec.train.steps * slots_saved * steps_left > _WORTH_SHRINKING[device]


def backend_for(specs: Sequence[RunSpec], options: Options) -> str:
    """The program to train with; says so where for want of a compiler it is the slowest one.

    Raises DeviceError where the native one is asked for and cannot be had.
    """
    spec = specs[0]
    device, dtype = precision_of(spec, options)
    native_trains = (
        device.type == "cpu"
        and spec.train.optimizer == "adamw"
        and native.trains(spec.model, spec.train.batch, spec.model.positions, dtype)
    )
    if options.backend == "native" and not native_trains:
        raise DeviceError(
            "the native program needs a CPU with AVX-512 (and its bfloat16 products, unless in single precision), a C++ "
            "compiler, a transformer with ReLU or GELU, heads of at most 512 units, at most 512 tokens, and AdamW: use backend "
            "auto."
        )
    if options.backend != "auto":
        return options.backend
    if native_trains or not worth_compiling(specs):
        return "native" if native_trains else "eager"
    if device.type == "cpu" and not has_compiler():
        say_once("There is no C++ compiler (g++), so training takes PyTorch as it is, which is several times slower.")
        return "eager"
    return "compiled"


def workers_for(specs: Sequence[RunSpec], options: Options) -> int:
    """Processes to train in. On a CPU one for each core, single-threaded, so that they never wait for each other; but one for
    the native program, which has a thread for each run."""
    if options.workers is not None:
        return options.workers
    if choose_device(options.device).type != "cpu" or backend_for(specs, options) == "native" or not worth_compiling(specs):
        return 1
    return max(1, min(cores(), len(specs)))


def bytes_per_run(model: AnyModel, batch: int, length: int) -> int:
    """Memory that one run adds to an ensemble, an upper estimate in bytes.

    24 bytes a parameter: weight, gradient and both moments in single precision, a bfloat16 copy, temporaries.
    """
    return 24 * n_parameters(model) + batch * model.activation_bytes(length)


def slots_that_fit(spec: RunSpec, length: int, options: Options) -> int:
    """The number of slots: what was asked for, or a power of two that suits the device; within the memory in either case.

    Raises DeviceError where not even one run fits, or fewer than were asked for.
    """
    device = choose_device(options.device)
    budget = (options.memory or 0.8 * free_memory(device)) / options.sharing
    one = bytes_per_run(spec.model, spec.train.batch, length)
    fitting = int(budget // one)
    if fitting < (options.slots or 1):
        wanted = f"{options.slots} runs" if options.slots else "one run"
        raise DeviceError(
            f"{wanted} of width {spec.model.d_model}, depth {spec.model.depth} and batch {spec.train.batch} would need "
            f"{one * (options.slots or 1) / 1e9:.2g} GB and {budget / 1e9:.2g} GB may be used: "
            f"{'ask for fewer slots, ' if options.slots else ''}free memory, raise the limit or train a smaller profile."
        )
    if options.slots:
        return options.slots
    best = _MAX_SLOTS[device.type]
    if device.type == "cpu" and backend_for([spec], options) == "native":
        best = 2 ** cores().bit_length()
        if not getattr(spec.model, "every_position", False):  # else the logits of a run, and its evaluation, are large
            best = max(_NATIVE_SLOTS, best)
    elif device.type == "cpu":
        best = min(best, max(1, _CPU_ACTIVATIONS // (spec.train.batch * length * spec.model.d_model)))
    best = min(best, fitting)
    return 2 ** (best.bit_length() - 1)


def slots_for(n_runs: int, limit: int) -> int:
    """The number of slots for n_runs runs: at most `limit`, halved while half would do, so that few shapes are compiled."""
    slots = limit
    while slots > 1 and slots // 2 >= n_runs:
        slots //= 2
    return slots
