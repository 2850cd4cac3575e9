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

from lib.composition.experiments import FAST
from lib.composition.phase_diagram.metrics import neighbour_steps
from lib.composition.runs import FITTED, MAPPINGS, generalizes, lean
from lib.composition.spectra import N_EIGENVALUES, keys_eigenvalues, keys_embedding, relative_rank
from lib.composition.words import set_name
from lib.core.read.derived import derived
from lib.core.read.measures import cosines, remembered
from lib.core.read.statistics import (
    RARE,
    auc_interval,
    numerical_order,
    stratified_auc,
    two_sided,
)
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


def diagram(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs of the fast diagram among them; where their weights are not kept (profile smoke), all."""
    return [r for r in runs if source(r) == (FAST.folder, FAST.version)] or list(runs)


def source(run: StoredRun) -> tuple[str, int]:
    """The experiment and the version that a run is of."""
    return run.spec.experiment, run.spec.version


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


def twin(runs: Sequence[StoredRun], example: StoredRun) -> StoredRun | None:
    """The decided run of the other answer and the same depth whose five measures lie nearest to those of an example, each in
    standard deviations over the fitted runs of that depth; None where there is none."""
    here = [run for run in fitted(runs) if run.spec.model.depth == example.spec.model.depth]
    others = [run for run, d in zip(here, decided(here), strict=True) if d and (lean(run) > 0) != (lean(example) > 0)]
    if not others:
        return None
    vector = lambda run: np.array(list(measures_of(run).values()))
    unit = np.maximum(np.std([vector(run) for run in here], axis=0), 1e-12)
    return min(others, key=lambda run: float(np.linalg.norm((vector(run) - vector(example)) / unit)))


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


def rank_cells(runs: Sequence[StoredRun]) -> dict[tuple[int, float], dict[str, float]]:
    """{(depth, γ): {matrix: stable rank as a share of the largest possible}}, means over seeds."""
    found: dict[tuple[int, float], dict[str, list[float]]] = {}
    for run in runs:
        cell = found.setdefault((run.spec.model.depth, run.spec.gamma), {})
        for name, w in matrices(run.weights()).items():
            cell.setdefault(short_name(name), []).append(float(relative_rank(w)))
    return {place: {name: float(np.mean(v)) for name, v in cell.items()} for place, cell in found.items()}


def rank_kinds(runs: Sequence[StoredRun]) -> dict[tuple[int, float], dict[str, float]]:
    """{(depth, γ): {kind of matrix: its stable rank}}, the rank_cells as means over layers."""
    found: dict[tuple[int, float], dict[str, list[float]]] = {}
    for place, cell in rank_cells(runs).items():
        for name, share in cell.items():
            found.setdefault(place, {}).setdefault(name.partition("(")[0], []).append(share)
    return {place: {kind: float(np.mean(v)) for kind, v in cell.items()} for place, cell in found.items()}


def nearest(runs: Sequence[StoredRun], gamma: float) -> list[StoredRun]:
    """The runs whose γ is nearest to the one that is asked for."""
    best = min((r.spec.gamma for r in runs), key=lambda g: (abs(g - gamma), g))
    return [r for r in runs if r.spec.gamma == best]


def large_and_small(runs: Sequence[StoredRun], gamma: float) -> tuple[list[StoredRun], list[StoredRun]]:
    """The runs nearest to γ = 0.5 and nearest to a larger γ. Raises LookupError where the two are the same runs."""
    large, small = nearest(runs, 0.5), nearest(runs, gamma)
    if large[0].spec.gamma >= small[0].spec.gamma:
        raise LookupError(f"gamma must be nearer to a stored γ above {large[0].spec.gamma:g} than to it, got {gamma:g}.")
    return large, small


STRANDS = 0.9
"""Neighbours differ by a fixed step if this share of the numbers has its nearest neighbour at one distance (our choice)."""


def common_step(run: StoredRun) -> tuple[int, float]:
    """The most frequent distance, as numbers, of a number and its nearest neighbour in the embedding, and the share of the
    numbers that have it."""
    counts = np.bincount(neighbour_steps(run))
    return int(counts.argmax()), float(counts.max() / counts.sum())


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


# --- Does a number foretell the answer? ---


def fitted(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs that generalize; all where none does. The chapter's one rule of who counts."""
    return [run for run in runs if generalizes(run)] or list(runs)


def rules(runs: Sequence[StoredRun]) -> dict[str, list[StoredRun]]:
    """{who counts: runs}, from no rule at all to a stricter one than the chapter's; rules that none of the runs meets are left
    out."""
    found = {
        "all runs": list(runs),
        "fitted runs": fitted(runs),
        f"runs right in {FITTED:.0%} of the seen pairs": [run for run in runs if run.metrics["test"] >= FITTED],
    }
    return {rule: some for rule, some in found.items() if some}


def scores(runs: Sequence[StoredRun]) -> dict[str, np.ndarray]:
    """{measure: (runs,)}, γ among them for comparison."""
    names = list(measures_of(runs[0]))
    return {"γ": np.array([r.spec.gamma for r in runs])} | {n: np.array([measures_of(r)[n] for r in runs]) for n in names}


def decided(runs: Sequence[StoredRun]) -> np.ndarray:
    """(runs,) bool: one answer leads the other by more than half of all answers."""
    return np.array([abs(lean(r)) > 0.5 for r in runs])


class Auc(NamedTuple):
    """A value with the ends of its 95 % interval, and how often chance alone would be as far from 0.5."""

    value: float
    low: float
    high: float
    p: float


def aucs(runs: Sequence[StoredRun]) -> dict[str, Auc]:
    """`_aucs` as numbers."""
    return {name: Auc(*found.tolist()) for name, found in _aucs(list(runs)).items()}


@derived(version=2)
def _aucs(runs: Sequence[StoredRun]) -> dict[str, np.ndarray]:
    """{measure: stratified AUC of inferential against symmetric runs}; runs between the two do not count.

    Compared are runs of one experiment and depth: across experiments decay, batch and rate differ as well, and each changes the
    weights. Empty where no experiment and depth has both.
    """
    which = [r for r, d in zip(runs, decided(runs), strict=True) if d]
    positive, stratum = [lean(r) > 0 for r in which], [(*source(r), r.spec.model.depth) for r in which]
    with_answer = lambda answer: {s for s, p in zip(stratum, positive, strict=True) if p is answer}
    if not with_answer(True) & with_answer(False):
        return {}
    found = {}
    for name, values in scores(which).items():
        value = stratified_auc(values, positive, stratum)
        found[name] = np.array([value, *auc_interval(values, positive, stratum), two_sided(values, positive, stratum)])
    return found


FEW = 5
"""Fewer decided runs of one kind than this tell nothing (our choice; 3 before results were seen)."""
Stratum = tuple[str, int, int]
"""An experiment, its version and a depth."""


def strata(runs: Sequence[StoredRun]) -> dict[Stratum, list[StoredRun]]:
    """The runs of each experiment, version and depth."""
    found: dict[Stratum, list[StoredRun]] = {}
    for run in runs:
        found.setdefault((*source(run), run.spec.model.depth), []).append(run)
    return dict(sorted(found.items()))


def counts(runs: Sequence[StoredRun]) -> tuple[int, int]:
    """How many runs are decidedly symmetric, and how many decidedly inferential."""
    leans = [lean(run) > 0 for run, d in zip(runs, decided(runs), strict=True) if d]
    return leans.count(False), leans.count(True)


def pairs(runs: Sequence[StoredRun]) -> int:
    """How many pairs of a decidedly symmetric and a decidedly inferential run of one stratum there are: what an AUC counts."""
    return sum(math.prod(counts(here)) for here in strata(runs).values())


def by_stratum(runs: Sequence[StoredRun]) -> dict[Stratum, tuple[int, int, dict[str, Auc]]]:
    """{(experiment, version, depth): (decidedly symmetric runs, decidedly inferential ones, aucs of these runs alone)}; the
    last empty where there are fewer than FEW of one kind."""
    return {stratum: (*counts(here), aucs(here) if min(counts(here)) >= FEW else {}) for stratum, here in strata(runs).items()}


def auc_panels(runs: Sequence[StoredRun]) -> dict[str, dict[str, Auc]]:
    """{group: aucs}: within every experiment and depth, and in each of them that has enough of both kinds. Empty where nothing
    can be told."""
    panels = {"runs of one\nexperiment and depth": aucs(runs)} | {
        f"{set_name(experiment, version)},\ndepth {depth}": found
        for (experiment, version, depth), (*_, found) in by_stratum(runs).items()
    }
    return {group: found for group, found in panels.items() if found}


def fold(auc: Auc) -> Auc:
    """The same with high and low exchanged if need be, so that more is better and 0.5 is chance: a direction is no merit."""
    return auc if auc.value >= 0.5 else Auc(1 - auc.value, 1 - auc.high, 1 - auc.low, auc.p)


def tells(auc: Auc) -> bool:
    """Is it further from 0.5 than chance alone would have it? By the exact test: with few runs an interval is too short."""
    return auc.p <= RARE


def contest(found: Mapping[str, Auc]) -> tuple[str, bool, bool, bool]:
    """The measure of complexity that tells the phases apart best; whether it does better than chance; whether better than γ;
    and whether its interval lies above γ's."""
    best = max((n for n in found if n != "γ"), key=lambda n: fold(found[n]).value)
    ours, gammas = fold(found[best]), fold(found["γ"])
    return best, tells(found[best]), ours.value > gammas.value, ours.low > gammas.high


def answer_of(run: StoredRun) -> str:
    """The mapping that more than half of a run's answers follow exactly; "neither" where there is none."""
    return next((m for m in MAPPINGS if run.metrics[m] > 0.5), "neither")
