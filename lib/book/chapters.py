"""Chapters: find them, check what a reader passes to them, execute them with papermill, keep what succeeded.

papermill accepts unknown parameters, records only overrides, and leaves a traceback in the notebook that the book would then
publish. Here an unknown parameter is refused, all effective parameters are recorded, and a notebook replaces the former one
only after every cell has run.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from lib.book import provenance
from lib.book.parameters import ParameterError, assigned, checked
from lib.book.paths import BOOK, READS_VARIABLE, STORE_VARIABLE, default_store
from lib.book.provenance import LIVE, RECORD, make_record, read_results
from lib.core.record.files import reason
from lib.core.record.store import Store

if TYPE_CHECKING:  # nbformat and papermill take two seconds to import, which the kernels of chapters need not wait for
    import nbformat


class ChapterError(RuntimeError):
    """A chapter that does not exist, a parameter it does not have, or a run that failed; the message says what to do."""


_RUNNING = ".running-"
"""Begins the name of the folder that an execution works in, beside its output; its lock is held meanwhile."""
_LOCK = "lock"


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """Raises ChapterError, naming the file, for what is no notebook."""
    import nbformat

    with _no_notebook(path):  # nbformat raises what it likes: JSON's errors, its own, AttributeError, KeyError
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        return notebook


def cells_of(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook, each with its source as one text, read as they are. Raises ChapterError as `read_notebook`."""
    with _no_notebook(path):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return [cell | {"source": "".join(cell["source"])} for cell in cells]


@contextlib.contextmanager
def _no_notebook(path: Path) -> Iterator[None]:
    """Whatever reading raises is ChapterError, naming the file."""
    try:
        yield
    except OSError as error:
        raise ChapterError(f"{path} cannot be read: {reason(error)}.") from None
    except Exception:
        raise ChapterError(
            f"{path} is truncated or no notebook: get it back with git checkout, or from where it came."
        ) from None


@dataclass(frozen=True)
class Chapter:
    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    def title(self) -> str:
        """The first heading, without its mark."""
        words = (cell["source"] for cell in cells_of(self.path) if cell["cell_type"] == "markdown")
        lines = (line for text in words for line in text.splitlines())
        return next((line.lstrip("# ") for line in lines if line.startswith("# ")), self.name)

    def parameter_cell(self) -> str:
        """The source of the cell tagged `parameters`; empty if there is none."""
        tags = lambda cell: cell.get("metadata", {}).get("tags", [])
        return next((cell["source"] for cell in cells_of(self.path) if "parameters" in tags(cell)), "")

    def defaults(self) -> dict[str, Any]:
        """The chapter's parameters and their defaults, in order."""
        try:
            return assigned(self.parameter_cell())
        except (SyntaxError, ValueError):
            raise ChapterError(f"{self.path}: its parameters cell is not plain assignments of values: mend it.") from None


def chapters(folder: Path = BOOK) -> list[Chapter]:
    return [Chapter(path) for path in sorted(folder.glob("*.ipynb"))]


def find(name: str, folder: Path = BOOK) -> Chapter:
    """The chapter with this name, number or file. Raises ChapterError, listing the chapters, if there is none or several."""
    stem = Path(name).stem
    if Path(name).name != name and Path(name).resolve() not in [c.path.resolve() for c in chapters(folder)]:
        raise ChapterError(f"{name} is no chapter of the book: use a name, or a number, or a file in {folder}.")
    found = [c for c in chapters(folder) if c.name == stem] or [c for c in chapters(folder) if c.name.startswith(stem)]
    if len(found) != 1:
        names = ", ".join(c.name for c in chapters(folder))
        raise ChapterError(f"{'no' if not found else 'more than one'} chapter is called {name!r}: use one of {names}.")
    return found[0]


def check_parameters(chapter: Chapter, given: Mapping[str, Any]) -> dict[str, Any]:
    """Given parameters in the types of their defaults. Raises ChapterError for an unknown name or a value of another type."""
    kinds = {name: type(value) for name, value in chapter.defaults().items()}
    try:
        return checked(f"chapter {chapter.name}", kinds, given)
    except ParameterError as error:
        raise ChapterError(str(error)) from None


def parse_parameters(chapter: Chapter, words: Mapping[str, str]) -> dict[str, Any]:
    """Words from a command line as values of the parameters' types. Raises ChapterError as check_parameters does."""
    defaults = chapter.defaults()
    values: dict[str, Any] = {}
    for name, word in words.items():
        kind = type(defaults.get(name))
        try:
            values[name] = (
                kind(word) if kind in (int, float) else {"True": True, "False": False}[word] if kind is bool else word
            )
        except (ValueError, KeyError):
            values[name] = word  # of the wrong type: check_parameters says so
    return check_parameters(chapter, values)


def tidy(
    notebook: nbformat.NotebookNode,
    parameters: Mapping[str, Any],
    results: Mapping[str, Any] | None = None,
    files: str | None = None,
) -> nbformat.NotebookNode:
    """Drop what differs from run to run (times, paths, live widgets); record parameters, code, results and outputs."""
    for key in ("papermill", "widgets"):
        notebook.metadata.pop(key, None)
    notebook.metadata.pop(RECORD, None)
    notebook.metadata.pop("language_info", None)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if not cell.metadata.get("tags", True):
            cell.metadata.pop("tags")
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not _is_chatter(output)]
            for output in cell.outputs:
                output.get("data", {}).pop(LIVE, None)  # of a kernel that is gone
    notebook.metadata[RECORD] = make_record(notebook, parameters, results or {}, files=files)
    return notebook


def _is_chatter(output: nbformat.NotebookNode) -> bool:
    """Progress bars and other words on stderr: of use while a cell runs, not in the book."""
    return output.get("output_type") == "stream" and output.get("name") == "stderr"


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    former = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in former.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _of_papermill(cell: nbformat.NotebookNode) -> bool:
    """A cell that papermill put there: parameters, or where an error was."""
    return any(tag == "injected-parameters" or tag.startswith("papermill-error") for tag in cell.metadata.get("tags", []))


def check_output(output: Path) -> None:
    """Raise ChapterError unless an executed notebook may be put there: an .ipynb, new or a plain file, not one of the book."""
    if output.suffix != ".ipynb" or not output.stem.strip("."):
        raise ChapterError(f"the executed chapter is a notebook: give {output} a name that ends in .ipynb.")
    if os.path.lexists(output) and not output.is_file():
        raise ChapterError(f"{output} is there and is no file that a notebook could replace: choose another name.")
    if output.resolve().parent == BOOK.resolve():
        raise ChapterError(
            f"{output} would take the place of a page of the book: choose another folder (`build` executes those)."
        )


@contextlib.contextmanager
def _workplace(parent: Path) -> Iterator[Path]:
    """A temporary folder in `parent`. What executions that were killed left there goes: nobody holds its lock."""
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(f"{_RUNNING}*"):
        with contextlib.suppress(OSError, Timeout):
            if left.stat().st_mtime < time.time() - 60:  # a younger one may be about to take its lock
                with FileLock(left / _LOCK, timeout=0):
                    shutil.rmtree(left)
    with tempfile.TemporaryDirectory(dir=parent, prefix=_RUNNING) as folder, FileLock(Path(folder) / _LOCK):
        yield Path(folder)


def execute(chapter: Chapter, given: Mapping[str, Any], output: Path, progress: bool = True) -> Path:
    """Run a chapter and put the executed notebook at `output`, which is untouched unless every cell succeeded.

    Raises ChapterError for bad parameters, for a failing cell, with that cell's error in one line, for a kernel that died, and
    for a place that cannot be written.
    """
    effective = check_parameters(chapter, given)
    try:
        return _execute(chapter, effective, output, progress)
    except OSError as error:
        place = error.filename or output
        raise ChapterError(
            f"chapter {chapter.name} was not executed: {place}: {reason(error)}. The former notebook was kept."
        ) from None


def _execute(chapter: Chapter, effective: Mapping[str, Any], output: Path, progress: bool) -> Path:
    import nbformat
    import papermill
    from nbclient.exceptions import DeadKernelError

    with _workplace(output.parent) as folder:
        temporary, reads, given_to = (folder / name for name in (output.name, "reads.txt", "input.ipynb"))
        notebook = read_notebook(chapter.path)
        notebook.cells = [c for c in notebook.cells if not _of_papermill(c)]  # of an earlier execution by papermill alone
        nbformat.write(notebook, given_to)
        files = provenance.files_digest(notebook)
        try:
            # The kernel works in the chapter's folder, so the store's must not depend on that. It takes one thread for PyTorch:
            # several wait for each other in small products, many times longer once the cores have other work.
            told = {READS_VARIABLE: str(reads.absolute()), STORE_VARIABLE: str(default_store().root.absolute())}
            with _environment(told | {"OMP_NUM_THREADS": "1"}):
                papermill.execute_notebook(
                    str(given_to),
                    str(temporary),
                    parameters=effective,
                    cwd=str(chapter.path.parent),
                    progress_bar=progress,
                    extra_arguments=["--IPKernelApp.log_level=ERROR"],
                )
        except papermill.PapermillExecutionError as error:
            raise ChapterError(
                f"chapter {chapter.name} failed in cell {error.cell_index}: {error.ename}: {error.evalue} "
                "The former notebook was kept."
            ) from None
        except DeadKernelError:
            raise ChapterError(
                f"chapter {chapter.name} failed: its kernel died, perhaps killed for want of memory. Results that it had "
                "stored are safe. The former notebook was kept."
            ) from None
        notebook = read_notebook(temporary)
        tidy(notebook, chapter.defaults() | dict(effective), read_results(reads, default_store()), files)
        nbformat.write(notebook, temporary)
        os.replace(temporary, output)
    return output


def stale(chapter: Chapter, store: Store | None = None) -> list[str]:
    """Why a chapter may not show what it would show now; empty if it is fresh (lib.book.provenance.stale)."""
    notebook = read_notebook(chapter.path)
    return provenance.stale(notebook, chapter.defaults(), store or default_store())


def record(chapter: Chapter) -> dict[str, Any]:
    """What its last execution recorded; empty if there is none."""
    return dict(read_notebook(chapter.path).metadata.get(RECORD, {}))


def broken_cells(path: Path) -> list[int]:
    """Numbers of cells that hold an error: papermill's tag, or an error output. The book must not publish these."""
    notebook = read_notebook(path)
    return [
        index
        for index, cell in enumerate(notebook.cells)
        if any(tag.startswith("papermill-error") for tag in cell.metadata.get("tags", []))
        or any(output.output_type == "error" for output in cell.get("outputs", []))
    ]
