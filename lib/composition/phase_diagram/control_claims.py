"""Claims on rounding, the paper's own size, the stretch around γ = .5 and depth (chapter 2). All criteria were fixed before the
first of these runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from lib.composition import controls
from lib.composition.flip import CONFIRM, CONFIRM_SEEDS, confirmed_runs
from lib.composition.phase_diagram import metrics
from lib.composition.runs import LEARNED, REGION, learned_among, preference
from lib.core.read.claim import NO_EFFECT, OPPOSITE, TOO_SMALL, Claim, Measured, Part, by_exact_test
from lib.core.read.measures import first_step, seeds
from lib.core.read.statistics import compare, fisher_exact, interval, two_sided
from lib.core.record.store import Store, StoredRun, load_stored

ROUNDED = 0.9
"""Share of training rows whose step is compared between roundings."""
ALIKE, LEAST_ALIKE = 2.0, 0.75
"""Between what factors the mean times to learn have to lie, with their interval; and the share of runs that has to learn."""
LEVEL = 0.05


def _whole(experiment: controls.Experiment, store: Store, profile: str) -> list[StoredRun]:
    if profile == "smoke":
        raise LookupError("the profile 'smoke' tells nothing of a trained model")
    runs = controls.stored(experiment, store, profile)
    if not runs or len(runs) < len(experiment.specs(controls.ONE_GPU)):
        raise LookupError(f"its runs are not all stored: python -m lib sweep {experiment.name} --profile {controls.ONE_GPU}")
    return runs


def arms(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    """The same seeds and γ in three arms: single precision, the same off by the last bit of its initial weights, bfloat16.

    Raises LookupError where one of them is not whole.
    """
    runs = _whole(controls.ROUNDING, store, profile)
    wanted = [s for s in CONFIRM.specs("laptop") if s.gamma in controls.ROUNDING_GAMMAS]
    single = load_stored(wanted, store)
    moved = [run for run in runs if run.spec.nudge]
    short = [run for run in runs if not run.spec.nudge and run.provenance["precision"] == "bfloat16"]
    found = {"single precision": single, "last bit moved": moved, "bfloat16": short}
    if {len(group) for group in found.values()} != {len(wanted)}:
        raise LookupError("the arms of the comparison of roundings are not all stored, or not all of one precision")
    order = lambda run: (run.spec.gamma, run.spec.seed)
    return {name: sorted(group, key=order) for name, group in found.items()}


def time_to(run: StoredRun, share: float = ROUNDED) -> float:
    """The first evaluated step with this share of training rows right; infinity for never."""
    step = first_step(run, "train", share)
    return math.inf if step is None else float(step)


def agreement(first: Sequence[StoredRun], second: Sequence[StoredRun]) -> int:
    """How many runs of two arms, in the same order, are of the same kind."""
    return sum(metrics.exact_kind(a) == metrics.exact_kind(b) for a, b in zip(first, second, strict=True))


def slower(short: Sequence[StoredRun], single: Sequence[StoredRun], draws: int = 2000) -> tuple[float, float, float]:
    """By what factor the arm in bfloat16 takes longer to learn than the mean of the two in single precision: geometric mean
    over seeds, each within its γ, and its 95 % interval by drawing seeds. A run that never learns counts with its last step."""
    log = lambda run: math.log(min(time_to(run), run.steps))
    place = lambda run: (run.spec.gamma, run.spec.seed)
    ratio = np.array([log(run) - np.mean([log(r) for r in single if place(r) == place(run)]) for run in short])
    at = np.random.default_rng(0).integers(0, len(ratio), (draws, len(ratio)))
    low, high = interval(np.exp(ratio[at].mean(1)))
    return float(np.exp(ratio.mean())), low, high


def _rounding(store: Store, profile: str) -> Measured:
    found = arms(store, profile)
    single, moved, short = found.values()
    known = [*single, *moved]
    gammas = [run.spec.gamma for run in (*short, *known)]
    is_short = [True] * len(short) + [False] * len(known)

    def apart(name: str, of: Callable[[StoredRun], float]) -> Part:
        p = two_sided([min(of(run), 1e9) for run in (*short, *known)], is_short, gammas)
        return Part(f"{name}: two-sided p", p, ">=", LEVEL, "{:.2g}")

    same, null = agreement(short, single), agreement(moved, single)
    rare = fisher_exact([[same, len(single) - same], [null, len(single) - null]], "less")
    _, low, high = slower(short, known)
    least = min(len(learned_among(group)) / len(group) for group in found.values())
    parts = (
        Part(
            "smallest share that learns",
            least,
            ">=",
            LEAST_ALIKE,
            given=True,
        ),
        apart(f"steps to {ROUNDED:.0%} of the training rows", time_to),
        apart("share inferential", lambda run: run.metrics["inferential"]),
        apart("share symmetric", lambda run: run.metrics["symmetric"]),
        Part(
            f"kinds kept ({same} of {len(single)}) no less often than by the last bit ({null}): p", rare, ">=", LEVEL, "{:.2g}"
        ),
        Part("times to learn, bfloat16 by single, lower end", low, ">=", 1 / ALIKE, failure=TOO_SMALL),
        Part("the same, upper end", high, "<=", ALIKE, failure=TOO_SMALL),
    )
    return Measured(parts, len(CONFIRM_SEEDS))


def _paper_size(store: Store, profile: str) -> Measured:
    if profile == "smoke" or not (runs := controls.paper_size(store, profile)):
        raise LookupError(f"no seed has all γ: python -m lib sweep {controls.PAPER_NAME} --profile {controls.ONE_GPU}")
    at = lambda gamma: [run for run in runs if run.spec.gamma == gamma]
    mean = lambda gamma, kind: float(np.mean([run.metrics[kind] for run in at(gamma)]))
    small = [run for run in runs if run.spec.gamma >= 0.8]
    best = max(sum(metrics.exact_kind(r) == "inferential" for r in at(g)) for g in controls.PAPER_GAMMAS if g >= 0.8)
    symmetric = sum(metrics.exact_kind(run) == "symmetric" for run in small)
    parts = (
        Part("share of runs that have learned", len(learned_among(runs)) / len(runs), ">=", LEAST_ALIKE, given=True),
        Part("mean symmetric share at γ = 0.5", mean(0.5, "symmetric"), ">=", REGION),
        Part("mean inferential share at γ = 0.8", mean(0.8, "inferential"), ">=", REGION),
        Part("inferential runs at the best γ from 0.8 on", best, ">=", seeds(runs), "{:.0f}", group="kind"),
        Part("symmetric runs from γ = 0.8 on", symmetric, "<=", 0, "{:.0f}", failure=NO_EFFECT, group="kind"),
    )
    return Measured(parts, seeds(runs))


def _dip(store: Store, profile: str) -> Measured:
    inside = learned_among(_whole(controls.DIP, store, profile))
    sides = [run for run in learned_among(confirmed_runs(store, profile)) if run.spec.gamma in (0.35, 0.55)]
    if len({run.spec.gamma for run in sides}) < 2:
        raise LookupError("the new seeds on both sides of the stretch are not stored")
    count = lambda runs: [sum(metrics.exact_kind(r) == "symmetric" for r in runs), len(runs)]
    (a, n), (b, m) = count(inside), count(sides)
    p, other = (fisher_exact([[a, n - a], [b, m - b]], side) for side in ("less", "greater"))
    least = fisher_exact([[0, n], [m, 0]], "less")
    return Measured(
        (by_exact_test(f"symmetric: {a} of {n} inside, {b} of {m} on the sides: p", p, other, least),), seeds(inside)
    )


def _depths(store: Store, profile: str) -> Measured:
    deep = learned_among(_whole(controls.DEEP, store, profile))
    two = [run for run in learned_among(confirmed_runs(store, profile)) if run.spec.gamma in controls.DEPTH_GAMMAS]
    parts = []
    for depth in controls.DEPTHS:
        here = [run for run in deep if run.spec.model.depth == depth]
        runs = [*here, *two]
        found = compare([preference(r) for r in runs], [r in here for r in runs], [r.spec.gamma for r in runs])
        failure = OPPOSITE if found.opposite <= LEVEL else NO_EFFECT
        parts.append(
            Part(f"{depth} layers lean to key − 10 further than two: p", found.p, "<=", LEVEL, "{:.2g}", failure=failure)
        )
    return Measured(tuple(parts), len(controls.DEPTH_SEEDS))


_GAMMAS = lambda values: ", ".join(f"{gamma:g}" for gamma in values)
CONTROLS = (
    Claim(
        "paper-size",
        "zhang2024",
        "Fig 2a, b",
        "At the paper's own size two layers are symmetric at γ = .5 and inferential at .8.",
        "near 100 % on key − 6 at γ = .5, near 100 % on key − 10 at γ = .8",
        "the paper's width, rows, batch, warm-up, decay, and the learning rate of its schedule, single precision, until "
        f"learned: mean symmetric share at γ = .5 and mean inferential share at γ = .8 at least {REGION:g}; at "
        "some γ from .8 on all runs inferential, and no run from .8 on symmetric; three quarters of all runs with "
        f"{LEARNED:.0%} of their training rows",
        _paper_size,
        revised="three seeds, as the paper has, were planned; two could be trained, and had been seen when this was decided; "
        "the learning rate was first called the middle one of its grid, which is lower",
        question="flip",
        figure="2.1",
    ),
    Claim(
        "rounding",
        "ours",
        "Fig 2.1",
        "Products in bfloat16 change no more than the last bit of the initial weights does.",
        "not asked",
        f"the new seeds at γ = {_GAMMAS(controls.ROUNDING_GAMMAS)}, once in bfloat16, twice in single precision (the second "
        "time from weights moved by their last bit): two-sided rank tests within each γ of bfloat16 against the others, "
        f"of steps to {ROUNDED:.0%} of the training rows and of both final shares, p at least {LEVEL:g}; kinds are kept "
        f"no less often (Fisher's one-sided p at least {LEVEL:g}); mean times to learn within a factor of {ALIKE:g}, with "
        f"their 95 % interval; at least {LEAST_ALIKE:.0%} of each arm learn",
        _rounding,
        question="flip",
        figure="2.1",
    ),
    Claim(
        "dip",
        "ours",
        "Fig 2.1",
        "Around γ = .5 fewer runs are symmetric than on either side.",
        "not asked; found in older runs in bfloat16",
        f"learned new seeds at γ = {_GAMMAS(controls.DIP_GAMMAS)} against those at .35 and .55: Fisher's one-sided exact test "
        f"of symmetric runs, p at most {LEVEL:g}",
        _dip,
        question="flip",
        figure="2.1",
    ),
    Claim(
        "depth-turn",
        "ours",
        "Fig 2.6",
        "Three and four layers lean further to the inferential answer than two.",
        "not asked; the paper's diagram has inferential cells at smaller γ the deeper the model",
        f"four new seeds of each depth at γ = {_GAMMAS(controls.DEPTH_GAMMAS)} against all new seeds of two layers, as far as "
        f"they have learned: rank test within each γ of inferential − symmetric share, p at most {LEVEL:g} at either depth",
        _depths,
        question="flip",
        figure="2.8",
    ),
)
