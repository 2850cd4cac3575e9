"""Words that the prose of several chapters uses."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lib.composition.phases import LEVEL, Phase
from lib.composition.trends import Trend
from lib.core.read.tables import table
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
