"""AdamW and SGD over parameters with a leading run axis; learning rate, weight decay and clipping are per run.

The update of run r is that of torch.optim.AdamW (or SGD with momentum 0) preceded by torch.nn.utils.clip_grad_norm_ on run r
alone. Learning rates, weight decays and step counts are tensors of length R, so one compiled program serves runs at
different points of different schedules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor


def _per_run(values: Float[Tensor, " R"], like: Float[Tensor, "R ..."]) -> Float[Tensor, "R ..."]:
    return values.view(-1, *[1] * (like.dim() - 1))


def clip_scale(grads: Sequence[Tensor], max_norm: float) -> Float[Tensor, " R"]:
    """The factor that brings each run's total gradient norm to at most max_norm (as torch's clip_grad_norm_)."""
    total = cast(Tensor, sum(g.flatten(1).square().sum(1) for g in grads))
    return (max_norm / (total.sqrt() + 1e-6)).clamp(max=1.0)


BETAS, EPS = (0.9, 0.999), 1e-8
"""PyTorch's defaults, which step.cpp has, too."""


def adamw_step(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avg: Sequence[Tensor],
    exp_avg_sq: Sequence[Tensor],
    learning_rate: Float[Tensor, " R"],
    weight_decay: Float[Tensor, " R"],
    count: Float[Tensor, " R"],
    max_norm: float,
) -> None:
    """One step in place; `count` is of steps, this one among them. Decay is decoupled."""
    scale = clip_scale(grads, max_norm)
    (beta_1, beta_2), eps = BETAS, EPS
    count = count.double()  # 1 - 0.999**count loses half its digits in single precision
    step_size = (learning_rate / (1 - beta_1**count)).to(learning_rate.dtype)
    root_2 = (1 - beta_2**count).sqrt().to(learning_rate.dtype)
    for p, g, m, v in zip(params, grads, exp_avg, exp_avg_sq, strict=True):
        g = g * _per_run(scale, g)
        m.copy_(m + (1 - beta_1) * (g - m))
        v.copy_(beta_2 * v + (1 - beta_2) * g * g)
        kept = _per_run(1 - learning_rate * weight_decay, p)
        p.copy_(p * kept - _per_run(step_size, p) * m / (v.sqrt() / _per_run(root_2, p) + eps))


def sgd_step(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    learning_rate: Float[Tensor, " R"],
    weight_decay: Float[Tensor, " R"],
    max_norm: float,
) -> None:
    """One step of plain SGD in place; weight decay is coupled (added to the gradient), as in torch.optim.SGD."""
    scale = clip_scale(grads, max_norm)
    for p, g in zip(params, grads, strict=True):
        p.sub_(_per_run(learning_rate, p) * (g * _per_run(scale, g) + _per_run(weight_decay, p) * p))


def warmup_cosine(
    step: Int[Tensor, " R"], peak: Float[Tensor, " R"], warmup: int, total: int, start: float, end: float
) -> Float[Tensor, " R"]:
    """Learning rate at `step` (0-based): linear from start·peak to peak over `warmup`, then cosine to end·peak at `total`."""
    at = step.to(torch.float64)
    rise = start + (1 - start) * at / max(warmup, 1)
    phase = ((at - warmup) / max(total - warmup, 1)).clamp(0, 1)
    fall = end + (1 - end) * (1 + torch.cos(math.pi * phase)) / 2
    return torch.where(at < warmup, rise, fall) * peak
