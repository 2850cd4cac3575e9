"""A run of seconds, by itself: processes that tests start need nothing else, and import little."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from lib.core.model.transformer import ModelSpec
from lib.core.record.spec import RunSpec, TrainSpec
from lib.language import cogs

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


def save_cogs(data: cogs.Data, folder: Path) -> None:
    """Write train.tsv, dev.tsv, test.tsv and gen.tsv in the form of the release: sentence, logical form, case."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in cogs.SETS:
        lines = ["\t".join(row) for row in getattr(data, name)]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
