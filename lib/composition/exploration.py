"""What the explorer shows of the composition study: for every stored run with weights its history, flow, map and spectrum.

Shares of attention are whole percents, maps are on a grid of 256 steps, spectra have four digits: what a screen can show,
and small enough for a page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from lib.composition import spectra
from lib.composition.diagram import HEADLINE
from lib.composition.experiments import FAST, GRIDS, point_specs
from lib.composition.information_flow.numbers import essential, flow
from lib.composition.task import FIRST_KEY, HELD_OUT, INFERENTIAL_OFFSET, SYMMETRIC_OFFSET, Task
from lib.composition.variations import FLIP
from lib.core.read import screen
from lib.core.read.measures import principal_map, remembered
from lib.core.record.store import Store, StoredRun
from lib.core.sweep.experiment import always
from lib.core.sweep.jobs import train_one
from lib.core.train.loop import Progress
from lib.core.train.plan import Options

KEY, PLACE = 99, 2
SETS = {"fast diagram": FAST, "full-length runs": HEADLINE, "low-rate runs": FLIP}
"""By name; points that a reader trains join the first."""
ANSWERS = (
    {"id": "symmetric", "label": f"symmetric (key − {-SYMMETRIC_OFFSET})", "short": "symmetric"},
    {"id": "inferential", "label": f"inferential (key − {-INFERENTIAL_OFFSET})", "short": "inferential"},
)
SEEN = {"id": "test", "label": "seen pairs right", "short": "seen pairs"}
METRICS = tuple(metric["id"] for metric in (*ANSWERS, SEEN))


def record(run: StoredRun, key: int = KEY, place: int = PLACE) -> dict[str, Any]:
    """All that the explorer draws of one run, its attention on the question with this key at this place; without what needs
    weights, where they were not kept."""
    found = screen.record(run, METRICS)
    watched = [n for n in (f"eigenvalue {i + 1}" for i in range(spectra.N_EIGENVALUES)) if n in run.history]
    if watched:
        rows = zip(*(run.history[n] for n in watched), strict=True)
        found["history"]["eigenvalues"] = [[None if v is None else float(f"{v:.3g}") for v in row] for row in rows]
    return found | (_of_weights(run) | _attention(run, key, place) if _of_weights(run) else {})


def _attention(run: StoredRun, key: int, place: int) -> dict[str, Any]:
    found = flow(run, key, place)
    percent = np.rint(100 * found.attention).astype(int)
    return {
        "attention": [[row[: i + 1].tolist() for i, row in enumerate(layer)] for layer in percent],
        "path": np.argwhere(essential(found.attention, range(place, place + 3))).tolist(),
        "answer": found.answer,
    }


@remembered
def _of_weights(run: StoredRun) -> dict[str, Any]:
    """Map and spectrum; empty where weights were not kept or are not finite."""
    if not run.has_weights:
        return {}
    weights = run.weights()
    if not all(bool(w.isfinite().all()) for w in weights.values()):
        return {}  # a run that diverged has nothing to show
    points, explained = principal_map(spectra.keys_embedding(weights))
    spectrum = spectra.keys_eigenvalues(weights).double().clamp_min(0)
    return {
        "map": screen.on_grid(points),
        "explained": [round(v) for v in explained],
        "spectrum": [float(f"{v:.4g}") for v in spectrum / spectrum[0].clamp_min(1e-30)],
    }


def shown(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """One run for each depth, γ and seed: the one whose weights were kept, else the one at the middle rate."""
    groups: dict[tuple, list[StoredRun]] = {}
    for run in sorted(runs, key=lambda r: r.spec.rate):
        groups.setdefault((run.spec.model.depth, run.spec.gamma, run.spec.seed), []).append(run)
    pick = lambda group: next((run for run in group if run.has_weights), group[len(group) // 2])
    return [pick(group) for _, group in sorted(groups.items())]


def exploration(
    sets: Sequence[tuple[str, Sequence[StoredRun]]], profile: str, key: int = KEY, place: int = PLACE
) -> dict[str, Any]:
    """What lib.book.explorer needs, of one or several sets (name, runs) of results. A run that is given twice counts once."""
    sets = [(name, list({run.path: run for run in runs}.values())) for name, runs in sets]
    every = [run for _, runs in sets for run in runs]
    task = Task()
    question = task.questions(torch.tensor([key]), torch.tensor([place]), torch.tensor([task.number(HELD_OUT)]), seed=0)
    return {
        "series": [
            {
                "name": name,
                "profile": profile,
                "cells": screen.cells(runs, METRICS),
                "runs": [record(run, key, place) for run in shown(runs)],
            }
            for name, runs in sets
        ],
        "answers": list(ANSWERS),
        "seen": SEEN,
        "question": {"tokens": question.tokens[0].tolist(), "place": place},
        "firstNumber": FIRST_KEY,
        "width": every[0].spec.model.d_model,
        "range": {
            "gamma": [min(0.2, min(run.spec.gamma for run in every)), max(1.1, max(run.spec.gamma for run in every))],
            "depth": [1, max(6, max(run.spec.model.depth for run in every))],
        },
    }


def obtain(profile: str, store: Store, options: Options) -> list[tuple[str, list[StoredRun]]]:
    """The sets that the book explores, trained where they are missing: two layers, and γ and depth."""
    return [(name, e.obtain(e.specs(profile), store, options)) for name, e in SETS.items()]


def trainer(profile: str, store: Store, options: Options) -> Callable[..., StoredRun]:
    """A function that trains one point of the phase diagram for the live explorer, at the profile's middle rate, keeping its
    weights. Raises SpecError for a γ or depth that no model can have, before anything is trained."""

    def train(gamma: float, depth: int, seed: int, on_step: Callable[[Progress], None], stop: Callable[[], bool]) -> StoredRun:
        specs = point_specs(profile, gamma, depth, seed)
        spec = next(s for s in specs if s.seed == seed and s.rate == GRIDS[profile].middle_rate)
        return train_one(spec, store, FAST.make_study, options, always, on_step, stop)

    return train
