"""Sentences, lines and tables with numbers computed from stored runs: what chapter 15 says of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from lib.chain_of_thought import oracle
from lib.chain_of_thought.chain import numbers
from lib.chain_of_thought.chain.numbers import (
    BOUND,
    CLOSE,
    ENOUGH,
    LEVEL,
    METHODS,
    MIDDLE,
    MOST,
    SHORT,
    SIGNS,
    SOME,
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
from lib.core.read.measures import spread
from lib.core.record.store import StoredRun

LITTLE = 0.1
"""What adds at most this share to something is little beside it."""
Panels = Mapping[str, tuple[str, Mapping[float, Curve], Mapping[float, Curve]]]
"""{title: (symbol, curves of trained models, of the vote)} of the figure of errors."""


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
    order = (
        "First the model finds the columns of its step, whatever their pattern. Then, among these, it finds its pattern."
        if (ratio > 1).all()
        else "So the step is not found before the pattern in every run."
    )
    return (
        f"All attention to columns of the query's step reaches {ENOUGH:g} after {spread(first, 0)} iterations; all attention "
        f"to columns of its pattern after {spread(second, 0)}, which is {spread(ratio, 1)} times as long. At the end "
        f"{spread([run.metrics['both'] for run in runs], 3)} of the attention is on columns that share both, and "
        f"{spread([100 * run.metrics['right'] for run in runs], 1)} % of the held-out prompts of the training kind are "
        f"answered right.\n\n{order}"
    )


def attended_line(runs: Sequence[StoredRun], trial: Trial) -> str:
    found = numbers.attended(runs, trial)
    return f"attention to {GROUPS['both']} by step of inference: {', '.join(spread(v, 3) for v in found.T)}"


def attended_text(runs: Sequence[StoredRun], trial: Trial) -> str:
    """Does a trained model look where the mechanism says, and at later steps less?"""
    by_step = numbers.attended(runs, trial).mean(0)
    if by_step.min() > MOST:
        text = "It looks there, on patterns that it never saw."
    else:
        step = int(by_step.argmin()) + 1
        text = f"At step {step} it looks there with {by_step[step - 1]:.2f} of its attention only."
    if (np.diff(by_step) < 0).all() and trial.tau < 1:
        text += (
            f" From {by_step[0]:.3f} at the first step it goes down to {by_step[-1]:.3f} at the last. Some examples have "
            "strayed from the path by then, so there are fewer columns to find, and the rest of the attention is spread over "
            "the same number of others."
        )
    return text


def errors_line(panels: Panels) -> str:
    say = lambda symbol, curves: ", ".join(f"{symbol} = {v:g} {c.at(MIDDLE)[0]:.4f}" for v, c in sorted(curves.items()))
    return f"errors at {MIDDLE} examples: " + "; ".join(say(symbol, curves) for symbol, curves, _ in panels.values())


def errors_text(runs: Sequence[StoredRun], panels: Panels) -> str:
    """The trained model against the vote, what no counting can repair, and whether more and better examples help."""
    ratio, curves = numbers.against_oracle(runs), numbers.grid(runs)
    floors = {a: oracle.no_match_floor(a, SHORT, Trial().count) for a, _ in curves if a < 1}
    least = {a: min(c.at(SHORT)[0] for (b, _), c in curves.items() if b == a) for a in floors}
    cost = ", ".join(f"{floor:.1e} at α' = {a:g}" for a, floor in floors.items())
    little = all(floors[a] <= LITTLE * least[a] for a in floors)
    disordered = [
        symbol for symbol, found, _ in panels.values() if (np.diff([found[v].at(MIDDLE)[0] for v in sorted(found)]) >= 0).any()
    ]
    text = ""
    if ratio.size:
        text = (
            f"Over all pairs of α' and τ, wherever the vote errs at least {SOME:.0%} of the time, the model's error is "
            f"{ratio.min():.2f} to {ratio.max():.2f} times that of the vote, {ratio.mean():.2f} on average. "
        )
    text += (
        "A prompt may also hold no example that starts where the query does, so that the first step is a guess. "
        f"With {SHORT} examples that alone costs {cost}"
    )
    text += ": little beside what wrong examples cost.\n\n" if little else ".\n\n"
    if disordered:
        text += f"At {MIDDLE} examples the error does not fall with every step of {' and of '.join(disordered)}."
    else:
        text += "More matching examples and more reliable ones both help, in the order that the talk shows."
    if ratio.size and ratio.max() <= CLOSE:
        text += " And the trained model is nearly as good as the vote."
        text += " So what limits it is not the model: it is what the prompt holds."
    elif ratio.size:
        text += " The vote does better than the trained model, so the prompt is not all that limits it."
    return text


def comparison_line(panels: Mapping[str, Mapping[str, Curve]]) -> str:
    say = lambda curves: ", ".join(f"{METHODS[n]} {c.mean[0]:.3f} → {c.mean[-1]:.3f}" for n, c in curves.items())
    first = next(iter(next(iter(panels.values())).values())).lengths
    return f"errors from {first[0]} to {first[-1]} examples, " + "; ".join(f"{t}: {say(c)}" for t, c in panels.items())


def comparison_text(panels: Mapping[str, Mapping[str, Curve]]) -> str:
    """Both ways of answering at the longest prompts, with Condition 1 and without (as numbers.compared has them)."""
    lines = []
    for title, curves in panels.items():
        last = int(curves["leap"].lengths[-1])
        lines.append(
            f"- *{title[:1].upper() + title[1:]}.* In-context learning errs {shares(curves['leap'], SHORT)} of the time with "
            f"{SHORT} examples and {shares(curves['leap'], last)} with {last}; chain of thought "
            f"{shares(curves['thought'], SHORT)} and {shares(curves['thought'], last)}."
        )
    gain = {
        (title, name): c.mean[-1] / max(c.at(SHORT)[0], 1e-12) for title, curves in panels.items() for name, c in curves.items()
    }
    with_, without = "with Condition 1", "without Condition 1"
    if gain[without, "leap"] > 1:
        text = (
            "Without Condition 1, more examples make in-context learning *more* wrong: it grows sure of the wrong end, which "
            "is in fact the most frequent one."
        )
    else:
        text = "Without Condition 1, more examples do not make in-context learning more wrong here."
    text += (
        " Chain of thought gets right all the same. It never looks at ends, only at steps, and each of these is most often "
        "right."
        if gain[without, "thought"] <= 0.5
        else " Chain of thought does not even halve its errors."
    )
    if max(gain[with_, "leap"], gain[with_, "thought"]) < 1:
        text += "\n\nWith Condition 1 both improve."
        if panels[with_]["leap"].mean[-1] > panels[with_]["thought"].mean[-1]:
            text += (
                " Here, too, answering at once needs more examples, since fewer of the examples reach the right end than take "
                "any one step right."
            )
    else:
        text += "\n\nWith Condition 1 not both of them improve."
    return "\n".join(lines) + f"\n\n{text}"


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
    alone = numbers.alone(points)
    text = (
        f"Over all pairs the number of examples goes as 1 / (α'τ) to the power {slope.value:.2f} (95 % interval "
        f"{slope.low:.2f} to {slope.high:.2f}), the theorem's as the power {BOUND:g}."
    )
    if any(alone.values()):
        text += f" One at a time, the exponents are {numbers.alone_words(points)}."
    for name, found in alone.items():
        if found and max(found) < BOUND:
            text += f" The law is generous in {name.split()[-1]}."
        elif found and min(found) > BOUND:
            text += f" The law is not generous enough in {name.split()[-1]}."
    if out:
        text += (
            f" {out} pairs of α' and τ are not in it: their error does not come down to {LEVEL:g} within the lengths computed."
        )
    return text


def lead_text(found: Mapping[float, float | None]) -> str:
    """How the vote's need (numbers.vote_needs) grows as the correct step loses its lead over a single rival, beside the
    theorem's law."""
    known = {tau: n for tau, n in found.items() if n is not None}
    if len(known) < 2:
        return f"The vote's error comes down to {LEVEL:g} at fewer than two of these τ, so there is nothing to compare."
    first, last = max(known), min(known)
    p = lambda tau: tau ** (1 / Trial().steps)
    needs = ", ".join(f"{n:.0f} examples at τ = {tau:g}" for tau, n in known.items())
    return (
        f"With a single rival and α' = 1, the vote needs {needs}. From the largest to the smallest of these τ the law grows "
        f"{(first / last) ** BOUND:.1f} times, and the need {known[last] / known[first]:.1f} times: the correct step leads by "
        f"{2 * p(first) - 1:.2f} at τ = {first:g} and by {2 * p(last) - 1:.2f} at τ = {last:g}, and the lead is gone at "
        f"τ = {2.0 ** -Trial().steps:g}, where (α'τ)^−{BOUND:g} is {2.0 ** (BOUND * Trial().steps):.0f} still."
    )


def spread_text(found: Mapping[int, tuple[Curve, Curve]], trial: Trial) -> str:
    """What τ does not say."""
    say = [f"{percent(c.at(SHORT))} where wrong steps go to {m} pattern{'s' * (m > 1)}" for m, (c, _) in found.items()]
    return f"At α' = {trial.alpha:g}, τ = {trial.tau:g} and {SHORT} examples the error is {', and '.join(say)}."


def sums_text(curves: Mapping[float, Curve]) -> str:
    """Does it matter how far test patterns are from those of training?"""
    found = {s: c.at(SHORT) for s, c in curves.items()}
    same = max(low for _, low, _ in found.values()) <= min(high for *_, high in found.values())
    return (
        "Test patterns may lie nearer to those of training or farther off. At S₁ = "
        f"{', '.join(f'{s:g}' for s in found)} the error with {SHORT} examples is "
        f"{', '.join(percent(p) for p in found.values())}. "
        + (
            "How strange they are does not matter here. Attention compares vectors, and unit mixtures of orthogonal pairs are "
            "orthogonal unit vectors again."
            if same
            else "So it matters how strange they are."
        )
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
    verdict = (
        "Not monotone as the theory says, or not reached in every run: " + "; ".join(against)
        if against
        else "All means go the theory's way"
    )
    return "\n".join(lines) + f"\n\n{verdict}."


def search_text(tried: Mapping[str, Sequence[StoredRun]]) -> str:
    """The trials, one line each."""
    head = f"| trial | attention to both at the end | held-out loss | iterations to {ENOUGH:g} of both |\n|---|---|---|---|\n"
    rows = []
    for name, runs in tried.items():
        steps = [numbers.reached(run, ("both",)) for run in runs]
        when = spread(steps, 0) if None not in steps else "not in every run" if any(steps) else "never"
        loss = [run.metrics["held out"] for run in runs]
        shown = "diverged" if None in loss or max(loss) > 1 else f"{np.mean(loss):.4f}"
        rows.append(f"| {name} | {spread([run.metrics['both'] for run in runs], 3)} | {shown} | {when} |")
    return head + "\n".join(rows)
