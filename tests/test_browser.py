"""The rendered book as a reader has it: opened from disk in a real browser, with no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import launch, offline
from playwright.sync_api import Browser, Page, expect, sync_playwright
from test_book import pages as all_pages

from lib.book.explorer import Explorer

EXPLORERS = {"intro": "rm-landing", "02-phase-diagram": "rm-02", "03-information-flow": "rm-03", "05-condensation": "rm-05"}
DIALS = {"13-out-of-domain": "rm-13", "15-chain-of-thought": "rm-15"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


def pages(html: Path) -> list[Path]:
    """All but the front door, which leads on at once."""
    return [path for path in all_pages(html) if path.name != "index.html"]


def kinds(html: Path) -> list[Path]:
    """Every page of the book, and of the sources, which are all made alike, one a folder and kind of file."""
    alike = {(path.parent, tuple(path.suffixes)): path for path in pages(html) if "source" in path.relative_to(html).parts}
    return [path for path in pages(html) if "source" not in path.relative_to(html).parts] + list(alike.values())


def settle(page: Page) -> None:
    """Until equations are drawn, on pages that load the script for them."""
    page.evaluate("() => window.MathJax?.startup?.promise")


def test_every_page_loads_offline_without_a_complaint(html: Path, browser: Browser) -> None:
    equations = 0
    broken = "() => [...document.images].filter((i) => i.complete && !i.naturalWidth && i.offsetParent).map((i) => i.src)"
    with offline(browser) as watched:
        for path in pages(html):
            page = watched.open(path)
            settle(page)
            assert watched.complaints == [], path.name
            assert page.locator("h1").count() >= 1, path.name
            drawn = page.locator("article .math mjx-container, main .math mjx-container").count()
            assert drawn == page.locator("article .math, main .math").count(), path.name
            assert page.locator("mjx-merror, [data-mjx-error]").count() == 0, path.name
            equations += drawn
            assert page.evaluate(broken) == [], path.name
    assert equations > 20


@pytest.mark.parametrize("width", [360, 400, 1280])
def test_no_page_scrolls_sideways(html: Path, browser: Browser, width: int) -> None:
    too_wide = {}
    with offline(browser, width) as watched:
        for path in kinds(html):
            page = watched.open(path)
            settle(page)
            extent = page.evaluate("() => document.scrollingElement.scrollWidth")
            if extent > width:
                too_wide[path.name] = extent
    assert too_wide == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_has_a_serious_accessibility_finding(html: Path, browser: Browser, theme: str) -> None:
    found = []
    with offline(browser) as watched:
        watched.page.add_init_script(f"localStorage.setItem('mode', '{theme}'); localStorage.setItem('theme', '{theme}');")
        for path in kinds(html):
            page = watched.open(path)
            settle(page)
            assert page.evaluate("() => document.documentElement.dataset.theme") == theme
            response = Axe().run(page).response
            found += [
                f"{path.name}: {v['id']}: {node['html'][:150]}"
                for v in response["violations"]
                if v["impact"] in ("serious", "critical")
                for node in v["nodes"]
            ]
    assert found == []


def _shown(page: Page, id: str) -> tuple[str, str]:
    """The caption, and all pictures as they are drawn."""
    return page.locator(f"#{id}-caption").inner_text(), page.locator(f"#{id} .rm-panels").inner_html()


@pytest.mark.parametrize(("name", "id"), EXPLORERS.items(), ids=lambda v: v)
def test_arrow_keys_move_the_sliders_and_all_that_hangs_on_them(html: Path, browser: Browser, name: str, id: str) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / f"{name}.html")
        for slider, keys in (("gamma", ["ArrowRight"] * 6), ("depth", ["ArrowRight"]), ("step", ["ArrowLeft"])):
            control = page.locator(f"#{id}-{slider}")
            before, value = _shown(page, id), control.input_value()
            control.focus()
            for key in keys:
                page.keyboard.press(key)
            after = _shown(page, id)
            assert control.input_value() != value, slider
            assert before[0] != after[0], slider
            assert before[1] != after[1], slider
        expect(page.locator(f"label[for={id}-gamma]")).to_have_text("Initialization rate γ")
        assert watched.complaints == []


def test_what_is_not_computed_is_named_and_not_made_up(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "intro.html")
        gamma = page.locator("#rm-landing-gamma")
        gamma.fill("0.73")
        caption = page.locator("#rm-landing-caption")
        expect(caption).to_contain_text("You ask for γ = 0.73 at depth 2. The nearest computed point is γ = 0.7 at depth 2")
        expect(caption).to_contain_text("seed 0, rate 0.001, profile laptop, run ")
        gamma.fill("0.7")
        expect(caption).to_contain_text("γ = 0.7 at depth 2 was computed")


def test_the_step_slider_moves_along_the_stored_history(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "05-condensation.html")
        page.locator("#rm-05-series").select_option("1")  # the runs that recorded their eigenvalues
        spectrum = page.locator("#rm-05 [data-panel=spectrum]")
        last = spectrum.inner_html()
        step = page.locator("#rm-05-step")
        step.focus()
        page.keyboard.press("Home")
        expect(page.locator("#rm-05-caption")).to_contain_text("At step 300 of")
        expect(spectrum).to_contain_text("Spectrum at this step")
        assert spectrum.inner_html() != last


def test_a_wished_step_outlives_a_shorter_run(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "02-phase-diagram.html")
        step, depth = page.locator("#rm-02-step"), page.locator("#rm-02-depth")
        step.focus()
        page.keyboard.press("Home")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        wished = page.locator("#rm-02-caption").inner_text().split("At step ")[1].split(" ")[0]
        depth.fill("4")
        depth.fill("3")
        expect(page.locator("#rm-02-caption")).to_contain_text(f"At step {wished} of")


def test_far_from_everything_the_nearest_is_named(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "intro.html")
        page.locator("#rm-landing-depth").fill("6")
        page.locator("#rm-landing-gamma").fill("1.1")
        caption = page.locator("#rm-landing-caption")
        expect(caption).to_contain_text("You ask for γ = 1.10 at depth 6. The nearest computed point is γ = 1 at depth 4")
        expect(page.locator("#rm-landing .rm-heard")).to_contain_text("Nearest computed point: γ 1, depth 4, seed 0")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_paper_is_white_and_nothing_is_cut_off(html: Path, browser: Browser, theme: str) -> None:
    """What a browser lays out for print, on the width of A4 between its margins."""
    with offline(browser, 680) as watched:
        watched.page.add_init_script(f"localStorage.setItem('mode', '{theme}'); localStorage.setItem('theme', '{theme}');")
        for name in ("02-phase-diagram", "03-information-flow"):
            page = watched.open(html / "book" / f"{name}.html")
            settle(page)
            page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
            page.emulate_media(media="print")
            assert page.evaluate("() => document.documentElement.dataset.theme") == "light"
            assert page.evaluate("() => document.scrollingElement.scrollWidth") <= 680
            for part in page.locator("article aside.margin, article .rm-panels svg, article .rm-figure img").all():
                box = part.bounding_box()
                assert box is not None
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= 680
            page.emulate_media(media="screen")
            page.evaluate("() => window.dispatchEvent(new Event('afterprint'))")
            assert page.evaluate("() => document.documentElement.dataset.theme") == theme


def test_the_explorer_fits_a_small_screen(html: Path, browser: Browser) -> None:
    with offline(browser, 360) as watched:
        page = watched.open(html / "book" / "02-phase-diagram.html")
        for part in page.locator("#rm-02 input, #rm-02 svg, #rm-02 select").all():
            box = part.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 360


def test_without_scripts_there_is_a_picture(html: Path, browser: Browser) -> None:
    for name, id in (EXPLORERS | DIALS).items():
        with offline(browser, java_script_enabled=False) as watched:
            page = watched.open(html / "book" / f"{name}.html")
            box = page.locator(f"#{id} noscript img").bounding_box()
            assert box is not None
            assert box["width"] > 200
            assert box["height"] > 80


def test_the_claims_filter(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "claims.html")
        rows, said = page.locator("#rm-ledger tbody tr:visible"), page.locator("#rm-ledger output")
        tests = page.locator("#rm-ledger tbody tr[data-status='test of the task']").count()
        total = rows.count()
        claims = total - tests
        assert tests > 0
        expect(said).to_have_text(f"{claims} of {claims} claims; tests of the task: {tests}")
        page.get_by_label("status").select_option("partly")
        partly = rows.count()
        assert 0 < partly < total
        assert set(rows.locator("td:last-child span:first-child").all_inner_texts()) == {"◐ partly"}
        expect(said).to_have_text(f"{partly} of {claims} claims")
        page.get_by_label("paper").select_option("ours")
        both = rows.count()
        assert 0 < both < partly
        page.get_by_label("status").select_option("")
        page.get_by_label("paper").select_option("")
        assert rows.count() == total
        assert watched.complaints == []


def test_a_figure_leads_to_its_source_and_its_mention_to_the_figure(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "02-phase-diagram.html")
        page.locator(".rm-provenance a").first.click()
        assert page.url.endswith("source/lib/composition/phase_diagram/figures.py.html#flip")
        expect(page.locator("#flip")).to_contain_text("def flip")
        page = watched.open(html / "book" / "04-vectors.html")
        mention = page.locator("a", has_text="Figure 4.2").first
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


def test_hostile_strings_stay_strings(tmp_path: Path, browser: Browser) -> None:
    """Names that would run if they were taken for HTML: in results, in metrics, in what a run is called."""
    bad = "</script><img src=x onerror='window.hit=1'><b id=hit>"
    run = {"gamma": 0.5, "depth": 2, "seed": 0, "rate": 1e-3, "key": bad, "experiment": bad, "steps": 1}
    run |= {"final": {"a": 1.0, "s": 1.0}, "history": {"step": [1], "a": [1.0], "s": [1.0]}}
    answer, seen = {"id": "a", "label": bad, "short": bad}, {"id": "s", "label": bad, "short": bad}
    cell = {"gamma": 0.5, "depth": 2, "runs": 1, "a": [1.0, None], "s": [1.0, None]}
    data = {"series": [{"name": bad, "profile": bad, "cells": [cell], "runs": [run]}] * 2, "answers": [answer], "seen": seen}
    data |= {
        "question": {"tokens": [bad], "place": 0},
        "firstNumber": 0,
        "width": 4,
        "range": {"gamma": [0, 1], "depth": [1, 3]},
    }
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><title>t</title>{Explorer(data, 'rm-x', 0.5, 2).static()}")
    with offline(browser) as watched:
        page = watched.open(path)
        expect(page.locator("#rm-x-caption")).to_contain_text(bad)
        assert page.evaluate("() => window.hit") is None
        assert page.locator("#hit").count() == 0
        assert watched.complaints == []
