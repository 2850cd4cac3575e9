"""Our transformer against PyTorch's own modules with the same weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lib.core.model.transformer import ActivationCache, Attention, Block, Linear, ModelSpec, Transformer

VOCAB, LENGTH, BATCH = 13, 6, 3
CLOSE = {"rtol": 2e-4, "atol": 2e-5}  # single precision, sums in another order


def make_spec(**changes: Any) -> ModelSpec:
    base = {"vocab": VOCAB, "positions": 8, "depth": 2, "d_model": 12, "d_ff": 20, "heads": 2}
    values = base | changes
    if "d_k" in values:
        return ModelSpec(**values)
    return ModelSpec.split_heads(**values)


def make_model(spec: ModelSpec, n_runs: int, seed: int = 0) -> Transformer:
    """Every parameter random, norms and biases too, so that none of them can be forgotten unnoticed."""
    model = Transformer(spec, n_runs)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, param in model.named_parameters():
            is_scale = "norm" in name and name.endswith("weight")
            param.copy_(0.35 * torch.randn(param.shape, generator=generator) + (1.0 if is_scale else 0.0))
    return model


def make_tokens(n_runs: int, seed: int = 1) -> Tensor:
    return torch.randint(VOCAB, (n_runs, BATCH, LENGTH), generator=torch.Generator().manual_seed(seed))


def load_linear(theirs: nn.Linear, ours: Linear, run: int) -> None:
    """Ours is (R, d_in, d_out), torch's (d_out, d_in)."""
    theirs.weight.copy_(ours.weight[run].T)
    if ours.bias is not None:
        theirs.bias.copy_(ours.bias[run])


def load_attention(theirs: nn.MultiheadAttention, ours: Attention, run: int) -> None:
    theirs.in_proj_weight.copy_(torch.cat([w.weight[run].T for w in (ours.W_Q, ours.W_K, ours.W_V)]))
    if theirs.in_proj_bias is not None:
        theirs.in_proj_bias.copy_(torch.cat([w.bias[run] for w in (ours.W_Q, ours.W_K, ours.W_V)]))
    load_linear(theirs.out_proj, ours.W_O, run)


def load_layer(layer: nn.TransformerEncoderLayer, block: Block, run: int) -> None:
    load_attention(layer.self_attn, block.attention, run)
    load_linear(layer.linear1, block.W_1, run)
    load_linear(layer.linear2, block.W_2, run)
    for theirs, ours in ((layer.norm1, block.norm_1), (layer.norm2, block.norm_2)):
        theirs.weight.copy_(ours.weight[run])
        theirs.bias.copy_(ours.bias[run])


class Reference(nn.Module):
    """Embedding, torch's encoder layers under a causal mask, output head; the weights of one run of ours."""

    def __init__(self, model: Transformer, run: int) -> None:
        super().__init__()
        spec = model.spec
        self.token = nn.Embedding(spec.vocab, spec.d_model)
        self.position = nn.Embedding(spec.positions, spec.d_model)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                spec.d_model,
                spec.heads,
                spec.d_ff,
                dropout=0.0,
                activation=spec.activation,
                batch_first=True,
                norm_first=spec.norm == "pre",
                bias=spec.bias,
            )
            for _ in range(spec.depth)
        )
        for layer in self.layers:  # torch's bias=False strips the norms' biases as well, ours keeps them
            layer.norm1, layer.norm2 = nn.LayerNorm(spec.d_model), nn.LayerNorm(spec.d_model)
        self.final_norm = nn.LayerNorm(spec.d_model) if spec.norm == "pre" else nn.Identity()
        self.head = nn.Linear(spec.d_model, spec.vocab, bias=spec.head_bias)
        with torch.no_grad():
            self.token.weight.copy_(model.embedding.token[run])
            self.position.weight.copy_(model.embedding.position[run])
            for layer, block in zip(self.layers, model.blocks, strict=True):
                load_layer(layer, block, run)
            load_linear(self.head, model.head, run)
            if model.final_norm is not None:
                self.final_norm.weight.copy_(model.final_norm.weight[run])
                self.final_norm.bias.copy_(model.final_norm.bias[run])

    def forward(self, tokens: Tensor) -> Tensor:
        n = tokens.shape[-1]
        x = self.token(tokens) + self.position(torch.arange(n))
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        for layer in self.layers:
            x = layer(x, src_mask=mask)
        return self.head(self.final_norm(x))

    def gradients(self) -> dict[str, Tensor]:
        """Gradients under our names and in our layout."""
        named = {"embedding.token": self.token.weight.grad, "embedding.position": self.position.weight.grad}
        linears = {"head": self.head}
        for i, layer in enumerate(self.layers):
            prefix = f"blocks.{i}"
            for name, grad in zip("QKV", layer.self_attn.in_proj_weight.grad.chunk(3), strict=True):
                named[f"{prefix}.attention.W_{name}.weight"] = grad.T
            if layer.self_attn.in_proj_bias is not None:
                for name, grad in zip("QKV", layer.self_attn.in_proj_bias.grad.chunk(3), strict=True):
                    named[f"{prefix}.attention.W_{name}.bias"] = grad
            linears |= {f"{prefix}.attention.W_O": layer.self_attn.out_proj}
            linears |= {f"{prefix}.W_1": layer.linear1, f"{prefix}.W_2": layer.linear2}
            for name, norm in (("norm_1", layer.norm1), ("norm_2", layer.norm2)):
                named |= {f"{prefix}.{name}.weight": norm.weight.grad, f"{prefix}.{name}.bias": norm.bias.grad}
        for name, linear in linears.items():
            named[f"{name}.weight"] = linear.weight.grad.T
            if linear.bias is not None:
                named[f"{name}.bias"] = linear.bias.grad
        if isinstance(self.final_norm, nn.LayerNorm):
            named |= {"final_norm.weight": self.final_norm.weight.grad, "final_norm.bias": self.final_norm.bias.grad}
        return named


VARIANTS = [
    {"norm": norm, "activation": activation, "bias": bias, "heads": heads, "head_bias": head_bias}
    for norm, activation, bias, heads, head_bias in [
        ("post", "relu", False, 1, True),
        ("post", "relu", True, 3, True),
        ("post", "gelu", False, 2, False),
        ("post", "gelu", True, 4, True),
        ("pre", "relu", False, 2, True),
        ("pre", "relu", True, 1, False),
        ("pre", "gelu", False, 4, True),
        ("pre", "gelu", True, 3, True),
    ]
]


@pytest.mark.parametrize("n_runs", [1, 3])
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(map(str, v.values())))
def test_logits_and_gradients_are_those_of_torch(variant: dict[str, Any], n_runs: int) -> None:
    """Both of our paths, last position only and every position, of every run in a stack."""
    spec = make_spec(**variant)
    model = make_model(spec, n_runs)
    tokens = make_tokens(n_runs)
    target = torch.arange(BATCH) + 2
    logits = model(tokens)
    activations = ActivationCache()
    model(tokens, activations)
    loss = F.cross_entropy(logits.flatten(0, 1), target.repeat(n_runs), reduction="sum")
    loss.backward()
    for run in range(n_runs):
        reference = Reference(model, run)
        expected = reference(tokens[run])
        torch.testing.assert_close(activations["logits"][run], expected, **CLOSE)
        torch.testing.assert_close(logits[run], expected[:, -1], **CLOSE)
        F.cross_entropy(expected[:, -1], target, reduction="sum").backward()
        gradients = reference.gradients()
        ours = dict(model.named_parameters())
        assert gradients.keys() == ours.keys()
        for name, grad in gradients.items():
            torch.testing.assert_close(ours[name].grad[run], grad, **CLOSE, msg=lambda m, name=name: f"{name}: {m}")


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("heads", [1, 2, 6])
def test_attention_is_torch_multihead_attention(heads: int, bias: bool) -> None:
    spec = make_spec(heads=heads, bias=bias)
    ours = make_model(spec, 2).blocks[0].attention
    x = torch.randn(2, BATCH, LENGTH, spec.d_model, generator=torch.Generator().manual_seed(3))
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    for run in range(2):
        theirs = nn.MultiheadAttention(spec.d_model, heads, bias=bias, batch_first=True)
        with torch.no_grad():
            load_attention(theirs, ours, run)
        activations = ActivationCache()
        out = ours(x, False, activations, 1)
        expected, weights = theirs(x[run], x[run], x[run], attn_mask=mask, average_attn_weights=False)
        torch.testing.assert_close(out[run], expected, **CLOSE)
        torch.testing.assert_close(activations["attention.1"][run], weights, **CLOSE)


@pytest.mark.parametrize(
    ("d_k", "d_v", "heads"),
    [(5, 5, 2), (3, 7, 1), (20, 4, 3)],
    ids=lambda v: str(v),
)
def test_free_head_widths_against_scaled_dot_product_attention(d_k: int, d_v: int, heads: int) -> None:
    """torch's modules tie d_k·heads to d_model, the paper's model does not: a reference by hand, with its gradients."""
    spec = make_spec(d_k=d_k, d_v=d_v, heads=heads)
    model = make_model(spec, 2)
    ours = dict(model.named_parameters())
    tokens = make_tokens(2)
    model(tokens).square().sum().backward()

    for run in range(2):
        w = {name: p[run].detach().clone().requires_grad_() for name, p in ours.items()}

        def norm(x: Tensor, name: str, w: dict[str, Tensor] = w) -> Tensor:
            return F.layer_norm(x, (spec.d_model,), w[f"{name}.weight"], w[f"{name}.bias"])

        x = w["embedding.token"][tokens[run]] + w["embedding.position"][:LENGTH]
        for block in (f"blocks.{i}" for i in range(spec.depth)):
            q, k, v = (
                (x @ w[f"{block}.attention.W_{name}.weight"]).view(BATCH, LENGTH, heads, width).transpose(1, 2)
                for name, width in (("Q", d_k), ("K", d_k), ("V", d_v))
            )
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
            x = norm(x + out @ w[f"{block}.attention.W_O.weight"], f"{block}.norm_1")
            x = norm(x + (x @ w[f"{block}.W_1.weight"]).relu() @ w[f"{block}.W_2.weight"], f"{block}.norm_2")
        expected = x[:, -1] @ w["head.weight"] + w["head.bias"]
        torch.testing.assert_close(model(tokens)[run], expected, **CLOSE)
        expected.square().sum().backward()
        for name, param in w.items():
            torch.testing.assert_close(
                ours[name].grad[run], param.grad, rtol=1e-3, atol=1e-4, msg=lambda m, n=name: f"{n}: {m}"
            )


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(("activation", "function"), [("tanh", torch.tanh), ("relu", torch.relu)])
def test_without_norms_and_head_it_is_the_formula(activation: str, function: Callable[[Tensor], Tensor], depth: int) -> None:
    """X + attention, then X + σ(X W_1) W_2, and the residual stream is the logits: by hand, with gradients."""
    spec = make_spec(depth=depth, d_model=VOCAB, d_k=5, d_v=4, heads=1, norm="none", activation=activation, head=False)
    model = make_model(spec, 2)
    ours = dict(model.named_parameters())
    assert set(ours) == {"embedding.token", "embedding.position"} | {
        f"blocks.{i}.{name}.weight"
        for i in range(depth)
        for name in ("attention.W_Q", "attention.W_K", "attention.W_V", "attention.W_O", "W_1", "W_2")
    }
    tokens = make_tokens(2)
    logits, activations = model(tokens), ActivationCache()
    torch.testing.assert_close(model(tokens, activations), logits, rtol=1e-5, atol=1e-6)
    logits.square().sum().backward()
    ahead = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    for run in range(2):
        w = {name.removesuffix(".weight"): p[run].detach().clone().requires_grad_() for name, p in ours.items()}
        x = w["embedding.token"][tokens[run]] + w["embedding.position"][:LENGTH]
        for block in (f"blocks.{i}" for i in range(depth)):
            q, k, v, o = (w[f"{block}.attention.W_{name}"] for name in "QKVO")
            attention = ((x @ q) @ (x @ k).mT / math.sqrt(5)).masked_fill(ahead, -torch.inf).softmax(-1)
            x = x + attention @ (x @ v) @ o
            x = x + function(x @ w[f"{block}.W_1"]) @ w[f"{block}.W_2"]
        torch.testing.assert_close(activations["logits"][run], x, **CLOSE)
        torch.testing.assert_close(logits[run], x[:, -1], **CLOSE)
        x[:, -1].square().sum().backward()
        for name, param in w.items():
            grad = ours[name if name in ours else f"{name}.weight"].grad[run]
            torch.testing.assert_close(grad, param.grad, rtol=1e-3, atol=1e-4, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize("norm", ["post", "pre", "none"])
@pytest.mark.parametrize("depth", [1, 3])
def test_last_position_alone_equals_the_last_of_all_positions(norm: str, depth: int) -> None:
    model = make_model(make_spec(norm=norm, depth=depth, d_k=5, d_v=4), 2)
    tokens = make_tokens(2)
    activations = ActivationCache()
    full = model(tokens, activations)
    torch.testing.assert_close(model(tokens), full, rtol=1e-5, atol=1e-6)
    assert torch.equal(full, activations["logits"][:, :, -1])


def test_taps_have_the_documented_names_and_shapes() -> None:
    spec = make_spec(d_k=5, d_v=4, heads=3)
    activations = ActivationCache()
    make_model(spec, 2)(make_tokens(2), activations)
    stream = (2, BATCH, LENGTH, spec.d_model)
    expected = {"embedding": stream, "logits": (2, BATCH, LENGTH, VOCAB)}
    for layer in (1, 2):
        expected |= {f"{name}.{layer}": (2, BATCH, LENGTH, 3, 5) for name in "QK"}
        expected |= {f"{name}.{layer}": (2, BATCH, 3, LENGTH, LENGTH) for name in ("scores", "attention")}
        expected[f"V.{layer}"] = (2, BATCH, LENGTH, 3, 4)
        expected |= {f"X_ao.{layer}": stream, f"X_do.{layer}": stream}
    assert {name: tuple(tap.shape) for name, tap in activations.items()} == expected


def test_taps_hang_together() -> None:
    """The activations are the intermediates of this very forward, not of another: recompute each from those before it."""
    spec = make_spec(d_k=5, d_v=4, heads=3)
    model = make_model(spec, 2)
    activations = ActivationCache()
    model(make_tokens(2), activations)
    previous = activations["embedding"]
    for layer, block in enumerate(model.blocks, start=1):
        scores = torch.einsum("rbqhd,rbkhd->rbhqk", activations[f"Q.{layer}"], activations[f"K.{layer}"]) / math.sqrt(5)
        causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
        attention = activations[f"attention.{layer}"]
        torch.testing.assert_close(attention, scores.masked_fill(~causal, -torch.inf).softmax(-1), **CLOSE)
        assert torch.all(attention[..., ~causal] == 0)
        mixed = torch.einsum("rbhqk,rbkhd->rbqhd", attention, activations[f"V.{layer}"]).flatten(-2)
        merged = block.norm_1(previous + block.attention.W_O(mixed))
        torch.testing.assert_close(activations[f"X_ao.{layer}"], merged, **CLOSE)
        previous = activations[f"X_do.{layer}"]
        torch.testing.assert_close(previous, block.norm_2(merged + block.W_2(block.W_1(merged).relu())), **CLOSE)


@pytest.mark.parametrize("norm", ["post", "pre", "none"])
def test_later_tokens_do_not_reach_earlier_positions(norm: str) -> None:
    model = make_model(make_spec(norm=norm), 1)
    before, after = make_tokens(1), make_tokens(1)
    after[..., 4:] = (after[..., 4:] + 1) % VOCAB
    one = ActivationCache()
    two = ActivationCache()
    model(before, one)
    model(after, two)
    for name in ("X_do.1", "X_do.2", "logits"):
        torch.testing.assert_close(one[name][:, :, :4], two[name][:, :, :4], rtol=0, atol=1e-6)
        assert (one[name][:, :, 4:] - two[name][:, :, 4:]).abs().amax(-1).min() > 1e-3


def test_earlier_tokens_do_reach_the_last_position() -> None:
    """The counterpart: a mask that cut everything off would pass the test of causality."""
    model = make_model(make_spec(), 1)
    for position in range(LENGTH):
        tokens = make_tokens(1)
        changed = tokens.clone()
        changed[..., position] = (changed[..., position] + 1) % VOCAB
        assert (model(tokens) - model(changed)).abs().max() > 1e-3


def test_runs_of_a_stack_share_nothing() -> None:
    model = make_model(make_spec(), 3)
    tokens = make_tokens(3)
    model(tokens)[1].square().sum().backward()
    for name, param in model.named_parameters():
        assert torch.all(param.grad[[0, 2]] == 0), name
        assert torch.any(param.grad[1] != 0), name


@pytest.mark.parametrize(("depth", "millions"), [(2, 2.73), (3, 2.73 + 1.28)])
def test_parameter_count_of_the_paper(depth: int, millions: float) -> None:
    spec = ModelSpec(vocab=201, positions=20, depth=depth, d_model=400, d_ff=1200, d_k=200, d_v=200)
    with torch.device("meta"):
        count = sum(p.numel() for p in Transformer(spec).parameters())
    assert count / 1e6 == pytest.approx(millions, abs=0.01)


@pytest.mark.parametrize("heads", [5, 24, 0, -1, True, 2.0])
def test_heads_that_do_not_divide_are_refused_in_one_sentence(heads: Any) -> None:
    with pytest.raises(ValueError, match=r"^heads must divide d_model, got heads=.+ and d_model=12; choose a divisor\.$"):
        make_spec(heads=heads)


@pytest.mark.parametrize("name", ["vocab", "positions", "depth", "d_model", "d_ff", "d_k", "d_v", "heads"])
@pytest.mark.parametrize("value", [0, -1, True, 1.5, 2.0, "2", None])
def test_widths_and_depth_must_be_positive_integers(name: str, value: Any) -> None:
    values = {"vocab": 5, "positions": 4, "depth": 1, "d_model": 4, "d_ff": 4, "d_k": 2, "d_v": 2, "heads": 1}
    with pytest.raises(ValueError, match=rf"^{name} must be an integer of at least 1, got {value!r}\.$"):
        ModelSpec(**values | {name: value})


@pytest.mark.parametrize(("name", "value"), [("norm", "sandwich"), ("activation", "swish")])
def test_unknown_kinds_are_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be .* got '{value}'"):
        make_spec(**{name: value})


@pytest.mark.parametrize("d_model", [VOCAB - 1, VOCAB + 1])
def test_without_a_head_the_width_must_be_the_vocabulary(d_model: int) -> None:
    with pytest.raises(ValueError, match=rf"^without a head d_model must be vocab={VOCAB}, got {d_model}\.$"):
        make_spec(d_model=d_model, heads=1, head=False)


def test_an_edit_is_seen_by_what_follows_and_by_nothing_before() -> None:
    spec = make_spec()
    model, tokens = make_model(spec, 1), make_tokens(1)
    plain, edited = ActivationCache(), ActivationCache({"X_ao.1": torch.zeros_like})
    model(tokens, plain)
    answer = model(tokens, edited)
    assert torch.equal(edited["attention.1"], plain["attention.1"])
    assert torch.equal(edited["X_ao.1"], torch.zeros_like(plain["X_ao.1"]))
    assert not torch.equal(edited["X_do.1"], plain["X_do.1"])
    zero = torch.zeros(1, BATCH, LENGTH, spec.d_model)  # what the half block behind the edit makes of zeros
    block = model.blocks[0]
    torch.testing.assert_close(edited["X_do.1"], block.norm_2(zero + block.W_2(block.activation(block.W_1(zero)))))
    assert torch.equal(answer, edited["logits"][:, :, -1])
