"""Lines, tables and sentences of chapter 12."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.model.init import gamma_std
from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.read.words import number_of
from lib.core.record.store import StoredRun
from lib.in_context import starts
from lib.in_context.experiments import ALPHA, GPT, gpt_specs, point_specs
from lib.in_context.learning.metrics import (
    ends,
    first_push,
    label_angles,
    large_neurons,
    luck_shares,
    push_until_half_way,
)
from lib.in_context.runs import (
    LEVEL,
    counted,
    fresh,
    history,
    lucky,
    neurons_at,
    positive,
    row_size,
    small,
    snapshots,
    steps_to,
    task_of,
)
from lib.in_context.study import N_TEST, make_study
from lib.in_context.task import no_match_floor


def settings_table(profile: str, alpha: float = ALPHA) -> list[tuple[str, str]]:
    """(name, value) of what is trained at a share α of task examples; at the default, for chapters 13 and 14 as well."""
    run, *others = point_specs(profile, alpha)
    gpt = gpt_specs(profile)[GPT][0]
    task = make_study(run).task
    std = gamma_std(run.model.neurons, run.gamma)
    return [
        ("relevant and irrelevant patterns M₁, M₂", f"{task.m1}, {task.m2}"),
        ("norm β of a relevant pattern", f"{task.norm:g}"),
        ("share α of examples of the task's two patterns", f"{task.alpha:g}"),
        ("examples in a prompt, l", f"{task.length}"),
        ("trained tasks", f"{len(task.pairs)} of {len(task.pairs) + len(task.unseen)}"),
        ("neurons m", f"{run.model.neurons}"),
        ("start of $W_Q$, $W_K$, $W_V$; of $W_O$", f"{run.model.delta:g} I; Gaussian, std {std:.3g}"),
        ("size of every entry of a", f"{run.model.readout:g}"),
        (
            "training",
            f"SGD on the hinge loss, learning rate {run.rate:g}, {run.train.steps:,} steps of {run.train.batch} new prompts",
        ),
        ("seeds", f"{1 + len(others)}"),
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


def expected_text(run: StoredRun, number: int = 0) -> str:
    """How many examples have the query's pattern in the prompt that is drawn, and on average."""
    task = task_of(run)
    same = int(fresh(task, run.spec.seed, number + 1).same[number].sum())
    return f"frames mark examples with the query's pattern: {same} here, α l / 2 = {task.alpha * task.length / 2:g} on average"


def learning_text(runs: Sequence[StoredRun]) -> str:
    """When the held-out loss falls, and what is left."""
    steps = [s for run in runs if (s := steps_to(run)) is not None]
    wrong = [1 - run.metrics["unseen"] for run in runs]
    before = np.array([run.history["unseen loss"][0] for run in runs])
    after = np.array([run.metrics["unseen loss"] for run in runs])
    if not steps:
        when = f"It never falls to {LEVEL:g}"
    else:
        who = "" if len(steps) == len(runs) else f"In {len(steps)} of {len(runs)} seeds "
        when = f"{who}it is at most {LEVEL:g} after {_range(steps)} steps"
        when = when[0].upper() + when[1:]
    said = (
        f"At step {runs[0].history['step'][0]} the loss on tasks that are not trained is "
        f"**{small(before)}**. {when}. At the end it is **{small(after, 4)}**, and **{counted(wrong, N_TEST)}** signs are "
        f"wrong there ({N_TEST:,} prompts, the same for all; "
    )
    return f"{said}{'mean ± standard deviation over ' * ('±' in said)}{number_of(len(runs), 'seed')})."


def _range(values: Sequence[int]) -> str:
    """`60 to 80`, or `60` where all are the same."""
    return f"{min(values)} to {max(values)}" if min(values) < max(values) else f"{min(values)}"


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
    last = [neurons_at(run, ends(run)[1]) for run in runs]
    big, up = [large_neurons(run) for run in runs], positive(runs[0])
    of_large = [rows["feature angle"][mask].mean() for rows, mask in zip(last, big, strict=True)]
    above, below = np.array([label_angles(run) for run in runs]).T
    everyone = [rows["feature angle"].mean() for rows in last]
    all_above, all_below = ([rows["label angle"][mask].mean() for rows in last] for mask in (up, ~up))
    rows = [
        ("feature halves to the mean pattern", small(of_large), small(everyone), ".12"),
        ("label halves to q, a > 0", small(above), small(all_above), ".16"),
        ("label halves to q, a < 0", small(below), small(all_below), ".84"),
    ]
    return (
        f"**{np.mean([mask.mean() for mask in big]):.0%}** of the neurons are large: their row has at least half the norm "
        "of the largest tenth. Mean angles at the end, in units of π, over "
        f"{len(runs)} seed{'s' * (len(runs) > 1)}:\n\n"
        + table(("angle of", "large neurons", "all neurons", "talk's plots, about"), rows)
    )


def luck_text(runs: Sequence[StoredRun]) -> str:
    """How many neurons are lucky, and what becomes of them."""
    text = f"**{np.mean([lucky(run).mean() for run in runs]):.0%}** of the neurons are lucky."
    both = [run for run in runs if 0 < lucky(run).sum() < len(lucky(run))]
    if not both:
        return f"{text} In no seed are there lucky neurons and others to compare."
    where = "" if len(both) == len(runs) else f" (in the {len(both)} of {len(runs)} seeds that have lucky neurons and others)"
    of_lucky, of_others = np.array([luck_shares(run) for run in both]).T
    more = "more" if of_lucky.mean() > of_others.mean() else "no more"
    return (
        f"{text} That about half are is true by symmetry: a row of $W_O$ and its negative are equally likely at the start, and "
        f"where one is active the other is not. After training **{of_lucky.mean():.0%}** of the lucky ones are large, and "
        f"**{of_others.mean():.0%}** of the others{where}: luck makes it {more} likely to grow."
    )


def _maths(name: str) -> str:
    """The name of a quantity, with its matrices in math."""
    return name.replace("W_O W_V", "$W_O W_V$") if "W_V" in name else name.replace("W_O", "$W_O$")


def norms_table(runs: Sequence[StoredRun], chosen: Sequence[StoredRun] = ()) -> str:
    """What the talk's figures print of its neurons, beside what the runs have and what `chosen` trials had."""
    rows = []
    for quantity in starts.TALK:
        low, high = (f"{v:g}" for v in (quantity.low, quantity.high))
        cells = [small([starts.measured(run)[quantity.name] for run in group], 3) for group in (runs, chosen) if group]
        rows.append((_maths(quantity.name), f"{low} to {high}", *cells))
    return table(("norms", "talk", "here", *(["the trial"] if chosen else [])), rows)


def norms_text(runs: Sequence[StoredRun]) -> str:
    """How many of the norms that the talk prints the runs meet, on average, and by how much they miss the others."""
    found = [starts.measured(run) for run in runs]
    missed = []
    for quantity in starts.TALK:
        mean = float(np.mean([one[quantity.name] for one in found]))
        if np.isnan(mean):
            missed.append(f"{_maths(quantity.name)}: there are none in some seed")
        elif mean > quantity.high or mean < quantity.low:
            end, word = (quantity.high, "above") if mean > quantity.high else (quantity.low, "below")
            off = f"{abs(mean / end - 1):.0%}"
            missed.append(f"{_maths(quantity.name)}: {'less than 1%' if off == '0%' else off} {word} it")
    met, total = len(starts.TALK) - len(missed), len(starts.TALK)
    text = f"Of the {total} norms and shares that the talk prints, {met} lie in the talk's range on average"
    return f"{text} ({'; '.join(missed)})." if missed else f"{text}."


def trials_table(found: Mapping[tuple[int, float], Sequence[StoredRun]]) -> str:
    """How far each trial of the start is from the norms that the talk prints."""
    best = starts.nearest(found)
    rows = []
    for place, runs in found.items():
        distance = small([starts.distance(run) for run in runs])
        attention = small([run.history["attention.1"][-1] for run in runs], 3)
        mark = "**" if place == best else ""
        rows.append((f"{mark}{place[0]}{mark}", f"{mark}{place[1]:g} / {place[0]}{mark}", distance, attention))
    return (
        table(("neurons m", "size of a", "distance to the talk's norms", "attention at the end"), rows)
        + "\n\nBold: the nearest, which the main runs have. Distance: sum over the norms above of |log| of the factor by which "
        "a run misses the talk's range; two seeds."
    )


def verdict(runs: Sequence[StoredRun]) -> str:
    """What the chapter finds, in two or three sentences."""
    wrong = np.array([1 - run.metrics["unseen"] for run in runs])
    attention = history(runs, "attention.1")[1][:, -1]
    up, down = np.array([label_angles(run) for run in runs]).T
    task = make_study(runs[0].spec).task
    learned = float(wrong.mean()) <= 0.01 + 2 * no_match_floor(task.alpha, task.length)  # a copier can do no better
    first = (
        f"One layer learns to read a task from its prompt: of {N_TEST:,} answers on tasks that were never trained "
        f"{f'{wrong.max() * N_TEST:.0f} are' if wrong.max() > 0 else 'none is'} wrong{' in the worst seed' * (len(runs) > 1)}."
        if learned
        else f"Trained like this, one layer does not learn to read a task from its prompt: on tasks that were never trained "
        f"{wrong.mean():.0%} of the signs are wrong."
    )
    looks = "finds" if attention.mean() >= 0.9 else "goes only in part to"
    second = f"Attention {looks} the examples that show the query's pattern"
    copies = up.mean() <= 0.25 and down.mean() >= 0.75
    third = "the neurons that grow copy their labels" if copies else "the neurons that grow do not clearly read their labels"
    return f"{first} {second}, and {third}."


def conclusion(runs: Sequence[StoredRun]) -> str:
    """What to take away beyond the answer: what comes first, what luck is good for, and of what this is known."""
    first = "come first" in order_text(runs)
    both = [luck_shares(run) for run in runs if 0 < lucky(run).sum() < len(lucky(run))]
    said = (
        "Neurons begin to read labels before attention moves"
        if first
        else "Which moves first, attention or neurons, is not clear"
    )
    if both:
        of_lucky, of_others = np.mean(both, 0)
        if of_lucky > of_others:
            said += (
                "; which of them grow is partly a matter of the start"
                if of_others > 0.5
                else "; which of them grow the start decides"
            )
        else:
            said += "; which of them grow the start does not tell"
    task = make_study(runs[0].spec).task
    return (
        f"{said}. This is known of one layer without a residual stream, of orthogonal patterns, and of prompts in which "
        f"{task.alpha:.0%} of the examples show the task."
    )


def luck_line(runs: Sequence[StoredRun]) -> str:
    last = ends(runs[0])[1]
    split = [[row_size(neurons_at(run, last))[lucky(run) == chosen].mean() for run in runs] for chosen in (True, False)]
    return f"mean norm of a trained row: lucky {spread(split[0], 3)}, others {spread(split[1], 3)}"


STILL = 0.05
"""Attention has hardly moved where it has risen by less."""


def order_text(runs: Sequence[StoredRun], until: float = 0.5) -> str:
    """What neurons read by the time attention begins to move: at the last step with neurons at which it is below `until` in
    every seed."""
    steps, attention = history(runs, "attention.1")
    kept = [s for s in sorted(snapshots(runs[0])) if (attention[:, np.searchsorted(steps, s)] < until).all()]
    if not kept:
        return f"In some seed attention on the query's pattern is {until:g} or more wherever neurons were looked at."
    at = attention[:, np.searchsorted(steps, kept[-1])]
    turned = lambda mask: [neurons_at(run, kept[-1])["label angle"][large_neurons(run) & mask].mean() for run in runs]
    up, down = turned(positive(runs[0])), turned(~positive(runs[0]))
    turning = np.mean(up) < 0.5 < np.mean(down)
    begun = "have begun to turn" if turning else "have not begun to turn to the side of their a"
    rise = float((at - attention[:, 0]).mean())
    first = " So neurons come first." if turning and rise < STILL else ""
    return (
        f"At step {kept[-1]} attention on the query's pattern is still **{at.mean():.2f}**, below {until:g} in every seed; at "
        f"step {steps[0]} it was {attention[:, 0].mean():.2f}. The label halves of the neurons that end up large {begun} by "
        f"then: **{np.mean(up):.2f} π** from q for a > 0, **{np.mean(down):.2f} π** for a < 0.{first}"
    )


def push_text(runs: Sequence[StoredRun]) -> str:
    """Where the gradient moves W_Q p_query, at first and while attention rises."""
    first, along = [first_push(run) for run in runs], [push_until_half_way(run) for run in runs]
    return (
        f"Before the first step, the push that $W_Q\\, p_\\mathrm{{query}}$ gets has a cosine of **{small(first)}** with the "
        f"query's own pattern (mean over prompts; {sum(c > 0 for c in first)} of {len(first)} seeds positive). On "
        f"the way, until attention is half way to its end, it is **{small(along)}** on average."
    )
