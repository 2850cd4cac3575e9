"""Claims on information flow (chapter 3)."""

from __future__ import annotations

import numpy as np

from lib.composition.information_flow.metrics import (
    EDGES,
    EFFECT,
    ROUTES,
    agreement,
    composes_in_order,
    drops,
    forgets_order,
    takes,
)
from lib.composition.phases import Phase, material, phases
from lib.composition.runs import MAPPINGS
from lib.core.read.claim import Claim, Finding, graded
from lib.core.read.measures import spread
from lib.core.read.words import number_of
from lib.core.record.store import Store


def _phase(store: Store, profile: str, mapping: str, depth: int = 2) -> Phase:
    found = [p for p in phases(material(store, profile)) if p.mapping == mapping and p.depth == depth]
    if not found or not found[0].genuine:
        raise LookupError(f"no stored run of depth {depth} with weights is {mapping} enough")
    return found[0]


def _seeds(phase: Phase) -> int:
    return len({run.spec.seed for run in phase.runs})


Step = tuple[int | None, str]
"""A layer, or None for whichever costs most, and a class of edges."""


def _steps(mapping: str, needed: list[Step], spared: list[Step], depth: int = 2):  # noqa: ANN202
    """A check that cuts of the needed steps cost EFFECT on average and cuts of the spared ones do not."""

    def check(store: Store, profile: str) -> Finding:
        phase = _phase(store, profile, mapping, depth)
        cost, names = drops(phase), list(EDGES)
        by_layer = lambda step: cost[:, :, names.index(step[1])]
        of = lambda step: by_layer(step).max(1) if step[0] is None else by_layer(step)[:, step[0] - 1]
        say = lambda step: f"{step[1]} in {'any layer' if step[0] is None else f'layer {step[0]}'}"
        words = "; ".join(f"{say(step)} costs {spread(of(step))}" for step in (*needed, *spared))
        needs = np.array([of(step) >= EFFECT for step in needed])
        whole = takes(phase, ROUTES[mapping])
        return Finding(
            f"{words}; of {number_of(len(phase.runs))}, {needs.all(0).sum()} need every step and {whole.sum()} every edge of "
            "the drawn route, cut one by one",
            graded(
                {f"{say(s)} costs {EFFECT}": bool(of(s).mean() >= EFFECT) for s in needed}
                | {f"{say(s)} costs less than {EFFECT}": bool(of(s).mean() < EFFECT) for s in spared}
                | {
                    "nine runs of ten need each step": bool((needs.mean(1) >= 0.9).all()),
                    "nine runs of ten need every edge": bool(whole.mean() >= 0.9),
                }
            ),
            _seeds(phase),
        )

    return check


def _deep_inferential(store: Store, profile: str) -> Finding:
    """At depth 3 and more: is there one layer where key → anchors matters, and a later one where anchors → last does?"""
    found = [p for p in phases(material(store, profile)) if p.mapping == "inferential" and p.depth > 2 and p.genuine]
    if not found:
        raise LookupError("no stored run deeper than two layers with weights is inferential enough")
    depths = {phase.depth for phase in found}
    symmetric = [p for p in phases(material(store, profile)) if p.mapping == "symmetric" and p.depth in depths and p.genuine]
    control = [composes_in_order(run) for phase in symmetric for run in drops(phase)]
    names, ok, key_last = list(EDGES), [], []
    for phase in found:
        for run in drops(phase):
            ok.append(composes_in_order(run))
            key_last.append(bool(run[:, names.index("key → last")].max() >= EFFECT))
    return Finding(
        f"{sum(ok)} of {len(ok)} runs need key → anchors in a layer and anchors → last in a later one; "
        f"{sum(key_last)} need key → last; of {number_of(len(control), 'symmetric run')} of these depths, {sum(control)} "
        f"need{'s' * (sum(control) == 1)} the two steps in this order",
        graded(
            {
                "most need key → anchors and, later, anchors → last": bool(np.mean(ok) > 0.5),
                "most do not need key → last": bool(np.mean(key_last) < 0.5),
                "at most half of symmetric runs do the same": bool(control) and bool(np.mean(control) <= 0.5),
            }
        ),
        len({r.spec.seed for p in found for r in p.runs}),
    )


def _picture(store: Store, profile: str) -> Finding:
    found = [p for p in phases(material(store, profile)) if p.genuine]
    if not found:
        raise LookupError("no stored run with weights belongs to a phase")
    parts, words = {}, []
    for mapping in dict.fromkeys(p.mapping for p in found):
        here = [p for p in found if p.mapping == mapping]
        both, picture, causal = np.sum([agreement(p) for p in here], axis=0)
        words.append(
            f"{mapping}: {both} classes of edges are drawn and causal, {picture} drawn only, {causal} causal only "
            f"({sum(len(p.runs) for p in here)} runs)"
        )
        parts |= {
            f"{mapping}: at least half of the drawn are causal": bool(both >= picture),
            f"{mapping}: at least half of the causal are drawn": bool(both >= causal),
        }
    return Finding(
        "; ".join(words),
        graded(parts),
        len({r.spec.seed for p in found for r in p.runs}),
    )


def _mirrored(store: Store, profile: str) -> Finding:
    found = [p for p in phases(material(store, profile)) if p.genuine]
    each = {(p.depth, p.mapping): np.array([forgets_order(r) for r in p.runs]) for p in found}
    by_depth = "; ".join(f"{p.title} {spread(each[p.depth, p.mapping])} ({number_of(len(p.runs))})" for p in found)
    depths = sorted({p.depth for p in found})
    both = {d: [each[d, m].mean() for m in MAPPINGS] for d in depths if all((d, m) in each for m in MAPPINGS)}
    parts = {f"{depth} layers: below half of other pairs": bool(s < 0.5) for depth, (s, _) in both.items()}
    parts |= {f"{depth} layers: less than half of the inferential ratio": bool(2 * s < i) for depth, (s, i) in both.items()}
    if not both:
        raise LookupError("at no depth do both phases have a stored run with weights")
    return Finding(
        f"distance of mirror images over that of other pairs: {by_depth}",
        graded(parts),
        len({r.spec.seed for p in found for r in p.runs}),
    )


CHAPTER_03 = (
    Claim(
        "flow-symmetric",
        "zhang2024",
        "Fig 3a",
        "Symmetric flow: the first layer merges both anchors into the last token, the second brings the key.",
        "drawn for one input",
        f"two layers: cutting anchors → last in layer 1 and key → last in layer 2 cost {EFFECT}, key → anchors less; "
        "nine runs of ten need each step and every edge of the drawn route (added after seeing results)",
        _steps("symmetric", [(1, "anchors → last"), (2, "key → last")], [(None, "key → anchors")]),
    ),
    Claim(
        "flow-inferential",
        "zhang2024",
        "Fig 3c",
        "Inferential flow: the first layer copies the key onto each anchor, the second sends both to the last token.",
        "drawn for one input",
        f"two layers: cutting key → anchors in layer 1 and anchors → last in layer 2 cost {EFFECT}; key → last, and anchors → "
        "last in layer 1, cost less; nine runs of ten need each step and every edge of the drawn route (added after seeing "
        "results)",
        _steps(
            "inferential",
            [(1, "key → anchors"), (2, "anchors → last")],
            [(None, "key → last"), (1, "anchors → last")],
        ),
    ),
    Claim(
        "flow-inferential-deep",
        "ours",
        "deeper models",
        "Deeper inferential models do the same in some layer and a later one.",
        "not reported",
        f"in most runs of depth 3 and more, key → anchors and, later, anchors → last cost {EFFECT}; key → last does not; "
        "of symmetric runs of these depths at most half do the same (added after seeing results)",
        _deep_inferential,
    ),
    Claim(
        "flow-causal",
        "zhang2025",
        "edge cuts",
        "The attention that is drawn is the attention that the answer depends on.",
        "cuts of single edges",
        f"at least half of the drawn classes cost {EFFECT} when cut, and half of the costly ones are drawn, of symmetric and "
        "of inferential runs (each by itself since results were seen)",
        _picture,
    ),
    Claim(
        "flow-mirrored",
        "zhang2024",
        "Fig 3b",
        "In the symmetric phase the last token's state after the first attention forgets the order of the anchors.",
        "mirror images overlap in a t-SNE map",
        "at every depth that has both phases: below half of the distance of other pairs, and less than half of the ratio of "
        "inferential runs (revised after seeing results: before, two layers alone, below half and below the ratio of "
        "inferential runs)",
        _mirrored,
    ),
)
