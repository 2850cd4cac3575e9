"""The picture of all tasks: which runs a row compares, and what is said of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from lib.book import bridge
from lib.composition.diagram import gain


def runs(values: Sequence[tuple[float, float]], width: int = 64) -> list[Any]:
    """Stand-ins for runs: (γ, share)."""
    model = SimpleNamespace(d_model=width)
    return [SimpleNamespace(spec=SimpleNamespace(gamma=g, model=model), metrics={"inferential": v}) for g, v in values]


def task(name: str, large: Sequence[float], small: Sequence[float]) -> bridge.Task:
    return bridge.Task(name, "02-phase-diagram", "right", ("γ = 0.5", "γ = 0.8"), np.array(large), np.array(small), ())


AHEAD, BEHIND = task("sums", [0.1, 0.12, 0.11], [0.8, 0.82, 0.84]), task("words", [0.9, 0.92], [0.3, 0.31])
OPEN = task("stories", [0.2, 0.8], [0.3, 0.9])


def test_the_starts_of_a_row_are_the_stored_ones_nearest_to_what_is_asked() -> None:
    large, small = bridge._pair(runs([(0.25, 0.0), (0.45, 0.1), (0.45, 0.2), (0.85, 0.3), (1.05, 0.4)]), (0.5, 0.8))
    assert [run.metrics["inferential"] for run in large] == [0.1, 0.2]
    assert [run.metrics["inferential"] for run in small] == [0.3]
    both, _ = bridge._pair(runs([(0.25, 0.0), (0.45, 0.1), (0.55, 0.2), (0.85, 0.3)]), (0.5, 0.8))
    assert [run.metrics["inferential"] for run in both] == [0.1, 0.2]  # equally near
    assert bridge._task("sums", "02", "right", [both, both], "inferential").starts[0] == "γ = 0.45 and 0.55"


def test_the_papers_pair_is_found_by_gain_at_another_width_and_as_it_is_at_its_own() -> None:
    found = runs([(g / 100, 0.0) for g in range(20, 120)], width=64)
    large, small = bridge._by_gain(found)
    assert large[0].spec.gamma == 0.5
    assert gain(small[0].spec.gamma, 64) == pytest.approx(gain(0.8, 400), rel=0.03)
    same = bridge._by_gain(runs([(0.5, 0.0), (0.8, 0.0), (0.93, 0.0)], width=400))
    assert [group[0].spec.gamma for group in same] == [0.5, 0.8]


def test_the_ends_are_the_largest_and_the_smallest_start() -> None:
    large, small = bridge._ends(runs([(0.9, 0.1), (0.3, 0.2), (0.3, 0.3)]))
    assert [run.metrics["inferential"] for run in large] == [0.2, 0.3]
    assert small[0].spec.gamma == 0.9


def test_the_sentence_counts_rows_by_their_intervals() -> None:
    said = bridge.sentence([AHEAD, BEHIND, OPEN])
    assert "On 3 tasks in 3 settings" in said
    assert (
        "the smaller start is ahead in 1 (sums), behind in 1 (words); in the other 1 its 95% interval over seeds holds zero."
        in said
    )
    assert "On 1 tasks in 1 settings" not in bridge.sentence([OPEN])
    assert "in 0, behind in none; in the other 1" in bridge.sentence([OPEN])


def test_the_table_has_the_lead_with_its_interval() -> None:
    line = bridge.rows([AHEAD]).splitlines()[-1]
    gap, low, high = AHEAD.lead
    assert gap == pytest.approx(0.71)
    assert f"{gap:+.2f} [{low:+.2f}, {high:+.2f}]" in line
    assert "3, 3" in line


def test_the_picture_has_a_row_a_task_from_the_first_on_top() -> None:
    figure = bridge.draw([AHEAD, BEHIND, OPEN])
    axis = figure.axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["sums", "words", "stories"]
    assert axis.yaxis_inverted()
    plt.close(figure)
