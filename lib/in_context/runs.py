"""What several chapters ask of stored runs: the models, their answers to fresh prompts, attention, neurons, steps to learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from torch import Tensor

from lib.core.model.transformer import from_weights
from lib.core.read.measures import mean_std, memoized
from lib.core.read.statistics import wilson
from lib.core.record.start import at_start
from lib.core.record.store import Store, StoredRun, load
from lib.in_context.experiments import train_specs
from lib.in_context.models import OneLayer, OneLayerSpec, signs
from lib.in_context.study import foreign, make_study, neurons, task_from
from lib.in_context.task import Prompts, Task, all_pairs

FRESH_SEED = 2_000_003
"""Test prompts of the run of seed s are the stream FRESH_SEED + s: every run is asked other questions."""
N_FRESH = 4000
LEVEL = 0.1
"""A model has learned at the first evaluation with a held-out hinge loss of at most this; before training it is near 1."""
LUCKY = 0.5
"""A neuron is lucky where it is active, before training, on at least this share of the prompts of its sign."""


def main_runs(store: Store, profile: str) -> list[StoredRun]:
    """The runs that chapters 12 to 14 read. Raises LookupError where some are missing."""
    return load(train_specs(profile), store)


def shape_of(run: StoredRun) -> OneLayerSpec:
    return cast(OneLayerSpec, run.spec.model)


@memoized
def trained(run: StoredRun) -> OneLayer:
    """The trained model of a run (n_runs = 1). Raises StoreError where its weights were not kept."""
    return from_weights(run.spec.model, run.weights())


def untrained(run: StoredRun) -> OneLayer:
    """The same before the first step."""
    return cast(OneLayer, at_start(run.spec))


@memoized
def start_values(run: StoredRun) -> dict[str, float]:
    """What the study watches along training, before the first step, on the prompts of the run's history."""
    return {name: float(value) for name, value in make_study(run.spec).watch(untrained(run)).items()}


def start_attention(run: StoredRun) -> tuple[float, ...]:
    """The query's attention to its own pattern in each layer before the first step."""
    return tuple(start_values(run)[f"attention.{k}"] for k in range(1, run.spec.model.depth + 1))


@memoized
def snapshots(run: StoredRun) -> dict[int, dict[str, np.ndarray]]:
    """{step: {name: array}}, read once."""
    return {step: {name: array.numpy() for name, array in kept.items()} for step, kept in run.snapshots().items()}


def task_of(run: StoredRun, **change: object) -> Task:
    """The task of a run's training prompts, or out of domain for `sum` or `outside`, with other parts changed."""
    own = task_from(run.spec)
    if change.get("sum") is not None or change.get("outside"):
        return foreign(own, **change)
    return replace(own, **{name: value for name, value in change.items() if name not in ("sum", "outside")})


@dataclass(frozen=True)
class Answers:
    """What one model says to n prompts: margins F, right answers z = ±1, and the query's attention to its own pattern, (n,)."""

    margin: np.ndarray
    answer: np.ndarray
    attention: np.ndarray

    @property
    def error(self) -> float:
        """Share of wrong signs; a margin of zero is wrong."""
        return float((self.margin * self.answer <= 0).mean())

    @property
    def loss(self) -> float:
        """Mean hinge loss."""
        return float(np.maximum(0, 1 - self.margin * self.answer).mean())


def fresh(task: Task, seed: int, count: int = N_FRESH) -> Prompts:
    """Test prompts for the run of a seed: of tasks that were not trained, where there are such, else of every pair."""
    pairs = task.unseen if len(task.unseen) else all_pairs(task.count)
    return task.draw(torch.tensor(FRESH_SEED + seed), torch.arange(count), None if task.foreign else pairs)


def ask(model: OneLayer, prompts: Prompts) -> Answers:
    """The answers of a one-layer or stacked model."""
    prompt = prompts.prompt[None]
    attention = (model.query_attention(prompt)[-1][0] * prompts.same).sum(-1)
    return Answers(model(prompt)[0].numpy(), prompts.answer.numpy(), attention.numpy())


@dataclass(frozen=True)
class Share:
    """A share of wrong answers: of each run, (R,), over `total` prompts each, its `own` or the same for all."""

    each: np.ndarray
    total: float
    own: bool = True

    @property
    def mean(self) -> float:
        return float(self.each.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, over prompts (Wilson): those of all runs, or, where they share them, as many as one has."""
        total = self.total * (len(self.each) if self.own else 1)
        return wilson(self.mean * total, total)


def small(values: Sequence[float] | np.ndarray, digits: int = 2) -> str:
    """Mean ± standard deviation; the mean alone where the deviation would be zeros; where both would be, what they do not
    reach, or 0."""
    if not np.any(values):
        return "0"
    deviation, seen = np.std(values, ddof=min(1, len(values) - 1)), 0.5 * 10.0**-digits
    if max(abs(np.mean(values)), deviation) < seen:
        return f"< {10.0**-digits:.{digits}f}"
    return mean_std(values if deviation >= seen else [float(np.mean(values))], digits).replace("-", "−")


def steps_to(run: StoredRun) -> int | None:
    """The first evaluated step at which the held-out hinge loss is at most LEVEL; None for never."""
    losses = run.history.get("unseen loss", run.history["seen loss"])
    return next((int(s) for s, v in zip(run.history["step"], losses, strict=True) if v is not None and v <= LEVEL), None)


# --- Neurons ---


def contributions(model: OneLayer, prompts: Prompts) -> Tensor:
    """(n, m) what each neuron of the last layer adds to F: a_i times its activation. Pruning a neuron takes its column away."""
    x = model.columns(prompts.prompt[None])[-1]
    return model.layers[-1](x[:, :, :-1], x[:, :, -1:])[0, :, 0] * model.a


def row_norms(model: OneLayer) -> np.ndarray:
    """(m,) norms of the rows of W_O, in the last layer."""
    return model.layers[-1].W_O.weight[0].norm(dim=-1).numpy()


def large_bound(norms: np.ndarray) -> float:
    """The norm from which on a neuron is large: half of the mean of the largest tenth."""
    return float(np.sort(norms)[-max(1, len(norms) // 10) :].mean() / 2)


def large(norms: np.ndarray) -> np.ndarray:
    """(m,) which neurons are large."""
    return norms >= large_bound(norms)


def positive(run: StoredRun) -> np.ndarray:
    """(m,) which neurons of the last layer have a > 0."""
    return signs(shape_of(run).neurons).numpy() > 0


def neurons_at(run: StoredRun, step: int, layer: int = 1) -> dict[str, np.ndarray]:
    """The rows of W_O W_V at a snapshot, each (m,): "feature norm", "feature angle", "label norm", "label angle" (units of
    π)."""
    return {name.rsplit(".", 1)[0]: v for name, v in snapshots(run)[step].items() if name.endswith(f".{layer}")}


def row_size(neurons: Mapping[str, np.ndarray]) -> np.ndarray:
    """(m,) norms of whole rows of W_O W_V."""
    return np.hypot(neurons["feature norm"], neurons["label norm"])


def last_neurons(run: StoredRun, layer: int = 1) -> dict[str, np.ndarray]:
    """Those of the last snapshot."""
    return neurons_at(run, max(snapshots(run)), layer)


def large_rows(run: StoredRun, layer: int = 1) -> np.ndarray:
    """(m,) neurons whose trained row of W_O W_V is large."""
    return large(row_size(last_neurons(run, layer)))


@memoized
def activity(run: StoredRun) -> np.ndarray:
    """(2, m) how often each neuron is active before training: the share of the prompts whose label has the sign of a_i, and of
    those whose label has the other."""
    model = untrained(run)
    prompts = fresh(task_of(run), run.spec.seed, 400)
    active = (contributions(model, prompts) * model.a.sign() > 0).float()
    fitting = prompts.answer[:, None] == model.a.sign()
    return torch.stack([(active * some).sum(0) / some.sum(0) for some in (fitting, ~fitting)]).numpy()


def lucky(run: StoredRun, share: float = LUCKY, own: bool = True) -> np.ndarray:
    """(m,) neurons that are active, before training, on at least `share` of the prompts whose label has the sign of a_i; not
    `own`: of the prompts of the other sign, which luck should not count.

    The paper calls lucky the neurons whose indicator is on at the start (its Definition D.8 was not available to us).
    """
    return activity(run)[0 if own else 1] >= share


def start_neurons(run: StoredRun) -> dict[str, np.ndarray]:
    """The rows of W_O W_V before the first step, as `neurons_at` has them."""
    return {name: value[0].numpy() for name, value in neurons(untrained(run), task_from(run.spec).m1).items()}
