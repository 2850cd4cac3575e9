"""Chapters under papermill: each trains for real into a temporary store; what fails leaves the former notebook alone."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from filelock import FileLock

from lib.book import chapters
from lib.book.chapters import RECORD, Chapter, ChapterError, broken_cells, check_parameters, execute, tidy
from lib.book.paths import BOOK, ROOT, STORE_VARIABLE
from lib.composition.experiments import FAST
from lib.core.record.store import Store

ALL = chapters.chapters()


def write(path: Path, *sources: str, parameters: str = "n: int = 1\nname: str = 'a'") -> Chapter:
    """A small notebook as a chapter: a cell of parameters, then the sources."""
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "language": "python", "display_name": "p"}})
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in (parameters, *sources)]
    notebook.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(notebook, path)
    return Chapter(path)


@pytest.mark.parametrize("chapter", ALL, ids=lambda c: c.name)
def test_smoke_run(chapter: Chapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every chapter runs from an empty store at the smoke profile, and trains what it shows."""
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    given = {"profile": "smoke"} if "profile" in chapter.defaults() else {}
    output = execute(chapter, given, tmp_path / "out.ipynb", progress=False)
    notebook = nbformat.read(output, as_version=4)
    assert broken_cells(output) == []
    assert notebook.metadata[RECORD]["parameters"] == chapter.defaults() | given
    if "FAST.obtain" in chapter.path.read_text():
        store = Store(tmp_path / "store")
        assert all(store.get(spec) is not None for spec in FAST.specs("smoke"))


@pytest.mark.parametrize("chapter", ALL, ids=lambda c: c.name)
def test_committed_chapter_is_complete(chapter: Chapter) -> None:
    """The published notebook has all outputs, no error, no chatter of papermill, a language, and parameters with types."""
    notebook = nbformat.read(chapter.path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) <= 25
    assert broken_cells(chapter.path) == []
    assert notebook.metadata.kernelspec.language == "python"
    assert "papermill" not in notebook.metadata
    assert chapters.stale(chapter) == [], "execute it again: python -m lib build"
    assert [c.execution_count for c in code] == list(range(1, len(code) + 1))
    if chapter.name[0].isdigit():  # the pages beside the numbered chapters train nothing
        assert {"profile", "device", "seed"} <= set(chapter.defaults())
    for cell in code:
        figures = [o for o in cell.outputs if "image/png" in o.get("data", {})]
        lines = [o for o in cell.outputs if o.output_type == "stream"]
        assert len(figures) <= len(lines)  # every figure's cell prints a summary line


def test_papermill_alone_runs_a_chapter_from_any_folder(tmp_path: Path) -> None:
    source = next(c.path for c in ALL if c.name == "ten-minutes")
    subprocess.run(
        [sys.executable, "-m", "papermill", str(source), "out.ipynb", "-p", "seed", "3", "--no-progress-bar"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    assert broken_cells(tmp_path / "out.ipynb") == []


def test_failing_chapter_keeps_the_former_notebook(tmp_path: Path) -> None:
    chapter = write(tmp_path / "bad.ipynb", "raise ValueError('gone wrong')")
    output = tmp_path / "out.ipynb"
    output.write_text("former")
    with pytest.raises(ChapterError, match=r"bad failed in cell .*ValueError: gone wrong"):
        execute(chapter, {}, output, progress=False)
    assert output.read_text() == "former"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.ipynb", "out.ipynb"]


def test_a_chapter_whose_kernel_dies_is_named_and_keeps_the_former_notebook(tmp_path: Path) -> None:
    chapter = write(tmp_path / "dies.ipynb", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    output = tmp_path / "out.ipynb"
    output.write_text("former")
    with pytest.raises(ChapterError, match=r"^chapter dies failed: its kernel died, .* The former notebook was kept\.$"):
        execute(chapter, {}, output, progress=False)
    assert output.read_text() == "former"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chapter = write(tmp_path / "full.ipynb", "1")
    (tmp_path / "file").write_text("")
    with pytest.raises(ChapterError, match=f"^chapter full was not executed: {tmp_path / 'file'}.*former notebook was kept"):
        execute(chapter, {}, tmp_path / "file" / "out.ipynb", progress=False)

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("papermill.execute_notebook", full)
    with pytest.raises(ChapterError, match=f"^chapter full was not executed: {tmp_path / 'out.ipynb'}: the disk is full"):
        execute(chapter, {}, tmp_path / "out.ipynb", progress=False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "full.ipynb"]


DAMAGED = [
    "",
    "{}",
    '{"cells": [',
    "null",
    "[]",
    '{"cells": [{}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "\udcff",
]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_chapter_is_named(tmp_path: Path, text: str) -> None:
    chapter = write(tmp_path / "cut.ipynb", "1")
    chapter.path.write_text(text, errors="surrogateescape")
    asks = (chapter.title, chapter.defaults, lambda: broken_cells(chapter.path), lambda: chapters.stale(chapter))
    for ask in (*asks, lambda: execute(chapter, {}, tmp_path / "out.ipynb")):
        with pytest.raises(ChapterError, match=f"^{chapter.path} is truncated or no notebook: "):
            ask()


@pytest.mark.parametrize("cell", ["n: int = (1", "seed: int = 1 + 1", "n: int = \0 1", "n = f()"])
def test_a_parameters_cell_that_is_none_is_named(tmp_path: Path, cell: str) -> None:
    chapter = write(tmp_path / "odd.ipynb", "1", parameters=cell)
    for ask in (chapter.defaults, lambda: check_parameters(chapter, {"n": 1}), lambda: chapters.stale(chapter)):
        with pytest.raises(ChapterError, match=f"^{chapter.path}: its parameters cell is not plain assignments of values"):
            ask()


def test_what_a_killed_execution_left_goes_with_the_next(tmp_path: Path) -> None:
    """But not the folder of one that is at work, nor one so young that it may be about to be."""
    chapter, folder = write(tmp_path / "c.ipynb", "1"), tmp_path / "out"
    left, busy, young = (folder / f".running-{name}" for name in ("left", "busy", "young"))
    for place in (left, busy, young):
        place.mkdir(parents=True)
        (place / "input.ipynb").write_text("{}")
        (place / "lock").write_text("")
        if place is not young:
            os.utime(place, (0, 0))
    with FileLock(busy / "lock"):
        execute(chapter, {}, folder / "out.ipynb", progress=False)
    assert sorted(p.name for p in folder.iterdir()) == [".running-busy", ".running-young", "out.ipynb"]


def test_an_execution_at_work_holds_its_lock(tmp_path: Path) -> None:
    source = (
        "from filelock import FileLock, Timeout\nimport pathlib\nplaces = list(pathlib.Path('.').glob('.running-*/lock'))\n"
    )
    source += "try:\n    FileLock(places[0], timeout=0).acquire()\nexcept Timeout:\n    print(len(places), 'held')"
    output = execute(write(tmp_path / "c.ipynb", source), {}, tmp_path / "out.ipynb", progress=False)
    assert "1 held" in output.read_text()


def test_parameters_are_checked_and_recorded(tmp_path: Path) -> None:
    chapter = write(tmp_path / "good.ipynb", "print(n, name)")
    with pytest.raises(ChapterError, match="no parameter 'm': use n, name"):
        check_parameters(chapter, {"m": 2})
    with pytest.raises(ChapterError, match="must be of type int"):
        check_parameters(chapter, {"n": True})
    output = execute(chapter, {"n": 5}, tmp_path / "out.ipynb", progress=False)
    notebook = nbformat.read(output, as_version=4)
    assert notebook.metadata[RECORD]["parameters"] == {"n": 5, "name": "a"}
    assert any("5 a" in o.get("text", "") for c in notebook.cells for o in c.get("outputs", []))


def test_executing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    chapter = write(tmp_path / "same.ipynb", "print(n)")
    first = execute(chapter, {}, tmp_path / "a.ipynb", progress=False).read_bytes()
    assert execute(chapter, {}, tmp_path / "b.ipynb", progress=False).read_bytes() == first


def test_error_outputs_are_found(tmp_path: Path) -> None:
    chapter = write(tmp_path / "c.ipynb", "1")
    notebook = nbformat.read(chapter.path, as_version=4)
    notebook.cells[1].outputs = [nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])]
    nbformat.write(notebook, chapter.path)
    assert broken_cells(chapter.path) == [1]


def test_tidy_drops_what_differs_from_run_to_run(tmp_path: Path) -> None:
    notebook = nbformat.read(write(tmp_path / "t.ipynb", "1").path, as_version=4)
    notebook.metadata["widgets"] = {"state": {}}
    notebook.cells[1].metadata["papermill"] = {"duration": 1.0}
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", name="stderr", text="50%|####")]
    tidy(notebook, {"n": 1})
    assert "widgets" not in notebook.metadata
    assert "papermill" not in notebook.cells[1].metadata
    assert notebook.cells[1].outputs == []


def test_the_table_of_contents_names_every_chapter() -> None:
    toc = (ROOT / "_toc.yml").read_text()
    for chapter in ALL:
        assert f"book/{chapter.name}" in toc
    assert (BOOK / "intro.md").exists()
