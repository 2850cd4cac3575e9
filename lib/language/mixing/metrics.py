"""Numbers of the chapter on the mix of PrOntoQA and stories: two losses of one model, and its embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from lib.core.record.store import Store, StoredRun, load
from lib.language import arms
from lib.language.experiments import MIX, mix_specs
from lib.language.stories import Measures, Sequences, measures
from lib.language.study import mix_data, mix_texts

CORPORA = ("PrOntoQA", "stories")
"""The corpora by their numbers, 0 and 1."""


def of_mix(store: Store, profile: str) -> dict[tuple[bool, float], list[StoredRun]]:
    """{(are the embeddings tied?, γ): runs}. Raises LookupError where some are missing."""
    return {kind: load(specs, store) for kind, specs in mix_specs(profile).items()}


def losses(runs: Sequence[StoredRun], part: str = "train") -> np.ndarray:
    """(R, n, 2): the loss of each corpus along training, in nats a token; `part`: on rows of training or on others (`test`)."""
    return np.array([[run.history[f"{part} {i}"] for i in (0, 1)] for run in runs], dtype=float).transpose(0, 2, 1)


def steps(runs: Sequence[StoredRun]) -> np.ndarray:
    """(n,) the evaluated steps."""
    return np.array(runs[0].history["step"])


def bigram_loss(rows: Sequences, corpus: int) -> float:
    """The conditional entropy of a token given the one before it, over the tokens that the loss asks for, in nats: what the
    best bigram model of these rows has."""
    some = rows[rows.corpus == corpus]
    asked = some.targets()[:, 1:].numpy()
    before, after = some.tokens[:, :-1].numpy()[asked], some.tokens[:, 1:].numpy()[asked]
    width = int(some.tokens.max()) + 1
    entropy = lambda counts: float(np.log(counts.sum()) - (counts * np.log(counts)).sum() / counts.sum())
    count = lambda values: np.unique(values, return_counts=True)[1].astype(float)
    return entropy(count(before * width + after)) - entropy(count(before))


@cache
def bigrams(profile: str) -> tuple[float, float]:
    """The loss of each corpus's own best bigram model on its training rows, in nats a token."""
    s = MIX[profile]
    known = mix_data(s.each, s.tests, s.length)[1]
    return bigram_loss(known, 0), bigram_loss(known, 1)


def at_progress(runs: Sequence[StoredRun], profile: str) -> np.ndarray:
    """(R,) number of the first evaluation at which the mean of the two training losses is at most the mean of the two bigram
    losses: the same progress for every γ (our choice). −1 where it never is."""
    reached = losses(runs).mean(2) <= np.mean(bigrams(profile))
    return np.where(reached.any(1), reached.argmax(1), -1)


def gap(runs: Sequence[StoredRun], profile: str) -> np.ndarray:
    """(R,) ΔL = (L_stories − L_PrOntoQA) / L_PrOntoQA of the training losses at equal progress (Yao et al. 2025, Fig. 7A); NaN
    where a run never comes so far."""
    at = at_progress(runs, profile)
    loss = losses(runs)[np.arange(len(at)), at]
    return np.where(at >= 0, (loss[:, 1] - loss[:, 0]) / loss[:, 0], np.nan)


def gap_along(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R, n) ΔL along training."""
    loss = losses(runs)
    return (loss[..., 1] - loss[..., 0]) / loss[..., 0]


def passed(runs: Sequence[StoredRun], profile: str) -> np.ndarray:
    """(R, 2): the first evaluated step at which a corpus's loss is at most its own bigram model's; NaN where it never is."""
    below = losses(runs) <= np.array(bigrams(profile))
    return np.where(below.any(1), steps(runs)[below.argmax(1)], np.nan)


def cosines(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R, n, 2): mean cosine of the embeddings of two different tokens of each corpus alone, along training."""
    return np.array([[run.history[f"cosine {i}"] for i in (0, 1)] for run in runs], dtype=float).transpose(0, 2, 1)


def cosines_at(runs: Sequence[StoredRun], profile: str) -> np.ndarray:
    """(R, 2): these at equal progress; NaN where a run never comes so far."""
    at = at_progress(runs, profile)
    return np.where((at >= 0)[:, None], cosines(runs)[np.arange(len(at)), at], np.nan)


@cache
def corpora(profile: str) -> dict[str, Measures]:
    """How the two corpora compare: lengths, words and entropies, of whole texts."""
    s = MIX[profile]
    return dict(zip(CORPORA, map(measures, mix_texts(s.each, s.tests)), strict=True))


def dial_data(runs: Mapping[tuple[bool, float], Sequence[StoredRun]], profile: str) -> dict[str, Any]:
    """What lib.book.dials needs: the loss of each corpus over that of its best bigram model along training, by γ, embeddings
    tied."""
    groups = {(gamma,): group for (tied, gamma), group in runs.items() if tied}
    level = bigrams(profile)
    relative = lambda i: lambda run, point: [loss / level[i] for loss in run.history[f"train {i}"]]
    every = np.concatenate([(losses(group) / level).ravel() for group in groups.values()])
    low, high = 0.9 * float(every.min()), 1.1 * float(every.max())
    return arms.dial_data(
        groups,
        {"gamma": "γ"},
        # the stories first: lines have the colours of the figures by their place
        {name: (label, relative(i)) for i, name, label in ((1, CORPORA[1], "our stories"), (0, CORPORA[0], "PrOntoQA"))},
        {"label": "loss, over that of a bigram model", "log": True, "low": low, "high": high},
        f"{arms.seeds_text(groups)} Thin: the other γ. At 1 a model knows as much as the best bigram model of the corpus.",
    )
