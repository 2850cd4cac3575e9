"""The ledger judges: on planted phase diagrams every verdict can be known, in both directions."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from planted_composition import make_run

from lib.book import registry
from lib.composition.claims import CLAIMS_OF
from lib.composition.phase_diagram import claims as phase_diagram
from lib.composition.phase_diagram.claims import CHAPTER_02
from lib.composition.phase_diagram.metrics import phase_table
from lib.composition.task import PAIRS
from lib.composition.the_task.metrics import slide_entries, slide_errata
from lib.core.read.claim import (
    NO_EFFECT,
    NOT_RUN,
    OPPOSITE,
    PARTLY,
    REPRODUCED,
    TOO_SMALL,
    Claim,
    Finding,
    Measured,
    Part,
    by_interval,
    by_worst,
    in_settings,
    missed,
)
from lib.core.read.measures import seeds
from lib.core.record.store import Store, StoredRun

CLAIMS = tuple(claim for claims in CLAIMS_OF.values() for claim in claims)
Judge = Callable[[list[StoredRun]], dict[str, dict[str, Any]]]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Judge:
    """The parts of the phase diagram's claim, each judged by itself, on given runs."""
    asked: dict[str, Callable[[list[StoredRun]], list[Part]]] = {
        "diagram": lambda runs: phase_diagram._grid(phase_table(runs)),
        "shadow": lambda runs: [phase_diagram._shadow(phase_table(runs))],
        "third": lambda runs: [phase_diagram._third_answer(runs)],
        "selection": lambda runs: phase_diagram._selection(phase_table(runs)),
    }
    whole = next(claim for claim in CHAPTER_02 if claim.id == "phase-diagram")

    def evaluated(runs: list[StoredRun]) -> dict[str, dict[str, Any]]:
        monkeypatch.setattr("lib.composition.phase_diagram.claims.fast_runs", lambda store, profile: runs)
        measured = {name: Measured(tuple(ask(runs)), seeds(runs)) for name, ask in asked.items()}
        parts = {name: replace(whole, check=lambda store, profile, m=m: m) for name, m in measured.items()}
        found = {name: claim.evaluate(Store(tmp_path), "laptop") for name, claim in parts.items()}
        monkeypatch.setattr(phase_diagram, "_fast", lambda runs: [])
        failed = [name for one in found.values() for name in one["failed"]]
        assert whole.evaluate(Store(tmp_path), "laptop")["failed"] == failed
        return found

    return evaluated


def diagram(symmetric: dict[float, float], inferential: dict[float, float], test: float = 1.0) -> list[StoredRun]:
    """Depth 2, two seeds, two rates: the same accuracies for all runs of one γ."""
    return [
        make_run(gamma=g, seed=s, rate=r, test=test, symmetric=symmetric[g], inferential=inferential[g])
        for g, s, r in product(symmetric, (0, 1), (1e-3, 2e-3))
    ]


REGIONS = ["cells in the symmetric region", "cells in the inferential region"]
TURN = "depths at which γ alone turns the selected answer"
ORDER, SLOPE = "depth {}: mean γ of inferential less symmetric cells", "slope over γ, depth {}: lower end of the 95 % interval"
RATES = "depth {}: inferential share, largest less smallest learning rate"
PLACES = [
    f"{m}, depth 2, γ = {g}: {what}"
    for m, g in (("symmetric", 0.5), ("inferential", 0.8))
    for what in ("selected share", "lead")
]


def test_the_papers_diagram_reproduces_the_papers_claim(judge: Judge) -> None:
    """Four cells of one answer, at a fifth the larger learning rate has more of the inferential one."""
    four = diagram({0.4: 1.0, 0.5: 1.0, 0.8: 0.0, 0.9: 0.0}, {0.4: 0.0, 0.5: 0.0, 0.8: 1.0, 0.9: 1.0})
    rates = [make_run(gamma=0.7, seed=s, rate=r, inferential=100 * r) for s, r in product((0, 1), (1e-3, 2e-3))]
    found = judge([*four, *rates])
    assert (found["diagram"]["status"], found["diagram"]["n_seeds"]) == (REPRODUCED, 2)
    assert found["shadow"]["status"] == OPPOSITE  # the seen pairs are learned everywhere
    assert found["selection"]["status"] == NO_EFFECT  # rates hardly differ, so selecting gains nothing


def test_the_mirrored_diagram_refutes_it(judge: Judge) -> None:
    """Both regions exist, in the wrong places."""
    found = judge(diagram({0.4: 0.0, 0.5: 0.0, 0.8: 1.0, 0.9: 1.0}, {0.4: 1.0, 0.5: 1.0, 0.8: 0.0, 0.9: 0.0}))["diagram"]
    assert found["failed"] == [TURN, ORDER.format(2), SLOPE.format(2), *PLACES, RATES.format(2)]
    assert next(part for part in found["parts"] if part["name"] == SLOPE.format(2))["failure"] == OPPOSITE


def test_unlearned_cells_belong_to_no_region(judge: Judge) -> None:
    found = judge(diagram({0.5: 1.0, 0.8: 0.0}, {0.5: 0.0, 0.8: 1.0}, test=0.5))
    assert found["diagram"]["failed"] == [*REGIONS, TURN, RATES.format(2)]
    assert found["diagram"]["parts"][0]["measured"] == 0
    assert found["shadow"]["status"] == REPRODUCED


def test_half_of_an_answer_fails_its_part(judge: Judge) -> None:
    """Ahead of the other mapping by half, but short of the level; or above the other, and no more; or a region of one cell."""
    failed = judge(diagram({0.5: 0.8, 0.8: 0.1}, {0.5: 0.1, 0.8: 0.7}))["diagram"]["failed"]
    assert failed == [*REGIONS, TURN, PLACES[0], PLACES[2], RATES.format(2)]
    found = judge(diagram({0.5: 0.8, 0.8: 1.0}, {0.5: 0.4, 0.8: 0.0}))["diagram"]
    assert {REGIONS[0], *PLACES} <= set(found["failed"])
    assert found["parts"][0]["measured"] == 1


def test_each_depth_is_asked_and_named(judge: Judge) -> None:
    papers = diagram({0.5: 1.0, 0.8: 0.0}, {0.5: 0.0, 0.8: 1.0})
    deeper = [replace(run, spec=replace(run.spec, model=replace(run.spec.model, depth=3))) for run in papers]
    swapped = lambda metrics: metrics | {"symmetric": metrics["inferential"], "inferential": metrics["symmetric"]}
    mirrored = [replace(run, metrics=swapped(run.metrics)) for run in deeper]
    found = judge([*papers, *mirrored])
    assert found["diagram"]["failed"] == [ORDER.format(3), SLOPE.format(3), RATES.format(2), RATES.format(3)]
    assert found["selection"]["failed"] == [f"{m}: selected less plain mean" for m in ("symmetric", "inferential")]


def test_answers_of_a_third_kind_are_counted(judge: Judge) -> None:
    assert judge(diagram({0.5: 0.2}, {0.5: 0.1}))["third"]["status"] == REPRODUCED
    assert judge(diagram({0.5: 1.0}, {0.5: 0.0}))["third"]["status"] == TOO_SMALL  # none of four runs
    assert judge(diagram(*({g / 100: x for g in range(50, 80)} for x in (1.0, 0.0))))["third"]["status"] == NO_EFFECT
    assert judge(diagram({0.5: 0.2}, {0.5: 0.1}, test=0.5))["third"]["status"] == TOO_SMALL  # what has not learned is not asked


def test_items_of_the_paper_name_a_figure() -> None:
    for claim in CLAIMS:
        assert claim.item.startswith(("Fig ", "Figs ", "after Fig ")) or claim.paper in ("zhang2024slides", "zhang2025", "ours")


def test_without_parts_nothing_was_run() -> None:
    found = Measured((), 3).finding()
    assert (found.status, found.n_seeds, found.failed) == (NOT_RUN, 0, ())


def test_settings_of_one_question_are_told_apart_by_their_parts() -> None:
    """What holds in one setting earns by itself, what is missed in another is named by it."""
    plain, grouped = Part("a", 1, ">", 0), Part("b", 0, ">", 0, failure=OPPOSITE, group="pair")
    found = in_settings({"one": Measured((plain,), 4), "other": Measured((replace(plain, group="pair"), grouped), 3)})
    told = found.finding()
    assert (told.status, told.n_seeds, told.failed) == (PARTLY, 3, ("other: b",))
    assert in_settings({"other": Measured((replace(plain, group="pair"), grouped), 3)}).finding().status == OPPOSITE


@pytest.mark.parametrize(
    ("ends", "compare", "threshold", "neutral", "said"),
    [
        ((0.1, 0.8), ">=", 0.7, 0.0, TOO_SMALL),
        ((0.1, 0.7), ">=", 0.7, 0.0, TOO_SMALL),
        ((0.1, 0.7), ">", 0.7, 0.0, NO_EFFECT),
        ((-0.2, 0.6), ">=", 0.7, 0.0, NO_EFFECT),
        ((-0.6, -0.2), ">=", 0.7, 0.0, OPPOSITE),
        ((-0.6, -0.2), ">=", 0.7, None, NO_EFFECT),
        ((-0.3, -0.2), "<=", -0.7, 0.0, NO_EFFECT),
        ((0.2, 0.3), "<=", -0.7, 0.0, OPPOSITE),
        ((0.2, 0.3), "<", 0.2, 0.5, NO_EFFECT),
        ((0.2, 0.3), "<=", 0.2, 0.5, TOO_SMALL),
        ((-math.inf, math.inf), ">", 0.0, 0.0, TOO_SMALL),
        ((math.nan, math.nan), ">", 0.0, 0.0, TOO_SMALL),
    ],
)
def test_what_a_missed_threshold_says_is_read_off_the_interval(
    ends: tuple[float, float], compare: str, threshold: float, neutral: float | None, said: str
) -> None:
    assert missed(ends, compare, threshold, neutral) == said
    part = by_interval("it", (sum(ends) / 2, *ends), compare, threshold, neutral=neutral)
    assert part.failure == said


def test_an_interval_is_told_and_decides_nothing_that_holds() -> None:
    part = by_interval("rho", (0.75, 0.2, 0.9), ">=", 0.7)
    assert part.holds
    assert part.words() == "rho: 0.75 (needed: at least 0.70; 95% interval 0.20 to 0.90)"


def test_the_worst_run_is_measured_and_the_mean_says_what_a_miss_means() -> None:
    for values, compare, worst, said in (
        ([0.9, 0.8, 0.85], ">=", 0.8, TOO_SMALL),  # the mean may be higher
        ([0.5, 0.5, 0.5], ">=", 0.5, NO_EFFECT),
        ([-0.5, -0.5, -0.6], ">=", -0.6, OPPOSITE),
        ([0.5], ">=", 0.5, TOO_SMALL),
        ([1.1, 1.2, 1.15], "<=", 1.2, NO_EFFECT),
    ):
        part = by_worst("it", values, compare, 0.88, neutral=0.0 if compare == ">=" else None)
        assert (part.measured, part.holds, part.failure) == (worst, False, said)
    assert by_worst("it", [0.9, 0.95], ">=", 0.88).holds


def test_records_are_plain_data_that_tell_the_failed_parts() -> None:
    check = lambda store, profile: Measured((Part("a", 1, ">", 0), Part("b", 0, ">", 0)), 2)
    record = Claim("id", "ours", "", "", "", "", check, by_construction=True).evaluate(Store(Path("nowhere")), "laptop")
    assert (record["status"], record["failed"], record["by_construction"]) == (PARTLY, ["b"], True)
    assert type(record["status"]) is str
    assert json.loads(json.dumps(record)) == record
    plain = Claim("id", "ours", "", "", "", "", lambda store, profile: Finding("", PARTLY))
    record = plain.evaluate(Store(Path("nowhere")), "laptop")
    assert (record["status"], record["failed"], record["by_construction"]) == (PARTLY, [], False)


def test_tests_of_the_task_are_told_from_results() -> None:
    assert {claim.id for claim in CLAIMS if claim.by_construction} == {
        "task-pairs",
        "task-two-answers",
        "task-split",
        "slides-ladder",
        "slides-errata",
    }


def test_the_slides_are_judged_by_their_entries_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = next(claim for claim in CLAIMS if claim.id == "slides-errata")
    record = claim.evaluate(Store(Path("nowhere")), "laptop")
    assert (record["status"], record["failed"]) == (OPPOSITE, ["entries that disagree with the four functions"])
    monkeypatch.setattr("lib.composition.the_task.claims.slide_errata", list)
    assert claim.evaluate(Store(Path("nowhere")), "laptop")["status"] == REPRODUCED


def test_slide_errata_are_the_known_ones() -> None:
    """Five rules and five examples, of 16 rules and 57 examples, each once."""
    assert slide_errata() == [
        ("(2, 2, x) = x − 1", "(2, 2, x) = x + 2"),
        ("(2, 4, x) = x − 9", "(2, 4, x) = x − 7"),
        ("(2, 4, 33) = 24", "(2, 4, 33) = 26"),
        ("(3, 4, x) = x + 6", "(3, 4, x) = x − 10"),
        ("(3, 4, 77) = 83", "(3, 4, 77) = 67"),
        ("(4, 2, x) = x − 9", "(4, 2, x) = x − 7"),
        ("(4, 2, 48) = 39", "(4, 2, 48) = 41"),
        ("(4, 3, x) = x + 6", "(4, 3, x) = x − 10"),
        ("(4, 3, 90) = 96", "(4, 3, 90) = 80"),
        ("(4, 4, 88) = 54", "(4, 4, 88) = 72"),
    ]
    entries = slide_entries()
    assert (len(entries), len({*entries})) == (73, 73)
    assert sum(key is None for _, key, _ in entries) == 16
    assert {pair for pair, _, _ in entries} == {*PAIRS}


MISSING = re.compile(r"\bnot (all )?stored\b|\bhas all the new seeds\b|\balone\b|\btells nothing of\b")
"""What is said of results that are not there, or of a profile that has none."""
WITHOUT_RUNS = {claim.id for claim in registry.CLAIMS if claim.by_construction} | {"attention-lemma"}


@pytest.mark.parametrize("name", [name for name, claims in registry.CLAIMS_OF.items() if claims])
def test_claims_are_whole_and_without_results_nothing_is_claimed(name: str) -> None:
    for claim in registry.CLAIMS_OF[name]:
        assert claim.paper in registry.PAPERS, claim.id
        assert claim.statement.endswith("."), claim.id
        assert claim.criterion, claim.id
        if claim.id in WITHOUT_RUNS:
            continue
        for profile in ("smoke", "laptop"):
            found = claim.evaluate(Store(Path("nowhere")), profile)
            assert (found["status"], found["n_seeds"], found["failed"]) == (NOT_RUN, 0, []), claim.id
            assert MISSING.search(found["measured"]), (claim.id, profile, found["measured"])


def test_claims_have_names_of_their_own() -> None:
    assert [name for name, count in Counter(claim.id for claim in registry.CLAIMS).items() if count > 1] == []
