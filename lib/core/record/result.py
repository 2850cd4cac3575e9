"""What a finished run leaves, before it is stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from lib.core.record.spec import RunSpec

STATUSES = ("fitted", "unfitted", "diverged")
"""How a run ends: it met the level that its training asks for, it stopped at the limit of steps, or it left the numbers."""


@dataclass
class RunResult:
    """What one finished run leaves: final metrics, their history, and its weights (without the run axis).

    A metric is a number or a list of numbers; a number that is not finite is None.
    """

    spec: RunSpec
    metrics: dict[str, Any]
    history: dict[str, list[Any]]
    steps: int
    status: str  # one of STATUSES
    fit_step: int | None
    seconds: float
    weights: dict[str, Tensor] = field(repr=False, default_factory=dict)
    snapshots: dict[int, dict[str, Tensor]] = field(repr=False, default_factory=dict)
    precision: str = ""
    program: str = ""
    threads: int | None = None  # of a CPU
