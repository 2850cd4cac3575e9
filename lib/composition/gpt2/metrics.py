"""Numbers of chapter 8: what models of GPT-2's form answer over γ, and which of its parts makes γ decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from lib.composition.diagram import WIDTH, gain, gamma_of_gain
from lib.composition.phase_diagram.metrics import composes, ends, has_counts, inferential, of_one_kind, paired, share_of
from lib.composition.runs import MAPPINGS, exact_kind, learned, learned_among
from lib.composition.study import make_study
from lib.composition.task import INFERENTIAL_OFFSET, N_PLACES, SYMMETRIC_OFFSET, taught
from lib.composition.trajectories import PLAYED
from lib.composition.trends import BY_GAMMA, slope
from lib.composition.variations import (
    AGAIN,
    FACTORS_GAMMAS,
    HEADS,
    NORM,
    NOTHING,
    factor_specs,
    rounded_specs,
    until_learned_specs,
)
from lib.core.model.transformer import from_weights
from lib.core.read.disk_cache import disk_cached
from lib.core.read.fact import Fact, in_words, mean
from lib.core.read.measures import seeds
from lib.core.read.roundings import Arms, arms
from lib.core.read.statistics import RARE, Comparison, compare, flips_either_way, sign_test, sign_test_by
from lib.core.record.store import Store, StoredRun, load, load_stored
from lib.core.sweep.experiment import again

LARGE = 0.3
"""The γ of the large start, against which the smaller ones are held."""


def factor_runs(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    """{what is changed: runs}. Raises LookupError where some are missing."""
    if not any(specs := factor_specs(profile)) or not all(specs.values()):
        raise LookupError(f"the profile {profile} has no runs with one factor changed")
    return {name: load(group, store) for name, group in specs.items()}


def until_learned(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    """{what is changed: runs of small starts until they have learned}. Raises LookupError where some are missing."""
    specs = until_learned_specs(profile)
    if not all(specs.values()):
        raise LookupError(f"the profile {profile} has no runs until all have learned")
    return {name: load(group, store) for name, group in specs.items()}


def composing(runs: Sequence[StoredRun]) -> tuple[int, int]:
    """How many runs, of how many, are of the inferential kind."""
    return sum(exact_kind(run) == MAPPINGS[1] for run in runs), len(runs)


def _counted(
    runs: Sequence[StoredRun], kind: str = MAPPINGS[1], write: Callable[[int], str] = in_words
) -> tuple[str, str] | None:
    """How many runs, of how many, are of a kind, to be read; None where there are no runs."""
    return (write(sum(exact_kind(run) == kind for run in runs)), write(len(runs))) if runs else None


def _at(runs: Sequence[StoredRun], gamma: float) -> list[StoredRun]:
    return [run for run in runs if run.spec.gamma == gamma]


def fewer_by_seed(runs: Sequence[StoredRun], others: Sequence[StoredRun]) -> tuple[float, float, float]:
    """Are fewer of the others inferential? Exact p of the differences between counts of one seed, p of the opposite, and the
    least p that there could be: a seed is one draw, whatever γ its runs have."""
    count = lambda some, seed: composing([run for run in some if run.spec.seed == seed])[0]
    return flips_either_way([count(runs, seed) - count(others, seed) for seed in sorted({run.spec.seed for run in runs})])


@disk_cached(version=1)
def by_place(run: StoredRun) -> np.ndarray:
    """(7 places, 2): the shares of symmetric and of inferential answers to (4, 3) by the place of its key, of a run that keeps
    its weights. At the last place the pair ends the sequence."""
    rows = make_study(run.spec).task.held_out_rows()
    offset = from_weights(run.spec.model, run.weights())(rows.tokens[None])[0].argmax(-1) - rows.key
    of = lambda place, wanted: float((offset[rows.place == place] == wanted).float().mean())
    return np.array([[of(place, wanted) for wanted in (SYMMETRIC_OFFSET, INFERENTIAL_OFFSET)] for place in range(N_PLACES)])


def small(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs of smaller starts than LARGE."""
    return [run for run in runs if run.spec.gamma > LARGE]


def smallest_start(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs of the smallest start."""
    return [run for run in runs if run.spec.gamma == max(one.spec.gamma for one in runs)]


def least_learned(found: Mapping[str, Sequence[StoredRun]]) -> float:
    """Of the runs of smaller starts with one part changed, the share that has learned; of the part with the smallest."""
    return min((len(learned_among(some)) / len(some) for runs in found.values() if (some := small(runs))), default=0.0)


def by_seed(runs: Sequence[StoredRun]) -> float:
    """One-sided p of the sign test over seeds: is a seed's mean inferential share larger at γ above LARGE than at it?"""
    score = [run.metrics["inferential"] for run in runs]
    return sign_test_by(score, [run.spec.gamma > LARGE for run in runs], [run.spec.seed for run in runs])


def played_twins(runs: Sequence[StoredRun], store: Store, profile: str) -> list[tuple[StoredRun, StoredRun]]:
    """Runs, and what is stored of the explorers' runs that have the same settings and seed: only the name of the experiment is
    another, and the program that trained them."""
    same = {replace(run.spec, experiment=PLAYED.name, version=PLAYED.version): run for run in runs}
    stored = load_stored([spec for spec in PLAYED.specs(profile) if spec in same], store)
    return [(same[run.spec], run) for run in stored]


def turn(runs: Sequence[StoredRun]) -> Comparison:
    """Inferential shares, runs at γ above LARGE against those at it. Raises LookupError where there are none of either."""
    score = [run.metrics["inferential"] for run in runs]
    smaller = [run.spec.gamma > LARGE for run in runs]
    if not any(smaller) or all(smaller):
        raise LookupError(f"no runs at γ = {LARGE:g} and above it are stored")
    return compare(score, smaller)


def facts(
    by_norm: Mapping[str, Sequence[StoredRun]],
    found: Mapping[str, Sequence[StoredRun]],
    twins: Sequence[tuple[StoredRun, StoredRun]] = (),
    until: Mapping[str, Sequence[StoredRun]] | None = None,
    rounded: Arms | None = None,
) -> dict[str, Fact]:
    """What the text of chapter 8 says of the runs of either norm, of those with one factor changed, of `played_twins`, of
    small starts trained until they have learned, and of `gate`."""
    facts: dict[str, Fact] = {}
    for title, runs in by_norm.items():
        best = ends(runs)
        value, low, high = slope([run for run in runs if learned(run)] or runs, BY_GAMMA, "inferential")
        who = f"{title}, {len({run.spec.seed for run in runs})} seeds"
        short = title.split("-")[0]
        facts[f"{short}-slope"] = Fact(
            (value, low, high), "{:.2f} ({:.2f} to {:.2f})", f"rank correlation of γ and the inferential share, {who}"
        )
        for mapping in MAPPINGS:
            rests = f"highest mean {mapping} share, {who}, γ = {best.gamma[mapping]:g}"
            facts[f"{short}-{mapping}"] = Fact(best.mean[mapping][mapping], "{:.0%}", rests)
    if first_set := smallest_start(by_norm.get("pre-norm", [])):
        rests = f"inferential, pre-norm, γ = {first_set[0].spec.gamma:g}, the first seeds"
        facts["pre-last"] = Fact(_counted(first_set), "{} of {}", rests)
    changed = {name: runs for name, runs in found.items() if runs}
    facts |= _facts_on_twins(twins)
    fresh = fresh_facts(changed.get(NOTHING, []), (until or {}).get(NOTHING, []), rounded.single if rounded else [])
    return (
        facts
        | (_facts_on_parts(changed) | _facts_on_heads(changed) | _facts_on_norm(changed) if changed else {})
        | unchanged_facts(changed.get(NOTHING, []))
        | until_facts(until or {})
        | gate_facts(rounded)
        | {"fresh-small": fresh["fresh-small"]}
    )


def until_facts(found: Mapping[str, Sequence[StoredRun]]) -> dict[str, Fact]:
    """Of new seeds of small starts, trained until they have learned: who composes, and whether fewer do than with nothing
    changed."""
    facts = {}
    for key, name in (("nothing", NOTHING), ("norm", NORM), ("heads", HEADS)):
        runs = found.get(name, [])
        rests = f"new seeds at γ > {LARGE:g}, until they have learned, changed: {name}"
        facts[f"until-{key}"] = Fact(_counted(runs, write=str), "{} of {}", f"inferential, {rests}")
        if name == NORM:
            some = sum(exact_kind(run) == MAPPINGS[0] for run in runs)
            facts["until-norm-symmetric"] = Fact(some if runs else None, "{}", f"symmetric, {rests}")
        if name != NOTHING:
            p = fewer_by_seed(found[NOTHING], runs)[0] if runs else None
            rests = (
                f"exact one-sided test of differences within seeds, fewer inferential runs than with nothing changed, {rests}"
            )
            facts[f"until-{key}-p"] = Fact(p, "{:.2g}", rests)
    shares = [run.metrics["inferential"] for run in found.get(HEADS, []) if exact_kind(run) == MAPPINGS[1]]
    rests = "least share of key − 10, new seeds with one head that compose"
    facts["until-heads-least"] = Fact(min(shares, default=None), "{:.0%}", rests)
    last = smallest_start(found.get(HEADS, []))
    rests = f"one head, γ = {last[0].spec.gamma:g}, new seeds" if last else "one head"
    facts["until-one-symmetric"] = Fact(_counted(last, MAPPINGS[0], str), "{} of {}", f"symmetric, {rests}")
    facts["until-one-share"] = Fact(
        mean(run.metrics["inferential"] for run in last), "{:.0%}", f"inferential answers, mean, {rests}"
    )
    places = [by_place(run)[:, 1] for run in last if run.has_weights]
    facts["until-one-places"] = Fact(
        (float(np.mean([one[-1] for one in places])), float(np.mean([one[:-1] for one in places]))) if places else None,
        "{:.0%} and {:.0%}",
        f"inferential answers where the pair ends the sequence, and at all other places, {len(places)} runs: {rests}",
    )
    every = [run for runs in found.values() for run in runs]
    rests = "runs of new seeds until they have learned, all three forms, without 99 % of their training rows"
    facts["until-unlearned"] = Fact(in_words(len(every) - len(learned_among(every))) if every else None, "{}", rests)
    return facts


def _facts_on_twins(twins: Sequence[tuple[StoredRun, StoredRun]]) -> dict[str, Fact]:
    """Of runs of the same settings and seed, trained by two programs: which have the same kind, and how far the others are."""
    rests = "pre-norm runs that are stored twice, with one seed and settings, trained by another program; seen in stored runs"
    kinds = [(exact_kind(one), exact_kind(other)) for one, other in twins]
    turned = [pair for pair, (one, other) in zip(twins, kinds, strict=True) if {one, other} == set(MAPPINGS)]
    shares = turned[0] if len(turned) == 1 else ()
    large = [run for _, run in twins if run.spec.gamma == LARGE]
    return {
        "twins-kept": Fact((sum(one == other for one, other in kinds), len(twins)), "{} of {}", f"of the same kind, {rests}"),
        "twins-turned": Fact(in_words(len(turned)), "{}", f"of the other kind, {rests}"),
        "twins-blurred": Fact(in_words(kinds.count((MAPPINGS[0], "neither"))), "{}", f"symmetric, then neither, {rests}"),
        "twins-shares": Fact(
            tuple(run.metrics[exact_kind(run)] for run in shares) or None,
            "{:.0%} and {:.0%}",
            f"shares of the answer of its kind, {rests}",
        ),
        "played-symmetric": Fact(
            mean(run.metrics["symmetric"] for run in large),
            "{:.0%}",
            f"mean symmetric share at γ = {LARGE:g} of the runs of the first page's explorer, the twins of those here",
        ),
    }


_AFTER = "counted after seeing them"


def _facts_on_parts(found: Mapping[str, Sequence[StoredRun]]) -> dict[str, Fact]:
    """Of the runs with one part changed: which of the changes leave the turn over γ, and the answers on either side."""
    turned = {name: turn(runs) for name, runs in found.items()}
    parts = [name for name in found if name not in (NOTHING, NORM)]
    kept = [name for name in parts if turned[name].p <= RARE]
    most = [composing(small(found[name]))[0] for name in parts if name != HEADS]
    ranging = [in_words(number) for number in sorted({min(most, default=0), max(most, default=0)})]
    first = [run for runs in found.values() for run in runs if run.spec.gamma == LARGE]
    counted, there = f"more than half of the answers, runs at γ > {LARGE:g}; {_AFTER}", f"runs at γ = {LARGE:g}, all parts"
    facts = {
        "kept": Fact(in_words(len(kept)), "{}", f"of the other factors, those that leave an exact p of at most {RARE:g}"),
        "factors": Fact(in_words(len(parts)), "{}", "factors beside the norm"),
        "small-others": Fact(" to ".join(ranging), "{}", f"inferential, each of the other parts changed: {counted}"),
        "large-inferential": Fact(_counted(first), "{}", f"inferential {there}"),
        "large-symmetric": Fact(_counted(first, MAPPINGS[0]), "{}", f"symmetric {there}; {_AFTER}"),
        "large-runs": Fact(len(first), "{}", there),
    }
    for key, name in (("nothing", NOTHING), ("norm", NORM), ("heads", HEADS)):
        if name in found:
            runs = small(found[name])
            if name != HEADS:
                facts[f"small-{key}"] = Fact(_counted(runs), "{} of {}", f"inferential, changed: {name}; {counted}")
                rests = f"exact p of more inferential answers at γ > {LARGE:g}, changed: {name}"
                facts[f"p-{key}"] = Fact(turned[name].p, "{:.3f}", rests)
    if {NOTHING, NORM} <= set(found):
        least = sign_test(seeds(found[NOTHING]), 0)
        rests = f"one-sided sign test over seeds, changed: {NOTHING}; the least p that so many seeds allow is {least:.2g}"
        facts["p-nothing-seeds"] = Fact(by_seed(found[NOTHING]), "{:.2f}", rests)
    return facts


def gate(store: Store, profile: str) -> Arms | None:
    """The pre-norm model on sixteen more seeds, under three roundings; None where they are not all stored."""
    with suppress(LookupError):
        return arms(rounded_specs(profile), again(AGAIN, profile), store)
    return None


def more_seeds(store: Store, profile: str) -> list[StoredRun]:
    """Of the same seeds, the runs in single precision; none where some are not stored."""
    with suppress(LookupError):
        return load([spec for spec in again(AGAIN, profile) if not spec.nudge], store)
    return []


def gate_facts(found: Arms | None) -> dict[str, Fact]:
    """What these runs answer in single precision, and how many keep their kind under other roundings, how far off."""
    single = found.single if found else []
    rests = f"pre-norm, nothing changed, {len(single)} runs of more new seeds in single precision"
    several = [gamma for gamma in FACTORS_GAMMAS if len(set(map(exact_kind, _at(single, gamma)))) > 1]
    mixed = [run for run in single if run.spec.gamma in several]
    kept = lambda runs: (len(of_one_kind(paired(runs, mixed))), len(mixed)) if found else None
    there = _at(single, LARGE)
    facts = {
        "gate-seeds": Fact(in_words(seeds(single)) if single else None, "{}", f"seeds, {rests}"),
        "gate-bit": Fact(
            found and kept(found.moved), "{} of {}", f"of one kind when the last bit is moved, γ with several, {rests}"
        ),
        "gate-short": Fact(found and kept(found.short), "{} of {}", f"of one kind in bfloat16, γ with several, {rests}"),
    }
    for key, gamma in zip(("large", "middle", "last"), FACTORS_GAMMAS, strict=True):
        facts[f"gate-{key}"] = Fact(_counted(_at(single, gamma)), "{} of {}", f"inferential, γ = {gamma:g}, {rests}")
    facts["gate-symmetric"] = Fact(_counted(there, MAPPINGS[0]), "{}", f"symmetric, γ = {LARGE:g}; {_AFTER}, {rests}")
    for name, offset in (("six", SYMMETRIC_OFFSET), ("ten", INFERENTIAL_OFFSET), ("sixteen", taught((4, 4)))):
        share = mean(share_of(run, [offset]) for run in there if has_counts(run))
        facts[f"gate-{name}"] = Fact(share, "{:.0%}", f"mean share of key − {-offset}, γ = {LARGE:g}; {_AFTER}, {rests}")
    by = inferential(found) if found else None
    about = "inferential share, mean over runs"
    return facts | {
        "gate-far": Fact(by and float(by.far.mean()), "{:.3f}", f"distance of bfloat16 from single precision, {about}"),
        "gate-near": Fact(by and float(by.null.mean()), "{:.3f}", f"distance by the last bit, {about}"),
        "gate-shift": Fact(by and by.mean_shift, "{:+.3f} ({:+.3f} to {:+.3f})", f"bfloat16 less single precision, {about}"),
    }


def fresh_facts(*groups: Sequence[StoredRun]) -> dict[str, Fact]:
    """Of all new seeds in single precision with nothing changed, pre-norm: who memorizes at LARGE, who composes where."""
    runs = [run for group in groups for run in group]
    large, less = _at(runs, LARGE), small(runs)
    rests = "pre-norm, nothing changed, all new seeds in single precision"
    here = f"at γ = {LARGE:g}, {rests}"
    found = {
        "fresh-small": Fact(_counted(less, write=str), "{} of {}", f"inferential at γ > {LARGE:g}, {rests}"),
        "fresh-seeds": Fact(seeds(large) or None, "{}", f"seeds {here}"),
        "fresh-large": Fact(_counted(large), "{}", f"inferential {here}"),
        "fresh-symmetric": Fact(_counted(large, MAPPINGS[0]), "{}", f"symmetric {here}"),
    }
    for key, gamma in zip(("middle", "last"), FACTORS_GAMMAS[1:], strict=True):
        some = _at(less, gamma)
        found[f"fresh-{key}"] = Fact(_counted(some, write=str), "{} of {}", f"inferential at γ = {gamma:g}, {rests}")
    return found


def unchanged_facts(runs: Sequence[StoredRun]) -> dict[str, Fact]:
    """Of the new seeds in single precision with nothing changed, pre-norm: mean shares at each γ, the large start's of the
    symmetric answer."""
    facts = {}
    gammas = [*sorted({run.spec.gamma for run in runs}), None, None, None]
    for key, gamma, mapping in zip(("large", "middle", "last"), gammas, (MAPPINGS[0], *MAPPINGS[1:] * 2), strict=False):
        here = [] if gamma is None else _at(runs, gamma)
        rests = f"pre-norm, nothing changed, {len(here)} new seeds in single precision" + (f", γ = {gamma:g}" if gamma else "")
        facts[f"unchanged-{key}"] = Fact(mean(run.metrics[mapping] for run in here), "{:.0%}", f"mean {mapping} share, {rests}")
        facts[f"unchanged-{key}-runs"] = Fact(_counted(here, mapping), "{} of {}", f"{mapping}, {rests}")
    return facts


def _facts_on_heads(found: Mapping[str, Sequence[StoredRun]]) -> dict[str, Fact]:
    """Of the runs with one head, beside those with any other part changed but the norm."""
    facts = {}
    five = [run for name, runs in found.items() if name not in (NORM, HEADS) for run in small(runs)]
    one = small(found.get(HEADS, []))
    for key, pick in (("middle", min), ("last", max)):
        gamma = pick((run.spec.gamma for run in [*five, *one]), default=0.0)
        of_five, of_one = (_at(some, gamma) for some in (five, one))
        rests = f"inferential at γ = {gamma:g}; {_AFTER}"
        for name, some, who in (("five", of_five, "all but the norm after and one head"), ("heads", of_one, "one head")):
            facts[f"{name}-{key}"] = Fact(_counted(some), "{} of {}", f"{who}: {rests}")
    for key, some in (("low", _at(found.get(HEADS, []), LARGE)), ("high", smallest_start(one))):
        value = mean(run.metrics["inferential"] for run in some)
        facts[f"heads-{key}"] = Fact(value, "{:.0%}", f"mean inferential share with one head, {key} end of γ")
    width = next((run.spec.model.d_model for run in [*five, *one]), WIDTH)
    here, rests = gamma_of_gain(gain(0.9, width), WIDTH), f"the γ at width {WIDTH} of the gain σ√d that .9 has at width {width}"
    return facts | {
        "gain-here": Fact(here, "{:.2f}", rests),
    }


def _facts_on_norm(found: Mapping[str, Sequence[StoredRun]]) -> dict[str, Fact]:
    """Of the runs with the norm after each part: how many have learned, and how they answer."""
    if NORM not in found:
        return {}
    known = learned_among(small(found[NORM]))
    others = [run for run in small(found[NORM]) if run not in known]
    rests = f"with 99 % of their training rows, changed: {NORM}; γ > {LARGE:g}"
    close = in_words(sum(map(composes, others)))
    return {
        "norm-learned": Fact(in_words(len(known)), "{}", rests),
        "norm-unlearned": Fact(in_words(len(others)), "{}", f"not {rests}"),
        "norm-close": Fact(close, "{}", f"of these, most answers −9, −10 or −11; not {rests}"),
        "norm-learned-inferential": Fact(_counted(known), "{}", f"inferential of those {rests}"),
    }
