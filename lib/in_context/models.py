"""The models of the study: one layer as theory has it, three of them stacked, and a small GPT-2 that reads vectors.

Prompts are (R, B, l + 1, D), columns (x; y) and last the query (x; 0). Targets are ±1, and 0 for columns whose label is a
coin's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn

from lib.core.model.query_attention import QueryAttention, ScaledIdentity
from lib.core.model.transformer import Block, LayerNorm, Linear, ModelSpec
from lib.core.record.spec import SpecError, check_count, check_number, register_models
from lib.in_context.task import D_X, D


@dataclass(frozen=True)
class OneLayerSpec:
    """F = aᵀ ReLU(W_O Σ_i W_V p_i attn_i) with `neurons` = m rows of W_O (Li et al. 2024a, Eq. 7); with `depth` > 1 blocks are
    stacked: each column then gets its neurons' output back through a matrix W_P, and the last block's neurons are read or, with
    `every`, those of every block, F being the sum.

    `delta`: W_Q, W_K and W_V start as δ I. W_O starts Gaussian with std m^−γ, which is 1/√m at γ = ½; W_P likewise, or with
    std `back`. a is fixed, half of its entries positive, all of size `a` (None: 1/√m). Raises SpecError for sizes below 1 and
    a δ, an `a` or a `back` that is not positive.
    """

    neurons: int
    delta: float
    positions: int
    depth: int = 1
    skip: bool = True
    a: float | None = None
    every: bool = False
    back: float | None = None
    kind: ClassVar[str] = "icl-one-layer"
    later: ClassVar[dict[str, Any]] = {"a": None, "every": False, "back": None}
    single_precision: ClassVar[bool] = True

    @property
    def d_model(self) -> int:
        return D

    def __post_init__(self) -> None:
        for name in ("neurons", "positions", "depth"):
            check_count(name, getattr(self, name))
        object.__setattr__(self, "delta", check_number("delta", self.delta, low=0, strict=True))
        for name in ("a", "back"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_number(name, getattr(self, name), low=0, strict=True))
        if self.neurons % 2:
            raise SpecError(f"neurons must be even, since half of a is positive, got {self.neurons}.")

    def multiply_adds(self, length: int, every_position: bool = False) -> int:
        """Multiply-adds of one forward pass over one prompt; only the query is asked in the last block."""
        one = 3 * D * D + 2 * length * D + self.neurons * D
        return one + (self.depth - 1) * (length * (one + self.neurons * D) + self.every * one)

    def activation_bytes(self, length: int) -> int:
        """Memory that training on one prompt takes, an upper estimate."""
        one = 4 * (6 * D + 2 * length + 2 * self.neurons)
        return one + (self.depth - 1) * length * (one + 8 * D) + 8 * length * D

    @property
    def readout(self) -> float:
        """The size of every entry of a."""
        return 1 / math.sqrt(self.neurons) if self.a is None else self.a

    def build(self, n_runs: int = 1) -> OneLayer:
        return OneLayer(self, n_runs)


class Gaussian(nn.Module):
    """p → W p for a matrix (R, D_out, D_in) that starts from N(0, fan^−2γ); `fan` is the number of neurons, as in the paper.
    With a `std` it starts with that, whatever γ."""

    def __init__(self, n_runs: int, d_out: int, d_in: int, fan: int, std: float | None = None) -> None:
        super().__init__()
        self.std = std
        self.weight = nn.Parameter(torch.zeros(n_runs, d_out, d_in))
        self.gamma_fan_in = {"weight": fan if std is None else None}

    def reset_run(self, run: int, name: str, generator: torch.Generator) -> None:
        """Called where γ does not set the start: draws N(0, std²)."""
        self.weight[run].copy_(
            torch.empty_like(self.weight[run], device="cpu").normal_(0.0, self.std or 0.0, generator=generator)
        )

    def forward(self, p: Tensor) -> Tensor:
        return (p.flatten(1, -2) @ self.weight.mT).view(*p.shape[:-1], -1)


class Layer(nn.Module):
    """Attention of some columns to the context, W_V and W_O: columns (R, B, n, D) → neurons (R, B, n, m)."""

    def __init__(self, n_runs: int, spec: OneLayerSpec) -> None:
        super().__init__()
        self.attention = QueryAttention(n_runs, D, spec.delta)
        self.W_V = ScaledIdentity(n_runs, D, D, spec.delta)
        self.W_O = Gaussian(n_runs, spec.neurons, D, spec.neurons)

    def weights(self, context: Tensor, asking: Tensor) -> Tensor:
        """context (R, B, l, D), asking (R, B, n, D) → attention (R, B, n, l)."""
        return (self.attention.asked(asking) @ context.mT).softmax(-1)

    def forward(self, context: Tensor, asking: Tensor) -> Tensor:
        return self.W_O(self.W_V(self.weights(context, asking) @ context)).relu()


class OneLayer(nn.Module):
    """R models of one shape. forward: prompts (R, B, l + 1, D) → F (R, B)."""

    def __init__(self, spec: OneLayerSpec, n_runs: int = 1) -> None:
        super().__init__()
        self.spec, self.n_runs = spec, n_runs
        self.a: Tensor
        self.layers = cast("list[Layer]", nn.ModuleList(Layer(n_runs, spec) for _ in range(spec.depth)))
        self.back = nn.ModuleList(Gaussian(n_runs, D, spec.neurons, spec.neurons, spec.back) for _ in range(spec.depth - 1))
        self.register_buffer("a", signs(spec.neurons) * spec.readout, persistent=False)

    def columns(self, prompt: Tensor) -> list[Tensor]:
        """What each layer reads: (R, B, l + 1, D)."""
        found = [prompt]
        for layer, back in zip(self.layers, self.back, strict=False):
            x = found[-1]
            out = back(layer(x[:, :, :-1], x))
            found.append(x + out if self.spec.skip else out)
        return found

    def forward(self, prompt: Tensor) -> Tensor:
        read = [*zip(self.layers, self.columns(prompt), strict=True)][0 if self.spec.every else -1 :]
        return torch.stack([layer(x[:, :, :-1], x[:, :, -1:])[:, :, 0] for layer, x in read]).sum(0) @ self.a

    def query_attention(self, prompt: Tensor) -> list[Tensor]:
        """The attention of the query in each layer, (R, B, l)."""
        found = zip(self.layers, self.columns(prompt), strict=True)
        return [layer.weights(x[:, :, :-1], x[:, :, -1:])[:, :, 0] for layer, x in found]

    def losses(self, prompt: Tensor, target: Tensor) -> Tensor:
        """Mean hinge loss max(0, 1 − z F) of the query, (R,)."""
        return hinge(self(prompt), target[..., -1]).mean(1)


def signs(neurons: int) -> Tensor:
    """(m,) +1 for even neurons, −1 for odd ones."""
    return 1.0 - 2.0 * (torch.arange(neurons) % 2)


def hinge(margin: Tensor, target: Tensor) -> Tensor:
    return (1 - target * margin).clamp(min=0)


@dataclass(frozen=True)
class VectorGPT2Spec:
    """A small GPT-2 (pre-norm, GELU, biases) that reads x_1, y_1, …, x_l, y_l, x_query, each a vector of width D, and
    answers at every x. It is trained on the answers at every x that has a label or, with `query_only`, on the query's alone.
    Its shape is our choice: 3 layers, 2 heads, width 64."""

    d_model: int = 64
    depth: int = 3
    heads: int = 2
    positions: int = 21
    query_only: bool = False
    kind: ClassVar[str] = "icl-gpt2"
    later: ClassVar[dict[str, Any]] = {"query_only": False}

    def __post_init__(self) -> None:
        _ = self.transformer  # raises for what is no shape

    @property
    def transformer(self) -> ModelSpec:
        """The same as a transformer over tokens. Its `positions` are those of the interleaved sequence."""
        rest = {"norm": "pre", "activation": "gelu", "bias": True, "vocab": 1, "positions": 2 * self.positions - 1}
        return ModelSpec.split_heads(self.d_model, self.heads, depth=self.depth, d_ff=4 * self.d_model, **rest)

    def multiply_adds(self, length: int, every_position: bool = False) -> int:
        return self.transformer.multiply_adds(2 * length - 1, True) + 2 * length * D * self.d_model

    def activation_bytes(self, length: int) -> int:
        return 2 * self.transformer.activation_bytes(2 * length - 1) + 8 * length * D

    def build(self, n_runs: int = 1) -> VectorGPT2:
        return VectorGPT2(self, n_runs)


class VectorGPT2(nn.Module):
    """R models of one shape. forward: prompts (R, B, l + 1, D) → an answer at every x, (R, B, l + 1)."""

    def __init__(self, spec: VectorGPT2Spec, n_runs: int = 1) -> None:
        super().__init__()
        self.spec, self.n_runs = spec, n_runs
        shape = spec.transformer
        self.read_in = Linear(n_runs, D, spec.d_model, bias=True)
        self.places = Places(n_runs, shape.positions, spec.d_model)
        self.blocks = nn.ModuleList(Block(n_runs, shape) for _ in range(spec.depth))
        self.final_norm = LayerNorm(n_runs, spec.d_model)
        self.head = Linear(n_runs, spec.d_model, 1, bias=True)

    def forward(self, prompt: Tensor) -> Tensor:
        feature = torch.arange(D, device=prompt.device) < D_X
        pairs = torch.stack([prompt * feature, prompt * ~feature], 3)  # (R, B, l + 1, 2, D)
        x = self.places(self.read_in(pairs.flatten(2, 3)[:, :, :-1]))
        for layer, block in enumerate(self.blocks, start=1):
            x = block(x, False, None, layer)
        return self.head(self.final_norm(x[:, :, ::2]))[..., 0]

    def losses(self, prompt: Tensor, target: Tensor) -> Tensor:
        """Mean hinge loss over the columns that have a label: each is the query of the examples before it; with `query_only`
        that of the last column."""
        if self.spec.query_only:
            return hinge(self(prompt)[..., -1].float(), target[..., -1]).mean(1)
        labelled = target != 0
        loss = hinge(self(prompt).float(), target) * labelled
        return loss.sum((1, 2)) / labelled.sum((1, 2))


class Places(nn.Module):
    """Adds a learned vector for each place."""

    def __init__(self, n_runs: int, positions: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_runs, positions, d_model))
        self.gamma_fan_in = {"weight": d_model}

    def forward(self, x: Tensor) -> Tensor:
        return x + self.weight[:, None, : x.shape[2]]


register_models(OneLayerSpec, VectorGPT2Spec)
