"""The build: what fails or is stale is told, strictly or not, and never published as if nothing were wrong."""

from __future__ import annotations

import shutil
from concurrent import futures
from pathlib import Path

import nbformat
import pytest
from test_chapters import write

from lib.book import build, chapters
from lib.book.build import BuildError
from lib.book.chapters import Chapter
from lib.book.paths import STORE_VARIABLE


def planted(place: Path, patch: pytest.MonkeyPatch) -> list[Chapter]:
    """Two small chapters in place of the book's; pages are not made, and the list of contents is left out."""
    patch.setenv(STORE_VARIABLE, str(place / "store"))
    found = [write(place / f"{name}.ipynb", "print(n)") for name in ("01-one", "02-two")]
    patch.setattr(chapters, "chapters", lambda: found)
    patch.setattr(build, "render", lambda output: place / "index.html")
    patch.setattr(build, "missing", list)
    patch.setattr(build, "BUILD", place)
    patch.setattr(build, "FAILED", place / "failed.json")
    patch.setattr(build, "TIMED", place / "timed.json")
    build.TIMED.write_text('{"seconds": {"01-one": 1}}')
    return found


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Chapter]:
    """Two chapters that nobody has executed."""
    return planted(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The two chapters after a strict build, which is made once."""
    with pytest.MonkeyPatch.context() as patch:
        found = planted(tmp_path_factory.mktemp("executed"), patch)
        build.build(strict=True)
        return [chapter.path for chapter in found]


@pytest.fixture
def built(book: list[Chapter], executed: list[Path]) -> list[Chapter]:
    """Copies of the two that a build has executed."""
    for chapter, path in zip(book, executed, strict=True):
        shutil.copy(path, chapter.path)
    return book


def test_executed_chapters_pass_the_strict_build(built: list[Chapter]) -> None:
    assert [chapters.stale(chapter) for chapter in built] == [[], []]
    build.build(execute=False, strict=True)
    assert build.failures() == {}


def test_a_stale_chapter_warns_and_fails_the_strict_build_alone(
    built: list[Chapter], capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = nbformat.read(built[1].path, as_version=4)
    notebook.cells[1].source = "print(n + 1)"
    nbformat.write(notebook, built[1].path)
    capsys.readouterr()
    build.build(execute=False)
    assert "stale: 02-two: its code" in capsys.readouterr().err
    with pytest.raises(BuildError, match=r"(?s)index\.html, but\nstale: 02-two: its code.*has changed"):
        build.build(execute=False, strict=True)
    with pytest.raises(BuildError, match=r"executed again \(python -m lib build\):\nstale: 02-two: its code"):
        build.check()
    build.build(strict=True)  # executing it again mends it
    build.check()


def test_a_failing_chapter_keeps_its_notebook_and_fails_the_build_until_it_succeeds(built: list[Chapter]) -> None:
    good = built[0].path.read_text()
    built[0].path.write_text(good.replace("print(n)", "raise ValueError('gone wrong')"))
    broken = built[0].path.read_text()
    with pytest.raises(BuildError, match=r"failed: chapter 01-one failed in cell .*gone wrong"):
        build.build()
    assert built[0].path.read_text() == broken
    assert "gone wrong" in build.failures()["01-one"]
    with pytest.raises(BuildError, match="gone wrong"):  # nothing was executed since, so it is still true
        build.build(execute=False)
    assert chapters.stale(built[1]) == []
    built[0].path.write_text(good)
    build.build(strict=True)
    assert build.failures() == {}


def test_only_what_is_stale_is_executed(built: list[Chapter]) -> None:
    written = [chapter.path.stat().st_mtime_ns for chapter in built]
    build.build(strict=True)
    assert [chapter.path.stat().st_mtime_ns for chapter in built] == written  # a build changes nothing that is fresh
    notebook = nbformat.read(built[1].path, as_version=4)
    notebook.cells[1].source = "print(n + 1)"
    nbformat.write(notebook, built[1].path)
    build.build(strict=True)
    assert built[0].path.stat().st_mtime_ns == written[0]
    assert nbformat.read(built[1].path, as_version=4).cells[1].outputs[0].text == "2\n"
    build.build(everything=True)
    assert built[0].path.stat().st_mtime_ns > written[0]


def test_how_far_it_is_is_told(
    book: list[Chapter], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    build.TIMED.write_text('{"seconds": {"01-one": 600}}')  # and nobody knows of the other
    monkeypatch.setattr(build, "cores", lambda: 1)
    monkeypatch.setattr(build, "_workers", futures.ThreadPoolExecutor)
    monkeypatch.setattr(build, "_execute", lambda chapter: None)
    build.execute_all(book)
    build.execute_all([])
    assert capsys.readouterr().out.splitlines() == [
        "executing 01-one, 02-two: about 20 min",
        "executed 01-one (1 of 2, about 1 min left)",
        "executed 02-two",
    ]


def test_chapters_are_told_the_environment_of_the_build(book: list[Chapter], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also that of a later one in the same process."""
    book[0].path.write_text(book[0].path.read_text().replace("print(n)", "import os; print(os.environ['TOLD'])"))
    for told in ("one", "two"):
        monkeypatch.setenv("TOLD", told)
        assert build.execute_all(book[:1]) == {}
        assert nbformat.read(book[0].path, as_version=4).cells[1].outputs[0].text == f"{told}\n"


def test_kernels_take_one_thread(built: list[Chapter]) -> None:
    built[0].path.write_text(built[0].path.read_text().replace("print(n)", "import torch; print(torch.get_num_threads())"))
    build.build()
    assert nbformat.read(built[0].path, as_version=4).cells[1].outputs[0].text == "1\n"


def test_a_dead_kernel_fails_its_chapter_alone(book: list[Chapter]) -> None:
    book[0].path.write_text(book[0].path.read_text().replace("print(n)", "import os; os.kill(os.getpid(), 9)"))
    with pytest.raises(BuildError, match=r"failed: chapter 01-one failed: its kernel died"):
        build.build()
    assert chapters.stale(book[1]) == []


@pytest.mark.usefixtures("built")
def test_a_missing_chapter_fails_the_strict_build(monkeypatch: pytest.MonkeyPatch) -> None:
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
