"""The claims ledger: every claim of the book evaluated, and the page that lists them with filters."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from lib.book.claims import TASK_TEST, evaluate, kind, table
from lib.book.provenance import TRAINS, digest
from lib.book.registry import CLAIMS, CLAIMS_OF, PAPERS
from lib.core.read.claim import STATUSES
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
  const root = document.getElementById("rm-ledger"), rows = [...root.querySelectorAll("tbody tr")];
  const paper = root.querySelector("[name=paper]"), status = root.querySelector("[name=status]");
  const said = root.querySelector("output");
  const claims = rows.filter((row) => row.dataset.status !== "TASK_TEST").length;
  function filter() {
    let shown = 0, tests = 0;
    for (const row of rows) {
      row.hidden = (paper.value && row.dataset.paper !== paper.value) || (status.value && row.dataset.status !== status.value);
      if (row.hidden) continue;
      if (row.dataset.status === "TASK_TEST") tests += 1; else shown += 1;
    }
    said.textContent = `${shown} of ${claims} claims` + (tests ? `; tests of the task: ${tests}` : "");
  }
  paper.addEventListener("change", filter);
  status.addEventListener("change", filter);
  root.querySelector(".rm-filter").hidden = false;
  filter();
}());
""".replace("TASK_TEST", TASK_TEST)


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """All claims with two filters, which appear only where scripts run; without them the whole table is there."""
    chapters = {claim.id: name for name, claims in CLAIMS_OF.items() for claim in claims}

    def choice(name: str, values: Mapping[str, str], of: Callable[[Mapping[str, Any]], str]) -> str:
        counts = Counter(of(row) for row in rows)
        options = "".join(
            f'<option value="{escape(v)}">{escape(w)} ({counts[v]})</option>' for v, w in values.items() if counts[v]
        )
        return f'<label>{name} <select name="{name}"><option value="">all</option>{options}</select></label>'

    return (
        '<div id="rm-ledger"><div class="rm-filter" hidden>'
        f"{choice('paper', PAPERS, lambda row: row['paper'])}"
        f"{choice('status', {s: s for s in (*STATUSES, TASK_TEST)}, kind)}"
        f'<output aria-live="polite"></output></div>{table(rows, chapters)}<script>{_FILTER}</script></div>\n'
    )
