"""From stored runs to numbers: errors of trained models on test prompts with intervals, where they look, the two stages of
training, exponents; and what the dials show."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch

from lib.chain_of_thought import oracle
from lib.chain_of_thought.experiments import COT, REACHED, SETTINGS, STEPS_TO, SWEEP_RATE, Setting, steps_specs
from lib.chain_of_thought.inference import Tables, growing, read
from lib.chain_of_thought.models import OneLayerSpec
from lib.chain_of_thought.prompts import Trial
from lib.chain_of_thought.task import Prompts
from lib.core.model.transformer import from_weights
from lib.core.read.disk_cache import disk_cached
from lib.core.read.fact import Fact, mean
from lib.core.read.measures import falls_to, history, mean_std
from lib.core.read.statistics import Trend, log_slope, spearman, wilson
from lib.core.read.web_export import rounded
from lib.core.record.store import Store, StoredRun, load

FIRST_TEST_SEED = 1000
"""Test prompts of a run are those of this seed and its own added up: no two models answer the same prompts."""
ENOUGH = REACHED
"""The level at which attention counts as being somewhere: where the sweep of Theorem 4 stops."""
LOSS = 0.05
LOSSES = {"W_V trained": (0.1, LOSS, 0.02), "W_V fixed": (0.1, LOSS, 0.03)}
"""Of each variant of the sweep the losses at which the directions of Theorem 4 are asked, all chosen after the runs: a loose
one, that of the exponents, and the smallest hundredth that every run reaches before it stops."""
TURN = (0.4, 0.6)
"""Values of α between which iterations to a small loss rise where the theorem has them fall."""
STAGES = {
    "step": f"attention to the step {ENOUGH:g}",
    "pattern": f"to step and pattern {ENOUGH:g}",
    "loss": f"held-out loss {LOSS:g}",
}
"""What is waited for: attention to the query's step, then that to its pattern among these; and a held-out loss of LOSS."""
SHORT, MIDDLE = 10, 20
"""Examples in the prompts at which curves are compared; chosen before the runs."""
WITHOUT_TAU, FAILING = 0.3, 6
"""τ of the comparison with in-context learning, at which Condition 1 can fail in three steps, and from how many of the ten
patterns it does: so that an answer by the most frequent end is wrong about as often as the talk's in-context learning is."""
TALK_ERRORS = {(0.4, 0.5): 0.028, (0.8, 0.4): 0.012}
"""{(α', τ): error at 100 examples} of the uppermost curves of the talk's Figs 17 and 18, read off the plots; which τ and which
α' these have is our reading."""
FIRSTS = (0.0, 0.5, 0.525, 0.55, 0.575, 0.6)
FIRST = 0.525
"""Which share of log τ the first step takes, tried and chosen: with it the vote's errors are nearest to TALK_ERRORS; with
equal steps it hardly ever errs. No model is asked for this, and the prompts
are not those of the figures."""
MOST = 0.5
"""More than this share of the attention is most of it."""
CLOSE, SOME = 1.25, 0.01
"""The trained model is held to the oracle up to this factor, where the oracle's error is at least this."""
LEVEL = 0.05
"""The error that Theorem 5's examples are counted to."""
Points = Sequence[tuple[float, float, float]]
"""(α', τ, examples needed)."""
BOUND = 2
"""Theorem 5: (α'τρ) to minus this power examples are enough, up to a constant; the talk's slide leaves ρ out, and slides of
February 2025 have it: the gap between the correct and the incorrect reasoning."""
THEORY = {"alpha": (-2.0, 0.0), "steps": (1.0, 3.0), "patterns": (0.0, 1.0)}
"""The exponents that α⁻² K³ + M K (α⁻¹ + ε⁻¹) allows, whatever its constants."""
WHOLE = 1.0
"""Where the exponents between neighbouring values differ by more than this, there is no power law."""
SIGNS = {"alpha": -1, "steps": 1, "patterns": 1}
SYMBOLS = {"alpha": "α", "steps": "K", "patterns": "M"}
MANY = 9
"""Competitors where wrong steps are spread over all other patterns."""
METHODS = {"thought": "chain of thought", "leap": "in-context learning", "oracle": "vote of matching examples"}
"""The ways of answering, by their names in CURVES."""
COMPARED = {"ends": "chain of thought: ends", "leap": "in-context learning: ends", "thought": "chain of thought: steps"}
"""What is compared with in-context learning: wrong ends, as it has no steps; and wrong steps beside."""


# --- Runs ---


def main_runs(store: Store, profile: str) -> list[StoredRun]:
    """The stored runs of the main experiment, one a seed. Raises LookupError where one is missing."""
    return load(COT.specs(profile), store)


def setting(runs: Sequence[StoredRun]) -> Setting:
    """The profile's setting that these runs were trained in. Raises LookupError for runs of none."""
    for found in SETTINGS.values():
        if {run.spec.seed for run in runs} <= set(found.seeds) and runs[0].spec.train == found.train:
            return found
    raise LookupError("these runs are of no profile")


def swept_runs(store: Store, profile: str, variant: str) -> dict[str, dict[float, list[StoredRun]]]:
    """{setting: {value: runs}} of Theorem 4. Raises LookupError where a run of the experiment is missing."""
    load(STEPS_TO.specs(profile), store)
    groups = steps_specs(profile)[variant]
    return {name: {v: load(specs, store) for v, specs in values.items()} for name, values in groups.items()}


# --- Answers to test prompts ---


def prompt_seed(run: StoredRun) -> int:
    """The seed of the test prompts that a run answers."""
    return FIRST_TEST_SEED + run.spec.seed


@disk_cached(version=1)
def _shares(run: StoredRun, trial: Trial, lengths: Sequence[int], prompts: int) -> dict[str, np.ndarray]:
    """What a stored model answers to a trial's prompts, as `read` has it. Raises StoreError without weights."""
    tables = Tables(cast(OneLayerSpec, run.spec.model), run.weights(), trial.columns)
    found = read(tables, trial, lengths, prompts, prompt_seed(run))
    return {name: shares.numpy() for name, shares in found.items()}


@dataclass(frozen=True)
class Curve:
    """Errors against lengths (G,) of all runs together: `by_run` (S, G) for each, `prompts` answered by all of them."""

    lengths: np.ndarray
    by_run: np.ndarray
    prompts: int

    @property
    def mean(self) -> np.ndarray:
        return self.by_run.mean(0)

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Wilson's 95 % interval, (G,) each, from the number of prompts. For a mean over the steps of a prompt it is too wide
        rather than too narrow: such a mean varies less than a single answer."""
        low, high = zip(*(wilson(share * self.prompts, self.prompts) for share in self.mean), strict=True)
        return np.array(low), np.array(high)

    def at(self, length: int) -> tuple[float, float, float]:
        """Mean, low, high. Raises LookupError for a length that was not computed."""
        if not (found := np.flatnonzero(self.lengths == length)).size:
            raise LookupError(f"prompts of {length} examples were not computed")
        mean, low, high = (float(v[found[0]]) for v in (self.mean, *self.interval))
        return mean, low, high


CURVES: dict[str, Callable[[Mapping[str, np.ndarray]], np.ndarray]] = {
    "thought": lambda shares: shares["thought"].mean(1),
    "ends": lambda shares: shares["thought"][:, -1],
    "oracle": lambda shares: shares["oracle"].mean(1),
    "leap": lambda shares: shares["leap"],
}
"""Chain of thought and the oracle: the mean over steps of the share of wrong answers; its ends: the last step's; in-context
learning: that of wrong ends."""


def curve(runs: Sequence[StoredRun], name: str, trial: Trial) -> Curve:
    """One of CURVES on a trial, at the lengths and with the prompts for each run that the runs' setting has."""
    s = setting(runs)
    found = [CURVES[name](_shares(run, trial, s.lengths, s.prompts)).astype(float) for run in runs]
    return Curve(np.array(s.lengths), np.array(found), s.prompts * len(runs))


def vote_curve(trial: Trial, lengths: Sequence[int], prompts: int, seed: int = FIRST_TEST_SEED) -> Curve:
    """The errors of the vote alone, for trials that no model is asked about."""
    drawn = trial.draw(seed, prompts, max(lengths))
    answers = [
        oracle.chain(counts, trial.columns, drawn.query[:, 0], seed) for counts, _ in growing(trial.columns, drawn, lengths)
    ]
    wrong = torch.stack([(answer != drawn.query[:, 1:]).double().mean() for answer in answers])
    return Curve(np.array(lengths), wrong[None].numpy(), prompts)


@lru_cache(maxsize=8)
def vote_of_ends(trial: Trial, length: int, prompts: int, seed: int) -> float:
    """The share of wrong ends of a vote without training, among the ends of those examples that start where the query does:
    what in-context learning comes to where attention is perfect. Of one seed's test prompts of so many examples."""
    drawn, columns = trial.draw(seed, prompts, length), trial.columns
    ((_, direct),) = growing(columns, drawn, (length,))
    votes = oracle.votes(direct, columns, drawn.query[:, 0], 0)
    answer = oracle.plurality(votes, torch.tensor(seed), torch.arange(prompts))
    return float((answer != drawn.query[:, -1]).double().mean())


def by_alpha(runs: Sequence[StoredRun], tau: float, name: str = "thought") -> dict[float, Curve]:
    """Fig. 17, with a first step that is harder than the others."""
    return {a: curve(runs, name, Trial(a, tau, first=FIRST)) for a in setting(runs).alphas}


def by_tau(runs: Sequence[StoredRun], alpha: float, name: str = "thought") -> dict[float, Curve]:
    """Fig. 18, with the same first step."""
    return {t: curve(runs, name, Trial(alpha, t, first=FIRST)) for t in setting(runs).taus}


def hardness(prompts: int = 4000) -> dict[float, dict[tuple[float, float], float]]:
    """{share of log τ in the first step: {(α', τ): the vote's error at 100 examples}}, on prompts of their own."""
    found = lambda alpha, tau, first: vote_curve(Trial(alpha, tau, first=first), (100,), prompts, FIRST_TEST_SEED - 1)
    return {first: {place: float(found(*place, first).mean[0]) for place in TALK_ERRORS} for first in FIRSTS}


def hardness_rows() -> list[tuple[str, ...]]:
    """(share of log τ in the first step, the vote's errors at 100 examples); the talk's last."""
    rows = [(f"{first:g}", *(f"{error:.4f}" for error in found.values())) for first, found in hardness().items()]
    return [*rows, ("talk", *(f"{error:g}" for error in TALK_ERRORS.values()))]


def failing(alpha: float) -> Trial:
    """The test prompts without Condition 1."""
    return Trial(alpha, WITHOUT_TAU, "reconverging", starts=FAILING)


def compared(runs: Sequence[StoredRun], alpha: float) -> dict[str, dict[str, Curve]]:
    """Chain of thought and in-context learning, with Condition 1 and without, at the same τ."""
    conditions = {"with Condition 1": Trial(alpha, WITHOUT_TAU), "without Condition 1": failing(alpha)}
    return {title: {name: curve(runs, name, trial) for name in COMPARED} for title, trial in conditions.items()}


def grid(runs: Sequence[StoredRun], name: str = "thought") -> dict[tuple[float, float], Curve]:
    """The curves of every (α', τ)."""
    s = setting(runs)
    return {(a, t): curve(runs, name, Trial(a, t)) for a in s.alphas for t in s.taus}


def spread_curves(runs: Sequence[StoredRun], trial: Trial) -> dict[int, tuple[Curve, Curve]]:
    """{competitors: (curve of the models, of the vote)} at one α' and τ."""
    kinds = {many: Trial(trial.alpha, trial.tau, competitors=many) for many in (1, MANY)}
    return {many: (curve(runs, "thought", t), curve(runs, "oracle", t)) for many, t in kinds.items()}


def against_oracle(runs: Sequence[StoredRun]) -> np.ndarray:
    """The error of chain of thought over that of the oracle, wherever the latter is at least SOME."""
    ours, theirs = grid(runs), grid(runs, "oracle")
    return np.concatenate([(ours[w].mean / np.maximum(theirs[w].mean, 1e-12))[theirs[w].mean >= SOME] for w in ours])


# --- Where a trained model looks ---


def matched(runs: Sequence[StoredRun], trial: Trial) -> np.ndarray:
    """(S, G, K) the mean attention at each step of inference to columns of the same step and pattern, by the setting's
    lengths."""
    s = setting(runs)
    return np.array([_shares(run, trial, s.lengths, s.prompts)["matched"] for run in runs])


def attended(runs: Sequence[StoredRun], trial: Trial) -> np.ndarray:
    """(S, K) the attention of each step of inference to columns of the same step and pattern, at MIDDLE examples."""
    if MIDDLE not in (lengths := setting(runs).lengths):
        raise LookupError(f"prompts of {MIDDLE} examples were not computed")
    return matched(runs, trial)[:, lengths.index(MIDDLE)]


def attended_by_alpha(runs: Sequence[StoredRun], tau: float) -> dict[float, np.ndarray]:
    """{α': (S, K)} of `attended`."""
    return {a: attended(runs, Trial(a, tau)) for a in setting(runs).alphas}


@torch.no_grad()
def looked_at(run: StoredRun, trial: Trial, examples: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """(K, n), (K, n) of one short test prompt: the attention at each step of its correct path, by one trained model on real
    columns, and which columns of the examples are of the same step and pattern. Raises StoreError without weights."""
    prompts = trial.draw(0, 1, examples)
    model, weights, same = from_weights(run.spec.model, run.weights()), [], []
    for step in range(1, trial.steps + 1):
        now = Prompts(prompts.examples, prompts.query, torch.tensor([step]))
        weights.append(model.weights(trial.columns.vectors(trial.columns.kinds(now))[None])[0, 0].numpy())
        same.append(np.pad(now.groups[0, 0].numpy(), (0, trial.steps - 1)))
    return np.array(weights), np.array(same)


# --- Examples needed ---


def needed(found: Curve, level: float) -> float | None:
    """The number of examples at which the error first falls to a level, on the straight line between logarithms around it; None
    where no length is long enough, or the shortest is."""
    if found.mean[0] <= level:
        return None
    at = falls_to(np.log(found.lengths), np.log(np.maximum(found.mean, 1e-12)), math.log(level))
    return None if at is None else math.exp(at)


def vote_needs() -> dict[float, float | None]:
    """{τ: examples until the vote's error is LEVEL}, with a single rival and α' = 1."""
    lengths = (10, 20, 30, 40, 60, 80, 100, 150, 200, 300, 400)
    return {tau: needed(vote_curve(Trial(1.0, tau), lengths, 2000), LEVEL) for tau in (0.4, 0.3, 0.2)}


def examples_needed(runs: Sequence[StoredRun]) -> list[tuple[float, float, float]]:
    """(α', τ, examples until the error is LEVEL) where that lies inside the curves."""
    found = ((a, t, needed(c, LEVEL)) for (a, t), c in grid(runs).items())
    return [(a, t, n) for a, t, n in found if n is not None]


def even(values: Sequence[float] | np.ndarray, digits: int) -> str:
    """Mean ± standard deviation, without the latter where its digits are all 0."""
    return mean_std(values, digits).removesuffix(f" ± {0:.{digits}f}")


def exponent(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> Trend:
    """Least squares between logarithms. Raises LookupError for fewer than two values of x."""
    if len(set(x)) < 2:
        raise LookupError("fewer than two settings have a value, so there is no exponent")
    return log_slope(list(x), list(y))


def gap(tau: float) -> float:
    """ρ of the trials of `grid` at a τ."""
    return Trial(tau=tau).transitions.gap


def law(runs: Sequence[StoredRun]) -> tuple[float, Trend]:
    """Rank correlation of α'τρ with the examples needed, and the exponent of these in 1 / (α'τρ). Raises LookupError for fewer
    than three points."""
    points = examples_needed(runs)
    if len(points) < 3:
        raise LookupError(f"the error falls to {LEVEL:g} inside the curves for fewer than three pairs of α' and τ")
    product, count = np.array([a * t * gap(t) for a, t, _ in points]), np.array([n for *_, n in points])
    return spearman(product, count), exponent(1 / product, count)


def exponents(points: Points, size: Callable[[float, float], float], fixed: int) -> list[float]:
    """The exponents in 1 / size(α', τ) at each value of the coordinate that is `fixed`, 0 (α') or 1 (τ), where there are three
    points at least."""
    groups = [[p for p in points if p[fixed] == value] for value in sorted({p[fixed] for p in points})]
    return [exponent([1 / size(a, t) for a, t, _ in g], [n for *_, n in g])[0] for g in groups if len(g) > 2]


def alone(points: Points) -> dict[str, list[float]]:
    """The exponents in 1 / α' at each τ, and in 1 / (τρ) at each α'."""
    return {
        "1 / α'": exponents(points, lambda alpha, _: alpha, fixed=1),
        "1 / (τρ)": exponents(points, lambda _, tau: tau * gap(tau), fixed=0),
    }


# --- Training ---


def reached(run: StoredRun, names: Sequence[str], level: float = ENOUGH, falling: bool = False) -> float | None:
    """The iteration at which a sum of a run's numbers reaches a level, from below or `falling`, on the straight line between
    evaluations; None for never."""
    tracks = [history([run], name) for name in names]
    values, sign = np.sum([track[0] for _, track in tracks], 0), 1 if falling else -1
    return falls_to(tracks[0][0], sign * values, sign * level)


def stage_steps(run: StoredRun) -> tuple[float | None, float | None]:
    """The iterations at which all attention to the query's step, and all to its pattern, reach ENOUGH."""
    return reached(run, ("both", "step only")), reached(run, ("both", "pattern only"))


def until(run: StoredRun, stage: str, loss: float = LOSS) -> float | None:
    """Iterations to the end of one of STAGES, that of the loss at a level."""
    if stage == "loss":
        return reached(run, ("held out",), loss, falling=True)
    return reached(run, ("both",) if stage == "pattern" else ("both", "step only"))


def iterations(
    groups: Mapping[float, Sequence[StoredRun]], stage: str = "pattern", loss: float = LOSS
) -> list[tuple[float, float]]:
    """(value of the setting, iterations) of every run that gets there."""
    found = ((value, until(run, stage, loss)) for value, runs in groups.items() for run in runs)
    return [(value, steps) for value, steps in found if steps is not None]


def fitted(groups: Mapping[float, Sequence[StoredRun]], stage: str = "pattern") -> Trend | None:
    """The exponent of iterations in a setting, over the runs that get there; None where these have one value."""
    points = iterations(groups, stage)
    return exponent(*zip(*points, strict=True)) if len({v for v, _ in points}) > 1 else None


def local(groups: Mapping[float, Sequence[StoredRun]], stage: str = "pattern") -> dict[tuple[float, float], float]:
    """{(value, next value): exponent of the mean iterations between them}, where all runs get there."""
    known = [(value, mean) for value, mean in sorted(means(groups, stage).items()) if mean is not None]
    return {(a, b): math.log(two / one) / math.log(b / a) for (a, one), (b, two) in pairwise(known)}


def bent(groups: Mapping[float, Sequence[StoredRun]], stage: str = "pattern") -> bool:
    """Do the exponents between neighbouring values differ by more than WHOLE, so that one for all says nothing?"""
    found = list(local(groups, stage).values())
    return bool(found) and max(found) - min(found) > WHOLE


def power_words(groups: Mapping[float, Sequence[StoredRun]], stage: str) -> str:
    """The exponent, where there is a power law."""
    slope = fitted(groups, stage)
    return "never there" if slope is None else "no power law" if bent(groups, stage) else f"{slope[0]:z.2f}".replace("-", "−")


def means(groups: Mapping[float, Sequence[StoredRun]], stage: str = "pattern", loss: float = LOSS) -> dict[float, float | None]:
    """Mean iterations over the runs of each value; None where a run does not get there."""
    points = iterations(groups, stage, loss)
    found = {value: [s for v, s in points if v == value] for value in groups}
    return {value: float(np.mean(s)) if len(s) == len(groups[value]) else None for value, s in found.items()}


def own_settings(profile: str) -> list[tuple[str, str]]:
    """(setting, value) of what is not in every spec."""
    s, task = SETTINGS[profile], dict(COT.specs(profile)[0].task)
    return [
        ("patterns M, steps K, α of training", f"{task['patterns']}, {task['steps']}, {task['alpha']:g}"),
        ("examples in a training prompt", str(task["length"])),
        ("iterations", f"{s.train.steps:,}, constant rate"),
        (
            "sweep of Theorem 4: seeds, learning rate, at most",
            f"{len(s.sweep_seeds)}, {SWEEP_RATE:g}, {s.sweep.steps:,} iterations",
        ),
        ("test patterns M', test prompts for a point", f"{Trial().count}, {s.prompts * len(s.seeds):,}"),
    ]


def trial_rows(tried: Mapping[str, Sequence[StoredRun]]) -> list[tuple[str, ...]]:
    """(trial, attention to step and pattern at the end, iterations to ENOUGH of it)."""
    rows = []
    for name, runs in tried.items():
        steps = [reached(run, ("both",)) for run in runs]
        taken = [step for step in steps if step is not None]
        when = even(taken, 0) if len(taken) == len(steps) else "not in every run" if any(steps) else "never"
        loss = [run.metrics["held out"] for run in runs]
        when += ", diverged" * (None in loss or max(loss) > 1)
        title = name.replace("W_V", "$W_V$").replace("rate", "learning rate")
        rows.append((title, f"{np.mean([run.metrics['both'] for run in runs]):.2f}", when))
    return rows


def exponent_rows(variants: Mapping[str, Mapping[str, Mapping[float, Sequence[StoredRun]]]]) -> list[tuple[str, ...]]:
    """(what is waited for, its exponents in α, K and M, with W_V trained and fixed); the theorem's last."""
    rows = [
        (name, *(" / ".join(power_words(found[key], stage) for found in variants.values()) for key in SYMBOLS))
        for stage, name in STAGES.items()
    ]
    return [*rows, ("*Theorem 4, for the loss*", *(f"{low:g} to {high:g}".replace("-", "−") for low, high in THEORY.values()))]


def level_rows(variants: Mapping[str, Mapping[str, Mapping[float, Sequence[StoredRun]]]]) -> list[tuple[str, ...]]:
    """(variant, level of the loss, mean iterations to it at each value of α), at LOSSES."""
    rows = []
    for variant, found in variants.items():
        for loss in LOSSES[variant]:
            steps = means(found["alpha"], "loss", loss).values()
            rows.append((f"${variant[:3]}${variant[3:]}", f"{loss:g}", *("–" if n is None else f"{n:.0f}" for n in steps)))
    return rows


def facts(
    runs: Sequence[StoredRun],
    compared_: Mapping[str, Mapping[str, Curve]],
    variants: Mapping[str, Mapping[str, Mapping[float, Sequence[StoredRun]]]],
    trial: Trial,
) -> dict[str, Fact]:
    """What the text of chapter 15 says; `compared_` as `compared` gives it, `variants` by whether W_V is trained."""
    who = f"{len(runs)} seeds"
    first, second = zip(*map(stage_steps, runs), strict=True)
    looks = attended(runs, trial)
    errors = by_alpha(runs, trial.tau)
    last = int(next(iter(errors.values())).lengths[-1])
    without, with_ = compared_["without Condition 1"], compared_["with Condition 1"]
    rank, slope = law(runs) if len(examples_needed(runs)) > 2 else (None, None)
    spread_ = spread_curves(runs, trial)
    vote = {tau: n for tau, n in vote_needs().items() if n is not None}
    most, least = (max(vote), min(vote)) if vote else (math.nan, math.nan)
    slopes = {name: fitted(groups, "loss") for name, groups in variants[next(iter(variants))].items()}
    found = {
        "step": Fact(mean(first), "{:.0f}", f"iterations until attention to the query's step is {ENOUGH:g}, mean of {who}"),
        "pattern": Fact(mean(second), "{:.0f}", f"iterations until attention to its pattern is {ENOUGH:g}, mean of {who}"),
        "both": Fact(mean(run.metrics["both"] for run in runs), "{:.2f}", f"attention to both at the end, mean of {who}"),
        "looks-first": Fact(float(looks[:, 0].mean()), "{:.2f}", f"attention to the same step and pattern, step 1, {who}"),
        "looks-last": Fact(float(looks[:, -1].mean()), "{:.2f}", f"the same, step {looks.shape[1]}"),
        "smallest": Fact(
            errors[min(errors)].mean[-1], "{:.3f}", f"wrong steps at {last} examples, smallest α', first step harder"
        ),
        "smallest-tau": Fact(
            (rare := by_tau(runs, trial.alpha))[min(rare)].mean[-1], "{:.3f}", f"wrong steps at {last} examples, smallest τ"
        ),
        "vote": Fact(
            max(map(float, against_oracle(runs)), default=None),
            "{:.2f}",
            f"error over the vote's, highest where that is at least {SOME:g}",
        ),
        "icl-without": Fact(
            without["leap"].mean[-1], "{:.0%}", f"wrong ends at {last} examples, in context, without Condition 1"
        ),
        "cot-without": Fact(without["ends"].mean[-1], "{:.0%}", f"wrong ends at {last} examples, chain of thought, without it"),
        "icl-with": Fact(with_["leap"].mean[-1], "{:.0%}", f"wrong ends at {last} examples, in context, with Condition 1"),
        "cot-with": Fact(with_["ends"].mean[-1], "{:.0%}", f"wrong ends at {last} examples, chain of thought, with it"),
        "vote-ends": Fact(
            mean(vote_of_ends(failing(trial.alpha), last, setting(runs).prompts, seed) for seed in map(prompt_seed, runs)),
            "{:.0%}",
            f"wrong ends of a vote among matching examples' ends, without training, at {last} examples, on the same prompts",
        ),
        "frequent": Fact(FAILING / trial.count, "{:.0%}", "starts from which the most frequent end is wrong"),
        "exponent": Fact(
            slope,
            "{:.2f} ({:.2f} to {:.2f})",
            f"examples needed against 1 / (α'τρ), {who}",
        ),
        "rank": Fact(rank, "{:.2f}", "rank correlation of α'τρ with the examples needed"),
        "one-rival": Fact(spread_[1][0].at(SHORT)[0], "{:.1%}", f"wrong steps, {SHORT} examples, one wrong pattern"),
        "many-rivals": Fact(spread_[MANY][0].at(SHORT)[0], "{:.1%}", f"wrong steps, {SHORT} examples, {MANY} wrong patterns"),
        "vote-grows": Fact(
            vote[least] / vote[most] if vote else None, "{:.0f}", f"examples of a vote, τ = {least} over τ = {most}, one rival"
        ),
        "law-grows": Fact((most / least) ** BOUND if vote else None, "{:.0f}", "the same by the law without ρ"),
        "gap-grows": Fact(
            (most * gap(most) / (least * gap(least))) ** BOUND if vote else None, "{:.0f}", "the same by the law with ρ"
        ),
    }
    for name, variant, place in (("loose", "W_V trained", 1), ("strict", "W_V trained", 2), ("fixed", "W_V fixed", 2)):
        loss = LOSSES[variant][place]
        steps = means(variants[variant]["alpha"], "loss", loss)
        found[f"alpha-{name}"] = Fact(
            tuple(map(steps.get, TURN)),
            "{:.0f} to {:.0f}",
            f"mean iterations to a loss of {loss:g} at α = {TURN[0]:g} and α = {TURN[1]:g}, {variant}",
        )
    for name, key in (("steps", "k"), ("patterns", "m")):
        value = one[0] if (one := slopes[name]) is not None else None
        found[f"slope-{key}"] = Fact(
            value, "{:.2f}", f"exponent of the iterations to a loss of {LOSS:g} in {SYMBOLS[name]}, W_V trained"
        )
    return found


# --- Dials ---


def dials_data(runs: Sequence[StoredRun], profile: str, alpha: float = 0.8, tau: float = 0.5) -> dict[str, Any]:
    """What lib.book.dials needs; a reader's own α' and τ join the stops."""
    s = setting(runs)
    alphas, taus, lengths = sorted({*s.alphas, alpha}), sorted({*s.taus, tau}), list(s.lengths)
    nested = lambda leaves: [[leaves(Trial(a, t)) for t in taus] for a in alphas]

    def errors(name: str) -> Callable[[Trial], list[list[float]]]:
        def leaves(trial: Trial) -> list[list[float]]:
            found = curve(runs, name, trial)
            return [[rounded(v, 5) for v in found.at(length)] for length in lengths]

        return leaves

    def attention(step: int) -> Callable[[Trial], list[float]]:
        shares = lambda trial: matched(runs, trial)[:, :, step].mean(0)
        return lambda trial: [rounded(v) for v in shares(trial)]

    ids = {"thought": "cot", "leap": "icl", "oracle": "oracle"}
    series = [{"id": id, "label": METHODS[name], "values": nested(errors(name))} for name, id in ids.items()]
    items = [{"label": f"step {k + 1}", "values": nested(attention(k))} for k in range(Trial().steps)]
    return {
        "dials": [
            {"id": "alpha", "label": "share of matching examples α′", "values": alphas},
            {"id": "tau", "label": "probability of a correct path τ", "values": taus},
            {"id": "length", "label": "examples in the prompt", "values": lengths},
        ],
        "x": "length",
        "fan": "alpha",
        "y": {"label": "share of wrong answers", "log": True, "low": 1e-4, "high": 1},
        "series": series,
        "bars": {"label": "attention to columns of the same step and pattern at", "items": items},
        "start": {"alpha": alpha, "tau": tau, "length": MIDDLE},
        "about": (
            f"Means over {len(runs)} models, {s.prompts:,} prompts each, profile {profile}, and 95 % intervals "
            "over prompts; for chain of thought and the vote the share of wrong steps, for in-context learning that of wrong "
            "ends."
        ),
    }
