"""The table of chapters on the first page: what each found, how long it is, and a square a claim, on planted notebooks."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from planted import Planted, planted_run
from planted_pages import Made, a_claim, rows_of
from tiny import make_tiny_spec

from lib.book import contents, front
from lib.book.chapters import Chapter, chapters, read_notebook
from lib.book.contents import LONG, WORDS_A_MINUTE, found, minutes, shown, table_of


def computed(*texts: str) -> nbformat.NotebookNode:
    """A cell that shows this prose, after a line that it prints."""
    data = [new_output("display_data", {"text/markdown": text, "text/plain": "<Markdown>"}) for text in texts]
    return new_code_cell("say(x)", outputs=[new_output("stream", text="**Answer.** Printed."), *data])


def notebook(*cells: str | nbformat.NotebookNode) -> nbformat.NotebookNode:
    return new_notebook(cells=[new_markdown_cell(cell) if isinstance(cell, str) else cell for cell in cells])


def answered(answer: str) -> str:
    return found(notebook("# Title", computed(f"**Answer.** {answer}")))


# ---------------------------------------------------------------- what a reader has


def test_what_is_shown_is_written_or_computed_in_its_order() -> None:
    made = notebook("one", computed("two", "three"), new_code_cell("**Answer.** code"), "four")
    assert shown(made) == ["one", "two", "three", "four"]


@pytest.mark.parametrize(
    ("words", "expected"), [(0, 1), (1, 1), (WORDS_A_MINUTE, 1), (2.4 * WORDS_A_MINUTE, 2), (7.6 * WORDS_A_MINUTE, 8)]
)
def test_minutes_are_of_the_words_that_are_shown(words: float, expected: int) -> None:
    text = "word " * int(words)
    assert minutes(notebook(text)) == minutes(notebook(computed(text))) == expected
    half = "word " * int(words / 2)
    assert minutes(notebook(half, computed(half), new_code_cell("code " * 9999))) == expected


# ---------------------------------------------------------------- what it found


@pytest.mark.parametrize(
    ("answer", "first"),
    [
        ("It turns.", "It turns."),
        ("It turns. And it comes back.", "It turns."),
        ("It turns", "It turns."),
        ("It turns! Then more.", "It turns!"),
        ("**It turns.** More.", "It turns."),
        ("- It turns.\n- It turns back.", "It turns."),
        ("It turns.\n\nMore.", "It turns."),
        ("It turns from .5 to .8 at γ = 0.5. More.", "It turns from .5 to .8 at γ = 0.5."),
        ("Every run (12 of 12) turns. More.", "Every run turns."),
        ("It turns (by 0.5), and back. More.", "It turns, and back."),
        ("It turns (as in Fig. 2). Gamma decides.", "It turns."),
        ("It turns (slowly). More.", "It turns (slowly)."),
        ("It turns. Γ decides.", "It turns."),
        ("No: it does not.", "No: it does not."),
        ("Pair (4, 3) is never seen. More.", "Pair (4, 3) is never seen."),
        ("*It* turns. More.", "It turns."),
    ],
)
def test_the_first_sentence_of_the_answer(answer: str, first: str) -> None:
    assert answered(answer) == first


def test_a_long_sentence_gives_up_what_stands_behind_its_last_colons() -> None:
    tail, head = "x" * LONG, "It turns where the weights are small, and all seeds agree on that"
    assert LONG / 3 < len(head) < LONG
    assert answered(f"{head}: {tail}.") == f"{head}."
    assert answered(f"{head}: and then: {tail}.") == f"{head}: and then."
    assert answered(f"{head}: {tail}: {tail}.") == f"{head}."
    assert answered(f"No: {tail}.") == f"No: {tail}."  # what is left would say nothing
    assert answered(f"{tail} turns.") == f"{tail} turns."  # there is nothing to give up
    short = "It turns: " + "y" * (LONG - 11) + "."
    assert len(short) == LONG
    assert answered(short) == short


def test_an_answer_may_be_written_or_computed_and_stand_anywhere_in_its_text() -> None:
    assert found(notebook("# T", "Words.\n\n**Answer.** Written.")) == "Written."
    said = "**In short.** By kind [31](#n-one) runs [hold](#claim-it), and [more](02-a). Then."
    assert found(notebook("# T", said)) == "By kind 31 runs hold, and [more](02-a)."
    assert found(notebook("# T", computed("Words.\n\n**Answer.** Computed."), "**Answer.** Later.")) == "Computed."
    assert found(notebook("# T", "The **Answer.** is not one")) == ""
    assert found(notebook("# T", new_code_cell("**Answer.** Code."))) == ""
    assert found(notebook()) == ""


def test_every_numbered_chapter_of_the_book_says_what_it_found() -> None:
    for chapter in chapters():
        if not chapter.name[:2].isdigit() or chapter.name == "17-one-story":
            continue
        said = found(read_notebook(chapter.path))
        assert 10 < len(said) < 400, chapter.name
        assert said.endswith("."), chapter.name
        assert said.count("(") == said.count(")"), chapter.name
        assert said.count("`") % 2 == said.count("$") % 2 == 0, chapter.name
        assert "**" not in said, chapter.name


# ---------------------------------------------------------------- the table


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Chapter]:
    claims = {"02-two": (a_claim("a", "partly"), a_claim("b")), "03-three": (a_claim("c", "not run", words='<"x">'),)}
    monkeypatch.setattr(contents, "CLAIMS_OF", claims)
    cells: dict[str, list[Any]] = {
        "02-two": ["# Two: what of it?", "word " * 700, computed("**Answer.** It falls to -.5 at W_Q(1). More.")],
        "03-three": ["# Three: does it <b>turn</b>?"],
        "04-four": ["# Why: what is under it", "**Answer.** Much."],
        "engine": ["# The engine", "**Answer.** Not here."],
    }
    for name, parts in cells.items():
        nbformat.write(notebook(*parts), tmp_path / f"{name}.ipynb")
    return chapters(tmp_path)


def test_the_table_has_a_row_for_each_numbered_chapter(planted: list[Chapter]) -> None:
    rows = rows_of(a_claim("a", "partly"), a_claim("b"), a_claim("c", "not run", words='<"x">'), a_claim("other"))
    html = table_of(planted, rows)
    made = Made(html)
    (body,) = made.inside("tbody")
    lines = made.inside("tr", body)
    names = [made.text(made.inside("a", line)[0]) for line in lines]
    assert names == ["2 · Two", "3 · Three", "4 · What is under it"]
    assert [made.elements[made.inside("a", line)[0]][1]["href"] for line in lines] == [
        "02-two.html",
        "03-three.html",
        "04-four.html",
    ]
    assert [made.text(i) for i in made.inside("span", kind="rm-minutes")] == ["3 min", "1 min", "1 min"]
    said = [made.text(made.inside("td", line)[0]) for line in lines]
    assert said == ["It falls to −0.5 at WQ(1).", "does it turn?", "Much."]  # what it asks, where it gives no answer
    assert "<i>W</i><sub>Q</sub><sup>(1)</sup>" in html
    squares = [[made.elements[i][1]["href"] for i in made.inside("a", made.inside("td", line)[1])] for line in lines]
    assert squares == [["claims.html#claim-b", "claims.html#claim-a"], ["claims.html#claim-c"], []]  # the best first
    assert [made.text(i) for i in made.inside("th")][:3] == ["chapter", "what we found", "claims"]
    assert "engine" not in html


def test_the_table_of_the_book_is_one_block_of_html(planted: list[Chapter]) -> None:
    """A blank line in it would end the HTML, and the rest would be taken for Markdown."""
    for html in (table_of(planted, []), contents.all_chapters([])):
        assert html.endswith("</table>\n")
        assert not re.search(r"\n\s*\S", html.removesuffix("\n"))
        Made(html)


# ---------------------------------------------------------------- the question


def make_run(gamma: float = 0.5, seed: int = 0, **shares: float) -> Planted:
    return planted_run(make_tiny_spec(gamma=gamma, seed=seed), {"test": 1.0, "symmetric": 0.0, "inferential": 0.0} | shares)


def test_the_question_has_a_square_a_run() -> None:
    runs = [
        make_run(gamma=0.5, seed=0, symmetric=0.9),
        make_run(gamma=0.5, seed=1, symmetric=0.2, inferential=0.3, test=0.5),
        make_run(gamma=0.95, seed=1, inferential=0.7),
    ]
    made = Made(front.question({"<b>": runs, "post": [dataclasses.replace(runs[2], metrics=runs[0].metrics)]}))
    first, second = made.inside("table", kind="rm-kinds")
    assert [made.text(made.inside("caption", table)[0]) for table in (first, second)] == ["<b>", "post"]
    assert [made.text(i) for i in made.inside("th", first)] == ["γ 0.5", "0.95"]
    lines = [[len(made.inside("a", cell)) for cell in made.inside("td", line)] for line in made.inside("tr", first)]
    assert lines == [[], [1, 0], [1, 1]]  # a row a seed; one was not trained
    squares = [made.elements[i][1] for i in made.inside("a", first)]
    assert [a["class"] for a in squares] == ["rm-kind rm-symmetric", "rm-kind rm-neither rm-hollow", "rm-kind rm-inferential"]
    assert squares[1]["aria-label"] == "γ = 0.5, seed 1: key − 6 20%, key − 10 30%; has not learned"
    assert [a["aria-label"] == a["title"] for a in squares] == [True] * 3
    assert [a["href"] for a in squares][1:] == [f"#rm-landing?gamma={g}&depth=2&seed=1" for g in (0.5, 0.95)]
    (other,) = [made.elements[i][1] for i in made.inside("a", second)]
    view = "#rm-03?series=4&gamma=0.95&depth=2&seed=1"
    assert (other["class"], other["href"]) == ("rm-kind rm-symmetric", f"03-information-flow.html{view}")


def test_the_question_asks_and_hides_nothing_without_scripts() -> None:
    made = Made(front.question({"pre": [make_run()], "post": [make_run()]}))
    assert [(a["data-kind"], a["aria-pressed"]) for a in made.all("button")] == [
        ("symmetric", "false"),
        ("inferential", "false"),
    ]
    assert [made.text(i) for i in made.inside("button")] == ["93", "89"]
    (pairs,) = made.inside("table", kind="rm-pairs")
    rows = [[made.text(cell) for cell in made.inside("td", row)] for row in made.inside("tr", pairs)][1:]
    assert rows[2:] == [["+3", "−1", "−4", "−6"], ["−3", "−7", "?", "−16"]]
    assert sum(len(row) for row in rows) == 16
    assert "4 takes 8 away and 3 takes 2" in made.text(made.inside("div", kind="rm-reveal")[0])
    assert [a.get("class") for _, a in made.elements if "hidden" in a] == ["rm-guess"]  # which only scripts can use
