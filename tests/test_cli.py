"""The command line: what it prints, and that bad input gets one sentence and a non-zero exit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lib.__main__ import main
from lib.book.paths import STORE_VARIABLE
from lib.composition.experiments import FAST
from lib.core.claim import PAPERS, STATUSES
from lib.core.store import Store
from lib.core.train import Interrupted

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path))
    return Store(tmp_path)


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
        (("claims", "--profile", "huge"), "unknown profile 'huge'"),
    ],
)
def test_bad_input_gets_one_sentence(run: Run, words: tuple[str, ...], said: str) -> None:
    code, _, err = run(*words)
    assert said in sentence(code, err)


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
    fields += ["failed", "by_construction"]
    assert len({r["id"] for r in records}) == len(records) > 10
    for record in records:
        assert list(record) == fields
        assert record["paper"] in PAPERS
        assert record["status"] in STATUSES
    by_id = {r["id"]: r for r in records}
    assert by_id["phase-flip"]["status"] == "not run"  # nothing is stored, so nothing may be claimed
    assert by_id["slides-ladder"]["status"] == "reproduced"
    assert by_id["slides-errata"]["status"] == "not reproduced"
    assert by_id["slides-errata"]["failed"] == ["no entry disagrees"]
    tests = {r["id"] for r in records if r["by_construction"]}
    assert tests == {"task-pairs", "task-two-answers", "task-split", "slides-ladder"}


def test_claims_in_words_tell_failed_parts_and_count_tests_of_the_task_apart(run: Run) -> None:
    code, out, _ = run("claims", "--profile", "smoke")
    lines = [line.strip() for line in out.splitlines()]
    assert code == 0
    assert "failed: no entry disagrees" in lines
    assert sum(line.startswith("true by construction ") for line in lines) == 4
    reproduced = sum(line.startswith("reproduced ") for line in lines)
    assert lines[-1].startswith(f"{reproduced} reproduced, " if reproduced else "1 not reproduced, ")
    assert lines[-1].endswith("; 4 tests of the task, true by construction")


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

    monkeypatch.setattr("lib.core.sweep.train", interrupt)
    code, _, err = run("sweep", "composition-fast", "--profile", "smoke")
    assert code == 130
    assert words in err
    assert "Traceback" not in err


def test_help_needs_no_torch() -> None:
    """The help of the command must answer at once, and from any folder."""
    done = subprocess.run([sys.executable, "-m", "lib", "--help"], capture_output=True, text=True, check=True, cwd="/")
    assert "sweep" in done.stdout


def test_memory_too_small_for_one_run_is_one_sentence(run: Run) -> None:
    code, _, err = run("sweep", "composition-fast", "--profile", "smoke", "--memory", "0.0001")
    assert code == 1
    assert err.count("GB may be used: free memory, raise the limit or train a smaller profile.") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [("--slots", "0"), ("--workers", "-1"), ("--memory", "nan")])
def test_options_that_make_no_sense_are_refused(run: Run, words: tuple[str, str]) -> None:
    code, _, err = run("sweep", "composition-fast", "--profile", "smoke", *words)
    assert code == 1
    assert f"{words[0].removeprefix('--')} must be" in err


def test_cluster_settings_without_a_cluster_are_refused(run: Run) -> None:
    code, _, err = run("sweep", "composition-fast", "--profile", "smoke", "--address", "127.0.0.1:1")
    assert code == 1
    assert "are for a cluster: add --engine ray" in err


def test_an_unreachable_cluster_is_one_sentence(run: Run) -> None:
    code, _, err = run("sweep", "composition-fast", "--profile", "smoke", "--engine", "ray", "--address", "127.0.0.1:1")
    assert code == 1
    assert "no Ray cluster answers at '127.0.0.1:1'" in err
