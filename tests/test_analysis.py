"""From stored runs to tables: on runs made by hand, with numbers that can be checked by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from planted import judged as judged_of
from planted_composition import make_run

from lib.composition.phase_diagram.claims import _grid
from lib.composition.phase_diagram.metrics import PhaseTable, phase_table
from lib.composition.runs import clearest
from lib.composition.task import ANCHORS, PAIRS
from lib.composition.the_task import claims as the_task
from lib.composition.the_task.metrics import ladder
from lib.core.record.store import StoredRun


@pytest.fixture
def runs() -> list[StoredRun]:
    """One depth, two γ, two seeds, three rates. The best rate differs by seed, and for the two mappings."""
    symmetric = {(0, 1): 0.2, (0, 2): 0.9, (0, 3): 0.4, (1, 1): 0.7, (1, 2): 0.1, (1, 3): 0.5}
    inferential = {(0, 1): 0.6, (0, 2): 0.0, (0, 3): 0.2, (1, 1): 0.0, (1, 2): 0.8, (1, 3): 0.0}
    test = {(0, 1): 0.5, (0, 2): 1.0, (0, 3): 0.9, (1, 1): 0.8, (1, 2): 0.7, (1, 3): 0.95}
    first = [
        make_run(gamma=0.25, seed=s, rate=r / 1000, test=test[s, r], symmetric=symmetric[s, r], inferential=inferential[s, r])
        for s, r in product((0, 1), (1, 2, 3))
    ]
    second = [
        make_run(gamma=0.75, seed=s, rate=r / 1000, symmetric=0.25, inferential=0.5) for s, r in product((0, 1), (1, 2, 3))
    ]
    return first + second


def test_table_axes_and_places(runs: list[StoredRun]) -> None:
    """Whatever the order of the runs, each is found at its place of sorted axes."""
    shuffled = [runs[i] for i in np.random.default_rng(0).permutation(len(runs))]
    table = phase_table(shuffled)
    assert table.depths.tolist() == [2]
    assert table.gammas.tolist() == [0.25, 0.75]
    assert table.seeds.tolist() == [0, 1]
    assert table.rates.tolist() == [0.001, 0.002, 0.003]
    assert table.symmetric[0, 0].tolist() == [[0.2, 0.9, 0.4], [0.7, 0.1, 0.5]]
    assert table.inferential[0, 0].tolist() == [[0.6, 0.0, 0.2], [0.0, 0.8, 0.0]]
    assert table.test[0, 0].tolist() == [[0.5, 1.0, 0.9], [0.8, 0.7, 0.95]]
    assert np.all(table.symmetric[0, 1] == 0.25)


def test_selection_takes_the_best_rate_of_each_seed(runs: list[StoredRun]) -> None:
    """With the test accuracy of the chosen runs, so that the shadow belongs to what is shown."""
    table = phase_table(runs)
    accuracy, test = table.selected("symmetric")
    assert accuracy[0].tolist() == pytest.approx([(0.9 + 0.7) / 2, 0.25])
    assert test[0].tolist() == pytest.approx([(1.0 + 0.8) / 2, 1.0])
    accuracy, test = table.selected("inferential")
    assert accuracy[0].tolist() == pytest.approx([(0.6 + 0.8) / 2, 0.5])
    assert test[0].tolist() == pytest.approx([(0.5 + 0.7) / 2, 1.0])


def test_selection_among_equals_takes_the_lowest_rate() -> None:
    table = phase_table([make_run(rate=r, symmetric=0.5, test=t) for r, t in ((1e-3, 0.3), (2e-3, 0.9), (3e-3, 0.6))])
    assert table.selected("symmetric")[1].tolist() == [[0.3]]


def test_incomplete_grids_are_refused(runs: list[StoredRun]) -> None:
    with pytest.raises(ValueError, match=r"^11 runs do not fill a grid of 1 x 2 x 2 x 3 \(depth, gamma, seed, rate\)"):
        phase_table(runs[1:])
    with pytest.raises(ValueError, match=r"^0 runs do not fill a grid"):
        phase_table([])


def test_duplicates_are_refused(runs: list[StoredRun]) -> None:
    with pytest.raises(ValueError, match="13 runs do not fill"):
        phase_table([*runs, runs[0]])
    with pytest.raises(ValueError, match="two runs share a cell"):  # the number is right, but one cell is filled twice
        phase_table([*runs[:-1], runs[0]])


def make_table(cells: dict[tuple[int, float], str], shadowed: frozenset[tuple[int, float]] = frozenset()) -> PhaseTable:
    """(depth, γ) → "s", "i", or "-" for neither; one seed and one rate."""
    return phase_table(
        [
            make_run(
                depth, gamma, test=0.5 if (depth, gamma) in shadowed else 1.0, symmetric=kind == "s", inferential=kind == "i"
            )
            for (depth, gamma), kind in cells.items()
        ]
    )


GAMMAS = (0.25, 0.5, 0.75, 1.0)


def turning(table: PhaseTable) -> float:
    """At how many depths γ alone turns the selected answer from symmetric to inferential, as the claim counts them."""
    name = "depths at which γ alone turns the selected answer"
    return next(part.measured for part in _grid(table) if part.name == name)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("ssii", True),
        ("s--i", True),
        ("sisi", True),
        ("i-si", True),
        ("iiss", False),
        ("i-s-", False),
        ("ssss", False),
        ("iiii", False),
        ("----", False),
    ],
)
def test_gamma_turns_the_answer_where_a_larger_one_is_inferential(row: str, found: bool) -> None:
    assert turning(make_table({(2, gamma): kind for gamma, kind in zip(GAMMAS, row, strict=True)})) == found


def test_turns_are_counted_by_depth_and_shadow_does_not_count() -> None:
    rows = {2: "ssii", 3: "iiii", 4: "s-ii"}
    cells = {(depth, gamma): kind for depth, row in rows.items() for gamma, kind in zip(GAMMAS, row, strict=True)}
    assert turning(make_table(cells)) == 2
    assert turning(make_table(cells, frozenset({(2, 0.5), (2, 0.75)}))) == 2
    assert turning(make_table(cells, frozenset({(4, 0.25)}))) == 1


@pytest.mark.parametrize(("share", "found"), [(0.95, True), (0.9499, False)])
def test_a_region_begins_at_95_percent(share: float, found: bool) -> None:
    table = phase_table([make_run(gamma=0.25, symmetric=share), make_run(gamma=0.5, inferential=share)])
    assert turning(table) == found


@pytest.mark.parametrize(("test", "found"), [(0.90, True), (0.8999, False)])
def test_a_cell_is_shadowed_below_90_percent(test: float, found: bool) -> None:
    table = phase_table([make_run(gamma=0.25, symmetric=1.0, test=test), make_run(gamma=0.5, inferential=1.0)])
    assert turning(table) == found


def test_clearest_takes_the_best_of_the_fitted() -> None:
    runs = [
        make_run(gamma=0.3, symmetric=1.0, test=0.5),  # better, but it does not fit the seen pairs
        make_run(gamma=0.4, symmetric=0.8, inferential=0.1, test=0.9),
        make_run(gamma=0.5, symmetric=0.7, inferential=0.2, test=1.0),
    ]
    assert clearest(runs, "symmetric") is runs[1]
    assert clearest(runs, "inferential") is runs[2]
    assert clearest(runs[:1], "symmetric") is runs[0]  # if none fits, the best there is


def test_clearest_breaks_ties_by_gamma_then_seed_then_rate() -> None:
    runs = [make_run(gamma=g, seed=s, rate=r, symmetric=0.9) for g, s, r in product((0.6, 0.4), (1, 0), (2e-3, 1e-3))]
    for kept in (runs, runs[::-1]):
        best = clearest(kept, "symmetric").spec
        assert (best.gamma, best.seed, best.rate) == (0.4, 0, 1e-3)
    assert clearest(runs[:4], "symmetric").spec.gamma == 0.6


def test_each_rung_of_the_ladder_gives_the_taught_table() -> None:
    """Symmetric maps hold every taught pair with its mirror; primitives all but the exception."""
    rungs = ladder()
    taught = dict(rungs["pair maps"])
    assert taught.keys() == set(PAIRS) - {(4, 3)}
    symmetric = dict(rungs["symmetric maps"])
    assert {pair: symmetric[tuple(sorted(pair))] for pair in taught} == taught
    primitives = dict(rungs["primitives"])
    assert primitives == ANCHORS == {1: 5, 2: 1, 3: -2, 4: -8}
    differing = {pair for pair, offset in taught.items() if primitives[pair[0]] + primitives[pair[1]] != offset}
    assert differing == {(3, 4)}


# --- Claims of chapter 1 ---


def judged(name: str) -> tuple[str, str, list[str]]:
    row = judged_of(the_task.CLAIMS, name, [])
    return row["status"], row["measured"], row["failed"]


def test_data_generalization_is_asked_of_runs_that_learned_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def plant(*train_and_test: tuple[float, float]) -> None:
        runs = [make_run(test=test, seed=i, train=train) for i, (train, test) in enumerate(train_and_test)]
        monkeypatch.setattr(the_task, "two_layers", lambda store, profile: runs)

    plant((1.0, 1.0), (1.0, 0.92), (1.0, 0.5), (0.6, 0.4))
    status, measured, failed = judged("task-data-generalization")
    assert (status, failed) == ("partly", ["share of all runs"])
    assert "right: 0.67 (needed: more than 0.50; 95% interval 0.21 to 0.94); share of all runs: 0.50" in measured
    plant((1.0, 1.0), (1.0, 0.92), (0.6, 0.4))
    assert judged("task-data-generalization")[0] == "reproduced"
    plant((1.0, 0.8), (0.6, 0.4))
    assert judged("task-data-generalization")[0] == "too small to tell"
    plant(*[(1.0, 0.8)] * 8)
    assert judged("task-data-generalization")[0] == "no clear effect"
    plant((0.6, 0.4))
    assert judged("task-data-generalization")[:2] == ("not run", "no full-length run has learned its training rows")


def test_both_answers_have_to_occur_among_runs_that_know_the_seen_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    def plant(*runs: StoredRun) -> None:
        monkeypatch.setattr(the_task.metrics, "fast_runs", lambda store, profile: runs)

    pure, mixed, other = make_run(symmetric=0.97), make_run(symmetric=0.85), make_run(inferential=0.96)
    neither = make_run(symmetric=0.4, inferential=0.5)
    plant(pure, mixed, neither, make_run(inferential=1.0, test=0.9))
    status, _, failed = judged("task-generalization-differs")
    assert (status, failed) == ("no clear effect", ["inferential runs of two layers, 95% of their answers"])
    plant(pure, other)
    assert judged("task-generalization-differs")[0] == "reproduced"
    plant(pure, make_run(depth=3, inferential=1.0), make_run(depth=4, inferential=1.0))  # of no depth both
    assert judged("task-generalization-differs")[0] == "no clear effect"
    plant(pure, make_run(depth=4, inferential=1.0), make_run(depth=4, symmetric=1.0), make_run(depth=4, symmetric=0.99))
    status, measured, _ = judged("task-generalization-differs")
    assert (status, measured[:38]) == ("reproduced", "symmetric runs of four layers, 95% of ")
    assert ": 2 (needed: at least 1); inferential" in measured


def test_answers_of_runs_that_know_the_seen_pairs_are_told_by_depth() -> None:
    runs = [
        make_run(depth=d, seed=s, **{m: 0.9}) for d, s, m in ((2, 0, "symmetric"), (2, 1, "symmetric"), (3, 0, "symmetric"))
    ]
    runs += [make_run(depth=d, seed=1, inferential=0.8) for d in (2, 3, 4, 4)] + [make_run(depth=2, symmetric=0.79)]
    said = {name: fact.text for name, fact in the_task.metrics.facts(runs).items()}
    assert (said["clear-symmetric"], said["clear-symmetric-two"]) == ("3", "two")
    assert (said["clear-inferential"], said["clear-inferential-two"]) == ("4", "one")
    assert (said["known"], said["clear"], said["known-seeds"], said["errata"], said["entries"]) == (
        "8",
        "7",
        "two",
        "ten",
        "73",
    )


def test_statements_that_the_task_decides() -> None:
    status, measured, failed = judged("slides-ladder")
    assert (status, failed) == ("opposite", ["symmetric maps that compose no two primitives"])
    assert measured.endswith("no two primitives: 1 (needed: at most 0; (3, 4) composes to −10 and is taught −6)")
