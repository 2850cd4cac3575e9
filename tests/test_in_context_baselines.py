"""Chapter 18: classical learners on hand-made prompts, and beside the one-layer model on planted results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from planted_in_context import judge_of, planted, random_weights
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from lib.core.read.claim import OPPOSITE, PARTLY, REPRODUCED, TOO_SMALL
from lib.core.record.spec import SpecError
from lib.in_context import classical
from lib.in_context import runs as stored
from lib.in_context.baselines import claims, metrics
from lib.in_context.baselines.claims import CLAIMS
from lib.in_context.baselines.metrics import ICL, LENGTHS, LOUD, Test
from lib.in_context.classical import LEARNERS, LOGISTIC, NEAREST, predict
from lib.in_context.experiments import SETTINGS, one_layer, train_specs
from lib.in_context.task import D_X, Task

Test.__test__ = False  # a class of prompts, no test
MAIN = train_specs("laptop")
SMALL = [one_layer("icl-train", SETTINGS["smoke"], seed, {"length": 20}) for seed in (0, 1)]


# ---------------------------------------------------------------- classical learners


def prompt(x: Sequence[Sequence[float]], y: Sequence[float], query: Sequence[float]) -> tuple[np.ndarray, ...]:
    return np.array([x], dtype=float), np.array([y], dtype=float), np.array([query], dtype=float)


@pytest.mark.parametrize("learner", LEARNERS)
def test_one_label_is_the_answer_and_without_examples_there_is_none(learner: str) -> None:
    one = prompt([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]], [-1, -1, -1], [2.0, 0.0])
    assert predict(learner, *one).tolist() == [-1]
    empty = np.zeros((3, 0, 2)), np.zeros((3, 0)), np.zeros((3, 2))
    assert predict(learner, *empty).tolist() == [0, 0, 0]


def test_there_are_no_more_neighbours_than_examples() -> None:
    near = prompt([[1.0, 0.0], [0.0, 1.0]], [1, -1], [1.0, 0.0])
    assert predict("1 nearest neighbour", *near).tolist() == [1]
    assert predict("3 nearest neighbours", *near).tolist() == [-1]  # of two, the first label by scikit-learn's rule
    three = prompt([[1.0, 0.0], [0.0, 1.0], [0.0, 3.0]], [1, -1, -1], [1.0, 0.0])
    assert predict("3 nearest neighbours", *three).tolist() == [-1]


def test_an_unknown_learner_is_refused() -> None:
    with pytest.raises(SpecError, match="unknown learner 'forest': use one of logistic regression"):
        predict("forest", *prompt([[0.0]], [1], [0.0]))


@pytest.mark.parametrize(("alpha", "length"), [(0.8, 6), (0.6, 20), (0.2, 9)])
def test_learners_answer_as_scikit_learns_defaults(alpha: float, length: int) -> None:
    x, y, query = classical.examples(stored.fresh(Task(alpha=alpha, length=length), 5, 80))
    assert x.shape == (80, length, D_X)
    assert set(np.unique(y)) == {-1, 1}
    both = np.flatnonzero(np.ptp(y, 1) > 0)
    theirs: Mapping[str, Callable[[], Any]] = {
        LOGISTIC: LogisticRegression,
        "linear SVM": lambda: SVC(kernel="linear"),
        "RBF SVM": SVC,
        **{name: (lambda k=k: KNeighborsClassifier(k)) for name, k in NEAREST.items()},
    }
    assert list(theirs) == list(LEARNERS)
    for learner, make in theirs.items():
        found = predict(learner, x, y, query)
        expected = [make().fit(x[i], y[i]).predict(query[i : i + 1])[0] for i in both]
        assert found[both].tolist() == expected, learner


def test_a_coin_is_wrong_half_of_the_time() -> None:
    assert classical.wrong(np.array([1.0, -1, 0]), np.array([1.0, 1, 1])).tolist() == [0, 1, 0.5]


def test_learners_and_runs_answer_the_same_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [planted(spec, weights=random_weights(spec, spec.seed)) for spec in SMALL]
    asked: list[torch.Tensor] = []
    ask = metrics.ask
    monkeypatch.setattr(metrics, "ask", lambda model, drawn: (asked.append(drawn.prompt), ask(model, drawn))[1])
    test = Test(0.8, 6, count=40)
    drawn = test.prompts(runs)
    found = metrics.point(runs, ICL, test)
    assert len(asked) == 2
    assert torch.equal(asked[0], drawn.prompt)
    assert torch.equal(asked[1], drawn.prompt)
    assert asked[0].shape == (40, 7, 60)
    assert found.shape == (2, 40)
    other = metrics.point(runs, LOGISTIC, test)
    assert other.tolist() == [(predict(LOGISTIC, *classical.examples(drawn)) != drawn.answer.numpy()).tolist()]
    for change in ({"loud": 1.0}, {"seed": 1}, {"alpha": 0.6}, {"length": 5}):  # each has prompts of its own
        assert not torch.equal(replace(test, **change).prompts(runs).prompt, drawn.prompt)


def test_prompts_are_as_loud_as_their_point_and_of_tasks_that_were_not_trained() -> None:
    """Twice as loud is twice the irrelevant part, and nothing else."""
    runs = [planted(SMALL[0])]
    none, one, two = (Test(0.6, 6, loud, count=40).prompts(runs) for loud in (0.0, 1.0, 2.0))
    torch.testing.assert_close(two.prompt - none.prompt, 2 * (one.prompt - none.prompt))
    assert (one.prompt - none.prompt).abs().max().item() == pytest.approx(0.5, abs=0.02)
    task = stored.task_of(runs[0])
    assert set(map(tuple, two.pair.tolist())) <= set(map(tuple, task.unseen.tolist()))
    assert Test(0.6, 6).task(runs) == replace(task, alpha=0.6, length=6, loud=LOUD)


def points(*shares: float | Sequence[float]) -> list[np.ndarray]:
    """A curve of these shares of wrong answers; who errs more errs where the other does, too."""
    return [(np.arange(1000)[None] < 1000 * share).astype(float) for share in np.broadcast_to(shares, len(LENGTHS))]


def test_a_lead_is_paired_by_prompts() -> None:
    mine = [np.array([[0.0, 1, 0, 1], [0, 1, 0, 0]])]
    assert metrics.lead(mine, mine) == (0, 0, 0)
    value, low, high = metrics.lead(mine, [np.ones((1, 4))])
    assert value == pytest.approx(0.625)
    gaps = np.array([1, 0, 1, 0.5])
    assert (low + high) / 2 == pytest.approx(value)
    assert high - low == pytest.approx(2 * 1.96 * gaps.std(ddof=1) / 2)


def contest(**wrong: float | Sequence[float]) -> dict[str, list[np.ndarray]]:
    """Shares of errors at every length; `others` for the learners that are not named by their first word."""
    return {who: points(*np.atleast_1d(wrong.get(who.split()[0], wrong["others"]))) for who in (ICL, *LEARNERS)}


def test_who_is_ahead_or_behind_by_more_than_chance() -> None:
    """Of 1,000 prompts 3 more are within the 95 % interval, 5 are not; a learner may be ahead at one length alone."""
    assert metrics.ahead(contest(others=0.05, linear=0.047, RBF=0.045, **{"in": 0.05})) == ["RBF SVM"]
    assert metrics.ahead(contest(others=0.05, logistic=[0.05] * 7 + [0.0], **{"in": 0.05})) == [LOGISTIC]
    found = contest(others=0.05, logistic=0.06, linear=[0.05] * 7 + [0.051], RBF=0.04, **{"in": 0.05})
    assert metrics.behind(found) == [LOGISTIC]
    assert metrics.apart(contest(others=0.05, **{"in": [0.04, 0.06] * 4}), LOGISTIC)[0] == pytest.approx(0.01)


# ---------------------------------------------------------------- claims


@pytest.mark.parametrize(
    ("id", "wrong", "expected"),
    [
        ("icl-classical-8", {"others": 0.3, "logistic": 0.05, "in": 0.069}, REPRODUCED),
        ("icl-classical-8", {"others": 0.3, "logistic": 0.05, "in": 0.031}, REPRODUCED),
        ("icl-classical-8", {"others": 0.3, "logistic": 0.05, "in": 0.08}, TOO_SMALL),
        ("icl-classical-8", {"others": 0.3, "logistic": 0.05, "in": 0.2}, OPPOSITE),  # clearly not close
        ("icl-classical-8", {"others": 0.3, "logistic": 0.05, "in": [0.1, 0.0] * 4}, OPPOSITE),  # signs do not cancel
        ("icl-classical-6", {"others": 0.06}, REPRODUCED),
        ("icl-classical-6", {"others": 0.05}, PARTLY),  # within chance, but not clearly better
        ("icl-classical-6", {"others": 0.06, "RBF": [0.051] + [0.05] * 7}, PARTLY),  # better by one prompt of 8,000
        ("icl-classical-6", {"others": 0.06, "linear": [0.07] * 7 + [0.04]}, PARTLY),  # clearly better, but for one length
        ("icl-classical-6", {"others": 0.04}, OPPOSITE),
    ],
)
def test_claims_judge(monkeypatch: pytest.MonkeyPatch, id: str, wrong: dict[str, Any], expected: str) -> None:
    """Where every α' has these curves; the model errs in .05, unless it says so."""
    by = contest(**{"in": 0.05} | wrong)
    monkeypatch.setattr(claims, "curve", lambda runs, who, alpha, count: by[who])
    monkeypatch.setattr(claims, "curves", lambda runs, count: dict.fromkeys(metrics.ALPHAS, by))
    assert judge_of(CLAIMS)(id, map(planted, MAIN))["status"] == expected


# ---------------------------------------------------------------- the control


def test_who_is_told_the_relevant_directions_errs_only_without_a_match() -> None:
    """However loud the rest is; who is not told errs elsewhere, too."""
    runs, test = [planted(SMALL[0])], Test(0.6, 6, 40.0, count=200)
    drawn = test.prompts(runs)
    matched = drawn.same.any(-1).numpy()
    (told,), (other,) = (metrics.point(runs, who, test) for who in (metrics.TOLD, "1 nearest neighbour"))
    assert told[matched].sum() == 0
    assert 0 < told[~matched].sum() < (~matched).sum()
    assert other[matched].mean() > 0.1


def test_facts_on_the_control(monkeypatch: pytest.MonkeyPatch) -> None:
    by = contest(others=0.06, logistic=0.05, **{"in": 0.04}) | {metrics.TOLD: points(0.03)}
    monkeypatch.setattr(metrics, "curve", lambda runs, who, alpha, loud, seed, count: by[who])
    found = metrics.facts_on_control([], count=1000)
    assert {name: fact.text for name, fact in found.items()} == {
        "told": "0.030 against 0.040",
        "halfway-gap": "0.010",
        "halfway-behind": "five",
        "halfway": "3",
    }
