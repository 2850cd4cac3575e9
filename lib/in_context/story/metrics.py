"""One story (chapter 17): copy from the prompt or remember pairs, over the starts of attention (δ) and of W_O (γ).

Runs are trained on the six tasks of a cycle alone, in which each pair of patterns has one answer that could be remembered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from lib.core.read.fact import Fact, in_words, mean
from lib.core.read.measures import mean_std
from lib.core.read.statistics import spearman
from lib.core.record.store import Store, StoredRun, load
from lib.in_context import starts
from lib.in_context.experiments import STORY_GAMMAS, TABLE_STARTS, story_specs, table_specs, train_specs, wide_specs
from lib.in_context.pruning.metrics import at_rate
from lib.in_context.runs import LEVEL, shape_of, small, start_attention, steps_to
from lib.in_context.task import Task

Grid = Mapping[tuple[float, float], list[StoredRun]]
LEARNED = 0.02
"""A run has learned its tasks where at most this share of signs is wrong on them at the end."""
TABLE_LEARNED = 0.1
"""Where all labels in the prompt are coins, a run has learned the table where at most this share of signs is wrong on its tasks
at the end. Fixed before these runs were trained."""
FIFTH = 0.2
"""The share of neurons that is pruned where two starts are compared."""
SAME = 0.75
"""The attention at which errors are compared."""
FEWEST = 3
"""Values of δ, or runs that learned, for a correlation."""
LARGE_DELTA, SOME_DELTA, LARGE_START = 1.0, 0.2, 0.1
"""The largest δ, that of the main runs, and the γ of the largest start of W_O where a is of order 1 / √m."""
MAIN_GAMMA = STORY_GAMMAS[-1]
"""The γ of W_O in the main runs."""
CYCLE = Task(shifts=(1,))
"""The six tasks of a cycle, as the runs are trained on them."""


def story_runs(store: Store, profile: str, wide: bool = False) -> dict[tuple[float, float], list[StoredRun]]:
    """{(δ, γ): runs}, with an a of order 1 / √m if `wide`. Raises LookupError where some are missing."""
    return {place: load(specs, store) for place, specs in story_specs(profile, wide).items()}


def table_runs(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    """{start: runs} whose prompts' labels are coins. Raises LookupError where some are missing."""
    return {name: load(specs, store) for name, specs in table_specs(profile).items()}


def starts_compared(store: Store, profile: str) -> dict[str, dict[str, np.ndarray]]:
    """{start: {quantity: (R,)}} of the main runs and of those from the start of order 1 / √m, on chapter 12's task."""
    found = {}
    for name, specs in (("small", train_specs(profile)), ("1 / √m", wide_specs(profile))):
        runs = load(specs, store)
        rows = [starts.measured(run) for run in runs]
        ordered, random = at_rate(runs, FIFTH)
        found[name] = {
            "wrong on unseen tasks": np.array([unseen_error(run) for run in runs]),
            "attention at the end": np.array([end_attention(run) for run in runs]),
            **{q.name: np.array([row[q.name] for row in rows]) for q in starts.TALK if q.when == starts.END},
            f"hinge loss, {FIFTH:.0%} pruned by magnitude": ordered.loss,
            f"hinge loss, {FIFTH:.0%} pruned at random": random.loss,
        }
    return found


def everyone(found: Grid) -> list[StoredRun]:
    return [run for runs in found.values() for run in runs]


def at(found: Grid, axis: str, value: float) -> dict[float, list[StoredRun]]:
    """{γ: runs} at one "δ", or {δ: runs} at one "γ". Raises LookupError where there are none."""
    i = "δγ".index(axis)
    if not (kept := {place[1 - i]: runs for place, runs in found.items() if place[i] == value}):
        raise LookupError(f"no runs at {axis} = {value:g} belong to this profile")
    return kept


def end_attention(run: StoredRun) -> float:
    """The query's attention to its own pattern after training; NaN where the run diverged."""
    value = run.history["attention.1"][-1]
    return float("nan") if value is None else value


def seen_error(run: StoredRun) -> float:
    """Share of wrong signs on the trained tasks at the end."""
    return 1 - (run.metrics["seen"] or 0.0)


def unseen_error(run: StoredRun) -> float:
    """The same on the tasks that were not trained."""
    return 1 - (run.metrics["unseen"] or 0.0)


def gap(run: StoredRun) -> float:
    """How many more signs are wrong on tasks that were not trained."""
    return unseen_error(run) - seen_error(run)


def excess(run: StoredRun) -> float:
    """Hinge loss on unseen tasks less that on trained ones where the latter falls to LEVEL, on a straight line between two
    evaluations; NaN where it never does, or has done so by the first evaluation."""
    seen, unseen = (np.array(run.history[f"{name} loss"], dtype=float) for name in ("seen", "unseen"))
    below = np.flatnonzero(seen <= LEVEL)
    if not len(below) or below[0] == 0:
        return float("nan")
    now, before = below[0], below[0] - 1
    share = (seen[before] - LEVEL) / (seen[before] - seen[now])
    return float(unseen[before] + share * (unseen[now] - unseen[before]) - LEVEL)


def learned(run: StoredRun) -> bool:
    return run.status != "diverged" and seen_error(run) <= LEARNED


def learned_table(run: StoredRun) -> bool:
    return run.status != "diverged" and seen_error(run) <= TABLE_LEARNED


def moved(run: StoredRun) -> float:
    """By how much the log-odds of attention to the query's own pattern grow in training; NaN where the run diverged."""
    before, after = start_attention(run)[0], end_attention(run)
    return math.log(after / (1 - after)) - math.log(before / (1 - before))


def steps(run: StoredRun) -> int:
    """Steps to a held-out hinge loss of LEVEL; the step limit where it is never reached."""
    found = steps_to(run)
    return run.spec.train.steps if found is None else found


def excesses(found: Grid, delta: float) -> dict[float, np.ndarray]:
    """{γ: `excess` of the runs at a δ that have one}."""
    values = {gamma: np.array([excess(run) for run in runs]) for (d, gamma), runs in found.items() if d == delta}
    return {gamma: v[np.isfinite(v)] for gamma, v in sorted(values.items())}


def delta_of(run: StoredRun) -> float:
    return shape_of(run).delta


def gammas_of(found: Grid) -> list[float]:
    return sorted({gamma for _, gamma in found})


def deltas_of(found: Grid) -> list[float]:
    return sorted({delta for delta, _ in found})


def remembering_error() -> tuple[float, float]:
    """Of the tasks that were not trained the share that are a trained one reversed, and the expected share of wrong signs of
    whoever answers with the trained pair's label where there is one, and guesses elsewhere."""
    trained = set(map(tuple, CYCLE.pairs.tolist()))
    reversed_ones = [(b, a) in trained for a, b in CYCLE.unseen.tolist()]
    share = float(np.mean(reversed_ones))
    return share, share + (1 - share) / 2


def theory(deltas: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Attention on the same pattern at the start against δ, at the mean counts: exp(δ² β²) α/2 over that plus 1 − α/2. The
    products of irrelevant parts, which are small, are left out."""
    grid = np.geomspace(min(deltas) / 1.3, max(deltas) * 1.3, 100)
    same = np.exp(grid**2 * CYCLE.norm**2) * CYCLE.alpha / 2
    return grid, same / (same + 1 - CYCLE.alpha / 2)


def error_at(run: StoredRun) -> float:
    """Share of wrong signs on unseen tasks at the first evaluation with attention SAME on the same pattern; NaN where there is
    none, or it is the first of all."""
    reached = np.flatnonzero(np.array(run.history["attention.1"], dtype=float) >= SAME)
    return 1 - run.history["unseen"][reached[0]] if len(reached) and reached[0] else float("nan")


def correlation(runs: Sequence[StoredRun]) -> float:
    """Rank correlation of the final attention with the error on unseen tasks; 0 for no runs."""
    return spearman(np.array([end_attention(r) for r in runs]), np.array([unseen_error(r) for r in runs])) if runs else 0.0


def both_excesses(grids: Mapping[str, Grid]) -> dict[str, dict[float, np.ndarray]]:
    """{readout: {γ: excesses at δ = SOME_DELTA}}."""
    return {name: excesses(grid, SOME_DELTA) for name, grid in grids.items()}


def starts_rows(found: Mapping[str, Mapping[str, np.ndarray]]) -> list[tuple[str, ...]]:
    """(quantity, what the talk prints, mean and spread from each start)."""
    talk = {quantity.name: f"{quantity.low:g} to {quantity.high:g}" for quantity in starts.TALK}
    cell = lambda values: small(values, 3) if np.isfinite(values).all() and values.any() else "none"
    first = next(iter(found.values()))
    math = lambda name: name.replace("W_O W_V", "$W_O W_V$").replace("of W_O,", "of $W_O$,")
    return [(math(name), talk.get(name, ""), *(cell(rows[name]) for rows in found.values())) for name in first]


def equal_rows(found: Grid) -> list[tuple[str, ...]]:
    """(γ, runs, % wrong on unseen tasks at the first evaluation with so much attention)."""
    rows = []
    for gamma in gammas_of(found):
        passed = np.array([error_at(run) for run in everyone(found) if run.spec.gamma == gamma])
        passed = passed[np.isfinite(passed)]
        rows.append((f"{gamma:g}", str(len(passed)), mean_std(100 * passed, 2) if len(passed) else "–"))
    return rows


def own_settings(found: Grid) -> list[tuple[str, str]]:
    """(setting, value) of what only these runs have."""
    runs = everyone(found)
    rates = {run.spec.gamma: run.spec.rate for run in runs}
    one = runs[0].spec
    return [
        ("δ", ", ".join(f"{delta:g}" for delta in deltas_of(found))),
        ("γ (learning rate)", ", ".join(f"{gamma:g} ({rate:.2g})" for gamma, rate in sorted(rates.items()))),
        ("neurons, size of a", f"{shape_of(runs[0]).neurons}, {shape_of(runs[0]).readout:.3g}"),
        ("steps, batch", f"{one.train.steps:,}, {one.train.batch}"),
        ("seeds", str(len({run.spec.seed for run in runs}))),
    ]


def facts(
    grid: Grid, wide: Grid, main: Mapping[str, Mapping[str, np.ndarray]], tables: Mapping[str, Sequence[StoredRun]]
) -> dict[str, Fact]:
    """What the text of chapter 17 says: of the runs with the small readout, with the large one, of chapter 12's runs from both
    starts, and of those that have only a table to learn."""
    copied, wider = ([run for run in everyone(found) if learned(run)] for found in (grid, wide))
    share, error = remembering_error()
    at = lambda delta: [run for (d, g), runs in grid.items() if (d, g) == (delta, MAIN_GAMMA) for run in runs]
    found = {
        "runs": Fact(len(everyone(grid)), "{}", "runs with the small readout"),
        "starts": Fact(len(grid) + len(wide), "{}", "starts: a readout, a δ and a γ each"),
        "starts-learned": Fact(
            sum(all(map(learned, runs)) for some in (grid, wide) for runs in some.values()),
            "{}",
            f"of these, from which every seed errs on at most {LEARNED:.0%} of its own tasks",
        ),
        "clean": Fact(sum(unseen_error(run) == 0 for run in copied), "{}", "of these without an error on unseen tasks"),
        "wide-learned": Fact(len(wider), "{}", "runs with the large readout that learned their tasks"),
        "wide-runs": Fact(len(everyone(wide)), "{}", "runs with the large readout"),
        "wide-wrong": Fact(
            max(map(unseen_error, wider), default=None), "{:.1%}", "largest share of wrong signs on unseen tasks, large readout"
        ),
        "wide-clean": Fact(sum(unseen_error(run) == 0 for run in wider), "{}", "of these without an error on unseen tasks"),
        "correlation": Fact(
            correlation(wider) if len(wider) >= FEWEST else None, "{:.2f}", "rank correlation, large readout, runs that learned"
        ),
        "reversed": Fact(share, "{:.0%}", "untrained tasks that are a trained one reversed"),
        "remember": Fact(error, "{:.1%}", "expected share of wrong signs of who remembers pairs"),
        "before": Fact(
            mean([start_attention(run)[0] for run in at(LARGE_DELTA)]),
            "{:.2f}",
            f"attention before training, δ = {LARGE_DELTA:g}",
        ),
        "small-before": Fact(
            mean([start_attention(run)[0] for run in at(SOME_DELTA)]),
            "{:.2f}",
            f"attention before training, δ = {SOME_DELTA:g}",
        ),
        "fast": Fact(
            mean([steps(r) for r in at(LARGE_DELTA)]), "{:.0f}", f"mean steps to a loss of {LEVEL:g}, δ = {LARGE_DELTA:g}"
        ),
        "slow": Fact(
            mean([steps(r) for r in at(0.1)]), "{:.0f}", f"mean steps to a loss of {LEVEL:g}, δ = 0.1, γ = {MAIN_GAMMA:g}"
        ),
    }
    for name, delta in (("large-moved", LARGE_DELTA), ("small-moved", SOME_DELTA)):
        rests = f"growth of the log-odds of attention, δ = {delta:g}, γ = {MAIN_GAMMA:g}, mean of seeds"
        found[name] = Fact(mean([moved(run) for run in at(delta)]), "{:.1f}", rests)
    coins = [run for runs in tables.values() for run in runs]
    found["table-runs"] = Fact(len(coins), "{}", "runs in whose prompts all labels are coins")
    found["table-learned"] = Fact(
        in_words(sum(map(learned_table, coins))), "{}", f"of these that err on at most {TABLE_LEARNED:.0%} of their own tasks"
    )
    for name, runs in tables.items():
        wide_one, delta, gamma = TABLE_STARTS[name]
        start = f"{'large' if wide_one else 'small'} readout, δ = {delta:g}, γ = {gamma:g}"
        found[f"table-{name}"] = Fact(1 - fmean(map(seen_error, runs)), "{:.0%}", f"of their own tasks right, mean, {start}")
    groups = list(excesses(grid, SOME_DELTA).values())
    for name, values in (("behind-large", groups[0]), ("behind-small", groups[-1])):
        found[name] = Fact(mean(values), "{:.3f}", f"excess loss on unseen tasks, δ = {SOME_DELTA:g}, mean of seeds")
    for start, rows in main.items():
        short = "small" if start == "small" else "wide"
        for key, quantity in (("label", starts.LABEL), ("rows", starts.SHARE)):
            values = rows[f"{quantity}, {starts.END}"]
            found[f"{short}-{key}"] = Fact(
                mean(values), "{:.2f}" if key == "label" else "{:.0%}", f"{quantity}, chapter 12's runs"
            )
    return found
