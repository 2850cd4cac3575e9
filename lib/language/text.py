"""Words as numbers: a closed vocabulary, rows of a source and a target, padded into one array, and files that a user gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import torch
from torch import Tensor

PAD, OUT, END = "<pad>", "<out>", "<end>"
"""Padding; what stands between a source and its target; the end of a target. They are the first three tokens."""


class LanguageError(ValueError):
    """Text, a data file or a size that a task cannot use; the message says what to change."""


def words_of(text: str) -> tuple[str, ...]:
    """Words and marks, each a token; an apostrophe is a mark."""
    return tuple(re.findall(r"\w+|[^\w\s]", text))


@contextmanager
def opened(path: str | Path, advice: str) -> Iterator[TextIO]:
    """A file as text in UTF-8, whose mark of the byte order is no text. Raises LanguageError, which ends with the `advice`, for
    a file that is not there, is none (a pipe, which might never end), cannot be read, or is no text."""
    shown = str(path).encode("unicode_escape").decode() if "\0" in str(path) else path
    try:
        if "\0" in str(path) or not Path(path).exists():
            raise LanguageError(f"there is no file {shown}: {advice}.")
        if not Path(path).is_file():
            raise LanguageError(f"{path} is not a plain file: {advice}.")
        with open(path, encoding="utf-8-sig") as file:
            yield file
    except UnicodeDecodeError:
        raise LanguageError(f"{path} is not UTF-8 text: {advice}.") from None
    except OSError as error:
        raise LanguageError(f"{path} cannot be read ({error.strerror}): {advice}.") from None


@dataclass(frozen=True)
class Vocabulary:
    """Token i is words[i]; the first three are PAD, OUT and END. Raises LanguageError for a word that is there twice."""

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.words[:3] != (PAD, OUT, END):
            raise LanguageError(f"a vocabulary must begin with {PAD}, {OUT} and {END}.")
        index = {word: i for i, word in enumerate(self.words)}
        if len(index) != len(self.words):
            twice = next(w for i, w in enumerate(self.words) if index[w] != i)
            raise LanguageError(f"the word {twice!r} is in the vocabulary twice.")
        object.__setattr__(self, "_index", index)

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Iterable[str]) -> list[int]:
        """Raises LanguageError, naming it, for an unknown word."""
        index: dict[str, int] = self.__dict__["_index"]
        try:
            return [index[word] for word in words]
        except KeyError as error:
            raise LanguageError(f"the word {error.args[0]!r} is not in the vocabulary of {len(self)} words.") from None

    def decode(self, tokens: Iterable[int]) -> list[str]:
        return [self.words[int(token)] for token in tokens]


def vocabulary(words: Iterable[str]) -> Vocabulary:
    """The three marks and every distinct word, sorted, so that order of reading does not matter."""
    return Vocabulary((PAD, OUT, END, *sorted(set(words) - {PAD, OUT, END})))


@dataclass(frozen=True)
class Rows:
    """N rows `source OUT target END`, padded behind.

    tokens: (N, L) int64; start: (N,) where the target begins, the position after OUT; length: (N,) with END. Rows drawn for
    several runs at once have (R, N) in place of (N,).
    """

    tokens: Tensor
    start: Tensor
    length: Tensor

    def __len__(self) -> int:
        return len(self.tokens)

    def targets(self) -> Tensor:
        """(N, L) bool: the tokens that the loss asks for, the target's and END."""
        position = torch.arange(self.tokens.shape[-1], device=self.tokens.device)
        return (position >= self.start[..., None]) & (position < self.length[..., None])

    def __getitem__(self, which: Tensor | slice) -> Rows:
        return Rows(self.tokens[which], self.start[which], self.length[which])


def rows(pairs: Sequence[tuple[Sequence[str], Sequence[str]]], words: Vocabulary) -> Rows:
    """Pairs (source, target) of words as Rows. Raises LanguageError for no pairs and for an unknown word."""
    if not pairs:
        raise LanguageError("there are no rows: give at least one pair of a source and a target.")
    lines = [words.encode((*source, OUT, *target, END)) for source, target in pairs]
    length = torch.tensor([len(line) for line in lines])
    tokens = torch.zeros(len(lines), int(length.max()), dtype=torch.int64)
    tokens[torch.arange(tokens.shape[1]) < length[:, None]] = torch.tensor([token for line in lines for token in line])
    return Rows(tokens, torch.tensor([len(source) + 1 for source, _ in pairs]), length)
