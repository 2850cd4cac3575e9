"""Figures of chapter 18: learning in context beside classical learners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lib.core.read import style
from lib.in_context.baselines.metrics import ICL, LENGTHS
from lib.in_context.classical import LEARNERS
from lib.in_context.drawing import log_errors
from lib.in_context.runs import Share
from lib.in_context.task import no_match_floor

LOOK = dict(
    zip(
        LEARNERS,
        (
            {"color": style.BLUE, "marker": "s"},
            {"color": style.GREEN, "marker": "^", "ls": "--"},
            {"color": style.GREEN, "marker": "v", "ls": ":"},
            {"color": style.PURPLE, "marker": "D", "ls": "--"},
            {"color": style.ORANGE, "marker": "P", "ls": ":"},
        ),
        strict=True,
    )
)
LOW = 5e-4
"""Where the axis of errors ends."""


def baselines(curves: Mapping[float, Mapping[str, Sequence[np.ndarray]]]) -> Figure:
    """Figs 27 and 28: share of wrong answers of the one-layer model and of classical learners on the same prompts, a panel
    an α'. Dotted: ½ (1 − α'/2)^l."""
    with style.look():
        fig, axes = plt.subplots(1, len(curves), figsize=(style.WIDTH, 3.9), sharey=True, squeeze=False)
        for ax, (alpha, by) in zip(axes[0], curves.items(), strict=True):
            for who in LEARNERS:
                values = np.array([p.mean() for p in by[who]])
                ax.plot(LENGTHS, values.clip(LOW), label=who, lw=1.2, ms=4.5, mfc="none", **LOOK[who])
            own = [Share(p.mean(1), p.shape[1], own=False) for p in by[ICL]]
            log_errors(ax, LENGTHS, own, LOW, None, color=style.VERMILLION, marker="o", ms=4, lw=2.2, zorder=4)
            floor = [no_match_floor(alpha, n) for n in LENGTHS]
            ax.plot(LENGTHS, floor, ls=(0, (1, 1.5)), color="#555555", lw=1.1)
            ax.set(title=f"α' = {alpha:g}", xlabel="examples in the prompt", ylim=(LOW, 0.6))
            ax.set_xticks(LENGTHS)
        axes[0, 0].set_ylabel("share of wrong answers")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        mark = Line2D([], [], color=style.VERMILLION, lw=2.2, marker="o", ms=4)
        fig.legend([mark, *handles], ["one layer, in context", *labels], loc="outside lower center", ncols=3)
    return fig
