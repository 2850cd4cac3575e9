"""Separation of the two ends of γ: by hand, and what may be compared with what."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lib.composition.experiments import full_length, model_spec
from lib.composition.phase_diagram import figures, metrics, prose
from lib.core.record.spec import RunSpec
from lib.core.record.store import StoredRun


def a_run(gamma: float, lean: float, seed: int = 0, width: int = 64, rate: float = 1e-3, batch: int = 64, **task) -> StoredRun:
    """A run whose inferential share exceeds the symmetric one by `lean`."""
    spec = RunSpec("tiny", 1, gamma, seed, rate, 0.01, model_spec(width, 2), full_length(batch, 1000), tuple(task.items()))
    metrics = {"symmetric": max(0.0, -lean), "inferential": max(0.0, lean)}
    return StoredRun(spec, metrics, {}, 1000, "done", None, 1.0, {}, Path(f"{spec.key}.json"))


def test_separation_by_hand() -> None:
    """γ .5 has gain 1, γ .9 gain .19; γ .7, gain .44, is at neither end."""
    runs = [a_run(0.5, -1.0), a_run(0.5, -0.5, seed=1), a_run(0.9, 0.6), a_run(0.9, 0.8, seed=1), a_run(0.7, 0.9)]
    (found,) = metrics.settings(runs)
    assert sorted(found.large) == [-1.0, -0.5]
    assert sorted(found.small) == [0.6, 0.8]
    assert found.separation == pytest.approx((0.7 + 0.75) / 2)
    assert found.error == pytest.approx(0.5 * math.hypot(0.25, 0.1))
    assert math.isnan(metrics.settings(runs[:1] + runs[2:3])[0].error)


def test_what_was_trained_twice_counts_once() -> None:
    """The same settings, γ and seed in two experiments: their mean."""
    again = replace(a_run(0.5, -0.5), spec=replace(a_run(0.5, -0.5).spec, experiment="other"), path=Path("other.json"))
    (found,) = metrics.settings([a_run(0.5, -1.0), again, a_run(0.9, 0.6)])
    assert found.large.tolist() == [-0.75]
    assert found.runs_an_end == 1


def test_the_ends_are_of_gain_not_of_gamma() -> None:
    """At width 1024 γ .75 multiplies a vector by .18, at width 16 by .5."""
    for width, ends in ((1024, 1), (16, 0)):
        found = metrics.settings([a_run(0.5, -1.0, width=width), a_run(0.75, 1.0, width=width)])
        assert len(found) == ends


def test_what_is_one_setting_and_what_is_not() -> None:
    ends = lambda **what: [a_run(0.5, -1.0, **what), a_run(0.9, 1.0, **what)]
    again = [replace(r, spec=replace(r.spec, experiment="other"), path=Path(f"other-{i}")) for i, r in enumerate(ends())]
    assert len(metrics.settings([*ends(), *again])) == 1
    assert len(metrics.settings([*ends(), *ends()])[0].small) == 1  # the same run twice counts once
    assert len(metrics.settings([*ends(), *ends(rate=2e-3), *ends(batch=128), *ends(width=128), *ends(rows=100)])) == 5
    for variant in ({"keys": 30}, {"modulus": 9}, {"unseen": "both"}, {"groups": 0}):
        assert metrics.settings(ends(**variant)) == []
    deep = [replace(r, spec=replace(r.spec, model=model_spec(64, 3))) for r in ends()]
    pre = [replace(r, spec=replace(r.spec, model=replace(r.spec.model, norm="pre"))) for r in ends()]
    assert metrics.settings([*deep, *pre]) == []


def rising(n: int = 6) -> list[StoredRun]:
    """Settings that separate the better the wider they are."""
    return [a_run(g, sign * i / n, width=2 ** (5 + i)) for i in range(1, n) for g, sign in ((0.5, -1), (1.0, 1))]


def test_trends_and_what_is_said_of_them() -> None:
    found = metrics.settings(rising())
    assert metrics.trend(found, "width")[0] == pytest.approx(1)
    text = prose.separation_text(found)
    assert "With *width* the separation grows." in text
    assert "*training rows seen* the separation shows no clear trend." in text
    assert text.startswith("5 of 5 settings lean more")
    mirrored = [replace(s, by_large=s.by_small, by_small=s.by_large) for s in found]
    assert "With *width* the separation falls." in prose.separation_text(mirrored)
    assert prose.separation_text(mirrored).startswith("0 of 5 settings lean more")
    with pytest.raises(ValueError, match="three settings"):
        metrics.trend(found[:2], "width")
    assert "With" not in prose.separation_text(found[:2])


def test_the_figure_has_a_line_a_setting() -> None:
    found = metrics.settings(rising())
    fig = figures.separations(found)
    (ax,) = fig.axes
    joined = [line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_color() == "#888888"]
    means = [tuple(np.round(line.get_xdata(), 6)) for line in joined]
    widest = sorted(found, key=lambda s: s.separation)
    assert means == [(round(s.large.mean(), 6), round(s.small.mean(), 6)) for s in widest]
    assert [label.get_text().split(",")[0] for label in ax.get_yticklabels()] == [str(s.spec.model.d_model) for s in widest]
