"""Two layers of the paper's own size, with its batch, learning rate, decay and training set; only the schedule is shorter.

A run takes two hours of one core, so no chapter trains these runs: they are a profile of their own, and chapters show what of
them is stored.
"""

from __future__ import annotations

from lib.composition.experiments import GRIDS, full_length, model_spec
from lib.composition.variations import make_watched
from lib.core.record.spec import RunSpec, TrainSpec
from lib.core.record.store import Store, StoredRun, load_stored
from lib.core.sweep.experiment import Experiment, always

SIZE_NAME = "composition-size"
FULL_WIDTH = "full-width"
"""The profile: width and all else of the paper, 15,000 steps of its 77,700."""
GAMMAS = (0.8, 0.5)
TRAIN: TrainSpec = full_length(GRIDS["paper"].train.batch, 15_000)


def size_specs(profile: str) -> list[RunSpec]:
    """Seed by seed, the small initialization first."""
    if profile not in ("smoke", FULL_WIDTH):
        return []
    grid = GRIDS["smoke" if profile == "smoke" else "paper"]
    train, seeds = (TRAIN, (0, 1)) if profile == FULL_WIDTH else (grid.train, (0,))
    model = model_spec(grid.d_model, 2)
    return [
        RunSpec(
            SIZE_NAME, 1, gamma, seed, grid.middle_rate if profile == "smoke" else 2.5e-4, grid.decay, model, train, grid.task
        )
        for seed in seeds
        for gamma in GAMMAS
    ]


SIZE = Experiment(
    name=SIZE_NAME,
    title="Two layers of the paper's size, on a shorter schedule",
    version=1,
    make_study=make_watched,
    profile_specs=size_specs,
    keep=always,
    own_profiles=(FULL_WIDTH,),
)


def stored(store: Store) -> list[StoredRun]:
    """The runs at the paper's size that are stored, trained or not at this moment; perhaps none."""
    return load_stored(size_specs(FULL_WIDTH), store)
