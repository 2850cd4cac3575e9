"""The table of chapters on the first page: what each found, in its own words, how its claims fared, and its length."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lib.book.chapters import Chapter, chapters, read_notebook
from lib.book.claims import squares
from lib.book.registry import CLAIMS_OF
from lib.core.read import typeset
from lib.core.read.fact import LINK

WORDS_A_MINUTE = 220
"""A usual speed for prose with figures."""
LONG = 150
"""Letters from which a sentence gives up what stands behind its last colon."""
_ANSWER = re.compile(r"^\*\*(?:Answer|In short)\.\*\*\s*", re.MULTILINE)

if TYPE_CHECKING:
    from nbformat import NotebookNode


def shown(notebook: NotebookNode) -> list[str]:
    """The Markdown of a notebook as a reader has it: what was written, and what was computed."""
    texts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            texts.append(cell.source)
        texts += [out["data"]["text/markdown"] for out in cell.get("outputs", []) if "text/markdown" in out.get("data", {})]
    return texts


def minutes(notebook: NotebookNode) -> int:
    return max(1, round(sum(len(text.split()) for text in shown(notebook)) / WORDS_A_MINUTE))


def found(notebook: NotebookNode) -> str:
    """The first sentence of the chapter's answer; empty where it gives none."""
    said = next((_ANSWER.split(text)[1] for text in shown(notebook) if _ANSWER.search(text)), "")
    words = LINK.sub(r"\1", re.sub(r"^[-*] ", "", said.strip()).replace("*", ""))
    first = re.split(r"(?<=[.!])\s+(?=[A-ZΑ-Ωα-ω(])|\n", words)[0]
    first = re.sub(r" \((?!\d,\s\d\))[^()]*\d[^()]*\)(?=[,.:;]| |$)", "", first)  # numbers stand in the chapter
    while len(first) > LONG and len(start := first.rpartition(":")[0]) > LONG / 3:
        first = start
    first = first.rstrip(":. ")
    return first + "." * (bool(first) and first[-1] not in "!?")


def table_of(chapters: Sequence[Chapter], claims: Sequence[Mapping[str, Any]]) -> str:
    """Every numbered chapter: its title, what it found, a square a claim, and minutes to read it, as HTML in Markdown."""
    rows = ""
    for chapter in chapters:
        own = {claim.id for claim in CLAIMS_OF.get(chapter.name, ())}
        if not chapter.name[:2].isdigit():
            continue
        notebook = read_notebook(chapter.path)
        title, _, asks = chapter.title().partition(": ")
        title, asks = (asks[:1].upper() + asks[1:], title) if title == "Why" else (title, asks)
        marks = squares([row for row in claims if row["id"] in own], "claims.html")
        rows += (
            f'<tr><th scope="row"><a href="{chapter.name}.html">{int(chapter.name[:2])} · {title}</a>'
            f'<span class="rm-minutes">{minutes(notebook)} min</span></th>'
            f"<td>{typeset.markdown(found(notebook) or asks)}</td><td>{marks}</td></tr>"
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("chapter", "what we found", "claims"))
    return f'<table class="rm-contents"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>\n'


def all_chapters(claims: Sequence[Mapping[str, Any]]) -> str:
    return table_of(chapters(), claims)
