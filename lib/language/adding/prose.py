"""Sentences and tables of the chapter on addition: each says what its numbers say, whichever way they fall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.read.words import listed, sentence
from lib.core.record.store import StoredRun
from lib.language import arms
from lib.language.adding import metrics
from lib.language.adding.metrics import WELL, Arm
from lib.language.arms import FITTED, name_of
from lib.language.experiments import ADDING, CROSSED, LARGE, LARGER, RANDOM, SMALL, SQUARE, adding_spec

SHOWN = (LARGER, LARGE, SMALL)
"""The arms that figures show, from the largest start on."""
ARMS = {LARGER: "the larger start without decay", LARGE: "the paper's large arm", SMALL: "the paper's small arm"}
"""What they are called."""


FORMS = {"study 1": "as in chapter 2 (post-norm, ReLU)", "GPT-2": "GPT-2's (pre-norm, GELU)"}
"""The two forms of the model in words."""


def settings_table(profile: str) -> list[tuple[str, str]]:
    """The settings of a profile as rows (name, value)."""
    s = ADDING[profile]
    t, m = s.train, adding_spec(profile, *SMALL, seed=0).model
    return [
        ("numbers", f"0 to {s.numbers - 1}"),
        ("held-out square", f"{s.low} to {s.high}: {(s.high - s.low + 1) ** 2:,} pairs of {s.numbers**2:,}"),
        ("form of the model", FORMS[s.form]),
        ("layers, d_model, d_ff, d_k = d_v, heads", f"{m.depth}, {m.d_model}, {m.d_ff}, {m.d_k}, {m.heads}"),
        ("batch", f"{t.batch:,}"),
        ("steps", f"{t.steps:,}"),
        ("peak learning rate", f"{s.rate:g}, warm-up {t.warmup:,} steps, then cosine"),
        (
            "learning rate × decay × steps, of the arm with decay 0.1",
            f"{s.rate * 0.1 * t.steps / 2:.2g}, by the mean learning rate",
        ),
        ("seeds", str(len(s.seeds))),
    ]


def _adding(group: Sequence[StoredRun]) -> str:
    """In how many of its runs an arm adds."""
    count = int((arms.shares(group) >= WELL).sum())
    return f"in all {len(group)} runs" if count == len(group) else f"in {count} of {len(group)} runs"


def _both_add(groups: Mapping[tuple[float, float], Sequence[StoredRun]]) -> bool:
    return all(_adding(groups[arm]).startswith("in all") for arm in (SMALL, LARGE))


def _counts(groups: Mapping[tuple[float, float], Sequence[StoredRun]]) -> str:
    return f"the paper's small arm adds {_adding(groups[SMALL])} and its large one {_adding(groups[LARGE])}"


def _at_low_rate(low_rate: Mapping[Arm, Sequence[StoredRun]]) -> str:
    """What the paper's arms do at the low learning rate; nothing where it was not trained."""
    groups = {arm: low_rate.get((SQUARE, *arm), ()) for arm in (SMALL, LARGE)}
    if not all(groups.values()):
        return ""
    who = "both of the paper's arms add in every run" if _both_add(groups) else _counts(groups)
    larger = arms.shares(low_rate.get((SQUARE, *LARGER), ()), "train")
    late = int((larger < FITTED).sum())
    but = f", and the larger start does not learn its pairs of training in {late} of {len(larger)} runs" if late else ""
    return (
        " All this in the paper's form and at the learning rate at which our trials of this form, on another seed, differ "
        f"most; at a lower one {who}{but}."
    )


def answer(runs: Mapping[Arm, Sequence[StoredRun]], low_rate: Mapping[Arm, Sequence[StoredRun]]) -> str:
    """Which arm adds where it never saw a sum, what a still larger start does, and what hangs on the learning rate."""
    groups = {arm: runs[SQUARE, *arm] for arm in SHOWN}
    _, low, high = arms.lead(groups[SMALL], groups[LARGE])
    if low > 0 or high < 0:
        who = f"the paper's small arm adds clearly {'better' if low > 0 else 'worse'} than its large one"
    elif _both_add(groups):
        who = "both of the paper's arms add in every run"
    else:
        who = f"{_counts(groups)}, too few runs to tell them apart"
    _, low, _ = arms.lead(groups[SMALL], groups[LARGER])
    second = (
        "A still larger start without decay has not learned its own pairs of training."
        if not arms.fitted(groups[LARGER])
        else "A still larger start without decay adds less well than the small one."
        if low > 0
        else "A still larger start without decay adds no worse"
        + (", so a small start is not what adding needs." if _adding(groups[LARGER]).startswith("in all") else ".")
    )
    return f"In a square of sums that were held out {who}. {second}{_at_low_rate(low_rate)}"


def verdict(runs: Mapping[Arm, Sequence[StoredRun]]) -> str:
    """The numbers behind the answer: what each arm has right in the square, and whether the paper's two differ clearly."""
    groups = {arm: runs[SQUARE, *arm] for arm in SHOWN}
    rows = [
        (f"{ARMS[arm]} ({name_of(arm)})", f"{arms.shares(group).mean():.1%}", _adding(group)) for arm, group in groups.items()
    ]
    _, low, high = arms.lead(groups[SMALL], groups[LARGE])
    holds = "leaves out" if low > 0 or high < 0 else "holds"
    missing = [name_of(arm) for arm in SHOWN if not arms.fitted(groups[arm])]
    third = f" At {' and at '.join(missing)} not every run has learned {FITTED:.0%} of its pairs." if missing else ""
    return (
        table(("arm", "sums of the square right", f"adds ({WELL:.0%} or more right)"), rows)
        + f"\n\nThe 95% interval of the difference of the paper's two arms {holds} zero.{third}"
    )


def parts_text(runs: Mapping[Arm, Sequence[StoredRun]]) -> str:
    """The two-by-two of γ and decay: what each does with the other held fixed."""
    share = {arm: float(arms.shares(runs[SQUARE, *arm]).mean()) for arm in (LARGE, SMALL, *CROSSED)}
    (g0, d0), (g1, d1) = LARGE, SMALL
    of_gamma = [share[g1, d] - share[g0, d] for d in (d0, d1)]
    of_decay = [share[g, d1] - share[g, d0] for g in (g0, g1)]
    if max(map(abs, (*of_gamma, *of_decay))) < LITTLE:
        return (
            f"The paper's two arms differ in γ and in decay. Here neither part matters: every mean share lies within "
            f"{100 * LITTLE:.0f} points of the others, so the arms cannot tell the two apart."
        )
    say = lambda values: " and ".join(f"{100 * v:+.0f}".replace("-", "−") for v in values) + " points"
    steps = [((g1, d), (g0, d)) for d in (d0, d1)] + [((g, d1), (g, d0)) for g in (g0, g1)]
    apart = any(low > 0 or high < 0 for _, low, high in (arms.lead(runs[SQUARE, *a], runs[SQUARE, *b]) for a, b in steps))
    more = "the decay does more" if abs(np.mean(of_decay)) > abs(np.mean(of_gamma)) else "the start does more"
    more = more if apart else "no step is clear over seeds, so which does more is open"
    return (
        f"The paper's two arms differ in γ and in decay. Alone, the smaller start changes the share by {say(of_gamma)} (at "
        f"decay {d0:g} and {d1:g}), the larger decay by {say(of_decay)} (at γ = {g0:g} and {g1:g}): {more}."
    )


LITTLE = 0.02
"""Differences of shares below this are not told (our choice)."""


def _percent(values: np.ndarray) -> str:
    """Mean ± standard deviation in percent, where the latter does not round to nothing."""
    return spread(100 * values, 1).removesuffix(" ± 0.0")


def arms_table(runs: Mapping[Arm, Sequence[StoredRun]]) -> str:
    """Every arm: percent of pairs of training and of held-out pairs right at the end."""
    rows = [
        (split, f"{gamma:g}", f"{decay:g}", _percent(arms.shares(group, "train")), _percent(arms.shares(group)))
        for (split, gamma, decay), group in runs.items()
    ]
    return table(("held out", "γ", "weight decay", "% of training right", "% of held-out pairs right"), rows)


def settings_text(trials: Sequence[StoredRun], shown: Sequence[Sequence[StoredRun]]) -> str:
    """In which form of the model, and at which learning rate, the small arm is ahead: the trials, and what is shown."""
    rows, ahead = [], []
    tried, runs = metrics.by_setting([trials]), metrics.by_setting(shown)
    for what, found in (("trial", tried), ("reported", runs)):
        for (form, rate), (large, small) in found.items():
            if not large or not small:
                continue
            seeds = ", ".join(str(seed) for seed in sorted({run.spec.seed for run in large}))
            shares = [_percent(arms.shares(group, name)) for group in (large, small) for name in ("train", "test")]
            rows.append((form, f"{rate:g}", f"{what}, {'seed' if len(large) == 1 else 'seeds'} {seeds}", *shares))
            if what == "trial" and arms.shares(small).mean() - arms.shares(large).mean() > LITTLE:
                ahead.append(f"{form} at learning rate {rate:g}")
    head = (
        "form",
        "learning rate",
        "runs",
        *(f"{arm}, % of {of}" for arm in ("large", "small") for of in ("training", "square")),
    )
    where = f": {listed(ahead)}" if ahead else ""
    first = f"In the trials the small arm is ahead in {len(ahead)} of {len(tried)} settings{where}."
    return f"{first}\n\n{table(head, rows)}"


def ring_line(runs: Mapping[Arm, Sequence[StoredRun]]) -> str:
    """How the arms fall off from the edge of the square to its middle."""
    means = {arm: metrics.rings(runs[SQUARE, *arm]).mean(0) for arm in SHOWN}
    return "edge and middle of the square: " + "; ".join(
        f"{name_of(arm)} {v[0]:.2f} and {v[-1]:.2f}" for arm, v in means.items()
    )


def ring_text(runs: Mapping[Arm, Sequence[StoredRun]]) -> str:
    """Which arms are right less often in the middle of the square than at its edge?"""
    means = {arm: metrics.rings(runs[SQUARE, *arm]).mean(0) for arm in SHOWN}
    fall = [ARMS[arm] for arm, v in means.items() if v[0] - v[-1] >= LITTLE]
    rest = [ARMS[arm] for arm in SHOWN if ARMS[arm] not in fall]
    if not fall:
        return "No arm is right less often in the middle of the square than at its edge."
    verb = "is" if len(fall) == 1 else "are"
    text = sentence(f"{listed(fall)} {verb} right less often in the middle of the square than at its edge")
    return f"{text}; {listed(rest)} {'does' if len(rest) == 1 else 'do'} not fall off." if rest else f"{text}."


def examples_text(runs: Mapping[Arm, Sequence[StoredRun]], seed: int) -> str:
    """Some sums of one seed of each arm that is shown, right and wrong; of the first where there is no such seed."""
    rows = []
    for arm in SHOWN:
        run = next((r for r in runs[SQUARE, *arm] if r.spec.seed == seed), runs[SQUARE, *arm][0])
        for kind, found in metrics.examples(run).items():
            words = ", ".join(f"{a} + {b} → {answer}" for a, b, answer in found) or "none"
            rows.append((f"{name_of(arm)}, seed {run.spec.seed}", kind, words))
    return table(("arm", "the model is", "sums on the diagonal of the square, from its edge to its middle"), rows)


def along_line(runs: Mapping[Arm, Sequence[StoredRun]]) -> str:
    return "; ".join(
        f"{split}, {name_of((gamma, decay))}: training {spread(arms.shares(group, 'train'), 3)}, held out "
        f"{spread(arms.shares(group), 3)}"
        for (split, gamma, decay), group in runs.items()
        if (gamma, decay) in SHOWN
    )


def control_text(runs: Mapping[Arm, Sequence[StoredRun]]) -> str:
    """Is it the square, or does the largest start generalize less in general?"""
    square, random = (arms.shares(runs[split, *LARGER]).mean() for split in (SQUARE, RANDOM))
    if not arms.fitted(runs[RANDOM, *LARGER]):
        return (
            f"On a random split the largest start has not learned its pairs of training to {FITTED:.0%}, so it is no control."
        )
    harder = "harder" if random - square >= LITTLE else "no harder"
    return (
        f"For the largest start the square is {harder} than as many pairs held out at random: it has {square:.1%} of the one "
        f"right and {random:.1%} of the other."
    )
