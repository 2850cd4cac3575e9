"""The plain loop that the engine is measured against: one torch.nn.Module a run, as research code usually is.

All positions go through every block and the head, single precision, torch.optim.AdamW, gradient clipping by
torch.nn.utils, rows taken from a table made beforehand. The model is that of Zhang et al. 2024, appendix A.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lib.core.model.init import apply_gamma
from lib.core.model.transformer import ModelSpec
from lib.core.record.spec import RunSpec
from lib.core.train.loop import Study


class Attention(nn.Module):
    def __init__(self, spec: ModelSpec) -> None:
        super().__init__()
        self.W_Q = nn.Linear(spec.d_model, spec.d_k, bias=False)
        self.W_K = nn.Linear(spec.d_model, spec.d_k, bias=False)
        self.W_V = nn.Linear(spec.d_model, spec.d_v, bias=False)
        self.W_O = nn.Linear(spec.d_v, spec.d_model, bias=False)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)
        scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(hidden, -math.inf)
        return self.W_O(scores.softmax(-1) @ v)


class Block(nn.Module):
    def __init__(self, spec: ModelSpec) -> None:
        super().__init__()
        self.attention = Attention(spec)
        self.feed_forward = nn.Sequential(
            nn.Linear(spec.d_model, spec.d_ff, bias=False), nn.ReLU(), nn.Linear(spec.d_ff, spec.d_model, bias=False)
        )
        self.norm_1, self.norm_2 = nn.LayerNorm(spec.d_model), nn.LayerNorm(spec.d_model)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        x = self.norm_1(x + self.attention(x, hidden))
        return self.norm_2(x + self.feed_forward(x))


class Plain(nn.Module):
    """tokens (B, N) → logits of every position (B, N, V)."""

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__()
        if (spec.heads, spec.norm, spec.activation, spec.bias) != (1, "post", "relu", False):
            raise ValueError("the plain loop has one head, post-norm, ReLU and no biases.")
        self.token = nn.Embedding(spec.vocab, spec.d_model)
        self.position = nn.Embedding(spec.positions, spec.d_model)
        self.blocks = nn.ModuleList(Block(spec) for _ in range(spec.depth))
        self.head = nn.Linear(spec.d_model, spec.vocab, bias=spec.head_bias)

    def forward(self, tokens: Tensor) -> Tensor:
        n = tokens.shape[1]
        hidden = torch.triu(torch.ones(n, n, dtype=torch.bool, device=tokens.device), 1)
        x = self.token(tokens) + self.position(torch.arange(n, device=tokens.device))
        for block in self.blocks:
            x = block(x, hidden)
        return self.head(x)


def plain_step(spec: RunSpec, study: Study, device: torch.device, table: int = 65_536) -> Callable[[], float]:
    """One training step of one run, to be called again and again; returns the loss."""
    torch.manual_seed(spec.seed)
    model = Plain(spec.model).to(device)
    apply_gamma(model, spec.gamma)
    optimizer = torch.optim.AdamW(model.parameters(), lr=spec.rate, weight_decay=spec.decay)
    tokens, target = (t.to(device) for t in study.batch(torch.tensor(spec.seed), torch.arange(table)))

    def step() -> float:
        rows = torch.randint(table, (spec.train.batch,), device=device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens[rows])[:, -1], target[rows])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), spec.train.clip)
        optimizer.step()
        return loss.item()

    return step
