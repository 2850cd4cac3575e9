"""Numbers of the chapter on PrOntoQA: which labels are right, behind which chain, and how long training takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from lib.core.record.store import Store, StoredRun, load
from lib.language import arms, prontoqa
from lib.language.baselines import bag_of_words, by_occurrence
from lib.language.experiments import ASKING, CHAIN, LARGE, SMALL, Kind, asking_specs
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
    """(R,): shares of questions whose label is right behind the model's own greedy chain."""
    return np.array([float(run.snapshots()[run.steps]["own"].mean()) for run in runs])


def gold(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R,): shares of questions whose label is right behind the gold chain."""
    return arms.shares(runs, "label")


def lead(small: Sequence[StoredRun], large: Sequence[StoredRun]) -> tuple[float, float, float]:
    """As `arms.lead`, of the shares behind the gold chain."""
    return arms.difference(gold(small), gold(large))


def label_steps(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R,) the first evaluated step from which on a run tells the labels of its training questions apart, FITTED of them at
    every evaluation to the end; NaN where it never does."""
    found = []
    for run in runs:
        told = np.array(run.history["train label"]) >= arms.FITTED
        since = len(told) - int(np.argmin([*told[::-1], False]))
        found.append(run.history["step"][since] if since < len(told) else np.nan)
    return np.array(found, dtype=float)


def by_size(runs: Runs, variant: str, *arm: float, name: str = "label") -> np.ndarray:
    """(S, R): at every size the shares behind the gold chain (`label`), behind the own one (`own`), of questions that are
    answered word by word as the gold chain has it (`test`), or the steps until labels are learned (`steps`)."""
    groups = [runs[(variant, size, *arm)] for size in sizes(runs, variant, *arm)]
    how = {"own": own, "steps": label_steps}
    return np.array([how[name](group) if name in how else arms.shares(group, name) for group in groups])


@cache
def without_reasoning(profile: str, hard: bool) -> dict[str, float]:
    """Accuracies on the test of readers that do not reason: a bag of words, trained on the largest training set, and who
    believes the rule about the concept that is named more often."""
    s = ASKING[profile]
    about = dict(s.task)
    task = prontoqa.Task(concepts=about["concepts"], hops=about["hops"], hard=hard)
    known = task.examples(TRAIN_STREAM, 0, max(s.sizes))
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


# ---------------------------------------------------------------- dials


def dial_data(runs: Runs) -> dict[str, Any]:
    """What lib.book.dials needs: shares of right labels along training, of own and of new questions, by size and arm."""
    all_sizes = sizes(runs, CHAIN, *SMALL)
    groups = {(n, arm[0]): runs[CHAIN, n, *arm] for n in all_sizes for arm in (LARGE, SMALL)}
    return arms.dial_data(
        groups,
        {"size": "questions of training", "gamma": "γ of the arm"},
        {"new": ("new questions", arms.along("label")), "own": ("questions of training", arms.along("train label"))},
        {"label": "share of right labels"} | arms.SHARE,
        f"Behind the gold chain. {arms.seeds_text(groups)} Thin: the other γ. The larger γ has the larger weight decay, as in "
        "the paper.",
        start={"size": all_sizes[len(all_sizes) // 3]},
    )
