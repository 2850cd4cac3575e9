"""Which way an answer goes, by what a model's last token needs in the last layer."""

from __future__ import annotations

EFFECT = 0.3
"""A run needs an edge if cutting it changes at least this share of the answers (our choice)."""
PAIR_FIRST, KEY_FIRST, BOTH, NEITHER = WAYS = ("pair first", "key first", "both", "neither")


def way_of(key: bool, function: bool) -> str:
    """One of WAYS: the last token needs the key, when it has gathered the functions; or the token of a function, when that has
    applied it to the key."""
    if key:
        return BOTH if function else PAIR_FIRST
    return KEY_FIRST if function else NEITHER
