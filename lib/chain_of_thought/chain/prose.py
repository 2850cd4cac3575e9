"""Sentences, lines and tables with numbers computed from stored runs: what chapter 15 says of results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from lib.chain_of_thought.chain import metrics
from lib.chain_of_thought.chain.metrics import (
    BOUND,
    CLOSE,
    COMPARED,
    ENOUGH,
    FAILING,
    FIRST,
    LEVEL,
    LOSS,
    MIDDLE,
    MOST,
    SHORT,
    SIGNS,
    SOME,
    STAGES,
    SYMBOLS,
    TALK_ERRORS,
    THEORY,
    Curve,
    even,
)
from lib.chain_of_thought.experiments import DELTA, RATE, SETTINGS, SWEEP_RATE, cot_specs
from lib.chain_of_thought.prompts import Trial
from lib.chain_of_thought.task import GROUPS, OTHER_STEPS, Prompts
from lib.chain_of_thought.transitions import Transitions, step_shares, widest_tau, worked_example
from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.record.store import StoredRun

LITTLE = 0.1
"""What adds at most this share to something is little beside it, and shares of answers no farther apart are near each other."""
HELPED, FLAT = 0.5, 0.75
"""An error that falls to at most the first share of what it was gets right; one of at least the second hardly falls."""
TALK_SHARES = {"both": 0.16, "step only": 0.22, "same example": 0.26, "other example": 0.36}
"""Where the four curves of the talk's Fig. 20 start. Which of the two in the middle is which is our reading:
even attention would give .2 and .267."""
WITH, WITHOUT = "with Condition 1", "without Condition 1"
Panels = Mapping[str, tuple[str, Mapping[float, Curve], Mapping[float, Curve]]]
"""{title: (symbol, curves of trained models, of the vote)} of the figure of errors."""
Compared = Mapping[str, Mapping[str, Curve]]
"""What metrics.compared gives."""
Variants = Mapping[str, Mapping[str, Mapping[float, Sequence[StoredRun]]]]
"""{variant: {setting: {value: runs}}} of Theorem 4."""


# --- The answer ---


def answer(runs: Sequence[StoredRun], trial: Trial, compared: Compared) -> str:
    """What the chapter finds: does the model copy, and does it get right where the right end is not the most frequent?"""
    by_step = metrics.attended(runs, trial).mean(0)
    share, step = math.floor(100 * by_step.min()), int(by_step.argmin()) + 1
    where = "examples that were at the same step in the same place"
    text = (
        f"Where {trial.alpha:.0%} of a prompt's examples start at the query's pattern, the trained model copies: at every step "
        f"at least {share} % of its attention is on {where}."
        if by_step.min() > MOST
        else f"The trained model does not simply copy: only {share} % of its attention is, at step {step}, on {where}."
    )
    thought, leap = compared[WITHOUT]["ends"], compared[WITHOUT]["leap"]
    one, other = (float(c.mean[-1]) for c in (thought, leap))
    return text + (
        " So it gets ends right that most examples get wrong, if most get each *step* right; a model that answers at once does "
        "not."
        if gain(thought) <= HELPED and gain(leap) >= FLAT and one < other
        else " That right steps are enough, whatever the ends, it does not show."
    )


def verdict(runs: Sequence[StoredRun], trial: Trial, compared: Compared) -> str:
    """The chapter's first words."""
    return f"**Answer.** {answer(runs, trial, compared)}"


def conclusion(runs: Sequence[StoredRun], variants: Variants) -> str:
    """What to take away beyond the answer: what becomes of the mechanism and of the two laws."""
    return "\n\n".join((vote_verdict(runs), law_verdict(runs), _bound_words(variants)))


def vote_verdict(runs: Sequence[StoredRun]) -> str:
    """Is the model as good as the mechanism allows?"""
    ratio = metrics.against_oracle(runs)
    if not ratio.size:
        return f"A vote among the matching examples errs nowhere as much as {SOME:.0%}, so the model cannot be held to it."
    return (
        "The model errs about as often as a vote among the matching examples"
        if ratio.max() <= CLOSE
        else "The model errs more often than a vote among the matching examples"
    ) + f", {ratio.max():.2f} times as often at most."


def gain(found: Curve, start: int = SHORT) -> float:
    """The error of the longest prompts over that at `start` examples."""
    return float(found.mean[-1] / max(found.at(start)[0], 1e-12))


# --- The task ---


def settings_table(profile: str) -> list[tuple[str, str]]:
    """The settings of a profile as rows (name, value)."""
    s, task = SETTINGS[profile], dict(cot_specs(profile)[0].task)
    return [
        ("patterns M, steps K, α of training", f"{task['patterns']}, {task['steps']}, {task['alpha']:g}"),
        ("examples in a training prompt", str(task["length"])),
        ("batch, iterations, learning rate", f"{s.train.batch}, {s.train.steps:,}, {RATE:g}"),
        ("δ, at which $W_Q$ and $W_K$ start", f"{DELTA:g}"),
        ("seeds", str(len(s.seeds))),
        (
            "sweep of Theorem 4: seeds, learning rate, at most",
            f"{len(s.sweep_seeds)}, {SWEEP_RATE:g}, {s.sweep.steps:,} iterations",
        ),
        ("test patterns M'", str(Trial().count)),
        ("test prompts for each point of a curve", f"{s.prompts * len(s.seeds):,}"),
    ]


def path_words(states: Sequence[int]) -> str:
    return " → ".join(str(int(s) + 1) for s in states)


def prompts_line(panels: Mapping[str, Prompts]) -> str:
    say = lambda p: f"query {path_words(p.query)}, examples {', '.join(path_words(e) for e in p.examples)}"
    return "; ".join(f"{title}: {say(p)}" for title, p in panels.items())


def example_text() -> str:
    """The worked example in words."""
    found = worked_example()
    holds = " and ".join(str(i + 1) for i in range(found.count) if found.holds[i]) or "none"
    fails = " and ".join(str(i + 1) for i in range(found.count) if not found.holds[i]) or "none"
    return f"Condition 1 holds from pattern {holds} and fails from pattern {fails}: there the most frequent end is a wrong one."


def ends_words(found: Transitions) -> str:
    """How probable the correct end is, and the most probable wrong one."""
    b = found.product.clone()
    right = b.gather(1, found.paths[:, -1:])[:, 0]
    b.scatter_(1, found.paths[:, -1:], 0)
    return f"τ = {found.tau:.2f}, correct end {right.min().item():.3f}, most probable wrong end {b.amax(1).max().item():.3f}"


def ends_line(found: Mapping[str, Transitions]) -> str:
    return "; ".join(f"{title}: {ends_words(t)}" for title, t in found.items())


def widest_text(steps: int) -> str:
    count = Trial().count
    return (
        f"With {steps} steps this breaks Condition 1 for every τ below {widest_tau(steps):.2f}. We let errors meet like this "
        f"from {FAILING} of the {count} starts, so that whoever always answers with the most frequent end is wrong "
        f"{FAILING / count:.0%} of the time. The talk's in-context learning errs about as often."
    )


def harder_text(tau: float) -> str:
    """What the first step of the figure of errors is, in one sentence."""
    first, other = (tau**share for share in step_shares(Trial().steps, FIRST)[:2])
    return (
        f"In this figure alone the first step is harder than the others: at τ = {tau:g} it is right with probability "
        f"{first:.2f}, the others with {other:.2f}. With equal steps errors are smaller than the talk's; by how much "
        "harder the first should be was chosen without any model (see *Settings*)."
    )


def hardness_text(found: Mapping[float, Mapping[tuple[float, float], float]]) -> str:
    """Which share of the first step brings errors of the vote (metrics.hardness) nearest to the talk's, and how near."""
    name = lambda first: f"{first:g}" if first else f"{1 / Trial().steps:.3f}, as in the others"
    best = metrics.hardest_fit(found)
    text = (
        f"Of {len(found)} shares of log τ that the first step could take, {name(best)} brings the vote nearest to the "
        "talk's errors "
        "at 100 examples, by our reading of its curves"
    )
    text += ", and Figure 15.5 has it." if best == FIRST else f"; Figure 15.5 has {name(FIRST)}."
    if FIRST in found:
        shown = {place: max(round(found[FIRST][place], 4), 1e-4) for place in TALK_ERRORS}
        off = max(max(shown[p] / e, e / shown[p]) for p, e in TALK_ERRORS.items())
        text += (
            f" A good fit it is not: on prompts that no figure shows one of the vote's two errors is off by a factor of "
            f"{off:.1f}."
            if off > 2
            else ""
        )
    return text


# --- Training ---


def training_line(runs: Sequence[StoredRun]) -> str:
    shown = {name: (GROUPS | OTHER_STEPS)[name] for name in TALK_SHARES}
    ends = ", ".join(f"{label} {' → '.join(f'{v:.3f}' for v in ends_of(runs, name))}" for name, label in shown.items())
    loss = np.mean([run.metrics["held out"] for run in runs])
    return f"attention after {runs[0].history['step'][0]:g} iterations and at the end: {ends}; held-out loss {loss:.4f}"


def ends_of(runs: Sequence[StoredRun], name: str) -> tuple[float, float]:
    """The mean over runs of a number at the first evaluation and at the last."""
    found = np.mean([metrics.history(run, name)[[0, -1]] for run in runs], 0)
    return float(found[0]), float(found[1])


def groups_text(runs: Sequence[StoredRun]) -> str:
    """Why columns of other steps are grouped by their example: where the talk's curves start."""
    ours = {name: ends_of(runs, name)[0] for name in TALK_SHARES}
    by_pattern = [ends_of(runs, name)[0] for name in ("pattern only", "neither")]
    off = max(abs(ours[name] - talk) for name, talk in TALK_SHARES.items())
    theirs = (TALK_SHARES["same example"], TALK_SHARES["other example"])
    worse = max(abs(ours - talk) for ours, talk in zip(by_pattern, theirs, strict=True))
    return (
        f"The talk does not say how it groups columns of other steps. By their example our curves start within {off:.2f} of "
        f"its, by their pattern up to {worse:.2f} off."
        if off < worse
        else "Whether the talk groups columns of other steps by their example, too, cannot be told from where its curves start."
    )


def training_text(runs: Sequence[StoredRun]) -> str:
    """The two stages in words."""
    found = [metrics.stage_steps(run) for run in runs]
    if any(step is None for pair in found for step in pair):
        return f"Attention does not reach {ENOUGH:g} in every run."
    first, second = ([pair[i] for pair in found] for i in (0, 1))
    ratio = np.array(second) / np.array(first)
    order = (
        "First the model finds the columns of its step, whatever their pattern. Then, among these, it finds its pattern."
        if (ratio > 1).all()
        else "The step is not found before the pattern in every run."
    )
    return (
        f"{order} Attention to the query's step reaches {ENOUGH:g} after {even(first, 0)} iterations, attention to its pattern "
        f"after {np.mean(second):.0f}, which is {np.mean(ratio):.0f} times as long."
    )


# --- Inference ---


def attended_line(runs: Sequence[StoredRun], trial: Trial) -> str:
    found = metrics.attended(runs, trial)
    return f"attention to {GROUPS['both']} by step of inference: {', '.join(spread(v, 3) for v in found.T)}"


def attended_text(runs: Sequence[StoredRun], trial: Trial) -> str:
    """Does a trained model look where the mechanism says, and at later steps less?"""
    by_step = metrics.attended(runs, trial).mean(0)
    if by_step.min() > MOST:
        text = "It looks there, on patterns that it never saw."
    else:
        step = int(by_step.argmin()) + 1
        text = f"At step {step} it looks there with {by_step[step - 1]:.2f} of its attention only."
    if (np.diff(by_step) < 0).all() and trial.tau < 1:
        text += (
            " At later steps less of its attention is there, as some examples have strayed from the path and there are fewer "
            "columns to find."
        )
    return text


def errors_line(panels: Panels) -> str:
    say = lambda symbol, curves: ", ".join(f"{symbol} = {v:g} {c.at(MIDDLE)[0]:.4f}" for v, c in sorted(curves.items()))
    return f"errors at {MIDDLE} examples: " + "; ".join(say(symbol, curves) for symbol, curves, _ in panels.values())


def errors_text(runs: Sequence[StoredRun], panels: Panels) -> str:
    """The trained model against the vote, and whether more and better examples help."""
    ratio = metrics.against_oracle(runs)
    found = [(curve, votes[v]) for _, shown, votes in panels.values() for v, curve in shown.items()]
    own = np.concatenate([(c.mean / np.maximum(v.mean, 1e-12))[v.mean >= SOME] for c, v in found])
    disordered = [
        symbol for symbol, shown, _ in panels.values() if (np.diff([shown[v].at(MIDDLE)[0] for v in sorted(shown)]) >= 0).any()
    ]
    if disordered:
        text = f"At {MIDDLE} examples the error does not fall with every step of {' and of '.join(disordered)}."
    else:
        text = "More matching examples and more reliable ones both help, in the order that the talk shows."
    both = [r for r in (own, ratio) if r.size]
    if both:
        most = max(float(r.max()) for r in both)
        text += f"\n\nWherever the vote errs at least {SOME:.0%} of the time, the model errs at most {most:.2f} times as often."
        if most <= CLOSE:
            text += " So what limits it is not the model: it is what the prompt holds."
        else:
            text += " In places the vote does clearly better, so the prompt is not all that limits the model."
    return text


def comparison_line(panels: Compared) -> str:
    say = lambda curves: ", ".join(f"{COMPARED[n]} {c.mean[0]:.3f} → {c.mean[-1]:.3f}" for n, c in curves.items())
    first = next(iter(next(iter(panels.values())).values())).lengths
    return f"errors from {first[0]} to {first[-1]} examples, " + "; ".join(f"{t}: {say(c)}" for t, c in panels.items())


def comparison_text(panels: Compared, everywhere: Curve) -> str:
    """Both ways of answering, with Condition 1 and without (as metrics.compared has them), and in-context learning where the
    condition fails from every start."""
    last = int(everywhere.lengths[-1])
    leap, wrong = panels[WITHOUT]["leap"], FAILING / Trial().count
    if leap.at(last)[1] > leap.at(SHORT)[2]:
        text = "Without Condition 1, more examples make in-context learning *more* wrong."
    elif gain(leap) >= FLAT:
        text = "**Without Condition 1, more examples hardly help in-context learning.**"
        if abs(leap.mean[-1] - wrong) <= LITTLE:
            text += f" It stays near {wrong:.0%}, the share of starts from which a wrong end is the most frequent one."
    else:
        text = "Without Condition 1, more examples help in-context learning here, too."
    if everywhere.at(last)[1] > everywhere.at(SHORT)[2]:
        text += " Where the condition fails from every start, more examples make it *worse*: it grows sure of the wrong end."
    text += (
        " Chain of thought gets right all the same. It never looks at ends, only at steps, and each of these is most often "
        "right."
        if gain(panels[WITHOUT]["ends"]) <= HELPED
        else " Chain of thought does not even halve its errors."
    )
    if max(gain(panels[WITH][name]) for name in ("leap", "ends")) < 1:
        text += "\n\nWith Condition 1 both improve."
        if panels[WITH]["leap"].mean[-1] > panels[WITH]["ends"].mean[-1]:
            text += (
                " Here, too, answering at once needs more examples, since fewer of them reach the right end than take any one "
                "step right."
            )
    else:
        text += "\n\nWith Condition 1 not both of them improve."
    return text


# --- Examples needed ---


def needed_line(runs: Sequence[StoredRun]) -> str:
    rank, slope = metrics.law(runs)
    points = metrics.examples_needed(runs)
    return (
        f"{min(n for *_, n in points):.0f} to {max(n for *_, n in points):.0f} examples for an error of {LEVEL:g}; "
        f"exponent in 1 / (α'τρ) {slope}; rank correlation {metrics.signed(rank)}"
    )


def needed_text(runs: Sequence[StoredRun]) -> str:
    """The fitted exponent beside the theorem's, and those of α' and of τρ on their own."""
    _, slope = metrics.law(runs)
    points = metrics.examples_needed(runs)
    out = len(metrics.grid(runs)) - len(points)
    alone = metrics.alone(points)
    text = (
        f"Over all pairs of α' and τ the number of examples goes as 1 / (α'τρ) to the power {slope.value:.2f} (95 % interval "
        f"{slope.low:.2f} to {slope.high:.2f}), where the theorem allows {BOUND:g}."
    )
    for name, found in alone.items():
        if found and min(found) > BOUND:
            text += f" The law is not generous enough in {name.split()[-1].strip('()')}."
    if (bare := metrics.exponents(points, lambda _, tau: tau, fixed=0)) and min(bare) > BOUND:
        text += " Without ρ the exponent would be more than the law allows."
    text += (
        " **With ρ the law holds, and is generous.**"
        if all(metrics.bounded(runs))
        else " The law does not hold in every direction."
    )
    if out:
        text += (
            f" {out} pairs of α' and τ are not in it: their error does not come down to {LEVEL:g} within the lengths computed."
        )
    return text


def law_verdict(runs: Sequence[StoredRun]) -> str:
    """Theorem 5 in a sentence."""
    where = f"as 1 / (α'τρ) to the power {metrics.law(runs)[1].value:.2f}, where it allows {BOUND:g}."
    if all(metrics.bounded(runs)):
        return f"Theorem 5's law holds with its factor ρ: the examples needed go {where}"
    return f"Theorem 5's law does not hold in every direction, even with ρ: over all pairs the examples needed go {where}"


def lead_text(found: Mapping[float, float | None]) -> str:
    """How the vote's need (metrics.vote_needs) grows as the correct step loses its lead over a single rival, beside the laws
    without that lead and with it."""
    known = {tau: round(n) for tau, n in found.items() if n is not None}
    if len(known) < 2:
        return f"The vote's error comes down to {LEVEL:g} at fewer than two of these τ, so there is nothing to compare."
    first, last = max(known), min(known)
    lead = {tau: metrics.gap(tau) for tau in known}
    bare = {tau: (first / tau) ** BOUND for tau in known}
    full = {tau: (first * lead[first] / (tau * lead[tau])) ** BOUND for tau in known}
    grown = {tau: n / known[first] for tau, n in known.items()}
    gone = f"at τ = {2.0 ** -Trial().steps:g} the lead is gone and no number of examples is enough."
    text = (
        f"From τ = {first:g} to τ = {last:g}, with a single rival, the number of examples that a vote needs grows "
        f"{grown[last]:.0f} times, "
    )
    text += (
        f"and the law without ρ {bare[last]:.0f} times only. No constant can repair that: {gone}"
        if grown[last] > bare[last]
        else f"and the law without ρ {bare[last]:.0f} times. Still no constant suffices: {gone}"
    )
    return text + (
        f" **The law with ρ grows {full[last]:.0f} times, more than is needed.**"
        if full[last] >= grown[last]
        else f" The law with ρ grows {full[last]:.0f} times, which is not enough either."
    )


def spread_text(found: Mapping[int, tuple[Curve, Curve]], trial: Trial) -> str:
    """What τ does not say."""
    say = [f"{c.at(SHORT)[0]:.1%} where they go to {m} pattern{'s' * (m > 1)}" for m, (c, _) in found.items()]
    return f"At one and the same τ, with {SHORT} examples, the share of wrong steps is {' and '.join(say)}."


def sums_text(curves: Mapping[float, Curve]) -> str:
    """Does it matter how far test patterns are from those of training?"""
    found = {s: c.at(SHORT) for s, c in curves.items()}
    same = max(low for _, low, _ in found.values()) <= min(high for *_, high in found.values())
    ends = f"from $S_1$ = {min(found):g} to {max(found):g}"
    if not same:
        return f"The error is not the same {ends}. So it matters how strange they are."
    return (
        f"The error is the same {ends}. How strange they are does not matter here: attention compares vectors, and unit "
        "mixtures "
        "of orthogonal pairs are orthogonal unit vectors again."
    )


# --- Theorem 4 ---


def steps_line(variants: Variants) -> str:
    say = lambda found: ", ".join(f"{SYMBOLS[name]} {metrics.power_words(groups, 'loss')}" for name, groups in found.items())
    words = "; ".join(f"{variant}: {say(found)}" for variant, found in variants.items())
    return f"exponents of the iterations until the loss is {LOSS:g}, {words}"


def exponents_table(variants: Variants) -> str:
    """The exponents of the iterations by what is waited for, beside those that the theory allows."""
    theory = [f"{low:g} to {high:g}".replace("-", "−") for low, high in THEORY.values()]
    both = lambda name, stage: " / ".join(dict.fromkeys(metrics.power_words(of[name], stage) for of in variants.values()))
    rows = [(STAGES[stage], *(both(name, stage) for name in THEORY)) for stage in ("loss", "step", "pattern")]
    head = ("iterations until", *(f"in {SYMBOLS[name]}" for name in THEORY))
    return f"Exponents, {' / '.join(map(maths, variants))}:\n\n{table(head, [*rows, ('*Theorem 4, for the loss*', *theory)])}"


def maths(words: str) -> str:
    return words.replace("W_V", "$W_V$")


def _against(variants: Variants, stage: str) -> list[str]:
    """Where mean iterations do not go the theory's way at every value, or where a run does not get there."""
    return [
        f"{SYMBOLS[name]} ({maths(variant)})"
        for variant, found in variants.items()
        for name, groups in found.items()
        if not metrics.monotone(groups, SIGNS[name], stage)
    ]


def _outside(variants: Variants) -> tuple[list[str], list[str], list[str]]:
    """Settings in which every variant has a power law: those whose exponents of the loss lie nearer to 0 than the theory's
    range, with their intervals; of which one lies farther out by more than LITTLE; and which are at its far end, by LITTLE."""
    nearer, beyond, edge = [], [], []
    for name, limits in THEORY.items():
        near, far = sorted(abs(limit) for limit in limits)
        slopes = [metrics.fitted(found[name], "loss") for found in variants.values()]
        if None in slopes or any(metrics.bent(found[name], "loss") for found in variants.values()):
            continue
        ends = [sorted((SIGNS[name] * slope.low, SIGNS[name] * slope.high)) for slope in slopes]
        if all(top < near for _, top in ends):
            nearer.append(SYMBOLS[name])
        if any(bottom > far + LITTLE for bottom, _ in ends):
            beyond.append(SYMBOLS[name])
        elif all(abs(SIGNS[name] * slope.value - far) <= LITTLE for slope in slopes):
            edge.append(SYMBOLS[name])
    return nearer, beyond, edge


def _bound_words(variants: Variants) -> str:
    """Theorem 4 in a sentence."""
    _, beyond, _ = _outside(variants)
    if beyond or _against(variants, "loss"):
        return "Theorem 4's count of iterations does not hold here, not as an upper bound either."
    return "Theorem 4's count of iterations may stand as an upper bound, and does not tell how iterations grow."


def loss_verdict(variants: Variants) -> str:
    """Theorem 4 in a few sentences."""
    against = _against(variants, "loss")
    text = f"Training until the loss is {LOSS:g} takes longer for a smaller α, a larger K and a larger M"
    text += f", but not at every value: not for {', '.join(against)}." if against else ", as Theorem 4 has it."
    nearer, beyond, edge = _outside(variants)
    if beyond:
        text += f" In {' and '.join(beyond)} the iterations grow faster than its formula."
    if edge:
        text += f" In {' and '.join(edge)} the iterations grow about as fast as its formula allows at most."
    if nearer:
        text += f" In {' and '.join(nearer)} the iterations grow more slowly than either of its terms."
    bent = [SYMBOLS[n] for n in THEORY if any(metrics.bent(found[n], "loss") for found in variants.values())]
    if bent:
        text += f" In {' and '.join(bent)} they follow no power law."
    if (nearer or bent) and not beyond and not against:
        text += " As an upper bound it may stand; as a count of iterations it does not fit."
    return text


def steps_text(variants: Variants) -> str:
    """The exponents, and the two stages of attention."""
    off = [where for where in _against(variants, "step") if not where.startswith(SYMBOLS["patterns"])]
    stages = (
        f"The first stage of attention, finding the step, ends {'not always later' if off else 'later'} for fewer matching "
        "examples and for more steps."
    )
    later = [f"{rises} with {maths(variant)}" for variant, found in variants.items() if (rises := _rises(found["alpha"]))]
    if later:
        stages += (
            " The second, finding the pattern, holds a surprise: attention gets sharp *later* where more examples match, "
            f"{' and '.join(later)}. Our reading: the answer is nearly right before attention is sharp, so the loss is "
            "small, and "
            "so is what drives the attention on."
        )
    return "\n\n".join((f"**{loss_verdict(variants)}**", exponents_table(variants), stages))


def _rises(groups: Mapping[float, Sequence[StoredRun]]) -> str:
    """From where to where in α the second stage takes longer, in words."""
    found: list[list[float]] = []
    for (a, one), (b, two) in pairwise(sorted(metrics.means(groups, "pattern").items())):
        if one is not None and two is not None and two > one:
            found = [*found[:-1], [found[-1][0], b]] if found and found[-1][1] == a else [*found, [a, b]]
    return " and ".join(f"from α = {a:g} to {b:g}" for a, b in found)


# --- Trials ---


def search_text(tried: Mapping[str, Sequence[StoredRun]]) -> str:
    """The trials, one line each."""
    head = ("trial", "attention to both at the end", f"iterations to {ENOUGH:g} of both")
    rows = []
    for name, runs in tried.items():
        steps = [metrics.reached(run, ("both",)) for run in runs]
        when = even(steps, 0) if None not in steps else "not in every run" if any(steps) else "never"
        loss = [run.metrics["held out"] for run in runs]
        lost = ", diverged" * (None in loss or max(loss) > 1)
        both = f"{np.mean([run.metrics['both'] for run in runs]):.2f}"
        rows.append((maths(name).replace("rate", "learning rate"), both, when + lost))
    return table(head, rows)
