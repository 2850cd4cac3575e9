"""Markdown tables, in one form throughout the book."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NUMBER = re.compile(r"[*(≤<≈ ]*[+−-]?\.?\d[\d,.]*")
_EMPTY = ("", "–", "never", "none")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Head and rows as a table in Markdown. A column in which every cell begins with a number, or is empty, is set flush right.

    Raises ValueError for a row of another length than the head.
    """
    cells = [[str(cell).strip() for cell in row] for row in rows]
    for row in cells:
        if len(row) != len(head):
            raise ValueError(f"a row of {len(row)} cells under a head of {len(head)}: {' | '.join(row)}")
    columns = list(zip(*cells, strict=True)) or [()] * len(head)
    rules = ["--:" if _numeric(column) else "---" for column in columns]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rules, *cells))


def _numeric(column: Sequence[str]) -> bool:
    numbers = [_NUMBER.match(cell) is not None for cell in column if cell not in _EMPTY]
    return bool(numbers) and all(numbers)
