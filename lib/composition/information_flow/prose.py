"""What chapter 3 says of its numbers: routes, cuts, patches and their verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from lib.composition.information_flow import metrics
from lib.composition.information_flow.metrics import (
    EDGES,
    EFFECT,
    ESSENTIAL,
    GATHERED,
    ROLES,
    ROUTES,
    Flow,
    Step,
    agreement,
    brought,
    composes_in_order,
    cuts_of,
    drawn_steps,
    drops,
    needed,
    off_route,
    takes,
)
from lib.composition.phases import Phase
from lib.composition.runs import offsets_by_key
from lib.composition.study import LOW_KEYS
from lib.composition.task import FIRST_KEY, INFERENTIAL_OFFSET
from lib.composition.words import run_words
from lib.core.read.words import listed, number_of, sentence
from lib.core.record.store import StoredRun


def misses_text(phases: Sequence[Phase]) -> str:
    """At which keys the inferential runs of the table do not compose."""
    runs = [run for p in phases if p.mapping == "inferential" and p.genuine for run in p.runs]
    if not runs:
        return "No run is inferential enough to be asked where it fails to compose."
    missed = np.stack([offsets_by_key(run) for run in runs]) != INFERENTIAL_OFFSET
    low, high = missed[:, : LOW_KEYS - FIRST_KEY], missed[:, LOW_KEYS - FIRST_KEY :]
    return (
        f"The {len(runs)} inferential run{'s' * (len(runs) != 1)} of the table fail{'s' * (len(runs) == 1)} to compose in "
        f"{low.mean():.0%} of the questions with a key below {LOW_KEYS} and in {high.mean():.0%} of the others"
        + (f"; {high.sum() / missed.sum():.0%} of all these misses are at keys from {LOW_KEYS} on." if missed.any() else ".")
    )


def flow_line(runs: Sequence[StoredRun], flows: Sequence[metrics.Flow]) -> str:
    return "; ".join(
        f"{run_words(r)}: answer {f.answer}, "
        + number_of(int(metrics.essential(f.attention, range(f.place, f.place + 3)).sum()), "edge")
        + " on the essential path"
        for r, f in zip(runs, flows, strict=True)
    )


def _step_words(steps: set[Step] | frozenset[Step]) -> str:
    return listed([f"{source} → {query} in layer {layer}" for layer, source, query in sorted(steps)])


def route_text(phases: Sequence[Phase], flows: Sequence[Flow]) -> str:
    """Of each drawn example of two layers: is it the paper's route, and do cuts of this model say the same?"""
    lines = []
    for phase, flow in zip(phases, flows, strict=True):
        found, route = drawn_steps(flow), ROUTES[phase.mapping]
        missing, added = route - found, found - route
        said = f"- **{phase.title.capitalize()}: {'not ' * bool(missing or added)}the paper's route.**"
        if missing or added:
            said += f" Of the {len(route)} edges that the paper draws, {len(route & found)} "
            said += f"{'is' if len(route & found) == 1 else 'are'} on the essential path."
        if missing:
            said += f" Missing: {_step_words(missing)}."
        if added:
            said += f" Added: {_step_words(added)}."
        if lost := [role for role in ROLES[:3] if role not in brought(flow)]:
            said += (
                f" The path does not bring the {listed(lost)} to the last token, so it cannot be all that this model uses: the "
                f"rest runs along edges below the threshold of {ESSENTIAL:.0%}."
            )
        alone = Phase(phase.mapping, phase.depth, (phase.example,), phase.genuine)
        edges = needed(alone)[0]
        words = lambda steps: _step_words(steps) if steps else "none"
        said += f" Edges of the paper's route that this model needs: {words(edges & route)}."
        said += f" Edges that it needs beside them: {words(edges - route)}."
        lines.append(said)
    return "\n".join(lines)


def _cut(step: tuple[int, str]) -> str:
    return f"{step[1]} in layer {step[0]}"


def cuts_line(phases: Sequence[Phase]) -> str:
    return "largest mean cost of a cut: " + "; ".join(f"{p.title} {_largest(p)}" for p in phases)


def _largest(phase: Phase) -> str:
    mean = drops(phase).mean(0)
    layer, edge = np.unravel_index(mean.argmax(), mean.shape)
    return f"{mean.max():.2f} ({list(EDGES)[edge]} in layer {layer + 1})"


def cuts_text(phases: Sequence[Phase], every: Sequence[Phase] = ()) -> str:
    """Phase by phase: which classes of edges its runs depend on, and how far picture and cause agree in `every` phase, these
    and deeper ones; without it in these."""
    lines = []
    for phase in phases:
        lose = (drops(phase) >= EFFECT).mean(0)
        where = lambda which: listed([_cut((int(layer) + 1, list(EDGES)[edge])) for layer, edge in np.argwhere(which)])
        parts = [
            f"{who} on {where(which)}"
            for who, which in (
                ("all runs depend", lose == 1),
                ("most", (lose > 0.5) & (lose < 1)),
                ("some", (lose >= SOME) & (lose <= 0.5)),
            )
            if which.any()
        ]
        said = "; ".join(parts) or "no class of edges matters to many runs"
        if parts and "depend" not in said:
            said = said.replace(" on ", " depend on ", 1)
        lines.append(f"- **{sentence(phase.title)}** ({number_of(len(phase.runs))}): {said}.")
    counts = {m: np.sum([agreement(p) for p in every or phases if p.mapping == m] or [(0, 0, 0)], axis=0) for m in ROUTES}
    both, picture, causal = sum(counts.values())
    each = [f"{b} of {b + p} in {m} runs" for m, (b, p, _) in counts.items() if b + p]
    lines.append(
        f"\n{'**A picture is not a cause.** ' if picture + causal else ''}Over all runs of the table, of every depth, and "
        f"their layers, {both + picture} classes are drawn, of which {both} are causal ({' and '.join(each)}); of "
        f"{both + causal} causal ones, "
        f"{causal} {'is' if causal == 1 else 'are'} not drawn."
    )
    return "\n".join(lines)


SOME = 0.25
"""Some runs depend on a class of edges from this share of them on (our choice)."""


def mixture_text(phases: Sequence[Phase]) -> str:
    """Do inferential models of two layers also merge the anchors in the last token, as symmetric ones do?"""
    phase = next((p for p in phases if p.mapping == "inferential" and p.depth == 2), None)
    if phase is None or not phase.genuine:
        return "No two-layer run is inferential enough to be asked."
    cost = drops(phase)[:, 0, list(EDGES).index("anchors → last")]
    seen = cuts_of(phase).whole["test"] - cuts_of(phase).after["test"][:, 1, list(EDGES).index("key → last")]
    n = len(phase.runs)
    needs, loses = cost >= EFFECT, seen >= EFFECT
    first, second = "the first of them for the answer to (4, 3)", "the second for the seen pairs"
    if n > 1:
        count = f"{needs.sum()} depend{'s' * int(needs.sum() == 1)} on {first}, {loses.sum()} on {second}"
        whole = f"Of {n} inferential runs, {count} and {(needs & loses).sum()} on both."
    else:
        does = lambda yes: "depends" if yes else "does not depend"
        whole = f"The only inferential run {does(needs[0])} on {first}, and {does(loses[0])} on {second}."
    return (
        f"**Are two-layer inferential models pure?** {'No.' if (needs | loses).any() else 'Yes.'} The symmetric route has two "
        f"steps, anchors → last in the first layer and key → last in the second. {whole}"
    )


def _moved(run: StoredRun) -> bool:
    """Does each anchor's difference act from the last token, before the last layer?"""
    return all(_acts(run, anchor, "last") >= 0.5 for anchor in ROLES[1:3])


def _stays(run: StoredRun) -> bool:
    """Does each anchor's difference act more from its own place than from the last token, before the last layer?"""
    return all(_acts(run, anchor, anchor) > _acts(run, anchor, "last") for anchor in ROLES[1:3])


def _acts(run: StoredRun, what: str, role: str) -> float:
    """How often a patch at a role before the last layer gives the answer of the question that differs in `what`."""
    return float(metrics.patch_effects(run)[what][-1, ROLES.index(role)])


def patch_text(phases: Sequence[Phase], patches: dict[str, dict[str, np.ndarray]]) -> str:
    """Where the difference of each anchor sits before the last layer, counted over runs, and that of the key, in their mean."""
    lines = []
    for mapping, does, what in (
        ("symmetric", _moved, "the difference between two anchors has moved to the last token"),
        ("inferential", _stays, "each anchor's difference acts more from its own place than from the last token"),
    ):
        asked = [p for p in phases if p.mapping == mapping]
        if asked:
            counts = [sum(map(does, p.runs)) for p in asked]
            each = [f"{k} of {number_of(len(p.runs))} ({p.title})" for k, p in zip(counts, asked, strict=True)]
            every = sum(counts) == sum(len(p.runs) for p in asked)
            where = "." if every else f" in {listed(each)}." if any(counts) else " in none."
            lines.append(f"- Before the last layer of {mapping} models {what}{where}")
    own = [p for p in phases if patches[p.title]["key"][-1, ROLES.index("key")] >= 0.5]
    if own:
        lines.append(f"- The key still acts mostly from its own place: {listed([p.title for p in own])}.")
    if any(p.mapping == "inferential" for p in own):
        lines[-1] += " For an inferential model that is not the paper's route, at least for seen pairs."
    return "\n".join(lines)


def patch_line(patches: dict[str, dict[str, np.ndarray]]) -> str:
    last = lambda v: ", ".join(f"{role} {x:.2f}" for role, x in zip(ROLES, v[-1], strict=True))
    return "; ".join(
        f"{title}, before the last layer, other first anchor: {last(p['first anchor'])}" for title, p in patches.items()
    )


def routes(phases: Sequence[Phase]) -> str:
    """Do models read as the paper draws them, by what cuts cost?"""
    found = {(p.mapping, p.depth): p for p in phases if p.genuine}
    parts = []
    symmetric, inferential = found.get(("symmetric", 2)), found.get(("inferential", 2))
    if symmetric is not None:
        own, other, gathered = (takes(symmetric, r) for r in (ROUTES["symmetric"], ROUTES["inferential"], GATHERED))
        does = lambda which, verb: f"{which.sum()}{_up_to(symmetric, which)} {verb}{'s' * int(which.sum() == 1)}"
        said = (
            f"{own.sum()} of {number_of(len(own), 'symmetric run')} of two layers need{'s' * int(own.sum() == 1)} every edge "
        )
        said += "of the route that the paper draws"
        crossed, met = other & ~own, gathered & ~own & ~other
        if crossed.any():
            said += f"; {does(crossed, 'need')} the inferential route instead"
        if met.any():
            said += f"; {does(met, 'gather')} key and first anchor at the second anchor"
        parts.append(said)
    if inferential is not None:
        route, n = ROUTES["inferential"], len(inferential.runs)
        if n > 1:
            whole = int(takes(inferential, route).sum())
            parts.append(f"{whole} of {n} inferential runs need{'s' * (whole == 1)} every edge of theirs")
        else:
            kept = len(route & needed(inferential)[0])
            parts.append(f"the only inferential one needs {kept} of the {len(route)} edges of its route")
    said = f"**By what cuts cost, {'; '.join(parts)}.**" if parts else ""
    deep = [run for (mapping, depth), p in found.items() if mapping == "inferential" and depth > 2 for run in drops(p)]
    if deep:
        right = sum(map(composes_in_order, deep))
        said += (
            f" In {right} of {number_of(len(deep), 'inferential run')} of three layers and more, the key reaches the anchors "
            "first and the anchors the last token in a later layer."
        )
    return said.strip() or "No run is decided enough for a verdict."


def _route_words(mapping: str, edges: set[Step]) -> str:
    """What a run needs that does not need all of its mapping's route."""
    other = next(m for m in ROUTES if m != mapping)
    if ROUTES[other] <= edges:
        return f"the {other} route"
    if edges >= GATHERED:
        return "key and first anchor gathered at the second anchor"
    return f"{'only ' * (edges < ROUTES[mapping])}{_step_words(edges)}" if edges else "no single edge"


def _up_to(phase: Phase, which: np.ndarray) -> str:
    return f", at γ ≤ {max(run.spec.gamma for run, yes in zip(phase.runs, which, strict=True) if yes):g},"


def taken_away(phases: Sequence[Phase]) -> str:
    """What the answer does not say: where each route holds, and what else it takes."""
    found = {(p.mapping, p.depth): p for p in phases if p.genuine}
    lines = []
    for mapping in ROUTES:
        if (phase := found.get((mapping, 2))) is None:
            lines.append(f"- **{sentence(mapping)}**: no run of two layers is decided enough.")
            continue
        n, whole = len(phase.runs), int(takes(phase, ROUTES[mapping]).sum())
        line = f"- **{sentence(mapping)}, two layers**: {whole} of {number_of(n)} need{'s' * (whole == 1)} every edge of the "
        line += "paper's route"
        if rest := [edges for edges in needed(phase) if not ROUTES[mapping] <= edges]:
            count = Counter(_route_words(mapping, edges) for edges in rest)
            line += "; the others need " + "; ".join(f"{words} ({number_of(k)})" for words, k in count.most_common())
        line += "."
        if beside := off_route(phase):
            line += f" On average it also costs much to cut {listed([_cut(step) for step in beside])}."
        lines.append(line)
    return "\n".join(lines)
