"""How numbers and marks are set: by hand, and as properties of any text. What is no prose stays as it is."""

from __future__ import annotations

import re
from html import escape, unescape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lib.core.read.typeset import characters, indices, markdown


@pytest.mark.parametrize(
    ("written", "set_"),
    [
        # minus
        ("-0.5", "−0.5"),
        ("from -1 to -0.25", "from −1 to −0.25"),
        ("(-3, -4)", "(−3, −4)"),
        ("γ = -2", "γ = −2"),
        ("±-3", "±−3"),
        ("key - 6", "key - 6"),  # spaces on both sides: the author's to write
        ("a-1", "a-1"),
        ("1-2", "1-2"),
        ("2023-11-22", "2023-11-22"),
        ("chapter-2", "chapter-2"),
        ("x.-1", "x.-1"),
        ("f(x)-1", "f(x)-1"),
        ("[1]-2", "[1]-2"),
        ("--3", "--3"),
        ("well-known", "well-known"),
        ("-γ", "-γ"),
        # zero has no sign
        ("-0.00", "0.00"),
        ("−0", "0"),
        ("−0.0, −0.00 and −0.001", "0.0, 0.00 and −0.001"),
        ("−0.05", "−0.05"),
        ("3−0", "3−0"),
        # numbers below one begin with 0
        (".5", "0.5"),
        ("-.5", "−0.5"),
        ("by more than .02 of .95", "by more than 0.02 of 0.95"),
        ("(.5)", "(0.5)"),
        ("1.5", "1.5"),
        ("v1.2.3", "v1.2.3"),
        ("the end. 5 of them", "the end. 5 of them"),
        ("file.5", "file.5"),
        # powers of ten
        ("1e-4", "10⁻⁴"),
        ("1e+3", "10³"),
        ("2.5e-05", "2.5 × 10⁻⁵"),
        (".5e-3", "0.5 × 10⁻³"),
        ("3e10", "3 × 10¹⁰"),
        ("-2e-3", "−2 × 10⁻³"),
        ("2e−3", "2 × 10⁻³"),
        ("1.0e6", "1.0 × 10⁶"),
        ("ab1e5", "ab1e5"),
        ("1e5x", "1e5x"),
        ("the 3e of", "the 3e of"),
        # percents
        ("93 %", "93%"),
        ("93\u00a0%", "93%"),
        ("93%", "93%"),
        ("about % of", "about % of"),
        # figures of sources
        ("Fig 2a", "Fig. 2a"),
        ("Figs 2 and 3", "Figs. 2 and 3"),
        ("after Fig 12", "after Fig. 12"),
        ("Fig. 2", "Fig. 2"),
        ("Figure 2.1", "Figure 2.1"),
        ("Fig tree", "Fig tree"),
        # apostrophes and quotation marks
        ("the model's", "the model’s"),
        ("models' own", "models’ own"),
        ("don't", "don’t"),
        ("α'", "α′"),
        ("α' = 0.8", "α′ = 0.8"),
        ('a "word" here', "a “word” here"),
        ('"one" and "two"', "“one” and “two”"),
        ('one " alone', 'one " alone'),
        ('"over\nlines"', '"over\nlines"'),
        ("", ""),
    ],
)
def test_characters(written: str, set_: str) -> None:
    assert characters(written) == set_


@pytest.mark.parametrize(
    ("written", "set_"),
    [
        ("W_Q", "<i>W</i><sub>Q</sub>"),
        ("W_Q(1)", "<i>W</i><sub>Q</sub><sup>(1)</sup>"),
        ("X_ao and X_2", "<i>X</i><sub>ao</sub> and <i>X</i><sub>2</sub>"),
        ("d_model", "<i>d</i><sub>model</sub>"),
        ("α_0", "<i>α</i><sub>0</sub>"),
        ("W_Q(x)", "<i>W</i><sub>Q</sub>(x)"),
        ("snake_case", "snake_case"),
        ("a_b_c", "a_b_c"),
        ("_a", "_a"),
        ("x_12", "x_12"),
        ("&x_y;", "&x_y;"),
        ("α^2", "α<sup>2</sup>"),
        ("d^-γ", "d<sup>−γ</sup>"),
        ("n^-0.5", "n<sup>−0.5</sup>"),
        ("n^−1/2", "n<sup>−1/2</sup>"),
        ("(a + b)^2", "(a + b)<sup>2</sup>"),
        ("α′^2", "α′<sup>2</sup>"),
        ("x^n", "x<sup>n</sup>"),
        ("x^not", "x^not"),
        ("^2", "^2"),
        ("plain", "plain"),
    ],
)
def test_indices(written: str, set_: str) -> None:
    assert indices(written) == set_


@pytest.mark.parametrize(
    "kept",
    [
        "`a_b -1 1e-4 Fig 2 x's`",
        "$W_Q^{-1} = -.5$",
        "$$\nx_1 = -1\n$$",
        "[the x's](page-1_2.html#a_b)".replace("the x's", "words"),
        "![](a_b.png)",
        '<img alt="x\'s -1" src="a_b-1.png">',
        "<a href='x_y?a=-1'>words</a>",
        "https://example.org/a_b/-1?x='y'",
        "```\nW_Q = -1e-4\n```",
        "{cite}`zhang_2024-1`",
        "{numref}`x_y`",
    ],
)
def test_what_is_no_prose_is_kept(kept: str) -> None:
    assert markdown(kept) == kept
    assert markdown(f"from -1 {kept} to W_Q") == f"from −1 {kept} to <i>W</i><sub>Q</sub>"


def test_the_words_of_a_link_are_prose() -> None:
    assert markdown("[the model's Fig 2](a_b.html)") == "[the model’s Fig. 2](a_b.html)"
    assert markdown("<b>the model's -1</b>") == "<b>the model’s −1</b>"


def test_markdown_sets_prose_and_tables() -> None:
    written = '| γ | W_Q(1) |\n|---|---|\n| -0.50 | 93 % |\n\n- one\n- 2e-3, `-1`, $-1$ and "x"\n'
    assert markdown(written) == (
        "| γ | <i>W</i><sub>Q</sub><sup>(1)</sup> |\n|---|---|\n| −0.50 | 93% |\n\n- one\n- 2 × 10⁻³, `-1`, $-1$ and “x”\n"
    )


# ---------------------------------------------------------------- of any text

MARKS = "-−−.'\"%^_()[]/α′Wx10 e,–\n&<>`$±"
TEXTS = st.text(st.sampled_from(MARKS), max_size=25) | st.text(max_size=20)
NUMBERS = st.one_of(
    st.floats(-1e6, 1e6).map(lambda v: f"{v:.2f}"),
    st.floats(-1, 1).map(lambda v: f"{v:.3f}".replace("0.", ".", 1)),
    st.floats(-1e12, 1e12).map(lambda v: f"{v:.2e}"),
    st.integers(-(10**6), 10**6).map(str),
)
BETWEEN = st.sampled_from([" ", ", ", " to ", " ± ", " (", ") ", "; γ = ", ": ", " of ", "\n"])
OTHERS = st.one_of(
    st.sampled_from(
        ["the model's", "models' own", "α'", '"word"', "93 %", "Fig 2a", "Figs 2", "W_Q(1)", "X_ao", "α^2", "x^-0.5"]
    ),
    st.sampled_from(
        ["-γ", "a-1", "well-known", ".5e-3", "1e-05", "-0.00", "`a_b -1`", "$W_Q = -.5$", "<b>", "[x's](a_b.html)"]
    ),
    st.just("https://a.b/c_d-1"),
)
SENTENCES = st.lists(st.tuples(BETWEEN, NUMBERS | OTHERS), max_size=6).map(lambda parts: "".join(map("".join, parts)))
LETTERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def values(text: str) -> list[float]:
    """The numbers of a text, whichever way they are written."""
    text = re.sub(r"(?<![\w.])10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda m: f"1e{m[1].translate(LETTERS)}", text)
    text = re.sub(r" × 1e", "e", text).replace("−", "-")
    return [float(n) for n in re.findall(r"-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", text)]


@given(SENTENCES)
@example("1e-4 -0.0")
@example('"s\' -"')
def test_what_is_set_is_set(text: str) -> None:
    for put in (characters, indices, markdown):
        assert put(put(text)) == put(text)
    assert markdown(characters(text)) == characters(markdown(text)) or set(text) & set("<`$]/")  # in either order


@given(st.lists(st.tuples(BETWEEN, NUMBERS), min_size=1, max_size=6))
def test_numbers_keep_their_values_and_a_minus_is_a_minus(parts: list[tuple[str, str]]) -> None:
    written = "".join(between + number for between, number in parts)
    made = characters(written)
    assert values(made) == pytest.approx([float(number) for _, number in parts], abs=0)
    assert not re.search(r"-\.?\d", made)
    assert not re.search(r"\de[+-]?\d", made)
    assert not re.search(r"(?<!\d)\.\d", made)
    assert not re.search(r"−0(\.0*)?(?![\d.])", made)


@given(TEXTS)
def test_digits_come_and_go_only_with_powers_of_ten_and_leading_zeros(text: str) -> None:
    """Nothing else of a text is lost: letters stay letters, in their order."""
    letters = lambda words: re.findall(r"[A-Za-zα-ω]", re.sub(r"(?<=\d)e(?=[+−-]?\d)|′", "", words))
    assert letters(characters(text)) == letters(text)
    lines = lambda words: words.count("\n")
    assert lines(characters(text)) == lines(text)


@given(TEXTS)
def test_indices_only_add_tags(text: str) -> None:
    bare = lambda words: re.sub(r"[_^()−-]", "", re.sub(r"</?(?:i|sub|sup)>", "", words))
    assert bare(indices(text)) == bare(text)


@given(
    st.text(st.characters(exclude_characters="`\n"), min_size=1, max_size=15),
    st.text(st.characters(exclude_characters='"<>\n'), max_size=10),
)
def test_code_and_tags_are_never_touched(code: str, attribute: str) -> None:
    tag = f'<a title="{attribute}">'
    made = markdown(f"-1 `{code}` W_Q\n\n{tag}.5</a>")
    assert f"`{code}`" in made
    assert tag in made
    assert made.startswith("−1 ")
    assert made.endswith(f"{tag}0.5</a>")


@given(
    st.text(st.characters(exclude_characters="$\n`"), min_size=1, max_size=15),
    st.from_regex(r"[\w/.'_^?=&-]{1,20}", fullmatch=True),
)
def test_mathematics_and_addresses_are_never_touched(formula: str, path: str) -> None:
    made = markdown(f"-1 ${formula}$ [x's](https://a.b/{path}) https://a.b/{path}")
    assert f"${formula}$" in made
    assert made.endswith(f" [x’s](https://a.b/{path}) https://a.b/{path}")


@given(TEXTS)
def test_entities_survive(text: str) -> None:
    """Escaped words mean what they meant: only what stands between entities is set."""
    made = indices(escape(characters(text), quote=False))
    bare = lambda words: re.sub(r"[_^()−-]", "", words)
    assert bare(unescape(re.sub(r"</?(?:i|sub|sup)>", "", made))) == bare(characters(text))
