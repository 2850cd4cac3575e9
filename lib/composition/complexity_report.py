"""Chapter 5, condensation and complexity: numbers over runs, the lines that regression tests compare, and computed prose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from lib.composition import complexity
from lib.composition.analysis import SHADOW
from lib.composition.experiments import PHASE
from lib.core.store import StoredRun

_MEASURES: dict[str, dict[str, float]] = {}


def measures_of(run: StoredRun) -> dict[str, float]:
    """complexity.measures of the run's weights, remembered."""
    if (name := str(run.path)) not in _MEASURES:
        _MEASURES[name] = complexity.measures(run.weights())
    return _MEASURES[name]


def diagram(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs of the phase diagram among them; where there is none (profile smoke), all."""
    return [r for r in runs if r.spec.experiment == PHASE.name] or list(runs)


def cells(runs: Sequence[StoredRun], seed: int) -> dict[tuple[int, float], StoredRun]:
    """{(depth, γ): run} of one seed, or of the lowest seed there is."""
    seeds = {r.spec.seed for r in runs}
    chosen = seed if seed in seeds else min(seeds)
    return {(r.spec.model.depth, r.spec.gamma): r for r in runs if r.spec.seed == chosen}


def neuron_cells(runs: dict[tuple, StoredRun]) -> dict[tuple, np.ndarray]:
    query = lambda r: r.weights()["blocks.0.attention.W_Q.weight"].numpy()
    return {place: complexity.neuron_cosines(query(run)) for place, run in runs.items()}


def embedding_map(run: StoredRun, method: str = "tsne") -> np.ndarray:
    """(80, 2) map of the embeddings of 20 … 99: t-SNE from a PCA start, or PCA itself."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    points = complexity.keys_embedding(run.weights())
    if method == "pca":
        return PCA(2, svd_solver="full").fit_transform(points)
    return TSNE(perplexity=10, init="pca", random_state=0, n_jobs=1).fit_transform(points)


def embedding_cells(runs: dict[tuple, StoredRun]) -> dict[tuple, np.ndarray]:
    """{place: (80, 3)}: map and order of the embedding."""
    return {
        place: np.c_[embedding_map(run), np.full(80, measures_of(run)["order of the embedding"])] for place, run in runs.items()
    }


def embedding_spectra(runs: Sequence[StoredRun]) -> dict[float, np.ndarray]:
    """{γ: (runs, D)} eigenvalues of the embedding's covariance."""
    found: dict[float, list[np.ndarray]] = {}
    for run in runs:
        values = complexity.covariance_eigenvalues(torch.as_tensor(complexity.keys_embedding(run.weights())))
        found.setdefault(run.spec.gamma, []).append(np.maximum(values.numpy(), 1e-12))
    return {gamma: np.stack(values) for gamma, values in found.items()}


def matrix_spectra(runs: Sequence[StoredRun]) -> dict[str, np.ndarray]:
    """{matrix: (runs, n)} singular values, runs of one shape."""
    found: dict[str, list[np.ndarray]] = {}
    for run in runs:
        for name, w in complexity.matrices(run.weights()).items():
            found.setdefault(complexity.short_name(name), []).append(np.maximum(torch.linalg.svdvals(w).numpy(), 1e-6))
    return {name: np.stack(values) for name, values in found.items()}


def rank_cells(runs: Sequence[StoredRun]) -> dict[tuple[int, float], dict[str, float]]:
    """{(depth, γ): {matrix: stable rank as a share of the largest possible}}, means over seeds."""
    found: dict[tuple[int, float], dict[str, list[float]]] = {}
    for run in runs:
        cell = found.setdefault((run.spec.model.depth, run.spec.gamma), {})
        for name, w in complexity.matrices(run.weights()).items():
            cell.setdefault(complexity.short_name(name), []).append(float(complexity.stable_rank(w)) / min(w.shape))
    return {place: {name: float(np.mean(v)) for name, v in cell.items()} for place, cell in found.items()}


def nearest(runs: Sequence[StoredRun], gamma: float) -> list[StoredRun]:
    """The runs whose γ is nearest to the one that is asked for."""
    best = min((r.spec.gamma for r in runs), key=lambda g: (abs(g - gamma), g))
    return [r for r in runs if r.spec.gamma == best]


# --- The order parameter ---


def fitted(runs: Sequence[StoredRun]) -> list[StoredRun]:
    return [r for r in runs if r.metrics["test"] >= SHADOW] or list(runs)


def lean(run: StoredRun) -> float:
    return run.metrics["inferential"] - run.metrics["symmetric"]


def scores(runs: Sequence[StoredRun]) -> dict[str, np.ndarray]:
    """{measure: (runs,)}, γ among them for comparison."""
    names = list(measures_of(runs[0]))
    return {"γ": np.array([r.spec.gamma for r in runs])} | {n: np.array([measures_of(r)[n] for r in runs]) for n in names}


def decided(runs: Sequence[StoredRun]) -> np.ndarray:
    """(runs,) bool: one answer leads the other by more than half of all answers."""
    return np.array([abs(lean(r)) > 0.5 for r in runs])


def aucs(runs: Sequence[StoredRun]) -> dict[str, tuple[float, float, float]]:
    """{measure: AUC of inferential against symmetric runs, with its 95 % interval}; runs between the two do not count.

    Empty where one of the two does not occur.
    """
    which = [r for r, d in zip(runs, decided(runs), strict=True) if d]
    positive = [lean(r) > 0 for r in which]
    if not any(positive) or all(positive):
        return {}
    return {n: (complexity.auc(v, positive), *complexity.auc_interval(v, positive)) for n, v in scores(which).items()}


def order_text(runs: Sequence[StoredRun]) -> str:
    which = [r for r, d in zip(runs, decided(runs), strict=True) if d]
    n_inferential = sum(lean(r) > 0 for r in which)
    found = aucs(runs)
    if not found:
        return f"Of {len(runs)} fitted runs, {len(which)} are decided, all for the same answer: nothing can be told apart."
    strength = lambda name: abs(found[name][0] - 0.5)
    best = max((n for n in found if n != "γ"), key=strength)
    words = lambda name: f"{found[name][0]:.2f} [{found[name][1]:.2f}, {found[name][2]:.2f}]"
    informs = lambda name: not found[name][1] <= 0.5 <= found[name][2]
    if not informs(best):
        verdict = "**No measure of complexity foretells the answer**: even the best one's interval holds 0.5, pure chance"
    elif strength(best) <= strength("γ"):
        verdict = "**γ foretells the answer at least as well as any measure of complexity**"
    elif found[best][1] > found["γ"][2] or found[best][2] < found["γ"][1]:
        verdict = "**Complexity foretells the answer better than γ**: the intervals do not overlap"
    else:
        verdict = "**The best measure of complexity does somewhat better than γ**, but the intervals overlap"
    return (
        f"{len(runs)} runs fit the seen pairs; {n_inferential} of them are decidedly inferential and "
        f"{len(which) - n_inferential} decidedly symmetric. {verdict}. The best is {best}, {words(best)}; γ has {words('γ')}. "
        "It was chosen among five, which flatters it."
    )


def depth_text(runs: Sequence[StoredRun]) -> str:
    """The same within each depth, where there are enough runs of both kinds."""
    lines = []
    for depth in sorted({r.spec.model.depth for r in runs}):
        here = [r for r in runs if r.spec.model.depth == depth]
        n = [sum(d and (lean(r) > 0) == side for r, d in zip(here, decided(here), strict=True)) for side in (False, True)]
        if min(n) < 3:
            lines.append(f"- Depth {depth}: {n[0]} symmetric and {n[1]} inferential runs, too few of one kind.")
            continue
        found = aucs(here)
        words = ", ".join(f"{name} {v:.2f} [{low:.2f}, {high:.2f}]" for name, (v, low, high) in found.items())
        lines.append(f"- Depth {depth}, {n[0]} symmetric and {n[1]} inferential runs: {words}.")
    return "\n".join(lines)


# --- Lines ---


def by_gamma(runs: Sequence[StoredRun], name: str) -> str:
    """Mean of a measure for every γ."""
    groups: dict[float, list[float]] = {}
    for run in runs:
        groups.setdefault(run.spec.gamma, []).append(measures_of(run)[name])
    return ", ".join(f"γ {g:g}: {np.mean(v):.2f}" for g, v in sorted(groups.items()))


GROWN = 3.0
"""An eigenvalue has begun to grow once it is this many times as large as at the first evaluation (our choice)."""


def growth(run: StoredRun) -> list[int]:
    """For each recorded eigenvalue that ever grows by GROWN: the step at which it has."""
    found = []
    for i in range(complexity.N_EIGENVALUES):
        values = run.history.get(f"eigenvalue {i + 1}", [])
        grown = (s for s, v in zip(run.history["step"], values, strict=False) if v is not None and v >= GROWN * values[0])
        if (step := next(grown, None)) is not None:
            found.append(step)
    return found


def growth_line(runs: Sequence[StoredRun]) -> str:
    return "; ".join(
        f"γ = {r.spec.gamma:g}, seed {r.spec.seed}: grown {GROWN:g} times at steps {', '.join(map(str, growth(r))) or 'never'}"
        for r in runs
    )


def half_way(run: StoredRun) -> tuple[int, int]:
    """Steps at which the first and the second eigenvalue have half of their final value."""
    first = lambda v: next(s for s, x in zip(run.history["step"], v, strict=True) if x >= v[-1] / 2)
    return first(run.history["eigenvalue 1"]), first(run.history["eigenvalue 2"])
