"""What chapter 13 asks of its runs: which tasks, how many steps and examples, which new patterns; and what its dials show."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lib.core.read.measures import spread
from lib.core.read.statistics import Trend, log_slope
from lib.core.record.spec import SpecError, check_number
from lib.core.record.store import Store, StoredRun, load
from lib.in_context.experiments import ALPHA, COVERS, GPT, GPTS, LENGTH, TURNED, cover_specs, gpt_specs, speed_specs
from lib.in_context.runs import N_FRESH, Share, ask, fresh, snapshots, steps_to, task_of, trained
from lib.in_context.study import ALPHAS, N_TEST, SUMS, error_rows, foreign
from lib.in_context.task import Prompts, Task, no_match_floor

SPAN = "outside the span"
CYCLE, CONTROL = list(COVERS)[1:]
QUERY, THREE = list(GPTS)[1:3]
ENOUGH = 0.1
"""The share of errors at which a prompt has examples enough. The talk's own curves for α' = .8 and .9 never reach .02."""
SMALL_LOSS = 0.01
"""The hinge loss of who generalizes."""
RARE = 0.01
"""The share of errors that GPT-2 is below, as in the talk's figure, where S₁ ≥ 1."""
THEORY = {"α": -2 / 3, "M₁": 1.0, "α l": 0.0}
"""The exponents of the steps in Theorem 1 as slides on the paper have it, T = Θ(M₁ α^−2/3 β^−2/3 √log M₁ / η): l is not in it.
The talk's own slide leaves M₁, β and η out. The factor √log M₁ is not in these exponents: see `theorem_m1`."""
FEW = 5
"""Wrong answers of all seeds that are counted, and not told as a share with a spread."""
LEARNED = 0.1
"""The share of errors on unseen tasks above which a GPT-2 has not learned what its order of S₁ could speak of."""
CURVE_LENGTHS = (*range(1, 11), 12, 14, 16, 18, 20)
"""The prompt lengths of the one-layer model's curves."""
CURVE_COUNT = 2000
"""Prompts a run for each of these curves."""
SHOWN_SUMS = (-1.4, -1.0, -0.6, -0.2, 0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4)
"""The S₁ of the one-layer model at one prompt length."""
DIAL_SHARES = (0.4, 0.6, 0.8, 1.0)
DIAL_LENGTHS = (1, 2, 4, 6, 8, 10, 14, 20)
DIAL_COUNT = 1000
"""Prompts a run and point of the one-layer model."""
DIAL_START = {"alpha": 0.8, "sum": 1.1, "length": 10}


def gpt_runs(store: Store, profile: str, variant: str = GPT) -> list[StoredRun]:
    return load(gpt_specs(profile)[variant], store)


def gpt_variants(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    """{variant: runs}"""
    return {name: gpt_runs(store, profile, name) for name in gpt_specs(profile)}


def cover_runs(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    return {name: load(specs, store) for name, specs in cover_specs(profile).items()}


def speed_runs(store: Store, profile: str, what: str) -> dict[float, list[StoredRun]]:
    return {value: load(specs, store) for value, specs in speed_specs(profile)[what].items()}


def minus(text: str) -> str:
    """Numbers with a true minus sign."""
    return re.sub(r"(?<![\w.])-(?=\.?\d)", "−", text)


def wrong(errors: np.ndarray, digits: int, count: int = N_TEST) -> str:
    """Shares of wrong answers of several seeds, of `count` answers each, in words: as a count where they are FEW at most."""
    total = round(float(errors.sum()) * count)
    return spread(errors, digits) if total > FEW else f"{total or 'none'} of {count * len(errors):,}"


def reported(values: np.ndarray, digits: int) -> str:
    """Mean ± standard deviation, with as many more digits, three at most, as show a deviation that there is."""
    more = [d for d in range(digits, digits + 3) if len(values) < 2 or round(float(np.std(values, ddof=1)), d)]
    return minus(spread(values, more[0] if more else digits))


def seeds(runs: Sequence[StoredRun]) -> int:
    return len({run.spec.seed for run in runs})


def check(alpha: float, total: float) -> None:
    """Raises SpecError unless α' is a share above 0 and S₁ one that patterns of unit norm can have."""
    if check_number("alpha", alpha, low=0) == 0:
        raise SpecError("alpha must be above 0: without an example of the task there is nothing to learn from a prompt.")
    Task(alpha=alpha, sum=check_number("sum", total))


# --- Which tasks, and how many steps ---


def errors_of(runs: Sequence[StoredRun], name: str) -> np.ndarray:
    """(R,) shares of wrong answers at the end of training, of "seen" or "unseen" tasks."""
    return 1 - np.array([run.metrics[name] for run in runs], dtype=float)


def fraction(task: Task) -> tuple[int, int, float]:
    """Training tasks, all tasks, and the least share of Theorem 1, (M₁ − 1)^−½."""
    return len(task.pairs), task.m1 * (task.m1 - 1), (task.m1 - 1) ** -0.5


def reverses(task: Task) -> tuple[int, int, int]:
    """Training tasks whose reverse is left out of training, all tasks that are left out, and those of them whose reverse is
    trained."""
    shown, left = set(map(tuple, task.pairs.tolist())), list(map(tuple, task.unseen.tolist()))
    return sum(pair[::-1] not in shown for pair in shown), len(left), sum(pair[::-1] in shown for pair in left)


def alike(task: Task) -> tuple[int, int]:
    """In how many out-of-domain tasks the patterns that are nearest to the new ones were a training task, and of how many."""
    new, shown = foreign(task, sum=SUMS[-1]), set(map(tuple, task.pairs.tolist()))
    nearest = new.patterns.argmax(1)
    return sum(tuple(pair) in shown for pair in nearest[new.pairs].tolist()), len(new.pairs)


@dataclass(frozen=True)
class Steps:
    """Steps to the level, a run each: x (n,) is what is varied, and where `open` (n,) the run never got there, so that its step
    limit is a lower bound."""

    x: np.ndarray
    steps: np.ndarray
    open: np.ndarray

    @property
    def slope(self) -> tuple[float, float, float]:
        """The exponent and its 95 % interval; lower bounds count as they are."""
        return log_slope(self.x, self.steps)

    @property
    def closed(self) -> Steps:
        """Only the values at which every run gets there; all, where that leaves fewer than two."""
        kept = ~np.isin(self.x, self.x[self.open])
        return Steps(self.x[kept], self.steps[kept], self.open[kept]) if len(set(self.x[kept])) > 1 else self

    @property
    def words(self) -> str:
        value, low, high = self.slope
        never = ""
        if self.open.any():
            never = f"; {int(self.open.sum())} of {len(self.open)} never get there, and count at the limit"
        if self.open.any() and not self.closed.open.any():
            never += "; without them {:+.2f} [{:+.2f}, {:+.2f}]".format(*self.closed.slope)
        return minus(f"exponent {value:+z.2f} [{low:+z.2f}, {high:+z.2f}] over {len(self.x)} runs{never}")


def steps(groups: Mapping[float, Sequence[StoredRun]]) -> Steps:
    """Steps until the held-out hinge loss is at most runs.LEVEL."""
    found = [(value, steps_to(run), run.steps) for value, runs in groups.items() for run in runs]
    x, reached, limit = zip(*found, strict=True)
    taken = [last if step is None else step for step, last in zip(reached, limit, strict=True)]
    return Steps(np.array(x, float), np.array(taken, float), np.array([step is None for step in reached]))


def mean_steps(s: Steps, x: float) -> str:
    """The mean steps at a value of what is varied; "not within …" where a run there never got to the level."""
    at = np.isclose(s.x, x)
    late, runs = int(s.open[at].sum()), int(at.sum())
    who = "" if late == runs else f"{late} of {runs} "
    return f"{who}not within {s.steps[at & s.open].min():.0f}" if late else f"{s.steps[at].mean():.0f}"


def theorem_m1(s: Steps) -> Trend:
    """The exponent of steps against the theorem's M₁ √log M₁, which would be 1, and its 95 % interval."""
    return log_slope(s.x * np.sqrt(np.log(s.x)), s.steps)


# --- New patterns and lengths, one layer ---


def span_of(total: float | None) -> dict[str, object]:
    """What to change in a task for patterns of a coefficient sum S₁; None for patterns outside the span."""
    return {"outside": True} if total is None else {"sum": total}


def angle(total: float, task: Task = Task()) -> float:
    """Degrees between a new pattern of coefficient sum S₁ and the nearest of the trained patterns of a task."""
    return float(np.degrees(np.arccos(min(1.0, float(foreign(task, sum=total).patterns.max())))))


@dataclass(frozen=True)
class Along:
    """One-layer runs at several prompt lengths, each (R, n): the share of wrong signs, the mean hinge loss, the mean margin zF
    and the query's mean attention to its own pattern, over `total` prompts a run."""

    lengths: tuple[int, ...]
    error: np.ndarray
    loss: np.ndarray
    margin: np.ndarray
    attention: np.ndarray
    total: int

    @property
    def shares(self) -> list[Share]:
        return [Share(each, self.total) for each in self.error.T]


_ALONG: dict[tuple[object, ...], np.ndarray] = {}


def along(runs: Sequence[StoredRun], lengths: Sequence[int], count: int = N_FRESH, **change: object) -> Along:
    """The runs on fresh prompts of a changed task (alpha, sum, outside), of which they read the first l examples."""
    found = []
    for run in runs:
        task = task_of(run, length=max(lengths), **change)
        if (key := (str(run.path), task, tuple(lengths), count)) not in _ALONG:
            drawn = fresh(task, run.spec.seed, count)
            said = [ask(trained(run), first(drawn, length)) for length in lengths]
            _ALONG[key] = np.array([(a.error, a.loss, (a.margin * a.answer).mean(), a.attention.mean()) for a in said])
        found.append(_ALONG[key])
    return Along(tuple(lengths), *np.moveaxis(np.array(found), -1, 0), count)


def first(prompts: Prompts, length: int) -> Prompts:
    """The same queries with the first `length` examples only."""
    kept = torch.tensor([*range(length), -1])
    return Prompts(prompts.prompt[..., kept, :], prompts.target[..., kept], prompts.pattern[..., kept], prompts.pair)


# --- GPT-2, and how many examples ---


def at_foreign(total: float) -> str:
    return f"S1 = {total:g}"


def gpt_errors(runs: Sequence[StoredRun], condition: str, alpha: float = ALPHA) -> list[Share]:
    """For every prompt length 0 … l the share of wrong signs of GPT-2 runs in a condition that they were tested in.

    All runs answer the same prompts, so that the interval over prompts is that of one run: `total` counts each prompt once.
    """
    row = error_rows().index((condition, alpha))
    last = [max(snapshots(run)) for run in runs]
    wrong = np.array([snapshots(run)[step]["errors"][row] for run, step in zip(runs, last, strict=True)])
    counts = snapshots(runs[0])[last[0]]["counts"][row]
    return [Share(each, float(total), own=False) for each, total in zip(wrong.T, counts, strict=True)]


def by_sum(runs: Sequence[StoredRun]) -> tuple[np.ndarray, np.ndarray]:
    """Of GPT-2 runs at the longest prompt: the errors at every S₁ of SUMS (R, n), and the angles of its patterns to the nearest
    trained one in degrees (n,)."""
    errors = np.array([gpt_errors(runs, at_foreign(s), ALPHA)[LENGTH].each for s in SUMS]).T
    return errors, np.array([angle(s, task_of(runs[0])) for s in SUMS])


def needed(lengths: Sequence[int], shares: Sequence[float], level: float) -> int | None:
    """The smallest length from which on the share of errors stays at or below a level; None for none."""
    found = None
    for length, share in zip(lengths, shares, strict=True):
        found = (length if found is None else found) if share <= level else None
    return found


def crossing(lengths: Sequence[int], shares: Sequence[float], level: float = ENOUGH) -> float | None:
    """Where the share of errors falls to a level for good, interpolated between lengths in the logarithm of errors. None
    for never."""
    if (last := needed(lengths, shares, level)) is None:
        return None
    if not (i := list(lengths).index(last)):
        return float(last)
    above, below = (math.log(max(share, 1e-6)) for share in shares[i - 1 : i + 1])
    return lengths[i - 1] + (lengths[i] - lengths[i - 1]) * (above - math.log(level)) / (above - below)


def reached(lengths: Sequence[int], shares: Sequence[Share]) -> float | None:
    """The length at which the mean error falls to ENOUGH for good; None for never."""
    return crossing(lengths, [s.mean for s in shares])


def gpt_needed(runs: Sequence[StoredRun], condition: str) -> dict[float, float | None]:
    """{α': the examples at which the mean error of the seeds falls to ENOUGH for good}."""
    return {alpha: reached(range(LENGTH + 1), gpt_errors(runs, condition, alpha)) for alpha in ALPHAS}


def ordered(runs: Sequence[StoredRun], condition: str) -> int:
    """In how many seeds every α' of ALPHAS needs more examples than the next larger one."""
    curves = [np.array([share.each for share in gpt_errors(runs, condition, alpha)]).T for alpha in ALPHAS]
    return sum(falling([crossing(range(LENGTH + 1), shares) for shares in of]) for of in zip(*curves, strict=True))


def falling(counts: Sequence[float | None]) -> bool:
    """Is each smaller than the one before, where None is more than any number?"""
    return all(b is not None and (a is None or a > b) for a, b in itertools.pairwise(counts))


def both_labels_floor(alpha: float, length: int) -> float:
    """½ (1 − α')^l: the error of whoever uses the labels of both patterns of a task, and guesses where no example shows one."""
    return 0.5 * (1 - alpha) ** length


def against_guess(shares: Sequence[Share], alpha: float) -> tuple[list[int], list[int]]:
    """The lengths, from one example on, at which an error's 95 % interval is wholly below, and wholly above, the error of who
    copies matches and else guesses."""
    ends = [(n, share.interval, no_match_floor(alpha, n)) for n, share in enumerate(shares) if n]
    return [n for n, (_, high), line in ends if high < line], [n for n, (low, _), line in ends if low > line]


def panels(
    runs: Sequence[StoredRun], gpts: Sequence[StoredRun], total: float
) -> dict[str, dict[float, tuple[Sequence[int], list[Share]]]]:
    """{title: {α': (lengths, errors)}} of Fig. 13: both models, in domain and out of it; none where GPT-2 was not tested."""
    other = minus(f"$S_1$ = {total:g}")
    tested = {"in domain": "in domain", other: at_foreign(total) if total in SUMS else None}
    found: dict[str, dict[float, tuple[Sequence[int], list[Share]]]] = {}
    for name, condition in tested.items():
        known = ALPHAS if condition is not None else ()
        found[f"GPT-2, {name}"] = {a: (range(LENGTH + 1), gpt_errors(gpts, condition or "", a)) for a in known}
    for name, change in (("in domain", {}), (other, span_of(total))):
        found[f"one layer, {name}"] = {
            a: (CURVE_LENGTHS, along(runs, CURVE_LENGTHS, CURVE_COUNT, alpha=a, **change).shares) for a in ALPHAS
        }
    return found


Curve = tuple[Sequence[int], Sequence[float]]
"""Lengths of prompts, and the mean share of wrong answers at each."""


@dataclass(frozen=True)
class Need:
    """The examples from which on errors are rare enough, by the mean curve and by those of the seeds; None for never."""

    mean: float | None
    seeds: list[float | None]


def needs(found: Mapping[str, Mapping[float, tuple[Sequence[int], Sequence[Share]]]]) -> dict[str, dict[float, Need]]:
    """{title: {α': examples needed}} of what `panels` gives; what was not tested is left out."""
    of = lambda x, shares: Need(reached(x, shares), [crossing(x, each) for each in np.array([s.each for s in shares]).T])
    return {title: {alpha: of(*curve) for alpha, curve in curves.items()} for title, curves in found.items() if curves}


def readers(runs: Sequence[StoredRun], variants: Mapping[str, Sequence[StoredRun]]) -> dict[str, Curve]:
    """{model: its mean errors on unseen tasks of old patterns against the length of the prompt}, at α' = ALPHA."""
    one = along(runs, CURVE_LENGTHS, CURVE_COUNT, alpha=ALPHA).shares
    found: dict[str, Curve] = {"one layer": (CURVE_LENGTHS, [share.mean for share in one])}
    for name, words in ((GPT, "each task with its reverse"), (TURNED, "reverses left out")):
        shares = gpt_errors(variants[name], "in domain")
        found[f"GPT-2, {words}"] = (range(len(shares)), [share.mean for share in shares])
    return found


# --- Dials ---


def dial_data(runs: Sequence[StoredRun], count: int = DIAL_COUNT) -> dict[str, Any]:
    """What lib.book.dials needs: the mean margin of one-layer runs over the length of the prompt, beside that in domain, and
    the query's attention."""
    found: list[list[Along]] = [[along(runs, DIAL_LENGTHS, count, alpha=a, sum=s) for s in SUMS] for a in DIAL_SHARES]
    inside = [along(runs, DIAL_LENGTHS, count, alpha=a) for a in DIAL_SHARES]
    attention = [[[rounded(v) for v in a.attention.mean(0)] for a in row] for row in found]
    rest = [[[rounded(1 - v) for v in a.attention.mean(0)] for a in row] for row in found]
    lines = {
        "new": ("new patterns", [[_margins(a) for a in row] for row in found]),
        "old": ("patterns of training", [[_margins(a)] * len(SUMS) for a in inside]),
        "asked": ("above it no hinge loss", [[[[1.0] * 3] * len(DIAL_LENGTHS)] * len(SUMS)] * len(DIAL_SHARES)),
    }
    least = min(a.margin.mean(0).min() for a in (*itertools.chain(*found), *inside))
    most = max(a.margin.max() for a in (*itertools.chain(*found), *inside))
    return {
        "dials": [
            {"id": "alpha", "label": "share of task examples α′", "values": list(DIAL_SHARES)},
            {"id": "sum", "label": "coefficient sum S₁", "values": list(SUMS)},
            {"id": "length", "label": "examples in the prompt", "values": list(DIAL_LENGTHS)},
        ],
        "x": "length",
        "fan": "sum",
        "y": {
            "label": "mean margin zF, one layer",
            "log": False,
            "low": min(0.0, math.floor(10 * least) / 10),
            "high": max(1.2, math.ceil(10 * most) / 10),
        },
        "series": [{"id": id, "label": label, "values": values} for id, (label, values) in lines.items()],
        "bars": {
            "label": "attention of the query",
            "items": [
                {"label": "examples of its own pattern", "values": attention},
                {"label": "all other examples", "values": rest},
            ],
        },
        "start": DIAL_START,
        "about": f"The one-layer model. Means over {len(runs)} seeds; bands: the range of all seeds. Thin: the other S₁.",
    }


def _margins(found: Along) -> list[list[float]]:
    """Mean, least and largest margin of the seeds at every length."""
    return [[rounded(v) for v in (of.mean(), of.min(), of.max())] for of in found.margin.T]


def rounded(value: float) -> float:
    """Four significant digits: what a page shows, and less than the results' own uncertainty."""
    return float(f"{value:.4g}")
