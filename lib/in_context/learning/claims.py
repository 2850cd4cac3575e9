"""What chapter 12 tests of Li et al. (2024a): how a one-layer transformer learns to learn in context."""

from __future__ import annotations

import numpy as np

from lib.core.claim import Claim, Finding, graded
from lib.core.measures import spread
from lib.core.store import Store
from lib.in_context.learning.numbers import (
    PAPER_ATTENTION,
    PAPER_STEP,
    ends,
    first_push,
    gradient_gap,
    label_angles,
    large_neurons,
    luck_ratio,
)
from lib.in_context.runs import history, lucky, main_runs, neurons_at, steps_to


def generalizes(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    if any(run.status == "diverged" for run in runs):
        raise LookupError("a run diverged and has no error")
    seen, unseen = (np.array([1 - run.metrics[name] for run in runs]) for name in ("seen", "unseen"))
    steps = [steps_to(run) for run in runs]
    learned = [s for s in steps if s is not None]
    return Finding(
        f"wrong on trained tasks {spread(seen, 4)}, on unseen tasks {spread(unseen, 4)}; held-out hinge loss of .1 after "
        f"{f'{np.mean(learned):.0f} steps on average' if learned else 'no number of steps'} ({len(learned)} of "
        f"{len(runs)} runs)",
        graded([bool(unseen.max() <= 0.01), bool((unseen - seen).max() <= 0.01)]),
        len(runs),
    )


def projections(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    grown, close, plateau, words = [], [], [], []
    for where in ("", "foreign "):
        for part in ("query", "key"):
            _, norm = history(runs, f"{where}{part} norm")
            _, along = history(runs, f"{where}{part} projection")
            grown.append(bool((norm[:, -1] >= 2 * norm[:, 0]).all()))
            close.append(bool((along[:, -1] >= 0.9 * norm[:, -1]).all()))
            plateau.append(bool((norm[:, -1] <= 1.1 * norm[:, norm.shape[1] // 2]).all()))
            words.append(
                f"{where}{part} {spread(norm[:, -1] / norm[:, 0], 1)} times, {spread(along[:, -1] / norm[:, -1])} along"
            )
    return Finding(
        "norms grow (out of domain: foreign) and lie along the pattern: " + "; ".join(words),
        graded([all(grown), all(close), all(plateau)]),
        len(runs),
    )


def attention(store: Store, profile: str, where: str = "") -> Finding:
    runs = main_runs(store, profile)
    steps, values = history(runs, f"{where}attention.1")
    at = min(int(np.searchsorted(steps, PAPER_STEP)), len(steps) - 1)
    return Finding(
        f"attention on the query's pattern {spread(values[:, 0])} at step {steps[0]}, "
        f"{spread(values[:, at])} at step {steps[at]}, "
        f"{spread(values[:, -1], 3)} at the end",
        graded([bool((values[:, -1] >= 0.9).all()), bool((values[:, -1] >= PAPER_ATTENTION).all())]),
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
        f"{spread(last)} π at "
        "the end",
        graded([bool((np.abs(first - 0.5) <= 0.05).all()), bool((last <= 0.2).all())]),
        len(runs),
    )


def label_half(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    up, down = np.array([label_angles(run) for run in runs]).T
    return Finding(
        f"mean angle of the large neurons to q: {spread(up)} π for a > 0, {spread(down)} π for a < 0",
        graded([bool((up <= 0.25).all()), bool((down >= 0.75).all())]),
        len(runs),
    )


def lucky_grow(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    share, ratio = np.array([lucky(run).mean() for run in runs]), np.array([luck_ratio(run) for run in runs])
    return Finding(
        f"{spread(share)} of the neurons are lucky; their trained rows are {spread(ratio)} times as long as those "
        "of the others",
        graded([bool((share >= 0.1).all()), bool((ratio >= 1.5).all())]),
        len(runs),
    )


def gradients(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    gaps = [max(gradient_gap(run, query_too) for run in runs) for query_too in (False, True)]
    return Finding(
        f"largest relative deviation {gaps[0]:.0e} summed over the l columns of the context, {gaps[1]:.0e} over l + 1",
        graded([gap <= 1e-6 for gap in gaps]),
        len(runs),
    )


def first_gradient(store: Store, profile: str) -> Finding:
    runs = main_runs(store, profile)
    found = np.array([first_push(run).mean() for run in runs])
    return Finding(
        f"mean cosine of the first push on W_Q p_query with the query's pattern {spread(found)}, between {found.min():.2f} and "
        f"{found.max():.2f}",
        graded([bool((found > 0).all()), bool((found >= 0.5).all())]),
        len(runs),
    )


CLAIMS = (
    Claim(
        "icl-unseen-tasks",
        "li2024nonlinear",
        "Theorem 1",
        "Trained on some tasks, the model answers prompts of tasks that it was never trained on.",
        "held-out error below ε",
        "in every seed at most .01 of the signs are wrong on unseen tasks, and not .01 more than on trained ones",
        generalizes,
    ),
    Claim(
        "icl-projections",
        "li2024nonlinear",
        "Fig 8, Prop. 1",
        "W_Q and W_K come to project inputs on their relevant pattern, in domain and out of it.",
        "norms grow together, plateau about epoch 180; the projection is close to the norm",
        "in every seed norms at least double, projections are at least .9 of them, and the second half of "
        "training adds at most 10 %",
        projections,
    ),
    Claim(
        "icl-attention",
        "li2024nonlinear",
        "Fig 9, Prop. 1",
        "Attention concentrates on examples with the query's pattern.",
        "above .98 by epoch 120",
        "in every seed at least .9 at the end; at least .98 at the end",
        attention,
    ),
    Claim(
        "icl-attention-foreign",
        "li2024nonlinear",
        "Fig 9, Prop. 1",
        "It does so for out-of-domain patterns, too.",
        "the same",
        "in every seed at least .9 at the end; at least .98 at the end (S₁ = 1.1)",
        foreign_attention,
    ),
    Claim(
        "icl-feature-half",
        "li2024nonlinear",
        "Fig 10, Prop. 2",
        "The feature halves of rows of W_O W_V turn to the mean of the relevant patterns.",
        "angle from π/2 to about .12 π",
        "mean over the large neurons, in every seed: within .05 π of π/2 at first, at most .2 π at the end",
        feature_half,
    ),
    Claim(
        "icl-label-half",
        "li2024nonlinear",
        "Fig 11, Prop. 2",
        "The label halves turn to q for positive neurons and to −q for negative ones.",
        "angle .16 π and .84 π",
        "mean over the large neurons, in every seed: at most .25 π for a > 0, at least .75 π for a < 0",
        label_half,
    ),
    Claim(
        "icl-lucky",
        "li2024nonlinear",
        "Fig 11, backup slides",
        "A constant share of neurons is lucky, active from the start on the prompts of their sign, and these "
        "grow; the others stay small.",
        "share at least Ω(1)",
        "in every seed at least .1 of the neurons are lucky, and their trained rows at least 1.5 times as long as the others'",
        lucky_grow,
    ),
    Claim(
        "icl-gradients",
        "li2024talk",
        "backup slides",
        "The gradients of the slides are those of the model.",
        "formulas for W_Q, W_K, W_V and W_O",
        "within 1e-6 of automatic differentiation, relative to the largest entry, for sums over l columns and over l + 1",
        gradients,
    ),
    Claim(
        "icl-first-gradient",
        "li2024talk",
        "backup slides",
        "Already the first gradient step moves W_Q p_query along the query.",
        "proportional to it, approximately, where attention is on the query's pattern and neurons are lucky",
        "before training, the mean cosine of the step with the query's pattern is positive and at least .5 in every seed",
        first_gradient,
    ),
)
