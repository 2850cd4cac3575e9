"""The task in numbers: the table of offsets, the ladder of descriptions, and where the slides err against their functions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lib.composition.diagram import two_layers
from lib.composition.phase_diagram.metrics import fast_runs
from lib.composition.phases import LEVEL
from lib.composition.runs import FITTED, MAJORITY, MAPPINGS, REGION, SHADOW, learned_among
from lib.composition.task import ANCHORS, FIRST_KEY, HELD_OUT, LAST_KEY, PAIRS, SEEN_PAIRS, Task, composed, taught
from lib.core.read.fact import Fact, in_words
from lib.core.read.measures import seeds
from lib.core.record.store import Store, StoredRun


def ladder() -> dict[str, list]:
    """The talk's four descriptions of the same taught table, from the most to the least complex.

    Rows: every (key, pair) with an answer of its own. Pair maps: one offset a pair, the held-out one by whatever mapping.
    Symmetric maps: one offset for each unordered pair. Primitives: one offset an anchor. The first three can hold the
    exception (3, 4); the last cannot.
    """
    unordered = sorted({(min(pair), max(pair)) for pair in PAIRS})
    return {
        "rows": [(key, pair) for pair in SEEN_PAIRS for key in range(FIRST_KEY, LAST_KEY + 1)],
        "pair maps": [(pair, taught(pair)) for pair in SEEN_PAIRS],
        "symmetric maps": [(pair, taught(pair)) for pair in unordered],
        "primitives": list(ANCHORS.items()),
    }


def offset_table(held_out: float = math.nan) -> np.ndarray:
    """(4, 4) offsets, rows a1, columns a2, as they are taught; `held_out` at (4, 3)."""
    return np.array([[held_out if (a, b) == HELD_OUT else float(taught((a, b))) for b in ANCHORS] for a in ANCHORS])


SLIDES = {
    (1, 1): "x=+10 58=68 51=61",
    (1, 2): "x=+6 21=27 30=36 47=53 31=37",
    (1, 3): "x=+3 14=17 18=21 27=30 35=38 16=19",
    (1, 4): "x=-3 32=29 26=23 13=10 6=3 67=64",
    (2, 1): "x=+6 15=21 24=30 41=47 29=35 50=56",
    (2, 2): "x=-1 x=+2 46=48 35=37",
    (2, 3): "22=21 17=16 28=27 12=11 50=49",
    (2, 4): "x=-9 16=9 17=10 30=23 38=31 33=24",
    (3, 1): "x=+3 9=12 13=16 16=19",
    (3, 2): "x=-1 22=21 17=16 60=59",
    (3, 3): "x=-4 36=32 29=25",
    (3, 4): "x=+6 10=0 19=9 34=24 41=31 77=83",
    (4, 1): "x=-3 32=29 26=23 99=96",
    (4, 2): "x=-9 13=6 14=7 48=39",
    (4, 3): "x=+6 18=8 27=17 90=96",
    (4, 4): "x=-16 88=54 46=30",
}
"""Every worked entry on the slides, once, by its pair: rules, as what is added to x, and examples, key and answer."""


def slide_entries() -> list[tuple[tuple[int, int], int | None, int]]:
    """(pair, key, answer) of each entry of SLIDES; of a rule the key is None and the answer what it adds."""
    split = [(pair, *entry.split("=")) for pair, entries in SLIDES.items() for entry in entries.split()]
    return [(pair, None if key == "x" else int(key), int(value)) for pair, key, value in split]


def slide_errata() -> list[tuple[str, str]]:
    """(what a slide says, what the slide's own four functions give) where the two differ."""
    rows = []
    for (a, b), key, value in slide_entries():
        offset = ANCHORS[a] + ANCHORS[b]
        given = offset if key is None else key + offset
        if given != value:
            name, x = f"({a}, {b}, {'x' if key is None else key})", "x" if key is None else ""
            write = lambda v, x=x: f"{x} {'+' if v > 0 else '−'} {abs(v)}" if x else str(v)
            rows.append((f"{name} = {write(value)}", f"{name} = {write(given)}"))
    return rows


def known_runs(store: Store, profile: str) -> list[StoredRun]:
    """The runs of chapter 2's fast diagram that answer 99 % of the seen pairs right at held-out places."""
    return [run for run in fast_runs(store, profile) if run.metrics["test"] >= FITTED]


def counted(store: Store, profile: str) -> tuple[list[StoredRun], list[StoredRun]]:
    """The runs of chapter 2 that chapter 1 counts, which it does not train: those of `known_runs`, and the full-length ones of
    two layers. None where they are not stored."""
    found: list[list[StoredRun]] = []
    for runs_of in (known_runs, two_layers):
        try:
            found.append(runs_of(store, profile))
        except LookupError:
            found.append([])
    known, full = found
    return known, full


def pure(runs: Sequence[StoredRun], level: float = REGION) -> dict[str, int]:
    """{mapping: how many runs follow it in this share of their answers to the held-out pair}."""
    return {m: sum(run.metrics[m] >= level for run in runs) for m in MAPPINGS}


def by_depth(runs: Sequence[StoredRun]) -> dict[int, list[StoredRun]]:
    """{layers: the runs that have as many}, ascending."""
    return {
        depth: [run for run in runs if run.spec.model.depth == depth] for depth in sorted({r.spec.model.depth for r in runs})
    }


def reach(runs: Sequence[StoredRun]) -> tuple[int, int]:
    """In how many runs, of how many, 90 % of the seen pairs are right at held-out places."""
    return sum(run.metrics["test"] >= SHADOW for run in runs), len(runs)


def facts(known: Sequence[StoredRun], full: Sequence[StoredRun] = ()) -> dict[str, Fact]:
    """What the text of chapter 1 says: of the task object, of runs that know the seen pairs, and of full-length ones."""
    counted = "counted from the task"
    rungs = {name: len(items) for name, items in ladder().items()}
    held_out = {modulus: float((~Task(modulus=modulus).trains).float().mean()) for modulus in (7, 9)}
    mixed = sum(max(run.metrics[m] for m in MAPPINGS) <= MAJORITY for run in known)
    runs = f"runs of chapter 2's fast diagram with {FITTED:.0%} of the seen pairs right at held-out places"
    clear, of_two = pure(known, LEVEL), pure(by_depth(known).get(2, []), LEVEL)
    found = {
        "pairs": Fact(len(PAIRS), "{}", counted),
        "composed": Fact(sum(taught(pair) == composed(pair) for pair in SEEN_PAIRS), "{}", f"taught as composed, {counted}"),
        "rows": Fact(rungs["rows"], "{:,}", f"keys times seen pairs, {counted}"),
        "maps": Fact(rungs["pair maps"], "{}", f"seen pairs, {counted}"),
        "mirrored": Fact(in_words(rungs["symmetric maps"]), "{}", f"unordered pairs, {counted}"),
        "primitives": Fact(in_words(rungs["primitives"]), "{}", f"anchors, {counted}"),
        "held-out": Fact(held_out[7], "{:.0%}", f"of the combinations of key and place, {counted}"),
        "held-out-code": Fact(held_out[9], "{:.0%}", "the same by the authors' code"),
        "known": Fact(len(known), "{}", runs),
        "clear": Fact(sum(pure(known, LEVEL).values()), "{}", f"of these, runs with {LEVEL:.0%} of one answer"),
        "clearest": Fact(sum(pure(known).values()), "{}", f"of these, runs with {REGION:.0%} of one answer"),
        "known-seeds": Fact(in_words(seeds(known)), "{}", f"seeds of the {runs}"),
        "errata": Fact(in_words(len(slide_errata())), "{}", "distinct entries of the slides that the four functions refute"),
        "entries": Fact(len(slide_entries()), "{}", "distinct entries of the slides, rules and examples"),
        "full-learned": Fact(reach(learned_among(full)), "{} of {}", "full-length runs with 99 % of their training rows"),
        "full-all": Fact(reach(full), "{} of {}", "all full-length runs"),
        "mixed": Fact(mixed, "{}", "of these, runs with no more than half of either answer"),
    }
    for m in MAPPINGS:
        told = f"of the {runs}, with {LEVEL:.0%} of {'key − 6' if m == 'symmetric' else 'key − 10'}"
        found[f"clear-{m}"] = Fact(clear[m], "{}", told)
        found[f"clear-{m}-two"] = Fact(in_words(of_two[m]), "{}", f"of two layers, {told}")
    return found
