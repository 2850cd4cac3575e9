"""The stored search for settings that separate the two answers, on seeds from 100 on, which no figure of results shows.

Which of them are used is decided by how far the two ends of γ lie apart in their answers and by how far seeds agree, never by
speed: at two layers every fast fit is symmetric (chapter 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from lib.composition.experiments import GRIDS, full_length, model_spec
from lib.composition.study import make_study
from lib.core.model.transformer import ModelSpec
from lib.core.record.spec import RunSpec
from lib.core.sweep.experiment import Experiment

SEPARATION_NAME = "composition-separation"


def _trials(
    gammas: Iterable[float],
    seeds: Sequence[int] = (100,),
    width: int = 128,
    batch: int = 512,
    rate: float = 2.5e-4,
    steps: int = 20_000,
    decay: float = 0.01,
    norm: str = "post",
    **task: Any,
) -> list[RunSpec]:
    model: ModelSpec = replace(model_spec(width, 2), norm=norm)
    arguments = tuple((dict(GRIDS["laptop"].task) | task).items())
    train = full_length(batch, steps)
    setting = (rate, decay, model, train, arguments)
    return [RunSpec(SEPARATION_NAME, 1, gamma, seed, *setting) for gamma in gammas for seed in seeds]


def separation_specs(profile: str) -> list[RunSpec]:
    """Only the profile laptop has trials; group after group, as they were thought of."""
    if profile != "laptop":
        return []
    return [
        # Fewer numbers at width 64: the kind of answer, and whether it becomes exact with time.
        *_trials((1.0, 0.8, 0.5, 0.3), (100, 101), width=64, rate=5e-4, keys=30),
        # Width 64 with all numbers: a larger batch and the smaller learning rates.
        *_trials((1.0, 0.8, 0.5), (100, 101), width=64, rate=2.5e-4),
        # Pre-norm with the paper's block otherwise.
        *_trials((0.9, 0.7, 0.5, 0.3), (100, 101), width=64, batch=256, rate=5e-4, steps=10_000, norm="pre"),
        *_trials((0.9, 0.7, 0.5, 0.3), (100, 101), width=64, batch=256, rate=5e-4, steps=10_000, decay=0.1, norm="pre"),
        # Width 128 for longer.
        *_trials((1.0, 0.9, 0.5), (100, 101), steps=30_000),
        # The paper's ratio of learning rate to the root of the batch, at a quarter of its cost.
        *_trials((1.0, 0.9, 0.8, 0.5, 0.35), batch=256, rate=1e-4, steps=30_000),
        *_trials((1.0, 0.9, 0.8, 0.5, 0.35), width=64, batch=256, rate=1e-4, steps=40_000),
        # The same ratio: smaller weights still, and one thing changed at a time at the small end.
        *_trials((1.25, 1.15), (100, 101), batch=256, rate=1e-4, steps=30_000),
        *_trials((1.05, 0.95), batch=256, rate=1e-4, steps=30_000, decay=0.1),
        *_trials((1.05, 0.95), batch=256, rate=2e-4, steps=30_000),
        # Twice as wide; twice as long; four times the batch.
        *_trials((1.0, 0.85), width=256, batch=256, rate=1e-4, steps=20_000),
        *_trials((1.05, 0.95, 0.85), batch=256, rate=1e-4, steps=60_000),
        *_trials((1.05, 0.55), batch=256, rate=1e-4, steps=30_000, modulus=9),
        *_trials((1.05, 0.55), batch=256, rate=1e-4, steps=30_000, rows=759_375),
        *_trials((1.05, 0.95), batch=1024, rate=2.5e-4, steps=15_000),
        # The paper's batch and learning rate for fewer steps, at smaller widths.
        *_trials((0.9, 0.5), batch=2048, steps=6000),
        *_trials((0.85, 0.5), width=256, batch=1024, steps=6000),
        # How few numbers make the answer turn, before the grid over γ and their number; then one thing changed at a time.
        *_trials((0.95, 0.35, 0.2), width=64, rate=5e-4, steps=10_000, keys=30),
        *_trials((0.8, 0.5, 0.35), width=64, rate=5e-4, steps=10_000, keys=40),
        *_trials((0.95, 0.8, 0.5, 0.35), width=64, rate=5e-4, steps=10_000, keys=55),
        *_trials((0.95, 0.35), width=64, rate=2.5e-4, steps=10_000, keys=30),
        *_trials((0.95, 0.35), width=64, rate=5e-4, steps=10_000, decay=0.1, keys=30),
        # Fewer numbers and more width.
        *_trials((1.0, 0.8, 0.45, 0.3), rate=3e-4, steps=10_000, keys=30),
    ]


SEPARATION = Experiment(SEPARATION_NAME, "Search for settings that separate the two answers", 1, make_study, separation_specs)
