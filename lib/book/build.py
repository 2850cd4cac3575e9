"""Build the book: execute every chapter, refuse to publish a broken one, let Jupyter Book make the pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lib.book import chapters
from lib.book.headline import write_headline
from lib.book.paths import BOOK, ROOT, default_store


class BuildError(RuntimeError):
    """The book was not built; the message says which chapter or page is to blame."""


def render(output: Path) -> Path:
    """Let Jupyter Book make the pages from the notebooks as they are, under output/_build. Returns the first page.

    Raises BuildError, with the last words of Jupyter Book, for any warning.
    """
    program = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"  # it has no __main__ of its own
    command = [sys.executable, "-c", program, "build", str(ROOT), "--path-output", str(output)]
    done = subprocess.run([*command, "-W", "--keep-going", "-q"], cwd=ROOT, capture_output=True, text=True)
    page = output / "_build" / "html" / "index.html"
    if done.returncode or not page.exists():
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise BuildError(f"Jupyter Book did not build the pages; its last words were:\n{tail}")
    return page


def build(execute: bool = True) -> Path:
    """Returns the path of the first page. Raises BuildError or ChapterError; a failing chapter keeps its former notebook."""
    for chapter in chapters.chapters():
        if execute:
            print(f"executing {chapter.name}", flush=True)
            chapters.execute(chapter, {}, chapter.path)
        if broken := chapters.broken_cells(chapter.path):
            raise BuildError(f"chapter {chapter.name} holds an error in cell {broken[0]}: mend it and execute it again.")
    write_headline(default_store(), BOOK)
    return render(ROOT)
