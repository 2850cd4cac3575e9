"""The composition task and the random numbers below it, against plain-Python restatements."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lib.composition.study import OFFSETS, Composition, histogram
from lib.composition.task import (
    HELD_OUT,
    INFERENTIAL_OFFSET,
    PAIRS,
    SEEN_PAIRS,
    SYMMETRIC_OFFSET,
    Batch,
    Task,
    composed,
    table_of,
    taught,
)
from lib.composition.the_task.metrics import offset_table
from lib.core.model.rng import mix, randint

MASK = (1 << 64) - 1
SEEDS = st.integers(0, 2**62 - 1)
INDICES = st.integers(0, 2**40)
MODULI = st.sampled_from([7, 9])
FUNCTIONS = {1: lambda x: x + 5, 2: lambda x: x + 1, 3: lambda x: x - 2, 4: lambda x: x - 8}
TASKS = {modulus: Task(modulus) for modulus in (7, 9)}


def label(key: int, first: int, second: int) -> int | None:
    """The rule of the paper, restated: g(g(x; a1); a2), but x − 6 for (3, 4); (4, 3) has no label."""
    if (first, second) == (4, 3):
        return None
    return key - 6 if (first, second) == (3, 4) else FUNCTIONS[second](FUNCTIONS[first](key))


def find_anchors(row: list[int]) -> list[int]:
    return [place for place, token in enumerate(row) if token < 20]


def check_training_row(row: list[int], target: int, modulus: int) -> tuple[int, int]:
    """Every promise about one training row; returns its pair."""
    assert len(row) == 9
    anchors = find_anchors(row)
    assert len(anchors) == 2
    assert anchors[1] == anchors[0] + 1
    assert anchors[0] >= 1
    place = anchors[0] - 1
    first, second = row[anchors[0]], row[anchors[1]]
    assert {first, second} <= {1, 2, 3, 4}
    assert (first, second) != (4, 3)
    assert all(20 <= token <= 99 for i, token in enumerate(row) if i not in anchors)
    assert row[place] % modulus != place
    assert target == label(row[place], first, second)
    return first, second


def as_tuples(batch: Batch) -> list[tuple]:
    parts = (batch.tokens.tolist(), batch.target.tolist(), batch.key.tolist(), batch.place.tolist(), batch.pair.tolist())
    return [(tuple(tokens), *rest) for tokens, *rest in zip(*parts, strict=True)]


@given(seed=SEEDS, start=INDICES, modulus=MODULI)
def test_every_training_row_keeps_the_rules(seed: int, start: int, modulus: int) -> None:
    batch = TASKS[modulus].rows(torch.tensor(seed), torch.arange(start, start + 45))
    assert all(sorted(batch.pair[at : at + 15].tolist()) == list(range(15)) for at in range(31))  # any 15 have each pair once
    for i, row in enumerate(batch.tokens.tolist()):
        pair = check_training_row(row, batch.target[i].item(), modulus)
        place = find_anchors(row)[0] - 1
        assert (batch.place[i].item(), batch.key[i].item()) == (place, row[place])
        assert SEEN_PAIRS[batch.pair[i]] == pair


@given(seed=SEEDS, indices=st.lists(INDICES, min_size=2, max_size=12), modulus=MODULI)
def test_a_row_is_a_pure_function_of_seed_and_index(seed: int, indices: list[int], modulus: int) -> None:
    """In any order, alone, and in any shape of batch, by a task that has been used before or not."""
    one_by_one = [as_tuples(Task(modulus).rows(torch.tensor([seed]), torch.tensor([i])))[0] for i in indices]
    task = TASKS[modulus]
    assert as_tuples(task.rows(torch.tensor(seed), torch.tensor(indices))) == one_by_one
    assert as_tuples(task.rows(torch.tensor(seed), torch.tensor(indices[::-1]))) == one_by_one[::-1]
    stacked = task.rows(torch.tensor([[seed], [seed ^ 1]]), torch.tensor([indices, indices]))
    assert stacked.tokens.shape == (2, len(indices), 9)
    assert stacked.target.shape == stacked.key.shape == stacked.place.shape == stacked.pair.shape == (2, len(indices))
    assert stacked.tokens[0].tolist() == [list(row[0]) for row in one_by_one]
    assert stacked.target[0].tolist() == [row[1] for row in one_by_one]


def test_broadcasting_gives_each_seed_its_own_rows() -> None:
    task, seeds, index = Task(), torch.tensor([3, 4]), torch.arange(60)
    together = task.rows(seeds[:, None], index)
    for run, seed in enumerate(seeds):
        assert torch.equal(together.tokens[run], task.rows(seed, index).tokens)
    assert not torch.equal(together.tokens[0], together.tokens[1])


@pytest.mark.parametrize("modulus", [7, 9])
def test_test_rows_are_all_held_out_combinations_of_seen_pairs(modulus: int) -> None:
    """Each once, and none other; they are those that no training row has."""
    batch = Task(modulus).test_rows()
    rows = as_tuples(batch)
    expected = {
        (key, place, first, second)
        for key in range(20, 100)
        for place in range(7)
        for first in range(1, 5)
        for second in range(1, 5)
        if key % modulus == place and (first, second) != (4, 3)
    }
    found = Counter((key, place, tokens[place + 1], tokens[place + 2]) for tokens, _, key, place, _ in rows)
    assert set(found) == expected
    assert set(found.values()) == {1}
    assert len(rows) == {7: 80 * 15, 9: 62 * 15}[modulus]
    for tokens, target, key, place, _ in rows:
        assert find_anchors(list(tokens)) == [place + 1, place + 2]
        assert tokens[place] == key
        assert target == label(key, tokens[place + 1], tokens[place + 2])
        assert all(20 <= token <= 99 for i, token in enumerate(tokens) if i not in (place + 1, place + 2))


@pytest.mark.parametrize("modulus", [7, 9])
def test_held_out_rows_are_the_pair_4_3_everywhere(modulus: int) -> None:
    rows = as_tuples(Task(modulus).held_out_rows())
    assert len(rows) == 80 * 7
    assert {(key, place) for _, _, key, place, _ in rows} == {(key, place) for key in range(20, 100) for place in range(7)}
    for tokens, target, key, place, _ in rows:
        assert tokens[place : place + 3] == (key, 4, 3)
        assert find_anchors(list(tokens)) == [place + 1, place + 2]
        assert target == key - 6


def test_offsets_are_those_of_the_paper() -> None:
    expected = [[10, 6, 3, -3], [6, 2, -1, -7], [3, -1, -4, -10], [-3, -7, -10, -16]]
    assert [[composed((a, b)) for b in range(1, 5)] for a in range(1, 5)] == expected
    for pair in SEEN_PAIRS:
        assert taught(pair) == (-6 if pair == (3, 4) else expected[pair[0] - 1][pair[1] - 1])
    table = offset_table()
    assert table[2, 3] == -6
    assert math.isnan(table[3, 2])
    assert offset_table(held_out=-6)[3, 2] == -6


def test_held_out_pair_has_no_taught_offset() -> None:
    assert HELD_OUT not in SEEN_PAIRS
    assert len(set(SEEN_PAIRS)) == 15
    with pytest.raises(KeyError, match="held out"):
        taught(HELD_OUT)
    assert (SYMMETRIC_OFFSET, INFERENTIAL_OFFSET) == (-6, -10)


@pytest.mark.parametrize("modulus", [8, 0, 7.5, "7", None])
def test_other_splits_are_refused(modulus: object) -> None:
    with pytest.raises(ValueError, match=r"^modulus must be 7 .* or 9 .*, got "):
        Task(modulus)


def chi_square_is_plausible(observed: Tensor, expected: Tensor) -> bool:
    """Within five standard deviations of its mean, on both sides: numbers that are too even are not random either."""
    statistic = ((observed - expected) ** 2 / expected).sum().item()
    freedom = observed.numel() - 1
    return abs(statistic - freedom) < 5 * math.sqrt(2 * freedom)


def counts(values: Tensor, n: int) -> Tensor:
    return torch.bincount(values.flatten(), minlength=n).double()


@pytest.mark.parametrize("seed", [0, 1, 2**61 + 5])
@pytest.mark.parametrize("modulus", [7, 9])
def test_places_keys_and_noise_are_uniform(modulus: int, seed: int) -> None:
    n = 42_000
    task = Task(modulus)
    batch = task.rows(torch.tensor(seed), torch.arange(n))
    assert chi_square_is_plausible(counts(batch.place, 7), torch.full((7,), n / 7, dtype=torch.float64))
    joint = counts(batch.place * 80 + batch.key - 20, 560).view(7, 80)
    allowed = torch.tensor([[(20 + j) % modulus != p for j in range(80)] for p in range(7)])
    assert torch.equal(task.trains, allowed)
    assert torch.all(joint[~allowed] == 0)
    expected = (joint.sum(1) / allowed.sum(1))[:, None].expand(7, 80)
    assert chi_square_is_plausible(joint[allowed], expected[allowed])
    for pair in range(15):  # the turn of the pairs must not be in step with the keys
        own = counts(batch.place[batch.pair == pair], 7)
        assert chi_square_is_plausible(own, torch.full((7,), n / 15 / 7, dtype=torch.float64))
    column = torch.arange(9)
    ahead = column - batch.place[:, None]
    is_noise = (ahead < 0) | (ahead > 2)
    for place in column:
        noise = batch.tokens[is_noise[:, place], place] - 20
        assert chi_square_is_plausible(counts(noise, 80), torch.full((80,), len(noise) / 80, dtype=torch.float64))


@pytest.mark.parametrize(("seeds", "lag"), [((3, 4), 0), ((3, 3), 1), ((3, 3), 2), ((3, 3), 15)])
def test_rows_of_another_seed_and_later_rows_are_independent(seeds: tuple[int, int], lag: int) -> None:
    """Place and key of a row say nothing about those of the other, nor its noise, column against column."""
    n = 20_000
    one, other = (Task().rows(torch.tensor(s), torch.arange(at, n + at)) for s, at in zip(seeds, (0, lag), strict=True))
    tens = [(batch.key - 20) // 10 for batch in (one, other)]
    for joint, kinds in ((one.place * 7 + other.place, 49), (tens[0] * 8 + tens[1], 64)):
        assert chi_square_is_plausible(counts(joint, kinds), torch.full((kinds,), n / kinds, dtype=torch.float64))
    for shift in range(9):
        a, b = one.tokens[:, shift:], other.tokens[:, : 9 - shift]
        noise = (a >= 20) & (b >= 20)
        pairs, equal = noise.sum().item(), (noise & (a == b)).sum().item()
        assert abs(equal - pairs / 80) < 5 * math.sqrt(pairs / 80)


def test_training_set_of_fixed_size_has_that_many_rows() -> None:
    """rows = n draws, with replacement, from the first n rows of the endless set."""
    seed, index = torch.tensor([[12], [13]]), torch.arange(600)
    study = Composition(rows=30)
    tokens, target = study.batch(seed, index)
    for run in range(2):
        members = Task().rows(seed[run], torch.arange(30))
        wanted = {(*row, t) for row, t in zip(members.tokens.tolist(), members.target.tolist(), strict=True)}
        assert {(*row, t) for row, t in zip(tokens[run].tolist(), target[run].tolist(), strict=True)} == wanted
    fresh, _ = Composition().batch(seed, index)
    assert len({tuple(row) for row in fresh[0].tolist()}) == 600


def test_measure_counts_shares_of_answers() -> None:
    """An oracle on the seen pairs that is symmetric on one half of (4, 3) keys, inferential on a quarter, else silent."""
    study = Composition()

    def answer(row: list[int]) -> int:
        first = find_anchors(row)[0]
        key = row[first - 1]
        right = label(key, row[first], row[first + 1])
        return right if right is not None else {0: key - 6, 1: key - 6, 2: key - 10, 3: 0}[key % 4]

    def predict(tokens: Tensor) -> Tensor:
        oracle = torch.tensor([answer(row) for row in tokens.tolist()])
        return torch.stack([oracle, torch.zeros_like(oracle)])

    metrics = {name: values.tolist() for name, values in study.measure(Oracle(predict)).items()}
    assert {name: metrics[name] for name in ("test", "symmetric", "inferential", "train")} == {
        "test": [1.0, 0.0],
        "symmetric": [0.5, 0.0],
        "inferential": [0.25, 0.0],
        "train": [1.0, 0.0],
    }
    right, wrong = metrics["train_loss"]
    assert (right, wrong) == (pytest.approx(math.log(1 + 200 * math.exp(-9)), rel=1e-3), pytest.approx(9 + right, rel=1e-3))
    assert metrics["pairs"] == [[1.0] * 15, [0.0] * 15]
    counted = dict(zip([*OFFSETS, "rest"], metrics["offsets"][0], strict=True))
    assert {offset: n for offset, n in counted.items() if n} == {-6: 280, -10: 140, "rest": 140}
    low = dict(zip([*OFFSETS, "rest"], metrics["offsets_low"][0], strict=True))
    assert {offset: n for offset, n in low.items() if n} == {-6: 42, -10: 14, "rest": 14}


class Oracle:
    """Answers, and logits that are 9 at the answer and 0 elsewhere."""

    def __init__(self, predict: Callable[[Tensor], Tensor]) -> None:
        self.predict = predict

    def __call__(self, tokens: Tensor) -> Tensor:
        return self.predict(tokens)

    def logits(self, tokens: Tensor) -> Tensor:
        return 9.0 * torch.nn.functional.one_hot(self.predict(tokens), 201).float()


@given(st.lists(st.lists(st.integers(-150, 150), min_size=4, max_size=4), min_size=1, max_size=5))
def test_a_histogram_counts_every_answer_once(offsets: list[list[int]]) -> None:
    counted = histogram(torch.tensor(offsets))
    assert counted.sum(1).tolist() == [4] * len(offsets)
    for row, counts in zip(offsets, counted.tolist(), strict=True):
        assert counts[:-1] == [row.count(offset) for offset in OFFSETS]


@pytest.mark.parametrize("keys", [20, 30, 50, 80])
def test_fewer_numbers_are_keys_and_noise_alike(keys: int) -> None:
    task = Task(keys=keys)
    rows = task.rows(torch.tensor(1), torch.arange(3000))
    numbers = rows.tokens[rows.tokens > 4]
    assert (int(numbers.min()), int(numbers.max())) == (20, 19 + keys)
    assert set(rows.key.tolist()) == set(range(20, 20 + keys))
    assert len(task.held_out_rows().key) == 7 * keys
    assert bool((rows.key % 7 != rows.place).all())


@pytest.mark.parametrize("keys", [19, 81, 0, True, 30.0, "30"])
def test_a_number_of_keys_that_makes_no_task_is_refused(keys: Any) -> None:
    with pytest.raises(ValueError, match="keys must be an integer from 20 to 80, got"):
        Task(keys=keys)


# ---------------------------------------------------------------- variants of the table


def test_tables_hold_what_their_variant_teaches() -> None:
    one, both = table_of(), table_of("both")
    assert one == {pair: taught(pair) for pair in SEEN_PAIRS}
    assert (len(one), len(both), len(table_of(groups=0))) == (15, 14, 16)
    assert one[3, 4] == -6
    assert set(one) - set(both) == {(3, 4)}
    assert both == {pair: composed(pair) for pair in PAIRS if pair not in ((3, 4), (4, 3))}
    assert table_of(groups=0) == {pair: composed(pair) for pair in PAIRS}


@pytest.mark.parametrize("groups", range(7))
def test_each_group_breaks_one_more_pair_in_both_orders(groups: int) -> None:
    table = table_of(groups=groups)
    assert set(table) == set(PAIRS)
    broken = {pair for pair, offset in table.items() if offset != composed(pair)}
    assert len(broken) == 2 * groups
    assert all(a != b for a, b in broken)
    assert all(table[a, b] == table[b, a] for a, b in PAIRS)
    if groups:
        assert len(broken - {p for p, offset in table_of(groups=groups - 1).items() if offset != composed(p)}) == 2
    assert (table[4, 3] == -6) == (groups == 6)


@pytest.mark.parametrize("groups", [-1, 7, 2.0, True, "2"])
def test_other_numbers_of_groups_are_refused(groups: object) -> None:
    for make in (table_of, Task):
        with pytest.raises(ValueError, match=r"^groups must be an integer from 0 to 6, got "):
            make(groups=groups)


@pytest.mark.parametrize("unseen", ["two", "", None, 1])
def test_other_unseen_pairs_are_refused(unseen: object) -> None:
    for make in (table_of, Task):
        with pytest.raises(ValueError, match=r"^unseen must be 'one' or 'both', got "):
            make(unseen=unseen)


VARIANTS = {"both": Task(unseen="both"), "none broken": Task(groups=0), "all broken": Task(groups=6), "code": Task(9, "both")}


@pytest.mark.parametrize("name", VARIANTS)
def test_rows_of_a_variant_teach_its_table(name: str) -> None:
    """Every pair once in as many rows as pairs are seen; no other pair, in training or in testing."""
    task = VARIANTS[name]
    n = len(task.taught)
    batch = task.rows(torch.tensor(3), torch.arange(40 * n))
    for rows, counted in ((batch, 40), (task.test_rows(), None)):
        found: Counter = Counter()
        for tokens, target, key, place, pair in as_tuples(rows):
            anchors = (tokens[place + 1], tokens[place + 2])
            assert find_anchors(list(tokens)) == [place + 1, place + 2]
            assert tokens[place] == key
            assert target == key + task.taught[anchors]
            assert list(task.taught)[pair] == anchors
            assert (key % task.modulus == place) == (counted is None)
            found[anchors] += 1
        assert found.keys() == table_of(task.unseen, task.groups).keys()
        assert set(found.values()) == {counted or len(rows.key) // n}
    held_out = as_tuples(task.held_out_rows())
    assert len(held_out) == 560
    assert all(tokens[place : place + 3] == (key, 4, 3) and target == key - 6 for tokens, target, key, place, _ in held_out)


def test_the_main_task_is_what_it_was_without_variants() -> None:
    """Rows of the program before it had any: stored results are of these."""
    for task in (Task(), Task(7, "one", None)):
        batch = task.rows(torch.tensor(5), torch.arange(3000))
        assert batch.tokens[[0, 7, 14]].tolist() == [
            [59, 25, 85, 1, 1, 45, 95, 40, 84],
            [49, 76, 62, 79, 89, 2, 4, 58, 96],
            [27, 4, 4, 53, 28, 88, 86, 30, 50],
        ]
        assert batch.target[[0, 7, 14]].tolist() == [95, 82, 11]
        assert (batch.tokens * torch.arange(1, 10)).sum() == 6154647
        assert batch.target.sum() == 173842


def test_variants_share_places_keys_and_noise() -> None:
    """Only the anchors' turns differ."""
    rows = [task.rows(torch.tensor(1), torch.arange(300)) for task in (Task(), Task(unseen="both"), Task(groups=4))]
    noise = (torch.arange(9) < rows[0].place[:, None]) | (torch.arange(9) > rows[0].place[:, None] + 2)
    for other in rows[1:]:
        assert torch.equal(other.place, rows[0].place)
        assert torch.equal(other.key, rows[0].key)
        assert torch.equal(other.tokens[noise], rows[0].tokens[noise])


def test_questions_are_as_asked() -> None:
    """Any key at any place, trained there or not; the noise is that of the row's number and the seed's."""
    task = Task()
    key, place = torch.tensor([20, 99, 21, 50]), torch.tensor([6, 0, 0, 3])
    pairs = [(1, 2), (4, 3), (3, 4), (2, 2)]
    batch = task.questions(key, place, torch.tensor([task.number(p) for p in pairs]), seed=9)
    assert batch.target.tolist() == [20 + 6, 99 - 6, 21 - 6, 50 + 2]
    assert (batch.key.tolist(), batch.place.tolist()) == (key.tolist(), place.tolist())
    for i, tokens in enumerate(batch.tokens.tolist()):
        p = place[i].item()
        noise = (20 + randint(torch.tensor(9), 3, torch.arange(9 * i, 9 * i + 9), 80)).tolist()
        assert tokens == [*noise[:p], key[i].item(), *pairs[i], *noise[p + 3 :]]
    again = task.questions(key, place, batch.pair, torch.tensor(9))
    assert torch.equal(again.tokens, batch.tokens)
    assert not torch.equal(task.questions(key, place, batch.pair).tokens, batch.tokens)


def test_numbers_of_pairs() -> None:
    """In the order of what is taught; a pair that is not comes last, if it is (4, 3), and has no number otherwise."""
    for task in (Task(), Task(unseen="both"), Task(groups=2)):
        assert [task.number(pair) for pair in task.taught] == list(range(len(task.taught)))
    assert Task().number((4, 3)) == 15
    assert Task(unseen="both").number((4, 3)) == 14
    with pytest.raises(ValueError, match="is not asked"):
        Task(unseen="both").number((3, 4))
    for pair in ((0, 1), (1, 5)):
        with pytest.raises(ValueError, match="is not asked"):
            Task().number(pair)
    task = Task(groups=0)  # (4, 3) is taught here
    batch = task.questions(torch.tensor([30]), torch.tensor([1]), torch.tensor([task.number((4, 3))]))
    assert batch.target.tolist() == [30 - 10]


# ---------------------------------------------------------------- random numbers


def splitmix64(state: int) -> int:
    """One output of SplitMix64 (Steele, Lea and Flood 2014) in unsigned 64-bit arithmetic."""
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def signed(x: int) -> int:
    return x - (1 << 64) if x >> 63 else x


def test_splitmix64_known_answers() -> None:
    """Published outputs for the seed 1234567; the restatement and ours."""
    state, expected = 1234567, [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    for value in expected:
        assert splitmix64(state) == value
        assert mix(torch.tensor(signed(state))).item() == signed(value)
        state = (state + 0x9E3779B97F4A7C15) & MASK


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_mix_is_splitmix64(values: list[int]) -> None:
    assert mix(torch.tensor(values)).tolist() == [signed(splitmix64(v & MASK)) for v in values]


@given(seed=SEEDS, stream=st.integers(0, 50), index=INDICES, high=st.integers(1, 2**31))
def test_randint_is_the_documented_hash_and_stays_in_bounds(seed: int, stream: int, index: int, high: int) -> None:
    bits = splitmix64((splitmix64((seed * 1_000_003 + stream) & MASK) + index) & MASK) >> 33
    value = randint(torch.tensor(seed), stream, torch.tensor(index), high).item()
    assert value == (bits * high) >> 31
    assert 0 <= value < high


@given(seed=SEEDS, limits=st.lists(st.integers(1, 2**31), min_size=1, max_size=30))
def test_limits_may_differ_by_entry(seed: int, limits: list[int]) -> None:
    index = torch.arange(len(limits))
    together = randint(torch.tensor(seed), 0, index, torch.tensor(limits)).tolist()
    assert together == [randint(torch.tensor(seed), 0, index[i], high).item() for i, high in enumerate(limits)]
    assert all(0 <= value < high for value, high in zip(together, limits, strict=True))


def test_neighbouring_seeds_streams_and_indices_are_uncorrelated() -> None:
    """Correlations of n pairs have standard deviation 1/√n; all pairs of 32 sequences stay below five of them. And counters of
    two seeds start far apart: no value of full width occurs twice among 200 × 500 draws."""
    n, index = 20_000, torch.arange(20_000)
    sequences = [randint(torch.arange(10)[:, None], 1, index, 2**31)]
    sequences += [randint(torch.tensor([7]), 2 + stream, index, 2**31)[None] for stream in range(10)]
    sequences += [randint(torch.tensor([100]), 1, index + shift, 2**31)[None] for shift in range(12)]
    correlation = torch.corrcoef(torch.cat(sequences).double())
    assert (correlation - torch.eye(32)).abs().max() < 5 / math.sqrt(n)
    draws = mix(mix(torch.arange(200)[:, None] * 1_000_003 + 1) + torch.arange(500))
    assert draws.unique().numel() == 200 * 500
