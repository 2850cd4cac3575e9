"""bfloat16, the compiler and the native program leave what is learned as it is: the same runs, over seeds, in each."""

from __future__ import annotations

import dataclasses
import statistics
from pathlib import Path

import pytest

from benchmarks.precision import label
from lib.composition.experiments import FAST, point_specs
from lib.core.record.store import Store, StoredRun
from lib.core.train import native
from lib.core.train.plan import Options

SEEDS = range(4)
EXACT = Options(device="cpu", backend="eager", bf16=False, workers=2)
PROGRAMS = {
    "bfloat16 and compiled": Options(device="cpu", backend="compiled", workers=2),
    "native": Options(device="cpu", backend="native"),
}


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> list[StoredRun]:
    return obtained(EXACT, tmp_path_factory.mktemp("exact"))


def obtained(options: Options, folder: Path) -> list[StoredRun]:
    """Runs of the laptop size, two layers, γ = .6, where seeds fall on both sides of a boundary; half of its step limit."""
    spec = next(s for s in point_specs("laptop", 0.6, 2) if s.rate == 1e-3)
    spec = dataclasses.replace(spec, train=dataclasses.replace(spec.train, steps=5000))
    return FAST.obtain([dataclasses.replace(spec, seed=seed) for seed in SEEDS], Store(folder), options, progress=False)


def test_the_exact_runs_have_learned_and_have_a_phase(exact: list[StoredRun]) -> None:
    """Otherwise agreement would say nothing."""
    assert all(run.metrics["test"] > 0.95 for run in exact)
    assert {"symmetric", "neither"} == {label(run) for run in exact}  # two seeds of each, when this was written


@pytest.mark.parametrize("program", PROGRAMS)
def test_labels_and_accuracies_stay_within_the_spread_of_seeds(exact: list[StoredRun], program: str, tmp_path: Path) -> None:
    if program == "native" and native.library() is None:
        pytest.skip("this CPU has no AVX-512 bfloat16 products, or no C++ compiler")
    fast = obtained(PROGRAMS[program], tmp_path)
    assert sum(label(a) == label(b) for a, b in zip(exact, fast, strict=True)) >= len(SEEDS) - 1
    for name in ("test", "symmetric", "inferential"):
        one, other = ([run.metrics[name] for run in runs] for runs in (exact, fast))
        assert abs(statistics.mean(one) - statistics.mean(other)) <= statistics.stdev(one) + 0.02, name
