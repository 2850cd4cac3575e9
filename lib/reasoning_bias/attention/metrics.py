"""Numbers of chapter 11: how far attention is from the average, W^V and the anchors, what it reads, and what depends on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from lib.core.model.transformer import ActivationCache, from_weights
from lib.core.read.disk_cache import disk_cached
from lib.core.read.fact import Fact, in_words, mean
from lib.core.read.measures import cosines, mean_std, seeds
from lib.core.read.statistics import Comparison, compare_units, fisher_exact, mann_whitney, sign_flips, sign_test
from lib.core.read.ways import EFFECT, KEY_FIRST, PAIR_FIRST, way_of
from lib.core.record.spec import RunSpec
from lib.core.record.start import at_start
from lib.core.record.store import Store, StoredRun, load
from lib.reasoning_bias.experiments import (
    LARGE,
    SCALE_GAMMA,
    SMALL,
    ablation_specs,
    bias_specs,
    circuit_specs,
    long_specs,
    scale_specs,
)
from lib.reasoning_bias.ratios import Ratio, closed, slowdown
from lib.reasoning_bias.runs import KINDS, at, best, by_gamma, epoch, snapshot_near
from lib.reasoning_bias.study import causal_average, make_study, placed
from lib.reasoning_bias.task import LENGTH, N_PLACES, POSITIONS, Task

MOST = 0.5
"""From this share of attention on, a place has most of it."""
OFF = 0.1
"""How far the attention may be from the causal average."""
EPSILON = 0.01
"""ε of Lemma 1 that is small."""
LOWER, UPPER = 0.7, 0.9
"""γ up to the one are compared with those from the other on."""
HALF = 0.5
"""Of a run's snapshots, or of a cosine."""
BEGINNING = 0.05
"""Where in training we look at the first attention; the paper's figure does not say."""


CIRCUITS_OF = {True: "average, then select", False: "select, then read"}
"""The two circuits, the paper's first, by what their first and second attention do."""
DECIDED, TOLD = 15, 0.4
"""The epoch, and the alignment of W^V's first direction with the reasoning anchors there, that tell which a run has."""
PARTED = 6
"""The epoch at which the first attention itself has parted the circuits, seen in stored runs."""
EARLY, STANDS_OUT = 3, 2
"""A singular value that is so many times the next stands out; and an epoch at which in some runs the first does."""


def reach(values: Sequence[float]) -> str:
    """The range of values, as one number where both ends round to the same."""
    low, high = (f"{f(values):.2f}" for f in (min, max))
    return low if low == high else f"{low} to {high}"


def beginning(runs: Sequence[StoredRun]) -> int:
    return snapshot_near(runs[0], BEGINNING)


def ablated(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    """{ablation: runs}, by their names in the book: those at the lower learning rate are as long as the main runs, all others
    shorter."""
    specs = ablation_specs(profile) | {"rate / 2.5": long_specs(profile)["rate / 2.5"]}
    return {in_the_book(name): load(group, store) for name, group in specs.items()}


def in_the_book(ablation: str) -> str:
    """What the book calls an ablation: a rate alone would be γ, and a head one of attention."""
    return ablation.replace("head", "output matrix").replace("rate", "learning rate")


def _of_both_starts(runs: Sequence[StoredRun]) -> list[list[Ratio]]:
    """The ratios at small initialization, and those at large."""
    return [[r for r in map(slowdown, at(runs, gamma)) if r is not None] for gamma in (SMALL, LARGE)]


def least_gap(runs: Sequence[StoredRun]) -> tuple[float, bool]:
    """The logarithm of the smallest ratio at small initialization over the largest at large; NaN where there is none. And
    whether those at large are lower bounds, which cannot be compared."""
    small, large = _of_both_starts(runs)
    if not small or not large:
        return float("nan"), False
    return math.log(min(r.value for r in small) / max(r.value for r in large)), not closed(large)


def reversed_order(runs: Sequence[StoredRun]) -> bool:
    """Is every ratio at small initialization below every one at large?"""
    small, large = ([r.value for r in found] for found in _of_both_starts(runs))
    return bool(small and large) and max(small) < min(large)


def near_average(run: StoredRun) -> float:
    """The share of snapshots from BEGINNING on at which no entry of the first attention to any single sequence is more than OFF
    from 1 / i."""
    steps = [step for step in run.snapshots() if step >= beginning([run])]
    return float(np.mean([largest(run, step) <= OFF for step in steps]))


def largest(run: StoredRun, step: int) -> float:
    """ε of Lemma 1 at a snapshot: the largest distance of the first attention from 1 / i over all sequences and places."""
    return float(run.snapshots()[step]["deviation"].max())


def deviation_at_start(spec: RunSpec) -> float:
    """ε of Lemma 1: the largest |A_ij − 1 / i| of the first attention over questions and places, before training."""
    found = make_study(spec).attention(at_start(spec))
    return float(found["deviation"].max())


def start_deviations(profile: str) -> dict[float, list[float]]:
    """{γ: ε of Lemma 1 before training, of each seed}."""
    found: dict[float, list[float]] = {}
    for spec in bias_specs(profile):
        found.setdefault(spec.gamma, []).append(deviation_at_start(spec))
    return dict(sorted(found.items()))


def off_average(run: StoredRun, step: int) -> float:
    """Largest distance of the mean first attention from 1 / i, at a snapshot."""
    return float((run.snapshots()[step]["attention"] - causal_average(LENGTH)).abs().max())


NEW = 13
"""Of all rows of reasoning every so manieth is answered."""


def gap(run: StoredRun, step: int) -> float:
    """The largest singular value of the first W^V over the second, at a snapshot."""
    first, second, *_ = run.snapshots()[step]["spectrum"].tolist()
    return float(first / second)


def alignments(run: StoredRun) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Steps (n,), and for each kind (n, 10): |cosine| of the first singular direction of W^V with the anchors' embeddings."""
    kept = run.snapshots()
    found = np.array([np.abs(cosines(s["anchors"].numpy(), s["direction"].numpy()[None])[:, 0]) for s in kept.values()])
    return np.array(list(kept)), {kind: found[:, where] for kind, where in KINDS.items()}


def circuits(store: Store, profile: str) -> list[StoredRun]:
    """The runs over γ, in single precision, whose circuits are compared. Raises LookupError where some are missing."""
    return load(circuit_specs(profile), store)


def scaled(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    """{what is larger: runs whose circuits are compared}. Raises LookupError where some are missing."""
    return {name: load(group, store) for name, group in scale_specs(profile).items()}


def on_the_key(run: StoredRun) -> float:
    """The share of the last token's second attention that goes to the key, mean over its places, at the end."""
    if "on the key" in run.history:
        last = run.history["on the key"][-1]
        return math.nan if last is None else float(last)  # of a run that diverged
    return float(reading(run)[2, :, 0].mean())


def on_the_anchors(run: StoredRun) -> float:
    """The share of the last token's *first* attention that goes to the two anchors of a reasoning row, mean over its places."""
    return float(reading(run)[1, :, 1:3].sum(1).mean())


def selects_late(run: StoredRun) -> bool:
    """Has the run the paper's circuit: does the *second* attention find the key? In the other the first brings it along."""
    return on_the_key(run) >= MOST


def snapshot_at(run: StoredRun, epochs: float) -> int:
    """The step of the snapshot nearest to an epoch."""
    return snapshot_near(run, epochs * epoch(run.spec) / run.spec.train.steps)


def along_reasoning(run: StoredRun, epochs: float = DECIDED) -> float:
    """Mean |cosine| of the first direction of W^V with the reasoning anchors, at the snapshot nearest to an epoch."""
    steps, kinds = alignments(run)
    return float(kinds["reasoning"][list(steps).index(snapshot_at(run, epochs))].mean())


def start_of(run: StoredRun) -> tuple[int, int]:
    """What runs have in common that begin with the same weights, at one γ: seed and width."""
    return run.spec.seed, run.spec.model.d_model


def held_out(run: StoredRun) -> float:
    """The share of held-out pairs right at the end."""
    return run.metrics["held out"]


def worse(
    groups: Mapping[Any, Sequence[StoredRun]],
    unit: Callable[[StoredRun], Hashable] = id,
    measure: Callable[[StoredRun], float] = held_out,
) -> Comparison | None:
    """Have runs with the other circuit more held-out pairs right, within a group? Runs of one `unit`, by default each its own,
    are no independent draws. None where no group has both circuits."""
    of = [(name, run) for name, group in groups.items() for run in group]
    names, runs = [name for name, _ in of], [run for _, run in of]
    try:
        return compare_units(list(map(measure, runs)), [not selects_late(run) for run in runs], names, list(map(unit, runs)))
    except ValueError:
        return None


def parts_at(runs: Sequence[StoredRun], measure: Callable[[StoredRun], float]) -> tuple[float, int] | None:
    """How far a measure parts the circuits: the share of pairs of runs, one of either kind, in which the paper's has more; and
    how many runs are on the right side of the best line. None where all have one circuit."""
    values, late = np.array([measure(run) for run in runs]), np.array([selects_late(run) for run in runs])
    if late.all() or not late.any():
        return None
    best = max(int(((values >= line) == late).sum()) for line in values)
    return mann_whitney(values, late, [0] * len(runs))[0], best


def by_circuit(runs: Sequence[StoredRun]) -> dict[str, list[StoredRun]]:
    """{circuit: runs}, the paper's first."""
    return {name: [run for run in runs if selects_late(run) == late] for late, name in CIRCUITS_OF.items()}


ROLES = ("key", "first anchor", "second anchor", "noise")


@disk_cached(version=2)
def reading(run: StoredRun) -> np.ndarray:
    """(3 looks, 7 places, 4 roles): what attention gives to the key, to each anchor and to all the noise together, mean over
    the questions of each place: that of the second anchor in the first layer, of the last token there, and in the second."""
    model = from_weights(run.spec.model, run.weights())
    found = np.zeros((3, N_PLACES, len(ROLES)))
    for place in range(N_PLACES):
        activations, batch = ActivationCache(), placed(make_study(run.spec).task, place)
        model(batch[None], activations)
        for look, (layer, query) in enumerate(((1, place + 2), (1, POSITIONS - 1), (2, POSITIONS - 1))):
            row = activations[f"attention.{layer}"][0].mean((0, 1))[query].numpy()
            found[look, place, :3] = row[place : place + 3]
        found[:, place, 3] = np.maximum(0, 1 - found[:, place, :3].sum(-1))
    return found


CUT_PLACES = (0, 2, 4, 5)
"""Of the key: there key, anchors and last token are four different tokens."""


@disk_cached(version=1)
def cuts(run: StoredRun) -> np.ndarray:
    """(3,): the share of answers to new reasoning rows that change if the last token may not read, in the second layer, the
    key, the first anchor, or the second; the attention that is left is renormalized."""
    model, task = from_weights(run.spec.model, run.weights()), make_study(run.spec).task
    changed = []
    for place in CUT_PLACES:
        tokens = placed(task, place)
        whole = model(tokens[None])[0].argmax(-1)
        row = []
        for role in range(len(ROLES) - 1):
            forbid = lambda scores, at=place + role: scores.index_fill(-1, torch.tensor([at]), -math.inf)
            row.append(
                float((model(tokens[None], ActivationCache({"scores.2": forbid}))[0].argmax(-1) != whole).float().mean())
            )
        changed.append(row)
    return np.mean(changed, 0)


def way(run: StoredRun) -> str:
    """One of WAYS, by what its last token needs in the second layer."""
    key, *anchors = cuts(run) >= EFFECT
    return way_of(bool(key), any(anchors))


@disk_cached(version=1)
def moved(run: StoredRun) -> dict[str, np.ndarray]:
    """Does the second attention go by *where* the key is, or by *which* key it is? Its weight from the last token on the key's
    own place and on another place, with the attention keys (K of layer 2) of: "itself"; "same place", another sequence with its
    key at the same place; "other place", a sequence with its key at the other place. Means over every pair of places."""
    model = from_weights(run.spec.model, run.weights())
    task = make_study(run.spec).task
    rows = [placed(task, place, 60)[:50] for place in range(N_PLACES)]
    kept = []
    for tokens in rows:
        activations = ActivationCache()
        model(tokens[None], activations)
        kept.append((activations["K.2"], activations["attention.2"][0, :, 0, -1]))
    found: dict[str, list[tuple[float, float]]] = {"itself": [], "same place": [], "other place": []}
    for own, tokens in enumerate(rows):
        for other in range(N_PLACES):
            if own == other:
                continue
            taken = {"same place": kept[own][0].roll(1, 1), "other place": kept[other][0]}
            weights = {"itself": kept[own][1]}
            for name, keys in taken.items():
                activations = ActivationCache({"K.2": lambda _, keys=keys: keys})
                model(tokens[None], activations)
                weights[name] = activations["attention.2"][0, :, 0, -1]
            for name, weight in weights.items():
                found[name].append((float(weight[:, own].mean()), float(weight[:, other].mean())))
    return {name: np.mean(pairs, 0) for name, pairs in found.items()}


AVERAGED = ("", "attention.1", "attention.2")


@disk_cached(version=1)
def averaged(run: StoredRun) -> dict[str, float]:
    """{tap: share of right answers to new reasoning rows with this attention as the causal average; "": as trained}."""
    model = from_weights(run.spec.model, run.weights())
    every = Task(dict(run.spec.task).get("table_seed", 0)).every("reasoning", seed=1)
    tokens, target = every.tokens[::NEW], every.target[::NEW]
    edits = {name: lambda a: causal_average(LENGTH).expand_as(a) for name in AVERAGED if name}
    answer = lambda name: model(tokens[None], ActivationCache({name: edits[name]} if name else {}))[0].argmax(-1)
    return {name: float((answer(name) == target).float().mean()) for name in AVERAGED}


def matrices(runs: Sequence[StoredRun], seed: int) -> tuple[dict[str, np.ndarray], list[StoredRun]]:
    """The first attention of one seed, mean over memory sequences: early at large initialization; early and at the end at
    small; where weights are kept, that to one new row of reasoning, too. And the runs that it is of."""
    pick = lambda gamma: next((r for r in at(runs, gamma) if r.spec.seed == seed), at(runs, gamma)[0])
    small, large, early = pick(SMALL), pick(LARGE), beginning(runs)
    of = lambda run, step: run.snapshots()[step]["attention"].numpy()
    found = {
        f"γ = {LARGE:g}, early": of(large, early),
        f"γ = {SMALL:g}, early": of(small, early),
        f"γ = {SMALL:g}, at the end": of(small, max(small.snapshots())),
    }
    if small.has_weights:
        activations = ActivationCache()
        from_weights(small.spec.model, small.weights())(placed(make_study(small.spec).task, ONE_PLACE, 1)[None], activations)
        found["… for one sequence"] = activations["attention.1"][0, 0].mean(0).numpy()
    return found, [large, small]


ONE_PLACE = 3
"""Where the key stands in the one sequence that is drawn, counted from 0."""


def deviations_at(runs: Sequence[StoredRun]) -> dict[str, dict[float, list[float]]]:
    """{epoch: {γ: ε of each seed}} at the first snapshots, to a twentieth of training, and at the end."""
    kept = list(runs[0].snapshots())
    found = {}
    for step in dict.fromkeys((*(k for k in kept if k <= beginning(runs)), kept[-1])):
        at = {g: [largest(r, step) for r in group] for g, group in by_gamma(runs).items()}
        found[f"epoch {step / epoch(runs[0].spec):g}"] = at
    return found


def reading_of_average() -> np.ndarray:
    """(3, 7): what the causal average gives to one token, as `reading` asks: 1 / i of the second anchor's and of the last
    position."""
    last = [1 / POSITIONS] * N_PLACES
    return np.array([[1 / (place + 3) for place in range(N_PLACES)], last, last])


def chance(run: StoredRun) -> float:
    """The mean |cosine| of two random directions at the run's width d: √(2 / π d) for large d."""
    return float(np.sqrt(2 / (np.pi * run.spec.model.d_model)))


def one_of_each(runs: Sequence[StoredRun]) -> dict[str, StoredRun]:
    """{title: the first run with each circuit, from the largest γ at which there are both}."""
    groups = by_gamma(runs)
    both = [g for g, group in groups.items() if len({selects_late(run) for run in group}) == 2]
    kinds = by_circuit(groups[both[-1]] if both else runs)
    return {f"{name}\nγ = {found[0].spec.gamma:g}": found[0] for name, found in kinds.items() if found}


def circuit_rows(runs: Sequence[StoredRun]) -> list[tuple[str, ...]]:
    """(γ, runs with the paper's circuit, mean held-out pairs right and new rows right with it, and with the other)."""
    said = lambda group, measure: mean_std([measure(run) for run in group]) if group else "–"
    held, fresh = (lambda run: run.metrics["held out"]), (lambda run: averaged(run)[""])
    rows = []
    for gamma, group in by_gamma(runs).items():
        late, other = by_circuit(group).values()
        cells = (said(kind, measure) for measure in (held, fresh) for kind in (late, other))
        rows.append((f"{gamma:g}", f"{len(late)} of {len(group)}", *cells))
    return rows


def chain_rows(runs: Sequence[StoredRun]) -> list[tuple[str, ...]]:
    """(what the paper says, how it is in runs with its circuit, in the others): ranges over runs."""
    early = beginning(runs)
    measures = {
        "first attention, mean over sequences: largest distance from 1 / i at the end": lambda r: off_average(
            r, max(r.snapshots())
        ),
        f"the same, any single sequence, epoch {early / epoch(runs[0].spec):g}": lambda r: largest(r, early),
        f"largest singular value of W^V over the second, epoch {early / epoch(runs[0].spec):g}": lambda r: gap(r, early),
        f"first direction and reasoning anchors, epoch {DECIDED}": along_reasoning,
        "second attention on the key": on_the_key,
    }
    kinds = by_circuit(runs).values()
    cell = lambda group, measure: reach([measure(run) for run in group]) if group else "–"
    return [(name.replace("W^V", "$W^V$"), *(cell(group, measure) for group in kinds)) for name, measure in measures.items()]


def at_both_ends(runs: Sequence[StoredRun]) -> list[list[int]]:
    """Runs with the paper's circuit and runs without it, at γ ≥ UPPER and, below, at γ ≤ LOWER."""
    ends = [run for run in runs if run.spec.gamma >= UPPER], [run for run in runs if run.spec.gamma <= LOWER]
    return [[sum(map(selects_late, end)), sum(not selects_late(run) for run in end)] for end in ends]


def more_by_seed(runs: Sequence[StoredRun]) -> list[int]:
    """Of each seed, how many more of its runs have the paper's circuit at γ ≥ UPPER than at γ ≤ LOWER."""
    off = {run.spec.seed: 0 for run in runs}
    for run in runs:
        off[run.spec.seed] += selects_late(run) * ((run.spec.gamma >= UPPER) - (run.spec.gamma <= LOWER))
    return list(off.values())


def by_seed(runs: Sequence[StoredRun]) -> tuple[int, int, int]:
    """How many seeds have the paper's circuit more often at γ ≥ UPPER than at γ ≤ LOWER, less often, and equally often."""
    off = more_by_seed(runs)
    return sum(n > 0 for n in off), sum(n < 0 for n in off), sum(n == 0 for n in off)


def found_at(run: StoredRun) -> int | None:
    """The first evaluated step from which on the second attention has most of its weight on the key; None for never."""
    steps, shares = run.history["step"], run.history["on the key"]
    last = next((i for i in reversed(range(len(steps))) if not (shares[i] or 0.0) >= MOST), -1)
    return int(steps[last + 1]) if last + 1 < len(steps) else None


def few_questions(runs: Sequence[StoredRun]) -> tuple[str | None, str | None]:
    """By how many questions on held-out pairs the best run with the paper's circuit is behind the others, the least and the
    most; None where all have one circuit."""
    late, other = by_circuit(runs).values()
    if not late or not other:
        return None, None
    asked, top = len(make_study(runs[0].spec).sets["held out"].key), max(map(held_out, late))
    ahead = [round((held_out(run) - top) * asked) for run in other]
    return in_words(min(ahead)), in_words(max(ahead))


SCALE_NAMES = ("once", "twice", "thrice", "wide")


def beside(runs: Sequence[StoredRun], larger: Mapping[str, Sequence[StoredRun]]) -> dict[str, Sequence[StoredRun]]:
    """{setting: runs} at SCALE_GAMMA: of the runs over γ, which a small profile may lack there, and of those with more."""
    own = [run for run in runs if run.spec.gamma == SCALE_GAMMA]
    rows = f"{int(dict(runs[0].spec.task)['rows']):,} rows"
    return {rows: own} | dict(larger)


def facts_on_scale(runs: Mapping[str, Sequence[StoredRun]]) -> dict[str, Fact]:
    """What the text of chapter 11 says of the runs `beside` each other: their circuits, and what they know."""
    found: dict[str, Fact] = {}
    wide = () if len(runs) == len(SCALE_NAMES) else (("a larger width", []),)  # which the paper's profile has from the start
    for key, (name, group) in zip(SCALE_NAMES, (*runs.items(), *wide), strict=True):
        late, other = by_circuit(group).values()
        rests = f"γ = {SCALE_GAMMA:g}, {name}, {seeds(group)} seeds"
        count = in_words(len(late)), in_words(len(group))
        found[f"{key}-late"] = Fact(count, "{} of {}", f"with the paper's circuit, {rests}")
        asked = [("held-late", "held out", late), ("held-other", "held out", other), ("memory", "memory", group)]
        if key == "once":
            asked += [("memory-late", "memory", late), ("memory-other", "memory", other)]
        for what, metric, some in asked:
            words = {"late": ", with the paper's circuit", "other": ", with the other circuit"}.get(what.partition("-")[2], "")
            rows = {"held out": "held-out pairs", "memory": "memory rows of training"}[metric]
            share = mean(run.metrics[metric] for run in some)
            found[f"{key}-{what}"] = Fact(share, "{:.0%}", f"{rows} right at the end, mean{words}, {rests}")
    larger = {name: group for name, group in runs.items() if group and "on the key" in group[0].history}
    followed = [run for group in larger.values() for run in group]
    keyed = [(run, step) for run in followed if selects_late(run) and (step := found_at(run)) is not None]
    known = [run.history["reasoning"][run.history["step"].index(step)] for run, step in keyed]
    who, own = "with more rows or wider, with the paper's circuit", min((r.spec.model.d_model for r in followed), default=0)
    rows = {name: group for name, group in larger.items() if group[0].spec.model.d_model == own}
    p_of = lambda groups, measure=held_out, unit=start_of: (test := worse(groups, unit, measure)) and test.p
    others = [run for group in rows.values() for run in group if not selects_late(run)]
    neither = max(others, key=on_the_key, default=None)
    few = few_questions(list(rows.values())[-1]) if rows else (None, None)
    exact = "exact test over pairs of runs of one setting, all runs from one start dealt together"
    last, most = max((step for _, step in keyed), default=None), max(known, default=None)
    return found | {
        "found-runs": Fact(in_words(len(keyed)), "{}", f"runs {who}"),
        "found": Fact(last, "{:,}", f"last step at which the second attention finds the key, of the runs {who}"),
        "found-known": Fact(most, "{:.0%}", "most reasoning rows of training right when it does, each run at its own step"),
        "between": Fact(
            neither and on_the_key(neither),
            "{:.0%}",
            "most of the second attention that is on the key at the end, other runs with more rows",
        ),
        "scale-p": Fact(p_of(larger), "{:.2f}", f"{exact}, more rows or wider"),
        "scale-rows-p": Fact(p_of(rows), "{:.2f}", f"{exact}, more rows alone"),
        "scale-best-p": Fact(
            p_of(larger, lambda run: float(best([run])[0])), "{:.2f}", f"{exact}, held-out pairs at best, more rows or wider"
        ),
        "scale-seed-p": Fact(
            p_of(larger, unit=lambda run: run.spec.seed),
            "{:.2f}",
            "the same test, all runs of one seed number dealt together, at both widths; more rows or wider",
        ),
        "scale-few": Fact(few, "{} to {}", "questions on held-out pairs by which the others are ahead at the end, most rows"),
        "scale-asked": Fact(
            len(make_study(followed[0].spec).sets["held out"].key) if followed else None, "{}", "questions on held-out pairs"
        ),
        "between-held": Fact(
            neither and neither.metrics["held out"], "{:.1%}", "held-out pairs right at the end, that other run with more rows"
        ),
    }


def facts(runs: Sequence[StoredRun], earlier: Sequence[StoredRun], taken: Mapping[str, Sequence[StoredRun]]) -> dict[str, Fact]:
    """What the text of chapter 11 says of the runs over γ, of `earlier` ones, and of the ablations."""
    late, other = by_circuit(runs).values()
    ends = at_both_ends(runs)
    small, large = ((has, has + not_) for has, not_ in ends)
    count = lambda group: (sum(map(selects_late, group)), len(group))
    held = lambda group: mean(run.metrics["held out"] for run in group)
    score, kind = [run.metrics["held out"] for run in runs], [not selects_late(run) for run in runs]
    gammas = [run.spec.gamma for run in runs]
    split = any(len({selects_late(r) for r in group}) == 2 for group in by_gamma(runs).values())
    told = [(along_reasoning(run) >= TOLD) == selects_late(run) for run in runs]
    end = lambda run: off_average(run, max(run.snapshots()))
    who = f"{len(runs)} runs, single precision"
    more, fewer, _ = by_seed(runs)
    flips = sign_flips(apart, "greater") if len(apart := more_by_seed(runs)) > 1 else None
    by = lambda epochs: lambda run: along_reasoning(run, epochs)
    final = runs[0].spec.train.steps / epoch(runs[0].spec)
    attention = parts_at(runs, lambda run: -largest(run, snapshot_at(run, PARTED)))
    at_end = parts_at(runs, by(final))
    best = parts_at(runs, by(PARTED))
    out = [run for run in runs if gap(run, snapshot_at(run, EARLY)) >= STANDS_OUT]
    of_late = {run.spec.seed for run in late}
    use = [averaged(run) for run in late]
    _, first, second = AVERAGED
    start = max((deviation_at_start(run.spec) for run in earlier if run.spec.gamma == SMALL), default=None)
    stays = [
        name for name, group in taken.items() if least_gap(group)[0] > 0 and not least_gap(group)[1] and name != "as it is"
    ]
    return {
        "small": Fact(small, "{} of {}", "runs at γ ≥ .9 with the paper's circuit"),
        "large": Fact(large, "{} of {}", "runs at γ ≤ .7 with it"),
        "first": Fact(count(at(runs, min(gammas))), "{} of {}", f"runs at γ = {min(gammas):g} with the paper's circuit"),
        "last": Fact(count(at(runs, max(gammas))), "{} of {}", f"runs at γ = {max(gammas):g} with it"),
        "fisher": Fact(
            fisher_exact(ends, "greater"), "{:.2f}", "Fisher's one-sided exact test of the runs at γ ≥ .9 and at γ ≤ .7, p"
        ),
        "more": Fact(in_words(more), "{}", f"seeds of the {who} with more at γ ≥ {UPPER:g} than at γ ≤ {LOWER:g}"),
        "fewer": Fact(in_words(fewer), "{}", "seeds with fewer"),
        "sign": Fact(sign_test(more, fewer), "{:.2f}", "one-sided sign test of these seeds, p"),
        "flips": Fact(flips, "{:.2f}", "the same by how many runs more or fewer, sign flips, p"),
        "last-anchors": Fact(
            mean(map(on_the_anchors, late)),
            "{:.0%}",
            "of the last token's first attention on the two anchors of reasoning rows, mean of runs with the paper's circuit",
        ),
        "last-anchors-other": Fact(mean(map(on_the_anchors, other)), "{:.0%}", "the same, mean of the other runs"),
        "pair-first": Fact(
            (sum(way(run) == PAIR_FIRST for run in late), len(late)) if late else None,
            "{} of {}",
            "runs with the paper's circuit whose last token needs the key and no anchor in layer 2, by cuts",
        ),
        "key-first": Fact(
            (sum(way(run) == KEY_FIRST for run in other), len(other)) if other else None,
            "{} of {}",
            "other runs whose last token needs an anchor there and not the key, by cuts",
        ),
        "two-of-nine": Fact(2 / POSITIONS, "{:.0%}", "the same of a causal average"),
        "never": Fact(
            in_words(len({run.spec.seed for run in runs} - of_late)), "{}", "seeds without the paper's circuit at every γ"
        ),
        "earlier": Fact(count(earlier), "{} of {}", f"earlier runs at γ = {SMALL:g} with it, bfloat16"),
        "seeds": Fact(in_words(len({run.spec.seed for run in runs})), "{}", f"seeds of the {who}"),
        "late-runs": Fact(in_words(len(late)), "{}", f"of the {who}"),
        "late-seeds": Fact(in_words(len(of_late)), "{}", "seeds of these"),
        "held-late": Fact(held(late), "{:.0%}", "held-out pairs right at the end, mean of runs with the paper's circuit"),
        "held-other": Fact(held(other), "{:.0%}", "the same, with the other circuit"),
        "pairs": Fact(
            mann_whitney(score, kind, gammas)[0] if split else None,
            "{:.0%}",
            "pairs of runs of one γ in which the other has more",
        ),
        "told": Fact(
            (sum(told), len(told)), "{} of {}", f"runs whose circuit is told by alignment above {TOLD:g} at epoch {DECIDED}"
        ),
        "parted": Fact(
            (attention[1] if attention else None, len(runs)),
            "{} of {}",
            f"runs that the best line, chosen afterwards, parts by the largest distance of the first attention from 1 / i at "
            f"epoch {PARTED}",
        ),
        "told-best": Fact(best and best[1], "{}", f"runs whose circuit is told by alignment at epoch {PARTED}, best line"),
        "told-end": Fact(
            at_end and at_end[0],
            "{:.0%}",
            "pairs of runs, one of either kind, in which the paper's is better aligned at the end",
        ),
        "stands": Fact(in_words(len(out)), "{}", f"of the {who}, W^V's first singular value twice the second at epoch {EARLY}"),
        "stands-late": Fact(in_words(sum(map(selects_late, out))), "{}", "of these, with the paper's circuit"),
        "off-late": Fact(
            mean(map(end, late)),
            "{:.2f}",
            "largest distance of the mean first attention from 1 / i at the end, paper's circuit",
        ),
        "off-other": Fact(mean(map(end, other)), "{:.2f}", "the same, the other circuit"),
        "whole": Fact(mean(found[""] for found in use), "{:.0%}", "new reasoning rows right, paper's circuit"),
        "first-averaged": Fact(
            mean(found[first] for found in use), "{:.0%}", "the same, first attention replaced by the average"
        ),
        "second-averaged": Fact(mean(found[second] for found in use), "{:.0%}", "the same, second attention replaced"),
        "moved": Fact(
            mean(moved(run)["other place"][1] for run in late),
            "{:.0%}",
            "attention at the other sequence's key place, with its keys",
        ),
        "epsilon": Fact(start, "{:.4f}", f"largest ε before training at γ = {SMALL:g}"),
        "stays": Fact(
            in_words(len(stays)), "{}", "ablations at which every ratio of the small start is above every one of the large"
        ),
    }
