"""Figures of learning to learn in context: prompts and matrices, attention, projections, neurons."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lib.core import style
from lib.core.ensemble import at_start
from lib.core.store import StoredRun
from lib.in_context.runs import fresh, history, lucky, neurons_at, row_norms, row_size, snapshots, task_of, trained
from lib.in_context.task import D_X, Task

POSITIVE, NEGATIVE = style.INFERENTIAL, style.SYMMETRIC
SAME, OTHER = style.KEY, style.NEITHER


def shown_rows(task: Task) -> list[int]:
    """The rows of a column that hold something: the feature half and q."""
    return [*range(task.m1 + task.m2), D_X]


def _rows_axis(ax: Axes, task: Task) -> None:
    """Names for the rows: relevant patterns, irrelevant ones, q."""
    ends = [task.m1, task.m1 + task.m2]
    for end in ends:
        ax.axhline(end - 0.5, color="#888888", lw=0.6)
    ax.set_yticks([(task.m1 - 1) / 2, (sum(ends) - 1) / 2, ends[1]], ["relevant μ", "irrelevant ν", "label q"])
    ax.tick_params(axis="y", length=0)


def prompt(run: StoredRun, number: int = 0) -> Figure:
    """Fig. 7: one prompt of an unseen task as the matrix that the model reads, and the query's attention before and after
    training."""
    task = task_of(run)
    drawn = fresh(task, run.spec.seed, number + 1)
    matrix, same = drawn.prompt[number][:, shown_rows(task)].numpy().T, drawn.same[number].numpy()
    with style.look():
        fig, axes = plt.subplots(3, 1, figsize=(style.WIDTH, 5.6), sharex=True, height_ratios=(4, 1, 1))
        picture = axes[0].imshow(matrix, aspect="auto", cmap=style.COSINE, vmin=-2, vmax=2, interpolation="nearest")
        _rows_axis(axes[0], task)
        for column in np.flatnonzero(same):
            axes[0].axvspan(column - 0.5, column + 0.5, fill=False, ec=SAME, lw=1.4)
        fig.colorbar(picture, ax=axes[0], label="entry", pad=0.01, fraction=0.03)
        for ax, (name, model) in zip(axes[1:], (("at the start", at_start(run.spec)), ("trained", trained(run))), strict=True):
            attention = model.query_attention(drawn.prompt[None, number : number + 1])[0][0, 0].numpy()
            ax.bar(range(len(attention)), attention, color=np.where(same, SAME, OTHER))
            ax.set(ylabel="attention", ylim=(0, None))
            ax.set_title(f"{name}: {attention[same].sum():.2f} on the query's pattern", fontsize=9)
        last = matrix.shape[1] - 1
        shown = [i for i in (0, 4, 9, 14, 19) if i < last - 2]
        axes[2].set_xticks([*shown, last], [*(f"{i + 1}" for i in shown), "query"])
        axes[2].set_xlabel("column of the prompt")
    return fig


def matrices(run: StoredRun, rate: float = 0.4) -> Figure:
    """Figs 5 and 6: the trained matrices. Left, W_Kᵀ W_Q, which compares a column with the query; middle, the rows of W_O
    W_V, those with positive a above; right, the same rows when the smallest share `rate` of W_O is pruned."""
    task, model = task_of(run), trained(run)
    rows = shown_rows(task)
    layer = model.layers[0]
    compare = (layer.attention.W_K.weight[0].T @ layer.attention.W_Q.weight[0])[rows][:, rows].numpy()
    order = np.lexsort((-row_norms(model), -model.a.numpy()))
    read = (layer.W_O.weight[0] @ layer.W_V.weight[0])[:, rows].numpy()
    kept = row_norms(model) >= np.quantile(row_norms(model), rate)
    with style.look():
        fig, axes = plt.subplots(1, 3, figsize=(style.WIDTH, 3.4), width_ratios=(1.15, 1, 1))
        top = np.abs(compare).max()
        fig.colorbar(axes[0].imshow(compare, cmap=style.COSINE, vmin=-top, vmax=top), ax=axes[0], shrink=0.6, label="entry")
        axes[0].set(title="$W_K^\\top W_Q$", xlabel="entry of the query", ylabel="entry of a column")
        top = np.quantile(np.abs(read), 0.995)
        for ax, name, matrix in (
            (axes[1], "$W_O W_V$", read),
            (axes[2], f"{rate:.0%} of neurons pruned", np.where(kept[:, None], read, np.nan)),
        ):
            ax.set_facecolor("#DDDDDD")
            picture = ax.imshow(matrix[order], aspect="auto", cmap=style.COSINE, vmin=-top, vmax=top, interpolation="nearest")
            ax.axhline(len(order) / 2 - 0.5, color="#444444", lw=0.8)
            ax.set(title=name, xlabel="entry of a column")
        axes[1].set_ylabel("neuron: a > 0 above, a < 0 below")
        axes[2].set_yticks([])
        fig.colorbar(picture, ax=axes[2], shrink=0.6, label="entry")
        for ax in axes:
            ax.set_xticks([0, task.m1, len(rows) - 1], ["μ", "ν", "q"])
        axes[0].set_yticks([0, task.m1, len(rows) - 1], ["μ", "ν", "q"])
    return fig


def _lines(ax: Axes, steps: np.ndarray, values: np.ndarray, colour: str, label: str, dash: str = "-") -> None:
    """The mean over seeds, and their range as a band."""
    ax.fill_between(steps, np.nanmin(values, 0), np.nanmax(values, 0), color=colour, alpha=0.18, lw=0)
    ax.plot(steps, np.nanmean(values, 0), color=colour, label=label, ls=dash)


def learning(runs: Sequence[StoredRun], limit: int = 400) -> Figure:
    """Hinge loss and share of wrong signs along training, on trained and on unseen tasks."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.7), sharex=True)
        for name, label, colour, dash in (
            ("seen", "trained tasks", style.SEEN, "--"),
            ("unseen", "unseen tasks", POSITIVE, "-"),
        ):
            steps, loss = history(runs, f"{name} loss")
            _lines(axes[0], steps, loss, colour, label, dash)
            _lines(axes[1], steps, 1 - history(runs, name)[1], colour, label, dash)
        axes[0].set(xlabel="training step", ylabel="hinge loss of the query", xlim=(0, limit))
        axes[1].set(xlabel="training step", ylabel="share of wrong signs")
        axes[0].legend()
    return fig


def projections(runs: Sequence[StoredRun], limit: int = 400) -> Figure:
    """Fig. 8: norms of W_Q p_query and of W_K p_i, and their projections on the unit pattern of their column, along
    training; in domain (left) and out of domain (right)."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9), sharey=True)
        for ax, where, title in zip(axes, ("", "foreign "), ("in domain", "out of domain, S₁ = 1.1"), strict=True):
            for part, name, colour in (("query", "$W_Q\\,p_{query}$", POSITIVE), ("key", "$W_K\\,p_i$", NEGATIVE)):
                for kind, dash in (("norm", "-"), ("projection", ":")):
                    steps, values = history(runs, f"{where}{part} {kind}")
                    _lines(ax, steps, values, colour, f"{name}, {kind}", dash)
            ax.set(xlabel="training step", title=title, xlim=(0, limit))
        axes[0].set(ylabel="length", ylim=(0, None))
        axes[1].legend(loc="lower right")
    return fig


def attention(runs: Sequence[StoredRun], limit: int = 400) -> Figure:
    """Fig. 9: the query's attention summed over columns of its own pattern, and over all others, along training."""
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.7), sharey=True)
        for ax, where, title in zip(axes, ("", "foreign "), ("in domain", "out of domain, S₁ = 1.1"), strict=True):
            steps, values = history(runs, f"{where}attention.1")
            _lines(ax, steps, values, SAME, "columns of the query's pattern")
            _lines(ax, steps, 1 - values, OTHER, "all other columns", "--")
            ax.axhline(0.98, color="#444444", lw=0.8, ls=":")
            ax.set(xlabel="training step", title=title, ylim=(0, 1), xlim=(0, limit))
        axes[0].set_ylabel("attention, summed")
        axes[0].legend(loc="center right")
    return fig


def neurons(run: StoredRun, half: str, steps: Sequence[int]) -> Figure:
    """Figs 10 and 11 for one run: angles of rows of W_O W_V against their norms, at several steps. half "feature": the
    angle to the mean pattern. "label": the angle to q, a > 0 as triangles up and a < 0 as triangles down."""
    positive = trained(run).a.numpy() > 0
    with style.look():
        fig, axes = plt.subplots(1, len(steps), figsize=(style.WIDTH, 2.7), sharex=True, sharey=True)
        for ax, step in zip(np.atleast_1d(axes), steps, strict=True):
            found = neurons_at(run, step)
            size, angle = found[f"{half} norm"], found[f"{half} angle"]
            if half == "feature":
                ax.plot(size, angle, "o", ms=2.6, alpha=0.5, mew=0, color=style.SEEN)
            else:
                ax.plot(size[positive], angle[positive], "^", ms=3.2, alpha=0.5, mew=0, color=POSITIVE, label="a > 0")
                ax.plot(size[~positive], angle[~positive], "v", ms=3.2, alpha=0.5, mew=0, color=NEGATIVE, label="a < 0")
            ax.axhline(0.5, color="#888888", lw=0.7, zorder=0)
            ax.set(title=f"step {step}", ylim=(0, 1), xlabel=f"norm of the {half} half")
            ax.title.set_fontsize(9)
        first = np.atleast_1d(axes)[0]
        first.set_ylabel("angle to the mean pattern (π)" if half == "feature" else "angle to q (π)")
        first.set_yticks([0, 0.25, 0.5, 0.75, 1])
        if half == "label":
            first.legend(loc="lower right", handletextpad=0.1)
    return fig


def luck(runs: Sequence[StoredRun]) -> Figure:
    """Norms of the rows of W_O W_V along training, of lucky and of other neurons: means over neurons, a thin line a seed
    (left); and how the final norms are distributed over the neurons of all seeds (right)."""
    kept = sorted(snapshots(runs[0]))
    with style.look():
        fig, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.8))
        for name, colour, chosen in (("lucky", POSITIVE, True), ("others", OTHER, False)):
            curves = []
            for run in runs:
                mask = lucky(run) == chosen
                curves.append([row_size(neurons_at(run, step))[mask].mean() for step in kept])
                axes[0].plot(kept, curves[-1], color=colour, lw=0.6, alpha=0.6)
            axes[0].plot(kept, np.mean(curves, 0), color=colour, label=name)
            last = np.concatenate([row_size(neurons_at(run, kept[-1]))[lucky(run) == chosen] for run in runs])
            axes[1].hist(last, bins=np.linspace(0, 0.5, 26), color=colour, alpha=0.6, label=name)
        axes[0].set(xlabel="training step", ylabel="mean norm of a row of $W_O W_V$", xscale="log")
        axes[1].set(xlabel="norm of a row of $W_O W_V$, trained", ylabel="neurons, all seeds")
        axes[0].legend()
    return fig
