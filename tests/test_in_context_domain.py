"""Chapter 13: claims on planted results, what its sentences say of them, the dials' data and what dials take."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from test_in_context_claims import Planted, judged, planted, random_weights

from lib.book.dials import Dials
from lib.core.read.claim import NOT_REPRODUCED, NOT_RUN, PARTLY, REPRODUCED
from lib.core.read.statistics import wilson
from lib.core.record.spec import SpecError
from lib.core.record.store import StoredRun
from lib.in_context import runs as stored
from lib.in_context.experiments import COVERS, GPT, SETTINGS, cover_specs, gpt_specs, one_layer, speed_specs, train_specs
from lib.in_context.out_of_domain import claims, figures, numbers, prose
from lib.in_context.out_of_domain.claims import CLAIMS
from lib.in_context.out_of_domain.numbers import CONTROL, CYCLE, Along, Steps
from lib.in_context.runs import Share
from lib.in_context.study import SUMS, grid
from lib.in_context.task import Task, no_match_floor

BY_ID = {claim.id: claim for claim in CLAIMS}
MAIN, GPTS = train_specs("laptop"), gpt_specs("laptop")
SMALL = [one_layer("icl-train", SETTINGS["smoke"], seed, {"length": 20}) for seed in (0, 1)]


def status(id: str, runs: Iterable[StoredRun] = ()) -> str:
    return judged(BY_ID[id], runs, "laptop")["status"]


# ---------------------------------------------------------------- numbers


def test_the_first_examples_of_a_prompt() -> None:
    drawn = stored.fresh(Task(length=6), 0, 5)
    cut = numbers.first(drawn, 2)
    assert torch.equal(cut.prompt, drawn.prompt[:, [0, 1, 6]])
    assert torch.equal(cut.answer, drawn.answer)
    assert torch.equal(cut.same, drawn.same[:, :2])
    assert torch.equal(numbers.first(drawn, 6).prompt, drawn.prompt)


def test_along_the_prompt_a_run_is_asked_as_anywhere_else() -> None:
    runs = [planted(spec, weights=random_weights(spec, spec.seed)) for spec in SMALL]
    found = numbers.along(runs, [3, 20], 60, alpha=0.6, sum=1.1)
    assert found.error.shape == found.loss.shape == found.margin.shape == found.attention.shape == (2, 2)
    for i, run in enumerate(runs):
        whole = stored.answers(run, 60, alpha=0.6, sum=1.1)
        assert found.error[i, 1] == pytest.approx(whole.error)
        assert found.loss[i, 1] == pytest.approx(whole.loss)
        assert found.attention[i, 1] == pytest.approx(whole.attention.mean())
        assert found.margin[i, 1] == pytest.approx((whole.margin * whole.answer).mean())
    assert [share.total for share in found.shares] == [60, 60]
    assert found.shares[0].each.tolist() == found.error[:, 0].tolist()


def speeds(what: str, taken: Callable[[float], int | None]) -> list[Planted]:
    """Runs whose held-out loss falls to .1 at so many steps."""
    found = []
    for value, specs in speed_specs("laptop")[what].items():
        for spec in specs:
            at = taken(value)
            loss = [0.9 if at is None or step < at else 0.1 for step in range(10, 601, 10)]
            found.append(planted(spec, {"unseen loss": loss, "seen loss": loss}))
    return found


def test_steps_by_hand() -> None:
    groups = {0.5: speeds("α", lambda a: 40)[:2], 1.0: speeds("α", lambda a: None)[:1]}
    found = numbers.steps(groups)
    assert found.x.tolist() == [0.5, 0.5, 1.0]
    assert found.steps.tolist() == [40, 40, 600]
    assert found.open.tolist() == [False, False, True]
    assert "1 of 3 never get there, and count at the limit" in found.words
    assert "without them" not in found.words  # one value is left: no exponent
    law = Steps(np.array([1.0, 1, 2, 2, 4]), np.array([80.0, 80, 40, 40, 600]), np.array([False] * 4 + [True]))
    assert law.closed.x.tolist() == [1, 1, 2, 2]
    assert law.closed.slope[0] == pytest.approx(-1)
    assert "without them -1.00" in law.words


def gpts(error: Callable[[str, float, int], float], total: float = 4000.0, variant: str = GPT) -> list[Planted]:
    """GPT-2 runs with these shares of errors by condition, α' and length."""
    wrong = torch.tensor([[error(name, alpha, n) for n in range(21)] for name, alpha in grid()])
    kept = {"errors": wrong, "counts": torch.full_like(wrong, total)}
    return [planted(spec, {}, {spec.train.steps: kept}, seen=1.0, unseen=0.9) for spec in GPTS[variant]]


def test_the_interval_of_gpt2_counts_each_prompt_once() -> None:
    found = numbers.gpt_errors(gpts(lambda *_: 0.25, 100.0), "in domain")[3]
    assert found.mean == 0.25
    assert found.interval == pytest.approx(wilson(25, 100))


# ---------------------------------------------------------------- claims


def test_claims_have_a_name_a_criterion_and_a_source() -> None:
    assert len(BY_ID) == len(CLAIMS) == 10
    assert {claim.paper for claim in CLAIMS} == {"li2024nonlinear", "ours"}
    assert all(claim.id.startswith("icl-") and claim.statement.endswith(".") for claim in CLAIMS)


@pytest.mark.parametrize("id", sorted(BY_ID))
def test_without_results_nothing_is_claimed(id: str) -> None:
    assert status(id) == NOT_RUN


def covers(cycle: float, control: float) -> list[Planted]:
    wrong = dict.fromkeys(COVERS, 0.0) | {CYCLE: cycle, CONTROL: control}
    return [planted(spec, unseen=1 - wrong[name], seen=1.0) for name, specs in cover_specs("laptop").items() for spec in specs]


def test_cover() -> None:
    assert status("icl-cover", covers(0.009, 0.12)) == REPRODUCED
    assert status("icl-cover", covers(0.011, 0.12)) == PARTLY
    assert status("icl-cover", covers(0.009, 0.1)) == PARTLY
    assert status("icl-cover", covers(0.2, 0.25)) == NOT_REPRODUCED
    one = covers(0.0, 0.3)
    cycle = [i for i, run in enumerate(one) if dict(run.spec.task).get("shifts") == (1,)]
    assert len(cycle) == 6
    one[cycle[3]] = replace(one[cycle[3]], metrics={"unseen": 0.95, "seen": 1.0})
    assert status("icl-cover", one) == PARTLY  # in every seed


def test_steps_against_alpha_and_patterns() -> None:
    falling = lambda a: 10 * round(5 / a)
    assert status("icl-steps-alpha", speeds("α", falling)) == REPRODUCED
    assert status("icl-steps-alpha", speeds("α", lambda a: 100)) == NOT_REPRODUCED
    assert status("icl-steps-alpha", speeds("α", lambda a: 10 * round(10 * a))) == NOT_REPRODUCED
    assert status("icl-steps-alpha", speeds("α", lambda a: None)) == NOT_REPRODUCED


def test_steps_against_patterns() -> None:
    """More for more of them, and at most in proportion: at an exponent of one the theorem's interval may end there."""
    assert status("icl-steps-m1", speeds("M₁", lambda m: 10 * round(5 * m**0.5))) == REPRODUCED
    assert status("icl-steps-m1", speeds("M₁", lambda m: 100)) == NOT_REPRODUCED
    assert status("icl-steps-m1", speeds("M₁", lambda m: 10 * round(40 / m))) == NOT_REPRODUCED
    assert status("icl-steps-m1", speeds("M₁", lambda m: 10 * round(m**1.5))) == NOT_REPRODUCED


def test_prompt_length() -> None:
    assert status("icl-prompt-length", speeds("α l", lambda n: None if n < 8 else 100)) == REPRODUCED
    assert status("icl-prompt-length", speeds("α l", lambda n: None if n < 9 else 100)) == NOT_REPRODUCED


def plant(
    monkeypatch: pytest.MonkeyPatch, error: Callable[..., float], loss: Callable[..., float] = lambda *_, **__: 0.0
) -> list[Planted]:
    """One-layer runs with these errors and losses by seed, length and change."""

    def along(runs: Sequence[StoredRun], lengths: Sequence[int], count: int = 4000, **change: Any) -> Along:
        of = lambda value: np.array([[value(run.spec.seed, n, **change) for n in lengths] for run in runs])
        return Along(tuple(lengths), of(error), of(loss), 1 - of(loss), of(error), count)

    for module in (numbers, prose, claims):
        monkeypatch.setattr(module, "along", along)
    return [planted(spec) for spec in MAIN]


def test_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    at = lambda factor: plant(monkeypatch, lambda seed, n, alpha: factor * no_match_floor(alpha, n))
    assert status("icl-floor", at(1.0)) == REPRODUCED
    assert status("icl-floor", at(2.0)) == REPRODUCED
    assert status("icl-floor", at(0.8)) == NOT_REPRODUCED
    at_ten = plant(monkeypatch, lambda seed, n, alpha: (0.5 if n == 10 else 1) * no_match_floor(alpha, n))
    assert status("icl-floor", at_ten) == NOT_REPRODUCED


def test_floor_of_gpt2() -> None:
    at = lambda one, two: status("icl-floor-gpt2", gpts(lambda name, alpha, n: {1: one, 2: two}.get(n, 0.0)))
    assert at(0.28, 0.16) == REPRODUCED
    assert at(0.295, 0.16) == PARTLY  # the interval reaches .3
    assert at(0.31, 0.16) == PARTLY
    assert at(0.31, 0.19) == NOT_REPRODUCED


@pytest.mark.parametrize(("at_nine", "verdict"), [(0.02, REPRODUCED), (0.009, PARTLY)])
def test_need_of_the_sum(monkeypatch: pytest.MonkeyPatch, at_nine: float, verdict: str) -> None:
    """Every seed must have a loss above .01 at every S₁ below 1."""
    losses = {0.5: 0.2, 0.7: 0.1}
    runs = plant(
        monkeypatch, lambda *_, **__: 0.0, lambda seed, *_, sum=None, **__: losses.get(sum, at_nine if seed == 3 else 0.02)
    )
    assert status("icl-sum-needed", runs) == verdict


def test_hinge_loss_against_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    def at(inside: Mapping[float, float], outside: float, odd: Mapping[float, float] | None = None) -> str:
        def loss(seed: int, n: int, alpha: float, sum: float | None = None, outside: float = False) -> float:
            return away if outside else ((odd or inside) if seed == 3 else inside)[sum]

        away = outside
        return status("icl-sum-hinge", plant(monkeypatch, lambda *_, **__: 0.0, loss))

    good = {0.5: 0.3, 0.7: 0.1, 0.9: 0.02, 1.1: 0.01, 1.3: 0.0}
    assert at(good, 0.5) == REPRODUCED
    assert at(good | {1.1: 0.0, 1.3: 0.0009}, 0.9) == REPRODUCED  # a thousandth is noise
    assert at(good | {1.1: 0.0, 1.3: 0.0011}, 0.9) == PARTLY
    assert at(good, 0.49) == PARTLY
    assert at(good | {1.1: 0.011}, 0.9) == PARTLY
    assert at(good, 0.9, good | {0.7: 0.4}) == PARTLY  # in every seed
    assert at({0.5: 0.3, 0.7: 0.3, 0.9: 0.3, 1.1: 0.3, 1.3: 0.4}, 0.3) == NOT_REPRODUCED


def test_gpt2_against_the_sum() -> None:
    def at(*last: float) -> str:
        by = {f"S1 = {s:g}": value for s, value in zip(SUMS, last, strict=True)}
        return status("icl-sum-gpt2", gpts(lambda name, alpha, n: by.get(name, 0.5) if n == 20 else 0.5))

    assert at(0.03, 0.02, 0.0101, 0.009, 0.005) == REPRODUCED
    assert at(0.03, 0.02, 0.02, 0.009, 0.009) == REPRODUCED
    assert at(0.03, 0.02, 0.009, 0.008, 0.005) == PARTLY
    assert at(0.03, 0.02, 0.0101, 0.005, 0.006) == PARTLY
    assert at(0.001, 0.02, 0.0101, 0.02, 0.005) == NOT_REPRODUCED


def test_examples_against_alpha() -> None:
    def at(inside: Sequence[int], outside: Sequence[int]) -> str:
        enough = {"in domain": inside, "S1 = 1.1": outside}

        def error(name: str, alpha: float, n: int) -> float:
            return 0.1 if n >= dict(zip((0.8, 0.9, 1.0), enough.get(name, (0, 0, 0)), strict=True))[alpha] else 0.101

        return status("icl-alpha-length", gpts(lambda *how: float(np.float32(error(*how) - 1e-6))))

    assert at((8, 6, 4), (8, 8, 4)) == REPRODUCED
    assert at((8, 4, 4), (99, 6, 4)) == REPRODUCED
    assert at((8, 6, 4), (8, 9, 4)) == PARTLY
    assert at((4, 4, 4), (8, 6, 4)) == PARTLY
    assert at((99, 99, 99), (4, 5, 6)) == NOT_REPRODUCED


# ---------------------------------------------------------------- prose, figures, dials


def test_parameters_that_no_prompt_can_have_are_refused() -> None:
    numbers.check(0.4, -1.2)
    for alpha, total, said in (
        (0, 1.1, "alpha must be above 0"),
        (1.2, 1.1, "alpha must lie"),
        (0.8, 1.5, "sum must lie between"),
    ):
        with pytest.raises(SpecError, match=said):
            numbers.check(alpha, total)


def test_angles_of_new_patterns() -> None:
    assert numbers.angle(1.0) == pytest.approx(0, abs=0.1)
    assert numbers.angle(1.3) == pytest.approx(np.degrees(np.arccos(0.65 + np.sqrt(0.31) / 2)), abs=0.01)
    assert numbers.angle(2**0.5) == pytest.approx(45, abs=0.1)
    three = Task(m1=12, m2=18, mix=3)
    for total in SUMS:
        assert numbers.angle(total, three) == pytest.approx(np.degrees(np.arccos(0.8)))


def test_errors_by_sum_stand_beside_the_angles_of_their_own_training() -> None:
    wrong = {f"S1 = {s:g}": s / 10 for s in SUMS}
    error = lambda name, alpha, n: wrong.get(name, 0.9) if (alpha, n) == (0.8, 20) else 0.9
    two = numbers.by_sum(gpts(error))
    assert two[0].shape == (8, 5)
    np.testing.assert_allclose(two[0], np.broadcast_to(np.array(SUMS) / 10, (8, 5)), rtol=1e-6)
    assert two[1].tolist() == pytest.approx([numbers.angle(s) for s in SUMS])
    three = numbers.by_sum(gpts(error, variant="three patterns a mixture"))
    assert three[0].shape == (4, 5)
    assert np.ptp(three[1]) < 1e-3


def test_text_on_steps_tells_lower_bounds() -> None:
    text = prose.speed_text({"α": numbers.steps({a: speeds("α", lambda _: None)[:2] for a in (0.4, 0.8)})})
    assert "4 of 4 runs never get there, all at 0.4, 0.8" in text
    assert "Without" not in text
    found = Steps(np.array([0.2, 0.4, 0.4, 0.8]), np.array([600.0, 80, 80, 40]), np.array([True, False, False, False]))
    assert "Without 0.2 the exponent is **-1.00** [-1.00, -1.00], the theorem's outside" in prose.speed_text({"α": found})
    main = Steps(
        np.array([0.2, 0.2, 0.4, 0.4, 0.8, 0.8]), np.array([600.0, 600, 90, 80, 40, 35]), np.array([True] * 2 + [False] * 4)
    )
    value, low, high = main.slope
    assert f"**{value:+.2f}** [{low:+.2f}, {high:+.2f}]; the theorem's" in prose.speed_text({"α": main})


def test_examples_that_were_needed_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = plant(monkeypatch, lambda seed, n, **_: 0.11 if n < 7 else 0.1)
    gpt = gpts(lambda name, alpha, n: 0.01 if alpha == 1 and n > 2 else 0.11)
    found = numbers.panels(runs, gpt, 1.2)
    assert found["GPT-2, $S_1$ = 1.2"] == {}
    line = prose.needed_line(found)
    assert "GPT-2, in domain more than 20 (α' = 0.8), more than 20 (α' = 0.9), 3 (α' = 1)" in line
    assert "GPT-2, S₁ = 1.2 not tested" in line
    assert "one layer, S₁ = 1.2 7 (α' = 0.8)" in line
    assert "At S₁ = 1.2 GPT-2 was not tested" in prose.needed_text(gpt, 1.2)
    plt.close(figures.shares_of_matches(found))


def test_table_of_new_patterns_has_a_row_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = plant(monkeypatch, lambda *_, **__: 0.25, lambda *_, **__: 0.5)
    rows = prose.sums_table(runs, gpts(lambda *_: 0.125), 0.6).splitlines()[2:]
    assert len(rows) == 7
    assert rows[0].startswith("| in domain | 1, 0 | 0° | 0.1250 ± 0.0000 | 0.50000")
    assert rows[4].startswith("| S₁ = 1.1 | 0.99, +0.11 | 6° |")
    assert rows[6].startswith("| outside the span | – | 90° |")


def test_the_dials_take_what_was_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = plant(monkeypatch, lambda seed, n, alpha, sum: alpha * sum / 3 / n)
    data = numbers.dial_data(runs, gpts(lambda *_: 0.0123456), 1000)
    sizes = [len(dial["values"]) for dial in data["dials"]]
    assert sizes == [4, 5, 8]
    layer, gpt, floor = (series["values"] for series in data["series"])
    for values in (layer, gpt, floor, *(item["values"] for item in data["bars"]["items"])):
        assert np.array(values, dtype=object).shape[:3] == tuple(sizes)
    mean, low, high = layer[2][3][5]
    assert mean == pytest.approx(0.8 * 1.1 / 30, rel=1e-3)
    expected = Share(np.full(8, 0.8 * 1.1 / 30), 1000).interval
    assert (low, high) == pytest.approx(expected, rel=1e-3)
    assert gpt[0] == gpt[1] == [[None] * 8] * 5  # GPT-2 was not tested at .4 and .6
    assert gpt[2][0][0][0] == 0.01235
    assert floor[2][0][7] == [float(f"{no_match_floor(0.8, 20):.4g}")] * 3
    assert max(len(f"{v:.10g}".replace("0.", "").lstrip("0")) for v in layer[0][0][0]) <= 4
    widget = Dials(data, "test-13")
    assert "α′ = 0.8, coefficient sum S₁ = 1.1, examples in the prompt = 10" in widget.words()
    assert len(json.dumps(data)) < 200_000


def by_sum(*errors: float, variant: str = GPT) -> list[Planted]:
    """GPT-2 runs with these errors for each S₁ in turn."""
    wrong = dict(zip((f"S1 = {s:g}" for s in SUMS), errors, strict=True))
    return gpts(lambda name, alpha, n: wrong.get(name, 0.5), variant=variant)


def test_words_on_the_order_of_the_sums() -> None:
    """One seed in which two trade places is counted."""
    runs = by_sum(0.3, 0.2, 0.1, 0.009, 0.001)
    runs[0] = by_sum(0.2, 0.3, 0.1, 0.009, 0.001)[0]
    said = prose.gpt_order_text(runs)
    assert said.startswith(
        "Errors fall as S₁ grows. Seed by seed (8 in all), the larger S₁ has fewer errors: 0.7 over 0.5 in 7, "
    )
    assert said.endswith("1.3 over 1.1 in 8. Mean errors are below 0.01 at S₁ = 1.1, 1.3.")
    other = prose.gpt_order_text(by_sum(0.02, 0.1, 0.2, 0.01, 0.3))
    assert other.startswith("From the fewest errors to the most, S₁ = 1.1, 0.5, 0.7, 0.9, 1.3. Seed by seed")
    assert "0.7 over 0.5 in 0, 0.9 over 0.7 in 0, 1.1 over 0.9 in 8, 1.3 over 1.1 in 0. No mean error is below 0.01." in other


def test_words_on_kinds_of_training() -> None:
    three = "three patterns a mixture"
    found = {
        GPT: numbers.by_sum(by_sum(0.5, 0.4, 0.3, 0.2, 0.1)),
        three: numbers.by_sum(by_sum(0.1, 0.2, 0.3, 0.3, 0.4, variant=three)),
        "neither": numbers.by_sum(by_sum(0.1, 0.2, 0.1, 0.1, 0.1)[:3]),
    }
    falls, rises, neither = prose.variants_text(found).splitlines()
    assert falls == (
        f"- *{GPT}* (8 seeds, at angles from 5° to 24°): errors fall as S₁ grows, from 0.500 at S₁ = 0.5 to 0.100 at 1.3."
    )
    assert (
        rises == f"- *{three}* (4 seeds, at one angle, 37°): errors rise as S₁ grows, from 0.100 at S₁ = 0.5 to 0.400 at 1.3."
    )
    assert "(3 seeds, at angles" in neither
    assert "errors are not in the order of S₁, from 0.100" in neither
    assert f"{three}: 0.100 at S₁ = 0.5, 0.200 at S₁ = 0.7, 0.300 at S₁ = 0.9" in prose.variants_line(found)
    plt.close(figures.gpt_variants(found))
    assert prose.order_verdict({name: found[name] for name in (GPT, three)}) == (
        "At one and the same angle errors do not fall in the order of S₁; S₁ = 1.3 has fewer than 0.5 in 0 of 4 seeds. Where "
        "the angle moves with S₁, every kind of training has the order."
    )
    assert prose.order_verdict(found).endswith("the order is there in all kinds of training but *neither*.")
    assert (
        prose.order_verdict({"neither": found["neither"]})
        == "Where the angle moves with S₁, no kind of training has the order."
    )
    mixed = by_sum(0.5, 0.4, 0.3, 0.2, 0.1, variant=three)
    mixed[0] = by_sum(0.1, 0.4, 0.3, 0.2, 0.1, variant=three)[0]
    said = prose.order_verdict({three: numbers.by_sum(mixed)})
    assert said.startswith(
        "At one and the same angle errors still fall on average as S₁ grows; S₁ = 1.3 has fewer than 0.5 in 3 of"
    )
    assert "4 seeds, so that this is open." in said


def test_trained_and_other_tasks_of_each_kind_of_training() -> None:
    lines = prose.rise_text(
        {"one": by_sum(*[0.1] * 5), "two": [planted(GPTS[GPT][0], {}, {}, seen=0.5, unseen=0.25)]}
    ).splitlines()
    assert lines[-2:] == ["| one | 0.0000 ± 0.0000 | 0.1000 ± 0.0000 |", "| two | 0.5000 | 0.7500 |"]


def test_the_verdict_is_that_of_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(cycle: float, control: float, inside: float, outside: float, gpt: Sequence[float]) -> str:
        loss = lambda *_, sum=None, **how: outside if how.get("outside") else inside if sum == 0.5 else 0.0
        runs, groups = plant(monkeypatch, lambda *_, **__: 0.0, loss), covers(cycle, control)
        by = {name: [run for run in groups if run.spec in specs] for name, specs in cover_specs("laptop").items()}
        return prose.verdict(runs, by_sum(*gpt), by)

    good = said(0.002, 0.31, 0.01, 0.9, (0.5, 0.4, 0.3, 0.2, 0.1))
    assert good.startswith(
        "Six tasks of 30 are enough for the others, if every pattern takes part (0.2% wrong); six that leave patterns out are "
        "not (31%). On new patterns that mix the trained ones the one-layer model reads the task (hinge loss at most 0.0100), "
        "on patterns outside their span it does not read it (0.90)."
    )
    assert good.endswith("For a small GPT-2 errors fall as S₁ grows, from 0.500 at S₁ = 0.5 to 0.100 at 1.3.")
    assert "leave patterns out do as well (0%)" in said(0.0, 0.004, 0.0, 0.9, [0.1] * 5)
    failed = said(0.25, 0.31, 0.02, 0.9, (0.1, 0.2, 0.3, 0.4, 0.5))
    assert failed.startswith("Six tasks of 30 are not enough for the others, if every pattern takes part (25.0% wrong)")
    assert "the one-layer model reads it in part (hinge loss at most 0.0200), on" in failed
    assert "For a small GPT-2 errors rise as S₁ grows, from 0.100" in failed
    assert "errors are the same at every S₁" in said(0.0, 0.3, 0.0, 0.4, [0.0] * 5)
    assert "errors are not in the order of S₁" in said(0.0, 0.3, 0.0, 0.4, (0.1, 0.3, 0.2, 0.1, 0.0))
    assert "patterns outside their span it reads it in part (0.40)" in said(0.0, 0.3, 0.0, 0.4, [0.0] * 5)


@pytest.mark.parametrize(("alpha", "total"), [(0.05, -1.4), (1.0, 0.0), (0.4, 1.41)])
def test_words_at_other_parameters(monkeypatch: pytest.MonkeyPatch, alpha: float, total: float) -> None:
    """Margins that fall with S₁, losses that are never small, a curve that never ends below the level."""
    runs = plant(monkeypatch, lambda *_, **__: 0.4, lambda *_, sum=1.0, **__: 1 + (sum or 0.0))
    gpt = gpts(lambda *_: 0.4)
    grid = [numbers.along(runs, [20], alpha=alpha, sum=s) for s in numbers.SHOWN_SUMS]
    said = prose.sums_text(numbers.SHOWN_SUMS, grid)
    assert "at most 0.01 in every seed **nowhere**" in said
    assert "The mean margin is 0.00 − 1.00 S₁, to within 0.00" in said
    assert f"At S₁ = {total:g} GPT-2 was not tested." in prose.needed_text(gpt, total)
    assert "In domain GPT-2 needs more than 20 at α' = 0.8" in prose.needed_text(gpt, total)
    assert "not fewer as α' grows" in prose.needed_text(gpt, total)
    assert prose.needed_line(numbers.panels(runs, gpt, total)).count("more than 20") == 9
    assert "**0.400, 0.400, 0.400**" in prose.floor_text(runs, gpt)
    assert len(prose.sums_table(runs, gpt, alpha).splitlines()) == 9
    assert len(prose.sums_line(numbers.SHOWN_SUMS, grid, grid[0]).split("; ")) == 3


def test_every_figure_draws_planted_results(monkeypatch: pytest.MonkeyPatch) -> None:
    runs, gpt = plant(monkeypatch, lambda *_, **__: 0.0, lambda *_, **__: 0.0), gpts(lambda name, alpha, n: 0.5 / (n + 1) ** 3)
    found = numbers.steps({v: speeds("α", lambda a: 50)[:2] for v in (0.4, 0.8)})
    share = numbers.gpt_errors(gpt, "in domain")
    at = numbers.along(runs, numbers.CURVE_LENGTHS, alpha=0.8)
    one = numbers.along(runs, [20], alpha=0.8)
    history = {"seen": [0.5, 1.0], "unseen": [0.5, None]}
    few = {name: [planted(replace(SMALL[0], seed=i), history) for i in (0, 1)] for name in COVERS}
    with pytest.warns(RuntimeWarning, match="All-NaN|Mean of empty"):
        plt.close(figures.covers({name: Task(**part) for name, part in COVERS.items()}, few))
    for figure in (
        figures.speed({"α": found, "M₁": found, "α l": found}),
        figures.gpt_sums(share, dict.fromkeys(SUMS, share), share),
        figures.layer_sums(SUMS, [one] * 5, one),
        figures.layer_lengths(at, dict.fromkeys(SUMS, at), at),
    ):
        assert figure.get_size_inches()[0] == pytest.approx(7.2)
        figure.canvas.draw()
        plt.close(figure)
