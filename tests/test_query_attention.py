"""Attention as theory has it, against PyTorch's own and against loops: starts, transposes, scores."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from lib.core.model.init import apply_gamma_stacked
from lib.core.model.query_attention import QueryAttention, ScaledIdentity

SEEDS = st.integers(0, 2**31)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def randomized(module: nn.Module, seed: int = 0) -> nn.Module:
    """Every weight of its own, in double precision."""
    for i, param in enumerate(module.double().parameters()):
        param.data = drawn(*param.shape, seed=seed + 1000 * i)
    return module


# ---------------------------------------------------------------- scaled identities


def started(*shape: int, **how: float) -> ScaledIdentity:
    """Reset after it was something else; γ and seed are to play no part."""
    module = ScaledIdentity(*shape, **how)
    with torch.no_grad():
        module.weight.fill_(7.0)
    apply_gamma_stacked(module, [0.3, 2.0][: shape[0]], [1, 2][: shape[0]])
    return module


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_a_start_is_a_scaled_identity_exactly(gamma: float) -> None:
    module = started(2, 4, 4, scale=0.2)
    for run in range(2):
        assert torch.equal(module.weight[run], 0.2 * torch.eye(4))


@pytest.mark.parametrize(
    ("d_out", "d_in", "offset", "ones"),
    [
        (2, 4, 0, [(0, 0), (1, 1)]),
        (2, 4, 2, [(0, 2), (1, 3)]),  # reads the second half
        (4, 2, 0, [(0, 0), (1, 1)]),
        (3, 5, 1, [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_the_diagonal_begins_at_its_column(d_out: int, d_in: int, offset: int, ones: list[tuple[int, int]]) -> None:
    expected = torch.zeros(d_out, d_in)
    for place in ones:
        expected[place] = 1.5
    assert torch.equal(started(1, d_out, d_in, scale=1.5, offset=offset).weight[0], expected)


def test_only_the_run_that_is_asked_for_is_reset() -> None:
    module = ScaledIdentity(3, 2, 2, 0.5)
    with torch.no_grad():
        module.weight.fill_(7.0)
    apply_gamma_stacked(module, [0.5], [0], runs=[1])
    assert torch.equal(module.weight[1], 0.5 * torch.eye(2))
    assert (module.weight[[0, 2]] == 7).all()


def test_a_start_draws_nothing() -> None:
    """So that what is drawn after it does not depend on how many of them there are."""
    generator = torch.Generator().manual_seed(3)
    before = generator.get_state()
    with torch.no_grad():
        ScaledIdentity(1, 3, 3, 1.0).reset_run(0, "weight", generator)
    assert torch.equal(generator.get_state(), before)


@given(SEEDS, st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), st.integers(1, 5), st.integers(1, 5))
def test_matrices_act_from_the_left(seed: int, runs: int, batch: int, length: int, d_out: int, d_in: int) -> None:
    """W p and Wᵀ p, column by column, for one vector a prompt and for a matrix of them."""
    module = randomized(ScaledIdentity(runs, d_out, d_in, 1.0), seed)
    for shape in ((runs, batch), (runs, batch, length), (runs, batch, length, 2)):
        there, back = drawn(*shape, d_in, seed=seed + 1), drawn(*shape, d_out, seed=seed + 2)
        mapped, returned = module(there), module.transposed(back)
        assert (mapped.shape, returned.shape) == ((*shape, d_out), (*shape, d_in))
        for run in range(runs):
            w = module.weight[run]
            for p, q in zip(there[run].flatten(0, -2), mapped[run].flatten(0, -2), strict=True):
                torch.testing.assert_close(q, w @ p)
            for p, q in zip(back[run].flatten(0, -2), returned[run].flatten(0, -2), strict=True):
                torch.testing.assert_close(q, w.T @ p)


# ---------------------------------------------------------------- attention


@given(SEEDS, st.integers(1, 3), st.integers(1, 4), st.integers(1, 6), st.integers(1, 5))
def test_scores_are_those_of_pytorchs_attention_with_scale_one(
    seed: int, runs: int, batch: int, length: int, width: int
) -> None:
    attention = randomized(QueryAttention(runs, width, 0.1), seed)
    context, query = drawn(runs, batch, length, width, seed=seed + 1), drawn(runs, batch, width, seed=seed + 2)
    weights = (context @ attention.asked(query)[..., None])[..., 0].softmax(-1)
    for run in range(runs):
        asked = query[run, :, None] @ attention.W_Q.weight[run].T
        keys = context[run] @ attention.W_K.weight[run].T
        expected = F.scaled_dot_product_attention(asked, keys, context[run], scale=1.0)[:, 0]
        torch.testing.assert_close((weights[run][:, None] @ context[run])[:, 0], expected)
