"""One layer of attention that reads a prompt of chains and answers with a vector (Li et al. 2025, Eq. 11).

Prompts are (R, B, l·K + K, D): the columns (x; y) of l examples, K − 1 for earlier steps of the query, all zero where it has
not got that far, and last the query (x; 0). Targets are the patterns z to answer with, (R, B, D_Y).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from lib.chain_of_thought.task import D_X, D_Y, D
from lib.core.model.query_attention import QueryAttention, ScaledIdentity
from lib.core.record.spec import SpecError, check_count, check_number, register_models


@dataclass(frozen=True)
class OneLayerSpec:
    """f = Σ_i W_V p̃_i softmax((W_K p̃_i)ᵀ W_Q p̃_query), over all columns but the query's.

    W_Q and W_K start as δ I, with δ = `delta`; W_V, which is (D_Y, D), as `value` · (0 I), so that the model begins by
    averaging outputs. How the paper starts W_V is not known to us. Without `trained_values` it stays there. Nothing is drawn,
    so runs differ in their data alone. Raises SpecError for scales that are not positive and for prompts too short for one
    example.
    """

    steps: int
    positions: int
    delta: float
    value: float = 1.0
    trained_values: bool = True
    kind: ClassVar[str] = "cot-one-layer"
    single_precision: ClassVar[bool] = True

    @property
    def depth(self) -> int:
        return 1

    @property
    def d_model(self) -> int:
        return D

    def __post_init__(self) -> None:
        check_count("steps", self.steps)
        check_count("positions", self.positions, low=2 * self.steps)
        for name in ("delta", "value"):
            object.__setattr__(self, name, check_number(name, getattr(self, name), low=0, strict=True))
        if not isinstance(self.trained_values, bool):
            raise SpecError(f"trained_values must be True or False, got {self.trained_values!r}.")

    def multiply_adds(self, length: int, every_position: bool = False) -> int:
        """Multiply-adds of one forward pass over one prompt: only the query asks."""
        return 2 * D * D + 2 * (length - 1) * D + D * D_Y

    def activation_bytes(self, length: int) -> int:
        """Memory that training on one prompt takes, an upper estimate."""
        return 12 * length * D + 16 * length + 40 * D

    def build(self, n_runs: int = 1) -> OneLayer:
        return OneLayer(self, n_runs)


class OneLayer(nn.Module):
    """R models of one shape. forward: prompts (R, B, l·K + K, D) → f (R, B, D_Y)."""

    def __init__(self, spec: OneLayerSpec, n_runs: int = 1) -> None:
        super().__init__()
        self.spec, self.n_runs = spec, n_runs
        self.attention = QueryAttention(n_runs, D, spec.delta)
        self.W_V = ScaledIdentity(n_runs, D_Y, D, spec.value, offset=D_X) if spec.trained_values else None

    def said(self, p: Tensor) -> Tensor:
        """W_V p, (R, B, …, D) → (R, B, …, D_Y)."""
        return self.spec.value * p[..., D_X:] if self.W_V is None else self.W_V(p)

    def weights(self, prompt: Tensor) -> Tensor:
        """The attention of the query to each column before it, (R, B, l·K + K − 1): zero on columns that are not there."""
        context, first = prompt[:, :, :-1], prompt.shape[2] - self.spec.steps
        scores = (context @ self.attention.asked(prompt[:, :, -1])[..., None])[..., 0]
        there = context[:, :, first:].any(-1)  # of the earlier steps of the query
        return torch.cat([scores[..., :first], scores[..., first:].masked_fill(~there, -torch.inf)], -1).softmax(-1)

    def forward(self, prompt: Tensor) -> Tensor:
        return self.said((self.weights(prompt)[..., None, :] @ prompt[:, :, :-1])[..., 0, :])

    def losses(self, prompt: Tensor, target: Tensor) -> Tensor:
        """Mean of ½ ‖z − f‖², (R,)."""
        return half_square(self(prompt), target).mean(1)


def half_square(answer: Tensor, target: Tensor) -> Tensor:
    """½ ‖z − f‖²: (..., D_Y), (..., D_Y) → (...,)."""
    return (answer - target).square().sum(-1) / 2


register_models(OneLayerSpec)
