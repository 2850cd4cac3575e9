"""What the book's colours stand for in this study."""

from __future__ import annotations

from lib.core.read import style

SYMMETRIC, INFERENTIAL, NEITHER = style.BLUE, style.VERMILLION, style.GREY
KEY, FIRST_ANCHOR, SECOND_ANCHOR, NOISE = style.GREEN, style.PURPLE, style.ORANGE, style.LIGHT
SEEN = style.DARK
COLOUR = {"symmetric": SYMMETRIC, "inferential": INFERENTIAL, "neither": NEITHER, "test": SEEN}
LABEL = {
    "symmetric": "symmetric (key − 6)",
    "inferential": "inferential (key − 10)",
    "neither": "neither",
    "test": "seen pairs, test",
}
FILL = {name: style.FILL[colour] for name, colour in COLOUR.items() if name != "test"}
"""Shares of an answer, in its colour."""
