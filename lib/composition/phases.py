"""Which stored runs stand for which phase: the material of the chapters on mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from lib.composition.diagram import HEADLINE, deeper, two_layers
from lib.composition.runs import MAPPINGS, clearest, generalizes
from lib.composition.variations import FLIP
from lib.core.record.store import Store, StoredRun
from lib.core.train.plan import Options

LEVEL = 0.8
"""A run belongs to a phase from this share of answers to (4, 3) on, if it has learned and generalizes (our choice). Not
higher: answers are often exact at most places of the key and off by a few at others, in runs that compose, too (chapter 2)."""


@dataclass(frozen=True)
class Phase:
    """Runs of one mapping and depth. `genuine` is False where none reaches the level and the clearest run stands in."""

    mapping: str
    depth: int
    runs: tuple[StoredRun, ...]
    genuine: bool

    @property
    def example(self) -> StoredRun:
        """The clearest run: highest accuracy, ties to the lowest γ, seed, rate."""
        return clearest(self.runs, self.mapping)


def _besides(profile: str, store: Store) -> list[StoredRun]:
    """What is stored of further seeds of two layers and of deeper models at full length, none of which a chapter trains."""
    if profile != "laptop":
        return []
    return [*two_layers(store, profile), *chain.from_iterable(deeper(store, profile).values())]


def obtain_material(profile: str, store: Store, options: Options = Options()) -> list[StoredRun]:
    """Both older sets of two layers, trained where they are missing, and what is stored besides; of these the runs whose
    weights were kept."""
    runs = [run for e in (FLIP, HEADLINE) for run in e.obtain(e.specs(profile), store, options)]
    return [run for run in {run.path: run for run in (*runs, *_besides(profile, store))}.values() if run.has_weights]


def in_phase(run: StoredRun, mapping: str) -> bool:
    return generalizes(run) and run.metrics[mapping] >= LEVEL


def phases(runs: Sequence[StoredRun]) -> list[Phase]:
    """Every phase that runs show, by depth and mapping; at the smallest depth both, the clearest run standing in if need be.

    Raises ValueError for no runs.
    """
    if not runs:
        raise ValueError("phases need runs with weights.")
    present = sorted({run.spec.model.depth for run in runs})
    found = []
    for depth in present:
        here = [run for run in runs if run.spec.model.depth == depth]
        for mapping in MAPPINGS:
            members = tuple(run for run in here if in_phase(run, mapping))
            if members:
                found.append(Phase(mapping, depth, members, True))
            elif depth == present[0]:
                found.append(Phase(mapping, depth, (clearest(here, mapping),), False))
    return found
