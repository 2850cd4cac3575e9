"""What there is to compute with: devices, precision, cores, memory, and how to ask allocator and compiler for their best."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from filelock import FileLock

from lib.core.record.files import reason

CACHE_VARIABLE = "REASON_OR_MEMORIZE_CACHE"
said: set[str] = set()
"""What `say_once` has said; a worker process gets it from the one that starts it."""


def say_once(sentence: str) -> None:
    """One line on stderr for what a person should know and nothing stops for."""
    if sentence not in said:
        said.add(sentence)
        print(sentence, file=sys.stderr, flush=True)


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


_share: int | None = None


def take_threads(n: int) -> None:
    """This process is one of several that train: it gets n threads."""
    global _share
    _share = n
    torch.set_num_threads(n)


def threads() -> int:
    """Threads that the native program may start here: one a core, whatever PyTorch is held to, or this worker's share."""
    return _share or cores()


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


def has_compiler() -> bool:
    """Is there the C++ compiler that torch.compile asks for on a CPU?"""
    return shutil.which(os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")) is not None


def compile_cache() -> Path:
    """Where compiled programs are to be kept for the next time. REASON_OR_MEMORIZE_CACHE names another folder."""
    if named := os.environ.get(CACHE_VARIABLE) or os.environ.get("TORCHINDUCTOR_CACHE_DIR"):
        return Path(os.path.expanduser(named))
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reason-or-memorize"
    except RuntimeError:  # a user without a home
        base = Path(tempfile.gettempdir()) / f"reason-or-memorize-{os.geteuid()}"
    return base / f"torch-{torch.__version__}"


def own(path: Path) -> bool:
    """Does it belong to this user, with nobody else allowed to write it? What is run as a program must. Raises OSError."""
    info = path.stat()
    return info.st_uid == os.geteuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def trusted_cache() -> Path:
    """The folder of compile_cache(), made for this user alone; a temporary one where it cannot be written or trusted.

    Raises OSError where there is no place for a temporary one either.
    """
    folder = compile_cache()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not own(folder):
            return temporary_cache(f"{folder} belongs to another user, or others may write it (chmod go-w)")
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return temporary_cache(f"{folder} cannot be written: {reason(error)}")
    return folder


def temporary_cache(why: str) -> Path:
    """A private folder for this process and those it starts, removed at its end; says why it is needed. Raises OSError."""
    say_once(f"Compiled programs are not kept for the next time ({why}).")
    folder = tempfile.mkdtemp(prefix="reason-or-memorize-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[CACHE_VARIABLE] = os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    return Path(folder)


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Compile inside this: in the kept cache, one process at a time, so that the others find the programs done."""
    try:
        folder = trusted_cache()
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
