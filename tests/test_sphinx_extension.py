"""What the book tells Sphinx: banners under titles, links to figures and to what drew them, pages of sources."""

from __future__ import annotations

import ast
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from docutils import nodes
from docutils.core import publish_doctree

from lib.book import chapters, sphinx_extension
from lib.book.paths import BOOK, ROOT
from lib.book.sphinx_extension import (
    describe_figures,
    fold_lab_record,
    link_figures,
    link_sources,
    mark_facts,
    mark_stale,
    mark_terms,
    move_banner,
    set_type,
    source_body,
    terms,
)

NO_APP: Any = None


def page(text: str) -> nodes.document:
    return publish_doctree(f"Title of Figure 2.1\n===================\n\n{text}\n")


def links(doctree: nodes.document) -> dict[str, str]:
    return {node.astext(): node["refuri"] for node in doctree.findall(nodes.reference)}


@pytest.mark.parametrize(
    ("name", "second"), [("book/01-the-task", "02-phase-diagram.html#figure-2-1"), ("book/02-phase-diagram", "#figure-2-1")]
)
def test_figures_in_prose_become_links(name: str, second: str) -> None:
    text = "See Figure 2.1 and Figure 10.3, then *Figure E.2*; not Figure 98.1, nor ``Figure 2.1`` or Figure 99.9. Figures 1.10"
    doctree = page(text)
    before = doctree.astext()
    link_figures(NO_APP, doctree, name)
    first = "#figure-1-10" if name == "book/01-the-task" else "01-the-task.html#figure-1-10"
    assert links(doctree) == {
        "Figure 2.1": second,
        "Figure 10.3": "10-embeddings.html#figure-10-3",
        "Figure E.2": "engine.html#figure-e-2",
        "Figures 1.10": first,
    }
    assert doctree.astext() == before
    assert not list(next(iter(doctree.findall(nodes.title))).findall(nodes.reference))


def test_figures_are_linked_in_the_book_only() -> None:
    doctree = page("See Figure 2.1.")
    link_figures(NO_APP, doctree, "docs/design")
    assert links(doctree) == {}


def test_every_figure_that_a_chapter_mentions_is_there() -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in BOOK.glob("*.ipynb")}
    for name, text in texts.items():
        for number in set(sphinx_extension._FIGURE.findall(text)):
            there = texts.get(sphinx_extension._page_of(number), "")
            assert f'id=\\"figure-{number.lower().replace(".", "-")}\\"' in there, f"{name} mentions Figure {number}"


def test_a_figure_is_described_by_its_caption_and_other_pictures_are_left() -> None:
    caption = '<p class="rm-caption" id="figure-2-1"><strong>Figure 2.1.</strong> γ &lt; 1 <em>here</em>.</p><p>drawn by f</p>'
    doctree = page("Text.")
    bare, drawn = nodes.image(uri="a.png", alt="as it was"), nodes.image(uri="b.png", alt="Figure 2.1")
    doctree += [bare, nodes.raw("", "<p>no caption</p>", format="html"), drawn, nodes.raw("", caption, format="html")]
    describe_figures(NO_APP, doctree, "book/02-phase-diagram")
    assert [image["alt"] for image in doctree.findall(nodes.image)] == ["as it was", "Figure 2.1. γ < 1 here."]
    assert bare.parent is doctree
    assert [frame["classes"] for frame in doctree.findall(nodes.container)] == [["rm-figure"]]


@pytest.mark.parametrize(
    ("reasons", "failed", "words"),
    [
        ([], {}, []),
        (["one", "two"], {}, ["This page may be out of date: one; two. Build the book again before you rely on it."]),
        (
            [],
            {"01-a": "cell <3>"},
            ["This page may be out of date: executing it failed (cell <3>); what you see is from an earlier"],
        ),
    ],
)
def test_a_stale_page_says_so_under_its_title(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reasons: list[str], failed: dict[str, str], words: list[str]
) -> None:
    (tmp_path / "01-a.ipynb").touch()
    monkeypatch.setattr(sphinx_extension, "BOOK", tmp_path)
    monkeypatch.setattr(sphinx_extension, "failures", lambda: failed)
    monkeypatch.setattr(chapters, "stale", lambda chapter: reasons)
    doctree, other = page("Text."), page("Text.")
    mark_stale(NO_APP, doctree, "book/01-a")
    mark_stale(NO_APP, other, "book/about")
    for made, expected in ((doctree, words), (other, [])):
        title, *rest = next(iter(made.findall(nodes.title))).parent.children
        assert isinstance(title, nodes.title)
        assert [node.astext()[: len(w)] for node, w in zip(rest, expected, strict=False)] == expected
        assert len(list(made.findall(nodes.warning))) == len(expected)


def test_functions_that_draw_are_linked_and_wrong_names_are_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.py").write_text("def draw():\n    def inner(): pass\n")
    warned: list[str] = []
    monkeypatch.setattr(sphinx_extension, "ROOT", tmp_path)
    monkeypatch.setattr(sphinx_extension._log, "warning", lambda form, *words: warned.append(form % words))
    named = [
        f"<code>lib/{file}.py</code>, <code>{function}</code>" for file, function in (("a", "draw"), ("a", "inner"), ("b", "f"))
    ]
    html = f'<p class="rm-provenance">{" and ".join(named)}</p>'
    doctree = page("Text.")
    doctree += [nodes.raw("", html, format="html"), nodes.raw("", named[0], format="html")]
    link_sources(NO_APP, doctree, "book/01-a")
    first, second = (node.astext() for node in doctree.findall(nodes.raw))
    assert first == html.replace(named[0], f'<a href="../source/lib/a.py.html#draw">{named[0]}</a>')
    assert second == named[0]
    assert warned == [
        "book/01-a names inner in lib/a.py, which is not there",
        "book/01-a names f in lib/b.py, which is not there",
    ]


def test_a_source_page_is_the_source_with_an_anchor_at_each_definition() -> None:
    for path in sorted((ROOT / "lib" / "book").iterdir()):
        if path.suffix not in (".py", ".js", ".css") or not path.stat().st_size:
            continue
        html, text = source_body(path), path.read_text(encoding="utf-8")
        shown = html.split('<pre tabindex="0">')[1].removesuffix("</pre></div>")
        assert unescape(re.sub(r"<[^>]*>", "", shown)) == text
        assert '<a href="../../../book/source.html">' in html
        anchors = re.findall(r'^<span class="rm-anchor" id="(\w+)">(.*)</span>$', shown, re.MULTILINE)
        assert all(re.match(rf"(async )?(def|class) {name}\b", re.sub(r"<[^>]*>", "", line)) for name, line in anchors)
        if path.suffix == ".py":
            kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            assert [name for name, _ in anchors] == [node.name for node in ast.parse(text).body if isinstance(node, kinds)]


# ---------------------------------------------------------------- facts, and what rests on them


def test_links_of_facts_are_marked_in_a_notebook_and_in_markdown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "01-a.ipynb").touch()
    monkeypatch.setattr(sphinx_extension, "BOOK", tmp_path)
    words = 'They "do" in [-93 %](#n-share), [partly](#claim-it); [elsewhere](02-b#n-share).'
    to = '<a class="rm-fact" href="#{}">{}</a>'.format
    marked = f'They "do" in {to("n-share", "−93%")}, {to("claim-it", "partly")}; [elsewhere](02-b#n-share).'
    notebook, markdown, other = [json.dumps([words], ensure_ascii=False)], [words], [words]
    mark_facts(NO_APP, "book/01-a", notebook)
    mark_facts(NO_APP, "book/intro", markdown)
    mark_facts(NO_APP, "docs/design", other)
    assert json.loads(notebook[0]) == [marked]
    assert markdown == [marked]
    assert other == [words]


def test_the_banner_of_other_results_stands_first() -> None:
    doctree = page("Text.")
    told = nodes.raw("", f'<div class="admonition warning {sphinx_extension.OTHER}">4 differ</div>', format="html")
    inside = nodes.container("", nodes.raw("", "<p>figure</p>", format="html"), told)
    doctree += [inside]
    move_banner(NO_APP, doctree, "book/01-a")
    assert doctree.children[0] is told
    assert [raw.astext() for raw in inside.findall(nodes.raw)] == ["<p>figure</p>"]
    assert len(list(doctree.findall(nodes.raw))) == 2


def test_the_lab_record_alone_is_folded_away() -> None:
    parts = "".join(f"{name}\n{'-' * len(name)}\n\nText of {name}.\n\n" for name in ("Lab record", "Lab records", "More"))
    doctree = page(parts)
    fold_lab_record(NO_APP, doctree, "book/01-a")
    first, *others = doctree.findall(nodes.section)
    assert first["ids"] == ["lab-record"]  # where links to it lead
    opening = '<details class="rm-lab"><summary>Lab record</summary>'
    assert [node.astext() for node in first.children] == [opening, "Text of Lab record.", "</details>"]
    assert [next(iter(node.findall(nodes.title))).astext() for node in others] == ["Lab records", "More"]
    assert "details" not in "".join(node.astext() for node in others)


# ---------------------------------------------------------------- type


def test_what_is_written_by_hand_is_set_like_what_is_computed() -> None:
    blocks = "::\n\n  x = -1\n\n.. math:: x = -1\n\n.. raw:: html\n\n  -1"
    doctree = page(f"From -0.5 to 1e-4, the model's own *Fig 2*; ``-1 Fig 2``.\n\n{blocks}")
    set_type(NO_APP, doctree, "book/01-a")
    first, block, formula, raw = next(iter(doctree.findall(nodes.section)), doctree).children[1:]
    assert first.astext() == "From −0.5 to 10⁻⁴, the model’s own Fig. 2; -1 Fig 2."
    assert (block.astext(), formula.astext(), raw.astext()) == ("x = -1", "x = -1", "-1")
    other = page("From -0.5")
    set_type(NO_APP, other, "docs/design")
    assert other.astext().endswith("From -0.5")


# ---------------------------------------------------------------- the glossary

GLOSSARY = """# Glossary

{.glossary}
essential path
  The edges $\\mathrm{that}$ bring the key.

composition
  Doing one after the other.

run
  A trained model, which is a plain word too.

initialization rate
  How small weights start.
"""


@pytest.fixture
def glossary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "glossary.md").write_text(GLOSSARY, encoding="utf-8")
    monkeypatch.setattr(sphinx_extension, "BOOK", tmp_path)
    return tmp_path


@pytest.mark.usefixtures("glossary")
def test_the_glossary_is_read_without_its_mathematics() -> None:
    assert terms() == {
        "essential path": "The edges that bring the key.",
        "composition": "Doing one after the other.",
        "run": "A trained model, which is a plain word too.",
        "initialization rate": "How small weights start.",
    }


@pytest.mark.usefixtures("glossary")
def test_a_term_is_marked_where_it_first_stands_in_prose() -> None:
    text = """`Composition <a.html>`_ is *composition*, ``composition``.

Compositions, and composition again: a run has decompositions.

The Essential paths are here; the essential path is there.

A composition of its own, on an essential path."""
    doctree = publish_doctree(
        f"A composition\n=============\n\nPart on the essential path\n--------------------------\n\n{text}\n"
    )
    before = doctree.astext()
    mark_terms(NO_APP, doctree, "book/01-a")
    assert doctree.astext() == before
    made = [node for node in doctree.findall(nodes.reference) if "rm-term" in node["classes"]]
    assert {node.astext(): (node["refuri"], node["reftitle"]) for node in made} == {
        "Compositions": ("glossary.html#term-composition", "Doing one after the other."),
        "Essential paths": ("glossary.html#term-essential-path", "The edges that bring the key."),
    }
    assert len(made) == 2
    for title in doctree.findall(nodes.title):
        assert not list(title.findall(nodes.reference))
    for node in made:
        assert isinstance(node.parent, nodes.paragraph)
        assert not list(node.findall(nodes.reference, include_self=False))


@pytest.mark.usefixtures("glossary")
@pytest.mark.parametrize("name", ["book/glossary", "docs/design"])
def test_terms_are_marked_in_the_book_but_not_in_the_glossary(name: str) -> None:
    doctree = page("A composition.")
    mark_terms(NO_APP, doctree, name)
    assert links(doctree) == {}


def test_every_term_of_the_book_has_its_place_in_the_glossary(html: Path) -> None:
    """Links lead to ids that Sphinx makes of the terms."""
    made = (html / "book" / "glossary.html").read_text(encoding="utf-8")
    known = terms()
    assert len(known) > 10
    for term in set(known) - set(sphinx_extension.EVERYDAY):
        assert f'id="term-{term.replace(" ", "-")}"' in made, term
    assert set(sphinx_extension.EVERYDAY) <= set(known)
    used = set()
    for path in (html / "book").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        marked = re.findall(r'<a class="rm-term[^"]*" href="glossary\.html#(term-[^"]+)"', text)
        assert len(marked) == len(set(marked)), path.name  # each once
        assert all(f'id="{unescape(mark)}"' in made for mark in marked), path.name
        used |= {unescape(mark).removeprefix("term-").replace("-", " ") for mark in marked}
    idle = {term for term in known if term.replace("-", " ") not in used} - set(sphinx_extension.EVERYDAY)
    assert idle == set(), "terms that no page uses"
