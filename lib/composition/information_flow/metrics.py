"""How trained models move information: attention flow, cuts of its edges, patches of its activations, states.

Everything here reads stored models and asks them questions; nothing trains. A question stands at one of the places 0 … 5, so
that the key, the two anchors and the last position are four different positions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from lib.composition.controls import DEPTH_GAMMAS, DEPTHS
from lib.composition.flip import CONFIRM_FIRST, by_turn, groups_of, of_new_seeds
from lib.composition.phase_diagram.metrics import MISTAKEN, WITHIN_ONE, composes, has_counts, share_of
from lib.composition.runs import exact_kind, learned, model_of
from lib.composition.task import FIRST_KEY, HELD_OUT, INFERENTIAL_OFFSET, LAST_KEY, LENGTH, PAIRS, Batch, Task
from lib.core.model.transformer import ActivationCache, Intervention, Transformer
from lib.core.read.disk_cache import disk_cached
from lib.core.read.fact import Fact, in_words, mean, span
from lib.core.read.statistics import Comparison, compare
from lib.core.read.ways import BOTH, EFFECT, KEY_FIRST, NEITHER, PAIR_FIRST, WAYS, way_of
from lib.core.record.spec import SpecError
from lib.core.record.store import StoredRun

ROLES = ("key", "first anchor", "second anchor", "last")
ANCHORS = ROLES[1:3]
EDGES = tuple((source, query) for i, source in enumerate(ROLES) for query in ROLES[i + 1 :])
"""Every edge between tokens with a role: (source, query)."""
GROUPS = {
    "key → anchors": (("key",), ANCHORS),
    "anchors → last": (ANCHORS, ("last",)),
    "key → last": (("key",), ("last",)),
}
"""Edges that are cut together, (sources, queries): of a model that needs one of two edges, cuts of single ones find neither."""
ESSENTIAL = 0.15
"""An edge that carries less than this share of its query's attention is never part of the essential path (our choice)."""
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
VERY_SMALL = 1.0
"""Weights are very small beyond this γ (our choice)."""
THIRD = frozenset({(1, "first anchor", "second anchor"), (1, "key", "second anchor"), (2, "second anchor", "last")})
"""A way that the paper does not draw, found at the largest weights: all meets at the second anchor."""


def role_positions(place: Tensor) -> dict[str, Tensor]:
    """(B, 9) bool for each role: where it stands in sequences whose keys stand at `place` (B,). Noise is what has no role."""
    column = torch.arange(LENGTH)
    ahead = column - place[:, None]
    roles = {name: ahead == i for i, name in enumerate(ROLES[:3])}
    roles["last"] = (column == LENGTH - 1).expand_as(ahead)
    roles["noise"] = ~torch.stack(list(roles.values())).any(0)
    return roles


def inner_questions() -> Batch:
    """(4, 3) with every key at the places 0 … 5: (480,) questions, whose roles are four different positions."""
    task = Task()
    key, place = torch.meshgrid(torch.arange(FIRST_KEY, LAST_KEY + 1), torch.arange(LENGTH - 3), indexing="ij")
    return task.questions(key.flatten(), place.flatten(), torch.full((key.numel(),), task.number(HELD_OUT)), 1)


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


def flow(run: StoredRun, key: int = 99, place: int = 2, seed: int = 0) -> Flow:
    """The attention of a model on one question (Fig. 3a, c of Zhang et al. 2024: key 99, pair (4, 3))."""
    task, activations = Task(), ActivationCache()
    batch = task.questions(torch.tensor([key]), torch.tensor([place]), torch.tensor([task.number(HELD_OUT)]), seed)
    answer = model_of(run)(batch.tokens[None], activations)[0, 0].argmax()
    layers = [activations[f"attention.{layer}"][0, 0].mean(0) for layer in range(1, run.spec.model.depth + 1)]
    return Flow(batch.tokens[0].numpy(), place, torch.stack(layers).numpy(), int(answer))


def essential(attention: np.ndarray, sources: Sequence[int]) -> np.ndarray:
    """The essential path, by rule: which edges (layers, queries, sources) bring the source tokens to the last position.

    An edge of layer l from token j to token k belongs to it if it carries at least ESSENTIAL of k's attention, some source
    has reached j below it, and from k there is a way on to the last position at the top. Ways go along such edges and
    straight up the residual stream. An edge from a token to itself is no way of its own.
    """
    layers, n, _ = attention.shape
    strong = (attention >= ESSENTIAL) & ~np.eye(n, dtype=bool)
    reached = np.zeros((layers + 1, n), dtype=bool)
    reached[0, list(sources)] = True
    for layer in range(layers):
        reached[layer + 1] = reached[layer] | (strong[layer] & reached[layer]).any(1)
    wanted = np.zeros((layers + 1, n), dtype=bool)
    wanted[layers, -1] = True
    for layer in reversed(range(layers)):
        wanted[layer] = wanted[layer + 1] | (strong[layer] & wanted[layer + 1][:, None]).any(0)
    return np.stack([strong[i] & reached[i] & wanted[i + 1][:, None] for i in range(layers)])


def drawn_steps(flow: Flow) -> set[Step]:
    """The essential path of one question, its tokens named by their roles; a token without one is noise."""
    role = {flow.place + i: name for i, name in enumerate(ROLES[:3])} | {LENGTH - 1: "last"}
    edges = np.argwhere(essential(flow.attention, range(flow.place, flow.place + 3)))
    return {(layer + 1, role.get(source, "noise"), role.get(query, "noise")) for layer, query, source in edges.tolist()}


# --- Cuts ---


def cut(place: Tensor, sources: Sequence[str], queries: Sequence[str]) -> Intervention:
    """An intervention on scores (R, B, H, N, N) that forbids the edges from positions of some roles to positions of others;
    the attention that is left is renormalized.

    place: (B,). Raises KeyError for an unknown role.
    """
    roles = role_positions(place)
    source = torch.stack([roles[r] for r in sources]).any(0)
    query = torch.stack([roles[r] for r in queries]).any(0)
    forbidden = query[:, :, None] & source[:, None, :]
    forbidden &= torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril(-1)  # never from itself: something must be left
    return lambda scores: scores.masked_fill(forbidden[None, :, None], float("-inf"))


def answers(model: Transformer, tokens: Tensor, edits: dict[str, Intervention] | None = None) -> Tensor:
    """(B,) answers to tokens (B, N), with intermediates edited."""
    return model(tokens[None], ActivationCache(edits) if edits else None)[0].argmax(-1)


@functools.cache
def asked() -> Batch:
    """Half of the questions about (4, 3) whose roles are four different positions: those of an even sum of key and place."""
    held = inner_questions()
    return _some(held, (held.key + held.place) % 2 == 0)


def _cost(model: Transformer, cuts: Iterable[tuple[Sequence[str], Sequence[str]]]) -> np.ndarray:
    """(layers, cuts): the share of the model's own answers to (4, 3) that change when a cut is made in one layer."""
    held, cuts = asked(), list(cuts)
    whole = answers(model, held.tokens)
    changed = lambda layer, c: (answers(model, held.tokens, {f"scores.{layer}": cut(held.place, *c)}) != whole).float().mean()
    return np.array([[changed(layer, c).item() for c in cuts] for layer in range(1, model.spec.depth + 1)])


@disk_cached(version=1)
def edge_costs(run: StoredRun) -> np.ndarray:
    """(layers, EDGES): the share of a run's own answers to (4, 3), whatever they are, that change without an edge."""
    return _cost(model_of(run), [((source,), (query,)) for source, query in EDGES])


@disk_cached(version=1)
def group_costs(run: StoredRun) -> np.ndarray:
    """(layers, GROUPS): the same without a group of edges of one layer."""
    return _cost(model_of(run), GROUPS.values())


def needed(run: StoredRun) -> set[Step]:
    """The edges that a run needs: cutting one of them alone changes EFFECT of its answers."""
    return {(layer + 1, *EDGES[edge]) for layer, edge in np.argwhere(edge_costs(run) >= EFFECT).tolist()}


def takes(run: StoredRun) -> dict[str, bool]:
    """Does a run need every edge of the symmetric route, and of the inferential one?"""
    edges = needed(run)
    return {mapping: route <= edges for mapping, route in ROUTES.items()}


def way(run: StoredRun) -> str:
    """One of WAYS, by the edges that a run needs."""
    edges, last = needed(run), run.spec.model.depth
    return way_of((last, "key", "last") in edges, any((last, role, "last") in edges for role in ANCHORS))


def at_second_anchor(run: StoredRun) -> bool:
    """Does a run need the third way, and not the first anchor at the last token?"""
    return needed(run) >= THIRD and (2, "first anchor", "last") not in needed(run)


def hybrid(run: StoredRun) -> bool:
    """Does the key of (4, 3) pass the first anchor and not the second, while the last token reads an anchor by itself? So it
    goes as in one drawing, and the pair as in the other."""
    steps = needed(run)
    alone = any((1, anchor, "last") in steps for anchor in ANCHORS)
    return (1, "key", ANCHORS[0]) in steps and (1, "key", ANCHORS[1]) not in steps and alone


def undecided(run: StoredRun) -> bool:
    """Neither mostly −6, nor mostly −10 to within one step."""
    return exact_kind(run) == "neither" and not composes(run)


def hybrids_undecided(runs: Sequence[StoredRun]) -> Comparison | None:
    """Are hybrids undecided more often than other runs of the same γ? None without both."""
    mixed = [hybrid(run) for run in runs]
    strata = [run.spec.gamma for run in runs]
    return compare([undecided(run) for run in runs], mixed, strata) if len(set(mixed)) == 2 else None


def deeper_by_kind(runs: Sequence[StoredRun]) -> tuple[list[StoredRun], list[StoredRun]]:
    """Deeper runs: those that answer mostly −10, and all others."""
    first, others = ([run for run in runs if (exact_kind(run) == "inferential") == wanted] for wanted in (True, False))
    return first, others


def order_by_kind(inferential: Sequence[StoredRun], others: Sequence[StoredRun]) -> Comparison | None:
    """Do more of the inferential runs compose in order? Each depth by itself; None where no depth has both."""
    depths = [run.spec.model.depth for run in (*inferential, *others)]
    if not set(depths[: len(inferential)]) & set(depths[len(inferential) :]):
        return None
    first = [True] * len(inferential) + [False] * len(others)
    return compare([composes_in_order(run) for run in (*inferential, *others)], first, depths)


def composes_in_order(run: StoredRun) -> bool:
    """Does a run need key → anchors in some layer, and anchors → last in a later one?"""
    cost = group_costs(run)
    layers = lambda name: np.flatnonzero(cost[:, list(GROUPS).index(name)] >= EFFECT)
    first, second = layers("key → anchors"), layers("anchors → last")
    return bool(len(first) and len(second) and first.min() < second.max())


@disk_cached(version=2)
def drawn(run: StoredRun) -> np.ndarray:
    """(layers, EDGES): on what share of 45 questions about (4, 3) an edge is on the essential path."""
    keys, places = range(25, 100, 5), (1, 3, 5)
    task, activations = Task(), ActivationCache()
    key = torch.tensor([k for k in keys for _ in places])
    place = torch.tensor([p for _ in keys for p in places])
    batch = task.questions(key, place, torch.full_like(key, task.number(HELD_OUT)), 3)
    model_of(run)(batch.tokens[None], activations)
    depth = run.spec.model.depth
    attention = np.stack([activations[f"attention.{layer}"][0].mean(1).numpy() for layer in range(1, depth + 1)], 1)
    found = np.zeros((depth, len(EDGES)))
    for tokens, p, a in zip(batch.tokens.numpy(), place.tolist(), attention, strict=True):
        for layer, *edge in drawn_steps(Flow(tokens, p, a, 0)):
            if tuple(edge) in EDGES:
                found[layer - 1, EDGES.index(tuple(edge))] += 1
    return found / len(key)


def agreement(runs: Sequence[StoredRun]) -> tuple[int, int, int]:
    """Over runs, layers and edges: (drawn and needed, drawn only, needed only). Drawn: on the essential path of more than half
    of the questions."""
    both = [(drawn(run) > 0.5, edge_costs(run) >= EFFECT) for run in runs]
    count = lambda of: int(sum(of(picture, cause).sum() for picture, cause in both))
    return count(lambda p, c: p & c), count(lambda p, c: p & ~c), count(lambda p, c: ~p & c)


# --- Patches ---


def patched(model: Transformer, taken: Batch, given: Batch, places: Sequence[tuple[str, str]]) -> list[float]:
    """For each (intermediate, role): the share of `taken` questions answered as `given` is, once the intermediate at that
    role is replaced by that of `given`'s pass.

    The two batches differ in one token of each sequence and stand at the same places. Only questions that the model answers
    right both ways count; NaN if there is none.
    """
    donor, roles = ActivationCache(), role_positions(taken.place)
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


_CONTRAST_SEED = 2  # of their keys, places and noise


@functools.cache
def contrasts(what: str) -> tuple[Batch, Batch]:
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
    generator = torch.Generator().manual_seed(_CONTRAST_SEED)
    draws = 240 // n + 1
    key = torch.randint(FIRST_KEY, LAST_KEY + 1, (n * draws,), generator=generator)
    other = FIRST_KEY + (key - FIRST_KEY + torch.randint(1, 80, key.shape, generator=generator)) % 80
    place = torch.randint(0, LENGTH - 3, key.shape, generator=generator)
    number = lambda side: torch.tensor([task.number(d[side]) for d in differ]).repeat(draws)
    taken = task.questions(key, place, number(0), _CONTRAST_SEED)
    given = task.questions(other if what == "key" else key, place, number(1), _CONTRAST_SEED)
    return taken, given


@disk_cached(version=1)
def patch_effects(run: StoredRun) -> dict[str, np.ndarray]:
    """{what differs: (layers, roles)}: how far patching X_do of a layer at one position turns the answer into the other's."""
    model = model_of(run)
    layers = range(run.spec.model.depth)  # after the last layer only the last position counts
    name = lambda layer: f"X_do.{layer}" if layer else "embedding"
    places = [(name(layer), role) for layer in layers for role in ROLES]
    return {what: np.reshape(patched(model, *contrasts(what), places), (-1, len(ROLES))) for what in ROLES[:3]}


def moved(run: StoredRun) -> bool:
    """Before the last layer, does each anchor's difference act from the last token, at least half of the time?"""
    effects = patch_effects(run)
    return all(effects[anchor][-1, ROLES.index("last")] >= 0.5 for anchor in ANCHORS)


# --- States ---


def states(run: StoredRun) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """(n, D) vectors of the last token for 60 sequences of every ordered pair, first anchor at index 2, and their pairs."""
    task, activations, each, seed = Task(), ActivationCache(), 60, 5
    generator = torch.Generator().manual_seed(seed)
    key = torch.randint(20, 100, (each * len(ORDERED),), generator=generator)
    pair = torch.tensor([task.number(p) for p in ORDERED]).repeat_interleave(each)
    batch = task.questions(key, torch.ones_like(key), pair, seed)
    model_of(run)(batch.tokens[None], activations)
    return activations["X_ao.1"][0, :, LENGTH - 1].numpy(), [p for p in ORDERED for _ in range(each)]


def mirror_ratio(points: np.ndarray, pairs: Sequence[tuple[int, int]]) -> float:
    """Mean distance of the centres of mirror images, (a, b) and (b, a), over that of other pairs: 0 if a state forgets the
    order of its anchors, about 1 if order counts as much as which anchors they are."""
    names = sorted(set(pairs))
    centre = {p: points[[q == p for q in pairs]].mean(0) for p in names}
    distance = lambda p, q: float(np.linalg.norm(centre[p] - centre[q]))
    mirrored = [distance(p, p[::-1]) for p in names if p < p[::-1]]
    others = [distance(p, q) for p in names for q in names if p < q and q != p[::-1]]
    return float(np.mean(mirrored) / np.mean(others))


@disk_cached(version=1)
def forgets_order(run: StoredRun) -> float:
    """The mirror_ratio of a run's states."""
    return mirror_ratio(*states(run))


@disk_cached(version=1)
def knows_pair(run: StoredRun) -> float:
    """How much of the variance of a run's states lies between the centres of pairs: 0 if they say nothing of the pair; chance
    alone gives about (pairs − 1) / sequences, .02."""
    points, pairs = states(run)
    centred = points - points.mean(0)
    each = [centred[[q == pair for q in pairs]] for pair in set(pairs)]
    return float(sum(len(some) * (some.mean(0) ** 2).sum() for some in each) / (centred**2).sum())


@disk_cached(version=1)
def state_map(run: StoredRun) -> np.ndarray:
    """(n, 2) t-SNE map of the run's `states`."""
    return tsne(states(run)[0])


def tsne(points: np.ndarray, perplexity: float = 12.0) -> np.ndarray:
    """(n, 2) t-SNE map from a PCA start, so that it is the same each time on one machine; perplexity as in the authors'
    code."""
    from sklearn.manifold import TSNE

    return TSNE(perplexity=min(perplexity, (len(points) - 1) / 3), init="pca", random_state=0, n_jobs=1).fit_transform(points)


# --- The new seeds by their way ---


def by_way(runs: Sequence[StoredRun]) -> dict[str, list[StoredRun]]:
    """{way: runs of two layers that go it}, in the order of WAYS; ways that none goes are left out."""
    found = {w: [run for run in runs if way(run) == w] for w in WAYS}
    return {w: some for w, some in found.items() if some}


GAP = 0.5
"""Between groups of columns of a figure, in columns."""


def columns(runs: Sequence[StoredRun]) -> tuple[list[StoredRun], np.ndarray, list[tuple[float, str, float, float]]]:
    """Runs by γ, way and share of −10; where each stands; and (γ, way, first, last place) of each group, with gaps between."""
    place = lambda run: WAYS.index(way(run))
    order = sorted(runs, key=lambda r: (r.spec.gamma, place(r), r.metrics["inferential"], r.spec.seed))
    at: list[float] = []
    groups: dict[tuple[float, str], list[float]] = {}
    for run in order:
        group = run.spec.gamma, way(run)
        gap = 0.0 if group in groups else GAP if group[0] in {g for g, _ in groups} else 2 * GAP
        at.append(at[-1] + 1 + gap if at else 0.0)
        groups.setdefault(group, []).append(at[-1])
    ends = [(*group, places[0], places[-1]) for group, places in groups.items()]
    return order, np.array(at), ends


def composing(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs that compose to within one step."""
    return [run for run in runs if composes(run)]


def compare_ways(runs: Sequence[StoredRun], measure: Callable[[StoredRun], float]) -> Comparison | None:
    """A measure of the runs that go key first against that of the runs whose last token needs the key in the last layer; each γ
    by itself. None where no γ has both."""
    asked = [run for run in runs if way(run) != NEITHER]
    first = [way(run) == KEY_FIRST for run in asked]
    kinds = {(run.spec.gamma, one) for run, one in zip(asked, first, strict=True)}
    if not any({(g, True), (g, False)} <= kinds for g, _ in kinds):
        return None
    return compare([measure(run) for run in asked], first, [run.spec.gamma for run in asked])


def exactness(runs: Sequence[StoredRun]) -> Comparison | None:
    """Of the runs that compose to within one step: is the share that is not exactly −10 larger where the key goes first?"""
    return compare_ways(composing(runs), lambda run: 1 - run.metrics["inferential"])


def smaller(runs: Sequence[StoredRun]) -> Comparison | None:
    """γ of the runs that go key first against γ of those that go pair first. None where one of the two has none, or all have
    one γ."""
    asked = [run for run in runs if way(run) in (KEY_FIRST, PAIR_FIRST)]
    first = [way(run) == KEY_FIRST for run in asked]
    gammas = [run.spec.gamma for run in asked]
    return compare(gammas, first) if {True, False} <= set(first) and len(set(gammas)) > 1 else None


def examples(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The clearest symmetric run, the most exact one of small weights that goes key first, and the most exact of all; each
    once."""
    exact = lambda run: run.metrics["inferential"]
    first = [run for run in runs if way(run) == KEY_FIRST and run.spec.gamma > VERY_SMALL] or list(runs)
    chosen = (max(runs, key=lambda run: run.metrics["symmetric"]), max(first, key=exact), max(runs, key=exact))
    return list({run.path: run for run in chosen}.values())


def facts(
    new: Sequence[StoredRun],
    older: Mapping[str, Sequence[StoredRun]],
    deep: Sequence[StoredRun],
    judges: Sequence[StoredRun] = (),
) -> dict[str, Fact]:
    """What the text of chapter 3 says. new: two layers, new seeds; older: {answer: two-layer runs of the older pool}; deep:
    new seeds of three and four layers; judges: the seeds that judge what was seen of hybrids."""
    runs = by_turn(new)
    at = {name: of_new_seeds(some) for name, some in runs._asdict().items()}
    going = lambda key, some: [run for run in some if way(run) == key]
    percents = lambda measure, some, rests: Fact(span(map(measure, some)), "{:.0%} to {:.0%}", rests)
    exact, within = (lambda run: run.metrics["inferential"]), (lambda run: share_of(run, WITHIN_ONE))
    first, last = going(KEY_FIRST, runs.high), [*going(PAIR_FIRST, runs.high), *going(BOTH, runs.high)]
    mostly = [run for run in runs.high if exact_kind(run) == "inferential"]
    pure = [run for run in runs.low if needed(run) == ROUTES["symmetric"]]
    asked = composing(runs.later)
    test = exactness(runs.high)
    found = {
        "effect": Fact(EFFECT, "{:.0%}", "our choice: the share of answers that have to change"),
        "all-runs": Fact(len(new), "{}", "new seeds, of all γ that have all of them"),
        "low-runs": Fact(in_words(len(runs.low)), "{}", f"all {at['low']}"),
        "high-runs": Fact(in_words(len(runs.high)), "{}", f"all {at['high']}"),
    }
    for name, some in groups_of(runs).items():
        for key in {"low": (PAIR_FIRST,), "35": (), "high": WAYS[:3], "140": WAYS[:3]}.get(name, (KEY_FIRST,)):
            count = in_words(len(going(key, some)))
            found[f"{name}-{key.replace(' ', '-')}"] = Fact(count, "{}", f"{key}, {of_new_seeds(some)}")
    for name in ("75", "95"):
        some = going(KEY_FIRST, groups_of(runs).get(name, []))
        mixed = in_words(sum(map(hybrid, some))) if some else None
        found[f"{name}-hybrids"] = Fact(mixed, "{}", f"hybrids of those that go key first, {of_new_seeds(some)}")
    rests = f"need the three edges of the symmetric route and no other, {at['low']}"
    found["low-pure"] = Fact(in_words(len(pure)), "{}", rests)
    odd = mean(run.metrics["symmetric"] for run in going(KEY_FIRST, runs.low))
    found["low-odd-share"] = Fact(odd, "{:.0%}", f"symmetric share of the run that goes key first, {at['low']}")
    for name, some in (("first", first), ("last", last)):
        rests = f"key {name}, {at['high']}"
        found[f"exact-key-{name}"] = percents(exact, some, f"share of exactly −10, {rests}")
        counts = [run for run in some if has_counts(run)]
        found[f"within-key-{name}"] = percents(within, counts, f"answers −9 to −11, {rests}")
    found["exact-runs"] = Fact(in_words(len(mostly)), "{}", f"mostly exactly −10, {at['high']}")
    found["exact-first"] = Fact(in_words(len(going(KEY_FIRST, mostly))), "{}", f"of these, key first, {at['high']}")
    rests = f"exact test, one-sided, key last against key first, {at['high']}: share of exactly −10; found in these runs"
    found["exact-p"] = Fact(test and test.p, "{:.2g}", rests)
    judged = exactness(runs.later)
    found["later-p"] = Fact(judged and judged.p, "{:.2g}", f"the same test {at['later']}, which did not suggest it")
    best = max(map(exact, going(KEY_FIRST, runs.later)), default=None)
    found["later-best"] = Fact(best, "{:.0%}", f"the largest share of exactly −10, key first, {at['later']}")
    found["later-composing"] = Fact(in_words(len(asked)), "{}", f"compose to within one step, {at['later']}")
    found |= _facts_on_answers(new, judges) | _facts_on_hybrids(runs.later) | _facts_on_judges(judges)
    return found | _facts_on_states([*runs.low, *runs.high]) | _facts_on_pictures(new, older, deep)


def anchors_needed(run: StoredRun) -> int:
    """How many of the two anchors the last token needs in the last layer."""
    edges = needed(run)
    return sum((run.spec.model.depth, anchor, "last") in edges for anchor in ANCHORS)


def _facts_on_answers(runs: Sequence[StoredRun], judges: Sequence[StoredRun]) -> dict[str, Fact]:
    """Of the runs by their answers: which way each of them goes. judges: later seeds at a γ of their own."""
    going = lambda some, *ways: in_words(sum(way(run) in ways for run in some))
    inferential = [run for run in runs if exact_kind(run) == "inferential"]
    smaller = [run for run in runs if run.spec.gamma >= CONFIRM_FIRST[0]]
    six = {"all": runs, "smaller": smaller, "judges": judges}
    symmetric = {name: [run for run in some if exact_kind(run) == "symmetric"] for name, some in six.items()}
    rest = [run for run in smaller if exact_kind(run) != "symmetric"]
    largest = [run for run in runs if run.spec.gamma < CONFIRM_FIRST[0]]
    large_six = [run for run in symmetric["all"] if run in largest]
    third = [run for run in largest if at_second_anchor(run)]
    seen, start = f"{of_new_seeds(runs)}; counted after seeing them", f"from γ = {CONFIRM_FIRST[0]:g} on"
    both = sum(anchors_needed(run) == len(ANCHORS) for run in rest)
    one = sum(anchors_needed(run) == 1 for run in rest)
    first = lambda some: sum(way(run) == PAIR_FIRST for run in some)
    every = [*symmetric["all"], *symmetric["judges"]]
    return {
        "exact-all": Fact(in_words(len(inferential)), "{}", f"mostly exactly −10, {seen}"),
        "exact-anchors": Fact(going(inferential, KEY_FIRST, BOTH), "{}", f"of these, key first or both, {seen}"),
        "exact-both": Fact(going(inferential, BOTH), "{}", f"of these, both, {seen}"),
        "rest-all": Fact(in_words(len(rest)), "{}", f"not mostly −6, {start}, {seen}"),
        "rest-anchors": Fact(going(rest, KEY_FIRST, BOTH), "{}", f"of these, key first or both, {seen}"),
        "rest-both": Fact(in_words(both), "{}", f"of these, need both anchors, {seen}"),
        "rest-one": Fact(in_words(one), "{}", f"of these, need one anchor and not the other, {seen}"),
        "third-way": Fact(in_words(len(third)), "{}", f"need all that meets at the second anchor, {of_new_seeds(largest)}"),
        "six-all": Fact(in_words(len(symmetric["smaller"])), "{}", f"mostly −6, {start}, {seen}"),
        "six-pair": Fact(going(symmetric["smaller"], PAIR_FIRST), "{}", f"of these, pair first, {seen}"),
        "six-35": Fact(in_words(len(large_six)), "{}", f"mostly −6, {of_new_seeds(largest)}"),
        "six-35-pair": Fact(going(large_six, PAIR_FIRST), "{}", f"of these, pair first, {of_new_seeds(largest)}"),
        "six-every": Fact(
            (first(symmetric["all"]), len(symmetric["all"])), "{} of {}", f"pair first, of those mostly −6, {seen}"
        ),
        "six-judged": Fact(
            (in_words(first(symmetric["judges"])), in_words(len(symmetric["judges"]))),
            "{} of {}",
            f"pair first, of those mostly −6, {of_new_seeds(judges)}; not what these seeds were trained for",
        ),
        "six-altogether": Fact((first(every), len(every)), "{} of {}", "pair first, of those mostly −6, both together"),
    }


def _facts_on_hybrids(runs: Sequence[StoredRun]) -> dict[str, Fact]:
    """Of the runs in between: who goes as in both drawings, and what becomes of them."""
    at, mixed = of_new_seeds(runs), [run for run in runs if hybrid(run)]
    test, open_ = hybrids_undecided(runs), [run for run in runs if undecided(run)]
    offsets = (*MISTAKEN[:2], INFERENTIAL_OFFSET)
    shares = span(share_of(run, offsets) for run in mixed if has_counts(run) and undecided(run))
    seen = f"{at}, counted after seeing these runs"
    count = lambda some: in_words(sum(some))
    return {
        "hybrid": Fact(in_words(len(mixed)), "{}", f"hybrids, {seen}"),
        "hybrid-undecided": Fact(count(map(undecided, mixed)), "{}", f"of these, undecided, {seen}"),
        "undecided": Fact(in_words(len(open_)), "{}", f"neither mostly −6 nor mostly −10 to within one step, {seen}"),
        "undecided-unlearned": Fact(count(not learned(run) for run in open_), "{}", f"of these, below 99 % of rows, {seen}"),
        "hybrid-p": Fact(test and test.p, "{:.2g}", f"exact test, one-sided, hybrids against others of their γ, {seen}"),
        "hybrid-patched": Fact(count(map(moved, mixed)), "{}", f"of the hybrids, pair first by patches, {seen}"),
        "hybrid-shares": Fact(shares, "{:.0%} to {:.0%}", f"share of −16, −7 and −10 in undecided hybrids, {seen}"),
    }


def _facts_on_judges(judges: Sequence[StoredRun]) -> dict[str, Fact]:
    """Of the seeds at a γ of their own, by which what was seen of hybrids is judged."""
    test, where = hybrids_undecided(judges), of_new_seeds(judges)
    found = {"judged-p": Fact(test and test.p, "{:.2g}", f"exact test, one-sided, hybrids against others, {where}")}
    for name, mixed in (("hybrids", True), ("others", False)):
        some = [run for run in judges if hybrid(run) == mixed]
        found[f"judged-{name}"] = Fact(in_words(len(some)), "{}", f"{name}, {where}")
        count = in_words(sum(map(undecided, some)))
        found[f"judged-{name}-undecided"] = Fact(count, "{}", f"of these {name}, undecided, {where}")
    return found


def _facts_on_states(runs: Sequence[StoredRun]) -> dict[str, Fact]:
    """What the last token's state knows of the pair, of runs that go pair first and of others."""
    first = [run for run in runs if way(run) == PAIR_FIRST]
    other = [run for run in runs if way(run) != PAIR_FIRST]
    at = of_new_seeds(runs)
    known = lambda some, who: Fact(
        span(map(knows_pair, some)), "{:.0%} to {:.0%}", f"variance of the state that lies between pairs, {who}, {at}"
    )
    rests = f"distance of mirror images over that of other pairs, pair first, {at}"
    return {
        "mirror-pair-first": Fact(span(map(forgets_order, first)), "{:.2f} to {:.2f}", rests),
        "pair-first": known(first, "pair first"),
        "pair-other": known(other, "all others"),
    }


def _facts_on_pictures(
    new: Sequence[StoredRun], older: Mapping[str, Sequence[StoredRun]], deep: Sequence[StoredRun]
) -> dict[str, Fact]:
    """Do patches and drawings say what cuts say? And what older and deeper runs do."""
    inferential, others = deeper_by_kind(deep)
    both, picture, cause = agreement(new)
    deep_both, deep_picture, _ = agreement(inferential)
    ordered = lambda some: (in_words(sum(map(composes_in_order, some))), in_words(len(some)))
    ways = [way(run) for run in older.get("symmetric", [])]
    agree = in_words(sum(moved(run) == (way(run) == PAIR_FIRST) for run in new)), in_words(len(new))
    order = "that need key → anchors, then anchors → last"
    counts: dict[str, tuple[tuple[float | str, float | str], str]] = {
        "patches-agree": (agree, "new seeds whose patches and cuts agree on pair first or not"),
        "drawn-needed": ((both, both + picture), "edges that are drawn, over all new seeds: needed"),
        "needed-drawn": ((both, both + cause), "edges that are needed, over all new seeds: drawn"),
        "deep-drawn-needed": ((deep_both, deep_both + deep_picture), "edges drawn in deeper inferential runs: needed"),
        "deep-order": (ordered(inferential), f"deeper inferential runs {order}"),
        "deep-others-order": (ordered(others), f"deeper runs that are not inferential {order}"),
        "older-pair-first": ((ways.count(PAIR_FIRST), len(ways)), "older symmetric runs of two layers: pair first"),
        "older-key-first": ((ways.count(KEY_FIRST), len(ways)), "older symmetric runs of two layers: key first"),
    }
    found = {name: Fact(count, "{} of {}", rests) for name, (count, rests) in counts.items()}
    test = order_by_kind(inferential, others)
    for depth in DEPTHS:
        large = [run for run in deep if run.spec.model.depth == depth and run.spec.gamma == DEPTH_GAMMAS[0]]
        count = (in_words(sum(way(run) == KEY_FIRST for run in large)), in_words(len(large))) if large else None
        found[f"deep-{depth}-key-first"] = Fact(count, "{} of {}", f"key first, {depth} layers, {of_new_seeds(large)}")
    return found | {
        "deep-runs": Fact(in_words(len(inferential)), "{}", "inferential runs of three and four layers"),
        "deep-order-p": Fact(
            test and test.p, "{:.2g}", "exact test, one-sided, of these against the others, each depth by itself"
        ),
    }
