"""What the study of in-context learning trains, for each profile.

The paper's settings section was not available to us: M₁ = 6, M₂ = 24, α = .8, l = 20, δ and the start of W_O are as the talk
and the authors' figures have them, as far as they can be read; the norm β = 2 of patterns, the number of neurons, batch,
rate and steps are ours, chosen on seeds that are not reported (SEARCH). `laptop` and `paper` are one here, as everything
fits two cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec, TrainSpec, check_number
from lib.core.sweep.experiment import Experiment, check_profile
from lib.in_context.models import OneLayerSpec, VectorGPT2Spec
from lib.in_context.study import make_study
from lib.in_context.task import Task

VERSION = 1
DELTA, HALF = 0.2, 0.5
"""δ of W_Q, W_K and W_V, and the γ at which W_O's standard deviation m^−γ is 1 / √m: both recalled from the paper."""
LENGTH, ALPHA = 20, 0.8
ALPHAS = (0.2, 0.4, 0.6, 0.8, 1.0)
COUNTS = (4, 6, 8, 10, 12)
LENGTHS = (5, 10, 20, 40)
COVERS: dict[str, dict[str, Any]] = {
    "18 of 30, each pattern alike": {"shifts": (1, 2, 3)},
    "6 of 30, a cycle": {"shifts": (1,)},
    "6 of 30, three patterns only": {"shifts": (1, 2), "among": 3},
}
"""Sets of training tasks: the main runs', the smallest that covers all patterns alike, and one that does not cover them."""
DEEP: dict[str, dict[str, Any]] = {
    "stacked": {},
    "stacked, AdamW": {"optimizer": "adamw", "rate": 2e-3},
    "no skip, larger start": {"skip": False, "delta": 0.7, "gamma": 0.4, "rate": 0.1},
}
"""Three layers: the theory's recipe, another optimizer, and no residual stream, which at the theory's δ does not learn."""
STORY_DELTAS, STORY_GAMMAS = (0.1, 0.2, 0.5, 1.0), (0.1, 0.3, 0.5, 0.7)


@dataclass(frozen=True)
class Setting:
    """What the runs of a profile share. `batch`, `steps` and `keep` (steps of snapshots) are of the one-layer model; `short`
    the steps of the experiments that ask how fast it learns; `deep`, `gpt` and `story` are (steps, batch); `prompts` is on
    how many prompts each GPT-2 is tested in each condition."""

    seeds: tuple[int, ...]
    neurons: int
    batch: int
    steps: int
    keep: tuple[int, ...]
    every: int
    short: int
    deep_neurons: int
    deep: tuple[int, int]
    gpt: tuple[int, int]
    prompts: int
    story: tuple[int, int]
    rate: float = 0.3


_FULL = Setting(
    seeds=(0, 1, 2, 3, 4, 5, 6, 7),
    neurons=400,
    batch=200,
    steps=1000,
    keep=(10, 30, 50, 60, 70, 80, 100, 150, 250, 400, 1000),
    every=10,
    short=600,
    deep_neurons=100,
    deep=(300, 200),
    gpt=(800, 64),
    prompts=5000,
    story=(1000, 100),
)
SETTINGS = {
    "smoke": Setting((0,), 20, 16, 20, (10, 20), 10, 20, 10, (20, 16), (10, 8), 40, (20, 16)),
    "laptop": _FULL,
    "paper": _FULL,
}


def constant(steps: int, batch: int, every: int, optimizer: str = "sgd") -> TrainSpec:
    """A constant rate, and a clip that nothing reaches."""
    rest = {"warmup": 0, "start": 1.0, "final": 1.0, "clip": 1e9, "fit_metric": "seen", "optimizer": optimizer}
    return TrainSpec(batch=batch, steps=steps, eval_every=every, **rest)


def one_layer(
    name: str, s: Setting, seed: int, task: Mapping[str, Any] | None = None, steps: int | None = None, **change: Any
) -> RunSpec:
    """A run of the one-layer model with the main runs' start, unless `change` says otherwise of rate, gamma, delta, optimizer,
    depth, skip, neurons or batch."""
    task = {"length": LENGTH} | dict(task or {})
    given = {"rate": s.rate, "gamma": HALF, "delta": DELTA, "optimizer": "sgd", "batch": s.batch, "neurons": s.neurons} | change
    shape = {key: given[key] for key in ("depth", "skip") if key in given}
    model = OneLayerSpec(given["neurons"], given["delta"], task["length"] + 1, **shape)
    train = constant(s.steps if steps is None else steps, given["batch"], s.every, given["optimizer"])
    return RunSpec(name, VERSION, given["gamma"], seed, given["rate"], 0.0, model, train, tuple(task.items()))


def train_specs(profile: str) -> list[RunSpec]:
    s = SETTINGS[check_profile(profile)]
    return [one_layer("icl-train", s, seed, {"keep": s.keep}) for seed in s.seeds]


def point_specs(profile: str, alpha: float) -> list[RunSpec]:
    """The main runs with another share α of matching examples in training. Raises SpecError for one outside 0 … 1."""
    s = SETTINGS[check_profile(profile)]
    if alpha == ALPHA:
        return train_specs(profile)
    alpha = float(check_number("alpha", alpha))
    Task(alpha=alpha)
    return [one_layer("icl-train", s, seed, {"keep": s.keep, "alpha": alpha}) for seed in s.seeds]


def speed_specs(profile: str) -> dict[str, dict[float, list[RunSpec]]]:
    """{what is varied: {value: runs}}: α, M₁ (with M₂ = 18, so that the patterns fit) and l at α = .8 (Theorem 1)."""
    s = SETTINGS[check_profile(profile)]
    runs = lambda **task: [one_layer("icl-speed", s, seed, task, s.short) for seed in s.seeds[:6]]
    return {
        "α": {alpha: runs(alpha=alpha) for alpha in ALPHAS},
        "M₁": {count: runs(m1=count, m2=18) for count in COUNTS},
        "α l": {ALPHA * length: runs(length=length) for length in LENGTHS},
    }


def cover_specs(profile: str) -> dict[str, list[RunSpec]]:
    """{set of training tasks: runs} (Theorem 1, condition 1)."""
    s = SETTINGS[check_profile(profile)]
    return {name: [one_layer("icl-cover", s, seed, task, s.short) for seed in s.seeds[:6]] for name, task in COVERS.items()}


def deep_specs(profile: str) -> dict[str, list[RunSpec]]:
    """{variant: runs} of three layers (Figs 21 to 26)."""
    s = SETTINGS[check_profile(profile)]
    steps, batch = s.deep
    keep = tuple(step for step in (10, 50, 100, 200, 300) if step <= steps)
    how = {"depth": 3, "neurons": s.deep_neurons, "batch": batch}
    return {
        name: [one_layer("icl-deep", s, seed, {"keep": keep}, steps, **how | change) for seed in s.seeds[:5]]
        for name, change in DEEP.items()
    }


def gpt_specs(profile: str) -> list[RunSpec]:
    """The small GPT-2, by AdamW with warm-up and cosine; γ = ½ is near its usual start (our choice)."""
    s = SETTINGS[check_profile(profile)]
    steps, batch = s.gpt
    train = TrainSpec(batch, steps, min(100, steps // 2), eval_every=max(5, steps // 16), fit_metric="seen")
    task = {"length": LENGTH, "keep": (steps,), "prompts": s.prompts}
    return [
        RunSpec("icl-gpt2", VERSION, HALF, seed, 1e-3, 0.01, VectorGPT2Spec(positions=LENGTH + 1), train, tuple(task.items()))
        for seed in s.seeds
    ]


def story_specs(profile: str) -> dict[tuple[float, float], list[RunSpec]]:
    """{(δ, γ): runs} trained on the six tasks of a cycle alone. The rate shrinks with the start of W_O, m^−γ: a step moves F
    through W_V by the square of it."""
    s = SETTINGS[check_profile(profile)]
    steps, batch = s.story
    found = {}
    for delta in STORY_DELTAS if profile != "smoke" else STORY_DELTAS[1:3]:
        for gamma in STORY_GAMMAS if profile != "smoke" else STORY_GAMMAS[1:3]:
            how = {"delta": delta, "gamma": gamma, "batch": batch, "neurons": s.neurons // 2, "rate": story_rate(s, gamma)}
            found[delta, gamma] = [one_layer("icl-story", s, seed, {"shifts": (1,)}, steps, **how) for seed in s.seeds[:5]]
    return found


def story_rate(s: Setting, gamma: float) -> float:
    """The main rate where W_O starts as in the main runs or smaller, less by the square of its scale where it starts larger."""
    scale = (s.neurons // 2) ** (HALF - gamma)
    return s.rate / max(1.0, scale) ** 2


def search_specs(profile: str) -> list[RunSpec]:
    """The settings that were tried for the main runs, on seeds that no figure shows."""
    s = SETTINGS[check_profile(profile)]
    tried = [(norm, rate) for norm in (1.0, 2.0, 3.0) for rate in (0.3, 1.0)]
    runs = [
        one_layer("icl-search", s, seed, {"norm": norm}, min(s.steps, 400), rate=rate)
        for norm, rate in tried
        for seed in (90, 91)
    ]
    return runs if profile != "smoke" else runs[:2]


def _flat(specs: Callable[[str], Mapping[Any, Any]]) -> Callable[[str], list[RunSpec]]:
    def flat(part: Any) -> list[RunSpec]:
        return [spec for group in part.values() for spec in flat(group)] if isinstance(part, Mapping) else list(part)

    return lambda profile: list(dict.fromkeys(flat(specs(profile))))


def always(result: RunResult) -> bool:
    return True


TRAIN = Experiment(
    "icl-train", "In-context learning, one layer", VERSION, make_study, train_specs, always, models=(OneLayerSpec,)
)
SPEED = Experiment("icl-speed", "Steps to learn in context", VERSION, make_study, _flat(speed_specs), models=(OneLayerSpec,))
COVER = Experiment("icl-cover", "Which tasks are trained", VERSION, make_study, _flat(cover_specs), models=(OneLayerSpec,))
DEEPER = Experiment(
    "icl-deep", "In-context learning, three layers", VERSION, make_study, _flat(deep_specs), models=(OneLayerSpec,)
)
GPT2 = Experiment("icl-gpt2", "In-context learning, a small GPT-2", VERSION, make_study, gpt_specs, models=(VectorGPT2Spec,))
STORY = Experiment(
    "icl-story", "In-context learning from other starts", VERSION, make_study, _flat(story_specs), models=(OneLayerSpec,)
)
SEARCH = Experiment("icl-search", "Trials of settings", VERSION, make_study, search_specs, models=(OneLayerSpec,))
EXPERIMENTS = (TRAIN, SPEED, COVER, DEEPER, GPT2, STORY, SEARCH)
