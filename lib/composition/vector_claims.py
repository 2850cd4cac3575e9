"""Chapter 4, vectors: numbers over runs, lines, prose and claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lib.composition import vectors
from lib.composition.phases import Phase, material, phases
from lib.composition.vectors import Similarity
from lib.core.claim import Claim, Finding, graded
from lib.core.store import Store, StoredRun

_FOUND: dict[tuple[str, str], np.ndarray] = {}


def _remembered(kind: str, measure: Callable[[StoredRun], np.ndarray], run: StoredRun) -> np.ndarray:
    if (name := (kind, str(run.path))) not in _FOUND:
        _FOUND[name] = measure(run)
    return _FOUND[name]


def last_token(run: StoredRun) -> np.ndarray:
    """(layers,) vectors.contrast_by_layer, remembered."""
    return _remembered("last", vectors.contrast_by_layer, run)


def last_token_centred(run: StoredRun) -> np.ndarray:
    """The same without the mean vector."""
    return _remembered("last, centred", lambda r: vectors.contrast_by_layer(r, centred=True), run)


def at_anchor(run: StoredRun) -> np.ndarray:
    """(layers,) vectors.anchor_contrast without the mean of the anchor, remembered."""
    return _remembered("anchor", lambda r: vectors.anchor_contrast(r, centred=True), run)


PANELS = {
    "last token": last_token,
    "last token, centred": last_token_centred,
    "first anchor, centred": at_anchor,
}


def split(s: Similarity) -> tuple[float, float]:
    """Mean cosine inside and outside of the boxes; an entry of a vector with itself does not count."""
    other = s.values < 1 - 1e-6
    return float(s.values[s.agree & other].mean()), float(s.values[~s.agree & other].mean())


def similarity_line(names: Sequence[str], rows: Mapping[str, Sequence[Similarity]]) -> str:
    """Mean cosines inside and outside of the boxes, row by row and model by model."""
    words = lambda s: f"{split(s)[0]:.2f} against {split(s)[1]:.2f}"
    return "; ".join(
        f"{row}: " + ", ".join(f"{name} {words(s)}" for name, s in zip(names, line, strict=True)) for row, line in rows.items()
    )


def pooled(groups: Sequence[Phase]) -> dict[str, list[StoredRun]]:
    """{mapping: runs of every depth} of the genuine phases, or of the stand-ins where a mapping has no other."""
    found: dict[str, list[StoredRun]] = {}
    for mapping in mappings_of(groups):
        real = [r for p in groups if p.mapping == mapping and p.genuine for r in p.runs]
        found[mapping] = real or [r for p in groups if p.mapping == mapping for r in p.runs]
    return found


def mappings_of(groups: Sequence[Phase]) -> list[str]:
    return [m for m in ("symmetric", "inferential") if any(p.mapping == m for p in groups)]


def contrast_lists(runs: dict[str, list[StoredRun]]) -> dict[str, list[list[np.ndarray]]]:
    """{mapping: one list a panel}, each one (layers,) array a run."""
    return {m: [[measure(r) for r in group] for measure in PANELS.values()] for m, group in runs.items()}


def _last_values(group: list[StoredRun]) -> dict[str, np.ndarray]:
    """Last token: the last layer. First anchor: the layer before, from which the last reads it."""
    where = {name: -2 if "anchor" in name else -1 for name in PANELS}
    return {name: np.array([measure(r)[where[name]] for r in group]) for name, measure in PANELS.items()}


def contrast_line(runs: dict[str, list[StoredRun]]) -> str:
    return "; ".join(
        f"{mapping} ({len(group)} runs): " + ", ".join(f"{name} {v.mean():.2f}" for name, v in _last_values(group).items())
        for mapping, group in runs.items()
    )


def contrast_text(runs: dict[str, list[StoredRun]]) -> str:
    """The numbers of the last layer (for the first anchor: of the layer before) as a table."""
    head = "| phase | runs | " + " | ".join(PANELS) + " |\n|---|---" + "|---" * len(PANELS) + "|\n"
    cell = lambda v: f"{v.mean():.2f} ± {v.std():.2f} ({v.min():.2f} to {v.max():.2f})"
    rows = [
        f"| {mapping} | {len(group)} | " + " | ".join(cell(v) for v in _last_values(group).values()) + " |"
        for mapping, group in runs.items()
    ]
    return head + "\n".join(rows)


def by_gamma_text(runs: dict[str, list[StoredRun]]) -> str:
    """Does the contrast depend on γ more than on the phase? Spearman's correlation within each phase."""
    from lib.composition.complexity import spearman

    words = []
    for mapping, group in runs.items():
        gammas = np.array([r.spec.gamma for r in group])
        if len(set(gammas)) > 2:
            words.append(
                f"{mapping} {spearman(gammas, np.array([last_token(r)[-1] for r in group])):+.2f} over {len(group)} runs"
            )
    return (
        "Rank correlation of γ and the contrast at the last token, within a phase: "
        + ("; ".join(words) or "too few runs")
        + "."
    )


# --- Claims ---


def _genuine(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    groups = [p for p in phases(material(store, profile)) if p.genuine]
    runs = pooled(groups)
    if set(runs) != {"symmetric", "inferential"}:
        raise LookupError("one of the phases has no stored run with weights")
    return runs


def _compare(measure: Callable[[StoredRun], float], gap: float = 0.0) -> Callable[[Store, str], Finding]:
    """A check that a number is above 0.1 in inferential runs on average, and larger there than in symmetric runs."""

    def check(store: Store, profile: str) -> Finding:
        runs = _genuine(store, profile)
        values = {m: np.array([measure(r) for r in group]) for m, group in runs.items()}
        words = "; ".join(f"{m} {v.mean():.2f} ± {v.std():.2f} ({len(v)} runs)" for m, v in values.items())
        i, s = values["inferential"], values["symmetric"]
        error = (
            float(np.hypot(i.std(ddof=1) / len(i) ** 0.5, s.std(ddof=1) / len(s) ** 0.5)) if min(len(i), len(s)) > 1 else 0.0
        )
        return Finding(
            f"{words}; difference {i.mean() - s.mean():+.2f} ± {error:.2f} (standard error)",
            graded([bool(i.mean() > 0.1), bool(i.mean() - s.mean() > 2 * error + gap)]),
            len({r.spec.seed for group in runs.values() for r in group}),
        )

    return check


def _centred(store: Store, profile: str) -> Finding:
    """Do the two phases part on the centred contrast, run by run?"""
    from lib.composition.complexity import auc

    runs = _genuine(store, profile)
    values = {m: np.array([last_token_centred(r)[-1] for r in group]) for m, group in runs.items()}
    s, i = values["symmetric"], values["inferential"]
    chance = auc(np.r_[s, i], np.r_[np.zeros(len(s), dtype=bool), np.ones(len(i), dtype=bool)])
    words = "; ".join(f"{m} {v.mean():.2f} ± {v.std():.2f} ({len(v)} runs)" for m, v in values.items())
    return Finding(
        f"{words}; an inferential run has the higher contrast in {chance:.0%} of all pairs",
        graded([bool(i.mean() > 2 * s.mean()), chance >= 0.9]),
        len({r.spec.seed for group in runs.values() for r in group}),
    )


CHAPTER_04 = (
    Claim(
        "vectors-fused",
        "zhang2024",
        "Fig 4a, b",
        "Fused vectors of equal answers are near-parallel in the inferential phase and not in the symmetric one.",
        "heatmaps of one model of each phase",
        "last layer, last token: contrast above 0.1 and larger than in symmetric runs by two standard errors",
        _compare(lambda r: float(last_token(r)[-1])),
    ),
    Claim(
        "vectors-anchor",
        "zhang2024",
        "Fig 4c",
        "In the inferential phase the first anchor holds the intermediate value: equal values are near-parallel there.",
        "a heatmap of one model",
        "first anchor, one layer before the last: contrast above 0.1, and larger than in symmetric runs by two standard errors",
        _compare(lambda r: float(at_anchor(r)[-2])),
    ),
    Claim(
        "vectors-centred",
        "ours",
        "centred contrast",
        "Without the part that all vectors share, the contrast tells the two phases apart run by run.",
        "not reported",
        "mean of inferential runs above twice that of symmetric ones; the higher of a pair in at least 90 % of pairs",
        _centred,
    ),
)
