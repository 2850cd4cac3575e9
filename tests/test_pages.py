"""What the build writes around the chapters: tables of provenance, what is missing, what failed, what an execution leaves."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import platform
import re
from collections.abc import Callable
from html import unescape
from importlib import metadata
from pathlib import Path

import nbformat
import pytest
from packages import asked, brought, third_party
from packaging.utils import canonicalize_name
from test_chapters import write
from tiny import make_result

from lib.book import build, chapters, generated
from lib.book.display import plain
from lib.book.paths import ROOT, STORE_VARIABLE
from lib.book.provenance import LIVE, RECORD, stale
from lib.composition.experiments import FAST, fast_specs, point_specs
from lib.composition.study import make_study
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store
from lib.core.sweep.experiment import Experiment

MADE = {"device": "cpu (x86)", "precision": "bfloat16", "torch": "2.13"}


# ---------------------------------------------------------------- tables of provenance


def table_of(text: str) -> list[list[str]]:
    """The cells of a Markdown table, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two of the smoke runs of the phase diagram, one run outside every profile and one of an older version."""
    store, specs = Store(tmp_path / "results"), fast_specs("smoke")
    old = dataclasses.replace(specs[0], version=FAST.version - 1)
    for spec, made in (
        (specs[0], MADE),
        (specs[1], MADE | {"torch": "2.14"}),
        (old, MADE),
        (point_specs("smoke", 0.1, 1)[0], MADE),
    ):
        store.put(dataclasses.replace(make_result(spec), steps=1200, seconds=1800.0), made)
    return store


def test_sweeps_by_hand(store: Store) -> None:
    text = generated.sweeps(store)
    devices = "cpu (x86), bfloat16, torch 2.13 (1); cpu (x86), bfloat16, torch 2.14 (1)"
    assert table_of(text) == [[f"`composition-fast`, version {FAST.version}", "smoke", devices, "2/4", "1", "2,400", "1.00"]]
    assert text.splitlines()[-2] == "- `composition-phase` also has 1 of an older version."
    assert (
        text.splitlines()[-1] == "- `composition-fast` also has 2 stored before some metric existed, 1 outside every profile."
    )


def test_a_damaged_result_is_told_in_the_table(store: Store) -> None:
    path = store.path(fast_specs("smoke")[0])
    path.write_bytes(path.read_bytes()[:-9])
    text = generated.sweeps(store)
    assert [row[3] for row in table_of(text)] == ["1/4"]
    assert text.splitlines()[-1].endswith("1 outside every profile, 1 that cannot be read.")


def test_without_results_there_is_nothing_to_tell(tmp_path: Path) -> None:
    text = generated.sweeps(Store(tmp_path))
    assert table_of(text) == []
    assert text.splitlines()[-1] == "Nothing that is stored is stale or damaged."


def test_words_count_what_differs() -> None:
    assert generated._words(["a", "a"]) == "a"
    assert generated._words([1, "b", 1.5, "b"]) == "b (2); 1 (1); 1.5 (1)"


def test_the_environment_is_told() -> None:
    rows = dict(table_of(generated.environment()))
    lock = hashlib.sha256((ROOT / "requirements.lock").read_bytes()).hexdigest()
    assert rows["sha256 of `requirements.lock`"] == f"`{lock}`"
    assert rows["Python"] == platform.python_version()
    assert rows["torch"] == metadata.version("torch")


def test_the_requirements_bring_all_that_the_book_imports() -> None:
    there, packages = brought(asked("requirements.txt")), metadata.packages_distributions()
    for path in (ROOT / "lib" / "book").glob("*.py"):
        for module in third_party(path):
            names = {canonicalize_name(name) for name in packages[module]}
            if path.name == "pdf.py" and names & {"playwright", "pypdf"}:
                continue  # it prints with what the tests need, and says so where that is not there
            assert names & there, f"{path.name} imports {module}, which requirements.txt does not bring"


def test_every_source_is_listed_with_its_first_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [row[0] for row in table_of(generated.source_list())]
    assert len(set(listed)) == len(listed) > 40
    for path in (ROOT / "lib").rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        shown = plain(name).replace("/", "/<wbr>")
        assert (f'<a href="../source/{name}.html"><code>{shown}</code></a>' in listed) == bool(path.stat().st_size)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.py").write_text('"""One | two.\n\nMore."""\n')
    monkeypatch.setattr(generated, "ROOT", tmp_path)
    assert [row[1] for row in table_of(generated.source_list())] == ["One \\| two."]


# ---------------------------------------------------------------- the build


def test_what_is_missing_is_named_both_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert build.missing() == []
    toc = "root: book/intro\nparts:\n- chapters:\n  - file: book/01-a\n  - file: book/gone\n- chapters: [{file: book/about}]\n"
    (tmp_path / "_toc.yml").write_text(toc)
    for name in ("01-a.ipynb", "02-new.ipynb", "about.md", "intro.md"):
        (tmp_path / name).touch()
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "BOOK", tmp_path)
    assert build.missing() == ["gone is in _toc.yml but not in book/", "02-new is in book/ but not in _toc.yml"]


@pytest.mark.parametrize(("text", "found"), [('{"a": "why"}', {"a": "why"}), ("", {}), ("[1]", {}), ("5", {}), (None, {})])
def test_failures_of_the_last_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, found: dict[str, str]
) -> None:
    monkeypatch.setattr(build, "FAILED", tmp_path / "failed.json")
    if text is not None:
        build.FAILED.write_text(text)
    assert build.failures() == found


def test_tidy_records_what_it_leaves(tmp_path: Path) -> None:
    notebook = nbformat.read(write(tmp_path / "t.ipynb", "1").path, as_version=4)
    view = {"text/plain": "a view", LIVE: {"model_id": "0"}}
    notebook.cells[1].outputs = [
        nbformat.v4.new_output("stream", name="stderr", text="50%"),
        nbformat.v4.new_output("display_data", view),
    ]
    results = {"tiny": {"runs": 1, "digest": None, "keys": "a"}}
    chapters.tidy(notebook, {"n": 1}, results)
    assert [output.data for output in notebook.cells[1].outputs] == [{"text/plain": "a view"}]
    assert set(notebook.metadata[RECORD]) == {"parameters", "code", "results", "outputs"}
    assert notebook.metadata[RECORD]["results"] == results
    before = json.dumps(notebook)
    assert json.dumps(chapters.tidy(notebook, {"n": 1}, results)) == before
    chapters.tidy(notebook, {"n": 1})
    nbformat.write(notebook, tmp_path / "t.ipynb")
    again = nbformat.read(tmp_path / "t.ipynb", as_version=4)
    assert stale(again, {"n": 1}, Store(tmp_path)) == []  # writing and reading change nothing


# ---------------------------------------------------------------- foreign words


HOSTILE = "<script>window.hit=1</script> | [x](javascript:hit) `{raw} html` **b** &lt;"


def test_foreign_words_are_neither_html_nor_markup() -> None:
    said = plain(HOSTILE)
    assert not set(said) & set("<>|[]`*{}")
    assert unescape(said) == HOSTILE


def test_a_hostile_parameter_does_not_reach_the_page_as_html(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chapter = write(tmp_path / "04-some.ipynb", "print(name)")
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    chapters.execute(chapter, {"name": HOSTILE}, chapter.path, progress=False)
    monkeypatch.setattr(chapters, "chapters", lambda: [chapter])
    said = generated.chapter_states(Store(tmp_path / "store"))
    assert "window.hit=1" in said
    assert "<script" not in said
    assert all(line.count("|") == 4 for line in said.splitlines())


def test_a_hostile_device_in_a_result_does_not_reach_the_page_as_html(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_spec: Callable[..., RunSpec]
) -> None:
    store, spec = Store(tmp_path), tiny_spec()
    made = {"device": HOSTILE, "precision": HOSTILE, "threads": 1, "torch": HOSTILE}
    store.put(RunResult(spec, {"test": 1.0}, {"step": [1]}, 1, "fitted", 1, 1.0), made)
    experiment = Experiment("tiny", "Tiny", 1, make_study, lambda profile: [spec] if profile == "smoke" else [])
    monkeypatch.setattr(generated, "EXPERIMENTS", {"tiny": experiment})
    said = generated.sweeps(store)
    assert "window.hit=1" in said
    assert "<script" not in said
