"""The stacked optimizers against torch.optim, run by run."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from lib.core.train.optim import adamw_step, clip_scale, sgd_step, warmup_cosine

RUNS = 4
SHAPES = [(3, 5), (7,), (2, 2, 2)]
RATES = [1e-3, 0.0, 5e-2, 1.0]
DECAYS = [0.01, 0.5, 0.0, 0.3]
STARTS = [0, 3, 0, 250]
SCALES = [1e-3, 1.0, 10.0, 0.2]  # gradients of some runs are clipped, of others not
MAX_NORM = 1.0


def make_stack(dtype: torch.dtype, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(RUNS, *shape, generator=generator, dtype=dtype) for shape in SHAPES]


def make_gradients(dtype: torch.dtype, step: int) -> list[Tensor]:
    scale = torch.tensor(SCALES, dtype=dtype)
    return [g * scale.view(-1, *[1] * (g.dim() - 1)) for g in make_stack(dtype, 100 + step)]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 5e-5)])
def test_adamw_is_torch_adamw_after_clipping_each_run(dtype: torch.dtype, tolerance: float) -> None:
    """Rates, decays and counts differ by run; runs that joined earlier carry their moments with them.

    In single precision 1 − 0.999^count is known to some 3e-5 at the first steps, which torch computes in double.
    """
    params, means = make_stack(dtype, 0), make_stack(dtype, 1)
    squares = [s.square() for s in make_stack(dtype, 2)]
    for run, start in enumerate(STARTS):
        if start == 0:
            for moment in (*means, *squares):
                moment[run] = 0
    optimizers: list[torch.optim.AdamW] = []
    references: list[list[nn.Parameter]] = []
    for run in range(RUNS):
        theirs = [nn.Parameter(p[run].clone()) for p in params]
        optimizer = torch.optim.AdamW(theirs, lr=RATES[run], weight_decay=DECAYS[run], betas=(0.9, 0.999), eps=1e-8)
        for p, m, v in zip(theirs, means, squares, strict=True):
            state = {"step": torch.tensor(float(STARTS[run])), "exp_avg": m[run].clone(), "exp_avg_sq": v[run].clone()}
            optimizer.state[p] = state
        optimizers.append(optimizer)
        references.append(theirs)

    rate, decay = torch.tensor(RATES, dtype=dtype), torch.tensor(DECAYS, dtype=dtype)
    for step in range(10):
        grads = make_gradients(dtype, step)
        count = torch.tensor(STARTS, dtype=dtype) + step + 1
        adamw_step(params, grads, means, squares, rate, decay, count, MAX_NORM)
        for run, (optimizer, theirs) in enumerate(zip(optimizers, references, strict=True)):
            for p, g in zip(theirs, grads, strict=True):
                p.grad = g[run].clone()
            nn.utils.clip_grad_norm_(theirs, MAX_NORM)
            optimizer.step()
            for p, q in zip(params, theirs, strict=True):
                torch.testing.assert_close(p[run], q.detach(), rtol=tolerance, atol=tolerance)
    for run, (optimizer, theirs) in enumerate(zip(optimizers, references, strict=True)):
        for m, v, q in zip(means, squares, theirs, strict=True):
            torch.testing.assert_close(m[run], optimizer.state[q]["exp_avg"], rtol=tolerance, atol=tolerance)
            torch.testing.assert_close(v[run], optimizer.state[q]["exp_avg_sq"], rtol=tolerance, atol=tolerance)


def test_first_adamw_step_by_hand() -> None:
    """From zero moments the first update is rate·sign(g), whatever the gradient's size, after a decay of rate·decay·p."""
    p = [torch.tensor([[1.0, -2.0], [1.0, -2.0]], dtype=torch.float64)]
    g = [torch.tensor([[0.3, -0.4], [30.0, -40.0]], dtype=torch.float64)]
    zeros = [[torch.zeros(2, 2, dtype=torch.float64)] for _ in range(2)]
    rate, decay = torch.tensor([0.1, 0.2], dtype=torch.float64), torch.tensor([0.0, 0.5], dtype=torch.float64)
    adamw_step(p, g, *zeros, rate, decay, torch.ones(2, dtype=torch.float64), max_norm=1.0)
    expected = torch.tensor([[1 - 0.1, -2 + 0.1], [1 * 0.9 - 0.2, -2 * 0.9 + 0.2]], dtype=torch.float64)
    torch.testing.assert_close(p[0], expected, rtol=0, atol=1e-7)


def test_rate_zero_freezes_a_run() -> None:
    """Empty slots of an ensemble rely on it."""
    params = make_stack(torch.float32, 0)
    before = [p.clone() for p in params]
    zeros = [[torch.zeros_like(p) for p in params] for _ in range(2)]
    rate = torch.tensor([0.0, 1e-2, 0.0, 1e-2])
    adamw_step(params, make_gradients(torch.float32, 0), *zeros, rate, torch.full((RUNS,), 0.1), torch.ones(RUNS), MAX_NORM)
    for p, q in zip(params, before, strict=True):
        assert torch.equal(p[[0, 2]], q[[0, 2]])
        assert not torch.any(p[[1, 3]] == q[[1, 3]])


def test_a_run_that_is_not_finite_leaves_the_others_alone() -> None:
    def step(poison: float) -> list[Tensor]:
        params, grads = make_stack(torch.float32, 0), make_gradients(torch.float32, 0)
        grads[0][1, 0, 0] = poison
        zeros = [[torch.zeros_like(p) for p in params] for _ in range(2)]
        adamw_step(params, grads, *zeros, torch.full((RUNS,), 1e-2), torch.zeros(RUNS), torch.ones(RUNS), MAX_NORM)
        return params

    for p, q in zip(step(0.0), step(math.nan), strict=True):
        assert torch.equal(p[[0, 2, 3]], q[[0, 2, 3]])
        assert q[1].isnan().all()


@pytest.mark.parametrize("max_norm", [1e6, 0.7])
def test_sgd_is_torch_sgd_after_clipping_each_run(max_norm: float) -> None:
    dtype = torch.float64
    params = make_stack(dtype, 0)
    rate, decay = torch.tensor(RATES, dtype=dtype), torch.tensor(DECAYS, dtype=dtype)
    references = [[nn.Parameter(p[run].clone()) for p in params] for run in range(RUNS)]
    optimizers = [torch.optim.SGD(theirs, lr=RATES[r], weight_decay=DECAYS[r]) for r, theirs in enumerate(references)]
    for step in range(10):
        grads = make_gradients(dtype, step)
        sgd_step(params, grads, rate, decay, max_norm)
        for run, (optimizer, theirs) in enumerate(zip(optimizers, references, strict=True)):
            for p, g in zip(theirs, grads, strict=True):
                p.grad = g[run].clone()
            nn.utils.clip_grad_norm_(theirs, max_norm)
            optimizer.step()
            for p, q in zip(params, theirs, strict=True):
                torch.testing.assert_close(p[run], q.detach(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("max_norm", [0.01, 1.0, 100.0])
def test_clip_scale_is_clip_grad_norm(max_norm: float) -> None:
    grads = make_gradients(torch.float64, 0)
    scale = clip_scale(grads, max_norm)
    assert scale.shape == (RUNS,)
    for run in range(RUNS):
        theirs = [nn.Parameter(torch.zeros_like(g[run])) for g in grads]
        for p, g in zip(theirs, grads, strict=True):
            p.grad = g[run].clone()
        nn.utils.clip_grad_norm_(theirs, max_norm)
        for p, g in zip(theirs, grads, strict=True):
            torch.testing.assert_close(scale[run] * g[run], p.grad, rtol=1e-12, atol=0)


def test_clip_scale_by_hand() -> None:
    """A norm of 3, 4 → 5 over two tensors; a small one is left as it is; zero does not divide."""
    grads = [torch.tensor([[3.0], [0.3], [0.0]], dtype=torch.float64), torch.tensor([[4.0], [0.4], [0.0]], dtype=torch.float64)]
    assert clip_scale(grads, 1.0).tolist() == pytest.approx([0.2, 1.0, 1.0], rel=1e-6)


def test_warmup_cosine_by_hand() -> None:
    steps = torch.tensor([0, 2, 4, 8, 12, 20])
    rate = warmup_cosine(steps, torch.full((6,), 2.0, dtype=torch.float64), warmup=4, total=12, start=0.2, end=0.1)
    assert rate.tolist() == pytest.approx([0.4, 1.2, 2.0, 1.1, 0.2, 0.2], abs=1e-12)


def test_warmup_cosine_at_the_papers_setting() -> None:
    """1e-5 to 2.5e-4 over 10 epochs of 370 steps, then down to 1e-5 at epoch 210 (a factor of 25 both ways)."""
    steps = torch.tensor([0, 1850, 3700, 3700 + 37000, 77700])
    rate = warmup_cosine(steps, torch.full((5,), 2.5e-4, dtype=torch.float64), 3700, 77700, 0.04, 0.04)
    assert rate.tolist() == pytest.approx([1e-5, 1.3e-4, 2.5e-4, 1.3e-4, 1e-5], rel=1e-12)


@pytest.mark.parametrize(("warmup", "total"), [(5, 23), (1, 4), (10, 11)])
def test_warmup_cosine_is_torchs_linear_then_cosine(warmup: int, total: int) -> None:
    peak, start, end = 0.3, 0.04, 0.1

    def scheduled(make: type, **options: float) -> list[float]:
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=peak)
        scheduler = make(optimizer, **options)
        rates = []
        for _ in range(total + 1):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        return rates

    rise = scheduled(torch.optim.lr_scheduler.LinearLR, start_factor=start, total_iters=warmup)
    fall = scheduled(torch.optim.lr_scheduler.CosineAnnealingLR, T_max=total - warmup, eta_min=end * peak)
    expected = (rise[:warmup] + fall)[: total + 1]
    ours = warmup_cosine(torch.arange(total + 1), torch.tensor(peak, dtype=torch.float64), warmup, total, start, end)
    assert ours.tolist() == pytest.approx(expected, rel=1e-9)


def test_warmup_cosine_is_one_schedule_for_each_run() -> None:
    """Runs at different steps with different peaks, as in an ensemble with slots on their own clocks."""
    steps, peaks = torch.tensor([0, 6, 10]), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    together = warmup_cosine(steps, peaks, 4, 10, 0.5, 0.0)
    alone = [warmup_cosine(s, p, 4, 10, 0.5, 0.0).item() for s, p in zip(steps, peaks, strict=True)]
    assert together.tolist() == alone
    assert together.tolist() == pytest.approx([0.5, 2 * 0.75, 0.0], abs=1e-12)


def test_no_warmup_starts_at_the_peak() -> None:
    assert warmup_cosine(torch.tensor(0), torch.tensor(0.7, dtype=torch.float64), 0, 10, 0.04, 0.04).item() == 0.7
