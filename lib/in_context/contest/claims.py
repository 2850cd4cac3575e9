"""What Figures 27 and 28 of Li et al. (2024a) say of classical learners, as claims (chapter 18)."""

from __future__ import annotations

from lib.core.read.claim import Claim, Finding, graded
from lib.core.record.store import Store
from lib.in_context.classical import LEARNERS, LOGISTIC
from lib.in_context.contest.metrics import (
    BEST_ALPHA,
    CLOSE,
    CLOSE_ALPHA,
    COUNT,
    ICL,
    LENGTHS,
    NOISE,
    ahead,
    apart,
    behind,
    curve,
    curves,
    prompts_of,
)
from lib.in_context.runs import main_runs

AS_LOGISTIC = f"the mean absolute difference of the two errors is at most {CLOSE:g}"
BEST_OF_ALL = f"at no l from {LENGTHS[0]} to {LENGTHS[-1]} above that of any of five learners by more than the 95 % interval"
CLEARLY = "over all l clearly below that of each of them, by the 95 % interval"
"""The parts of the criteria."""
NOISY = (
    f"features of test prompts have noise (sd {NOISE:g}), at which the linear SVM's errors are nearest to the talk's; without "
    f"it hardly any learner errs at {LENGTHS[-1]} examples. Then {COUNT:,} prompts a point in place of 400, so that intervals "
    "are narrower"
)


def classical_close(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    by = {who: curve(runs, who, CLOSE_ALPHA, count=prompts_of(profile)) for who in (ICL, LOGISTIC)}
    gap = apart(by, LOGISTIC)
    return Finding(
        f"mean absolute difference {gap:.4f} over l = {LENGTHS[0]} … {LENGTHS[-1]}; at l = {LENGTHS[0]} in context "
        f"{by[ICL][0].mean:.3f}, logistic regression {by[LOGISTIC][0].mean:.3f}",
        graded({AS_LOGISTIC: gap <= CLOSE}),
        len(runs),
    )


def classical_best(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    by = curves(runs, count=prompts_of(profile))[BEST_ALPHA]
    first, last = ({who: points[i].mean for who, points in by.items()} for i in (0, -1))
    say = lambda errors: ", ".join(f"{who} {error:.3f}" for who, error in errors.items())
    return Finding(
        f"wrong at l = {LENGTHS[0]}: {say(first)}; at l = {LENGTHS[-1]}: {say(last)}",
        graded({BEST_OF_ALL: not ahead(by), CLEARLY: behind(by) == list(LEARNERS)}),
        len(runs),
    )


CLAIMS = (
    Claim(
        "icl-classical-8",
        "li2024nonlinear",
        "Fig 27",
        "Where most examples show the task, learning in context is about as good as logistic regression on the prompt.",
        "close to logistic regression at α' = .8; the linear SVM errs .012 of the time at 20 examples",
        f"at α' = {CLOSE_ALPHA:g}, over l = {LENGTHS[0]} … {LENGTHS[-1]}, {AS_LOGISTIC}",
        classical_close,
        revised=NOISY,
    ),
    Claim(
        "icl-classical-6",
        "li2024nonlinear",
        "Fig 28",
        "Where fewer do, learning in context is better than every classical learner.",
        "clearly best at α' = .6; the linear SVM errs .035 of the time at 20 examples",
        f"error at α' = {BEST_ALPHA:g}: {BEST_OF_ALL}; {CLEARLY}",
        classical_best,
        revised=f"{NOISY}, and where two learners make no error neither can be strictly better",
    ),
)
