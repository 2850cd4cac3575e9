"""What the study trains beside the phase diagram: widths, rate and decay, decay and γ, numbers, data, GPT-2.

In each the `paper` profile has the sources' settings, as far as they have any, `laptop` ours, and `smoke` is for tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor

from lib.composition import spectra
from lib.composition.experiments import GRIDS, full_length, model_spec
from lib.composition.separation import SEPARATION
from lib.composition.study import METRICS, Composition, make_study
from lib.composition.task import LENGTH, POSITIONS, VOCAB
from lib.core.model.transformer import ModelSpec, Transformer
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec, TrainSpec
from lib.core.sweep.experiment import Experiment, always, in_one_list, once_more
from lib.core.sweep.jobs import records

SMOKE, LAPTOP, PAPER = (GRIDS[profile].train for profile in ("smoke", "laptop", "paper"))
PAPER_GAMMAS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


def _run(
    name: str, profile: str, model: ModelSpec, train: TrainSpec, gamma: float, seed: int, rate: float, decay: float, **task: Any
) -> RunSpec:
    """A run of version 1 of an experiment. `task` adds to the task of the profile's phase diagram: its split and its rows."""
    return RunSpec(name, 1, gamma, seed, rate, decay, model, train, tuple((dict(GRIDS[profile].task) | task).items()))


# --- Two layers at a low rate, a larger batch and the paper's decay: γ alone changes the answer (ours) ---


class Watched(Composition):
    """The task, with the spectra of the weights in every run's history."""

    def watch(self, model: Transformer) -> dict[str, Tensor]:
        with torch.no_grad():
            return spectra.watch(model)


@records(*METRICS, length=LENGTH)
def make_watched(spec: RunSpec) -> Watched:
    return Watched(**dict(spec.task))


FLIP_NAME = "composition-flip"
FLIP_TRAIN = TrainSpec(batch=1024, steps=14_000, warmup=400, schedule="fit", anneal=2000, eval_every=200)


def flip_specs(profile: str) -> list[RunSpec]:
    """Depth 2 alone, at one rate. The slowest runs, those of the smallest initialization, come first."""
    width, gammas, rate, seeds, train = {
        "smoke": (16, (0.5, 0.8), 1e-3, 1, SMOKE),
        "laptop": (64, (0.5, 0.7, 0.8, 0.9, 0.95, 1.0), 5e-4, 4, FLIP_TRAIN),
        "paper": (400, PAPER_GAMMAS, 2.5e-4, 4, PAPER),
    }[profile]
    return [
        _run(FLIP_NAME, profile, model_spec(width, 2), train, gamma, seed, rate, 0.01)
        for gamma in sorted(gammas, reverse=True)
        for seed in range(seeds)
    ]


FLIP = Experiment(FLIP_NAME, "Two layers, from large to small initialization", 1, make_watched, flip_specs, always)

# --- The trials behind those settings, on seeds that no figure shows but that of all settings ---

SEARCH_NAME = "composition-search"


def search_specs(profile: str) -> list[RunSpec]:
    """Batch, rate and decay of two-layer models, on the seeds 100 to 103. Only the profile laptop has trials."""
    if profile != "laptop":
        return []

    def trials(batch: int, steps: int, gammas: tuple, rates: tuple, decays: tuple, seeds: range) -> list[RunSpec]:
        train = replace(FLIP_TRAIN, batch=batch, steps=steps)
        return [
            _run(SEARCH_NAME, profile, model_spec(64, 2), train, gamma, seed, rate, decay)
            for gamma in gammas
            for rate in rates
            for decay in decays
            for seed in seeds
        ]

    return [
        *trials(1024, 12_000, (1.0, 0.75, 0.5), (1e-3, 5e-4), (0.01,), range(100, 102)),
        *trials(512, 16_000, (1.0, 0.85, 0.7), (5e-4,), (0.01,), range(100, 104)),
        *trials(1024, 12_000, (0.95, 0.6), (5e-4,), (0.1, 0.3), range(100, 102)),
    ]


SEARCH = Experiment(SEARCH_NAME, "Trials of batch, rate and decay", 1, make_study, search_specs)

# --- Width: where is the transition, and what does it depend on? (ours) ---

WIDTH_NAME = "composition-width"
WIDTH_GAMMAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def width_specs(profile: str) -> list[RunSpec]:
    """Shape by shape, (width, depth), at the lowest rate of the phase diagram; small initializations first."""
    shapes, gammas, rate, seeds, train = {
        "smoke": (((16, 2), (32, 2)), (0.5, 0.8), 1e-3, 1, SMOKE),
        "laptop": (((32, 2), (64, 2), (32, 3), (64, 3), (128, 2)), WIDTH_GAMMAS, 5e-4, 4, LAPTOP),
        "paper": (((200, 2), (400, 2), (800, 2), (200, 3), (400, 3)), PAPER_GAMMAS, 2.5e-4, 4, PAPER),
    }[profile]
    return [
        _run(WIDTH_NAME, profile, model_spec(width, depth), train, gamma, seed, rate, GRIDS[profile].decay)
        for width, depth in shapes
        for gamma in sorted(gammas, reverse=True)
        for seed in range(seeds)
    ]


WIDTH = Experiment(WIDTH_NAME, "The transition at several widths and depths", 1, make_watched, width_specs)

# --- Rate and decay, nothing hinting at symmetry (Fig. 14) ---

OPTIMIZATION_NAME = "composition-optimization"
OPTIMIZATION_AXES = {
    "smoke": ((0.01, 0.3), (1e-3,)),
    "laptop": ((0.01, 0.03, 0.1, 0.3, 1.0), (2.5e-4, 5e-4, 1e-3, 2e-3, 3e-3)),
    "paper": ((0.003, 0.01, 0.03, 0.1, 0.3), (5e-5, 1e-4, 2e-4, 4e-4, 6e-4)),
}
"""Weight decays and peak rates."""


def optimization_specs(profile: str) -> list[RunSpec]:
    """Depth 3, γ = .5, (3, 4) and (4, 3) both unseen: every weight decay with every peak rate."""
    decays, rates = OPTIMIZATION_AXES[profile]
    width, seeds, train = {"smoke": (16, 1, SMOKE), "laptop": (64, 3, replace(LAPTOP, steps=6000)), "paper": (400, 9, PAPER)}[
        profile
    ]
    return [
        _run(OPTIMIZATION_NAME, profile, model_spec(width, 3), train, 0.5, seed, rate, decay, unseen="both")
        for rate in rates
        for decay in decays
        for seed in range(seeds)
    ]


def keep_corners(result: RunResult) -> bool:
    """The grids of condensation and embedding (Figs 15, 16) show one seed of every other rate and decay."""
    spec = result.spec
    decays, rates = OPTIMIZATION_AXES["paper" if spec.model.d_model == 400 else "laptop"]
    return spec.seed == 0 and spec.decay in decays[::2] and spec.rate in rates[::2]


OPTIMIZATION = Experiment(
    OPTIMIZATION_NAME, "Learning rate and weight decay", 1, make_watched, optimization_specs, keep_corners
)

# --- γ and weight decay (the follow-up's phases) ---

DECAY_NAME = "composition-decay"


def decay_specs(profile: str) -> list[RunSpec]:
    """Two layers: every γ with every weight decay."""
    width, gammas, decays, rate, seeds, train = {
        "smoke": (16, (0.5, 0.8), (0.0, 1.0), 1e-3, 1, SMOKE),
        "laptop": (64, (0.4, 0.5, 0.6, 0.7, 0.8, 0.9), (0.0, 0.01, 0.1, 1.0), 1e-3, 3, replace(LAPTOP, steps=6000)),
        "paper": (400, tuple(round(0.4 + 0.05 * i, 2) for i in range(9)), (0.0, 0.01, 0.1, 1.0), 2.5e-4, 4, PAPER),
    }[profile]
    return [
        _run(DECAY_NAME, profile, model_spec(width, 2), train, gamma, seed, rate, decay)
        for gamma in sorted(gammas, reverse=True)
        for decay in decays
        for seed in range(seeds)
    ]


DECAY = Experiment(DECAY_NAME, "Initialization rate and weight decay", 1, make_study, decay_specs)

# --- How many numbers are there? (ours) ---

KEYS_NAME = "composition-keys"


def keys_specs(profile: str) -> list[RunSpec]:
    """Two layers: every γ with every number of keys, seed by seed, so that whole grids finish first. The settings are those of
    the stored search's trials with fewer numbers, chosen by what these answer and whether they learn."""
    width, gammas, keys, rate, seeds, train = {
        "smoke": (16, (0.5, 0.8), (30, 80), 1e-3, 1, SMOKE),
        "laptop": (64, (0.35, 0.5, 0.65, 0.8, 0.95), (30, 40, 55, 80), 5e-4, 4, full_length(batch=512, steps=10_000)),
        "paper": (400, PAPER_GAMMAS, (30, 40, 55, 80), 2.5e-4, 4, PAPER),
    }[profile]
    return [
        _run(KEYS_NAME, profile, model_spec(width, 2), train, gamma, seed, rate, 0.01, keys=k)
        for seed in range(seeds)
        for gamma in sorted(gammas, reverse=True)
        for k in keys
    ]


KEYS = Experiment(KEYS_NAME, "Initialization rate and the number of keys", 1, make_study, keys_specs)
FEW_NAME = "composition-few"


def few_specs(profile: str) -> list[RunSpec]:
    """Two layers, twice as wide, with the fewest numbers of that grid: every γ, seed by seed. The settings are those of the
    stored search's trials of fewer numbers and more width."""
    width, gammas, rate, seeds, train = {
        "smoke": (16, (0.5, 0.8), 1e-3, 1, SMOKE),
        "laptop": (128, (0.3, 0.55, 0.8, 1.0), 3e-4, 4, full_length(batch=512, steps=10_000)),
        "paper": (800, PAPER_GAMMAS, 2.5e-4, 4, PAPER),
    }[profile]
    return [
        _run(FEW_NAME, profile, model_spec(width, 2), train, gamma, seed, rate, 0.01, keys=30)
        for seed in range(seeds)
        for gamma in sorted(gammas, reverse=True)
    ]


FEW = Experiment(FEW_NAME, "Few numbers and more width", 1, make_study, few_specs)

# --- How complex are the data? (the follow-up's noise groups) ---

DATA_NAME = "composition-data"


def data_specs(profile: str) -> list[RunSpec]:
    """Two layers: 0 to 6 groups of pairs that break with composition, at a large and a small initialization."""
    width, gammas, groups, rate, seeds, train = {
        "smoke": (16, (0.5, 0.8), (0, 6), 1e-3, 1, SMOKE),
        "laptop": (64, (0.5, 0.8), range(7), 1e-3, 4, LAPTOP),
        "paper": (400, (0.5, 0.8), range(7), 2.5e-4, 4, PAPER),
    }[profile]
    return [
        _run(DATA_NAME, profile, model_spec(width, 2), train, gamma, seed, rate, 0.01, groups=k)
        for gamma in gammas
        for k in groups
        for seed in range(seeds)
    ]


DATA = Experiment(DATA_NAME, "Complexity of the data", 1, make_study, data_specs)

# --- GPT-2 (Fig. 2c) ---

GPT2_NAME = "composition-gpt2"
GPT2_GAMMAS = (0.3, 0.5, 0.7, 0.8, 0.9)


def gpt2_model(depth: int, width: int, heads: int, norm: str) -> ModelSpec:
    """GPT-2's block: several heads, d_ff = 4 d_model, GELU, biases everywhere but the head's; post-norm in Fig. 2c."""
    return ModelSpec.split_heads(
        vocab=VOCAB,
        positions=POSITIONS,
        depth=depth,
        d_model=width,
        heads=heads,
        d_ff=4 * width,
        norm=norm,
        activation="gelu",
        bias=True,
        head_bias=False,
    )


def gpt2_specs(
    profile: str, name: str = GPT2_NAME, norms: Sequence[str] = ("post", "pre"), among: Sequence[float] | None = None
) -> list[RunSpec]:
    """Every γ in both norms; or, for an experiment of another name, `norms` and the γ `among` which it has runs."""
    (layers, width, heads), gammas, rate, decay, seeds, train = {
        "smoke": ((2, 16, 2), (0.5, 0.8), 1e-3, 0.01, 1, SMOKE),
        "laptop": ((2, 64, 4), GPT2_GAMMAS, 1e-3, 0.1, 4, replace(LAPTOP, batch=128, steps=4000)),
        "paper": ((12, 768, 12), PAPER_GAMMAS, 2.5e-4, 0.01, 4, PAPER),
    }[profile]
    return [
        _run(name, profile, gpt2_model(layers, width, heads, norm), train, gamma, seed, rate, decay)
        for norm in norms
        for gamma in sorted(among or gammas, reverse=True)
        for seed in range(seeds)
    ]


GPT2 = Experiment(GPT2_NAME, "GPT-2's architecture, post-norm and pre-norm", 1, make_study, gpt2_specs)
# --- From GPT-2's form with pre-norm to the paper's block, one factor at a time (ours) ---

FACTORS_NAME = "composition-gpt2-factors"
FACTORS_GAMMAS, FACTORS_SEEDS = (0.3, 0.7, 0.9), range(4, 8)
NORM, HEADS, NOTHING = "norm after each half block", "one head", "nothing"
FACTORS: dict[str, dict[str, Any]] = {
    NOTHING: {},
    HEADS: {"model": {"heads": 1}},
    "ReLU": {"model": {"activation": "relu"}},
    "no biases": {"model": {"bias": False}},
    "weight decay .01": {"decay": 0.01},
    "half the rate, four times the batch": {"rate": 0.5, "batch": 4},
    NORM: {"model": {"norm": "post"}},
}
"""{what is changed: how}, in the pre-norm model of GPT-2's form."""


def factor_specs(profile: str) -> dict[str, list[RunSpec]]:
    """{factor: runs} on new seeds, in single precision. Only the profiles smoke and laptop have them."""
    if profile not in ("smoke", "laptop"):
        return {name: [] for name in FACTORS}
    gammas, seeds = (FACTORS_GAMMAS, FACTORS_SEEDS) if profile == "laptop" else ((0.3, 0.9), (0,))
    (base, *_) = gpt2_specs(profile, FACTORS_NAME, ("pre",), gammas)
    plain = cast(ModelSpec, base.model)
    found: dict[str, list[RunSpec]] = {}
    for name, change in FACTORS.items():
        shape = dict(change.get("model", {}))
        model = gpt2_model(plain.depth, plain.d_model, shape.pop("heads", plain.heads), plain.norm)
        one = replace(
            base,
            model=replace(model, **shape),
            train=replace(base.train, precision="float32", batch=base.train.batch * change.get("batch", 1)),
            rate=base.rate * change.get("rate", 1),
            decay=change.get("decay", base.decay),
        )
        found[name] = [replace(one, gamma=gamma, seed=seed) for gamma in sorted(gammas) for seed in seeds]
    return found


FACTORS_OF_GPT2 = Experiment(FACTORS_NAME, "GPT-2's form, one factor at a time", 1, make_study, in_one_list(factor_specs))

# --- The same, of the two parts that seemed to matter, on new seeds and until all have learned (ours) ---

UNTIL_NAME = "composition-gpt2-until-learned"
UNTIL = (NOTHING, HEADS, NORM)
UNTIL_SEEDS, LONGER = range(8, 16), 4


def until_learned_specs(profile: str) -> dict[str, list[RunSpec]]:
    """{factor: runs} of the smaller starts, with a limit LONGER times as far, at which a run stops that has not learned before.
    Only the profiles smoke and laptop have them."""
    found = {}
    for name in UNTIL:
        specs = {spec.gamma: spec for spec in factor_specs(profile)[name] if spec.gamma > min(FACTORS_GAMMAS)}
        seeds = UNTIL_SEEDS if profile == "laptop" else UNTIL_SEEDS[:1]
        longer = [
            replace(s, experiment=UNTIL_NAME, train=replace(s.train, steps=LONGER * s.train.steps)) for s in specs.values()
        ]
        found[name] = [replace(spec, seed=seed) for spec in longer for seed in seeds]
    return found


def keep_one_head(result: RunResult) -> bool:
    """Weights of the first two seeds of the smallest start with one head: where does such a model answer what?"""
    spec = result.spec
    return cast(ModelSpec, spec.model).heads == 1 and spec.gamma == max(FACTORS_GAMMAS) and spec.seed in UNTIL_SEEDS[:2]


UNTIL_LEARNED = Experiment(
    UNTIL_NAME,
    "GPT-2's form, three factors until all have learned",
    1,
    make_study,
    in_one_list(until_learned_specs),
    keep_one_head,
)

# --- The pre-norm model once more on new seeds, in bfloat16 and in single precision (ours) ---

ROUNDED_NAME = "composition-gpt2-bfloat16"
ROUNDED_SEEDS = range(16, 32)


def rounded_specs(profile: str) -> list[RunSpec]:
    """The pre-norm model with nothing changed, in bfloat16 where the machine has it. Only the profiles smoke and laptop have
    it."""
    specs = {spec.gamma: spec for spec in factor_specs(profile)[NOTHING]}
    open_to_both = [replace(s, experiment=ROUNDED_NAME, train=replace(s.train, precision="any")) for s in specs.values()]
    runs = [replace(spec, seed=seed) for spec in open_to_both for seed in ROUNDED_SEEDS]
    return runs if profile == "laptop" else runs[:1]


ROUNDED = Experiment(ROUNDED_NAME, "GPT-2's form with pre-norm, in bfloat16", 1, make_study, rounded_specs)
AGAIN = once_more("composition-gpt2-roundings", "GPT-2's form with pre-norm, under other roundings", make_study, rounded_specs)
VARIATIONS = (
    FLIP,
    SEARCH,
    SEPARATION,
    WIDTH,
    OPTIMIZATION,
    DECAY,
    KEYS,
    FEW,
    DATA,
    GPT2,
    FACTORS_OF_GPT2,
    UNTIL_LEARNED,
    ROUNDED,
    AGAIN,
)
