"""A figure that several chapters draw: shares against γ."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from lib.core.read import style


def gamma_curves(panels: Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]], ylabel: str = "share of answers") -> Figure:
    """Fig. 2c: shares against γ; every run a point, lines join the means, bars are standard deviations over seeds.

    panels: {title: {"symmetric", "inferential" or "test": (γ (n,), shares (n, seeds))}}; up to three stand in a row.
    """
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    with style.look():
        size = (style.WIDTH, (2.3 if rows > 1 else 2.9) * rows + 0.7)
        fig, axes = plt.subplots(rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False)
        for ax in axes.ravel()[len(panels) :]:
            ax.set_visible(False)
        for i, (ax, (title, curves)) in enumerate(zip(axes.ravel(), panels.items(), strict=False)):
            for name, (gammas, values) in curves.items():
                colour, marker = style.MAPPING_COLOUR[name], {"symmetric": "o", "inferential": "s", "test": "^"}[name]
                ax.plot(np.repeat(gammas, values.shape[1]), values.ravel(), marker, ms=3.2, mew=0, alpha=0.35, color=colour)
                spread = values.std(1, ddof=1) if values.shape[1] > 1 else np.zeros(len(values))
                line = "--" if name == "test" else "-"
                ax.errorbar(
                    gammas, values.mean(1), spread, fmt=line, color=colour, capsize=2, lw=1.6, label=style.MAPPING_LABEL[name]
                )
            ax.set(ylim=(-0.04, 1.06))
            ax.set_title(title, fontsize=9)
            if i + columns >= len(panels):
                ax.set_xlabel("initialization rate γ")
                ax.tick_params(labelbottom=True)
            if i % columns == 0:
                ax.set_ylabel(ylabel)
        fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig
