"""Numbers of the chapter on SCAN and COGS: shares of rows that are right in every token, by size, by arm and by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.record.store import Store, StoredRun, load
from lib.language import arms, cogs, scan
from lib.language.experiments import Kind, cogs_specs, scan_specs
from lib.language.study import asked_for, cogs_data, make_cogs, make_scan
from lib.language.text import OUT, Rows, Vocabulary

Runs = Mapping[Kind, Sequence[StoredRun]]


def of_scan(store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """Raises LookupError where some are missing."""
    return {kind: load(specs, store) for kind, specs in scan_specs(profile).items()}


def of_cogs(store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """Raises LookupError where some are missing."""
    return {kind: load(specs, store) for kind, specs in cogs_specs(profile).items()}


def sizes(runs: Runs, main: str, *arm: float) -> list[int]:
    """Sizes of training sets that an arm has, in order."""
    return sorted(size for kind, size, *other in runs if kind == main and tuple(other) == arm)


def by_size(runs: Runs, main: str, *arm: float, name: str = "test") -> np.ndarray:
    """(S, R): shares of an arm at the end, a row a size."""
    return np.array([arms.shares(runs[(main, size, *arm)], name) for size in sizes(runs, main, *arm)])


def of_cases(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R, 21): the share of each case of COGS, in the order of cogs.CASES."""
    return np.array([run.metrics["gen cases"] for run in runs], dtype=float)


_STRUCTURAL = np.isin(cogs.CASES, cogs.STRUCTURAL)


def lexical(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R,): the mean share of the 18 lexical cases."""
    return of_cases(runs)[:, ~_STRUCTURAL].mean(1)


def structural(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R,): the mean share of the three structural cases."""
    return of_cases(runs)[:, _STRUCTURAL].mean(1)


Example = tuple[str, str, str, bool]
"""Source, what it means, what the model answers, and whether that is right."""


def _examples(run: StoredRun, name: str, rows: Rows, which: Sequence[int], words: Vocabulary) -> list[Example]:
    """`which` are the rows whose answers are kept. An answer is read up to the end of the true one: one teacher-forced pass."""
    kept = run.snapshots()[run.steps]
    target = asked_for(rows)[1]
    found = []
    for answer, i in zip(kept[f"{name} answers"].long(), which, strict=True):
        asked = target[i] >= 0
        source = words.decode(rows.tokens[i, : int(rows.start[i])])
        text = lambda tokens: " ".join(words.decode(tokens))
        true, said = target[i][asked][:-1], answer[asked][:-1]
        found.append((" ".join(w for w in source if w != OUT), text(true), text(said), bool(kept[f"{name} right"][i])))
    return found


def scan_examples(run: StoredRun) -> list[Example]:
    """Some commands of the test."""
    study = make_scan(run.spec)
    return _examples(run, "test", study.asked["test"], study.shown("test").tolist(), scan.VOCABULARY)


def cogs_examples(run: StoredRun) -> dict[str, list[Example]]:
    """{case: some of its rows}."""
    task = dict(run.spec.task)
    words = cogs_data(*(task[name] for name in ("train", "test", "case", "nouns", "verbs")))[1]
    study = make_cogs(run.spec)
    which = study.shown("gen").tolist()
    found: dict[str, list[Example]] = {}
    for i, example in zip(which, _examples(run, "gen", study.asked["gen"], which, words), strict=True):
        found.setdefault(cogs.CASES[int(study.groups["gen"][i])], []).append(example)
    return found
