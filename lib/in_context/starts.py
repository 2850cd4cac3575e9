"""Which start the talk's model had: the norms that its figures print, held against ours (Li et al. 2024a, Figs 10, 11, 14)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lib.core.read.statistics import log_distance
from lib.core.record.store import Store, StoredRun, load
from lib.in_context.experiments import start_specs
from lib.in_context.runs import large, neurons_at, row_norms, snapshots, trained

START, END = "at the start", "at the end"
FEATURE, LABEL = "feature halves of large rows of W_O W_V", "label halves of large rows of W_O W_V"
SMALL, LARGE, SHARE = "small rows of W_O", "large rows of W_O", "share of small rows"


@dataclass(frozen=True)
class Printed:
    """A quantity of the talk's figures, between `low` and `high`."""

    what: str
    when: str
    low: float
    high: float

    @property
    def name(self) -> str:
        return f"{self.what}, {self.when}"


TALK = (
    Printed(FEATURE, START, 0.02, 0.03),
    Printed(LABEL, START, 0.02, 0.03),
    Printed(FEATURE, END, 0.37, 0.47),
    Printed(LABEL, END, 1.0, 1.3),
    Printed(SMALL, END, 0.14, 0.18),
    Printed(LARGE, END, 0.45, 0.55),
    Printed(SHARE, END, 0.15, 0.19),
)
"""Read off the plots: means of iteration 0 and of the last, and the two groups of Fig. 14's sorted norms, about .16 for 17 % of
the rows and about .5 for the rest. The width of the last two ranges is ours."""


def measured(run: StoredRun) -> dict[str, float]:
    """The quantities of TALK of one run, by name. The start is the first snapshot, at which hardly anything has moved. Raises
    StoreError where neither norms nor weights were kept."""
    steps = sorted(snapshots(run))
    end = neurons_at(run, steps[-1])
    sizes = end["row norm"] if "row norm" in end else row_norms(trained(run))  # runs that were stored first have no such norms
    big = large(sizes)
    mean = lambda values, mask: float(values[mask].mean()) if mask.any() else float("nan")
    found = {f"{SMALL}, {END}": mean(sizes, ~big), f"{LARGE}, {END}": mean(sizes, big), f"{SHARE}, {END}": float((~big).mean())}
    for when, rows, chosen in ((START, neurons_at(run, steps[0]), np.ones_like(big)), (END, end, big)):
        found[f"{FEATURE}, {when}"] = mean(rows["feature norm"], chosen)
        found[f"{LABEL}, {when}"] = mean(rows["label norm"], chosen)
    return found


def distance(run: StoredRun) -> float:
    """Sum over TALK of |log| factors by which a run misses the printed ranges."""
    return log_distance(measured(run), {quantity.name: (quantity.low, quantity.high) for quantity in TALK})


def trials(store: Store, profile: str) -> dict[tuple[int, float], list[StoredRun]]:
    """{(neurons m, m times the size of a): runs}. Raises LookupError where some are missing."""
    return {place: load(specs, store) for place, specs in start_specs(profile).items()}
