"""Addition with a square held out: counts, sums, what training never sees, and rows."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lib.language.addition_task import MARKS, Addition
from lib.language.text import OUT, LanguageError

SEEDS = st.integers(0, 2**40)
STARTS = st.integers(0, 2**40)
SMALL = Addition(200, 80, 120)
SPLITS = st.sampled_from(["square", "random"])


@st.composite
def tasks(draw: st.DrawFn) -> Addition:
    numbers = draw(st.integers(2, 130))
    low = draw(st.integers(0, numbers - 1))
    high = draw(st.integers(low, numbers - 1 if low else numbers - 2))
    return Addition(numbers, low, high, draw(SPLITS))


def pairs(found: Tensor) -> list[tuple[int, ...]]:
    return list(map(tuple, found.tolist()))


def drawn_pairs(task: Addition, seed: int, index: Tensor) -> Tensor:
    """The numbers of training rows."""
    return task.rows(torch.tensor(seed), index)[0][:, :2] - len(MARKS)


# ---------------------------------------------------------------- what is held out


@pytest.mark.parametrize("split", ["square", "random"])
def test_the_counts_of_the_two_sizes(split: str) -> None:
    full, small = Addition(split=split), Addition(200, 80, 120, split)
    assert (len(full.test), len(full.train)) == (40_401, 959_599)
    assert (len(small.test), len(small.train)) == (1_681, 38_319)


@given(tasks())
def test_train_and_test_are_every_pair_once(task: Addition) -> None:
    train, test = pairs(task.train), pairs(task.test)
    assert sorted(train + test) == [(a, b) for a in range(task.numbers) for b in range(task.numbers)]
    assert len(test) == (task.high - task.low + 1) ** 2
    if task.split == "square":
        assert all(task.low <= a <= task.high and task.low <= b <= task.high for a, b in test)


@given(tasks(), SEEDS, STARTS)
def test_no_test_pair_is_ever_drawn(task: Addition, seed: int, start: int) -> None:
    drawn = set(pairs(drawn_pairs(task, seed, torch.arange(start, start + 2000))))
    assert drawn <= set(pairs(task.train))


def test_every_training_pair_is_drawn_alike() -> None:
    """21 pairs, 2,000 draws each: counts within 4.5 standard errors; the first and the last pair are among them."""
    task = Addition(5, 2, 3)
    drawn = drawn_pairs(task, 7, torch.arange(21 * 2000))
    counts = torch.bincount(drawn[:, 0] * 5 + drawn[:, 1], minlength=25)
    assert (counts > 0).sum() == 21
    assert (counts[counts > 0] - 2000).abs().max() < 4.5 * 2000**0.5


def test_a_random_split_is_drawn_over_the_whole_table() -> None:
    test = Addition(200, 80, 120, "random").test
    assert len(set(pairs(test)) & set(pairs(SMALL.test))) < 120  # 71 by chance
    for side in (0, 1):
        assert abs(test[:, side].float().mean() - 99.5) < 4.5 * 57.7 / 41
        assert test[:, side].unique().numel() > 190


@given(SEEDS, st.integers(0, 1000), SPLITS)
def test_a_draw_is_a_function_of_seed_and_number(seed: int, start: int, split: str) -> None:
    task = Addition(200, 80, 120, split)
    index = torch.arange(start, start + 40)
    both, _ = task.rows(torch.tensor([[seed], [seed + 1]]), index)
    assert both.shape == (2, 40, 3)
    assert torch.equal(both[0], task.rows(torch.tensor(seed), index)[0])
    assert torch.equal(both[1, 7], task.rows(torch.tensor(seed + 1), index[7])[0])
    assert not torch.equal(both[0], both[1])


def test_distances_from_the_edge() -> None:
    """0 on the edge, 20 in the middle of 80 … 120; rings of the square have the size of a square's rings."""
    asked = {(80, 80): 0, (80, 100): 0, (120, 99): 0, (81, 119): 1, (100, 100): 20, (100, 118): 2, (79, 100): -1, (90, 125): -5}
    assert SMALL.edge_distance(torch.tensor(list(asked))).tolist() == list(asked.values())
    rings = torch.bincount(SMALL.edge_distance(SMALL.test))
    assert rings.tolist() == [8 * (20 - k) for k in range(20)] + [1]


# ---------------------------------------------------------------- rows


@given(tasks(), SEEDS, STARTS)
def test_a_row_is_two_numbers_and_their_sum(task: Addition, seed: int, start: int) -> None:
    tokens, target = task.rows(torch.tensor([[seed], [seed + 1]]), torch.arange(start, start + 20))
    assert (tokens.shape, target.shape) == ((2, 20, 3), (2, 20))
    for (a, b, mark), c in zip(tokens[1].tolist(), target[1].tolist(), strict=True):
        assert MARKS[mark] == OUT
        assert c - len(MARKS) == (a - len(MARKS)) + (b - len(MARKS))
        assert 0 <= min(a, b) - len(MARKS) <= max(a, b) - len(MARKS) < task.numbers


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"low": 700}, "low 700 and high 600"),
        ({"high": 1000}, "within the numbers 0 to 999"),
        ({"low": 0, "high": 999}, "leaves nothing to train on"),
        ({"split": "rows"}, "one of square, random, got 'rows'"),
    ],
)
def test_sizes_that_make_no_task(change: dict, message: str) -> None:
    with pytest.raises(LanguageError, match=message):
        Addition(**change)
