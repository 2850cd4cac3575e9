"""Files that a user gives: opened, or refused in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from lib.language.text import LanguageError


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
