"""Lines, tables and sentences of chapter 13."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.read.words import listed, sentence
from lib.core.record.store import StoredRun
from lib.in_context.experiments import ALPHA, COVERS, GPT, LENGTH, TURNED
from lib.in_context.out_of_domain.numbers import (
    CONTROL,
    CURVE_COUNT,
    CURVE_LENGTHS,
    CYCLE,
    ENOUGH,
    LEARNED,
    QUERY,
    RARE,
    SMALL_LOSS,
    SPAN,
    THEORY,
    THREE,
    Along,
    Steps,
    against_guess,
    alike,
    along,
    angle,
    at_foreign,
    both_labels_floor,
    by_sum,
    errors_of,
    falling,
    fraction,
    gpt_errors,
    gpt_needed,
    mean_steps,
    minus,
    ordered,
    reached,
    reported,
    reverses,
    span_of,
    theorem_m1,
    wrong,
)
from lib.in_context.runs import Share, task_of
from lib.in_context.study import ALPHAS, N_TEST, SUMS
from lib.in_context.task import LEADING, Task, no_match_floor

SMALL_ERROR, HALF = 0.01, 0.5
"""The share of errors of who has learned the rest of the tasks, and the hinge loss of who has not learned new patterns."""
FLAT, STRAIGHT, NEARLY, BLIND, ASTRAY = 0.25, 0.05, 0.6, 0.6, 1.1
"""An exponent that hardly matters; how far means may lie from a straight line; the share of the margin at S₁ = 1 that is nearly
all of it; how many errors, for each prompt without a match, are more than a guess makes, and how many are more than a missing
match explains."""
READ_LENGTHS = (1, 2, 4, 8)
"""The lengths at which readers of a prompt are compared."""


def _reads(loss: float) -> str:
    return "reads the task" if loss <= SMALL_LOSS else "reads it in part" if loss < HALF else "does not read it"


def _order(errors: np.ndarray) -> str:
    """How mean errors change over SUMS, in words."""
    if (np.diff(errors) == 0).all():
        return "errors are the same at every S₁"
    falls, rises = bool((np.diff(errors) <= 0).all()), bool((np.diff(errors) >= 0).all())
    return f"errors {'fall' if falls else 'rise'} as S₁ grows" if falls or rises else "errors are not in the order of S₁"


def _by_angle(errors: np.ndarray, angles: np.ndarray) -> bool:
    """Do errors rise with the angle to the nearest trained pattern, where that is not always the same?"""
    return bool(np.ptp(angles) >= 1 and np.ptp(errors) > 0 and (np.diff(errors[np.argsort(angles)]) >= 0).all())


def _all_along(errors: np.ndarray) -> int:
    """In how many seeds, (R, n), errors fall from every S₁ to the next."""
    return int((np.diff(errors) < 0).all(1).sum())


def never(count: float | None) -> str:
    return f"more than {LENGTH}" if count is None else f"{count:.1f}"


# --- Theorem 1 ---


def cover_line(groups: Mapping[str, Sequence[StoredRun]]) -> str:
    """Wrong answers at the end of training, over seeds."""
    return "; ".join(
        f"{name}: trained tasks {wrong(errors_of(runs, 'seen'), 3)}, unseen {wrong(errors_of(runs, 'unseen'), 3)}"
        for name, runs in groups.items()
    )


def cover_text(tasks: Mapping[str, Task], groups: Mapping[str, Sequence[StoredRun]]) -> str:
    """What the theorem asks of the training tasks, what the sets have, and what follows."""
    count, total, least = fraction(tasks[CYCLE])
    cycle, control = (errors_of(groups[name], "unseen") for name in (CYCLE, CONTROL))
    said = (
        f"Wrong answers on unseen tasks: **{wrong(cycle, 3)}** after the cycle, **{wrong(control, 3)}** after as many tasks of "
        f"three patterns ({len(cycle)} seeds; ± is a standard deviation)."
    )
    enough, short = cycle.mean() <= SMALL_ERROR, count / total < least
    if enough and control.mean() > SMALL_ERROR:
        said += " So it is not how many tasks are trained that counts, but whether every pattern takes part."
    elif enough:
        said += " So either set is enough."
    else:
        said += " So the cycle is not enough."
    said += (
        f"\n\nThe theorem, as the talk has it, asks for at least (M₁ − 1)^−½ = {least:.2f} of all tasks. The cycle has "
        f"{count / total:.2f}"
    )
    if short:
        said += f", which is *less*{', and yet it suffices' if enough else ', so that the theorem promises nothing of it'}."
    else:
        said += ", which is enough by the theorem."
    if count == tasks[CYCLE].m1:
        said += f" A later slide of the author asks for M₁ tasks instead: that is exactly the cycle's {count}."
    return said


def speed_line(found: Mapping[str, Steps]) -> str:
    return "; ".join(f"{name}: {s.words}" for name, s in found.items())


_THEOREM = {"α": "−2/3", "M₁": "1, times √log M₁", "α l": "0: it is not in the theorem's steps"}


def speed_table(found: Mapping[str, Steps]) -> str:
    """The exponents of the steps next to those of the theorem."""
    rows = []
    for name, s in found.items():
        ends = (s.x.min(), s.x.max())
        steps = " … ".join(f"{mean_steps(s, x)} at {x:g}" for x in ends)
        rest = _exponent(s.closed) if s.open.any() and not s.closed.open.any() else "–"
        rows.append((name, steps, _exponent(s), rest, _THEOREM[name]))
    head = ("varied", "mean steps", "exponent, all runs", "without values that are not learned", "theorem")
    return table(head, rows)


def _exponent(s: Steps) -> str:
    return minus("{:+z.2f} [{:+z.2f}, {:+z.2f}]".format(*s.slope))


def speed_text(found: Mapping[str, Steps]) -> str:
    """What the exponents say of each part of the theorem."""
    say = {"α": _speed_alpha, "M₁": _speed_m1, "α l": _speed_length}
    return "\n\n".join(say[name](s, found) for name, s in found.items())


def _lost(s: Steps) -> list[float]:
    """The values at which a run never gets to the level."""
    return [float(x) for x in np.unique(s.x[s.open])]


def _speed_alpha(s: Steps, found: Mapping[str, Steps]) -> str:
    lost, compared = _lost(s), s.closed
    _, low, high = compared.slope
    said = "*α.* "
    if s.slope[2] < 0:
        said += "More examples of the task mean fewer steps, as the theorem says."
    elif s.slope[1] > 0:
        said += "More examples of the task mean more steps, against the theorem."
    else:
        said += "The share of task examples makes no clear difference."
    if lost:
        said += f" {int(s.open.sum())} of {len(s.x)} runs never learn, all at α = {', '.join(f'{x:g}' for x in lost)}."
        few = LENGTH * lost[-1]
        if "α l" in found and not compared.open.any() and few <= max(_lost(found["α l"]), default=0.0) + 1e-9:
            said += f" A prompt has {few:g} task examples there on average, too few by the last row of the table as well."
    if not compared.open.any():
        agrees = "includes" if low <= THEORY["α"] <= high else "does not include"
        said += f" {'Without these runs the' if lost else 'The'} interval of the exponent {agrees} the theorem's."
    return said


def _speed_m1(s: Steps, found: Mapping[str, Steps]) -> str:
    _, low, high = s.slope
    value, least, most = theorem_m1(s)
    if low <= 0:
        return (
            "*M₁.* More patterns do not clearly take longer, against the theorem."
            if high >= 0
            else ("*M₁.* More patterns take *fewer* steps, against the theorem.")
        )
    said = "*M₁.* More patterns take longer"
    against = minus(f"steps go as M₁ √log M₁ to the power {value:.2f} [{least:.2f}, {most:.2f}]")
    if least <= 1 <= most:
        return f"{said}, as the theorem says: {against}."
    said += f", but {'less' if most < 1 else 'more'} than the theorem says: {against}. Its Θ asks for 1, from both sides."
    if most < 1 and not s.open.any():
        places = np.unique(s.x)
        means = np.array([s.steps[s.x == x].mean() for x in places])
        slope, start = np.polyfit(places, means, 1)
        off = np.abs(np.polyval((slope, start), places) - means).max()
        if start > 0 and off <= STRAIGHT * means.mean():
            said += (
                f" Over M₁ = {places[0]:g} … {places[-1]:g} a straight line that starts at {start:.0f} steps meets the means "
                f"to within {off:.1f}, so a constant term may hide the theorem's growth."
            )
    return said


def _speed_length(s: Steps, found: Mapping[str, Steps]) -> str:
    lost, compared = _lost(s), s.closed
    said = "*Length.* α l is the number of task examples that a prompt has on average."
    if compared.open.any():
        return f"{said} In too few cases was anything learned to say more."
    hardly = abs(compared.slope[0]) < FLAT
    if lost and max(lost) < compared.x.min():
        return (
            f"{said} From {compared.x.min():g} on {'it hardly matters' if hardly else 'more of them still change the steps'}; "
            f"at {', '.join(f'{x:g}' for x in lost)} nothing is learned in time. This is condition 2."
        )
    return f"{said} {'It hardly matters' if hardly else 'It changes the steps'} from {compared.x.min():g} on."


# --- Theorem 2 ---


def gpt_line(runs: Sequence[StoredRun]) -> str:
    """GPT-2's errors at the longest prompt in every condition, over seeds."""
    names = ["in domain", *map(at_foreign, SUMS), SPAN]
    return f"wrong at l = {LENGTH}: " + ", ".join(
        f"{n.replace('S1', 'S₁')} {spread(gpt_errors(runs, n, ALPHA)[LENGTH].each, 4)}" for n in names
    )


def gpt_order_text(runs: Sequence[StoredRun]) -> str:
    """In what order the five S₁ end, and in how many seeds neighbours are so ordered; what is left outside the span."""
    errors, _ = by_sum(runs)
    mean = errors.mean(0)
    falls = bool((np.diff(mean) <= 0).all())
    wins = [int((right < left).sum()) for left, right in itertools.pairwise(errors.T)]
    pairs = ", ".join(f"{b:g} over {a:g} in {n}" for (a, b), n in zip(itertools.pairwise(SUMS), wins, strict=True))
    order = (
        "Errors fall as S₁ grows"
        if falls
        else "From the fewest errors to the most, S₁ = " + ", ".join(f"{SUMS[i]:g}" for i in np.argsort(mean))
    )
    below = [f"{s:g}" for s, m in zip(SUMS, mean, strict=True) if m < RARE]
    rare = f"Mean errors are below {RARE:g} at S₁ = {', '.join(below)}." if below else f"No mean error is below {RARE:g}."
    outside = gpt_errors(runs, SPAN)[LENGTH].each
    coin = (
        "hardly better than a coin"
        if outside.mean() > 0.4
        else "no better than in part"
        if outside.mean() > LEARNED
        else "well"
    )
    return (
        f"{order}. Seed by seed ({len(runs)} in all), the larger S₁ has fewer errors: {pairs}. {rare} Outside the span GPT-2 "
        f"answers {coin} ({spread(outside)} wrong)."
    )


def in_domain_text(runs: Sequence[StoredRun]) -> str:
    """New patterns against the unseen tasks of old ones, and whether the new tasks look like trained ones."""
    own = float(gpt_errors(runs, "in domain")[LENGTH].each.mean())
    mean = by_sum(runs)[0].mean(0)
    easier = [f"{s:g}" for s, m in zip(SUMS, mean, strict=True) if m < own]
    seen = errors_of(runs, "seen")
    trained, total = alike(task_of(runs[0]))
    said = f"“In domain” are *unseen* tasks of the trained patterns: {own:.3f} wrong. Of trained tasks it is {wrong(seen, 4)}. "
    if not easier:
        return said + "No new patterns are answered better than these."
    said += f"New patterns of S₁ = {listed(easier)} are answered better than unseen tasks. "
    if trained:
        return (
            said + f"By their nearest old patterns {trained} of the {total} new tasks look like trained ones, which may help."
        )
    return said + (
        f"The nearest old patterns do not explain it: by them, none of the {total} new tasks looks like a trained one."
    )


def kinds_text(tasks: Mapping[str, Task]) -> str:
    """What the other kinds of training are."""
    count, (lost, left, back) = len(tasks[TURNED].pairs), reverses(tasks[TURNED])
    other = f"every one of the {left} tasks" if back == left else f"{back} of the {left} tasks"
    three = tasks[THREE]
    return (
        f"- *{THREE.capitalize()}*. With three of {three.m1} patterns in a mixture the largest coefficient can be kept at "
        f"{LEADING:g} while S₁ changes. All new patterns are then at one and the same angle.\n"
        f"- *{QUERY.capitalize()}*. The answers inside the prompt are not trained.\n"
        f"- *{TURNED}*. Of {count} other tasks, {lost} have their reverse left out: {other} that were not trained is a "
        f"trained one the other way round."
    )


def variants_line(found: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> str:
    """Mean errors of each kind of training by S₁."""
    return "; ".join(
        f"{name}: " + ", ".join(f"{m:.3f} at S₁ = {s:g}" for s, m in zip(SUMS, errors.mean(0), strict=True))
        for name, (errors, _) in found.items()
    )


def variants_table(variants: Mapping[str, Sequence[StoredRun]]) -> str:
    """What each kind of GPT-2 makes of trained tasks, of unseen ones and of new patterns, with the longest prompts."""
    rows = []
    for name, runs in variants.items():
        errors, _ = by_sum(runs)
        ends = [spread(errors[:, i], 3) for i in (0, -1)]
        counts = [f"{n} of {len(runs)}" for n in (int((errors[:, -1] < errors[:, 0]).sum()), _all_along(errors))]
        rows.append((name, wrong(errors_of(runs, "seen"), 4), spread(errors_of(runs, "unseen"), 3), *ends, *counts))
    ends = [f"S₁ = {SUMS[i]:g}" for i in (0, -1)]
    order = (f"seeds with fewer at {SUMS[-1]:g}", "with fewer at every larger S₁")
    return table(("GPT-2 trained on", "wrong: trained tasks", "unseen tasks", *ends, *order), rows)


def order_text(variants: Mapping[str, Sequence[StoredRun]]) -> str:
    """Whether S₁ orders errors where the angle moves with it, and where it does not."""
    found = {name: by_sum(runs) for name, runs in variants.items()}
    lines = []
    for errors, angles in found.values():
        if np.ptp(angles) >= 1:
            continue
        wins = int((errors[:, -1] < errors[:, 0]).sum())
        same = "still fall on average as S₁ grows" if (np.diff(errors.mean(0)) <= 0).all() else "do not fall in the order of S₁"
        open_yet = "" if wins in (0, len(errors)) else ", so this is open"
        lines.append(
            f"*At one and the same angle* ({angles[0]:.0f}°) errors {same}; S₁ = {SUMS[-1]:g} has fewer than {SUMS[0]:g} in "
            f"{wins} of {len(errors)} seeds{open_yet}."
        )
    for name, (errors, angles) in found.items():
        if np.ptp(angles) < 1:
            continue
        line = f"*{sentence(name)}:* on average {_order(errors.mean(0))}; in {_all_along(errors)} of {len(errors)} seeds they "
        line += "fall from every S₁ to the next."
        if _by_angle(errors.mean(0), angles):
            line += f" The means follow the angle, fewest near {angles.min():.0f}°, {_seeds_by_angle(errors, angles)}."
        worst = errors_of(variants[name], "unseen").max()
        if worst > LEARNED:
            line += f" But one seed is wrong on {worst:.0%} of the unseen tasks of old patterns, so not all have learned these."
        lines.append(line)
    return "\n".join(f"- {line}" for line in lines)


def _seeds_by_angle(errors: np.ndarray, angles: np.ndarray) -> str:
    """In how many seeds errors are in the order of the angle."""
    count = sum(_by_angle(each, angles) for each in errors)
    return f"and so do {count} of {len(errors)} seeds" if count else "but no single seed does"


def split_text(variants: Mapping[str, Sequence[StoredRun]]) -> str:
    """Whether who has seen tasks in one order only is wrong on their reverses, and what else differs."""
    of = {name: float(errors_of(runs, "unseen").mean()) for name, runs in variants.items()}
    better = of[TURNED] < of[GPT]
    said = (
        "Why should the choice of tasks matter? One would expect a model that has seen pairs of patterns in one order only to "
        "remember them with their sign, and to be wrong on the reverse. "
    )
    if better:
        said += (
            f"It is not so: the model whose unseen tasks are all reverses has fewer errors on them, {of[TURNED]:.3f}, than "
            f"the main one has on its unseen tasks, {of[GPT]:.3f}."
        )
    else:
        said += f"So it is: {of[TURNED]:.3f} of the reverses are wrong, and {of[GPT]:.3f} of the main model's unseen tasks."
    (main, total), (turned, _) = (alike(task_of(variants[name][0])) for name in (GPT, TURNED))
    count = lambda n: f"{n} of {total}" if n else f"none of {total}"
    said += (
        f"\n\nAnother difference is how new tasks look. By their nearest old patterns {count(turned)} look like trained tasks "
        f"after *{TURNED}*, and {count(main)} after *{GPT}*. "
    )
    if all(((b - a) % 2 == 1).all() for a, b in [task_of(variants[GPT][0]).pairs.T]):
        said += (
            "There, trained tasks always set a pattern of odd number against one of even number, and a new pattern mixes one "
            "of each: with one sign if S₁ > 1, with opposite signs if S₁ < 1. So S₁ might order errors for a reason of this "
            "choice of tasks. "
        )
    return said + "We have not tested it."


def verdict(
    runs: Sequence[StoredRun], variants: Mapping[str, Sequence[StoredRun]], covers: Mapping[str, Sequence[StoredRun]]
) -> str:
    """What carries over: a sentence or two for each question of the chapter."""
    cycle, control = (errors_of(covers[name], "unseen") for name in (CYCLE, CONTROL))
    share = fraction(Task(**COVERS[CYCLE]))
    enough = cycle.mean() <= SMALL_ERROR
    answers = "none" if not cycle.any() else f"{cycle.mean():.1%}"
    first = (
        f"*Which tasks?* Six of {share[1]} {'are' if enough else 'are not'} enough for the others, if every pattern takes part "
        f"({answers} of {N_TEST * len(cycle):,} answers wrong); six that leave patterns out "
        f"{'are not' if control.mean() > SMALL_ERROR else 'do as well'} ({control.mean():.0%})."
    )
    loss = {s: float(along(runs, [LENGTH], alpha=ALPHA, **span_of(s)).loss[:, 0].mean()) for s in (*SUMS, None)}
    inside, outside = max(loss[s] for s in SUMS), loss[None]
    second = (
        f"*Which new patterns?* On mixtures of the trained ones the one-layer model {_reads(inside)} (hinge loss at most "
        f"{inside:.4f}), on patterns outside their span it {_reads(outside)} ({outside:.2f})."
    )
    return "\n".join(
        f"- {line}" for line in (first, f"{second} {_gpt_verdict(variants)}", _needed_verdict(runs, variants[GPT]))
    )


def _gpt_verdict(variants: Mapping[str, Sequence[StoredRun]]) -> str:
    """For a small GPT-2: the order of errors after two choices of training tasks."""
    (main, angles), (other, _) = (by_sum(variants[name]) for name in (GPT, TURNED))
    order, unlike = _order(main.mean(0)), _order(other.mean(0))
    ends = lambda errors: f"from {errors[:, 0].mean():.3f} at S₁ = {SUMS[0]:g} to {errors[:, -1].mean():.3f} at {SUMS[-1]:g}"
    if order == unlike:
        return f"For a small GPT-2 {order}, {ends(main)}; so too after another choice of tasks, {ends(other)}."
    said = (
        f"For a small GPT-2 it depends on which tasks were trained. After one choice {order}, {ends(main)}; after another "
        f"{unlike}, {ends(other)}."
    )
    if _by_angle(other.mean(0), angles):
        said += f" These means follow the angle to the nearest trained pattern, {_seeds_by_angle(other, angles)}."
    return said


def _needed_verdict(runs: Sequence[StoredRun], gpts: Sequence[StoredRun]) -> str:
    """How many examples both models need in domain."""
    most, least = ALPHAS[-1], ALPHAS[0]
    one = {a: reached(CURVE_LENGTHS, along(runs, CURVE_LENGTHS, CURVE_COUNT, alpha=a).shares) for a in (least, most)}
    gpt = gpt_needed(gpts, "in domain")
    fewer = falling([one[least], one[most]]) and falling([gpt[least], gpt[most]])
    left = gpt_errors(gpts, "in domain", least)[LENGTH].mean
    line = no_match_floor(least, LENGTH)
    stays = left > RARE and left > 10 * line
    more = "The more of them show the task, the fewer" if fewer else "More that show the task do not always mean fewer"
    said = (
        f"*How many examples?* {more}. For at most {ENOUGH:.0%} wrong on unseen tasks the one-layer model needs "
        f"{never(one[least])} at α' = {least:g} and {never(one[most])} at {most:g}, GPT-2 {never(gpt[least])} and "
        f"{never(gpt[most])}."
    )
    return said + (f" With {LENGTH} examples, at α' = {least:g}, GPT-2 is still wrong on {left:.1%}." if stays else "")


def sums_table(runs: Sequence[StoredRun], gpts: Sequence[StoredRun], alpha: float) -> str:
    """The new patterns and what models make of them at l = 20: coefficients, angle to the nearest trained pattern, errors."""
    columns = (
        f"GPT-2: wrong, α' = {ALPHA:g}",
        f"one layer, α' = {alpha:g}: margin zF",
        "hinge loss in 1/1000 (range of seeds)",
    )
    rows = []
    for name, one in _at_all(runs, alpha).items():
        condition = name if name in ("in domain", SPAN) else at_foreign(float(name))
        wrongs = spread(gpt_errors(gpts, condition, ALPHA)[LENGTH].each, 3)
        loss = 1000 * one.loss[:, 0]
        sizes = f"{_size(loss.mean())} ({_size(loss.min())} … {_size(loss.max())})"
        shown = {"in domain": "in domain, unseen tasks", SPAN: SPAN}.get(name, f"S₁ = {name}")
        rows.append((shown, *_coefficients(_CHANGES[name]), wrongs, reported(one.margin[:, 0], 2), sizes))
    return table(("patterns", "k₁, k₂", "angle", *columns), rows)


_CHANGES: dict[str, dict[str, object]] = {"in domain": {}, **{f"{s:g}": span_of(s) for s in SUMS}, SPAN: span_of(None)}


def _at_all(runs: Sequence[StoredRun], alpha: float) -> dict[str, Along]:
    """{condition: the one-layer model at the longest prompt}"""
    return {name: along(runs, [LENGTH], alpha=alpha, **change) for name, change in _CHANGES.items()}


def _size(value: float) -> str:
    """A size of some hundredths to some thousands."""
    return "0" if not value else "<0.01" if value < 0.005 else f"{value:.{2 if value < 10 else 0}f}"


def signs_text(runs: Sequence[StoredRun], alpha: float) -> str:
    """How many signs of the one-layer model are wrong with the longest prompts."""
    found = _at_all(runs, alpha)
    away = found.pop(SPAN)
    worst = max(round(float(one.error[:, 0].sum()) * one.total) for one in found.values())
    total = away.total * len(runs)
    inside = f"at most {worst:,}" if worst else "none"
    return (
        f"Of the one-layer model's signs {inside} of {total:,} are wrong, in domain and at every S₁ of the table, and "
        f"{away.error[:, 0].mean():.0%} outside the span."
    )


def _coefficients(change: Mapping[str, object]) -> tuple[str, str]:
    """k₁, k₂ and the angle to the nearest trained pattern."""
    if "sum" not in change:
        return ("–", "90°") if change else ("1, 0", "0°")
    k = Task(**change).patterns[0][:2].tolist()
    return minus(f"{k[0]:.2f}, {k[1]:+.2f}"), f"{angle(float(str(change['sum']))):.0f}°"


def sums_line(sums: Sequence[float], found: Sequence[Along], outside: Along) -> str:
    """Hinge loss and margin at the ends of the range and outside the span."""
    say = lambda name, a: f"{name} hinge {reported(a.loss[:, 0], 4)}, margin {reported(a.margin[:, 0], 2)}"
    return "; ".join([say(minus(f"S₁ = {sums[i]:g}"), found[i]) for i in (0, -1)] + [say(SPAN, outside)])


def sums_text(sums: Sequence[float], found: Sequence[Along]) -> str:
    """What S₁ changes, and what not: margins, attention and signs; the S₁ from which on the loss is small."""
    margin, attention = (np.array([getattr(a, name)[:, 0].mean() for a in found]) for name in ("margin", "attention"))
    slope, start = np.polyfit(sums, margin, 1)
    off = np.abs(np.polyval((slope, start), sums) - margin).max()
    worst = max(round(float(a.error[:, 0].sum()) * a.total) for a in found)
    total = found[0].total * len(found[0].error)
    even = np.ptp(attention) <= STRAIGHT
    line = f"{start:.2f} {'+' if slope >= 0 else '−'} {abs(slope):.2f} S₁"
    straight = (
        f"It lies on a straight line, {line}" if off <= STRAIGHT else f"It does not lie on a straight line: {line} misses it"
    )
    said = (
        f"{'What S₁ moves is the margin' if even else 'S₁ moves both attention and the margin'}. {straight}"
        f"{', to within' if off <= STRAIGHT else ' by up to'} {off:.2f}. Attention to the query's pattern "
        f"{'is nearly the same for all, negative S₁ included' if even else 'depends on S₁'}: "
        f"{attention.min():.2f} to {attention.max():.2f}. Of the signs {f'at most {worst:,}' if worst else 'none'} of "
        f"{total:,} {'are' if worst != 1 else 'is'} wrong at any S₁."
    )
    return minus(said)


def theorem_text(sums: Sequence[float], found: Sequence[Along]) -> str:
    """Whether S₁ ≥ 1 is sufficient, and whether it is needed, for a small loss of the one-layer model."""
    small = [all(bool((a.loss[:, 0] <= SMALL_LOSS).all()) for a in found[i:]) for i in range(len(sums))]
    first = sums[small.index(True)] if any(small) else None
    enough, needless = first is not None and first <= 1, first is not None and first < 1
    where = f"from S₁ = {first:g} on" if first is not None else "nowhere"
    margin = np.array([a.margin[:, 0].mean() for a in found])
    slope, start = np.polyfit(sums, margin, 1)
    rest = float(start / (start + slope)) if start + slope > 0 else 0.0
    said = f"The hinge loss is at most {SMALL_LOSS:g} in every seed **{where}**. "
    said += f"So S₁ ≥ 1 is {'sufficient, as the theorem says' if enough else 'not sufficient with these prompts'}"
    if needless:
        said += ". The talk adds that it is *needed*; for the one-layer model that does not hold here"
        if slope > 0 and (1 - start) / slope < 1:
            said += f": the mean margin passes 1, where the hinge loss begins, at S₁ = {(1 - start) / slope:.2f}"
    said += "."
    if needless and NEARLY < rest <= 1:
        said += (
            f" The label half alone is nearly enough: at S₁ = 0, without the feature half, the margin is {start:.2f}, "
            f"{rest:.0%} of that at 1."
        )
    return minus(said)


# --- How many examples ---


def needed_line(found: Mapping[str, Mapping[float, tuple[Sequence[int], Sequence[Share]]]]) -> str:
    """The examples needed in each panel."""
    say = lambda curves: ", ".join(f"{never(reached(*curve))} (α' = {a:g})" for a, curve in curves.items()) or "not tested"
    return f"examples for an error of at most {ENOUGH:g}: " + "; ".join(
        f"{title.replace('$S_1$', 'S₁')} {say(curves)}" for title, curves in found.items()
    )


def needed_text(gpts: Sequence[StoredRun], total: float) -> str:
    """Whether more matches mean fewer examples, for GPT-2."""
    rows = [
        (name, *(never(n) for n in gpt_needed(gpts, condition).values()), f"{ordered(gpts, condition)} of {len(gpts)}")
        for name, condition in (("in domain", "in domain"), (f"S₁ = {total:g}", at_foreign(total)))
        if condition == "in domain" or total in SUMS
    ]
    head = ("patterns", *(f"α' = {a:g}" for a in ALPHAS), "seeds with fewer at every larger α'")
    said = f"Examples that GPT-2 needs for at most {ENOUGH:.0%} wrong answers, means of seeds:\n\n{table(head, rows)}"
    return said if total in SUMS else f"{said}\n\n" + minus(f"At S₁ = {total:g} it was not tested.")


def readers_table(runs: Sequence[StoredRun], variants: Mapping[str, Sequence[StoredRun]]) -> str:
    """Readers of short prompts on unseen tasks of old patterns: two ideal ones, and the models."""
    one = along(runs, CURVE_LENGTHS, CURVE_COUNT, alpha=ALPHA).shares
    gpt = {name: gpt_errors(variants[name], "in domain") for name in (GPT, TURNED)}
    rows = [
        (
            n,
            f"{no_match_floor(ALPHA, n):.3f}",
            f"{both_labels_floor(ALPHA, n):.3f}",
            f"{one[CURVE_LENGTHS.index(n)].mean:.3f}",
            *(f"{shares[n].mean:.3f}" for shares in gpt.values()),
        )
        for n in READ_LENGTHS
    ]
    head = ("examples", "copies a match, else guesses", "uses both labels, else guesses", "one layer")
    return table((*head, *(f"GPT-2, {name}" for name in gpt)), rows)


def readers_text(runs: Sequence[StoredRun], variants: Mapping[str, Sequence[StoredRun]]) -> str:
    """Which reader each model is like."""
    one = along(runs, CURVE_LENGTHS, CURVE_COUNT, alpha=ALPHA).shares
    short = READ_LENGTHS[:3]
    rate = [one[CURVE_LENGTHS.index(n)].mean / (2 * no_match_floor(ALPHA, n)) for n in short]
    said = (
        f"*One layer.* With {short[0]} to {short[-1]} examples it makes {min(rate):.2f} to {max(rate):.2f} errors for each "
        f"prompt without a match; a guess would make 0.5. "
    )
    if max(rate) > ASTRAY:
        said += "So it errs on many prompts that show a match, too."
    elif min(rate) > BLIND:
        said += (
            "So it is worse than a guess there. Its attention goes to whatever is there, most often examples of the task's "
            "*other* pattern, and it copies their labels, which are wrong. It cannot do otherwise: it reads its answer from "
            "the examples alone, and the query only weighs them. With a single example every query gets the same answer."
        )
    else:
        said += "So it is not worse than a guess there at every length."
    lines = [said]
    for name in (GPT, TURNED):
        shares = gpt_errors(variants[name], "in domain")
        below, above = against_guess(shares[: max(READ_LENGTHS) + 1], ALPHA)
        at = f"at {READ_LENGTHS[0]} example: {shares[1].mean:.3f} against {no_match_floor(ALPHA, 1):.3f}"
        line = f"*GPT-2, {name}.* With up to {max(READ_LENGTHS)} examples it is "
        if below:
            line += (
                f"clearly below who copies a match at {_lengths(below)} ({at}; both labels: "
                f"{both_labels_floor(ALPHA, 1):.3f}). So it knows that the other pattern's label is the opposite of its own."
            )
        else:
            line += (
                f"nowhere clearly below who copies a match ({at}), so whether it uses the other pattern's label cannot be seen "
                f"there."
            )
        if above:
            line += f" At {_lengths(above)} it is clearly above."
        lines.append(line)
    new = [s for s in SUMS if against_guess(gpt_errors(variants[GPT], at_foreign(s))[:2], ALPHA)[0]]
    if new:
        best = new[-1]
        lines[1] += (
            f" On new patterns of S₁ = {listed([f'{s:g}' for s in new])} it is clearly below with one example "
            f"({gpt_errors(variants[GPT], at_foreign(best))[1].mean:.3f} at {best:g}), so it uses both labels *there*."
        )
    left = [gpt_errors(variants[GPT], "in domain", a)[LENGTH].mean for a in ALPHAS]
    if min(left) > 10 * no_match_floor(ALPHAS[0], LENGTH):
        lines.append(
            f"*Long prompts.* With {LENGTH} examples {min(left):.1%} to {max(left):.1%} are wrong after *{GPT}*, by α'. Hardly "
            f"any prompt lacks a match, so these errors are not for want of examples."
        )
    return "\n".join(f"- {line}" for line in lines)


def _lengths(lengths: Sequence[int]) -> str:
    if len(lengths) > 2 and lengths[-1] - lengths[0] == len(lengths) - 1:
        return f"l = {lengths[0]} … {lengths[-1]}"
    return f"l = {listed([str(n) for n in lengths])}"
