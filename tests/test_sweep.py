"""Sweeps: what is stored is not trained again, what fails does not stop the rest, what is interrupted resumes."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from conftest import SpecFactory, scalars
from filelock import FileLock
from tiny import broken_at_depth_1, killing

from lib.composition.study import Composition, make_study
from lib.core.record import files
from lib.core.record.store import Store, StoredRun, StoreError, load
from lib.core.sweep.jobs import Job, SweepError, checkpoints, plan_jobs, sweep
from lib.core.train.checkpoint import CheckpointError
from lib.core.train.loop import Interrupted, train
from lib.core.train.plan import Options

PLAIN = Options(device="cpu", bf16=False, backend="eager")


@pytest.mark.parametrize("workers", [0, 2])
def test_a_failing_group_is_reported_and_the_rest_finishes(tmp_path: Path, tiny_spec: SpecFactory, workers: int) -> None:
    specs = [tiny_spec(depth=depth, seed=seed) for depth in (1, 2) for seed in (0, 1)]
    store = Store(tmp_path)
    with ThreadPoolExecutor(workers or 1) as pool, pytest.raises(SweepError, match=r"runs at depth 1 .*: RuntimeError: boom"):
        sweep(specs, store, broken_at_depth_1, PLAIN, executor=pool if workers else None, progress=False)
    assert [store.get(spec) is not None for spec in specs] == [False, False, True, True]


def test_equal_specs_are_trained_once_and_stored_ones_not_again(tmp_path: Path, tiny_spec: SpecFactory) -> None:
    store = Store(tmp_path)
    spec = tiny_spec()
    assert sweep([spec, tiny_spec()], store, make_study, PLAIN, progress=False).trained == 1
    before = store.path(spec).stat().st_mtime_ns
    report = sweep([spec], store, make_study, PLAIN, progress=False)
    assert (report.found, report.trained) == (1, 0)
    assert store.path(spec).stat().st_mtime_ns == before


def test_missing_results_are_named(tmp_path: Path, tiny_spec: SpecFactory) -> None:
    with pytest.raises(LookupError, match="2 of 2 runs are not stored yet"):
        load([tiny_spec(seed=1), tiny_spec(seed=2)], Store(tmp_path))


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import tiny
from lib.composition.study import make_study
from lib.core.record.store import Store
from lib.core.sweep.jobs import sweep
from lib.core.train.plan import Options
specs = [tiny.make_tiny_spec(seed=s, steps=20 if s < 2 else 200_000) for s in range(4)]
sweep(specs, Store({store!r}), make_study, Options(device="cpu", bf16=False, backend="eager", slots=1), progress=False)
"""


def test_a_killed_sweep_loses_nothing_that_finished_and_resumes(tmp_path: Path, tiny_spec: SpecFactory) -> None:
    """SIGKILL while the third run trains: the first two are whole, and the next sweep trains only what is missing."""
    code = KILLED.format(tests=str(Path(__file__).parent), store=str(tmp_path))
    child = subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"OMP_NUM_THREADS": "1"})
    first = [tiny_spec(seed=seed) for seed in (0, 1)]
    store = Store(tmp_path)
    try:
        deadline = time.monotonic() + 120
        while not all(store.path(spec).exists() for spec in first):
            assert child.poll() is None, "the sweep ended by itself"
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert len(load(first, store)) == 2
    report = sweep([*first, tiny_spec(seed=2)], store, make_study, PLAIN, progress=False)
    assert (report.found, report.trained) == (2, 1)


# ---------------------------------------------------------------- processes, interruption, resumption


def small(**changes: Any) -> Options:
    return Options(**{"device": "cpu", "bf16": False, "backend": "eager", "slots": 2, "checkpoint_every": 0.0} | changes)


def test_two_processes_give_the_same_results_as_one(tmp_path: Path, tiny_spec: SpecFactory) -> None:
    specs = [tiny_spec(depth=depth, seed=seed) for depth in (1, 2) for seed in range(3)]
    one, two = Store(tmp_path / "one"), Store(tmp_path / "two")
    sweep(specs, one, make_study, small(workers=1), progress=False)
    assert sweep(specs, two, make_study, small(workers=2), progress=False).trained == 6
    for a, b in zip(load(specs, one), load(specs, two), strict=True):
        assert a.history["loss"] == pytest.approx(b.history["loss"], rel=1e-4)
        assert scalars(a.metrics) == pytest.approx(scalars(b.metrics), abs=2 / 560)
        assert b.provenance["threads"] == 1
    assert not list(checkpoints(two, "tiny").iterdir())


def test_a_killed_process_is_reported_not_waited_for(tmp_path: Path, tiny_spec: SpecFactory) -> None:
    specs = [tiny_spec(seed=0), tiny_spec(seed=1)]
    with pytest.raises(SweepError, match="its process was killed, perhaps for want of memory"):
        sweep(specs, Store(tmp_path), killing, small(workers=2), progress=False)


def test_jobs_are_split_evenly_and_a_checkpoint_is_gone_on_with_first(tmp_path: Path, tiny_spec: SpecFactory) -> None:
    store = Store(tmp_path)
    specs = [tiny_spec(depth=depth, seed=seed) for depth in (1, 2) for seed in range(5)]
    jobs = plan_jobs(specs, store, 2)
    assert [len(job.specs) for job in jobs] == [3, 2, 3, 2]
    assert sorted(spec.key for job in jobs for spec in job.specs) == sorted(spec.key for spec in specs)
    begun, path = specs[5:8], checkpoints(store, "tiny") / "some.safetensors"
    with pytest.raises(Interrupted):
        list(train(begun, make_study(begun[0]), small(), checkpoint_path=path, stop=lambda: True))
    jobs = plan_jobs(specs, store, 2)
    assert jobs[0] == Job(tuple(begun), path)
    assert sorted(spec.key for job in jobs for spec in job.specs) == sorted(spec.key for spec in specs)
    assert plan_jobs(specs[:6], store, 1)[0].path != path, "it is also of runs that nobody asks for here"
    assert path.exists()


def test_a_checkpoint_whose_runs_are_all_stored_is_cleared_away(tmp_path: Path, tiny_spec: SpecFactory) -> None:
    store, spec = Store(tmp_path), tiny_spec()
    path = checkpoints(store, "tiny") / "left.safetensors"
    with pytest.raises(Interrupted):
        list(train([spec], make_study(spec), small(), checkpoint_path=path, stop=lambda: True))
    kept = path.read_bytes()
    sweep([spec], store, make_study, small(), progress=False)
    path.write_bytes(kept)
    plan_jobs([tiny_spec(seed=9)], store, 1)
    assert not path.exists()


def test_a_corrupt_checkpoint_stops_the_sweep_before_it_trains(tmp_path: Path, tiny_spec: SpecFactory) -> None:
    path = checkpoints(Store(tmp_path), "tiny") / "broken.safetensors"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"half")
    with pytest.raises(CheckpointError, match="is only half there: delete it and run again"):
        sweep([tiny_spec()], Store(tmp_path), make_study, small(), progress=False)
    assert path.exists()


def test_runs_that_another_process_trains_are_left_to_it(tmp_path: Path, tiny_spec: SpecFactory) -> None:
    store, spec = Store(tmp_path), tiny_spec()
    (job,) = plan_jobs([spec], store, 1)
    job.path.parent.mkdir(parents=True)
    with (
        FileLock(job.path.with_suffix(".lock")),
        pytest.raises(SweepError, match="another process is training them at this moment"),
    ):
        sweep([spec], store, make_study, small(), progress=False)
    assert store.get(spec) is None


ORPHANED = """
import sys
sys.path.insert(0, {tests!r})
import tiny
from lib.composition.study import make_study
from lib.core.train.plan import Options
from lib.core.record.store import Store
from lib.core.sweep.jobs import sweep
if __name__ == "__main__":
    specs = [tiny.make_tiny_spec(seed=s, steps=2_000_000) for s in range(2)]
    options = Options(device="cpu", bf16=False, backend="eager", workers=2, checkpoint_every=1e9)
    sweep(specs, Store({store!r}), make_study, options, progress=False)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the workers in /proc")
def test_workers_save_and_end_when_the_process_that_started_them_is_killed(tmp_path: Path) -> None:
    script, store = tmp_path / "script.py", Store(tmp_path / "store")
    script.write_text(ORPHANED.format(tests=str(Path(__file__).parent), store=str(store.root)))
    parent = subprocess.Popen([sys.executable, script], env=os.environ | {"OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL)
    folder, deadline, workers = checkpoints(store, "tiny"), time.monotonic() + 120, []
    try:
        while len(list(folder.glob("*.progress"))) < 2:
            assert parent.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        workers = [int(pid) for pid in Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()]
        workers = [pid for pid in workers if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        assert len(workers) == 2
        parent.kill()
        parent.wait()
        deadline = time.monotonic() + 30
        while any(map(alive, workers)):
            assert time.monotonic() < deadline, "a worker outlives its parent"
            time.sleep(0.05)
    finally:
        for pid in (parent.pid, *workers):
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        parent.wait()
    assert len(list(folder.glob("*.safetensors"))) == 2
    assert not list(folder.glob("*.lock"))


INTERRUPTED = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import tiny
from lib.composition.study import make_study
from lib.core.train.plan import Options
from lib.core.record.store import Store
from lib.core.sweep.jobs import sweep
from lib import __main__ as command
if __name__ == "__main__":
    specs = [tiny.make_tiny_spec(seed=s, steps={steps}, eval_every=10) for s in range(4)]
    options = Options(device="cpu", bf16=False, backend="eager", slots=2, workers={workers}, checkpoint_every=1e9)
    command._sweep = lambda args: sweep(specs, Store({store!r}), make_study, options, keep=bool)
    sys.exit(command.main(["sweep", "tiny"]))
"""


STEPS = 150


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, tiny_spec: SpecFactory) -> list[StoredRun]:
    """The runs of INTERRUPTED, trained at one go."""
    specs = [tiny_spec(seed=seed, steps=STEPS, eval_every=10) for seed in range(4)]
    store = Store(tmp_path_factory.mktemp("whole"))
    sweep(specs, store, make_study, small(workers=1), keep=bool, progress=False)
    return load(specs, store)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_saves_says_how_to_go_on_and_loses_nothing(
    tmp_path: Path, uninterrupted: list[StoredRun], workers: int, number: signal.Signals
) -> None:
    """The weights of the interrupted and resumed runs are those of runs that nobody interrupted, to the bit."""
    script = tmp_path / "script.py"
    tests = str(Path(__file__).parent)
    script.write_text(INTERRUPTED.format(tests=tests, store=str(tmp_path / "store"), workers=workers, steps=STEPS))
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    start = lambda: subprocess.Popen([sys.executable, script], env=environment, stderr=subprocess.PIPE, text=True)
    store = Store(tmp_path / "store")
    child, deadline = start(), time.monotonic() + 120
    while len(list(checkpoints(store, "tiny").glob("*.progress"))) < workers:
        assert child.poll() is None, child.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child.send_signal(number)
    words = child.communicate(timeout=60)[1]
    assert child.returncode == 130
    assert "finished runs are stored, the others left a checkpoint; the same command goes on" in words
    assert "Traceback" not in words
    assert len(list(checkpoints(store, "tiny").glob("*.safetensors"))) == workers
    if (workers, number) in ((1, signal.SIGTERM), (2, signal.SIGINT)):  # the checkpoints do not depend on who goes on with them
        went_on = small(workers=workers, checkpoint_every=1e9)
        sweep([run.spec for run in uninterrupted], store, make_study, went_on, keep=bool, progress=False)
    else:
        resumed = start()
        words = resumed.communicate(timeout=120)[1]
        assert resumed.returncode == 0, words
    for one, other in zip(load([run.spec for run in uninterrupted], store), uninterrupted, strict=True):
        assert len(one.history["step"]) == STEPS // 10
        if workers == 1:  # with two, the runs had other company: equal but for rounding
            assert one.history == other.history
            assert all(torch.equal(w, other.weights()[name]) for name, w in one.weights().items())
        else:
            assert one.history["loss"] == pytest.approx(other.history["loss"], rel=1e-3)


def test_the_bar_shows_accuracies_and_moves_with_the_runs_on_their_way(
    tmp_path: Path, tiny_spec: SpecFactory, capsys: pytest.CaptureFixture
) -> None:
    sweep([tiny_spec(), tiny_spec(seed=1)], Store(tmp_path), make_study, small(slots=1))
    shown = capsys.readouterr().err
    assert re.search(r"1\.5/2 runs \[.*<.*, test=0\.\d\d, symmetric=0\.\d\d, inferential=0\.\d\d, .*step=10\]", shown)
    assert "2.0/2 runs" in shown


@pytest.mark.parametrize("workers", [0, 1])
def test_runs_of_a_failed_job_do_not_count_in_the_bar(
    tmp_path: Path, tiny_spec: SpecFactory, capsys: pytest.CaptureFixture, workers: int
) -> None:
    specs = [tiny_spec(depth=depth) for depth in (1, 2)]
    with ThreadPoolExecutor(1) as pool, pytest.raises(SweepError, match="boom"):
        sweep(specs, Store(tmp_path), broken_at_depth_1, small(), executor=pool if workers else None)
    shown = capsys.readouterr().err
    assert "1.0/2 runs" in shown
    assert "2.0/2 runs" not in shown


def test_a_small_eager_run_takes_one_thread_and_gives_the_others_back(tmp_path: Path, tiny_spec: SpecFactory) -> None:
    class Counting(Composition):
        seen: ClassVar[set[int]] = set()

        def batch(self, seed: torch.Tensor, index: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            self.seen.add(torch.get_num_threads())
            return super().batch(seed, index)

        def measure(self, ask: Any) -> dict[str, torch.Tensor]:
            self.seen.add(torch.get_num_threads())
            return super().measure(ask)

    store, spec, threads = Store(tmp_path), tiny_spec(), torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        sweep([spec], store, lambda _: Counting(), small(), progress=False)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert Counting.seen == {1}
    assert store.get(spec).provenance["threads"] == 1


def test_without_a_cpp_compiler_much_is_trained_all_the_same_and_a_person_is_told_once(
    tmp_path: Path, tiny_spec: SpecFactory, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    """In worker processes, which look for a compiler themselves."""
    from lib.core.train import machine, native, plan

    monkeypatch.setattr(machine, "said", set())
    monkeypatch.setattr("lib.core.sweep.jobs.said", machine.said)
    monkeypatch.setattr(native, "library", lambda *_: None)
    monkeypatch.setattr(plan, "_WORTH_COMPILING", 1.0)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    specs = [tiny_spec(seed=seed, eval_every=20) for seed in range(2)]
    store = Store(tmp_path / "store")
    assert sweep(specs, store, make_study, Options(device="cpu", workers=2), progress=False).trained == 2
    assert sweep([tiny_spec(seed=3)], store, make_study, Options(device="cpu"), progress=False).trained == 1
    assert {run.provenance["program"] for run in load(specs, store)} == {"eager"}
    assert capfd.readouterr().err.count("no C++ compiler") == 1


def test_more_workers_than_jobs_are_not_started(tmp_path: Path, tiny_spec: SpecFactory) -> None:
    """A million asked for would leave none of them any memory."""
    report = sweep([tiny_spec(steps=20)], Store(tmp_path), make_study, small(workers=1_000_000), progress=False)
    assert report.trained == 1


def test_a_disk_that_fills_during_a_sweep_loses_nothing(
    tmp_path: Path, tiny_spec: SpecFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, specs = Store(tmp_path), [tiny_spec(steps=20, depth=depth) for depth in (1, 2, 3)]
    genuine, written = files.write_atomically, []

    def full(path: Path, data: bytes) -> None:
        if len(written) >= 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        genuine(path, data)
        written.append(path)

    monkeypatch.setattr("lib.core.record.store.write_atomically", full)
    with pytest.raises((StoreError, SweepError), match=r"the disk is full; earlier results are safe, mend this and run again"):
        sweep(specs, store, make_study, small(workers=1, slots=1), progress=False)
    assert [store.get(spec) is not None for spec in specs].count(True) == 1
    monkeypatch.undo()
    report = sweep(specs, store, make_study, small(workers=1, slots=1), progress=False)
    assert (report.found, report.trained) == (1, 2)
    assert store.verify()[1] == []
