"""What chapter 12 tests of Li et al. (2024a): how a one-layer transformer learns to learn in context."""

from __future__ import annotations

import numpy as np

from lib.core.read.claim import Claim, Measured, asking, by_worst
from lib.core.read.measures import history
from lib.core.record.store import Store
from lib.in_context.learning.metrics import (
    PAPER_ATTENTION,
    gradient_gap,
    label_angles,
    luck_shares,
    push_until_half_way,
)
from lib.in_context.runs import LUCKY, large_rows, main_runs, neurons_at, snapshots
from lib.in_context.study import FOREIGN_SUM

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
OTHERS = 0.5
"""The share of the neurons without luck that may end large where they are said to stay small."""


def generalizes(store: Store, profile: str) -> Measured:
    runs = main_runs(store, profile)
    if any(run.status == "diverged" for run in runs):
        raise LookupError("a run diverged and has no error")
    seen, unseen = (np.array([1 - run.metrics[name] for run in runs]) for name in ("seen", "unseen"))
    parts = (
        by_worst("wrong signs on unseen tasks, worst seed", unseen, "<=", WRONG, "{:.2%}"),
        by_worst("more than on trained tasks by, worst seed", unseen - seen, "<=", WRONG, "{:.2%}"),
    )
    return Measured(parts, len(runs))


def projections(store: Store, profile: str) -> Measured:
    """Of queries and keys, in domain and out of it: the least growth and share along, and the most that comes late."""
    runs, grown, along, late = main_runs(store, profile), [], [], []
    for name in ("query", "key", "foreign query", "foreign key"):
        norm, part = (history(runs, f"{name} {what}")[1] for what in ("norm", "projection"))
        grown.append(norm[:, -1] / norm[:, 0])
        along.append(part[:, -1] / norm[:, -1])
        late.append(norm[:, -1] / norm[:, norm.shape[1] // 2] - 1)
    parts = (
        by_worst("times that norms grow, the least", grown, ">=", GROWTH, "{:.1f}", neutral=1.0),
        by_worst("share of the norm along the pattern, the least", along, ">=", ALONG),
        by_worst("what the second half of training adds, the most", late, "<=", LATE, "{:.1%}"),
    )
    return Measured(parts, len(runs))


def attention(store: Store, profile: str, where: str = "") -> Measured:
    runs = main_runs(store, profile)
    last = history(runs, f"{where}attention.1")[1][:, -1]
    parts = (
        by_worst("attention on the query's pattern, lowest seed", last, ">=", SELECTS, "{:.3f}"),
        by_worst("the same against the paper's level", last, ">=", PAPER_ATTENTION, "{:.3f}"),
    )
    return Measured(parts, len(runs))


def foreign_attention(store: Store, profile: str) -> Measured:
    return attention(store, profile, "foreign ")


def feature_half(store: Store, profile: str) -> Measured:
    runs = main_runs(store, profile)
    first, last = (
        np.array([neurons_at(run, end(snapshots(run)))["feature angle"][large_rows(run)].mean() for run in runs])
        for end in (min, max)
    )
    parts = (
        by_worst("angle to the mean pattern at first, farthest from π/2 by (π)", np.abs(first - 0.5), "<=", NEAR),
        by_worst("at the end, largest (π)", last, "<=", TURNED, neutral=0.5),
    )
    return Measured(parts, len(runs))


def label_half(store: Store, profile: str) -> Measured:
    runs = main_runs(store, profile)
    up, down = np.array([label_angles(run) for run in runs]).T
    parts = (
        by_worst("angle to q, a > 0, largest (π)", up, "<=", LABEL, neutral=0.5),
        by_worst("angle to q, a < 0, smallest (π)", down, ">=", 1 - LABEL, neutral=0.5),
    )
    return Measured(parts, len(runs))


def lucky_grow(store: Store, profile: str) -> Measured:
    runs = main_runs(store, profile)
    of_lucky, of_others = np.array([luck_shares(run) for run in runs]).T
    parts = (
        by_worst("share that ends large, lucky less others, lowest seed", of_lucky - of_others, ">", 0.0, neutral=0.0),
        by_worst("share of the others that ends large, highest seed", of_others, "<=", OTHERS),
    )
    return Measured(parts, len(runs))


def gradients(store: Store, profile: str) -> Measured:
    """What lies below a billionth is rounding, and differs between machines."""
    runs = main_runs(store, profile)
    gaps = [[max(1e-9, gradient_gap(run, query_too)) for run in runs] for query_too in (False, True)]
    names = ("largest relative deviation, sums over l columns", "the same over l + 1")
    return Measured(tuple(by_worst(n, gap, "<=", EXACT, "{:.0e}") for n, gap in zip(names, gaps, strict=True)), len(runs))


def push_along(store: Store, profile: str) -> Measured:
    runs = main_runs(store, profile)
    along = np.array([push_until_half_way(run) for run in runs])
    words = "cosine of the push with the query's pattern, lowest seed"
    return Measured((by_worst(words, along, ">=", ALIGNED, neutral=0.0),), len(runs))


CLAIMS = asking(
    "prompt",
    Claim(
        "icl-unseen-tasks",
        "li2024nonlinear",
        "Theorem 1",
        "Trained on some tasks, the model answers prompts of tasks that it was never trained on.",
        "held-out error below ε",
        f"in every seed at most {WRONG:.0%} of the signs are wrong on unseen tasks, and at most {WRONG:.0%} more than on "
        "trained ones",
        generalizes,
        figure="12.2",
    ),
    Claim(
        "icl-projections",
        "li2024nonlinear",
        "Fig 8, Prop. 1",
        "W_Q and W_K come to project inputs on their relevant pattern, in domain and out of it.",
        "norms grow together, plateau about epoch 180; the projection is .83 of the norm",
        f"in every seed norms grow at least {GROWTH:g} times; projections are at least {ALONG:g} of them; the second half of "
        f"training adds at most {LATE:.0%}",
        projections,
        revised="the paper's own projections are .83 of the norms, and .9 was asked for",
        figure="12.7",
    ),
    Claim(
        "icl-attention",
        "li2024nonlinear",
        "Fig 9, Prop. 1",
        "Attention concentrates on examples with the query's pattern.",
        "above .98 by epoch 120",
        f"in every seed at least {PAPER_ATTENTION:g} at the end; at least {SELECTS:g} counts as partly",
        attention,
        figure="12.3",
    ),
    Claim(
        "icl-attention-foreign",
        "li2024nonlinear",
        "Fig 9, Prop. 1",
        "It does so for out-of-domain patterns, too.",
        "the same",
        f"in every seed at least {PAPER_ATTENTION:g} at the end; at least {SELECTS:g} counts as partly (S₁ = {FOREIGN_SUM:g})",
        foreign_attention,
        figure="12.3",
    ),
    Claim(
        "icl-feature-half",
        "li2024nonlinear",
        "Fig 10, Prop. 2",
        "The feature halves of rows of W_O W_V turn to the mean of the relevant patterns.",
        "angle from π/2 to about .12 π",
        f"mean over the large neurons, in every seed: within {NEAR:g} π of π/2 at first; at most {TURNED:g} π at the end",
        feature_half,
        figure="12.8",
    ),
    Claim(
        "icl-label-half",
        "li2024nonlinear",
        "Fig 11, Prop. 2",
        "The label halves turn to q for positive neurons and to −q for negative ones.",
        "angle .16 π and .84 π",
        f"mean over the large neurons, in every seed: at most {LABEL:g} π for a > 0, at least {1 - LABEL:g} π for a < 0",
        label_half,
        figure="12.4",
    ),
    Claim(
        "icl-lucky",
        "li2024nonlinear",
        "Fig 11, backup slides",
        "Neurons that are lucky, active from the start on the prompts of their sign, grow more often than the others; those "
        "stay small.",
        "lucky neurons, a share of at least Ω(1), grow; unlucky ones have small weights",
        "in every seed a larger share of the lucky ones ends large than of the others, of whom at most "
        f"{OTHERS:.0%} do; lucky: active on at least "
        f"{LUCKY:.0%} of the prompts of their sign",
        lucky_grow,
        revised="the slides ask for a constant share of neurons that are active; activity on 95 % of the prompts, and rows 1.5 "
        "times as long, were our lines; then at least .1 of the neurons had to be lucky, which cannot fail where half are by "
        "symmetry; that the others stay small was added when it was known that most grow, and made partly of reproduced",
        figure="12.5",
    ),
    Claim(
        "icl-gradients",
        "li2024talk",
        "backup slides",
        "The gradients of the slides are those of the model.",
        "formulas for W_Q, W_K, W_V and W_O",
        f"at most {EXACT:g} from automatic differentiation, relative to the largest entry, for sums over l columns and over "
        "l + 1",
        gradients,
        figure="12.3",
    ),
    Claim(
        "icl-push",
        "li2024talk",
        "backup slides",
        "While attention rises, gradient descent moves W_Q p_query along the query's pattern.",
        "proportional to it, approximately, where attention is on the query's pattern and neurons are lucky",
        f"the cosine of the push with the query's pattern, a mean over prompts and over the evaluations until attention is "
        f"half way to its end: at least {ALIGNED:g} in every seed",
        push_along,
        revised="the claim asked this of the very first step, which the slides never say",
        figure="12.3",
    ),
)
