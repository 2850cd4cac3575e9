"""The rendered book as a reader has it: opened from disk in a real browser, with no network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import QUIET, launch, offline
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from test_book import pages as all_pages

from lib.book.explorer import Explorer
from lib.book.paths import BOOK
from lib.book.text import Text
from lib.core.read.fact import Fact

EXPLORERS = {
    "intro": "rm-landing",
    "02-phase-diagram": "rm-02",
    "03-information-flow": "rm-03",
    "05-condensation": "rm-05",
    "09-memory-and-reasoning": "rm-09",
}
DIALS = {"13-out-of-domain": "rm-13", "15-chain-of-thought": "rm-15", "20-scan-and-cogs": "rm-20-cogs"}


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
    """Every page of the book, and of the sources, which are alike but for their words, one a kind of file."""
    alike = {tuple(path.suffixes): path for path in pages(html) if "source" in path.relative_to(html).parts}
    return [path for path in pages(html) if "source" not in path.relative_to(html).parts] + list(alike.values())


THIN = """() => document.querySelectorAll("pre").forEach((pre) => {
  const seen = {};
  pre.querySelectorAll("span[class]").forEach((s) => {
    seen[s.className] = (seen[s.className] || 0) + 1;
    if (seen[s.className] > 3) s.remove();
  });
})"""
"""Of every kind of word in a listing three stay: they look alike, and a long file has twenty thousand."""


def settle(page: Page) -> None:
    """Until what equations are set in has come."""
    page.evaluate("() => document.fonts.ready.then(() => true)")


@dataclass
class Seen:
    """What was found on the pages that one browser opened, each once."""

    complaints: dict[str, list[str]] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    equations: int = 0
    too_wide: dict[tuple[str, int], int] = field(default_factory=dict)
    findings: dict[str, list[str]] = field(default_factory=lambda: {theme: [] for theme in ("light", "dark")})


BROKEN = "() => [...document.images].filter((i) => i.complete && !i.naturalWidth && i.offsetParent).map((i) => i.src)"
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
"""For axe: the rules that a theme can break."""


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
            if "source" in path.relative_to(html).parts:
                page.evaluate(THIN)
            for theme, findings in found.findings.items():
                if theme == "dark":
                    page.locator(".theme-switch-button:visible").first.click()
                assert page.evaluate("() => document.documentElement.dataset.theme") == theme
                response = Axe().run(page, options=QUIET | (COLOURS if theme == "dark" else {})).response
                findings += [
                    f"{path.name}: {v['id']}: {node['html'][:150]}"
                    for v in response["violations"]
                    if v["impact"] in ("serious", "critical")
                    for node in v["nodes"]
                ]
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
    """All rules; in the dark those of colour."""
    assert seen.findings[theme] == []


def test_a_request_that_leaves_the_disk_is_heard(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "page.html"
    path.write_text(
        "<!doctype html><title>t</title><img src='http://x/'><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>"
    )
    with offline(browser) as watched:
        watched.open(path)
        assert [words for words in watched.complaints if words.startswith("request")] == ["request: http://x/"]


# ---------------------------------------------------------------- the explorers


def panel(page: Page, id: str, name: str) -> Locator:
    return page.locator(f"#{id} [data-panel={name}]")


def _shown(page: Page, id: str) -> tuple[str, str]:
    """The numbers, and all pictures as they are drawn."""
    return page.locator(f"#{id}-caption").text_content() or "", page.locator(f"#{id} .rm-panels").inner_html()


def press(page: Page, control: str, *keys: str) -> None:
    page.locator(control).focus()
    for key in keys:
        page.keyboard.press(key)


@pytest.mark.parametrize(("name", "id"), EXPLORERS.items(), ids=lambda v: v)
def test_arrow_keys_move_the_sliders_and_all_that_hangs_on_them(html: Path, browser: Browser, name: str, id: str) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / f"{name}.html")
        depths = [("depth", ["ArrowRight"])] if page.locator(f"#{id}-depth").is_visible() else []  # one is nothing to choose
        assert bool(depths) == (id not in ("rm-landing", "rm-09"))
        for slider, keys in (("gamma", ["ArrowRight"] * 2), *depths, ("step", ["ArrowLeft"])):
            control = page.locator(f"#{id}-{slider}")
            if control.input_value() == control.get_attribute("max"):  # opened at its end: the other way is left
                keys = [key.replace("Right", "Left") for key in keys]
            before, value, told = _shown(page, id), control.input_value(), control.get_attribute("aria-valuetext")
            press(page, f"#{id}-{slider}", *keys)
            after = _shown(page, id)
            assert control.input_value() != value, slider
            assert control.get_attribute("aria-valuetext") != told, slider
            assert before[0] != after[0], slider
            assert before[1] != after[1], slider
        expect(page.locator(f"label[for={id}-gamma]")).to_have_text("Initialization rate γ")
        assert watched.complaints == []


@pytest.mark.parametrize(("name", "id"), EXPLORERS.items(), ids=lambda v: v)
def test_a_slider_has_a_stop_at_every_stored_value(html: Path, browser: Browser, name: str, id: str) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / f"{name}.html")
        data = page.evaluate("(id) => JSON.parse(document.getElementById(`${id}-data`).textContent)", id)
        gammas = sorted({run["gamma"] for run in data["series"][0]["runs"]})
        gamma = page.locator(f"#{id}-gamma")
        assert gamma.get_attribute("max") == str(len(gammas) - 1)
        press(page, f"#{id}-gamma", "Home")
        for i, value in enumerate(gammas):
            assert gamma.input_value() == str(i)
            assert gamma.get_attribute("aria-valuetext") == f"γ {value:.2f}"
            expect(page.locator(f"#{id}-caption")).to_contain_text(f"γ = {value:g} at depth ")
            expect(page.locator(f"#{id}-caption")).to_contain_text("was computed.")
            page.keyboard.press("ArrowRight")
        assert gamma.input_value() == str(len(gammas) - 1)


def test_the_hero_can_be_played(html: Path, browser: Browser) -> None:
    """From the largest weights to the smallest with keys alone: answer, map, attention and sentence all follow."""
    parts = {name: f"#rm-landing [data-panel={name}]" for name in ("answers", "map", "flow")}
    with offline(browser) as watched:
        page = watched.open(html / "book" / "intro.html")
        gamma, story = page.locator("#rm-landing-gamma"), page.locator("#rm-landing-story")
        press(page, "#rm-landing-gamma", "Home")
        seen: dict[str, list[str]] = {name: [] for name in (*parts, "story", "bar")}
        for _ in range(int(gamma.get_attribute("max") or 0) + 1):
            for name, where in parts.items():
                seen[name].append(page.locator(where).inner_html())
            seen["bar"].append(panel(page, "rm-landing", "answers").locator("svg").first.get_attribute("aria-label") or "")
            seen["story"].append(story.inner_text())
            page.keyboard.press("ArrowRight")
        stops = len(seen["map"])
        assert stops >= 10
        assert len(set(seen["map"])) == len(set(seen["flow"])) == len(set(seen["answers"])) == stops  # each its own
        assert len(set(seen["bar"])) > 3
        assert len(set(seen["story"])) > 3
        assert "by the symmetry of the pairs it saw" in seen["story"][0]
        assert "composes the two functions it saw" in seen["story"][-1]
        assert seen["bar"][0].startswith("What this run answers: 93 ")
        expect(panel(page, "rm-landing", "answers")).to_contain_text("Key 99, pair (4, 3), in 350 sequences of other numbers.")
        assert watched.complaints == []


def test_presets_lead_to_a_memorizer_and_to_a_reasoner(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "intro.html")
        story, presets = page.locator("#rm-landing-story"), page.locator("#rm-landing .rm-preset")
        assert presets.all_inner_texts() == ["Clearest memorizer", "Clearest reasoner", "Least decided"]
        press(page, "#rm-landing-step", "Home")
        said = {}
        for preset in presets.all():
            preset.click()
            said[preset.inner_text()] = story.inner_text()
            assert said[preset.inner_text()].startswith("The trained model ")  # whatever the step was
        assert "by the symmetry of the pairs it saw" in said["Clearest memorizer"]
        assert "composes the two functions it saw" in said["Clearest reasoner"]
        assert len(set(said.values())) == 3
        for words, answer in (("Clearest memorizer", "93"), ("Clearest reasoner", "89")):
            page.get_by_role("button", name=words).click()
            label = panel(page, "rm-landing", "answers").locator("svg").first.get_attribute("aria-label") or ""
            shares = {name: int(share) for name, share in re.findall(r"(93|89) (\d+)%", label)}
            assert shares[answer] >= 90
            assert sum(shares.values()) <= 100
            expect(panel(page, "rm-landing", "flow").locator(".rm-answer")).to_have_text(f"answer {answer}")
        assert watched.complaints == []


def test_along_training_the_sentence_the_map_and_the_attention_follow(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "intro.html")
        story = page.locator("#rm-landing-story")
        last = {name: panel(page, "rm-landing", name).inner_html() for name in ("answers", "map", "flow")}
        assert story.inner_text().startswith("The trained model")
        press(page, "#rm-landing-step", "Home")
        expect(story).to_contain_text("At step 200 the model has not yet learned what it was taught")
        expect(panel(page, "rm-landing", "answers")).to_contain_text("What it answers at step 200")
        for name, before in last.items():
            assert panel(page, "rm-landing", name).inner_html() != before, name
        assert page.locator("#rm-landing .rm-grey").count() == 0
        page.keyboard.press("End")
        assert {name: panel(page, "rm-landing", name).inner_html() for name in last} == last


def test_seeds_are_bars_to_choose_from(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "intro.html")
        seeds = page.locator("#rm-landing [data-seed]")
        assert [seed.get_attribute("data-seed") for seed in seeds.all()] == ["0", "1", "2", "3"]
        assert [seed.get_attribute("aria-pressed") for seed in seeds.all()] == ["true", "false", "false", "false"]
        before = panel(page, "rm-landing", "map").inner_html()
        seeds.nth(2).focus()
        page.keyboard.press("Enter")
        expect(page.locator("#rm-landing-caption")).to_contain_text("seed 2,")
        expect(seeds.nth(2)).to_have_attribute("aria-pressed", "true")
        expect(seeds.nth(2)).to_be_focused()
        assert panel(page, "rm-landing", "map").inner_html() != before
        assert re.fullmatch(r"seed 2: 93 \d+%, 89 \d+%", seeds.nth(2).get_attribute("aria-label") or "")
        press(page, "#rm-landing-gamma", "ArrowRight")
        expect(page.locator("#rm-landing-caption")).to_contain_text("seed 2,")  # the seed stays
        assert page.locator("#rm-landing select").count() == 0
        assert watched.complaints == []


LINKED = "#rm-landing?series=0&gamma=0.7&depth=2&seed=1&step=2"


def test_a_permalink_restores_the_view_and_the_view_gives_it_back(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "intro.html", LINKED)
        expect(page.locator("#rm-landing-gamma")).to_have_attribute("aria-valuetext", "γ 0.70")
        expect(page.locator("#rm-landing-step")).to_have_value("2")
        caption, link = page.locator("#rm-landing-caption"), page.locator("#rm-landing-link")
        expect(caption).to_contain_text("Shown: γ = 0.7, depth 2, seed 1,")
        expect(caption).to_contain_text("At step 600 of ")
        expect(link).to_have_attribute("href", LINKED)
        assert page.evaluate("() => document.getElementById('rm-landing-view').getBoundingClientRect().top") < 900
        shown = _shown(page, "rm-landing")
        press(page, "#rm-landing-gamma", "End")
        press(page, "#rm-landing-step", "End")
        other = link.get_attribute("href") or ""
        assert "gamma=1&" in other
        assert other.endswith("step=-1")
        for hash in (other, LINKED):  # as where a reader follows one within the page
            page.evaluate("(hash) => { location.hash = hash; }", hash)
        expect(caption).to_contain_text("At step 600 of ")
        assert _shown(page, "rm-landing") == shown
        page = watched.open(html / "book" / "intro.html", other)
        expect(caption).to_contain_text("γ = 1 at depth 2 was computed")
        assert watched.complaints == []


MALFORMED = (
    "#rm-landing?series=9&gamma=small&depth=&seed=1e999&step=NaN&other=1",
    "#rm-landing?",
    "#rm-landing?gamma",
    "#rm-landing?series=0.5&gamma=Infinity",
    "#rm-landing?series=__proto__&gamma=<img src=x onerror=hit>",
    "#rm-other?gamma=0.7&step=2",
    "#rm-landing",
    "#rm-landing?gamma=%",
    "#%",
)


def test_a_malformed_permalink_is_ignored(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "intro.html")
        shown, href = _shown(page, "rm-landing"), page.locator("#rm-landing-link").get_attribute("href")
        for anchor in MALFORMED:
            page.goto("about:blank")
            watched.open(html / "book" / "intro.html", anchor)
            assert _shown(page, "rm-landing") == shown, anchor
            expect(page.locator("#rm-landing-link")).to_have_attribute("href", href or "")
            assert watched.complaints == [], anchor


@pytest.mark.parametrize("anchor", ["?step=1e6", "?step=-7", "?seed=77", "?depth=-3&gamma=0.3"])
def test_a_permalink_beyond_everything_shows_the_nearest(html: Path, browser: Browser, anchor: str) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "intro.html", f"#rm-landing{anchor}")
        expect(page.locator("#rm-landing-caption")).to_contain_text("Shown: γ = 0.3, depth 2, seed ")
        expect(page.locator("#rm-landing-caption")).to_contain_text("When trained (")
        assert watched.complaints == []


@pytest.mark.parametrize(("what", "words"), [("gamma", "γ"), ("step", "training")])
def test_a_slider_plays_by_itself_and_stops_when_told(html: Path, browser: Browser, what: str, words: str) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "intro.html")
        slider, play = page.locator(f"#rm-landing-{what}"), page.locator(f"#rm-landing-play-{what}")
        expect(play).to_have_attribute("aria-label", f"Play {words}")
        before = panel(page, "rm-landing", "map").inner_html()
        play.click()
        expect(play).to_have_attribute("aria-label", f"Pause {words}")
        expect(slider).to_have_value("0")  # from the end it begins anew
        expect(slider).to_have_value("2", timeout=8000)
        assert panel(page, "rm-landing", "map").inner_html() != before
        play.click()
        expect(play).to_have_attribute("aria-label", f"Play {words}")
        still = slider.input_value()
        page.wait_for_timeout(1700)
        assert slider.input_value() == still
        press(page, f"#rm-landing-{what}", "End", "ArrowLeft")
        play.click()
        last = slider.get_attribute("max") or ""
        expect(slider).to_have_value(last, timeout=8000)
        expect(play).to_have_attribute("aria-label", f"Play {words}", timeout=8000)  # at the end it stops by itself
        assert watched.complaints == []


def test_whoever_takes_a_slider_stops_what_plays(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "intro.html")
        gamma, step = page.locator("#rm-landing-play-gamma"), page.locator("#rm-landing-play-step")
        gamma.click()
        step.click()  # one at a time
        expect(gamma).to_have_attribute("aria-label", "Play γ")
        expect(step).to_have_attribute("aria-label", "Pause training")
        press(page, "#rm-landing-gamma", "ArrowRight")
        expect(step).to_have_attribute("aria-label", "Play training")
        gamma.click()
        page.locator("#rm-landing .rm-preset").nth(1).click()
        expect(gamma).to_have_attribute("aria-label", "Play γ")
        assert watched.complaints == []


@pytest.mark.parametrize(("name", "id"), EXPLORERS.items(), ids=lambda v: v)
def test_two_views_stand_side_by_side(html: Path, browser: Browser, name: str, id: str) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / f"{name}.html")
        pin, names = (
            page.locator(f"#{id}-pin"),
            page.locator(f"#{id} .rm-panel").evaluate_all("(a) => a.map((p) => p.dataset.panel)"),
        )
        pictures = {n: panel(page, id, n).locator("svg").first.inner_html() for n in names}
        expect(pin).to_have_attribute("aria-pressed", "false")
        pin.click()
        expect(pin).to_have_attribute("aria-pressed", "true")
        expect(pin).to_have_text("Stop comparing")
        press(page, f"#{id}-gamma", "End" if id == "rm-landing" else "Home")
        for n in names:
            pair = panel(page, id, n).locator(".rm-pair > div:not(.rm-seeds)")
            if n == "diagram":  # which shows all points at once
                assert pair.count() == 0
                continue
            assert pair.count() == 2, n
            now, kept = (pair.nth(i).locator(".rm-then").first.inner_text() for i in (0, 1))
            assert now.startswith("now: γ "), n
            assert kept.startswith("kept: γ "), n
            assert now.removeprefix("now") != kept.removeprefix("kept"), n
            first, second = (pair.nth(i).locator("svg").first.inner_html() for i in (0, 1))
            assert first != second, n
            assert second == pictures[n], n  # the kept one is as it was
        assert page.evaluate("() => document.scrollingElement.scrollWidth") <= 1280
        pin.click()
        expect(pin).to_have_text("Keep to compare")
        assert page.locator(f"#{id} .rm-pair").count() == 0
        assert watched.complaints == []


def test_a_panel_that_cannot_follow_the_step_is_grey_and_says_so(html: Path, browser: Browser) -> None:
    words = "grey: kept of the trained run only, it does not follow the step"
    with offline(browser) as watched:
        page = watched.open(html / "book" / "02-phase-diagram.html")
        names = ("flow", "map", "spectrum")
        whole = {name: panel(page, "rm-02", name).locator("svg").inner_html() for name in names}
        assert page.locator("#rm-02 .rm-grey").count() == 0
        press(page, "#rm-02-step", "Home")
        for name in names:
            expect(panel(page, "rm-02", name)).to_contain_text(words)
            grey = panel(page, "rm-02", name).locator(".rm-grey svg")
            assert grey.inner_html() == whole[name], name
            look = grey.evaluate("(svg) => getComputedStyle(svg.parentNode).filter + getComputedStyle(svg.parentNode).opacity")
            assert "grayscale(1)" in look
        for name in ("answers", "curve"):  # which follow
            assert panel(page, "rm-02", name).locator(".rm-grey").count() == 0
            assert words not in panel(page, "rm-02", name).inner_text()
        page.keyboard.press("End")
        assert page.locator("#rm-02 .rm-grey").count() == 0
        assert watched.complaints == []


def test_cells_of_the_diagram_are_named_and_reached_with_arrow_keys(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "02-phase-diagram.html")
        cells = page.locator("#rm-02 .rm-cell")
        assert cells.count() > 20
        titles = cells.locator("title").all_text_contents()
        assert len(titles) == cells.count()
        for title in titles:
            assert re.fullmatch(r"γ [\d.]+, depth \d: (symmetric|inferential) \(key − \d+\) \d+%, mean of \d+ runs?", title)
        assert titles == [cell.get_attribute("aria-label") for cell in cells.all()]
        focused = "() => (({ gamma, depth, row }) => [Number(gamma), Number(depth), row])(document.activeElement.dataset)"
        reachable = page.locator("#rm-02 .rm-cell[tabindex='0']")
        expect(reachable).to_have_count(1)
        reachable.focus()
        gamma, depth, row = page.evaluate(focused)
        assert (gamma, depth, row) == (0.8, 3, "0")
        for key, to in (
            ("ArrowRight", (0.9, 3)),
            ("ArrowLeft", (0.8, 3)),
            ("ArrowUp", (0.8, 4)),
            ("ArrowUp", (0.8, 4)),  # there is nothing above
            ("ArrowDown", (0.8, 3)),
            ("ArrowDown", (0.8, 2)),
            ("ArrowLeft", (0.7, 2)),
        ):
            page.keyboard.press(key)
            assert page.evaluate(focused) == [*to, "0"], key
            expect(page.locator("#rm-02-caption")).to_contain_text(f"γ = {to[0]:g} at depth {to[1]} was computed")
            expect(reachable).to_have_count(1)
            assert page.evaluate("() => document.activeElement.tabIndex") == 0
            assert page.evaluate("() => document.activeElement.getAttribute('aria-pressed')") == "true"
        expect(page.locator("#rm-02-gamma")).to_have_attribute("aria-valuetext", "γ 0.70")  # the sliders follow
        expect(page.locator("#rm-02-depth")).to_have_attribute("aria-valuetext", "2 layers")
        page.locator("#rm-02 .rm-cell[data-row='1'][data-gamma='0.5'][data-depth='4']").click()
        expect(page.locator("#rm-02-caption")).to_contain_text("γ = 0.5 at depth 4 was computed")
        assert watched.complaints == []


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize(("name", "id"), EXPLORERS.items(), ids=lambda v: v)
def test_the_controls_stay_in_sight(html: Path, browser: Browser, name: str, id: str, width: int) -> None:
    """While a reader scrolls through the pictures; and nothing lies on them."""
    with offline(browser, width) as watched:
        page = watched.open(html / "book" / f"{name}.html")
        settle(page)
        ends = page.evaluate(
            "(id) => { const r = document.getElementById(`${id}-view`).getBoundingClientRect();"
            " return [r.top + scrollY, r.bottom + scrollY]; }",
            id,
        )
        for share in (0.4, 0.6, 0.75):
            to = min(ends[0] + share * (ends[1] - ends[0]), ends[1] - 500)
            page.evaluate("(y) => scrollTo({ top: y, behavior: 'instant' })", max(to, ends[0]))
            box = page.locator(f"#{id} .rm-controls").bounding_box()
            assert box is not None
            assert box["y"] >= 0, share
            assert box["y"] + box["height"] <= 900, share
            assert box["height"] < 400, share  # it leaves room for the pictures
            on_top = page.evaluate(
                "(id) => { const i = document.getElementById(`${id}-gamma`), r = i.getBoundingClientRect();"
                " return document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2) === i; }",
                id,
            )
            assert on_top, share


REDRAW = """
(id) => {
  const gamma = document.getElementById(`${id}-gamma`), step = document.getElementById(`${id}-step`), took = [];
  for (let i = 0; i < 20; i++) {
    const slider = i % 2 ? step : gamma;
    slider.value = Math.round((Number(slider.max) * (i >> 1)) / 9);
    const began = performance.now();
    slider.dispatchEvent(new Event("input"));
    document.getElementById(id).getBoundingClientRect();
    took.push(performance.now() - began);
  }
  return took;
}
"""


@pytest.mark.parametrize(("name", "id"), EXPLORERS.items(), ids=lambda v: v)
def test_a_redraw_takes_less_than_a_moment(html: Path, browser: Browser, name: str, id: str) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / f"{name}.html")
        settle(page)
        took = page.evaluate(REDRAW, id)
        assert len(took) == 20
        assert sum(took) / 20 <= 50, took  # milliseconds
        assert watched.complaints == []


def test_what_is_not_computed_is_named_and_not_made_up(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "intro.html", "#rm-landing?gamma=0.73")
        caption, link = page.locator("#rm-landing-caption"), page.locator("#rm-landing-link")
        expect(caption).to_contain_text("You ask for γ = 0.73 at depth 2. The nearest computed point is γ = 0.7 at depth 2")
        expect(caption).to_contain_text("seed 0, learning rate 0.001, profile laptop, run ")
        expect(page.locator("#rm-landing-gamma")).to_have_attribute("aria-valuetext", "γ 0.70")  # what is shown
        assert "gamma=0.73&" in (link.get_attribute("href") or "")
        press(page, "#rm-landing-gamma", "ArrowRight", "ArrowLeft")
        expect(caption).to_contain_text("γ = 0.7 at depth 2 was computed")


def test_far_from_everything_the_nearest_is_named(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "02-phase-diagram.html", "#rm-02?gamma=1.1&depth=6")
        caption = page.locator("#rm-02-caption")
        expect(caption).to_contain_text("You ask for γ = 1.10 at depth 6. The nearest computed point is γ = 1 at depth 4")
        expect(page.locator("#rm-02 .rm-heard")).to_contain_text("Nearest computed point: γ 1, depth 4, seed 0")
        assert page.locator("#rm-02 .rm-asked").count() == 2  # a cross in each diagram, where no cell is


def test_the_step_slider_moves_along_the_stored_history(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "05-condensation.html")
        page.locator("#rm-05-series").select_option("1")  # the runs that recorded their eigenvalues
        spectrum = panel(page, "rm-05", "spectrum")
        last = spectrum.inner_html()
        press(page, "#rm-05-step", "Home")
        expect(page.locator("#rm-05-caption")).to_contain_text("At step 300 of")
        expect(spectrum).to_contain_text("Spectrum, as far as recorded")
        assert spectrum.locator(".rm-grey").count() == 0
        assert spectrum.inner_html() != last
        page.locator("#rm-05-series").select_option("3")  # the played runs, of which everything was kept
        expect(page.locator("#rm-05-caption")).to_contain_text("At step 200 of")
        assert page.locator("#rm-05 .rm-grey").count() == 0


def test_a_wished_step_outlives_a_shorter_run(html: Path, browser: Browser) -> None:
    with offline(browser) as watched:
        page = watched.open(html / "book" / "05-condensation.html")
        page.locator("#rm-05-series").select_option("1")  # with a hundred evaluations
        press(page, "#rm-05-step", "End", *["ArrowLeft"] * 5)
        wished = (page.locator("#rm-05-caption").text_content() or "").split("At step ")[1].split(" ")[0]
        page.locator("#rm-05-series").select_option("0")  # with a dozen
        expect(page.locator("#rm-05-caption")).to_contain_text("When trained (")
        page.locator("#rm-05-series").select_option("1")
        expect(page.locator("#rm-05-caption")).to_contain_text(f"At step {wished} of")


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


def test_the_explorer_fits_a_small_screen(html: Path, browser: Browser) -> None:
    with offline(browser, 360) as watched:
        page = watched.open(html / "book" / "02-phase-diagram.html")
        for part in page.locator("#rm-02 input, #rm-02 svg, #rm-02 select").all():
            box = part.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 360


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
