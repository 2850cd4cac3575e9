"""Cosines of intermediates: by hand, on vectors that say nothing but the answer, and against a model asked directly."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from planted_composition import new_seed, stored
from scipy.stats import mannwhitneyu

from lib.composition.information_flow.metrics import KEY_FIRST, PAIR_FIRST
from lib.composition.runs import model_of
from lib.composition.task import ANCHORS, EXCEPTION, SEEN_PAIRS, Task, composed
from lib.composition.vectors import metrics as vectors
from lib.composition.vectors.metrics import collect, fused
from lib.core.model.transformer import ActivationCache
from lib.core.read.fact import ABSENT
from lib.core.read.measures import cosines
from lib.core.read.statistics import compare, compare_units, mann_whitney, two_sided
from lib.core.record.store import StoredRun

Question = tuple[int, tuple[int, int]]
Meaning = Callable[[Question], int]


@pytest.fixture
def run(tmp_path: Path) -> StoredRun:
    return stored(tmp_path, gamma=0.3)


def one_hot(numbers: list[int], shared: float = 0.0) -> np.ndarray:
    """One direction for each number, and `shared` along one direction for all."""
    return np.hstack([np.eye(400)[[n + 100 for n in numbers]], np.full((len(numbers), 1), shared)])


# ---------------------------------------------------------------- cosines


@given(seed=st.integers(0, 10**6), n=st.integers(1, 5), m=st.integers(1, 5), scale=st.floats(1e-3, 1e3))
def test_cosines_do_not_see_lengths(seed: int, n: int, m: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(n, 7)), rng.normal(size=(m, 7))
    expected = [[x @ y / (np.sqrt(x @ x) * np.sqrt(y @ y)) for y in b] for x in a]
    np.testing.assert_allclose(cosines(a * scale, b), expected, atol=1e-12)
    assert cosines(0 * a, b).tolist() == [[0.0] * m] * n


# ---------------------------------------------------------------- what is collected

ASKED: list[Question] = [(40, (1, 2)), (40, (1, 4)), (41, (1, 2)), (40, (1, 2))]


@pytest.mark.parametrize(("name", "ahead", "position"), [("V.2", 1, 3), ("X_ao.1", 0, 2), ("X_ao.2", None, 8)])
def test_collected_vectors_are_the_models(run: StoredRun, name: str, ahead: int | None, position: int) -> None:
    """At place 2, in one context: the noise of the first question, whatever is asked."""
    noise = Task().questions(torch.tensor([40]), torch.tensor([2]), torch.tensor([1]), seed=5).tokens[0].tolist()
    tokens = torch.tensor([[*noise[:2], key, *pair, *noise[5:]] for key, pair in ASKED])
    activations = ActivationCache()
    model_of(run)(tokens[None], activations)
    expected = activations[name][0, :, position].reshape(4, -1).numpy()
    np.testing.assert_allclose(collect(run, ASKED, name, ahead, context=5), expected, atol=1e-6)


def test_a_vector_knows_what_stands_before_it(run: StoredRun) -> None:
    """One context for all, so that equal questions have equal vectors; another context, other vectors."""
    first = collect(run, ASKED, "X_ao.2", 1, context=0)
    assert np.array_equal(first[0], first[1])
    assert not np.allclose(first[0], first[2], atol=1e-3)
    last = collect(run, ASKED, "X_ao.2", None, context=0)
    assert np.array_equal(last[0], last[3])
    assert not np.allclose(last[0], last[1], atol=1e-3)
    assert not np.allclose(last, collect(run, ASKED, "X_ao.2", None, context=1), atol=1e-3)


# ---------------------------------------------------------------- the figures


def test_fused_agrees_where_the_answers_are_equal(run: StoredRun) -> None:
    """f(36; 3, 3) = 32 = f(30; 2, 2) below the diagonal, f(30; 1, 2) = 36 = f(33; 1, 3) above, nothing on it."""
    found = fused(run)
    keys = range(30, 41)
    below, above = {(a, a - 6) for a in keys if a - 6 in keys}, {(a, a + 3) for a in keys if a + 3 in keys}
    assert {(30 + i, 30 + j) for i, j in np.argwhere(found.agree)} == below | above
    assert (36, 30) in below
    assert (30, 33) in above


def test_fused_compares_the_pairs_of_its_halves(run: StoredRun) -> None:
    values = fused(run, context=3).values
    ask = lambda pair: collect(run, [(k, pair) for k in range(30, 41)], "X_ao.2", None, context=3)
    below, above = cosines(ask((3, 3)), ask((2, 2))), cosines(ask((1, 2)), ask((1, 3)))
    for i in range(11):
        for j in range(11):
            assert values[i, j] == pytest.approx((below if i >= j else above)[i, j], abs=1e-6)


def answer(question: Question) -> int:
    return question[0] + composed(question[1])


def middle(question: Question) -> int:
    return question[0] + ANCHORS[question[1][0]]


def plant(monkeypatch: pytest.MonkeyPatch, means: Meaning, shared: float = 0.0) -> None:
    """Vectors that say nothing but `means(question)`."""
    monkeypatch.setattr(vectors, "collect", lambda run, asked, *rest: one_hot([means(q) for q in asked], shared))


def test_vectors_of_answers_fill_the_figure(run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, answer)
    found = fused(run)
    assert np.array_equal(found.values, found.agree)


def test_contrast_is_1_for_answers_and_0_for_questions(run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of (key, unordered pair) agree only where nothing is counted; what all vectors share hides a contrast."""
    contrast_of = vectors.plain_contrast.__wrapped__
    plant(monkeypatch, answer)
    assert contrast_of(run) == pytest.approx(1.0)
    plant(monkeypatch, answer, shared=5.0)
    assert 0 < contrast_of(run) < 0.1
    numbers: dict[tuple, int] = {}
    plant(monkeypatch, lambda q: numbers.setdefault((q[0], *sorted(q[1])), len(numbers)) - 100)
    assert contrast_of(run) == pytest.approx(0.0)


def told_by(monkeypatch: pytest.MonkeyPatch, means: dict[tuple[str, int | None], Callable[[Question], float]]) -> None:
    """Vectors of one coordinate: what an intermediate at one position says of each question."""
    fake = lambda run, asked, tap, ahead, context: np.array([[means[tap, ahead](question)] for question in asked])
    monkeypatch.setattr(vectors, "collect", fake)


def test_a_contrast_is_a_mean_over_contexts(run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the last layer's state of the last token. Context 0 knows the answers, 1 and 2 know nothing."""
    fake = lambda run, asked, tap, ahead, context: one_hot(
        [answer(q) if (tap, ahead, context) == ("X_ao.2", None, 0) else 0 for q in asked]
    )
    monkeypatch.setattr(vectors, "collect", fake)
    assert vectors.plain_contrast.__wrapped__(run) == pytest.approx(1 / 3)


# ---------------------------------------------------------------- the nearest


def test_shares_of_the_nearest_are_counted_to_within_one() -> None:
    found = vectors.Nearest(np.array([1, 2, 3, 4]), np.array([5, 6, 7, 8]), np.array([2, 2, 5, 9]), np.array([4, 9, 7, 9]))
    assert found.shares().tolist() == [0.75, 0.5]


def test_the_nearest_at_the_anchor_is_of_another_anchor(run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    told_by(monkeypatch, {("X_ao.1", 1): lambda q: q[0], ("V.2", 1): middle})
    by_key, by_sum = (vectors.nearest_between(run, name) for name in ("X_ao.1", "V.2"))
    assert by_key.shares().tolist() == [0, 1]
    both = (by_sum.number >= 33) & (by_sum.number <= 91)  # numbers that two anchors give at least
    assert np.array_equal(by_sum.number[both], by_sum.nearest_number[both])
    assert both.mean() > 0.9 > 0.1 > by_sum.shares()[1]
    assert sorted(zip(by_sum.key.tolist(), (by_sum.number - by_sum.key).tolist(), strict=True)) == sorted(
        (key, offset) for key in range(35, 91) for offset in ANCHORS.values()
    )
    assert vectors.between.__wrapped__(run) == pytest.approx(np.array([[0, 1], by_sum.shares()]))
    assert vectors.passes_on(run) == pytest.approx(by_sum.shares()[0])


def test_the_nearest_answer_is_of_an_offset_three_away(run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    told_by(monkeypatch, {("X_ao.2", None): answer, ("X_do.2", None): lambda q: q[0]})
    found = vectors.nearest_answer(run, "X_ao.2")
    assert np.all(np.abs((found.number - found.key) - (found.nearest_number - found.nearest_key)) >= 3)
    assert {*found.number - found.key} == {composed(pair) for pair in SEEN_PAIRS if pair != EXCEPTION}
    by_answer, by_key = vectors.answered.__wrapped__(run)
    assert by_answer[0] > 0.9 > 0.1 > by_answer[1]
    assert by_key.tolist() == [0, 1]
    assert vectors.knows_early(run) == by_answer[0]


@pytest.mark.parametrize("off", [8, 9, 11])
def test_the_shift_is_by_how_much_two_anchors_differ(run: StoredRun, monkeypatch: pytest.MonkeyPatch, off: int) -> None:
    """Where the nearest is at an end it may be any, and does not count."""
    told_by(monkeypatch, {("V.2", 1): lambda q: q[0] + (5 if q[1][0] == 1 else -off)})
    assert vectors.shift.__wrapped__(run) == 5 + off
    told_by(monkeypatch, {("V.2", 1): lambda q: q[0] if q[1][0] == 1 else -1000.0})
    assert np.isnan(vectors.shift.__wrapped__(run))


class Adding:
    """A model whose last layer reads the number in between from the first anchor, off by `slip` for anchor 4; it adds what the
    second anchor has, and would notice another key."""

    def __init__(self, slip: int) -> None:
        self.slip = slip

    def __call__(self, tokens: torch.Tensor, activations: ActivationCache) -> torch.Tensor:
        values = tokens.clone()
        add = lambda anchor: torch.tensor([ANCHORS[int(a)] for a in anchor])
        values[0, :, 3] = tokens[0, :, 2] + add(tokens[0, :, 3]) + self.slip * (tokens[0, :, 3] == 4)
        values[0, :, 4] = add(tokens[0, :, 4])
        read = activations.hook("V.2", values[..., None, None])[0, ..., 0, 0]
        assert torch.equal(read[:, [0, 1, 2, 5, 6, 7, 8]], tokens[0][:, [0, 1, 2, 5, 6, 7, 8]])
        return torch.nn.functional.one_hot(read[:, 3] + read[:, 4], 120).float()[None]


@pytest.mark.parametrize(("slip", "share"), [(-1, [0, 1]), (0, [1, 1]), (1, [0, 1])])
def test_a_slip_at_the_anchor_is_mended_there(
    run: StoredRun, monkeypatch: pytest.MonkeyPatch, slip: int, share: list[float]
) -> None:
    monkeypatch.setattr(vectors, "model_of", lambda run: Adding(slip))
    assert vectors.mended.__wrapped__(run).tolist() == share


def test_a_slip_elsewhere_is_not_mended_there(run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    late = lambda tokens, activations: Adding(0)(tokens, activations).roll(1, -1)
    monkeypatch.setattr(vectors, "model_of", lambda run: late)
    assert vectors.mended.__wrapped__(run).tolist() == [0, 0]


def test_what_chapter_4_says_is_of_the_right_runs(telling: None) -> None:
    """γ, way, answers; the same key before, the same number after; the shift, the contrast, and −10 by itself and mended."""
    rows = [
        (0.55, KEY_FIRST, -6, 1.0, 0.3, 15.0, 0.4, (0.0, 0.0)),
        (0.55, PAIR_FIRST, -6, 0.1, 0.05, 9.0, 0.3, (0.0, 0.0)),
        (1.25, KEY_FIRST, -10, 0.62, 0.7, 13.1, 0.01, (0.5, 1.0)),
        (1.25, KEY_FIRST, -11, 0.3, 0.9, 14.0, 0.01, (0.0, 0.9)),
        (1.25, PAIR_FIRST, -10, 0.9, 0.05, 9.0, 0.01, (1.0, 0.1)),
        (1.1, KEY_FIRST, -11, 0.9, 0.8, 14.3, 0.02, (0.0, 0.0)),
        (1.1, KEY_FIRST, -10, 0.9, 0.9, 12.5, 0.05, (0.0, 0.0)),
        (1.1, KEY_FIRST, -11, 0.9, 0.2, 19.0, 0.02, (0.0, 0.0)),  # passes no number on
        (1.1, PAIR_FIRST, -6, 0.9, 0.1, 1.0, 0.06, (0.0, 0.0)),
    ]
    runs = []
    for seed, (gamma, way, offset, key, number, moved, contrast, mended) in enumerate(rows):
        told = {"between": np.array([[0.0, key], [number, 0.0]]), "answered": np.zeros((2, 2)), "answers": (0.9, 0.8)}
        told |= {"shift": moved, "plain_contrast": contrast, "mended": np.array(mended)}
        runs.append(new_seed(gamma, seed, way, {offset: 1.0}, **told))
    said = {name: fact.text for name, fact in vectors.facts(runs).items()}
    assert (said["first-runs"], said["arrives"], said["sum-first"]) == ("two", "30% to 62%", "70% to 90%")
    assert (said["slip-size"], said["no-slip"], said["mended"]) == ("14.0 to 14.0", "13.1", "90% to 100%")
    assert (said["mended-own"], said["slip-later"]) == ("0% to 50%", "one")
    assert (said["slip-later-size"], said["slip-later-rest"]) == ("14.3 to 14.3", "12.5 to 12.5")
    assert (said["contrast-runs"], said["contrast-p"], said["contrast-gamma"]) == ("2", "0.5", "−0.87")
    apart = vectors.facts([run for run in runs if run.spec.gamma != 1.1])
    assert (apart["contrast-p"].text, apart["contrast-runs"].text) == (ABSENT, "0")


# ---------------------------------------------------------------- groups of runs


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8), m=st.integers(1, 8))
def test_a_single_stratum_is_the_exact_test_of_mann_and_whitney(seed: int, n: int, m: int) -> None:
    score = np.random.default_rng(seed).permutation(n + m).astype(float)
    share, p = mann_whitney(score, [True] * n + [False] * m, [2] * (n + m))
    expected = mannwhitneyu(score[:n], score[n:], alternative="greater", method="exact")
    assert share == pytest.approx(expected.statistic / (n * m))
    assert p == pytest.approx(expected.pvalue)
    both = mannwhitneyu(score[:n], score[n:], alternative="two-sided", method="exact").pvalue
    assert two_sided(score, [True] * n + [False] * m, [2] * (n + m)) == pytest.approx(both)


def test_strata_are_drawn_by_themselves() -> None:
    """Two strata, with the positive on top of two others in each: 1 of 3 · 3 draws. A stratum of one kind says nothing."""
    score, positive, stratum = [3, 1, 2, 13, 11, 12], [True, False, False] * 2, [2, 2, 2, 3, 3, 3]
    assert mann_whitney(score, positive, stratum) == pytest.approx((1.0, 1 / 9))
    assert mann_whitney([*score, 99, 98], [*positive, False, False], [*stratum, 4, 4]) == pytest.approx((1.0, 1 / 9))
    assert mann_whitney([3, 1, 2, 11, 13, 12], positive, stratum) == pytest.approx((0.5, 6 / 9))
    assert mann_whitney([1, 1, 1], [True, False, False], [2] * 3) == pytest.approx((0.5, 1.0))  # ties
    with pytest.raises(ValueError, match="needs positives and negatives"):
        mann_whitney([1, 2], [True, False], [2, 3])


@given(seed=st.integers(0, 10**6))
def test_units_that_are_each_a_draw_are_compared_as_ever(seed: int) -> None:
    """Of one number each, in any strata, with ties."""
    rng = np.random.default_rng(seed)
    score, positive = rng.integers(0, 5, 9).astype(float), np.array([True, False] * 4 + [True])
    stratum = [0, 0, *rng.integers(0, 3, 7).tolist()]
    assert astuple(compare_units(score, positive, stratum, range(9))) == pytest.approx(
        astuple(compare(score, positive, stratum))
    )


def test_labels_of_a_unit_are_dealt_together() -> None:
    """Four units in two strata, the positive on top in both: 1 of 4 draws, not 1 of 16. A fifth stands alone in a third stratum
    with three more, whose draws are their own."""
    score, positive, stratum = [9, 1, 2, 3] * 2, [True, False, False, False] * 2, [0] * 4 + [1] * 4
    found = compare_units(score, positive, stratum, [*range(4)] * 2)
    assert (found.share, found.p, found.opposite, found.least) == pytest.approx((1.0, 1 / 4, 1.0, 1 / 4))
    both = compare_units(
        [*score, 5, 6, 7, 9], [*positive, False, False, False, True], [*stratum, *[2] * 4], [*range(4)] * 2 + [*"abcd"]
    )
    assert (both.p, both.least) == pytest.approx((1 / 16, 1 / 16))
    split = compare_units(score, [True, False, False, False, False, True, False, False], stratum, [*range(4)] * 2)
    assert split.share == pytest.approx(0.5)  # all three pairs of the one stratum, none of the other
    # twelve ways to deal (1, 0), (0, 1) and twice (0, 0): ranks 4 + r of the unit on top of one, or two of the lower three
    assert split.p == pytest.approx(sum(a + b >= 5 for a, b in itertools.permutations((4, 1, 2, 3), 2)) / 12)
    with pytest.raises(ValueError, match="a stratum once"):
        compare_units([1, 2], [True, False], [0, 0], [5, 5])
    with pytest.raises(ValueError, match="needs positives and negatives"):
        compare_units([1, 2], [True, False], [2, 3], [0, 1])


def test_both_directions_and_the_best_are_compared() -> None:
    found = compare([1, 2, 3, 4], [False, False, True, True])
    assert (found.share, found.p, found.opposite, found.least) == pytest.approx((1.0, 1 / 6, 1.0, 1 / 6))
    other = compare([4, 1, 3, 2], [True, False, True, False], [0, 0, 1, 1])
    assert (other.p, other.opposite, other.least) == pytest.approx((1 / 4, 1.0, 1 / 4))
