"""Whom a model that learned to learn in context beats (chapter 18): errors of the one-layer model and of classical learners
on the same prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from lib.core.read.disk_cache import disk_cached
from lib.core.read.fact import Fact, in_words
from lib.core.read.statistics import Trend, bootstrap_indices, interval
from lib.core.record.store import StoredRun
from lib.in_context.classical import LEARNERS, LINEAR, LOGISTIC, NEIGHBOUR, examples, predict, wrong
from lib.in_context.runs import ask, fresh, task_of, trained
from lib.in_context.task import Prompts, Task

ICL = "in context"
TOLD = f"{NEIGHBOUR}, told the relevant directions"
"""The control: it learns nothing from other prompts, but for which directions matter."""
LENGTHS = (6, 8, 10, 12, 14, 16, 18, 20)
ALPHAS = (0.8, 0.6)
"""The paper's prompt lengths and shares of task examples (Figs 27 and 28)."""
COUNT = 2000
"""Prompts a point, and prompts of a trial of κ: with fewer, the smallest errors are those of single prompts."""
TALK_LINEAR = {0.8: 0.012, 0.6: 0.035}
"""{α': error of the linear SVM at 20 examples}, read off the talk's Figs 27 and 28."""
LOUDS = (1.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0)
LOUD = 10.0
"""How many times larger the irrelevant pattern of a test prompt is than in training: what was tried, and where the linear SVM
errs as in the talk at the longest prompt. As in training, hardly any learner errs there."""
HALFWAY = 6.0
"""A louder irrelevant pattern than in training, at which both of the paper's statements are asked once more."""
CLOSE_ALPHA, BEST_ALPHA = ALPHAS
"""Where the paper has learning in context level with logistic regression, and where it has it clearly best."""
CLOSE = 0.02
"""The difference of two shares of errors that we call close."""
_STREAM, _TRIAL_STREAM = 1000, 998  # of prompts: no run has these seeds, and all learners and all runs get the same


@dataclass(frozen=True)
class Test:
    """A point's prompts: α', l and how loud the irrelevant pattern is; `count` of them, drawn by `seed`."""

    alpha: float
    length: int
    loud: float = LOUD
    count: int = COUNT
    seed: int = 0

    def prompts(self, runs: Sequence[StoredRun]) -> Prompts:
        """In domain, of tasks that these runs (of one training set) were not trained in."""
        return fresh(self.task(runs), _STREAM + self.seed, self.count)

    def task(self, runs: Sequence[StoredRun]) -> Task:
        return task_of(runs[0], alpha=self.alpha, length=self.length, loud=self.loud)


def point(runs: Sequence[StoredRun], who: str, test: Test) -> np.ndarray:
    """(R, prompts) a point: what each of the trained runs, with ICL, or a learner (R = 1) gets wrong. All answer the same
    prompts."""
    return _wrong(list(runs) if who == ICL else [runs[0]], who, test).astype(float)


@disk_cached(version=2)
def _wrong(runs: Sequence[StoredRun], who: str, test: Test) -> np.ndarray:
    """(R, prompts) 0 or 1, or ½ where a learner tosses a coin; of a learner one row, and of the runs only their task counts."""
    drawn = test.prompts(runs)
    if who == TOLD:
        axes = test.task(runs).patterns.double().numpy().T  # (D_X, count): features along the relevant patterns
        x, y, query = examples(drawn)
        each = [wrong(predict(NEIGHBOUR, x @ axes, y, query @ axes), drawn.answer.numpy())]
    elif who == ICL:
        each = [a.margin * a.answer <= 0 for a in (ask(trained(run), drawn) for run in runs)]
    else:
        each = [wrong(predict(who, *examples(drawn)), drawn.answer.numpy())]
    return np.array(each, dtype=np.float16)


def prompts_of(profile: str) -> int:
    """Prompts of a point, and of a trial of κ: few in the profile that only shows that all works."""
    return 10 if profile == "smoke" else COUNT


def curve(
    runs: Sequence[StoredRun], who: str, alpha: float, loud: float = LOUD, seed: int = 0, count: int = COUNT
) -> list[np.ndarray]:
    """`point` at every one of LENGTHS."""
    return [point(runs, who, Test(alpha, length, loud, count, seed)) for length in LENGTHS]


def curves(
    runs: Sequence[StoredRun], loud: float = LOUD, seed: int = 0, count: int = COUNT
) -> dict[float, dict[str, list[np.ndarray]]]:
    """{α': {who: points}} of the runs and of every learner."""
    return {alpha: {who: curve(runs, who, alpha, loud, seed, count) for who in (ICL, *LEARNERS)} for alpha in ALPHAS}


@cache
def loud_trials(count: int) -> dict[float, dict[float, float]]:
    """{loud: {α': error of the linear SVM at the longest prompt}}, on prompts that no figure shows; no model is asked."""
    found: dict[float, dict[float, float]] = {}
    for loud in LOUDS:
        found[loud] = {}
        for alpha in ALPHAS:
            drawn = fresh(Task(alpha=alpha, length=LENGTHS[-1], loud=loud), _TRIAL_STREAM, count)
            found[loud][alpha] = float(wrong(predict(LINEAR, *examples(drawn)), drawn.answer.numpy()).mean())
    return found


def ahead(by: Mapping[str, Sequence[np.ndarray]]) -> list[str]:
    """The learners that err less than the runs at some length, by more than the 95 % interval over prompts."""
    return [who for who in LEARNERS if any(lead([a], [b])[2] < 0 for a, b in zip(by[ICL], by[who], strict=True))]


def behind(by: Mapping[str, Sequence[np.ndarray]]) -> list[str]:
    """The learners that err more than the runs over all lengths, by more than the 95 % interval over prompts."""
    return [who for who in LEARNERS if lead(by[ICL], by[who])[1] > 0]


def apart(by: Mapping[str, Sequence[np.ndarray]], who: str) -> Trend:
    """The mean absolute difference of the errors of a learner and of the runs, over all lengths, and its 95 % interval by
    resampling prompts, which are the same for both."""
    gaps = [b.mean(0) - a.mean(0) for a, b in zip(by[ICL], by[who], strict=True)]
    picks = bootstrap_indices(len(gaps[0]), 1000)
    ends = interval(np.mean([abs(gap[picks].mean(1)) for gap in gaps], 0))
    return float(np.mean([abs(gap.mean()) for gap in gaps])), *ends


def lead(mine: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> tuple[float, float, float]:
    """By how much the errors of `other` exceed those of `mine`, over all prompts of two curves, and the 95 % interval over
    prompts, which are the same for both (normal approximation)."""
    gap = np.concatenate([b.mean(0) - a.mean(0) for a, b in zip(mine, other, strict=True)])
    half = 1.96 * gap.std(ddof=1) / np.sqrt(len(gap))
    return float(gap.mean()), float(gap.mean() - half), float(gap.mean() + half)


def facts_on_control(runs: Sequence[StoredRun], seed: int = 0, count: int = COUNT) -> dict[str, Fact]:
    """Of the control, and of both of the paper's statements on prompts that are louder than in training, but less than LOUD."""
    told, icl = (np.mean([p.mean() for p in curve(runs, who, BEST_ALPHA, LOUD, seed, count)]) for who in (TOLD, ICL))
    close = {who: curve(runs, who, CLOSE_ALPHA, HALFWAY, seed, count) for who in (ICL, LOGISTIC)}
    best = {who: curve(runs, who, BEST_ALPHA, HALFWAY, seed, count) for who in (ICL, *LEARNERS)}
    asked = f"paired prompts, {count:,} a point, κ up to ±{HALFWAY / 2:g}"
    return {
        "told": Fact(
            (float(told), float(icl)),
            "{:.3f} against {:.3f}",
            f"errors at α' = {BEST_ALPHA:g} over all lengths, κ up to ±{LOUD / 2:g}: {TOLD}, and the model",
        ),
        "halfway-gap": Fact(
            apart(close, LOGISTIC)[0], "{:.3f}", f"mean |difference| of errors of the model and logistic regression, {asked}"
        ),
        "halfway-behind": Fact(
            in_words(len(behind(best))), "{}", f"learners clearly worse than the model at α' = {BEST_ALPHA:g}, {asked}"
        ),
        "halfway": Fact(HALFWAY / 2, "{:g}", "half-width of κ, between training's and the one chosen"),
    }


def lead_rows(found: Mapping[float, Mapping[str, Sequence[np.ndarray]]]) -> list[tuple[str, ...]]:
    """(learner, by how many errors in 1,000 prompts it exceeds the model over all lengths with the paired 95 % interval), a
    column an α'."""
    words = lambda gap: "{:+.1f} [{:+.1f}, {:+.1f}]".format(*(1000 * v for v in gap))
    return [(who, *(words(lead(by[ICL], by[who])) for by in found.values())) for who in LEARNERS]


def loud_rows(found: Mapping[float, Mapping[float, float]]) -> list[tuple[str, ...]]:
    """(κ's half-width, errors of the linear SVM at each α'), the talk's last."""
    rows = [(f"{loud / 2:g}", *(f"{errors[alpha]:.3f}" for alpha in ALPHAS)) for loud, errors in found.items()]
    return [*rows, ("talk", *(f"{TALK_LINEAR[alpha]:.3f}" for alpha in ALPHAS))]


def facts(
    found: Mapping[float, Mapping[str, Sequence[np.ndarray]]], clean: Mapping[float, Mapping[str, Sequence[np.ndarray]]]
) -> dict[str, Fact]:
    """What the text of chapter 18 says: of prompts with a loud irrelevant pattern, and of prompts as in training."""
    lengths = f"l = {LENGTHS[0]} to {LENGTHS[-1]}"
    asked = f"paired prompts, {COUNT:,} a point, {lengths}"
    close, best = found[CLOSE_ALPHA], found[BEST_ALPHA]
    facts = {
        "gap": Fact(
            apart(close, LOGISTIC)[0], "{:.3f}", f"mean |difference| of errors of the model and logistic regression, {asked}"
        ),
        "behind": Fact(
            in_words(len(behind(best))), "{}", f"learners clearly worse than the model at α' = {BEST_ALPHA:g}, {asked}"
        ),
        "clean-behind": Fact(
            in_words(len(set.intersection(*(set(behind(by)) for by in clean.values())))),
            "{}",
            f"learners clearly worse at either α', prompts as in training, {asked}",
        ),
        "clean-gap": Fact(
            apart(clean[CLOSE_ALPHA], LOGISTIC)[0], "{:.3f}", f"as the first, prompts as in training, α' = {CLOSE_ALPHA:g}"
        ),
        "clean-ahead": Fact(
            in_words(sum(all(lead(by[ICL], by[who])[2] < 0 for by in clean.values()) for who in LEARNERS)),
            "{}",
            f"learners clearly better over all lengths at both α', prompts as in training, {asked}",
        ),
        "half-width": Fact(LOUD / 2, "{:g}", "half-width of κ, chosen by the linear SVM's errors at the longest prompt"),
    }
    for name, who in (("icl", ICL), ("logistic", LOGISTIC), ("svm", LINEAR)):
        first, last = (float(best[who][i].mean()) for i in (0, -1))
        facts |= {
            f"{name}-short": Fact(
                first, "{:.3f}", f"share of wrong answers, {who}, α' = {BEST_ALPHA:g}, {LENGTHS[0]} examples"
            ),
            f"{name}-long": Fact(
                last,
                "{:.2g}",
                f"share of wrong answers, {who}, α' = {BEST_ALPHA:g}, {LENGTHS[-1]} examples",
            ),
        }
    return facts
