"""A user's own data: what is read, what is held out, what is refused, and what runs on it measure."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import save_cogs
from torch import Tensor

from lib.book.chapters import ChapterError, execute, find, read_notebook
from lib.book.parameters import ParameterError, checked
from lib.book.paths import ROOT, STORE_VARIABLE
from lib.core.read.claim import Claim
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store, load
from lib.core.sweep.experiment import Experiment
from lib.core.train.plan import Options
from lib.language import cogs, own, scan, stories
from lib.language.baselines import sentences
from lib.language.experiments import EXPERIMENTS, OWN_DATA, TWINS, bring, cogs_specs, own_specs, scan_specs
from lib.language.mixture import claims as of_mix
from lib.language.mixture import metrics as mixture
from lib.language.own import Own, Row, read
from lib.language.prontoqa import claims as of_asking
from lib.language.prontoqa import metrics as prontoqa
from lib.language.prontoqa_task import Example, Task
from lib.language.scan_cogs import claims as of_scan_cogs
from lib.language.scan_cogs import metrics as scan_cogs
from lib.language.stories import SEPARATOR
from lib.language.study import Owned, asking_examples, cogs_of, make_own, make_scan, mix_texts, own_data
from lib.language.text import LanguageError


def table(folder: Path, lines: int = 30) -> Path:
    path = folder / "questions.tsv"
    path.write_text("".join(f"double {n}?\t{2 * n}\n" for n in range(lines)))
    return path


def test_a_table_is_parted_by_its_questions(tmp_path: Path) -> None:
    path = table(tmp_path)
    with path.open("a") as file:
        file.write("\ndouble 9?\teighteen\n")  # the tenth question again
    data = read(path, 100, 20)
    assert (data.kind, len(data.train), len(data.held_out["test"])) == ("questions and answers", 27, 4)
    assert data.train[0] == Row(("double", "0", "?"), ("0",), f"{path}, line 1")
    assert [row.target for row in data.held_out["test"]] == [("18",), ("eighteen",), ("38",), ("58",)]
    assert not {row.source for row in data.train} & {row.source for row in data.held_out["test"]}
    assert set(data.words.decode(data.encoded("test").tokens[1])) >= {"double", "9", "eighteen"}
    assert len(read(path, 5, 20).train) == 5


def test_the_digest_is_of_the_content(tmp_path: Path) -> None:
    path = table(tmp_path)
    first = read(path, 100, 20).digest
    assert read(tmp_path, 100, 20).digest == first  # by its folder
    path.write_text(path.read_text().replace("double 3?", "twice 3?"))
    assert read(path, 100, 20).digest != first


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a question\n" * 30, r"line 1 has 1 columns or an empty one: write a question, a tab"),
        ("a\tb\tc\n" * 30, r"line 1 has 3 columns"),
        ("a\t \n" * 30, r"line 1 has 2 columns or an empty one"),
        ("a\tb\n" * 30, r"has 1 different questions: give 20 at least"),
        ("", r"has 0 different questions"),
        (b"\xff\xfe\x00a", r"is not UTF-8 text: "),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "questions.tsv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(LanguageError, match=message) as error:
        read(path, 100, 20)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_rows_that_no_model_could_read_are_named_before_training(tmp_path: Path) -> None:
    path = table(tmp_path)
    path.write_text(path.read_text() + "how " * 30 + "long?\tvery\n")
    with pytest.raises(LanguageError, match=r"line 31: the row has 35 tokens, of 20 at most"):
        read(path, 100, 20)


@pytest.mark.parametrize("path", ["nowhere", "a\0b", "x" * 5000])
def test_what_is_not_there_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(LanguageError, match="there are no data at"):
        read(tmp_path / path, 10, 20)


def test_a_folder_of_anything_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match="has none of the files that are known: give SCAN's"):
        read(tmp_path, 10, 20)
    for name in ("a.txt", "b.txt", ".hidden.txt"):
        (tmp_path / name).write_text("x")
    with pytest.raises(LanguageError, match="has 2 text files: give"):
        read(tmp_path, 10, 20)
    os.mkfifo(tmp_path / "pipe.tsv")
    with pytest.raises(LanguageError, match=r"pipe\.tsv is neither a plain file nor a folder"):
        read(tmp_path / "pipe.tsv", 10, 20)


def test_one_table_beside_a_readme_is_the_data(tmp_path: Path) -> None:
    table(tmp_path).rename(tmp_path / "train.TSV")
    (tmp_path / "README.txt").write_text("x")
    assert read(tmp_path, 100, 20).kind == "questions and answers"


def test_scan_as_released(tmp_path: Path) -> None:
    split = scan.split("addprim_jump")
    for part in ("train", "test"):
        lines = "\n".join(scan.released(int(i)) for i in getattr(split, part))
        (tmp_path / f"tasks_{part}_addprim_jump.txt").write_text(lines)
    data = read(tmp_path / "tasks_train_addprim_jump.txt", 500, 80)
    assert (data.kind, len(data.train), len(data.held_out["test"])) == ("SCAN, addprim_jump", 500, own.MOST_ASKED)
    assert all("jump" in row.source for row in data.held_out["test"])
    assert all(scan.meaning(row.source) == row.target for row in (*data.train, *data.held_out["test"]))
    (tmp_path / "tasks_test_addprim_jump.txt").rename(tmp_path / "elsewhere")
    with pytest.raises(LanguageError, match=r"lacks tasks_test_addprim_jump\.txt: put the two files"):
        read(tmp_path, 500, 80)
    (tmp_path / "tasks_test_simple.txt").write_text("")
    with pytest.raises(LanguageError, match=r"several splits \(addprim_jump, simple\)"):
        read(tmp_path, 500, 80)


TINY = cogs.Sizes(train=300, dev=5, test=30, case=10, nouns=10, verbs=3)


def test_cogs_as_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_cogs(cogs.generate(TINY), tmp_path)
    with pytest.raises(LanguageError, match=r"train\.tsv has 300 rows, not 24,155"):
        read(tmp_path, 100, 500)
    monkeypatch.setattr(cogs, "load", partial(cogs.load, sizes=TINY))
    data = read(tmp_path, 1000, 500)
    assert (data.kind, len(data.train), len(data.held_out["test"]), len(data.held_out["gen"])) == ("COGS", 300, 30, 210)
    assert len(read(tmp_path, 200, 500).train) == 200
    assert len(read(tmp_path, 20, 500).train) == 20  # fewer than the single words
    assert data.train[6].place.endswith("train.tsv, line 7")
    (tmp_path / "dev.tsv").unlink()
    with pytest.raises(LanguageError, match=r"lacks dev\.tsv"):
        read(tmp_path, 1000, 500)


def asked(n: int) -> dict:
    texts = {"question": f"Every {n} is odd. Rex is a {n}.", "query": "True or false: Rex is odd."}
    return texts | {"chain_of_thought": [f"Rex is a {n}.", f"Every {n} is odd.", "Rex is odd."], "answer": "True"}


def test_prontoqa_as_released(tmp_path: Path) -> None:
    path = tmp_path / "1hop.json"
    examples = {f"example{n}": {"in_context_example0": asked(2 * n), "test_example": asked(2 * n + 1)} for n in range(15)}
    path.write_text(json.dumps(examples))
    data = read(tmp_path, 100, 60)
    assert (data.kind, len(data.train), len(data.held_out["test"])) == ("PrOntoQA", 27, 3)
    assert data.train[1].place == f"{path}, line 1, example0 test_example"
    assert " ".join(data.train[0].source) == "Every 0 is odd . Rex is a 0 . True or false : Rex is odd ."
    assert " ".join(data.train[0].target) == "Rex is a 0 . Every 0 is odd . Rex is odd . True"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{\n oh", r"\.json, line 2: this is no JSON"),
        ("[]", "is not an object of examples"),
        ('{"example1": 3}', r"line 1, example1 : needs the texts question and query and a list chain_of_thought"),
        ('{"example1": {"test_example": {"question": "A", "query": "B"}}}', "example1 test_example: needs"),
        ('{"example1": {"test_example": {"question": "A", "query": "B", "chain_of_thought": [1]}}}', "test_example: needs"),
        (
            '{"example1": {"test_example": {"question": "A", "query": "B", "chain_of_thought": []}}}',
            "has no chain and no answer",
        ),
        ("[" * 100_000, "is no file of questions"),
    ],
)
def test_questions_that_are_none_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "1hop.json").write_text(content)
    with pytest.raises(LanguageError, match=message):
        read(tmp_path, 100, 60)


def as_released(example: Example) -> dict[str, object]:
    """A question of ours in the form of a released file."""
    told = lambda words: " ".join(words).replace(" .", ".")
    chain = [f"{' '.join(sentence)}." for sentence in sentences(example.chain)]
    return {
        "question": told(example.context),
        "query": f"True or false: {told(example.question)}",
        "chain_of_thought": chain,
        "answer": example.label,
    }


def save_questions(folder: Path, change: Callable[[list[dict]], None] = lambda found: None) -> Path:
    found: list[dict] = [as_released(e) for hops in (1, 3, 5) for e in Task(hops=(hops,)).examples(3, 0, 40)]
    change(found)
    path = folder / "3hop.json"
    path.write_text(json.dumps({f"example{i}": {"test_example": asked} for i, asked in enumerate(found, 1)}, indent=1))
    return path


def test_chains_and_labels_of_released_questions_are_right(tmp_path: Path) -> None:
    data = read(save_questions(tmp_path), 200, 400)
    assert len(data.train) + len(data.held_out["test"]) == 120


def other_label(found: list[dict]) -> None:
    found[7]["answer"] = "False" if found[7]["answer"] == "True" else "True"


def other_chain(found: list[dict]) -> None:
    """Of another question: files that were mixed."""
    found[7]["chain_of_thought"], found[8]["chain_of_thought"] = found[8]["chain_of_thought"], found[7]["chain_of_thought"]


def other_end(found: list[dict]) -> None:
    found[7]["chain_of_thought"].append(found[7]["chain_of_thought"].pop().replace(" is ", " is not ").replace("not not ", ""))


def cut(found: list[dict]) -> None:
    del found[90]["chain_of_thought"][-2:]


def a_step_less(found: list[dict]) -> None:
    del found[90]["chain_of_thought"][1]


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (other_label, 8, "the label is (True|False), and the chain says otherwise"),
        (other_chain, 8, "of the chain (is not in the question|does not follow)|is not what is asked|is not in the question"),
        (other_end, 8, "of the chain does not follow from what is before it"),
        (cut, 91, "the chain ends with '.*', which is not what is asked"),
        (a_step_less, 91, "of the chain does not follow from what is before it"),
    ],
)
def test_a_chain_or_a_label_that_is_wrong_is_refused_by_line(
    tmp_path: Path, change: Callable[[list[dict]], None], line: int, message: str
) -> None:
    path = save_questions(tmp_path, change)
    with pytest.raises(LanguageError, match=message) as error:
        read(path, 200, 400)
    number = int(re.search(r", line (\d+), example", str(error.value))[1])  # type: ignore[index]
    lines = path.read_text().splitlines()
    assert [i for i in range(number - 1, 0, -1) if f'"example{line}"' in lines[i]][:1] in ([number - 1], [number - 2])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("rule", "step", "follows"),
    [
        ("Cats are animals", "Rex is an animal", True),
        ("Every cat is not red", "Rex is not red", True),
        ("Every cat is not red", "Rex is red", False),
        ("Every dog is red", "Rex is red", False),
        ("Cats are ladies", "Rex is a lady", True),
        ("Cats are animals", "Max is an animal", False),
    ],
)
def test_what_follows_from_a_rule(rule: str, step: str, follows: bool) -> None:
    assert own._follows(("Rex", "is", "a", "cat"), tuple(rule.split()), tuple(step.split())) is follows


def test_proofs_of_other_kinds_are_taken_as_they_are(tmp_path: Path) -> None:
    proof = lambda n: {
        "question": f"Rex is a {n}.",
        "query": "Prove: Rex is odd.",
        "chain_of_thought": ["Assume Rex is not odd."],
    }
    (tmp_path / "ood.json").write_text(json.dumps({f"example{n}": {"test_example": proof(n)} for n in range(30)}))
    assert len(read(tmp_path, 100, 60).train) == 27


def test_stories_have_no_question_and_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "stories.txt"
    path.write_text("".join(f"Once there were {n} cats, and {'very ' * 30} old. {SEPARATOR}\n" for n in range(40)))
    data = read(path, 100, 20)
    assert (data.kind, len(data.train), len(data.held_out["test"])) == ("stories", 36, 4)
    assert {(len(row.source), len(row.target)) for row in data.train} == {(0, 18)}
    assert data.note == "40 of 40 stories are cut at 18 words"
    assert len(read(path, 10, 20).train) == 10


def test_numbers_in_words() -> None:
    said = {n: " ".join(own.number(n)) for n in (0, 7, 19, 20, 42, 99, 100, 101, 142, 198)}
    assert list(said.values()) == [
        "zero",
        "seven",
        "nineteen",
        "twenty",
        "forty two",
        "ninety nine",
        "one hundred",
        "one hundred one",
        "one hundred forty two",
        "one hundred ninety eight",
    ]
    assert len({own.number(n) for n in range(199)}) == 199


def test_the_example_has_the_same_runs_however_it_is_given() -> None:
    assert own_specs("laptop", own.example(2_000)) == own_specs("laptop")


def test_the_example_has_every_sum_once() -> None:
    data = own.example(10_000)
    asked = own.example(50).held_out["test"]
    assert (len(data.train), len(asked)) == (9_000, own.MOST_ASKED)
    assert len({row.source for row in (*data.train, *asked)}) == 9_000 + own.MOST_ASKED


class Planted:
    """Answers as given, with certainty: an Ask of two runs, the second of which is never right."""

    def __init__(self, say: Callable[[Tensor], Tensor], vocab: int) -> None:
        self.say, self.vocab = say, vocab

    def logits(self, tokens: Tensor) -> Tensor:
        right = 5.0 * torch.nn.functional.one_hot(self.say(tokens), self.vocab).float()
        return torch.stack([right, -right])


def test_what_is_measured_tells_knowledge_from_none(tmp_path: Path) -> None:
    data = read(table(tmp_path), 100, 20)
    rows = {name: data.encoded(name) for name in ("train", "test")}
    known: dict[tuple[int, ...], int] = {}
    for line in (*rows["train"].tokens.tolist(), *rows["test"].tokens.tolist()):
        known |= {tuple(line[:i]): line[i] for i in range(1, len(line))}
    say = lambda tokens: torch.tensor(
        [[known.get(tuple(line[: i + 1]), 0) for i in range(len(line))] for line in tokens.tolist()]
    )
    study = Owned(rows["train"], {"test": rows["test"]})
    found = study.measure(Planted(say, len(data.words)))
    nats = torch.tensor([5.0, *[0.0] * (len(data.words) - 1)]).log_softmax(0)[0].neg()
    for name in ("train", "test"):
        assert found[name].tolist() == [1.0, 0.0]
        assert found[f"{name} loss"][0] == pytest.approx(float(nats), rel=1e-5)
        assert found[f"{name} loss"][1] > 5


def test_runs_are_trained_filed_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, store = table(tmp_path), Store(tmp_path / "store")
    monkeypatch.setenv(own.VARIABLE, str(path))
    specs = own_specs("smoke", read(path, 40, 64))[0.5]
    (run,) = OWN_DATA.obtain(specs, store, Options(device="cpu"), progress=False)
    assert {"train", "test", "train loss", "test loss"} <= set(run.metrics)
    path.write_text(path.read_text().replace("double", "twice"))
    others = own_specs("smoke", read(path, 40, 64))[0.5]
    assert not {s.key for s in others} & {s.key for s in specs}
    own_data.cache_clear()
    with pytest.raises(LanguageError, match="are not those of the run"):
        make_own(specs[0])


def test_the_page_tells_the_example_as_it_is() -> None:
    """Every start learns, few new sums are right, and a smaller start has more of them, and less loss."""
    runs = {gamma: load(specs, Store(ROOT / "results")) for gamma, specs in own_specs("laptop").items()}
    means = {
        name: [np.mean([run.metrics[name] for run in group]) for group in runs.values()]
        for name in ("train", "test", "test loss")
    }
    assert min(means["train"]) > 0.9
    assert max(means["test"]) < 0.25
    assert means["test"] == sorted(means["test"])
    assert means["test loss"] == sorted(means["test loss"], reverse=True)


def test_a_path_is_meant_from_where_the_user_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table(tmp_path)
    assert checked("c", {"data": str}, {"data": "questions.tsv"}) == {"data": str(tmp_path / "questions.tsv")}
    assert checked("c", {"data": str}, {"data": ""}) == {"data": ""}
    with pytest.raises(ParameterError, match="parameter data: there is nothing at"):
        checked("c", {"data": str}, {"data": "other.tsv"})


def test_an_own_vocabulary_has_the_words_of_all_rows() -> None:
    rows = (Row(("a",), ("b",), ""),), {"test": (Row(("c",), ("d",), ""),)}
    assert set(Own("", "", *rows).words.words) >= set("abcd")


def test_the_page_reads_what_a_user_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    given = {"profile": "smoke", "data": str(table(tmp_path))}
    output = execute(find("own-data"), given, tmp_path / "out.ipynb", progress=False)
    said = "".join("".join(o.get("text", "")) for cell in read_notebook(output).cells for o in cell.get("outputs", ()))
    assert "questions and answers: 27 rows of training" in said
    assert all(f"γ = {gamma:g}, test" in said for gamma in own_specs("smoke"))


# --------------------------------------------------------------------------------------------- a reader's files in chapters

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
PAGES = {20: ("language-scan", "language-cogs"), 21: ("language-prontoqa",), 22: ("language-mix",)}


def save_scan(folder: Path) -> None:
    for name in own.SPLITS:
        split = scan.split(name)
        for part in ("train", "test"):
            lines = [scan.released(int(i)) for i in getattr(split, part)]
            (folder / f"tasks_{part}_{name}.txt").write_text("\n".join(lines))


def save_stories(folder: Path, count: int = 40) -> None:
    texts = (" ".join(story) for story in stories.stories(9, 0, count))
    (folder / "stories.txt").write_text("".join(f"{text} {SEPARATOR}\n" for text in texts))


def save_page(page: int, folder: Path) -> None:
    if page == 20:
        save_scan(folder)
        save_cogs(cogs.generate(TINY, seed=4), folder)
    elif page == 21:
        save_questions(folder)
    else:
        save_stories(folder)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if in a process of its own, which knows small files of COGS."""
    monkeypatch.setattr(own, "_given", [])
    monkeypatch.setenv(own.VARIABLE, "")
    monkeypatch.setattr(Experiment, "_specs", lambda self, profile: tuple(self.profile_specs(profile)))
    monkeypatch.setattr(cogs, "load", partial(cogs.load, sizes=TINY))
    monkeypatch.setattr(mixture, "bigrams", mixture.bigrams.__wrapped__)
    monkeypatch.setattr(mixture, "levels", mixture.levels.__wrapped__)


def specs_of(page: int) -> list[RunSpec]:
    return [spec for name in PAGES[page] for spec in BY_NAME[name].specs("smoke")]


CHAPTERS: dict[int, tuple[tuple[Claim, ...], Callable[[Store], dict]]] = {
    20: (
        of_scan_cogs.CLAIMS,
        lambda store: scan_cogs.facts(scan_cogs.of_scan(store, "smoke"), scan_cogs.of_cogs(store, "smoke")),
    ),
    21: (of_asking.CLAIMS, lambda store: prontoqa.facts(prontoqa.of_asking(store, "smoke"), prontoqa.of_twins(store, "smoke"))),
    22: (of_mix.CLAIMS, lambda store: mixture.facts(mixture.of_mix(store, "smoke"), "smoke")),
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.usefixtures("fresh")
def test_a_chapter_is_made_of_runs_on_a_readers_files_and_of_no_others(tmp_path: Path, page: int) -> None:
    save_page(page, folder := tmp_path)
    ours, store = specs_of(page), Store(tmp_path / "store")
    told = bring(str(folder), "smoke", *PAGES[page])
    theirs = specs_of(page)
    assert all(digest in told for digest in own._given[0].values())
    apart = [spec for spec in theirs if not dict(spec.task).get("hard")]
    assert {dict(spec.task)["data"] for spec in apart} == set(own._given[0].values())
    assert not {spec.key for spec in apart} & {spec.key for spec in ours}
    beside = list(TWINS.values()) if page == 21 else []  # always of the book
    for name in (*PAGES[page], *beside):
        BY_NAME[name].obtain(BY_NAME[name].specs("smoke"), store, Options(device="cpu"), progress=False)
    asked, facts = CHAPTERS[page]
    assert facts(store)
    assert all(claim.evaluate(store, "smoke")["measured"] for claim in asked)
    assert [store.get(spec) is not None for spec in ours] == [bool(dict(spec.task).get("hard")) for spec in ours]


@pytest.mark.usefixtures("fresh")
def test_runs_read_the_rows_that_were_given(tmp_path: Path) -> None:
    for page in PAGES:
        save_page(page, tmp_path)
    names = [name for some in PAGES.values() for name in some]
    bring(str(tmp_path), "smoke", *names)
    split = next(iter(scan_specs("smoke").values()))[0]
    assert len(make_scan(split).known) == 300
    given = cogs.generate(TINY, seed=4)
    data, words = cogs_of(next(iter(cogs_specs("smoke").values()))[0])
    fixed = [row for row in given.train if row.case != cogs.IN_DISTRIBUTION]
    assert (data.train[: len(fixed)], len(data.train)) == (tuple(fixed), 150)
    assert (set(data.test) <= set(given.test), set(data.gen)) == (True, set(given.gen))
    assert len(words) == len(cogs.vocabulary_of(given))
    spec = next(spec for spec in BY_NAME["language-prontoqa"].specs("smoke") if "data" in dict(spec.task))
    known, test = asking_examples(spec)
    every = {e.prompt: e for hops in (1, 3, 5) for e in Task(hops=(hops,)).examples(3, 0, 40)}
    assert (len(known), len(test)) == (40, 12)
    for e in (*known, *test):
        true = every[e.prompt]
        assert (e.context, e.question, e.chain, e.answer, e.asked) == (
            (true.context, true.question, true.chain, true.answer, true.asked)
        )
    assert not {e.prompt for e in known} & {e.prompt for e in test}
    texts = mix_texts(20, 10)[1]
    assert texts == stories.stories(9, 0, 30)


@pytest.mark.usefixtures("fresh")
def test_what_a_folder_lacks_is_the_books(tmp_path: Path) -> None:
    ours = cogs_specs("smoke")
    save_scan(tmp_path)
    assert "COGS: as in the book" in bring(str(tmp_path), "smoke", *PAGES[20])
    assert cogs_specs("smoke") == ours


def lines_of(path: Path, change: Callable[[list[str]], None]) -> None:
    lines = path.read_text().splitlines()
    change(lines)
    path.write_text("\n".join(lines))


def swap_forms(lines: list[str]) -> None:
    first, second = (lines[i].split("\t") for i in (20, 21))
    first[1], second[1] = second[1], first[1]
    lines[20], lines[21] = "\t".join(first), "\t".join(second)


def swap_files(folder: Path) -> None:
    train, test = (folder / f"tasks_{part}_{own.SPLITS[0]}.txt" for part in ("train", "test"))
    text = train.read_text()
    train.write_text(test.read_text())
    test.write_text(text)


def long_question(found: list[dict]) -> None:
    found[4]["question"] = "Cats are animals. " * 200 + found[4]["question"]


def few(found: list[dict]) -> None:
    del found[30:]


def proof(found: list[dict]) -> None:
    found[4]["query"] = found[4]["query"].replace("True or false", "Prove")


def nothing_asked(found: list[dict]) -> None:
    found[4] |= {"query": "True or false: Rex is a cat.", "chain_of_thought": [], "question": "Cats are red."}


def of_20(folder: Path) -> None:
    save_page(20, folder)


WRONG: list[tuple[int, Callable[[Path], object], str]] = [
    (20, lambda folder: None, "has nothing that this page reads: give SCAN's tasks_train_"),
    (20, save_questions, "has nothing that this page reads: give SCAN's"),
    (21, of_20, r"has nothing that this page reads: give PrOntoQA's \.json"),
    (22, save_questions, "has nothing that this page reads: give one .txt of stories"),
    (20, lambda f: (save_scan(f), (f / "tasks_test_addprim_jump.txt").unlink()), "lacks tasks_test_addprim_jump.txt: give a"),
    (20, lambda f: (of_20(f), (f / "gen.tsv").unlink()), r"lacks gen\.tsv: give a folder with all of COGS's"),
    (20, lambda f: (save_scan(f), lines_of(f / "tasks_train_addprim_jump.txt", lambda rows: rows.pop())), "has 14,669 rows"),
    (20, lambda f: (save_scan(f), swap_files(f)), "has 1,208 rows and the release 21,890"),
    (20, lambda f: (of_20(f), lines_of(f / "test.tsv", swap_forms)), r"test\.tsv, line 21: "),
    (20, lambda f: (of_20(f), lines_of(f / "gen.tsv", lambda rows: rows.pop())), r"gen\.tsv has 209 rows, not 210"),
    (21, lambda f: save_questions(f, other_label), "the label is (True|False), and the chain says otherwise"),
    (21, lambda f: save_questions(f, cut), "which is not what is asked"),
    (21, lambda f: save_questions(f, proof), "example5 test_example: is not a question of true or false"),
    (21, lambda f: save_questions(f, nothing_asked), "example5 test_example: is not a question of true or false"),
    (21, lambda f: save_questions(f, few), "have 27 questions for training, and the profile smoke trains on 40 at least"),
    (21, lambda f: save_questions(f, long_question), r"example5 test_example: the row has [\d,]+ tokens, of 512 at most"),
    (22, lambda f: save_stories(f, 29), "has 29 stories and this profile takes 30: give more"),
    (
        22,
        lambda f: (save_stories(f), (f / "b.txt").write_text(f"x {SEPARATOR}")),
        "has 2 texts of stories: give the path of one",
    ),
    (
        22,
        lambda f: (f / "a.txt").write_text("".join(f"dog{n} {SEPARATOR}" for n in range(30))),
        "have not two words that are there 20 times",
    ),
]


@pytest.mark.parametrize(("page", "write", "message"), WRONG)
@pytest.mark.usefixtures("fresh")
def test_files_that_a_chapter_cannot_use_are_refused_before_training(
    tmp_path: Path, page: int, write: Callable[[Path], object], message: str
) -> None:
    write(tmp_path)
    with pytest.raises(LanguageError, match=message) as error:
        bring(str(tmp_path), "smoke", *PAGES[page])
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("fresh")
def test_a_process_shows_one_readers_data(tmp_path: Path) -> None:
    assert bring("", "smoke", *PAGES[21]) == ""
    save_questions(tmp_path)
    with pytest.raises(LanguageError, match="this process has read other data: restart it"):
        bring(str(tmp_path), "smoke", *PAGES[21])
    own._given.clear()
    told = bring(str(tmp_path), "smoke", *PAGES[21])
    assert bring(str(tmp_path), "smoke", *PAGES[21]) == told
    save_questions(tmp_path, few)
    with pytest.raises(LanguageError, match="this process has read other data"):
        bring(str(tmp_path), "smoke", *PAGES[21])


def test_a_chapter_refuses_wrong_files_and_trains_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, data = tmp_path / "store", tmp_path / "data"
    monkeypatch.setenv(STORE_VARIABLE, str(store))
    data.mkdir()
    save_stories(data, 29)
    with pytest.raises(ChapterError, match="29 stories and this profile takes 30"):
        execute(find("22"), {"profile": "smoke", "data": str(data)}, tmp_path / "out.ipynb", progress=False)
    assert not (tmp_path / "out.ipynb").exists()
    assert not list(store.rglob("*.json"))
