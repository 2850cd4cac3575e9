"""The build: what fails or is stale is told, strictly or not, and never published as if nothing were wrong."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from test_chapters import write

from lib.book import build, chapters
from lib.book.build import BuildError
from lib.book.chapters import Chapter
from lib.book.paths import STORE_VARIABLE


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Chapter]:
    """Two small chapters in place of the book's; pages are not made, and the list of contents is left out."""
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    found = [write(tmp_path / f"{name}.ipynb", "print(n)") for name in ("01-one", "02-two")]
    monkeypatch.setattr(chapters, "chapters", lambda: found)
    monkeypatch.setattr(build, "render", lambda output: tmp_path / "index.html")
    monkeypatch.setattr(build, "missing", list)
    monkeypatch.setattr(build, "BUILD", tmp_path)
    monkeypatch.setattr(build, "FAILED", tmp_path / "failed.json")
    return found


def test_executed_chapters_pass_the_strict_build(book: list[Chapter]) -> None:
    build.build(strict=True)
    assert [chapters.stale(chapter) for chapter in book] == [[], []]
    build.build(execute=False, strict=True)
    assert build.failures() == {}


def test_a_stale_chapter_warns_and_fails_the_strict_build_alone(
    book: list[Chapter], capsys: pytest.CaptureFixture[str]
) -> None:
    build.build()
    notebook = nbformat.read(book[1].path, as_version=4)
    notebook.cells[1].source = "print(n + 1)"
    nbformat.write(notebook, book[1].path)
    capsys.readouterr()
    build.build(execute=False)
    assert "stale: 02-two: its code" in capsys.readouterr().err
    with pytest.raises(BuildError, match=r"(?s)index\.html, but\nstale: 02-two: its code.*has changed"):
        build.build(execute=False, strict=True)
    with pytest.raises(BuildError, match=r"executed again \(python -m lib build\):\nstale: 02-two: its code"):
        build.check()
    build.build(strict=True)  # executing it again mends it
    build.check()


def test_a_failing_chapter_keeps_its_notebook_and_fails_the_build_until_it_succeeds(book: list[Chapter]) -> None:
    build.build()
    good = book[0].path.read_text()
    book[0].path.write_text(good.replace("print(n)", "raise ValueError('gone wrong')"))
    broken = book[0].path.read_text()
    with pytest.raises(BuildError, match=r"failed: chapter 01-one failed in cell .*gone wrong"):
        build.build()
    assert book[0].path.read_text() == broken
    assert "gone wrong" in build.failures()["01-one"]
    with pytest.raises(BuildError, match="gone wrong"):  # nothing was executed since, so it is still true
        build.build(execute=False)
    assert chapters.stale(book[1]) == []
    book[0].path.write_text(good)
    build.build(strict=True)
    assert build.failures() == {}


def test_only_what_is_stale_is_executed(book: list[Chapter]) -> None:
    build.build()
    written = [chapter.path.stat().st_mtime_ns for chapter in book]
    build.build(strict=True)
    assert [chapter.path.stat().st_mtime_ns for chapter in book] == written  # a build changes nothing that is fresh
    notebook = nbformat.read(book[1].path, as_version=4)
    notebook.cells[1].source = "print(n + 1)"
    nbformat.write(notebook, book[1].path)
    build.build(strict=True)
    assert book[0].path.stat().st_mtime_ns == written[0]
    assert nbformat.read(book[1].path, as_version=4).cells[1].outputs[0].text == "2\n"
    build.build(everything=True)
    assert book[0].path.stat().st_mtime_ns > written[0]


def test_chapters_are_told_the_environment_of_the_build(book: list[Chapter], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also that of a later one in the same process."""
    book[0].path.write_text(book[0].path.read_text().replace("print(n)", "import os; print(os.environ['TOLD'])"))
    for told in ("one", "two"):
        monkeypatch.setenv("TOLD", told)
        assert build.execute_all(book[:1]) == {}
        assert nbformat.read(book[0].path, as_version=4).cells[1].outputs[0].text == f"{told}\n"


def test_kernels_take_one_thread(book: list[Chapter]) -> None:
    book[0].path.write_text(book[0].path.read_text().replace("print(n)", "import torch; print(torch.get_num_threads())"))
    build.build()
    assert nbformat.read(book[0].path, as_version=4).cells[1].outputs[0].text == "1\n"


def test_a_dead_kernel_fails_its_chapter_alone(book: list[Chapter]) -> None:
    book[0].path.write_text(book[0].path.read_text().replace("print(n)", "import os; os.kill(os.getpid(), 9)"))
    with pytest.raises(BuildError, match=r"failed: chapter 01-one failed: its kernel died"):
        build.build()
    assert chapters.stale(book[1]) == []


def test_a_missing_chapter_fails_the_strict_build(book: list[Chapter], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "missing", lambda: ["03-three is in _toc.yml but not in book/"])
    build.build()
    with pytest.raises(BuildError, match="03-three is in _toc"):
        build.build(strict=True)


def test_an_error_in_a_notebook_is_never_published(book: list[Chapter], monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = nbformat.read(book[0].path, as_version=4)
    notebook.cells[1].outputs = [nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])]
    nbformat.write(notebook, book[0].path)
    monkeypatch.setattr(build, "render", lambda output: pytest.fail("pages were made"))
    with pytest.raises(BuildError, match="01-one holds an error in cell 1"):
        build.build(execute=False)


def test_a_damaged_list_of_failures_is_no_list(book: list[Chapter]) -> None:
    for text in ("", "{", "[1]", "null", "3"):
        build.FAILED.write_text(text)
        assert build.failures() == {}
