"""Claims on the phase diagram (chapter 2): two layers at full length first, then the grid at fast settings.

The criteria on two layers were fixed before any run of composition-phase, version 2, had ended; that on three layers before any
of its runs of three layers had, and that on the best of several learning rates before any run of two layers at a second rate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lib.composition.diagram import HEADLINE, RATE, WIDTH, deeper, gain, gamma_of_gain, other_rates, two_layers
from lib.composition.experiments import FAST, GRIDS
from lib.composition.phase_diagram import metrics
from lib.composition.phase_diagram.metrics import HALF, PhaseTable, fast_runs
from lib.composition.runs import FITTED, MAPPINGS, REGION, SHADOW, lean, learned, learned_among, learned_at
from lib.core.read.claim import NOT_REPRODUCED, Claim, Finding, graded
from lib.core.read.statistics import interval
from lib.core.read.words import number_of
from lib.core.record.store import Store, StoredRun, load

# --- Two layers ---


def _two_layers(store: Store, profile: str) -> list[StoredRun]:
    if not HEADLINE.specs(profile):
        raise LookupError(f"the profile {profile!r} has no diagram of two layers")
    return two_layers(store, profile)


def _seeds(runs: list[StoredRun]) -> int:
    return len({run.spec.seed for run in runs})


def _flip_of_two_layers(store: Store, profile: str) -> Finding:
    runs = _two_layers(store, profile)
    found = metrics.ends(runs)
    words = "; ".join(
        f"{m} at most {found.mean[m][m]:.2f} (γ = {found.gamma[m]:g}; the other answer {found.mean[m][other]:.2f} there)"
        for m, other in (MAPPINGS, MAPPINGS[::-1])
    )
    parts: dict[str, bool] = {f"{m} share at least {REGION:g} at some γ": found.mean[m][m] >= REGION for m in MAPPINGS}
    parts |= {"each ahead by half of all answers there": all(lead >= HALF for lead in found.lead.values())}
    given = {"the symmetric one at the larger weights": found.in_order}
    there = [run for run in runs if run.spec.gamma in found.gamma.values()]
    words += f"; {len(learned_among(there))} of {number_of(len(there))} there have learned their training rows"
    return Finding(words, graded(parts, given), _seeds(runs))


def _flip_of_best_rates(store: Store, profile: str) -> Finding:
    by_rate = {RATE: _two_layers(store, profile)} | other_rates(store, profile)
    runs = metrics.of_all_rates(by_rate)
    if len(by_rate) < 2 or len({run.spec.gamma for run in runs}) < 2:
        raise LookupError("two values of gamma with every seed are not stored at two learning rates")
    found = metrics.selected_ends(runs)
    words = "; ".join(
        f"{m} at most {found.share[m]:.2f} (γ = {found.gamma[m]:g}; ahead by {found.lead[m]:z.2f} there without selection)"
        for m in MAPPINGS
    )
    gammas = sorted({run.spec.gamma for run in runs})
    words += f"; {len(by_rate)} rates, γ = {', '.join(f'{g:g}' for g in gammas)}"
    parts = {f"{m} share at least {REGION:g} at some γ": found.share[m] >= REGION for m in MAPPINGS} | {
        "each ahead by half of all answers there without selection": all(lead >= HALF for lead in found.lead.values()),
    }
    given = {"the symmetric one at the larger weights": found.in_order}
    return Finding(words, graded(parts, given), _seeds(runs))


def _kind(store: Store, profile: str) -> Finding:
    runs = _two_layers(store, profile)
    gammas = sorted({run.spec.gamma for run in runs})
    kinds = {g: [metrics.kind(run) for run in runs if run.spec.gamma == g] for g in gammas}
    pure = {m: [g for g in gammas if set(kinds[g]) == {m}] for m in MAPPINGS}
    listed = {m: ", ".join(f"{g:g}" for g in pure[m]) for m in MAPPINGS}
    done = {m: sum(learned(r) for r in runs if r.spec.gamma in pure[m]) for m in MAPPINGS}
    of = {m: sum(r.spec.gamma in pure[m] for r in runs) for m in MAPPINGS}
    words = "; ".join(
        f"every run {m} at γ = {listed[m]} ({done[m]} of these {of[m]} have learned their training rows)"
        if pure[m]
        else f"{m} nowhere"
        for m in MAPPINGS
    )
    ordered = all(pure.values()) and max(pure["symmetric"]) < min(pure["inferential"])
    parts = {f"some γ at which every run is {m}": bool(pure[m]) for m in MAPPINGS} | {
        "symmetric only at larger weights": ordered,
        "most runs at these γ have learned": all(pure.values()) and all(2 * done[m] > of[m] for m in MAPPINGS),
    }
    return Finding(words, graded(parts), _seeds(runs))


def _trend_of_two_layers(store: Store, profile: str) -> Finding:
    return _trend_over(_two_layers(store, profile))


def _trend_of_three_layers(store: Store, profile: str) -> Finding:
    if not (runs := deeper(store, profile).get(3, [])):
        raise LookupError("a whole row of three layers is not stored for any seed")
    return _trend_over(runs)


def _trend_over(runs: list[StoredRun]) -> Finding:
    """Slope of inferential − symmetric against γ over runs, and its 95 % interval by resampling runs."""
    done = learned_among(runs)
    if (every := metrics.lean_slope(runs)) is None:
        raise LookupError("a slope needs results at two values of gamma")
    alone = metrics.lean_slope(done)
    words = lambda trend: f"{trend[0]:+.2f} [{trend[1]:+.2f}, {trend[2]:+.2f}]"
    return Finding(
        f"slope {words(every)} per unit of γ, {len(runs)} runs; "
        f"{words(alone) if alone else 'none'} over the {len(done)} that have learned their training rows",
        graded(
            {
                "interval above 0": every[1] > 0,
                "interval above 0 over the runs that have learned": alone is not None and alone[1] > 0,
            }
        ),
        _seeds(runs),
    )


def _steps(store: Store, profile: str) -> Finding:
    """Fig. 5c at the gain of the paper's γ = .8 and smaller weights, against the largest weights here."""
    runs = _two_layers(store, profile)
    width = runs[0].spec.model.d_model
    small = gamma_of_gain(gain(0.8, GRIDS["paper"].d_model), width)
    gammas = sorted({run.spec.gamma for run in runs})
    at = lambda chosen: float(np.mean([metrics.step_shares(r)[2:4].sum() for r in runs if r.spec.gamma in chosen]))
    below = [g for g in gammas if g >= small - 0.03]
    if not below:
        raise LookupError("no run has the gain of the paper's γ = .8")
    share, other, there = at(below), at(gammas[:1]), [run for run in runs if run.spec.gamma in below]
    done = learned_among(there)
    return Finding(
        f"nearest neighbour 3 or 4 away: {share:.2f} of the numbers at γ ≥ {below[0]:g}, where {len(done)} of "
        f"{number_of(len(there))} have learned their training rows, {other:.2f} at γ = {gammas[0]:g}",
        graded(
            {"at least half at small weights": share >= HALF, "more than at the largest weights": share > other},
            {"most runs there have learned": 2 * len(done) > len(there)},
        ),
        _seeds(runs),
    )


def _fast(store: Store, profile: str) -> Finding:
    runs = [run for run in load(FAST.specs(profile), store) if run.spec.model.depth == 2]
    share = lambda some: float(np.mean([lean(run) < 0 for run in some])) if some else 0.0
    first, others = metrics.by_speed(runs)
    late = [run for run in others if np.isfinite(learned_at(run))]
    fast, slow, learned_late = map(share, (first, others, late))
    return Finding(
        f"of the fastest third of {len(runs)} two-layer runs {fast:.0%} lean to the symmetric answer, of the others "
        f"{slow:.0%}, of the {len(late)} of these that do learn {learned_late:.0%}",
        graded(
            {
                "more than of the others by at least a fifth": fast - slow >= 0.2,
                "more than of the others that learn by at least a fifth": fast - learned_late >= 0.2,
            }
        ),
        _seeds(runs),
    )


# --- The grid over γ and depth, fast settings ---

Check = Callable[[Store, str], Finding]


def _table(store: Store, profile: str) -> PhaseTable:
    return metrics.phase_table(fast_runs(store, profile))


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


def _region(mapping: str) -> Check:
    def check(store: Store, profile: str) -> Finding:
        table = _table(store, profile)
        cells = _cells(table, mapping)
        best = float(table.selected(mapping)[0].max())
        return Finding(
            f"{number_of(len(cells), 'cell')} ({_list(cells)}); best cell {best:.2f}",
            graded({"some cell has both": bool(cells), "at least two cells": len(cells) >= 2}),
            len(table.seeds),
        )

    return check


def _order(store: Store, profile: str) -> Finding:
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


def _flip(store: Store, profile: str) -> Finding:
    table = _table(store, profile)
    flips = metrics.flip_depths(table)
    words = "; ".join(f"depth {d}: symmetric at γ = {low:g}, inferential at γ = {high:g}" for d, low, high in flips)
    return Finding(words or "at no depth", graded({"some depth has both in this order": bool(flips)}), len(table.seeds))


def _at(mapping: str, depth: int, gamma: float) -> Check:
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
                    f"{mapping} ahead by half of all answers": values[mapping] - values[other] >= HALF,
                }
            ),
            len(table.seeds),
        )

    return check


def _shadow(store: Store, profile: str) -> Finding:
    table = _table(store, profile)
    test = table.selected("inferential")[1]
    low, deep = float(test[-1, 0]), int(table.depths[-1])
    return Finding(
        f"test accuracy on seen pairs {low:.2f} at depth {deep}, γ = {table.gammas[0]:g}; "
        f"{int((table.plain('test') < SHADOW).sum())} of {test.size} cells have a plain mean below 90 %",
        graded({"test accuracy below 90 %": low < SHADOW}),
        len(table.seeds),
    )


def _trend(store: Store, profile: str) -> Finding:
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
        low, high = interval(resampled @ x / (x @ x))
        parts[f"depth {depth}"] = bool(low > 0)
        words.append(f"depth {depth}: {lean.mean(1) @ x / (x @ x):+.2f} [{low:+.2f}, {high:+.2f}]")
    return Finding("slope per unit of γ, 95 % interval: " + "; ".join(words), graded(parts), len(table.seeds))


def _rates(store: Store, profile: str) -> Finding:
    table = _table(store, profile)
    means = [[float(table.inferential[d, ..., r].mean()) for r in range(len(table.rates))] for d in range(len(table.depths))]
    words = "; ".join(f"depth {d}: " + ", ".join(f"{m:.2f}" for m in row) for d, row in zip(table.depths, means, strict=True))
    rises = {f"depth {d}": row[-1] > row[0] for d, row in zip(table.depths, means, strict=True)}
    _rates = ", ".join(f"{r:g}" for r in table.rates)
    return Finding(f"mean inferential accuracy at learning rates {_rates}: {words}", graded(rises), len(table.seeds))


def _third_answer(store: Store, profile: str) -> Finding:
    runs = [run for run in fast_runs(store, profile) if run.metrics["test"] >= FITTED]
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


def _selection(store: Store, profile: str) -> Finding:
    table = _table(store, profile)
    gains = {m: float((table.selected(m)[0] - table.plain(m)).mean()) for m in MAPPINGS}
    words = ", ".join(f"{m} {v:+.2f}" for m, v in gains.items())
    return Finding(
        f"selected minus plain mean over cells: {words}",
        graded({f"{m} by more than .02": v > 0.02 for m, v in gains.items()}),
        len(table.seeds),
    )


CHAPTER_02 = (
    Claim(
        "two-layers-flip",
        "zhang2024",
        "Fig 2a, b",
        "Full-length runs: with two layers, γ alone turns the symmetric answer into the inferential one.",
        "near 100 % on key − 6 at γ = .5, near 100 % on key − 10 at γ = .8",
        f"over γ at width {WIDTH}: each answer's mean share at least {REGION:g} at some γ and ahead by half of all answers "
        "there; the symmetric one at larger weights, which alone earns nothing (the last added after seeing results)",
        _flip_of_two_layers,
    ),
    Claim(
        "two-layers-best-rate",
        "zhang2024",
        "Fig 2a, b",
        "Full-length runs, best learning rate for each answer: γ alone turns the symmetric answer into the inferential one.",
        "near 100 % on key − 6 at γ = .5, near 100 % on key − 10 at γ = .8, by the best of nine learning rates",
        "two layers, over the γ that have every seed at all stored learning rates: by the paper's selection each answer's "
        f"share at least {REGION:g} at some γ; there it is ahead by half of all answers in the plain mean over rates and "
        "seeds; the symmetric one at larger weights, which alone earns nothing (the last added after seeing results)",
        _flip_of_best_rates,
    ),
    Claim(
        "two-layers-trend",
        "zhang2024",
        "Fig 2a, b",
        "Full-length runs: with two layers, the smaller the initialization, the more a model leans to the inferential answer.",
        "seen in the diagram",
        "slope of inferential − symmetric share against γ over runs, 95 % interval above 0, over all runs and over those that "
        "have learned their training rows (the latter added after seeing results)",
        _trend_of_two_layers,
    ),
    Claim(
        "three-layers-trend",
        "zhang2024",
        "Fig 2a, b",
        "Full-length runs: with three layers too, the smaller the initialization, the more a model leans to the inferential "
        "answer.",
        "seen in the diagram",
        "the same slope over the runs of three layers, 95 % interval above 0, over all runs and over those that have learned "
        "their training rows",
        _trend_of_three_layers,
    ),
    Claim(
        "two-layers-kind",
        "ours",
        "Fig 2a, b",
        "Read by the nearer of the two answers, every run is symmetric at some γ and every run inferential at a larger one.",
        "not asked; this reading was added after seeing earlier results",
        "some γ at which all seeds lie nearer to −6, some larger γ at which all lie nearer to −10, never the other way round; "
        "most runs there have learned their training rows (the last added after seeing results)",
        _kind,
    ),
    Claim(
        "neighbour-steps",
        "zhang2024",
        "Fig 5c",
        "At small initialization neighbours in the embedding differ by 3 or 4.",
        "arithmetic steps of 3 and 4 at γ = .8",
        "at γ of the same gain and above, at least half of the numbers have their nearest neighbour 3 or 4 away, and more than "
        "at the largest weights; most runs there have learned their training rows (the last added after seeing results)",
        _steps,
    ),
    Claim(
        "fast-symmetric",
        "ours",
        "Fig 2a, b",
        "Settings at which two layers learn fast are settings at which they answer symmetrically.",
        "not asked",
        "of the fastest third of the two-layer runs at fast settings, the share that leans to the symmetric answer is larger "
        "by a fifth at least than that of the others, and than that of the others that learn at all (the latter added after "
        "seeing results)",
        _fast,
    ),
    Claim(
        "phase-symmetric",
        "zhang2024",
        "Fig 2a",
        "There is a region of γ and depth where the unseen pair is answered symmetrically.",
        "at large initialization, near 100 %",
        f"fast settings: some cell with selected accuracy on key − 6 of at least {REGION:g} and seen pairs above 90 %, and at "
        "least two (the last added after seeing results)",
        _region("symmetric"),
    ),
    Claim(
        "phase-inferential",
        "zhang2024",
        "Fig 2b",
        "There is a region of γ and depth where the unseen pair is answered inferentially.",
        "at small initialization, near 100 %",
        f"fast settings: some cell with selected accuracy on key − 10 of at least {REGION:g} and seen pairs above 90 %, and "
        "at least two (the last added after seeing results)",
        _region("inferential"),
    ),
    Claim(
        "phase-order",
        "zhang2024",
        "Fig 2a, b",
        "The symmetric region lies at larger initialization (smaller γ) than the inferential one.",
        "large initialization: symmetric; small: inferential",
        "fast settings: at every depth that has both regions, the mean γ of symmetric cells is smaller",
        _order,
    ),
    Claim(
        "phase-flip",
        "zhang2024",
        "Fig 2a, b",
        "Fast diagram: γ alone turns the solution from symmetric to inferential at fixed depth.",
        "at depth 2, between γ = .5 and .8",
        f"fast settings: some depth has both mappings at {REGION:g} or more, symmetric at the smaller γ",
        _flip,
    ),
    Claim(
        "phase-trend",
        "zhang2024",
        "Fig 2a, b",
        "Fast diagram: the smaller the initialization, the more a model leans to the inferential answer.",
        "seen in the diagram",
        "fast settings: the slope of inferential − symmetric against γ has a 95 % interval above 0 at each depth",
        _trend,
    ),
    Claim(
        "phase-depth2-gamma05",
        "zhang2024",
        "Fig 2a",
        "Two layers at γ = .5 are symmetric.",
        "near 100 % on key − 6",
        f"fast settings: selected symmetric accuracy at least {REGION:g}, and ahead of the inferential one by half of all "
        "answers (the latter made stricter after seeing results)",
        _at("symmetric", 2, 0.5),
    ),
    Claim(
        "phase-depth2-gamma08",
        "zhang2024",
        "Fig 2b",
        "Two layers at γ = .8 are inferential.",
        "near 100 % on key − 10",
        f"fast settings: selected inferential accuracy at least {REGION:g}, and ahead of the symmetric one by half of all "
        "answers (the latter made stricter after seeing results)",
        _at("inferential", 2, 0.8),
    ),
    Claim(
        "phase-shadow",
        "zhang2024",
        "Fig 2a, b",
        "Very large initialization in deep models does not even fit the seen pairs.",
        "shadow: test accuracy below 90 %",
        "fast settings: at the largest depth and smallest γ of the grid, test accuracy on seen pairs is below 90 %",
        _shadow,
    ),
    Claim(
        "phase-rate",
        "zhang2024",
        "after Fig 14",
        "A larger learning rate raises inferential accuracy.",
        "at depth 3, with (3, 4) and (4, 3) both unseen; here (3, 4) is seen",
        "fast settings: mean inferential share is higher at the largest learning rate than at the smallest, at each depth",
        _rates,
    ),
    Claim(
        "phase-third",
        "ours",
        "Fig 2a, b",
        "Models that learn the seen pairs also give a third kind of answer, following neither mapping.",
        "not discussed",
        "fast settings: in more than 5 % of the fitted runs, more than half of the answers follow neither",
        _third_answer,
    ),
    Claim(
        "phase-selection",
        "ours",
        "Fig 2a, b",
        "Choosing the best learning rate for each mapping makes both regions look larger than a typical run.",
        "not discussed",
        "fast settings: selected accuracy exceeds the plain mean by more than .02 for both mappings",
        _selection,
    ),
)
