"""What chapter 8 says of GPT-2's architecture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.composition.phase_diagram.metrics import at_paper_pair, ends, turns
from lib.composition.runs import MAPPINGS, SHADOW, lean
from lib.composition.trends import curves
from lib.core.read.words import listed, number_of, sentence
from lib.core.record.store import StoredRun


def curve_line(runs: Sequence[StoredRun]) -> str:
    return "; ".join(
        f"{m} " + " ".join(f"{v:.2f}" for v in values.mean(1)) for m, (_, values) in curves(runs).items() if m != "test"
    )


def regions_text(title: str, runs: Sequence[StoredRun]) -> str:
    """Where the mean over seeds of each answer is above one half, and what is left over."""
    shares = curves(runs)
    words = []
    for mapping in MAPPINGS:
        gammas, values = shares[mapping]
        where = [f"{g:g}" for g, v in zip(gammas, values.mean(1), strict=True) if v > 0.5]
        words.append(f"{mapping} at γ = {', '.join(where)}" if where else f"{mapping} nowhere")
    gammas, values = shares["test"]
    shadow = [f"{g:g}" for g, v in zip(gammas, values.mean(1), strict=True) if v < SHADOW]
    return (
        f"- **{title}**: more than half of the answers are "
        + "; ".join(words)
        + (f". Fewer than 90 % of the seen pairs are right at γ = {', '.join(shadow)}." if shadow else ".")
    )


def architectures(by_norm: Mapping[str, Sequence[StoredRun]]) -> str:
    """For each norm: does γ turn the answer, by the measure of chapter 2?"""
    turned = {title: turns(group) for title, group in by_norm.items()}
    do, do_not = (listed([title for title, t in turned.items() if t is answer] or ["none"]) for answer in (True, False))
    said = f"{do} models turn from symmetric to inferential as γ grows, {do_not} ones at the same settings do not"
    if len(set(turned.values())) == 1:
        said = f"{'every' if all(turned.values()) else 'no'} norm turns models from symmetric to inferential as γ grows"
    model = next(iter(by_norm.values()))[0].spec.model
    return (
        f"**{sentence(said)}.** The paper's figure is post-norm; our models are far smaller than GPT-2, with "
        f"{number_of(model.depth, 'layer')} of width {model.d_model}."
    )


def taken_away(by_norm: Mapping[str, Sequence[StoredRun]]) -> str:
    """What the answer does not say: how far each norm goes either way, and between the paper's own two γ."""
    lines = []
    for title, group in by_norm.items():
        found, pair = ends(group), at_paper_pair(group)
        where = ", ".join(f"{found.mean[m][m]:.0%} {m} (γ = {found.gamma[m]:g})" for m in MAPPINGS)
        there = "; ".join(
            f"{pair.mean[end]['symmetric']:.0%} symmetric and {pair.mean[end]['inferential']:.0%} inferential at "
            f"γ = {pair.gamma[end]:g}"
            for end in MAPPINGS
        )
        lines.append(f"- **{sentence(title)}**, means over seeds at most: {where}. At the paper's two γ: {there}.")
    return "\n".join(lines)


def again_text(first: Sequence[StoredRun], again: Sequence[StoredRun]) -> str:
    """What training the same settings and seeds a second time changes: the program differs, and with it the rounding."""
    by_place = {(run.spec.gamma, run.spec.seed): run for run in again}
    pairs = [(run, by_place[place]) for run in first if (place := (run.spec.gamma, run.spec.seed)) in by_place]
    if not pairs:
        return "No run was trained twice."
    same = sum(lean(a) * lean(b) > 0 for a, b in pairs)
    far = max(abs(a.metrics["inferential"] - b.metrics["inferential"]) for a, b in pairs)
    mean = lambda i, some: float(np.mean([pair[i].metrics["inferential"] for pair in some]))
    by_gamma = {g: [pair for pair in pairs if pair[0].spec.gamma == g] for g in {pair[0].spec.gamma for pair in pairs}}
    at = max(by_gamma, key=lambda g: abs(mean(0, by_gamma[g]) - mean(1, by_gamma[g])))
    gammas = sorted({run.spec.gamma for run in again})
    return (
        f"These pre-norm runs were trained once more for the first page, at {len(gammas)} values of γ from {gammas[0]:g} to "
        f"{gammas[-1]:g}, with all that the explorer shows kept along training. Settings and seeds are the same; the program "
        f"and so the rounding differ. Of {number_of(len(pairs), 'run')} that both have, {same} lean to the same answer. The "
        f"mean inferential share over all of them is {mean(0, pairs):.2f} and {mean(1, pairs):.2f}; a single run's differs by "
        f"up to {far:.2f}, "
        f"and the mean over the seeds of one γ by up to {abs(mean(0, by_gamma[at]) - mean(1, by_gamma[at])):.2f} (γ = {at:g}). "
        "What a single run answers need not repeat."
    )
