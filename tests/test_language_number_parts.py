"""The ruler and the dial of numbers: against embeddings made of the two by hand, and on planted runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planted import judged, planted_run

from lib.core.model.transformer import from_weights
from lib.language import number_parts as parts
from lib.language.addition import metrics
from lib.language.addition.claims import CLAIMS, DIAL_SEEDS
from lib.language.addition_task import MARKS
from lib.language.experiments import LARGE, post_adding_specs
from lib.language.study import make_adding

N = np.arange(200)


def circle(period: float) -> np.ndarray:
    angle = 2 * np.pi * N / period
    return np.stack([np.cos(angle), np.sin(angle)], 1)


@pytest.mark.parametrize("period", [2.16, 3.23, 6.02, 15.5])
def test_a_line_and_a_circle_come_apart(period: float) -> None:
    line, nothing = (N[:, None] - N.mean()) / 50, np.zeros((200, 1))
    found = parts.parts_of(np.concatenate([line + 3, circle(period)], 1))
    assert found.period == pytest.approx(period, rel=0.01)
    ruler, dial = np.concatenate([line, nothing, nothing], 1), np.concatenate([nothing, circle(period)], 1)
    for name, true in ((parts.RULER, ruler), (parts.DIAL, dial), (parts.OTHER, 0)):
        assert abs(found.cut[name] - true)[20:-20].mean() < 0.05, name  # at the ends a wave looks like a slope
    assert not found.cut[parts.NOTHING].any()


def test_what_is_on_the_dial_twice_a_turn_is_cut_with_it() -> None:
    found = parts.parts_of(np.concatenate([2 * circle(7.5), circle(3.75)], 1))
    assert found.period == pytest.approx(7.5, rel=0.01)
    assert found.cut[parts.DIAL][:, 2:] == pytest.approx(circle(3.75), abs=0.1)


def test_errors_of_whole_turns_are_coherent() -> None:
    assert parts.coherence(np.array([0, 6, -12, 18, 0]), 6.0) == pytest.approx(1)
    assert parts.coherence(np.array([3, 6, -3, 12]), 6.0) == pytest.approx(0, abs=1e-12)
    assert parts.coherence(np.array([1, 2, 3, 4]), 4.0) == pytest.approx(0, abs=1e-12)
    assert parts.coherence(np.array([8, -8, 15]), 7.5) > 0.9  # no whole number, so near
    assert np.isnan(parts.coherence(np.zeros(4), 6.0))


def test_answers_are_those_of_the_model_without_the_part() -> None:
    """With nothing cut they are the model's own; where no number differs from another there is one answer to all."""
    (spec,) = post_adding_specs("smoke")[LARGE]
    run = planted_run(spec, {})
    weights, study = run.weights(), make_adding(spec)
    off = study.snapshot(from_weights(spec.model, weights), run.steps)["off"][0].numpy()
    found = parts.cuts(run)
    assert (found[parts.NOTHING] == off).all()
    token = weights["embedding.token"].clone()
    inputs = slice(len(MARKS), len(MARKS) + study.task.numbers)
    token[inputs] = token[inputs].mean(0)
    flat = planted_run(spec, {}, weights=weights | {"embedding.token": token})
    answers = parts.cuts(flat)[parts.RULER] + study.task.test.sum(1).numpy()
    assert len(set(answers)) == 1
    assert parts.right(flat, parts.NOTHING) == (parts.cuts(flat)[parts.NOTHING] == 0).mean()


TURNS, STEPS, NO = np.array([6, -12, 18, 0]), np.array([1, 3, 5, 0]), np.zeros(4)


@pytest.mark.parametrize(
    ("ruler", "dial", "other", "status"),
    [
        (TURNS, STEPS, NO, "reproduced"),
        (STEPS, TURNS, NO, "partly"),  # each loses right sums, but the other way round
        (TURNS, TURNS, NO, "partly"),
        (TURNS, STEPS, STEPS, "partly"),  # any other frequencies cost as much
        (STEPS, TURNS, TURNS, "no clear effect"),
    ],
)
def test_cuts_are_judged_in_every_run(
    ruler: np.ndarray, dial: np.ndarray, other: np.ndarray, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {parts.NOTHING: NO, parts.RULER: ruler, parts.DIAL: dial, parts.OTHER: other, "period": np.array([6.0])}
    monkeypatch.setattr(parts, "cuts", lambda run: named)
    runs = [planted_run(spec, {"test": 1.0, "train": 1.0}) for specs in post_adding_specs("laptop").values() for spec in specs]
    assert judged(CLAIMS, "adding-parts", runs)["status"] == status
    # those that were seen before do not count
    odd = lambda run: named if run.spec.seed in DIAL_SEEDS else named | {parts.RULER: STEPS}
    monkeypatch.setattr(parts, "cuts", odd)
    assert judged(CLAIMS, "adding-parts", runs)["status"] == status
    monkeypatch.setattr(parts, "cuts", lambda run: named | {parts.RULER: STEPS} if run.spec.seed == DIAL_SEEDS[0] else named)
    assert judged(CLAIMS, "adding-parts", runs)["status"] == ("partly" if status == "reproduced" else status)


def test_a_profile_without_such_runs_is_not_judged() -> None:
    (spec,) = post_adding_specs("smoke")[LARGE]
    assert judged(CLAIMS, "adding-parts", [planted_run(replace(spec, seed=3), {"test": 1.0, "train": 1.0})], "smoke")[
        "status"
    ] == ("not run")


def test_facts_on_cuts_are_of_each_arm_and_of_the_runs_that_were_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    off = lambda run: TURNS if run.spec.seed == 6 else NO  # one run of the large arm does not add, and misses by whole turns
    cut = lambda run: {parts.NOTHING: off(run), parts.RULER: TURNS, parts.DIAL: STEPS, parts.OTHER: off(run)}
    monkeypatch.setattr(parts, "cuts", lambda run: cut(run) | {"period": np.array([6.0 + 0.1 * (run.spec.seed == 3)])})
    monkeypatch.setattr(metrics, "kept", list)
    ends = lambda spec: {"test": 0.25 if spec.seed == 6 and spec.gamma == LARGE[0] else 1.0, "train": 1.0}
    new = {arm: [planted_run(spec, ends(spec)) for spec in specs] for arm, specs in post_adding_specs("laptop").items()}
    shown = {name: fact.text for name, fact in metrics.new_facts(new).items()}
    assert (shown["new-large"], shown["new-small"]) == ("seven of eight", "two of two")
    assert (shown["dials"], shown["new-large-ruler"], shown["other-cut"]) == (
        "6.0 to 6.1",
        "25% to 25%",
        "0% to 0%",
    )
    assert (shown["asked-ruler"], shown["asked-dial"]) == ("1.00 to 1.00", "0.00 to 0.00")
    assert (shown["failing-turns"], shown["failing-range"]) == ("1.00 to 1.00", "25% to 25%")
    assert (shown["small-wave"], shown["small-turns"], shown["new-small-ruler"]) == ("6", "0.98 to 1.00", "25% to 25%")
    assert {fact.text for fact in metrics.new_facts({}).values()} == {"–"}
