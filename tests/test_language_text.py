"""Words as numbers, by hand."""

from __future__ import annotations

import pytest
import torch

from lib.language.text import END, OUT, PAD, LanguageError, Vocabulary, rows, vocabulary


def test_a_row_by_hand() -> None:
    words = vocabulary(["jump", "JUMP", "twice"])
    assert words.words == (PAD, OUT, END, "JUMP", "jump", "twice")
    found = rows([(["jump"], ["JUMP"]), (["jump", "twice"], ["JUMP", "JUMP"])], words)
    assert found.tokens.tolist() == [[4, 1, 3, 2, 0, 0], [4, 5, 1, 3, 3, 2]]
    assert found.start.tolist() == [2, 3]
    assert found.length.tolist() == [4, 6]
    assert found.targets().int().tolist() == [[0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]]
    assert rows([(["jump"], ["JUMP"])], words).tokens.shape == (1, 4)
    assert found[torch.tensor([1])].length.tolist() == [6]
    assert words.decode(found.tokens[0][:4]) == ["jump", OUT, "JUMP", END]


def test_what_cannot_be_a_row_is_refused() -> None:
    words = vocabulary(["jump"])
    with pytest.raises(LanguageError, match="'walk' is not in the vocabulary of 4 words"):
        rows([(["walk"], ["jump"])], words)
    with pytest.raises(LanguageError, match="no rows"):
        rows([], words)
    with pytest.raises(LanguageError, match="'a' is in the vocabulary twice"):
        Vocabulary((PAD, OUT, END, "a", "b", "a"))
    with pytest.raises(LanguageError, match="must begin with"):
        Vocabulary(("a", "b", "c"))
