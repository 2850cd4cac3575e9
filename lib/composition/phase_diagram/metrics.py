"""What runs answer to (4, 3): the grid over γ and depth, all answers counted, and two-layer settings side by side.

The paper counts two answers exactly, key − 6 and key − 10. A model that confuses neighbouring numbers composes and still misses
by one or three. So there is a second reading beside the exact one, added after seeing data: does an answer lie nearer −10 or
nearer −6, and what is the median offset?
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from lib.composition.diagram import gain
from lib.composition.experiments import FAST
from lib.composition.runs import MAPPINGS, REGION, SHADOW, lean, learned_among, learned_at, model_of, offsets_by_key
from lib.composition.spectra import keys_embedding
from lib.composition.study import LOW_KEYS, OFFSETS, histogram
from lib.composition.task import (
    FIRST_KEY,
    INFERENTIAL_OFFSET,
    LAST_KEY,
    N_KEYS,
    N_PLACES,
    SEEN_PAIRS,
    SYMMETRIC_OFFSET,
    Task,
    taught,
)
from lib.core.read.measures import remembered
from lib.core.read.statistics import Trend, rank_trend, slope
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store, StoredRun, load

# --- The grid over γ and depth ---


def fast_runs(store: Store, profile: str) -> list[StoredRun]:
    return load(FAST.specs(profile), store)


@dataclass(frozen=True)
class PhaseTable:
    """Runs on a full grid. Arrays are (depths, gammas, seeds, rates); accuracies are shares in [0, 1]."""

    depths: np.ndarray
    gammas: np.ndarray
    seeds: np.ndarray
    rates: np.ndarray
    test: np.ndarray
    symmetric: np.ndarray
    inferential: np.ndarray

    @property
    def neither(self) -> np.ndarray:
        """Share of answers on (4, 3) that follow neither mapping, run by run."""
        return 1 - self.symmetric - self.inferential

    def selected(self, mapping: str) -> tuple[np.ndarray, np.ndarray]:
        """The paper's selection: for each seed the best accuracy over the rates, then the mean over seeds.

        Returns (accuracy, test accuracy of the runs that were chosen), each (depths, gammas). It is taken for each mapping by
        itself, so it flatters both (Zhang et al. 2024, appendix A).
        """
        accuracy = getattr(self, mapping)
        best = accuracy.argmax(-1)[..., None]
        test = np.take_along_axis(self.test, best, -1)[..., 0]
        return accuracy.max(-1).mean(-1), test.mean(-1)

    def plain(self, name: str) -> np.ndarray:
        """Mean over seeds and rates, nothing selected: (depths, gammas)."""
        return getattr(self, name).mean((-1, -2))

    def spread(self, mapping: str) -> np.ndarray:
        """Standard deviation over seeds (n − 1) of the selected accuracy: (depths, gammas); 0 for a single seed."""
        best = getattr(self, mapping).max(-1)
        return best.std(-1, ddof=1) if best.shape[-1] > 1 else np.zeros(best.shape[:-1])


def phase_table(runs: Sequence[StoredRun]) -> PhaseTable:
    """Arrange runs by depth, γ, seed and rate. Raises ValueError unless they fill their grid, each cell once."""
    axes = [
        sorted({value(run) for run in runs})
        for value in (_depth, lambda r: r.spec.gamma, lambda r: r.spec.seed, lambda r: r.spec.rate)
    ]
    shape = tuple(len(axis) for axis in axes)
    if not runs or len(runs) != np.prod(shape):
        raise ValueError(f"{len(runs)} runs do not fill a grid of {' x '.join(map(str, shape))} (depth, gamma, seed, rate).")
    arrays = {name: np.full(shape, np.nan) for name in ("test", *MAPPINGS)}
    for run in runs:
        place = tuple(
            axis.index(v) for axis, v in zip(axes, (_depth(run), run.spec.gamma, run.spec.seed, run.spec.rate), strict=True)
        )
        for name, array in arrays.items():
            array[place] = run.metrics[name]
    if any(np.isnan(array).any() for array in arrays.values()):
        raise ValueError("two runs share a cell of the (depth, gamma, seed, rate) grid, so another is empty.")
    return PhaseTable(*(np.array(axis) for axis in axes), **arrays)


def _depth(run: StoredRun) -> int:
    return run.spec.model.depth


def flip_depths(table: PhaseTable) -> list[tuple[int, float, float]]:
    """Depths at which γ alone turns the selected solution from symmetric to inferential.

    For each such depth (depth, γ_s, γ_i): the pair with γ_s in the symmetric and γ_i > γ_s in the inferential region that
    lies closest together on the grid, the lowest where several do. Shadowed cells do not count.
    """
    found = []
    regions = {}
    for mapping in MAPPINGS:
        accuracy, test = table.selected(mapping)
        regions[mapping] = (accuracy >= REGION) & (test >= SHADOW)
    for d, depth in enumerate(table.depths):
        symmetric, inferential = (np.flatnonzero(regions[mapping][d]) for mapping in MAPPINGS)
        pairs = [(s, i) for s in symmetric for i in inferential if s < i]
        if pairs:
            low, high = min(pairs, key=lambda pair: (pair[1] - pair[0], pair[0]))
            found.append((int(depth), float(table.gammas[low]), float(table.gammas[high])))
    return found


# --- Answers, counted ---


@remembered
def counts(run: StoredRun) -> np.ndarray:
    """(34,) how often each of OFFSETS was answered to (4, 3), and last all others; from the weights where it was not counted.

    Raises StoreError for a run that has neither counts nor weights.
    """
    if "offsets" in run.metrics:
        return np.array(run.metrics["offsets"], dtype=float)
    return histogram(torch.as_tensor(offsets_by_key(run)).flatten()[None])[0].numpy().astype(float)


def has_counts(run: StoredRun) -> bool:
    return "offsets" in run.metrics or run.has_weights


def shares(run: StoredRun) -> np.ndarray:
    """(34,) the same as shares of all answers."""
    found = counts(run)
    return found / found.sum()


def share_of(run: StoredRun, offsets: Sequence[int]) -> float:
    """Share of the answers with one of these offsets."""
    return float(sum(shares(run)[OFFSETS.index(o)] for o in offsets))


MIDDLE = (SYMMETRIC_OFFSET + INFERENTIAL_OFFSET) / 2


def nearer(run: StoredRun) -> dict[str, float]:
    """Shares of the answers that lie nearer to each mapping's offset than to the other's; an answer in the middle, or outside
    OFFSETS, is neither's."""
    return {
        "symmetric": share_of(run, [o for o in OFFSETS if o > MIDDLE]),
        "inferential": share_of(run, [o for o in OFFSETS if o < MIDDLE]),
    }


def kind(run: StoredRun) -> str:
    """The mapping that more than half of the answers lie nearer to; "neither" where there is none."""
    return next((name for name, share in nearer(run).items() if share > 0.5), "neither")


def median_offset(run: StoredRun) -> float:
    """The median of the offsets that lie among OFFSETS; NaN where none does."""
    found = counts(run)[:-1]
    if not found.sum():
        return math.nan
    place = np.searchsorted(np.cumsum(found), [(found.sum() - 1) / 2 + 0.5, found.sum() / 2 + 0.5])
    return float(np.mean([OFFSETS[i] for i in place]))


def exact_above(run: StoredRun, low: int = LOW_KEYS) -> float:
    """Share of exactly inferential answers to keys from 30 on, whose answers occur in the input."""
    if "offsets" in run.metrics:
        high = counts(run) - np.array(run.metrics["offsets_low"], dtype=float)
        return float(high[OFFSETS.index(INFERENTIAL_OFFSET)] / high.sum())
    return float((offsets_by_key(run)[low - FIRST_KEY :] == INFERENTIAL_OFFSET).mean())


def neighbour_steps(run: StoredRun) -> np.ndarray:
    """(80,) how far from each number, as a number, its nearest neighbour in the embedding is (Zhang et al. 2024, Fig. 5c)."""
    vectors = keys_embedding(run.weights())
    distance = np.linalg.norm(vectors[:, None] - vectors[None], axis=-1)
    np.fill_diagonal(distance, np.inf)
    return np.abs(distance.argmin(1) - np.arange(len(vectors)))


def step_shares(run: StoredRun, largest: int = 8) -> np.ndarray:
    """(largest + 1,) share of numbers whose nearest neighbour is 1, 2, …, `largest` or further away."""
    steps = Counter(np.minimum(neighbour_steps(run), largest + 1).tolist())
    return np.array([steps[i + 1] for i in range(largest + 1)]) / (LAST_KEY - FIRST_KEY + 1)


def teachers() -> np.ndarray:
    """(80,) for each key, how many seen pairs teach the number that composing (4, 3) gives for it as an answer."""
    answers = np.arange(FIRST_KEY, LAST_KEY + 1) + INFERENTIAL_OFFSET
    offsets = [taught(pair) for pair in SEEN_PAIRS]
    return np.array([sum(FIRST_KEY <= answer - offset <= LAST_KEY for offset in offsets) for answer in answers])


def by_teachers(run: StoredRun) -> tuple[np.ndarray, np.ndarray]:
    """(numbers of teaching pairs, share of exactly inferential answers to the keys that have so many)."""
    right = (offsets_by_key(run) == INFERENTIAL_OFFSET).mean(1)
    taught_by = teachers()
    levels = np.unique(taught_by)
    return levels, np.array([right[taught_by == level].mean() for level in levels])


@remembered
def by_place(run: StoredRun) -> np.ndarray:
    """(7,) the most frequent offset at each place of the key, keys from 30 on; from the weights."""
    offsets = offsets_by_key(run)[LOW_KEYS - FIRST_KEY :]
    return np.array([Counter(column.tolist()).most_common(1)[0][0] for column in offsets.T])


def seen_by_place(run: StoredRun, seed: int = 1) -> np.ndarray:
    """(7, keys) share of the seen pairs that are answered right, by place and key, trained or not; from the weights."""
    task = Task(**{name: value for name, value in dict(run.spec.task).items() if name != "rows"})
    n, pairs = task.keys * N_PLACES, len(task.taught)
    place, key = torch.meshgrid(torch.arange(N_PLACES), torch.arange(task.keys) + FIRST_KEY, indexing="ij")
    rows = task.questions(
        key.flatten().repeat(pairs), place.flatten().repeat(pairs), torch.arange(pairs).repeat_interleave(n), seed
    )
    answer = model_of(run)(rows.tokens[None])[0].argmax(-1)
    return (answer == rows.target).float().view(pairs, N_PLACES, task.keys).mean(0).numpy()


# --- What figures show ---


def _columns(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """By γ, then by seed and rate."""
    return sorted(runs, key=lambda r: (r.spec.gamma, r.spec.seed, r.spec.rate))


def answer_columns(runs: Sequence[StoredRun]) -> tuple[list[float], np.ndarray]:
    """(γ of each run, (33, runs) shares of OFFSETS), a column a run, ordered by γ, seed and rate."""
    ordered = _columns(runs)
    return [run.spec.gamma for run in ordered], np.array([shares(run)[:-1] for run in ordered]).T


def place_columns(runs: Sequence[StoredRun]) -> tuple[list[float], np.ndarray]:
    """(γ of each run, (7, runs) its most frequent offset at each place), in the same order."""
    ordered = _columns(runs)
    return [run.spec.gamma for run in ordered], np.array([by_place(run) for run in ordered]).T


def steps_by_gamma(runs: Sequence[StoredRun], largest: int = 8) -> dict[float, np.ndarray]:
    """{γ: (largest + 1,) step_shares, mean over its runs}, in ascending order."""
    gammas = sorted({run.spec.gamma for run in runs})
    return {g: np.mean([step_shares(r, largest) for r in runs if r.spec.gamma == g], 0) for g in gammas}


def teaching(runs: Sequence[StoredRun]) -> tuple[np.ndarray, np.ndarray]:
    """(numbers of teaching pairs, (runs, numbers) shares of exactly inferential answers). Raises ValueError for no runs."""
    if not runs:
        raise ValueError("shares by teaching pairs need runs.")
    curves = [by_teachers(run) for run in runs]
    return curves[0][0], np.array([share for _, share in curves])


# --- A row of γ ---

HALF = 0.5
"""A mapping is ahead where its share is larger than the other's by this much: half of all answers (our choice)."""


@dataclass(frozen=True)
class Strongest:
    """The γ at which each mapping is strongest."""

    gamma: dict[str, float]

    @property
    def in_order(self) -> bool:
        """Is the symmetric answer strongest at larger weights than the inferential one?"""
        return self.gamma["symmetric"] < self.gamma["inferential"]


@dataclass(frozen=True)
class Ends(Strongest):
    """The two ends of a row of γ: where each mapping's mean share is largest, and both means there."""

    mean: dict[str, dict[str, float]]

    @property
    def lead(self) -> dict[str, float]:
        """How far each mapping is ahead of the other one where it is strongest."""
        return {m: self.mean[m][m] - self.mean[m][other] for m, other in (MAPPINGS, MAPPINGS[::-1])}

    @property
    def flips(self) -> bool:
        """Is each mapping ahead by half of all answers where it is strongest, the symmetric one at larger weights?"""
        return self.in_order and all(lead >= HALF for lead in self.lead.values())


def ends(runs: Sequence[StoredRun]) -> Ends:
    """Raises ValueError for no runs."""
    if not runs:
        raise ValueError("a row of γ needs runs.")
    gammas = sorted({run.spec.gamma for run in runs})
    means = {g: {m: float(np.mean([r.metrics[m] for r in runs if r.spec.gamma == g])) for m in MAPPINGS} for g in gammas}
    gamma = {m: max(gammas, key=lambda g, m=m: means[g][m]) for m in MAPPINGS}
    return Ends(gamma, {m: means[gamma[m]] for m in MAPPINGS})


def near(runs: Sequence[StoredRun], gamma: float) -> list[StoredRun]:
    """The runs at the stored γ nearest to one; at both where two are equally near. Raises ValueError for no runs."""
    least = min(abs(run.spec.gamma - gamma) for run in runs)
    return [run for run in runs if abs(run.spec.gamma - gamma) < least + 1e-6]


PAPER_PAIR = 0.5, 0.8
"""The γ at which Zhang et al. 2024 show a symmetric and an inferential model."""


def at_paper_pair(runs: Sequence[StoredRun]) -> Ends:
    """Both mean shares at the stored γ nearest to the paper's own two, the first as the symmetric end. Raises ValueError for no
    runs."""
    pair = [near(runs, gamma) for gamma in PAPER_PAIR]
    mean = lambda some, m: float(np.mean([run.metrics[m] for run in some]))
    return Ends(
        dict(zip(MAPPINGS, PAPER_PAIR, strict=True)),
        {end: {m: mean(some, m) for m in MAPPINGS} for end, some in zip(MAPPINGS, pair, strict=True)},
    )


def clear_trend(runs: Sequence[StoredRun]) -> Trend | None:
    """The lean_slope over the runs that have learned; None where fewer than five have, which tells nothing (our choice)."""
    done = learned_among(runs)
    return lean_slope(done) if len(done) >= 5 else None


def turns(runs: Sequence[StoredRun]) -> bool:
    """Does γ clearly turn the answer: is each mapping ahead by half where it is strongest, and does the lean rise with γ over
    the runs that have learned, its 95 % interval above 0?"""
    trend = clear_trend(runs)
    return ends(runs).flips and trend is not None and trend[1] > 0


def leading(runs: Sequence[StoredRun]) -> dict[str, list[float]]:
    """{mapping: the γ at which its mean share is larger than the other's}, in rising order."""
    gammas = sorted({run.spec.gamma for run in runs})
    mean = {g: float(np.mean([lean(r) for r in runs if r.spec.gamma == g])) for g in gammas}
    return {"symmetric": [g for g in gammas if mean[g] < 0], "inferential": [g for g in gammas if mean[g] > 0]}


def lean_slope(runs: Sequence[StoredRun]) -> Trend | None:
    """The slope of inferential − symmetric against γ over runs, and its 95 % interval; None where all have one γ."""
    x = np.array([run.spec.gamma for run in runs])
    return slope(x, np.array([lean(run) for run in runs])) if len(set(x)) > 1 else None


def by_speed(runs: Sequence[StoredRun]) -> tuple[list[StoredRun], list[StoredRun]]:
    """The third of the runs that learn first, and the others, those that never learn last; ties in the order given."""
    ordered = sorted(runs, key=learned_at)
    third = max(1, len(runs) // 3)
    return ordered[:third], ordered[third:]


def of_all_rates(by_rate: Mapping[float, Sequence[StoredRun]]) -> list[StoredRun]:
    """The runs at every (γ, seed) that all learning rates have."""
    points = [{(run.spec.gamma, run.spec.seed) for run in runs} for runs in by_rate.values()]
    shared = set.intersection(*points) if points else set()
    return [run for runs in by_rate.values() for run in runs if (run.spec.gamma, run.spec.seed) in shared]


@dataclass(frozen=True)
class Selected(Strongest):
    """The two ends of a row of γ by the paper's selection: where each mapping's share is largest, that share, and the mean over
    seeds and rates of its lead over the other one there, with nothing selected."""

    share: dict[str, float]
    lead: dict[str, float]


def selected_ends(runs: Sequence[StoredRun]) -> Selected:
    """Of runs of one depth on a full grid of γ, seeds and learning rates. Raises ValueError where the grid is not full."""
    table = phase_table(runs)
    best = {m: table.selected(m)[0][0] for m in MAPPINGS}
    at = {m: int(best[m].argmax()) for m in MAPPINGS}
    lead = {m: float((table.plain(m) - table.plain(other))[0, at[m]]) for m, other in (MAPPINGS, MAPPINGS[::-1])}
    return Selected({m: float(table.gammas[at[m]]) for m in MAPPINGS}, {m: float(best[m][at[m]]) for m in MAPPINGS}, lead)


def more_layers(few: Sequence[StoredRun], many: Sequence[StoredRun]) -> np.ndarray:
    """What the further layers of `many` add to the lean: the difference at every (γ, seed) that both have."""
    return np.array([lean(b) - lean(a) for a, b in zip(*at_same_points(few, many), strict=True)])


def at_same_points(few: Sequence[StoredRun], many: Sequence[StoredRun]) -> tuple[list[StoredRun], list[StoredRun]]:
    """The runs of both at every (γ, seed) that both have, in one order."""
    a, b = ({(run.spec.gamma, run.spec.seed): run for run in runs} for runs in (few, many))
    both = [point for point in b if point in a]
    return [a[point] for point in both], [b[point] for point in both]


# --- Settings side by side ---

LARGE, SMALL = (0.6, 1.3), (0.0, 0.2)
"""The two ends as ranges of gain (our choice); at width 400, γ from .46 to .59 and from .77 on."""


@dataclass(frozen=True)
class Setting:
    """Two-layer runs that differ in γ and seed only, those of the two ends: {(γ, seed): lean in [−1, 1]}; where one was trained
    more than once, the mean."""

    spec: RunSpec
    by_large: Mapping[tuple[float, int], float]
    by_small: Mapping[tuple[float, int], float]

    @property
    def large(self) -> np.ndarray:
        return np.array(list(self.by_large.values()))

    @property
    def small(self) -> np.ndarray:
        return np.array(list(self.by_small.values()))

    @property
    def gammas(self) -> list[float]:
        """The γ of both ends, in rising order."""
        return sorted({gamma for gamma, _ in (*self.by_large, *self.by_small)})

    def at(self, gammas: Sequence[float]) -> Setting:
        """The same at these γ only."""
        few = [{point: lean for point, lean in end.items() if point[0] in gammas} for end in (self.by_large, self.by_small)]
        return Setting(self.spec, *few)

    @property
    def separation(self) -> float:
        return float(self.small.mean() - self.large.mean()) / 2

    @property
    def runs_an_end(self) -> int:
        return min(len(self.large), len(self.small))

    @property
    def error(self) -> float:
        """Standard error of the separation over runs; NaN where an end has a single run."""
        if self.runs_an_end < 2:
            return float("nan")
        return 0.5 * float(np.hypot(*(end.std(ddof=1) / len(end) ** 0.5 for end in (self.large, self.small))))


AXES: Mapping[str, Callable[[RunSpec], float]] = {
    "width": lambda s: s.model.d_model,
    "learning rate / √batch": lambda s: s.rate / s.train.batch**0.5,
    "training rows seen": lambda s: s.train.batch * s.train.steps,
}
"""What settings are compared by. Rows seen are those of the step limit."""


def compared(run: StoredRun) -> bool:
    """Two layers of the paper's block on the paper's task with all its numbers; no other experiment's variant."""
    task, model = dict(run.spec.task), run.spec.model
    plain = task.get("unseen", "one") == "one" and task.get("groups") is None and task.get("keys", N_KEYS) == N_KEYS
    return plain and task.get("modulus", 7) == 7 and model.depth == 2 and model.norm == "post" and model.activation == "relu"


def settings(runs: Sequence[StoredRun]) -> list[Setting]:
    """Every setting that has runs at both ends, by width and then by how quiet it is. The same settings of several experiments
    are one; always new rows and a fixed set of them are two."""
    groups: dict[tuple, list[StoredRun]] = {}
    for run in filter(compared, {run.path: run for run in runs}.values()):
        s = run.spec
        key = (s.model.d_model, AXES["learning rate / √batch"](s), s.train, s.rate, s.decay, dict(s.task).get("rows", 0))
        groups.setdefault(key, []).append(run)
    found = []
    for key in sorted(groups, key=lambda k: (k[:2], k[3:], str(k[2]))):
        at = {end: _leans(groups[key], end) for end in (LARGE, SMALL)}
        if all(len(values) for values in at.values()):
            found.append(Setting(groups[key][0].spec, at[LARGE], at[SMALL]))
    return found


def _leans(runs: Sequence[StoredRun], end: tuple[float, float]) -> dict[tuple[float, int], float]:
    """The lean at every (γ, seed) whose gain lies inside an end."""
    points: dict[tuple[float, int], list[float]] = {}
    for run in runs:
        if end[0] <= gain(run.spec.gamma, run.spec.model.d_model) <= end[1]:
            points.setdefault((run.spec.gamma, run.spec.seed), []).append(lean(run))
    return {point: float(np.mean(again)) for point, again in points.items()}


def trend(found: Sequence[Setting], axis: str) -> Trend:
    """Rank correlation over settings of an axis with the separation, and its 95 % interval by resampling settings.

    Raises ValueError for fewer than three settings.
    """
    if len(found) < 3:
        raise ValueError("a trend needs three settings.")
    return rank_trend([AXES[axis](s.spec) for s in found], [s.separation for s in found], draws=2000)
