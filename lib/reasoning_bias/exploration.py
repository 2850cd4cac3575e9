"""What the explorer shows of the reasoning bias: shares along training, and the reasoning anchors' map at every snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lib.core.read import web_export
from lib.core.read.measures import principal_map
from lib.core.record.spec import SpecError
from lib.core.record.store import Store, StoredRun
from lib.core.sweep.jobs import train_one
from lib.core.train.loop import Progress
from lib.core.train.plan import Options
from lib.reasoning_bias.experiments import BIAS, point_specs
from lib.reasoning_bias.runs import KINDS, anchors
from lib.reasoning_bias.task import REASONING

ANSWERS = (
    {"id": "memory", "label": "memory right", "short": "memory"},
    {"id": "reasoning", "label": "trained reasoning pairs right", "short": "reasoning"},
)
SEEN = {"id": "held out", "label": "held-out pairs right", "short": "held-out pairs"}
METRICS = tuple(metric["id"] for metric in (*ANSWERS, SEEN))
DEPTH = 2


def record(run: StoredRun) -> dict[str, Any]:
    """All that the explorer draws of one run."""
    maps = []
    for step in run.snapshots():
        vectors = anchors(run, step)[KINDS["reasoning"]]
        if np.isfinite(vectors).all():  # a run that diverged has nothing to show
            points, explained = principal_map(vectors)
            maps.append({"step": step, "map": web_export.on_grid(points), "explained": [round(v) for v in explained]})
    return web_export.record(run, METRICS) | ({"moments": maps} | maps[-1] if maps else {})


def exploration(runs: Sequence[StoredRun], profile: str) -> dict[str, Any]:
    """What lib.book.explorer needs of the two-layer runs."""
    runs = list({run.path: run for run in runs}.values())
    gammas = [run.spec.gamma for run in runs]
    series = {
        "name": "two layers",
        "profile": profile,
        "cells": web_export.cells(runs, METRICS),
        "runs": [record(run) for run in sorted(runs, key=lambda r: (r.spec.gamma, r.spec.seed))],
    }
    return {
        "series": [series],
        "answers": list(ANSWERS),
        "seen": SEEN,
        "exclusive": False,
        "mapped": "reasoning anchors",
        "firstNumber": REASONING[0],
        "width": runs[0].spec.model.d_model,
        "range": {"gamma": [min(0.2, *gammas), max(1.1, *gammas)], "depth": [DEPTH, DEPTH]},
    }


def trainer(profile: str, store: Store, options: Options) -> Callable[..., StoredRun]:
    """A function that trains one γ for the live explorer. Raises SpecError for a bad γ and for another depth than two."""

    def train(gamma: float, depth: int, seed: int, on_step: Callable[[Progress], None], stop: Callable[[], bool]) -> StoredRun:
        if depth != DEPTH:
            raise SpecError(f"this study's transformer has {DEPTH} layers, got depth {depth!r}.")
        spec = point_specs(profile, gamma, seed)[0]
        return train_one(spec, store, BIAS.make_study, options, BIAS.keep, on_step, stop)

    return train
