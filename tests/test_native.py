"""The step in C++ against PyTorch: the same gradients, the same update, and nobody's bits depend on his company."""

from __future__ import annotations

import dataclasses
import errno
import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import SpecFactory
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lib.composition.study import Composition
from lib.core.model.init import apply_gamma_stacked
from lib.core.model.transformer import IGNORED, ModelSpec, Transformer
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec
from lib.core.train import machine, native, plan
from lib.core.train.ensemble import Ensemble, losses, precision
from lib.core.train.loop import train
from lib.core.train.machine import DeviceError
from lib.core.train.optim import adamw_step
from lib.core.train.plan import Options, backend_for
from lib.language.models import CausalSpec


def needs(dtype: torch.dtype) -> pytest.MarkDecorator:
    return pytest.mark.skipif(native.library(dtype) is None, reason=f"no AVX-512, or none for {dtype}, or no C++ compiler")


needs_it = needs(torch.bfloat16)
in_each_precision = pytest.mark.parametrize(
    "dtype", [pytest.param(dtype, marks=needs(dtype), id=str(dtype)) for dtype in (torch.bfloat16, torch.float32)]
)
STUDY = Composition()

with_head = st.builds(
    ModelSpec,
    vocab=st.integers(5, 40),
    positions=st.integers(9, 12),
    depth=st.integers(1, 3),
    d_model=st.sampled_from([6, 16, 41, 48, 80]),
    d_ff=st.sampled_from([13, 16, 70, 112]),
    d_k=st.sampled_from([5, 16, 32]),
    d_v=st.sampled_from([3, 16, 48]),
    heads=st.integers(1, 3),
    head_bias=st.booleans(),
    norm=st.sampled_from(["post", "pre", "none"]),
    activation=st.sampled_from(["relu", "gelu"]),
    bias=st.booleans(),
)
without_head = with_head.map(lambda spec: dataclasses.replace(spec, vocab=spec.d_model, head=False))
causal = st.builds(
    CausalSpec,
    vocab=st.integers(5, 40),
    positions=st.integers(20, 40),
    depth=st.integers(1, 3),
    d_model=st.sampled_from([6, 32, 41]),
    d_ff=st.sampled_from([13, 64]),
    d_k=st.sampled_from([5, 16]),
    d_v=st.sampled_from([3, 16, 32]),
    heads=st.integers(1, 2),
    norm=st.sampled_from(["post", "pre", "none"]),
    activation=st.sampled_from(["relu", "gelu"]),
    bias=st.booleans(),
    tied=st.booleans(),
)
shapes = st.one_of(with_head, without_head, causal)


def model_of(spec: ModelSpec, runs: int, gamma: float = 0.6) -> Transformer:
    model = spec.build(runs)
    apply_gamma_stacked(model, [gamma] * runs, list(range(runs)))
    with torch.no_grad():  # gains and shifts that are not one and zero, so that they show
        for name, p in model.named_parameters():
            if "norm" in name:
                p.add_(torch.randn(p.shape, generator=torch.Generator().manual_seed(len(name))) * 0.3)
    return model


def rows_of(spec: ModelSpec, runs: int, batch: int, length: int) -> tuple[Tensor, Tensor]:
    """Of a model that answers everywhere, a third of the targets are not asked for."""
    generator = torch.Generator().manual_seed(batch)
    shape = (runs, batch, length)
    asked = shape if spec.every_position else shape[:2]
    tokens, target = (torch.randint(spec.vocab, size, generator=generator) for size in (shape, asked))
    left_out = (torch.rand(target.shape, generator=generator) < 1 / 3) & spec.every_position
    return tokens, torch.where(left_out, IGNORED, target)


def relative(one: Tensor, other: Tensor) -> float:
    return ((one - other).norm() / (other.norm() + 1e-12)).item()


# How far from the true ones a loss may be; all gradients, beyond twice what PyTorch is; and those of one parameter.
NEAR = {torch.bfloat16: (0.02, 0.01, 0.3), torch.float32: (1e-5, 1e-5, 2e-5)}


@in_each_precision
@given(spec=shapes, batch=st.integers(1, 11), length=st.integers(1, 37), cache=st.sampled_from([1, 2**16, 2**21]))
def test_gradients_are_as_near_to_the_true_ones_as_pytorchs(
    dtype: torch.dtype, spec: ModelSpec, batch: int, length: int, cache: int
) -> None:
    """Odd batches, chunks of two sequences and of all, one position and several, heads, depths, with and without a bias."""
    near, near_all, near_each = NEAR[dtype]
    length = min(length, spec.positions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "_CHUNK_BYTES", cache)
        program = native.Program(spec, batch, length, 2, dtype)
    model = model_of(spec, 2)
    tokens, target = rows_of(spec, 2, batch, length)
    params = native.parameters(model)
    exact_loss = losses(model, tokens, target)
    exact = torch.autograd.grad(exact_loss.sum(), params, allow_unused=True)
    with precision(torch.device("cpu"), dtype):  # in single precision the same numbers again
        rough_loss = losses(model, tokens, target)
    rough = torch.autograd.grad(rough_loss.sum(), params, allow_unused=True)
    loss, gradients = program.gradients(model, tokens, target)
    torch.testing.assert_close(loss, exact_loss.detach(), rtol=near, atol=near)
    flat = lambda parts: torch.cat([torch.zeros(1) if p is None else p.flatten() for p in parts])
    ours = [torch.zeros(1) if e is None else g for g, e in zip(gradients, exact, strict=True)]
    assert relative(flat(ours), flat(exact)) < 2 * relative(flat(rough), flat(exact)) + near_all
    for mine, true in zip(gradients, exact, strict=True):
        if true is not None and true.norm() > 1e-3 * flat(exact).norm():
            assert relative(mine, true) < near_each  # a wrong term would be off by its own size
        if true is None:
            assert not mine.any()


@needs_it
def test_a_kind_that_inherits_a_form_is_left_to_pytorch() -> None:
    """It may compute something else."""
    form = {"vocab": 9, "positions": 9, "depth": 1, "d_model": 16, "d_ff": 16, "d_k": 16, "d_v": 16}

    class Another(CausalSpec): ...

    assert native.trains(CausalSpec(**form), 4, 9)
    assert not native.trains(Another(**form), 4, 9)


@in_each_precision
def test_gradients_in_a_model_without_rounding(dtype: torch.dtype) -> None:
    """Weights, activations and gradients that bfloat16 holds exactly leave no room for rounding: a linear readout, by hand."""
    spec = ModelSpec(vocab=4, positions=1, depth=1, d_model=16, d_ff=16, d_k=16, d_v=16)
    model = Transformer(spec, 1)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.fill_(1.0 if "norm" in name and name.endswith("weight") else 0.0)
        model.embedding.token[0, 0] = torch.tensor([1.0, -1.0] * 8)
    tokens, target = torch.zeros(1, 2, 1, dtype=torch.int64), torch.tensor([[1, 3]])
    loss, gradients = native.Program(spec, 2, 1, 1, dtype).gradients(model, tokens, target)
    assert loss.item() == pytest.approx(torch.tensor(4.0).log().item(), rel=1e-6)
    by_class = torch.tensor([0.25, 0.25 - 0.5, 0.25, 0.25 - 0.5])  # softmax minus target, mean of two rows
    torch.testing.assert_close(gradients[-1][0], by_class)
    hidden = torch.tensor([1.0, -1.0] * 8)
    torch.testing.assert_close(gradients[-2][0], hidden[:, None] * by_class, atol=2e-5, rtol=1e-4)
    assert not gradients[0].any()  # the head's weight is zero, so nothing flows further down


@in_each_precision
@given(spec=shapes, decay=st.floats(0, 1), count=st.integers(1, 1000), clip=st.sampled_from([1e-3, 1.0, 1e3]))
def test_the_update_is_that_of_the_optimizer(
    dtype: torch.dtype, spec: ModelSpec, decay: float, count: int, clip: float
) -> None:
    runs, batch, length = 2, 4, 5
    program = native.Program(spec, batch, length, 1, dtype)
    ours, theirs = model_of(spec, runs), model_of(spec, runs)
    tokens, target = rows_of(spec, runs, batch, length)
    moments = [[torch.rand(p.shape) * 1e-3 for p in ours.parameters()] for _ in range(2)]
    copies = [[m.clone() for m in group] for group in moments]
    _, gradients = program.gradients(ours, tokens, target)
    place = {id(p): i for i, p in enumerate(native.parameters(theirs))}
    in_order = [gradients[place[id(p)]] for p in theirs.parameters()]
    rate, decays, counts = torch.tensor([1e-3, 3e-2]), torch.tensor([decay, 0.1]), torch.tensor([count, 7])
    with torch.no_grad():
        adamw_step(list(theirs.parameters()), in_order, *copies, rate, decays.float(), counts.float(), clip)
        program.step(ours, tuple(moments), tokens, target, [0, 1], rate, decays, counts, clip)
    for mine, true in zip(
        (*ours.parameters(), *moments[0], *moments[1]), (*theirs.parameters(), *copies[0], *copies[1]), strict=True
    ):
        torch.testing.assert_close(mine, true, rtol=2e-5, atol=1e-7)


def options(**changes: Any) -> Options:
    return Options(**{"device": "cpu", "backend": "native"} | changes)


@pytest.fixture(scope="module")
def runs(tiny_spec: SpecFactory) -> list[RunSpec]:
    wide = {"d_model": 32, "d_k": 16, "d_v": 16, "rate": 1e-2}
    return [tiny_spec(seed=seed, gamma=0.3 + 0.2 * seed, nudge=seed // 2, **wide) for seed in range(4)]


def trained(specs: list[RunSpec], opts: Options) -> dict[RunSpec, RunResult]:
    return {result.spec: result for result in train(specs, STUDY, opts)}


@in_each_precision
def test_no_bit_of_a_run_depends_on_its_company_its_slot_or_the_threads(runs: list[RunSpec], dtype: torch.dtype) -> None:
    bf16 = dtype == torch.bfloat16
    together, threads = trained(runs, options(slots=4, bf16=bf16)), torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        others = trained(runs[::-1], options(slots=3, bf16=bf16))
    finally:
        torch.set_num_threads(threads)
    for spec in runs:
        alone = trained([spec], options(slots=1, bf16=bf16))[spec]
        assert (alone.precision, alone.program) == (str(dtype).removeprefix("torch."), "native")
        for other in (together[spec], others[spec]):
            assert other.history["loss"] == alone.history["loss"]
            assert all(torch.equal(w, other.weights[name]) for name, w in alone.weights.items())


@in_each_precision
def test_it_learns_what_pytorch_learns(runs: list[RunSpec], dtype: torch.dtype) -> None:
    """The losses along the way are PyTorch's in single precision, as nearly as the precision allows."""
    longer = [dataclasses.replace(r, train=dataclasses.replace(r.train, steps=60)) for r in runs]
    ours = trained(longer, options(bf16=dtype == torch.bfloat16))
    exact = trained(longer, options(backend="eager", bf16=False))
    for spec in longer:
        assert exact[spec].history["loss"][0] > exact[spec].history["loss"][-1] + 0.2
        assert ours[spec].history["loss"] == pytest.approx(
            exact[spec].history["loss"], abs=0.03 if dtype == torch.bfloat16 else 1e-5
        )


@needs_it
def test_a_diverged_run_stops_alone(runs: list[RunSpec]) -> None:
    wild = dataclasses.replace(runs[1], rate=1e30)
    results = trained([runs[0], wild], options())
    assert results[wild].status == "diverged"
    assert results[wild].steps == 1
    healthy = trained([runs[0]], options())[runs[0]]
    assert results[runs[0]].history == healthy.history


@needs_it
@pytest.mark.parametrize(
    ("change", "fits"),
    [
        ({}, True),
        ({"d_k": 8, "d_v": 8, "heads": 2}, True),
        ({"d_model": 25}, True),
        ({"d_k": 200}, True),
        ({"norm": "pre", "activation": "gelu", "bias": True}, True),
        ({"activation": "tanh"}, False),
        ({"d_k": 513}, False),
        ({"norm": "none"}, True),
    ],
)
def test_what_it_does_not_train_is_left_to_pytorch(runs: list[RunSpec], change: dict[str, Any], fits: bool) -> None:
    spec = dataclasses.replace(runs[0], model=dataclasses.replace(runs[0].model, **change))
    assert backend_for([spec], options(backend="auto")) == ("native" if fits else "eager")
    if not fits:
        with pytest.raises(DeviceError, match="use backend auto"):
            backend_for([spec], options())


def test_without_it_runs_train_all_the_same(runs: list[RunSpec], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "library", lambda dtype: None)
    assert backend_for(runs, options(backend="auto")) == "eager"
    with pytest.raises(DeviceError, match=r"needs a CPU with AVX-512 .*unless in single precision.*, a C\+\+ compiler"):
        backend_for(runs, options())
    assert len(trained(runs[:1], options(backend="auto"))) == 1


def test_a_processor_or_compiler_that_cannot_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(native, "_cpu_flags", lambda: {"avx2"})
    assert fresh() is None
    monkeypatch.undo()
    monkeypatch.setattr(native.shutil, "which", lambda name: None)
    assert fresh() is None
    monkeypatch.undo()
    monkeypatch.setenv("REASON_OR_MEMORIZE_CACHE", str(tmp_path))
    monkeypatch.setattr(native, "_FLAGS", ("--no-such-flag",))
    assert fresh() is None


# ---------------------------------------------------------------- the kept program: whole, ours, or not used

needs_compiler = pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler")
TOY = "".join(f'extern "C" long {name}() {{ return 1; }}\n' for name in ("rm_trains", "rm_new", "rm_delete", "rm_step"))
PLANTED = '#include <cstdio>\n__attribute__((constructor)) static void run() { puts("PLANTED"); fflush(stdout); }\n'
fresh = native.library.__wrapped__


def toy(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Any processor, a source that is compiled in no time, and a cache of one's own, whose path is returned."""
    (folder / "toy.cpp").write_text(TOY)
    monkeypatch.setattr(native, "SOURCE", folder / "toy.cpp")
    monkeypatch.setattr(native, "_FLAGS", ("-shared", "-fPIC"))
    monkeypatch.setattr(native, "_cpu_flags", lambda: native._PRECISIONS[torch.bfloat16][0])
    monkeypatch.setattr(native.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(machine, "said", set())
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "")
    monkeypatch.setenv(machine.CACHE_VARIABLE, str(folder / "cache"))
    return folder / "cache"


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The path of a program that has been compiled and kept; a copy, since the C library opens a path once."""
    cache = toy(monkeypatch, tmp_path)
    assert fresh() is not None
    copy = Path(shutil.copytree(cache, tmp_path / "copy"))
    monkeypatch.setenv(machine.CACHE_VARIABLE, str(copy))
    (found,) = copy.glob("step-*.so")
    return found


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def plant(path: Path, with_digest: bool = True) -> None:
    """A library of another source, without our functions, under the name of ours."""
    command = ["c++", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(path.with_suffix(".new"))]
    subprocess.run(command, input=PLANTED, text=True, check=True)
    path.with_suffix(".new").replace(path)
    if with_digest:
        path.with_suffix(".sha256").write_text(digest_of(path))


def rewrite(path: Path, data: bytes) -> None:
    """As a new file: what is loaded already must not change under this process."""
    path.unlink()
    path.write_bytes(data)


@needs_compiler
@pytest.mark.parametrize(
    "damage",
    [
        lambda path: rewrite(path, path.read_bytes()[:-200]),
        lambda path: rewrite(path, path.read_bytes().replace(b"rm_new", b"rm_old")),
        lambda path: rewrite(path, b"not a program"),
        lambda path: rewrite(path, b""),
        lambda path: plant(path, with_digest=False),
        lambda path: path.with_suffix(".sha256").unlink(),
        lambda path: path.chmod(0o666),
    ],
    ids=["truncated", "patched", "text", "empty", "another", "without a digest", "writable by others"],
)
def test_a_kept_program_that_is_not_ours_is_compiled_again(
    kept: Path, damage: Callable[[Path], Any], capfd: pytest.CaptureFixture
) -> None:
    good = digest_of(kept)
    damage(kept)
    assert fresh() is not None
    assert kept.with_suffix(".sha256").read_text() == digest_of(kept) == good
    assert not kept.stat().st_mode & 0o022
    assert capfd.readouterr() == ("", "")


@needs_compiler
def test_a_sound_program_is_not_compiled_again(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_compile", None)
    assert fresh() is not None


@needs_compiler
def test_each_precision_has_a_program_and_needs_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cache = toy(monkeypatch, tmp_path)
    assert fresh(torch.bfloat16) is not None
    assert fresh(torch.float32) is not None
    assert len(list(cache.glob("step-*.so"))) == 2
    monkeypatch.setattr(native, "_cpu_flags", lambda: native._VECTORS)
    assert fresh(torch.bfloat16) is None
    assert fresh(torch.float32) is not None


@needs_compiler
def test_a_program_that_is_whole_but_lacks_a_function_is_done_without(kept: Path, capfd: pytest.CaptureFixture) -> None:
    plant(kept)
    assert fresh() is None
    words = capfd.readouterr().err
    assert "undefined symbol: rm_" in words
    assert words.count("\n") == 1


@needs_compiler
def test_a_folder_in_the_programs_place_is_said_and_worked_around(kept: Path, capfd: pytest.CaptureFixture) -> None:
    kept.unlink()
    kept.mkdir()
    assert fresh() is not None
    words = capfd.readouterr().err
    assert words.startswith("Compiled programs are not kept for the next time (")
    assert words.count("\n") == 1


def stat_as_anothers(path: Path, theirs: Path, **how: Any) -> os.stat_result:
    found = os.stat(path, **how)
    return os.stat_result([*found[:4], found.st_uid + (path == theirs), *found[5:10]])


@needs_compiler
@pytest.mark.parametrize("whose", ["writable by all", "another user's"])
def test_a_cache_that_others_may_write_is_not_used(
    kept: Path, whose: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    """With a program in it that would announce itself, under a right digest."""
    plant(kept)
    if whose == "writable by all":
        kept.parent.chmod(0o777)
    else:
        monkeypatch.setattr(Path, "stat", functools.partialmethod(stat_as_anothers, kept.parent))
    assert fresh() is not None
    shown = capfd.readouterr()
    assert shown.out == ""
    assert f"{kept.parent} belongs to another user, or others may write it (chmod go-w)" in shown.err
    assert shown.err.count("\n") == 1
    temporary = Path(os.environ[machine.CACHE_VARIABLE])  # where processes that are started from here find it
    assert temporary != kept.parent
    assert temporary.stat().st_mode & 0o777 == 0o700
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == str(temporary)


@needs_compiler
def test_a_cache_is_made_for_its_user_alone(kept: Path) -> None:
    assert kept.parent.stat().st_mode & 0o777 == 0o700


@needs_compiler
def test_a_cache_that_cannot_be_made_is_said_and_worked_around(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    toy(monkeypatch, tmp_path).write_text("a file")
    assert fresh() is not None
    words = capfd.readouterr().err
    assert f"{tmp_path / 'cache'} cannot be written: File exists" in words
    assert words.count("\n") == 1


@needs_compiler
@pytest.mark.parametrize("everywhere", [False, True], ids=["the cache", "the temporary folder too"])
def test_a_full_disk_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture, everywhere: bool
) -> None:
    cache, write = toy(monkeypatch, tmp_path), native.write_atomically

    def full(path: Path, data: bytes) -> None:
        if everywhere or path.parent == cache:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, data)

    monkeypatch.setattr(native, "write_atomically", full)
    assert (fresh() is None) == everywhere
    words = capfd.readouterr().err
    assert "cannot be written: the disk is full" in words
    assert ("PyTorch trains without it" in words) == everywhere


@needs_compiler
def test_a_failing_compiler_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    toy(monkeypatch, tmp_path)
    (tmp_path / "toy.cpp").write_text("it is raining")
    assert fresh() is None
    assert fresh() is None
    words = capfd.readouterr().err
    assert "The native program cannot be compiled and loaded here (" in words
    assert "error: " in words
    assert words.count("\n") == 1


@needs_it
def test_rows_that_would_read_beyond_the_model_are_refused(runs: list[RunSpec]) -> None:
    model = Transformer(runs[0].model, 1)
    program = native.Program(runs[0].model, 2, 3, 1)
    tokens, target = torch.zeros(1, 2, 3, dtype=torch.int64), torch.zeros(1, 2, dtype=torch.int64)
    for bad_tokens, bad_target in ((tokens + 201, target), (tokens - 1, target), (tokens, target + 201), (tokens, target - 1)):
        with pytest.raises(ValueError, match="must lie between 0 and 200"):
            program.gradients(model, bad_tokens, bad_target)
    with pytest.raises(ValueError, match="expected 2 sequences of 3 tokens a run"):
        program.gradients(model, tokens[:, :1], target[:, :1])


@needs_it
def test_an_ensemble_uses_it(runs: list[RunSpec], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ensemble, "_torch_step", None)
    assert len(trained(runs[:2], options(backend="auto"))) == 2


def test_backends_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="backend must be one of auto, native, compiled, eager, got 'fast'"):
        Options(backend="fast")
    assert set(plan.BACKENDS) == {"auto", "native", "compiled", "eager"}
