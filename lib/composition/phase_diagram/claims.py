"""Claims on the phase diagram (chapter 2): two layers by kind and exactly, then the grid at fast settings.

The criteria on two layers that are judged by shares were fixed before any run of composition-phase, version 2, had ended; that
on three layers before any of its runs of three layers had; those on kinds and on the early answer before any run of
composition-confirm.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lib.composition import controls
from lib.composition.diagram import HEADLINE, RATE, WIDTH, deeper, gain, gamma_of_gain, other_rates, two_layers
from lib.composition.experiments import GRIDS
from lib.composition.flip import CONFIRM, CONFIRM_FIRST, CONFIRM_SEEDS, confirmed_runs
from lib.composition.phase_diagram import metrics
from lib.composition.phase_diagram.metrics import EARLY_FROM, HALF, SEEDS_INFERENTIAL, SEEDS_SYMMETRIC, PhaseTable, fast_runs
from lib.composition.runs import (
    FITTED,
    LEARNED,
    MAPPINGS,
    MOST_ROWS,
    REGION,
    SHADOW,
    exact_kind,
    learned_among,
    learned_at,
    preference,
)
from lib.core.read.claim import (
    NO_EFFECT,
    OPPOSITE,
    TOO_SMALL,
    Claim,
    Measured,
    Part,
    above_zero,
    by_exact_test,
    by_interval,
    in_settings,
)
from lib.core.read.measures import seeds
from lib.core.read.roundings import Arms
from lib.core.read.statistics import (
    LEAD,
    SHARE,
    Trend,
    difference_interval,
    fisher_exact,
    flips_either_way,
    interval,
    mean_interval,
    rank_trend,
    share_interval,
    two_sided,
)
from lib.core.record.store import Store, StoredRun, load_stored
from lib.core.sweep.experiment import Experiment

# --- Two layers ---

MOST = 0.5
"""Most runs: more than this share of them."""
LEARNED_SEEDS = 7
"""Of eight seeds at one γ: so many have learned."""
FISHER = 0.001
"""Fisher's exact test on decided runs of these two γ."""
DECIDES = 0.7
"""The rank correlation of the early with the final answer."""
CROSSING = 2
"""So many decided runs at most may end as another kind than they began."""


def _two_layers(store: Store, profile: str) -> list[StoredRun]:
    if not HEADLINE.specs(profile):
        raise LookupError(f"the profile {profile!r} has no diagram of two layers")
    return two_layers(store, profile)


def _confirmed(store: Store, profile: str) -> list[StoredRun]:
    if not CONFIRM.specs(profile):
        raise LookupError(f"the profile {profile!r} has no runs that confirm the turn by kind")
    if not (runs := confirmed_runs(store, profile)):
        raise LookupError("fewer than two γ have all the new seeds that judge the turn by kind; the others are not stored")
    return runs


def _parted(of: Mapping[float, Counter[str]], first: str, second: str) -> tuple[float, float]:
    """The smaller and the larger γ at which most runs are of the first and of the second kind, the nearest to each other where
    several pairs have as many."""
    pairs = [(low, high) for low in of for high in of if low < high]
    return max(pairs, key=lambda pair: (of[pair[0]][first] + of[pair[1]][second], pair[0] - pair[1]))


def _by_kind(store: Store, profile: str) -> Measured:
    """Is some γ symmetric and a larger one inferential, seed by seed?"""
    runs = _confirmed(store, profile)
    at = {g: [r for r in runs if r.spec.gamma == g] for g in sorted({r.spec.gamma for r in runs})}
    of = {g: Counter(map(exact_kind, group)) for g, group in at.items()}
    low, high = _parted(of, *MAPPINGS)
    other = _parted(of, *MAPPINGS[::-1])
    reverse = of[other[0]]["inferential"] >= SEEDS_INFERENTIAL and of[other[1]]["symmetric"] >= SEEDS_SYMMETRIC
    failure = OPPOSITE if reverse else NO_EFFECT
    done = min(len(learned_among(at[g])) for g in (low, high))
    parts = (
        Part("runs that have learned", done, ">=", LEARNED_SEEDS, "{:.0f}", given=True),
        Part(f"symmetric runs at γ = {low:g}", of[low]["symmetric"], ">=", SEEDS_SYMMETRIC, "{:.0f}", failure=failure),
        Part(f"inferential runs at γ = {high:g}", of[high]["inferential"], ">=", SEEDS_INFERENTIAL, "{:.0f}", failure=failure),
        Part("Fisher's exact p", metrics.kinds_apart(of[low], of[high], "greater"), "<=", FISHER, "{:.2g}", failure=failure),
    )
    return Measured(parts, seeds(runs))


def _early(store: Store, profile: str) -> Measured:
    points = metrics.early_runs(_confirmed(store, profile))
    if len(points) < 10:
        raise LookupError("fewer than ten confirmed runs have learned and tell their early answer")
    against = sum(value < 0 and exact_kind(run) == "inferential" for run, value in points)
    against += sum(value > 0 and exact_kind(run) == "symmetric" for run, value in points)
    decided = sum(exact_kind(run) in MAPPINGS for run, _ in points)
    rho = rank_trend([value for _, value in points], [preference(run) for run, _ in points])
    _, low, high = share_interval(against, decided)
    parts = (
        by_interval("rank correlation of early and final answer", rho, ">=", DECIDES, neutral=0.0),
        by_interval(
            "decided runs that end as the other kind",
            (float(against), decided * low, decided * high),
            "<=",
            CROSSING,
            "{:.0f}",
            neutral=decided / 2,
        ),
    )
    return Measured(parts, seeds([run for run, _ in points]))


def _slope(name: str, trend: Trend | None) -> Part:
    """Does the preference for the inferential answer rise with γ? Its slope's 95 % interval has to lie above 0."""
    if trend is None:
        return Part(name, math.nan, ">", 0.0, failure=TOO_SMALL)
    return above_zero(name, trend, what="slope", form="{:.2f}")


def _flip(store: Store, profile: str) -> Measured:
    """The paper's picture: mean shares, the best of several learning rates, the nearer answer, and the slope over γ."""
    runs = _two_layers(store, profile)
    found = metrics.ends(runs)
    order = found.gamma["inferential"] - found.gamma["symmetric"]
    parts = [Part("γ of the inferential less that of the symmetric end", order, ">", 0.0, group="lead")]
    for m in MAPPINGS:
        parts.append(by_interval(f"largest mean share of the {m} answer over γ", metrics.largest(runs, m), ">=", REGION))
    lead = min(metrics.lead_interval(runs, m) for m in MAPPINGS)
    parts.append(by_interval("lead of each answer there, the smaller one", lead, ">=", HALF, neutral=0.0, group="lead"))
    by_rate = {RATE: runs} | other_rates(store, profile)
    shared = metrics.of_all_rates(by_rate)
    if len(by_rate) > 1 and len({run.spec.gamma for run in shared}) > 1:
        best = metrics.selected_shares(shared)
        parts += [
            Part(f"the same with the best of {len(by_rate)} learning rates, {m}", best[m], ">=", REGION) for m in MAPPINGS
        ]
    gammas = sorted({run.spec.gamma for run in runs})
    for m in MAPPINGS:
        pure = [g for g in gammas if {metrics.kind(r) for r in runs if r.spec.gamma == g} == {m}]
        group, ours = f"nearer {m}", [r for r in runs if r.spec.gamma in pure]
        done = share_interval(len(learned_among(ours)), len(ours))
        parts.append(Part(f"γ at which all runs lie nearer to the {m} answer", len(pure), ">=", 1, "{:.0f}", group=group))
        parts.append(by_interval("share of these runs that have learned", done, ">", MOST, group=group))
    parts.append(_slope("slope over γ, all runs", metrics.lean_slope(runs)))
    parts.append(_slope("slope over γ, runs that have learned", metrics.lean_slope(learned_among(runs))))
    if three := deeper(store, profile).get(3, []):
        parts.append(_slope("slope over γ, three layers", metrics.lean_slope(three)))
        parts.append(_slope("slope over γ, three layers that have learned", metrics.lean_slope(learned_among(three))))
    return Measured(tuple(parts), seeds(runs))


def _steps(store: Store, profile: str) -> Measured:
    """Fig. 5c at the gain of the paper's γ = .8 and smaller weights, against the largest weights here."""
    runs = _confirmed(store, profile)
    width = runs[0].spec.model.d_model
    small = gamma_of_gain(gain(0.8, GRIDS["paper"].d_model), width)
    gammas = sorted({run.spec.gamma for run in runs})
    below = [g for g in gammas if g >= small - 0.03]
    if not below:
        raise LookupError("no run has the gain of the paper's γ = .8")
    at = lambda chosen: [metrics.step_shares(r)[2:4].sum() for r in runs if r.spec.gamma in chosen]
    shares, others, there = at(below), at(gammas[:1]), [run for run in runs if run.spec.gamma in below]
    done = len(learned_among(there)) / len(there)
    parts = (
        Part("share of runs there that have learned", done, ">", MOST, given=True),
        by_interval(
            f"share of numbers with their neighbour 3 or 4 away, γ from {below[0]:g}", mean_interval(shares, SHARE), ">=", HALF
        ),
        by_interval(f"more than at γ = {gammas[0]:g} by", difference_interval(shares, others), ">", 0.0, neutral=0.0),
    )
    return Measured(parts, seeds(runs))


FIFTH, THIRD, GAINS, CELLS = 0.2, 0.05, 0.02, 2
"""By how much the fastest third of the runs is more symmetric; the share of runs that give a third answer; what selection adds
to a share; and how many cells make a region."""


def _fast(runs: Sequence[StoredRun]) -> list[Part]:
    runs = [run for run in runs if run.spec.model.depth == 2]
    nearer = lambda some: [float(preference(run) < 0) for run in some] or [0.0]
    first, others = metrics.by_speed(runs)
    late = [run for run in others if np.isfinite(learned_at(run))]
    names = "share nearer to symmetric, the fastest third less the others", "the same, less the others that learn"
    found = [difference_interval(nearer(first), nearer(some)) for some in (others, late)]
    return [by_interval(name, gap, ">=", FIFTH, neutral=0.0) for name, gap in zip(names, found, strict=True)]


# --- The grid over γ and depth, fast settings ---


def _cells(table: PhaseTable, mapping: str) -> list[tuple[int, float]]:
    """(depth, γ) of the cells in a mapping's region."""
    accuracy, test = table.selected(mapping)
    inside = (accuracy >= REGION) & (test >= SHADOW)
    return [(int(table.depths[d]), float(table.gammas[g])) for d, g in zip(*np.nonzero(inside), strict=True)]


def _cell(table: PhaseTable, mapping: str, depth: int, gamma: float) -> list[Part]:
    """Near 100 % of one answer, and ahead of the other by half, at one cell; none where the grid has no such cell."""
    if depth not in table.depths or not np.isclose(table.gammas, gamma).any():
        return []
    place = int(np.flatnonzero(table.depths == depth)[0]), int(np.flatnonzero(np.isclose(table.gammas, gamma))[0])
    own, other = (getattr(table, m)[place].max(-1) for m in (mapping, *[m for m in MAPPINGS if m != mapping]))  # (seeds,)
    name = f"{mapping}, depth {depth}, γ = {gamma:g}"
    return [
        by_interval(f"{name}: selected share", mean_interval(own, SHARE), ">=", REGION),
        by_interval(f"{name}: lead", mean_interval(own - other, LEAD), ">=", HALF, neutral=0.0),
    ]


def _trends(table: PhaseTable) -> list[Part]:
    """Slope of (inferential − symmetric) against γ at each depth, with a bootstrap interval over seeds and rates."""
    rng, parts, x = np.random.default_rng(0), [], table.gammas - table.gammas.mean()
    if len(x) < 2:
        return []
    for d, depth in enumerate(table.depths):
        leans = (table.inferential - table.symmetric)[d].reshape(len(x), -1)
        draws = rng.integers(0, leans.shape[1], (2000, *leans.shape))
        low, high = interval(np.take_along_axis(leans[None].repeat(2000, 0), draws, 2).mean(2) @ x / (x @ x))
        parts.append(_slope(f"slope over γ, depth {depth}", (float(leans.mean(1) @ x / (x @ x)), low, high)))
    return parts


def _grid(table: PhaseTable) -> list[Part]:
    cells = {m: _cells(table, m) for m in MAPPINGS}
    parts = [Part(f"cells in the {m} region", len(cells[m]), ">=", CELLS, "{:.0f}") for m in MAPPINGS]
    at = {depth: {m: [g for d, g in cells[m] if d == depth] for m in MAPPINGS} for depth in map(int, table.depths)}
    turned = sum(any(s < i for s in own["symmetric"] for i in own["inferential"]) for own in at.values())
    parts.append(Part("depths at which γ alone turns the selected answer", turned, ">=", 1, "{:.0f}"))
    for depth, own in at.items():
        if all(own.values()):
            apart = float(np.mean(own["inferential"]) - np.mean(own["symmetric"]))
            parts.append(Part(f"depth {depth}: mean γ of inferential less symmetric cells", apart, ">", 0.0))
    parts += [*_trends(table), *_cell(table, "symmetric", 2, 0.5), *_cell(table, "inferential", 2, 0.8)]
    for d, depth in enumerate(table.depths):
        more = (table.inferential[d, ..., -1] - table.inferential[d, ..., 0]).mean(0)  # (seeds,)
        name = f"depth {depth}: inferential share, largest less smallest learning rate"
        parts.append(by_interval(name, mean_interval(more, LEAD), ">", 0.0, neutral=0.0))
    return parts


def _shadow(table: PhaseTable) -> Part:
    low = float(table.selected("inferential")[1][-1, 0])
    name = f"seen pairs right at depth {table.depths[-1]}, γ = {table.gammas[0]:g}"
    return Part(name, low, "<", SHADOW, failure=OPPOSITE)


def _third_answer(runs: Sequence[StoredRun]) -> Part:
    runs = [run for run in runs if run.metrics["test"] >= FITTED]
    third = sum(1 - run.metrics["symmetric"] - run.metrics["inferential"] > HALF for run in runs)
    name = f"share of {len(runs)} fitted runs with more than half of their answers of neither kind"
    return by_interval(name, share_interval(third, len(runs)), ">", THIRD)


def _selection(table: PhaseTable) -> list[Part]:
    gain = lambda shares: (shares.max(-1) - shares.mean(-1)).mean((0, 1))  # (seeds,)
    gains = {m: mean_interval(gain(getattr(table, m))) for m in MAPPINGS}
    return [by_interval(f"{m}: selected less plain mean", found, ">", GAINS) for m, found in gains.items()]


def _diagram(store: Store, profile: str) -> Measured:
    runs = fast_runs(store, profile)
    table = metrics.phase_table(runs)
    parts = (*_grid(table), _shadow(table), _third_answer(runs), *_selection(table), *_fast(runs))
    return Measured(parts, len(table.seeds))


# --- Controls. Their criteria were fixed before the first of their runs ---

ALIKE, LEAST_ALIKE = 2.0, 0.75
"""Between what factors the mean times to learn have to lie, with their interval; and the share of runs that has to learn."""
LEVEL = 0.05


def _whole(experiment: Experiment, store: Store, profile: str) -> list[StoredRun]:
    if profile == "smoke":
        raise LookupError("the profile 'smoke' tells nothing of a trained model")
    runs = controls.stored(experiment, store, profile)
    if not runs or len(runs) < len(experiment.specs(controls.ONE_GPU)):
        raise LookupError(f"some runs are not stored: python -m lib sweep {experiment.name} --profile {controls.ONE_GPU}")
    return runs


def _arms(runs: Sequence[StoredRun], new: Sequence[StoredRun] = ()) -> Arms:
    found = metrics.rounded(new, runs)
    if not found.whole:
        raise LookupError("the arms of a comparison of roundings are not whole: some runs are not stored, or not in bfloat16")
    return found


def _least_learned(found: Arms) -> Part:
    least = min(len(learned_among(group)) / len(group) for group in found.named.values())
    return Part("smallest share that learns", least, ">=", LEAST_ALIKE, given=True)


def _rounding(store: Store, profile: str) -> Measured:
    found = _arms(_whole(controls.ROUNDING, store, profile), load_stored(CONFIRM.specs("laptop"), store))
    short, known = found.short, [*found.single, *found.moved]
    gammas = [run.spec.gamma for run in (*short, *known)]
    is_short = [True] * len(short) + [False] * len(known)

    def apart(name: str, of: Callable[[StoredRun], float]) -> Part:
        p = two_sided([min(of(run), 1e9) for run in (*short, *known)], is_short, gammas)
        return Part(f"{name}: two-sided p", p, ">=", LEVEL, "{:.2g}", failure=OPPOSITE)

    every = len(short)
    same, null = (len(metrics.of_one_kind(metrics.paired(arm, found.single))) for arm in (short, found.moved))
    rare = fisher_exact([[same, every - same], [null, every - null]], "less")
    _, low, high = metrics.slower(short, known)
    parts = (
        _least_learned(found),
        apart(f"steps to {MOST_ROWS:.0%} of the training rows", lambda run: learned_at(run, MOST_ROWS)),
        apart("share inferential", lambda run: run.metrics["inferential"]),
        apart("share symmetric", lambda run: run.metrics["symmetric"]),
        Part(
            f"kinds kept ({same} of {every}) no less often than by the last bit ({null}): p",
            rare,
            ">=",
            LEVEL,
            "{:.2g}",
            failure=OPPOSITE,
        ),
        Part("times to learn, bfloat16 by single, lower end", low, ">=", 1 / ALIKE, failure=TOO_SMALL),
        Part("the same, upper end", high, "<=", ALIKE, failure=TOO_SMALL),
    )
    return Measured(parts, len(CONFIRM_SEEDS))


def _further(store: Store, profile: str) -> Measured:
    found = _arms(_whole(controls.FURTHER, store, profile))
    further, more = flips_either_way(metrics.inferential(found).further), metrics.decided_more(found)
    parts = (
        _least_learned(found),
        by_exact_test("bfloat16 leads further off than the last bit: p", *further, LEVEL),
        by_exact_test("more runs in bfloat16 are of one of the two kinds: p", more.p, more.opposite, more.least, LEVEL),
    )
    return Measured(parts, len(controls.FURTHER_SEEDS))


def _paper_size(store: Store, profile: str) -> Measured:
    if profile == "smoke" or not (runs := controls.paper_size(store, profile)):
        raise LookupError(
            f"its runs are not stored, of no seed all γ: python -m lib sweep {controls.PAPER_NAME} --profile {controls.ONE_GPU}"
        )
    at = lambda gamma: [run for run in runs if run.spec.gamma == gamma]
    mean = lambda gamma, kind: mean_interval([run.metrics[kind] for run in at(gamma)], SHARE)
    small = [run for run in runs if run.spec.gamma >= 0.8]
    best = max(sum(exact_kind(r) == "inferential" for r in at(g)) for g in controls.PAPER_GAMMAS if g >= 0.8)
    symmetric = sum(exact_kind(run) == "symmetric" for run in small)
    parts = (
        Part("share of runs that have learned", len(learned_among(runs)) / len(runs), ">=", LEAST_ALIKE, given=True),
        by_interval("mean symmetric share at γ = 0.5", mean(0.5, "symmetric"), ">=", REGION),
        by_interval("mean inferential share at γ = 0.8", mean(0.8, "inferential"), ">=", REGION),
        Part("inferential runs at the best γ from 0.8 on", best, ">=", seeds(runs), "{:.0f}", group="kind"),
        Part("symmetric runs from γ = 0.8 on", symmetric, "<=", 0, "{:.0f}", group="kind"),
    )
    return Measured(parts, seeds(runs))


def _turns(store: Store, profile: str) -> Measured:
    found = {"width 128, new seeds": _by_kind, "the paper's size": _paper_size, "width 128, full-length runs": _flip}
    return in_settings({setting: check(store, profile) for setting, check in found.items()})


def _dip(store: Store, profile: str) -> Measured:
    inside = learned_among(_whole(controls.DIP, store, profile))
    sides = [run for run in learned_among(confirmed_runs(store, profile)) if run.spec.gamma in metrics.SIDES]
    if len({run.spec.gamma for run in sides}) < 2:
        raise LookupError("the new seeds on both sides of the stretch are not stored")
    count = lambda runs: [sum(exact_kind(r) == "symmetric" for r in runs), len(runs)]
    (a, n), (b, m) = count(inside), count(sides)
    p, other = (fisher_exact([[a, n - a], [b, m - b]], side) for side in ("less", "greater"))
    least = fisher_exact([[0, n], [m, 0]], "less")
    return Measured(
        (by_exact_test(f"symmetric: {a} of {n} inside, {b} of {m} on the sides: p", p, other, least),), seeds(inside)
    )


def _depths(store: Store, profile: str) -> Measured:
    layers = metrics.by_depth(confirmed_runs(store, profile), _whole(controls.DEEP, store, profile))
    parts = []
    for depth in controls.DEPTHS:
        found = metrics.lean_further(layers[depth], layers[2])
        name = f"{depth} layers lean to key − 10 further than two: p"
        parts.append(by_exact_test(name, found.p, found.opposite, found.least, LEVEL))
    return Measured(tuple(parts), len(controls.DEPTH_SEEDS))


# --- The claims ---

_GAMMAS = lambda values: ", ".join(f"{gamma:g}" for gamma in values)
_PAPER = "near 100 % on key − 6 at γ = .5, near 100 % on key − 10 at γ = .8"
CHAPTER_02 = (
    Claim(
        "two-layers-flip",
        "zhang2024",
        "Fig 2a, b",
        "With two layers, γ alone turns the symmetric answer into the inferential one.",
        _PAPER,
        f"three settings. (1) Eight new seeds in single precision, one learning rate, the best pair of the γ that have all "
        f"seeds, of which {CONFIRM_FIRST[0]:g} and {CONFIRM_FIRST[1]:g} were trained first: at some γ at least "
        f"{SEEDS_SYMMETRIC} runs of which more than half of the answers are symmetric, at a larger one at least "
        f"{SEEDS_INFERENTIAL} of which more than half are inferential; Fisher's one-sided exact p at most {FISHER:g} between "
        f"the two; at least {LEARNED_SEEDS} runs at both have {LEARNED:.0%} of their training rows right. (2) The paper's "
        "width, rows, batch, warm-up, decay, and the learning rate of its schedule, single precision, until learned: mean "
        f"symmetric share at γ = .5 and mean inferential share at γ = .8 at least {REGION:g}; at some γ from .8 on all runs "
        f"inferential, and no run from .8 on symmetric; three quarters of all runs with {LEARNED:.0%} of their training rows. "
        f"(3) Full-length runs at width {WIDTH}: each answer's mean share at least {REGION:g} at some γ and ahead by half of "
        "all answers there; the same share with the best of all stored learning rates; some γ at which all runs lie nearer to "
        "either answer; the slope of inferential − symmetric over γ has a 95 % interval above 0, over all runs and over those "
        "that have learned, at two layers and at three. The symmetric answer at larger weights earns nothing by itself",
        _turns,
        revised="a claim for each of three settings, of which the third had been four claims and one of ours. (1) Two of seven "
        "planned γ were put first, and a γ counts once it has all seeds: decided before any answer was looked at. (2) Three "
        "seeds, as the paper has, were planned; two could be trained, and had been seen when this was decided; the learning "
        "rate was first called the middle one of its grid, which is lower. (3) The parts on learned runs were added after "
        "seeing results",
        question="flip",
        figure="2.1",
    ),
    Claim(
        "early-answer",
        "ours",
        "Fig 2.9",
        "Which kind a run becomes shows early, by whether it first answers −7 or −10.",
        "not asked",
        f"the same new seeds, γ ≥ {EARLY_FROM:g}, runs that have learned: rank correlation of the early with the final answer "
        f"at least {DECIDES:g}; at most {CROSSING} decided runs end as the other kind",
        _early,
        question="flip",
        figure="2.9",
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
        revised="asked of full-length runs, most of which had not learned; now, by the same criterion, of the new seeds, of "
        "which those at γ = 1.25 had been looked at",
        question="simple",
        figure="2.8",
    ),
    Claim(
        "phase-diagram",
        "zhang2024",
        "Fig 2a, b",
        "At settings chosen for speed, γ and depth have a symmetric and an inferential region, and γ alone leads from one to "
        "the other.",
        f"{_PAPER}, at two layers; a larger learning rate raises inferential accuracy, where both pairs are unseen; a shadow: "
        "test accuracy below 90 % of deep models with very large weights",
        f"selected accuracy at least {REGION:g} and seen pairs at {SHADOW:.0%} in {CELLS} cells of each kind; both in order at "
        "some depth; where a depth has both, the mean γ in order; the slope of inferential − symmetric over γ has a 95 % "
        "interval above 0 at each depth; at two layers γ = .5 symmetric and .8 inferential, each ahead by half; at each depth "
        "a higher inferential share at the largest than at the smallest learning rate; at the largest depth and smallest γ "
        f"seen pairs below {SHADOW:.0%}. And, asked by us: more than {THIRD:.0%} of the runs that know the seen pairs mostly "
        f"give a third answer; selection adds more than {GAINS:g} to the mean share of both answers; of the fastest third of "
        "the two-layer "
        f"runs the share nearer to the symmetric answer is larger by {FIFTH:g} than that of the others, and of the others that "
        "learn",
        _diagram,
        revised="twelve claims are its parts; the second cell, the lead by half and the last comparison were added after "
        "seeing results",
        question="flip",
        figure="2.7",
    ),
    Claim(
        "rounding",
        "ours",
        "Fig 2.3",
        "Products in bfloat16 change no more than the last bit of the initial weights does.",
        "not asked",
        f"the new seeds at γ = {_GAMMAS(controls.ROUNDING_GAMMAS)}, once in bfloat16, twice in single precision (the second "
        "time from weights moved by their last bit): two-sided rank tests within each γ of bfloat16 against the others, "
        f"of steps to {MOST_ROWS:.0%} of the training rows and of both final shares, p at least {LEVEL:g}; kinds are kept "
        f"no less often (Fisher's one-sided p at least {LEVEL:g}); mean times to learn within a factor of {ALIKE:g}, with "
        f"their 95 % interval; at least {LEAST_ALIKE:.0%} of each arm learn",
        _rounding,
        question="flip",
        figure="2.3",
    ),
    Claim(
        "rounding-further",
        "ours",
        "Fig 2.3",
        "At very small weights bfloat16 leads single runs further than the last bit of a weight does, and to a clear answer.",
        "not asked; seen in the runs of Figure 2.3",
        f"eight other seeds at γ = {controls.ROUNDING_GAMMAS[-1]:g}, in bfloat16, in single precision, and that once more from "
        "weights moved by their last bit: the inferential share in bfloat16 is further from both others than these are apart, "
        "exact one-sided sign-flip test over seeds; more of its runs are symmetric or inferential, exact one-sided test "
        f"of the three exchanged within a seed; p at most {LEVEL:g} for either; at least {LEAST_ALIKE:.0%} of each arm learn",
        _further,
        question="flip",
        figure="2.3",
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
        "Fig 2.4",
        "Three and four layers lean further to the inferential answer than two.",
        "not asked; the paper's diagram has inferential cells at smaller γ the deeper the model",
        f"four new seeds of each depth at γ = {_GAMMAS(controls.DEPTH_GAMMAS)} against all new seeds of two layers, as far as "
        f"they have learned: rank test within each γ of inferential − symmetric share, p at most {LEVEL:g} at either depth",
        _depths,
        question="flip",
        figure="2.4",
    ),
)
