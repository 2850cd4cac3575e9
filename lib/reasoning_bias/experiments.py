"""What the study of the reasoning bias trains, for each profile.

`paper` holds the sizes of Yao et al. 2025 as far as they are known (width 200, 200,000 rows, batches of 100, 1,000 epochs);
`laptop` holds ours, chosen by measurement on seeds that are not reported; `smoke` is for tests and claims nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lib.core.model.transformer import AnyModel, ModelSpec
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec, TrainSpec, check_count, check_gamma
from lib.core.sweep.experiment import Experiment, always, check_profile, in_one_list, once_more
from lib.reasoning_bias.models import EmbMLPSpec
from lib.reasoning_bias.study import make_study
from lib.reasoning_bias.task import LENGTH, POSITIONS, VOCAB

VERSION = 1
LARGE, MIDDLE, SMALL = 0.3, 0.5, 0.8
"""The paper's three γ, by the size of the initialization that they mean."""
PAPER_GAMMAS = (SMALL, MIDDLE, LARGE)
RATE, DECAY = 5e-4, 0.01
"""Of the transformer, in every profile."""
QUIET = "one layer, ten times the batch"
"""A training by plain gradient descent whose batches are so large that their noise does not hide the flow."""


@dataclass(frozen=True)
class Setting:
    """What the runs of a profile share. `rows`: size of the training set; `keep`: the steps of the snapshots.

    `emb_…` are those of the Emb-MLP; `short` and `early` the training and the snapshots of variants and ablations; `flow` the
    training by plain gradient descent, for each model of the theory; `shorter` the training of other sizes of the training set.
    """

    gammas: tuple[float, ...]
    seeds: tuple[int, ...]
    d_model: int
    rows: int
    train: TrainSpec
    keep: tuple[int, ...]
    emb_rate: float
    emb_train: TrainSpec
    emb_keep: tuple[int, ...]
    short: TrainSpec
    early: tuple[int, ...]
    shorter: TrainSpec
    flow: dict[str, TrainSpec]


def _train(steps: int, eval_every: int, batch: int = 100, **other: Any) -> TrainSpec:
    # from 1e-5 to a peak of 5e-4 and back, as far as the paper's range of rates can be read
    defaults = {"warmup": eval_every, "start": 0.02, "final": 0.02, "fit_metric": "memory"}
    return TrainSpec(batch=batch, steps=steps, eval_every=eval_every, **defaults | other)


def _descent(steps: int, eval_every: int, batch: int) -> TrainSpec:
    # at a constant rate, with a clip that nothing reaches
    constant = {"warmup": 0, "start": 1.0, "final": 1.0, "clip": 1e9, "optimizer": "sgd"}
    return _train(steps, eval_every, batch, **constant)


SETTINGS = {
    "smoke": Setting(
        gammas=(LARGE, SMALL),
        seeds=(0,),
        d_model=16,
        rows=800,
        train=_train(20, 10, batch=16),
        keep=(10, 20),
        emb_rate=1e-3,
        emb_train=_train(20, 10, batch=16),
        emb_keep=(10, 20),
        short=_train(10, 5, batch=16),
        early=(5, 10),
        shorter=_train(10, 5, batch=16),
        flow={"Emb-MLP": _descent(10, 5, 16), "one layer": _descent(4, 2, 16), QUIET: _descent(2, 1, 160)},
    ),
    "laptop": Setting(
        gammas=(0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        seeds=(0, 1, 2, 3),
        d_model=64,
        rows=20_000,
        train=_train(40_000, 200),
        keep=(200, 600, 1200, 2000, 3000, 4400, 6400, 9600, 14_000, 20_000, 30_000, 40_000),
        emb_rate=1e-3,
        emb_train=_train(14_000, 200),
        emb_keep=(200, 400, 600, 1000, 2000, 4000, 8000, 14_000),
        short=_train(24_000, 200),
        early=(600, 2000, 4400, 9600, 24_000),
        shorter=_train(16_000, 200),
        flow={"Emb-MLP": _descent(4000, 200, 1000), "one layer": _descent(800, 50, 800), QUIET: _descent(100, 10, 8000)},
    ),
    "paper": Setting(
        gammas=(0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        seeds=(0, 1, 2, 3),
        d_model=200,
        rows=200_000,
        train=_train(2_000_000, 2000, warmup=20_000),
        keep=(2000, 10_000, 40_000, 100_000, 400_000, 1_000_000, 1_800_000, 2_000_000),
        emb_rate=5e-4,
        emb_train=_train(2_000_000, 2000, warmup=20_000),
        emb_keep=(2000, 100_000, 1_800_000, 2_000_000),
        short=_train(1_000_000, 2000, warmup=20_000),
        early=(2000, 40_000, 200_000, 1_000_000),
        shorter=_train(600_000, 2000, warmup=20_000),
        flow={
            "Emb-MLP": _descent(20_000, 1000, 10_000),
            "one layer": _descent(4000, 200, 10_000),
            QUIET: _descent(500, 50, 100_000),
        },
    ),
}


def transformer(d_model: int, **other: Any) -> ModelSpec:
    """Two layers, one head, d_ff = 3 d_model and d_k = d_v = d_model / 2 as in Zhang et al. 2024 (which the paper extends)."""
    shape: dict[str, Any] = {"vocab": VOCAB, "positions": POSITIONS, "depth": 2, "d_model": d_model, "d_ff": 3 * d_model}
    shape |= {"d_k": d_model // 2, "d_v": d_model // 2}
    return ModelSpec(**shape | other)


def emb_mlp(d_model: int, noise: bool) -> EmbMLPSpec:
    """The hidden layer has 3 d_model units, which is our choice."""
    return EmbMLPSpec(VOCAB, LENGTH if noise else 3, d_model, 3 * d_model)


def _run(name: str, s: Setting, gamma: float, seed: int, model: AnyModel, task: dict[str, Any], **other: Any) -> RunSpec:
    parts = {"rate": RATE, "decay": DECAY, "train": s.train} | other
    data = {"rows": s.rows, "keep": s.keep} | task
    return RunSpec(name, VERSION, gamma, seed, model=model, task=tuple(data.items()), **parts)


BIAS_NAME, EMB_NAME, TABLES_NAME = "bias-gamma", "bias-emb-mlp", "bias-memory"
ABLATION_NAME, FLOW_NAME, ROWS_NAME = "bias-ablation", "bias-flow", "bias-rows"
HEADLESS, FLOW_RATE = 208, 0.05


def bias_specs(profile: str) -> list[RunSpec]:
    """The two-layer transformer at every γ, the smallest initialization first."""
    s = SETTINGS[check_profile(profile)]
    model = transformer(s.d_model)
    return [_run(BIAS_NAME, s, g, seed, model, {}) for g in sorted(s.gammas, reverse=True) for seed in s.seeds]


BETWEEN = (0.32, 0.34, 0.36, 0.38)
"""Further γ between the two smallest, where the whole transition lies."""
MORE_SEEDS = 8


def between_specs(profile: str) -> list[RunSpec]:
    """The two-layer transformer on a finer grid between the large initialization and the next smaller one."""
    s = SETTINGS[check_profile(profile)]
    gammas = BETWEEN if profile != "smoke" else BETWEEN[:1]
    return [_run(BIAS_NAME, s, g, seed, transformer(s.d_model), {}) for g in gammas for seed in s.seeds]


def more_specs(profile: str) -> list[RunSpec]:
    """Further seeds at small initialization, for what four seeds leave open about the second attention."""
    s = SETTINGS[check_profile(profile)]
    first, count = len(s.seeds), MORE_SEEDS if profile != "smoke" else 1
    return [_run(BIAS_NAME, s, SMALL, first + i, transformer(s.d_model), {}) for i in range(count)]


def all_bias_specs(profile: str) -> list[RunSpec]:
    return bias_specs(profile) + between_specs(profile) + more_specs(profile)


def point_specs(profile: str, gamma: float, first_seed: int = 0) -> list[RunSpec]:
    """A reader's own γ, with as many seeds from `first_seed` on as the profile has. Raises SpecError for a bad γ or seed."""
    s = SETTINGS[check_profile(profile)]
    check_gamma(gamma)
    check_count("seed", first_seed, low=0)
    return [_run(BIAS_NAME, s, float(gamma), first_seed + i, transformer(s.d_model), {}) for i in range(len(s.seeds))]


def rounded_specs(profile: str) -> list[RunSpec]:
    """Runs at small initialization whose bfloat16 is held against single precision: as many seeds as were added."""
    return [s for s in all_bias_specs(profile) if s.gamma == SMALL][: MORE_SEEDS if profile != "smoke" else 1]


CIRCUIT_NAME = "bias-circuits"
CIRCUIT_GAMMAS, CIRCUIT_SEEDS = (0.6, 0.7, 0.8, 0.9, 1.0), tuple(range(12, 20))


def circuit_specs(profile: str) -> list[RunSpec]:
    """The two-layer transformer once more at small initialization: new seeds, single precision, weights kept of all. Seed by
    seed, so that whole rows of γ finish first."""
    s = SETTINGS[check_profile(profile)]
    gammas, seeds = (CIRCUIT_GAMMAS, CIRCUIT_SEEDS) if profile != "smoke" else ((0.6, SMALL), (12,))
    model, train = transformer(s.d_model), replace(s.train, precision="float32")
    return [_run(CIRCUIT_NAME, s, g, seed, model, {}, train=train) for seed in seeds for g in gammas]


SCALE_NAME = "bias-circuits-scale"
SCALE_GAMMA, SCALE_SEEDS = 0.9, tuple(range(20, 28))
"""Half of the runs had either circuit at this γ (the runs above)."""
TIMES = (2, 3)
"""How many times as many rows."""
PAPER_WIDTH = 200


def scale_specs(profile: str) -> dict[str, list[RunSpec]]:
    """{what is larger: runs}: the training set, over as many steps, or the width, to the paper's, over half of them, since a
    wider model learns sooner (our choice), and for half of the seeds, since one takes seven times as long. New seeds, single
    precision; the circuit is followed along training, and no weights are kept."""
    s = SETTINGS[check_profile(profile)]
    smoke, whole = profile == "smoke", replace(s.train, precision="float32")
    wide, seeds = (2 * s.d_model, SCALE_SEEDS[:1]) if smoke else (PAPER_WIDTH, SCALE_SEEDS)
    larger = {f"{n * s.rows:,} rows": (n * s.rows, s.d_model, whole, seeds) for n in TIMES}
    if wide > s.d_model:
        larger[f"width {wide}"] = s.rows, wide, replace(whole, steps=whole.steps // 2), seeds[: max(1, len(seeds) // 2)]

    def runs(rows: int, width: int, train: TrainSpec, seeds: Sequence[int]) -> list[RunSpec]:
        model, task = transformer(width), {"rows": rows, "keep": (), "follow": True}
        return [_run(SCALE_NAME, s, SCALE_GAMMA, seed, model, task, train=train) for seed in seeds]

    return {name: runs(*how) for name, how in larger.items()}


def keep_for_maps(result: RunResult) -> bool:
    """Weights are kept of all seeds at the paper's small initialization, and of the first at its other two."""
    spec = result.spec
    return spec.gamma == SMALL or (spec.gamma in (LARGE, MIDDLE) and spec.seed == 0)


def emb_specs(profile: str) -> list[RunSpec]:
    """Emb-MLP on the three tokens alone at every γ, and with noise at the paper's large and small initialization (Fig. 3B)."""
    s = SETTINGS[check_profile(profile)]
    grid = [(g, False) for g in sorted(s.gammas, reverse=True)] + [(g, True) for g in (SMALL, LARGE)]
    how = {"train": s.emb_train, "rate": s.emb_rate}
    return [
        _run(EMB_NAME, s, g, seed, emb_mlp(s.d_model, noise), {"noise": noise, "keep": s.emb_keep}, **how)
        for g, noise in grid
        for seed in s.seeds
    ]


def table_specs(profile: str) -> list[RunSpec]:
    """The two variants of the memory table that Figure 8 adds: labels near the key, and labels by group."""
    s = SETTINGS[check_profile(profile)]
    model = transformer(s.d_model)
    return [
        _run(TABLES_NAME, s, SMALL, seed, model, {"memory": memory, "keep": s.early}, train=s.short)
        for memory in ("key", "window", "groups")
        for seed in s.seeds
    ]


ABLATIONS = ("as it is", "no norms", "no head", "rate / 2.5", "rate × 2")


def ablation_specs(profile: str) -> dict[str, list[RunSpec]]:
    """{ablation: runs} of the transformer at large and small initialization, all shorter than the main runs.

    Without a head the residual stream is the logits, so that the width is the vocabulary's size: 208, of which 200 are used,
    since widths are multiples of 16. These runs cost three times as much, so there are two seeds of them.
    """
    s = SETTINGS[check_profile(profile)]
    plain = transformer(s.d_model)
    headless = transformer(HEADLESS, vocab=HEADLESS, d_ff=HEADLESS, d_k=96, d_v=96, head=False)
    models = {"no norms": replace(plain, norm="none"), "no head": headless}
    rates = {"rate / 2.5": RATE / 2.5, "rate × 2": RATE * 2}

    def runs(name: str) -> list[RunSpec]:
        points = [(g, seed) for g in (SMALL, LARGE) for seed in s.seeds[: 2 if name == "no head" else 3]]
        model, how = models.get(name, plain), {"train": s.short, "rate": rates.get(name, RATE)}
        return [_run(ABLATION_NAME, s, g, seed, model, {"keep": s.early}, **how) for g, seed in points]

    return {name: runs(name) for name in ABLATIONS}


def long_specs(profile: str) -> dict[str, list[RunSpec]]:
    """{ablation: runs} as long as the main runs: without norms, at every one of the paper's γ, and at the lower rate."""
    s = SETTINGS[check_profile(profile)]
    plain = transformer(s.d_model)
    changed = {"no norms": (replace(plain, norm="none"), RATE), "rate / 2.5": (plain, RATE / 2.5)}
    gammas = {"no norms": PAPER_GAMMAS, "rate / 2.5": (SMALL, LARGE)}
    return {
        name: [_run(ABLATION_NAME, s, g, seed, model, {}, rate=rate) for g in gammas[name] for seed in s.seeds]
        for name, (model, rate) in changed.items()
    }


MANY = 10
"""How many times as many rows as the main runs have."""


def many_rows_specs(profile: str) -> list[RunSpec]:
    """The main runs at the paper's γ on MANY times as many rows: its own number at the laptop's settings."""
    s = SETTINGS[check_profile(profile)]
    task = {"rows": s.rows * MANY, "keep": ()}
    return [_run(ROWS_NAME, s, g, seed, transformer(s.d_model), task) for g in PAPER_GAMMAS for seed in s.seeds]


def rows_specs(profile: str) -> dict[str, list[RunSpec]]:
    """{size of the training set: runs} at large and small initialization, shorter still: what scaling the data down changes."""
    s = SETTINGS[check_profile(profile)]
    sizes = {f"{n:,} rows": n for n in (s.rows // 4, s.rows // 2, s.rows)} | {"always new rows": 0}
    points = [(g, seed) for g in (SMALL, LARGE) for seed in s.seeds[:2]]
    how = {"model": transformer(s.d_model), "train": s.shorter}
    return {
        name: [_run(ROWS_NAME, s, g, seed, task={"rows": n, "keep": ()}, **how) for g, seed in points]
        for name, n in sizes.items()
    }


def theory_model() -> ModelSpec:
    """Definition 2: one layer, no norm, no head, so that its width is the vocabulary's; tanh and d_ff = d_model are ours."""
    half = VOCAB // 2
    return ModelSpec(
        VOCAB, POSITIONS, depth=1, d_model=VOCAB, d_ff=VOCAB, d_k=half, d_v=half, norm="none", activation="tanh", head=False
    )


def flow_specs(profile: str) -> dict[str, list[RunSpec]]:
    """{model: runs} under plain gradient descent with large batches, as near to gradient flow as noise permits."""
    s = SETTINGS[check_profile(profile)]
    models = {
        name: (emb_mlp(s.d_model, False) if name == "Emb-MLP" else theory_model(), train) for name, train in s.flow.items()
    }

    def runs(name: str) -> list[RunSpec]:
        model, t = models[name]
        every_evaluation = tuple(range(t.eval_every, t.steps + 1, t.eval_every))
        task = {"rows": 0, "noise": name != "Emb-MLP", "drive": True, "keep": every_evaluation}
        how = {"train": t, "rate": FLOW_RATE, "decay": 0.0}
        seeds = s.seeds[:2] if name == QUIET else s.seeds
        return [_run(FLOW_NAME, s, SMALL, seed, model, task, **how) for seed in seeds]

    return {name: runs(name) for name in models}


BIAS = Experiment(BIAS_NAME, "Memory and reasoning over γ, two layers", VERSION, make_study, all_bias_specs, keep_for_maps)
CIRCUITS = Experiment(CIRCUIT_NAME, "Which circuit, by γ", VERSION, make_study, circuit_specs, always)
SCALE = Experiment(
    SCALE_NAME, "Which circuit, with more rows and at the paper's width", VERSION, make_study, in_one_list(scale_specs)
)
EMB = Experiment(EMB_NAME, "Memory and reasoning over γ, Emb-MLP", VERSION, make_study, emb_specs, models=(EmbMLPSpec,))
TABLES = Experiment(TABLES_NAME, "Variants of the memory table", VERSION, make_study, table_specs)
ABLATION = Experiment(
    ABLATION_NAME, "Without norms, without a head, other rates", VERSION, make_study, in_one_list(ablation_specs, long_specs)
)
FLOW = Experiment(FLOW_NAME, "Gradient flow of embeddings", VERSION, make_study, in_one_list(flow_specs), models=(EmbMLPSpec,))
ROWS = Experiment(
    ROWS_NAME,
    "Sizes of the training set",
    VERSION,
    make_study,
    lambda profile: in_one_list(rows_specs)(profile) + many_rows_specs(profile),
)
AGAIN = once_more(
    "bias-roundings",
    "Memory and reasoning, under other roundings",
    make_study,
    lambda profile: [
        replace(s, task=(*(part for part in s.task if part[0] != "keep"), ("keep", ()))) for s in rounded_specs(profile)
    ],
)
EXPERIMENTS = (BIAS, CIRCUITS, SCALE, EMB, TABLES, ABLATION, FLOW, ROWS, AGAIN)
