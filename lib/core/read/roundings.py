"""The same runs in bfloat16, in single precision, and in single precision from weights that are off by their last bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass

import numpy as np

from lib.core.read.claim import OPPOSITE, TOO_SMALL, Measured, Part
from lib.core.read.statistics import bootstrap_indices, interval, sign_flips
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store, StoredRun, load, load_stored

LEVEL = 0.05
"""Of all tests of one comparison together: each has its share (Bonferroni)."""
SINGLE, MOVED, SHORT = "single precision", "last bit moved", "bfloat16"


@dataclass(frozen=True)
class Arms:
    """The same runs (n), in the same order: in bfloat16, in single precision, and again with the last bit moved."""

    short: Sequence[StoredRun] = ()
    single: Sequence[StoredRun] = ()
    moved: Sequence[StoredRun] = ()

    @property
    def whole(self) -> bool:
        """Are there as many runs in every arm, and some?"""
        return min(sizes := set(map(len, self.arms))) > 0 and len(sizes) == 1

    @property
    def arms(self) -> tuple[Sequence[StoredRun], ...]:
        return self.short, self.single, self.moved

    @property
    def named(self) -> dict[str, Sequence[StoredRun]]:
        return {SINGLE: self.single, MOVED: self.moved, SHORT: self.short}

    @property
    def runs(self) -> list[StoredRun]:
        return [*self.single, *self.moved, *self.short]

    def where(self, wanted: Callable[[StoredRun], bool]) -> Arms:
        return Arms(*([run for run in arm if wanted(run)] for arm in self.arms))

    def beside(self, others: Arms) -> Arms:
        """These runs and others; none at all unless both are whole."""
        both = zip(self.arms, others.arms, strict=True)
        return Arms(*([*own, *more] for own, more in both)) if self.whole and others.whole else Arms()

    def compare(self, of: Callable[[StoredRun], float]) -> Comparison:
        return Comparison(*(np.array([of(run) for run in arm], float) for arm in self.arms))


def split(runs: Sequence[StoredRun]) -> Arms:
    """Runs of one setting by how they round, each arm by γ and seed; left out is one that should be in bfloat16 and is not."""
    runs = sorted(runs, key=lambda run: (run.spec.gamma, run.spec.seed))
    return Arms([run for run in runs if run.provenance["precision"] == "bfloat16"], *_twins(runs))


def _twins(runs: Sequence[StoredRun]) -> list[list[StoredRun]]:
    """Those of them in single precision, and those with the last bit moved."""
    single = [run for run in runs if run.spec.train.precision == "float32"]
    return [[run for run in single if run.spec.nudge == nudge] for nudge in (0, 1)]


@dataclass(frozen=True)
class Comparison:
    """One number of each run, (n,) in each arm."""

    short: np.ndarray
    single: np.ndarray
    moved: np.ndarray

    @property
    def shift(self) -> np.ndarray:
        """(n,) By how much bfloat16 is above the mean of the other two."""
        return self.short - (self.single + self.moved) / 2

    @property
    def null(self) -> np.ndarray:
        """(n,) How far the last bit leads apart."""
        return np.abs(self.moved - self.single)

    @property
    def far(self) -> np.ndarray:
        """(n,) How far bfloat16 is from the other two, on average."""
        return (np.abs(self.short - self.single) + np.abs(self.short - self.moved)) / 2

    @property
    def further(self) -> np.ndarray:
        """(n,) By how much further off that is than the last bit leads."""
        return self.far - self.null

    @property
    def mean_shift(self) -> tuple[float, float, float]:
        """The mean shift and its 95 % interval, by drawing runs."""
        return float(self.shift.mean()), *interval(self.shift[bootstrap_indices(len(self.shift), 2000)].mean(1))


def arms(short: Sequence[RunSpec], again: Sequence[RunSpec], store: Store) -> Arms:
    """`again`: what `once_more` makes of the specs `short`. Raises LookupError unless all are stored, those of `short` in
    bfloat16, and for none."""
    if not again:
        raise LookupError("precisions are compared with the profile 'laptop' alone")
    runs, twins = load(short, store), load_stored(again, store)
    if len(twins) < len(again):
        raise LookupError(f"some runs are not stored: python -m lib sweep {again[0].experiment} --profile roundings")
    if any(run.provenance["precision"] != "bfloat16" for run in runs):
        raise LookupError("the runs to compare with are not all in bfloat16, which this machine may not have")
    return Arms(runs, *_twins(twins))


def tests(c: Comparison) -> dict[str, float]:
    """Exact p: is bfloat16 shifted? Is it further off than the last bit leads?"""
    return {"shifted": sign_flips(c.shift), "further off": sign_flips(c.further, "greater")}


def level(found: Sized) -> float:
    """Below which p of one of `tests` counts, of so many numbers that are compared together."""
    return LEVEL / (2 * len(found))


def parts(found: Mapping[str, tuple[Comparison, float]]) -> tuple[Part, ...]:
    """{what is compared: (numbers, how far they may be off)}: bfloat16 is not shifted, and not further off than the last bit
    leads; and the interval of its shift lies within what is allowed."""
    made = []
    for name, (c, allowed) in found.items():
        _, low, high = c.mean_shift
        made += [Part(f"{name}, {what}: p", p, ">=", level(found), "{:.2g}", failure=OPPOSITE) for what, p in tests(c).items()]
        widest = max(-low, high)
        made.append(Part(f"{name}, largest shift in the 95 % interval", widest, "<=", allowed, "{:.3f}", failure=TOO_SMALL))
    return tuple(made)


@dataclass(frozen=True)
class Question:
    """What is asked of the precision of a kind of runs: `short` and `again`, its specs of a profile, as `arms` takes them;
    `numbers`, {what is compared: (of a run, by how much it may be off)}."""

    short: Callable[[str], Sequence[RunSpec]]
    again: Callable[[str], Sequence[RunSpec]]
    numbers: Mapping[str, tuple[Callable[[StoredRun], float], float]]

    def compared(self, store: Store, profile: str) -> dict[str, tuple[Comparison, float]]:
        """Raises LookupError as `arms` does."""
        found = arms(self.short(profile), self.again(profile), store)
        return {name: (found.compare(of), most) for name, (of, most) in self.numbers.items()}

    def measure(self, store: Store, profile: str) -> Measured:
        found = self.compared(store, profile)
        return Measured(parts(found), len(self.short(profile)))

    @property
    def criterion(self) -> str:
        return criterion({name: most for name, (_, most) in self.numbers.items()})


def criterion(found: Mapping[str, float]) -> str:
    """In words; {what is compared: by how much it may be off}."""
    allowed = "; ".join(f"{name} by at most {most:g}" for name, most in found.items())
    return (
        "the same runs in bfloat16, in single precision, and again from weights off by their last bit, compared run by run "
        f"(exact sign-flip tests, p at least {LEVEL:g} over the number of tests): bfloat16 is neither shifted nor further off "
        f"than the last bit leads; its shift with the 95 % interval within ({allowed})"
    )
