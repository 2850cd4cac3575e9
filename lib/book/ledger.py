"""The claims ledger: every claim of the book evaluated, and the page that lists them with filters."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from lib.book.claims import MARK, TASK_TEST, by_construction, evaluate, kind, listing, squares, words
from lib.book.provenance import TRAINS, digest
from lib.book.registry import CLAIMS, CLAIMS_OF, PAPERS
from lib.core.read.claim import OURS, QUESTIONS, STATUSES
from lib.core.record.store import Store


def evaluate_all(store: Store, profile: str, cache: Path) -> list[dict[str, Any]]:
    """Every claim. The outcome, which takes a minute, is kept in the file `cache` until code or results change."""
    key = _state(store, profile)
    try:
        kept = json.loads(cache.read_text(encoding="utf-8"))
        if kept["key"] == key:
            return kept["claims"]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # none, or not ours: evaluate
    rows = evaluate(CLAIMS, store, profile)
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text(json.dumps({"key": key, "claims": rows}), encoding="utf-8")
    return rows


def _state(store: Store, profile: str) -> str:
    """A digest of all that claims depend on: our sources but those that train, and every result file by name and content."""
    lib = Path(__file__).parents[1]
    trains = tuple(str(lib.parent.joinpath(*package.split("."))) for package in TRAINS)
    sources = sorted(path for path in lib.rglob("*.py") if not str(path).startswith(trains))
    results = sorted(path for path in store.root.glob("*/[!.]*") if path.is_file())
    name = lambda path: "/".join(path.parts[-3:]).encode()
    return digest([profile.encode(), *(part for path in (*sources, *results) for part in (name(path), path.read_bytes()))])


_FILTER = """
(function () {
  const root = document.getElementById("rm-ledger"), rows = [...root.querySelectorAll(".rm-claim")];
  const paper = root.querySelector("[name=paper]"), status = root.querySelector("[name=status]");
  const said = root.querySelector("output");
  const claims = rows.filter((row) => row.dataset.status !== "TASK_TEST").length;
  function filter() {
    let shown = 0, tests = 0;
    for (const row of rows) {
      row.hidden = [[paper, row.dataset.paper], [status, row.dataset.status]].some(([s, own]) => s.value && s.value !== own);
      if (row.hidden) continue;
      if (row.dataset.status === "TASK_TEST") tests += 1; else shown += 1;
    }
    for (const part of root.querySelectorAll(".rm-part")) part.hidden = !part.querySelector(".rm-claim:not([hidden])");
    said.textContent = `${shown} of ${claims} claims` + (tests ? `; tests of the task: ${tests}` : "");
  }
  function choose() { // what is chosen stands in the address, so that it can be sent
    filter();
    const asked = new URLSearchParams();
    for (const select of [paper, status]) if (select.value) asked.set(select.name, select.value);
    const words = asked.toString();
    history.replaceState(null, "", location.pathname + (words ? `?${words}` : "") + location.hash);
  }
  for (const [name, value] of new URLSearchParams(location.search)) {
    const select = [paper, status].find((s) => s.name === name);
    if (select && [...select.options].some((o) => o.value === value)) select.value = value;
  }
  paper.addEventListener("change", choose);
  status.addEventListener("change", choose);
  root.addEventListener("click", (event) => { // a square leads to a claim that the filter may hide
    const square = event.target.closest(".rm-square");
    const to = square && document.getElementById(square.hash.slice(1));
    if (to && to.hidden) { paper.value = status.value = ""; choose(); }
  });
  root.querySelector(".rm-filter").hidden = false;
  filter();
}());
""".replace("TASK_TEST", TASK_TEST)

KINDS = ("the papers’ claims", "ours", "tests of the task")
Rows = Sequence[Mapping[str, Any]]


def _kinds(rows: Rows) -> tuple[list, list, list]:
    """The papers' claims, ours, and tests of the task."""
    tests = [row for row in rows if by_construction(row)]
    ours = [row for row in rows if row["paper"] in OURS and row not in tests]
    return [row for row in rows if row not in tests and row not in ours], ours, tests


def tally(rows: Rows) -> str:
    """How many claims there are of each kind, and what came out, as a small table."""
    head = "".join(f'<th scope="col">{MARK[status]} {status}</th>' for status in STATUSES)
    body = ""
    parts = [*zip(KINDS, _kinds(rows), strict=True), ("all claims", [row for row in rows if not by_construction(row)])]
    for name, part in parts:
        counts = Counter(row["status"] for row in part)
        cells = "".join(f"<td>{counts[status] or '–'}</td>" for status in STATUSES)
        body += f'<tr><th scope="row">{name} ({len(part)})</th>{cells}</tr>'
    return f'<table class="rm-tally"><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>'


def _by_figure(item: str) -> tuple[object, ...]:
    """Sorts what claims are about: figures by number and letter, then the rest, numbers in their words by size."""
    figure = re.search(r"Figs? (\d+)(\w?)", item)
    words = [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", item)]
    return (0, int(figure[1]), figure[2], words) if figure else (1, 0, "", words)


def _of_question(rows: Rows) -> dict[str, list[Mapping[str, Any]]]:
    """{question: its claims}, in the order of QUESTIONS; those that name none come last, under an empty name."""
    found = {name: [row for row in rows if row["question"] == name] for name in (*QUESTIONS, "")}
    return {name: own for name, own in found.items() if own}


def _title(question: str) -> str:
    title = QUESTIONS.get(question, "other claims")
    return escape(title[:1].upper() + title[1:] if not title.startswith("γ") else title)


def scoreboard(rows: Rows) -> str:
    """A row a question, and a row a figure of the papers, with one square a claim."""
    head = "".join(f'<th scope="col">{name}</th>' for name in ("question", *KINDS))
    body = ""
    for name, own in _of_question(rows).items():
        cells = "".join(f"<td>{squares(part)}</td>" for part in _kinds(own))
        body += f'<tr><th scope="row"><a href="#question-{name or "none"}">{_title(name)}</a></th>{cells}</tr>'
    figures = ""
    for paper, source in PAPERS.items():
        items: dict[str, list] = {}
        for row in rows:
            if row["paper"] == paper and paper not in OURS:
                items.setdefault(row["item"], []).append(row)
        each = sorted(items.items(), key=lambda item: _by_figure(item[0]))
        lines = "".join(f"<li><span>{words(item)}</span> <span>{squares(part)}</span></li>" for item, part in each)
        figures += f"<h3>{escape(source)}</h3><ul>{lines}</ul>" if lines else ""
    return (
        f'<table class="rm-scoreboard"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        f'<details class="rm-figures"><summary>The same by figure of the papers</summary><div>{figures}</div></details>'
    )


def page(rows: Rows) -> str:
    """The scoreboard, and all claims by question with two filters, which appear only where scripts run; without them every
    claim is there."""
    chapters = {claim.id: name for name, claims in CLAIMS_OF.items() for claim in claims}

    def choice(name: str, values: Mapping[str, str], of: Callable[[Mapping[str, Any]], str]) -> str:
        counts = Counter(of(row) for row in rows)
        options = "".join(
            f'<option value="{escape(v)}">{escape(w)} ({counts[v]})</option>' for v, w in values.items() if counts[v]
        )
        return f'<label>{name} <select name="{name}"><option value="">all</option>{options}</select></label>'

    parts = ""
    for name, own in _of_question(rows).items():
        head = f'<h3 id="question-{name or "none"}">{_title(name)}</h3>'
        parts += f'<div class="rm-part">{head}{listing(own, chapters)}</div>'
    return (
        f'<div id="rm-ledger">{tally(rows)}{scoreboard(rows)}'
        '<h2 id="each">Each claim</h2><div class="rm-filter" hidden>'
        f"{choice('paper', PAPERS, lambda row: row['paper'])}"
        f"{choice('status', {s: s for s in (*STATUSES, TASK_TEST)}, kind)}"
        f'<output aria-live="polite"></output></div>{parts}<script>{_FILTER}</script></div>\n'
    )
