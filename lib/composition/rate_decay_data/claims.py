"""Claims on rate, decay and data (chapter 6).

The criteria on few numbers were fixed before any run of composition-keys and of composition-few had ended.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.composition.condensation.metrics import measures_of
from lib.composition.phase_diagram.metrics import HALF, ends
from lib.composition.rate_decay_data.metrics import BY_KEYS, grid, harder, lean_by_numbers, learning_steps, with_fewest
from lib.composition.runs import MAPPINGS, SHADOW, lean, learned_among
from lib.composition.trends import BY_DECAY, BY_GAMMA, BY_RATE, Value, levels, slope
from lib.composition.variations import DATA, DECAY, FEW, KEYS, OPTIMIZATION
from lib.composition.words import steps_word, trend_words
from lib.core.read.claim import Claim, Finding, graded
from lib.core.read.measures import spread
from lib.core.read.statistics import spearman
from lib.core.record.store import Store, StoredRun, load
from lib.core.sweep.experiment import Experiment


def _rises(experiment: Experiment, value: Value, name: str, metric: str = "inferential"):  # noqa: ANN202
    """A check that a metric rises with a setting over runs that learned the seen pairs, the interval above 0."""

    def check(store: Store, profile: str) -> Finding:
        runs = learned_among(load(experiment.specs(profile), store))
        if len(runs) < 3:
            raise LookupError("fewer than three runs learned the seen pairs")
        s, low, high = slope(runs, value, metric)
        xs = levels(runs, value)
        means = [float(np.mean([r.metrics[metric] for r in runs if value(r) == x])) for x in xs]
        return Finding(
            f"rank correlation {s:+.2f} [{low:+.2f}, {high:+.2f}] over {len(runs)} runs; mean {metric} share by {name}: "
            + ", ".join(f"{x:g}: {m:.2f}" for x, m in zip(xs, means, strict=True)),
            graded({"interval above 0": low > 0}),
            len({r.spec.seed for r in runs}),
        )

    return check


def _small_and_decayed(store: Store, profile: str) -> Finding:
    """Follow-up: is the corner of small initialization and large decay inferential, and the opposite one not?"""
    runs = load(DECAY.specs(profile), store)
    mean, deviation = grid(runs, BY_GAMMA, BY_DECAY, "inferential")
    learned_share, _ = grid(runs, BY_GAMMA, BY_DECAY, "test")
    gammas, decays = levels(runs, BY_GAMMA), levels(runs, BY_DECAY)
    possible = np.flatnonzero(learned_share[-1] >= SHADOW)
    if not len(possible):
        raise LookupError("the smallest initialization does not learn the seen pairs at any decay")
    d = int(possible[-1])
    corner, opposite = float(mean[-1, d]), float(mean[0, 0])
    return Finding(
        f"small and decayed (γ = {gammas[-1]:g}, decay {decays[d]:g}, the largest at which the seen pairs are learned) "
        f"{corner:.2f} ± {deviation[-1, d]:.2f}, large and not (γ = {gammas[0]:g}, decay {decays[0]:g}) {opposite:.2f} ± "
        f"{deviation[0, 0]:.2f}",
        graded(
            {
                "that corner at least .5": corner >= 0.5,
                "above the opposite one by its deviation": bool(corner > opposite + deviation[-1, d]),
                "that corner at least .5, the opposite one below": corner >= 0.5 > opposite,
            }
        ),
        len({r.spec.seed for r in runs}),
    )


def _turns(row: Sequence[StoredRun]) -> Finding:
    """Is each answer ahead by half of all answers where it is most frequent, the symmetric one at larger weights?"""
    found = ends(row)
    words = "; ".join(
        f"{m} {spread([r.metrics[m] for r in row if r.spec.gamma == found.gamma[m]])} at γ = {found.gamma[m]:g}, "
        f"ahead by {found.lead[m]:+.2f}"
        for m in MAPPINGS
    )
    parts = {
        "the symmetric answer ahead by half of all answers where it is most frequent": found.lead["symmetric"] >= HALF,
        "at a larger γ the inferential answer ahead by half of all answers where it is most frequent": found.in_order
        and found.lead["inferential"] >= HALF,
    }
    return Finding(
        f"{words}; {len(learned_among(row))} of {len(row)} runs have learned", graded(parts), len({r.spec.seed for r in row})
    )


def _turns_with_few(store: Store, profile: str) -> Finding:
    """Ours: at the fewest numbers of the grid."""
    return _turns(with_fewest(load(KEYS.specs(profile), store)))


def _turns_if_wider(store: Store, profile: str) -> Finding:
    """Ours: as many numbers, and models twice as wide."""
    return _turns(load(FEW.specs(profile), store))


def _boundary_moves(store: Store, profile: str) -> Finding:
    """Ours: do runs lean the more to the inferential answer, the fewer numbers there are?"""
    runs = learned_among(load(KEYS.specs(profile), store))
    if len(runs) < 3:
        raise LookupError("fewer than three runs learned what they were taught")
    trend = lean_by_numbers(runs)
    means = {k: float(np.mean([lean(run) for run in runs if BY_KEYS(run) == k])) for k in levels(runs, BY_KEYS)}
    return Finding(
        f"rank correlation {trend_words(trend)} over {len(runs)} runs; mean lean by numbers: "
        + ", ".join(f"{k:g}: {m:+.2f}" for k, m in means.items()),
        graded({"interval below 0": trend[2] < 0}),
        len({run.spec.seed for run in runs}),
    )


def _harder(store: Store, profile: str) -> Finding:
    steps = learning_steps(load(DATA.specs(profile), store))
    words = [
        f"γ = {gamma:g}: {harder(values):+.2f} "
        f"(median step {steps_word(np.median(values[0]))} → {steps_word(np.median(values[-1]))})"
        for gamma, values in steps.items()
    ]
    parts = {f"γ = {gamma:g}": harder(values) > 0.5 for gamma, values in steps.items()}
    return Finding(
        "rank correlation of groups and steps: " + "; ".join(words), graded(parts), next(iter(steps.values())).shape[1]
    )


GOES_WITH = 0.3
"""Rank correlation above which a measure of the weights counts as going with a setting (our choice)."""


def _goes_with_both(name: str):  # noqa: ANN202
    """A check that a measure of the weights (condensation.numbers.measures) goes with the rate and with the decay (Figs. 15 and
    16), over all runs whose weights are stored, whether they learned the seen pairs or not: the grids show all."""

    def check(store: Store, profile: str) -> Finding:
        runs = [r for r in load(OPTIMIZATION.specs(profile), store) if r.has_weights]
        if len(runs) < 3:
            raise LookupError(f"fewer than three stored runs of {OPTIMIZATION.name!r} have weights")
        values = np.array([measures_of(r)[name] for r in runs])
        with_ = {
            "learning rate": spearman(np.array([r.spec.rate for r in runs]), values),
            "decay": spearman(np.array([r.spec.decay for r in runs]), values),
        }
        return Finding(
            f"rank correlation of {name} over {len(runs)} runs: "
            + ", ".join(f"with {setting} {found:+.2f}" for setting, found in with_.items())
            + f"; {values.min():.2f} to {values.max():.2f}",
            graded({f"{setting} above {GOES_WITH:g}": found > GOES_WITH for setting, found in with_.items()}),
            len({r.spec.seed for r in runs}),
        )

    return check


_BOTH = f"rank correlation over runs with weights: above {GOES_WITH:g} with learning rate, above {GOES_WITH:g} with decay"
_SEEN = "a grid of one model a cell"
_FLIPS = (
    "two layers, means over seeds: each answer ahead by at least half of all answers where it is most frequent, the symmetric "
    "one at larger weights"
)
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
        "seen pairs learned; share at that corner ≥ .5, above the opposite one by its own deviation, and the opposite one < .5",
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
        _FLIPS,
        _turns_with_few,
        question="flip",
        figure="6.3",
    ),
    Claim(
        "few-numbers-wide",
        "ours",
        "numbers",
        "With 30 numbers and models twice as wide, γ alone turns the symmetric answer into the inferential one.",
        "not reported",
        _FLIPS,
        _turns_if_wider,
        question="flip",
        figure="6.3",
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
        "rank correlation above 0.5 at both initializations",
        _harder,
        question="simple",
        figure="6.4",
    ),
)
