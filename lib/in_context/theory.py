"""The gradients that the proofs of Li et al. (2024a) follow, as the talk's backup slides write them.

Symbols: a (m,), W_O (m, D), W_V, W_K and W_Q (D, D); prompts (N, l + 1, D), the query last; labels z (N,). A gradient is the
mean over prompts whose margin is below 1; the slides leave this indicator of the hinge loss out, as if all were. They sum
over l + 1 columns, the query's among them, where the model's definition (Eq. 7) has the l columns of the context:
`query_too` chooses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lib.in_context.models import OneLayer


@dataclass(frozen=True)
class Forward:
    """What the gradients are made of. `columns` (N, s, D): the columns that are summed over; `attention` (N, s); `mixed` (N,
    D): Σ_s W_V p_s attn_s; `on` (N, m): which neurons are active; `push` (N, D): −z Σ_i a_i 1[active] W_O,i, with the
    indicator of the hinge loss."""

    columns: np.ndarray
    query: np.ndarray
    attention: np.ndarray
    mixed: np.ndarray
    on: np.ndarray
    sign: np.ndarray
    push: np.ndarray


def arrays(model: OneLayer) -> dict[str, np.ndarray]:
    """The matrices of a one-layer model (n_runs = 1), in double precision."""
    layer = model.layers[0]
    found = {"W_O": layer.W_O, "W_V": layer.W_V, "W_K": layer.attention.W_K, "W_Q": layer.attention.W_Q}
    return {name: part.weight[0].detach().double().numpy() for name, part in found.items()} | {"a": model.a.double().numpy()}


def forward(w: Mapping[str, np.ndarray], prompts: np.ndarray, z: np.ndarray, query_too: bool = False) -> Forward:
    """The forward pass of Eq. 7 by its symbols."""
    query = prompts[:, -1]
    columns = prompts if query_too else prompts[:, :-1]
    scores = np.einsum("nsd,nd->ns", columns @ w["W_K"].T, query @ w["W_Q"].T)
    weight = np.exp(scores - scores.max(1, keepdims=True))
    attention = weight / weight.sum(1, keepdims=True)
    mixed = np.einsum("ns,nsd->nd", attention, columns) @ w["W_V"].T
    hidden = mixed @ w["W_O"].T
    on = (hidden > 0).astype(float)
    margin = z * ((hidden * on) @ w["a"])
    sign = -z * (margin < 1)
    return Forward(columns, query, attention, mixed, on, sign, sign[:, None] * (on * w["a"]) @ w["W_O"])


def gradients(
    w: Mapping[str, np.ndarray], prompts: np.ndarray, z: np.ndarray, query_too: bool = False
) -> dict[str, np.ndarray]:
    """{"W_Q", "W_K", "W_V", "W_O"}: the four gradients of the backup slides, in their shapes."""
    f = forward(w, prompts, z, query_too)
    n = len(z)
    # what each column adds to the margin through W_V, weighted by attention and centred: the softmax's derivative
    gain = f.attention * np.einsum("nd,nsd->ns", f.push @ w["W_V"], f.columns)
    gain = gain - f.attention * gain.sum(1, keepdims=True)
    pulled = np.einsum("ns,nsd->nd", gain, f.columns)  # Σ_s gain_s p_s, with p_s − Σ_r attn_r p_r folded in
    read = np.einsum("ns,nsd->nd", f.attention, f.columns)
    return {
        "W_Q": (pulled @ w["W_K"].T).T @ f.query / n,
        "W_K": (f.query @ w["W_Q"].T).T @ pulled / n,
        "W_V": f.push.T @ read / n,
        "W_O": (f.sign[:, None] * f.on * w["a"]).T @ f.mixed / n,
    }
