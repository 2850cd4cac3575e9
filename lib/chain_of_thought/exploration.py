"""What the dials of chapter 15 show: errors of trained models at every α', τ and number of examples, and where they look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lib.chain_of_thought import checks
from lib.chain_of_thought.chain import numbers
from lib.chain_of_thought.checks import MIDDLE
from lib.chain_of_thought.prompts import Trial
from lib.core.screen import rounded
from lib.core.store import StoredRun

SERIES = {
    "thought": ("cot", "chain of thought"),
    "leap": ("icl", "in-context learning"),
    "oracle": ("oracle", "vote of matching examples"),
}


def exploration(runs: Sequence[StoredRun], profile: str, alpha: float = 0.8, tau: float = 0.5) -> dict[str, Any]:
    """What lib.book.dials needs; a reader's own α' and τ join the stops."""
    s = checks.setting(runs)
    alphas, taus, lengths = sorted({*s.alphas, alpha}), sorted({*s.taus, tau}), list(s.lengths)
    nested = lambda leaves: [[leaves(Trial(a, t)) for t in taus] for a in alphas]

    def errors(name: str) -> Callable[[Trial], list[list[float]]]:
        def leaves(trial: Trial) -> list[list[float]]:
            found = checks.curve(runs, name, trial)
            return [[rounded(v, 5) for v in found.at(length)] for length in lengths]

        return leaves

    def attention(step: int) -> Callable[[Trial], list[float]]:
        shares = lambda trial: numbers.matched(runs, trial, s.lengths, s.prompts)[:, :, step].mean(0)
        return lambda trial: [rounded(v) for v in shares(trial)]

    series = [{"id": id, "label": label, "values": nested(errors(name))} for name, (id, label) in SERIES.items()]
    items = [{"label": f"step {k + 1}", "values": nested(attention(k))} for k in range(Trial().steps)]
    return {
        "dials": [
            {"id": "alpha", "label": "share of matching examples α′", "values": alphas},
            {"id": "tau", "label": "probability of a correct path τ", "values": taus},
            {"id": "length", "label": "examples in the prompt", "values": lengths},
        ],
        "x": "length",
        "fan": "alpha",
        "y": {"label": "share of wrong answers", "log": True, "low": 1e-4, "high": 1},
        "series": series,
        "bars": {"label": "attention to columns of the same step and pattern at", "items": items},
        "start": {"alpha": alpha, "tau": tau, "length": MIDDLE},
        "about": (
            f"Means over {len(runs)} models, {s.prompts:,} prompts each, profile {profile}, and 95 % intervals "
            "over prompts; for chain "
            "of thought and the vote the share of wrong steps, for in-context learning that of wrong ends."
        ),
    }
