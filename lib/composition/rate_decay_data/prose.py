"""What chapter 6 says of its numbers: what else than γ decides the answer, and what condenses the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.composition.condensation.numbers import measures_of
from lib.composition.rate_decay_data.numbers import grid, harder, trend_of
from lib.composition.runs import learned_among
from lib.composition.trends import BY_DECAY, BY_GAMMA, BY_RATE, Value, slope
from lib.composition.words import direction, number_of, sentence, steps_word, trend_words
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
    said = f"**{sentence('; '.join(lines))}.** Rank correlation with its stable rank, over the {number_of(len(good))} that "
    said += "learned the seen pairs: " + ", ".join(f"{name} {trend_words(trend)}" for name, trend in by_rank.items()) + "."
    if len(shown) > 2:
        for measure in ("condensation of W_Q(1)", "order of the embedding"):
            trends = {
                name: trend_of(shown, value, lambda r, m=measure: measures_of(r)[m], seed) for name, value in settings.items()
            }
            said += f" With the {measure}, over the {len(shown)} runs shown: "
            said += ", ".join(f"{name} {trend_words(trend)}" for name, trend in trends.items()) + "."
    return said


def steps_line(steps: dict[float, np.ndarray]) -> str:
    return "medians, γ by γ: " + "; ".join(
        f"γ = {g:g}: " + " ".join(steps_word(v) for v in np.median(s, 1)) for g, s in sorted(steps.items())
    )


def steps_text(steps: dict[float, np.ndarray]) -> str:
    lines = []
    for gamma, values in sorted(steps.items()):
        never = int(np.isinf(values).sum())
        lines.append(
            f"- γ = {gamma:g}: rank correlation of the number of groups and the steps {harder(values):+.2f}; median "
            f"{steps_word(np.median(values[0]))} steps with no group, {steps_word(np.median(values[-1]))} with all"
            + (f". {never} of {values.size} runs never learned the seen pairs." if never else ".")
        )
    return "\n".join(lines)


def what_else_decides(optimization: Sequence[StoredRun], decay: Sequence[StoredRun], steps: Mapping[float, np.ndarray]) -> str:
    """Learning rate and decay where nothing hints at symmetry, decay and γ where something does, and complexity of data."""
    of = lambda runs, value: slope(learned_among(runs) or list(runs), value, "inferential")
    words = lambda name, t: f"{direction(t)} with {name} ({trend_words(t)})"
    rate, plain = of(optimization, BY_RATE), of(optimization, BY_DECAY)
    with_exception, with_gamma = of(decay, BY_DECAY), of(decay, BY_GAMMA)
    harder_data = {gamma: harder(values) for gamma, values in sorted(steps.items())}
    longer = all(value > 0 for value in harder_data.values())
    return (
        f"**Where nothing hints at symmetry, the share of inferential answers {words('the learning rate', rate)} and "
        f"{words('weight decay', plain)}.** Where (3, 4) is taught as an exception, and with two layers, it "
        f"{words('decay', with_exception)} and {words('γ', with_gamma)}. Data that break with composition "
        f"{'take longer to learn' if longer else 'do not take longer to learn at every γ'}: rank correlation "
        + ", ".join(f"{value:+.2f} at γ = {gamma:g}" for gamma, value in harder_data.items())
        + "."
    )
