"""Chapter 4, vectors: numbers over runs, lines, prose and claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lib.composition.condensation.numbers import stratified_auc
from lib.composition.phases import Phase, material, phases
from lib.composition.runs import MAPPINGS
from lib.composition.vectors import numbers as vectors
from lib.composition.vectors.numbers import Similarity
from lib.core.claim import Claim, Finding, graded
from lib.core.measures import remembered, spearman, spread
from lib.core.store import Store, StoredRun


@remembered
def last_token(run: StoredRun) -> np.ndarray:
    """(layers,) vectors.contrast_by_layer."""
    return vectors.contrast_by_layer(run)


@remembered
def last_token_centred(run: StoredRun) -> np.ndarray:
    """The same without the mean vector."""
    return vectors.contrast_by_layer(run, centred=True)


@remembered
def at_anchor(run: StoredRun) -> np.ndarray:
    """(layers,) vectors.anchor_contrast without the mean of the anchor."""
    return vectors.anchor_contrast(run, centred=True)


PANELS = {
    "last token": last_token,
    "last token, centred": last_token_centred,
    "first anchor, centred": at_anchor,
}


def split(s: Similarity) -> tuple[float, float]:
    """Mean cosine inside and outside of the boxes; where rows and columns are the same questions, none against itself."""
    other = ~np.eye(len(s.agree), dtype=bool) if s.agree.diagonal().all() else np.ones_like(s.agree)
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
    for mapping in MAPPINGS:
        of = [p for p in groups if p.mapping == mapping]
        if of:
            found[mapping] = [r for p in [p for p in of if p.genuine] or of for r in p.runs]
    return found


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
    """The numbers of the last layer (for the first anchor: of the layer before), depth by depth, as a table."""
    head = "| depth | phase | runs | " + " | ".join(PANELS) + " |\n|---|---|---" + "|---" * len(PANELS) + "|\n"
    cell = lambda v: f"{spread(v)} ({v.min():.2f} to {v.max():.2f})" if len(v) > 1 else f"{v[0]:.2f}"
    rows = [
        f"| {depth} | {mapping} | {len(group)} | " + " | ".join(cell(v) for v in _last_values(group).values()) + " |"
        for depth in sorted({r.spec.model.depth for group in runs.values() for r in group})
        for mapping in runs
        if (group := of_depth(runs[mapping], depth))
    ]
    return head + "\n".join(rows)


def of_depth(runs: Sequence[StoredRun], depth: int) -> list[StoredRun]:
    return [r for r in runs if r.spec.model.depth == depth]


def by_gamma_text(runs: dict[str, list[StoredRun]]) -> str:
    """Does the contrast depend on γ more than on the phase? Spearman's correlation within each phase."""
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


def at_anchor_plain(run: StoredRun) -> float:
    """Contrast of the last layer's values V at the first anchor, nothing subtracted, as Fig. 4c shows them."""
    return vectors.block_contrast(vectors.blocks(run))


def alike(run: StoredRun) -> float:
    """Mean plain cosine of equal answers in Fig. 4a, b."""
    return split(vectors.fused(run))[0]


def _by_depth(measure: Callable[[StoredRun], float], runs: dict[str, list[StoredRun]]) -> tuple[list[str], dict[str, bool]]:
    """Inferential against symmetric runs within each depth: words, and {"depth 2": is the difference above two standard
    errors?} for each depth with two runs of either kind. Depth is kept apart since deep runs are mostly inferential and
    contrasts grow with depth in both."""
    words, parts = [], {}
    for depth in sorted({r.spec.model.depth for group in runs.values() for r in group}):
        s, i = (np.array([measure(r) for r in of_depth(runs[m], depth)]) for m in ("symmetric", "inferential"))
        if not len(s) or not len(i):
            continue
        words.append(f"depth {depth}: inferential {spread(i)} ({len(i)}), symmetric {spread(s)} ({len(s)})")
        if min(len(s), len(i)) > 1:
            error = float(np.hypot(i.std(ddof=1) / len(i) ** 0.5, s.std(ddof=1) / len(s) ** 0.5))
            parts[f"depth {depth}"] = bool(i.mean() - s.mean() > 2 * error)
    if not parts:
        raise LookupError("no depth has two stored runs of either phase")
    return words, parts


def _seeds(runs: dict[str, list[StoredRun]]) -> int:
    return len({r.spec.seed for group in runs.values() for r in group})


def _fused(store: Store, profile: str) -> Finding:
    runs = _genuine(store, profile)
    words, parts = _by_depth(lambda r: float(last_token(r)[-1]), runs)
    cosine = {m: np.array([alike(r) for r in group]) for m, group in runs.items()}
    return Finding(
        "contrast, " + "; ".join(words) + f". Cosine of equal answers: inferential {spread(cosine['inferential'])}, symmetric "
        f"{spread(cosine['symmetric'])}",
        graded(
            {f"contrast at {depth}": larger for depth, larger in parts.items()}
            | {
                "inferential cosine at least .9": bool(cosine["inferential"].mean() >= 0.9),
                "symmetric cosine below .5": bool(cosine["symmetric"].mean() < 0.5),
            }
        ),
        _seeds(runs),
    )


def _anchor(store: Store, profile: str) -> Finding:
    runs = _genuine(store, profile)
    words, parts = _by_depth(lambda r: float(at_anchor(r)[-2]), runs)
    plain, plain_parts = _by_depth(at_anchor_plain, runs)
    return Finding(
        "without each anchor's mean, " + "; ".join(words) + ". Plain, " + "; ".join(plain),
        graded(
            {f"{depth} without the mean": larger for depth, larger in parts.items()}
            | {f"{depth} plain": larger for depth, larger in plain_parts.items()}
        ),
        _seeds(runs),
    )


def _centred(store: Store, profile: str) -> Finding:
    """Do the two phases part on the centred contrast, run by run, within each depth?"""
    runs = _genuine(store, profile)
    words, parts = _by_depth(lambda r: float(last_token_centred(r)[-1]), runs)
    group = [(m, r) for m, members in runs.items() for r in members]
    chance = stratified_auc(
        [float(last_token_centred(r)[-1]) for _, r in group],
        [m == "inferential" for m, _ in group],
        [r.spec.model.depth for _, r in group],
    )
    return Finding(
        "; ".join(words) + f". Of two runs of one depth, the inferential one has the higher contrast in {chance:.0%} of pairs",
        graded(parts | {"higher in 90 % of pairs": chance >= 0.9}),
        _seeds(runs),
    )


CHAPTER_04 = (
    Claim(
        "vectors-fused",
        "zhang2024",
        "Fig 4a, b",
        "Fused vectors of equal answers are near-parallel in the inferential phase; in the symmetric one cosines are low.",
        "heatmaps of one model of each phase",
        "last token: contrast larger by two standard errors within each depth; cosine of equal answers ≥ .9, symmetric < .5",
        _fused,
    ),
    Claim(
        "vectors-anchor",
        "zhang2024",
        "Fig 4c",
        "In the inferential phase the first anchor holds the intermediate value: equal values are near-parallel there.",
        "a heatmap of one model",
        "first anchor: contrast larger by two standard errors within each depth, without each anchor's mean (X) and plain (V)",
        _anchor,
    ),
    Claim(
        "vectors-centred",
        "ours",
        "centred contrast",
        "Without the part that all vectors share, the contrast tells the two phases apart run by run.",
        "not reported",
        "larger by two standard errors within each depth; the higher one in 90 % of pairs of one depth",
        _centred,
    ),
)
