"""The γ initialization: every weight matrix is drawn from N(0, σ²) with σ = d_in^−γ (Zhang et al. 2024, section 3).

d_in is the number of inputs of the map that the matrix is, found by rule from the kind of module that holds it. Embedding
tables count as maps from the residual stream's point of view: their d_in is the width d_model, not the vocabulary, as in the
authors' code. Norms and biases are left as they are.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

MAX_GAMMA = 10
"""Beyond this every weight is zero or infinite in single precision at any width worth training."""

Rule = Callable[[nn.Module, str, Tensor], int | None]
"""(owning module, parameter's own name, parameter) → d_in, or None for "leave it as it is"."""

_ATTENTION = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")
_NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.modules.batchnorm._NormBase)


class UnknownParameter(ValueError):
    """A parameter for which no rule says what its fan-in is."""


def fan_in(module: nn.Module, name: str, param: Tensor) -> int | None:
    """d_in of one parameter of a known kind of module; None for norms and biases.

    Known are PyTorch's linear maps, attention, embeddings and norms, GPT-2's linear map, and norms of Llama's kind. A subclass
    of a linear map that computes in a way of its own, x @ weight perhaps, is none of them: its d_in is for a rule to say.

    Raises UnknownParameter for a kind of module that it does not know: a guess would silently change the experiment.
    """
    declared = getattr(module, "gamma_fan_in", None)
    if declared is not None:
        if name not in declared:
            raise UnknownParameter(f"{type(module).__name__} declares gamma_fan_in, but not for its parameter {name!r}.")
        return declared[name]
    if isinstance(module, _NORMS) or name in ("bias", "in_proj_bias", "bias_k", "bias_v"):
        return None
    if re.search(r"(RMS|Layer)Norm$", type(module).__name__) and name == "weight" and param.dim() == 1:
        return None  # of Llama, T5 and others, which have norms of their own
    if isinstance(module, nn.Embedding) and name == "weight":
        return module.embedding_dim
    # By name, since a subclass, or a reparametrization, may keep matrices of another meaning beside the weight or in its place.
    names = _ATTENTION if isinstance(module, nn.MultiheadAttention) else ("weight",)
    own_way = isinstance(module, nn.Linear) and type(module).forward is not nn.Linear.forward
    if isinstance(module, nn.Linear | nn.MultiheadAttention) and not own_way and name in names and param.dim() == 2:
        return param.shape[1]
    transposed = type(module).__name__ == "Conv1D" and hasattr(module, "nf")  # GPT-2's Linear
    if transposed and name == "weight" and param.dim() == 2:
        return param.shape[0]
    raise UnknownParameter(
        f"No fan-in rule for parameter {name!r} of {type(module).__name__}; pass rule= with one that returns its d_in or None."
    )


def gamma_std(d_in: int, gamma: float) -> float:
    """σ = d_in^−γ. Raises ValueError if γ is not a finite number of at most MAX_GAMMA in size, or d_in is not positive."""
    if isinstance(gamma, bool) or not isinstance(gamma, numbers.Real) or gamma != gamma or abs(gamma) == math.inf:
        raise ValueError(f"gamma must be a finite number, got {gamma!r}.")
    if abs(gamma) > MAX_GAMMA:
        raise ValueError(f"gamma must lie between -{MAX_GAMMA} and {MAX_GAMMA}, got {gamma!r}.")
    if d_in < 1:
        raise ValueError(f"d_in must be at least 1, got {d_in}.")
    return float(d_in) ** -float(gamma)


def gamma_of(std: float, d_in: int) -> float:
    """The γ at which d_in^−γ is `std`. Raises ValueError unless std is positive and d_in at least 2."""
    if not std > 0 or d_in < 2:
        raise ValueError(f"a γ needs a positive std and d_in of at least 2, got {std!r} and {d_in!r}.")
    return -math.log(std) / math.log(d_in)


Owned = tuple[str, nn.Module, str, nn.Parameter]
"""Qualified name, owner, the parameter's own name there, parameter."""


def _owned(module: nn.Module) -> Iterator[Owned]:
    for prefix, owner in module.named_modules():
        for name, param in owner.named_parameters(recurse=False):
            yield f"{prefix}.{name}" if prefix else name, owner, name, param


def owned_parameters(module: nn.Module) -> list[Owned]:
    """Each parameter once, ties included once (at their first owner), in a fixed order."""
    found: dict[int, Owned] = {}
    for owned in _owned(module):
        found.setdefault(id(owned[3]), owned)
    return list(found.values())


@dataclass(frozen=True)
class Redrawn:
    """One parameter before and after: the standard deviations are of its entries; d_in is None where it was left as it is.

    frozen: it is redrawn or left like any other, but training will not change it.
    """

    name: str
    shape: tuple[int, ...]
    d_in: int | None
    std_before: float
    std_after: float
    frozen: bool = False


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
                f"{p.name} (frozen)" if p.frozen else p.name,
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

    The padding row of an embedding stays as it is. Returns a report of every parameter, those left as they were included.
    Raises UnknownParameter, which names it, for a parameter that `rule` does not know, and ValueError for a γ that is no finite
    number or out of range, for a parameter that cannot be redrawn (integers, no numbers in this process, a σ that its
    precision does not have), for a part that is quantized, for memory that two parameters share and would draw differently,
    and where there is nothing to redraw. Then nothing has been changed.
    """
    gamma_std(1, gamma)
    _check_parts(module)
    plan: dict[int, tuple[str, nn.Parameter, int | None]] = {}
    padding: dict[int, int] = {}
    for full_name, owner, name, param in _owned(module):
        if is_lazy(param) or param.is_meta:
            raise ValueError(f"{full_name} has no numbers yet: give the module its shapes and a device first.")
        try:
            d_in = rule(owner, name, param)
        except UnknownParameter as error:
            raise UnknownParameter(f"{full_name}: {error}") from None
        if d_in is not None:
            if isinstance(d_in, bool) or not isinstance(d_in, int):
                raise ValueError(f"{full_name}: a rule must give a whole number or None, got {d_in!r}.")
            _check_drawable(full_name, param, gamma_std(d_in, gamma))
        first, _, other = plan.setdefault(id(param), (full_name, param, d_in))
        if other != d_in:
            raise ValueError(_conflict(first, other, full_name, d_in))
        if isinstance(owner, nn.Embedding) and name == "weight" and owner.padding_idx is not None:
            padding[id(param)] = owner.padding_idx
    _check_memory(list(plan.values()))
    if all(d_in is None for *_, d_in in plan.values()):
        raise ValueError(f"{type(module).__name__} has no weight matrix that could be redrawn.")
    before = {key: _std(param) for key, (_, param, _) in plan.items()}
    for key, (_, param, d_in) in plan.items():
        if d_in is not None:
            row = param[padding[key]].clone() if key in padding else None
            noise = torch.empty(param.shape, dtype=torch.float32)  # drawn on the CPU: the same weights on every device
            param.copy_(noise.normal_(0.0, gamma_std(d_in, gamma), generator=generator))
            if row is not None:
                param[padding[key]] = row
    done = [
        Redrawn(full_name, tuple(param.shape), d_in, before[key], _std(param), not param.requires_grad)
        for key, (full_name, param, d_in) in plan.items()
    ]
    return Report(float(gamma), tuple(done))


def _check_parts(module: nn.Module) -> None:
    """Raise ValueError for a part whose weights are no parameters, which the report would leave out without a word, and for a
    layer that PEFT has adapted: its adapter starts where it changes nothing."""
    for name, part in module.named_modules():
        if hasattr(part, "adapter_layer_names"):
            raise ValueError(f"{name} is a layer with an adapter: redraw the module before it is adapted.")
        packed = [
            n for n, b in part.named_buffers(recurse=False) if "weight" in n and b.dim() > 1 and not b.is_floating_point()
        ]
        if packed or ".quantized." in type(part).__module__:
            raise ValueError(f"{name} is a quantized {type(part).__name__}: redraw the module before it is quantized.")


def _plain(param: Tensor) -> bool:
    """Are its entries its own, and not those of a subclass that shards or packs them?"""
    dispatch = "__torch_dispatch__"
    return getattr(type(param), dispatch) is getattr(Tensor, dispatch)


def _check_drawable(name: str, param: Tensor, std: float) -> None:
    """Raise ValueError unless normal numbers of this σ can be written into the parameter and be what they are."""
    if not _plain(param):
        raise ValueError(f"{name} is a {type(param).__name__}: redraw the module before it is sharded or quantized.")
    if not param.is_floating_point():
        raise ValueError(f"{name} holds {str(param.dtype).removeprefix('torch.')}: redraw the module before it is quantized.")
    if param.is_inference() or _overlaps(param):
        raise ValueError(f"{name} cannot be written in place: give it memory of its own, made outside inference mode.")
    if re.search(r"(^|[._])lora_|(^|[._])adapters?[._]", name, re.IGNORECASE):
        raise ValueError(
            f"{name} is part of an adapter, which starts at zero on purpose: redraw the module before it is adapted."
        )
    limits = [torch.finfo(dtype) for dtype in (param.dtype, torch.float32)]
    # The smallest numbers are steps of tiny · eps: at four of them rounding changes σ by a quarter of a percent.
    if not max(4 * f.tiny * f.eps for f in limits) <= std <= min(f.max / 8 for f in limits):
        raise ValueError(
            f"{name}: a standard deviation of {std:.3g} is too {'small' if std < 1 else 'large'} for "
            f"{str(param.dtype).removeprefix('torch.')}: choose a gamma nearer to 0."
        )


def _overlaps(param: Tensor) -> bool:
    """Do two of its entries share their memory?"""
    reach = 0  # of the dimensions so far, those of small steps first
    for step, size in sorted(zip(param.stride(), param.shape, strict=True)):
        if size > 1 and step <= reach:
            return _addresses(param).unique().numel() < param.numel()
        reach += (size - 1) * step
    return False


def _check_memory(plan: Sequence[tuple[str, Tensor, int | None]]) -> None:
    """Raise ValueError where two parameters share entries (a transposed tie) that they would draw differently."""
    spans = []
    for name, param, d_in in plan:
        if param.numel() and _plain(param):
            last = sum((n - 1) * step for n, step in zip(param.shape, param.stride(), strict=True))
            start, end = (param.data_ptr() + i * param.element_size() for i in (0, last + 1))
            spans.append((str(param.device), start, end, name, param, d_in))
    spans.sort(key=lambda span: span[:2])
    for i, (device, _, end, name, param, d_in) in enumerate(spans):
        for other_device, start, _, other_name, other, other_d_in in spans[i + 1 :]:
            if other_device != device or start >= end:
                break
            if d_in != other_d_in and bool(torch.isin(_addresses(param), _addresses(other)).any()):
                raise ValueError(_conflict(name, d_in, other_name, other_d_in))


def _addresses(param: Tensor) -> Tensor:
    """Where in memory each entry lies, in bytes."""
    found = torch.tensor(param.data_ptr())
    for size, step in zip(param.shape, param.stride(), strict=True):
        found = found[..., None] + torch.arange(size) * step * param.element_size()
    return found.flatten()


def _conflict(one: str, d_in: int | None, other: str, other_d_in: int | None) -> str:
    words = [f"{name} ({'left as it is' if d is None else f'd_in {d}'})" for name, d in ((one, d_in), (other, other_d_in))]
    return f"{' and '.join(words)} share their memory but not their d_in: untie them, or pass rule= with one for both."


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
                cast(Any, owner).reset_run(run, name, generator)
