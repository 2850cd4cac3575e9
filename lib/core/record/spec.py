"""Specs: frozen descriptions of what to train. Nothing but numbers, strings and other specs, so that they hash and travel."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from reprlib import repr as short
from typing import Any, ClassVar

from lib.core.model.init import MAX_GAMMA
from lib.core.model.transformer import AnyModel, ModelSpec

MODEL_KINDS: dict[str, type[AnyModel]] = {ModelSpec.kind: ModelSpec}
"""Kinds of models by name, as results name them; `register_models` adds to them."""
PRECISIONS = ("any", "float32")


class SpecError(ValueError):
    """A description of a run that cannot be trained; the message says what to change."""


class UnknownKindError(SpecError):
    """The record of a run whose kind of model this process does not know: its study was not imported. The record is good."""


def register_models(*kinds: type[AnyModel]) -> None:
    """From now on records that name these kinds of models can be read. Raises SpecError where another class has the name."""
    for kind in kinds:
        other = MODEL_KINDS.setdefault(kind.kind, kind)
        if (other.__module__, other.__qualname__) != (kind.__module__, kind.__qualname__):
            raise SpecError(f"two kinds of models are called {kind.kind!r}: rename {kind.__qualname__} of {kind.__module__}.")


def check_number(name: str, value: Any, low: float = -math.inf, strict: bool = False) -> float:
    """The value as a float. Raises SpecError unless it is a finite real number, at least (or, if strict, above) low."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SpecError(f"{name} must be a finite number, got {short(value)}.")
    if value < low or (strict and value == low):
        raise SpecError(f"{name} must be {'above' if strict else 'at least'} {low:g}, got {value!r}.")
    return float(value) + 0.0  # 1 and 1.0, and the two zeros, are one setting and must have one key


def check_count(name: str, value: Any, low: int = 1, high: int | None = None) -> None:
    """Raise SpecError unless value is an integer of at least low and at most high."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise SpecError(f"{name} must be an integer of at least {low}, got {short(value)}.")
    if high is not None and value > high:
        raise SpecError(f"{name} must be an integer of at most {high}, got {short(value)}.")


def check_gamma(value: Any) -> float:
    """γ as a float. Raises SpecError unless it is a finite number within ±MAX_GAMMA."""
    if abs(found := check_number("gamma", value)) > MAX_GAMMA:
        raise SpecError(f"gamma must lie between -{MAX_GAMMA} and {MAX_GAMMA}, got {value!r}.")
    return found


@dataclass(frozen=True)
class TrainSpec:
    """How long and how a run is trained; shared by every run of an ensemble.

    schedule "cosine": linear warm-up over `warmup` steps, then cosine to `final`·rate at `steps` (Zhang et al. 2024).
    schedule "fit": warm-up, then the rate is held until the metric `fit_metric` reaches `fit_level` and for `hold` steps more;
    from there cosine to `final`·rate over `anneal` steps, and the run is finished. At step steps − anneal every run anneals.
    optimizer "adamw", or "sgd" without momentum, whose decay is coupled. Both clip the gradient at `clip`.
    precision of matrix products: "float32", or "any": bfloat16 where the machine has it.
    """

    later: ClassVar[dict[str, Any]] = {"optimizer": "adamw", "precision": "any"}
    """Fields that came after results had been stored: at these defaults they are left out, so that keys stay what they were. A
    kind of model may have such fields, too."""

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
    precision: str = "any"

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
        if self.precision not in PRECISIONS:
            raise SpecError(f"precision must be 'any' or 'float32', got {self.precision!r}.")
        if self.schedule == "fit" and not 0 < self.anneal < self.steps:
            raise SpecError(f"anneal must lie between 0 and steps={self.steps}, got {self.anneal}.")


@dataclass(frozen=True)
class RunSpec:
    """One run of one experiment. `task` holds the arguments of the experiment's task object.

    Runs that differ in `nudge` alone are the same run under other roundings: the last bit of their initial weights differs.
    """

    later: ClassVar[dict[str, Any]] = {"nudge": 0}

    experiment: str
    version: int
    gamma: float
    seed: int
    rate: float
    decay: float
    model: AnyModel
    train: TrainSpec
    task: tuple[tuple[str, Any], ...] = field(default=())
    nudge: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", check_gamma(self.gamma))
        check_count("seed", self.seed, low=0)
        check_count("nudge", self.nudge, low=0)
        if getattr(self.model, "kind", None) not in MODEL_KINDS:
            raise SpecError(
                f"{type(self.model).__name__} is no kind of model that results may name: call register_models on it."
            )
        object.__setattr__(self, "rate", check_number("rate", self.rate, low=0, strict=True))
        object.__setattr__(self, "decay", check_number("decay", self.decay, low=0))
        frozen = lambda value: tuple(value) if isinstance(value, list) else value  # as JSON returns a tuple
        object.__setattr__(self, "task", tuple(sorted((name, frozen(value)) for name, value in self.task)))

    @property
    def single_precision(self) -> bool:
        """Is it never trained in bfloat16, by its own settings or by its kind of model?"""
        return self.train.precision == "float32" or getattr(self.model, "single_precision", False)

    @property
    def shape(self) -> tuple:
        """Runs of equal shape can be trained as one program."""
        return self.experiment, self.version, self.model, self.train, self.task

    def as_dict(self) -> dict[str, Any]:
        found = _record(self) | {"task": dict(self.task), "model": _record(self.model), "train": _record(self.train)}
        if self.model.kind != ModelSpec.kind:
            found["model"]["kind"] = self.model.kind
        return found

    @cached_property
    def key(self) -> str:
        """The name of the run's result: 20 hexadecimal digits of the sha256 of the canonical JSON of the spec."""
        return hashlib.sha256(canonical(self.as_dict()).encode()).hexdigest()[:20]


def _record(spec: Any) -> dict[str, Any]:
    """The fields of a spec, without those of its `later` ones that are at their defaults."""
    later = getattr(spec, "later", {})
    fields = ((f.name, getattr(spec, f.name)) for f in dataclasses.fields(spec))
    return {name: value for name, value in fields if name not in later or value != later[name]}


def from_dict(record: dict[str, Any]) -> RunSpec:
    """The inverse of RunSpec.as_dict. Raises SpecError for what is no record of a run, UnknownKindError for what may be."""
    try:
        parts = dict(record)
        shape = dict(parts.pop("model"))
        kind = shape.pop("kind", ModelSpec.kind)
        if kind not in MODEL_KINDS:
            raise UnknownKindError(
                f"the kind of model {kind!r} is not known here (known: {', '.join(MODEL_KINDS)}): import the experiment "
                f"{parts.get('experiment')!r} first; lib.book.registry imports all."
            )
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
