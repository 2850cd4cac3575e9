"""Provenance: an executed notebook is fresh until a part of what it was made from changes, and then says which."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import SpecFactory, make_tiny_spec
from hypothesis import given
from hypothesis import strategies as st
from tiny import PROVENANCE, make_result

from lib.book.paths import note_read
from lib.book.provenance import LIVE, RECORD, code_digest, digest, make_record, outputs_digest, read_results, sources, stale
from lib.core.record.store import Store, StoreError

SOURCES = {
    "alpha": "from lib.inner import beta\nfrom lib.core.train import loop\n",
    "inner/beta": "def f():\n    import lib.inner.deep as deep\n    return deep\n",
    "inner/deep": "VALUE = 1\n",
    "other": "from lib import alpha\n",
    "core/train/loop": "STEPS = 1\n",
    "core/sweep/jobs": "from lib.core.train import loop\n",
}
PARAMETERS = {"n": 1, "name": "a"}
NEVER = ["it has not been executed by this project's build"]
CODE = ["its code, or code that it imports, has changed since it was executed"]
SHOWN = ["its outputs are not those of its last execution by this project"]
MISSING = ["some of its 2 results of tiny are missing or damaged"]


def tree(folder: Path, **changes: str) -> Path:
    """A root with a small lib. A folder of its own for every variant: a process reads a source once."""
    for name, text in (SOURCES | changes).items():
        path = folder / "lib" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "lib/inner/beta.css").write_text(changes.get("style", "p {}"))
    return folder


def notebook(*cells: str) -> nbformat.NotebookNode:
    """As after an execution: every cell has shown one line."""
    found = nbformat.v4.new_notebook()
    for number, source in enumerate(cells):
        shown = [nbformat.v4.new_output("stream", name="stdout", text=f"line {number}\n")]
        found.cells.append(nbformat.v4.new_code_cell(source, outputs=shown))
    found.cells.append(nbformat.v4.new_markdown_cell("Prose."))
    return found


@pytest.fixture
def executed(tmp_path: Path, store: Store, tiny_spec: SpecFactory) -> nbformat.NotebookNode:
    reads = tmp_path / "reads.txt"
    for seed in (0, 1):
        note_read(store.path(tiny_spec(seed=seed)), reads)
    found = notebook("import lib.alpha", "print(1)")
    found.metadata[RECORD] = make_record(found, PARAMETERS, read_results(reads, store), tree(tmp_path / "root"))
    return found


# ---------------------------------------------------------------- digests


@given(st.lists(st.binary(max_size=2), max_size=3), st.lists(st.binary(max_size=2), max_size=3))
def test_digests_are_equal_only_for_equal_parts(one: list[bytes], other: list[bytes]) -> None:
    """Where one part ends and the next begins counts."""
    assert (digest(one) == digest(other)) == (one == other)
    assert digest([*one, b""]) != digest(one)


def test_sources_are_what_is_imported_at_any_distance_and_what_lies_beside(tmp_path: Path) -> None:
    root = tree(tmp_path)
    names = lambda code: [p.relative_to(root / "lib").as_posix() for p in sources(code, root)]
    assert names("import lib.alpha\nimport numpy") == ["alpha.py", "inner/beta.css", "inner/beta.py", "inner/deep.py"]
    assert names("def f():\n    from lib.inner.deep import VALUE") == ["inner/beta.css", "inner/deep.py"]
    assert names("from library import lib\nlib = 1") == []
    assert (
        names("from lib.core.sweep.jobs import sweep\nfrom lib.core.train import loop") == []
    )  # what trains is in the results


# ---------------------------------------------------------------- what makes a notebook stale


def test_fresh_wherever_it_lies(tmp_path: Path, store: Store, executed: nbformat.NotebookNode) -> None:
    assert stale(executed, PARAMETERS, store, tmp_path / "root") == []
    assert stale(executed, PARAMETERS, store, tree(tmp_path / "clone")) == []
    executed.cells[-1].source = "Other prose."
    assert stale(executed, PARAMETERS, store, tmp_path / "root") == []


@pytest.mark.parametrize(
    ("name", "reasons"),
    [("alpha", CODE), ("inner/beta", CODE), ("inner/deep", CODE), ("style", CODE), ("other", []), ("core/train/loop", [])],
)
def test_changed_sources(tmp_path: Path, store: Store, executed: nbformat.NotebookNode, name: str, reasons: list[str]) -> None:
    root = tree(tmp_path / "changed", **{name: SOURCES.get(name, "") + "# new\n"})
    assert stale(executed, PARAMETERS, store, root) == reasons


def test_own_cells(tmp_path: Path, store: Store, executed: nbformat.NotebookNode) -> None:
    why = lambda: stale(executed, PARAMETERS, store, tmp_path / "root")
    executed.cells[1].source = "print(2)"
    assert why() == CODE
    executed.cells[1].source = "print(1)"
    executed.cells.insert(1, nbformat.v4.new_code_cell("n = 1", metadata={"tags": ["injected-parameters"]}))
    assert why() == CODE + SHOWN  # a cell that papermill injected is a cell


@pytest.mark.parametrize(
    ("defaults", "words"),
    [
        ({"n": 2, "name": "a"}, "(n = 1)"),
        ({"n": 2, "name": "b"}, "(n = 1, name = 'a')"),
        ({"n": 1}, "(name = 'a')"),
        (PARAMETERS | {"new": 0}, "(others than it has now)"),
    ],
)
def test_parameters(
    tmp_path: Path, store: Store, executed: nbformat.NotebookNode, defaults: dict[str, Any], words: str
) -> None:
    reasons = [f"its parameters differ from its defaults {words}"]
    assert stale(executed, defaults, store, tmp_path / "root") == reasons


def edit(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    record = json.loads(path.read_text())
    path.write_text(json.dumps(change(record)))


@pytest.mark.parametrize(
    "damage",
    [
        Path.unlink,
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"[" * 100_000),
        lambda path: edit(path, lambda record: record | {"digest": 5}),
        lambda path: edit(path, lambda record: record | {"content": record["content"] | {"steps": 21}}),
    ],
    ids=["deleted", "truncated", "empty", "nested", "no digest", "altered under its digest"],
)
def test_missing_and_damaged_results(
    tmp_path: Path, store: Store, executed: nbformat.NotebookNode, damage: Callable[[Path], Any]
) -> None:
    """Whatever the store would refuse to read."""
    path = store.path(make_tiny_spec(seed=1))
    damage(path)
    with pytest.raises(StoreError):
        store.read(path)
    assert stale(executed, PARAMETERS, store, tmp_path / "root") == MISSING


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-1])], ids=["gone", "cut"])
def test_weights_are_a_part_of_a_result(tmp_path: Path, damage: Callable[[Path], Any]) -> None:
    store, spec = Store(tmp_path / "weighty"), make_tiny_spec()
    store.put(make_result(spec), PROVENANCE, keep_weights=True)
    note_read(store.path(spec), tmp_path / "reads.txt")
    found = notebook("1")
    found.metadata[RECORD] = make_record(found, {}, read_results(tmp_path / "reads.txt", store), tmp_path)
    assert stale(found, {}, store, tmp_path) == []
    damage(store.path(spec).with_suffix(".safetensors"))
    assert stale(found, {}, store, tmp_path) == ["some of its 1 results of tiny are missing or damaged"]


def test_only_the_results_that_were_read_count(tmp_path: Path, store: Store, executed: nbformat.NotebookNode) -> None:
    why = lambda: stale(executed, PARAMETERS, store, tmp_path / "root")
    store.path(make_tiny_spec(seed=2)).unlink()
    assert why() == []
    spec = make_tiny_spec(seed=0)
    path = store.path(spec)
    before = path.stat().st_mtime_ns
    path.unlink()
    store.put(dataclasses.replace(make_result(spec), steps=30), PROVENANCE)
    os.utime(path, ns=(before + 10**9, before + 10**9))
    assert why() == ["some of its 2 results of tiny have changed"]
    executed.cells[0].source = "import lib.other"
    executed.cells[1].outputs = []
    assert why() == [*CODE, "some of its 2 results of tiny have changed", *SHOWN]


def test_outputs(tmp_path: Path, store: Store, executed: nbformat.NotebookNode) -> None:
    executed.cells[0].outputs[0].text = "line zero\n"
    assert stale(executed, PARAMETERS, store, tmp_path / "root") == SHOWN


def test_live_widgets_do_not_count_among_the_outputs() -> None:
    bare, live = notebook("1"), notebook("1")
    for found in (bare, live):
        found.cells[0].outputs = [nbformat.v4.new_output("display_data", {"text/plain": "a view"})]
    live.cells[0].outputs[0]["data"][LIVE] = {"model_id": "0", "version_major": 2}
    assert outputs_digest(live) == outputs_digest(bare)


@pytest.mark.parametrize("record", [None, {"parameters": {}}, {"parameters": {}, "code": "", "results": {}}])
def test_never_executed_by_the_build(tmp_path: Path, record: dict[str, Any] | None) -> None:
    found = notebook("print(1)")
    if record is not None:
        found.metadata[RECORD] = record
    assert stale(found, {}, Store(tmp_path)) == NEVER


def test_a_notebook_with_a_magic_can_be_digested(tmp_path: Path) -> None:
    """IPython accepts more than Python: an execution that succeeded must be recorded."""
    one, other = (notebook(f"%config InlineBackend.figure_format = '{f}'\nimport lib.alpha") for f in ("svg", "png"))
    assert code_digest(one, tree(tmp_path)) != code_digest(other, tree(tmp_path))
