"""Numbers of the chapter on PrOntoQA: which labels are right, behind which chain, and how long training takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lib.core.read.disk_cache import disk_cached
from lib.core.read.fact import Fact, in_words, mean, span
from lib.core.read.measures import first_step, mean_std
from lib.core.record.store import Store, StoredRun, load
from lib.language import arms, prontoqa_task
from lib.language.arms import Example, Runs, largest, middle, sizes
from lib.language.baselines import bag_of_words, by_child, by_looks, by_occurrence, by_place, occurrences, says, sentences
from lib.language.experiments import (
    ALONE,
    AS_BEFORE,
    CHAIN,
    CROSSED,
    HARD,
    LARGE,
    SHUFFLED,
    SMALL,
    TWIN,
    TWINS,
    Kind,
    asking_search,
    asking_specs,
    even_asking_specs,
    twin_specs,
)
from lib.language.prontoqa_task import NAMES
from lib.language.study import END_TOKEN, PAD_TOKEN, TEST_STREAM, asking_examples, make_asking, task_of
from lib.language.text import OUT, Vocabulary

READINGS = {
    "label": "label, behind the gold chain (main reading)",
    "own": "label, behind its own chain",
    "test": "every word of the gold chain",
}
"""The readings of a model that is trained with chains, by their names in `by_size`."""
VARIANTS = {CHAIN: "as published", HARD: "hard variant", TWIN: "beside a twin", SHUFFLED: "beside a twin, shuffled"}
SIZE_OF = {LARGE: "large", SMALL: "small"}


def of_asking(store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """Raises LookupError where some are missing."""
    return {kind: load(specs, store) for kind, specs in asking_specs(profile).items()}


def of_twins(store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """Beside a twin, rules in order and in any. Raises LookupError where some are missing."""
    return {kind: load(specs, store) for kind, specs in twin_specs(profile).items()}


def of_even(store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """With chains and with labels alone, as many steps at every size; none for the profile paper. Raises LookupError where some
    are missing."""
    return {kind: load(specs, store) for kind, specs in even_asking_specs(profile).items()}


def of_trials(store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """The trials of the paper's arms on questions as published, a run each. Raises LookupError where some are missing."""
    kind = lambda spec: (CHAIN, dict(spec.task)["size"], spec.gamma, spec.decay)
    return {kind(run.spec): [run] for run in load(asking_search(profile), store)}


def own(runs: Sequence[StoredRun], hops: int = 0) -> np.ndarray:
    """(R,): shares of questions, of those that take so many `hops` if that is given, whose label is right behind the model's
    own greedy chain; where it was trained on labels alone, without any."""
    found = []
    for run in runs:
        right = run.snapshots()[run.steps]["own"]
        asked = asking_examples(run.spec)[1][: len(right)] if hops else []
        found.append(float((right[[e.hops == hops for e in asked]] if hops else right).mean()))
    return np.array(found)


def gold(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R,): shares of questions whose label is right behind the gold chain."""
    return arms.shares(runs, "label")


def label_steps(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R,) the first evaluated step from which on a run tells the labels of its training questions apart, FITTED of them at
    every evaluation to the end; NaN where it never does."""
    found = []
    for run in runs:
        told = np.array(run.history["train label"]) >= arms.FITTED
        since = len(told) - int(np.argmin([*told[::-1], False]))
        found.append(run.history["step"][since] if since < len(told) else np.nan)
    return np.array(found, dtype=float)


def by_size(runs: Runs, variant: str, *arm: float, name: str = "label") -> np.ndarray:
    """(S, R): at every size the shares behind the gold chain (`label`), behind the own one (`own`), of questions that are
    answered word by word as the gold chain has it (`test`), or the steps until labels are learned (`steps`)."""
    how = {"own": own, "steps": label_steps}
    return arms.by_size(runs, variant, arm, how.get(name, lambda group: arms.shares(group, name)))


def without_reasoning(runs: Runs, variant: str, hops: int = 0) -> dict[str, float]:
    """Accuracies on the test, or on its questions of so many `hops`, of simple readers, none of which follows the creature from
    rule to rule: a bag of words and a decision tree on the looks of both rules, trained on the largest training set; who
    believes the rule about the concept that is named more often; about one whose child, if it has any, has an adjective; and
    the one that stands behind those of the creature's concept."""
    return _readers(runs[variant, largest(runs, variant), *LARGE][0], hops)


@disk_cached(version=3)
def _readers(run: StoredRun, hops: int) -> dict[str, float]:
    """On the questions of a run: its training set and its test."""
    known, test = asking_examples(run.spec)
    test = [e for e in test if hops in (0, e.hops)]
    right = lambda reader: float(np.mean([reader(e) == e.answer for e in test]))
    return {
        "a bag of words": bag_of_words(known, test),
        "the concept named more often": right(by_occurrence),
        "the concept with a described child": right(by_child),
        LOOKS: by_looks(known, test),
        "the next rule behind the creature’s concept": right(by_place),
    }


def examples(run: StoredRun) -> list[Example]:
    """Some questions of the test, with their gold chains; right is who gets the label right."""
    study = make_asking(run.spec)
    kept = run.snapshots()[run.steps]
    found = []
    for i, said in enumerate(_written(run, study.words)):
        rows, start, length = study.test.rows, int(study.test.rows.start[i]), int(study.test.rows.length[i])
        text = lambda words: " ".join(w for w in words if w != OUT).replace(" .", ".").replace(" :", ":")
        asked, gold = (study.words.decode(rows.tokens[i, a:b].tolist()) for a, b in ((0, start), (start, length - 1)))
        found.append((text(asked), text(gold), text(said), bool(kept["own"][i])))
    return found


def _written(run: StoredRun, words: Vocabulary) -> list[list[str]]:
    """In words, the chains and labels of its own that a run keeps, those of the first questions."""
    kept = run.snapshots()[run.steps]["written"].long().tolist()
    return [words.decode([t for t in tokens if t not in (END_TOKEN, PAD_TOKEN)]) for tokens in kept]


def made_up(runs: Sequence[StoredRun]) -> tuple[int, int, int]:
    """Of the chains that these runs wrote and that are kept: in how many a rule says what none of the context does; in how many
    of these all such rules are off by their sign alone; and how many chains there are."""
    found = []
    for run in runs:
        asked = asking_examples(run.spec)[1]
        for example, written in zip(asked, _written(run, make_asking(run.spec).words), strict=False):
            given = {says(rule) for rule in sentences(example.context)}
            said = [says(rule) for rule in sentences(written) if len(rule) > 1 and rule[0] not in NAMES]
            wrong = [rule for rule in said if rule not in given]
            found.append((bool(wrong), bool(wrong) and all((who, not sign, what) in given for who, sign, what in wrong)))
    return sum(wrong for wrong, _ in found), sum(sign for _, sign in found), len(found)


def limits(runs: Runs) -> list[int]:
    """The steps that a run has, size by size."""
    return [runs[CHAIN, size, *SMALL][0].spec.train.steps for size in sizes(runs, CHAIN, *SMALL)]


def reading_values(runs: Runs, arm: tuple[float, float]) -> dict[str, np.ndarray]:
    """{reading: (S, R)}, in the words of a legend."""
    return {words: by_size(runs, CHAIN, *arm, name=name) for name, words in READINGS.items()}


def arms_of(runs: Runs) -> dict[tuple[float, float], Sequence[StoredRun]]:
    """Every arm at the middle size."""
    return {arm: runs[CHAIN, middle(runs, CHAIN), *arm] for arm in (LARGE, *CROSSED, SMALL)}


def learned(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R,) has a run learned the labels of its own questions?"""
    return np.isfinite(label_steps(runs))


def learned_by_size(runs: Runs, arm: tuple[float, float]) -> np.ndarray:
    """(S, R): the same at every size."""
    return arms.by_size(runs, CHAIN, arm, learned)


def mean_learned(runs: Sequence[StoredRun], measure: Callable[[Sequence[StoredRun]], np.ndarray]) -> float:
    """The mean over the runs that have learned; NaN where none has."""
    return float(arms.learned_mean(measure(runs), learned(runs)))


LOOKS = "a decision tree on looks"
JOINED = 2
"""Hops of the questions on which twins are judged: of one hop alone, the concept named more often gives the answer."""


def joined(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R,): shares of these that are right behind chains of their own."""
    return own(runs, JOINED)


def paper_arms(twins: Runs, variant: str) -> dict[str, Sequence[StoredRun]]:
    """{arm: runs} beside a twin, the large start first."""
    return {name: twins[variant, largest(twins, variant), *arm] for arm, name in SIZE_OF.items()}


def facts(runs: Runs, twins: Runs) -> dict[str, Fact]:
    """What the text of chapter 21 says: of the two arms at every size, of every arm at one, of chains of their own, beside a
    twin."""
    all_sizes, top = sizes(runs, CHAIN, *SMALL), largest(runs, CHAIN)
    at, published = middle(runs, CHAIN), "new questions with the right label behind the gold chain, mean over seeds"
    every = arms_of(runs)
    compared = [n for n in all_sizes if all(learned(runs[CHAIN, n, *arm]).all() for arm in SIZE_OF)]
    ahead = [arms.lead(runs[CHAIN, n, *SMALL], runs[CHAIN, n, *LARGE], "label") for n in compared]
    leads = "of these, sizes with a lead, paired by seed, whose 95 % interval is"
    found = {
        "sizes": Fact(in_words(len(all_sizes)), "{}", "sizes of training sets"),
        "compared": Fact(in_words(len(compared)), "{}", "sizes at which every run has learned its own labels"),
        "ahead": Fact(in_words(sum(low > 0 for _, low, _ in ahead)), "{}", f"{leads} above 0"),
        "behind": Fact(in_words(sum(high < 0 for *_, high in ahead)), "{}", f"{leads} below 0"),
        "middle": Fact(at, "{:,}", "questions in training where all arms were run"),
        "first": Fact(all_sizes[0], "{:,}", "the smallest training set"),
        "top": Fact(top, "{:,}", "the largest training set"),
        "crossed-decay": Fact(float(gold(every[CROSSED[0]]).mean()), "{:.0%}", f"{published}, {arms.name_of(CROSSED[0])}"),
        "crossed-start": Fact(float(gold(every[CROSSED[1]]).mean()), "{:.0%}", f"{published}, {arms.name_of(CROSSED[1])}"),
    }
    for arm, name in SIZE_OF.items():
        groups = {"first": runs[CHAIN, all_sizes[0], *arm], "middle": runs[CHAIN, at, *arm], "top": runs[CHAIN, top, *arm]}
        for size in ("first", "middle"):
            rests = f"{published}, {arms.name_of(arm)}"
            found[f"{name}-{size}"] = Fact(float(gold(groups[size]).mean()), "{:.0%}", rests)
            steps = label_steps(groups[size])
            found[f"steps-{name}-{size}"] = Fact(
                float(steps.mean()), "{:,.0f}", f"steps until own labels are learned, mean over seeds, {arms.name_of(arm)}"
            )
        rests = f"of {top:,} questions, mean over the runs that have learned, {arms.name_of(arm)}"
        found[f"{name}-own"] = Fact(mean_learned(groups["top"], own), "{:.0%}", f"right behind own chains, {rests}")
        found[f"{name}-top"] = Fact(mean_learned(groups["top"], gold), "{:.0%}", f"right behind gold chains, {rests}")
        hard = mean_learned(runs[HARD, top, *arm], own)
        found[f"{name}-hard"] = Fact(hard, "{:.0%}", f"right behind own chains, hard variant, {rests}")
        every_run = [run for n in all_sizes for run in runs[CHAIN, n, *arm]]
        never = int(np.isnan(label_steps(every_run)).sum())
        if arm == SMALL:
            found["small-unlearned"] = Fact(in_words(never), "{}", "runs of the small arm that never learn their own labels")
            there = learned(groups["top"])
            count = (int(there.sum()), len(there))
            found["small-top-learned"] = Fact(count, "{} of {}", f"runs of the small arm that learn {top:,} questions")
    easy, hard = (without_reasoning(runs, variant) for variant in (CHAIN, HARD))
    for key, reader in (("bag", "a bag of words"), ("named", "the concept named more often")):
        found[f"{key}-published"] = Fact(easy[reader], "{:.0%}", f"published questions that {reader} gets right")
    found["named-hard"] = Fact(hard["the concept named more often"], "{:.0%}", "the same, hard variant")
    found["child-hard"] = Fact(
        hard["the concept with a described child"],
        "{:.0%}",
        "hard variant, who believes a concept whose child has an adjective",
    )
    return found | _twin_facts(twins)


def facts_on_even(runs: Runs) -> dict[str, Fact]:
    """Of new seeds of which every size has as many steps: leads by size, steps, and labels without a chain. Absent without
    runs."""
    kinds = [(variant, size) for variant, size, *arm in runs if tuple(arm) == SMALL]
    chained, bare = (sorted(size for variant, size in kinds if variant == which) for which in (CHAIN, ALONE))
    rests = "new seeds, as many steps at every size"
    of = lambda variant, size, arm: runs[variant, size, *arm] if runs else []
    known = [n for n in chained if all(learned(of(CHAIN, n, arm)).all() for arm in SIZE_OF)]
    leads = [arms.lead(of(CHAIN, n, SMALL), of(CHAIN, n, LARGE), "label") for n in known]
    steps = {arm: [float(np.mean(label_steps(of(CHAIN, n, arm)))) for n in known] for arm in SIZE_OF}
    slower = sum(small > large for small, large in zip(steps[SMALL], steps[LARGE], strict=True))
    count = lambda number, words: Fact(in_words(number) if runs else None, "{}", f"{words}, {rests}")
    at = bare[0] if bare else 0
    found = {
        "even-seeds": count(len(of(CHAIN, at, SMALL)), "seeds of an arm"),
        "even-sizes": count(len(chained), "sizes of training sets"),
        "even-compared": count(len(known), "sizes at which every run has learned its own labels"),
        "even-ahead": count(sum(low > 0 for _, low, _ in leads), "of these, the small arm ahead, interval paired by seed"),
        "even-behind": count(sum(high < 0 for *_, high in leads), "of these, the small arm behind, interval paired by seed"),
        "even-slower": count(slower, "of these, the small arm's mean steps until labels are learned are more"),
        "even-top": Fact(chained[-1] if chained else None, "{:,}", f"the largest training set, {rests}"),
    }
    for key, variant, steps_there in (("even", CHAIN, "twice the steps"), ("before", AS_BEFORE, "steps as before")):
        new = {arm: gold(of(variant, at, arm)) if runs else np.array([]) for arm in SIZE_OF}
        about = f"new questions right behind the gold chain, {at:,} in training, new seeds, {steps_there}"
        for arm, name in SIZE_OF.items():
            found[f"{key}-{name}-range"] = Fact(span(new[arm]), "{:.0%} to {:.0%}", f"{about}, runs, {name}")
        p = arms.by_ranks(new[SMALL], new[LARGE]).p if runs else None
        found[f"{key}-ranks"] = Fact(p, "{:.2g}", f"one-sided exact rank test of the small arm's lead: {about}")
    without = {size: [run for arm in SIZE_OF for run in of(ALONE, size, arm)] for size in bare}
    for size, key in zip(bare or (0, 1), ("few", "top"), strict=True):
        group = without.get(size, [])
        told = (int(learned(group).sum()), len(group)) if group else None
        about = f"runs of both arms that learn the labels of their own {size:,} questions without a chain, {rests}"
        found[f"alone-{key}"] = Fact(told, "{} of {}", about)
    few = gold(without[at]) if runs else []
    found["alone-new"] = Fact(
        span(few), "{:.0%} to {:.0%}", f"new questions right without a chain, {at:,} in training, {rests}"
    )
    return found


def _twin_facts(twins: Runs) -> dict[str, Fact]:
    """Of the runs beside a twin with its rules in order (`twin-`), and in any (`shuffled-`)."""
    whole = "every word of the gold chain right"
    measures = {
        "two": (joined, f"new questions of {JOINED} hops, right behind own chains"),
        "new": (arms.shares, f"{whole}, new questions"),
        "known": (lambda group: arms.shares(group, "train"), f"{whole}, of training"),
        "gap": (lambda group: arms.shares(group) - arms.shares(group, "train"), f"{whole}, new less training questions"),
    }
    forms = {"mean": ("", "{:.0%}", "mean over seeds", mean), "range": ("-range", "{:.0%} to {:.0%}", "runs", span)}
    told = {
        TWIN: {"two": ("mean", "range")},
        SHUFFLED: {"two": ("mean", "range", "ranks"), "new": ("mean", "range", "ranks"), "known": ("mean",), "gap": ("ranks",)},
    }
    found = {"twin-hops": Fact(in_words(JOINED), "{}", "hops of the questions on which twins are judged")}
    for variant, key, order in ((TWIN, "twin", "in order"), (SHUFFLED, "shuffled", "in any order")):
        both, beside = paper_arms(twins, variant), f"beside a twin, rules {order}"
        for name, asked in told[variant].items():
            measure, words = measures[name]
            values = {arm: measure(group) for arm, group in both.items()}
            for end, form, over, get in (forms[how] for how in asked if how in forms):
                for arm, some in values.items():
                    found[f"{key}-{arm}-{name}{end}"] = Fact(get(some), form, f"{words}, {beside}, {arm}, {over}")
            if "ranks" in asked:
                rests = f"one-sided exact rank test of the small arm's lead: {words}, {beside}"
                found[f"{key}-ranks-{name}"] = Fact(arms.by_ranks(values["small"], values["large"]).p, "{:.2g}", rests)
        bar = max(without_reasoning(twins, variant, JOINED).values())
        found[f"{key}-bar"] = Fact(bar, "{:.0%}", f"best simple reader, questions of {JOINED} hops {beside}")
        found[f"{key}-seeds"] = Fact(in_words(len(both["small"])), "{}", f"runs of each arm {beside}")
    looks = without_reasoning(twins, TWIN, JOINED)[LOOKS]
    found["twin-looks"] = Fact(looks, "{:.0%}", f"{LOOKS}, questions of {JOINED} hops beside a twin, rules in order")
    for arm, group in paper_arms(twins, SHUFFLED).items():
        wrong, _, kept = made_up(group)
        rests = f"chains with a rule that nobody gave, of a few questions, the same in every run, rules in any order, {arm}"
        found[f"shuffled-{arm}-made-up"] = Fact((wrong, kept), "{} of {}", rests)
    return found


# --- Rows of tables ---

HEAD = ("steps", "label, gold chain", "label, own chain", "every word", "every word, training")
READER_HEAD = (
    *("reader", "as published", "hard variant"),
    *(f"{variant}, {hops}" for variant in TWINS for hops in ("one hop", f"{JOINED} hops")),
)
TWIN_HEAD = (
    *("task", "arm", "seed", "label, one hop", f"label, {JOINED} hops", "every word", "every word, training"),
    "made-up chains (by sign alone)",
)
TRIAL_HEAD = (
    *("task", "questions", "arm", "steps", "labels, step", "every word, step"),
    *("label, gold chain", "label, own chain", "every word"),
)


def step_words(runs: Sequence[StoredRun]) -> str:
    """Steps until labels are learned: mean and spread, or that there are more than the run has."""
    steps = label_steps(runs)
    never = int(np.isnan(steps).sum())
    if not never:
        return f"{steps.mean():,.0f}" + (f" ± {steps.std(ddof=1):,.0f}" if len(steps) > 1 else "")
    return f"> {runs[0].spec.train.steps:,}" + (f" in {never} of {len(runs)} runs" if never < len(runs) else "")


def _row(group: Sequence[StoredRun]) -> list[str]:
    """Of the runs that have learned; how many have not, the steps say."""
    some = [run for run, there in zip(group, learned(group), strict=True) if there]
    shares = [get(some) for get in (gold, own, arms.shares, lambda runs: arms.shares(runs, "train"))] if some else [[]] * 4
    return [step_words(group), *(mean_std(values) if len(values) else "–" for values in shares)]


def size_rows(runs: Runs) -> list[tuple[str, ...]]:
    """Both arms at every size."""
    pairs = [(size, arm) for size in sizes(runs, CHAIN, *SMALL) for arm in SIZE_OF]
    return [(f"{size:,}", SIZE_OF[arm], *_row(runs[CHAIN, size, *arm])) for size, arm in pairs]


def arm_rows(runs: Runs) -> list[tuple[str, ...]]:
    """Every arm at the middle size."""
    return [(f"{gamma:g}", f"{decay:g}", *_row(group)) for (gamma, decay), group in arms_of(runs).items()]


def reader_rows(runs: Runs, twins: Runs) -> list[tuple[str, ...]]:
    """What readers that do not reason get right: in both variants, and beside a twin by hops."""
    columns = [without_reasoning(runs, variant) for variant in (CHAIN, HARD)]
    columns += [without_reasoning(twins, variant, hops) for variant in TWINS for hops in (1, JOINED)]
    return [(reader, *(f"{column[reader]:.3f}" for column in columns)) for reader in columns[0]]


def twin_rows(twins: Runs) -> list[tuple[str, ...]]:
    """Beside a twin, run by run."""
    rows = []
    for variant in TWINS:
        for arm, group in paper_arms(twins, variant).items():
            for run in group:
                shares = *(own([run], hops)[0] for hops in (1, JOINED)), run.metrics["test"], run.metrics["train"]
                wrong, sign, kept = made_up([run])
                told = (*(f"{share:.2f}" for share in shares), f"{wrong} ({sign}) of {kept}")
                rows.append((variant, arm, str(run.spec.seed), *told))
    return rows


def trial_rows(runs: Sequence[StoredRun]) -> list[tuple[str, ...]]:
    """The long trials: when labels and whole rows of training were learned, and what new questions get at their end."""
    rows = []
    for run in runs:
        task, arm = dict(run.spec.task), (run.spec.gamma, run.spec.decay)
        step = first_step(run, "train", arms.FITTED)
        when = step_words([run]), f"> {run.spec.train.steps:,}" if step is None else f"{step:,}"
        shares = (run.metrics["label"], float(own([run])[0]), run.metrics["test"])
        beside = SHUFFLED if task.get("shuffled") else TWIN
        what = "as published" if not task.get("twin") else beside if task["chain"] else f"{beside}, {ALONE}"
        rows.append(
            (what, f"{task['size']:,}", SIZE_OF[arm], f"{run.spec.train.steps:,}", *when, *(f"{v:.2f}" for v in shares))
        )
    return rows


def _task(profile: str, variant: str) -> prontoqa_task.Task:
    """The book's questions, also where a user's are trained on, which are asked as published: the hard variant's are not."""
    every = asking_specs(profile) | twin_specs(profile)
    spec = next(specs[0] for kind, specs in every.items() if kind[0] == (HARD if variant == CHAIN else variant))
    return replace(task_of(spec), hard=variant == HARD)


def question_text(profile: str) -> str:
    """The first new question with the most hops, in every variant, and what tells its two rules apart."""
    told = []
    for variant in VARIANTS:
        task = _task(profile, variant)
        e = next(e for e in task.examples(TEST_STREAM, 0, 100) if e.hops == max(task.hops))
        first, second = (" ".join(rule) for rule in sentences(e.context) if e.asked in rule)
        assert e.aside is not None, "these questions have a rule beside the chain"
        true, aside = e.true, e.aside
        named = {concept: occurrences(e, concept) for concept in (true, aside)}
        asked, answer = e.text.split("\n")
        told.append(
            f"*{VARIANTS[variant].capitalize()}.* {asked}\n\n{answer}\n\nTwo rules name “{e.asked}”: “{first}” and “{second}”. "
            f"The creature is a {true} and no {aside}. The context names “{true}” {_times(named[true])} and "
            f"“{aside}” {_times(named[aside])}."
        )
    return "\n\n".join(told)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def example_rows(runs: Runs, seed: int) -> list[tuple[str, ...]]:
    """Questions of one seed of both arms, right and wrong where there are such: the first of each kind among those kept. Of the
    first seed where there is no such one."""
    size, told = largest(runs, CHAIN), {}
    for arm in (LARGE, SMALL):
        group = runs[CHAIN, size, *arm]
        run = arms.of_seed(group, seed)
        told[arm] = (run.spec.seed, examples(run))
    pairs = list(zip(*(found for _, found in told.values()), strict=True))
    rows = []
    for i in arms.of_each_kind(pairs):
        question, gold, *_ = pairs[i][0]
        rows += [("**question**", question), ("gold chain", gold)]
        for (arm, (used, _)), (_, _, said, right) in zip(told.items(), pairs[i], strict=True):
            how = (
                "label wrong" if not right else "right, word by word" if said == gold else "label right, not by the gold chain"
            )
            rows.append((f"{arms.name_of(arm)}, seed {used}: {how}", said or "nothing"))
    return rows


# ---------------------------------------------------------------- dials


def dial_data(runs: Runs) -> dict[str, Any]:
    """What lib.book.dials needs: shares of right labels along training, of own and of new questions, by size and arm."""
    lines = {"new": ("new questions", "label"), "own": ("questions of training", "train label")}
    all_sizes = sizes(runs, CHAIN, *SMALL)
    start = all_sizes[len(all_sizes) // 3]
    about = "Behind the gold chain. "
    return arms.dials_by_size(runs, CHAIN, "questions", "share of right labels", lines, about, learned, size=start)
