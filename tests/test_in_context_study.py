"""The study of in-context learning: its models, gradients, measurements and training, against plain torch and by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
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

from lib.core.model.transformer import from_weights
from lib.core.record.result import RunResult
from lib.core.record.spec import RunSpec, SpecError, TrainSpec, canonical, from_dict
from lib.core.record.start import at_start
from lib.core.record.store import Store, load
from lib.core.sweep.experiment import PROFILES, ROUNDINGS, Experiment
from lib.core.sweep.jobs import sweep
from lib.core.train import plan
from lib.core.train.loop import train
from lib.core.train.plan import Options, backend_for
from lib.in_context import theory
from lib.in_context.experiments import (
    EXPERIMENTS,
    SETTINGS,
    constant,
    one_layer,
    point_specs,
    train_specs,
)
from lib.in_context.models import OneLayer, OneLayerSpec, VectorGPT2, VectorGPT2Spec, hinge, signs
from lib.in_context.study import CONDITIONS, FOREIGN_SUM, N_WATCHED, TEST_SEED, InContext, error_rows, foreign, make_study
from lib.in_context.study import neurons as rows_of
from lib.in_context.task import D_X, Task, all_pairs, no_match_floor
from lib.in_context.task import D as WIDTH

TRAINED_FIRST = [e for e in EXPERIMENTS if ROUNDINGS not in e.profiles]
"""Those of runs that are not trained once more (tests/test_roundings.py)."""

PLAIN = Options(device="cpu", bf16=False, backend="eager")
TINY = OneLayerSpec(neurons=6, delta=0.2, positions=5)
DEEP = replace(TINY, depth=3)
SMALL_GPT = VectorGPT2Spec(d_model=8, depth=2, heads=2, positions=5)
SEEDS = st.integers(0, 2**31)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def randomized(model: nn.Module, seed: int = 0, scale: float = 1.0) -> Any:
    """Every weight of its own, of about the same size whatever the width."""
    with torch.no_grad():
        for i, param in enumerate(model.parameters()):
            param.copy_(scale * drawn(*param.shape, seed=seed + 1000 * i) / param.shape[-1] ** 0.5)
    return model


def single(model: nn.Module, run: int) -> Any:
    """One run of an ensemble as a model of its own."""
    return from_weights(model.spec, {name: p[run].detach() for name, p in model.named_parameters()})


def smoke(seed: int = 0, task: Mapping[str, Any] | None = None, **change: Any) -> RunSpec:
    """The main run of the smoke profile, short prompts."""
    return one_layer("icl-train", SETTINGS["smoke"], seed, {"length": 4, "keep": (10, 20)} | dict(task or {}), **change)


def gpt_spec(seed: int = 0, **task: Any) -> RunSpec:
    task = {"length": 4, "keep": (4,), "prompts": 7} | task
    how = replace(constant(4, 8, 2, "adamw"), clip=1.0)
    return RunSpec("icl-gpt2", 1, 0.5, seed, 1e-3, 0.01, SMALL_GPT, how, tuple(task.items()))


# ---------------------------------------------------------------- one layer


def one_layer_by_hand(w: Mapping[str, Tensor], a: Tensor, prompt: Tensor) -> Tensor:
    """F = Σ_i a_i ReLU(W_O,i Σ_s W_V p_s attn_s), symbol by symbol, for one prompt (l + 1, D)."""
    query = w["layers.0.attention.W_Q.weight"] @ prompt[-1]
    scores = [(w["layers.0.attention.W_K.weight"] @ p) @ query for p in prompt[:-1]]
    total = sum(s.exp() for s in scores)
    read = sum(s.exp() / total * (w["layers.0.W_V.weight"] @ p) for s, p in zip(scores, prompt[:-1], strict=True))
    answer = torch.zeros(())
    for i, row in enumerate(w["layers.0.W_O.weight"]):
        answer = answer + a[i] * max(torch.zeros(()), row @ read)
    return answer


def test_one_layer_is_the_equation() -> None:
    model = randomized(TINY.build(3))
    prompt = drawn(3, 4, 5, WIDTH, seed=1)
    found = model(prompt)
    assert found.shape == (3, 4)
    for run in range(3):
        weights = {name: p[run] for name, p in model.named_parameters()}
        for number in range(4):
            expected = one_layer_by_hand(weights, model.a, prompt[run, number])
            torch.testing.assert_close(found[run, number], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("skip", [True, False])
def test_layers_are_stacked_column_by_column(skip: bool, every: bool) -> None:
    """Every column, the query too, attends to the context, and gets its neurons' output back. The query's neurons are read in
    the last layer, or in every one, of which F is then the sum."""
    model = randomized(replace(DEEP, skip=skip, every=every).build())
    prompt = drawn(1, 2, 5, WIDTH, seed=3)
    found, read = model(prompt), model.query_attention(prompt)
    assert len(read) == 3
    for number in range(2):
        x, told = prompt[0, number], []
        for k in range(3):
            layer = model.layers[k]
            w_q, w_k, w_v, w_o = (part.weight[0] for part in (layer.attention.W_Q, layer.attention.W_K, layer.W_V, layer.W_O))
            torch.testing.assert_close(model.columns(prompt)[k][0, number], x, rtol=1e-4, atol=1e-4)
            weights = torch.stack([torch.stack([(w_k @ p) @ (w_q @ q) for p in x[:-1]]).softmax(0) for q in x])
            torch.testing.assert_close(read[k][0, number], weights[-1], rtol=1e-4, atol=1e-5)
            hidden = torch.stack([(w_o @ (w_v @ (share @ x[:-1]))).relu() for share in weights])
            told.append(hidden[-1] @ model.a)
            if k < 2:
                out = hidden @ model.back[k].weight[0].T
                x = x + out if skip else out
        assert min(abs(part.item()) for part in told) > 1e-3
        torch.testing.assert_close(found[0, number], sum(told) if every else told[-1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spec", [TINY, DEEP, replace(DEEP, skip=False, every=True), SMALL_GPT], ids=str)
def test_an_ensemble_is_its_runs_one_by_one(spec: Any) -> None:
    """Answers, losses, gradients; no number passes from one run to another."""
    model = randomized(spec.build(3))
    prompt = drawn(3, 4, 5, WIDTH, seed=1)
    target = drawn(3, 4, 5, seed=2).sign() * (drawn(3, 4, 5, seed=3) > -0.5)
    target[..., -1] = 1.0
    losses = model.losses(prompt, target)
    assert losses.shape == (3,)
    losses.sum().backward()
    for run in range(3):
        alone = single(model, run).requires_grad_(True)
        torch.testing.assert_close(alone(prompt[run : run + 1])[0], model(prompt)[run], rtol=1e-4, atol=1e-5)
        loss = alone.losses(prompt[run : run + 1], target[run : run + 1])
        torch.testing.assert_close(loss[0], losses[run], rtol=1e-5, atol=1e-6)
        loss.sum().backward()
        for name, p in alone.named_parameters():
            grad = dict(model.named_parameters())[name].grad
            torch.testing.assert_close(p.grad[0], grad[run], rtol=1e-3, atol=1e-6, msg=lambda m, n=name: f"{n}: {m}")


def test_a_is_half_positive_half_negative_and_never_trained() -> None:
    model = OneLayerSpec(8, 0.2, 5).build(2)
    assert model.a.tolist() == pytest.approx([1 / 8**0.5, -1 / 8**0.5] * 4)
    assert OneLayerSpec(8, 0.2, 5, depth=2, a=0.03).build().a.tolist() == pytest.approx([0.03, -0.03] * 4)
    assert (OneLayerSpec(8, 0.2, 5, a=0.03).readout, OneLayerSpec(16, 0.2, 5).readout) == (0.03, 0.25)
    assert signs(4).tolist() == [1, -1, 1, -1]
    assert "a" not in dict(model.named_parameters())
    assert "a" not in model.state_dict()


@pytest.mark.parametrize("depth", [1, 2])
def test_starts_are_those_of_the_paper(depth: int) -> None:
    """δ I exactly, whatever γ; W_O and W_P Gaussian with std m^−γ, which is 1 / √m at ½."""
    spec = replace(smoke(), model=OneLayerSpec(300, 0.35, 5, depth=depth), gamma=0.7)
    model = at_start(spec)
    for layer in model.layers:
        for part in (layer.attention.W_Q, layer.attention.W_K, layer.W_V):
            assert torch.equal(part.weight[0], 0.35 * torch.eye(WIDTH))
    for weight in [layer.W_O.weight for layer in model.layers] + [back.weight for back in model.back]:
        assert weight.std().item() == pytest.approx(300**-0.7, rel=4 / (2 * weight.numel()) ** 0.5)
        assert ((weight / 300**-0.7) ** 4).mean().item() == pytest.approx(3, abs=0.3)  # Gaussian
    other = at_start(replace(spec, gamma=0.0))
    torch.testing.assert_close(model.layers[0].W_O.weight, other.layers[0].W_O.weight * 300**-0.7)


def test_w_p_may_start_apart_from_gamma() -> None:
    """With a std of its own, the same whatever γ, and another from another seed."""
    spec = replace(smoke(), model=OneLayerSpec(300, 0.35, 5, depth=2, back=0.3))
    one, other, third = (at_start(replace(spec, gamma=g, seed=s)).back[0].weight for g, s in ((0.3, 0), (0.7, 0), (0.3, 1)))
    assert one.std().item() == pytest.approx(0.3, rel=4 / (2 * one.numel()) ** 0.5)
    assert torch.equal(one, other)
    assert not torch.equal(one, third)


def test_hinge_by_hand() -> None:
    margin, target = torch.tensor([2.0, 1.0, 0.25, 0.0, -1.5, 3.0]), torch.tensor([1.0, 1.0, 1.0, 1.0, 1.0, -1.0])
    assert hinge(margin, target).tolist() == [0.0, 0.0, 0.75, 1.0, 2.5, 4.0]
    model = randomized(TINY.build(2))
    prompt, z = drawn(2, 3, 5, WIDTH, seed=1), torch.zeros(2, 3, 5)
    z[..., -1] = torch.tensor([1.0, -1.0, 1.0])
    z[..., :-1] = 7.0  # labels of the context are none of the loss of one layer
    expected = [[max(0.0, 1 - y * f) for y, f in zip((1, -1, 1), row, strict=True)] for row in model(prompt).tolist()]
    assert model.losses(prompt, z).tolist() == pytest.approx(np.mean(expected, axis=1), rel=1e-5)


@pytest.mark.parametrize(
    "spec",
    [TINY, OneLayerSpec(400, 0.2, 21), DEEP, replace(DEEP, skip=False, every=True, positions=21), SMALL_GPT, VectorGPT2Spec()],
    ids=str,
)
def test_models_count_what_pytorch_counts(spec: Any) -> None:
    """Multiply-adds to a few percent: the query's own column is counted among those that are attended to."""
    model = spec.build(2)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(2, 3, spec.positions, WIDTH))
    assert counter.get_total_flops() / 12 == pytest.approx(spec.multiply_adds(spec.positions), rel=0.05)
    assert spec.activation_bytes(2 * spec.positions) > spec.activation_bytes(spec.positions) > 4 * spec.positions * WIDTH


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"neurons": 0}, "neurons must be an integer of at least 1, got 0"),
        ({"positions": 2.0}, "positions must be an integer of at least 1, got 2.0"),
        ({"depth": True}, "depth must be an integer of at least 1, got True"),
        ({"neurons": 5}, "neurons must be even, since half of a is positive, got 5"),
        ({"delta": 0.0}, "delta must be above 0, got 0.0"),
        ({"delta": math.nan}, "delta must be a finite number, got nan"),
        ({"a": 0.0}, "a must be above 0, got 0.0"),
        ({"back": -0.3}, "back must be above 0, got -0.3"),
    ],
)
def test_a_model_without_a_start_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=f"^{said}"):
        OneLayerSpec(**{"neurons": 4, "delta": 0.2, "positions": 5} | change)
    with pytest.raises(ValueError, match="heads must divide d_model"):
        VectorGPT2Spec(d_model=9, heads=2)


# ---------------------------------------------------------------- GPT-2


class Reference(nn.Module):
    """The same of PyTorch's own modules, for one run."""

    def __init__(self, model: VectorGPT2, run: int) -> None:
        super().__init__()
        spec = model.spec
        self.parts = []
        copied = lambda linear: self.linear(linear.weight[run], linear.bias[run])
        for block in model.blocks:
            attention, b = nn.MultiheadAttention(spec.d_model, spec.heads, batch_first=True), block.attention
            with torch.no_grad():
                attention.in_proj_weight.copy_(torch.cat([w.weight[run].T for w in (b.W_Q, b.W_K, b.W_V)]))
                attention.in_proj_bias.copy_(torch.cat([w.bias[run] for w in (b.W_Q, b.W_K, b.W_V)]))
                attention.out_proj.weight.copy_(b.W_O.weight[run].T)
                attention.out_proj.bias.copy_(b.W_O.bias[run])
            mlp = nn.Sequential(copied(block.W_1), nn.GELU(), copied(block.W_2))
            self.parts.append((self.norm(block.norm_1, run), attention, self.norm(block.norm_2, run), mlp))
        self.read_in, self.head, self.final = copied(model.read_in), copied(model.head), self.norm(model.final_norm, run)
        self.places = model.places.weight[run]

    @staticmethod
    def linear(weight: Tensor, bias: Tensor) -> nn.Linear:
        made = nn.Linear(*weight.shape)
        made.load_state_dict({"weight": weight.T.detach(), "bias": bias.detach()})
        return made

    @staticmethod
    def norm(of: nn.Module, run: int) -> nn.LayerNorm:
        made = nn.LayerNorm(of.weight.shape[1])
        made.load_state_dict({"weight": of.weight[run].detach(), "bias": of.bias[run].detach()})
        return made

    def forward(self, prompt: Tensor) -> Tensor:
        """(B, l + 1, D) → (B, l + 1)."""
        tokens = []
        for column in prompt.unbind(1):
            x, y = torch.zeros_like(column), torch.zeros_like(column)
            x[:, :D_X], y[:, D_X:] = column[:, :D_X], column[:, D_X:]
            tokens += [x, y]
        x = self.read_in(torch.stack(tokens[:-1], 1)) + self.places
        ahead = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        for norm_1, attention, norm_2, mlp in self.parts:
            h = norm_1(x)
            x = x + attention(h, h, h, attn_mask=ahead, need_weights=False)[0]
            x = x + mlp(norm_2(x))
        return self.head(self.final(x))[:, ::2, 0]


@pytest.mark.parametrize("spec", [SMALL_GPT, VectorGPT2Spec(12, 3, 3, 4)], ids=str)
def test_gpt2_is_made_of_pytorchs_parts(spec: VectorGPT2Spec) -> None:
    model = randomized(spec.build(2), scale=1.5)
    prompt = drawn(2, 3, spec.positions, WIDTH, seed=1)
    with torch.no_grad():
        found = model(prompt)
        assert found.shape == (2, 3, spec.positions)
        for run in range(2):
            torch.testing.assert_close(found[run], Reference(model, run)(prompt[run]), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(model(prompt[:, :, :3]), found[:, :, :3], rtol=1e-4, atol=1e-5)  # shorter prompts


def test_the_loss_of_gpt2_is_over_columns_with_a_label() -> None:
    model = randomized(SMALL_GPT.build(2), scale=2)
    prompt = drawn(2, 3, 5, WIDTH, seed=1)
    target = torch.tensor([[1.0, 0, -1, 0, 1], [0, 0, 0, 0, -1], [-1, -1, 1, 0, 1]]).expand(2, -1, -1)
    answers = model(prompt).tolist()
    for run in range(2):
        losses = [
            max(0.0, 1 - z * f)
            for row, answer in zip(target[run].tolist(), answers[run], strict=True)
            for z, f in zip(row, answer, strict=True)
            if z
        ]
        assert len(losses) == 8
        assert model.losses(prompt, target)[run].item() == pytest.approx(np.mean(losses), rel=1e-5)
    alone = randomized(replace(SMALL_GPT, query_only=True).build(2), scale=2)
    torch.testing.assert_close(alone.losses(prompt, target), hinge(model(prompt)[..., -1], target[..., -1]).mean(1))


WIDE_KEY, GPT_KEY = "4f30d9592594b8ba2e5e", "efaeea288b03a0ac724e"


def test_fields_that_came_later_left_stored_keys_alone() -> None:
    """These are the keys that the two runs had before there was any of these fields; with them they are others."""
    sgd, adamw = constant(1000, 200, 10), TrainSpec(64, 800, 100, fit_metric="seen", eval_every=50)
    wide = RunSpec("icl-train", 1, 0.5, 0, 0.3, 0.0, OneLayerSpec(400, 0.2, 21), sgd, (("length", 20),))
    gpt = RunSpec("icl-gpt2", 1, 0.5, 0, 1e-3, 0.01, VectorGPT2Spec(), adamw, (("length", 20),))
    assert (wide.key, gpt.key) == (WIDE_KEY, GPT_KEY)
    for spec, change in ((wide, {"a": 0.05}), (wide, {"every": True}), (wide, {"back": 0.3}), (gpt, {"query_only": True})):
        other = replace(spec, model=replace(spec.model, **change))
        assert other.key != spec.key
        assert other.as_dict()["model"] == spec.as_dict()["model"] | change
    assert replace(wide, model=replace(wide.model, a=1)).key == replace(wide, model=replace(wide.model, a=1.0)).key


@pytest.mark.parametrize(
    "spec",
    [
        smoke(),
        smoke(depth=3, skip=False, a=None, every=True, back=0.3),
        gpt_spec(),
        replace(gpt_spec(), model=replace(SMALL_GPT, query_only=True), task=(("length", 4), ("mix", 3), ("m1", 9), ("m2", 18))),
    ],
    ids=["one layer", "three layers", "GPT-2", "GPT-2 by the query alone"],
)
def test_a_run_travels_by_file(spec: RunSpec) -> None:
    again = from_dict(json.loads(canonical(spec.as_dict())))
    assert (again, again.key) == (spec, spec.key)
    assert type(again.model) is type(spec.model)
    assert backend_for([spec], Options(device="cpu")) == "eager"


# ---------------------------------------------------------------- gradients


def by_autograd(model: OneLayer, prompts: Tensor, z: Tensor, query_too: bool) -> dict[str, np.ndarray]:
    """Gradients of the mean hinge loss, with the forward pass written out, in double precision."""
    w = {name: torch.tensor(value, requires_grad=name != "a") for name, value in theory.arrays(model).items()}
    total = 0.0
    for prompt, label in zip(prompts, z, strict=True):
        columns = prompt if query_too else prompt[:-1]
        attention = torch.softmax((columns @ w["W_K"].T) @ (w["W_Q"] @ prompt[-1]), 0)
        margin = label * (w["a"] @ F.relu(w["W_O"] @ (w["W_V"] @ (attention @ columns))))
        total = total + F.relu(1 - margin)
    names = ("W_Q", "W_K", "W_V", "W_O")
    found = torch.autograd.grad(total / len(z), [w[name] for name in names], allow_unused=True)
    return {name: np.zeros(w[name].shape) if g is None else g.numpy() for name, g in zip(names, found, strict=True)}


@given(SEEDS, st.integers(1, 6), st.integers(1, 5), st.integers(1, 6), st.booleans(), st.sampled_from([0.3, 1.0, 3.0]))
def test_gradients_are_those_of_autograd(seed: int, half: int, count: int, length: int, query_too: bool, scale: float) -> None:
    """Of sums over l columns and over l + 1; with large weights many prompts have a margin above 1."""
    model = randomized(OneLayerSpec(2 * half, 0.2, length + 1).build(), seed, scale)
    prompts, z = drawn(count, length + 1, WIDTH, seed=seed + 1).double(), drawn(count, seed=seed + 2).sign().double()
    found = theory.gradients(theory.arrays(model), prompts.numpy(), z.numpy(), query_too)
    expected = by_autograd(model, prompts, z, query_too)
    assert found.keys() == expected.keys()
    for name, grad in expected.items():
        np.testing.assert_allclose(found[name], grad, rtol=1e-8, atol=1e-10 * max(1.0, np.abs(grad).max()), err_msg=name)


# ---------------------------------------------------------------- measurements


class Copier:
    """Two runs that know the rule: F is the sum of the matching examples' labels; the second says the opposite."""

    def __init__(self, every_column: bool = False) -> None:
        self.every_column = every_column

    def logits(self, prompt: Tensor) -> Tensor:
        kind = prompt[..., :6].argmax(-1)
        label = prompt[..., D_X]
        margin = (label[:, :-1] * (kind[:, :-1] == kind[:, -1:])).sum(1)
        both = torch.stack([margin, -margin])
        return torch.stack([9 * torch.ones_like(both), both], -1) if self.every_column else both


@pytest.mark.parametrize("every_column", [False, True])
def test_a_model_that_copies_and_one_that_says_the_opposite(every_column: bool) -> None:
    """Of a model with an answer for every column the last is measured. No matching example is a margin of zero: wrong."""
    study = InContext(length=4)
    found = study.measure(Copier(every_column))
    assert found.keys() == {"seen", "seen loss", "unseen", "unseen loss"}
    for name, pairs in (("seen", study.task.pairs), ("unseen", study.task.unseen)):
        test = study.task.draw(torch.tensor(TEST_SEED), torch.arange(1000), pairs)
        matches = test.same.sum(1).double()
        share = (matches > 0).double().mean().item()
        assert found[name].tolist() == pytest.approx([share, 0.0])
        assert share == pytest.approx(1 - 2 * no_match_floor(0.8, 4), abs=0.05)
        losses = [(1 - matches).clamp(min=0).mean().item(), (1 + matches).mean().item()]
        assert found[f"{name} loss"].tolist() == pytest.approx(losses, rel=1e-6)


def test_training_batches_are_prompts_of_seen_tasks() -> None:
    """Of each run's own stream."""
    study, seed, index = InContext(length=4), torch.tensor([[3], [4]]), torch.arange(300).expand(2, -1)
    own = study.task.draw(seed, index)
    torch.testing.assert_close(study.batch(seed, index), (own.prompt, own.target), rtol=0, atol=0)
    assert set(map(tuple, own.pair.flatten(0, 1).tolist())) == set(map(tuple, study.task.pairs.tolist()))


def test_without_held_out_tasks_only_seen_ones_are_measured() -> None:
    assert InContext(length=4, shifts=(1, 2, 3, 4, 5)).measure(Copier()).keys() == {"seen", "seen loss"}
    among = InContext(length=4, shifts=(1, 2), among=3)
    assert {tuple(pair) for pair in among.sets["unseen"].pair.tolist()} == {
        (a, b) for a, b in all_pairs(6).tolist() if max(a, b) > 2
    }


# ---------------------------------------------------------------- what is watched

PARTS = {"query norm", "query projection", "key norm", "key projection"}


def test_watched_names() -> None:
    """Attention always; the rest of runs that keep snapshots; out of domain where there are patterns enough for it."""
    names = lambda study, spec=TINY: study.watch(randomized(spec.build())).keys()
    assert names(InContext(length=4)) == {"attention.1"}
    whole = {f"{where}{name}" for where in ("", "foreign ") for name in {"attention.1", *PARTS}}
    assert names(InContext(length=4, keep=(10,))) == whole | {"push"}
    assert names(InContext(length=4, keep=(10,), m1=4)) == {"attention.1", "push", *PARTS}
    deep = {f"{where}attention.{k}" for where in ("", "foreign ") for k in (1, 2, 3)}
    assert names(InContext(length=4, keep=(10,)), DEEP) == deep
    assert InContext(length=4, keep=(10,)).watch(SMALL_GPT.build()) == {}


def test_watched_numbers_are_those_of_each_prompt() -> None:
    """Prompts of all tasks in domain, and of combinations with S₁ = 1.1 out of it."""
    study, model = InContext(length=4, keep=(10,)), randomized(TINY.build(2), scale=1.3)
    found = study.watch(model)
    for where, task in (("", study.task), ("foreign ", foreign(study.task, sum=FOREIGN_SUM))):
        test = task.draw(torch.tensor(TEST_SEED), torch.arange(N_WATCHED), None if where else all_pairs(6))
        for run in range(2):
            w_q, w_k = (part.weight[run].detach() for part in (model.layers[0].attention.W_Q, model.layers[0].attention.W_K))
            attended, norms, along, key_norms, key_along = [], [], [], [], []
            for prompt, pattern in zip(test.prompt, test.pattern.tolist(), strict=True):
                unit = [F.pad(task.patterns[j], (0, 30)) for j in pattern]
                q = w_q @ prompt[-1]
                keys = [w_k @ p for p in prompt[:-1]]
                share = torch.stack([k @ q for k in keys]).softmax(0)
                attended.append(sum(s for s, j in zip(share.tolist(), pattern[:-1], strict=True) if j == pattern[-1]))
                norms.append(q.norm())
                along.append(q @ unit[-1])
                key_norms += [k.norm() for k in keys]
                key_along += [k @ u for k, u in zip(keys, unit[:-1], strict=True)]
            expected = {
                "attention.1": np.mean(attended),
                "query norm": torch.stack(norms).mean().item(),
                "query projection": torch.stack(along).mean().item(),
                "key norm": torch.stack(key_norms).mean().item(),
                "key projection": torch.stack(key_along).mean().item(),
            }
            for name, value in expected.items():
                assert found[f"{where}{name}"][run].item() == pytest.approx(value, rel=1e-4, abs=1e-5), where + name


@pytest.mark.parametrize("scale", [0.3, 1.5])
def test_the_push_is_minus_the_slides_gradient_times_the_query(scale: float) -> None:
    """Of two runs, by the gradient in numpy; nothing is left in the model's own gradients."""
    study, model = InContext(length=4, keep=(10,)), randomized(TINY.build(2), scale=scale)
    found = study.watch(model)["push"]
    test = study.task.draw(torch.tensor(TEST_SEED), torch.arange(N_WATCHED), all_pairs(6))
    query, unit = test.prompt[:, -1].double().numpy(), F.pad(study.task.patterns, (0, 30)).numpy()[test.pattern[:, -1]]
    for run in range(2):
        w = theory.arrays(single(model, run))
        gradient = theory.gradients(w, test.prompt.double().numpy(), test.answer.double().numpy())["W_Q"]
        moved = -query @ gradient.T
        cosine = (moved * unit).sum(1) / np.linalg.norm(moved, axis=1)
        assert found[run].item() == pytest.approx(cosine.mean(), abs=1e-4)
    assert found[0] != found[1]
    assert all(p.grad is None for p in model.parameters())


def test_where_every_margin_is_above_one_nothing_is_pushed() -> None:
    """A model that copies labels in large letters, on patterns that all show: a cosine of nothing is 0."""
    study, model = InContext(length=30, keep=(10,), alpha=1.0), TINY.build()
    with torch.no_grad():
        layer = model.layers[0]
        for part in (layer.attention.W_Q, layer.attention.W_K, layer.W_V):
            part.weight[0] = 3 * torch.eye(WIDTH)
        layer.W_O.weight[0, :, D_X] = 30 * signs(6)
    assert study.watch(model)["push"].item() == 0


# ---------------------------------------------------------------- snapshots


def test_neurons_by_hand() -> None:
    """Rows of W_O for W_V = I: along the mean pattern, against it, across, at 45°, nothing; labels along q, −q, and at 60°."""
    model = OneLayerSpec(6, 0.2, 5).build()
    mean, rows = torch.zeros(D_X), torch.zeros(6, WIDTH)
    mean[:6] = 1 / 6**0.5
    rows[0, :D_X], rows[1, :D_X] = 2 * mean, -3 * mean
    rows[2, 7] = 1.0
    rows[3, :D_X] = mean
    rows[3, 20] = 1.0
    rows[5, 0] = 1.0  # one of the six patterns
    rows[0, D_X], rows[1, D_X], rows[2, D_X + 3] = 0.5, -0.25, 1.0
    rows[3, D_X : D_X + 2] = torch.tensor([1.0, 3**0.5])
    with torch.no_grad():
        model.layers[0].W_O.weight[0], model.layers[0].W_V.weight[0] = rows, torch.eye(WIDTH)
        found = {name: value[0].tolist() for name, value in rows_of(model, 6).items()}
    assert found["feature norm"] == pytest.approx([2, 3, 1, 2**0.5, 0, 1])
    assert found["row norm"] == pytest.approx(rows.norm(dim=1).tolist())
    assert found["feature angle"] == pytest.approx([0, 1, 0.5, 0.25, 0.5, math.acos(6**-0.5) / math.pi], abs=1e-3)
    assert found["label norm"] == pytest.approx([0.5, 0.25, 1, 2, 0, 0])
    assert found["label angle"] == pytest.approx([0, 1, 0.5, 1 / 3, 0.5, 0.5], abs=1e-3)
    with torch.no_grad():  # what a neuron reads from a column is its row of W_O W_V
        model.layers[0].W_O.weight[0, 4, 40] = 2.0
        model.layers[0].W_V.weight[0].zero_()
        model.layers[0].W_V.weight[0, 40, :6] = 1.0
        again = rows_of(model, 6)
    assert again["feature angle"][0, 4].item() == pytest.approx(0, abs=1e-3)
    assert again["feature norm"][0, 4].item() == pytest.approx(2 * 6**0.5)
    assert again["row norm"][0, 4].item() == pytest.approx(2)


def test_snapshots_are_kept_at_their_steps_for_every_layer() -> None:
    study, model = InContext(length=4, keep=(10, 30)), randomized(DEEP.build(2))
    assert [step for step in range(40) if study.snapshot(model, step)] == [10, 30]
    found = study.snapshot(model, 10)
    names = {"feature norm", "feature angle", "label norm", "label angle", "row norm"}
    assert found.keys() == {f"{name}.{k}" for name in names for k in (1, 2, 3)}
    for k in (1, 2, 3):
        part = model.layers[k - 1]
        rows = (part.W_O.weight @ part.W_V.weight).detach()
        torch.testing.assert_close(found[f"row norm.{k}"], part.W_O.weight.norm(dim=-1).detach())
        torch.testing.assert_close(found[f"label norm.{k}"], rows[..., D_X:].norm(dim=-1))


def test_rows_that_are_not_finite_are_no_error() -> None:
    """A diverged run goes on beside the others until the next evaluation."""
    model = randomized(TINY.build(2))
    with torch.no_grad():
        model.layers[0].W_O.weight[0] = torch.nan
        found = rows_of(model, 6)
    assert all(value.isfinite().all() for value in found.values())
    assert found["feature norm"][0].tolist() == [0] * 6


def named(condition: str) -> dict[str, Any]:
    """What a condition's name says of its patterns."""
    if condition == "in domain":
        return {}
    return {"outside": True} if condition == "outside the span" else {"sum": float(condition.removeprefix("S1 = "))}


def test_errors_are_counted_prompt_by_prompt() -> None:
    """Two runs in every condition: each column with a label is a query of the columns before it. In domain the tasks are
    unseen ones; each condition has prompts of its own; how many are asked at once does not matter."""
    study, model = InContext(length=4, keep=(4,), prompts=7), randomized(SMALL_GPT.build(2), scale=2)
    found = study.snapshot(model, 4)
    assert found.keys() == {"errors", "counts"}
    assert found["errors"].shape == found["counts"].shape == (2, len(error_rows()), 5)
    assert len(error_rows()) == len(set(error_rows())) == 21
    assert error_rows("in domain") == error_rows()[:3]
    assert [name for name, _ in CONDITIONS] == [
        "in domain",
        *(f"S1 = {s}" for s in (0.5, 0.7, 0.9, 1.1, 1.3)),
        "outside the span",
    ]
    for row, (condition, alpha) in enumerate(error_rows()):
        change = named(condition)
        task = Task(length=4, alpha=alpha)
        task = foreign(task, **change) if change else task
        test = task.draw(torch.tensor(TEST_SEED), torch.arange(7) + 7 * row, None if change else task.unseen)
        asked = (test.target != 0).sum(0)
        assert asked[-1] == 7
        with torch.no_grad():
            margin = model(test.prompt.expand(2, -1, -1, -1))
        for run in range(2):
            wrong = [
                sum(m * z <= 0 for m, z in zip(*column, strict=True) if z)
                for column in zip(margin[run].T.tolist(), test.target.T.tolist(), strict=True)
            ]
            assert found["counts"][run, row].tolist() == asked.tolist()
            expected = [w / n if n else None for w, n in zip(wrong, asked.tolist(), strict=True)]
            for ours, theirs in zip(found["errors"][run, row].tolist(), expected, strict=True):
                assert ours == pytest.approx(theirs, abs=1e-6) if theirs is not None else math.isnan(ours)
    for chunk in (2, 7):
        again = study.errors(model, chunk)
        torch.testing.assert_close(again["errors"], found["errors"], equal_nan=True)


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("spec", "error", "said"),
    [
        *((smoke(task={"keep": (10, step)}), SpecError, f"a snapshot at step {step} would never be") for step in (5, 30, 0)),
        (
            replace(smoke(), task=(("length", 6),)),
            SpecError,
            "a prompt of 7 columns needs a model with as many positions",
        ),
        (gpt_spec(prompts=0), SpecError, "prompts must be an integer of at least 1"),
        (gpt_spec(only="abroad"), SpecError, "unknown condition 'abroad': choose from in domain, S1 = 0.5"),
        (smoke(task={"colour": "red"}), TypeError, ".*colour"),
    ],
)
def test_arguments_that_make_no_study_are_refused(spec: RunSpec, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=f"^{said}"):
        make_study(spec)


# ---------------------------------------------------------------- the engine


def trained(spec: RunSpec) -> RunResult:
    (result,) = train([spec], make_study(spec), replace(PLAIN, slots=1))
    return result


@pytest.mark.parametrize(
    "make",
    [smoke, lambda seed=0: smoke(seed, depth=2, back=0.3), gpt_spec],
    ids=["one layer", "two layers", "GPT-2"],
)
def test_a_run_does_not_depend_on_its_company(make: Callable[..., RunSpec]) -> None:
    """Three in two slots, so that the last takes the place of another."""
    specs = [make(), replace(make(1), gamma=0.3, rate=2 * make().rate), replace(make(2), gamma=0.7)]
    together = {result.spec: result for result in train(specs, make_study(specs[0]), replace(PLAIN, slots=2))}
    for spec in specs:
        ours, alone = together[spec], trained(spec)
        assert ours.history["loss"] == pytest.approx(alone.history["loss"], rel=1e-4)
        of = lambda result: (
            result.weights | {f"{name} at {k}": v for k, kept in result.snapshots.items() for name, v in kept.items()}
        )
        torch.testing.assert_close(of(ours), of(alone), rtol=1e-3, atol=1e-4, equal_nan=True)
    assert len({result.history["loss"][-1] for result in together.values()}) == 3


def test_one_layer_is_never_trained_in_bfloat16(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the device has it and it is asked for; the small GPT-2 is."""
    monkeypatch.setattr(plan, "has_bf16", lambda device: True)
    fast, store = replace(PLAIN, bf16=True), Store(tmp_path)
    for spec, precision in ((smoke(), "float32"), (smoke(depth=2), "float32"), (gpt_spec(), "bfloat16")):
        sweep([spec], store, make_study, fast, progress=False)
        (run,) = load([spec], store)
        assert run.provenance["precision"] == precision
        exact = trained(spec)
        same = [round(v, 4) for v in run.history["loss"]] == [round(v, 4) for v in exact.history["loss"]]
        assert same is (precision == "float32")


# ---------------------------------------------------------------- experiments

GOLDEN = {
    "icl-train": (0.99979, 0.99968, 0.086225),
    "icl-speed": (0.99992, 0.99993, 0.078946),
    "icl-cover": (0.99979, 0.99968, 0.086225),
    "icl-deep": (0.99346, 0.98135, 0.41368),
    "icl-gpt2": (1.04759, 1.00191, 0.20531),
    "icl-story": (0.97457, 0.97989, 0.47716),
    "icl-table": (0.99168, 1.00279, 0.6221),
    "icl-search": (1.00007, 0.99993, 0.050896),
}
"""{experiment: (mean training loss at the last evaluation, held-out loss at the end, how far weights have moved)} of the first
smoke run in single precision. They change only with the meaning of the results; then raise VERSION."""


def first_smoke(experiment: Experiment) -> RunSpec:
    """GPT-2 is evaluated less often: 2,000 prompts for each of ten steps would take most of a test's time."""
    spec = experiment.specs("smoke")[0]
    return replace(spec, train=replace(spec.train, eval_every=10)) if experiment.name == "icl-gpt2" else spec


@pytest.mark.parametrize("experiment", TRAINED_FIRST, ids=lambda e: e.name)
def test_golden_numbers(experiment: Experiment) -> None:
    spec = first_smoke(experiment)
    result = trained(spec)
    start = {name: p[0] for name, p in at_start(spec).named_parameters()}
    moved = sum((weight - start[name]).square().sum().item() for name, weight in result.weights.items()) ** 0.5
    loss, held_out, distance = GOLDEN[experiment.name]
    assert result.history["loss"][-1] == pytest.approx(loss, abs=1e-3)
    assert result.metrics["unseen loss"] == pytest.approx(held_out, abs=1e-3)
    assert moved == pytest.approx(distance, rel=5e-3)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("experiment", TRAINED_FIRST, ids=lambda e: e.name)
def test_every_run_can_be_trained(experiment: Experiment, profile: str) -> None:
    """Little at the smoke profile."""
    specs = experiment.specs(profile)
    for spec in {spec.shape: spec for spec in specs}.values():
        assert spec.train.fit_metric in experiment.make_study(spec).sets
    if profile == "smoke":
        assert max(spec.train.steps * spec.train.batch for spec in specs) <= 400


def test_another_alpha_is_asked_of_as_many_seeds() -> None:
    assert point_specs("laptop", 0.8) == train_specs("laptop")
    assert {dict(s.task)["alpha"] for s in point_specs("laptop", 0.4)} == {0.4}
    with pytest.raises(SpecError, match=r"alpha must lie in \[0, 1\]"):
        point_specs("laptop", 1.5)


def test_settings_were_searched_on_seeds_that_no_figure_shows() -> None:
    shown = {spec.seed for e in EXPERIMENTS if e.name != "icl-search" for spec in e.specs("laptop")}
    (search,) = [e for e in EXPERIMENTS if e.name == "icl-search"]
    assert not shown & {spec.seed for spec in search.specs("laptop")}
