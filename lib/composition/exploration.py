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
from lib.composition.information_flow.metrics import essential, flow
from lib.composition.runs import SHADOW
from lib.composition.task import FIRST_KEY, HELD_OUT, INFERENTIAL_OFFSET, N_PLACES, SYMMETRIC_OFFSET, Task
from lib.composition.trajectories import ASKED, KEY, PLACE, PLAYED
from lib.composition.variations import FLIP
from lib.core.read import web_export
from lib.core.read.measures import memoized, principal_map
from lib.core.record.store import Store, StoredRun
from lib.core.sweep.experiment import always
from lib.core.sweep.jobs import train_one
from lib.core.train.loop import Progress
from lib.core.train.plan import Options

SETS = {"fast diagram": FAST, "full-length runs": HEADLINE, "large-batch runs": FLIP, "pre-norm runs, along training": PLAYED}
"""By name; points that a reader trains are of the first's settings."""
SAYS = ("answers by the symmetry of the pairs it saw", "composes the two functions it saw")
"""What a model does that gives the symmetric and the inferential answer, as the explorer's sentence has it."""
ANSWERS = (
    {"id": "symmetric", "label": f"symmetric (key − {-SYMMETRIC_OFFSET})", "short": "symmetric", "says": SAYS[0]},
    {"id": "inferential", "label": f"inferential (key − {-INFERENTIAL_OFFSET})", "short": "inferential", "says": SAYS[1]},
)
SEEN = {"id": "test", "label": "seen pairs right", "short": "seen pairs"}
METRICS = tuple(metric["id"] for metric in (*ANSWERS, SEEN))
HERO = (
    {"id": "symmetric", "label": str(KEY + SYMMETRIC_OFFSET), "short": str(KEY + SYMMETRIC_OFFSET), "says": SAYS[0]},
    {"id": "inferential", "label": str(KEY + INFERENTIAL_OFFSET), "short": str(KEY + INFERENTIAL_OFFSET), "says": SAYS[1]},
)


def record(run: StoredRun, key: int = KEY, place: int = PLACE) -> dict[str, Any]:
    """All that the explorer draws of one run, its attention on the question with this key at this place; without what needs
    weights, where they were not kept."""
    found = web_export.record(run, METRICS)
    watched = [n for n in (f"eigenvalue {i + 1}" for i in range(spectra.N_EIGENVALUES)) if n in run.history]
    if watched:
        rows = zip(*(run.history[n] for n in watched), strict=True)
        found["history"]["eigenvalues"] = [[None if v is None else float(f"{v:.3g}") for v in row] for row in rows]
    if run.spec.experiment == PLAYED.name:
        kept = moments(run, attention=(key, place) == (KEY, PLACE))
        return found | ({"moments": kept} | kept[-1] if kept else {})
    return found | (_of_weights(run) | _attention(run, key, place) if _of_weights(run) else {})


def _attention(run: StoredRun, key: int, place: int) -> dict[str, Any]:
    found = flow(run, key, place)
    return _drawn(found.attention, place) | {"answer": found.answer}


def _drawn(attention: np.ndarray, place: int) -> dict[str, Any]:
    """Attention (L, N, N) in whole percents, and its essential path."""
    percent = np.rint(100 * attention).astype(int)
    return {
        "attention": [[row[: i + 1].tolist() for i, row in enumerate(layer)] for layer in percent],
        "path": np.argwhere(essential(attention, range(place, place + 3))).tolist(),
    }


def moments(run: StoredRun, attention: bool = True) -> list[dict[str, Any]]:
    """What a played run kept of every evaluated step, as the explorer draws it."""
    found = []
    for step, kept in run.snapshots().items():
        if not all(bool(array.isfinite().all()) for array in kept.values()):
            continue  # a run that diverged has nothing to show
        part = {
            "step": step,
            "map": web_export.on_grid(kept["map"].numpy()),
            "explained": [round(v) for v in kept["explained"].tolist()],
            "spectrum": [float(f"{v:.3g}") for v in kept["spectrum"].tolist()],
        }
        if attention:
            part |= _drawn(kept["attention"].numpy(), PLACE) | {"answer": int(kept["answer"])}
        found.append(part)
    return found


def clearest(runs: Sequence[dict[str, Any]], series: int = 0) -> list[dict[str, Any]]:
    """Three points of a series to begin with, from the recorded runs that have learned the seen pairs: the most symmetric, the
    most inferential, and the one with the least to choose between the two, of those that give either in most questions."""
    learned = [run for run in runs if run["final"]["test"] >= SHADOW] or list(runs)
    share = lambda run, i: run["final"][ANSWERS[i]["id"]]
    mixed = [run for run in learned if share(run, 0) + share(run, 1) > 0.5]
    chosen = {
        "Clearest memorizer": max(learned, key=lambda run: share(run, 0)),
        "Clearest reasoner": max(learned, key=lambda run: share(run, 1)),
    } | ({"Least decided": min(mixed, key=lambda run: abs(share(run, 0) - share(run, 1)))} if mixed else {})
    return [
        {"label": label, "to": {"series": series, **{name: run[name] for name in ("gamma", "depth", "seed")}}}
        for label, run in chosen.items()
    ]


@memoized
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
        "map": web_export.on_grid(points),
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
    series = [
        {
            "name": name,
            "profile": profile,
            "cells": web_export.cells(runs, METRICS),
            "runs": [record(run, key, place) for run in shown(runs)],
        }
        for name, runs in sets
    ]
    return {
        "series": series,
        "presets": [preset for i, found in enumerate(series) for preset in clearest(found["runs"], i)],
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


def hero(runs: Sequence[StoredRun], profile: str) -> dict[str, Any]:
    """What the explorer of the first page needs, of the played runs: their answers to one question, key 99 with (4, 3)."""
    data = exploration([("two layers", runs)], profile)
    (series,) = data["series"]
    by_key = {run.key: run for run in runs}
    for run in series["runs"]:
        shares = [kept["answered"].tolist() for kept in by_key[run["key"]].snapshots().values()]
        for i, answer in enumerate(HERO):
            run["history"][answer["id"]] = [web_export.rounded(share[i]) for share in shares]
            run["final"][answer["id"]] = web_export.rounded(shares[-1][i])
        for part in (run, *run.get("moments", ())):
            part.pop("spectrum", None)  # which the first page does not draw
    for cell in series["cells"]:
        here = [run for run in series["runs"] if run["gamma"] == cell["gamma"]]
        for answer in HERO:
            values = np.array([run["final"][answer["id"]] for run in here])
            cell[answer["id"]] = [
                web_export.rounded(values.mean()),
                web_export.rounded(values.std(ddof=1)) if len(here) > 1 else None,
            ]
    asked = f"Key {KEY}, pair ({HELD_OUT[0]}, {HELD_OUT[1]}), in {ASKED * N_PLACES} sequences of other numbers."
    return data | {"answers": list(HERO), "presets": clearest(series["runs"]), "asked": asked}


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
