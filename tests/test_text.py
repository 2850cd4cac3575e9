"""Words are held to numbers: what is planted wrong in a text is found, and the committed texts are right."""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import held
import nbformat
import pytest
from held import bare_numbers

from lib.book import chapters, provenance, text
from lib.book.paths import BOOK, ROOT
from lib.book.text import Text, TextError
from lib.composition.trajectories import PLAYED, said
from lib.core.read.claim import (
    NO_EFFECT,
    OPPOSITE,
    PARTLY,
    REPRODUCED,
    TOO_SMALL,
    Claim,
    Measured,
    Part,
    by_exact_test,
)
from lib.core.read.fact import ABSENT, Fact, in_words, mean, same
from lib.core.record.store import Store, load

EXCEPTED: dict[str, dict[str, str]] = tomllib.loads((ROOT / "tests" / "excepted.toml").read_text(encoding="utf-8"))
"""Numbers that are no result: {chapter: {words: why}}."""
WRITTEN = sorted(path.stem for path in BOOK.glob("*.ipynb") if "chapter_text(" in path.read_text(encoding="utf-8"))
"""Chapters whose words are their own."""

PAGES = sorted(path.name for end in ("ipynb", "md") for path in BOOK.glob(f"*.{end}"))
CHAPTERS = sorted(path.stem for path in BOOK.glob("[0-9]*.ipynb"))


cells_of = cache(chapters.cells_of)


def words_of(page: Path) -> tuple[list[str], list[str]]:
    """The prose of a page, and what its code writes into figures and under them."""
    if page.suffix == ".md":
        return [page.read_text(encoding="utf-8")], []
    cells = cells_of(page)
    return [cell["source"] for cell in cells if cell["cell_type"] == "markdown"], held.captions(cells)


def printed(path: Path) -> str:
    """All that the cells of a notebook print."""
    outputs = [o for cell in chapters.read_notebook(path).cells for o in cell.get("outputs", [])]
    return "\n".join(o["text"] for o in outputs if o["output_type"] == "stream")


@pytest.mark.parametrize("name", WRITTEN)
def test_the_committed_text_says_what_was_computed(name: str) -> None:
    """The regression test of the notebooks computes it again; this one asks that it fits."""
    assert "differs: nothing; unused: nothing" in printed(BOOK / f"{name}.ipynb")


def test_the_first_page_says_what_was_computed(html: Path) -> None:
    page = (html / "book" / "intro.html").read_text(encoding="utf-8")
    assert 'class="rm-fact" href="#n-new-symmetric-low"' in page
    assert 'id="n-new-symmetric-low"' in page
    assert 'class="rm-differs"' not in page


@pytest.mark.parametrize("name", PAGES)
def test_every_number_of_a_committed_text_is_a_link(name: str) -> None:
    excepted = EXCEPTED.get(Path(name).stem, {})
    cells, captions = words_of(BOOK / name)
    assert bare_numbers(cells, excepted, captions) == []
    everything = "\n".join([*cells, *captions])
    assert [words for words in excepted if words not in everything] == []  # an exception of nothing


def test_the_rough_numbers_of_the_first_page_are_right() -> None:
    """Nearly three thousand models on processors and a few dozen on a GPU."""
    said = [re.search(rb'"device":"(cpu|cuda)', path.read_bytes()) for path in (ROOT / "results").glob("*/*.json")]
    devices = Counter(match[1] for match in said if match)
    assert 2700 <= devices[b"cpu"] < 3000
    assert 24 <= devices[b"cuda"] < 100


def test_the_first_exercise_is_right() -> None:
    """Seed 1 of the explorer on the first page, from large weights to small ones."""
    answers = {run.spec.gamma: said(run) for run in load(PLAYED.specs("laptop"), Store(ROOT / "results")) if run.spec.seed == 1}
    assert [answers[gamma] for gamma in (0.3, 0.35, 0.4)] == [93] * 3
    assert [answers[gamma] for gamma in (0.45, 0.6, 0.7, 0.9, 1.0)] == [89] * 5
    assert (answers[0.5], answers[0.8]) == (None, 93)


@pytest.mark.parametrize("check", held.ANATOMY, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_its_parts_and_is_short(name: str, check: held.Check) -> None:
    assert check(cells_of(BOOK / f"{name}.ipynb"), name) == []


# ---------------------------------------------------------------- planted

FACTS = {"share": Fact(0.934, "{:.0%}", "eight runs"), "runs": Fact(in_words(8), "{}", "runs")}
WORDS = "# Do they?\n\nThey do, in [93%](#n-share) of all cases.\n[Eight](#n-runs) runs say so: [reproduced](#claim-it)."


def a_claim(measured: float = 1.0) -> Claim:
    check = lambda store, profile: Measured((Part("it", measured, ">=", 0.5),), 8)
    return Claim("it", "ours", "it", "It is so.", "", "", check)


def written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str, facts: dict[str, Fact] = FACTS) -> Text:
    """A chapter of these words on these facts."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(words)])
    nbformat.write(notebook, tmp_path / "99-planted.ipynb")
    monkeypatch.setattr(text.chapters, "find", lambda name: chapters.Chapter(tmp_path / "99-planted.ipynb"))
    return text.chapter_text("99", facts, [a_claim()], Store(tmp_path), "smoke")


def without_claim(words: str) -> str:
    return words.replace(": [reproduced](#claim-it)", "")


def test_a_right_text_holds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words = WORDS.replace("reproduced", "holds")  # what a claim of ours is called
    found = written(monkeypatch, tmp_path, words)
    assert (found.differing, found.unused, bare_numbers([words])) == ([], [], [])


@pytest.mark.parametrize(
    ("right", "wrong", "name"),
    [("93%", "94%", "share"), ("93%", "93.4%", "share"), ("Eight", "Seven", "runs"), ("holds", "partly", "it")],
)
def test_a_wrong_word_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, right: str, wrong: str, name: str) -> None:
    words = WORDS.replace("reproduced", "holds").replace(right, wrong)
    assert [link.name for link in written(monkeypatch, tmp_path, words).differing] == [name]


@pytest.mark.parametrize("target", ["#n-shares", "#claim-that"])
def test_an_unknown_fact_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, target: str) -> None:
    with pytest.raises(TextError, match="which is not computed"):
        written(monkeypatch, tmp_path, f"[9](${target})".replace("$", ""))


def test_an_unused_fact_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    more = FACTS | {"more": Fact(1.0, "{}", "")}
    assert written(monkeypatch, tmp_path, WORDS.replace("reproduced", "holds"), more).unused == ["more"]


def test_what_these_results_do_not_have_differs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for nothing in (None, math.nan, (1.0, None)):
        fact = Fact(nothing, "{:.0%}", "")
        assert fact.text == ABSENT
        found = written(monkeypatch, tmp_path, without_claim(WORDS), FACTS | {"share": fact})
        assert [link.name for link in found.differing] == ["share"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("It rises by 7.", ["7."]),
        ("It rises by 12 % in three runs.", ["12 %", "three"]),
        ("It falls to −0.5 there.", ["−0.5"]),
        ("{cite:t}`someone2024` report 12 %.", []),
        ("The paper has 12.", []),
        ("See Figure 4.2 and [chapter 5](05-condensation), $x = 7$, `8`.", []),
        ("Two layers, one model.", []),
        ("At least .75 of them, or −.3.", [".75", "−.3."]),
        ("It takes 4e-4 of it.", ["4e-4"]),
        ("They agree in sixteen, in a fifth of the runs and two thirds of the rows.", ["sixteen", "a fifth", "two thirds"]),
        ("It is a third way to be fourfold; a third was planned.", ["fourfold"]),
        ("One of [eight](#n-runs) falls, one of three rises, one of the two stays.", ["One of []", "one of three"]),
        ("Two runs fall, the two runs of before rise, two of two.", ["Two runs", "two of two"]),
        ("At γ = .8, 1.1 and 1.25 and at width 64; at .8, but at .9.", [".9."]),
        ("From γ .35 to .5 with (3, 4) and α' = .6, as key − 10 and in Fig. 2a, b.", []),
        (":::{dropdown} Answer\n1. It is 7.\n:::", ["7."]),
        ("Asked is (4, 3).", []),
        ("A row:\n```\n12\n```", []),
    ],
)
def test_bare_numbers_are_found(words: str, found: Sequence[str]) -> None:
    assert [said.split(" in: ")[0] for said in bare_numbers([words], ["(4, 3)"])] == list(found)


SHOWN = """
for name in ("2.3", "2.4"):
    show(
        figures.kinds,
        {"eight of them": runs},
        number=name,
        caption=f"It rises by 12 % (after Fig. 3 of the paper: there by 15 %). A mark is {len(runs)} runs. "
        "The paper has 7.",
        runs=runs_of("in 9 places"),
    )
ax.set(title="of 5 models", xlim=(0, 3))
print("9 of them")
"""


def test_bare_numbers_of_figures_are_found() -> None:
    said = held.captions([a_cell(SHOWN, "code")])
    assert {words.split(" in: ")[0] for words in bare_numbers([], (), said)} == {"eight", "12 %", "5"}
    assert bare_numbers([], ["by 12 %", "eight of them", "of 5 models"], said) == []


def test_a_caption_by_name_is_found() -> None:
    cell = {
        "cell_type": "code",
        "source": 'for caption in ("It is 7.", "It is"):\n    show(draw, number="1.2", caption=caption)',
    }
    assert bare_numbers([], (), held.captions([cell])) == ["7. in: It is 7."]


def a_cell(source: str, kind: str = "markdown", *tags: str) -> held.Cell:
    return {"cell_type": kind, "source": source, "id": "it", "metadata": {"tags": list(tags)}}


def a_chapter(**changed: list[held.Cell]) -> list[held.Cell]:
    """A chapter 2 that is as it should be, but for the parts that are given."""
    figure = lambda n: a_cell(f'show(draw, number="2.{n}", caption="It is so.")', "code", "hide-input")
    parts = {
        "opening": [a_cell("# So?\n\n**In short.** So, in [7](#n-one) of [8](#n-two): [holds](#claim-it).\n\nWe ask.")],
        "one": [a_cell("## It is so\n\nYes."), figure(1), a_cell("a\n" * 5, "code")],
        "more": [a_cell("## It is\n\nYes.\n\n## So it is\n\n| a | b |\n|-|-|\n" + "| 1 | 2 |\n" * 99), figure(2)],
        "dials": [a_cell("## Turn the dials\n\nDo.")],
        "doubts": [a_cell("## What could be wrong\n\nAll.")],
        "verdict": [a_cell("## Verdict\n\nSo it is at .5. At 1 it [holds](#claim-it), e.g. in Fig. 2.\nγ does it.")],
        "lab": [a_cell("## Lab record\n\n" + "word " * 2000), *map(figure, range(3, 12))],
    }
    return [cell for part in (parts | changed).values() for cell in part]


def long(heading: str, words: int) -> list[held.Cell]:
    return [a_cell(f"## {heading}\n\n" + "word " * words)]


OPEN_CODE = a_cell("a\n" * 5, "code")


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({}, []),
        ({"one": [*long("It is so", 150), OPEN_CODE]}, []),
        ({"one": [*long("It is so", 151), OPEN_CODE]}, ["151 words, at most 150: It is so"]),
        ({"doubts": long("What could be wrong", 151)}, ["151 words, at most 150: What could be wrong"]),
        ({"doubts": []}, ["there is no section What could be wrong"]),
        ({"opening": [a_cell("# So?")]}, ["there is no In short"]),
        (
            {"opening": [a_cell("# So?\n\n**In short.** " + "word " * 61 + "\n\n" + "word " * 151)]},
            ["151 words, at most 150: the opening without In short", "61 words, at most 60: In short"],
        ),
        ({"opening": [a_cell("**In short.** [1](#n-a) [2](#n-b) [3](#n-c).")]}, ["3 numbers, at most two: In short"]),
        (
            {
                "dials": [
                    a_cell("## Turn the dials"),
                    a_cell('show(f, number="2.8")\nshow(f, number="2.9")', "code", "hide-input"),
                ]
            },
            ["2 figures, at most one: Turn the dials"],
        ),
        ({"more": []}, ["1 sections with findings, 3 to 6: It is so"]),
        ({"verdict": [a_cell("## Verdict\n\nSo. It. Is! So?")]}, ["4 sentences, one to 3: Verdict"]),
        ({"verdict": [a_cell("## Verdict")]}, ["0 sentences, one to 3: Verdict"]),
        ({"one": long("It is so", 1)}, ["0 open cells of code, one: "]),
        ({"one": [*long("It is so", 1), a_cell("a\n" * 16, "code")]}, ["16 lines of open code, 5 to 15"]),
        ({"one": [*long("It is so", 1), a_cell("a\n\n" * 4, "code")]}, ["4 lines of open code, 5 to 15"]),
        ({"one": [*long("It is so", 1), OPEN_CODE, OPEN_CODE]}, ["2 open cells of code, one: it, it"]),
        ({"one": [*long("It is so", 1), OPEN_CODE, a_cell("a", "code", "remove-cell")]}, []),
    ],
)
def test_what_is_wrong_with_a_chapter_is_found(changed: dict[str, list[held.Cell]], wrong: list[str]) -> None:
    cells = a_chapter(**changed)
    assert [line for check in held.ANATOMY for line in check(cells, "02-planted")] == wrong


def test_a_long_chapter_is_found() -> None:
    many = [
        cell for n in range(8) for cell in (*long(f"It is {n}", 150), a_cell(f'show(f, number="2.{n}")', "code", "hide-input"))
    ]
    found = held.too_long(
        a_chapter(more=many, doubts=long("What could be wrong", 150), dials=long("Turn the dials", 150)), "02-a"
    )
    assert [re.sub(r"^\d{4}", "N", line) for line in found] == [
        "N words outside of folds, at most 1500",
        "9 figures outside of folds, at most 6",
    ]


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (Fact(0.934, "{:.0%}", ""), "93 %"),
        (Fact(-0.5, "{:.1f}", ""), "-0.5"),
        (Fact((0.1, 0.02), "{:.2f} ± {:.2f}", ""), "0.10 ± 0.02"),
        (Fact("three of four", "{}", ""), "Three of four"),
    ],
)
def test_numbers_are_the_same_however_they_are_set(fact: Fact, words: str) -> None:
    assert same(words, fact)
    assert not same(f"{words}0", fact)


def test_other_numbers_in_a_text_make_a_chapter_stale() -> None:
    notebook = lambda words: nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(words)])
    digest = lambda words: provenance.code_digest(notebook(words))
    assert digest(WORDS) == digest(f"{WORDS}\nMore words.")
    assert digest(WORDS) != digest(WORDS.replace("93", "94"))


# ---------------------------------------------------------------- verdicts

LEVELS = {"a": Part("a", 0.9, ">=", 0.5), "b": Part("b", 0.1, ">=", 0.5), "given": Part("g", 1, ">=", 5, given=True)}


@pytest.mark.parametrize(
    ("parts", "verdict", "failed"),
    [
        ([LEVELS["a"]], REPRODUCED, ()),
        ([LEVELS["a"], LEVELS["b"]], PARTLY, ("b",)),
        ([LEVELS["b"]], NO_EFFECT, ("b",)),
        ([LEVELS["given"], LEVELS["a"]], TOO_SMALL, ("g",)),
        ([LEVELS["given"], LEVELS["b"]], TOO_SMALL, ("g", "b")),
        ([by_exact_test("t", 0.9, 0.02, 0.001)], OPPOSITE, ("t",)),
        ([by_exact_test("t", 0.3, 0.7, 0.1)], TOO_SMALL, ("t",)),
        ([by_exact_test("t", 0.3, 0.7, 0.001)], NO_EFFECT, ("t",)),
        ([Part("n", math.nan, ">=", 0.5)], NO_EFFECT, ("n",)),
        ([Part("x", 1, ">", 0, group="xy"), Part("y", 0, ">", 0, group="xy")], NO_EFFECT, ("y",)),
    ],
)
def test_verdicts_follow_from_parts(parts: list[Part], verdict: str, failed: tuple[str, ...]) -> None:
    found = Measured(tuple(parts), 3).finding()
    assert (found.status, found.failed, found.n_seeds) == (verdict, failed, 3)


def test_a_measured_claim_is_plain_data() -> None:
    row = a_claim(0.25).evaluate(Store(Path("nowhere")), "smoke")
    part = {"name": "it", "measured": 0.25, "compare": ">=", "threshold": 0.5, "given": False, "holds": False}
    assert (row["status"], row["parts"]) == (NO_EFFECT, [part | {"failure": NO_EFFECT}])
    assert row["measured"] == "it: 0.25 (needed: at least 0.50)"


def test_a_mean_of_nothing_is_none() -> None:
    assert mean([1, 2.0, 6]) == 3
    assert mean(iter([])) is None
    assert mean([1.0, None]) is None
