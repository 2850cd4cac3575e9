"""What the claims of the composition study measure: functions from stored results to findings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from lib.composition import runs as analysis
from lib.composition.experiments import FAST
from lib.composition.runs import MAPPINGS, REGION, SHADOW, PhaseTable
from lib.composition.task import (
    ANCHORS,
    EXCEPTION,
    HELD_OUT,
    INFERENTIAL_OFFSET,
    PAIRS,
    SEEN_PAIRS,
    SYMMETRIC_OFFSET,
    Task,
    composed,
    taught,
)
from lib.core.claim import NOT_REPRODUCED, Finding, graded
from lib.core.store import Store, StoredRun
from lib.core.sweep import load

Check = Callable[[Store, str], Finding]

FITTED = 0.99
"""Test accuracy on seen pairs from which a run counts as having learned the table (our choice)."""


def _runs(store: Store, profile: str) -> list[StoredRun]:
    return load(FAST.specs(profile), store)


def _table(store: Store, profile: str) -> PhaseTable:
    return analysis.phase_table(_runs(store, profile))


# --- The task (chapter 01) ---


def two_answers(store: Store, profile: str) -> Finding:
    exception = f"(3, 4) is taught {taught(EXCEPTION):+d} and composes to {composed(EXCEPTION):+d}"
    measured = f"{exception}; (4, 3) composes to {composed(HELD_OUT):+d}"
    apart = taught(EXCEPTION) == SYMMETRIC_OFFSET != INFERENTIAL_OFFSET == composed(HELD_OUT)
    others = all(taught((a, b)) == taught((b, a)) for a, b in SEEN_PAIRS if {a, b} != set(HELD_OUT))
    return Finding(
        f"{measured}; every other pair agrees with its mirror image: {others}",
        graded({"the two offsets differ": apart, "no other pair breaks the symmetry": others}),
    )


def sixteen(store: Store, profile: str) -> Finding:
    inferential = sum(taught(pair) == composed(pair) for pair in SEEN_PAIRS)
    return Finding(
        f"{len(PAIRS)} pairs: {inferential} taught by composing, {len(SEEN_PAIRS) - inferential} otherwise, "
        f"{len(PAIRS) - len(SEEN_PAIRS)} held out",
        graded({"14, 1 and 1": (len(PAIRS), inferential, len(SEEN_PAIRS)) == (16, 14, 15)}),
    )


def ladder(store: Store, profile: str) -> Finding:
    rungs = analysis.ladder()
    counts = (len(PAIRS), len(rungs["symmetric maps"]), len(rungs["primitives"]))
    return Finding(
        f"{counts[0]} pair maps, {counts[1]} symmetric maps, {counts[2]} primitives",
        graded({"16, 10 and 4": counts == (16, 10, 4)}),
    )


def slide_errata() -> list[tuple[str, str]]:
    """(what a slide says, what the slide's own four functions give) where the two differ."""
    said = (((3, 4), None, +6), ((3, 4), 77, 83), ((2, 2), None, -1), ((4, 2), None, -9), ((4, 4), 88, 54))
    rows = []
    for (a, b), key, value in said:
        offset = ANCHORS[a] + ANCHORS[b]
        given = offset if key is None else key + offset
        if given != value:
            name, x = f"({a}, {b}, {'x' if key is None else key})", "x" if key is None else ""
            write = lambda v, x=x: f"{x} {'+' if v > 0 else '−'} {abs(v)}" if x else str(v)
            rows.append((f"{name} = {write(value)}", f"{name} = {write(given)}"))
    return rows


def slides(store: Store, profile: str) -> Finding:
    errata = slide_errata()
    return Finding(
        f"{len(errata)} entries differ: " + "; ".join(f"{says}, not {gives}" for says, gives in errata),
        graded({"no entry disagrees": not errata}),
    )


def split(store: Store, profile: str) -> Finding:
    task = Task()
    batch = task.rows(torch.tensor(0), torch.arange(30_000))
    leaks = int((batch.key % 7 == batch.place).sum())
    test = task.test_rows()
    pure = bool((test.key % 7 == test.place).all())
    both = bool(task.trains.any(0).all() and task.trains.any(1).all())
    return Finding(
        f"{leaks} of {len(batch.key):,} training rows at a held-out (key, place); "
        f"{len(test.key):,} test rows, all held out: {pure}",
        graded({"no violation": leaks == 0, "every test row is held out": pure, "all keys and places train": both}),
    )


# --- The phase diagram (chapter 02) ---


def _cells(table: PhaseTable, mapping: str) -> list[tuple[int, float, float]]:
    """(depth, γ, selected accuracy) of the cells in a mapping's region."""
    accuracy, test = table.selected(mapping)
    inside = (accuracy >= REGION) & (test >= SHADOW)
    return [
        (int(table.depths[d]), float(table.gammas[g]), float(accuracy[d, g])) for d, g in zip(*np.nonzero(inside), strict=True)
    ]


def _list(cells: list[tuple[int, float, float]]) -> str:
    depths = sorted({depth for depth, *_ in cells})
    return "; ".join(f"depth {d}: γ = " + ", ".join(f"{g:g}" for depth, g, _ in cells if depth == d) for d in depths) or "none"


def region(mapping: str) -> Check:
    def check(store: Store, profile: str) -> Finding:
        table = _table(store, profile)
        cells = _cells(table, mapping)
        best = float(table.selected(mapping)[0].max())
        return Finding(
            f"{len(cells)} cells ({_list(cells)}); best cell {best:.2f}",
            graded({"some cell has both": bool(cells)}),
            len(table.seeds),
        )

    return check


def order(store: Store, profile: str) -> Finding:
    """Is the mean γ of symmetric cells below that of inferential cells, depth by depth?"""
    table = _table(store, profile)
    cells = {mapping: _cells(table, mapping) for mapping in MAPPINGS}
    parts, words = {}, []
    for depth in table.depths:
        means = {m: [g for d, g, _ in cells[m] if d == depth] for m in MAPPINGS}
        if all(means.values()):
            low, high = (float(np.mean(means[m])) for m in MAPPINGS)
            parts[f"depth {depth}"] = low < high
            words.append(f"depth {depth}: {low:.2f} against {high:.2f}")
    measured = "; ".join(words) or "no depth has both regions"
    return Finding(
        f"mean γ of symmetric against inferential cells: {measured}",
        graded(parts or {"some depth has both regions": False}),
        len(table.seeds),
    )


def flip(store: Store, profile: str) -> Finding:
    table = _table(store, profile)
    flips = analysis.flip_depths(table)
    words = "; ".join(f"depth {d}: symmetric at γ = {low:g}, inferential at γ = {high:g}" for d, low, high in flips)
    return Finding(words or "at no depth", graded({"some depth has both in this order": bool(flips)}), len(table.seeds))


def at(mapping: str, depth: int, gamma: float) -> Check:
    def check(store: Store, profile: str) -> Finding:
        table = _table(store, profile)
        if depth not in table.depths or not np.isclose(table.gammas, gamma).any():
            raise LookupError(f"the {profile} grid has no cell at depth {depth} and gamma {gamma}")
        place = int(np.flatnonzero(table.depths == depth)[0]), int(np.flatnonzero(np.isclose(table.gammas, gamma))[0])
        values = {m: float(table.selected(m)[0][place]) for m in MAPPINGS}
        words = ", ".join(f"{m} {v:.2f} ± {table.spread(m)[place]:.2f}" for m, v in values.items())
        other = next(m for m in MAPPINGS if m != mapping)
        return Finding(
            f"selected accuracy: {words}",
            graded(
                {
                    f"{mapping} at least {REGION:g}": values[mapping] >= REGION,
                    f"{mapping} above {other}": values[mapping] > values[other],
                }
            ),
            len(table.seeds),
        )

    return check


def shadow(store: Store, profile: str) -> Finding:
    table = _table(store, profile)
    test = table.selected("inferential")[1]
    low, deep = float(test[-1, 0]), int(table.depths[-1])
    return Finding(
        f"test accuracy on seen pairs {low:.2f} at depth {deep}, γ = {table.gammas[0]:g}; "
        f"{int((table.plain('test') < SHADOW).sum())} of {test.size} cells have a plain mean below 90 %",
        graded({"test accuracy below 90 %": low < SHADOW}),
        len(table.seeds),
    )


def trend(store: Store, profile: str) -> Finding:
    """Slope of (inferential − symmetric) against γ at each depth, with a bootstrap interval over seeds and rates."""
    table = _table(store, profile)
    if len(table.gammas) < 2:
        raise LookupError("a slope needs results at two values of gamma")
    rng = np.random.default_rng(0)
    parts, words = {}, []
    x = table.gammas - table.gammas.mean()
    for d, depth in enumerate(table.depths):
        lean = (table.inferential - table.symmetric)[d].reshape(len(x), -1)
        draws = rng.integers(0, lean.shape[1], (2000, *lean.shape))
        resampled = np.take_along_axis(lean[None].repeat(2000, 0), draws, 2).mean(2)
        low, high = np.percentile(resampled @ x / (x @ x), [2.5, 97.5])
        parts[f"depth {depth}"] = bool(low > 0)
        words.append(f"depth {depth}: {lean.mean(1) @ x / (x @ x):+.2f} [{low:+.2f}, {high:+.2f}]")
    return Finding("slope per unit of γ, 95 % interval: " + "; ".join(words), graded(parts), len(table.seeds))


def rates(store: Store, profile: str) -> Finding:
    table = _table(store, profile)
    means = [[float(table.inferential[d, ..., r].mean()) for r in range(len(table.rates))] for d in range(len(table.depths))]
    words = "; ".join(f"depth {d}: " + ", ".join(f"{m:.2f}" for m in row) for d, row in zip(table.depths, means, strict=True))
    rises = {f"depth {d}": row[-1] > row[0] for d, row in zip(table.depths, means, strict=True)}
    rates = ", ".join(f"{r:g}" for r in table.rates)
    return Finding(f"mean inferential accuracy at rates {rates}: {words}", graded(rises), len(table.seeds))


def data_generalization(store: Store, profile: str) -> Finding:
    runs = _runs(store, profile)
    good = [run.metrics["test"] >= SHADOW for run in runs]
    return Finding(
        f"{sum(good)} of {len(runs)} runs answer at least 90 % of the seen pairs right at held-out (key, place)",
        graded({"more than half of all runs": bool(np.mean(good) > 0.5)}),
        len({run.spec.seed for run in runs}),
    )


def task_generalization(store: Store, profile: str) -> Finding:
    fitted = [run for run in _runs(store, profile) if run.metrics["test"] >= FITTED]
    counts = {m: sum(run.metrics[m] >= REGION for run in fitted) for m in MAPPINGS}
    return Finding(
        f"of {len(fitted)} runs with test accuracy of at least 99 %, {counts['symmetric']} answer (4, 3) symmetrically, "
        f"{counts['inferential']} inferentially and {len(fitted) - sum(counts.values())} in no single way",
        graded({f"{m} reaches 95 % somewhere": count > 0 for m, count in counts.items()}),
        len({run.spec.seed for run in fitted}),
    )


def third_answer(store: Store, profile: str) -> Finding:
    runs = [run for run in _runs(store, profile) if run.metrics["test"] >= FITTED]
    if not runs:
        return Finding("no run learned the seen pairs", NOT_REPRODUCED)
    neither = [1 - run.metrics["symmetric"] - run.metrics["inferential"] for run in runs]
    share = float(np.mean([n > 0.5 for n in neither]))
    return Finding(
        f"mean share of answers that follow neither mapping {np.mean(neither):.2f}; "
        f"above one half in {share:.0%} of {len(runs)} fitted runs",
        graded({"more than 5 % of the fitted runs": share > 0.05}),
        len({run.spec.seed for run in runs}),
    )


def selection(store: Store, profile: str) -> Finding:
    table = _table(store, profile)
    gains = {m: float((table.selected(m)[0] - table.plain(m)).mean()) for m in MAPPINGS}
    words = ", ".join(f"{m} {v:+.2f}" for m, v in gains.items())
    return Finding(
        f"selected minus plain mean over cells: {words}",
        graded({f"{m} by more than .02": v > 0.02 for m, v in gains.items()}),
        len(table.seeds),
    )
