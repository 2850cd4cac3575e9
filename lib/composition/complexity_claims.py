"""Chapter 5, condensation and complexity: numbers over runs, lines, prose and claims."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from lib.composition import complexity
from lib.composition.analysis import SHADOW
from lib.composition.experiments import PHASE
from lib.composition.phases import material, weighty_specs
from lib.composition.variations import FLIP
from lib.core.claim import Claim, Finding, graded
from lib.core.store import Store, StoredRun
from lib.core.sweep import load

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


def growth(run: StoredRun) -> list[int]:
    """For each recorded eigenvalue that ends above a fiftieth of the largest: the first step at which it has half of its final
    value."""
    found, names = [], [n for n in (f"eigenvalue {i + 1}" for i in range(complexity.N_EIGENVALUES)) if n in run.history]
    top = run.history[names[0]][-1]
    for name in names:
        final = run.history[name][-1]
        if final > top / 50:
            found.append(next(s for s, v in zip(run.history["step"], run.history[name], strict=True) if v >= final / 2))
    return found


def growth_line(runs: Sequence[StoredRun]) -> str:
    return "; ".join(
        f"γ = {r.spec.gamma:g}, seed {r.spec.seed}: half of the final value at steps {', '.join(map(str, growth(r)))}"
        for r in runs
    )


# --- Claims ---


def _ends(name: str, rises: bool):  # noqa: ANN202
    """A check that a measure differs between the smallest and the largest initialization, by two standard errors, depth by
    depth."""

    def check(store: Store, profile: str) -> Finding:
        runs = fitted(load(weighty_specs(profile)[PHASE.name], store))
        runs = [r for r in runs if r.has_weights]
        if not runs:
            raise LookupError(f"no weights of the phase diagram are stored for the profile {profile!r}")
        words, parts = [], []
        for depth in sorted({r.spec.model.depth for r in runs}):
            here = [r for r in runs if r.spec.model.depth == depth]
            middle = np.median([r.spec.gamma for r in here])
            low = np.array([measures_of(r)[name] for r in here if r.spec.gamma < middle])
            high = np.array([measures_of(r)[name] for r in here if r.spec.gamma > middle])
            error = float(np.hypot(low.std(ddof=1) / len(low) ** 0.5, high.std(ddof=1) / len(high) ** 0.5))
            difference = float(high.mean() - low.mean())
            parts.append((difference if rises else -difference) > 2 * error)
            words.append(f"depth {depth}: {low.mean():.2f} → {high.mean():.2f} (difference {difference:+.2f} ± {error:.2f})")
        return Finding(
            f"{name}, γ below → above the middle of the grid: " + "; ".join(words),
            graded(parts),
            len({r.spec.seed for r in runs}),
        )

    return check


def _growth(store: Store, profile: str) -> Finding:
    runs = [r for r in load(FLIP.specs(profile), store) if r.metrics["test"] >= SHADOW]
    small = [r for r in runs if r.spec.gamma > np.median([q.spec.gamma for q in runs])] if runs else []
    if not small:
        raise LookupError("no run of small initialization has learned the seen pairs")
    order = [
        complexity.spearman(np.arange(len(g), dtype=float), np.array(g, dtype=float)) for r in small if len(g := growth(r)) > 2
    ]
    first = [growth(r)[0] <= min(growth(r)) for r in small]
    last = [abs(r.history["eigenvalue 1"][-1] / r.history["eigenvalue 1"][-3] - 1) for r in small]
    return Finding(
        f"{sum(first)} of {len(small)} runs: no eigenvalue reaches half of its final value before the largest; rank "
        f"correlation of number and time {np.mean(order):+.2f} ± {np.std(order):.2f}; change in the last two "
        f"evaluations {np.mean(last):.1%}",
        graded([np.mean(first) > 0.5, bool(np.mean(order) > 0.5), bool(np.mean(last) < 0.05)]),
        len({r.spec.seed for r in small}),
    )


def _order(store: Store, profile: str) -> Finding:
    runs = fitted(material(store, profile))
    found = aucs(runs)
    if not found:
        raise LookupError("one of the two phases has no decided run with weights")
    gamma = found.pop("γ")
    best = max(found, key=lambda n: abs(found[n][0] - 0.5))
    apart = abs(found[best][0] - 0.5) > abs(gamma[0] - 0.5)
    informs = not found[best][1] <= 0.5 <= found[best][2]
    clear = found[best][1] > gamma[2] or found[best][2] < gamma[1]
    return Finding(
        f"γ {gamma[0]:.2f} [{gamma[1]:.2f}, {gamma[2]:.2f}]; best measure, {best}, "
        f"{found[best][0]:.2f} [{found[best][1]:.2f}, {found[best][2]:.2f}]",
        graded([apart and informs, apart and clear]),
        len({r.spec.seed for r in runs}),
    )


def _claim(id: str, item: str, statement: str, reported: str, criterion: str, check, paper: str = "zhang2024") -> Claim:  # noqa: ANN001
    return Claim(id, paper, item, statement, reported, criterion, check)


_SEEN = "a grid of one model a cell"
_APART = "mean above the middle γ against below, at every depth, by two standard errors"
CHAPTER_05 = (
    _claim(
        "condensation",
        "Figs 5a, b, 10",
        "At small initialization the neurons of the first query matrix condense onto few directions.",
        _SEEN,
        f"condensation rises with γ: {_APART}",
        _ends("condensation of W_Q(1)", rises=True),
    ),
    _claim(
        "embedding-order",
        "Figs 5c, d, 11",
        "At small initialization the embedding of numbers is ordered.",
        _SEEN,
        f"order of the embedding rises with γ: {_APART}",
        _ends("order of the embedding", rises=True),
    ),
    _claim(
        "embedding-eigenvalues",
        "Fig 12a",
        "At small initialization few eigenvalues of the embedding's covariance are large.",
        "one spectrum for each γ",
        f"effective dimension falls with γ: {_APART}",
        _ends("embedding's effective dimension", rises=False),
    ),
    _claim(
        "eigenvalue-growth",
        "Fig 12b",
        "At small initialization the largest eigenvalue grows first, then the others, then growth stops.",
        "one run",
        "in most runs above the middle γ the first is first; number and time correlate by more than 0.5; end change below 5 %",
        _growth,
    ),
    _claim(
        "stable-rank",
        "Fig 13; stable rank",
        "The smaller the initialization, the lower the rank of the weights.",
        "singular values of two runs",
        f"mean stable rank falls with γ: {_APART}",
        _ends("mean stable rank", rises=False),
        "zhang2025",
    ),
    _claim(
        "order-parameter",
        "order parameter",
        "The complexity of the weights foretells the answer better than γ does.",
        "not reported; our question",
        "the best of five AUCs is further from 0.5 than γ's and its interval excludes 0.5; fully if the two do not overlap",
        _order,
        "ours",
    ),
)
