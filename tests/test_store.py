"""The store: what is read is what was written, whole, or an error that names the file."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import SpecFactory, make_tiny_spec
from hypothesis import assume, given
from hypothesis import strategies as st
from tiny import N_RACES, PROVENANCE, make_result, race

from lib.book.registry import EXPERIMENTS
from lib.core.model.transformer import ModelSpec
from lib.core.record import spec as spec_module
from lib.core.record.spec import (
    MODEL_KINDS,
    RunSpec,
    SpecError,
    TrainSpec,
    UnknownKindError,
    canonical,
    from_dict,
    register_models,
)
from lib.core.record.store import FORMAT, Store, StoredRun, StoreError
from lib.core.sweep.experiment import Experiment

ROOT = Path(__file__).parents[1]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


@pytest.fixture
def spec(tiny_spec: SpecFactory) -> RunSpec:
    return tiny_spec()


def written(store: Store, spec: RunSpec, keep_weights: bool = True) -> Path:
    assert store.put(make_result(spec), PROVENANCE, keep_weights)
    return store.path(spec)


def leftovers(store: Store) -> list[str]:
    return sorted(p.name for p in store.root.rglob(".writing-*"))


# ---------------------------------------------------------------- round trip


@pytest.mark.parametrize("keep_weights", [False, True])
def test_round_trip(store: Store, spec: RunSpec, keep_weights: bool) -> None:
    result = make_result(spec)
    assert store.get(spec) is None
    assert store.put(result, PROVENANCE, keep_weights)
    stored = store.get(spec)
    assert stored.spec == spec
    assert stored.key == spec.key
    assert stored.metrics == {"test": 0.123457, "symmetric": 1.0, "inferential": 0.0}  # six significant digits
    assert stored.history == result.history
    assert (stored.steps, stored.status, stored.fit_step, stored.seconds) == (20, "unfitted", None, 1.5)
    assert stored.provenance == PROVENANCE
    assert list(store.files("tiny")) == [store.root / "tiny" / f"{spec.key}.json"]
    assert leftovers(store) == []
    if keep_weights:
        weights = stored.weights()
        assert weights.keys() == result.weights.keys()
        for name, weight in weights.items():
            assert weight.dtype == torch.float32
            assert torch.equal(weight, result.weights[name].half().float())
    else:
        assert not store.path(spec).with_suffix(".safetensors").exists()
        with pytest.raises(StoreError, match=f"{spec.key}.json was stored without weights"):
            stored.weights()


def test_files_of_an_experiment_are_sorted_and_only_its_own(store: Store, tiny_spec: SpecFactory) -> None:
    specs = [tiny_spec(seed=seed) for seed in range(4)]
    for s in (*specs, tiny_spec(experiment="other")):
        written(store, s)
    assert [path.stem for path in store.files("tiny")] == sorted(s.key for s in specs)
    assert list(store.files("nothing here")) == []


def test_first_writer_wins(store: Store, spec: RunSpec) -> None:
    path = written(store, spec)
    before = path.read_bytes()
    second = dataclasses.replace(make_result(spec, fill=9.0), steps=99)
    assert store.put(second, {"device": "another"}, keep_weights=True) is False
    assert path.read_bytes() == before
    assert store.get(spec).weights()["head.weight"].unique().tolist() == [0.5]


# ---------------------------------------------------------------- snapshots

SNAPSHOTS = {
    20: {"anchors": torch.tensor([[1 / 3, -2.0]]), "spread.of.it": torch.tensor(0.25)},
    5: {"anchors": torch.tensor([[7.0, 0.0]])},
}


def written_with_snapshots(store: Store, spec: RunSpec, keep_weights: bool) -> StoredRun:
    assert store.put(dataclasses.replace(make_result(spec), snapshots=SNAPSHOTS), PROVENANCE, keep_weights)
    return store.get(spec)


@pytest.mark.parametrize("keep_weights", [False, True])
def test_snapshots_are_read_back_apart_from_the_weights(store: Store, spec: RunSpec, keep_weights: bool) -> None:
    stored = written_with_snapshots(store, spec, keep_weights)
    found = stored.snapshots()
    assert list(found) == [5, 20]
    for step, arrays in SNAPSHOTS.items():
        assert found[step].keys() == arrays.keys()
        for name, array in arrays.items():
            assert found[step][name].dtype == torch.float32
            assert torch.equal(found[step][name], array.half().float())
    assert stored.has_weights is keep_weights
    if keep_weights:
        assert stored.weights().keys() == make_result(spec).weights.keys()
    else:
        with pytest.raises(StoreError, match=f"{spec.key}.json was stored without weights: rerun its experiment with weights"):
            stored.weights()


@pytest.mark.parametrize("keep_weights", [False, True])
def test_a_run_without_snapshots_says_so(store: Store, spec: RunSpec, keep_weights: bool) -> None:
    written(store, spec, keep_weights)
    stored = store.get(spec)
    assert stored.has_weights is keep_weights
    with pytest.raises(StoreError, match=f"{spec.key}.json was stored without .*: rerun its experiment"):
        stored.snapshots()


@pytest.mark.parametrize("keep", [0, 7, 60, -1])
def test_damaged_snapshots_are_refused(store: Store, spec: RunSpec, keep: int) -> None:
    stored = written_with_snapshots(store, spec, keep_weights=False)
    file = stored.path.with_suffix(".safetensors")
    file.write_bytes(file.read_bytes()[:keep])
    for read in (stored.snapshots, stored.weights):
        with pytest.raises(StoreError, match=f"{file.name} is not the file that was written"):
            read()
    assert isinstance(stored.has_weights, bool)  # to ask is no error, whatever is there


# ---------------------------------------------------------------- what cannot be trusted


def assert_refused(store: Store, path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        store.read(path)
    assert str(path) in str(caught.value)


def test_a_truncated_result_is_refused_wherever_it_was_cut(store: Store, spec: RunSpec) -> None:
    """Every prefix; only the end of the last line may be missing."""
    path = written(store, spec)
    data = path.read_bytes()
    assert data.endswith(b"}\n")
    for length in reversed(range(len(data) - 1)):
        os.truncate(path, length)
        assert_refused(store, path)
    with pytest.raises(StoreError):
        store.get(spec)


def test_a_flipped_bit_is_refused_or_harmless(store: Store, spec: RunSpec) -> None:
    """One bit of every byte; a few changes mean the same in JSON (1e-05 and 1E-05), and then the result must be the same."""
    path = written(store, spec)
    data, good = path.read_bytes(), store.get(spec)
    refused = 0
    with path.open("r+b", buffering=0) as file:
        for position, byte in enumerate(data):
            os.pwrite(file.fileno(), bytes([byte ^ 1 << position % 8]), position)
            try:
                survivor = store.read(path)
            except StoreError:
                refused += 1
            else:
                assert survivor == good
                assert byte in b"e\n"
            os.pwrite(file.fileno(), bytes([byte]), position)
    assert path.read_bytes() == data
    assert refused >= len(data) - 2


def test_a_change_that_keeps_the_json_valid_is_refused(store: Store, spec: RunSpec) -> None:
    path = written(store, spec)
    data = path.read_bytes()
    for old, new in (
        (b'"steps":20', b'"steps":21'),
        (b'"gamma":0.5', b'"gamma":0.6'),
        (b"unfitted", b"fitted"),
        (b"5.25", b"5.26"),
    ):
        assert data.count(old) >= 1
        path.write_bytes(data.replace(old, new))
        assert_refused(store, path)


FOREIGN = {
    "empty": b"",
    "null": b"null",
    "number": b"42",
    "list": b"[1, 2]",
    "object": b"{}",
    "notebook": b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "text": b"results of Tuesday\n",
    "not utf-8": b'{"format": "\xff\xfe\xfa"}',
    "zeros": bytes(4096),
    "deeply nested": b"[" * 100_000,
    "other format": b'{"format": "reason-or-memorize/run/0", "digest": "", "content": {}}',
    "no content": json.dumps({"format": FORMAT}).encode(),
    "no digest": json.dumps({"format": FORMAT, "content": {}}).encode(),
    **{
        v: f'{{"format": "{FORMAT}", "digest": "", "content": {{"seconds": {v}}}}}'.encode()
        for v in ("NaN", "Infinity", "1e999")
    },
    "content of another kind": json.dumps({"format": FORMAT, "digest": "", "content": []}).encode(),
}


@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN.keys())
def test_foreign_files_are_refused(store: Store, spec: RunSpec, data: bytes) -> None:
    path = store.path(spec)
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    assert_refused(store, path)
    with pytest.raises(StoreError):
        store.get(spec)


def test_a_directory_in_a_results_place_is_refused(store: Store, spec: RunSpec) -> None:
    store.path(spec).mkdir(parents=True)
    assert_refused(store, store.path(spec))


def test_a_result_under_another_name_is_refused(store: Store, tiny_spec: SpecFactory) -> None:
    path = written(store, tiny_spec(seed=0))
    other = store.path(tiny_spec(seed=1))
    other.write_bytes(path.read_bytes())
    with pytest.raises(StoreError, match=f"{other.name} holds the result of another spec, {path.stem}"):
        store.get(tiny_spec(seed=1))


def rewrite(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """As somebody would who knows of the digest."""
    content = json.loads(path.read_bytes())["content"]
    change(content)
    digest = hashlib.sha256(canonical(content).encode()).hexdigest()
    path.write_text(json.dumps({"format": FORMAT, "digest": digest, "content": content}))


@pytest.mark.parametrize(
    "part", ["spec", "metrics", "history", "steps", "status", "fit_step", "seconds", "provenance", "arrays"]
)
def test_a_result_that_lacks_a_part_is_refused(store: Store, spec: RunSpec, part: str) -> None:
    """The digest is right, so only the missing part tells."""
    path = written(store, spec)
    rewrite(path, lambda content: content.pop(part))
    with pytest.raises(StoreError, match=f"{path.name} lacks a part of a result .*{part}"):
        store.get(spec)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("steps", -5),
        ("steps", True),
        ("steps", 1.5),
        ("fit_step", "never"),
        ("status", "lol"),
        ("seconds", "x"),
        ("seconds", -1),
        ("metrics", []),
        ("metrics", {"test": "x"}),
        ("history", {"loss": ["a"]}),
        ("history", {"loss": 3.0}),
        ("history", {"loss": [1.0, 2.0], "train": [0.5]}),
        ("provenance", []),
        ("arrays", 3),
    ],
)
def test_what_no_run_could_have_left_is_refused(store: Store, spec: RunSpec, part: str, value: Any) -> None:
    path = written(store, spec)
    rewrite(path, lambda content: content.update({part: value}))
    with pytest.raises(StoreError, match=f"{path.name} is no result of a run .*{part}.*: delete it and run the sweep again"):
        store.get(spec)
    assert f"{path.name} is no result of a run" in " ".join(store.verify()[1])


def test_a_result_is_read_once_and_again_when_its_file_has_changed(store: Store, spec: RunSpec) -> None:
    path = written(store, spec)
    first = store.get(spec)
    assert store.get(spec) is first
    path.write_bytes(path.read_bytes().replace(b"{", b"[", 1))
    with pytest.raises(StoreError):
        store.get(spec)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes()[:60]),
        lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\x00"),
        lambda path: path.write_bytes(b"\xff" * 500),
    ],
    ids=["missing", "empty", "last byte cut", "cut in the header", "last byte changed", "foreign"],
)
def test_damaged_weights_are_refused(store: Store, spec: RunSpec, damage: Callable[[Path], None]) -> None:
    file = written(store, spec).with_suffix(".safetensors")
    stored = store.get(spec)
    damage(file)
    for read in (stored, Store(store.root).get(spec)):  # before the damage and after
        assert read.has_weights  # lost ones are not taken for weights that were never kept
        with pytest.raises(StoreError) as caught:
            read.weights()
        assert str(file) in str(caught.value)


def test_a_store_is_verified_file_by_file(store: Store, tiny_spec: SpecFactory) -> None:
    good, bare, lost, swapped, cut, orphan = (tiny_spec(seed=seed) for seed in range(6))
    for s in (good, bare, lost, swapped, cut, orphan):
        written(store, s, keep_weights=s is not bare)
    assert store.verify() == (11, [])
    arrays = {s: store.path(s).with_suffix(".safetensors") for s in (good, lost, swapped, cut, orphan)}
    arrays[lost].unlink()
    arrays[swapped].write_bytes(arrays[good].read_bytes() + b"\0")
    store.path(cut).write_bytes(store.path(cut).read_bytes()[:-9])
    store.path(orphan).unlink()
    stray = store.path(bare).with_stem("0" * 20)
    stray.write_bytes(store.path(bare).read_bytes())
    number, wrong = store.verify()
    assert number == 10
    told = {s.key: [line for line in wrong if s.key in line] for s in (good, bare, lost, swapped, cut, orphan)}
    assert told[good.key] == []
    assert told[bare.key] == [f"{stray} holds the result of another spec, {bare.key}: move it out of the store."]
    assert told[lost.key][0].startswith(f"{arrays[lost]} cannot be read (No such file or directory)")
    assert told[swapped.key][0].startswith(f"{arrays[swapped]} is not the file that was written")
    assert told[cut.key][0].startswith(f"{store.path(cut)} is truncated")
    assert told[orphan.key] == [f"{arrays[orphan]} belongs to no result: {orphan.key}.json is missing."]
    assert len(wrong) == 5


def test_a_result_of_an_unknown_kind_of_model_is_whole(store: Store, spec: RunSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    written(store, spec)
    monkeypatch.setattr(spec_module, "MODEL_KINDS", {})
    assert store.verify() == (2, [])
    with pytest.raises(StoreError, match=f"{spec.key}.json is whole but cannot be read yet, so keep it: ") as caught:
        store.get(spec)
    assert "delete" not in str(caught.value)


def test_weights_that_are_no_safetensors_are_refused_even_with_the_right_digest(store: Store, spec: RunSpec) -> None:
    path = written(store, spec)
    file = path.with_suffix(".safetensors")
    file.write_bytes(b"not a safetensors file")
    rewrite(path, lambda content: content.update(arrays=hashlib.sha256(file.read_bytes()).hexdigest()))
    with pytest.raises(StoreError, match=f"{file.name} is not a safetensors file"):
        store.get(spec).weights()


@pytest.mark.parametrize("data", [b"", b'{"format": "reason', b"[]"])
def test_put_replaces_an_unusable_file(store: Store, spec: RunSpec, data: bytes) -> None:
    path = store.path(spec)
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    assert store.put(make_result(spec), PROVENANCE, keep_weights=True)
    assert store.get(spec).steps == 20
    assert store.get(spec).weights()["head.weight"].shape == (2, 3)


# ---------------------------------------------------------------- trouble while writing


@pytest.mark.parametrize("function", ["fsync", "replace"])
@pytest.mark.parametrize("keep_weights", [False, True])
def test_a_full_disk_is_named_and_leaves_nothing_behind(
    store: Store, tiny_spec: SpecFactory, monkeypatch: pytest.MonkeyPatch, function: str, keep_weights: bool
) -> None:
    former, new = tiny_spec(seed=0), tiny_spec(seed=1)
    before = {p: p.read_bytes() for p in (written(store, former), store.path(former).with_suffix(".safetensors"))}

    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, function, full)
        with pytest.raises(StoreError, match=f"cannot write .*{new.key}.json: the disk is full; earlier results are safe"):
            store.put(make_result(new), PROVENANCE, keep_weights)
    assert leftovers(store) == []
    assert store.get(new) is None
    assert {p: p.read_bytes() for p in before} == before
    assert list(store.files("tiny")) == [store.path(former)]
    assert store.put(make_result(new), PROVENANCE, keep_weights)
    assert store.get(new).steps == 20


def test_a_disk_that_fills_up_after_the_weights_leaves_no_result(
    store: Store, spec: RunSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def full_for_json(source: str, target: Path) -> None:
        if Path(target).suffix == ".json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full_for_json)
        with pytest.raises(StoreError, match="the disk is full"):
            store.put(make_result(spec, fill=1.0), PROVENANCE, keep_weights=True)
    assert store.get(spec) is None
    assert leftovers(store) == []
    assert store.put(make_result(spec, fill=2.0), PROVENANCE, keep_weights=True)
    assert store.get(spec).weights()["head.weight"].unique().tolist() == [2.0]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, spec: RunSpec) -> None:
    (tmp_path / "results").write_text("a file where the store should be")
    with pytest.raises(StoreError, match=rf"^cannot write {tmp_path}.*{spec.key}\.json: "):
        Store(tmp_path / "results").put(make_result(spec), PROVENANCE)


KILLED = """
import json, os, sys, time
from pathlib import Path
import torch
from lib.core.record.spec import from_dict
from lib.core.record.store import Store
from lib.core.record.result import RunResult

root, suffix, record = sys.argv[1:]
replace = os.replace

def stuck(source, target):
    if Path(target).suffix != suffix:
        return replace(source, target)
    print("writing", flush=True)
    time.sleep(60)

os.replace = stuck
result = RunResult(from_dict(json.loads(record)), {}, {}, 1, "unfitted", None, 0.0, {"head.weight": torch.ones(2, 3)})
Store(root).put(result, {}, keep_weights=True)
"""


@pytest.mark.parametrize("suffix", [".safetensors", ".json"])
def test_a_writer_killed_halfway_leaves_no_result_and_no_lock(store: Store, tiny_spec: SpecFactory, suffix: str) -> None:
    """SIGKILL with the data written but not yet in place; whoever comes next writes the whole result."""
    former, killed = tiny_spec(seed=0), tiny_spec(seed=1)
    written(store, former)
    command = [sys.executable, "-c", KILLED, str(store.root), suffix, canonical(killed.as_dict())]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "writing\n"
        finally:
            child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert store.get(killed) is None
    assert list(store.files("tiny")) == [store.path(former)]
    assert store.get(former).weights()["head.weight"].unique().tolist() == [0.5]
    assert store.put(make_result(killed, fill=2.0), PROVENANCE, keep_weights=True)
    assert store.get(killed).steps == 20
    assert store.get(killed).weights()["head.weight"].unique().tolist() == [2.0]


def test_two_writers_of_the_same_keys_leave_whole_results(store: Store, tiny_spec: SpecFactory) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(2), context.Queue()
    writers = [context.Process(target=race, args=(str(store.root), w, barrier, answers)) for w in (1, 2)]
    for process in writers:
        process.start()
    won = dict(answers.get(timeout=60) for _ in writers)
    for process in writers:
        process.join(timeout=60)
        assert process.exitcode == 0
    for seed in range(N_RACES):
        assert won[1][seed] != won[2][seed], "each key has exactly one writer"
        winner = 1 if won[1][seed] else 2
        stored = store.get(tiny_spec(seed=seed))
        assert stored.provenance == {"writer": winner}
        assert stored.weights()["head.weight"].unique().tolist() == [float(winner)]
    assert len(list(store.files("tiny"))) == N_RACES
    assert leftovers(store) == []


# ---------------------------------------------------------------- keys


def test_golden_key() -> None:
    """Every committed result lives under such a name: if this fails, the whole store has lost its keys."""
    model = ModelSpec(vocab=201, positions=20, depth=2, d_model=128, d_ff=384, d_k=64, d_v=64)
    train = TrainSpec(batch=512, steps=3000, warmup=150)
    spec = RunSpec("composition-phases", 1, 0.7, 3, 2.5e-4, 0.01, model, train, (("modulus", 7), ("rows", 0)))
    assert spec.key == "92d575c0174d62f84132"
    train = TrainSpec(batch=256, steps=30000, warmup=1500, fit_metric="train", eval_every=300)
    stored = RunSpec("composition-phase", 2, 0.95, 3, 1e-4, 0.01, model, train, (("modulus", 7), ("rows", 0)))
    assert stored.key == "0176b91c20855ff943c9"


def test_committed_results_are_where_their_specs_say() -> None:
    """A few of each experiment: a field that came later must not move what was stored before it."""
    store = Store(ROOT / "results")
    folders = [p.name for p in store.root.iterdir() if p.is_dir()]
    sample = [path for name in folders for path in list(store.files(name))[::25]]
    assert len(sample) > 20
    for path in sample:
        recorded = json.loads(path.read_bytes())["content"]["spec"]
        spec = from_dict(recorded)
        assert spec.key == path.stem
        assert json.loads(canonical(spec.as_dict())) == recorded


@pytest.mark.parametrize(
    "change",
    [{"head": False, "vocab": 16}, {"optimizer": "sgd"}, {"precision": "float32"}, {"nudge": 3}],
    ids=lambda c: next(iter(c)),
)
def test_later_fields_are_written_where_they_say_something_and_only_there(change: dict[str, Any]) -> None:
    name = next(iter(change))
    plain, changed = (make_tiny_spec(**change | {name: value}) for value in (DEFAULTS[name], change[name]))
    flat = lambda spec: spec.as_dict() | spec.as_dict()["model"] | spec.as_dict()["train"]
    assert name not in flat(plain)
    assert flat(changed)[name] == change[name]
    assert plain.key != changed.key
    assert from_dict(json.loads(canonical(changed.as_dict()))) == changed


DEFAULTS = {f.name: f.default for kind in (RunSpec, ModelSpec, TrainSpec) for f in dataclasses.fields(kind)}

FIELDS = {
    "experiment": st.text("abc-", min_size=1, max_size=5),
    "version": st.integers(1, 9),
    "gamma": st.floats(-3, 3),
    "seed": st.integers(0, 2**40),
    "nudge": st.integers(0, 2**40),
    "rate": st.floats(1e-9, 1e3),
    "decay": st.floats(0, 10),
    "task": st.dictionaries(
        st.sampled_from(["modulus", "rows", "keep"]), st.integers(0, 10**6) | st.lists(st.integers(0, 9), max_size=3).map(tuple)
    ).map(lambda d: tuple(sorted(d.items()))),
    "norm": st.sampled_from(["pre", "post", "none"]),
    "activation": st.sampled_from(["relu", "gelu", "tanh"]),
    "bias": st.booleans(),
    "head_bias": st.booleans(),
    "head": st.booleans(),
    "optimizer": st.sampled_from(["adamw", "sgd"]),
    "precision": st.sampled_from(["any", "float32"]),
    "schedule": st.sampled_from(["cosine", "fit"]),
    "fit_metric": st.sampled_from(["test", "symmetric", "inferential"]),
    "fit_level": st.floats(0, 1),
    "start": st.floats(0, 1),
    "final": st.floats(0, 1),
    "clip": st.floats(1e-3, 1e3),
    "hold": st.integers(0, 5).map(lambda n: 10 * n),
    "warmup": st.integers(0, 50),
    "anneal": st.integers(1, 9).map(lambda n: 10 * n),
    "steps": st.integers(10, 10**5).map(lambda n: 10 * n),
}
FIELDS |= {"batch": st.integers(1, 10**4), "eval_every": st.sampled_from([1, 2, 5, 10])}  # divides steps, hold and anneal
FIELDS |= {name: st.integers(1, 512) for name in ("vocab", "positions", "depth", "d_model", "d_ff", "d_k", "d_v", "heads")}


def test_the_properties_below_know_every_field() -> None:
    names = {f.name for kind in (RunSpec, ModelSpec, TrainSpec) for f in dataclasses.fields(kind)}
    assert names - {"model", "train"} == FIELDS.keys()


@given(name=st.sampled_from(sorted(FIELDS)), data=st.data())
def test_any_change_of_a_field_changes_the_key(name: str, data: st.DataObject) -> None:
    base = {"steps": 100, "anneal": 10} | ({"d_model": 16, "vocab": 16} if name == "head" else {})
    value, other = data.draw(FIELDS[name]), data.draw(FIELDS[name])
    assume(value != other)
    one, two = make_tiny_spec(**base | {name: value}), make_tiny_spec(**base | {name: other})
    assert one != two
    assert one.key != two.key
    assert make_tiny_spec(**base | {name: value}).key == one.key


@given(changes=st.fixed_dictionaries({}, optional=FIELDS).map(lambda c: {"steps": 100, "anneal": 10} | c))
def test_from_dict_undoes_as_dict(changes: dict[str, Any]) -> None:
    """Directly and by way of the file format, which has no tuples."""
    if not changes.get("head", True):
        changes = changes | {"vocab": 16, "d_model": 16}
    spec = make_tiny_spec(**changes)
    assert from_dict(spec.as_dict()) == spec
    again = from_dict(json.loads(canonical(spec.as_dict())))
    assert again == spec
    assert hash(again) == hash(spec)
    assert again.key == spec.key


@pytest.mark.parametrize("name", ["gamma", "rate", "decay", "clip"])
def test_equal_specs_have_equal_keys(name: str) -> None:
    """A person types gamma=1; the grid has 1.0."""
    assert make_tiny_spec(**{name: 1}) == make_tiny_spec(**{name: 1.0})
    assert make_tiny_spec(**{name: 1}).key == make_tiny_spec(**{name: 1.0}).key


def test_fields_that_are_not_finite_are_refused() -> None:
    for name in ("gamma", "rate", "decay", "fit_level", "start", "final", "clip"):
        for value in (math.nan, math.inf, -math.inf, True, "0.5", None):
            with pytest.raises(SpecError, match=f"^{name} must be a finite number, got "):
                make_tiny_spec(**{name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate": 0.0}, "rate must be above 0"),
        ({"rate": -1e-3}, "rate must be above 0"),
        ({"decay": -0.1}, "decay must be at least 0"),
        ({"clip": 0.0}, "clip must be above 0"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
        ({"seed": 1.0}, "seed must be an integer of at least 0"),
        ({"nudge": -1}, r"nudge must be an integer of at least 0, got -1\.$"),
        ({"nudge": 1.0}, r"nudge must be an integer of at least 0, got 1\.0\.$"),
        ({"nudge": True}, r"nudge must be an integer of at least 0, got True\.$"),
        ({"batch": 0}, "batch must be an integer of at least 1"),
        ({"steps": True}, "steps must be an integer of at least 1"),
        ({"steps": 25}, "steps must be a multiple of eval_every=10, got 25"),
        ({"eval_every": 0}, "eval_every must be an integer of at least 1"),
        ({"warmup": -1}, "warmup must be an integer of at least 0"),
        ({"schedule": "linear"}, "schedule must be 'cosine' or 'fit'"),
        ({"optimizer": "adam"}, "optimizer must be 'adamw' or 'sgd', got 'adam'"),
        ({"precision": "bfloat16"}, r"precision must be 'any' or 'float32', got 'bfloat16'\.$"),
        ({"schedule": "fit", "anneal": 0}, "anneal must lie between 0 and steps=20, got 0"),
        ({"schedule": "fit", "anneal": 20}, "anneal must lie between 0 and steps=20, got 20"),
    ],
    ids=lambda v: str(v) if isinstance(v, dict) else "",
)
def test_runs_that_cannot_be_trained_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=f"^{message}"):
        make_tiny_spec(**change)


def record(**changes: Any) -> dict[str, Any]:
    return make_tiny_spec().as_dict() | changes


NOT_RECORDS = [
    pytest.param(None, id="None"),
    pytest.param(3, id="number"),
    pytest.param({}, id="empty"),
    pytest.param(record(colour="red"), id="unknown field"),
    pytest.param(record(task=3), id="task"),
    pytest.param(record(model=None), id="model"),
    pytest.param(record(gamma="x"), id="gamma"),
    pytest.param(record(train=record()["train"] | {"steps": 0}), id="steps 0"),
    pytest.param(record(model=record()["model"] | {"depth": 0}), id="depth 0"),
    pytest.param(record(model=record()["model"] | {"kind": ["transformer"]}), id="kind"),
    pytest.param("ab", id="text"),
]


@pytest.mark.parametrize("value", NOT_RECORDS)
def test_what_is_not_a_record_of_a_run_is_refused(value: Any) -> None:
    try:
        from_dict(value)
    except SpecError:
        return
    pytest.fail("accepted")


def test_an_unknown_kind_of_model_is_named_with_its_experiment_beside_those_there_are() -> None:
    foreign = record(model=record()["model"] | {"kind": "rnn"})
    said = r"^the kind of model 'rnn' is not known here \(known: .*transformer.*\): import the experiment 'tiny' first; "
    with pytest.raises(UnknownKindError, match=said):
        from_dict(foreign)


def test_a_run_of_a_kind_that_could_not_be_read_again_is_refused() -> None:
    with pytest.raises(SpecError, match=r"^Nameless is no kind of model that results may name: call register_models on it\.$"):
        dataclasses.replace(make_tiny_spec(), model=type("Nameless", (), {"kind": "nameless"})())


def test_an_experiment_makes_the_kinds_of_its_models_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec_module, "MODEL_KINDS", dict(MODEL_KINDS))
    mine = dataclasses.make_dataclass("Mine", [("depth", int)], frozen=True, namespace={"kind": "mine"})
    Experiment("mine", "", 1, make_study=lambda spec: None, profile_specs=lambda profile: [], models=(mine,))
    assert from_dict(record(model={"kind": "mine", "depth": 3})).model == mine(3)
    register_models(mine)  # again is no error, another of its name is one
    with pytest.raises(SpecError, match=r"two kinds of models are called 'mine': rename Theirs of "):
        register_models(type("Theirs", (), {"kind": "mine"}))


def test_the_registry_knows_every_kind() -> None:
    for e in EXPERIMENTS.values():
        assert {type(s.model) for profile in e.profiles for s in e.specs(profile)} <= set(MODEL_KINDS.values()), e.name


KINDS = """
import sys
from pathlib import Path
from lib.core.record.store import Store, StoreError
path = Path(sys.argv[1])
try:
    Store(path.parents[1]).read(path)
except StoreError as error:
    print(error)
import lib.book.registry
print(Store(path.parents[1]).read(path).spec.model.kind)
"""


def test_a_result_whose_study_is_not_imported_is_kept() -> None:
    """In a process of its own: here every study is imported."""
    path = next(Store(ROOT / "results").files("bias-emb-mlp"))
    done = subprocess.run([sys.executable, "-c", KINDS, str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
    said, kind = done.stdout.splitlines()
    assert said.startswith(f"{path} is whole but cannot be read yet, so keep it: the kind of model 'emb-mlp' is not known here")
    assert "import the experiment 'bias-emb-mlp' first; lib.book.registry imports all." in said
    assert "delete" not in said
    assert kind == "emb-mlp"


def test_canonical_refuses_nan() -> None:
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            canonical({"gamma": value})
