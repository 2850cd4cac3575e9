"""The gradients that the proofs of Li et al. (2024a) follow, as the talk's backup slides write them.

Symbols: a (m,), W_O (m, D), W_V, W_K and W_Q (D, D); prompts (N, l + 1, D), the query last; labels z (N,). A gradient is the
mean over prompts whose margin is below 1; the slides leave this indicator of the hinge loss out, as if all were. They sum
over l + 1 columns, the query's among them, where the model's definition (Eq. 7) has the l columns of the context:
`query_too` chooses.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lib.in_context.models import OneLayer


def arrays(model: OneLayer) -> dict[str, np.ndarray]:
    """The matrices of a one-layer model (n_runs = 1), in double precision."""
    layer = model.layers[0]
    found = {"W_O": layer.W_O, "W_V": layer.W_V, "W_K": layer.attention.W_K, "W_Q": layer.attention.W_Q}
    return {name: part.weight[0].detach().double().numpy() for name, part in found.items()} | {"a": model.a.double().numpy()}


def gradients(
    w: Mapping[str, np.ndarray], prompts: np.ndarray, z: np.ndarray, query_too: bool = False
) -> dict[str, np.ndarray]:
    """{"W_Q", "W_K", "W_V", "W_O"}: the four gradients of the backup slides, in their shapes."""
    from scipy.special import softmax  # takes a second to import, which those who ask for the status need not wait for

    W_Q, W_K, W_V, W_O, a = (w[name] for name in ("W_Q", "W_K", "W_V", "W_O", "a"))
    query, columns, n = prompts[:, -1], prompts if query_too else prompts[:, :-1], len(z)
    attention = softmax(np.einsum("nsd,nd->ns", columns @ W_K.T, query @ W_Q.T), 1)
    read = np.einsum("ns,nsd->nd", attention, columns)
    mixed = read @ W_V.T
    hidden = mixed @ W_O.T
    on = (hidden > 0) * a  # (N, m) of active neurons
    sign = -z * (z * (hidden * on).sum(1) < 1)
    push = sign[:, None] * on @ W_O
    # what each column adds to the margin through W_V, weighted by attention and centred: the softmax's derivative
    gain = attention * np.einsum("nd,nsd->ns", push @ W_V, columns)
    pulled = np.einsum("ns,nsd->nd", gain - attention * gain.sum(1, keepdims=True), columns)
    return {
        "W_Q": (pulled @ W_K.T).T @ query / n,
        "W_K": (query @ W_Q.T).T @ pulled / n,
        "W_V": push.T @ read / n,
        "W_O": (sign[:, None] * on).T @ mixed / n,
    }
