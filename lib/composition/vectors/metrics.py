"""Are the vectors of equal answers parallel? Cosines of intermediates of stored models (Fig. 4 of Zhang et al. 2024)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from lib.composition.flip import CONFIRM_FIRST
from lib.composition.information_flow.metrics import KEY_FIRST, by_way, compare_ways, way
from lib.composition.runs import model_of
from lib.composition.task import ANCHORS, EXCEPTION, HELD_OUT, LENGTH, PAIRS, Task, composed
from lib.core.model.transformer import Taps
from lib.core.read.derived import derived
from lib.core.read.fact import Fact, in_words, mean
from lib.core.read.measures import cosines, remembered
from lib.core.record.store import StoredRun

KEYS = range(30, 41)
"""The keys of the paper's heatmaps."""
LOWER, UPPER = ((3, 3), (2, 2)), ((1, 2), (1, 3))
"""The pairs that its lower and its upper triangle compare, as (rows, columns)."""
MIDDLES = range(51, 61)
"""Intermediate values of the follow-up's blocks: every (key, first anchor) with g(key; anchor) among them."""
NEAR, APART, LOW = 0.9, 0.1, 0.5
"""Mean cosines: near-parallel from NEAR on, apart from the others by APART at least, low below LOW (our choice)."""


@dataclass(frozen=True)
class Similarity:
    """values: (n, m) cosines; agree: (n, m) bool, where the two vectors stand for the same number; counted: (n, m) bool, the
    entries that means are taken over, None for all."""

    values: np.ndarray
    agree: np.ndarray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counted: np.ndarray | None = None


def centre(vectors: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    """Without the mean vector of all questions, which every cosine shares and which says nothing about an answer.

    With `groups`, (n,), without the mean of the question's own group.
    """
    groups = np.zeros(len(vectors)) if groups is None else groups
    centred = np.array(vectors)
    for g in np.unique(groups):
        centred[groups == g] -= vectors[groups == g].mean(0)
    return centred


def contrast(values: np.ndarray, agree: np.ndarray, counted: np.ndarray | None = None) -> float:
    """Mean cosine where the numbers agree minus mean cosine where they do not, among the counted entries.

    Raises ValueError where there are none of one kind.
    """
    counted = np.ones_like(agree) if counted is None else counted
    inside, outside = values[agree & counted], values[~agree & counted]
    if not len(inside) or not len(outside):
        raise ValueError("a contrast needs entries that agree and entries that do not.")
    return float(inside.mean() - outside.mean())


def collect(
    run: StoredRun, questions: list[tuple[int, tuple[int, int]]], name: str, ahead: int | None, context: int
) -> np.ndarray:
    """(n, D) vectors of one intermediate for n questions (key, pair) in one context: place 2 and the same noise for all.

    `ahead` counts from the key (1 is the first anchor); None is the last position.
    """
    task, place, taps = Task(), 2, Taps()
    batch = task.questions(
        torch.tensor([key for key, _ in questions]),
        torch.full((len(questions),), place),
        torch.tensor([task.number(pair) for _, pair in questions]),
        context,
    )
    tokens = batch.tokens[:1].repeat(len(questions), 1)  # the noise of the first question for all
    tokens[:, place : place + 3] = batch.tokens[:, place : place + 3]
    model_of(run)(tokens[None], taps)
    position = LENGTH - 1 if ahead is None else place + ahead
    return taps[name][0, :, position].flatten(1).numpy()


def fused(run: StoredRun, context: int = 0, centred: bool = False) -> Similarity:
    """Fig. 4a, b: X_ao of the last layer at the last position; keys 30 … 40. Below the diagonal (3, 3) against (2, 2), above
    (1, 2) against (1, 3); the diagonal, where nothing agrees, belongs to the lower half."""
    return _halves(run, f"X_ao.{run.spec.model.depth}", None, composed, context, lambda pair: 0 if centred else None)


def held(run: StoredRun, context: int = 0, centred: bool = False) -> Similarity:
    """Fig. 4c: the values V of the last layer at the first anchor, for the questions of Fig. 4a, b. What agrees is the number
    in between, g(key; a1). centred: without the mean of all questions with the same first anchor. The upper half compares
    questions with one first anchor, which is the same token, so it does not count."""
    between = lambda pair: ANCHORS[pair[0]]
    found = _halves(run, f"V.{run.spec.model.depth}", 1, between, context, lambda pair: pair[0] if centred else None)
    return replace(found, counted=np.tril(np.ones_like(found.agree)))


def _halves(
    run: StoredRun,
    name: str,
    ahead: int | None,
    offset: Callable[[tuple[int, int]], int],
    context: int,
    group: Callable[[tuple[int, int]], int | None],
) -> Similarity:
    """One intermediate of keys 30 … 40 in the paper's layout, a comparison of two pairs in each half. Entries agree where key +
    offset(pair) do. Within the questions of a half, the mean of each group(pair) is taken off; None: nothing is."""
    n = len(KEYS)
    below = np.tril(np.ones((n, n), dtype=bool))
    values, agree = np.zeros((n, n)), np.zeros((n, n), dtype=bool)
    for pairs, part in ((LOWER, below), (UPPER, ~below)):
        both = np.concatenate([collect(run, [(k, pair) for k in KEYS], name, ahead, context) for pair in pairs])
        if None not in map(group, pairs):
            both = centre(both, np.repeat([group(pair) for pair in pairs], n))
        targets = [np.array(KEYS) + offset(pair) for pair in pairs]
        values = np.where(part, cosines(both[:n], both[n:]), values)
        agree |= part & (targets[0][:, None] == targets[1][None])
    names = tuple(str(key) for key in KEYS)
    return Similarity(values, agree, names, names)


def blocks(run: StoredRun, name: str | None = None, context: int = 0, centred: bool = False) -> Similarity:
    """The follow-up's blocks: an intermediate at the first anchor's position for all (key, a1) with equal g(key; a1); by
    default the values V of the last layer. centred: without the mean of all questions with the same anchor, so that which
    anchor it is does not count."""
    name = name or f"V.{run.spec.model.depth}"
    questions = [(middle - offset, (anchor, 2)) for middle in MIDDLES for anchor, offset in ANCHORS.items()]
    vectors = collect(run, questions, name, 1, context)
    anchor = np.array([pair[0] for _, pair in questions])
    vectors = centre(vectors, anchor) if centred else vectors
    middle = np.array([key + ANCHORS[pair[0]] for key, pair in questions])
    names = tuple(f"{key}{ANCHORS[pair[0]]:+d}" for key, pair in questions)
    different = anchor[:, None] != anchor[None]  # a first anchor against itself does not count: it is the same token
    return Similarity(cosines(vectors, vectors), middle[:, None] == middle[None], names, names, different)


def block_contrast(s: Similarity) -> float:
    """The contrast of blocks, over the entries that count."""
    return contrast(s.values, s.agree, s.counted)


def contrast_by_layer(run: StoredRun, contexts: int = 3, centred: bool = False) -> np.ndarray:
    """(layers,) "equal output is near-parallel" in one number a layer: X_ao at the last position over keys 30 … 40 and all
    pairs that compose, mean cosine of equal answers minus that of others. A pair against itself or its mirror image does not
    count: there the two mappings agree. The keys are near each other, so that closeness of numbers alone does not count as
    much."""
    pairs = [pair for pair in PAIRS if pair not in (EXCEPTION, HELD_OUT)]
    questions = [(key, pair) for pair in pairs for key in KEYS]
    target = np.array([key + composed(pair) for key, pair in questions])
    which = np.array([sum(10 ** (a - 1) for a in pair) for _, pair in questions])  # one number for a pair and its mirror image
    agree, counted = target[:, None] == target[None], which[:, None] != which[None]
    found = []
    for context in range(contexts):
        vectors = [collect(run, questions, f"X_ao.{layer}", None, context) for layer in range(1, run.spec.model.depth + 1)]
        vectors = [centre(v) if centred else v for v in vectors]
        found.append([contrast(cosines(v, v), agree, counted) for v in vectors])
    return np.mean(found, axis=0)


def anchor_contrast(run: StoredRun, contexts: int = 3, centred: bool = False) -> np.ndarray:
    """(layers,) the same at the first anchor: X_ao of each layer, grouped by g(key; a1). High where the key has been added."""
    layers = range(1, run.spec.model.depth + 1)
    found = [[block_contrast(blocks(run, f"X_ao.{layer}", c, centred)) for layer in layers] for c in range(contexts)]
    return np.mean(found, axis=0)


# --- Over runs ---


@derived(version=1)
def last_token(run: StoredRun) -> np.ndarray:
    """(layers,) contrast_by_layer."""
    return contrast_by_layer(run)


@derived(version=1)
def last_token_centred(run: StoredRun) -> np.ndarray:
    """The same without the mean vector."""
    return contrast_by_layer(run, centred=True)


@derived(version=1)
def at_anchor(run: StoredRun) -> np.ndarray:
    """(layers,) anchor_contrast without the mean of the anchor."""
    return anchor_contrast(run, centred=True)


@derived(version=1)
def at_anchor_plain(run: StoredRun) -> float:
    """Contrast of the last layer's values V at the first anchor, nothing subtracted, as Fig. 4c shows them."""
    return block_contrast(blocks(run))


def counted(s: Similarity) -> np.ndarray:
    """The entries that means are taken over; where rows and columns are the same questions, none against itself."""
    other = ~np.eye(len(s.agree), dtype=bool) if s.agree.diagonal().all() else np.ones_like(s.agree)
    return other if s.counted is None else other & s.counted


def split(s: Similarity) -> tuple[float, float]:
    """Mean cosine inside and outside of the boxes, over the entries that count."""
    other = counted(s)
    return float(s.values[s.agree & other].mean()), float(s.values[~s.agree & other].mean())


@remembered
def answers(run: StoredRun) -> tuple[float, float]:
    """Mean plain cosines of Fig. 4a, b: of equal answers, and of others."""
    return split(fused(run))


@remembered
def middles(run: StoredRun) -> tuple[float, float]:
    """Mean plain cosines of the values V at the first anchor, for the questions of blocks: of equal intermediate values, and of
    others."""
    return split(blocks(run))


PLAIN, CENTRED, ANCHOR, VALUES = "last token", "last token, centred", "first anchor, centred", "first anchor, values V"
"""The paper's measures, the first and the last, and the same without the part that all vectors share."""
MEASURES: dict[str, Callable[[StoredRun], float]] = {
    PLAIN: lambda run: float(last_token(run)[-1]),
    CENTRED: lambda run: float(last_token_centred(run)[-1]),
    ANCHOR: lambda run: float(at_anchor(run)[-2]),
    VALUES: lambda run: at_anchor_plain(run),
}
"""A contrast in one number a run. Last token: the last layer. First anchor: the layer before, from which the last reads it; and
the values V that the last layer sends on from there, with nothing subtracted."""


def by_group(runs: Sequence[StoredRun]) -> dict[tuple[float, str], list[StoredRun]]:
    """{(γ, way): runs}, in the order of γ and of WAYS."""
    gammas = sorted({run.spec.gamma for run in runs})
    return {(g, w): some for g in gammas for w, some in by_way([run for run in runs if run.spec.gamma == g]).items()}


def _span(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The least and the largest; None of no values."""
    return (min(values), max(values)) if values else (None, None)


def facts(new: Sequence[StoredRun]) -> dict[str, Fact]:
    """What the text of chapter 4 says, of the new seeds."""
    found = {}
    high = [run for run in new if run.spec.gamma == CONFIRM_FIRST[1]]
    low = [run for run in new if run.spec.gamma == CONFIRM_FIRST[0]]
    rests = f"of the new seeds at γ = {CONFIRM_FIRST[1]:g}"
    first, late = ([r for r in high if (way(r) == KEY_FIRST) is is_first] for is_first in (True, False))
    found["first-runs"] = Fact(in_words(len(first)), "{}", f"key first, {rests}")
    for key, name in (("anchor", ANCHOR), ("centred", CENTRED)):
        for group, some in (("first", first), ("late", late)):
            span = _span([MEASURES[name](run) for run in some])
            found[f"{key}-{group}"] = Fact(span, "{:.2f} to {:.2f}", f"contrast at the {name}, key {group}, {rests}")
    for key, name in (("anchor", ANCHOR), ("values", VALUES), ("centred", CENTRED), ("plain", PLAIN)):
        c = compare_ways(new, MEASURES[name])
        words = "exact test, key first against key last, each γ by itself, all new seeds; found in these runs"
        found[f"{key}-p"] = Fact(c and c.p, "{:.2g}", f"{words}: contrast at the {name}")
    odd = [run for run in low if way(run) == KEY_FIRST]
    others = [MEASURES[ANCHOR](run) for run in low if way(run) != KEY_FIRST]
    rests = f"of the new seeds at γ = {CONFIRM_FIRST[0]:g}: contrast at the {ANCHOR}"
    found["odd-anchor"] = Fact(mean(MEASURES[ANCHOR](run) for run in odd), "{:.2f}", f"the run that goes key first, {rests}")
    found["low-anchor"] = Fact(max(others, default=None), "{:.2f}", f"the largest of the others, {rests}")
    for group, some in (("low", low), ("high", high)):
        equal, other = (mean(answers(run)[i] for run in some) for i in (0, 1))
        rests = f"mean of the new seeds at γ = {CONFIRM_FIRST[group == 'high']:g}"
        found[f"{group}-equal"] = Fact(equal, "{:.2f}", f"plain cosine of equal answers, {rests}")
        found[f"{group}-other"] = Fact(other, "{:.2f}", f"plain cosine of other answers, {rests}")
    return found
