"""Our words for COGS, of `cogs_words.toml`: nouns, names, places and verbs, and the forms of the verbs."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lib.language.text import LanguageError

_LISTS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def past(verb: str) -> str:
    """The past tense of a lemma of ours: past("draw") is "drew"."""
    return _forms(verb)[0]


def participle(verb: str) -> str:
    """The past participle of a lemma of ours: participle("draw") is "drawn"."""
    return _forms(verb)[-1]


def _forms(verb: str) -> list[str]:
    if verb in _LISTS["irregular"]:
        return _LISTS["irregular"][verb].split()
    if verb in _LISTS["doubled"].split():
        return [f"{verb}{verb[-1]}ed"]
    if verb.endswith("e"):
        return [f"{verb}d"]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return [f"{verb[:-1]}ied"]
    return [f"{verb}ed"]


class Words(NamedTuple):
    """The words of a grammar, each list by frequency. `places` is by preposition, `verbs` (lemmas) by class."""

    animate: tuple[str, ...]
    inanimate: tuple[str, ...]
    names: tuple[str, ...]
    places: dict[str, tuple[str, ...]]
    verbs: dict[str, tuple[str, ...]]


NOUNS, VERBS = 100, 20
"""How many nouns (names, places of one preposition) and how many verbs of one class there are; the release has as many."""


def _alternate(first: Sequence[str], second: Sequence[str], n: int) -> tuple[str, ...]:
    return tuple(word for pair in zip(first, second, strict=False) for word in pair)[:n]


def substitute(nouns: int = NOUNS, verbs: int = VERBS) -> Words:
    """The first `nouns` of each list of nouns, names and places, and the first `verbs` of each class of verbs.

    Raises LanguageError where a list is shorter than what is asked for, or nothing is."""
    for what, n, limit in (("nouns", nouns, NOUNS), ("verbs", verbs, VERBS)):
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= limit:
            raise LanguageError(f"{what} must be a whole number from 1 to {limit}, the words that there are, not {n!r}.")
    animate, inanimate, names, on, within = (_LISTS[name].split() for name in ("animate", "inanimate", "names", "on", "in"))
    verb = {kind: text.split() for kind, text in _LISTS["verbs"].items()}
    return Words(
        tuple(animate[:nouns]),
        tuple(inanimate[:nouns]),
        tuple(names[:nouns]),
        {"on": tuple(on[:nouns]), "in": tuple(within[:nouns]), "beside": _alternate(on, within, nouns)},
        {kind: tuple(lemmas[:verbs]) for kind, lemmas in verb.items()}
        | {"infinitive": _alternate(verb["unergative"], verb["omitting"], verbs)},
    )
