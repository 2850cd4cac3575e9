"""Every statement of Li et al. 2024a that chapter 13 tests: generalization in and out of domain, and classical learners."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from lib.core.claim import Claim, Finding, graded
from lib.core.measures import spread
from lib.core.store import Store
from lib.in_context.classical import LEARNERS, LOGISTIC
from lib.in_context.experiments import ALPHA, LENGTH
from lib.in_context.out_of_domain.numbers import (
    CONTEST_LENGTHS,
    CONTROL,
    CYCLE,
    ICL,
    SPAN,
    along,
    at_foreign,
    contest_curve,
    cover_runs,
    errors_of,
    gpt_errors,
    gpt_needed,
    gpt_runs,
    ordered,
    seeds,
    span_of,
    speed_runs,
    steps,
)
from lib.in_context.runs import main_runs
from lib.in_context.study import ALPHAS, FOREIGN_SUM, SUMS
from lib.in_context.task import no_match_floor


def _claim(
    id: str,
    item: str,
    statement: str,
    reported: str,
    criterion: str,
    check: Callable[[Store, str], Finding],
    paper: str = "li2024nonlinear",
) -> Claim:
    return Claim(id, paper, item, statement, reported, criterion, check)


def cover(store: Store, profile: str) -> Finding:
    groups = cover_runs(store, profile)
    cycle, control = (errors_of(groups[name], "unseen") for name in (CYCLE, CONTROL))
    return Finding(
        f"unseen tasks wrong: {spread(cycle, 3)} after the cycle (worst seed {cycle.max():.3f}), {spread(control, 3)} after "
        f"three patterns only; smallest difference in a seed {(control - cycle).min():.2f}",
        graded([bool((cycle <= 0.01).all()), bool((control - cycle >= 0.1).all())]),
        seeds(groups[CYCLE]),
    )


def steps_alpha(store: Store, profile: str) -> Finding:
    groups = speed_runs(store, profile, "α")
    found = steps(groups)
    return Finding(f"{found.words}; theory −0.67", graded([found.slope[2] < 0]), seeds(next(iter(groups.values()))))


def steps_m1(store: Store, profile: str) -> Finding:
    groups = speed_runs(store, profile, "M₁")
    found = steps(groups)
    _, low, high = found.slope
    return Finding(found.words, graded([low <= 0 <= high]), seeds(next(iter(groups.values()))))


def prompt_length(store: Store, profile: str) -> Finding:
    groups = speed_runs(store, profile, "α l")
    found = steps(groups)
    long = found.x >= 8 - 1e-9
    means = ", ".join(f"{x:g}: {found.steps[found.x == x].mean():.0f}" for x in groups)
    return Finding(
        f"{int((~found.open & long).sum())} of {int(long.sum())} runs with α l ≥ 8 get there; mean steps by α l {means}; "
        f"{found.words}",
        graded([not bool((found.open & long).any())]),
        seeds(next(iter(groups.values()))),
    )


def floor(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    lengths = range(1, 11)
    found = along(runs, lengths, alpha=ALPHA)
    floors = [no_match_floor(ALPHA, length) for length in lengths]
    above = [share.interval[1] >= line for share, line in zip(found.shares, floors, strict=True)]
    at = lambda length: f"{found.shares[length - 1].mean:.3f} against {floors[length - 1]:.3f} at l = {length}"
    return Finding(
        f"not below the floor at {sum(above)} of {len(above)} lengths; {at(1)}, {at(4)}, {at(10)}",
        graded([all(above)]),
        seeds(runs),
    )


def floor_gpt2(store: Store, profile: str) -> Finding:
    runs = gpt_runs(store, profile)
    found, floors = gpt_errors(runs, "in domain"), {length: no_match_floor(ALPHA, length) for length in (1, 2)}
    parts = [
        f"{found[n].mean:.3f} (up to {found[n].interval[1]:.3f}) against {line:.3f} at l = {n}" for n, line in floors.items()
    ]
    return Finding(", ".join(parts), graded([found[n].interval[1] < line for n, line in floors.items()]), seeds(runs))


def sum_hinge(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    loss = {s: along(runs, [LENGTH], alpha=ALPHA, **span_of(s)).loss[:, 0] for s in (*SUMS, None)}
    inside = np.array([loss[s] for s in SUMS])
    falls = (inside[1:] < inside[:-1]) | ((inside[1:] == 0) & (inside[:-1] == 0))
    words = ", ".join(f"{spread(loss[s], 5)} at S₁ = {s:g}" for s in SUMS)
    return Finding(
        f"mean hinge loss {words}; {SPAN} {spread(loss[None])}",
        graded(
            [
                bool(falls.all()),
                all(bool((loss[s] <= 0.01).all()) for s in SUMS if s >= 1),
                bool((loss[None] >= 0.5).all()),
            ]
        ),
        seeds(runs),
    )


def sum_needed(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    loss = {s: along(runs, [LENGTH], alpha=ALPHA, **span_of(s)).loss[:, 0] for s in SUMS if s < 1}
    return Finding(
        "mean hinge loss " + ", ".join(f"{spread(values, 5)} at S₁ = {s:g}" for s, values in loss.items()),
        graded([bool((values > 0.01).all()) for values in loss.values()]),
        seeds(runs),
    )


def sum_gpt2(store: Store, profile: str) -> Finding:
    runs = gpt_runs(store, profile)
    each = {s: gpt_errors(runs, at_foreign(s), ALPHA)[LENGTH].each for s in SUMS}
    mean = [float(each[s].mean()) for s in SUMS]
    return Finding(
        f"error at l = {LENGTH}: " + ", ".join(f"{spread(each[s], 4)} at S₁ = {s:g}" for s in SUMS),
        graded(
            [
                all(m < 0.01 for s, m in zip(SUMS, mean, strict=True) if s >= 1),
                all(m >= 0.01 for s, m in zip(SUMS, mean, strict=True) if s < 1),
                all(b <= a for a, b in itertools.pairwise(mean)),
            ]
        ),
        seeds(runs),
    )


def alpha_length(store: Store, profile: str) -> Finding:
    runs = gpt_runs(store, profile)
    found = {name: gpt_needed(runs, name) for name in ("in domain", at_foreign(FOREIGN_SUM))}
    say = lambda by: ", ".join(f"{'never' if n is None else n} at α' = {alpha:g}" for alpha, n in by.items())
    return Finding(
        "examples needed: "
        + "; ".join(f"{'out of domain' if i else 'in domain'} {say(by)}" for i, by in enumerate(found.values()))
        + f"; at l = {LENGTH} errors are "
        + "; ".join(", ".join(f"{gpt_errors(runs, name, a)[LENGTH].mean:.4f} at α' = {a:g}" for a in ALPHAS) for name in found),
        graded([ordered(by) for by in found.values()]),
        seeds(runs),
    )


def classical_close(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    icl, logistic = ([p.mean for p in contest_curve(runs, who, 0.8)] for who in (ICL, LOGISTIC))
    apart = float(np.abs(np.subtract(icl, logistic)).mean())
    return Finding(
        f"mean difference {apart:.4f} over l = {CONTEST_LENGTHS[0]} … {CONTEST_LENGTHS[-1]}; at l = {CONTEST_LENGTHS[0]} "
        f"in context {icl[0]:.3f}, logistic regression {logistic[0]:.3f}",
        graded([apart <= 0.02]),
        seeds(runs),
    )


def classical_best(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    icl = np.array([p.mean for p in contest_curve(runs, ICL, 0.6)])
    others = {who: np.array([p.mean for p in contest_curve(runs, who, 0.6)]) for who in LEARNERS}
    below = {who: int((icl < error).sum()) for who, error in others.items()}
    n, short = len(CONTEST_LENGTHS), CONTEST_LENGTHS[0]
    return Finding(
        f"below at so many of {n} lengths: {', '.join(f'{who} {count}' for who, count in below.items())}; wrong at "
        f"l = {short}: in context {icl[0]:.3f}, " + ", ".join(f"{who} {error[0]:.3f}" for who, error in others.items()),
        graded([all(count == n for count in below.values())]),
        seeds(runs),
    )


CLAIMS = (
    _claim(
        "icl-cover",
        "Theorem 1, condition 1",
        "A small set of training tasks is enough if it covers all patterns and labels alike.",
        "a small fraction of the tasks is sufficient",
        "after six tasks in a cycle at most .01 of the answers in unseen tasks are wrong, in every seed; after six tasks of "
        "three patterns at least .1 more, in every seed",
        cover,
    ),
    _claim(
        "icl-steps-alpha",
        "Theorem 1, condition 3",
        "The more examples show the task, the fewer steps are needed.",
        "T = Θ(α^−2/3)",
        "exponent of the steps to a held-out hinge loss of .1 against α: 95 % interval below 0",
        steps_alpha,
    ),
    _claim(
        "icl-steps-m1",
        "Theorem 1, condition 3",
        "The number of steps does not depend on the number of patterns.",
        "M₁ is not in T",
        "the 95 % interval of the exponent against M₁ contains 0",
        steps_m1,
    ),
    _claim(
        "icl-prompt-length",
        "Theorem 1, condition 2",
        "Training prompts need no more than a constant number of task examples.",
        "l ≥ Ω(1 / α)",
        "with α l ≥ 8 every run reaches a held-out hinge loss of .1 within training",
        prompt_length,
    ),
    _claim(
        "icl-sum-hinge",
        "Theorem 2",
        "The one-layer model generalizes to patterns in the span of its own if their coefficients add up to one or more.",
        "S₁ ≥ 1 and l' ≥ 1 / α' are sufficient",
        "at l = 20, α' = .8, every seed: the mean hinge loss falls with S₁ over .5 … 1.3 (or is 0); at most .01 for S₁ ≥ 1; at "
        "least .5 outside the span",
        sum_hinge,
    ),
    _claim(
        "icl-sum-needed",
        "Fig 12, one layer",
        "S₁ ≥ 1 is needed, not only sufficient, for the one-layer model to generalize.",
        "“is needed”",
        "asked after the results: at l = 20, α' = .8, in every seed the mean hinge loss is above .01 at S₁ = .5, .7 and .9",
        sum_needed,
    ),
    _claim(
        "icl-sum-gpt2",
        "Fig 12",
        "GPT-2 answers out of domain well where S₁ ≥ 1, and less well where it is smaller.",
        "some .001 for S₁ ≥ 1, some .01 below, ordered",
        "means of seeds at l = 20: error below .01 for S₁ ≥ 1; at least .01 below 1; they do not rise with S₁",
        sum_gpt2,
    ),
    _claim(
        "icl-alpha-length",
        "Fig 13",
        "The more examples of a prompt show the task, the fewer are needed.",
        "the required length decreases as α' increases",
        "examples for an error of at most .02: more at α' = .8 than at 1, and .9 between; a part in domain, a part out of it",
        alpha_length,
    ),
    _claim(
        "icl-floor",
        "section 2",
        "The one-layer model copies labels: where no example shows the query's pattern it does no better than a guess.",
        "our inference from the mechanism",
        "at α' = .8 and l = 1 … 10 the error's 95 % interval is nowhere wholly below ½ (1 − α' / 2)^l",
        floor,
        "ours",
    ),
    _claim(
        "icl-floor-gpt2",
        "our addition",
        "GPT-2 does more than copy: it also takes the opposite of the other pattern's label.",
        "not discussed",
        "at α' = .8 the error's 95 % interval lies below ½ (1 − α' / 2)^l; one part for l = 1, one for l = 2",
        floor_gpt2,
        "ours",
    ),
    _claim(
        "icl-classical-8",
        "Fig 27",
        "Where most examples show the task, learning in context is about as good as logistic regression on the prompt.",
        "close to logistic regression at α' = .8",
        "mean over l = 6 … 20 of the difference of the two errors, without its sign, at most .02",
        classical_close,
    ),
    _claim(
        "icl-classical-6",
        "Fig 28",
        "Where fewer do, learning in context is better than every classical learner.",
        "clearly best at α' = .6",
        "error below that of each of five learners at every l from 6 to 20",
        classical_best,
    ),
)
