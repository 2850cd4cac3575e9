"""Rank correlations, slopes and intervals. They need scipy, so nothing that trains may import this module."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

K = TypeVar("K")
Trend = tuple[float, float, float]
"""A correlation or a slope, and the ends of its 95 % interval."""


def _ranks(values: np.ndarray) -> np.ndarray:
    """From 1, along the last axis, ties at their mean."""
    from scipy.stats import rankdata  # takes a second to import, which those who ask for the status need not wait for

    return rankdata(values, axis=-1)


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Rank correlation, ties at their mean rank; 0 where one of the two does not vary."""
    return float(_correlations(np.asarray(x)[None], np.asarray(y)[None])[0])


def _correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(draws, n), (draws, n) → (draws,) rank correlations."""
    a, b = (_ranks(v) for v in (x, y))
    a, b = (v - v.mean(-1, keepdims=True) for v in (a, b))
    norm = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    return np.divide((a * b).sum(-1), norm, out=np.zeros(len(norm)), where=norm > 0)


def numerical_order(embedding: np.ndarray) -> float:
    """Does the embedding keep the order of numbers? Spearman's rank correlation of |i − j| and distance, over all pairs.

    1 for even steps on a line, about 0 without order.
    """
    n = len(embedding)
    i, j = np.triu_indices(n, 1)
    distance = np.linalg.norm(embedding[i] - embedding[j], axis=1)
    return spearman((j - i).astype(float), distance)


def wilson(count: float, total: float) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927), which is sound for shares near 0, too. (0, 1) where nothing was counted.

    Not scipy's, which takes whole counts: the mean of shares over runs or steps has none.
    """
    if total <= 0:
        return 0.0, 1.0
    z = 1.959964
    share, weight = count / total, z * z / total
    middle = (share + weight / 2) / (1 + weight)
    half = z * math.sqrt(share * (1 - share) / total + weight / (4 * total)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def log_distance(found: Mapping[K, float], printed: Mapping[K, tuple[float, float]]) -> float:
    """How far numbers lie from what a source prints of them, as ranges (low, high): the sum of |log| of the factors by which
    they miss. A zero counts as a millionth; what is no number is infinitely far."""

    def off(value: float, low: float, high: float) -> float:
        value = max(value, 1e-6) if value >= 0 else math.nan
        return math.inf if math.isnan(value) else max(0.0, math.log(low / value), math.log(value / high))

    return sum(off(found[name], *span) for name, span in printed.items())


def bootstrap_indices(groups: Sequence[np.ndarray] | int, draws: int, seed: int = 0) -> np.ndarray:
    """(draws, n) indices drawn with replacement from n cases, or as many from each group of indices as it has."""
    rng = np.random.default_rng(seed)
    if isinstance(groups, int):
        return rng.integers(0, groups, (draws, groups))
    return np.concatenate([members[rng.integers(0, len(members), (draws, len(members)))] for members in groups], 1)


def interval(values: ArrayLike) -> tuple[float, float]:
    """The 95 % interval between percentiles of a statistic of the draws (Efron 1979)."""
    low, high = np.percentile(np.asarray(values), (2.5, 97.5))
    return float(low), float(high)


SHARE, LEAD = (0.0, 1.0), (-1.0, 1.0)
"""Between what a share, and the difference of two shares, may lie."""


def _student(freedom: float) -> float:
    """The value of Student's t that 2.5 % are above."""
    from scipy.special import stdtrit  # as in _ranks; scipy's own tests warn where nothing varies

    return float(stdtrit(freedom, 0.975))


def mean_interval(values: ArrayLike, within: tuple[float, float] = (-math.inf, math.inf)) -> Trend:
    """The mean of (n,) values, and its 95 % interval (Student's t), as far as values may lie there: a point where nothing
    varies, without other ends for a single value."""
    values = np.asarray(values, dtype=float).ravel()
    middle, n = float(values.mean()), len(values)
    if n < 2:
        return middle, *within
    half = _student(n - 1) * float(values.std(ddof=1)) / math.sqrt(n)
    return middle, max(within[0], middle - half), min(within[1], middle + half)


def difference_interval(a: ArrayLike, b: ArrayLike) -> Trend:
    """The mean of a less the mean of b, and its 95 % interval (Welch's t): a point where nothing varies, without ends where
    one of them has a single value."""
    groups = [np.asarray(values, dtype=float).ravel() for values in (a, b)]
    gap = float(groups[0].mean() - groups[1].mean())
    if min(map(len, groups)) < 2:
        return gap, -math.inf, math.inf
    parts = [values.var(ddof=1) / len(values) for values in groups]
    if not sum(parts):
        return gap, gap, gap
    freedom = sum(parts) ** 2 / sum(part**2 / (len(values) - 1) for part, values in zip(parts, groups, strict=True))
    half = _student(freedom) * math.sqrt(sum(parts))
    return gap, gap - half, gap + half


def share_interval(count: float, total: float) -> Trend:
    """A share of so many runs, and its 95 % interval by `wilson`; not a number where there are none."""
    return (count / total if total else math.nan, *wilson(count, total))


def median_interval(values: ArrayLike, less: ArrayLike = 0.0, draws: int = 2000) -> Trend:
    """The median of (n,) values, less that of as many others of the same cases; and its 95 % interval by resampling cases,
    without ends for a single one."""
    of = np.asarray(values, dtype=float)
    cases = np.stack([of, np.broadcast_to(np.asarray(less, dtype=float), of.shape)])
    gap = lambda some: np.subtract(*np.median(some, axis=-1))
    ends = interval(gap(cases[:, bootstrap_indices(len(of), draws)])) if len(of) > 1 else (-math.inf, math.inf)
    return float(gap(cases)), *ends


def rank_trend(x: ArrayLike, y: ArrayLike, draws: int = 1000, seed: int = 0) -> Trend:
    """Rank correlation, and its 95 % interval by resampling the points."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    picks = bootstrap_indices(len(x), draws, seed)
    return spearman(x, y), *interval(_correlations(x[picks], y[picks]))


def slope(x: ArrayLike, y: ArrayLike, draws: int = 2000, seed: int = 0) -> Trend:
    """The slope of the line by least squares, and its 95 % interval by resampling the points.

    Raises ValueError unless x takes two values at least.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(set(x)) < 2:
        raise ValueError("a slope needs two places at least.")
    picks = bootstrap_indices(len(x), draws, seed)
    picks = picks[np.ptp(x[picks], axis=1) > 0]
    return float(_slopes(x[None], y[None])[0]), *interval(_slopes(x[picks], y[picks]))


def _slopes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return (centred * y).sum(-1) / (centred * centred).sum(-1)


def log_slope(x: ArrayLike, y: ArrayLike, draws: int = 2000) -> Trend:
    """The exponent of a power law y ∝ x^s by least squares in logarithms, and its 95 % interval by resampling the points.

    Raises ValueError unless all are positive and x takes two values at least.
    """
    points = np.array([x, y], dtype=float)
    if not (points > 0).all() or len(set(points[0])) < 2:
        raise ValueError("a power law needs positive numbers at two places at least.")
    return slope(*np.log(points), draws=draws)


def fisher_exact(table: Sequence[Sequence[int]], alternative: str = "two-sided") -> float:
    """How often chance would part the rows of a 2×2 table so far: Fisher's exact test."""
    from scipy import stats  # as in _ranks

    result: Any = stats.fisher_exact(table, alternative)
    return float(result.pvalue)


def agreement_by_chance(first: Sequence[str], second: Sequence[str]) -> tuple[float, float]:
    """Two labels of each thing, (n,) and (n,): in how many both are the same on average over all orders of the second, and how
    often in at least as many as here (exact, one-sided)."""
    kinds = sorted({*first, *second})
    ways = {tuple(second.count(kind) for kind in kinds): {0: 1}}  # {labels that are left: {agreements: orders}}
    for label in first:
        after: dict[tuple[int, ...], dict[int, int]] = {}
        for (left, found), (i, kind) in product(ways.items(), enumerate(kinds)):
            if not left[i]:
                continue
            rest = after.setdefault((*left[:i], left[i] - 1, *left[i + 1 :]), {})
            for same, orders in found.items():
                rest[same + (kind == label)] = rest.get(same + (kind == label), 0) + orders * left[i]
        ways = after
    ((_, found),) = ways.items()
    here = sum(a == b for a, b in zip(first, second, strict=True))
    every = sum(found.values())
    mean = sum(same * orders for same, orders in found.items()) / every
    return mean, sum(orders for same, orders in found.items() if same >= here) / every


def runs_to_tell(less: float, more: float, level: float = 0.05, power: float = 0.8, most: int = 500) -> int:
    """How many runs a side Fisher's one-sided exact test needs to part shares `less` and `more` at `level`, with probability
    `power`. Raises ValueError where `most` are too few."""
    from scipy import stats  # as in _ranks

    for n in range(1, most + 1):
        k = np.arange(n + 1)  # of n runs, on either side; p[i, j]: of i on the one and j on the other
        p = stats.hypergeom.sf(k[:, None] - 1, 2 * n, k[:, None] + k, n)
        chance = stats.binom.pmf(k, n, more)[:, None] * stats.binom.pmf(k, n, less)
        if chance[p <= level * (1 + 1e-9)].sum() >= power:
            return n
    raise ValueError(f"more than {most} runs a side are needed to part {less:g} and {more:g}.")


def sign_test(more: int, fewer: int) -> float:
    """How often chance would have at least so many of these go up, each as likely as down; one-sided. 1 where there is none."""
    from scipy import stats  # as in _ranks

    return float(stats.binomtest(more, more + fewer, alternative="greater").pvalue) if more + fewer else 1.0


def sign_test_by(values: ArrayLike, above: ArrayLike, cases: Sequence[object]) -> float:
    """`sign_test` over cases, such as seeds, of which each has several values: does a case's mean rise from its values that are
    not `above` to those that are? Cases without one of the two, and ties, tell nothing.

    values, above, cases: of each value (n,) the value, on which side it stands, and whose it is.
    """
    of, higher = np.asarray(values, dtype=float), np.asarray(above, dtype=bool)
    sides: list[tuple[np.ndarray, np.ndarray]] = []
    for case in dict.fromkeys(cases):
        here = np.array([one == case for one in cases])
        sides.append((of[here & higher], of[here & ~higher]))
    rises = [round(float(high.mean() - low.mean()), 9) for high, low in sides if len(high) and len(low)]
    return sign_test(sum(rise > 0 for rise in rises), sum(rise < 0 for rise in rises))


def sign_flips(differences: ArrayLike, alternative: Literal["two-sided", "greater"] = "two-sided") -> float:
    """p of the mean of paired differences (n,) where each might as well have the other sign; exact up to 13 of them, of more by
    9,999 draws, always the same. One tells nothing: 1."""
    from scipy import stats  # as in _ranks

    of = (np.asarray(differences, dtype=float),)
    if len(of[0]) < 2:
        return 1.0
    same = np.random.default_rng(0)  # a notebook that is executed again says the same
    found = stats.permutation_test(of, np.mean, permutation_type="samples", alternative=alternative, n_resamples=9999, rng=same)
    return float(found.pvalue)


def flips_either_way(differences: ArrayLike) -> tuple[float, float, float]:
    """`sign_flips` of whether paired differences (n,) are above 0, and below it; and the least p that so many allow."""
    values = np.asarray(differences, dtype=float)
    return sign_flips(values, "greater"), sign_flips(-values, "greater"), 0.5 ** len(values)


def mann_whitney(score: ArrayLike, positive: ArrayLike, stratum: Sequence[object]) -> tuple[float, float]:
    """(share, p): the share of pairs from one stratum in which the positive scores higher, ties as one half; and how often it
    would be that large if within each stratum chance alone had drawn the positives.

    Exact, by counting all draws; in a single stratum the one-sided test of Mann and Whitney. Raises ValueError unless some
    stratum has both.
    """
    scores, is_positive = np.asarray(score, dtype=float), np.asarray(positive, dtype=bool)
    observed, least, pairs, null = 0, 0, 0, np.ones(1)
    for name in dict.fromkeys(stratum):
        here = np.array([s == name for s in stratum])
        n, ranks = int(is_positive[here].sum()), (2 * _ranks(scores[here])).astype(int)  # doubled, so that ties are whole
        ways = np.zeros((n + 1, ranks.sum() + 1))  # of so many of the ranks to have this sum
        ways[0, 0] = 1
        for rank in ranks:
            ways[1:, rank:] += ways[:-1, :-rank].copy()
        observed += int(ranks[is_positive[here]].sum())
        least += n * (n + 1)
        pairs += n * (len(ranks) - n)
        null = np.convolve(null, ways[n] / ways[n].sum())
    if not pairs:
        raise ValueError("a comparison needs positives and negatives in one stratum.")
    return (observed - least) / (2 * pairs), float(min(1.0, null[observed:].sum()))


RARE = 0.05
"""One group's numbers are clearly higher where chance alone would have them as high at most this often."""


@dataclass(frozen=True)
class Comparison:
    """One group's numbers against another's. share, p: as of `mann_whitney`; opposite: p of the other side; least: the
    smallest p that so many numbers allow."""

    share: float
    p: float
    opposite: float
    least: float


def compare(score: ArrayLike, positive: ArrayLike, stratum: Sequence[object] | None = None) -> Comparison:
    """`mann_whitney` in both directions, and at its best. Without strata all are in one. Raises ValueError as it does."""
    scores = np.asarray(score, dtype=float)
    strata = [0] * len(scores) if stratum is None else stratum
    share, p = mann_whitney(scores, positive, strata)
    return Comparison(share, p, mann_whitney(-scores, positive, strata)[1], mann_whitney(positive, positive, strata)[1])


def _sums_of_units(ranks: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(units, strata) ranks and labels → how likely each sum of the ranks of the positives is, from 0, where the units' rows of
    labels are dealt to them anew, each way alike."""
    kinds, counts = np.unique(labels.astype(int), axis=0, return_counts=True)
    ways = {tuple(map(int, counts)): {0: 1}}  # {rows that are left of each kind: {sum: ways}}
    for gains in (ranks @ kinds.T).tolist():
        dealt: dict[tuple[int, ...], dict[int, int]] = {}
        for left, sums in ways.items():
            for kind, gain in enumerate(gains):
                if not left[kind]:
                    continue
                into = dealt.setdefault((*left[:kind], left[kind] - 1, *left[kind + 1 :]), {})
                for total, many in sums.items():
                    into[total + gain] = into.get(total + gain, 0) + many
        ways = dealt
    (found,) = ways.values()
    null = np.zeros(max(found) + 1)
    null[list(found)] = list(found.values())
    return null / null.sum()


def compare_units(score: ArrayLike, positive: ArrayLike, stratum: Sequence[Hashable], unit: Sequence[Hashable]) -> Comparison:
    """`compare` where numbers of one unit, at most one in each stratum, are no independent draws: chance deals all the labels
    of a unit together, among the units that stand in the same strata. Where each number is its own unit it is `compare`.
    Raises ValueError as it does, and where a unit stands in a stratum twice."""
    scores, is_positive = np.asarray(score, dtype=float), np.asarray(positive, dtype=bool)
    places = {place: i for i, place in enumerate(zip(unit, stratum, strict=True))}
    if len(places) < len(scores):
        raise ValueError("a unit may stand in a stratum once.")
    strata: dict[Hashable, list[Hashable]] = {}
    for one, name in places:
        strata.setdefault(one, []).append(name)
    blocks: dict[tuple[Hashable, ...], list[Hashable]] = {}
    for one, names in strata.items():
        blocks.setdefault(tuple(name for name in dict.fromkeys(stratum) if name in names), []).append(one)

    def chance(values: np.ndarray) -> float:
        ranks = np.zeros(len(values), dtype=int)
        for name in dict.fromkeys(stratum):
            here = np.array([s == name for s in stratum])
            ranks[here] = 2 * _ranks(values[here])  # doubled, so that ties are whole
        null = np.ones(1)
        for names, units in blocks.items():
            index = np.array([[places[one, name] for name in names] for one in units])
            null = np.convolve(null, _sums_of_units(ranks[index], is_positive[index]))
        return float(min(1.0, null[int(ranks[is_positive].sum()) :].sum()))

    share, _ = mann_whitney(scores, is_positive, stratum)
    return Comparison(share, chance(scores), chance(-scores), chance(is_positive.astype(float)))


def two_sided(score: ArrayLike, positive: ArrayLike, stratum: Sequence[object]) -> float:
    """How often chance alone would have the share of `mann_whitney` as far from 0.5, on either side: twice the smaller tail."""
    scores = np.asarray(score, dtype=float)
    return min(1.0, 2 * min(mann_whitney(scores, positive, stratum)[1], mann_whitney(-scores, positive, stratum)[1]))
