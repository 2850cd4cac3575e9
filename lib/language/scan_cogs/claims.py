"""Claims on SCAN and COGS (Zhang et al. 2024, Fig. 6): criteria fixed before the runs that they judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from lib.core.read import roundings
from lib.core.read.claim import NO_EFFECT, OPPOSITE, TOO_SMALL, Claim, Measured, Part, above_zero, asking, by_exact_test
from lib.core.read.statistics import RARE, flips_either_way
from lib.core.record.store import Store, StoredRun
from lib.core.sweep.experiment import again
from lib.language import arms
from lib.language.arms import FITTED
from lib.language.experiments import (
    COGS,
    COGS_DECAY_SEEDS,
    COGS_MOVED,
    COGS_MUCH,
    COGS_TENTH,
    JUMP,
    LARGE,
    MUCH,
    NEW_SEEDS,
    SCAN,
    SMALL,
    TENTH,
    TURN,
    rounded_cogs_specs,
    rounded_scan_specs,
    scan_again,
)
from lib.language.scan_cogs import metrics

LOW, HIGH, CLOSE = 0.1, 0.99, 0.01
_LEARNED = f"every run answers at least {FITTED:g} of its training rows right"
_SIGNS = f"of the same seed, exact test of differences' signs over seeds, one-sided, p at most {RARE:g}"
_ANEW = f"six new seeds, single precision: {_LEARNED}; at every size its share is above the large arm's {_SIGNS}"
_SIX = f"six seeds that other runs had, {SCAN['laptop'].middle:,} rows, twice the steps"
_FIVE = f"seeds {COGS_DECAY_SEEDS[0]} to {COGS_DECAY_SEEDS[-1]}, {COGS['laptop'].middle:,} rows, twice the steps"
_ALONE = f"the runs with decay {MUCH:g} were there before; fixed before those with {TENTH:g}"
_CROSSED = f"γ {LARGE[0]:g} and {SMALL[0]:g} crossed with decay {LARGE[1]:g} and {MUCH:g}, {_SIX}: {_LEARNED}"
_EVERY = "the small arm's mean share is above the large arm's at every size"


def _both(runs: metrics.Runs, main: str, size: int) -> tuple[Sequence[StoredRun], Sequence[StoredRun]]:
    return runs[main, size, *LARGE], runs[main, size, *SMALL]


def _of_arms(runs: metrics.Runs, main: str) -> list[Sequence[StoredRun]]:
    return [group for kind, group in runs.items() if kind[0] == main and kind[2:] in (LARGE, SMALL)]


def _least(leads: dict[int, tuple[float, float, float]]) -> Part:
    failure = OPPOSITE if any(high < 0 for *_, high in leads.values()) else NO_EFFECT
    least = min(gap for gap, *_ in leads.values())
    return Part("least lead of the small arm over the sizes", least, ">", 0.0, "{:.3f}", failure=failure, group="lead")


def turn_left(store: Store, profile: str) -> Measured:
    runs = metrics.of_scan(store, profile)
    leads = metrics.leads(runs, TURN, "test")
    best = max(low for _, low, _ in leads.values())
    once = Part("largest lower end of its 95 % interval", best, ">", 0.0, "{:.3f}", failure=TOO_SMALL)
    return Measured(
        (arms.all_fitted("rows", *_of_arms(runs, TURN)), _least(leads), once), len(runs[TURN, SCAN[profile].middle, *SMALL])
    )


def _by_seed(runs: metrics.Runs, profile: str, measure: Callable[[Sequence[StoredRun]], np.ndarray]) -> Measured:
    runs = arms.there(runs, profile)
    found = metrics.ahead_by_seed(runs, TURN, measure)
    parts = [by_exact_test(f"small arm ahead by seed, {size:,} rows: p", *found[size], RARE) for size in found]
    return Measured((arms.all_fitted("rows", *_of_arms(runs, TURN)), *parts), len(next(iter(runs.values()))))


def turn_left_anew(store: Store, profile: str) -> Measured:
    return _by_seed(metrics.of_new_scan(store, profile), profile, arms.shares)


def turn_left_going_on(store: Store, profile: str) -> Measured:
    return _by_seed(metrics.of_new_scan(store, profile), profile, metrics.going_on)


def turn_left_doubled(store: Store, profile: str) -> Measured:
    return _by_seed(metrics.of_doubled(TURN, store, profile), profile, arms.shares)


def turn_left_as_script(store: Store, profile: str) -> Measured:
    return _by_seed(metrics.of_script(store, profile), profile, arms.shares)


Pairs = Mapping[str, tuple[metrics.Arm, metrics.Arm]]
"""{what is asked: (arm, the other whose share is to be lower)}"""
Find = Callable[[Store, str], metrics.Runs]
"""Loads the runs of a profile."""


def _ahead(store: Store, profile: str, find: Find, name: str, pairs: Pairs) -> Measured:
    """Is, for each of `pairs`, the arm's share `name` above the other's of the same seed, in the runs that `find` loads?"""
    of = {kind[2:]: group for kind, group in arms.there(find(store, profile), profile).items()}
    more = {asked: arms.shares(of[arm], name) - arms.shares(of[other], name) for asked, (arm, other) in pairs.items()}
    parts = [by_exact_test(f"{asked}: p", *flips_either_way(found), RARE) for asked, found in more.items()]
    named = {arm for pair in pairs.values() for arm in pair}
    return Measured((arms.all_fitted("rows", *(of[arm] for arm in named)), *parts), len(next(iter(of.values()))))


def _starts(*decays: float) -> Pairs:
    """The smaller start before the larger, with each of these decays."""
    return {f"small start ahead, decay {decay:g}": ((SMALL[0], decay), (LARGE[0], decay)) for decay in decays}


def _decays(much: float, less: float) -> Pairs:
    """Much decay before less, from either start."""
    return {f"more decay ahead, γ = {gamma:g}": ((gamma, much), (gamma, less)) for gamma in (LARGE[0], SMALL[0])}


def _papers(much: float, less: float) -> Pairs:
    """The small start with much decay before the large one with less."""
    return {"small arm ahead": ((SMALL[0], much), (LARGE[0], less))}


_on_scan = partial(_ahead, find=metrics.of_decays, name="test")
_on_cogs = partial(_ahead, find=metrics.of_cogs_decays, name="gen")


def _taken_apart(
    task: str,
    item: str,
    better: tuple[str, str],
    reported: str,
    runs: tuple[float, float, str],
    ahead: Callable[..., Measured],
    revised: str,
) -> tuple[Claim, Claim, Claim]:
    """The paper's arms with as much decay as they seem to have, then the small one's decay alone and its start alone. better:
    what the small arm does, and what either alone does; runs: much decay, less, and which runs they are."""
    (arm, alone), (much, less, which) = better, runs
    together = "the two act together; they are not told apart"
    return (
        Claim(
            f"{task}-papers-arms",
            "zhang2024",
            item,
            f"With as much decay as the paper's two arms seem to have, the small one {arm}.",
            reported,
            f"γ {LARGE[0]:g} with decay {less:g} against γ {SMALL[0]:g} with decay {much:g}, {which}: {_LEARNED}; the small "
            f"arm's share is above the large arm's {_SIGNS}",
            partial(ahead, pairs=_papers(much, less)),
            revised=revised,
            figure="20.4",
        ),
        Claim(
            f"{task}-papers-decays",
            "ours",
            f"{item}, decay",
            f"Of these arms, the small one's decay alone, from either start, {alone}.",
            together,
            f"decay {much:g} against {less:g}, {which}: {_LEARNED}; the share with more decay is above that with less {_SIGNS} "
            "from either start",
            partial(ahead, pairs=_decays(much, less)),
            revised=revised,
            figure="20.4",
        ),
        Claim(
            f"{task}-papers-starts",
            "ours",
            f"{item}, start",
            f"Of these arms, the small one's start alone, with either decay, {alone}.",
            together,
            f"γ {SMALL[0]:g} against {LARGE[0]:g}, {which}: {_LEARNED}; the share from the smaller start is above that from "
            f"the larger {_SIGNS} with decay {less:g} and with {much:g}",
            partial(ahead, pairs=_starts(less, much)),
            revised=revised,
            figure="20.4",
        ),
    )


def cogs_doubled(store: Store, profile: str) -> Measured:
    runs = arms.there(metrics.of_doubled("COGS", store, profile), profile)
    (lead,) = metrics.leads(runs, "COGS", "gen").values()
    return Measured(
        (arms.all_fitted("rows", *runs.values()), above_zero("lead of the small arm", lead)), len(next(iter(runs.values())))
    )


def jump(store: Store, profile: str) -> Measured:
    runs = metrics.of_scan(store, profile)
    large, small = _both(runs, JUMP, SCAN[profile].middle)
    most = max(arms.shares(large).mean(), arms.shares(small).mean())
    return Measured(
        (arms.all_fitted("rows", large, small), Part("larger mean share of the two arms", float(most), "<=", LOW)), len(small)
    )


def _alike(runs: metrics.Runs) -> Measured:
    large, small = _both(runs, "COGS", arms.largest(runs, "COGS"))
    means = [float(arms.shares(group).mean()) for group in (large, small)]
    parts = (
        Part("smaller mean share of the two arms", min(means), ">=", HIGH, "{:.3f}", group="alike"),
        Part("distance of the two means", abs(means[0] - means[1]), "<=", CLOSE, "{:.3f}", group="alike"),
    )
    return Measured(parts, len(small))


def in_distribution(store: Store, profile: str) -> Measured:
    return _alike(metrics.of_cogs(store, profile))


def in_distribution_longer(store: Store, profile: str) -> Measured:
    return _alike(arms.there(metrics.of_longer_cogs(store, profile), profile))


def out_of_distribution_longer(store: Store, profile: str) -> Measured:
    runs = arms.there(metrics.of_longer_cogs(store, profile), profile)
    ((lead, small),) = zip(metrics.leads(runs, "COGS", "gen").values(), [runs[k] for k in runs if k[2:] == SMALL], strict=True)
    once = min(float(arms.shares(group, "once").min()) for group in runs.values())
    return Measured(
        (
            arms.all_fitted("rows", *_of_arms(runs, "COGS")),
            Part("least share of rows that alone show a word", once, ">=", FITTED, "{:.3f}", given=True),
            above_zero("lead of the small arm", lead),
        ),
        len(small),
    )


def out_of_distribution(store: Store, profile: str) -> Measured:
    runs = metrics.of_cogs(store, profile)
    leads = metrics.leads(runs, "COGS", "gen")
    last = above_zero("lead at the largest size", leads[max(leads)])
    return Measured(
        (arms.all_fitted("rows", *_of_arms(runs, "COGS")), _least(leads), last),
        len(runs["COGS", arms.middle(runs, "COGS"), *SMALL]),
    )


MOST_SHIFT = 0.05
"""By how much bfloat16 may shift a mean share of rows."""
_LEAD = "half the small start's lead"
PRECISION = roundings.Question(
    rounded_scan_specs,
    scan_again,
    {
        "share right": (lambda run: run.metrics["test"], MOST_SHIFT),
        "share right, an answer may go on": (lambda run: float(metrics.going_on([run])[0]), MOST_SHIFT),
        _LEAD: (arms.half_lead, MOST_SHIFT),
    },
)
COGS_PRECISION = roundings.Question(
    rounded_cogs_specs,
    lambda profile: again(COGS_MOVED, profile),
    {
        "share in distribution": (lambda run: run.metrics["test"], MOST_SHIFT),
        "share of the 21 cases": (lambda run: run.metrics["gen"], MOST_SHIFT),
        _LEAD: (partial(arms.half_lead, name="gen"), MOST_SHIFT),
    },
)

CLAIMS = asking(
    "language",
    Claim(
        "scan-turn-left",
        "zhang2024",
        "Fig 6a",
        "A small start with much decay composes “turn left” better than a large one with little, at every size.",
        "the small arm is above the large one at every size",
        f"{_LEARNED}; {_EVERY}; its lead, paired by seed, has a 95 % interval above 0 at one size at least",
        turn_left,
        revised=f"{arms.PAIRED}; the verdict stays",
        figure="20.1",
    ),
    Claim(
        "scan-new",
        "ours",
        "Fig 6a, new seeds",
        "On new seeds and in single precision, too, the small arm composes “turn left” better at every size.",
        "not reported",
        _ANEW,
        turn_left_anew,
        revised="seen in three seeds, then asked of six others",
        figure="20.2",
    ),
    Claim(
        "scan-going-on",
        "ours",
        "Fig 6a, scored as by the follow-up's script",
        "Where an answer may go on behind its true one, too, the small arm composes “turn left” better at every size.",
        "not reported",
        f"{_ANEW}; the whole test, a right answer may go on",
        turn_left_going_on,
        revised="a few kept answers of three other seeds had it the other way round at two sizes",
        figure="20.2",
    ),
    Claim(
        "scan-starts",
        "ours",
        "Fig 6a, decay",
        "With little decay and with as much as in the papers, the smaller start composes “turn left” better.",
        "the two act together; they are not told apart",
        f"{_CROSSED}: the smaller start's share is above the larger's {_SIGNS} at either decay",
        partial(_on_scan, pairs=_starts(LARGE[1], MUCH)),
        figure="20.4",
    ),
    Claim(
        "scan-decays",
        "ours",
        "Fig 6a, decay",
        "From either start, as much decay as in the papers composes “turn left” better than little.",
        "the two act together; they are not told apart",
        f"{_CROSSED}: the share with more decay is above that with less {_SIGNS} from either start",
        partial(_on_scan, pairs=_decays(MUCH, LARGE[1])),
        figure="20.4",
    ),
    *_taken_apart(
        "scan",
        "Fig 6a",
        ("composes “turn left” better", "composes “turn left” better"),
        "the small start with much decay is better",
        (MUCH, TENTH, _SIX),
        _on_scan,
        _ALONE,
    ),
    Claim(
        "scan-script",
        "ours",
        "Fig 6a, the follow-up's start",
        "With weights drawn as by the follow-up's code, too, where embeddings are alike in both arms, the small arm composes "
        "“turn left” better.",
        "the code of the follow-up; Fig. 6 says d_in^−γ for all",
        f"six seeds that other runs had, {SCAN['laptop'].middle:,} rows: {_LEARNED}; the small arm's share is above the large "
        f"arm's {_SIGNS}",
        turn_left_as_script,
        figure="20.4",
    ),
    Claim(
        "scan-doubled",
        "ours",
        "Fig 6a, a larger model",
        "In a model of twice the depth and width, too, the small arm composes “turn left” better.",
        "GPT-2's own size",
        f"six seeds that the smaller model had, {SCAN['laptop'].middle:,} rows: {_LEARNED}; the small arm's share is above the "
        f"large arm's {_SIGNS}",
        turn_left_doubled,
        figure="20.5",
    ),
    Claim(
        "cogs-doubled",
        "ours",
        "Fig 6c, a larger model",
        "In a model of twice the depth and width, too, the small arm is ahead on the 21 cases with few rows.",
        "GPT-2's own size",
        f"three seeds that the smaller model had, {COGS['laptop'].middle:,} rows: {_LEARNED}; the lead of the small arm, "
        "paired by seed, has a 95 % interval above 0",
        cogs_doubled,
        figure="20.5",
    ),
    Claim(
        "scan-jump",
        "ours",
        "control of Fig 6a",
        "A primitive that stands nowhere else in training, “jump”, is composed from neither start.",
        "not reported",
        f"{_LEARNED}; mean share at most {LOW:g} in both arms",
        jump,
    ),
    Claim(
        "scan-roundings",
        "ours",
        "Fig 6a, new seeds",
        "In bfloat16 both arms compose “turn left” as often as in single precision, but for what the last bit changes, too.",
        "not asked",
        f"{len(NEW_SEEDS)} new seeds of each arm, {SCAN['laptop'].middle:,} rows; {PRECISION.criterion}",
        PRECISION.measure,
        figure="20.2",
    ),
    Claim(
        "cogs-in",
        "zhang2024",
        "Fig 6b",
        "On sentences like those of training the two arms are alike in the end.",
        "both above .99 at 20,000 rows",
        f"mean share at least {HIGH:g} in both arms at the largest size; the two means within {CLOSE:g} of each other there",
        in_distribution,
        revised="to be alike earned partly by itself; made stricter with the results at hand",
        figure="20.1",
    ),
    Claim(
        "cogs-out",
        "zhang2024",
        "Fig 6c",
        "On the 21 cases that training does not show the small arm is ahead at every size.",
        "the small arm is above the large one at every size, and the gap stays where both are perfect in distribution",
        f"{_LEARNED}; {_EVERY}; its lead at the largest size, paired by seed, has a 95 % interval above 0",
        out_of_distribution,
        revised=f"{arms.PAIRED}; the verdict stays",
        figure="20.1",
    ),
    *_taken_apart(
        "cogs",
        "Fig 6c",
        ("is ahead on the 21 cases", "has more of the 21 cases right"),
        "the small arm is above the large one at every size",
        (COGS_MUCH, COGS_TENTH, _FIVE),
        _on_cogs,
        "asked after SCAN's runs had been seen",
    ),
    Claim(
        "cogs-roundings",
        "ours",
        "Fig 6b, c",
        "In bfloat16 COGS comes out as in single precision, but for what the last bit changes, too.",
        "not asked",
        f"the {len(rounded_cogs_specs('laptop'))} stored runs of the two arms; {COGS_PRECISION.criterion}",
        COGS_PRECISION.measure,
        figure="20.1",
    ),
    Claim(
        "cogs-in-longer",
        "ours",
        "Fig 6b, as many passes",
        "With most rows, and as many passes over them as over the fewest, the two arms are alike on sentences like those of "
        "training.",
        "both above .99 at 20,000 rows",
        f"three new seeds, single precision; mean share at least {HIGH:g} in both arms; the two means within {CLOSE:g}",
        in_distribution_longer,
        revised="asked since the first runs may have been too short",
        figure="20.3",
    ),
    Claim(
        "cogs-out-longer",
        "ours",
        "Fig 6c, as many passes",
        "With most rows, and as many passes over them as over the fewest, the small arm is ahead on the 21 cases.",
        "the small arm is above the large one",
        f"three new seeds, single precision; {_LEARNED}, and at least {FITTED:g} of those that alone show a word; the lead of "
        "the small arm, paired by seed, has a 95 % interval above 0",
        out_of_distribution_longer,
        revised="asked since the first runs may have been too short",
        figure="20.3",
    ),
)
