"""A sweep trains what the store lacks. Rerunning is resuming.

What is missing is split into jobs of equal shape, one for each process that there is. A job trains its runs as one program,
stores each as it finishes, leaves checkpoints and says in a small file how far it is; so any executor will do that sees the
store.
"""

from __future__ import annotations

import concurrent.futures as futures
import contextlib
import hashlib
import json
import multiprocessing
import platform
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from filelock import FileLock, Timeout
from tqdm.auto import tqdm

from lib.core.record.files import reason
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store, StoredRun, StoreError
from lib.core.train import checkpoint
from lib.core.train.checkpoint import CheckpointError
from lib.core.train.interrupt import asked_to_stop, at_work, children_ignore_sigint, stop_on, stoppable
from lib.core.train.loop import Interrupted, Progress, Study, train
from lib.core.train.machine import DeviceError, cores, said, take_threads
from lib.core.train.plan import Options, backend_for, workers_for

StudyFactory = Callable[[RunSpec], Study]
Maker = TypeVar("Maker", bound=StudyFactory)


def records(*names: str, sometimes: Sequence[str] = (), length: int | None = None) -> Callable[[Maker], Maker]:
    """Marks who makes a study with the names of the metrics that its runs record, always or with some tasks alone. Results that
    lack one that is always there are older than it. `length`: of its inputs, where models could read longer ones."""

    def mark(make: Maker) -> Maker:
        marked: Any = make
        marked.records, marked.sometimes, marked.length = names, tuple(sometimes), length
        return make

    return mark


KeepWeights = Callable[[RunResult], bool]


class SweepError(RuntimeError):
    """Some jobs of a sweep failed; the message names them. What finished is stored."""


@dataclass
class SweepReport:
    """What a sweep did: numbers of runs found, trained and failed, and the failures' messages."""

    found: int = 0
    trained: int = 0
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Job:
    """Runs of one shape that are trained together. `path` is where they leave their checkpoint."""

    specs: tuple[RunSpec, ...]
    path: Path

    @property
    def progress_path(self) -> Path:
        return self.path.with_suffix(".progress")

    def __str__(self) -> str:
        first = self.specs[0]
        gammas = sorted({spec.gamma for spec in self.specs})
        seeds = sorted({spec.seed for spec in self.specs})
        return (
            f"{len(self.specs)} runs at depth {first.model.depth} (γ {', '.join(f'{g:g}' for g in gammas)}; "
            f"seeds {', '.join(map(str, seeds))})"
        )


def provenance(options: Options) -> dict[str, Any]:
    """Where runs are trained. How, each result says itself: a resumed one keeps the way it began."""
    device, _ = options.resolve()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return {
        "device": f"{device.type} ({name})",
        "torch": str(torch.__version__),
    }


def never(result: RunResult) -> bool:
    return False


def checkpoints(store: Store, experiment: str) -> Path:
    """The folder of an experiment's checkpoints."""
    return store.root / experiment / ".checkpoints"


def train_job(
    job: Job,
    store: Store,
    make_study: StudyFactory,
    options: Options,
    keep: KeepWeights,
    on_step: Callable[[Progress], None] = lambda now: None,
    stop: Callable[[], bool] = asked_to_stop,
) -> int:
    """Train one job and store each run as it finishes. Returns the number of runs trained; Interrupted where `stop` says so."""
    origin = provenance(options)

    def tell(now: Progress) -> None:
        with contextlib.suppress(OSError):  # a full disk must not be noticed here first
            job.progress_path.write_text(json.dumps(asdict(now)))
        on_step(now)

    try:
        job.path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(job.path.with_suffix(".lock"), timeout=0)
        lock.acquire()
    except Timeout:
        raise SweepError("another process is training them at this moment") from None
    except OSError as error:
        raise StoreError(f"cannot write into {job.path.parent}: {reason(error)}; mend this and run again.") from None
    count = 0
    try:
        with stoppable():
            if stop():
                raise Interrupted
            for leftover in job.path.parent.glob(f".writing-{job.path.stem}-*"):  # of this job, when it was killed
                leftover.unlink()
            wanted = job.specs if job.path.exists() else [spec for spec in job.specs if store.get(spec) is None]
            for result in train(wanted, make_study(job.specs[0]), options, tell, job.path, stop):
                how = {"precision": result.precision, "program": result.program, "threads": result.threads}
                count += store.put(result, origin | how, keep_weights=keep(result))
    finally:
        job.progress_path.unlink(missing_ok=True)
        job.path.with_suffix(".lock").unlink(missing_ok=True)
        lock.release()
    return count


def train_one(
    spec: RunSpec,
    store: Store,
    make_study: StudyFactory,
    options: Options,
    keep: KeepWeights,
    on_step: Callable[[Progress], None],
    stop: Callable[[], bool],
) -> StoredRun:
    """The stored result of one run, trained here first if there is none; from any thread. Interrupted leaves a checkpoint."""
    options.resolve()
    while (run := store.get(spec)) is None:
        train_job(plan_jobs([spec], store, 1)[0], store, make_study, options, keep, on_step, stop)
    return run


def plan_jobs(missing: Sequence[RunSpec], store: Store, workers: int) -> list[Job]:
    """First the jobs that checkpoints would go on with, then what else is missing, split among the workers shape by shape."""
    folder = checkpoints(store, missing[0].experiment)
    left = dict.fromkeys(missing)
    jobs = []
    for path in sorted(folder.glob("[!.]*.safetensors")):
        try:
            begun = checkpoint.unfinished(path)
        except CheckpointError:
            if path.exists():
                raise
            continue  # another sweep has just finished with it
        if all(store.get(spec) is not None for spec in begun):
            path.unlink(missing_ok=True)  # killed after its last result, before it could do this itself
        elif all(spec in left or store.get(spec) is not None for spec in begun):
            jobs.append(Job(tuple(begun), path))
            for spec in begun:
                left.pop(spec, None)
    shapes: dict[tuple, list[RunSpec]] = {}
    for spec in left:
        shapes.setdefault(spec.shape, []).append(spec)
    for group in shapes.values():
        for i in range(min(workers, len(group))):
            part = tuple(group[i::workers])
            name = hashlib.sha256(" ".join(spec.key for spec in part).encode()).hexdigest()[:16]
            jobs.append(Job(part, folder / f"{name}.safetensors"))
    return jobs


@contextlib.contextmanager
def local_workers(n: int) -> Iterator[Executor]:
    """n fresh processes that share the cores and leave Ctrl-C to the one that started them."""
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    first = (stop, max(1, cores() // n), frozenset(said))
    with stoppable(stop.set):
        pool = _Workers(n, context, initializer=_begin_worker, initargs=first)
        try:
            yield pool
        except BaseException:
            stop.set()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _begin_worker(stop: Any, threads: int, told: frozenset[str]) -> None:
    stop_on(stop)
    take_threads(threads)
    said.update(told)


class _Workers(futures.ProcessPoolExecutor):
    """Each knows when it is at work, so as to end only in between when the process that started it is gone."""

    def submit(self, fn: Callable, /, *args: Any, **kwargs: Any) -> futures.Future:
        return super().submit(_work, fn, *args, **kwargs)


def _work(fn: Callable, *args: Any, **kwargs: Any) -> Any:
    with at_work:
        return fn(*args, **kwargs)


class _Bar:
    """One bar for all jobs: runs finished, those on their way by their share; accuracies; time left by tqdm."""

    def __init__(self, total: int, title: str, show: bool) -> None:
        form = "{l_bar}{bar}| {n:.1f}/{total} runs [{elapsed}<{remaining}{postfix}]"
        self.tqdm = tqdm(total=total, desc=title, disable=not show, bar_format=form)
        self.finished = 0  # runs of jobs that did not fail

    def refresh(self, jobs: Sequence[Job]) -> None:
        share, steps, metrics = float(self.finished), [], {}
        for job in jobs:
            with contextlib.suppress(OSError, ValueError, TypeError):
                now = Progress(**json.loads(job.progress_path.read_text()))
                share += now.share
                steps.append(now.step)
                for name, values in now.metrics.items():
                    metrics.setdefault(name, []).extend(values)
        self.tqdm.n = max(self.tqdm.n, min(share, self.tqdm.total))
        if steps:
            means = {name: f"{sum(v) / len(v):.2f}" for name, v in metrics.items() if v}
            self.tqdm.set_postfix(means | {"step": max(steps)}, refresh=False)
        self.tqdm.refresh()


def _run_here(jobs: Sequence[Job], args: tuple, bar: _Bar) -> Iterator[tuple[Job, Callable[[], int]]]:
    """In this process, one job after another."""
    for job in jobs:
        yield job, partial(train_job, job, *args, lambda now, job=job: bar.refresh([job]))


def _run_there(jobs: Sequence[Job], args: tuple, bar: _Bar, pool: Executor) -> Iterator[tuple[Job, Callable[[], int]]]:
    """In an executor, all at once; the bar reads the files in which they say how far they are."""
    with children_ignore_sigint():
        pending = {pool.submit(train_job, job, *args): job for job in jobs}
    while pending:
        done, _ = futures.wait(pending, timeout=0.5, return_when=futures.FIRST_COMPLETED)
        for future in done:
            yield pending.pop(future), future.result
        bar.refresh(list(pending.values()))


def sweep(
    specs: Sequence[RunSpec],
    store: Store,
    make_study: StudyFactory,
    options: Options = Options(),
    keep: KeepWeights = never,
    executor: Executor | None = None,
    progress: bool = True,
) -> SweepReport:
    """Train every spec that the store lacks, job by job; a file that cannot be trusted is an error first.

    Without an executor the jobs run here, or, where there is enough to train, in one process a core. With one (any
    concurrent.futures.Executor), each job is a task that writes its own results; the executor's `workers`, if it has such an
    attribute, says into how many to split. A failing job does not stop the others; SweepError reports it at the end. (Where a
    process is killed, the processes beside it are stopped too, after saving: running again goes on from there.)
    Interrupted, when asked to stop, comes after every job has left its checkpoint.
    """
    specs = list(dict.fromkeys(specs))
    missing = [spec for spec in specs if store.get(spec) is None]
    report = SweepReport(found=len(specs) - len(missing))
    if not missing:
        return report
    options.resolve()  # a device that is not there is refused before anything starts
    if executor is None:
        backend_for(missing, options)  # what there is to say of it is said here, once for all workers
    workers = getattr(executor, "workers", 1) if executor else workers_for(missing, options)
    jobs = plan_jobs(missing, store, workers)
    bar = _Bar(len(missing), missing[0].experiment, progress)
    with contextlib.ExitStack() as stack:
        stack.callback(bar.tqdm.close)
        if executor is None:
            stack.enter_context(stoppable())
        workers = min(workers, len(jobs))  # more would share the memory among them and have nothing to do
        if executor is None and workers > 1:
            executor = stack.enter_context(local_workers(workers))
            options = replace(options, sharing=workers)
        elif executor is not None:
            options = replace(options, sharing=getattr(executor, "sharing", 1))
        args = (store, make_study, options, keep)
        outcomes = _run_there(jobs, args, bar, executor) if executor else _run_here(jobs, args, bar)
        interrupted, failures = None, {}
        for job, outcome in outcomes:
            try:
                report.trained += outcome()
                bar.finished += len(job.specs)
            except (StoreError, CheckpointError, DeviceError):
                raise  # a place that cannot be written, or a machine that is too small, will not do for the other jobs either
            except Interrupted as error:
                interrupted = error
                if executor is None:
                    break
            except BrokenExecutor:
                if asked_to_stop():
                    interrupted = Interrupted()
                    continue
                failures[job] = f"{job}: its process was killed, perhaps for want of memory"
            except Exception as error:  # whatever a job died of, the others go on
                failures[job] = f"{job}: {type(error).__name__}: {error}"
    if interrupted is not None:
        raise interrupted
    report.failures = [failures[job] for job in jobs if job in failures]
    if report.failures:
        raise SweepError("; ".join(report.failures) + ". What finished is stored; run again to go on with the rest.")
    return report
