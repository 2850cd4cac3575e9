"""What the study of language and other real tasks trains, for each profile.

`paper` has the sizes of Zhang et al. 2024 as far as they are known (numbers below 1,000, GPT-2); `laptop` has ours, chosen by
trials on seeds that are not reported; `smoke` is for tests and claims nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from lib.core.model.transformer import ModelSpec
from lib.core.record.spec import RunSpec, TrainSpec
from lib.core.sweep.experiment import Experiment, check_profile
from lib.language.addition import MARKS
from lib.language.study import make_adding

VERSION = 1
LARGE, SMALL = (0.5, 0.01), (0.7, 0.1)
"""γ and weight decay of the two arms of Fig. 7, the only ones whose values the paper gives. Its arms differ in both."""
CROSSED = ((0.5, 0.1), (0.7, 0.01))
"""With the arms above, every γ has every decay."""
LARGER = (0.3, 0.0)
"""A larger start, without decay (our choice)."""
SQUARE, RANDOM = "square", "random"


@dataclass(frozen=True)
class AddingSetting:
    """What the addition runs of a profile share. `form`: study 1's (post-norm, ReLU, no biases) or GPT-2's."""

    numbers: int
    low: int
    high: int
    seeds: tuple[int, ...]
    form: str
    d_model: int
    depth: int
    heads: int
    rate: float
    train: TrainSpec


def _train(batch: int, steps: int, eval_every: int) -> TrainSpec:
    return TrainSpec(batch=batch, steps=steps, warmup=steps // 20, eval_every=eval_every, fit_metric="train")


ADDING = {
    "smoke": AddingSetting(16, 6, 9, (0,), "study 1", 16, 2, 1, 3e-3, _train(32, 20, 10)),
    "laptop": AddingSetting(200, 80, 120, (0, 1, 2), "study 1", 128, 2, 1, 3e-4, _train(512, 30_000, 1_000)),
    "paper": AddingSetting(1000, 400, 600, (0, 1, 2), "GPT-2", 768, 12, 12, 1e-4, _train(512, 200_000, 5_000)),
}
FORMS = {
    "study 1": {"norm": "post", "activation": "relu", "bias": False},
    "GPT-2": {"norm": "pre", "activation": "gelu", "bias": True},
}


def adding_spec(profile: str, gamma: float, decay: float, seed: int, split: str = SQUARE) -> RunSpec:
    """One run. Two layers and one head have the widths of study 1: d_ff = 3 d_model, d_k = d_model / 2."""
    s = ADDING[check_profile(profile)]
    d_k, d_ff = (s.d_model // 2, 3 * s.d_model) if s.form == "study 1" else (s.d_model // s.heads, 4 * s.d_model)
    shape = {"depth": s.depth, "d_model": s.d_model, "d_ff": d_ff, "d_k": d_k, "d_v": d_k, "heads": s.heads}
    model = ModelSpec(vocab=len(MARKS) + 2 * s.numbers - 1, positions=3, **shape, **FORMS[s.form])
    task = {"numbers": s.numbers, "low": s.low, "high": s.high, "split": split, "keep": (s.train.steps,)}
    return RunSpec("language-addition", VERSION, gamma, seed, s.rate, decay, model, s.train, tuple(task.items()))


def adding_specs(profile: str) -> dict[tuple[str, float, float], list[RunSpec]]:
    """{(split, γ, weight decay): runs}, from the largest start on: every arm on the square, and the largest start on a random
    split as well."""
    s = ADDING[check_profile(profile)]
    arms = [(SQUARE, *arm) for arm in sorted((LARGER, LARGE, SMALL, *CROSSED))] + [(RANDOM, *LARGER)]
    return {
        (split, gamma, decay): [adding_spec(profile, gamma, decay, seed, split) for seed in s.seeds]
        for split, gamma, decay in arms
    }


def _flat(profile: str) -> list[RunSpec]:
    return [spec for runs in adding_specs(profile).values() for spec in runs]


ADDITION = Experiment("language-addition", "Addition with a square held out", VERSION, make_adding, _flat)

EXPERIMENTS: tuple[Experiment, ...] = (ADDITION,)
