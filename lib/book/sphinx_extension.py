"""What the book adds to Sphinx: banners on stale chapters, links to figures and to sources, and the pages of the sources."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError
from sphinx.util import logging

from lib.book import chapters
from lib.book.build import failures
from lib.book.display import anchor
from lib.book.paths import BOOK, ROOT
from lib.book.text import OTHER
from lib.core.read import typeset
from lib.core.read.fact import LINK

_log = logging.getLogger(__name__)
_FIGURE = re.compile(r"\bFigures? ((?:\d{1,2}|E)\.\d+)")
_DRAWN_BY = re.compile(r"<code>(lib/[\w/.]+)</code>, <code>(\w+)</code>")
_DEFINITION = re.compile(r"^(?:async )?(?:def|class) (\w+)", re.MULTILINE)


def banner(reasons: list[str]) -> nodes.warning:
    """What a reader is told first on a page that may not show what it would show now."""
    words = "This page may be out of date: " + "; ".join(reasons) + ". Build the book again before you rely on it."
    return nodes.warning("", nodes.paragraph("", words), classes=["rm-stale"])


def mark_stale(app: Sphinx, doctree: nodes.document, name: str) -> None:
    path = BOOK / f"{Path(name).name}.ipynb"
    if not path.exists():
        return
    reasons = chapters.stale(chapters.Chapter(path))
    if why := failures().get(path.stem):
        reasons = [f"executing it failed ({why}); what you see is from an earlier execution", *reasons]
    title = next(iter(doctree.findall(nodes.title)), None)
    if reasons and title is not None:
        title.parent.insert(title.parent.index(title) + 1, banner(reasons))


def mark_facts(app: Sphinx, name: str, source: list[str]) -> None:
    """Links of numbers and verdicts, before Sphinx looks for targets of its own: what they lead to is in a cell's output."""
    if name.startswith("book/"):
        quote = '\\"' if (BOOK / f"{Path(name).name}.ipynb").exists() else '"'  # a notebook is JSON
        to = lambda match: f"class={quote}rm-fact{quote} href={quote}#{match[2]}-{match[3]}{quote}"
        source[0] = LINK.sub(lambda match: f"<a {to(match)}>{typeset.characters(match[1])}</a>", source[0])


def move_banner(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """What a chapter says of other results than those it was written for stands above its first heading."""
    for node in list(doctree.findall(nodes.raw)):
        if f'class="admonition warning {OTHER}"' in node.astext():
            node.parent.remove(node)
            doctree.insert(0, node)


LAB_RECORD = "Lab record"
"""The heading of the section that is folded away."""


def fold_lab_record(app: Sphinx, doctree: nodes.document, name: str) -> None:
    for section in list(doctree.findall(nodes.section)):
        title = section.next_node(nodes.title)
        if title is not None and title.parent is section and title.astext() == LAB_RECORD:
            section.remove(title)
            opening = nodes.raw("", f'<details class="rm-lab"><summary>{LAB_RECORD}</summary>', format="html")
            section.insert(0, opening)
            section.append(nodes.raw("", "</details>", format="html"))


def _page_of(number: str) -> str:
    """The page that has a figure: chapters by their number, the engine's by its letter."""
    chapter = number.split(".")[0]
    return next(iter(p.stem for p in BOOK.glob(f"{int(chapter):02}-*.ipynb")), "") if chapter.isdigit() else "engine"


def link_figures(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """`Figure 2.1` in prose becomes a link to that figure."""
    if not name.startswith("book/"):
        return
    for node in list(doctree.findall(nodes.Text)):
        above = [node.parent, node.parent.parent]
        if not _FIGURE.search(node) or any(isinstance(n, nodes.reference | nodes.title | nodes.literal_block) for n in above):
            continue
        parts: list[nodes.Node] = []
        end = 0
        for match in _FIGURE.finditer(node):
            page, mark = _page_of(match[1]), f"#figure-{anchor(match[1])}"
            here = Path(name).name == page
            parts.append(nodes.Text(node[end : match.start()]))
            address = mark if here else f"{page}.html{mark}"
            parts.append(nodes.reference("", match[0], internal=True, refuri=address) if page else nodes.Text(match[0]))
            end = match.end()
        node.parent.replace(node, [*parts, nodes.Text(node[end:])])


def link_sources(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Where a figure says what drew it, its name becomes a link to that function's source."""

    def link(match: re.Match[str]) -> str:
        path = ROOT / match[1]
        if not path.exists() or match[2] not in _DEFINITION.findall(path.read_text(encoding="utf-8")):
            _log.warning("%s names %s in %s, which is not there", name, match[2], match[1])
            return match[0]
        return f'<a href="../source/{match[1]}.html#{match[2]}">{match[0]}</a>'

    for node in doctree.findall(nodes.raw):
        if "rm-provenance" in node.astext():
            node.children = [nodes.Text(_DRAWN_BY.sub(link, node.astext()))]


def describe_figures(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """A drawn figure gets its caption as the words for those who do not see it, and a frame that can scroll by itself."""
    for image in list(doctree.findall(nodes.image)):
        siblings = image.parent.children
        after = siblings[siblings.index(image) + 1 :][:1]
        if not after or 'class="rm-caption"' not in after[0].astext():
            continue
        caption = re.search(r'<p class="rm-caption"[^>]*>(.*?)</p>', after[0].astext(), re.DOTALL)
        image["alt"] = unescape(re.sub(r"<[^>]+>", "", caption[1])) if caption else name
        frame = nodes.container("", classes=["rm-figure"])
        image.parent.replace(image, frame)
        frame += image


def hide_summaries(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """The line that a cell with hidden source prints repeats its figure for regression tests; a reader has the figure."""
    for cell in doctree.findall(lambda node: isinstance(node, nodes.container) and "tag_hide-input" in node["classes"]):
        for block in list(cell.findall(nodes.literal_block)):
            if "stream" in block["classes"]:
                block.parent.remove(block)


def set_type(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Numbers and marks of what was written by hand, as in what is computed."""
    if not name.startswith("book/"):
        return
    verbatim = nodes.literal | nodes.literal_block | nodes.math | nodes.math_block | nodes.raw | nodes.comment
    for node in list(doctree.findall(nodes.Text)):
        if isinstance(node.parent, verbatim) or isinstance(node.parent.parent, verbatim):
            continue
        if (words := typeset.characters(str(node))) != str(node):
            node.parent.replace(node, nodes.Text(words))


def terms() -> dict[str, str]:
    """The glossary: {term: what it means}, without mathematics."""
    text = (BOOK / "glossary.md").read_text(encoding="utf-8")
    return {term: re.sub(r"[$\\{}]|mathrm", "", words) for term, words in re.findall(r"^(\w.*)\n  (.+)$", text, re.MULTILINE)}


EVERYDAY = ("run", "seed", "depth", "place", "key", "cell", "contrast", "γ")
"""Terms of the glossary that are also plain words, and are not marked where they occur."""


def mark_terms(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """The first time a page uses a word of the glossary, it leads there, and says what it means when pointed at."""
    if not name.startswith("book/") or Path(name).name in ("glossary", "source", "provenance"):
        return
    for term, words in terms().items():
        if term in EVERYDAY:
            continue
        pattern = re.compile(rf"(?<![\w/-]){re.escape(term)}s?(?![\w/-])", re.IGNORECASE)
        for node in list(doctree.findall(nodes.Text)):
            if not isinstance(node.parent, nodes.paragraph) or not (match := pattern.search(node)):
                continue
            address = f"glossary.html#term-{term.replace(' ', '-')}"
            link = nodes.reference("", match[0], internal=True, refuri=address, classes=["rm-term"], reftitle=words)
            node.parent.replace(node, [nodes.Text(node[: match.start()]), link, nodes.Text(node[match.end() :])])
            break


def source_body(path: Path) -> str:
    """A source file as HTML, with an anchor at each top-level definition."""
    text = path.read_text(encoding="utf-8")
    html = highlight(text, get_lexer_for_filename(path.name), HtmlFormatter(nowrap=True))
    lines = html.split("\n")
    for number, line in enumerate(text.split("\n")):
        if match := _DEFINITION.match(line):
            lines[number] = f'<span class="rm-anchor" id="{match[1]}">{lines[number]}</span>'
    body = "\n".join(lines)
    name = path.relative_to(ROOT).as_posix()
    up = "../" * (1 + name.count("/"))
    return (
        f'<h1>{escape(name)}</h1><p><a href="{up}book/source.html">All sources</a></p>'
        f'<div class="highlight rm-code"><pre tabindex="0">{body}</pre></div>'
    )


def source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    for path in sorted((ROOT / "lib").rglob("*")):
        if path.suffix not in {".py", ".js", ".css", ".cpp", ".toml"} or not path.stat().st_size:
            continue
        name = path.relative_to(ROOT).as_posix()
        yield f"source/{name}", {"title": name, "body": source_body(path)}, "page.html"


def drop_live_code(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Leave out the scripts of thebe, which Jupyter Book puts on every page (twice, which is an error in the browser): nothing
    here runs code on a server, and they know an address elsewhere."""
    for kind in ("script_files", "css_files"):
        context[kind] = [f for f in context.get(kind, []) if "thebe" not in f"{f} {getattr(f, 'attributes', '')}".lower()]


def plain_bibliography(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """The bibliography calls itself a list but its entries no items, which screen readers stumble over."""
    if "citation-list" in (body := context.get("body", "")):
        context["body"] = body.replace('<div role="list" class="citation-list">', '<div class="citation-list">')


_ICON = re.compile(r"""(?:"([a-z0-9-]+)"|\b([a-z0-9]+)):\[\d+,\d+,\[[^\]]*\],"[0-9a-f]+",(?:"[^"]*"|\["[^"]*","[^"]*"\])\],?""")


def used_icons_only(script: str, used: set[str]) -> str:
    """The theme's script of icons without those that no page shows: nine tenths of what a page would load."""
    return _ICON.sub(lambda match: match[0] if (match[1] or match[2]) in used else "", script)


def slim(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    used = {name for page in out.rglob("*.html") for name in re.findall(r"\bfa-([a-z0-9-]+)", page.read_text(encoding="utf-8"))}
    path = out / "_static" / "scripts" / "fontawesome.js"
    if path.exists():
        path.write_text(used_icons_only(path.read_text(encoding="utf-8"), used), encoding="utf-8")
    for unused in (*out.glob("_static/scripts/*.map"), *out.glob("_static/styles/*.map")):
        unused.unlink()


REPOSITORY = "REASON_OR_MEMORIZE_REPOSITORY"
"""The variable that says where the notebooks are published: https://github.com/OWNER/NAME, or …/tree/BRANCH of it."""


def offer_launch(app: Sphinx, config: Config) -> None:
    """Buttons that open a chapter on Binder and on Colab; none where nobody says where the notebooks are."""
    if not (address := os.environ.get(REPOSITORY)):
        return
    match = re.fullmatch(r"(https://github\.com/[\w.-]+/[\w.-]+?)(?:\.git)?/?(?:/tree/([\w./-]+))?", address)
    if match is None:
        raise ConfigError(f"{REPOSITORY} must be https://github.com/OWNER/NAME or …/tree/BRANCH of it, got {address!r}.")
    places = {"binderhub_url": "https://mybinder.org", "colab_url": "https://colab.research.google.com"}
    buttons = {"repository_url": match[1], "repository_branch": match[2] or "main", "use_repository_button": True}
    launch = {"notebook_interface": "jupyterlab", **places}
    config.html_theme_options = {**config.html_theme_options, **buttons, "launch_buttons": launch}


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", offer_launch)
    app.connect("source-read", mark_facts)
    for change in (
        move_banner,
        fold_lab_record,
        mark_stale,
        set_type,
        link_figures,
        link_sources,
        mark_terms,
        describe_figures,
        hide_summaries,
    ):
        app.connect("doctree-resolved", change)
    app.connect("build-finished", slim)
    app.connect("html-collect-pages", source_pages)
    app.connect("html-page-context", plain_bibliography)
    app.connect("html-page-context", drop_live_code, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
