"""Classical learners on the very prompts that the trained model is asked (Figs 27 and 28 of Li et al. 2024a).

A learner gets the l examples of one prompt as its training set, features without the label half, and answers the query.
Examples of neither pattern stay in with the coins that are their labels. All five are scikit-learn's, with its defaults. A
prompt whose examples all have one label has that label for an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lib.core.measures import wilson
from lib.core.spec import SpecError
from lib.core.store import StoredRun
from lib.in_context.runs import ask, fresh, task_of, trained
from lib.in_context.task import D_X, Prompts

LOGISTIC = "logistic regression"
KERNELS = {"linear SVM": "linear", "RBF SVM": "rbf"}
NEAREST = {"1 nearest neighbour": 1, "3 nearest neighbours": 3}
LEARNERS = (LOGISTIC, *KERNELS, *NEAREST)
ICL = "in context"
LENGTHS = (6, 8, 10, 12, 14, 16, 18, 20)
ALPHAS = (0.8, 0.6)
"""The paper's prompt lengths and shares of task examples."""
COUNT = 400
"""Prompts a point: fitting is what takes the time."""
_STREAM = 1000  # of prompts: no run has this seed, and all learners and all runs get the same


def examples(prompts: Prompts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features (n, l, D_X), labels ±1 (n, l) and the query's features (n, D_X), in double precision."""
    prompt = prompts.prompt.double().numpy()
    return prompt[:, :-1, :D_X], prompt[:, :-1, D_X], prompt[:, -1, :D_X]


def estimator(learner: str, count: int) -> Any:
    """scikit-learn's learner with its defaults, for `count` examples. Raises SpecError for one that does not exist."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    if learner in NEAREST:
        return KNeighborsClassifier(n_neighbors=min(NEAREST[learner], count))
    if learner in KERNELS:
        return SVC(kernel=KERNELS[learner])
    if learner == LOGISTIC:
        return LogisticRegression()
    raise SpecError(f"unknown learner {learner!r}: use one of {', '.join(LEARNERS)}.")


def predict(learner: str, x: np.ndarray, y: np.ndarray, query: np.ndarray) -> np.ndarray:
    """(n,) answers ±1 of a learner to n prompts, x (n, l, D), y (n, l), query (n, D); 0, a coin's, without examples. Raises
    SpecError for a learner that does not exist."""
    import sklearn
    from threadpoolctl import threadpool_limits  # what scikit-learn itself uses

    fresh_one = estimator(learner, max(1, x.shape[1]))
    if not x.shape[1]:
        return np.zeros(len(x))
    found = y[:, 0].copy()
    # checks would be a third of the time, and threads that wait for each other most of it
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True), threadpool_limits(1):
        for n in np.flatnonzero(np.ptp(y, 1) > 0):
            found[n] = fresh_one.fit(x[n], y[n]).predict(query[n : n + 1])[0]
    return found


def wrong(found: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """(n,) 1 for a wrong answer, ½ where a coin decides."""
    return np.where(found == 0, 0.5, found != answer).astype(float)


@dataclass(frozen=True)
class Point:
    """Who answers one set of prompts: `wrong` (R, n) says of each run, or of the one learner (R = 1), and each prompt whether
    the answer is wrong. All answer the same prompts, so that the interval over prompts is that of one."""

    wrong: np.ndarray

    @property
    def each(self) -> np.ndarray:
        """(R,)"""
        return self.wrong.mean(1)

    @property
    def mean(self) -> float:
        return float(self.wrong.mean())

    @property
    def total(self) -> int:
        return self.wrong.shape[1]

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, over prompts (Wilson)."""
        return wilson(self.mean * self.total, self.total)


_PROMPTS: dict[tuple[object, ...], Prompts] = {}
_POINTS: dict[tuple[object, ...], Point] = {}


def prompts(runs: Sequence[StoredRun], alpha: float, length: int, count: int = COUNT, seed: int = 0) -> Prompts:
    """A point's prompts, drawn by `seed`: in domain, of tasks that these runs (of one training set) were not trained in."""
    task = task_of(runs[0], alpha=alpha, length=length)
    if (key := (task, count, seed)) not in _PROMPTS:
        _PROMPTS[key] = fresh(task, _STREAM + seed, count)
    return _PROMPTS[key]


def point(runs: Sequence[StoredRun], who: str, alpha: float, length: int, count: int = COUNT, seed: int = 0) -> Point:
    """What a learner, or with ICL the trained runs, get wrong at α' and l; kept for this process."""
    drawn = prompts(runs, alpha, length, count, seed)
    key = (who, task_of(runs[0], alpha=alpha, length=length), count, seed, tuple(r.path for r in runs) if who == ICL else ())
    if key not in _POINTS:
        if who == ICL:
            each = [a.margin * a.answer <= 0 for a in (ask(trained(run), drawn) for run in runs)]
        else:
            each = [wrong(predict(who, *examples(drawn)), drawn.answer.numpy())]
        _POINTS[key] = Point(np.array(each, dtype=float))
    return _POINTS[key]


def curve(runs: Sequence[StoredRun], who: str, alpha: float, count: int = COUNT, seed: int = 0) -> list[Point]:
    """`point` at every one of LENGTHS."""
    return [point(runs, who, alpha, length, count, seed) for length in LENGTHS]


def lead(mine: Sequence[Point], other: Sequence[Point]) -> tuple[float, float, float]:
    """By how much the errors of `other` exceed those of `mine`, over all prompts of two curves, and the 95 % interval over
    prompts, which are the same for both (normal approximation)."""
    gap = np.concatenate([b.wrong.mean(0) - a.wrong.mean(0) for a, b in zip(mine, other, strict=True)])
    half = 1.96 * gap.std(ddof=1) / np.sqrt(len(gap))
    return float(gap.mean()), float(gap.mean() - half), float(gap.mean() + half)
