"""Classical learners on the very prompts that the trained model is asked (Figs 27 and 28 of Li et al. 2024a).

A learner gets the l examples of one prompt as its training set, features without the label half, and answers the query.
Examples of neither pattern stay in with the coins that are their labels. All five are scikit-learn's, with its defaults. A
prompt whose examples all have one label has that label for an answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lib.core.record.spec import SpecError
from lib.in_context.task import D_X, Prompts

LOGISTIC, LINEAR = "logistic regression", "linear SVM"
KERNELS = {LINEAR: "linear", "RBF SVM": "rbf"}
NEIGHBOUR = "1 nearest neighbour"
NEAREST = {NEIGHBOUR: 1, "3 nearest neighbours": 3}
LEARNERS = (LOGISTIC, *KERNELS, *NEAREST)


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
