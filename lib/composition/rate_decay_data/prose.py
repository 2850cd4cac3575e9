"""What chapter 6 says of its numbers: what else than γ decides the answer, and what condenses the weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from lib.composition.condensation.metrics import measures_of
from lib.composition.phase_diagram.metrics import HALF, ends, exact_above, turns
from lib.composition.rate_decay_data.metrics import (
    BY_KEYS,
    doubled,
    grid,
    harder,
    lean_by_numbers,
    trend_of,
    turns_from,
    with_fewest,
)
from lib.composition.runs import MAPPINGS, learned_among
from lib.composition.study import LOW_KEYS
from lib.composition.task import N_KEYS
from lib.composition.trends import BY_DECAY, BY_GAMMA, BY_RATE, Trend, Value, levels, slope
from lib.composition.words import direction, setting_words, steps_word, trend_words
from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.read.words import listed, number_of, sentence
from lib.core.record.store import StoredRun


def grid_line(runs: Sequence[StoredRun], row: Value, column: Value, metric: str) -> str:
    mean, _ = grid(runs, row, column, metric)
    return f"{metric}, row by row: " + " / ".join(" ".join(f"{v:.2f}" for v in line) for line in mean)


def condensing_text(runs: Sequence[StoredRun], shown: Sequence[StoredRun], seed: int = 0) -> str:
    """Do learning rate and decay condense the weights? By the rank of W_Q(1) of all runs, and by the weights that are shown."""
    settings = {"learning rate": BY_RATE, "weight decay": BY_DECAY}
    good = learned_among(runs) or list(runs)
    rank = lambda r: r.history["rank W_Q(1)"][-1]
    by_rank = {name: trend_of(good, value, rank, seed) for name, value in settings.items()}
    words = {
        True: "lowers the rank of the first query matrix",
        False: "has no clear effect on the rank of the first query matrix",
    }
    lines = [
        f"a larger {name} {'raises the rank of the first query matrix' if low > 0 else words[high < 0]}"
        for name, (_, low, high) in sorted(by_rank.items(), key=lambda item: item[1][0])
    ]
    said = f"**{sentence('; '.join(lines))}**, over the {number_of(len(good))} that learned the seen pairs."
    if len(shown) > 2:
        measures = ("condensation of W_Q(1)", "order of the embedding")
        trend = lambda value, m: trend_of(shown, value, lambda r: measures_of(r)[m], seed)
        for name, value in settings.items():
            up = [m for m in measures if trend(value, m)[1] > 0]
            said += f" Of the {len(shown)} runs shown, those with a larger {name} have "
            said += f"clearly more {listed(up)}." if up else f"not clearly more {' or '.join(measures)}."
    return said


def steps_line(steps: dict[float, np.ndarray]) -> str:
    return "medians, γ by γ: " + "; ".join(
        f"γ = {g:g}: " + " ".join(steps_word(v) for v in np.median(s, 1)) for g, s in sorted(steps.items())
    )


def _median(steps: np.ndarray) -> str:
    median = np.median(steps)
    return (
        f"the median is {median:,.0f} steps" if np.isfinite(median) else f"{np.isinf(steps).sum()} of {steps.size} never learn"
    )


def steps_text(steps: dict[float, np.ndarray]) -> str:
    lines = []
    for gamma, values in sorted(steps.items()):
        never = int(np.isinf(values).sum())
        lines.append(
            f"- γ = {gamma:g}: with no group {_median(values[0])}, with all groups {_median(values[-1])}"
            + (f". {never} of {number_of(values.size)} never learned the seen pairs." if never else ".")
        )
    return "\n".join(lines)


STRONG = 0.5
"""Rank correlation above which data with more exceptions clearly take longer to learn: the claim's own criterion."""


def what_else_decides(optimization: Sequence[StoredRun], decay: Sequence[StoredRun]) -> str:
    """Learning rate and decay where nothing hints at symmetry, and decay and γ where something does."""
    rate, plain, with_exception, with_gamma = _trends(optimization, decay)
    first = _against("paper", {"the learning rate": rate, "weight decay": plain})
    second = _against("follow-up", {"decay": with_exception, "γ": with_gamma})
    with_rate = _both("the learning rate", rate, "weight decay", plain)
    return (
        f"**Where nothing hints at symmetry, the share of inferential answers {with_rate}"
        f"{first}. Where (3, 4) is taught as an exception, and with two layers, "
        f"it {_both('decay', with_exception, 'γ', with_gamma)}{second}.**"
    )


def _both(one: str, first: Trend, other: str, second: Trend) -> str:
    """`rises with one and with other`, or the two directions where they differ."""
    ways = [direction(first), direction(second)]
    return f"{ways[0]} with {one} and {'' if ways[0] == ways[1] else f'{ways[1]} '}with {other}"


def _trends(optimization: Sequence[StoredRun], decay: Sequence[StoredRun]) -> tuple[Trend, Trend, Trend, Trend]:
    """Of the inferential share with rate and decay, where both pairs are unseen, and with decay and γ, where one is taught."""
    of = lambda runs, value: slope(learned_among(runs) or list(runs), value, "inferential")
    return of(optimization, BY_RATE), of(optimization, BY_DECAY), of(decay, BY_DECAY), of(decay, BY_GAMMA)


def taken_away(
    optimization: Sequence[StoredRun],
    decay: Sequence[StoredRun],
    steps: Mapping[float, np.ndarray],
    groups: Sequence[float] = (),
) -> str:
    """What the answer does not say: where weight decay helps, and what complicated data do.

    groups: the numbers of groups that the rows of `steps` stand for, by default 0, 1, ….
    """
    _, plain, with_exception, _ = _trends(optimization, decay)
    here, there = (runs[0].spec for runs in (optimization, decay))
    apart = f"{here.model.depth} layers at γ = {here.gamma:g} without an exception, {there.model.depth} layers with one"
    if direction(plain) == direction(with_exception):
        said = f"Weight decay works the same way in both tasks ({apart})."
    else:
        said = (
            f"What weight decay does is no rule: it depends on the task and the model ({apart}). Which of the two differences "
            "decides is not known here, since they were not varied one by one."
        )
    return f"- {said}\n- {_complexity(steps, groups)}"


THE_MEASURE = "the measure of [chapter 2](02-phase-diagram)"


def few_numbers(runs: Sequence[StoredRun], wide: Sequence[StoredRun], measure: str = THE_MEASURE) -> str:
    """What the number of keys does to the answer, and at which width γ alone turns it where they are fewest. wide: runs of one
    row of γ with that number. measure: what chapter 2's measure is called."""
    trend = {
        "falls": "The fewer numbers there are, the more two layers lean to the inferential answer",
        "rises": "The fewer numbers there are, the less two layers lean to the inferential answer",
    }.get(direction(_trend(runs)), "How many numbers there are has no clear effect on the lean of two layers")
    fewest = with_fewest(runs)
    rows = {row[0].spec.model.d_model: row for row in (fewest, wide)}
    shares = lambda found: ", ".join(f"{found.mean[m][m]:.0%} {m} at γ = {found.gamma[m]:g}" for m in MAPPINGS)
    turned = [f"{width} ({shares(ends(row))})" for width, row in rows.items() if turns(row)]
    number = f"{BY_KEYS(fewest[0]):g} numbers"
    measure += ", each answer ahead by half of all answers where it is most frequent and a lean that clearly rises with γ"
    whys = [f"at width {width} {_short_of(row)}" for width, row in rows.items() if not turns(row)]
    if not turned:
        return f"**{trend}**{_from(runs)}. By {measure}, γ alone does not turn the answer with {number}: {'; '.join(whys)}."
    but = f"; {'; '.join(whys)}" if whys else ""
    return f"**{trend}**{_from(runs)}. **By {measure}, γ alone turns the answer with {number} at width {listed(turned)}**{but}."


def variant_text(runs: Sequence[StoredRun], wide: Sequence[StoredRun]) -> str:
    """The same for a chapter on the paper's own task, which needs none of these runs; nothing where they are not stored."""
    if not runs or not wide:
        return ""
    asked = f"asks the same with fewer numbers than the paper's {N_KEYS} ([chapter 6](06-rate-decay-data))"
    found = few_numbers(runs, wide, "the same measure").replace("**", "")
    return f"**A variant of ours** {asked}. {found}"


def _from(runs: Sequence[StoredRun]) -> str:
    """From which γ on the mean of runs that have learned leans to the inferential answer, by how many numbers there are, and
    on how few runs a mean rests."""
    groups: dict[float | None, list[str]] = {}
    for k, gamma in turns_from(runs, BY_KEYS).items():
        groups.setdefault(gamma, []).append(f"{k:g}")
    nowhere = groups.pop(None, [])
    words = [f"from γ = {gamma:g} on with {listed(ks)}" for gamma, ks in sorted(groups.items())]
    if not words:
        return ""
    some = Counter((BY_KEYS(run), BY_GAMMA(run)) for run in learned_among(runs)).values()
    few, most = min(some), max(some)
    return (
        f": among runs that have learned, the mean leans so {listed(words)} numbers"
        + (f", at no γ of the grid with {listed(nowhere)}" if nowhere else "")
        + f" (a mean rests on {f'{few} to ' if few < most else ''}{number_of(most, 'run')})"
    )


def _short_of(runs: Sequence[StoredRun]) -> str:
    """Why a row of γ does not clearly turn."""
    found = ends(runs)
    if found.flips:
        return "the lean does not clearly rise"
    strong = [m for m, lead in found.lead.items() if lead >= HALF]
    if len(strong) == len(MAPPINGS):
        return "the answers come in the other order"
    said = f"where each is most frequent, {f'only the {strong[0]} answer' if strong else 'neither answer'} is ahead by so much"
    for mapping, other in (MAPPINGS, MAPPINGS[::-1]):
        means = {
            g: {m: np.mean([r.metrics[m] for r in runs if BY_GAMMA(r) == g]) for m in MAPPINGS} for g in levels(runs, BY_GAMMA)
        }
        elsewhere = [f"{g:g}" for g, mean in means.items() if mean[mapping] - mean[other] >= HALF]
        if mapping not in strong and elsewhere:
            said += f" (elsewhere, at γ = {listed(elsewhere)}, the {mapping} one is)"
    return said


def _trend(runs: Sequence[StoredRun]) -> Trend:
    """How the lean goes with the number of keys, over the runs that have learned."""
    return lean_by_numbers(learned_among(runs) or list(runs))


def few_text(runs: Sequence[StoredRun], wide: Sequence[StoredRun]) -> str:
    """The settings of the grid and of the wide row; line by line how many runs have learned, where each answer is most frequent
    over γ, and the latter over keys whose answers occur in the input."""
    lines = []
    rows = [[run for run in runs if BY_KEYS(run) == k] for k in levels(runs, BY_KEYS)]
    for row in (*rows, wide):
        found = ends(row)
        at = {m: [run for run in row if run.spec.gamma == found.gamma[m]] for m in MAPPINGS}
        shares = [f"{spread([run.metrics[m] for run in at[m]])} at γ = {found.gamma[m]:g}" for m in MAPPINGS]
        above = spread([exact_above(run) for run in at["inferential"]])
        learned = f"{len(learned_among(row))} of {len(row)}"
        lines.append((f"{BY_KEYS(row[0]):g}", row[0].spec.model.d_model, learned, *shares, above))
    head = ("numbers", "width", "have learned", "symmetric, most", "inferential, most", f"the latter, keys from {LOW_KEYS}")
    settings = [f"{setting_words(row[0].spec)}, {row[0].spec.train.steps:,} steps" for row in (runs, wide)]
    return (
        f"The grid has {settings[0]}; the row of wider models {settings[1]}. "
        f"Over the {len(learned_among(runs))} of {number_of(len(runs))} of the grid that have learned, the rank correlation of "
        f"the number of keys with the lean, inferential − symmetric, is {trend_words(_trend(runs))}.\n\n" + table(head, lines)
    )


def _against(source: str, trends: Mapping[str, Trend]) -> str:
    """How trends stand to a source that reports a rise with each setting."""
    found = {name: direction(t) for name, t in trends.items()}
    if set(found.values()) == {"rises"}:
        return f", as the {source} reports"
    reverse = [name for name, way in found.items() if way == "falls"]
    return f"; the {source} reports a rise with both" + (f", so for {listed(reverse)} this is the reverse" if reverse else "")


def _complexity(steps: Mapping[float, np.ndarray], groups: Sequence[float]) -> str:
    """Do data that break with composition take longer to learn, and from how many exceptions on?"""
    correlations = {gamma: harder(values) for gamma, values in sorted(steps.items())}
    clear = [f"{gamma:g}" for gamma, value in correlations.items() if value > STRONG]
    if len(clear) == len(correlations):
        said = "Data that break with composition take longer to learn"
    elif clear:
        said = f"By rank correlation data that break with composition clearly take longer to learn at γ = {listed(clear)} only"
    elif all(value > 0 for value in correlations.values()):
        said = "Data that break with composition take longer to learn, but not clearly"
    else:
        said = "Data that break with composition do not take longer to learn at every γ"
    place = {gamma: doubled(values, groups or range(len(values))) for gamma, values in sorted(steps.items())}
    late = [f"{number_of(int(k), 'group')} on at γ = {gamma:g}" for gamma, k in place.items() if k is not None]
    if len(late) > 1 and len(set(place.values())) == 1:
        late = [f"{number_of(int(next(k for k in place.values() if k is not None)), 'group')} on at every γ"]
    return f"{said}." + (f" The median time more than doubles from {listed(late)}." if late else "")
