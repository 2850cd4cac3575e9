"""Stop anywhere, go on as if nothing had happened; and refuse what is not a checkpoint of these runs."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import SpecFactory
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from lib.composition.study import Composition
from lib.core.model.transformer import Transformer
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec
from lib.core.train import checkpoint, native
from lib.core.train.checkpoint import Checkpoint, CheckpointError
from lib.core.train.loop import Interrupted, Trainer, train
from lib.core.train.machine import DeviceError
from lib.core.train.plan import Options

TESTS = Path(__file__).parent
STUDY = Composition()
Whole = Callable[..., dict[RunSpec, RunResult]]


def options(**changes: Any) -> Options:
    return Options(**{"device": "cpu", "slots": 2, "bf16": False, "backend": "eager", "checkpoint_every": 0.0} | changes)


@pytest.fixture
def specs(tiny_spec: SpecFactory) -> list[RunSpec]:
    """Three runs for two slots, on the schedule that depends on what was measured on the way."""
    fit = {"schedule": "fit", "steps": 40, "anneal": 10, "eval_every": 5, "fit_level": 0.01, "rate": 1e-2}
    return [tiny_spec(seed=0, **fit), tiny_spec(seed=1, gamma=0.9, **fit), tiny_spec(seed=2, gamma=0.3, nudge=1, **fit)]


def assert_equal_bits(one: RunResult, other: RunResult) -> None:
    assert (one.spec, one.metrics, one.history) == (other.spec, other.metrics, other.history)
    assert (one.steps, one.status, one.fit_step) == (other.steps, other.status, other.fit_step)
    for name, weight in one.weights.items():
        assert torch.equal(weight, other.weights[name]), name


def interrupted_at(
    step: int, specs: list[RunSpec], path: Path, opts: Options, study: Composition = STUDY
) -> dict[RunSpec, RunResult]:
    """What had finished when training was asked to stop after that many steps of this call."""
    asked = iter(range(1, 10_000))
    finished = {}
    try:
        for result in train(specs, study, opts, checkpoint_path=path, stop=lambda: next(asked) == step):
            finished[result.spec] = result
    except Interrupted:
        return finished
    raise AssertionError("training went on to its end")


@pytest.fixture(scope="module")
def whole() -> Whole:
    """What runs give that nothing stops, trained once for each set of options and each study."""
    found: dict[tuple[Any, ...], dict[RunSpec, RunResult]] = {}

    def of(specs: list[RunSpec], opts: Options, study: Composition = STUDY) -> dict[RunSpec, RunResult]:
        key = (*specs, opts, type(study))
        if key not in found:
            found[key] = {result.spec: result for result in train(specs, study, opts)}
        return found[key]

    return of


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("step", [1, 4, 5, 7, 17, 23])
def test_stopped_after_any_step_and_resumed_gives_the_same_bits(
    specs: list[RunSpec], whole: Whole, tmp_path: Path, step: int, backend: str, bf16: bool
) -> None:
    """Before, at and after an evaluation, and with the third run in the slot that the first one left."""
    if backend == "native" and native.library(torch.bfloat16 if bf16 else torch.float32) is None:
        pytest.skip("no AVX-512, or no bfloat16 products, or no C++ compiler")
    opts, path = options(backend=backend, bf16=bf16), tmp_path / "group.safetensors"
    parts = interrupted_at(step, specs, path, opts)
    assert path.exists()
    parts |= {result.spec: result for result in train(specs, STUDY, opts, checkpoint_path=path)}
    assert parts.keys() == whole(specs, opts).keys()
    for spec in specs:
        assert_equal_bits(parts[spec], whole(specs, opts)[spec])
    assert not path.exists()


CHILD = """
import hashlib, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import tiny
from lib.composition.study import Composition
from lib.core.train.machine import DeviceError
from lib.core.train.plan import Options
from lib.core.train.loop import train
fit = dict(schedule="fit", steps=400, anneal=100, eval_every=50, fit_level=0.01, rate=1e-2, d_k=16, d_v=16)
specs = [tiny.make_tiny_spec(seed=s, gamma=0.3 + 0.2 * s, **fit) for s in range(3)]
options = Options(device="cpu", slots=2, backend={backend!r}, checkpoint_every=0.0)
step = lambda now: print("step", now.step, flush=True)
for word, path in (("done", {path!r}), ("whole", {path!r} + ".whole"))[:{times}]:
    for result in train(specs, Composition(), options, step, checkpoint_path=Path(path)):
        digest = hashlib.sha256(b"".join(w.numpy().tobytes() for w in result.weights.values())).hexdigest()
        print(word, result.spec.seed, result.steps, digest, result.history["loss"][-1], flush=True)
"""


def child(path: Path, backend: str, whole: bool = False) -> subprocess.Popen[str]:
    """Trains, or goes on from the checkpoint there; `whole`: then once more from nothing."""
    code = CHILD.format(tests=str(TESTS), path=str(path), backend=backend, times=1 + whole)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("backend", ["eager", "compiled", "native"])
def test_killed_at_a_random_step_and_resumed_in_a_fresh_process_gives_the_same_bits(tmp_path: Path, backend: str) -> None:
    """With every program that a sweep may train with; two kills, wherever they hit."""
    if backend == "native" and native.library(torch.bfloat16) is None:
        pytest.skip("no AVX-512, or no bfloat16 products, or no C++ compiler")
    path = tmp_path / "group.safetensors"
    seen = set()
    for kill in range(2):
        process = child(path, backend)
        for line in process.stdout:
            if line.startswith("done"):
                seen.add(line.strip())
            if line.startswith("step") and int(line.split()[1]) >= 100 * (kill + 1):
                break
        time.sleep(random.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert path.exists()
        seen |= {line.strip() for line in process.stdout if line.startswith("done")}
        process.stdout.close()
    last = child(path, backend, whole=True).communicate()[0].splitlines()
    seen |= {line for line in last if line.startswith("done")}
    whole = [line.replace("whole", "done", 1) for line in last if line.startswith("whole")]
    assert len(whole) == 3
    assert seen == set(whole)


def saved(specs: list[RunSpec], path: Path) -> Path:
    interrupted_at(7, specs, path, options())
    return path


def test_a_checkpoint_says_what_it_would_go_on_with(specs: list[RunSpec], tmp_path: Path) -> None:
    path = saved(specs, tmp_path / "group.safetensors")
    assert checkpoint.unfinished(path) == specs
    loaded = checkpoint.load(path)
    assert isinstance(loaded, Checkpoint)
    assert (loaded.slots, loaded.queue, loaded.ticks) == (specs[:2], specs[2:], 7)
    assert loaded.arrays["step"].tolist() == [7, 7]


@pytest.mark.parametrize("keep", [0, 1, 7, 8, 100, 5000, -1])
def test_a_half_written_checkpoint_is_refused_in_one_sentence(specs: list[RunSpec], tmp_path: Path, keep: int) -> None:
    path = saved(specs, tmp_path / "group.safetensors")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CheckpointError, match=r"group\.safetensors.* delete it and run again"):
        list(train(specs, STUDY, options(), checkpoint_path=path))
    assert path.exists()


def test_an_altered_checkpoint_is_refused(specs: list[RunSpec], tmp_path: Path) -> None:
    path = saved(specs, tmp_path / "group.safetensors")
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match="does not match its digest: delete it and run again"):
        checkpoint.load(path)


def test_a_checkpoint_of_other_runs_is_refused_and_kept(specs: list[RunSpec], tmp_path: Path) -> None:
    path = saved(specs, tmp_path / "group.safetensors")
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match="is of other runs: move it away"):
        list(train(specs[:1], STUDY, options(), checkpoint_path=path))
    assert path.read_bytes() == before


def test_a_checkpoint_of_another_version_is_refused(
    specs: list[RunSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(specs, tmp_path / "group.safetensors")
    monkeypatch.setattr(checkpoint, "FORMAT", "reason-or-memorize/checkpoint/2")
    with pytest.raises(CheckpointError, match="is not a checkpoint of this version"):
        checkpoint.load(path)


def test_a_full_disk_keeps_the_former_checkpoint(specs: list[RunSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(specs, tmp_path / "group.safetensors")
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match=r"cannot write the checkpoint .*: the disk is full; finished runs are safe"):
        list(train(specs, STUDY, options(), checkpoint_path=path))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["group.safetensors"]


class Keeping(Composition):
    """A study whose runs keep something of every fifth step but the last."""

    def snapshot(self, model: Transformer, step: int) -> dict[str, Tensor]:
        return {"token": model.embedding.token, "a.name": model.head.weight.sum((1, 2))} if 0 < step < 40 else {}


@pytest.mark.parametrize("step", [7, 23])
def test_snapshots_survive_a_stop(specs: list[RunSpec], whole: Whole, tmp_path: Path, step: int) -> None:
    """Those that were taken before it, and those after: of finished runs, of runs on their way, and of one not begun."""
    study, path = Keeping(), tmp_path / "group.safetensors"
    at_one_go = whole(specs, options(), study)
    parts = interrupted_at(step, specs, path, options(), study)
    loaded = checkpoint.load(path)
    for run in filter(None, loaded.slots):
        assert list(loaded.records[run].snapshots) == loaded.records[run].history["step"] != []
    parts |= {result.spec: result for result in train(specs, study, options(), checkpoint_path=path)}
    for spec in specs:
        assert list(parts[spec].snapshots) == list(at_one_go[spec].snapshots)
        assert len(at_one_go[spec].snapshots) >= 2
        for at, kept in at_one_go[spec].snapshots.items():
            assert kept.keys() == parts[spec].snapshots[at].keys() == {"token", "a.name"}
            assert all(torch.equal(array, parts[spec].snapshots[at][name]) for name, array in kept.items())
        assert_equal_bits(parts[spec], at_one_go[spec])


def test_altered_snapshots_are_refused(specs: list[RunSpec], tmp_path: Path) -> None:
    """They are under the checkpoint's digest as its weights are."""
    path = tmp_path / "group.safetensors"
    interrupted_at(7, specs, path, options(), Keeping())
    with safe_open(path, "pt") as file:
        arrays, metadata = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    name = next(name for name in arrays if name.endswith("a.name"))
    save_file(arrays | {name: arrays[name] + 1}, path, metadata)
    with pytest.raises(CheckpointError, match="does not match its digest"):
        checkpoint.load(path)


def test_restoring_into_another_shape_is_refused(specs: list[RunSpec], tiny_spec: SpecFactory) -> None:
    group, wider = Trainer(specs, STUDY, options()), Trainer([tiny_spec(d_ff=48)], STUDY, options())
    group.refill()
    wider.refill()
    with pytest.raises(ValueError, match="not of an ensemble of this shape"):
        wider.ensemble.restore(group.ensemble.runs, group.ensemble.state())


def test_checkpoints_are_written_no_more_often_than_asked(specs: list[RunSpec], tmp_path: Path) -> None:
    path = tmp_path / "group.safetensors"
    list(train(specs, STUDY, options(checkpoint_every=1e9), lambda now: [][path.exists() :], path))
    assert not path.exists()


def test_a_checkpoint_between_two_tenants_is_resumed(tiny_spec: SpecFactory, tmp_path: Path) -> None:
    """Every slot has just been left and runs still wait: nothing is on its way, and the queue is."""
    runs, path = [tiny_spec(seed=seed) for seed in range(3)], tmp_path / "group.safetensors"
    whole = {result.spec: result for result in train(runs, STUDY, options())}
    parts = interrupted_at(20, runs, path, options())
    assert parts.keys() == set(runs[:2])
    assert checkpoint.unfinished(path) == runs[2:]
    parts |= {result.spec: result for result in train(runs, STUDY, options(), checkpoint_path=path)}
    for spec in runs:
        assert_equal_bits(parts[spec], whole[spec])


def test_a_checkpoint_too_large_for_this_machine_says_so(specs: list[RunSpec], tmp_path: Path) -> None:
    path = saved(specs, tmp_path / "group.safetensors")
    with pytest.raises(DeviceError, match=r"the checkpoint .* cannot be resumed here: 2 runs of width 16"):
        list(train(specs, STUDY, options(memory=1e4), checkpoint_path=path))
    assert path.exists()


def test_a_resumed_run_says_how_it_was_trained(specs: list[RunSpec], tmp_path: Path) -> None:
    path = saved(specs, tmp_path / "group.safetensors")
    results = list(train(specs, STUDY, options(bf16=True, backend="auto"), checkpoint_path=path))
    assert {(r.precision, r.program) for r in results} == {("float32", "eager")}
