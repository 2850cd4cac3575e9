"""Build the book: execute the chapters that are stale, tell what failed, let Jupyter Book make the pages."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent import futures
from pathlib import Path
from statistics import mean

import yaml

from lib.book import chapters
from lib.book.generated import write_all
from lib.book.paths import BOOK, ROOT, default_store
from lib.book.recall import BUILD
from lib.core.train.machine import cores

TIMED = ROOT / "benchmarks" / "chapters.json"
"""Seconds that each chapter took."""
FAILED = BUILD / "failed.json"
"""Chapters whose last execution failed, {name: why}: their pages say so until an execution succeeds."""


class BuildError(RuntimeError):
    """The book was not built, or not as it should be; the message says which chapter or page is to blame."""


def render(output: Path) -> Path:
    """Let Jupyter Book make the pages from the notebooks as they are, under output/_build. Returns the first page.

    Raises BuildError, with the last words of Jupyter Book, for any warning.
    """
    write_all(default_store())
    program = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"  # it has no __main__ of its own
    command = [sys.executable, "-c", program, "build", str(ROOT), "--path-output", str(output)]
    # --all: whether a page is stale does not depend on the page alone
    done = subprocess.run([*command, "-W", "--keep-going", "-q", "--all"], cwd=ROOT, capture_output=True, text=True)
    page = output / "_build" / "html" / "index.html"
    if done.returncode or not page.exists():
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise BuildError(f"Jupyter Book did not build the pages; its last words were:\n{tail}")
    return page


def failures() -> dict[str, str]:
    """What the last build that executed chapters left in FAILED."""
    try:
        return dict(json.loads(FAILED.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def missing() -> list[str]:
    """Chapters of the table of contents that are not there, and notebooks that it does not name."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    named = {Path(entry["file"]).name for part in toc["parts"] for entry in part["chapters"]}
    there = {path.stem for path in BOOK.glob("*.ipynb")}
    pages = {path.stem for path in BOOK.glob("*.md")}
    return [f"{name} is in _toc.yml but not in book/" for name in sorted(named - there - pages)] + [
        f"{name} is in book/ but not in _toc.yml" for name in sorted(there - named)
    ]


def _expected(chosen: Sequence[chapters.Chapter]) -> float:
    """Seconds on one core for chapters, as they were timed; one that never was takes as long as the mean of the others."""
    timed = json.loads(TIMED.read_text(encoding="utf-8"))["seconds"]
    return sum(timed.get(chapter.name, mean(timed.values())) for chapter in chosen)


def _minutes(seconds: float) -> str:
    return f"about {max(1, round(seconds / 60))} min"


def execute_all(chosen: Sequence[chapters.Chapter]) -> dict[str, str]:
    """Execute chapters, as many at once as there are cores, and tell how far it is. Returns {name: why} of the failed ones."""
    failed: dict[str, str] = {}
    processes = max(1, min(cores(), len(chosen)))
    if chosen:
        print(
            f"executing {', '.join(chapter.name for chapter in chosen)}: {_minutes(_expected(chosen) / processes)}", flush=True
        )
    began = time.monotonic()
    with _workers(processes) as pool:
        started = {pool.submit(_execute, chapter): chapter for chapter in chosen}
        for done, future in enumerate(futures.as_completed(started), 1):
            name, why = started[future].name, future.result()
            left = (time.monotonic() - began) / done * (len(started) - done)
            told = f" ({done} of {len(started)}, {_minutes(left)} left)" if done < len(started) else ""
            print(f"{'executed' if why is None else 'failed'} {name}{told}", flush=True)
            if why is not None:
                failed[name] = why
    return dict(sorted(failed.items()))


def _workers(processes: int) -> futures.ProcessPoolExecutor:
    """Processes of their own, since what a kernel is told goes through the environment. On Linux they are forked from a server
    that has imported what takes seconds; it keeps the environment that it began with, so they are given ours. Elsewhere a fork
    may crash in the system's own libraries."""
    forks = sys.platform == "linux"
    context = multiprocessing.get_context("forkserver" if forks else "spawn")
    if forks:
        context.set_forkserver_preload(["lib.book.forks"])
    return futures.ProcessPoolExecutor(processes, context, _begin, (dict(os.environ),))


def _begin(environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


def _execute(chapter: chapters.Chapter) -> str | None:
    """Why the chapter failed, or None."""
    import lib.book.registry  # noqa: F401 (so that results of every kind can be read)

    try:
        chapters.execute(chapter, {}, chapter.path, progress=False)
    except chapters.ChapterError as error:
        return str(error)
    return None


def outdated() -> list[str]:
    """A sentence for every chapter that may not show what it would show now, that is missing, or that nothing names."""
    stale = {chapter.name: chapters.stale(chapter) for chapter in chapters.chapters()}
    return [f"stale: {name}: {'; '.join(why)}" for name, why in stale.items() if why] + missing()


def check() -> None:
    """Raises BuildError, naming them, where chapters have to be executed again. Makes no pages."""
    if lines := outdated():
        raise BuildError("\n".join(["these chapters have to be executed again (python -m lib build):", *lines]))


def build(execute: bool = True, strict: bool = False, everything: bool = False) -> Path:
    """Returns the path of the first page. Executed are the chapters that are stale or failed the last time, or `everything`.
    A chapter that fails keeps its former notebook, and its page says so.

    Raises BuildError: without pages where a notebook holds an error; after making them where a chapter failed, and, if
    `strict`, where one is stale or missing.
    """
    if execute:
        before = failures()
        chosen = [c for c in chapters.chapters() if everything or c.name in before or chapters.stale(c)]
        failed = execute_all(chosen)
        BUILD.mkdir(exist_ok=True)
        FAILED.write_text(json.dumps(failed), encoding="utf-8")
    for chapter in chapters.chapters():
        if broken := chapters.broken_cells(chapter.path):
            raise BuildError(f"chapter {chapter.name} holds an error in cell {broken[0]}: mend it and execute it again.")
    problems = [f"failed: {why}" for why in failures().values()]
    old = outdated()
    print("making the pages", flush=True)
    page = render(ROOT)
    if problems or (strict and old):
        raise BuildError(f"the pages are at {page}, but\n" + "\n".join(problems + old))
    for line in old:
        print(f"warning: {line}", file=sys.stderr)
    return page
