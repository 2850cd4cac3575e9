"""Numbers of the study of memory and reasoning: on runs that are planted, every one can be worked out by hand."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from planted import Planted
from planted_bias import (
    SHUFFLED,
    SMOKE,
    alike,
    attend,
    begin_at_first,
    lying,
    on_an_arc,
    planted,
    seen,
    start_of,
)
from torch import Tensor

from lib.book.explorer import Explorer
from lib.core.model.transformer import ModelSpec
from lib.core.read import web_export
from lib.core.read.fact import ABSENT
from lib.core.read.measures import first_step, mean_std, memoized
from lib.core.read.statistics import sign_test
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec, SpecError, TrainSpec
from lib.core.record.start import at_start
from lib.core.record.store import Store, StoredRun
from lib.core.sweep.experiment import PROFILES, ROUNDINGS, Experiment
from lib.core.train.ensemble import Ensemble
from lib.core.train.loop import train
from lib.core.train.plan import Options
from lib.reasoning_bias import experiments as bias
from lib.reasoning_bias import ratios
from lib.reasoning_bias import runs as stored
from lib.reasoning_bias.attention import metrics as attention
from lib.reasoning_bias.embeddings import metrics as embeddings
from lib.reasoning_bias.experiments import BIAS, LARGE, MIDDLE, SMALL, point_specs
from lib.reasoning_bias.exploration import METRICS, exploration, record, trainer
from lib.reasoning_bias.memory_and_reasoning import metrics as memory_and_reasoning
from lib.reasoning_bias.ratios import Ratio, halving, slowdown
from lib.reasoning_bias.study import SETS, drive, make_study
from lib.reasoning_bias.task import LENGTH, REASONING, VOCAB, Task

TRAINED_FIRST = [e for e in bias.EXPERIMENTS if ROUNDINGS not in e.profiles]
"""Those of runs that are not trained once more (tests/test_roundings.py)."""
PLAIN = Options(device="cpu", bf16=False, backend="eager")


@pytest.fixture
def at_four(monkeypatch: pytest.MonkeyPatch) -> None:
    begin_at_first(monkeypatch)


def with_losses(losses: list[float | None]) -> StoredRun:
    """A run with these memory losses."""
    steps = [10 * (i + 1) for i in range(len(losses))]
    return replace(planted(), history={"step": steps, "memory loss": losses}, steps=steps[-1])


# ---------------------------------------------------------------- halving and its ratio


@pytest.mark.usefixtures("at_four")
@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([4.0, 3.0, 1.0], 25.0),  # 2 lies midway between the second and the third
        ([1.0], 10 * 2 / 3),  # and two thirds of the way from 4 before training to 1
        ([3.0, 2.0], 20.0),
        ([5.0, 1.5, 4.0], 10 + 10 * 3 / 3.5),  # the first time counts
        ([4.0, 2.001], None),
        ([None, 1.0], None),  # not finite: whatever came later is not of this run
        ([3.0, None, 1.0], None),
        ([1.0, None], 10 * 2 / 3),
    ],
)
def test_halving_by_hand(losses: list[float | None], expected: float | None) -> None:
    assert halving(with_losses(losses), "memory") == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(("first", "level"), [(4.0, 2.0), (10.0, 5.0), (10.7, np.log(200) / 2), (700.0, np.log(200) / 2)])
def test_half_of_a_loss_above_a_guess_is_half_of_a_guess(first: float, level: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 tokens: a guess costs ln 200 = 5.3 nats, and to fall to it needs no learning."""
    begin_at_first(monkeypatch, dict.fromkeys(SETS, first))
    assert ratios.half(planted(), "memory") == pytest.approx(level)


@pytest.mark.parametrize("spec", [SMOKE, bias.EMB.specs("smoke")[1]], ids=["transformer", "Emb-MLP"])
def test_the_first_losses_are_those_of_the_model_that_is_trained(spec: RunSpec) -> None:
    """Redrawn, it is where an ensemble begins, weight for weight; its losses are torch's."""
    ensemble = Ensemble(spec, 2, torch.device("cpu"), torch.float32, "eager")
    ensemble.load(0, replace(spec, seed=spec.seed + 1, gamma=0.1))
    ensemble.load(1, spec)
    model = at_start(spec)
    for name, weight in ensemble.weights(1).items():
        assert torch.equal(dict(model.named_parameters())[name][0], weight), name
    found = ratios.first_losses(planted(spec))
    for name, batch in make_study(spec).sets.items():
        assert found[name] == pytest.approx(F.cross_entropy(model(batch.tokens[None])[0], batch.target).item(), rel=1e-5)
    assert found.keys() == set(SETS)


@pytest.mark.usefixtures("at_four")
def test_the_ratio_is_open_where_the_slower_never_halves() -> None:
    assert slowdown(planted(halves={"memory": 300, "reasoning": 200})) == Ratio(1.5, False)
    assert slowdown(planted(halves={"reasoning": 400}, steps=4000)) == Ratio(10.0, True)
    assert slowdown(planted(halves={"memory": 300})) is None
    assert slowdown(planted(halves={"held out": 600, "reasoning": 400}), "held out") == Ratio(1.5, False)
    assert ratios.middle([Ratio(2.0, False), Ratio(8.0, True)]) == pytest.approx(4)
    with pytest.raises(LookupError, match="halves in no stored run"):
        ratios.ratios([planted(halves={"memory": 100})])
    with pytest.raises(LookupError, match="fewer than two"):
        memory_and_reasoning.trend([planted(halves={"memory": 300, "reasoning": 200}), planted(halves={"memory": 100})])


def test_the_best_share_of_a_run_is_at_any_time() -> None:
    runs = [planted(shares={"held out": shares}) for shares in ([0.1, 0.8, 0.3], [0.2, None, 0.1])]
    assert stored.best(runs).tolist() == [0.8, 0.2]
    assert stored.best([planted(shares={"held out": [0.1, 0.3]}, **{"held out": 0.4})]).tolist() == [0.4]  # asked at the end


def along(spec: RunSpec, **shares: list[float | None]) -> Planted:
    """A run with these shares right at steps 10, 20, …, and at the end the last of them."""
    steps = [10 * (i + 1) for i in range(max(map(len, shares.values())))]
    history = {name.replace("_", " "): values for name, values in shares.items()}
    run = planted(spec, **{name: values[-1] for name, values in history.items()})
    return replace(run, history=run.history | {"step": steps} | history, steps=steps[-1])


def test_steps_to_a_share_by_hand() -> None:
    run = along(SMOKE, reasoning=[0.2, 0.6, 0.4, 1.0], memory=[0.1, None, 0.9, 0.9])
    assert ratios.reaching(run, "reasoning", 0.5) == pytest.approx(17.5)  # the first time counts
    assert ratios.reaching(run, "reasoning", 0.1) == pytest.approx(5)  # none is right before training
    assert ratios.reaching(run, "memory", 0.1) == pytest.approx(10)
    assert ratios.reaching(run, "memory", 0.5) is None  # whatever came after a gap is not of this run
    assert [ratios.right_at(run, "reasoning", step) for step in (0, 5, 15, 40)] == pytest.approx([0, 0.1, 0.4, 1.0])
    assert ratios.right_at(run, "memory", 15) is None
    assert ratios.right_at(run, "reasoning", None) is None
    assert ratios.slowdown_to(run, 0.1) == Ratio(pytest.approx(2.0), False)
    assert ratios.slowdown_to(run, 0.5) == Ratio(pytest.approx(40 / 17.5), True)
    assert ratios.slowdown_to(along(SMOKE, reasoning=[0.4], memory=[0.9]), 0.5) is None


def test_a_run_has_learned_by_its_trained_rows_of_reasoning() -> None:
    runs = [planted(reasoning=r, memory=m) for r, m in ((0.9, 0.0), (0.899, 1.0), (None, 1.0), (1.0, 1.0))]
    assert memory_and_reasoning.learned(runs).tolist() == [True, False, False, True]
    assert memory_and_reasoning.learned([]).tolist() == []


def test_held_out_pairs_at_equal_shares_of_trained_rows() -> None:
    """The lowest large run ends with half of its rows right; another run has so many between its first two evaluations."""
    large = [along(SMOKE, reasoning=[0.2, last], held_out=[0.0, 0.1]) for last in (0.5, 0.8)]
    small = [along(SMOKE, reasoning=[0.4, 0.6, 1.0], held_out=[0.2, 0.4, 0.9]), along(SMOKE, reasoning=[0.3], held_out=[0.3])]
    assert memory_and_reasoning.held_at_equal(large, large) == pytest.approx([0.1, 0.05])
    found = memory_and_reasoning.held_at_equal(small, large)
    assert (found[0], found[1]) == (pytest.approx(0.3), None)


def test_what_a_reader_of_a_part_has_left() -> None:
    """Sums of trained pairs of 11 … 20, of which 24 has two fewer; with the first anchor ten pairs are as likely, or nine."""
    key, one = memory_and_reasoning.reader_losses()
    counts = [10 - abs(sum_ - 31) - 2 * (sum_ == 24) for sum_ in range(22, 41)]
    assert sum(counts) == 98
    assert key == pytest.approx(-sum(n / 98 * math.log(n / 98) for n in counts))
    assert one == pytest.approx((80 * math.log(10) + 18 * math.log(9)) / 98)


def texts(**changed: list[Planted]) -> dict[str, str]:
    """The facts of chapter 9 on planted runs, all of which are alike but for those that are given."""
    halves = {"reasoning": 100, "memory": 400, "held out": 100}
    plain, many = (bias.long_specs("laptop")["no norms"], bias.many_rows_specs("laptop"))
    of_emb = lambda noise: [s for s in bias.EMB.specs("laptop") if dict(s.task)["noise"] == noise]
    table_of = lambda labels: [s for s in bias.table_specs("laptop") if dict(s.task)["memory"] == labels]
    specs = {
        "runs": bias.bias_specs("laptop"),
        "small": [s for s in bias.all_bias_specs("laptop") if s.gamma == SMALL],
        "finer": bias.between_specs("laptop"),
        "plain": plain,
        "many": many,
        "emb": of_emb(False),
        "noisy": of_emb(True),
        "ordinary": table_of("key"),
        "window": table_of("window"),
    }
    groups = {
        name: [planted(s, halves, **{"held out": 0.5, "reasoning": 0.95, "memory": 0.2}) for s in found]
        for name, found in specs.items()
    }
    return {name: fact.text for name, fact in memory_and_reasoning.facts(**groups | changed).items()}


@pytest.mark.usefixtures("at_four")
def test_the_part_of_the_range_of_labels() -> None:
    """A lag of 9 everywhere and of 3 near the key: in logarithms half of it."""
    of = lambda labels, lag: [
        planted(s, {"reasoning": 100, "memory": lag}) for s in bias.table_specs("laptop") if dict(s.task)["memory"] == labels
    ]
    found = texts(ordinary=of("key", 900), window=of("window", 300))
    assert [found[name] for name in ("ordinary", "window", "range", "window-span")] == ["9.0", "3.0", "50%", "3.0 to 3.0"]
    assert texts(ordinary=of("key", 900), window=of("window", 900))["range"] == "0%"
    assert texts(ordinary=of("key", 100), window=of("window", 300))["range"] == ABSENT  # nothing lags


@pytest.mark.usefixtures("at_four")
def test_what_is_right_where_the_loss_has_halved() -> None:
    """The loss falls from 4 to 1 between 10 and 20, and is 2 two thirds of the way; shares rise on straight lines there."""
    specs = [s for s in bias.all_bias_specs("laptop") if s.gamma == SMALL]
    shares = {"reasoning": [0.0, 0.3, 0.6], "held_out": [0.0, 0.06, 0.1], "memory": [0.0, 0.0, 0.5]}
    runs = [along(s, **shares) for s in specs]
    runs = [replace(r, history=r.history | {"reasoning loss": [4.0, 1.0, 1.0], "memory loss": [4.0, 4.0, 1.0]}) for r in runs]
    found = texts(small=runs)
    names = ("half-rows", "half-held", "half-loss", "to-half-right", "half-right-large")
    assert [found[name] for name in names] == ["20%", "4%", "2.0", "1.1", "none"]  # 30 steps over 26.7


@pytest.mark.usefixtures("at_four")
def test_what_the_large_start_has_learned_is_told() -> None:
    end = {0.3: 0.5, 0.4: 0.8}
    runs = [
        planted(s, **{"reasoning": end.get(s.gamma, 0.9) + s.seed / 100, "held out": s.gamma / 2})
        for s in bias.bias_specs("laptop")
    ]
    found = texts(runs=runs, small=[r for r in runs if r.spec.gamma == SMALL])
    assert [found[name] for name in ("rows-large", "held-next", "held-rest")] == ["50% to 53%", "20%", "25% to 50%"]
    assert found["held-trend"] == "1.00 (1.00 to 1.00)"
    assert found["equal-small"] == ABSENT  # along training these have none right
    unlearned = [replace(r, metrics=r.metrics | {"reasoning": 0.5}) if r.spec.gamma > MIDDLE else r for r in runs]
    found = texts(runs=unlearned, small=[r for r in unlearned if r.spec.gamma == SMALL])
    assert (found["held-rest"], found["held-trend"]) == ("25% to 25%", ABSENT)  # runs that have not learned are left out
    rows = memory_and_reasoning.shares_by_gamma(runs)
    assert rows[0] == ("0.3", "4", "50% to 53%", "0% to 0%", "15% to 15%, mean 15%")


def test_groups_are_by_gamma_in_the_order_of_seeds() -> None:
    runs = [planted(replace(SMOKE, gamma=g, seed=s)) for g, s in ((0.8, 2), (0.3, 1), (0.8, 0), (0.3, 3))]
    found = stored.by_gamma(runs)
    assert [(g, [run.spec.seed for run in group]) for g, group in found.items()] == [(0.3, [1, 3]), (0.8, [0, 2])]


def test_histories_have_gaps_where_a_run_was_not_finite_or_had_stopped() -> None:
    spec = replace(SMOKE, task=(("rows", 400), ("keep", ())), train=replace(SMOKE.train, batch=40))
    one = replace(planted(spec), history={"step": [10, 20, 30], "memory": [0.1, None, 0.3]})
    other = replace(planted(spec), history={"step": [10], "memory": [0.5]})
    for order in ((one, other), (other, one)):
        epochs, values = stored.histories(order, "memory")
        assert epochs.tolist() == [1.0, 2.0, 3.0]
        by_run = dict(zip(map(id, order), values.tolist(), strict=True))
        np.testing.assert_array_equal([by_run[id(one)], by_run[id(other)]], [[0.1, np.nan, 0.3], [0.5, np.nan, np.nan]])


def test_an_epoch_is_a_pass_over_the_rows_and_a_step_where_all_are_new() -> None:
    of = lambda rows, batch: replace(SMOKE, task=(("rows", rows),), train=replace(SMOKE.train, batch=batch))
    assert [stored.epoch(of(*case)) for case in ((400, 16), (20_000, 100), (0, 100))] == [25.0, 200.0, 1.0]
    assert stored.epoch(BIAS.specs("laptop")[0]) == 200


@pytest.mark.parametrize(("share", "expected"), [(1.0, 1000), (0.1, 100), (0.29, 100), (0.35, 1000), (1e-6, 1)])
def test_the_nearest_snapshot_is_nearest_by_ratio(share: float, expected: int) -> None:
    spec = replace(SMOKE, train=TrainSpec(batch=1, steps=1000, warmup=0, eval_every=1))
    assert stored.snapshot_near(planted(spec, kept={1: {}, 100: {}, 1000: {}}), share) == expected


# ---------------------------------------------------------------- small measures of the core


def test_a_remembered_measure_is_taken_once_for_each_file() -> None:
    asked = []
    measure = memoized(lambda run: asked.append(run.path) or len(asked))
    runs = [planted(spec) for spec in bias.bias_specs("smoke")]
    assert [measure(run) for run in (*runs, *runs)] == [1, 2, 1, 2]


def test_the_first_step_at_a_level() -> None:
    run = replace(planted(), history={"step": [10, 20, 30, 40], "memory": [None, 0.4, 0.5, 0.9]})
    assert [first_step(run, "memory", level) for level in (0.4, 0.45, 0.9, 0.91)] == [20, 30, 40, None]


def test_spreads_in_words() -> None:
    assert mean_std([1.0, 3.0]) == "2.00 ± 1.41"
    assert mean_std([0.25]) == "0.25"
    assert mean_std(np.array([10.0, 11.0]), 0) == "10 ± 1"


def test_signs_are_counted_on_one_side() -> None:
    assert [sign_test(*n) for n in ((3, 1), (1, 3), (0, 0))] == pytest.approx([5 / 16, 15 / 16, 1])


def test_points_on_a_grid_share_a_scale() -> None:
    assert web_export.on_grid(np.array([[-2.0, 0.0], [1.0, 2.0]])) == [[0, 128], [191, 255]]
    assert web_export.on_grid(np.zeros((2, 2))) == [[128, 128], [128, 128]]


# ---------------------------------------------------------------- embeddings and their flow


def test_order_in_the_plane() -> None:
    rng = np.random.default_rng(0)
    line = np.arange(10.0)[:, None] * rng.normal(size=8) + 5
    assert embeddings.order(line) > 0.98  # ties of equal distances are broken by rounding
    assert abs(embeddings.order(line[rng.permutation(10)])) < 0.5
    hidden = line + 100 * np.concatenate([np.eye(8), np.eye(8)])[:10]  # the plane is that of something larger
    assert embeddings.order(hidden) < 0.9


def bumps(width: float) -> np.ndarray:
    """(10, 200) vectors of Eq. 12 with this σ_P, without noise."""
    return np.exp(-((np.arange(200) - np.arange(11, 21)[:, None]) ** 2) / (2 * width**2)) - 1 / 200


def test_the_spread_that_fits_best() -> None:
    """Late in training, each run has its own."""
    widths = [embeddings.SPREADS[i] for i in (40, 25, 0, 60)]
    lie = lambda width: lying(np.eye(10, 200), bumps(width))
    specs = [s for s in bias.bias_specs("laptop") if s.gamma == SMALL]
    runs = [planted(s, kept={200: lie(1.0), 20_000: lie(30.0), 40_000: lie(widths[s.seed])}) for s in specs]
    np.testing.assert_allclose([embeddings.own_spread(run) for run in runs], [(width, 0) for width in widths], atol=1e-9)


def test_the_noise_of_a_bump_takes_from_its_cosines() -> None:
    """Bumps with a coordinate of their own each, of the squared length that Eq. 12's noise has at this width and γ."""
    spec = next(s for s in bias.bias_specs("laptop") if s.gamma == SMALL)
    width = embeddings.SPREADS[30]
    length = spec.model.d_model ** (0.5 - SMALL)
    noisy = np.concatenate([bumps(width), length * np.eye(10)], 1)
    run = planted(spec, kept={40_000: lying(np.eye(10, 210), noisy)})
    assert embeddings.own_spread(run, noisy=True) == pytest.approx((width, 0), abs=1e-9)
    assert embeddings.own_spread(run)[1] > 0.001


def test_a_line_of_as_many_parameters_is_fitted_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cosines 1 − k · lag, and two that miss: the best line goes on through the others. And all that is said of many runs."""
    lag = np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    straight = 1 - 0.05 * lag
    off = straight.copy()
    off[0, 9] = off[9, 0] = off[2, 4] = off[4, 2] = 0.8  # off by .25 and by .1, of 45 pairs
    roots = lambda matrix: np.linalg.cholesky(matrix + 1e-12 * np.eye(10))
    with monkeypatch.context() as patched:
        fitted = []
        for matrix in (straight, off):
            patched.setattr(embeddings, "anchor_cosines", lambda run, kind, step, matrix=matrix: matrix)
            fitted.append(embeddings.own_line(planted(kept={200: {}})))
    np.testing.assert_allclose(fitted, [(0.05, 0), (0.05, 0.35 / 45)], atol=1e-12)
    trio = [np.pad(roots(straight), ((0, 0), (0, 190))), bumps(embeddings.SPREADS[40]), bumps(1.0)]
    pad = lambda vectors: {40_000: lying(np.eye(10, 200), vectors)}
    specs = [s for s in bias.circuit_specs("laptop") if s.seed == 12][1:4]  # γ = .7, .8 and .9
    runs = [planted(s, kept=pad(vectors)) for s, vectors in zip(specs, trio, strict=True)]
    said = {name: fact.text for name, fact in embeddings.facts_on_shape({"paper's": runs[:2], "other": runs[2:]}).items()}
    assert (said["shaped"], said["line-better"], said["bump-left"]) == ("three", "1 of 3", "0.000")
    assert (said["line-left-other"], said["bump-left-other"]) == (ABSENT, ABSENT)
    straight_left = embeddings.own_spread(runs[0])[1]
    assert said["loosest"] == f"{straight_left:.2f}"
    assert said["loose"] == ("one" if straight_left > 0.1 else "none")
    assert float(said["line-left"]) == pytest.approx(embeddings.own_line(runs[1])[1], abs=5e-4)


def test_what_is_said_of_starts_beside_the_small_one() -> None:
    """Each sentence asks its own γ; a start that is not there leaves it out."""
    late = lambda memory, order: {200: lying(alike(0.1), order), 40_000: lying(alike(memory), order)}
    rows = {0.3: (0.9, SHUFFLED), 0.4: (0.9, on_an_arc()), 0.8: (0.9, SHUFFLED), 1.0: (0.3, SHUFFLED)}
    main = [planted(s, kept=late(*rows[s.gamma])) for s in bias.bias_specs("laptop") if s.gamma in rows]
    high = lambda s: 0.5 if s.seed in (12, 13) else 0.49
    new = [planted(s, kept=late(high(s), SHUFFLED)) for s in bias.circuit_specs("laptop") if s.gamma in (0.9, 1.0)]
    emb = [planted(s, kept={40_000: lying(alike(0.1), on_an_arc())}) for s in bias.EMB.specs("laptop") if s.gamma == 0.3]
    said = {name: fact.text for name, fact in embeddings.facts_on_starts(emb, main, new).items()}
    assert said == {
        "falls-emb": "−1.00 to −1.00",
        "falls-transformer": "−1.00 to −1.00",
        "alike-smaller": "0.30",
        "alike-runs": "2 of 12",
    }
    absent = embeddings.facts_on_starts([], [run for run in main if run.spec.gamma == SMALL], [])
    assert [name for name, fact in absent.items() if fact.text == ABSENT] == ["falls-emb", "falls-transformer", "alike-smaller"]


def test_sampled_distributions_count_the_training_set() -> None:
    rows = Task().rows(torch.tensor(0), torch.arange(3000))
    found = embeddings.sampled_distributions(3000)
    for row, s in zip(found, REASONING, strict=True):
        labels = [t for t, a, b in zip(*map(Tensor.tolist, (rows.target, rows.first, rows.second)), strict=True) if s in (a, b)]
        assert len(labels) > 200
        np.testing.assert_allclose(row + 1 / VOCAB, [labels.count(i) / len(labels) for i in range(VOCAB)], atol=1e-12)


def test_embeddings_along_training() -> None:
    """What the figures show of two seeds: cosines by kind and step, and what has moved from the start alone."""
    specs = [s for s in bias.bias_specs("laptop") if s.gamma == SMALL and s.seed < 2]
    early = lambda seed: lying(alike(0.25 + 0.5 * seed), on_an_arc())
    runs = [planted(s, kept={200: early(s.seed), 400: lying(alike(0.9), on_an_arc(0.2))}) for s in specs]
    for seed, used, cosine in ((1, 1, 0.75), (7, 0, 0.25)):  # a seed that is not there: the first
        columns, shown = embeddings.matrices({"early": (runs, 200), "late": (runs, 400)}, seed)
        assert [run.spec.seed for run in shown] == [used] * 2
        assert [column["memory"][0, 1] for column in columns.values()] == pytest.approx([cosine, 0.9])
        assert [column["reasoning"][0, 9] for column in columns.values()] == pytest.approx(np.cos([0.9, 1.8]))
    epochs, curves = embeddings.formation(runs)
    assert epochs.tolist() == [1, 2]
    expected = [[np.cos([0.1, 0.2])] * 2, [np.cos([0.9, 1.8])] * 2, [[0.25, 0.9], [0.75, 0.9]]]
    np.testing.assert_allclose(list(curves.values()), expected)
    assert embeddings.memory_alike(runs) == pytest.approx({200: 0.5, 400: 0.9})
    matrix = np.array([[9.0, 1.0, 5.0], [2.0, 9.0, 3.0], [6.0, 4.0, 9.0]])
    assert embeddings.by_lag(matrix).tolist() == [2.0, 5.0]
    assert sorted(embeddings.off_diagonal(matrix)) == [1, 2, 3, 4, 5, 6]


def test_what_is_left_of_the_loss_is_over_that_of_the_two_trained_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    begin_at_first(monkeypatch, {"memory": 3.0, "reasoning": 5.0, "held out": 99.0})
    runs = [replace(planted(), history={"step": [5, 10], "loss": [5.0, last]}) for last in (4.0, None)]
    steps, values = embeddings.loss_left(runs)
    assert steps.tolist() == [5, 10]
    np.testing.assert_array_equal(values, [[1.25, 1], [1.25, np.nan]])


DESCENT = replace(bias.FLOW.specs("smoke")[0], rate=0.5)
LAYER = bias.flow_specs("smoke")["one layer"][0]


def constant(monkeypatch: pytest.MonkeyPatch, spec: RunSpec, grow: float = 0.0) -> tuple[Planted, np.ndarray]:
    """A run in which the drive is C (1 + grow · step) and its direct part a tenth of it, with its random C, (20, D)."""
    push = np.random.default_rng(0).normal(size=(20, spec.model.d_model))
    at = lambda step: {"drive": torch.tensor(push * (1 + grow * step)), "direct": torch.tensor(push * (1 + grow * step) / 10)}
    monkeypatch.setattr(embeddings, "drive", lambda model: {name: value[None] for name, value in at(0).items()})
    return planted(spec, kept={step: at(step) for step in (4, 6, 16)}), push


@pytest.mark.parametrize("grow", [0.0, 0.25])
def test_the_integral_of_a_drive_on_a_line(monkeypatch: pytest.MonkeyPatch, grow: float) -> None:
    """∫ rate · r_s · C (1 + grow · t) / d_vob, which trapezoids have exactly, however far the snapshots are apart."""
    run, push = constant(monkeypatch, DESCENT, grow)
    steps, found = embeddings.integrated(run)
    assert steps.tolist() == [4, 6, 16]
    for step, moved in zip(steps, found - start_of(DESCENT), strict=True):
        r = np.array([20] * 10 + [18, 20, 18] + [20] * 7) / 198
        expected = 0.5 * r[:, None] * push * (step + grow * step**2 / 2) / 200
        np.testing.assert_allclose(moved, expected, rtol=1e-4, atol=1e-6)


def test_by_positions_the_direct_part_counts_for_one_place_in_fourteen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its share of the drive is L · 1 / L; where the anchor must stand last, L / 14."""
    run, _ = constant(monkeypatch, LAYER)
    start = start_of(LAYER)
    printed, exact = (embeddings.integrated(run, way)[1] - start for way in (False, True))
    np.testing.assert_allclose(exact, printed * (0.9 + 0.1 * 9 / 14), rtol=1e-3, atol=1e-7)


def test_the_flow_begins_at_the_redrawn_model() -> None:
    """With no drive at the only snapshot, half of what Eq. 4 says of the first weights is left."""
    run = planted(DESCENT, kept={6: {"drive": torch.zeros(20, 16), "anchors": torch.zeros(20, 16)}})
    model = at_start(DESCENT)
    velocity = embeddings.rates()[:, None] * drive(model)["drive"][0].numpy() / VOCAB
    _, found = embeddings.integrated(run)
    np.testing.assert_allclose(found[0] - start_of(DESCENT), 0.5 * 6 * velocity / 2, rtol=1e-3, atol=1e-8)


def test_the_error_of_the_flow_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Embeddings that went where the flow says; memory twice as far, reasoning the other way; and sideways."""
    run, _ = constant(monkeypatch, DESCENT)
    start, (steps, told) = start_of(DESCENT), embeddings.integrated(run)
    went = lambda factor: replace(
        run,
        kept={
            s: run.kept[s] | {"anchors": torch.tensor(start + factor * (t - start))} for s, t in zip(steps, told, strict=True)
        },
    )
    found = embeddings.flow_error(went(1.0))
    assert found.steps.tolist() == [4, 6, 16]
    assert set(found.error) == {"memory", "reasoning"}
    for kind in found.error:
        assert found.error[kind].shape == (3, 10)
        np.testing.assert_allclose(found.error[kind], 0, atol=1e-4)
        np.testing.assert_allclose(found.cosine[kind], 1, rtol=1e-5)
    np.testing.assert_allclose(found.grown, [np.linalg.norm(t - start) / np.linalg.norm(start) for t in told], rtol=1e-4)
    mixed = embeddings.flow_error(went(np.repeat([2.0, -1.0], 10)[:, None]))
    np.testing.assert_allclose(mixed.error["memory"], 0.5, rtol=1e-4)
    np.testing.assert_allclose(mixed.error["reasoning"], 2, rtol=1e-4)
    np.testing.assert_allclose(mixed.cosine["memory"], 1, rtol=1e-4)
    np.testing.assert_allclose(mixed.cosine["reasoning"], -1, rtol=1e-4)


def test_training_follows_the_flow(tmp_path: Path) -> None:
    """End to end: an Emb-MLP by gradient descent with large batches, its snapshots kept, its flow integrated."""
    how = replace(DESCENT.train, batch=10_000, steps=20, eval_every=5)
    task = tuple((dict(DESCENT.task) | {"keep": (5, 10, 15, 20)}).items())
    spec = replace(DESCENT, train=how, task=task, rate=8.0, gamma=1.2)
    store = Store(tmp_path)
    store.put(next(iter(train([spec], make_study(spec), PLAIN))), {})
    found = embeddings.flow_error(store.get(spec))
    assert found.steps.tolist() == [5, 10, 15, 20]
    for kind in ("memory", "reasoning"):
        assert found.error[kind][-1].mean() < 0.25, kind
        assert found.cosine[kind][-1].mean() > 0.95, kind
    assert (np.diff(found.grown) > 0).all()


# ---------------------------------------------------------------- attention


@pytest.mark.parametrize(("share", "late"), [(0.5, True), (0.501, True), (0.499, False)])
def test_the_papers_circuit_gives_half_of_the_second_attention_to_the_key(
    monkeypatch: pytest.MonkeyPatch, share: float, late: bool
) -> None:
    """Mean over its places; what else is read, and what the first attention reads, says nothing."""
    found = np.full((3, 7, 4), 0.1 if late else 0.9)
    found[2, :, 0] = share + (share != 0.5) * np.array([0.4, -0.4, 0.3, -0.3, 0.2, -0.2, 0])
    monkeypatch.setattr(attention, "reading", lambda run: found)
    run = planted()
    assert attention.on_the_key(run) == pytest.approx(share)
    assert attention.selects_late(run) is late
    assert list(attention.by_circuit([run]).values()) == ([[run], []] if late else [[], [run]])


def test_attention_along_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the figures show of two seeds: attention off by γ / 10 at a twentieth of training, by 1.5 γ / 10 at the end."""
    specs = [s for s in bias.bias_specs("laptop") if s.gamma in (LARGE, MIDDLE, SMALL) and s.seed < 2]
    at = lambda s, factor: seen(mean=0.1 * s.gamma * factor, single=0.2 * s.gamma * factor, gap=(4 + s.seed) * factor)
    runs = [planted(s, kept={200: at(s, 0.5), 2000: at(s, 1.0), 40_000: at(s, 1.5)}) for s in specs]
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: False))
    matrices, shown = attention.matrices(runs, 1)
    assert [(r.spec.gamma, r.spec.seed) for r in shown] == [(LARGE, 1), (SMALL, 1)]
    assert [float(1 / 4 - m[3, 1]) for m in matrices.values()] == pytest.approx([0.03, 0.08, 0.12], abs=1e-6)
    assert [by[SMALL] for by in attention.deviations_at(runs).values()] == [pytest.approx([v, v]) for v in (0.08, 0.16, 0.24)]
    steps, kinds = attention.alignments(runs[0])
    assert steps.tolist() == [200, 2000, 40_000]
    for kind, cosine in (("memory", 0.1), ("reasoning", 0.6)):
        np.testing.assert_allclose(kinds[kind], np.full((3, 10), cosine), rtol=1e-6)


@pytest.mark.parametrize("width", [16, 200])
def test_chance_is_what_random_directions_have(width: int) -> None:
    """To the order 1 / d: the mean |cosine| is Γ(d / 2) / (√π Γ((d + 1) / 2)) exactly."""
    exact = math.exp(math.lgamma(width / 2) - math.lgamma((width + 1) / 2)) / math.pi**0.5
    spec = replace(SMOKE, model=replace(SMOKE.model, d_model=width))
    assert attention.chance(planted(spec)) == pytest.approx(exact, rel=0.3 / width)


@pytest.mark.parametrize(
    ("late", "rise", "fall"), [([(0.6, 12)], 0, 1), ([(0.8, 12), (0.8, 13)], 0, 0), ([(0.9, 12), (0.6, 13)], 1, 1)]
)
def test_circuits_are_counted_by_seed(
    monkeypatch: pytest.MonkeyPatch, late: Sequence[tuple[float, int]], rise: int, fall: int
) -> None:
    """Between the two bounds of γ a run counts for neither side. One run of each is from the largest γ that has both."""
    attend(monkeypatch, lambda s: (s.gamma, s.seed) in late)
    runs = [planted(s) for s in bias.circuit_specs("laptop") if s.gamma in (0.6, 0.8, 0.9) and s.seed in (12, 13)]
    assert attention.by_seed(runs) == (rise, fall, 2 - rise - fall)
    if len(late) == 1 or rise:
        shown = [(r.spec.gamma, r.spec.seed) for r in attention.one_of_each(runs).values()]
        assert shown == [late[0], (late[0][0], 13)]


def test_how_far_a_measure_parts_the_circuits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs in order, and runs on the right side of the best line; nothing where all have one circuit."""
    attend(monkeypatch, lambda s: s.seed in (12, 13))
    runs = [planted(s) for s in bias.circuit_specs("laptop") if s.gamma == SMALL and s.seed < 16]
    for values, expected in (
        ((5.0, 4.0, 3.0, 2.0), (1.0, 4)),
        ((5.0, 2.0, 3.0, 2.0), (0.625, 3)),  # one tie, one pair the other way round
        ((2.0, 3.0, 4.0, 5.0), (0.0, 2)),
    ):
        of = dict(zip((12, 13, 14, 15), values, strict=True))
        assert attention.parts_at(runs, lambda run, of=of: of[run.spec.seed]) == pytest.approx(expected)
    assert attention.parts_at(runs[:2], lambda run: 1.0) is None
    assert attention.parts_at(runs[2:], lambda run: 1.0) is None


def test_what_is_said_of_when_a_circuit_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """At epoch 6 by the first attention's distance from the average, nearer in the paper's circuit, and by the direction; at
    the end by the direction."""
    attend(monkeypatch, EVEN := lambda s: s.seed % 2 == 0)
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.9, "attention.1": 0.1, "attention.2": 0.8})
    monkeypatch.setattr(attention, "moved", lambda run: {"other place": (0.1, 0.7)})
    early = lambda s: seen(0.5 if EVEN(s) and s.seed != 12 else 0.3, single=0.1 if EVEN(s) else 0.2)
    late = lambda s: seen(0.7 if EVEN(s) else 0.6, single=0.5 if EVEN(s) else 0.4)
    end = lambda s: seen(0.5, single=0.3)
    specs = [s for s in bias.circuit_specs("laptop") if (s.gamma, s.seed) in EACH]
    runs = [planted(s, kept={600: late(s), 1200: early(s), 3000: late(s), 40_000: end(s)}) for s in specs]
    said = {name: fact.text for name, fact in attention.facts(runs, [], {}).items()}
    assert (said["parted"], said["told-best"], said["told"], said["told-end"]) == ("6 of 6", "3", "3 of 6", "50%")
    assert (said["pair-first"], said["key-first"]) == ("3 of 3", "3 of 3")


def test_questions_that_part_the_circuits() -> None:
    """Ahead of the best run with the paper's circuit, in questions, at the setting with the most rows; and a run between."""
    held = {20: 0.90, 21: 0.95, 22: 0.96, 23: 0.97}
    larger = {
        name: [
            replace(
                planted(s, **{"held out": held.get(s.seed, 0.96), "memory": 0.5}),
                history={
                    "step": [200],
                    "reasoning": [0.1],
                    "held out": [0.5],
                    "on the key": [0.9 if s.seed < 22 else 0.1 + 0.1 * (s.seed == 23)],
                },
            )
            for s in specs
        ]
        for name, specs in bias.scale_specs("laptop").items()
    }
    own = [planted(s, **{"memory": 0.5}) for s in bias.circuit_specs("laptop")[:1]]
    said = {name: fact.text for name, fact in attention.facts_on_scale({"20,000 rows": own} | larger).items()}
    assert (said["scale-few"], said["scale-asked"]) == ("two to four", "200")
    assert (said["between"], said["between-held"]) == ("20%", "97.0%")
    assert (said["scale-rows-p"], said["scale-p"]) == ("0.04", "0.01")  # 1 of 28; of 28 · 6


def test_alignment_at_an_epoch_is_that_of_the_nearest_snapshot() -> None:
    """By ratio, as all shares of training: from 15, 22 is nearer than 10."""
    spec = bias.circuit_specs("laptop")[0]
    along = lambda **by_epoch: planted(spec, kept={200 * int(e[1:]): seen(v) for e, v in by_epoch.items()})
    run = along(e1=0.1, e10=0.5, e15=0.7, e22=0.3, e200=0.9)
    assert attention.along_reasoning(run) == pytest.approx(0.7)
    assert [attention.along_reasoning(run, e) for e in (1, 12, 100)] == pytest.approx([0.1, 0.5, 0.9])
    assert attention.along_reasoning(along(e10=0.5, e22=0.3)) == pytest.approx(0.3)


WIRED = ModelSpec(vocab=VOCAB, positions=LENGTH, depth=2, d_model=16, d_ff=16, d_k=16, d_v=16, norm="none")
FAR = 64.0
"""A score of attention that leaves nothing to the others."""


def wired(tmp_path: Path, first: Mapping[int, int], second: Mapping[int, int], more: Mapping[str, Tensor] = {}) -> StoredRun:
    """A stored run whose model sees positions alone: query i of a layer attends to position first[i] or second[i], and to all
    alike where there is none. What it reads goes nowhere, but for what `more` adds."""
    weights = {name: torch.zeros_like(p[0]) for name, p in WIRED.build().named_parameters()}
    weights["embedding.position"] = torch.eye(LENGTH, 16)
    for layer, table in enumerate((first, second)):
        weights[f"blocks.{layer}.attention.W_K.weight"] = torch.eye(16)
        query = weights[f"blocks.{layer}.attention.W_Q.weight"]
        for i, j in table.items():
            query[i, j] = 4 * FAR  # over √d_k
    weights |= more
    spec = replace(SMOKE, model=WIRED)
    store = Store(tmp_path)
    store.put(RunResult(spec, {"memory": 0.0}, {"step": [10]}, 10, "unfitted", None, 1.0, weights), {}, keep_weights=True)
    return store.get(spec)


def test_reading_where_attention_is_uniform(tmp_path: Path) -> None:
    """The second anchor of place p sees p + 3 positions, the last token nine; a key and two anchors are one each."""
    found = attention.reading(run := wired(tmp_path, {}, {}))
    assert found.shape == (3, 7, 4)
    for place in range(7):
        np.testing.assert_allclose(found[0, place], [*[1 / (place + 3)] * 3, place / (place + 3)], atol=1e-6)
        np.testing.assert_allclose(found[1:, place], [[*[1 / 9] * 3, 6 / 9]] * 2, atol=1e-6)
    np.testing.assert_allclose(attention.reading_of_average(), found[..., 0], atol=1e-6)
    assert attention.on_the_anchors(run) == pytest.approx(2 / 9)


def test_reading_where_attention_points(tmp_path: Path) -> None:
    """Layer 1: each position looks two back, from the second anchor to the key. Layer 2: the last token looks at the fifth,
    whatever stands there."""
    found = attention.reading(wired(tmp_path, {i: i - 2 for i in range(2, 9)}, {8: 4}))
    np.testing.assert_allclose(found[0], [[1, 0, 0, 0]] * 7, atol=1e-6)
    looked = lambda at: [np.eye(4)[{at: 0, at - 1: 1, at - 2: 2}.get(place, 3)] for place in range(7)]
    np.testing.assert_allclose(found[1], looked(6), atol=1e-6)
    np.testing.assert_allclose(found[2], looked(4), atol=1e-6)


def test_what_a_cut_changes(tmp_path: Path) -> None:
    """The last token reads the fifth position in layer 2, and answers 100; without that it reads all others, and answers 60. So
    it is the key that is cut where the key stands there, at one of the four places, and the second anchor at another."""
    head, values = torch.zeros(16, VOCAB), torch.zeros(16, 16)
    head[10, 100], head[11, 60] = 1.0, 1.0
    values[4, 10], values[[0, 1, 2, 3, 5, 6, 7, 8], 11] = 1.0, 1.0
    parts = {"blocks.1.attention.W_V.weight": values, "blocks.1.attention.W_O.weight": torch.eye(16), "head.weight": head}
    run = wired(tmp_path, {}, {8: 4}, parts)
    np.testing.assert_allclose(attention.cuts(run), [1 / 4, 0, 1 / 4])


@pytest.mark.parametrize(
    ("changed", "way"),
    [((0.9, 0.1, 0.2), "pair first"), ((0.1, 0.1, 0.3), "key first"), ((0.3, 0.5, 0.0), "both"), ((0.2,) * 3, "neither")],
)
def test_the_way_by_what_the_last_token_needs(monkeypatch: pytest.MonkeyPatch, changed: tuple[float, ...], way: str) -> None:
    monkeypatch.setattr(attention, "cuts", lambda run: np.array(changed))
    assert attention.way(planted(bias.circuit_specs("laptop")[0])) == way


def test_answers_with_an_attention_averaged(tmp_path: Path) -> None:
    """Both layers look at their own position. Layer 1 turns position 9 into the answer 100 and others into 60; layer 2 says
    nothing of position 9 and, louder, 130 of others. So each replacement has an answer of its own."""
    head, own = torch.zeros(16, VOCAB), {8: 8}
    head[10, 100], head[11, 60], head[12, 130] = 1.0, 1.0, 4.0
    one, two = torch.zeros(16, 16), torch.zeros(16, 16)
    one[8, 10], one[:8, 11], two[:8, 12] = 1.0, 1.0, 1.0
    parts = {"blocks.0.attention.W_V.weight": one, "blocks.1.attention.W_V.weight": two, "head.weight": head}
    parts |= {f"blocks.{layer}.attention.W_O.weight": torch.eye(16) for layer in range(2)}
    run = wired(tmp_path, own, own, parts)
    answers = Task().every("reasoning", seed=1).target[::13]
    share = lambda label: (answers == label).float().mean().item()
    found = attention.averaged(run)
    expected = {"": share(100), "attention.1": share(60), "attention.2": share(130)}
    assert len(set(expected.values())) == 3
    assert found == pytest.approx(expected)


def test_attention_that_moves_with_the_keys_of_another_sequence(tmp_path: Path) -> None:
    """The query is always the same; a position's attention key grows with its number, and falls far where an anchor has been
    seen. So attention goes to the last position before the anchors, by its keys alone."""
    parts = {"embedding.token": torch.zeros(VOCAB, 16), "blocks.1.attention.W_Q.weight": torch.zeros(16, 16)}
    parts |= {f"blocks.{layer}.attention.W_{name}.weight": torch.zeros(16, 16) for layer, name in ((0, "V"), (1, "K"))}
    parts["embedding.token"][1:21, 12] = 1
    parts["blocks.0.attention.W_V.weight"][12, 13] = 1
    parts["blocks.0.attention.W_O.weight"] = torch.eye(16)
    parts["blocks.1.attention.W_Q.weight"][8, 0] = 4
    parts["blocks.1.attention.W_K.weight"][:9, 0] = 20 * torch.arange(9.0)
    parts["blocks.1.attention.W_K.weight"][13, 0] = -5000
    run = wired(tmp_path, {}, {}, parts)
    np.testing.assert_allclose(attention.reading(run)[2], [[1, 0, 0, 0]] * 7, atol=1e-6)
    found = attention.moved(run)
    assert found.keys() == {"itself", "same place", "other place"}
    for who in ("itself", "same place"):
        assert found[who] == pytest.approx((1, 0), abs=1e-6)
    assert found["other place"] == pytest.approx((0, 1), abs=1e-6)


def test_attention_that_a_query_sends_to_a_place_stays_there(tmp_path: Path) -> None:
    """Layer 1 tells the last token where the second anchor is, by its position; layer 2 looks two positions before that. This
    goes by place as well, but the place is in the query: another sequence's attention keys change nothing."""
    parts = {f"blocks.{i}.attention.W_{name}.weight": torch.zeros(16, 16) for i, name in ((0, "Q"), (0, "K"), (1, "Q"))}
    parts |= {"embedding.token": torch.zeros(VOCAB, 16), "blocks.0.attention.W_V.weight": 0.01 * torch.eye(16)}
    parts |= {"blocks.0.attention.W_O.weight": torch.diag((torch.arange(16) < 9).float())}
    parts["embedding.token"][1:21, 12] = 1
    parts["blocks.0.attention.W_Q.weight"][8, 0] = 4
    parts["blocks.0.attention.W_K.weight"][:9, 0] = 20 * torch.arange(9.0)  # of two anchors, the second
    parts["blocks.0.attention.W_K.weight"][12, 0] = 5000
    for place in range(6):
        parts["blocks.1.attention.W_Q.weight"][place + 2, place] = 25_600
    parts["blocks.1.attention.W_Q.weight"][8, 6] = 64
    run = wired(tmp_path, {}, {}, parts)
    np.testing.assert_allclose(attention.reading(run)[2], [[1, 0, 0, 0]] * 7, atol=1e-4)
    for weights in attention.moved(run).values():
        assert weights == pytest.approx((1, 0), abs=1e-4)


def test_attention_to_a_fixed_position_does_not_move(tmp_path: Path) -> None:
    """Of the 42 ordered pairs of places, 6 begin at the fifth position and 6 end there."""
    for weights in attention.moved(wired(tmp_path, {}, {8: 4})).values():
        assert weights == pytest.approx((6 / 42, 6 / 42), abs=1e-6)


EACH = [(g, seed) for g in (0.6, 0.8, 0.9) for seed in (12, 13)]


@pytest.mark.parametrize("late", [EACH, []], ids=["the paper's circuit alone", "the other alone"])
def test_a_circuit_that_no_run_has_is_absent(monkeypatch: pytest.MonkeyPatch, late: Sequence[tuple[float, int]]) -> None:
    """From facts and from tables; those of the other are there."""
    is_late = lambda s: (s.gamma, s.seed) in late
    attend(monkeypatch, is_late)
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.9, "attention.1": 0.1, "attention.2": 0.8})
    monkeypatch.setattr(attention, "moved", lambda run: {"other place": (0.1, 0.7)})
    specs = [s for s in bias.circuit_specs("laptop") if (s.gamma, s.seed) in EACH]
    runs = [planted(s, kept={step: seen() for step in (200, 3000, 40_000)}) for s in specs]
    found = attention.facts(runs, [], {})
    of_paper, of_other = (
        {"held-late", "off-late", "whole", "first-averaged", "second-averaged", "moved", "last-anchors", "pair-first"},
        {"held-other", "off-other", "last-anchors-other", "key-first"},
    )
    absent = {name for name, fact in found.items() if fact.text == ABSENT}
    assert absent == {"epsilon", "pairs", "parted", "told-best", "told-end", *(of_other if late else of_paper)}
    assert [row[1] == "–" for row in attention.chain_rows(runs)] == [not late] * 5
    assert [(row[2] == "–", row[3] == "–") for row in attention.circuit_rows(runs)] == [(not late, bool(late))] * 3
    assert [r.spec.seed for r in attention.one_of_each(runs).values()] == [12]


def test_the_key_is_found_where_it_is_not_lost_again() -> None:
    at = lambda *shares: replace(planted(), history={"step": [200, 400, 600], "on the key": shares})
    assert [attention.found_at(at(*s)) for s in ((0.6, 0.4, 0.7), (0.5, 0.6, 0.7), (0.6, 0.6, None))] == [600, 200, None]


# ---------------------------------------------------------------- the explorer


def explored() -> list[Planted]:
    kept = {10: lying(alike(0.5), on_an_arc(0.1)), 20: lying(alike(0.5), on_an_arc(0.2))}
    shares = {"memory": [0.1, 0.25], "reasoning": [0.5, 0.75], "held out": [1 / 3, None]}
    return [
        planted(replace(spec, seed=seed), shares=shares, kept=kept, memory=0.25, reasoning=v, **{"held out": 0.5})
        for spec in bias.bias_specs("smoke")
        for seed, v in ((1, 0.75), (0, 0.25))
    ]


def test_the_explorer_has_a_map_for_every_snapshot_that_is_finite() -> None:
    found = record(explored()[0])
    assert [(m["step"], len(m["map"]), len(m["explained"])) for m in found["moments"]] == [(10, 10, 2), (20, 10, 2)]
    first, last = found["moments"]
    assert (found["map"], found["explained"]) == (last["map"], last["explained"]) != (first["map"], first["explained"])
    for m in found["moments"]:
        across = [x for x, _ in m["map"]]
        assert across == sorted(across)  # along the arc, rising with the number
        assert (across[0], across[-1]) == (0, 255)
    assert found["history"]["held out"] == [0.333, None]
    assert found["final"] == {"memory": 0.25, "reasoning": 0.75, "held out": 0.5}
    bad = lying(alike(0.5), on_an_arc())
    bad["anchors"][-1, 0] = float("inf")
    memory = lying(alike(0.5), on_an_arc())
    memory["anchors"][0, 0] = float("nan")  # which is not drawn
    found = record(replace(explored()[0], kept={10: memory, 20: bad}))
    assert [m["step"] for m in found["moments"]] == [10]


def test_the_explorer_is_made_of_plain_data_of_all_runs() -> None:
    runs = explored()
    data = exploration([*runs, runs[0]], "smoke")  # a point that a reader asked for may be one of the profile's own
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    (series,) = data["series"]
    assert [(r["gamma"], r["seed"]) for r in series["runs"]] == [(0.3, 0), (0.3, 1), (0.8, 0), (0.8, 1)]
    assert [(c["gamma"], c["depth"], c["runs"], c["reasoning"][0]) for c in series["cells"]] == [
        (0.3, 2, 2, 0.5),
        (0.8, 2, 2, 0.5),
    ]
    assert (data["firstNumber"], data["width"], data["range"]) == (11, 16, {"gamma": [0.2, 1.1], "depth": [2, 2]})
    assert {m["id"] for m in (*data["answers"], data["seen"])} == set(METRICS) <= set(series["runs"][0]["final"])
    wide = exploration([planted(replace(SMOKE, gamma=1.5), kept=runs[0].snapshots())], "smoke")
    assert wide["range"]["gamma"] == [0.2, 1.5]
    explorer = Explorer(data, "rm-09", gamma=0.8, depth=2, panels=("curve", "map", "diagram"))
    assert explorer.words() == (
        f"Explorer of 2 points; it opens at γ = 0.8, depth 2, seed 0, profile smoke, run {series['runs'][2]['key']}: "
        "memory 0.25, reasoning 0.25, held-out pairs 0.50"
    )
    assert "reasoning anchors" in explorer.static()


def test_a_point_is_trained_once_and_its_weights_are_kept_as_in_the_study(tmp_path: Path) -> None:
    store, steps = Store(tmp_path), []
    ask = trainer("smoke", store, PLAIN)
    run = ask(SMALL, 2, 5, on_step=lambda now: steps.append(now.step), stop=lambda: False)
    assert run.spec == point_specs("smoke", SMALL, 5)[0]
    assert run.has_weights
    assert steps == [m["step"] for m in record(run)["moments"]] == [10, 20]
    assert ask(SMALL, 2, 5, on_step=lambda now: pytest.fail("trained again"), stop=lambda: True) == run
    assert not ask(0.65, 2, 0, on_step=lambda now: None, stop=lambda: False).has_weights


def test_a_run_that_diverged_is_shown_without_a_map(tmp_path: Path) -> None:
    """Of weights so large that nothing is finite from the first step."""
    spec, store = point_specs("smoke", -9.0)[0], Store(tmp_path)
    (result,) = train([spec], BIAS.make_study(spec), PLAIN)
    assert store.put(result, {})
    run = Store(tmp_path).get(spec)
    assert (run.status, run.history["loss"], run.metrics["memory loss"]) == ("diverged", [None], None)
    found = record(run)
    assert not {"map", "moments"} & set(found)
    assert found["history"] == {"step": [10]} | {name: [0.0] for name in METRICS}
    data = exploration([*explored(), run], "smoke")  # beside others
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert halving(run, "memory") is slowdown(run) is None


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ((0.5, 3, 0), "transformer has 2 layers, got depth 3"),
        ((99.0, 2, 0), "gamma must lie between -10 and 10, got 99.0"),
        ((0.5, 2, -1), "seed must be an integer of at least 0, got -1"),
    ],
)
def test_a_point_that_is_not_of_this_study_is_refused(tmp_path: Path, point: tuple[float, int, int], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        trainer("smoke", Store(tmp_path), PLAIN)(*point, on_step=lambda now: None, stop=lambda: False)
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- what is trained

GOLDEN = {
    "bias-gamma": (5.36167, 5.36212, 0.06253),
    "bias-circuits": (5.64737, 5.57022, 0.06622),
    "bias-circuits-scale": (5.35247, 5.34629, 0.06121),
    "bias-emb-mlp": (5.29442, 5.29771, 0.1145),
    "bias-memory": (5.31353, 5.37475, 0.04169),
    "bias-ablation": (5.31353, 5.37475, 0.04169),
    "bias-flow": (5.30075, 5.29753, 0.009441),
    "bias-rows": (5.50786, 5.37383, 0.04553),
}
"""{experiment: (mean training loss at the last evaluation, loss of the held-out pairs, how far the embeddings of tokens have
moved)} of the first smoke run, in single precision. They change only with the meaning of the results; then raise VERSION."""


@pytest.mark.parametrize("experiment", TRAINED_FIRST, ids=lambda e: e.name)
def test_golden_numbers(experiment: Experiment) -> None:
    spec = experiment.specs("smoke")[0]
    result = next(iter(train([spec], experiment.make_study(spec), PLAIN)))
    moved = (result.weights["embedding.token"] - at_start(spec).embedding.token[0]).norm().item()
    loss, held_out, distance = GOLDEN[experiment.name]
    assert result.history["loss"][-1] == pytest.approx(loss, abs=1e-3)
    assert result.metrics["held out loss"] == pytest.approx(held_out, abs=1e-3)
    assert moved == pytest.approx(distance, rel=5e-3)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("experiment", TRAINED_FIRST, ids=lambda e: e.name)
def test_every_point_has_its_runs(experiment: Experiment, profile: str) -> None:
    """At the smoke profile small enough for a test; at the others, with several seeds."""
    specs = experiment.specs(profile)
    assert all("keep" in dict(s.task) for s in specs)
    points = Counter((s.gamma, s.shape, s.rate) for s in specs)
    if profile == "smoke":
        assert max(s.train.steps * s.train.batch for s in specs) <= 400
    else:
        assert min(points.values()) >= 2
        assert {s.train.eval_every for s in specs if s.train.steps % s.train.eval_every} == set()


def test_the_papers_sizes() -> None:
    for spec in BIAS.specs("paper"):
        assert (spec.model.depth, spec.model.heads, spec.model.d_model, spec.train.batch) == (2, 1, 200, 100)
        assert dict(spec.task)["rows"] == 200_000
        assert spec.train.steps / stored.epoch(spec) == 1000


def test_a_point_of_the_readers_own() -> None:
    specs = point_specs("laptop", 0.75, 10)
    assert [(s.gamma, s.seed) for s in specs] == [(0.75, 10), (0.75, 11), (0.75, 12), (0.75, 13)]
    stored_already = set(BIAS.specs("laptop"))  # a γ of a grid and a further seed are not trained again
    for gamma, seed in ((SMALL, 0), (SMALL, 8), (0.34, 0)):
        assert set(point_specs("laptop", gamma, seed)) <= stored_already
    assert point_specs("smoke", 1)[0].key == point_specs("smoke", 1.0)[0].key


def test_weights_are_kept_where_an_analysis_reads_them() -> None:
    result = lambda spec: type("Result", (), {"spec": spec})()
    kept = Counter((s.gamma, s.seed) for s in BIAS.specs("laptop") if BIAS.keep(result(s)))
    assert set(kept) == {*((SMALL, seed) for seed in range(12)), (LARGE, 0), (MIDDLE, 0)}
