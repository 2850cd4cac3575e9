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

from lib.book.chapters import execute, find, read_notebook
from lib.book.parameters import ParameterError, checked
from lib.book.paths import ROOT, STORE_VARIABLE
from lib.core.record.store import Store, load
from lib.core.train.plan import Options
from lib.language import cogs, own, scan
from lib.language.baselines import sentences
from lib.language.experiments import OWN_DATA, own_specs
from lib.language.own import Own, Row, read
from lib.language.prontoqa_task import Example, Task
from lib.language.stories import SEPARATOR
from lib.language.study import Owned, make_own, own_data
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
