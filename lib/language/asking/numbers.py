"""Numbers of the chapter on PrOntoQA: which labels are right, behind which chain, and how long training takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from lib.core.record.store import Store, StoredRun, load
from lib.language import arms, prontoqa
from lib.language.baselines import bag_of_words, by_occurrence
from lib.language.experiments import ASKING, Kind, asking_specs
from lib.language.study import END_TOKEN, PAD_TOKEN, TEST_STREAM, TRAIN_STREAM, make_asking
from lib.language.text import OUT

Runs = Mapping[Kind, Sequence[StoredRun]]


def of_asking(store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """Raises LookupError where some are missing."""
    return {kind: load(specs, store) for kind, specs in asking_specs(profile).items()}


def sizes(runs: Runs, variant: str, *arm: float) -> list[int]:
    """Sizes of training sets that an arm has, in order."""
    return sorted(size for kind, size, *other in runs if kind == variant and tuple(other) == arm)


def own(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R,): shares of questions whose label is right behind the model's own greedy chain (or without chains, behind OUT)."""
    return np.array([float(run.snapshots()[run.steps]["own"].mean()) for run in runs])


def lead(small: Sequence[StoredRun], large: Sequence[StoredRun]) -> tuple[float, float, float]:
    """As `arms.lead`, of the shares behind a chain of one's own."""
    return arms.difference(own(small), own(large))


def by_size(runs: Runs, variant: str, *arm: float, name: str = "own") -> np.ndarray:
    """(S, R): at every size the shares behind the own chain (`own`), behind the gold one (`label`), of questions that are
    answered word by word as the gold chain has it (`test`), or the steps to fit (`fit`)."""
    groups = [runs[(variant, size, *arm)] for size in sizes(runs, variant, *arm)]
    how = {"own": own, "fit": arms.fit_steps}
    return np.array([how[name](group) if name in how else arms.shares(group, name) for group in groups])


@cache
def without_reasoning(profile: str, hard: bool) -> dict[str, float]:
    """Accuracies on the test of readers that do not reason: a bag of words, trained on the largest training set (of the hard
    variant on the one that it has), and who believes the rule about the concept that is named more often."""
    s = ASKING[profile]
    about = dict(s.task)
    task = prontoqa.Task(concepts=about["concepts"], hops=about["hops"], hard=hard)
    known = task.examples(TRAIN_STREAM, 0, s.middle if hard else max(s.sizes))
    test = task.examples(TEST_STREAM, 0, about["test"])
    named = float(np.mean([by_occurrence(e) == e.answer for e in test]))
    return {"a bag of words": bag_of_words(known, test), "the concept named more often": named}


Example = tuple[str, str, str, bool]
"""Question, gold chain, what the model writes, and whether its label is right."""


def examples(run: StoredRun) -> list[Example]:
    """Some questions of the test."""
    study = make_asking(run.spec)
    kept = run.snapshots()[run.steps]
    found = []
    for i, written in enumerate(kept["written"].long()):
        rows, start, length = study.test.rows, int(study.test.rows.start[i]), int(study.test.rows.length[i])
        text = lambda tokens: " ".join(w for w in study.words.decode(tokens) if w != OUT).replace(" .", ".").replace(" :", ":")
        said = [int(t) for t in written if int(t) not in (END_TOKEN, PAD_TOKEN)]
        found.append((text(rows.tokens[i, :start]), text(rows.tokens[i, start : length - 1]), text(said), bool(kept["own"][i])))
    return found
