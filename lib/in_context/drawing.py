"""What several chapters of the study draw alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes


def band(ax: Axes, x: Sequence[float] | np.ndarray, values: np.ndarray, shade: float = 0.15, **look: object) -> None:
    """Mean over runs and the range of all runs. values: (R, n); NaN is left out. `shade`: how dense the band is."""
    ax.plot(x, np.nanmean(values, 0), **look)
    ax.fill_between(x, np.nanmin(values, 0), np.nanmax(values, 0), color=look["color"], alpha=shade, lw=0)
