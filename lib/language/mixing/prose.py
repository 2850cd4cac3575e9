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
from lib.language.mixing import metrics
from lib.language.mixing.metrics import CORPORA
from lib.language.stories import SUBSTITUTE
from lib.language.study import SEEN, mix_data, mix_texts

Runs = Mapping[tuple[bool, float], Sequence[StoredRun]]
SMALL = max(GAMMAS)
KINDS = {True: "tied", False: "untied"}
SAMPLE = {"texts": "2,316", "words": "487,000", "mean": "210", "median": "182", "unigram": "5.46", "bigram": "3.44"}
"""TinyStories, measured once on a sample of the real corpus that is no part of this book; entropies in nats, that of a word
after another with its 2,000 most frequent words."""


def name_of(gamma: float) -> str:
    return f"γ = {gamma:g}"


def _starts(gammas: Sequence[float]) -> str:
    """`γ = 0.3, 0.5 and 0.8`."""
    *most, last = [f"{gamma:g}" for gamma in gammas]
    return f"γ = {', '.join(most)} and {last}" if most else f"γ = {last}"


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
    measures = list(metrics.corpora(profile).values())
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
        each("the same of its rows of training, as they are cut", [f"{v:.2f}" for v in metrics.bigrams(profile)]),
        each(f"words that only this corpus has, {SEEN} times or more in training", [f"{len(v):,}" for v in own]),
        each("how often such a word occurs there, median", [f"{np.median(v):,.0f}" for v in own]),
    ]
    return table(("", CORPORA[0], f"stories, our {SUBSTITUTE}", "TinyStories, a sample of the real corpus"), rows)


def corpora_text(profile: str) -> str:
    """By how much stories are harder to predict, whatever model does it."""
    question, story = metrics.bigrams(profile)
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
    question, story = metrics.bigrams(profile)
    return (story - question) / question


def _firsts(runs: Sequence[StoredRun], profile: str) -> tuple[int, int]:
    """In how many runs the questions are first to pass their own bigram model, and in how many the stories."""
    found = np.nan_to_num(metrics.passed(runs, profile), nan=np.inf)
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
    firsts, steps = _firsts(group, profile), metrics.passed(group, profile)
    start = f"From a small start ({name_of(SMALL)})"
    if len(group) not in firsts:
        if np.isnan(steps).all():
            return f"{start} no run comes as far as a bigram model, on questions or on stories (our {SUBSTITUTE})."
        return (
            f"{start} neither corpus is learned first in every run: the questions are in {firsts[0]} of {len(group)}, the "
            f"stories (our {SUBSTITUTE}) in {firsts[1]}."
        )
    won = firsts.index(len(group))
    if all(_firsts(runs[True, gamma], profile)[won] == len(runs[True, gamma]) for gamma in GAMMAS):
        start += ", as from the larger ones,"
    first, second = (("questions", "stories")[i] for i in (won, 1 - won))
    return f"{start} the {first} pass the level of a bigram model before the {second} do (the stories are our {SUBSTITUTE})."


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
    values = metrics.gap(runs, profile)
    values = values[np.isfinite(values)]
    return _signed(spread(values, digits)) if len(values) else "–"


def when_table(runs: Runs, profile: str) -> str:
    """Every start, tied and untied: when each corpus passes its bigram model, when progress is equal, and ΔL there."""
    rows = []
    for (tied, gamma), group in runs.items():
        steps = metrics.passed(group, profile)
        when = (*map(_span, steps.T), _span(reached(group, profile)))
        rows.append((KINDS[tied], f"{gamma:g}", *when, _gap(group, profile)))
    head = ("embeddings", "γ", "questions pass, step", "stories pass, step", "equal progress, step", "ΔL there")
    return table(head, rows)


# ---------------------------------------------------------------- how far ahead


def reached(runs: Sequence[StoredRun], profile: str) -> np.ndarray:
    """(R,) the step of equal progress; NaN where a run never comes so far."""
    at = metrics.at_progress(runs, profile)
    return np.where(at >= 0, metrics.steps(runs)[at], np.nan)


def points(runs: Sequence[StoredRun], profile: str) -> tuple[np.ndarray, np.ndarray]:
    """Where runs are compared: the mean of their two losses, and ΔL, of the runs that come so far."""
    at = metrics.at_progress(runs, profile)
    there = at >= 0
    return metrics.losses(runs).mean(2)[there, at[there]], metrics.gap(runs, profile)[there]


def _comes(runs: Sequence[StoredRun], profile: str) -> bool:
    """Does every run come to the compared progress?"""
    return bool((metrics.at_progress(runs, profile) >= 0).all())


def _gap_at(runs: Sequence[StoredRun], level: float) -> np.ndarray:
    """(R,) ΔL where the mean of the two losses first is `level`, on a line between the evaluations around it."""
    found = []
    for mean, gap in zip(metrics.losses(runs).mean(2), metrics.gap_along(runs), strict=True):
        after = max(1, int((mean <= level).argmax()))
        found.append(np.interp(level, mean[[after, after - 1]], gap[[after, after - 1]]))
    return np.array(found)


def _compared(runs: Runs, profile: str, tied: bool = True) -> tuple[float, dict[float, np.ndarray]]:
    """The mean loss at which starts are compared, and {γ: ΔL there (R,)}: at equal progress, or where some run never comes so
    far, at the lowest that all come to."""
    groups = {gamma: runs[tied, gamma] for gamma in GAMMAS}
    if all(_comes(group, profile) for group in groups.values()):
        level = float(np.mean(metrics.bigrams(profile)))
        return level, {gamma: metrics.gap(group, profile) for gamma, group in groups.items()}
    level = float(max(metrics.losses(group).mean(2).min(1).max() for group in groups.values()))
    return level, {gamma: _gap_at(group, level) for gamma, group in groups.items()}


LITTLE = 0.05
"""Differences of ΔL and of losses below this are not told (our choice)."""
RISES, FALLS, HARDLY, NO_ORDER = "rises with γ", "falls with γ", "hardly depends on γ", "has no clear order in γ"


def _course(found: Mapping[float, np.ndarray]) -> str:
    """How ΔL goes with γ: it rises or falls where its means do, and those of its ends differ with an interval without 0."""
    groups = list(found.values())
    means = [float(values.mean()) for values in groups]
    _, low, high = arms.difference(groups[-1], groups[0])
    if max(means) - min(means) < LITTLE:
        return HARDLY
    if means == sorted(means) and low > 0:
        return RISES
    return FALLS if means == sorted(means, reverse=True) and high < 0 else NO_ORDER


def _of_starts(found: Mapping[float, np.ndarray]) -> str:
    """`1.32, 1.35 and 1.40 for γ = 0.3, 0.5 and 0.8`."""
    *most, last = [f"{gamma:g}" for gamma in found]
    return f"{_listed([float(v.mean()) for v in found.values()])} for γ = {', '.join(most)} and {last}"


def _courses(runs: Runs, profile: str) -> list[str]:
    """How ΔL at one mean loss goes with γ, with tied embeddings and with untied ones."""
    return [_course(_compared(runs, profile, kind)[1]) for kind in KINDS]


def gap_said(runs: Runs, profile: str) -> str:
    """Fig. 7A: is the lead of the questions larger the smaller the start?"""
    how = {
        RISES: "the further ahead the smaller the start",
        FALLS: "the *less* far ahead the smaller the start",
        HARDLY: "as far ahead from every start",
        NO_ORDER: "not clearly further ahead from a smaller start",
    }
    tied, untied = (how[course] for course in _courses(runs, profile))
    also = "" if untied == tied else f"; with untied embeddings they are {untied}"
    return f"At one mean loss the questions are {tied}{also}."


def progress_text(runs: Runs, profile: str) -> str:
    """What equal progress is, and who does not come to it."""
    first = (
        "A step is not the same progress from every start. So we compare runs at *equal progress* (our choice): at the first "
        f"evaluation at which the mean of the two training losses is {np.mean(metrics.bigrams(profile)):.2f} nats or less, the "
        "mean of the two bigram models' losses."
    )
    short = [gamma for gamma in GAMMAS if not _comes(runs[True, gamma], profile)]
    if not short:
        return f"{first} Every run with tied embeddings comes so far."
    return (
        f"{first} Not every run of {_starts(short)} comes so far. To compare all starts we also take the "
        f"lowest mean loss that every run comes to, {_compared(runs, profile)[0]:.2f} nats."
    )


def bias_text(runs: Runs, profile: str) -> str:
    """How much of ΔL is more than entropy, and whether tying matters for it."""
    (level, found), (other, untied) = (_compared(runs, profile, kind) for kind in KINDS)
    above = [gamma for gamma, values in found.items() if values.mean() > even(profile)]
    line = f"that of two bigram models ({_signed(f'{even(profile):.2f}')})"
    if len(above) == len(found):
        said = f"above {line} from every start: the questions are ahead by more than entropy explains."
    elif not above:
        said = f"from no start above {line}: entropy alone would put the questions as far ahead."
    else:
        said = f"above {line} only for {_starts(above)}."
    return (
        f"At a mean loss of {level:.2f} nats ΔL {_course(found)}, and is {said} With untied embeddings, at {other:.2f} nats, "
        f"it {_course(untied)}: {_of_starts(untied)}."
    )


def along_text(runs: Runs, profile: str) -> str:
    """At the same step: does ΔL rise with γ at one, what becomes of it, and which corpus is ahead of entropy then."""
    along = np.array([metrics.gap_along(runs[True, gamma]).mean(0) for gamma in sorted(GAMMAS)])
    steps = metrics.steps(runs[True, SMALL])
    rises = steps[(np.diff(along, axis=0) > 0).all(0)]
    first = "The step of Fig. 7A is not known. " + (
        f"Here ΔL's mean rises with γ at none of the {len(steps)} evaluations."
        if not len(rises)
        else f"Here ΔL's mean rises with γ at {_steps(rises, steps)}."
        if len(rises) < len(steps)
        else "Here ΔL's mean rises with γ at every evaluation."
    )
    ends = {gamma: metrics.gap_along(runs[True, gamma])[:, -1] for gamma in GAMMAS}
    below = {gamma: int((values < even(profile)).sum()) for gamma, values in ends.items()}
    peaks = {gamma: metrics.gap_along(runs[True, gamma]).max(1) for gamma in GAMMAS}
    first += (
        f" At its peak ΔL {_course(peaks)}: {_of_starts(peaks)}. At the end of training it {_course(ends)}: {_of_starts(ends)}."
    )
    always = [gamma for gamma, count in below.items() if count == len(ends[gamma])]
    rest = {gamma: count for gamma, count in below.items() if count and gamma not in always}
    some = [f"{count} of {len(ends[gamma])} for {name_of(gamma)}" for gamma, count in rest.items()]
    where = [f"in every run for {_starts(always)}"] if always else []
    where += [f"in {' and '.join(some)}"] if some else []
    if not where:
        return first
    return (
        f"{first} It is then below that of two bigram models {', '.join(where)}: measured by these, and on texts of training, "
        "the stories are ahead."
    )


# ---------------------------------------------------------------- embeddings


LOWER, HIGHER, MIXED, UNKNOWN = "lower", "higher", "mixed", "unknown"


def _side(values: np.ndarray) -> str:
    """Is the questions' mean cosine, (R, 2), the lower one in every run, the higher one in every run, or neither?"""
    if not np.isfinite(values).all():
        return UNKNOWN
    side = np.sign(values[:, 0] - values[:, 1])
    return LOWER if (side < 0).all() else HIGHER if (side > 0).all() else MIXED


def _pair(values: np.ndarray) -> str:
    """The mean of the runs that have a number: questions against stories."""
    values = values[np.isfinite(values).all(1)]
    return " against ".join(_signed(f"{v:z.2f}") for v in values.mean(0)) if len(values) else "–"


def _phases(runs: Sequence[StoredRun]) -> dict[str, np.ndarray]:
    """{side: the evaluated steps at which it is the same in every run}."""
    values, steps = metrics.cosines(runs), metrics.steps(runs)
    sides = np.array([_side(values[:, i]) for i in range(len(steps))])
    return {side: steps[sides == side] for side in (LOWER, HIGHER)}


def _steps(some: np.ndarray, every: np.ndarray) -> str:
    """`step 50`, `steps 50 to 150`, or how many of them where they do not follow each other."""
    if len(some) == 1:
        return f"step {some[0]:,}"
    follow = np.isin(every[(every >= some[0]) & (every <= some[-1])], some).all()
    span = f"steps {some[0]:,} to {some[-1]:,}"
    return span if follow else f"{len(some)} of the {len(every)} evaluations"


def cosine_said(runs: Runs, profile: str) -> str:
    """Fig. 7B: are the embeddings of the questions' words the more different ones?"""
    group = runs[True, SMALL]
    values = metrics.cosines_at(group, profile)
    side = _side(values)
    early = _phases(group)[LOWER]
    then = _steps(early, metrics.steps(group)) if len(early) else ""
    if side == UNKNOWN:
        said = "Not every run from the small start comes to equal progress, where embeddings are compared"
        return f"{said}; those of the questions' words differ more than the stories' at {then}." if then else f"{said}."
    whose = "At equal progress the embeddings of the questions' words"
    if side == LOWER:
        return f"{whose} differ more than those of the stories'."
    but = f"; earlier, at {then}, they differ more" if then else ""
    if side == HIGHER:
        return f"{whose} differ *less* than those of the stories'{but}."
    return f"{whose} do not in every run differ more than those of the stories'{but}."


def early_text(runs: Runs) -> str:
    """The step of Fig. 7B is not known: does the answer depend on it?"""
    group = runs[True, SMALL]
    values, steps, phases = metrics.cosines(group).mean(0), metrics.steps(group), _phases(group)
    lower, higher = phases[LOWER], phases[HIGHER]
    first = "The step of Fig. 7B is not known"
    if len(lower) == len(steps) or len(higher) == len(steps):
        which = LOWER if len(lower) else HIGHER
        said = (
            f"{first}, but here it does not matter: with tied embeddings the questions' mean cosine is always the {which} one."
        )
    elif not len(lower) and not len(higher):
        said = f"{first}. Here with tied embeddings neither corpus has the lower mean cosine in every run at any evaluation."
    else:
        parts = [f"the {side} one at {_steps(some, steps)}" for side, some in phases.items() if len(some)]
        said = (
            f"{first}, and it matters: with tied embeddings the questions' mean cosine is in every run {' and '.join(parts)}."
        )
    within = np.isin(steps, lower) if len(lower) else np.full(len(steps), True)
    far = int(np.where(within, np.abs(values[:, 0] - values[:, 1]), -1).argmax())
    return f"{said} At step {steps[far]:,} it is {_pair(values[None, far])}, {CORPORA[0]} against stories."


def tying_text(runs: Runs, profile: str) -> str:
    """What tying does to the embeddings from the small start."""
    ends = {kind: metrics.cosines(runs[kind, SMALL]).max(1) for kind in KINDS}
    tied, untied = (values.mean(0) for values in ends.values())
    sides = {kind: _side(metrics.cosines_at(runs[kind, SMALL], profile)) for kind in KINDS}
    first = (
        f"From the small start the mean cosine reaches {_listed([tied[1]])} on stories with tied embeddings and "
        f"{_listed([untied[1]])} with untied ones, on {CORPORA[0]} {_listed([tied[0], untied[0]])}."
    )
    if UNKNOWN in sides.values():
        return first
    return f"{first} {_by_tying(sides, 'There, at equal progress,')}"


def _by_tying(sides: Mapping[bool, str], start: str) -> str:
    """Whether the order of the two corpora at equal progress, {tied: side}, hangs on tying; `start` says where."""
    if sides[True] == sides[False]:
        return f"{start} the order of the two corpora is the same, tied or not."
    if MIXED in sides.values():
        clear, kind = next((side, KINDS[tied]) for tied, side in sides.items() if side != MIXED)
        return (
            f"{start} the questions' mean cosine is in every run the {clear} one where embeddings are {kind}, and neither "
            "corpus is clearly lower where they are not."
        )
    return f"{start} the order of the two corpora is not the same, tied and untied: it hangs on tying."


# ---------------------------------------------------------------- all of it


def verdict(runs: Runs, profile: str) -> str:
    return f"{order_said(runs, profile)} {gap_said(runs, profile)} {cosine_said(runs, profile)}"


def takeaway(runs: Runs, profile: str) -> str:
    """What of the paper's three findings is left, each in a sentence that the answer does not say."""
    same = all(_firsts(runs[True, gamma], profile)[0] == len(runs[True, gamma]) for gamma in GAMMAS)
    order = (
        "That questions come first is true from every start, so it is no mark of a small one."
        if same
        else "That questions come first is not true from every start."
    )
    tied, untied = _courses(runs, profile)
    kinds = f"{tied}, tied or not" if tied == untied else f"{tied} with tied embeddings and {untied} with untied ones"
    gap = f"By how much they lead {kinds}; the paper has a rise."
    group = runs[True, SMALL]
    sides = {kind: _side(metrics.cosines_at(runs[kind, SMALL], profile)) for kind in KINDS}
    if UNKNOWN in sides.values():
        return f"{order} {gap} On embeddings these runs do not go far enough to tell."
    early = _phases(group)[LOWER]
    then = ""
    if len(early) and sides[True] != LOWER:
        then = f" Before, at {_steps(early, metrics.steps(group))}, it is the lower one where they are tied, as in the paper."
    return f"{order} {gap} {_by_tying(sides, 'From the small start, at equal progress,')}{then}"


def losses_table(runs: Runs) -> str:
    """Losses at the end of training, on rows of training and on held-out ones."""
    rows = []
    for (tied, gamma), group in runs.items():
        found = [spread(arms.shares(group, f"{part} {i}")) for i in (0, 1) for part in ("train", "test")]
        rows.append((KINDS[tied], f"{gamma:g}", *found))
    names = (f"{name}, {part}" for name in (CORPORA[0], "stories") for part in ("training", "held out"))
    return table(("embeddings", "γ", *names), rows)


def losses_text(runs: Runs, profile: str) -> str:
    """Is it learned or remembered: how far are held-out losses above those of training, and which corpus is ahead there?"""
    most = []
    for i, name in enumerate((CORPORA[0], "stories")):
        apart = {kind: arms.shares(group, f"test {i}") - arms.shares(group, f"train {i}") for kind, group in runs.items()}
        (tied, gamma), gap = max(((kind, float(gap.mean())) for kind, gap in apart.items()), key=lambda item: item[1])
        most.append((gap, f"{_signed(f'{gap:.2f}')} nats on {name} ({name_of(gamma)}, {KINDS[tied]})"))
    first = "Part of it is remembered" if max(gap for gap, _ in most) >= LITTLE else "It is learned"
    words = f"{first}: held-out losses lie above those of training by at most {' and '.join(words for _, words in most)}."
    of = lambda part, i, gamma: arms.shares(runs[True, gamma], f"{part} {i}")
    lead = lambda part: {gamma: of(part, 1, gamma) / of(part, 0, gamma) - 1 for gamma in GAMMAS}
    seen, held, level = lead("train"), lead("test"), even(profile)
    words += f" On held-out texts ΔL at the end is, with tied embeddings, {_of_starts(held)}."
    if all((values > level).all() for values in held.values()) and any((values < level).all() for values in seen.values()):
        words += (
            f" That is in every run above the {level:.2f} of bigram models of the texts of training. So where stories are "
            "ahead at the end, it is with texts that were seen."
        )
    return words


def losses_line(runs: Runs) -> str:
    """The end of training in one line."""
    return "; ".join(
        f"{name_of(gamma)}: {CORPORA[0]} {spread(arms.shares(runs[True, gamma], 'train 0'))}, stories "
        f"{spread(arms.shares(runs[True, gamma], 'train 1'))}"
        for gamma in GAMMAS
    )


def relative_line(runs: Runs, profile: str) -> str:
    level = np.array(metrics.bigrams(profile))
    ends = {gamma: (metrics.losses(runs[True, gamma])[:, -1] / level).mean(0) for gamma in GAMMAS}
    return "at the end: " + "; ".join(f"{name_of(g)}: {CORPORA[0]} {q:.2f}, stories {s:.2f}" for g, (q, s) in ends.items())


def gap_line(runs: Runs, profile: str) -> str:
    return "; ".join(f"{KINDS[tied]}, {name_of(gamma)}: {_gap(group, profile, 3)}" for (tied, gamma), group in runs.items())


def cosine_line(runs: Runs, profile: str) -> str:
    return "; ".join(
        f"{KINDS[tied]}, {name_of(gamma)}: {_pair(metrics.cosines_at(group, profile))}" for (tied, gamma), group in runs.items()
    )
