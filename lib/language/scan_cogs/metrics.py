"""Numbers of the chapter on SCAN and COGS: shares of rows that are right in every token, by size, by arm and by case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch

from lib.core.model.transformer import IGNORED, n_parameters
from lib.core.read.fact import Fact, in_words, span
from lib.core.read.measures import history
from lib.core.read.statistics import flips_either_way, mean_interval
from lib.core.record.store import Store, StoredRun, load
from lib.language import arms, cogs, scan
from lib.language.arms import Example, Runs, largest, middle, name_of, sizes
from lib.language.experiments import (
    ARMS,
    AS_SCRIPT,
    COGS_MUCH,
    COGS_TENTH,
    CROSSED,
    JUMP,
    LARGE,
    LARGER,
    MUCH,
    SMALL,
    TENTH,
    TURN,
    Kind,
    cogs_decay_specs,
    cogs_specs,
    doubled_specs,
    longer_cogs_specs,
    new_scan_specs,
    scan_decay_specs,
    scan_script_specs,
    scan_specs,
)
from lib.language.study import asked_for, cogs_of, make_cogs, make_scan
from lib.language.text import END, OUT, Rows, Vocabulary


def of_scan(store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """Raises LookupError where some are missing."""
    return {kind: load(specs, store) for kind, specs in scan_specs(profile).items()}


def of_new_scan(store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """The paper's arms on seeds that were not seen before. Raises LookupError where some are missing."""
    return {kind: load(specs, store) for kind, specs in new_scan_specs(profile).items()}


def of_decays(store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """Either start of the paper's arms with little decay and with as much as in the papers. Raises LookupError where some are
    missing."""
    return {kind: load(specs, store) for kind, specs in scan_decay_specs(profile).items()}


def of_script(store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """The paper's arms, drawn as by the follow-up's code. Raises LookupError where some are missing."""
    return {kind: load(specs, store) for kind, specs in scan_script_specs(profile).items()}


def of_cogs(store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """Raises LookupError where some are missing."""
    return {kind: load(specs, store) for kind, specs in cogs_specs(profile).items()}


def of_cogs_decays(store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """Either start of the paper's arms with as much decay as in the papers. Raises LookupError where some are missing."""
    return {kind: load(specs, store) for kind, specs in cogs_decay_specs(profile).items()}


def of_longer_cogs(store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """The paper's arms on the most rows for as many passes as over the fewest. Raises LookupError where some are missing."""
    return {kind: load(specs, store) for kind, specs in longer_cogs_specs(profile).items()}


def of_doubled(main: str, store: Store, profile: str) -> dict[Kind, list[StoredRun]]:
    """The paper's arms in a model of twice the depth and width. Raises LookupError where some are missing."""
    return {kind: load(specs, store) for kind, specs in doubled_specs(main, profile).items()}


def of_both_doubled(store: Store, profile: str) -> dict[str, dict[Kind, list[StoredRun]]]:
    """{split: the same}, of those whose runs are all stored."""
    found = {}
    for main in (TURN, "COGS"):
        with suppress(LookupError):
            found[main] = of_doubled(main, store, profile)
    return found


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
FOUR = (*PAPERS, *CROSSED)
OURS = tuple(arm for arm in ARMS if arm not in PAPERS)
IN, OUT_OF = "in distribution", "21 cases"
SCAN_NAME = "SCAN, “turn left”"


def some(runs: Runs, arms: Sequence[Arm] = tuple(ARMS), main: str = "", size: int = 0) -> list[StoredRun]:
    """The runs of these arms; of one kind of task and of one size, where that is given."""
    return [
        run
        for kind, group in runs.items()
        if kind[2:] in arms and main in ("", kind[0]) and size in (0, kind[1])
        for run in group
    ]


def of_sizes(scan_runs: Runs, cogs_runs: Runs) -> dict[str, dict[str, tuple[list[int], np.ndarray, np.ndarray]]]:
    """{test: {arm: (sizes, shares (S, R), has a run learned? (S, R))}} of the paper's arms."""
    tests = ((f"a  {SCAN_NAME}", scan_runs, TURN, "test"), (f"b  COGS, {IN}", cogs_runs, "COGS", "test"))
    tests += ((f"c  COGS, {OUT_OF}", cogs_runs, "COGS", "gen"),)
    found = lambda runs, main, arm, name: (
        sizes(runs, main, *arm),
        arms.by_size(runs, main, arm, lambda group: arms.shares(group, name)),
        arms.by_size(runs, main, arm, arms.fitted),
    )
    return {title: {name_of(arm): found(runs, main, arm, name) for arm in PAPERS} for title, runs, main, name in tests}


def of_scorings(new: Runs) -> dict[str, dict[str, tuple[list[int], np.ndarray, np.ndarray]]]:
    """{scoring: {arm: (sizes, shares (S, R), has a run learned? (S, R))}} of the paper's arms on new seeds of SCAN."""
    found = lambda arm, measure: (
        sizes(new, TURN, *arm),
        arms.by_size(new, TURN, arm, measure),
        arms.by_size(new, TURN, arm, arms.fitted),
    )
    scorings = (("a  an answer has to stop", arms.shares), ("b  it may go on", going_on))
    return {title: {name_of(arm): found(arm, measure) for arm in PAPERS} for title, measure in scorings}


_IN_MODELS = {TURN: ("scan", f"a  {SCAN_NAME}", "test"), "COGS": ("cogs", f"b  COGS, {OUT_OF}", "gen")}
"""{split: (its name in facts, the title of its panel, what is measured)}"""


def beside_doubled(smaller: Mapping[str, Runs], doubled: Mapping[str, Runs]) -> dict[str, dict[Arm, list[list[StoredRun]]]]:
    """{split: {arm: [runs of the model, runs of the doubled one, on the same seeds]}} of the paper's arms, where there are any.
    Both are given as {split: runs}."""
    found = {}
    for main, runs in doubled.items():
        at = lambda arm, main=main, size=min((kind[1] for kind in runs), default=0): (main, size, *arm)
        if runs:
            found[main] = {arm: [list(smaller[main][at(arm)]), list(runs[at(arm)])] for arm in PAPERS}
    return found


def in_models(smaller: Mapping[str, Runs], doubled: Mapping[str, Runs]) -> list[StoredRun]:
    """All runs of `beside_doubled`."""
    pairs = beside_doubled(smaller, doubled)
    return [run for found in pairs.values() for pair in found.values() for group in pair for run in group]


def of_models(smaller: Mapping[str, Runs], doubled: Mapping[str, Runs]) -> dict[str, dict[str, tuple[list[int], Any, Any]]]:
    """{test: {arm: (weights of either model, shares (2, R), has a run learned? (2, R))}}."""
    made = lambda pair, name: (
        [n_parameters(group[0].spec.model) for group in pair],
        np.array([arms.shares(group, name) for group in pair]),
        np.array([arms.fitted(group) for group in pair]),
    )
    panels = {}
    for main, found in beside_doubled(smaller, doubled).items():
        _, title, measure = _IN_MODELS[main]
        panels[title] = {name_of(arm): made(pair, measure) for arm, pair in found.items()}
    return panels


def of_histories(scan_runs: Runs, cogs_runs: Runs) -> dict[str, dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]]:
    """{test: {arm: {"train" or "test": curve}}}: SCAN at the size of all arms, COGS at the largest."""
    small, large = middle(scan_runs, TURN), largest(cogs_runs, "COGS")
    tests = (
        (f"{SCAN_NAME}\n{small:,} rows", scan_runs, (TURN, small), "test"),
        (f"COGS, {IN}\n{large:,} rows", cogs_runs, ("COGS", large), "test"),
        (f"COGS, {OUT_OF}\n{large:,} rows", cogs_runs, ("COGS", large), "gen"),
    )
    curve = lambda group, name: {"train": history(group, "train"), "test": history(group, name)}
    return {title: {name_of(arm): curve(runs[(*kind, *arm)], name) for arm in PAPERS} for title, runs, kind, name in tests}


def of_arms(scan_runs: Runs, cogs_runs: Runs) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """{test: {arm: (shares (R,), has a run learned? (R,))}} of all arms that there are, at the one size that all have."""
    found = {}
    for title, runs, main, name in crossed(scan_runs, cogs_runs):
        groups = of_middle(runs, main)
        found[title] = {name_of(a): (arms.shares(group, name), arms.fitted(group)) for a, group in groups.items()}
    return found


def of_starts(decays: Runs, drawn: Runs, cogs: Runs) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """{arm: (shares (R,), has a run learned? (R,))}: starts and decays crossed on SCAN, the largest start first; the paper's
    arms from the follow-up's start (`drawn`); then crossed on COGS's 21 cases."""
    found = {}
    for where, runs, name in (
        ("SCAN, ", decays, "test"),
        ("SCAN, follow-up’s start,\n", drawn, "test"),
        ("COGS, ", cogs, "gen"),
    ):
        for kind, group in sorted(runs.items(), key=lambda of: of[0][2:]):
            found[f"{where}{name_of(kind)}"] = arms.shares(group, name), arms.fitted(group)
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


def passes(runs: Sequence[StoredRun], size: int) -> float:
    """How often each of so many rows of training is seen."""
    train = runs[0].spec.train
    return train.batch * train.steps / size


def cases_at_ends(runs: Runs, longer: Runs) -> dict[str, dict[str, dict[str, np.ndarray]]]:
    """{size and passes: {arm: {case in words: (R,) shares}}} at the smallest size and the largest, and of `longer` runs."""
    words = [CASES[case] for case in cogs.CASES]
    found = {}
    for some in (runs, longer) if longer else (runs,):
        for size in ends(some, "COGS"):
            groups = {name_of(arm): some["COGS", size, *arm] for arm in PAPERS}
            title = f"{size:,} rows × {passes(groups[name_of(SMALL)], size):.2g}"
            found[title] = {name: dict(zip(words, of_cases(group).T, strict=True)) for name, group in groups.items()}
    return found


def leads(runs: Runs, main: str, name: str) -> dict[int, tuple[float, float, float]]:
    """By how much the small arm is ahead at each size, with the 95 % interval over seeds."""
    return {size: arms.lead(runs[(main, size, *SMALL)], runs[(main, size, *LARGE)], name) for size in sizes(runs, main, *SMALL)}


def going_on(runs: Sequence[StoredRun], of: np.ndarray | slice = slice(None)) -> np.ndarray:
    """(R,): the share of the whole test that is right where an answer may go on behind its true one, as the follow-up's script
    scores it, of runs that have counted so; or of the commands `of` (n,) alone."""
    return np.array([float(run.snapshots()[run.steps]["test right but for the end"].flatten()[of].mean()) for run in runs])


def ahead_by_seed(
    runs: Runs, main: str, measure: Callable[[Sequence[StoredRun]], np.ndarray]
) -> dict[int, tuple[float, float, float]]:
    """{size: is a measure of the small arm above the large arm's of the same seed? Exact p of the differences' signs, p of the
    opposite, and the least p that so many seeds allow}. Both arms have the same seeds, in the same order."""
    more = lambda size: measure(runs[(main, size, *SMALL)]) - measure(runs[(main, size, *LARGE)])
    return {size: flips_either_way(more(size)) for size in sizes(runs, main, *SMALL)}


def _examples(run: StoredRun, name: str, rows: Rows, which: Sequence[int], words: Vocabulary) -> list[Example]:
    """`which` are the rows whose answers are kept. An answer is read up to the end of the true one: one teacher-forced pass."""
    kept = run.snapshots()[run.steps]
    target = asked_for(rows)[1]
    found = []
    for answer, i in zip(kept[f"{name} answers"].long(), which, strict=True):
        asked = target[i] >= 0
        source = words.decode(rows.tokens[i, : int(rows.start[i])].tolist())
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
    study, words = make_cogs(run.spec), cogs_of(run.spec)[1]
    which = study.shown("gen").tolist()
    found: dict[str, list[Example]] = {}
    for i, example in zip(which, _examples(run, "gen", study.asked["gen"], which, words), strict=True):
        found.setdefault(cogs.CASES[int(study.groups["gen"][i])], []).append(example)
    return found


# --- Facts ---


def tested(run: StoredRun) -> list[str]:
    """The commands of the test of SCAN."""
    rows = make_scan(run.spec).asked["test"]
    return [" ".join(scan.VOCABULARY.decode(rows.tokens[i, : int(rows.start[i]) - 1].tolist())) for i in range(len(rows))]


PRIMITIVE = "turn left"


def ends_with_it(command: str) -> bool:
    """Is "turn left" what the actions of this command end with, so that going on is no error where the end is not asked for?"""
    done_first, after, _ = command.partition(" after ")
    return (done_first if after else command.rpartition("and ")[2]).startswith(PRIMITIVE)


def uncomposed(commands: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """(N,) and (N,) bool: which commands with "turn left" are right, with the end of an answer and without it, for a reader
    that composes nothing: it gives the actions of "turn around left", which training has in every place."""
    true = [scan.meaning(command) for command in commands]
    said = [scan.meaning(command.replace(PRIMITIVE, "turn around left")) for command in commands]
    pairs = list(zip(said, true, strict=True))
    return np.array([a == b for a, b in pairs]), np.array([a[: len(b)] == b for a, b in pairs])


def others(split: str, size: int | None = None) -> list[str]:
    """The commands of a training set (of all rows, where no size is given) but for the primitive alone."""
    chosen = scan.split(split)
    chosen = chosen if size is None else chosen.sample(size)
    return [" ".join(scan.commands()[i][0]) for i in chosen.train.tolist() if i != chosen.primitive]


def holding(commands: Sequence[str], *phrases: str) -> float:
    """The share of commands that hold one of these phrases, whole words side by side."""
    return float(np.mean([any(f" {phrase} " in f" {command} " for phrase in phrases) for command in commands]))


def twins(commands: Sequence[str], size: int | None = None) -> float:
    """The share of commands with "turn left" whose twin with "turn right" is in the training set."""
    known = set(others(TURN, size))
    return float(np.mean([command.replace(PRIMITIVE, "turn right") in known for command in commands]))


def elsewhere(split: str, action: str) -> float:
    """The share of rows of training whose actions hold this one, of those that are not the primitive alone."""
    chosen = scan.split(split)
    rows = scan.rows()[chosen.train[chosen.train != chosen.primitive]]
    return float(((rows.tokens == scan.VOCABULARY.encode([action])[0]) & rows.targets()).any(1).float().mean())


def parts(runs: Runs, main: str, name: str) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """What the smaller start does, and what the larger decay does, each averaged over the other, with intervals over the seeds
    that all four arms have, paired."""
    (g0, d0), (g1, d1) = LARGE, SMALL
    groups = of_middle(runs, main)
    of = {arm: dict(zip(arms.seeds_of(groups[arm]), arms.shares(groups[arm], name), strict=True)) for arm in FOUR}
    common = sorted(set.intersection(*map(set, of.values())))
    share = {arm: np.array([found[seed] for seed in common]) for arm, found in of.items()}
    half = lambda a, b: (share[a] + share[b]) / 2
    start = arms.interval(half((g1, d0), (g1, d1)) - half((g0, d0), (g0, d1)))
    return start, arms.interval(half((g0, d1), (g1, d1)) - half((g0, d0), (g1, d0)))


def starts_alone(runs: Runs, main: str, name: str) -> tuple[tuple[float, float, float], ...]:
    """What the smaller start does at the large arm's decay alone, and at the small arm's, with intervals over seeds, paired."""
    groups = of_middle(runs, main)
    return tuple(arms.lead(groups[SMALL[0], decay], groups[LARGE[0], decay], name) for decay in (LARGE[1], SMALL[1]))


Misses = tuple[int, int, int]
"""Of some answers: how many there are, how many are right, and how many are wrong at one word and nowhere else."""


def word_misses(group: Sequence[StoredRun]) -> Misses:
    """Of the kept answers of runs to the lexical cases, a few rows of each: the word is the one whose new role the case tests,
    wherever the form has it. All else is read behind the true word (one teacher-forced pass), so a miss does not spread."""
    study, words = make_cogs(group[0].spec), cogs_of(group[0].spec)[1]
    which = study.shown("gen")
    case = study.groups["gen"][which]
    lexical = case < len(cogs.LEXICAL)
    target = asked_for(study.asked["gen"])[1][which[lexical]]
    place = {word: i for i, word in enumerate(words.words)}
    due = torch.tensor([place.get(use.word, -1) for use in cogs.LEXICAL.values()])[case[lexical]]
    answers = torch.stack([run.snapshots()[run.steps]["gen answers"].long()[lexical] for run in group])
    wrong = (answers != target) & (target != IGNORED)
    around = (wrong & (target != due[:, None])).any(-1)
    return around.numel(), int((~wrong.any(-1)).sum()), int((wrong.any(-1) & ~around).sum())


ONCE = tuple(dict.fromkeys(use.word for use in cogs.LEXICAL.values()))
"""The words of the lexical cases: training shows each in one row."""


def once_asked(run: StoredRun) -> int:
    """How many of these words are in the sample of rows of training by which a run of COGS is said to have learned."""
    words = cogs_of(run.spec)[1]
    return len(set(ONCE) & set(words.decode(make_cogs(run.spec).sample.tokens.unique().tolist())))


MOST_NESTED = tuple(case for case, use in cogs.LEXICAL.items() if use.word in ("cobra", "hippo"))
"""The lexical cases of which only few sentences can be made without a "… that" around them (lib/language/cogs.py)."""


def is_nested(run: StoredRun) -> np.ndarray:
    """(N,) bool: which rows of the 21 cases are inside a "… that"; the run is of COGS."""
    return np.array([" that " in row.sentence for row in cogs_of(run.spec)[0].gen])


def nested_share(run: StoredRun) -> dict[str, float]:
    """{lexical case: the share of its rows that are inside a "… that"}; the run is of COGS."""
    nested, case = is_nested(run), np.array([row.case for row in cogs_of(run.spec)[0].gen])
    return {name: float(nested[case == name].mean()) for name in cogs.LEXICAL}


def by_nesting(group: Sequence[StoredRun], cases: Sequence[str]) -> tuple[list[float], list[float]]:
    """The shares of rows right of each run in each of these cases: of rows without a "… that" around them, and of rows within
    one. A case that has no such rows has no share."""
    nested, case = is_nested(group[0]), np.array([row.case for row in cogs_of(group[0].spec)[0].gen])
    right = [run.snapshots()[run.steps]["gen right"].flatten().numpy() for run in group]
    of = lambda rows: [float(r[rows & (case == name)].mean()) for r in right for name in cases if (rows & (case == name)).any()]
    return of(~nested), of(nested)


def unreachable(run: StoredRun) -> float:
    """The share of rows of the recursive cases that ask for a token which no target of training has, so that nobody could learn
    it; `run` is one of COGS."""
    data = cogs_of(run.spec)[0]
    known = {word for row in data.train for word in cogs.tokens(row)[1]}
    deep = [row for row in data.gen if row.case in ("cp_recursion", "pp_recursion")]
    return float(np.mean([bool(set(cogs.tokens(row)[1]) - known) for row in deep]))


_PAIRED = "points, 95 % interval over seeds, paired"


def _points(apart: np.ndarray | None, rests: str) -> Fact:
    """The mean of differences by seed (S,) and its 95 % interval, in points."""
    value = None if apart is None else tuple(100 * v for v in mean_interval(apart))
    return Fact(value, "{:+.0f} ({:+.0f} to {:+.0f})", f"{rests}, {_PAIRED}")


def facts(scan_runs: Runs, cogs_runs: Runs, longer: Runs | None = None) -> dict[str, Fact]:
    """What the text of chapter 20 says of both data sets, arm by arm, and of `longer` runs on COGS."""
    longer = longer or {}
    low, high = ends(cogs_runs, "COGS")[0], largest(cogs_runs, "COGS")
    found = {
        "turn-elsewhere": Fact(elsewhere(TURN, "LTURN"), "{:.0%}", "other rows of training with the action of “turn left”"),
        "jump-elsewhere": Fact(elsewhere(JUMP, "JUMP"), "{:.0%}", "other rows of training with the action of “jump”"),
        "unreachable": Fact(
            unreachable(cogs_runs["COGS", high, *SMALL][0]), "{:.0%}", "rows of the recursive cases with a token never trained"
        ),
    }
    there = sizes(scan_runs, TURN, *SMALL)
    named = {"low": there[0], "middle": middle(scan_runs, TURN), "high": there[-1]}
    points = lambda interval, rests: Fact(tuple(100 * v for v in interval), "{:+.0f} ({:+.0f} to {:+.0f})", rests)
    ahead = leads(scan_runs, TURN, "test")
    for at, size in named.items():
        found[f"turn-lead-{at}"] = points(ahead[size], f"lead of the small arm on “turn left”, {size:,} rows, {_PAIRED}")
    ahead = leads(cogs_runs, "COGS", "gen")
    for at, size in (("few", low), ("many", high)):
        found[f"cogs-lead-{at}"] = points(ahead[size], f"lead of the small arm on the 21 cases, {size:,} rows, {_PAIRED}")
    for arm, name in ((LARGE, "large"), (SMALL, "small")):
        for at, size in named.items():
            rests = f"of “turn left” right, {size:,} rows, mean over seeds, {name_of(arm)}"
            share = float(arms.shares(scan_runs[TURN, size, *arm]).mean())
            found[f"turn-{name}-{at}"] = Fact(share, "{:.0%}", rests)
        jump = float(arms.shares(scan_runs[JUMP, middle(scan_runs, TURN), *arm]).mean())
        found[f"jump-{name}"] = Fact(jump, "{:.0%}", f"of “jump” right, mean over seeds, {name_of(arm)}")
        for size, where in ((low, "few"), (high, "many")):
            group = cogs_runs["COGS", size, *arm]
            rests = f"mean over seeds, {size:,} rows, {name_of(arm)}"
            found[f"cogs-{name}-{where}"] = Fact(float(arms.shares(group, "gen").mean()), "{:.0%}", f"of the 21 cases, {rests}")
            if size == high:
                found[f"in-{name}"] = Fact(float(arms.shares(group).mean()), "{:.1%}", f"in distribution, {rests}")
    for what, runs, main, measure in (("scan", scan_runs, TURN, "test"), ("cogs", cogs_runs, "COGS", "gen")):
        for name, part in zip(("start", "decay"), parts(runs, main, measure), strict=True):
            change = "smaller start" if name == "start" else "larger decay"
            found[f"{what}-{name}"] = points(part, f"by the {change}, averaged over the other, {what.upper()}; {_PAIRED}")
    group = scan_runs.get((TURN, middle(scan_runs, TURN), *LARGER))
    share = float(arms.shares(group).mean()) if group else None
    found["turn-larger"] = Fact(share, "{:.0%}", f"of “turn left” right, mean over seeds, {name_of(LARGER)}")
    found["decay-product"] = arms.decay_product(scan_runs[TURN, middle(scan_runs, TURN), *SMALL][0])
    for name, part in zip(("large", "small"), starts_alone(cogs_runs, "COGS", "gen"), strict=True):
        found[f"cogs-start-{name}"] = points(part, f"by the smaller start at the {name} arm's decay alone, COGS; {_PAIRED}")
    structural_best = max(float(structural(g).mean()) for k, g in [*cogs_runs.items(), *longer.items()] if k[2:] in PAPERS)
    found["structural"] = Fact(
        structural_best, "{:.1%}", "of the structural cases, best mean of an arm and a size, longer runs too"
    )
    for size, where in ((low, "few"), (high, "many")):
        found[f"seen-{where}"] = Fact(passes(cogs_runs["COGS", size, *SMALL], size), "{:.0f}", f"passes over {size:,} rows")
    return found | _of_commands(scan_runs) | _of_words(cogs_runs) | facts_on_longer(longer)


def facts_on_new(runs: Runs) -> dict[str, Fact]:
    """Of the new seeds of SCAN: shares of the whole test by either scoring, and how surely the small arm is ahead."""
    there = sizes(runs, TURN, *SMALL) if runs else []
    named = {"low": there[0], "middle": there[len(there) // 2], "high": there[-1]} if there else {}
    found = {}
    apart = np.array([])
    if runs:
        asked = ~uncomposed(tested(runs[TURN, there[0], *SMALL][0]))[1]
        apart = np.concatenate([np.subtract(*(going_on(runs[TURN, n, *a], asked) for a in (SMALL, LARGE))) for n in there])
    rests = "pairs of seed and size with the small arm ahead on commands that who composes nothing has wrong either way"
    found["rest-ahead"] = Fact((int((apart > 0).sum()), len(apart)) if runs else None, "{} of {}", rests)
    for scoring, measure, rests in (("new", arms.shares, "as scored here"), ("open", going_on, "an answer may go on")):
        p = max((p for p, *_ in ahead_by_seed(runs, TURN, measure).values()), default=None) if runs else None
        about = f"small arm ahead by seed, {rests}, exact one-sided test of sign flips, the largest p of all sizes"
        found[f"{scoring}-p"] = Fact(p, "{:.2g}", about)
        for at in ("low", "middle", "high"):
            size = named.get(at, 0)
            for arm, name in ((LARGE, "large"), (SMALL, "small")):
                share = float(measure(runs[(TURN, size, *arm)]).mean()) if runs else None
                about = f"of “turn left” right, {rests}, {size:,} rows, mean of new seeds, {name_of(arm)}"
                found[f"{scoring}-{name}-{at}"] = Fact(share, "{:.0%}", about)
    return found


def _on_decays(before: str, runs: Runs, name: str, rests: str, decays: Mapping[float, str]) -> dict[str, Fact]:
    """Either start with each of these decays: the share `name`, and by how much the last of them is above the one before, and
    the smaller start above the larger. decays: {decay: its name}, the largest last."""
    of = {kind[2:]: arms.shares(group, name) for kind, group in runs.items()}
    *_, less, most = decays
    found = {}
    for gamma, start in ((LARGE[0], "large"), (SMALL[0], "small")):
        for decay, much in decays.items():
            about = f"{rests}, mean over seeds, {name_of((gamma, decay))}"
            found[f"{before}-{start}-{much}"] = Fact(float(of[gamma, decay].mean()) if runs else None, "{:.0%}", about)
        more = of[gamma, most] - of[gamma, less] if runs else None
        found[f"{before}-more-{start}"] = _points(more, f"{rests}, decay {most:g} less decay {less:g}, γ = {gamma:g}")
    for decay, much in decays.items():
        lead = of[SMALL[0], decay] - of[LARGE[0], decay] if runs else None
        found[f"{before}-start-{much}"] = _points(lead, f"{rests}, γ = {SMALL[0]:g} less γ = {LARGE[0]:g}, decay {decay:g}")
    return found


def facts_on_decays(decays: Runs, drawn: Runs, cogs: Runs) -> dict[str, Fact]:
    """Of starts and decays crossed with more decay, on SCAN and on COGS, and of the paper's arms from the follow-up's start
    (`drawn`): shares, and by how much one is above the other. Absent without runs."""
    least = lambda decay: next((group[0] for kind, group in decays.items() if kind[3] == decay), None)
    found = {"decays-product": arms.decay_product(least(MUCH)), "decays-tenth": arms.decay_product(least(TENTH))}
    named = {LARGE[1]: "little", TENTH: "tenth", MUCH: "much"}
    found |= _on_decays("decays", decays, "test", "of “turn left” right, twice the steps", named)
    named = {COGS_TENTH: "tenth", COGS_MUCH: "much"}
    found |= _on_decays("cogs-decays", cogs, "gen", "of the 21 cases right, twice the steps", named)
    means = {kind[2:]: (of_cases(group).mean(0), float(arms.shares(group).mean())) for kind, group in cogs.items()}
    for name, case in (("crawl", "prim_to_inf_arg"), ("paula", "prim_to_subj_proper")):
        at = list(CASES).index(case)
        for gamma, start in ((LARGE[0], "large"), (SMALL[0], "small")):
            by_decay = tuple(float(means[gamma, decay][0][at]) for decay in named) if cogs else None
            about = f"of this case right with decay {COGS_TENTH:g} and {COGS_MUCH:g}, mean over seeds, γ = {gamma:g}"
            found[f"{name}-{start}"] = Fact(by_decay, "{:.0%} to {:.0%}", about)
    worst, about = (LARGE[0], COGS_TENTH), "in distribution, twice the steps, mean over seeds"
    found["cogs-decays-in-large"] = Fact(means[worst][1] if cogs else None, "{:.0%}", f"{about}, {name_of(worst)}")
    rest = span(share for arm, (_, share) in means.items() if arm != worst)
    found["cogs-decays-in-rest"] = Fact(rest, "{:.0%} to {:.0%}", f"{about}, the other three")
    shares = {kind[2:]: arms.shares(group) for kind, group in drawn.items()}
    for arm, name in ((LARGE, "large"), (SMALL, "small")):
        share = float(shares[arm].mean()) if drawn else None
        about = f"of “turn left” right, from the follow-up's start, mean over seeds, {name_of(arm)}"
        found[f"script-{name}"] = Fact(share, "{:.0%}", about)
    apart = shares[SMALL] - shares[LARGE] if drawn else np.array([])
    ahead = (in_words(int((apart > 0).sum())), in_words(len(apart))) if drawn else None
    found["script-ahead"] = Fact(ahead, "{} of {}", "seeds whose small arm is ahead, from the follow-up's start")
    return found


def facts_on_longer(runs: Runs) -> dict[str, Fact]:
    """Of the new seeds of COGS with as many passes over the most rows: what either arm has right, and how far the small one is
    ahead on the 21 cases. Absent without runs."""
    rests = "COGS, most rows, new seeds, as many passes as over the fewest"
    group = lambda arm: [run for kind, some in runs.items() if kind[2:] == arm for run in some]
    share = lambda some, name: float(arms.shares(some, name).mean()) if some else None
    found = {}
    for arm, name in ((LARGE, "large"), (SMALL, "small")):
        about = f"mean over seeds, {name_of(arm)}, {rests}"
        found[f"longer-{name}"] = Fact(share(group(arm), "gen"), "{:.0%}", f"of the 21 cases, {about}")
        found[f"longer-in-{name}"] = Fact(share(group(arm), "test"), "{:.1%}", f"in distribution, {about}")
    everyone = [*group(LARGE), *group(SMALL)]
    once = float(arms.shares(everyone, "once").min()) if everyone else None
    lead = tuple(100 * v for v in arms.lead(group(SMALL), group(LARGE), "gen")) if everyone else None
    apart = arms.shares(group(SMALL), "gen") - arms.shares(group(LARGE), "gen") if everyone else np.array([])
    ahead = (in_words(int((apart > 0).sum())), in_words(len(apart))) if everyone else None
    return found | {
        "longer-once": Fact(once, "{:.0%}", f"of rows that alone show a word, least, {rests}"),
        "longer-lead": Fact(lead, "{:+.0f} ({:+.0f} to {:+.0f})", f"lead on the 21 cases, {_PAIRED}, {rests}"),
        "longer-ahead": Fact(ahead, "{} of {}", f"seeds whose small arm is ahead on the 21 cases, {rests}"),
    }


def facts_on_doubled(smaller: Mapping[str, Runs], doubled: Mapping[str, Runs]) -> dict[str, Fact]:
    """Of the model of twice the depth and width beside the model: shares, leads, and by how much the lead grows."""
    found, pairs, leads = {}, beside_doubled(smaller, doubled), {}
    for main, (name, _, test) in _IN_MODELS.items():
        both = pairs.get(main)
        for which, (key, model) in enumerate((("single", "the model"), ("doubled", "the doubled model"))):
            of = {arm: arms.shares(both[arm][which], test) if both else np.array([]) for arm in PAPERS}
            for arm, start in ((LARGE, "large"), (SMALL, "small")):
                about = f"right, mean over seeds, {model}, {name_of(arm)}"
                found[f"{key}-{name}-{start}"] = Fact(float(of[arm].mean()) if both else None, "{:.0%}", about)
            leads[name, key] = of[SMALL] - of[LARGE]
            found[f"{key}-{name}-lead"] = _points(leads[name, key] if both else None, f"lead of the small arm, {model}")
        lead = leads[name, "doubled"]
        more = lead - leads[name, "single"] if both else None
        found[f"doubled-{name}-more"] = _points(more, "by which the lead is larger in the doubled model")
        ahead = (in_words(int((lead > 0).sum())), in_words(len(lead))) if both else None
        found[f"doubled-{name}-ahead"] = Fact(ahead, "{} of {}", "seeds whose small arm is ahead, the doubled model")
    p = flips_either_way(leads["scan", "doubled"])[0] if TURN in pairs else None
    rests = "small arm ahead by seed, SCAN, the doubled model, exact one-sided test of sign flips"
    return found | {"doubled-scan-p": Fact(p, "{:.2g}", rests)}


def _of_commands(runs: Runs) -> dict[str, Fact]:
    """What training tells of the commands of the test with "turn left", and what who composes nothing has of them."""
    run = runs[TURN, middle(runs, TURN), *SMALL][0]
    commands, training, some = tested(run), others(TURN), middle(runs, TURN)
    whole, without = uncomposed(commands)
    near = ("turn around left", "turn opposite left")
    told = "other rows of training, all rows, "
    reader = "for a reader that takes “turn left” for “turn around left”"
    share = lambda value, rests: Fact(float(value), "{:.0%}", rests)
    return {
        "turn-word": share(holding(training, "turn"), f"{told}with the word “turn”"),
        "turn-near": share(holding(training, *near), f"{told}with {' or '.join(f'“{words}”' for words in near)}"),
        "twins-all": share(twins(commands), "commands of the test whose twin with “turn right” is in training, all rows"),
        "twins-middle": share(twins(commands, some), f"commands of the test whose twin is in training, {some:,} rows"),
        "test-last": share(np.mean([*map(ends_with_it, commands)]), "commands of the test in which “turn left” is done last"),
        "reader": share(whole.mean(), f"commands of the test right {reader}"),
        "reader-end": share(without.mean(), f"commands of the test right but for the end {reader}"),
    }


def _of_words(runs: Runs) -> dict[str, Fact]:
    """Where answers to the lexical cases fail: at the word shown once, and inside a "… that"."""
    low, high = ends(runs, "COGS")[0], largest(runs, "COGS")
    first = {size: runs["COGS", size, *SMALL][0] for size in (low, high)}
    found = {
        "once": Fact(str(len(ONCE)), "{}", "words of the lexical cases, each in one row of training"),
        "once-asked": Fact(
            in_words(max(map(once_asked, first.values()))),
            "{}",
            f"of these words in the sample of rows of training asked, most of {low:,} rows and {high:,}",
        ),
    }
    for size, where in ((low, "few"), (high, "many")):
        for arm, name in ((LARGE, "large"), (SMALL, "small")):
            kept, right, missed = word_misses(runs["COGS", size, *arm])
            rests = f"of {kept} kept answers to lexical cases, {size:,} rows, {name_of(arm)}"
            found[f"lexical-kept-{name}-{where}"] = Fact(right / kept, "{:.0%}", f"right, {rests}")
            found[f"lexical-but-{name}-{where}"] = Fact((right + missed) / kept, "{:.0%}", f"right but for the word, {rests}")
            found["lexical-kept"] = Fact(kept, "{:.0f}", "kept answers to lexical cases, of an arm and a size")
    of_case = nested_share(first[low])
    most, rest = ([v for case, v in of_case.items() if (case in MOST_NESTED) == is_most] for is_most in (True, False))
    found["nested-most"] = Fact(float(np.mean(most)), "{:.0%}", "rows inside a “… that” in the cases of cobra and hippo")
    found["nested-rest"] = Fact(span(rest), "{:.0%} to {:.0%}", "rows inside a “… that” in the other lexical cases")
    both = [by_nesting(runs["COGS", low, *arm], MOST_NESTED) for arm in PAPERS]
    rests = f"right in the cases of cobra and hippo, least and most of a case and a run, both arms, {low:,} rows"
    for i, name in enumerate(("flat", "nested")):
        found[f"right-{name}"] = Fact(span(v for one in both for v in one[i]), "{:.0%} to {:.0%}", f"{rests}, {name}")
    return found


# --- Rows of tables ---

SPLITS = {TURN: "turn left", JUMP: "jump", TURN + AS_SCRIPT: "turn left, the follow-up's start"}
SCAN_HEAD = ("SCAN", "rows of training", "γ", "weight decay", "training right", "test right")
COGS_HEAD = ("COGS: rows of training", "γ", "decay", "training right", IN, OUT_OF, "18 lexical", "3 structural")


def task_rows(run: StoredRun) -> list[tuple[str, ...]]:
    """What training shows and what the tests ask, in rows of both; `run` is one of COGS."""
    data = cogs_of(run.spec)[0]
    of = lambda command: (command, " ".join(scan.meaning(command)))
    row = lambda found: (found.sentence, found.form.replace("x _ ", "x_"))
    once = {use.sentence: use for use in data.train if use.case == cogs.EXPOSURE}
    hedgehog = next(use for words, use in once.items() if "hedgehog" in words)
    shortest = lambda case: min((r for r in data.gen if r.case == case), key=lambda r: len(r.form))
    place = min(
        (r for r in data.train if r.case == cogs.IN_DISTRIBUTION and ". nmod ." in r.form), key=lambda r: (len(r.form), r)
    )
    rows = [
        ("SCAN, training", *of("turn left")),
        ("SCAN, training", *of("jump opposite left twice")),
        ("SCAN, test", *of("jump after turn left twice")),
        ("COGS, training (once)", *row(hedgehog)),
        ("COGS, test: hedgehog as object", *row(shortest("subj_to_obj_common"))),
        ("COGS, training: a place behind an object", *row(place)),
        ("COGS, test: a place behind a subject", *row(shortest("obj_pp_to_subj_pp"))),
    ]
    return [(kind, source, f"`{target}`") for kind, source, target in rows]


def scan_rows(runs: Runs) -> list[tuple[str, ...]]:
    """Every group of runs on SCAN: percent of the rows of training and of the test right at the end."""
    return [
        (SPLITS[main], f"{size:,}", f"{gamma:g}", f"{decay:g}", *arms.percents(group, arms.shares(group)))
        for (main, size, gamma, decay), group in sorted(runs.items(), key=lambda kind: (kind[0][0] != TURN, kind[0]))
    ]


def cogs_rows(runs: Runs) -> list[tuple[str, ...]]:
    """Every group of runs on COGS: percent of rows right at the end, of training and of each test."""
    return [
        (
            f"{size:,}" + ", the follow-up's start" * main.endswith(AS_SCRIPT),
            f"{gamma:g}",
            f"{decay:g}",
            *arms.percents(group, arms.shares(group), arms.shares(group, "gen"), lexical(group), structural(group)),
        )
        for (main, size, gamma, decay), group in sorted(runs.items())
    ]


_LONG = 8  # words of an answer that are shown


def _code(words: Sequence[str], cut_left: bool = False) -> str:
    """Words as code; of many the first or the last."""
    if len(words) <= _LONG:
        return f"`{' '.join(words)}`" if words else ""
    return f"… `{' '.join(words[-_LONG:])}`" if cut_left else f"`{' '.join(words[:_LONG])}` …"


def answered(example: Example) -> str:
    """What a model makes of a row: right, or its words up to the first wrong one, and what should stand there."""
    _, target, said, right = example
    if right:
        return "right"
    true, guess = target.split(), said.split()
    first = next((i for i, (a, b) in enumerate(zip(true, guess, strict=True)) if a != b), None)
    if first is None:
        return "all words right, but goes on"
    begun = f"{_code(true[:first], cut_left=True)} " if first else ""
    wrong = "stops" if guess[first] == END else f"**`{guess[first]}`**"
    return f"{begun}{wrong} in place of `{true[first]}`"


ARMS_HEAD = tuple(f"{size} arm ({name_of(arm)})" for size, arm in (("large", LARGE), ("small", SMALL)))


def scan_word_rows(runs: Runs, seed: int) -> list[tuple[str, ...]]:
    """Some commands of both tests, and what a run of each arm makes of them."""
    size, rows = middle(runs, TURN), []
    for split in (TURN, JUMP):
        both = [scan_examples(arms.of_seed(runs[(split, size, *arm)], seed)) for arm in PAPERS]
        pairs = list(zip(*both, strict=True))
        for i in arms.of_each_kind(pairs):
            source, target = pairs[i][0][:2]
            rows.append((source, _code(target.split()), *map(answered, pairs[i])))
    return rows


def cogs_word_rows(runs: Runs, seed: int) -> list[tuple[str, ...]]:
    """Some sentences of the 21 cases, and what a run of each arm makes of them: of each kind of outcome, lexical cases and
    structural ones apart. No rows for runs so little trained that they write tokens that are no words."""
    size, rows = largest(runs, "COGS"), []
    try:
        both = [cogs_examples(arms.of_seed(runs[("COGS", size, *arm)], seed)) for arm in PAPERS]
    except IndexError:  # a model may have more tokens than its data have words, and says one of them if it is hardly trained
        return []
    for is_structural in (False, True):
        cases = [case for case in cogs.CASES if (case in cogs.STRUCTURAL) == is_structural]
        shortest = lambda pair: len(pair[0][1])
        pairs = [min(zip(both[0][case], both[1][case], strict=True), key=shortest) for case in cases]
        rows += [(CASES[cases[i]], pairs[i][0][0], *map(answered, pairs[i])) for i in arms.of_each_kind(pairs)]
    return rows


# --- Dials ---


def scan_dials(runs: Runs) -> dict[str, Any]:
    """What lib.book.dials needs: shares of commands that are right along training, by size and arm."""
    lines = {"test": ("commands with ‘turn left’", "test"), "train": ("commands of training", "train")}
    return arms.dials_by_size(runs, TURN, "commands", "share of rows right", lines)


def cogs_dials(runs: Runs) -> dict[str, Any]:
    """The same of sentences: those of training, others like them, and the 21 cases."""
    lines = {"gen": (OUT_OF, "gen"), "test": (IN, "test"), "train": ("sentences of training", "train")}
    return arms.dials_by_size(runs, "COGS", "sentences", "share of rows right", lines)
