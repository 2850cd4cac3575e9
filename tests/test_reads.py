"""What an execution reads: noted by the store, recorded in the notebook, and asked for again when it is judged."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from conftest import SpecFactory
from test_chapters import write
from tiny import PROVENANCE, make_result

from lib.book import chapters
from lib.book.chapters import Chapter, execute
from lib.book.paths import MISSED, READS_VARIABLE, ROOT, STORE_VARIABLE, RecordingStore, default_store, note_read
from lib.book.provenance import RECORD, make_record, read_results, stale
from lib.core.record.store import Store, StoreError


def test_a_recording_store_reads_the_same_and_notes_it_once(tmp_path: Path, store: Store, tiny_spec: SpecFactory) -> None:
    reads = tmp_path / "log.txt"
    recording = RecordingStore(store.root, reads)
    assert recording.get(tiny_spec(seed=9)) is None
    for seed in (1, 0, 1, 1, 0):
        assert recording.get(tiny_spec(seed=seed)) == store.get(tiny_spec(seed=seed))
    store.path(tiny_spec(seed=2)).write_text("{}")
    with pytest.raises(StoreError):
        recording.get(tiny_spec(seed=2))
    missed, *read = reads.read_text().splitlines()
    assert missed == f"{MISSED}{store.path(tiny_spec(seed=9)).absolute()}"
    assert read == [str(store.path(tiny_spec(seed=seed)).absolute()) for seed in (1, 0)]


def test_a_result_that_was_missed_and_comes_later_makes_stale(tmp_path: Path, store: Store, tiny_spec: SpecFactory) -> None:
    """A claim that was not run for want of it could be judged now. One that was trained on the way was not missed."""
    reads, late, trained = tmp_path / "log.txt", tiny_spec(seed=9), tiny_spec(seed=8)
    recording = RecordingStore(store.root, reads)
    assert recording.get(late) is None
    assert recording.get(trained) is None
    store.put(make_result(trained), PROVENANCE)
    assert recording.get(trained) is not None
    found = read_results(reads, store)
    assert (found["tiny"]["keys"], found["tiny"]["absent"]) == (trained.key, late.key)
    notebook = nbformat.v4.new_notebook()
    notebook.metadata[RECORD] = make_record(notebook, {}, found)
    assert stale(notebook, {}, store) == []
    store.put(make_result(late), PROVENANCE)
    assert stale(notebook, {}, store) == ["results of tiny that it looked for in vain are there now"]


def test_reads_of_several_stores_and_folders_are_grouped(tmp_path: Path, store: Store, tiny_spec: SpecFactory) -> None:
    reads, other = tmp_path / "log.txt", tiny_spec(experiment="other")
    store.put(make_result(other), PROVENANCE)
    for _ in range(2):  # a notebook may open its store twice
        again = RecordingStore(store.root, reads)
        for spec in (tiny_spec(seed=1), tiny_spec(seed=0), other):
            again.get(spec)
    note_read(ROOT / "benchmarks" / "speed.json", reads)
    found = read_results(reads, store)
    assert {name: group["runs"] for name, group in found.items()} == {"benchmarks": 1, "other": 1, "tiny": 2}
    assert found["tiny"]["keys"].split() == sorted(tiny_spec(seed=s).key for s in (0, 1))
    assert len({group["digest"] for group in found.values()} - {None}) == 3
    assert read_results(tmp_path / "none.txt", store) == {}


def test_the_environment_says_whether_to_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(READS_VARIABLE, raising=False)
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path))
    assert type(default_store()) is Store
    note_read(tmp_path / "a.json")  # no log: nothing to do
    monkeypatch.setenv(READS_VARIABLE, str(tmp_path / "log.txt"))
    assert isinstance(default_store(), RecordingStore)
    assert default_store().root == tmp_path
    note_read(tmp_path / "a.json")
    assert (tmp_path / "log.txt").read_text() == f"{tmp_path / 'a.json'}\n"


READER = """
from lib.book.paths import ROOT, default_store, note_read
store = default_store()
print(store.read(next(store.files("tiny"))).metrics["test"])
note_read(ROOT / "benchmarks" / "speed.json")
"""


def test_an_execution_records_the_results_that_it_read(
    tmp_path: Path, store: Store, tiny_spec: SpecFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(store.root))
    monkeypatch.delenv(READS_VARIABLE, raising=False)
    chapter = Chapter(execute(write(tmp_path / "reader.ipynb", READER), {}, tmp_path / "out.ipynb", progress=False))
    assert READS_VARIABLE not in os.environ
    record = chapters.record(chapter)
    first, second = sorted(store.path(tiny_spec(seed=seed)) for seed in range(3))[:2]
    assert record["results"]["tiny"]["keys"] == first.stem
    assert {name: group["runs"] for name, group in record["results"].items()} == {"benchmarks": 1, "tiny": 1}
    assert chapters.stale(chapter) == []
    second.unlink()
    assert chapters.stale(chapter) == []
    assert chapters.stale(chapter, Store(tmp_path / "empty")) == ["some of its 1 results of tiny are missing or damaged"]
    first.unlink()
    assert chapters.stale(chapter) == ["some of its 1 results of tiny are missing or damaged"]


def shown(path: Path) -> list[str]:
    return [o.text for c in nbformat.read(path, as_version=4).cells for o in c.get("outputs", [])]


@pytest.fixture(scope="module")
def overridden(tmp_path_factory: pytest.TempPathFactory) -> Chapter:
    """Executed with n = 5 in place of 1; papermill's cell with that value is in it."""
    folder = tmp_path_factory.mktemp("overridden")
    return Chapter(execute(write(folder / "p.ipynb", "print(n)"), {"n": 5}, folder / "out.ipynb", progress=False))


def test_injected_parameters_are_recorded_and_told(overridden: Chapter) -> None:
    assert shown(overridden.path) == ["5\n"]
    assert chapters.record(overridden)["parameters"] == {"n": 5, "name": "a"}
    assert chapters.stale(overridden) == ["its parameters differ from its defaults (n = 5)"]


def test_what_is_recorded_is_what_was_shown_even_where_parameters_were_injected_before(
    overridden: Chapter, tmp_path: Path
) -> None:
    again = Chapter(execute(overridden, {}, tmp_path / "again.ipynb", progress=False))
    assert shown(again.path) == [f"{chapters.record(again)['parameters']['n']}\n"]


def test_a_relative_store_is_one_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel runs in the chapter's folder; the build and the reader mean theirs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(STORE_VARIABLE, "store")
    (tmp_path / "book").mkdir()
    source = "from lib.book.paths import default_store\nprint(default_store().root.absolute())"
    output = execute(write(tmp_path / "book" / "r.ipynb", source), {}, tmp_path / "out.ipynb", progress=False)
    assert shown(output) == [f"{default_store().root.absolute()}\n"]


def test_the_home_of_a_user_is_meant_by_a_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(STORE_VARIABLE, "~/results")
    assert default_store().root == tmp_path / "results"
    monkeypatch.setenv(STORE_VARIABLE, "~nobody-has-this-name/results")
    assert default_store().root == Path("~nobody-has-this-name/results")
