"""Figures of chapter 15 that show the task: a prompt as the matrix that a model reads, and matrices of examples that err."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from lib.chain_of_thought.task import D_X, Columns, Prompts
from lib.chain_of_thought.transitions import Transitions
from lib.core import style
from lib.core.spec import SpecError


def prompts(panels: Mapping[str, tuple[Columns, Prompts]], patterns: int) -> Figure:
    """Prompts as the model reads them, (D, n) real arrays, one each: rows are coordinates, above the line those of the input
    with patterns and codes, below it those of the output. The last column is the query. `patterns`: how many were trained."""
    with style.look():
        fig, axes = plt.subplots(1, len(panels), figsize=(style.WIDTH, 4.0), sharey=True, squeeze=False)
        for ax, (title, (columns, chains)) in zip(axes[0], panels.items(), strict=True):
            matrix = columns.vectors(columns.kinds(chains)).numpy().T
            if matrix.ndim != 2:
                raise SpecError("draw one prompt at a time: index the chains with a number.")
            image = ax.imshow(matrix, cmap="Greys", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
            n, k = matrix.shape[1], columns.steps
            for boundary in range(k, n - k + 1, k):
                ax.axvline(boundary - 0.5, color="#BBBBBB", lw=0.6)
            ax.axvline(n - k - 0.5, color=style.INFERENTIAL, lw=1.4)
            ax.axhline(D_X - 0.5, color="#222222", lw=1)
            ax.axhspan(patterns - 0.5, patterns + k - 0.5, color=style.KEY, alpha=0.18, lw=0)
            ax.set(title=title, xlabel="example, three columns each")
            ax.title.set_fontsize(9)
            ax.set_xticks(np.arange((k - 1) / 2, n, k), [*range(1, n // k), "query"])
            ax.tick_params(length=0)
        places = [patterns / 2, patterns + columns.steps / 2 - 0.5, D_X + patterns / 2]
        axes[0, 0].set_yticks(places, ["input:\npattern", "code of\nthe step", "output:\npattern"])
        fig.colorbar(image, ax=axes[0].tolist(), label="entry", fraction=0.03)
    return fig


def matrices(example: Transitions, kinds: Mapping[str, Transitions]) -> Figure:
    """Transition matrices: of a small example every step and B, their product; of other tasks the second step and B. Correct
    outputs are framed."""
    names = [f"$A_{k + 1}$" for k in range(example.steps)]
    top = {name: (a, a.argmax(-1)) for name, a in zip(names, example.matrices, strict=True)}
    rows = [top | {"$B$": (example.product, example.paths[:, -1])}, {}]
    for title, task in kinds.items():
        second = task.matrices[1]
        rows[1] |= {f"$A_2$, {title}": (second, second.argmax(-1)), f"$B$, {title}": (task.product, task.paths[:, -1])}
    with style.look():
        fig = plt.figure(figsize=(style.WIDTH, 4.2))
        for part, found in zip(fig.subfigures(2, 1, height_ratios=(1, 1.15)), rows, strict=True):
            for ax, (title, (matrix, right)) in zip(part.subplots(1, len(found)), found.items(), strict=True):
                ax.imshow(matrix.numpy(), cmap=style.ACCURACY["memory"], vmin=0, vmax=1)
                for row, column in enumerate(right.tolist()):
                    frame = plt.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, ec=style.INFERENTIAL, lw=1.3)
                    ax.add_patch(frame)
                ticks = range(0, len(matrix), 1 if len(matrix) < 4 else 3)
                ax.set_xticks(ticks, [str(t + 1) for t in ticks])
                ax.set_yticks(ticks, [str(t + 1) for t in ticks])
                if len(matrix) < 4:
                    style.write_values(ax, matrix.numpy(), size=8.5)
                ax.set_title(title, fontsize=8)
                ax.set_xlabel("to")
                style.bare(ax)
            part.axes[0].set_ylabel("from")
    return fig
