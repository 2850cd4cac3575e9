"""How a model of addition holds its numbers: on a ruler, the part of their embeddings that changes slowly with the number, and
on a dial, the part that comes back after a period; and what it answers without either (ours)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from lib.core.model.transformer import from_weights
from lib.core.read.disk_cache import disk_cached
from lib.core.record.store import StoredRun
from lib.language.addition_task import MARKS
from lib.language.study import make_adding

DEGREE = 7
"""The ruler is the part of the embeddings that polynomials of this degree in the number hold (our choice)."""
LONGEST = 20
"""The dial's period is sought up to here."""
BAND = np.linspace(-0.0075, 0.0075, 7)
"""The dial is what lies within these frequencies, in turns a number, around that of the period and around twice and three times
that (our choice); 200 numbers part frequencies that lie .005 apart."""
HARMONICS = (1, 2, 3)
SLOW = 40
"""Slow is what polynomials of this degree hold, in the middle waves of some sixteen numbers and more (our choice)."""
RULER, DIAL, OTHER, FAST = "ruler", "dial", "other", "fast"
"""What can be cut: OTHER is as much of the spectrum as the dial, where the dial has nothing; FAST is all that is not slow."""


@dataclass(frozen=True)
class Parts:
    """(numbers, d_model) parts of the embeddings of numbers, about their mean, and the period of the dial, in numbers."""

    period: float
    cut: dict[str, np.ndarray]


def _fit(of: np.ndarray, by: np.ndarray) -> np.ndarray:
    return by @ np.linalg.lstsq(by, of, rcond=1e-6)[0]


def _polynomials(numbers: int, degree: int) -> np.ndarray:
    """(numbers, degree) values of all but the constant one."""
    return np.polynomial.legendre.legvander(np.linspace(-1, 1, numbers), degree)[:, 1:]


def _waves(frequencies: Sequence[float], numbers: int) -> np.ndarray:
    """(numbers, waves) cosines and sines within BAND of these frequencies, in turns a number."""
    angle = 2 * np.pi * np.add.outer(frequencies, BAND).ravel() * np.arange(numbers)[:, None]
    return np.concatenate([np.cos(angle), np.sin(angle)], 1)


def _folded(frequency: float) -> float:
    """The frequency below one half that looks the same on whole numbers."""
    return min(frequency % 1, -frequency % 1)


def parts_of(numbers: np.ndarray) -> Parts:
    """numbers: (n, d_model) embeddings of 0, 1, …, n − 1."""
    n = len(numbers)
    about = numbers - numbers.mean(0)
    ruler = _fit(about, _polynomials(n, DEGREE))
    rest = about - ruler
    frequencies = np.linspace(1 / min(LONGEST, n // 2), 0.5, 2 * n)
    turns = np.exp(-2j * np.pi * np.outer(frequencies, np.arange(n)))
    best = float(frequencies[(abs(turns @ (rest * np.hanning(n)[:, None])) ** 2).sum(1).argmax()])
    own = [_folded(h * best) for h in HARMONICS]
    far = [f for f in np.random.default_rng(0).uniform(1 / LONGEST, 0.5, 100) if min(abs(f - o) for o in own) > 4 * BAND.max()]
    cut = {
        RULER: ruler,
        DIAL: _fit(rest, _waves(own, n)),
        OTHER: _fit(rest, _waves(far[: len(own)], n)),
        FAST: about - _fit(about, _polynomials(n, SLOW)),
    }
    return Parts(1 / best, cut)


def coherence(off: np.ndarray, period: float) -> float:
    """How much errors are whole turns of the dial, the mean cosine of their angles on it: 1 where all are, near 0 where they
    fall anywhere, −1 where all are half a turn off; NaN without errors. off: by how much answers are off."""
    missed = off[off != 0]
    return float(np.cos(2 * np.pi * missed / period).mean()) if len(missed) else float("nan")


@disk_cached(version=2)
def cuts(run: StoredRun) -> dict[str, np.ndarray]:
    """{what is cut from the embeddings of numbers: (pairs,) by how much the answer to each pair of the square is off}, of a run
    that keeps its weights, and {"period": (1,) that of its dial}."""
    weights, study, found = run.weights(), make_adding(run.spec), {}
    inputs = slice(len(MARKS), len(MARKS) + study.task.numbers)
    numbers = weights["embedding.token"][inputs].double().numpy()
    parts = parts_of(numbers)
    for name, part in parts.cut.items():
        token = weights["embedding.token"].clone()
        token[inputs] = torch.from_numpy(numbers - part).to(token)
        model = from_weights(run.spec.model, weights | {"embedding.token": token})
        found[name] = study.snapshot(model, run.steps)["off"][0].numpy()
    return found | {"period": np.array([parts.period])}


def period(run: StoredRun) -> float:
    """After how many numbers the dial comes back."""
    return float(cuts(run)["period"][0])


def off(run: StoredRun, cut: str | None = None) -> np.ndarray:
    """(pairs,) by how much the answer to each pair of the square is off."""
    return cuts(run)[cut] if cut else run.snapshots()[run.steps]["off"].numpy()


def right(run: StoredRun, cut: str | None = None) -> float:
    """The share of the square that is right."""
    return float((off(run, cut) == 0).mean())


def turns_missed(run: StoredRun, cut: str | None = None) -> float:
    """The median size of its errors, in turns of its dial; NaN without errors."""
    missed = off(run, cut)
    return float(np.median(abs(missed[missed != 0]))) / period(run) if missed.any() else float("nan")


def whole_turns(run: StoredRun, cut: str | None = None) -> float:
    """`coherence` of the errors with the dial of the run."""
    return coherence(off(run, cut), period(run))
