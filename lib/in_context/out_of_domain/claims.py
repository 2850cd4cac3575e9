"""Every statement of Li et al. 2024a that chapter 13 tests: generalization in and out of domain."""

from __future__ import annotations

import itertools

import numpy as np

from lib.core.read.claim import Claim, Finding, graded
from lib.core.read.measures import spread
from lib.core.record.store import Store
from lib.in_context.experiments import ALPHA, LENGTH
from lib.in_context.out_of_domain.metrics import (
    CONTROL,
    CYCLE,
    ENOUGH,
    FEW,
    RARE,
    SMALL_LOSS,
    SPAN,
    THEORY,
    along,
    at_foreign,
    cover_runs,
    errors_of,
    gpt_errors,
    gpt_needed,
    gpt_runs,
    mean_steps,
    minus,
    ordered,
    reported,
    seeds,
    span_of,
    speed_runs,
    steps,
    theorem_m1,
    wrong,
)
from lib.in_context.runs import LEVEL, main_runs
from lib.in_context.study import ALPHAS, FOREIGN_SUM, N_TEST, SUMS
from lib.in_context.task import no_match_floor

WRONG, WORSE = 0.01, 0.1
"""The share of errors of a model that has learned from the cycle, and by how much a set that leaves patterns out does worse."""
ENOUGH_EXAMPLES = 8
"""Task examples in a training prompt, α l, from which on every run learns."""
NOISE = 0.001
"""By how much hinge losses over some thousand prompts may differ for nothing."""
LARGE_LOSS = 0.5
"""The hinge loss of who does not generalize."""
BEST_SUM = 1
"""The S₁ of Theorem 2."""
FLOOR_LENGTHS, BELOW_LENGTHS = range(1, 11), (1, 2)

COVERED = f"after six tasks in a cycle at most {WRONG:g} of the answers in unseen tasks are wrong, in every seed"
UNCOVERED = f"after six tasks of three patterns at least {WORSE:g} more, in every seed"
FALLS = "95 % interval below 0"
BY_M1 = "the 95 % interval of the steps' exponent against M₁ lies above 0"
THETA_M1 = "that against M₁ √log M₁ holds 1"
REACHED = f"with α l ≥ {ENOUGH_EXAMPLES} every run reaches a held-out hinge loss of {LEVEL:g} within training"
LOSS_FALLS = f"from one S₁ to the next over {SUMS[0]:g} … {SUMS[-1]:g} the hinge loss rises by at most {NOISE:g}"
LOSS_SMALL = f"at most {SMALL_LOSS:g} for S₁ ≥ {BEST_SUM}"
LOSS_LARGE = f"at least {LARGE_LOSS:g} outside the span"
NEEDED = {s: f"above {SMALL_LOSS:g} at S₁ = {s:g}" for s in SUMS if s < BEST_SUM}
GPT_RARE = f"error below {RARE:g} for S₁ ≥ {BEST_SUM}"
GPT_MORE = f"at least {RARE:g} below {BEST_SUM}"
GPT_FALLS = "errors do not rise with S₁"
DOMAINS = {"in domain": "in domain", at_foreign(FOREIGN_SUM): "out of domain"}
FEWER = {name: f"{words} fewer at every larger α' of " + ", ".join(f"{a:g}" for a in ALPHAS) for name, words in DOMAINS.items()}
NOT_BELOW = "the error's 95 % interval is nowhere wholly below ½ (1 − α' / 2)^l"
BELOW = {length: f"below it for l = {length}" for length in BELOW_LENGTHS}
"""The parts of the criteria."""


def cover(store: Store, profile: str) -> Finding:
    groups = cover_runs(store, profile)
    cycle, control = (errors_of(groups[name], "unseen") for name in (CYCLE, CONTROL))
    few = cycle.sum() * N_TEST <= FEW
    worst = "" if few else f" (worst seed {cycle.max():.3f})"
    return Finding(
        f"unseen tasks wrong: {wrong(cycle, 3)} after the cycle{worst}, {wrong(control, 3)} after three patterns only; "
        f"smallest difference in a seed {minus(f'{(control - cycle).min():z.2f}')}",
        graded({COVERED: bool((cycle <= WRONG).all()), UNCOVERED: bool((control - cycle >= WORSE).all())}),
        seeds(groups[CYCLE]),
    )


def steps_alpha(store: Store, profile: str) -> Finding:
    groups = speed_runs(store, profile, "α")
    found = steps(groups)
    theory = minus(f"{THEORY['α']:.2f}")
    return Finding(f"{found.words}; theory {theory}", graded({FALLS: found.slope[2] < 0}), seeds(next(iter(groups.values()))))


def steps_m1(store: Store, profile: str) -> Finding:
    groups = speed_runs(store, profile, "M₁")
    found = steps(groups)
    value, low, high = theorem_m1(found)
    return Finding(
        minus(f"{found.words}; against M₁ √log M₁ {value:+.2f} [{low:+.2f}, {high:+.2f}]"),
        graded({BY_M1: found.slope[1] > 0, THETA_M1: low <= 1 <= high}),
        seeds(next(iter(groups.values()))),
    )


def prompt_length(store: Store, profile: str) -> Finding:
    groups = speed_runs(store, profile, "α l")
    found = steps(groups)
    long = found.x >= ENOUGH_EXAMPLES - 1e-9
    means = ", ".join(f"{mean_steps(found, x)} at {x:g}" for x in groups)
    return Finding(
        f"{int((~found.open & long).sum())} of {int(long.sum())} runs with α l ≥ {ENOUGH_EXAMPLES} get there; mean steps by "
        f"α l: {means}; {found.words}",
        graded({REACHED: not bool((found.open & long).any())}),
        seeds(next(iter(groups.values()))),
    )


def floor(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    found = along(runs, FLOOR_LENGTHS, alpha=ALPHA)
    floors = [no_match_floor(ALPHA, length) for length in FLOOR_LENGTHS]
    above = [share.interval[1] >= line for share, line in zip(found.shares, floors, strict=True)]
    at = lambda length: f"{found.shares[length - 1].mean:.3f} against {floors[length - 1]:.3f} at l = {length}"
    return Finding(
        f"not below the floor at {sum(above)} of {len(above)} lengths; {at(1)}, {at(4)}, {at(10)}",
        graded({NOT_BELOW: all(above)}),
        seeds(runs),
    )


def floor_gpt2(store: Store, profile: str) -> Finding:
    runs = gpt_runs(store, profile)
    found, floors = gpt_errors(runs, "in domain"), {length: no_match_floor(ALPHA, length) for length in BELOW_LENGTHS}
    words = [
        f"{found[n].mean:.3f} (up to {found[n].interval[1]:.3f}) against {line:.3f} at l = {n}" for n, line in floors.items()
    ]
    return Finding(", ".join(words), graded({BELOW[n]: found[n].interval[1] < line for n, line in floors.items()}), seeds(runs))


def sum_hinge(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    loss = {s: along(runs, [LENGTH], alpha=ALPHA, **span_of(s)).loss[:, 0] for s in (*SUMS, None)}
    inside = np.array([loss[s] for s in SUMS])
    falls = inside[1:] <= inside[:-1] + NOISE
    words = ", ".join(f"{reported(loss[s], 5)} at S₁ = {s:g}" for s in SUMS)
    return Finding(
        f"mean hinge loss {words}; {SPAN} {reported(loss[None], 2)}",
        graded(
            {
                LOSS_FALLS: bool(falls.all()),
                LOSS_SMALL: all(bool((loss[s] <= SMALL_LOSS).all()) for s in SUMS if s >= BEST_SUM),
                LOSS_LARGE: bool((loss[None] >= LARGE_LOSS).all()),
            }
        ),
        seeds(runs),
    )


def sum_needed(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    loss = {s: along(runs, [LENGTH], alpha=ALPHA, **span_of(s)).loss[:, 0] for s in NEEDED}
    return Finding(
        "mean hinge loss " + ", ".join(f"{reported(values, 5)} at S₁ = {s:g}" for s, values in loss.items()),
        graded({NEEDED[s]: bool((values > SMALL_LOSS).all()) for s, values in loss.items()}),
        seeds(runs),
    )


def sum_gpt2(store: Store, profile: str) -> Finding:
    runs = gpt_runs(store, profile)
    each = {s: gpt_errors(runs, at_foreign(s))[LENGTH].each for s in SUMS}
    mean = {s: float(each[s].mean()) for s in SUMS}
    return Finding(
        f"error at l = {LENGTH}: " + ", ".join(f"{spread(each[s], 4)} at S₁ = {s:g}" for s in SUMS),
        graded(
            {
                GPT_RARE: all(m < RARE for s, m in mean.items() if s >= BEST_SUM),
                GPT_MORE: all(m >= RARE for s, m in mean.items() if s < BEST_SUM),
                GPT_FALLS: all(b <= a for a, b in itertools.pairwise(mean.values())),
            }
        ),
        seeds(runs),
    )


def alpha_length(store: Store, profile: str) -> Finding:
    runs = gpt_runs(store, profile)
    wins = {name: ordered(runs, name) for name in DOMAINS}
    say = lambda by: ", ".join(f"{'never' if n is None else f'{n:.1f}'} at α' = {alpha:g}" for alpha, n in by.items())
    return Finding(
        "examples needed: "
        + "; ".join(
            f"{words} {say(gpt_needed(runs, name))}, fewer each time in {wins[name]} of {len(runs)} seeds"
            for name, words in DOMAINS.items()
        ),
        graded({FEWER[name]: won == len(runs) for name, won in wins.items()}),
        seeds(runs),
    )


CLAIMS = (
    Claim(
        "icl-cover",
        "li2024nonlinear",
        "Theorem 1, condition 1",
        "A small set of training tasks is enough if it covers all patterns and labels alike.",
        "a small fraction of the tasks is sufficient",
        f"{COVERED}; {UNCOVERED}",
        cover,
    ),
    Claim(
        "icl-steps-alpha",
        "li2024nonlinear",
        "Theorem 1, condition 3",
        "The more examples show the task, the fewer steps are needed.",
        "T = Θ(α^−2/3)",
        f"exponent of the steps to a held-out hinge loss of {LEVEL:g} against α: {FALLS}",
        steps_alpha,
    ),
    Claim(
        "icl-steps-m1",
        "li2024nonlinear",
        "Theorem 1, condition 3",
        "Training takes longer for more patterns, in proportion to M₁ √log M₁.",
        "T = Θ(M₁ √log M₁); the talk's slide leaves M₁ out",
        f"{BY_M1}; {THETA_M1}",
        steps_m1,
        revised="the first claim took the talk's slide, on which M₁ is missing, for the theorem; the second asked for an "
        "exponent between 0 and 1, as if Θ were an upper bound, where it is a bound from both sides",
    ),
    Claim(
        "icl-prompt-length",
        "li2024nonlinear",
        "Theorem 1, condition 2",
        "Training prompts need no more than a constant number of task examples.",
        "l ≥ Ω(1 / α)",
        REACHED,
        prompt_length,
    ),
    Claim(
        "icl-sum-hinge",
        "li2024nonlinear",
        "Theorem 2",
        "The one-layer model generalizes to patterns in the span of its own if their coefficients add up to one or more.",
        "S₁ ≥ 1 and l' ≥ 1 / α' are sufficient",
        f"at l = {LENGTH}, α' = {ALPHA:g}, every seed: {LOSS_FALLS}; {LOSS_SMALL}; {LOSS_LARGE}",
        sum_hinge,
        revised="losses of a ten-thousandth were compared as if they had no noise",
    ),
    Claim(
        "icl-sum-needed",
        "li2024nonlinear",
        "Fig 12, one layer",
        "S₁ ≥ 1 is needed, not only sufficient, for the one-layer model to generalize.",
        "“is needed”",
        f"asked after the results: at l = {LENGTH}, α' = {ALPHA:g}, in every seed the mean hinge loss is "
        + "; ".join(NEEDED.values()),
        sum_needed,
    ),
    Claim(
        "icl-sum-gpt2",
        "li2024nonlinear",
        "Fig 12",
        "GPT-2 answers out of domain well where S₁ ≥ 1, and less well where it is smaller.",
        "some .001 for S₁ ≥ 1, some .01 below, ordered",
        f"means of seeds at l = {LENGTH}: {GPT_RARE}; {GPT_MORE}; {GPT_FALLS}",
        sum_gpt2,
    ),
    Claim(
        "icl-alpha-length",
        "li2024nonlinear",
        "Fig 13",
        "The more examples of a prompt show the task, the fewer are needed.",
        "the required length decreases as α' increases",
        f"examples for an error of at most {ENOUGH:g}, interpolated between lengths, in every seed: "
        + "; ".join(FEWER.values()),
        alpha_length,
        revised="the paper's own curves for α' = .8 and .9 never reach the .02 that was asked for; then whole "
        "numbers of examples were compared, means of seeds, of which some were equal and the others one apart",
    ),
    Claim(
        "icl-floor",
        "ours",
        "Fig 13.6, one layer",
        "The one-layer model copies labels: where no example shows the query's pattern it does no better than a guess.",
        "our inference from the mechanism",
        f"at α' = {ALPHA:g} and l = {FLOOR_LENGTHS[0]} … {FLOOR_LENGTHS[-1]} {NOT_BELOW}",
        floor,
    ),
    Claim(
        "icl-floor-gpt2",
        "ours",
        "Fig 13.6, GPT-2",
        "GPT-2 trained on 18 tasks, each with its reverse, does more than copy: it also takes the opposite of the other "
        "pattern's label.",
        "not discussed",
        f"at α' = {ALPHA:g} the error's 95 % interval and ½ (1 − α' / 2)^l: " + "; ".join(BELOW.values()),
        floor_gpt2,
    ),
)
