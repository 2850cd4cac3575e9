"""Claims on rate, decay and data (chapter 6).

The criteria on few numbers were fixed before any run of composition-keys and of composition-few had ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lib.composition.condensation.metrics import measures_of
from lib.composition.phase_diagram.metrics import HALF, ends, lead_interval
from lib.composition.rate_decay_data.metrics import by_cell, harder, lean_by_numbers, learning_steps, with_fewest
from lib.composition.runs import SHADOW, learned_among
from lib.composition.trends import BY_DECAY, BY_GAMMA, BY_RATE, GOES_WITH, Value, levels, slope
from lib.composition.variations import DATA, DECAY, FEW, KEYS, OPTIMIZATION
from lib.core.read.claim import Claim, Measured, Part, above_zero, by_interval, in_settings, missed
from lib.core.read.measures import seeds
from lib.core.read.statistics import SHARE, difference_interval, mean_interval, rank_trend
from lib.core.record.store import Store, StoredRun, load
from lib.core.sweep.experiment import Experiment

CORNER = 0.5
"""The inferential share that the corner of small weights and large decay has at least, and the opposite one has not."""
LONGER = 0.5
"""Rank correlation of the groups with the steps, above which the data take longer to learn."""
_CORRELATION: dict[str, Any] = {"little": GOES_WITH, "what": "correlation", "form": "{:+.2f}"}
"""How a rank correlation is judged whose interval has to lie above 0."""


def _rises(experiment: Experiment, value: Value, name: str):  # noqa: ANN202
    """A check that the inferential share rises with a setting over runs that learned the seen pairs."""

    def check(store: Store, profile: str) -> Measured:
        runs = learned_among(load(experiment.specs(profile), store))
        if len(runs) < 3:
            raise LookupError("fewer than three runs learned the seen pairs")
        trend = slope(runs, value, "inferential")
        part = above_zero(f"{name} and inferential share, {len(runs)} runs", trend, **_CORRELATION)
        return Measured((part,), seeds(runs))

    return check


def _small_and_decayed(store: Store, profile: str) -> Measured:
    """Follow-up: is the corner of small initialization and large decay inferential, and the opposite one not?"""
    runs = load(DECAY.specs(profile), store)
    at = by_cell(runs, BY_GAMMA, BY_DECAY)
    gammas, decays = levels(runs, BY_GAMMA), levels(runs, BY_DECAY)
    values = lambda metric, *cell: [run.metrics[metric] for run in at[cell]]
    possible = [d for d in decays if np.mean(values("test", gammas[-1], d)) >= SHADOW]
    if not possible:
        raise LookupError("the smallest initialization does not learn the seen pairs at any decay")
    there = values("inferential", gammas[-1], possible[-1])
    against = values("inferential", gammas[0], decays[0])
    corner, opposite = mean_interval(there, SHARE), mean_interval(against, SHARE)
    deviation = float(np.std(there, ddof=1)) if len(there) > 1 else 0.0
    small = f"γ = {gammas[-1]:g}, decay {possible[-1]:g}, the largest at which the seen pairs are learned"
    gap, low, high = difference_interval(there, against)
    words, power = "the former above the latter by more than its own deviation, by", f"difference {gap:.2f}"
    power += f", 95 % interval {low:.2f} to {high:.2f}" * bool(np.isfinite(low))
    failure = missed((low, high), ">", 0.0, neutral=0.0)
    parts = (
        by_interval(f"inferential share at {small}", corner, ">=", CORNER, group="corners"),
        by_interval(f"inferential share at γ = {gammas[0]:g}, decay {decays[0]:g}", opposite, "<", CORNER, group="corners"),
        Part(words, gap - deviation, ">", 0.0, failure=failure, power=power),
    )
    return Measured(parts, seeds(runs))


def _turns_at(row: Sequence[StoredRun]) -> Measured:
    """Is each answer ahead by half of all answers where it is most frequent, the symmetric one at larger weights?"""
    found = ends(row)
    order = found.gamma["inferential"] - found.gamma["symmetric"]
    words = lambda m: f"lead of the {m} answer where it is most frequent, γ = {found.gamma[m]:g}"
    lead = lambda m, group: by_interval(words(m), lead_interval(row, m), ">=", HALF, neutral=0.0, group=group)
    beyond = Part("γ of the inferential less that of the symmetric end", order, ">", 0.0, group="beyond")
    parts = lead("symmetric", ""), lead("inferential", "beyond"), beyond
    return Measured(parts, seeds(row))


def _turns(store: Store, profile: str) -> Measured:
    """Ours: at the fewest numbers of the grid; and with as many, in models twice as wide."""
    rows = with_fewest(load(KEYS.specs(profile), store)), load(FEW.specs(profile), store)
    return in_settings({f"width {row[0].spec.model.d_model}": _turns_at(row) for row in rows})


def _boundary_moves(store: Store, profile: str) -> Measured:
    """Ours: do runs lean the more to the inferential answer, the fewer numbers there are?"""
    runs = learned_among(load(KEYS.specs(profile), store))
    if len(runs) < 3:
        raise LookupError("fewer than three runs learned what they were taught")
    value, low, high = lean_by_numbers(runs)
    fewer = -value, -high, -low
    words = f"fewer numbers and inferential less symmetric share, {len(runs)} runs"
    return Measured((above_zero(words, fewer, **_CORRELATION),), seeds(runs))


def _harder(store: Store, profile: str) -> Measured:
    steps = learning_steps(load(DATA.specs(profile), store))
    words = "rank correlation of groups and steps, γ = {:g}"
    part = lambda gamma, values: by_interval(words.format(gamma), harder(values), ">", LONGER, neutral=0.0)
    return Measured(tuple(part(*found) for found in steps.items()), next(iter(steps.values())).shape[1])


def _goes_with_both(name: str):  # noqa: ANN202
    """A check that a measure of the weights goes with the rate and with the decay (Figs. 15 and 16), over all runs whose
    weights are stored, whether they learned the seen pairs or not: the grids show all."""

    def check(store: Store, profile: str) -> Measured:
        runs = [r for r in load(OPTIMIZATION.specs(profile), store) if r.has_weights]
        if len(runs) < 3:
            raise LookupError(f"fewer than three stored runs of {OPTIMIZATION.name!r} have weights")
        values = np.array([measures_of(r)[name] for r in runs])
        settings = {"learning rate": BY_RATE, "decay": BY_DECAY}
        found = {setting: rank_trend([value(r) for r in runs], values) for setting, value in settings.items()}
        named = lambda setting: f"rank correlation with {setting}, {len(runs)} runs"
        parts = [by_interval(named(setting), trend, ">", GOES_WITH, neutral=0.0) for setting, trend in found.items()]
        return Measured(tuple(parts), seeds(runs))

    return check


_BOTH = f"rank correlation over runs with weights: above {GOES_WITH:g} with learning rate, above {GOES_WITH:g} with decay"
_SEEN = "a grid of one model a cell"
_FIG14 = "mean of 9 runs"
CLAIMS = (
    Claim(
        "rate-raises",
        "zhang2024",
        "Fig 14",
        "A larger learning rate raises the inferential accuracy where (3, 4) and (4, 3) are both unseen.",
        _FIG14,
        "rank correlation over runs that learned the seen pairs, interval above 0",
        _rises(OPTIMIZATION, BY_RATE, "learning rate"),
        question="simple",
        figure="6.1",
    ),
    Claim(
        "decay-raises",
        "zhang2024",
        "Fig 14",
        "A larger weight decay raises the inferential accuracy where (3, 4) and (4, 3) are both unseen.",
        _FIG14,
        "rank correlation over runs that learned the seen pairs, interval above 0",
        _rises(OPTIMIZATION, BY_DECAY, "decay"),
        question="simple",
        figure="6.1",
    ),
    Claim(
        "rate-decay-condense",
        "zhang2024",
        "Fig 15",
        "A larger learning rate and a larger weight decay condense the first query matrix.",
        _SEEN,
        _BOTH,
        _goes_with_both("condensation of W_Q(1)"),
        question="simple",
        figure="6.5",
    ),
    Claim(
        "rate-decay-order",
        "zhang2024",
        "Fig 16",
        "A larger learning rate and a larger weight decay order the embedding of numbers.",
        _SEEN,
        _BOTH,
        _goes_with_both("order of the embedding"),
        question="simple",
        figure="6.6",
    ),
    Claim(
        "decay-phases",
        "zhang2025",
        "γ and weight decay",
        "Small initialization with large decay gives the inferential answer; large initialization with small decay does not.",
        "phases over γ and decay",
        f"seen pairs learned; share at that corner at least {CORNER:g}, above the opposite one by more than its own deviation, "
        f"and the opposite one below {CORNER:g}",
        _small_and_decayed,
        question="flip",
        figure="6.2",
    ),
    Claim(
        "few-numbers-flip",
        "ours",
        "numbers",
        "With 30 numbers in place of 80, γ alone turns the symmetric answer into the inferential one.",
        "not reported",
        f"two layers, at the width of the grid and at twice that, means over seeds: each answer ahead by at least {HALF:.0%} "
        "of all answers where it is most frequent, the symmetric one at larger weights",
        _turns,
        revised="a claim for each width",
        question="flip",
        figure="6.7",
    ),
    Claim(
        "few-numbers-boundary",
        "ours",
        "numbers",
        "The fewer numbers there are, the more models lean to the inferential answer.",
        "not reported",
        "rank correlation of the number of keys with inferential − symmetric over runs that have learned: interval below 0",
        _boundary_moves,
        question="flip",
        figure="6.3",
    ),
    Claim(
        "data-complexity",
        "zhang2025",
        "data complexity",
        "The more pairs break with composition, the longer the seen pairs take to learn.",
        "steps against the number of groups",
        f"rank correlation above {LONGER:g} at both initializations",
        _harder,
        question="simple",
        figure="6.4",
    ),
)
