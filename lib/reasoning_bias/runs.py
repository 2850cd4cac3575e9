"""From stored runs to numbers: how much earlier reasoning is learned, how embeddings lie, what the first attention does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from lib.core.ensemble import Ask, Ensemble, at_start
from lib.core.measures import cosines, numerical_order, principal_map, remembered
from lib.core.spec import RunSpec
from lib.core.store import StoredRun
from lib.reasoning_bias import theory
from lib.reasoning_bias.study import SETS, drive, make_study
from lib.reasoning_bias.task import FIRST_KEY, LAST_KEY, LENGTH, MEMORY, N_PLACES, REASONING, VOCAB, Task

KINDS = {"memory": slice(0, len(MEMORY)), "reasoning": slice(len(MEMORY), None)}
"""Where the anchors of a kind are among the 20."""


@remembered
def first_losses(run: StoredRun) -> dict[str, float]:
    """The losses of the three sets before the first step, in nats."""
    ensemble = Ensemble(run.spec, 1, torch.device("cpu"), torch.float32, "eager")
    ensemble.load(0, run.spec)
    found = make_study(run.spec).measure(Ask(ensemble))
    return {name: float(found[f"{name} loss"]) for name in SETS}


def halving(run: StoredRun, name: str) -> float | None:
    """The step at which the loss of a set has first fallen to half of what it was before training, on the straight line
    between the two evaluations around it; None for never."""
    level = first_losses(run)[name] / 2
    before, value = 0.0, 2 * level
    for step, loss in zip(run.history["step"], run.history[f"{name} loss"], strict=True):
        if loss is None:
            return None
        if loss <= level:
            return before + (step - before) * (value - level) / (value - loss)
        before, value = step, loss
    return None


@dataclass(frozen=True)
class Ratio:
    """How many times as long one loss takes to halve as another. `open`: the slower one never did, so the ratio is a lower
    bound: it is that of the whole of training."""

    value: float
    open: bool


def slowdown(run: StoredRun, slower: str = "memory", faster: str = "reasoning") -> Ratio | None:
    """The bias as one number: steps to half of the initial loss, memory over reasoning. None where the faster never halves."""
    one, other = halving(run, slower), halving(run, faster)
    if other is None:
        return None
    return Ratio((run.steps if one is None else one) / other, one is None)


def by_gamma(runs: Sequence[StoredRun]) -> dict[float, list[StoredRun]]:
    """Runs by γ, each group in the order of its seeds."""
    found: dict[float, list[StoredRun]] = {}
    for run in sorted(runs, key=lambda r: (r.spec.gamma, r.spec.seed)):
        found.setdefault(run.spec.gamma, []).append(run)
    return found


def histories(runs: Sequence[StoredRun], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Epochs (n,) and values (runs, n) of a metric; NaN where a run was not finite or had stopped."""
    longest = max((r.history["step"] for r in runs), key=len)
    values = np.full((len(runs), len(longest)), np.nan)
    for row, run in zip(values, runs, strict=True):
        got = [np.nan if v is None else v for v in run.history[name]]
        row[: len(got)] = got
    return np.array(longest) / epoch(runs[0].spec), values


def epoch(spec: RunSpec) -> float:
    """Steps of an epoch; 1 where every row is new."""
    return (dict(spec.task)["rows"] or spec.train.batch) / spec.train.batch


# --- Embeddings ---


def snapshot_near(run: StoredRun, share: float) -> int:
    """The step of the snapshot nearest, by ratio, to this share of training."""
    return min(run.snapshots(), key=lambda step: abs(math.log(step / (share * run.spec.train.steps))))


def anchors(run: StoredRun, step: int | None = None) -> np.ndarray:
    """(20, D) embeddings of the anchors 1 … 20 at a snapshot, by default the last."""
    kept = run.snapshots()
    return kept[max(kept) if step is None else step]["anchors"].numpy()


def anchors_of(model: nn.Module) -> np.ndarray:
    """(20, D) embeddings of the anchors of a model (n_runs = 1)."""
    return model.embedding.token[0, MEMORY[0] : REASONING[-1] + 1].numpy()


def moved_by(run: StoredRun, step: int) -> np.ndarray:
    """(20, D) how far the anchors' embeddings have moved from their random start, at a snapshot."""
    return anchors(run, step) - anchors_of(at_start(run.spec))


def anchor_cosines(run: StoredRun, kind: str, step: int | None = None) -> np.ndarray:
    """(10, 10) cosines of the embeddings of the anchors of a kind."""
    vectors = anchors(run, step)[KINDS[kind]]
    return cosines(vectors, vectors)


def by_lag(matrix: np.ndarray) -> np.ndarray:
    """(n, n) → (n − 1,): means over the diagonals 1 … n − 1."""
    return np.array([np.diagonal(matrix, lag).mean() for lag in range(1, len(matrix))])


def off_diagonal(matrix: np.ndarray) -> np.ndarray:
    return matrix[~np.eye(len(matrix), dtype=bool)]


def exact_distributions(kind: str) -> np.ndarray:
    """(10, V) P^s − 1 / d_vob of the anchors of a kind."""
    tokens = MEMORY if kind == "memory" else REASONING
    return np.array([theory.label_distribution(s) for s in tokens]) - 1 / VOCAB


def sampled_distributions(kind: str, rows: int, table_seed: int = 0) -> np.ndarray:
    """The same, counted in the training set of the laptop and paper profiles with this many rows."""
    task = Task(table_seed)
    batch = task.rows(torch.tensor(table_seed), torch.arange(rows))
    found = []
    for s in MEMORY if kind == "memory" else REASONING:
        holds = (batch.first == s) | (batch.second == s)
        counts = np.bincount(batch.target[holds].numpy(), minlength=VOCAB)
        found.append(counts / counts.sum())
    return np.array(found) - 1 / VOCAB


def fitted(width: int, gamma: float, seed: int | None = 0, keys: bool = False) -> np.ndarray:
    """(n, width) Eq. 14 for the reasoning anchors, or for the keys, with its noise of standard deviation width^−γ; without
    noise for seed None."""
    tokens = range(FIRST_KEY, LAST_KEY + 1) if keys else REASONING
    shape = np.array([theory.fitted_shape(s, width, keys) for s in tokens])
    return shape if seed is None else shape + width**-gamma * np.random.default_rng(seed).standard_normal(shape.shape)


def order(vectors: np.ndarray) -> float:
    """Numeric order in the plane of the first two principal components: rank correlation of |i − j| with distance."""
    return numerical_order(principal_map(vectors)[0])


# --- The flow of embeddings ---


@dataclass(frozen=True)
class FlowError:
    """The integrated flow against training: steps (n,); for each kind the relative error and the cosine of the displacement
    from the start, (n, 10); and by how much the embeddings have grown, displacement over start, (n,)."""

    steps: np.ndarray
    error: dict[str, np.ndarray]
    cosine: dict[str, np.ndarray]
    grown: np.ndarray


def rates() -> np.ndarray:
    """(20,) r_s: how often an anchor stands in a training sequence, on average."""
    pairs = Task().pairs.flatten()
    return np.array([(pairs == s).sum().item() for s in (*MEMORY, *REASONING)]) / len(Task().pairs)


def integrated(run: StoredRun, exact: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Steps (n,) and embeddings (n, 20, D) that the flow arrives at, by the trapezoidal rule over the snapshots, with the W
    that were measured there. `exact` (one layer only): the residual stream carries an anchor to the output only where it
    stands last, which is once in `LENGTH` places in the paper's average and 1 in 2 · N_PLACES here."""
    model = at_start(run.spec)
    kept = {0: {name: value[0] for name, value in drive(model).items()}} | run.snapshots()
    steps = np.array(sorted(kept))
    push = []
    for step in steps:
        now = kept[step]["drive"].numpy().astype(float)
        if exact:
            now = now + (LENGTH / (2 * N_PLACES) - 1) * kept[step]["direct"].numpy()
        push.append(rates()[:, None] * now / VOCAB)
    moves = np.diff(steps)[:, None, None] * run.spec.rate * (np.array(push[1:]) + np.array(push[:-1])) / 2
    start = anchors_of(model)
    return steps[1:], start + np.cumsum(moves, 0)


def flow_error(run: StoredRun, exact: bool = False) -> FlowError:
    """How far the integrated flow is from the trained embeddings, along training."""
    steps, theirs = integrated(run, exact)
    start = anchors_of(at_start(run.spec))
    kept = run.snapshots()
    ours = np.array([kept[step]["anchors"].numpy() for step in steps])
    moved, told = ours - start, theirs - start
    size = np.linalg.norm(moved, axis=-1)
    error = np.linalg.norm(told - moved, axis=-1) / size
    cosine = (told * moved).sum(-1) / (size * np.linalg.norm(told, axis=-1))
    grown = np.sqrt((moved**2).sum((1, 2)) / (start**2).sum())
    split = lambda values: {kind: values[:, where] for kind, where in KINDS.items()}
    return FlowError(steps, split(error), split(cosine), grown)


def loss_curves(runs: Sequence[StoredRun]) -> tuple[np.ndarray, np.ndarray]:
    """Steps (n,) and training losses (runs, n), means since the evaluation before."""
    return np.array(runs[0].history["step"]), np.array([run.history["loss"] for run in runs], dtype=float)
