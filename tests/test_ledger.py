"""The ledger of claims: hostile words stay words, every claim has its row, and what is kept goes when it may be wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from conftest import make_tiny_spec
from hypothesis import given
from hypothesis import strategies as st
from test_store import PROVENANCE, make_result

from lib.book import ledger
from lib.book.claims import evaluate, table, totals
from lib.book.display import claims_table
from lib.book.generated import claims_line
from lib.book.registry import PAPERS
from lib.core.read.claim import STATUSES, Claim, Finding, graded
from lib.core.record.store import Store

HOSTILE = "</td><script>alert('1')</script>\"&amp;"
COLUMNS = ["source", "statement", "criterion", "measured here", "status"]


def a_claim(id: str = "one", status: str = "reproduced", paper: str = "ours", words: str = "Words.", **parts: Any) -> Claim:
    check = parts.pop("check", lambda store, profile: Finding(f"{words} measured", status, 3))
    return Claim(id, paper, parts.pop("item", "Fig 1"), words, f"{words} reported", f"{words} criterion", check, **parts)


def rows_of(*claims: Claim, profile: str = "smoke") -> list[dict[str, Any]]:
    return evaluate(claims, Store("nowhere"), profile)


class Table(HTMLParser):
    """The rows of a table's body: attributes, and the text of each cell by its label. And every element of the page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[tuple[dict[str, str | None], dict[str, str]]] = []
        self._label = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append((dict(attrs), {}))
        if tag == "td":
            self._label = dict(attrs)["data-label"] or ""
            self.rows[-1][1][self._label] = ""
        if tag == "br":
            self.handle_data(" | ")

    def handle_endtag(self, tag: str) -> None:
        self._label = "" if tag == "td" else self._label

    def handle_data(self, data: str) -> None:
        if self._label:
            self.rows[-1][1][self._label] += data

    @property
    def body(self) -> list[tuple[dict[str, str | None], dict[str, str]]]:
        return [row for row in self.rows if row[1]]

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


# ---------------------------------------------------------------- tables


def test_the_table_of_a_chapter() -> None:
    made = Table(table(rows_of(a_claim("a-1", "partly", "zhang2024"), a_claim("b-2", "not run"))))
    assert [attributes for attributes, _ in made.body] == [{"id": "claim-a-1"}, {"id": "claim-b-2"}]
    assert [cells["status"] for _, cells in made.body] == ["◐ partly", "… not run"]
    assert [cells["source"] for _, cells in made.body] == ["Zhang et al. 2024, Fig 1", "this book, Fig 1"]
    assert list(made.body[0][1]) == COLUMNS
    assert [cells["statement"] for _, cells in made.body] == ["Words. | Reported: Words. reported"] * 2
    assert [a["class"] for a in made.all("span")] == ["rm-reported", "rm-partly", "rm-reported", "rm-not-run"]
    assert [a["scope"] for a in made.all("th")] == ["col"] * 5


def test_a_revised_criterion_says_why() -> None:
    made = Table(table(rows_of(a_claim("a", revised="the first failed the source"), a_claim("b"))))
    assert [cells["criterion"] for _, cells in made.body] == [
        "Words. criterion | Revised: the first failed the source",
        "Words. criterion",
    ]


def test_the_table_of_the_ledger_adds_chapter_and_report() -> None:
    made = Table(table(rows_of(a_claim("x", "not reproduced", "li2024talk")), {"x": "07-width"}))
    ((attributes, cells),) = made.body
    assert attributes == {"id": "claim-x", "data-paper": "li2024talk", "data-status": "not reproduced"}
    assert cells["source"] == "Li 2024, Fig 1 | chapter 7"
    assert cells["statement"] == "Words. | Reported: Words. reported"
    assert made.all("a") == [{"href": "07-width.html"}]


@given(st.text(st.characters(exclude_characters="\r\x00") | st.sampled_from("<>&\"'"), min_size=1, max_size=15))
def test_words_of_a_claim_stay_words(words: str) -> None:
    plain, safe = (Table(table(rows_of(a_claim(w, words=w, item=w)), {w: "02-a"})) for w in ("plain", words))
    assert [tag for tag, _ in plain.elements] == [tag for tag, _ in safe.elements]
    ((attributes, cells),) = safe.body
    assert attributes["id"] == f"claim-{words}"
    assert cells["statement"] == f"{words} | Reported: {words} reported"
    assert cells["criterion"] == f"{words} criterion"
    assert cells["measured here"] == f"{words} measured"
    assert cells["source"] == f"this book, {words} | chapter 2"


def test_totals_count_every_status_that_occurs() -> None:
    rows = rows_of(*(a_claim(status=s) for s in ("partly", "not run", "partly", "reproduced")))
    assert totals(rows) == "1 reproduced, 2 partly, 1 not run"
    assert totals([]) == ""


def test_what_is_true_by_construction_is_counted_apart() -> None:
    rows = rows_of(a_claim("a"), a_claim("b", by_construction=True), a_claim("c", "partly"), a_claim("d", by_construction=True))
    assert totals(rows) == "1 reproduced, 1 partly; 2 tests of the task, true by construction"
    assert totals(rows[1:2]) == "1 test of the task, true by construction"
    wrong = rows_of(a_claim("e", "not reproduced", by_construction=True))
    assert totals(rows + wrong) == "1 reproduced, 1 partly; 3 tests of the task, true by construction (but 1 of them not)"
    assert claims_line(rows) == "**2 claims so far:** 1 reproduced, 1 partly; 2 tests of the task, true by construction.\n"
    made = Table(table(rows + wrong, dict.fromkeys("abcde", "01-x")))
    assert [cells["status"] for _, cells in made.body] == [
        "✔ reproduced",
        "✔ true by construction",
        "◐ partly",
        "✔ true by construction",
        "✘ not true by construction",
    ]
    assert [attributes["data-status"] for attributes, _ in made.body] == [
        "reproduced",
        "test of the task",
        "partly",
        "test of the task",
        "test of the task",
    ]
    assert [a["class"] for a in made.all("span") if a["class"] != "rm-reported"] == [
        "rm-reproduced",
        "rm-by-construction",
        "rm-partly",
        "rm-by-construction",
        "rm-not-reproduced",
    ]


def test_failed_parts_stand_under_the_status() -> None:
    check = lambda store, profile: Finding("", graded({"depth 2": False, "depth 3": True, HOSTILE: False}))
    rows = rows_of(a_claim("a", check=check), a_claim("b"))
    made = Table(table(rows))
    assert [cells["status"] for _, cells in made.body] == [f"◐ partly | failed: depth 2; {HOSTILE}", "✔ reproduced"]
    assert made.all("script") == []


def test_records_from_before_the_parts_had_names_are_shown_as_ever() -> None:
    (row,) = rows_of(a_claim("x", "partly"))
    old = {key: value for key, value in row.items() if key not in ("failed", "by_construction")}
    assert table([old], {"x": "07-width"}) == table([row], {"x": "07-width"})
    assert totals([old]) == "1 partly"


def test_the_line_of_a_chapter_tells_tests_of_the_task_apart(capsys: pytest.CaptureFixture) -> None:
    claims = (a_claim("a", by_construction=True), a_claim("b", "partly"), a_claim("c", by_construction=True))
    claims_table(claims, Store("nowhere"), "smoke")
    words = "claims: b partly; 2 tests of the task, true by construction: a, c"
    assert capsys.readouterr().out.splitlines()[-1] == words
    claims_table(claims[1:2], Store("nowhere"), "smoke")
    assert capsys.readouterr().out.splitlines()[-1] == "claims: b partly"


# ---------------------------------------------------------------- the page


def test_the_page_of_all_claims_of_the_book() -> None:
    """Its rows without checking them, which would take a minute: the statuses take turns."""
    rows = []
    for number, claim in enumerate(ledger.CLAIMS):
        planted = a_claim(claim.id, STATUSES[number % 4], claim.paper, claim.statement)
        rows += rows_of(planted)
    made = Table(ledger.page(rows))
    assert [attributes["id"] for attributes, _ in made.body] == [f"claim-{claim.id}" for claim in ledger.CLAIMS]
    assert {a["href"] for a in made.all("a")} == {f"{name}.html" for name, claims in ledger.CLAIMS_OF.items() if claims}
    assert [a["name"] for a in made.all("select")] == ["paper", "status"]
    values = [a["value"] for a in made.all("option")]
    papers = {row["paper"] for row in rows}
    assert values == ["", *(p for p in PAPERS if p in papers), "", *STATUSES]
    for attributes, _ in made.body:
        assert {attributes["data-paper"], attributes["data-status"]} <= set(values)
    assert "hidden" in next(a for a in made.all("div") if a.get("class") == "rm-filter")
    assert not any("hidden" in attributes for attributes, _ in made.body)  # without scripts the whole table is there


def test_the_filters_offer_what_there_is_and_count_it(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = (a_claim("a", "partly"), a_claim("b", "not run"), a_claim("c", "partly", "li2024talk", words=HOSTILE))
    monkeypatch.setattr(ledger, "CLAIMS_OF", {"01-x": claims})
    html = ledger.page(rows_of(*claims))
    assert '<option value="ours">this book (2)</option>' in html
    assert '<option value="li2024talk">Li 2024 (1)</option>' in html
    assert '<option value="partly">partly (2)</option><option value="not run">not run (1)</option></select>' in html
    assert html.count("<option") == 6
    assert HOSTILE not in html
    claims += (a_claim("d", by_construction=True),)
    monkeypatch.setattr(ledger, "CLAIMS_OF", {"01-x": claims})
    html = ledger.page(rows_of(*claims))
    assert '<option value="test of the task">test of the task (1)</option></select>' in html
    assert "reproduced (" not in html
    assert html.count("<option") == 7
    assert html.count("<script>") == html.count("</script>") == 1


# ---------------------------------------------------------------- what is kept


class Count:
    """Claims that can be counted: how often were they checked?"""

    def __init__(self) -> None:
        self.checked: list[str] = []

    def __call__(self, store: Store, profile: str) -> Finding:
        self.checked.append(profile)
        return Finding(f"check {len(self.checked)}", "partly", 1)


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Count:
    counted = Count()
    monkeypatch.setattr(ledger, "CLAIMS", (a_claim("counted", check=counted),))
    return counted


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "results")
    store.put(make_result(make_tiny_spec()), PROVENANCE, keep_weights=True)
    return store


def test_claims_are_checked_once_while_nothing_changes(tmp_path: Path, store: Store, count: Count) -> None:
    cache = tmp_path / "new" / "claims.json"
    first = ledger.evaluate_all(store, "smoke", cache)
    assert ledger.evaluate_all(Store(store.root), "smoke", cache) == first
    assert [row["measured"] for row in first] == ["check 1"]
    (store.root / "tiny" / ".lock").write_text("busy")  # hidden files are no results
    ledger.evaluate_all(store, "smoke", cache)
    assert count.checked == ["smoke"]
    assert ledger.evaluate_all(store, "laptop", cache)[0]["profile"] == "laptop"
    assert count.checked == ["smoke", "laptop"]


@pytest.mark.parametrize(
    "change",
    [
        lambda store, path: store.put(make_result(make_tiny_spec(seed=1)), PROVENANCE),
        lambda store, path: path.unlink(),
        lambda store, path: path.write_bytes(path.read_bytes()[:-1]),
        lambda store, path: path.with_suffix(".safetensors").unlink(),
        lambda store, path: path.with_suffix(".safetensors").write_bytes(b"other"),
        lambda store, path: path.rename(path.with_name("other.json")),
        lambda store, path: path.parent.rename(store.root / "other"),
    ],
    ids=["added", "deleted", "cut", "weights deleted", "weights changed", "renamed", "of another experiment"],
)
def test_a_change_of_results_is_noticed(
    tmp_path: Path, store: Store, count: Count, change: Callable[[Store, Path], Any]
) -> None:
    cache = tmp_path / "claims.json"
    ledger.evaluate_all(store, "smoke", cache)
    change(store, store.path(make_tiny_spec()))
    assert ledger.evaluate_all(store, "smoke", cache)[0]["measured"] == "check 2"


def test_a_change_of_our_sources_is_noticed(
    tmp_path: Path, store: Store, count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "lib" / "book" / "ledger.py"
    source.parent.mkdir(parents=True)
    monkeypatch.setattr(ledger, "__file__", str(source))
    for text in ("a = 1", "a = 1", "a = 2"):
        (tmp_path / "lib" / "study.py").write_text(text)
        ledger.evaluate_all(store, "smoke", tmp_path / "claims.json")
    assert len(count.checked) == 2


@pytest.mark.parametrize(
    "spoiled", [b"", b"null", b"[]", b"7", b"{}", b'{"claims": []}', b'{"key": "KEY"}', b'{"key": "no", "claims": []}', b"\xff"]
)
def test_a_file_that_is_not_ours_is_ignored_and_replaced(tmp_path: Path, store: Store, count: Count, spoiled: bytes) -> None:
    cache = tmp_path / "claims.json"
    ledger.evaluate_all(store, "smoke", cache)
    cache.write_bytes(spoiled.replace(b"KEY", json.loads(cache.read_text())["key"].encode()))
    rows = ledger.evaluate_all(store, "smoke", cache)
    assert rows[0]["measured"] == "check 2"
    assert json.loads(cache.read_text())["claims"] == rows
