"""Intervals of shares and exponents of power laws: against statistics' own, by hand, and by simulation."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact, linregress, spearmanr, ttest_1samp, ttest_ind

from lib.core.read.measures import falls_to
from lib.core.read.statistics import (
    SHARE,
    agreement_by_chance,
    bootstrap_indices,
    difference_interval,
    interval,
    log_distance,
    log_slope,
    mean_interval,
    median_interval,
    rank_trend,
    runs_to_tell,
    share_interval,
    sign_test_by,
    slope,
    wilson,
)

# ---------------------------------------------------------------- shares


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_intervals_are_those_of_scipy(total: int, share: float) -> None:
    count = round(share * total)
    expected = binomtest(count, total).proportion_ci(0.95, "wilson")
    assert wilson(count, total) == pytest.approx((expected.low, expected.high), rel=1e-6, abs=1e-9)


def test_where_nothing_was_counted_all_is_possible() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


# ---------------------------------------------------------------- power laws


@given(st.floats(-3, 3), st.floats(0.1, 10), st.lists(st.floats(0.1, 100), min_size=2, max_size=6, unique=True))
def test_a_power_law_has_its_exponent(exponent: float, factor: float, places: list[float]) -> None:
    if np.ptp(np.log(places)) < 0.01:
        return
    found = log_slope(places, [factor * x**exponent for x in places], draws=50)
    assert found == pytest.approx((exponent,) * 3, abs=1e-6)


def test_the_interval_of_an_exponent_holds_it_and_grows_with_noise() -> None:
    x = np.repeat([0.2, 0.4, 0.6, 0.8, 1.0], 6)
    noise = np.random.default_rng(0).normal(size=30)
    width = []
    for scale in (0.1, 0.3):
        slope, low, high = log_slope(x, x**-2 * np.exp(scale * noise))
        assert low < slope < high
        assert low < -2 < high
        width.append(high - low)
    assert width[1] == pytest.approx(3 * width[0], rel=1e-6)
    fit = linregress(np.log(x), -2 * np.log(x) + 0.3 * noise)
    assert width[1] == pytest.approx(2 * 1.96 * fit.stderr, rel=0.25)  # the textbook's interval, about


@pytest.mark.parametrize(
    ("x", "y"),
    [([1.0, 2.0], [1.0, 0.0]), ([-1.0, 2.0], [1.0, 1.0]), ([2.0, 2.0], [1.0, 3.0]), ([1.0, math.nan], [1.0, 1.0])],
)
def test_no_power_law_goes_through_these(x: list[float], y: list[float]) -> None:
    with pytest.raises(ValueError, match=r"^a power law needs positive numbers at two places at least\.$"):
        log_slope(x, y)


# ---------------------------------------------------------------- resampling


def test_ranks_resampled_at_once_are_those_of_scipy_one_by_one() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 5, 12).astype(float), rng.normal(size=12)
    picks = bootstrap_indices(12, 200, seed=3)
    one_by_one = [0.0 if np.ptp(x[p]) == 0 else spearmanr(x[p], y[p]).statistic for p in picks]
    assert rank_trend(x, y, draws=200, seed=3) == pytest.approx((spearmanr(x, y).statistic, *interval(one_by_one)))


def test_groups_keep_their_sizes_in_every_draw() -> None:
    groups = [np.array([0, 3]), np.array([1, 2, 4])]
    picks = bootstrap_indices(groups, 50)
    assert picks.shape == (50, 5)
    assert np.isin(picks, groups[0]).sum(1).tolist() == [2] * 50
    assert {*picks.ravel().tolist()} == {0, 1, 2, 3, 4}


def test_a_slope_is_least_squares_and_its_interval_holds_it() -> None:
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 1, 40)
    y = 2 * x + rng.normal(0, 0.1, 40)
    value, low, high = slope(x, y)
    assert value == pytest.approx(linregress(x, y).slope)
    assert low < value < high
    with pytest.raises(ValueError, match="two places"):
        slope([1.0, 1.0], [0.0, 1.0])


def test_how_far_numbers_are_from_what_is_printed_of_them() -> None:
    off = lambda value: log_distance({"length": value}, {"length": (0.02, 0.03)})
    assert [off(value) for value in (0.02, 0.025, 0.03)] == [0, 0, 0]
    assert [off(value) for value in (0.01, 0.06)] == pytest.approx([math.log(2)] * 2)
    assert off(0.0) == pytest.approx(math.log(0.02 / 1e-6))
    assert [off(value) for value in (-0.025, math.nan)] == [math.inf] * 2
    both = log_distance({"a": 1.0, "b": 8.0}, {"a": (2, 2), "b": (2, 4)})
    assert both == pytest.approx(2 * math.log(2))


def test_intervals_of_means_are_students() -> None:
    a, b = np.array([0.2, 0.5, 0.9, 0.4]), np.array([0.1, 0.3, 0.2])
    assert mean_interval(a)[1:] == pytest.approx(tuple(ttest_1samp(a, 0).confidence_interval()))
    assert difference_interval(a, b)[1:] == pytest.approx(tuple(ttest_ind(a, b, equal_var=False).confidence_interval()))
    assert mean_interval(a)[0] == pytest.approx(0.5)
    assert mean_interval([0.9, 0.1], SHARE) == (0.5, 0.0, 1.0)
    assert mean_interval([0.5] * 3) == difference_interval([0.75] * 3, [0.25] * 2) == (0.5, 0.5, 0.5)
    assert mean_interval([0.5]) == difference_interval([0.75] * 2, [0.25]) == (0.5, -math.inf, math.inf)


def test_a_median_has_an_interval_and_is_one_of_the_same_cases() -> None:
    values = np.arange(9.0)
    middle, low, high = median_interval(values)
    assert (middle, low >= 0, low < middle < high, high <= 8) == (4.0, True, True, True)
    assert median_interval(values, values - 2) == (2.0, 2.0, 2.0)
    assert median_interval([3.0]) == (3.0, -math.inf, math.inf)


def test_a_sign_test_by_seed_counts_a_seed_once() -> None:
    """However many values it has; a seed with values on one side alone tells nothing."""
    values = [1, 1, 1, 0, 1, 0, 0, 0, 1, 1]
    above = [True, True, True, False, True, True, False, False, False, True]
    seeds = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3]
    assert sign_test_by(values, above, seeds) == 1 / 4  # seeds 0 and 1 rise: 1 / 2²
    assert sign_test_by(values, np.logical_not(above), seeds) == 1
    assert sign_test_by([1, 0] * 3, [True, False] * 3, [0, 0, 1, 1, 2, 2]) == 1 / 8
    assert sign_test_by([1, 0, 0, 1, 1, 1], [True, False] * 3, [0, 0, 1, 1, 2, 2]) == 3 / 4  # one up, one down, one even
    assert sign_test_by([], [], []) == 1


def test_a_share_of_nothing_is_no_number() -> None:
    assert share_interval(1, 4) == (0.25, *wilson(1, 4))
    assert math.isnan(share_interval(0, 0)[0])


@pytest.mark.parametrize(
    ("values", "where"),
    [([4, 2, 0], 1.5), ([4, 1, 0], 1.0), ([4, 2, 3, 0], 5 / 3 + 1), ([1, 5, 0], 0.0), ([4, 3, 2], None), ([4, 0, 4], 0.75)],
)
def test_where_a_line_falls_to_a_level_first(values: list[float], where: float | None) -> None:
    found = falls_to(np.arange(len(values)), np.array(values, float), 1)
    assert found == (where if where is None else pytest.approx(where))


def test_runs_that_fishers_test_needs() -> None:
    assert runs_to_tell(0.0, 1.0) == 3  # one of the 20 ways to give three of six runs to a side
    n, less, more = runs_to_tell(0.25, 0.75), 0.25, 0.75

    def power(n: int) -> float:
        tells = lambda i, j: fisher_exact([[i, n - i], [j, n - j]], "greater").pvalue <= 0.05
        chance = lambda k, share: math.comb(n, k) * share**k * (1 - share) ** (n - k)
        pairs = [(i, j) for i in range(n + 1) for j in range(n + 1) if tells(i, j)]
        return sum(chance(i, more) * chance(j, less) for i, j in pairs)

    assert power(n) >= 0.8 > power(n - 1)
    with pytest.raises(ValueError, match="more than 50 runs a side"):
        runs_to_tell(0.5, 0.6, most=50)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=6))
def test_agreement_by_chance_is_that_of_all_orders(labels: list[tuple[str, str]]) -> None:
    first, second = (list(one) for one in zip(*labels, strict=True))
    count = lambda order: sum(a == b for a, b in zip(first, order, strict=True))
    every = [count(order) for order in permutations(second)]
    mean, p = agreement_by_chance(first, second)
    assert mean == pytest.approx(sum(every) / len(every))
    assert p == pytest.approx(sum(same >= count(second) for same in every) / len(every))
