"""Cosines of intermediates: by hand, on vectors that say nothing but the answer, and against a model asked directly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import make_tiny_spec
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu
from test_analysis import make_run

from lib.composition.runs import model_of
from lib.composition.task import ANCHORS, Task, composed
from lib.composition.vectors import metrics as vectors
from lib.composition.vectors.metrics import blocks, collect, contrast, fused, held
from lib.core.model.init import apply_gamma_stacked
from lib.core.model.transformer import Taps, Transformer
from lib.core.read.measures import cosines
from lib.core.read.statistics import compare, higher, two_sided
from lib.core.record.result import RunResult
from lib.core.record.store import Store, StoredRun

Question = tuple[int, tuple[int, int]]
Meaning = Callable[[Question], int]


@pytest.fixture
def run(tmp_path: Path) -> StoredRun:
    """A tiny untrained model as a stored run."""
    spec, store = make_tiny_spec(gamma=0.3), Store(tmp_path)
    model = Transformer(spec.model)
    apply_gamma_stacked(model, [spec.gamma], [spec.seed])
    weights = {name: p[0].detach() for name, p in model.named_parameters()}
    store.put(RunResult(spec, {}, {}, 0, "unfitted", None, 0.0, weights), {}, keep_weights=True)
    return store.get(spec)


def one_hot(numbers: list[int], shared: float = 0.0) -> np.ndarray:
    """One direction for each number, and `shared` along one direction for all."""
    return np.hstack([np.eye(400)[[n + 100 for n in numbers]], np.full((len(numbers), 1), shared)])


# ---------------------------------------------------------------- cosines


def test_cosines_by_hand() -> None:
    a, b = np.array([[3.0, 4.0], [0.0, 0.0], [-2.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 5.0], [6.0, 8.0], [0.0, 0.0]])
    expected = [[0.6, 0.8, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0], [-1.0, 0.0, -0.6, 0.0]]
    np.testing.assert_allclose(cosines(a, b), expected, atol=1e-12)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 5), m=st.integers(1, 5), scale=st.floats(1e-3, 1e3))
def test_cosines_do_not_see_lengths(seed: int, n: int, m: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(n, 7)), rng.normal(size=(m, 7))
    expected = [[x @ y / (np.sqrt(x @ x) * np.sqrt(y @ y)) for y in b] for x in a]
    np.testing.assert_allclose(cosines(a * scale, b), expected, atol=1e-12)


def test_centring_takes_the_mean_vector_away() -> None:
    """Of all, or of each group; and leaves what it was given as it is."""
    given_ = np.array([[1.0, 5.0], [3.0, 5.0], [8.0, 5.0]])
    assert vectors.centre(given_).tolist() == [[-3.0, 0.0], [-1.0, 0.0], [4.0, 0.0]]
    assert vectors.centre(given_, np.array([7, 2, 7])).tolist() == [[-3.5, 0.0], [0.0, 0.0], [3.5, 0.0]]
    assert given_.tolist() == [[1.0, 5.0], [3.0, 5.0], [8.0, 5.0]]


def test_contrast_by_hand() -> None:
    values = np.array([[0.9, 0.1, 0.7], [0.3, 0.5, -0.4]])
    agree = np.array([[True, False, True], [False, True, False]])
    assert contrast(values, agree) == pytest.approx((0.9 + 0.7 + 0.5) / 3 - (0.1 + 0.3 - 0.4) / 3)
    counted = np.array([[False, True, True], [True, True, False]])
    assert contrast(values, agree, counted) == pytest.approx((0.7 + 0.5) / 2 - (0.1 + 0.3) / 2)


def test_a_contrast_needs_both_kinds() -> None:
    values, agree = np.ones((2, 2)), np.eye(2, dtype=bool)
    for mask in (np.ones_like(agree), np.zeros_like(agree)):
        with pytest.raises(ValueError, match=r"^a contrast needs entries that agree and entries that do not\.$"):
            contrast(values, mask)
    for counted in (agree, ~agree):
        with pytest.raises(ValueError, match="needs entries"):
            contrast(values, agree, counted)


# ---------------------------------------------------------------- what is collected

ASKED: list[Question] = [(40, (1, 2)), (40, (1, 4)), (41, (1, 2)), (40, (1, 2))]


@pytest.mark.parametrize(("name", "ahead", "position"), [("V.2", 1, 3), ("X_ao.1", 0, 2), ("X_ao.2", None, 8)])
def test_collected_vectors_are_the_models(run: StoredRun, name: str, ahead: int | None, position: int) -> None:
    """At place 2, in one context: the noise of the first question, whatever is asked."""
    noise = Task().questions(torch.tensor([40]), torch.tensor([2]), torch.tensor([1]), seed=5).tokens[0].tolist()
    tokens = torch.tensor([[*noise[:2], key, *pair, *noise[5:]] for key, pair in ASKED])
    taps = Taps()
    model_of(run)(tokens[None], taps)
    expected = taps[name][0, :, position].reshape(4, -1).numpy()
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
    assert found.rows == found.columns == tuple(str(key) for key in range(30, 41))
    keys = range(30, 41)
    below, above = {(a, a - 6) for a in keys if a - 6 in keys}, {(a, a + 3) for a in keys if a + 3 in keys}
    assert {(int(found.rows[i]), int(found.columns[j])) for i, j in np.argwhere(found.agree)} == below | above
    assert (36, 30) in below
    assert (30, 33) in above


def test_fused_compares_the_pairs_of_its_halves(run: StoredRun) -> None:
    values = fused(run, context=3).values
    ask = lambda pair: collect(run, [(k, pair) for k in range(30, 41)], "X_ao.2", None, context=3)
    below, above = cosines(ask((3, 3)), ask((2, 2))), cosines(ask((1, 2)), ask((1, 3)))
    for i in range(11):
        for j in range(11):
            assert values[i, j] == pytest.approx((below if i >= j else above)[i, j], abs=1e-6)
    both = np.concatenate([ask((3, 3)), ask((2, 2))])
    both -= both.mean(0)
    assert fused(run, context=3, centred=True).values[7, 2] == pytest.approx(cosines(both[:11], both[11:])[7, 2], abs=1e-5)


def test_held_agrees_where_the_numbers_in_between_are_equal(run: StoredRun) -> None:
    """36 − 2 = 34 = 33 + 1 below the diagonal; above, where both pairs begin with anchor 1, no two keys give one number."""
    found = held(run)
    keys = range(30, 41)
    expected = {(a, a - 3) for a in keys if a - 3 in keys}
    assert {(int(found.rows[i]), int(found.columns[j])) for i, j in np.argwhere(found.agree)} == expected
    ask = lambda pair, context: collect(run, [(k, pair) for k in keys], "V.2", 1, context)
    below, above = cosines(ask((3, 3), 4), ask((2, 2), 4)), cosines(ask((1, 2), 4), ask((1, 3), 4))
    np.testing.assert_allclose(held(run, context=4).values, np.where(np.tri(11, dtype=bool), below, above), atol=1e-6)
    threes, twos = (v - v.mean(0) for v in (ask((3, 3), 4), ask((2, 2), 4)))  # each anchor by itself
    centred = held(run, context=4, centred=True).values
    assert centred[7, 2] == pytest.approx(cosines(threes, twos)[7, 2], abs=1e-5)
    ones = np.concatenate([ask((1, 2), 4), ask((1, 3), 4)])
    ones -= ones.mean(0)
    assert centred[2, 7] == pytest.approx(cosines(ones[:11], ones[11:])[2, 7], abs=1e-5)


def test_vectors_held_in_between_fill_the_figure(run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, middle)
    found = held(run)
    keys_equal = np.triu(np.eye(11, dtype=bool), 1)
    assert np.array_equal(found.values > 0.5, found.agree | keys_equal)


def test_blocks_are_ten_of_four_on_the_diagonal(run: StoredRun) -> None:
    found = blocks(run)
    assert np.array_equal(found.agree, np.kron(np.eye(10), np.ones((4, 4))).astype(bool))
    assert found.rows == found.columns
    assert found.rows[:4] == ("46+5", "50+1", "53-2", "59-8")
    sums = [int(name[:2]) + int(name[2:]) for name in found.rows]
    assert sums == [middle for middle in range(51, 61) for _ in range(4)]
    asked = [(middle - offset, (anchor, 2)) for middle in range(51, 61) for anchor, offset in ANCHORS.items()]
    values = collect(run, asked, "V.2", 1, 0)
    np.testing.assert_allclose(found.values, cosines(values, values), atol=1e-6)
    centred = (values.reshape(10, 4, -1) - values.reshape(10, 4, -1).mean(0)).reshape(40, -1)  # by anchor
    np.testing.assert_allclose(blocks(run, centred=True).values, cosines(centred, centred), atol=1e-6)
    assert not np.allclose(blocks(run, "X_ao.1").values, found.values, atol=1e-3)


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
    plant(monkeypatch, middle)
    found = blocks(run)
    assert np.array_equal(found.values, found.agree)


def test_contrast_is_1_for_answers_and_0_for_questions(run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of (key, unordered pair) agree only where nothing is counted."""
    plant(monkeypatch, answer)
    assert vectors.contrast_by_layer(run) == pytest.approx([1.0, 1.0])
    numbers: dict[tuple, int] = {}
    plant(monkeypatch, lambda q: numbers.setdefault((q[0], *sorted(q[1])), len(numbers)) - 100)
    assert vectors.contrast_by_layer(run) == pytest.approx([0.0, 0.0])


def test_contrast_at_the_anchor_is_1_where_the_key_is_added(run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, middle)
    assert vectors.anchor_contrast(run) == pytest.approx([1.0, 1.0])
    for alone in (lambda q: q[1][0], lambda q: q[0] * 5 + q[1][0] - 200):  # of the anchor, of the question: not counted
        plant(monkeypatch, alone)
        assert vectors.anchor_contrast(run) == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize(("name", "means"), [("contrast_by_layer", answer), ("anchor_contrast", middle)])
def test_what_all_vectors_share_hides_a_contrast_until_they_are_centred(
    run: StoredRun, monkeypatch: pytest.MonkeyPatch, name: str, means: Meaning
) -> None:
    plant(monkeypatch, means)
    measure = getattr(vectors, name)
    alone = measure(run, centred=True)
    plant(monkeypatch, means, shared=5.0)
    assert np.all(measure(run) < 0.1)
    assert measure(run, centred=True) == pytest.approx(alone)
    assert np.all(alone > 0.9)


def test_contrasts_are_means_over_contexts(run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """Context 0 knows the answers, 1 and 2 know nothing; and only layer 2 does."""
    for name, means in (("contrast_by_layer", answer), ("anchor_contrast", middle)):

        def fake(
            run: StoredRun, asked: list[Question], tap: str, ahead: int | None, context: int, m: Meaning = means
        ) -> np.ndarray:
            return one_hot([m(q) if context == 0 and tap == "X_ao.2" else 0 for q in asked])

        monkeypatch.setattr(vectors, "collect", fake)
        assert getattr(vectors, name)(run, contexts=3) == pytest.approx([0.0, 1 / 3])


# ---------------------------------------------------------------- groups of runs


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8), m=st.integers(1, 8))
def test_a_single_stratum_is_the_exact_test_of_mann_and_whitney(seed: int, n: int, m: int) -> None:
    score = np.random.default_rng(seed).permutation(n + m).astype(float)
    share, p = higher(score, [True] * n + [False] * m, [2] * (n + m))
    expected = mannwhitneyu(score[:n], score[n:], alternative="greater", method="exact")
    assert share == pytest.approx(expected.statistic / (n * m))
    assert p == pytest.approx(expected.pvalue)
    both = mannwhitneyu(score[:n], score[n:], alternative="two-sided", method="exact").pvalue
    assert two_sided(score, [True] * n + [False] * m, [2] * (n + m)) == pytest.approx(both)


def test_strata_are_drawn_by_themselves() -> None:
    """Two strata, with the positive on top of two others in each: 1 of 3 · 3 draws. A stratum of one kind says nothing."""
    score, positive, stratum = [3, 1, 2, 13, 11, 12], [True, False, False] * 2, [2, 2, 2, 3, 3, 3]
    assert higher(score, positive, stratum) == pytest.approx((1.0, 1 / 9))
    assert higher([*score, 99, 98], [*positive, False, False], [*stratum, 4, 4]) == pytest.approx((1.0, 1 / 9))
    assert higher([3, 1, 2, 11, 13, 12], positive, stratum) == pytest.approx((0.5, 6 / 9))
    assert higher([1, 1, 1], [True, False, False], [2] * 3) == pytest.approx((0.5, 1.0))  # ties
    with pytest.raises(ValueError, match="needs positives and negatives"):
        higher([1, 2], [True, False], [2, 3])


def test_both_directions_and_the_best_are_compared() -> None:
    found = compare([1, 2, 3, 4], [False, False, True, True])
    assert (found.share, found.p, found.opposite, found.least) == pytest.approx((1.0, 1 / 6, 1.0, 1 / 6))
    other = compare([4, 1, 3, 2], [True, False, True, False], [0, 0, 1, 1])
    assert (other.p, other.opposite, other.least) == pytest.approx((1 / 4, 1.0, 1 / 4))
    assert not other.clear


def test_depths_are_compared_by_themselves_where_there_are_enough_runs() -> None:
    runs = {m: [make_run(depth=d, seed=s, **{m: 0.9}) for d, k in counts for s in range(k)] for m, counts in PHASES.items()}
    assert vectors.counts(runs) == {2: (6, 1), 3: (5, 5), 4: (1, 0)}
    value = lambda r: r.metrics["inferential"] + 0.01 * r.spec.seed
    found = vectors.compared(runs, value)
    assert (found.share, found.p, found.opposite) == pytest.approx((1.0, 1 / 252 / 7, 1.0))
    assert found.least == found.p  # nothing could be rarer
    assert found.clear
    assert vectors.shared_depths(runs, 5) == [3]
    assert vectors.compared(runs, value, 3).p == pytest.approx(1 / 252)
    assert vectors.compared({m: vectors.of_depth(group, 4) for m, group in runs.items()}, value) is None


PHASES = {"symmetric": ((2, 6), (3, 5), (4, 1)), "inferential": ((2, 1), (3, 5))}
