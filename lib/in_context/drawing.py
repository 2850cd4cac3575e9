"""What several chapters of the study draw alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from lib.core.read import style
from lib.in_context.runs import Share


def log_errors(ax: Axes, x: Sequence[float], shares: Sequence[Share], low: float, label: str | None, **look: Any) -> None:
    """Means over runs on a logarithmic axis that begins at `low`, with the 95 % interval over prompts as a band; what is below
    stands at the floor as an open mark."""
    mean, (lower, upper) = np.array([s.mean for s in shares]), np.array([s.interval for s in shares]).clip(low, 1).T
    below = mean < low
    style.between(ax, x, lower, upper, look["color"])
    ax.plot(x, mean.clip(low, 1), label=label, **{"lw": 1.5, **look})
    foot = ax.plot(
        np.asarray(x)[below], [low] * below.sum(), "o", color=look["color"], mfc="white", ms=4, clip_on=False, zorder=5
    )
    foot[0].set_in_layout(False)
    ax.set(yscale="log", ylim=(low, 1))
