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

EXACT = {
    0: {"test": 1.0, "symmetric": 1.0, "inferential": 0.0, "label": "symmetric"},
    1: {"test": 1.0, "symmetric": 1.0, "inferential": 0.0, "label": "symmetric"},
    2: {"test": 0.9942, "symmetric": 0.3393, "inferential": 0.5375, "label": "neither"},
    3: {"test": 1.0, "symmetric": 0.1518, "inferential": 0.1375, "label": "neither"},
}
"""What the plain loop in single precision gave, a seed: Options(device="cpu", backend="eager", bf16=False). To train that again
takes longer than both programs together."""
PROGRAMS = {
    "bfloat16 and compiled": Options(device="cpu", backend="compiled", workers=2),
    "native": Options(device="cpu", backend="native"),
}


def obtained(options: Options, folder: Path) -> list[StoredRun]:
    """Runs of the laptop size, two layers, γ = .6, where seeds fall on both sides of a boundary; half of its step limit."""
    spec = next(s for s in point_specs("laptop", 0.6, 2) if s.rate == 1e-3)
    spec = dataclasses.replace(spec, train=dataclasses.replace(spec.train, steps=5000))
    return FAST.obtain([dataclasses.replace(spec, seed=seed) for seed in EXACT], Store(folder), options, progress=False)


@pytest.mark.parametrize("program", PROGRAMS)
def test_labels_and_accuracies_stay_within_the_spread_of_seeds(program: str, tmp_path: Path) -> None:
    if program == "native" and native.library() is None:
        pytest.skip("this CPU has no AVX-512 bfloat16 products, or no C++ compiler")
    fast = obtained(PROGRAMS[program], tmp_path)
    assert sum(exact["label"] == label(run) for exact, run in zip(EXACT.values(), fast, strict=True)) >= len(EXACT) - 1
    for name in ("test", "symmetric", "inferential"):
        one, other = [exact[name] for exact in EXACT.values()], [run.metrics[name] for run in fast]
        assert abs(statistics.mean(one) - statistics.mean(other)) <= statistics.stdev(one) + 0.02, name
