"""The played runs: what is kept of every step is a run's own, can be known on planted models, and reaches the first page."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from conftest import make_tiny_spec
from torch import Tensor

from lib.book.explorer import Explorer
from lib.composition import trajectories
from lib.composition.exploration import HERO, METRICS, clearest, exploration, hero, moments, record
from lib.composition.information_flow.metrics import essential, flow
from lib.composition.task import HELD_OUT, N_PLACES
from lib.composition.trajectories import ASKED, GAMMAS, KEY, PLACE, PLAYED, Played, make_played, played_specs
from lib.composition.variations import GPT2, gpt2_specs
from lib.core.model.init import apply_gamma_stacked
from lib.core.model.transformer import Transformer
from lib.core.read import web_export
from lib.core.read.measures import principal_map
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store, StoredRun
from lib.core.train.loop import train
from lib.core.train.plan import Options

STUDY = Played()
PARTS = {"answered", "answer", "attention", "map", "explained", "spectrum"}
SHAPES = {"answered": (2,), "answer": (), "attention": (2, 9, 9), "map": (80, 2), "explained": (2,), "spectrum": (16,)}


def models(*seeds: int, **changes: Any) -> Transformer:
    """Untrained runs side by side; γ = 0, so that their answers differ."""
    model = Transformer(make_tiny_spec(**changes).model, len(seeds))
    apply_gamma_stacked(model, [0.0] * len(seeds), seeds)
    return model.eval().requires_grad_(False)


# ---------------------------------------------------------------- what is asked


def test_the_question_is_asked_at_every_place_among_other_numbers() -> None:
    tokens = STUDY.many
    assert tokens.shape == (ASKED * N_PLACES, 9)
    asked = dict.fromkeys(range(N_PLACES), 0)
    for row in tokens.tolist():
        (place,) = [i for i in range(N_PLACES) if row[i : i + 3] == [KEY, *HELD_OUT]]
        asked[place] += 1
        assert all(20 <= token <= 99 for i, token in enumerate(row) if not place <= i < place + 3)
    assert set(asked.values()) == {ASKED}
    assert len({tuple(row) for row in tokens.tolist()}) == len(tokens)
    assert STUDY.one[0, PLACE : PLACE + 3].tolist() == [KEY, *HELD_OUT]
    assert STUDY.one[0].tolist() not in tokens.tolist()
    assert torch.equal(Played().many, tokens)  # the same of every run


def test_every_run_is_asked_the_same_whatever_its_own_split() -> None:
    spec = make_tiny_spec(task=(("modulus", 9),))
    assert torch.equal(make_played(spec).many, STUDY.many)
    assert make_played(spec).task.modulus == 9


# ---------------------------------------------------------------- snapshots


def test_what_is_kept_of_a_run_in_company_is_what_it_gives_alone() -> None:
    together = STUDY.snapshot(models(3, 5, 4), 10)
    assert set(together) == PARTS
    for place, seed in enumerate((3, 5, 4)):
        alone = STUDY.snapshot(models(seed), 10)
        for name, array in together.items():
            assert (array.shape[0], array.dtype) == (3, torch.float32), name
            assert tuple(array.shape[1:]) == SHAPES[name], name
            atol = {"map": 1e-3, "explained": 1e-3}.get(name, 1e-5)
            torch.testing.assert_close(array[place], alone[name][0], rtol=1e-4, atol=atol, msg=lambda m, n=name: f"{n}: {m}")
    assert not torch.allclose(together["map"][0], together["map"][1])
    torch.testing.assert_close(together["attention"].sum(-1), torch.ones(3, 2, 9))


class Planted:
    """Models that are known: run 0 answers key − 6 where the key stands at the first three places, key − 10 at the fourth, and
    else the key itself; run 1 always key − 10. Layer 1 looks at the token itself, layer 2 at the first; the second head
    spreads over all."""

    def __init__(self) -> None:
        self.n_runs, self.spec = 2, SimpleNamespace(depth=2)
        token = torch.zeros(2, 201, 4)
        number = torch.arange(80.0)
        token[:, 20:100, 1] = number - 39.5
        token[1, 20:100, 3] = 2 * (number - 39.5).abs()
        token[:, :20] = 77.0  # what is no number does not count
        self.embedding = SimpleNamespace(token=token)

    def __call__(self, tokens: Tensor, activations: dict[str, Tensor] | None = None) -> Tensor:
        assert tokens.shape[0] == 2
        n = tokens.shape[1]
        pair = (tokens[..., 1:-1] == HELD_OUT[0]) & (tokens[..., 2:] == HELD_OUT[1])
        place = pair.float().argmax(-1)
        key = tokens.gather(-1, place[..., None])[..., 0]
        answer = torch.where(place < 3, key - 6, torch.where(place == 3, key - 10, key))
        answer[1] = key[1] - 10
        if activations is not None:
            first = torch.zeros(9, 9)
            first[:, 0] = 1
            even = torch.full((9, 9), 1 / 9)
            for layer, own in ((1, torch.eye(9)), (2, first)):
                activations[f"attention.{layer}"] = torch.stack([own, even]).expand(2, n, 2, 9, 9)
        return torch.nn.functional.one_hot(answer, 201).float()


def test_what_is_kept_of_a_planted_model_by_hand() -> None:
    found = STUDY.snapshot(Planted(), 10)  # type: ignore[arg-type]
    torch.testing.assert_close(found["answered"], torch.tensor([[3 / 7, 1 / 7], [0.0, 1.0]]))
    assert found["answer"].tolist() == [KEY - 6, KEY - 10]
    even = 1 / 18
    torch.testing.assert_close(found["attention"][0, 0], torch.eye(9) / 2 + even)
    assert found["attention"][0, 1, 5].tolist() == pytest.approx([0.5 + even] + [even] * 8)
    assert torch.equal(found["attention"][0], found["attention"][1])
    # along the numbers alone; and with twice their distance from the middle: 533.25 and 4 · 133.25 of variance
    torch.testing.assert_close(found["explained"], torch.tensor([[100.0, 0.0], [50.0, 50.0]]), atol=0.05, rtol=0)
    torch.testing.assert_close(found["map"][0, :, 0], torch.arange(80.0) - 39.5, atol=1e-3, rtol=0)
    n = 80 / 79  # the covariance is over n − 1
    torch.testing.assert_close(found["spectrum"][0], torch.tensor([533.25 * n, 0, 0, 0]), atol=0.05, rtol=0)
    torch.testing.assert_close(found["spectrum"][1], torch.tensor([533.25 * n, 533 * n, 0, 0]), atol=0.05, rtol=0)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_run_that_is_not_finite_has_zeros_for_a_map_and_leaves_its_neighbours_alone(bad: float) -> None:
    model, fine = models(3, 5), STUDY.snapshot(models(3), 10)
    model.embedding.token[1, 25, 3] = bad
    found = STUDY.snapshot(model, 10)
    assert not found["map"][1].any()
    assert not found["explained"][1].any()
    for name in PARTS:
        torch.testing.assert_close(found[name][0], fine[name][0], rtol=1e-4, atol=1e-3)


# ---------------------------------------------------------------- the runs


def test_the_played_runs_are_those_of_chapter_8_at_more_gammas() -> None:
    specs = played_specs("laptop")
    assert sorted({spec.gamma for spec in specs}) == list(GAMMAS)
    pre = [spec for spec in gpt2_specs("laptop") if spec.model.norm == "pre"]
    as_other = lambda spec: dataclasses.replace(spec, experiment=GPT2.name, version=GPT2.version)
    assert {as_other(spec) for spec in specs} >= set(pre)
    assert {(spec.model, spec.train, spec.rate, spec.decay) for spec in specs} == {
        (spec.model, spec.train, spec.rate, spec.decay) for spec in pre
    }
    assert len(specs) == len(set(specs)) == len(GAMMAS) * len({spec.seed for spec in pre})
    assert {spec.experiment for spec in specs} == {PLAYED.name} == {trajectories.PLAYED_NAME}


@pytest.fixture(scope="module")
def smoke() -> dict[RunSpec, RunResult]:
    """The smoke profile, trained together."""
    specs = PLAYED.specs("smoke")
    options = Options(device="cpu", bf16=False, backend="eager", slots=2)
    return {result.spec: result for result in train(specs, PLAYED.make_study(specs[0]), options)}


@pytest.fixture
def runs(smoke: dict[RunSpec, RunResult], tmp_path: Path) -> list[StoredRun]:
    store = Store(tmp_path)
    for result in smoke.values():
        store.put(result, {"device": "cpu", "precision": "float32"}, keep_weights=True)
    found = [store.get(spec) for spec in smoke]
    return [run for run in found if run is not None]


def test_every_evaluated_step_is_kept_and_the_last_is_the_trained_model(runs: list[StoredRun]) -> None:
    assert runs
    for run in runs:
        kept = run.snapshots()
        assert list(kept) == run.history["step"]
        weights, last = run.weights(), kept[run.steps]
        points, _ = principal_map(weights["embedding.token"][20:100].numpy())
        np.testing.assert_allclose(last["map"], points, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(last["attention"], flow(run, KEY, PLACE).attention, atol=1e-3)  # kept in half precision
        assert int(last["answer"]) == flow(run, KEY, PLACE).answer


def test_moments_are_what_was_kept_as_the_explorer_draws_it(runs: list[StoredRun]) -> None:
    run = runs[0]
    found, kept = moments(run), run.snapshots()
    assert [m["step"] for m in found] == list(kept)
    for m, of in zip(found, kept.values(), strict=True):
        assert m["map"] == web_export.on_grid(of["map"].numpy())
        assert m["explained"] == [round(v) for v in of["explained"].tolist()]
        assert m["spectrum"] == pytest.approx(of["spectrum"].tolist(), rel=6e-3)
        assert m["answer"] == int(of["answer"])
        for layer, rows in zip(of["attention"], m["attention"], strict=True):
            assert [len(row) for row in rows] == list(range(1, 10))
            for i, row in enumerate(rows):
                np.testing.assert_allclose(row, 100 * layer[i, : i + 1], atol=0.51)
        assert m["path"] == np.argwhere(essential(of["attention"].numpy(), (2, 3, 4))).tolist()
    whole = record(run)
    assert whole["moments"] == found
    assert {name: whole[name] for name in found[-1]} == found[-1]


def test_another_question_than_the_kept_one_has_no_attention(runs: list[StoredRun]) -> None:
    """What was kept is of key 99 at place 2; of another question it would be wrong."""
    found = record(runs[0], key=50)
    assert "map" in found
    assert not {"attention", "path", "answer"} & (set(found) | set(found["moments"][0]))


def test_a_played_run_that_diverged_can_be_shown(smoke: dict[RunSpec, RunResult], tmp_path: Path) -> None:
    """Its weights are not finite at the end, and with them all that is kept of that step."""
    (result, *_), store = smoke.values(), Store(tmp_path)
    model = models(0)
    model.embedding.token[:] = float("nan")
    last = {name: array[0] for name, array in STUDY.snapshot(model, 0).items()}
    before = next(iter(result.snapshots.values()))
    history = {name: [values[0], None if name != "step" else values[-1]] for name, values in result.history.items()}
    steps = result.history["step"]
    bad = dataclasses.replace(result, snapshots={steps[0]: before, steps[-1]: last}, history=history, status="diverged")
    store.put(bad, {"device": "cpu", "precision": "float32"}, keep_weights=True)
    run = store.get(result.spec)
    assert run is not None
    data = exploration([("all", [run])], "smoke")
    json.dumps(data, allow_nan=False)
    assert Explorer(data, "rm-1", gamma=0.5, depth=2).static()


# ---------------------------------------------------------------- the first page


def test_the_first_page_has_shares_of_one_question_from_what_was_kept(runs: list[StoredRun]) -> None:
    data = hero(runs, "smoke")
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert [a["label"] for a in data["answers"]] == ["93", "89"]
    assert data["asked"] == f"Key 99, pair (4, 3), in {ASKED * 7} sequences of other numbers."
    assert data["question"]["tokens"][data["question"]["place"] :][:3] == [99, 4, 3]
    (series,) = data["series"]
    assert [run["key"] for run in series["runs"]] == [
        run.key for run in sorted(runs, key=lambda run: (run.spec.gamma, run.spec.seed))
    ]
    by_key = {run.key: run for run in runs}
    for run in series["runs"]:
        shares = [kept["answered"].tolist() for kept in by_key[run["key"]].snapshots().values()]
        for i, answer in enumerate(HERO):
            assert run["history"][answer["id"]] == pytest.approx([share[i] for share in shares], abs=6e-4)
            assert run["final"][answer["id"]] == pytest.approx(shares[-1][i], abs=6e-4)
            assert len(run["history"][answer["id"]]) == len(run["history"]["step"])
        assert "spectrum" not in run
        assert all({"map", "attention", "answer"} <= set(m) and "spectrum" not in m for m in run["moments"])
    for cell in series["cells"]:
        here = [run["final"] for run in series["runs"] if run["gamma"] == cell["gamma"]]
        assert cell["runs"] == len(here)
        for answer in HERO:
            values = [final[answer["id"]] for final in here]
            assert cell[answer["id"]][0] == pytest.approx(np.mean(values), abs=6e-4)
            assert (cell[answer["id"]][1] is None) == (len(here) == 1)
    assert data["presets"] == clearest(series["runs"])
    assert Explorer(data, "rm-landing", gamma=0.3, depth=2, panels=("answers", "map", "flow")).static()


# ---------------------------------------------------------------- presets


def a_point(gamma: float, symmetric: float, inferential: float, test: float = 1.0, seed: int = 0) -> dict[str, Any]:
    final = {"symmetric": symmetric, "inferential": inferential, "test": test}
    assert set(final) == set(METRICS)
    return {"gamma": gamma, "depth": 2, "seed": seed, "final": final}


def presets(*points: dict[str, Any]) -> dict[str, tuple[float, int]]:
    found = clearest(points)
    assert all(p["to"]["series"] == 0 and p["to"]["depth"] == 2 for p in found)
    return {p["label"]: (p["to"]["gamma"], p["to"]["seed"]) for p in found}


def test_the_points_to_begin_with() -> None:
    found = presets(
        a_point(0.3, 0.9, 0.1),
        a_point(0.3, 0.95, 0.0, seed=1),
        a_point(0.5, 0.5, 0.4),
        a_point(0.6, 0.02, 0.02),  # undecided, but it gives neither
        a_point(0.8, 0.1, 0.85),
        a_point(0.2, 1.0, 0.0, test=0.5),  # has not learned what it was taught
        a_point(1.1, 0.0, 1.0, test=0.1),
    )
    assert found == {"Clearest memorizer": (0.3, 1), "Clearest reasoner": (0.8, 0), "Least decided": (0.5, 0)}


def test_points_to_begin_with_where_nothing_was_learned_or_nothing_is_mixed() -> None:
    assert presets(a_point(0.3, 0.2, 0.1, test=0.0), a_point(0.8, 0.1, 0.3, test=0.0)) == {
        "Clearest memorizer": (0.3, 0),
        "Clearest reasoner": (0.8, 0),
    }
