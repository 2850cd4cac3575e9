"""What is drawn: numbers to six digits, so that machines that round otherwise draw the same pixels."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nbval.plugin import get_sanitize_patterns
from PIL import Image

from lib.book import display
from lib.book.chapters import chapters, read_notebook
from lib.book.display import rounded, show
from lib.book.paths import ROOT
from lib.core.read import style


@dataclass(frozen=True)
class Curve:
    name: str
    values: np.ndarray


@given(arrays(float, 6, elements=st.floats(-1e6, 1e6)))
def test_what_another_machine_rounds_otherwise_is_drawn_alike(values: np.ndarray) -> None:
    found = rounded({"curves": [Curve("one", values)], "level": float(values[0])})
    assert np.allclose(found["curves"][0].values, values, rtol=1e-5)
    assert rounded(found)["curves"][0].values.tolist() == found["curves"][0].values.tolist()  # once is enough
    assert found["level"] == pytest.approx(values[0], rel=1e-5)


def test_differences_in_the_seventh_digit_vanish() -> None:
    values = np.array([0.123456, -98765.4, 3.0e-9, 0.0, np.nan, np.inf])
    other = values * (1 + 1e-9)
    assert np.array_equal(rounded(values), rounded(other), equal_nan=True)
    assert rounded(values).tolist()[:4] == [0.123456, -98765.4, 3.0e-9, 0.0]  # what was short stays what it was
    assert torch.equal(rounded(torch.tensor([0.5, 1 / 3])), rounded(torch.tensor([0.5, 1 / 3 + 1e-8])))


def test_what_is_no_number_stays_itself() -> None:
    kept = Curve("one", np.arange(3))
    found = rounded((kept, "γ", 3, None, True))
    assert found[1:] == ("γ", 3, None, True)
    assert found[0].values.dtype == kept.values.dtype
    assert (found[0].name, found[0].values.tolist()) == ("one", [0, 1, 2])
    assert kept.values is not None  # the original is not touched


def draw(values: np.ndarray, narrow: bool = False) -> Figure:
    with style.look():
        fig, ax = plt.subplots(figsize=(style.NARROW if narrow else style.WIDTH, 3.0 if narrow else 1.0))
        ax.plot(values)
    return fig


def test_a_phone_is_shown_what_is_drawn_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(display, "display", lambda what, **_: shown.append(what))
    show(draw, np.arange(5.0), number="1.1", caption="Of a line.")
    show(lambda values: draw(values), np.arange(5.0), number="1.2", caption="Of a line.")
    wide, one, _, other = shown
    width, height = Image.open(io.BytesIO(wide["image/png"])).size
    sizes = [
        Image.open(io.BytesIO(base64.b64decode(re.search(r'rm-stacked.*?base64,([^"]+)', html.data)[1]))).size
        for html in (one, other)
    ]
    assert height < width
    for phone in sizes:
        assert abs(phone[0] - width * style.NARROW / style.WIDTH) <= 2
    assert sizes[0][1] > 2.5 * sizes[1][1]  # the first by its own drawing, the second as it is, but narrower


def digest(change: Callable[[Axes], None]) -> str:
    """Of a figure with what `change` draws."""
    with style.look():
        fig, ax = plt.subplots()
        change(ax)
    plt.close(fig)
    return display.drawn(fig)


def test_a_digest_is_of_what_is_drawn_by_hand() -> None:
    assert digest(lambda ax: None) == "no numbers"
    assert digest(lambda ax: ax.imshow([[1.0, np.nan], [2.0, 3.0]])) == "values: 4 numbers, mean 2, spread 0.816, order 0.667"
    assert digest(lambda ax: ax.text(0, 0, "93 %, or −.5")) == "written: 2 numbers, mean 46.25, spread 46.75, order -46.75"
    assert digest(lambda ax: ax.set_title("γ = 1.25")) == "written: 1 numbers, mean 1.25, spread 0, order 0"
    bars = digest(lambda ax: ax.bar([1, 3], [2, 4], 2))
    assert bars.startswith(
        "across: 4 numbers, mean 2, spread 1.414, order 1; up: 4 numbers, mean 1.5, spread 1.658, order 0.833;"
    )
    assert digest(lambda ax: ax.plot([np.nan])).startswith(
        "across: 1 numbers, mean 0, spread 0, order 0; up: 1 numbers, none finite;"
    )


DRAWN: dict[str, Callable[[Axes, np.ndarray], Any]] = {
    "a line": lambda ax, v: ax.plot(v),
    "marks, one a call": lambda ax, v: [ax.plot(x, 1, "s") for x in v],
    "their colours": lambda ax, v: [ax.plot(1, 1, "s", color=style.FILL[style.BLUE](x)) for x in v],
    "hollow ones": lambda ax, v: [ax.plot(1, 1, "s", mfc=str(x)) for x in v],
    "points": lambda ax, v: ax.scatter(v, v),
    "colours of points": lambda ax, v: ax.scatter(v * 0, v * 0, c=v),
    "a band": lambda ax, v: ax.fill_between(range(len(v)), v),
    "lines at levels": lambda ax, v: ax.vlines(v, 0, 1),
    "bars": lambda ax, v: ax.bar(range(len(v)), v),
    "colours of bars": lambda ax, v: ax.bar(range(len(v)), v * 0 + 1, color=[style.FILL[style.BLUE](x) for x in v]),
    "an image": lambda ax, v: ax.imshow(v[None]),
    "a grid": lambda ax, v: ax.pcolormesh(v[None]),
    "words": lambda ax, v: [ax.text(0, 0, f"{x:.2f}") for x in v],
    "in an inset": lambda ax, v: ax.inset_axes((0, 0, 1, 1)).plot(v),
}


@pytest.mark.parametrize("name", DRAWN)
def test_whatever_is_drawn_is_in_the_digest(name: str) -> None:
    values = np.array([0.2, 0.4, 0.9, 0.1])
    of = lambda v: digest(lambda ax: DRAWN[name](ax, v))
    assert of(values) == of(values + 1e-7)  # another machine
    assert of(values) != of(values + np.array([0, 0, 0.05, 0]))
    assert of(values) != of(values[[1, 0, 2, 3]])  # the same numbers elsewhere


def test_a_figure_says_its_digest(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its data are hidden from arguments."""
    monkeypatch.setattr(display, "display", lambda what, **_: None)
    show(lambda read: draw(read()), lambda: np.arange(3.0), number="1.1", caption="Of a line.")
    assert capsys.readouterr().out.startswith(
        "Figure 1.1: across: 3 numbers, mean 1, spread 0.816, order 0.667; up: 3 numbers, "
    )


def test_every_figure_of_the_book_has_a_form_for_a_phone() -> None:
    lacking, figures = [], 0
    for chapter in chapters():
        for cell in read_notebook(chapter.path).cells:
            for output in cell.get("outputs", ()):
                html = "".join(output.get("data", {}).get("text/html", ""))
                if name := re.search(r'class="rm-caption" id="figure-([\d-]+)"', html):
                    figures += 1
                    lacking += [name[1]] if "rm-stacked" not in html else []
    assert figures > 100
    assert lacking == []


def test_reruns_of_notebooks_are_compared_by_words_and_not_by_the_bytes_of_pictures() -> None:
    patterns = get_sanitize_patterns((ROOT / "tests" / "nbval.cfg").read_text())

    def compared(words: str, picture: bytes) -> str:
        html = f'<img alt="{words}" src="data:image/png;base64,{base64.b64encode(picture).decode()}"><p>{words}</p>'
        for pattern, replaced in patterns:
            html = re.sub(pattern, replaced, html)
        return html

    assert compared("four of five", bytes(range(256))) == compared("four of five", b"other")
    assert compared("four of five", b"same") != compared("five of five", b"same")
