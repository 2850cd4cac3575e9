"""The task of in-context learning: patterns, tasks, and prompts whose shares are counted against the exact ones."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lib.core.record.spec import SpecError
from lib.in_context.study import foreign
from lib.in_context.task import D_X, D_Y, LEADING, D, Prompts, Task, all_pairs, no_match_floor

SEEDS = st.integers(0, 2**40)
MANY = 100_000
TASKS = st.builds(
    Task,
    m1=st.integers(4, 14),
    m2=st.integers(14, 16),
    alpha=st.sampled_from([0.3, 0.8, 1.0]),
    length=st.integers(1, 8),
    shifts=st.just((1,)),
    norm=st.floats(0.5, 3),
)
FOREIGN = st.sampled_from(
    [{}, *({"sum": s} for s in (0.5, 1.3, -1.0, 2**0.5)), *({"sum": s, "mix": 3} for s in (0, 0.7, 1.6)), {"outside": True}]
)
LARGE_ENOUGH = TASKS.filter(lambda t: t.m1 >= 9)


def prompts(task: Task, seed: int, count: int = 50, pairs: Tensor | None = None) -> Prompts:
    return task.draw(torch.tensor(seed), torch.arange(count), pairs)


def near(count: float, expected: float, total: int) -> None:
    """A share within 4.5 standard errors of what it should be: one in 150,000 fails by chance, and seeds are fixed."""
    assert abs(count / total - expected) <= 4.5 * math.sqrt(expected * (1 - expected) / total) + 1e-12


# ---------------------------------------------------------------- patterns


@given(LARGE_ENOUGH, FOREIGN)
def test_patterns_are_orthonormal_and_there_is_no_other_direction(base: Task, change: dict[str, Any]) -> None:
    """Relevant ones among themselves and against irrelevant ones, in domain and out of it."""
    task = foreign(base, **change) if change else base
    together = torch.cat([task.patterns, task.irrelevant])
    assert together.shape[1] == D_X
    assert len(task.patterns) == task.count == (base.m1 // change.get("mix", 2) if change else base.m1)
    torch.testing.assert_close(together @ together.T, torch.eye(len(together)), atol=1e-5, rtol=0)


@given(st.integers(4, 14), st.floats(-(2**0.5), 2**0.5))
def test_foreign_patterns_are_combinations_with_a_given_sum(m1: int, total: float) -> None:
    """μ'_j = k₁ μ_{2j−1} + k₂ μ_{2j}: of its own two patterns, of unit norm, with k₁ + k₂ = S₁."""
    task = Task(m1=m1, m2=14, alpha=1, sum=total, shifts=(1,))
    assert task.patterns.norm(dim=1).tolist() == pytest.approx([1] * (m1 // 2), abs=1e-6)
    for j, pattern in enumerate(task.patterns):
        own = pattern[2 * j : 2 * j + 2]
        assert own.sum().item() == pytest.approx(total, abs=1e-6)
        assert own[0] >= own[1]
        assert torch.equal(pattern.nonzero()[:, 0], 2 * j + own.nonzero()[:, 0])


@given(st.integers(6, 14), st.floats(0, 1))
def test_the_largest_of_three_coefficients_is_always_the_same(m1: int, where: float) -> None:
    """So that S₁ does not change the angle to the nearest trained pattern; it may be all that .8 + k₂ + k₃ can be."""
    low, high = Task(m1=m1, m2=14, alpha=1, shifts=(1,), mix=3).widest
    assert (low, high) == pytest.approx((0.8 - 0.72**0.5, 0.8 + 0.72**0.5))
    task = Task(m1=m1, m2=14, alpha=1, sum=min(high, low + where * (high - low)), shifts=(1,), mix=3)
    assert task.patterns.shape == (m1 // 3, D_X)
    for j, pattern in enumerate(task.patterns):
        own = pattern[3 * j : 3 * j + 3]
        assert own[0].item() == pattern.abs().max().item() == pytest.approx(LEADING) == pytest.approx(0.8)
        assert own.sum().item() == pytest.approx(task.sum, abs=1e-5)
        assert own.norm().item() == pytest.approx(pattern.norm().item()) == pytest.approx(1, abs=1e-6)
        assert own[1] >= own[2]


def test_foreign_irrelevant_patterns_mix_two_of_training() -> None:
    task = foreign(Task(), sum=1.1)
    assert len(task.irrelevant) == 12
    for k, pattern in enumerate(task.irrelevant):
        expected = torch.zeros(D_X)
        expected[[6 + 2 * k, 7 + 2 * k]] = 1 / math.sqrt(2)
        torch.testing.assert_close(pattern, expected)


def test_patterns_outside_are_irrelevant_ones_of_training() -> None:
    """They have no part in the relevant ones' span; what is irrelevant to the new tasks are others."""
    base, task = Task(), foreign(Task(), outside=True)
    assert torch.equal(task.patterns, base.irrelevant[:3])
    assert torch.equal(task.patterns @ base.patterns.T, torch.zeros(3, 6))
    assert len(task.irrelevant) == 10  # 21 are left, of which one has no partner
    assert (task.irrelevant[:, :9] == 0).all()


# ---------------------------------------------------------------- tasks


@given(st.integers(3, 9), st.data())
def test_trained_and_unseen_tasks_are_all_tasks_once(m1: int, data: st.DataObject) -> None:
    among = data.draw(st.sampled_from([0, *range(2, m1 + 1)]))
    limit = (among or m1) - 1
    shifts = tuple(data.draw(st.lists(st.integers(1, limit), min_size=1, max_size=limit, unique=True)))
    task = Task(m1=m1, m2=9, shifts=shifts, among=among)
    shown, left = (list(map(tuple, pairs.tolist())) for pairs in (task.pairs, task.unseen))
    assert len(shown) == len(set(shown)) == (among or m1) * len(shifts)
    assert sorted(shown + left) == list(itertools.permutations(range(m1), 2)) == list(map(tuple, all_pairs(m1).tolist()))
    assert all((b - a) % (among or m1) in shifts for a, b in shown)
    assert all(max(pair) < (among or m1) for pair in shown)


@given(st.integers(3, 9), st.integers(1, 2**31), st.data())
def test_tasks_drawn_at_random_show_every_pattern_with_both_labels(m1: int, drawn: int, data: st.DataObject) -> None:
    shifts = tuple(range(1, data.draw(st.integers(2, m1 - 1)) + 1))
    task = Task(m1=m1, m2=18, shifts=shifts, drawn=drawn)
    shown = list(map(tuple, task.pairs.tolist()))
    assert shown == sorted(set(shown))
    assert len(shown) == m1 * len(shifts) == m1 * (m1 - 1) - len(task.unseen)
    assert {a for a, _ in shown} == {b for _, b in shown} == set(range(m1))
    assert torch.equal(Task(m1=m1, m2=18, shifts=shifts, drawn=drawn).pairs, task.pairs)
    if m1 > 5:
        assert foreign(task, sum=1.1).pairs.tolist() == all_pairs(m1 // 2).tolist()


def test_tasks_within_mixtures_come_once() -> None:
    others = [[1, 2], [3, 4], [5, 0]]
    assert Task(shifts=(1,), within=True).pairs.tolist() == [*others, [0, 1], [1, 0], [2, 3], [3, 2], [4, 5], [5, 4]]
    assert Task(shifts=(1,), within=False).pairs.tolist() == others


def test_each_random_choice_is_another() -> None:
    assert len({tuple(Task(drawn=i).pairs.flatten().tolist()) for i in range(50)}) == 50


def test_foreign_tasks_are_all_pairs_of_the_new_patterns() -> None:
    for change in ({"sum": 1.1}, {"outside": True}):
        task = foreign(Task(shifts=(1, 2), among=3), **change)
        assert sorted(map(tuple, task.pairs.tolist())) == list(itertools.permutations(range(3), 2))
        assert task.unseen.shape == (0, 2)


# ---------------------------------------------------------------- the columns of a prompt


@given(LARGE_ENOUGH, FOREIGN, SEEDS)
def test_a_column_is_an_input_above_its_label(base: Task, change: dict[str, Any], seed: int) -> None:
    """x = β μ_j + κ ν_k with |κ| ≤ ½; y = ±q for the task's patterns, either for the others; no label for the query."""
    task = foreign(base, **change) if change else base
    drawn = prompts(task, seed, 20)
    assert drawn.prompt.shape == (20, task.length + 1, D)
    assert drawn.target.shape == drawn.pattern.shape == (20, task.length + 1)
    x, y = drawn.prompt.split([D_X, D_Y], -1)
    rest = x - task.norm * task.patterns[drawn.pattern]
    kappa = rest @ task.irrelevant.T
    assert ((kappa.abs() > 1e-6).sum(-1) <= 1).all()
    assert kappa.abs().max() <= 0.5 + 1e-5
    torch.testing.assert_close(rest, kappa @ task.irrelevant, atol=1e-5, rtol=0)
    for row, (first, second) in enumerate(drawn.pair.tolist()):
        label = {first: 1.0, second: -1.0}
        assert drawn.target[row].tolist() == [label.get(j, 0.0) for j in drawn.pattern[row].tolist()]
    shown, told = y[:, :-1, 0], drawn.target[:, :-1]
    assert (shown.abs() == 1).all()
    assert torch.equal(shown[told != 0], told[told != 0])
    assert (y[..., 1:] == 0).all()
    assert (y[:, -1] == 0).all()
    assert torch.equal(drawn.answer, drawn.target[:, -1])
    assert (drawn.answer.abs() == 1).all()
    assert torch.equal(drawn.same, drawn.pattern[:, :-1] == drawn.pattern[:, -1:])


@pytest.mark.parametrize("alpha", [0.8, 0.45, 1.0, 0.0])
def test_shares_over_many_prompts_are_the_exact_ones(alpha: float) -> None:
    """Of the pair (4, 1): α/2 each, (1 − α)/4 for each of the others, fair coins, a query that is either."""
    task = Task(alpha=alpha, length=3)
    counts, coins, neighbours, queries, kappas, irrelevant = np.zeros((3, 6)), [], np.zeros((6, 6)), [], [], np.zeros(24)
    for start in range(0, MANY, 20_000):
        drawn = task.draw(torch.tensor(7), torch.arange(start, start + 20_000), torch.tensor([[4, 1]]))
        pattern = drawn.pattern.numpy()
        for column in range(3):
            counts[column] += np.bincount(pattern[:, column], minlength=6)
        np.add.at(neighbours, (pattern[:, 0], pattern[:, 1]), 1)
        coins.append(drawn.prompt[:, :-1, D_X][drawn.target[:, :-1] == 0].numpy())
        queries.append(pattern[:, -1])
        noise = drawn.prompt[:, :, 6:D_X]
        kappas.append(noise.sum(-1).numpy().ravel())
        irrelevant += torch.bincount(noise.abs().argmax(-1).flatten(), minlength=24).numpy()
    share = np.full(6, (1 - alpha) / 4)
    share[[4, 1]] = alpha / 2
    for column, j in itertools.product(range(3), range(6)):
        near(counts[column, j], share[j], MANY)
    for i, j in itertools.product(range(6), repeat=2):
        near(neighbours[i, j], share[i] * share[j], MANY)  # columns are independent
    labels = np.concatenate(coins)
    assert (len(labels) == 0) == (alpha == 1)
    if len(labels):
        near((labels == 1).sum(), 0.5, len(labels))
    assert set(np.unique(labels)) <= {-1.0, 1.0}
    query = np.concatenate(queries)
    assert set(query) == {4, 1}
    near((query == 4).sum(), 0.5, MANY)
    kappa = np.concatenate(kappas)
    assert -0.5 <= kappa.min() < -0.499
    assert 0.499 < kappa.max() <= 0.5
    for count in np.histogram(kappa, np.linspace(-0.5, 0.5, 11))[0]:
        near(count, 0.1, len(kappa))
    for count in irrelevant:
        near(count, 1 / 24, len(kappa))


def test_tasks_are_drawn_alike_and_everything_is_independent_of_them() -> None:
    """And a coin does not know its pattern, its noise or its neighbour."""
    task = Task(alpha=0.4, length=2)
    drawn = task.draw(torch.tensor(11), torch.arange(MANY))
    number = {tuple(pair): i for i, pair in enumerate(task.pairs.tolist())}
    which = np.array([number[tuple(pair)] for pair in drawn.pair.tolist()])
    for count in np.bincount(which, minlength=18):
        near(count, 1 / 18, MANY)
    label, told = drawn.prompt[:, :2, D_X].numpy(), drawn.target[:, :2].numpy()
    both = (told == 0).all(1)
    near((label[both, 0] == label[both, 1]).sum(), 0.5, both.sum())
    up = (drawn.prompt[:, :2, 6:D_X].sum(-1) > 0).numpy()
    coin = told[:, 0] == 0
    near((up[coin, 0] == (label[coin, 0] > 0)).sum(), 0.5, coin.sum())
    near((up[:, 0] == up[:, 1]).sum(), 0.5, MANY)
    kappa, which_noise = drawn.prompt[:, 0, 6:D_X].sum(-1).numpy(), drawn.prompt[:, 0, 6:D_X].abs().argmax(-1).numpy()
    for k in range(24):
        near((kappa[which_noise == k] > 0).sum(), 0.5, (which_noise == k).sum())
    first = drawn.answer.numpy() > 0
    for index in range(18):
        near(first[which == index].sum(), 0.5, (which == index).sum())
    shown = (drawn.pattern[:, 0] == drawn.pattern[:, 2]).numpy()
    near(shown.sum(), 0.2, MANY)  # α / 2 of the examples have the query's pattern
    near((shown & first).sum(), 0.1, MANY)


def test_the_others_exclude_both_patterns_of_every_pair() -> None:
    task = Task(alpha=0.0, length=4, shifts=(1, 2, 3, 4, 5))
    drawn = prompts(task, 3, 3000)
    for pair in all_pairs(6).tolist():
        own = drawn.pattern[(drawn.pair == torch.tensor(pair)).all(1), :-1]
        assert set(own.unique().tolist()) == set(range(6)) - set(pair)


# ---------------------------------------------------------------- prompts are functions of their seed and number


@given(TASKS, SEEDS, st.integers(0, 10**9), st.integers(0, 4), st.booleans())
def test_a_prompt_depends_on_its_seed_and_number_alone(task: Task, seed: int, start: int, row: int, held: bool) -> None:
    """With half of the tasks held out, and loud; without, and not."""
    task, pairs = (replace(task, loud=3.0), task.unseen) if held else (task, None)
    seeds = torch.tensor([[seed], [seed + 1]])
    both = task.draw(seeds, torch.arange(start, start + 5).expand(2, -1), pairs)
    assert both.prompt.shape == (2, 5, task.length + 1, D)
    assert both.pair.shape == (2, 5, 2)
    alone = task.draw(torch.tensor(seed + 1), torch.tensor(start + row), pairs)
    square = task.draw(torch.tensor(seed + 1), torch.arange(start, start + 6).view(2, 3), pairs)
    for name in ("prompt", "target", "pattern", "pair", "same", "answer"):
        expected = getattr(alone, name)
        assert torch.equal(getattr(both, name)[1, row], expected), name
        assert torch.equal(getattr(square, name)[row // 3, row % 3], expected), name
    assert not torch.equal(both.prompt[0], both.prompt[1])


def test_no_two_prompts_are_alike() -> None:
    """Neither in one stream nor in two, so that test prompts are new; nor do neighbours share a column."""
    drawn = torch.cat([prompts(Task(), seed, 1000).prompt for seed in (0, 1)])
    assert len(drawn.flatten(1).unique(dim=0)) == 2000
    noise = drawn[..., 6:D_X].sum(-1).flatten()
    assert len(noise.unique()) > 0.99 * len(noise)


def test_more_matching_examples_leave_the_rest_of_a_prompt_alone() -> None:
    """Common random numbers: α' changes patterns and labels, not tasks, noise or the query."""
    few, many = (prompts(Task(alpha=alpha), 4, 200) for alpha in (0.6, 0.9))
    assert torch.equal(few.pair, many.pair)
    assert torch.equal(few.prompt[..., 6:D_X], many.prompt[..., 6:D_X])
    assert torch.equal(few.prompt[:, -1], many.prompt[:, -1])
    kept = few.target[:, :-1] != 0
    assert torch.equal(few.pattern[:, :-1][kept], many.pattern[:, :-1][kept])


# ---------------------------------------------------------------- what cannot be drawn

REFUSED = [
    ({"alpha": -0.1}, "alpha must be at least 0, got -0.1"),
    ({"alpha": 1.01}, r"alpha must lie in \[0, 1\], and be 1 where there are but two patterns, got 1.01"),
    ({"alpha": "0.8"}, "alpha must be a finite number, got '0.8'"),
    ({"m1": 2, "shifts": (1,)}, r"alpha must lie in \[0, 1\], and be 1 where there are but two patterns, got 0.8"),
    ({"m1": 4, "shifts": (1,), "sum": 1.0}, r"alpha must lie in \[0, 1\], and be 1 where"),
    ({"m1": 1}, "m1 must be an integer of at least 2, got 1"),
    ({"m2": 0}, "m2 must be an integer of at least 1, got 0"),
    ({"length": 0}, "length must be an integer of at least 1, got 0"),
    ({"drawn": -1}, "drawn must be an integer of at least 0, got -1"),
    ({"drawn": 1, "shifts": (1,), "among": 3}, "tasks are drawn from the pairs of all m1 patterns, in domain"),
    ({"drawn": 1, "shifts": (1,)}, r"at least two tasks a pattern can be drawn: give two shifts or more, got \(1,\)"),
    ({"drawn": 1, "sum": 1.0}, "tasks are drawn from the pairs of all m1 patterns, in domain"),
    ({"among": -1}, "among must be an integer of at least 0, got -1"),
    ({"m1": 7, "m2": 24}, r"m1 \+ m2 must be at most 30 orthogonal patterns, got 7 \+ 24"),
    ({"norm": 0.0}, "norm must be above 0, got 0.0"),
    ({"sum": 1.5}, "sum must lie between -1.41 and 1.41, for patterns of unit norm, got 1.5"),
    ({"sum": 1.65, "mix": 3, "alpha": 1}, "sum must lie between -0.0485 and 1.65, for patterns of unit norm, got 1.65"),
    ({"sum": -0.049, "mix": 3, "alpha": 1}, "sum must lie between -0.0485 and 1.65"),
    ({"mix": 1}, "mix must be an integer of at least 2, got 1"),
    ({"mix": 4}, "mix must be an integer of at most 3, got 4"),
    ({"loud": -0.1}, "loud must be at least 0, got -0.1"),
    ({"loud": 1001}, "loud must be at most 1000, got 1001"),
    ({"shifts": ()}, r"shifts must be numbers from 1 to 5, got \(\)"),
    ({"shifts": (0,)}, r"shifts must be numbers from 1 to 5, got \(0,\)"),
    ({"shifts": (6,)}, r"shifts must be numbers from 1 to 5, got \(6,\)"),
    ({"shifts": (1, 3), "among": 3}, r"shifts must be numbers from 1 to 2, got \(1, 3\)"),
    ({"among": 7}, r"shifts must be numbers from 1 to 6"),
    ({"m1": 3, "shifts": (1,), "alpha": 1, "outside": True}, "out of domain there must be two patterns at least: use m1 of"),
    (
        {"m1": 5, "shifts": (1,), "alpha": 1, "sum": 1.0, "mix": 3},
        "out of domain there must be two patterns at least: use m1 of",
    ),
    ({"m2": 5, "sum": 1.0}, "out of domain there must be two patterns at least: use m1 of at least 4, and m2 of at least 6"),
]


REFUSED += [
    ({"shifts": (1, 2), "within": True} | change, "within must be None, or True or False")
    for change in ({"drawn": 1}, {"among": 4}, {"m1": 5}, {"m1": 12, "m2": 18, "mix": 3}, {"within": 1})
]


@pytest.mark.parametrize(("change", "said"), REFUSED, ids=lambda v: str(v) if isinstance(v, dict) else "")
def test_what_cannot_be_drawn_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=f"^{said}"):
        Task(**change)


def test_where_no_task_is_left_out_there_is_nothing_to_hold_out() -> None:
    task = Task(shifts=(1, 2, 3, 4, 5))
    assert task.unseen.shape == (0, 2)
    with pytest.raises(SpecError, match=r"^there are no such tasks: leave some out of training\.$"):
        task.draw(torch.tensor(0), torch.arange(3), task.unseen)


def test_two_patterns_are_enough_where_every_example_matches() -> None:
    drawn = prompts(Task(m1=2, alpha=1, shifts=(1,)), 0)
    assert (drawn.target != 0).all()
    assert set(drawn.pattern.unique().tolist()) == {0, 1}


def test_a_list_of_shifts_is_the_same_task() -> None:
    """A file has no tuples."""
    assert Task(shifts=[1, 2, 3]) == Task()
    assert hash(Task(shifts=[1, 2, 3])) == hash(Task())


# ---------------------------------------------------------------- the floor


@given(st.integers(3, 5), st.integers(0, 4), st.sampled_from([0.0, 0.3, 0.8, 1.0]))
def test_the_floor_is_that_of_copying_over_all_prompts(m1: int, length: int, alpha: float) -> None:
    """Every sequence of patterns with its probability; where none is the query's, half of the guesses are wrong."""
    share = [alpha / 2, alpha / 2, *[(1 - alpha) / (m1 - 2)] * (m1 - 2)]
    wrong = 0.0
    for patterns in itertools.product(range(m1), repeat=length):
        for query in (0, 1):
            wrong += 0.5 * math.prod(share[j] for j in patterns) * (0.0 if query in patterns else 0.5)
    assert no_match_floor(alpha, length) == pytest.approx(wrong)
