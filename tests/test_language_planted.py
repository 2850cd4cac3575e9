"""Every chapter on language can fail: a planted model without the skill is refused by the chapter's measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from planted import judged, planted_run
from torch import Tensor

from lib.language import cogs, scan
from lib.language.addition.metrics import WELL
from lib.language.addition_task import MARKS, Addition
from lib.language.experiments import MIX, TURN, mix_specs
from lib.language.mixture import metrics as mixture
from lib.language.mixture.claims import CLAIMS
from lib.language.prontoqa_task import LABELS, Task, questions
from lib.language.scan_cogs.claims import LOW
from lib.language.study import Adding, Asking, Mixing, Reading, cogs_data, mix_data
from lib.language.text import OUT, Rows, Vocabulary

OUT_TOKEN = 1


def test_who_knows_the_nearest_sum_does_not_add() -> None:
    """Chapter 19: who remembers every pair of training, and of the square the nearest of these."""
    task = Addition(numbers=16, low=6, high=9)

    class Remembers:
        def logits(self, tokens: Tensor) -> Tensor:
            pair = tokens[:, :2] - len(MARKS)
            known = task.train
            sums = known.sum(1)[torch.cdist(pair.float(), known.float()).argmin(1)]
            return torch.nn.functional.one_hot(sums + len(MARKS), len(MARKS) + 32).float()[None]

    found = Adding(task).measure(Remembers())
    assert found["train"].tolist() == [1]
    assert found["test"].item() < WELL / 4


class Memorizer:
    """Stands for Ask: writes the target of a row that it knows; of another one that of the known source with the most words in
    common."""

    def __init__(self, known: Rows) -> None:
        lines = zip(known.tokens.tolist(), known.start.tolist(), known.length.tolist(), strict=True)
        self.target = {tuple(line[: start - 1]): line[start:end] for line, start, end in lines}

    def __call__(self, tokens: Tensor) -> Tensor:
        said = torch.zeros(1, *tokens.shape, dtype=torch.int64)
        for row, line in enumerate(tokens.tolist()):
            at = line.index(OUT_TOKEN)
            source = tuple(line[:at])
            near = source if source in self.target else max(self.target, key=lambda known: len({*known} & {*source}))
            words = self.target[near][: len(line) - at]
            said[0, row, at : at + len(words)] = torch.tensor(words)
        return said


def of_scan() -> Reading:
    split, rows = scan.split(TURN).sample(400), scan.rows()
    return Reading(rows[split.train], {"test": rows[split.test[::12]]})


def of_cogs() -> Reading:
    data, words = cogs_data(300, 10, 10, 30, 10)
    case = torch.tensor([cogs.CASES.index(row.case) for row in data.gen])
    return Reading(cogs.encode(data.train, words), {"gen": cogs.encode(data.gen, words)}, {"gen": case})


@pytest.mark.parametrize(("make", "name"), [(of_scan, "test"), (of_cogs, "gen")])
def test_who_knows_rows_by_heart_composes_nothing(make: Callable[[], Reading], name: str) -> None:
    """Chapter 20: what was seen is right in every word, and of what training does not show next to nothing."""
    reading = make()
    found = reading.measure(Memorizer(reading.known))
    assert found["train"].tolist() == [1]
    assert found[name].item() < LOW
    if name == "gen":
        assert found["gen cases"].max().item() <= 0.5


class Comparer:
    """Stands for Ask: compares what is asked with the last sentence before the label that names its adjective, wherever it
    stands, and says True if both are negated or neither is. It follows no rule."""

    def __init__(self, words: Vocabulary) -> None:
        self.words = words
        self.false, self.true = words.encode(LABELS)

    def logits(self, tokens: Tensor) -> Tensor:
        found = torch.zeros(1, *tokens.shape, len(self.words))
        for row, line in enumerate(tokens.tolist()):
            text = self.words.decode(line)
            at = text.index(OUT)
            asked = text[:at][text.index("false") + 2 :]
            context = " ".join(text[2 : text.index("false") - 2])
            for here in range(at, len(text)):
                said = f"{context} {' '.join(text[at + 1 : here + 1])}".split(" . ")
                told = [sentence.split() for sentence in said if asked[-2] in sentence.split()]
                same = ("not" in asked) == ("not" in told[-1])
                found[0, row, here, self.true if same else self.false] = 1
        return found

    def __call__(self, tokens: Tensor) -> Tensor:
        return self.logits(tokens).argmax(-1)


def labels_right(task: Task, chain: bool) -> float:
    """Of the comparer."""
    test = questions(task.examples(1, 0, 200), task.vocabulary, chain)
    study = Asking(test[torch.arange(5)], test, task.vocabulary)
    return study.measure(Comparer(task.vocabulary))["label"].item()


def test_who_compares_two_sentences_is_refused_where_the_label_is_asked_alone() -> None:
    """Chapter 21: the main reading, a label behind the gold chain, passes such a model, as the chapter says. Without a chain,
    beside a twin of the creature's, it is a coin."""
    assert labels_right(Task(concepts=6, hops=(1, 2)), chain=True) == 1
    assert labels_right(Task(concepts=6, hops=(2,), twin=True), chain=True) == 1
    assert labels_right(Task(concepts=6, hops=(2,), twin=True), chain=False) == pytest.approx(0.5, abs=0.1)


def bigram_table(tokens: Sequence[Sequence[int]], lengths: Sequence[int], size: int) -> Tensor:
    """(1, V, V): logits of the best bigram model of these rows."""
    counts = torch.full((size, size), 1e-9)
    for line, length in zip(tokens, lengths, strict=True):
        for before, after in pairwise(line[:length]):
            counts[before, after] += 1
    return counts.log()[None]


def test_a_bigram_model_learns_neither_corpus_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapter 22: who knows which word followed which in training passes no level, so the questions are never first."""
    words, known, held_out = mix_data(60, 10, 96)
    table = bigram_table(known.tokens.tolist(), known.length.tolist(), len(words))

    class Bigrams:
        def logits(self, tokens: Tensor) -> Tensor:
            return table[:, tokens]

    found = Mixing(known, held_out, []).measure(Bigrams())
    level = tuple(mixture.bigram_loss(known, corpus) for corpus in (0, 1))
    ends = [found[f"train {corpus}"].item() for corpus in (0, 1)]
    assert ends == pytest.approx(level, abs=0.3)
    monkeypatch.setitem(MIX, "laptop", replace(MIX["laptop"], each=60, tests=10, length=96))
    monkeypatch.setattr(mixture, "levels", mixture.levels.__wrapped__)
    history = {"step": [10, 20], **{f"test {i}": [7.0, found[f"test {i}"].item()] for i in (0, 1)}}
    runs = [planted_run(spec, {}, history) for specs in mix_specs("laptop").values() for spec in specs]
    assert judged(CLAIMS, "mix-faster", runs)["status"] == "no clear effect"
