"""Planted runs of memory and reasoning: losses that halve where they are told, embeddings and attention that lie so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from planted import Kept, Planted, planted_run
from torch import Tensor

from lib.core.record.spec import RunSpec
from lib.core.record.start import at_start
from lib.reasoning_bias import ratios
from lib.reasoning_bias.attention import metrics as attention
from lib.reasoning_bias.experiments import BIAS
from lib.reasoning_bias.study import SETS, causal_average
from lib.reasoning_bias.task import LENGTH

FIRST = 4.0
"""The loss of planted runs before training, in nats."""
SMOKE = BIAS.specs("smoke")[0]


def planted(
    spec: RunSpec = SMOKE,
    halves: Mapping[str, int | None] = {},
    shares: Mapping[str, list[float]] = {},
    steps: int = 4000,
    kept: Kept | None = None,
    **metrics: float | None,
) -> Planted:
    """A run whose losses stay at FIRST and are half of it from the given steps on; never, where there is none. `shares` are
    right answers at as many evaluations, by default none."""
    times = sorted({t for t in halves.values() if t} | {steps - i for i in range(max(map(len, shares.values()), default=1))})
    history: dict[str, list[Any]] = {"step": times, "loss": [FIRST] * len(times)}
    for name in SETS:
        history[f"{name} loss"] = [FIRST if (t := halves.get(name)) is None or step < t else FIRST / 2 for step in times]
        history[name] = [*shares.get(name, []), *[0.0] * len(times)][: len(times)]
    final = {metric: history[metric][-1] for name in SETS for metric in (name, f"{name} loss")}
    return planted_run(spec, final | metrics, history, steps=steps, kept=kept)


def of(specs: Iterable[RunSpec], halves: Callable[[RunSpec], Mapping[str, int | None]], held: float = 0.5) -> list[Planted]:
    """Runs that end with this share of held-out pairs right."""
    return [planted(spec, halves(spec), **{"held out": held}) for spec in specs]


def begin_at_first(monkeypatch: pytest.MonkeyPatch, first: Mapping[str, float] | None = None) -> None:
    """The losses before training are these or FIRST, whatever the model."""
    monkeypatch.setattr(ratios, "first_losses", lambda run: first or dict.fromkeys(SETS, FIRST))


# ---------------------------------------------------------------- embeddings


def lying(memory: np.ndarray, reasoning: np.ndarray) -> dict[str, Tensor]:
    """A snapshot with these embeddings, (10, D) each."""
    return {"anchors": torch.tensor(np.concatenate([memory, reasoning]))}


def alike(cosine: float) -> np.ndarray:
    """(10, 11) vectors that have this cosine with each other."""
    return np.hstack([np.full((10, 1), cosine**0.5), (1 - cosine) ** 0.5 * np.eye(10)])


def on_an_arc(step: float = 0.1) -> np.ndarray:
    """(10, 11) unit vectors at angles 0, step, 2 step, …"""
    angle = step * np.arange(10)
    return np.stack([np.cos(angle), np.sin(angle), *[0 * angle] * 9], 1)


SHUFFLED = on_an_arc()[[4, 9, 0, 6, 2, 8, 1, 5, 7, 3]]


def start_of(spec: RunSpec) -> np.ndarray:
    return at_start(spec).embedding.token[0, 1:21].numpy()


def moved_snapshot(spec: RunSpec, memory: np.ndarray, reasoning: np.ndarray, size: float = 1.0) -> dict[str, Tensor]:
    """A snapshot of embeddings that have moved by these, (10, ≤ D) each, from where the run starts."""
    by = [np.pad(v, ((0, 0), (0, spec.model.d_model - v.shape[1]))) for v in (memory, reasoning)]
    return {"anchors": torch.tensor(start_of(spec).astype(float) + size * np.concatenate(by))}


# ---------------------------------------------------------------- attention


def seen(
    reasoning: float = 0.6, memory: float = 0.1, mean: float = 0.0, single: float = 0.0, gap: float = 3.0
) -> dict[str, Tensor]:
    """A snapshot: |cosines| of the first direction with the anchors of a kind, of which every second points against it; how far
    the first attention is from the average, in the mean over sequences and in one; the first singular value over the second."""
    cosine = torch.tensor([memory] * 10 + [reasoning] * 10) * torch.tensor([1.0, -1.0]).repeat(10)
    deviation = torch.zeros(LENGTH, LENGTH)
    deviation[3, 1] = single
    return {
        "anchors": 3 * torch.stack([cosine, (1 - cosine**2).sqrt()], 1),
        "direction": torch.tensor([1.0, 0.0]),
        "spectrum": torch.tensor([gap, 1.0, 0.5]),
        "attention": causal_average(LENGTH) - mean * torch.outer(torch.eye(LENGTH)[3], torch.eye(LENGTH)[1]),
        "deviation": deviation,
    }


def attend(monkeypatch: pytest.MonkeyPatch, late: Callable[[RunSpec], bool]) -> None:
    """The second attention finds the key in such runs, which have the paper's circuit."""
    first = [[0.1, 0.3, 0.3, 0.3], [0.1, 0.4, 0.3, 0.2]]
    shares = lambda run: np.array([*first, [0.9, 0.1, 0.0, 0.0] if late(run.spec) else [0.1, 0.5, 0.4, 0.0]])
    monkeypatch.setattr(attention, "reading", lambda run: np.repeat(shares(run)[:, None], 7, 1))
    monkeypatch.setattr(attention, "cuts", lambda run: np.array([0.9, 0.0, 0.0] if late(run.spec) else [0.0, 0.9, 0.9]))
