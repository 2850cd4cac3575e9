"""Sentences and tables of the chapter on addition: each says what its numbers say, whichever way they fall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.record.store import StoredRun
from lib.language.adding import numbers
from lib.language.adding.numbers import FITTED, WELL, Arm
from lib.language.experiments import ADDING, CROSSED, LARGE, RANDOM, SMALL, SQUARE, adding_spec

KIND = {LARGE: "large start, little decay", SMALL: "small start, much decay"}


def name_of(arm: Arm | tuple[float, float]) -> str:
    gamma, decay = arm[-2:]
    return f"γ = {gamma:g}, decay {decay:g}"


def settings_table(profile: str) -> list[tuple[str, str]]:
    """The settings of a profile as rows (name, value)."""
    s = ADDING[profile]
    t, m = s.train, adding_spec(profile, *SMALL, seed=0).model
    return [
        ("numbers", f"0 to {s.numbers - 1}"),
        ("held-out square", f"{s.low} to {s.high}: {(s.high - s.low + 1) ** 2:,} pairs of {s.numbers**2:,}"),
        ("form of the model", f"{s.form}'s"),
        ("layers, d_model, d_ff, d_k = d_v, heads", f"{m.depth}, {m.d_model}, {m.d_ff}, {m.d_k}, {m.heads}"),
        ("batch", f"{t.batch:,}"),
        ("steps", f"{t.steps:,}"),
        ("peak learning rate", f"{s.rate:g}, warm-up {t.warmup:,} steps, then cosine"),
        ("learning rate × decay × steps, of the arm with decay 0.1", f"{s.rate * 0.1 * t.steps / 2:.2g}, by the mean rate"),
        ("seeds", str(len(s.seeds))),
    ]


def verdict(runs: Mapping[Arm, Sequence[StoredRun]]) -> str:
    """Which arm adds where it never saw a sum, and which of its two parts does it."""
    large, small = runs[SQUARE, *LARGE], runs[SQUARE, *SMALL]
    missing = [kind for kind, group in ((KIND[LARGE], large), (KIND[SMALL], small)) if not numbers.fitted(group)]
    _, low, high = numbers.lead(small, large)
    means = [numbers.shares(group).mean() for group in (large, small)]
    who = "better" if low > 0 else "worse" if high < 0 else "neither clearly better nor worse"
    first = (
        f"In a square of sums that were held out, the small start with much decay is {who}: {means[1]:.0%} of its sums are "
        f"right there, against {means[0]:.0%} from the large start with little decay."
    )
    if missing:
        second = f"Not every run had learned its pairs of training ({'; '.join(missing)}): the models are unfinished."
    elif means[1] >= WELL:
        second = "It adds there as if nothing had been left out."
    else:
        second = "It does not add there as if nothing had been left out."
    return f"{first} {second} {parts_text(runs)}"


def parts_text(runs: Mapping[Arm, Sequence[StoredRun]]) -> str:
    """The two-by-two of γ and decay: what each does with the other held fixed."""
    share = {arm: float(numbers.shares(runs[SQUARE, *arm]).mean()) for arm in (LARGE, SMALL, *CROSSED)}
    (g0, d0), (g1, d1) = LARGE, SMALL
    of_gamma = [share[g1, d] - share[g0, d] for d in (d0, d1)]
    of_decay = [share[g, d1] - share[g, d0] for g in (g0, g1)]
    say = lambda values: " and ".join(f"{v:+.0%}".replace("-", "−") for v in values)
    more = "decay" if abs(np.mean(of_decay)) > abs(np.mean(of_gamma)) else "the start"
    return (
        f"The two arms differ in γ and in decay. Alone, the smaller start changes the share by {say(of_gamma)} (at decay "
        f"{d0:g} and {d1:g}), the larger decay by {say(of_decay)} (at γ = {g0:g} and {g1:g}): {more} does more."
    )


def arms_table(runs: Mapping[Arm, Sequence[StoredRun]]) -> str:
    """Every arm: pairs of training and held-out pairs right at the end."""
    rows = [
        (split, f"{gamma:g}", f"{decay:g}", spread(numbers.shares(group, "train"), 3), spread(numbers.shares(group), 3))
        for (split, gamma, decay), group in runs.items()
    ]
    return table(("held out", "γ", "weight decay", "training pairs right", "held-out pairs right"), rows)


def ring_text(runs: Mapping[Arm, Sequence[StoredRun]]) -> str:
    """How the two arms fall off from the edge of the square to its middle."""
    lines = []
    for arm in (LARGE, SMALL):
        values = numbers.rings(runs[SQUARE, *arm]).mean(0)
        lines.append(f"{KIND[arm]}: {values[0]:.0%} at the edge, {values[-1]:.0%} in the middle")
    return "From the edge of the square inwards: " + "; ".join(lines) + "."


def examples_text(runs: Mapping[Arm, Sequence[StoredRun]], seed: int) -> str:
    """Some sums of one seed of each of the paper's arms, right and wrong; of the first where there is no such seed."""
    rows = []
    for arm in (LARGE, SMALL):
        run = next((r for r in runs[SQUARE, *arm] if r.spec.seed == seed), runs[SQUARE, *arm][0])
        for kind, found in numbers.examples(run).items():
            words = ", ".join(f"{a} + {b} → {answer}" for a, b, answer in found) or "none"
            rows.append((f"{KIND[arm]}, seed {run.spec.seed}", kind, words))
    return table(("arm", "the model is", "sums on the diagonal of the square, from its edge to its middle"), rows)


def along_line(runs: Mapping[Arm, Sequence[StoredRun]]) -> str:
    return "; ".join(
        f"{split}, {name_of((gamma, decay))}: training {spread(numbers.shares(group, 'train'), 3)}, held out "
        f"{spread(numbers.shares(group), 3)}"
        for (split, gamma, decay), group in runs.items()
        if (gamma, decay) in (LARGE, SMALL)
    )


def control_text(runs: Mapping[Arm, Sequence[StoredRun]]) -> str:
    """Is it the square, or does one arm generalize less in general?"""
    groups = [runs[RANDOM, *arm] for arm in (LARGE, SMALL)]
    means = [numbers.shares(group).mean() for group in groups]
    if not all(map(numbers.fitted, groups)):
        return f"On a random split not every run has learned its pairs of training to {FITTED:.0%}, so it is no control."
    same = "both add" if min(means) >= WELL else "they do not both add"
    return f"On as many pairs drawn at random {same}: {means[0]:.1%} and {means[1]:.1%} of the held-out sums are right."
