"""What all chapters of this study ask of an arm, runs that differ by their seed alone: shares, and one arm against another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from lib.core.read.claim import Part
from lib.core.read.fact import Fact
from lib.core.read.measures import mean_std
from lib.core.read.statistics import Comparison, Trend, compare, difference_interval, mean_interval
from lib.core.record.store import StoredRun
from lib.language.experiments import CROSSED, LARGE, SMALL, Kind

T = TypeVar("T")

Runs = Mapping[Kind, Sequence[StoredRun]]
FITTED = 0.99
"""A run has fitted when it answers this share of its rows of training right: before that it is no evidence (our choice)."""


def name_of(arm: Sequence[float | str]) -> str:
    """An arm in words; whatever stands before its γ and weight decay is left out."""
    gamma, decay = arm[-2:]
    return f"γ = {gamma:g}, decay {decay:g}"


def shares(runs: Sequence[StoredRun], name: str = "test") -> np.ndarray:
    """(R,) a share of each run at the end."""
    return np.array([run.metrics[name] for run in runs], dtype=float)


def fitted(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R,) has a run learned its rows of training?"""
    return shares(runs, "train") >= FITTED


def learned_mean(values: np.ndarray, learned: np.ndarray) -> np.ndarray:
    """(S, R), or (R,), to (S,), or one number: means over the runs that have learned; NaN where none has."""
    count = learned.sum(-1)
    return np.where(count > 0, np.where(learned, values, 0).sum(-1) / np.maximum(count, 1), np.nan)


def sizes(runs: Runs, main: str, *arm: float) -> list[int]:
    """Sizes of training sets that an arm has, in order."""
    return sorted(size for kind, size, *other in runs if kind == main and tuple(other) == arm)


def middle(runs: Runs, main: str) -> int:
    """The size at which every arm was trained."""
    return sizes(runs, main, *CROSSED[0])[0]


def largest(runs: Runs, main: str) -> int:
    """The largest size of the paper's arms."""
    return sizes(runs, main, *SMALL)[-1]


def by_size(runs: Runs, main: str, arm: Sequence[float], measure: Callable[[Sequence[StoredRun]], np.ndarray]) -> np.ndarray:
    """(S, R): a measure of an arm, a value a run, at each of its sizes."""
    return np.array([measure(runs[cast(Kind, (main, size, *arm))]) for size in sizes(runs, main, *arm)])


Interval = Trend
"""A mean, and the lower and the upper end of its 95 % interval."""


def _with_ends(found: Interval) -> Interval:
    """A point where a single value leaves no ends."""
    value, low, high = found
    return found if np.isfinite([low, high]).all() else (value, value, value)


def interval(values: np.ndarray) -> Interval:
    """The mean of (n,) values and its 95 % interval (Student's t); a point where nothing varies, or there is one value."""
    return _with_ends(mean_interval(values))


def difference(a: np.ndarray, b: np.ndarray) -> Interval:
    """mean(a) − mean(b), and its 95 % interval (Welch's t); a point where nothing varies, or one of them has one value."""
    return _with_ends(difference_interval(a, b))


PAIRED = "its interval was not paired by seed at first, though runs of one seed share their data"
"""Why the criterion of a claim was replaced; what that changed is said behind it."""


def seeds_of(runs: Sequence[StoredRun]) -> tuple[int, ...]:
    return tuple(run.spec.seed for run in runs)


def paired(a: np.ndarray, b: np.ndarray, seeds: tuple[Sequence[int], Sequence[int]]) -> Interval:
    """mean(a) − mean(b) and its 95 % interval, given the `seeds` of both: runs of one seed share their data and their random
    numbers, so their differences are taken (paired t). Where the two have not the same seeds, once each, it is Welch's."""
    first, second = seeds
    if len(set(first)) < len(first) or set(first) != set(second) or len(first) != len(second):
        return difference(a, b)
    return interval(a[np.argsort(first)] - b[np.argsort(second)])


def contrast(
    small: Sequence[StoredRun], large: Sequence[StoredRun], measure: Callable[[Sequence[StoredRun]], np.ndarray]
) -> Interval:
    """By how much a measure of one arm, a value a run, exceeds the other's; paired by seed."""
    return paired(measure(small), measure(large), (seeds_of(small), seeds_of(large)))


def lead(small: Sequence[StoredRun], large: Sequence[StoredRun], name: str = "test") -> Interval:
    """By how much the share of one arm exceeds the other's, with its interval over seeds, paired."""
    return contrast(small, large, lambda runs: shares(runs, name))


def by_ranks(values: np.ndarray, others: np.ndarray) -> Comparison:
    """Are these values, one a run, larger than others? An exact rank test of seeds."""
    return compare([*values, *others], [True] * len(values) + [False] * len(others))


def there(found: T, profile: str, what: str = "such runs") -> T:
    """What was found, if it is something. Raises LookupError where the profile has none."""
    if not found:
        raise LookupError(f"the profile {profile!r} has no {what}")
    return found


def half_lead(run: StoredRun, name: str = "test") -> float:
    """A run's share, counted for the small start: the lead is the sum of two such means."""
    return run.metrics[name] if (run.spec.gamma, run.spec.decay) == SMALL else -run.metrics[name]


def decay_product(run: StoredRun | None) -> Fact:
    """How much weight decay takes from a weight: learning rate × decay × steps, by the mean learning rate."""
    rests = "learning rate × decay × steps, by the mean learning rate"
    if run is None:
        return Fact(None, "{:.2g}", rests)
    spec = run.spec
    mean_rate = spec.rate * (1 + spec.train.final) / 2
    return Fact(mean_rate * spec.decay * spec.train.steps, "{:.2g}", f"{rests}, {name_of((spec.gamma, spec.decay))}")


def all_fitted(of: str, *groups: Sequence[StoredRun]) -> Part:
    """What has to be given: every run of these groups has learned its rows of training, or whatever they are `of`."""
    least = min(float(shares(group, "train").min()) for group in groups)
    return Part(f"least share of {of} of training", least, ">=", FITTED, "{:.3f}", given=True)


def of_seed(runs: Sequence[StoredRun], seed: int) -> StoredRun:
    """The run of this seed, or the first where there is none."""
    return next((run for run in runs if run.spec.seed == seed), runs[0])


Example = tuple[str, str, str, bool]
"""What a model reads, what is right, what it writes, and whether that is right."""


def of_each_kind(pairs: Iterable[tuple[Example, Example]]) -> list[int]:
    """Examples of two models: the number of the first of every kind that there is, by which of the two has it right."""
    first: dict[tuple[bool, bool], int] = {}
    for i, (one, other) in enumerate(pairs):
        first.setdefault((one[3], other[3]), i)
    return list(first.values())


def percent(values: np.ndarray) -> str:
    """Mean ± standard deviation in percent, where the latter does not round to nothing."""
    return mean_std(100 * values, 1).removesuffix(" ± 0.0")


def told(runs: Sequence[StoredRun], values: np.ndarray) -> str:
    """`percent` of the runs that have learned, and beside it, one by one, the values of those that have not."""
    there = fitted(runs)
    others = "not learned: " + ", ".join(f"{100 * value:.1f}" for value in values[~there])
    return "; ".join([*([percent(values[there])] if there.any() else []), *([others] if not there.all() else [])])


def percents(runs: Sequence[StoredRun], *values: np.ndarray) -> tuple[str, ...]:
    """Of rows of training that are right, and of each of these shares (R,), as `told`."""
    return percent(shares(runs, "train")), *(told(runs, some) for some in values)


# --- Dials ---

STOPS = 12
"""So many steps of training the dials have at most."""
Point = tuple[float, ...]
Curve = Callable[[StoredRun, Point], Sequence[float]]
"""What a line shows of a run at a point of the other dials: a value for each evaluated step."""


def dial_data(
    groups: Mapping[Point, Sequence[StoredRun]],
    dials: Mapping[str, str],
    lines: Mapping[str, tuple[str, Curve]],
    y: Mapping[str, Any],
    about: str,
    x: str = "step",
    start: Mapping[str, float] | None = None,
    learned: Callable[[Sequence[StoredRun]], np.ndarray] | None = None,
) -> dict[str, Any]:
    """What lib.book.dials needs: means over the runs of a group, of those that have `learned` where there are such, and the
    range of all, with the step of training as the last dial.

    groups: {values of all other dials: runs}; dials: {id: label} of these, in the order of those values, "gamma" among them;
    lines: {id: (label, curve)}; x: the id of the horizontal axis; start: where dials open, else at their largest value, and at
    the last stop at which all runs were evaluated.
    """
    values = {id: sorted({point[i] for point in groups}) for i, id in enumerate(dials)}
    steps = max((runs[0].history["step"] for runs in groups.values()), key=max)
    stops = [steps[i] for i in sorted(set(np.geomspace(1, len(steps), STOPS).round().astype(int) - 1))]
    common = [step for step in stops if all(step in run.history["step"] for runs in groups.values() for run in runs)]
    there = {point: learned(runs) if learned else np.full(len(runs), True) for point, runs in groups.items()}
    meant = {point: some if some.any() else ~some for point, some in there.items()}

    def leaf(point: Point, curve: Curve, step: int) -> list[float] | None:
        runs = groups.get(point, ())
        if not runs or any(step not in run.history["step"] for run in runs):
            return None
        found = [float(curve(run, point)[run.history["step"].index(step)]) for run in runs]
        return [float(np.mean(np.array(found)[meant[point]])), min(found), max(found)]

    def nested(curve: Curve, point: Point = ()) -> list[Any]:
        if len(point) == len(dials):
            return [leaf(point, curve, step) for step in stops]
        return [nested(curve, (*point, value)) for value in values[list(dials)[len(point)]]]

    return {
        "dials": [{"id": id, "label": dials[id], "values": values[id]} for id in dials]
        + [{"id": "step", "label": "step of training", "values": stops}],
        "x": x,
        "fan": "gamma",
        "y": dict(y),
        "series": [{"id": id, "label": label, "values": nested(curve)} for id, (label, curve) in lines.items()],
        "start": {id: values[id][-1] for id in dials} | {"step": common[-1]} | dict(start or {}),
        "about": about,
    }


def along(name: str) -> Curve:
    """A measure of the history as a line of dials."""
    return lambda run, point: run.history[name]


SHARE = {"log": False, "low": 0.0, "high": 1.0}
"""The vertical axis of shares, without its label."""


def seeds_text(
    groups: Mapping[Point, Sequence[StoredRun]], learned: Callable[[Sequence[StoredRun]], np.ndarray] | None = None
) -> str:
    """What the means and the bands of the dials are of."""
    counts = sorted({len(runs) for runs in groups.values()})
    left_out = {run.spec.key for runs in groups.values() if learned for run in np.array(runs, dtype=object)[~learned(runs)]}
    without = f", without {len(left_out)} {'run that does' if len(left_out) == 1 else 'runs that do'} not learn"
    seeds = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    return f"Means over {seeds} seeds{without * bool(left_out)}; bands: the range of all seeds."


def dials_by_size(
    runs: Runs,
    main: str,
    of: str,
    share: str,
    lines: Mapping[str, tuple[str, str]],
    about: str = "",
    learned: Callable[[Sequence[StoredRun]], np.ndarray] = fitted,
    **start: float,
) -> dict[str, Any]:
    """`dial_data` of the paper's two arms by size. `of`: what training sets are of; `share`: the vertical axis's label; lines:
    {id: (label, the measure's name in the history)}; `about`: what is said before all else; `start`: where dials open."""
    groups = {(size, arm[0]): runs[main, size, *arm] for arm in (LARGE, SMALL) for size in sizes(runs, main, *arm)}
    return dial_data(
        groups,
        {"size": f"{of} of training", "gamma": "γ of the arm"},
        {id: (label, along(name)) for id, (label, name) in lines.items()},
        {"label": share} | SHARE,
        f"{about}{seeds_text(groups, learned)} Thin: the other γ. The larger γ has the larger weight decay, as in the paper.",
        start=start,
        learned=learned,
    )
