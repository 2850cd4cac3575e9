"""The runs that a reader can play along training: two layers of GPT-2's form with pre-norm, and what is kept of every step.

They are the pre-norm runs of chapter 8 at more values of γ, trained again because those kept nothing on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lib.composition.spectra import covariance_eigenvalues
from lib.composition.study import METRICS, Composition
from lib.composition.task import (
    FIRST_KEY,
    HELD_OUT,
    INFERENTIAL_OFFSET,
    LAST_KEY,
    LENGTH,
    N_PLACES,
    SYMMETRIC_OFFSET,
    Task,
)
from lib.composition.variations import gpt2_specs
from lib.core.model.transformer import ActivationCache, Transformer
from lib.core.read.fact import Fact, in_words
from lib.core.read.measures import principal_map
from lib.core.record.spec import RunSpec
from lib.core.record.store import StoredRun
from lib.core.sweep.experiment import Experiment
from lib.core.sweep.jobs import records

KEY, PLACE = 99, 2
"""The question of Fig. 3 of Zhang et al. 2024 and where it stands: key 99, pair (4, 3)."""
ASKED = 50
"""How often the question is asked at each of its seven places, every time between other numbers."""
GAMMAS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class Played(Composition):
    """The task; every evaluated step keeps what a reader sees of it."""

    def __init__(self, **task: Any) -> None:
        super().__init__(**task)
        place = torch.arange(N_PLACES).repeat_interleave(ASKED)
        one = Task().questions(torch.tensor([KEY]), torch.tensor([PLACE]), torch.tensor([Task().number(HELD_OUT)]))
        key, pair = torch.full_like(place, KEY), torch.full_like(place, Task().number(HELD_OUT))
        self.one, self.many = one.tokens, self.task.questions(key, place, pair, seed=1).tokens

    def snapshot(self, model: Transformer, step: int) -> dict[str, Tensor]:
        """Of each run: `answered` (R, 2), the shares of key − 6 and of key − 10 among answers to key 99, pair (4, 3);
        `answer` (R,) and `attention` (R, L, N, N), the mean over heads, on the one question of the explorers; `map` (R, 80, 2)
        and `explained` (R, 2), the first principal components of the keys' embedding and their percent of the variance;
        `spectrum` (R, D), the eigenvalues of its covariance. A run that is not finite has zeros for a map."""
        device = model.embedding.token.device
        ask = lambda tokens, activations=None: (
            model(tokens.to(device).expand(model.n_runs, *tokens.shape), activations).argmax(-1).cpu()
        )
        activations = ActivationCache()
        answer, offset = ask(self.one, activations)[:, 0], ask(self.many) - KEY
        layers = [activations[f"attention.{layer}"][:, 0].mean(1) for layer in range(1, model.spec.depth + 1)]
        keys = model.embedding.token[:, FIRST_KEY : LAST_KEY + 1].detach().float().cpu()
        maps = [principal_map(vectors if np.isfinite(vectors).all() else np.zeros_like(vectors)) for vectors in keys.numpy()]
        return {
            "answered": torch.stack([(offset == o).float().mean(1) for o in (SYMMETRIC_OFFSET, INFERENTIAL_OFFSET)], 1),
            "answer": answer.float(),
            "attention": torch.stack(layers, 1).float(),
            "map": torch.from_numpy(np.stack([points for points, _ in maps])).float(),
            "explained": torch.tensor([explained for _, explained in maps]),
            "spectrum": covariance_eigenvalues(keys).float(),
        }


@records(*METRICS, length=LENGTH)
def make_played(spec: RunSpec) -> Played:
    return Played(**dict(spec.task))


def played_specs(profile: str) -> list[RunSpec]:
    """The pre-norm runs of `composition-gpt2`, with γ in GAMMAS on the laptop."""
    return gpt2_specs(profile, PLAYED_NAME, ("pre",), GAMMAS if profile == "laptop" else None)


PLAYED_NAME = "composition-played"
PLAYED = Experiment(PLAYED_NAME, "Two pre-norm layers along training, for the explorers", 1, make_played, played_specs)


# --- The text of the ten minutes ---

TURNS, TURNED, LATE, LARGE, SMALL = 0.35, 0.45, 0.6, 0.3, 1.0
"""γ at which a first seed and all seeds have turned, and from which on all runs are counted; the two ends."""


def said(run: StoredRun) -> int | None:
    """What a run answers in most sequences that ask key 99, pair (4, 3), at the end; None if that is neither answer."""
    shares = list(run.snapshots().values())[-1]["answered"].tolist()
    return next((KEY + o for o, share in zip((SYMMETRIC_OFFSET, INFERENTIAL_OFFSET), shares, strict=True) if share > 0.5), None)


def facts(runs: Sequence[StoredRun]) -> dict[str, Fact]:
    """What the page of ten minutes finds, of all played runs of a profile; with none at a γ, its numbers are missing."""
    seeds = sorted({run.spec.seed for run in runs})
    whole = {gamma: [said(run) for run in runs if run.spec.gamma == gamma] for gamma in GAMMAS}
    reasons, memorized = KEY + INFERENTIAL_OFFSET, KEY + SYMMETRIC_OFFSET
    late = [answer for gamma, answers in whole.items() if gamma >= LATE for answer in answers]
    rests = f"pre-norm runs of two layers, seeds {seeds[0]} to {seeds[-1]}" if seeds else "no runs"

    def count(gamma: float, answer: int | None) -> Fact:
        says = f"say {answer} in most sequences" if answer else "have neither answer in most sequences"
        return Fact(
            in_words(whole[gamma].count(answer)) if whole[gamma] else None, "{}", f"{rests}: those at γ = {gamma:g} that {says}"
        )

    return {
        "seeds": Fact(in_words(len(seeds)) if seeds else None, "{}", rests),
        "turned-first": count(TURNS, reasons),
        "turned-all": count(TURNED, reasons),
        "late": Fact(
            (late.count(reasons), len(late)) if late else None,
            "{} of {}",
            f"{rests}: those from γ = {LATE:g} on that say {reasons} in most sequences",
        ),
        "late-back": Fact(
            in_words(late.count(memorized)) if late else None,
            "{}",
            f"{rests}: those from γ = {LATE:g} on that say {memorized} in most sequences",
        ),
        "neither-large": count(LARGE, None),
        "turned-small": count(SMALL, reasons),
    }
