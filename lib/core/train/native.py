"""A training step in C++ for CPUs with vectors of 512 bits: `step.cpp`, compiled once a precision, called by ctypes.

Why not leave it to a compiler of Python programs: it compiles anew for every shape, half a minute each, and its products and
the loops between them pass every activation through memory. Here a run stays in one core's cache from token to weight.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import platform
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lib.core.model.transformer import IGNORED, AnyModel, ModelSpec, Transformer, n_parameters
from lib.core.record.files import reason, write_atomically
from lib.core.train.machine import compiling, own, say_once, temporary_cache, trusted_cache

SOURCE = Path(__file__).with_name("step.cpp")
_FLAGS = (
    *("-std=c++17", "-shared", "-fPIC", "-pthread", "-O3", "-march=native", "-mprefer-vector-width=512"),
    *("-funroll-loops", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math"),
)
_VECTORS = {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
# What a precision of products needs of the processor, and of the compiler.
_PRECISIONS: dict[torch.dtype, tuple[set[str], tuple[str, ...]]] = {
    torch.bfloat16: (_VECTORS | {"avx512_bf16"}, ()),
    torch.float32: (_VECTORS, ("-DSINGLE",)),
}
# Bytes of activations that a chunk of sequences may take: what stays in one core's second-level cache.
_CHUNK_BYTES = 2**21
# Or as many times the bytes of the weights: with less, reading weights would cost more than reading activations.
_CHUNK_OF_WEIGHTS = 1.0


def _cpu_flags() -> set[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return set(next((line.split(":")[1] for line in lines if line.startswith("flags")), "").split())


class _NotCompiled(RuntimeError):
    """Why there is no program, though processor and compiler are there."""


def _sound(path: Path) -> bool:
    """Is this file what was compiled here: whole, a file of this user, and nobody else's to write?"""
    try:
        genuine = stat.S_ISREG(path.lstat().st_mode) and own(path)
        return genuine and path.with_suffix(".sha256").read_text() == hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError):
        return False


def _compile(compiler: str, flags: tuple[str, ...]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "step.so"
        command = [compiler, *flags, "-o", str(made), str(SOURCE)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        except OSError as error:
            raise _NotCompiled(f"{compiler}: {reason(error)}") from None
        if done.returncode or not made.exists():
            lines = done.stderr.strip().splitlines() or [f"{compiler} ended with status {done.returncode}"]
            raise _NotCompiled(next((line for line in lines if "error" in line), lines[0]))
        return made.read_bytes()


def _kept(folder: Path, name: str, compiler: str, flags: tuple[str, ...]) -> Path:
    """The program in this folder, compiled there unless a sound one is there. Raises _NotCompiled, and OSError."""
    path = folder / name
    if not _sound(path):
        with compiling():
            if not _sound(path):  # unless another process has compiled it meanwhile
                data = _compile(compiler, flags)
                write_atomically(path, data)
                write_atomically(path.with_suffix(".sha256"), hashlib.sha256(data).hexdigest().encode())
    return path


@functools.cache
def library(dtype: torch.dtype = torch.bfloat16) -> ctypes.CDLL | None:
    """The program with products in this precision, or None where the processor or the compiler for it is missing, or, said on
    stderr, fails."""
    compiler = shutil.which("c++") or shutil.which("g++")
    needed, defined = _PRECISIONS[dtype]
    if platform.machine() != "x86_64" or not _cpu_flags() >= needed or compiler is None:
        return None
    flags = _FLAGS + defined
    recipe = SOURCE.read_bytes() + " ".join(flags).encode() + " ".join(sorted(_cpu_flags())).encode()
    name = f"step-{hashlib.sha256(recipe).hexdigest()[:16]}.so"
    try:
        try:
            path = _kept(trusted_cache(), name, compiler, flags)
        except OSError as error:
            path = _kept(temporary_cache(f"{error.filename or name} cannot be written: {reason(error)}"), name, compiler, flags)
        lib = ctypes.CDLL(str(path))
        lib.rm_trains.restype = ctypes.c_int64
        lib.rm_new.restype = ctypes.c_void_p
        lib.rm_delete.argtypes = [ctypes.c_void_p]
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        lib.rm_step.argtypes = [pointer, number, *[pointer] * 9, ctypes.c_double, pointer, pointer]
        lib.rm_step.restype = None
    except (_NotCompiled, OSError, AttributeError) as error:
        say_once(f"The native program cannot be compiled and loaded here ({error}): PyTorch trains without it, more slowly.")
        return None
    return lib


_NORMS, _ACTIVATIONS, _HEADS = ("none", "post", "pre"), ("relu", "gelu"), ("bare", "own", "tied")


def _shape(spec: ModelSpec, batch: int, length: int, chunk: int) -> ctypes.Array:
    d, k, v = spec.widths
    numbers = (spec.vocab, spec.positions, spec.depth, d, spec.d_ff, k, v, spec.heads)
    kinds = (_NORMS.index(spec.norm), _HEADS.index(spec.output), _ACTIVATIONS.index(spec.activation), int(spec.bias))
    more = (int(spec.head and spec.head_bias), chunk, *kinds, int(spec.every_position))
    return (ctypes.c_int64 * 17)(*numbers, batch, length, *more)


def chunk_of(spec: ModelSpec, batch: int, length: int, dtype: torch.dtype = torch.bfloat16) -> int:
    """Sequences that are taken through the model at once: an even number, at most the batch.

    Their activations should stay in cache, and the weights, which every chunk reads again with their gradients, should be
    read few times.
    """
    d, k, v = spec.widths
    row = 26 * d + 8 * spec.d_ff + 8 * k + 6 * v  # bytes of a token: with bfloat16
    if dtype == torch.float32:
        row += 4 * d + 4 * spec.d_ff + 2 * v
    if spec.every_position:  # rows of a step may be padded to any length, and their sums must not be taken in another order
        length = spec.positions
        row += 8 * length * spec.heads + 6 * spec.vocab
    room = max(_CHUNK_BYTES, _CHUNK_OF_WEIGHTS * 4 * n_parameters(spec))
    return max(2, min(batch + batch % 2, int(room // (row * length * max(1, spec.depth - 1))) // 2 * 2))


def trains(spec: AnyModel, batch: int, length: int, dtype: torch.dtype = torch.bfloat16) -> bool:
    """Is there a program for this shape and precision of products on this machine?"""
    if not isinstance(spec, ModelSpec) or "every_position" not in vars(type(spec)):
        return False  # another kind may inherit that and compute something else
    if spec.activation not in _ACTIVATIONS or (lib := library(dtype)) is None:
        return False
    return bool(lib.rm_trains(_shape(spec, batch, length, 2)))


def parameters(model: Transformer) -> list[Tensor]:
    """The model's parameters in the order in which step.cpp expects them."""
    found = [model.embedding.token, model.embedding.position]
    for b in model.blocks:
        a = b.attention
        maps = (a.W_Q, a.W_K, a.W_V, a.W_O)
        found += [*(m.weight for m in maps), *(m.bias for m in maps), *b.norm_1.parameters(), *b.norm_2.parameters()]
        found += [b.W_1.weight, b.W_2.weight, b.W_1.bias, b.W_2.bias]
    if model.final_norm is not None:
        found += model.final_norm.parameters()
    return [p for p in (*found, *model.head.parameters()) if p is not None]


class Program:
    """One step of an ensemble. `threads` runs are trained at a time, each by one thread from beginning to end. Targets are of
    the last position, or, where the model answers everywhere, of each: IGNORED where nothing is asked."""

    def __init__(self, spec: ModelSpec, batch: int, length: int, threads: int, dtype: torch.dtype = torch.bfloat16) -> None:
        lib = library(dtype)
        if lib is None or not trains(spec, batch, length, dtype):
            raise ValueError("there is no program for this shape on this machine: ask trains() first.")
        if length > spec.positions:
            raise ValueError(f"sequences of {length} tokens need as many positions, this model has {spec.positions}.")
        self.lib, self.spec, self.batch, self.length = lib, spec, batch, length
        self.chunk = chunk_of(spec, batch, length, dtype)
        self.engine = ctypes.c_void_p(lib.rm_new(_shape(spec, batch, length, self.chunk), threads))

    def __del__(self) -> None:
        if getattr(self, "engine", None):
            self.lib.rm_delete(self.engine)

    def _check(self, tokens: Tensor, target: Tensor, arrays: list[Tensor]) -> None:
        every = self.spec.every_position
        if tokens.shape[1:] != (self.batch, self.length) or target.shape != tokens.shape[: 3 if every else 2]:
            raise ValueError(f"expected {self.batch} sequences of {self.length} tokens a run, got {tuple(tokens.shape)}.")
        least = IGNORED if every else 0
        if int(tokens.min()) < 0 or int(target.min()) < least or max(int(t.max()) for t in (tokens, target)) >= self.spec.vocab:
            unasked = f", targets that are not asked for be {IGNORED}" * every
            raise ValueError(f"tokens and targets must lie between 0 and {self.spec.vocab - 1}{unasked}.")
        if not all(a.is_contiguous() and a.dtype == torch.float32 for a in arrays):
            raise ValueError("parameters and moments must be contiguous and of single precision.")

    def step(
        self,
        model: Transformer,
        moments: tuple[list[Tensor], list[Tensor]],
        tokens: Int[Tensor, "R B N"],
        target: Int[Tensor, "R B *N"],
        active: list[int],
        rate: Float[Tensor, " R"],
        decay: Float[Tensor, " R"],
        count: Int[Tensor, " R"],
        max_norm: float,
    ) -> Float[Tensor, " R"]:
        """Train the active runs one step, in place; returns their losses, zero for the others. moments: in model order."""
        order = {id(p): i for i, p in enumerate(model.parameters())}
        params = parameters(model)
        arrays = [params, *([m[order[id(p)]] for p in params] for m in moments)]
        return self._call(arrays, (tokens, target), active, (rate, decay, count), max_norm)

    def gradients(
        self, model: Transformer, tokens: Int[Tensor, "R B N"], target: Int[Tensor, "R B *N"]
    ) -> tuple[Float[Tensor, " R"], list[Tensor]]:
        """Losses and the gradients of each run's mean loss, in the order of `parameters`."""
        params, n = parameters(model), model.n_runs
        flat = torch.empty(n, sum(p[0].numel() for p in params))
        zeros = torch.zeros(n, dtype=torch.float64)
        loss = self._call([params] * 3, (tokens, target), list(range(n)), (zeros, zeros, zeros), 1.0, flat)
        parts = flat.split([p[0].numel() for p in params], 1)
        return loss, [part.view(p.shape) for part, p in zip(parts, params, strict=True)]

    def _call(
        self,
        arrays: list[list[Tensor]],
        rows: tuple[Tensor, Tensor],
        active: list[int],
        clocks: tuple[Tensor, Tensor, Tensor],
        max_norm: float,
        gradients: Tensor | None = None,
    ) -> Tensor:
        """arrays: parameters, means and squares; rows: tokens and targets; clocks: rate, decay and step count of each run."""
        (tokens, target), (rate, decay, count) = rows, clocks
        self._check(tokens, target, [a for group in arrays for a in group])
        pointers = [(ctypes.c_void_p * len(group))(*[a.data_ptr() for a in group]) for group in arrays]
        numbers = [t.contiguous() for t in (tokens, target, rate.double(), decay.double(), count.long())]
        loss = torch.zeros(tokens.shape[0])
        self.lib.rm_step(
            self.engine,
            len(active),
            (ctypes.c_int64 * len(active))(*active),
            *pointers,
            *[t.data_ptr() for t in numbers],
            max_norm,
            loss.data_ptr(),
            None if gradients is None else gradients.data_ptr(),
        )
        return loss
