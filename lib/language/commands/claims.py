"""Claims on SCAN and COGS (Zhang et al. 2024, Fig. 6): criteria fixed before the runs that they judge."""

from __future__ import annotations

from collections.abc import Sequence

from lib.core.read.claim import Claim, Finding, graded
from lib.core.read.measures import spread
from lib.core.record.store import Store, StoredRun
from lib.language import arms
from lib.language.arms import FITTED
from lib.language.commands import metrics
from lib.language.experiments import COGS, JUMP, LARGE, SCAN, SMALL, TURN

LEARNED = f"every run answers at least {FITTED:g} of its training rows right"
EVERY = "the small arm's mean share is above the large arm's at every size"
ONCE = "its lead has a 95 % interval over seeds above 0 at one size at least"
LARGEST = "its lead at the largest size has a 95 % interval over seeds above 0"
LOW, HIGH, CLOSE = 0.1, 0.99, 0.01
NEITHER = f"mean share at most {LOW:g} in both arms"
BOTH = f"mean share at least {HIGH:g} in both arms at the largest size"
LIKE = f"the two means within {CLOSE:g} of each other there"


def _both(runs: metrics.Runs, main: str, size: int) -> tuple[Sequence[StoredRun], Sequence[StoredRun]]:
    return runs[main, size, *LARGE], runs[main, size, *SMALL]


def _said(leads: dict[int, tuple[float, float, float]]) -> str:
    return "; ".join(f"{size:,} rows {gap:+.3f} [{low:+.3f}, {high:+.3f}]" for size, (gap, low, high) in leads.items())


def _learned(runs: metrics.Runs, main: str) -> bool:
    return all(arms.fitted(group) for kind, group in runs.items() if kind[0] == main and kind[2:] in (LARGE, SMALL))


def turn_left(store: Store, profile: str) -> Finding:
    runs = metrics.of_scan(store, profile)
    leads = metrics.leads(runs, TURN, "test")
    return Finding(
        f"the small arm's lead: {_said(leads)}",
        graded(
            {
                EVERY: all(gap > 0 for gap, *_ in leads.values()),
                ONCE: any(low > 0 for _, low, _ in leads.values()),
            },
            {LEARNED: _learned(runs, TURN)},
        ),
        len(runs[TURN, SCAN[profile].middle, *SMALL]),
    )


def jump(store: Store, profile: str) -> Finding:
    runs = metrics.of_scan(store, profile)
    large, small = _both(runs, JUMP, SCAN[profile].middle)
    return Finding(
        f"shares right: {spread(arms.shares(large), 3)} (large arm), {spread(arms.shares(small), 3)} (small arm)",
        graded(
            {NEITHER: max(arms.shares(large).mean(), arms.shares(small).mean()) <= LOW},
            {LEARNED: arms.fitted(large) and arms.fitted(small)},
        ),
        len(small),
    )


def in_distribution(store: Store, profile: str) -> Finding:
    runs = metrics.of_cogs(store, profile)
    large, small = _both(runs, "COGS", max(COGS[profile].sizes))
    means = arms.shares(large).mean(), arms.shares(small).mean()
    return Finding(
        f"shares right: {spread(arms.shares(large), 3)} (large arm), {spread(arms.shares(small), 3)} (small arm)",
        graded({BOTH: min(means) >= HIGH, LIKE: bool(abs(means[0] - means[1]) <= CLOSE)}),
        len(small),
    )


def out_of_distribution(store: Store, profile: str) -> Finding:
    runs = metrics.of_cogs(store, profile)
    leads = metrics.leads(runs, "COGS", "gen")
    return Finding(
        f"the small arm's lead: {_said(leads)}",
        graded(
            {EVERY: all(gap > 0 for gap, *_ in leads.values()), LARGEST: leads[max(leads)][1] > 0},
            {LEARNED: _learned(runs, "COGS")},
        ),
        len(runs["COGS", COGS[profile].middle, *SMALL]),
    )


CLAIMS = (
    Claim(
        "scan-turn-left",
        "zhang2024",
        "Fig 6a",
        'A small start with much decay composes "turn left" better than a large one with little, at every size.',
        "the small arm is above the large one at every size",
        f"{LEARNED}; {EVERY}; {ONCE}",
        turn_left,
    ),
    Claim(
        "scan-jump",
        "ours",
        "control of Fig 6a",
        'A primitive that stands nowhere else in training, "jump", is composed from neither start.',
        "not reported",
        f"{LEARNED}; {NEITHER}",
        jump,
    ),
    Claim(
        "cogs-in",
        "zhang2024",
        "Fig 6b",
        "On sentences like those of training the two arms are alike in the end.",
        "both above .99 at 20,000 rows",
        f"{BOTH}; {LIKE}",
        in_distribution,
    ),
    Claim(
        "cogs-out",
        "zhang2024",
        "Fig 6c",
        "On the 21 cases that training does not show the small arm is ahead at every size.",
        "the small arm is above the large one at every size, and the gap stays where both are perfect in distribution",
        f"{LEARNED}; {EVERY}; {LARGEST}",
        out_of_distribution,
    ),
)
