"""Words that the prose of several chapters uses."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lib.composition.phases import LEVEL, Phase
from lib.composition.runs import MAPPINGS, learned_among
from lib.composition.trends import Trend, Value, slope
from lib.core.record.store import StoredRun


def number_of(n: int, what: str = "run") -> str:
    """`1 run`, `2 runs`."""
    return f"{n} {what}{'s' * (n != 1)}"


def sentence(words: str) -> str:
    """With a capital letter, and nothing else changed."""
    return words[:1].upper() + words[1:]


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def run_words(run: StoredRun) -> str:
    s = run.spec
    return f"γ = {s.gamma:g}, depth {s.model.depth}, width {s.model.d_model}, seed {s.seed}, rate {s.rate:g}"


def trend_words(trend: Trend) -> str:
    return f"{trend[0]:+.2f} [{trend[1]:+.2f}, {trend[2]:+.2f}]"


def steps_word(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:.0f}"


def direction(trend: Trend) -> str:
    return "rises" if trend[1] > 0 else "falls" if trend[2] < 0 else "shows no trend"


def material_text(phases: Sequence[Phase]) -> str:
    rows = [
        f"| {p.title} | {len(p.runs)} | {', '.join(sorted({f'{r.spec.gamma:g}' for r in p.runs}))} | "
        + (
            f"{np.mean([r.metrics[p.mapping] for r in p.runs]):.2f} |"
            if p.genuine
            else "none reaches the level: the clearest run |"
        )
        for p in phases
    ]
    head = "| phase | runs | γ | mean share of its answer |\n|---|---|---|---|\n"
    return f"Runs with stored weights in which one answer has at least {LEVEL:.0%}:\n\n" + head + "\n".join(rows)


def slopes_text(runs: Sequence[StoredRun], values: dict[str, Value], metrics: Sequence[str] = MAPPINGS, seed: int = 0) -> str:
    """Rank correlations of settings with the answers, over the runs that learned the seen pairs."""
    good = learned_among(runs) or list(runs)
    lines = []
    for name, value in values.items():
        words = []
        for metric in metrics:
            s, low, high = slope(good, value, metric, seed)
            words.append(f"{metric} {s:+.2f} [{low:+.2f}, {high:+.2f}]")
        lines.append(f"- **{name}**: " + ", ".join(words))
    return f"Rank correlation over the {len(good)} of {len(runs)} runs that learned the seen pairs:\n\n" + "\n".join(lines)
