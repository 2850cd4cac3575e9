"""The same runs under other roundings: what is trained once more, and what counts as a difference."""

from __future__ import annotations

import dataclasses
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from tiny import SpecFactory, make_result

from lib.book.registry import experiment
from lib.composition import variations
from lib.core.read.claim import Measured
from lib.core.read.roundings import Arms, Comparison, arms, parts
from lib.core.read.statistics import sign_flips
from lib.core.record.store import Store
from lib.core.sweep.experiment import ROUNDINGS, again
from lib.in_context.experiments import GPT, gpt_specs
from lib.language.experiments import new_scan_specs, rounded_scan_specs, scan_again
from lib.reasoning_bias.experiments import rounded_specs

N = 8
NOISE = np.random.default_rng(0).normal(0, 0.01, (3, N))


def test_signs_are_flipped_in_every_way() -> None:
    values = np.array([0.4, -0.1, 0.2, 0.3, 0.5])
    means = [float((values * signs).mean()) for signs in product((-1, 1), repeat=5)]
    above = sum(mean >= values.mean() - 1e-12 for mean in means) / len(means)
    assert sign_flips(values, "greater") == pytest.approx(above)
    assert sign_flips(values) == pytest.approx(2 * above)
    assert sign_flips(np.arange(1.0, 9)) == pytest.approx(2 / 2**8)
    assert sign_flips([0.0] * 4) == 1
    many = np.random.default_rng(1).normal(0.2, 1, 48)  # too many to try all
    assert sign_flips(many) == sign_flips(many)
    assert sign_flips(many) == pytest.approx(ttest_1samp(many, 0).pvalue, abs=0.03)


def test_differences_by_hand() -> None:
    found = Comparison(np.array([0.5, 0.9]), np.array([0.4, 0.5]), np.array([0.2, 0.5]))
    assert found.shift == pytest.approx([0.2, 0.4])
    assert found.null == pytest.approx([0.2, 0.0])
    assert found.far - found.null == pytest.approx([0.0, 0.4])
    assert found.mean_shift[0] == pytest.approx(0.3)
    assert found.mean_shift[1:] == pytest.approx((0.2, 0.4))


def judged(short: np.ndarray, allowed: float = 0.1) -> tuple[str, list[str]]:
    found = Measured(parts({"x": (Comparison(short, 0.5 + NOISE[1], 0.5 + NOISE[2]), allowed)}), N).finding()
    return str(found.status), [name.removeprefix("x, ") for name in found.failed]


def test_only_what_the_last_bit_does_too_passes() -> None:
    within = "largest shift in the 95 % interval"
    assert judged(0.5 + NOISE[0]) == ("reproduced", [])
    assert judged(0.5 + NOISE[0], 1e-4) == ("partly", [within])  # too few runs to bound it so closely
    assert judged(0.7 + NOISE[0]) == ("opposite", ["shifted: p", "further off: p", within])
    apart = 0.5 + 0.2 * np.array([1, -1] * (N // 2))  # no shift, but each run goes its own way
    assert "further off: p" in judged(apart)[1]
    assert "shifted: p" not in judged(apart)[1]


RUNS = {
    "icl-roundings": lambda profile: gpt_specs(profile)[GPT],
    "bias-roundings": rounded_specs,
    "composition-gpt2-roundings": variations.rounded_specs,
}


@pytest.mark.parametrize("name", RUNS)
def test_what_is_trained_once_more(name: str) -> None:
    """Every run twice, in single precision, and the same in all that training reads."""
    short, twice = RUNS[name]("laptop"), again(experiment(name), "laptop")
    assert len(short) >= 8
    assert [spec.nudge for spec in twice] == [0, 1] * len(short)
    for spec, single in zip([spec for spec in short for _ in range(2)], twice, strict=True):
        task = [part for part in single.task if part[0] != "keep"]
        assert task == [part for part in spec.task if part[0] != "keep"]
        assert dataclasses.replace(single.train, precision="any") == spec.train
        same = {"experiment": spec.experiment, "train": spec.train, "task": spec.task, "nudge": 0}
        assert dataclasses.replace(single, **same) == spec
    assert again(experiment(name), "paper") == []
    assert len(experiment(name).specs("smoke")) == 2
    assert ROUNDINGS in experiment(name).profiles


def test_what_is_trained_once_more_of_scan() -> None:
    """As above, but that the runs in single precision are of another experiment."""
    short, twice = rounded_scan_specs("laptop"), scan_again("laptop")
    assert len({(spec.seed, spec.gamma) for spec in short}) == len(short) == 12
    assert len({spec.task for spec in short}) == 1
    assert [spec.nudge for spec in twice] == [1] * 12 + [0] * 12
    for spec, single in zip([*short, *short], twice, strict=True):
        assert single.train.precision == "float32"
        assert dataclasses.replace(single, experiment=spec.experiment, train=spec.train, nudge=0) == spec
    stored = {spec.key for specs in new_scan_specs("laptop").values() for spec in specs}
    assert {spec.key for spec in twice if not spec.nudge} <= stored
    assert scan_again("paper") == scan_again("smoke") == rounded_scan_specs("paper") == []
    assert len(experiment("language-scan-roundings").specs("smoke")) == len(rounded_scan_specs("smoke")) == 2


def test_arms_are_compared_when_all_are_there_in_their_precision(tmp_path: Path, tiny_spec: SpecFactory) -> None:
    store, tiny_specs = Store(tmp_path), [tiny_spec(seed=seed) for seed in (0, 1)]
    single = [dataclasses.replace(s, train=dataclasses.replace(s.train, precision="float32")) for s in tiny_specs]
    twice = [dataclasses.replace(s, nudge=nudge) for s in single for nudge in (0, 1)]
    with pytest.raises(LookupError, match="alone"):
        arms(tiny_specs, [], store)
    for spec in tiny_specs:
        store.put(make_result(spec), {"precision": "bfloat16"})
    for spec in twice[:-1]:
        store.put(make_result(spec), {"precision": "float32"})
    with pytest.raises(LookupError, match="--profile roundings"):
        arms(tiny_specs, twice, store)
    store.put(make_result(twice[-1]), {"precision": "float32"})
    found = arms(tiny_specs, twice, store)
    assert isinstance(found, Arms)
    keys = lambda runs: [run.key for run in runs]
    assert keys(found.short) == [spec.key for spec in tiny_specs]
    assert keys(found.single) == [spec.key for spec in twice[::2]]
    assert keys(found.moved) == [spec.key for spec in twice[1::2]]
    elsewhere = Store(tmp_path / "without bfloat16")
    for spec in (*tiny_specs, *twice):
        elsewhere.put(make_result(spec), {"precision": "float32"})
    with pytest.raises(LookupError, match="not all in bfloat16"):
        arms(tiny_specs, twice, elsewhere)
