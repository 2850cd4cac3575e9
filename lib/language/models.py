"""The language model: GPT-2's form, trained on every token that a row asks for.

Rows are padded behind, and attention is causal, so that no token sees padding. Where nothing is asked the target is IGNORED.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lib.core.model.transformer import IGNORED, ActivationCache, Embedding, Linear, ModelSpec, Transformer, hooked
from lib.core.record.spec import register_models

FORMULA, SCRIPT, FIXED_HEAD = "formula", "script", "fixed head"
"""How weights are drawn: with standard deviation d_in^−γ, as the papers say, as the follow-up's code does (`_as_script`), or by
the formula but for an output matrix of SCRIPT_STD, so that γ is not the scale of the logits (ours)."""
SCRIPT_STD = 0.02
"""The standard deviation of all embeddings in that code, whatever γ is."""


@dataclass(frozen=True)
class CausalSpec(ModelSpec):
    """A transformer that answers at every position. `tied`: the output matrix is the token embedding (Press and Wolf 2017), as
    in GPT-2, so that γ sets both; else a matrix of its own, without a bias. `start`: FORMULA, SCRIPT or, untied, FIXED_HEAD."""

    kind: ClassVar[str] = "causal"
    later: ClassVar[dict[str, Any]] = ModelSpec.later | {"start": FORMULA}
    every_position: ClassVar[bool] = True

    head_bias: bool = False
    tied: bool = True
    start: str = FORMULA

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start not in (FORMULA, SCRIPT, FIXED_HEAD):
            raise ValueError(f"start must be {FORMULA!r}, {SCRIPT!r} or {FIXED_HEAD!r}, got {self.start!r}.")
        if self.start == FIXED_HEAD and self.tied:
            raise ValueError(f"start={FIXED_HEAD!r} needs an output matrix of its own: set tied to False.")
        if not self.head or self.head_bias:
            raise ValueError("a language model has an output matrix, without a bias: leave head and head_bias as they are.")

    @property
    def output(self) -> str:
        """Or the "tied" token embedding."""
        return "tied" if self.tied else super().output

    def activation_bytes(self, length: int) -> int:
        """As of a transformer, with logits at every position."""
        return super().activation_bytes(length) + 12 * (length - 1) * self.vocab

    def multiply_adds(self, length: int, every_position: bool = True) -> int:
        return super().multiply_adds(length, every_position=True)

    def build(self, n_runs: int = 1) -> Causal:
        return Causal(self, n_runs)


class _ScriptEmbedding(Embedding):
    def __init__(self, *shape: int) -> None:
        super().__init__(*shape)
        self.gamma_fan_in: dict[str, int | None] = {"token": None, "position": None}

    def reset_run(self, run: int, name: str, generator: torch.Generator) -> None:
        getattr(self, name)[run].normal_(0.0, SCRIPT_STD, generator=generator)


class _FixedHead(Linear):
    def __init__(self, *shape: int) -> None:
        super().__init__(*shape, bias=False)
        self.gamma_fan_in: dict[str, int | None] = {"weight": None}

    def reset_run(self, run: int, name: str, generator: torch.Generator) -> None:
        self.weight[run].normal_(0.0, SCRIPT_STD, generator=generator)


class Causal(Transformer):
    """R language models of one shape. forward: tokens (R, B, N) int64 → logits of every position (R, B, N, V)."""

    def __init__(self, spec: CausalSpec, n_runs: int = 1) -> None:
        super().__init__(spec, n_runs)
        if spec.tied:
            self.head = nn.Identity()
        if spec.start == FIXED_HEAD:
            self.head = _FixedHead(n_runs, spec.d_model, spec.vocab)
        if spec.start == SCRIPT:
            self.embedding = _ScriptEmbedding(n_runs, spec.vocab, spec.positions, spec.d_model)
            self._as_script()

    def _as_script(self) -> None:
        """γ takes the number of outputs for that of inputs, queries, keys and values together being one map, and leaves the
        embeddings alone: the follow-up's code reads the second side of GPT-2's matrices, which are stored turned round."""
        for block in self.blocks:
            attention = block.attention
            for W in (attention.W_Q, attention.W_K, attention.W_V):
                W.gamma_fan_in["weight"] = sum(M.weight.shape[-1] for M in (attention.W_Q, attention.W_K, attention.W_V))
            for W in (attention.W_O, block.W_1, block.W_2):
                W.gamma_fan_in["weight"] = W.weight.shape[-1]

    def forward(self, tokens: Tensor, activations: ActivationCache | None = None) -> Tensor:
        """With `activations`, every intermediate is put into them by the names of Transformer, edited if they say so."""
        x = hooked(activations, "embedding", self.embedding(tokens))
        for layer, block in enumerate(self.blocks, start=1):
            x = block(x, False, activations, layer)
        if self.final_norm is not None:
            x = self.final_norm(x)
        if cast(CausalSpec, self.spec).tied:
            x = torch.bmm(x.flatten(1, 2), self.embedding.token.transpose(1, 2)).view(*x.shape[:-1], -1)
        return hooked(activations, "logits", self.head(x))

    def losses(self, tokens: Tensor, target: Tensor) -> Tensor:
        """(R, B, N), (R, B, N) → (R,): mean cross-entropy over the tokens that are asked for, in nats."""
        logits = self(tokens).float()
        nats = F.cross_entropy(logits.flatten(0, 2), target.flatten(), ignore_index=IGNORED, reduction="none")
        asked = (target != IGNORED).sum((1, 2)).clamp(min=1)
        return nats.view(target.shape).sum((1, 2)) / asked


register_models(CausalSpec)
