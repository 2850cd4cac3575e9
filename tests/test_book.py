"""The rendered book: it builds without a warning, and its pages need nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from lib.book.paths import ROOT

# What a browser fetches when it opens a page. Links that a reader may follow are no requests.
_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*?\bsrc=["']([^"']+)"""
    r"""|<link\b(?=[^>]*\brel=["'](?:stylesheet|preload|icon|shortcut icon))[^>]*?\bhref=["']([^"']+)""",
    re.IGNORECASE,
)


def pages(html: Path) -> list[Path]:
    """The book's pages; _static holds templates of the theme besides."""
    return sorted(page for page in html.rglob("*.html") if "_static" not in page.parts)


def test_every_chapter_has_a_page(html: Path) -> None:
    names = {path.stem for path in pages(html)}
    assert {"index", "intro", "references"} <= names
    assert {path.stem for path in (ROOT / "book").glob("*.ipynb")} <= names


def test_pages_fetch_nothing_from_elsewhere(html: Path) -> None:
    found = 0
    for page in pages(html):
        for match in _FETCHED.finditer(page.read_text(encoding="utf-8")):
            address = match[1] or match[2]
            found += 1
            assert not re.match(r"(?:https?:)?//", address), f"{page.name} fetches {address}"
            if not address.startswith("data:"):
                assert (page.parent / address.split("?")[0].split("#")[0]).exists(), f"{page.name} lacks {address}"
    assert found > 20


def test_pages_of_sources_are_alike_but_for_their_words(html: Path) -> None:
    """So that a browser need open but one of each kind of file: the rest of the page, and what marks the words, is the same."""
    around, paths = set(), sorted((html / "source").rglob("*.html"))
    assert len(paths) > 50
    for path in paths:
        text = path.read_text(encoding="utf-8")
        before, code, after = re.split(r'(?s)(?<=<pre tabindex="0">)(.*)(?=</pre></div>)', text, maxsplit=1)
        assert {tag.split(" ")[0] for tag in re.findall(r"<[^>]*>?", code)} <= {"<span", "<span>", "</span>"}, path.name
        own = path.relative_to(html / "source").as_posix().removesuffix(".html")
        around.add((before + after).replace(own, "").replace("../", ""))
    assert len(around) == 1


def test_equations_are_drawn_by_a_script_of_our_own(html: Path) -> None:
    page = (html / "book" / "01-the-task.html").read_text(encoding="utf-8")
    assert "katex/katex.min.js" in page
    assert (html / "_static" / "katex" / "katex.min.js").stat().st_size > 100_000
    assert "katex" not in (html / "book" / "references.html").read_text(encoding="utf-8")


def test_no_page_shows_a_traceback(html: Path) -> None:
    shown = [
        page for page in pages(html) if "source" not in page.relative_to(html).parts
    ]  # the pages of sources may speak of them
    assert len(shown) > 10
    for page in shown:
        text = page.read_text(encoding="utf-8")
        assert "Traceback (most recent call last)" not in text
        assert "papermill-error" not in text
