"""Lines, tables and sentences of chapter 13."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.read.words import listed, sentence
from lib.core.record.store import StoredRun
from lib.in_context.experiments import ALPHA, COVERS, GPT, LENGTH, TURNED
from lib.in_context.out_of_domain.metrics import (
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
    at_foreign,
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
from lib.in_context.study import ALPHAS, SUMS
from lib.in_context.task import LEADING, Task, no_match_floor

SMALL_ERROR, HALF = 0.01, 0.5
"""The share of errors of who has learned the rest of the tasks, and the hinge loss of who has not learned new patterns."""
FLAT, STRAIGHT, NEARLY, BLIND, ASTRAY = 0.25, 0.05, 0.6, 0.6, 1.1
"""An exponent that hardly matters; how far means may lie from a straight line; the share of the margin at S₁ = 1 that is nearly
all of it; how many errors, for each prompt without a match, are more than a guess makes, and how many are more than a missing
match explains."""
SHORT, FEW_EXAMPLES = (1, 2, 4), 8
"""Lengths at which the one-layer model is held against a guess, and up to which GPT-2 is held against who copies."""
ALIKE = 0.02
"""Shares of errors that differ by no more are alike."""


def _reads(loss: float) -> str:
    return "reads the task" if loss <= SMALL_LOSS else "reads it in part" if loss < HALF else "does not read it"


def _order(errors: np.ndarray) -> str:
    """How mean errors change over SUMS, in words."""
    if (np.diff(errors) == 0).all():
        return "errors are the same whatever S₁ is"
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
        f"Wrong answers on unseen tasks: **{_share(cycle)}** after the cycle, **{_share(control)}** after as many tasks of "
        f"three patterns ({len(cycle)} seeds)."
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


def _share(errors: np.ndarray) -> str:
    """Wrong answers of all seeds, counted where they are few, else as a rounded share."""
    said = wrong(errors, 3)
    return f"{errors.mean():.0%}" if said[0] in "01" and "." in said else said


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
                f" A straight line in M₁ that starts at {start:.0f} steps fits as well, so a constant term may hide the "
                "theorem's "
                "growth."
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
    """In what order the five S₁ end, and in how many seeds they are so ordered; what is left outside the span."""
    errors, _ = by_sum(runs)
    mean = errors.mean(0)
    falls = bool((np.diff(mean) <= 0).all())
    all_along = _all_along(errors)
    order = (
        "Errors fall as S₁ grows"
        if falls
        else "From the fewest errors to the most, S₁ = " + ", ".join(f"{SUMS[i]:g}" for i in np.argsort(mean))
    )
    rising = [s for s in SUMS if _rises(gpt_errors(runs, at_foreign(s)))]
    again = ""
    if rising:
        least = [int(np.argmin([share.mean for share in gpt_errors(runs, at_foreign(s))])) for s in rising]
        at = f"{min(least)}" if min(least) == max(least) else f"{min(least)} to {max(least)}"
        again = (
            f" More examples do not always help: at S₁ = {listed([f'{s:g}' for s in rising])} errors are fewest with {at} "
            f"examples and clearly rise again until {LENGTH}."
        )
    outside = gpt_errors(runs, SPAN)[LENGTH].each.mean()
    coin = "hardly better than a coin" if outside > 0.4 else "no better than in part" if outside > LEARNED else "well"
    return (
        f"{order}. Seed by seed they fall from every S₁ to the next in {all_along} of {len(runs)}.{again} Outside the span "
        f"GPT-2 answers {coin}."
    )


def _rises(shares: Sequence[Share]) -> bool:
    """Are errors at the longest prompt clearly above the fewest at any length: does one 95 % interval end below the other?"""
    fewest = min(shares, key=lambda share: share.mean)
    return fewest.interval[1] < shares[-1].interval[0]


def in_domain_text(runs: Sequence[StoredRun]) -> str:
    """New patterns against the unseen tasks of old ones, and whether the new tasks look like trained ones."""
    own = float(gpt_errors(runs, "in domain")[LENGTH].each.mean())
    mean = by_sum(runs)[0].mean(0)
    easier = [f"{s:g}" for s, m in zip(SUMS, mean, strict=True) if m < own]
    seen = errors_of(runs, "seen")
    trained, total = alike(task_of(runs[0]))
    said = f"“In domain” are *unseen* tasks of the trained patterns. Of trained tasks it gets {_share(seen)} wrong. "
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
    said = "Why should the choice of tasks matter? "
    if of[TURNED] < of[GPT]:
        said += (
            "Not because a model remembers pairs with their sign: the one whose unseen tasks are all reverses of trained ones "
            "has fewer errors on them than the main one has on its unseen tasks."
        )
    else:
        said += "Models may remember pairs with their sign: the reverses of trained tasks are answered worse than other ones."
    (main, total), (turned, _) = (alike(task_of(variants[name][0])) for name in (GPT, TURNED))
    count = lambda n: f"{n} of {total}" if n else f"none of {total}"
    return (
        f"{said} Another difference is how new tasks look: by their nearest old patterns {count(turned)} look like trained "
        f"tasks after *{TURNED}*, and {count(main)} after *{GPT}*. Whether that is why was not tested."
    )


def verdict(
    runs: Sequence[StoredRun], variants: Mapping[str, Sequence[StoredRun]], covers: Mapping[str, Sequence[StoredRun]]
) -> str:
    """What carries over, in two sentences: tasks and patterns; the coefficient sum and the number of examples."""
    cycle, control = (errors_of(covers[name], "unseen") for name in (CYCLE, CONTROL))
    total = fraction(Task(**COVERS[CYCLE]))[1]
    if cycle.mean() > SMALL_ERROR:
        tasks = f"Six of {total} tasks in training are not enough for the others"
    elif control.mean() > SMALL_ERROR:
        tasks = f"Six of {total} tasks in training are enough for the others if every pattern takes part"
    else:
        tasks = f"Six of {total} tasks in training are enough for the others, even if patterns are left out"
    loss = {s: float(along(runs, [LENGTH], alpha=ALPHA, **span_of(s)).loss[:, 0].mean()) for s in (*SUMS, None)}
    inside, outside = _reads(max(loss[s] for s in SUMS)), _reads(loss[None])
    joined = "and" if inside == outside else "but"
    patterns = f"From mixtures of trained patterns the one-layer model {inside}, {joined} outside their span it {outside}"
    return f"{tasks}. {patterns}. {_gpt_verdict(variants)}. {sentence(_needed_verdict(runs, variants[GPT]))}."


def conclusion(
    runs: Sequence[StoredRun],
    variants: Mapping[str, Sequence[StoredRun]],
    covers: Mapping[str, Sequence[StoredRun]],
    sums: Sequence[float],
    found: Sequence[Along],
) -> str:
    """What to take away of each question beyond the answer."""
    count, total, least = fraction(Task(**COVERS[CYCLE]))
    enough = errors_of(covers[CYCLE], "unseen").mean() <= SMALL_ERROR
    tasks = (
        "the share of tasks that the theorem asks for is not needed with these patterns; that each takes part is"
        if enough and count / total < least
        else "the theorem's share of tasks was not undercut without loss"
    )
    first = _first_small(sums, found)
    if first is None or first > 1:
        patterns = "S₁ ≥ 1 is not sufficient for the one-layer model with these prompts"
    elif first < 1:
        patterns = "S₁ ≥ 1 is sufficient for the one-layer model and not needed"
    else:
        patterns = "S₁ ≥ 1 is sufficient for the one-layer model, and what is smaller is not"
    order = [_order(by_sum(variants[name])[0].mean(0)) for name in (GPT, TURNED)]
    if order[0] != order[1]:
        patterns += ". For GPT-2 the choice of training tasks decides, and we do not know how"
    left = gpt_errors(variants[GPT], "in domain")[LENGTH].mean
    stays = left > RARE and left > 10 * no_match_floor(ALPHA, LENGTH)
    examples = (
        f"where the prompt shows the query's pattern the one-layer model is right; GPT-2 still errs with {LENGTH} "
        "examples, and not "
        "for want of them"
        if stays
        else "what is wrong in the end is wrong because no example shows the query's pattern"
    )
    lines = {"Which tasks?": tasks, "Which new patterns?": patterns, "How many examples?": examples}
    return "\n".join(f"- *{asked}* {sentence(said)}." for asked, said in lines.items())


def _first_small(sums: Sequence[float], found: Sequence[Along]) -> float | None:
    """The S₁ from which on the hinge loss is small in every seed; None for nowhere."""
    small = [all(bool((a.loss[:, 0] <= SMALL_LOSS).all()) for a in found[i:]) for i in range(len(sums))]
    return sums[small.index(True)] if any(small) else None


def _gpt_verdict(variants: Mapping[str, Sequence[StoredRun]]) -> str:
    """For a small GPT-2: the order of errors after two choices of training tasks."""
    added = lambda said: said.replace("S₁", "the sum of a mixture's coefficients")
    order, unlike = (added(_order(by_sum(variants[name])[0].mean(0))) for name in (GPT, TURNED))
    if order == unlike:
        return f"A small GPT-2 was trained on two choices of tasks: after either, {order}"
    unlike = unlike.replace("the sum of a mixture's coefficients", "this sum")
    return f"For a small GPT-2 {order}, after one choice of training tasks; after another {unlike}"


def _needed_verdict(runs: Sequence[StoredRun], gpts: Sequence[StoredRun]) -> str:
    """Whether both models need fewer examples in domain where more of them show the task."""
    most, least = ALPHAS[-1], ALPHAS[0]
    one = {a: reached(CURVE_LENGTHS, along(runs, CURVE_LENGTHS, CURVE_COUNT, alpha=a).shares) for a in (least, most)}
    gpt = gpt_needed(gpts, "in domain")
    if falling([one[least], one[most]]) and falling([gpt[least], gpt[most]]):
        return "the more examples show the task, the fewer are needed"
    return "more examples that show the task do not always mean that fewer are needed"


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
    line = "on a straight line" if off <= STRAIGHT else "not on a straight line"
    said = (
        f"{'What S₁ moves is the margin' if even else 'S₁ moves both attention and the margin'}, and the margin {line}. "
        "Attention "
        f"to the query's pattern {'is nearly the same for all, negative S₁ included' if even else 'depends on S₁'}. Of "
        "the signs "
        f"{f'at most {worst:,}' if worst else 'none'} of {total:,} {'are' if worst != 1 else 'is'} wrong at any S₁."
    )
    return minus(said)


def lengths_text(inside: Along, sums: Mapping[float, Along], outside: Along) -> str:
    """Whether new patterns need other examples than old ones, by the shares of wrong signs at every length."""
    off = max(float(np.abs(a.error.mean(0) - inside.error.mean(0)).max()) for a in sums.values())
    away = "hardly better than a coin" if outside.error.mean() > 0.4 else "better than a coin"
    near = "new patterns are answered as old ones are" if off <= ALIKE else "new patterns are not answered as old ones are"
    return (
        f"With fewer examples, too, {near}: from {inside.lengths[0]} to {inside.lengths[-1]} of them the shares of wrong signs "
        f"differ by at most {100 * off:.1f} points in 100 between any S₁ of the talk and in domain. What limits them is "
        "whether the prompt "
        "shows the "
        f"query's pattern at all. Outside the span the model is {away}."
    )


def theorem_text(sums: Sequence[float], found: Sequence[Along]) -> str:
    """Whether S₁ ≥ 1 is sufficient, and whether it is needed, for a small loss of the one-layer model."""
    first = _first_small(sums, found)
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
        said += f" The label half alone is nearly enough: at S₁ = 0, without the other, the margin is {rest:.0%} of that at 1."
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
    count = lambda condition: f"{ordered(gpts, condition)} of {len(gpts)} seeds"
    said = f"In domain GPT-2 needs fewer examples at every larger α' in {count('in domain')}"
    if total in SUMS:
        return minus(f"{said}, with new patterns of S₁ = {total:g} in {count(at_foreign(total))}.")
    return minus(f"{said}. At S₁ = {total:g} it was not tested.")


def readers_text(runs: Sequence[StoredRun], variants: Mapping[str, Sequence[StoredRun]]) -> str:
    """Which reader each model is like."""
    one = along(runs, CURVE_LENGTHS, CURVE_COUNT, alpha=ALPHA).shares
    short = SHORT
    rate = [one[CURVE_LENGTHS.index(n)].mean / (2 * no_match_floor(ALPHA, n)) for n in short]
    said = f"*One layer.* With {short[0]} to {short[-1]} examples "
    if max(rate) > ASTRAY:
        said += "it errs on many prompts that show a match, too."
    elif min(rate) > BLIND:
        said += (
            "it errs more than a reader who guesses where no example matches. Its attention goes to whatever is there, most "
            "often examples of the task's *other* pattern, and it copies their labels, which are wrong. It cannot do "
            "otherwise: the query only weighs the examples, so that with a single one every query gets the same answer."
        )
    else:
        said += "it does not err more than a reader who guesses where no example matches, or not at every length."
    lines = [said]
    for name in (GPT, TURNED):
        shares = gpt_errors(variants[name], "in domain")
        below, above = against_guess(shares[: FEW_EXAMPLES + 1], ALPHA)
        line = f"*GPT-2, {name}.* With up to {FEW_EXAMPLES} examples it "
        if below:
            line += (
                f"errs clearly less than who copies a match, at {_lengths(below)}. So it knows that the other pattern's label "
                "is the opposite of its own."
            )
        else:
            line += (
                "nowhere errs clearly less than who copies a match, so that no use of the other pattern's label can be seen."
            )
        if above:
            line += f" At {_lengths(above)} it errs clearly more."
        lines.append(line)
    new = [s for s in SUMS if against_guess(gpt_errors(variants[GPT], at_foreign(s))[:2], ALPHA)[0]]
    if new:
        at = listed([f"{s:g}" for s in new])
        lines[1] += f" On new patterns of S₁ = {at} it errs clearly less with one example, so it uses both labels *there*."
    left = [gpt_errors(variants[GPT], "in domain", a)[LENGTH].mean for a in ALPHAS]
    if min(left) > 10 * no_match_floor(ALPHAS[0], LENGTH):
        lines.append(
            f"*Long prompts.* With {LENGTH} examples GPT-2 still errs at every α' of the figure, after *{GPT}*. Hardly "
            "any prompt "
            "lacks a match, so these errors are not for want of examples."
        )
    return "\n".join(f"- {line}" for line in lines)


def _lengths(lengths: Sequence[int]) -> str:
    if len(lengths) > 2 and lengths[-1] - lengths[0] == len(lengths) - 1:
        return f"l = {lengths[0]} … {lengths[-1]}"
    return f"l = {listed([str(n) for n in lengths])}"
