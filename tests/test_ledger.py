"""The ledger of claims: hostile words stay words, every claim has its row, and what is kept goes when it may be wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import make_tiny_spec
from hypothesis import given
from hypothesis import strategies as st
from planted_pages import HOSTILE, Made, a_claim, rows_of
from tiny import PROVENANCE, make_result

from lib.book import ledger
from lib.book.claims import MARK, listing, square, squares, totals, verdict
from lib.book.generated import claims_line
from lib.book.registry import PAPERS
from lib.core.read import typeset
from lib.core.read.claim import OURS, QUESTIONS, STATUSES, Finding, Measured, Part
from lib.core.record.store import Store

# ---------------------------------------------------------------- lists


def test_the_list_of_a_chapter() -> None:
    made = Made(listing(rows_of(a_claim("a-1", "partly", "zhang2024"), a_claim("b-2", "not run"))))
    assert [attributes for attributes, _ in made.claims] == [
        {"class": "rm-claim", "id": "claim-a-1"},
        {"class": "rm-claim", "id": "claim-b-2"},
    ]
    assert made.verdicts == ["◐ partly", "… not run"]
    assert [words["source"] for _, words in made.claims] == ["Zhang et al. 2024, Fig. 1", "this book, Fig. 1"]
    assert made.claims[0][1] == {
        "verdict": "◐ partly",
        "statement": "Words.",
        "source": "Zhang et al. 2024, Fig. 1",
        "Source": "Zhang et al. 2024, Fig. 1",
        "Reported": "Words. reported",
        "Criterion": "Words. criterion",
        "Measured": "Words. measured",
    }
    assert [a["class"] for a in made.all("span", "rm-verdict")] == ["rm-verdict rm-partly", "rm-verdict rm-not-run"]
    assert not any("open" in attributes or "hidden" in attributes for attributes in made.all("details"))


def test_a_revised_criterion_says_why() -> None:
    made = Made(listing(rows_of(a_claim("a", revised="the first failed the source"), a_claim("b"))))
    assert [words.get("Revised") for _, words in made.claims] == ["the first failed the source", None]


def test_the_list_of_the_ledger_adds_the_chapter_and_what_is_filtered_by() -> None:
    made = Made(listing(rows_of(a_claim("x", "opposite", "li2024talk")), {"x": "07-width"}))
    ((attributes, words),) = made.claims
    assert attributes == {"class": "rm-claim", "id": "claim-x", "data-paper": "li2024talk", "data-status": "opposite"}
    assert words["Source"] == words["source"] == "Li 2024, Fig. 1"
    assert words["Where"] == "chapter 7"
    assert made.all("a") == [{"href": "07-width.html#claim-x"}]


WORDS = st.text(st.characters(exclude_characters="\r\x00") | st.sampled_from("<>&\"'"), min_size=1, max_size=15)


@given(WORDS)
def test_words_of_a_claim_stay_words(words: str) -> None:
    """As the book sets them: indices and exponents alone may add elements, and take no letter away."""
    plain, safe = (Made(listing(rows_of(a_claim(w, words=w, item=w)), {w: "02-a"})) for w in ("plain", words))
    no_type = [tag for tag, _ in safe.elements if tag not in ("i", "sub", "sup")]
    assert no_type == [tag for tag, _ in plain.elements]
    ((attributes, said),) = safe.claims
    assert attributes["id"] == f"claim-{words}"
    bare = lambda text: re.sub(r"[_^()−-]", "", typeset.characters(text))
    assert bare(said["statement"]) == bare(words)
    assert bare(said["Reported"]) == bare(f"{words} reported")
    assert bare(said["Criterion"]) == bare(f"{words} criterion")
    assert bare(said["Measured"]) == bare(f"{words} measured")
    assert bare(said["source"]) == bare(said["Source"]) == bare(f"this book, {words}")
    assert safe.all("a") == [{"href": f"02-a.html#claim-{words}"}]


def test_the_words_of_a_claim_are_set_as_the_book_sets_them() -> None:
    words = 'It falls from -0.5 to 1e-4 in W_Q(1), 93 % of α^2, the model\'s "own"'
    html = listing(rows_of(a_claim("a", words=words, item="Fig 2c")))
    said = "It falls from −0.5 to 10⁻⁴ in <i>W</i><sub>Q</sub><sup>(1)</sup>, 93% of α<sup>2</sup>, the model’s “own”"
    assert html.count(said) == 4  # statement, report, criterion, and what was measured
    assert html.count("Fig. 2c") == 2


def test_totals_count_every_status_that_occurs() -> None:
    rows = rows_of(*(a_claim(status=s) for s in ("partly", "not run", "partly", "reproduced")))
    assert totals(rows) == "1 reproduced, 2 partly, 1 not run"
    assert totals([]) == ""


def test_what_is_true_by_construction_is_counted_apart() -> None:
    rows = rows_of(a_claim("a"), a_claim("b", by_construction=True), a_claim("c", "partly"), a_claim("d", by_construction=True))
    assert totals(rows) == "1 reproduced, 1 partly; 2 tests of the task or slides, true by construction"
    assert totals(rows[1:2]) == "1 test of the task or slides, true by construction"
    wrong = rows_of(a_claim("e", "opposite", by_construction=True))
    assert totals(rows + wrong) == "1 reproduced, 1 partly; 3 tests of the task or slides, of which 1 fails"
    assert claims_line(rows) == "**2 claims:** 1 reproduced, 1 partly; 2 tests of the task or slides, true by construction.\n"
    made = Made(listing(rows + wrong, dict.fromkeys("abcde", "01-x")))
    assert made.verdicts == [
        "✔ holds",
        "✔ true by construction",
        "◐ partly",
        "✔ true by construction",
        "✘ false by construction",
    ]
    assert [attributes["data-status"] for attributes, _ in made.claims] == [
        "reproduced",
        "test of the task",
        "partly",
        "test of the task",
        "test of the task",
    ]
    looks = ["rm-reproduced", "rm-by-construction", "rm-partly", "rm-by-construction", "rm-opposite"]
    assert [a["class"] for a in made.all("span", "rm-verdict")] == [f"rm-verdict {look}" for look in looks]
    assert [a["class"] for a in Made("".join(map(square, rows + wrong))).all("a")] == [f"rm-square {look}" for look in looks]


def test_only_a_papers_claim_is_reproduced() -> None:
    theirs = [a_claim(status, status, paper="zhang2024") for status in ("reproduced", "opposite")]
    ours = [a_claim(f"our {status}", status) for status in STATUSES]
    said = "reproduced|opposite|holds|partly|opposite|no clear effect|too small to tell|not run"
    assert [verdict(row) for row in rows_of(*theirs, *ours)] == said.split("|")


def test_failed_parts_stand_in_the_claim() -> None:
    named = {"depth 2": 0, "depth 3": 1, HOSTILE: 0}
    check = lambda store, profile: Measured(tuple(Part(name, value, ">", 0) for name, value in named.items()), 1)
    made = Made(listing(rows_of(a_claim("a", check=check), a_claim("b"))))
    assert made.verdicts == ["◐ partly", "✔ holds"]
    assert [words.get("Failed") for _, words in made.claims] == [f"depth 2; {typeset.characters(HOSTILE)}", None]
    assert made.all("script") == []


# ---------------------------------------------------------------- squares, tally, scoreboard


@given(WORDS)
def test_a_square_leads_to_its_claim_and_says_which_it_is(words: str) -> None:
    (row,) = rows_of(a_claim(words, "partly", words=words))
    made = Made(square(row, "claims.html"))
    said = f"{typeset.characters(words)} – partly"
    (link,) = made.all("a")
    assert made.elements == [("a", link)]
    assert (link["href"], link["title"], link["aria-label"]) == (f"claims.html#claim-{words}", said, said)
    assert made.text(0) == "◐"
    assert Made(square(row)).all("a")[0]["href"] == f"#claim-{words}"


def test_squares_stand_the_best_first_and_otherwise_as_they_come() -> None:
    rows = rows_of(*(a_claim(f"{i}", s) for i, s in enumerate(("not run", "partly", "reproduced", "partly", "opposite"))))
    html = squares(rows)
    assert [a["href"] for a in Made(html).all("a")] == [f"#claim-{i}" for i in (2, 1, 3, 4, 0)]
    assert html == "".join(square(rows[i]) for i in (2, 1, 3, 4, 0))
    assert squares([]) == ""


PLANTED = {
    "02-two": (a_claim("a", "partly", "zhang2024"), a_claim("b", "reproduced", "zhang2024"), a_claim("c", "not run")),
    "03-three": (
        a_claim("d", "opposite", "zhang2024", item="Fig 2"),
        a_claim("e", by_construction=True),
        a_claim("f", "partly"),
    ),
    "09-nine": (),
}


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    monkeypatch.setattr(ledger, "CLAIMS_OF", PLANTED)
    return rows_of(*(claim for claims in PLANTED.values() for claim in claims))


def test_the_tally_counts_by_kind_and_outcome(planted: list[dict[str, Any]]) -> None:
    made = Made(ledger.tally(planted))
    assert [made.text(i) for i in made.inside("th")] == [
        *(f"{MARK[status]} {status}" for status in STATUSES),
        "the papers’ claims (3)",
        "ours (2)",
        "tests of the task (1)",
        "all claims (5)",
    ]
    counts = [made.text(i) for i in made.inside("td")][1:]
    assert [" ".join(counts[i : i + 6]) for i in range(0, 24, 6)] == [
        "1 1 1 – – –",
        "– 1 – – – 1",
        "1 – – – – –",
        "1 2 1 – – 1",
    ]
    assert [a["scope"] for a in made.all("th")] == ["col"] * 6 + ["row"] * 4


def test_figures_are_sorted_by_number_then_letter_and_the_rest_is_behind_them() -> None:
    items = ["Fig 2, text", "Fig 2b", "Fig 3a", "Figs 5a, b, 10", "after Fig 14", "Figs 21–23", "Theorem 1", "Theorem 10"]
    assert sorted(sorted(items), key=ledger._by_figure) == items


def test_the_scoreboard_has_a_square_a_claim_by_question_and_kind_and_by_figure(planted: list[dict[str, Any]]) -> None:
    asked = dict(zip("abcdef", ("rule", "flip", "flip", "flip", "", "flip"), strict=True))
    made = Made(ledger.scoreboard([row | {"question": asked[row["id"]]} for row in planted]))
    places = [[[link["href"] for link in cell] for cell in row] for row in made.rows("rm-scoreboard")]
    assert places == [
        [["#claim-b", "#claim-d"], ["#claim-f", "#claim-c"], []],
        [["#claim-a"], [], []],
        [[], [], ["#claim-e"]],
    ]
    (table,) = made.inside("table")
    heads = [made.text(i) for i in made.inside("th", table)]
    assert heads == ["question", *ledger.KINDS, "γ flips the answer", "The rule comes first", "Other claims"]
    leads = [a["href"] for a in made.all("a") if "class" not in a]
    assert leads == ["#question-flip", "#question-rule", "#question-none"]
    (figures,) = made.inside("details")
    assert [made.text(i) for i in made.inside("h3", figures)] == ["Zhang et al. 2024"]  # our own claims are of no figure
    assert [made.text(i) for i in made.inside("li", figures)] == ["Fig. 1 ✔◐", "Fig. 2 ✘"]


# ---------------------------------------------------------------- the page


def all_rows() -> list[dict[str, Any]]:
    """Those of the book without checking them, which would take a minute: the statuses take turns."""
    return [
        row | {"question": claim.question}
        for number, claim in enumerate(ledger.CLAIMS)
        for row in rows_of(a_claim(claim.id, STATUSES[number % len(STATUSES)], claim.paper, claim.statement, item=claim.item))
    ]


def test_the_page_of_all_claims_of_the_book() -> None:
    rows = all_rows()
    made = Made(ledger.page(rows))
    assert {row["question"] for row in rows} == set(QUESTIONS)  # every claim says which question it answers
    ids = [f"claim-{row['id']}" for question in QUESTIONS for row in rows if row["question"] == question]
    assert [attributes["id"] for attributes, _ in made.claims] == ids
    assert len(set(ids)) == len(ids) == len(rows)
    leads = [(a["href"] or "") for a in made.all("a") if "rm-square" not in (a.get("class") or "")]
    assert [lead for lead in leads if lead.startswith("#")] == [f"#question-{name}" for name in QUESTIONS]
    where = {claim.id: name for name, claims in ledger.CLAIMS_OF.items() for claim in claims}
    assert [lead for lead in leads if not lead.startswith("#")] == [f"{where[i[6:]]}.html#{i}" for i in ids]
    board = sorted(link["href"] or "" for row in made.rows("rm-scoreboard") for cell in row for link in cell)
    assert board == sorted(f"#{i}" for i in ids)  # one square a claim
    (figures,) = made.inside("details", kind="rm-figures")
    of_papers = sorted(f"#claim-{claim.id}" for claim in ledger.CLAIMS if claim.paper not in OURS)
    assert sorted(made.elements[i][1]["href"] or "" for i in made.inside("a", figures)) == of_papers
    heads = [made.elements[i][1]["id"] for i in made.inside("h3") if figures not in made.above[i]]
    assert heads == [f"question-{name}" for name in QUESTIONS]
    assert [a["name"] for a in made.all("select")] == ["paper", "status"]
    values = [a["value"] for a in made.all("option")]
    papers = {row["paper"] for row in rows}
    assert values == ["", *(p for p in PAPERS if p in papers), "", *STATUSES]
    for attributes, _ in made.claims:
        assert {attributes["data-paper"], attributes["data-status"]} <= set(values)
    assert "hidden" in next(a for a in made.all("div") if a.get("class") == "rm-filter")
    # without scripts everything is there
    assert not any(
        "hidden" in attributes for tag, attributes in made.elements if tag != "div" or attributes.get("class") == "rm-part"
    )


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
