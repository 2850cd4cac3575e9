"""What runs answer to (4, 3): by kind, run by run; all answers counted; the grid over γ and depth.

The paper counts two answers exactly, key − 6 and key − 10. A model that confuses neighbouring numbers composes and still misses
by one or three. So there is a second reading beside the exact one, added after seeing data: does an answer lie nearer −10 or
nearer −6, and what is the median offset?
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
import torch

from lib.composition.controls import DEPTH_GAMMAS, DEPTHS, ROUNDING_GAMMAS
from lib.composition.diagram import DECAY, PHASE, WIDTH, gain, gamma_of_gain
from lib.composition.experiments import FAST, GRIDS
from lib.composition.flip import RANGE, by_turn, groups_of, of_new_seeds
from lib.composition.runs import (
    MAJORITY,
    MAPPINGS,
    MOST_ROWS,
    exact_kind,
    learned_among,
    learned_at,
    log_steps,
    offsets_by_key,
    preference,
)
from lib.composition.separation import SEPARATION
from lib.composition.spectra import keys_embedding
from lib.composition.study import LOW_KEYS, OFFSETS, histogram
from lib.composition.task import (
    FIRST_KEY,
    HELD_OUT,
    INFERENTIAL_OFFSET,
    LAST_KEY,
    N_KEYS,
    SYMMETRIC_OFFSET,
    taught,
)
from lib.composition.variations import FLIP, KEYS, SEARCH
from lib.core.model.transformer import ModelSpec
from lib.core.read import roundings
from lib.core.read.fact import Fact, in_words, mean, span
from lib.core.read.measures import memoized, seeds
from lib.core.read.roundings import MOVED, SHORT, SINGLE, Arms, split
from lib.core.read.statistics import (
    LEAD,
    SHARE,
    Comparison,
    Trend,
    agreement_by_chance,
    bootstrap_indices,
    compare,
    fisher_exact,
    interval,
    mean_interval,
    runs_to_tell,
    sign_flips,
    sign_test_by,
    slope,
    spearman,
)
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store, StoredRun, load, load_stored

# --- The grid over γ and depth ---


def fast_runs(store: Store, profile: str) -> list[StoredRun]:
    return load(FAST.specs(profile), store)


@dataclass(frozen=True)
class PhaseTable:
    """Runs on a full grid. Arrays are (depths, gammas, seeds, rates); accuracies are shares in [0, 1]."""

    depths: np.ndarray
    gammas: np.ndarray
    seeds: np.ndarray
    rates: np.ndarray
    test: np.ndarray
    symmetric: np.ndarray
    inferential: np.ndarray

    def selected(self, mapping: str) -> tuple[np.ndarray, np.ndarray]:
        """The paper's selection: for each seed the best accuracy over the rates, then the mean over seeds.

        Returns (accuracy, test accuracy of the runs that were chosen), each (depths, gammas). It is taken for each mapping by
        itself, so it flatters both (Zhang et al. 2024, appendix A).
        """
        accuracy = getattr(self, mapping)
        best = accuracy.argmax(-1)[..., None]
        test = np.take_along_axis(self.test, best, -1)[..., 0]
        return accuracy.max(-1).mean(-1), test.mean(-1)


def phase_table(runs: Sequence[StoredRun]) -> PhaseTable:
    """Arrange runs by depth, γ, seed and rate. Raises ValueError unless they fill their grid, each cell once."""
    place = lambda run: (run.spec.model.depth, run.spec.gamma, run.spec.seed, run.spec.rate)
    axes = [sorted(set(values)) for values in zip(*map(place, runs), strict=True)]
    shape = tuple(map(len, axes))
    if not runs or len(runs) != np.prod(shape):
        raise ValueError(f"{len(runs)} runs do not fill a grid of {' x '.join(map(str, shape))} (depth, gamma, seed, rate).")
    arrays = {name: np.full(shape, np.nan) for name in ("test", *MAPPINGS)}
    for run in runs:
        at = tuple(axis.index(v) for axis, v in zip(axes, place(run), strict=True))
        for name, array in arrays.items():
            array[at] = run.metrics[name]
    if any(np.isnan(array).any() for array in arrays.values()):
        raise ValueError("two runs share a cell of the (depth, gamma, seed, rate) grid, so another is empty.")
    return PhaseTable(*(np.array(axis) for axis in axes), **arrays)


# --- Answers, counted ---


@memoized
def counts(run: StoredRun) -> np.ndarray:
    """(34,) how often each of OFFSETS was answered to (4, 3), and last all others; from the weights where it was not counted.

    Raises StoreError for a run that has neither counts nor weights.
    """
    if "offsets" in run.metrics:
        return np.array(run.metrics["offsets"], dtype=float)
    return histogram(torch.as_tensor(offsets_by_key(run)).flatten()[None])[0].numpy().astype(float)


def has_counts(run: StoredRun) -> bool:
    return "offsets" in run.metrics or run.has_weights


def shares(run: StoredRun) -> np.ndarray:
    """(34,) the same as shares of all answers."""
    found = counts(run)
    return found / found.sum()


def share_of(run: StoredRun, offsets: Sequence[int]) -> float:
    """Share of the answers with one of these offsets."""
    return float(sum(shares(run)[OFFSETS.index(o)] for o in offsets))


WITHIN_ONE = (INFERENTIAL_OFFSET - 1, INFERENTIAL_OFFSET, INFERENTIAL_OFFSET + 1)
"""The inferential answer and one step to either side: exploratory."""


def composes(run: StoredRun) -> bool:
    """Does a run compose to within one step: are more than half of its answers to (4, 3) −9, −10 or −11?"""
    return has_counts(run) and share_of(run, WITHIN_ONE) > MAJORITY


MISTAKEN = tuple(taught((HELD_OUT[0] + i, HELD_OUT[1] + j)) for i, j in ((0, 1), (0, -1), (-1, 0)))
"""What the seen pairs are taught that have one function of (4, 3) and a neighbour of the other, (4, 4), (4, 2) and (3, 3)."""


def mistakes(run: StoredRun) -> bool:
    """Does a run take the held-out pair for a neighbour: are more than half of its answers what one of these is taught?"""
    return has_counts(run) and share_of(run, MISTAKEN) > MAJORITY


def slips(run: StoredRun) -> bool:
    """Does it answer one too low, −11, more often than −10?"""
    return has_counts(run) and share_of(run, [INFERENTIAL_OFFSET - 1]) > run.metrics["inferential"]


MIDDLE = (SYMMETRIC_OFFSET + INFERENTIAL_OFFSET) / 2


def kind(run: StoredRun) -> str:
    """The mapping to whose offset more than half of the answers lie nearer than to the other's; "neither" where there is none.
    An answer in the middle, or outside OFFSETS, is nearer to none."""
    sides = {"symmetric": [o for o in OFFSETS if o > MIDDLE], "inferential": [o for o in OFFSETS if o < MIDDLE]}
    return next((name for name, side in sides.items() if share_of(run, side) > 0.5), "neither")


def exact_above(run: StoredRun) -> float:
    """Share of exactly inferential answers to keys from 30 on, whose answers occur in the input."""
    if "offsets" in run.metrics:
        high = counts(run) - np.array(run.metrics["offsets_low"], dtype=float)
        return float(high[OFFSETS.index(INFERENTIAL_OFFSET)] / high.sum())
    return float((offsets_by_key(run)[LOW_KEYS - FIRST_KEY :] == INFERENTIAL_OFFSET).mean())


def neighbour_steps(run: StoredRun) -> np.ndarray:
    """(80,) how far from each number, as a number, its nearest neighbour in the embedding is (Zhang et al. 2024, Fig. 5c)."""
    vectors = keys_embedding(run.weights())
    distance = np.linalg.norm(vectors[:, None] - vectors[None], axis=-1)
    np.fill_diagonal(distance, np.inf)
    return np.abs(distance.argmin(1) - np.arange(len(vectors)))


FARTHEST = 8
"""The largest step that is told apart from larger ones."""


def step_shares(run: StoredRun) -> np.ndarray:
    """(FARTHEST + 1,) share of numbers whose nearest neighbour is 1, 2, …, FARTHEST or further away."""
    steps = Counter(np.minimum(neighbour_steps(run), FARTHEST + 1).tolist())
    return np.array([steps[i + 1] for i in range(FARTHEST + 1)]) / (LAST_KEY - FIRST_KEY + 1)


# --- What figures show ---


def answer_columns(runs: Sequence[StoredRun]) -> tuple[list[float], np.ndarray]:
    """(γ of each run, (33, runs) shares of OFFSETS), a column a run, ordered by γ, seed and rate."""
    ordered = sorted(runs, key=lambda r: (r.spec.gamma, r.spec.seed, r.spec.rate))
    return [run.spec.gamma for run in ordered], np.array([shares(run)[:-1] for run in ordered]).T


def steps_by_gamma(runs: Sequence[StoredRun]) -> dict[float, np.ndarray]:
    """{γ: (FARTHEST + 1,) step_shares, mean over its runs}, in ascending order."""
    gammas = sorted({run.spec.gamma for run in runs})
    return {g: np.mean([step_shares(r) for r in runs if r.spec.gamma == g], 0) for g in gammas}


# --- A row of γ ---

HALF = 0.5
"""A mapping is ahead where its share is larger than the other's by this much: half of all answers (our choice)."""


@dataclass(frozen=True)
class Ends:
    """The two ends of a row of γ: where each mapping's mean share is largest, and both means there."""

    gamma: dict[str, float]
    mean: dict[str, dict[str, float]]

    @property
    def lead(self) -> dict[str, float]:
        """How far each mapping is ahead of the other one where it is strongest."""
        return {m: self.mean[m][m] - self.mean[m][other] for m, other in (MAPPINGS, MAPPINGS[::-1])}


def ends(runs: Sequence[StoredRun]) -> Ends:
    """Raises ValueError for no runs."""
    if not runs:
        raise ValueError("a row of γ needs runs.")
    gammas = sorted({run.spec.gamma for run in runs})
    means = {g: {m: float(np.mean([r.metrics[m] for r in runs if r.spec.gamma == g])) for m in MAPPINGS} for g in gammas}
    gamma = {m: max(gammas, key=lambda g, m=m: means[g][m]) for m in MAPPINGS}
    return Ends(gamma, {m: means[gamma[m]] for m in MAPPINGS})


def largest(runs: Sequence[StoredRun], mapping: str) -> Trend:
    """A mapping's mean share where it is strongest, and the 95 % interval over the runs there."""
    gamma = ends(runs).gamma[mapping]
    return mean_interval([run.metrics[mapping] for run in runs if run.spec.gamma == gamma], SHARE)


def lead_interval(runs: Sequence[StoredRun], mapping: str) -> Trend:
    """How far a mapping is ahead where it is strongest, and the 95 % interval over the runs there."""
    gamma = ends(runs).gamma[mapping]
    (other,) = (m for m in MAPPINGS if m != mapping)
    return mean_interval([run.metrics[mapping] - run.metrics[other] for run in runs if run.spec.gamma == gamma], LEAD)


def near(runs: Sequence[StoredRun], gamma: float) -> list[StoredRun]:
    """The runs at the stored γ nearest to one; at both where two are equally near. Raises ValueError for no runs."""
    least = min(abs(run.spec.gamma - gamma) for run in runs)
    return [run for run in runs if abs(run.spec.gamma - gamma) < least + 1e-6]


PAPER_PAIR = 0.5, 0.8
"""The γ at which Zhang et al. 2024 show a symmetric and an inferential model."""


def clear_trend(runs: Sequence[StoredRun]) -> Trend | None:
    """The lean_slope over the runs that have learned; None where fewer than five have, which tells nothing (our choice)."""
    done = learned_among(runs)
    return lean_slope(done) if len(done) >= 5 else None


def lean_slope(runs: Sequence[StoredRun]) -> Trend | None:
    """The slope of inferential − symmetric against γ over runs, and its 95 % interval; None where all have one γ."""
    x = np.array([run.spec.gamma for run in runs])
    return slope(x, np.array([preference(run) for run in runs])) if len(set(x)) > 1 else None


def by_speed(runs: Sequence[StoredRun]) -> tuple[list[StoredRun], list[StoredRun]]:
    """The third of the runs that learn first, and the others, those that never learn last; ties in the order given."""
    ordered = sorted(runs, key=learned_at)
    third = max(1, len(runs) // 3)
    return ordered[:third], ordered[third:]


def of_all_rates(by_rate: Mapping[float, Sequence[StoredRun]]) -> list[StoredRun]:
    """The runs at every (γ, seed) that all learning rates have."""
    points = [{(run.spec.gamma, run.spec.seed) for run in runs} for runs in by_rate.values()]
    shared = set.intersection(*points) if points else set()
    return [run for runs in by_rate.values() for run in runs if (run.spec.gamma, run.spec.seed) in shared]


def selected_shares(runs: Sequence[StoredRun]) -> dict[str, float]:
    """Each mapping's largest share over γ by the paper's selection, of runs of one depth. Raises ValueError where they do not
    fill a grid of γ, seeds and learning rates."""
    table = phase_table(runs)
    return {m: float(table.selected(m)[0].max()) for m in MAPPINGS}


# --- By kind ---

QUIET = 2.3e-5
"""Learning rate over the root of the batch, up to which steps are small beside their noise (our choice, after seeing runs)."""
BANDS = ((0.0, 0.42), (0.42, 0.52), (0.52, 0.92), (0.92, 2.0))
"""Ranges of γ in which older runs were counted (Figure 2.6): exploratory, chosen after seeing these runs."""
EARLY, EARLY_FROM = 0.6, 0.65
"""An early answer is that at the first evaluation with this share of training rows right; asked from this γ on."""
OTHER_PAIR = -7
"""What training teaches for (2, 4)."""


SEEDS_SYMMETRIC, SEEDS_INFERENTIAL = 7, 6
"""Asked of eight seeds at one γ: so many symmetric at a smaller γ, and inferential at a larger one."""


def is_plain(spec: RunSpec) -> bool:
    """Two layers of the paper's block on the paper's task with all its numbers and its weight decay; no variant of either."""
    task, model = dict(spec.task), cast(ModelSpec, spec.model)
    variant = (task.get("unseen", "one"), task.get("groups"), task.get("keys", N_KEYS), task.get("modulus", 7))
    form = (model.kind, model.depth, model.norm, model.activation) if model.kind == "transformer" else ()
    return variant == ("one", None, N_KEYS, 7) and form == ("transformer", 2, "post", "relu") and spec.decay == DECAY


def quiet_runs(store: Store) -> list[StoredRun]:
    """Every stored run like these at a low learning rate with products in bfloat16, from whatever experiment, trials among
    them: what is pooled in Figure 2.6."""
    specs = [spec for e in (PHASE, FLIP, SEARCH, SEPARATION, KEYS) for spec in e.specs("laptop")]
    quiet = [s for s in specs if is_plain(s) and is_quiet(s)]
    return load_stored(list(dict.fromkeys(quiet)), store)


def is_quiet(spec: RunSpec) -> bool:
    return spec.rate / spec.train.batch**0.5 <= QUIET


def single_runs(store: Store) -> tuple[list[StoredRun], list[StoredRun]]:
    """Every stored run of the search in single precision: at low learning rates, and at twice the highest of these."""
    runs = load_stored(RANGE.specs("laptop"), store)
    return [r for r in runs if is_quiet(r.spec)], [r for r in runs if not is_quiet(r.spec)]


def counts_by_band(runs: Sequence[StoredRun]) -> dict[tuple[float, float], Counter[str]]:
    """{band of γ: how many runs of each exact kind}, of the runs that have learned."""
    done = learned_among(runs)
    return {band: Counter(exact_kind(r) for r in done if band[0] <= r.spec.gamma < band[1]) for band in BANDS}


def kinds_apart(below: Counter[str], above: Counter[str], alternative: str = "two-sided") -> float:
    """How often chance would part two groups of decided runs so far by kind: Fisher's exact test; "greater": so far, and the
    symmetric ones below."""
    return fisher_exact([[group[m] for m in MAPPINGS] for group in (below, above)], alternative)


def parted_by_seed(below: Sequence[StoredRun], above: Sequence[StoredRun], decided: bool = True) -> float:
    """How often chance would have so many seeds symmetric more often below than above: one-sided sign test over seeds, of which
    each γ has the same, while Fisher's counts every run. decided: of the symmetric and inferential runs alone."""
    sides = [(run, True) for run in below] + [(run, False) for run in above]
    asked = [(run, side) for run, side in sides if not decided or exact_kind(run) in MAPPINGS]
    values = [exact_kind(run) == MAPPINGS[0] for run, _ in asked]
    return sign_test_by(values, [side for _, side in asked], [run.spec.seed for run, _ in asked])


BY_SEED = "one-sided sign test over seeds, each of which counts once, of these runs"


def early_answer(run: StoredRun) -> float | None:
    """Share of key − 10 less that of key − 7 among the answers to (4, 3) at the first evaluation with EARLY of the training
    rows right; None where answers were not counted along training, or so many are never right."""
    if "offsets" not in run.history or "train" not in run.history:
        return None
    at = next((i for i, share in enumerate(run.history["train"]) if share is not None and share >= EARLY), None)
    if at is None:
        return None
    found = np.array(run.history["offsets"][at], dtype=float)
    ten, seven = (found[OFFSETS.index(o)] for o in (INFERENTIAL_OFFSET, OTHER_PAIR))
    return float((ten - seven) / found.sum())


def early_runs(runs: Sequence[StoredRun]) -> list[tuple[StoredRun, float]]:
    """Runs that have learned, from EARLY_FROM on, each with its early answer."""
    found = [(r, early_answer(r)) for r in learned_among(runs) if r.spec.gamma >= EARLY_FROM]
    return [(run, value) for run, value in found if value is not None]


def early_rho(points: Sequence[tuple[StoredRun, float]]) -> float:
    """Rank correlation of the early and the final answer of `early_runs`; NaN for fewer than three."""
    if len(points) < 3:
        return math.nan
    return spearman(np.array([value for _, value in points]), np.array([preference(run) for run, _ in points]))


NEIGHBOURS = (-14, -13, -11, -9)
"""Offsets by which a run misses that composes and takes a number for a neighbour in its embedding, 1, 3 or 4 away; but for −7
and −6, which training teaches for other pairs."""


def composers(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs of the inferential kind that have learned, from EDGE on."""
    return [r for r in learned_among(runs) if r.spec.gamma >= EDGE and exact_kind(r) == "inferential"]


def near_misses(runs: Sequence[StoredRun]) -> float | None:
    """Of the answers that are not exactly inferential the share that lies at NEIGHBOURS: the mean over the runs that have
    learned, from EDGE on."""
    some = [r for r in composers(runs) if has_counts(r)]
    found = [share_of(r, NEIGHBOURS) / (1 - share_of(r, [INFERENTIAL_OFFSET])) for r in some if r.metrics["inferential"] < 1]
    return float(np.mean(found)) if found else None


EDGE = BANDS[-1][0]
"""The γ from which stored runs lean to the inferential answer: exploratory."""
FAR = 1.1
"""Beyond all γ that had been searched in bfloat16 but for four trials."""


def facts(
    quiet: Sequence[StoredRun],
    single: Sequence[StoredRun],
    loud: Sequence[StoredRun],
    two: Sequence[StoredRun],
    new: Sequence[StoredRun] = (),
    around: Sequence[StoredRun] = (),
    size: Sequence[StoredRun] = (),
    rounded: Arms = Arms(),
    further: Arms = Arms(),
    layers: Mapping[int, Sequence[StoredRun]] | None = None,
) -> dict[str, Fact]:
    """What the text of chapter 2 says: of the pooled runs in bfloat16, the search in single precision at low learning rates and
    at twice those, the full-length runs; the new seeds, those around γ = .5, those of the paper's size, other roundings, and
    those of each depth."""
    bands = counts_by_band(quiet)
    below, above, first = bands[BANDS[2]], bands[BANDS[3]], bands[BANDS[0]]
    half = Counter(exact_kind(r) for r in learned_among(quiet) if r.spec.gamma == PAPER_PAIR[0])
    best = ends(two) if two else None
    pool = f"learned two-layer runs in bfloat16, learning rate / √batch at most {QUIET:g}, trials among them"
    between = f"{pool}, γ from {BANDS[2][0]:g} to {EDGE:g}"
    beyond = f"{pool}, γ from {EDGE:g} on"
    found = {
        "edge": Fact(EDGE, "{:g}", "chosen after seeing these runs"),
        "pooled": Fact(len(learned_among(quiet)), "{}", pool),
        "unlearned": Fact(len(quiet) - len(learned_among(quiet)), "{}", "further such runs, which have not learned"),
        "below-symmetric": Fact(below["symmetric"], "{}", f"runs with more than half of their answers symmetric, {between}"),
        "below-inferential": Fact(in_words(below["inferential"]), "{}", f"inferential ones, {between}"),
        "below-neither": Fact(below["neither"], "{}", f"runs of neither kind, {between}"),
        "above-neither": Fact(in_words(above["neither"]), "{}", f"runs of neither kind, {beyond}"),
        "above-symmetric": Fact(in_words(above["symmetric"]), "{}", f"symmetric ones, {beyond}"),
        "above-inferential": Fact(in_words(above["inferential"]), "{}", f"inferential ones, {beyond}"),
        "apart": Fact(
            kinds_apart(below, above), "{:.0e}", "Fisher's exact test of these four numbers, not of a fixed question"
        ),
        "apart-seeds": Fact(
            parted_by_seed(
                [run for run in learned_among(quiet) if BANDS[2][0] <= run.spec.gamma < EDGE],
                [run for run in learned_among(quiet) if EDGE <= run.spec.gamma < BANDS[3][1]],
            ),
            "{:.2g}",
            BY_SEED,
        ),
        "first-symmetric": Fact(in_words(first["symmetric"]), "{}", f"{pool}, γ below {BANDS[1][0]:g}"),
        "half-runs": Fact(in_words(half.total()), "{}", f"{pool}, γ = .5"),
        "half-symmetric": Fact(in_words(half["symmetric"]), "{}", f"symmetric ones, {pool}, γ = .5"),
        "half-inferential": Fact(in_words(half["inferential"]), "{}", f"inferential ones, {pool}, γ = .5"),
        "edge-gain": Fact(
            gamma_of_gain(gain(EDGE, WIDTH), GRIDS["paper"].d_model),
            "{:.2f}",
            f"the γ at which matrices of the paper's width have the gain σ√d that {EDGE:g} has at width {WIDTH}",
        ),
    }
    for m in MAPPINGS:
        share = best.mean[m][m] if best else None
        found[f"full-{m}"] = Fact(share, "{:.0%}", f"full-length runs, first learning rate: largest mean {m} share over γ")
    points = early_runs([*quiet, *single])
    asked = f"learned runs from γ = {EARLY_FROM:g} on whose answers were counted along training, either precision"
    found |= {
        "early-runs": Fact(len(points), "{}", asked),
        "early-rho": Fact(early_rho(points), "{:.2f}", f"rank correlation of early and final answer, {asked}"),
    }
    edge_runs = [r for r in two if r.spec.gamma >= EDGE]
    found |= {
        "exact-above": Fact(
            mean(r.metrics["inferential"] for r in composers(quiet)),
            "{:.0%}",
            f"mean share of key − 10, inferential ones, {beyond}",
        ),
        "near-miss": Fact(
            near_misses(quiet), "{:.0%}", f"of their other answers: −9, −11, −13 or −14, mean over runs, {beyond}"
        ),
        "unfinished": Fact(
            (len(edge_runs) - len(learned_among(edge_runs)), len(edge_runs)),
            "{} of {}",
            f"full-length runs in bfloat16 from γ = {EDGE:g} on, first learning rate, without 99 % of their training rows",
        ),
    }
    far = [r for r in single if r.spec.gamma > FAR]
    where = f"trials in single precision, learning rate 2e-4, γ above {FAR:g}"
    found |= {
        "far": Fact(in_words(len(far)), "{}", where),
        "far-exact": Fact(
            max((r.metrics["inferential"] for r in far), default=None), "{:.0%}", f"largest share of −10, {where}"
        ),
    }
    for name, gamma, mapping in (("low", 0.75, "inferential"), ("high", 1.2, "symmetric")):
        here = [r.metrics[mapping] for r in loud if r.spec.gamma == gamma]
        rests = f"share of the {mapping} answer at γ = {gamma:g}, learning rate 4e-4, one seed, single precision"
        found[f"loud-{name}"] = Fact(here[0] if here else None, "{:.0%}", rests)
    found["squares-gpu"] = on_gpu([*new, *around, *size])
    found |= new_facts(new) | around_facts(new, around) | size_facts(size)
    return found | rounded_facts(rounded, further) | depth_facts(layers or by_depth((), ()))


MIDDLE_GAMMAS = (0.75, 0.95)
"""Those of the new seeds at which kinds are mixed."""


def new_facts(new: Sequence[StoredRun]) -> dict[str, Fact]:
    """Of the new seeds, γ by γ: how many are of which kind, and what the others answer."""
    runs = by_turn(new)
    groups = groups_of(runs)
    at = {name: of_new_seeds(group) for name, group in groups.items()}
    kinds = {name: Counter(map(exact_kind, group)) for name, group in groups.items()}
    later = "counted after seeing these runs"
    learned_ones = in_words(len(learned_among(new))), in_words(len(new))
    found = {
        "new-seeds": Fact(in_words(seeds(new)), "{}", "new seeds at each γ"),
        "new-learned": Fact(learned_ones, "{} of {}", f"with 99 % of their rows, {of_new_seeds(new)}"),
    }
    for name in groups:
        for kind in ("symmetric",) if name in ("low", "35") else MAPPINGS:
            number = in_words(kinds[name][kind])
            found[f"new-{kind}-{name}"] = Fact(number, "{}", f"{kind}, {at[name]}, single precision")
    last = list(groups)[-1]
    for m, name in (("symmetric", "low"), ("symmetric", "35"), ("inferential", last)):
        share = mean(run.metrics[m] for run in groups[name])
        found[f"new-share-{m}-{name}"] = Fact(share, "{:.0%}", f"mean share of the {m} answer {at[name]}")
    found["new-neither-75"] = Fact(in_words(kinds["75"]["neither"]), "{}", f"of neither kind, {at['75']}")
    taken = f"more than half what (4, 4), (4, 2) or (3, 3) is taught, {at['75']}, {later}"
    found["new-mistaken-75"] = Fact(in_words(sum(map(mistakes, groups["75"]))), "{}", taken)
    for name in ("75", "95"):
        same = mean(share_of(run, MISTAKEN[:1]) for run in groups[name] if has_counts(run))
        found[f"new-same-{name}"] = Fact(same, "{:.0%}", f"mean share of key − 16, what (4, 4) is taught, {at[name]}, {later}")
    seven = mean(share_of(run, [OTHER_PAIR]) for run in groups["95"] if has_counts(run))
    found["new-seven-95"] = Fact(seven, "{:.0%}", f"mean share of key − 7, what (4, 2) is taught, {at['95']}, {later}")
    near = [share_of(run, WITHIN_ONE) for run in runs.high if has_counts(run)]
    rests = f"{at['high']}: answers −9, −10 or −11; {later}"
    found["new-within"] = Fact(in_words(sum(map(composes, runs.high))), "{}", f"more than half of them, {rests}")
    found["new-within-share"] = Fact(mean(near), "{:.0%}", f"mean share, {rests}")
    found["new-eleven"] = Fact(in_words(sum(map(slips, runs.high))), "{}", f"more −11 than −10, {at['high']}")
    points = early_runs(new)
    kept = sum((value > 0) == (preference(run) > 0) for run, value in points)
    count = in_words(kept), in_words(len(points))
    found["new-early"] = Fact(count, "{} of {}", "new seeds whose early answer is the final one")
    others = [(run, value) for run, value in points if preference(run) <= 0]
    count, rests = (len(points) - len(others), len(points)), "of these runs, those that end with more −10 than −6"
    found["new-early-ten"] = Fact(count, "{} of {}", f"{rests}: what a guess of −10 for all would have right")
    found["new-early-others"] = Fact(in_words(len(others)), "{}", "of these runs, those that do not")
    told = sum(value <= 0 for _, value in others)
    found["new-early-told"] = Fact(in_words(told), "{}", "of those that do not, those whose early answer is −7")
    rests = f"rank correlation of these, new seeds from γ = {EARLY_FROM:g} on"
    found["new-early-rho"] = Fact(early_rho(points), "{:.2f}", rests)
    p = kinds_apart(kinds["low"], kinds[last], "greater") if groups[last] else None
    rests = f"Fisher's one-sided exact test of the decided runs {of_new_seeds([*groups['low'], *groups[last]])}"
    found[f"new-apart-{last}"] = Fact(p, "{:.2g}", rests)
    p = parted_by_seed(groups["low"], groups[last]) if groups[last] else None
    found[f"new-apart-{last}-seeds"] = Fact(p, "{:.2g}", BY_SEED)
    found["new-asked"] = Fact(in_words(SEEDS_INFERENTIAL), "{}", "inferential runs of eight that the criterion asks for")
    large, small = (kinds[a] + kinds[b] for a, b in (("35", "low"), ("110", "high")))
    small += kinds[last]
    rests = f"{of_new_seeds([run for run in new if run.spec.gamma not in MIDDLE_GAMMAS])}, pooled after seeing them"
    return found | {
        "pooled-large": Fact((in_words(large["symmetric"]), in_words(large["inferential"])), "{} and {}", f"kinds, {rests}"),
        "pooled-small": Fact((in_words(small["symmetric"]), in_words(small["inferential"])), "{} and {}", f"kinds, {rests}"),
        "pooled-p": Fact(kinds_apart(large, small, "greater"), "{:.0e}", f"Fisher's one-sided exact test, {rests}"),
        "pooled-p-seeds": Fact(
            parted_by_seed([*groups["35"], *groups["low"]], [*groups["110"], *groups["high"], *groups[last]]),
            "{:.1g}",
            BY_SEED,
        ),
    }


SIDES = (0.35, 0.55)
"""The γ on both sides of the stretch around the paper's γ = .5."""


def around_facts(new: Sequence[StoredRun], around: Sequence[StoredRun]) -> dict[str, Fact]:
    """Of the new seeds around γ = .5, and on both sides of that."""
    sides, kinds = [run for run in new if run.spec.gamma in SIDES], Counter(map(exact_kind, around))
    beside = Counter(map(exact_kind, sides))
    inside, outside = of_new_seeds(around), of_new_seeds(sides)
    table = [[group["symmetric"], group.total() - group["symmetric"]] for group in (kinds, beside)]
    return {
        "around-runs": Fact(in_words(len(around)), "{}", f"runs, {inside}"),
        "around-symmetric": Fact(in_words(kinds["symmetric"]), "{}", f"symmetric, {inside}"),
        "around-inferential": Fact(in_words(kinds["inferential"]), "{}", f"inferential, {inside}"),
        "around-shares": Fact(
            span(run.metrics["inferential"] for run in around if exact_kind(run) == "inferential"),
            "{:.0%} to {:.0%}",
            f"their shares of key − 10, {inside}",
        ),
        "sides-symmetric": Fact((in_words(beside["symmetric"]), in_words(len(sides))), "{} of {}", f"symmetric, {outside}"),
        "around-p": Fact(
            fisher_exact(table, "less") if around and sides else None,
            "{:.1g}",
            "Fisher's one-sided exact test of these numbers",
        ),
        "around-p-seeds": Fact(parted_by_seed(sides, around, decided=False) if around and sides else None, "{:.2g}", BY_SEED),
    }


# --- More layers ---


def by_depth(new: Sequence[StoredRun], deep: Sequence[StoredRun]) -> dict[int, list[StoredRun]]:
    """{layers: runs}: of the new seeds those at the γ of the deeper ones, and these by their depth."""
    two = [run for run in new if run.spec.gamma in DEPTH_GAMMAS]
    return {2: two} | {depth: [run for run in deep if run.spec.model.depth == depth] for depth in DEPTHS}


def lean_further(here: Sequence[StoredRun], two: Sequence[StoredRun]) -> Comparison:
    """Do runs lean to the inferential answer further than those of two layers? Each γ by itself, of the runs that have learned.
    Raises ValueError where one of the two has none."""
    here, two = learned_among(here), learned_among(two)
    runs = [*here, *two]
    return compare([preference(r) for r in runs], [True] * len(here) + [False] * len(two), [r.spec.gamma for r in runs])


def depth_facts(layers: Mapping[int, Sequence[StoredRun]]) -> dict[str, Fact]:
    """Of runs `by_depth`: their kinds at the largest start and at the smaller ones, and how far they lean."""
    found = {"deep-seeds": Fact(in_words(seeds([run for depth in DEPTHS for run in layers[depth]])), "{}", "seeds a depth")}
    for depth, runs in layers.items():
        large, rest = ([run for run in runs if (run.spec.gamma == DEPTH_GAMMAS[0]) == wanted] for wanted in (True, False))
        for name, some in (("large", large), ("rest", rest)):
            for kind in MAPPINGS:
                count = in_words(sum(exact_kind(run) == kind for run in some)), in_words(len(some))
                rests = f"{kind}, {depth} layers, {of_new_seeds(some)}"
                found[f"deep-{depth}-{name}-{kind}"] = Fact(count if some else None, "{} of {}", rests)
        if depth in DEPTHS:
            share = mean(run.metrics["inferential"] for run in large)
            found[f"deep-{depth}-share"] = Fact(
                share, "{:.0%}", f"mean share of key − 10, {depth} layers, {of_new_seeds(large)}"
            )
            test = lean_further(runs, layers[2]) if runs and layers[2] else None
            rests = f"rank test, one-sided, {depth} layers against two, each γ by itself, {of_new_seeds(runs)}"
            found[f"deep-{depth}-p"] = Fact(test and test.p, "{:.2g}", rests)
    two, most = ([r for r in layers[depth] if r.spec.gamma == DEPTH_GAMMAS[0]] for depth in (2, DEPTHS[-1]))
    kinds = Counter(map(exact_kind, two)), Counter(map(exact_kind, most))
    rests = f"Fisher's one-sided exact test of decided runs, two layers and {DEPTHS[-1]}, {of_new_seeds(most)}; not planned"
    return found | {
        "deep-turn-p": Fact(kinds_apart(*kinds, "greater") if two and most else None, "{:.1g}", rests),
        "deep-turn-p-seeds": Fact(parted_by_seed(two, most) if two and most else None, "{:.2g}", BY_SEED),
    }


# --- Other roundings ---


def rounded(new: Sequence[StoredRun], again: Sequence[StoredRun]) -> Arms:
    """The new seeds at ROUNDING_GAMMAS, and what is stored of the same in bfloat16 and off by the last bit."""
    return split([*(run for run in new if run.spec.gamma in ROUNDING_GAMMAS), *again])


def inferential(found: Arms) -> roundings.Comparison:
    return found.compare(lambda run: run.metrics["inferential"])


def decided_more(found: Arms) -> Comparison:
    """Are more runs in bfloat16 of one of the two kinds? Exact p of the three roundings exchanged within a γ and seed."""
    runs = [*found.short, *found.single, *found.moved]
    is_short = [True] * len(found.short) + [False] * (len(found.single) + len(found.moved))
    return compare([exact_kind(run) in MAPPINGS for run in runs], is_short, [place(run) for run in runs])


def place(run: StoredRun) -> tuple[float, int]:
    """Its γ and seed."""
    return run.spec.gamma, run.spec.seed


def paired(arm: Sequence[StoredRun], others: Sequence[StoredRun]) -> list[tuple[StoredRun, StoredRun]]:
    """The runs of an arm, each beside the run of its γ and seed among others."""
    at = {place(run): run for run in others}
    return [(run, at[place(run)]) for run in arm if place(run) in at]


def of_one_kind(pairs: Sequence[tuple[StoredRun, StoredRun]]) -> list[tuple[StoredRun, StoredRun]]:
    return [pair for pair in pairs if exact_kind(pair[0]) == exact_kind(pair[1])]


def slower(short: Sequence[StoredRun], single: Sequence[StoredRun]) -> tuple[float, float, float]:
    """By what factor the arm in bfloat16 takes longer to learn than the mean of the two in single precision: geometric mean
    over seeds, each within its γ, and its 95 % interval by drawing runs. A run that never learns counts with its last step."""
    log = partial(log_steps, share=MOST_ROWS)
    ratio = np.array([log(run) - np.mean([log(r) for r in single if place(r) == place(run)]) for run in short])
    low, high = interval(np.exp(ratio[bootstrap_indices(len(ratio), 2000)].mean(1)))
    return float(np.exp(ratio.mean())), low, high


def rounded_facts(found: Arms, further: Arms) -> dict[str, Fact]:
    """Of the new seeds under other roundings, and of `further` ones at the smallest of these starts; absent unless all are
    stored."""
    found, further = (arms if arms.whole else Arms() for arms in (found, further))
    last = found.where(lambda run: run.spec.gamma == ROUNDING_GAMMAS[-1])
    beyond = found.where(lambda run: run.spec.gamma > ROUNDING_GAMMAS[0])
    slow = slower(found.short, [*found.single, *found.moved])[1:] if found.whole else None
    rests = f"times as long to {MOST_ROWS:.0%} of the training rows in {SHORT}, 95 % interval of the mean"
    facts = {"short-slower": Fact(slow, "{:.2f} to {:.2f}", rests)}
    facts |= _kept_facts(found) | _decided_facts(beyond, "rounded") | _far_facts(last, "rounded") | _changed_facts(last)
    return facts | _decided_facts(further, "further") | _far_facts(further, "further") | _together_facts(last, further)


def _kept_facts(found: Arms) -> dict[str, Fact]:
    """How many runs keep the kind of their seed in single precision, by what was changed and by γ, and beyond the largest
    start how many would if seeds were exchanged; how many were trained by another program than that."""
    facts = {}
    kept = lambda pairs, write: (write(len(of_one_kind(pairs))), write(len(pairs))) if pairs else None
    for name, arm, runs in (("moved", MOVED, found.moved), ("short", SHORT, found.short)):
        pairs = paired(runs, found.single)
        rests = f"runs of the kind of their seed in {SINGLE}, {arm}"
        facts[f"{name}-all"] = Fact(kept(pairs, str), "{} of {}", f"{rests}, all γ")
        beyond = [pair for pair in pairs if pair[0].spec.gamma > ROUNDING_GAMMAS[0]]
        facts[f"{name}-beyond"] = Fact(kept(beyond, in_words), "{} of {}", f"{rests}, γ > {ROUNDING_GAMMAS[0]:g}")
        for gamma in ROUNDING_GAMMAS:
            here, at = [pair for pair in pairs if pair[0].spec.gamma == gamma], f"{100 * gamma:.0f}"
            facts[f"{name}-{at}"] = Fact(kept(here, in_words), "{} of {}", f"{rests}, γ = {gamma:g}")
            if gamma > ROUNDING_GAMMAS[0]:
                kinds = [[exact_kind(pair[i]) for pair in here] for i in (0, 1)]
                chance, p = agreement_by_chance(*kinds) if here else (None, None)
                rest, key = f"{arm}, γ = {gamma:g}, over all ways to exchange seeds", f"{name}-exchanged-{at}"
                facts[key] = Fact(chance, "{:.1f}", f"runs of one kind, mean, {rest}")
                facts[f"{key}-p"] = Fact(p, "{:.2g}", f"how often in as many as here, {rest}")
        middle = [pair for pair in pairs if pair[0].spec.gamma == ROUNDING_GAMMAS[1]]
        other = sum(len({run.provenance["program"] for run in pair}) > 1 for pair in middle)
        rests = f"{arm}, γ = {ROUNDING_GAMMAS[1]:g}, trained by another program than the twin"
        counted = (in_words(other), in_words(len(middle))) if middle else None
        facts[f"{name}-programs"] = Fact(counted, "{} of {}", rests)
    rests = "runs a side that Fisher's one-sided test needs, p at most .05 in 80 % of all cases, shares of 1/4 and 3/4"
    return facts | {"tell-quarters": Fact(runs_to_tell(0.25, 0.75), "{}", rests)}


def _decided_facts(found: Arms, name: str) -> dict[str, Fact]:
    """How many runs of each rounding are of neither kind."""
    where = of_new_seeds(found.single)
    every = in_words(len(found.single)) if found.whole else None
    facts = {f"{name}-runs": Fact(every, "{}", f"runs of each rounding, {where}")}
    for key, (arm, runs) in zip(("single", "moved", "short"), found.named.items(), strict=True):
        count = in_words(sum(exact_kind(run) not in MAPPINGS for run in runs)) if found.whole else None
        facts[f"{name}-{key}-neither"] = Fact(count, "{}", f"of neither kind, {arm}, {where}")
    return facts


def _far_facts(found: Arms, name: str) -> dict[str, Fact]:
    """How far bfloat16 and the last bit move the inferential share."""
    by = inferential(found) if found.whole else None
    p, rests = by and sign_flips(by.further, "greater"), f"inferential share, mean over runs, {of_new_seeds(found.single)}"
    return {
        f"{name}-far": Fact(by and float(by.far.mean()), "{:.2f}", f"distance of {SHORT} from both others, {rests}"),
        f"{name}-near": Fact(by and float(by.null.mean()), "{:.2f}", f"distance of these two, {rests}"),
        f"{name}-far-p": Fact(p, "{:.2g}", f"exact one-sided sign-flip test, {rests}"),
    }


def _together_facts(found: Arms, further: Arms) -> dict[str, Fact]:
    """Of both sets of seeds at the smallest of these starts: how many are of one of the two kinds; and who slips in single
    precision in the second."""
    both = found.beside(further)
    rests = "of one of the two kinds, both sets of seeds, the first of which had suggested it"
    count = lambda runs: (sum(exact_kind(run) in MAPPINGS for run in runs), len(runs)) if runs else None
    slipping = (in_words(sum(map(slips, further.single))), in_words(len(further.single))) if further.whole else None
    return {
        "both-short": Fact(count(both.short), "{} of {}", f"{rests}, {SHORT}"),
        "both-single": Fact(count([*both.single, *both.moved]), "{} of {}", f"{rests}, {SINGLE}, the bit moved and not"),
        "both-p": Fact(decided_more(both).p if both.whole else None, "{:.2g}", f"{rests}: exact test, exchanged within a seed"),
        "further-eleven": Fact(slipping, "{} of {}", f"more −11 than −10, {SINGLE}, {of_new_seeds(further.single)}"),
    }


def _changed_facts(found: Arms) -> dict[str, Fact]:
    """What becomes in bfloat16 of runs that compose to within one step, and of symmetric ones."""
    pairs, rests = paired(found.short, found.single), f"in {SINGLE}, {SHORT}, {of_new_seeds(found.single)}"
    gained = sum(exact_kind(was) == "neither" and composes(was) and exact_kind(run) == MAPPINGS[1] for run, was in pairs)
    lost = sum((exact_kind(was), exact_kind(run)) == MAPPINGS[::-1] for run, was in pairs)
    again = [*found.moved, *found.short]
    count = (in_words(sum(map(slips, again))), in_words(len(again))) if again else None
    return {
        "rounded-eleven": Fact(count, "{} of {}", f"more −11 than −10, {MOVED} or {SHORT}, {of_new_seeds(again)}"),
        "short-gained": Fact(in_words(gained) if pairs else None, "{}", f"inferential, within one step {rests}"),
        "short-lost": Fact(in_words(lost) if pairs else None, "{}", f"symmetric, inferential {rests}"),
    }


def on_gpu(runs: Sequence[StoredRun]) -> Fact:
    """How many of these runs were trained on a GPU, by their provenance."""
    number = sum(run.provenance.get("device", "").startswith("cuda") for run in runs)
    return Fact((number, len(runs)), "{} of {}", "squares of Figure 2.1 that are runs of a GPU, by their provenance")


def size_facts(size: Sequence[StoredRun]) -> dict[str, Fact]:
    """Of two layers of the paper's own size: at its γ = .5, at its γ = .8, and at smaller weights."""
    at = lambda *gammas: [run for run in size if run.spec.gamma in gammas]
    large, middle = (at(gamma) for gamma in PAPER_PAIR)
    small = [run for run in size if run.spec.gamma > PAPER_PAIR[1]]
    rests = lambda runs: f"the paper's size, γ = {', '.join(f'{g:g}' for g in sorted({r.spec.gamma for r in runs}))}"
    count = lambda runs, kind: in_words(sum(exact_kind(run) == kind for run in runs))
    shares = [run.metrics["inferential"] for run in small]
    below, above = (Counter(map(exact_kind, runs)) for runs in (large, [*middle, *small]))
    return {
        "size-seeds": Fact(in_words(seeds(size)), "{}", "seeds of the paper's size"),
        "size-steps": Fact(max((run.steps for run in size), default=None), "{:,}", "most steps of a run of the paper's size"),
        "size-large": Fact(count(large, "symmetric"), "{}", f"symmetric, {rests(large)}"),
        "size-large-share": Fact(
            mean(run.metrics["symmetric"] for run in large), "{:.0%}", f"mean share of key − 6, {rests(large)}"
        ),
        "size-middle": Fact(count(middle, "inferential"), "{}", f"inferential, {rests(middle)}"),
        "size-middle-share": Fact(
            max((run.metrics["inferential"] for run in middle), default=None),
            "{:.0%}",
            f"its share of key − 10, {rests(middle)}",
        ),
        "size-middle-taken": Fact(
            max((share_of(run, MISTAKEN[:1]) for run in middle), default=None),
            "{:.0%}",
            f"largest share of key − 16, what (4, 4) is taught, {rests(middle)}",
        ),
        "size-small": Fact(count(small, "inferential"), "{}", f"inferential, {rests(small)}"),
        "size-small-runs": Fact(in_words(len(small)), "{}", f"runs, {rests(small)}"),
        "size-small-shares": Fact(
            (min(shares), max(shares)) if shares else None, "{:.0%} to {:.0%}", f"shares of key − 10, {rests(small)}"
        ),
        "size-six": Fact(
            max((run.metrics["symmetric"] for run in [*middle, *small]), default=None),
            "{:.0%}",
            f"largest share of key − 6, {rests([*middle, *small])}",
        ),
        "size-apart": Fact(
            kinds_apart(below, above, "greater") if size else None,
            "{:.2g}",
            "Fisher's one-sided exact test of the decided runs",
        ),
        "size-apart-seeds": Fact(parted_by_seed(large, [*middle, *small]) if size else None, "{:.2g}", BY_SEED),
    }
