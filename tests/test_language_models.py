"""The language model: against the transformer that answers at the last position, PyTorch's own loss, and by hand."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from lib.core.model.init import apply_gamma_stacked
from lib.core.model.transformer import IGNORED, ActivationCache, ModelSpec, n_parameters
from lib.core.record.spec import RunSpec, TrainSpec
from lib.core.train import native
from lib.core.train.ensemble import Ensemble
from lib.core.train.loop import train
from lib.core.train.plan import Options, backend_for
from lib.language.models import Causal, CausalSpec

SHAPE = {"vocab": 13, "positions": 9, "depth": 2, "d_ff": 24, "norm": "pre", "activation": "gelu", "bias": True}


def built(runs: int = 2, tied: bool = True) -> Causal:
    model = CausalSpec.split_heads(16, 2, **SHAPE, tied=tied).build(runs)
    apply_gamma_stacked(model, [0.3, 0.6][:runs], list(range(runs)), list(range(runs)))
    return model


def rows(runs: int = 2, seed: int = 0) -> Tensor:
    return torch.randint(0, 13, (runs, 5, 7), generator=torch.Generator().manual_seed(seed))


def test_it_answers_at_every_position_what_a_transformer_answers_of_the_row_up_to_there() -> None:
    model = built(tied=False)
    plain = ModelSpec.split_heads(16, 2, **SHAPE, head_bias=False).build(2)
    plain.load_state_dict(model.state_dict())
    logits = model(rows())
    assert logits.shape == (2, 5, 7, 13)
    for n in range(1, 8):
        torch.testing.assert_close(logits[:, :, n - 1], plain(rows()[..., :n]))


def test_a_tied_model_reads_its_answer_off_the_embedding() -> None:
    model, activations = built(), ActivationCache()
    assert "head.weight" not in model.state_dict()
    loose = built(tied=False)
    state = model.state_dict() | {"head.weight": model.embedding.token.detach().transpose(1, 2)}
    loose.load_state_dict(state)
    torch.testing.assert_close(model(rows(), activations), loose(rows()))
    torch.testing.assert_close(activations["logits"], loose(rows()))
    assert n_parameters(loose.spec) - n_parameters(model.spec) == 16 * model.spec.vocab


def test_the_loss_is_the_mean_over_what_is_asked_for_in_each_run() -> None:
    model, target = built(), rows(seed=1)
    target[:, :, :3] = IGNORED
    target[0, 0] = IGNORED  # padding, as it were
    found = model.losses(rows(), target)
    for run in range(2):
        expected = F.cross_entropy(model(rows())[run].flatten(0, 1), target[run].flatten(), ignore_index=IGNORED)
        torch.testing.assert_close(found[run], expected)
    assert model.losses(rows(), torch.full_like(target, IGNORED)).tolist() == [0, 0]


def test_padding_behind_a_row_changes_no_answer_and_no_gradient() -> None:
    model, target = built(), rows(seed=1)
    target[..., 4:] = IGNORED
    one, other = rows(), rows()
    other[..., 5:] = 0
    torch.testing.assert_close(model(one)[..., :5, :], model(other)[..., :5, :])
    grads = [torch.autograd.grad(model.losses(tokens, target).sum(), model.blocks[0].W_1.weight)[0] for tokens in (one, other)]
    torch.testing.assert_close(*grads)


def test_no_number_passes_from_one_run_to_another() -> None:
    model, target = built(), rows(seed=1)
    other = copy.deepcopy(model)
    with torch.no_grad():
        for p in other.parameters():
            p[1] *= 3
    assert model.losses(rows(), target)[0] == other.losses(rows(), target)[0]


@pytest.mark.parametrize("change", [{"head": False, "d_model": 13}, {"head_bias": True}])
def test_another_form_of_output_is_refused(change: dict) -> None:
    values = {"d_model": 16, "d_k": 8, "d_v": 8, "heads": 2} | SHAPE | change
    with pytest.raises(ValueError, match="output matrix"):
        CausalSpec(**values)


class Repeat:
    """Rows a b a b …: from the third token on the rest can be known."""

    length = 8

    def batch(self, seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        pair = torch.stack([(seed * 7 + index * 5) % 13, (index * 3 + index // 13) % 13], -1)
        row = pair.repeat(1, 1, 5)[..., :9]
        target = row[..., 1:].clone()
        target[..., :1] = IGNORED
        return row[..., :-1], target

    def measure(self, ask) -> dict[str, Tensor]:  # noqa: ANN001 (Ask, or what stands for it)
        tokens, target = self.batch(torch.tensor([[99]]), torch.arange(20)[None])
        right = (ask(tokens[0]) == target[0])[..., 1:].float().mean((1, 2))
        return {"test": right}


def test_the_engine_trains_it_in_ensembles() -> None:
    model = CausalSpec.split_heads(16, 2, **SHAPE)
    how = TrainSpec(batch=16, steps=300, warmup=10, eval_every=100)
    specs = [RunSpec("repeat", 1, gamma, seed, 1e-2, 0.0, model, how) for gamma, seed in ((0.4, 0), (0.6, 1))]
    for run in train(specs, Repeat(), Options(bf16=False)):
        assert run.metrics["test"] > 0.95
        assert run.history["loss"][-1] < 0.3


@pytest.mark.skipif(native.library(torch.float32) is None, reason="no AVX-512, or no C++ compiler")
@pytest.mark.parametrize("tied", [True, False])
def test_the_native_program_trains_it_as_pytorch_does(tied: bool) -> None:
    """Rows of two lengths by turns, of which a third of the tokens is not asked for; a second run beside, on its own data."""
    model = CausalSpec.split_heads(32, 2, **(SHAPE | {"tied": tied, "positions": 30}))
    how = TrainSpec(batch=6, steps=20, warmup=2, eval_every=20)
    specs = [RunSpec("turns", 1, 0.5, seed, 1e-2, 0.1, model, how) for seed in (0, 1)]

    def rows(seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        length = 21 if int(index[0, 0]) // how.batch % 2 else 5
        tokens = (seed[..., None] * 7 + index[..., None] * 5 + torch.arange(length) ** 2) % model.vocab
        return tokens, torch.where(tokens % 3 > 0, (tokens * 3 + 1) % model.vocab, IGNORED)

    def trained(backend: str) -> Ensemble:
        made = Ensemble(specs[0], 2, torch.device("cpu"), torch.float32, backend)
        for slot, spec in enumerate(specs):
            made.load(slot, spec)
        for _ in range(how.steps):
            made.train_step(rows)
        return made

    ours, theirs = trained("native"), trained("eager")
    assert backend_for(specs, Options(bf16=False)) == "native"
    torch.testing.assert_close(ours.loss_sum, theirs.loss_sum, rtol=1e-5, atol=1e-5)
    for (name, one), other in zip(ours.model.named_parameters(), theirs.model.parameters(), strict=True):
        if "W_K.bias" not in name:  # its gradient is zero, and AdamW makes steps of what rounding leaves of that
            torch.testing.assert_close(one, other, rtol=1e-3, atol=2e-4)


@pytest.mark.skipif(native.library(torch.bfloat16) is None, reason="no AVX-512 with bfloat16, or no C++ compiler")
def test_a_runs_bits_are_its_own_however_long_the_rows_beside_it_are() -> None:
    """The same rows, padded behind for another run's sake, in sixteen sequences and thus several chunks."""
    model = CausalSpec.split_heads(32, 2, **(SHAPE | {"vocab": 300, "positions": 128})).build(1)
    apply_gamma_stacked(model, [0.4], [0], [0])
    tokens = torch.randint(0, 300, (1, 16, 24), generator=torch.Generator().manual_seed(0))
    target = torch.where(tokens % 3 > 0, (tokens * 7) % 300, IGNORED)
    found = []
    for length in (24, 64, 128):
        padded = [F.pad(rows, (0, length - 24), value=value) for rows, value in ((tokens, 0), (target, IGNORED))]
        found.append(native.Program(model.spec, 16, length, 1, torch.bfloat16).gradients(model, *padded))
    for loss, gradients in found[1:]:
        assert torch.equal(loss, found[0][0])
        assert all(torch.equal(one, other) for one, other in zip(gradients, found[0][1], strict=True))
