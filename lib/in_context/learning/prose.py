"""Lines, tables and sentences of chapter 12."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.core.init import gamma_std
from lib.core.measures import spread
from lib.core.store import StoredRun
from lib.in_context.experiments import SETTINGS, gpt_specs, train_specs
from lib.in_context.learning.numbers import ends, first_push, label_angles, large_neurons, luck_ratio
from lib.in_context.runs import fresh, history, lucky, neurons_at, positive, row_size, snapshots, steps_to, task_of
from lib.in_context.task import Task


def settings_table(profile: str) -> list[tuple[str, str]]:
    """(name, value) of what chapters 12 to 14 and 17 train."""
    s, run, gpt = SETTINGS[profile], train_specs(profile)[0], gpt_specs(profile)[0]
    task = Task()
    std = gamma_std(run.model.neurons, run.gamma)
    return [
        ("relevant and irrelevant patterns M₁, M₂", f"{task.m1}, {task.m2}"),
        ("norm β of a relevant pattern", f"{task.norm:g}"),
        ("share α of examples of the task's two patterns", f"{task.alpha:g}"),
        ("examples in a prompt, l", f"{task.length}"),
        ("trained tasks", f"{len(task.pairs)} of {len(task.pairs) + len(task.unseen)}"),
        ("neurons m", f"{run.model.neurons}"),
        ("start of W_Q, W_K, W_V; of W_O", f"{run.model.delta:g} I; Gaussian, std {std:.3g}"),
        ("training", f"SGD on the hinge loss, rate {run.rate:g}, {run.train.steps:,} steps of {run.train.batch} new prompts"),
        ("seeds", f"{len(s.seeds)}"),
        (
            "GPT-2 (chapter 13)",
            f"{gpt.model.depth} layers, {gpt.model.heads} heads, width {gpt.model.d_model}, {gpt.train.steps} steps",
        ),
    ]


def prompt_line(run: StoredRun, number: int = 0) -> str:
    """What the first figure shows, in one line."""
    drawn = fresh(task_of(run), run.spec.seed, number + 1)
    same = int(drawn.same[number].sum())
    a, b = drawn.pair[number].tolist()
    return f"task (μ{a + 1}, μ{b + 1}), {same} of {drawn.same.shape[-1]} examples have the query's pattern"


def learning_text(runs: Sequence[StoredRun]) -> str:
    """When the held-out loss falls, and what is left."""
    steps = [s for run in runs if (s := steps_to(run)) is not None]
    wrong = [1 - run.metrics["unseen"] for run in runs]
    before = np.array([run.history["unseen loss"][0] for run in runs])
    after = np.array([run.metrics["unseen loss"] for run in runs])
    when = f"it is below .1 after {min(steps)} to {max(steps)} steps" if steps else "it is never below .1"
    seeds = f"{len(runs)} seed{'s' * (len(runs) > 1)}"
    return (
        f"The loss stays near 1 at first (**{spread(before)}** at the first evaluation), and then falls in a few "
        "tens of steps: "
        f"{when}. At the end it is **{spread(after, 4)}** on tasks that were never trained, and "
        f"**{spread(wrong, 4)}** of the signs are wrong there (1,000 prompts, the same for all; mean ± standard deviation over "
        f"{seeds})."
    )


def last_line(runs: Sequence[StoredRun], names: Sequence[str]) -> str:
    """Final values of metrics of the history, over seeds."""
    return "; ".join(f"{name} {spread(history(runs, name)[1][:, -1], 3)}" for name in names)


def angles_line(run: StoredRun, half: str, steps: Sequence[int]) -> str:
    """Mean angles of the large neurons at the steps that a figure shows."""
    big, up = large_neurons(run), positive(run)
    groups = {"large neurons": big} if half == "feature" else {"a > 0": big & up, "a < 0": big & ~up}
    return "; ".join(
        f"step {step}: "
        + ", ".join(f"{name} {neurons_at(run, step)[f'{half} angle'][mask].mean():.2f} π" for name, mask in groups.items())
        for step in steps
    )


def neurons_text(runs: Sequence[StoredRun]) -> str:
    """Angles at the end, over seeds, next to what is read off the talk's plots."""
    feature = [neurons_at(run, ends(run)[1])["feature angle"][large_neurons(run)].mean() for run in runs]
    up, down = np.array([label_angles(run) for run in runs]).T
    share = [large_neurons(run).mean() for run in runs]
    angles = [neurons_at(run, ends(run)[1])["feature angle"][large_neurons(run)] for run in runs]
    away, rest = [(a > 0.5).mean() for a in angles], [a[a <= 0.5].mean() for a in angles]
    everyone = [(neurons_at(run, ends(run)[1])["feature angle"] > 0.5).mean() for run in runs]
    return (
        f"Over {len(runs)} seeds, **{spread(share)}** of the neurons are large. Their feature halves end "
        f"**{spread(feature)} π** "
        f"from the mean pattern (talk: about .12 π), their label halves **{spread(up)} π** from q for a > 0 and "
        f"**{spread(down)} π** for a < 0 (talk: .16 π and .84 π). "
        f"Of the large rows **{spread(away)}** turn away from the mean pattern, of all rows {spread(everyone)}; the other "
        f"large ones are **{spread(rest)} π** from it."
    )


def luck_text(runs: Sequence[StoredRun]) -> str:
    """How many neurons are lucky, and what becomes of them."""
    share, ratio = [lucky(run).mean() for run in runs], [luck_ratio(run) for run in runs]
    big = [large_neurons(run)[lucky(run)].mean() if lucky(run).any() else np.nan for run in runs]
    rest = [large_neurons(run)[~lucky(run)].mean() for run in runs]
    return (
        f"**{spread(share)}** of the neurons are lucky. After training their rows are **{spread(ratio)}** times "
        "as long as those of "
        f"the others; **{spread(big)}** of the lucky ones are large, and **{spread(rest)}** of the others."
    )


def luck_line(runs: Sequence[StoredRun]) -> str:
    last = ends(runs[0])[1]
    split = [[row_size(neurons_at(run, last))[lucky(run) == chosen].mean() for run in runs] for chosen in (True, False)]
    return f"mean norm of a trained row: lucky {spread(split[0], 3)}, others {spread(split[1], 3)}"


def order_text(runs: Sequence[StoredRun], until: float = 0.5) -> str:
    """What neurons read by the time attention begins to move: at the last snapshot at which it is below `until` in every
    seed."""
    steps, attention = history(runs, "attention.1")
    kept = [s for s in sorted(snapshots(runs[0])) if (attention[:, np.searchsorted(steps, s)] < until).all()]
    if not kept:
        return "Attention is concentrated from the first snapshot on."
    at = attention[:, np.searchsorted(steps, kept[-1])]
    turned = lambda mask: [neurons_at(run, kept[-1])["label angle"][large_neurons(run) & mask].mean() for run in runs]
    up, down = turned(positive(runs[0])), turned(~positive(runs[0]))
    return (
        f"At step {kept[-1]} attention on the query's pattern is still **{spread(at)}**, near where it began "
        f"({attention[:, 0].mean():.2f}), but the label halves of the neurons that end up large have already begun to turn: "
        f"**{spread(up)} π** from q for a > 0, **{spread(down)} π** for a < 0."
    )


def push_text(runs: Sequence[StoredRun]) -> str:
    """Where the first gradient moves W_Q p_query."""
    cosines = [first_push(run).mean() for run in runs]
    return (
        f"Before the first step, the push that W_Q p_query gets has a cosine of **{spread(cosines)}** with the "
        "query's own pattern "
        f"(mean over prompts; {sum(c > 0 for c in cosines)} of {len(cosines)} seeds positive)."
    )
