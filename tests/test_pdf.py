"""The book on paper, and the buttons that lead to it elsewhere."""

from __future__ import annotations

import ast
import re
import runpy
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
import yaml
from IPython.core.inputtransformer2 import TransformerManager
from pypdf import PdfReader
from sphinx.errors import ConfigError

from lib.book import pdf
from lib.book.paths import BOOK, ROOT
from lib.book.pdf import PrintError, in_order, print_book
from lib.book.provenance import sources
from lib.book.sphinx_extension import REPOSITORY, offer_launch


@pytest.fixture
def small(html: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first page and the glossary, as if they were all."""
    place = tmp_path / "html"
    shutil.copytree(html / "_static", place / "_static")
    (place / "book").mkdir()
    pages = [place / "book" / name for name in ("intro.html", "glossary.html")]
    for page in pages:
        shutil.copy(html / "book" / page.name, page)
    monkeypatch.setattr(pdf, "in_order", lambda html: pages)
    return place


def test_pages_are_printed_in_order_and_linked_from_the_first(small: Path) -> None:
    found = PdfReader(print_book(html=small))
    assert [item.title for item in found.outline] == ["Reason or Memorize", "Glossary"]
    words = "\n".join(page.extract_text() for page in found.pages)
    assert words.index("99 with") < words.index("The glossary" if "The glossary" in words else "anchor")
    links = lambda: (small / "book" / "intro.html").read_text().count('href="../reason-or-memorize.pdf"')
    assert links() == 1
    print_book(html=small)
    assert links() == 1


def test_every_page_of_the_contents_is_printed(html: Path, tmp_path: Path) -> None:
    pages = in_order(html)
    assert pages[0].name == "intro.html"
    assert {path.stem for path in BOOK.glob("*.ipynb")} <= {page.stem for page in pages}
    with pytest.raises(PrintError, match=r"intro\.html is not there: build the book first"):
        in_order(tmp_path)


def test_without_a_browser_it_says_what_to_do(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROMIUM", "/nowhere/chromium")
    with pytest.raises(PrintError, match=r"no browser prints the pages .*install Chromium, or set CHROMIUM"):
        print_book(html=small)
    assert not (small / "reason-or-memorize.pdf").exists()


def options_for(address: str | None, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    config = SimpleNamespace(html_theme_options={"logo": {}})
    monkeypatch.delenv(REPOSITORY, raising=False)
    if address is not None:
        monkeypatch.setenv(REPOSITORY, address)
    offer_launch(None, config)
    return config.html_theme_options


def test_without_an_address_there_are_no_buttons(monkeypatch: pytest.MonkeyPatch, html: Path) -> None:
    assert options_for(None, monkeypatch) == options_for("", monkeypatch) == {"logo": {}}
    assert "mybinder" not in (html / "book" / "02-phase-diagram.html").read_text()


@pytest.mark.parametrize(
    ("address", "url", "branch"),
    [
        ("https://github.com/a/b", "https://github.com/a/b", "main"),
        ("https://github.com/a/b.git", "https://github.com/a/b", "main"),
        ("https://github.com/a-x/b.y/tree/launch", "https://github.com/a-x/b.y", "launch"),
    ],
)
def test_an_address_gives_buttons(monkeypatch: pytest.MonkeyPatch, address: str, url: str, branch: str) -> None:
    found = options_for(address, monkeypatch)
    assert (found["repository_url"], found["repository_branch"], found["logo"]) == (url, branch, {})
    assert {"binderhub_url", "colab_url"} <= found["launch_buttons"].keys()


@pytest.mark.parametrize("address", ["github.com/a/b", "https://github.com/a", "https://example.org/a/b", "yes"])
def test_what_is_no_address_is_refused(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    with pytest.raises(ConfigError, match=f"{REPOSITORY} must be https://github.com/OWNER/NAME"):
        options_for(address, monkeypatch)


def test_notebooks_that_begin_alone_fetch_the_book(tmp_path: Path) -> None:
    shutil.copy(BOOK / "how-to-gamma.ipynb", tmp_path)
    launch = runpy.run_path(str(ROOT / ".github" / "launch.py"))["main"]
    for _ in range(2):
        launch("https://github.com/a/b", tmp_path)
    cells = nbformat.read(tmp_path / "how-to-gamma.ipynb", as_version=4).cells
    assert [("https://github.com/a/b" in cell.source) for cell in cells].count(True) == 1
    assert "https://github.com/a/b" in cells[0].source


COLAB = {"IPython", "PIL", "ipywidgets", "matplotlib", "numpy", "scipy", "sklearn", "torch", "tqdm", "traitlets"}
"""What Colab has already, of what chapters import."""
PAPERMILL = {"nbclient", "nbformat"}
"""What comes with papermill."""


def test_the_cell_that_fetches_the_book_installs_what_chapters_import() -> None:
    fetch = runpy.run_path(str(ROOT / ".github" / "launch.py"))["FETCH"]
    (needs,) = re.findall(r"needs = (\[.*\])", fetch)
    installed = set(ast.literal_eval(needs))
    cells = [
        c.source for path in BOOK.glob("*.ipynb") for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"
    ]
    code = "\n".join(TransformerManager().transform_cell(cell) for cell in cells)
    files = {path for path in sources(code) if path.suffix == ".py"}
    files |= {path for part in ("train", "sweep") for path in (ROOT / "lib" / "core" / part).rglob("*.py")}
    imported = set[str]()
    for text in (code, *(path.read_text() for path in files)):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).split(".")[0])
    imported -= {*sys.stdlib_module_names, "lib"}
    assert installed <= imported
    assert imported <= installed | COLAB | PAPERMILL


def test_nothing_is_published_before_the_tests_have_passed() -> None:
    (job,) = yaml.safe_load((ROOT / ".github" / "workflows" / "publish.yml").read_text())["jobs"].values()
    steps = [step.get("run") or step["uses"] for step in job["steps"]]
    assert steps.index("make test") < steps.index("make pdf") < steps.index("actions/upload-pages-artifact@v3")
    assert "env" not in job  # the tests' own pages have no buttons
