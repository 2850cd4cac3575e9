"""What chapter 4 says of its numbers: whether pictures are the paper's, contrasts, and their verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.composition.phases import Phase
from lib.composition.vectors.numbers import (
    Similarity,
    at_anchor,
    at_anchor_plain,
    larger,
    last_token,
    last_token_centred,
    last_values,
    of_depth,
    split,
)
from lib.core.read.statistics import spearman
from lib.core.read.words import listed, number_of
from lib.core.record.store import StoredRun

NEAR, APART, LOW = 0.9, 0.1, 0.5
"""Mean cosines: near-parallel from NEAR on, apart from the others by APART at least, low below LOW (our choice)."""


def picture_text(number: str, shown: Sequence[Phase], plain: Sequence[Similarity], low: bool = False) -> str:
    """Is a figure of plain cosines the paper's, at its two layers? `low`: the paper has low cosines in the symmetric phase."""
    first = shown[0].depth
    of = {p.mapping: (p, *split(s)) for p, s in zip(shown, plain, strict=True) if p.depth == first}
    phase, inside, outside = of["inferential"]
    differs = []
    if inside < NEAR:
        differs.append(f"in the inferential model equal numbers are not near-parallel (mean cosine {inside:z.2f})")
    if inside - outside < APART:
        among = ", among questions with different first anchors" if any(s.counted is not None for s in plain) else ""
        differs.append(f"in the inferential model other numbers are nearly as alike as equal ones{among}")
    if low and max(of["symmetric"][1:]) >= LOW:
        differs.append("the symmetric model's cosines, which the paper finds low, are not")
    n = len(phase.runs) if phase.genuine else 0
    return (
        f"**At depth {first} the plain cosines of Figure {number} are {'not ' * bool(differs)}the paper's picture**, in which "
        "equal numbers are near-parallel and others are not"
        + (f": {'; '.join(differs)}" if differs else "")
        + f". There {'is' if n == 1 else 'are'} {number_of(n, 'inferential run')} of this depth to choose from."
    )


def similarity_line(names: Sequence[str], rows: Mapping[str, Sequence[Similarity]]) -> str:
    """Mean cosines inside and outside of the boxes, row by row and model by model."""
    words = lambda s: f"{split(s)[0]:z.2f} against {split(s)[1]:z.2f}"
    return "; ".join(
        f"{row}: " + ", ".join(f"{name} {words(s)}" for name, s in zip(names, line, strict=True)) for row, line in rows.items()
    )


def contrast_line(runs: dict[str, list[StoredRun]]) -> str:
    return "; ".join(
        f"{mapping} ({number_of(len(group))}): " + ", ".join(f"{name} {v.mean():.2f}" for name, v in last_values(group).items())
        for mapping, group in runs.items()
    )


def counts_text(runs: Mapping[str, Sequence[StoredRun]]) -> str:
    """How many runs of each phase there are, depth by depth."""
    depths = sorted({r.spec.model.depth for group in runs.values() for r in group})
    words = [
        f"{listed([f'{len(of_depth(group, depth))} {mapping}' for mapping, group in runs.items()])} at depth {depth}"
        for depth in depths
    ]
    return f"Runs: {'; '.join(words)}."


def by_gamma_text(runs: dict[str, list[StoredRun]]) -> str:
    """Does the contrast depend on γ more than on the phase? Spearman's correlation within each phase."""
    words = []
    for mapping, group in runs.items():
        gammas = np.array([r.spec.gamma for r in group])
        if len(set(gammas)) > 2:
            words.append(
                f"{mapping} {spearman(gammas, np.array([last_token(r)[-1] for r in group])):+z.2f} over {len(group)} runs"
            )
    return (
        "Rank correlation of γ and the contrast at the last token, within a phase: "
        + ("; ".join(words) or "too few runs")
        + "."
    )


def _compared(runs: Mapping[str, Sequence[StoredRun]]) -> tuple[dict[str, list[int]], int, list[str]]:
    """{measure: depths at which it is clearly larger in inferential runs}, how many comparisons there are, and in words the
    depths with too few runs to compare."""
    where = {
        "at the last token": lambda r: float(last_token(r)[-1]),
        "at the last token, centred": lambda r: float(last_token_centred(r)[-1]),
        "at the first anchor, centred": lambda r: float(at_anchor(r)[-2]),
        "at the first anchor, values V": at_anchor_plain,
    }
    clear: dict[str, list[int]] = {}
    asked, few = 0, []
    for depth in sorted({r.spec.model.depth for group in runs.values() for r in group}):
        inferential, symmetric = (of_depth(runs.get(m, []), depth) for m in ("inferential", "symmetric"))
        if min(len(inferential), len(symmetric)) < 2:
            few.append(f"depth {depth} has {number_of(len(inferential), 'inferential run')} and {len(symmetric)} symmetric")
            continue
        asked += len(where)
        for name, measure in where.items():
            if larger(np.array([measure(r) for r in inferential]), np.array([measure(r) for r in symmetric])):
                clear.setdefault(name, []).append(depth)
    return clear, asked, few


def likeness(runs: Mapping[str, Sequence[StoredRun]]) -> str:
    """Do equal numbers look alike inside inferential models more than inside symmetric ones? runs: {mapping: runs}."""
    clear, asked, _ = _compared(runs)
    n = sum(map(len, clear.values()))
    depths = sorted({depth for where in clear.values() for depth in where})
    at = listed(list(map(str, depths)))
    verdict = (
        "Equal numbers look more alike in inferential models"
        if asked and n == asked
        else "Equal numbers look more alike in inferential models by some measures only"
        if clear
        else "Equal numbers do not look clearly more alike in inferential models"
    )
    return (
        f"**{verdict}**: the contrast is larger by two standard errors in {n} of {asked} comparisons between runs of one depth"
        + (f", all at depth {at}." if len(depths) == 1 else f", at depths {at}." if depths else ".")
    )


def taken_away(runs: Mapping[str, Sequence[StoredRun]]) -> str:
    """What the answer does not say: by which measures and at which depths, and where there are too few runs."""
    clear, _, few = _compared(runs)
    found = [f"{name}, at depth {listed(list(map(str, depths)))}" for name, depths in clear.items()]
    lines = [
        f"Equal numbers stand out more in inferential runs {'; '.join(found)}."
        if found
        else "No measure stands out more in inferential runs at any depth.",
    ]
    if found and not any(min(depths) == 2 for depths in clear.values()):
        lines.append("At two layers, which the paper's statement is about, no measure tells the phases apart.")
    if few:
        lines.append(f"Too few to compare: {'; '.join(few)}.")
    return " ".join(lines)
