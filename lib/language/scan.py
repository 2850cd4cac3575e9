"""SCAN (Lake and Baroni 2018): every command of its grammar with the actions that it means, and three of its splits.

C → S and S | S after S | S;  S → V | V twice | V thrice;  V → U | D | O | A;  D → U left|right | turn left|right; O and A are D
with "opposite" or "around" before left|right;  U → walk | look | run | jump. A turn is an action; "u left" turns and does u, "u
opposite left" turns twice and does u, "u around left" turns and does u, four times; "turn" itself does nothing more. "x after
y" does y first. A command is known by its number, its place in `commands()`. Actions are words of their own, in capitals.

Splits have the released names and sizes. That a smaller training set keeps the share of its primitive is our choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from lib.core.model.rng import randint
from lib.language.text import LanguageError, Rows, opened, vocabulary
from lib.language.text import rows as rows_of

Words = tuple[str, ...]
Pair = tuple[Words, Words]

VERBS = {"walk": ("WALK",), "look": ("LOOK",), "run": ("RUN",), "jump": ("JUMP",)}
TURNS = {"left": "LTURN", "right": "RTURN"}
TIMES = {"twice": 2, "thrice": 3}
COMMAND_WORDS = (*VERBS, "turn", *TURNS, "opposite", "around", *TIMES, "and", "after")
RELEASED = {**{act: f"I_{act}" for (act,) in VERBS.values()}, "LTURN": "I_TURN_LEFT", "RTURN": "I_TURN_RIGHT"}
"""The actions, and what the released files call them."""
VOCABULARY = vocabulary((*COMMAND_WORDS, *RELEASED))
SPLITS: dict[str, Words] = {"simple": (), "addprim_turn_left": ("turn", "left"), "addprim_jump": ("jump",)}
"""The splits by their released names, each with the primitive that training shows alone."""
N_TEST_SIMPLE = 4_182
_OTHERS_TO_ONE = 9  # the release repeats the primitive until it is a tenth of the training rows
_SIMPLE, _SAMPLE = 71, 72  # streams of random numbers
_SHOWN = 60  # so many characters of a bad line are shown


def _verb_phrases() -> Iterator[Pair]:
    """V, 34 of them."""
    yield from (((verb,), act) for verb, act in VERBS.items())
    for verb, act in (*VERBS.items(), ("turn", ())):
        for side, turn in TURNS.items():
            yield (verb, side), (turn, *act)
            yield (verb, "opposite", side), (turn, turn, *act)
            yield (verb, "around", side), (turn, *act) * 4


def sentences() -> list[Pair]:
    """S, the 102 commands without "and" and "after", with their actions."""
    once = list(_verb_phrases())
    return once + [((*words, word), acts * times) for word, times in TIMES.items() for words, acts in once]


@cache
def commands() -> tuple[Pair, ...]:
    """All 20,910 commands with their actions, as words: S, then S and S, then S after S."""
    parts = sentences()
    joined = [((*x, "and", *y), acts + then) for x, acts in parts for y, then in parts]
    turned = [((*x, "after", *y), first + acts) for x, acts in parts for y, first in parts]
    return (*parts, *joined, *turned)


@cache
def _numbers() -> dict[Words, int]:
    return {words: i for i, (words, _) in enumerate(commands())}


def number(command: str | Words) -> int:
    """The number of a command. Raises LanguageError if the grammar does not have it."""
    words = tuple(command.split()) if isinstance(command, str) else tuple(command)
    if words not in _numbers():
        raise LanguageError(f"{_short(' '.join(words))} is not a command of SCAN's grammar.")
    return _numbers()[words]


def meaning(command: str | Words) -> Words:
    """The actions of a command. Raises LanguageError if the grammar does not have it."""
    return commands()[number(command)][1]


@cache
def rows() -> Rows:
    """All commands as Rows, (20910, 59) tokens of VOCABULARY; `rows()[split.train]` are those of a training set."""
    return rows_of(commands(), VOCABULARY)


@dataclass(frozen=True)
class Split:
    """train (N,), test (M,): int64 numbers of commands. A primitive that training repeats is there so many times; `primitive`
    is its number, None in the simple split."""

    train: Tensor
    test: Tensor
    primitive: int | None = None

    def sample(self, size: int) -> Split:
        """The same test with a training set of `size` rows; smaller sets lie within larger ones.

        Our choice: the primitive stays in, with the share that it has in the whole set (a tenth in the release), rounded up;
        the rest are other commands, drawn without replacement. Raises LanguageError for a size that cannot be drawn.
        """
        whole = len(self.train)
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= whole:
            raise LanguageError(f"the size of a training set must be an integer from 1 to {whole:,}, got {size!r}.")
        alone = self.train == (-1 if self.primitive is None else self.primitive)
        own, others = self.train[alone], self.train[~alone]
        kept = -(-size * len(own) // whole)
        drawn = others[_shuffled(len(others), 0, _SAMPLE)[: size - kept]]
        return replace(self, train=torch.cat([drawn, own[:kept]]))


def split(name: str, seed: int = 0) -> Split:
    """A split of SPLITS: "simple" (16,728 rows train, 4,182 test; `seed` draws which, ours in place of the released draw),
    "addprim_turn_left" (21,890 and 1,208) or "addprim_jump" (14,670 and 7,706), in which nothing is drawn.

    In the latter two every command that holds the primitive's words is tested but the primitive itself, which training repeats
    2,189 or 1,467 times. Raises LanguageError for another name.
    """
    if name not in SPLITS:
        raise LanguageError(f"a split is one of {', '.join(SPLITS)}, got {name!r}.")
    if not (primitive := SPLITS[name]):
        order = _shuffled(len(commands()), seed, _SIMPLE)
        return Split(order[N_TEST_SIMPLE:].sort().values, order[:N_TEST_SIMPLE].sort().values)
    own = number(primitive)
    sought = f" {' '.join(primitive)} "
    holds = torch.tensor([sought in f" {' '.join(words)} " for words, _ in commands()])
    others = (~holds).nonzero()[:, 0]
    holds[own] = False
    repeated = torch.full((len(others) // _OTHERS_TO_ONE,), own)
    return Split(torch.cat([others, repeated]), holds.nonzero()[:, 0], own)


def released(which: int) -> str:
    """A command in the format of the released files: `IN: jump twice OUT: I_JUMP I_JUMP`."""
    words, actions = commands()[which]
    return f"IN: {' '.join(words)} OUT: {' '.join(RELEASED[act] for act in actions)}"


def read(path: Path | str) -> Tensor:
    """(N,) int64: the numbers of the commands in a file of the released format, in its order; empty lines are passed over.

    Raises LanguageError, with what is wrong in one sentence, for a file that cannot be read, is no UTF-8 text or has no rows,
    and for a line that is not a command with its actions.
    """
    known = {released(i): i for i in range(len(commands()))}
    found = []
    with opened(path, "give the file as it was released") as file:
        for place, text in enumerate(file, start=1):
            line = " ".join(text.split())
            if line and line not in known:
                raise LanguageError(f"{path}, line {place}, {_complaint(line)}: give the file as it was released.")
            found += [known[line]] if line else []
    if not found:
        raise LanguageError(f"{path} is empty: give the file as it was released.")
    return torch.tensor(found)


def load(folder: Path | str, name: str) -> Split:
    """A split from the user's own copy of the release: `tasks_train_NAME.txt` and `tasks_test_NAME.txt` in `folder`.

    Raises LanguageError as `read` does, and for files that are not the two of that split.
    """
    ours = split(name)
    paths = [Path(folder) / f"tasks_{part}_{name}.txt" for part in ("train", "test")]
    train, test = map(read, paths)
    for path, there, due in ((paths[0], train, ours.train), (paths[1], test, ours.test)):
        if len(there) != len(due):
            raise LanguageError(f"{path} has {len(there):,} rows and the release {len(due):,}: copy it again.")
    same = torch.equal(torch.cat([train, test]).sort().values, torch.cat([ours.train, ours.test]).sort().values)
    if not same or (SPLITS[name] and not torch.equal(test.sort().values, ours.test)):
        raise LanguageError(f"{paths[0]} and {paths[1].name} do not hold the commands of the split {name!r}: copy both again.")
    return Split(train, test, ours.primitive)


def _complaint(line: str) -> str:
    """Why a line of a file, with single spaces, is none of the release."""
    if not line.startswith("IN: "):
        return f"does not begin with 'IN: ' ({_short(line)})"
    command, mark, rest = f"{line[3:]} ".partition(" OUT: ")
    if not mark:
        return f"has no ' OUT: ' ({_short(line)})"
    words, actions = tuple(command.split()), tuple(rest.split())
    for kind, given, known in (("command", words, COMMAND_WORDS), ("action", actions, RELEASED.values())):
        for word in given:
            if word not in known:
                return f"has the unknown {kind} word {_short(word)}"
    if words not in _numbers():
        return f"has {_short(' '.join(words))}, which is not a command of SCAN's grammar"
    due = tuple(RELEASED[act] for act in meaning(words))
    if len(actions) != len(due):
        return f"gives {' '.join(words)!r} {len(actions)} actions in place of {len(due)}"
    wrong, right = next((a, b) for a, b in zip(actions, due, strict=True) if a != b)
    return f"gives {' '.join(words)!r} the action {wrong} in place of {right}"


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _shuffled(count: int, seed: int, stream: int) -> Tensor:
    """(count,) the numbers below `count` in an order that is a pure function of the seed."""
    return randint(torch.tensor(seed), stream, torch.arange(count), 2**31).argsort(stable=True)
