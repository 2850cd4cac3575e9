"""What chapter 4 says of its numbers: whether pictures are the paper's, contrasts, and their verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.composition.phases import Phase
from lib.composition.vectors.numbers import (
    PANELS,
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
from lib.core.read.measures import spread
from lib.core.read.statistics import spearman
from lib.core.read.tables import table
from lib.core.read.words import listed, number_of
from lib.core.record.store import StoredRun

NEAR, APART, LOW = 0.9, 0.1, 0.5
"""Mean cosines: near-parallel from NEAR on, apart from the others by APART at least, low below LOW (our choice)."""


def picture_text(number: str, shown: Sequence[Phase], plain: Sequence[Similarity], low: bool = False) -> str:
    """Is a figure of plain cosines the paper's, at its two layers? `low`: the paper has low cosines in the symmetric phase."""
    first = shown[0].depth
    of = {p.mapping: (p, *split(s)) for p, s in zip(shown, plain, strict=True) if p.depth == first}
    phase, inside, outside = of["inferential"]
    as_reported = [inside >= NEAR, inside - outside >= APART]
    half = any(s.counted is not None for s in plain)
    said = (
        f"the inferential model has a mean cosine of {inside:z.2f} where numbers are equal and of {outside:z.2f} elsewhere"
        + (", among questions with different first anchors" if half else "")
    )
    if low:
        _, *cosines = of["symmetric"]
        as_reported.append(max(cosines) < LOW)
        said += f"; the symmetric one, whose cosines the paper finds low, has {cosines[0]:z.2f} and {cosines[1]:z.2f}"
    n = len(phase.runs) if phase.genuine else 0
    return (
        f"**At depth {first} Figure {number} is {'' if all(as_reported) else 'not '}the paper's picture**, in which equal "
        f"numbers are near-parallel and others are not: {said}. There {'is' if n == 1 else 'are'} "
        f"{number_of(n, 'inferential run')} of this depth to choose from."
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


def contrast_text(runs: dict[str, list[StoredRun]]) -> str:
    """The numbers of the last layer (for the first anchor: of the layer before), depth by depth, as a table."""
    names = [*PANELS, "first anchor, values V"]
    values = lambda group: [*last_values(group).values(), np.array([at_anchor_plain(r) for r in group])]
    cell = lambda v: f"{spread(v)} ({v.min():z.2f} to {v.max():z.2f})" if len(v) > 1 else f"{v[0]:z.2f}"
    rows = [
        (depth, mapping, len(group), *map(cell, values(group)))
        for depth in sorted({r.spec.model.depth for group in runs.values() for r in group})
        for mapping in runs
        if (group := of_depth(runs[mapping], depth))
    ]
    return table(("depth", "phase", "runs", *names), rows)


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


def likeness(runs: Mapping[str, Sequence[StoredRun]]) -> str:
    """Do equal numbers look alike inside inferential models more than inside symmetric ones? runs: {mapping: runs}."""
    where = {
        "at the last token": lambda r: float(last_token(r)[-1]),
        "at the last token, centred": lambda r: float(last_token_centred(r)[-1]),
        "at the first anchor, centred": lambda r: float(at_anchor(r)[-2]),
        "at the first anchor, values V": at_anchor_plain,
    }
    clear: dict[str, list[str]] = {}
    asked, few = 0, []
    for depth in sorted({r.spec.model.depth for group in runs.values() for r in group}):
        inferential, symmetric = (of_depth(runs.get(m, []), depth) for m in ("inferential", "symmetric"))
        if min(len(inferential), len(symmetric)) < 2:
            few.append(f"depth {depth} has {number_of(len(inferential), 'inferential run')} and {len(symmetric)} symmetric")
            continue
        asked += len(where)
        for name, measure in where.items():
            if larger(np.array([measure(r) for r in inferential]), np.array([measure(r) for r in symmetric])):
                clear.setdefault(name, []).append(str(depth))
    n = sum(map(len, clear.values()))
    found = [f"{name}, at depth {listed(depths)}" for name, depths in clear.items()]
    verdict = (
        "Equal numbers look more alike in inferential models"
        if asked and n == asked
        else "Equal numbers look more alike in inferential models by some measures only"
        if clear
        else "Equal numbers do not look clearly more alike in inferential models"
    )
    return (
        f"**{verdict}**: the contrast is larger by two standard errors in {n} of {asked} comparisons within a depth"
        + (f": {'; '.join(found)}." if found else ".")
        + (f" Too few to compare: {'; '.join(few)}." if few else "")
    )
