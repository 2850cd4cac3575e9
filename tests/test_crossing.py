"""Fits of transitions: planted parameters come back, and one curve is told from several."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from planted_composition import make_run

from lib.composition.width.metrics import VARIABLES, by_shape, collapse, fit_crossing, fit_logistic

GAMMAS = np.repeat(np.linspace(0.4, 1.0, 7), 4)
SHIFTS = {"narrow": -0.15, "medium": 0.0, "wide": 0.15}


def logistic(x: np.ndarray, centre: float, width: float) -> np.ndarray:
    return 1 / (1 + np.exp(-(x - centre) / width))


def answers(x: np.ndarray, centre: float, width: float, seed: int = 0) -> np.ndarray:
    """Shares of runs, most of which give one answer or the other."""
    return (np.random.default_rng(seed).random(len(x)) < logistic(x, centre, width)).astype(float)


# ---------------------------------------------------------------- one curve


@given(a=st.floats(-3, 3), b=st.floats(0.5, 5), sign=st.sampled_from([-1, 1]), scale=st.floats(1e-2, 1e2))
def test_planted_parameters_are_recovered(a: float, b: float, sign: int, scale: float) -> None:
    """Exactly, from exact shares and without the ridge; nearly, with it; in any unit of x."""
    z = np.linspace(-2, 2, 200)
    p = 1 / (1 + np.exp(-(a + sign * b * z)))
    assert fit_logistic(z * scale, p, prior=0) == pytest.approx((a, sign * b / scale), rel=1e-3, abs=1e-4)
    assert fit_logistic(z * scale, p) == pytest.approx((a, sign * b / scale), rel=0.1, abs=0.1)


@given(
    pairs=st.lists(st.tuples(st.integers(-5, 5), st.sampled_from([0.0, 0.3, 1.0])), min_size=2, max_size=20),
    prior=st.sampled_from([0.01, 0.05, 1.0]),
)
def test_the_fit_is_where_data_and_ridge_balance(pairs: list[tuple[int, float]], prior: float) -> None:
    """Gradient zero: residuals times unit x = prior times unit slope. The likelihood is concave, so there is one such place."""
    x, p = np.array(pairs).T
    assume(len(set(x)) > 1)
    a, b = fit_logistic(x, p, prior)
    residual = p - 1 / (1 + np.exp(-(a + b * x)))
    assert residual @ (x - x.mean()) / x.std() == pytest.approx(prior * b * x.std(), abs=1e-6)
    assert residual.sum() == pytest.approx(0, abs=1e-4)


@given(jump=st.integers(1, 6), shift=st.floats(-100, 100), scale=st.floats(1e-2, 1e2), rising=st.booleans())
def test_data_that_can_be_told_apart_have_a_finite_fit(jump: int, shift: float, scale: float, rising: bool) -> None:
    """With the jump at or near its place, in any unit of x and in either direction."""
    x = shift + scale * np.repeat(np.arange(7.0), 4)
    p = (np.repeat(np.arange(7), 4) >= jump).astype(float)
    a, b = fit_logistic(x, p if rising else 1 - p)
    assert 0.5 < abs(b) * scale < 20
    assert (b > 0) == rising
    assert jump - 1 < (-a / b - shift) / scale < jump


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_one_answer_alone_has_a_finite_fit(share: float) -> None:
    a, b = fit_logistic(GAMMAS, np.full(28, share))
    assert math.isfinite(a)
    assert math.isfinite(b)
    fitted = 1 / (1 + np.exp(-(a + b * GAMMAS)))
    assert np.all(np.abs(fitted - share) < 0.01)


@pytest.mark.parametrize("x", [[0.5, 0.5, 0.5], [1.0]])
def test_a_fit_needs_two_values(x: list[float]) -> None:
    with pytest.raises(ValueError, match=r"^a logistic fit needs two values of x at least\.$"):
        fit_logistic(np.array(x), np.ones(len(x)))


def test_a_planted_transition_is_found() -> None:
    x = np.repeat(np.linspace(0, 1, 11), 40)
    found = fit_crossing(x, answers(x, 0.6, 0.1), x, draws=200)
    assert found.found
    assert found.centre == pytest.approx(0.6, abs=0.05)
    assert found.low < found.centre < found.high
    assert found.low < 0.6 < found.high
    assert found.high - found.low < 0.1
    assert fit_crossing(x, answers(x, 0.6, 0.1), x, draws=200) == found
    falling = fit_crossing(x, 1 - answers(x, 0.6, 0.1), x, draws=200)
    assert falling.found
    assert falling.centre == pytest.approx(found.centre)


def test_the_interval_shrinks_with_runs_and_vanishes_where_runs_agree() -> None:
    widths = []
    for n in (5, 80):
        x = np.repeat(np.linspace(0, 1, 11), n)
        found = fit_crossing(x, answers(x, 0.5, 0.15), x, draws=100)
        widths.append(found.high - found.low)
    assert 0 < widths[1] < widths[0] / 2
    sure = fit_crossing(GAMMAS, (GAMMAS > 0.65).astype(float), GAMMAS, draws=20)
    assert sure.found
    assert sure.low == pytest.approx(sure.centre)
    assert sure.high == pytest.approx(sure.centre)
    assert 0.6 < sure.centre < 0.7


def test_runs_are_exchanged_within_their_group_alone() -> None:
    """Where all runs of a value agree, only groups over several values can make the centre uncertain."""
    p = (GAMMAS > 0.65).astype(float)
    mixed = fit_crossing(GAMMAS, p, np.zeros(28), draws=50)
    assert mixed.high > mixed.low


@pytest.mark.parametrize(
    "p",
    [
        np.zeros(28),
        np.ones(28),
        np.full(28, 0.2),
        np.where(GAMMAS > 0.95, 0.45, 0.0),  # on its way, but it does not get there
        np.where(GAMMAS > 0.45, 1.0, 0.6),  # it begins beyond the half
        np.where(GAMMAS > 0.65, 0.47, 0.0),  # the fitted curve does cross, the shares do not
        np.where(GAMMAS < 0.45, 0.6, 0.1),  # the shares do cross, the fitted curve does not
    ],
    ids=["never", "always", "flat", "rising", "falling", "curve alone", "shares alone"],
)
def test_without_a_crossing_nothing_is_found(p: np.ndarray) -> None:
    assert not fit_crossing(GAMMAS, p, GAMMAS, draws=20).found


# ---------------------------------------------------------------- several curves


def test_shifted_groups_do_not_collapse_until_their_shift_is_taken_away() -> None:
    x = np.repeat(np.linspace(0, 1, 11), 40)
    p = {name: answers(x, 0.5 + shift, 0.05, seed=i) for i, (name, shift) in enumerate(SHIFTS.items())}
    without = lambda part: collapse({name: (x - part * SHIFTS[name], p[name]) for name in SHIFTS})
    apart = without(0)
    assert apart > 1.5
    nearer, together = without(0.5), without(1)
    assert together == pytest.approx(1, abs=0.05)
    assert together < nearer < apart


def test_groups_weigh_by_their_runs() -> None:
    """A group that is there twice counts as one of twice the size."""
    x = np.repeat(np.linspace(0, 1, 11), 40)
    one, other = answers(x, 0.4, 0.05), answers(x, 0.6, 0.05, seed=1)
    few = slice(None, None, 8)
    balanced = collapse({1: (x, one), 2: (x, other)})
    assert 1 < collapse({1: (x, one), 2: (x[few], other[few])}) < balanced
    assert collapse({1: (x, one)}) == pytest.approx(1)


# ---------------------------------------------------------------- variables


def test_variables_by_hand() -> None:
    """Width 64, γ = ½: σ = 1/8 and σ√d = 1."""
    values = {name: f(0.5, 64, 3) for name, f in VARIABLES.items()}
    assert list(values.values()) == pytest.approx([0.5, -math.log10(8), 0.0, math.log10(3), 0.0])
    assert VARIABLES["depth · log₁₀ σ√d"](1.0, 100, 3) == pytest.approx(-3.0)  # a gain of 0.1, three times
    values = {name: f(1.0, 100, 2) for name, f in VARIABLES.items()}
    assert list(values.values()) == pytest.approx([1.0, -2.0, -1.0, math.log10(0.2), -2.0])


def test_runs_by_shape() -> None:
    of = lambda run: (run.spec.model.d_model, run.spec.model.depth, run.spec.gamma, run.spec.seed)
    shapes = ((32, 2), (64, 2), (32, 3))
    runs = [make_run(d, g, s, width=w) for s in (1, 0) for g in (0.8, 0.5) for w, d in shapes[::-1]]
    found = {shape: list(map(of, members)) for shape, members in by_shape(runs).items()}
    assert list(found) == list(shapes)
    assert found == {shape: [(*shape, g, s) for g in (0.5, 0.8) for s in (0, 1)] for shape in shapes}
    assert by_shape([]) == {}
