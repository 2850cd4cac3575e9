"""What Theorem 3 and Figures 14 and 15 of Li et al. (2024a) say of pruning, as claims (chapter 14)."""

from __future__ import annotations

from lib.core.claim import Claim
from lib.in_context.pruning import numbers as checks

PAPER = "li2024nonlinear"

CHAPTER_14 = (
    Claim(
        "icl-prune-large-share",
        PAPER,
        "Theorem 3",
        "A constant fraction of the neurons of W_O is large after training, and the rest is small.",
        "a constant fraction",
        "share of neurons with at least half of the norm of the largest tenth: between .2 and .8 in every seed",
        checks.large_share,
    ),
    Claim(
        "icl-prune-small",
        PAPER,
        "Theorem 3",
        "Pruning all neurons that are not large leaves the out-of-domain error almost as it was.",
        "almost the same as without pruning",
        "α' = .8, l = 20, mean over seeds: the error rises by at most .005; the hinge loss by at most .01; and in every seed "
        "there is something to remove (this part was added after the results)",
        checks.small_are_free,
    ),
    Claim(
        "icl-prune-random-error",
        PAPER,
        "Fig 14",
        "The same number of neurons, chosen at random, costs more errors than the smallest.",
        "random pruning rises at once, pruning by magnitude stays flat",
        "20 % removed, α' = .8, l = 20: the mean error after random pruning is larger by more than .01",
        checks.random_error,
    ),
    Claim(
        "icl-prune-random-loss",
        "ours",
        "Fig 14, in the hinge loss",
        "The same in the hinge loss, which sees what the sign does not.",
        "not reported",
        "20 % removed: random above magnitude in every seed; magnitude within .005 of unpruned in every seed (two parts)",
        checks.random_loss,
    ),
    Claim(
        "icl-prune-linear",
        PAPER,
        "Theorem 3",
        "Pruning a share R of the large neurons costs an error of the order of R at least.",
        "greater than Ω(R)",
        "mean hinge loss at least .2 R for R = .1, …, .9; its correlation with R at least .9 (two parts)",
        checks.linear,
    ),
    Claim(
        "icl-prune-alpha",
        PAPER,
        "Fig 15",
        "The more examples of a prompt show the task, the smaller is the error, at every pruning rate.",
        "ordered by α'",
        "by magnitude, l = 8, at every rate from 0 to 40 %: mean error at α' = .6 above .8 above 1",
        checks.alpha_order,
    ),
    Claim(
        "icl-prune-product",
        "ours",
        "Theorem 3, for rows of W_O W_V",
        "Among the rows of W_O W_V a constant fraction is large, and the others can go.",
        "not reported",
        "asked after the results: share of large ones between .2 and .8 in every seed; the two parts of icl-prune-small",
        checks.product,
    ),
)
