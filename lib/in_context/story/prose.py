"""Lines, tables and sentences of chapter 17."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.record.store import StoredRun
from lib.in_context import starts
from lib.in_context.experiments import story_specs
from lib.in_context.runs import LEVEL, small, start_attention, steps_to
from lib.in_context.story.metrics import (
    CYCLE,
    FEWEST,
    LEARNED,
    SOME_DELTA,
    Grid,
    at_delta,
    at_most,
    correlation,
    delta_of,
    deltas_of,
    end_attention,
    error_at,
    everyone,
    excesses,
    gammas_of,
    learned,
    remembering_error,
    rising,
    seen_error,
    signed,
    steps,
    unseen_error,
)
from lib.in_context.task import no_match_floor

COPIES = 0.01
"""The share of errors up to which we say that a model copies."""
STILL = 0.02
"""Attention that rises by this in the last quarter of training was still being learned."""
WIDE = "With larger weights in the *readout*, which sums the neurons up,"
"""Of the runs with the large readout, where that has not been said yet."""


def settings_table(profile: str, wide: bool = False) -> list[tuple[str, str]]:
    """The settings of a profile as rows (name, value), for the small readout or for the `wide` one."""
    places = story_specs(profile, wide)
    run = next(iter(places.values()))[0]
    rates = {gamma: runs[0].rate for (_, gamma), runs in places.items()}
    return [
        ("δ", ", ".join(f"{d:g}" for d in dict.fromkeys(d for d, _ in places))),
        ("γ (learning rate)", ", ".join(f"{gamma:g} ({rate:.2g})" for gamma, rate in rates.items())),
        ("neurons, size of a", f"{run.model.neurons}, {run.model.readout:.3g}"),
        ("seeds", str(len(next(iter(places.values()))))),
        ("trained tasks", f"{len(CYCLE.pairs)} of {len(CYCLE.pairs) + len(CYCLE.unseen)}, a cycle"),
        ("steps, batch", f"{run.train.steps:,}, {run.train.batch}"),
    ]


def verdict(found: Grid, wide: Grid) -> str:
    """Whether any start makes the model remember, in two sentences."""
    good = [run for run in everyone(found) if learned(run)]
    if not good:
        return "No run learned its six tasks, so nothing can be said of copying."
    worst = max(unseen_error(run) for run in good)
    copies = (
        f"copies from the prompt in all {len(good)} runs that learned their tasks, and remembers in none"
        if worst <= COPIES
        else "does not always copy from the prompt"
    )
    return (
        f"Started small or large, the model {copies}. "
        f"{_large_words([run for run in everyone(wide) if learned(run)], max(worst, COPIES))}"
    )


def _large_words(there: list[StoredRun], usual: float) -> str:
    """What is different with the large readout, and whether those who err more were done with learning."""
    if not there:
        return f"{WIDE} no run learned its tasks."
    worse = [run for run in there if unseen_error(run) > usual]
    if not worse:
        return f"{WIDE} it is no different."
    trace = f"{WIDE} up to {max(unseen_error(run) for run in worse):.1%} of the answers on other tasks are wrong"
    if all(rising(run) >= STILL for run in worse):
        return f"{trace}, where attention was still rising when training ended."
    return f"{trace}: a trace of something else."


def conclusion(found: Grid, wide: Grid) -> str:
    """What starts do change, and of what this is known."""
    good = [run for run in everyone(found) if learned(run)]
    if not good:
        return "Whether a start decides between copying and remembering was not seen."
    gaps = _behind([excesses(found, d) for d in deltas_of(found)]), _behind([excesses(wide, SOME_DELTA)])
    later = any("are farther behind than" in said for said in gaps)
    delta = {d: np.mean([steps(run) for runs in at_delta(found, d).values() for run in runs]) for d in deltas_of(found)}
    slower = all(delta[a] >= delta[b] for a, b in itertools.pairwise(sorted(delta)))
    how = (
        "A start changes how long learning takes"
        if slower
        else "A start does not change in one direction how long learning takes"
    )
    if later:
        how += " and how far unseen tasks are behind on the way, together with the learning rate"
    table_ = "not which solution is found" if max(map(unseen_error, good)) <= COPIES else "and in some runs what is found"
    return (
        f"{how}; {table_}. That is known of six training tasks of {len(CYCLE.pairs) + len(CYCLE.unseen)}, one layer, and "
        "a start "
        "of attention that is a matcher already, only a weak one."
    )


def starts_table(found: Mapping[str, Mapping[str, np.ndarray]]) -> str:
    """Quantities of the trained models from two starts, beside what the talk prints."""
    talk = {quantity.name: f"{quantity.low:g} to {quantity.high:g}" for quantity in starts.TALK}
    names = list(found)
    rows = []
    for quantity in found[names[0]]:
        cells = [_cell(found[name][quantity]) for name in names]
        rows.append((quantity.replace("W_O W_V", "$W_O W_V$").replace("of W_O,", "of $W_O$,"), talk.get(quantity, ""), *cells))
    return table(("", "talk", *(f"start: {name}" for name in names)), rows)


def _cell(values: np.ndarray) -> str:
    if not np.isfinite(values).all() or not values.any():
        return "none"
    return small(values, 3)


def remembering_text() -> str:
    """What remembering pairs would cost, and what copying does."""
    share, error = remembering_error()
    floor = 2 * no_match_floor(CYCLE.alpha, CYCLE.length)
    return (
        f"Of the {len(CYCLE.unseen)} tasks that are not trained, {share:.0%} are trained ones reversed. Whoever remembers "
        f"pairs, and guesses where there is nothing to remember, errs on **{error:.1%}** of their prompts. Whoever copies errs "
        f"where no example matches, in 1 of {round(1 / floor, -3):,.0f} prompts at most."
    )


def steps_line(found: Grid) -> str:
    runs = everyone(found)
    never = sum(steps_to(run) is None for run in runs)
    there = f"{never} of {len(runs)} runs never" if never else f"all {len(runs)} runs"
    ends = {delta_of(run): start_attention(run)[0] for run in runs}
    before = ", ".join(f"δ = {d:g} {v:.2f}" for d, v in sorted(ends.items()))
    return f"attention before training: {before}; {there} reach a held-out loss of {LEVEL:g}"


def maps_line(found: Grid) -> str:
    say = lambda runs: spread([steps(run) for run in runs], 0)
    return "steps: " + "; ".join(f"δ = {delta:g}, γ = {gamma:g}: {say(runs)}" for (delta, gamma), runs in found.items())


def maps_text(found: Grid) -> str:
    """Whether any start leads to remembering, and what loss on unseen tasks is on the way."""
    good = [run for run in everyone(found) if learned(run)]
    if not good:
        return "No run learned its six tasks."
    errors = [unseen_error(run) for run in good]
    ends = [end_attention(run) for run in good]
    text = "**No model remembers.**" if max(errors) <= COPIES else "Not every model copies."
    text += (
        f" {len(good)} of {len(everyone(found))} runs learned their own tasks. Their errors on unseen ones: {at_most(errors)}; "
        f"their attention ends at {min(ends):.2f} to {max(ends):.2f}."
    )
    means = {(d, g): v.mean() for d in deltas_of(found) for g, v in excesses(found, d).items() if len(v)}
    if not means:
        return text
    most = max(means.values())
    text += (
        f" On the way unseen tasks are behind: where the loss on trained ones passes {LEVEL:g}, that on unseen ones is up to "
        f"{LEVEL + most:.2f}."
    )
    return f"{text} {_behind([excesses(found, d) for d in deltas_of(found)])}".rstrip()


def _behind(groups: Sequence[Mapping[float, np.ndarray]]) -> str:
    """Are, in every group {γ: excesses}, the larger starts of W_O behind the smaller ones, by their means?"""
    means = [{gamma: v.mean() for gamma, v in group.items() if len(v)} for group in groups]
    gammas = sorted({gamma for group in means for gamma in group})
    if len(gammas) < 2:
        return ""
    cut = (len(gammas) - 1) // 2
    large, small = gammas[cut], gammas[cut + 1]
    sides = [([v for g, v in group.items() if g <= large], [v for g, v in group.items() if g >= small]) for group in means]
    if all(min(a) > max(b) for a, b in sides if a and b):
        return f"Starts of $W_O$ with γ ≤ {large:g} are farther behind than those with γ ≥ {small:g}."
    return "Larger starts of $W_O$ are not farther behind throughout."


def along_line(groups: dict[str, list[StoredRun]]) -> str:
    say = lambda runs, error: at_most([error(run) for run in runs])
    said = {name: (say(runs, seen_error), say(runs, unseen_error)) for name, runs in groups.items()}
    return "wrong at the end: " + "; ".join(f"{name}: on trained tasks {a}, on unseen {b}" for name, (a, b) in said.items())


def matched_text(grids: Mapping[str, Grid], delta: float) -> str:
    """The comparison at equal progress, {readout: runs}: held-out losses where the trained loss passes LEVEL; in words for the
    last of them, as figures have the others."""
    found = {name: excesses(grid, delta) for name, grid in grids.items()}
    if not any(found.values()):
        return f"No run starts from δ = {delta:g}, so that there is nothing to compare at equal progress."
    rates = {(name, runs[0].spec.gamma): runs[0].spec.rate for name, grid in grids.items() for runs in grid.values()}
    rows = [
        (name, f"{gamma:g}", f"{rates[name, gamma]:.2g}", spread(values, 3) if len(values) else "not seen")
        for name, groups in found.items()
        for gamma, values in groups.items()
    ]
    name, text = list(found)[-1], _behind([list(found.values())[-1]])
    return (
        f"So compare at equal progress: where the loss on trained tasks passes {LEVEL:g}, how much larger is the loss on "
        f"unseen tasks? At δ = {delta:g}:\n\n"
        + table(("readout", "γ", "learning rate", "loss on unseen tasks less that on trained ones"), rows)
        + (f"\n\nWith the {name} readout: {text[0].lower()}{text[1:]}" if text else "")
    )


def copying_text(found: Grid, attention: float = 0.75) -> str:
    """The correlation of copying with errors over all runs that learned, and errors on the way at equal attention, by γ."""
    good, rows = [run for run in everyone(found) if learned(run)], []
    if len(good) < FEWEST:
        return f"Only {len(good)} runs learned their tasks, too few for a correlation."
    for gamma in gammas_of(found):
        passed = np.array([error_at(run, attention) for run in everyone(found) if run.spec.gamma == gamma])
        passed = passed[np.isfinite(passed)]
        rows.append((f"{gamma:g}", len(passed), spread(100 * passed, 2) if len(passed) else "–"))
    zero = sum(unseen_error(run) == 0 for run in good)
    return (
        f"Over the {len(good)} runs that learned their tasks (at most {LEARNED:.0%} wrong) the rank correlation of final "
        f"attention with errors on unseen tasks is {signed(correlation(good))}; {zero} of them make no such error. On the way, "
        f"at the first evaluation with an attention of {attention:g} or more, the starts of $W_O$ compare as follows. Runs "
        "that have this attention from the beginning, or never, are left out.\n\n"
        + table(("γ", "runs", "% wrong on unseen tasks"), rows)
    )


def copying_line(found: Grid) -> str:
    good = [run for run in everyone(found) if learned(run)]
    return f"{len(good)} of {len(everyone(found))} runs learned their tasks; rank correlation {signed(correlation(good))}"
