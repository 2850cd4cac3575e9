"""Emb-MLP: embeddings are summed and go through one hidden layer (Yao et al. 2025, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from lib.core.model.transformer import ACTIVATIONS, Embedding, Linear
from lib.core.record.spec import check_count, register_models


@dataclass(frozen=True)
class EmbMLPSpec:
    """G(X) = σ(Σ_{s∈X} w^{emb,s} W_1) W_2: the shape of one model. `positions` is the number of tokens of a sequence.

    σ is twice differentiable with σ(0) = 0 and σ'(0) = 1; tanh is our choice. Raises SpecError for a width below 1.
    """

    vocab: int
    positions: int
    d_model: int
    d_ff: int
    kind: ClassVar[str] = "emb-mlp"

    @property
    def depth(self) -> int:
        return 1

    def __post_init__(self) -> None:
        for name in ("vocab", "positions", "d_model", "d_ff"):
            check_count(name, getattr(self, name))

    def multiply_adds(self, length: int, every_position: bool = False) -> int:
        """Multiply-adds of one forward pass over one sequence; there is but one position."""
        return self.d_ff * (self.d_model + self.vocab)

    def activation_bytes(self, length: int) -> int:
        """Memory that training on one sequence takes, an upper estimate."""
        return 8 * (length + 2) * self.d_model + 16 * self.d_ff + 12 * self.vocab

    def build(self, n_runs: int = 1) -> EmbMLP:
        return EmbMLP(self, n_runs)


class EmbMLP(nn.Module):
    """R models of one shape. forward: tokens (R, B, N) int64 → logits (R, B, V)."""

    def __init__(self, spec: EmbMLPSpec, n_runs: int = 1) -> None:
        super().__init__()
        self.spec, self.n_runs = spec, n_runs
        self.embedding = Embedding(n_runs, spec.vocab, 0, spec.d_model)
        self.W_1 = Linear(n_runs, spec.d_model, spec.d_ff, bias=False)
        self.W_2 = Linear(n_runs, spec.d_ff, spec.vocab, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.W_2(ACTIVATIONS["tanh"](self.W_1(self.embedding(tokens).sum(2))))


register_models(EmbMLPSpec)
