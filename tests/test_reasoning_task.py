"""The memory and reasoning task, and the theory's functions against values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lib.core.read.measures import cosines
from lib.reasoning_bias import task as module
from lib.reasoning_bias.task import HELD_OUT, LENGTH, MEMORY, REASONING, Task, memory_group
from lib.reasoning_bias.theory import fitted_shape, label_distribution

SEEDS = st.integers(0, 2**40)


def rows(task: Task, seed: int, n: int = 400) -> module.Batch:
    return task.rows(torch.tensor(seed), torch.arange(n))


@given(SEEDS, st.sampled_from(module.VARIANTS), st.booleans())
def test_a_row_is_its_parts_and_noise(seed: int, memory: str, noise: bool) -> None:
    task = Task(memory=memory, noise=noise)
    batch = rows(task, seed)
    assert batch.tokens.shape == (400, LENGTH if noise else 3)
    for i in range(0, 400, 37):
        place = int(batch.place[i])
        part = batch.tokens[i, place : place + 3].tolist()
        assert part == [int(batch.key[i]), int(batch.first[i]), int(batch.second[i])]
        rest = batch.tokens[i].tolist()[:place] + batch.tokens[i].tolist()[place + 3 :]
        assert all(21 <= token <= 120 for token in rest)
        assert {int(batch.first[i]) in MEMORY, int(batch.second[i]) in MEMORY} != {True, False}


@given(SEEDS)
def test_held_out_pairs_never_train_and_every_other_pair_takes_its_turn(seed: int) -> None:
    batch = rows(Task(), seed, 396)
    pairs = list(zip(batch.first.tolist(), batch.second.tolist(), strict=True))
    assert not set(pairs) & set(HELD_OUT)
    assert len(set(pairs)) == 198
    assert all(pairs.count(pair) == 2 for pair in set(pairs))


@given(SEEDS, st.integers(0, 10**6))
def test_a_row_depends_on_its_seed_and_number_alone(seed: int, start: int) -> None:
    task, seeds = Task(), torch.tensor([[seed], [seed + 1]])
    both = task.rows(seeds, torch.arange(start, start + 5))
    alone = task.rows(torch.tensor(seed), torch.tensor(start + 3))
    assert torch.equal(both.tokens[0, 3], alone.tokens)
    assert torch.equal(both.target[0, 3], alone.target)


def test_labels_by_hand() -> None:
    task = Task()
    reasoning = task.every("reasoning")
    assert torch.equal(reasoning.target, reasoning.key + reasoning.first + reasoning.second)
    assert (int(reasoning.target.min()), int(reasoning.target.max())) == (43, 160)
    held = task.every("held out")
    assert len(held.key) == 200
    assert set(zip(held.first.tolist(), held.second.tolist(), strict=True)) == set(HELD_OUT)
    memory = task.every("memory")
    assert len(memory.key) == 10_000
    again = Task().every("memory", seed=5)  # other places, other noise, the same labels
    assert torch.equal(memory.target, again.target)
    assert not torch.equal(memory.tokens, again.tokens)
    assert (memory.target != Task(table_seed=1).every("memory").target).float().mean() > 0.95


def test_the_memory_table_has_the_range_of_its_variant() -> None:
    plain, window, groups = (Task(memory=name).every("memory") for name in module.VARIANTS)
    assert (int(plain.target.min()), int(plain.target.max())) == (21, 120)
    counts = torch.bincount(plain.target)[21:]
    assert counts.min() > 50  # 100 expected of each
    reach = window.first + window.second
    assert bool(((window.target - window.key).abs() <= reach).all())
    assert set((window.target - window.key)[reach == 2].tolist()) == {-2, -1, 0, 1, 2}
    for i in (1, 2, 3, 4):
        labels = groups.target[memory_group(groups.first) == i]
        assert (int(labels.min()), int(labels.max())) == (30, 29 + 20 * i)


def test_unknown_variant() -> None:
    with pytest.raises(ValueError, match="memory must be one of key, window, groups"):
        Task(memory="other")


# ---------------------------------------------------------------- theory


def test_label_distributions_are_the_trapezoid() -> None:
    for s in REASONING:
        p = label_distribution(s)
        assert p.sum() == pytest.approx(1)
        inside = np.flatnonzero(p)
        assert (inside[0], inside[-1]) == (s + 32, s + 140)
        assert p[s + 41 : s + 132] == pytest.approx(1 / 100)
        assert p[s + 40] < 1 / 100 > p[s + 132]
    assert label_distribution(3) == pytest.approx(label_distribution(8))
    with pytest.raises(ValueError, match="21 is no anchor"):
        label_distribution(21)


def test_distributions_are_those_of_the_task() -> None:
    """Sampled from training rows: within four standard errors of the exact ones."""
    batch = Task().rows(torch.tensor(3), torch.arange(198_000))
    for s in (3, 15):
        labels = batch.target[(batch.first == s) | (batch.second == s)]
        share = np.bincount(labels, minlength=200) / len(labels)
        exact = label_distribution(s)
        tolerance = 4 * np.sqrt(exact * (1 - exact) / len(labels)) + (0.006 if s == 3 else 0.002)
        assert (np.abs(share - exact) <= tolerance).all()


def test_cosines_by_lag_are_the_known_ones() -> None:
    p = np.stack([label_distribution(s) for s in REASONING]) - 1 / 200
    lags = cosines(p[:1], p)[0, 1:].tolist()
    assert lags == pytest.approx([0.998, 0.992, 0.982, 0.970, 0.955, 0.938, 0.919, 0.899, 0.878], abs=6e-4)
    shape = np.stack([fitted_shape(s, 200) for s in REASONING])
    lags = cosines(shape[:1], shape)[0, 1:].tolist()
    assert lags == pytest.approx([0.959, 0.844, 0.683, 0.507, 0.344, 0.213, 0.118, 0.057, 0.022], abs=6e-4)
