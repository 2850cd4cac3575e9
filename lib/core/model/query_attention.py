"""Attention as theory has it: one query, a softmax over the columns of a context, matrices that start as scaled identities.

Shapes: R runs, D the width of a column. Matrices are (R, D, D) and act from the left, W p,
as in the papers of Li et al. (2024a, Eq. 7; 2024b, Eq. 11).
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn


class ScaledIdentity(nn.Module):
    """p → W p for W = scale · I at the start, of shape (R, D_out, D_in); the diagonal begins at column `offset`."""

    def __init__(self, n_runs: int, d_out: int, d_in: int, scale: float, offset: int = 0) -> None:
        super().__init__()
        self.scale, self.offset = scale, offset
        self.weight = nn.Parameter(torch.zeros(n_runs, d_out, d_in))
        self.gamma_fan_in = {"weight": None}

    def reset_run(self, run: int, name: str, generator: torch.Generator) -> None:
        """`scale` on the diagonal, zeros elsewhere; nothing is drawn."""
        _, d_out, d_in = self.weight.shape
        self.weight[run].copy_(self.scale * torch.eye(d_out, d_in + d_out)[:, :d_in].roll(self.offset, 1))

    def forward(self, p: Float[Tensor, "R *rest D_in"]) -> Float[Tensor, "R *rest D_out"]:
        """W p."""
        return (p.flatten(1, -2) @ self.weight.mT).view(*p.shape[:-1], -1)

    def transposed(self, p: Float[Tensor, "R *rest D_out"]) -> Float[Tensor, "R *rest D_in"]:
        """Wᵀ p."""
        return (p.flatten(1, -2) @ self.weight).view(*p.shape[:-1], -1)


class QueryAttention(nn.Module):
    """The matrices of softmax_i((W_K p_i)ᵀ W_Q p_query), over the columns p_i of a context."""

    def __init__(self, n_runs: int, width: int, scale: float) -> None:
        super().__init__()
        self.W_Q = ScaledIdentity(n_runs, width, width, scale)
        self.W_K = ScaledIdentity(n_runs, width, width, scale)

    def asked(self, query: Float[Tensor, "R *rest D"]) -> Float[Tensor, "R *rest D"]:
        """W_Kᵀ W_Q p_query: its product with a column is the column's score, so a column costs D."""
        return self.W_K.transposed(self.W_Q(query))
