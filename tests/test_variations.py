"""The experiments beside the phase diagram: what they train at each profile, and the numbers of a tiny run of each."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from itertools import product

import numpy as np
import pytest
from conftest import make_tiny_spec
from planted_composition import make_run

from lib.book.paths import ROOT
from lib.book.registry import EXPERIMENTS
from lib.composition.diagram import HEADLINE, PHASE
from lib.composition.experiments import FAST
from lib.composition.flip import RANGE
from lib.composition.separation import SEPARATION
from lib.composition.study import Composition
from lib.composition.task import GROUP_OFFSETS
from lib.composition.trends import curves
from lib.composition.variations import (
    DATA,
    FACTORS_GAMMAS,
    FACTORS_SEEDS,
    FEW,
    FLIP,
    GPT2,
    KEYS,
    NORM,
    NOTHING,
    OPTIMIZATION,
    VARIATIONS,
    WIDTH,
    factor_specs,
)
from lib.core.model.transformer import ModelSpec
from lib.core.read.settings import schedule, settings_rows
from lib.core.record.spec import SpecError, TrainSpec, canonical, from_dict
from lib.core.record.store import Store, StoredRun, load_stored
from lib.core.sweep.experiment import Experiment
from lib.core.train.loop import train
from lib.core.train.plan import Options
from lib.reasoning_bias import experiments as bias

STUDIED = (*VARIATIONS, PHASE, HEADLINE, FAST)
GOLDEN = {
    "composition-flip": (5.27293, 6.13033),
    "composition-width": (5.27293, 6.13033),
    "composition-optimization": (5.50413, 14.13752),
    "composition-decay": (5.27296, 6.13160),
    "composition-keys": (5.13964, 6.12431),
    "composition-few": (5.13964, 6.12431),
    "composition-data": (5.48441, 14.08651),
    "composition-gpt2": (5.19886, 6.21796),
    "composition-headline": (5.30599, 3.07352),
}
"""{experiment: (mean training loss at the last evaluation, Frobenius norm of the head)} of the first smoke run, in single
precision. They change only with the meaning of the results; then raise the experiment's version."""


@pytest.mark.parametrize("experiment", [e for e in STUDIED if e.name in GOLDEN], ids=lambda e: e.name)
def test_golden_numbers(experiment: Experiment) -> None:
    spec = experiment.specs("smoke")[0]
    options = Options(device="cpu", backend="eager", bf16=False)
    result = next(iter(train([spec], experiment.make_study(spec), options)))
    loss, norm = GOLDEN[experiment.name]
    assert result.history["loss"][-1] == pytest.approx(loss, abs=1e-3)
    assert result.weights["head.weight"].norm().item() == pytest.approx(norm, rel=1e-3)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
def test_every_run_is_of_its_experiment_and_comes_once(experiment: Experiment) -> None:
    """And is read as it was written; its snapshots are of steps that are evaluated, or nobody would say so."""
    kinds = set()
    for profile in experiment.profiles:
        specs = experiment.specs(profile)
        assert {(s.experiment, s.version) for s in specs} <= {(experiment.folder, experiment.version)}
        assert len({s.key for s in specs}) == len(specs)
        for spec in specs:
            how = spec.train
            assert all(0 < k <= how.steps and k % how.eval_every == 0 for k in dict(spec.task).get("keep", ()))
        for spec in {s.shape: s for s in specs}.values():
            assert from_dict(json.loads(canonical(spec.as_dict()))) == spec
        kinds |= {type(s.model) for s in specs}
    assert kinds - {ModelSpec} == set(experiment.models)
    with pytest.raises(SpecError, match="unknown profile 'huge'"):
        experiment.specs("huge")


def test_the_book_knows_every_experiment_by_its_name() -> None:
    for experiment in (*STUDIED, *bias.EXPERIMENTS):
        assert EXPERIMENTS[experiment.name] is experiment


def test_trials_share_no_seed_with_anything_that_is_shown() -> None:
    searches = {e for e in EXPERIMENTS.values() if e.name.endswith("-search")} | {SEPARATION, RANGE}
    assert len(searches) >= 4
    for study in {e.name.split("-")[0] for e in searches}:
        seeds = {True: set(), False: set()}
        for e in EXPERIMENTS.values():
            if e.name.split("-")[0] == study:
                seeds[e in searches] |= {s.seed for s in e.specs("laptop")}
        assert seeds[True]
        assert not seeds[True] & seeds[False], study


def test_grids_are_full() -> None:
    for experiment, axes in (
        (FLIP, lambda s: s.gamma),
        (WIDTH, lambda s: (s.model.d_model, s.model.depth, s.gamma)),
        (OPTIMIZATION, lambda s: (s.rate, s.decay)),
        (KEYS, lambda s: (s.gamma, dict(s.task)["keys"])),
        (FEW, lambda s: s.gamma),
        (DATA, lambda s: (s.gamma, dict(s.task)["groups"])),
        (GPT2, lambda s: (s.model.norm, s.gamma)),
    ):
        assert len(set(Counter(map(axes, experiment.specs("laptop"))).values())) == 1


def test_weights_are_kept_where_an_analysis_reads_them() -> None:
    result = lambda spec: type("Result", (), {"spec": spec})()
    assert all(FLIP.keep(result(s)) for s in FLIP.specs("laptop"))
    kept = [s for s in OPTIMIZATION.specs("laptop") if OPTIMIZATION.keep(result(s))]
    assert {s.seed for s in kept} == {0}
    assert len({(s.rate, s.decay) for s in kept}) == len(kept) == 9


def test_variants_reach_the_task() -> None:
    taught = lambda e: Composition(**dict(e.specs("smoke")[-1].task)).task.taught
    assert not {(3, 4), (4, 3)} & set(taught(OPTIMIZATION))
    assert [Composition(**dict(s.task)).task.keys for s in KEYS.specs("smoke")] == [30, 80, 30, 80]
    assert {Composition(**dict(s.task)).task.keys for s in FEW.specs("smoke")} == {30}
    assert len(taught(DATA)) == 16
    assert all(taught(DATA)[pair] == taught(DATA)[pair[::-1]] == offset for pair, offset in GROUP_OFFSETS.items())


def test_gpt2_has_gpt2s_blocks() -> None:
    model = GPT2.specs("paper")[0].model
    assert (model.depth, model.d_model, model.heads, model.d_k, model.d_ff) == (12, 768, 12, 64, 3072)
    assert (model.activation, model.bias) == ("gelu", True)
    assert {s.model.norm for s in GPT2.specs("laptop")} == {"post", "pre"}


def test_one_factor_of_gpt2s_form_changes_at_a_time() -> None:
    """From the pre-norm runs of chapter 8 in single precision, on seeds of their own; each change as its name says."""
    flat = lambda s: asdict(s) | asdict(s.model) | asdict(s.train) | {"model": None, "train": None}
    differ = lambda a, b: {name: (v, b[name]) for name, v in a.items() if v != b[name]}
    arms = {
        name: {(s.gamma, s.seed): flat(s) for s in sorted(specs, key=lambda s: (s.gamma, s.seed))}
        for name, specs in factor_specs("laptop").items()
    }
    base = arms[NOTHING]
    found = {name: [differ(base[place], s) for place, s in arm.items()] for name, arm in arms.items()}
    assert all(list(arm) == list(base) == list(product(FACTORS_GAMMAS, FACTORS_SEEDS)) for arm in arms.values())
    assert {name: each[0] for name, each in found.items() if each == each[:1] * len(each)} == {
        NOTHING: {},
        "one head": {"d_k": (16, 64), "d_v": (16, 64), "heads": (4, 1)},
        "ReLU": {"activation": ("gelu", "relu")},
        "no biases": {"bias": (True, False)},
        "weight decay .01": {"decay": (0.1, 0.01)},
        "half the rate, four times the batch": {"rate": (1e-3, 5e-4), "batch": (128, 512)},
        NORM: {"norm": ("pre", "post")},
    }
    former = [s for s in GPT2.specs("laptop") if s.model.norm == "pre"]
    assert not {s.seed for s in former} & set(FACTORS_SEEDS)
    changed = differ(flat(former[0]), base[max(FACTORS_GAMMAS), FACTORS_SEEDS[0]])
    assert changed.pop("precision")[1] == "float32"
    assert set(changed) == {"experiment", "seed"}


def test_settings_are_read_from_the_specs() -> None:
    setting = {"rate": 4e-4, "d_model": 128, "batch": 1024, "steps": 20_000, "warmup": 1000, "precision": "float32"}
    specs = [make_tiny_spec(gamma=g, seed=s, **setting) for g in (1.15, 0.4, 1.0) for s in range(8)]
    names = ("γ", "depth", "seeds", "peak learning rate", "weight decay", "width", "norm, activation", "batch", "schedule")
    plan = "warm-up 1,000 steps, cosine to 20,000"
    values = ("0.4, 1, 1.15", "2", "8", "0.0004", "0.01", "128", "post, relu", "1,024", plan)
    assert settings_rows(specs) == [*zip(names, values, strict=True), ("products", "single precision")]
    both = dict(settings_rows([specs[0], make_tiny_spec(seed=9, norm="pre")]))
    assert [both[name] for name in ("γ", "seeds", "width", "batch")] == ["0.5, 1.15", "2", "16, 128", "32, 1,024"]
    assert both["norm, activation"] == "post, relu; pre, relu"
    assert both["schedule"] == f"{plan}; warm-up 4 steps, cosine to 20"
    foreign = next(s for e in EXPERIMENTS.values() for s in e.specs("smoke") if not hasattr(s.model, "norm"))
    assert "norm, activation" not in dict(settings_rows([foreign]))
    assert settings_rows([]) == []


def test_a_schedule_in_words() -> None:
    fit = TrainSpec(batch=1, steps=60_000, warmup=1500, schedule="fit", anneal=6000, fit_metric="train", eval_every=100)
    said = "warm-up 1,500 steps, held until 99% are right (train){}, cosine over 6,000; at most 60,000"
    assert schedule(fit) == said.format("")
    assert schedule(replace(fit, hold=5000)) == said.format(" and 5,000 steps on")
    assert schedule(replace(fit, schedule="cosine")) == "warm-up 1,500 steps, cosine to 60,000"
    assert schedule(replace(fit, schedule="cosine", warmup=0)) == "cosine to 60,000"
    flat = replace(fit, warmup=0, start=1.0, final=1.0)
    assert schedule(flat) == "constant until 99% are right (train) and 6,000 steps on; at most 60,000"
    assert schedule(replace(flat, hold=5000)) == "constant until 99% are right (train) and 11,000 steps on; at most 60,000"
    assert schedule(replace(flat, schedule="cosine")) == "constant to 60,000"
    assert schedule(replace(flat, schedule="cosine", warmup=10, final=0.5)) == "held 10 steps, cosine to 60,000"


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_settings_say_what_a_stored_run_had(name: str) -> None:
    """Its record says in which precision it was trained; its schedule is asked for the rate at the first step and the last."""
    found = load_stored(EXPERIMENTS[name].specs("laptop"), Store(ROOT / "results"))
    for run in {run.spec.shape: run for run in found}.values():
        said, t = dict(settings_rows([run.spec])), run.spec.train
        assert said["products"] == "single precision" or not run.spec.single_precision
        assert run.provenance["precision"] == "float32" or said["products"].startswith("bfloat16")
        at = [t.start if t.warmup else 1.0, t.final]
        assert ("constant" in said["schedule"]) == (at == [1.0, 1.0])
        assert ("warm-up" in said["schedule"]) == (at[0] < 1)


# --- Numbers over runs ---


def runs_on_a_line() -> list[StoredRun]:
    """Three seeds at γ .5 and .8: inferential accuracy .1 s at the first, .5 + .1 s at the second, for seed s."""
    return [
        make_run(gamma=g, seed=s, inferential=base + 0.1 * s, symmetric=0.0)
        for g, base in ((0.5, 0.0), (0.8, 0.5))
        for s in range(3)
    ]


def test_curves_need_as_many_runs_everywhere() -> None:
    gammas, values = curves(runs_on_a_line())["inferential"]
    np.testing.assert_allclose(gammas, [0.5, 0.8])
    np.testing.assert_allclose(values, [[0, 0.1, 0.2], [0.5, 0.6, 0.7]])
    with pytest.raises(ValueError, match="as many runs"):
        curves(runs_on_a_line()[1:])
