"""The dials as a reader has them: opened from disk in a real browser, with no network."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import QUIET, offline
from planted_pages import ALPHAS, LENGTHS, TAUS, a_run, dials_data, explorer_data, leaf, one_dial
from playwright.sync_api import Browser, Page, expect

from lib.book.dials import Dials, _told, number
from lib.book.explorer import Explorer

THEMES = {"light": ("#fff", "#222", "#5a6270", "#c9c9c9"), "dark": ("#14181e", "#ced6dd", "#9ca4af", "#48566b")}
VISIT = """
([id, names]) => {
  const sliders = names.map((name) => document.getElementById(`${id}-${name}`));
  const found = [];
  const walk = (left) => {
    if (!left.length) {
      const began = performance.now();
      sliders[sliders.length - 1].dispatchEvent(new Event("input"));
      document.getElementById(id).getBoundingClientRect();
      const took = performance.now() - began;
      const wide = document.scrollingElement.scrollWidth;
      found.push([sliders.map((s) => Number(s.value)), document.querySelector(`#${id}-caption`).textContent, took, wide]);
      return;
    }
    for (let i = 0; i <= Number(left[0].max); i++) {
      left[0].value = i;
      left[0].dispatchEvent(new Event("input"));
      walk(left.slice(1));
    }
  };
  walk(sliders);
  return found;
}
"""


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """A page with these parts, in one of the book's themes."""

    def write(*parts: Dials | Explorer, theme: str = "light") -> Path:
        paper, ink, soft, rule = THEMES[theme]
        colours = f"--pst-color-background: {paper}; --pst-color-text-base: {ink};"
        colours += f"--pst-color-text-muted: {soft}; --pst-color-border: {rule};"
        look = f"html {{ {colours} }} body {{ background: {paper}; color: {ink}; max-width: 46rem; margin: 0.5rem auto; }}"
        head = f"<meta charset=utf-8><meta name=viewport content='width=device-width'><title>t</title><style>{look}</style>"
        body = "".join(part.static() for part in parts)
        path = tmp_path / "page.html"
        path.write_text(f"<!doctype html><html lang=en data-theme={theme}>{head}<main><h1>t</h1>{body}</main>")
        return path

    return write


def marker(page: Page, series: str) -> tuple[float, float]:
    """Where a series has its large dot."""
    dot = page.locator(f"[data-panel=curve] .rm-dot[data-series={series}]")
    return float(dot.get_attribute("cx") or ""), float(dot.get_attribute("cy") or "")


def press(page: Page, dial: str, *keys: str) -> None:
    page.locator(f"#rm-15-{dial}").focus()
    for key in keys:
        page.keyboard.press(key)


def test_arrow_keys_move_the_sliders_and_all_that_hangs_on_them(browser: Browser, write: Any) -> None:
    with offline(browser) as watched:
        page = watched.open(write(Dials(dials_data(), "rm-15")))
        caption, bars = page.locator("#rm-15-caption"), page.locator("[data-panel=bars]")
        expect(caption).to_contain_text("examples α′ = 0.8, examples in the prompt = 10, weight of the likeliest path τ = 0.5")
        expect(caption).to_contain_text("chain of thought 0.0812 (0.0650 to 0.0974); answers alone 0.491 (0.393 to 0.589)")
        expect(caption).to_contain_text("Mean over 5 seeds; band: 95 % interval over prompts.")
        expect(bars).to_contain_text("0.400")
        x, y = marker(page, "cot")
        press(page, "length", "ArrowRight")
        expect(page.locator("#rm-15-length")).to_have_attribute("aria-valuetext", "20")
        expect(caption).to_contain_text("examples in the prompt = 20")
        expect(caption).to_contain_text(f"chain of thought {_told(leaf(0.8, 20, 0.5, 0.5), dials_data()['y'])}")
        right, down = marker(page, "cot")
        assert right > x
        assert down > y  # fewer errors lie lower
        press(page, "tau", "End")
        assert marker(page, "cot")[1] > down
        expect(bars).to_contain_text("0.560")
        press(page, "alpha", "Home")
        expect(caption).to_contain_text("α′ = 0.4")
        assert marker(page, "cot")[1] < down
        expect(page.get_by_role("slider", name="examples in the prompt")).to_have_attribute("id", "rm-15-length")
        said = (
            "share of matching examples α′ = 0.4, examples in the prompt = 20, weight of the likeliest path τ = 0.7. chain of"
        )
        expect(page.locator("#rm-15 [role=status]")).to_contain_text(said)
        expect(page.locator("[data-panel=curve] svg").first).to_have_attribute(
            "aria-label", re.compile("at 20: chain of thought")
        )
        assert watched.complaints == []


def test_every_stop_is_a_computed_value_and_the_page_says_what_is_stored(browser: Browser, write: Any) -> None:
    data = Dials(dials_data(), "rm-15").data
    with offline(browser, 360) as watched:
        page = watched.open(write(Dials(dials_data(), "rm-15")))
        visited = page.evaluate(VISIT, ["rm-15", ["alpha", "length", "tau"]])
        assert watched.complaints == []
    assert [tuple(places) for places, *_ in visited] == list(itertools.product(range(4), range(5), range(2)))
    for (i, j, k), said, _, wide in visited:
        settings = (
            f"α′ = {number(ALPHAS[i])}, examples in the prompt = {LENGTHS[j]}, weight of the likeliest path τ = {TAUS[k]}."
        )
        assert settings in said
        told = [f"{s['label']} {_told(s['values'][i][j][k], data['y'])}" for s in data["series"]]
        assert f"share of wrong answers: {'; '.join(told)}." in said
        assert wide <= 360
    assert statistics.median(took for *_, took, _ in visited) < 50  # milliseconds


def test_what_is_seen_is_said_and_drawn_as_bars(browser: Browser, write: Any) -> None:
    with offline(browser) as watched:
        page = watched.open(write(Dials(dials_data(), "rm-15")))
        story, bars = page.locator("#rm-15-story"), page.locator("#rm-15 .rm-values li")
        expect(story).to_contain_text("“chain of thought” falls: ")
        expect(story).to_contain_text("At 10, “answers alone” is above “chain of thought”, and their bands do not meet.")
        assert bars.all_text_contents() == ["chain of thought 0.0812", "answers alone 0.491"]
        drawn = [bars.nth(i).locator(".rm-range").get_attribute("d") or "" for i in (0, 1)]
        (a, b), (c, d) = ([float(x) for x in re.findall(r"[MH]([\d.]+)", path)] for path in drawn)
        assert a < float(bars.nth(0).locator("circle").get_attribute("cx") or 0) < b < c < d
        press(page, "alpha", "Home")
        press(page, "length", "End")
        assert bars.all_text_contents() == ["chain of thought not computed", "answers alone not computed"]
        assert watched.complaints == []


def test_a_view_is_an_address(browser: Browser, write: Any) -> None:
    with offline(browser) as watched:
        path = write(Dials(dials_data(), "rm-15"))
        page = watched.open(path)
        press(page, "length", "End")
        press(page, "tau", "End")
        address = page.locator("#rm-15-link").get_attribute("href") or ""
        other = watched.open(path.rename(path.with_name("other.html")), address)
        expect(other.locator("#rm-15-caption")).to_contain_text(f"examples in the prompt = {LENGTHS[-1]}")
        other.evaluate("location.hash = '#rm-15?length=10&alpha=oops&tau=99&else=1'")
        expect(other.locator("#rm-15-caption")).to_contain_text("examples in the prompt = 10")
        assert watched.complaints == []


def test_a_dial_plays(browser: Browser, write: Any) -> None:
    with offline(browser) as watched:
        page = watched.open(write(Dials(dials_data(), "rm-15")))
        page.get_by_role("button", name="Play examples in the prompt").click()
        expect(page.get_by_role("button", name="Pause examples in the prompt")).to_be_visible()
        expect(page.locator("#rm-15-caption")).to_contain_text(f"examples in the prompt = {LENGTHS[-1]}")
        expect(page.get_by_role("button", name="Play examples in the prompt")).to_be_visible()
        assert page.locator("[id^=rm-15-play]").count() == 2  # two values need none
        assert watched.complaints == []


def test_the_marks_stand_where_the_values_are(browser: Browser, write: Any) -> None:
    """From the rules at 1 and 10⁻⁴, and from the first and the last stop."""
    with offline(browser) as watched:
        page = watched.open(write(Dials(dials_data(), "rm-15")))
        heights = [float(y) for y in re.findall(r'class="rm-rule" d="M[\d.]+ ([\d.]+)H', page.content())][:5]
        floor, top = max(heights), min(heights)
        press(page, "length", "Home")
        first = marker(page, "cot")
        press(page, "length", "End")
        last = marker(page, "cot")
        press(page, "length", "ArrowLeft")
        x, y = marker(page, "cot")
        assert x == pytest.approx((first[0] + last[0]) / 2, abs=0.2)  # 20 between 0 and 40
        mean = 0.6 * math.exp(-4)
        assert y == pytest.approx(top + (floor - top) * math.log10(mean) / -4, abs=0.2)
        fan = page.locator("[data-panel=curve] .rm-fan")
        assert [group.get_attribute("data-fan") for group in fan.all()] == ["0.4", "0.6", "1"]
        assert set(page.locator("[data-panel=curve] .rm-halo").all_text_contents()) == {"0.4", "0.6", "0.8", "1"}
        press(page, "alpha", "Home")
        assert [group.get_attribute("data-fan") for group in fan.all()] == ["0.6", "0.8", "1"]


def test_what_was_not_computed_is_said_and_not_drawn(browser: Browser, write: Any) -> None:
    with offline(browser) as watched:
        page = watched.open(write(Dials(dials_data(), "rm-15")))
        expect(page.locator("[data-panel=bars]")).to_contain_text("not computed")
        press(page, "alpha", "Home")
        assert page.locator(".rm-stop.rm-1").count() == 4  # of five stops
        assert page.locator(".rm-dot").count() == 2
        press(page, "length", "End")
        expect(page.locator("#rm-15-caption")).to_contain_text("chain of thought not computed; answers alone not computed")
        assert page.locator(".rm-dot").count() == 0
        assert watched.complaints == []


def test_a_gap_has_no_line_and_an_empty_view_says_so(browser: Browser, write: Any) -> None:
    full = [0.5, 0.4, 0.6]
    with offline(browser) as watched:
        gap = Dials(one_dial(full, full, None, full, full, None, full, log=False, low=0), "rm-gap")
        page = watched.open(write(gap, Dials(one_dial(None, None), "rm-none")))
        points = [line.get_attribute("points") or "" for line in page.locator("#rm-gap [data-panel=curve] polyline.rm-0").all()]
        assert [len(part.split()) for part in points[:3]] == [2, 2, 1]
        assert page.locator("#rm-gap .rm-band").count() == 3
        assert page.locator("#rm-gap .rm-stop").count() == 5
        expect(page.locator("#rm-none [data-panel=curve]")).to_contain_text("Nothing was computed here.")
        expect(page.locator("#rm-none-caption")).to_contain_text("error: a not computed.")
        assert watched.complaints == []


def test_zero_and_less_than_the_axis_reaches_stand_at_the_floor_as_open_marks(browser: Browser, write: Any) -> None:
    with offline(browser) as watched:
        page = watched.open(write(Dials(dials_data(), "rm-15")))
        floor = float(re.findall(r'rm-cursor" d="M[\d.]+ [\d.]+V([\d.]+)"', page.content())[0])
        assert page.locator(".rm-dot.rm-open").count() == 0
        press(page, "alpha", "End")
        press(page, "length", "End")
        expect(page.locator("#rm-15-caption")).to_contain_text("chain of thought 0; answers alone 0.")
        assert page.locator(".rm-dot.rm-open").count() == 2
        assert marker(page, "cot")[1] == marker(page, "icl")[1] == floor
        paper = page.locator(".rm-dot.rm-open").first.evaluate("(dot) => getComputedStyle(dot).fill")
        assert paper == "rgb(255, 255, 255)"
        expect(page.locator("[data-panel=curve] figcaption")).to_contain_text("Open dots at the floor: 0, or below 0.0001.")
        below = Dials(one_dial([2e-4, 0, 2e-3], [0.5, 0.4, 0.6]), "rm-below")
        page = watched.open(write(below))
        expect(page.locator("#rm-below-caption")).to_contain_text("a below 0.001 (0 to 0.00200)")
        assert page.locator(".rm-dot.rm-open").count() == 1
        page = watched.open(write(Dials(one_dial([0, 0, 0], [0.5, 0.4, 0.6], log=False, low=0), "rm-linear")))
        assert page.locator(".rm-open").count() == 0  # a linear axis has its 0
        assert watched.complaints == []


@pytest.mark.parametrize("y", [{"log": True, "low": 0.2, "high": 1}, {"log": False, "low": 0, "high": 250_000}])
def test_an_axis_of_any_range_has_its_marks(browser: Browser, write: Any, y: dict[str, Any]) -> None:
    with offline(browser, 360) as watched:
        value = [y["high"] / 2, y["high"] / 4, y["high"]]
        page = watched.open(write(Dials(one_dial(*[value] * 41, **y), "rm-15")))
        words = page.locator("[data-panel=curve] svg text").all_text_contents()
        expected = ["0.2", "0.5", "1"] if y["log"] else ["0", "50,000", "100,000", "150,000", "200,000", "250,000"]
        assert words[: len(expected)] == expected
        boxes = [text.bounding_box() for text in page.locator("[data-panel=curve] svg text").all()]
        assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= 360 for box in boxes)
        stops = [box for box in boxes[len(expected) : -1] if box]
        assert len(stops) > 4
        assert all(a["x"] + a["width"] < b["x"] for a, b in itertools.pairwise(stops))
        assert watched.complaints == []


@pytest.mark.parametrize("width", [360, 400, 1280])
def test_nothing_is_cut_off(browser: Browser, write: Any, width: int) -> None:
    with offline(browser, width) as watched:
        page = watched.open(write(Dials(dials_data(), "rm-15")))
        assert page.evaluate("() => document.scrollingElement.scrollWidth") <= width
        phone, controls, stops = width < 736, page.locator("#rm-15 .rm-controls").bounding_box(), page.locator(".rm-stops span")
        expect(page.locator("#rm-15 .rm-stops span:visible")).to_have_count(0 if phone else stops.count())
        assert controls is not None
        assert controls["height"] <= 120  # on a phone a dial is one line
        more = "" if phone else ", #rm-15 .rm-stops span"
        for part in page.locator(f"#rm-15 input, #rm-15 .rm-play, #rm-15 .rm-now, #rm-15 svg, #rm-15 svg text{more}").all():
            box = part.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width


@pytest.mark.parametrize("theme", THEMES)
def test_there_is_no_accessibility_finding(browser: Browser, write: Any, theme: str) -> None:
    with offline(browser) as watched:
        page = watched.open(write(Dials(dials_data(), "rm-15"), theme=theme))
        response = Axe().run(page, context="#rm-15", options=QUIET).response
        assert [f"{v['id']}: {n['html'][:150]}" for v in response["violations"] for n in v["nodes"]] == []
        colours = page.evaluate("() => [...document.querySelectorAll('.rm-dot')].map((dot) => getComputedStyle(dot).fill)")
        assert len(set(colours)) == 2
        blue = "rgb(0, 114, 178)" if theme == "light" else "rgb(79, 176, 236)"
        assert colours[0] == blue


def test_on_paper_there_are_no_sliders(browser: Browser, write: Any) -> None:
    with offline(browser, 680) as watched:
        page = watched.open(write(Dials(dials_data(), "rm-15")))
        page.emulate_media(media="print")
        assert not page.locator("#rm-15 .rm-controls").is_visible()
        expect(page.locator("#rm-15-caption")).to_contain_text("α′ = 0.8")
        assert page.evaluate("() => document.scrollingElement.scrollWidth") <= 680


def test_without_scripts_there_is_a_picture(browser: Browser, write: Any) -> None:
    with offline(browser, java_script_enabled=False) as watched:
        page = watched.open(write(Dials(dials_data(), "rm-15")))
        box = page.locator("#rm-15 noscript img").bounding_box()
        assert box is not None
        assert box["width"] > 400
        assert box["height"] > 150


def test_a_dial_of_one_value_is_no_choice_but_named(browser: Browser, write: Any) -> None:
    with offline(browser) as watched:
        without = {name: part for name, part in dials_data(alphas=[0.8]).items() if name != "fan"}
        page = watched.open(write(Dials(without, "rm-15")))
        assert not page.locator("#rm-15-alpha").is_visible()
        expect(page.locator("#rm-15-caption")).to_contain_text("α′ = 0.8")
        assert page.locator(".rm-fan").count() == 0
        assert watched.complaints == []


def test_several_share_a_page(browser: Browser, write: Any) -> None:
    with offline(browser) as watched:
        other = Explorer(explorer_data(a_run()), "rm-other", gamma=0.5, depth=2, panels=("diagram", "curve"))
        page = watched.open(write(Dials(dials_data(), "rm-15"), other, Dials(one_dial([1, 1, 1], None), "rm-n")))
        before = page.locator("#rm-n").inner_html(), page.locator("#rm-other .rm-panels").inner_html()
        press(page, "alpha", "End")
        assert (page.locator("#rm-n").inner_html(), page.locator("#rm-other .rm-panels").inner_html()) == before
        page.locator("#rm-n-n").fill("1")
        expect(page.locator("#rm-n-caption")).to_contain_text("a not computed")
        expect(page.locator("#rm-15-caption")).to_contain_text("α′ = 1,")
        assert watched.complaints == []


def test_hostile_strings_stay_strings(browser: Browser, write: Any) -> None:
    bad = "</script><img src=x onerror='window.hit=1'><b id=hit>\"&amp;"
    data = dials_data(about=bad)
    for part in (*data["dials"], *data["series"], data["y"], data["bars"], *data["bars"]["items"]):
        part["label"] = bad
    with offline(browser) as watched:
        page = watched.open(write(Dials(data, "rm-15")))
        for dial in ("alpha", "length", "tau"):
            press(page, dial, "End")
        expect(page.locator("#rm-15-caption")).to_contain_text(bad)
        expect(page.locator("#rm-15 [role=status]")).to_contain_text(bad)
        assert page.evaluate("() => window.hit") is None
        assert page.locator("#hit, main img").count() == 0
        assert watched.complaints == []
