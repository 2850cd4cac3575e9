"""What every figure of the book shares once it is drawn: its width in pixels, and that it is closed."""

from __future__ import annotations

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from lib.core.read import style


def drawn(title: str = "", beside: str = "", below: str = "") -> Figure:
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 2.0))
        ax.plot([0, 1], [0, 1])
        ax.set_title(title)
        if beside:
            fig.text(0.95, 0.5, beside)
        if below:
            fig.text(0.5, -0.5, below)
    return fig


def image(figure: Figure) -> Image.Image:
    return Image.open(io.BytesIO(style.png(figure)))


FULL = round(style.WIDTH * style.DPI)


@pytest.mark.parametrize("title", ["", "short", "a title that is nearly as wide as the figure is, and not wider"])
def test_a_figure_within_its_width_has_the_full_width(title: str) -> None:
    """So that type has one size on a page, whatever was left blank at the sides."""
    made = image(drawn(title))
    assert abs(made.width - FULL) <= 1


def test_what_lies_beyond_the_edges_is_added() -> None:
    plain, wide = image(drawn("short")), image(drawn("short", beside="wide " * 20))
    assert wide.width > FULL + 100
    pixels = np.array(wide.convert("L"))
    assert (pixels[:, -40:] < 128).any()  # the end of the words is there
    assert abs(plain.width - FULL) <= 1


def test_of_the_height_what_is_drawn_on_is_kept() -> None:
    low, deep = image(drawn("t")), image(drawn("t", below="far below"))
    assert deep.height > low.height + 0.4 * style.DPI
    pixels = np.array(low.convert("L"))
    pad = round(style.PAD * style.DPI)
    rows = np.nonzero((pixels < 200).any(1))[0]
    assert rows[0] <= pad + 8
    assert pixels.shape[0] - 1 - rows[-1] <= pad + 8  # letters may reach below the line
    with style.look():
        blank = plt.figure(figsize=(style.WIDTH, 6))
        blank.text(0.1, 0.5, "a line")
    assert image(blank).height < style.DPI


def test_it_is_closed_and_the_same_twice() -> None:
    before = plt.get_fignums()
    figure = drawn("one")
    assert plt.get_fignums() != before
    first = style.png(figure)
    assert plt.get_fignums() == before
    assert first == style.png(drawn("one"))
    assert first != style.png(drawn("two"))
    assert image(drawn()).mode == "P"  # 256 colours


def test_it_has_the_look_of_the_book_whoever_draws() -> None:
    """What the caller has set must not reach the pixels when they are written."""
    plain = style.png(drawn("one"))
    with plt.rc_context({"savefig.facecolor": "red", "figure.dpi": 30, "savefig.dpi": 20}):
        assert style.png(drawn("one")) == plain
