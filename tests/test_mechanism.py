"""How information moves: paths, cuts and patches on attention and models made by hand, whose answers are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import make_tiny_spec
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lib.composition.information_flow import metrics as mechanism
from lib.composition.information_flow.metrics import (
    EDGES,
    ROLES,
    contrasts,
    cut,
    edge_class,
    essential,
    flow,
    patched,
    role_positions,
    shares,
)
from lib.composition.runs import model_of
from lib.composition.task import SEEN_PAIRS, Batch, taught
from lib.core.model.init import apply_gamma_stacked
from lib.core.model.transformer import Taps, Transformer
from lib.core.record.result import RunResult
from lib.core.record.spec import SpecError
from lib.core.record.store import Store, StoredRun, StoreError

PARTS = ("tokens", "target", "key", "place", "pair")
KEY, FIRST, SECOND, LAST = 2, 3, 4, 8  # the roles of a question at place 2


def untrained(gamma: float = 0.0, **changes: Any) -> Transformer:
    """γ = 0, so that answers differ from question to question."""
    spec = make_tiny_spec(gamma=gamma, **changes)
    model = Transformer(spec.model)
    apply_gamma_stacked(model, [spec.gamma], [spec.seed])
    return model.eval().requires_grad_(False)


def stored(root: Path, keep_weights: bool = True, **changes: Any) -> StoredRun:
    """A tiny untrained model as a stored run."""
    spec = make_tiny_spec(gamma=0.0, **changes)
    weights = {name: p[0] for name, p in untrained(**changes).named_parameters()}
    store = Store(root)
    store.put(RunResult(spec, {}, {}, 0, "unfitted", None, 0.0, weights), {}, keep_weights)
    run = store.get(spec)
    assert run is not None
    return run


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


@pytest.mark.parametrize(
    ("source", "query", "expected"),
    [
        (KEY, FIRST, "key → anchors"),
        (KEY, SECOND, "key → anchors"),
        (FIRST, SECOND, "anchor → anchor"),
        (KEY, LAST, "key → last"),
        (FIRST, LAST, "anchors → last"),
        (SECOND, LAST, "anchors → last"),
        (7, LAST, "noise → last"),
        (0, LAST, "noise → last"),
        (LAST, LAST, None),
        (KEY, 5, None),
        (0, KEY, None),
        (SECOND, SECOND, None),
    ],
)
def test_classes_of_edges(source: int, query: int, expected: str | None) -> None:
    assert edge_class(query, source, 2) == expected


def test_classes_move_with_the_place() -> None:
    assert [edge_class(8, 5, place) for place in (5, 4, 3, 2)] == [
        "key → last",
        "anchors → last",
        "anchors → last",
        "noise → last",
    ]


# ---------------------------------------------------------------- questions


def test_inner_questions_ask_one_pair_everywhere() -> None:
    batch = mechanism.inner_questions()
    asked = set(zip(batch.key.tolist(), batch.place.tolist(), strict=True))
    assert asked == set(product(range(20, 100), range(6)))
    assert len(batch.key) == len(asked) == 480
    for tokens, target, key, place, _ in zip(*(getattr(batch, name).tolist() for name in PARTS), strict=True):
        assert tokens[place : place + 3] == [key, 4, 3]
        assert target == key - 6
    other = mechanism.inner_questions((1, 2))
    assert torch.equal(other.target, other.key + 6)


def test_seen_questions_are_the_inner_test_rows() -> None:
    batch = mechanism.seen_questions()
    assert batch.place.unique().tolist() == list(range(6))
    assert torch.all(batch.key % 7 == batch.place)
    assert len(batch.key) == 15 * sum(key % 7 < 6 for key in range(20, 100))
    assert {SEEN_PAIRS[i] for i in batch.pair.tolist()} == set(SEEN_PAIRS)
    assert torch.equal(batch.target - batch.key, torch.tensor([taught(SEEN_PAIRS[i]) for i in batch.pair.tolist()]))


# ---------------------------------------------------------------- flow


@pytest.mark.parametrize("heads", [1, 2])
def test_flow_is_the_attention_of_the_stored_model(tmp_path: Path, heads: int) -> None:
    run = stored(tmp_path, heads=heads)
    found = flow(run, key=99, place=2)
    assert found.tokens[2:5].tolist() == [99, 4, 3]
    assert all(20 <= token <= 99 for token in found.tokens[[0, 1, 5, 6, 7, 8]])
    taps = Taps()
    logits = model_of(run)(torch.as_tensor(found.tokens)[None, None], taps)
    assert found.answer == logits.argmax()
    assert found.attention.shape == (2, 9, 9)
    for layer in (1, 2):
        by_head = taps[f"attention.{layer}"][0, 0].numpy()
        assert len(by_head) == heads
        np.testing.assert_allclose(found.attention[layer - 1], by_head.mean(0), atol=1e-6)
    other = flow(run, key=30, place=5, pair=(1, 2))
    assert (other.place, other.tokens[5:8].tolist()) == (5, [30, 1, 2])
    assert not np.array_equal(flow(run, seed=1).tokens[5:], found.tokens[5:])


def test_flow_needs_weights(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="stored without weights"):
        flow(stored(tmp_path, keep_weights=False))


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


@pytest.mark.parametrize("picture", [SYMMETRIC, INFERENTIAL], ids=["symmetric", "inferential"])
def test_the_pictures_of_the_paper_are_found_whole(picture: dict[Edge, float]) -> None:
    assert path(picture) == set(picture)


@pytest.mark.parametrize(
    "decoy",
    [
        {(0, 6, KEY): 0.9},  # brings the key to where nobody looks
        {(1, 5, KEY): 0.9, (1, 6, FIRST): 0.9},  # in the top layer, but not to the last position
        {(1, LAST, 7): 0.15},  # strong, but carries noise
        {(0, 7, 6): 0.9, (1, LAST, 7): 0.15},  # noise in two steps
        {(1, FIRST, KEY): 0.9},  # too late to go on
        {(0, 5, 0): 1.0, (0, 6, 0): 1.0},
    ],
    ids=["dead end", "elsewhere", "noise", "noise twice", "late", "noise to noise"],
)
@pytest.mark.parametrize("picture", [SYMMETRIC, INFERENTIAL], ids=["symmetric", "inferential"])
def test_strong_edges_off_the_path_are_no_part_of_it(picture: dict[Edge, float], decoy: dict[Edge, float]) -> None:
    assert path(picture | decoy) == set(picture)


def test_what_noise_positions_have_been_told_does_count() -> None:
    """A detour over a noise position carries the key, so that the same edge to the last position is now on the path."""
    detour = {(0, 7, KEY): 0.9, (1, LAST, 7): 0.15}
    assert path(INFERENTIAL | detour) == set(INFERENTIAL) | set(detour)


def test_weak_edges_and_edges_to_itself_are_no_part_of_it() -> None:
    assert path({(0, LAST, FIRST): 0.149, (1, LAST, KEY): 0.15}) == {(1, LAST, KEY)}
    assert path({}) == set()  # every token looks at itself alone
    attention = attention_of(SYMMETRIC)
    assert not essential(attention, [KEY, FIRST, SECOND], threshold=0.95).any()
    assert essential(attention, [KEY], threshold=0.01).sum() == 1


def test_a_way_takes_the_layers_in_order() -> None:
    """First anchor → last in layer 1 and key → first anchor in layer 2 lead the key nowhere; with a third layer they may."""
    wrong = {(0, LAST, FIRST): 0.5, (1, FIRST, KEY): 0.5}
    assert path(wrong) == {(0, LAST, FIRST)}
    assert path(wrong | {(2, LAST, FIRST): 0.5}, layers=3) == {*wrong, (2, LAST, FIRST)}


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

FORBIDDEN: dict[str, Callable[[int, int, int], bool]] = {  # (place, query, source)
    "key → anchors": lambda p, q, s: s == p and q in (p + 1, p + 2),
    "anchor → anchor": lambda p, q, s: s == p + 1 and q == p + 2,
    "key → last": lambda p, q, s: s == p and q == 8,
    "anchors → last": lambda p, q, s: s in (p + 1, p + 2) and q == 8,
    "noise → last": lambda p, q, s: s not in (p, p + 1, p + 2, 8) and q == 8,
}


@pytest.mark.parametrize("edges", EDGES)
def test_a_cut_takes_one_class_and_renormalizes_the_rest(edges: str) -> None:
    """In every sequence at its own place, in every head and run."""
    place = torch.tensor([0, 3, 5, 3])
    scores = torch.randn(2, 4, 3, 9, 9, generator=torch.Generator().manual_seed(0))
    scores = scores.masked_fill(~torch.ones(9, 9, dtype=torch.bool).tril(), -torch.inf)
    forbidden = torch.tensor([[[FORBIDDEN[edges](p, q, s) for s in range(9)] for q in range(9)] for p in place.tolist()])
    assert forbidden.any()
    before, after = scores.softmax(-1), cut(place, edges)(scores).softmax(-1)
    left = before * ~forbidden[None, :, None]
    assert torch.all(after[forbidden[None, :, None].expand_as(after)] == 0)
    torch.testing.assert_close(after.sum(-1), torch.ones(2, 4, 3, 9))
    torch.testing.assert_close(after, left / left.sum(-1, keepdim=True))


@pytest.mark.parametrize("edges", EDGES)
def test_a_second_anchor_at_the_end_keeps_itself(edges: str) -> None:
    scores = torch.zeros(1, 1, 1, 9, 9).masked_fill(~torch.ones(9, 9, dtype=torch.bool).tril(), -torch.inf)
    after = cut(torch.tensor([6]), edges)(scores).softmax(-1)
    torch.testing.assert_close(after.sum(-1), torch.ones(1, 1, 1, 9))
    assert after[0, 0, 0, 8, 8] > 0


def test_a_cut_reaches_the_model() -> None:
    """In its layer alone, where it changes the answers' logits."""
    model, batch = untrained(gamma=0.3), mechanism.inner_questions()
    plain, edited = Taps(), Taps({"scores.2": cut(batch.place, "key → last")})
    model(batch.tokens[None], plain)
    model(batch.tokens[None], edited)
    assert torch.equal(edited["attention.1"], plain["attention.1"])
    rows = torch.arange(len(batch.place))
    assert torch.all(edited["attention.2"][0, rows, 0, 8, batch.place] == 0)
    assert torch.all(plain["attention.2"][0, rows, 0, 8, batch.place] > 0)
    assert not torch.allclose(edited["logits"][:, :, -1], plain["logits"][:, :, -1], atol=1e-3)
    assert torch.equal(edited["logits"][:, :, :-1], plain["logits"][:, :, :-1])


def test_an_unknown_class_is_refused() -> None:
    with pytest.raises(KeyError, match="key → noise"):
        cut(torch.tensor([0]), "key → noise")


def oracle(tokens: Tensor, taps: Taps | None = None) -> Tensor:
    """Right on seen pairs; on (4, 3) symmetric for a quarter of the keys, inferential for a half, else silent.

    With taps, that is with edits, it answers 0 to everything.
    """
    rows = tokens[0].tolist()
    answer = torch.zeros(len(rows), dtype=torch.int64)
    for i, row in enumerate(rows if taps is None else ()):
        place = next(p for p, token in enumerate(row) if token < 20) - 1
        key, pair = row[place], (row[place + 1], row[place + 2])
        answer[i] = key + taught(pair) if pair != (4, 3) else (key - 6, key - 10, 0, key - 10)[key % 4]
    return torch.nn.functional.one_hot(answer, 201).float()[None]


def test_shares_of_answers() -> None:
    assert shares(oracle) == pytest.approx({"test": 1.0, "symmetric": 0.25, "inferential": 0.5}, abs=0.02)
    asked, places = [], []

    def silent(tokens: Tensor, taps: Taps | None = None) -> Tensor:
        asked.extend(tokens[0].tolist())
        return oracle(tokens, taps)

    edits = lambda place: places.extend(place.tolist()) or {"scores.1": torch.zeros_like}
    assert shares(silent, edits) == {"test": 0.0, "symmetric": 0.0, "inferential": 0.0}
    assert places == [next(p for p, token in enumerate(row) if token < 20) - 1 for row in asked]
    pairs = {tuple(row[p + 1 : p + 3]) for row, p in zip(asked, places, strict=True)}
    assert pairs == {*SEEN_PAIRS, (4, 3)}


def test_cut_effects_are_in_their_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell is asked of its run, with one class cut in one layer: told by what the edits do to scores of nothing."""
    runs = [stored(tmp_path, seed=seed) for seed in range(3)]
    models = []

    def fake(model: Transformer, edits_for: Callable[[Tensor], dict] | None = None) -> dict[str, float]:
        if edits_for is None:
            models.append(model)
            assert torch.equal(model.head.weight[0], runs[len(models) - 1].weights()["head.weight"])
            return {"test": len(models) - 1.0, "symmetric": 0.5, "inferential": -1.0}
        place = torch.tensor([1, 4])
        ((name, edit),) = edits_for(place).items()
        done = edit(torch.zeros(1, 2, 1, 9, 9))
        (which,) = [i for i, edges in enumerate(EDGES) if torch.equal(cut(place, edges)(torch.zeros(1, 2, 1, 9, 9)), done)]
        assert model is models[-1]
        return {"test": len(models) - 1.0, "symmetric": float(name.removeprefix("scores.")), "inferential": float(which)}

    monkeypatch.setattr(mechanism, "shares", fake)
    found = mechanism.cut_effects(runs)
    assert {name: v.tolist() for name, v in found.whole.items()} == {
        "test": [0, 1, 2],
        "symmetric": [0.5] * 3,
        "inferential": [-1] * 3,
    }
    assert {v.shape for v in found.after.values()} == {(3, 2, 5)}
    assert np.all(found.after["test"] == np.arange(3)[:, None, None])
    assert np.all(found.after["symmetric"] == np.array([1, 2])[:, None])
    assert np.all(found.after["inferential"] == np.arange(5))


def test_cut_effects_are_shares_of_the_model_with_cuts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a model that is right on all seen pairs, since its answers are the targets."""
    run, batch = stored(tmp_path), mechanism.seen_questions()
    model = model_of(run)
    right = mechanism.answers(model, batch.tokens)
    monkeypatch.setattr(mechanism, "_asked", lambda: (replace(batch, target=right), mechanism.inner_questions()))
    found = mechanism.cut_effects([run])
    assert found.whole["test"].tolist() == [1.0]
    for i, layer in enumerate((1, 2)):
        for j, edges in enumerate(EDGES):
            left = mechanism.answers(model, batch.tokens, {f"scores.{layer}": cut(batch.place, edges)}) == right
            assert found.after["test"][0, i, j] == pytest.approx(left.float().mean().item())
    assert len(np.unique(found.after["test"])) > 5


def test_cut_effects_need_one_depth(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^runs of one depth are needed, got depths \[1, 2\]\.$"):
        mechanism.cut_effects([stored(tmp_path, depth=2), stored(tmp_path, depth=1)])
    with pytest.raises(ValueError, match="got depths"):
        mechanism.cut_effects([])


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
    assert torch.equal(contrasts(what)[0].tokens, taken.tokens)
    assert not torch.equal(contrasts(what, seed=3)[0].tokens, taken.tokens)


def test_nothing_else_can_be_contrasted() -> None:
    with pytest.raises(KeyError, match="last"):
        contrasts("last")


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
    for what, table in found.items():
        assert table.shape == (3, 4)
        assert table[0].tolist() == [float(role == what) for role in ROLES]
        for layer in (1, 2):
            assert table[layer].tolist() == patched(model, *batches[what], [(f"X_do.{layer}", role) for role in ROLES])
    assert found["second anchor"][1:, :2].tolist() == [[0.0, 0.0]] * 2
