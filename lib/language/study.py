"""What the training loop needs of the tasks: rows by number, and what is measured along training."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from lib.core.model.rng import randint
from lib.core.model.transformer import IGNORED, TokenModel
from lib.core.record.spec import RunSpec
from lib.core.sweep.jobs import records
from lib.core.train.ensemble import Ask
from lib.language import cogs, own, prontoqa_task, scan, stories
from lib.language.addition_task import MARKS, Addition
from lib.language.prontoqa_task import LABELS, Example, Questions, judged
from lib.language.stories import Sequences
from lib.language.text import LanguageError, Rows, Vocabulary

N_ASKED = 2000
_ASKED = 83  # stream of random numbers


class Adding:
    """Addition of whole numbers: tokens `a b OUT`, and the sum as the one target."""

    length = 3

    def __init__(self, task: Addition, keep: tuple[int, ...] = ()) -> None:
        self.task, self.keep = task, frozenset(keep)
        self.test = task.whole(task.test)
        self.known = task.rows(torch.tensor(_ASKED), torch.arange(N_ASKED))
        distance = task.edge_distance(task.test)
        self.rings = [distance == d for d in range(int(distance.max()) + 1)] if task.split == "square" else []

    def batch(self, seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        return self.task.rows(seed, index)

    def measure(self, ask: Ask) -> dict[str, Tensor]:
        """Shares of right sums among the held-out pairs (`test`; `rings` by their distance from the edge of the square) and
        among pairs of training (`train`), and the cross-entropies of both, in nats."""
        found = {}
        for name, (tokens, answer) in (("test", self.test), ("train", self.known)):
            logits = ask.logits(tokens)
            right = (logits.argmax(-1) == answer).float()
            target = answer.to(logits.device).expand(len(logits), -1)
            found[name] = right.mean(1)
            found[f"{name} loss"] = F.cross_entropy(logits.transpose(1, 2), target, reduction="none").mean(1)
            if name == "test" and self.rings:
                found["rings"] = torch.stack([right[:, ring].mean(1) for ring in self.rings], 1)
        return found

    @torch.no_grad()
    def snapshot(self, model: Any, step: int) -> dict[str, Tensor]:
        """At the steps to keep: by how much the answer to every held-out pair is off, (R, pairs), in the order of `task.test`.
        A mark instead of a number counts as one below 0."""
        if step not in self.keep:
            return {}
        tokens, target = self.test
        tokens = tokens.to(next(model.parameters()).device)
        answer = model(tokens.expand(model.n_runs, *tokens.shape)).argmax(-1).cpu()
        return {"off": (answer.clamp(min=len(MARKS) - 1) - target).float()}


@records("train", "train loss", "test", "test loss", sometimes=("rings",))
def make_adding(spec: RunSpec) -> Adding:
    task = dict(spec.task)
    return Adding(keep=task.pop("keep", ()), task=Addition(**task))


PAD_TOKEN, END_TOKEN = 0, 2
N_KNOWN, N_SHOWN, N_EACH, N_OWN = 300, 12, 2, 200
"""Rows of training that are asked along training, of a corpus half as many; rows whose answers are kept, and of each case;
questions to which models write a chain of their own."""
S = TypeVar("S", bound="Reading | Mixing")
_BUCKET, _ROW = 84, 85  # streams of random numbers
_ASKED_AT_ONCE = 128
_MULTIPLE = 8  # rows of a bucket are padded to a multiple of so many tokens, so that few shapes are compiled


def asked_for(rows: Rows) -> tuple[Tensor, Tensor]:
    """Inputs and targets (N, L − 1) of next-token prediction: IGNORED where the row does not ask."""
    return rows.tokens[:, :-1], torch.where(rows.targets()[:, 1:], rows.tokens[:, 1:], IGNORED)


def answers(ask: Callable[[Tensor], Tensor], rows: Rows) -> Tensor:
    """(R, N, L − 1): the most likely token behind every token, in one teacher-forced pass."""
    tokens, target = asked_for(rows)
    order = rows.length.argsort(stable=True)
    found = torch.zeros(0)
    for part in order.split(_ASKED_AT_ONCE):
        longest = int(rows.length[part].max()) - 1
        guess = ask(tokens[part, :longest])
        if not len(found):
            found = torch.zeros(len(guess), *target.shape, dtype=guess.dtype)
        found[:, part, :longest] = guess.cpu()
    return found


def exact(guess: Tensor, rows: Rows, end: bool = True) -> Tensor:
    """(R, N) bool: is every token that is asked for right? As greedy decoding would have it, since its first error decides.
    Without the `end`, a row may go on behind its true one, as in the follow-up's script."""
    target = asked_for(rows)[1]
    return _all_right(guess, target if end else torch.where(target == END_TOKEN, IGNORED, target))


def _all_right(guess: Tensor, target: Tensor) -> Tensor:
    return ((guess == target) | (target == IGNORED)).all(-1)


def _logits(ask: Ask, rows: Rows) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Part by part, rows of like length together: their numbers (n,), logits (R, n, l, V) and, beside these, targets (n, l)."""
    for part in rows.length.argsort(stable=True).split(_ASKED_AT_ONCE):
        longest = int(rows.length[part].max()) - 1
        tokens, target = (found[:, :longest] for found in asked_for(rows[part]))
        logits = ask.logits(tokens)
        yield part, logits, target.to(logits.device)


def _nats(logits: Tensor, target: Tensor) -> Tensor:
    """(R,): cross-entropies of (R, n, l, V) logits, summed over all targets (n, l) that are asked for."""
    target = target.expand(len(logits), *target.shape)
    loss = F.cross_entropy(logits.flatten(0, 2), target.flatten(), ignore_index=IGNORED, reduction="none")
    return loss.view(len(logits), -1).sum(1)


@torch.no_grad()
def greedy(model: Any, rows: Rows, limit: int) -> Tensor:
    """(R, N, limit): what the models write themselves behind OUT, one token after the other; PAD behind END.

    `limit` is at most the positions left behind the longest source."""
    device = next(model.parameters()).device
    room = int(rows.start.max()) + limit
    tokens = torch.zeros(model.n_runs, len(rows), room, dtype=torch.int64, device=device)
    prompt = torch.where(torch.arange(room) < rows.start[:, None], F.pad(rows.tokens, (0, room))[:, :room], 0)
    tokens[:] = prompt.to(device)
    at = rows.start.to(device).expand(model.n_runs, -1)
    going = torch.ones_like(at, dtype=torch.bool)
    written = []
    for step in range(limit):
        seen = int(at.max()) + step
        logits = model(tokens[..., :seen]).gather(2, (at + step - 1)[..., None, None].expand(-1, -1, 1, model.spec.vocab))
        now = logits[:, :, 0].argmax(-1) * going
        tokens.scatter_(2, (at + step)[..., None], now[..., None])
        written.append(now)
        going = going & (now != END_TOKEN)
    return torch.stack(written, -1).cpu()


class Reading:
    """A training set of rows of unequal length, and sets that are asked along training.

    A batch is of one bucket, rows of like length, so that little is padded. A bucket is drawn as often as it has rows.
    `groups`: a set may have numbers of cases, (N,) from 0, whose shares are measured apart.
    """

    def __init__(
        self,
        known: Rows,
        asked: Mapping[str, Rows],
        groups: Mapping[str, Tensor] | None = None,
        buckets: int = 4,
        keep: tuple[int, ...] = (),
    ) -> None:
        order = known.length.argsort(stable=True)
        self.known = known[order]
        self.sample = known[torch.arange(len(known))[:: max(1, len(known) // N_KNOWN)]]
        self.asked, self.groups, self.keep = dict(asked), dict(groups or {}), frozenset(keep)
        parts = [part for part in torch.arange(len(known)).chunk(buckets) if len(part)]
        self.first = torch.tensor([int(part[0]) for part in parts])
        self.count = torch.tensor([len(part) for part in parts])
        padded = lambda n: -(-(n - 1) // _MULTIPLE) * _MULTIPLE
        self.longest = torch.tensor([padded(int(self.known.length[part].max())) for part in parts])
        self.length = int(self.longest.max())
        tokens, target = asked_for(self.known)
        self.tokens = F.pad(tokens, (0, max(0, self.length - tokens.shape[1])))
        self.target = F.pad(target, (0, max(0, self.length - target.shape[1])), value=IGNORED)

    @property
    def longest_read(self) -> int:
        """Positions that a model needs."""
        return max([self.length, *(int(rows.length.max()) - 1 for rows in self.asked.values())])

    varying = True
    """Batches differ in length, so their drawing is not compiled."""

    def batch(self, seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        """Runs at the same step share a bucket; where they are not, rows are padded to the longest."""
        device, seed, index = index.device, seed.cpu(), index.cpu()
        step = index[:, 0] // index.shape[1]
        which = torch.searchsorted(self.count.cumsum(0), randint(torch.tensor(0), _BUCKET, step, len(self.known)), right=True)
        row = self.first[which, None] + randint(seed, _ROW, index, self.count[which, None])
        longest = int(self.longest[which].max())
        return self.tokens[row, :longest].to(device), self.target[row, :longest].to(device)

    def measure(self, ask: Ask) -> dict[str, Tensor]:
        """Shares of rows that are answered right in every token: of training (`train`, on a sample), and of each set asked."""
        found = {"train": exact(answers(ask, self.sample), self.sample).float().mean(1)}
        for name, rows in self.asked.items():
            right = exact(answers(ask, rows), rows).float()
            found[name] = right.mean(1)
            if name in self.groups:
                group = self.groups[name]
                found[f"{name} cases"] = torch.stack([right[:, group == g].mean(1) for g in range(int(group.max()) + 1)], 1)
        return found

    def snapshot(self, model: Any, step: int) -> dict[str, Tensor]:
        """At the steps to keep, of each set asked: whether a row is right, and whether it is but for its end, (R, N), and the
        answers to some rows, (R, n, L − 1), those of `shown`."""
        if step not in self.keep:
            return {}
        found = {}
        for name, rows in self.asked.items():
            guess = answers(_of(model), rows)
            found[f"{name} right"] = exact(guess, rows).float()
            found[f"{name} right but for the end"] = exact(guess, rows, end=False).float()
            found[f"{name} answers"] = guess[:, self.shown(name)].float()
        return found

    def shown(self, name: str) -> Tensor:
        """The rows whose answers are kept: the first N_SHOWN of the set, or the first few of each of its cases."""
        if name not in self.groups:
            return torch.arange(len(self.asked[name]))[:N_SHOWN]
        group = self.groups[name]
        return torch.cat([(group == g).nonzero()[:N_EACH, 0] for g in range(int(group.max()) + 1)])


def _of(model: Any) -> Callable[[Tensor], Tensor]:
    """The answers of a model at every position, as an Ask gives them."""
    device = next(model.parameters()).device

    def ask(tokens: Tensor) -> Tensor:
        with torch.no_grad():
            return model(tokens.to(device).expand(model.n_runs, *tokens.shape)).argmax(-1)

    return ask


class Asking(Reading):
    """PrOntoQA. `label`: are the two labels told apart behind the gold chain (or behind OUT, without chains)? `train label`:
    the same of questions of training. At the steps to keep the models write a chain of their own: `own` (R, N), is its label
    right? `written` (R, n, limit): the first."""

    def __init__(self, known: Questions, test: Questions, words: Vocabulary, **rest: Any) -> None:
        super().__init__(known.rows, {"test": test.rows}, **rest)
        self.test, self.words = test, words
        self.trained = known[torch.arange(len(known))[:: max(1, len(known) // N_KNOWN)]]
        self.some = test[torch.arange(min(len(test), N_OWN))]
        self.limit = int((self.some.rows.length - self.some.rows.start).max())

    @property
    def longest_read(self) -> int:
        return max(super().longest_read, int(self.some.rows.start.max()) + self.limit - 1)

    def measure(self, ask: Ask) -> dict[str, Tensor]:
        found = {}
        for name, label, questions in (("train", "train label", self.trained), ("test", "label", self.test)):
            found[name], found[label] = self._judged(ask, questions)
        return found

    def _judged(self, ask: Ask, questions: Questions) -> tuple[Tensor, Tensor]:
        """(R,) and (R,): the shares of rows that are right in every token, and of labels that are the likelier of the two."""
        every, labels = [], []
        for part, logits, target in _logits(ask, questions.rows):
            some = questions[part]
            every.append(_all_right(logits.argmax(-1), target))
            said = torch.stack([judged(run, some.label.to(run.device), self.words) for run in logits])
            labels.append(said == some.answer.to(said.device))
        return torch.cat(every, 1).float().mean(1), torch.cat(labels, 1).float().mean(1)

    def snapshot(self, model: Any, step: int) -> dict[str, Tensor]:
        found = super().snapshot(model, step)
        if found:
            written = greedy(model, self.some.rows, self.limit)
            false, true = self.words.encode(LABELS)
            ended = written == END_TOKEN
            last = torch.where(ended.any(2), ended.int().argmax(2), self.limit) - 1
            label = written.gather(2, last.clamp(min=0)[..., None])[..., 0]
            found["own"] = (label == torch.where(self.some.answer, true, false)).float()
            found["written"] = written[:, :N_SHOWN].float()
        return found


class Owned(Reading):
    """A user's own rows. Beside shares of right answers the losses of the same rows, in nats a token (`train loss`): all that
    there is to compare where nothing is asked, as of stories."""

    def measure(self, ask: Ask) -> dict[str, Tensor]:
        found = {}
        for name, rows in {"train": self.sample, **self.asked}.items():
            right, nats, count = [], 0.0, 0
            for _, logits, target in _logits(ask, rows):
                nats = nats + _nats(logits, target)
                count += int((target != IGNORED).sum())
                right.append(_all_right(logits.argmax(-1), target))
            found[name], found[f"{name} loss"] = torch.cat(right, 1).float().mean(1), nats / count
        return found


class Mixing:
    """The mix of two corpora: every token but the first is predicted. Losses of each corpus on rows of training (`train 0`) and
    on others (`test 0`), in nats a token; the share of training's tokens that are predicted right (`train`); the mean cosine of
    embeddings of tokens of one corpus alone (`cosine 0`)."""

    def __init__(self, known: Sequences, test: Sequences, own: list[Tensor]) -> None:
        self.known, self.own = known, own
        self.length = known.tokens.shape[1] - 1
        self.longest_read = self.length
        self.tokens, self.target = asked_for(known)
        every = max(1, 2 * len(known) // N_KNOWN)
        self.asked = {"train": known[torch.arange(0, len(known), every)], "test": test}

    def batch(self, seed: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        row = randint(seed, _ROW, index, len(self.known))
        return self.tokens.to(row.device)[row], self.target.to(row.device)[row]

    def measure(self, ask: Ask) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        right, asked = torch.zeros(()), 0
        for name, rows in self.asked.items():
            for corpus in range(int(rows.corpus.max()) + 1):
                some = rows[rows.corpus == corpus]
                nats, count = torch.zeros(()), 0
                for part in torch.arange(len(some)).split(_ASKED_AT_ONCE // 4):
                    tokens, target = asked_for(some[part])
                    logits = ask.logits(tokens)
                    target = target.to(logits.device)
                    nats = nats + _nats(logits, target)
                    count += int((target != IGNORED).sum())
                    if name == "train":
                        right = right + (logits.argmax(-1) == target).sum((1, 2))
                found[f"{name} {corpus}"] = nats / count
                asked += count * (name == "train")
        return found | {"train": right / asked}

    def watch(self, model: Any) -> dict[str, Tensor]:
        """Mean cosine between the embeddings of two different tokens of each corpus alone, (R,)."""
        token = model.embedding.token
        return {f"cosine {i}": mean_cosine(token[:, own.to(token.device)]) for i, own in enumerate(self.own)}


@torch.no_grad()
def mean_cosine(vectors: Tensor) -> Tensor:
    """(R, n, D) → (R,): the mean cosine over pairs of different vectors."""
    unit = F.normalize(vectors, dim=-1)
    n = unit.shape[1]
    return (unit.sum(1).square().sum(-1) - n) / (n * (n - 1))


def _checked(spec: RunSpec, words: int, study: S) -> S:
    """The study. Raises LanguageError where the model has not the tokens, or the positions for the longest row that it reads,
    padding included, or writes."""
    model = cast(TokenModel, spec.model)
    if words > model.vocab or study.longest_read > model.positions:
        raise LanguageError(
            f"the task has {words:,} tokens and rows of {study.longest_read}, the model {model.vocab:,} tokens and "
            f"{model.positions} positions: give the model more."
        )
    return study


@cache
def _scan(split: str, size: int, test: int, data: str) -> tuple[Rows, Rows]:
    chosen, rows = (own.scan_of(data)[split] if data else scan.split(split)).sample(size), scan.rows()
    every = max(1, len(chosen.test) // test)
    return rows[chosen.train], rows[chosen.test[::every][:test]]


@records("train", "test")
def make_scan(spec: RunSpec) -> Reading:
    """Task: `split`, `size` of the training set, `test` rows that are asked; here and below the digest of a user's `data`, if
    they are used, which lie where the variable own.VARIABLE says."""
    task = dict(spec.task)
    known, test = _scan(task["split"], task["size"], task["test"], task.get("data", ""))
    return _checked(spec, len(scan.VOCABULARY), Reading(known, {"test": test}, keep=task["keep"]))


@cache
def cogs_data(train: int, test: int, case: int, nouns: int, verbs: int) -> tuple[cogs.Data, Vocabulary]:
    data = cogs.generate(cogs.Sizes(train=train, dev=1, test=test, case=case, nouns=nouns, verbs=verbs))
    return data, cogs.vocabulary_of(data)


@cache
def own_words(digest: str) -> Vocabulary:
    """Of a user's COGS."""
    return cogs.vocabulary_of(own.cogs_of(digest))


def cogs_of(spec: RunSpec) -> tuple[cogs.Data, Vocabulary]:
    """The sets of a run, with its own number of rows of training, and the words of all rows."""
    task = dict(spec.task)
    if "data" in task:
        whole, words = own.cogs_of(task["data"]), own_words(task["data"])
        test, gen = own.cogs_asked(whole, task["test"], task["case"])
        data = replace(whole, test=tuple(test), gen=tuple(gen))
    else:
        data, words = cogs_data(*(task[name] for name in ("train", "test", "case", "nouns", "verbs")))
    return cogs.fewer(data, task["size"]), words


@records("train", "test", "gen", "gen cases", sometimes=("once",))
def make_cogs(spec: RunSpec) -> Reading:
    """Task: `size` of the training set, and the sizes that data are generated with; `once`: are those rows of training asked,
    too, each of which is all that training shows of a word or of its role?"""
    task, (data, words) = dict(spec.task), cogs_of(spec)
    known, test, gen = (cogs.encode(some, words) for some in (data.train, data.test, data.gen))
    asked = {"test": test, "gen": gen}
    if task.get("once"):
        asked["once"] = cogs.encode([row for row in data.train if row.case != cogs.IN_DISTRIBUTION], words)
    case = torch.tensor([cogs.CASES.index(row.case) for row in data.gen])
    return _checked(spec, len(words), Reading(known, asked, {"gen": case}, keep=task["keep"]))


TRAIN_STREAM, TEST_STREAM = 0, 1  # streams of examples, of training and others


def task_of(spec: RunSpec) -> prontoqa_task.Task:
    """Which questions of the book's a spec asks; an older one does not name every field."""
    about = dict(spec.task)
    return prontoqa_task.Task(**{f.name: about[f.name] for f in fields(prontoqa_task.Task) if f.name in about})


def asking_examples(spec: RunSpec) -> tuple[list[Example], list[Example]]:
    """The questions of training and of the test of a run."""
    about = dict(spec.task)
    if "data" in about:
        known, test, _ = own.questions_of(about["data"])
        return known[: about["size"]], test[: about["test"]]
    task = task_of(spec)
    return _examples(task, TRAIN_STREAM, about["size"]), _examples(task, TEST_STREAM, about["test"])


@cache
def _examples(task: prontoqa_task.Task, stream: int, count: int) -> list[Example]:
    return task.examples(stream, 0, count)


@records("train", "train label", "test", "label")
def make_asking(spec: RunSpec) -> Asking:
    """Task: `size` of the training set, `test` questions that are asked, with a `chain` or labels alone, and which questions
    are drawn: `hard`, or beside a `twin`, rules in order or `shuffled`."""
    about = dict(spec.task)
    words = own.questions_of(about["data"])[2] if "data" in about else task_of(spec).vocabulary
    known, test = (prontoqa_task.questions(some, words, about["chain"]) for some in asking_examples(spec))
    return _checked(spec, len(words), Asking(known, test, words, keep=about["keep"]))


def mix_texts(each: int, tests: int) -> tuple[list[list[str]], list[list[str]]]:
    """PrOntoQA's texts, corpus 0, and stories, corpus 1, a user's where they are given, else ours: those of training first."""
    return _mix_texts(each, tests, own.given(own.STORIES))


@cache
def _mix_texts(each: int, tests: int, data: str) -> tuple[list[list[str]], list[list[str]]]:
    questions = prontoqa_task.Task().examples(TRAIN_STREAM, 0, each + tests)
    told = own.stories_of(data, each + tests) if data else stories.stories(0, 0, each + tests)
    return [list(e.words) for e in questions], told


def mix_data(each: int, tests: int, length: int, data: str | None = None) -> tuple[Vocabulary, Sequences, Sequences]:
    """Of both corpora the sequences of training, and those held out; `data`: the digest of a user's stories, by default of
    those that this process was given."""
    return _mix_data(each, tests, length, own.given(own.STORIES) if data is None else data)


@cache
def _mix_data(each: int, tests: int, length: int, data: str) -> tuple[Vocabulary, Sequences, Sequences]:
    texts = _mix_texts(each, tests, data)
    words = stories.mix_vocabulary(texts)
    parts = ([t[:each] for t in texts], [t[each:] for t in texts])
    train, held_out = (stories.mix(part, words, length) for part in parts)
    return words, train, held_out


SEEN = 20
"""Embeddings are compared of tokens that a corpus has at least so often, and the other never."""


@records("train", "train 0", "train 1", "test 0", "test 1")
def make_mix(spec: RunSpec) -> Mixing:
    task = dict(spec.task)
    words, known, test = mix_data(task["each"], task["tests"], task["length"], task.get("data", ""))
    counts = known.counts(words)
    alone = [((counts[i] >= SEEN) & (counts[1 - i] == 0)).nonzero()[:, 0] for i in (0, 1)]
    if "data" in task and len(alone[1]) < 2:  # no two to compare
        raise LanguageError(f"the stories have not two words that are there {SEEN} times and in no question: give longer ones.")
    return _checked(spec, len(words), Mixing(known, test, alone))


@cache
def own_data(digest: str, path: str, most: int, longest: int) -> own.Own:
    """The data of a run. Raises LanguageError where other data lie there now."""
    if digest == own.EXAMPLE:
        return own.example(most)
    found = own.read(path, most, longest)
    if found.digest != digest:
        raise LanguageError(f"the data at {path} are not those of the run: run the page again, which reads them anew.")
    return found


@records("train", "test", "train loss", "test loss", sometimes=("gen", "gen loss"))
def make_own(spec: RunSpec) -> Owned:
    """Task: the digest of the `data`, which lie where the variable own.VARIABLE says; `rows` of training and the `longest` of
    them at most."""
    task = dict(spec.task)
    data = own_data(task["data"], os.environ.get(own.VARIABLE, ""), task["rows"], task["longest"])
    asked = {name: data.encoded(name) for name in data.held_out}
    return _checked(spec, len(data.words), Owned(data.encoded(), asked))
