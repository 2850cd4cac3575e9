"""The benchmark compares like with like, and reports what it says it reports. Nothing here asserts a speed."""

from __future__ import annotations

import dataclasses
import json

import pytest
import torch

from benchmarks import cluster, speed
from benchmarks.language import PlainGPT, plain_losses
from benchmarks.reference import Plain, plain_step
from lib import __main__ as command
from lib.book import timings
from lib.composition.study import Composition
from lib.core.model.init import apply_gamma_stacked
from lib.core.model.transformer import IGNORED, ModelSpec, Transformer
from lib.core.record.spec import SpecError
from lib.core.train.plan import Options
from lib.language.models import CausalSpec

SPEC = ModelSpec(vocab=31, positions=12, depth=2, d_model=16, d_ff=24, d_k=8, d_v=8)


def test_the_plain_loop_is_the_same_model() -> None:
    """With the engine's weights (transposed, as torch.nn.Linear has them) it gives the engine's logits."""
    plain, ours = Plain(SPEC), Transformer(SPEC)
    with torch.no_grad():
        for p in ours.parameters():
            p.copy_(torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel())) * 0.3)
        plain.token.weight.copy_(ours.embedding.token[0])
        plain.position.weight.copy_(ours.embedding.position[0])
        for theirs, block in zip(plain.blocks, ours.blocks, strict=True):
            for name in ("W_Q", "W_K", "W_V", "W_O"):
                getattr(theirs.attention, name).weight.copy_(getattr(block.attention, name).weight[0].T)
            theirs.feed_forward[0].weight.copy_(block.W_1.weight[0].T)
            theirs.feed_forward[2].weight.copy_(block.W_2.weight[0].T)
            for name in ("norm_1", "norm_2"):
                getattr(theirs, name).weight.copy_(getattr(block, name).weight[0])
                getattr(theirs, name).bias.copy_(getattr(block, name).bias[0])
        plain.head.weight.copy_(ours.head.weight[0].T)
        plain.head.bias.copy_(ours.head.bias[0])
        tokens = torch.randint(31, (5, 9), generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(plain(tokens)[:, -1], ours(tokens[None])[0], rtol=1e-4, atol=1e-5)


def test_the_plain_loop_learns() -> None:
    spec = speed.spec_of("laptop", 1, 16)
    step = plain_step(dataclasses.replace(spec, rate=1e-2), Composition(), torch.device("cpu"), table=512)
    losses = [step() for _ in range(40)]
    assert losses[-1] < losses[0] - 0.3


def test_what_the_plain_loop_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="one head, post-norm, ReLU and no biases"):
        Plain(dataclasses.replace(SPEC, norm="pre"))


@pytest.fixture(scope="module")
def timing() -> speed.Timing:
    options = Options(device="cpu", backend="eager", workers=1, slots=2)
    return speed.time_size("laptop", 1, options, d_model=16, seconds=0.02, rounds=1)


def test_a_row_of_the_table(timing: speed.Timing) -> None:
    assert (timing.size, timing.depth, timing.d_model, timing.batch) == ("laptop", 1, 16, 256)
    assert (timing.runs, timing.workers, timing.slots, timing.backend) == (2, 1, 2, "eager")
    assert timing.ratio == pytest.approx(timing.reference_ms / timing.engine_ms, rel=1e-2)
    assert 0 < timing.fraction_of_peak < 1
    flops = 2 * 3 * 256 * speed.spec_of("laptop", 1, 16).model.multiply_adds(9)
    assert timing.fraction_of_peak == pytest.approx(flops / (timing.engine_ms * 1e-3) / (timing.peak_tflops * 1e12), rel=1e-2)


def test_the_command_prints_the_table_or_json(
    timing: speed.Timing, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    asked = []

    def canned(size: str, depth: int, options: Options, width: int | None, **how: float) -> speed.Timing:
        asked.append((size, depth, width, how))
        return dataclasses.replace(timing, size=size)

    monkeypatch.setattr(speed, "time_size", canned)
    assert command.main(["bench", "--quick", "--size", "laptop", "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert {"size", "device", "reference_ms", "engine_ms", "ratio", "fraction_of_peak"} <= record.keys()
    assert command.main(["bench"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in table] == ["size", "laptop", "paper"]
    assert asked[0] == ("laptop", 3, None, {"seconds": 1.0, "rounds": 3})
    assert asked[1:] == [("laptop", 3, None, {}), ("paper", 3, None, {})]
    assert command.main(["bench", "--size", "laptop", "--width", "128"]) == 0
    assert asked[-1] == ("laptop", 3, 128, {})


def test_a_depth_that_makes_no_sense_is_refused(capsys: pytest.CaptureFixture) -> None:
    assert command.main(["bench", "--depth", "0"]) == 1
    assert "depth must be an integer of at least 1" in capsys.readouterr().err
    with pytest.raises(SpecError):
        speed.spec_of("laptop", 0)


def test_simulated_workers_take_the_next_job_when_they_are_free() -> None:
    assert cluster.makespan([5, 4, 3, 2, 1], 1) == 15
    assert cluster.makespan([5, 4, 3, 2, 1], 2) == 8  # 5 + 2 + 1 beside 4 + 3
    assert cluster.makespan([5, 4], 9) == 5


def test_the_engine_page_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr(timings, "FOLDER", tmp_path)
    with pytest.raises(LookupError, match=r"benchmarks/speed\.json is not there: measure it first"):
        timings.load("speed")


def test_the_plain_language_model_is_the_engines() -> None:
    spec = CausalSpec.split_heads(16, 2, vocab=13, positions=9, depth=2, d_ff=32, norm="pre", activation="gelu", bias=True)
    ours, plain = spec.build(1), PlainGPT(spec)
    apply_gamma_stacked(ours, [0.5], [3], [0])
    with torch.no_grad():
        for p in ours.parameters():
            p += 0.05 * torch.randn(p.shape, generator=torch.Generator().manual_seed(1))  # no bias and no norm is idle
        plain.token.weight.copy_(ours.embedding.token[0])
        plain.position.weight.copy_(ours.embedding.position[0])
        norms = [(plain.blocks.norm, ours.final_norm)]
        for theirs, block in zip(plain.blocks.layers, ours.blocks, strict=True):
            a = block.attention
            theirs.self_attn.in_proj_weight.copy_(torch.cat([w.weight[0].T for w in (a.W_Q, a.W_K, a.W_V)]))
            theirs.self_attn.in_proj_bias.copy_(torch.cat([w.bias[0] for w in (a.W_Q, a.W_K, a.W_V)]))
            maps = ((theirs.self_attn.out_proj, a.W_O), (theirs.linear1, block.W_1), (theirs.linear2, block.W_2))
            for linear, mine in maps:
                linear.weight.copy_(mine.weight[0].T)
                linear.bias.copy_(mine.bias[0])
            norms += [(theirs.norm1, block.norm_1), (theirs.norm2, block.norm_2)]
        for norm, mine in norms:
            norm.weight.copy_(mine.weight[0])
            norm.bias.copy_(mine.bias[0])
    tokens = torch.randint(0, 13, (4, 9), generator=torch.Generator().manual_seed(0))
    target = tokens.roll(-1, 1).masked_fill(torch.arange(9) < 3, IGNORED)
    torch.testing.assert_close(plain(tokens), ours(tokens[None])[0])
    torch.testing.assert_close(plain_losses(plain, tokens, target), ours.losses(tokens[None], target[None])[0])
