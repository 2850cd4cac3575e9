"""A user's own data: released files of SCAN, COGS, PrOntoQA or TinyStories, or any table of questions and answers.

What a file is, its name and first lines tell. It is read whole and checked before anything is trained, and results are filed
under a digest of its bytes, so that they never mix with those of other data. `read` is for the page of a user's own data,
`give` lets the experiments of a chapter have the files that it knows.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

from lib.language import cogs, scan, stories
from lib.language.baselines import sentences
from lib.language.prontoqa_task import LABELS, Example
from lib.language.text import LanguageError, Rows, Vocabulary, opened, rows, vocabulary, words_of

VARIABLE = "REASON_OR_MEMORIZE_DATA"
"""The environment variable that tells processes that train where the data are."""
SCAN, COGS, QUESTIONS, STORIES = "SCAN", "COGS", "PrOntoQA", "stories"
EXAMPLE = "example"
"""What stands for the digest where no data are given: sums in words, drawn by `example`."""
TENTH = 10  # of the questions of one file, every so-many-th is held out
LEAST, MOST_ASKED = 20, 420  # questions of a file at least; held-out rows that are asked along training


class Row(NamedTuple):
    """A question and its answer in words, and the file and line that it stands in."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    place: str


@dataclass(frozen=True)
class Own:
    """Data of a kind: rows of training, and sets of rows that are held out, by name. `digest`: of the files; `note`: what a
    reader should know of how they were read."""

    kind: str
    digest: str
    train: tuple[Row, ...]
    held_out: dict[str, tuple[Row, ...]]
    note: str = ""

    @cached_property
    def words(self) -> Vocabulary:
        """Of all rows, so that no row of a test has a word that a model cannot say."""
        every = [*self.train, *(row for some in self.held_out.values() for row in some)]
        return vocabulary(word for row in every for side in (row.source, row.target) for word in side)

    def encoded(self, name: str = "train") -> Rows:
        """The rows of training, or of a set that is held out."""
        return rows([(row.source, row.target) for row in (self.train if name == "train" else self.held_out[name])], self.words)


def read(path: str | Path, most: int, longest: int) -> Own:
    """The data in a file or a folder: at most so many rows of training, none of more than `longest` tokens.

    A release's own test sets are held out; of one file, every tenth question with all its answers. A text of stories has no
    questions: stories are cut at the longest row. Raises LanguageError, in one sentence that names file and line, for what
    cannot be read.
    """
    given, files = _found(path)
    kind, used, take = _kind(given, files)
    train, held_out = take(most, longest)
    note = ""
    _fit((*train, *(row for some in held_out.values() for row in some)), longest)
    if kind == STORIES and (cut := sum(len(row.target) + 2 == longest for row in (*train, *held_out["test"]))):
        note = f"{cut:,} of {len(train) + len(held_out['test']):,} stories are cut at {longest - 2:,} words"
    sets = {name: tuple(some) for name, some in held_out.items()}
    return Own(kind, _digest(used), tuple(train), sets, note)


def _found(path: str | Path) -> tuple[Path, list[Path]]:
    """What a path names, and its files. Raises LanguageError where there is nothing."""
    given = Path(os.path.expanduser(path))
    if not os.path.exists(given):  # False, and no error, for what no system could hold
        raise LanguageError(f"there are no data at {str(path)[:200]!r}: give the path of a file or a folder.")
    if not (given.is_file() or given.is_dir()):
        raise LanguageError(f"{given} is neither a plain file nor a folder: give the path of one.")
    return given, [given] if given.is_file() else sorted(f for f in given.iterdir() if f.is_file() and f.name[0] != ".")


def _digest(files: Sequence[Path]) -> str:
    """Of names and bytes."""
    digest = sha256()
    for file in files:
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:20]


def _fit(found: Iterable[Row], longest: int) -> None:
    """Raises LanguageError, naming the first, for rows of more tokens."""
    for row in found:
        if (long := len(row.source) + len(row.target) + 2) > longest:
            what = f"the row has {long:,} tokens, of {longest:,} at most"
            raise LanguageError(f"{row.place}: {what}: take a larger profile, leave it out, or shorten it.")


Taken = tuple[Sequence[Row], dict[str, Sequence[Row]]]
Take = Callable[[int, int], Taken]


def _kind(given: Path, files: Sequence[Path]) -> tuple[str, list[Path], Take]:
    """What the data are, the files that count, and what reads at most so many rows of so many tokens from them."""
    folder = given.parent if given.is_file() else given
    by_name = {file.name: file for file in files}
    if splits := sorted(name for name in by_name if re.fullmatch(r"tasks_(train|test)_\w+\.txt", name)):
        names = sorted({re.sub(r"tasks_(train|test)_|\.txt", "", name) for name in splits})
        if len(names) > 1:
            raise LanguageError(f"{given} has several splits ({', '.join(names)}): give the path of one tasks_train_….txt.")
        pair = [folder / f"tasks_{part}_{names[0]}.txt" for part in ("train", "test")]
        if lacking := [file.name for file in pair if not file.is_file()]:
            raise LanguageError(f"{folder} lacks {lacking[0]}: put the two files of the split beside each other.")
        return f"SCAN, {names[0]}", pair, lambda most, _: _scan(folder, names[0], pair, most)
    if len(by_name.keys() & {f"{name}.tsv" for name in cogs.SETS}) > 1:
        return COGS, [folder / f"{name}.tsv" for name in cogs.SETS], lambda most, _: _cogs(folder, most)
    if questions := [file for file in files if file.suffix.lower() == ".json"]:
        return QUESTIONS, questions, lambda most, _: _parted([row for file in questions for row in _json(file)], given, most)
    tables, others = ([file for file in files if file.suffix.lower() == suffix] for suffix in (".tsv", ".txt"))
    texts = tables if len(tables) == 1 else [*tables, *others]  # a README may lie beside it
    if len(texts) == 1:
        if _has_stories(texts[0]):
            return STORIES, texts, lambda most, longest: _stories(texts[0], most, longest)
        return "questions and answers", texts, lambda most, _: _parted(list(_table(texts[0])), given, most)
    what = f"{len(texts)} text files" if texts else "none of the files that are known"
    raise LanguageError(
        f"{given} has {what}: give SCAN's tasks_train_….txt and tasks_test_….txt, COGS's four .tsv, PrOntoQA's .json, one text "
        f"of stories with {stories.SEPARATOR} behind each, or one .tsv of questions and answers."
    )


def _has_stories(path: Path) -> bool:
    with opened(path, "give a plain text file") as file:
        return stories.SEPARATOR in file.read(10**6)


def _scan(folder: Path, name: str, files: Sequence[Path], most: int) -> Taken:
    split, commands = scan.load(folder, name), scan.commands()
    sample = split.sample(min(most, len(split.train)))
    as_rows = lambda numbers, file: [Row(commands[i][0], commands[i][1], str(file)) for i in numbers.tolist()]
    return as_rows(sample.train, files[0]), {"test": _spaced(as_rows(sample.test, files[1]))}


def _cogs(folder: Path, most: int) -> Taken:
    data = cogs.load(folder)
    train = _cogs_rows(data, folder, "train")
    if most < len(train):
        try:
            kept = set(cogs.fewer(data, most).train)
            train = [row for row, whole in zip(train, data.train, strict=True) if whole in kept]
        except LanguageError:  # fewer than the single words, which a smaller set keeps before all
            train = _spaced(train, most)
    return train, {name: _spaced(_cogs_rows(data, folder, name)) for name in ("test", "gen")}


def _cogs_rows(data: cogs.Data, folder: Path, name: str) -> list[Row]:
    return [
        Row(tuple(source), tuple(target), f"{folder / name}.tsv, line {number}")
        for number, (source, target) in enumerate(map(cogs.tokens, getattr(data, name)), 1)
    ]


Words = tuple[str, ...]
_TRUE_OR_FALSE = ("True", "or", "false", ":")


def _broken_chain(question: Words, asked: Words, chain: Sequence[Words], label: str) -> str:
    """What is wrong with a question of true or false, its chain and its label, in words; nothing if each rule of the chain
    stands in the question, each step follows from the two sentences before it, the last is what is asked or its negation, and
    the label says which."""
    told = set(_sentences(question))
    for i, step in enumerate(chain):
        if step in told:
            continue
        rule, fact = (chain[i - 1], chain[i - 2]) if i > 1 else ((), ())
        if step[:1] != asked[:1]:
            return f"the rule {' '.join(step)!r} of the chain is not in the question"
        if not _follows(fact, rule, step):
            return f"{' '.join(step)!r} of the chain does not follow from what is before it"
    last = chain[-1] if chain else asked
    if _positive(last) != _positive(asked):
        return f"the chain ends with {' '.join(last)!r}, which is not what is asked"
    if chain and label and (label == "True") != (("not" in last) == ("not" in asked)):
        return f"the label is {label}, and the chain says otherwise"
    return ""


def _follows(fact: Words, rule: Words, step: Words) -> bool:
    """Is `step` what a rule says of the one that `fact` is about? `Rex is a cat`, `Cats are animals`, `Rex is an animal`."""
    verb = next((i for i, word in enumerate(rule) if word in ("is", "are")), 0)
    if not verb or fact[:2] != step[:2] or "not" in fact or ("not" in rule) != ("not" in step):
        return False
    return all(_one(a) & _one(b) for a, b in ((rule[verb - 1], fact[-1]), (rule[-1], step[-1])))


def _one(word: str) -> set[str]:
    """What a noun may be in the singular, and an adjective as it is."""
    word = word.lower()
    return {word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word)}


def _sentences(words: Words) -> list[Words]:
    """Without their full stops; the last may have none."""
    return [tuple(sentence) for sentence in sentences((*words, ".")) if sentence]


def _positive(statement: Words) -> Words:
    return tuple(word for word in statement if word != "not")


def _line(text: str, *keys: str) -> int:
    """The line of a key within a key, each the first of its name behind the one before."""
    at = 0
    for key in filter(None, keys):
        at = max(at, text.find(json.dumps(key, ensure_ascii=False), at))
    return text.count("\n", 0, at) + 1


def _json(path: Path) -> Iterator[Row]:
    """The questions of a file of PrOntoQA: {example: {part: question}}, each with `question`, `query`, `chain_of_thought`, a
    list of sentences, and mostly `answer`. The answer of a row is the chain and, where there is one, the label. Of questions of
    true or false both are checked; proofs of other kinds, which are released beside them, are taken as they are."""
    with opened(path, "give the file as it was released") as file:
        try:
            written = file.read()
            found = json.loads(written)
        except json.JSONDecodeError as error:
            raise LanguageError(f"{path}, line {error.lineno}: this is no JSON ({error.msg}): copy the file again.") from None
        except UnicodeDecodeError:
            raise
        except (RecursionError, ValueError):
            raise LanguageError(f"{path} is no file of questions: give the file as it was released.") from None
    if not isinstance(found, dict):
        raise LanguageError(f"{path} is not an object of examples: give the file as it was released.")
    for name, example in found.items():
        for part, asked in example.items() if isinstance(example, dict) else [("", None)]:
            asked, place = asked if isinstance(asked, dict) else {}, f"{path}, line {_line(written, name, part)}, {name} {part}"
            texts: list[Any] = [asked.get("question"), asked.get("query")]
            chain: Any = asked.get("chain_of_thought")
            if not all(isinstance(text, str) and text for text in (*texts, *(chain if isinstance(chain, list) else [None]))):
                what = "needs the texts question and query and a list chain_of_thought"
                raise LanguageError(f"{place}: {what}: give the file as it was released.")
            label = [str(asked["answer"])] if isinstance(asked.get("answer"), str | bool) else []
            if not (chain or label):
                raise LanguageError(f"{place}: has no chain and no answer: give the file as it was released.")
            question, query = map(words_of, texts)
            if query[: len(_TRUE_OR_FALSE)] == _TRUE_OR_FALSE:
                statement, steps = _sentences(query[len(_TRUE_OR_FALSE) :])[0], _sentences(words_of(" ".join(chain)))
                if wrong := _broken_chain(question, statement, steps, "".join(label)):
                    raise LanguageError(f"{place}: {wrong}: give the file as it was released.")
            yield Row((*question, *query), words_of(" ".join((*chain, *label))), place)


def _stories(path: Path, most: int, longest: int) -> Taken:
    texts = stories.read_stories(path, limit=max(most * TENTH // (TENTH - 1) + 1, LEAST))
    return _parted([Row((), tuple(text[: longest - 2]), f"{path}, story {i}") for i, text in enumerate(texts, 1)], path, most)


def _table(path: Path) -> Iterator[Row]:
    advice = "write a question, a tab and an answer in each line"
    with opened(path, advice) as file:
        for number, line in enumerate(file, 1):
            cells = line.rstrip("\n").split("\t")
            if line.strip() and (len(cells) != 2 or not all(cell.strip() for cell in cells)):
                raise LanguageError(f"{path}, line {number} has {len(cells)} columns or an empty one: {advice}.")
            if line.strip():
                yield Row(words_of(cells[0]), words_of(cells[1]), f"{path}, line {number}")


def _parted(found: Sequence[Row], given: Path, most: int) -> Taken:
    """Every tenth question is held out; a question without words is told from others by its answer."""
    questions: dict[tuple[str, ...], list[Row]] = {}
    for row in found:
        questions.setdefault(row.source or row.target, []).append(row)
    if len(questions) < LEAST:
        raise LanguageError(f"{given} has {len(questions)} different questions: give {LEAST} at least.")
    train, test = [], []
    for i, group in enumerate(questions.values(), 1):
        (test if i % TENTH == 0 else train).extend(group)
    return _spaced(train, most), {"test": _spaced(test)}


T = TypeVar("T")


def _spaced(found: Sequence[T], most: int = MOST_ASKED) -> list[T]:
    """So many at most, evenly spaced."""
    count = min(most, len(found))
    return [found[i * len(found) // count] for i in range(count)]


# ------------------------------------------------------------------------------------------------- the data of a chapter

SPLITS = tuple(name for name, primitive in scan.SPLITS.items() if primitive)
"""The splits of SCAN that a chapter trains on."""
_SCAN_FILES = tuple(f"tasks_{part}_{name}.txt" for name in SPLITS for part in ("train", "test"))
_COGS_FILES = tuple(f"{name}.tsv" for name in cogs.SETS)
_WANTED = {
    SCAN: f"SCAN's {', '.join(_SCAN_FILES)}",
    COGS: f"COGS's {', '.join(_COGS_FILES)}",
    QUESTIONS: "PrOntoQA's .json",
    STORIES: f"one .txt of stories with {stories.SEPARATOR} behind each",
}
RESTART = "this process has read other data: restart it, or the notebook's kernel, and run the page again."
_given: list[dict[str, str]] = []
"""{kind: digest}, once `give` was called."""


def give(path: str, *kinds: str) -> dict[str, str]:
    """Let the experiments of this process that are of these kinds have the files of a folder, or the book's own data where it
    has none of a kind, or `path` is empty: {kind: digest}.

    Raises LanguageError where there is nothing, none of the kinds or a part of one, and in a process that had other data: what
    it computed of those it keeps.
    """
    found = {}
    if path:
        given, files = _found(path)
        found = {kind: _digest(some) for kind in kinds if (some := _of_kind(kind, given, files))}
        if not found:
            raise LanguageError(f"{given} has nothing that this page reads: give {', or '.join(_WANTED[k] for k in kinds)}.")
    if _given and _given[0] != found:
        raise LanguageError(RESTART)
    _given[:] = [found]
    os.environ[VARIABLE] = path  # for the processes that train
    return found


def given(kind: str) -> str:
    """The digest of a user's data of this kind; empty where the book's own are used."""
    return _given[0].get(kind, "") if _given else ""


def _of_kind(kind: str, given: Path, files: Sequence[Path]) -> list[Path]:
    by_name = {file.name: file for file in files}
    if kind in (SCAN, COGS):
        names = _SCAN_FILES if kind == SCAN else _COGS_FILES
        lacking = [name for name in names if name not in by_name]
        if 0 < len(lacking) < len(names):
            raise LanguageError(f"{given} lacks {', '.join(lacking)}: give a folder with all of {_WANTED[kind]}.")
        return [] if lacking else [by_name[name] for name in names]
    if kind == QUESTIONS:
        return [file for file in files if file.suffix.lower() == ".json"]
    found = [file for file in files if file.suffix.lower() == ".txt" and _has_stories(file)]
    if len(found) > 1:
        raise LanguageError(f"{given} has {len(found)} texts of stories: give the path of one.")
    return found


def _same(kind: str, digest: str) -> list[Path]:
    """The files of a run. Raises LanguageError where other data lie there now."""
    path = os.environ.get(VARIABLE, "")
    files = _of_kind(kind, *_found(path)) if path else []
    if not files or _digest(files) != digest:
        raise LanguageError(f"the data at {path!r} are not those of the run: run the page again, which reads them anew.")
    return files


@cache
def scan_of(digest: str) -> dict[str, scan.Split]:
    """The splits of a user's files, by their names."""
    folder = _same(SCAN, digest)[0].parent
    return {name: scan.load(folder, name) for name in SPLITS}


@cache
def cogs_of(digest: str) -> cogs.Data:
    """A user's files. Exposures, which the release tells apart, have the case that ours have."""
    data = cogs.load(_same(COGS, digest)[0].parent)
    alike = lambda row: row._replace(case=cogs.EXPOSURE) if row.case.startswith(cogs.EXPOSURE) else row
    return replace(data, train=tuple(map(alike, data.train)))


def cogs_asked(data: cogs.Data, test: int, case: int) -> tuple[list[cogs.Row], list[cogs.Row]]:
    """So many rows of the test, and of each case, at most; evenly spaced."""
    cases = [[row for row in data.gen if row.case == name] for name in cogs.CASES]
    return _spaced(data.test, test), [row for some in cases for row in _spaced(some, case)]


@cache
def _questions(digest: str) -> dict[Row, Example]:
    return {row: _asked(row) for file in _same(QUESTIONS, digest) for row in _json(file)}


@cache
def questions_of(digest: str) -> tuple[list[Example], list[Example], Vocabulary]:
    """The questions of a user's files: those of training, mixed, and every tenth, which is held out; and the words of all.
    Raises LanguageError for a question that is not of true or false, or has no chain or label."""
    found = _questions(digest)
    train, held_out = _parted(list(found), Path(os.environ[VARIABLE]), len(found))
    words = vocabulary((*LABELS, *(word for e in found.values() for word in e.words)))
    return [found[row] for row in Random(QUESTIONS).sample(train, len(train))], [found[row] for row in held_out["test"]], words


def _asked(row: Row) -> Example:
    """A question as ours are. What of ours only the drawing knows, such as the concept of the distractor, it lacks."""
    n = len(_TRUE_OR_FALSE)
    at = next((i for i in range(len(row.source)) if row.source[i : i + n] == _TRUE_OR_FALSE), None)
    chain, label = row.target[:-1], row.target[-1:]
    if at is None or not chain or label[0] not in LABELS:
        what = "is not a question of true or false with its chain and its label"
        raise LanguageError(f"{row.place}: {what}, which is all that this page reads: leave it out.")
    context, question = row.source[:at], row.source[at + n :]
    asked = question[-2] if len(question) > 1 else ""
    if not any(asked in rule for rule in sentences(context)):
        raise LanguageError(f"{row.place}: no sentence names what is asked, {asked!r}: leave it out.")
    return Example(context, question, chain, label[0] == LABELS[True], 0, asked, "", None, None)


@cache
def stories_of(digest: str, count: int) -> list[list[str]]:
    """The first stories of a user's file. Raises LanguageError where there are fewer."""
    (path,) = _same(STORIES, digest)
    found = stories.read_stories(path, limit=count)
    if len(found) < count:
        raise LanguageError(f"{path} has {len(found):,} stories and this profile takes {count:,}: give more.")
    return found


def needed(kind: str, digest: str, longest: int) -> int:
    """The tokens of the longest source with the longest target, which a model may write behind it, of COGS or of questions.
    Raises LanguageError, naming it, for a row of more than `longest` tokens."""
    if kind == COGS:
        data, folder = cogs_of(digest), Path(os.environ[VARIABLE])
        found = [row for name in ("train", "test", "gen") for row in _cogs_rows(data, folder, name)]
    else:
        found = [Row(e.prompt, (*e.chain, e.label), row.place) for row, e in _questions(digest).items()]
    _fit(found, longest)
    return max(len(row.source) for row in found) + max(len(row.target) for row in found) + 2


# ------------------------------------------------------------------------------------------------------------- the example

_ONES = words_of(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen"
)
_TENS = words_of("twenty thirty forty fifty sixty seventy eighty ninety")


def number(value: int) -> tuple[str, ...]:
    """0 to 198 in words."""
    if value >= 100:
        return ("one", "hundred", *(number(value - 100) if value > 100 else ()))
    if value < 20:
        return (_ONES[value],)
    return (_TENS[value // 10 - 2], *((_ONES[value % 10],) if value % 10 else ()))


def example(most: int) -> Own:
    """Sums in words, `forty two plus seven` and `forty nine`: all of two numbers below 100, every tenth held out, in an order
    that mixes them."""
    pairs = [divmod(i * 7919 % 10_000, 100) for i in range(10_000)]
    found = [Row((*number(a), "plus", *number(b)), number(a + b), f"sum {i}") for i, (a, b) in enumerate(pairs)]
    train, held_out = _parted(found, Path(EXAMPLE), len(found))
    return Own("sums in words", EXAMPLE, tuple(train[:most]), {name: tuple(some) for name, some in held_out.items()})
