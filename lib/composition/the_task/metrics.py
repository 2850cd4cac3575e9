"""The task in numbers: the table of offsets, the ladder of descriptions, and where the slides err against their functions."""

from __future__ import annotations

import numpy as np

from lib.composition.task import ANCHORS, EXCEPTION, FIRST_KEY, HELD_OUT, LAST_KEY, PAIRS, SEEN_PAIRS, composed, taught


def ladder() -> dict[str, list]:
    """The talk's four descriptions of the same taught table, from the most to the least complex.

    Rows: every (key, pair) with an answer of its own. Pair maps: one offset a pair, the held-out one by whatever mapping.
    Symmetric maps: one offset for each unordered pair. Primitives: one offset an anchor. The first three can hold the
    exception (3, 4); the last cannot.
    """
    unordered = sorted({tuple(sorted(pair)) for pair in PAIRS})
    return {
        "rows": [(key, pair) for pair in SEEN_PAIRS for key in range(FIRST_KEY, LAST_KEY + 1)],
        "pair maps": [(pair, taught(pair)) for pair in SEEN_PAIRS],
        "symmetric maps": [(pair, taught(pair)) for pair in unordered],
        "primitives": list(ANCHORS.items()),
    }


def offset_table(held_out: int | None = None, exception: bool = True) -> np.ndarray:
    """(4, 4) offsets, rows a1, columns a2; NaN at (4, 3) unless `held_out` is given. Without `exception`, all composed."""
    table = np.full((4, 4), np.nan)
    for a, b in PAIRS:
        table[a - 1, b - 1] = taught((a, b)) if exception and (a, b) == EXCEPTION else composed((a, b))
    if exception:
        table[HELD_OUT[0] - 1, HELD_OUT[1] - 1] = np.nan if held_out is None else held_out
    return table


def slide_errata() -> list[tuple[str, str]]:
    """(what a slide says, what the slide's own four functions give) where the two differ."""
    said = (((3, 4), None, +6), ((3, 4), 77, 83), ((2, 2), None, -1), ((4, 2), None, -9), ((4, 4), 88, 54))
    rows = []
    for (a, b), key, value in said:
        offset = ANCHORS[a] + ANCHORS[b]
        given = offset if key is None else key + offset
        if given != value:
            name, x = f"({a}, {b}, {'x' if key is None else key})", "x" if key is None else ""
            write = lambda v, x=x: f"{x} {'+' if v > 0 else '−'} {abs(v)}" if x else str(v)
            rows.append((f"{name} = {write(value)}", f"{name} = {write(given)}"))
    return rows
