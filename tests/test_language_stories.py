"""Stories of our own, a reader of a user's file, entropies by hand, and corpora as sequences."""

from __future__ import annotations

import itertools
import math
import os
from pathlib import Path

import pytest
import torch

from lib.core.record.spec import SpecError
from lib.language.stories import (
    LEXICON,
    SEPARATOR,
    UNKNOWN,
    measures,
    mix,
    mix_vocabulary,
    most_frequent,
    parse,
    read_stories,
    split,
    stories,
    story,
)
from lib.language.text import END, LanguageError, vocabulary

CORPUS = stories(5, 0, 600)
NAMES = {*LEXICON["boys"].split(), *LEXICON["girls"].split()}
SLOTS = {
    *LEXICON["classes"],
    *LEXICON["phrases"],
    *(slot for slots in LEXICON["forms"] for slot in slots.split()),
    *("name", "role", "he", "him", "his", "friend", "frole", "fhe", "fhim", "fhis", "object", "place"),
}


def flat(items: tuple) -> list[str]:
    return [word for item in items for word in ([item] if isinstance(item, str) else flat(item))]


def test_every_slot_of_every_template_can_be_filled() -> None:
    templates = [*LEXICON["openings"], *LEXICON["events"], *LEXICON["endings"], *LEXICON["phrases"].values()]
    marks = [word for template in templates for word in flat(parse(template)) if "{" in word or "}" in word]
    assert all(mark[0] == "{" and mark[-1] == "}" for mark in marks)
    assert {mark[1:-1] for mark in marks} == SLOTS
    for words in (*LEXICON["classes"].values(), LEXICON["boys"], LEXICON["girls"]):
        assert len(set(words.split())) == len(words.split())  # twice in a class would have two weights


def test_a_template_by_hand() -> None:
    assert parse("a [b|c [d|]|] {e}") == ("a", (("b",), ("c", (("d",), ())), ()), "{e}")
    for wrong in ("a ] b", "a | b"):
        with pytest.raises(LanguageError, match="outside of brackets"):
            parse(wrong)
    with pytest.raises(LanguageError, match="not closed"):
        parse("a [b|c")


def test_a_story_is_a_function_of_its_seed_and_number() -> None:
    assert stories(5, 17, 3) == CORPUS[17:20]
    assert story(6, 17) != CORPUS[17]
    assert len({tuple(text) for text in CORPUS}) == len(CORPUS)


def test_stories_have_the_size_that_was_planned() -> None:
    found = measures(stories(5, 0, 1500))
    assert 1000 <= found.vocabulary <= 1500
    assert found.mean == pytest.approx(222, abs=5)
    assert found.unigram == pytest.approx(5.32, abs=0.05)
    assert found.bigram == pytest.approx(2.82, abs=0.05)


def test_hero_second_person_object_and_place_are_drawn_once() -> None:
    pronouns = {"he", "she", "him", "her", "his"}
    objects, places = (set(LEXICON["classes"][slot].split()) for slot in ("thing", "spot"))
    twice = []
    for text in CORPUS:
        assert 1 <= len(NAMES & set(text)) <= 2
        assert pronouns & set(text)
        twice.append([max(text.count(word) for word in group & set(text)) >= 2 for group in (NAMES, objects, places)])
    opened = [" ".join(text).partition("best friend named ") for text in CORPUS]
    pairs = [(before.split()[0], after.split()[0]) for before, found, after in opened if found]
    assert len(pairs) > 100
    assert all(hero != friend for hero, friend in pairs)
    assert all(named for named, _, _ in twice)
    assert torch.tensor(twice).float().mean(0).min() > 0.8


def test_stories_are_sentences() -> None:
    for text in CORPUS:
        assert text[-1] == "."
        assert all(word == word.lower() and split(word) == [word] for word in text)  # as the reader of files would split it
        for word, after in itertools.pairwise(text):
            assert (word == "an") <= (after[0] in "aeiou")
            assert (word == "a") <= (after[0] not in "aeiou")
            assert (word, after) not in ((".", "."), (",", "."), (",", ","), ("a", "a"))
        assert text.count('"') % 2 == 0


def test_entropies_by_hand() -> None:
    found = measures([["a", "b", "a", "b"], ["a", "b"]])
    assert (found.texts, found.words, found.mean, found.median, found.vocabulary) == (2, 6, 3, 3, 2)
    assert found.unigram == pytest.approx(math.log(2))
    assert found.bigram == pytest.approx(0, abs=1e-12)  # b follows a and a follows b, always
    found = measures([["a", "b"], ["a", "c"], ["d"]])  # pairs do not reach from text to text
    assert found.bigram == pytest.approx(math.log(2))
    assert found.unigram == pytest.approx(0.4 * math.log(5 / 2) + 3 * 0.2 * math.log(5))
    found = measures([["a", "a", "b", "a"]])  # after a: a or b, after b: a
    assert found.bigram == pytest.approx(2 / 3 * math.log(2))
    assert measures([["a", "b"], ["c"], ["d"] * 9]).median == 2
    for nothing in ([], [[]], [["a"]]):
        with pytest.raises(LanguageError, match="at least one text of two words"):
            measures(nothing)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "own.txt"


def test_a_users_file_is_read(file: Path) -> None:
    file.write_text(f'The dog ran.\nThe dog sat!\n{SEPARATOR}\n"Don\'t," the cat said.{SEPARATOR}\n \n{SEPARATOR}the cut')
    first = ["the", "dog", "ran", ".", "the", "dog", "sat", "!"]
    second = ['"', "don", "'", "t", ",", '"', "the", "cat", "said", "."]
    assert read_stories(file) == [first, second]  # what is cut and what is empty is none
    assert read_stories(str(file), limit=1) == [first]
    few = read_stories(file, keep=4)  # the 3, then " . dog 2 each
    assert few[0] == ["the", "dog", UNKNOWN, ".", "the", "dog", UNKNOWN, UNKNOWN]
    assert few[1] == ['"', *[UNKNOWN] * 4, '"', "the", UNKNOWN, UNKNOWN, "."]
    assert most_frequent([["b", "a"]], 1) == [[UNKNOWN, "a"]]


@pytest.mark.parametrize("shift", range(0, len(SEPARATOR) + 1, 4))
def test_a_separator_may_stand_anywhere(file: Path, shift: int) -> None:
    file.write_text("x" * (2**16 - shift) + SEPARATOR + "é y" + SEPARATOR, encoding="utf-8")
    assert [len(text) for text in read_stories(file)] == [1, 2]


def test_a_file_that_is_no_tinystories_is_refused(file: Path, tmp_path: Path) -> None:
    def refusal(match: str) -> None:
        with pytest.raises(LanguageError, match=match) as caught:
            read_stories(file)
        assert str(caught.value).count("\n") == 0
        assert str(file) in str(caught.value)

    refusal("there is no file .*: name a plain text file")
    for text in ("", "one story without an end", SEPARATOR, f" {SEPARATOR} cut"):
        file.write_text(text)
        refusal("has no whole story")
    file.write_text("x " * 600_000)
    refusal("1,000,000 characters without")
    file.write_bytes(b"a b \xff c" + SEPARATOR.encode())
    refusal("not UTF-8 text")
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(LanguageError, match="is not a plain file"):
            read_stories(name)
    with pytest.raises(LanguageError, match=r"there is no file .*own\\x00\.txt"):
        read_stories(tmp_path / "own\0.txt")
    for wrong in ({"keep": 0}, {"limit": 0}):
        with pytest.raises(SpecError, match="an integer of at least 1"):
            read_stories(file, **wrong)


ONE, OTHER = [["a", "b"], ["c"]], [["d", "a", "d", "e"]]


def test_a_padded_mix_by_hand() -> None:
    words = mix_vocabulary([ONE, OTHER])
    a, b, c, d, e = words.encode("abcde")
    end = words.encode([END])[0]
    found = mix([ONE, OTHER], words, 4)
    assert found.tokens.tolist() == [[a, b, end, 0], [c, end, 0, 0], [d, a, d, e]]  # the last is cut
    assert found.length.tolist() == [3, 2, 4]
    assert found.corpus.tolist() == [0, 0, 1]
    assert found.targets().int().tolist() == [[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 1]]
    counts = found.counts(words)
    assert counts.shape == (2, len(words))
    assert counts[:, [0, end, a, b, c, d, e]].tolist() == [[0, 2, 1, 1, 1, 0, 0], [0, 0, 1, 0, 0, 2, 1]]
    assert found[1:].corpus.tolist() == [0, 1]
    with pytest.raises(LanguageError, match="'d' is not in the vocabulary"):
        mix([OTHER], vocabulary("abc"), 4)
