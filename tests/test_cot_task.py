"""The chain-of-thought task: prompts and their columns, transition matrices, test prompts, and the vote without training."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lib.chain_of_thought import oracle
from lib.chain_of_thought.inference import growing
from lib.chain_of_thought.prompts import Trial, draw
from lib.chain_of_thought.task import D_X, D, Prompts, Task, combined
from lib.chain_of_thought.transitions import (
    Transitions,
    jumping,
    parting,
    reconverging,
    widest_tau,
    worked_example,
)
from lib.core.record.spec import SpecError

TASK = Task(patterns=6, steps=3, alpha=0.3, length=5)
BY_ONE = [[0, 1, 2, 3], [2, 0, 1, 5]]
TASKS = st.builds(Task, patterns=st.integers(2, 9), steps=st.integers(1, 5), alpha=st.floats(0, 1), length=st.integers(1, 9))


def drawn(task: Task = TASK, n: int = 2000, seed: int = 3) -> Prompts:
    return task.draw(torch.tensor(seed), torch.arange(n))


def by_hand(step: int) -> Prompts:
    """One example 0 → 1 → 2 → 3 and the query 2 → 0 → 1 → 5, asked at a step."""
    return Prompts(torch.tensor([BY_ONE[0]]), torch.tensor(BY_ONE[1]), torch.tensor(step))


# ---------------------------------------------------------------- prompts of training


@given(TASKS, st.integers(0, 2**40))
def test_examples_and_query_follow_one_task_of_permutations(task: Task, seed: int) -> None:
    """No pattern has two successors at a step of a prompt, and no two patterns one: the f_k are bijections."""
    prompts = drawn(task, 4, seed)
    assert prompts.examples.shape == (4, task.length, task.steps + 1)
    assert prompts.query.shape == (4, task.steps + 1)
    assert ((prompts.step >= 1) & (prompts.step <= task.steps)).all()
    for examples, query in zip(prompts.examples.tolist(), prompts.query.tolist(), strict=True):
        for step in range(task.steps):
            pairs = {(chain[step], chain[step + 1]) for chain in [*examples, query]}
            assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def test_the_share_of_matching_examples_is_alpha() -> None:
    """Within four standard errors; the others are even among the other patterns."""
    prompts = drawn(n=20_000)
    gap = (prompts.examples[..., 0] - prompts.query[..., None, 0]) % TASK.patterns
    shares = torch.bincount(gap.flatten(), minlength=TASK.patterns) / gap.numel()
    expected = torch.tensor([0.3] + [0.7 / 5] * 5)
    assert ((shares - expected).abs() < 4 * (expected * (1 - expected) / gap.numel()).sqrt()).all()


@pytest.mark.parametrize("part", ["step", "states", "answer"])
def test_every_pattern_and_step_is_equally_likely(part: str) -> None:
    prompts = drawn(n=20_000)
    found, count = {
        "step": (prompts.step - 1, TASK.steps),
        "states": (prompts.query[:, 1], TASK.patterns),
        "answer": (prompts.answer, TASK.patterns),
    }[part]
    shares = torch.bincount(found, minlength=count) / len(found)
    assert ((shares - 1 / count).abs() < 4 * (1 / count / len(found)) ** 0.5).all()


def test_every_permutation_of_three_patterns_comes() -> None:
    prompts = Task(patterns=3, steps=1, alpha=0.0, length=8).draw(torch.tensor(0), torch.arange(3000))
    seen = [frozenset(map(tuple, [*e, q])) for e, q in zip(prompts.examples.tolist(), prompts.query.tolist(), strict=True)]
    whole = [s for s in seen if len(s) == 3]
    assert len(set(whole)) == 6
    assert min(whole.count(task) for task in set(whole)) > len(whole) / 6 * 0.8


def test_prompts_are_a_function_of_seed_and_number() -> None:
    """A batch made alone, in parts or for many runs at once is the same."""
    whole, part = drawn(n=10), TASK.draw(torch.tensor(3), torch.tensor([7, 2]))
    many = TASK.draw(torch.tensor([[9], [3]]), torch.arange(10).expand(2, 10))
    for name in ("examples", "query", "step"):
        assert torch.equal(getattr(whole, name)[[7, 2]], getattr(part, name))
        assert torch.equal(getattr(many, name)[1], getattr(whole, name))
        assert not torch.equal(getattr(many, name)[0], getattr(whole, name))


@pytest.mark.parametrize(("step", "there"), [(1, 0), (2, 1), (3, 2)])
def test_columns_by_hand(step: int, there: int) -> None:
    """(z_{k−1} + c_k; z_k) for examples and earlier steps, zeros for those to come, (z_{k−1} + c_k; 0) for the query."""
    matrix = TASK.columns.vectors(TASK.columns.kinds(by_hand(step)))
    assert matrix.shape == (6, D)
    for k, (before, after) in enumerate(pairwise(BY_ONE[0])):
        assert set(matrix[k].nonzero()[:, 0].tolist()) == {before, TASK.patterns + k, D_X + after}
    for k, (before, after) in enumerate(pairwise(BY_ONE[1][:3])):
        full = {before, TASK.patterns + k, D_X + after}
        assert set(matrix[3 + k].nonzero()[:, 0].tolist()) == (full if k < there else set())
    assert set(matrix[5].nonzero()[:, 0].tolist()) == {BY_ONE[1][step - 1], TASK.patterns + step - 1}
    assert set(matrix.unique().tolist()) == {0.0, 1.0}
    assert by_hand(step).answer.item() == BY_ONE[1][step]
    assert by_hand(step).state.item() == BY_ONE[1][step - 1]


def test_in_context_learning_sees_starts_and_ends_alone() -> None:
    matrix = TASK.columns.vectors(TASK.columns.direct(by_hand(1)))
    ones = [set(column.nonzero()[:, 0].tolist()) for column in matrix]
    assert ones == [{0, 6, D_X + 3}, {7}, {8}, set(), set(), {2, 6}]


def test_groups_by_hand() -> None:
    """Asked at step 2 from pattern 0: the example has 0 at step 1, 1 at step 2 and 2 at step 3."""
    examples = torch.tensor([[0, 1, 2, 3], [3, 0, 0, 1]])
    groups = Prompts(examples, torch.tensor([2, 0, 1, 5]), torch.tensor(2)).groups
    assert groups.long().argmax(0).tolist() == [2, 1, 3, 3, 0, 2]
    assert (groups.sum(0) == 1).all()


def test_other_steps_by_hand() -> None:
    """Asked at step 2: of the second example, which starts as the query does, steps 1 and 3; of the first, the others."""
    examples = torch.tensor([[0, 1, 2, 3], [2, 0, 1, 5], [3, 0, 2, 4]])
    same, other = Prompts(examples, torch.tensor([2, 0, 1, 5]), torch.tensor(2)).other_steps
    assert same.long().tolist() == [0, 0, 0, 1, 0, 1, 0, 0, 0]
    assert other.long().tolist() == [1, 0, 1, 0, 0, 0, 1, 0, 1]


@given(st.integers(1, 12), st.floats(-1.41, 1.41))
def test_test_patterns_are_orthonormal_and_in_the_span(count: int, total: float) -> None:
    found = combined(count, total)
    torch.testing.assert_close(found @ found.T, torch.eye(count), atol=1e-5, rtol=0)
    torch.testing.assert_close(found.sum(1), torch.full((count,), total), atol=1e-5, rtol=0)
    assert not found[:, 2 * count :].any()


def test_a_table_has_every_kind_once() -> None:
    columns = Task(patterns=3, steps=2).columns
    kinds = [columns.kind(torch.tensor(p), torch.tensor(s), o).item() for p, s, o in product(range(3), range(2), range(4))]
    bare = [columns.bare(torch.tensor(s)).item() for s in range(2)]
    assert sorted([*kinds, columns.absent, *bare]) == list(range(len(columns.table)))
    assert len(columns.table.unique(dim=0)) == len(columns.table)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"patterns": 1}, "patterns must be an integer of at least 2, got 1"),
        ({"steps": 0}, "steps must be an integer of at least 1, got 0"),
        ({"length": 2.0}, "length must be an integer of at least 1, got 2.0"),
        ({"patterns": 28, "steps": 3}, "at most, got 28 patterns and 3 steps"),
        ({"alpha": 1.1}, r"alpha must lie in \[0, 1\], got 1.1"),
        ({"alpha": -0.1}, "alpha must be at least 0, got -0.1"),
    ],
)
def test_bad_tasks_are_refused(what: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Task(**what)


# ---------------------------------------------------------------- examples that err


def test_the_gap_is_the_least_lead() -> None:
    """Of the worked example .6 − .4, three times, and .8 − .2."""
    assert worked_example().gap == pytest.approx(0.2)
    assert Transitions(worked_example().matrices[1:, 1:].expand(1, 2, 2)).gap == pytest.approx(0.6)
    assert parting(10, 3, 0.5).gap == pytest.approx(2 * 0.5 ** (1 / 3) - 1)
    assert parting(10, 3, 0.5, first=0.6).gap == pytest.approx(2 * 0.5**0.6 - 1)
    assert parting(10, 3, 0.5, competitors=9).gap == pytest.approx(0.5 ** (1 / 3) - (1 - 0.5 ** (1 / 3)) / 9)


@given(st.integers(2, 4), st.floats(0.4, 0.9), st.floats(0.3, 0.7))
def test_a_harder_first_step_keeps_tau(steps: int, tau: float, first: float) -> None:
    found = parting(10, steps, tau, first=first)
    assert found.tau == pytest.approx(tau)
    assert found.matrices[0].amax(-1).tolist() == pytest.approx([tau**first] * 10)
    assert found.matrices[1:].amax(-1).flatten().tolist() == pytest.approx(
        [tau ** ((1 - first) / (steps - 1))] * 10 * (steps - 1)
    )


def test_tau_is_found_among_all_paths() -> None:
    rng = np.random.default_rng(0)
    found = Transitions(torch.tensor(rng.dirichlet(np.ones(4), (3, 4))))
    a = found.matrices.numpy()
    most = [max(a[0, i, j] * a[1, j, k] * a[2, k, m] for j, k, m in product(range(4), repeat=3)) for i in range(4)]
    assert found.tau == pytest.approx(min(most))
    assert found.tau_o == pytest.approx((a[0] @ a[1] @ a[2]).max(1).min())


def test_the_worked_example_of_the_talk() -> None:
    """Its numbers; and the correct paths, of which the slide misprints the second."""
    found = worked_example()
    np.testing.assert_allclose(found.product, [[0.56, 0.44], [0.64, 0.36]], atol=1e-12)
    assert (found.tau, found.tau_o) == pytest.approx((0.36, 0.56))
    assert found.paths.tolist() == [[0, 0, 1], [1, 1, 0]]
    assert found.holds.tolist() == [False, True]


@given(st.integers(2, 3), st.floats(0.26, 0.9))
def test_with_condition_1(steps: int, tau: float) -> None:
    found = parting(10, steps, tau)
    assert found.holds.all()
    assert found.tau == pytest.approx(tau)
    assert torch.equal(found.paths, torch.arange(10)[:, None].expand(10, steps + 1))
    assert ((found.matrices > 0).sum(-1) == 2).all()


@given(st.integers(2, 3), st.floats(0.26, 0.41))
def test_without_condition_1_each_step_is_still_right(steps: int, tau: float) -> None:
    """The same steps, so τ is the same, and no end is."""
    found = reconverging(10, steps, tau)
    assert not found.holds.any()
    assert found.tau == pytest.approx(tau)
    assert torch.equal(found.matrices.argmax(-1), torch.arange(10).expand(steps, 10))
    torch.testing.assert_close(found.matrices.sort(-1).values, parting(10, steps, tau).matrices.sort(-1).values)


@pytest.mark.parametrize("starts", range(1, 11))
def test_condition_1_fails_from_the_first_starts_alone(starts: int) -> None:
    found = reconverging(10, 3, 0.3, starts)
    assert found.holds.tolist() == [i >= starts for i in range(10)]
    assert found.tau == pytest.approx(0.3)
    assert torch.equal(found.paths, torch.arange(10)[:, None].expand(10, 4))


def test_jumps_are_each_starts_own() -> None:
    found = jumping(4, 2, 0.81, [[1, 1, 1, 3], [2, 1, 1, 1]])
    assert (found.matrices[0] > 0).nonzero()[:, 1].view(4, 2).tolist() == [[0, 1], [1, 2], [2, 3], [2, 3]]
    assert (found.matrices[1] > 0).nonzero()[:, 1].view(4, 2).tolist() == [[0, 2], [1, 2], [2, 3], [0, 3]]
    assert found.matrices.amax(-1).flatten().tolist() == pytest.approx([0.9] * 8)


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_condition_1_fails_below_the_widest_tau_and_no_further(steps: int) -> None:
    assert not reconverging(10, steps, widest_tau(steps) - 0.01).holds.any()
    with pytest.raises(SpecError, match="Condition 1 fails only for tau below"):
        reconverging(10, steps, widest_tau(steps) + 0.01)


ONES = [[1] * 10] * 2


@pytest.mark.parametrize("competitors", [2, 5, 9])
def test_wrong_steps_may_be_spread(competitors: int) -> None:
    found = parting(10, 3, 0.5, competitors)
    assert ((found.matrices > 0).sum(-1) == competitors + 1).all()
    torch.testing.assert_close(found.matrices.sum(-1), torch.ones(3, 10, dtype=torch.float64))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: jumping(10, 2, 0.0, ONES), "tau must lie above 0"),
        (lambda: jumping(10, 2, 1.2, ONES), "tau must lie above 0 and be at most 1, got 1.2"),
        (lambda: jumping(10, 2, 0.2, ONES), "tau = 0.2 over 2 steps leaves a correct step 0.45"),
        (lambda: parting(10, 3, 0.25, first=0.6), "tau = 0.25 over 3 steps leaves a correct step 0.44"),
        (lambda: parting(10, 3, 0.5, first=1.0), "first must be a share of at least 0 and below 1, got 1.0"),
        (lambda: reconverging(10, 3, 0.3, 11), "starts must be"),
        (lambda: reconverging(4, 3, 0.25, 1), "Condition 1 fails from 1 of the other 3 starts, too"),
        (lambda: jumping(3, 1, 0.9, [[1] * 3], competitors=3), "between 1 and 2 competitors, got 3"),
        (lambda: parting(4, 3, 0.2), "use a larger tau"),
        (lambda: Transitions(torch.eye(2)), "must be"),
        (lambda: Transitions(torch.full((1, 2, 2), 0.6)), "sum to 1"),
        (lambda: Transitions(torch.full((1, 2, 2), 0.5)), "more probable than all others"),
        (lambda: Trial(alpha=1.5), r"alpha must lie in \[0, 1\]"),
        (lambda: Trial(count=11), "count must be at most 10"),
        (lambda: Trial(errors="none"), "errors must be one of parting, reconverging"),
        (lambda: Trial(errors="reconverging"), "Condition 1 fails only for tau below 0.422 at 3 steps, got 0.5"),
        (lambda: Trial(sum=1.5), "sum must lie within"),
    ],
)
def test_what_cannot_be_had_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        make()


# ---------------------------------------------------------------- prompts of testing


def test_test_prompts_follow_their_matrices() -> None:
    """A fully correct path has the probability τ, and matches the probability α'."""
    trial = Trial(alpha=0.6, tau=0.4)
    prompts = trial.draw(1, 2000, 30)
    match = prompts.examples[..., 0] == prompts.query[:, None, 0]
    assert match.double().mean().item() == pytest.approx(0.6, abs=0.01)
    whole = (prompts.examples == prompts.query[:, None]).all(-1)
    assert whole[match].double().mean().item() == pytest.approx(0.4, abs=0.01)
    first = prompts.examples[..., 1] == prompts.query[:, None, 1]
    assert first[match].double().mean().item() == pytest.approx(0.4 ** (1 / 3), abs=0.01)


@pytest.mark.parametrize(
    "matrices",
    [
        worked_example(),
        parting(10, 2, 0.5, competitors=9),
        Transitions(torch.tensor([[[0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]] * 2)),
    ],
    ids=["the talk's", "spread", "uneven"],
)
def test_any_matrices_can_be_drawn_from(matrices: Transitions) -> None:
    """From the query's start, the correct output of both steps, the correct end, and one output twice, as often as the matrices
    say."""
    prompts, paths, start = draw(matrices, 1.0, 0, 4000, 5), matrices.paths, torch.arange(matrices.count)
    end = (prompts.examples[..., 2] == prompts.query[:, None, 2]).double().mean().item()
    assert end == pytest.approx(matrices.product[start, paths[:, 2]].mean().item(), abs=0.02)
    for step, matrix in enumerate(matrices.matrices):
        there = prompts.examples[..., step] == prompts.query[:, None, step]
        right = (prompts.examples[..., step + 1] == prompts.query[:, None, step + 1])[there].double().mean().item()
        assert right == pytest.approx(matrix[paths[:, step], paths[:, step + 1]].mean().item(), abs=0.02)
    one, other = prompts.examples[:, 0, 1], prompts.examples[:, 1, 1]
    assert (one == other).double().mean().item() == pytest.approx(matrices.matrices[0].square().sum(1).mean().item(), abs=0.03)


def test_columns_of_new_patterns_are_of_their_own_pair_and_the_codes_of_training() -> None:
    columns = Trial(sum=1.2).columns
    matrix = columns.vectors(columns.kinds(Trial(sum=1.2).draw(0, 1, 1)))[0]
    assert matrix.shape == (6, D)
    assert ((matrix[0, :20] != 0).sum(), (matrix[0, D_X:] != 0).sum()) == (2, 2)
    assert torch.equal(matrix[:3, 20:23], torch.eye(3))


def test_correct_paths_of_a_prompt_are_bijections() -> None:
    """From examples at τ = 1, which all are correct."""
    prompts = Trial(tau=1.0).draw(0, 50, 60)
    for examples, query in zip(prompts.examples.tolist(), prompts.query.tolist(), strict=True):
        for step in range(3):
            pairs = {(chain[step], chain[step + 1]) for chain in [*examples, query]}
            assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def test_trials_share_their_random_numbers() -> None:
    """A shorter prompt is the beginning of a longer one, and what is right at some τ is right at a larger."""
    short, long = (Trial(tau=0.4).draw(5, 100, n) for n in (10, 40))
    assert torch.equal(short.examples, long.examples[:, :10])
    assert torch.equal(short.query, long.query)
    better = Trial(tau=0.7).draw(5, 100, 40)
    right = lambda p: (p.examples == p.query[:, None]).all(-1)
    assert (right(better) >= right(long)).all()
    assert torch.equal(long.query, better.query)


def test_counts_are_those_of_the_columns() -> None:
    trial = Trial()
    prompts = trial.draw(2, 7, 9)
    for length, (thought, direct) in zip((4, 9), growing(trial.columns, prompts, (4, 9)), strict=True):
        part = Prompts(prompts.examples[:, :length], prompts.query, prompts.step)
        for counts, kinds in ((thought, trial.columns.kinds(part)), (direct, trial.columns.direct(part))):
            expected = [torch.bincount(row, minlength=len(trial.columns.table)) for row in kinds[:, : 3 * length]]
            assert torch.equal(counts, torch.stack(expected).float())


# ---------------------------------------------------------------- the vote


def vote_errors(trial: Trial, length: int, prompts: int) -> list[float]:
    """By step."""
    drawn = trial.draw(1, prompts, length)
    counts, _ = next(growing(trial.columns, drawn, (length,)))
    answers = oracle.chain(counts, trial.columns, drawn.query[:, 0], 1)
    return (answers != drawn.query[:, 1:]).double().mean(0).tolist()


@pytest.mark.parametrize(("alpha", "length"), [(0.8, 10), (0.4, 6), (1.0, 15)])
def test_the_first_vote_errs_as_two_binomials_say(alpha: float, length: int) -> None:
    """n of l examples match, and of these c are right: wrong if c < n / 2, half of the time at c = n / 2, a guess at n = 0."""
    right, error = math.sqrt(0.5), 0.0
    chance = lambda n, k, p: math.comb(n, k) * p**k * (1 - p) ** (n - k)
    for n in range(length + 1):
        lost = sum(chance(n, c, right) * (1 if 2 * c < n else 0.5) for c in range(n // 2 + 1) if 2 * c <= n) if n else 0.9
        error += chance(length, n, alpha) * lost
    found = vote_errors(Trial(alpha, 0.5, steps=2), length, 20_000)[0]
    assert abs(found - error) < 4 * math.sqrt(error * (1 - error) / 20_000)


def test_a_vote_by_hand() -> None:
    """Three of five examples go 0 → 1 and two 0 → 2; from 1 the end is 5, from 2 it is 4."""
    columns = Task(patterns=6, steps=2).columns
    chains = torch.tensor([[[0, 1, 5], [0, 1, 5], [0, 1, 5], [0, 2, 4], [0, 2, 4], [3, 2, 4]]])
    prompts = Prompts(chains, torch.tensor([[0, 1, 5]]), torch.tensor([1]))
    for counts, _ in growing(columns, prompts, (6,)):
        assert oracle.votes(counts, columns, torch.tensor([0]), 0).tolist() == [[0, 3, 2, 0, 0, 0]]
        assert oracle.chain(counts, columns, torch.tensor([0]), 0).tolist() == [[1, 5]]
    assert oracle.chain(counts, columns, torch.tensor([3]), 0).tolist() == [[2, 4]]


@pytest.mark.parametrize(("length", "known"), [(10, 0.17), (40, 0.018)])
def test_the_vote_has_its_known_errors(length: int, known: float) -> None:
    """M' = 10, K = 2, τ = ½, one competitor, α' = .8; about known, from another program with tasks of its own."""
    assert np.mean(vote_errors(Trial(0.8, 0.5, steps=2), length, 20_000)) == pytest.approx(known, rel=0.1)


def test_ties_and_empty_prompts_are_decided_by_chance() -> None:
    votes = torch.tensor([[2.0, 0, 2, 1]]).expand(4000, 4)
    found = oracle.plurality(votes, torch.tensor(0), torch.arange(4000)).bincount(minlength=4)
    assert found[1] == found[3] == 0
    assert abs(found[0].item() - 2000) < 150
    empty = oracle.plurality(torch.zeros(4000, 4), torch.tensor(0), torch.arange(4000)).bincount(minlength=4)
    assert (abs(empty - 1000) < 150).all()
