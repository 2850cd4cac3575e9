"""What is claimed of the answers of two-layer models.

The criteria were fixed before any run of composition-phase, version 2, had ended.
"""

from __future__ import annotations

import numpy as np

from lib.composition.diagram import HEADLINE, WIDTH, gain, gamma_of_gain, two_layers
from lib.composition.experiments import FAST, GRIDS
from lib.composition.phase_diagram import numbers as answers
from lib.composition.runs import MAPPINGS, REGION, learned_at
from lib.core.claim import Claim, Finding, graded
from lib.core.store import Store, StoredRun
from lib.core.sweep import load

HALF = 0.5
"""A mapping is ahead where its share is larger than the other's by this much: half of all answers (our choice)."""


def _runs(store: Store, profile: str) -> list[StoredRun]:
    if not HEADLINE.specs(profile):
        raise LookupError(f"the profile {profile!r} has no diagram of two layers")
    return two_layers(store, profile)


def _seeds(runs: list[StoredRun]) -> int:
    return len({run.spec.seed for run in runs})


def _flip(store: Store, profile: str) -> Finding:
    runs = _runs(store, profile)
    found = answers.ends(runs)
    words = "; ".join(
        f"{m} at most {found.mean[m][m]:.2f} (γ = {found.gamma[m]:g}; the other answer {min(found.mean[m].values()):.2f} there)"
        for m in MAPPINGS
    )
    parts: dict[str, bool] = {f"{m} share at least {REGION:g} at some γ": found.mean[m][m] >= REGION for m in MAPPINGS}
    parts |= {
        "the symmetric one at the larger weights": found.gamma["symmetric"] < found.gamma["inferential"],
        "each ahead by half of all answers there": all(
            found.mean[m][m] - found.mean[m][other] >= HALF for m, other in (MAPPINGS, MAPPINGS[::-1])
        ),
    }
    return Finding(words, graded(parts), _seeds(runs))


def _kind(store: Store, profile: str) -> Finding:
    runs = _runs(store, profile)
    gammas = sorted({run.spec.gamma for run in runs})
    kinds = {g: [answers.kind(run) for run in runs if run.spec.gamma == g] for g in gammas}
    pure = {m: [g for g in gammas if set(kinds[g]) == {m}] for m in MAPPINGS}
    listed = {m: ", ".join(f"{g:g}" for g in pure[m]) for m in MAPPINGS}
    words = "; ".join(f"every run {m} at γ = {listed[m]}" if pure[m] else f"{m} nowhere" for m in MAPPINGS)
    ordered = all(pure.values()) and max(pure["symmetric"]) < min(pure["inferential"])
    parts = {f"some γ at which every run is {m}": bool(pure[m]) for m in MAPPINGS} | {
        "symmetric only at larger weights": ordered
    }
    return Finding(words, graded(parts), _seeds(runs))


def _trend(store: Store, profile: str) -> Finding:
    """Slope of inferential − symmetric against γ over runs, and its 95 % interval by resampling runs."""
    runs = _runs(store, profile)
    x = np.array([run.spec.gamma for run in runs])
    y = np.array([run.metrics["inferential"] - run.metrics["symmetric"] for run in runs])
    if len(set(x)) < 2:
        raise LookupError("a slope needs results at two values of gamma")
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(x), (2000, len(x)))
    slopes = [np.polyfit(x[p], y[p], 1)[0] for p in picks if np.ptp(x[p]) > 0]
    low, high = np.percentile(slopes, [2.5, 97.5])
    return Finding(
        f"slope {np.polyfit(x, y, 1)[0]:+.2f} [{low:+.2f}, {high:+.2f}] per unit of γ, {len(runs)} runs",
        graded({"interval above 0": bool(low > 0)}),
        _seeds(runs),
    )


def _steps(store: Store, profile: str) -> Finding:
    """Fig. 5c at the gain of the paper's γ = .8 and smaller weights, against the largest weights here."""
    runs = _runs(store, profile)
    width = runs[0].spec.model.d_model
    small = gamma_of_gain(gain(0.8, GRIDS["paper"].d_model), width)
    gammas = sorted({run.spec.gamma for run in runs})
    at = lambda chosen: float(np.mean([answers.step_shares(r)[2:4].sum() for r in runs if r.spec.gamma in chosen]))
    below = [g for g in gammas if g >= small - 0.03]
    if not below:
        raise LookupError("no run has the gain of the paper's γ = .8")
    share, other = at(below), at(gammas[:1])
    return Finding(
        f"nearest neighbour 3 or 4 away: {share:.2f} of the numbers at γ ≥ {below[0]:g}, {other:.2f} at γ = {gammas[0]:g}",
        graded({"at least half at small weights": share >= HALF, "more than at the largest weights": share > other}),
        _seeds(runs),
    )


def _fast(store: Store, profile: str) -> Finding:
    runs = [run for run in load(FAST.specs(profile), store) if run.spec.model.depth == 2]
    steps = np.array([learned_at(run) for run in runs])
    symmetric = np.array([run.metrics["symmetric"] > run.metrics["inferential"] for run in runs])
    order = np.argsort(steps, kind="stable")
    third = max(1, len(runs) // 3)
    fast, slow = float(symmetric[order[:third]].mean()), float(symmetric[order[third:]].mean())
    return Finding(
        f"of the fastest third of {len(runs)} two-layer runs {fast:.0%} lean to the symmetric answer, of the others {slow:.0%}",
        graded({"more by at least a fifth": fast - slow >= 0.2}),
        _seeds(runs),
    )


CHAPTER_02_ANSWERS = (
    Claim(
        "two-layers-flip",
        "zhang2024",
        "Fig 2a, b",
        "With two layers, γ alone turns the symmetric answer into the inferential one.",
        "near 100 % on key − 6 at γ = .5, near 100 % on key − 10 at γ = .8",
        f"over γ at width {WIDTH}: each answer's mean share at least {REGION:g} at some γ and ahead by half of all answers "
        "there, the symmetric one at larger weights",
        _flip,
    ),
    Claim(
        "two-layers-trend",
        "zhang2024",
        "Fig 2a, b",
        "With two layers, the smaller the initialization, the more a model leans to the inferential answer.",
        "seen in the diagram",
        "slope of inferential − symmetric share against γ over runs, 95 % interval above 0",
        _trend,
    ),
    Claim(
        "two-layers-kind",
        "ours",
        "Fig 2a, b",
        "Read by the nearer of the two answers, every run is symmetric at some γ and every run inferential at a larger one.",
        "not asked; this reading was added after seeing earlier results",
        "some γ at which all seeds lie nearer to −6, some larger γ at which all lie nearer to −10, never the other way round",
        _kind,
    ),
    Claim(
        "neighbour-steps",
        "zhang2024",
        "Fig 5c",
        "At small initialization neighbours in the embedding differ by 3 or 4.",
        "arithmetic steps of 3 and 4 at γ = .8",
        "at γ of the same gain and above, at least half of the numbers have their nearest neighbour 3 or 4 away, and more than "
        "at the largest weights",
        _steps,
    ),
    Claim(
        "fast-symmetric",
        "ours",
        "Fig 2a, b",
        "Settings at which two layers learn fast are settings at which they answer symmetrically.",
        "not asked",
        "of the fastest third of the two-layer runs at fast settings, the share that leans to the symmetric answer is larger "
        "than that of the others by a fifth at least",
        _fast,
    ),
)
