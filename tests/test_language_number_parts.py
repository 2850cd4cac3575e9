"""The ruler and the dial of numbers: against embeddings made of the two by hand, and on planted runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from planted import Planted, judged, planted_run

from lib.core.model.transformer import from_weights
from lib.core.record.spec import RunSpec
from lib.core.record.store import StoredRun
from lib.language import number_parts as parts
from lib.language.addition import metrics
from lib.language.addition.claims import CLAIMS, DIAL_SEEDS, SLOW_SEEDS
from lib.language.addition_task import MARKS
from lib.language.experiments import LARGE, SMALL, post_adding_specs
from lib.language.study import make_adding

N = np.arange(200)


def circle(period: float) -> np.ndarray:
    angle = 2 * np.pi * N / period
    return np.stack([np.cos(angle), np.sin(angle)], 1)


@pytest.mark.parametrize("period", [2.16, 3.23, 6.02, 18.5])
def test_a_line_and_a_circle_come_apart(period: float) -> None:
    line, nothing = (N[:, None] - N.mean()) / 50, np.zeros((200, 1))
    found = parts.parts_of(np.concatenate([line + 3, circle(period)], 1))
    assert found.period == pytest.approx(period, rel=0.01)
    ruler, dial = np.concatenate([line, nothing, nothing], 1), np.concatenate([nothing, circle(period)], 1)
    fast = dial if period < 16 else 0
    for name, true in ((parts.RULER, ruler), (parts.DIAL, dial), (parts.OTHER, 0), (parts.FAST, fast)):
        assert abs(found.cut[name] - true)[20:-20].mean() < 0.05, name  # at the ends a wave looks like a slope


def test_what_is_on_the_dial_twice_a_turn_is_cut_with_it() -> None:
    found = parts.parts_of(np.concatenate([2 * circle(7.5), circle(3.75)], 1))
    assert found.period == pytest.approx(7.5, rel=0.01)
    assert found.cut[parts.DIAL][:, 2:] == pytest.approx(circle(3.75), abs=0.1)


def test_errors_of_whole_turns_are_coherent() -> None:
    assert parts.coherence(np.array([0, 6, -12, 18, 0]), 6.0) == pytest.approx(1)
    assert parts.coherence(np.array([3, 6, -3, 12]), 6.0) == pytest.approx(0, abs=1e-12)
    assert parts.coherence(np.array([1, 2, 3, 4]), 4.0) == pytest.approx(0, abs=1e-12)
    assert parts.coherence(np.array([8, -8, 15]), 7.5) > 0.9  # no whole number, so near
    assert parts.coherence(np.array([3, 3, -3]), 6.0) == pytest.approx(-1)  # one common error, but half a turn
    assert parts.coherence(np.array([1, 1, 0]), 4.0) == pytest.approx(0, abs=1e-12)
    assert np.isnan(parts.coherence(np.zeros(4), 6.0))


def test_answers_are_those_of_the_model_without_the_part() -> None:
    """Where no number differs from another there is nothing to cut, and one answer to all; a number that differs is cut."""
    (spec,) = post_adding_specs("smoke")[LARGE]
    weights, study = planted_run(spec, {}).weights(), make_adding(spec)
    inputs = slice(len(MARKS), len(MARKS) + study.task.numbers)
    flat = weights["embedding.token"].clone()
    flat[inputs] = flat[inputs].mean(0)
    weights |= {"embedding.token": flat}
    answered = lambda model: study.snapshot(model, spec.train.steps)["off"][0]
    off = answered(from_weights(spec.model, weights))
    run = planted_run(spec, {}, weights=weights, kept=lambda run: {run.steps: {"off": off}})
    found = parts.cuts(run)
    assert all((found[cut] == parts.off(run)).all() for cut in (parts.RULER, parts.DIAL, parts.OTHER, parts.FAST))
    assert len(set(parts.off(run) + study.task.test.sum(1).numpy())) == 1
    assert parts.right(run) == (off == 0).float().mean() == parts.right(run, parts.FAST)

    line = flat.clone()
    line[inputs] += torch.linspace(-1, 1, study.task.numbers)[:, None]
    tilted = planted_run(spec, {}, weights=weights | {"embedding.token": line})
    assert (parts.cuts(tilted)[parts.RULER] == off.numpy()).all()
    own = answered(from_weights(spec.model, tilted.weights())).numpy()
    assert (parts.cuts(tilted)[parts.FAST] == own).all()
    assert (own != off.numpy()).any()


TURNS, STEPS, NO = np.array([6, -12, 18, 0]), np.array([1, 3, 5, 0]), np.zeros(4)


def new_runs(off: Callable[[RunSpec], np.ndarray] = lambda spec: NO) -> list[Planted]:
    """All new seeds of both arms, by how much each is off in a square of four pairs."""
    return [
        planted_run(
            spec,
            {"test": float((off(spec) == 0).mean()), "train": 1.0},
            kept=lambda run: {run.steps: {"off": torch.from_numpy(off(run.spec))}},
        )
        for specs in post_adding_specs("laptop").values()
        for spec in specs
    ]


def by_arm(runs: Sequence[Planted]) -> dict[tuple[float, float], list[StoredRun]]:
    return {arm: [run for run in runs if (run.spec.gamma, run.spec.decay) == arm] for arm in (LARGE, SMALL)}


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
    named = {parts.RULER: ruler, parts.DIAL: dial, parts.OTHER: other, "period": np.array([6.0])}
    monkeypatch.setattr(parts, "cuts", lambda run: named)
    runs = new_runs()
    assert judged(CLAIMS, "adding-parts", runs)["status"] == status
    # those that were seen before do not count
    odd = lambda run: named if run.spec.seed in DIAL_SEEDS else named | {parts.RULER: STEPS}
    monkeypatch.setattr(parts, "cuts", odd)
    assert judged(CLAIMS, "adding-parts", runs)["status"] == status
    monkeypatch.setattr(parts, "cuts", lambda run: named | {parts.RULER: STEPS} if run.spec.seed == DIAL_SEEDS[0] else named)
    assert judged(CLAIMS, "adding-parts", runs)["status"] == ("partly" if status == "reproduced" else status)


HALF, MOST = np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])


@pytest.mark.parametrize(
    ("small", "large", "unlearned", "status"),
    [
        (NO, HALF, (), "reproduced"),
        (NO, HALF, (7,), "reproduced"),  # who does not add is not asked for his numbers
        (NO, HALF, (7, 8), "too small to tell"),
        (MOST, HALF, (), "partly"),  # more than large ones, but not all
        (NO, NO, (), "partly"),
        (MOST, MOST, (), "no clear effect"),
        (HALF, NO, (), "opposite"),
    ],
)
def test_small_starts_have_to_add_by_the_slow_part_and_large_ones_not(
    small: np.ndarray, large: np.ndarray, unlearned: Sequence[int], status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = lambda run: small if run.spec.gamma == SMALL[0] else large
    seen = lambda run: NO if run.spec.gamma == LARGE[0] else HALF  # what was seen before does not count
    monkeypatch.setattr(parts, "cuts", lambda run: {parts.FAST: (slow if run.spec.seed in SLOW_SEEDS else seen)(run)})
    runs = new_runs(lambda spec: HALF if spec.seed in unlearned else NO)
    assert judged(CLAIMS, "adding-slow", runs)["status"] == status


@pytest.mark.parametrize("name", ["adding-parts", "adding-slow"])
def test_a_profile_without_such_runs_is_not_judged(name: str) -> None:
    runs = [planted_run(spec, {"test": 1.0, "train": 1.0}) for (spec,) in post_adding_specs("smoke").values()]
    assert judged(CLAIMS, name, runs, "smoke")["status"] == "not run"


def test_facts_on_cuts_are_of_each_arm_and_of_the_runs_that_were_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    # one run of the large arm does not add, and misses by whole turns
    off = lambda spec: TURNS if spec.seed == 6 and spec.gamma == LARGE[0] else NO
    cut = lambda run: {parts.RULER: TURNS, parts.DIAL: STEPS, parts.OTHER: off(run.spec), parts.FAST: off(run.spec)}
    monkeypatch.setattr(parts, "cuts", lambda run: cut(run) | {"period": np.array([6.0 + 0.1 * (run.spec.seed == 3)])})
    monkeypatch.setattr(metrics, "kept", list)
    new = by_arm(new_runs(off))
    shown = {name: fact.text for name, fact in metrics.new_facts(new).items()}
    assert (shown["new-large"], shown["new-small"]) == ("seven of eight", "eight of eight")
    assert (shown["dials"], shown["new-large-ruler"], shown["other-cut"]) == (
        "6.0 to 6.1",
        "25% to 25%",
        "0% to 0%",
    )
    assert (shown["asked-ruler"], shown["asked-dial"]) == ("1.00 to 1.00", "0.00 to 0.00")
    assert (shown["failing-turns"], shown["failing-range"]) == ("1.00 to 1.00", "25% to 25%")
    assert (shown["slow-small"], shown["slow-large"], shown["slow-asked"]) == ("100% to 100%", "25% to 100%", "six")
    assert float(shown["slow-ranks"]) == 0.5  # one seed of the large arm below six that are all alike
    assert (shown["small-wave"], shown["small-turns"], shown["new-small-ruler"]) == ("6", "0.98 to 1.00", "25% to 25%")
    assert {fact.text for fact in metrics.new_facts({}).values()} == {"–"}
