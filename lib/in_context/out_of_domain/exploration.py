"""What the dials of chapter 13 show: errors and attention for every computed α', S₁ and length of the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lib.core.store import StoredRun
from lib.in_context.out_of_domain.numbers import Along, along, at_foreign, gpt
from lib.in_context.runs import Share
from lib.in_context.study import ALPHAS, SUMS
from lib.in_context.task import no_match_floor

SHARES = (0.4, 0.6, 0.8, 1.0)
LENGTHS = (1, 2, 4, 6, 8, 10, 14, 20)
COUNT = 1000
"""Prompts a run and point of the one-layer model."""
START = {"alpha": 0.8, "sum": 1.1, "length": 10}


def rounded(value: float) -> float:
    """Four significant digits: what a page shows, and less than the results' own uncertainty."""
    return float(f"{value:.4g}")


def leaf(share: Share) -> list[float]:
    return [rounded(v) for v in (share.mean, *share.interval)]


def exploration(runs: Sequence[StoredRun], gpts: Sequence[StoredRun], count: int = COUNT) -> dict[str, Any]:
    """What lib.book.dials needs: curves over the length of the prompt, of one-layer runs and of GPT-2 runs where these were
    tested, and the query's attention in the former."""
    found: list[list[Along]] = [[along(runs, LENGTHS, count, alpha=a, sum=s) for s in SUMS] for a in SHARES]
    other = [[gpt(gpts, at_foreign(s), a) if a in ALPHAS else None for s in SUMS] for a in SHARES]
    attention = [[[rounded(v) for v in a.attention.mean(0)] for a in row] for row in found]
    rest = [[[rounded(1 - v) for v in a.attention.mean(0)] for a in row] for row in found]
    none: list[None] = [None] * len(LENGTHS)
    lines = {
        "layer": ("one layer", [[[leaf(s) for s in a.shares] for a in row] for row in found]),
        "gpt": (
            "GPT-2",
            [[[leaf(shares[n]) for n in LENGTHS] if shares else none for shares in row] for row in other],
        ),
        "floor": ("copy a match, else guess", [[[flat(a, n) for n in LENGTHS] for _ in SUMS] for a in SHARES]),
    }
    return {
        "dials": [
            {"id": "alpha", "label": "share of task examples α′", "values": list(SHARES)},
            {"id": "sum", "label": "coefficient sum S₁", "values": list(SUMS)},
            {"id": "length", "label": "examples in the prompt", "values": list(LENGTHS)},
        ],
        "x": "length",
        "fan": "alpha",
        "y": {"label": "share of wrong answers", "log": True, "low": 1e-4, "high": 1.0},
        "series": [{"id": id, "label": label, "values": values} for id, (label, values) in lines.items()],
        "bars": {
            "label": "attention of the query, one layer",
            "items": [
                {"label": "examples of its own pattern", "values": attention},
                {"label": "all other examples", "values": rest},
            ],
        },
        "start": START,
        "about": f"Out-of-domain patterns. Means over {len(runs)} seeds (one layer) and {len(gpts)} (GPT-2, tested at α′ = "
        f"{ALPHAS[0]:g} and {ALPHAS[-1]:g} of these alone); bands: 95 % intervals over prompts.",
    }


def flat(alpha: float, length: int) -> list[float]:
    """A line that has no interval."""
    return [rounded(no_match_floor(alpha, length))] * 3
