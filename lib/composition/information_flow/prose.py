"""What chapter 3 says of its numbers: routes, cuts, patches and their verdict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.composition.information_flow import numbers
from lib.composition.information_flow.numbers import (
    EDGES,
    EFFECT,
    ESSENTIAL,
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
    needing,
    off_route,
    on_route,
)
from lib.composition.phases import Phase
from lib.composition.runs import offsets_by_key
from lib.composition.study import LOW_KEYS
from lib.composition.task import FIRST_KEY, INFERENTIAL_OFFSET
from lib.composition.words import run_words
from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.read.words import listed, number_of
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


def flow_line(runs: Sequence[StoredRun], flows: Sequence[numbers.Flow]) -> str:
    return "; ".join(
        f"{run_words(r)}: answer {f.answer}, "
        + number_of(int(numbers.essential(f.attention, range(f.place, f.place + 3)).sum()), "edge")
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
            said += f" Of the {len(route)} edges that the paper draws, {len(route & found)} are on the essential path."
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
        words = lambda costs: listed([_cost(step, cost) for step, cost in costs.items()]) if costs else "none"
        on = {step: cost for step, cost in on_route(alone).items() if cost >= EFFECT}
        said += f" Cuts of the paper's route that cost this model much: {words(on)}."
        said += f" Cuts that cost it much though they spare that route: {words(off_route(alone))}."
        lines.append(said)
    return "\n".join(lines)


def _cost(step: tuple[int, str], cost: float) -> str:
    return f"{step[1]} in layer {step[0]} ({cost:.2f})"


def cuts_line(phases: Sequence[Phase]) -> str:
    return "largest mean cost of a cut: " + "; ".join(f"{p.title} {_largest(p)}" for p in phases)


def _largest(phase: Phase) -> str:
    mean = drops(phase).mean(0)
    layer, edge = np.unravel_index(mean.argmax(), mean.shape)
    return f"{mean.max():.2f} ({list(EDGES)[edge]} in layer {layer + 1})"


def cuts_text(phases: Sequence[Phase]) -> str:
    """Phase by phase: which cuts cost EFFECT on average, and how far picture and cause agree."""
    lines = []
    for phase in phases:
        cost = drops(phase)
        mean = cost.mean(0)
        n = len(phase.runs)
        costly = [
            f"{list(EDGES)[e]} in layer {layer + 1} ({spread(cost[:, layer, e])}; {(cost[:, layer, e] >= EFFECT).sum()} of {n})"
            for layer, e in np.argwhere(mean >= EFFECT)
        ]
        both, picture, causal = agreement(phase)
        lines.append(
            f"- **{phase.title}** ({number_of(n)}): its answer depends on "
            + ("; ".join(costly) or "no single class of edges")
            + f". Of the classes drawn or causal in a run, {both} are both, {picture} only drawn, {causal} only causal."
        )
    return "\n".join(lines)


def mixture_text(phases: Sequence[Phase]) -> str:
    """Do inferential models of two layers also merge the anchors in the last token, as symmetric ones do?"""
    phase = next((p for p in phases if p.mapping == "inferential" and p.depth == 2), None)
    if phase is None or not phase.genuine:
        return "No two-layer run is inferential enough to be asked."
    cost = drops(phase)[:, 0, list(EDGES).index("anchors → last")]
    seen = cuts_of(phase).whole["test"] - cuts_of(phase).after["test"][:, 1, list(EDGES).index("key → last")]
    n = len(phase.runs)
    needs, loses = cost >= EFFECT, seen >= EFFECT
    return (
        "**Are two-layer inferential models pure?** The symmetric route has two steps, anchors → last in the first layer and "
        f"key → last in the second. Of {n} inferential run{'s' * (n != 1)}, {needs.sum()} "
        f"depend{'s' * int(needs.sum() == 1)} on the first of them for the answer to (4, 3) (cost {spread(cost)}), and "
        f"{loses.sum()} on the second for the seen pairs (cost {spread(seen)}); {(needs & loses).sum()} on both."
    )


def patch_text(phases: Sequence[Phase], patches: dict[str, dict[str, np.ndarray]]) -> str:
    """Where the difference of the key, and of each anchor, sits before the last layer: at home, elsewhere, or in the last
    token?"""
    shown = {"key": ROLES, "first anchor": ("first anchor", "last"), "second anchor": ("second anchor", "last")}
    rows = []
    for phase in phases:
        last = {what: values[-1] for what, values in patches[phase.title].items()}
        cells = [f"{last[what][ROLES.index(role)]:.2f}" for what, roles in shown.items() for role in roles]
        rows.append((phase.title, *cells))
    names = [
        f"{what}: {'own place' if role == what else f'{role} token' if role == 'last' else role}"
        for what, roles in shown.items()
        for role in roles
    ]
    own = [(p, float(patches[p.title]["key"][-1, ROLES.index("key")])) for p in phases]
    stay = [f"{p.title} ({value:.2f})" for p, value in own if value >= 0.5]
    said = f"Before the last layer the key still acts mostly from its own place: {listed(stay)}." if stay else ""
    if any(p.mapping == "inferential" for p, value in own if value >= 0.5):
        said += " For an inferential model that is not the paper's route, at least for seen pairs."
    return table(("before the last layer", *names), rows) + (f"\n\n{said}" if said else "")


def patch_line(patches: dict[str, dict[str, np.ndarray]]) -> str:
    last = lambda v: ", ".join(f"{role} {x:.2f}" for role, x in zip(ROLES, v[-1], strict=True))
    return "; ".join(
        f"{title}, before the last layer, other first anchor: {last(p['first anchor'])}" for title, p in patches.items()
    )


def routes(phases: Sequence[Phase]) -> str:
    """Do models read as the paper draws them, by what cuts cost?"""
    found = {(p.mapping, p.depth): p for p in phases if p.genuine}
    bracketed = lambda phase, costs: listed(
        [
            f"{name} in layer {layer} ({cost:.2f}; {needing(phase, layer, name)} of {len(phase.runs)})"
            for (layer, name), cost in costs.items()
        ]
    )
    parts = []
    symmetric, inferential = found.get(("symmetric", 2)), found.get(("inferential", 2))
    if symmetric is not None:
        route = on_route(symmetric)
        reads = min(route.values()) >= EFFECT
        parts.append(
            f"**Symmetric models of two layers {'read' if reads else 'do not read'} as the paper draws them**: cuts of "
            f"that route cost {bracketed(symmetric, route)}."
        )
    if inferential is not None:
        on, off = on_route(inferential), off_route(inferential)
        spared = {step: cost for step, cost in on.items() if cost < EFFECT}
        if spared:
            said = f"**Inferential ones do not need all of the paper's route**: cheap cuts are {bracketed(inferential, spared)}"
            also = f"; they need {bracketed(inferential, off)} beside it" if off else ""
        else:
            said = f"**Inferential ones use {'more' if off else 'no more'} than the paper's route**"
            also = f": they also need {bracketed(inferential, off)}" if off else ""
        parts.append(f"{said}{also}.")
    if parts:
        parts.append(f"In brackets stand the mean cost, as a share of all answers, and how many runs lose {EFFECT:g} or more.")
    deep = [run for (mapping, depth), p in found.items() if mapping == "inferential" and depth > 2 for run in drops(p)]
    if deep:
        right = sum(map(composes_in_order, deep))
        parts.append(
            f"In {right} of {number_of(len(deep), 'inferential run')} of three layers and more, the key reaches the anchors "
            "first and the anchors the last token in a later layer."
        )
    return " ".join(parts) or "No run is decided enough for a verdict."
