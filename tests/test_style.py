"""What every figure of the book shares once it is drawn: its width in pixels, and that it is closed."""

from __future__ import annotations

import io
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
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


def panels(rows: int, columns: int) -> Figure:
    with style.look():
        fig, axes = plt.subplots(rows, columns, figsize=(style.WIDTH, 2.0 * rows), sharex=True, sharey=True, squeeze=False)
        for i, ax in enumerate(axes.flat):
            ax.plot([0, 1], [0, i])
            ax.set_title(f"panel {i} " + "with a long title " * 3)
        axes[0, 0].set_ylabel("height")
        axes[-1, 0].set_xlabel("width")
        fig.legend(["a", "b"], loc="outside lower center", ncols=2)
    return fig


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 3), (2, 2), (3, 2)])
def test_panels_are_stacked_each_with_its_axes(rows: int, columns: int) -> None:
    fig = panels(rows, columns)
    with style.look():
        assert style.stack(fig) == "stacked"
        fig.canvas.draw()
    boxes = [ax.get_window_extent() for ax in fig.axes]
    assert len({round(box.x0) for box in boxes}) == len({round(box.x1) for box in boxes}) == 1
    assert all(above.y0 > below.y1 for above, below in pairwise(boxes))
    for ax in fig.axes:
        assert ax.yaxis.get_tick_params()["labelleft"]
        assert [label.get_text() for label in ax.get_yticklabels() if label.get_text()]
        assert len(ax.get_title("left").splitlines()) > 1
    assert {ax.get_ylabel() for ax in fig.axes[:columns]} == {"height"}
    assert fig.get_size_inches()[0] == style.NARROW
    assert image(fig).width < style.NARROW * style.DPI * 1.1


def test_panels_take_the_label_of_the_first_in_their_row() -> None:
    fig, axes = plt.subplots(2, 2, figsize=(style.WIDTH, 4.0))
    axes[0, 0].set_ylabel("height")
    axes[1, 1].set_ylabel("depth")
    with style.look():
        assert style.stack(fig) == "stacked"
    assert [ax.get_ylabel() for ax in fig.axes] == ["height", "height", "", "depth"]
    plt.close(fig)


def test_a_column_stays_together_where_the_first_row_alone_has_titles() -> None:
    fig = panels(2, 2)
    for ax in fig.axes[2:]:
        ax.set_title("", loc="left")
    with style.look():
        style.stack(fig)
        fig.canvas.draw()
    from_above = sorted(range(4), key=lambda i: -fig.axes[i].get_window_extent().y0)
    assert from_above == [0, 2, 1, 3]
    plt.close(fig)


def grid(rows: int, columns: int, **more: Any) -> tuple[Figure, np.ndarray]:
    with style.look():
        return plt.subplots(rows, columns, figsize=(style.WIDTH, 1.2 * rows), **more)


def test_a_nested_grid_stays_as_it_is() -> None:
    nested = plt.figure()
    for part in nested.add_gridspec(1, 2):
        nested.add_subplot(part.subgridspec(2, 1)[0])
    size = tuple(nested.get_size_inches())
    assert not style.stack(nested)
    assert tuple(nested.get_size_inches()) == size
    plt.close(nested)


def place(ax: Axes) -> tuple[int, int]:
    spec = ax.get_subplotspec()
    return spec.rowspan.start, spec.colspan.start


def test_a_wide_grid_is_turned_and_what_is_said_of_its_rows_and_columns_with_it() -> None:
    fig, axes = grid(2, 5, sharex=True, sharey=True)
    for c, ax in enumerate(axes[0]):
        ax.set_title(f"column {c}")
    for r, ax in enumerate(axes[:, 0]):
        ax.set_ylabel(f"row {r}")
    for ax in axes[-1]:
        ax.set_xlabel("step")
    with style.look():
        assert style.stack(fig) == "turned"
    assert fig.get_size_inches()[0] == style.NARROW
    for (r, c), ax in np.ndenumerate(axes):
        assert place(ax) == (c, r)
        assert ax.get_title("left") == (f"row {r}" if c == 0 else "")
        assert ax.get_ylabel() == (f"column {c}" if r == 0 else "")
        assert ax.get_xlabel() == ("step" if c == 4 else "")
        assert ax.xaxis.get_tick_params()["labelbottom"] == (c == 4)
        assert ax.yaxis.get_tick_params()["labelleft"] == (r == 0)
    plt.close(fig)


def test_a_single_long_row_becomes_a_column() -> None:
    fig, axes = grid(1, 7, squeeze=False)
    for c, ax in enumerate(axes[0]):
        ax.set_title(f"panel {c}", loc="left")
    with style.look():
        assert style.stack(fig)
    assert [(place(ax), ax.get_ylabel()) for ax in axes[0]] == [((c, 0), f"panel {c}") for c in range(7)]
    plt.close(fig)


def test_a_wide_grid_with_names_at_its_edges_is_turned_with_them() -> None:
    fig, axes = grid(2, 4)
    for (r, c), ax in np.ndenumerate(axes):
        ax.set(xticks=[], yticks=[], xlabel=f"γ{c}" if r == 1 else "", ylabel=f"L{r}" if c == 0 else "")
        ax.set_title(f"{r}{c}", loc="left")
    with style.look():
        fig.supxlabel("rate")
        fig.supylabel("depth")
        assert style.stack(fig)
    for (r, c), ax in np.ndenumerate(axes):
        assert (place(ax), ax.get_title("left")) == ((c, r), f"{r}{c}")
        assert ax.get_ylabel() == (f"γ{c}" if r == 0 else "")
        assert ax.get_xlabel() == (f"L{r}" if c == 3 else "")
    assert (fig.get_supxlabel(), fig.get_supylabel()) == ("depth", "rate")
    plt.close(fig)


def test_a_wide_grid_of_curves_with_titles_is_turned_and_its_axes_keep_their_names() -> None:
    fig, axes = grid(2, 4, sharex=True, sharey=True)
    for (r, c), ax in np.ndenumerate(axes):
        ax.set_title(f"{r}{c}", loc="left")
        ax.set(xlabel="number" if r == 1 else "", ylabel="value" if c == 0 else "")
    with style.look():
        assert style.stack(fig)
    for (r, c), ax in np.ndenumerate(axes):
        assert (place(ax), ax.get_title("left")) == ((c, r), f"{r}{c}")
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("number" if c == 3 else "", "value" if r == 0 else "")
    plt.close(fig)


def test_words_that_would_be_cut_off_are_a_reason_to_stay() -> None:
    fig, axes = grid(3, 3)
    axes[0, 2].set_title("unbreakable" * 3, loc="left")
    with style.look():
        assert not style.stack(fig)
    plt.close(fig)


def test_a_narrow_grid_and_one_with_several_scales_keep_their_places() -> None:
    for rows in (2, 3):
        fig, axes = grid(rows, 3)
        for row in axes if rows == 2 else ():
            fig.colorbar(row[0].imshow([[0, 1]]), ax=list(row))
        with style.look():
            style.stack(fig)
        assert [place(ax) for ax in axes.flat] == list(np.ndindex(rows, 3))
        assert fig.get_size_inches()[0] == style.NARROW
        plt.close(fig)


def test_names_below_are_written_upwards_rather_than_left_out() -> None:
    fig, axes = grid(3, 3)
    for ax in axes.flat:
        ax.set_xticks(range(4), ["key", "first\nanchor", "second\nanchor", "last"])
    with style.look():
        style.stack(fig)
    assert [label.get_text() for label in axes[0, 0].get_xticklabels()] == ["key", "first anchor", "second anchor", "last"]
    plt.close(fig)


def test_labels_below_do_not_touch() -> None:
    with style.look():
        fig, ax = plt.subplots(figsize=(style.WIDTH, 2.0))
        ax.set_xticks(range(40), [f"{i / 40:.3f}" for i in range(40)])
        ax.set_xlim(0, 39)
        style.stack(fig)
        fig.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    assert len(boxes) >= 4
    assert not any(a.overlaps(b) for a, b in pairwise(boxes))
    plt.close(fig)


def test_panels_for_which_there_is_no_room_are_not_stacked(recwarn: pytest.WarningsRecorder) -> None:
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.0), sharey=True)
        axes[0].set_yticks([0, 1], ["words " * 14] * 2)
        assert not style.stack(fig)
    plt.close(fig)
    assert len(recwarn) == 0


@pytest.mark.parametrize("colour", style.FILL)
def test_values_can_be_read_on_every_cell(colour: str) -> None:
    values = np.append(np.linspace(0, 1, 11), np.nan)[None]
    fig, ax = plt.subplots()
    image = ax.imshow(values, vmin=0, vmax=1, cmap=style.FILL[colour])
    style.write_values(ax, values)
    assert [text.get_text() for text in ax.texts][-2:] == ["1.00", "–"]
    for text, value in zip(ax.texts, values[0, :-1], strict=False):
        ink, cell = sorted(map(luminance, (to_rgb(text.get_color()), image.to_rgba(value)[:3])))
        assert (cell + 0.05) / (ink + 0.05) > 3.9
    plt.close(fig)


def luminance(rgb: Iterable[float]) -> float:
    """Relative, as WCAG 2 defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))
