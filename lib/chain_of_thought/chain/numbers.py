"""From stored runs to numbers: errors of trained models on test prompts with intervals, two stages of training, exponents."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from lib.chain_of_thought import oracle
from lib.chain_of_thought.inference import Reading, Tables, growing, read
from lib.chain_of_thought.prompts import Trial
from lib.core.measures import log_slope, wilson
from lib.core.store import StoredRun

FIRST_TEST_SEED = 1000
"""Test prompts of a run are those of this seed and its own added up: no two models answer the same prompts."""
ENOUGH = 0.8
"""The level at which attention counts as being somewhere."""

_readings: dict[tuple[Path, Trial, tuple[int, ...], int], Reading] = {}


def reading(run: StoredRun, trial: Trial, lengths: Sequence[int], prompts: int) -> Reading:
    """What a stored model answers to a trial's prompts, computed once in a process. Raises StoreError without weights."""
    key = run.path, trial, tuple(lengths), prompts
    if key not in _readings:
        tables = Tables(run.spec.model, run.weights(), trial.columns)
        _readings[key] = read(tables, trial, lengths, prompts, FIRST_TEST_SEED + run.spec.seed)
    return _readings[key]


@dataclass(frozen=True)
class Curve:
    """Errors against lengths (G,) of all runs together: `by_run` (S, G) for each, `prompts` answered by all of them."""

    lengths: np.ndarray
    by_run: np.ndarray
    prompts: int

    @property
    def mean(self) -> np.ndarray:
        return self.by_run.mean(0)

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Wilson's 95 % interval, (G,) each, from the number of prompts. For a mean over the steps of a prompt it is too wide
        rather than too narrow: such a mean varies less than a single answer."""
        low, high = zip(*(wilson(share * self.prompts, self.prompts) for share in self.mean), strict=True)
        return np.array(low), np.array(high)

    def at(self, length: int) -> tuple[float, float, float]:
        """Mean, low, high. Raises LookupError for a length that was not computed."""
        if not (found := np.flatnonzero(self.lengths == length)).size:
            raise LookupError(f"prompts of {length} examples were not computed")
        return tuple(float(v[found[0]]) for v in (self.mean, *self.interval))


CURVES: dict[str, Callable[[Reading], torch.Tensor]] = {
    "thought": lambda r: r.thought.mean(1),
    "oracle": lambda r: r.oracle.mean(1),
    "leap": lambda r: r.leap,
}
"""Chain of thought and the oracle: the mean over steps of the share of wrong answers; in-context learning: that of wrong
ends."""


def curve(runs: Sequence[StoredRun], name: str, trial: Trial, lengths: Sequence[int], prompts: int) -> Curve:
    """One of CURVES on a trial, `prompts` prompts for each run."""
    found = [CURVES[name](reading(run, trial, lengths, prompts)).double().numpy() for run in runs]
    return Curve(np.array(lengths), np.array(found), prompts * len(runs))


def vote_curve(trial: Trial, lengths: Sequence[int], prompts: int) -> Curve:
    """The errors of the vote alone, for trials that no model is asked about."""
    drawn = trial.draw(FIRST_TEST_SEED, prompts, max(lengths))
    answers = [
        oracle.chain(counts, trial.columns, drawn.query[:, 0], FIRST_TEST_SEED)
        for counts, _ in growing(trial.columns, drawn, lengths)
    ]
    wrong = torch.stack([(answer != drawn.query[:, 1:]).double().mean() for answer in answers])
    return Curve(np.array(lengths), wrong[None].numpy(), prompts)


def matched(runs: Sequence[StoredRun], trial: Trial, lengths: Sequence[int], prompts: int) -> np.ndarray:
    """(S, G, K) the mean attention at each step of inference to columns of the same step and pattern."""
    return np.array([reading(run, trial, lengths, prompts).matched.numpy() for run in runs])


def needed(found: Curve, level: float) -> float | None:
    """The number of examples at which the error first falls to a level, on the straight line between logarithms around it; None
    where no length is long enough, or the shortest is."""
    below = np.flatnonzero(found.mean <= level)
    if not below.size or below[0] == 0:
        return None
    i = below[0]
    x, y = np.log(found.lengths[i - 1 : i + 1]), np.log(np.maximum(found.mean[i - 1 : i + 1], 1e-12))
    return float(np.exp(x[0] + (math.log(level) - y[0]) * (x[1] - x[0]) / (y[1] - y[0])))


# --- Training ---


def history(run: StoredRun, *names: str) -> np.ndarray:
    """(n,) the sum of some of a run's numbers at every evaluated step; NaN where one was not finite."""
    rows = [[np.nan if v is None else v for v in run.history[name]] for name in names]
    return np.array(rows, dtype=float).sum(0)


def reached(run: StoredRun, names: Sequence[str], level: float = ENOUGH, falling: bool = False) -> float | None:
    """The iteration at which a sum of a run's numbers reaches a level, from below or `falling`, on the straight line between
    evaluations; None for never."""
    steps, values = np.array(run.history["step"], dtype=float), history(run, *names)
    there = np.flatnonzero(values <= level if falling else values >= level)
    if not there.size:
        return None
    i = there[0]
    if i == 0:
        return float(steps[0])
    share = (level - values[i - 1]) / (values[i] - values[i - 1])
    return float(steps[i - 1] + share * (steps[i] - steps[i - 1]))


@dataclass(frozen=True)
class Slope:
    """The exponent b of y ∝ x^b with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


def exponent(x: Sequence[float], y: Sequence[float]) -> Slope:
    """Least squares between logarithms. Raises LookupError for fewer than two values of x."""
    if len(set(x)) < 2:
        raise LookupError("fewer than two settings have a value, so there is no exponent")
    return Slope(*log_slope(list(x), list(y)))


LOSS = 0.05
STAGES = ("step", "pattern", "loss")
"""What is waited for: attention to the query's step, then that to its pattern among these; and a held-out loss of LOSS."""


def until(run: StoredRun, stage: str) -> float | None:
    """Iterations to the end of one of STAGES."""
    if stage == "loss":
        return reached(run, ("held out",), LOSS, falling=True)
    return reached(run, ("both",) if stage == "pattern" else ("both", "step only"))


def iterations(groups: Mapping[float, Sequence[StoredRun]], stage: str = "pattern") -> list[tuple[float, float]]:
    """(value of the setting, iterations) of every run that gets there."""
    found = ((value, until(run, stage)) for value, runs in groups.items() for run in runs)
    return [(value, steps) for value, steps in found if steps is not None]
