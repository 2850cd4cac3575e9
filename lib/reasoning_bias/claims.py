"""Every statement of Yao et al. 2025 on the synthetic task that the book tests, chapter by chapter."""

from __future__ import annotations

from collections.abc import Callable

from lib.core.claim import Claim, Finding
from lib.core.store import Store
from lib.reasoning_bias.attention import claims as attention_checks
from lib.reasoning_bias.embeddings import claims as embedding_checks
from lib.reasoning_bias.memory_and_reasoning import claims as checks


def _claim(
    id: str,
    item: str,
    statement: str,
    reported: str,
    criterion: str,
    check: Callable[[Store, str], Finding],
    paper: str = "yao2025",
) -> Claim:
    return Claim(id, paper, item, statement, reported, criterion, check)


CHAPTER_09 = (
    _claim(
        "bias-large-together",
        "Fig 3A, γ = .3",
        "At large initialization memory and trained reasoning are learned at nearly the same rate, held-out pairs not at all.",
        "two losses fall together, the third does not",
        "geometric mean of the ratio of halving steps between 1 / 1.5 and 1.5; the held-out loss halves in no run",
        checks.together,
    ),
    _claim(
        "bias-small-reasoning-first",
        "Fig 3A, γ = .8",
        "At small initialization the losses of trained and held-out reasoning fall together, clearly before memory.",
        "reasoning first",
        "in every run memory takes at least 2 times as long as reasoning, held-out pairs at most 1.5 times",
        checks.reasoning_first,
    ),
    _claim(
        "bias-grows",
        "Fig 3A",
        "The smaller the initialization, the further memory lags behind reasoning.",
        "the gap grows from γ = .3 over .5 to .8",
        "rank correlation of γ with the ratio has a 95 % interval above 0; the three means are in this order",
        checks.gap_grows,
    ),
    _claim(
        "bias-emb-mlp",
        "Fig 3B",
        "Embeddings and one hidden layer are enough for held-out pairs to be right at small initialization alone.",
        "held-out pairs right at γ = .8 alone",
        "mean ratio at γ = .8 above every run's at .3; mean best held-out share at most .1 at γ = .3 and at least .5 at .8",
        checks.emb_contrast,
    ),
    _claim(
        "bias-emb-mlp-noise",
        "section 4.1",
        "Without attention the task cannot be generalized once noise is added.",
        "fails for sequences longer than three",
        "best held-out share below .1 in every run, at γ = .3 and at .8; at .8 at least .25 more without noise",
        checks.emb_noise,
    ),
    _claim(
        "bias-table-window",
        "Fig 8, left",
        "Memory whose labels lie near the key is learned faster than memory with labels from everywhere.",
        "faster",
        "in every seed fewer steps to half of the loss, and a lower loss at the end",
        checks.window_faster,
    ),
    _claim(
        "bias-table-groups",
        "Fig 8, right",
        "Early outputs of each memory group stay in the group's own range of labels.",
        "four ranges, four outputs",
        "in each group and seed at least .9 of the mass inside, and nearer to the group's labels than to those of all groups",
        checks.group_ranges,
    ),
)

CHAPTER_10 = (
    _claim(
        "embedding-distance",
        "Figs 4A, 5A",
        "At small initialization the cosine of two reasoning anchors falls with their distance.",
        "seen early and late, in both models",
        "rank correlation of distance and mean cosine at most −.9 in every seed; one part for each model and time",
        embedding_checks.falls_with_distance,
    ),
    _claim(
        "embedding-memory-alike",
        "Figs 4A, 5A",
        "Memory anchors keep a high cosine with each other.",
        "high early and late",
        "mean cosine at least .5 in every seed; one part for each model and time",
        embedding_checks.memory_alike,
    ),
    _claim(
        "embedding-plane",
        "Fig 5B",
        "In the plane of two principal components reasoning anchors stand in numeric order; memory anchors do not.",
        "order is seen",
        "rank correlation of distance in number and in the plane at least .9 in every seed; below .5 for memory anchors",
        embedding_checks.numeric_order,
    ),
    _claim(
        "embedding-distributions",
        "Fig 4B, C",
        "Label distributions of near reasoning anchors are nearly parallel, those of far ones less.",
        "cosines fall with distance",
        "cosines within .001 of an independent calculation; counted in the training set, within .1",
        embedding_checks.exact_and_sampled,
    ),
    _claim(
        "embedding-follows-distributions",
        "Prop. 1, Fig 4",
        "Early embeddings of Emb-MLP, random start included, have the cosines of the label distributions.",
        "similar structure",
        "mean deviation of cosines from those of the training set's own distributions at most .1 in every seed",
        embedding_checks.distribution_explains,
    ),
    _claim(
        "embedding-moves-as-distributions",
        "Prop. 1",
        "What the embeddings of Emb-MLP have moved at first has the cosines of the label distributions.",
        "derived for velocities",
        "at the first snapshot, every seed: mean deviation at most .1; memory anchors at least .9 (asked after the results)",
        embedding_checks.movement_explained,
    ),
    _claim(
        "embedding-theorem-1",
        "Theorem 1, Fig 5C",
        "The trained transformer's reasoning anchors have the cosines of the vectors of Theorem 1 as plotted (Eq. 14).",
        "curves lie on each other for s = 15",
        "mean deviation over all pairs of anchors at most .1 in every seed",
        embedding_checks.fitted_explains,
    ),
    _claim(
        "embedding-flow-emb-mlp",
        "Eq. 4",
        "The embeddings of Emb-MLP follow the flow that the label distributions drive.",
        "derived for small embeddings",
        "at the last snapshot before the loss has fallen by 5 %: relative error at most .25, cosine at least .95, every seed",
        embedding_checks.flow_follows("Emb-MLP"),
    ),
    _claim(
        "embedding-flow-one-layer",
        "Props 2, 3",
        "The embeddings of the one-layer transformer follow the flow with the two matrices of its attention and its FFN.",
        "derived for small embeddings",
        "the same, with the formula as it is printed",
        embedding_checks.flow_follows("one layer"),
    ),
    _claim(
        "embedding-flow-positions",
        "Props 2, 3",
        "They follow it if the residual stream counts only where the anchor stands last.",
        "not discussed",
        "the same, with that share in place of 1 / L",
        embedding_checks.flow_follows("one layer", exact=True),
        "ours",
    ),
)

CHAPTER_11 = (
    _claim(
        "attention-lemma",
        "Lemma 1",
        "The smaller the initialization, the nearer the first attention is to the causal average.",
        "|A − 1 / i| ≤ ε",
        "ε before training falls at every step of γ, and is at most .01 in every seed at γ = .8",
        attention_checks.lemma,
    ),
    _claim(
        "attention-causal",
        "Fig 6",
        "At small initialization the first attention is still the causal average once training has begun.",
        "1 / i",
        "at a twentieth of training no entry of the mean attention is more than .1 from 1 / i, in every seed",
        attention_checks.stays_causal,
    ),
    _claim(
        "attention-one-direction",
        "Fig 6",
        "The largest singular value of the first W^V stands far above the others.",
        "far above",
        "at a twentieth of training at least 2 times the second, in every seed",
        attention_checks.one_direction,
    ),
    _claim(
        "attention-alignment",
        "Fig 6",
        "The first direction of W^V is that of the reasoning anchors, and near-orthogonal to memory anchors.",
        "aligned; near-orthogonal",
        "at a twentieth of training mean |cosine| at least .5 with reasoning, at most .2 with memory anchors, in every seed",
        attention_checks.aligned,
    ),
    _claim(
        "attention-second-key",
        "Appendix, second attention",
        "The second attention finds the key wherever it stands and carries it to the last token.",
        "position picks the key",
        "at least .8 of the last token's attention on the key at each place; one part for each seed",
        attention_checks.picks_the_key,
    ),
    _claim(
        "attention-second-place",
        "Appendix, second attention",
        "What the second attention matches is where a sequence's key is, not which key it is.",
        "position picks the key",
        "with attention keys of a sequence whose key is elsewhere, at least .5 goes there and at most .2 stays; a part a seed",
        attention_checks.follows_the_place,
    ),
    _claim(
        "attention-ablations",
        "Appendix, ablations",
        "Without norms, without a head and at other rates, small initialization still prefers reasoning.",
        "the bias remains",
        "every ratio at γ = .8 above every one at .3, where these are no lower bounds; one part for each ablation",
        attention_checks.survives,
    ),
)

CLAIMS = CHAPTER_09 + CHAPTER_10 + CHAPTER_11
