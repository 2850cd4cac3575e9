"""Every statement of Li et al. 2024a that chapter 13 tests: generalization in and out of domain."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from lib.core.read import roundings
from lib.core.read.claim import NO_EFFECT, OPPOSITE, Claim, Measured, Part, asking, by_exact_test
from lib.core.read.measures import seeds
from lib.core.read.statistics import RARE as RARELY
from lib.core.read.statistics import compare
from lib.core.record.store import Store, StoredRun
from lib.core.sweep.experiment import again
from lib.in_context.experiments import AGAIN, ALIKE, ALPHA, APART, CROSSED, DRAWN, EVEN, GPT, LENGTH, gpt_specs
from lib.in_context.out_of_domain.metrics import (
    CONTROL,
    CYCLE,
    ENOUGH,
    LOW_SUM,
    RARE,
    SETS,
    SMALL_LOSS,
    SPAN,
    along,
    at_foreign,
    by_sum,
    cover_runs,
    errors_of,
    floor_runs,
    gpt_errors,
    gpt_runs,
    halves,
    low_errors,
    ordered,
    span_of,
    speed_runs,
    steps,
    theorem_m1,
)
from lib.in_context.runs import LEVEL, main_runs, task_of
from lib.in_context.study import ALPHAS, FOREIGN_SUM, SUMS
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
NEEDED = tuple(s for s in SUMS if s < BEST_SUM)
DOMAINS = {"in domain": "in domain", at_foreign(FOREIGN_SUM): "out of domain"}


def cover(store: Store, profile: str) -> Measured:
    groups = cover_runs(store, profile)
    cycle, control = (errors_of(groups[name], "unseen") for name in (CYCLE, CONTROL))
    parts = (
        Part("unseen tasks wrong after the cycle, highest seed", float(cycle.max()), "<=", WRONG, "{:.3f}"),
        Part("more after three patterns only, lowest seed", float((control - cycle).min()), ">=", WORSE),
    )
    return Measured(parts, seeds(groups[CYCLE]))


def steps_alpha(store: Store, profile: str) -> Measured:
    groups = speed_runs(store, profile, "α")
    _, low, high = steps(groups).closed.slope
    part = Part("exponent of steps against α, upper end", high, "<", 0.0, failure=OPPOSITE if low > 0 else NO_EFFECT)
    return Measured((part,), seeds(next(iter(groups.values()))))


def steps_m1(store: Store, profile: str) -> Measured:
    groups = speed_runs(store, profile, "M₁")
    found = steps(groups)
    (_, least, most), (_, low, high) = found.slope, theorem_m1(found)
    parts = (
        Part("exponent of steps against M₁, lower end", least, ">", 0.0, failure=OPPOSITE if most < 0 else NO_EFFECT),
        Part("exponent against M₁ √log M₁, lower end", low, "<=", 1.0, group="theorem"),
        Part("exponent against M₁ √log M₁, upper end", high, ">=", 1.0, group="theorem"),
    )
    return Measured(parts, seeds(next(iter(groups.values()))))


def prompt_length(store: Store, profile: str) -> Measured:
    groups = speed_runs(store, profile, "α l")
    found = steps(groups)
    there = ~found.open[found.x >= ENOUGH_EXAMPLES - 1e-9]
    part = Part(f"share of runs with α l ≥ {ENOUGH_EXAMPLES} that learn within training", float(there.mean()), ">=", 1.0)
    return Measured((part,), seeds(next(iter(groups.values()))))


def floor(store: Store, profile: str) -> Measured:
    runs = main_runs(store, profile)
    shares = along(runs, FLOOR_LENGTHS, alpha=ALPHA).shares
    floors = [no_match_floor(ALPHA, length) for length in FLOOR_LENGTHS]
    below = sum(share.interval[1] < line for share, line in zip(shares, floors, strict=True))
    words = "prompt lengths at which errors are clearly fewer than a guess leaves"
    learned = Part(f"errors at l = {FLOOR_LENGTHS[-1]}", shares[-1].mean, "<=", WORSE, "{:.3f}", given=True)
    return Measured((learned, Part(words, below, "<=", 0, "{:.0f}", failure=OPPOSITE)), seeds(runs))


def floor_gpt2(store: Store, profile: str) -> Measured:
    runs, parts = floor_runs(store, profile), []
    found = gpt_errors(runs, "in domain")
    for length in BELOW_LENGTHS:
        (low, high), line = found[length].interval, no_match_floor(ALPHA, length)
        words = f"l = {length}: upper end of the errors' interval less what a guess leaves"
        parts.append(Part(words, high - line, "<", 0.0, "{:.3f}", failure=OPPOSITE if low > line else NO_EFFECT))
    return Measured(tuple(parts), seeds(runs))


def sum_hinge(store: Store, profile: str) -> Measured:
    runs = main_runs(store, profile)
    loss = {s: along(runs, [LENGTH], alpha=ALPHA, **span_of(s)).loss[:, 0] for s in (*SUMS, None)}
    inside = np.array([loss[s] for s in SUMS])
    above = max(float(loss[s].max()) for s in SUMS if s >= BEST_SUM)
    parts = (
        Part(
            "hinge loss, largest rise from one S₁ to the next", float((inside[1:] - inside[:-1]).max()), "<=", NOISE, "{:.4f}"
        ),
        Part(f"hinge loss for S₁ ≥ {BEST_SUM}, highest seed", above, "<=", SMALL_LOSS, "{:.4f}"),
        Part(f"hinge loss {SPAN}, lowest seed", float(loss[None].min()), ">=", LARGE_LOSS),
    )
    return Measured(parts, seeds(runs))


def sum_needed(store: Store, profile: str) -> Measured:
    runs = main_runs(store, profile)
    loss = {s: along(runs, [LENGTH], alpha=ALPHA, **span_of(s)).loss[:, 0] for s in NEEDED}
    parts = [
        Part(
            f"hinge loss at S₁ = {s:g}, lowest seed",
            float(values.min()),
            ">",
            SMALL_LOSS,
            "{:.4f}",
            failure=OPPOSITE if values.max() <= SMALL_LOSS else NO_EFFECT,
        )
        for s, values in loss.items()
    ]
    learned = float(along(runs, [LENGTH], alpha=ALPHA, **span_of(SUMS[-1])).loss.max())
    parts.append(Part(f"hinge loss at S₁ = {SUMS[-1]:g}, highest seed", learned, "<=", SMALL_LOSS, "{:.4f}", given=True))
    return Measured(tuple(parts), seeds(runs))


def sum_gpt2(store: Store, profile: str) -> Measured:
    runs = gpt_runs(store, profile)
    mean = {s: float(gpt_errors(runs, at_foreign(s))[LENGTH].each.mean()) for s in SUMS}
    changes = [b - a for a, b in itertools.pairwise(mean.values())]
    rise, least = max(changes), min(changes)
    parts = (
        Part(
            f"errors for S₁ ≥ {BEST_SUM}, highest mean",
            max(m for s, m in mean.items() if s >= BEST_SUM),
            "<",
            RARE,
            "{:.4f}",
            group="levels",
        ),
        Part(
            "errors below, lowest mean", min(m for s, m in mean.items() if s < BEST_SUM), ">=", RARE, "{:.4f}", group="levels"
        ),
        Part(
            "largest change of the mean from one S₁ to the next",
            rise,
            "<",
            0.0,
            "{:.4f}",
            failure=OPPOSITE if least > 0 else NO_EFFECT,
        ),
    )
    return Measured(parts, seeds(runs))


def sum_choices(store: Store, profile: str) -> Measured:
    parts, groups = [], {name: gpt_runs(store, profile, name) for name in DRAWN}
    for i, runs in enumerate(groups.values(), start=1):
        changes = np.diff(by_sum(runs).mean(0))
        failure = OPPOSITE if changes.min() > 0 else NO_EFFECT
        words = f"choice {i}: largest change of the mean errors from one S₁ to the next"
        parts.append(Part(words, float(changes.max()), "<", 0.0, "{:.4f}", failure=failure))
    return Measured(tuple(parts), min(map(seeds, groups.values())))


def rarer(words: str, low: np.ndarray, high: np.ndarray) -> Part:
    """Are the errors `low` rarer than those in `high`, by a one-sided rank test of seeds?"""
    found = compare([*low, *high], [False] * len(low) + [True] * len(high))
    return by_exact_test(f"{words}: p", found.p, found.opposite, found.least, RARELY)


def sum_halves(store: Store, profile: str) -> Measured:
    errors = low_errors({name: gpt_runs(store, profile, name) for name in (*SETS, APART)})
    apart = errors[APART]
    lowest = min(errors[name].mean() for name in SETS)
    parts = (
        rarer("errors rarer than after the first choice", apart, errors[GPT]),
        Part("mean errors above the least of the other sets", float(apart.mean() - lowest), "<", 0.0, "{:.4f}"),
    )
    return Measured(parts, len(apart))


def sum_even(store: Store, profile: str) -> Measured:
    sets = {name: gpt_runs(store, profile, name) for name in (*SETS, APART, EVEN)}
    counts, errors = {name: halves(task_of(runs[0])) for name, runs in sets.items()}, low_errors(sets)
    even = errors[EVEN]
    fewer = max(errors[name].mean() for name, count in counts.items() if count < counts[EVEN])
    parts = (
        rarer("errors more common than without tasks within a mixture", errors[APART], even),
        Part("mean errors above the most of sets with fewer", float(even.mean() - fewer), ">", 0.0, "{:.4f}"),
    )
    return Measured(parts, len(even))


TIMES = 2.0
"""As many times more errors are asked of what most of them go with."""


def sum_parity(store: Store, profile: str) -> Measured:
    errors = low_errors({name: gpt_runs(store, profile, name) for name in (CROSSED, ALIKE)})
    crossed, alike = errors[CROSSED], errors[ALIKE]
    parts = (
        rarer("errors more common after odd-even tasks", alike, crossed),
        Part("times as many errors", float(crossed.mean() / alike.mean()), ">=", TIMES, "{:.1f}"),
    )
    return Measured(parts, len(crossed))


def _errors_at(total: float) -> Callable[[StoredRun], float]:
    return lambda run: float(by_sum([run])[0, SUMS.index(total)])


ROUNDED = {LOW_SUM: 0.05, 1.1: 0.01}
"""S₁ at which precision is asked for, and by how much it may shift the mean share of errors."""
PRECISION = roundings.Question(
    lambda profile: gpt_specs(profile)[GPT],
    lambda profile: again(AGAIN, profile),
    {f"errors at S₁ = {total:g}": (_errors_at(total), most) for total, most in ROUNDED.items()},
)


def alpha_length(store: Store, profile: str) -> Measured:
    runs = gpt_runs(store, profile)
    share = {name: ordered(runs, name) / len(runs) for name in DOMAINS}
    words = "share of seeds that need fewer at every larger α'"
    return Measured(tuple(Part(f"{where}: {words}", share[name], ">=", 1.0) for name, where in DOMAINS.items()), seeds(runs))


CLAIMS = asking(
    "prompt",
    Claim(
        "icl-cover",
        "li2024nonlinear",
        "Theorem 1, condition 1",
        "A small set of training tasks is enough if it covers all patterns and labels alike.",
        "a small fraction of the tasks is sufficient",
        f"after six tasks in a cycle at most {WRONG:g} of the answers in unseen tasks are wrong, in every seed; after six "
        f"tasks of three patterns at least {WORSE:g} more",
        cover,
        figure="13.1",
    ),
    Claim(
        "icl-steps-alpha",
        "li2024nonlinear",
        "Theorem 1, condition 3",
        "The more examples show the task, the fewer steps are needed.",
        "T = Θ(α^−2/3)",
        f"exponent of the steps to a held-out hinge loss of {LEVEL:g} against α, over the α at which every run gets there: "
        "95 % interval below 0",
        steps_alpha,
        revised="of runs that never get there the last step was counted as if it were enough; they are of the smallest α, "
        "where too many prompts hold no example of the query's pattern; without them the exponent is nearer to 0, and the "
        "verdict the same",
        figure="13.2",
    ),
    Claim(
        "icl-steps-m1",
        "li2024nonlinear",
        "Theorem 1, condition 3",
        "Training takes longer for more patterns, in proportion to M₁ √log M₁.",
        "T = Θ(M₁ √log M₁); the talk's slide leaves M₁ out",
        "the 95 % interval of the steps' exponent against M₁ lies above 0; that against M₁ √log M₁ holds 1 (steps to a "
        f"held-out hinge loss of {LEVEL:g}; where all tasks are trained, to one of trained tasks)",
        steps_m1,
        revised="the first claim took the talk's slide, on which M₁ is missing, for the theorem; the second asked for an "
        "exponent between 0 and 1, as if Θ were an upper bound, where it is a bound from both sides",
        figure="13.2",
    ),
    Claim(
        "icl-prompt-length",
        "li2024nonlinear",
        "Theorem 1, condition 2",
        "Training prompts need no more than a constant number of task examples.",
        "l ≥ Ω(1 / α)",
        f"with α l ≥ {ENOUGH_EXAMPLES} every run reaches a held-out hinge loss of {LEVEL:g} within training",
        prompt_length,
        figure="13.2",
    ),
    Claim(
        "icl-sum-hinge",
        "li2024nonlinear",
        "Theorem 2",
        "The one-layer model generalizes to patterns in the span of its own if their coefficients add up to one or more.",
        "S₁ ≥ 1 and l' ≥ 1 / α' are sufficient",
        f"at l = {LENGTH}, α' = {ALPHA:g}, every seed: from one S₁ to the next over {SUMS[0]:g} … {SUMS[-1]:g} the hinge loss "
        f"rises by at most {NOISE:g}; at most {SMALL_LOSS:g} for S₁ ≥ {BEST_SUM}; at least {LARGE_LOSS:g} outside the span",
        sum_hinge,
        revised="losses of a ten-thousandth were compared as if they had no noise",
        figure="13.3",
    ),
    Claim(
        "icl-sum-needed",
        "ours",
        "Fig 12, asked of one layer",
        "S₁ ≥ 1 is needed, not only sufficient, for the one-layer model to generalize.",
        "the talk says “is needed” over Fig 12, whose curves are of GPT-2; Theorem 2 has it sufficient",
        f"asked after the results: at l = {LENGTH}, α' = {ALPHA:g}, in every seed the mean hinge loss is "
        f"above {SMALL_LOSS:g} at every smaller S₁ of the talk",
        sum_needed,
        figure="13.3",
    ),
    Claim(
        "icl-sum-gpt2",
        "li2024nonlinear",
        "Fig 12",
        "GPT-2 answers out of domain well where S₁ ≥ 1, and less well where it is smaller.",
        "some .001 for S₁ ≥ 1, some .01 below, ordered",
        f"means of seeds at l = {LENGTH}: error below {RARE:g} for S₁ ≥ {BEST_SUM}; at least {RARE:g} below; errors "
        "do not rise with S₁",
        sum_gpt2,
        figure="13.4",
    ),
    Claim(
        "icl-sum-choices",
        "ours",
        "after Fig 12",
        "After three random choices of eighteen tasks, too, GPT-2 errs less out of domain as S₁ grows.",
        "one choice, not told which",
        f"three random choices of training tasks in which every pattern is first at least once, and second, fixed before their "
        f"runs: means of seeds at l = {LENGTH} fall from every S₁ to the next, after each choice",
        sum_choices,
    ),
    Claim(
        "icl-sum-halves",
        "ours",
        "after Fig 12",
        "GPT-2 errs least at small sums after tasks none of which is between the two patterns of a mixture.",
        "not asked; found in five sets of tasks",
        f"eighteen tasks, each with its reverse, none between two patterns that are mixed: errors at S₁ = .5 are rarer "
        f"than after the first choice, of which six are (one-sided rank test of seeds, p at most {RARELY:g}), their mean is "
        "the smallest of all six sets",
        sum_halves,
        figure="13.5",
    ),
    Claim(
        "icl-sum-even",
        "ours",
        "after Fig 12",
        "It is tasks within a mixture that make GPT-2 err at small sums, not tasks between an odd and an even pattern.",
        "not asked; in six sets of tasks the two counts rank almost alike",
        "eighteen tasks, each with its reverse, all six within a mixture and no other between an odd and an even pattern: "
        f"errors at S₁ = .5 are more common than after the set without any, which has as many odd-even ones (one-sided rank "
        f"test of seeds, p at most {RARELY:g}), and their mean is above those of all sets with fewer within a mixture",
        sum_even,
        figure="13.5",
    ),
    Claim(
        "icl-sum-parity",
        "ours",
        "after Fig 12",
        "GPT-2 errs at small sums after tasks that are all between an odd and an even pattern, also where none is within a "
        "mixture.",
        "not asked; seen in seven sets of tasks",
        "twelve tasks, each with its reverse, none within a mixture, all or none of them between an odd and an even pattern: "
        f"errors at S₁ = .5 are more common if all are (one-sided rank test of seeds, p at most {RARELY:g}), on average at "
        f"least {TIMES:g} times as common",
        sum_parity,
        revised="the statement said that such tasks make GPT-2 err, which the other sets contradict: added to a set "
        "without any they change nothing; criterion and verdict are as they were",
        figure="13.5",
    ),
    Claim(
        "icl-alpha-length",
        "li2024nonlinear",
        "Fig 13",
        "The more examples of a prompt show the task, the fewer are needed.",
        "the required length decreases as α' increases",
        f"examples for an error of at most {ENOUGH:g}, interpolated between lengths, in every seed: "
        "fewer at every larger α' of " + ", ".join(f"{a:g}" for a in ALPHAS) + ", in domain and out of it",
        alpha_length,
        revised="the paper's own curves for α' = .8 and .9 never reach the .02 that was asked for; then whole "
        "numbers of examples were compared, means of seeds, of which some were equal and the others one apart",
        figure="13.6",
    ),
    Claim(
        "icl-floor",
        "ours",
        "Fig 13.6, one layer",
        "The one-layer model copies labels: where no example shows the query's pattern it does no better than a guess.",
        "our inference from the mechanism",
        f"at α' = {ALPHA:g} and l = {FLOOR_LENGTHS[0]} … {FLOOR_LENGTHS[-1]} the error's 95 % interval is nowhere wholly "
        f"below ½ (1 − α' / 2)^l, given that at l = {FLOOR_LENGTHS[-1]} at most {WORSE:g} are wrong",
        floor,
        figure="13.6",
    ),
    Claim(
        "icl-floor-gpt2",
        "ours",
        "Fig 13.6, GPT-2",
        "GPT-2 trained on 18 tasks, each with its reverse, does more than copy: it also takes the opposite of the other "
        "pattern's label.",
        "not discussed",
        f"at α' = {ALPHA:g} the error's 95 % interval is below ½ (1 − α' / 2)^l for l = 1 and 2, on other seeds and "
        "four times the prompts of the figure",
        floor_gpt2,
        figure="13.6",
    ),
    Claim(
        "icl-roundings",
        "ours",
        "Fig 12",
        "In bfloat16 GPT-2 errs as often out of domain as in single precision, but for what the last bit changes, too.",
        "not asked",
        PRECISION.criterion,
        PRECISION.measure,
        figure="13.4",
    ),
)
