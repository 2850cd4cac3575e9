"""The explorers as a reader has them: sliders, keys, links and drawings of the rendered book in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from browser import EXPLORERS, Watched, offline, press, settle
from playwright.sync_api import Browser, Locator, Page, expect

from lib.book.explorer import Explorer


def panel(page: Page, id: str, name: str) -> Locator:
    return page.locator(f"#{id} [data-panel={name}]")


def _shown(page: Page, id: str) -> tuple[str, str]:
    """The numbers, and all pictures as they are drawn."""
    return page.locator(f"#{id}-caption").text_content() or "", page.locator(f"#{id} .rm-panels").inner_html()


@pytest.fixture(scope="module")
def visit(html: Path, browser: Browser) -> Iterator[Callable[[str], Watched]]:
    """Opens a page with an explorer, once for all tests; each finds it as it opened, since its own link leads back there."""
    opened: dict[str, tuple[Watched, str]] = {}
    with ExitStack() as stack:

        def again(name: str) -> Watched:
            link = f"#{EXPLORERS[name]}-link"
            if name not in opened:
                watched = stack.enter_context(offline(browser))
                page = watched.open(html / "book" / f"{name}.html")
                settle(page)
                opened[name] = watched, page.locator(link).get_attribute("href") or ""
            watched, opening = opened[name]
            watched.page.set_viewport_size({"width": 1280, "height": 900})
            watched.page.evaluate("(hash) => { location.hash = '#'; location.hash = hash; }", opening)
            expect(watched.page.locator(link)).to_have_attribute("href", opening)
            return watched

        yield again


@pytest.mark.parametrize(("name", "id"), EXPLORERS.items(), ids=lambda v: v)
def test_arrow_keys_move_the_sliders_and_all_that_hangs_on_them(visit: Callable[[str], Watched], name: str, id: str) -> None:
    watched = visit(name)
    page = watched.page
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
def test_a_slider_has_a_stop_at_every_stored_value(visit: Callable[[str], Watched], name: str, id: str) -> None:
    watched = visit(name)
    page = watched.page
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


def test_the_hero_can_be_played(visit: Callable[[str], Watched]) -> None:
    """From the largest weights to the smallest with keys alone: answer, map, attention and sentence all follow."""
    parts = {name: f"#rm-landing [data-panel={name}]" for name in ("answers", "map", "flow")}
    watched = visit("intro")
    page = watched.page
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


def test_presets_lead_to_a_memorizer_and_to_a_reasoner(visit: Callable[[str], Watched]) -> None:
    watched = visit("intro")
    page = watched.page
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


def test_along_training_the_sentence_the_map_and_the_attention_follow(visit: Callable[[str], Watched]) -> None:
    watched = visit("intro")
    page = watched.page
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


def test_seeds_are_bars_to_choose_from(visit: Callable[[str], Watched]) -> None:
    watched = visit("intro")
    page = watched.page
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
def test_a_slider_plays_by_itself_and_stops_when_told(visit: Callable[[str], Watched], what: str, words: str) -> None:
    watched = visit("intro")
    page = watched.page
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


def test_whoever_takes_a_slider_stops_what_plays(visit: Callable[[str], Watched]) -> None:
    watched = visit("intro")
    page = watched.page
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
def test_two_views_stand_side_by_side(visit: Callable[[str], Watched], name: str, id: str) -> None:
    watched = visit(name)
    page = watched.page
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


def test_a_panel_that_cannot_follow_the_step_is_grey_and_says_so(visit: Callable[[str], Watched]) -> None:
    words = "grey: kept of the trained run only, it does not follow the step"
    watched = visit("02-phase-diagram")
    page = watched.page
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


def test_cells_of_the_diagram_are_named_and_reached_with_arrow_keys(visit: Callable[[str], Watched]) -> None:
    watched = visit("02-phase-diagram")
    page = watched.page
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
def test_the_controls_stay_in_sight(visit: Callable[[str], Watched], name: str, id: str, width: int) -> None:
    """While a reader scrolls through the pictures; and nothing lies on them."""
    watched = visit(name)
    page = watched.page
    page.set_viewport_size({"width": width, "height": 900})
    settle(page)
    for share in (0.4, 0.6, 0.75):
        # Scrolled and measured in one go: the pictures may still be drawn anew, and the page move.
        box = page.evaluate(
            """([id, share]) => {
              const view = document.getElementById(`${id}-view`).getBoundingClientRect();
              const top = view.top + scrollY, bottom = view.bottom + scrollY;
              const to = Math.max(Math.min(top + share * (bottom - top), bottom - 500), top);
              scrollTo({ top: to, behavior: "instant" });
              return document.querySelector(`#${id} .rm-controls`).getBoundingClientRect().toJSON();
            }""",
            [id, share],
        )
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


def test_the_step_slider_moves_along_the_stored_history(visit: Callable[[str], Watched]) -> None:
    watched = visit("05-condensation")
    page = watched.page
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


def test_a_wished_step_outlives_a_shorter_run(visit: Callable[[str], Watched]) -> None:
    watched = visit("05-condensation")
    page = watched.page
    page.locator("#rm-05-series").select_option("1")  # with a hundred evaluations
    press(page, "#rm-05-step", "End", *["ArrowLeft"] * 5)
    wished = (page.locator("#rm-05-caption").text_content() or "").split("At step ")[1].split(" ")[0]
    page.locator("#rm-05-series").select_option("0")  # with a dozen
    expect(page.locator("#rm-05-caption")).to_contain_text("When trained (")
    page.locator("#rm-05-series").select_option("1")
    expect(page.locator("#rm-05-caption")).to_contain_text(f"At step {wished} of")


def test_the_explorer_fits_a_small_screen(html: Path, browser: Browser) -> None:
    with offline(browser, 360) as watched:
        page = watched.open(html / "book" / "02-phase-diagram.html")
        for part in page.locator("#rm-02 input, #rm-02 svg, #rm-02 select").all():
            box = part.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 360


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
