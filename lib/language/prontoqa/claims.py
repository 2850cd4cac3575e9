"""Claims on PrOntoQA (Zhang et al. 2024, Fig. 7): criteria fixed before the runs that they judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from lib.core.read import roundings
from lib.core.read.claim import NO_EFFECT, OPPOSITE, TOO_SMALL, Claim, Measured, Part, above_zero, asking, by_exact_test
from lib.core.record.store import Store, StoredRun
from lib.core.sweep.experiment import again
from lib.language import arms
from lib.language.experiments import (
    ALONE,
    AS_BEFORE,
    ASKING,
    ASKING_MOVED,
    CHAIN,
    EVEN_SEEDS,
    HARD,
    LARGE,
    SHUFFLED,
    SMALL,
    TWIN,
    even_asking_specs,
    rounded_asking_specs,
)
from lib.language.prontoqa import metrics

CHANCE = 0.6
_RANKED = "the small arm's shares are larger by a one-sided exact rank test of seeds, p at most 0.05"
_SIZES = sorted({size for variant, size, *_ in even_asking_specs("laptop") if variant == CHAIN})
_EVEN = f"{len(EVEN_SEEDS)} new seeds, as many steps at every size"
_ABOVE = "has a 95 % interval over seeds above"


def _unlearned(steps: np.ndarray) -> Part:
    """steps: until labels are learned, NaN for never."""
    return Part(
        "runs that never tell the labels of their own questions", int(np.isnan(steps).sum()), "<=", 0, "{:.0f}", given=True
    )


def better(store: Store, profile: str) -> Measured:
    runs = metrics.of_asking(store, profile)
    sizes = arms.sizes(runs, CHAIN, *SMALL)
    leads = [arms.lead(runs[CHAIN, size, *SMALL], runs[CHAIN, size, *LARGE], "label") for size in sizes]
    smallest = metrics.gold(runs[CHAIN, sizes[0], *LARGE])
    steps = np.array([metrics.by_size(runs, CHAIN, *arm, name="steps") for arm in (LARGE, SMALL)])
    least, best = min(gap for gap, *_ in leads), max(low for _, low, _ in leads)
    failure = OPPOSITE if any(high < 0 for *_, high in leads) else NO_EFFECT
    parts = (
        _unlearned(steps),
        Part("least lead of the small arm over the sizes", least, ">=", 0.0, "{:.3f}", failure=failure),
        Part("largest lower end of its 95 % interval", best, ">", 0.0, "{:.3f}", failure=failure),
        Part("large arm's mean share at the smallest size", float(smallest.mean()), "<=", CHANCE, group="chance"),
    )
    return Measured(parts, len(smallest))


def faster(store: Store, profile: str) -> Measured:
    return _faster(metrics.of_asking(store, profile))


def _faster(runs: arms.Runs) -> Measured:
    sizes = arms.sizes(runs, CHAIN, *SMALL)
    steps = {arm: metrics.by_size(runs, CHAIN, *arm, name="steps") for arm in (LARGE, SMALL)}
    both = [i for i in range(len(sizes)) if np.isfinite([steps[LARGE][i], steps[SMALL][i]]).all()]
    ratios = [steps[SMALL][i].mean() / steps[LARGE][i].mean() for i in both]
    failure = OPPOSITE if ratios and min(ratios) > 1 else NO_EFFECT
    parts = (
        Part("sizes at which every run learns", len(both), ">=", 2, "{:.0f}", given=True),
        Part("largest ratio of steps, small to large arm", max(ratios, default=np.nan), "<", 1.0, failure=failure),
    )
    return Measured(parts, steps[SMALL].shape[1])


def turns(store: Store, profile: str) -> Measured:
    return _turns(metrics.of_asking(store, profile))


def _turns(runs: arms.Runs) -> Measured:
    steps = metrics.by_size(runs, CHAIN, *LARGE, name="steps")
    means = steps.mean(1)
    top = float(means[1:-1].max() - max(means[0], means[-1])) if len(means) > 2 else np.nan
    name = "steps by which a middle size exceeds the ends"
    return Measured((_unlearned(steps), Part(name, top, ">", 0.0, "{:.0f}", failure=NO_EFFECT)), steps.shape[1])


def _even(store: Store, profile: str) -> arms.Runs:
    return arms.there(metrics.of_even(store, profile), profile)


def faster_even(store: Store, profile: str) -> Measured:
    return _faster(_even(store, profile))


def turns_even(store: Store, profile: str) -> Measured:
    return _turns(_even(store, profile))


def _labels_at(store: Store, profile: str, variant: str, size: int) -> Measured:
    """Do more of the labels come out right from the small start, given that all runs know those of their own questions?"""
    runs = _even(store, profile)
    large, small = (runs[variant, size, *arm] for arm in (LARGE, SMALL))
    ahead = _ahead_by_ranks("labels right", metrics.gold(small), metrics.gold(large))
    return Measured((_unlearned(metrics.label_steps([*large, *small])), ahead), len(small))


def better_even(store: Store, profile: str) -> Measured:
    return _labels_at(store, profile, CHAIN, ASKING[profile].middle)


def better_as_before(store: Store, profile: str) -> Measured:
    return _labels_at(store, profile, AS_BEFORE, ASKING[profile].middle)


def alone(store: Store, profile: str) -> Measured:
    return _labels_at(store, profile, ALONE, arms.largest(_even(store, profile), ALONE))


def _above_and_ahead(
    small: Sequence[StoredRun],
    large: Sequence[StoredRun],
    bar: float,
    measure: Callable[[Sequence[StoredRun]], np.ndarray] = metrics.own,
) -> tuple[Part, Part]:
    """Shares of the small arm behind chains of its own, with a 95 % interval over seeds, above a bar and above the large arm's.
    A bar of 1 cannot be passed, so it tells nothing."""
    _, low, high = arms.interval(measure(small))
    failure = OPPOSITE if high < bar < 1 else TOO_SMALL
    above = Part("share of the small arm: lower end of the 95 % interval", low, ">", bar, "{:.3f}", failure=failure)
    return above, above_zero("lead over the large arm", arms.contrast(small, large, measure))


def own(store: Store, profile: str) -> Measured:
    runs = metrics.of_asking(store, profile)
    top = arms.largest(runs, CHAIN)
    large, small = (runs[CHAIN, top, *arm] for arm in (LARGE, SMALL))
    steps = metrics.label_steps(small)
    return Measured((_unlearned(steps), *_above_and_ahead(small, large, 0.5)), len(small))


def hard(store: Store, profile: str) -> Measured:
    runs = metrics.of_asking(store, profile)
    large, small = (runs[HARD, arms.largest(runs, CHAIN), *arm] for arm in (LARGE, SMALL))
    bar = max(metrics.without_reasoning(runs, HARD).values())
    return Measured(_above_and_ahead(small, large, bar), len(small))


def _beside_twin(store: Store, profile: str, variant: str) -> tuple[Part, Sequence[StoredRun], Sequence[StoredRun], float]:
    """Do all runs beside a twin tell their labels? Then those of the small and of the large arm, and the best simple reader's
    share where two rules have to be joined."""
    twins = metrics.of_twins(store, profile)
    large, small = metrics.paper_arms(twins, variant).values()
    bar = max(metrics.without_reasoning(twins, variant, metrics.JOINED).values())
    return _unlearned(metrics.label_steps([*large, *small])), small, large, bar


def twin(store: Store, profile: str) -> Measured:
    learned, small, large, bar = _beside_twin(store, profile, TWIN)
    return Measured((learned, *_above_and_ahead(small, large, bar, metrics.joined)), len(small))


def shuffled(store: Store, profile: str) -> Measured:
    learned, small, large, bar = _beside_twin(store, profile, SHUFFLED)
    above, _ = _above_and_ahead(small, large, bar, metrics.joined)
    return Measured((learned, above, _ahead_by_ranks("labels right", metrics.joined(small), metrics.joined(large))), len(small))


def chains(store: Store, profile: str) -> Measured:
    learned, small, large, _ = _beside_twin(store, profile, SHUFFLED)
    return Measured((learned, _ahead_by_ranks("whole chains", arms.shares(small), arms.shares(large))), len(small))


def _ahead_by_ranks(name: str, small: np.ndarray, large: np.ndarray) -> Part:
    found = arms.by_ranks(small, large)
    return by_exact_test(f"{name}, small above large: exact rank test of seeds", found.p, found.opposite, found.least)


MOST_SHIFT = 0.1
"""By how much bfloat16 may shift a mean share of labels: runs of one arm differ by up to .4 (our choice)."""
PRECISION = roundings.Question(
    rounded_asking_specs,
    lambda profile: again(ASKING_MOVED, profile),
    {
        "labels right": (lambda run: float(metrics.gold([run])[0]), MOST_SHIFT),
        "half the small start's lead": (partial(arms.half_lead, name="label"), MOST_SHIFT),
    },
)

CLAIMS = asking(
    "language",
    Claim(
        "prontoqa-better",
        "zhang2024",
        "Fig 7",
        "A small start with much decay answers more questions right than a large one at every size, and the large one is near "
        "chance where the training set is small.",
        "the small arm is better at the same size; the large arm's accuracy is low at small sizes",
        "labels behind the gold chain: every run tells those of its own questions at every size; the small arm's mean share is "
        f"at least the large arm's at every size; its lead, paired by seed, {_ABOVE} 0 at one size at least; the large arm's "
        f"mean share at the smallest size is at most {CHANCE:g} (chance is 0.5)",
        better,
        revised=f"{arms.PAIRED}; the verdict stays",
        figure="21.8",
    ),
    Claim(
        "prontoqa-faster",
        "zhang2024",
        "Fig 7",
        "The small start learns a training set of the same size in fewer steps.",
        "the small arm converges faster",
        "both arms tell the labels of their own questions in every run at two sizes at least; at each of these the small arm's "
        "mean number of steps is lower",
        faster,
        figure="21.8",
    ),
    Claim(
        "prontoqa-turns",
        "zhang2024",
        "Fig 7a",
        "With the large start more data first take longer to learn, then less long.",
        "convergence steps first grow with the data, then shrink",
        "every run of the large arm tells the labels of its own questions; its mean number of steps is highest at neither the "
        "smallest nor the largest size",
        turns,
        figure="21.8",
    ),
    Claim(
        "prontoqa-even",
        "zhang2024",
        "Fig 7",
        "With as many questions as had shown it, the small start answers more new ones right on new seeds, too.",
        "the small arm is better at the same size",
        f"labels behind the gold chain, {_EVEN}, {ASKING['laptop'].middle:,} questions: every run tells those of its own "
        f"questions; {_RANKED}",
        better_even,
        revised="seen at this size in other runs of half the steps",
        figure="21.1",
    ),
    Claim(
        "prontoqa-seeds",
        "zhang2024",
        "Fig 7",
        "With as many questions and steps as had shown it, the small start answers more new ones right on new seeds, too.",
        "the small arm is better at the same size",
        f"labels behind the gold chain, {len(EVEN_SEEDS)} new seeds, {ASKING['laptop'].middle:,} questions, "
        f"{ASKING['laptop'].gpt.train.steps:,} steps: every run tells those of its own questions; {_RANKED}",
        better_as_before,
        revised="asked when the same seeds with twice the steps had shown no lead: is it the steps, or the seeds?",
        figure="21.1",
    ),
    Claim(
        "prontoqa-roundings",
        "ours",
        "Fig 7",
        "In bfloat16 as many labels come out right as in single precision, but for what the last bit changes, too.",
        "not asked",
        f"the {len(rounded_asking_specs('laptop'))} runs of {len(EVEN_SEEDS)} new seeds with {ASKING['laptop'].middle:,} "
        f"questions, of either length; {PRECISION.criterion}",
        PRECISION.measure,
        figure="21.1",
    ),
    Claim(
        "prontoqa-even-faster",
        "zhang2024",
        "Fig 7",
        "The small start learns a training set of the same size in fewer steps, all else being equal.",
        "the small arm converges faster",
        f"{_EVEN}, from {_SIZES[0]:,} to {_SIZES[-1]:,} questions: both arms tell the labels of their own questions in every "
        "run at two sizes at least; at each of these the small arm's mean number of steps is lower",
        faster_even,
        revised="in other runs, with fewer steps at all sizes but one, the small arm took more",
        figure="21.1",
    ),
    Claim(
        "prontoqa-even-turns",
        "zhang2024",
        "Fig 7a",
        "With the large start more data first take longer to learn, then less long, all else being equal.",
        "convergence steps first grow with the data, then shrink",
        f"{_EVEN}, from {_SIZES[0]:,} to {_SIZES[-1]:,} questions: every run of the large arm tells the labels of its own "
        "questions; its mean number of steps is highest at neither the smallest nor the largest size",
        turns_even,
        figure="21.1",
    ),
    Claim(
        "prontoqa-alone",
        "zhang2024",
        "reading of Fig 7",
        "Without a chain, too, the small start gives more new questions their right label.",
        "the small arm is better; what stands before the answer is not said",
        f"{_EVEN}, {_SIZES[-1]:,} questions, the label alone in training and test: every run tells the labels of its own "
        f"questions; {_RANKED}",
        alone,
        figure="21.1",
    ),
    Claim(
        "prontoqa-own",
        "ours",
        "reading of Fig 7",
        "With most data the small start also writes chains of its own that lead to the right answer, and more of them than the "
        "large one.",
        "not reported",
        f"largest training set, labels behind chains of their own: every run of the small arm has learned; its share {_ABOVE} "
        f"0.5; its lead over the large arm, paired by seed, {_ABOVE} 0",
        own,
        revised=f"that runs have learned was added with the results at hand; {arms.PAIRED}; the verdict stays",
        figure="21.3",
    ),
    Claim(
        "prontoqa-hard",
        "ours",
        "variant of Fig 7",
        "The small start is ahead where counting tells little of which rule is the distractor, and of readers that do not "
        "reason.",
        "not reported",
        f"hard variant, labels behind chains of their own: the small arm's share {_ABOVE} the best reader's that does not "
        f"reason; its lead over the large arm, paired by seed, {_ABOVE} 0",
        hard,
        revised="a reader was found later that is always right without reasoning, so that no model can be above it; "
        f"{arms.PAIRED}; the verdict stays",
        figure="21.4",
    ),
    Claim(
        "prontoqa-twin",
        "ours",
        "variant of Fig 7",
        "Where two rules have to be joined beside a twin of the chain the small start is right more often than the large one, "
        "and than simple readers.",
        "not reported",
        "beside a twin, labels behind chains of their own, questions of "
        f"{metrics.JOINED} hops: every run tells the labels of its own questions; the small arm's share {_ABOVE} the best "
        "simple reader's; its lead over the large arm, paired by seed, "
        f"{_ABOVE} 0",
        twin,
        revised="a reader of places was found with the results at hand, and raised the bar; the verdict stays",
        figure="21.7",
    ),
    Claim(
        "prontoqa-shuffled",
        "ours",
        "variant of Fig 7",
        "Where two rules have to be joined and neither looks nor places tell which, the small start is right more often than "
        "the large one, and than simple readers.",
        "not reported",
        "beside a twin, rules in any order, labels behind chains of their own, questions of "
        f"{metrics.JOINED} hops: every run tells the labels of its own questions; the small arm's share {_ABOVE} the best "
        f"simple reader's; {_RANKED}",
        shuffled,
        figure="21.5",
    ),
    Claim(
        "prontoqa-shuffled-chains",
        "ours",
        "variant of Fig 7",
        "Beside a twin whose rules stand in any order the small start writes more chains that are right word by word.",
        "seen beside a twin with its rules in order",
        "beside a twin, rules in any order, new questions, every word of chain and label: every run tells the labels of its "
        f"own questions; {_RANKED}",
        chains,
        figure="21.5",
    ),
)
