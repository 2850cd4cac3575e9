"""Are the vectors of equal answers parallel? Cosines of intermediates of stored models (Fig. 4 of Zhang et al. 2024)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lib.composition.flip import by_turn, of_new_seeds
from lib.composition.information_flow.metrics import at_second_anchor, compare_ways, composing, hybrid, way
from lib.composition.phase_diagram.metrics import slips
from lib.composition.runs import MAJORITY, MAPPINGS, exact_kind, model_of
from lib.composition.task import ANCHORS, EXCEPTION, HELD_OUT, INFERENTIAL_OFFSET, LENGTH, PAIRS, Task, composed
from lib.core.model.transformer import ActivationCache
from lib.core.read.disk_cache import disk_cached
from lib.core.read.fact import Fact, in_words, mean, span
from lib.core.read.measures import cosines, memoized
from lib.core.read.statistics import Comparison, compare, spearman
from lib.core.read.ways import KEY_FIRST
from lib.core.record.store import StoredRun

PLACE = 2
"""Where the key of every question stands."""
KEYS = range(30, 41)
"""The keys of the paper's heatmaps."""
LOWER, UPPER = ((3, 3), (2, 2)), ((1, 2), (1, 3))
"""The pairs that its lower and its upper triangle compare, as (rows, columns)."""
NEAR, APART, LOW = 0.9, 0.1, 0.5
"""Mean cosines: near-parallel from NEAR on, apart from the others by APART at least, low below LOW (our choice)."""


@dataclass(frozen=True)
class Similarity:
    """Of the keys 30 … 40 against themselves, (11, 11) each. values: cosines; agree: where the two vectors stand for the same
    number."""

    values: np.ndarray
    agree: np.ndarray


def collect(
    run: StoredRun, questions: list[tuple[int, tuple[int, int]]], name: str, ahead: int | None, context: int
) -> np.ndarray:
    """(n, D) vectors of one intermediate for n questions (key, pair) in one context: place 2 and the same noise for all.

    `ahead` counts from the key (1 is the first anchor); None is the last position.
    """
    activations = ActivationCache()
    model_of(run)(in_context(questions, context)[None], activations)
    position = LENGTH - 1 if ahead is None else PLACE + ahead
    return activations[name][0, :, position].flatten(1).numpy()


def in_context(questions: list[tuple[int, tuple[int, int]]], context: int) -> Tensor:
    """(n, 9) tokens of questions (key, pair) at PLACE, with the noise of the first one for all."""
    task = Task()
    batch = task.questions(
        torch.tensor([key for key, _ in questions]),
        torch.full((len(questions),), PLACE),
        torch.tensor([task.number(pair) for _, pair in questions]),
        context,
    )
    tokens = batch.tokens[:1].repeat(len(questions), 1)
    tokens[:, PLACE : PLACE + 3] = batch.tokens[:, PLACE : PLACE + 3]
    return tokens


def fused(run: StoredRun, context: int = 0) -> Similarity:
    """Fig. 4a, b: X_ao of the last layer at the last position; keys 30 … 40. Below the diagonal (3, 3) against (2, 2), above
    (1, 2) against (1, 3); the diagonal, where nothing agrees, belongs to the lower half."""
    n = len(KEYS)
    below = np.tril(np.ones((n, n), dtype=bool))
    values, agree = np.zeros((n, n)), np.zeros((n, n), dtype=bool)
    for pairs, part in ((LOWER, below), (UPPER, ~below)):
        questions = ([(key, pair) for key in KEYS] for pair in pairs)
        rows, columns = (collect(run, asked, f"X_ao.{run.spec.model.depth}", None, context) for asked in questions)
        targets = [np.array(KEYS) + composed(pair) for pair in pairs]
        values = np.where(part, cosines(rows, columns), values)
        agree |= part & (targets[0][:, None] == targets[1][None])
    return Similarity(values, agree)


@disk_cached(version=2)
def plain_contrast(run: StoredRun) -> float:
    """Are equal answers near-parallel? X_ao of the last layer at the last position over keys 30 … 40 and all pairs
    that compose, mean cosine of equal answers less that of others; mean over three draws of the noise. A pair against itself or
    its mirror image does not count: there the two mappings agree."""
    pairs = [pair for pair in PAIRS if pair not in (EXCEPTION, HELD_OUT)]
    questions = [(key, pair) for pair in pairs for key in KEYS]
    target = np.array([key + composed(pair) for key, pair in questions])
    which = np.array([sum(10 ** (a - 1) for a in pair) for _, pair in questions])  # one number for a pair and its mirror image
    agree, counted = target[:, None] == target[None], which[:, None] != which[None]
    vectors = [collect(run, questions, f"X_ao.{run.spec.model.depth}", None, context) for context in range(3)]
    found = [cosines(v, v) for v in vectors]
    return float(np.mean([float(c[agree & counted].mean() - c[~agree & counted].mean()) for c in found]))


def of_both_answers(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Those that are mostly exactly symmetric or inferential, at each γ that has both."""
    kinds: dict[float, set[str]] = {}
    for run in runs:
        kinds.setdefault(run.spec.gamma, set()).add(exact_kind(run))
    return [run for run in runs if exact_kind(run) in MAPPINGS and kinds[run.spec.gamma] >= set(MAPPINGS)]


def compare_answers(runs: Sequence[StoredRun]) -> Comparison | None:
    """`plain_contrast` of inferential runs against that of symmetric ones, each γ by itself. None where no γ has both."""
    if not (asked := of_both_answers(runs)):
        return None
    inferential = [exact_kind(run) == "inferential" for run in asked]
    return compare([plain_contrast(run) for run in asked], inferential, [run.spec.gamma for run in asked])


@memoized
def answers(run: StoredRun) -> tuple[float, float]:
    """Mean plain cosines of Fig. 4a, b: of equal answers, and of others."""
    found = fused(run)
    return float(found.values[found.agree].mean()), float(found.values[~found.agree].mean())


# --- Which vector is the nearest? ---


@dataclass(frozen=True)
class Nearest:
    """For questions, each with its nearest vector among the questions that count: (n,) their keys and numbers, and those of the
    nearest. The number is the one in between, or the answer."""

    key: np.ndarray
    number: np.ndarray
    nearest_key: np.ndarray
    nearest_number: np.ndarray

    def shares(self) -> np.ndarray:
        """(2,) how often the nearest vector has the same number, and the same key, to within one."""
        same = lambda a, b: float((np.abs(a - b) <= 1).mean())
        return np.array([same(self.number, self.nearest_number), same(self.key, self.nearest_key)])


def _nearest(vectors: np.ndarray, key: np.ndarray, offset: np.ndarray, counts: np.ndarray) -> Nearest:
    """counts: (n, n) bool, which questions may be the nearest of which."""
    square = (vectors.astype(float) ** 2).sum(1)
    distance = square[:, None] + square[None] - 2 * vectors.astype(float) @ vectors.T.astype(float)
    near = np.where(counts, distance, np.inf).argmin(1)
    return Nearest(key, key + offset, key[near], (key + offset)[near])


def nearest_between(run: StoredRun, name: str, context: int = 0) -> Nearest:
    """At the first anchor, among questions with another first anchor: whose intermediate `name` is the nearest? The number is
    the one in between, key + the anchor's. Keys 35 … 90; the second anchor is 2."""
    questions = [(key, (anchor, 2)) for anchor in ANCHORS for key in KEYS_BETWEEN]
    key, anchor = np.array([key for key, _ in questions]), np.array([pair[0] for _, pair in questions])
    offset = np.array([ANCHORS[a] for a in anchor])
    return _nearest(collect(run, questions, name, 1, context), key, offset, anchor[:, None] != anchor[None])


def nearest_answer(run: StoredRun, name: str) -> Nearest:
    """At the last token, among questions with another pair, whose offset differs by three at least, so that the same answer and
    the same key are told apart: whose intermediate `name` is the nearest? The number is the answer. Every other key from 40 to
    90, the pairs that compose."""
    pairs = [pair for pair in PAIRS if pair not in (EXCEPTION, HELD_OUT)]
    questions = [(key, pair) for pair in pairs for key in range(40, 91, 2)]
    key, offset = np.array([key for key, _ in questions]), np.array([composed(pair) for _, pair in questions])
    counts = np.abs(offset[:, None] - offset[None]) >= 3
    return _nearest(collect(run, questions, name, None, 0), key, offset, counts)


KEYS_BETWEEN = range(35, 91)
TAUGHT_SHIFT = ANCHORS[1] - ANCHORS[4]
"""By how much the functions of the anchors 1 and 4 differ."""
STAGES = ("after attention", "passed on")
"""Of the first anchor: its state after the attention of the layer before the last, and the values V that the last layer reads
from it."""
LAST_STAGES = ("after attention", "after feed-forward")
"""Of the last token in the last layer."""


def stage_names(run: StoredRun) -> tuple[tuple[str, str], tuple[str, str]]:
    """The intermediates of STAGES and of LAST_STAGES. The anchor's are of the layer before the last."""
    depth = run.spec.model.depth
    return (f"X_ao.{max(depth - 1, 1)}", f"V.{depth}"), (f"X_ao.{depth}", f"X_do.{depth}")


@disk_cached(version=1)
def between(run: StoredRun) -> np.ndarray:
    """(STAGES, 2): how often the nearest vector at the first anchor has the same number in between, and the same key."""
    return np.stack([nearest_between(run, name).shares() for name in stage_names(run)[0]])


@disk_cached(version=1)
def answered(run: StoredRun) -> np.ndarray:
    """(LAST_STAGES, 2): how often the nearest vector at the last token has the same answer, and the same key."""
    return np.stack([nearest_answer(run, name).shares() for name in stage_names(run)[1]])


def passes_on(run: StoredRun) -> float:
    """How often the nearest of the values V that the first anchor passes on has the same number in between."""
    return float(between(run)[1, 0])


def knows_early(run: StoredRun) -> float:
    """How often the nearest state of the last token after the last attention has the same answer."""
    return float(answered(run)[0, 0])


@disk_cached(version=1)
def shift(run: StoredRun) -> float:
    """By how much the first anchor moves the number for anchor 4 beside anchor 1, in what it passes on: the mean difference of
    a key with 4 and the key with 1 whose values V are the nearest; 13 where both do what they are taught. Keys 40 … 90; NaN
    where all nearest are at the ends."""
    keys = np.arange(40, 91)
    one, four = (
        collect(run, [(int(key), (anchor, 2)) for key in keys], f"V.{run.spec.model.depth}", 1, 0) for anchor in (1, 4)
    )
    near = np.linalg.norm(four[:, None].astype(float) - one[None], axis=-1).argmin(1)
    inside = (near > 0) & (near < len(keys) - 1)
    return float((keys - keys[near])[inside].mean()) if inside.any() else math.nan


@disk_cached(version=1)
def mended(run: StoredRun) -> np.ndarray:
    """(2,) how often (4, 3) is answered as composed: by the model as it is, and where the last layer reads from the first
    anchor the values V of another question, anchor 1 and the key that makes the same number in between. Keys 40 … 90."""
    model, name, at, keys = model_of(run), f"V.{run.spec.model.depth}", PLACE + 1, range(40, 91)
    asked = in_context([(key, HELD_OUT) for key in keys], 0)
    given = ActivationCache()
    model(in_context([(key - TAUGHT_SHIFT, (1, HELD_OUT[1])) for key in keys], 0)[None], given)

    def put(values: Tensor) -> Tensor:
        return torch.cat([values[:, :, :at], given[name][:, :, at : at + 1], values[:, :, at + 1 :]], 2)

    said = [model(asked[None], ActivationCache(edits))[0].argmax(-1).numpy() for edits in ({}, {name: put})]
    return np.array([(answer == np.array(keys) + INFERENTIAL_OFFSET).mean() for answer in said])


def facts(new: Sequence[StoredRun]) -> dict[str, Fact]:
    """What the text of chapter 4 says, of the new seeds."""
    runs = by_turn(new)
    at_low, at_high, at_later = (of_new_seeds(some) for some in runs)
    at_ends = of_new_seeds([*runs.low, *runs.high])
    first_low, first, first_later = ([run for run in some if way(run) == KEY_FIRST] for some in runs)
    pair, late = ([run for run in some if way(run) != KEY_FIRST] for some in (runs.low, [*runs.low, *runs.high]))
    percents = lambda measure, some, rests: Fact(span(map(measure, some)), "{:.0%} to {:.0%}", rests)
    arrives, held_key = (lambda run: float(between(run)[0, 1])), (lambda run: float(between(run)[1, 1]))
    early_key, after = (lambda run: float(answered(run)[0, 1])), (lambda run: float(answered(run)[1, 0]))
    anchor = "how often the nearest vector that the first anchor passes on has the same"
    last = "how often the nearest state of the last token has the same"
    taken = "what the first anchor takes away for 4 beside 1"
    slipping, others = [run for run in first if slips(run)], [run for run in first if not slips(run)]
    test, later_test = compare_ways([*runs.low, *runs.high], passes_on), compare_ways(runs.later, passes_on)
    early = [run for run in runs.high if knows_early(run) > MAJORITY]
    adds = [run for run in first_later if passes_on(run) > MAJORITY]
    others_later = [run for run in first_later if run not in adds]
    mixed = [run for run in others_later if hybrid(run)]
    third = [run for run in others_later if at_second_anchor(run)]
    slip_later, by_answer = [run for run in adds if slips(run)], compare_answers(new)
    patched = "−10 with the value of anchor 1 and a key 13 smaller at the first anchor, patched once results were known"
    found = {
        "first-runs": Fact(in_words(len(first)), "{}", f"key first, {at_high}"),
        "high-runs": Fact(in_words(len(runs.high)), "{}", f"all {at_high}"),
        "pair-runs": Fact(in_words(len(pair)), "{}", f"pair first, {at_low}"),
        "arrives": percents(arrives, first, f"first anchor after attention: nearest has the same key, key first, {at_high}"),
        "sum-first": percents(passes_on, first, f"{anchor} number, key first, {at_high}"),
        "held-key": percents(held_key, first, f"{anchor} key, key first, {at_high}"),
        "sum-late": Fact(max(map(passes_on, late), default=None), "{:.0%}", f"{anchor} number, most of others {at_ends}"),
        "sum-odd": Fact(mean(map(passes_on, first_low)), "{:.0%}", f"{anchor} number, key first, {at_low}"),
        "chance": Fact(3 / len(KEYS_BETWEEN), "{:.0%}", "numbers within one of a given one, of those that were asked"),
        "sum-p": Fact(test and test.p, "{:.2g}", "exact test, one-sided, key first against others; found in these runs"),
        "slip": Fact(
            in_words(sum(shift(run) > TAUGHT_SHIFT + 0.5 for run in slipping)),
            "{}",
            f"key first: for anchor 4 the first anchor takes away one more than taught, and −11 leads −10, {at_high}",
        ),
        "slip-size": Fact(span(map(shift, slipping)), "{:.1f} to {:.1f}", f"{taken}, −11 ahead, {at_high}"),
        "mended": percents(lambda run: float(mended(run)[1]), first, f"{patched}, key first, {at_high}"),
        "mended-own": percents(lambda run: float(mended(run)[0]), first, f"−10 to the same questions by itself, {at_high}"),
        "slip-later": Fact(in_words(len(slip_later)), "{}", f"key first, number passed on: −11 leads −10, {at_later}"),
        "slip-later-size": Fact(span(map(shift, slip_later)), "{:.1f} to {:.1f}", f"{taken}, these, {at_later}"),
        "slip-later-rest": Fact(
            span(shift(run) for run in adds if not slips(run)), "{:.1f} to {:.1f}", f"{taken}, the others of them, {at_later}"
        ),
        "no-slip": Fact(mean(map(shift, others)), "{:.1f}", f"{taken}, −10 ahead, {at_high}"),
        "later-first": Fact(in_words(len(first_later)), "{}", f"key first, {at_later}"),
        "later-adds": Fact(
            (in_words(len(adds)), in_words(len(first_later))),
            "{} of {}",
            f"of those that go key first, same number nearest in more than half, {at_later}",
        ),
        "later-rest": Fact(in_words(len(first_later) - len(adds)), "{}", f"key first, the others, {at_later}"),
        "later-rest-hybrids": Fact(in_words(len(mixed)), "{}", f"of these, hybrids of chapter 3, {at_later}"),
        "later-rest-third": Fact(in_words(len(third)), "{}", f"of these, meeting at the second anchor, {at_later}"),
        "later-adds-compose": Fact(in_words(len(composing(adds))), "{}", f"of these, composing to within one step, {at_later}"),
        "later-p": Fact(later_test and later_test.p, "{:.2g}", f"exact test, one-sided, key first against others, {at_later}"),
        "early-key": Fact(min(map(early_key, pair), default=None), "{:.0%}", f"{last} key after attention, least, {at_low}"),
        "early-low": Fact(max(map(knows_early, pair), default=None), "{:.0%}", f"{last} answer there, the largest, {at_low}"),
        "late-low": percents(after, pair, f"{last} answer after the feed-forward layer, pair first, {at_low}"),
        "early-odd": Fact(mean(map(knows_early, first_low)), "{:.0%}", f"{last} answer after attention, key first, {at_low}"),
        "early-first": Fact(
            min(map(knows_early, first), default=None), "{:.0%}", f"{last} answer after attention, key first, least, {at_high}"
        ),
        "early-high": Fact(in_words(len(early)), "{}", f"same answer in most questions after attention, {at_high}"),
    }
    symmetric, both = [run for run in new if exact_kind(run) == "symmetric"], of_both_answers(new)
    gammas = np.array([run.spec.gamma for run in symmetric])
    contrast = "cosine of equal answers less that of others"
    found["contrast-gamma"] = Fact(
        spearman(gammas, np.array(list(map(plain_contrast, symmetric)))) if len(set(gammas)) > 1 else None,
        "{:.2f}",
        f"rank correlation of γ and {contrast}, runs mostly exactly −6, {of_new_seeds(symmetric)}; found in these runs",
    )
    found["contrast-p"] = Fact(
        by_answer and by_answer.opposite,
        "{:.2g}",
        f"exact test, one-sided, each γ by itself: {contrast} is smaller in runs mostly exactly −10 than in those mostly −6, "
        f"{of_new_seeds(both)}",
    )
    found["contrast-runs"] = Fact(len(both), "{}", f"runs mostly exactly −10 or −6 that it compares, {of_new_seeds(both)}")
    for end, some, rests in (("low", runs.low, at_low), ("high", runs.high, at_high)):
        equal, other = (mean(answers(run)[i] for run in some) for i in (0, 1))
        found[f"{end}-equal"] = Fact(equal, "{:.2f}", f"plain cosine of equal answers, mean, {rests}")
        found[f"{end}-other"] = Fact(other, "{:.2f}", f"plain cosine of other answers, mean, {rests}")
    return found
