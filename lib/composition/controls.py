"""What settles doubts about the turn of the answer: the paper's own size, the stretch around its γ = .5, depth, rounding.

All take the seeds and the schedule of `composition-confirm`, but the runs of the paper's size, which have its batch, rows and
warm-up. They are for one GPU: there the ones that are stored took a quarter of an hour. On a laptop they take days, so chapters
show what is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from lib.composition.diagram import seed_by_seed
from lib.composition.experiments import GRIDS, SHORT, model_spec
from lib.composition.flip import CONFIRM_RATE, CONFIRM_SEEDS, CONFIRM_TRAIN
from lib.composition.study import make_study
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec, TrainSpec
from lib.core.record.store import Store, StoredRun, load_stored
from lib.core.sweep.experiment import Experiment, always, check_profile

ONE_GPU = "one-gpu"
"""The profile: what takes one GPU minutes, and a laptop days."""


def _runs(
    name: str, profile: str, gammas: Sequence[float], seeds: Sequence[int], train: TrainSpec = CONFIRM_TRAIN, **other: int
) -> list[RunSpec]:
    """As those of `composition-confirm` but for what is given, the slowest first; none in the profiles of all other studies."""
    if profile == ONE_GPU:
        return sorted(seed_by_seed(name, gammas, seeds, CONFIRM_RATE, train, **other), key=lambda spec: -spec.gamma)
    if check_profile(profile) != "smoke":
        return []
    return seed_by_seed(name, (0.8,), seeds[:1], 1e-3, replace(SHORT, precision=train.precision), 16, **other)


def _control(name: str, title: str, specs: Callable[[str], list[RunSpec]], **other: Any) -> Experiment:
    return Experiment(name, title, 1, make_study, specs, own_profiles=(ONE_GPU,), **other)


# --- Rounding: the same runs once more in single precision, off by the last bit of their initial weights, and in bfloat16 ---

ROUNDING_NAME = "composition-rounding"
ROUNDING_GAMMAS = (0.55, 0.95, 1.25)


def rounding_specs(profile: str) -> list[RunSpec]:
    return [
        *_runs(ROUNDING_NAME, profile, ROUNDING_GAMMAS, CONFIRM_SEEDS, nudge=1),
        *_runs(ROUNDING_NAME, profile, ROUNDING_GAMMAS, CONFIRM_SEEDS, replace(CONFIRM_TRAIN, precision="any")),
    ]


ROUNDING = _control(ROUNDING_NAME, "The same runs under other roundings", rounding_specs)

# --- The same at the smallest of these starts, on new seeds, where it had seemed that bfloat16 does more than the last bit ---

FURTHER_NAME = "composition-rounding-further"
FURTHER_SEEDS = tuple(range(208, 216))


def further_specs(profile: str) -> list[RunSpec]:
    """In bfloat16 where the machine has it; in single precision, and again from weights off by their last bit."""
    of = lambda precision, nudge: _runs(
        FURTHER_NAME, profile, ROUNDING_GAMMAS[-1:], FURTHER_SEEDS, replace(CONFIRM_TRAIN, precision=precision), nudge=nudge
    )
    return [*of("any", 0), *of("float32", 0), *of("float32", 1)]


FURTHER = _control(FURTHER_NAME, "New seeds under other roundings", further_specs)

# --- The stretch around the paper's γ = .5, where older runs are symmetric less often than on either side ---

DIP_NAME = "composition-dip"
DIP_GAMMAS = (0.4, 0.44, 0.48, 0.52)


def dip_specs(profile: str) -> list[RunSpec]:
    return _runs(DIP_NAME, profile, DIP_GAMMAS, CONFIRM_SEEDS)


DIP = _control(DIP_NAME, "New seeds around γ = 0.5", dip_specs)

# --- Depth, at the same settings ---

DEPTHS_NAME = "composition-depths"
DEPTHS, DEPTH_GAMMAS, DEPTH_SEEDS = (3, 4), (0.55, 0.75, 0.95), CONFIRM_SEEDS[:4]


def depth_specs(profile: str) -> list[RunSpec]:
    return [spec for depth in DEPTHS for spec in _runs(DEPTHS_NAME, profile, DEPTH_GAMMAS, DEPTH_SEEDS, depth=depth)]


DEEP = _control(DEPTHS_NAME, "New seeds of three and four layers", depth_specs, keep=always)

# --- The paper's own size: its width, rows, batch, warm-up and decay, and the learning rate of its schedule ---

PAPER_NAME = "composition-paper-size"
PAPER_GAMMAS, PAPER_SEEDS = (0.5, 0.8, 0.9, 1.0), (0, 1, 2)
"""The paper's two, and beyond: γ = 1 at its width has the gain of 1.12 at ours. A seed counts once it has all γ."""
PAPER_TRAIN = replace(
    CONFIRM_TRAIN,
    batch=GRIDS["paper"].train.batch,
    steps=12_000,
    warmup=GRIDS["paper"].train.warmup,
    hold=2000,
    anneal=1000,
    eval_every=200,
)
"""The paper's warm-up; then its peak, which its cosine has hardly left at this point, until 95 % of the training rows are right
and 2,000 steps on; a cosine over 1,000 (ours)."""


def paper_specs(profile: str) -> list[RunSpec]:
    """Seed by seed."""
    if profile != ONE_GPU:
        return _runs(PAPER_NAME, profile, (), (0,))
    grid = GRIDS["paper"]
    return [
        RunSpec(PAPER_NAME, 1, gamma, seed, 2.5e-4, grid.decay, model_spec(grid.d_model, 2), PAPER_TRAIN, grid.task)
        for seed in PAPER_SEEDS
        for gamma in sorted(PAPER_GAMMAS, reverse=True)
    ]


def at_both_ends(result: RunResult) -> bool:
    """Weights of this width are large: of the first seed, the largest and the smallest initialization."""
    return result.spec.seed == PAPER_SEEDS[0] and result.spec.gamma in (PAPER_GAMMAS[0], PAPER_GAMMAS[-1])


PAPER_SIZE = _control(PAPER_NAME, "Two layers of the paper's own size", paper_specs, keep=at_both_ends)

CONTROLS = (ROUNDING, FURTHER, DIP, DEEP, PAPER_SIZE)


def stored(experiment: Experiment, store: Store, profile: str) -> list[StoredRun]:
    """What is stored of a control; the runs of the smoke profile where that is asked for."""
    return load_stored(experiment.specs("smoke" if profile == "smoke" else ONE_GPU), store)


def deep_runs(store: Store, profile: str) -> list[StoredRun]:
    """The new seeds of three and four layers; none unless all are stored."""
    runs = stored(DEEP, store, profile)
    return runs if profile == "smoke" or len(runs) == len(DEEP.specs(ONE_GPU)) else []


def paper_size(store: Store, profile: str) -> list[StoredRun]:
    """The runs of the paper's size of every seed that has all γ."""
    runs, gammas = stored(PAPER_SIZE, store, profile), {spec.gamma for spec in PAPER_SIZE.specs(ONE_GPU)}
    of = {seed: [run for run in runs if run.spec.seed == seed] for seed in sorted({run.spec.seed for run in runs})}
    return [run for group in of.values() for run in group if profile == "smoke" or {r.spec.gamma for r in group} == gammas]
