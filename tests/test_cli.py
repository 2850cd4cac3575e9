"""The command line: what it prints, and that bad input gets one sentence and a non-zero exit."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import make_tiny_spec
from tiny import PROVENANCE, make_result

from lib.__main__ import main
from lib.book import recall, status
from lib.book.paths import BOOK, STORE_VARIABLE
from lib.book.registry import EXPERIMENTS, PAPERS
from lib.composition.experiments import FAST
from lib.core.read.claim import STATUSES
from lib.core.record.spec import RunSpec
from lib.core.record.store import PlaceError, Store
from lib.core.sweep.jobs import SweepError, SweepReport
from lib.core.train.loop import Interrupted

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path))
    return Store(tmp_path)


@pytest.fixture(autouse=True)
def nothing_recalled(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "PLACE", tmp_path_factory.mktemp("recall") / "status.json")


@pytest.fixture
def run(store: Store, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str) -> tuple[int, str, str]:
        code = main(list(words))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def sentence(code: int, err: str) -> str:
    """What a refused command says: exactly one line, and a non-zero exit."""
    assert code != 0
    lines = [line for line in err.strip().splitlines() if line.startswith("error:")]
    assert len(lines) == 1
    assert "Traceback" not in err
    return lines[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "99"), "no chapter is called '99'"),
        (("run", "02", "-p", "gama", "0.8"), "no parameter 'gama'"),
        (("run", "02", "-p", "gamma", "nan"), "gamma must be a finite number"),
        (("run", "02", "-p", "gamma", "inf"), "gamma must be a finite number"),
        (("run", "02", "-p", "gamma", "small"), "must be of type float"),
        (("run", "02", "-p", "depth", "0"), "depth must be an integer of at least 1"),
        (("run", "02", "-p", "depth", "2.5"), "must be of type int"),
        (("run", "02", "-p", "profile", "huge"), "unknown profile 'huge'"),
        (("run", "02", "-p", "seed", "-1"), "seed must be an integer of at least 0"),
        (("run", "02", "-p", "device", "tpu"), "use auto, cpu or cuda"),
        (("sweep", "nothing"), "unknown experiment 'nothing'"),
        (("sweep", "composition-fast", "--profile", "huge"), "unknown profile 'huge'"),
        (("sweep", "composition-search", "--profile", "smoke"), "has no runs of the profile 'smoke': it has them of laptop."),
        (("sweep", "composition-fast", "--memory", "-1"), "--memory must be above 0, got -1.0."),
        (("sweep", "composition-fast", "--memory", "nan"), "--memory must be a finite number, got nan."),
        (("sweep", "composition-fast", "--slots", "0"), "slots must be an integer of at least 1, got 0."),
        (("sweep", "composition-fast", "--workers", "-1"), "workers must be an integer of at least 1, got -1."),
        (
            ("sweep", "composition-fast", "--profile", "smoke", "--memory", "0.0001"),
            "or train a smaller profile.",
        ),
        (("sweep", "composition-fast", "--address", "127.0.0.1:1"), "are for a cluster: add --engine ray."),
        (
            ("sweep", "composition-fast", "--engine", "ray", "--address", "127.0.0.1:1"),
            "no Ray cluster answers at",
        ),
        (("claims", "--profile", "huge"), "unknown profile 'huge'"),
        (("run", "05", "-p", "gamma", "55"), "gamma must lie between -10 and 10, got 55.0."),
        (("run", "05", "-p", "gamma", "-1e3"), "gamma must lie between -10 and 10, got -1000.0."),
        (("run", "05", "-p", "gamma", "-inf"), "gamma must be a finite number, got -inf."),
        (("run", "05", "-p", "gamma=-2e1"), "gamma must lie between -10 and 10, got -20.0."),
        (("run", "05", "-p", "gamma"), "the parameter 'gamma' has no value: write -p gamma VALUE."),
        (("run", "02", "-p", "seed", "1" + 30 * "0"), "seed must be an integer of at most 1000000000, got 1"),
        (("run", "02", "-p", "depth", 5000 * "9"), "must be of type int, got '999999999999...9999999999999'."),
        (("run", "14", "-p", "length", "100000"), "length must be an integer of at most 1000, got 100000."),
        (("run", "/nonexistent/02-phase-diagram.ipynb"), "/nonexistent/02-phase-diagram.ipynb is no chapter of the book"),
        (("run", "01", "-o", "/"), "give / a name that ends in .ipynb"),
        (("run", "01", "-o", "notes.txt"), "give notes.txt a name that ends in .ipynb"),
        (("run", "01", "-o", str(BOOK / "02-phase-diagram.ipynb")), "would take the place of a page of the book"),
        (
            ("run", "01", "-o", str(BOOK.parent / "lib" / ".." / "book" / "new.ipynb")),
            "would take the place of a page of the book",
        ),
    ],
)
def test_bad_input_gets_one_sentence(run: Run, words: tuple[str, ...], said: str) -> None:
    code, _, err = run(*words)
    assert said in sentence(code, err)


def test_nothing_but_a_file_is_replaced_by_an_executed_chapter(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told before the chapter runs."""
    monkeypatch.setattr("lib.book.chapters.execute", lambda *args: pytest.fail("it was executed"))
    (tmp_path / "folder.ipynb").mkdir()
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "loop.ipynb").symlink_to("loop.ipynb")
    for name in ("folder", "pipe", "loop"):
        said = sentence(*run("run", "01", "-o", str(tmp_path / f"{name}.ipynb"))[::2])
        assert f"{name}.ipynb is there and is no file that a notebook could replace" in said
    monkeypatch.setattr("lib.book.chapters.execute", lambda chapter, given, output: output)
    (tmp_path / "former.ipynb").write_text("former")
    for name in ("former", "new"):
        assert run("run", "01", "-o", str(tmp_path / f"{name}.ipynb"))[0] == 0


@pytest.mark.parametrize("words", [("-p", "gamma", "-1e-3"), ("-p", "gamma=-1e-3"), ("--parameter", "gamma", "-.001")])
def test_negative_values_are_values(run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    given = []
    monkeypatch.setattr("lib.book.chapters.execute", lambda chapter, values, output: given.append((values, output)))
    assert run("run", *words, "02", "-p", "depth", "4", "-o", "x.ipynb")[0] == 0
    assert given == [({"gamma": -1e-3, "depth": 4}, Path("x.ipynb"))]


@pytest.mark.parametrize("error", [OSError(errno.EROFS, "Read-only file system", "/here"), OSError(errno.ENOSPC, "full")])
def test_what_the_system_refuses_is_one_sentence(run: Run, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr("lib.book.build.build", refuse)
    said = sentence(*run("build")[::2])
    assert said in ("error: /here: Read-only file system.", "error: a file could not be written: the disk is full.")


def test_an_error_of_the_system_without_a_file_keeps_its_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistake(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EINVAL, "a mistake of ours")

    monkeypatch.setattr("lib.book.build.build", mistake)
    with pytest.raises(OSError, match="a mistake of ours"):
        run("build")


def test_claims_are_told_where_their_letters_cannot_be_written() -> None:
    record = {"status": "partly", "item": "a", "statement": "γ − 1", "measured": "−1", "failed": []}
    record |= {"paper": "ours", "by_construction": False}
    program = f"import lib.book.claims as c; c.evaluate = lambda *a: [{record}]; from lib.__main__ import main; "
    program += "one = main(['claims']); print(end=chr(12), flush=True); raise SystemExit(one or main(['claims', '--json']))"
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=BOOK.parent, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    table, listed = done.stdout.split(b"\f")
    assert all(rb"\u03b3 \u2212 1" in said for said in (table, listed))
    assert json.loads(listed)[0]["statement"] == "γ − 1"


INTERRUPTED = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
import runpy
sys.argv = ["lib", "status"]
runpy.run_module("lib", run_name="__main__")
"""


def test_ctrl_c_while_importing_is_no_traceback(tmp_path: Path) -> None:
    env = os.environ | {STORE_VARIABLE: str(tmp_path)}  # nothing is known of it
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, cwd=BOOK.parent, env=env)
    assert done.returncode == 130
    assert done.stderr == "interrupted: finished runs are stored; the same command begins where it can.\n"


def test_absent_gpu_is_refused_before_training(run: Run, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    code, _, err = run("sweep", "composition-fast", "--profile", "smoke", "--device", "cuda")
    assert "no CUDA device" in sentence(code, err)
    assert not list(store.files(FAST.folder))


def test_sweep_stores_then_finds(run: Run, store: Store) -> None:
    code, out, _ = run("sweep", "composition-fast", "--profile", "smoke")
    n = len(FAST.specs("smoke"))
    assert (code, out.strip()) == (0, f"composition-fast: 0 runs were stored already, {n} were trained.")
    code, out, _ = run("sweep", "composition-fast", "--profile", "smoke")
    assert (code, out.strip()) == (0, f"composition-fast: {n} runs were stored already, 0 were trained.")


def test_corrupt_result_stops_the_sweep_and_is_named(run: Run, store: Store) -> None:
    run("sweep", "composition-fast", "--profile", "smoke")
    path = next(iter(store.files(FAST.folder)))
    path.write_bytes(path.read_bytes()[:100])
    code, _, err = run("sweep", "composition-fast", "--profile", "smoke")
    assert path.name in sentence(code, err)
    items = json.loads(run("status", "--json")[1])
    phase = next(item for item in items if item["experiment"] == FAST.name)
    smoke = next(p for p in phase["profiles"] if p["profile"] == "smoke")
    assert (smoke["stored"], smoke["unusable"]) == (smoke["runs"] - 1, 1)
    assert path.name in phase["unreadable"][0]


def test_sweep_all_goes_on_and_tells_at_the_end(run: Run, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One experiment has a damaged result, one is being trained by another process; nothing is trained here."""
    asked = []
    bad = store.path(EXPERIMENTS["composition-width"].specs("smoke")[0])
    bad.parent.mkdir()
    bad.write_text("{")

    def sweep(specs: list[RunSpec], store: Store, *args: object) -> SweepReport:
        asked.append(specs[0].experiment)
        for spec in specs:
            store.get(spec)
        if specs[0].experiment == "bias-flow":
            raise SweepError("another process is training them")
        return SweepReport(0, len(specs))

    monkeypatch.setattr("lib.core.sweep.jobs.sweep", sweep)
    code, out, err = run("sweep", "all", "--profile", "smoke")
    expected = [e for e in EXPERIMENTS.values() if e.specs("smoke")]
    assert (code, len(asked)) == (1, len(expected))
    assert len(out.splitlines()) == len(expected) - 2
    told = err[err.index("error: ") :].splitlines()
    assert told[0] == f"error: 2 of {len(EXPERIMENTS)} experiments could not be completed:"
    assert told[1].startswith(f"  composition-width: {bad} is truncated or not JSON")
    assert told[2:] == ["  bias-flow: another process is training them"]


def test_sweep_all_stops_where_the_store_cannot_be_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def sweep(specs: list[RunSpec], *args: object) -> SweepReport:
        asked.append(specs[0].experiment)
        raise PlaceError("cannot write: the disk is full")

    monkeypatch.setattr("lib.core.sweep.jobs.sweep", sweep)
    assert "the disk is full" in sentence(*run("sweep", "all", "--profile", "smoke")[::2])
    assert len(asked) == 1


def test_the_store_is_named_and_must_be_a_folder(
    run: Run, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("status")[1].startswith(f"store: {tmp_path}\n")
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "resutls"))
    assert run("status")[1].startswith(f"store: {tmp_path / 'resutls'} (there is no such folder yet)\n")
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("file", "loop"):
        monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / name))
        for words in (("status",), ("claims",), ("sweep", "composition-fast", "--profile", "smoke")):
            assert f"the store {tmp_path / name} is not a folder: " in sentence(*run(*words)[::2])


def test_status_is_told_again_until_a_file_changes(run: Run, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = FAST.specs("smoke")[0]
    store.put(make_result(spec), PROVENANCE, keep_weights=True)
    told = {kind: run("status", *kind)[1] for kind in ((), ("--json",))}
    asked = []
    real = status.status
    monkeypatch.setattr(status, "status", lambda store: asked.append(store) or real(store))
    assert run("status", "--json")[1] == told["--json",]
    assert not asked
    assert run("status")[1] == told[()]
    assert len(asked) == 1  # only the last is kept
    path = store.path(spec)
    path.write_text(path.read_text().replace(spec.experiment, spec.experiment[::-1]))  # as long as before
    assert path.name in run("status")[1]
    path.unlink()
    assert path.name not in run("status")[1]
    assert len(asked) == 3
    recall.PLACE.write_text("[]")
    run("status")
    assert len(asked) == 4


def test_status_is_told_where_nothing_can_be_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "PLACE", Path(os.devnull) / "status.json")
    assert run("status")[0] == 0


def test_status_verifies_every_file(run: Run, store: Store) -> None:
    specs = [make_tiny_spec(seed=seed) for seed in range(2)]
    for spec in specs:
        store.put(make_result(spec), PROVENANCE, keep_weights=True)
    code, out, _ = run("status", "--verify")
    assert (code, out.splitlines()[1]) == (0, "4 files were read, 0 problems.")
    lost = store.path(specs[0]).with_suffix(".safetensors")
    lost.unlink()
    code, out, err = run("status", "--verify")
    said = sentence(code, err)
    assert "1 results are missing a file" in said
    assert "`git checkout -- results` brings back" in said
    assert out.splitlines()[1].startswith(f"  ! {lost} cannot be read")
    record = json.loads(run("status", "--verify", "--json")[1])
    assert (record["files"], len(record["wrong"])) == (3, 1)


def test_status_of_an_empty_store(run: Run) -> None:
    items = json.loads(run("status", "--json")[1])
    for item in items:
        for profile in item["profiles"]:
            assert profile["stored"] == 0
            assert profile["missing"] == profile["runs"] > 0
            assert profile["hours_missing"] >= 0
    code, out, _ = run("status")
    assert code == 0
    assert f"0 of {len(FAST.specs('laptop'))} runs stored" in out


def test_status_counts_stale_and_other(run: Run, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run("sweep", "composition-fast", "--profile", "smoke")
    monkeypatch.setattr("lib.composition.experiments.FAST_VERSION", 999)
    object.__setattr__(FAST, "version", 999)
    try:
        phase = next(i for i in json.loads(run("status", "--json")[1]) if i["experiment"] == FAST.name)
    finally:
        object.__setattr__(FAST, "version", 1)
    assert phase["stale"] == len(FAST.specs("smoke"))
    assert next(p for p in phase["profiles"] if p["profile"] == "smoke")["stored"] == 0


def test_claims_json_has_the_agreed_fields(run: Run) -> None:
    code, out, _ = run("claims", "--json", "--profile", "smoke")
    records = json.loads(out)
    assert code == 0
    fields = ["id", "paper", "item", "statement", "reported", "criterion", "measured", "status", "profile", "n_seeds"]
    fields += ["failed", "by_construction", "revised", "question", "figure", "parts"]
    assert len({r["id"] for r in records}) == len(records) > 10
    for record in records:
        assert list(record) == fields
        assert record["paper"] in PAPERS
        assert record["status"] in STATUSES
    by_id = {r["id"]: r for r in records}
    assert by_id["two-layers-flip"]["status"] == "not run"  # nothing is stored, so nothing may be claimed
    assert by_id["slides-ladder"]["status"] == "opposite"  # the exception is no composition
    assert by_id["slides-ladder"]["failed"] == ["symmetric maps that compose no two primitives"]
    assert by_id["slides-errata"]["status"] == "opposite"
    assert by_id["slides-errata"]["failed"] == ["entries that disagree with the four functions"]
    tests = {r["id"] for r in records if r["by_construction"]}
    assert all(by_id[name]["status"] != "partly" for name in tests)  # a test of the task holds or fails
    of_the_task = {"task-pairs", "task-two-answers", "task-split", "slides-ladder", "slides-errata"}
    assert tests == of_the_task | {"cot-example", "embedding-distributions"}


def test_claims_in_words_tell_failed_parts_and_count_tests_of_the_task_apart(run: Run) -> None:
    code, out, _ = run("claims", "--profile", "smoke")
    lines = [line.strip() for line in out.splitlines()]
    assert code == 0
    assert "failed: entries that disagree with the four functions" in lines
    assert sum(line.startswith("true by construction ") for line in lines) == 5
    reproduced = sum(line.startswith("reproduced ") for line in lines)
    assert lines[-1].startswith(f"{reproduced} reproduced, " if reproduced else "1 opposite, ")
    assert lines[-1].endswith("; 7 tests of the task or slides, of which 2 fail")


@pytest.mark.parametrize(
    ("error", "words"),
    [(Interrupted, "the others left a checkpoint; the same command goes on"), (KeyboardInterrupt, "are stored")],
)
def test_interrupted_sweep_says_how_to_resume(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], words: str
) -> None:
    """Asked once, it has left a checkpoint; stopped at once, it has not and must not say so."""

    def interrupt(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr("lib.core.sweep.jobs.train", interrupt)
    code, _, err = run("sweep", "composition-fast", "--profile", "smoke")
    assert code == 130
    assert words in err
    assert "Traceback" not in err


def test_help_needs_no_torch() -> None:
    """The help of the command must answer at once, and from any folder."""
    done = subprocess.run([sys.executable, "-m", "lib", "--help"], capture_output=True, text=True, check=True, cwd="/")
    assert "sweep" in done.stdout


def test_a_reader_who_leaves_early_is_no_error(store: Store) -> None:
    """As in `lib status | head -1`."""
    asked = subprocess.Popen([sys.executable, "-m", "lib", "status"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert asked.stdout is not None
    asked.stdout.close()
    _, err = asked.communicate()
    assert (asked.returncode, err) == (141, "")
