"""Words that the prose of several chapters uses."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lib.composition.phases import LEVEL, Phase
from lib.composition.runs import MAPPINGS, learned_among
from lib.composition.trends import Trend, Value, slope
from lib.core.read.tables import table
from lib.core.read.words import number_of
from lib.core.record.spec import RunSpec
from lib.core.record.store import StoredRun


def answer(said: str) -> str:
    """A verdict as the opening words of its chapter, without its own emphasis."""
    return "**Answer.** " + said.replace("**", "")


NAMES = {
    ("composition-phase", 1): "fast diagram",
    ("composition-phase", 2): "full-length runs",
    ("composition-flip", 1): "large-batch runs",
    ("composition-size", 1): "runs of the paper's size",
}
"""What chapters call a set of runs, by experiment and version."""


def set_name(experiment: str, version: int) -> str:
    return NAMES.get((experiment, version), f"`{experiment}`, version {version}")


def setting_words(spec: RunSpec) -> str:
    """`width 64, batch 1024, learning rate 0.0005`."""
    return f"width {spec.model.d_model}, batch {spec.train.batch}, learning rate {spec.rate:g}"


def run_words(run: StoredRun) -> str:
    s = run.spec
    return f"γ = {s.gamma:g}, depth {s.model.depth}, width {s.model.d_model}, seed {s.seed}, learning rate {s.rate:g}"


def trend_words(trend: Trend) -> str:
    return f"{trend[0]:+z.2f} [{trend[1]:+z.2f}, {trend[2]:+z.2f}]"


def steps_word(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:.0f}"


def direction(trend: Trend) -> str:
    return "rises" if trend[1] > 0 else "falls" if trend[2] < 0 else "shows no trend"


def material_text(phases: Sequence[Phase]) -> str:
    rows = [
        (
            p.title,
            len(p.runs),
            ", ".join(sorted({f"{r.spec.gamma:g}" for r in p.runs})),
            f"{np.mean([r.metrics[p.mapping] for r in p.runs]):.2f}"
            if p.genuine
            else "none reaches the level: the clearest run",
        )
        for p in phases
    ]
    head = ("phase", "runs", "γ", "mean share of its answer")
    return f"Runs with stored weights in which one answer has at least {LEVEL:.0%}:\n\n" + table(head, rows)


def slopes_text(runs: Sequence[StoredRun], values: dict[str, Value], metrics: Sequence[str] = MAPPINGS, seed: int = 0) -> str:
    """Rank correlations of settings with the answers, over the runs that learned the seen pairs."""
    good = learned_among(runs) or list(runs)
    lines = []
    for name, value in values.items():
        words = []
        for metric in metrics:
            s, low, high = slope(good, value, metric, seed)
            words.append(f"{metric} {trend_words((s, low, high))}")
        lines.append(f"- **{name}**: " + ", ".join(words))
    whole = len(good) == len(runs)
    over = f"all {number_of(len(runs))}" if whole else f"the {len(good)} of {number_of(len(runs))} that learned the seen pairs"
    return f"Rank correlation over {over}:\n\n" + "\n".join(lines)
