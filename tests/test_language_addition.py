"""The addition runs: what is measured, against hand-made answers, and what the chapter says of planted results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch
from planted import Planted, Shelf, judged, planted_run
from scipy.stats import ttest_1samp
from torch import Tensor

from lib.core.read.fact import ABSENT
from lib.core.record.store import StoredRun
from lib.language import arms, drawing
from lib.language.addition import figures, metrics
from lib.language.addition.claims import CLAIMS
from lib.language.addition_task import MARKS, Addition
from lib.language.experiments import (
    ADDING,
    ADDITION,
    CROSSED,
    HIGH_RATE,
    LARGE,
    LARGER,
    LOW_RATE,
    RANDOM,
    SMALL,
    SQUARE,
    adding_spec,
    adding_specs,
    gpt2_adding_specs,
    gpt2_rates_specs,
    low_rate_specs,
    post_adding_specs,
    post_high_specs,
)
from lib.language.study import Adding, make_adding

TASK = Addition(numbers=16, low=6, high=9)


class Adder:
    """Stands for an ensemble of two: one adds, the other is one too high wherever a pair lies inside the square's edge."""

    def logits(self, tokens: Tensor) -> Tensor:
        pair = tokens[:, :2] - len(MARKS)
        inside = (TASK.edge_distance(pair) >= 1).long()
        answers = torch.stack([pair.sum(1), pair.sum(1) + inside]) + len(MARKS)
        return torch.nn.functional.one_hot(answers, len(MARKS) + 32).float() * 50


def test_shares_are_of_held_out_and_of_trained_pairs() -> None:
    found = Adding(TASK).measure(Adder())
    assert found["test"].tolist() == pytest.approx([1, 12 / 16])
    assert found["rings"].tolist() == [[1, 1], [1, 0]]
    assert found["train"].tolist() == [1, 1]  # no pair of training lies in the square
    assert found["test loss"].tolist() == pytest.approx([0, 50 * 4 / 16], abs=1e-6)
    assert "rings" not in Adding(Addition(16, 6, 9, "random")).measure(Adder())


def test_what_is_kept_at_the_end_is_how_far_answers_are_off() -> None:
    spec = adding_spec("smoke", 0.5, 0.01, 0)
    study = make_adding(spec)
    model = spec.model.build(2)
    for p in model.parameters():
        torch.nn.init.normal_(p, 0, 0.3, generator=torch.Generator().manual_seed(0))
    assert study.snapshot(model, 10) == {}
    off = study.snapshot(model, 20)["off"]
    assert off.shape == (2, 16)
    tokens, target = study.test
    answers = model(tokens.expand(2, -1, -1)).argmax(-1)
    numbers_said = answers >= len(MARKS)
    assert torch.equal(off[numbers_said], (answers - target)[numbers_said].float())


def test_every_arm_has_every_seed_and_the_square_its_random_control() -> None:
    for profile in ADDING:
        found = adding_specs(profile)
        assert set(found) == {(SQUARE, *arm) for arm in (LARGER, LARGE, SMALL, *CROSSED)} | {(RANDOM, *LARGER)}
        every = [s for runs in (*found.values(), *low_rate_specs(profile).values()) for s in runs]
        assert every == ADDITION.specs(profile)
        assert {s.rate for s in every} == ({ADDING[profile].rate, LOW_RATE} if profile == "laptop" else {ADDING[profile].rate})
        for (split, gamma, decay), specs in found.items():
            assert {(s.gamma, s.decay, dict(s.task)["split"]) for s in specs} == {(gamma, decay, split)}
            assert [s.seed for s in specs] == list(ADDING[profile].seeds)


# ---------------------------------------------------------------- planted results


def hole(run: StoredRun) -> dict[int, dict[str, Tensor]]:
    """Wrong answers, three below the sum, fill the middle of the square."""
    side = metrics.task_of(run).high - metrics.task_of(run).low + 1
    wrong, half, middle = torch.zeros(side, side), int(side * (1 - run.metrics["test"]) ** 0.5 / 2), side // 2
    wrong[middle - half : middle + half, middle - half : middle + half] = -3
    return {run.steps: {"off": wrong.flatten()}}


GOOD = {(SQUARE, *SMALL): 0.99, (SQUARE, *LARGE): 0.4, (SQUARE, *LARGER): 0.3, (RANDOM, *LARGER): 1.0}


def planted(share: Mapping[metrics.Arm, float] = GOOD, train: float = 1.0, spread: float = 0.005) -> list[Planted]:
    runs = []
    new = {(SQUARE, *arm): specs for arm, specs in post_adding_specs("laptop").items()}
    for arm, specs in [*adding_specs("laptop").items(), *new.items()]:
        for spec in specs:
            value = share.get(arm, 0.5) - spread * (spec.seed % 3)
            rings = np.linspace(1, max(0, 2 * value - 1), 21).tolist()
            history = {"step": [500, 1000], "test": [0.1, value], "train": [0.5, train], "rings": [[0.0] * 21, rings]}
            runs.append(planted_run(spec, {"test": value, "train": train, "rings": rings}, history, kept=hole))
    return runs


def found(**how: Any) -> dict[metrics.Arm, list[StoredRun]]:
    return metrics.of_arms(Shelf(planted(**how)), "laptop")


@pytest.mark.parametrize(
    ("claim", "share", "train", "status"),
    [
        ("adding-square", {}, 1.0, "reproduced"),
        ("adding-square", {}, 0.98, "too small to tell"),
        ("adding-square", {(SQUARE, *SMALL): 0.8}, 1.0, "too small to tell"),  # nobody adds
        ("adding-square", {(SQUARE, *LARGE): 0.96}, 1.0, "partly"),  # both add, and the level holds
        ("adding-square", {(SQUARE, *LARGE): 0.99, (SQUARE, *SMALL): 0.4}, 1.0, "opposite"),
        ("adding-larger", {}, 1.0, "reproduced"),
        ("adding-larger", {(SQUARE, *LARGER): 0.99}, 1.0, "too small to tell"),
        ("adding-larger", {}, 0.98, "too small to tell"),
        ("adding-larger", {(SQUARE, *SMALL): 0.3, (SQUARE, *LARGER): 0.99}, 1.0, "opposite"),
        ("adding-random", {}, 1.0, "reproduced"),
        ("adding-random", {(RANDOM, *LARGER): 0.9}, 1.0, "no clear effect"),
        ("adding-random", {}, 0.98, "too small to tell"),
    ],
)
def test_claims_follow_the_runs_that_add(claim: str, share: dict[metrics.Arm, float], train: float, status: str) -> None:
    assert judged(CLAIMS, claim, planted(GOOD | share, train))["status"] == status


def in_gpt2_form(
    large: float, small: float, train: float = 0.995, decays: float = 0.5, starts_small: float = 0.5
) -> dict[tuple[float, float], list[Planted]]:
    """Four runs an arm, whose shares fall with the seed; those of training are given of all arms but the large one. `decays`,
    `starts_small`: arms that differ from the large one in that alone."""
    shares = {LARGE: large, SMALL: small, CROSSED[0]: decays, CROSSED[1]: starts_small}
    ends = lambda arm, seed: {"test": shares[arm] - 0.01 * seed, "train": 1.0 if arm == LARGE else train}
    return {
        arm: [planted_run(s, ends(arm, s.seed), kept=hole) for s in specs] for arm, specs in gpt2_adding_specs("laptop").items()
    }


@pytest.mark.parametrize(
    ("large", "small", "train", "status"),
    [
        (0.99, 0.05, 0.995, "reproduced"),
        (0.99, 0.05, 0.98, "partly"),  # who does not add has not learned its pairs either
        (0.97, 0.05, 0.995, "partly"),  # three of four against none: the small arm has learned, the rest is open
        (0.97, 0.05, 0.98, "too small to tell"),
        (0.05, 0.99, 0.98, "opposite"),
    ],
)
def test_the_reverse_in_gpt2s_form_is_judged_by_runs_that_add(large: float, small: float, train: float, status: str) -> None:
    assert judged(CLAIMS, "adding-gpt2", chain(*in_gpt2_form(large, small, train).values()))["status"] == status
    assert judged(CLAIMS, "adding-gpt2", [], "paper")["status"] == "not run"


@pytest.mark.parametrize(
    ("share", "train", "status"),
    [
        (0.3, 0.99, "reproduced"),
        (0.3, 0.98, "too small to tell"),  # who knows less of the square has not learned its pairs either
        (0.895, 0.99, "no clear effect"),  # two of its runs lie among the large arm's
        (0.95, 0.99, "opposite"),
    ],
)
@pytest.mark.parametrize("alone", ["start", "decay"])
def test_start_and_decay_are_judged_one_by_one_in_gpt2s_form(alone: str, share: float, train: float, status: str) -> None:
    changed = "starts_small" if alone == "start" else "decays"
    runs = in_gpt2_form(0.91, 0.05, train, **{changed: share})
    assert judged(CLAIMS, f"adding-gpt2-{alone}", chain(*runs.values()))["status"] == status
    assert judged(CLAIMS, f"adding-gpt2-{alone}", [], "paper")["status"] == "not run"


@pytest.mark.parametrize(
    ("small", "train", "status"),
    [
        ({}, 0.99, "reproduced"),
        ({}, 0.98, "too small to tell"),
        ({2e-4: 0.895}, 0.99, "partly"),  # at one of the rates two runs lie among the large arm's
        ({1e-3: 0.95, 2e-4: 0.95}, 0.99, "opposite"),
    ],
)
def test_every_other_rate_is_asked_in_gpt2s_form(small: Mapping[float, float], train: float, status: str) -> None:
    share = lambda rate, arm: 0.91 if arm == LARGE else small.get(rate, 0.3)
    runs = [
        planted_run(s, {"test": share(rate, tuple(arm)) - 0.01 * s.seed, "train": 0.5 if tuple(arm) == LARGE else train})
        for (rate, *arm), specs in gpt2_rates_specs("laptop").items()
        for s in specs
    ]
    assert judged(CLAIMS, "adding-gpt2-rates", runs)["status"] == status
    assert judged(CLAIMS, "adding-gpt2-rates", runs[1:])["status"] == "not run"
    assert judged(CLAIMS, "adding-gpt2-rates", [], "paper")["status"] == "not run"


@pytest.mark.parametrize(
    ("small", "large", "train", "status"),
    [
        (0.96, 0.5, 0.99, "reproduced"),
        (0.96, 0.5, 0.98, "too small to tell"),  # a large arm that has not learned its pairs says nothing
        (0.955, 0.97, 0.99, "partly"),  # adds, but has less
        (0.9, 0.5, 0.99, "partly"),
        (0.5, 0.9, 0.99, "opposite"),
    ],
)
def test_the_small_arm_is_asked_to_add_at_a_higher_rate(small: float, large: float, train: float, status: str) -> None:
    runs = [
        planted_run(s, {"test": (small if arm == SMALL else large) + 0.001 * s.seed, "train": train})
        for arm, specs in post_high_specs("laptop").items()
        for s in specs
    ]
    assert judged(CLAIMS, "adding-post-high", runs)["status"] == status
    assert judged(CLAIMS, "adding-post-high", runs[1:])["status"] == "not run"
    assert judged(CLAIMS, "adding-post-high", [], "paper")["status"] == "not run"


def test_what_is_told_of_other_rates() -> None:
    share = lambda s: (0.9 if s.gamma == LARGE[0] else 0.2) + 0.01 * s.seed
    history = lambda s: {"step": [1, 2, 3], "train": [0.1, 0.6, 1.0], "test": [0.9, share(s) / 2, share(s)]}
    of = lambda specs: {
        kind: [planted_run(s, {"test": share(s), "train": 1.0}, history(s)) for s in group] for kind, group in specs.items()
    }
    gpt2, post = of(gpt2_rates_specs("laptop")), of(post_high_specs("laptop"))
    told = {name: fact.text for name, fact in metrics.facts_on_rates({}, gpt2, post).items()}
    assert (told["rate-high-large"], told["rate-low-small"]) == ("0 of 4", "0 of 4")
    assert (told["rate-high-ranks"], told["post-high-ranks"]) == ("0.014", "1")  # 1 of 70, and all of them
    assert told["post-high-large"] == "2 of 4"  # .93 to .96
    assert (told["early"], told["early-runs"]) == ("1.00", "16")
    assert metrics.when_half_is_known(post[LARGE]) == pytest.approx([0.465, 0.47, 0.475, 0.48])
    never = planted_run(post_high_specs("laptop")[LARGE][0], {}, {"step": [1], "train": [0.4], "test": [0.3]})
    assert np.isnan(metrics.when_half_is_known([never])).all()
    assert {fact.text for fact in metrics.facts_on_rates({}, {}, {}).values()} == {ABSENT}
    shown = metrics.by_rate([*gpt2.values(), *metrics.of_papers(post)])
    assert list(shown) == [("GPT-2", 2e-4), ("GPT-2", 1e-3), ("post-norm", 2e-3)]
    assert shown["GPT-2", 1e-3]["small start"][0] == pytest.approx([0.2, 0.21, 0.22, 0.23])
    figure = figures.by_rate(shown)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["post-norm", "GPT-2"]


def test_runs_at_other_rates_differ_in_nothing_else() -> None:
    gpt2, post = gpt2_adding_specs("laptop"), post_adding_specs("laptop")
    asked = [(rate, specs, gpt2[arm[0], arm[1]]) for (rate, *arm), specs in gpt2_rates_specs("laptop").items()]
    asked += [(HIGH_RATE, specs, post[arm][:4]) for arm, specs in post_high_specs("laptop").items()]
    for rate, specs, usual in asked:
        assert len(specs) == 4
        for one, other in zip(specs, usual, strict=True):
            same = {"rate": other.rate, "experiment": other.experiment, "train": other.train, "task": other.task}
            assert replace(one, **same) == other
            assert dict(one.task) | {"keep": ()} == dict(other.task) | {"keep": ()}
            assert rate == one.rate != other.rate
            longer = one.train.steps / other.train.steps
            assert longer == (1.5 if one.rate == 2e-4 else 1)
            times = {name: round(longer * getattr(other.train, name)) for name in ("steps", "warmup", "eval_every")}
            assert one.train == replace(other.train, **times)


ROW = torch.arange(402.0)[:, None] * torch.tensor([1.0, 0.0])
DIAL = torch.stack([turn(torch.arange(402.0) * (4 / 9) * 2 * torch.pi) for turn in (torch.cos, torch.sin)], 1)
"""Embeddings of marks and numbers: on a line, and on a circle that nine steps turn round four times."""


def test_numbers_on_a_dial_are_alike_a_turn_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    row, dial = (planted_run(gpt2_adding_specs("laptop")[LARGE][0], {}, weights={"embedding.token": e}) for e in (ROW, DIAL))
    found = metrics.alike([row, dial])
    assert found.shape == (2, metrics.FAR)
    assert found[0].argmax() == 0
    assert found[1] == pytest.approx(np.cos(2 * np.pi * 4 / 9 * np.arange(1, 21)), abs=1e-2)  # 200 numbers: 22.2 turns of nine
    monkeypatch.setattr(metrics, "kept", list)
    assert metrics.most_alike([row, dial]) == [(row, 1), (dial, 9)]
    assert [metrics.neighbourly(metrics.most_alike(some)) for some in ([], [row], [row, dial])] == [(0, 0), (1, 1), (1, 2)]


@pytest.mark.parametrize(
    ("small", "large", "status"),
    [(ROW, DIAL, "reproduced"), (ROW, ROW, "partly"), (DIAL, DIAL, "partly"), (DIAL, ROW, "opposite")],
)
def test_which_numbers_look_alike_is_judged_by_runs_with_weights(
    small: Tensor, large: Tensor, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "kept", lambda runs: [run for run in runs if run.parts])
    weights = {CROSSED[0]: {"embedding.token": large}, CROSSED[1]: {"embedding.token": small}}
    specs = [(arm, spec) for arm, some in gpt2_adding_specs("laptop").items() for spec in some]
    runs = [planted_run(spec, {}, weights=weights.get(arm) if spec.seed > 1 else None) for arm, spec in specs]
    assert judged(CLAIMS, "adding-gpt2-numbers", runs)["status"] == status
    assert judged(CLAIMS, "adding-gpt2-numbers", [planted_run(run.spec, {}) for run in runs])["status"] == "not run"


def on_a_dial(step: int, off: int, share: float = 0.5, seed: int = 3) -> Planted:
    """A run of the large arm that takes numbers `step` apart for each other, and misses by `off`."""
    angle = torch.arange(402.0)[:, None] * 2 * torch.pi / step
    spec = replace(post_adding_specs("laptop")[LARGE][0], seed=seed)
    wrong = lambda run: {run.steps: {"off": hole(run)[run.steps]["off"] * off / -3}}
    numbers = torch.cat([angle.cos(), angle.sin(), torch.linspace(-0.1, 0.1, 402)[:, None]], 1)  # least alike far apart
    return planted_run(spec, {"test": share, "train": 1.0}, kept=wrong, weights={"embedding.token": numbers})


@pytest.mark.parametrize(
    ("errors", "status"),
    [
        ((4, -6, 9, 13), "reproduced"),
        ((5, 6, 8, -13), "reproduced"),  # one off is near enough
        ((4, 6, 9, 2), "reproduced"),  # three of four
        ((6, 4, 13, 9), "no clear effect"),
        ((4, 6, 1, 1), "partly"),  # who is off by one is not judged: two are left, and too few to be rare
    ],
)
def test_errors_are_judged_by_the_distance_at_which_numbers_look_alike(errors: tuple[int, ...], status: str) -> None:
    runs = {
        run.seed: on_a_dial(step, off, seed=run.seed)
        for run, step, off in zip(post_adding_specs("laptop")[LARGE], (4, 6, 9, 13), errors, strict=False)
    }
    every = [run for run in planted(GOOD | {(SQUARE, *LARGE): 0.99}) if run.spec.experiment == "language-addition-post"]
    every = [runs.get(run.spec.seed, run) if run.spec.gamma == LARGE[0] else run for run in every]
    assert judged(CLAIMS, "adding-misses", every)["status"] == status


def test_runs_that_know_nothing_or_all_of_the_square_miss_by_no_step() -> None:
    assert [metrics.misses_far(on_a_dial(4, off, share)) for off, share in ((4, 0.5), (4, 0.04), (4, 0.95), (1, 0.5))] == [
        True,
        False,
        False,
        False,
    ]
    assert metrics.alike_where_they_miss([on_a_dial(4, 4)]) == (0, 1.0, 1.0)  # one run alone has no other way
    assert metrics.usual_error(on_a_dial(4, -6, 0.9)) == (6, 144, 144)


def test_errors_are_told_by_their_size() -> None:
    runs = found(spread=0.0)
    (about, *_) = metrics.error_rows([runs[SQUARE, *LARGE], runs[SQUARE, *SMALL], runs[RANDOM, *LARGER]])
    assert about[:6] == ("post-norm", "0.001", "0.5", "0.01", "0", "40.0")
    assert about[6].startswith("-3 (")


def test_runs_that_add_are_counted() -> None:
    """Of six runs three of three and one of three: chance alone has that once in five. At best it could have that."""
    runs = [run for run in planted() if dict(run.spec.task)["split"] == SQUARE]
    small, large = (
        [replace(run, metrics=run.metrics | {"test": v}) for run, v in zip(runs, of, strict=False)]
        for of in ([1.0, 0.96, 0.99], [0.55, 0.65, 1.0])
    )
    assert metrics.adding_more(small, large) == pytest.approx((0.2, 1.0, 0.2))
    assert metrics.adding_more(large, small) == pytest.approx((1.0, 0.2, 0.2))
    assert metrics.adding_more(small, large[:2])[0] == pytest.approx(0.1)


def test_a_lead_is_that_of_the_differences_of_runs_of_one_seed() -> None:
    a, b = np.array([0.509, 0.51, 0.384]), np.array([0.431, 0.344, 0.237])
    due = ((a - b).mean(), *ttest_1samp(a - b, 0).confidence_interval())
    assert arms.paired(a, b, ((0, 1, 2), (0, 1, 2))) == pytest.approx(due)
    assert arms.paired(a[[2, 0, 1]], b, ((2, 0, 1), (0, 1, 2))) == pytest.approx(due)
    assert arms.paired(a, b, ((0, 0, 1), (0, 0, 1))) == arms.difference(a, b)  # a seed twice
    assert arms.interval(np.array([0.3])) == (0.3, 0.3, 0.3)
    runs = found()  # shares fall with the seed in both arms alike, so their differences do not vary
    small, large = runs[SQUARE, *SMALL], runs[SQUARE, *LARGE]
    assert arms.lead(small[::-1], large) == pytest.approx((0.59, 0.59, 0.59))
    gap, low, high = arms.lead(small, large[:2])  # not the same seeds: nothing to pair
    assert low < gap < high


def test_means_are_of_runs_that_have_learned() -> None:
    values, learned = np.array([[0.2, 0.8, 1.0], [0.5, 0.5, 0.1]]), np.array([[False, True, True], [False] * 3])
    assert arms.learned_mean(values, learned) == pytest.approx(np.array([0.9, np.nan]), nan_ok=True)
    runs = planted(spread=0.0)[:3]
    runs[1].metrics["train"] = 0.976
    assert arms.fitted(runs).tolist() == [True, False, True]
    assert arms.told(runs, np.array([1.0, 0.004, 1.0])) == "100.0; not learned: 0.4"
    assert arms.told(runs[1:2], np.array([0.004])) == "not learned: 0.4"
    (ax,) = drawing.arms({"γ = 0.5": (values[0], learned[0]), "γ = 0.7": (values[1], learned[1])}, "share").axes
    opened = [line.get_xdata().tolist() for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert opened == [[0.2], [0.5, 0.5, 0.1]]


def test_facts_and_tables_are_of_the_arms() -> None:
    runs = found(spread=0.0)
    gpt2 = in_gpt2_form(0.99, 0.05)
    low = found(share=GOOD | {(SQUARE, *LARGE): 0.957}, train=0.98)
    shown = {name: fact.text for name, fact in metrics.facts(runs, low, gpt2, {}).items()}
    assert (shown["small"], shown["large"], shown["larger"]) == ("3 of 3", "0 of 3", "0 of 3")
    assert (shown["low-small"], shown["low-large"], shown["low-unlearned"]) == ("3 of 3", "2 of 3", "3 of 3")
    assert (shown["large-range"], shown["edge"], shown["middle"]) == ("40% to 40%", "100%", "0%")
    assert (shown["gpt2-large"], shown["gpt2-small"], shown["gpt2-starts-ranks"]) == ("4 of 4", "0 of 4", "0.014")
    assert (shown["gpt2-large-range"], shown["gpt2-starts-train"]) == ("96.0% to 99.0%", "99.5% to 99.5%")
    assert (shown["large-dial-misses"], shown["gpt2-decays-alike"]) == ("–", "–")  # no weights
    alone = metrics.facts(runs, {}, {}, {})
    assert {alone[name].text for name in ("low-unlearned", "gpt2-small", "gpt2-fisher", "gpt2-starts-ranks")} == {"–"}
    assert metrics.arm_rows(found())[1] == ("square", "0.5", "0.01", "100.0", "39.5 ± 0.5")
    reported = metrics.setting_rows({"trial": [[]], "reported": found().values()})
    assert reported == [("post-norm", "0.001", "reported, seeds 0, 1, 2", "100.0", "39.5 ± 0.5", "100.0", "98.5 ± 0.5")]


def test_examples_are_right_and_wrong_sums_of_the_square() -> None:
    shown = metrics.examples(found()[SQUARE, *LARGE][0])
    assert all(a + b == answer for a, b, answer in shown["right"])
    assert all(a + b - 3 == answer for a, b, answer in shown["wrong"])
    assert len(shown["right"]) == len(shown["wrong"]) == 3
    assert metrics.examples(found(share={(SQUARE, *LARGE): 1.0}, spread=0.0)[SQUARE, *LARGE][0])["wrong"] == []


def test_dials_walk_into_the_square() -> None:
    data = metrics.dial_data(found())
    decay, gamma, distance, step = (dial["values"] for dial in data["dials"])
    assert (decay, gamma) == ([0.01, 0.1], [0.5, 0.7])  # the larger start and the random control stay out
    assert (distance, step, data["x"]) == (list(range(21)), [500, 1000], "distance")
    (right,) = (series["values"] for series in data["series"])
    assert right[1][1][0] == [[0, 0, 0], [1, 1, 1]]
    assert right[0][0][20][1][1:] == [0, 0]  # 2 × .4 − 1 is below 0
    mean, low, high = right[1][1][20][1]
    assert (low, high) == pytest.approx((2 * (0.99 - 0.005 * 2) - 1, 2 * 0.99 - 1))
    assert mean == pytest.approx((low + high) / 2)
