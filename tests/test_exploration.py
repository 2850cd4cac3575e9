"""What the explorer shows of stored runs: cells and maps by hand, records against the analyses that they come from."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from planted_composition import make_run, untrained

from lib.book.explorer import Explorer
from lib.composition.experiments import FAST, GRIDS
from lib.composition.exploration import METRICS, exploration, record, shown, trainer
from lib.composition.information_flow.metrics import essential, flow
from lib.core.read.measures import principal_map
from lib.core.read.web_export import cells
from lib.core.record.result import RunResult
from lib.core.record.spec import SpecError
from lib.core.record.store import Store, StoredRun
from lib.core.sweep.jobs import never, train_one
from lib.core.train.loop import Interrupted
from lib.core.train.plan import Options

PLAIN = Options(device="cpu", bf16=False, backend="eager")
OF_WEIGHTS = {"attention", "path", "answer", "map", "explained", "spectrum"}


@pytest.fixture
def stored(tmp_path: Path, tiny_spec: Callable[..., Any]) -> Callable[..., StoredRun]:
    """A factory of stored runs of an untrained model. `weights` and `history` replace what it would have."""

    def make(keep: bool = True, weights: Any = None, history: Any = None, **changes: Any) -> StoredRun:
        spec = tiny_spec(gamma=0.0, **changes)
        model = {name: p[0] for name, p in untrained(**changes).named_parameters()} | (weights or {})
        metrics = {"test": 1.0, "symmetric": 0.12345, "inferential": 0.5}
        told = {"step": [10, 20], "loss": [2.0, None]} | {name: [0.12345, None] for name in METRICS} | (history or {})
        store = Store(tmp_path / "store")
        store.put(RunResult(spec, metrics, told, 20, "unfitted", None, 1.0, model), {"device": "cpu"}, keep)
        run = store.get(spec)
        assert run is not None
        return run

    return make


# ---------------------------------------------------------------- cells and which runs


def test_cells_by_hand() -> None:
    """Over all seeds and rates of a γ and depth; sorted by depth, then γ."""
    shares = [(0, 1e-3, 0.2), (0, 2e-3, 0.4), (1, 1e-3, 0.9)]
    runs = [make_run(gamma=0.8, seed=s, rate=r, symmetric=v, inferential=1 - v, test=1.0) for s, r, v in shares]
    runs += [make_run(gamma=0.5, symmetric=1 / 3), make_run(gamma=0.3, depth=3)]
    found = cells(runs, METRICS)
    assert [(c["depth"], c["gamma"], c["runs"]) for c in found] == [(2, 0.5, 1), (2, 0.8, 3), (3, 0.3, 1)]
    assert found[0] == {"gamma": 0.5, "depth": 2, "runs": 1, "seeds": 1, "rates": 1} | {
        "symmetric": [0.333333, None],
        "inferential": [0, None],
        "test": [1.0, None],
    }
    # mean 1.5 / 3; squares 0.09 + 0.01 + 0.16 over 2 runs: the root of 0.13 is 0.3606
    assert found[1] == {"gamma": 0.8, "depth": 2, "runs": 3, "seeds": 2, "rates": 2} | {
        "symmetric": [0.5, 0.360555],
        "inferential": [0.5, 0.360555],
        "test": [1.0, 0.0],
    }


def test_shown_is_the_run_with_weights_or_at_the_middle_rate(stored: Callable[..., StoredRun]) -> None:
    rates = (3e-3, 1e-3, 2e-3)
    bare = [make_run(gamma=g, seed=s, rate=r) for g in (0.8, 0.5) for s in (1, 0) for r in rates]
    assert [(r.spec.gamma, r.spec.seed, r.spec.rate) for r in shown(bare)] == [(g, s, 2e-3) for g in (0.5, 0.8) for s in (0, 1)]
    kept = stored(rate=9e-3)
    beside = [replace(make_run(rate=r), spec=replace(kept.spec, rate=r)) for r in rates]
    assert [run.key for run in shown([*beside, kept])] == [kept.key]


# ---------------------------------------------------------------- maps


@given(st.integers(0, 10**6), st.integers(3, 12), st.integers(2, 6))
def test_maps_keep_what_principal_components_keep(seed: int, n: int, width: int) -> None:
    """Scores have the two largest variances of the covariance and no correlation, rise, and do not care where the origin is."""
    vectors = np.random.default_rng(seed).normal(size=(n, width))
    points, explained = principal_map(vectors)
    variances = np.linalg.eigvalsh(np.cov(vectors.T))[::-1]
    np.testing.assert_allclose(np.cov(points.T), np.diag(variances[:2]), atol=1e-9)
    np.testing.assert_allclose(explained, 100 * variances[:2] / variances.sum())
    assert ((np.arange(n) - (n - 1) / 2) @ points >= -1e-9).all()
    for moved in (vectors + 3.0, -vectors):
        np.testing.assert_allclose(principal_map(moved)[0], points, atol=1e-9)


def test_equal_vectors_have_a_map_too() -> None:
    points, explained = principal_map(np.ones((4, 3)))
    assert explained == [0.0, 0.0]
    assert not points.any()


# ---------------------------------------------------------------- records


def test_a_record_without_weights(stored: Callable[..., StoredRun]) -> None:
    run = stored(keep=False, seed=3)
    found = record(run)
    assert not OF_WEIGHTS & set(found)
    assert found["final"] == {"symmetric": 0.123, "inferential": 0.5, "test": 1.0}
    assert found["history"] == {"step": [10, 20]} | {name: [0.123, None] for name in METRICS}
    assert [found[name] for name in ("gamma", "depth", "seed", "key", "steps")] == [0.0, 2, 3, run.key, 20]


def test_attention_is_that_of_the_flow(stored: Callable[..., StoredRun]) -> None:
    run = stored(depth=3)
    found, expected = record(run), flow(run, 99, 2)
    assert set(found) >= OF_WEIGHTS
    assert found["answer"] == expected.answer
    percent = np.zeros((3, 9, 9))
    for layer, rows in enumerate(found["attention"]):
        assert [len(row) for row in rows] == list(range(1, 10))
        for query, row in enumerate(rows):
            percent[layer, query, : query + 1] = row
    np.testing.assert_allclose(percent, 100 * expected.attention, atol=0.5 + 1e-4)
    path = np.zeros((3, 9, 9), dtype=bool)
    path[tuple(np.array(found["path"], dtype=int).reshape(-1, 3).T)] = True
    np.testing.assert_array_equal(path, essential(expected.attention, (2, 3, 4)))


def test_map_and_spectrum_are_those_of_the_numbers_in_the_input(stored: Callable[..., StoredRun]) -> None:
    """Numbers on a bent line; whatever else is embedded does not count."""
    number = torch.arange(80.0)
    token = torch.full((201, 16), 50.0)
    token[20:100] = 0
    token[20:100, 3], token[20:100, 5] = number, (number - 39.5).abs()
    found = record(stored(weights={"embedding.token": token}))
    first = [x for x, _ in found["map"]]
    assert first[0] == 0
    assert first[-1] == 255
    assert np.diff(first).min() > 0
    second = [y for _, y in found["map"]]
    assert (min(second), max(second)) == (65, 190)  # 127.5 ± 127.5 · 19.5 / 39.5: both axes at one scale
    # variances of 0 … 79 (80² − 1) / 12 and of its distance from the middle (40² − 1) / 12: 533.25 and 133.25
    assert found["explained"] == [80, 20]
    assert found["spectrum"] == pytest.approx([1.0, 0.2499] + [0.0] * 14, abs=1e-4)


def test_watched_eigenvalues_are_rows_of_the_history(stored: Callable[..., StoredRun]) -> None:
    history = {f"eigenvalue {i + 1}": [8.0 / 2**i, 1 / 3] for i in range(8)}
    found = record(stored(keep=False, history=history))
    assert found["history"]["eigenvalues"] == [[8, 4, 2, 1, 0.5, 0.25, 0.125, 0.0625], [0.333] * 8]


@pytest.mark.parametrize("what", ["history", "weights"])
def test_a_run_that_diverged_can_be_shown(stored: Callable[..., StoredRun], what: str) -> None:
    """The store has None where a number was not finite, and the weights as they were left."""
    history = {f"eigenvalue {i + 1}": [1.0, None] for i in range(8)}
    nan = {"embedding.token": torch.full((201, 16), torch.nan)}
    run = stored(keep=what == "weights", history=history if what == "history" else None, weights=nan)
    data = exploration([("all", [run])], "smoke")
    assert Explorer(data, "rm-1", gamma=0.5, depth=2).static()


def test_the_whole_is_plain_data_in_the_order_of_its_sets(stored: Callable[..., StoredRun]) -> None:
    runs = [stored(seed=seed, depth=depth) for seed in (1, 0) for depth in (3, 2)]
    data = exploration([("one", runs), ("other", runs[:1])], "smoke")
    assert json.loads(json.dumps(data)) == data
    assert [(s["name"], s["profile"], len(s["runs"]), len(s["cells"])) for s in data["series"]] == [
        ("one", "smoke", 4, 2),
        ("other", "smoke", 1, 1),
    ]
    assert data["question"]["tokens"][2:5] == [99, 4, 3]
    assert data["width"] == 16
    point = lambda found: tuple(found[name] for name in ("gamma", "depth", "seed"))
    places = [(preset["to"]["series"], point(preset["to"])) for preset in data["presets"]]
    assert {series for series, _ in places} == {0, 1}
    assert all(place in [point(run) for run in data["series"][series]["runs"]] for series, place in places)
    assert exploration([("one", runs[::-1]), ("other", runs[:1])], "smoke") == data
    made = Explorer(data, "rm-1", gamma=0.0, depth=2)
    assert f"run {runs[3].key}" in made.words()
    assert made.static() == Explorer(data, "rm-1", gamma=0.0, depth=2).static()


# ---------------------------------------------------------------- training a point


def test_a_point_is_trained_at_the_middle_rate_with_its_weights(tmp_path: Path) -> None:
    store, steps = Store(tmp_path), []
    train = trainer("smoke", store, PLAIN)
    run = train(0.65, 1, 5, on_step=lambda now: steps.append(now.step), stop=lambda: False)
    spec = run.spec
    assert (spec.gamma, spec.model.depth, spec.seed, spec.rate) == (0.65, 1, 5, GRIDS["smoke"].middle_rate)
    assert store.get(spec) == run
    assert run.has_weights
    assert steps == [10, 20, 30, 40]
    assert train(0.65, 1, 5, on_step=lambda now: pytest.fail("trained again"), stop=lambda: True) == run
    assert len(list(store.files(FAST.folder))) == 1


def test_train_one_leaves_a_checkpoint_and_goes_on(tmp_path: Path, tiny_spec: Callable[..., Any]) -> None:
    store, spec, seen = Store(tmp_path), tiny_spec(), []
    how = (store, FAST.make_study, PLAIN, never)
    with pytest.raises(Interrupted):
        train_one(spec, *how, lambda now: seen.append(now.step), stop=lambda: len(seen) == 1)
    assert store.get(spec) is None
    run = train_one(spec, *how, lambda now: seen.append(now.step), stop=lambda: False)
    assert seen == [10, 20]
    whole = train_one(spec, Store(tmp_path / "whole"), *how[1:], lambda now: None, stop=lambda: False)
    assert run.metrics == whole.metrics
    assert run.history == whole.history
    assert not run.has_weights


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ((float("nan"), 2, 0), "gamma must be a finite number, got nan"),
        ((99.0, 2, 0), "gamma must lie between -10 and 10, got 99.0"),
        ((0.5, 0, 0), "depth must be an integer of at least 1, got 0"),
        ((0.5, 2, -1), "seed must be an integer of at least 0, got -1"),
    ],
)
def test_a_point_that_no_model_can_have_is_refused(tmp_path: Path, point: tuple[float, int, int], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        trainer("smoke", Store(tmp_path), PLAIN)(*point, on_step=lambda now: None, stop=lambda: False)
    assert not list(tmp_path.iterdir())
