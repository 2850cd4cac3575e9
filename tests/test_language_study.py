"""Rows, measures and runs of the language studies: against plain loops, hand-made answers, and end to end."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lib.core.model.init import apply_gamma_stacked
from lib.core.model.transformer import IGNORED, from_weights
from lib.core.record.spec import RunSpec
from lib.core.train.plan import Options
from lib.language import cogs, scan, study
from lib.language.experiments import (
    AS_SCRIPT,
    ASKING,
    CHAIN,
    COGS,
    HARD,
    JUMP,
    MIX,
    SCAN,
    SHUFFLED,
    TURN,
    TWIN,
    adding_search,
    adding_specs,
    asking_specs,
    cogs_specs,
    mix_specs,
    scan_specs,
    twin_search,
    twin_specs,
)
from lib.language.models import FIXED_HEAD, FORMULA, SCRIPT, Causal, CausalSpec
from lib.language.prontoqa_task import Questions, Task, questions
from lib.language.stories import Sequences, mix, story
from lib.language.study import (
    END_TOKEN,
    PAD_TOKEN,
    Asking,
    Mixing,
    Reading,
    answers,
    asked_for,
    asking_examples,
    exact,
    greedy,
    make_asking,
    make_cogs,
    make_mix,
    make_scan,
    mean_cosine,
    mix_data,
    task_of,
)
from lib.language.text import END, OUT, LanguageError, Rows, Vocabulary, rows, vocabulary

PLAIN = Options(device="cpu", backend="eager", bf16=False)
LETTERS = vocabulary("abcd")  # a is token 3
LIMIT, OUT_TOKEN = 6, 1


def drawn(low: int, high: int, *shape: int, seed: int = 0) -> Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


def built() -> Causal:
    """Two models with weights so large that what they write varies with what they read."""
    shape = {"vocab": len(LETTERS), "positions": 16, "depth": 1, "d_ff": 32, "norm": "pre", "activation": "gelu", "bias": True}
    model = CausalSpec.split_heads(16, 2, **shape, tied=False).build(2)
    apply_gamma_stacked(model, [0.1, 0.1], [8, 9], [0, 1])
    return model


class Says:
    """Stands for Ask: what the models say at every position. `shapes` are those of the questions."""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.shapes = model, []

    @torch.no_grad()
    def logits(self, tokens: Tensor) -> Tensor:
        self.shapes.append(tuple(tokens.shape))
        return self.model(tokens.expand(self.model.n_runs, *tokens.shape))

    def __call__(self, tokens: Tensor) -> Tensor:
        return self.logits(tokens).argmax(-1)


def some_rows(n: int, seed: int = 0) -> Rows:
    """Sources of 1 to 6 letters, targets of 1 to 3, in no order."""
    long = zip(drawn(1, 7, n, seed=seed).tolist(), drawn(1, 4, n, seed=seed + 1).tolist(), strict=True)
    letters = drawn(0, 4, n, 10, seed=seed + 2).tolist()
    word = lambda numbers: ["abcd"[i] for i in numbers]
    return rows([(word(line[:s]), word(line[6 : 6 + t])) for line, (s, t) in zip(letters, long, strict=True)], LETTERS)


def written_by_hand(model: Causal, which: Rows, run: int, limit: int = LIMIT) -> list[list[int]]:
    """One row and one token after the other, up to END."""
    alone = from_weights(model.spec, {name: p[run].detach() for name, p in model.named_parameters()})
    found = []
    for tokens, start in zip(which.tokens.tolist(), which.start.tolist(), strict=True):
        line = tokens[:start]
        while len(line) < start + limit and END_TOKEN not in line:
            line.append(int(alone(torch.tensor([[line]]))[0, 0, -1].argmax()))
        found.append(line[start:])
    return found


def with_targets(which: Rows, targets: list[list[int]]) -> Rows:
    """The same sources with other targets, with or without END."""
    lines = [t[:s] + target for t, s, target in zip(which.tokens.tolist(), which.start.tolist(), targets, strict=True)]
    tokens = torch.zeros(len(lines), max(map(len, lines)), dtype=torch.int64)
    for row, line in zip(tokens, lines, strict=True):
        row[: len(line)] = torch.tensor(line)
    return Rows(tokens, which.start, torch.tensor([len(line) for line in lines]))


# ---------------------------------------------------------------- what is asked, and what is answered


def test_the_next_token_is_asked_for_behind_out_and_nowhere_else() -> None:
    tokens, target = asked_for(rows([(["a", "b"], ["c"]), (["a"], ["d"])], LETTERS))
    assert tokens.tolist() == [[3, 4, 1, 5], [3, 1, 6, 2]]
    assert target.tolist() == [[IGNORED, IGNORED, 5, 2], [IGNORED, 6, 2, IGNORED]]


def test_answers_stand_where_they_were_asked_for() -> None:
    model, which = built(), some_rows(300)
    found = answers(Says(model), which)
    expected = Says(model)(which.tokens[:, :-1])
    assert found.shape == expected.shape
    inside = torch.arange(found.shape[2]) < which.length[:, None] - 1
    assert torch.equal(found[:, inside], expected[:, inside])


def test_long_rows_are_asked_together_so_that_short_ones_are_not_padded() -> None:
    short, long = (["a"], ["b"]), (["a"] * 6, ["b"])
    ask = Says(built())
    answers(ask, rows([long, *[short] * 128, long], LETTERS))
    assert ask.shapes == [(128, 3), (2, 8)]


def test_a_row_is_right_if_every_token_that_is_asked_for_is() -> None:
    which = rows([(["a", "b"], ["c"]), (["a"], ["d", "d"])], LETTERS)
    right = [[0, 9, 5, 2], [7, 6, 6, 2]]  # what is said before OUT is not asked for
    one, other, longer = [[0, 9, 5, 2], [7, 6, 6, 0]], [[0, 9, 4, 2], [7, 6, 6, 2]], [[0, 9, 5, 7], [7, 6, 6, 2]]
    guess = torch.tensor([right, one, other, longer])
    assert exact(guess, which).tolist() == [[True, True], [True, False], [False, True], [False, True]]
    assert exact(guess, which, end=False).tolist() == [[True, True], [True, True], [False, True], [True, True]]


def test_models_write_what_a_plain_loop_writes_and_padding_behind_end() -> None:
    model, which = built(), some_rows(40)
    found = greedy(model, which, LIMIT)
    assert found.shape == (2, 40, LIMIT)
    for run in range(2):
        by_hand = written_by_hand(model, which, run)
        assert found[run].tolist() == [line + [PAD_TOKEN] * (LIMIT - len(line)) for line in by_hand]
        assert 10 < sum(len(line) < LIMIT for line in by_hand) < 30  # else little is tested
        assert len(set(map(tuple, by_hand))) > 15


def test_one_pass_judges_as_greedy_decoding_does() -> None:
    """Of rows whose targets are what one run writes, what the other does, and drawn."""
    model, which = built(), some_rows(90)
    drawn_too = [row[start:end].tolist() for row, start, end in zip(which.tokens, which.start, which.length, strict=True)]
    targets = [written_by_hand(model, which, 0), written_by_hand(model, which, 1), drawn_too]
    mixed = with_targets(which, [targets[i % 3][i] for i in range(90)])
    size = (mixed.length - mixed.start)[:, None]
    due = mixed.tokens.gather(1, (mixed.start[:, None] + torch.arange(LIMIT)).clamp(max=mixed.tokens.shape[1] - 1))
    expected = ((greedy(model, mixed, LIMIT) == due) | (torch.arange(LIMIT) >= size)).all(-1)
    found = exact(answers(Says(model), mixed), mixed)
    assert torch.equal(found, expected)
    assert (found.sum(1) >= 30).all()
    assert (found.sum(1) <= 60).all()


# ---------------------------------------------------------------- rows of training

NAMES = vocabulary([f"w{i:03}" for i in range(700)])  # word i is token i + 3


def named(numbers: list[int], size: int | None = None) -> Rows:
    """Row i is `w_i OUT w_i … w_i END`, with 4 i + 2 words behind OUT, or `size`."""
    return rows([([f"w{i:03}"], [f"w{i:03}"] * (size or 4 * i + 2)) for i in numbers], NAMES)


TEN = named([3, 8, 0, 5, 9, 1, 7, 2, 6, 4])
WIDTHS = {0: 16, 1: 16, 2: 16, 3: 24, 4: 24, 5: 24, 6: 40, 7: 40, 8: 40, 9: 40}
"""Ten rows make buckets of 3, 3, 3 and 1, whose longest have 12, 24, 36 and 40 inputs: by eights 16, 24, 40 and 40."""


def steps_of(reading: Reading, seed: int, steps: list[int], batch: int = 4) -> tuple[Tensor, Tensor]:
    """As the engine asks, of as many runs as there are steps."""
    index = torch.tensor(steps)[:, None] * batch + torch.arange(batch)
    return reading.batch(torch.full((len(steps), 1), seed), index)


def test_a_batch_is_of_rows_of_like_length_and_what_follows_them() -> None:
    reading = Reading(TEN, {})
    assert reading.length == 40
    seen = set()
    for step in range(40):
        tokens, target = steps_of(reading, 5, [step])
        width = {WIDTHS[i] for i in (tokens[0, :, 0] - 3).tolist()}
        assert tokens.shape == target.shape == (1, 4, *width)
        for inputs, asked in zip(tokens[0].tolist(), target[0].tolist(), strict=True):
            word, size = inputs[0], 4 * (inputs[0] - 3) + 2
            behind = len(inputs) - size - 2
            assert inputs == [word, 1, *[word] * size, *[END_TOKEN, *[PAD_TOKEN] * (behind - 1)] * (behind > 0)]
            assert asked == [IGNORED, *[word] * size, END_TOKEN, *[IGNORED] * behind]
        seen |= width
    assert seen == {16, 24, 40}
    tokens, target = steps_of(Reading(named([0]), {}), 5, [0], batch=1)  # padded beyond the longest of all
    assert tokens.tolist() == [[[3, 1, 3, 3, 0, 0, 0, 0]]]
    assert target.tolist() == [[[IGNORED, 3, 3, END_TOKEN, *[IGNORED] * 4]]]


def test_every_row_of_training_is_equally_likely() -> None:
    tokens, _ = steps_of(Reading(TEN, {}), 5, list(range(20_000)))
    counts = (tokens[..., 0] - 3).flatten().bincount(minlength=10)
    assert counts.tolist() == pytest.approx([8_000] * 10, rel=0.06)
    tokens, _ = steps_of(Reading(TEN, {}, buckets=1), 5, list(range(5_000)))
    counts = (tokens[..., 0] - 3).flatten().bincount(minlength=10)
    assert counts.tolist() == pytest.approx([2_000] * 10, rel=0.1)


def test_runs_at_the_same_step_share_a_bucket_and_others_its_width() -> None:
    reading = Reading(TEN, {})
    seeds = torch.arange(5)[:, None]
    for step in range(20):
        tokens, _ = reading.batch(seeds, step * 4 + torch.arange(4).expand(5, 4))
        assert {WIDTHS[i] for i in (tokens[..., 0] - 3).flatten().tolist()} == {tokens.shape[2]}
    alone = [steps_of(reading, 5, [step]) for step in range(20)]
    tokens, target = steps_of(reading, 5, list(range(20)))
    assert tokens.shape == (20, 4, 40)
    for run, (inputs, asked) in enumerate(alone):
        width = inputs.shape[2]
        assert torch.equal(tokens[run, :, :width], inputs[0])
        assert torch.equal(target[run, :, :width], asked[0])
        assert (target[run, :, width:] == IGNORED).all()


def test_rows_are_a_function_of_the_seed_and_their_number() -> None:
    one, other = Reading(TEN, {}), Reading(TEN, {})
    every = list(range(50))
    for found, again in zip(steps_of(one, 5, every), steps_of(other, 5, every), strict=True):
        assert torch.equal(found, again)
    words = lambda seed: steps_of(one, seed, every)[0][..., 0]
    assert (words(5) != words(6)).float().mean() > 0.4  # a bucket of three has the same row by chance
    assert len(words(5).unique(dim=0)) > 25


# ---------------------------------------------------------------- shares of rows that are right


class Knows:
    """Stands for Ask: knows the rows by their first tokens, but for one token of those that a run has wrong. Says nonsense
    where nothing is asked."""

    def __init__(self, which: Rows, wrong: list[set[int]]) -> None:
        self.lines = dict(zip(which.tokens[:, 0].tolist(), which.tokens.tolist(), strict=True))
        self.wrong = [{i + 3 for i in run} for run in wrong]

    def __call__(self, tokens: Tensor) -> Tensor:
        return torch.tensor([[self.said(run, line) for line in tokens.tolist()] for run in self.wrong])

    def said(self, wrong: set[int], tokens: list[int]) -> list[int]:
        line = self.lines[tokens[0]][1 : len(tokens) + 1]
        end = line.index(END_TOKEN)
        line[end] += tokens[0] in wrong
        return [99, *line[1 : end + 1], *[99] * (len(line) - end - 1)]


def test_shares_are_of_rows_and_of_each_case() -> None:
    known, test = named([0, 1, 2, 3]), named([14, 10, 12, 11, 13])
    ask = Knows(named(list(range(15))), [set(), {1, 10, 14}])
    reading = Reading(known, {"test": test, "all": known}, {"test": torch.tensor([2, 0, 1, 1, 2])})
    found = {name: value.tolist() for name, value in reading.measure(ask).items()}
    assert set(found) == {"train", "test", "all", "test cases"}
    assert found["train"] == found["all"] == pytest.approx([1, 3 / 4])
    assert found["test"] == pytest.approx([1, 3 / 5])
    assert found["test cases"] == [[1, 1, 1], [0, 1, 0.5]]


def test_a_large_training_set_is_sampled_from_end_to_end() -> None:
    known = named(list(range(650)), size=1)
    reading = Reading(known, {})
    assert len(reading.sample) == 325
    found = reading.measure(Knows(known, [set(range(400)), set(range(500, 650)), set(range(1, 650, 2))]))
    assert found["train"].tolist() == pytest.approx([250 / 650, 500 / 650, 1])  # of the sample, every other row


def test_at_the_steps_to_keep_rows_and_some_answers_are_kept() -> None:
    model, test, hard = built(), some_rows(30), some_rows(6, seed=5)
    reading = Reading(some_rows(20), {"test": test, "hard": hard}, {"hard": torch.tensor([1, 0, 1, 1, 0, 2])}, keep=(4, 8))
    assert reading.shown("test").tolist() == list(range(12))
    assert reading.shown("hard").tolist() == [1, 4, 0, 2, 5]
    assert reading.snapshot(model, 5) == {}
    for step in (4, 8):
        found = reading.snapshot(model, step)
        kept = ("right", "right but for the end", "answers")
        assert set(found) == {f"{name} {what}" for name in ("test", "hard") for what in kept}
        for name, which in (("test", test), ("hard", hard)):
            said = answers(Says(model), which)
            assert torch.equal(found[f"{name} right"], exact(said, which).float())
            assert torch.equal(found[f"{name} right but for the end"], exact(said, which, end=False).float())
            assert torch.equal(found[f"{name} answers"], said[:, reading.shown(name)].float())


# ---------------------------------------------------------------- PrOntoQA

TASK = Task(concepts=4, hops=(1,))
WORDS = TASK.vocabulary
TRUE, FALSE, FEW = WORDS.encode(["True"])[0], WORDS.encode(["False"])[0], 8


def asked(chain: bool = True, count: int = FEW) -> Questions:
    return questions(TASK.examples(1, 0, count), WORDS, chain)


def numbers_of(which: Questions) -> dict[tuple[int, ...], int]:
    """The number of each question by its tokens before OUT."""
    found = {tuple(row[: row.index(OUT_TOKEN)]): n for n, row in enumerate(which.rows.tokens.tolist())}
    assert len(found) == len(which)
    return found


class Judge:
    """Stands for Ask: always says "or", and of the labels holds the right one for likelier just before the label alone, but for
    the questions that a run has wrong."""

    def __init__(self, which: Questions, wrong: list[set[int]]) -> None:
        self.number = numbers_of(which)
        self.which, self.wrong = which, wrong

    def logits(self, tokens: Tensor) -> Tensor:
        found = torch.zeros(len(self.wrong), *tokens.shape, len(WORDS))
        found[..., WORDS.encode(["or"])[0]] = 9
        for row, line in enumerate(tokens.tolist()):
            n = self.number[tuple(line[: line.index(OUT_TOKEN)])]
            right, other = (TRUE, FALSE) if self.which.answer[n] else (FALSE, TRUE)
            found[:, row, :, other] = 1
            for run, wrong in enumerate(self.wrong):
                found[run, row, self.which.label[n] - 1, right] = 0 if n in wrong else 2
        return found

    def __call__(self, tokens: Tensor) -> Tensor:
        return self.logits(tokens).argmax(-1)


@pytest.mark.parametrize("chain", [True, False])
def test_the_label_is_judged_between_the_two_labels_alone(chain: bool) -> None:
    test = asked(chain, 140)
    assert 50 < test.answer.sum() < 90
    found = Asking(test[torch.arange(5)], test, WORDS).measure(Judge(test, [set(), {0, 3, 139}]))
    assert found["label"].tolist() == pytest.approx([1, 137 / 140])
    assert found["train label"].tolist() == pytest.approx([1, 3 / 5])
    assert found["test"].tolist() == found["train"].tolist() == [0, 0]  # "or" is no answer


def test_rows_of_questions_are_right_as_those_of_any_reading() -> None:
    test = asked(True, 140)
    number = numbers_of(test)

    class Knows:
        """The next token of every row; of the first run those of some rows are wrong at the label, of the second at a word of
        the chain."""

        def logits(self, tokens: Tensor) -> Tensor:
            which = [number[tuple(line[: line.index(OUT_TOKEN)])] for line in tokens.tolist()]
            said = test.rows.tokens[which, 1 : tokens.shape[1] + 1].repeat(2, 1, 1)
            for row, n in enumerate(which):
                if n < 30:
                    at = test.label[n] - 1
                    said[0, row, at] = FALSE if test.answer[n] else TRUE
                    said[1, row, at - 3] = END_TOKEN
            return torch.nn.functional.one_hot(said, len(WORDS)).float()

        def __call__(self, tokens: Tensor) -> Tensor:
            return self.logits(tokens).argmax(-1)

    found = Asking(test[torch.arange(60)], test, WORDS).measure(Knows())
    assert found["train"].tolist() == [0.5, 0.5]
    assert found["test"].tolist() == pytest.approx([110 / 140] * 2)
    assert found["train label"].tolist() == [0.5, 1.0]
    assert found["test"].tolist() == exact(answers(Knows(), test.rows), test.rows).float().mean(1).tolist()


class Writer(nn.Module):
    """Stands for models that write given lines behind OUT. `lines`: of each run and question."""

    def __init__(self, which: Questions, lines: list[list[list[int]]]) -> None:
        super().__init__()
        self.device_of = nn.Parameter(torch.zeros(1))
        self.spec, self.n_runs, self.lines = SimpleNamespace(vocab=len(WORDS)), len(lines), lines
        self.number = numbers_of(which)

    def forward(self, tokens: Tensor) -> Tensor:
        found = torch.zeros(*tokens.shape, dtype=torch.int64)
        for run, lines in enumerate(tokens.tolist()):
            for row, line in enumerate(lines):
                at = line.index(OUT_TOKEN)
                said = self.lines[run][self.number[tuple(line[:at])]][: len(line) - at]
                found[run, row, at : at + len(said)] = torch.tensor(said)
        return torch.nn.functional.one_hot(found, len(WORDS)).float()


def test_of_a_chain_of_its_own_the_last_word_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    test = asked()
    limit = int((test.rows.length - test.rows.start).max())
    word = WORDS.encode(["is"])[0]
    gold = [test.rows.tokens[n, test.rows.start[n] : test.rows.length[n]].tolist() for n in range(FEW)]
    right, wrong = test.answer.long() * (TRUE - FALSE) + FALSE, test.answer.long() * (FALSE - TRUE) + TRUE
    other = [
        [*gold[0][:-2], int(wrong[0]), END_TOKEN],
        [int(right[1]), END_TOKEN, word],  # no chain, and talk behind the end
        [int(right[2]), word, END_TOKEN],
        [word, int(wrong[3]), int(right[3]), END_TOKEN],
        [END_TOKEN, int(right[4]), END_TOKEN],
        [word, word, END_TOKEN],
        [*[word] * (limit - 1), int(right[6])],  # comes to no end
        [int(right[7]), *[word] * (limit - 1)],
    ]
    asking = Asking(test, test, WORDS, keep=(7,))
    model = Writer(test, [gold, other])
    assert asking.snapshot(model, 6) == {}
    found = asking.snapshot(model, 7)
    assert found["own"].tolist() == [[1] * FEW, [0, 1, 0, 1, 0, 0, 1, 0]]
    assert found["test right"].tolist() == [[1] * FEW, [0] * FEW]
    cut = lambda line: line[: line.index(END_TOKEN) + 1] if END_TOKEN in line else line
    padded = [[cut(line) + [PAD_TOKEN] * (limit - len(cut(line))) for line in run] for run in (gold, other)]
    assert found["written"].tolist() == padded
    monkeypatch.setattr(study, "N_OWN", 5)
    monkeypatch.setattr(study, "N_SHOWN", 3)
    found = Asking(test, test, WORDS, keep=(7,)).snapshot(model, 7)
    assert found["own"].tolist() == [[1] * 5, [0, 1, 0, 1, 0]]
    assert found["written"].shape[:2] == (2, 3)
    assert found["test right"].shape == (2, FEW)


# ---------------------------------------------------------------- the mix


def corpora() -> Sequences:
    """40 and 50 texts of 1 to 6 letters, the first corpus of a and b, the second of b, c and d."""
    size, letter = drawn(1, 7, 90).tolist(), drawn(0, 6, 90, 6).tolist()
    texts = [[("ab" * 3 if n < 40 else "bcd" * 2)[i] for i in letter[n][: size[n]]] for n in range(90)]
    return mix([texts[:40], texts[40:]], LETTERS, 6)


class Bigrams:
    """Stands for Ask: logits of the next token from the last one, table (R, V, V)."""

    def __init__(self, table: Tensor) -> None:
        self.table = table

    def logits(self, tokens: Tensor) -> Tensor:
        return self.table[:, tokens]


def test_losses_are_nats_a_token_of_each_corpus_and_the_share_is_of_all_tokens_of_training() -> None:
    known = corpora()
    test = known[torch.tensor([3, 60, 5, 88])]
    mixing = Mixing(known, test, [])
    found = mixing.measure(Bigrams(torch.zeros(2, 7, 7)))
    losses = ("train 0", "train 1", "test 0", "test 1")
    assert set(found) == {"train", *losses}
    for name in losses:
        assert found[name].tolist() == pytest.approx([math.log(7)] * 2)
    table = 2 * torch.randn(2, 7, 7, generator=torch.Generator().manual_seed(0))
    found = mixing.measure(Bigrams(table))
    pairs = [pair for line, n in zip(known.tokens.tolist(), known.length.tolist(), strict=True) for pair in pairwise(line[:n])]
    best = [[int(table[run, a].argmax()) == b for a, b in pairs] for run in range(2)]
    assert found["train"].tolist() == pytest.approx([sum(run) / len(pairs) for run in best])
    assert 0 < sum(best[0]) != sum(best[1]) > 0
    for name, which in (("train", known), ("test", test)):
        for corpus in range(2):
            for run in range(2):
                chance = table[run].softmax(-1)
                nats = [
                    -math.log(chance[a, b])
                    for line, n, c in zip(which.tokens.tolist(), which.length.tolist(), which.corpus.tolist(), strict=True)
                    for a, b in pairwise(line[:n])
                    if c == corpus
                ]
                assert found[f"{name} {corpus}"][run].item() == pytest.approx(sum(nats) / len(nats), rel=1e-5)


def test_rows_of_the_mix_ask_for_every_token_but_the_first_and_are_equally_likely() -> None:
    known = mix([[["a"], ["a", "b", "b"]], [["c", "d"]]], LETTERS, 4)
    mixing = Mixing(known, known, [])
    assert mixing.length == 3
    tokens, target = mixing.batch(torch.tensor([[5], [5], [6]]), torch.arange(4_500).expand(3, -1))
    due = {(3, 2, 0): (2, IGNORED, IGNORED), (3, 4, 4): (4, 4, 2), (5, 6, 2): (6, 2, IGNORED)}
    pairs = Counter(zip(map(tuple, tokens[0].tolist()), map(tuple, target[0].tolist()), strict=True))
    assert set(pairs) == set(due.items())
    assert list(pairs.values()) == pytest.approx([1_500] * 3, rel=0.1)
    assert torch.equal(tokens[0], tokens[1])
    assert torch.equal(target[0], target[1])
    assert (tokens[0] != tokens[2]).any(-1).float().mean() == pytest.approx(2 / 3, abs=0.05)


def test_losses_on_training_are_of_a_sample_of_both_corpora() -> None:
    """Of 1,200 rows it is every eighth."""
    texts = [
        [[few] if n % 8 == 0 else [many, many] for n in range(size)] for few, many, size in (("a", "b", 400), ("c", "d", 800))
    ]
    known = mix(texts, LETTERS, 4)
    table = torch.randn(2, 7, 7, generator=torch.Generator().manual_seed(0))
    found = Mixing(known, known[:2], []).measure(Bigrams(table))
    for corpus, letter in enumerate("ac"):
        ends = -table.log_softmax(-1)[:, LETTERS.encode([letter])[0], END_TOKEN]
        assert found[f"train {corpus}"].tolist() == pytest.approx(ends.tolist(), rel=1e-4)


def cosines(vectors: Tensor) -> float:
    """Over all pairs, by a double loop."""
    n = len(vectors)
    found = [
        torch.dot(vectors[i], vectors[j]) / vectors[i].norm() / vectors[j].norm()
        for i, j in product(range(n), repeat=2)
        if i != j
    ]
    return float(sum(found) / len(found))


def test_the_mean_cosine_is_over_pairs_of_different_vectors() -> None:
    vectors = torch.randn(3, 6, 5, generator=torch.Generator().manual_seed(0)) + 0.5
    assert mean_cosine(vectors).tolist() == pytest.approx([cosines(run) for run in vectors], abs=1e-5)
    assert mean_cosine(torch.tensor([[[3.0, 0], [0, 2]], [[1, 1], [2, 2]], [[1, 0], [-4, 0]]])).tolist() == pytest.approx(
        [0, 1, -1], abs=1e-6
    )


def test_what_is_watched_is_the_cosine_of_each_corpus_own_embeddings() -> None:
    model, own = built(), [torch.tensor([3, 5, 6]), torch.tensor([1, 4])]
    found = Mixing(corpora(), corpora(), own).watch(model)
    assert set(found) == {"cosine 0", "cosine 1"}
    for i in range(2):
        expected = [cosines(model.embedding.token[run, own[i]].detach()) for run in range(2)]
        assert found[f"cosine {i}"].tolist() == pytest.approx(expected, abs=1e-5)


# ---------------------------------------------------------------- studies from specs


def first(specs: dict[Any, list[RunSpec]], kind: str | None = None) -> RunSpec:
    """The first run of the smoke profile, or the first of a kind."""
    return next(runs[0] for key, runs in specs.items() if kind in (None, key[0]))


def lines(which: Rows, words: Vocabulary) -> list[str]:
    """Rows as text, without padding."""
    return [" ".join(words.decode(row[:n])) for row, n in zip(which.tokens, which.length.tolist(), strict=True)]


@pytest.mark.parametrize(("split", "primitive"), [(TURN, "turn left"), (JUMP, "jump")])
def test_scan_trains_on_so_many_commands_and_asks_for_others(split: str, primitive: str) -> None:
    reading = make_scan(first(scan_specs("smoke"), split))
    known, test = (lines(which, scan.VOCABULARY) for which in (reading.known, reading.asked["test"]))
    assert len(known) == 300
    assert len(test) == len(set(test)) == 100
    source = lambda line: line.partition(f" {OUT} ")[0]
    assert {source(line) for line in known if f" {primitive} " in f" {source(line)} "} == {primitive}
    assert all(f" {primitive} " in f" {source(line)} " and source(line) != primitive for line in test)
    assert test[7] == f"{source(test[7])} {OUT} {' '.join(scan.meaning(source(test[7])))} {END}"
    whole = scan.split(split).test
    asked = torch.tensor([scan.number(source(line)) for line in test])
    places = torch.searchsorted(whole, asked)
    assert (places.diff() == len(whole) // 100).all()  # from all over the test


def test_cogs_has_its_size_its_sets_and_its_cases() -> None:
    reading = make_cogs(first(cogs_specs("smoke")))
    data, words = study.cogs_data(160, 10, 10, 30, 10)
    assert len(reading.known) == 150
    assert {name: len(which) for name, which in reading.asked.items()} == {"test": 10, "gen": 210}
    text = lambda some: [" ".join((*side[0], OUT, *side[1], END)) for side in map(cogs.tokens, some)]
    assert sorted(lines(reading.known, words)) == sorted(text(cogs.fewer(data, 150).train))
    assert lines(reading.asked["test"], words) == text(data.test)
    assert lines(reading.asked["gen"], words) == text(data.gen)
    assert [cogs.CASES[i] for i in reading.groups["gen"].tolist()] == [row.case for row in data.gen]
    assert reading.shown("gen").tolist() == [10 * case + i for case in range(21) for i in range(2)]


def test_questions_of_the_test_are_others_and_the_variant_decides_their_form() -> None:
    specs = {kind: first(asking_specs("smoke"), kind) for kind in (CHAIN, HARD)}
    bare = "no chain"  # a form that no experiment has
    specs[bare] = replace(specs[CHAIN], task=tuple((dict(specs[CHAIN].task) | {"chain": False}).items()))
    told = {kind: make_asking(spec) for kind, spec in specs.items()}
    for asking in told.values():
        assert (len(asking.known), len(asking.test)) == (40, 20)
        assert torch.equal(asking.asked["test"].tokens, asking.test.rows.tokens)
        assert not set(lines(asking.known, asking.words)) & set(lines(asking.asked["test"], asking.words))
    tasks = {kind: Task(concepts=6, hops=(1, 2), hard=kind == HARD) for kind in told}
    for kind, asking in told.items():
        due = [
            " ".join((*e.prompt, OUT, *(() if kind == bare else e.chain), e.label, END)) for e in tasks[kind].examples(1, 0, 20)
        ]
        assert lines(asking.asked["test"], asking.words) == due


def test_the_mix_holds_texts_out() -> None:
    words, known, test = mix_data(20, 10, 32)
    assert known.corpus.bincount().tolist() == [20, 20]
    assert test.corpus.bincount().tolist() == [10, 10]
    text = lambda which, n: words.decode(which.tokens[n, : which.length[n]])
    for which, place, shift in ((known, 0, 0), (known, 19, 0), (test, 0, 20), (test, 9, 20)):
        half = len(which) // 2
        assert text(which, place) == [*Task().example(0, place + shift).words, END][:32]
        assert text(which, half + place) == [*story(0, place + shift), END][:32]
    spec = next(iter(mix_specs("smoke").values()))[0]
    mixing = make_mix(spec)
    assert torch.equal(mixing.known.tokens, known.tokens)
    assert torch.equal(mixing.asked["test"].tokens, test.tokens)


def test_tokens_of_one_corpus_alone_are_frequent_there_and_never_in_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    known = mix([[["a"]] * 20 + [["b"]] * 19 + [["c"]] * 25, [["c"], *[["d", "d"]] * 10]], LETTERS, 4)
    monkeypatch.setattr(study, "mix_data", lambda *sizes: (LETTERS, known, known[:1]))
    own = make_mix(next(iter(mix_specs("smoke").values()))[0]).own
    assert [LETTERS.decode(tokens) for tokens in own] == [["a"], ["d"]]  # b is rare, c and the end are of both


@pytest.mark.parametrize(
    ("make", "specs", "vocab", "positions"),
    [
        (make_scan, scan_specs, 22, 64),
        (make_cogs, cogs_specs, 356, 373),
        (make_asking, asking_specs, 78, 96),
        (make_mix, mix_specs, 776, 31),
    ],
)
def test_a_model_has_the_tokens_and_positions_of_the_task_or_is_refused(
    make: Callable[[RunSpec], Any], specs: Callable[[str], Any], vocab: int, positions: int
) -> None:
    spec = first(specs("smoke"))
    fits = replace(spec.model, vocab=vocab, positions=positions)
    found = make(replace(spec, model=fits))
    assert found.length <= positions  # with padding
    if isinstance(found, Asking):
        found.snapshot(fits.build(), 4)  # with a chain of its own
    for small in (replace(fits, vocab=vocab - 1), replace(fits, positions=positions - 1)):
        said = (
            f"the task has {vocab} tokens and rows of {positions}, the model {small.vocab} tokens and {small.positions} "
            "positions: give the model more."
        )
        with pytest.raises(LanguageError, match=f"^{re.escape(said)}$"):
            make(replace(spec, model=small))


# ---------------------------------------------------------------- the follow-up's code


def test_the_script_counts_outputs_and_leaves_embeddings_alone() -> None:
    """At width 32: 96 outputs of queries, keys and values together, 32 of the others, 128 of the hidden layer."""
    shape = {"depth": 1, "d_ff": 128, "norm": "pre", "activation": "gelu", "bias": True, "vocab": 300, "positions": 200}
    model = CausalSpec.split_heads(32, 4, **shape, start=SCRIPT).build(2)
    apply_gamma_stacked(model.requires_grad_(False), [0.5, 0.3], [1, 2])
    (block,) = model.blocks
    wanted = {block.attention.W_Q: 96, block.attention.W_K: 96, block.attention.W_V: 96, block.attention.W_O: 32}
    for run, gamma in enumerate((0.5, 0.3)):
        for part, outputs in (wanted | {block.W_1: 128, block.W_2: 32}).items():
            assert float(part.weight[run].std()) == pytest.approx(outputs**-gamma, rel=0.1)
        for table in (model.embedding.token, model.embedding.position):
            assert float(table[run].std()) == pytest.approx(0.02, rel=0.05)
    with pytest.raises(ValueError, match="start must be 'formula', 'script' or 'fixed head'"):
        CausalSpec.split_heads(32, 4, **shape, start="else")


def test_a_fixed_head_has_one_scale_from_every_start_and_all_else_is_as_the_formula_says() -> None:
    shape = {"depth": 1, "d_ff": 128, "norm": "pre", "activation": "gelu", "bias": True, "vocab": 300, "positions": 200}
    model = CausalSpec.split_heads(32, 4, **shape, tied=False, start=FIXED_HEAD).build(2)
    apply_gamma_stacked(model.requires_grad_(False), [0.5, 0.3], [1, 2])
    for run, gamma in enumerate((0.5, 0.3)):
        assert float(model.head.weight[run].std()) == pytest.approx(0.02, rel=0.05)
        for weight in (model.embedding.token, model.blocks[0].W_1.weight):
            assert float(weight[run].std()) == pytest.approx(32**-gamma, rel=0.05)
    with pytest.raises(ValueError, match="needs an output matrix of its own: set tied to False"):
        CausalSpec.split_heads(32, 4, **shape, start=FIXED_HEAD)


def test_how_weights_start_is_no_part_of_older_keys() -> None:
    spec = first(scan_specs("smoke"))
    assert "start" not in spec.as_dict()["model"]
    again = replace(spec, model=replace(spec.model, start=SCRIPT))
    assert again.as_dict()["model"]["start"] == SCRIPT
    assert again.key != spec.key


def test_a_twin_is_asked_for_by_the_task() -> None:
    alone = twin_search("smoke")[0]
    known = make_asking(alone).trained
    assert (known.label == known.rows.start).all()  # nothing but the label and the end
    asked = Task(concepts=6, hops=(1, 2), twin=True)
    assert task_of(alone) == asked
    orders = {kind[0]: task_of(specs[0]) for kind, specs in twin_specs("smoke").items()}
    assert orders == {TWIN: asked, SHUFFLED: replace(asked, shuffled=True)}


@pytest.mark.parametrize("profile", ["smoke", "laptop", "paper"])
def test_twins_are_of_both_arms_in_single_precision_and_a_trial_asks_for_labels_alone(profile: str) -> None:
    setting, specs, trials = ASKING[profile], twin_specs(profile), twin_search(profile)
    assert set(specs) == {(variant, max(setting.sizes), *arm) for variant in (TWIN, SHUFFLED) for arm in PAPER}
    every = [spec for group in specs.values() for spec in group]
    assert all(dict(s.task).get("shuffled", False) == (kind[0] == SHUFFLED) for kind, some in specs.items() for s in some)
    assert len({spec.key for spec in [*every, *trials]}) == len(every) + len(trials)
    for spec in [*every, *trials]:
        task = dict(spec.task)
        assert task["twin"]
        assert spec.train.precision == "float32"
        assert max(task["hops"]) < task["concepts"] // 2
        assert task["chain"] or spec in trials
    assert not {spec.seed for spec in trials} & {spec.seed for spec in every}
    if profile == "smoke":
        assert asking_examples(every[0])[1] == Task(concepts=6, hops=(1, 2), twin=True).examples(1, 0, task["test"])


# ---------------------------------------------------------------- what is run

PROFILES = ("smoke", "laptop", "paper")
PAPER = [(0.5, 0.01), (0.7, 0.1)]
CROSS = [*PAPER, (0.5, 0.1), (0.7, 0.01)]
"""γ and decay of the paper's two arms; theirs crossed."""


@pytest.mark.parametrize("profile", PROFILES)
def test_every_size_has_both_arms_and_one_size_has_more(profile: str) -> None:
    most = max(ASKING[profile].sizes)
    for found, setting, main, more, other, at in (
        (scan_specs(profile), SCAN[profile], TURN, [*CROSS, (0.3, 0.0), (0.8, 1.0)], JUMP, SCAN[profile].middle),
        (cogs_specs(profile), COGS[profile], "COGS", CROSS, None, 0),
        (asking_specs(profile), ASKING[profile], CHAIN, CROSS, HARD, most),
    ):
        kinds = [(main, size, *arm) for size in setting.sizes for arm in PAPER] + [(main, setting.middle, *arm) for arm in more]
        kinds += [(other, at, *arm) for arm in PAPER if other]
        kinds += [(main + AS_SCRIPT, setting.middle, *arm) for arm in PAPER if profile == "paper" and main != CHAIN]
        assert set(found) == set(kinds)
        for (kind, size, gamma, decay), specs in found.items():
            assert [spec.seed for spec in specs] == list(setting.seeds)
            for spec in specs:
                task = dict(spec.task)
                assert (spec.gamma, spec.decay, task["size"], task["keep"]) == (gamma, decay, size, (spec.train.steps,))
                assert task.get("split", TURN) == (JUMP if kind == JUMP else TURN)
                assert task.get("hard", False) == (kind == HARD)
                assert spec.model.start == (SCRIPT if kind.endswith(AS_SCRIPT) else FORMULA)
                assert spec.train.steps == setting.gpt.train.steps * (
                    1 + (main == CHAIN and size == most and profile != "smoke")
                )


@pytest.mark.parametrize("profile", PROFILES)
def test_the_mix_is_run_from_every_start_with_and_without_tied_embeddings(profile: str) -> None:
    found = {kind: [(s.model.tied, s.gamma, s.seed) for s in specs] for kind, specs in mix_specs(profile).items()}
    kinds = list(product((True, False), (0.3, 0.5, 0.8)))
    assert found == {kind: [(*kind, seed) for seed in MIX[profile].seeds] for kind in kinds}


@pytest.mark.parametrize("profile", PROFILES)
def test_trials_of_addition_have_both_arms_on_a_seed_that_is_not_reported(profile: str) -> None:
    tried, reported = adding_search(profile), [spec for runs in adding_specs(profile).values() for spec in runs]
    assert not {spec.seed for spec in tried} & {spec.seed for spec in reported}
    forms = [(3e-4, False)] if profile == "smoke" else list(product((3e-4, 1e-3), (False, True)))  # GPT-2's form has biases
    assert {(s.rate, s.model.bias, s.gamma, s.decay) for s in tried} == {(*form, *arm) for form in forms for arm in PAPER}
    assert len(tried) == 2 * len(forms)
