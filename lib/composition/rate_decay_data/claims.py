"""Chapters 6 to 8: rate, decay and data; width; GPT-2. Numbers over runs, lines, prose and claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from lib.composition.condensation.claims import OVER_RATE_AND_DECAY
from lib.composition.runs import MAPPINGS, REGION, SHADOW, learned_among, learned_at
from lib.composition.variations import DATA, DECAY, GPT2, OPTIMIZATION
from lib.core.claim import Claim, Finding, graded
from lib.core.experiment import Experiment
from lib.core.measures import spearman
from lib.core.store import Store, StoredRun
from lib.core.sweep import load

Value = Callable[[StoredRun], float]
BY_DECAY: Value = lambda r: r.spec.decay
BY_RATE: Value = lambda r: r.spec.rate
BY_GAMMA: Value = lambda r: r.spec.gamma


def levels(runs: Sequence[StoredRun], value: Value) -> list[float]:
    return sorted({value(r) for r in runs})


def grid(runs: Sequence[StoredRun], row: Value, column: Value, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation (n − 1; 0 for one run) of a metric over the runs of each cell."""
    rows, columns = levels(runs, row), levels(runs, column)
    mean, spread = np.full((len(rows), len(columns)), np.nan), np.zeros((len(rows), len(columns)))
    for i, r in enumerate(rows):
        for j, c in enumerate(columns):
            values = [run.metrics[metric] for run in runs if row(run) == r and column(run) == c]
            mean[i, j] = np.mean(values) if values else np.nan
            spread[i, j] = np.std(values, ddof=1) if len(values) > 1 else 0.0
    return mean, spread


def curves(runs: Sequence[StoredRun], value: Value = BY_GAMMA) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """{metric: (levels (n,), shares (n, seeds))}. Raises ValueError unless every level has as many runs."""
    xs = levels(runs, value)
    groups = [sorted((r for r in runs if value(r) == x), key=lambda r: r.spec.seed) for x in xs]
    if len({len(g) for g in groups}) != 1:
        raise ValueError("every level needs as many runs as the others.")
    metrics = ("test", *MAPPINGS)
    return {m: (np.array(xs), np.array([[r.metrics[m] for r in g] for g in groups])) for m in metrics}


def slope(runs: Sequence[StoredRun], value: Value, metric: str, seed: int = 0, draws: int = 1000) -> tuple[float, float, float]:
    """Rank correlation of a setting with a metric over runs, and its 95 % interval by resampling runs."""
    x, y = np.array([value(r) for r in runs], dtype=float), np.array([r.metrics[metric] for r in runs])
    rng = np.random.default_rng(seed)
    found = [spearman(x[pick], y[pick]) for pick in (rng.integers(0, len(x), len(x)) for _ in range(draws))]
    return spearman(x, y), float(np.percentile(found, 2.5)), float(np.percentile(found, 97.5))


def learning_steps(runs: Sequence[StoredRun]) -> dict[float, np.ndarray]:
    """{γ: (groups, seeds)} steps until the seen pairs are learned; infinity for a run that never learned them.

    Learned: the first evaluation at which 99 % are answered right.
    """
    found = {}
    for gamma in levels(runs, BY_GAMMA):
        rows = []
        for k in levels(runs, n_groups):
            cell = sorted((r for r in runs if r.spec.gamma == gamma and n_groups(r) == k), key=lambda r: r.spec.seed)
            rows.append([learned_at(r) for r in cell])
        found[gamma] = np.array(rows, dtype=float)
    return found


def n_groups(run: StoredRun) -> float:
    return float(dict(run.spec.task)["groups"])


# --- Lines and prose ---


def grid_line(runs: Sequence[StoredRun], row: Value, column: Value, metric: str) -> str:
    mean, _ = grid(runs, row, column, metric)
    return f"{metric}, row by row: " + " / ".join(" ".join(f"{v:.2f}" for v in line) for line in mean)


def slopes_text(runs: Sequence[StoredRun], values: dict[str, Value], metrics: Sequence[str] = MAPPINGS, seed: int = 0) -> str:
    """Rank correlations of settings with the answers, over the runs that learned the seen pairs."""
    good = learned_among(runs) or list(runs)
    lines = []
    for name, value in values.items():
        words = []
        for metric in metrics:
            s, low, high = slope(good, value, metric, seed)
            words.append(f"{metric} {s:+.2f} [{low:+.2f}, {high:+.2f}]")
        lines.append(f"- **{name}**: " + ", ".join(words))
    return f"Rank correlation over the {len(good)} of {len(runs)} runs that learned the seen pairs:\n\n" + "\n".join(lines)


def _steps(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:.0f}"


def harder(values: np.ndarray) -> float:
    """Rank correlation of the number of groups and the steps, (groups, seeds); never is later than any step."""
    return spearman(np.repeat(np.arange(len(values)), values.shape[1]).astype(float), values.ravel())


def steps_line(steps: dict[float, np.ndarray]) -> str:
    return "medians, γ by γ: " + "; ".join(
        f"γ = {g:g}: " + " ".join(_steps(v) for v in np.median(s, 1)) for g, s in sorted(steps.items())
    )


def steps_text(steps: dict[float, np.ndarray]) -> str:
    lines = []
    for gamma, values in sorted(steps.items()):
        never = int(np.isinf(values).sum())
        lines.append(
            f"- γ = {gamma:g}: rank correlation of the number of groups and the steps {harder(values):+.2f}; median "
            f"{_steps(np.median(values[0]))} steps with no group, {_steps(np.median(values[-1]))} with all"
            + (f". {never} of {values.size} runs never learned the seen pairs." if never else ".")
        )
    return "\n".join(lines)


def curve_line(runs: Sequence[StoredRun]) -> str:
    return "; ".join(
        f"{m} " + " ".join(f"{v:.2f}" for v in values.mean(1)) for m, (_, values) in curves(runs).items() if m != "test"
    )


def regions_text(title: str, runs: Sequence[StoredRun]) -> str:
    """Where the mean over seeds of each answer is above one half, and what is left over."""
    shares = curves(runs)
    words = []
    for mapping in MAPPINGS:
        gammas, values = shares[mapping]
        where = [f"{g:g}" for g, v in zip(gammas, values.mean(1), strict=True) if v > 0.5]
        words.append(f"{mapping} at γ = {', '.join(where)}" if where else f"{mapping} nowhere")
    gammas, values = shares["test"]
    shadow = [f"{g:g}" for g, v in zip(gammas, values.mean(1), strict=True) if v < SHADOW]
    return (
        f"- **{title}**: more than half of the answers are "
        + "; ".join(words)
        + (f". Fewer than 90 % of the seen pairs are right at γ = {', '.join(shadow)}." if shadow else ".")
    )


# --- Claims ---


def _rises(experiment: Experiment, value: Value, name: str, metric: str = "inferential"):  # noqa: ANN202
    """A check that a metric rises with a setting over runs that learned the seen pairs, the interval above 0."""

    def check(store: Store, profile: str) -> Finding:
        runs = learned_among(load(experiment.specs(profile), store))
        if len(runs) < 3:
            raise LookupError("fewer than three runs learned the seen pairs")
        s, low, high = slope(runs, value, metric)
        xs = levels(runs, value)
        means = [float(np.mean([r.metrics[metric] for r in runs if value(r) == x])) for x in xs]
        return Finding(
            f"rank correlation {s:+.2f} [{low:+.2f}, {high:+.2f}] over {len(runs)} runs; mean {metric} share by {name}: "
            + ", ".join(f"{x:g}: {m:.2f}" for x, m in zip(xs, means, strict=True)),
            graded({"interval above 0": low > 0}),
            len({r.spec.seed for r in runs}),
        )

    return check


def _small_and_decayed(store: Store, profile: str) -> Finding:
    """Follow-up: is the corner of small initialization and large decay inferential, and the opposite one not?"""
    runs = load(DECAY.specs(profile), store)
    mean, deviation = grid(runs, BY_GAMMA, BY_DECAY, "inferential")
    learned_share, _ = grid(runs, BY_GAMMA, BY_DECAY, "test")
    gammas, decays = levels(runs, BY_GAMMA), levels(runs, BY_DECAY)
    possible = np.flatnonzero(learned_share[-1] >= SHADOW)
    if not len(possible):
        raise LookupError("the smallest initialization does not learn the seen pairs at any decay")
    d = int(possible[-1])
    corner, opposite = float(mean[-1, d]), float(mean[0, 0])
    return Finding(
        f"small and decayed (γ = {gammas[-1]:g}, decay {decays[d]:g}, the largest at which the seen pairs are learned) "
        f"{corner:.2f} ± {deviation[-1, d]:.2f}, large and not (γ = {gammas[0]:g}, decay {decays[0]:g}) {opposite:.2f} ± "
        f"{deviation[0, 0]:.2f}",
        graded(
            {
                "that corner at least .5": corner >= 0.5,
                "above the opposite one by its deviation": bool(corner > opposite + deviation[-1, d]),
                "that corner at least .5, the opposite one below": corner >= 0.5 > opposite,
            }
        ),
        len({r.spec.seed for r in runs}),
    )


def _harder(store: Store, profile: str) -> Finding:
    steps = learning_steps(load(DATA.specs(profile), store))
    words = [
        f"γ = {gamma:g}: {harder(values):+.2f} (median {_steps(np.median(values[0]))} → {_steps(np.median(values[-1]))} steps)"
        for gamma, values in steps.items()
    ]
    parts = {f"γ = {gamma:g}": harder(values) > 0.5 for gamma, values in steps.items()}
    return Finding(
        "rank correlation of groups and steps: " + "; ".join(words), graded(parts), next(iter(steps.values())).shape[1]
    )


def _gpt2(norm: str):  # noqa: ANN202
    """A check of Fig. 2c: symmetric at some γ, inferential at a larger one, by the mean over seeds."""

    def check(store: Store, profile: str) -> Finding:
        runs = [r for r in load(GPT2.specs(profile), store) if r.spec.model.norm == norm]
        shares = curves(runs)
        gammas = shares["test"][0]
        best = {m: int(shares[m][1].mean(1).argmax()) for m in MAPPINGS}
        value = {m: float(shares[m][1].mean(1)[best[m]]) for m in MAPPINGS}
        ordered = gammas[best["symmetric"]] < gammas[best["inferential"]]
        words = "; ".join(f"{m} at most {value[m]:.2f} (γ = {gammas[best[m]]:g})" for m in MAPPINGS)
        s, low, high = slope(learned_among(runs) or runs, BY_GAMMA, "inferential")
        return Finding(
            f"{words}; rank correlation of γ and the inferential share {s:+.2f} [{low:+.2f}, {high:+.2f}]",
            graded(
                {
                    f"symmetric at least {REGION:g}, at the smaller γ": bool(value["symmetric"] >= REGION and ordered),
                    f"inferential at least {REGION:g}, at the larger γ": bool(value["inferential"] >= REGION and ordered),
                    "inferential share rises with γ": low > 0,
                }
            ),
            len({r.spec.seed for r in runs}),
        )

    return check


_FIG14 = "mean of 9 runs"
CHAPTER_06 = (
    Claim(
        "rate-raises",
        "zhang2024",
        "Fig 14",
        "A larger learning rate raises the inferential accuracy where (3, 4) and (4, 3) are both unseen.",
        _FIG14,
        "rank correlation over runs that learned the seen pairs, interval above 0",
        _rises(OPTIMIZATION, BY_RATE, "rate"),
    ),
    Claim(
        "decay-raises",
        "zhang2024",
        "Fig 14",
        "A larger weight decay raises the inferential accuracy where (3, 4) and (4, 3) are both unseen.",
        _FIG14,
        "rank correlation over runs that learned the seen pairs, interval above 0",
        _rises(OPTIMIZATION, BY_DECAY, "decay"),
    ),
    *OVER_RATE_AND_DECAY,
    Claim(
        "decay-phases",
        "zhang2025",
        "γ and weight decay",
        "Small initialization with large decay gives the inferential answer; large initialization with small decay does not.",
        "phases over γ and decay",
        "seen pairs learned; share at that corner ≥ .5, above the opposite one by its own deviation, and the opposite one < .5",
        _small_and_decayed,
    ),
    Claim(
        "data-complexity",
        "zhang2025",
        "data complexity",
        "The more pairs break with composition, the longer the seen pairs take to learn.",
        "steps against the number of groups",
        "rank correlation above 0.5 at both initializations",
        _harder,
    ),
)
CHAPTER_08 = (
    Claim(
        "gpt2-post",
        "zhang2024",
        "Fig 2c",
        "GPT-2 (post-norm) answers symmetrically at large and inferentially at small initialization.",
        "accuracies against γ, four runs each",
        "best mean of each answer at least .95, symmetric at the smaller γ; inferential share rises with γ",
        _gpt2("post"),
    ),
    Claim(
        "gpt2-pre",
        "zhang2024",
        "Fig 2c",
        "The pre-norm variant agrees.",
        "in the text",
        "the same",
        _gpt2("pre"),
    ),
)
