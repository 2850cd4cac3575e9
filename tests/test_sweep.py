"""Sweeps: what is stored is not trained again, what fails does not stop the rest, what is interrupted resumes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import SpecFactory

from lib.composition.study import Composition, make_study
from lib.core.plan import Options
from lib.core.spec import RunSpec
from lib.core.store import Store
from lib.core.sweep import SweepError, load, sweep

PLAIN = Options(device="cpu", bf16=False, compile=False)


def broken_at_depth_1(spec: RunSpec) -> Composition:
    if spec.model.depth == 1:
        raise RuntimeError("boom")
    return make_study(spec)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_failing_group_is_reported_and_the_rest_finishes(tmp_path: Path, tiny_spec: SpecFactory, workers: int) -> None:
    specs = [tiny_spec(depth=depth, seed=seed) for depth in (1, 2) for seed in (0, 1)]
    store = Store(tmp_path)
    with ThreadPoolExecutor(workers or 1) as pool, pytest.raises(SweepError, match=r"runs at depth 1 .*: RuntimeError: boom"):
        sweep(specs, store, broken_at_depth_1, PLAIN, executor=pool if workers else None, progress=False)
    assert [store.get(spec) is not None for spec in specs] == [False, False, True, True]


def test_an_executor_gives_the_same_results(tmp_path: Path, tiny_spec: SpecFactory) -> None:
    specs = [tiny_spec(depth=depth, gamma=gamma) for depth in (1, 2) for gamma in (0.4, 0.8)]
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    sweep(specs, here, make_study, PLAIN, progress=False)
    with ThreadPoolExecutor(2) as pool:
        report = sweep(specs, there, make_study, PLAIN, executor=pool, progress=False)
    assert (report.found, report.trained) == (0, 4)
    for a, b in zip(load(specs, here), load(specs, there), strict=True):
        assert a.metrics == b.metrics
        assert a.history == b.history


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
import conftest
from lib.composition.study import make_study
from lib.core.store import Store
from lib.core.sweep import sweep
from lib.core.plan import Options
specs = [conftest.make_tiny_spec(seed=s, steps=20 if s < 2 else 200_000) for s in range(4)]
sweep(specs, Store({store!r}), make_study, Options(device="cpu", bf16=False, compile=False, slots=1), progress=False)
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
