"""How complex are the weights? Condensation, spectra, stable ranks, and whether they foretell the answer to (4, 3).

Sources: Figs 5 and 10–13 of Zhang et al. 2024; the stable rank as a measure of complexity from Zhang et al. 2025.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from torch import Tensor

from lib.composition.flip import by_turn, of_new_seeds
from lib.composition.information_flow.metrics import KEY_FIRST, NEITHER, compare_ways, composing, tsne, way
from lib.composition.phase_diagram.metrics import MAJORITY, exact_kind, has_counts, share_of, slips, step_shares
from lib.composition.runs import MAPPINGS
from lib.composition.spectra import N_EIGENVALUES, keys_eigenvalues, keys_embedding, relative_rank
from lib.core.read.fact import Fact, in_words, mean, span
from lib.core.read.measures import cosines, memoized
from lib.core.read.statistics import Comparison, numerical_order, two_sided
from lib.core.record.store import StoredRun

ALIKE = 0.7
"""Neurons whose input weights have a cosine above this belong together (the paper's threshold)."""


def matrices(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weight matrices of a model's blocks: no norms and no biases."""
    return {n: w for n, w in weights.items() if n.startswith("blocks") and w.dim() >= 2 and "weight" in n and "norm" not in n}


def neuron_cosines(weight: np.ndarray) -> np.ndarray:
    """(d_in, n) → (n, n): cosines of the input weights of n neurons, the columns of our matrices."""
    return cosines(weight.T, weight.T)


def greedy_groups(cosine: np.ndarray) -> list[list[int]]:
    """Take the first neuron without a group, append every other without one whose cosine with it is above ALIKE;
    repeat (Zhang et al. 2024, Fig. 10)."""
    left, groups = list(range(len(cosine))), []
    while left:
        first = left[0]
        group = [first, *(i for i in left[1:] if cosine[first, i] > ALIKE)]
        groups.append(group)
        left = [i for i in left if i not in set(group)]
    return groups


def condensation(cosine: np.ndarray) -> float:
    """Share of neurons that are one too many: 1 − groups / neurons. 0 if all directions differ; towards 1 as they condense.

    Signs are ignored: opposite neurons condense on one line.
    """
    return 1 - len(greedy_groups(np.abs(cosine))) / len(cosine)


def measures(weights: Mapping[str, Tensor]) -> dict[str, float]:
    """The complexity of one run in a few numbers. Ranks are shares of the largest that the matrix could have."""
    share = {name: float(relative_rank(w)) for name, w in matrices(weights).items()}
    eigenvalues = keys_eigenvalues(weights)
    query = weights["blocks.0.attention.W_Q.weight"].numpy()
    return {
        "mean stable rank": float(np.mean(list(share.values()))),
        "stable rank of W_Q(1)": share["blocks.0.attention.W_Q.weight"],
        "embedding's effective dimension": float(eigenvalues.sum() ** 2 / eigenvalues.square().sum()) / len(eigenvalues),
        "condensation of W_Q(1)": condensation(neuron_cosines(query)),
        "order of the embedding": numerical_order(keys_embedding(weights)),
    }


@memoized
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


Place = TypeVar("Place")


def neuron_cells(runs: Mapping[Place, StoredRun]) -> dict[Place, np.ndarray]:
    query = lambda r: r.weights()["blocks.0.attention.W_Q.weight"].numpy()
    return {place: neuron_cosines(query(run)) for place, run in runs.items()}


@memoized
def embedding_map(run: StoredRun) -> np.ndarray:
    """(80, 2) map of the embeddings of 20 … 99: t-SNE from a PCA start."""
    return tsne(keys_embedding(run.weights()), 10)


def phase_panels(runs: Sequence[StoredRun]) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each run what Fig. 5 shows: cosines of the neurons of W_Q(1), and the map of its embedding."""
    return [(neuron_cells({0: run})[0], embedding_map(run)) for run in runs]


def embedding_cells(runs: dict[tuple, StoredRun]) -> dict[tuple, np.ndarray]:
    """{place: (80, 3)}: map and order of the embedding."""
    return {
        place: np.c_[embedding_map(run), np.full(80, measures_of(run)["order of the embedding"])] for place, run in runs.items()
    }


# --- Growth along training ---

TENTH = 0.1
"""An eigenvalue has grown once it is this share of the largest that it becomes (our choice)."""


def growth(run: StoredRun) -> list[float]:
    """For each recorded eigenvalue the first evaluated step at which it is TENTH of the largest value that it takes."""
    found = []
    for i in range(N_EIGENVALUES):
        values = [math.nan if v is None else v for v in run.history.get(f"eigenvalue {i + 1}", [])]
        if values:
            found.append(float(run.history["step"][int(np.argmax(np.array(values) >= TENTH * np.nanmax(values)))]))
    return found


def late_change(run: StoredRun) -> float:
    """How much the largest eigenvalue moves in the last quarter of the steps before the learning rate falls: its largest value
    there over its smallest, less 1. Infinity where fewer than two evaluations lie there."""
    train = run.spec.train
    end = train.steps - train.anneal
    if train.schedule == "fit" and run.fit_step is not None:
        end = min(end, run.fit_step + train.hold)
    history = zip(run.history["step"], run.history["eigenvalue 1"], strict=True)
    late = [value for step, value in history if value is not None and 0.75 * end <= step <= end]
    return max(late) / min(late) - 1 if len(late) > 1 else math.inf


# --- Does a number foretell the answer, or the way? ---


def best_measure(runs: Sequence[StoredRun]) -> tuple[str, float, float] | None:
    """Which of the measures tells decided inferential runs from symmetric ones of the same γ best, and how often chance alone
    would tell them so well, in either direction; and the least that so many runs allow. None where no γ has both."""
    kinds = {run.path: exact_kind(run) for run in runs}
    decided = [run for run in runs if kinds[run.path] in MAPPINGS]
    both = {g for g in {r.spec.gamma for r in decided} if len({kinds[r.path] for r in decided if r.spec.gamma == g}) == 2}
    asked = [run for run in decided if run.spec.gamma in both]
    if not asked:
        return None
    positive, stratum = [kinds[r.path] == "inferential" for r in asked], [r.spec.gamma for r in asked]
    p = {n: two_sided([measures_of(r)[n] for r in asked], positive, stratum) for n in measures_of(asked[0])}
    return *min(p.items(), key=lambda item: item[1]), two_sided(positive, positive, stratum)


def in_a_row(run: StoredRun) -> float:
    """The share of the numbers whose nearest neighbour in the embedding is the next number, up or down."""
    return float(step_shares(run)[0])


def row_compared(runs: Sequence[StoredRun]) -> Comparison | None:
    """in_a_row of the runs that compose to within one step, key first against key last."""
    return compare_ways(composing(runs), in_a_row)


def facts(new: Sequence[StoredRun]) -> dict[str, Fact]:
    """What the text of chapter 5 says, of the new seeds."""
    runs = by_turn(new)
    at = {name: of_new_seeds(some) for name, some in runs._asdict().items()}
    found = {"alike": Fact(ALIKE, "{:g}", "the paper's threshold for the cosine of two neurons of one group")}
    short = {
        "condensed": ("condensation of W_Q(1)", "{:.0%}"),
        "order": ("order of the embedding", "{:.2f}"),
        "dimension": ("embedding's effective dimension", "{:.0%}"),
        "rank": ("mean stable rank", "{:.0%}"),
    }
    for end, group in (("low", runs.low), ("high", runs.high)):
        for key, (name, form) in short.items():
            value = mean(measures_of(run)[name] for run in group)
            found[f"{key}-{end}"] = Fact(value, form, f"{name}, mean {at[end]}")
    first = [run for run in runs.high if way(run) == KEY_FIRST]
    late = [run for run in runs.high if way(run) not in (KEY_FIRST, NEITHER)]
    for name, group, step in (("first", first, 1), ("late", late, 3)):
        found[f"{name}-runs"] = Fact(in_words(len(group)), "{}", f"key {name}, {at['high']}")
        shares = span(float(step_shares(run)[step - 1]) for run in group)
        rests = f"share of the numbers whose nearest neighbour is {step} away, key {name}, {at['high']}"
        found[f"{name}-step"] = Fact(shares, "{:.0%} to {:.0%}", rests)
    row = row_compared(runs.high)
    found["row-p"] = Fact(row and row.p, "{:.2g}", f"exact test, neighbours one apart, {at['high']}; found in these runs")
    for key, group, offsets in (("first", first, (-11,)), ("late-one", late, (-9, -11)), ("late-three", late, (-7, -13))):
        missed = [(share_of(run, offsets), 1 - run.metrics["inferential"]) for run in group if has_counts(run)]
        share = sum(m for m, _ in missed) / sum(n for _, n in missed) if missed else None
        rests = f"of the answers that are not −10, those that are {' or '.join(map(str, offsets))}, {key}, {at['high']}"
        found[f"{key}-misses"] = Fact(share, "{:.0%}", rests)
    lags = [growth(run) for run in runs.high]
    count = in_words(sum(b >= 1.5 * a for a, b, *_ in lags)), in_words(len(lags))
    found["grow-late"] = Fact(count, "{} of {}", f"second eigenvalue grows half again as late as the largest, {at['high']}")
    change = span(map(late_change, runs.high))
    found["late-change"] = Fact(change, "{:.0%} to {:.0%}", f"change of the largest before the rate falls, {at['high']}")
    asked = composing(runs.later)
    row_runs, slipping = [run for run in asked if in_a_row(run) > MAJORITY], list(filter(slips, asked))
    both = [run for run in slipping if in_a_row(run) > MAJORITY]
    for name, some, words in (
        ("composing", asked, "compose to within one step"),
        ("rows", row_runs, "of these, numbers in a row"),
        ("slips", slipping, "of these, more −11 than −10"),
        ("both", both, "of the latter, numbers in a row"),
    ):
        found[f"later-{name}"] = Fact(in_words(len(some)), "{}", f"{words}, {at['later']}")
    return found
