"""Lines, tables and sentences of chapter 13."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.record.store import StoredRun
from lib.in_context.experiments import ALPHA, COVERS, LENGTH
from lib.in_context.out_of_domain.numbers import (
    CONTROL,
    CURVE_COUNT,
    CURVE_LENGTHS,
    CYCLE,
    ENOUGH,
    RARE,
    SMALL_LOSS,
    SPAN,
    THEORY,
    Along,
    Steps,
    along,
    angle,
    at_foreign,
    by_sum,
    errors_of,
    fraction,
    gpt_errors,
    gpt_needed,
    ordered,
    reached,
    span_of,
)
from lib.in_context.runs import Share
from lib.in_context.study import SUMS
from lib.in_context.task import Task, no_match_floor

SMALL_ERROR, HALF = 0.01, 0.5
"""The share of errors of who has learned the rest of the tasks, and the hinge loss of who has not learned new patterns."""


def _reads(loss: float) -> str:
    return "reads the task" if loss <= SMALL_LOSS else "reads it in part" if loss < HALF else "does not read it"


def _order(errors: np.ndarray) -> str:
    """How mean errors change over SUMS, in words."""
    if (np.diff(errors) == 0).all():
        return "errors are the same at every S₁"
    falls, rises = bool((np.diff(errors) <= 0).all()), bool((np.diff(errors) >= 0).all())
    return f"errors {'fall' if falls else 'rise'} as S₁ grows" if falls or rises else "errors are not in the order of S₁"


def never(count: int | None) -> str:
    return f"more than {LENGTH}" if count is None else f"{count}"


# --- Theorem 1 ---


def cover_line(groups: Mapping[str, Sequence[StoredRun]]) -> str:
    """Wrong answers at the end of training, over seeds."""
    return "; ".join(
        f"{name}: trained tasks {spread(errors_of(runs, 'seen'), 3)}, unseen {spread(errors_of(runs, 'unseen'), 3)}"
        for name, runs in groups.items()
    )


def cover_text(tasks: Mapping[str, Task], groups: Mapping[str, Sequence[StoredRun]]) -> str:
    """What the theorem asks of the training tasks, and what the sets have."""
    least = fraction(next(iter(tasks.values())))[2]
    have = {name: trained / total for name, (trained, total, _) in ((n, fraction(t)) for n, t in tasks.items())}
    cycle, control = (errors_of(groups[name], "unseen") for name in (CYCLE, CONTROL))
    return (
        f"The theorem, as the talk has it, asks for at least (M₁ − 1)^−½ = **{least:.2f}** of all tasks. The cycle has "
        f"**{have[CYCLE]:.2f}**. "
        f"After it **{spread(cycle, 4)}** of the answers on unseen tasks are wrong, after as many tasks of three patterns "
        f"**{spread(control, 3)}** (mean ± standard deviation over {len(cycle)} seeds)."
    )


def speed_line(found: Mapping[str, Steps]) -> str:
    return "; ".join(f"{name}: {s.words}" for name, s in found.items())


def speed_text(found: Mapping[str, Steps]) -> str:
    """The exponents next to those of the theorem, and whether the intervals hold them."""
    lines = []
    for name, s in found.items():
        value, low, high = s.slope
        inside = "inside" if low <= THEORY[name] <= high else "outside"
        means = ", ".join(f"{s.steps[s.x == x].mean():.0f} at {x:g}" for x in np.unique(s.x))
        bound = ""
        if s.open.any():
            lost = ", ".join(f"{x:g}" for x in np.unique(s.x[s.open]))
            bound = f" {int(s.open.sum())} of {len(s.x)} runs never get there, all at {lost}; they count at the limit."
            if not s.closed.open.any():
                rest, rest_low, rest_high = s.closed.slope
                inside_too = "inside" if rest_low <= THEORY[name] <= rest_high else "outside"
                bound += (
                    f" Without {lost} the exponent is **{rest:+.2f}** [{rest_low:+.2f}, {rest_high:+.2f}], the "
                    f"theorem's {inside_too}."
                )
        lines.append(
            f"- **{name}**: steps ∝ ({name})^**{value:+.2f}** [{low:+.2f}, {high:+.2f}]; the theorem's {THEORY[name]:+.2f} is "
            f"{inside} the interval. Mean steps: {means}.{bound}"
        )
    return "\n".join(lines)


# --- Theorem 2 ---


def gpt_line(runs: Sequence[StoredRun]) -> str:
    """GPT-2's errors at the longest prompt in every condition, over seeds."""
    names = ["in domain", *map(at_foreign, SUMS), SPAN]
    return f"wrong at l = {LENGTH}: " + ", ".join(f"{n} {spread(gpt_errors(runs, n, ALPHA)[LENGTH].each, 4)}" for n in names)


def gpt_order_text(runs: Sequence[StoredRun]) -> str:
    """In what order the five S₁ end, and in how many seeds neighbours are so ordered."""
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
    return f"{order}. Seed by seed ({len(runs)} in all), the larger S₁ has fewer errors: {pairs}. {rare}"


def variants_line(found: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> str:
    """Mean errors of each kind of training by S₁."""
    return "; ".join(
        f"{name}: " + ", ".join(f"{m:.3f} at S₁ = {s:g}" for s, m in zip(SUMS, errors.mean(0), strict=True))
        for name, (errors, _) in found.items()
    )


def variants_text(found: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> str:
    """In what order of S₁ each kind of training ends."""
    lines = []
    for name, (errors, angles) in found.items():
        mean = errors.mean(0)
        order = _order(mean)
        where = (
            f"at one angle, {angles[0]:.0f}°"
            if np.ptp(angles) < 1
            else f"at angles from {angles.min():.0f}° to {angles.max():.0f}°"
        )
        lines.append(
            f"- *{name}* ({len(errors)} seeds, {where}): {order}, from {mean[0]:.3f} at S₁ = {SUMS[0]:g} to {mean[-1]:.3f} at "
            f"{SUMS[-1]:g}."
        )
    return "\n".join(lines)


def order_verdict(found: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> str:
    """Whether S₁ orders errors where the angle moves with it, and where it does not."""
    falls = {name: bool((np.diff(errors.mean(0)) <= 0).all()) for name, (errors, _) in found.items()}
    fixed = [name for name, (_, angles) in found.items() if np.ptp(angles) < 1]
    others = [name for name in found if name not in fixed]
    lines = []
    if fixed:
        errors = found[fixed[0]][0]
        wins = int((errors[:, -1] < errors[:, 0]).sum())
        same = "still fall on average as S₁ grows" if falls[fixed[0]] else "do not fall in the order of S₁"
        open_yet = "" if wins in (0, len(errors)) else ", so that this is open"
        lines.append(
            f"At one and the same angle errors {same}; S₁ = {SUMS[-1]:g} has fewer than {SUMS[0]:g} in {wins} of {len(errors)} "
            f"seeds{open_yet}."
        )
    lost = [f"*{name}*" for name in others if not falls[name]]
    if lost and len(lost) < len(others):
        lines.append(f"Where the angle moves, the order is there in all kinds of training but {', '.join(lost)}.")
    elif lost:
        lines.append("Where the angle moves with S₁, no kind of training has the order.")
    elif others:
        lines.append("Where the angle moves with S₁, every kind of training has the order.")
    return " ".join(lines)


def rise_text(variants: Mapping[str, Sequence[StoredRun]]) -> str:
    """What each kind of GPT-2 makes of trained and of other tasks with the longest prompts, in domain."""
    rows = [(name, spread(errors_of(runs, "seen"), 4), spread(errors_of(runs, "unseen"), 4)) for name, runs in variants.items()]
    return f"Wrong in domain, with {LENGTH} examples:\n\n" + table(("GPT-2 trained on", "trained tasks", "other tasks"), rows)


def verdict(runs: Sequence[StoredRun], gpts: Sequence[StoredRun], covers: Mapping[str, Sequence[StoredRun]]) -> str:
    """What carries over, in three sentences."""
    cycle, control = (float(errors_of(covers[name], "unseen").mean()) for name in (CYCLE, CONTROL))
    share = fraction(Task(**COVERS[CYCLE]))
    enough = cycle <= SMALL_ERROR
    first = (
        f"Six tasks of {share[1]} {'are' if enough else 'are not'} enough for the others, if every pattern takes part "
        f"({cycle:.1%} wrong); six that leave patterns out {'are not' if control > SMALL_ERROR else 'do as well'} "
        f"({control:.0%})."
    )
    loss = {s: float(along(runs, [LENGTH], alpha=ALPHA, **span_of(s)).loss[:, 0].mean()) for s in (*SUMS, None)}
    inside, outside = max(loss[s] for s in SUMS), loss[None]
    second = (
        f"On new patterns that mix the trained ones the one-layer model {_reads(inside)} (hinge loss at most {inside:.4f}), on "
        f"patterns outside their span it {_reads(outside)} ({outside:.2f})."
    )
    mean = by_sum(gpts)[0].mean(0)
    ends = f"from {mean[0]:.3f} at S₁ = {SUMS[0]:g} to {mean[-1]:.3f} at {SUMS[-1]:g}"
    return f"{first} {second} For a small GPT-2 {_order(mean)}, {ends}."


def sums_table(runs: Sequence[StoredRun], gpts: Sequence[StoredRun], alpha: float) -> str:
    """The new patterns and what models make of them at l = 20: coefficients, angle to the nearest trained pattern, errors."""
    columns = (f"GPT-2: wrong, α' = {ALPHA:g}", f"one layer, α' = {alpha:g}: hinge loss", "wrong", "margin zF")
    rows = []
    for name, change in (
        ("in domain", {}),
        *((f"S₁ = {s:g}", span_of(s)) for s in SUMS),
        (SPAN, span_of(None)),
    ):
        one = along(runs, [LENGTH], alpha=alpha, **change)
        condition = at_foreign(change["sum"]) if "sum" in change else name
        size = lambda values, digits: spread(values[:, 0], digits)
        wrong = spread(gpt_errors(gpts, condition, ALPHA)[LENGTH].each, 4)
        rows.append((name, *_coefficients(change), wrong, size(one.loss, 5), size(one.error, 5), size(one.margin, 2)))
    return table(("patterns", "k₁, k₂", "angle", *columns), rows)


def _coefficients(change: Mapping[str, object]) -> tuple[str, str]:
    """k₁, k₂ and the angle to the nearest trained pattern."""
    if "sum" not in change:
        return ("–", "90°") if change else ("1, 0", "0°")
    k = Task(**change).patterns[0][:2].tolist()
    return f"{k[0]:.2f}, {k[1]:+.2f}", f"{angle(float(str(change['sum']))):.0f}°"


def sums_line(sums: Sequence[float], found: Sequence[Along], outside: Along) -> str:
    """Hinge loss, margin and attention at the ends of the range and outside the span."""
    say = lambda name, a: (
        f"{name} hinge {spread(a.loss[:, 0], 4)}, margin {spread(a.margin[:, 0])}, attention " + spread(a.attention[:, 0])
    )
    return "; ".join([say(f"S₁ = {sums[i]:g}", found[i]) for i in (0, -1)] + [say(SPAN, outside)])


def sums_text(sums: Sequence[float], found: Sequence[Along]) -> str:
    """What S₁ changes, and what not: margins and attention at the ends; the S₁ from which on the loss is small."""
    margin, attention = (np.array([getattr(a, name)[:, 0].mean() for a in found]) for name in ("margin", "attention"))
    line = np.polyfit(sums, margin, 1)
    off = np.abs(np.polyval(line, sums) - margin).max()
    small = [all(bool((a.loss[:, 0] <= SMALL_LOSS).all()) for a in found[i:]) for i in range(len(sums))]
    where = f"from S₁ = {sums[small.index(True)]:g} on" if any(small) else "nowhere"
    return (
        f"The hinge loss is at most {SMALL_LOSS:g} in every seed **{where}**. Mean attention to the query's pattern lies "
        f"between {attention.min():.3f} and {attention.max():.3f} for all S₁. The mean margin is {line[1]:.2f} "
        f"{'+' if line[0] >= 0 else '−'} {abs(line[0]):.2f} S₁, to "
        f"within {off:.2f}, and {margin[np.argmin(np.abs(np.array(sums) - 1))]:.2f} at S₁ = 1."
    )


# --- How many examples ---


def needed_line(found: Mapping[str, Mapping[float, tuple[Sequence[int], Sequence[Share]]]]) -> str:
    """The examples needed in each panel."""
    say = lambda curves: ", ".join(f"{never(reached(*curve))} (α' = {a:g})" for a, curve in curves.items()) or "not tested"
    return f"examples for an error of at most {ENOUGH:g}: " + "; ".join(
        f"{title.replace('$S_1$', 'S₁')} {say(curves)}" for title, curves in found.items()
    )


def floor_text(runs: Sequence[StoredRun], gpts: Sequence[StoredRun]) -> str:
    """Both models against the guess, for short prompts in domain."""
    lengths, shares = (1, 2, 4), gpt_errors(gpts, "in domain")
    one = along(runs, CURVE_LENGTHS, CURVE_COUNT, alpha=ALPHA).shares
    say = lambda values: ", ".join(f"{v:.3f}" for v in values)
    rate = [one[CURVE_LENGTHS.index(n)].mean / (2 * no_match_floor(ALPHA, n)) for n in lengths]
    both = [0.5 * (1 - ALPHA) ** n for n in lengths]
    return (
        f"At α' = {ALPHA:g} and 1, 2 and 4 examples the dotted line is at {say(no_match_floor(ALPHA, n) for n in lengths)}. "
        f"The one-layer model's error is **{say(one[CURVE_LENGTHS.index(n)].mean for n in lengths)}**, GPT-2's "
        f"**{say(shares[n].mean for n in lengths)}**. "
        f"The one-layer model's is {say(rate)} times the share of prompts without a match. "
        f"Who used both patterns' labels and guessed without either would be at ½ (1 − α')^l: {say(both)}."
    )


def needed_text(gpts: Sequence[StoredRun], total: float) -> str:
    """Whether more matches mean fewer examples, for GPT-2."""
    parts = []
    for name, condition in (("In domain", "in domain"), (f"At S₁ = {total:g}", at_foreign(total))):
        if condition != "in domain" and total not in SUMS:
            parts.append(f"{name} GPT-2 was not tested.")
            continue
        by = gpt_needed(gpts, condition)
        lengths = ", ".join(f"{never(n)} at α' = {a:g}" for a, n in by.items())
        parts.append(f"{name} GPT-2 needs {lengths}: {'fewer' if ordered(by) else 'not fewer'} as α' grows.")
    return " ".join(parts)
