"""Running a chapter again: what its page says of parameters and times, and what papermill itself would say."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import papermill
import pytest
from planted import planted_run
from test_chapters import write
from tiny import make_tiny_spec

from lib.book import chapters, rerun
from lib.book.chapters import Chapter
from lib.book.display import plain
from lib.book.rerun import parameter_rows, times
from lib.core.record.store import StoredRun

NUMBERED = [c for c in chapters.chapters() if c.name[0].isdigit()]
PARAMETERS = """# comments of their own belong to nothing: here
n: int = 1  # how many: 1 = one, # or more
rate: float = -2.5e-3  # a rate
name: str = "a # b: c"  #no space
flag: bool = True
plain = 7  # without a type
"""
CPU, GPU = "cpu (x86_64)", "cuda (H200)"
Measured = Callable[[dict[str, Any] | None], None]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    """Plants what benchmarks/chapters.json holds; None: it is not there."""

    def plant(seconds: dict[str, Any] | None) -> None:
        def load(name: str) -> dict[str, Any]:
            assert name == "chapters"
            if seconds is None:
                raise LookupError("not there")
            return {"cores": 2, "seconds": seconds}

        monkeypatch.setattr(rerun, "load", load)

    return plant


def trained(seconds: float, depth: int = 2, device: str = CPU) -> StoredRun:
    return replace(planted_run(make_tiny_spec(depth=depth), {}), seconds=seconds, provenance={"device": device})


# ---------------------------------------------------------------- parameters


def test_rows_have_name_type_default_and_the_comment_beside(tmp_path: Path) -> None:
    assert parameter_rows(write(tmp_path / "a.ipynb", parameters=PARAMETERS)) == [
        ("n", "int", "1", "how many: 1 = one, # or more"),
        ("rate", "float", "-0.0025", "a rate"),
        ("name", "str", "'a # b: c'", "no space"),
        ("flag", "bool", "True", ""),
        ("plain", "int", "7", "without a type"),
    ]


def test_a_chapter_without_parameters_has_no_rows(tmp_path: Path) -> None:
    assert parameter_rows(write(tmp_path / "a.ipynb", parameters="")) == []


@pytest.mark.parametrize("chapter", NUMBERED, ids=lambda c: c.name)
def test_committed_parameters_have_a_type_and_a_comment(chapter: Chapter) -> None:
    """The type is that of the default, since that is what a value given on the command line becomes."""
    body = ast.parse(chapter.parameter_cell()).body
    assert all(isinstance(statement, ast.AnnAssign) for statement in body)
    types = {s.target.id: ast.unparse(s.annotation) for s in body}
    rows = parameter_rows(chapter)
    assert {name: kind for name, kind, *_ in rows} == types
    assert set(types.values()) <= {"int", "float", "str", "bool"}
    assert all(len(meaning) > 5 for *_, meaning in rows)


def test_papermill_tells_the_parameters_of_a_chapter() -> None:
    """What `papermill --help-notebook` prints; it reads types and comments from the cell by rules of its own."""
    chapter = next(c for c in NUMBERED if c.name.startswith("02"))
    found = papermill.inspect_notebook(str(chapter.path))
    told = {n: (p["inferred_type_name"], ast.literal_eval(p["default"]), " ".join(p["help"].split())) for n, p in found.items()}
    defaults = chapter.defaults()
    assert told == {name: (kind, defaults[name], words) for name, kind, _, words in parameter_rows(chapter)}
    assert [told[name][0] for name in ("profile", "device", "gamma", "depth", "seed")] == ["str", "str", "float", "int", "int"]


# ---------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 seconds"), (99.4, "99 seconds"), (100, "2 minutes"), (5999, "100 minutes"), (6000, "1.7 hours")],
)
def test_measured_times_in_suitable_units(measured: Measured, seconds: float, words: str) -> None:
    measured({"a": seconds})
    assert times("a", []).splitlines()[0] == f"- With stored results it takes {words} on 2 cores."


STORED = "With stored results it takes 12 seconds on 2 cores."
UNKNOWN = "How long it takes with stored results has not been measured."
NO_GPU = "On a GPU: not measured; none of its stored runs is from one."
CORES = f"on two cores ({plain(CPU)}), waiting for other work there included; a run took"
HOW = f"minutes {CORES}"
TWO_THREADS = replace(trained(100), provenance={"device": CPU, "threads": 2})


@pytest.mark.parametrize(
    ("seconds", "runs", "lines"),
    [
        (None, [], [UNKNOWN, "It trains nothing, so a GPU makes no difference."]),
        ({"other": 3.0}, [], [UNKNOWN, "It trains nothing, so a GPU makes no difference."]),
        (  # 100 + 200 + 60 seconds on one thread each are three minutes on two cores; 150 on average at depth 2
            {"a": 12.0},
            [trained(100), trained(60, depth=4), trained(200)],
            [
                STORED,
                f"Training its 3 runs from nothing took about 3 {HOW} about 150 s at depth 2, about 60 s at depth 4.",
                NO_GPU,
            ],
        ),
        (  # far apart: a range
            {"a": 12.0},
            [trained(30), trained(100), trained(121), trained(60, depth=4)],
            [
                STORED,
                f"Training its 4 runs from nothing took about 3 {HOW} 30 to 121 s at depth 2, about 60 s at depth 4.",
                NO_GPU,
            ],
        ),
        (  # one that had both cores for 100 seconds takes 100 seconds of two cores
            {"a": 12.0},
            [TWO_THREADS],
            [STORED, f"Training its 1 runs from nothing took about 2 {HOW} about 100 s at depth 2.", NO_GPU],
        ),
        (
            {"a": 12.0},
            [trained(7200, device=GPU), trained(3600, device=GPU)],
            [STORED, "On a GPU: 3.0 hours of process time."],
        ),
        (  # one of three is from a CPU: its 50 seconds are not what three took
            {"a": 12.0},
            [trained(50), trained(30, device=GPU), trained(40, device=GPU)],
            [
                STORED,
                f"Training 1 of its 3 runs from nothing took about 25 seconds {CORES} about 50 s at depth 2.",
                "On a GPU: 70 seconds of process time.",
            ],
        ),
    ],
)
def test_times_are_told_in_sentences(
    measured: Measured, seconds: dict[str, Any] | None, runs: list[StoredRun], lines: list[str]
) -> None:
    measured(seconds)
    assert times("a", runs).splitlines() == [f"- {line}" for line in lines]


# ---------------------------------------------------------------- the whole


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, measured: Measured) -> Callable[..., str]:
    """What the page of a planted chapter says."""
    measured(None)

    def of(parameters: str, name: str = "04-some", **how: Any) -> str:
        words: list[str] = []
        chapter = write(tmp_path / f"{name}.ipynb", parameters=parameters)
        monkeypatch.setattr(chapters, "find", lambda asked: chapter)
        monkeypatch.setattr(rerun, "say", words.append)
        rerun.rerun(name, **how)
        return words[0]

    return of


def test_commands_are_those_that_work(said: Callable[..., str]) -> None:
    words = said(PARAMETERS, example={"n": 3, "rate": 0.5})
    assert "\npython -m lib run 04 -p n 3 -p rate 0.5\n" in words
    assert "\npapermill book/04-some.ipynb out.ipynb -p n 3 -p rate 0.5\n" in words
    assert "python -m lib run engine\n" in said("", name="engine")
    assert "It has no parameters." in said("", name="engine")


def test_every_row_has_four_columns(said: Callable[..., str]) -> None:
    """Whatever a comment or a default holds."""
    words = said("n: int = 1  # one | two\nname: str = 'a|b'  # either")
    rows = [line for line in words.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [5] * 4


# ---------------------------------------------------------------- a study as a whole


def test_a_study_is_the_sum_of_its_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    experiments = {
        "bias-a": {"runs": 3, "seconds": 200},
        "bias-b": {"runs": 4, "seconds": 100},
        "other": {"runs": 9, "seconds": 9000},
    }
    monkeypatch.setattr(rerun, "load", lambda name: {"cores": 2, "share": "1/20", "experiments": experiments})

    def trains(**runs: int) -> None:
        found = {f"bias-{name}": SimpleNamespace(specs=lambda profile, n=n: [None] * n) for name, n in runs.items()}
        monkeypatch.setattr(rerun, "EXPERIMENTS", found)

    trains(a=3, b=4)
    said = rerun.alone("bias-")
    assert "Alone on 2 cores all 7 runs of the study would take about 5 minutes" in said
    assert said.endswith("trains 1/20 of the steps.")
    trains(a=6, b=4, c=2)  # since then three runs and an experiment have come: 400 + 100 seconds, and two unknown ones
    said = rerun.alone("bias-")
    assert "all 12 runs of the study would take about 8 minutes" in said
    assert said.endswith("of the steps of 7 of them and counts the others like these.")


def test_a_study_that_was_not_timed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> None:
        raise LookupError

    monkeypatch.setattr(rerun, "load", load)
    assert rerun.alone("bias-") == "- What the whole study costs alone on a machine has not been measured."
