"""The phase diagram, at settings chosen by how well they separate the two answers (experiment composition-separation).

Models of width 128 from large to small initialization, for as long as they need: the paper's schedule and weight decay, no stop
at fit. `composition-headline` is the part of it that a laptop trains within the hour: two layers, two seeds. Chapters need that
part, and show of the rest what is stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from lib.composition.experiments import GRIDS, SHORT, full_length, model_spec
from lib.composition.variations import make_watched
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec, TrainSpec
from lib.core.record.store import Store, StoredRun, load, load_stored
from lib.core.sweep.experiment import Experiment, always, check_profile

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


RATES = (5e-5, RATE, 2e-4)
SEEDS = (0, 1, 2, 3)
DEEPER = (3, 4)
"""Further depths, at every other γ."""


def seed_by_seed(
    name: str,
    gammas: Sequence[float],
    seeds: Sequence[int],
    rate: float,
    train: TrainSpec,
    width: int = WIDTH,
    depth: int = 2,
    nudge: int = 0,
    version: int = 1,
) -> list[RunSpec]:
    """So that whole rows of γ finish first; in each the slowest runs come first."""
    model, task = model_spec(width, depth), GRIDS["laptop"].task
    return [
        RunSpec(name, version, gamma, seed, rate, DECAY, model, train, task, nudge)
        for seed in seeds
        for gamma in sorted(gammas, reverse=True)
    ]


def _runs(gammas: Sequence[float], seeds: Sequence[int], depth: int = 2, rates: Sequence[float] = (RATE,)) -> list[RunSpec]:
    """Rate by rate, each seed by seed."""
    of = lambda rate: seed_by_seed(PHASE_NAME, gammas, seeds, rate, TRAIN, depth=depth, version=PHASE_VERSION)
    return [spec for rate in rates for spec in of(rate)]


def headline_specs(profile: str) -> list[RunSpec]:
    """Two layers, two seeds, one learning rate."""
    if check_profile(profile) == "smoke":
        return seed_by_seed(PHASE_NAME, (0.25, 1.05), (0,), RATE, SHORT, 16, version=PHASE_VERSION)
    return _runs(GAMMAS, SEEDS[:2]) if profile == "laptop" else []


def diagram_specs(profile: str) -> list[RunSpec]:
    """The headline's runs first, then more seeds, depths and learning rates."""
    if profile != "laptop":
        return headline_specs(profile)
    others = [rate for rate in RATES if rate != RATE]
    return [
        *headline_specs(profile),
        *_runs(GAMMAS, SEEDS[2:]),
        *[spec for depth in DEEPER for spec in _runs(GAMMAS[::2], SEEDS, depth=depth)],
        *_runs(GAMMAS, SEEDS, rates=others),
        *[spec for depth in DEEPER for spec in _runs(GAMMAS[::2], SEEDS, depth=depth, rates=others)],
    ]


def two_layers(store: Store, profile: str) -> list[StoredRun]:
    """The stored runs of two layers at the headline's learning rate, of every seed whose row over γ is whole.

    Raises LookupError if the headline's own runs are not stored.
    """
    headline = load(headline_specs(profile), store)
    known = {run.path for run in headline}
    return headline + [run for run in _whole_rows(store, profile, 2) if run.path not in known]


def deeper(store: Store, profile: str) -> dict[int, list[StoredRun]]:
    """Depth by depth beyond two layers, what is stored at the headline's learning rate, of every seed whose row over γ is
    whole; depths without such a row are left out."""
    found = {depth: _whole_rows(store, profile, depth) for depth in DEEPER}
    return {depth: runs for depth, runs in found.items() if runs}


def other_rates(store: Store, profile: str) -> dict[float, list[StoredRun]]:
    """Learning rate by learning rate beside the headline's, the stored runs of two layers at every γ that has all seeds; rates
    without such a γ are left out."""
    found = {rate: _whole(store, _at(profile, 2, rate), lambda spec: spec.gamma) for rate in RATES if rate != RATE}
    return {rate: runs for rate, runs in found.items() if runs}


def _at(profile: str, depth: int, rate: float) -> list[RunSpec]:
    return [spec for spec in diagram_specs(profile) if spec.model.depth == depth and spec.rate == rate]


def _whole_rows(store: Store, profile: str, depth: int) -> list[StoredRun]:
    return _whole(store, _at(profile, depth, RATE), lambda spec: spec.seed)


def _whole(store: Store, specs: Sequence[RunSpec], group: Callable[[RunSpec], float]) -> list[StoredRun]:
    """The runs of every group of specs all of which are stored."""
    groups: dict[float, list[RunSpec]] = {}
    for spec in specs:
        groups.setdefault(group(spec), []).append(spec)
    found = [(wanted, load_stored(wanted, store)) for wanted in groups.values()]
    return [run for wanted, runs in found if len(runs) == len(wanted) for run in runs]


def keep_weights(result: RunResult) -> bool:
    """At the headline's learning rate: two layers always, deeper models of the first two seeds."""
    spec = result.spec
    return spec.rate == RATE and (spec.model.depth == 2 or spec.seed in SEEDS[:2])


PHASE = Experiment(
    name=PHASE_NAME,
    title="γ and depth, at full length and settings chosen by separation",
    version=PHASE_VERSION,
    make_study=make_watched,
    profile_specs=diagram_specs,
    keep=keep_weights,
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
