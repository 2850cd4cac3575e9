"""A decoder-only transformer whose parameters carry a leading run axis: R models of one shape are one program.

Shapes: R runs, B sequences, N positions, D = d_model, F = d_ff, H heads, V vocabulary. One run is the ensemble R = 1.
Post-norm as in Zhang et al. 2024, appendix A: X_ao = LN(X + attention), X_do = LN(X_ao + FFN); or pre-norm; or no norm and no
head, as theory has it (Yao et al. 2025, Definition 2). Only the last position is trained, so by default the last block computes
its query and its FFN there alone: same numbers, less work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar, cast, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

Intervention = Callable[[Tensor], Tensor]
M = TypeVar("M", bound="ModelSpec")
IGNORED = -1
"""The target of a token that is not asked for, in a model that answers at every position."""


class ActivationCache(dict[str, Tensor]):
    """Every intermediate of a forward pass by its name; `interventions` replace some on the way, and what follows
    sees it."""

    def __init__(self, interventions: Mapping[str, Intervention] | None = None) -> None:
        super().__init__()
        self.interventions = dict(interventions or {})

    def hook(self, name: str, value: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Keep an intermediate, replaced if there is an intervention for it, and return it."""
        self[name] = self.interventions[name](value) if name in self.interventions else value
        return self[name]


def hooked(activations: ActivationCache | None, name: str, value: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The intermediate that a forward pass goes on with; without a cache it is what was computed."""
    return value if activations is None else activations.hook(name, value)


@runtime_checkable
class AnyModel(Protocol):
    """What training needs to know of a kind of model. `depth`, `d_model` and `positions` (tokens of a sequence) describe it.
    The protocol can be asked of at run time, where shapes are checked.

    `build` returns a module with parameters (R, …) whose forward maps tokens (R, B, N) to the last position's logits (R, B, V);
    it has its own description as `spec`. A module may have `losses(inputs, target) -> (R,)` in place of cross-entropy, and then
    take and return what its study gives and measures. A kind with `single_precision` is never trained in bfloat16.
    """

    kind: ClassVar[str]

    @property
    def positions(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def d_model(self) -> int: ...
    def multiply_adds(self, length: int, every_position: bool = False) -> int: ...
    def activation_bytes(self, length: int) -> int: ...
    def build(self, n_runs: int = 1) -> nn.Module: ...


def n_parameters(spec: AnyModel) -> int:
    """Of one run."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in spec.build().parameters())


class TokenModel(AnyModel, Protocol):
    """A kind of model that reads tokens."""

    @property
    def vocab(self) -> int: ...


@dataclass(frozen=True)
class ModelSpec:
    """The shape of one model. Widths are numbers of units; d_k and d_v are per head. Without a head the residual stream is the
    logits, so d_model must be the vocabulary's size."""

    kind: ClassVar[str] = "transformer"
    later: ClassVar[dict[str, Any]] = {"head": True}
    every_position: ClassVar[bool] = False

    vocab: int
    positions: int
    depth: int
    d_model: int
    d_ff: int
    d_k: int
    d_v: int
    heads: int = 1
    norm: str = "post"
    activation: str = "relu"
    bias: bool = False
    head_bias: bool = True
    head: bool = True

    def __post_init__(self) -> None:
        for name in ("vocab", "positions", "depth", "d_model", "d_ff", "d_k", "d_v", "heads"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")
        if self.norm not in ("post", "pre", "none"):
            raise ValueError(f"norm must be 'post', 'pre' or 'none', got {self.norm!r}.")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {self.activation!r}.")
        if not self.head and self.d_model != self.vocab:
            raise ValueError(f"without a head d_model must be vocab={self.vocab}, got {self.d_model}.")

    @classmethod
    def split_heads(cls: type[M], d_model: int, heads: int, **rest: Any) -> M:
        """The usual convention d_k = d_v = d_model / heads. Raises ValueError if the heads do not divide the width."""
        if isinstance(heads, bool) or not isinstance(heads, int) or heads < 1 or d_model % heads:
            raise ValueError(f"heads must divide d_model, got heads={heads!r} and d_model={d_model}; choose a divisor.")
        return cls(d_model=d_model, heads=heads, d_k=d_model // heads, d_v=d_model // heads, **rest)

    @property
    def widths(self) -> tuple[int, int, int]:
        """d_model, and the widths of queries (or keys) and of values over all heads."""
        return self.d_model, self.heads * self.d_k, self.heads * self.d_v

    def activation_bytes(self, length: int) -> int:
        """Memory that training on one sequence takes, an upper estimate: of each block what its backward pass reads, half of it
        in bfloat16; of the widest block the temporaries; and the logits."""
        d, k, v = self.widths
        block = 2 * (4 * d + 2 * k + 2 * v + self.d_ff) + 8 * d + 6 * self.heads * length
        return length * (self.depth * block + 4 * (self.d_ff + 2 * d)) + 12 * self.vocab

    @property
    def output(self) -> str:
        """What makes the logits: the residual stream "bare", or a matrix of its "own"."""
        return "own" if self.head else "bare"

    def build(self, n_runs: int = 1) -> Transformer:
        return Transformer(self, n_runs)

    def multiply_adds(self, length: int, every_position: bool = False) -> int:
        """Multiply-adds of one forward pass over one sequence, counting matrix products.

        every_position: with the last block and the head at every position, as a plain loop computes them; else for the last.
        """
        d, k, v = self.widths
        keys, rest, attended = d * (k + v), d * (k + v) + 2 * d * self.d_ff, length * (k + v)
        last = length if every_position else 1
        head = self.head * d * self.vocab
        return (self.depth - 1) * length * (keys + rest + attended) + length * keys + last * (rest + attended + head)


class _Relu(torch.autograd.Function):
    """ReLU whose derivative is read off its output: the compiler would store a mask of booleans, which is slow to write."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        h = x.clamp(min=0)
        ctx.save_for_backward(h)
        return h

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * ctx.saved_tensors[0].sign()


ACTIVATIONS = {"relu": _Relu.apply, "gelu": F.gelu, "tanh": torch.tanh}


class Linear(nn.Module):
    """y[r] = x[r] W[r] (+ b[r]); W is (R, d_in, d_out), the transpose of torch.nn.Linear's weight."""

    def __init__(self, n_runs: int, d_in: int, d_out: int, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_runs, d_in, d_out))
        self.bias = nn.Parameter(torch.zeros(n_runs, d_out)) if bias else None
        self.gamma_fan_in = {"weight": d_in, "bias": None}

    def reset_run(self, run: int, name: str, generator: torch.Generator) -> None:
        """PyTorch's default for a bias: uniform on ±1/√d_in."""
        assert self.bias is not None
        bound = 1 / math.sqrt(self.weight.shape[1])
        self.bias[run].copy_(torch.empty(self.bias.shape[1]).uniform_(-bound, bound, generator=generator))

    def forward(self, x: Float[Tensor, "R *rest D_in"]) -> Float[Tensor, "R *rest D_out"]:
        y = torch.bmm(x.flatten(1, -2), self.weight).view(*x.shape[:-1], -1)
        return y if self.bias is None else y + self.bias.view(len(self.bias), *[1] * (x.dim() - 2), -1)


class LayerNorm(nn.Module):
    def __init__(self, n_runs: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_runs, d_model))
        self.bias = nn.Parameter(torch.zeros(n_runs, d_model))
        self.gamma_fan_in = {"weight": None, "bias": None}

    def reset_run(self, run: int, name: str, generator: torch.Generator) -> None:
        getattr(self, name)[run].fill_(1.0 if name == "weight" else 0.0)

    def forward(self, x: Float[Tensor, "R *rest D"]) -> Float[Tensor, "R *rest D"]:
        shape = (len(self.weight), *[1] * (x.dim() - 2), -1)
        return F.layer_norm(x, x.shape[-1:]) * self.weight.view(shape) + self.bias.view(shape)


class Embedding(nn.Module):
    """Token plus learned position embedding, (R, B, N) → (R, B, N, D); with 0 positions the token's alone."""

    def __init__(self, n_runs: int, vocab: int, positions: int, d_model: int) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.zeros(n_runs, vocab, d_model))
        self.position = nn.Parameter(torch.zeros(n_runs, positions, d_model)) if positions else None
        self.gamma_fan_in = {"token": d_model, "position": d_model}

    def forward(self, tokens: Int[Tensor, "R B N"]) -> Float[Tensor, "R B N D"]:
        runs, vocab, d_model = self.token.shape
        if self.position is not None and tokens.shape[-1] > self.position.shape[1]:
            raise ValueError(
                f"sequences of {tokens.shape[-1]} tokens need as many positions, this model has {self.position.shape[1]}."
            )
        offset = torch.arange(runs, device=tokens.device).view(runs, 1, 1) * vocab
        tok = F.embedding(tokens + offset, self.token.view(runs * vocab, d_model))
        return tok if self.position is None else tok + self.position[:, None, : tokens.shape[-1]]


class Attention(nn.Module):
    """Causal multi-head attention. `last` computes the last query only."""

    def __init__(self, n_runs: int, spec: ModelSpec) -> None:
        super().__init__()
        self.heads, self.d_k = spec.heads, spec.d_k
        d, k, v = spec.widths
        self.W_Q = Linear(n_runs, d, k, spec.bias)
        self.W_K = Linear(n_runs, d, k, spec.bias)
        self.W_V = Linear(n_runs, d, v, spec.bias)
        self.W_O = Linear(n_runs, v, d, spec.bias)

    def forward(
        self, x: Float[Tensor, "R B N D"], last: bool, activations: ActivationCache | None, layer: int
    ) -> Float[Tensor, "R B n D"]:
        n_pos = x.shape[2]
        split = lambda t: t.unflatten(-1, (self.heads, -1))  # (R, B, N, H, d)
        q, k, v = split(self.W_Q(x[:, :, -1:] if last else x)), split(self.W_K(x)), split(self.W_V(x))
        q, k = hooked(activations, f"Q.{layer}", q), hooked(activations, f"K.{layer}", k)
        v = hooked(activations, f"V.{layer}", v)
        scores = torch.einsum("rbqhd,rbkhd->rbhqk", q, k) / math.sqrt(self.d_k)
        if not last:
            causal = torch.ones(n_pos, n_pos, dtype=torch.bool, device=x.device).tril()
            scores = scores.masked_fill(~causal, float("-inf"))
        attn = hooked(activations, f"attention.{layer}", hooked(activations, f"scores.{layer}", scores).float().softmax(-1))
        out = torch.einsum("rbhqk,rbkhd->rbqhd", attn.to(v.dtype), v).flatten(-2)
        return self.W_O(out)


class Block(nn.Module):
    def __init__(self, n_runs: int, spec: ModelSpec) -> None:
        super().__init__()
        self.post = spec.norm != "pre"  # without norms the two orders are one
        self.attention = Attention(n_runs, spec)
        norm = (lambda: nn.Identity()) if spec.norm == "none" else (lambda: LayerNorm(n_runs, spec.d_model))
        self.norm_1, self.norm_2 = norm(), norm()
        self.W_1 = Linear(n_runs, spec.d_model, spec.d_ff, spec.bias)
        self.W_2 = Linear(n_runs, spec.d_ff, spec.d_model, spec.bias)
        self.activation = ACTIVATIONS[spec.activation]

    def forward(
        self, x: Float[Tensor, "R B N D"], last: bool, activations: ActivationCache | None, layer: int
    ) -> Float[Tensor, "R B n D"]:
        residual = x[:, :, -1:] if last else x
        if self.post:
            x = hooked(activations, f"X_ao.{layer}", self.norm_1(residual + self.attention(x, last, activations, layer)))
            out = self.norm_2(x + self.W_2(self.activation(self.W_1(x))))
        else:
            x = hooked(activations, f"X_ao.{layer}", residual + self.attention(self.norm_1(x), last, activations, layer))
            out = x + self.W_2(self.activation(self.W_1(self.norm_2(x))))
        return hooked(activations, f"X_do.{layer}", out)


class Transformer(nn.Module):
    """R transformers of one shape. forward: tokens (R, B, N) int64 → logits of the last position (R, B, V)."""

    def __init__(self, spec: ModelSpec, n_runs: int = 1) -> None:
        super().__init__()
        self.spec, self.n_runs = spec, n_runs
        self.embedding = Embedding(n_runs, spec.vocab, spec.positions, spec.d_model)
        self.blocks = cast("list[Block]", nn.ModuleList(Block(n_runs, spec) for _ in range(spec.depth)))
        self.final_norm = LayerNorm(n_runs, spec.d_model) if spec.norm == "pre" else None
        self.head = Linear(n_runs, spec.d_model, spec.vocab, spec.head_bias) if spec.head else nn.Identity()

    def forward(self, tokens: Int[Tensor, "R B N"], activations: ActivationCache | None = None) -> Float[Tensor, "R B V"]:
        """With `activations`, every position of every block is computed and every intermediate put into them, after their
        interventions.

        Names, with l counted from 1: `embedding` (R, B, N, D), `Q.l` `K.l` `V.l` (R, B, N, H, d), `scores.l` and
        `attention.l` (R, B, H, N, N; before and after the softmax), `X_ao.l` and `X_do.l` (R, B, N, D; after the
        attention's and the FFN's half block), and `logits` (R, B, N, V).
        """
        x = hooked(activations, "embedding", self.embedding(tokens))
        for layer, block in enumerate(self.blocks, start=1):
            x = block(x, activations is None and layer == len(self.blocks), activations, layer)
        if self.final_norm is not None:
            x = self.final_norm(x)
        return hooked(activations, "logits", self.head(x))[:, :, -1]


def from_weights(spec: AnyModel, weights: dict[str, Float[Tensor, "..."]]) -> Any:
    """One stored run as its kind of model, n_runs = 1, in evaluation. weights: {parameter name: tensor without run axis}."""
    model = spec.build()
    model.load_state_dict({name: weight[None] for name, weight in weights.items()})
    return model.eval().requires_grad_(False)
