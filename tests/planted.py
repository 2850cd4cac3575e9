"""Runs that nobody trained: their results are given, so that what is said of them can be worked out by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from lib.core.read.claim import Claim
from lib.core.record.spec import RunSpec
from lib.core.record.start import at_start
from lib.core.record.store import Store, StoredRun

Kept = Mapping[int, dict[str, Tensor]]
_number = itertools.count()


class Shelf(Store):
    """A store of planted runs."""

    def __init__(self, runs: Iterable[StoredRun]) -> None:
        super().__init__(Path("nowhere"))
        self.runs = {run.spec: run for run in runs}

    def get(self, spec: RunSpec) -> StoredRun | None:
        return self.runs.get(spec)


@dataclass(frozen=True)
class Planted(StoredRun):
    """A run that is in no store."""

    kept: Kept | Callable[[StoredRun], Kept] | None = None
    """Snapshots, or what makes them once they are asked for."""
    parts: dict[str, Tensor] | None = None
    """Weights; those of the start, if none are given."""

    def snapshots(self) -> dict[int, dict[str, Tensor]]:
        return dict(self.kept(self) if callable(self.kept) else self.kept or {})

    def weights(self) -> dict[str, Tensor]:
        return self.parts or {name: p[0].detach() for name, p in at_start(self.spec).named_parameters()}


def planted_run(
    spec: RunSpec,
    metrics: Mapping[str, Any],
    history: Mapping[str, Sequence[Any]] | None = None,
    *,
    steps: int | None = None,
    status: str = "fitted",
    kept: Kept | Callable[[StoredRun], Kept] | None = None,
    weights: dict[str, Tensor] | None = None,
) -> Planted:
    """A run with these parts, under a path of its own: measures are kept by it. It stops after `steps`, by default where its
    history or its spec ends, and is evaluated as often as its spec says, where the history does not tell."""
    told = {name: list(values) for name, values in (history or {}).items()}
    every = spec.train.eval_every
    told = {"step": list(range(every, spec.train.steps + 1, every))} | told
    steps = steps or int((told["step"] or [spec.train.steps])[-1])
    made = {"device": "cpu (test)", "precision": "float32"}
    path = Path(f"planted-{next(_number)}.json")
    return Planted(spec, dict(metrics), told, steps, status, None, 1.0, made, path, kept=kept, parts=weights)


def judged(claims: Iterable[Claim], id: str, runs: Iterable[StoredRun], profile: str = "laptop") -> dict[str, Any]:
    """What a claim says of planted runs, as its record."""
    return next(claim for claim in claims if claim.id == id).evaluate(Shelf(runs), profile)
