"""Chapter 5, condensation and complexity: numbers over runs, the lines that regression tests compare, and computed prose."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from lib.composition.condensation import numbers as complexity
from lib.composition.experiments import FAST
from lib.composition.information_flow.prose import listed
from lib.composition.phase_diagram.numbers import neighbour_steps
from lib.composition.runs import learned_among
from lib.core.measures import remembered, spearman
from lib.core.store import StoredRun


@remembered
def measures_of(run: StoredRun) -> dict[str, float]:
    """complexity.measures of the run's weights."""
    return complexity.measures(run.weights())


def diagram(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs of the diagram over γ and depth among them; where their weights are not kept (profile smoke), all."""
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
    return {place: complexity.neuron_cosines(query(run)) for place, run in runs.items()}


@remembered
def embedding_map(run: StoredRun) -> np.ndarray:
    """(80, 2) map of the embeddings of 20 … 99: t-SNE from a PCA start."""
    from sklearn.manifold import TSNE

    points = complexity.keys_embedding(run.weights())
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
        values = complexity.keys_eigenvalues(run.weights())
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
            cell.setdefault(complexity.short_name(name), []).append(float(complexity.relative_rank(w)))
    return {place: {name: float(np.mean(v)) for name, v in cell.items()} for place, cell in found.items()}


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


# --- Steps between neighbours ---


def common_step(run: StoredRun) -> tuple[int, float]:
    """The most frequent distance, as numbers, of a number and its nearest neighbour in the embedding, and the share of the
    numbers that have it."""
    counts = np.bincount(neighbour_steps(run))
    return int(counts.argmax()), float(counts.max() / counts.sum())


STRANDS = 0.9
"""Neighbours differ by a fixed step if this share of the numbers has its nearest neighbour at one distance (our choice)."""


def neighbours_text(cells: dict[tuple[int, float], StoredRun]) -> str:
    """How far the nearest neighbour of a number is, for every panel of a grid {(depth, γ): run}."""
    steps = {place: common_step(run) for place, run in sorted(cells.items())}
    fixed: dict[int, list[str]] = {}
    for (depth, gamma), (step, share) in steps.items():
        if share >= STRANDS:
            fixed.setdefault(step, []).append(f"(γ = {gamma:g}, depth {depth})")
    depths, gammas = (sorted({place[i] for place in steps}) for i in (0, 1))
    cell = lambda place: f"{steps[place][0]} ({steps[place][1]:.0%})" if place in steps else ""
    rows = [f"| {d} | " + " | ".join(cell((d, g)) for g in gammas) + " |" for d in depths]
    head = "| depth | " + " | ".join(f"γ = {g:g}" for g in gammas) + " |\n" + "|---" * (len(gammas) + 1) + "|\n"
    said = [f"{step} away at {listed(where)}" for step, where in sorted(fixed.items())]
    return (
        f"**In {sum(map(len, fixed.values()))} of {len(steps)} panels neighbours differ by a fixed step.** "
        + (f"There the nearest neighbour of at least {STRANDS:.0%} of the numbers lies " + listed(said) + ". " if said else "")
        + "A step of 1 means one row of numbers, a larger one means strands. The table has the most frequent step, and the "
        "share of the numbers that have it.\n\n" + head + "\n".join(rows)
    )


# --- The order parameter ---


def fitted(runs: Sequence[StoredRun]) -> list[StoredRun]:
    return learned_among(runs) or list(runs)


def lean(run: StoredRun) -> float:
    return run.metrics["inferential"] - run.metrics["symmetric"]


def scores(runs: Sequence[StoredRun]) -> dict[str, np.ndarray]:
    """{measure: (runs,)}, γ among them for comparison."""
    names = list(measures_of(runs[0]))
    return {"γ": np.array([r.spec.gamma for r in runs])} | {n: np.array([measures_of(r)[n] for r in runs]) for n in names}


def decided(runs: Sequence[StoredRun]) -> np.ndarray:
    """(runs,) bool: one answer leads the other by more than half of all answers."""
    return np.array([abs(lean(r)) > 0.5 for r in runs])


Auc = tuple[float, float, float]
"""A value with the ends of its 95 % interval."""


def aucs(runs: Sequence[StoredRun]) -> dict[str, Auc]:
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
        value = complexity.stratified_auc(values, positive, stratum)
        found[name] = (value, *complexity.auc_interval(values, positive, stratum))
    return found


def fold(auc: Auc) -> Auc:
    """The same with high and low exchanged if need be, so that more is better and 0.5 is chance: a direction is no merit."""
    return auc if auc[0] >= 0.5 else (1 - auc[0], 1 - auc[2], 1 - auc[1])


def contest(found: dict[str, Auc]) -> tuple[str, bool, bool, bool]:
    """The measure of complexity that tells the phases apart best; whether any does better than chance; whether the best does
    better than γ; and whether its interval lies above γ's."""
    measures = [n for n in found if n != "γ"]
    best = max(measures, key=lambda n: fold(found[n])[0])
    informs = any(fold(found[n])[1] > 0.5 for n in measures)
    return best, informs, fold(found[best])[0] > fold(found["γ"])[0], fold(found[best])[1] > fold(found["γ"])[2]


def order_text(runs: Sequence[StoredRun]) -> str:
    which = [r for r, d in zip(runs, decided(runs), strict=True) if d]
    n_inferential = sum(lean(r) > 0 for r in which)
    found = aucs(runs)
    counts = (
        f"{len(runs)} runs fit the seen pairs; {n_inferential} of them are decidedly inferential and "
        f"{len(which) - n_inferential} decidedly symmetric."
    )
    if not found:
        return counts + " No experiment and depth has both: nothing can be told apart."
    words = lambda name: f"{found[name][0]:.2f} [{found[name][1]:.2f}, {found[name][2]:.2f}]"
    best, informs, better, clear = contest(found)
    if not informs:
        verdict = "**No measure of complexity foretells the answer**: the intervals of all hold 0.5, pure chance"
    elif not better:
        verdict = "**γ foretells the answer at least as well as any measure of complexity**"
    elif clear:
        verdict = "**Complexity foretells the answer better than γ**: the intervals do not overlap"
    else:
        verdict = "**The best measure of complexity does somewhat better than γ**, but the intervals overlap"
    return (
        f"{counts} {verdict}. The best is {best}, {words(best)}; γ has {words('γ')}. (Below 0.5, inferential runs have the "
        "*lower* values, which foretells as well.) It was chosen among five, which flatters it."
    )


def depth_text(runs: Sequence[StoredRun]) -> str:
    """The same for each experiment and depth, where there are enough runs of both kinds."""
    lines = []
    for experiment, version, depth in sorted({(*source(r), r.spec.model.depth) for r in runs}):
        here = [r for r in runs if (*source(r), r.spec.model.depth) == (experiment, version, depth)]
        n = [sum(d and (lean(r) > 0) == side for r, d in zip(here, decided(here), strict=True)) for side in (False, True)]
        head = f"- `{experiment}`, version {version}, depth {depth}, {n[0]} symmetric and {n[1]} inferential runs"
        if min(n) < 3:
            lines.append(f"{head}: too few of one kind.")
            continue
        words = ", ".join(f"{name} {v:.2f} [{low:.2f}, {high:.2f}]" for name, (v, low, high) in aucs(here).items())
        lines.append(f"{head}: {words}.")
    return "\n".join(lines)


def with_gamma_text(runs: Sequence[StoredRun]) -> str:
    """How each measure goes with γ: rank correlations over runs."""
    gammas = np.array([r.spec.gamma for r in runs])
    words = [f"{name} {spearman(gammas, v):+.2f}" for name, v in scores(runs).items() if name != "γ"]
    return f"Rank correlation with γ over {len(runs)} runs: " + ", ".join(words) + "."


# --- Lines ---


def by_gamma(runs: Sequence[StoredRun], name: str) -> str:
    """Mean of a measure for every γ."""
    groups: dict[float, list[float]] = {}
    for run in runs:
        groups.setdefault(run.spec.gamma, []).append(measures_of(run)[name])
    return ", ".join(f"γ {g:g}: {np.mean(v):.2f}" for g, v in sorted(groups.items()))


GROWN = 3.0
"""An eigenvalue has begun to grow once it is this many times as large as at the first evaluation (our choice)."""


def growth(run: StoredRun) -> list[float]:
    """For each recorded eigenvalue the step at which it has grown by GROWN; infinity for never."""
    found = []
    for i in range(complexity.N_EIGENVALUES):
        if values := run.history.get(f"eigenvalue {i + 1}"):
            grown = (s for s, v in zip(run.history["step"], values, strict=True) if v is not None and v >= GROWN * values[0])
            found.append(float(next(grown, math.inf)))
    return found


def growth_line(runs: Sequence[StoredRun]) -> str:
    steps = lambda r: " ".join("never" if math.isinf(s) else f"{s:.0f}" for s in growth(r))
    return "steps at which each has grown threefold: " + "; ".join(
        f"γ = {r.spec.gamma:g}, seed {r.spec.seed}: {steps(r)}" for r in runs
    )


def late_change(run: StoredRun) -> float:
    """Relative change of the largest eigenvalue over the last two evaluations before the rate begins to fall."""
    end = run.fit_step if run.fit_step is not None else run.spec.train.steps - run.spec.train.anneal
    values = [v for s, v in zip(run.history["step"], run.history["eigenvalue 1"], strict=True) if s <= end][-3:]
    return abs(values[-1] / values[0] - 1) if len(values) == 3 else math.inf
