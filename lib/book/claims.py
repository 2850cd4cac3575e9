"""Claims as a table: what a chapter shows of its own, and the ledger of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from lib.book.registry import PAPERS
from lib.core.read.claim import REPRODUCED, STATUSES, Claim
from lib.core.record.store import Store

MARK = {"reproduced": "✔", "partly": "◐", "not reproduced": "✘", "not run": "…"}
TASK_TEST, BY_CONSTRUCTION = "test of the task", "true by construction"
_COLUMNS = ("source", "statement", "criterion", "measured here", "status")


def evaluate(claims: Sequence[Claim], store: Store, profile: str) -> list[dict[str, Any]]:
    return [claim.evaluate(store, profile) for claim in claims]


def totals(rows: Sequence[Mapping[str, Any]]) -> str:
    """`20 reproduced, 12 partly, …; 4 tests of the task, true by construction`: the statuses that occur, in their order.

    What is true by construction is no result, so it is counted apart.
    """
    counts = Counter(row["status"] for row in rows if not by_construction(row))
    words = [", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])]
    if tests := [row for row in rows if by_construction(row)]:
        failing = sum(row["status"] != REPRODUCED for row in tests)
        but = f" (but {failing} of them not)" if failing else ""
        words.append(f"{len(tests)} test{'s' * (len(tests) > 1)} of the task, {BY_CONSTRUCTION}{but}")
    return "; ".join(filter(None, words))


def by_construction(row: Mapping[str, Any]) -> bool:
    """Does it test the task itself?"""
    return bool(row.get("by_construction"))


def verdict(row: Mapping[str, Any]) -> str:
    """The status in words: a test of the task is not reproduced, as there was nothing to reproduce."""
    if not by_construction(row):
        return row["status"]
    return BY_CONSTRUCTION if row["status"] == REPRODUCED else f"not {BY_CONSTRUCTION}"


def kind(row: Mapping[str, Any]) -> str:
    """What the page of all claims filters by: the status, or that it tests the task."""
    return TASK_TEST if by_construction(row) else row["status"]


def failed(row: Mapping[str, Any]) -> str:
    """`failed: depth 2; depth 4`, the named parts of the criterion that do not hold; empty where there are none."""
    return f"failed: {'; '.join(row['failed'])}" if row.get("failed") else ""


def _row(r: Mapping[str, Any], chapter: str | None) -> str:
    source = f"{escape(PAPERS[r['paper']])}, {escape(r['item'])}"
    style = "by-construction" if verdict(r) == BY_CONSTRUCTION else r["status"].replace(" ", "-")
    status = f'<span class="rm-{escape(style)}">{MARK[r["status"]]} {escape(verdict(r))}</span>'
    if words := failed(r):
        status += f'<br><span class="rm-failed">{escape(words)}</span>'
    statement = f'{escape(r["statement"])}<br><span class="rm-reported">Reported: {escape(r["reported"])}</span>'
    if chapter is not None:
        source += f'<br><a href="{escape(chapter)}.html">chapter {int(chapter[:2])}</a>'
    criterion = escape(r["criterion"])
    if r.get("revised"):
        criterion += f'<br><span class="rm-reported">Revised: {escape(r["revised"])}</span>'
    cells = zip(_COLUMNS, (source, statement, criterion, escape(r["measured"]), status), strict=True)
    data = f' data-paper="{escape(r["paper"])}" data-status="{escape(kind(r))}"' if chapter is not None else ""
    inside = "".join(f'<td data-label="{name}">{content}</td>' for name, content in cells)
    return f'<tr id="claim-{escape(r["id"])}"{data}>{inside}</tr>'


def table(rows: Sequence[Mapping[str, Any]], chapters: Mapping[str, str] | None = None) -> str:
    """An HTML table. `chapters`, {claim id: name of its page}, adds a link to each row."""
    head = "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS)
    body = "".join(_row(r, None if chapters is None else chapters[r["id"]]) for r in rows)
    return f'<table class="rm-claims"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
