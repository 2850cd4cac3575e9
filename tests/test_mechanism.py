"""How information moves: paths, cuts and patches on attention and models made by hand, whose answers are known."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from planted_composition import ALL_EDGES, new_seed, stored, table, untrained
from torch import Tensor

from lib.composition.information_flow import metrics as mechanism
from lib.composition.information_flow.metrics import (
    BOTH,
    EDGES,
    EFFECT,
    GROUPS,
    KEY_FIRST,
    NEITHER,
    PAIR_FIRST,
    ROLES,
    ROUTES,
    THIRD,
    Flow,
    Step,
    contrasts,
    cut,
    essential,
    flow,
    patched,
    role_positions,
)
from lib.composition.runs import model_of
from lib.composition.task import SEEN_PAIRS, Batch, taught
from lib.core.model.transformer import ActivationCache, Transformer
from lib.core.record.spec import SpecError

PARTS = ("tokens", "target", "key", "place", "pair")
KEY, FIRST, SECOND, LAST = 2, 3, 4, 8  # the roles of a question at place 2


def part(batch: Batch, chosen: Tensor) -> Batch:
    return Batch(*(getattr(batch, name)[chosen] for name in PARTS))


def relabelled(model: Transformer, what: str) -> tuple[Batch, Batch]:
    """Contrasts whose targets are what the model answers anyway: it "knows" every one of them."""
    return tuple(replace(b, target=mechanism.answers(model, b.tokens)) for b in contrasts(what))


# ---------------------------------------------------------------- roles


def test_roles_stand_where_the_key_says() -> None:
    roles = role_positions(torch.tensor([2, 0, 5]))
    where = {name: [row.nonzero().flatten().tolist() for row in mask] for name, mask in roles.items()}
    assert where == {
        "key": [[2], [0], [5]],
        "first anchor": [[3], [1], [6]],
        "second anchor": [[4], [2], [7]],
        "last": [[8], [8], [8]],
        "noise": [[0, 1, 5, 6, 7], [3, 4, 5, 6, 7], [0, 1, 2, 3, 4]],
    }


def test_a_second_anchor_at_the_end_is_also_the_last() -> None:
    roles = role_positions(torch.tensor([6]))
    assert roles["second anchor"].tolist() == roles["last"].tolist() == [[False] * 8 + [True]]
    assert roles["noise"].sum() == 6


# ---------------------------------------------------------------- questions


def test_inner_questions_ask_one_pair_everywhere() -> None:
    batch = mechanism.inner_questions()
    asked = set(zip(batch.key.tolist(), batch.place.tolist(), strict=True))
    assert asked == set(product(range(20, 100), range(6)))
    assert len(batch.key) == len(asked) == 480
    for tokens, target, key, place, _ in zip(*(getattr(batch, name).tolist() for name in PARTS), strict=True):
        assert tokens[place : place + 3] == [key, 4, 3]
        assert target == key - 6


# ---------------------------------------------------------------- flow


@pytest.mark.parametrize("heads", [1, 2])
def test_flow_is_the_attention_of_the_stored_model(tmp_path: Path, heads: int) -> None:
    run = stored(tmp_path, heads=heads)
    found = flow(run, key=99, place=2)
    assert found.tokens[2:5].tolist() == [99, 4, 3]
    assert all(20 <= token <= 99 for token in found.tokens[[0, 1, 5, 6, 7, 8]])
    activations = ActivationCache()
    logits = model_of(run)(torch.as_tensor(found.tokens)[None, None], activations)
    assert found.answer == logits.argmax()
    assert found.attention.shape == (2, 9, 9)
    for layer in (1, 2):
        by_head = activations[f"attention.{layer}"][0, 0].numpy()
        assert len(by_head) == heads
        np.testing.assert_allclose(found.attention[layer - 1], by_head.mean(0), atol=1e-6)
    other = flow(run, key=30, place=5)
    assert (other.place, other.tokens[5:8].tolist()) == (5, [30, 4, 3])
    assert not np.array_equal(flow(run, seed=1).tokens[5:], found.tokens[5:])


def test_questions_that_do_not_exist_are_refused() -> None:
    mechanism.check_question(20, 0)
    mechanism.check_question(99, 5)
    for key in (19, 100, 30.0, True, "30"):
        with pytest.raises(SpecError, match=r"^key must be an integer from 20 to 99, got "):
            mechanism.check_question(key, 2)
    for place in (-1, 6, 2.0, False):
        with pytest.raises(SpecError, match=r"^place must be an integer from 0 to 5, got "):
            mechanism.check_question(30, place)


# ---------------------------------------------------------------- the essential path

Edge = tuple[int, int, int]  # layer from 0, query, source


def attention_of(edges: dict[Edge, float], layers: int = 2) -> np.ndarray:
    """Every query looks at itself with what its edges leave over."""
    attention = np.zeros((layers, 9, 9))
    for place, weight in edges.items():
        attention[place] = weight
    attention[:, range(9), range(9)] = 1 - attention.sum(-1)
    return attention


def path(edges: dict[Edge, float], layers: int = 2) -> set[Edge]:
    return {tuple(edge) for edge in np.argwhere(essential(attention_of(edges, layers), [KEY, FIRST, SECOND])).tolist()}


SYMMETRIC = {(0, LAST, FIRST): 0.4, (0, LAST, SECOND): 0.4, (1, LAST, KEY): 0.9}
INFERENTIAL = {(0, FIRST, KEY): 0.7, (0, SECOND, KEY): 0.7, (1, LAST, FIRST): 0.5, (1, LAST, SECOND): 0.3}


def test_weak_edges_and_edges_to_itself_are_no_part_of_it() -> None:
    assert path({(0, LAST, FIRST): 0.149, (1, LAST, KEY): 0.15}) == {(1, LAST, KEY)}
    assert path({}) == set()  # every token looks at itself alone
    assert essential(attention_of(SYMMETRIC), [KEY]).sum() == 1


@given(seed=st.integers(0, 10**6), layers=st.integers(1, 3), share=st.floats(0.2, 0.7))
def test_the_path_is_the_union_of_all_ways(seed: int, layers: int, share: float) -> None:
    """Against listing every way from a source to the last of four positions."""
    rng = np.random.default_rng(seed)
    strong = np.tril(rng.random((layers, 4, 4)) < share)
    sources = sorted(rng.choice(3, 2, replace=False).tolist())
    ways = [
        way
        for way in product(range(4), repeat=layers + 1)
        if way[0] in sources and way[-1] == 3 and all(a == b or strong[i, b, a] for i, (a, b) in enumerate(pairwise(way)))
    ]
    expected = {(i, b, a) for way in ways for i, (a, b) in enumerate(pairwise(way)) if a != b}
    assert {tuple(edge) for edge in np.argwhere(essential(strong * 0.5, sources)).tolist()} == expected


# ---------------------------------------------------------------- cuts

CUTS = [*(((source,), (query,)) for source, query in EDGES), *GROUPS.values(), (ROLES, ROLES)]


@pytest.mark.parametrize(("sources", "queries"), CUTS)
def test_a_cut_takes_its_edges_and_renormalizes_the_rest(sources: tuple[str, ...], queries: tuple[str, ...]) -> None:
    """In every sequence at its own place, in every head and run; no query loses itself."""
    place = torch.tensor([0, 3, 5, 3])
    scores = torch.randn(2, 4, 3, 9, 9, generator=torch.Generator().manual_seed(0))
    scores = scores.masked_fill(~torch.ones(9, 9, dtype=torch.bool).tril(), -torch.inf)
    forbidden = torch.zeros(4, 9, 9, dtype=torch.bool)
    for i, p in enumerate(place.tolist()):
        at = dict(zip(ROLES, (p, p + 1, p + 2, 8), strict=True))
        for source, query in product(sources, queries):
            forbidden[i, at[query], at[source]] = source != query
    before, after = scores.softmax(-1), cut(place, sources, queries)(scores).softmax(-1)
    left = before * ~forbidden[None, :, None]
    torch.testing.assert_close(after, left / left.sum(-1, keepdim=True))
    assert torch.all(after[forbidden[None, :, None].expand_as(after)] == 0)


def test_a_second_anchor_at_the_end_keeps_itself() -> None:
    scores = torch.zeros(1, 1, 1, 9, 9).masked_fill(~torch.ones(9, 9, dtype=torch.bool).tril(), -torch.inf)
    after = cut(torch.tensor([6]), ("second anchor",), ("last",))(scores).softmax(-1)
    assert torch.equal(after, scores.softmax(-1))


@pytest.mark.parametrize(("name", "cuts"), [("edge_costs", CUTS[: len(EDGES)]), ("group_costs", list(GROUPS.values()))])
def test_costs_are_answers_that_change_right_or_wrong(tmp_path: Path, name: str, cuts: list) -> None:
    """Of an untrained model, which is right nowhere: layer by layer and cut by cut, on half of the questions."""
    run, held = stored(tmp_path, depth=3), mechanism.inner_questions()
    model, held = model_of(run), part(held, (held.key + held.place) % 2 == 0)
    whole = mechanism.answers(model, held.tokens)
    assert not torch.any(whole == held.target)
    changed = [
        [mechanism.answers(model, held.tokens, {f"scores.{layer}": cut(held.place, *c)}) != whole for c in cuts]
        for layer in (1, 2, 3)
    ]
    found = getattr(mechanism, name)(run)
    assert found == pytest.approx(np.array([[float(one.float().mean()) for one in row] for row in changed]))
    assert len(np.unique(found)) > 5


# ---------------------------------------------------------------- what a run needs


def test_an_edge_is_needed_from_its_cost_on(telling: None) -> None:
    costs = table(EDGES, {(1, EDGES[0]): EFFECT, (2, EDGES[3]): EFFECT - 0.001})
    assert mechanism.needed(new_seed(edge_costs=costs)) == {(1, *EDGES[0])}


def test_a_run_takes_a_route_whose_edges_it_needs_all(telling: None) -> None:
    assert mechanism.takes(new_seed(needs=BOTH)) == dict.fromkeys(ROUTES, True)
    for mapping, edge in ((mapping, edge) for mapping, route in ROUTES.items() for edge in route):
        found = mechanism.takes(new_seed(needs=ALL_EDGES - {edge}))
        assert found == dict.fromkeys(ROUTES, True) | {mapping: False}


@pytest.mark.parametrize(
    ("needs", "depth", "expected"),
    [
        ({(2, "key", "last")}, 2, PAIR_FIRST),
        ({(2, "first anchor", "last")}, 2, KEY_FIRST),
        ({(2, "second anchor", "last")}, 2, KEY_FIRST),
        ({(2, "key", "last"), (2, "second anchor", "last")}, 2, BOTH),
        ({(1, "key", "last"), (1, "first anchor", "last"), (2, "key", "first anchor")}, 2, NEITHER),
        ({(2, "key", "last"), (3, "first anchor", "last")}, 3, KEY_FIRST),  # the last layer counts
        ({(2, "first anchor", "last"), (3, "key", "last")}, 3, PAIR_FIRST),
    ],
)
def test_the_way_is_what_the_last_token_needs_last(telling: None, needs: set[Step], depth: int, expected: str) -> None:
    assert mechanism.way(new_seed(needs=needs, depth=depth)) == expected


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [(1, 2, True), (2, 3, True), (2, 2, False), (3, 2, False), (None, 2, False), (1, None, False)],
)
def test_the_order_of_the_two_steps_counts(telling: None, first: int | None, then: int | None, expected: bool) -> None:
    given_ = {(first, "key → anchors"): EFFECT, (then, "anchors → last"): EFFECT, (1, "key → last"): 1.0}
    costs = table(GROUPS, {place: cost for place, cost in given_.items() if place[0]}, depth=3)
    assert mechanism.composes_in_order(new_seed(group_costs=costs)) is expected


def test_drawn_edges_are_counted_over_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The symmetric route where the key stands at place 1, by one of two heads; at place 3 that head is too weak for both."""

    def fake(tokens: Tensor, activations: ActivationCache) -> None:
        place = (tokens[0] < 20).float().argmax(-1) - 1
        for layer in (1, 2):
            heads = torch.eye(9).repeat(1, len(place), 2, 1, 1)
            for _, source, query in (step for step in ROUTES["symmetric"] if step[0] == layer):
                for p, weight in ((1, 0.3), (3, 0.2)):
                    at = dict(zip(ROLES, (p, p + 1, p + 2, 8), strict=True))
                    heads[0, place == p, 0, at[query], at[source]] = weight
            activations[f"attention.{layer}"] = heads

    monkeypatch.setattr(mechanism, "model_of", lambda run: fake)
    assert mechanism.drawn(new_seed()) == pytest.approx(table(EDGES, {(s[0], s[1:]): 1 / 3 for s in ROUTES["symmetric"]}))


def test_steps_on_the_path_are_named_by_roles() -> None:
    found = lambda edges: mechanism.drawn_steps(Flow(np.zeros(9, dtype=int), KEY, attention_of(edges), 0))
    assert found(SYMMETRIC) == ROUTES["symmetric"]
    assert found(INFERENTIAL) == ROUTES["inferential"]
    assert found({(0, 7, KEY): 0.9, (1, LAST, 7): 0.9}) == {(1, "key", "noise"), (2, "noise", "last")}


def test_agreement_is_counted_over_edges_and_runs(telling: None) -> None:
    """Drawn in more than half of the questions; in half, it is not."""
    drawn = table(EDGES, {(1, EDGES[0]): 0.6, (1, EDGES[1]): 0.51, (2, EDGES[0]): 0.5, (2, EDGES[1]): 1.0, (2, EDGES[2]): 1.0})
    run = new_seed(drawn=drawn, needs={(1, *EDGES[0]), (2, *EDGES[0]), (2, *EDGES[5])})
    assert mechanism.agreement([run]) == (1, 3, 2)
    assert mechanism.agreement([run, run]) == (2, 6, 4)
    assert mechanism.agreement([]) == (0, 0, 0)


# ---------------------------------------------------------------- the new seeds by their way


def test_runs_are_sorted_by_their_way(telling: None) -> None:
    runs = [new_seed(needs=way) for way in (NEITHER, KEY_FIRST, PAIR_FIRST, KEY_FIRST)]
    found = mechanism.by_way(runs)
    assert list(found.items()) == [(PAIR_FIRST, [runs[2]]), (KEY_FIRST, [runs[1], runs[3]]), (NEITHER, [runs[0]])]


def test_composing_is_more_than_half_within_one_step() -> None:
    ahead = [new_seed(offsets={-9: 0.2, -10: 0.01, -11: 0.3}), new_seed(offsets={-10: 0.51})]
    others = [
        new_seed(offsets={-9: 0.2, -10: 0.1, -11: 0.2}),
        new_seed(offsets={-8: 0.5, -12: 0.5}),
        new_seed(offsets={-6: 1.0}),
    ]
    uncounted = replace(ahead[0], metrics={"test": 1.0, "symmetric": 0.0, "inferential": 1.0})
    assert mechanism.composing([*ahead, *others, uncounted]) == ahead


def test_ways_are_compared_at_each_gamma(telling: None) -> None:
    """The first on top at both: 1 of 2 · 3 draws, though not of all; a run that needs neither says nothing."""
    value = lambda run: run.metrics["value"]
    told = [(0.55, KEY_FIRST, 2), (0.55, PAIR_FIRST, 1), (1.25, KEY_FIRST, 12), (1.25, BOTH, 11), (1.25, PAIR_FIRST, 10)]
    told += [(1.25, NEITHER, 99)]
    runs = [new_seed(gamma, seed, needs, value=v) for seed, (gamma, needs, v) in enumerate(told)]
    found = mechanism.compare_ways(runs, value)
    assert (found.share, found.p) == pytest.approx((1, 1 / 6))
    for alone in ([runs[0], runs[3], runs[5]], [runs[0], runs[2]], []):  # no γ has both
        assert mechanism.compare_ways(alone, value) is None


def test_exactness_is_asked_of_runs_that_compose(telling: None) -> None:
    first = [new_seed(seed=s, needs=KEY_FIRST, offsets={-10: 0.5 + s / 100, -9: 0.4}) for s in range(3)]
    late = [new_seed(seed=s + 3, needs=PAIR_FIRST, offsets={-10: 0.9 + s / 100}) for s in range(2)]
    inexact = new_seed(seed=7, needs=PAIR_FIRST, offsets={-10: 0.3})
    found = mechanism.exactness([*first, *late, inexact])
    assert (found.p, found.opposite) == pytest.approx((1 / 10, 1))


def test_gammas_of_the_two_ways_are_compared(telling: None) -> None:
    """Over all γ at once; a run that needs both says nothing."""
    runs = [new_seed(g, needs=KEY_FIRST) for g in (1.1, 1.25)] + [new_seed(g, needs=PAIR_FIRST) for g in (0.35, 0.55, 0.75)]
    found = mechanism.smaller([*runs, new_seed(0.35, needs=BOTH), new_seed(0.35, needs=NEITHER)])
    assert (found.share, found.p) == pytest.approx((1, 1 / 10))
    assert mechanism.smaller([*runs[:2], new_seed(needs=BOTH)]) is mechanism.smaller(runs[2:]) is None


def test_examples_are_the_clearest_and_each_stands_once(telling: None) -> None:
    run = lambda seed, way, **said: new_seed(
        seed=seed, needs=way, offsets={-6: said.get("six", 0.0), -10: said.get("ten", 0.0)}
    )
    symmetric, first, exact = run(0, PAIR_FIRST, six=0.9), run(1, KEY_FIRST, ten=0.7), run(2, BOTH, ten=0.8)
    rest = [run(3, PAIR_FIRST, six=0.8), run(4, KEY_FIRST, ten=0.6)]
    assert mechanism.examples([*rest, exact, first, symmetric]) == [symmetric, first, exact]
    assert mechanism.examples([*rest, first, symmetric]) == [symmetric, first]
    assert mechanism.examples([rest[0], symmetric, exact]) == [symmetric, exact]  # none goes key first


def test_pair_first_is_counted_at_every_gamma_and_of_the_later_seeds(telling: None) -> None:
    """From γ = .55 on two are symmetric, one by the drawn route; the one at .35 goes a third way; and an anchor is not both."""
    six, ten, one = {-6: 1.0}, {-10: 1.0}, {(2, "second anchor", "last")}
    runs = [new_seed(1.25, 0, PAIR_FIRST, six), new_seed(1.25, 1, KEY_FIRST, six), new_seed(0.35, 2, THIRD, six)]
    runs += [new_seed(1.25, 3, BOTH, ten), new_seed(0.55, 4, one, {-10: 0.4}), new_seed(0.55, 5, PAIR_FIRST, {})]
    later = [new_seed(0.85, 0, PAIR_FIRST, six), new_seed(0.85, 1, PAIR_FIRST, ten)]
    shown = {name: fact.text for name, fact in mechanism._facts_on_answers(runs, later).items()}
    assert (shown["six-pair"], shown["six-all"], shown["six-35-pair"], shown["six-35"]) == ("one", "two", "none", "one")
    assert (shown["six-every"], shown["six-judged"], shown["six-altogether"]) == ("1 of 3", "one of one", "2 of 4")
    assert [shown[f"rest-{name}"] for name in ("all", "anchors", "both", "one")] == ["three", "two", "one", "one"]
    assert mechanism._facts_on_answers(runs, [])["six-altogether"].text == "1 of 3"


def patches(first: float, second: float) -> dict[str, np.ndarray]:
    """Patches of two layers: what each anchor's difference does from the last token before the last layer."""
    last = {"key": 0.0, "first anchor": first, "second anchor": second}
    return {what: np.array([[0.9] * 4, [0.9, 0.9, 0.9, value]]) for what, value in last.items()}


def test_differences_have_moved_if_both_anchors_act_from_the_last_token(telling: None) -> None:
    asked = [mechanism.moved(new_seed(patch_effects=patches(*p))) for p in ((0.5, 0.5), (0.9, 0.49), (0.49, 0.9))]
    assert asked == [True, False, False]


def test_states_are_of_the_last_token_with_the_anchors_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fake(tokens: Tensor, activations: ActivationCache) -> None:
        asked.extend(tokens[0].tolist())
        activations["X_ao.1"] = tokens.float()[..., None]

    monkeypatch.setattr(mechanism, "model_of", lambda run: fake)
    points, pairs = mechanism.states(new_seed())
    assert points[:, 0].tolist() == [row[8] for row in asked]
    assert pairs == [tuple(row[2:4]) for row in asked]
    assert Counter(pairs) == dict.fromkeys([(a, b) for a in range(1, 5) for b in range(1, 5) if a != b], 60)


def test_mirror_ratio_by_hand() -> None:
    """Centres of (1, 2), (2, 1), (1, 3), (3, 1) at the corners of a rectangle of 1 and 3."""
    points = np.array([[0.0, 0], [2, 0], [1, 1], [4, 0], [4, 1]])
    pairs = [(1, 2), (1, 2), (2, 1), (1, 3), (3, 1)]
    assert mechanism.mirror_ratio(points, pairs) == pytest.approx(1 / ((3 + np.sqrt(10)) / 2))


def test_variance_between_pairs_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 · 1² + 2 · 1² between, as much within."""
    points = np.array([[0.0, 0], [2, 0], [2, 0], [4, 0]])
    monkeypatch.setattr(mechanism, "states", lambda run: (points, [(1, 2), (1, 2), (2, 1), (2, 1)]))
    assert mechanism.knows_pair(new_seed()) == pytest.approx(1 / 2)


# ---------------------------------------------------------------- patches


@pytest.mark.parametrize(("what", "ahead"), [("key", 0), ("first anchor", 1), ("second anchor", 2)])
def test_contrasts_differ_in_one_token(what: str, ahead: int) -> None:
    taken, given_ = contrasts(what)
    assert torch.equal(taken.place, given_.place)
    differs = taken.tokens != given_.tokens
    assert torch.equal(differs, torch.arange(9) == (taken.place + ahead)[:, None])
    assert taken.place.unique().tolist() == list(range(6))
    assert 240 <= len(taken.key) <= 300
    rows = torch.arange(len(taken.key))
    for batch in (taken, given_):
        anchors = [batch.tokens[rows, batch.place + i].tolist() for i in (1, 2)]
        pairs = list(zip(*anchors, strict=True))
        assert set(pairs) == set(SEEN_PAIRS)
        assert batch.target.tolist() == [key + taught(pair) for key, pair in zip(batch.key.tolist(), pairs, strict=True)]
        assert torch.equal(batch.tokens[rows, batch.place], batch.key)
        assert batch.key.min() >= 20
        assert batch.key.max() <= 99


@pytest.mark.parametrize("what", ROLES[:3])
def test_a_patched_token_is_another_question(what: str) -> None:
    """The embedding of what differs turns every answer into the other's; that of what does not differ, none."""
    model = untrained()
    taken, given_ = relabelled(model, what)
    assert (taken.target != given_.target).sum() > 50
    places = [("embedding", role) for role in ROLES]
    assert patched(model, taken, given_, places) == [float(role == what) for role in ROLES]
    assert patched(model, taken, given_, places[::-1]) == [float(role == what) for role in ROLES[::-1]]
    assert patched(model, taken, given_, []) == []


def test_a_patch_of_the_last_output_decides() -> None:
    """After the last layer, the last position is all there is; and no position has been told of a token behind it."""
    model = untrained()
    for what in ROLES[:3]:
        taken, given_ = relabelled(model, what)
        assert patched(model, taken, given_, [("X_do.2", role) for role in ROLES]) == [0.0, 0.0, 0.0, 1.0]
    taken, given_ = relabelled(model, "second anchor")
    assert patched(model, taken, given_, [("X_do.1", role) for role in ROLES[:2]]) == [0.0, 0.0]


def test_only_what_the_model_knows_counts() -> None:
    model = untrained()
    taken, given_ = relabelled(model, "key")
    chosen = torch.arange(len(taken.key)) % 3 == 0
    last = [("X_do.1", "last")]
    for name, keep in (("taken", taken), ("given", given_)):
        wrong = replace(keep, target=torch.where(chosen, keep.target, torch.full_like(keep.target, 200 + 1)))
        batches = (wrong, given_) if name == "taken" else (taken, wrong)
        share = patched(model, *batches, last)
        expected = patched(model, part(taken, chosen), part(given_, chosen), last)
        assert share == pytest.approx(expected)
    assert patched(model, taken, given_, last) != pytest.approx(expected)  # the others would have changed it
    nowhere = replace(taken, target=torch.full_like(taken.target, 201))
    places = [("embedding", "key"), *last]
    for batches in ((nowhere, given_), (taken, taken)):  # nothing is known; no answer could change
        found = patched(model, *batches, places)
        assert len(found) == 2
        assert np.isnan(found).all()


def test_patch_effects_begin_at_the_embedding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stored(tmp_path, depth=3, seed=4)
    model = model_of(run)
    batches = {what: relabelled(model, what) for what in ROLES[:3]}
    monkeypatch.setattr(mechanism, "contrasts", batches.__getitem__)
    found = mechanism.patch_effects(run)
    assert list(found) == list(ROLES[:3])
    for what, effects in found.items():
        assert effects.shape == (3, 4)
        assert effects[0].tolist() == [float(role == what) for role in ROLES]
        for layer in (1, 2):
            assert effects[layer].tolist() == patched(model, *batches[what], [(f"X_do.{layer}", role) for role in ROLES])
    assert found["second anchor"][1:, :2].tolist() == [[0.0, 0.0]] * 2
