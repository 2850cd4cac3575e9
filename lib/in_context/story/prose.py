"""Lines, tables and sentences of chapter 17."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.record.store import StoredRun
from lib.in_context import starts
from lib.in_context.experiments import story_specs
from lib.in_context.runs import LEVEL, start_attention, steps_to
from lib.in_context.story.numbers import (
    CYCLE,
    FEWEST,
    LEARNED,
    Grid,
    correlation,
    delta_of,
    end_attention,
    error_at,
    everyone,
    excess,
    learned,
    remembering_error,
    seen_error,
    unseen_error,
)
from lib.in_context.task import no_match_floor


def _wrong(share: float) -> str:
    return f"at most {share:.1%}" if share >= 0.0005 else "none"


COPIES = 0.01
"""The share of errors up to which we say that a model copies."""


def settings_table(profile: str, wide: bool = False) -> list[tuple[str, str]]:
    """The settings of a profile as rows (name, value), for the small readout or for the `wide` one."""
    places = story_specs(profile, wide)
    run = next(iter(places.values()))[0]
    rates = {gamma: runs[0].rate for (_, gamma), runs in places.items()}
    return [
        ("δ", ", ".join(f"{d:g}" for d in dict.fromkeys(d for d, _ in places))),
        ("γ (rate)", ", ".join(f"{gamma:g} ({rate:.2g})" for gamma, rate in rates.items())),
        ("neurons, size of a", f"{run.model.neurons}, {run.model.readout:.3g}"),
        ("seeds", str(len(next(iter(places.values()))))),
        ("trained tasks", f"{len(CYCLE.pairs)} of {len(CYCLE.pairs) + len(CYCLE.unseen)}, a cycle"),
        ("steps, batch", f"{run.train.steps:,}, {run.train.batch}"),
    ]


def verdict(found: Grid, wide: Grid) -> str:
    """What starts change about copying, in two sentences."""
    good = [run for run in everyone(found) if learned(run)]
    if not good:
        return "No run learned its six tasks, so nothing can be said of copying."
    worst = max(unseen_error(run) for run in good)
    copies = f"copies in all {len(good)} runs that learned their tasks" if worst <= COPIES else "does not always copy"
    first = (
        f"Started small or large, the model {copies}: {_wrong(worst)} of its answers on other tasks are wrong, where "
        f"remembering pairs would give {remembering_error()[1]:.0%}."
    )
    there = [run for run in everyone(wide) if learned(run)]
    trace = max((unseen_error(run) for run in there), default=0.0)
    second = (
        f"Only where the weights that sum the neurons up are large, too, is there a trace of something else at the end of "
        f"training, {trace:.1%} wrong in the worst run."
        if trace > max(worst, COPIES)
        else "With a large readout it is no different."
        if there
        else "With a large readout no run learned its tasks."
    )
    return f"{first} {second}"


def starts_table(found: Mapping[str, Mapping[str, np.ndarray]]) -> str:
    """Quantities of the trained models from two starts, beside what the talk prints."""
    talk = {quantity.name: f"{quantity.low:g} to {quantity.high:g}" for quantity in starts.TALK}
    names = list(found)
    rows = []
    for quantity in found[names[0]]:
        cells = [spread(v, 3) if np.isfinite(v := found[name][quantity]).all() else "none" for name in names]
        rows.append((quantity, talk.get(quantity, ""), *cells))
    return table(("", "talk", *(f"start: {name}" for name in names)), rows)


def remembering_text(found: Grid) -> str:
    """What remembering pairs would cost, what copying does, and what the runs do."""
    share, error = remembering_error()
    floor = 2 * no_match_floor(CYCLE.alpha, CYCLE.length)
    wrong = [unseen_error(run) for run in everyone(found) if learned(run)]
    worst = "No run has learned its own tasks."
    if wrong:
        worst = f"The largest error on unseen tasks of any run that learned its own is **{max(wrong):.3f}**."
    return (
        f"Of the {len(CYCLE.unseen)} tasks that are not trained, {share:.0%} are trained ones reversed. Whoever remembers "
        f"pairs, and guesses where there is nothing to remember, errs on **{error:.3f}** of their prompts. Whoever copies errs "
        f"where no example matches, on {floor:.1g} at most. {worst}"
    )


def steps_line(found: Grid) -> str:
    runs = everyone(found)
    never = sum(steps_to(run) is None for run in runs)
    ends = {delta_of(run): start_attention(run)[0] for run in runs}
    before = ", ".join(f"δ = {d:g} {v:.2f}" for d, v in sorted(ends.items()))
    return f"attention before training: {before}; {never} of {len(runs)} runs never reach a held-out loss of {LEVEL:g}"


def maps_line(found: Grid) -> str:
    parts = []
    for (delta, gamma), runs in found.items():
        values = spread([end_attention(r) for r in runs]), spread([unseen_error(r) for r in runs], 3)
        parts.append(f"δ = {delta:g}, γ = {gamma:g}: {values[0]}, {values[1]}")
    return "attention at the end, wrong on unseen tasks; " + "; ".join(parts)


def along_line(groups: dict[str, list[StoredRun]]) -> str:
    parts = [
        f"{name}: wrong on trained {spread([seen_error(r) for r in runs], 4)} and unseen tasks "
        f"{spread([unseen_error(r) for r in runs], 4)}"
        for name, runs in groups.items()
    ]
    return "at the end, " + "; ".join(parts)


def matched_text(found: Grid, delta: float) -> str:
    """The comparison at equal progress: held-out losses where the trained loss passes LEVEL."""
    parts = []
    for (d, gamma), runs in found.items():
        if d == delta:
            values = [v for v in map(excess, runs) if np.isfinite(v)]
            parts.append(f"γ = {gamma:g}: {spread(values, 3) if values else 'not seen'}")
    if not parts:
        return f"No run starts from δ = {delta:g}, so that there is nothing to compare at equal progress."
    return (
        f"So compare at equal progress: where the loss on trained tasks passes {LEVEL:g}, how much larger is the loss on "
        f"unseen tasks? At δ = {delta:g}, {'; '.join(parts)}."
    )


def copying_text(found: Grid, attention: float = 0.75) -> str:
    """The correlation of copying with errors over all runs that learned, and errors on the way at equal attention, by γ."""
    good, parts = [run for run in everyone(found) if learned(run)], []
    if len(good) < FEWEST:
        return f"Only {len(good)} runs learned their tasks, too few for a correlation."
    for gamma in sorted({run.spec.gamma for run in good}):
        passed = np.array([error_at(run, attention) for run in everyone(found) if run.spec.gamma == gamma])
        passed = passed[np.isfinite(passed)]
        parts.append(f"γ = {gamma:g} {spread(passed, 4) if len(passed) else '–'} ({len(passed)} runs)")
    zero = sum(unseen_error(run) == 0 for run in good)
    return (
        f"Over the {len(good)} runs that learned their tasks (at most {LEARNED:.0%} wrong) the rank correlation of final "
        f"attention with errors on unseen tasks is {correlation(good):+.2f}; {zero} of them make no such error. On the way, "
        f"at the first evaluation with an attention of {attention:g} or more, unseen tasks are wrong for {'; '.join(parts)}."
    )


def copying_line(found: Grid) -> str:
    good = [run for run in everyone(found) if learned(run)]
    return f"{len(good)} of {len(everyone(found))} runs learned their tasks; rank correlation {correlation(good):+.2f}"
