"""Claims as a list that opens, and as coloured squares: what a chapter shows of its own, and the ledger of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from lib.book.registry import PAPERS
from lib.core.read import typeset
from lib.core.read.claim import (
    NO_EFFECT,
    NOT_RUN,
    OPPOSITE,
    OURS,
    PARTLY,
    QUESTIONS,
    REPRODUCED,
    STATUSES,
    TOO_SMALL,
    Claim,
)
from lib.core.record.store import Store

MARK = {REPRODUCED: "✔", PARTLY: "◐", OPPOSITE: "✘", NO_EFFECT: "○", TOO_SMALL: "?", NOT_RUN: "…"}
OWN = {REPRODUCED: "holds"}
"""What a status is called where a claim is ours: there was nothing to reproduce."""
TASK_TEST, BY_CONSTRUCTION = "test of the task", "true by construction"


def evaluate(claims: Sequence[Claim], store: Store, profile: str) -> list[dict[str, Any]]:
    return [claim.evaluate(store, profile) for claim in claims]


def totals(rows: Sequence[Mapping[str, Any]]) -> str:
    """`20 reproduced, 12 partly, …; 4 tests of the task or slides, true by construction`: those statuses that occur, in order.

    What is true by construction is no result, so it is counted apart.
    """
    counts = Counter(row["status"] for row in rows if not by_construction(row))
    words = [", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])]
    if tests := [row for row in rows if by_construction(row)]:
        failing = sum(row["status"] != REPRODUCED for row in tests)
        how = f"of which {failing} fail{'s' * (failing == 1)}" if failing else BY_CONSTRUCTION
        words.append(f"{len(tests)} test{'s' * (len(tests) > 1)} of the task or slides, {how}")
    return "; ".join(filter(None, words))


def by_construction(row: Mapping[str, Any]) -> bool:
    """Does it test the task itself?"""
    return row["by_construction"]


def verdict(row: Mapping[str, Any]) -> str:
    """The status in words: neither a claim of ours nor a test of the task is reproduced."""
    status = row["status"]
    if by_construction(row):
        return BY_CONSTRUCTION if status == REPRODUCED else "false by construction"
    return OWN[status] if row["paper"] in OURS and status in OWN else status


def kind(row: Mapping[str, Any]) -> str:
    """What the page of all claims filters by: the status, or that it tests the task."""
    return TASK_TEST if by_construction(row) else row["status"]


def failed(row: Mapping[str, Any]) -> str:
    """`failed: depth 2; depth 4`, the named parts of the criterion that do not hold; empty where there are none."""
    return f"failed: {'; '.join(row['failed'])}" if row["failed"] else ""


def words(text: str) -> str:
    """Words of a claim as HTML, typeset."""
    return typeset.indices(escape(typeset.characters(text), quote=False))


def _class(row: Mapping[str, Any]) -> str:
    return "rm-by-construction" if verdict(row) == BY_CONSTRUCTION else f"rm-{escape(row['status'].replace(' ', '-'))}"


def anchor(row: Mapping[str, Any]) -> str:
    return f"claim-{escape(row['id'])}"


def square(row: Mapping[str, Any], page: str = "") -> str:
    """A coloured mark that leads to the claim on a page, `""` for this one; it says which claim it is."""
    said = escape(f"{typeset.characters(row['statement'])} – {verdict(row)}")
    return (
        f'<a class="rm-square {_class(row)}" href="{escape(page)}#{anchor(row)}" title="{said}" aria-label="{said}">'
        f"{MARK[row['status']]}</a>"
    )


def squares(rows: Sequence[Mapping[str, Any]], page: str = "") -> str:
    """The marks of several claims in a row, the best first."""
    return "".join(square(row, page) for row in sorted(rows, key=lambda row: STATUSES.index(row["status"])))


def _claim(r: Mapping[str, Any], chapter: str | None) -> str:
    source = words(f"{PAPERS[r['paper']]}, {r['item']}")
    asked = [("Question", words(QUESTIONS[r["question"]]))] if r["question"] else []
    parts = [("Source", source), *asked]
    parts += [("Reported", words(r["reported"])), ("Criterion", words(r["criterion"]))]
    if r["revised"]:
        parts.append(("Revised", words(r["revised"])))
    parts.append(("Measured", words(r["measured"])))
    if lost := failed(r):
        parts.append(("Failed", words(lost.removeprefix("failed: "))))
    if r["figure"]:
        link = f'<a href="{escape(chapter or "")}{".html" * (chapter is not None)}#figure-{r["figure"].replace(".", "-")}">'
        parts.append(("Figure", f"{link}{escape(r['figure'])}</a>"))
    if chapter is not None:
        parts.append(("Where", f'<a href="{escape(chapter)}.html#{anchor(r)}">chapter {int(chapter[:2])}</a>'))
    data = f' data-paper="{escape(r["paper"])}" data-status="{escape(kind(r))}"' if chapter is not None else ""
    inside = "".join(f"<dt>{name}</dt><dd>{content}</dd>" for name, content in parts)
    return (
        f'<details class="rm-claim" id="{anchor(r)}"{data}><summary><span class="rm-verdict {_class(r)}">'
        f'{MARK[r["status"]]} {escape(verdict(r))}</span><span class="rm-statement">{words(r["statement"])}</span>'
        f'<span class="rm-source">{source}</span></summary><dl>{inside}</dl></details>'
    )


def listing(rows: Sequence[Mapping[str, Any]], chapters: Mapping[str, str] | None = None) -> str:
    """The claims as HTML, each a line with its verdict that opens to all that is known of it.

    `chapters`, {claim id: name of its page}, adds a link to each.
    """
    each = (_claim(row, None if chapters is None else chapters[row["id"]]) for row in rows)
    return f'<div class="rm-claims">{"".join(each)}</div>'
