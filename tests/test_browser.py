"""The rendered book as a reader has it: opened from disk in a real browser, with no network."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import EXPLORERS, QUIET, offline, press, settle
from playwright.sync_api import Browser, Page, expect
from test_book import pages as all_pages

from lib.book.paths import BOOK
from lib.book.text import Text
from lib.core.read.fact import Fact

DIALS = {"13-out-of-domain": "rm-13", "15-chain-of-thought": "rm-15", "20-scan-and-cogs": "rm-20-cogs"}


def pages(html: Path) -> list[Path]:
    """All but the front door, which leads on at once."""
    return [path for path in all_pages(html) if path.name != "index.html"]


def kinds(html: Path) -> list[Path]:
    """Every page of the book, and of the sources, which are alike but for their words, one a kind of file."""
    alike = {tuple(path.suffixes): path for path in pages(html) if "source" in path.relative_to(html).parts}
    return [path for path in pages(html) if "source" not in path.relative_to(html).parts] + list(alike.values())


THIN = """() => {
  document.querySelectorAll("pre").forEach((pre) => {
    const seen = {};
    pre.querySelectorAll("span[class]").forEach((s) => {
      seen[s.className] = (seen[s.className] || 0) + 1;
      if (seen[s.className] > 3) s.remove();
    });
  });
  document.querySelectorAll("tbody").forEach((body) => {
    const seen = new Set();
    [...body.rows].forEach((row, i) => {
      const kinds = [row, ...row.querySelectorAll(":not(.katex *)")].map((part) => part.tagName + " " + part.className);
      if (i > 3 && kinds.every((kind) => seen.has(kind))) row.remove();
      kinds.forEach((kind) => seen.add(kind));
    });
  });
  [...document.querySelectorAll(".katex")].slice(4).forEach((equation) => equation.remove());
}"""
"""For colours, which take the longest: of every kind of word in a listing three stay, of a table its first rows and those with
a kind of element that no row above them has, of equations some. The others look like them."""


@dataclass
class Seen:
    """What was found on the pages that one browser opened, each once."""

    complaints: dict[str, list[str]] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    equations: int = 0
    too_wide: dict[tuple[str, int], int] = field(default_factory=dict)
    findings: dict[str, list[str]] = field(default_factory=lambda: {theme: [] for theme in ("light", "dark")})


BROKEN = "() => [...document.images].filter((i) => i.complete && !i.naturalWidth && i.offsetParent).map((i) => i.src)"
COLOURS = ("color-contrast", "link-in-text-block")
"""Axe's rules that a theme can break."""
BOTH: dict[str, Any] = {"runOnly": {"type": "rule", "values": list(COLOURS)}}
ONCE: dict[str, Any] = {"rules": {name: {"enabled": False} for name in COLOURS}}


def serious(page: Page, options: dict[str, Any]) -> list[str]:
    """What axe finds that is serious or worse."""
    return [
        f"{Path(page.url).name}: {v['id']}: {node['html'][:150]}"
        for v in Axe().run(page, options=QUIET | options).response["violations"]
        if v["impact"] in ("serious", "critical")
        for node in v["nodes"]
    ]


@pytest.fixture(scope="module")
def seen(html: Path, browser: Browser) -> Seen:
    """A page of every kind as it loads, at three widths, and in both themes, of which a reader's button makes the second."""
    found = Seen()
    with offline(browser) as watched:
        for path in kinds(html):
            page = watched.open(path)
            settle(page)
            _look(page, path.name, found)
            for width in (360, 400, 1280):
                page.set_viewport_size({"width": width, "height": 900})
                extent = page.evaluate("() => document.scrollingElement.scrollWidth")
                if extent > width:
                    found.too_wide[path.name, width] = extent
            if watched.complaints:
                found.complaints[path.name] = watched.complaints.copy()
            found.findings["light"] += serious(page, ONCE)
            page.evaluate(THIN)
            for theme, findings in found.findings.items():
                if theme == "dark":
                    page.locator(".theme-switch-button:visible").first.click()
                assert page.evaluate("() => document.documentElement.dataset.theme") == theme
                findings += serious(page, BOTH)
            page.evaluate("() => localStorage.clear()")
            watched.complaints.clear()  # axe asks for style sheets, which a page from disk may not
    return found


def _look(page: Page, name: str, found: Seen) -> None:
    """For a heading, for equations that are drawn, and for pictures that are there."""
    drawn = page.locator("article .math .katex, main .math .katex").count()
    found.equations += drawn
    lacks = {
        "a heading": page.locator("h1").count() < 1,
        "equations": drawn != page.locator("article .math, main .math").count() or page.locator(".katex-error").count() > 0,
        "pictures": page.evaluate(BROKEN) != [],
    }
    found.lacking += [f"{name} lacks {what}" for what, lacking in lacks.items() if lacking]


def test_every_page_loads_offline_without_a_complaint(seen: Seen) -> None:
    assert seen.complaints == {}
    assert seen.lacking == []
    assert seen.equations > 20


def test_no_page_scrolls_sideways(seen: Seen) -> None:
    assert seen.too_wide == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_has_a_serious_accessibility_finding(seen: Seen, theme: str) -> None:
    """All rules; those of colour in both."""
    assert seen.findings[theme] == []


def test_a_request_that_leaves_the_disk_is_heard(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "page.html"
    path.write_text(
        "<!doctype html><title>t</title><img src='http://x/'><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>"
    )
    with offline(browser) as watched:
        watched.open(path)
        assert [words for words in watched.complaints if words.startswith("request")] == ["request: http://x/"]


# ---------------------------------------------------------------- on paper, and without scripts


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_paper_is_white_and_nothing_is_cut_off(html: Path, browser: Browser, theme: str) -> None:
    """What a browser lays out for print, on the width of A4 between its margins."""
    with offline(browser, 680) as watched:
        watched.page.add_init_script(f"localStorage.setItem('mode', '{theme}'); localStorage.setItem('theme', '{theme}');")
        for name in ("02-phase-diagram", "03-information-flow"):
            page = watched.open(html / "book" / f"{name}.html")
            settle(page)
            assert page.evaluate("() => document.documentElement.dataset.theme") == theme
            page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
            page.emulate_media(media="print")
            assert page.evaluate("() => document.documentElement.dataset.theme") == "light"
            assert page.evaluate("() => document.scrollingElement.scrollWidth") <= 680
            expect(page.locator("img.rm-stacked:visible")).to_have_count(0)
            for part in page.locator("article aside.margin, article .rm-panels svg, article .rm-figure img").all():
                box = part.bounding_box()
                assert box is not None
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= 680
            page.emulate_media(media="screen")
            page.evaluate("() => window.dispatchEvent(new Event('afterprint'))")
            assert page.evaluate("() => document.documentElement.dataset.theme") == theme


def test_without_scripts_there_is_a_picture(html: Path, browser: Browser) -> None:
    with offline(browser, java_script_enabled=False) as watched:
        for name, id in (EXPLORERS | DIALS).items():
            page = watched.open(html / "book" / f"{name}.html")
            box = page.locator(f"#{id} noscript img").bounding_box()
            assert box is not None
            assert box["width"] > 200
            assert box["height"] > 80
            squares = page.locator("#rm-question td .rm-kind")
            assert (squares.count() > 40) == (name == "intro")
            assert all(square.is_visible() for square in squares.all())


# ---------------------------------------------------------------- the question, and what numbers rest on


def test_the_first_page_asks_before_it_shows(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "intro.html")
        squares, said = page.locator("#rm-question td .rm-kind"), page.locator("#rm-question output")
        total = squares.count()
        assert total > 40
        expect(squares.first).to_be_hidden()
        expect(said).to_be_empty()
        for answer, kind, other in (("93", "symmetric", "inferential"), ("89", "inferential", "symmetric")):
            press(page, f"#rm-question button[data-kind={kind}]", "Enter")
            same = page.locator(f"#rm-question td .rm-{kind}").count()
            assert 0 < same < total
            expect(said).to_contain_text(f"You say {answer}. So do {same} of {total} trained models")
            expect(page.locator(f"#rm-question button[data-kind={kind}]")).to_have_attribute("aria-pressed", "true")
            expect(page.locator(f"#rm-question button[data-kind={other}]")).to_have_attribute("aria-pressed", "false")
            assert all(square.is_visible() for square in squares.all())
        assert page.locator(".rm-numbers tr").count() > 5
        assert page.locator(".rm-numbers .rm-differs").all_inner_texts() == []  # the first page says what was computed
        assert watched.complaints == []


def test_on_a_phone_panels_stand_one_below_the_other(html: Path, browser: Browser) -> None:
    with offline(browser, 400) as watched:
        page = watched.open(html / "book" / "02-phase-diagram.html")
        stacked = page.locator("img.rm-stacked")
        assert stacked.count() >= 5
        image = stacked.first
        expect(image).to_be_visible()
        assert image.evaluate("(i) => i.getBoundingClientRect().width") <= 400
        assert len(image.get_attribute("alt") or "") > 20
        hidden = page.locator(".rm-figure[hidden]").count()
        assert hidden == stacked.count()
        page.set_viewport_size({"width": 1280, "height": 900})
        expect(image).to_be_hidden()
        expect(page.locator(".rm-figure[hidden]")).to_have_count(0)
        assert watched.complaints == []


def test_a_word_of_the_glossary_says_what_it_means_on_touch_and_by_keyboard(html: Path, browser: Browser) -> None:
    with offline(browser, has_touch=True) as watched:
        page = watched.open(html / "book" / "03-information-flow.html")
        word, told = page.locator("article a.rm-term").first, page.locator("#rm-rests")
        means = word.get_attribute("data-means") or ""
        assert len(means) > 10
        assert word.get_attribute("title") is None
        word.tap()
        expect(told).to_have_text(means)
        assert "glossary" not in page.url  # the first touch tells, the second leads there
        page.keyboard.press("Escape")
        expect(told).to_be_hidden()
        assert watched.complaints == []
        word.tap()
        word.tap()
        page.wait_for_url("**/glossary.html#term-*")


def test_a_number_says_what_it_rests_on_and_leads_into_the_lab_record(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "04-vectors.html")
        link, told = page.locator("a.rm-fact[href^='#n-']").first, page.locator("#rm-rests")
        lab = page.locator("details.rm-lab")
        row = page.locator(f"[id='{(link.get_attribute('href') or '')[1:]}']")
        rests = row.locator("td").nth(2).text_content() or ""
        assert len(rests) > 10
        expect(told).to_be_hidden()
        link.hover()
        expect(told).to_have_text(rests)
        expect(told).to_be_visible()
        expect(link).to_have_attribute("aria-describedby", "rm-rests")
        page.mouse.move(0, 0)
        expect(told).to_be_hidden()
        link.focus()
        expect(told).to_be_visible()
        page.keyboard.press("Escape")
        expect(told).to_be_hidden()
        assert lab.get_attribute("open") is None
        expect(row).to_be_hidden()
        page.keyboard.press("Enter")
        expect(lab).to_have_attribute("open", "")
        expect(row).to_be_in_viewport()
        address = f"#{page.locator('.rm-numbers tr[id]').last.get_attribute('id')}"
        page.goto("about:blank")
        page = watched.open(html / "book" / "04-vectors.html", address)  # as from another page
        expect(lab).to_have_attribute("open", "")
        expect(page.locator(f"[id='{address[1:]}']")).to_be_in_viewport()
        lost = "(all) => all.filter((a) => !document.getElementById(a.hash.slice(1))).length"
        assert page.locator("a.rm-fact").evaluate_all(lost) == 0
        assert watched.complaints == []


def test_a_number_says_what_it_rests_on_on_touch(tmp_path: Path, browser: Browser) -> None:
    """On a planted page: the first touch tells, the second leads into the lab record, one elsewhere hides."""
    facts = {"share": Fact("93%", "{}", "rests on share"), "runs": Fact("9", "{}", "rests on runs")}
    words = Text(["[93%](#n-share) and [8](#n-runs)"], facts)
    links = "".join(f"<p><a class='rm-fact' href='#n-{link.name}'>{link.written}</a></p>" for link in words.links)
    lab = f"<details class='rm-lab'><summary>Lab record</summary>{words.html()}</details>"
    script = f"<script src='{(BOOK / 'assets' / 'book.js').as_uri()}'></script>"
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><title>t</title>{script}<article><h1>So?</h1>{links}{lab}</article>")
    with offline(browser, has_touch=True) as watched:
        page = watched.open(path)
        share, runs, told = page.locator("a[href='#n-share']"), page.locator("a[href='#n-runs']"), page.locator("#rm-rests")
        share.tap()
        expect(told).to_have_text("rests on share")
        expect(share).to_have_attribute("aria-describedby", "rm-rests")
        runs.tap()
        expect(told).to_have_text("rests on runs. Here: 9")  # the text says 8
        expect(page.locator("details")).not_to_have_attribute("open", "")
        assert urlsplit(page.url).fragment == ""
        page.locator("h1").tap()
        expect(told).to_be_hidden()
        share.tap()
        expect(told).to_be_visible()
        share.tap()
        expect(told).to_be_hidden()
        expect(page.locator("details")).to_have_attribute("open", "")
        expect(page.locator("#n-share")).to_be_in_viewport()
        assert watched.complaints == []


# ---------------------------------------------------------------- the claims


def test_the_claims_filter(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "claims.html")
        rows, said = page.locator("#rm-ledger .rm-claim:visible"), page.locator("#rm-ledger output")
        tests = page.locator("#rm-ledger .rm-claim[data-status='test of the task']").count()
        total = rows.count()
        claims = total - tests
        assert tests > 0
        expect(said).to_have_text(f"{claims} of {claims} claims; tests of the task: {tests}")
        page.locator("#rm-ledger [name=status]").select_option("partly")
        partly = rows.count()
        assert 0 < partly < total
        assert set(rows.locator(".rm-verdict").all_inner_texts()) == {"◐ partly"}
        expect(said).to_have_text(f"{partly} of {claims} claims")
        assert urlsplit(page.url).query == "status=partly"
        page.locator("#rm-ledger [name=paper]").select_option("ours")
        both = rows.count()
        assert 0 < both < partly
        heads = page.locator("#rm-ledger .rm-part:visible")
        assert all(head.locator(".rm-claim:visible").count() for head in heads.all())  # no heading without a claim
        assert parse_qs(urlsplit(page.url).query) == {"paper": ["ours"], "status": ["partly"]}
        page.locator("#rm-ledger [name=status]").select_option("")
        page.locator("#rm-ledger [name=paper]").select_option("")
        assert rows.count() == total
        assert urlsplit(page.url).query == ""
        assert watched.complaints == []


def test_filters_of_an_address_are_restored(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "claims.html", "?paper=ours&status=partly")
        expect(page.locator("#rm-ledger [name=paper]")).to_have_value("ours")
        expect(page.locator("#rm-ledger [name=status]")).to_have_value("partly")
        rows = page.locator("#rm-ledger .rm-claim:visible")
        shown = rows.evaluate_all("(rows) => rows.map((row) => [row.dataset.paper, row.dataset.status].join())")
        assert set(shown) == {"ours,partly"}
        page = watched.open(html / "book" / "claims.html", "?paper=nobody&status=<b>&__proto__=partly&other=1")
        expect(page.locator("#rm-ledger [name=paper]")).to_have_value("")
        expect(page.locator("#rm-ledger [name=status]")).to_have_value("")
        assert rows.count() == page.locator("#rm-ledger .rm-claim").count()
        assert watched.complaints == []


def test_a_square_leads_to_its_claim_which_opens(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "claims.html")
        for square in page.locator("#rm-ledger .rm-scoreboard .rm-square").all()[::40]:
            name = (square.get_attribute("href") or "")[1:]
            claim = page.locator(f"[id='{name}']")
            assert claim.get_attribute("open") is None
            square.click()
            expect(claim).to_have_attribute("open", "")
            expect(claim).to_be_in_viewport()
            said = (square.get_attribute("title") or "").replace("_", "")  # plain text, where the claim has subscripts
            assert said.startswith(claim.locator(".rm-statement").inner_text()[:12])
            page.evaluate("() => scrollTo(0, 0)")
        targets = (
            "() => [...document.querySelectorAll('.rm-square')].filter((s) => !document.getElementById(s.hash.slice(1))).length"
        )
        assert page.evaluate(targets) == 0
        assert watched.complaints == []


def test_a_link_from_elsewhere_opens_a_claim(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "claims.html", "#claim-two-layers-flip")
        claim = page.locator("#claim-two-layers-flip")
        expect(claim).to_have_attribute("open", "")
        expect(claim).to_be_in_viewport()
        assert page.locator("#rm-ledger details.rm-claim[open]").count() == 1
        page = watched.open(html / "book" / "intro.html")
        square = page.locator("table.rm-contents .rm-square").first
        name = (square.get_attribute("href") or "").split("#")[1]
        square.click()
        page.wait_for_url(f"**/claims.html#{name}")
        expect(page.locator(f"[id='{name}']")).to_have_attribute("open", "")
        assert watched.complaints == []


def test_a_square_whose_claim_is_filtered_out_clears_the_filter(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "claims.html", "?status=partly")
        square = page.locator("#rm-ledger .rm-scoreboard .rm-square.rm-reproduced").first
        claim = page.locator(f"[id='{(square.get_attribute('href') or '')[1:]}']")
        expect(claim).to_be_hidden()
        square.click()
        expect(claim).to_be_visible()
        expect(claim).to_have_attribute("open", "")
        expect(page.locator("#rm-ledger [name=status]")).to_have_value("")
        assert urlsplit(page.url).query == ""
        assert urlsplit(page.url).fragment == claim.get_attribute("id")
        page = watched.open(html / "book" / "claims.html", "?status=partly")
        page.locator("#rm-ledger .rm-scoreboard .rm-square.rm-partly").first.click()
        expect(page.locator("#rm-ledger [name=status]")).to_have_value("partly")  # a claim that is there needs no other filter
        assert watched.complaints == []


# ---------------------------------------------------------------- links


def test_a_figure_leads_to_its_source_and_its_mention_to_the_figure(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "02-phase-diagram.html")
        page.locator(".rm-provenance a").first.click()
        assert page.url.endswith("source/lib/composition/phase_diagram/figures.py.html#kinds")
        expect(page.locator("#kinds")).to_contain_text("def kinds")
        page = watched.open(html / "book" / "04-vectors.html")
        mention = page.locator("a", has_text="Figure 4.3").first
        assert page.locator(str(mention.get_attribute("href"))).count() == 1
        assert watched.complaints == []


def test_the_front_door_leads_to_the_first_page(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "index.html")
        page.wait_for_url("**/book/intro.html")
        expect(page.locator("article h1").first).to_contain_text("Reason or Memorize")


def test_next_and_previous_lead_through_the_book(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "intro.html")
        page.locator("a.right-next").click()
        assert page.url.endswith("01-the-task.html")
        page.locator("a.left-prev").click()
        assert page.url.endswith("intro.html")
