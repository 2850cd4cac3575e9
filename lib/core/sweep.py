"""A sweep trains what the store lacks. Rerunning is resuming."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from tqdm.auto import tqdm

from lib.core.spec import RunSpec
from lib.core.store import Store, StoredRun, StoreError
from lib.core.train import Options, RunResult, Study, train

StudyFactory = Callable[[RunSpec], Study]
KeepWeights = Callable[[RunResult], bool]


class SweepError(RuntimeError):
    """Some groups of a sweep failed; the message names them. What finished is stored."""


@dataclass
class SweepReport:
    """What a sweep did: numbers of runs found, trained and failed, and the failures' messages."""

    found: int = 0
    trained: int = 0
    failures: list[str] = field(default_factory=list)


def provenance(options: Options) -> dict[str, Any]:
    """Where and with what a run was trained."""
    device, dtype = options.resolve()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return {
        "device": f"{device.type} ({name})",
        "threads": torch.get_num_threads() if device.type == "cpu" else None,
        "torch": str(torch.__version__),
        "precision": str(dtype).removeprefix("torch."),
    }


def never(result: RunResult) -> bool:
    return False


def _train_group(
    specs: Sequence[RunSpec],
    store: Store,
    make_study: StudyFactory,
    options: Options,
    keep: KeepWeights,
    bar: tqdm | None = None,
) -> int:
    """Train one group of one shape and store each run as it finishes. Returns the number of runs trained."""
    origin = provenance(options)

    def show(now: dict[str, Any]) -> None:
        if bar is not None:
            bar.set_postfix({name: f"{max(v):.2f}" for name, v in now["metrics"].items()} | {"step": max(now["steps"])})

    count = 0
    for result in train(specs, make_study(specs[0]), options, on_step=show):
        store.put(result, origin, keep_weights=keep(result))
        count += 1
        if bar is not None:
            bar.update()
    return count


def sweep(
    specs: Sequence[RunSpec],
    store: Store,
    make_study: StudyFactory,
    options: Options = Options(),
    keep: KeepWeights = never,
    executor: Executor | None = None,
    progress: bool = True,
) -> SweepReport:
    """Train every spec that the store lacks, group by group of equal shape; a file that cannot be trusted is an error first.

    Without an executor the groups run here, one after another. With one (any concurrent.futures.Executor), each group is a
    task that writes its own results. A failing group does not stop the others; SweepError reports it at the end.
    """
    specs = list(dict.fromkeys(specs))
    missing = [spec for spec in specs if store.get(spec) is None]
    report = SweepReport(found=len(specs) - len(missing))
    if not missing:
        return report
    options.resolve()  # a device that is not there is refused before anything starts
    groups: dict[tuple, list[RunSpec]] = {}
    for spec in missing:
        groups.setdefault(spec.shape, []).append(spec)
    jobs = list(groups.values())
    with tqdm(total=len(missing), disable=not progress, unit="run", desc=missing[0].experiment) as bar:
        if executor is None:
            finished = ((job, partial(_train_group, job, store, make_study, options, keep, bar)) for job in jobs)
        else:
            futures = {executor.submit(_train_group, job, store, make_study, options, keep): job for job in jobs}
            finished = ((futures[future], future.result) for future in as_completed(futures))
        for job, result in finished:
            try:
                report.trained += result()
            except StoreError:
                raise  # a place that cannot be written will not take the other groups either
            except Exception as error:  # whatever a group died of, the others go on
                report.failures.append(f"{len(job)} runs at depth {job[0].model.depth}: {type(error).__name__}: {error}")
            if executor is not None:
                bar.update(len(job))
    if report.failures:
        raise SweepError("; ".join(report.failures) + ". The other groups are stored; run again to retry.")
    return report


def load(specs: Sequence[RunSpec], store: Store) -> list[StoredRun]:
    """The stored results of specs, in their order. Raises LookupError, naming the number, if some are missing."""
    found = [store.get(spec) for spec in specs]
    if missing := found.count(None):
        raise LookupError(f"{missing} of {len(found)} runs are not stored yet: run the sweep of {specs[0].experiment!r} first.")
    return [run for run in found if run is not None]
