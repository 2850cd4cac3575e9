"""How complex are the weights? Condensation, spectra, stable ranks, and whether they foretell the answer to (4, 3).

Sources: Figs 5 and 10–13 of Zhang et al. 2024; the stable rank as a measure of complexity from Zhang et al. 2025.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from lib.composition.task import FIRST_KEY, LAST_KEY
from lib.core.measures import cosines, numerical_order, ranks
from lib.core.model import Transformer

ALIKE = 0.7
"""Neurons whose input weights have a cosine above this belong together (the paper's threshold)."""
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


def matrices(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weight matrices among a model's parameters, from the embedding through the layers to the head: no norms, biases or
    positions."""
    kept = {n: w for n, w in weights.items() if w.dim() >= 2 and ("weight" in n or "token" in n) and "norm" not in n}
    return {name: kept[name] for name in sorted(kept, key=_order)}


_IN_BLOCK = ("W_Q", "W_K", "W_V", "W_O", "W_1", "W_2")


def _order(name: str) -> tuple[int, int]:
    parts = name.split(".")
    if parts[0] != "blocks":
        return (-1, 0) if parts[0] == "embedding" else (10**6, 0)
    return int(parts[1]), _IN_BLOCK.index(parts[-2])


def short_name(name: str) -> str:
    """`blocks.0.attention.W_Q.weight` → `W_Q(1)`, as the paper writes it."""
    parts = name.split(".")
    if parts[0] != "blocks":
        return {"embedding": "embedding", "head": "head"}[parts[0]]
    return f"{parts[-2]}({int(parts[1]) + 1})"


def neuron_cosines(weight: np.ndarray) -> np.ndarray:
    """(d_in, n) → (n, n): cosines of the input weights of n neurons, the columns of our matrices."""
    return cosines(weight.T, weight.T)


def greedy_groups(cosine: np.ndarray, threshold: float = ALIKE) -> list[list[int]]:
    """Take the first neuron without a group, append every other without one whose cosine with it is above the threshold;
    repeat (Zhang et al. 2024, Fig. 10)."""
    left, groups = list(range(len(cosine))), []
    while left:
        first = left[0]
        group = [first, *(i for i in left[1:] if cosine[first, i] > threshold)]
        groups.append(group)
        left = [i for i in left if i not in set(group)]
    return groups


def condensation(cosine: np.ndarray, threshold: float = ALIKE) -> float:
    """Share of neurons that are one too many: 1 − groups / neurons. 0 if all directions differ; towards 1 as they condense.

    Signs are ignored: opposite neurons condense on one line.
    """
    return 1 - len(greedy_groups(np.abs(cosine), threshold)) / len(cosine)


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


def measures(weights: Mapping[str, Tensor]) -> dict[str, float]:
    """The complexity of one run in a few numbers. Ranks are shares of the largest that the matrix could have."""
    all_matrices = matrices(weights)
    share = {name: float(relative_rank(w)) for name, w in all_matrices.items()}
    eigenvalues = keys_eigenvalues(weights)
    query = all_matrices["blocks.0.attention.W_Q.weight"].numpy()
    return {
        "mean stable rank": float(np.mean([v for name, v in share.items() if name.startswith("blocks")])),
        "stable rank of W_Q(1)": share["blocks.0.attention.W_Q.weight"],
        "embedding's effective dimension": float(eigenvalues.sum() ** 2 / eigenvalues.square().sum()) / len(eigenvalues),
        "condensation of W_Q(1)": condensation(neuron_cosines(query)),
        "order of the embedding": numerical_order(keys_embedding(weights)),
    }


def watch(model: Transformer) -> dict[str, Tensor]:
    """What a run's history keeps of its weights, each (R,): leading eigenvalues of the embedding's covariance, and stable
    ranks as shares of the largest possible, of W_Q(1) and on average over the blocks."""
    eigenvalues = covariance_eigenvalues(model.embedding.token.detach()[:, FIRST_KEY : LAST_KEY + 1])
    ranks = {
        name: relative_rank(p.detach()) for name, p in model.named_parameters() if name.startswith("blocks") and p.dim() == 3
    }
    found = {f"eigenvalue {i + 1}": eigenvalues[:, i] for i in range(min(N_EIGENVALUES, eigenvalues.shape[1]))}
    return found | {
        "rank W_Q(1)": ranks["blocks.0.attention.W_Q.weight"],
        "rank": torch.stack(list(ranks.values())).mean(0),
    }


# --- Does a number foretell the answer? ---


def auc(score: Sequence[float], positive: Sequence[bool]) -> float:
    """Chance that a random positive scores above a random negative, ties as one half (Mann and Whitney's U, scaled).

    Raises ValueError unless there are both.
    """
    score, positive = np.asarray(score, dtype=float), np.asarray(positive, dtype=bool)
    n, m = positive.sum(), (~positive).sum()
    if not n or not m:
        raise ValueError("an AUC needs positives and negatives.")
    return float((ranks(score)[positive].sum() - n * (n + 1) / 2) / (n * m))


def stratified_auc(score: Sequence[float], positive: Sequence[bool], stratum: Sequence[object]) -> float:
    """The same over pairs from one stratum only, all such pairs together, so that what differs between strata does not count.

    Raises ValueError unless some stratum has both.
    """
    score, positive = np.asarray(score, dtype=float), np.asarray(positive, dtype=bool)
    wins = pairs = 0.0
    for name in set(stratum):
        here = np.array([s == name for s in stratum])
        n = int(positive[here].sum()) * int((~positive[here]).sum())
        if n:
            wins += n * auc(score[here], positive[here])
            pairs += n
    if not pairs:
        raise ValueError("an AUC needs positives and negatives in one stratum.")
    return wins / pairs


def auc_interval(
    score: Sequence[float], positive: Sequence[bool], stratum: Sequence[object] | None = None, draws: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """95 % interval of the (stratified) AUC, by resampling positives and negatives within each stratum."""
    score, positive = np.asarray(score, dtype=float), np.asarray(positive, dtype=bool)
    stratum = [0] * len(score) if stratum is None else list(stratum)
    rng = np.random.default_rng(seed)
    kinds = list(dict.fromkeys(zip(stratum, positive.tolist(), strict=True)))
    members = [np.flatnonzero([k == kind for k in zip(stratum, positive.tolist(), strict=True)]) for kind in kinds]
    found = []
    for _ in range(draws):
        pick = np.concatenate([rng.choice(m, len(m)) for m in members])
        found.append(stratified_auc(score[pick], positive[pick], [stratum[i] for i in pick]))
    return float(np.percentile(found, 2.5)), float(np.percentile(found, 97.5))
