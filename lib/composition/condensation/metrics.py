"""How complex are the weights? Condensation, spectra, stable ranks, and whether they foretell the answer to (4, 3).

Sources: Figs 5 and 10–13 of Zhang et al. 2024; the stable rank as a measure of complexity from Zhang et al. 2025.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from torch import Tensor

from lib.composition.flip import CONFIRM_TRAIN, by_turn, of_new_seeds
from lib.composition.information_flow.metrics import compare_ways, composing, tsne, way
from lib.composition.phase_diagram.metrics import composes, has_counts, share_of, slips, step_shares
from lib.composition.runs import LEARNED, MAJORITY, MAPPINGS, exact_kind, learned_at
from lib.composition.spectra import N_EIGENVALUES, keys_eigenvalues, keys_embedding, relative_rank
from lib.core.read.fact import Fact, in_words, mean, span
from lib.core.read.measures import cosines, memoized
from lib.core.read.statistics import Comparison, numerical_order, two_sided
from lib.core.read.ways import KEY_FIRST, NEITHER
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


def lead(run: StoredRun) -> float:
    """How many times the second eigenvalue the largest is at the least, from the step on at which it has grown."""
    start = growth(run)[0]
    history = zip(*(run.history[name] for name in ("step", "eigenvalue 1", "eigenvalue 2")), strict=True)
    return min(first / second for step, first, second in history if step >= start and first is not None and second)


SMALL = 0.9
"""γ of small initialization, for the growth of eigenvalues (our choice)."""
LATER = 1.5
"""So many times as late as the largest the second eigenvalue grows where it follows (our choice)."""


def follows(run: StoredRun) -> bool:
    """Does the second eigenvalue grow LATER times as late as the largest?"""
    first, second, *_ = growth(run)
    return second >= LATER * first


def in_turn(run: StoredRun) -> bool:
    """Does the second follow, and the third grow later still?"""
    _, second, third, *_ = growth(run)
    return follows(run) and third > second


def peak_end(run: StoredRun) -> int:
    """The step from which the learning rate falls."""
    train = run.spec.train
    end = train.steps - train.anneal
    return min(end, run.fit_step + train.hold) if train.schedule == "fit" and run.fit_step is not None else end


LATE = 0.75
"""From this share of the steps before the rate falls on, growth is asked whether it goes on (our choice)."""


def late_change(run: StoredRun) -> float:
    """How much the largest eigenvalue moves in the last quarter of the steps before the learning rate falls: its largest value
    there over its smallest, less 1. Infinity where fewer than two evaluations lie there."""
    end = peak_end(run)
    history = zip(run.history["step"], run.history["eigenvalue 1"], strict=True)
    late = [value for step, value in history if value is not None and LATE * end <= step <= end]
    return max(late) / min(late) - 1 if len(late) > 1 else math.inf


def learned_before(run: StoredRun) -> bool:
    """Had it learned before the steps that `late_change` is asked of? Otherwise it says how a run learns, not whether growth
    stops."""
    return learned_at(run) <= LATE * peak_end(run)


def fall_change(run: StoredRun) -> float:
    """How much the largest eigenvalue gains while the learning rate falls: its last value over that at the last evaluation
    before, less 1."""
    history = zip(run.history["step"], run.history["eigenvalue 1"], strict=True)
    known = [(step, value) for step, value in history if value is not None]
    return known[-1][1] / [value for step, value in known if step <= peak_end(run)][-1] - 1


def growth_facts(high: Sequence[StoredRun], later: Sequence[StoredRun]) -> dict[str, Fact]:
    """How eigenvalues grow: of the new seeds at the higher γ that was trained first, and at the γ that judge it."""
    judged = [run for run in later if run.spec.gamma > SMALL and "eigenvalue 1" in run.history]
    at, at_judged = of_new_seeds(high), of_new_seeds(judged)
    late = f"second eigenvalue grows {LATER:g} times as late as the largest"
    count = in_words(sum(map(follows, high))), in_words(len(high))
    found = {"grow-late": Fact(count, "{} of {}", f"{late}, {at}")}
    everywhere = [*high, *judged]
    for name, some in (
        ("composing", composing(everywhere)),
        ("others", [run for run in everywhere if not composes(run)]),
    ):
        rests = f"least ratio of the largest eigenvalue to the second once it has grown, {name}, {of_new_seeds(everywhere)}"
        found[f"lead-{name}"] = Fact(min(map(lead, some), default=None), "{:.1f}", rests)
    settled = [run for run in judged if learned_before(run)]
    composed, table = ([run for run in settled if exact_kind(run) == kind] for kind in ("inferential", "symmetric"))
    for name, some, words in (
        ("runs", judged, "runs"),
        ("follow", list(filter(follows, judged)), late),
        ("turn", list(filter(in_turn, judged)), "of these, third later still"),
        ("unlearned", [run for run in judged if learned_at(run) > peak_end(run)], "not learned when the rate falls"),
        ("settled", settled, "learned before the last quarter of the steps before the rate falls"),
        ("composed", composed, "of these, inferential"),
        ("table", table, "of these, symmetric"),
    ):
        found[f"judged-{name}"] = Fact(in_words(len(some)), "{}", f"{words}, {at_judged}")
    moves = "change of the largest eigenvalue in the last quarter of the steps before the rate falls, of those that had learned"
    found["composed-change"] = Fact(span(map(late_change, composed)), "{:.0%} to {:.0%}", f"{moves}, inferential, {at_judged}")
    found["table-change"] = Fact(max(map(late_change, table), default=None), "{:.0%}", f"{moves}, symmetric, {at_judged}")
    gain = max(map(fall_change, table), default=None)
    found["table-gain"] = Fact(gain, "{:.0%}", f"the larger gain of the two while the rate falls, symmetric, {at_judged}")
    found["hold"] = Fact(CONFIRM_TRAIN.hold, "{:,}", "steps at the peak rate, from the step on at which the rows are known")
    found["known"] = Fact(CONFIRM_TRAIN.fit_level, "{:.0%}", "share of the training rows that has to be right for that")
    found["learned"] = Fact(LEARNED, "{:.0%}", "share of the training rows from which on a run has learned (our choice)")
    return found


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


def in_strands(run: StoredRun) -> float:
    """The share of the numbers whose nearest neighbour in the embedding is three or four away."""
    return float(step_shares(run)[2:4].sum())


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
        rests = f"of a run's answers that are not −10, those that are {' or '.join(map(str, offsets))}, {key}, {at['high']}"
        found[f"{key}-misses"] = Fact(span(m / n for m, n in missed if n), "{:.0%} to {:.0%}", rests)
    return found | rows_facts(runs.later) | growth_facts(runs.high, runs.later)


def rows_facts(later: Sequence[StoredRun]) -> dict[str, Fact]:
    """How numbers lie at the γ that judge whether the row goes with the way."""
    asked, at = composing(later), of_new_seeds(later)
    carrying = [run for run in later if way(run) == KEY_FIRST]
    others = [run for run in later if way(run) != KEY_FIRST]
    has_row = lambda runs: [run for run in runs if in_a_row(run) > MAJORITY]
    slipping = list(filter(slips, asked))
    found = {}
    for name, some, words in (
        ("composing", asked, "compose to within one step"),
        ("rows", has_row(asked), "of these, numbers in a row"),
        ("first-composing", composing(carrying), "of those that compose, key first"),
        ("first", carrying, "key first, composing or not"),
        ("first-rows", has_row(carrying), "of these, numbers in a row"),
        ("slips", slipping, "of those that compose, more −11 than −10"),
        ("both", has_row(slipping), "of the latter, numbers in a row"),
        ("first-strands", [r for r in carrying if in_strands(r) > MAJORITY], "key first, most numbers' neighbours 3 or 4 away"),
        ("others", others, "not key first"),
        ("other-strands", [r for r in others if in_strands(r) > MAJORITY], "of these, most numbers' neighbours 3 or 4 away"),
    ):
        found[f"later-{name}"] = Fact(in_words(len(some)), "{}", f"{words}, {at}")
    anyway = compare_ways(later, in_a_row)
    found["row-all-p"] = Fact(anyway and anyway.p, "{:.2g}", f"exact test, neighbours one apart, composing or not, {at}")
    strands = compare_ways(asked, lambda run: -in_strands(run))
    rests = f"exact test, neighbours 3 or 4 apart less often where the key goes first, of those that compose, {at}"
    found["strands-p"] = Fact(strands and strands.p, "{:.2g}", rests)
    return found
