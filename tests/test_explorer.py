"""The explorer's pages: what they hold is safe wherever it comes from, small, and the same twice."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from planted_pages import HOSTILE, METRICS, Made, a_cell, a_run, dials_data, explorer_data

from lib.book import explorer
from lib.book.dials import Dials
from lib.book.explorer import PANELS, Explorer, draw_cells, nearest, script_safe, with_run
from lib.core.record.spec import SpecError


def opened(*runs: dict[str, Any], **data: Any) -> Explorer:
    return Explorer(explorer_data(*(runs or (a_run(),)), **data), "rm-1", gamma=0.5, depth=2)


# ---------------------------------------------------------------- what stands in a page

TEXTS = st.text(st.characters() | st.sampled_from("<>&\u2028\u2029\\\"'/!-u"), max_size=12)


@given(st.recursive(TEXTS | st.floats(allow_nan=False, allow_infinity=False) | st.none(), lambda v: st.dictionaries(TEXTS, v)))
@example("</script><!--&\u2028\u2029\\u2028")
def test_script_safe_json_means_the_same_and_ends_no_element(value: Any) -> None:
    text = script_safe(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029")


def test_numbers_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_safe({"share": float("nan")})


def test_hostile_words_stay_words() -> None:
    data = explorer_data(a_run(key=HOSTILE, experiment=HOSTILE), name=HOSTILE, profile=HOSTILE)
    html = Explorer(data, "rm-1", gamma=0.5, depth=2).static()
    assert not any(part in html for part in (HOSTILE, "alert('1')</"))
    plain, page = Made(opened().static()), Made(html)
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in plain.elements]
    assert f"profile {HOSTILE}, run {HOSTILE}" in (page.only("img")["alt"] or "")
    series = page.data()["series"][0]
    assert {series["name"], series["profile"], series["runs"][0]["key"], series["runs"][0]["experiment"]} == {HOSTILE}


def test_a_page_holds_all_it_needs_and_the_data_unchanged() -> None:
    made = opened(a_run(0.5), a_run(0.8, seed=1))
    page = Made(made.static())
    assert [tag for tag, _ in page.elements] == ["div", "style", "div", "noscript", "img", "script", "script"]
    assert [found["id"] for tag, found in page.elements if tag == "div"] == ["rm-1", "rm-1-view"]
    assert page.data() == json.loads(json.dumps(made.data))
    assert page.data()["start"] == {"gamma": 0.5, "depth": 2, "seed": 0}
    assert page.data()["panels"] == list(PANELS)
    assert made.static() == made.static() == opened(a_run(0.5), a_run(0.8, seed=1)).static()
    assert not re.search(r"https?://(?!www\.w3\.org/)", made.static())


def test_a_page_is_spared_what_none_of_its_panels_shows() -> None:
    kept = {
        "attention": [[[100]]],
        "path": [],
        "answer": 93,
        "map": [[0, 255], [17, 3]],
        "explained": [60, 20],
        "spectrum": [1.0],
    }
    run = a_run(**kept, moments=[{"step": 0, "attention": [[[100]]]}, {"step": 10, "map": [[1, 2]], "spectrum": [2.0]}])
    run["history"]["eigenvalues"] = [[1.0], [2.0]]
    data = explorer_data(run)
    (shown,) = Made(Explorer(data, "rm-1", 0.5, 2, panels=("map", "curve")).static()).data()["series"][0]["runs"]
    assert {"attention", "path", "answer", "spectrum"}.isdisjoint(shown)
    assert "eigenvalues" not in shown["history"]
    assert list(base64.b64decode(shown["map"])) == [0, 255, 17, 3]
    assert shown["moments"] == [{"step": 10, "map": base64.b64encode(bytes([1, 2])).decode()}]
    whole = Explorer(data, "rm-1", 0.5, 2)
    (same,) = Made(whole.static()).data()["series"][0]["runs"]
    assert same["moments"][0] == run["moments"][0]
    assert (same["spectrum"], same["history"]["eigenvalues"]) == ([1.0], [[1.0], [2.0]])
    assert whole.data["series"][0]["runs"] == [run]  # what the live view has is as it was


@pytest.mark.parametrize("make", [lambda: opened(a_run(0.5), a_run(0.8, 3)), lambda: Dials(dials_data(), "rm-1")])
def test_without_scripts_there_is_a_picture(make: Callable[[], Explorer | Dials]) -> None:
    page = Made(make().static())
    kind, picture = (page.only("img")["src"] or "").split(",")
    assert kind == "data:image/png;base64"
    pixels = plt.imread(io.BytesIO(base64.b64decode(picture, validate=True)), format="png")
    height, width, _ = pixels.shape
    assert 500 < width < 1000
    assert 100 < height < width
    assert np.ptp(pixels[..., :3]) > 0.5  # something is drawn


def test_the_picture_has_every_cell_at_its_place() -> None:
    data = explorer_data(a_run())
    data["series"][0]["cells"] = [a_cell(0.5, 2, 0.1), a_cell(0.8, 2, 0.2), a_cell(0.8, 4, 0.7, 0.25)]
    figure = draw_cells(data)
    for ax in figure.axes[:2]:
        grid = np.ma.filled(ax.images[0].get_array(), np.nan)
        np.testing.assert_array_equal(grid, [[0.1, 0.2], [np.nan, 0.7]])
        words = " ".join(text.get_text() for text in ax.texts)
        assert "25" in words
    plt.close(figure)


def test_a_page_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    made = opened(a_run(key="γ" * 100))
    size = len(made.static().encode())
    monkeypatch.setattr(explorer, "LIMIT", size)
    assert made.static()
    monkeypatch.setattr(explorer, "LIMIT", size - 1)
    with pytest.raises(ValueError, match=f"the explorer rm-1 has {size:,} bytes, more than {size - 1:,}: give it fewer runs"):
        made.static()


def test_the_opening_view_in_words() -> None:
    words = opened(a_run(0.5, final=0.5), a_run(0.9, 2, final=0.0625, key="abc")).words()
    assert words == (
        "Explorer of 2 points; it opens at γ = 0.5, depth 2, seed 0, profile smoke, run 2-0.5-0: "
        "symmetric 0.50, inferential 0.50, seen 0.50"
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"panels": ["flow", "oven"]}, "unknown panel 'oven': use some of answers, diagram, curve, flow, map, spectrum"),
        ({"gamma": float("nan")}, "gamma must be a finite number, got nan"),
        ({"gamma": "small"}, "gamma must be a finite number"),
        ({"depth": 0}, "depth must be an integer of at least 1, got 0"),
        ({"depth": 2.5}, "depth must be an integer of at least 1"),
        *(({"id": id}, "made of letters, digits and dashes") for id in ("", "-", "a b", "a_b", 'a"', "<a>", "γ", "a.b")),
    ],
)
def test_bad_settings_get_one_sentence(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=re.escape(said)) as caught:
        Explorer(explorer_data(a_run()), **({"id": "rm-1", "gamma": 0.5, "depth": 2} | changes))
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


# ---------------------------------------------------------------- which run is shown


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ((0.5, 2, 0), (0.5, 2, 0)),
        ((0.8, 2, 0), (0.7, 2, 0)),  # as far from 0.9: the lower γ, in spite of rounding
        ((0.81, 2, 0), (0.9, 2, 0)),
        ((0.9, 4, 0), (0.5, 4, 0)),  # depth before γ
        ((0.8, 3, 0), (0.7, 2, 0)),  # both depths as far: by γ
        ((0.9, 9, 1), (0.5, 4, 0)),  # the point before the seed
        ((0.7, 2, 1), (0.7, 2, 1)),
        ((0.5, 4, 7), (0.5, 4, 0)),  # a seed that no run has
        ((-5.0, 1, 0), (0.5, 2, 0)),
    ],
)
@pytest.mark.parametrize("backwards", [False, True])
def test_nearest(asked: tuple[float, int, int], shown: tuple[float, int, int], backwards: bool) -> None:
    runs = [a_run(0.5, 2), a_run(0.7, 2), a_run(0.9, 2), a_run(0.5, 4), a_run(0.7, 2, seed=1)]
    found = nearest({"runs": runs[::-1] if backwards else runs}, *asked)
    assert (found["gamma"], found["depth"], found["seed"]) == shown


# ---------------------------------------------------------------- a reader's own runs


def test_a_new_point_gets_the_mean_and_deviation_of_its_runs() -> None:
    data = explorer_data(a_run(0.5), a_run(0.8))
    before = json.dumps(data)
    first = with_run(data, a_run(0.6, 3, final=0.2))
    cells = first["series"][0]["cells"]
    assert cells[:2] == data["series"][0]["cells"]
    assert cells[2] == {"gamma": 0.6, "depth": 3, "runs": 1} | {name: [0.2, None] for name in METRICS}
    third = with_run(with_run(first, a_run(0.6, 3, seed=1, final=0.4)), a_run(0.6, 3, seed=2, final=0.9))
    (cell,) = third["series"][0]["cells"][2:]
    assert cell["runs"] == 3
    for name in METRICS:  # mean 1.5 / 3; squares 0.09 + 0.01 + 0.16 over 2
        assert cell[name] == pytest.approx([0.5, 0.13**0.5])
    again = with_run(third, a_run(0.6, 3, seed=2, final=0.9))
    assert again["series"][0]["cells"] == third["series"][0]["cells"]
    assert len(again["series"][0]["runs"]) == len(third["series"][0]["runs"]) == 5
    assert json.dumps(data) == before  # the caller's data are the caller's


@given(st.lists(st.tuples(st.sampled_from([0.5, 0.6, 0.8]), st.sampled_from([2, 3]), st.integers(0, 2), st.floats(0, 1))))
def test_cells_of_the_page_never_change(added: list[tuple[float, int, int, float]]) -> None:
    """They are means over runs of which not all are shown; other series stay as they are, too."""
    data = explorer_data(a_run(0.5), a_run(0.8))
    data["series"].append(explorer_data(a_run(0.5, key="other"))["series"][0])
    now = data
    for gamma, depth, seed, final in added:
        now = with_run(now, a_run(gamma, depth, seed, final=final))
    first, second = now["series"]
    assert first["cells"][:2] == data["series"][0]["cells"]
    assert second == data["series"][1]
    places = [(cell["gamma"], cell["depth"]) for cell in first["cells"]]
    new = {(g, d) for g, d, *_ in added} - {(0.5, 2), (0.8, 2)}
    assert sorted(places[2:]) == sorted(new)
    assert len({run["key"] for run in first["runs"]}) == len(first["runs"])
    assert {key: value for key, value in now.items() if key != "series"} == {k: v for k, v in data.items() if k != "series"}


def test_the_sliders_reach_what_the_explorer_opens_at() -> None:
    data = explorer_data(a_run())
    ends = data["range"]
    beyond = Explorer(data, "a", gamma=ends["gamma"][1] + 0.4, depth=ends["depth"][1] + 3).data["range"]
    assert beyond == {
        "gamma": [ends["gamma"][0], ends["gamma"][1] + 0.4],
        "depth": [ends["depth"][0], ends["depth"][1] + 3],
    }
    assert data["range"] == ends
