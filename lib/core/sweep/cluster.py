"""Past one machine: Ray behind the interface of concurrent.futures, so that a sweep's jobs run wherever it has room.

Ray is optional (requirements-ray.txt). Every machine must see the store under the same path and have this project installed.
"""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import torch

from lib.core.record.spec import check_number


class ClusterError(RuntimeError):
    """A cluster that is not there or has no room for a single job; the message says what to do."""


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise ClusterError("Ray is not installed: pip install -r requirements-ray.txt, or leave out --engine ray.") from None


def _check_reachable(address: str) -> None:
    """Ray itself waits for minutes before it says so."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if not 0 < int(port) < 2**16:  # some systems wrap a larger one, and somebody may listen there
            raise ValueError(port)
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, ValueError):
        raise ClusterError(
            f"no Ray cluster answers at {address!r}: start one with `ray start --head`, or check the address (host:port)."
        ) from None


def _call(threads: int, function: Callable, args: tuple, kwargs: dict) -> tuple[bool, Any]:
    """(True, value) or (False, exception): Ray would wrap the exception into one of its own."""
    torch.set_num_threads(threads)
    try:
        return True, function(*args, **kwargs)
    except BaseException as error:
        return False, error


class RayExecutor(Executor):
    """Jobs as Ray tasks of `cpus` cores and `gpus` GPUs each (a fraction shares a card); a killed worker's job is retried once.

    `workers` is the number of jobs that the cluster has room for, `sharing` how many of them share one machine or card.
    Without an address a cluster of this machine alone is started. Raises ClusterError where there is no Ray, no cluster at
    the address, or no room for one job.
    """

    def __init__(self, address: str | None = None, cpus: float = 1, gpus: float = 0) -> None:
        check_number("cpus", cpus, low=0, strict=True)
        check_number("gpus", gpus, low=0)
        if gpus > 1 and gpus != int(gpus):
            raise ClusterError(f"gpus must be a fraction of one card or a whole number of cards, got {gpus!r}.")
        self.ray = _import_ray()
        if address is not None:
            _check_reachable(address)
        try:
            self.ray.init(
                address=address,
                include_dashboard=False if address is None else None,
                log_to_driver=False,
                logging_level="ERROR",
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise ClusterError(f"Ray could not be started: {error}") from None
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        on = [int(min(r.get("CPU", 0) / cpus, r.get("GPU", 0) / gpus if gpus else float("inf"))) for r in nodes]
        self.workers, self.sharing = sum(on), int(1 / gpus) if 0 < gpus < 1 else 1 if gpus else max(1, *on, 1)
        if not self.workers:
            self.ray.shutdown()
            raise ClusterError(f"no machine of the cluster has {cpus:g} CPUs and {gpus:g} GPUs for a job: ask for less.")
        self._task = self.ray.remote(_call).options(num_cpus=cpus, num_gpus=gpus, max_retries=1)
        self._threads = max(1, int(cpus))
        self._running: list[Any] = []

    def submit(self, fn: Callable, /, *args: Any, **kwargs: Any) -> Future:
        ref = self._task.remote(self._threads, fn, args, kwargs)
        self._running.append(ref)
        outcome: Future = Future()
        outcome.set_running_or_notify_cancel()

        def pass_on(done: Future) -> None:
            if (error := done.exception()) is not None:
                outcome.set_exception(error)
                return
            good, value = done.result()
            outcome.set_result(value) if good else outcome.set_exception(value)

        ref.future().add_done_callback(pass_on)
        return outcome

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ask what still runs to finish its step and save, then leave the cluster."""
        _, running = self.ray.wait(self._running, num_returns=len(self._running), timeout=0) if self._running else ([], [])
        for ref in running:
            self.ray.cancel(ref)
        if running and wait:
            self.ray.wait(running, num_returns=len(running), timeout=60)
        self.ray.shutdown()
