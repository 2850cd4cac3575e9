"""Stories: a substitute corpus of ours for TinyStories (Eldan and Li 2023), a reader of the real ones, and how texts compare.

A story of ours has an opening, 3 to 6 events and an ending. Its hero, a second person, an object and a place are drawn once
and named again, by pronouns too; all other words are drawn from classes by Zipf's weights (`lexicon.toml`). It is a
pure function of (seed, number). Like TinyStories it is long text with little to reason about, but a made-up one: what is found
on it supports trends and none of a paper's numbers, and has to be called `SUBSTITUTE`.

A text is a list of lower-cased words, in which every mark is a word.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any, TextIO

import torch
from torch import Tensor

from lib.core.record.spec import check_count
from lib.language.draws import Draws, zipf
from lib.language.text import END, LanguageError, Rows, Vocabulary, opened, vocabulary, words_of

LEXICON: dict[str, Any] = tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text(encoding="utf-8"))
"""Names, words by class, and templates."""
SUBSTITUTE = "substitute corpus"
SEPARATOR = "<|endoftext|>"
UNKNOWN = "<unk>"
"""What stands in a text for a word that is none of those kept."""
_STORY = 72  # stream of random numbers
_HUMAN = 0.6  # share of people among heroes
_LONGEST = 1_000_000  # characters; no story of the release is near
_GENDERS = (
    (LEXICON["boys"].split(), "boy", ("he", "him", "his")),
    (LEXICON["girls"].split(), "girl", ("she", "her", "her")),
)

# ---------------------------------------------------------------- stories of ours


@cache
def parse(template: str) -> tuple:
    """Words, "{slots}", and tuples of alternatives, each such a tuple again. Raises LanguageError for loose brackets."""
    marks = re.findall(r"[\[\]|]|[^\s\[\]|]+", template)
    stack: list[list[list]] = [[[]]]
    for mark in marks:
        if mark == "[":
            stack.append([[]])
        elif mark == "|" and len(stack) > 1:
            stack[-1].append([])
        elif mark == "]" and len(stack) > 1:
            alternatives = tuple(map(tuple, stack.pop()))
            stack[-1][-1].append(alternatives)
        elif mark in "|]":
            raise LanguageError(f"a {mark!r} stands outside of brackets in {template[:40]!r}.")
        else:
            stack[-1][-1].append(mark)
    if len(stack) > 1:
        raise LanguageError(f"a bracket is not closed in {template[:40]!r}.")
    return tuple(stack[0][0])


@cache
def _classes() -> dict[str, tuple[list[list[str]], list[float]]]:
    """Options and cumulative weights of each slot that is drawn afresh."""
    words = {slot: text.split() for slot, text in LEXICON["classes"].items()}
    for slots, text in LEXICON["forms"].items():
        words |= dict(zip(slots.split(), zip(*(verb.split() for verb in text.split("|")), strict=True), strict=True))
    return {slot: ([option.split("-") for option in options], zipf(len(options))) for slot, options in words.items()}


def _person(draws: Draws, but: str = "") -> tuple[str, str, tuple[str, str, str]]:
    """Name, role and pronouns of someone with another name than `but`."""
    names, child, pronouns = draws.one(_GENDERS)
    names = [name for name in names if name != but]
    name = draws.weighted(names, zipf(len(names)))
    if draws.chance(_HUMAN):
        return name, child, pronouns
    return name, draws.weighted(*_classes()["kind"])[0], pronouns


def _write(draws: Draws, items: tuple, own: dict[str, str], words: list[str]) -> None:
    """Append the words of a parsed template."""
    classes = _classes()
    for item in items:
        if isinstance(item, tuple):
            _write(draws, draws.one(item), own, words)
        elif item[0] != "{":
            words.append(item)
        elif (slot := item[1:-1]) in own:
            words.append(own[slot])
        elif slot in classes:
            words.extend(draws.weighted(*classes[slot]))
        else:
            _write(draws, parse(LEXICON["phrases"][slot]), own, words)


def story(seed: int, number: int) -> list[str]:
    """Story `number` of the stream `seed`, as words."""
    draws = Draws(seed, _STORY, number)
    name, role, (he, him, his) = _person(draws)
    friend, frole, (fhe, fhim, fhis) = _person(draws, but=name)
    own = {"name": name, "role": role, "he": he, "him": him, "his": his}
    own |= {"friend": friend, "frole": frole, "fhe": fhe, "fhim": fhim, "fhis": fhis}
    own |= {"object": draws.weighted(*_classes()["thing"])[0], "place": draws.weighted(*_classes()["spot"])[0]}
    events = draws.shuffled(LEXICON["events"])[: 3 + draws.below(4)]
    words: list[str] = []
    for template in (draws.one(LEXICON["openings"]), *events, draws.one(LEXICON["endings"])):
        _write(draws, parse(template), own, words)
    return ["an" if word == "a" and after[0] in "aeiou" else word for word, after in pairwise([*words, "."])]


def stories(seed: int, first: int, count: int) -> list[list[str]]:
    """Stories number first … first + count − 1 of the stream `seed`."""
    return [story(seed, number) for number in range(first, first + count)]


# ---------------------------------------------------------------- stories of a user's file


def split(text: str) -> list[str]:
    """Lower-cased words and marks."""
    return list(words_of(text.lower()))


def read_stories(path: str | Path, keep: int = 2000, limit: int | None = None) -> list[list[str]]:
    """The stories of a user's own file of TinyStories: UTF-8 text with <|endoftext|> behind each story.

    The `keep` most frequent words stay, of equals the first in the alphabet; others become UNKNOWN. At most `limit` stories are
    read. What follows the last <|endoftext|> may be cut and is left out. Raises LanguageError for a file that is missing or is
    not of this form.
    """
    check_count("keep", keep)
    if limit is not None:
        check_count("limit", limit)
    with opened(path, "name a plain text file of TinyStories") as file:
        texts = list(islice(filter(None, map(split, _pieces(file, path))), limit))
    if not texts:
        raise LanguageError(f"{path} has no whole story: put {SEPARATOR} behind each story.")
    return most_frequent(texts, keep)


def _pieces(file: TextIO, path: str | Path) -> Iterator[str]:
    """What stands before each separator, read bit by bit: the release is larger than some memories."""
    rest = ""
    while more := file.read(2**16):
        *whole, rest = (rest + more).split(SEPARATOR)
        yield from whole
        if len(rest) > _LONGEST:
            raise LanguageError(f"{path} has {_LONGEST:,} characters without {SEPARATOR}: put it behind each story.")


def most_frequent(texts: Sequence[Sequence[str]], keep: int) -> list[list[str]]:
    """Texts with UNKNOWN for all words but the `keep` most frequent, of equals the first in the alphabet."""
    counts = Counter(word for text in texts for word in text)
    kept = set(sorted(counts, key=lambda word: (-counts[word], word))[:keep])
    return [[word if word in kept else UNKNOWN for word in text] for text in texts]


# ---------------------------------------------------------------- measures of texts


@dataclass(frozen=True)
class Measures:
    """Of some texts: how many, their words in all, words of a text (mean and median), and different words. `unigram`: entropy
    of a word in nats; `bigram`: that of a word given the one before it in its text. Both are plug-in estimates, which are too
    low where words are few: compare texts of like size."""

    texts: int
    words: int
    mean: float
    median: float
    vocabulary: int
    unigram: float
    bigram: float


def _entropy(counts: Counter) -> float:
    total = counts.total()
    return math.log(total) - sum(n * math.log(n) for n in counts.values()) / total


def measures(texts: Sequence[Sequence[Hashable]]) -> Measures:
    """Raises LanguageError unless a text has two words."""
    lengths = [len(text) for text in texts]
    if max(lengths, default=0) < 2:
        raise LanguageError("entropies need at least one text of two words.")
    words = Counter(word for text in texts for word in text)
    pairs = Counter(pair for text in texts for pair in pairwise(text))
    before = Counter(word for text in texts for word in text[:-1])
    return Measures(
        texts=len(texts),
        words=sum(lengths),
        mean=mean(lengths),
        median=median(lengths),
        vocabulary=len(words),
        unigram=_entropy(words),
        bigram=_entropy(pairs) - _entropy(before),
    )


def smoothed_loss(known: Sequence[Sequence[int]], texts: Sequence[Sequence[int]], order: int, vocabulary: int) -> float:
    """What a model of `order` words, counted in `known` texts of words below `vocabulary`, loses on other texts: nats a word,
    of every word but a text's first. Shorter contexts fill in for rare ones (Witten and Bell 1991, method C): a context that
    was seen n times, before k different words, has weight n / (n + k)."""
    counts: Counter[tuple[int, ...]] = Counter()
    after: dict[tuple[int, ...], Counter[int]] = {}
    for text in known:
        for i in range(1, len(text)):
            for context in (tuple(text[i - k : i]) for k in range(min(order, i + 1))):
                after.setdefault(context, Counter())[text[i]] += 1
                counts[context] += 1

    @cache
    def chance(context: tuple[int, ...], word: int) -> float:
        shorter = chance(context[1:], word) if context else 1 / vocabulary
        if context not in after:
            return shorter
        seen, kinds = counts[context], len(after[context])
        return (after[context][word] + kinds * shorter) / (seen + kinds)

    found = [-math.log(chance(tuple(text[max(0, i + 1 - order) : i]), text[i])) for text in texts for i in range(1, len(text))]
    return mean(found)


# ---------------------------------------------------------------- corpora as sequences, and their mix


@dataclass(frozen=True)
class Sequences(Rows):
    """N sequences of several corpora, of which the loss asks for every token but the first; `corpus` (N,) which one, from 0."""

    corpus: Tensor

    def __getitem__(self, which: Tensor | slice) -> Sequences:
        return Sequences(self.tokens[which], self.start[which], self.length[which], self.corpus[which])

    def counts(self, words: Vocabulary) -> Tensor:
        """(corpora, V) int64: how often each token occurs in each corpus; a token of one corpus only is zero in the others."""
        found = torch.zeros(int(self.corpus.max()) + 1, len(words), dtype=torch.int64)
        inside = torch.arange(self.tokens.shape[1]) < self.length[:, None]
        flat = self.corpus[:, None] * len(words) + self.tokens
        return found.view(-1).scatter_add_(0, flat[inside], torch.ones_like(flat[inside])).view_as(found)


def mix_vocabulary(corpora: Sequence[Sequence[Sequence[str]]]) -> Vocabulary:
    """All words of all corpora."""
    return vocabulary(word for corpus in corpora for text in corpus for word in text)


def mix(corpora: Sequence[Sequence[Sequence[str]]], words: Vocabulary, length: int) -> Sequences:
    """Each text of each corpus, one corpus after the other, as a sequence with END, cut at `length` tokens or padded to them.
    Raises LanguageError for unknown words."""
    lines = [words.encode((*text, END))[:length] for texts in corpora for text in texts]
    tokens = torch.zeros(len(lines), length, dtype=torch.int64)
    for row, line in zip(tokens, lines, strict=True):
        row[: len(line)] = torch.tensor(line)
    sizes = torch.tensor([len(line) for line in lines])
    corpus = torch.tensor([which for which, texts in enumerate(corpora) for _ in texts])
    return Sequences(tokens, torch.ones_like(sizes), sizes, corpus)
