"""Kept measures: computed once for what they came from, and again for anything else."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import make_tiny_spec

from lib.chain_of_thought.chain import metrics as chain
from lib.chain_of_thought.prompts import Trial
from lib.composition.information_flow import metrics as information_flow
from lib.composition.vectors import metrics as vectors
from lib.core.read.disk_cache import FOLDER, disk_cached, read
from lib.core.record.result import RunResult
from lib.core.record.store import Store, StoredRun
from lib.in_context.baselines import metrics as baselines
from lib.in_context.runs import main_runs

calls: list[object] = []


@pytest.fixture
def run(tmp_path: Path) -> StoredRun:
    calls.clear()
    store, spec = Store(tmp_path), make_tiny_spec()
    history = {"step": [1], "loss": [1.0]}
    store.put(RunResult(spec, {"test": 0.5}, history, 7, "fitted", None, 0.1, {}), {"device": "cpu"})
    return store.get(spec)


@dataclass(frozen=True)
class Question:
    length: int


def measure(version: int):  # noqa: ANN201 (a decorated function)
    @disk_cached(version)
    def answered(run: StoredRun, question: Question, weights: np.ndarray) -> dict[str, np.ndarray]:
        calls.append(question)
        return {"squares": weights**2, "steps": np.array([run.steps, question.length])}

    return answered


WEIGHTS = np.arange(3.0)


def kept(run: StoredRun) -> list[Path]:
    return sorted((run.path.parents[1] / FOLDER).glob("*/*"))


def test_a_measure_is_computed_once_even_by_another_process(run: StoredRun) -> None:
    first = measure(1)(run, Question(4), WEIGHTS)
    again = measure(1)(run, Question(4), WEIGHTS)  # a new function remembers nothing: this is the file
    assert len(calls) == len(kept(run)) == 1
    assert {name: v.tolist() for name, v in again.items()} == {name: v.tolist() for name, v in first.items()}
    assert again["squares"].tolist() == [0.0, 1.0, 4.0]


def test_other_questions_versions_and_results_are_computed_apart(run: StoredRun) -> None:
    measure(1)(run, Question(4), WEIGHTS)
    measure(1)(run, Question(5), WEIGHTS)
    measure(2)(run, Question(4), WEIGHTS)
    measure(1)(run, Question(4), WEIGHTS + 1)
    run.path.write_bytes(run.path.read_bytes() + b"\n")
    measure(1)(run, Question(4), WEIGHTS)
    assert len(calls) == len(kept(run)) == 5


def test_what_is_deleted_or_damaged_is_computed_again(run: StoredRun) -> None:
    measure(1)(run, Question(4), WEIGHTS)
    (path,) = kept(run)
    whole = path.read_bytes()
    for broken in (b"", whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), b"not ours"):
        path.write_bytes(broken)
        assert measure(1)(run, Question(4), WEIGHTS)["squares"].tolist() == [0.0, 1.0, 4.0]
        assert path.read_bytes() == whole
    path.unlink()
    measure(1)(run, Question(4), WEIGHTS)
    assert len(calls) == 6


def test_a_number_stays_a_number_and_an_array_an_array(run: StoredRun) -> None:
    number, array = (lambda run: 0.25), (lambda run: np.array([[1.0, 2.0]]))
    for measured in (number, array, lambda run: {"z": 0.5, "": 0.25, "a": 0.75}):
        for _ in range(2):
            found = disk_cached(1)(measured)(run)
            assert type(found) is type(measured(run))
            assert np.array_equal(found, measured(run)) or found == measured(run)
            assert list(found) == list(measured(run)) if isinstance(found, dict) else True  # order is kept, too
        for path in kept(run):
            path.unlink()


def test_a_run_of_no_store_is_measured_each_time(run: StoredRun) -> None:
    answered = measure(1)
    for _ in range(2):
        answered(replace(run, path=Path("nowhere.json")), Question(4), WEIGHTS)
    assert len(calls) == 2
    assert kept(run) == []


def test_a_place_that_cannot_be_written_costs_nothing_but_time(run: StoredRun) -> None:
    (run.path.parents[1] / FOLDER).write_text("a file in the folder's place")
    assert measure(1)(run, Question(4), WEIGHTS)["squares"].tolist() == [0.0, 1.0, 4.0]


def test_what_cannot_be_described_is_refused(run: StoredRun) -> None:
    with pytest.raises(TypeError, match="cannot depend on a set"):
        disk_cached(1)(lambda run, names: 0.0)(run, {"a"})


# ---------------------------------------------------------------- what the committed store keeps

STORE = Store(Path(__file__).parents[1] / "results")


def transformers() -> Iterator[StoredRun]:
    for name in ("composition-confirm", "composition-phase", "composition-paper-size", "composition-flip"):
        yield from map(STORE.read, STORE.files(name))


@pytest.mark.parametrize(
    "measured",
    [
        information_flow.drawn,
        information_flow.forgets_order,
        information_flow.knows_pair,
        information_flow.edge_costs,
        information_flow.group_costs,
        information_flow.patch_effects,
        vectors.plain_contrast,
        vectors.between,
        vectors.answered,
        vectors.shift,
        vectors.mended,
    ],
    ids=lambda measure: measure.__name__,
)
def test_kept_numbers_are_what_the_code_gives(measured: Any) -> None:
    """Else the measure has changed and its version has not. Maps of t-SNE are left out: another machine may turn them."""
    run = next(run for run in transformers() if measured.place(run).exists())
    same(read(measured.place(run)), measured.__wrapped__(run))


def test_kept_answers_to_prompts_are_what_the_code_gives() -> None:
    runs = main_runs(STORE, "laptop")
    asked: tuple[Any, ...] = [runs[0]], baselines.LINEAR, baselines.Test(baselines.ALPHAS[0], baselines.LENGTHS[0])
    same(read(baselines._wrong.place(*asked)), baselines._wrong.__wrapped__(*asked))
    run = chain.main_runs(STORE, "laptop")[0]
    s = chain.setting([run])
    asked = run, Trial(s.alphas[0], s.taus[0]), s.lengths, s.prompts
    same(read(chain._shares.place(*asked)), chain._shares.__wrapped__(*asked))


def same(found: Any, expected: Any) -> None:
    """To rounding: on another machine products add in another order."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name in expected:
            same(found[name], expected[name])
    else:
        assert np.asarray(found) == pytest.approx(np.asarray(expected), abs=0.01, nan_ok=True)


def test_what_is_kept_belongs_to_a_measure_that_there_is() -> None:
    """What no measure reads any more goes."""
    root = Path(__file__).parents[1] / "results" / FOLDER
    kept = {path.name for path in root.iterdir()}
    there = set()
    for name in kept:
        room, measure = name.replace(".numbers.", ".metrics.").rsplit(".", 1)
        if hasattr(getattr(importlib.import_module(f"lib.{room}"), measure, None), "place"):
            there.add(name)
    assert kept == there
