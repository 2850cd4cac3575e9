"""The phase diagram, at settings chosen by how well they separate the two answers (experiment composition-separation).

Two layers of width 128 from large to small initialization, for as long as they need: the paper's schedule and weight decay, no
stop at fit. `composition-headline` is a part of it that a laptop trains within the hour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lib.composition.experiments import GRIDS, full_length, model_spec
from lib.composition.variations import always, make_watched
from lib.core.experiment import Experiment, check_profile
from lib.core.spec import RunSpec, TrainSpec

PHASE_NAME, PHASE_VERSION = "composition-phase", 2
WIDTH, RATE, DECAY = 128, 1e-4, 0.01
GAMMAS = (0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1.05)
"""Evenly from large to small initialization; the gains σ√d of the paper's γ = .3 to .8 at its width of 400 lie inside."""
TRAIN: TrainSpec = full_length(batch=256, steps=30_000)


def gain(gamma: float, width: int) -> float:
    """σ√d of a matrix with d = width inputs: what it multiplies the norm of a random vector by."""
    return width ** (0.5 - gamma)


def gamma_of_gain(value: float, width: int) -> float:
    """The γ at which matrices of this width have this gain. Raises ValueError for a gain that is not positive."""
    if not value > 0:
        raise ValueError(f"a gain must be positive, got {value!r}.")
    return 0.5 - math.log(value) / math.log(width)


def _runs(gammas: Sequence[float], seeds: Sequence[int], width: int, train: TrainSpec) -> list[RunSpec]:
    """Two layers at one learning rate; seed by seed, so that every γ is there early."""
    task = GRIDS["laptop"].task
    return [
        RunSpec(PHASE_NAME, PHASE_VERSION, gamma, seed, RATE, DECAY, model_spec(width, 2), train, task)
        for seed in seeds
        for gamma in sorted(gammas, reverse=True)
    ]


def headline_specs(profile: str) -> list[RunSpec]:
    """Two layers, two seeds, one learning rate."""
    if check_profile(profile) == "smoke":
        return _runs((0.25, 1.05), (0,), 16, full_length(batch=32, steps=100))
    return _runs(GAMMAS, (0, 1), WIDTH, TRAIN) if profile == "laptop" else []


def diagram_specs(profile: str) -> list[RunSpec]:
    """What the diagram has beside the headline's runs."""
    return headline_specs(profile)


PHASE = Experiment(
    name=PHASE_NAME,
    title="Two layers, from large to small initialization, at full length",
    version=PHASE_VERSION,
    make_study=make_watched,
    profile_specs=diagram_specs,
    keep=always,
)
HEADLINE = Experiment(
    name="composition-headline",
    title="The part of the phase diagram that a laptop trains within the hour",
    version=PHASE_VERSION,
    make_study=make_watched,
    profile_specs=headline_specs,
    keep=always,
    stored_as=PHASE_NAME,
)
