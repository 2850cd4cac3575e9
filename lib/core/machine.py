"""What there is to compute with: devices, precision, cores, memory, and how to ask allocator and compiler for their best."""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from filelock import FileLock

CACHE_VARIABLE = "REASON_OR_MEMORIZE_CACHE"


class DeviceError(RuntimeError):
    """A device that is unknown or not there, or too small; the message says what to use instead."""


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


def has_bf16(device: torch.device) -> bool:
    """Does the device multiply matrices in bfloat16 at speed? Where it does not, single precision is used."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory(device: torch.device) -> int:
    """Bytes that can still be taken on the device, what this process has freed but kept included; on the CPU at most what the
    container's limit leaves."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        return torch.cuda.mem_get_info(device)[0]
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]) * 1024
    with contextlib.suppress(OSError, ValueError):  # "max" where there is no limit
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        lines = Path("/sys/fs/cgroup/memory.stat").read_text().splitlines()
        files = sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))  # given up when asked for
        free = min(free, limit - used + files)
    return max(free, 0)


def keep_freed_memory() -> bool:
    """Ask the C library to keep what is freed instead of giving it back. True where that is possible (glibc).

    A training step frees and takes the same large arrays again. By default each is handed back to the kernel, which must fill
    its pages with zeros the next time: up to a third of a step.
    """
    trim_threshold, top_pad, mmap_max = -1, -2, -4  # names of malloc.h
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return all([mallopt(mmap_max, 0), mallopt(trim_threshold, 2**31 - 1), mallopt(top_pad, 2**26)])


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch on one thread inside this: its idle threads keep cores busy for a while that another program may want."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def compile_cache() -> Path:
    """The folder of compiled programs, kept for the next time. REASON_OR_MEMORIZE_CACHE names another."""
    named = os.environ.get(CACHE_VARIABLE) or os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if named:
        return Path(named)
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # neither HOME nor an entry among the users, as in some containers
        base = Path(tempfile.gettempdir()) / f"cache-of-{os.getuid()}"
    return base / "reason-or-memorize" / f"torch-{torch.__version__}"


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Compile inside this: in the kept cache, one process at a time, so that the others find the programs done."""
    folder = compile_cache()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".compiling")
        lock.acquire()
    except OSError:  # no place to keep them: the compiler's own temporary folder will do
        yield
        return
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder))
    try:
        yield
    finally:
        lock.release()
