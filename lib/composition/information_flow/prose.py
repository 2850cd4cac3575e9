"""Chapter 3, information flow: what is computed over runs, the lines that regression tests compare, and computed prose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from lib.composition.information_flow import numbers as mechanism
from lib.composition.information_flow.numbers import EDGES, ROLES, Cuts, Flow, model_of
from lib.composition.phases import LEVEL, Phase
from lib.composition.runs import offsets_by_key
from lib.composition.study import LOW_KEYS
from lib.composition.task import FIRST_KEY, HELD_OUT, INFERENTIAL_OFFSET, LENGTH, PAIRS, Task
from lib.core.measures import remembered, spread
from lib.core.model import Taps
from lib.core.store import StoredRun

EFFECT = 0.3
"""A class of edges matters causally where cutting it costs at least this much of an accuracy (our choice)."""
ORDERED = tuple(pair for pair in PAIRS if pair[0] != pair[1])
"""The 12 ordered pairs of different anchors, as in the follow-up's map of states."""
Step = tuple[int, str, str]
"""An edge by its roles: layer, from 1, the role that is read, and the role that reads it."""
ROUTES: dict[str, frozenset[Step]] = {
    "symmetric": frozenset({(1, "first anchor", "last"), (1, "second anchor", "last"), (2, "key", "last")}),
    "inferential": frozenset(
        {(1, "key", "first anchor"), (1, "key", "second anchor"), (2, "first anchor", "last"), (2, "second anchor", "last")}
    ),
}
"""The routes through two layers that the paper draws (Zhang et al. 2024, Fig. 3a, c)."""


@remembered
def _cuts(run: StoredRun) -> Cuts:
    return mechanism.cut_effects([run])


def cuts_of(phase: Phase) -> Cuts:
    """The effect of every cut on the runs of a phase."""
    parts = [_cuts(run) for run in phase.runs]
    join = lambda dicts: {name: np.concatenate([d[name] for d in dicts]) for name in dicts[0]}
    return Cuts(join([p.whole for p in parts]), join([p.after for p in parts]))


def drops(phase: Phase) -> np.ndarray:
    """(runs, layers, classes): how much of the phase's own accuracy a cut costs."""
    cuts = cuts_of(phase)
    return cuts.whole[phase.mapping][:, None, None] - cuts.after[phase.mapping]


@remembered
def drawn(run: StoredRun) -> np.ndarray:
    """(layers, classes): on what share of 45 questions about (4, 3) a class has an edge on the essential path."""
    keys, places = range(25, 100, 5), (1, 3, 5)
    task, taps = Task(), Taps()
    key = torch.tensor([k for k in keys for _ in places])
    place = torch.tensor([p for _ in keys for p in places])
    batch = task.questions(key, place, torch.full_like(key, task.number(HELD_OUT)), 3)
    model_of(run)(batch.tokens[None], taps)
    found = np.zeros((run.spec.model.depth, len(EDGES)))
    for i in range(len(key)):
        layers = [taps[f"attention.{layer}"][0, i].mean(0).numpy() for layer in range(1, run.spec.model.depth + 1)]
        p = int(place[i])
        edges = np.argwhere(mechanism.essential(np.stack(layers), range(p, p + 3)))
        seen = {(layer, mechanism.edge_class(query, source, p)) for layer, query, source in edges.tolist()}
        for layer, name in seen:
            if name is not None:
                found[layer, list(EDGES).index(name)] += 1
    return found / len(key)


def agreement(phase: Phase) -> tuple[int, int, int]:
    """Over runs, layers and classes: (drawn and causal, drawn only, causal only). Drawn: on the essential path of more than
    half of the questions. Causal: cutting it costs EFFECT."""
    picture = np.stack([drawn(run) for run in phase.runs]) > 0.5
    causal = drops(phase) >= EFFECT
    return int((picture & causal).sum()), int((picture & ~causal).sum()), int((causal & ~picture).sum())


def drawn_steps(flow: Flow) -> set[Step]:
    """The essential path of one question, its tokens named by their roles; a token without one is noise."""
    role = {flow.place + i: name for i, name in enumerate(ROLES[:3])} | {LENGTH - 1: "last"}
    edges = np.argwhere(mechanism.essential(flow.attention, range(flow.place, flow.place + 3)))
    return {(layer + 1, role.get(source, "noise"), role.get(query, "noise")) for layer, query, source in edges.tolist()}


def _class_of(step: Step) -> tuple[int, str] | None:
    """The layer and the class in EDGES of a step; None for one that belongs to no class."""
    layer, source, query = step
    return next(((layer, name) for name, (sources, queries) in EDGES.items() if source in sources and query in queries), None)


def off_route(phase: Phase) -> dict[tuple[int, str], float]:
    """{(layer, class): mean cost} of the cuts that cost EFFECT though the paper's route has no edge of that class."""
    mean, route = drops(phase).mean(0), {_class_of(step) for step in ROUTES[phase.mapping]}
    costly = [(int(layer) + 1, list(EDGES)[edge]) for layer, edge in np.argwhere(mean >= EFFECT)]
    return {
        (layer, name): float(mean[layer - 1, list(EDGES).index(name)]) for layer, name in costly if (layer, name) not in route
    }


def composes_in_order(cost: np.ndarray) -> bool:
    """Do cuts, (layers, classes), say that key → anchors is needed in some layer and anchors → last in a later one?"""
    first, second = (np.flatnonzero(cost[:, list(EDGES).index(name)] >= EFFECT) for name in ("key → anchors", "anchors → last"))
    return bool(len(first) and len(second) and first.min() < second.max())


def mean_patch(phase: Phase) -> dict[str, np.ndarray]:
    """{what differs: (layers, roles)}, the mean of patch_effects over the runs of a phase."""
    effects = [mechanism.patch_effects(run) for run in phase.runs]
    return {what: np.nanmean([e[what] for e in effects], axis=0) for what in effects[0]}


def states(run: StoredRun, each: int = 60, name: str = "X_ao.1", seed: int = 5) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """(n, D) vectors of the last token for `each` sequences of every ordered pair, first anchor at index 2, and their pairs."""
    task, taps = Task(), Taps()
    generator = torch.Generator().manual_seed(seed)
    key = torch.randint(20, 100, (each * len(ORDERED),), generator=generator)
    pair = torch.tensor([task.number(p) for p in ORDERED]).repeat_interleave(each)
    batch = task.questions(key, torch.ones_like(key), pair, seed)
    model_of(run)(batch.tokens[None], taps)
    return taps[name][0, :, LENGTH - 1].numpy(), [p for p in ORDERED for _ in range(each)]


def mirror_ratio(points: np.ndarray, pairs: Sequence[tuple[int, int]]) -> float:
    """Mean distance of the centres of mirror images, (a, b) and (b, a), over that of other pairs: 0 if a state forgets the
    order of its anchors, about 1 if order counts as much as which anchors they are."""
    names = sorted(set(pairs))
    centre = {p: points[[q == p for q in pairs]].mean(0) for p in names}
    distance = lambda p, q: float(np.linalg.norm(centre[p] - centre[q]))
    mirrored = [distance(p, p[::-1]) for p in names if p < p[::-1]]
    others = [distance(p, q) for p in names for q in names if p < q and q != p[::-1]]
    return float(np.mean(mirrored) / np.mean(others))


@remembered
def forgets_order(run: StoredRun) -> float:
    """The mirror_ratio of a run's states."""
    return mirror_ratio(*states(run))


def tsne(points: np.ndarray, perplexity: float = 12.0) -> np.ndarray:
    """(n, 2) t-SNE map from a PCA start, so that it is the same each time; perplexity as in the authors' code."""
    from sklearn.manifold import TSNE

    return TSNE(perplexity=min(perplexity, (len(points) - 1) / 3), init="pca", random_state=0, n_jobs=1).fit_transform(points)


# --- Lines and prose ---


def material_text(phases: Sequence[Phase]) -> str:
    rows = [
        f"| {p.title} | {len(p.runs)} | {', '.join(sorted({f'{r.spec.gamma:g}' for r in p.runs}))} | "
        + (
            f"{np.mean([r.metrics[p.mapping] for r in p.runs]):.2f} |"
            if p.genuine
            else "none reaches the level: the clearest run |"
        )
        for p in phases
    ]
    head = "| phase | runs | γ | mean share of its answer |\n|---|---|---|---|\n"
    return f"Runs with stored weights in which one answer has at least {LEVEL:.0%}:\n\n" + head + "\n".join(rows)


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


def run_words(run: StoredRun) -> str:
    s = run.spec
    return f"γ = {s.gamma:g}, depth {s.model.depth}, width {s.model.d_model}, seed {s.seed}, rate {s.rate:g}"


def flow_line(runs: Sequence[StoredRun], flows: Sequence[mechanism.Flow]) -> str:
    return "; ".join(
        f"{run_words(r)}: answer {f.answer}, {int(mechanism.essential(f.attention, range(f.place, f.place + 3)).sum())} edges "
        "on the essential path"
        for r, f in zip(runs, flows, strict=True)
    )


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


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
        costs = off_route(Phase(phase.mapping, phase.depth, (phase.example,), phase.genuine))
        words = [f"{name} in layer {layer} ({cost:.2f})" for (layer, name), cost in costs.items()]
        said += f" Cuts that cost this model much though they spare the paper's route: {listed(words) if words else 'none'}."
        lines.append(said)
    return "\n".join(lines)


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
        costly = [
            f"{list(EDGES)[e]} in layer {layer + 1} ({spread(cost[:, layer, e])})" for layer, e in np.argwhere(mean >= EFFECT)
        ]
        both, picture, causal = agreement(phase)
        lines.append(
            f"- **{phase.title}** ({len(phase.runs)} run{'s' * (len(phase.runs) > 1)}): its answer depends on "
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
    """Where the difference of one anchor sits before the last layer: at that anchor, or already in the last token?"""
    rows = []
    for phase in phases:
        last = {what: values[-1] for what, values in patches[phase.title].items()}
        cells = [f"{last[what][ROLES.index(role)]:.2f}" for what in ROLES[1:3] for role in (what, "last")]
        rows.append(f"| {phase.title} | " + " | ".join(cells) + " |")
    head = "| before the last layer | first anchor: own place | last token | second anchor: own place | last token |\n"
    return head + "|---|---|---|---|---|\n" + "\n".join(rows)


def patch_line(patches: dict[str, dict[str, np.ndarray]]) -> str:
    last = lambda v: ", ".join(f"{role} {x:.2f}" for role, x in zip(ROLES, v[-1], strict=True))
    return "; ".join(
        f"{title}, before the last layer, other first anchor: {last(p['first anchor'])}" for title, p in patches.items()
    )
