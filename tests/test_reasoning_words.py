"""What chapters 9 to 11 say of planted results: numbers over runs, in words, whichever way they fall."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import Shelf
from test_reasoning_analysis import Planted, alike, lying, on_an_arc, planted
from test_reasoning_claims import (
    BY_ID,
    FLOWS,
    SHUFFLED,
    TWELVE,
    ablated,
    asks,
    at_four,
    failed,
    flowing,
    grouped,
    in_theory,
    lies,
    of,
    tables,
    transformers,
    went,
)
from torch import Tensor

from lib.core.read.claim import graded
from lib.core.read.measures import cosines
from lib.core.read.statistics import numerical_order
from lib.core.record.spec import RunSpec
from lib.core.record.store import StoredRun
from lib.reasoning_bias import claims, ratios
from lib.reasoning_bias import runs as stored
from lib.reasoning_bias.attention import metrics as attention
from lib.reasoning_bias.attention import prose as attention_prose
from lib.reasoning_bias.embeddings import claims as embedding_claims
from lib.reasoning_bias.embeddings import metrics as embeddings
from lib.reasoning_bias.embeddings import prose as embedding_prose
from lib.reasoning_bias.embeddings.metrics import FlowError
from lib.reasoning_bias.experiments import (
    EMB,
    LARGE,
    MIDDLE,
    QUIET,
    SMALL,
    ablation_specs,
    bias_specs,
    flow_specs,
    long_specs,
    many_rows_specs,
    rows_specs,
    table_specs,
)
from lib.reasoning_bias.memory_and_reasoning import metrics as memory_and_reasoning
from lib.reasoning_bias.memory_and_reasoning import prose as memory_prose
from lib.reasoning_bias.ratios import Ratio
from lib.reasoning_bias.study import causal_average, make_study

__all__ = ["at_four"]
"""Of every test here."""


# ---------------------------------------------------------------- numbers over runs, and in words


def test_ratios_in_words() -> None:
    closed, opened = Ratio(2.0, False), Ratio(8.0, True)
    assert ratios.middle([closed, opened]) == pytest.approx(4)
    assert ratios.words([closed, closed]) == "2.00 (2.00 to 2.00)"
    assert ratios.words([closed, opened]) == "≥ 4.00 (2.00 to 8.00)"
    with pytest.raises(LookupError, match="halves in no stored run"):
        ratios.ratios([planted(halves={"memory": 100})])


def test_the_trend_is_of_runs_that_have_a_ratio() -> None:
    specs = [s for s in bias_specs("laptop") if s.gamma in (LARGE, MIDDLE, SMALL)]
    runs = of(specs, lambda s: {"reasoning": 100, "memory": round(100 + 100 * s.gamma)})
    value, low, high = memory_and_reasoning.trend(runs)
    assert (value, low, high) == pytest.approx((1, 1, 1))
    assert memory_and_reasoning.trend(runs) == (value, low, high)  # the same resamples every time
    noisy = of(specs, lambda s: {"reasoning": 100, "memory": 100 + (7 * s.seed + round(10 * s.gamma)) % 5})
    value, low, high = memory_and_reasoning.trend(noisy)
    assert low < value < high
    with pytest.raises(LookupError, match="fewer than two"):
        memory_and_reasoning.trend([*runs[:1], planted(halves={"memory": 100})])


def test_the_best_share_of_a_run_is_at_any_time() -> None:
    runs = [planted(shares={"held out": shares}) for shares in ([0.1, 0.8, 0.3], [0.2, None, 0.1])]
    assert stored.best(runs).tolist() == [0.8, 0.2]
    assert stored.best([planted(shares={"held out": [0.1, 0.3]}, **{"held out": 0.4})]).tolist() == [
        0.4
    ]  # asked again at the end


def test_most_of_the_way_of_a_ratio_is_told_by_where_it_lies() -> None:
    """Memory takes 1, 4, 6 and 8 times as long: ln 4 of ln 8 is two thirds."""
    memory = {0.3: 100, 0.4: 400, 0.5: 600, 0.6: 800}
    runs = of([s for s in bias_specs("laptop") if s.gamma in memory], lambda s: {"reasoning": 100, "memory": memory[s.gamma]})
    text = "From γ = 0.3 to 0.6 the ratio grows 8.0 times. 67% of that, in logarithms, lies below γ = 0.4."
    assert memory_prose.transition_text(runs) == text
    flat = of([r.spec for r in runs], lambda s: {"reasoning": 100, "memory": 100})
    assert memory_prose.transition_text(flat) == "From γ = 0.3 to 0.6 the ratio does not grow."


def test_the_length_of_training_is_told_where_it_matters() -> None:
    def at(large: int, small: int) -> list[Planted]:
        specs = [s for s in bias_specs("laptop") if s.gamma in (LARGE, SMALL)]
        memory = {LARGE: large, SMALL: small}
        return of(specs, lambda s: {"reasoning": 100, "memory": memory[s.gamma] + s.seed})

    same, later = at(150, 500), at(300, 502)
    text = memory_prose.length_text({"short": same, "long": later})
    assert text.startswith("At each length the small start has the larger ratio. At γ = 0.3 the ranges of two lengths")
    assert "within the range" in memory_prose.length_text({"short": same, "long": at(151, 501)})
    assert "not the same" in memory_prose.length_text({"short": same, "long": at(500, 150)})
    assert memory_prose.length_text({"short": same[:1]}) == "Not every length has a ratio at both ends."


def test_what_the_small_start_alone_finds_is_counted_over_kinds_of_runs() -> None:
    def runs(large: float, small: float) -> list[Planted]:
        halves = lambda s: {"reasoning": 100, "memory": 100 if s.gamma == LARGE else 400}
        shares = {LARGE: large, SMALL: small}
        specs = [s for s in bias_specs("laptop") if s.gamma in shares]
        return [planted(s, halves(s), **{"held out": shares[s.gamma]}) for s in specs]

    apart, alike = runs(0.1, 0.9), runs(0.9, 0.9)
    many = [planted(replace(r.spec, task=tuple((dict(r.spec.task) | {"rows": 200_000}).items())), **r.metrics) for r in alike]
    assert memory_prose.answer(apart, apart, many) == (
        "Memory takes 4.0 times as long as reasoning at small initialization (γ = 0.8), and 1.0 times at large (γ = 0.3): the "
        "smaller start prefers the rule. The small start also has more of the never-shown pairs right with 20,000 rows and "
        "20,000 rows without norms, but not with 200,000 rows."
    )
    assert memory_prose.answer(apart, apart, apart).endswith(
        "Only the small start finds what holds for pairs that were never shown."
    )
    assert memory_prose.answer(alike, alike, alike).endswith("The start does not decide what generalizes.")
    lines = memory_prose.verdict(apart, apart, many).split("\n")
    assert lines[0] == "The small start has more than twice as many of the held-out pairs right in 2 of these 3:"
    assert lines[4:7] == [
        "| 20,000 rows | 90% | 10% |",
        "| 20,000 rows without norms | 90% | 10% |",
        "| 200,000 rows | 90% | 90% |",
    ]
    said = [memory_prose.verdict(*runs).split("\n")[0] for runs in ((alike, alike, many), (apart, apart, apart))]
    assert said[0].endswith(" right nowhere:")
    assert said[1].endswith(" right in all of these:")


def test_halving_in_words() -> None:
    """In epochs: 40 steps each."""
    spec = bias_specs("laptop")[0]
    spec = replace(spec, task=(("rows", 4000),))
    runs = [planted(replace(spec, seed=i), {"memory": t}) for i, t in enumerate((400, 800, None))]
    assert memory_prose.halving_words(runs[:2], "memory") == "15.0 ± 7.1"
    assert memory_prose.halving_words(runs, "memory") == "15.0 ± 7.1 (1 of 3 never)"
    assert memory_prose.halving_words(runs[2:], "memory") == "never"


def bias_runs() -> list[Planted]:
    memory = {0.3: 100, 0.5: 200, 0.8: None}
    specs = [s for s in bias_specs("laptop") if s.gamma in memory and s.seed < 2]
    return of(specs, lambda s: {"reasoning": 100, "memory": memory[s.gamma], "held out": 150 if s.gamma == SMALL else None})


def test_sentences_follow_the_runs() -> None:
    runs = bias_runs()
    assert memory_prose.ratios_line(runs) == "0.3: 1.00 (1.00 to 1.00); 0.5: 2.00 (2.00 to 2.00); 0.8: ≥ 40.00 (40.00 to 40.00)"
    assert memory_prose.ratios_line(runs, "held out").endswith("0.8: 1.50 (1.50 to 1.50)")
    assert memory_prose.ratios_line([planted()]) == "0.8: never"
    assert memory_prose.bias_line({"a": runs[:2], "b": runs[-2:]}).startswith("a, memory over reasoning by γ, 0.8: ≥ 40.00")
    text = memory_prose.bias_text({"one": runs, "other": [planted()]})
    assert "memory over reasoning is 1.0 at γ = 0.3 and ≥ 40.0 at γ = 0.8. " in text
    assert "2 of 6 ratios are lower bounds, so that their order says nothing." in text
    assert "Rank correlation" not in text
    assert "**other**: the reasoning loss does not halve" in text
    rising = of([r.spec for r in runs], lambda s: {"reasoning": 100, "memory": round(1000 * s.gamma)})
    assert "over 6 runs: +1.00 [+1.00, +1.00]" in memory_prose.bias_text({"one": rising})
    falling = of([r.spec for r in runs], lambda s: {"reasoning": 100, "memory": 900 - round(1000 * s.gamma)})
    assert "-1.00 [-1.00, -1.00]" in memory_prose.bias_text({"one": falling})
    table = memory_prose.training_text(runs, [0.3, 0.8])
    assert "| 0.3 | 0.5 ± 0.0 | 0.5 ± 0.0 | never | 0.50 ± 0.00 |" in table
    assert "| 0.8 | never | 0.5 ± 0.0 | 0.8 ± 0.0 | 0.50 ± 0.00 |" in table
    assert memory_prose.final_line({"all": [planted(memory=0.5), planted(memory=1.0)]}).startswith(
        "all: memory 0.75 ± 0.35, reasoning 0.00"
    )


def test_a_correlation_is_told_unless_more_than_a_tenth_are_lower_bounds() -> None:
    specs = bias_specs("laptop")[:20]

    def told(count: int, bounds: int) -> str:
        memory = {s: None if i < bounds else round(100 + 100 * s.gamma) for i, s in enumerate(specs[:count])}
        return memory_prose.bias_text({"one": of(specs[:count], lambda s: {"reasoning": 100, "memory": memory[s]})})

    assert "Rank correlation of γ with the ratio over 20 runs: +" in told(20, 2)
    assert "lower bounds" not in told(20, 2)
    assert "2 of 19 ratios are lower bounds" in told(19, 2)
    assert "3 of 20 ratios are lower bounds" in told(20, 3)
    assert "Rank correlation" not in told(19, 2) + told(20, 3)


def test_points_of_variants() -> None:
    found, shares = ratios.points_of({"whole": bias_runs(), "none": [planted()]})
    assert found["whole"] == {0.3: [Ratio(1.0, False)] * 2, 0.5: [Ratio(2.0, False)] * 2, 0.8: [Ratio(40.0, True)] * 2}
    assert found["none"] == {0.8: []}
    assert shares["none"] == {0.8: [0.0]}
    assert ratios.points_line({"none": [planted()]}) == "none: γ = 0.8 never"


def test_the_sizes_of_the_training_set_are_four() -> None:
    specs = rows_specs("laptop")
    taken = memory_and_reasoning.of_sizes(Shelf(planted(s) for group in specs.values() for s in group), "laptop")
    assert list(taken) == ["5,000 rows", "10,000 rows", "20,000 rows", "always new rows"]
    for runs, rows in zip(taken.values(), (5000, 10_000, 20_000, 0), strict=True):
        assert {(r.spec.gamma, r.spec.seed) for r in runs} == {(LARGE, 0), (LARGE, 1), (SMALL, 0), (SMALL, 1)}
        assert {dict(r.spec.task)["rows"] for r in runs} == {rows}
    with pytest.raises(LookupError, match="not stored"):
        memory_and_reasoning.of_sizes(Shelf(planted(s) for s in specs["5,000 rows"]), "laptop")


@pytest.mark.parametrize("rows", [1, 500, 5000])
def test_the_table_is_covered_as_counted_one_by_one(rows: int) -> None:
    """Of the rows that a run is trained on: entries (key, first, second), memory alone."""
    data = make_study(replace(bias_specs("laptop")[0], task=(("rows", max(rows, 500)),))).data
    every = zip(data.key.tolist(), data.first.tolist(), data.second.tolist(), strict=True)
    entries = Counter(entry for entry in [*every][:rows] if entry[1] <= 10)
    if rows == 5000:  # where some come again
        assert len(entries) < 0.95 * sum(entries.values()) < 0.6 * rows
    text = memory_prose.coverage_text(rows)
    assert f"Our {rows:,} rows hold {len(entries):,} of the 10,000 entries of the table, " in text
    assert f"each {sum(entries.values()) / len(entries):.1f} times on average" in text


def of_shares(seed: int, losses: Sequence[float], held: Sequence[float], known: Sequence[float], **final: float) -> Planted:
    """A run at γ = .8 with losses of held-out pairs, and shares of right answers, at steps 100, 200 and 300."""
    run = planted(replace(bias_specs("laptop")[0], gamma=SMALL, seed=seed), **final)
    history = {"step": [100, 200, 300], "held out loss": [*losses], "held out": [*held], "reasoning": [*known]}
    return replace(run, history=run.history | history)


def test_shares_when_the_held_out_loss_has_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first halves at step 250, midway between shares; the second at 200; the third never: only its end is told."""
    runs = [
        of_shares(0, [4, 3, 1], [0.0, 0.25, 0.75], [0.1, 0.5, 0.9], reasoning=0.9),
        of_shares(1, [4, 2, 3], [0.0, 0.3, 0.9], [0.1, 0.5, 0.6], reasoning=0.8, **{"held out": 0.6}),
        of_shares(2, [4, 3, 2.1], [0.9, 0.9, 0.9], [0.9, 0.9, 0.9], reasoning=1.0, **{"held out": 0.8}),
    ]
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: False))
    text = memory_prose.accuracy_text(runs)
    assert text == (
        "At γ = 0.8, when the held-out loss has halved, 40% of the held-out rows are right, and 60% of the trained rows of "
        "reasoning."
    )
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: self.spec.seed > 0))
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.5 + 0.1 * run.spec.seed, "attention.1": 0.0})
    assert memory_prose.accuracy_text(runs).startswith(
        text
        + " Much of the distance between the curves of trained and held-out pairs is rows that were stored: at the end 90% "
        "of the trained rows are right, 65% of **new rows of the same pairs**, and 70% of the held-out pairs."
    )
    assert memory_prose.accuracy_text(runs[2:]) == "The held-out loss does not halve."
    one = memory_prose.accuracy_text(runs[:1])
    assert " 50% of the held-out rows are right, and 70% of the trained rows" in one
    assert "at the end" not in one  # its weights are not kept


def test_findings_say_more_than_they_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares at the end; the trend where both models learn; the range over seeds of ε."""
    said = lambda id, runs=(): BY_ID[id].evaluate(Shelf(runs), "laptop")["measured"]
    specs = bias_specs("laptop")
    halves = {"reasoning": 100, "memory": 300, "held out": 100}
    final = lambda s: {"held out": 0.1 * s.seed, "reasoning": 1 - 0.1 * s.seed} if s.gamma == SMALL else {}
    text = said("bias-small-reasoning-first", [planted(s, halves, **final(s)) for s in specs])
    assert "; right at the end: held-out pairs 0.15 ± 0.13, rows of trained pairs 0.85 ± 0.13; " in text
    falls = lambda s: {"reasoning": 100, "memory": round(2000 - 1000 * s.gamma) if s.gamma >= 0.4 else 50}
    assert said("bias-grows", of(specs, falls)).endswith("; from .4 on alone -1.00 [-1.00, -1.00]")
    monkeypatch.setattr(attention, "deviation_at_start", lambda s: (1 + s.seed) * 10 ** (-round(10 * s.gamma)))
    assert "ε before training, by γ: 0.3: 0.001 to 0.004, " in said("attention-lemma")
    assert ", 0.8: 1 × 10⁻⁸ to 4 × 10⁻⁸, " in said("attention-lemma")


def test_settings_and_task_in_words() -> None:
    rows = {profile: dict(memory_prose.settings_table(profile)) for profile in ("laptop", "paper")}
    assert rows["laptop"].keys() == rows["paper"].keys()
    assert rows["paper"]["training rows"] == "200,000"
    assert rows["paper"]["steps (epochs)"] == "2,000,000 (1,000)"
    assert rows["laptop"]["seeds"] == "4"
    assert "198 trained pairs" in memory_prose.task_line()
    assert "10,000 entries" in memory_prose.task_line()
    assert "98 of reasoning" in memory_prose.task_line()


def test_the_labels_of_an_anchor_by_counting() -> None:
    """Sums of 100 keys and ten anchors: variances add, (n² − 1) / 12 each; every anchor meets the middle 91 sums."""
    ahead, width, flat = embeddings.labels_of_anchor()
    sums = [key + other for key in range(21, 121) for other in range(11, 21)]
    assert (ahead, width) == pytest.approx((np.mean(sums), np.std(sums)))
    assert ahead == pytest.approx(86)
    assert width == pytest.approx(((100**2 - 1) / 12 + (10**2 - 1) / 12) ** 0.5)
    assert flat == list(Counter(sums).values()).count(10) == 91
    text = embedding_prose.theory_text()
    assert "mean at s + 86.0, a standard deviation of 29.0, and are flat over 91 values" in text
    assert "a width of √6 = 2.45." in text


def test_memory_anchors_are_less_alike_in_the_training_set() -> None:
    own = embeddings.sampled_distributions("memory", 20_000)
    alike_by = [float(cosines(own[i : i + 1], own[j : j + 1])[0, 0]) for i in range(10) for j in range(i)]
    assert max(alike_by) < 0.9
    exact = embeddings.exact_distributions("memory")
    np.testing.assert_allclose(cosines(exact, exact), 1)
    specs = [s for s in bias_specs("laptop") if s.gamma == SMALL and s.seed < 2]
    by = {(0, 200): 0.2, (0, 400): 0.6, (1, 200): 0.5, (1, 400): 0.3}  # .35 and .45, though each seed has .5 at some time
    deep = [planted(s, kept={step: lying(alike(by[s.seed, step]), on_an_arc()) for step in (200, 400)}) for s in specs]
    emb = two_times()["Emb-MLP early"]
    text = embedding_prose.memory_text({"Emb-MLP early": emb, "transformer late": (deep, 200)})
    whole = [embeddings.off_diagonal(embeddings.anchor_cosines(r, "memory", 400)).mean() for r in emb[0]]
    assert max(whole) < 0.85
    assert f"memory anchors have a mean cosine of {embeddings.told(whole)}. What" in text
    assert "what they have *moved* has 0.90. In" in text
    assert "(at most 0.45, mean over seeds)" in text
    assert text.endswith(f"the label distributions counted in it have {np.mean(alike_by):.2f}.")


def two_times() -> dict[str, tuple[list[Planted], int]]:
    """The transformer at two times, and Emb-MLP at the second of two, by when it has moved little."""
    specs = [s for s in bias_specs("laptop") if s.gamma == SMALL and s.seed < 2]
    early = lambda seed: lying(alike(0.25 + 0.5 * seed), on_an_arc())
    runs = [planted(s, kept={200: early(s.seed), 400: lying(alike(0.9), on_an_arc(0.2))}) for s in specs]
    specs = [s for s in EMB.specs("laptop") if s.gamma == SMALL and s.seed < 2 and not dict(s.task)["noise"]]
    kept = lambda s: {200: went(s, alike(0.95), on_an_arc(), 1e-4), 400: went(s, alike(0.9), on_an_arc(0.2), 0.5)}
    emb = [planted(s, kept=kept(s)) for s in specs]
    return {"Emb-MLP early": (emb, 400), "transformer early": (runs, 200), "transformer late": (runs, 400)}


def test_embeddings_in_words() -> None:
    times = two_times()
    line = embedding_prose.cosine_line(times)
    assert "transformer early: memory 0.50 ± 0.35, reasoning 1.00 at distance 1, 0.62 at 9" in line
    assert "reasoning 0.98 at distance 1, −0.23 at 9" in line  # with a minus of its own
    columns, used = embeddings.matrices(times, 1)
    assert list(columns) == ["Emb-MLP\nepoch 2", "transformer\nepoch 1", "transformer\nepoch 2"]
    assert [run.spec.seed for run in used] == [1, 1, 1]
    assert columns["transformer\nepoch 1"]["memory"][0, 1] == pytest.approx(0.75)
    assert [run.spec.seed for run in embeddings.matrices(times, 7)[1]] == [
        0,
        0,
        0,
    ]  # a seed that is not there: the first
    measured, theory = embeddings.lag_series(times, 40, SMALL)
    assert {model: list(series) for model, series in measured.items()} == {
        "Emb-MLP": ["moved, epoch 1", "early, epoch 2"],
        "transformer": ["early, epoch 1", "late, epoch 2"],
    }
    falling = lambda step: np.tile(np.cos(step * np.arange(1, 10)), (2, 1))
    np.testing.assert_allclose(measured["Emb-MLP"]["moved, epoch 1"], falling(0.1))  # at the first snapshot
    np.testing.assert_allclose(measured["transformer"]["late, epoch 2"], falling(0.2))
    assert np.abs(measured["Emb-MLP"]["early, epoch 2"] - falling(0.2)).max() > 0.01  # the start included
    assert list(theory) == [r"$P^s - 1/d_\mathrm{vob}$ (Prop. 1)", "Eq. 14 with its noise, γ = 0.8"]
    exact, drawn = theory.values()
    np.testing.assert_allclose(exact, embedding_claims.CHECKED, atol=1e-3)
    shape = embeddings.fitted(40, SMALL, None)
    assert embeddings.by_lag(cosines(shape, shape))[0] > drawn[0] > 0  # noise takes from a cosine
    np.testing.assert_array_equal(embeddings.lag_series(times, 40, SMALL)[1]["Eq. 14 with its noise, γ = 0.8"], drawn)
    table = embedding_prose.deviation_table(times)
    lines = table.split("\n")
    lags = np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    off = lambda step, theory: np.abs(embeddings.off_diagonal(np.cos(step * lags) - in_theory(theory))).mean()
    told = lambda step: " | ".join(f"{off(step, theory):.2f}" for theory in ("P^s", "Eq. 14"))
    assert len(lines) == 6
    assert lines[2] == f"| Emb-MLP, moved, epoch 1 | {told(0.1)} |"  # at the first snapshot
    assert lines[3].startswith("| Emb-MLP early, epoch 2 | ")
    assert lines[4:] == [f"| transformer {w} | {told(a)} |" for w, a in (("early, epoch 1", 0.1), ("late, epoch 2", 0.2))]
    assert table.startswith("| mean distance of cosines from | $P^s$ | Eq. 14 |\n")
    assert embedding_prose.order_line(times["transformer late"][0], 400).startswith(
        "order in the plane, all seeds: memory anchors"
    )


def test_numbers_in_words() -> None:
    """A minus of its own, no spread that rounds to nothing, and powers of ten where digits would be zeros."""
    assert [embeddings.written(v) for v in (-0.444, -0.001, 0.5)] == ["−0.44", "0.00", "0.50"]
    assert [embeddings.told(v) for v in ([-1.0, -1.0], [-0.5, -0.3], [0.2])] == ["−1.00", "−0.40 ± 0.14", "0.20"]
    assert embeddings.told([100, 100], 0) == "100"
    assert embeddings.told([0.5, 0.508], 3) == "0.504 ± 0.006"
    assert [attention.rounded(v) for v in (0.7, 0.00023, 4.6e-5, 1.2e-10, 0)] == [
        "0.7",
        "0.0002",
        "5 × 10⁻⁵",
        "1 × 10⁻¹⁰",
        "0",
    ]
    assert [attention.share_of(n, 4) for n in (0, 3, 4)] == ["none of 4", "3 of 4", "all 4"]
    assert attention.share_of(1, 1) == "1 of 1"


def compared_at(error: float, cosine: float, step: int = 100, ended: bool = False) -> embeddings.Compared:
    """Memory anchors with this error and cosine, and reasoning anchors with none."""
    by = lambda memory, reasoning: {"memory": memory, "reasoning": reasoning}
    return embeddings.Compared(step, by(error, 0.0), by(cosine, 1.0), by(1.5, 1.0), 0.01, 0.003, ended)


def test_the_flow_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [planted(spec) for spec in flow_specs("laptop")["Emb-MLP"]]
    told: dict[bool, embeddings.Compared] = {False: compared_at(0.1, 0.99), True: compared_at(0.1, 0.99)}
    monkeypatch.setattr(embeddings, "compared", lambda run, exact: told[exact])
    text = embedding_prose.flow_text({"a": (runs, False)})
    assert text == (
        "- **a**: the flow arrives where training arrives, for both kinds of anchors.\n\n"
        "All are compared at the last snapshot before the loss has fallen by 1 %."
    )
    told[False] = compared_at(0.6, 0.9, ended=True)
    text = embedding_prose.flow_text({"a": (runs, False), "b": (runs, True)})
    assert (
        "- **a**: the flow arrives where training arrives for reasoning anchors, and elsewhere for the others: memory anchors "
        "go 1.5 times as far as in training, with a cosine of 0.90 (error 0.60).\n"
    ) in text
    assert text.endswith(
        " The runs of “a” end at step 100, before that: the loss has fallen by 0.3 %, and embeddings have moved by 0.01 of "
        "their size. What is compared there is the very beginning."
    )
    rows = embedding_prose.flow_table({"a": (runs, False)}).split("\n")
    assert rows[2] == "| a | 0.00 | 0.60 | 1.000 | 0.900 | 100 | 0.3 % | 0.01 |"
    both = embeddings.Compared(100, *({"memory": v, "reasoning": v} for v in (0.6, 0.9, 2.0)), 0.01, 0.003, False)
    told[False] = both
    assert "arrives elsewhere, for both kinds of anchors: memory anchors go 2.0" in embedding_prose.flow_text(
        {"a": (runs, False)}
    )


@pytest.mark.parametrize(
    ("memory", "reasoning", "said"),
    [
        (0.4, 0.4, "halves both errors (it leaves 40% of that of memory anchors, 40% of that of reasoning anchors)"),
        (0.7, 0.4, "halves the error of reasoning anchors, which was mostly noise, and not that of memory anchors"),
        (0.7, 0.6, "halves neither error"),
        (1.1, 1.0, "does not lower the errors"),
    ],
)
def test_what_larger_batches_leave(monkeypatch: pytest.MonkeyPatch, memory: float, reasoning: float, said: str) -> None:
    """Errors at 20, the last step of both until either is compared; at others they say nothing."""
    large, small = ([replace(planted(s), path=Path(name)) for s in flow_specs("laptop")[QUIET]] for name in ("large", "small"))

    def error(run: StoredRun, exact: bool) -> FlowError:
        wide = run in large
        steps = np.array([10, 20, 30] if wide else [20, 30, 40])
        at = lambda left: np.where(steps[:, None] == 20, 0.5 * (left if wide else 1), 9.0) + np.zeros((3, 10))
        return FlowError(steps, {"memory": at(memory), "reasoning": at(reasoning)}, {}, {}, steps)

    monkeypatch.setattr(embeddings, "flow_error", error)
    monkeypatch.setattr(embeddings, "compared", lambda run, exact: compared_at(0, 1, 20 if run in large else 40))
    text = embedding_prose.batch_text((large, True), (small, True))
    assert text.startswith("At the same step (20), ten times the batch ")
    assert said in text
    monkeypatch.setattr(embeddings, "compared", lambda run, exact: compared_at(0, 1, 10))
    with pytest.raises(LookupError, match="no snapshot at the same step"):
        embedding_prose.batch_text((large, True), (small, True))


def test_the_verdict_on_embeddings_says_of_which_model(monkeypatch: pytest.MonkeyPatch) -> None:
    times = two_times()
    cases = dict.fromkeys(("Emb-MLP", *embedding_prose.LAYER), (times["Emb-MLP early"][0], False))
    cases[embeddings.BY_POSITIONS] = (times["Emb-MLP early"][0], True)
    told = {False: compared_at(0.6, 0.9), True: compared_at(0.6, 0.9)}
    monkeypatch.setattr(embeddings, "compared", lambda run, exact: told[exact])
    monkeypatch.setattr(embeddings, "best_spread", lambda runs, step: (3.0, np.array([0.05, 0.15])))
    text = embedding_prose.verdict(times, cases)
    assert "- **Memory anchors.** In the transformer they have a mean cosine of 0.90 late." in text
    assert "In Emb-MLP it is the one that the distribution of labels drives" in text
    assert embedding_prose.answer(times, cases) == (
        "At small initialization the embeddings of reasoning anchors come to lie in the order of their numbers, and those of "
        "memory anchors are alike in the trained transformer. The distribution of labels drives the first movement in Emb-MLP. "
        "For a transformer of one layer the theory's formula fails as printed; with our correction it holds for reasoning "
        "anchors alone."
    )
    assert (
        "the formula does not hold (relative errors 0.60 for memory anchors and 0.00 for reasoning anchors), with our " in text
    )
    assert "correction it does for reasoning anchors alone" in text
    assert "with the width that fits best (3.00), has the cosines of the trained transformer to 0.1 in 1 of 2 seeds" in text
    monkeypatch.setattr(embeddings, "moved_cosines", lambda run, step: np.eye(10))
    assert "it is not the one that the distribution" in embedding_prose.verdict(times, cases)
    told[True] = compared_at(0.1, 0.99)
    assert "with our correction it does (" in embedding_prose.verdict(times, cases)
    assert embedding_prose.answer(times, cases).endswith(
        "labels does not drive the first movement in Emb-MLP. For a transformer of one layer the theory's formula fails as "
        "printed; with our correction it holds."
    )
    told[False] = compared_at(0.1, 0.99)
    assert "the formula holds, too" in embedding_prose.verdict(times, cases)
    assert embedding_prose.answer(times, cases).endswith("For a transformer of one layer the theory's formula holds.")
    runs = times["transformer late"][0]
    never = [replace(run, kept={step: lying(alike(0.3), on_an_arc(0.2)) for step in run.kept}) for run in runs]
    text = embedding_prose.verdict(times | {"transformer late": (never, 400), "no norms late": (runs, 400)}, cases)
    assert (
        "In the transformer they have a mean cosine of at most 0.30. Without norms they have 0.90 at epoch 2, the most" in text
    )
    said = embedding_prose.answer(times | {"transformer late": (never, 400)}, cases)
    assert "but those of memory anchors never become alike in the trained transformer." in said
    once = [replace(run, kept={200: run.kept[400], 400: never[0].kept[400]}) for run in runs]
    text = embedding_prose.verdict(times | {"transformer late": (once, 400), "no norms late": (once, 400)}, cases)
    assert "In the transformer they reach a mean cosine of 0.90, and have 0.30 late." in text
    said = embedding_prose.answer(times | {"transformer late": (once, 400)}, cases)
    assert "but those of memory anchors do not stay alike in the trained transformer." in said
    assert "Without norms they reach 0.90 at epoch 1, and have 0.30 at epoch 2." in text


def test_formation_by_hand() -> None:
    """Mean cosines of each seed at each snapshot: distance 1, distance 9, and any two memory anchors."""
    runs = two_times()["transformer early"][0]
    epochs, curves = embeddings.formation(runs)
    assert epochs.tolist() == [1, 2]
    assert list(curves) == ["reasoning, distance 1", "reasoning, distance 9", "memory"]
    near, far, memory = curves.values()
    np.testing.assert_allclose(near, [[np.cos(0.1), np.cos(0.2)]] * 2)
    np.testing.assert_allclose(far, [[np.cos(0.9), np.cos(1.8)]] * 2)
    np.testing.assert_allclose(memory, [[0.25, 0.9], [0.75, 0.9]])


def arcs(*by_seed: Sequence[float]) -> list[Planted]:
    """Runs whose reasoning anchors lie on arcs with these steps, snapshot for snapshot, at epochs 1, 3, 6, …"""
    specs = [s for s in bias_specs("laptop") if s.gamma == SMALL]
    lie = lambda spec, steps: dict(zip(dict(spec.task)["keep"], (lying(alike(0.5), on_an_arc(a)) for a in steps), strict=False))
    return [planted(spec, kept=lie(spec, steps)) for spec, steps in zip(specs, by_seed, strict=False)]


def test_near_and_far_anchors_part_by_hand() -> None:
    """cos a − cos 9 a on an arc: .195 with steps of .071, .205 with .073. Seeds are averaged, and the first time counts."""
    gap = lambda a: np.cos(a) - np.cos(9 * a)
    assert gap(0.071) < 0.2 < gap(0.073)
    assert embeddings.parted(arcs([0.071, 0.073])) == 3
    assert embeddings.parted(arcs([0.01, 0.02, 0.071])) == float("inf")
    assert embeddings.parted(arcs([0.0, 0.073, 0.0])) == 3  # later it may close again
    assert embeddings.parted(arcs([0.073], [0.0])) == float("inf")
    runs = arcs([0.0, 0.05, 0.1], [0.05, 0.1, 0.15])
    for i, (epoch, later) in enumerate(((1, 3), (3, 6), (6, float("inf")))):
        mean = (gap(0.05 * i) + gap(0.05 * i + 0.05)) / 2
        assert embeddings.parted(runs, mean - 1e-9) == epoch
        assert embeddings.parted(runs, mean + 1e-9) == later


def test_order_in_all_dimensions_and_in_the_plane(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, of the runs with weights alone, lie on a line, what is not a key far off it. A larger pair of values hides the
    reasoning anchors' order in the plane; that of memory anchors there is none of."""
    tokens = torch.full((200, 11), 1e3) * torch.tensor([(-1.0) ** i for i in range(200)])[:, None]
    tokens[21:121] = torch.arange(100.0)[:, None] * torch.eye(11)[3]
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: self.spec.seed > 0))
    weights = lambda run: {"embedding.token": tokens if run.spec.seed else 0 * tokens}
    monkeypatch.setattr(StoredRun, "weights", weights)
    hidden = np.hstack([np.arange(10.0)[:, None], 12 * np.eye(10)])
    hidden[:, 1:3] += 15 * np.eye(2)[np.arange(10) % 2]
    specs = [s for s in bias_specs("laptop") if s.gamma == SMALL and s.seed < 3]
    wrong = lying(on_an_arc(), SHUFFLED)
    runs = [planted(s, kept={200: lying(SHUFFLED, hidden * (1 + s.seed)), 400: wrong}) for s in specs]
    entire = {"reasoning": 0.3, "memory": -0.2, "key": 0.9}
    monkeypatch.setattr(embeddings, "plane_orders", lambda run: {k: v + 0.01 * run.spec.seed for k, v in entire.items()})
    lines = embedding_prose.order_text((runs, 200)).split("\n")
    said = lambda v: f"{numerical_order(v):.2f} | {embeddings.order(v):.2f}"
    assert lines[-1].startswith("To keep it takes a correlation of at least 0.75 in every column; below 0.25 ")
    assert lines[-5:-2] == [
        f"| memory anchors | {said(SHUFFLED)} | −0.19, −0.18 |".replace("-", "−"),
        f"| reasoning anchors | {said(hidden)} | 0.31, 0.32 |",
        "| keys | 1.00 | 1.00 | 0.91, 0.92 |",
    ]
    assert lines[0] == (
        "In the transformer, late, keys keep the order of numbers, memory anchors do not, and reasoning anchors keep it "
        "loosely:"
    )
    assert numerical_order(hidden) != pytest.approx(embeddings.order(hidden), abs=0.005)


def test_check_values_of_the_theory_as_plotted() -> None:
    """Cosines of Eq. 14 without noise at width 200 by distance, calculated independently."""
    expected = (0.959, 0.844, 0.683, 0.507, 0.344, 0.213, 0.118, 0.057, 0.022)
    np.testing.assert_allclose(embeddings.by_lag(embeddings.theories(200)["Eq. 14"]), expected, atol=6e-4)


def test_mass_of_groups_in_words() -> None:
    runs = [r for r in grouped(lambda seed, i: 0.8 + 0.05 * i) if dict(r.spec.task)["memory"] == "groups"]
    assert memory_prose.groups_line(runs) == "mass inside the range of groups 1 to 4: " + ", ".join(
        f"{v:.2f} ± 0.00" for v in (0.85, 0.9, 0.95, 1.0)
    )


# ---------------------------------------------------------------- arrays and lines of chapter 11


def attentive() -> list[Planted]:
    """Two seeds at each of the paper's γ: attention off by γ / 10 at a twentieth of training, by 1.5 γ / 10 at the end."""
    found = []
    for spec in [s for s in bias_specs("laptop") if s.gamma in (LARGE, MIDDLE, SMALL) and s.seed < 2]:

        def at(factor: float, spec: RunSpec = spec) -> dict[str, Tensor]:
            anchors = torch.eye(20, 20)
            anchors[10:] = torch.eye(20)[10]
            return {
                "attention": causal_average(9) + 0.1 * spec.gamma * factor * torch.eye(9),
                "deviation": torch.full((9, 9), 0.2 * spec.gamma * factor),
                "spectrum": torch.tensor([4.0 + spec.seed, 2.0, 1.0, 0.5, 0.25]) * factor,
                "direction": torch.eye(20)[10],
                "anchors": anchors,
            }

        kept = {200: at(0.5), 2000: at(1.0), 40_000: at(1.5)}
        found.append(planted(spec, kept=kept))
    return found


def test_attention_in_arrays_and_words(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = attentive()
    matrices, drawn = attention.matrices(runs, 1)
    assert [(r.spec.gamma, r.spec.seed) for r in drawn] == [(LARGE, 1), (SMALL, 1)]
    average = causal_average(9).numpy()
    offs = {title: float(np.diagonal(m - average).mean()) for title, m in matrices.items()}
    expected = {"γ = 0.3, early": 0.03, "γ = 0.8, early": 0.08, "γ = 0.8, at the end": 0.12}
    assert offs == pytest.approx(expected, abs=1e-4)
    assert attention_prose.causal_line({"early": average + 0.04 * np.eye(9), "before": average + 3e-6}) == (
        "largest distance from 1 / i: 0.04 (early), 3 × 10⁻⁶ (before)"
    )
    assert "epoch 10, small initialization is nearer to 1 / i than large in none of 2 seeds (" in attention_prose.early_text(
        runs
    )
    assert "(0.08 ± 0.00 at γ = 0.8, 0.03 ± 0.00 at γ = 0.3; " in attention_prose.early_text(runs)
    found = attention.deviations_at(runs)
    assert list(found) == ["epoch 1", "epoch 10", "epoch 200"]
    assert found["epoch 200"][SMALL] == pytest.approx([0.24, 0.24])
    spectra = attention.spectra(runs, (LARGE, 0.99))
    assert list(spectra) == ["γ = 0.3"]
    assert spectra["γ = 0.3"][:, 0].tolist() == [4, 5]
    (epochs, kinds), *_ = attention.alignment(runs, (SMALL,)).values()
    assert epochs.tolist() == [1, 10, 200]
    np.testing.assert_allclose(kinds["reasoning"], np.ones((2, 3)))
    np.testing.assert_allclose(kinds["memory"], np.zeros((2, 3)))
    epochs, values = attention.leading(stored.at(runs, LARGE), 3)
    assert epochs.tolist() == [1, 10, 200]
    np.testing.assert_allclose(values[1], [[2.5, 1, 0.5], [5, 2, 1], [7.5, 3, 1.5]])
    line = attention_prose.alignment_line(stored.at(runs, SMALL))
    assert line.startswith("γ = 0.8: first over second singular value 2.25 ± 0.35; alignment with anchors: memory 0.00")
    monkeypatch.setattr(attention, "deviation_at_start", lambda spec: 0.5 if spec.gamma == LARGE else 0.001)
    assert attention_prose.start_line("laptop").startswith("0.5 at γ = 0.3, 0.001 at γ = 0.4, ")


def aligned_runs() -> list[Planted]:
    """Three seeds at small initialization with four snapshots. Cosines with reasoning anchors grow and are negative as often
    as not, those with memory anchors are a tenth."""
    found = []
    for spec in [s for s in bias_specs("laptop") if s.gamma == SMALL and s.seed < 3]:

        def at(factor: float, spec: RunSpec = spec) -> dict[str, Tensor]:
            reasoning = factor * (0.2 + 0.1 * spec.seed)
            cosine = torch.tensor([reasoning / 10] * 10 + [reasoning] * 10) * torch.tensor([1.0, -1.0]).repeat(10)
            deviation = torch.zeros(9, 9)
            deviation[3, 1] = factor * (0.01 + 0.02 * spec.seed)
            return {
                "anchors": 2 * torch.stack([cosine, (1 - cosine**2).sqrt()], 1),
                "direction": torch.tensor([1.0, 0.0]),
                "spectrum": torch.tensor([2.0 + spec.seed, 1.0 / factor, 0.1]),
                "deviation": deviation,
            }

        found.append(planted(spec, kept={200: at(0.5), 600: at(1.0), 2000: at(2.0), 40_000: at(2.5)}))
    return found


def test_the_lemma_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """ε is the largest of all entries: before training, and its range over seeds at the end."""

    def text(before: float) -> str:
        monkeypatch.setattr(attention, "deviation_at_start", lambda spec: before * (1 + spec.seed))
        return attention_prose.lemma_text(aligned_runs())

    assert text(2e-6) == (
        "The lemma holds before training, and not in it: at γ = 0.8, ε is at most 6 × 10⁻⁶ before it, and 0.03 to 0.1 at its "
        "end (range over seeds)."
    )
    assert text(0.1).startswith("The lemma does not hold even before training: at γ = 0.8, ε is at most 0.3 before it")
    still = {step: {"deviation": torch.full((9, 9), 0.009)} for step in (200, 2000, 40_000)}
    monkeypatch.setattr(attention, "deviation_at_start", lambda spec: 1e-3)
    calm = [planted(run.spec, kept=still) for run in aligned_runs()]
    assert attention_prose.lemma_text(calm).startswith("The lemma holds before training and in it: ")
    early = {200: {"deviation": torch.full((9, 9), 0.005)}, 600: {"deviation": torch.full((9, 9), 0.3)}}
    begun = [planted(run.spec, kept=still | early) for run in aligned_runs()]
    assert attention_prose.lemma_text([replace(run, kept=dict(sorted(run.kept.items()))) for run in begun]).startswith(
        "The lemma holds before training and until epoch 1 (ε at most 0.005), in every seed, but no longer at epoch 3 (0.3"
    )
    mixed = [planted(run.spec, kept={200: {"deviation": torch.ones(9, 9)}}) for run in aligned_runs()[:1]]
    mixed = [replace(run, kept={200: {}} | run.kept) for run in (*calm[:1], *mixed)]
    mixed = [replace(run, kept={200: run.kept[200]}) for run in mixed]
    assert attention_prose.lemma_text(mixed).startswith("The lemma holds in part: ")


def test_directions_in_words() -> None:
    """The second snapshot, and the one at a twentieth of training."""
    lines = attention_prose.direction_text(aligned_runs()).split("\n")
    assert lines[0] == (
        "A direction that stands out and lies along the reasoning anchors alone is seen 2 times: at epoch 3 one stands out in "
        "all 3 seeds, and on average the first direction lies more along the reasoning anchors; at epoch 10 one stands out in "
        "all 3 seeds, and on average the first one lies more along the reasoning anchors. To stand out, its singular value "
        "must be at least 2 times the second."
    )
    assert lines[2] == "Seed by seed at γ = 0.8, |cosines| of the first direction:"
    even = {"anchors": torch.eye(20)[[0] * 20], "direction": torch.eye(20)[0], "spectrum": torch.tensor([1.5, 1.0, 0.1])}
    text = attention_prose.direction_text([planted(aligned_runs()[0].spec, kept={200: even, 2000: even, 40_000: even})])
    assert "stands out in none of 1 seeds" in text
    assert "on average the first direction lies along both kinds of anchors alike." in text
    assert "is seen at neither time in any seed:" in text
    assert lines[-2:] == [
        "| 3 | 2.00, 3.00, 4.00 | 0.20, 0.30, 0.40 | 0.02, 0.03, 0.04 |",
        "| 10 | 4.00, 6.00, 8.00 | 0.40, 0.60, 0.80 | 0.04, 0.06, 0.08 |",
    ]
    assert [line.count("|") for line in lines[4:]] == [5] * 4


def test_single_sequences_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = aligned_runs()
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: False))
    assert attention_prose.singles_text(runs).startswith("No weights of these runs are kept")
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: True))
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.8, "attention.1": 0.1})
    found = {"memory": (0.05, 0.09), "reasoning": (0.08, 0.3)}
    monkeypatch.setattr(attention, "from_average", lambda run: found)
    text, rows = attention_prose.singles_text(runs).split("\n\n")
    assert text == (
        "Part of what single sequences select cancels in the mean: averaged over reasoning sequences the first attention is "
        "within 0.1 of 1 / i in all 3 seeds, that of a single one in none of 3. The answers need what it selects: with the "
        "causal average in its place right answers to new reasoning rows fall from 0.80 to 0.10."
    )
    assert rows.split("\n")[2] == "| 0 | 0.05 | 0.09 | 0.08 | 0.30 |"
    found["reasoning"] = (0.3, 0.3)
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.8, "attention.1": 0.7})
    text = attention_prose.singles_text(runs)
    assert text.startswith(
        "Single sequences are as near the average as their mean: averaged over reasoning sequences the first "
    )
    assert "is within 0.1 of 1 / i in none of 3 seeds, that of a single one in none of 3." in text
    assert "The answers need little of what it selects: with the causal average in its place 0.70 of 0.80 stay right." in text


def test_the_verdict_on_attention_tells_means_from_single_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [replace(run, kept={k: v | {"attention": causal_average(9)} for k, v in run.kept.items()}) for run in aligned_runs()]
    monkeypatch.setattr(attention, "deviation_at_start", lambda spec: 1e-3)
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: False))
    begun = "At small initialization the first attention starts as a plain average"
    assert attention_prose.answer(runs, runs) == (
        f"{begun} and mostly stays one. Its value matrix has one leading direction in all 3 seeds at epoch 3, in all 3 seeds "
        "at epoch 10."
    )
    assert attention_prose.verdict(runs, runs).split("\n")[4:] == [
        "| before training the first attention is an average | yes |",
        "| in most of training it still is, in the mean over sequences, within 0.1 | in all 3 seeds |",
        "| … and in every single sequence | in 2 of 3 seeds |",
        "| at epoch 3 one singular value stands far above the others | in all 3 seeds |",
        "| at epoch 10 one singular value stands far above the others | in all 3 seeds |",
        "| early, its direction lies along the reasoning anchors | in 2 of 3 seeds |",
    ]
    monkeypatch.setattr(attention, "near_average", lambda run, single=False: float(not single))
    assert attention_prose.answer(runs, runs).startswith(
        f"{begun}; in training it stays within 0.1 of one in all 3 seeds, and only in the mean over many sequences. "
    )
    monkeypatch.setattr(attention, "near_average", lambda run, single=False: 0.0)
    assert attention_prose.answer(runs, runs).startswith(f"{begun} and does not stay one. ")
    monkeypatch.setattr(attention, "deviation_at_start", lambda spec: 0.1)
    monkeypatch.setattr(attention, "gap", lambda run, step: 1.9)
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: True))
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.8, "attention.1": 0.1})
    monkeypatch.setattr(attention, "reading", lambda run: np.full((2, 7, 4), 0.9))
    assert attention_prose.answer(runs, runs) == (
        "At small initialization the first attention is no plain average even before training, and the trained models need "
        "what it selects. Its value matrix has one leading direction in none of 3 seeds at epoch 3, in none of 3 seeds at "
        "epoch 10, and in all 3 trained models the second attention finds the key, as the paper describes."
    )
    rows = attention_prose.verdict(runs, runs).split("\n")[4:]
    assert rows[0].endswith("| no |")
    assert rows[3:5] == [
        "| the trained models answer as well with the average in its place | no |",
        "| at epoch 3 one singular value stands far above the others | in none of 3 seeds |",
    ]
    assert rows[-1] == "| the second attention finds the key wherever it stands | in all 3 models |"
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.8, "attention.1": 0.5})
    assert "need little of what it selects" in attention_prose.answer(runs, runs)
    assert "| the trained models answer as well with the average in its place | yes |" in attention_prose.verdict(runs, runs)


def test_kinds_of_solutions_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: True))
    runs = [planted(s) for s in TWELVE if s.gamma == SMALL][:4]
    by_key = np.array([[[0.2, 0.2, 0.2, 0.4]] * 7, [[0.9, 0.05, 0.05, 0.0]] * 7])
    by_anchor = np.array([[[0.9, 0.0, 0.0, 0.1]] * 7, [[0.0, 0.5, 0.4, 0.1]] * 7])
    neither = np.full((2, 7, 4), 0.25)

    def line(*kinds: np.ndarray) -> str:
        by = dict(zip((run.spec.seed for run in runs), kinds, strict=False))
        monkeypatch.setattr(attention, "reading", lambda run: by[run.spec.seed])
        shares = {seed: 0.9 if kind is by_key else 0.5 for seed, kind in by.items()}
        monkeypatch.setattr(attention, "averaged", lambda run: {"": shares[run.spec.seed]})
        return attention_prose.solutions_line(runs[: len(kinds)])

    assert line(by_key, by_key) == (
        "Of 2 models, 2 read the key with the second attention, as the paper describes (new reasoning rows right: 0.90 ± 0.00)."
    )
    text = line(by_key, by_anchor, by_anchor)
    assert "Of the other 2, all bring the key to the second anchor in layer 1" in text
    assert text.endswith("the paper's way is one of two, at our size the less frequent, and the better on new rows.")
    text = line(by_key, by_anchor, neither)
    assert "Of the other 2, 1 bring the key" in text
    assert "one of two" not in text
    assert line(by_anchor).startswith(
        "Of 1 models, none read the key with the second attention, as the paper describes. Of the "
    )


def test_ablations_in_words() -> None:
    more = lambda name, gamma, seed: 302 + seed if gamma == SMALL else 150
    text = lambda ratio, **how: attention_prose.ablations_text(attention.ablated(Shelf(ablated(ratio, **how)), "laptop"))
    every = "no norms, no output matrix, learning rate / 2.5, learning rate × 2"
    assert text(more) == f"The bias stays (every ratio at γ = 0.8 above every one at 0.3) with: {every}."
    assert text(lambda n, g, s: 250).startswith(
        "The bias stays (every ratio at γ = 0.8 above every one at 0.3) in no variant. "
    )
    assert f"It does not stay with: {every}. At γ = 0.3, too, memory takes at least twice" in text(lambda n, g, s: 250)
    assert "too, memory" not in text(lambda n, g, s: 199)
    untold = text(lambda n, g, s: None if (n, g) == ("no norms", LARGE) else more(n, g, s))
    assert "It cannot be told with: no norms, where ratios at γ = 0.3 are lower bounds." in untold


def test_solutions_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Means over places; the two anchors' shares are added; runs without weights are left out."""
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: self.spec.seed > 1))

    def reading(run: StoredRun) -> np.ndarray:
        found = np.zeros((2, 7, 4))
        found[0], found[1] = (0.11, 0.99, 0.99, 0.99), (0.22, 0.03, 0.3, 0.45)
        found[:, 0, 0] += 0.07 * run.spec.seed  # a seventh of it is in the mean
        return found

    monkeypatch.setattr(attention, "reading", reading)
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.1 * run.spec.seed, "attention.1": 0.9, "attention.2": 0.8})
    runs = [planted(s, **{"held out": 0.25 * s.seed, "reasoning": 0.99}) for s in bias_specs("laptop") if s.gamma == SMALL]
    lines = attention_prose.solutions_text(runs).split("\n")
    assert lines[2:4] == ["| 2 | 0.13 | 0.24 | 0.33 | 0.20 | 0.50 |", "| 3 | 0.14 | 0.25 | 0.33 | 0.30 | 0.75 |"]
    assert lines[4] == "| causal average | 0.19 | 0.11 | 0.22 | – | – |"
    assert [line.count("|") for line in lines] == [7] * 5


@pytest.mark.parametrize("width", [16, 64, 200])
def test_chance_is_what_random_directions_have(width: int) -> None:
    """To the order 1 / d: the mean |cosine| is Γ(d / 2) / (√π Γ((d + 1) / 2)) exactly."""
    spec = bias_specs("laptop")[0]
    found = attention.chance(planted(replace(spec, model=replace(spec.model, d_model=width))))
    rng = np.random.default_rng(width)
    one, other = rng.normal(size=(2, 20_000, width))
    cosine = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    assert found == pytest.approx(np.abs(cosine).mean(), rel=0.03)
    exact = math.exp(math.lgamma(width / 2) - math.lgamma((width + 1) / 2)) / math.pi**0.5
    assert found == pytest.approx(exact, rel=0.3 / width)


def test_readings_are_of_runs_with_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: self.spec.seed > 0))
    monkeypatch.setattr(attention, "reading", lambda run: np.full((2, 7, 4), 0.1) * np.array([1, 2])[:, None, None])
    runs = [planted(s) for s in bias_specs("laptop") if s.gamma == SMALL]
    found = attention.readings(runs)
    assert list(found) == ["seed 1", "seed 2", "seed 3"]
    assert {each.shape for each in found.values()} == {(2, 7, 4)}
    line = attention_prose.reading_line(runs)
    assert line.count("key 0.20, first anchor 0.20, second anchor 0.20, noise 0.20") == 3
    weights = lambda run: {
        "itself": (0.9, 0.0),
        "same place": (0.8, 0.1),
        "other place": (0.1, 0.6 if run.spec.seed > 1 else 0.4),
    }
    monkeypatch.setattr(attention, "moved", weights)
    shares = {"": 1.0, "attention.1": 0.25, "attention.2": 0.5}
    monkeypatch.setattr(attention, "averaged", lambda run: shares)
    text = attention_prose.causes_text(runs)
    parts = (
        "Only the first attention is: with the causal average for it most right answers are lost, for the second most stay.",
        "| 2 | 1.00 | 0.25 | 0.50 |",
        "| 1 | 0.90 | 0.80 | 0.10 | 0.40 |\n| 2 | 0.90 | 0.80 | 0.10 | 0.60 |",
        "In all 3 seeds most of the second attention rests on the key. In 2 of 3 of these it goes to *where*",
    )
    for part in parts:
        assert part in text


# ---------------------------------------------------------------- which parts fail, and what is said elsewhere


def test_a_grade_names_the_parts_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """In words of the criterion, or by group, seed, model and time, or ablation where each is a part."""
    rising = transformers(lambda s: round(100 + 1000 * s.gamma), lambda s: 300)
    for id, runs, parts in (
        ("bias-large-together", transformers(lambda s: 149, lambda s: 4000), ["the held-out loss halves in no run"]),
        ("bias-small-reasoning-first", rising, ["in every run held-out pairs take at most 1.5 times as long"]),
        ("bias-grows", rising, []),
        ("bias-table-window", tables([999] * 4, [1.1] * 4), ["in every seed a lower loss at the end"]),
    ):
        assert failed(id, runs) == parts
        asks(id, *parts)
    assert failed("bias-table-groups", grouped(lambda seed, i: 0.8 if (seed, i) == (1, 3) else 1)) == ["group 3"]
    odd = lies(lambda m, t: (alike(0.4 if (m, t) == ("transformer", "late") else 0.6), on_an_arc()))
    assert failed("embedding-memory-alike", odd) == ["transformer late"]
    assert failed("embedding-flow-emb-mlp", flowing(monkeypatch, lambda spec, exact: 0.24, 0.94)) == ["cosine at least .95"]
    monkeypatch.setattr(attention, "reading", lambda run: np.full((2, 7, 4), 0.7 if run.spec.seed > 3 else 0.9))
    assert failed("attention-second-key", map(planted, TWELVE)) == ["in at least 75% of the seeds"]
    less = lambda n, g, s: 301 if g == SMALL and n != "no head" else 298
    assert failed("attention-ablations", ablated(less)) == ["no output matrix"]


def whole(spec: RunSpec) -> Planted:
    """A run with a snapshot that every analysis can read."""
    lie = {"anchors": torch.nn.functional.pad(lying(alike(0.5), on_an_arc())["anchors"], (0, spec.model.d_model - 11))}
    kept = lie | {
        "attention": causal_average(9),
        "deviation": torch.zeros(9, 9),
        "spectrum": torch.tensor([2.0, 1.0, 0.5]),
        "direction": torch.eye(spec.model.d_model)[0],
        "groups": torch.ones(4, 200) / 200,
    }
    return planted(spec, {"reasoning": 100, "memory": 300, "held out": 100}, kept=dict.fromkeys(dict(spec.task)["keep"], kept))


@pytest.mark.parametrize("id", sorted(BY_ID))
def test_what_is_judged_is_in_the_criterion(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that could not be found there would tell a reader nothing; where the parts are many alike, it says so."""
    seen: list[str] = []
    for chapter in (claims.attention, claims.embeddings, claims.memory_and_reasoning):
        monkeypatch.setattr(chapter, "graded", lambda parts: seen.extend(parts) or graded(parts))
    monkeypatch.setattr(attention, "reading", lambda run: np.ones((2, 7, 4)))
    monkeypatch.setattr(attention, "moved", lambda run: {"itself": (1.0, 0.0), "other place": (0.0, 1.0)})
    monkeypatch.setattr(embeddings, "plane_orders", lambda run: dict.fromkeys(("reasoning", "memory", "key"), 0.6))
    specs = [*TWELVE, *EMB.specs("laptop"), *table_specs("laptop"), *many_rows_specs("laptop")]
    groups = (group for part in (ablation_specs, long_specs) for group in part("laptop").values())
    runs = [whole(s) for s in (*specs, *(s for group in groups for s in group))]
    if id in FLOWS:
        runs = flowing(monkeypatch, lambda spec, exact: 0.1, 0.96)
    BY_ID[id].evaluate(Shelf(runs), "laptop")
    criterion = BY_ID["embedding-flow-emb-mlp" if id in FLOWS else id].criterion  # of the others it is "the same"
    assert seen
    assert all(part in criterion for part in seen) or "one part for each" in criterion


def test_what_a_training_set_holds_is_told_at_any_size() -> None:
    """An advantage of storing rows is told only where entries hardly come twice, the paper's size only of smaller ones."""
    ours, paper, new = (memory_prose.coverage_text(rows) for rows in (20_000, 200_000, 0))
    assert "At the paper's size nearly every entry occurs" in ours
    assert ours.endswith("nearly as good to store a row as to store an entry.")
    assert "Our 200,000 rows hold 9,999 of the 10,000 entries of the table, each 10.1 times" in paper
    assert "the paper's" not in paper
    assert "as good" not in paper
    assert new == "Every row is new, so that all 10,000 entries of the table come again and again."
    assert "as good" not in memory_prose.coverage_text(60_000)  # each three times


def test_how_much_was_stored_is_told_by_the_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: True))
    run = lambda **final: of_shares(0, [4, 2, 1], [0, 0.5, 0.9], [0, 0.5, 0.9], **final)

    def end(trained: float, new: float, held: float) -> str:
        monkeypatch.setattr(attention, "averaged", lambda run: {"": new})
        return memory_prose.accuracy_text([run(reasoning=trained, **{"held out": held})]).split("of reasoning. ")[1]

    assert end(0.9, 0.6, 0.4).startswith("Much of the distance")
    assert end(0.9, 0.8, 0.4).startswith("Less than half of the distance")
    assert end(0.8, 0.7, 0.9) == "At the end no fewer of the held-out pairs are right than of the trained rows."
    not_finite = run(reasoning=0.9, **{"held out": 0.4})
    not_finite = replace(not_finite, history=not_finite.history | {"held out": [0.0, 0.5, None]})
    assert " 50% of the held-out rows" in memory_prose.accuracy_text([not_finite])


def test_noise_is_told_by_the_held_out_pairs() -> None:
    runs = lambda share: [
        planted(replace(s, gamma=g), **{"held out": share}) for s in EMB.specs("laptop")[:1] for g in (0.3, 0.8)
    ]
    assert memory_prose.noise_text(runs(0.02), runs(0.6)).startswith(
        "Once there is noise, attention is needed. Emb-MLP on all nine tokens knows 2% of the held-out pairs at most, at any "
        "time of any run, against 60% on average without noise (γ = 0.8): "
    )
    assert memory_prose.noise_text(runs(0.5), runs(0.6)) == (
        "On all nine tokens, too, Emb-MLP finds held-out pairs: 50% on average at γ = 0.8."
    )


def test_memory_anchors_in_words_where_all_is_otherwise() -> None:
    """Anchors that stay apart though they have moved, a transformer's that are alike, and few rows, which may be why."""
    emb = [planted(s, kept={400: went(s, np.eye(10), on_an_arc())}) for s in EMB.specs("laptop")[:1]]

    def text(level: float, rows: int) -> str:
        spec = bias_specs("laptop")[0]
        spec = replace(spec, task=tuple((dict(spec.task) | {"rows": rows}).items()))
        deep = [planted(spec, kept={400: lying(alike(level), on_an_arc())})]
        return embedding_prose.memory_text({"Emb-MLP early": (emb, 400), "transformer late": (deep, 400)})

    assert "Their random start is not most of what keeps them from 1" in text(0.2, 20_000)
    assert "is mostly their random start" not in text(0.2, 20_000)
    assert "does not explain this" in text(0.2, 20_000)
    assert "may explain this" in text(0.2, 600)
    assert text(0.6, 600).endswith("In the transformer they are alike at some snapshot, too (0.60, mean over seeds).")


def test_what_attention_goes_by_is_told_of_the_seeds_that_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [planted(s) for s in bias_specs("laptop") if s.gamma == SMALL]
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: False))
    assert attention_prose.causes_text(runs).endswith("No weights of these runs are kept, so that this cannot be asked.")
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: True))
    monkeypatch.setattr(attention, "averaged", lambda run: dict.fromkeys(attention.AVERAGED, 0.5))
    moved = lambda there: lambda run: {"itself": (0.9, 0.0), "same place": (0.2, 0.1), "other place": (0.1, there)}
    monkeypatch.setattr(attention, "moved", moved(0.4))
    text = attention_prose.causes_text(runs)
    assert text.endswith(
        "In none of 4 of these it goes to *where* the other sequence's key is, whichever key it is. So it does not go by place."
    )
    assert "could hardly do otherwise" not in text
    assert "Neither attention is much" in text
    monkeypatch.setattr(attention, "moved", moved(0.5))
    assert "In all 4 of these it goes to *where*" in attention_prose.causes_text(runs)
    monkeypatch.setattr(attention, "moved", lambda run: dict.fromkeys(("itself", "same place", "other place"), (0.0, 0.1)))
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.9, "attention.1": 0.1, "attention.2": 0.2})
    text = attention_prose.causes_text(runs)
    assert text.endswith(
        "In no seed, then, does most of the second attention rest on the key, so that there is nothing to follow."
    )
    assert "Both attentions are: " in text


@pytest.mark.parametrize("gamma", [0.4, 1.0, 1.3])
def test_a_readers_own_gamma_is_told_alone(gamma: float) -> None:
    """One γ, one seed, a loss that never halves: sentences and tables hold no more than there is."""
    spec = replace(bias_specs("laptop")[0], gamma=gamma, seed=7)
    learns, fails = planted(spec, {"reasoning": 100, "memory": 200, "held out": 100}), planted(spec)
    assert f"| {gamma:g} | 1.0 | 0.5 | 0.5 | 0.00 |" in memory_prose.training_text([learns], [gamma])
    assert f"| {gamma:g} | never | never | never | 0.00 |" in memory_prose.training_text([fails], [gamma])
    assert memory_prose.accuracy_text([fails]) == "The held-out loss does not halve."
    assert "so there is no ratio" in memory_prose.bias_text({"one": [fails]})
    diverged = replace(fails, history=fails.history | {"held out": [None]})
    assert f"| {gamma:g} | never | never | never | nan |" in memory_prose.training_text([diverged], [gamma])
