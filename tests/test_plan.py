"""How many runs at once, in how many processes, in which precision."""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from conftest import SpecFactory
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from lib.composition.study import Composition
from lib.core.model.transformer import ActivationCache, ModelSpec, Transformer, n_parameters
from lib.core.record.spec import SpecError
from lib.core.record.store import Store
from lib.core.sweep.jobs import sweep
from lib.core.train import machine, plan
from lib.core.train.machine import DeviceError
from lib.core.train.plan import Options, backend_for, bytes_per_run, precision_of, slots_that_fit, workers_for, worth_compiling

with_head = st.builds(
    ModelSpec,
    vocab=st.integers(2, 30),
    positions=st.just(12),
    depth=st.integers(1, 3),
    d_model=st.integers(2, 12),
    d_ff=st.integers(1, 20),
    d_k=st.integers(2, 6),
    d_v=st.integers(2, 6),
    heads=st.integers(1, 3),
    norm=st.sampled_from(["post", "pre", "none"]),
    bias=st.booleans(),
    head_bias=st.booleans(),
)
shapes = st.one_of(with_head, with_head.map(lambda spec: dataclasses.replace(spec, vocab=spec.d_model, head=False)))


@given(spec=shapes, length=st.integers(2, 12), every=st.booleans())
def test_multiply_adds_are_those_that_pytorch_counts(spec: ModelSpec, length: int, every: bool) -> None:
    model = Transformer(spec)
    tokens = torch.zeros(1, 5, length, dtype=torch.int64)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(tokens, ActivationCache() if every else None)
    assert counter.get_total_flops() == 2 * 5 * spec.multiply_adds(length, every_position=every)


def test_the_papers_model_has_the_papers_number_of_parameters() -> None:
    """2.73 million at two layers and 1.28 more for each further one."""
    two, three = (n_parameters(ModelSpec(201, 20, depth, 400, 1200, 200, 200)) for depth in (2, 3))
    assert round(two / 1e6, 2) == 2.73
    assert round((three - two) / 1e6, 2) == 1.28


def test_memory_too_small_for_one_run_is_refused(tiny_spec: SpecFactory) -> None:
    spec = tiny_spec()
    one = bytes_per_run(spec.model, spec.train.batch, 9)
    with pytest.raises(DeviceError, match=r"one run of width 16, depth 2 and batch 32 would need .* GB .*: free memory"):
        slots_that_fit(spec, 9, Options(device="cpu", memory=one - 1))
    assert slots_that_fit(spec, 9, Options(device="cpu", memory=one)) == 1


def test_memory_is_shared_and_bounds_the_slots(tiny_spec: SpecFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan.native, "library", lambda dtype: None)
    spec = tiny_spec()
    one = bytes_per_run(spec.model, spec.train.batch, 9)
    fit = lambda **changes: slots_that_fit(spec, 9, Options(device="cpu", **changes))
    assert fit(memory=5.5 * one) == 4  # a power of two, so that few shapes are compiled
    assert fit(memory=5.5 * one, sharing=2) == 2
    assert fit(memory=5.5 * one, slots=5) == 5
    with pytest.raises(DeviceError, match=r"6 runs .* ask for fewer slots"):
        fit(memory=5.5 * one, slots=6)
    assert fit() == 8


def test_wide_models_get_fewer_slots_on_a_cpu(tiny_spec: SpecFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan.native, "library", lambda dtype: None)
    slots = [slots_that_fit(tiny_spec(d_model=d, batch=256), 9, Options(device="cpu")) for d in (16, 64, 128, 400, 2000)]
    assert slots == sorted(slots, reverse=True)
    assert slots[0] == 8
    assert slots[-1] == 1


@pytest.mark.parametrize("changes", [{"slots": 0}, {"workers": 0}, {"slots": True}, {"memory": 0}, {"memory": float("nan")}])
def test_options_that_make_no_sense_are_refused(changes: dict) -> None:
    with pytest.raises(SpecError, match=f"{next(iter(changes))} must be"):
        Options(**changes)


def test_without_bfloat16_products_are_in_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    for has in (True, False):
        monkeypatch.setattr(plan, "has_bf16", lambda device, has=has: has)
        assert Options(device="cpu").resolve()[1] == (torch.bfloat16 if has else torch.float32)
    assert Options(device="cpu", bf16=False).resolve()[1] == torch.float32


PRECISIONS = [("any", torch.bfloat16), ("float32", torch.float32)]


@pytest.mark.parametrize(("precision", "dtype"), PRECISIONS)
def test_a_run_may_insist_on_single_precision(
    tiny_spec: SpecFactory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, precision: str, dtype: torch.dtype
) -> None:
    """Where the options would have bfloat16; and its result says so."""
    monkeypatch.setattr(plan, "has_bf16", lambda device: True)
    spec, store, opts = tiny_spec(precision=precision), Store(tmp_path), Options(device="cpu", slots=1)
    assert precision_of(spec, opts) == (torch.device("cpu"), dtype)
    assert precision_of(spec, dataclasses.replace(opts, bf16=False))[1] == torch.float32
    sweep([spec], store, lambda spec: Composition(), opts, progress=False)
    assert store.get(spec).provenance["precision"] == str(dtype).removeprefix("torch.")


@pytest.mark.parametrize("there", [torch.bfloat16, torch.float32], ids=str)
def test_the_native_program_must_be_there_in_the_precision_of_the_run(
    tiny_spec: SpecFactory, monkeypatch: pytest.MonkeyPatch, there: torch.dtype
) -> None:
    monkeypatch.setattr(plan, "has_bf16", lambda device: True)
    program = SimpleNamespace(rm_trains=lambda shape: 1)
    monkeypatch.setattr(plan.native, "library", lambda dtype: program if dtype == there else None)
    for precision, dtype in PRECISIONS:
        found = backend_for([tiny_spec(precision=precision)], Options(device="cpu"))
        assert found == ("native" if dtype == there else "eager")


def test_one_process_for_little_and_one_a_core_for_much(tiny_spec: SpecFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "cores", lambda: 3)
    monkeypatch.setattr(plan.native, "library", lambda dtype: None)
    little = [tiny_spec(seed=seed) for seed in range(9)]
    much = [tiny_spec(seed=seed, steps=2_000_000, batch=256) for seed in range(9)]
    assert not worth_compiling(little)
    assert worth_compiling(much)
    assert workers_for(little, Options(device="cpu")) == 1
    assert workers_for(much, Options(device="cpu")) == 3
    assert workers_for(much[:1], Options(device="cpu")) == 1
    assert workers_for(little, Options(device="cpu", workers=2)) == 2


def test_a_gpu_must_save_more_to_compile_once_more(tiny_spec: SpecFactory) -> None:
    spec = tiny_spec()
    a_step = plan.training_work(spec, 9) / spec.train.steps
    for device, floor in (("cpu", 2e13), ("cuda", 6e14)):
        steps = floor / a_step / 8
        assert plan.worth_shrinking(spec, 9, 8, math.ceil(steps * 1.01), device)
        assert not plan.worth_shrinking(spec, 9, 8, math.floor(steps * 0.99), device)


def test_free_memory_heeds_the_limit_of_the_container(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "/proc/meminfo": "MemTotal: 99 kB\nMemAvailable: 4000 kB\n",
        "/sys/fs/cgroup/memory.max": "3000000\n",
        "/sys/fs/cgroup/memory.current": "1500000\n",
        "/sys/fs/cgroup/memory.stat": "anon 7\ninactive_file 500000\nactive_file 9\n",
    }
    monkeypatch.setattr(Path, "read_text", lambda self: files[str(self)])
    assert machine.free_memory(torch.device("cpu")) == 2_000_000
    files["/sys/fs/cgroup/memory.max"] = "max\n"
    assert machine.free_memory(torch.device("cpu")) == 4_096_000


def test_compiled_programs_are_kept_where_one_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(machine.CACHE_VARIABLE, str(tmp_path / "here"))
    assert machine.compile_cache() == tmp_path / "here"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(machine.CACHE_VARIABLE, "~/there")
    assert machine.compile_cache() == tmp_path / "there"
    monkeypatch.delenv(machine.CACHE_VARIABLE)
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert machine.compile_cache().is_relative_to(tmp_path)


def test_a_user_without_a_home_has_a_cache_of_his_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in (machine.CACHE_VARIABLE, "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", none)
    assert f"reason-or-memorize-{os.geteuid()}" in machine.compile_cache().parts


def test_an_unwritable_cache_is_done_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(machine, "said", set())
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "")
    monkeypatch.setenv(machine.CACHE_VARIABLE, str(tmp_path / "file" / "below"))
    with machine.compiling():
        kept = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
        assert kept.is_dir()
    assert f"({tmp_path / 'file' / 'below'} cannot be written: Not a directory)" in capsys.readouterr().err


def test_much_is_compiled_where_there_is_a_compiler(
    tiny_spec: SpecFactory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(plan.native, "library", lambda dtype: None)
    monkeypatch.setattr(machine, "said", set())
    little, much = [tiny_spec()], [tiny_spec(steps=20_000_000, batch=256)]
    for there in (True, False, False):
        monkeypatch.setattr(plan, "has_compiler", lambda there=there: there)
        assert backend_for(little, Options(device="cpu")) == "eager"
        assert backend_for(much, Options(device="cpu")) == ("compiled" if there else "eager")
    assert capsys.readouterr().err.count("There is no C++ compiler (g++)") == 1
    assert backend_for(much, Options(device="cpu", backend="compiled")) == "compiled"


def test_the_compiler_is_the_one_that_torch_asks_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(machine.sys, "platform", "linux")
    assert not machine.has_compiler()
    for name in ("g++", "mine"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    assert machine.has_compiler()
    monkeypatch.setenv("CXX", "mine")
    (tmp_path / "g++").unlink()
    assert machine.has_compiler()
