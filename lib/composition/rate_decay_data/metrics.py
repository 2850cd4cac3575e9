"""Learning rate, weight decay and the complexity of data: grids, trends and learning times, over runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.composition.phase_diagram.metrics import ends, exact_above
from lib.composition.runs import MAPPINGS, learned_among, learned_at, preference
from lib.composition.trends import BY_DECAY, BY_GAMMA, BY_RATE, Trend, Value, levels, slope
from lib.core.read.fact import Fact, in_words, mean
from lib.core.read.statistics import rank_trend
from lib.core.record.store import StoredRun

BY_KEYS: Value = lambda run: float(dict(run.spec.task)["keys"])
"""How many numbers there are."""


def with_fewest(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Those with the fewest numbers."""
    fewest = min(map(BY_KEYS, runs))
    return [run for run in runs if BY_KEYS(run) == fewest]


def by_cell(runs: Sequence[StoredRun], row: Value, column: Value) -> dict[tuple[float, float], list[StoredRun]]:
    """{(row, column): its runs}."""
    found: dict[tuple[float, float], list[StoredRun]] = {}
    for run in runs:
        found.setdefault((row(run), column(run)), []).append(run)
    return found


def cells(
    runs: Sequence[StoredRun], row: Value, column: Value, metric: str
) -> dict[tuple[float, float], list[tuple[float, bool]]]:
    """{(row, column): (metric, has the run learned) of each of its runs}."""
    known = lambda run: bool(learned_among([run]))
    return {cell: [(run.metrics[metric], known(run)) for run in some] for cell, some in by_cell(runs, row, column).items()}


def leans(runs: Sequence[StoredRun], row: Value, column: Value) -> dict[tuple[float, float], float]:
    """{(row, column): mean lean, inferential − symmetric, of its runs that have learned}; cells without one are left out."""
    groups = by_cell(learned_among(runs), row, column)
    return {cell: float(np.mean([preference(run) for run in some])) for cell, some in groups.items()}


def lean_by_numbers(runs: Sequence[StoredRun]) -> Trend:
    """Rank correlation of the number of keys with the lean, and its 95 % interval by resampling runs."""
    return rank_trend([BY_KEYS(run) for run in runs], [preference(run) for run in runs])


def learning_steps(runs: Sequence[StoredRun]) -> dict[float, np.ndarray]:
    """{γ: (groups, seeds)} steps until the seen pairs are learned; infinity for a run that never learned them.

    Learned: the first evaluation at which 99 % are answered right.
    """
    found = {}
    for gamma in levels(runs, BY_GAMMA):
        rows = []
        for k in levels(runs, n_groups):
            cell = sorted((r for r in runs if r.spec.gamma == gamma and n_groups(r) == k), key=lambda r: r.spec.seed)
            rows.append([learned_at(r) for r in cell])
        found[gamma] = np.array(rows, dtype=float)
    return found


def n_groups(run: StoredRun) -> float:
    return float(dict(run.spec.task)["groups"])


def harder(values: np.ndarray) -> Trend:
    """Rank correlation of the number of groups and the steps, (groups, seeds), and its 95 % interval by resampling runs; never
    is later than any step."""
    return rank_trend(np.repeat(np.arange(len(values)), values.shape[1]), values.ravel())


def paired(runs: Sequence[StoredRun], low: float, high: float) -> np.ndarray:
    """(pairs,) how much more inferential a run is with the decay `high` than the one of its γ and seed with `low`. Pairs of
    which both have learned."""
    share = {(BY_DECAY(run), run.spec.gamma, run.spec.seed): run.metrics["inferential"] for run in learned_among(runs)}
    others = {(gamma, seed): value for (decay, gamma, seed), value in share.items() if decay == low}
    both = [(value, others.get((gamma, seed))) for (decay, gamma, seed), value in share.items() if decay == high]
    return np.array([value - other for value, other in both if other is not None])


_TREND = "{:+.2f} ({:+.2f} to {:+.2f})"


def facts(
    optimization: Sequence[StoredRun],
    decay: Sequence[StoredRun],
    keys: Sequence[StoredRun],
    few: Sequence[StoredRun],
    steps: Mapping[float, np.ndarray],
    whole: Sequence[StoredRun] = (),
) -> dict[str, Fact]:
    """What the text of chapter 6 says. few: the fewest numbers at the larger width; whole: all numbers at that width, in the
    longer runs of chapter 2; steps: of `learning_steps`, over all numbers of groups or the least and the most."""
    over = lambda runs: learned_among(runs) or list(runs)
    trend = lambda runs, value: slope(over(runs), value, "inferential")
    corr = "rank correlation with the inferential share, 95 % interval by resampling runs"
    kept = [run for run in optimization if run.has_weights]
    top = max(map(BY_DECAY, decay))
    most = [run for run in decay if BY_DECAY(run) == top]
    wide, narrow = ends(few), ends(with_fewest(keys))
    rank = lambda runs, value: rank_trend(list(map(value, runs)), [run.history["rank W_Q(1)"][-1] for run in runs])
    of_rank = "with the stable rank of the first query matrix, learned runs"
    known = over(optimization)
    decayed = [run for run in known if BY_DECAY(run) == max(map(BY_DECAY, known))]
    found = {
        "rate": Fact(trend(optimization, BY_RATE), _TREND, f"learning rate: {corr}, both pairs unseen"),
        "decay": Fact(trend(optimization, BY_DECAY), _TREND, f"weight decay: {corr}, both pairs unseen"),
        "learned": Fact((len(learned_among(optimization)), len(optimization)), "{} of {}", "runs that know the seen pairs"),
        "rank": Fact(rank(known, BY_DECAY), _TREND, f"rank correlation of decay {of_rank}"),
        "rank-rate": Fact(rank(known, BY_RATE), _TREND, f"rank correlation of the learning rate {of_rank}"),
        "rank-rate-most": Fact(rank(decayed, BY_RATE), _TREND, f"the same at the largest decay, {len(decayed)} runs"),
        "kept": Fact(len(kept), "{}", "runs with weights, one seed"),
        "decay-two": Fact(trend(decay, BY_DECAY), _TREND, f"weight decay: {corr}, two layers, (3, 4) taught"),
        "gamma-two": Fact(trend(decay, BY_GAMMA), _TREND, f"γ: {corr}, two layers, (3, 4) taught"),
        "learned-two": Fact((len(learned_among(decay)), len(decay)), "{} of {}", "of these runs that know the seen pairs"),
        "most-decay": Fact((len(learned_among(most)), len(most)), "{} of {}", "of these runs that have learned, largest decay"),
        "numbers": Fact(lean_by_numbers(over(keys)), _TREND, "rank correlation of the numbers with inferential − symmetric"),
        "fewest": Fact(int(BY_KEYS(with_fewest(keys)[0])), "{}", "the fewest numbers"),
        "wide-learned": Fact((len(learned_among(few)), len(few)), "{} of {}", "runs of width 128 that have learned their rows"),
    }
    for name, row, end in (("wide", few, wide), ("narrow", with_fewest(keys), narrow)):
        for m in MAPPINGS:
            rests = f"largest mean {m} share over γ, fewest numbers, width {row[0].spec.model.d_model}"
            found[f"{name}-{m}"] = Fact(float(end.mean[m][m]), "{:.0%}", rests)
            if name == "wide":
                found[f"gamma-{m}"] = Fact(end.gamma[m], "{:g}", f"the γ of that share, width {row[0].spec.model.d_model}")
    above = [exact_above(run) for run in few if run.spec.gamma == wide.gamma["inferential"]]
    found["wide-above"] = Fact(mean(above), "{:.0%}", "of the latter, keys whose answers occur in the input")
    for name, gamma in zip(("large", "small"), sorted(steps), strict=False):
        medians = np.median(steps[gamma], 1)
        rests = f"median steps until 99 % of seen pairs are right, γ = {gamma:g}"
        found[f"steps-{name}-none"] = Fact(float(medians[0]), "{:,.0f}", f"{rests}, no pair breaks the rule")
        five = float(medians[-2]) if len(medians) > 2 else None
        found[f"steps-{name}-five"] = Fact(five, "{:,.0f}", f"{rests}, all groups but one break it")
    never = sum(int(np.isinf(values[-1]).sum()) for values in steps.values())
    total = sum(len(values[-1]) for values in steps.values())
    rests = "runs that have not learned when training ends, every pair breaks the rule"
    found["never"] = Fact((never, total), "{} of {}", rests)
    return found | _little_decay(optimization, decay) | _all_numbers(whole)


def _little_decay(optimization: Sequence[StoredRun], decay: Sequence[StoredRun]) -> dict[str, Fact]:
    """Both grids up to the largest decay but one of the second, with which its runs learn."""
    none, *_, top, _ = levels(decay, BY_DECAY) if len(levels(decay, BY_DECAY)) > 2 else (0.0, 0.0, 0.0)
    little = lambda runs: [run for run in learned_among(runs) if BY_DECAY(run) <= top]
    first, pairs = little(optimization), paired(decay, none, top)
    trend = slope(first, BY_DECAY, "inferential") if first else None
    rests = f"weight decay up to {top:g}, both pairs unseen: rank correlation with the inferential share, {len(first)} runs"
    found = {
        "decay-little": Fact(trend, _TREND, rests),
        "little": Fact(len(little(decay)), "{}", "two-layer runs that have learned, decay up to this"),
        "little-at": Fact(top, "{:g}", "the largest weight decay but one of the second grid"),
        "pairs-mean": Fact(mean(pairs), "{:+.2f}", f"inferential share at that decay less that at none, {len(pairs)} pairs"),
    }
    for name, sign in (("up", 1), ("down", -1), ("same", 0)):
        count = int((np.sign(np.round(pairs, 9)) == sign).sum())
        found[f"pairs-{name}"] = Fact(in_words(count), "{}", "pairs of one γ and seed, no decay and that one, by their change")
    return found


def _all_numbers(whole: Sequence[StoredRun]) -> dict[str, Fact]:
    """Do models with all numbers turn as well? Their most frequent answers, as of those with few."""
    best, found = ends(whole) if whole else None, {}
    for m in MAPPINGS:
        rests = f"largest mean {m} share over γ, all numbers, the longer runs of chapter 2"
        found[f"all-{m}"] = Fact(float(best.mean[m][m]) if best else None, "{:.0%}", rests)
        found[f"all-gamma-{m}"] = Fact(best.gamma[m] if best else None, "{:g}", "the γ of that share")
    return found
