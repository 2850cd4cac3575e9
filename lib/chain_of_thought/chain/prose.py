"""Sentences, lines and tables with numbers computed from stored runs: what chapter 15 says of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from lib.chain_of_thought import oracle
from lib.chain_of_thought.chain import numbers
from lib.chain_of_thought.chain.numbers import (
    ENOUGH,
    LEVEL,
    METHODS,
    MIDDLE,
    SHORT,
    SIGNS,
    STAGES,
    SYMBOLS,
    THEORY,
    Curve,
    percent,
    shares,
)
from lib.chain_of_thought.experiments import DELTA, RATE, SETTINGS, SWEEP_RATE, cot_specs
from lib.chain_of_thought.prompts import Trial
from lib.chain_of_thought.task import GROUPS, Prompts, Task
from lib.chain_of_thought.transitions import Transitions, widest_tau, worked_example
from lib.core.measures import spread
from lib.core.store import StoredRun


def settings_table(profile: str) -> list[tuple[str, str]]:
    """The settings of a profile as rows (name, value)."""
    s, task = SETTINGS[profile], dict(cot_specs(profile)[0].task)
    return [
        ("patterns M, steps K, α of training", f"{task['patterns']}, {task['steps']}, {task['alpha']:g}"),
        ("examples in a training prompt", str(task["length"])),
        ("batch, iterations, rate", f"{s.train.batch}, {s.train.steps:,}, {RATE:g}"),
        ("δ, at which W_Q and W_K start", f"{DELTA:g}"),
        ("seeds", str(len(s.seeds))),
        ("sweep of Theorem 4: seeds, rate, at most", f"{len(s.sweep_seeds)}, {SWEEP_RATE:g}, {s.sweep.steps:,} iterations"),
        ("test patterns M'", str(Trial().count)),
        ("test prompts for each point of a curve", f"{s.prompts * len(s.seeds):,}"),
    ]


def path_words(states: Sequence[int]) -> str:
    return " → ".join(str(int(s) + 1) for s in states)


def prompts_line(panels: Mapping[str, Prompts]) -> str:
    say = lambda p: f"query {path_words(p.query)}, examples {', '.join(path_words(e) for e in p.examples)}"
    return "; ".join(f"{title}: {say(p)}" for title, p in panels.items())


def coverage_text(task: Task, prompts: int = 5000) -> str:
    """How often examples match, and how evenly patterns come, in some training prompts."""
    drawn = task.draw(torch.tensor(0), torch.arange(prompts))
    match = (drawn.examples[..., 0] == drawn.query[..., None, 0]).float().mean().item()
    states = drawn.query[:, :-1].flatten().bincount(minlength=task.patterns) / drawn.query[:, :-1].numel()
    return (
        f"In {prompts:,} training prompts {match:.1%} of the examples start at the query's pattern, and each pattern makes up "
        f"{states.min().item():.1%} to {states.max().item():.1%} of the states of queries (even shares would be "
        f"{1 / task.patterns:.1%})."
    )


def example_text() -> str:
    """The worked example in words."""
    found = worked_example()
    b, paths = found.product, found.paths
    rows = "; ".join(f"from {i + 1} they are {b[i, 0]:.2f} and {b[i, 1]:.2f}" for i in range(found.count))
    holds = " and ".join(str(i + 1) for i in range(found.count) if found.holds[i]) or "none"
    fails = " and ".join(str(i + 1) for i in range(found.count) if not found.holds[i]) or "none"
    return (
        f"The correct paths are {path_words(paths[0])} and {path_words(paths[1])}. The probabilities of the two ends: {rows}. "
        f"τ = {found.tau:.2f} and τ_o = {found.tau_o:.2f}. Condition 1 holds from pattern {holds} and fails from "
        f"pattern {fails}."
    )


def ends_words(found: Transitions) -> str:
    """How probable the correct end is, and the most probable wrong one."""
    b = found.product.clone()
    right = b.gather(1, found.paths[:, -1:])[:, 0]
    b.scatter_(1, found.paths[:, -1:], 0)
    return f"τ = {found.tau:.2f}, correct end {right.min().item():.3f}, most probable wrong end {b.amax(1).max().item():.3f}"


def ends_line(found: Mapping[str, Transitions]) -> str:
    return "; ".join(f"{title}: {ends_words(t)}" for title, t in found.items())


def widest_text(steps: int) -> str:
    return f"With {steps} steps this breaks Condition 1 for every τ below {widest_tau(steps):.2f}."


def training_line(runs: Sequence[StoredRun]) -> str:
    final = ", ".join(f"{name} {spread([run.metrics[key] for run in runs], 3)}" for key, name in GROUPS.items())
    loss = np.mean([run.metrics["held out"] for run in runs])
    return f"attention at the end: {final}; held-out loss {loss:.4f}"


def training_text(runs: Sequence[StoredRun]) -> str:
    """The two stages in words."""
    found = [numbers.stage_steps(run) for run in runs]
    if any(step is None for pair in found for step in pair):
        return f"Attention does not reach {ENOUGH:g} in every run."
    first, second = ([pair[i] for pair in found] for i in (0, 1))
    ratio = np.array(second) / np.array(first)
    return (
        f"All attention to columns of the query's step reaches {ENOUGH:g} after {spread(first, 0)} "
        "iterations; all attention "
        f"to columns of its pattern after {spread(second, 0)}, which is {spread(ratio, 1)} times as long. At the end "
        f"{spread([run.metrics['both'] for run in runs], 3)} of the attention is on columns that share both, and "
        f"{spread([100 * run.metrics['right'] for run in runs], 1)} % of the held-out prompts of the training "
        "kind are answered right."
    )


def attended_line(runs: Sequence[StoredRun], trial: Trial) -> str:
    found = numbers.attended(runs, trial)
    return f"attention to {GROUPS['both']} by step of inference: {', '.join(spread(v, 3) for v in found.T)}"


def errors_line(panels: Mapping[str, tuple[str, Mapping[float, Curve], Mapping[float, Curve]]]) -> str:
    say = lambda symbol, curves: ", ".join(f"{symbol} = {v:g} {c.at(MIDDLE)[0]:.4f}" for v, c in sorted(curves.items()))
    return f"errors at {MIDDLE} examples: " + "; ".join(say(symbol, curves) for symbol, curves, _ in panels.values())


def errors_text(runs: Sequence[StoredRun]) -> str:
    """The trained model against the vote, and what no counting can repair."""
    ratio = numbers.against_oracle(runs)
    floors = ", ".join(
        f"{oracle.no_match_floor(a, SHORT, Trial().count):.1e} at α' = {a:g}" for a in numbers.setting(runs).alphas if a < 1
    )
    return (
        f"Over all pairs of α' and τ, wherever the vote errs at least {numbers.SOME:.0%} of the time, the model's error is "
        f"{ratio.min():.2f} to {ratio.max():.2f} times that of the vote, {ratio.mean():.2f} on average. "
        f"A prompt may also hold no example that starts where the query does, so that the first step is a guess. With {SHORT} "
        f"examples that alone costs {floors}: little beside what wrong examples cost."
    )


def comparison_line(panels: Mapping[str, Mapping[str, Curve]]) -> str:
    say = lambda curves: ", ".join(f"{METHODS[n]} {c.mean[0]:.3f} → {c.mean[-1]:.3f}" for n, c in curves.items())
    first = next(iter(next(iter(panels.values())).values())).lengths
    return f"errors from {first[0]} to {first[-1]} examples, " + "; ".join(f"{t}: {say(c)}" for t, c in panels.items())


def comparison_text(panels: Mapping[str, Mapping[str, Curve]]) -> str:
    """Both ways of answering at the longest prompts."""
    lines = []
    for title, curves in panels.items():
        last = int(curves["leap"].lengths[-1])
        lines.append(
            f"- *{title[:1].upper() + title[1:]}.* In-context learning errs {shares(curves['leap'], SHORT)} of the time with "
            f"{SHORT} examples and "
            f"{shares(curves['leap'], last)} with {last}; chain of thought {shares(curves['thought'], SHORT)} and "
            f"{shares(curves['thought'], last)}."
        )
    return "\n".join(lines)


def needed_line(runs: Sequence[StoredRun]) -> str:
    rank, slope = numbers.law(runs)
    points = numbers.examples_needed(runs)
    return (
        f"{min(n for *_, n in points):.0f} to {max(n for *_, n in points):.0f} examples for an error of {LEVEL:g}; "
        f"exponent in 1 / (α'τ) {slope}; rank correlation {rank:+.2f}"
    )


def needed_text(runs: Sequence[StoredRun]) -> str:
    """The fitted exponent beside the theorem's, and those of α' and of τ on their own."""
    _, slope = numbers.law(runs)
    points = numbers.examples_needed(runs)
    out = len(numbers.grid(runs)) - len(points)
    return (
        f"Over all pairs the number of examples grows as α'τ to the power −{slope.value:.2f} (95 % interval {slope.low:.2f} to "
        f"{slope.high:.2f}), the theorem's as the power −2. One at a time, the exponents are {numbers.alone_words(points)}."
        + (f" {out} pairs of α' and τ are not in it, whose error is {LEVEL:g} at no length computed." if out else "")
    )


def lead_text(found: Mapping[float, float | None]) -> str:
    """How the vote's need (numbers.vote_needs) grows as the correct step loses its lead over a single rival, beside the
    theorem's law."""
    known = {tau: n for tau, n in found.items() if n is not None}
    first, last = max(known), min(known)
    p = lambda tau: tau ** (1 / Trial().steps)
    return (
        "With a single rival and α' = 1, the vote needs "
        f"{', '.join(f'{n:.0f} examples at τ = {tau:g}' for tau, n in known.items())}. From the "
        f"first to the last of these the law grows {(first / last) ** 2:.1f} times, and the need "
        f"{known[last] / known[first]:.1f} "
        f"times: the correct step leads by {2 * p(first) - 1:.2f} at τ = {first:g} and by {2 * p(last) - 1:.2f} "
        f"at τ = {last:g}, and "
        f"the lead is gone at τ = {2.0 ** -Trial().steps:g}, where (α'τ)^−2 is {4.0 ** Trial().steps:.0f} still."
    )


def spread_text(found: Mapping[int, tuple[Curve, Curve]], trial: Trial) -> str:
    """What τ does not say."""
    say = [f"{percent(c.at(SHORT))} where wrong steps go to {m} pattern{'s' * (m > 1)}" for m, (c, _) in found.items()]
    return f"At α' = {trial.alpha:g}, τ = {trial.tau:g} and {SHORT} examples the error is {', and '.join(say)}."


def sums_text(curves: Mapping[float, Curve]) -> str:
    """Does it matter how far test patterns are from those of training?"""
    found = {s: c.at(SHORT) for s, c in curves.items()}
    return (
        "Test patterns may lie nearer to those of training or farther off. At S₁ = "
        f"{', '.join(f'{s:g}' for s in found)} the error with {SHORT} examples is "
        f"{', '.join(percent(p) for p in found.values())}."
    )


def steps_line(variants: Mapping[str, Mapping[str, Mapping[float, Sequence[StoredRun]]]]) -> str:
    say = lambda name, groups: f"{SYMBOLS[name]} {_slope(groups)}"
    return "; ".join(
        f"{variant}, exponents: " + ", ".join(say(n, g) for n, g in found.items()) for variant, found in variants.items()
    )


def _slope(groups: Mapping[float, Sequence[StoredRun]], stage: str = "pattern") -> str:
    try:
        return str(numbers.fitted(groups, stage))
    except LookupError:
        return "not to be had"


def steps_text(variants: Mapping[str, Mapping[str, Mapping[float, Sequence[StoredRun]]]]) -> str:
    """Exponents of iterations beside the theory's, stage by stage, and where the means do not go its way."""
    lines = [
        "| until | " + " | ".join(f"exponent of {SYMBOLS[name]}" for name in THEORY) + " |",
        "|---|" + "---|" * len(THEORY),
        "| theory | " + " | ".join(f"{low:g} to {high:g}" for low, high in THEORY.values()) + " |",
    ]
    for variant, found in variants.items():
        for stage, title in STAGES.items():
            lines.append(f"| {variant}: {title} | " + " | ".join(_slope(found[name], stage) for name in THEORY) + " |")
    against = [
        f"{STAGES[stage]} against {SYMBOLS[name]} ({variant})"
        for variant, found in variants.items()
        for name, groups in found.items()
        for stage in STAGES
        if (stage, name) != ("step", "patterns") and not numbers.monotone(groups, SIGNS[name], stage)  # there theory has no M
    ]
    verdict = "Means that are not monotone as the theory says: " + "; ".join(against) if against else "All go the theory's way"
    return "\n".join(lines) + f"\n\n{verdict}."


def search_text(tried: Mapping[str, Sequence[StoredRun]]) -> str:
    """The trials, one line each."""
    head = "| trial | attention to both at the end | held-out loss | iterations to .8 of both |\n|---|---|---|---|\n"
    rows = []
    for name, runs in tried.items():
        steps = [numbers.reached(run, ("both",)) for run in runs]
        when = "never" if None in steps else spread(steps, 0)
        loss = [run.metrics["held out"] for run in runs]
        shown = "diverged" if None in loss or max(loss) > 1 else f"{np.mean(loss):.4f}"
        rows.append(f"| {name} | {spread([run.metrics['both'] for run in runs], 3)} | {shown} | {when} |")
    return head + "\n".join(rows)
