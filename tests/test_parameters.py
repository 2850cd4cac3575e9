"""One check of a chapter's parameters, for the command line and for the chapter itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from papermill.exceptions import PapermillExecutionError

from lib.book.chapters import Chapter, ChapterError, chapters, check_parameters
from lib.book.parameters import assigned, checked
from lib.book.parameters import check_parameters as check_here
from lib.core.model.init import MAX_GAMMA

BAD = [
    ("gamma", 55.0, "gamma must lie between -10 and 10"),
    ("gamma", float("nan"), "gamma must be a finite number"),
    ("gamma", "abc", "must be of type float"),
    ("seed", -1, "seed must be"),
    ("seed", 2_000_000_000, "seed must be"),
    ("seed", True, "must be of type int"),
    ("device", "tpu", "unknown device 'tpu': use auto, cpu or cuda"),
    ("profile", "huge", "unknown profile 'huge'"),
    ("gama", 0.3, "has no parameter 'gama': use "),
]
CELL = 'profile: str = "laptop"\ndevice: str = "auto"\nseed: int = 0\ngamma: float = 0.8\n'


def names(**injected: Any) -> dict[str, Any]:
    """The global names of a chapter whose first cell is CELL, after papermill's cell, if there is one."""
    found: dict[str, Any] = {}
    exec(compile(CELL, "cell", "exec", dont_inherit=True), found)
    cell = "# Parameters\n" + "".join(f"{name} = {value!r}\n" for name, value in injected.items() if value == value)
    return found | {"In": ["", CELL, cell] if injected else ["", CELL]} | injected


@pytest.mark.parametrize(("name", "value", "words"), BAD)
def test_a_chapter_refuses_what_the_command_refuses(name: str, value: Any, words: str, tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL, metadata={"tags": ["parameters"]})])
    nbformat.write(notebook, tmp_path / "c.ipynb")
    given = {name: value}
    command, chapter = (lambda: check_parameters(Chapter(tmp_path / "c.ipynb"), given)), (lambda: check_here(names(**given)))
    for check in (command, chapter):
        with pytest.raises((ChapterError, ValueError, RuntimeError), match=words):
            check()


def test_what_a_reader_assigns_later_is_no_parameter() -> None:
    found = names(gamma=1) | {"total": 3}
    found["In"].append("total = 3")
    check_here(found)
    assert found["gamma"] == 1.0
    assert isinstance(found["gamma"], float)


@drawn(st.dictionaries(st.sampled_from("abcdef"), st.integers() | st.text() | st.booleans() | st.floats(allow_nan=False)))
def test_values_come_back_as_they_were_written(values: dict[str, Any]) -> None:
    values = {name: value for name, value in values.items() if value not in (float("inf"), -float("inf"))}
    found = assigned("".join(f"{name} = {value!r}\n" for name, value in values.items()))
    assert found == values
    kinds = {name: type(value) for name, value in values.items()}
    assert checked("it", kinds, found) == values


@pytest.mark.parametrize("chapter", [c for c in chapters() if c.defaults()], ids=lambda c: c.name)
def test_every_chapter_with_parameters_checks_them_first(chapter: Chapter) -> None:
    cells = nbformat.read(chapter.path, as_version=4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    assert "check_parameters(globals())" in code[1]


def test_papermill_fails_with_the_sentence(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "language": "python", "display_name": "p"}})
    check = "from lib.book.parameters import check_parameters\ncheck_parameters(globals())"
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in (CELL, check)]
    notebook.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(notebook, tmp_path / "c.ipynb")
    run: Callable[[dict[str, Any]], Any] = lambda given: papermill.execute_notebook(
        str(tmp_path / "c.ipynb"), str(tmp_path / "out.ipynb"), given, progress_bar=False
    )
    run({"gamma": 0.5})
    with pytest.raises(PapermillExecutionError, match="this chapter has no parameter 'gama': use profile, device, seed, gamma"):
        run({"gama": 0.5})


def test_chapter_2_tells_the_rates_that_are_accepted() -> None:
    (chapter,) = (c for c in chapters() if c.name == "02-phase-diagram")
    comment = re.search(r"^gamma: float = .*# (.*)$", nbformat.read(chapter.path, as_version=4).cells[1].source, re.MULTILINE)
    assert comment
    assert comment[1].endswith(f": any finite number from -{MAX_GAMMA} to {MAX_GAMMA}")
