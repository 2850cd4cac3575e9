"""The γ initialization: standard deviations, what is left alone, what is refused, and which draw belongs to whom."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing._internal.two_tensor import TwoTensor
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, MixtralConfig, MixtralForCausalLM
from transformers.pytorch_utils import Conv1D

from lib.core.model.init import UnknownParameter, apply_gamma, apply_gamma_stacked, fan_in, gamma_std
from lib.core.model.transformer import ModelSpec, Transformer

# Every width differs from every other, so that a fan-in taken from the wrong side shows.
WIDE = ModelSpec(vocab=201, positions=40, depth=1, d_model=256, d_ff=384, d_k=80, d_v=48, heads=2, bias=True)
SMALL = ModelSpec(vocab=7, positions=5, depth=2, d_model=8, d_ff=12, d_k=4, d_v=6)
FAN_IN = {
    "embedding.token": 256,
    "embedding.position": 256,
    "blocks.0.attention.W_Q.weight": 256,
    "blocks.0.attention.W_K.weight": 256,
    "blocks.0.attention.W_V.weight": 256,
    "blocks.0.attention.W_O.weight": 96,
    "blocks.0.W_1.weight": 256,
    "blocks.0.W_2.weight": 384,
    "head.weight": 256,
}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def snapshot(module: nn.Module) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in module.named_parameters()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def assert_std(weight: Tensor, std: float) -> None:
    """Mean, standard deviation and the share within one standard deviation of a normal sample of this size."""
    n = weight.numel()
    assert weight.std().item() == pytest.approx(std, rel=max(0.015, 4 / math.sqrt(2 * n)))
    assert abs(weight.mean().item()) < 4.5 * std / math.sqrt(n)
    assert (weight.abs() < std).float().mean().item() == pytest.approx(0.6827, abs=2.5 / math.sqrt(n))


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.8])
def test_each_matrix_of_our_transformer_has_its_std(gamma: float) -> None:
    model = Transformer(WIDE, 2)
    apply_gamma_stacked(model, [gamma, gamma + 0.2], [3, 4])
    params = dict(model.named_parameters())
    drawn = {name for name in params if not name.endswith("bias") and "norm" not in name}
    assert drawn == FAN_IN.keys()
    for name, d_in in FAN_IN.items():
        for run, run_gamma in enumerate((gamma, gamma + 0.2)):
            assert_std(params[name][run].detach(), d_in**-run_gamma)


def test_norms_stay_and_biases_get_torchs_default() -> None:
    """The head's bias keeps PyTorch's default, uniform on ±1/√d_in, whatever γ is."""
    model = Transformer(WIDE, 2)
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(7.0)  # a slot that another run has used
    apply_gamma_stacked(model, [0.9, 0.1], [3, 4])
    for run in range(2):
        for name, p in model.named_parameters():
            values = p[run].detach()
            if "norm" in name:
                assert torch.all(values == (1.0 if name.endswith("weight") else 0.0)), name
            elif name.endswith("bias"):
                d_in = FAN_IN[name.removesuffix("bias") + "weight"]
                bound = 1 / math.sqrt(d_in)
                assert 0.94 * bound < values.abs().max() <= bound, name
                assert values.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.15), name


def test_returned_plan_names_every_matrix_and_its_std() -> None:
    assert apply_gamma(Transformer(WIDE), 0.7).stds == pytest.approx({name: d_in**-0.7 for name, d_in in FAN_IN.items()})


def encoder(d_model: int = 128, d_ff: int = 200) -> nn.Module:
    layer = nn.TransformerEncoderLayer(d_model, 4, d_ff, batch_first=True)
    return nn.Sequential(
        nn.Embedding(50, d_model), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(d_model, 30)
    )


def test_torch_transformer_stack() -> None:
    module = encoder()
    before = snapshot(module)
    stds = apply_gamma(module, 0.6, generator()).stds
    expected = {"0.weight": 128, "2.weight": 128}
    for layer in ("1.layers.0", "1.layers.1"):
        expected |= {f"{layer}.self_attn.in_proj_weight": 128, f"{layer}.self_attn.out_proj.weight": 128}
        expected |= {f"{layer}.linear1.weight": 128, f"{layer}.linear2.weight": 200}
    assert stds == pytest.approx({name: d_in**-0.6 for name, d_in in expected.items()})
    for name, after in snapshot(module).items():
        if name in expected:
            assert_std(after, expected[name] ** -0.6)
        else:
            assert torch.equal(after, before[name]), name


def test_whole_torch_transformer_with_a_decoder() -> None:
    module = nn.Transformer(16, 2, 1, 1, 24, batch_first=True)
    before = snapshot(module)
    stds = apply_gamma(module, 1.0, generator()).stds
    assert set(stds) == {name for name, p in module.named_parameters() if p.dim() == 2}
    assert {std for name, std in stds.items() if "linear2" in name} == {1 / 24}
    assert {std for name, std in stds.items() if "linear2" not in name} == {1 / 16}
    after = snapshot(module)
    assert all(torch.equal(after[name], before[name]) for name in after.keys() - stds.keys())


def test_attention_with_other_key_and_value_widths() -> None:
    stds = apply_gamma(nn.MultiheadAttention(16, 2, kdim=10, vdim=6, add_bias_kv=True), 1.0).stds
    expected = {"q_proj_weight": 1 / 16, "k_proj_weight": 1 / 10, "v_proj_weight": 1 / 6, "out_proj.weight": 1 / 16}
    assert stds == pytest.approx(expected)


def test_gpt2s_transposed_linear() -> None:
    module = Conv1D(nf=30, nx=10)
    assert apply_gamma(module, 1.0).stds == {"weight": 0.1}
    assert torch.all(module.bias == 0)
    assert torch.any(module.weight != 0)


def test_tied_weights_are_drawn_once() -> None:
    embedding, hidden, head = nn.Embedding(20, 8), nn.Linear(8, 8, bias=False), nn.Linear(8, 20, bias=False)
    head.weight = embedding.weight
    module = nn.Sequential(embedding, hidden, head)
    assert list(apply_gamma(module, 0.5, generator(5)).stds) == ["0.weight", "1.weight"]
    source = generator(5)
    for weight in (embedding.weight, hidden.weight):  # two draws in all, in this order
        torch.testing.assert_close(weight.detach(), torch.empty(weight.shape).normal_(0, 8**-0.5, generator=source))
    assert head.weight is embedding.weight


def test_custom_rule_decides() -> None:
    module = nn.Sequential(nn.Conv2d(3, 64, 5), nn.Linear(4, 4))
    before = snapshot(module)

    def rule(owner: nn.Module, name: str, param: Tensor) -> int | None:
        return param[0].numel() if isinstance(owner, nn.Conv2d) and name == "weight" else None

    assert apply_gamma(module, 0.5, generator(), rule=rule).stds == pytest.approx({"0.weight": 75**-0.5})
    assert_std(module[0].weight.detach(), 75**-0.5)
    after = snapshot(module)
    assert all(torch.equal(after[name], before[name]) for name in ("0.bias", "1.weight", "1.bias"))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (0, "d_in must be at least 1, got 0"),
        *((v, "^weight: a rule must give a whole number or None") for v in (2.5, True, "3")),
    ],
)
def test_a_rule_must_give_a_fan_in(answer: Any, words: str) -> None:
    module = nn.Linear(4, 4)
    before = snapshot(module)
    with pytest.raises(ValueError, match=words):
        apply_gamma(module, 0.5, rule=lambda *_: answer)
    assert same(before, snapshot(module))


UNKNOWN = [
    nn.Conv2d(2, 2, 3),
    nn.Bilinear(3, 3, 3),
    nn.LSTM(3, 3),
    nn.PReLU(),
    nn.ParameterList([nn.Parameter(torch.ones(2, 2))]),
]


@pytest.mark.parametrize("unknown", UNKNOWN, ids=lambda m: type(m).__name__)
def test_unknown_parameters_are_refused_and_nothing_changes(unknown: nn.Module) -> None:
    """The unknown one comes last, so a draw that begins before all are known would show."""
    module = nn.Sequential(nn.Linear(4, 4), nn.Embedding(3, 4), unknown)
    before = snapshot(module)
    with pytest.raises(UnknownParameter, match=rf"No fan-in rule for parameter '\w+' of {type(unknown).__name__}; pass rule="):
        apply_gamma(module, 0.5)
    assert same(before, snapshot(module))


def test_a_declaration_must_cover_every_parameter() -> None:
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.known, self.forgotten = nn.Parameter(torch.ones(2, 2)), nn.Parameter(torch.ones(2, 2))
            self.gamma_fan_in = {"known": 2}

    module = Half()
    with pytest.raises(UnknownParameter, match="Half declares gamma_fan_in, but not for its parameter 'forgotten'"):
        apply_gamma(module, 0.5)
    assert torch.all(module.known == 1)


class LoRA(nn.Linear):
    def __init__(self) -> None:
        super().__init__(64, 64)
        self.lora_A, self.lora_B = nn.Parameter(torch.randn(4, 64)), nn.Parameter(torch.zeros(64, 4))


class Queries(nn.MultiheadAttention):
    def __init__(self) -> None:
        super().__init__(8, 2)
        self.prompt = nn.Parameter(torch.zeros(3, 8))


class FromTheLeft(nn.Linear):
    """Computes x @ weight, so that the number of its outputs is its weight's second size."""

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight


BESIDE_THE_WEIGHT = [
    (lambda: FromTheLeft(4, 6, bias=False), "weight"),
    (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(64, 64)), "original0"),
    (lambda: old_weight_norm(nn.Linear(64, 64)), "weight_g"),
    (lambda: nn.utils.spectral_norm(nn.Linear(64, 64)), "weight_orig"),
    (LoRA, "lora_A"),
    (Queries, "prompt"),
]


def old_weight_norm(module: nn.Module) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nn.utils.weight_norm(module)


@pytest.mark.parametrize(("make", "name"), BESIDE_THE_WEIGHT, ids=[name for _, name in BESIDE_THE_WEIGHT])
def test_matrices_of_another_meaning_in_a_known_module_are_refused(make: Callable[[], nn.Module], name: str) -> None:
    """A gain of one input, an adapter that starts at zero: neither is the map."""
    module = nn.Sequential(nn.Linear(4, 4), make())
    before = snapshot(module)
    with pytest.raises(UnknownParameter, match=rf"No fan-in rule for parameter '{name}'"):
        apply_gamma(module, 0.5)
    assert same(before, snapshot(module))


def typed(dtype: torch.dtype) -> nn.Module:
    module = nn.Linear(6, 6, bias=False)
    module.weight = nn.Parameter(torch.ones(6, 6, dtype=dtype), requires_grad=False)
    return module


def sharded() -> nn.Module:
    """A weight that is a tensor of another kind, as those of sharded and quantized modules are."""
    module = nn.Linear(6, 6, bias=False)
    module.weight = nn.Parameter(TwoTensor(torch.ones(6, 6), torch.ones(6, 6)))
    return module


def made_in_inference_mode() -> nn.Module:
    with torch.inference_mode():
        return nn.Linear(6, 6, bias=False)


def holding(weight: Tensor) -> nn.Module:
    module = nn.Linear(6, 6, bias=False)
    module.weight = nn.Parameter(weight)
    return module


class PackedLinear(nn.Module):
    """The layout of GPTQ: whole numbers, in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("qweight", torch.zeros(2, 6, dtype=torch.int32))


def quantized() -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(6, 6)), {nn.Linear})


def adapted(part: str = "lora_B") -> nn.Module:
    """The layout of PEFT: adapters in a module of their own, beside a frozen base."""
    module = nn.Linear(6, 6, bias=False).requires_grad_(False)
    module.add_module(part, nn.ModuleDict({"default": nn.Linear(2, 6, bias=False)}))
    nn.init.zeros_(module.get_submodule(part)["default"].weight)
    return module


def wrapped() -> nn.Module:
    """A layer as PEFT wraps it, whose tuning copies the layer: nothing in the names tells."""
    module = nn.Module()
    module.adapter_layer_names = ("copies",)
    module.base_layer, module.copies = nn.Linear(6, 6), nn.ModuleDict({"default": nn.Linear(6, 6)})
    return module


CANNOT = [
    (made_in_inference_mode, 0.5, "1.weight cannot be written in place"),
    (lambda: holding(torch.zeros(1, 6).expand(6, 6)), 0.5, "1.weight cannot be written in place"),
    (lambda: holding(torch.zeros(11).as_strided((6, 6), (1, 1))), 0.5, "1.weight cannot be written in place"),
    (quantized, 0.5, "1.0 is a quantized Linear: redraw the module before it is quantized"),
    (PackedLinear, 0.5, "1 is a quantized PackedLinear: redraw"),
    (adapted, 0.5, "1.lora_B.default.weight is part of an adapter"),
    (lambda: adapted("lora_up"), 0.5, "1.lora_up.default.weight is part of an adapter"),
    (lambda: adapted("adapter"), 0.5, "1.adapter.default.weight is part of an adapter"),
    (wrapped, 0.5, "1 is a layer with an adapter: redraw the module before it is adapted"),
    (lambda: typed(torch.uint8), 0.5, "1.weight holds uint8: redraw the module before it is quantized"),
    (lambda: typed(torch.int8), 0.5, "1.weight holds int8: redraw"),
    (lambda: nn.Linear(6, 6, device="meta"), 0.5, "1.weight has no numbers yet"),
    (lambda: nn.LayerNorm(6, device="meta"), 0.5, "1.weight has no numbers yet"),
    (lambda: nn.LazyLinear(6), 0.5, "1.weight has no numbers yet"),
    (sharded, 0.5, "1.weight is a TwoTensor: redraw the module before it is sharded or quantized"),
    (lambda: nn.Linear(512, 6).half(), 3, "1.weight: a standard deviation of .* is too small for float16"),
    (lambda: nn.Linear(512, 6).half(), -2, "1.weight: a standard deviation of .* is too large for float16"),
    (lambda: nn.Linear(20_000, 2), -10, "1.weight: a standard deviation of .* is too large for float32"),
]


@pytest.mark.parametrize(("make", "gamma", "words"), CANNOT, ids=[words for *_, words in CANNOT])
def test_what_cannot_be_redrawn_is_named_and_nothing_changes(make: Callable[[], nn.Module], gamma: float, words: str) -> None:
    module = nn.Sequential(nn.Linear(4, 4), make())
    before = module[0].weight.detach().clone()
    with pytest.raises(ValueError, match=words):
        apply_gamma(module, gamma)
    assert torch.equal(module[0].weight, before)


def test_half_precision_holds_what_it_is_allowed_to_hold() -> None:
    for gamma in (-1.0, 0.0, 1.0, 2.2):
        module = nn.Linear(512, 512).half()
        apply_gamma(module, gamma, generator())
        assert module.weight.float().std().item() == pytest.approx(512**-gamma, rel=0.02)


@pytest.mark.parametrize("module", [nn.Sequential(), nn.LayerNorm(3)], ids=["empty", "norm"])
def test_a_module_with_nothing_to_redraw_is_refused(module: nn.Module) -> None:
    with pytest.raises(ValueError, match=r"has no weight matrix that could be redrawn"):
        apply_gamma(module, 0.5)


def test_the_padding_row_stays_as_it_is() -> None:
    embedding, head = nn.Embedding(50, 8, padding_idx=3), nn.Linear(8, 50, bias=False)
    head.weight = embedding.weight
    for module in (nn.Sequential(embedding, head), nn.Sequential(head, embedding)):
        apply_gamma(module, 0.5, generator())
        assert not embedding.weight[3].any()
        assert embedding.weight[[2, 4]].all()


def test_frozen_parameters_are_marked() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)).requires_grad_(False)
    module[1].requires_grad_(True)
    report = apply_gamma(module, 0.5)
    assert [p.frozen for p in report.parameters] == [True, True, False, False]
    assert [line.split("  ")[0] for line in str(report).splitlines()[1:]] == [
        "0.weight (frozen)",
        "0.bias (frozen)",
        "1.weight",
        "1.bias",
    ]


def transposed_tie() -> nn.Module:
    one, other = nn.Linear(64, 5, bias=False), nn.Linear(5, 64, bias=False)
    other.weight = nn.Parameter(one.weight.detach().t())
    return nn.Sequential(one, other)


def two_meanings() -> nn.Module:
    one, other = nn.Linear(64, 5, bias=False), Conv1D(64, 5)
    other.weight = one.weight
    return nn.Sequential(one, other)


@pytest.mark.parametrize("make", [transposed_tie, two_meanings])
def test_shared_memory_with_two_fan_ins_is_refused(make: Callable[[], nn.Module]) -> None:
    module = make()
    before = snapshot(module)
    with pytest.raises(ValueError, match=r"0\.weight \(d_in 64\) and 1\.weight \(d_in 5\) share their memory"):
        apply_gamma(module, 0.5)
    assert same(before, snapshot(module))


def test_neighbours_in_one_block_of_memory_are_no_tie() -> None:
    """Side by side, as views of a flat parameter, or column by column between each other."""
    flat, table = torch.zeros(64 * 5 * 2), torch.zeros(8, 12)
    module = nn.Sequential(*(nn.Linear(*shape, bias=False) for shape in ((64, 5), (5, 64), (4, 8), (8, 8))))
    views = (flat[:320].view(5, 64), flat[320:].view(64, 5), table[:, :4], table[:, 4:])
    for linear, view in zip(module, views, strict=True):
        linear.weight = nn.Parameter(view)
    assert apply_gamma(module, 1.0).stds == {"0.weight": 1 / 64, "1.weight": 1 / 5, "2.weight": 1 / 4, "3.weight": 1 / 8}


@pytest.mark.parametrize("gamma", [1e308, -1e308, 400, -400, 10.1, pytest.param(10**400, id="huge")])
def test_gamma_has_a_largest_value(gamma: float) -> None:
    with pytest.raises(ValueError, match=r"^gamma must lie between -10 and 10, got "):
        apply_gamma(nn.Linear(3, 3), gamma)


@pytest.mark.parametrize("gamma", [np.float32(0.5), np.float64(0.5), np.int64(1), Fraction(1, 2)], ids=repr)
def test_gamma_may_be_any_real_number(gamma: Any) -> None:
    assert apply_gamma(nn.Linear(16, 3), gamma).stds == {"weight": 16.0 ** -float(gamma)}


BAD_GAMMAS = [math.nan, math.inf, -math.inf, "x", "0.5", True, None, [0.5]]


@pytest.mark.parametrize("gamma", BAD_GAMMAS, ids=repr)
@pytest.mark.parametrize("module", [nn.Linear(3, 3), nn.LayerNorm(3)], ids=["matrix", "nothing to draw"])
def test_gamma_must_be_a_finite_number(gamma: Any, module: nn.Module) -> None:
    before = snapshot(module)
    with pytest.raises(ValueError, match=r"^gamma must be a finite number, got "):
        apply_gamma(module, gamma)
    assert same(before, snapshot(module))


def test_std_by_hand() -> None:
    assert [gamma_std(100, 0.5), gamma_std(100, 0), gamma_std(1, 3.0), gamma_std(16, -0.5)] == [0.1, 1.0, 1.0, 4.0]


def test_bias_of_any_kind_is_left_alone() -> None:
    assert fan_in(nn.Linear(3, 2), "bias", torch.zeros(2)) is None
    assert fan_in(nn.BatchNorm1d(3), "weight", torch.zeros(3)) is None


def test_same_seed_gives_the_same_directions_at_every_gamma() -> None:
    """A run at γ' is the run at γ scaled matrix by matrix by d_in^(γ − γ'), in both entry points."""
    one, other = encoder(16, 24), encoder(16, 24)
    small, large = apply_gamma(one, 0.9, generator(1)).stds, apply_gamma(other, 0.4, generator(1)).stds
    ours, theirs = dict(one.named_parameters()), dict(other.named_parameters())
    for name in small:
        torch.testing.assert_close(ours[name] * (large[name] / small[name]), theirs[name], rtol=1e-5, atol=1e-7)
    stacked = Transformer(SMALL, 2)
    apply_gamma_stacked(stacked, [0.9, 0.4], [1, 1])
    params = dict(stacked.named_parameters())
    for name, std in apply_gamma(Transformer(SMALL), 1.0).stds.items():
        torch.testing.assert_close(params[name][0] * std**-0.5, params[name][1], rtol=1e-5, atol=1e-7)
    assert torch.equal(params["head.bias"][0], params["head.bias"][1])


def test_seed_decides_the_draw() -> None:
    modules = [nn.Linear(6, 6) for _ in range(3)]
    for module, seed in zip(modules, (1, 1, 2), strict=True):
        apply_gamma(module, 0.5, generator(seed))
    one, again, other = (m.weight for m in modules)
    assert torch.equal(one, again)
    assert not torch.any(one == other)


def test_a_run_does_not_see_its_neighbours() -> None:
    """Bitwise: alone, in a stack with others, and at another place of it."""
    gammas, seeds = [0.3, 0.5, 1.1], [10, 11, 12]
    stack = Transformer(SMALL, 3)
    apply_gamma_stacked(stack, gammas, seeds)
    for run in range(3):
        alone = Transformer(SMALL, 1)
        apply_gamma_stacked(alone, gammas[run : run + 1], seeds[run : run + 1])
        for (name, p), q in zip(stack.named_parameters(), alone.parameters(), strict=True):
            assert torch.equal(p[run], q[0]), name
    swapped = Transformer(SMALL, 3)
    apply_gamma_stacked(swapped, gammas[::-1], seeds[::-1])
    for p, q in zip(stack.parameters(), swapped.parameters(), strict=True):
        assert torch.equal(p, q.flip(0))


def test_filling_one_place_leaves_the_others() -> None:
    stack, fresh = Transformer(SMALL, 3), Transformer(SMALL, 1)
    apply_gamma_stacked(stack, [0.3, 0.5, 1.1], [10, 11, 12])
    before = snapshot(stack)
    apply_gamma_stacked(stack, [0.7], [20], runs=[1])
    apply_gamma_stacked(fresh, [0.7], [20])
    for (name, p), q in zip(stack.named_parameters(), fresh.parameters(), strict=True):
        assert torch.equal(p[[0, 2]], before[name][[0, 2]]), name
        assert torch.equal(p[1], q[0]), name


def test_lists_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        apply_gamma_stacked(Transformer(SMALL, 2), [0.5, 0.6], [1])


# ---------------------------------------------------------------- the report, and the transformers of others


def test_report_states_shape_fan_in_and_spread_before_and_after() -> None:
    module = nn.Sequential(nn.Linear(400, 300), nn.LayerNorm(300))
    with torch.no_grad():
        module[0].weight.copy_(torch.tensor([-2.0, 2.0]).repeat(300, 200))
    weight, bias, scale, shift = apply_gamma(module, 0.5, generator()).parameters
    assert (weight.name, weight.shape, weight.d_in, weight.std_before) == ("0.weight", (300, 400), 400, 2.0)
    assert weight.std_after == pytest.approx(0.05, rel=0.01)
    assert weight.std_after == pytest.approx(module[0].weight.detach().numpy().std(), rel=1e-6)
    assert (bias.name, bias.d_in) == ("0.bias", None)
    assert bias.std_before == bias.std_after > 0
    assert [(p.name, p.d_in, p.std_after) for p in (scale, shift)] == [("1.weight", None, 0.0), ("1.bias", None, 0.0)]


def test_report_prints_as_a_table() -> None:
    module = nn.Linear(100, 2)
    with torch.no_grad():
        module.weight.fill_(1.0)
        module.bias.fill_(1.0)
    head, weight, bias = str(apply_gamma(module, 1.0, generator())).splitlines()
    assert head.split() == ["parameter", "shape", "d_in", "d_in^−γ", "std", "before", "std", "after"]
    assert weight.split()[:7] == ["weight", "2", "×", "100", "100", "0.01", "0"]
    assert bias.split() == ["bias", "2", "left", "0", "0"]
    assert len({line.index(word) for line, word in ((head, "shape"), (weight, "2 ×"), (bias, "2 "))}) == 1


def gpt2() -> nn.Module:
    config = GPT2Config(vocab_size=90, n_positions=12, n_embd=48, n_layer=2, n_head=3, n_inner=100)
    return GPT2LMHeadModel(config)


GPT2_FAN_IN = {"attn.c_attn": 48, "attn.c_proj": 48, "mlp.c_fc": 48, "mlp.c_proj": 100}


def test_gpt2_of_transformers() -> None:
    """Conv1D's weight is (d_in, d_out): the second map of the FFN has 100 inputs and 48 outputs. The head is the embedding."""
    module = gpt2()
    before = snapshot(module)
    report = apply_gamma(module, 0.8, generator())
    expected = {"transformer.wte.weight": 48, "transformer.wpe.weight": 48}
    for layer in (0, 1):
        expected |= {f"transformer.h.{layer}.{name}.weight": d_in for name, d_in in GPT2_FAN_IN.items()}
    assert {p.name: p.d_in for p in report.parameters if p.d_in is not None} == expected
    for name, after in snapshot(module).items():
        if name in expected:
            assert_std(after, expected[name] ** -0.8)
        elif name != "lm_head.weight":
            assert torch.equal(after, before[name]), name
    assert module.lm_head.weight is module.transformer.wte.weight


def test_gpt2_still_computes() -> None:
    module = gpt2().eval()
    apply_gamma(module, 0.5, generator())
    logits = module(torch.arange(12)[None]).logits
    assert logits.shape == (1, 12, 90)
    assert torch.isfinite(logits).all()


def test_a_refusal_names_the_parameter_by_its_path() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Conv1d(2, 2, 3)))
    before = snapshot(module)
    with pytest.raises(UnknownParameter, match=r"^1\.0\.weight: No fan-in rule for parameter 'weight' of Conv1d"):
        apply_gamma(module, 0.5)
    assert same(before, snapshot(module))


def test_views_without_overlap_are_redrawn() -> None:
    for weight in (torch.zeros(6, 6).t(), torch.zeros(12, 6)[::2], torch.zeros(6, 12)[:, 1::2], torch.zeros(1, 6)):
        module = holding(weight)
        apply_gamma(module, 0.5, generator())
        assert module.weight.all()


def llama() -> nn.Module:
    shape = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4}
    return LlamaForCausalLM(LlamaConfig(vocab_size=64, num_key_value_heads=2, **shape))


def test_llama_of_transformers() -> None:
    report = apply_gamma(llama(), 0.5, generator())
    d_in = {p.name.removesuffix(".weight").split(".")[-1]: p.d_in for p in report.parameters}
    maps = {"q_proj": 32, "k_proj": 32, "v_proj": 32, "o_proj": 32, "gate_proj": 32, "up_proj": 32, "down_proj": 48}
    norms = dict.fromkeys(("input_layernorm", "post_attention_layernorm", "norm"))
    assert d_in == {"embed_tokens": 32, "lm_head": 32, **maps, **norms}


def test_a_mixture_of_experts_is_refused_by_name_and_takes_a_rule() -> None:
    """Of stacked matrices only who stacked them knows which axis is the input."""
    shape = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4}
    model = MixtralForCausalLM(MixtralConfig(vocab_size=64, num_key_value_heads=2, num_local_experts=2, **shape))
    before = snapshot(model)
    with pytest.raises(UnknownParameter, match=r"mlp\.\S+: No fan-in rule for parameter '\w+' of Mixtral\w+; pass rule="):
        apply_gamma(model, 0.5)
    assert same(before, snapshot(model))
    mixture = lambda owner, name, param: param.shape[-1] if "Mixtral" in type(owner).__name__ and param.dim() > 1 else None
    rule = lambda owner, name, param: mixture(owner, name, param) or fan_in(owner, name, param)
    found = {p.name.split(".", 3)[-1]: p.d_in for p in apply_gamma(model, 0.5, generator(), rule).parameters}
    assert found["mlp.experts.gate_up_proj"] == found["mlp.gate.weight"] == 32
    assert found["mlp.experts.down_proj"] == 48


def test_a_parameter_of_distributed_tensors_is_refused() -> None:
    import torch.distributed as dist
    from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        module = nn.Sequential(nn.Linear(4, 4), nn.Linear(6, 6, bias=False))
        before = module[0].weight.detach().clone()
        module[1].weight = nn.Parameter(distribute_tensor(torch.ones(6, 6), init_device_mesh("cpu", (2,)), [Shard(0)]))
        with pytest.raises(ValueError, match=r"1\.weight is a DTensor: redraw the module before it is sharded"):
            apply_gamma(module, 0.5)
        assert torch.equal(module[0].weight, before)
    finally:
        dist.destroy_process_group()
