"""The ledger judges: on planted phase diagrams every verdict can be known, in both directions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from test_analysis import make_run

from lib.book import registry
from lib.composition.claims import CLAIMS_OF
from lib.composition.phase_diagram import prose
from lib.composition.phase_diagram.claims import CHAPTER_02
from lib.composition.phase_diagram.metrics import phase_table
from lib.composition.the_task.metrics import slide_errata
from lib.core.read.claim import NOT_REPRODUCED, NOT_RUN, PARTLY, REPRODUCED, Claim, Finding, graded
from lib.core.record.store import Store, StoredRun

CLAIMS = tuple(claim for claims in CLAIMS_OF.values() for claim in claims)
Judge = Callable[[list[StoredRun]], dict[str, str]]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Judge:
    """The statuses of the phase diagram's claims on given runs."""

    def statuses(runs: list[StoredRun]) -> dict[str, str]:
        monkeypatch.setattr("lib.composition.phase_diagram.claims.fast_runs", lambda store, profile: runs)
        return {claim.id: claim.evaluate(Store(tmp_path), "laptop")["status"] for claim in CHAPTER_02}

    return statuses


@pytest.fixture
def failed(judge: Judge, tmp_path: Path) -> Callable[[list[StoredRun]], dict[str, list[str]]]:
    """The parts of the criteria that do not hold on given runs."""

    def parts(runs: list[StoredRun]) -> dict[str, list[str]]:
        judge(runs)
        return {claim.id: claim.evaluate(Store(tmp_path), "laptop")["failed"] for claim in CHAPTER_02}

    return parts


def diagram(symmetric: dict[float, float], inferential: dict[float, float], test: float = 1.0) -> list[StoredRun]:
    """Depth 2, two seeds, two rates: the same accuracies for all runs of one γ."""
    return [
        make_run(gamma=g, seed=s, rate=r, test=test, symmetric=symmetric[g], inferential=inferential[g])
        for g, s, r in product(symmetric, (0, 1), (1e-3, 2e-3))
    ]


def test_the_papers_diagram_reproduces_the_papers_claims(judge: Judge) -> None:
    found = judge(
        diagram({0.3: 0.0, 0.4: 1.0, 0.5: 1.0, 0.8: 0.0, 0.9: 0.0}, {0.3: 0.0, 0.4: 0.0, 0.5: 0.0, 0.8: 1.0, 0.9: 1.0})
    )
    for name in ("symmetric", "inferential", "order", "flip", "trend", "depth2-gamma05", "depth2-gamma08"):
        assert found[f"phase-{name}"] == REPRODUCED, name
    assert found["phase-shadow"] == NOT_REPRODUCED  # the seen pairs are learned everywhere
    assert found["phase-selection"] == NOT_REPRODUCED  # all rates agree, so selecting gains nothing


def test_the_mirrored_diagram_refutes_them(judge: Judge) -> None:
    found = judge(diagram({0.4: 0.0, 0.5: 0.0, 0.8: 1.0, 0.9: 1.0}, {0.4: 1.0, 0.5: 1.0, 0.8: 0.0, 0.9: 0.0}))
    assert found["phase-symmetric"] == found["phase-inferential"] == REPRODUCED  # both regions exist, in the wrong places
    for name in ("order", "flip", "trend", "depth2-gamma05", "depth2-gamma08"):
        assert found[f"phase-{name}"] == NOT_REPRODUCED, name


def test_unlearned_cells_belong_to_no_region(judge: Judge) -> None:
    found = judge(diagram({0.5: 1.0, 0.8: 0.0}, {0.5: 0.0, 0.8: 1.0}, test=0.5))
    assert found["phase-symmetric"] == found["phase-flip"] == NOT_REPRODUCED
    assert found["phase-shadow"] == REPRODUCED


def test_half_of_a_claim_is_partly(judge: Judge) -> None:
    """Ahead of the other mapping by half, but short of the level; or a region of one cell."""
    found = judge(diagram({0.5: 0.8, 0.8: 0.1}, {0.5: 0.1, 0.8: 0.7}))
    assert found["phase-depth2-gamma05"] == found["phase-depth2-gamma08"] == PARTLY
    assert found["phase-symmetric"] == NOT_REPRODUCED
    found = judge(diagram({0.5: 0.8, 0.8: 1.0}, {0.5: 0.4, 0.8: 0.0}))
    assert found["phase-depth2-gamma05"] == NOT_REPRODUCED  # above the other, and no more
    assert found["phase-symmetric"] == PARTLY


def test_parts_that_fail_are_named(failed: Callable[[list[StoredRun]], dict[str, list[str]]]) -> None:
    found = failed(diagram({0.5: 0.8, 0.8: 0.1}, {0.5: 0.1, 0.8: 0.7}))
    assert found["phase-depth2-gamma05"] == ["symmetric at least 0.95"]
    assert found["phase-depth2-gamma08"] == ["inferential at least 0.95"]
    assert found["phase-order"] == ["some depth has both regions"]
    assert found["phase-trend"] == []
    papers = diagram({0.5: 1.0, 0.8: 0.0}, {0.5: 0.0, 0.8: 1.0})
    deeper = [replace(run, spec=replace(run.spec, model=replace(run.spec.model, depth=3))) for run in papers]
    swapped = lambda metrics: metrics | {"symmetric": metrics["inferential"], "inferential": metrics["symmetric"]}
    mirrored = [replace(run, metrics=swapped(run.metrics)) for run in deeper]
    found = failed([*papers, *mirrored])
    assert found["phase-trend"] == found["phase-order"] == ["depth 3"]
    assert found["phase-selection"] == ["symmetric by more than .02", "inferential by more than .02"]


def test_answers_of_a_third_kind_are_counted(judge: Judge) -> None:
    assert judge(diagram({0.5: 0.2}, {0.5: 0.1}))["phase-third"] == REPRODUCED
    assert judge(diagram({0.5: 1.0}, {0.5: 0.0}))["phase-third"] == NOT_REPRODUCED


def test_without_results_nothing_is_claimed(tmp_path: Path) -> None:
    for claim in CHAPTER_02:
        record = claim.evaluate(Store(tmp_path), "laptop")
        assert record["status"] == NOT_RUN
        assert record["n_seeds"] == 0
        assert record["failed"] == []
        assert "not stored" in record["measured"]


def test_items_of_the_paper_name_a_figure() -> None:
    for claim in CLAIMS:
        assert claim.item.startswith(("Fig ", "Figs ", "after Fig ")) or claim.paper in ("zhang2024slides", "zhang2025", "ours")
        assert claim.statement.endswith(".")


def test_grading() -> None:
    assert [graded(parts) for parts in ({"a": True, "b": True}, {"a": True, "b": False}, {"a": False}, {})] == [
        REPRODUCED,
        PARTLY,
        NOT_REPRODUCED,
        NOT_RUN,
    ]


def test_grades_of_named_parts_tell_which_fail() -> None:
    for parts, status, failed in (
        ({"a": True, "b": True}, REPRODUCED, ()),
        ({"a": False, "b": True, "c": False}, PARTLY, ("a", "c")),
        ({"a": False}, NOT_REPRODUCED, ("a",)),
        ({}, NOT_RUN, ()),
    ):
        grade = graded(parts)
        assert (grade, grade.failed) == (status, failed)
        assert Finding("", grade).failed == failed
    assert Finding("", PARTLY).failed == ()  # nothing has a name


def test_records_are_plain_data_that_tell_the_failed_parts() -> None:
    check = lambda store, profile: Finding("words", graded({"a": True, "b": False}))
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
    assert (record["status"], record["failed"]) == (NOT_REPRODUCED, ["no entry disagrees"])
    monkeypatch.setattr("lib.composition.the_task.claims.slide_errata", list)
    assert claim.evaluate(Store(Path("nowhere")), "laptop")["status"] == REPRODUCED


def test_slide_errata_are_the_four_known_ones() -> None:
    """Five entries of four lines: the line on (3, 4) is wrong in its rule and in its example."""
    assert slide_errata() == [
        ("(3, 4, x) = x + 6", "(3, 4, x) = x − 10"),
        ("(3, 4, 77) = 83", "(3, 4, 77) = 67"),
        ("(2, 2, x) = x − 1", "(2, 2, x) = x + 2"),
        ("(4, 2, x) = x − 9", "(4, 2, x) = x − 7"),
        ("(4, 4, 88) = 54", "(4, 4, 88) = 72"),
    ]


def test_the_prose_follows_the_results() -> None:
    """The same sentences on two diagrams must name different cells."""
    flips = phase_table(diagram({0.5: 1.0, 0.8: 0.0}, {0.5: 0.0, 0.8: 1.0}))
    text = prose.phase_text(flips)
    assert "γ = 0.5 at depth 2" in text
    assert "γ = 0.8 at depth 2" in text
    assert "from γ = 0.5 to γ = 0.8" in text
    none = phase_table(diagram({0.5: 0.1, 0.8: 0.0}, {0.5: 0.0, 0.8: 0.2}))
    assert prose.phase_text(none).count("nowhere") == 2
    assert "85% of all answers follow neither mapping" in prose.plain_text(none)
    assert "0% of the runs" in prose.spread_text(none)
    assert "the mean share of an answer differs by at most 0%." in prose.spread_text(none)
    rates = phase_table([make_run(rate=r, symmetric=s) for r, s in ((1e-3, 0.2), (2e-3, 0.4))])
    assert "differs by at most 20%." in prose.spread_text(rates)


def test_every_claim_names_a_source_of_the_book() -> None:
    assert {claim.paper for claim in registry.CLAIMS} <= set(registry.PAPERS)
