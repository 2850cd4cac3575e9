"""Planted runs of the study of in-context learning, and what claims say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from planted import Kept, Planted, judged, planted_run
from torch import Tensor

from lib.core.read.claim import Claim
from lib.core.record.spec import RunSpec
from lib.core.record.start import at_start
from lib.core.record.store import StoredRun


def planted(
    spec: RunSpec,
    history: Mapping[str, Sequence[Any]] | None = None,
    kept: Kept | None = None,
    weights: dict[str, Tensor] | None = None,
    status: str = "fitted",
    **metrics: Any,
) -> Planted:
    """A run with these parts, evaluated at even distances to the end of its training as often as its history is long."""
    count = max(map(len, (history or {}).values()), default=2)
    steps = [spec.train.steps * (i + 1) // count for i in range(count)]
    return planted_run(spec, metrics, {"step": steps} | dict(history or {}), status=status, kept=kept, weights=weights)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def random_weights(spec: RunSpec, seed: int = 0) -> dict[str, Tensor]:
    parts = enumerate(at_start(spec).named_parameters())
    return {name: drawn(*p.shape[1:], seed=seed + i) / p.shape[-1] ** 0.5 for i, (name, p) in parts}


Judge = Callable[..., dict[str, Any]]


def judge_of(claims: Sequence[Claim], profile: str = "laptop") -> Judge:
    """What one of the claims says of planted runs, as its record; its criterion holds every bar of its parts."""

    def record(id: str, runs: Iterable[StoredRun] = (), profile: str = profile) -> dict[str, Any]:
        found = judged(claims, id, runs, profile)
        bars = {abs(part["threshold"]) for part in found["parts"]} - {0}
        assert all(f"{bar:g}" in found["criterion"] or f"{bar:.0%}" in found["criterion"] for bar in bars), bars
        return found

    return record
