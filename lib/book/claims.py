"""Claims as a table: what a chapter shows of its own, and the ledger of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from lib.core.claim import PAPERS, STATUSES, Claim
from lib.core.store import Store

MARK = {"reproduced": "✔", "partly": "◐", "not reproduced": "✘", "not run": "…"}
_COLUMNS = ("source", "statement", "criterion", "measured here", "status")


def evaluate(claims: Sequence[Claim], store: Store, profile: str) -> list[dict[str, Any]]:
    return [claim.evaluate(store, profile) for claim in claims]


def totals(rows: Sequence[Mapping[str, Any]]) -> str:
    """`20 reproduced, 12 partly, …`, the statuses that occur, in their order."""
    counts = Counter(row["status"] for row in rows)
    return ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])


def _row(r: Mapping[str, Any], chapter: str | None) -> str:
    source = f"{escape(PAPERS[r['paper']])}, {escape(r['item'])}"
    status = f'<span class="rm-{escape(r["status"].replace(" ", "-"))}">{MARK[r["status"]]} {escape(r["status"])}</span>'
    statement = escape(r["statement"])
    if chapter is not None:
        source += f'<br><a href="{escape(chapter)}.html">chapter {int(chapter[:2])}</a>'
        statement += f'<br><span class="rm-reported">Reported: {escape(r["reported"])}</span>'
    cells = zip(_COLUMNS, (source, statement, escape(r["criterion"]), escape(r["measured"]), status), strict=True)
    data = f' data-paper="{escape(r["paper"])}" data-status="{escape(r["status"])}"' if chapter is not None else ""
    inside = "".join(f'<td data-label="{name}">{content}</td>' for name, content in cells)
    return f'<tr id="claim-{escape(r["id"])}"{data}>{inside}</tr>'


def table(rows: Sequence[Mapping[str, Any]], chapters: Mapping[str, str] | None = None) -> str:
    """An HTML table. `chapters`, {claim id: name of its page}, adds a link to each row and what the source reports."""
    head = "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS)
    body = "".join(_row(r, None if chapters is None else chapters[r["id"]]) for r in rows)
    return f'<table class="rm-claims"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
