"""From stored runs to numbers: how much earlier reasoning is learned, how embeddings lie, what the first attention does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from lib.core.ensemble import Ask, Ensemble
from lib.core.init import apply_gamma_stacked
from lib.core.measures import cosines, numerical_order, principal_map, remembered
from lib.core.model import Taps, from_weights
from lib.core.spec import RunSpec, derived_seed
from lib.core.store import StoredRun
from lib.reasoning_bias import theory
from lib.reasoning_bias.study import SETS, causal_average, drive, make_study
from lib.reasoning_bias.task import FIRST_KEY, LAST_KEY, LENGTH, MEMORY, N_PLACES, POSITIONS, REASONING, VOCAB, Task

KINDS = {"memory": slice(0, len(MEMORY)), "reasoning": slice(len(MEMORY), None)}
"""Where the anchors of a kind are among the 20."""


def at_start(spec: RunSpec) -> nn.Module:
    """The model of a run before its first step (n_runs = 1), drawn again from its seed."""
    model = spec.model.build()
    apply_gamma_stacked(model, [spec.gamma], [derived_seed(spec.seed, "weights")])
    return model.eval().requires_grad_(False)


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
    start = model.embedding.token[0, 1 : 1 + len(MEMORY + REASONING)].numpy()
    return steps[1:], start + np.cumsum(moves, 0)


def flow_error(run: StoredRun, exact: bool = False) -> FlowError:
    """How far the integrated flow is from the trained embeddings, along training."""
    steps, theirs = integrated(run, exact)
    start = at_start(run.spec).embedding.token[0, 1 : 1 + len(MEMORY + REASONING)].numpy()
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


# --- Attention ---


def deviation_at_start(spec: RunSpec) -> float:
    """ε of Lemma 1: the largest |A_ij − 1 / i| of the first attention over questions and places, before training."""
    found = make_study(spec).attention(at_start(spec))
    return float(found["deviation"].max())


def deviations(run: StoredRun) -> tuple[np.ndarray, np.ndarray]:
    """Steps and ε at the snapshots."""
    kept = run.snapshots()
    return np.array(list(kept)), np.array([float(s["deviation"].max()) for s in kept.values()])


def alignments(run: StoredRun) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Steps (n,), and for each kind (n, 10): |cosine| of the first singular direction of W^V with the anchors' embeddings."""
    kept = run.snapshots()
    found = np.array([np.abs(cosines(s["anchors"].numpy(), s["direction"].numpy()[None])[:, 0]) for s in kept.values()])
    return np.array(list(kept)), {kind: found[:, where] for kind, where in KINDS.items()}


def singular_values(run: StoredRun, step: int | None = None) -> np.ndarray:
    """Of the first layer's W^V at a snapshot, by default the last."""
    kept = run.snapshots()
    return kept[max(kept) if step is None else step]["spectrum"].numpy()


ROLES = ("key", "first anchor", "second anchor", "noise")


@remembered
def reading(run: StoredRun) -> np.ndarray:
    """(2 layers, 7 places, 4 roles): what the last token's attention gives to the key, to each anchor and to all the noise
    together, mean over the questions of each place. In the first layer it is that of the second anchor's place."""
    model = from_weights(run.spec.model, run.weights())
    found = np.zeros((2, N_PLACES, len(ROLES)))
    for place in range(N_PLACES):
        taps, batch = Taps(), placed(make_study(run.spec).task, place)
        model(batch[None], taps)
        for layer, query in ((0, place + 2), (1, POSITIONS - 1)):
            row = taps[f"attention.{layer + 1}"][0].mean((0, 1))[query].numpy()
            found[layer, place, :3] = row[place : place + 3]
        found[:, place, 3] = np.maximum(0, 1 - found[:, place, :3].sum(-1))
    return found


def placed(task: Task, place: int, n: int = 200) -> torch.Tensor:
    """(n, 9) reasoning rows whose key stands at this place."""
    every = task.every("reasoning")
    tokens = every.tokens[every.place == place]
    return tokens[:: max(1, len(tokens) // n)][:n]


@remembered
def moved(run: StoredRun) -> dict[str, tuple[float, float]]:
    """Does the second attention go by *where* the key is, or by *which* key it is? Its weight from the last token on the key's
    own place and on another place, with the attention keys (K of layer 2) of: "itself"; "same place", another sequence with its
    key at the same place; "other place", a sequence with its key at the other place. Means over every pair of places."""
    model = from_weights(run.spec.model, run.weights())
    task = make_study(run.spec).task
    rows = [placed(task, place, 60)[:50] for place in range(N_PLACES)]
    kept = []
    for tokens in rows:
        taps = Taps()
        model(tokens[None], taps)
        kept.append((taps["K.2"], taps["attention.2"][0, :, 0, -1]))
    found: dict[str, list[tuple[float, float]]] = {"itself": [], "same place": [], "other place": []}
    for own, tokens in enumerate(rows):
        for other in range(N_PLACES):
            if own == other:
                continue
            taken = {"same place": kept[own][0].roll(1, 1), "other place": kept[other][0]}
            weights = {"itself": kept[own][1]}
            for name, keys in taken.items():
                taps = Taps({"K.2": lambda _, keys=keys: keys})
                model(tokens[None], taps)
                weights[name] = taps["attention.2"][0, :, 0, -1]
            for name, weight in weights.items():
                found[name].append((float(weight[:, own].mean()), float(weight[:, other].mean())))
    return {name: tuple(np.mean(pairs, 0).tolist()) for name, pairs in found.items()}


AVERAGED = {"": "as trained", "attention.1": "with the causal average for the first attention", "attention.2": "for the second"}


@remembered
def averaged(run: StoredRun) -> dict[str, float]:
    """{tap: share of right answers to new reasoning rows with this attention as the causal average; "": as trained}."""
    model = from_weights(run.spec.model, run.weights())
    batch = Task(dict(run.spec.task).get("table_seed", 0)).every("reasoning", seed=1)
    chosen = torch.arange(0, len(batch.key), 13)
    tokens, target = batch.tokens[chosen], batch.target[chosen]
    edits = {name: lambda a: causal_average(LENGTH).expand_as(a) for name in AVERAGED if name}
    answer = lambda name: model(tokens[None], Taps({name: edits[name]} if name else {}))[0].argmax(-1)
    return {name: float((answer(name) == target).float().mean()) for name in AVERAGED}
