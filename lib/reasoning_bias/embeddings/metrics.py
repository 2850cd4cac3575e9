"""Numbers of chapter 10: how embeddings lie and what they have moved, theory beside them, and the integrated flow."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lib.core.read.fact import Fact, in_words, mean, number_of, span
from lib.core.read.measures import cosines, mean_std, principal_map, seeds
from lib.core.read.statistics import numerical_order, spearman
from lib.core.record.start import at_start
from lib.core.record.store import Store, StoredRun, load
from lib.reasoning_bias import ratios, theory
from lib.reasoning_bias.experiments import QUIET, SMALL, flow_specs, long_specs
from lib.reasoning_bias.runs import (
    EARLY,
    EARLY_EMB,
    KINDS,
    LATE,
    anchors,
    at,
    emb_mlps,
    epoch,
    short,
    snapshot_near,
    transformers,
)
from lib.reasoning_bias.study import drive
from lib.reasoning_bias.task import FIRST_KEY, LAST_KEY, LENGTH, MEMORY, N_PLACES, REASONING, VOCAB, Task

PAPER_WIDTH = 200
"""The width d_m at which Theorem 1 is plotted: the paper's, as ours has too few coordinates for the labels."""
ALIKE = 0.5
"""From this mean cosine on the anchors of a kind are alike."""
SPREADS = (theory.SPREAD, *(float(v) for v in np.round(np.geomspace(1, 30, 60), 3)))
"""σ_P of Theorem 1 that are tried for the one that fits best."""
FEW = 0.01
"""Flow and training are compared as long as the loss has fallen by less than this share."""
NEAR = 0.1
"""The mean distance of cosines up to which two sets of vectors lie alike."""
ERROR, COSINE = 0.25, 0.95
"""Of the integrated displacement, against the trained one: where the flow arrives where training does."""
AS_PRINTED, BY_POSITIONS = "one layer, as printed", "one layer, by positions"
TENTH = ", a tenth of the batch"
SMALL_BATCH = BY_POSITIONS + TENTH


def told(values: Sequence[float] | np.ndarray, digits: int = 2) -> str:
    """Mean ± standard deviation, where that does not round to nothing."""
    return mean_std(values, digits).replace("-", "−").removesuffix(f" ± {0:.{digits}f}")


def at_times(store: Store, profile: str) -> dict[str, tuple[list[StoredRun], int]]:
    """{name: (runs at small initialization, step)} for both models at the paper's two times, and for the transformer without
    norms."""
    t, e = transformers(store, profile, SMALL), emb_mlps(store, profile, SMALL)
    plain = at(load(long_specs(profile)["no norms"], store), SMALL)
    return {
        "Emb-MLP early": (e, snapshot_near(e[0], EARLY_EMB)),
        "Emb-MLP late": (e, snapshot_near(e[0], LATE)),
        "transformer early": (t, snapshot_near(t[0], EARLY)),
        "transformer late": (t, snapshot_near(t[0], LATE)),
        "no norms early": (plain, snapshot_near(plain[0], EARLY)),
        "no norms late": (plain, snapshot_near(plain[0], LATE)),
    }


def anchors_of(model: Any) -> np.ndarray:
    """(20, D) embeddings of the anchors of a model (n_runs = 1)."""
    return model.embedding.token[0, MEMORY[0] : REASONING[-1] + 1].numpy()


def moved_by(run: StoredRun, step: int) -> np.ndarray:
    """(20, D) how far the anchors' embeddings have moved from their random start, at a snapshot."""
    return anchors(run, step) - anchors_of(at_start(run.spec))


def anchor_cosines(run: StoredRun, kind: str, step: int) -> np.ndarray:
    """(10, 10) cosines of the embeddings of the anchors of a kind."""
    vectors = anchors(run, step)[KINDS[kind]]
    return cosines(vectors, vectors)


def moved_cosines(run: StoredRun, step: int, kind: str = "reasoning") -> np.ndarray:
    """(10, 10) cosines of what the embeddings of the anchors of a kind have moved from their random start."""
    vectors = moved_by(run, step)[KINDS[kind]]
    return cosines(vectors, vectors)


def by_lag(matrix: np.ndarray) -> np.ndarray:
    """(n, n) → (n − 1,): means over the diagonals 1 … n − 1."""
    return np.array([np.diagonal(matrix, lag).mean() for lag in range(1, len(matrix))])


def lag_cosines(runs: Sequence[StoredRun], step: int) -> np.ndarray:
    """(runs, 9) mean cosines of reasoning anchors by their distance."""
    return np.array([by_lag(anchor_cosines(r, "reasoning", step)) for r in runs])


def off_diagonal(matrix: np.ndarray) -> np.ndarray:
    return matrix[~np.eye(len(matrix), dtype=bool)]


def exact_distributions() -> np.ndarray:
    """(10, V) P^s − 1 / d_vob of the reasoning anchors."""
    return np.array([theory.label_distribution(s) for s in REASONING]) - 1 / VOCAB


def sampled_distributions(rows: int) -> np.ndarray:
    """The same, counted in the training set of the laptop and paper profiles with this many rows."""
    batch = Task().rows(torch.tensor(0), torch.arange(rows))
    found = []
    for s in REASONING:
        holds = (batch.first == s) | (batch.second == s)
        counts = np.bincount(batch.target[holds].numpy(), minlength=VOCAB)
        found.append(counts / counts.sum())
    return np.array(found) - 1 / VOCAB


def exact_cosines() -> np.ndarray:
    """(10, 10) cosines of reasoning anchors of Proposition 1: those of P^s."""
    exact = exact_distributions()
    return cosines(exact, exact)


def own_spread(run: StoredRun, noisy: bool = False) -> tuple[float, float]:
    """The σ_P at which Eq. 12 fits the cosines of a run's reasoning anchors best, late in training, and the mean deviation.
    noisy: with what its noise ε, of mean squared length d^(1 − 2γ) at the run's width d, takes from the cosines on average."""
    found, off = anchor_cosines(run, "reasoning", snapshot_near(run, LATE)), {}
    noise = run.spec.model.d_model ** (1 - 2 * run.spec.gamma) if noisy else 0.0
    for sigma in SPREADS:
        shape = np.array([theory.fitted_shape(s, PAPER_WIDTH, spread=sigma) for s in REASONING])
        size = (shape**2).sum(1)
        left = np.sqrt(size / (size + noise))
        off[sigma] = distance(found, cosines(shape, shape) * np.outer(left, left))
    best = min(off, key=off.__getitem__)
    return best, off[best]


def own_line(run: StoredRun) -> tuple[float, float]:
    """The slope k of the straight line 1 − k · lag that fits the same cosines best, and the mean deviation: a baseline with as
    many free parameters as `own_spread`, exact (of a line through a point the best slope is the median of the points', each
    weighed by its lag)."""
    found = anchor_cosines(run, "reasoning", snapshot_near(run, LATE))
    i, j = np.triu_indices(len(found), 1)
    lag = j - i
    slopes = (1 - found[i, j]) / lag
    rising = np.argsort(slopes)
    weight = np.cumsum(lag[rising])
    k = float(slopes[rising][np.searchsorted(weight, weight[-1] / 2)])
    return k, float(np.abs(found[i, j] - (1 - k * lag)).mean())


def whole_embedding(run: StoredRun) -> np.ndarray:
    """(vocab, D) the trained embedding of all tokens. Raises StoreError where weights were not kept."""
    return run.weights()["embedding.token"].float().numpy().reshape(-1, run.spec.model.d_model)


def in_the_whole_plane(run: StoredRun) -> dict[str, np.ndarray]:
    """{kind: (n, 2)} where reasoning anchors, memory anchors and keys stand in the plane of the first two principal components
    of the *entire* embedding (Fig. 5B)."""
    vectors = whole_embedding(run)[MEMORY[0] : LAST_KEY + 1]
    points, _ = principal_map(vectors)
    tokens = {"reasoning": REASONING, "memory": MEMORY, "key": range(FIRST_KEY, LAST_KEY + 1)}
    return {kind: points[np.array(found) - MEMORY[0]] for kind, found in tokens.items()}


def plane_orders(run: StoredRun) -> dict[str, float]:
    """{kind: numeric order in that plane}: rank correlation of |i − j| with distance."""
    return {kind: numerical_order(points) for kind, points in in_the_whole_plane(run).items()}


def distance(matrix: np.ndarray, theory: np.ndarray) -> float:
    """Mean distance of cosines over the pairs of anchors. Both (10, 10)."""
    return float(np.abs(off_diagonal(matrix - theory)).mean())


def order(vectors: np.ndarray) -> float:
    """Numeric order in the plane of the first two principal components: rank correlation of |i − j| with distance."""
    return numerical_order(principal_map(vectors)[0])


def epoch_words(run: StoredRun, step: int) -> str:
    return f"epoch {step / epoch(run.spec):g}"


def memory_alike(runs: Sequence[StoredRun]) -> dict[int, float]:
    """{step of a snapshot: mean cosine of memory anchors, mean over runs}."""
    mean = lambda run, step: off_diagonal(anchor_cosines(run, "memory", step)).mean()
    return {step: float(np.mean([mean(run, step) for run in runs])) for step in runs[0].snapshots()}


def highest_alike(run: StoredRun) -> float:
    """The mean cosine of a run's memory anchors at the snapshot where it is highest."""
    return max(memory_alike([run]).values())


def falls(runs: Sequence[StoredRun], share: float) -> list[float]:
    """Of each run, the rank correlation of distance and the mean cosine of reasoning anchors, at the snapshot nearest to this
    share of training; nothing of no runs."""
    step = snapshot_near(runs[0], share) if runs else 0
    return [spearman(np.arange(1.0, 1.0 + len(by)), by) for by in lag_cosines(runs, step)]


def matrices(
    times: Mapping[str, tuple[Sequence[StoredRun], int]], seed: int
) -> tuple[dict[str, dict[str, np.ndarray]], list[StoredRun]]:
    """Columns for the figure of cosine matrices, of one seed, and the runs they are of."""
    columns, used = {}, []
    for name, (runs, step) in times.items():
        run = next((r for r in runs if r.spec.seed == seed), runs[0])
        model = name.rsplit(" ", 1)[0]
        columns[f"{model}\n{epoch_words(run, step)}"] = {kind: anchor_cosines(run, kind, step) for kind in KINDS}
        used.append(run)
    return columns, used


def formation(runs: Sequence[StoredRun]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Epochs (n,) and mean cosines along training, each (seeds, n)."""
    steps = list(runs[0].snapshots())
    lag = np.array([[by_lag(anchor_cosines(r, "reasoning", s)) for s in steps] for r in runs])
    memory = [[off_diagonal(anchor_cosines(r, "memory", s)).mean() for s in steps] for r in runs]
    names = ("reasoning, distance 1", "reasoning, distance 9", "memory")
    return np.array(steps) / epoch(runs[0].spec), dict(zip(names, (lag[..., 0], lag[..., -1], np.array(memory)), strict=True))


def label_spread() -> float:
    """Standard deviation of the labels of a reasoning anchor, which is the same for all."""
    p, i = exact_distributions()[0] + 1 / VOCAB, np.arange(VOCAB)
    return float(np.sqrt((p * (i - (p * i).sum()) ** 2).sum()))


@dataclass(frozen=True)
class FlowError:
    """The integrated flow against training: steps (n,); for each kind the relative error and the cosine of the displacement
    from the start, (n, 10); and by how much the embeddings have grown, displacement over start, (n,)."""

    steps: np.ndarray
    error: dict[str, np.ndarray]
    cosine: dict[str, np.ndarray]
    grown: np.ndarray


@dataclass(frozen=True)
class Compared:
    """Flow and training at one step: for each kind the means over its anchors of error and cosine; by how much the embeddings
    have moved, over their size, and the loss has fallen, over what it was."""

    step: int
    error: dict[str, float]
    cosine: dict[str, float]
    grown: float
    fallen: float


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
    moved, by_flow = ours - start, theirs - start
    size = np.linalg.norm(moved, axis=-1)
    error = np.linalg.norm(theirs - ours, axis=-1) / size
    cosine = (by_flow * moved).sum(-1) / (size * np.linalg.norm(by_flow, axis=-1))
    grown = np.sqrt((moved**2).sum((1, 2)) / (start**2).sum())
    split = lambda values: {kind: values[:, where] for kind, where in KINDS.items()}
    return FlowError(steps, split(error), split(cosine), grown)


def flow_cases(store: Store, profile: str) -> dict[str, tuple[list[StoredRun], bool]]:
    """{name: (runs, whether the residual stream counts by positions)} of what is compared with training."""
    runs = {name: load(specs, store) for name, specs in flow_specs(profile).items()}
    return {
        "Emb-MLP": (runs["Emb-MLP"], False),
        AS_PRINTED: (runs[QUIET], False),
        BY_POSITIONS: (runs[QUIET], True),
        AS_PRINTED + TENTH: (runs["one layer"], False),
        SMALL_BATCH: (runs["one layer"], True),
    }


def first_loss(run: StoredRun) -> float:
    """The loss of the two trained sets before training, in nats."""
    return float(np.mean([ratios.first_losses(run)[name] for name in ("memory", "reasoning")]))


def compared(run: StoredRun, exact: bool) -> Compared:
    """At the last snapshot before the loss has fallen by FEW. Raises LookupError where there is none."""
    found = flow_error(run, exact)
    loss = dict(zip(run.history["step"], run.history["loss"], strict=True))
    first = first_loss(run)
    held = lambda i: (value := loss[int(found.steps[i])]) is not None and value > (1 - FEW) * first
    good = list(itertools.takewhile(held, range(len(found.steps))))
    if not good:
        raise LookupError("the loss has fallen before the first snapshot")
    i, step = good[-1], int(found.steps[good[-1]])
    mean = lambda parts: {kind: float(values[i].mean()) for kind, values in parts.items()}
    return Compared(step, mean(found.error), mean(found.cosine), float(found.grown[i]), 1 - loss[step] / first)


def flow_numbers(run: StoredRun, exact: bool) -> tuple[float, float]:
    """Error and cosine there, means over anchors of both kinds."""
    found = compared(run, exact)
    return float(np.mean([*found.error.values()])), float(np.mean([*found.cosine.values()]))


def loss_left(runs: Sequence[StoredRun]) -> tuple[np.ndarray, np.ndarray]:
    """Steps (n,) and training losses (runs, n), means since the evaluation before, over those before training."""
    values = np.array([run.history["loss"] for run in runs], dtype=float)
    return np.array(runs[0].history["step"]), values / np.array([[first_loss(run)] for run in runs])


def facts_on_shape(circuits: Mapping[str, Sequence[StoredRun]]) -> dict[str, Fact]:
    """What the text of chapter 10 says of Theorem 1's bump and of the straight line beside it, over all γ. `circuits`:
    {circuit: runs}, the paper's first."""
    runs = [run for group in circuits.values() for run in group]
    bump, line = ([fit(run)[1] for run in runs] for fit in (own_spread, own_line))
    noisy = [own_spread(run, noisy=True)[1] for run in runs]
    ahead = [a < b for a, b in zip(line, noisy, strict=True)]
    n_paper = len(next(iter(circuits.values())))
    loose = [run for run, left in zip(runs, bump, strict=True) if left > NEAR]
    small = [[run for run in group if run.spec.gamma == SMALL] for group in circuits.values()]
    left = lambda fit, group: mean(fit(run)[1] for run in group)
    who = f"of {number_of(len(runs), 'run')} over γ"
    found = {
        "shaped": Fact(in_words(len(runs)), "{}", "runs over γ"),
        "loose": Fact(in_words(len(loose)), "{}", f"{who}, those whose bump leaves more than {short(NEAR)}"),
        "loosest": Fact(max(bump, default=None), "{:.2f}", f"mean distance of cosines that the bump leaves, highest {who}"),
        "line-better": Fact(
            (sum(a < b for a, b in zip(line, bump, strict=True)), len(runs)),
            "{} of {}",
            "runs over γ in which a straight line 1 − k · lag leaves less than the bump, each with one free parameter",
        ),
        "noisy-loosest": Fact(
            max(noisy, default=None), "{:.2f}", f"the same with the bump's noise at our width, highest {who}"
        ),
        "noisy-better": Fact((sum(ahead), len(runs)), "{} of {}", "runs over γ in which the line leaves less than that"),
        "noisy-paper": Fact((sum(ahead[:n_paper]), n_paper), "{} of {}", "of these, with the paper's circuit"),
        "line-most": Fact(max(line, default=None), "{:.2f}", f"mean distance that the line leaves, highest {who}"),
    }
    for (key, kind), group in zip((("", "the paper's"), ("-other", "the other")), small, strict=True):
        rests = f"{number_of(len(group), 'run')} at γ = {SMALL:g} with {kind} circuit"
        for name, fit in (("bump", own_spread), ("line", own_line)):
            found[f"{name}-left{key}"] = Fact(
                left(fit, group), "{:.3f}", f"mean distance of cosines that the {name} leaves, mean of {rests}"
            )
    return found


BEYOND = 1.0
"""The smallest of our starts, at which memory anchors are alike in some runs with norms, too."""
ORDERED_TOO = (0.3, 0.4)
"""Larger starts whose reasoning anchors are in order late: the one's in Emb-MLP, the other's in the transformer, too."""


def facts_on_starts(emb: Sequence[StoredRun], transformer: Sequence[StoredRun], new: Sequence[StoredRun]) -> dict[str, Fact]:
    """What the text of chapter 10 says of starts beside SMALL. emb, transformer: the main runs over γ; new: the later ones,
    whose circuits are known."""
    rank = "rank correlation of distance and mean cosine, late, by seed"
    low, high = ORDERED_TOO
    some = lambda runs, gamma: [run for run in runs if run.spec.gamma == gamma]  # a small profile may lack a start
    own = some(transformer, BEYOND)
    alike = [highest_alike(run) for run in (*own, *some(new, BEYOND))]
    return {
        "falls-emb": Fact(span(falls(some(emb, low), LATE)), "{:.2f} to {:.2f}", f"{rank}, Emb-MLP at γ = {low:g}"),
        "falls-transformer": Fact(
            span(falls(some(transformer, high), LATE)), "{:.2f} to {:.2f}", f"{rank}, transformer at γ = {high:g}"
        ),
        "alike-smaller": Fact(
            max(memory_alike(own).values()) if own else None,
            "{:.2f}",
            f"mean cosine of memory anchors, transformer with norms, γ = {BEYOND:g}, highest snapshot, {seeds(own)} seeds",
        ),
        "alike-runs": Fact(
            (sum(value >= ALIKE for value in alike), len(alike)),
            "{} of {}",
            f"runs at γ = {BEYOND:g} with norms in which it is {ALIKE:g} or more at a snapshot",
        ),
    }


def facts(
    times: Mapping[str, tuple[Sequence[StoredRun], int]],
    cases: Mapping[str, tuple[Sequence[StoredRun], bool]],
    circuits: Mapping[str, Sequence[StoredRun]],
) -> dict[str, Fact]:
    """What the text of chapter 10 says. `circuits`: {circuit: runs at SMALL}, the paper's first."""
    late, step = times["transformer late"]
    who = f"{len(late)} seeds"
    lags = lag_cosines(late, step)
    lag, far = lags.mean(0), lags[:, -1]
    alike = lambda name: mean(off_diagonal(anchor_cosines(r, "memory", times[name][1])).mean() for r in times[name][0])
    emb = times["Emb-MLP early"][0]
    first = min(emb[0].snapshots())
    exact = exact_cosines()
    plain = memory_alike(times["no norms late"][0])
    flow = {name: [compared(run, exact_).error for run in runs] for name, (runs, exact_) in cases.items()}
    spreads = [[own_spread(run) for run in runs] for runs in circuits.values()]
    whole = [plane_orders(run)["reasoning"] for run in late if run.has_weights]
    found = {
        "near": Fact(float(lag[0]), "{:.2f}", f"mean cosine of neighbouring reasoning anchors, transformer, late, {who}"),
        "far": Fact((float(far.min()), float(far.max())), "{:.2f} to {:.2f}", f"the same at distance 9, by seed, {who}"),
        "emb-alike": Fact(alike("Emb-MLP early"), "{:.2f}", "mean cosine of memory anchors, Emb-MLP, early"),
        "alike": Fact(
            max(memory_alike(late).values()), "{:.2f}", f"mean cosine of memory anchors, transformer, highest snapshot, {who}"
        ),
        "plain-alike": Fact(max(plain.values()), "{:.2f}", "the same without norms"),
        "whole": Fact(
            (min(whole), max(whole)) if whole else None,
            "{:.2f} to {:.2f}",
            f"order of reasoning anchors in the plane of all tokens, {who}",
        ),
        "moved": Fact(
            mean(distance(moved_cosines(r, first), exact) for r in emb),
            "{:.2f}",
            "mean distance of cosines from P^s, what Emb-MLP moved in an epoch",
        ),
        "width": Fact(label_spread(), "{:.0f}", "standard deviation of an anchor's label distribution"),
        "paper-runs": Fact(in_words(len(spreads[0])), "{}", f"runs with the paper's circuit at γ = {SMALL:g}"),
        "spread": Fact(
            mean(s for s, _ in spreads[0]),
            "{:.1f}",
            f"σ_P that fits best, mean of {number_of(len(spreads[0]), 'run')} with the paper's circuit",
        ),
        "spread-other": Fact(
            mean(s for s, _ in spreads[1]), "{:.1f}", f"the same, {number_of(len(spreads[1]), 'run')} with the other"
        ),
        "off": Fact(
            max((o for _, o in spreads[0]), default=None),
            "{:.2f}",
            "mean distance of cosines there, highest run, paper's circuit",
        ),
    }
    for key, name in (("emb", "Emb-MLP"), ("printed", AS_PRINTED), ("positions", BY_POSITIONS)):
        for kind in KINDS:
            value = mean(error[kind] for error in flow[name])
            found[f"flow-{key}-{kind}"] = Fact(
                value, "{:.2f}", f"relative error of the flow's displacement, {name}, {kind} anchors"
            )
    return found


def flow_rows(cases: Mapping[str, tuple[Sequence[StoredRun], bool]]) -> list[tuple[str, ...]]:
    """(case, errors and cosines of both kinds, step, how far the loss has fallen and embeddings have moved there)."""
    rows = []
    for name, (runs, exact) in cases.items():
        at_ = [compared(run, exact) for run in runs]
        numbers = [
            told([getattr(c, what)[kind] for c in at_], 2 + (what == "cosine"))
            for what in ("error", "cosine")
            for kind in KINDS
        ]
        rest = (told([c.step for c in at_], 0), f"{100 * np.mean([c.fallen for c in at_]):.1f}%", told([c.grown for c in at_]))
        rows.append((name, *numbers, *rest))
    return rows
