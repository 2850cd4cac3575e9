"""The picture of all tasks: which runs a row compares, and what is said of the rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from lib.book import bridge
from lib.book.paths import default_store
from lib.composition.diagram import gain


def runs(values: Sequence[tuple[float, float]], width: int = 64) -> list[Any]:
    """Stand-ins for runs: (γ, share)."""
    model = SimpleNamespace(d_model=width)
    return [SimpleNamespace(spec=SimpleNamespace(gamma=g, model=model), metrics={"inferential": v}) for g, v in values]


def group(values: Sequence[float], seeds: Sequence[int] = ()) -> list[Any]:
    """Stand-ins for runs with these shares; of the seeds from 0 on, if none are given."""
    specs = [SimpleNamespace(gamma=0.5, decay=0.1, seed=seed) for seed in seeds or range(len(values))]
    return [SimpleNamespace(spec=spec, metrics={"test": v, "train": v}) for spec, v in zip(specs, values, strict=True)]


def setting(large: Sequence[float], small: Sequence[float], name: str = "", **how: Any) -> bridge.Setting:
    return bridge.setting(name, [group(large), group(small)], "test", ("γ = 0.5", "γ = 0.8"), **how)


def task(name: str, *settings: bridge.Setting, **how: Any) -> bridge.Task:
    return bridge.Task(name, "is it so?", "02-phase-diagram", "right", settings, **how)


AHEAD = task("sums", setting([0.1, 0.12, 0.11], [0.8, 0.82, 0.84]))
BEHIND = task("words", setting([0.9, 0.92], [0.3, 0.31]))
OPEN = task("stories", setting([0.2, 0.8], [0.3, 0.9], "few"), setting([0.2, 0.8], [0.9, 0.3], "many"))


def test_the_starts_of_a_row_are_the_stored_ones_nearest_to_what_is_asked() -> None:
    large, small = bridge._pair(runs([(0.25, 0.0), (0.45, 0.1), (0.45, 0.2), (0.85, 0.3), (1.05, 0.4)]), (0.5, 0.8))
    assert [run.metrics["inferential"] for run in large] == [0.1, 0.2]
    assert [run.metrics["inferential"] for run in small] == [0.3]
    both, _ = bridge._pair(runs([(0.25, 0.0), (0.45, 0.1), (0.55, 0.2), (0.85, 0.3)]), (0.5, 0.8))
    assert [run.metrics["inferential"] for run in both] == [0.1, 0.2]  # equally near
    assert bridge.setting("", [both, both], "inferential").starts[0] == "γ = 0.45 and 0.55"


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


def test_the_sentence_counts_settings_by_their_intervals() -> None:
    said = bridge.sentence([AHEAD, BEHIND, OPEN])
    assert "In 3 rows with 4 settings" in said
    assert (
        "ahead in 2 (sums; stories, few), behind in 1 (words); in the other 1 its 95% interval over seeds holds zero." in said
    )
    assert "In 1 row with 1 setting " in bridge.sentence([BEHIND])
    assert "In 0 of the settings" not in said


def test_runs_of_one_seed_are_compared_with_each_other() -> None:
    """Seeds that differ much by themselves, and little between the starts."""
    gap, low, high = OPEN.settings[0].lead
    assert (gap, low, high) == pytest.approx((0.1, 0.1, 0.1))
    shuffled = bridge.setting("", [group([0.8, 0.2], seeds=[1, 0]), group([0.3, 0.9])], "test")
    assert shuffled.lead == pytest.approx((0.1, 0.1, 0.1))
    others = bridge.setting("", [group([0.8, 0.2], seeds=[5, 6]), group([0.3, 0.9])], "test")
    assert others.lead[1] < 0 < others.lead[2]  # nothing to pair


def test_what_has_not_learned_is_shown_and_not_averaged() -> None:
    one = setting([0.9, 0.8, 0.1], [1.0, 0.95, 0.97], learned=lambda runs: np.array([r.metrics["test"] > 0.5 for r in runs]))
    assert one.means == pytest.approx((0.85, 0.9733), abs=1e-4)
    figure = bridge.draw([task("sums", one)])
    opened = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "white"]
    assert [line.get_xdata()[0] for line in opened] == [0.1]
    line = bridge.rows([task("sums", one)]).splitlines()[-1]
    assert "2 of 3, 3" in line
    plt.close(figure)


@pytest.mark.filterwarnings("error")
def test_a_start_that_has_not_learned_is_shown_and_not_compared() -> None:
    none = task(
        "anchors", setting([0.01, 0.02], [0.3, 0.9], learned=lambda runs: np.array([r.metrics["test"] > 0.1 for r in runs]))
    )
    assert not none.settings[0].comparable
    figure = bridge.draw([AHEAD, none])
    assert len(figure.axes[1].lines) == 3  # one difference with its interval, and zero
    plt.close(figure)
    said = bridge.sentence([AHEAD, none])
    assert said.startswith("In 1 row with 1 setting ")
    assert "fewer than two runs learned their training: anchors." in said
    assert bridge.rows([none]).splitlines()[-1].rstrip(" |").endswith("0 of 2, 2 | 0.01, not learned | 0.60 | –")


def test_the_table_has_the_lead_with_its_interval() -> None:
    line = bridge.rows([AHEAD]).splitlines()[-1]
    gap, low, high = AHEAD.settings[0].lead
    assert gap == pytest.approx(0.71)
    assert f"{gap:+.2f} [{low:+.2f}, {high:+.2f}]" in line
    assert "3, 3" in line


def test_trials_are_told() -> None:
    of = lambda runs: np.array([run.metrics["train"] >= 0.99 for run in runs])
    tried = task("sums", setting([1.0], [0.004], "one form", learned=of), setting([0.5], [1.0], "another"))
    said = bridge.trial_sentence([tried])
    assert "In 2 of sums the small start is behind in 1, the most with one form: 0.4% against 100.0%" in said
    assert said.endswith("; one of the two has not learned its training.")
    assert bridge.trial_sentence([task("sums", setting([0.5], [1.0]))]).endswith("behind in none.")
    assert "0.00, not learned" in bridge.rows([AHEAD], [tried])


def test_the_picture_has_a_row_a_task_and_another_axis_for_two_answers() -> None:
    figure = bridge.draw(
        [AHEAD, task("coins", *BEHIND.settings, two_valued=True), OPEN, task("mix", *BEHIND.settings, drawn=False)]
    )
    first, second = figure.axes[0], figure.axes[2]
    assert [label.get_text() for label in first.get_yticklabels()] == ["sums:\nis it so?", "stories:\nis it so?"]
    assert [label.get_text() for label in second.get_yticklabels()] == ["coins:\nis it so?"]
    assert first.yaxis_inverted()
    assert (first.get_xlim()[0], second.get_xlim()[0]) == (-0.02, 0.38)
    assert len(bridge.draw([AHEAD], narrow=True).axes) == 2
    plt.close("all")


def test_questions_of_rows_have_five_words_at_most() -> None:
    found = [make(default_store(), "laptop") for make in bridge.TASKS]
    assert max(len(row.question.split()) for row in found) <= 5
    assert len({row.name for row in found}) == len(found)
    assert [row.name for row in found if not row.drawn] == ["a mix"]


def test_what_a_size_counts_stands_apart_from_it() -> None:
    store = default_store()
    names = [one.name for task in (*bridge.tasks(store, "laptop"), *bridge.trials(store, "laptop")) for one in task.settings]
    assert "250 questions" in names
    assert not [name for name in names if re.search(r"\d[a-z]", name)]
