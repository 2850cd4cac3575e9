"""The study of memory and reasoning: its model, its batches, what it measures, keeps and says of flows, against plain torch."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from lib.core.model.transformer import ActivationCache, ModelSpec, Transformer, from_weights
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec, SpecError, TrainSpec
from lib.core.record.store import Store
from lib.core.train import checkpoint
from lib.core.train.ensemble import Ask, Ensemble
from lib.core.train.loop import Interrupted, train
from lib.core.train.plan import Options, backend_for
from lib.reasoning_bias.models import EmbMLP, EmbMLPSpec
from lib.reasoning_bias.study import ANCHORS, MemoryAndReasoning, causal_average, drive, make_study
from lib.reasoning_bias.task import FIRST_KEY, HELD_OUT, LAST_KEY, LENGTH, MEMORY, N_KEYS, N_PLACES, REASONING, VOCAB, Task

OPTIONS = Options(device="cpu", slots=2, bf16=False, backend="eager", checkpoint_every=0.0)
EMB_MLP = EmbMLPSpec(VOCAB, 3, 8, 16)
SHAPE = {"vocab": VOCAB, "positions": LENGTH, "d_model": 8, "d_ff": 12, "d_k": 4, "d_v": 3, "heads": 2}
LAYER = ModelSpec(depth=1, **SHAPE)
BARE = ModelSpec(depth=1, **SHAPE | {"d_model": VOCAB}, norm="none", activation="tanh", head=False)
KEYS = torch.arange(FIRST_KEY, LAST_KEY + 1)


def make_spec(seed: int = 0, model: Any = EMB_MLP, **changes: Any) -> RunSpec:
    task = {"noise": model is not EMB_MLP, "rows": 400, "keep": (5, 10)} | changes.pop("task", {})
    how = TrainSpec(batch=16, steps=10, warmup=2, eval_every=5, fit_metric="memory")
    values = {"gamma": 0.4, "rate": 1e-2, "decay": 0.01, "train": how} | changes
    return RunSpec("bias-tiny", 1, seed=seed, model=model, task=tuple(task.items()), **values)


def randomized(model: nn.Module, scale: float = 1.0, seed: int = 0) -> Any:
    """Every weight of its own; matrices of about the same size whatever their width."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for param in model.parameters():
            param.copy_(scale * torch.randn(param.shape, generator=generator) / param.shape[-2] ** 0.5)
    return model


# ---------------------------------------------------------------- Emb-MLP


def test_emb_mlp_is_the_formula() -> None:
    """σ(Σ w W_1) W_2, run by run, with its gradients; the sum has no order and no positions."""
    model = randomized(EmbMLPSpec(11, 4, 5, 7).build(3))
    tokens = torch.randint(11, (3, 6, 4), generator=torch.Generator().manual_seed(1))
    logits = model(tokens)
    logits.square().sum().backward()
    for run in range(3):
        w, first, second = (p[run].detach().clone().requires_grad_() for p in model.parameters())
        expected = torch.stack([torch.tanh(sum(w[token] for token in row) @ first) @ second for row in tokens[run]])
        torch.testing.assert_close(logits[run], expected)
        expected.square().sum().backward()
        for ours, theirs in zip(model.parameters(), (w, first, second), strict=True):
            torch.testing.assert_close(ours.grad[run], theirs.grad, rtol=1e-4, atol=1e-5)


@given(st.builds(EmbMLPSpec, st.integers(2, 30), st.integers(1, 9), st.integers(1, 12), st.integers(1, 20)), st.integers(1, 9))
def test_emb_mlp_counts_what_pytorch_counts(spec: EmbMLPSpec, length: int) -> None:
    model = spec.build(2)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(2, 5, length, dtype=torch.int64))
    assert counter.get_total_flops() == 2 * 2 * 5 * spec.multiply_adds(length)


def test_emb_mlp_of_no_size_is_refused() -> None:
    with pytest.raises(SpecError, match="d_ff must be an integer of at least 1, got True"):
        EmbMLPSpec(5, 3, 4, True)


def test_emb_mlp_is_not_given_to_the_program_in_cpp() -> None:
    wide = dataclasses.replace(EMB_MLP, d_model=16)
    assert backend_for([make_spec(model=wide)], Options(device="cpu")) == "eager"


def trained(specs: list[RunSpec], slots: int) -> dict[RunSpec, RunResult]:
    options = dataclasses.replace(OPTIONS, slots=slots)
    return {result.spec: result for result in train(specs, make_study(specs[0]), options)}


def test_emb_mlp_trains_in_company_as_alone() -> None:
    """Three runs in two slots: losses, weights, and what was kept on the way, drive and all."""
    task = {"drive": True}
    specs = [
        make_spec(task=task),
        make_spec(1, task=task, gamma=0.8, rate=3e-2, decay=0.0),
        make_spec(2, task=task, gamma=0.2, rate=3e-3),
    ]
    together = trained(specs, 2)
    for spec in specs:
        alone, result = trained([spec], 1)[spec], together[spec]
        assert result.history["loss"] == pytest.approx(alone.history["loss"], rel=1e-5)
        assert list(result.snapshots) == list(alone.snapshots) == [5, 10]
        assert not torch.allclose(alone.snapshots[5]["anchors"], alone.snapshots[10]["anchors"], rtol=1e-3)
        parts = [(result.weights, alone.weights), *((result.snapshots[s], alone.snapshots[s]) for s in (5, 10))]
        for ours, theirs in parts:
            assert ours.keys() == theirs.keys()
            for name, array in ours.items():
                torch.testing.assert_close(array, theirs[name], rtol=1e-4, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")
    assert len({round(result.history["loss"][-1], 3) for result in together.values()}) == 3


def test_a_stored_run_is_a_model_again(tmp_path: Path) -> None:
    spec, store = make_spec(), Store(tmp_path)
    result = trained([spec], 1)[spec]
    assert store.put(result, {}, keep_weights=True)
    stored = store.get(spec)
    assert stored.spec == spec
    model = from_weights(stored.spec.model, stored.weights())
    assert isinstance(model, EmbMLP)
    assert torch.equal(stored.snapshots()[10]["anchors"], model.embedding.token[0, ANCHORS])


# ---------------------------------------------------------------- the training set

STUDY = MemoryAndReasoning(rows=500)
TRAINING = {tuple(row) for row in Task().rows(torch.tensor(0), torch.arange(500)).tokens.tolist()}


def pairs_of(tokens: Tensor) -> set[tuple[int, int]]:
    """The anchors of each row, in order: noise and keys are above them."""
    found = [[token for token in row if token <= REASONING[-1]] for row in tokens.flatten(0, -2).tolist()]
    assert all(len(anchors) == 2 for anchors in found)
    return {(a, b) for a, b in found}


@given(seeds=st.lists(st.integers(0, 2**40), min_size=2, max_size=3, unique=True), start=st.integers(0, 10**9))
def test_runs_share_a_fixed_training_set_but_not_its_order(seeds: list[int], start: int) -> None:
    index = torch.arange(start, start + 300)
    tokens, target = STUDY.batch(torch.tensor(seeds)[:, None], index.expand(len(seeds), -1))
    assert (tokens.shape, target.shape) == ((len(seeds), 300, LENGTH), (len(seeds), 300))
    assert {tuple(row) for row in tokens.flatten(0, 1).tolist()} <= TRAINING
    assert not pairs_of(tokens) & set(HELD_OUT)
    for one in range(1, len(seeds)):
        assert (tokens[0] == tokens[one]).all(-1).float().mean() < 0.1
    alone, label = STUDY.batch(torch.tensor([[seeds[1]]]), index[None, 17:18])
    assert torch.equal(alone[0, 0], tokens[1, 17])
    assert label.item() == target[1, 17]


def test_every_row_of_the_set_is_trained_about_as_often_with_its_own_label() -> None:
    tokens, target = STUDY.batch(torch.tensor([[3]]), torch.arange(50_000)[None])
    rows = Task().rows(torch.tensor(0), torch.arange(500))
    labels = {tuple(row): label for row, label in zip(rows.tokens.tolist(), rows.target.tolist(), strict=True)}
    seen = dict.fromkeys(labels, 0)
    for row, label in zip(map(tuple, tokens[0].tolist()), target[0].tolist(), strict=True):
        seen[row] += 1
        assert labels[row] == label
    assert 50 < min(seen.values()) <= max(seen.values()) < 160  # 100 expected, with a standard deviation of 10


def test_without_a_fixed_set_every_row_is_new() -> None:
    """A row is then that of the task itself, and no two runs have one in common."""
    study, seed = MemoryAndReasoning(), torch.tensor([[1], [2]])
    tokens, target = study.batch(seed, torch.arange(1000).expand(2, -1))
    task = Task().rows(seed, torch.arange(1000).expand(2, -1))
    assert torch.equal(tokens, task.tokens)
    assert torch.equal(target, task.target)
    assert len({tuple(row) for row in tokens.flatten(0, 1).tolist()}) == 2000


@pytest.mark.parametrize("arguments", [{}, {"noise": False}, {"memory": "window", "table_seed": 7}], ids=str)
def test_what_is_measured_of_the_trained_sets_was_trained_and_the_rest_was_not(arguments: dict[str, Any]) -> None:
    """Another table seed is another training set too; labels are the task's own."""
    study, task = MemoryAndReasoning(rows=2000, **arguments), Task(**arguments)
    seed = torch.tensor(arguments.get("table_seed", 0))
    training = {tuple(row) for row in task.rows(seed, torch.arange(2000)).tokens.tolist()}
    assert [len(batch.target) for batch in study.sets.values()] == [600, 600, 200]
    for name, batch in study.sets.items():
        assert torch.equal(batch.target, task.label(batch.key, batch.first, batch.second))
        assert ({tuple(row) for row in batch.tokens.tolist()} <= training) is (name != "held out")
    assert all({a, b} <= set(MEMORY) for a, b in pairs_of(study.sets["memory"].tokens))
    reasoning = pairs_of(study.sets["reasoning"].tokens)
    assert all({a, b} <= set(REASONING) for a, b in reasoning)
    assert len(reasoning) == 98
    assert pairs_of(study.sets["held out"].tokens) == set(HELD_OUT)
    assert sorted(study.sets["held out"].key.tolist()) == sorted(KEYS.tolist() * 2)


def test_measured_rows_of_an_endless_set_are_of_all_keys_and_pairs() -> None:
    for name, batch in list(MemoryAndReasoning().sets.items())[:2]:
        assert len({*zip(batch.key.tolist(), batch.first.tolist(), batch.second.tolist(), strict=True)}) == 600, name
        assert len(pairs_of(batch.tokens)) > 90
        assert (batch.key.unique().numel(), batch.place.unique().numel()) == (N_KEYS, N_PLACES)


# ---------------------------------------------------------------- measurements


def test_losses_and_shares_are_those_of_torch() -> None:
    specs = [make_spec(0, gamma=0.1), make_spec(1, gamma=0.3)]
    ensemble, study = Ensemble(specs[0], 2, torch.device("cpu"), torch.float32, "eager"), make_study(specs[0])
    for slot, spec in enumerate(specs):
        ensemble.load(slot, spec)
    found = study.measure(Ask(ensemble))
    assert found.keys() == {f"{name}{what}" for name in ("memory", "reasoning", "held out") for what in ("", " loss")}
    for slot in range(2):
        model = from_weights(specs[slot].model, ensemble.weights(slot))
        for name, batch in study.sets.items():
            logits = model(batch.tokens[None])[0]
            assert found[f"{name} loss"][slot].item() == pytest.approx(F.cross_entropy(logits, batch.target).item(), rel=1e-5)
            right = sum(int(row.argmax()) == int(label) for row, label in zip(logits, batch.target, strict=True))
            assert found[name][slot].item() == pytest.approx(right / len(batch.target))
    losses = [value for name, values in found.items() if name.endswith("loss") for value in values.tolist()]
    assert len(set(losses)) == 6


# ---------------------------------------------------------------- snapshots


def test_snapshots_are_kept_at_the_steps_that_were_asked_for() -> None:
    study, model = MemoryAndReasoning(noise=False, keep=(5, 20)), randomized(EMB_MLP.build(2))
    assert [step for step in range(25) if study.snapshot(model, step)] == [5, 20]
    found = study.snapshot(model, 5)
    assert found.keys() == {"anchors"}
    for anchor in range(1, 21):
        assert torch.equal(found["anchors"][:, anchor - 1], model.embedding.token[:, anchor])


def test_attention_is_measured_from_the_causal_average() -> None:
    """Of two runs, the first attends to everything alike; of the second the attention is computed again, head by head."""
    study, model = MemoryAndReasoning(keep=(1,)), randomized(LAYER.build(2))
    with torch.no_grad():
        model.embedding.token.mul_(8)
        model.blocks[0].attention.W_Q.weight[0] = 0
        found = study.snapshot(model, 1)
    average = causal_average(LENGTH)
    torch.testing.assert_close(found["attention"][0], average)
    assert found["deviation"][0].max() < 1e-6
    embedding, attention = model.embedding, model.blocks[0].attention
    x = (embedding.token[1][study.questions] + embedding.position[1]).detach()
    ahead = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    by_head = []
    for columns in (slice(0, 4), slice(4, 8)):
        q, k = (x @ w.weight[1].detach()[:, columns] for w in (attention.W_Q, attention.W_K))
        by_head.append((q @ k.mT / 2).masked_fill(ahead, -torch.inf).softmax(-1))
    expected = (by_head[0] + by_head[1]) / 2
    torch.testing.assert_close(found["attention"][1], expected.mean(0), rtol=1e-4, atol=1e-5)
    farthest = torch.stack([(question - average).abs() for question in expected]).amax(0)
    torch.testing.assert_close(found["deviation"][1], farthest, rtol=1e-4, atol=1e-5)
    assert farthest.max() > 0.1
    assert len(pairs_of(study.questions)) == len(study.questions) == 64


def test_the_circuit_is_followed_where_that_is_asked() -> None:
    """Of two runs the first attends to everything alike in its second layer; of the second the weights are added up place by
    place, and its direction is that of M = W Wᵀ."""
    model = randomized(ModelSpec(depth=2, **SHAPE).build(2))
    with torch.no_grad():
        model.blocks[1].attention.W_Q.weight[0] = 0
    study = MemoryAndReasoning(follow=True)
    assert MemoryAndReasoning().watch(model) == {}
    found = study.watch(model)
    assert {name: value.shape for name, value in found.items()} == {"on the key": (2,), "along reasoning": (2,)}
    assert found["on the key"][0].item() == pytest.approx(1 / LENGTH)
    of_place = []
    for place in range(N_PLACES):
        every = study.task.every("reasoning")
        rows = every.tokens[every.place == place]
        rows = rows[:: len(rows) // 40][:40]
        activations = ActivationCache()
        model(rows.expand(2, *rows.shape), activations)
        of_place.append(activations["attention.2"][1, :, :, -1, place].mean().item())
    assert found["on the key"][1].item() == pytest.approx(np.mean(of_place), rel=1e-4)
    for run in range(2):
        w = model.blocks[0].attention.W_V.weight[run].detach()
        direction = torch.linalg.eigh(w @ w.T).eigenvectors[:, -1]
        anchors = model.embedding.token[run, list(REASONING)].detach()
        cosines = (anchors @ direction / anchors.norm(dim=1)).abs()
        assert found["along reasoning"][run].item() == pytest.approx(cosines.mean().item(), rel=1e-3)


def test_the_spectrum_is_of_the_values_of_the_first_layer() -> None:
    """M direction = σ₁² direction with M = W Wᵀ, and the squares of the spectrum add up to the weights'."""
    study, model = MemoryAndReasoning(keep=(1,)), randomized(ModelSpec(depth=2, **SHAPE).build(2))
    with torch.no_grad():
        found = study.snapshot(model, 1)
    assert (found["spectrum"].shape, found["direction"].shape) == ((2, 6), (2, 8))
    for run in range(2):
        w, direction = model.blocks[0].attention.W_V.weight[run].detach(), found["direction"][run]
        assert direction.norm().item() == pytest.approx(1, rel=1e-5)
        torch.testing.assert_close(w @ w.T @ direction, found["spectrum"][run, 0] ** 2 * direction, rtol=1e-4, atol=1e-5)
        assert found["spectrum"][run].square().sum().item() == pytest.approx(w.square().sum().item(), rel=1e-5)
        assert found["spectrum"][run, 0] == found["spectrum"][run].max()


def test_output_distributions_are_of_each_group_of_memory_anchors() -> None:
    study, model = MemoryAndReasoning(memory="groups", noise=False, keep=(1,)), randomized(EMB_MLP.build(2), scale=2)
    found = study.snapshot(model, 1)["groups"].detach()
    assert found.shape == (2, 4, VOCAB)
    rows = study.memory_rows
    for group, firsts in enumerate([(1, 2, 3), (4, 5), (6, 7, 8), (9, 10)]):
        own = torch.stack([row for row in rows if int(row[1]) in firsts])
        assert {int(row[2]) for row in own} == set(MEMORY)
        expected = model(own.expand(2, -1, -1)).softmax(-1).mean(1)
        torch.testing.assert_close(found[:, group], expected.detach(), rtol=1e-4, atol=1e-6)
    assert (found[:, 0] - found[:, 3]).abs().max() > 1e-3
    assert "groups" not in MemoryAndReasoning(noise=False, keep=(1,)).snapshot(model, 1)


def test_a_run_with_a_list_of_steps_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    """A file has lists where the spec had tuples; snapshots from before the stop are there at the end."""
    specs, path = [make_spec(seed, model=LAYER) for seed in range(2)], tmp_path / "group.safetensors"
    whole = trained(specs, 2)
    asked = iter([False] * 6 + [True])
    with pytest.raises(Interrupted):
        list(train(specs, make_study(specs[0]), OPTIONS, checkpoint_path=path, stop=asked.__next__))
    assert checkpoint.unfinished(path) == specs
    for result in train(specs, make_study(specs[0]), OPTIONS, checkpoint_path=path):
        assert list(result.snapshots) == [5, 10]
        for step, kept in whole[result.spec].snapshots.items():
            assert kept.keys() == {"anchors", "spectrum", "direction", "attention", "deviation"}
            assert all(torch.equal(array, result.snapshots[step][name]) for name, array in kept.items())


def test_a_diverged_run_does_not_end_its_neighbours() -> None:
    """Singular values of what is not finite are an error in torch."""
    wild, healthy = make_spec(0, model=LAYER, rate=1e30), make_spec(1, model=LAYER)
    results = trained([wild, healthy], 2)
    assert results[wild].status == "diverged"
    alone = trained([healthy], 1)[healthy].snapshots
    assert list(results[healthy].snapshots) == list(alone) == [5, 10]
    torch.testing.assert_close(results[healthy].snapshots[10]["anchors"], alone[10]["anchors"], rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------- what drives the embeddings


def full_data(anchors: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """All keys with all ordered pairs of the anchors, (n, 3), and labels: of memory anchors the key, which makes them exactly
    uniform on the keys' range as the theory has it; no pair is held out."""
    pairs = torch.cartesian_prod(torch.tensor(anchors), torch.tensor(anchors))
    key, (first, second) = KEYS.repeat(len(pairs)), pairs.repeat_interleave(N_KEYS, 0).unbind(1)
    target = key if anchors == MEMORY else key + first + second
    return torch.stack([key, first, second], 1), target


def descent(model: nn.Module, tokens: Tensor, target: Tensor) -> Tensor:
    """−∂(mean loss)/∂(token embeddings) of each run by autograd, in double precision: (R, V, D)."""
    exact = copy.deepcopy(model).double().requires_grad_(True)
    logits = exact(tokens.expand(model.n_runs, *tokens.shape))
    loss = sum(F.cross_entropy(of_run, target) for of_run in logits)
    return -torch.autograd.grad(loss, exact.embedding.token)[0]


def assert_close_as_vectors(one: Tensor, other: Tensor) -> None:
    assert torch.linalg.vector_norm(one - other) < 2e-3 * torch.linalg.vector_norm(other)


def tiny_embeddings(model: nn.Module, scale: float = 1e-4) -> nn.Module:
    """Only what goes into the maps must be tiny for the linear theory; the maps themselves are not."""
    model = randomized(model)
    with torch.no_grad():
        for param in model.embedding.parameters():
            param.mul_(scale)
    return model


def test_the_drive_of_emb_mlp_is_the_flow_of_every_anchor() -> None:
    """An anchor stands in 20 of 200 pairs (twice in one, once in 18): r_s = 1/10."""
    model = tiny_embeddings(EMB_MLP.build(2))
    (memory, labels), (reasoning, sums) = full_data(MEMORY), full_data(REASONING)
    flow = descent(model, torch.cat([memory, reasoning]), torch.cat([labels, sums]))[:, ANCHORS]
    found = drive(model)
    assert found.keys() == {"drive"}
    for run in range(2):
        for anchor in range(20):
            expected = 0.1 * found["drive"][run, anchor].double() / VOCAB
            assert_close_as_vectors(flow[run, anchor], expected)


@pytest.mark.parametrize("place", [0, 6])
@pytest.mark.parametrize("anchor", [3, 15])
def test_the_drive_of_one_layer_is_the_flow_where_attention_is_uniform(anchor: int, place: int) -> None:
    """Sequences with one anchor, which stands 20 times in 19 pairs. With the key at place 6 the second anchor is last: half of
    the times it moves along the residual as well, not divided by the length; with the key at place 0 never."""
    model = tiny_embeddings(BARE.build(2))
    with torch.no_grad():
        model.blocks[0].attention.W_Q.weight.zero_()
    rows, target = full_data(MEMORY if anchor in MEMORY else REASONING)
    own = (rows[:, 1:] == anchor).any(1)
    rows, target = rows[own], target[own]
    tokens = torch.randint(FIRST_KEY, LAST_KEY + 1, (len(rows), LENGTH), generator=torch.Generator().manual_seed(0))
    tokens[:, place : place + 3] = rows
    flow = descent(model, tokens, target)[:, anchor]
    found = {name: value[:, anchor - 1].double() for name, value in drive(model).items()}
    last = 0.5 if place == 6 else 0.0
    expected = 20 / 19 * (found["drive"] - found["direct"] + last * LENGTH * found["direct"]) / VOCAB
    for run in range(2):
        assert_close_as_vectors(flow[run], expected[run])


def test_snapshots_hold_the_drive_where_they_are_asked_to() -> None:
    model = randomized(EMB_MLP.build(2))
    found = MemoryAndReasoning(noise=False, keep=(1,), drive=True).snapshot(model, 1)
    assert torch.equal(found["drive"], drive(model)["drive"])
    assert found["drive"].shape == found["anchors"].shape == (2, 20, 8)
    bare = MemoryAndReasoning(keep=(1,), drive=True).snapshot(BARE.build(), 1)
    assert bare["drive"].shape == bare["direct"].shape == (1, 20, VOCAB)


BARE_TWO = dataclasses.replace(BARE, depth=2)


@pytest.mark.parametrize(
    "spec",
    [LAYER, BARE_TWO, dataclasses.replace(BARE, head=True), dataclasses.replace(BARE, norm="post")],
    ids=["as it is", "two layers", "with a head", "with norms"],
)
def test_the_drive_of_another_model_is_refused(spec: ModelSpec) -> None:
    with pytest.raises(ValueError, match="is that of an Emb-MLP or of one layer without norm and head"):
        drive(Transformer(spec))
