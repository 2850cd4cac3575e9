"""Lines, tables and sentences of chapter 18."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.read.tables import table
from lib.in_context.classical import LEARNERS
from lib.in_context.contest.numbers import (
    ALPHAS,
    ICL,
    LENGTHS,
    TALK_LINEAR,
    Point,
    best_of,
    lead,
    nearest_noise,
)

Contest = Mapping[float, Mapping[str, Sequence[Point]]]


def verdict(curves: Contest, noise: float) -> str:
    """Whom the one-layer model beats, or equals, at each share of task examples, on prompts with this noise."""
    parts = []
    for alpha, by in curves.items():
        won = [who for who, held in best_of(by).items() if all(held)]
        clear = [who for who in won if lead(by[ICL], by[who])[1] > 0]
        if len(won) < len(LEARNERS):
            lost = ", ".join(who for who in LEARNERS if who not in won)
            parts.append(f"at α' = {alpha:g} it is beaten somewhere by {lost}")
        elif len(clear) == len(LEARNERS):
            parts.append(f"at α' = {alpha:g} it is better than all {len(LEARNERS)}")
        else:
            rest = ", ".join(who for who in LEARNERS if who not in clear)
            parts.append(f"at α' = {alpha:g} none is better at any length, and as good: {rest}")
    whose = f"with the noise of {noise:g} that we added to every feature" if noise else "without noise"
    held = all(all(all(kept) for kept in best_of(by).values()) for by in curves.values())
    return (
        f"Against classical learners on the same prompts, {whose}, the one-layer model "
        f"{'holds its own' if held else 'does not always hold its own'}: {'; '.join(parts)}."
    )


def noise_table(found: Mapping[float, Mapping[float, float]], count: int) -> str:
    """The errors of the linear SVM by the noise, beside the talk's."""
    chosen = nearest_noise(found)
    head = ("noise on every feature", *(f"α' = {alpha:g}" for alpha in ALPHAS))
    rows = [
        (f"**{noise:g}**" if noise == chosen else f"{noise:g}", *(f"{errors[alpha]:.3f}" for alpha in ALPHAS))
        for noise, errors in found.items()
    ]
    talk = ("talk", *(f"{TALK_LINEAR[alpha]:.3f}" for alpha in ALPHAS))
    return (
        f"Errors of the linear SVM at {LENGTHS[-1]} examples, {count:,} prompts a number; bold: nearest to the talk.\n\n"
        + table(head, [*rows, talk])
    )


def contest_line(curves: Contest) -> str:
    """Errors at the shortest prompt."""
    return "; ".join(
        f"α' = {alpha:g}, l = {LENGTHS[0]}: " + ", ".join(f"{who} {by[who][0].mean:.3f}" for who in (ICL, *LEARNERS))
        for alpha, by in curves.items()
    )


def contest_table(curves: Contest) -> str:
    """How much more each learner errs than the one-layer model, over all lengths, with paired intervals."""
    say = lambda value, low, high: f"{value:+.4f} [{low:+.4f}, {high:+.4f}]"
    rows = [(who, *(say(*lead(by[ICL], by[who])) for by in curves.values())) for who in LEARNERS]
    rows.append(("*one layer: wrong*", *(f"{np.mean([p.mean for p in by[ICL]]):.4f}" for by in curves.values())))
    return "More wrong answers than the one-layer model's, over all lengths, with 95 % intervals over prompts:\n\n" + table(
        ("learner", *(f"α' = {alpha:g}" for alpha in curves)), rows
    )
