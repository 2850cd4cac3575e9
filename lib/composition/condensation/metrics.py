"""How complex are the weights? Condensation, spectra, stable ranks, and whether they foretell the answer to (4, 3).

Sources: Figs 5 and 10–13 of Zhang et al. 2024; the stable rank as a measure of complexity from Zhang et al. 2025.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from lib.composition.information_flow.metrics import KEY_FIRST, NEITHER, composing, way
from lib.composition.phase_diagram.metrics import exact_kind, step_shares
from lib.composition.runs import MAPPINGS
from lib.composition.spectra import N_EIGENVALUES, keys_eigenvalues, keys_embedding, relative_rank
from lib.core.read.measures import cosines, remembered
from lib.core.read.statistics import Comparison, compare, numerical_order, two_sided
from lib.core.record.store import StoredRun

ALIKE = 0.7
"""Neurons whose input weights have a cosine above this belong together (the paper's threshold)."""


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


@remembered
def measures_of(run: StoredRun) -> dict[str, float]:
    """The measures of a run's weights."""
    return measures(run.weights())


# --- What figures show ---


def cells(runs: Sequence[StoredRun], seed: int) -> dict[tuple[int, float], StoredRun]:
    """{(depth, γ): run} of one seed. Raises LookupError, listing the seeds there are, for one that is not stored."""
    found = {(r.spec.model.depth, r.spec.gamma): r for r in runs if r.spec.seed == seed}
    if not found:
        seeds = ", ".join(str(s) for s in sorted({r.spec.seed for r in runs}))
        raise LookupError(f"no weights of seed {seed} are stored: use one of {seeds}.")
    return found


def neuron_cells(runs: dict[tuple, StoredRun]) -> dict[tuple, np.ndarray]:
    query = lambda r: r.weights()["blocks.0.attention.W_Q.weight"].numpy()
    return {place: neuron_cosines(query(run)) for place, run in runs.items()}


@remembered
def embedding_map(run: StoredRun) -> np.ndarray:
    """(80, 2) map of the embeddings of 20 … 99: t-SNE from a PCA start."""
    from sklearn.manifold import TSNE

    points = keys_embedding(run.weights())
    return TSNE(perplexity=10, init="pca", random_state=0, n_jobs=1).fit_transform(points)


def phase_panels(runs: Sequence[StoredRun]) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each run what Fig. 5 shows: cosines of the neurons of W_Q(1), and the map of its embedding."""
    return [(neuron_cells({0: run})[0], embedding_map(run)) for run in runs]


def embedding_cells(runs: dict[tuple, StoredRun]) -> dict[tuple, np.ndarray]:
    """{place: (80, 3)}: map and order of the embedding."""
    return {
        place: np.c_[embedding_map(run), np.full(80, measures_of(run)["order of the embedding"])] for place, run in runs.items()
    }


def embedding_spectra(runs: Sequence[StoredRun]) -> dict[float, np.ndarray]:
    """{γ: (runs, D)} eigenvalues of the embedding's covariance."""
    found: dict[float, list[np.ndarray]] = {}
    for run in runs:
        values = keys_eigenvalues(run.weights())
        found.setdefault(run.spec.gamma, []).append(np.maximum(values.numpy(), 1e-12))
    return {gamma: np.stack(values) for gamma, values in found.items()}


def matrix_spectra(runs: Sequence[StoredRun]) -> dict[str, np.ndarray]:
    """{matrix: (runs, n)} singular values, runs of one shape."""
    found: dict[str, list[np.ndarray]] = {}
    for run in runs:
        for name, w in matrices(run.weights()).items():
            found.setdefault(short_name(name), []).append(np.maximum(torch.linalg.svdvals(w).numpy(), 1e-6))
    return {name: np.stack(values) for name, values in found.items()}


KIND = {
    "W_Q": "query $W^Q$",
    "W_K": "key $W^K$",
    "W_V": "value $W^V$",
    "W_O": "output $W^O$",
    "W_1": "feed-forward $W^1$",
    "W_2": "feed-forward $W^2$",
}
"""What a kind of matrix is called."""


# --- Growth along training ---

GROWN = 3.0
"""An eigenvalue has begun to grow once it is this many times as large as at the first evaluation (our choice)."""


def growth(run: StoredRun) -> list[float]:
    """For each recorded eigenvalue the step at which it has grown by GROWN; infinity for never."""
    found = []
    for i in range(N_EIGENVALUES):
        if values := run.history.get(f"eigenvalue {i + 1}"):
            grown = (s for s, v in zip(run.history["step"], values, strict=True) if v is not None and v >= GROWN * values[0])
            found.append(float(next(grown, math.inf)))
    return found


def late_change(run: StoredRun) -> float:
    """How much the largest eigenvalue moves in the last quarter of the steps before the rate begins to fall: its largest value
    there over its smallest, less 1. Infinity where fewer than two evaluations lie there."""
    end = run.fit_step if run.fit_step is not None else run.spec.train.steps - run.spec.train.anneal
    history = zip(run.history["step"], run.history["eigenvalue 1"], strict=True)
    late = [value for step, value in history if 0.75 * end <= step <= end]
    return max(late) / min(late) - 1 if len(late) > 1 else math.inf


# --- Does a number foretell the answer, or the way? ---


def best_measure(runs: Sequence[StoredRun]) -> tuple[str, float] | None:
    """Which of the measures tells decided inferential runs from symmetric ones of the same γ best, and how often chance alone
    would tell them so well, in either direction. None where no γ has both."""
    kinds = {run.path: exact_kind(run) for run in runs}
    decided = [run for run in runs if kinds[run.path] in MAPPINGS]
    both = {g for g in {r.spec.gamma for r in decided} if len({kinds[r.path] for r in decided if r.spec.gamma == g}) == 2}
    asked = [run for run in decided if run.spec.gamma in both]
    if not asked:
        return None
    positive, stratum = [kinds[r.path] == "inferential" for r in asked], [r.spec.gamma for r in asked]
    p = {n: two_sided([measures_of(r)[n] for r in asked], positive, stratum) for n in measures_of(asked[0])}
    return min(p.items(), key=lambda item: item[1])


def in_a_row(run: StoredRun) -> float:
    """The share of the numbers whose nearest neighbour in the embedding is the next number, up or down."""
    return float(step_shares(run)[0])


def row_compared(runs: Sequence[StoredRun]) -> Comparison | None:
    """Of the runs that compose to within one step: in_a_row where the key goes first, against where it is read last; each γ by
    itself. None where no γ has both."""
    asked = [run for run in composing(runs) if way(run) != NEITHER]
    first = [way(run) == KEY_FIRST for run in asked]
    kinds = {(run.spec.gamma, one) for run, one in zip(asked, first, strict=True)}
    if not any({(g, True), (g, False)} <= kinds for g, _ in kinds):
        return None
    return compare([in_a_row(run) for run in asked], first, [run.spec.gamma for run in asked])
