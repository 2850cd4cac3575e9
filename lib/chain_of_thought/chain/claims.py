"""Every statement of Li et al. 2025 on chain of thought that the book tests. Criteria were written before the runs that they
judge; the runs of the trials (`cot-search`), on other seeds, were seen by then."""

from __future__ import annotations

from collections.abc import Callable

from lib.chain_of_thought import checks
from lib.core.claim import Claim, Finding
from lib.core.store import Store


def _claim(
    id: str,
    item: str,
    statement: str,
    reported: str,
    criterion: str,
    check: Callable[[Store, str], Finding],
    paper: str = "li2025cot",
) -> Claim:
    return Claim(id, paper, item, statement, reported, criterion, check)


CHAPTER_15 = (
    _claim(
        "cot-example",
        "worked example",
        "Each step's most frequent output can be right and the most frequent end still wrong.",
        "B = [[.56, .44], [.64, .36]], τ = .36, τ_o = .56; Condition 1 does not hold",
        "B, τ, τ_o, and that Condition 1 does not hold, as on the slide",
        checks.example,
    ),
    _claim(
        "cot-two-stages",
        "Fig 20",
        "Training first finds the columns of the query's step and then, among them, those of its pattern.",
        "two stages; attention to both above .9 after 1,000 iterations",
        "in every seed attention to the step reaches .8 in at most half of the iterations that attention to the pattern takes; "
        "attention to both at least .9 at the end",
        checks.stages,
    ),
    _claim(
        "cot-mechanism",
        "CoT mechanism",
        "At step k of inference attention is on the examples' columns of step k that show the query's pattern.",
        "dominant attention",
        "at α' = .8, τ = .5 and 20 examples at least .9 at every step in every seed; above .5 at every other α' and τ",
        checks.mechanism,
    ),
    _claim(
        "cot-alpha",
        "Fig 17",
        "The error falls with the number of examples; with a larger α' fewer are needed.",
        "falls, in the order of α' = .4, .6, .8, 1",
        "at every α' the longest prompts have at most a tenth of the error of 10 examples, and no rise on the "
        "way; errors at 20 "
        "examples in this order, their 95 % intervals apart",
        checks.alpha_orders,
    ),
    _claim(
        "cot-tau",
        "Fig 18",
        "With examples that err less (a larger τ) fewer are needed.",
        "falls, in the order of τ = .4, .5, .6, .7",
        "the same for τ at α' = .8",
        checks.tau_orders,
    ),
    _claim(
        "cot-condition",
        "Fig 19, Theorem 6",
        "Without Condition 1 in-context learning stays wrong while chain of thought gets right; with it both do.",
        "the error of in-context learning does not fall without Condition 1",
        "without it, in-context learning errs at least half of the time at every length and no less often at the longest than "
        "at 10 examples; without it chain of thought, and with it both, fall to at most a fifth of the error at 10 examples",
        checks.condition,
    ),
    _claim(
        "cot-zero",
        "Theorem 5",
        "With examples enough the error of chain of thought vanishes, on patterns that were never trained.",
        "0",
        "at the longest prompts the 95 % interval ends below .01 for every pair of α' and τ",
        checks.to_zero,
    ),
    _claim(
        "cot-needed",
        "Theorem 5",
        "(α'τ)^−2 examples are sufficient, up to a constant.",
        "sufficient",
        "rank correlation of α'τ with the examples needed for an error of .05 at most −.9; their exponent in 1 / (α'τ) has a "
        "95 % interval that ends at 2 at most; so do, without intervals, those in 1 / α' and in 1 / τ with the "
        "other fixed (this "
        "last part was added after the first runs)",
        checks.needed_law,
    ),
    _claim(
        "cot-oracle",
        "Theorem 5",
        "A trained model is as good as a vote among the matching examples.",
        "the mechanism of the proof",
        "its error is at most 1.25 times that of the vote wherever the latter is at least .01",
        checks.as_good_as_counting,
        paper="ours",
    ),
    _claim(
        "cot-iterations",
        "Theorem 4",
        "Training takes longer for a smaller α, a larger K and a larger M.",
        "α^−2 K^3 + M K (α^−1 + ε^−1) iterations, up to constants",
        "mean iterations until attention to both is .8 change in this direction at every value; one part each for α, K and M",
        checks.iterations_trained,
    ),
    _claim(
        "cot-iterations-fixed",
        "Theorem 4, W_V fixed",
        "The same where W_V stays as it starts, so that attention alone is trained.",
        "as above",
        "as above",
        checks.iterations_fixed,
        paper="ours",
    ),
)
"""The claims of chapter 15."""
