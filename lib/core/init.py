"""The γ initialization: every weight matrix is drawn from N(0, σ²) with σ = d_in^−γ (Zhang et al. 2024, section 3).

d_in is the number of inputs of the map that the matrix is, found by rule from the kind of module that holds it. Embedding
tables count as maps from the residual stream's point of view: their d_in is the width d_model, not the vocabulary, as in the
authors' code. Norms and biases are left as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lib.core.spec import RunSpec, derived_seed

Rule = Callable[[nn.Module, str, Tensor], int | None]
"""(owning module, parameter's own name, parameter) → d_in, or None for "leave it as it is"."""

_NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.modules.batchnorm._NormBase)


class UnknownParameter(ValueError):
    """A parameter for which no rule says what its fan-in is."""


def fan_in(module: nn.Module, name: str, param: Tensor) -> int | None:
    """d_in of one parameter of a known kind of module; None for norms and biases.

    Raises UnknownParameter for a kind of module that it does not know: a guess would silently change the experiment.
    """
    declared = getattr(module, "gamma_fan_in", None)
    if declared is not None:
        if name not in declared:
            raise UnknownParameter(f"{type(module).__name__} declares gamma_fan_in, but not for its parameter {name!r}.")
        return declared[name]
    if isinstance(module, _NORMS) or name in ("bias", "in_proj_bias", "bias_k", "bias_v"):
        return None
    if isinstance(module, nn.Embedding) and name == "weight":
        return module.embedding_dim
    if isinstance(module, nn.Linear | nn.MultiheadAttention) and param.dim() == 2:
        return param.shape[1]
    if type(module).__name__ == "Conv1D" and hasattr(module, "nf") and param.dim() == 2:  # GPT-2's transposed Linear
        return param.shape[0]
    raise UnknownParameter(
        f"No fan-in rule for parameter {name!r} of {type(module).__name__}; pass rule= with one that returns its d_in or None."
    )


def gamma_std(d_in: int, gamma: float) -> float:
    """σ = d_in^−γ. Raises ValueError if γ is not a finite number or d_in is not positive."""
    if isinstance(gamma, bool) or not isinstance(gamma, int | float) or not math.isfinite(gamma):
        raise ValueError(f"gamma must be a finite number, got {gamma!r}.")
    if d_in < 1:
        raise ValueError(f"d_in must be at least 1, got {d_in}.")
    return float(d_in) ** -float(gamma)


def gamma_of(std: float, d_in: int) -> float:
    """The γ at which d_in^−γ is `std`. Raises ValueError unless std is positive and d_in at least 2."""
    if not std > 0 or d_in < 2:
        raise ValueError(f"a γ needs a positive std and d_in of at least 2, got {std!r} and {d_in!r}.")
    return -math.log(std) / math.log(d_in)


def owned_parameters(module: nn.Module) -> list[tuple[str, nn.Module, str, nn.Parameter]]:
    """(qualified name, owner, own name, parameter) for each parameter once, ties included once, in a fixed order."""
    seen: set[int] = set()
    found = []
    for prefix, owner in module.named_modules():
        for name, param in owner.named_parameters(recurse=False):
            if id(param) not in seen:
                seen.add(id(param))
                found.append((f"{prefix}.{name}" if prefix else name, owner, name, param))
    return found


@dataclass(frozen=True)
class Redrawn:
    """One parameter before and after: the standard deviations are of its entries; d_in is None where it was left as it is."""

    name: str
    shape: tuple[int, ...]
    d_in: int | None
    std_before: float
    std_after: float


@dataclass(frozen=True)
class Report:
    """What apply_gamma did to each parameter. Prints as a table."""

    gamma: float
    parameters: tuple[Redrawn, ...]

    @property
    def stds(self) -> dict[str, float]:
        """{name: σ} of what was redrawn, where σ = d_in^−γ is what was asked for, not what was drawn."""
        return {p.name: gamma_std(p.d_in, self.gamma) for p in self.parameters if p.d_in is not None}

    def __str__(self) -> str:
        head = ("parameter", "shape", "d_in", "d_in^−γ", "std before", "std after")
        rows = [
            (
                p.name,
                " × ".join(map(str, p.shape)),
                "left" if p.d_in is None else str(p.d_in),
                "" if p.d_in is None else f"{gamma_std(p.d_in, self.gamma):.3g}",
                f"{p.std_before:.3g}",
                f"{p.std_after:.3g}",
            )
            for p in self.parameters
        ]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        line = lambda row: "  ".join(
            text.ljust(width) if i < 2 else text.rjust(width) for i, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        return "\n".join(line(row).rstrip() for row in (head, *rows))


@torch.no_grad()
def apply_gamma(module: nn.Module, gamma: float, generator: torch.Generator | None = None, rule: Rule = fan_in) -> Report:
    """Redraw every weight matrix of any module from N(0, d_in^−2γ), in place.

    Returns a report of every parameter, those left as they were included. Raises ValueError for a γ that is no finite number
    and UnknownParameter, which names it, for a parameter that `rule` does not know; then nothing has been changed.
    """
    gamma_std(1, gamma)
    plan = []
    for full_name, owner, name, param in owned_parameters(module):
        try:
            d_in = rule(owner, name, param)
        except UnknownParameter as error:
            raise UnknownParameter(f"{full_name}: {error}") from None
        plan.append((full_name, param, d_in, None if d_in is None else gamma_std(d_in, gamma)))
    done = []
    for full_name, param, d_in, std in plan:
        before = _std(param)
        if std is not None:
            noise = torch.empty(param.shape, dtype=torch.float32)  # drawn on the CPU: the same weights on every device
            param.copy_(noise.normal_(0.0, std, generator=generator))
        done.append(Redrawn(full_name, tuple(param.shape), d_in, before, _std(param)))
    return Report(float(gamma), tuple(done))


def _std(param: Tensor) -> float:
    return param.detach().double().std(correction=0).item() if param.numel() else 0.0


@torch.no_grad()
def apply_gamma_stacked(
    module: nn.Module, gammas: Sequence[float], seeds: Sequence[int], runs: Sequence[int] | None = None
) -> None:
    """The same for a module whose parameters have a leading run axis: run r gets gammas[r] and its own generator.

    The draw of a run depends on its seed and γ alone, never on its neighbours. At equal seed two runs that differ in γ
    start from the same directions at different scales. `runs` says which places to fill (default: all).
    """
    runs = range(len(gammas)) if runs is None else runs
    params = owned_parameters(module)
    for run, gamma, seed in zip(runs, gammas, seeds, strict=True):
        generator = torch.Generator().manual_seed(seed)
        for _, owner, name, param in params:
            d_in = fan_in(owner, name, param[run])
            if d_in is not None:
                noise = torch.empty(param.shape[1:]).normal_(0.0, 1.0, generator=generator)
                param[run].copy_(noise * gamma_std(d_in, gamma))
            else:
                owner.reset_run(run, name, generator)


def at_start(spec: RunSpec) -> nn.Module:
    """The model of a run before its first step (n_runs = 1), drawn again from its seed."""
    model = spec.model.build()
    apply_gamma_stacked(model, [spec.gamma], [derived_seed(spec.seed, "weights")])
    return model.eval().requires_grad_(False)
