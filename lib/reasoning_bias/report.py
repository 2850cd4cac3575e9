"""Sentences, lines and tables with numbers computed from stored runs: what chapters 9 to 11 say of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.measures import cosines, numerical_order, spread
from lib.core.store import StoredRun
from lib.reasoning_bias import analysis, checks, embedding_checks
from lib.reasoning_bias.analysis import Ratio, by_gamma
from lib.reasoning_bias.experiments import SETTINGS, emb_mlp, transformer
from lib.reasoning_bias.study import SETS
from lib.reasoning_bias.task import FIRST_KEY, HELD_OUT, LAST_KEY, MEMORY, Task


def settings_table(profile: str) -> list[tuple[str, str]]:
    """The settings of a profile as rows (name, value)."""
    s = SETTINGS[profile]
    t, m = s.train, transformer(s.d_model)
    return [
        ("γ", ", ".join(f"{g:g}" for g in s.gammas)),
        ("seeds", str(len(s.seeds))),
        ("training rows", f"{s.rows:,}"),
        ("batch", str(t.batch)),
        ("steps (epochs)", f"{t.steps:,} ({t.steps / s.steps_of_an_epoch:g})"),
        ("peak rate", f"{s.rate:g}, warm-up {t.warmup:,} steps, then cosine"),
        ("weight decay", f"{s.decay:g}"),
        ("transformer: layers, d_model, d_ff, d_k = d_v", f"{m.depth}, {m.d_model}, {m.d_ff}, {m.d_k}"),
        ("Emb-MLP: d_model, hidden units, peak rate, steps", _emb_words(profile)),
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
    found = [h / analysis.epoch(r.spec) for r in runs if (h := analysis.halving(r, name)) is not None]
    if not found:
        return "never"
    return spread(found, 1) + ("" if len(found) == len(runs) else f" ({len(runs) - len(found)} of {len(runs)} never)")


def training_text(runs: Sequence[StoredRun], gammas: Sequence[float]) -> str:
    """What the curves show, in words."""
    groups = by_gamma(runs)
    rows = [
        f"| {g:g} | " + " | ".join(halving_words(groups[g], name) for name in SETS) + f" | {spread(checks.best(groups[g]))} |"
        for g in gammas
    ]
    head = "| γ | memory | reasoning, trained | reasoning, held out | held-out pairs right, best |\n|---|---|---|---|---|\n"
    return (
        "Epochs until each loss has halved, and the largest share of held-out pairs that is answered right at any time "
        "(mean ± standard deviation over seeds):\n\n" + head + "\n".join(rows)
    )


def ratios_line(runs: Sequence[StoredRun], slower: str = "memory") -> str:
    parts = []
    for gamma, group in by_gamma(runs).items():
        found = [r for r in (analysis.slowdown(run, slower) for run in group) if isinstance(r, Ratio)]
        parts.append(f"{gamma:g}: {checks.words(found) if found else 'never'}")
    return "; ".join(parts)


def bias_line(models: Mapping[str, Sequence[StoredRun]]) -> str:
    return " | ".join(f"{name}, memory over reasoning by γ, {ratios_line(runs)}" for name, runs in models.items())


def bias_text(models: Mapping[str, Sequence[StoredRun]]) -> str:
    """How steep the curves are, with intervals; no correlation where more than one ratio in ten is but a lower bound."""
    lines = []
    for name, runs in models.items():
        ends = by_gamma([run for run in runs if analysis.slowdown(run) is not None])
        if sum(map(len, ends.values())) < 2:
            lines.append(f"- **{name}**: the reasoning loss does not halve, so there is no ratio.")
            continue
        first, last, found = min(ends), max(ends), checks.ratios(runs)
        means = [checks.words(checks.ratios(ends[g])) for g in (first, last)]
        line = f"- **{name}**: memory over reasoning is {means[0]} at γ = {first:g} and {means[1]} at γ = {last:g}. "
        bounds = sum(r.open for r in found)
        if bounds > len(found) / 10:
            line += f"{bounds} of {len(found)} ratios are lower bounds, so that their order says nothing. "
        else:
            value, low, high = checks.trend(runs)
            line += f"Rank correlation of γ with the ratio over {len(found)} runs: {value:+.2f} [{low:+.2f}, {high:+.2f}]. "
        held = [checks.words(checks.ratios(ends[g], "held out")) for g in (first, last)]
        lines.append(line + f"Held-out over trained pairs: {held[0]} and {held[1]}.")
    return "\n".join(lines)


def final_line(panels: Mapping[str, Sequence[StoredRun]]) -> str:
    say = lambda runs: ", ".join(f"{name} {spread([r.metrics[name] for r in runs])}" for name in SETS)
    return "; ".join(f"{title}: {say(runs)}" for title, runs in panels.items())


def groups_line(runs: Sequence[StoredRun]) -> str:
    inside = np.array([checks.group_mass(r) for r in runs])
    return "mass inside the range of groups 1 to 4: " + ", ".join(spread(v) for v in inside.T)


def points_of(
    taken: Mapping[str, Sequence[StoredRun]],
) -> tuple[dict[str, dict[float, list[Ratio]]], dict[str, dict[float, list[float]]]]:
    """For each variant and γ: the ratios of halving steps, and the best shares of held-out pairs."""
    ratios, shares = {}, {}
    for name, runs in taken.items():
        groups = by_gamma(runs)
        ratios[name] = {g: [r for r in map(analysis.slowdown, group) if r is not None] for g, group in groups.items()}
        shares[name] = {g: checks.best(group).tolist() for g, group in groups.items()}
    return ratios, shares


def points_line(taken: Mapping[str, Sequence[StoredRun]]) -> str:
    ratios, _ = points_of(taken)
    say = lambda found: checks.words(found) if found else "never"
    return "; ".join(f"{name}: " + ", ".join(f"γ = {g:g} {say(v)}" for g, v in by.items()) for name, by in ratios.items())


# --- Embeddings ---


def epoch_words(run: StoredRun, step: int) -> str:
    return f"epoch {step / analysis.epoch(run.spec):g}"


def matrices(
    times: Mapping[str, tuple[Sequence[StoredRun], int]], seed: int
) -> tuple[dict[str, dict[str, np.ndarray]], list[StoredRun]]:
    """Columns for the figure of cosine matrices, of one seed, and the runs they are of."""
    columns, used = {}, []
    for name, (runs, step) in times.items():
        run = next((r for r in runs if r.spec.seed == seed), runs[0])
        model = name.rsplit(" ", 1)[0]
        columns[f"{model}\n{epoch_words(run, step)}"] = {
            kind: analysis.anchor_cosines(run, kind, step) for kind in analysis.KINDS
        }
        used.append(run)
    return columns, used


def cosine_line(times: Mapping[str, tuple[Sequence[StoredRun], int]]) -> str:
    parts = []
    for name, (runs, step) in times.items():
        memory = [analysis.off_diagonal(analysis.anchor_cosines(r, "memory", step)).mean() for r in runs]
        lag = embedding_checks.lag_cosines(runs, step)
        parts.append(f"{name}: memory {spread(memory)}, reasoning {spread(lag[:, 0])} at distance 1, {spread(lag[:, -1])} at 9")
    return "; ".join(parts)


def lag_series(
    times: Mapping[str, tuple[Sequence[StoredRun], int]], width: int, gamma: float
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Measured and theoretical curves of cosine against distance. Eq. 14 with its noise is the mean of 200 draws."""
    measured = {
        f"{name} ({epoch_words(runs[0], step)})": embedding_checks.lag_cosines(runs, step)
        for name, (runs, step) in times.items()
    }
    exact = analysis.exact_distributions("reasoning")
    plain, drawn = (analysis.fitted(width, gamma, None), [analysis.fitted(width, gamma, i) for i in range(200)])
    theory = {
        r"$P^s - 1/d_\mathrm{vob}$ (Prop. 1)": analysis.by_lag(cosines(exact, exact)),
        f"Eq. 14 at width {width}, no noise": analysis.by_lag(cosines(plain, plain)),
        f"Eq. 14 with its noise, γ = {gamma:g}": np.mean([analysis.by_lag(cosines(v, v)) for v in drawn], 0),
    }
    return measured, theory


def memory_text(rows: int) -> str:
    """How alike the memory anchors' label distributions are in the training set, where the exact ones are the same."""
    own = analysis.sampled_distributions("memory", rows)
    alike = analysis.off_diagonal(cosines(own, own))
    return (
        f"Counted in the {rows:,} rows, the label distributions of two memory anchors have a cosine of {alike.mean():.2f} on "
        f"average ({alike.min():.2f} to {alike.max():.2f}), where the exact ones have 1."
    )


def deviation_table(times: Mapping[str, tuple[Sequence[StoredRun], int]]) -> str:
    """How far measured cosines are from each theory, on average over pairs of anchors."""
    theories = embedding_checks.theories(200)
    head = (
        "| mean distance of cosines from | "
        + " | ".join(f"${name}$" if "^" in name else name for name in theories)
        + " |\n|---|"
        + "---|" * len(theories)
        + "\n"
    )
    rows = [
        f"| {name}, {epoch_words(runs[0], step)} | "
        + " | ".join(spread(embedding_checks.deviation(runs, step, t)) for t in theories.values())
        + " |"
        for name, (runs, step) in times.items()
    ]
    return head + "\n".join(rows)


def spread_of_labels() -> tuple[float, float]:
    """Standard deviation of the labels that go with a reasoning anchor, and the width of Eq. 14."""
    p = analysis.exact_distributions("reasoning")[4] + 1 / 200
    i = np.arange(len(p))
    return float(np.sqrt((p * (i - (p * i).sum()) ** 2).sum())), float(np.sqrt(6))


def order_line(runs: Sequence[StoredRun], step: int) -> str:
    """Numeric order in the plane of two components, by kind of anchor."""
    of = lambda kind: [
        analysis.order(analysis.anchors(r, step)[where]) for r, where in ((r, analysis.KINDS[kind]) for r in runs)
    ]
    return "order in the plane, all seeds: " + ", ".join(f"{kind} anchors {spread(of(kind))}" for kind in analysis.KINDS)


def order_text(late: tuple[Sequence[StoredRun], int]) -> str:
    """Numeric order of anchors and keys, in all dimensions and in the plane that maps show."""
    runs, step = late
    rows = {kind: [analysis.anchors(r, step)[where] for r in runs] for kind, where in analysis.KINDS.items()}
    rows = {f"{kind} anchors": vectors for kind, vectors in rows.items()}
    rows["keys"] = [r.weights()["embedding.token"].numpy()[FIRST_KEY : LAST_KEY + 1] for r in runs if r.has_weights]
    said = "; ".join(
        f"{name} {spread([numerical_order(v) for v in vectors])} in all dimensions, "
        f"{spread([analysis.order(v) for v in vectors])} in the plane"
        for name, vectors in rows.items()
    )
    return f"Do they keep the order of numbers? Rank correlation of |i − j| with the distance of i and j, over seeds: {said}."


def theory_text() -> str:
    true, shape = spread_of_labels()
    return (
        f"The labels of an anchor have a standard deviation of {true:.1f}; Eq. 14 has a width of √6 = {shape:.1f}. "
        "So Eq. 14 is not what Proposition 1 gives. It is a **fitted shape**: that a bump sits at the anchor's number follows "
        "from the theorem; its width was chosen."
    )


def flow_line(models: Mapping[str, tuple[Sequence[StoredRun], bool]]) -> str:
    parts = []
    for name, (runs, exact) in models.items():
        found = np.array([embedding_checks.flow_numbers(r, exact) for r in runs])
        parts.append(
            f"{name} up to step {found[:, 2].mean():.0f}: error {spread(found[:, 0])}, cosine {spread(found[:, 1], 3)}"
        )
    return "; ".join(parts)


def flow_text(models: Mapping[str, tuple[Sequence[StoredRun], bool]]) -> str:
    """Where the flow is right: at the best snapshot, and at the last before the loss has begun to fall."""
    lines = []
    for name, (runs, exact) in models.items():
        found = [analysis.flow_error(run, exact) for run in runs]
        low = {kind: [float(f.error[kind].mean(1).min()) for f in found] for kind in analysis.KINDS}
        end = np.array([embedding_checks.flow_numbers(run, exact) for run in runs])
        lines.append(
            f"- **{name}**: the relative error falls to {spread(low['reasoning'])} for reasoning and {spread(low['memory'])} "
            f"for memory anchors. When the loss has fallen by {checks.FEW:.0%} (or at the end), it is {spread(end[:, 0])}, "
            f"with a cosine of {spread(end[:, 1], 3)}."
        )
    return "\n".join(lines)
