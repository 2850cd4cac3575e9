"""What the figures of several chapters share: colours of the kinds of anchors, and the figure of variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from lib.core.read import style
from lib.reasoning_bias.ratios import Ratio

COLOUR = {"memory": style.BLUE, "reasoning": style.VERMILLION}


def points_by_name(
    ratios: Mapping[str, Mapping[float, Sequence[Ratio]]], shares: Mapping[str, Mapping[float, Sequence[float]]]
) -> Figure:
    """Variants at large and small initialization: the ratio of halving steps, memory over reasoning (left; a triangle is a
    lower bound), and the largest share of right answers on the held-out pairs along training (right). A point a run."""
    names = list(ratios)
    gammas = sorted(next(iter(ratios.values())))
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 1.1 + 0.42 * len(names)), sharey=True)
        for shift, gamma in enumerate(gammas):
            colour = style.GAMMA((0.1, 0.75)[shift])
            for row, name in enumerate(names):
                y = row + 0.24 * (shift - 0.5)
                for ratio in ratios[name][gamma]:
                    axes[0].plot(ratio.value, y, "^" if ratio.open else "o", color=colour, ms=5, alpha=0.7, mew=0)
                found, label = shares[name][gamma], f"γ = {gamma:g}" if row == 0 else None
                axes[1].plot(found, [y] * len(found), "o", color=colour, ms=5, alpha=0.7, mew=0, label=label)
        axes[0].set(xscale="log", xlabel="steps to half of the loss, memory / reasoning")
        axes[0].set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
        axes[0].minorticks_off()
        axes[0].axvline(1, color="#888888", lw=0.8, zorder=0)
        axes[0].set_yticks(range(len(names)), names)
        axes[0].invert_yaxis()
        axes[1].set(xlabel="held-out pairs right, best along training", xlim=(-0.03, 1.03))
        fig.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=len(gammas))
    return fig
