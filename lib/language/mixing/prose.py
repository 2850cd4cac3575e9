"""Sentences and tables of the chapter on the mix: each says what its numbers say, whichever way they fall."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.record.store import StoredRun
from lib.language import arms
from lib.language.experiments import GAMMAS, MIX, MIX_DECAY, mix_spec
from lib.language.mixing import numbers
from lib.language.mixing.numbers import CORPORA
from lib.language.stories import SUBSTITUTE
from lib.language.study import SEEN, mix_data, mix_texts

Runs = Mapping[tuple[bool, float], Sequence[StoredRun]]
LARGE, SMALL = min(GAMMAS), max(GAMMAS)
KINDS = {True: "tied", False: "untied"}
SAMPLE = {"texts": "2,316", "words": "487,000", "mean": "210", "median": "182", "unigram": "5.46", "bigram": "3.44"}
"""TinyStories, measured once on a sample of the real corpus that is no part of this book; entropies in nats, that of a word
after another with its 2,000 most frequent words."""


def name_of(gamma: float) -> str:
    return f"γ = {gamma:g}"


def _signed(text: str) -> str:
    return text.replace("-", "−")


def _listed(values: Sequence[float], digits: int = 2) -> str:
    """`0.1, 0.2 and 0.3`."""
    *most, last = [_signed(f"{v:z.{digits}f}") for v in values]
    return f"{', '.join(most)} and {last}" if most else last


def settings_table(profile: str) -> list[tuple[str, str]]:
    """The settings of a profile as rows (name, value)."""
    s, m, t = MIX[profile], mix_spec(profile, SMALL, 0).model, MIX[profile].gpt.train
    return [
        ("texts of each corpus in training, and held out", f"{s.each:,} and {s.tests:,}"),
        ("longest sequence", f"{s.length} tokens; texts are cut there"),
        ("tokens", f"{s.vocab:,}: whole words and marks"),
        ("form of the model", "GPT-2's"),
        ("layers, d_model, d_ff, d_k = d_v, heads", f"{m.depth}, {m.d_model}, {m.d_ff}, {m.d_k}, {m.heads}"),
        ("batch", f"{t.batch}"),
        ("steps", f"{t.steps:,}: {t.steps * t.batch / (2 * s.each):,.0f} epochs"),
        ("losses are measured every", f"{t.eval_every} steps"),
        ("peak learning rate", f"{s.gpt.rate:g}, warm-up {t.warmup:,} steps, then cosine"),
        ("weight decay, for every γ", f"{MIX_DECAY:g}"),
        ("seeds", str(len(s.seeds))),
    ]


# ---------------------------------------------------------------- the corpora


def _tidy(words: Sequence[str]) -> str:
    return re.sub(r" ' (?=s\b)", "'", re.sub(r" ([.,:!?])", r"\1", " ".join(words)))


def _sentences(words: Sequence[str]) -> list[str]:
    """Pieces that end with a full stop, and what is behind the last."""
    ends = [i + 1 for i, word in enumerate(words) if word == "."]
    return [_tidy(words[a:b]) for a, b in zip([0, *ends], [*ends, len(words)], strict=True) if a < b]


def examples_text(profile: str, seed: int) -> str:
    """A text of each corpus, shortened."""
    s = MIX[profile]
    question, story = (texts[seed % s.each] for texts in mix_texts(s.each, s.tests))
    asked = next(i for i in range(len(question)) if tuple(question[i : i + 3]) == ("True", "or", "false"))
    answer = len(question) - question[::-1].index("A") - 1
    told = _sentences(story)
    parts = (
        f"**{CORPORA[0]}.** {' '.join(_sentences(question[:asked])[:3])} … {_tidy(question[asked:answer])}",
        _tidy(question[answer:]),
        f"**A story of our {SUBSTITUTE}.** {' '.join(told[:3])} … {' '.join(told[-2:])}",
    )
    return "> {}<br>{}\n\n> {}".format(*parts)


def corpora_table(profile: str) -> str:
    """The two corpora of the mix beside what was measured on a sample of the real stories."""
    s = MIX[profile]
    measures = list(numbers.corpora(profile).values())
    row = lambda name, get, real: (name, *map(get, measures), real)
    each = lambda name, values: (name, *values, "–")
    words, known, _ = mix_data(s.each, s.tests, s.length)
    counts = known.counts(words)
    own = [counts[i][(counts[i] >= SEEN) & (counts[1 - i] == 0)].numpy() for i in (0, 1)]
    cut = [np.mean([len(text) >= s.length for text in texts]) for texts in mix_texts(s.each, s.tests)]
    rows = [
        row("texts", lambda m: f"{m.texts:,}", SAMPLE["texts"]),
        row("words and marks in all", lambda m: f"{m.words:,}", SAMPLE["words"]),
        row("of a text, mean", lambda m: f"{m.mean:.0f}", SAMPLE["mean"]),
        row("of a text, median", lambda m: f"{m.median:.0f}", SAMPLE["median"]),
        each("share of texts that are cut", [f"{v:.1%}" for v in cut]),
        row("different ones", lambda m: f"{m.vocabulary:,}", "2,000 and more"),
        row("entropy of a word (nats)", lambda m: f"{m.unigram:.2f}", SAMPLE["unigram"]),
        row("entropy of a word after the one before it (nats)", lambda m: f"{m.bigram:.2f}", SAMPLE["bigram"]),
        each("the same of its rows of training, as they are cut", [f"{v:.2f}" for v in numbers.bigrams(profile)]),
        each("words of this corpus alone (Figure 22.4)", [f"{len(v):,}" for v in own]),
        each("how often such a word occurs, median", [f"{np.median(v):,.0f}" for v in own]),
    ]
    return table(("", CORPORA[0], f"stories, our {SUBSTITUTE}", "TinyStories, a sample of the real corpus"), rows)


def corpora_text(profile: str) -> str:
    """By how much stories are harder to predict, whatever model does it."""
    question, story = numbers.bigrams(profile)
    first, second = ("stories", "questions") if story > question else ("questions", "stories")
    return (
        f"The {first} are harder to predict. A model that knew nothing but which word follows which would have a loss of "
        f"{max(question, story):.2f} nats on them, and of {min(question, story):.2f} on the {second}. So ΔL would be "
        f"{_signed(f'{even(profile):.2f}')} without any bias: this much is entropy."
    )


# ---------------------------------------------------------------- which is learned first


def even(profile: str) -> float:
    """ΔL of two bigram models, each of its own corpus. A model's ΔL is above it just where its loss on questions is the
    lower one, as a multiple of the bigram model's."""
    question, story = numbers.bigrams(profile)
    return (story - question) / question


def _firsts(runs: Sequence[StoredRun], profile: str) -> tuple[int, int]:
    """In how many runs the questions are first to pass their own bigram model, and in how many the stories."""
    found = np.nan_to_num(numbers.passed(runs, profile), nan=np.inf)
    return int((found[:, 0] < found[:, 1]).sum()), int((found[:, 0] > found[:, 1]).sum())


def _span(steps: np.ndarray) -> str:
    """`350 to 400`, `350, never in 1 of 3`, `never`."""
    known = np.unique(steps[np.isfinite(steps)]).astype(int)
    if not len(known):
        return "never"
    said = f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"
    return said if np.isfinite(steps).all() else f"{said}, never in {int(np.isnan(steps).sum())} of {len(steps)}"


def order_said(runs: Runs, profile: str) -> str:
    """Fig. 1: which corpus does the model learn first from the small start?"""
    group = runs[True, SMALL]
    firsts, steps = _firsts(group, profile), numbers.passed(group, profile)
    start = f"From a small start ({name_of(SMALL)})"
    if len(group) not in firsts:
        if np.isnan(steps).all():
            return f"{start} no run comes as far as a bigram model, on questions or on stories (our {SUBSTITUTE})."
        return (
            f"{start} neither corpus is learned first in every run: the questions are in {firsts[0]} of {len(group)}, the "
            f"stories (our {SUBSTITUTE}) in {firsts[1]}."
        )
    won = firsts.index(len(group))
    first, second = (("questions", "stories")[i] for i in (won, 1 - won))
    return (
        f"{start} the {first} are learned before the {second} (the stories are our {SUBSTITUTE}): their loss is below that of "
        f"their own bigram model {_from(steps[:, won])}, the {second}' {_from(steps[:, 1 - won])}."
    )


def _from(steps: np.ndarray) -> str:
    return "never" if np.isnan(steps).all() else f"from step {_span(steps)} on"


def starts_text(runs: Runs, profile: str) -> str:
    """The same of all starts: is the order a mark of the small one?"""
    firsts = {gamma: _firsts(runs[True, gamma], profile) for gamma in GAMMAS}
    total = {gamma: len(runs[True, gamma]) for gamma in GAMMAS}
    for corpus, name in enumerate(("questions", "stories")):
        if all(firsts[gamma][corpus] == total[gamma] for gamma in GAMMAS):
            return (
                f"The {name} pass their bigram model first from every start, in every run. So the order alone is no mark of a "
                "small start; what γ can change is by how much they lead."
            )
    said = "; ".join(f"{name_of(g)}: {firsts[g][0]} of {total[g]} runs" for g in GAMMAS)
    return f"Where the questions pass their bigram model first: {said}. So the order depends on the start."


def _gap(runs: Sequence[StoredRun], profile: str, digits: int = 2) -> str:
    """ΔL at equal progress in words, of the runs that come so far."""
    values = numbers.gap(runs, profile)
    values = values[np.isfinite(values)]
    return _signed(spread(values, digits)) if len(values) else "–"


def when_table(runs: Runs, profile: str) -> str:
    """Every start, tied and untied: when each corpus passes its bigram model, when progress is equal, and ΔL there."""
    rows = []
    for (tied, gamma), group in runs.items():
        steps = numbers.passed(group, profile)
        when = (*map(_span, steps.T), _span(reached(group, profile)))
        rows.append((KINDS[tied], f"{gamma:g}", *when, _gap(group, profile)))
    head = ("embeddings", "γ", "questions pass, step", "stories pass, step", "equal progress, step", "ΔL there")
    return table(head, rows)


# ---------------------------------------------------------------- how far ahead


def reached(runs: Sequence[StoredRun], profile: str) -> np.ndarray:
    """(R,) the step of equal progress; NaN where a run never comes so far."""
    at = numbers.at_progress(runs, profile)
    return np.where(at >= 0, numbers.steps(runs)[at], np.nan)


def points(runs: Sequence[StoredRun], profile: str) -> tuple[np.ndarray, np.ndarray]:
    """Where runs are compared: the mean of their two losses, and ΔL, of the runs that come so far."""
    at = numbers.at_progress(runs, profile)
    there = at >= 0
    return numbers.losses(runs).mean(2)[there, at[there]], numbers.gap(runs, profile)[there]


def progress_text(profile: str) -> str:
    return (
        "At one and the same step a small start has simply learned less than a large one. So we also compare runs at *equal "
        "progress* (our choice): at the first evaluation at which the mean of the two training losses is "
        f"{np.mean(numbers.bigrams(profile)):.2f} nats or less, which is the mean of the two bigram models' losses."
    )


def _comes(runs: Sequence[StoredRun], profile: str) -> bool:
    """Does every run come to the compared progress?"""
    return bool((numbers.at_progress(runs, profile) >= 0).all())


RISES, FALLS, NO_ORDER, UNKNOWN = "rises", "falls", "no order", "unknown"


def _trend(runs: Runs, profile: str, tied: bool = True) -> str:
    """How the mean ΔL at equal progress goes with γ; a rise or a fall has an interval between its ends without 0."""
    found = [numbers.gap(runs[tied, gamma], profile) for gamma in GAMMAS]
    means = [float(values.mean()) for values in found]
    if not np.isfinite(means).all():
        return UNKNOWN
    _, low, high = arms.difference(found[-1], found[0])
    if means == sorted(means) and low > 0:
        return RISES
    return FALLS if means == sorted(means, reverse=True) and high < 0 else NO_ORDER


def gap_said(runs: Runs, profile: str) -> str:
    """Fig. 7A: is the lead of the questions larger the smaller the start?"""
    trend = _trend(runs, profile)
    if trend == UNKNOWN:
        short = [gamma for gamma in GAMMAS if not _comes(runs[True, gamma], profile)]
        rest = [gamma for gamma in GAMMAS if gamma not in short]
        others = f"; else ΔL = {_of_starts(_gaps(runs, profile, rest))}" if rest else ""
        return (
            f"How far ahead cannot be told for every start: not every run of {' and '.join(map(name_of, short))} comes to the "
            f"mean loss at which starts are compared{others}."
        )
    values = f"ΔL = {_of_starts(_gaps(runs, profile, GAMMAS))}"
    return {
        RISES: f"At equal progress (one mean loss) the questions are the further ahead the smaller the start: {values}.",
        FALLS: f"At equal progress (one mean loss) the questions are the *less* far ahead the smaller the start: {values}.",
        NO_ORDER: f"At equal progress (one mean loss) a smaller start puts the questions not clearly further ahead: {values}.",
    }[trend]


def _gaps(runs: Runs, profile: str, gammas: Sequence[float], tied: bool = True) -> dict[float, float]:
    """{γ: mean ΔL at equal progress}."""
    return {gamma: float(numbers.gap(runs[tied, gamma], profile).mean()) for gamma in gammas}


def _of_starts(values: Mapping[float, float]) -> str:
    """`1.32, 1.35 and 1.40 for γ = 0.3, 0.5 and 0.8`."""
    *most, last = [f"{gamma:g}" for gamma in values]
    return (
        f"{_listed(list(values.values()))} for γ = {', '.join(most)} and {last}"
        if most
        else (f"{_listed(list(values.values()))} for γ = {last}")
    )


def bias_text(runs: Runs, profile: str) -> str:
    """How much of ΔL is more than entropy, and whether tying matters for it."""
    level = even(profile)
    means = _gaps(runs, profile, [gamma for gamma in GAMMAS if _comes(runs[True, gamma], profile)])
    above = [gamma for gamma, mean in means.items() if mean > level]
    line = f"that of two bigram models ({_signed(f'{level:.2f}')})"
    which = "from every start" if len(means) == len(GAMMAS) else f"for {' and '.join(map(name_of, means))}"
    if not means:
        first = f"No start comes to equal progress in every run, so ΔL cannot be held against {line}."
    elif len(above) == len(means):
        first = f"At equal progress ΔL is above {line} {which}: the questions are ahead by more than entropy explains."
    elif not above:
        first = f"At equal progress ΔL is not above {line} {which}: entropy alone would put the questions as far ahead."
    else:
        first = f"At equal progress ΔL is above {line} only for {' and '.join(map(name_of, above))}."
    tied, untied = _trend(runs, profile), _trend(runs, profile, tied=False)
    said = {
        RISES: "ΔL rises with γ as well",
        FALLS: "ΔL falls with γ",
        NO_ORDER: "ΔL has no clear order in γ",
        UNKNOWN: "not every run comes so far",
    }[untied]
    return f"{first} With untied embeddings {said if tied == RISES else said.replace(' as well', '')}."


def _gap_at(runs: Sequence[StoredRun], level: float) -> np.ndarray:
    """(R,) ΔL where the mean of the two losses first is `level`, on a line between the evaluations around it."""
    found = []
    for mean, gap in zip(numbers.losses(runs).mean(2), numbers.gap_along(runs), strict=True):
        after = max(1, int((mean <= level).argmax()))
        found.append(np.interp(level, mean[[after, after - 1]], gap[[after, after - 1]]))
    return np.array(found)


def common_text(runs: Runs) -> str:
    """ΔL at the lowest mean loss that all runs with tied embeddings come to: equal progress that none falls short of."""
    level = float(max(numbers.losses(runs[True, gamma]).mean(2).min(1).max() for gamma in GAMMAS))
    found = {gamma: _gap_at(runs[True, gamma], level) for gamma in GAMMAS}
    return (
        f"The lowest mean loss that all runs come to is {level:.2f} nats. There ΔL {_course(found)}: "
        f"{_of_starts({gamma: float(values.mean()) for gamma, values in found.items()})}."
    )


def _course(found: Mapping[float, np.ndarray]) -> str:
    """How ΔL goes with γ: it rises or falls where its means do, and those of its ends differ with an interval without 0."""
    groups = list(found.values())
    means = [float(values.mean()) for values in groups]
    _, low, high = arms.difference(groups[-1], groups[0])
    if abs(max(means) - min(means)) < LITTLE:
        return "hardly depends on γ"
    if means == sorted(means) and low > 0:
        return "rises with γ"
    if means == sorted(means, reverse=True) and high < 0:
        return "falls with γ"
    return "has no clear order in γ"


LITTLE = 0.05
"""Differences of ΔL below this are not told (our choice)."""


def along_text(runs: Runs) -> str:
    """At the same step: what becomes of ΔL by the end of training."""
    ends = {gamma: numbers.gap_along(runs[True, gamma])[:, -1] for gamma in GAMMAS}
    return (
        f"At the end of training, where the starts differ in how far they have come, ΔL {_course(ends)}: "
        f"{_of_starts({gamma: float(values.mean()) for gamma, values in ends.items()})}."
    )


# ---------------------------------------------------------------- embeddings


LOWER, HIGHER, MIXED = "lower", "higher", "mixed"


def _sides(values: np.ndarray) -> str:
    """Is the questions' mean cosine, (R, 2), the lower one in every run, the higher one in every run, or neither?"""
    if not np.isfinite(values).all():
        return UNKNOWN
    side = np.sign(values[:, 0] - values[:, 1])
    return LOWER if (side < 0).all() else HIGHER if (side > 0).all() else MIXED


def _pair(values: np.ndarray) -> str:
    """The mean of the runs that have a number: questions against stories."""
    values = values[np.isfinite(values).all(1)]
    return " against ".join(_signed(f"{v:z.2f}") for v in values.mean(0)) if len(values) else "–"


def cosine_said(runs: Runs, profile: str) -> str:
    """Fig. 7B: are the embeddings of the questions' words the more different ones, and without tying, too?"""
    tied, untied = (numbers.cosines_at(runs[kind, SMALL], profile) for kind in KINDS)
    side, other = _sides(tied), _sides(untied)
    if side == UNKNOWN:
        return "Their embeddings are not compared, as not every run from the small start comes so far."
    what = f"mean cosine {_pair(tied)}"
    first = {
        LOWER: f"the embeddings of the questions' words then differ more than those of the stories' ({what})",
        HIGHER: f"the embeddings of the questions' words then differ *less* than those of the stories' ({what})",
        MIXED: f"neither corpus then has the more different embeddings in every run ({what})",
    }[side]
    first = f"From the small start {first}"
    if other == UNKNOWN:
        return f"{first}; with untied ones not every run comes so far."
    same = "so they do with untied ones" if other == side != MIXED else "with untied ones it is otherwise"
    if other == side == MIXED:
        same = "nor has it with untied ones"
    return f"{first}; {same} ({_pair(untied)})."


def early_text(runs: Runs, profile: str) -> str:
    """The step of Fig. 7B is not known: does the answer depend on it?"""
    steps = numbers.steps(runs[True, SMALL])
    at = {f"step {steps[i]:,}": numbers.cosines(runs[True, SMALL])[:, i] for i in (0, len(steps) - 1)}
    sides = {_sides(values) for values in at.values()} | {_sides(numbers.cosines_at(runs[True, SMALL], profile))} - {UNKNOWN}
    first, last = (f"{_pair(values)} at {name}" for name, values in at.items())
    does = "does not depend" if len(sides) == 1 else "depends"
    return (
        f"The step of Fig. 7B is not known. Here the order of the two corpora {does} on it: with tied embeddings the mean "
        f"cosines are {first} and {last} ({CORPORA[0]} against stories)."
    )


# ---------------------------------------------------------------- all of it


def verdict(runs: Runs, profile: str) -> str:
    return f"{order_said(runs, profile)} {gap_said(runs, profile)} {cosine_said(runs, profile)}"


def losses_table(runs: Runs) -> str:
    """Losses at the end of training, on rows of training and on held-out ones."""
    rows = []
    for (tied, gamma), group in runs.items():
        found = [spread(arms.shares(group, f"{part} {i}")) for i in (0, 1) for part in ("train", "test")]
        rows.append((KINDS[tied], f"{gamma:g}", *found))
    names = (f"{name}, {part}" for name in (CORPORA[0], "stories") for part in ("training", "held out"))
    return table(("embeddings", "γ", *names), rows)


def losses_text(runs: Runs) -> str:
    """How far held-out losses are above those of training."""
    parts = []
    for i, name in enumerate((CORPORA[0], "stories")):
        apart = {kind: arms.shares(group, f"test {i}") - arms.shares(group, f"train {i}") for kind, group in runs.items()}
        (tied, gamma), most = max(((kind, float(gap.mean())) for kind, gap in apart.items()), key=lambda item: item[1])
        parts.append(f"{_signed(f'{most:+.2f}')} nats on {name} ({name_of(gamma)}, {KINDS[tied]})")
    return f"Held-out losses lie above those of training by at most {' and '.join(parts)}."


def losses_line(runs: Runs) -> str:
    """The end of training in one line."""
    return "; ".join(
        f"{name_of(gamma)}: {CORPORA[0]} {spread(arms.shares(runs[True, gamma], 'train 0'))}, stories "
        f"{spread(arms.shares(runs[True, gamma], 'train 1'))}"
        for gamma in GAMMAS
    )


def relative_line(runs: Runs, profile: str) -> str:
    level = np.array(numbers.bigrams(profile))
    ends = {gamma: (numbers.losses(runs[True, gamma])[:, -1] / level).mean(0) for gamma in GAMMAS}
    return "at the end: " + "; ".join(f"{name_of(g)}: {CORPORA[0]} {q:.2f}, stories {s:.2f}" for g, (q, s) in ends.items())


def gap_line(runs: Runs, profile: str) -> str:
    return "; ".join(f"{KINDS[tied]}, {name_of(gamma)}: {_gap(group, profile, 3)}" for (tied, gamma), group in runs.items())


def cosine_line(runs: Runs, profile: str) -> str:
    return "; ".join(
        f"{KINDS[tied]}, {name_of(gamma)}: {_pair(numbers.cosines_at(group, profile))}" for (tied, gamma), group in runs.items()
    )
