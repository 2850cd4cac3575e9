"""Every statement of Li et al. 2024a that chapter 13 tests: generalization in and out of domain, and classical learners."""

from __future__ import annotations

from collections.abc import Callable

from lib.core.claim import Claim, Finding
from lib.core.store import Store
from lib.in_context.out_of_domain import numbers as checks


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


CHAPTER_13 = (
    _claim(
        "icl-cover",
        "Theorem 1, condition 1",
        "A small set of training tasks is enough if it covers all patterns and labels alike.",
        "a small fraction of the tasks is sufficient",
        "after six tasks in a cycle at most .01 of the answers in unseen tasks are wrong, in every seed; after six tasks of "
        "three patterns at least .1 more, in every seed",
        checks.cover,
    ),
    _claim(
        "icl-steps-alpha",
        "Theorem 1, condition 3",
        "The more examples show the task, the fewer steps are needed.",
        "T = Θ(α^−2/3)",
        "exponent of the steps to a held-out hinge loss of .1 against α: 95 % interval below 0",
        checks.steps_alpha,
    ),
    _claim(
        "icl-steps-m1",
        "Theorem 1, condition 3",
        "The number of steps does not depend on the number of patterns.",
        "M₁ is not in T",
        "the 95 % interval of the exponent against M₁ contains 0",
        checks.steps_m1,
    ),
    _claim(
        "icl-prompt-length",
        "Theorem 1, condition 2",
        "Training prompts need no more than a constant number of task examples.",
        "l ≥ Ω(1 / α)",
        "with α l ≥ 8 every run reaches a held-out hinge loss of .1 within training",
        checks.prompt_length,
    ),
    _claim(
        "icl-sum-hinge",
        "Theorem 2",
        "The one-layer model generalizes to patterns in the span of its own if their coefficients add up to one or more.",
        "S₁ ≥ 1 and l' ≥ 1 / α' are sufficient",
        "at l = 20, α' = .8, every seed: the mean hinge loss falls with S₁ over .5 … 1.3 (or is 0); at most .01 for S₁ ≥ 1; at "
        "least .5 outside the span",
        checks.sum_hinge,
    ),
    _claim(
        "icl-sum-needed",
        "Fig 12, one layer",
        "S₁ ≥ 1 is needed, not only sufficient, for the one-layer model to generalize.",
        "“is needed”",
        "asked after the results: at l = 20, α' = .8, in every seed the mean hinge loss is above .01 at S₁ = .5, .7 and .9",
        checks.sum_needed,
    ),
    _claim(
        "icl-sum-gpt2",
        "Fig 12",
        "GPT-2 answers out of domain well where S₁ ≥ 1, and less well where it is smaller.",
        "some .001 for S₁ ≥ 1, some .01 below, ordered",
        "means of seeds at l = 20: error below .01 for S₁ ≥ 1; at least .01 below 1; they do not rise with S₁",
        checks.sum_gpt2,
    ),
    _claim(
        "icl-alpha-length",
        "Fig 13",
        "The more examples of a prompt show the task, the fewer are needed.",
        "the required length decreases as α' increases",
        "examples for an error of at most .02: more at α' = .8 than at 1, and .9 between; a part in domain, a part out of it",
        checks.alpha_length,
    ),
    _claim(
        "icl-floor",
        "section 2",
        "The one-layer model copies labels: where no example shows the query's pattern it does no better than a guess.",
        "our inference from the mechanism",
        "at α' = .8 and l = 1 … 10 the error's 95 % interval is nowhere wholly below ½ (1 − α' / 2)^l",
        checks.floor,
        "ours",
    ),
    _claim(
        "icl-floor-gpt2",
        "our addition",
        "GPT-2 does more than copy: it also takes the opposite of the other pattern's label.",
        "not discussed",
        "at α' = .8 the error's 95 % interval lies below ½ (1 − α' / 2)^l; one part for l = 1, one for l = 2",
        checks.floor_gpt2,
        "ours",
    ),
    _claim(
        "icl-classical-8",
        "Fig 27",
        "Where most examples show the task, learning in context is about as good as logistic regression on the prompt.",
        "close to logistic regression at α' = .8",
        "mean over l = 6 … 20 of the difference of the two errors, without its sign, at most .02",
        checks.classical_close,
    ),
    _claim(
        "icl-classical-6",
        "Fig 28",
        "Where fewer do, learning in context is better than every classical learner.",
        "clearly best at α' = .6",
        "error below that of each of five learners at every l from 6 to 20",
        checks.classical_best,
    ),
)
