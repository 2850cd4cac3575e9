"""What the composition study trains, for each profile.

`paper` holds the settings of Zhang et al. 2024 (their text, and where that is silent their public code); `laptop` holds ours,
chosen by measurement on seeds that are not reported (chapter 02 says how); `smoke` is for tests and claims nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lib.composition.study import make_study
from lib.composition.task import POSITIONS, VOCAB
from lib.core.model.transformer import ModelSpec
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec, TrainSpec, check_count, check_gamma
from lib.core.sweep.experiment import Experiment, check_profile

FAST_NAME, FAST_VERSION = "composition-phase", 1  # what the first diagram was stored as


@dataclass(frozen=True)
class Grid:
    """A phase diagram: every γ, depth, seed and rate at one width, decay and way of training."""

    gammas: tuple[float, ...]
    depths: tuple[int, ...]
    seeds: tuple[int, ...]
    rates: tuple[float, ...]
    decay: float
    d_model: int
    train: TrainSpec
    task: tuple[tuple[str, int], ...] = (("modulus", 7), ("rows", 0))

    @property
    def middle_rate(self) -> float:
        return sorted(self.rates)[len(self.rates) // 2]


GRIDS = {
    "smoke": Grid(
        gammas=(0.5, 0.8),
        depths=(2,),
        seeds=(0,),
        rates=(1e-3, 2e-3),
        decay=0.01,
        d_model=16,
        train=TrainSpec(batch=32, steps=40, warmup=5, eval_every=10),
    ),
    "laptop": Grid(
        gammas=(0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        depths=(2, 3, 4),
        seeds=(0, 1, 2),
        rates=(5e-4, 1e-3, 2e-3),
        decay=0.3,
        d_model=64,
        train=TrainSpec(batch=256, steps=10_000, warmup=200, schedule="fit", anneal=1000, eval_every=200),
    ),
    # 210 epochs of 370 steps: 10 of warm-up from 1e-5 to the peak, then a cosine to 1e-5 (0.04 of the peak at 2.5e-4).
    "paper": Grid(
        gammas=(0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0),
        depths=(2, 3, 4, 5, 6),
        seeds=(0, 1, 2),
        rates=tuple(round(1e-4 + 2.5e-5 * i, 9) for i in range(9)),
        decay=0.01,
        d_model=400,
        train=TrainSpec(batch=2048, steps=77_700, warmup=3_700, schedule="cosine", eval_every=370),
        task=(("modulus", 7), ("rows", 759_375)),
    ),
}


def full_length(batch: int, steps: int) -> TrainSpec:
    """The paper's schedule, warm-up and cosine without a stop, for a number of steps that is a multiple of 100. A run counts as
    fitted by its training rows."""
    return TrainSpec(batch=batch, steps=steps, warmup=steps // 20, eval_every=steps // 100, fit_metric="train")


SHORT = replace(full_length(batch=32, steps=100), eval_every=20)
"""The same in the profile that only shows that all works: evaluation would take longer than training."""


def model_spec(d_model: int, depth: int) -> ModelSpec:
    """The paper's model at a width: d_ff = 3 d_model, d_k = d_v = d_model / 2, one head, no biases but the head's."""
    return ModelSpec(
        vocab=VOCAB, positions=POSITIONS, depth=depth, d_model=d_model, d_ff=3 * d_model, d_k=d_model // 2, d_v=d_model // 2
    )


def fast_specs(profile: str) -> list[RunSpec]:
    """Every run of a profile's phase diagram: depth by depth, so that whole rows finish first, and in each the smallest
    initialization first, since the slowest runs must not be the last to start."""
    grid = GRIDS[check_profile(profile)]
    return [
        _run(grid, gamma, depth, seed, rate)
        for depth in grid.depths
        for gamma in sorted(grid.gammas, reverse=True)
        for seed in grid.seeds
        for rate in grid.rates
    ]


def point_specs(profile: str, gamma: float, depth: int, first_seed: int = 0) -> list[RunSpec]:
    """One point of the diagram at a reader's own γ and depth: the profile's rates, and as many seeds from `first_seed` on.

    Raises SpecError for a γ that is not finite, a depth below 1 and an unknown profile.
    """
    grid = GRIDS[check_profile(profile)]
    check_gamma(gamma)
    check_count("depth", depth)
    check_count("seed", first_seed, low=0)
    seeds = range(first_seed, first_seed + len(grid.seeds))
    return [_run(grid, float(gamma), depth, seed, rate) for seed in seeds for rate in grid.rates]


def _run(grid: Grid, gamma: float, depth: int, seed: int, rate: float) -> RunSpec:
    return RunSpec(
        experiment=FAST_NAME,
        version=FAST_VERSION,
        gamma=gamma,
        seed=seed,
        rate=rate,
        decay=grid.decay,
        model=model_spec(grid.d_model, depth),
        train=grid.train,
        task=grid.task,
    )


def keep_middle_rate(result: RunResult) -> bool:
    """Weights are kept at the middle rate of the laptop and paper profiles, a reader's own points among them: what analyses of
    single runs, and the explorer, read."""
    return any(
        result.spec.model.d_model == grid.d_model and result.spec.rate == grid.middle_rate
        for grid in (GRIDS["laptop"], GRIDS["paper"])
    )


FAST = Experiment(
    name="composition-fast",
    title="γ and depth, at settings chosen by how fast the seen pairs are learned",
    version=FAST_VERSION,
    make_study=make_study,
    profile_specs=fast_specs,
    keep=keep_middle_rate,
    stored_as=FAST_NAME,
)


def settings_table(profile: str) -> Sequence[tuple[str, str]]:
    """The settings of a profile as rows (name, value), for the chapter."""
    grid = GRIDS[check_profile(profile)]
    m, t = model_spec(grid.d_model, grid.depths[0]), grid.train
    schedule = (
        f"warm-up {t.warmup} steps, cosine to {t.steps}"
        if t.schedule == "cosine"
        else f"warm-up {t.warmup} steps, held until {t.fit_level:.0%} of seen test pairs are right"
        + (f" and {t.hold} steps on" if t.hold else "")
        + ", "
        f"cosine over {t.anneal}; at most {t.steps} steps"
    )
    data = dict(grid.task)["rows"]
    return [
        ("γ", ", ".join(f"{g:g}" for g in grid.gammas)),
        ("depth", ", ".join(map(str, grid.depths))),
        ("seeds", str(len(grid.seeds))),
        ("peak learning rates", f"{len(grid.rates)} from {min(grid.rates):g} to {max(grid.rates):g}"),
        ("weight decay", f"{grid.decay:g}"),
        ("d_model, d_ff, d_k = d_v", f"{m.d_model}, {m.d_ff}, {m.d_k}"),
        ("batch", str(t.batch)),
        ("training rows", f"{data:,}" if data else "always new"),
        ("schedule", schedule),
    ]
