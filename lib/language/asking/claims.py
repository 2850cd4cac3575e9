"""Claims on PrOntoQA (Zhang et al. 2024, Fig. 7): criteria fixed before the runs that they judge."""

from __future__ import annotations

import numpy as np

from lib.core.read.claim import Claim, Finding, graded
from lib.core.read.measures import spread
from lib.core.record.store import Store
from lib.language import arms
from lib.language.asking import numbers
from lib.language.experiments import ASKING, CHAIN, HARD, LARGE, SMALL

EVERY = "the small arm's mean share is at least the large arm's at every size"
ONCE = "its lead has a 95 % interval over seeds above 0 at one size at least"
CHANCE = 0.6
NEAR = f"the large arm's mean share at the smallest size is at most {CHANCE:g} (chance is 0.5)"
COMPARED = "both arms learned their training rows in every run at two sizes at least"
FEWER = "at each of these sizes the small arm's mean number of steps is lower"
RISES = "the large arm's mean number of steps is highest at neither the smallest nor the largest size"
ALL = "every run of the large arm learned its training rows"
ABOVE = "the small arm's share has a 95 % interval over seeds above 0.5"
FALLS = "its lead over the large arm has a 95 % interval over seeds above 0"


def better(store: Store, profile: str) -> Finding:
    runs = numbers.of_asking(store, profile)
    sizes = numbers.sizes(runs, CHAIN, *SMALL)
    leads = [numbers.lead(runs[CHAIN, size, *SMALL], runs[CHAIN, size, *LARGE]) for size in sizes]
    smallest = numbers.own(runs[CHAIN, sizes[0], *LARGE])
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
            }
        ),
        len(smallest),
    )


def faster(store: Store, profile: str) -> Finding:
    runs = numbers.of_asking(store, profile)
    sizes = numbers.sizes(runs, CHAIN, *SMALL)
    steps = {arm: numbers.by_size(runs, CHAIN, *arm, name="fit") for arm in (LARGE, SMALL)}
    fit = [i for i in range(len(sizes)) if np.isfinite([steps[LARGE][i], steps[SMALL][i]]).all()]
    said = "; ".join(f"{sizes[i]:,} {steps[LARGE][i].mean():.0f} against {steps[SMALL][i].mean():.0f}" for i in fit)
    return Finding(
        f"steps to fit, large arm against small: {said or 'no size at which all fit'}",
        graded(
            {COMPARED: len(fit) >= 2, FEWER: bool(fit) and all(steps[SMALL][i].mean() < steps[LARGE][i].mean() for i in fit)}
        ),
        len(ASKING[profile].seeds),
    )


def turns(store: Store, profile: str) -> Finding:
    runs = numbers.of_asking(store, profile)
    sizes = numbers.sizes(runs, CHAIN, *LARGE)
    steps = numbers.by_size(runs, CHAIN, *LARGE, name="fit")
    known = bool(np.isfinite(steps).all())
    highest = int(steps.mean(1).argmax()) if known else 0
    return Finding(
        "steps to fit of the large arm: "
        + "; ".join(
            f"{size:,} {row.mean():.0f}"
            if np.isfinite(row).all()
            else f"{size:,} more than {ASKING[profile].gpt.train.steps:,}"
            for size, row in zip(sizes, steps, strict=True)
        ),
        graded({ALL: known, RISES: known and 0 < highest < len(sizes) - 1}),
        steps.shape[1],
    )


def hard(store: Store, profile: str) -> Finding:
    runs = numbers.of_asking(store, profile)
    size = ASKING[profile].middle
    large, small = (numbers.own(runs[HARD, size, *arm]) for arm in (LARGE, SMALL))
    _, low, _ = arms.difference(small, large)
    half = arms.difference(small, np.full(2, 0.5))
    return Finding(
        f"labels right: {spread(large, 3)} (large arm), {spread(small, 3)} (small arm)",
        graded({ABOVE: half[1] > 0, FALLS: low > 0}),
        len(small),
    )


CLAIMS = (
    Claim(
        "prontoqa-better",
        "zhang2024",
        "Fig 7",
        "A small start with much decay answers more questions right than a large one at every size, and the large one is near "
        "chance where the training set is small.",
        "the small arm is better at the same size; the large arm's accuracy is low at small sizes",
        f"{EVERY}; {ONCE}; {NEAR}",
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
        "prontoqa-hard",
        "ours",
        "variant of Fig 7",
        "The small start is ahead, and above chance, too, where the distractor cannot be told from the true rule by its looks.",
        "not reported",
        f"{ABOVE}; {FALLS}",
        hard,
    ),
)
