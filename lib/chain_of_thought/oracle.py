"""The best that counting can do: a vote among the examples, without training.

At each step, of the examples whose input there is the current pattern, the most frequent output; ties and prompts without such
an example are decided by chance. Then it goes on from its own answer, as chain of thought does. This is what Theorem 5's
mechanism comes to when attention is perfect, so its errors are the reference for a trained model's.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lib.chain_of_thought.task import FINE, Columns
from lib.core.model.rng import randint

_TIE = 61  # a stream of random numbers


def plurality(votes: Tensor, seed: Tensor, index: Tensor) -> Tensor:
    """The place of the largest of the votes (..., n), ties by chance; seed and index as lib.core.model.rng has them."""
    chance = randint(seed[..., None], _TIE, index[..., None] * votes.shape[-1] + torch.arange(votes.shape[-1]), FINE)
    return (votes.double() * FINE + chance).argmax(-1)


def votes(counts: Tensor, columns: Columns, state: Tensor, step: int) -> Tensor:
    """(N, P) how many columns of a prompt lead from `state` (N,) at `step` (from 0) to each pattern. counts: (N, kinds)."""
    first = columns.kind(state, step, 0)[:, None]
    return counts.gather(1, first + torch.arange(len(columns.patterns)))


def chain(counts: Tensor, columns: Columns, start: Tensor, seed: int) -> Tensor:
    """(N, K) the answers of the vote, step by step, from `start` (N,)."""
    state, answers, index = start, [], torch.arange(len(start))
    for step in range(columns.steps):
        state = plurality(votes(counts, columns, state, step), torch.tensor(seed), index * columns.steps + step)
        answers.append(state)
    return torch.stack(answers, 1)
