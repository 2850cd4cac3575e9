"""Numbers of the chapter on the mix of PrOntoQA and stories: two losses of one model, and its embeddings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lib.core.read.fact import Fact, in_words, listed, mean, span
from lib.core.read.measures import mean_std
from lib.core.record.store import Store, StoredRun, load
from lib.language import arms
from lib.language.experiments import GAMMAS, MIX, fixed_head_specs, longer_mix_specs, mix_specs
from lib.language.stories import SUBSTITUTE, Sequences, measures, smoothed_loss
from lib.language.study import SEEN, mix_data, mix_texts

CORPORA = ("PrOntoQA", "stories")
"""The corpora by their numbers, 0 and 1."""
SMALL = max(GAMMAS)
KINDS = {True: "tied", False: "untied"}
LITTLE = 0.05
"""Differences of ΔL below this are little (our choice)."""
DONE = 1.0
"""A mean of both training losses, in nats a token, that all shorter runs of the two smaller starts had come below (our
choice)."""
Runs = Mapping[tuple[bool, float], Sequence[StoredRun]]
"""By whether embeddings are tied, and γ."""
SAMPLE = {"texts": "2,316", "words": "487,000", "mean": "210", "median": "182", "unigram": "5.46", "bigram": "3.44"}
"""TinyStories, measured once on a sample of the real corpus that is no part of this book; entropies in nats, that of a word
after another with its 2,000 most frequent words."""


def name_of(gamma: float) -> str:
    return f"γ = {gamma:g}"


def of_mix(store: Store, profile: str) -> dict[tuple[bool, float], list[StoredRun]]:
    """{(are the embeddings tied?, γ): runs}. Raises LookupError where some are missing."""
    return {kind: load(specs, store) for kind, specs in mix_specs(profile).items()}


def of_longer(store: Store, profile: str) -> dict[float, list[StoredRun]]:
    """{γ: runs} with tied embeddings that train for longer; none for the profile paper. Raises LookupError where some are
    missing."""
    return {gamma: load(specs, store) for gamma, specs in longer_mix_specs(profile).items()}


def of_fixed_head(store: Store, profile: str) -> dict[float, list[StoredRun]]:
    """{γ: runs} untied, from an output matrix that is drawn alike for every γ; none for the profile paper. Raises LookupError
    where some are missing."""
    return {gamma: load(specs, store) for gamma, specs in fixed_head_specs(profile).items()}


def _of_both(runs: Sequence[StoredRun], name: str) -> np.ndarray:
    """(R, n, 2): a measure of each corpus along training."""
    return np.array([[run.history[f"{name} {i}"] for i in (0, 1)] for run in runs], dtype=float).transpose(0, 2, 1)


TRAINING, HELD_OUT = "train", "test"


def losses(runs: Sequence[StoredRun], part: str = TRAINING) -> np.ndarray:
    """(R, n, 2): the loss of each corpus along training, in nats a token, on rows of training or on held-out ones."""
    return _of_both(runs, part)


def steps(runs: Sequence[StoredRun]) -> np.ndarray:
    """(n,) the evaluated steps."""
    return np.array(runs[0].history["step"])


def _texts(rows: Sequences, corpus: int) -> list[list[int]]:
    """The rows of a corpus, of tokens that the loss asks for, and the first."""
    some = rows[rows.corpus == corpus]
    return [line[:length] for line, length in zip(some.tokens.tolist(), some.length.tolist(), strict=True)]


def bigram_loss(rows: Sequences, corpus: int) -> float:
    """The conditional entropy of a token given the one before it, over the tokens that the loss asks for, in nats: what the
    best bigram model of these rows has on themselves, less than on any others."""
    return measures(_texts(rows, corpus)).bigram


@cache
def bigrams(profile: str) -> tuple[float, float]:
    """The loss of each corpus's own best bigram model on its training rows, in nats a token."""
    s = MIX[profile]
    known = mix_data(s.each, s.tests, s.length)[1]
    return bigram_loss(known, 0), bigram_loss(known, 1)


@cache
def levels(profile: str, order: int = 2) -> tuple[float, float]:
    """What a model of `order` words, counted in the rows of training of a corpus, loses on held-out ones, in nats a token."""
    s = MIX[profile]
    words, known, others = mix_data(s.each, s.tests, s.length)
    questions, stories = (smoothed_loss(_texts(known, i), _texts(others, i), order, len(words)) for i in (0, 1))
    return questions, stories


def at_level(runs: Sequence[StoredRun], level: float) -> np.ndarray:
    """(R,) number of the first evaluation at which the mean of the two training losses is at most `level`; −1 where it never
    is."""
    reached = losses(runs).mean(2) <= level
    return np.where(reached.any(1), reached.argmax(1), -1)


def at_progress(runs: Sequence[StoredRun], profile: str) -> np.ndarray:
    """(R,) the same for the mean of the two bigram losses: the same progress for every γ (our choice)."""
    return at_level(runs, float(np.mean(bigrams(profile))))


def _at(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """(R, n, …) → (R, …): values along training at these evaluations; NaN where one is −1."""
    found = values[np.arange(len(at)), at].astype(float)
    found[at < 0] = np.nan
    return found


def _there(values: np.ndarray, runs: Sequence[StoredRun], profile: str) -> np.ndarray:
    """The same at equal progress."""
    return _at(values, at_progress(runs, profile))


def gap(runs: Sequence[StoredRun], profile: str, part: str = TRAINING) -> np.ndarray:
    """(R,) ΔL = (L_stories − L_PrOntoQA) / L_PrOntoQA at equal progress (Yao et al. 2025, Fig. 7A); NaN where a run never comes
    so far."""
    return _there(gap_along(runs, part), runs, profile)


def gap_along(runs: Sequence[StoredRun], part: str = TRAINING) -> np.ndarray:
    """(R, n) ΔL along training."""
    return ahead(losses(runs, part))


def ahead(loss: ArrayLike) -> Any:
    """(…, 2) losses to (…) ΔL. A model's is above that of two models, one a corpus, just where its loss on questions is the
    lower one, as a multiple of theirs."""
    questions, stories = np.moveaxis(np.asarray(loss, dtype=float), -1, 0)
    return (stories - questions) / questions


def growth(runs: Runs, tied: bool, profile: str, part: str = TRAINING) -> arms.Interval:
    """ΔL at equal progress, from the smallest start less from the largest, with its 95 % interval, paired by seed."""
    return arms.contrast(runs[tied, SMALL], runs[tied, min(GAMMAS)], lambda group: gap(group, profile, part))


def passed(runs: Sequence[StoredRun], profile: str, order: int = 2) -> np.ndarray:
    """(R, 2): the first evaluated step at which a corpus's held-out loss is at most that of a model of `order` words; NaN where
    it never is."""
    below = losses(runs, HELD_OUT) <= np.array(levels(profile, order))
    return np.where(below.any(1), steps(runs)[below.argmax(1)], np.nan)


def cosines(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R, n, 2): mean cosine of the embeddings of two different tokens of each corpus alone, along training."""
    return _of_both(runs, "cosine")


def cosines_at(runs: Sequence[StoredRun], profile: str) -> np.ndarray:
    """(R, 2): these at equal progress; NaN where a run never comes so far."""
    return _there(cosines(runs), runs, profile)


def dial_data(runs: Mapping[tuple[bool, float], Sequence[StoredRun]], profile: str) -> dict[str, Any]:
    """What lib.book.dials needs: the held-out loss of each corpus over that of a model of word pairs along training, by γ,
    embeddings tied."""
    groups = {(gamma,): group for (tied, gamma), group in runs.items() if tied}
    level = levels(profile)
    relative = lambda i: lambda run, point: [loss / level[i] for loss in run.history[f"{HELD_OUT} {i}"]]
    every = np.concatenate([(losses(group, HELD_OUT) / level).ravel() for group in groups.values()])
    low, high = 0.9 * float(every.min()), 1.1 * float(every.max())
    return arms.dial_data(
        groups,
        {"gamma": "γ"},
        # the stories first: lines have the colours of the figures by their place
        {name: (label, relative(i)) for i, name, label in ((1, CORPORA[1], "our stories"), (0, CORPORA[0], "PrOntoQA"))},
        {"label": "held-out loss, over that of word pairs", "log": True, "low": low, "high": high},
        f"{arms.seeds_text(groups)} Thin: the other γ. At 1 a model knows as much as one of word pairs.",
    )


def reached(runs: Sequence[StoredRun], profile: str) -> np.ndarray:
    """(R,) the step of equal progress; NaN where a run never comes so far."""
    return _there(np.tile(steps(runs), (len(runs), 1)), runs, profile)


def points(runs: Sequence[StoredRun], profile: str) -> tuple[np.ndarray, np.ndarray]:
    """Where runs are compared: the mean of their two losses, and ΔL, of the runs that come so far."""
    at = _there(losses(runs).mean(2), runs, profile), gap(runs, profile)
    there = np.isfinite(at[0])
    return at[0][there], at[1][there]


def first(runs: Sequence[StoredRun], profile: str, corpus: int = 0, order: int = 2) -> int:
    """In how many runs a corpus passes its model of `order` words before the other does."""
    found = np.nan_to_num(passed(runs, profile, order), nan=np.inf)
    return int((found[:, corpus] < found[:, 1 - corpus]).sum())


def lower_at(runs: Sequence[StoredRun]) -> np.ndarray:
    """The evaluated steps at which the mean cosine of the questions' words is the lower one in every run."""
    found = cosines(runs)
    return steps(runs)[(found[..., 0] < found[..., 1]).all(0)]


def facts(runs: Runs, profile: str) -> dict[str, Fact]:
    """What the text of chapter 22 says of the two losses and of the embeddings."""
    tied = [run for gamma in GAMMAS for run in runs[True, gamma]]
    small = {kind: runs[kind, SMALL] for kind in KINDS}
    own = "the best bigram models of the rows of training"
    found = {
        "even": Fact(ahead(bigrams(profile)), "{:.2f}", f"ΔL of {own}"),
        "even-held": Fact(ahead(levels(profile)), "{:.2f}", "ΔL of the models of word pairs on held-out texts"),
        "progress": Fact(float(np.mean(bigrams(profile))), "{:.2f}", f"mean of the losses of {own}, nats"),
    }
    for order, name in ((2, "pairs"), (3, "triples")):
        of = f"a model of word {name}"
        for corpus, level in zip(("questions", "stories"), levels(profile, order), strict=True):
            found[f"{name}-{corpus}"] = Fact(level, "{:.2f}", f"loss of {of} on held-out {corpus}, nats a token")
    for name, group, corpus, order in (
        ("questions-pairs", tied, 0, 2),
        ("questions-pairs-small", small[True], 0, 2),
        ("questions-triples-middle", runs[True, GAMMAS[1]], 0, 3),
        ("questions-triples-small", small[True], 0, 3),
        ("stories-triples-small", small[True], 1, 3),
    ):
        count, starts = first(group, profile, corpus, order), sorted({run.spec.gamma for run in group})
        of = f"{('questions', 'stories')[corpus]} are first to pass a model of {order} words"
        found[name] = Fact(
            (count, len(group)), "{} of {}", f"tied runs, γ = {listed([f'{g:g}' for g in starts])}, in which {of}"
        )
    for gamma in GAMMAS:
        rests = f"ΔL of held-out texts at equal progress, mean over seeds, γ = {gamma:g}, tied"
        found[f"gap-held-{round(10 * gamma)}"] = Fact(mean(gap(runs[True, gamma], profile, HELD_OUT)), "{:.2f}", rests)
    for name, kind, part in (("held", True, HELD_OUT), ("untied", False, TRAINING)):
        rests = f"ΔL at equal progress, smallest start less largest, 95 % interval over seeds, {KINDS[kind]}, {part} losses"
        found[f"growth-{name}"] = Fact(growth(runs, kind, profile, part)[1:], "{:.2f} to {:.2f}", rests)
    for kind, name in KINDS.items():
        for gamma in GAMMAS:
            values = gap(runs[kind, gamma], profile)
            rests = f"ΔL at equal progress, mean over seeds, γ = {gamma:g}, {name}"
            found[f"gap-{name}-{round(10 * gamma)}"] = Fact(float(values.mean()), "{:.2f}", rests)
        at = cosines_at(small[kind], profile).mean(0)
        for corpus, value in zip(("questions", "stories"), at, strict=True):
            rests = f"mean cosine of the {corpus}' own words at equal progress, γ = {SMALL:g}, {name}"
            found[f"cosine-{name}-{corpus}"] = Fact(float(value), "{:.2f}", rests)
    gaps = {gamma: gap_along(runs[True, gamma]) for gamma in GAMMAS}
    for gamma, values in gaps.items():
        rests = f"ΔL at the end of training, mean over seeds, γ = {gamma:g}, tied"
        found[f"end-{round(10 * gamma)}"] = Fact(float(values[:, -1].mean()), "{:.2f}", rests)
    along = np.array([values.mean(0) for values in gaps.values()])
    rising = int((np.diff(along, axis=0) > 0).all(0).sum())
    lower = lower_at(small[True])
    turns = [int(steps(runs[True, g])[losses(runs[True, g], HELD_OUT).mean(0)[:, 1].argmin()]) for g in GAMMAS]
    found |= {
        "stories-turn": Fact(
            span(turns), "{:,} to {:,}", "step at which the held-out loss of stories is least, means of every γ, tied"
        ),
        "rising": Fact((rising, along.shape[1]), "{} of {}", "evaluations at which ΔL's mean rises with γ, tied"),
        "lower-steps": Fact(
            span(lower.tolist()),
            "{} to {}",
            f"steps at which PrOntoQA's cosine is the lower one in every run, γ = {SMALL:g}, tied",
        ),
    }
    return found


def facts_on_head(runs: Mapping[float, Sequence[StoredRun]], profile: str) -> dict[str, Fact]:
    """Of runs whose output matrix is drawn alike for every γ. Absent without runs."""
    seeds = in_words(len(runs[SMALL])) if runs else None
    found = {"head-seeds": Fact(seeds, "{}", "seeds of a γ, output matrix drawn alike for every γ")}
    for gamma in GAMMAS:
        values = gap(runs[gamma], profile) if runs else []
        rests = f"ΔL at equal progress, mean over seeds, γ = {gamma:g}, output matrix drawn alike for every γ"
        found[f"gap-head-{round(10 * gamma)}"] = Fact(mean(values), "{:.2f}", rests)
    return found


def ordered_at_end(runs: Mapping[float, Sequence[StoredRun]], part: str = TRAINING) -> tuple[int, int, int]:
    """In how many seeds ΔL at the end rises from each γ to the next, in how many it falls, and of how many."""
    steps = np.diff([gap_along(runs[gamma], part)[:, -1] for gamma in GAMMAS], axis=0)
    rising, falling = (int((sign * steps > 0).all(0).sum()) for sign in (1, -1))
    return rising, falling, steps.shape[1]


def facts_on_longer(runs: Mapping[float, Sequence[StoredRun]]) -> dict[str, Fact]:
    """Of runs with tied embeddings that train for longer: ΔL at the end, and where progress is DONE. Absent without runs."""
    rising, _, count = ordered_at_end(runs) if runs else (0, 0, 0)
    found = {
        "longer-steps": Fact(int(steps(runs[SMALL])[-1]) if runs else None, "{:,}", "steps of the longer runs, tied"),
        "longer-seeds": Fact(in_words(count) if runs else None, "{}", "seeds of a γ, longer runs"),
        "longer-rises": Fact((rising, count) if runs else None, "{} of {}", "seeds in which ΔL at the end rises with every γ"),
        "done": Fact(DONE, "{:g}", "our choice, nats a token"),
    }
    for gamma in GAMMAS:
        group, name, of = runs.get(gamma, ()), round(10 * gamma), f"mean over seeds, γ = {gamma:g}, longer runs"
        last = gap_along(group)[:, -1] if group else []
        found[f"longer-{name}"] = Fact(mean(last), "{:.2f}", f"ΔL of training losses at the end, {of}")
        for part, key in ((TRAINING, ""), (HELD_OUT, "held-")):
            there = _at(gap_along(group, part), at_level(group, DONE)) if group else []
            rests = f"ΔL of {part} losses where the mean of both training losses comes to {DONE:g} nat, {of}"
            found[f"done-{key}{name}"] = Fact(mean(there), "{:.2f}", rests)
        least = losses(group, HELD_OUT)[..., 1].min(1) if group else []
        found[f"longer-least-{name}"] = Fact(mean(least), "{:.2f}", f"least held-out loss of stories, nats a token, {of}")
    for corpus, of in enumerate(("questions", "stories")):
        last = [losses(runs[gamma])[:, -1, corpus] for gamma in GAMMAS[1:]] if runs else []
        rests = (
            f"training loss of {of} at the end, nats, mean over seeds of γ = {listed([f'{g:g}' for g in GAMMAS[1:]])}, longer"
        )
        found[f"longer-{of}"] = Fact(mean(np.ravel(last)), "{:.2f}", rests)
    return found


# --- Rows of tables ---

WHEN_HEAD = ("embeddings", "γ", "questions pass, step", "stories pass, step", "equal progress, step", "ΔL there")
LOSS_HEAD = (
    "embeddings",
    "γ",
    *(f"{name}, {part}" for name in (CORPORA[0], "stories") for part in ("training", "held out")),
)
CORPORA_HEAD = ("", CORPORA[0], f"stories, our {SUBSTITUTE}", "TinyStories, a sample of the real corpus")


def _span(steps: np.ndarray) -> str:
    """`350 to 400`, `350, never in 1 of 3`, `never`."""
    known = np.unique(steps[np.isfinite(steps)]).astype(int)
    if not len(known):
        return "never"
    said = f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"
    return said if np.isfinite(steps).all() else f"{said}, never in {int(np.isnan(steps).sum())} of {len(steps)}"


def when_rows(runs: Runs, profile: str) -> list[tuple[str, ...]]:
    """When each corpus passes its bigram model, when progress is equal, and ΔL there."""
    rows = []
    for (tied, gamma), group in runs.items():
        values = gap(group, profile)
        known = values[np.isfinite(values)]
        when = (*map(_span, passed(group, profile).T), _span(reached(group, profile)))
        rows.append((KINDS[tied], f"{gamma:g}", *when, mean_std(known, 2) if len(known) else "–"))
    return rows


def loss_rows(runs: Runs) -> list[tuple[str, ...]]:
    """Losses at the end of training, on rows of training and on held-out ones."""
    of = lambda group: [mean_std(arms.shares(group, f"{part} {i}")) for i in (0, 1) for part in ("train", "test")]
    return [(KINDS[tied], f"{gamma:g}", *of(group)) for (tied, gamma), group in runs.items()]


def corpora_rows(profile: str) -> list[tuple[str, ...]]:
    """The two corpora of the mix beside what was measured on a sample of the real stories."""
    s = MIX[profile]
    texts = mix_texts(s.each, s.tests)
    found = list(map(measures, texts))
    row = lambda name, get, real: (name, *map(get, found), real)
    each = lambda name, values: (name, *values, "–")
    words, known, _ = mix_data(s.each, s.tests, s.length)
    counts = known.counts(words)
    own = [counts[i][(counts[i] >= SEEN) & (counts[1 - i] == 0)].numpy() for i in (0, 1)]
    cut = [np.mean([len(text) >= s.length for text in some]) for some in texts]
    return [
        row("texts", lambda m: f"{m.texts:,}", SAMPLE["texts"]),
        row("words and marks in all", lambda m: f"{m.words:,}", SAMPLE["words"]),
        row("of a text, mean", lambda m: f"{m.mean:.0f}", SAMPLE["mean"]),
        row("of a text, median", lambda m: f"{m.median:.0f}", SAMPLE["median"]),
        each("share of texts that are cut", [f"{v:.1%}" for v in cut]),
        row("different ones", lambda m: f"{m.vocabulary:,}", "2,000 and more"),
        row("entropy of a word (nats)", lambda m: f"{m.unigram:.2f}", SAMPLE["unigram"]),
        row("entropy of a word after the one before it (nats)", lambda m: f"{m.bigram:.2f}", SAMPLE["bigram"]),
        each("the same of its rows of training, as they are cut", [f"{v:.2f}" for v in bigrams(profile)]),
        each(f"words that only this corpus has, {SEEN} times or more in training", [f"{len(v):,}" for v in own]),
        each("how often such a word occurs there, median", [f"{np.median(v):,.0f}" for v in own]),
    ]


def _tidy(words: Sequence[str]) -> str:
    return re.sub(r" ' (?=s\b)", "'", re.sub(r" ([.,:!?])", r"\1", " ".join(words)))


def _sentences(words: Sequence[str]) -> list[str]:
    """Pieces that end with a full stop, and what is behind the last."""
    ends = [i + 1 for i, word in enumerate(words) if word == "."]
    return [_tidy(words[a:b]) for a, b in zip([0, *ends], [*ends, len(words)], strict=True) if a < b]


def examples(profile: str, seed: int) -> str:
    """A text of each corpus, shortened, as a quotation."""
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
