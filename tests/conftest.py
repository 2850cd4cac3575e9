"""What the tests share: one thread, reproducible properties, and a factory of tiny runs."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock
from hypothesis import HealthCheck, settings

import lib.book.registry  # noqa: F401 (kinds of models are known once their study is imported, as the command line does)
from lib.core.model.transformer import ModelSpec
from lib.core.record.spec import RunSpec, TrainSpec
from lib.core.record.store import Store, StoredRun

# One thread: sums are then added in one order, and the tests leave the machine's other work alone.
torch.set_num_threads(1)

# Derandomized, so that a failure on one machine is a failure on every machine; no deadline, since a shared machine stalls.
settings.register_profile(
    "suite", deadline=None, derandomize=True, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")

TINY: dict[str, Any] = {
    "experiment": "tiny",
    "version": 1,
    "gamma": 0.5,
    "seed": 0,
    "rate": 3e-3,
    "decay": 0.01,
    "task": (("modulus", 7),),
    "vocab": 201,
    "positions": 20,
    "depth": 2,
    "d_model": 16,
    "d_ff": 32,
    "d_k": 8,
    "d_v": 8,
    "batch": 32,
    "steps": 20,
    "warmup": 4,
    "eval_every": 10,
}

SpecFactory = Callable[..., RunSpec]


class Shelf(Store):
    """A store of planted runs."""

    def __init__(self, runs: Iterable[StoredRun]) -> None:
        super().__init__(Path("nowhere"))
        self.runs = {run.spec: run for run in runs}

    def get(self, spec: RunSpec) -> StoredRun | None:
        return self.runs.get(spec)


def make_tiny_spec(**changes: Any) -> RunSpec:
    """A run of seconds; `changes` are fields of RunSpec, ModelSpec or TrainSpec, whose names do not clash."""
    values = TINY | changes

    def take(kind: type) -> dict[str, Any]:
        return {f.name: values.pop(f.name) for f in dataclasses.fields(kind) if f.name in values}

    model, train = ModelSpec(**take(ModelSpec)), TrainSpec(**take(TrainSpec))
    return RunSpec(model=model, train=train, **values)


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    """Matplotlib warns of many, and of which tests they are depends on the order of the files."""
    yield
    if (plt := sys.modules.get("matplotlib.pyplot")) is not None:
        plt.close("all")


@pytest.fixture(scope="session")
def tiny_spec() -> SpecFactory:
    """The factory; session-wide, so that hypothesis may use it too."""
    return make_tiny_spec


@pytest.fixture(scope="session")
def html(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of the book's pages, built once from the committed notebooks, warnings being errors, for all workers."""
    from lib.book.build import render  # pages need every study; most tests need none

    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    with FileLock(shared / "book.lock"):
        built = shared / "book-built"
        if not built.exists():
            (shared / "book").mkdir(exist_ok=True)
            built.write_text(str(render(shared / "book").parent), encoding="utf-8")
    return Path(built.read_text(encoding="utf-8"))


@pytest.fixture
def store(tmp_path: Path, tiny_spec: SpecFactory) -> Store:
    """A store with three tiny runs, of the seeds 0 to 2. Modules that need another one have their own."""
    from test_store import PROVENANCE, make_result

    store = Store(tmp_path / "results")
    for seed in range(3):
        store.put(make_result(tiny_spec(seed=seed)), PROVENANCE)
    return store


def scalars(metrics: dict[str, Any]) -> dict[str, float]:
    """The metrics that are single numbers."""
    return {name: value for name, value in metrics.items() if not isinstance(value, list)}
