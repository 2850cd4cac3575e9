"""What runs were trained with, as rows for a table: read from their specs, so that no table repeats them by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lib.core.record.spec import RunSpec, TrainSpec

_ROWS: dict[str, Callable[[RunSpec], Any]] = {
    "γ": lambda s: s.gamma,
    "depth": lambda s: getattr(s.model, "depth", None),
    "seeds": lambda s: s.seed,
    "peak learning rate": lambda s: s.rate,
    "weight decay": lambda s: s.decay,
    "width": lambda s: getattr(s.model, "d_model", None),
    "norm, activation": lambda s: _together(s.model, "norm", "activation"),
    "batch": lambda s: s.train.batch,
    "schedule": lambda s: schedule(s.train),
    "products": lambda s: "single precision" if s.single_precision else "bfloat16, where the machine has it",
}


def _together(model: Any, *names: str) -> str | None:
    return ", ".join(str(getattr(model, name)) for name in names) if all(hasattr(model, name) for name in names) else None


def schedule(train: TrainSpec) -> str:
    """`warm-up 1,000 steps, cosine to 20,000`; `constant to 1,000` where the rate neither rises nor falls."""
    rise = f"{'held' if train.start == 1 else 'warm-up'} {train.warmup:,} steps, " * (train.warmup > 0)
    flat = train.final == 1
    if train.schedule == "cosine":
        return f"{rise}{'constant' if flat else 'cosine'} to {train.steps:,}"
    on = train.hold + flat * train.anneal
    held = f"{'constant' if flat else 'held'} until {train.fit_level:.0%} are right ({train.fit_metric})"
    held += f" and {on:,} steps on" * bool(on)
    return f"{rise}{held}{f', cosine over {train.anneal:,}' * (not flat)}; at most {train.steps:,}"


def settings_rows(specs: Sequence[RunSpec]) -> list[tuple[str, str]]:
    """(name, value) of what the specs have; of what differs among them every value, seeds as a number."""
    rows = []
    for name, value in _ROWS.items():
        values = sorted({v for spec in specs if (v := value(spec)) is not None}, key=lambda v: (isinstance(v, str), v))
        words = [f"{v:g}" if isinstance(v, float) else f"{v:,}" if isinstance(v, int) else v for v in values]
        if words:
            rows.append(
                (
                    name,
                    str(len(words))
                    if name == "seeds"
                    else ("; " if name in ("schedule", "norm, activation") else ", ").join(words),
                )
            )
    return rows
