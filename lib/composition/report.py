"""Sentences and tables with numbers computed from stored runs: the prose of the chapter that results can change."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lib.composition import analysis
from lib.composition.analysis import MAPPINGS, REGION, SHADOW, PhaseTable
from lib.composition.experiments import GRIDS
from lib.composition.task import INFERENTIAL_OFFSET
from lib.core.measures import first_step
from lib.core.store import StoredRun


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{v:g}" for v in values)


def _mean_line(values: dict[str, np.ndarray]) -> str:
    return "; ".join(
        f"{name} " + " / ".join(" ".join(f"{v:.2f}" for v in row) for row in rows) for name, rows in values.items()
    )


def selected_line(table: PhaseTable) -> str:
    return "depth by depth, over γ: " + _mean_line({m: table.selected(m)[0] for m in MAPPINGS})


def plain_line(table: PhaseTable) -> str:
    return "depth by depth, over γ: " + _mean_line({m: table.plain(m) for m in (*MAPPINGS, "neither")})


def spread_line(table: PhaseTable) -> str:
    return "mean standard deviation over seeds: " + ", ".join(f"{m} {table.spread(m).mean():.2f}" for m in MAPPINGS)


def phase_text(table: PhaseTable) -> str:
    """What Figure 2.1 shows, in words."""
    lines = []
    for mapping, answer in zip(MAPPINGS, ("key − 6", "key − 10"), strict=True):
        accuracy, test = table.selected(mapping)
        inside = (accuracy >= REGION) & (test >= SHADOW)
        where = [
            f"γ = {_numbers(table.gammas[row])} at depth {depth}"
            for depth, row in zip(table.depths, inside, strict=True)
            if row.any()
        ]
        found = "; ".join(where) if where else "nowhere"
        lines.append(f"- **{mapping.capitalize()}** ({answer} in at least {REGION:.0%} of the answers): {found}.")
    flips = analysis.flip_depths(table)
    if flips:
        words = "; ".join(f"at depth {d} from γ = {low:g} to γ = {high:g}" for d, low, high in flips)
        lines.append(f"- **γ alone turns one into the other** {words}. Nothing else differs between the two cells.")
    else:
        lines.append("- **At no depth does γ alone turn one region into the other** on this grid.")
    shadow = table.plain("test") < SHADOW
    lines.append(
        f"- {int(shadow.sum())} of {shadow.size} cells answer fewer than {SHADOW:.0%} of the seen pairs right on average."
    )
    return "\n".join(lines)


def plain_text(table: PhaseTable) -> str:
    """What Figure 2.2 adds: what the selection hid, and how common the third answer is."""
    lifts = {m: table.selected(m)[0] - table.plain(m) for m in MAPPINGS}
    both = sum(np.minimum(*(table.selected(m)[0] for m in MAPPINGS)).ravel() > 0.5)
    lift = ", ".join(f"{v.mean():.2f} (at most {v.max():.2f}) for the {m} answer" for m, v in lifts.items())
    third = table.plain("neither")
    d, g = np.unravel_index(third.argmax(), third.shape)
    return (
        f"Without the selection, the accuracies are lower by {lift}, on average over the cells. "
        f"In {both} of {third.size} cells the selection credits *both* answers with more than half of the seeds' answers.\n\n"
        f"Neither mapping accounts for {third.mean():.0%} of all answers, and for {third[d, g]:.0%} of them at "
        f"γ = {table.gammas[g]:g}, depth {table.depths[d]}."
    )


def spread_text(table: PhaseTable) -> str:
    """How far seeds and rates agree on the answer, run by run."""
    decided = np.maximum(table.symmetric, table.inferential) >= REGION
    lean = table.inferential > table.symmetric
    split = [
        (int(d), float(g))
        for i, d in enumerate(table.depths)
        for j, g in enumerate(table.gammas)
        if (lean & decided)[i, j].any() and (~lean & decided)[i, j].any()
    ]
    rates = "; ".join(
        f"{rate:g}: " + ", ".join(f"{m} {getattr(table, m)[..., r].mean():.2f}" for m in MAPPINGS)
        for r, rate in enumerate(table.rates)
    )
    return (
        f"{decided.mean():.0%} of the runs give one answer at least {REGION:.0%} of the time. "
        f"In {len(split)} of {table.plain('test').size} cells, runs with nothing but seed or rate between them "
        f"settle on opposite answers.\n\nThe rate matters too. Mean shares by peak rate: {rates}."
    )


def fit_text(runs: Sequence[StoredRun]) -> str:
    """How many steps a run needs before it answers the seen pairs, over γ."""
    words = []
    for gamma in sorted({r.spec.gamma for r in runs}):
        group = [r for r in runs if r.spec.gamma == gamma]
        fits = sorted(math.inf if r.fit_step is None else r.fit_step for r in group)
        middle = fits[len(fits) // 2]
        late = sum(f == math.inf for f in fits)
        steps = "more than the limit" if middle == math.inf else f"{middle:,}"
        words.append(f"γ = {gamma:g}: {steps}" + (f" ({late} of {len(group)} never)" if late else ""))
    return "Median number of steps until the seen pairs are learned: " + "; ".join(words) + "."


def by_key_line(offsets: np.ndarray) -> str:
    if not len(offsets):
        return "no run leans to the inferential answer"
    low, high = key_shares(offsets)
    return f"{len(offsets)} runs: inferential answers {low:.1f} for keys below 30, {high:.1f} above"


def key_shares(offsets: np.ndarray) -> tuple[float, float]:
    """Share of inferential answers for keys whose answer is below 20, and for the others. offsets: (runs, 80, 7)."""
    inferential = offsets == INFERENTIAL_OFFSET
    edge = -INFERENTIAL_OFFSET  # keys 20 … 29, whose answers 10 … 19 never occur in the input
    return float(inferential[:, :edge].mean()), float(inferential[:, edge:].mean())


def by_key_text(offsets: np.ndarray) -> str:
    """Where runs that lean to the inferential answer fail."""
    if not len(offsets):
        return "No run with stored weights leans to the inferential answer."
    low, high = key_shares(offsets)
    full = int(((offsets == INFERENTIAL_OFFSET).mean((1, 2)) >= REGION).sum())
    return (
        f"Over the {len(offsets)} runs that lean to the inferential answer, it is given to {low:.0%} of the questions with a "
        f"key below 30 and to {high:.0%} of the others. {full} of these runs give it to at least {REGION:.0%} of all."
    )


def run_title(run: StoredRun) -> str:
    return f"depth {run.spec.model.depth}, γ = {run.spec.gamma:g}"


def curves_line(runs: Sequence[StoredRun]) -> str:
    return "; ".join(
        f"{run_title(r)}: " + ", ".join(f"{m} {r.metrics[m]:.2f}" for m in MAPPINGS) + f" after {r.steps} steps" for r in runs
    )


def curves_text(runs: Sequence[StoredRun]) -> str:
    """When each example learned the seen pairs, and when its answer to the unseen pair was settled."""
    lines = []
    for run in runs:
        mapping = max(MAPPINGS, key=lambda m: run.metrics[m])
        seen, held = first_step(run, "test", 0.5), first_step(run, mapping, 0.5)
        when = f"at step {held:,}" if held is not None else "never"
        known = f"at step {seen:,}" if seen is not None else "never"
        lines.append(
            f"- At {run_title(run)} (seed {run.spec.seed}, rate {run.spec.rate:g}), half of the seen test pairs are right "
            f"for the first time {known}; half of the answers to (4, 3) are {mapping} for the first time {when}."
        )
    return "\n".join(lines)


def translation_table(table: PhaseTable, profile: str) -> str:
    """γ of this profile against σ of a d_model-input matrix, and the γ at which the paper's width has the same σ."""
    width, paper = GRIDS[profile].d_model, GRIDS["paper"].d_model
    rows = [f"| {g:g} | {width**-g:.4f} | {g * math.log(width) / math.log(paper):.2f} |" for g in table.gammas]
    return f"| γ at width {width} | σ | γ with the same σ at width {paper} |\n|---|---|---|\n" + "\n".join(rows)


def point_line(runs: Sequence[StoredRun]) -> str:
    means = ", ".join(f"{m} {np.mean([r.metrics[m] for r in runs]):.2f}" for m in ("test", *MAPPINGS))
    return f"mean over {len(runs)} runs: {means}"
