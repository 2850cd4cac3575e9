"""Sentences and tables with numbers computed from stored runs: the prose of the chapter that results can change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from lib.composition import runs as analysis
from lib.composition.experiments import GRIDS
from lib.composition.runs import MAPPINGS, REGION, SHADOW, PhaseTable
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
        f"In {len(split)} of {table.plain('test').size} cells, runs with nothing but seed or learning rate between them "
        f"settle on opposite answers.\n\nThe learning rate matters too. Mean shares by peak learning rate: {rates}."
    )


def run_title(run: StoredRun) -> str:
    return f"depth {run.spec.model.depth}, γ = {run.spec.gamma:g}"


def curves_line(runs: Sequence[StoredRun]) -> str:
    return "; ".join(
        f"{run_title(r)}: " + ", ".join(f"{m} {r.metrics[m]:.2f}" for m in MAPPINGS) + f" after {r.steps} steps" for r in runs
    )


def _settled(run: StoredRun, name: str) -> str:
    """From which evaluated step on a share stays above one half, in words."""
    above = [v is not None and v > 0.5 for v in run.history[name]]
    if not above[-1]:
        return "never for good"
    first = len(above) - next((i for i, v in enumerate(reversed(above)) if not v), len(above))
    return f"for good from step {run.history['step'][first]:,} on"


def curves_text(runs: Sequence[StoredRun]) -> str:
    """When each example learned the seen pairs, and from when on its answer to the unseen pair stays what it is."""
    lines = []
    for run in runs:
        mapping = max(MAPPINGS, key=lambda m: run.metrics[m])
        values = [v for v in run.history[mapping] if v is not None]
        swings = sum(abs(b - a) > 0.2 for a, b in pairwise(values))
        lines.append(
            f"- At {run_title(run)} (seed {run.spec.seed}), more than half of the seen pairs are right "
            f"{_settled(run, 'test')}; more than half of the answers to (4, 3) are {mapping} {_settled(run, mapping)}. "
            f"Between two evaluations that share moves by more than a fifth {swings} times."
        )
    return "\n".join(lines)


def two_layer_settings(runs: Sequence[StoredRun]) -> list[tuple[str, str]]:
    """The settings of the two-layer runs, in the rows of `settings_table`."""
    m, t = runs[0].spec.model, runs[0].spec.train
    data = dict(runs[0].spec.task)["rows"]
    levels = lambda value: sorted({value(run) for run in runs})
    rates = levels(lambda r: r.spec.rate)
    return [
        ("γ", ", ".join(f"{g:g}" for g in levels(lambda r: r.spec.gamma))),
        ("depth", ", ".join(str(d) for d in levels(lambda r: r.spec.model.depth))),
        ("seeds", str(len(levels(lambda r: r.spec.seed)))),
        ("peak rates", f"{len(rates)}: {', '.join(f'{r:g}' for r in rates)}"),
        ("weight decay", f"{runs[0].spec.decay:g}"),
        ("d_model, d_ff, d_k = d_v", f"{m.d_model}, {m.d_ff}, {m.d_k}"),
        ("batch", str(t.batch)),
        ("training rows", f"{data:,}" if data else "always new"),
        ("schedule", f"warm-up {t.warmup} steps, cosine to {t.steps}"),
    ]


def differences_text(runs: Sequence[StoredRun]) -> str:
    """How far from the paper's training the two-layer runs and the fast settings are: samples, noise and decay of the "
    "weights."""
    first = runs[0].spec
    paper, fast = GRIDS["paper"], GRIDS["laptop"]
    rows = []
    for name, width, rate, decay, train in (
        ("paper", paper.d_model, 2.5e-4, paper.decay, paper.train),
        ("two layers, here", first.model.d_model, first.rate, first.decay, first.train),
        ("fast settings, at most", fast.d_model, fast.middle_rate, fast.decay, fast.train),
    ):
        samples = train.batch * train.steps / 1e6
        noise = 1e6 * rate / math.sqrt(train.batch)
        rows.append(f"| {name} | {width} | {samples:.1f} | {noise:.1f} | {rate * decay * 1e6:.1f} |")
    head = "| | width | samples, millions | learning rate / √batch, × 10⁻⁶ | learning rate × decay, × 10⁻⁶ |\n"
    head += "|---|--:|--:|--:|--:|\n"
    return head + "\n".join(rows)


def translation_table(table: PhaseTable, profile: str) -> str:
    """γ of this profile against σ of a d_model-input matrix, and the γ at which the paper's width has the same σ."""
    width, paper = GRIDS[profile].d_model, GRIDS["paper"].d_model
    rows = [f"| {g:g} | {width**-g:.4f} | {g * math.log(width) / math.log(paper):.2f} |" for g in table.gammas]
    return f"| γ at width {width} | σ | γ with the same σ at width {paper} |\n|---|---|---|\n" + "\n".join(rows)


def point_line(runs: Sequence[StoredRun]) -> str:
    means = ", ".join(f"{m} {np.mean([r.metrics[m] for r in runs]):.2f}" for m in ("test", *MAPPINGS))
    return f"mean over {len(runs)} runs: {means}"
