"""The dials' pages: only computed values, safe wherever they come from, small, and the same twice."""

from __future__ import annotations

import copy
import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from planted_pages import HOSTILE, LENGTHS, Leaf, Made, dials_data, leaf, one_dial

from lib.book import dials
from lib.book import display as chapter
from lib.book.dials import Dials, draw_opening, number, result
from lib.core.record.spec import SpecError

# ---------------------------------------------------------------- what stands in a page


def test_a_page_holds_all_it_needs_and_the_data() -> None:
    made = Dials(dials_data(), "rm-15")
    html = made.static()
    page = Made(html)
    assert [tag for tag, _ in page.elements] == ["div", "style", "div", "noscript", "img", "script", "script"]
    assert [found["id"] for tag, found in page.elements if tag == "div"] == ["rm-15", "rm-15-view"]
    assert page.only("img")["alt"] == made.words()
    assert page.data() == json.loads(json.dumps(made.data))
    assert page.data()["series"][0]["values"][2][2][0] == pytest.approx(leaf(0.8, 10, 0.5, 0.5), rel=1e-5)
    assert html == made.static() == Dials(dials_data(), "rm-15").static()
    assert not re.search(r"https?://(?!www\.w3\.org/)", html)
    assert re.fullmatch(r'(?s)<div class="rm-explorer-host".*</script></div>', html)  # what nbval leaves out


def test_the_data_of_the_caller_stay_as_they_are() -> None:
    data = dials_data()
    before = copy.deepcopy(data)
    Dials(data, "a")
    assert data == before


def test_hostile_words_stay_words() -> None:
    data = dials_data(about=HOSTILE)
    bad = HOSTILE.replace("\u2028", "$x^{") + "$"  # and a formula that no figure could draw
    for part in (*data["dials"], *data["series"], data["y"], data["bars"], *data["bars"]["items"]):
        part["label"] = bad
    made = Dials(data, "rm-1")
    html = made.static()
    assert not any(part in html for part in (HOSTILE, bad, "alert('1')</"))
    page = Made(html)
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in Made(Dials(dials_data(), "rm-1").static()).elements]
    assert page.only("img")["alt"] == made.words()
    assert page.data()["about"] == HOSTILE
    assert {part["label"] for part in (*page.data()["series"], *page.data()["bars"]["items"])} == {bad}


def test_a_chapter_shows_the_dials_and_prints_their_opening_view(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, shown = Dials(dials_data(), "rm-1"), []
    monkeypatch.setattr(dials, "display", lambda bundle, raw: shown.append(bundle))
    monkeypatch.setattr(chapter, "display", lambda html: shown.append(html.data))
    chapter.explore(made, [], "smoke")
    assert shown[0] == {"text/html": made.static(), "text/plain": made.words()}
    assert shown[1].startswith('<p class="rm-provenance">')
    assert "<code>lib/book/dials.py</code>, <code>Dials</code>" in shown[1]
    assert capsys.readouterr().out == made.words() + "\n"


# ---------------------------------------------------------------- the opening view, in words and as a picture


def test_the_opening_view_in_words() -> None:
    mean, icl = 0.6 * math.exp(-2), 0.6 * math.exp(-0.2)
    assert (round(mean, 4), round(icl, 3)) == (0.0812, 0.491)
    assert Dials(dials_data(), "a").words() == (
        "Dials over 76 computed values; they open at share of matching examples α′ = 0.8, examples in the prompt = 10, "
        "weight of the likeliest path τ = 0.5; share of wrong answers: chain of thought 0.0812 (0.0650 to 0.0974), "
        "answers alone 0.491 (0.393 to 0.589)"
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "not computed"),
        ([0.5, 0.25, 0.75], "0.500 (0.250 to 0.750)"),
        ([0.5, 0.5, 0.5], "0.500"),
        ([0, 0, 0], "0"),
        ([0, 0, 0.0123456], "0 (0 to 0.0123)"),
        ([0.0009, 0, 0.002], "below 0.001 (0 to 0.00200)"),
        ([0.002, -0.1, 0.01], "0.00200 (below 0.001 to 0.0100)"),
        ([0.001, 0.001, 0.001], "0.00100"),
        ([1, 0.99, 0.999999999999], "1.00 (0.990 to 1.00)"),  # rounding moved the interval's end off its mean
    ],
)
def test_a_value_in_words(value: Leaf, said: str) -> None:
    assert Dials(one_dial(value, None), "a").words().endswith(f"error: a {said}")


@pytest.mark.parametrize(
    ("value", "setting", "shown"),
    [
        (0.8, "0.8", "0.800"),
        (20.0, "20", "20.0"),
        (1e5, "100,000", "100,000"),
        (0.1 + 0.2, "0.3", "0.300"),
        (0.3125, "0.3125", "0.313"),
        (0.99951, "0.99951", "1.00"),
        (1.2345e-5, "0.000012345", "0.0000123"),
        (-1234.5, "-1,234.5", "-1,230"),
        (0.0, "0", "0"),
    ],
)
def test_numbers_have_no_exponent(value: float, setting: str, shown: str) -> None:
    assert (number(value), result(value)) == (setting, shown)


def test_the_picture_shows_the_opening_view() -> None:
    figure = draw_opening(Dials(dials_data(), "a").data)
    curves, bars = figure.axes
    assert (curves.get_yscale(), curves.get_ylim()) == ("log", (1e-4, 1))
    assert (curves.get_xlabel(), curves.get_ylabel()) == ("examples in the prompt", "share of wrong answers")
    lines = {line.get_label(): line for line in curves.lines}
    expected = [0.6 * math.exp(-0.2 * n) for n in LENGTHS]
    np.testing.assert_allclose(lines["chain of thought"].get_ydata(), expected, rtol=1e-5)
    assert [text.get_text() for text in curves.texts] == ["0.4", "0.6", "1"]
    fan = [line for line in curves.lines if line.get_linewidth() < 1]
    assert np.isnan(fan[0].get_ydata()[-1])  # not computed there
    assert fan[-1].get_ydata()[-1] == 1e-4  # 0 stands at the floor
    assert [text.get_text() for text in bars.texts] == ["0.400", "same pattern, same step", "not computed", "other"]
    plt.close(figure)


@pytest.mark.parametrize(("leaf", "place", "face"), [([0, 0, 0.01], 1e-3, "white"), ([0.5, 0.4, 0.6], 0.5, "#0072B2")])
def test_what_an_axis_does_not_reach_stands_at_its_floor_as_an_open_mark(leaf: Leaf, place: float, face: str) -> None:
    figure = draw_opening(Dials(one_dial(leaf, None), "a").data)
    (mark,) = [line for line in figure.axes[0].lines if line.get_marker() == "o" and np.isfinite(line.get_ydata()).all()]
    assert (mark.get_ydata().item(), mark.get_markerfacecolor()) == (place, face)
    plt.close(figure)


# ---------------------------------------------------------------- ids and shares


@pytest.mark.parametrize("id", ["", "-", "a b", "a_b", 'a"', "<a>", "γ", "a.b", 3])
def test_bad_ids_are_refused(id: Any) -> None:
    with pytest.raises(SpecError, match="the id of dials is made of letters, digits and dashes"):
        Dials(dials_data(), id)


@given(st.lists(st.none() | st.floats(0, 1), min_size=2, max_size=5), st.booleans())
def test_any_shares_can_be_shown(means: list[float | None], log: bool) -> None:
    data = one_dial(*([m, m / 2, (1 + m) / 2] if m is not None else None for m in means), log=log, low=1e-3 if log else 0)
    made = Dials(data, "a")
    assert made.words().startswith(f"Dials over {sum(m is not None for m in means)} computed values")
    figure = draw_opening(made.data)
    figure.canvas.draw()
    plt.close(figure)
