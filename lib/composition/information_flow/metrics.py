"""How trained models move information: attention flow, cuts of its edges, patches of its activations, states.

Everything here reads stored models and asks them questions; nothing trains. A question stands at one of the places 0 … 5, so
that the key, the two anchors and the last position are four different positions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from lib.composition.phases import Phase
from lib.composition.runs import model_of
from lib.composition.task import FIRST_KEY, HELD_OUT, INFERENTIAL_OFFSET, LAST_KEY, LENGTH, PAIRS, SYMMETRIC_OFFSET, Batch, Task
from lib.core.model.transformer import Edit, Taps, Transformer
from lib.core.read.derived import derived
from lib.core.record.spec import SpecError
from lib.core.record.store import StoredRun

ROLES = ("key", "first anchor", "second anchor", "last")
EDGES = {
    "key → anchors": (("key",), ("first anchor", "second anchor")),
    "anchor → anchor": (("first anchor",), ("second anchor",)),
    "key → last": (("key",), ("last",)),
    "anchors → last": (("first anchor", "second anchor"), ("last",)),
    "noise → last": (("noise",), ("last",)),
}
"""Classes of attention edges: which positions are read (sources) by which (queries)."""
ESSENTIAL = 0.15
"""An edge that carries less than this share of its query's attention is never part of the essential path (our choice)."""
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
GATHERED: frozenset[Step] = frozenset(
    {(1, "key", "second anchor"), (1, "first anchor", "second anchor"), (2, "second anchor", "last")}
)
"""A third route, not drawn in the paper: key and first anchor meet at the second anchor, which goes to the last token."""
EDGE_ROLES = tuple((source, query) for i, source in enumerate(ROLES) for query in ROLES[i + 1 :])
"""Every edge between tokens with a role: (source, query)."""


def role_positions(place: Tensor) -> dict[str, Tensor]:
    """(B, 9) bool for each role: where it stands in sequences whose keys stand at `place` (B,). Noise is what has no role."""
    column = torch.arange(LENGTH)
    ahead = column - place[:, None]
    roles = {name: ahead == i for i, name in enumerate(ROLES[:3])}
    roles["last"] = (column == LENGTH - 1).expand_as(ahead)
    roles["noise"] = ~torch.stack(list(roles.values())).any(0)
    return roles


def inner_questions(pair: tuple[int, int] = HELD_OUT, seed: int = 1) -> Batch:
    """One pair with every key at the places 0 … 5: (480,) questions, whose roles are four different positions."""
    task = Task()
    key, place = torch.meshgrid(torch.arange(FIRST_KEY, LAST_KEY + 1), torch.arange(LENGTH - 3), indexing="ij")
    return task.questions(key.flatten(), place.flatten(), torch.full((key.numel(),), task.number(pair)), seed)


def seen_questions(seed: int = 1) -> Batch:
    """Held-out (key, place) of the seen pairs, places 0 … 5."""
    batch = Task().test_rows(seed)
    return _some(batch, batch.place < LENGTH - 3)


def _some(batch: Batch, which: Tensor) -> Batch:
    return Batch(*(getattr(batch, field.name)[which] for field in fields(batch)))


# --- Flow ---


@dataclass(frozen=True)
class Flow:
    """One input's way through a model. attention: (layers, queries, sources), the mean over heads; tokens: (9,)."""

    tokens: np.ndarray
    place: int
    attention: np.ndarray
    answer: int


def check_question(key: int, place: int) -> None:
    """Raise SpecError unless there is a question with this key at this place whose roles are four different positions."""
    for name, value, low, high in (("key", key, FIRST_KEY, LAST_KEY), ("place", place, 0, LENGTH - 4)):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise SpecError(f"{name} must be an integer from {low} to {high}, got {value!r}.")


def flow(run: StoredRun, key: int = 99, place: int = 2, pair: tuple[int, int] = HELD_OUT, seed: int = 0) -> Flow:
    """The attention of a model on one question (Fig. 3a, c of Zhang et al. 2024: key 99, pair (4, 3))."""
    task, taps = Task(), Taps()
    batch = task.questions(torch.tensor([key]), torch.tensor([place]), torch.tensor([task.number(pair)]), seed)
    answer = model_of(run)(batch.tokens[None], taps)[0, 0].argmax()
    layers = [taps[f"attention.{layer}"][0, 0].mean(0) for layer in range(1, run.spec.model.depth + 1)]
    return Flow(batch.tokens[0].numpy(), place, torch.stack(layers).numpy(), int(answer))


def essential(attention: np.ndarray, sources: Sequence[int], threshold: float = ESSENTIAL) -> np.ndarray:
    """The essential path, by rule: which edges (layers, queries, sources) bring the source tokens to the last position.

    An edge of layer l from token j to token k belongs to it if it carries at least `threshold` of k's attention, some source
    has reached j below it, and from k there is a way on to the last position at the top. Ways go along such edges and
    straight up the residual stream. An edge from a token to itself is no way of its own.
    """
    layers, n, _ = attention.shape
    strong = (attention >= threshold) & ~np.eye(n, dtype=bool)
    reached = np.zeros((layers + 1, n), dtype=bool)
    reached[0, list(sources)] = True
    for layer in range(layers):
        reached[layer + 1] = reached[layer] | (strong[layer] & reached[layer]).any(1)
    wanted = np.zeros((layers + 1, n), dtype=bool)
    wanted[layers, -1] = True
    for layer in reversed(range(layers)):
        wanted[layer] = wanted[layer + 1] | (strong[layer] & wanted[layer + 1][:, None]).any(0)
    return np.stack([strong[i] & reached[i] & wanted[i + 1][:, None] for i in range(layers)])


def edge_class(query: int, source: int, place: int) -> str | None:
    """The class in EDGES of an edge of a question at `place`; None for the others."""
    roles = role_positions(torch.tensor([place]))
    where = {name: bool(mask[0, source]) for name, mask in roles.items()}
    to = {name: bool(mask[0, query]) for name, mask in roles.items()}
    return next((c for c, (s, q) in EDGES.items() if any(where[r] for r in s) and any(to[r] for r in q)), None)


def drawn_steps(flow: Flow) -> set[Step]:
    """The essential path of one question, its tokens named by their roles; a token without one is noise."""
    role = {flow.place + i: name for i, name in enumerate(ROLES[:3])} | {LENGTH - 1: "last"}
    edges = np.argwhere(essential(flow.attention, range(flow.place, flow.place + 3)))
    return {(layer + 1, role.get(source, "noise"), role.get(query, "noise")) for layer, query, source in edges.tolist()}


def brought(flow: Flow) -> list[str]:
    """Which of the key and the anchors the essential path of one question brings to the last token."""
    return [role for i, role in enumerate(ROLES[:3]) if essential(flow.attention, [flow.place + i]).any()]


# --- Cuts ---


def cut(place: Tensor, edges: str) -> Edit:
    """An edit of attention scores (R, B, H, N, N) that forbids one class of edges; what is left is renormalized.

    place: (B,). Raises KeyError for an unknown class.
    """
    return _without(place, *EDGES[edges])


def _without(place: Tensor, sources: Sequence[str], queries: Sequence[str]) -> Edit:
    """The edit that forbids the edges from positions of some roles to positions of others."""
    roles = role_positions(place)
    source = torch.stack([roles[r] for r in sources]).any(0)
    query = torch.stack([roles[r] for r in queries]).any(0)
    forbidden = query[:, :, None] & source[:, None, :]
    forbidden &= torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril(-1)  # never from itself: something must be left
    return lambda scores: scores.masked_fill(forbidden[None, :, None], float("-inf"))


def answers(model: Transformer, tokens: Tensor, edits: dict[str, Edit] | None = None) -> Tensor:
    """(B,) answers to tokens (B, N), with intermediates edited."""
    return model(tokens[None], Taps(edits) if edits else None)[0].argmax(-1)


@functools.cache
def _asked() -> tuple[Batch, Batch]:
    """Half of the questions of either kind, seen pairs and (4, 3): those whose key and place add up to an even number."""
    seen, held = seen_questions(), inner_questions()
    return _some(seen, (seen.key + seen.place) % 2 == 0), _some(held, (held.key + held.place) % 2 == 0)


def shares(model: Transformer, edits_for: Callable[[Tensor], dict[str, Edit]] | None = None) -> dict[str, float]:
    """Share of right answers to seen pairs and of both answers to (4, 3). edits_for: places (B,) → edits."""
    seen, held = _asked()
    tokens, place = torch.cat([seen.tokens, held.tokens]), torch.cat([seen.place, held.place])
    given = answers(model, tokens, edits_for(place) if edits_for else None)
    right, offset = given[: len(seen.key)] == seen.target, given[len(seen.key) :] - held.key
    return {
        "test": right.float().mean().item(),
        "symmetric": (offset == SYMMETRIC_OFFSET).float().mean().item(),
        "inferential": (offset == INFERENTIAL_OFFSET).float().mean().item(),
    }


@dataclass(frozen=True)
class Cuts:
    """What is left of the accuracies of runs of one depth when edges are cut.

    whole: {metric: (runs,)}; after: {metric: (runs, layers, classes)}, classes in the order of EDGES.
    """

    whole: dict[str, np.ndarray]
    after: dict[str, np.ndarray]


def cut_effects(runs: Sequence[StoredRun]) -> Cuts:
    """Cut each class of edges in each layer alone. Raises ValueError unless all runs have one depth."""
    depths = {run.spec.model.depth for run in runs}
    if len(depths) != 1:
        raise ValueError(f"runs of one depth are needed, got depths {sorted(depths)}.")
    names, layers = ("test", "symmetric", "inferential"), range(1, depths.pop() + 1)
    whole, after = {n: [] for n in names}, {n: [] for n in names}
    for run in runs:
        model = model_of(run)
        base = shares(model)
        table = [[shares(model, lambda p, c=c, s=s: {f"scores.{s}": cut(p, c)}) for c in EDGES] for s in layers]
        for name in names:
            whole[name].append(base[name])
            after[name].append([[cell[name] for cell in row] for row in table])
    return Cuts({n: np.array(v) for n, v in whole.items()}, {n: np.array(v) for n, v in after.items()})


@derived(version=1)
def _cut_tables(run: StoredRun) -> dict[str, np.ndarray]:
    """The two parts of the run's Cuts, by names such as whole.test."""
    cuts = cut_effects([run])
    return {f"{part}.{name}": v for part in ("whole", "after") for name, v in getattr(cuts, part).items()}


def _cuts(run: StoredRun) -> Cuts:
    found = _cut_tables(run)
    part = lambda prefix: {name.removeprefix(prefix): v for name, v in found.items() if name.startswith(prefix)}
    return Cuts(part("whole."), part("after."))


def cuts_of(phase: Phase) -> Cuts:
    """The effect of every cut on the runs of a phase."""
    parts = [_cuts(run) for run in phase.runs]
    join = lambda dicts: {name: np.concatenate([d[name] for d in dicts]) for name in dicts[0]}
    return Cuts(join([p.whole for p in parts]), join([p.after for p in parts]))


def drops(phase: Phase) -> np.ndarray:
    """(runs, layers, classes): how much of the phase's own accuracy a cut costs."""
    cuts = cuts_of(phase)
    return cuts.whole[phase.mapping][:, None, None] - cuts.after[phase.mapping]


@derived(version=1)
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
        edges = np.argwhere(essential(np.stack(layers), range(p, p + 3)))
        seen = {(layer, edge_class(query, source, p)) for layer, query, source in edges.tolist()}
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


@derived(version=1)
def _edge_tables(run: StoredRun) -> dict[str, np.ndarray]:
    """{metric: (layers, EDGE_ROLES)}: what is left of the run's accuracies when one edge of one layer is cut."""
    model = model_of(run)
    layers = range(1, run.spec.model.depth + 1)
    table = [
        [shares(model, lambda p, e=e, s=s: {f"scores.{s}": _without(p, e[:1], e[1:])}) for e in EDGE_ROLES] for s in layers
    ]
    return {name: np.array([[cell[name] for cell in row] for row in table]) for name in table[0][0]}


def edge_drops(phase: Phase) -> np.ndarray:
    """(runs, layers, EDGE_ROLES): how much of the phase's own accuracy it costs to cut one edge."""
    whole = cuts_of(phase).whole[phase.mapping]
    return whole[:, None, None] - np.stack([_edge_tables(run)[phase.mapping] for run in phase.runs])


def _class_of(step: Step) -> tuple[int, str] | None:
    """The layer and the class in EDGES of a step; None for one that belongs to no class."""
    layer, source, query = step
    return next(((layer, name) for name, (sources, queries) in EDGES.items() if source in sources and query in queries), None)


def route_classes(mapping: str) -> list[tuple[int, str]]:
    """(layer, class) of the cuts that touch the route which the paper draws through two layers."""
    return sorted({found for step in ROUTES[mapping] if (found := _class_of(step)) is not None})


def needed(phase: Phase) -> list[set[Step]]:
    """The edges that each run of a phase needs: cutting one of them alone costs EFFECT."""
    return [
        {(layer + 1, *EDGE_ROLES[edge]) for layer, edge in np.argwhere(run >= EFFECT).tolist()} for run in edge_drops(phase)
    ]


def takes(phase: Phase, route: frozenset[Step]) -> np.ndarray:
    """(R,) which runs need every edge of a route."""
    return np.array([route <= edges for edges in needed(phase)])


def off_route(phase: Phase) -> dict[tuple[int, str], float]:
    """{(layer, class): mean cost} of the cuts that cost EFFECT though the paper's route has no edge of that class."""
    mean, route = drops(phase).mean(0), route_classes(phase.mapping)
    costly = [(int(layer) + 1, list(EDGES)[edge]) for layer, edge in np.argwhere(mean >= EFFECT)]
    return {
        (layer, name): float(mean[layer - 1, list(EDGES).index(name)]) for layer, name in costly if (layer, name) not in route
    }


def composes_in_order(cost: np.ndarray) -> bool:
    """Do cuts, (layers, classes), say that key → anchors is needed in some layer and anchors → last in a later one?"""
    first, second = (np.flatnonzero(cost[:, list(EDGES).index(name)] >= EFFECT) for name in ("key → anchors", "anchors → last"))
    return bool(len(first) and len(second) and first.min() < second.max())


# --- Patches ---


def patched(model: Transformer, taken: Batch, given: Batch, places: Sequence[tuple[str, str]]) -> list[float]:
    """For each (intermediate, role): the share of `taken` questions answered as `given` is, once the intermediate at that
    role is replaced by that of `given`'s pass.

    The two batches differ in one token of each sequence and stand at the same places. Only questions that the model answers
    right both ways count; NaN if there is none.
    """
    donor, roles = Taps(), role_positions(taken.place)
    theirs = model(given.tokens[None], donor)[0].argmax(-1)
    known = (theirs == given.target) & (answers(model, taken.tokens) == taken.target) & (given.target != taken.target)
    if not known.any():
        return [float("nan")] * len(places)
    found = []
    for name, role in places:
        edit = lambda value, mask=roles[role], other=donor[name]: torch.where(mask[None, :, :, None], other, value)
        after = answers(model, taken.tokens, {name: edit})
        found.append((after == given.target)[known].float().mean().item())
    return found


@functools.cache
def contrasts(what: str, seed: int = 2) -> tuple[Batch, Batch]:
    """Pairs of questions that differ in one token: the key, the first or the second anchor. Seen pairs, places 0 … 5.

    Raises KeyError for anything else.
    """
    task = Task()
    pairs = list(task.taught)
    differ = {
        "key": [(p, p) for p in pairs],
        "first anchor": [(p, q) for p in pairs for q in pairs if p[0] != q[0] and p[1] == q[1]],
        "second anchor": [(p, q) for p in pairs for q in pairs if p[0] == q[0] and p[1] != q[1]],
    }[what]
    n = len(differ)
    generator = torch.Generator().manual_seed(seed)
    draws = 240 // n + 1
    key = torch.randint(FIRST_KEY, LAST_KEY + 1, (n * draws,), generator=generator)
    other = FIRST_KEY + (key - FIRST_KEY + torch.randint(1, 80, key.shape, generator=generator)) % 80
    place = torch.randint(0, LENGTH - 3, key.shape, generator=generator)
    number = lambda side: torch.tensor([task.number(d[side]) for d in differ]).repeat(draws)
    taken = task.questions(key, place, number(0), seed)
    given = task.questions(other if what == "key" else key, place, number(1), seed)
    return taken, given


@derived(version=1)
def patch_effects(run: StoredRun) -> dict[str, np.ndarray]:
    """{what differs: (layers, roles)}: how far patching X_do of a layer at one position turns the answer into the other's."""
    model = model_of(run)
    layers = range(run.spec.model.depth)  # after the last layer only the last position counts
    name = lambda layer: f"X_do.{layer}" if layer else "embedding"
    places = [(name(layer), role) for layer in layers for role in ROLES]
    return {what: np.reshape(patched(model, *contrasts(what), places), (-1, len(ROLES))) for what in ROLES[:3]}


def mean_patch(phase: Phase) -> dict[str, np.ndarray]:
    """{what differs: (layers, roles)}, the mean of patch_effects over the runs of a phase."""
    effects = [patch_effects(run) for run in phase.runs]
    return {what: np.nanmean([e[what] for e in effects], axis=0) for what in effects[0]}


# --- States ---


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


@derived(version=1)
def forgets_order(run: StoredRun) -> float:
    """The mirror_ratio of a run's states."""
    return mirror_ratio(*states(run))


@derived(version=1)
def state_map(run: StoredRun) -> np.ndarray:
    """(n, 2) t-SNE map of the run's `states`."""
    return tsne(states(run)[0])


def tsne(points: np.ndarray, perplexity: float = 12.0) -> np.ndarray:
    """(n, 2) t-SNE map from a PCA start, so that it is the same each time on one machine; perplexity as in the authors'
    code."""
    from sklearn.manifold import TSNE

    return TSNE(perplexity=min(perplexity, (len(points) - 1) / 3), init="pca", random_state=0, n_jobs=1).fit_transform(points)
