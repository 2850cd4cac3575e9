"""What the study of chain of thought trains, for each profile.

d = 30, M = 20, M' = 10, α = .4 and K = 3 are the sizes that we take for the paper's; batch, l_tr, rates, δ and the start of W_V
are ours, chosen by trials on seeds that no figure shows (`cot-search`). `paper` differs from `laptop` in the number of seeds;
`smoke` is for tests and claims nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lib.chain_of_thought.models import OneLayerSpec
from lib.chain_of_thought.study import make_study
from lib.chain_of_thought.task import D
from lib.core.model.init import gamma_of
from lib.core.record.spec import RunSpec, TrainSpec
from lib.core.sweep.experiment import Experiment, always, check_profile, in_one_list

VERSION, COT_VERSION = 1, 2
"""Of all experiments, and of the main runs, which since 2 tell the columns of other steps apart by their example."""
PATTERNS, STEPS, ALPHA, LENGTH = 20, 3, 0.4, 20
"""M, K and α of training (recalled of the paper), and l_tr (ours)."""
DELTA, RATE, SWEEP_RATE = 0.2, 2.0, 1.0
"""The start of W_Q and W_K; the rates of the main runs and of the sweep, where a task with few steps diverges at the former."""
REACHED = 0.8
"""The mean attention to columns of the same step and pattern at which the sweep stops; the talk names no level."""
SEARCH_SEEDS = (90, 91)
BATCH = 100


@dataclass(frozen=True)
class Setting:
    """What the runs of a profile share. `prompts`: test prompts for each trained model and point of a curve; `lengths`: of
    curves; `alphas`, `taus`: α' and τ of test prompts; `swept`: the values of each setting of Theorem 4."""

    seeds: tuple[int, ...]
    train: TrainSpec
    sweep_seeds: tuple[int, ...]
    sweep: TrainSpec
    search: TrainSpec
    swept: dict[str, tuple[float, ...]]
    prompts: int
    lengths: tuple[int, ...]
    alphas: tuple[float, ...] = (0.4, 0.6, 0.8, 1.0)
    taus: tuple[float, ...] = (0.4, 0.5, 0.6, 0.7)


def descent(steps: int, eval_every: int, **other: Any) -> TrainSpec:
    """Plain gradient descent at a constant rate, with a clip that nothing reaches."""
    constant = {"warmup": 0, "start": 1.0, "final": 1.0, "clip": 1e9, "optimizer": "sgd", "fit_metric": "right"}
    return TrainSpec(batch=BATCH, steps=steps, eval_every=eval_every, **constant | other)


def until_reached(steps: int, eval_every: int) -> TrainSpec:
    """The same until the attention is where it should be."""
    return descent(steps, eval_every, schedule="fit", fit_metric="both", fit_level=REACHED, anneal=eval_every)


_SWEPT = {"alpha": (0.2, 0.3, 0.4, 0.6, 0.8), "steps": (2, 3, 4, 5), "patterns": (8, 12, 16, 20, 24)}
_LENGTHS = (2, 4, 6, 8, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100)
_LAPTOP: dict[str, Any] = {
    "train": descent(1000, 10),
    "sweep": until_reached(3000, 10),
    "search": descent(1000, 50),
    "swept": _SWEPT,
    "prompts": 2000,
    "lengths": _LENGTHS,
}
SETTINGS = {
    "smoke": Setting(
        seeds=(0, 1),
        train=descent(120, 10),
        sweep_seeds=(0, 1),
        sweep=until_reached(60, 10),
        search=descent(20, 10),
        swept={"alpha": (0.4, 0.8), "steps": (2, 3), "patterns": (8, 20)},
        prompts=200,
        lengths=(4, 10, 20, 40),
    ),
    "laptop": Setting(seeds=(0, 1, 2, 3, 4, 5), sweep_seeds=(0, 1, 2, 3, 4), **_LAPTOP),
    "paper": Setting(seeds=tuple(range(20)), sweep_seeds=tuple(range(10)), **_LAPTOP),
}
COT_NAME, STEPS_NAME, SEARCH_NAME = "cot-train", "cot-steps", "cot-search"
VARIANTS = {"W_V trained": True, "W_V fixed": False}


def run_spec(
    name: str,
    seed: int,
    train: TrainSpec,
    rate: float = RATE,
    delta: float = DELTA,
    trained_values: bool = True,
    version: int = VERSION,
    **task: Any,
) -> RunSpec:
    """One run; `task` has what differs from the main task. Nothing is drawn at the start, so γ says δ: δ = D^−γ."""
    task = {"patterns": PATTERNS, "steps": STEPS, "alpha": ALPHA, "length": LENGTH} | task
    model = OneLayerSpec(task["steps"], (task["length"] + 1) * task["steps"], delta, trained_values=trained_values)
    gamma = round(gamma_of(delta, D), 6)
    return RunSpec(name, version, gamma, seed, rate, 0.0, model, train, tuple(task.items()))


def cot_specs(profile: str) -> list[RunSpec]:
    """The main runs, whose weights are kept."""
    s = SETTINGS[check_profile(profile)]
    return [run_spec(COT_NAME, seed, s.train, version=COT_VERSION) for seed in s.seeds]


def steps_specs(profile: str) -> dict[str, dict[str, dict[float, list[RunSpec]]]]:
    """The runs of Theorem 4: {variant: {setting: {value: runs}}}. The main task is a value of each setting."""
    s = SETTINGS[check_profile(profile)]

    def runs(values: bool, **task: Any) -> list[RunSpec]:
        return [run_spec(STEPS_NAME, seed, s.sweep, SWEEP_RATE, trained_values=values, **task) for seed in s.sweep_seeds]

    return {
        variant: {name: {v: runs(trained, **{name: v}) for v in values} for name, values in s.swept.items()}
        for variant, trained in VARIANTS.items()
    }


def search_specs(profile: str) -> dict[str, list[RunSpec]]:
    """The settings that were tried for the main runs, by what differs."""
    s = SETTINGS[check_profile(profile)]
    tried: dict[str, dict[str, Any]] = {
        "as in the main runs": {},
        "rate 0.5": {"rate": 0.5},
        "rate 1": {"rate": 1.0},
        "rate 3": {"rate": 3.0},
        "δ = 0.1": {"delta": 0.1},
        "W_V fixed": {"trained_values": False},
        "W_V fixed, rate 1": {"trained_values": False, "rate": 1.0},
        "α = 0.2": {"alpha": 0.2},
        "α = 0.8": {"alpha": 0.8},
        "K = 1": {"steps": 1},
        "K = 5": {"steps": 5},
        "M = 10": {"patterns": 10},
    }
    return {name: [run_spec(SEARCH_NAME, seed, s.search, **what) for seed in SEARCH_SEEDS] for name, what in tried.items()}


def _experiment(
    name: str, title: str, specs: Callable[[str], list[RunSpec]], version: int = VERSION, **keep: Any
) -> Experiment:
    return Experiment(name, title, version, make_study, specs, models=(OneLayerSpec,), **keep)


COT = _experiment(COT_NAME, "Chain of thought, one layer", cot_specs, COT_VERSION, keep=always)
STEPS_TO = _experiment(STEPS_NAME, "Chain of thought: iterations against α, K and M", in_one_list(steps_specs))
SEARCH = _experiment(SEARCH_NAME, "Chain of thought: trials", in_one_list(search_specs))
EXPERIMENTS = (COT, STEPS_TO, SEARCH)
