"""Sentences, lines and tables with numbers computed from stored runs: what chapters 9 to 11 say of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.read.words import listed
from lib.core.record.store import StoredRun
from lib.reasoning_bias.attention import metrics as attention
from lib.reasoning_bias.experiments import LARGE, SETTINGS, SMALL, emb_mlp, transformer
from lib.reasoning_bias.memory_and_reasoning import metrics
from lib.reasoning_bias.ratios import closed, halving, middle, ratios, ratios_by_gamma, slowdown, words
from lib.reasoning_bias.runs import best, by_gamma, epoch
from lib.reasoning_bias.study import SETS
from lib.reasoning_bias.task import HELD_OUT, MEMORY, Task


def settings_table(profile: str) -> list[tuple[str, str]]:
    """The settings of a profile as rows (name, value)."""
    s = SETTINGS[profile]
    t, m = s.train, transformer(s.d_model)
    return [
        ("γ", ", ".join(f"{g:g}" for g in s.gammas)),
        ("seeds", str(len(s.seeds))),
        ("training rows", f"{s.rows:,}"),
        ("batch", str(t.batch)),
        ("steps (epochs)", f"{t.steps:,} ({t.steps / s.steps_of_an_epoch:,.0f})"),
        ("peak learning rate", f"{s.rate:g}, warm-up {t.warmup:,} steps, then cosine"),
        ("weight decay", f"{s.decay:g}"),
        ("transformer: layers, d_model, d_ff, d_k = d_v", f"{m.depth}, {m.d_model}, {m.d_ff}, {m.d_k}"),
        ("Emb-MLP: d_model, hidden units, peak learning rate, steps", _emb_words(profile)),
    ]


def _emb_words(profile: str) -> str:
    s = SETTINGS[profile]
    m = emb_mlp(s.d_model, False)
    return f"{m.d_model}, {m.d_ff}, {s.emb_rate:g}, {s.emb_train.steps:,}"


def task_line() -> str:
    task = Task()
    pairs, table = len(task.pairs), task.table.numel()
    return (
        f"{pairs} trained pairs of anchors, {len(MEMORY) ** 2} of memory and {pairs - len(MEMORY) ** 2} of reasoning; "
        f"{table:,} entries in the table; held out: {', '.join(map(str, HELD_OUT))}"
    )


def halving_words(runs: Sequence[StoredRun], name: str) -> str:
    """Epochs until a loss has halved, mean ± deviation over the runs where it does."""
    found = [h / epoch(r.spec) for r in runs if (h := halving(r, name)) is not None]
    if not found:
        return "never"
    return spread(found, 1) + ("" if len(found) == len(runs) else f" ({len(runs) - len(found)} of {len(runs)} never)")


def training_text(runs: Sequence[StoredRun], gammas: Sequence[float]) -> str:
    """What the curves show, in words."""
    groups = by_gamma(runs)
    rows = [(f"{g:g}", *(halving_words(groups[g], name) for name in SETS), spread(best(groups[g]))) for g in gammas]
    head = ("γ", "memory", "reasoning, trained", "reasoning, held out", "held-out pairs right, best")
    return (
        "Epochs until each loss has halved, and the largest share of held-out pairs that is answered right at any time "
        "(mean ± standard deviation over seeds):\n\n" + table(head, rows)
    )


def ratios_line(runs: Sequence[StoredRun], slower: str = "memory") -> str:
    return "; ".join(
        f"{gamma:g}: {words(found) if found else 'never'}" for gamma, found in ratios_by_gamma(runs, slower).items()
    )


def bias_line(models: Mapping[str, Sequence[StoredRun]]) -> str:
    return " | ".join(f"{name}, memory over reasoning by γ, {ratios_line(runs)}" for name, runs in models.items())


def bias_text(models: Mapping[str, Sequence[StoredRun]]) -> str:
    """How steep the curves are, with intervals; no correlation where more than one ratio in ten is but a lower bound."""
    lines = []
    for name, runs in models.items():
        ends = by_gamma([run for run in runs if slowdown(run) is not None])
        if sum(map(len, ends.values())) < 2:
            lines.append(f"- **{name}**: the reasoning loss does not halve, so there is no ratio.")
            continue
        first, last, found = min(ends), max(ends), ratios(runs)
        means = [f"{'' if closed(some) else '≥ '}{middle(some):.1f}" for some in (ratios(ends[g]) for g in (first, last))]
        line = f"- **{name}**: memory over reasoning is {means[0]} at γ = {first:g} and {means[1]} at γ = {last:g}. "
        bounds = sum(r.open for r in found)
        if bounds > len(found) / 10:
            line += f"{bounds} of {len(found)} ratios are lower bounds, so that their order says nothing."
        else:
            value, low, high = metrics.trend(runs)
            line += f"Rank correlation of γ with the ratio over {len(found)} runs: {value:+.2f} [{low:+.2f}, {high:+.2f}]."
        lines.append(line)
    return "\n".join(lines)


def coverage_text(rows: int) -> str:
    """How much of the table a training set of this size holds, and whether an entry comes with so many rows that storing it
    is less than storing them. Where every row is new (0) there is nothing to count."""
    task, paper = Task(), SETTINGS["paper"].rows
    if not rows:
        return f"Every row is new, so that all {task.table.numel():,} entries of the table come again and again."
    batch = task.rows(torch.tensor(0), torch.arange(rows))
    memory = batch.first <= MEMORY[-1]
    entry = torch.stack((batch.key, batch.first, batch.second), -1)[memory]
    seen, size = len(entry.unique(dim=0)), task.table.numel()
    if not seen:
        return f"Our {rows:,} rows hold none of the {size:,} entries of the table."
    times = len(entry) / seen
    text = (
        f"Our {rows:,} rows hold {seen:,} of the {size:,} entries of the table, each {times:.1f} times on average, "
        "with other noise."
    )
    if rows < paper:
        text += " At the paper's size nearly every entry occurs, about ten times."
    if times < 2:
        text += " So here it is nearly as good to store a row as to store an entry."
    return text


def accuracy_text(runs: Sequence[StoredRun]) -> str:
    """How shares of right answers lag behind losses at one γ."""
    shares = lambda run, name: np.array(run.history[name], dtype=float)  # nan where a run was not finite
    at = lambda run, name: np.interp(halving(run, "held out"), run.history["step"], shares(run, name))
    halved = [run for run in runs if halving(run, "held out") is not None]
    if not halved:
        return "The held-out loss does not halve."
    mean = lambda values: f"{np.mean(values):.0%}"
    line = (
        f"At γ = {runs[0].spec.gamma:g}, when the held-out loss has halved, {mean([at(r, 'held out') for r in halved])} of "
        f"the held-out rows are right, and {mean([at(r, 'reasoning') for r in halved])} of the trained rows of reasoning."
    )
    if kept := [run for run in runs if run.has_weights]:
        new = np.mean([attention.averaged(run)[""] for run in kept])
        trained, held = (np.mean([run.metrics[name] for run in kept]) for name in ("reasoning", "held out"))
        if trained <= held:
            return line + " At the end no fewer of the held-out pairs are right than of the trained rows."
        share = "Much" if (trained - new) / (trained - held) >= 0.5 else "Less than half"
        line += (
            f" {share} of the distance between the curves of trained and held-out pairs is rows that were stored: at the end "
            f"{mean(trained)} of the trained rows are right, {mean(new)} of **new rows of the same pairs**, and {mean(held)} "
            "of the held-out pairs."
        )
    return line


def noise_text(noisy: Sequence[StoredRun], bare: Sequence[StoredRun]) -> str:
    """Does Emb-MLP find the rule with noise around the three tokens, too? The best shares of held-out pairs at any time."""
    share = lambda runs: float(best([run for run in runs if run.spec.gamma == SMALL]).mean())
    most, without = float(best(noisy).max()), share(bare)
    if most < without / 2:
        return (
            f"Once there is noise, attention is needed. Emb-MLP on all nine tokens knows {most:.0%} of the held-out pairs at "
            f"most, at any time of any run, against {without:.0%} on average without noise (γ = {SMALL:g}): summed over nine "
            "tokens, the key cannot be told from the rest."
        )
    return f"On all nine tokens, too, Emb-MLP finds held-out pairs: {share(noisy):.0%} on average at γ = {SMALL:g}."


def final_line(panels: Mapping[str, Sequence[StoredRun]]) -> str:
    say = lambda runs: ", ".join(f"{name} {spread([r.metrics[name] for r in runs])}" for name in SETS)
    return "; ".join(f"{title}: {say(runs)}" for title, runs in panels.items())


def groups_line(runs: Sequence[StoredRun]) -> str:
    inside = np.array([metrics.group_mass(r) for r in runs])
    return "mass inside the range of groups 1 to 4: " + ", ".join(spread(v) for v in inside.T)


def sizes_text() -> str:
    """How much smaller than the paper's our settings are."""
    own, paper = SETTINGS["laptop"], SETTINGS["paper"]
    part = lambda value, of: f"1/{of / value:.2g}"
    return (
        f"The laptop profile has {part(own.rows, paper.rows)} of the paper's rows, a model of "
        f"{part(own.d_model, paper.d_model)} of its width, and {part(own.train.steps, paper.train.steps)} of its steps."
    )


Kinds = dict[str, tuple[float, float]]


def _held_out(runs: Sequence[StoredRun], plain: Sequence[StoredRun], many: Sequence[StoredRun]) -> Kinds:
    """{runs: the mean best share of held-out pairs at small and at large initialization}: the main runs, those without norms,
    and those on many times the rows."""
    count, usual = (int(dict(group[0].spec.task)["rows"]) for group in (many, runs))
    kinds = {f"{usual:,} rows": runs, f"{usual:,} rows without norms": plain, f"{count:,} rows": many}
    share = lambda group, g: float(best([r for r in group if r.spec.gamma == g]).mean())
    return {name: (share(group, SMALL), share(group, LARGE)) for name, group in kinds.items()}


def answer(runs: Sequence[StoredRun], plain: Sequence[StoredRun], many: Sequence[StoredRun]) -> str:
    """What initialization decides in this task, in two sentences: what is learned first, and who generalizes."""
    large, small = ([r for r in runs if r.spec.gamma == g] for g in (LARGE, SMALL))
    one, other = ([s for r in group if (s := slowdown(r)) is not None] for group in (large, small))
    if not one or not other:
        return "The reasoning loss does not halve at both ends, so that nothing can be said of what is learned first."
    later = middle(other) > max(r.value for r in one)
    words_of = lambda found: f"{'' if closed(found) else 'at least '}{middle(found):.1f} times"
    first = (
        f"Memory takes {words_of(other)} as long as reasoning at small initialization (γ = {SMALL:g}), and {words_of(one)} at "
        f"large (γ = {LARGE:g})" + (": the smaller start prefers the rule." if later else ", which does not tell them apart.")
    )
    decides = {name: a > 2 * b for name, (a, b) in _held_out([*small, *large], plain, many).items()}
    where, not_where = (listed([name for name, does in decides.items() if does is wanted]) for wanted in (True, False))
    second = (
        "Only the small start finds what holds for pairs that were never shown."
        if all(decides.values())
        else "The start does not decide what generalizes."
        if not any(decides.values())
        else f"The small start also has more of the never-shown pairs right with {where}, but not with {not_where}."
    )
    return f"{first} {second}"


def verdict(runs: Sequence[StoredRun], plain: Sequence[StoredRun], many: Sequence[StoredRun]) -> str:
    """Where the start decides what generalizes, in a table: main runs, those without norms, those on many times the rows."""
    shares = _held_out(runs, plain, many)
    decides = sum(a > 2 * b for a, b in shares.values())
    where = f"in {decides} of these {len(shares)}" if 0 < decides < len(shares) else "in all of these" if decides else "nowhere"
    cells = [(name, *(f"{v:.0%}" for v in both)) for name, both in shares.items()]
    seen = [
        f"{group[0].steps / epoch(group[0].spec):.0f} times with {int(dict(group[0].spec.task)['rows']):,} rows"
        for group in (many, runs)
    ]
    return (
        f"The small start has more than twice as many of the held-out pairs right {where}:\n\n"
        + table(("held-out pairs right, at best", f"γ = {SMALL:g}", f"γ = {LARGE:g}"), cells)
        + "\n\nThe best is the best of all of training, asked in the precision of training, and of its end, asked in single "
        f"precision. A row is seen {listed(seen)}."
    )


MOST = 0.6
"""Of the way between two ends, to be called most of it."""


def transition_text(runs: Sequence[StoredRun]) -> str:
    """Below which γ most of the way of the ratio lies, in logarithms, from the largest initialization on."""
    means = {g: middle(found) for g, found in ratios_by_gamma(runs).items() if found}
    if len(means) < 3:
        return "There are too few γ to say where the ratio moves."
    low, high = min(means), max(means)
    whole = np.log(means[high] / means[low])
    if not 0 < whole < np.inf:
        return f"From γ = {low:g} to {high:g} the ratio does not grow."
    way = {g: float(np.log(v / means[low]) / whole) for g, v in means.items()}
    by = next(g for g, part in way.items() if part >= MOST)
    return (
        f"From γ = {low:g} to {high:g} the ratio grows {means[high] / means[low]:.1f} times. {min(way[by], 1):.0%} of that, in "
        f"logarithms, lies below γ = {by:g}."
    )


def length_text(lengths: Mapping[str, Sequence[StoredRun]]) -> str:
    """Does the length of training turn the order of the two starts round, and does it move the ratio beyond its range?"""
    found = [{g: ratios for g, ratios in ratios_by_gamma(runs).items() if ratios} for runs in lengths.values()]
    if any(set(by) != {LARGE, SMALL} for by in found):
        return "Not every length has a ratio at both ends."
    same = all(middle(by[SMALL]) > middle(by[LARGE]) for by in found)
    lowest = [max(min(r.value for r in by[g]) for by in found) for g in (LARGE, SMALL)]
    highest = [min(max(r.value for r in by[g]) for by in found) for g in (LARGE, SMALL)]
    apart = [f"γ = {g:g}" for g, low, high in zip((LARGE, SMALL), lowest, highest, strict=True) if low > high]
    order = "At each length the small start has the larger ratio." if same else "The order of the two starts is not the same."
    moved = f"At {' and '.join(apart)} the ranges of two lengths do not overlap." if apart else ""
    return f"{order} {moved or 'What the length changes is within the range of the runs.'}"
