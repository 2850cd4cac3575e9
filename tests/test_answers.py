"""What is read from the histogram of answers to (4, 3), by hand; and the sentences, which must follow the numbers."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import make_tiny_spec
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt

from lib.composition import diagram
from lib.composition.diagram import GAMMAS, HEADLINE, PHASE, gain, gamma_of_gain
from lib.composition.phase_diagram import claims, figures, metrics, prose
from lib.composition.runs import clearest, learned, learned_at, offsets_by_key
from lib.composition.study import OFFSETS, Composition
from lib.composition.task import PAIRS, SEEN_PAIRS, composed
from lib.core.read.claim import NOT_REPRODUCED, PARTLY, REPRODUCED
from lib.core.record.spec import SpecError
from lib.core.record.store import Store, StoredRun
from lib.core.train.loop import train
from lib.core.train.plan import Options


def planted(
    offsets: dict[int, int], low: dict[int, int] | None = None, gamma: float = 0.5, seed: int = 0, **more: float
) -> StoredRun:
    """A run that answered each offset so often; an offset outside OFFSETS is among the rest."""

    def row(counted: dict[int, int]) -> list[int]:
        return [counted.get(o, 0) for o in OFFSETS] + [sum(n for o, n in counted.items() if o not in OFFSETS)]

    total = sum(offsets.values())
    metrics = {"test": 1.0, "train": 1.0, "symmetric": offsets.get(-6, 0) / total, "inferential": offsets.get(-10, 0) / total}
    metrics |= {"offsets": row(offsets), "offsets_low": row(low or {}), **more}
    spec = make_tiny_spec(gamma=gamma, seed=seed)
    where = Path(f"{spec.key}-{sorted(offsets.items())}-{sorted((low or {}).items())}.json")
    return StoredRun(
        spec, metrics, {"step": [10, 20], "train": [0.5, 1.0], "test": [0.4, 0.9]}, 20, "fitted", None, 1.0, {}, where
    )


def test_shares_are_of_all_answers() -> None:
    run = planted({-6: 2, -10: 5, -13: 1, 40: 2})
    assert metrics.share_of(run, [-6]) == pytest.approx(0.2)
    assert metrics.share_of(run, [-13, -10]) == pytest.approx(0.6)
    assert metrics.nearer(run) == pytest.approx({"symmetric": 0.2, "inferential": 0.6})
    assert metrics.kind(run) == "inferential"
    assert metrics.shares(run).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("offsets", "kind", "median"),
    [
        ({-6: 10}, "symmetric", -6),
        ({-7: 6, -10: 4}, "symmetric", -7),
        ({-9: 6, -6: 4}, "inferential", -9),
        ({-8: 10}, "neither", -8),
        ({-6: 5, -10: 5}, "neither", -8),
        ({50: 6, -10: 4}, "neither", -10),
    ],
)
def test_the_second_reading(offsets: dict[int, int], kind: str, median: float) -> None:
    assert metrics.kind(planted(offsets)) == kind
    assert metrics.median_offset(planted(offsets)) == median


@given(st.dictionaries(st.sampled_from(list(OFFSETS)), st.integers(1, 9), min_size=1))
def test_the_median_is_numpys(offsets: dict[int, int]) -> None:
    flat = [o for o, n in offsets.items() for _ in range(n)]
    assert metrics.median_offset(planted(offsets)) == np.median(flat)


def test_no_offset_in_range_has_no_median() -> None:
    assert math.isnan(metrics.median_offset(planted({60: 3})))


def test_keys_from_30_on_are_counted_apart() -> None:
    assert metrics.exact_above(planted({-10: 8, -6: 4}, {-10: 2, -6: 3})) == pytest.approx(6 / 7)


def test_learned_by_the_training_rows_where_they_were_asked() -> None:
    run = planted({-6: 1}, train=0.98, test=1.0)
    assert not learned(run)
    assert learned(planted({-6: 1}, train=0.99, test=0.5))
    older = dataclasses.replace(run, metrics={"test": 0.91}, history={"step": [10], "test": [0.99]})
    assert learned(older)
    assert learned_at(older) == 10
    assert learned_at(run) == 20
    assert math.isinf(learned_at(dataclasses.replace(run, history={"step": [10], "train": [0.5]})))


def test_teachers_by_hand() -> None:
    """Key 20 asks for 10, which only 26 under (4, 4), taught as −16, gives; key 99 asks for 89."""
    taught = metrics.teachers()
    assert taught[0] == 1
    offsets = [-6 if pair == (3, 4) else composed(pair) for pair in PAIRS if pair != (4, 3)]
    assert len(offsets) == len(SEEN_PAIRS)
    assert taught[-1] == sum(20 <= 89 - o <= 99 for o in offsets)


def row(symmetric: float, inferential: float, gamma: float, seed: int = 0) -> StoredRun:
    n = 100
    rest = n - round(n * symmetric) - round(n * inferential)
    return planted({-6: round(n * symmetric), -10: round(n * inferential), 30: rest}, gamma=gamma, seed=seed)


def test_a_flip_needs_both_ends_and_their_order() -> None:
    clean = [row(1.0, 0.0, 0.3), row(0.5, 0.4, 0.5), row(0.0, 0.9, 0.8)]
    assert metrics.ends(clean).flips
    assert metrics.ends(clean).gamma == {"symmetric": 0.3, "inferential": 0.8}
    assert not metrics.ends([row(0.0, 1.0, 0.3), row(1.0, 0.0, 0.8)]).flips  # the wrong way round
    assert not metrics.ends([row(1.0, 0.0, 0.3), row(0.3, 0.7, 0.8)]).flips  # not by half
    with pytest.raises(ValueError, match="needs runs"):
        metrics.ends([])


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        ([row(1.0, 0.0, 0.3), row(0.0, 1.0, 0.8)], "γ alone turns the symmetric answer"),
        (
            [row(0.6, 0.2, 0.3), row(0.3, 0.5, 0.8)],
            "by half of all answers; the symmetric answer leads at 1 of 2 γ",
        ),
        ([row(0.0, 1.0, 0.3), row(1.0, 0.0, 0.8)], "is not strongest at the smaller weights"),
    ],
)
def test_the_sentence_follows_the_numbers(runs: list[StoredRun], says: str) -> None:
    assert says in prose.flip_text("Here", runs)


def rows_of(*shares: tuple[float, float, float]) -> list[StoredRun]:
    """Three runs for each (symmetric, inferential, γ)."""
    return [row(*these, seed) for these in shares for seed in range(3)]


TURNS, BACK = rows_of((1.0, 0.0, 0.3), (0.0, 0.9, 0.8)), rows_of((0.0, 1.0, 0.3), (1.0, 0.0, 0.8))
WEAK = rows_of((0.6, 0.2, 0.3), (0.3, 0.5, 0.8))
BY_ENDS = rows_of((0.0, 0.9, 0.2), (1.0, 0.0, 0.3), (0.6, 0.4, 0.5), (1.0, 0.0, 0.7), (0.0, 1.0, 0.8), (0.9, 0.0, 1.0))
"""Each answer leads where it is strongest, in this order, but the lean does not rise with γ."""


def test_the_answer_names_the_sets_that_clearly_turn() -> None:
    said = "with two layers, smaller initial weights alone turn the symmetric answer into the inferential one in "
    assert prose.answer_text({"one set": TURNS}) == f"Yes: {said}one set."
    assert prose.answer_text({"one set": TURNS, "two": TURNS, "three": WEAK}) == (
        f"Partly: {said}one set and two, but not clearly in three."
    )
    assert metrics.ends(BY_ENDS).flips
    assert prose.answer_text({"three": WEAK, "four": BACK, "five": BY_ENDS}) == f"No: {said}none of our settings."
    assert prose.answer_text({"few": [TURNS[0], TURNS[-1]]}).startswith("No: ")  # two runs show no trend


def test_the_table_under_the_answer_has_ends_trend_and_the_papers_pair() -> None:
    said = prose.sets_text({"one set": TURNS, "three": WEAK, "five": BY_ENDS, "few": TURNS[::5]})
    lines = said.splitlines()
    assert lines[2].startswith(
        "| one set | 100% at γ = 0.3 | 90% at γ = 0.8 | +3.8 [+3.8, +3.8] | 100% / 0% (0.3) | 0% / 90% | yes |"
    )
    assert lines[3].endswith("| 60% / 20% (0.3) | 30% / 50% | no |")
    assert lines[4].endswith("| 60% / 40% | 0% / 100% | by its ends only |")
    assert lines[5].startswith("| few | 100% at γ = 0.3 | 90% at γ = 0.8 | too few | ")
    assert "**Between the paper's own γ = 0.5 and 0.8 one set and few turn.**" in said
    assert "none of them turns.**" in prose.sets_text({"three": WEAK})
    assert "the gain that 0.8 has at the paper's is had at γ = 1.15 at width 16." in said  # 1/2 + 0.3 log 400 / log 16


def test_a_gamma_between_two_stored_ones_has_both() -> None:
    runs = [row(1.0, 0.0, 0.45), row(0.5, 0.0, 0.55), row(0.0, 0.8, 0.85)]
    pair = metrics.at_paper_pair(runs)
    assert pair.mean["symmetric"]["symmetric"] == 0.75
    assert pair.mean["inferential"]["inferential"] == 0.8
    assert pair.flips


def unlearned(run: StoredRun) -> StoredRun:
    return dataclasses.replace(run, metrics=run.metrics | {"train": 0.5})


def test_it_is_said_where_runs_have_not_learned() -> None:
    large, small = [row(1.0, 0.0, 0.3, s) for s in range(2)], [row(0.0, 0.9, 0.8, s) for s in range(2)]
    assert prose.learned_text({"one set": [*large, *small]}) == ""
    half = [*large, small[0], unlearned(small[1])]
    assert prose.learned_text({"all": large, "one set": half}) == (
        "- *One set*: at γ = 0.8, where the inferential answer is most frequent, 1 of 2 have learned their training rows. Of "
        "the 2 runs at γ ≥ 0.8, 1 have learned their training rows and 90% of the seen pairs at held-out places: 0 symmetric, "
        "1 inferential."
    )
    assert "Of the 2 runs at γ ≥ 0.8, 0 have" in prose.learned_text({"one set": [*large, *map(unlearned, small)]})
    held = dataclasses.replace(small[1], metrics=small[1].metrics | {"test": 0.8})  # learned, and does not generalize
    assert prose.learned_text({"one set": [*large, small[0], held]}).startswith("- *One set*: Of the 2 runs at γ ≥ 0.8, 1 have")


def test_the_clearest_run_generalizes_where_one_does() -> None:
    held = dataclasses.replace(row(0.0, 0.9, 0.8), metrics=row(0.0, 0.9, 0.8).metrics | {"test": 0.81, "train": 1.0})
    good = row(0.2, 0.6, 0.5)
    assert clearest([held, good], "inferential") is good
    assert clearest([held, unlearned(good)], "inferential") is held
    assert prose.left_out_text([held, good]) == (
        "The most inferential run of all that have learned (γ = 0.8, seed 0, 90% inferential) is not shown: at held-out places "
        "it answers 81% of the seen pairs right."
    )
    assert prose.left_out_text([good]) == ""


def test_runs_at_higher_rates_may_lean_either_way() -> None:
    at = lambda run, rate: dataclasses.replace(run, spec=dataclasses.replace(run.spec, rate=rate))
    leaning = lambda low, high: prose.rate_lean_text([at(r, rate) for rate, rs in ((1e-3, low), (2e-3, high)) for r in rs])
    inferential, symmetric = TURNS[3:] * 4, TURNS[:3] * 4
    assert leaning(inferential, symmetric).startswith(
        "**Runs at higher learning rates lean clearly more to the symmetric answer**"
    )
    assert "clearly more to the inferential answer**: on average -1.00 at 0.001, +0.90 at 0.002" in leaning(
        symmetric, inferential
    )
    assert "lean clearly to neither answer" in leaning(WEAK, WEAK)


def test_another_form_with_pre_norm_is_told() -> None:
    pre = lambda run: dataclasses.replace(
        run, spec=dataclasses.replace(run.spec, model=dataclasses.replace(run.spec.model, norm="pre"))
    )
    turns = [row(1.0, 0.0, 0.3), row(0.0, 0.9, 0.8)]
    assert prose.other_pre_norm_text(turns) == ""
    said = prose.other_pre_norm_text([*turns, *map(pre, turns)])
    assert said.startswith(
        "**Another recipe with pre-norm.** 2 trials with pre-norm of the paper's own block otherwise (ReLU, 1 "
    )
    assert (
        "answer 100% symmetric, 0% inferential at γ = 0.3; 0% symmetric, 90% inferential at γ = 0.8. From GPT-2's form " in said
    )


def test_what_is_stored_at_the_papers_size_is_told_in_one_sentence() -> None:
    """Also in full, run by run, with one run and with both."""
    history = {"step": [10, 20], "train": [0.5, 1.0], "symmetric": [0.0, 1.0], "inferential": [0.6, 0.2]}
    small = dataclasses.replace(planted({-10: 20, -12: 65, -6: 15}, gamma=0.8), history=history)
    large = dataclasses.replace(planted({-6: 100}, gamma=0.5), history=history)
    assert prose.size_text([]) == ""
    neither = (
        "γ = 0.8 gives neither reliably (15% symmetric, 20% inferential; 85% lie nearer to the inferential answer; "
        "most often key − 12, 65%)."
    )
    assert prose.size_text([small]).endswith(neither)
    both = prose.size_text([small, large])
    assert (
        "with one run a γ and a fifth of its steps, γ = 0.5 gives the symmetric answer (100%), and γ = 0.8 gives neither"
        in both
    )
    assert "at most 2 runs a γ" in prose.size_text([small, large, dataclasses.replace(large)])
    assert "(100%) (it has not learned the training rows)." in prose.size_text([unlearned(large)])
    assert prose.size_text([planted({-6: 50, 30: 50})]).endswith(
        "neither reliably (50% symmetric, 0% inferential; most often key − 6, 50%)."
    )
    assert "Runs at γ = 0.5 are not stored yet." in prose.full_width_text([small])
    first, second = prose.full_width_text([small, large]).splitlines()
    assert "inferential, and 60% were at most, at step 10; 85% lie nearer to this answer than to the other." in first
    assert second.endswith("At the end 100% of its answers are symmetric.")
    assert prose.odd_text({"the paper's size": [small, large]}) == ""
    figure = figures.flip({"the paper's size": [small, large], "other": [row(1.0, 0.0, 0.3), row(0.0, 0.9, 0.8)]})
    figure.canvas.draw()
    plt.close(figure)


def test_the_verdict_follows_the_numbers() -> None:
    assert prose.verdict({"one set": TURNS}) == f"**{prose.answer_text({'one set': TURNS})}**"
    said = prose.verdict({"one set": TURNS, "three": WEAK})
    assert said.startswith("**Partly: ")
    assert said.endswith("** In three the answers are at most 60% symmetric at γ = 0.3, 50% inferential at γ = 0.8.")


def test_every_sentence_and_figure_of_planted_runs() -> None:
    runs = [row(1.0, 0.0, 0.3, 0), row(0.9, 0.1, 0.3, 1), row(0.1, 0.8, 0.8, 0), row(0.0, 0.2, 0.8, 1)]
    table = prose.kind_text(runs)
    assert table.splitlines()[0].startswith("The second reading is coarse: of the answers nearer to −6, ")
    assert table.splitlines()[4] == "| 0.3 | 0.95 | 0.05 | 0.95 | 0.05 | −6, −6 |"
    assert "4 runs, of which 0 never learned" in prose.speed_line(runs)
    assert "rank correlation" in prose.speed_text(runs)
    learns = lambda run, *train: dataclasses.replace(run, history={"step": [1, 2, 3], "train": train}, metrics=run.metrics)
    late, never = learns(runs[3], 0.0, 0.0, 1.0), learns(runs[2], 0.0, 0.5, 0.9)
    mixed = [learns(runs[0], 1.0, 1.0, 1.0), learns(runs[1], 0.0, 1.0, 1.0), late, never]
    assert "Among the 3 of 4 that learn at all it is " in prose.speed_text(mixed)
    assert prose.speed_text(mixed).endswith("of those that never learn 0% lean to the symmetric answer.")
    assert "Among" not in prose.speed_text(mixed[:3])
    assert prose.histogram_line(runs).startswith("median offsets: γ = 0.3: -6 -6")
    head, _, *rows = prose.trials_table(runs).splitlines()
    assert head == "The last column has γ by γ the mean shares symmetric / inferential."
    assert len(rows) == 3
    assert rows[-1].endswith("0.3: 0.95 / 0.05; 0.8: 0.05 / 0.50 |")
    other = [
        dataclasses.replace(run, spec=dataclasses.replace(run.spec, task=task))
        for run, task in zip(runs, ((("modulus", 9),), (("rows", 700_000),), (("keys", 30),)), strict=False)
    ]
    sizes = [line.split(" | ")[0].removeprefix("| ") for line in prose.trials_table([*runs, *other]).splitlines()[4:]]
    wide = f"{runs[0].spec.model.d_model}, post-norm"
    assert sizes == [f"{wide}, 30 numbers", wide, f"{wide}, 700,000 rows, again and again", f"{wide}, remainders modulo 9"]
    assert prose.odd_text({"one": runs}).endswith("of either). *one*: nowhere.")
    faint = [*runs, row(0.05, 0.0, 0.8, 2)]
    assert prose.odd_text({"one": faint}).endswith("*one*: nowhere.")
    swap = [*runs, row(0.1, 0.9, 0.3, 2)]
    assert prose.odd_text({"one": swap}).endswith("*one*: at γ = 0.3 (2 of 3).")
    assert "*one*: at γ = 0.3 (2 of 3)" in prose.headline({"one": swap})
    for figure in (
        figures.flip({"one": runs, "two": runs}),
        figures.histogram(*metrics.answer_columns(runs)),
        figures.fit_against_answer({"one": runs}, {"one": 100}),
    ):
        figure.canvas.draw()
        plt.close(figure)


def test_what_was_not_trained_is_said_at_the_top() -> None:
    runs = [row(1.0, 0.0, 0.3), row(0.0, 0.9, 0.8)]
    tried = [
        metrics.Setting(runs[0].spec, {(0.3, 0): -1.0, (0.3, 1): -0.5}, {(0.8, 0): 0.5, (0.8, 1): 1.0}),
        metrics.Setting(runs[0].spec, {(0.3, 0): 0.0, (0.3, 1): 0.0}, {(0.8, 0): 0.0, (0.8, 1): 0.0}),
    ]
    said = prose.missing_text(tried, runs, [row(1.0, 0.0, 0.5)])
    assert "Of 2 settings of the paper's block with two layers the largest has 0.75 ± 0.18, 2 runs an end: width " in said
    assert "Within one standard error" not in said
    assert "\n\n**Missing** are the paper's choice of the " in said
    assert (
        "best of 9 learning rates (full-length runs have 1); further seeds at the paper's own size (it has 1 run a γ);" in said
    )
    assert said.endswith(
        "; full-length runs of more than two layers; its 159 million samples (full-length runs draw 0.0 million); its "
        "fixed set of rows, but in trials and at its own size."
    )
    again = dataclasses.replace(runs[0].spec, train=dataclasses.replace(runs[0].spec.train, steps=990))
    leans = lambda *values: {(gamma, seed): value for seed, (gamma, value) in enumerate(values)}
    large = leans((0.3, -0.5), (0.3, -0.6), (0.3, -0.4), (0.2, 1.0))
    more = metrics.Setting(again, large, leans((0.8, 0.1), (0.8, 0.1), (0.8, 0.1), (0.9, 1.0)))
    said = prose.missing_text([*tried, more], runs)
    assert "with 3 runs or more an end the largest has 0.23 ± 0.2" in said
    assert "990 steps. 4 trials at width " in said
    assert " had 0.75; at the same γ (0.3 and 0.8) 6 more runs with new seeds and a limit of 990 steps had 0.30." in said
    wide = dataclasses.replace(again, model=dataclasses.replace(again.model, d_model=999))
    level = metrics.Setting(wide, large, leans((0.8, 0.0), (0.8, 0.0), (0.8, 0.1)))
    assert "Within one standard error of it: width 999, " in prose.missing_text([more, level], runs)
    whole = [dataclasses.replace(r, spec=dataclasses.replace(r.spec, rate=1e-4 * i)) for r in runs for i in range(1, 10)]
    deep = [
        dataclasses.replace(
            whole[0], spec=dataclasses.replace(whole[0].spec, model=dataclasses.replace(whole[0].spec.model, depth=3))
        )
    ]
    own = [row(1.0, 0.0, 0.5, seed) for seed in range(3)]
    two = [*whole, dataclasses.replace(whole[0], spec=dataclasses.replace(whole[0].spec, seed=1))]
    assert "**Missing** are further seeds of three layers at full length; " in prose.missing_text([], [*two, *deep], own)
    settings = dict(prose.full_length_settings([*two, *deep]))
    assert settings["depth"] == "2, 3 (1 of these γ, 1 seed)"
    assert settings["seeds"] == "2"
    assert prose.missing_text([], [*whole, *deep], own).startswith(
        "**Missing** are full-length runs of more than three layers; "
    )


@pytest.mark.parametrize(
    ("rows", "status", "failed"),
    [
        ([(1.0, 0.0, 0.25), (0.0, 1.0, 1.05)], REPRODUCED, ()),
        (
            [(0.9, 0.0, 0.25), (0.0, 0.7, 1.05)],
            PARTLY,
            ("symmetric share at least 0.95 at some γ", "inferential share at least 0.95 at some γ"),
        ),
        ([(0.5, 0.5, 0.25), (0.4, 0.4, 1.05)], NOT_REPRODUCED, None),
    ],
)
def test_the_flip_is_judged_by_its_parts(
    rows: list[tuple[float, float, float]], status: str, failed: tuple[str, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source's own numbers, near 100 % at both ends, pass; weaker and undecided ones do not."""
    monkeypatch.setattr(claims, "_two_layers", lambda store, profile: [row(*r) for r in rows])
    finding = claims._flip_of_two_layers(Store("nowhere"), "laptop")
    assert finding.status == status
    if failed is not None:
        assert finding.failed == failed


def test_kinds_are_judged_run_by_run(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [row(1.0, 0.0, 0.25, 0), row(0.6, 0.0, 0.25, 1), row(0.0, 0.7, 1.05, 0), row(0.0, 0.2, 1.05, 1)]
    monkeypatch.setattr(claims, "_two_layers", lambda store, profile: runs)
    found = claims._kind(Store("nowhere"), "laptop")
    assert found.status == PARTLY
    assert "some γ at which every run is inferential" in found.failed
    monkeypatch.setattr(claims, "_two_layers", lambda store, profile: runs[:3])
    assert claims._kind(Store("nowhere"), "laptop").status == REPRODUCED
    monkeypatch.setattr(claims, "_two_layers", lambda store, profile: [*runs[:2], unlearned(runs[2])])
    assert claims._kind(Store("nowhere"), "laptop").failed == ("most runs at these γ have learned",)


def test_the_trend_is_a_slope_with_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    rising = [row(1 - g, g, g, s) for g in (0.1, 0.3, 0.5, 0.7, 0.9) for s in range(2)]
    for runs, status in ((rising, REPRODUCED), ([row(0.5, 0.5, g) for g in (0.1, 0.5, 0.9)], NOT_REPRODUCED)):
        monkeypatch.setattr(claims, "_two_layers", lambda store, profile, runs=runs: runs)
        assert claims._trend_of_two_layers(Store("nowhere"), "laptop").status == status
    late = [unlearned(run) if run.spec.gamma > 0.2 else run for run in rising]
    monkeypatch.setattr(claims, "_two_layers", lambda store, profile: late)
    found = claims._trend_of_two_layers(Store("nowhere"), "laptop")
    assert found.failed == ("interval above 0 over the runs that have learned",)
    assert found.measured.endswith("none over the 2 that have learned their training rows")


def test_further_layers_are_told_beside_two(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = lambda run, depth: dataclasses.replace(
        run, spec=dataclasses.replace(run.spec, model=dataclasses.replace(run.spec.model, depth=depth))
    )
    two = [row(0.9, 0.0, g, s) for g in (0.3, 0.5, 0.8) for s in range(3)]
    three = [layers(row(1.0 - g, g, g, s), 3) for g in (0.3, 0.8) for s in range(2)]
    added = metrics.more_layers(two, three)
    assert sorted(added) == pytest.approx([0.5, 0.5, 1.5, 1.5])  # −.4 and .6 against −.9
    assert metrics.more_layers(two, [layers(row(0.0, 0.0, 0.3, 9), 3)]).size == 0
    names = prose.depth_rows(two, {3: three})
    assert {name: len(runs) for name, runs in names.items()} == {"two layers": 6, "three layers": 4}
    said = prose.depth_text(two, {3: three})
    assert said.startswith("**Three layers**: γ alone does not turn the answer by half of all answers; the ")
    assert "against two layers, more, by +1.00 (4 pairs of runs, 95 % interval +0.50 to +1.50): the symmetric " in said
    assert "from 90% to 45%, the inferential one from 0% to 55%, and the rest" in said
    same = lambda shares: [layers(row(1.0 - x, x, g, s), 3) for s in range(2) for g, x in zip((0.3, 0.8), shares, strict=True)]
    assert "two layers, less, by" in prose.depth_text(two, {3: same((0.0, 0.0))})
    between = [row(0.7, 0.3, g, s) for s in range(2) for g in (0.3, 0.8)]
    assert "neither clearly more nor clearly less, by" in prose.depth_text(between, {3: same((0.5, 0.0))})
    one = prose.depth_text(two, {3: [layers(row(1.0, 0.0, g), 3) for g in (0.3, 0.8)]})
    assert "two layers, by -0.10 (2 pairs of runs of one seed): " in one
    assert "At the same" not in prose.depth_text([row(1.0, 0.0, 0.1)], {3: three})
    monkeypatch.setattr(claims, "deeper", lambda store, profile: {})
    with pytest.raises(LookupError, match="a whole row of three layers is not stored"):
        claims._trend_of_three_layers(Store("nowhere"), "laptop")
    monkeypatch.setattr(claims, "deeper", lambda store, profile: {3: [r for s in range(4) for r in three]})
    assert claims._trend_of_three_layers(Store("nowhere"), "laptop").status == REPRODUCED


def test_the_best_of_several_rates_is_told_and_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """At γ = .3 the better rate of each seed has .9 and 1 symmetric, at .8 both seeds .97 inferential at the second rate."""
    at = lambda run, rate: dataclasses.replace(run, spec=dataclasses.replace(run.spec, rate=rate))
    one = [row(0.9, 0.0, 0.3, 0), row(0.6, 0.2, 0.3, 1), row(0.5, 0.5, 0.5), row(0.4, 0.5, 0.8, 0), row(0.0, 0.6, 0.8, 1)]
    two = [row(0.8, 0.0, 0.3, 0), row(1.0, 0.0, 0.3, 1), row(0.0, 0.97, 0.8, 0), row(0.0, 0.97, 0.8, 1)]
    by_rate = {1e-4: [at(run, 1e-4) for run in one], 2e-4: [at(run, 2e-4) for run in two]}
    assert {run.spec.gamma for run in metrics.of_all_rates(by_rate)} == {0.3, 0.8}
    assert metrics.of_all_rates({}) == []
    found = metrics.selected_ends(metrics.of_all_rates(by_rate))
    assert found.gamma == {"symmetric": 0.3, "inferential": 0.8}
    assert found.share == pytest.approx({"symmetric": 0.95, "inferential": 0.97})
    assert found.lead == pytest.approx({"symmetric": (3.3 - 0.2) / 4, "inferential": (3.04 - 0.4) / 4})
    said = prose.rate_text(by_rate)
    assert said.startswith("**Learning rate 0.0001**: ")
    assert said.endswith(
        "at most 95% symmetric at γ = 0.3 (ahead there by 78% without selection) and 97% inferential at γ = 0.8 (ahead there "
        "by 66% without selection)."
    )
    monkeypatch.setattr(claims, "_two_layers", lambda store, profile: by_rate[1e-4])
    monkeypatch.setattr(claims, "other_rates", lambda store, profile: {2e-4: by_rate[2e-4]})
    nowhere = Store("nowhere")
    assert claims._flip_of_best_rates(nowhere, "laptop").status == REPRODUCED
    by_rate[2e-4][3].metrics["inferential"] = 0.9
    assert claims._flip_of_best_rates(nowhere, "laptop").failed == ("inferential share at least 0.95 at some γ",)
    for lacking in ({}, {2e-4: by_rate[2e-4][:2]}):
        monkeypatch.setattr(claims, "other_rates", lambda store, profile, lacking=lacking: lacking)
        with pytest.raises(LookupError, match="two values of gamma with every seed"):
            claims._flip_of_best_rates(nowhere, "laptop")


def test_a_rate_counts_where_all_seeds_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = [s for s in PHASE.specs("laptop") if s.model.depth == 2 and s.rate == 2e-4]
    there = {s.key for s in specs if s.gamma == 1.05 or (s.gamma == 0.55 and s.seed < 3)}
    monkeypatch.setattr(Store, "get", lambda self, spec: spec if spec.key in there else None)
    found = diagram.other_rates(Store("nowhere"), "laptop")
    assert {rate: sorted((s.gamma, s.seed) for s in some) for rate, some in found.items()} == {
        2e-4: [(1.05, seed) for seed in diagram.SEEDS]
    }
    assert diagram.other_rates(Store("nowhere"), "smoke") == {}


def test_rows_of_further_layers_are_whole_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = [s for s in PHASE.specs("laptop") if s.model.depth == 3 and s.rate == diagram.RATE]
    assert [len(specs), len({s.seed for s in specs})] == [20, 4]
    there = {s.key for s in specs if s.seed in (0, 2)} | {next(s.key for s in specs if s.seed == 1)}
    monkeypatch.setattr(Store, "get", lambda self, spec: spec if spec.key in there else None)
    found = diagram.deeper(Store("nowhere"), "laptop")
    assert list(found) == [3]
    assert {s.seed for s in found[3]} == {0, 2}
    assert len(found[3]) == 10
    assert diagram.deeper(Store("nowhere"), "smoke") == {}


def test_gains_translate() -> None:
    assert gain(0.5, 400) == pytest.approx(1.0)
    assert gamma_of_gain(gain(0.8, 400), 400) == pytest.approx(0.8)
    assert min(GAMMAS) < gamma_of_gain(gain(0.3, 400), 128) < gamma_of_gain(gain(0.8, 400), 128) < max(GAMMAS)
    with pytest.raises(ValueError, match="must be positive"):
        gamma_of_gain(0.0, 128)


def test_the_headline_is_part_of_the_diagram() -> None:
    for profile in ("smoke", "laptop"):
        specs = HEADLINE.specs(profile)
        assert set(specs) <= set(PHASE.specs(profile))
        assert {(s.experiment, s.version, s.model.depth) for s in specs} == {("composition-phase", 2, 2)}
    assert HEADLINE.folder == PHASE.folder == "composition-phase"
    with pytest.raises(SpecError, match="unknown profile 'huge'"):
        HEADLINE.specs("huge")


def test_what_needs_weights(tmp_path: Path) -> None:
    """A run that was trained and stored with its weights: places, steps, teachers, and rights by place, against its numbers."""
    (spec,) = HEADLINE.specs("smoke")[:1]
    (result,) = train([spec], HEADLINE.make_study(spec), Options(device="cpu", bf16=False, backend="eager"))
    store = Store(tmp_path)
    store.put(
        result, {"device": "cpu", "threads": 1, "torch": "0", "precision": "float32", "program": "eager"}, keep_weights=True
    )
    run = store.get(spec)
    offsets = offsets_by_key(run)
    assert metrics.counts(run).sum() == offsets.size == 560
    assert metrics.share_of(run, [-6]) == pytest.approx((offsets == -6).mean())
    bare = dataclasses.replace(run, metrics={"test": 0.0}, path=run.path)
    np.testing.assert_allclose(metrics.counts.__wrapped__(bare), metrics.counts(run))
    assert metrics.exact_above(bare) == pytest.approx(metrics.exact_above(run), abs=2 / 490)
    assert metrics.by_place(run).shape == (7,)
    assert metrics.neighbour_steps(run).shape == (80,)
    assert metrics.step_shares(run).sum() == pytest.approx(1)
    levels, share = metrics.by_teachers(run)
    assert len(levels) == len(share) == len(set(metrics.teachers()))
    right = metrics.seen_by_place(run)
    assert right.shape == (7, 80)
    test = right[~Composition().task.trains.numpy()].mean()
    assert test == pytest.approx(run.metrics["test"], abs=0.05)
    for figure in (
        figures.place_by_place(*metrics.place_columns([run])),
        figures.neighbour_steps(metrics.steps_by_gamma([run])),
        figures.teaching_pairs(*metrics.teaching([run])),
        figures.along_training([run], ["one"]),
        figures.seen_by_place(right, ~Composition().task.trains.numpy()),
    ):
        figure.canvas.draw()
        plt.close(figure)
    held_out = ~Composition().task.trains.numpy()
    assert prose.generalization_text([run], right, held_out).endswith("None of 1 run has learned its training rows.")
    known = dataclasses.replace(run, metrics=run.metrics | {"train": 1.0, "test": 0.5})
    said = prose.generalization_text([known], right * 0 + ~held_out, held_out)
    assert said.startswith(
        "This run knows its pairs wherever the key has trained, and errs where it has not, most of all at places 0"
    )
    assert said.endswith("Of 1 run that learned their training rows, 1 is below 90% at held-out places.")
    rare = prose.generalization_text(
        [known] + [dataclasses.replace(known, metrics=known.metrics | {"test": 1.0})] * 3, right * 0 + 1, held_out
    )
    assert rare == (
        "This run answers its seen pairs as well where the key never trained as where it did. Of 4 runs that learned their "
        "training rows, 1 is below 90% at held-out places."
    )
    line = prose.generalization_line(right * 0 + ~held_out, held_out)
    assert line == "share right: 1.000 at trained places, 0.000 at held-out ones"
    for text in (prose.place_text([run]), prose.step_text([run]), prose.teacher_text([run])):
        assert text.endswith(".") or text.endswith(").")
    assert torch.is_tensor(run.weights()["embedding.token"])
