"""Lines, tables and sentences of chapter 18."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lib.core.read.tables import table
from lib.core.read.words import listed
from lib.in_context.classical import LEARNERS, LINEAR, LOGISTIC
from lib.in_context.contest.metrics import (
    ALPHAS,
    BEST_ALPHA,
    CLOSE,
    CLOSE_ALPHA,
    ICL,
    LENGTHS,
    TALK_LINEAR,
    Point,
    ahead,
    apart,
    behind,
    lead,
    nearest_noise,
)

By = Mapping[str, Sequence[Point]]
Contest = Mapping[float, By]
MANY = ("none", "one", "two", "three", "four", "all five")


def verdict(curves: Contest, noise: float) -> str:
    """Whether anyone beats the one-layer model on prompts with this noise, and whether the paper's order is ours: two
    sentences."""
    whose = "With noise on every feature" if noise else "Without noise"
    better = sorted({who for by in curves.values() for who in ahead(by)}, key=list(LEARNERS).index)
    held = (
        f"but {listed(better)} {_is(better)} better at some length"
        if better
        else "and no learner is better at any length by more than the 95 % interval"
    )
    return (
        f"{whose} the one-layer model {'does not always hold' if better else 'holds'} its own against five classical learners "
        f"that get the same prompts, {held}. {_paper(curves)}"
    ).rstrip()


def conclusion(curves: Contest, clean: Contest, noise: float) -> str:
    """What the contest comes to over all lengths, and what decides it."""
    text = f"Over all lengths {_by_alpha(curves, _worse)}."
    whom = lambda found: {who for by in found.values() for who in behind(by)}
    if noise and len(whom(clean)) < len(whom(curves)):
        text += (
            " Without noise fewer are. So the noise decides the contest: it is ours, and it was chosen by one learner's errors "
            "in the talk."
        )
    elif noise:
        text += " Without noise it is no other."
    if noise and (better := sorted({who for by in clean.values() for who in ahead(by)}, key=list(LEARNERS).index)):
        text += f" Without noise {listed(better)} {_is(better)} better than the model at some length."
    return text


def _by_alpha(curves: Contest, words: Callable[[By], str]) -> str:
    """What is to be said at each α', once where it is the same."""
    said: dict[str, list[str]] = {}
    for alpha, by in curves.items():
        said.setdefault(words(by), []).append(f"{alpha:g}")
    return "; ".join(f"at α' = {listed(alphas)}, {text}" for text, alphas in said.items())


def _worse(by: By) -> str:
    worse = behind(by)
    rest = [who for who in LEARNERS if who not in worse]
    text = f"{MANY[len(worse)]} {'is' if len(worse) < 2 else 'are'} clearly worse"
    return f"{text}, and {listed(rest)} {_is(rest)} not" if worse and rest else text


def _paper(curves: Contest) -> str:
    """In the paper logistic regression is level with the model at one α', and all learners are behind it at the other."""
    parts, ours = [], []
    if by := curves.get(CLOSE_ALPHA):
        ours.append(apart(by, LOGISTIC) <= CLOSE)
        here = "is level here, too" if ours[-1] else f"errs {'more' if lead(by[ICL], by[LOGISTIC])[0] > 0 else 'less'} here"
        parts.append(f"at α' = {CLOSE_ALPHA:g} logistic regression, level with the model in the paper, {here}")
    if by := curves.get(BEST_ALPHA):
        rest = [who for who in LEARNERS if who not in behind(by)]
        ours.append(not rest)
        here = f"here {listed(rest)} {_is(rest)} not" if rest else "so it is here"
        parts.append(f"at α' = {BEST_ALPHA:g} every learner is behind in the paper, {'but' if rest else 'and'} {here}")
    order = "ours" if all(ours) else "ours in part" if any(ours) else "not ours"
    return f"The paper's order is {order}: {'; '.join(parts)}." if parts else ""


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
        f"Errors of the {LINEAR} at {LENGTHS[-1]} examples, on {count:,} prompts each; bold: nearest to the talk.\n\n"
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
    rows = [(who, *(_lead(by, who) for by in curves.values())) for who in LEARNERS]
    rows.append(("*all errors of one layer*", *(f"{1000 * np.mean([p.mean for p in by[ICL]]):.1f}" for by in curves.values())))
    return (
        "By how many errors in 1,000 prompts each learner exceeds the one-layer model, mean over all lengths, with 95 % "
        "intervals over prompts:\n\n" + table(("learner", *(f"α' = {alpha:g}" for alpha in curves)), rows)
    )


def _lead(by: By, who: str) -> str:
    value, low, high = (f"{1000 * v:+z.1f}".replace("-", "−") for v in lead(by[ICL], by[who]))
    return f"{value} [{low}, {high}]" if low != high else "none"


def clean_text(clean: Contest) -> str:
    """Without noise: who is ahead of the model over all lengths, and who errs at the longest prompts."""
    ends = {who: max(by[who][-1].mean for by in clean.values()) for who in (ICL, *LEARNERS)}
    worst = max(ends, key=lambda who: ends[who])
    svm = f"in at most {ends[LINEAR]:.2%} of the prompts" if ends[LINEAR] else "in none of the prompts"
    return (
        f"Over all lengths, {_by_alpha(clean, _order)}. At {LENGTHS[-1]} examples the largest share of errors is "
        f"{ends[worst]:.2%} ({'one layer' if worst == ICL else worst}), and the {LINEAR} errs {svm}."
    )


def _order(by: By) -> str:
    worse = behind(by)
    better = [who for who in LEARNERS if lead(by[ICL], by[who])[2] < 0]
    level = [who for who in LEARNERS if who not in (*worse, *better)]
    said = (("clearly worse than the model", worse), ("level with it", level), ("a little better", better))
    return ", ".join(f"{listed(who)} {_is(who)} {what}" for what, who in said if who)


def causes_text(noisy: Contest, clean: Contest, noise: float) -> str:
    """Whom random labels alone throw off, who falls behind with noise only, and who hardly does: at every α' that is shown."""
    whom = lambda curves: [who for who in LEARNERS if all(who in behind(by) for by in curves.values())]
    labels = whom(clean)
    text = f"Random labels alone throw off {listed(labels) or 'no learner'}."
    late = [who for who in whom(noisy) if who not in labels]
    rest = [who for who in LEARNERS if who not in (*labels, *late)]
    if not noise or not late:
        return text
    text += f" With noise on the features {listed(late)} fall{'s' * (_is(late) == 'is')} behind, too"
    if not rest:
        return f"{text}."
    most = max(lead(by[ICL], by[who])[0] for by in noisy.values() for who in rest)
    least = f"by {1000 * most:.1f} errors in 1,000 prompts at most" if most > 0 else "nowhere"
    return f"{text}; {listed(rest)} {least}."


def _is(who: Sequence[str]) -> str:
    return "are" if len(who) > 1 or (who and who[0].endswith("s")) else "is"
