"""Numbers of the study of memory and reasoning: on runs that are planted, every one can be worked out by hand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from test_reasoning_task import told_flow
from torch import Tensor

from lib.book.explorer import Explorer
from lib.core.model.transformer import ModelSpec
from lib.core.read import web_export
from lib.core.read.measures import cosines, first_step, mean_std, memoized
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec, SpecError, TrainSpec
from lib.core.record.start import at_start
from lib.core.record.store import Store, StoredRun
from lib.core.sweep.experiment import PROFILES, ROUNDINGS, Experiment
from lib.core.train.ensemble import Ensemble
from lib.core.train.loop import train
from lib.core.train.plan import Options
from lib.reasoning_bias import drawing, ratios, theory
from lib.reasoning_bias import experiments as bias
from lib.reasoning_bias import runs as stored
from lib.reasoning_bias.attention import figures as attention_figures
from lib.reasoning_bias.attention import metrics as attention
from lib.reasoning_bias.drawing import COLOUR
from lib.reasoning_bias.embeddings import figures as embedding_figures
from lib.reasoning_bias.embeddings import metrics as embeddings
from lib.reasoning_bias.embeddings.metrics import FlowError
from lib.reasoning_bias.experiments import BIAS, LARGE, MIDDLE, SMALL, point_specs
from lib.reasoning_bias.exploration import METRICS, exploration, record, trainer
from lib.reasoning_bias.memory_and_reasoning import figures as memory_figures
from lib.reasoning_bias.memory_and_reasoning import metrics as memory_and_reasoning
from lib.reasoning_bias.models import EmbMLPSpec
from lib.reasoning_bias.ratios import Ratio, halving, slowdown
from lib.reasoning_bias.study import SETS, causal_average, make_study
from lib.reasoning_bias.task import HELD_OUT, LENGTH, MEMORY, N_KEYS, REASONING, VOCAB, Task

TRAINED_FIRST = [e for e in bias.EXPERIMENTS if ROUNDINGS not in e.profiles]
"""Those of runs that are not trained once more (tests/test_roundings.py)."""

PLAIN = Options(device="cpu", bf16=False, backend="eager")
FIRST = 4.0
"""The loss of planted runs before training, in nats."""
SMOKE = BIAS.specs("smoke")[0]


@dataclass(frozen=True)
class Planted(StoredRun):
    """A run that is in no store."""

    kept: dict[int, dict[str, Tensor]] = field(default_factory=dict)

    def snapshots(self) -> dict[int, dict[str, Tensor]]:
        return self.kept


def planted(
    spec: RunSpec = SMOKE,
    halves: Mapping[str, int | None] = {},
    shares: Mapping[str, list[float]] = {},
    steps: int = 4000,
    kept: dict[int, dict[str, Tensor]] | None = None,
    **metrics: float | None,
) -> Planted:
    """A run whose losses stay at FIRST and are half of it from the given steps on; never, where there is none. `shares` are
    right answers at as many evaluations, by default none."""
    times = sorted({t for t in halves.values() if t} | {steps - i for i in range(max(map(len, shares.values()), default=1))})
    history: dict[str, list[Any]] = {"step": times, "loss": [FIRST] * len(times)}
    for name in SETS:
        history[f"{name} loss"] = [FIRST if (t := halves.get(name)) is None or step < t else FIRST / 2 for step in times]
        history[name] = [*shares.get(name, []), *[0.0] * len(times)][: len(times)]
    final = {name: history[name][-1] for name in SETS} | {f"{name} loss": history[f"{name} loss"][-1] for name in SETS}
    how = {"device": "cpu (test)", "precision": "float32"}
    path = Path(f"{spec.key}.json")
    return Planted(spec, final | metrics, history, steps, "unfitted", None, 1.0, how, path, kept=kept or {})


def of(specs: Iterable[RunSpec], halves: Callable[[RunSpec], Mapping[str, int | None]], held: float = 0.5) -> list[Planted]:
    """Runs that end with this share of held-out pairs right."""
    return [planted(spec, halves(spec), **{"held out": held}) for spec in specs]


@pytest.fixture
def at_four(monkeypatch: pytest.MonkeyPatch) -> None:
    """The losses before training are FIRST, whatever the model."""
    monkeypatch.setattr(ratios, "first_losses", lambda run: dict.fromkeys(SETS, FIRST))


def with_losses(losses: list[float | None], steps: list[int] | None = None) -> StoredRun:
    """A run with these memory losses."""
    steps = steps or [10 * (i + 1) for i in range(len(losses))]
    run = planted()
    return replace(run, history={"step": steps, "memory loss": losses}, steps=steps[-1])


# ---------------------------------------------------------------- halving


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
    monkeypatch.setattr(ratios, "first_losses", lambda run: dict.fromkeys(SETS, first))
    assert planted().spec.model.vocab == 200
    assert ratios.half(planted(), "memory") == pytest.approx(level)


@given(st.lists(st.tuples(st.integers(1, 50), st.floats(0.01, 8)), min_size=1, max_size=8))
def test_at_the_halving_step_the_line_is_at_half_and_was_above_before(rows: list[tuple[int, float]]) -> None:
    steps, losses = np.cumsum([gap for gap, _ in rows]).tolist(), [loss for _, loss in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ratios, "first_losses", lambda run: {"memory": FIRST})
        found = halving(with_losses(losses, steps), "memory")
    if found is None:
        assert min(losses) > FIRST / 2
    else:
        assert np.interp(found, [0, *steps], [FIRST, *losses]) == pytest.approx(FIRST / 2)
        assert all(loss > FIRST / 2 for step, loss in zip(steps, losses, strict=True) if step < found - 1e-9)


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


def test_a_remembered_measure_is_taken_once_for_each_file() -> None:
    asked = []
    measure = memoized(lambda run: asked.append(run.path) or len(asked))
    runs = [planted(spec) for spec in bias.bias_specs("smoke")]
    assert [measure(run) for run in (*runs, *runs)] == [1, 2, 1, 2]


# ---------------------------------------------------------------- the ratio


@pytest.mark.usefixtures("at_four")
def test_the_ratio_is_open_where_the_slower_never_halves() -> None:
    assert slowdown(planted(halves={"memory": 300, "reasoning": 200})) == Ratio(1.5, False)
    assert slowdown(planted(halves={"memory": 200, "reasoning": 400})) == Ratio(0.5, False)
    assert slowdown(planted(halves={"reasoning": 400}, steps=4000)) == Ratio(10.0, True)
    assert slowdown(planted(halves={"memory": 300})) is None
    held = planted(halves={"held out": 600, "reasoning": 400, "memory": 800})
    assert slowdown(held, "held out") == Ratio(1.5, False)
    assert slowdown(held, "memory", "held out") == Ratio(pytest.approx(4 / 3), False)


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


# ---------------------------------------------------------------- embeddings


def lying(memory: np.ndarray, reasoning: np.ndarray) -> dict[str, Tensor]:
    """A snapshot with these embeddings, (10, D) each."""
    return {"anchors": torch.tensor(np.concatenate([memory, reasoning]))}


def alike(cosine: float) -> np.ndarray:
    """(10, 11) vectors that have this cosine with each other."""
    return np.hstack([np.full((10, 1), cosine**0.5), (1 - cosine) ** 0.5 * np.eye(10)])


def on_an_arc(step: float = 0.1) -> np.ndarray:
    """(10, 11) unit vectors at angles 0, step, 2 step, …"""
    angle = step * np.arange(10)
    return np.stack([np.cos(angle), np.sin(angle), *[0 * angle] * 9], 1)


SHUFFLED = on_an_arc()[[4, 9, 0, 6, 2, 8, 1, 5, 7, 3]]


def test_cosines_of_anchors_by_kind_and_step() -> None:
    run = planted(kept={10: lying(alike(0.25), on_an_arc()), 20: lying(3 * alike(0.75), 2 * on_an_arc(0.2))})
    expected = np.full((10, 10), 0.75) + 0.25 * np.eye(10)
    np.testing.assert_allclose(embeddings.anchor_cosines(run, "memory"), expected)
    np.testing.assert_allclose(embeddings.anchor_cosines(run, "memory", 10)[0, 1:], 0.25)
    np.testing.assert_allclose(
        embeddings.by_lag(embeddings.anchor_cosines(run, "reasoning", 10)), np.cos(0.1 * np.arange(1, 10))
    )
    np.testing.assert_allclose(embeddings.by_lag(embeddings.anchor_cosines(run, "reasoning")), np.cos(0.2 * np.arange(1, 10)))
    assert stored.anchors(run, 10).shape == (20, 11)


def start_of(spec: RunSpec) -> np.ndarray:
    return at_start(spec).embedding.token[0, 1:21].numpy()


def moved_snapshot(spec: RunSpec, memory: np.ndarray, reasoning: np.ndarray, size: float = 1.0) -> dict[str, Tensor]:
    """A snapshot of embeddings that have moved by these, (10, ≤ D) each, from where the run starts."""
    by = [np.pad(v, ((0, 0), (0, spec.model.d_model - v.shape[1]))) for v in (memory, reasoning)]
    return {"anchors": torch.tensor(start_of(spec).astype(float) + size * np.concatenate(by))}


@pytest.mark.parametrize("spec", [SMOKE, bias.EMB.specs("smoke")[1]], ids=["transformer", "Emb-MLP"])
def test_embeddings_have_moved_from_their_own_start(spec: RunSpec) -> None:
    start, by = start_of(spec), np.random.default_rng(1).normal(size=(20, spec.model.d_model))
    run = planted(spec, kept={10: {"anchors": torch.tensor(start)}, 20: {"anchors": torch.tensor(start + by)}})
    assert (embeddings.moved_by(run, 10) == 0).all()
    np.testing.assert_allclose(embeddings.moved_by(run, 20), by, atol=1e-6)
    other = replace(run, spec=replace(spec, seed=spec.seed + 1))
    assert np.linalg.norm(embeddings.moved_by(other, 10)) > np.linalg.norm(start)
    smaller = replace(run, spec=replace(spec, gamma=spec.gamma + 1))
    np.testing.assert_allclose(embeddings.moved_by(smaller, 10), start * (1 - 1 / spec.model.d_model), rtol=1e-3, atol=1e-6)


def test_lags_and_the_rest_by_hand() -> None:
    matrix = np.array([[9.0, 1.0, 5.0], [2.0, 9.0, 3.0], [6.0, 4.0, 9.0]])
    assert embeddings.by_lag(matrix).tolist() == [2.0, 5.0]
    assert sorted(embeddings.off_diagonal(matrix)) == [1, 2, 3, 4, 5, 6]


def test_order_in_the_plane() -> None:
    rng = np.random.default_rng(0)
    line = np.arange(10.0)[:, None] * rng.normal(size=8) + 5
    assert embeddings.order(line) > 0.98  # ties of equal distances are broken by rounding
    assert abs(embeddings.order(line[rng.permutation(10)])) < 0.5
    hidden = line + 100 * np.concatenate([np.eye(8), np.eye(8)])[:10]  # the plane is that of something larger
    assert embeddings.order(hidden) < 0.9


def test_exact_distributions_are_those_of_every_sum() -> None:
    """Each key with each other anchor once; of memory anchors, every key alike."""
    found = embeddings.exact_distributions("reasoning")
    for row, s in zip(found, REASONING, strict=True):
        counts = Counter(key + other + s for key in range(21, 121) for other in range(11, 21))
        np.testing.assert_allclose(row + 1 / VOCAB, [counts[i] / 1000 for i in range(VOCAB)], atol=1e-12)
    memory = embeddings.exact_distributions("memory")
    np.testing.assert_allclose(memory, np.tile([*[-0.005] * 21, *[0.005] * 100, *[-0.005] * 79], (10, 1)), atol=1e-12)
    np.testing.assert_allclose(found.sum(1), 0, atol=1e-12)


@pytest.mark.parametrize("kind", ["memory", "reasoning"])
def test_sampled_distributions_count_the_training_set(kind: str) -> None:
    rows = Task(5).rows(torch.tensor(5), torch.arange(3000))
    found = embeddings.sampled_distributions(kind, 3000, 5)
    for row, s in zip(found, MEMORY if kind == "memory" else REASONING, strict=True):
        labels = [t for t, a, b in zip(*map(Tensor.tolist, (rows.target, rows.first, rows.second)), strict=True) if s in (a, b)]
        assert len(labels) > 200
        np.testing.assert_allclose(row + 1 / VOCAB, [labels.count(i) / len(labels) for i in range(VOCAB)], atol=1e-12)
    assert not np.allclose(found, embeddings.sampled_distributions(kind, 3000))


def test_the_fitted_shape_and_its_noise() -> None:
    """√6 wide at the anchor's number; noise of standard deviation width^−γ, the same for the same seed."""
    plain = embeddings.fitted(40, 0.8, None)
    assert plain.shape == (10, 40)
    for s, row in zip(REASONING, plain, strict=True):
        assert row.argmax() == s
        assert row[s] == pytest.approx(1 - 1 / 40)
        assert row[s + 3] == pytest.approx(np.exp(-9 / 12) - 1 / 40)
    keys = embeddings.fitted(200, 0.8, None, keys=True)
    assert keys.shape == (N_KEYS, 200)
    assert keys.argmax(1).tolist() == list(range(21, 121))
    assert keys[0, 21] == 1
    assert keys[0, 199] == pytest.approx(0, abs=1e-12)
    for gamma in (0.5, 0.9):
        noise = embeddings.fitted(200, gamma, 1, keys=True) - keys
        assert noise.std() == pytest.approx(200**-gamma, rel=0.02)
        np.testing.assert_array_equal(noise, embeddings.fitted(200, gamma, 1, keys=True) - keys)
        assert abs(np.corrcoef(noise.ravel(), (embeddings.fitted(200, gamma, 2, keys=True) - keys).ravel())[0, 1]) < 0.05


# ---------------------------------------------------------------- the flow of embeddings

DESCENT = replace(bias.FLOW.specs("smoke")[0], rate=0.5)
LAYER = bias.flow_specs("smoke")["one layer"][0]


def test_rates_by_counting() -> None:
    """How often an anchor stands in the 198 trained pairs; the two that were held out have each lost 11 and 13."""
    pairs = [(a, b) for a in MEMORY for b in MEMORY]
    pairs += [(a, b) for a in REASONING for b in REASONING if (a, b) not in HELD_OUT]
    counts = Counter(anchor for pair in pairs for anchor in pair)
    assert embeddings.rates().tolist() == pytest.approx([counts[s] / 198 for s in range(1, 21)])
    assert [counts[s] for s in (1, 10, 11, 12, 13)] == [20, 20, 18, 20, 18]


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
    distributions = np.array([theory.label_distribution(s) for s in range(1, 21)])
    velocity = told_flow(embeddings.rates(), distributions, model.W_1.weight[0].numpy(), model.W_2.weight[0].numpy())
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


def test_what_is_left_of_the_loss_has_a_row_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the mean of the two trained sets before training."""
    first = {"memory": 3.0, "reasoning": 5.0, "held out": 99.0}
    monkeypatch.setattr(ratios, "first_losses", lambda run: first)
    runs = [replace(planted(), history={"step": [5, 10], "loss": [5.0, last]}) for last in (4.0, None)]
    steps, values = embeddings.loss_left(runs)
    assert steps.tolist() == [5, 10]
    np.testing.assert_array_equal(values, [[1.25, 1], [1.25, np.nan]])


# ---------------------------------------------------------------- attention


def test_smaller_initialization_starts_nearer_to_the_causal_average() -> None:
    for seed in range(3):
        found = [attention.deviation_at_start(replace(SMOKE, gamma=g, seed=seed)) for g in (0.1, 0.3, 0.5, 0.8, 1.1)]
        assert found == sorted(found, reverse=True)
        assert found[0] > 0.3
        assert 0 < found[-1] < 1e-3


def seen(
    reasoning: float = 0.6, memory: float = 0.1, mean: float = 0.0, single: float = 0.0, gap: float = 3.0
) -> dict[str, Tensor]:
    """A snapshot: |cosines| of the first direction with the anchors of a kind, of which every second points against it; how far
    the first attention is from the average, in the mean over sequences and in one; the first singular value over the second."""
    cosine = torch.tensor([memory] * 10 + [reasoning] * 10) * torch.tensor([1.0, -1.0]).repeat(10)
    deviation = torch.zeros(LENGTH, LENGTH)
    deviation[3, 1] = single
    return {
        "anchors": 3 * torch.stack([cosine, (1 - cosine**2).sqrt()], 1),
        "direction": torch.tensor([1.0, 0.0]),
        "spectrum": torch.tensor([gap, 1.0, 0.5]),
        "attention": causal_average(LENGTH) - mean * torch.outer(torch.eye(LENGTH)[3], torch.eye(LENGTH)[1]),
        "deviation": deviation,
    }


def attend(monkeypatch: pytest.MonkeyPatch, late: Callable[[RunSpec], bool]) -> None:
    """The second attention finds the key in such runs, which have the paper's circuit."""
    shares = lambda run: np.array([[0.1, 0.3, 0.3, 0.3], [0.9, 0.1, 0.0, 0.0] if late(run.spec) else [0.1, 0.5, 0.4, 0.0]])
    monkeypatch.setattr(attention, "reading", lambda run: np.repeat(shares(run)[:, None], 7, 1))


@pytest.mark.parametrize(("share", "late"), [(0.5, True), (0.501, True), (0.499, False)])
def test_the_papers_circuit_gives_half_of_the_second_attention_to_the_key(
    monkeypatch: pytest.MonkeyPatch, share: float, late: bool
) -> None:
    """Mean over its places; what else is read, and what the first attention reads, says nothing."""
    found = np.full((2, 7, 4), 0.1 if late else 0.9)
    found[1, :, 0] = share + (share != 0.5) * np.array([0.4, -0.4, 0.3, -0.3, 0.2, -0.2, 0])
    monkeypatch.setattr(attention, "reading", lambda run: found)
    run = planted()
    assert attention.on_the_key(run) == pytest.approx(share)
    assert attention.selects_late(run) is late
    assert list(attention.by_circuit([run]).values()) == ([[run], []] if late else [[], [run]])


def test_alignment_at_an_epoch_is_that_of_the_nearest_snapshot() -> None:
    """By ratio, as all shares of training: from 15, 22 is nearer than 10."""
    spec = bias.circuit_specs("laptop")[0]
    along = lambda **by_epoch: planted(spec, kept={200 * int(e[1:]): seen(v) for e, v in by_epoch.items()})
    run = along(e1=0.1, e10=0.5, e15=0.7, e22=0.3, e200=0.9)
    assert attention.along_reasoning(run) == pytest.approx(0.7)
    assert [attention.along_reasoning(run, e) for e in (1, 12, 100)] == pytest.approx([0.1, 0.5, 0.9])
    assert attention.along_reasoning(along(e10=0.5, e22=0.3)) == pytest.approx(0.3)


def test_attention_along_training() -> None:
    """The largest deviation; the first direction's |cosine| with every anchor; singular values at a step or at the end."""
    anchors = torch.zeros(20, 3)
    anchors[:10, 1], anchors[10:, 0] = 5.0, -2.0
    anchors[19] = torch.tensor([3.0, 0.0, 4.0])
    early = {
        "anchors": anchors,
        "direction": torch.tensor([1.0, 0.0, 0.0]),
        "spectrum": torch.tensor([2.0, 1.0]),
    }
    late = early | {"direction": torch.tensor([0.0, -1.0, 0.0])}
    run = planted(kept={10: early, 30: late | {"spectrum": torch.tensor([5.0, 4.0])}})
    steps, by_kind = attention.alignments(run)
    assert steps.tolist() == [10, 30]
    np.testing.assert_allclose(by_kind["memory"], [[0] * 10, [1] * 10])
    np.testing.assert_allclose(by_kind["reasoning"], [[1] * 9 + [0.6], [0] * 10], rtol=1e-6)
    assert attention.singular_values(run, 10).tolist() == [2, 1]
    assert attention.singular_values(run).tolist() == [5, 4]


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
    found = attention.reading(wired(tmp_path, {}, {}))
    assert found.shape == (2, 7, 4)
    for place in range(7):
        np.testing.assert_allclose(found[0, place], [*[1 / (place + 3)] * 3, place / (place + 3)], atol=1e-6)
        np.testing.assert_allclose(found[1, place], [*[1 / 9] * 3, 6 / 9], atol=1e-6)


def test_reading_where_attention_points(tmp_path: Path) -> None:
    """Layer 1: each position looks two back, from the second anchor to the key. Layer 2: the last token looks at the fifth,
    whatever stands there."""
    found = attention.reading(wired(tmp_path, {i: i - 2 for i in range(2, 9)}, {8: 4}))
    np.testing.assert_allclose(found[0], [[1, 0, 0, 0]] * 7, atol=1e-6)
    role = {4: 0, 3: 1, 2: 2}
    np.testing.assert_allclose(found[1], [np.eye(4)[role.get(place, 3)] for place in range(7)], atol=1e-6)


@pytest.mark.parametrize("place", [0, 6])
def test_placed_rows_have_their_key_there(place: int) -> None:
    tokens = attention.placed(Task(), place, 50)
    assert tokens.shape == (50, LENGTH)
    anchors = (tokens > REASONING[0] - 1) & (tokens <= REASONING[-1])
    assert (anchors.nonzero()[:, 1].view(50, 2) == torch.tensor([place + 1, place + 2])).all()
    assert len({tuple(row) for row in tokens.tolist()}) == 50
    assert {tuple(row[place + 1 : place + 3]) for row in tokens.tolist()}.isdisjoint(HELD_OUT)


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
    np.testing.assert_allclose(attention.reading(run)[1], [[1, 0, 0, 0]] * 7, atol=1e-6)
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
    np.testing.assert_allclose(attention.reading(run)[1], [[1, 0, 0, 0]] * 7, atol=1e-4)
    for weights in attention.moved(run).values():
        assert weights == pytest.approx((1, 0), abs=1e-4)


def test_attention_to_a_fixed_position_does_not_move(tmp_path: Path) -> None:
    """Of the 42 ordered pairs of places, 6 begin at the fifth position and 6 end there."""
    for weights in attention.moved(wired(tmp_path, {}, {8: 4})).values():
        assert weights == pytest.approx((6 / 42, 6 / 42), abs=1e-6)


# ---------------------------------------------------------------- small measures of the core


def test_the_first_step_at_a_level() -> None:
    run = replace(planted(), history={"step": [10, 20, 30, 40], "memory": [None, 0.4, 0.5, 0.9]})
    assert [first_step(run, "memory", level) for level in (0.4, 0.45, 0.9, 0.91)] == [20, 30, 40, None]


def test_spreads_in_words() -> None:
    assert mean_std([1.0, 3.0]) == "2.00 ± 1.41"
    assert mean_std([0.25]) == "0.25"
    assert mean_std(np.array([10.0, 11.0]), 0) == "10 ± 1"


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 6))
def test_cosines_are_numpys(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(n, 4)), rng.normal(size=(m, 4))
    expected = [[x @ y / np.linalg.norm(x) / np.linalg.norm(y) for y in b] for x in a]
    np.testing.assert_allclose(cosines(a, b), expected, atol=1e-12)
    assert cosines(np.zeros((1, 4)), b).tolist() == [[0.0] * m]


def test_points_on_a_grid_share_a_scale() -> None:
    assert web_export.on_grid(np.array([[-2.0, 0.0], [1.0, 2.0]])) == [[0, 128], [191, 255]]
    assert web_export.on_grid(np.zeros((2, 2))) == [[128, 128], [128, 128]]


# ---------------------------------------------------------------- the explorer


def explored() -> list[StoredRun]:
    kept = {10: lying(alike(0.5), on_an_arc(0.1)), 20: lying(alike(0.5), on_an_arc(0.2))}
    shares = {"memory": [0.1, 0.25], "reasoning": [0.5, 0.75], "held out": [1 / 3, None]}
    return [
        planted(replace(spec, seed=seed), shares=shares, kept=kept, memory=0.25, reasoning=v, **{"held out": 0.5})
        for spec in bias.bias_specs("smoke")
        for seed, v in ((1, 0.75), (0, 0.25))
    ]


def test_the_explorer_has_a_map_for_every_snapshot() -> None:
    found = record(explored()[0])
    assert [(m["step"], len(m["map"]), len(m["explained"])) for m in found["moments"]] == [(10, 10, 2), (20, 10, 2)]
    first, last = found["moments"]
    assert (found["map"], found["explained"]) == (last["map"], last["explained"]) != (first["map"], first["explained"])
    for m in found["moments"]:
        first = [x for x, _ in m["map"]]
        assert (min(first), max(first)) == (0, 255)
        assert first == sorted(first)  # along the arc, rising with the number
        assert all(0 <= v <= 255 and isinstance(v, int) for point in m["map"] for v in point)
        assert sum(m["explained"]) in (99, 100, 101)
    assert set(found["history"]) == {"step", *METRICS}
    assert found["history"]["held out"] == [0.333, None]
    assert found["final"] == {"memory": 0.25, "reasoning": 0.75, "held out": 0.5}


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


def test_a_laptop_of_runs_fits_into_a_page() -> None:
    """With as many runs, snapshots and evaluations as the profile has."""
    specs, kept = BIAS.specs("laptop"), lying(alike(0.5), on_an_arc())
    one = specs[0].train
    shares = {name: [0.123] * (one.steps // one.eval_every) for name in SETS}
    runs = [planted(s, shares=shares, steps=one.steps, kept=dict.fromkeys(dict(s.task)["keep"], kept)) for s in specs]
    assert Explorer(exploration(runs, "laptop"), "rm-09", gamma=0.8, depth=2).static()


def test_a_point_is_trained_once(tmp_path: Path) -> None:
    store, steps = Store(tmp_path), []
    ask = trainer("smoke", store, PLAIN)
    run = ask(0.65, 2, 5, on_step=lambda now: steps.append(now.step), stop=lambda: False)
    assert run.spec == point_specs("smoke", 0.65, 5)[0]
    assert steps == [10, 20]
    assert [m["step"] for m in record(run)["moments"]] == [10, 20]
    again = ask(0.65, 2, 5, on_step=lambda now: pytest.fail("trained again"), stop=lambda: True)
    assert again == run


def test_the_weights_of_a_readers_own_point_are_kept_as_in_the_study(tmp_path: Path) -> None:
    """So that what the reader trained first lacks nothing that a chapter reads of it later."""
    ask = lambda gamma, seed: trainer("smoke", Store(tmp_path), PLAIN)(gamma, 2, seed, lambda now: None, lambda: False)
    for gamma, seed, kept in ((SMALL, 0, True), (SMALL, 3, True), (LARGE, 0, True), (LARGE, 1, False), (0.65, 0, False)):
        run = ask(gamma, seed)
        assert BIAS.keep(run) == kept
        assert run.has_weights == kept, (gamma, seed)
        assert list(run.snapshots()) == [10, 20]


@pytest.fixture(scope="module")
def diverged(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunResult, StoredRun]:
    """Of weights so large that nothing is finite from the first step: as it was trained, and as it was read back."""
    spec, store = point_specs("smoke", -9.0)[0], Store(tmp_path_factory.mktemp("diverged"))
    (result,) = train([spec], BIAS.make_study(spec), PLAIN)
    assert store.put(result, {})
    return result, Store(store.root).get(spec)


def test_a_run_that_diverged_is_stored(diverged: tuple[RunResult, StoredRun]) -> None:
    result, run = diverged
    assert (result.status, run.status, run.steps) == ("diverged", "diverged", 0)
    losses = {f"{name} loss" for name in SETS}
    assert set(run.metrics) == losses | set(SETS)
    assert {name for name, value in run.metrics.items() if value is None} == losses
    assert run.metrics == result.metrics
    assert run.history == result.history
    assert run.history["loss"] == run.history["memory loss"] == [None]
    assert json.loads(run.path.read_text())["content"]["metrics"]["memory loss"] is None
    assert not torch.isfinite(run.snapshots()[10]["anchors"]).all()


def test_a_run_that_diverged_is_shown_without_a_map(diverged: tuple[RunResult, StoredRun]) -> None:
    _, run = diverged
    found = record(run)
    assert not {"map", "moments"} & set(found)
    assert found["final"] == dict.fromkeys(METRICS, 0.0)
    assert found["history"] == {"step": [10]} | {name: [0.0] for name in METRICS}
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    data = exploration([*explored(), run], "smoke")  # beside others
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert [r["gamma"] for r in data["series"][0]["runs"] if "moments" not in r] == [-9.0]
    assert halving(run, "memory") is slowdown(run) is None


def test_only_finite_snapshots_are_mapped() -> None:
    good = lying(alike(0.5), on_an_arc())
    bad = {"anchors": good["anchors"].clone()}
    bad["anchors"][-1, 0] = float("inf")
    found = record(replace(explored()[0], kept={10: good, 20: bad}))
    assert [m["step"] for m in found["moments"]] == [10]
    assert found["map"] == found["moments"][0]["map"]
    memory = {"anchors": good["anchors"].clone()}
    memory["anchors"][0, 0] = float("nan")  # which is not drawn
    assert [m["step"] for m in record(replace(explored()[0], kept={10: good, 20: memory}))["moments"]] == [10, 20]


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ((0.5, 3, 0), "transformer has 2 layers, got depth 3"),
        ((0.5, 1, 0), "transformer has 2 layers, got depth 1"),
        ((float("nan"), 2, 0), "gamma must be a finite number, got nan"),
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


def test_the_laptop_has_a_grid_to_draw_a_curve_of() -> None:
    for specs in (bias.bias_specs("laptop"), bias.EMB.specs("laptop")):
        points = Counter(s.gamma for s in specs if not dict(s.task).get("noise"))
        assert len(points) >= 7
        assert {LARGE, MIDDLE, SMALL} <= set(points)
        assert set(points.values()) == {4}
    gammas = [s.gamma for s in bias.bias_specs("laptop")]
    assert gammas == sorted(gammas, reverse=True)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_finer_grid_and_the_further_seeds_are_runs_like_the_main_ones(profile: str) -> None:
    main, between, more = (of(profile) for of in (bias.bias_specs, bias.between_specs, bias.more_specs))
    assert BIAS.specs(profile) == main + between + more
    assert len({replace(s, gamma=0.0, seed=0) for s in BIAS.specs(profile)}) == 1  # in all else they are the same
    low, high, *_ = sorted({s.gamma for s in main})
    assert low == LARGE
    assert all(low < s.gamma < high for s in between)
    assert {s.gamma for s in more} == {SMALL}
    seeds = {s.seed for s in main}
    assert all({s.seed for s in between if s.gamma == g} == seeds for g in {s.gamma for s in between})
    assert [s.seed for s in more] == list(range(max(seeds) + 1, max(seeds) + 1 + len(more)))
    if profile != "smoke":
        assert (len({s.gamma for s in between}), len(more)) == (4, 8)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_runs_of_circuits_are_new_ones_like_the_main_runs(profile: str) -> None:
    """New seeds, single precision, all weights kept; seed by seed, so that whole rows of γ finish first."""
    specs, main = bias.circuit_specs(profile), bias.BIAS.specs(profile)
    as_main = lambda s: replace(
        s, experiment=BIAS.name, gamma=0.0, seed=0, train=replace(s.train, precision=main[0].train.precision)
    )
    assert {as_main(s) for s in specs} == {replace(main[0], gamma=0.0, seed=0)}
    assert {s.train.precision for s in specs} == {"float32"} != {main[0].train.precision}
    assert {s.seed for s in specs}.isdisjoint(s.seed for s in main)
    assert [s.seed for s in specs] == sorted(s.seed for s in specs)
    assert all(bias.CIRCUITS.keep(type("Result", (), {"spec": s})()) for s in specs)
    if profile != "smoke":
        assert Counter(s.gamma for s in specs) == dict.fromkeys(bias.CIRCUIT_GAMMAS, len(bias.CIRCUIT_SEEDS))


@pytest.mark.parametrize("profile", PROFILES)
def test_long_ablations_and_many_rows_change_one_thing_of_the_main_runs(profile: str) -> None:
    main = {(s.gamma, s.seed): s for s in bias.bias_specs(profile)}
    first, gammas = bias.bias_specs(profile)[0], {LARGE, MIDDLE, SMALL}
    seeds = {s.seed for s in main.values()}
    plain, slower = (bias.long_specs(profile)[name] for name in ("no norms", "rate / 2.5"))
    many = bias.many_rows_specs(profile)
    for specs, at, as_changed in (
        (plain, gammas, lambda s: replace(s, model=replace(s.model, norm="none"))),
        (slower, {LARGE, SMALL}, lambda s: replace(s, rate=s.rate / 2.5)),
        (many, gammas, lambda s: replace(s, task=(("rows", 10 * dict(s.task)["rows"]), ("keep", ())))),
    ):
        assert {(s.gamma, s.seed) for s in specs} == {(g, seed) for g in at for seed in seeds}
        assert len(specs) == len(at) * len(seeds)
        for s in specs:
            as_main = replace(as_changed(first), experiment=s.experiment, gamma=s.gamma, seed=s.seed)
            assert s == as_main
    for experiment, parts in (
        (bias.ABLATION, [*bias.ablation_specs(profile).values(), plain, slower]),
        (bias.ROWS, [*bias.rows_specs(profile).values(), many]),
    ):
        assert Counter(experiment.specs(profile)) == Counter(s for part in parts for s in part)


def test_ten_times_the_rows_are_as_many_as_the_paper_has() -> None:
    rows = lambda specs: {dict(s.task)["rows"] for s in specs}
    assert rows(bias.many_rows_specs("laptop")) == rows(BIAS.specs("paper")) == {200_000}


@pytest.mark.parametrize("profile", PROFILES)
def test_the_quiet_flow_is_the_one_layer_with_ten_times_the_batch(profile: str) -> None:
    flows = bias.flow_specs(profile)
    assert list(flows) == ["Emb-MLP", "one layer", bias.QUIET]
    usual, quiet = flows["one layer"][0], flows[bias.QUIET]
    assert len(quiet) == len({s.seed for s in quiet}) == min(2, len(flows["one layer"]))
    for s in quiet:
        assert s.train.batch == 10 * usual.train.batch
        assert (s.model, s.gamma, s.rate, s.decay) == (usual.model, usual.gamma, usual.rate, usual.decay)
        assert dict(s.task)["keep"] == tuple(range(s.train.eval_every, s.train.steps + 1, s.train.eval_every))
    assert Counter(bias.FLOW.specs(profile)) == Counter(s for specs in flows.values() for s in specs)


def test_the_papers_sizes() -> None:
    for spec in BIAS.specs("paper"):
        assert (spec.model.depth, spec.model.heads, spec.model.d_model, spec.train.batch) == (2, 1, 200, 100)
        assert dict(spec.task)["rows"] == 200_000
        assert spec.train.steps / stored.epoch(spec) == 1000


def test_variants_are_what_they_are_called() -> None:
    keys = lambda of: Counter((s.gamma, dict(s.task)[of]) for s in (bias.TABLES if of == "memory" else bias.EMB).specs("paper"))
    assert keys("memory") == {(SMALL, name): 4 for name in ("key", "window", "groups")}
    assert {g for g, noise in keys("noise") if noise} == {LARGE, SMALL}
    assert {s.model.positions for s in bias.EMB.specs("laptop") if not dict(s.task)["noise"]} == {3}
    ablations = bias.ablation_specs("laptop")
    assert tuple(ablations) == bias.ABLATIONS
    for name, specs in ablations.items():
        first = specs[0]
        assert {s.gamma for s in specs} == {SMALL, LARGE}
        assert (first.model.norm == "none") is (name == "no norms")
        assert first.model.head is (name != "no head")
        assert first.rate == pytest.approx(5e-4 * {"rate / 2.5": 0.4, "rate × 2": 2}.get(name, 1))
        assert first.train == ablations["as it is"][0].train
    for name, specs in bias.flow_specs("laptop").items():
        assert {(s.train.optimizer, s.decay, dict(s.task)["rows"], dict(s.task)["drive"]) for s in specs} == {
            ("sgd", 0, 0, True)
        }
        assert {dict(s.task)["noise"] for s in specs} == {name != "Emb-MLP"}
        assert specs[0].train.start == specs[0].train.final == 1  # a flow has one rate


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


# ---------------------------------------------------------------- figures

RNG = np.random.default_rng(0)


def drawn(figure: Figure, panels: int, bars: int = 0) -> list[Any]:
    """The axes of a figure that can be drawn, panels first, with none left over but for colour bars."""
    assert isinstance(figure, Figure)
    assert len(figure.axes) == panels + bars
    figure.canvas.draw()
    plt.close(figure)
    return figure.axes[:panels]


def legends(figure: Figure) -> list[str]:
    found = [*figure.legends, *(ax.get_legend() for ax in figure.axes)]
    return [text.get_text() for legend in found if legend for text in legend.get_texts()]


def texts(ax: Any) -> list[str]:
    return [t.get_text() for t in ax.texts]


def test_the_figure_of_examples_writes_every_token_and_label() -> None:
    memory, reasoning = (Task().examples(name, 3) for name in ("memory", "reasoning"))
    for ax, batch in zip(drawn(memory_figures.examples(memory, reasoning), 2), (memory, reasoning), strict=True):
        assert Counter(texts(ax)) == Counter(
            [*map(str, batch.tokens.flatten().tolist()), *(f"→ {t}" for t in batch.target.tolist())]
        )
        assert len(ax.patches) == 27


def trained(gammas: tuple[float, ...] = (0.3, 0.8), seeds: int = 2, **how: Any) -> list[StoredRun]:
    return [planted(replace(SMOKE, gamma=g, seed=s), **how) for g in gammas for s in range(seeds)]


def test_figures_of_training_have_a_line_for_each_set() -> None:
    runs = trained(halves={"reasoning": 100, "memory": 300}, shares={"reasoning": [0.2, 0.9]})
    figure = memory_figures.training(memory_and_reasoning.curves({"γ = 0.3": runs[:2], "γ = 0.8": runs[2:]}))
    axes = drawn(figure, 4)
    assert [ax.get_title(loc="left") for ax in axes[:2]] == ["γ = 0.3", "γ = 0.8"]
    assert [len(ax.lines) for ax in axes] == [3] * 4
    assert legends(figure) == ["memory", "reasoning, trained pairs", "reasoning, held-out pairs"]
    panels = {"γ = 0.3": runs[:2]}
    marked = memory_figures.training(memory_and_reasoning.curves(panels), memory_and_reasoning.ends(panels))
    points = [line for line in drawn(marked, 2)[1].lines if line.get_marker() == "o"]
    assert [float(p.get_ydata()[0]) for p in points] == [np.mean([r.metrics[name] for r in runs[:2]]) for name in SETS]
    assert {float(p.get_xdata()[0]) for p in points} == {axes[2].lines[0].get_xdata()[-1]}
    assert [p.get_markerfacecolor() == "white" for p in points] == [False, False, True]
    memory = axes[0].lines[0]
    assert memory.get_ydata().tolist() == [4, 2, 2, 2]
    assert memory.get_xdata().tolist() == pytest.approx([s / stored.epoch(SMOKE) for s in runs[0].history["step"]])


@pytest.mark.usefixtures("at_four")
def test_the_figure_of_the_bias_marks_what_is_a_lower_bound() -> None:
    closed = trained(halves={"reasoning": 100, "memory": 300, "held out": 150})
    opened = [planted(replace(SMOKE, gamma=0.8, seed=9), {"reasoning": 100, "held out": 150}, steps=900)]
    never = [planted(replace(SMOKE, gamma=0.5), {"memory": 100})]
    figure = memory_figures.bias(memory_and_reasoning.bias({"transformer": [*closed, *opened, *never], "Emb-MLP": closed}))
    left, right = drawn(figure, 2)
    points = Counter((line.get_marker(), float(line.get_ydata()[0])) for line in left.lines if len(line.get_xdata()) == 1)
    assert points == {("o", 3.0): 4, ("^", 9.0): 1, ("s", 3.0): 4}
    (mean,) = [line for line in left.lines if line.get_label() == "transformer"]
    np.testing.assert_allclose(mean.get_ydata(), [3, (3 * 3 * 9) ** (1 / 3)])
    assert all(line.get_marker() != "^" for line in right.lines)
    assert legends(figure) == ["transformer", "Emb-MLP", "lower bound: the slower loss never halved"]


@pytest.mark.usefixtures("at_four")
@pytest.mark.parametrize(("bounds", "look"), [(1, "-"), (2, "--"), (3, "--")])
def test_a_line_that_is_mostly_lower_bounds_is_dashed(bounds: int, look: str) -> None:
    """That is, at most γ: one of three is not most. One run is enough to make a mean a lower bound."""
    gammas = (0.3, 0.5, 0.8)
    halves = lambda i, seed: {"reasoning": 100, "memory": None if i < bounds and seed else 300, "held out": 150}
    runs = [planted(replace(SMOKE, gamma=g, seed=s), halves(i, s)) for i, g in enumerate(gammas) for s in range(2)]
    axes = drawn(memory_figures.bias(memory_and_reasoning.bias({"transformer": runs})), 2)
    found = [line.get_linestyle() for ax in axes for line in ax.lines if line.get_label() == "transformer"]
    assert found == [look, "-"]  # held-out pairs always halve


def test_figures_of_tables_and_groups() -> None:
    runs = trained((0.8,), kept={10: {"groups": torch.eye(4, VOCAB)}})
    figure = memory_figures.memory_variants(memory_and_reasoning.curves({"far": runs, "near": runs}))
    assert [len(ax.lines) for ax in drawn(figure, 2)] == [2, 2]
    assert legends(figure) == ["far", "near"]
    axes = drawn(memory_figures.group_outputs(memory_and_reasoning.group_outputs(runs), 2.0), 4)
    assert [ax.get_title(loc="left") for ax in axes] == ["30 … 49", "30 … 69", "30 … 89", "30 … 109"]
    for i, ax in enumerate(axes):
        assert len(ax.lines) == 3  # two seeds and their mean
        assert ax.lines[-1].get_ydata().argmax() == i
        assert ax.patches[0].get_x() + ax.patches[0].get_width() == 29 + 20 * (i + 1)


def test_the_figure_of_variants_has_a_row_for_each() -> None:
    ratios = {"one": {0.3: [Ratio(1.0, False)], 0.8: [Ratio(3.0, True)]}, "two": {0.3: [], 0.8: [Ratio(2.0, False)]}}
    shares = {name: {0.3: [0.0], 0.8: [1.0]} for name in ratios}
    figure = drawing.points_by_name(ratios, shares)
    left, right = drawn(figure, 2)
    assert [t.get_text() for t in left.get_yticklabels()] == ["one", "two"]
    points = sorted((line.get_marker(), line.get_xdata()[0]) for line in left.lines if line.get_marker() in "o^")
    assert points == [("^", 3.0), ("o", 1.0), ("o", 2.0)]
    assert legends(figure) == ["γ = 0.3", "γ = 0.8"]
    assert len(right.lines) == 4
    colour = {line.get_xdata()[0]: line.get_color() for line in right.lines}  # the share says which γ
    of = {line.get_xdata()[0]: line.get_color() for line in left.lines if line.get_marker() in "o^"}
    assert colour[0.0] != colour[1.0]
    assert of == {1.0: colour[0.0], 2.0: colour[1.0], 3.0: colour[1.0]}


def test_figures_of_cosines_and_distributions() -> None:
    matrix = np.full((10, 10), 0.5)
    columns = {title: {"memory": -matrix, "reasoning": matrix} for title in ("early", "late")}
    axes = drawn(embedding_figures.anchor_matrices(columns), 4, bars=1)
    assert [ax.images[0].get_array().mean() for ax in axes] == [-0.5, 0.5, -0.5, 0.5]  # two columns stand in one row
    assert [t.get_text() for t in axes[1].get_xticklabels()] == ["11", "14", "17", "20"]
    axes = drawn(embedding_figures.anchor_matrices({str(i): columns["early"] for i in range(6)}), 12, bars=1)
    assert [ax.images[0].get_array().mean() for ax in axes] == 6 * [-0.5] + 6 * [0.5]
    assert [t.get_text() for t in axes[6].get_xticklabels()] == ["11", "20"]
    exact = embeddings.exact_distributions("reasoning")
    figure = embedding_figures.label_distributions(exact, exact)
    axes = drawn(embedding_figures.label_distributions(exact, np.eye(10, VOCAB)), 3, bars=2)
    assert [ax.get_title(loc="left") for ax in axes[1:]] == ["cosines, exact", "counted"]
    np.testing.assert_allclose(axes[1].images[0].get_array(), cosines(exact, exact))
    np.testing.assert_allclose(axes[2].images[0].get_array(), np.eye(10))
    for ax in axes[1:]:
        assert ax.images[0].get_clim() == pytest.approx((0, 1))  # one scale, from the least of both
    left, *_ = drawn(figure, 3, bars=2)
    assert len(left.lines) == 10 + 1 + 1  # exact, one counted, and one for the legend
    assert legends(figure) == ["counted, anchor 15", "exact"]
    bar = figure.axes[3]  # which says what the colours are
    assert bar.get_ylabel() == "anchor s"
    assert [t.get_text() for t in bar.get_yticklabels()] == ["11", "14", "17", "20"]
    least = cosines(exact, exact).min()
    assert figure.axes[1].images[0].get_clim() == pytest.approx((least, 1))
    for line, values in zip(left.lines, exact, strict=False):
        np.testing.assert_array_equal(line.get_ydata(), values)
    np.testing.assert_array_equal(left.lines[10].get_ydata(), exact[REASONING.index(15)])


def test_figures_of_theory_beside_measurement() -> None:
    measured = {"one": {"moved": RNG.random((3, 9)), "early": RNG.random((3, 9)), "late": RNG.random((1, 9))}}
    measured["other"] = {name: measured["one"][name] for name in ("early", "late")}
    figure = embedding_figures.lag_curves(measured, {"P^s": np.ones(9), "Eq. 14": np.zeros(9)})
    axes = drawn(figure, 2)
    (shared,) = figure.legends
    assert [text.get_text() for text in shared.get_texts()] == ["P^s", "Eq. 14"]
    for ax, (title, series) in zip(axes, measured.items(), strict=True):
        assert ax.get_title(loc="left") == title
        assert [text.get_text() for text in ax.get_legend().get_texts()] == list(series)
        for container, values in zip(ax.containers, series.values(), strict=True):
            np.testing.assert_allclose(container.lines[0].get_ydata(), values.mean(0))
    looks = [[c.lines[0].get_color() for c in ax.containers] for ax in axes]
    assert looks[0][1:] == looks[1]  # early and late look the same in every panel
    assert len({*looks[0], axes[0].lines[-2].get_color()}) == 4  # of which none is theory's
    with pytest.raises(ValueError, match="zip"):
        embedding_figures.lag_curves({"one": {str(i): np.ones((2, 9)) for i in range(4)}}, {"P^s": np.ones(9)})
    plt.close()


def test_maps_have_a_panel_each_and_empty_places_stay_empty() -> None:
    panels = {"anchors": (on_an_arc(), REASONING), "keys": (RNG.random((100, 5)), range(21, 121)), "few": (alike(0.1), MEMORY)}
    axes = drawn(embedding_figures.maps(panels), 4, bars=1)
    assert [ax.get_title(loc="left") or ax.get_title() for ax in axes[:3]] == list(panels)
    assert not axes[3].axison
    assert texts(axes[0]) == ["11", "20"]  # the ends; a bar says what colours are
    assert texts(axes[1]) == []
    assert texts(axes[2]) == ["1", "10"]


def test_the_figure_of_formation_has_three_lines_a_model() -> None:
    """The two of reasoning anchors in one colour, solid and dashed."""
    curves = {name: np.array([[v, v + 0.1], [v + 0.2, v + 0.3]]) for name, v in (("near", 0.5), ("far", 0.1), ("memory", 0.3))}
    figure = embedding_figures.formation(dict.fromkeys(("Emb-MLP", "transformer"), (np.array([1.0, 10.0]), curves)))
    axes = drawn(figure, 2)
    assert legends(figure) == ["near", "far", "memory"]
    for ax, title in zip(axes, ("Emb-MLP", "transformer"), strict=True):
        assert (ax.get_title(loc="left") or ax.get_title()) == title
        assert ax.get_xscale() == "log"
        near, far, memory, _ = ax.lines  # and one at 0
        for line, v in ((near, 0.5), (far, 0.1), (memory, 0.3)):
            np.testing.assert_allclose(line.get_ydata(), [v + 0.1, v + 0.2])
            assert line.get_xdata().tolist() == [1, 10]
        assert near.get_color() == far.get_color() != memory.get_color()
        assert [line.get_linestyle() for line in (near, far, memory)] == ["-", "--", "-"]
        assert len(ax.collections) == 3


def test_the_figure_of_the_flow_has_a_line_a_seed() -> None:
    part = lambda value: {kind: np.full((3, 10), value) for kind in ("memory", "reasoning")}
    errors = [FlowError(np.array([5, 10, 15]), part(0.5), part(0.9), np.ones(3)) for _ in range(2)]
    losses = {name: (np.array([5, 10, 15]), np.ones((2, 3))) for name in ("a", "b")}
    figure = embedding_figures.flow({"a": {"printed": errors}, "b": {"printed": errors[:1], "ours": errors[1:]}}, losses, 0.02)
    axes = drawn(figure, 6)
    assert [len(ax.lines) for ax in axes] == [5, 5, 4, 4, 3, 3]  # error with a line at 1, cosine, loss with one at 98 %
    assert legends(figure) == [f"{kind}, {by}" for by in ("printed", "ours") for kind in COLOUR]
    assert [line.get_linestyle() for line in axes[1].lines[:4]] == ["-", "-", "--", "--"]
    assert axes[4].lines[-1].get_ydata()[0] == pytest.approx(0.98)


def test_figures_of_attention() -> None:
    average = causal_average(LENGTH).numpy()
    first = np.tile(np.eye(LENGTH)[0], (LENGTH, 1))  # all attend to the first position
    axes = drawn(attention_figures.causal({"1 / i": average, "early": first}), 2, bars=1)
    for ax, expected in zip(axes, (np.tri(LENGTH), first * np.arange(1, LENGTH + 1)[:, None]), strict=True):
        shown = ax.images[0].get_array()
        assert np.isnan(np.asarray(shown.filled(np.nan))[np.triu_indices(LENGTH, 1)]).all()
        np.testing.assert_allclose(np.tril(shown.filled(0)), expected, rtol=1e-6)  # attention × i
        assert ax.images[0].get_clim() == (0, 2)
    figure = attention_figures.lemma({0.8: [0.01, 0.04], 0.3: [0.5, 0.5]}, {"epoch 1": {0.8: [0.1], 0.3: [0.2]}})
    (ax,) = drawn(figure, 1)
    assert legends(figure) == ["before training", "epoch 1"]
    (before,) = [line for line in ax.lines if line.get_label() == "before training"]
    np.testing.assert_allclose(before.get_xdata(), [0.3, 0.8])
    np.testing.assert_allclose(before.get_ydata(), [0.5, 0.02])  # geometric means


def test_the_figure_of_reading_has_a_column_a_seed() -> None:
    panels = {f"seed {seed}": RNG.random((2, 7, 4)) for seed in range(3)}
    average = attention.reading_of_average()
    np.testing.assert_allclose(average[0], [1 / 3, 1 / 4, 1 / 5, 1 / 6, 1 / 7, 1 / 8, 1 / 9])
    np.testing.assert_allclose(average[1], 1 / 9)
    reads = attention_figures.reading(panels, average)
    axes = np.reshape(drawn(reads, 8), (2, 4))
    assert [ax.get_title(loc="left") or ax.get_title() for ax in axes[0]] == [*panels, "causal average"]
    plain = np.stack([average, average, average, 1 - 3 * average], -1)
    for column, found in zip(axes.T, (*panels.values(), plain), strict=True):
        for layer, ax in enumerate(column):
            for role, bars in enumerate(ax.containers):
                np.testing.assert_allclose([bar.get_height() for bar in bars], found[layer, :, role])
                np.testing.assert_allclose([bar.get_y() for bar in bars], found[layer, :, :role].sum(-1))
            assert len({bars.patches[0].get_facecolor() for bars in ax.containers}) == 4
    assert legends(reads) == list(attention.ROLES)


def test_the_figure_of_values_is_relative_to_the_largest() -> None:
    epochs = np.array([1.0, 2.0])
    spectra = {"γ = 0.8": np.array([[4.0, 2.0, 1.0], [8.0, 4.0, 2.0]])}
    leading = np.array([[[4.0, 2.0], [6.0, 3.0]], [[8.0, 4.0], [10.0, 5.0]]])
    kinds = {"memory": np.array([[0.1, 0.3]]), "reasoning": np.array([[0.5, 0.9]])}
    alignment = dict.fromkeys(("γ = 0.3", "γ = 0.8"), (epochs, kinds))
    figure = attention_figures.values(spectra, (epochs, leading), alignment, 0.125, count=2)
    relative, along, *below = drawn(figure, 4)
    assert relative.lines[0].get_ydata().tolist() == [1, 0.5]
    assert [line.get_ydata().tolist() for line in along.lines] == [[6, 8], [3, 4]]
    assert [list(line.get_ydata()) for ax in below for line in ax.lines] == 2 * [[0.1, 0.3], [0.5, 0.9], [0.125, 0.125]]
    assert legends(figure) == ["γ = 0.8", "number 1", "number 2", "memory anchors", "reasoning anchors", "chance"]


def test_emb_mlp_has_three_hidden_units_a_dimension() -> None:
    assert bias.emb_mlp(10, False) == EmbMLPSpec(VOCAB, 3, 10, 30)
    assert bias.emb_mlp(10, True) == EmbMLPSpec(VOCAB, LENGTH, 10, 30)
