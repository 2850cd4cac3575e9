"""Specs: frozen descriptions of what to train. Nothing but numbers, strings and other specs, so that they hash and travel."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Any

from lib.core.init import MAX_GAMMA
from lib.core.model import AnyModel, ModelSpec

MODEL_KINDS: dict[str, type] = {ModelSpec.kind: ModelSpec}
"""Kinds of models by name; a study adds its own, so that results can be read."""
_LATER = {"model": {"head": True}, "train": {"optimizer": "adamw"}}
"""Fields that came after results had been stored: at these defaults they are left out, so that keys stay what they were."""


class SpecError(ValueError):
    """A description of a run that cannot be trained; the message says what to change."""


def check_number(name: str, value: Any, low: float = -math.inf, strict: bool = False) -> float:
    """The value as a float. Raises SpecError unless it is a finite real number, at least (or, if strict, above) low."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SpecError(f"{name} must be a finite number, got {value!r}.")
    if value < low or (strict and value == low):
        raise SpecError(f"{name} must be {'above' if strict else 'at least'} {low:g}, got {value!r}.")
    return float(value) + 0.0  # 1 and 1.0, and the two zeros, are one setting and must have one key


def check_count(name: str, value: Any, low: int = 1) -> None:
    """Raise SpecError unless value is an integer of at least low."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise SpecError(f"{name} must be an integer of at least {low}, got {value!r}.")


@dataclass(frozen=True)
class TrainSpec:
    """How long and how a run is trained; shared by every run of an ensemble.

    schedule "cosine": linear warm-up over `warmup` steps, then cosine to `final`·rate at `steps` (Zhang et al. 2024).
    schedule "fit": warm-up, then the rate is held until the metric `fit_metric` reaches `fit_level` and for `hold` steps more;
    from there cosine to `final`·rate over `anneal` steps, and the run is finished. At step steps − anneal every run anneals.
    optimizer "adamw", or "sgd" without momentum, whose decay is coupled. Both clip the gradient at `clip`.
    """

    batch: int
    steps: int
    warmup: int
    schedule: str = "cosine"
    hold: int = 0
    anneal: int = 0
    fit_metric: str = "test"
    fit_level: float = 0.99
    start: float = 0.04
    final: float = 0.04
    clip: float = 1.0
    eval_every: int = 100
    optimizer: str = "adamw"

    def __post_init__(self) -> None:
        for name in ("batch", "steps", "eval_every"):
            check_count(name, getattr(self, name))
        for name in ("warmup", "hold", "anneal"):
            check_count(name, getattr(self, name), low=0)
        for name in ("fit_level", "start", "final"):
            object.__setattr__(self, name, check_number(name, getattr(self, name), low=0))
        object.__setattr__(self, "clip", check_number("clip", self.clip, low=0, strict=True))
        for name in ("steps", "hold", "anneal"):
            if getattr(self, name) % self.eval_every:
                raise SpecError(f"{name} must be a multiple of eval_every={self.eval_every}, got {getattr(self, name)}.")
        if self.schedule not in ("cosine", "fit"):
            raise SpecError(f"schedule must be 'cosine' or 'fit', got {self.schedule!r}.")
        if self.optimizer not in ("adamw", "sgd"):
            raise SpecError(f"optimizer must be 'adamw' or 'sgd', got {self.optimizer!r}.")
        if self.schedule == "fit" and not 0 < self.anneal < self.steps:
            raise SpecError(f"anneal must lie between 0 and steps={self.steps}, got {self.anneal}.")


@dataclass(frozen=True)
class RunSpec:
    """One run of one experiment. `task` holds the arguments of the experiment's task object."""

    experiment: str
    version: int
    gamma: float
    seed: int
    rate: float
    decay: float
    model: AnyModel
    train: TrainSpec
    task: tuple[tuple[str, Any], ...] = field(default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", check_number("gamma", self.gamma))
        if abs(self.gamma) > MAX_GAMMA:
            raise SpecError(f"gamma must lie between -{MAX_GAMMA} and {MAX_GAMMA}, got {self.gamma!r}.")
        check_count("seed", self.seed, low=0)
        object.__setattr__(self, "rate", check_number("rate", self.rate, low=0, strict=True))
        object.__setattr__(self, "decay", check_number("decay", self.decay, low=0))
        frozen = lambda value: tuple(value) if isinstance(value, list) else value  # as JSON returns a tuple
        object.__setattr__(self, "task", tuple(sorted((name, frozen(value)) for name, value in self.task)))

    @property
    def shape(self) -> tuple:
        """Runs of equal shape can be trained as one program."""
        return self.experiment, self.version, self.model, self.train, self.task

    def as_dict(self) -> dict[str, Any]:
        found = dataclasses.asdict(self) | {"task": dict(self.task)}
        for part, later in _LATER.items():
            found[part] = {name: value for name, value in found[part].items() if name not in later or value != later[name]}
        if self.model.kind != ModelSpec.kind:
            found["model"]["kind"] = self.model.kind
        return found

    @property
    def key(self) -> str:
        """The name of the run's result: 20 hexadecimal digits of the sha256 of the canonical JSON of the spec."""
        return hashlib.sha256(canonical(self.as_dict()).encode()).hexdigest()[:20]


def from_dict(record: dict[str, Any]) -> RunSpec:
    """The inverse of RunSpec.as_dict. Raises SpecError for a record that is not a spec's."""
    try:
        parts = dict(record)
        shape = dict(parts.pop("model"))
        kind = shape.pop("kind", ModelSpec.kind)
        if kind not in MODEL_KINDS:
            raise SpecError(f"unknown kind of model {kind!r}: use one of {', '.join(MODEL_KINDS)}.")
        model, train = MODEL_KINDS[kind](**shape), TrainSpec(**parts.pop("train"))
        return RunSpec(**parts | {"model": model, "train": train, "task": tuple(sorted(parts["task"].items()))})
    except SpecError:
        raise
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise SpecError(f"not the record of a run: {error}.") from None


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces; floats in their shortest exact form. Raises ValueError for NaN and infinities."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def derived_seed(seed: int, purpose: str) -> int:
    """A 62-bit seed for one purpose of a run ("weights", "data", …), so that the purposes do not share a stream."""
    return int.from_bytes(hashlib.sha256(f"{purpose}:{seed}".encode()).digest()[:8], "big") >> 2
