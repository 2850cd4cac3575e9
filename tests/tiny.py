"""A run of seconds, its result, and what tests have other processes do: those need nothing else, and import little."""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from lib.composition.study import Composition, make_study
from lib.core.model.transformer import ModelSpec
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec, TrainSpec
from lib.core.record.store import Store

# One thread: sums are then added in one order, and the tests leave the machine's other work alone.
torch.set_num_threads(1)

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


def make_tiny_spec(**changes: Any) -> RunSpec:
    """A run of seconds; `changes` are fields of RunSpec, ModelSpec or TrainSpec, whose names do not clash."""
    values = TINY | changes

    def take(kind: type) -> dict[str, Any]:
        return {f.name: values.pop(f.name) for f in dataclasses.fields(kind) if f.name in values}

    model, train = ModelSpec(**take(ModelSpec)), TrainSpec(**take(TrainSpec))
    return RunSpec(model=model, train=train, **values)


def save_cogs(data: Any, folder: Path) -> None:
    """Write train.tsv, dev.tsv, test.tsv and gen.tsv in the form of the release: sentence, logical form, case."""
    from lib.language import cogs  # of which most tests, and the processes that they start, need nothing

    folder.mkdir(parents=True, exist_ok=True)
    for name in cogs.SETS:
        lines = ["\t".join(row) for row in getattr(data, name)]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


PROVENANCE = {"device": "cpu (test)", "threads": 1}


def make_result(spec: RunSpec, fill: float = 0.5) -> RunResult:
    """A result that nobody trained."""
    return RunResult(
        spec=spec,
        metrics={"test": 0.123456789, "symmetric": 1.0, "inferential": 0.0},
        history={"step": [10, 20], "loss": [5.25, None], "test": [0.0, 1e-05]},
        steps=20,
        status="unfitted",
        fit_step=None,
        seconds=1.5,
        weights={"head.weight": torch.full((2, 3), fill), "head.bias": torch.tensor([fill, 1 / 3, -2.0])},
    )


N_RACES = 12


def race(root: str, writer: int, barrier: Any, answers: Any) -> None:
    """A writer of its own process: the same keys, with weights that tell whose they are."""
    store = Store(root)
    barrier.wait()
    won = [
        store.put(make_result(make_tiny_spec(seed=seed), fill=float(writer)), {"writer": writer}, keep_weights=True)
        for seed in range(N_RACES)
    ]
    answers.put((writer, won))


def broken_at_depth_1(spec: RunSpec) -> Composition:
    """A study that cannot be made for one group of runs."""
    if spec.model.depth == 1:
        raise RuntimeError("boom")
    return make_study(spec)


def killing(spec: RunSpec) -> Composition:
    """A study that ends its process."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError
