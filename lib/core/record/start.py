"""Where a run began: its model before the first step, without the machinery of training."""

from __future__ import annotations

from typing import Any

from lib.core.model.init import apply_gamma_stacked
from lib.core.record.spec import RunSpec, derived_seed


def at_start(spec: RunSpec) -> Any:
    """The model of a run before its first step (n_runs = 1), drawn again from its seed."""
    model = spec.model.build()
    apply_gamma_stacked(model, [spec.gamma], [derived_seed(spec.seed, "weights")])
    return model.eval().requires_grad_(False)
