"""Claims on PrOntoQA (Zhang et al. 2024, Fig. 7): criteria fixed before the runs that they judge."""

from __future__ import annotations

import numpy as np

from lib.core.read.claim import Claim, Finding, graded
from lib.core.read.measures import spread
from lib.core.record.store import Store
from lib.language import arms
from lib.language.asking import metrics
from lib.language.experiments import ASKING, CHAIN, HARD, LARGE, SMALL

LEARNED = "every run tells the labels of its own questions at every size"
EVERY = "the small arm's mean share is at least the large arm's at every size"
ONCE = "its lead has a 95 % interval over seeds above 0 at one size at least"
CHANCE = 0.6
NEAR = f"the large arm's mean share at the smallest size is at most {CHANCE:g} (chance is 0.5)"
COMPARED = "both arms tell the labels of their own questions in every run at two sizes at least"
FEWER = "at each of these sizes the small arm's mean number of steps is lower"
RISES = "the large arm's mean number of steps is highest at neither the smallest nor the largest size"
ALL = "every run of the large arm tells the labels of its own questions"
ABOVE = "the small arm's share has a 95 % interval over seeds above 0.5"
READER = "the small arm's share has a 95 % interval over seeds above the best reader's that does not reason"
FALLS = "its lead over the large arm has a 95 % interval over seeds above 0"


def better(store: Store, profile: str) -> Finding:
    runs = metrics.of_asking(store, profile)
    sizes = metrics.sizes(runs, CHAIN, *SMALL)
    leads = [metrics.lead(runs[CHAIN, size, *SMALL], runs[CHAIN, size, *LARGE]) for size in sizes]
    smallest = metrics.gold(runs[CHAIN, sizes[0], *LARGE])
    steps = [metrics.by_size(runs, CHAIN, *arm, name="steps") for arm in (LARGE, SMALL)]
    return Finding(
        "the small arm's lead: "
        + "; ".join(
            f"{size:,} {gap:+.3f} [{low:+.3f}, {high:+.3f}]" for size, (gap, low, high) in zip(sizes, leads, strict=True)
        )
        + f"; the large arm at {sizes[0]:,}: {spread(smallest, 3)}",
        graded(
            {
                EVERY: all(gap >= 0 for gap, *_ in leads),
                ONCE: any(low > 0 for _, low, _ in leads),
                NEAR: bool(smallest.mean() <= CHANCE),
            },
            {LEARNED: bool(np.isfinite(steps).all())},
        ),
        len(smallest),
    )


def faster(store: Store, profile: str) -> Finding:
    runs = metrics.of_asking(store, profile)
    sizes = metrics.sizes(runs, CHAIN, *SMALL)
    steps = {arm: metrics.by_size(runs, CHAIN, *arm, name="steps") for arm in (LARGE, SMALL)}
    both = [i for i in range(len(sizes)) if np.isfinite([steps[LARGE][i], steps[SMALL][i]]).all()]
    said = "; ".join(f"{sizes[i]:,} {steps[LARGE][i].mean():.0f} against {steps[SMALL][i].mean():.0f}" for i in both)
    return Finding(
        f"steps until labels are learned, large arm against small: {said or 'no size at which all learn them'}",
        graded(
            {FEWER: bool(both) and all(steps[SMALL][i].mean() < steps[LARGE][i].mean() for i in both)},
            {COMPARED: len(both) >= 2},
        ),
        len(ASKING[profile].seeds),
    )


def turns(store: Store, profile: str) -> Finding:
    runs = metrics.of_asking(store, profile)
    sizes = metrics.sizes(runs, CHAIN, *LARGE)
    steps = metrics.by_size(runs, CHAIN, *LARGE, name="steps")
    known = bool(np.isfinite(steps).all())
    highest = int(steps.mean(1).argmax()) if known else 0
    return Finding(
        "steps until labels are learned, large arm: "
        + "; ".join(
            f"{size:,} {row.mean():.0f}" if np.isfinite(row).all() else f"{size:,} more than there are"
            for size, row in zip(sizes, steps, strict=True)
        ),
        graded({RISES: known and 0 < highest < len(sizes) - 1}, {ALL: known}),
        steps.shape[1],
    )


def _own(runs: metrics.Runs, variant: str, size: int, part: str, bar: float) -> Finding:
    """Is the small arm above `bar` behind chains of its own, and ahead of the large one?"""
    large, small = (metrics.own(runs[variant, size, *arm]) for arm in (LARGE, SMALL))
    _, low, _ = arms.difference(small, large)
    _, least, _ = arms.difference(small, np.full(2, bar))
    return Finding(
        f"{size:,} questions, labels right: {spread(large, 3)} (large arm), {spread(small, 3)} (small arm), against {bar:.3f}",
        graded({part: least > 0, FALLS: low > 0}),
        len(small),
    )


def own(store: Store, profile: str) -> Finding:
    runs = metrics.of_asking(store, profile)
    return _own(runs, CHAIN, metrics.sizes(runs, CHAIN, *SMALL)[-1], ABOVE, 0.5)


def hard(store: Store, profile: str) -> Finding:
    bar = max(metrics.without_reasoning(profile, True).values())
    return _own(metrics.of_asking(store, profile), HARD, max(ASKING[profile].sizes), READER, bar)


CLAIMS = (
    Claim(
        "prontoqa-better",
        "zhang2024",
        "Fig 7",
        "A small start with much decay answers more questions right than a large one at every size, and the large one is near "
        "chance where the training set is small.",
        "the small arm is better at the same size; the large arm's accuracy is low at small sizes",
        f"labels behind the gold chain: {LEARNED}; {EVERY}; {ONCE}; {NEAR}",
        better,
    ),
    Claim(
        "prontoqa-faster",
        "zhang2024",
        "Fig 7",
        "The small start learns a training set of the same size in fewer steps.",
        "the small arm converges faster",
        f"{COMPARED}; {FEWER}",
        faster,
    ),
    Claim(
        "prontoqa-turns",
        "zhang2024",
        "Fig 7a",
        "With the large start more data first take longer to learn, then less long.",
        "convergence steps first grow with the data, then shrink",
        f"{ALL}; {RISES}",
        turns,
    ),
    Claim(
        "prontoqa-own",
        "ours",
        "reading of Fig 7",
        "With most data the small start also writes chains of its own that lead to the right answer, and more of them than the "
        "large one.",
        "not reported",
        f"largest training set, labels behind chains of their own: {ABOVE}; {FALLS}",
        own,
    ),
    Claim(
        "prontoqa-hard",
        "ours",
        "variant of Fig 7",
        "The small start is ahead where counting tells little of which rule is the distractor, and of readers that do not "
        "reason.",
        "not reported",
        f"hard variant, labels behind chains of their own: {READER}; {FALLS}",
        hard,
    ),
)
