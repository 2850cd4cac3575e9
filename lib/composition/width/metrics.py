"""Where does one answer turn into the other, and which variable makes the crossings of several shapes fall together?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lib.composition.phase_diagram.metrics import ends
from lib.composition.runs import MAPPINGS, SHADOW, learned, learned_among
from lib.composition.trends import BY_GAMMA, levels, slope
from lib.core.model.init import gamma_std
from lib.core.read.disk_cache import disk_cached
from lib.core.read.fact import Fact, in_words
from lib.core.read.measures import seeds
from lib.core.read.statistics import bootstrap_indices, interval
from lib.core.record.store import StoredRun

Shape = tuple[int, int]
VARIABLES: dict[str, Callable[[float, int, int], float]] = {
    "γ": lambda gamma, width, depth: gamma,
    "log₁₀ σ": lambda gamma, width, depth: math.log10(gamma_std(width, gamma)),
    "log₁₀ σ√d": lambda gamma, width, depth: log_gain(gamma, width),
    "log₁₀ (depth · σ√d)": lambda gamma, width, depth: log_gain(gamma, width) + math.log10(depth),
    "depth · log₁₀ σ√d": lambda gamma, width, depth: depth * log_gain(gamma, width),
}
"""Candidates for the variable on which the boundary depends, as functions of γ, width and depth. σ = width^−γ; σ√d is the
gain of a square random map: how much it stretches a vector on average. Over the depth, gains may add up or multiply."""


def log_gain(gamma: float, width: int) -> float:
    """log₁₀ of σ√d."""
    return math.log10(gamma_std(width, gamma) * math.sqrt(width))


def variable(name: str, run: StoredRun) -> float:
    return VARIABLES[name](run.spec.gamma, run.spec.model.d_model, run.spec.model.depth)


@dataclass(frozen=True)
class Crossing:
    """Of a logistic fit p(x) = 1 / (1 + exp(−(a + b x))): where p = 1/2, and an interval of that.

    `found` is False where the data have no transition inside their range; then centre and interval mean little.
    """

    centre: float
    low: float
    high: float
    found: bool


def fit_logistic(x: np.ndarray, p: np.ndarray, prior: float = 0.05) -> tuple[float, float]:
    """Intercept a and slope b of p = 1 / (1 + exp(−(a + b x))), by Newton's method on the log-likelihood of shares p in [0, 1].

    A small ridge, `prior` times the square of the slope on x scaled to unit variance, keeps the fit finite where data can be
    told apart perfectly. Raises ValueError for fewer than two values of x.
    """
    x, p = np.asarray(x, dtype=float), np.asarray(p, dtype=float)
    scale, shift = x.std(), x.mean()
    if scale == 0:
        raise ValueError("a logistic fit needs two values of x at least.")
    design = np.stack([np.ones_like(x), (x - shift) / scale], 1)
    ridge = np.diag([1e-6, prior])
    beta = np.zeros(2)
    for _ in range(60):
        q = 1 / (1 + np.exp(-np.clip(design @ beta, -30, 30)))
        gradient = design.T @ (p - q) - ridge @ beta
        hessian = (design.T * (q * (1 - q))) @ design + ridge
        step = np.linalg.solve(hessian, gradient)
        beta += step * min(1.0, 2.0 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-10:
            break
    return float(beta[0] - beta[1] * shift / scale), float(beta[1] / scale)


def fit_crossing(x: np.ndarray, p: np.ndarray, groups: np.ndarray, draws: int = 400, seed: int = 0) -> Crossing:
    """The transition of shares p at x, with a 95 % interval of its centre by resampling runs within each value of x.

    groups: (n,) which runs are exchangeable, one number for each value of x.
    """
    x, p = np.asarray(x, dtype=float), np.asarray(p, dtype=float)
    a, b = fit_logistic(x, p)
    centres = []
    for pick in bootstrap_indices([np.flatnonzero(groups == g) for g in np.unique(groups)], draws, seed):
        c, d = fit_logistic(x[pick], p[pick])
        centres.append(-c / d if d else math.inf)
    low, high = interval(np.clip(centres, -1e3, 1e3))
    centre = -a / b if b else math.inf
    inside = x.min() <= centre <= x.max()
    crossing = min(p[x == v].mean() for v in np.unique(x)) < 0.5 < max(p[x == v].mean() for v in np.unique(x))
    return Crossing(float(centre), low, high, bool(inside and crossing))


def collapse(shapes: Mapping[Any, tuple[np.ndarray, np.ndarray]]) -> float:
    """How badly one curve in x describes every group (x, p): mean squared residual of one logistic fit to all, over that of a
    fit to each alone. About 1 means that the curves fall on each other. Groups weigh by their runs."""
    all_x, all_p = (np.concatenate(values) for values in zip(*shapes.values(), strict=True))
    alone = sum(_residual(x, p) * len(x) for x, p in shapes.values()) / len(all_x)
    return _residual(all_x, all_p) / max(alone, 1e-12)


def _residual(x: np.ndarray, p: np.ndarray) -> float:
    a, b = fit_logistic(x, p)
    return float(np.mean((p - 1 / (1 + np.exp(-np.clip(a + b * x, -30, 30)))) ** 2))


def by_shape(runs: Sequence[StoredRun]) -> dict[tuple[int, int], list[StoredRun]]:
    """{(width, depth): runs}, in ascending order."""
    found: dict[tuple[int, int], list[StoredRun]] = {}
    for run in sorted(runs, key=lambda r: (r.spec.model.depth, r.spec.model.d_model, r.spec.gamma, r.spec.seed)):
        found.setdefault((run.spec.model.d_model, run.spec.model.depth), []).append(run)
    return found


def share(run: StoredRun, mapping: str = "symmetric") -> float:
    return run.metrics[mapping]


def behind(runs: Sequence[StoredRun]) -> dict[Shape, list[StoredRun]]:
    """{(width, depth): the runs that place its transition}, on the side where the symmetric answer falls.

    Initializations larger than the one with the highest mean share are left out: there the share falls again, in some shapes
    for the inferential answer, and a logistic curve has one side only. So are shapes whose mean
    share never exceeds one half, as they have no transition to place, unless there is no other.
    """
    kept: dict[Shape, list[StoredRun]] = {}
    rising: set[Shape] = set()
    for shape, group in by_shape(runs).items():
        gammas = sorted({r.spec.gamma for r in group})
        means = [np.mean([share(r) for r in group if r.spec.gamma == g]) for g in gammas]
        tail = [r for r in group if r.spec.gamma >= gammas[int(np.argmax(means))]]
        kept[shape] = tail if len({r.spec.gamma for r in tail}) > 1 else group
        if max(means) > 0.5:
            rising.add(shape)
    return {shape: kept[shape] for shape in kept if shape in rising} or kept


def points(runs: Sequence[StoredRun]) -> dict[str, dict[Shape, tuple[np.ndarray, np.ndarray]]]:
    """{variable: {(width, depth): (x, symmetric share)}}, one entry a run of `behind`."""
    shapes = behind(runs)
    value = lambda name, group: np.array([variable(name, r) for r in group])
    shares = {shape: np.array([share(r) for r in group]) for shape, group in shapes.items()}
    return {name: {shape: (value(name, group), shares[shape]) for shape, group in shapes.items()} for name in VARIABLES}


def attainable(runs: Sequence[StoredRun]) -> float:
    """How many times better than γ a perfect variable would be, on which the curves of all shapes are one: what one curve on γ
    leaves, over what a curve for each shape leaves. 1 at least: where nearly nothing is left, the ridge of the smaller groups
    can leave more."""
    return max(1.0, collapse(points(runs)["γ"]))


def between_seeds(shapes: Mapping[Any, tuple[np.ndarray, np.ndarray]]) -> float:
    """Of the squared deviations that a curve for each group (x, p) leaves, the share that no function of x could take away:
    that of runs with one x from their mean."""
    from_mean = lambda x, p: sum(float(((p[x == v] - p[x == v].mean()) ** 2).sum()) for v in np.unique(x))
    left = sum(_residual(x, p) * len(x) for x, p in shapes.values())
    return sum(from_mean(x, p) for x, p in shapes.values()) / max(left, 1e-12)


def where_learned(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs that have learned, of the shapes in which such runs stand at two γ at least."""
    groups = map(learned_among, by_shape(runs).values())
    return [run for group in groups if len(levels(group, BY_GAMMA)) > 1 for run in group]


def crossings(data: dict[str, dict[Shape, tuple[np.ndarray, np.ndarray]]], seed: int = 0) -> dict[str, dict[Shape, Crossing]]:
    """{variable: {shape: its transition}}, with intervals by resampling seeds."""
    fit = lambda x, p: fit_crossing(x, p, np.unique(x, return_inverse=True)[1], seed=seed)
    return {name: {shape: fit(*xy) for shape, xy in shapes.items()} for name, shapes in data.items()}


def placed(found: Mapping[Shape, Crossing], data: Mapping[Shape, tuple[np.ndarray, np.ndarray]]) -> dict[Shape, bool]:
    """{shape with a transition: does its whole interval lie inside the values that were trained?}, on one variable."""
    inside = lambda t, x: bool(x.min() <= t.low and t.high <= x.max())
    return {shape: inside(t, data[shape][0]) for shape, t in found.items() if t.found}


def advantage(runs: Sequence[StoredRun], seed: int = 0) -> dict[str, tuple[float, float, float]]:
    """{variable: how many times better than γ it describes all shapes with one curve, with a 95 % interval}."""
    return {name: tuple(found.tolist()) for name, found in _advantage(list(runs), 200, seed).items()}


@disk_cached(version=1)
def _advantage(runs: Sequence[StoredRun], draws: int, seed: int) -> dict[str, np.ndarray]:
    """The squared deviation on γ over that on the variable; runs are resampled within each shape and γ, for all variables
    alike."""
    data = points(runs)

    def ratio(data: Mapping[str, Mapping[Shape, tuple[np.ndarray, np.ndarray]]]) -> dict[str, float]:
        bad = {name: collapse(shapes) for name, shapes in data.items()}
        return {name: bad["γ"] / value for name, value in bad.items() if name != "γ"}

    found: dict[str, list[float]] = {}
    picks = {
        shape: bootstrap_indices([np.flatnonzero(x == v) for v in np.unique(x)], draws, seed + i)
        for i, (shape, (x, _)) in enumerate(data["γ"].items())
    }
    for k in range(draws):
        drawn = {
            n: {shape: (x[picks[shape][k]], p[picks[shape][k]]) for shape, (x, p) in shapes.items()}
            for n, shapes in data.items()
        }
        for name, value in ratio(drawn).items():
            found.setdefault(name, []).append(value)
    return {n: np.array([v, *interval(found[n])]) for n, v in ratio(data).items()}


def shape_name(shape: Shape) -> str:
    return f"width {shape[0]}, depth {shape[1]}"


def highest_at_first(runs: Sequence[StoredRun]) -> list[Shape]:
    """The shapes of which most answers are inferential at the *largest* weights."""
    found = []
    for shape, group in by_shape(runs).items():
        first = [share(run, "inferential") for run in group if run.spec.gamma == group[0].spec.gamma]
        if np.mean(first) > 0.5:
            found.append(shape)
    return found


def trial_rows(runs: Sequence[StoredRun]) -> list[tuple[str, ...]]:
    """(batch, learning rate, decay, γ, steps to fit, both shares) of trials, a row a setting, seeds in one cell."""
    groups: dict[tuple[float, ...], list[StoredRun]] = {}
    for run in sorted(runs, key=lambda r: r.spec.seed):
        spec = run.spec
        groups.setdefault((spec.train.batch, spec.rate, spec.decay, spec.gamma), []).append(run)
    cell = lambda group, name: ", ".join(f"{share(run, name):.1f}" for run in group)
    steps = lambda group: ", ".join(f"{run.fit_step:,}" if run.fit_step else "–" for run in group)
    return [
        (*(f"{v:g}" for v in place), steps(group), cell(group, "symmetric"), cell(group, "inferential"))
        for place, group in sorted(groups.items())
    ]


def where_known(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs at every γ at which 90 % of the seen pairs are right on average."""
    right = lambda gamma: float(np.mean([run.metrics["test"] for run in runs if run.spec.gamma == gamma]))
    known = {gamma for gamma in {run.spec.gamma for run in runs} if right(gamma) >= SHADOW}
    return [run for run in runs if run.spec.gamma in known]


def facts(flips: Sequence[StoredRun], widths: Sequence[StoredRun], seed: int = 0) -> dict[str, Fact]:
    """What the text of chapter 7 says of the large-batch runs, and of those of several shapes."""
    best, who = ends(where_known(flips) or flips), f"{seeds(flips)} seeds"
    found: dict[str, Fact] = {}
    for name in MAPPINGS:
        gamma, share = best.gamma[name], best.mean[name][name]
        found[name] = Fact(share, "{:.0%}", f"{name} answers, mean of {who} at γ = {gamma:g}")
        found[f"{name}-at"] = Fact(gamma, "{:g}", f"γ at which {name} answers are most frequent")
    better = advantage(widths, seed)
    best_of = max(better, key=lambda n: better[n][0])
    found["best"] = Fact(better[best_of], "{:.2f} ({:.2f} to {:.2f})", f"times better than γ, {best_of}")
    shapes, data = by_shape(widths), points(widths)
    leading = sum(max(float(p[x == v].mean()) for v in x) > 0.5 for x, p in data["γ"].values())
    found["shapes"] = Fact((leading, len(shapes)), "{} of {}", "shapes whose mean symmetric share exceeds one half")
    placed_ = placed(crossings(data, seed)["γ"], data["γ"])
    found["placed"] = Fact(in_words(sum(placed_.values())), "{}", "shapes whose whole interval lies in the range")
    found["possible"] = Fact(attainable(widths), "{:.2f}", "times better than γ, a variable on which all curves are one")
    found["seeds"] = Fact(between_seeds(data["γ"]), "{:.0%}", "of what a curve a shape leaves: from the mean of equal runs")
    found["first"] = Fact(in_words(len(highest_at_first(widths))), "{}", "shapes mostly inferential at the largest weights")
    return found | _learned_facts(widths, seed)


_TREND = "{:+.2f} ({:+.2f} to {:+.2f})"


def _learned_facts(widths: Sequence[StoredRun], seed: int) -> dict[str, Fact]:
    """Of the runs of several shapes: which have not learned, and what is left without them."""
    kept = [run for group in behind(widths).values() for run in group]
    short = [run for run in kept if not learned(run)]
    first = min((run.spec.gamma for run in short), default=None)
    found = {
        "unfinished": Fact((len(short), len(kept)), "{} of {}", "runs behind the transitions below 90 % of the seen pairs"),
        "unfinished-from": Fact(first, "{:g}", "the least γ of these"),
    }
    done = where_learned(widths)
    two = [run for run in done if run.spec.model.depth == 2]
    widest = max((run.spec.model.d_model for run in two), default=0)
    groups = {
        "wide": [run for run in two if run.spec.model.d_model == widest],
        "narrow": [run for run in two if run.spec.model.d_model < widest],
    }
    for name, some in groups.items():
        trend = slope(some, BY_GAMMA, "symmetric") if some else None
        rests = f"γ and symmetric share, rank correlation, {len(some)} runs of two layers that have learned"
        found[f"fall-{name}"] = Fact(trend, _TREND, f"{rests}, {'the largest width' if name == 'wide' else 'smaller widths'}")
    better = advantage(done, seed) if done else {}
    best = max(better, key=lambda n: better[n][0], default="")
    rests = f"times better than γ, {best}, by runs that have learned"
    found["best-learned"] = Fact(better.get(best), "{:.2f} ({:.2f} to {:.2f})", rests)
    data = points(done)["γ"] if done else {}
    inside = sum(placed(crossings({"γ": data}, seed)["γ"], data).values())
    found["placed-learned"] = Fact(in_words(inside), "{}", "shapes whose whole interval lies in the range, by such runs")
    return found
