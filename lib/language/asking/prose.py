"""Sentences and tables of the chapter on PrOntoQA: each says what its numbers say, whichever way they fall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.record.store import StoredRun
from lib.language import arms
from lib.language.asking import metrics
from lib.language.asking.metrics import Runs
from lib.language.baselines import occurrences, sentences
from lib.language.experiments import ASKING, CHAIN, CROSSED, HARD, LARGE, SMALL
from lib.language.prontoqa import CONCEPTS, Task
from lib.language.study import N_OWN, TEST_STREAM, make_asking

LITTLE = 0.02
"""Differences of shares below this are not told (our choice)."""
WELL = 0.95
"""The share of right labels behind the gold chain from which on we say that a model can compare (our choice)."""
READINGS = {
    "label": "label, behind the gold chain (main reading)",
    "own": "label, behind its own chain",
    "test": "every word of the gold chain",
}
"""The readings of a model that is trained with chains, by their names in `metrics.by_size`."""
VARIANTS = {CHAIN: "as published", HARD: "hard variant"}
SIZE_OF = {LARGE: "large", SMALL: "small"}
Arm = tuple[float, float]


def name_of(arm: Arm) -> str:
    gamma, decay = arm
    return f"γ = {gamma:g}, decay {decay:g}"


def _list(words: Sequence[object]) -> str:
    said = [f"{word:,}" if isinstance(word, int) else str(word) for word in words]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def middle(runs: Runs) -> int:
    """The size of training sets at which every arm is run."""
    return metrics.sizes(runs, CHAIN, *CROSSED[0])[0]


def largest(runs: Runs) -> int:
    """The size at which variants are run."""
    return metrics.sizes(runs, CHAIN, *SMALL)[-1]


def limits(runs: Runs) -> list[int]:
    """The steps that a run has, size by size."""
    return [runs[CHAIN, size, *SMALL][0].spec.train.steps for size in metrics.sizes(runs, CHAIN, *SMALL)]


def settings_table(profile: str) -> list[tuple[str, str]]:
    """The settings of a profile as rows (name, value)."""
    s = ASKING[profile]
    t, task = s.gpt.train, dict(s.task)
    return [
        ("concepts, hops", f"{task['concepts']} of {len(CONCEPTS)}, {_list(task['hops'])}"),
        ("questions of training", _list(s.sizes)),
        ("of the other arms, and of variants", f"{s.middle:,}, and {max(s.sizes):,}"),
        ("new questions, with chains of one's own", f"{task['test']:,}, {min(N_OWN, task['test']):,}"),
        ("form of the model", "GPT-2's, a token a word"),
        ("layers, d_model, heads", f"{s.gpt.depth}, {s.gpt.d_model}, {s.gpt.heads}"),
        ("tokens, positions", f"{s.shape[0]}, {s.shape[1]}"),
        ("batch", f"{t.batch:,}"),
        ("steps", f"{t.steps:,}" + (f", at {max(s.sizes):,} questions {2 * t.steps:,}" if len(s.sizes) > 1 else "")),
        (
            "times that a question is seen, size by size",
            ", ".join(f"{(1 + (n == max(s.sizes) > min(s.sizes))) * t.steps * t.batch / n:,.0f}" for n in s.sizes),
        ),
        ("peak learning rate", f"{s.gpt.rate:.5f}".rstrip("0") + f", warm-up {t.warmup:,} steps, then cosine"),
        (
            "learning rate × decay × steps, of the arm with decay 0.1",
            f"{s.gpt.rate * 0.1 * t.steps / 2:.2g}, by the mean learning rate",
        ),
        ("seeds", str(len(s.seeds))),
    ]


# ---------------------------------------------------------------- the answer


def verdict(runs: Runs, profile: str) -> str:
    """Which of the paper's arms judges more new questions right and learns sooner, and what its own chains are worth."""
    sizes = metrics.sizes(runs, CHAIN, *SMALL)
    mean = {(size, arm): float(metrics.gold(runs[CHAIN, size, *arm]).mean()) for size in sizes for arm in (LARGE, SMALL)}
    leads = {size: metrics.lead(runs[CHAIN, size, *SMALL], runs[CHAIN, size, *LARGE]) for size in sizes}
    ahead = [size for size, (_, low, _) in leads.items() if low > 0]
    behind = [size for size, (*_, high) in leads.items() if high < 0]
    even = [size for size in sizes if size not in (*ahead, *behind)]
    at = max(ahead or behind or sizes, key=lambda size: abs(leads[size][0]))
    which = "" if even and ([at] == ahead or [at] == behind) else f"at {at:,} "
    shares = f"{which}{mean[at, SMALL]:.0%} against {mean[at, LARGE]:.0%}"
    rest = f"; at {_list(even)} the two cannot be told apart" if even else ""
    if ahead and behind:
        first = (
            f"Which of the paper's arms judges more new questions right behind the given chain depends on the number in "
            f"training: at {_list(ahead)} the small one ({shares}), at {_list(behind)} the large one{rest}"
        )
    elif ahead or behind:
        better, other = ("small", "large") if ahead else ("large", "small")
        shares = shares if ahead else f"{which}{mean[at, LARGE]:.0%} against {mean[at, SMALL]:.0%}"
        where = f"with {_list(ahead or behind)} questions in training" if even else "at every size of the training set"
        first = (
            f"Behind the given chain the paper's {better} arm judges more new questions right than its {other} one {where} "
            f"({shares}){rest}"
        )
    else:
        first = (
            "Behind the given chain neither of the paper's arms judges clearly more new questions right, at any size of the "
            f"training set (small against large {shares})"
        )
    return f"{first}. {_sooner(runs)} {own_said(runs)}"


def _steps(runs: Runs) -> tuple[list[int], dict[Arm, np.ndarray]]:
    found = {arm: metrics.by_size(runs, CHAIN, *arm, name="steps") for arm in (LARGE, SMALL)}
    return metrics.sizes(runs, CHAIN, *SMALL), found


def _sooner(runs: Runs) -> str:
    """Which arm learns its labels in fewer steps, where both do, and where they do not."""
    sizes, steps = _steps(runs)
    both = [size for i, size in enumerate(sizes) if np.isfinite([steps[LARGE][i], steps[SMALL][i]]).all()]
    if not both:
        return (
            "At no size do all runs of both learn the labels of their own questions: it is unfinished models that are compared."
        )
    fewer = [size for i, size in enumerate(sizes) if size in both and steps[SMALL][i].mean() < steps[LARGE][i].mean()]
    more = [size for size in both if size not in fewer]
    where = "at every size" if both == sizes else f"with {_list(both)}"
    if fewer and more:
        said = f"learns the labels of its own questions in fewer steps with {_list(fewer)}, but not with {_list(more)}"
    else:
        said = f"{'learns' if fewer else 'does not learn'} the labels of its own questions in fewer steps {where}"
    rest = [size for size in sizes if size not in both]
    lost = [
        SIZE_OF[arm] for arm in (LARGE, SMALL) if not all(np.isfinite(steps[arm][sizes.index(size)]).all() for size in rest)
    ]
    whose = f"the {lost[0]} arm" if len(lost) == 1 else "both"
    open_ = f"; with {_list(rest)} not every run of {whose} learns them" if rest else ""
    return f"The small arm {said}{open_}."


def own_said(runs: Runs) -> str:
    """Do the arms' own chains lead to the right label, where they have most questions to learn from?"""
    size = largest(runs)
    found = {arm: metrics.own(runs[CHAIN, size, *arm]) for arm in (SMALL, LARGE)}
    above = [SIZE_OF[arm] for arm, values in found.items() if arms.difference(values, np.full(2, 0.5))[1] > 0]
    shares = f"{found[SMALL].mean():.0%} and {found[LARGE].mean():.0%}"
    if not above:
        return (
            "But to judge a given chain is not to reason: behind chains that they write themselves neither is "
            f"clearly right more often than a coin ({shares} with {size:,} questions)."
        )
    who = "both arms are" if len(above) == 2 else f"only the {above[0]} arm is"
    return (
        f"Behind chains that they write themselves {who} clearly right more often than a coin on these questions, small "
        f"against large {shares.replace(' and ', ' against ')} with {size:,} questions."
    )


def takeaway(runs: Runs, profile: str) -> str:
    """What the score of Fig. 7 is worth: what gets it without reasoning, and who is above that in the hard variant."""
    size, counts, bar = largest(runs), metrics.without_reasoning(profile, False), best(profile, True)
    found = {arm: metrics.own(runs[HARD, size, *arm]) for arm in (SMALL, LARGE)}
    above = [SIZE_OF[arm] for arm, values in found.items() if arms.difference(values, np.full(2, bar[1]))[1] > 0]
    who = "both arms are" if len(above) == 2 else f"only the {above[0]} arm is" if above else "neither arm is"
    sizes = metrics.sizes(runs, CHAIN, *SMALL)
    ahead = sum(metrics.lead(runs[CHAIN, n, *SMALL], runs[CHAIN, n, *LARGE])[1] > 0 for n in sizes)
    return (
        f"The paper's small start judges clearly more new questions right at {ahead} of {len(sizes)} sizes, where it reports "
        "all. A label behind a given chain asks for one comparison, of the chain's last sentence with the question. "
        f"A label alone can be had by counting which concept is named more often "
        f"({counts[NAMED]:.0%} of the published questions). Where our hard variant makes counting weak, {who} clearly "
        "above it with chains of their own, after training on such questions."
    )


BAG, NAMED = "a bag of words", "the concept named more often"
"""Readers of `metrics.without_reasoning`."""


def best(profile: str, hard: bool) -> tuple[str, float]:
    """The reader that does not reason and is right most often, and its share."""
    return max(metrics.without_reasoning(profile, hard).items(), key=lambda item: item[1])


# ---------------------------------------------------------------- the task


def task_of(profile: str, hard: bool = False) -> Task:
    about = dict(ASKING[profile].task)
    return Task(concepts=about["concepts"], hops=about["hops"], hard=hard)


def question_text(profile: str) -> str:
    """The first new question with the most hops, as published and in the hard variant, and what tells its two rules apart."""
    told = []
    for variant, hard in ((CHAIN, False), (HARD, True)):
        task = task_of(profile, hard)
        e = next(e for e in task.examples(TEST_STREAM, 0, 100) if e.hops == max(task.hops))
        first, second = (" ".join(rule) for rule in sentences(e.context) if e.asked in rule)
        named = {concept: occurrences(e, concept) for concept in (e.true, e.aside)}
        asked, answer = e.text.split("\n")
        told.append(
            f"*{VARIANTS[variant].capitalize()}.* {asked}\n\n{answer}\n\nTwo rules name “{e.asked}”: “{first}” and “{second}”. "
            f"The creature is a {e.true} and no {e.aside}. The context names “{e.true}” {_times(named[e.true])} and "
            f"“{e.aside}” {_times(named[e.aside])}."
        )
    return "\n\n".join(told)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def readers_text(profile: str) -> str:
    """What readers that do not reason get right, in both variants."""
    easy, hard = (metrics.without_reasoning(profile, h) for h in (False, True))
    rows = [(reader, f"{easy[reader]:.3f}", f"{hard[reader]:.3f}") for reader in easy]
    return table(("reader", VARIANTS[CHAIN], VARIANTS[HARD]), rows)


# ---------------------------------------------------------------- sizes


def step_words(runs: Sequence[StoredRun]) -> str:
    """Steps until labels are learned: mean and spread, or that there are more than the run has."""
    steps = metrics.label_steps(runs)
    never = int(np.isnan(steps).sum())
    if not never:
        return f"{steps.mean():,.0f}" + (f" ± {steps.std(ddof=1):,.0f}" if len(steps) > 1 else "")
    return f"> {runs[0].spec.train.steps:,}" + (f" in {never} of {len(runs)} runs" if never < len(runs) else "")


def _row(group: Sequence[StoredRun]) -> list[str]:
    shares = (metrics.gold(group), metrics.own(group), arms.shares(group), arms.shares(group, "train"))
    return [step_words(group), *(spread(values) for values in shares)]


_HEAD = ("steps", "label, gold chain", "label, own chain", "every word", "every word, training")


def sizes_table(runs: Runs) -> str:
    """Both arms at every size."""
    rows = [
        (f"{size:,}", SIZE_OF[arm], *_row(runs[CHAIN, size, *arm]))
        for size in metrics.sizes(runs, CHAIN, *SMALL)
        for arm in (LARGE, SMALL)
    ]
    return table(("questions", "arm", *_HEAD), rows)


def size_line(runs: Runs) -> str:
    return "; ".join(
        f"{name} arm, {size:,}: {step_words(group)} steps, {metrics.gold(group).mean():.3f} right"
        for arm, name in SIZE_OF.items()
        for size in metrics.sizes(runs, CHAIN, *arm)
        for group in (runs[CHAIN, size, *arm],)
    )


def steps_text(runs: Runs) -> str:
    """How steps move with the size, and that a run without a number needs more than it had."""
    sizes, steps = _steps(runs)
    shapes = [_shape(sizes, steps[arm]) for arm in (LARGE, SMALL)]
    if shapes[0] == shapes[1]:
        said = [f"From both starts {shapes[0]}."]
    else:
        said = [f"From the {SIZE_OF[arm]} start {shape}." for arm, shape in zip((LARGE, SMALL), shapes, strict=True)]
    for arm in (LARGE, SMALL):
        never = [size for size, row in zip(sizes, steps[arm], strict=True) if np.isnan(row).any()]
        if never:
            said.append(
                f"At {_list(never)} not every run of the {SIZE_OF[arm]} arm learns its labels in the steps that it has: "
                "it needs more, how many more is not known."
            )
            said += _those_that_learn(sizes, steps, arm)
    return " ".join(said)


def _those_that_learn(sizes: Sequence[int], steps: Mapping[Arm, np.ndarray], arm: Arm) -> list[str]:
    """Where some runs of this arm do not learn and all of the other do: are those that do sooner than all of these, later?"""
    other = SMALL if arm == LARGE else LARGE
    reach = lambda values: " to ".join(f"{v:,.0f}" for v in dict.fromkeys((values.min(), values.max())))
    said = []
    for size, mine, theirs in zip(sizes, steps[arm], steps[other], strict=True):
        known = mine[np.isfinite(mine)]
        if len(known) in (0, len(mine)) or not np.isfinite(theirs).all():
            continue
        if when := "sooner" if known.max() < theirs.min() else "later" if known.min() > theirs.max() else "":
            said.append(
                f"At {size:,} its {len(known)} of {len(mine)} runs that do learn are {when} than all of the "
                f"{SIZE_OF[other]} arm: {reach(known)} steps against {reach(theirs)}."
            )
    return said


def _shape(sizes: Sequence[int], steps: np.ndarray) -> str:
    """The course of steps, (S, R), over the sizes that every run has learned: up or down where the 95 % interval of the
    difference from one size to the next leaves out 0."""
    known = [(size, row) for size, row in zip(sizes, steps, strict=True) if np.isfinite(row).all()]
    if len(known) < 2:
        return "too few sizes are learned in every run to tell a course"
    moves = []
    for (_, before), (size, after) in pairwise(known):
        _, low, high = arms.difference(after, before)
        moves.append((size, 1 if low > 0 else -1 if high < 0 else 0))
    clear = [move for _, move in moves if move]
    if not clear:
        return "the steps do not clearly change with the size"
    last = max(size for size, move in moves if move)
    ends = "" if len(known) == len(sizes) else f", up to {last:,}"
    till = ends if last == known[-1][0] else f", up to {last:,}; from there on no change is clear"
    if len(set(clear)) == 1:
        return f"more questions take {'longer' if clear[0] > 0 else 'less long'} to learn{till}"
    if clear == sorted(clear, reverse=True):
        return "more questions first take longer to learn, then less long, as the paper reports of its large one"
    return "the steps go up and down with the size"


def trials_table(runs: Sequence[StoredRun]) -> str:
    """The long trials: when labels and whole rows of training were learned, and what new questions get at their end."""
    rows = []
    for run in runs:
        task, arm = dict(run.spec.task), (run.spec.gamma, run.spec.decay)
        since = [step_words([run]).split(" ±")[0], *(f"{v:,.0f}" for v in arms.fit_steps([run]) if v == v)]
        when = since if len(since) == 2 else [*since, f"> {run.spec.train.steps:,}"]
        shares = (run.metrics["label"], float(metrics.own([run])[0]), run.metrics["test"])
        rows.append((f"{task['size']:,}", SIZE_OF[arm], f"{run.spec.train.steps:,}", *when, *(f"{v:.2f}" for v in shares)))
    head = (
        "questions",
        "arm",
        "steps",
        "labels, step",
        "every word, step",
        "label, gold chain",
        "label, own chain",
        "every word",
    )
    return table(head, rows)


def trials_text(trials: Sequence[StoredRun], runs: Runs) -> str:
    """The trials that are one more seed of the runs above, where their own chains lie outside of what these have."""
    same = lambda spec: replace(spec, experiment="", seed=0, train=replace(spec.train, eval_every=1))
    said = []
    for run in trials:
        size, arm = dict(run.spec.task)["size"], (run.spec.gamma, run.spec.decay)
        group = runs.get((CHAIN, size, *arm), ())
        if not group or same(run.spec) != same(group[0].spec):
            continue
        share, others = float(metrics.own([run])[0]), metrics.own(group)
        if not others.min() <= share <= others.max():
            side = "above" if share > others.max() else "below"
            said.append(
                f"The {SIZE_OF[arm]} trial at {size:,} has the settings of the runs above, and its own chains are right in "
                f"{share:.0%}, {side} all of theirs ({others.min():.0%} to {others.max():.0%}): seeds differ more than three "
                "show."
            )
    return " ".join(said)


# ---------------------------------------------------------------- readings


def reading_values(runs: Runs, arm: Arm) -> dict[str, np.ndarray]:
    """{reading: (S, R)}, in the words of a legend."""
    return {words: metrics.by_size(runs, CHAIN, *arm, name=name) for name, words in READINGS.items()}


def reading_line(runs: Runs) -> str:
    size = largest(runs)
    return f"{size:,} questions: " + "; ".join(
        f"{name} arm, gold chain {arms.shares(runs[CHAIN, size, *arm], 'label').mean():.3f}, own "
        f"{metrics.own(runs[CHAIN, size, *arm]).mean():.3f}, every word {arms.shares(runs[CHAIN, size, *arm]).mean():.3f}"
        for arm, name in SIZE_OF.items()
    )


def readings_text(runs: Runs) -> str:
    """What is lost on the way along a chain of one's own."""
    size, said = largest(runs), []
    for arm, name in SIZE_OF.items():
        group = runs[CHAIN, size, *arm]
        each, own = metrics.gold(group), metrics.own(group).mean()
        gold, fails = each.mean(), int((each < WELL).sum())
        if fails:
            what = "no run has" if fails == len(each) else f"{fails} of {len(each)} runs {'has' if fails == 1 else 'have'} not"
            what += " learned even to compare"
        elif gold - own < LITTLE:
            what = "it compares, and its own chain is as good for that"
        else:
            what = "it compares, and what it gets wrong is the chain"
        said.append(f"the {name} arm is right in {gold:.0%} behind the gold chain and in {own:.0%} behind its own: {what}")
    _, low, high = arms.difference(*(metrics.own(runs[CHAIN, size, *arm]) for arm in (SMALL, LARGE)))
    ahead = "small" if low > 0 else "large" if high < 0 else ""
    told = (
        f"Behind their own chains the {ahead} arm is clearly ahead"
        if ahead
        else "Behind their own chains neither is clearly ahead"
    )
    return f"With {size:,} questions {'; '.join(said)}. {told}."


def hops_table(runs: Runs) -> str:
    """Labels right behind a chain of one's own (or behind none) by the hops of a question."""
    size, rows, hops = largest(runs), [], []
    for variant, words in VARIANTS.items():
        for arm, name in SIZE_OF.items():
            group = runs[variant, size, *arm]
            shares = by_hops(group)
            hops = list(shares)
            rows.append((words, name, *(spread(values) for values in shares.values())))
    return table(("questions", "arm", *(f"{h} hop{'s' * (h > 1)}" for h in hops)), rows)


def by_hops(group: Sequence[StoredRun]) -> dict[int, np.ndarray]:
    """{hops: (R,)}: shares as of `metrics.own`, of the questions with so many hops."""
    kept = np.array([run.snapshots()[run.steps]["own"].flatten().numpy() for run in group])
    hops = make_asking(group[0].spec).test.hops[: kept.shape[1]].numpy()
    return {int(h): kept[:, hops == h].mean(1) for h in np.unique(hops)}


# ---------------------------------------------------------------- the hard variant


def hard_line(runs: Runs) -> str:
    size = largest(runs)
    return "; ".join(
        f"{VARIANTS[variant]}, {name} arm: {spread(metrics.own(runs[variant, size, *arm]), 3)}"
        for variant in (CHAIN, HARD)
        for arm, name in SIZE_OF.items()
    )


def hard_text(runs: Runs, profile: str) -> str:
    """What the arms lose where the distractor looks like the true rule, and whether they stay above who does not reason."""
    size, (reader, bar) = largest(runs), best(profile, True)
    said = []
    for arm, name in SIZE_OF.items():
        easy, hard = (metrics.own(runs[variant, size, *arm]) for variant in (CHAIN, HARD))
        _, low, high = arms.difference(easy, hard)
        _, least, most = arms.difference(hard, np.full(2, bar))
        loss = (
            f"falls from {easy.mean():.1%} to {hard.mean():.1%}"
            if low > 0
            else f"rises from {easy.mean():.1%} to {hard.mean():.1%}"
            if high < 0
            else f"has {hard.mean():.1%} in place of {easy.mean():.1%}, which is no clear difference"
        )
        where = "above" if least > 0 else "below" if most < 0 else "not clearly above or below"
        said.append(f"the {name} arm {loss}, {where} the best reader without reasoning")
    return (
        f"In the hard variant {'; '.join(said)}. That reader is {reader}, with {bar:.1%}: our variant makes counting weak, and "
        f"{'not useless' if bar > 0.5 + LITTLE else 'useless'}. Other short cuts may be left that we did not try."
        + _shorter(profile)
    )


def _shorter(profile: str) -> str:
    """What else differs: concepts beside the chain are not in it."""
    easy, hard = (task_of(profile, variant).chained for variant in (False, True))
    if easy == hard:
        return ""
    return (
        f" The distractor’s child and parent are taken from the same few concepts, so that chains have {hard} in place of "
        f"{easy}: fewer rules to choose from. What models gain in this variant may come from that alone."
    )


# ---------------------------------------------------------------- examples


def examples_text(runs: Runs, seed: int) -> str:
    """Questions of one seed of both arms, right and wrong where there are such: the first of each kind among those kept. Of the
    first seed where there is no such one."""
    size, told = largest(runs), {}
    for arm in (LARGE, SMALL):
        group = runs[CHAIN, size, *arm]
        run = next((r for r in group if r.spec.seed == seed), group[0])
        told[arm] = (run.spec.seed, metrics.examples(run))
    pairs = list(zip(*(found for _, found in told.values()), strict=True))
    kinds = [(True, True), (False, True), (True, False), (False, False)]  # is the large arm right? the small one?
    chosen = sorted({next((i for i, p in enumerate(pairs) if (p[0][3], p[1][3]) == kind), -1) for kind in kinds} - {-1})
    rows = []
    for i in chosen:
        question, gold, *_ = pairs[i][0]
        rows += [("**question**", question), ("gold chain", gold)]
        for (arm, (used, _)), (_, _, said, right) in zip(told.items(), pairs[i], strict=True):
            how = (
                "label wrong" if not right else "right, word by word" if said == gold else "label right, not by the gold chain"
            )
            rows.append((f"{name_of(arm)}, seed {used}: {how}", said or "nothing"))
    weak = [
        f"The {SIZE_OF[arm]} arm's run that is shown has not learned to compare: behind the gold chain {share:.0%} are right."
        for arm, (used, _) in told.items()
        for run, share in zip(runs[CHAIN, size, *arm], metrics.gold(runs[CHAIN, size, *arm]), strict=True)
        if run.spec.seed == used and share < WELL
    ]
    return "\n\n".join([*weak, table(("", f"{size:,} questions of training"), rows)])


# ---------------------------------------------------------------- along training and arm by arm


def along_line(runs: Runs) -> str:
    return "; ".join(
        f"{name} arm, {size:,}: training {arms.shares(group, 'train').mean():.3f}, every word {arms.shares(group).mean():.3f}, "
        f"label {arms.shares(group, 'label').mean():.3f}"
        for arm, name in SIZE_OF.items()
        for size in metrics.sizes(runs, CHAIN, *arm)
        for group in (runs[CHAIN, size, *arm],)
    )


def along_text(runs: Runs) -> str:
    """Which comes first, the label or the words before it; of the paper's arms at all sizes."""
    group = [run for (variant, _, *arm), found in runs.items() if variant == CHAIN and tuple(arm) in SIZE_OF for run in found]
    labels, words = metrics.label_steps(group), np.nan_to_num(arms.fit_steps(group), nan=np.inf)
    told = np.isfinite(labels)
    if not told.any():
        return "No run learns the labels of its own questions in the steps that it has."
    first, never = int((labels < words)[told].sum()), int(np.isinf(words)[told].sum())
    late = (
        f" {never} of them never learn{'s' if never == 1 else ''} all the words in the steps that they have." if never else ""
    )
    return (
        f"The answer behind a given chain is learned before the words of the chains in {first} of the {int(told.sum())} runs "
        f"that learn it.{late}"
    )


def arms_of(runs: Runs) -> dict[Arm, Sequence[StoredRun]]:
    """All arms at the size that has them, from the largest start on."""
    return {arm: runs[CHAIN, middle(runs), *arm] for arm in sorted((LARGE, *CROSSED, SMALL))}


def learned(group: Sequence[StoredRun]) -> bool:
    """Does every run tell the labels of its own questions at the end?"""
    return bool(np.isfinite(metrics.label_steps(group)).all())


def arms_table(runs: Runs) -> str:
    rows = [(f"{arm[0]:g}", f"{arm[1]:g}", *_row(group)) for arm, group in arms_of(runs).items()]
    return table(("γ", "weight decay", *_HEAD), rows)


def _signed(value: float) -> str:
    return f"{100 * value:+z.0f}".replace("-", "−")


def parts_text(runs: Runs) -> str:
    """The two-by-two of γ and decay: what each does with the other held fixed."""
    groups = arms_of(runs)
    share = {arm: float(metrics.gold(group).mean()) for arm, group in groups.items()}
    (g0, d0), (g1, d1) = LARGE, SMALL
    of_gamma = [share[g1, d] - share[g0, d] for d in (d0, d1)]
    of_decay = [share[g, d1] - share[g, d0] for g in (g0, g1)]
    if max(map(abs, (*of_gamma, *of_decay))) < LITTLE:
        first = f"Here neither part matters: no step in γ or in decay moves the mean share by {LITTLE:.0%}."
    else:
        say = lambda values: " and ".join(map(_signed, values))
        more = "the decay" if abs(np.mean(of_decay)) > abs(np.mean(of_gamma)) else "the start"
        first = (
            f"Alone, the smaller start moves the share of right labels by {say(of_gamma)} points (at decay {d0:g} and {d1:g}), "
            f"the larger decay by {say(of_decay)} (at γ = {g0:g} and {g1:g}): {more} does more."
        )
    return first
