"""What chapter 12 tests of Li et al. (2024a): how a one-layer transformer learns to learn in context."""

from __future__ import annotations

import numpy as np

from lib.core.read.claim import Claim, Finding, graded
from lib.core.read.measures import spread
from lib.core.record.store import Store
from lib.in_context.learning.metrics import (
    PAPER_ATTENTION,
    PAPER_STEP,
    ends,
    first_push,
    gradient_gap,
    label_angles,
    large_neurons,
    luck_shares,
    push_until_half_way,
)
from lib.in_context.runs import LEVEL, LUCKY, counted, history, lucky, main_runs, neurons_at, steps_to
from lib.in_context.study import FOREIGN_SUM, N_TEST

WRONG = 0.01
"""The share of signs that may be wrong on unseen tasks, and by how much it may exceed that on trained ones."""
GROWTH, ALONG, LATE = 2, 0.8, 0.1
"""Norms grow so many times at least, projections are such a share of them, and the second half of training adds this share. The
paper's own projections are .83 of the norms, so that .9, which was asked here before, would have failed them."""
SELECTS = 0.9
"""Attention on the query's pattern, where the paper's plot is not asked for."""
NEAR, TURNED = 0.05, 0.2
"""Feature halves begin so near to a right angle and end within this angle of the mean pattern (units of π)."""
LABEL = 0.25
"""Label halves end within this angle of q or −q (units of π)."""
EXACT = 1e-6
"""The largest deviation of a gradient, of its largest entry."""
ALIGNED = 0.5
"""The cosine of the push with the query's pattern."""

SOLVED = f"in every seed at most {WRONG:g} of the signs are wrong on unseen tasks"
NO_WORSE = f"in every seed not {WRONG:g} more than on trained ones"
GROW = f"in every seed norms grow at least {GROWTH:g} times"
PROJECT = f"projections are at least {ALONG:g} of them"
SETTLE = f"the second half of training adds at most {LATE:.0%}"
ATTENDS = f"in every seed at least {SELECTS:g} at the end"
ATTENDS_AS_PAPER = f"in every seed at least {PAPER_ATTENTION:g} at the end"
BEGINS = f"within {NEAR:g} π of π/2 at first"
TURNS = f"at most {TURNED:g} π at the end"
UP, DOWN = f"at most {LABEL:g} π for a > 0", f"at least {1 - LABEL:g} π for a < 0"
IN_CONTEXT_SUM, WITH_QUERY = "for sums over l columns", "for sums over l + 1"
LARGER = "in every seed a larger share of the lucky ones ends large than of the others"
WELL_ALONG = f"at least {ALIGNED:g} in every seed"
"""The parts of the criteria."""


def generalizes(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    if any(run.status == "diverged" for run in runs):
        raise LookupError("a run diverged and has no error")
    seen, unseen = (np.array([1 - run.metrics[name] for run in runs]) for name in ("seen", "unseen"))
    steps = [steps_to(run) for run in runs]
    learned = [s for s in steps if s is not None]
    when = f"{np.mean(learned):.0f} steps on average" if learned else "no number of steps"
    return Finding(
        f"wrong on trained tasks {counted(seen, N_TEST)}, on unseen tasks {counted(unseen, N_TEST)}; held-out hinge loss of "
        f"{str(LEVEL).lstrip('0')} after {when} ({len(learned)} of {len(runs)} runs)",
        graded({SOLVED: bool(unseen.max() <= WRONG), NO_WORSE: bool((unseen - seen).max() <= WRONG)}),
        len(runs),
    )


def projections(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    parts, words = {GROW: True, PROJECT: True, SETTLE: True}, []
    for where in ("", "foreign "):
        for part in ("query", "key"):
            _, norm = history(runs, f"{where}{part} norm")
            _, along = history(runs, f"{where}{part} projection")
            parts[GROW] &= bool((norm[:, -1] >= GROWTH * norm[:, 0]).all())
            parts[PROJECT] &= bool((along[:, -1] >= ALONG * norm[:, -1]).all())
            parts[SETTLE] &= bool((norm[:, -1] <= (1 + LATE) * norm[:, norm.shape[1] // 2]).all())
            late = (norm[:, -1] / norm[:, norm.shape[1] // 2] - 1).max()
            words.append(
                f"{part}{' out of domain' * bool(where)} {spread(norm[:, -1] / norm[:, 0], 1)} times, "
                f"{spread(along[:, -1] / norm[:, -1])} along, the second half adds at most {late:.1%}".replace("-", "−")
            )
    return Finding("norms grow and lie along the pattern: " + "; ".join(words), graded(parts), len(runs))


def attention(store: Store, profile: str, where: str = "") -> Finding:
    runs = main_runs(store, profile)
    steps, values = history(runs, f"{where}attention.1")
    at = min(int(np.searchsorted(steps, PAPER_STEP)), len(steps) - 1)
    last = values[:, -1]
    return Finding(
        f"attention on the query's pattern {spread(values[:, 0], 3)} at step {steps[0]}, {spread(values[:, at], 3)} at step "
        f"{steps[at]}, {spread(last, 3)} at the end",
        graded({ATTENDS: bool((last >= SELECTS).all()), ATTENDS_AS_PAPER: bool((last >= PAPER_ATTENTION).all())}),
        len(runs),
    )


def foreign_attention(store: Store, profile: str) -> Finding:
    return attention(store, profile, "foreign ")


def feature_half(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    first, last = (
        np.array([neurons_at(run, ends(run)[i])["feature angle"][large_neurons(run)].mean() for run in runs]) for i in (0, 1)
    )
    return Finding(
        f"mean angle of the large neurons to the mean pattern: {spread(first)} π at step {ends(runs[0])[0]}, "
        f"{spread(last)} π at the end",
        graded({BEGINS: bool((np.abs(first - 0.5) <= NEAR).all()), TURNS: bool((last <= TURNED).all())}),
        len(runs),
    )


def label_half(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    up, down = np.array([label_angles(run) for run in runs]).T
    return Finding(
        f"mean angle of the large neurons to q: {spread(up)} π for a > 0, {spread(down)} π for a < 0",
        graded({UP: bool((up <= LABEL).all()), DOWN: bool((down >= 1 - LABEL).all())}),
        len(runs),
    )


def lucky_grow(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    share = np.array([lucky(run).mean() for run in runs])
    of_lucky, of_others = np.array([luck_shares(run) for run in runs]).T
    return Finding(
        f"{spread(of_lucky)} of the lucky neurons end large, {spread(of_others)} of the others; lucky are {spread(share)} of "
        "all, about half by symmetry",
        graded({LARGER: bool((of_lucky > of_others).all())}),
        len(runs),
    )


def tiny(share: float) -> str:
    """A share in words, where its digits are those of rounding."""
    if share < 1e-9:
        return "less than a billionth"
    millionths = f"{1e6 * share:.3g} millionth{'s' * (share != 1e-6)}"
    return f"{share:.2g}" if share > 1e-3 else f"at most {millionths}"


def gradients(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    gaps = [max(gradient_gap(run, query_too) for run in runs) for query_too in (False, True)]
    return Finding(
        f"largest relative deviation {tiny(gaps[0])} summed over the l columns of the context, {tiny(gaps[1])} over l + 1",
        graded({IN_CONTEXT_SUM: gaps[0] <= EXACT, WITH_QUERY: gaps[1] <= EXACT}),
        len(runs),
    )


def push_along(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    first, along = (np.array([measure(run) for run in runs]) for measure in (first_push, push_until_half_way))
    return Finding(
        f"mean cosine of the push on W_Q p_query with the query's pattern {spread(along)} over the evaluations until attention "
        f"is half way, from {along.min():.2f} to {along.max():.2f}; before the first step {spread(first)}",
        graded({WELL_ALONG: bool((along >= ALIGNED).all())}),
        len(runs),
    )


CLAIMS = (
    Claim(
        "icl-unseen-tasks",
        "li2024nonlinear",
        "Theorem 1",
        "Trained on some tasks, the model answers prompts of tasks that it was never trained on.",
        "held-out error below ε",
        f"{SOLVED}; {NO_WORSE}",
        generalizes,
    ),
    Claim(
        "icl-projections",
        "li2024nonlinear",
        "Fig 8, Prop. 1",
        "W_Q and W_K come to project inputs on their relevant pattern, in domain and out of it.",
        "norms grow together, plateau about epoch 180; the projection is .83 of the norm",
        f"{GROW}; {PROJECT}; {SETTLE}",
        projections,
        revised="the paper's own projections are .83 of the norms, and .9 was asked for",
    ),
    Claim(
        "icl-attention",
        "li2024nonlinear",
        "Fig 9, Prop. 1",
        "Attention concentrates on examples with the query's pattern.",
        "above .98 by epoch 120",
        f"{ATTENDS_AS_PAPER}; {ATTENDS} counts as partly",
        attention,
    ),
    Claim(
        "icl-attention-foreign",
        "li2024nonlinear",
        "Fig 9, Prop. 1",
        "It does so for out-of-domain patterns, too.",
        "the same",
        f"{ATTENDS_AS_PAPER}; {ATTENDS} counts as partly (S₁ = {FOREIGN_SUM:g})",
        foreign_attention,
    ),
    Claim(
        "icl-feature-half",
        "li2024nonlinear",
        "Fig 10, Prop. 2",
        "The feature halves of rows of W_O W_V turn to the mean of the relevant patterns.",
        "angle from π/2 to about .12 π",
        f"mean over the large neurons, in every seed: {BEGINS}; {TURNS}",
        feature_half,
    ),
    Claim(
        "icl-label-half",
        "li2024nonlinear",
        "Fig 11, Prop. 2",
        "The label halves turn to q for positive neurons and to −q for negative ones.",
        "angle .16 π and .84 π",
        f"mean over the large neurons, in every seed: {UP}; {DOWN}",
        label_half,
    ),
    Claim(
        "icl-lucky",
        "li2024nonlinear",
        "Fig 11, backup slides",
        "Neurons that are lucky, active from the start on the prompts of their sign, grow more often than the others.",
        "lucky neurons, a share of at least Ω(1), grow",
        f"{LARGER}; lucky: active on at least {LUCKY:.0%} of the prompts of their sign",
        lucky_grow,
        revised="the slides ask for a constant share of neurons that are active; activity on 95 % of the prompts, and rows 1.5 "
        "times as long, were our lines; then at least .1 of the neurons had to be lucky, which cannot fail where half are by "
        "symmetry",
    ),
    Claim(
        "icl-gradients",
        "li2024talk",
        "backup slides",
        "The gradients of the slides are those of the model.",
        "formulas for W_Q, W_K, W_V and W_O",
        f"{tiny(EXACT)} from automatic differentiation, relative to the largest entry, {IN_CONTEXT_SUM}; {WITH_QUERY}",
        gradients,
    ),
    Claim(
        "icl-push",
        "li2024talk",
        "backup slides",
        "While attention rises, gradient descent moves W_Q p_query along the query's pattern.",
        "proportional to it, approximately, where attention is on the query's pattern and neurons are lucky",
        f"the cosine of the push with the query's pattern, a mean over prompts and over the evaluations until attention is "
        f"half way to its end: {WELL_ALONG}",
        push_along,
        revised="the claim asked this of the very first step, which the slides never say",
    ),
)
