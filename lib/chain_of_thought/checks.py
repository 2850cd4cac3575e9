"""What the claims of chapter 15 ask of stored results: numbers over seeds and prompts, and whether a criterion holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from lib.chain_of_thought.chain import numbers
from lib.chain_of_thought.chain.numbers import Curve, Slope
from lib.chain_of_thought.experiments import COT, SETTINGS, STEPS_TO, VARIANTS, Setting, steps_specs
from lib.chain_of_thought.prompts import Trial
from lib.chain_of_thought.task import GROUPS
from lib.chain_of_thought.transitions import worked_example
from lib.core.claim import Finding, graded
from lib.core.measures import spearman, spread
from lib.core.store import Store, StoredRun
from lib.core.sweep import load

SHORT, MIDDLE = 10, 20
"""Examples in the prompts at which curves are compared; chosen before the runs."""
WITHOUT_TAU = 0.3
"""τ of the comparison with in-context learning, at which Condition 1 can fail in three steps."""
CLOSE, SOME = 1.25, 0.01
"""The trained model is held to the oracle up to this factor, where the oracle's error is at least this."""
LEVEL = 0.05
"""The error that Theorem 5's examples are counted to."""
FASTER = 0.5
"""The first stage of training should take at most this share of the iterations of the second."""
THEORY = {"alpha": (-2.0, 0.0), "steps": (1.0, 3.0), "patterns": (0.0, 1.0)}
"""The exponents that α^−2 K^3 + M K (α^−1 + ε^−1) allows, whatever its constants."""
SIGNS = {"alpha": -1, "steps": 1, "patterns": 1}
SYMBOLS = {"alpha": "α", "steps": "K", "patterns": "M"}


def models(store: Store, profile: str) -> list[StoredRun]:
    return load(COT.specs(profile), store)


def setting(runs: Sequence[StoredRun]) -> Setting:
    """The profile's setting that these runs were trained in. Raises LookupError for runs of none."""
    for found in SETTINGS.values():
        if {run.spec.seed for run in runs} <= set(found.seeds) and runs[0].spec.train == found.train:
            return found
    raise LookupError("these runs are of no profile")


def curve(runs: Sequence[StoredRun], name: str, trial: Trial) -> Curve:
    s = setting(runs)
    return numbers.curve(runs, name, trial, s.lengths, s.prompts)


def by_alpha(runs: Sequence[StoredRun], tau: float, name: str = "thought") -> dict[float, Curve]:
    return {a: curve(runs, name, Trial(a, tau)) for a in setting(runs).alphas}


def by_tau(runs: Sequence[StoredRun], alpha: float, name: str = "thought") -> dict[float, Curve]:
    return {t: curve(runs, name, Trial(alpha, t)) for t in setting(runs).taus}


def compared(runs: Sequence[StoredRun], alpha: float = 0.8) -> dict[str, dict[str, Curve]]:
    """Chain of thought and in-context learning, with Condition 1 and without, at the same τ."""
    conditions = {"with Condition 1": "parting", "without Condition 1": "reconverging"}
    return {
        title: {name: curve(runs, name, Trial(alpha, WITHOUT_TAU, errors)) for name in ("thought", "leap")}
        for title, errors in conditions.items()
    }


def falls(found: Curve, share: float = 0.1) -> bool:
    """Is the error of the longest prompts at most this share of what it is with SHORT examples, and does it never rise from one
    length to the next by more than the intervals allow?"""
    low, high = found.interval
    return bool(found.mean[-1] <= share * found.at(SHORT)[0] and (low[1:] <= high[:-1]).all())


def apart(curves: Mapping[float, Curve], length: int = MIDDLE) -> bool:
    """Are the errors at this length ordered, the largest first, with intervals that do not overlap?"""
    points = [curves[value].at(length) for value in sorted(curves)]
    return all(one[1] > other[2] for one, other in pairwise(points))


def shares(found: Curve, *lengths: int) -> str:
    return ", ".join(percent(found.at(length)) for length in lengths)


def percent(point: tuple[float, float, float]) -> str:
    """A share with its interval, in words."""
    return "{:.4f} [{:.4f}, {:.4f}]".format(*point) if point[0] < 0.01 else "{:.3f} [{:.3f}, {:.3f}]".format(*point)


def ordered(runs: Sequence[StoredRun], curves: Mapping[float, Curve], symbol: str) -> Finding:
    last = int(next(iter(curves.values())).lengths[-1])
    words = "; ".join(f"{symbol} = {v:g}: {shares(c, SHORT, MIDDLE, last)}" for v, c in sorted(curves.items()))
    return Finding(
        f"errors at {SHORT}, {MIDDLE} and {last} examples: {words}",
        graded([all(falls(c) for c in curves.values()), apart(curves)]),
        len(runs),
    )


def alpha_orders(store: Store, profile: str) -> Finding:
    runs = models(store, profile)
    return ordered(runs, by_alpha(runs, 0.5), "α'")


def tau_orders(store: Store, profile: str) -> Finding:
    runs = models(store, profile)
    return ordered(runs, by_tau(runs, 0.8), "τ")


def condition(store: Store, profile: str) -> Finding:
    runs = models(store, profile)
    found = compared(runs)
    with_, without = found["with Condition 1"], found["without Condition 1"]
    last = int(without["leap"].lengths[-1])
    stays = bool(without["leap"].mean.min() >= 0.5 and without["leap"].at(last)[1] >= without["leap"].at(SHORT)[1])
    words = "; ".join(
        f"{title}: in-context learning {shares(c['leap'], SHORT, last)}, chain of thought {shares(c['thought'], SHORT, last)}"
        for title, c in found.items()
    )
    parts = [stays, falls(without["thought"], 0.2), falls(with_["leap"], 0.2) and falls(with_["thought"], 0.2)]
    return Finding(f"errors at {SHORT} and {last} examples, τ = {WITHOUT_TAU:g}: {words}", graded(parts), len(runs))


def stage_steps(run: StoredRun) -> tuple[float | None, float | None]:
    """The iterations at which all attention to the query's step, and all to its pattern, reach ENOUGH."""
    return numbers.reached(run, ("both", "step only")), numbers.reached(run, ("both", "pattern only"))


def stages(store: Store, profile: str) -> Finding:
    runs = models(store, profile)
    found = [stage_steps(run) for run in runs]
    first = all(a is not None and b is not None and a <= FASTER * b for a, b in found)
    words = [spread(got, 0) if None not in (got := [pair[i] for pair in found]) else "not in every run" for i in (0, 1)]
    final = [run.metrics["both"] for run in runs]
    return Finding(
        f"iterations until attention reaches {numbers.ENOUGH:g}: to the query's step {words[0]}, to its pattern {words[1]}; "
        f"to both at the end {spread(final, 3)}",
        graded([first, min(final) >= 0.9]),
        len(runs),
    )


def sweeps(store: Store, profile: str, variant: str) -> dict[str, dict[float, list[StoredRun]]]:
    """{setting: {value: runs}} of Theorem 4."""
    load(STEPS_TO.specs(profile), store)
    groups = steps_specs(profile)[variant]
    return {name: {v: load(specs, store) for v, specs in values.items()} for name, values in groups.items()}


def fitted(groups: Mapping[float, Sequence[StoredRun]], stage: str = "pattern") -> Slope:
    """The exponent of iterations in a setting, over the runs that get there. Raises LookupError where these have one value."""
    points = numbers.iterations(groups, stage)
    return numbers.exponent([v for v, _ in points], [s for _, s in points])


def means(groups: Mapping[float, Sequence[StoredRun]], stage: str = "pattern") -> dict[float, float | None]:
    """Mean iterations over the runs of each value; None where a run does not get there."""
    points = numbers.iterations(groups, stage)
    found = {value: [s for v, s in points if v == value] for value in groups}
    return {value: float(np.mean(s)) if len(s) == len(groups[value]) else None for value, s in found.items()}


def monotone(groups: Mapping[float, Sequence[StoredRun]], sign: int, stage: str = "pattern") -> bool:
    """Do all runs get there, and do the means over seeds rise (sign 1) or fall (sign −1) with every step of the setting?"""
    found = [mean for _, mean in sorted(means(groups, stage).items())]
    return None not in found and all(sign * (b - a) > 0 for a, b in pairwise(found))


def iterations(variant: str, store: Store, profile: str) -> Finding:
    found = sweeps(store, profile, variant)
    words = []
    for name, groups in found.items():
        steps = ", ".join(f"{v:g} → {'never' if s is None else format(s, '.0f')}" for v, s in means(groups).items())
        low, high = THEORY[name]
        words.append(f"{SYMBOLS[name]} {steps} (exponent {fitted(groups)}, theory {low:g} to {high:g})")
    runs = next(iter(next(iter(found.values())).values()))
    parts = [monotone(groups, SIGNS[name]) for name, groups in found.items()]
    return Finding("iterations by " + "; ".join(words), graded(parts), len(runs))


def iterations_trained(store: Store, profile: str) -> Finding:
    return iterations(next(iter(VARIANTS)), store, profile)


def iterations_fixed(store: Store, profile: str) -> Finding:
    return iterations(list(VARIANTS)[1], store, profile)


def grid(runs: Sequence[StoredRun], name: str = "thought") -> dict[tuple[float, float], Curve]:
    """The curves of every (α', τ)."""
    s = setting(runs)
    return {(a, t): curve(runs, name, Trial(a, t)) for a in s.alphas for t in s.taus}


def to_zero(store: Store, profile: str) -> Finding:
    runs = models(store, profile)
    found = grid(runs)
    last = int(next(iter(found.values())).lengths[-1])
    worst = max(found, key=lambda where: found[where].at(last)[0])
    below = sum(c.at(last)[2] < SOME for c in found.values())
    return Finding(
        f"at {last} examples the 95 % interval ends below {SOME:g} for {below} of {len(found)} pairs of α' and τ; "
        "the largest error, "
        f"at α' = {worst[0]:g} and τ = {worst[1]:g}, is {shares(found[worst], last)}",
        graded([below == len(found)]),
        len(runs),
    )


def against_oracle(runs: Sequence[StoredRun]) -> np.ndarray:
    """The error of chain of thought over that of the oracle, wherever the latter is at least SOME."""
    ours, theirs = grid(runs), grid(runs, "oracle")
    return np.concatenate([(ours[w].mean / np.maximum(theirs[w].mean, 1e-12))[theirs[w].mean >= SOME] for w in ours])


def as_good_as_counting(store: Store, profile: str) -> Finding:
    runs = models(store, profile)
    ratio = against_oracle(runs)
    return Finding(
        f"error over the oracle's from {ratio.min():.2f} to {ratio.max():.2f}, mean {ratio.mean():.2f}, at {len(ratio)} points",
        graded([bool(ratio.max() <= CLOSE)]),
        len(runs),
    )


def examples_needed(runs: Sequence[StoredRun]) -> list[tuple[float, float, float]]:
    """(α', τ, examples until the error is LEVEL) where that lies inside the curves."""
    found = ((a, t, numbers.needed(c, LEVEL)) for (a, t), c in grid(runs).items())
    return [(a, t, n) for a, t, n in found if n is not None]


def law(runs: Sequence[StoredRun]) -> tuple[float, Slope]:
    """Rank correlation of α'τ with the examples needed, and the exponent of these in 1 / (α'τ). Raises LookupError for fewer
    than three points."""
    points = examples_needed(runs)
    if len(points) < 3:
        raise LookupError(f"the error falls to {LEVEL:g} inside the curves for fewer than three pairs of α' and τ")
    product, count = np.array([a * t for a, t, _ in points]), np.array([n for *_, n in points])
    return spearman(product, count), numbers.exponent(1 / product, count)


def alone(points: Sequence[tuple[float, float, float]]) -> dict[str, list[float]]:
    """The exponents in 1 / α' at each τ, and in 1 / τ at each α', where there are three points at least."""
    found: dict[str, list[float]] = {"1 / α'": [], "1 / τ": []}
    for name, own, other in (("1 / α'", 0, 1), ("1 / τ", 1, 0)):
        for value in sorted({p[other] for p in points}):
            group = [p for p in points if p[other] == value]
            if len(group) > 2:
                found[name].append(numbers.exponent([1 / p[own] for p in group], [p[2] for p in group]).value)
    return found


def alone_words(points: Sequence[tuple[float, float, float]]) -> str:
    return ", ".join(f"{min(v):.2f} to {max(v):.2f} in {name}" for name, v in alone(points).items() if v)


def needed_law(store: Store, profile: str) -> Finding:
    runs = models(store, profile)
    rank, slope = law(runs)
    points = examples_needed(runs)
    return Finding(
        f"{min(n for *_, n in points):.0f} to {max(n for *_, n in points):.0f} examples for an error of {LEVEL:g}, over "
        f"{len(points)} pairs of α' and τ; rank correlation with α'τ {rank:+.2f}; exponent in 1 / (α'τ) {slope}; alone "
        f"{alone_words(points)}",
        graded([rank <= -0.9, slope.high <= 2, all(max(v, default=0) <= 2 for v in alone(points).values())]),
        len(runs),
    )


def attended(runs: Sequence[StoredRun], trial: Trial) -> np.ndarray:
    """(S, K) the attention of each step of inference to columns of the same step and pattern, at MIDDLE examples."""
    s = setting(runs)
    if MIDDLE not in s.lengths:
        raise LookupError(f"prompts of {MIDDLE} examples were not computed")
    return numbers.matched(runs, trial, s.lengths, s.prompts)[:, s.lengths.index(MIDDLE)]


def mechanism(store: Store, profile: str) -> Finding:
    runs = models(store, profile)
    s, reference = setting(runs), attended(runs, Trial())
    everywhere = {(a, t): attended(runs, Trial(a, t)) for a in s.alphas for t in s.taus}
    worst = min(everywhere, key=lambda where: everywhere[where].min())
    return Finding(
        f"attention to {GROUPS['both']} at {MIDDLE} examples, steps 1 to {reference.shape[1]}: "
        f"{', '.join(spread(v, 3) for v in reference.T)} (α' = 0.8, τ = 0.5); the smallest anywhere "
        f"{everywhere[worst].min():.3f} (α' = {worst[0]:g}, τ = {worst[1]:g})",
        graded([bool(reference.min() >= 0.9), bool(everywhere[worst].min() > 0.5)]),
        len(runs),
    )


def example(store: Store, profile: str) -> Finding:
    found = worked_example()
    b = found.product.numpy()
    parts = [
        bool(np.allclose(b, [[0.56, 0.44], [0.64, 0.36]])),
        round(found.tau, 9) == 0.36 and round(found.tau_o, 9) == 0.56,
        not bool(found.holds.all()),
    ]
    return Finding(
        f"B = {b.round(2).tolist()}, τ = {found.tau:.2f}, τ_o = {found.tau_o:.2f}; Condition 1 holds from "
        f"{int(found.holds.sum())} of {found.count} patterns",
        graded(parts),
    )
