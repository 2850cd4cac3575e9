"""Spectra and stable ranks of weights: what a run's history keeps of them, and what several chapters ask.

Sources: Figs 12 and 13 of Zhang et al. 2024; the stable rank as a measure of complexity from Zhang et al. 2025.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from lib.composition.task import FIRST_KEY, LAST_KEY
from lib.core.model.transformer import Transformer

N_EIGENVALUES = 8


def stable_rank(weight: Tensor) -> Tensor:
    """Σ(sᵢ/s₁)² = ‖W‖²_F / ‖W‖²₂ over the last two axes: between 1 and the rank. NaN for a zero matrix and for
    one that is not finite."""
    w = weight.double()
    w = w if w.shape[-2] <= w.shape[-1] else w.mT
    good = w.isfinite().all(-1).all(-1)
    w = torch.where(good[..., None, None], w, 0.0)  # a run that has diverged must not stop those beside it
    squares = torch.linalg.eigvalsh(w @ w.mT)  # of the smaller side: all that is needed, and several times faster
    return torch.where(good, squares.sum(-1) / squares[..., -1], torch.nan).float()


def relative_rank(weight: Tensor) -> Tensor:
    """The stable rank as a share of the largest that a matrix of this shape could have."""
    return stable_rank(weight) / min(weight.shape[-2:])


def keys_embedding(weights: Mapping[str, Tensor]) -> np.ndarray:
    """(80, D) embedding of the tokens 20 … 99, the only numbers that occur in the input."""
    return weights["embedding.token"][FIRST_KEY : LAST_KEY + 1].numpy()


def covariance_eigenvalues(embedding: Tensor) -> Tensor:
    """(…, n, D) → (…, D) eigenvalues of the covariance of n vectors, largest first (Fig. 12)."""
    good = embedding.isfinite().all(-1).all(-1)[..., None]
    centred = torch.where(good[..., None], embedding - embedding.mean(-2, keepdim=True), 0.0)
    s = torch.linalg.svdvals(centred.float())
    values = torch.where(good, s.square() / (embedding.shape[-2] - 1), torch.nan)
    return torch.nn.functional.pad(values, (0, max(0, embedding.shape[-1] - values.shape[-1])))


def keys_eigenvalues(weights: Mapping[str, Tensor]) -> Tensor:
    """(D,) eigenvalues of the covariance of the embeddings of 20 … 99."""
    return covariance_eigenvalues(torch.as_tensor(keys_embedding(weights)))


def watch(model: Transformer) -> dict[str, Tensor]:
    """What a run's history keeps of its weights, each (R,): leading eigenvalues of the embedding's covariance, and stable
    ranks as shares of the largest possible, of W_Q(1) and on average over the blocks. On the CPU: a GPU takes matrices as small
    as these one after the other."""
    eigenvalues = covariance_eigenvalues(model.embedding.token.detach().cpu()[:, FIRST_KEY : LAST_KEY + 1])
    ranks = {
        name: relative_rank(p.detach().cpu())
        for name, p in model.named_parameters()
        if name.startswith("blocks") and p.dim() == 3
    }
    found = {f"eigenvalue {i + 1}": eigenvalues[:, i] for i in range(min(N_EIGENVALUES, eigenvalues.shape[1]))}
    return found | {
        "rank W_Q(1)": ranks["blocks.0.attention.W_Q.weight"],
        "rank": torch.stack(list(ranks.values())).mean(0),
    }
