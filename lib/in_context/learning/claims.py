"""What chapter 12 tests of Li et al. (2024a): how a one-layer transformer learns to learn in context."""

from __future__ import annotations

from lib.core.claim import Claim
from lib.in_context.learning import numbers as checks

CHAPTER_12 = (
    Claim(
        "icl-unseen-tasks",
        "li2024nonlinear",
        "Theorem 1",
        "Trained on some tasks, the model answers prompts of tasks that it was never trained on.",
        "held-out error below ε",
        "in every seed at most .01 of the signs are wrong on unseen tasks, and not .01 more than on trained ones",
        checks.generalizes,
    ),
    Claim(
        "icl-projections",
        "li2024nonlinear",
        "Fig 8, Prop. 1",
        "W_Q and W_K come to project inputs on their relevant pattern, in domain and out of it.",
        "norms grow together, plateau about epoch 180; the projection is close to the norm",
        "in every seed norms at least double, projections are at least .9 of them, and the second half of "
        "training adds at most 10 %",
        checks.projections,
    ),
    Claim(
        "icl-attention",
        "li2024nonlinear",
        "Fig 9, Prop. 1",
        "Attention concentrates on examples with the query's pattern.",
        "above .98 by epoch 120",
        "in every seed at least .9 at the end; at least .98 at the end",
        checks.attention,
    ),
    Claim(
        "icl-attention-foreign",
        "li2024nonlinear",
        "Fig 9, Prop. 1",
        "It does so for out-of-domain patterns, too.",
        "the same",
        "in every seed at least .9 at the end; at least .98 at the end (S₁ = 1.1)",
        checks.foreign_attention,
    ),
    Claim(
        "icl-feature-half",
        "li2024nonlinear",
        "Fig 10, Prop. 2",
        "The feature halves of rows of W_O W_V turn to the mean of the relevant patterns.",
        "angle from π/2 to about .12 π",
        "mean over the large neurons, in every seed: within .05 π of π/2 at first, at most .2 π at the end",
        checks.feature_half,
    ),
    Claim(
        "icl-label-half",
        "li2024nonlinear",
        "Fig 11, Prop. 2",
        "The label halves turn to q for positive neurons and to −q for negative ones.",
        "angle .16 π and .84 π",
        "mean over the large neurons, in every seed: at most .25 π for a > 0, at least .75 π for a < 0",
        checks.label_half,
    ),
    Claim(
        "icl-lucky",
        "li2024nonlinear",
        "Fig 11, backup slides",
        "A constant share of neurons is lucky, active from the start on the prompts of their sign, and these "
        "grow; the others stay small.",
        "share at least Ω(1)",
        "in every seed at least .1 of the neurons are lucky, and their trained rows at least 1.5 times as long as the others'",
        checks.lucky_grow,
    ),
    Claim(
        "icl-gradients",
        "li2024talk",
        "backup slides",
        "The gradients of the slides are those of the model.",
        "formulas for W_Q, W_K, W_V and W_O",
        "within 1e-6 of automatic differentiation, relative to the largest entry, for sums over l columns and over l + 1",
        checks.gradients,
    ),
    Claim(
        "icl-first-gradient",
        "li2024talk",
        "backup slides",
        "Already the first gradient step moves W_Q p_query along the query.",
        "proportional to it, approximately, where attention is on the query's pattern and neurons are lucky",
        "before training, the mean cosine of the step with the query's pattern is positive and at least .5 in every seed",
        checks.first_gradient,
    ),
)
