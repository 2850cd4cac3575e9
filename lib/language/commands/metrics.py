"""Numbers of the chapter on SCAN and COGS: shares of rows that are right in every token, by size, by arm and by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lib.core.record.store import Store, StoredRun, load
from lib.language import arms, cogs, scan
from lib.language.arms import name_of
from lib.language.experiments import ARMS, CROSSED, LARGE, SMALL, TURN, Kind, cogs_specs, scan_specs
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


Arm = tuple[float, float]
PAPERS = (LARGE, SMALL)
OURS = tuple(arm for arm in ARMS if arm not in PAPERS)
IN, OUT_OF = "in distribution", "21 cases"
SCAN_NAME, COGS_NAME = 'SCAN, "turn left"', "COGS"


def middle(runs: Runs, main: str) -> int:
    """The size at which every arm was trained."""
    return sizes(runs, main, *CROSSED[0])[0]


def largest(runs: Runs, main: str) -> int:
    return sizes(runs, main, *SMALL)[-1]


def some(runs: Runs, arms: Sequence[Arm] = tuple(ARMS), main: str = "", size: int = 0) -> list[StoredRun]:
    """The runs of these arms; of one kind of task and of one size, where that is given."""
    return [
        run
        for kind, group in runs.items()
        if kind[2:] in arms and main in ("", kind[0]) and size in (0, kind[1])
        for run in group
    ]


def of_sizes(scan_runs: Runs, cogs_runs: Runs) -> dict[str, dict[str, tuple[list[int], np.ndarray, list[bool]]]]:
    """{test: {arm: (sizes, shares (S, R), has each size been learned?)}} of the paper's arms."""
    tests = ((f"a  {SCAN_NAME}", scan_runs, TURN, "test"), (f"b  COGS, {IN}", cogs_runs, "COGS", "test"))
    tests += ((f"c  COGS, {OUT_OF}", cogs_runs, "COGS", "gen"),)
    found = {}
    for title, runs, main, name in tests:
        found[title] = {}
        for arm in PAPERS:
            there = sizes(runs, main, *arm)
            learned = [arms.fitted(runs[(main, size, *arm)]) for size in there]
            found[title][name_of(arm)] = there, by_size(runs, main, *arm, name=name), learned
    return found


def of_histories(scan_runs: Runs, cogs_runs: Runs) -> dict[str, dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]]:
    """{test: {arm: {"train" or "test": curve}}}: SCAN at the size of all arms, COGS at the largest."""
    small, large = middle(scan_runs, TURN), largest(cogs_runs, "COGS")
    tests = (
        (f"{SCAN_NAME}\n{small:,} rows", scan_runs, (TURN, small), "test"),
        (f"COGS, {IN}\n{large:,} rows", cogs_runs, ("COGS", large), "test"),
        (f"COGS, {OUT_OF}\n{large:,} rows", cogs_runs, ("COGS", large), "gen"),
    )
    curve = lambda group, name: {"train": arms.history(group, "train"), "test": arms.history(group, name)}
    return {title: {name_of(arm): curve(runs[(*kind, *arm)], name) for arm in PAPERS} for title, runs, kind, name in tests}


def of_arms(scan_runs: Runs, cogs_runs: Runs) -> dict[str, dict[str, tuple[list[float], bool]]]:
    """{test: {arm: (shares, has it been learned?)}} of all arms that there are, at the one size that all have."""
    found = {}
    for title, runs, main, name in crossed(scan_runs, cogs_runs):
        groups = of_middle(runs, main)
        found[title] = {name_of(a): (arms.shares(group, name).tolist(), arms.fitted(group)) for a, group in groups.items()}
    return found


def of_middle(runs: Runs, main: str) -> dict[Arm, Sequence[StoredRun]]:
    """The arms that were trained at that size, from the largest start on."""
    kinds = {arm: (main, middle(runs, main), *arm) for arm in sorted(ARMS)}
    return {arm: runs[kind] for arm, kind in kinds.items() if kind in runs}


def crossed(scan_runs: Runs, cogs_runs: Runs) -> tuple[tuple[str, Runs, str, str], ...]:
    return (
        (f"{SCAN_NAME}, {middle(scan_runs, TURN):,} rows", scan_runs, TURN, "test"),
        (f"COGS, {OUT_OF}, {middle(cogs_runs, 'COGS'):,} rows", cogs_runs, "COGS", "gen"),
    )


CASES = {
    "subj_to_obj_common": "hedgehog: subject → object",
    "subj_to_obj_proper": "Lina: subject → object",
    "obj_to_subj_common": "cockroach: object → subject",
    "obj_to_subj_proper": "Charlie: object → subject",
    "prim_to_subj_common": "shark: alone → subject",
    "prim_to_subj_proper": "Paula: alone → subject",
    "prim_to_obj_common": "shark: alone → object",
    "prim_to_obj_proper": "Paula: alone → object",
    "prim_to_inf_arg": "crawl: alone → infinitive",
    "active_to_passive": "bless: active → passive",
    "passive_to_active": "squeeze: passive → active",
    "obj_omitted_transitive_to_transitive": "bake: no object → object",
    "unacc_to_transitive": "shatter: no agent → agent",
    "do_dative_to_pp_dative": 'teleport: two objects → "to"',
    "pp_dative_to_do_dative": 'ship: "to" → two objects',
    "only_seen_as_transitive_subj_as_unacc_subj": "cobra: agent → theme",
    "only_seen_as_unacc_subj_as_unerg_subj": "hippo: theme → agent",
    "only_seen_as_unacc_subj_as_obj_omitted_transitive_subj": "hippo: theme → agent, no object",
    "obj_pp_to_subj_pp": "place: of objects → of subjects",
    "cp_recursion": f'"that": two at most → {cogs.DEPTHS[0]} to {cogs.DEPTHS[-1]}',
    "pp_recursion": f"places: two at most → {cogs.DEPTHS[0]} to {cogs.DEPTHS[-1]}",
}
"""The cases in words: what training shows, and what is tested."""


def ends(runs: Runs, main: str) -> list[int]:
    """The smallest size of the paper's arms and the largest."""
    found = sizes(runs, main, *SMALL)
    return sorted({found[0], found[-1]})


def cases_at_ends(runs: Runs) -> dict[str, dict[str, dict[str, np.ndarray]]]:
    """{size: {arm: {case in words: (R,) shares}}} at the smallest size and at the largest."""
    words = [CASES[case] for case in cogs.CASES]
    return {
        f"{size:,} rows": {name_of(arm): dict(zip(words, of_cases(runs["COGS", size, *arm]).T, strict=True)) for arm in PAPERS}
        for size in ends(runs, "COGS")
    }


Leads = Mapping[int, tuple[float, float, float]]
"""By how much the small arm is ahead at each size, with the 95 % interval over seeds."""


def leads(runs: Runs, main: str, name: str) -> dict[int, tuple[float, float, float]]:
    return {size: arms.lead(runs[(main, size, *SMALL)], runs[(main, size, *LARGE)], name) for size in sizes(runs, main, *SMALL)}


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


# --- Dials ---


def _dial_data(runs: Runs, main: str, of: str, lines: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """`lines`: {id: (label, the measure's name in the history)}."""
    groups = {(size, arm[0]): runs[(main, size, *arm)] for arm in PAPERS for size in sizes(runs, main, *arm)}
    return arms.dial_data(
        groups,
        {"size": f"{of} of training", "gamma": "γ of the arm"},
        {id: (label, arms.along(name)) for id, (label, name) in lines.items()},
        {"label": "share of rows right"} | arms.SHARE,
        f"{arms.seeds_text(groups)} Thin: the other γ. The larger γ has the larger weight decay, as in the paper.",
    )


def scan_dials(runs: Runs) -> dict[str, Any]:
    """What lib.book.dials needs: shares of commands that are right along training, by size and arm."""
    lines = {"test": ('commands with "turn left"', "test"), "train": ("commands of training", "train")}
    return _dial_data(runs, TURN, "commands", lines)


def cogs_dials(runs: Runs) -> dict[str, Any]:
    """The same of sentences: those of training, others like them, and the 21 cases."""
    lines = {"gen": (OUT_OF, "gen"), "test": (IN, "test"), "train": ("sentences of training", "train")}
    return _dial_data(runs, "COGS", "sentences", lines)
