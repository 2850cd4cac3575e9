"""What a trained model answers to test prompts: chain of thought, step by step, and in-context learning, at once.

A trained model answers by Σ_i W_V p̃_i exp(score_i) up to a positive factor, and a column is one of
a few hundred kinds. So a prompt is fully described by how often each kind occurs in it, and an answer is one product of these
counts with a table of exp(score) · (W_V p̃ · μ'_j): `Tables` holds these, exactly, and makes hundreds of thousands of prompts a
matter of seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from lib.chain_of_thought import oracle
from lib.chain_of_thought.models import OneLayerSpec
from lib.chain_of_thought.prompts import Trial
from lib.chain_of_thought.task import Columns, Prompts
from lib.core.model.transformer import from_weights


def nearest(answer: Tensor, patterns: Tensor) -> Tensor:
    """(...,) the number of the pattern of unit norm that is nearest to an answer (..., D_Y): greedy decoding."""
    return (answer @ patterns.T).argmax(-1)


class Tables:
    """`attention` (P·K, kinds): exp(score) of each kind of column for a query at each pattern and step, up to a factor; `said`
    (P·K, kinds, P): the same times what the column says for each pattern, W_V p̃ · μ'_j."""

    def __init__(self, spec: OneLayerSpec, weights: dict[str, Tensor], columns: Columns) -> None:
        self.columns, model = columns, from_weights(spec, weights).double()
        inputs = (columns.patterns[:, None] + columns.codes).flatten(0, 1)
        queries = torch.cat([inputs, torch.zeros_like(inputs)], -1).double()
        table = columns.table.double()
        scores = model.asked(queries[None, None])[0, 0] @ table.T
        self.attention = (scores - scores.amax(-1, keepdim=True)).exp().float()
        self.attention[:, columns.absent] = 0
        values = (model.said(table[None, None])[0, 0] @ columns.patterns.double().T).float()
        self.said = self.attention[..., None] * values

    def answer(self, counts: Tensor, state: Tensor, step: int) -> Tensor:
        """(N,) the nearest pattern for a query at `state` (N,) and `step` (from 0). counts: (N, kinds)."""
        found = torch.empty_like(state)
        for pattern in range(len(self.columns.patterns)):
            here = (state == pattern).nonzero()[:, 0]
            found[here] = (counts[here] @ self.said[pattern * self.columns.steps + step]).argmax(-1)
        return found

    def think(self, counts: Tensor, start: Tensor) -> Tensor:
        """(N, K) chain of thought; its own columns are added to the counts on the way, and taken out again."""
        state, answers, rows, written = start, [], torch.arange(len(start)), []
        for step in range(self.columns.steps):
            answers.append(self.answer(counts, state, step))
            written.append(self.columns.kind(state, step, answers[-1]))
            counts[rows, written[-1]] += 1
            state = answers[-1]
        for kinds in written:
            counts[rows, kinds] -= 1
        return torch.stack(answers, 1)

    def matched(self, counts: Tensor, prompts: Prompts) -> Tensor:
        """(N, K) the attention of each step of the query's correct path to the examples' columns of that step and pattern."""
        rows, counts, shares = torch.arange(len(counts)), counts.clone(), []
        for step in range(self.columns.steps):
            state = prompts.query[:, step]
            attended = counts * self.attention[state * self.columns.steps + step]
            shares.append(oracle.votes(attended, self.columns, state, step).sum(1) / attended.sum(1))
            counts[rows, self.columns.kind(state, step, prompts.query[:, step + 1])] += 1
        return torch.stack(shares, 1)


def read(tables: Tables, trial: Trial, lengths: Sequence[int], prompts: int, seed: int) -> dict[str, Tensor]:
    """Let a model answer `prompts` test prompts, with the first l examples of each, for every length l (rising).

    The shares of wrong answers, (G, K) by step of chain of thought (`thought`) and of the `oracle`, (G,) of in-context learning
    (`leap`); and (G, K) the attention to columns of the same step and pattern (`matched`)."""
    drawn, columns = trial.draw(seed, prompts, max(lengths)), tables.columns
    start, right = drawn.query[:, 0], drawn.query[:, 1:]
    wrong: dict[str, list[Tensor]] = {name: [] for name in ("thought", "oracle", "leap", "matched")}
    for counts, direct in growing(columns, drawn, lengths):
        wrong["thought"].append((tables.think(counts, start) != right).float().mean(0))
        wrong["oracle"].append((oracle.chain(counts, columns, start, seed) != right).float().mean(0))
        wrong["leap"].append((tables.answer(direct, start, 0) != right[:, -1]).float().mean())
        wrong["matched"].append(tables.matched(counts, drawn).mean(0))
    return {name: torch.stack(found) for name, found in wrong.items()}


def growing(columns: Columns, drawn: Prompts, lengths: Sequence[int]) -> Iterator[tuple[Tensor, Tensor]]:
    """How often each kind of column occurs among the first l examples, (N, kinds), in prompts for chain of thought and in those
    for in-context learning, for every l in `lengths` (rising). The arrays are filled further: use them before the next."""
    n, done = len(drawn.query), 0
    thought, leap = (torch.zeros(n, len(columns.table)) for _ in range(2))
    for length in lengths:
        part = Prompts(drawn.examples[:, done:length], drawn.query, drawn.step)
        for counts, kinds in ((thought, columns.kinds(part)), (leap, columns.direct(part))):
            new = kinds[:, : (length - done) * columns.steps]
            counts.scatter_add_(1, new, torch.ones(()).expand(new.shape))
        done = length
        yield thought, leap
