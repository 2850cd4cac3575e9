"""Claims on attention (chapter 11): the criteria, and whether stored results meet them."""

from __future__ import annotations

import numpy as np

from lib.core.read.claim import Claim, Finding, graded
from lib.core.read.measures import spread
from lib.core.record.store import Store
from lib.reasoning_bias.attention import metrics
from lib.reasoning_bias.attention.metrics import EPSILON, HALF, reach, rounded
from lib.reasoning_bias.experiments import ABLATIONS, LARGE, SMALL
from lib.reasoning_bias.ratios import slowdown, words
from lib.reasoning_bias.runs import KINDS, at, epoch, seeds, short, transformers
from lib.reasoning_bias.study import N_QUESTIONS

STANDS_OUT = 2
"""The largest singular value over the second."""
ALONG, ACROSS = 0.5, 0.2
"""Mean |cosine| with the anchors that a direction is aligned with, and with those that it is nearly orthogonal to."""
READS = 0.8
"""Of the last token's attention, where it reads the key."""
ENOUGH_SEEDS = 0.75
"""Of seeds that should have the solution which the paper describes: it reports one model."""
STAYS = 0.2
"""Of an attention that has moved elsewhere, at its former place."""

FALLS = "ε before training falls at every step of γ"
IS_SMALL = f"ε before training at most {short(EPSILON)} in every seed at γ = {short(SMALL)}"
IS_AVERAGE = (
    f"at more than {short(HALF)} of the snapshots from a twentieth of training on no entry of the attention to any single one "
    f"of {N_QUESTIONS} sequences is more than {short(metrics.OFF)} from 1 / i; one part for each seed"
)
IN_MOST_SEEDS = f"in at least {ENOUGH_SEEDS:.0%} of the seeds"
ONE_STANDS_OUT = f"at least {STANDS_OUT:g} times the second, in every seed"
WITH_REASONING = f"mean |cosine| at least {short(ALONG)} with reasoning anchors, in every seed"
NOT_WITH_MEMORY = f"at most {short(ACROSS)} with memory anchors, in every seed"


def lemma(store: Store, profile: str) -> Finding:
    before = metrics.start_deviations(profile)
    gammas = list(before)
    means = np.array([np.mean(before[g]) for g in gammas])
    small = max(before[SMALL])
    return Finding(
        f"ε before training, by γ: {', '.join(f'{g:g}: {rounded(min(v))} to {rounded(max(v))}' for g, v in before.items())}",
        graded({FALLS: bool((np.diff(means) < 0).all()), IS_SMALL: small <= EPSILON}),
        len(before[SMALL]),
    )


def stays_causal(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile, SMALL)
    found = [metrics.near_average(run, single=True) for run in runs]
    mean = [metrics.near_average(run) for run in runs]
    step, last = metrics.beginning(runs), max(runs[0].snapshots())
    say = lambda values: ", ".join(f"{v:.2f}" for v in values)
    far = lambda at: say([metrics.largest(run, at) for run in runs])
    return Finding(
        f"share of snapshots near the average, by seed: in single sequences {say(found)}, of the mean over sequences "
        f"{say(mean)}; largest distance from 1 / i in a sequence after {step / epoch(runs[0].spec):g} epochs {far(step)}, at "
        f"the end {far(last)}",
        graded({f"seed {run.spec.seed}": value > HALF for run, value in zip(runs, found, strict=True)}),
        seeds(runs),
    )


def one_direction(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile, SMALL)
    step = metrics.beginning(runs)
    gap = [metrics.gap(r, step) for r in runs]
    rest = [metrics.gap(r, step, 3) for r in runs]
    return Finding(
        f"after {step / epoch(runs[0].spec):g} epochs the largest singular value is {spread(gap)} times the second "
        f"and {spread(rest)} times the third",
        graded({ONE_STANDS_OUT: min(gap) >= STANDS_OUT}),
        seeds(runs),
    )


def aligned(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile, SMALL)
    step = metrics.beginning(runs)
    found = {kind: [] for kind in KINDS}
    for run in runs:
        steps, kinds = metrics.alignments(run)
        for kind, values in kinds.items():
            found[kind].append(float(values[list(steps).index(step)].mean()))
    return Finding(
        f"|cosine| of the first direction of W^V with reasoning anchors {spread(found['reasoning'])}, "
        f"with memory anchors {spread(found['memory'])}, after {step / epoch(runs[0].spec):g} epochs",
        graded({WITH_REASONING: min(found["reasoning"]) >= ALONG, NOT_WITH_MEMORY: max(found["memory"]) <= ACROSS}),
        seeds(runs),
    )


def picks_the_key(store: Store, profile: str) -> Finding:
    runs = metrics.trained_small(store, profile)
    key = np.array([metrics.reading(r)[1, :, 0].min() for r in runs])
    return Finding(
        f"share of the last token's second attention on the key, at the key's worst place, at least {short(READS)} in "
        + _in_two(key, key >= READS),
        graded({IN_MOST_SEEDS: bool((key >= READS).mean() >= ENOUGH_SEEDS)}),
        seeds(runs),
    )


def follows_the_place(store: Store, profile: str) -> Finding:
    runs = metrics.trained_small(store, profile)
    moved = [metrics.moved(r) for r in runs]
    found = [kept["other place"] for kept in moved]
    held = np.array([other >= metrics.MOST and own <= STAYS for own, other in found])
    own, other = np.array(found).T
    reads = np.array([kept["itself"][0] >= metrics.MOST for kept in moved])
    resting = metrics.share_of(int(held[reads].sum()), int(reads.sum()))
    return Finding(
        f"with the attention keys of a sequence whose key stands elsewhere, so in {_in_two(other, held)}, by the weight that "
        f"goes there; what stays: {reach(own)}; so in {resting} of those where most of it rests on the key",
        graded({IN_MOST_SEEDS: bool(np.mean(held) >= ENOUGH_SEEDS)}),
        seeds(runs),
    )


def _in_two(values: np.ndarray, held: np.ndarray) -> str:
    """The range of values where something holds, and elsewhere."""
    first = f"{metrics.share_of(held.sum(), len(held))} seeds" + (f" ({reach(values[held])})" if held.any() else "")
    return (
        first
        + (f", {reach(values[~held])} in the others" if held.any() and not held.all() else "")
        + ("" if held.any() else f" ({reach(values)})")
    )


def survives(store: Store, profile: str) -> Finding:
    parts, said, fewest = {}, [], 0
    for name, runs in metrics.ablated(store, profile).items():
        if name == ABLATIONS[0]:
            continue
        fewest = min(fewest or seeds(runs), seeds(runs))
        pair = [[r for r in (slowdown(run) for run in at(runs, gamma)) if r is not None] for gamma in (LARGE, SMALL)]
        parts[name] = metrics.bias_stays(runs)
        said.append(f"{name}: " + " and ".join(words(p) if p else "never halved" for p in pair))
    return Finding(f"ratio at γ = {LARGE:g} and {SMALL:g}; " + "; ".join(said), graded(parts), fewest)


CLAIMS = (
    Claim(
        "attention-lemma",
        "yao2025",
        "Lemma 1",
        "The smaller the initialization, the nearer the first attention is to the causal average.",
        "|A − 1 / i| ≤ ε",
        f"{FALLS}; {IS_SMALL}",
        lemma,
    ),
    Claim(
        "attention-causal",
        "yao2025",
        "Fig 6",
        "At small initialization the first attention is still the causal average from a twentieth of training on.",
        "1 / i",
        IS_AVERAGE,
        stays_causal,
        revised="the mean over sequences was judged, in which what single sequences select cancels; before that, one epoch",
    ),
    Claim(
        "attention-one-direction",
        "yao2025",
        "Fig 6",
        "The largest singular value of the first W^V stands far above the others.",
        "far above",
        f"at a twentieth of training {ONE_STANDS_OUT}",
        one_direction,
    ),
    Claim(
        "attention-alignment",
        "yao2025",
        "Fig 6",
        "The first direction of W^V is that of the reasoning anchors, and near-orthogonal to memory anchors.",
        "aligned; near-orthogonal",
        f"at a twentieth of training {WITH_REASONING}; {NOT_WITH_MEMORY}",
        aligned,
    ),
    Claim(
        "attention-second-key",
        "yao2025",
        "Appendix, second attention",
        "The second attention finds the key wherever it stands and carries it to the last token.",
        "position picks the key",
        f"at least {short(READS)} of the last token's attention on the key at each place, {IN_MOST_SEEDS}",
        picks_the_key,
        revised="of four seeds one has another solution, which four seeds cannot weigh; eight were added",
    ),
    Claim(
        "attention-second-place",
        "yao2025",
        "Appendix, second attention",
        "What the second attention matches is where a sequence's key is, not which key it is.",
        "position picks the key",
        f"with attention keys of a sequence whose key is elsewhere, at least {short(metrics.MOST)} goes there and at most "
        f"{short(STAYS)} stays, {IN_MOST_SEEDS}",
        follows_the_place,
        revised="as above",
    ),
    Claim(
        "attention-ablations",
        "yao2025",
        "Appendix, ablations",
        "Without norms, without an output matrix (the paper's head) and at other learning rates, small initialization still "
        "prefers reasoning.",
        "the bias remains",
        f"every ratio at γ = {short(SMALL)} above every one at {short(LARGE)}, where these are no lower bounds; one part for "
        "each ablation",
        survives,
    ),
)
