"""The book on paper: the built pages, printed by Chromium in the order of the table of contents, in one PDF with bookmarks.

Needs playwright and pypdf (requirements-test.txt), which the book itself does without.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import yaml

from lib.book.paths import ROOT
from lib.book.recall import BUILD
from lib.core.record.files import write_atomically

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_PLACE = re.compile(r'(<span id="rm-pdf">).*?(</span>)', re.DOTALL)
"""Where the first page has its link to the PDF, once there is one."""


class PrintError(RuntimeError):
    """The book could not be printed; the message says what to do."""


def find_chromium() -> str | None:
    """A Chromium of this machine, or the one that CHROMIUM names; None leaves the choice to playwright's own."""
    return os.environ.get("CHROMIUM") or next((path for name in _PROGRAMS if (path := shutil.which(name))), None)


def in_order(html: Path) -> list[Path]:
    """The pages of the table of contents. Raises PrintError where one is missing."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    names = [toc["root"], *(entry["file"] for part in toc["parts"] for entry in part["chapters"])]
    pages = [html / f"{name}.html" for name in names]
    if lacking := [page for page in pages if not page.exists()]:
        raise PrintError(f"{lacking[0]} is not there: build the book first (make book).")
    return pages


def print_book(output: Path | None = None, html: Path = BUILD / "html") -> Path:
    """Print the pages under `html`, and link the PDF from the first one if it lies beside them. Returns where it is.

    Raises PrintError where pages, packages or a browser are missing.
    """
    try:
        from playwright.sync_api import Error, sync_playwright
        from pypdf import PdfReader, PdfWriter
    except ImportError as error:
        raise PrintError(f"printing needs {error.name}: pip install -r requirements-test.txt.") from None
    pages, whole = in_order(html), PdfWriter()
    try:
        with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
            sheet = browser.new_context(offline=True, reduced_motion="reduce").new_page()
            for number, path in enumerate(pages):
                sheet.goto(path.as_uri(), wait_until="load")
                sheet.evaluate("() => document.fonts.ready.then(() => true)")
                printed = Path(folder) / f"{number}.pdf"
                edge: Any = dict.fromkeys(("top", "bottom", "left", "right"), "14mm")
                sheet.pdf(path=printed, format="A4", margin=edge, print_background=True, scale=0.85)
                title = sheet.title().split(" — ")[0]
                whole.append(PdfReader(io.BytesIO(printed.read_bytes())), outline_item=title)
    except Error as error:
        why = str(error).splitlines()[0]
        raise PrintError(f"no browser prints the pages ({why}): install Chromium, or set CHROMIUM.") from None
    whole.compress_identical_objects()
    output = output or html / "reason-or-memorize.pdf"
    data = io.BytesIO()
    whole.write(data)
    output.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(output, data.getvalue())
    if output.parent == html:
        link = f'<a href="../{output.name}">The whole book as a PDF</a>;'
        text = pages[0].read_text(encoding="utf-8")
        write_atomically(pages[0], _PLACE.sub(rf"\1{link}\2", text).encode())
    return output
