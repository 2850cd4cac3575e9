"""Chapter 7, what the boundary depends on: transitions of several shapes on several axes, prose and claims."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.composition.rate_decay_data.claims import BY_GAMMA, curves, slope
from lib.composition.runs import MAPPINGS, SHADOW
from lib.composition.variations import FLIP, SEARCH, WIDTH
from lib.composition.width.numbers import VARIABLES, Transition, by_shape, collapse, fit_transition, variable
from lib.core.claim import Claim, Finding, graded
from lib.core.measures import spread
from lib.core.store import Store, StoredRun
from lib.core.sweep import load

Shape = tuple[int, int]


def share(run: StoredRun, mapping: str = "symmetric") -> float:
    return run.metrics[mapping]


def points(runs: Sequence[StoredRun], mapping: str = "symmetric") -> dict[str, dict[Shape, tuple[np.ndarray, np.ndarray]]]:
    """{variable: {(width, depth): (x, share)}}, one entry a run, on the side of the transition where it falls.

    Initializations larger than the one with the highest mean share are left out: there another transition begins, the one into
    memorizing no rule at all, and a logistic curve has one side only. So are shapes whose mean share never exceeds one half, as
    they have no transition to place, unless there is no other.
    """
    kept: dict[Shape, list[StoredRun]] = {}
    rising: set[Shape] = set()
    for shape, group in by_shape(runs).items():
        gammas = sorted({r.spec.gamma for r in group})
        means = [np.mean([share(r, mapping) for r in group if r.spec.gamma == g]) for g in gammas]
        tail = [r for r in group if r.spec.gamma >= gammas[int(np.argmax(means))]]
        kept[shape] = tail if len({r.spec.gamma for r in tail}) > 1 else group
        if max(means) > 0.5:
            rising.add(shape)
    shapes = [shape for shape in kept if shape in rising] or list(kept)
    value = lambda name, shape: np.array([variable(name, r) for r in kept[shape]])
    shares = {shape: np.array([share(r, mapping) for r in kept[shape]]) for shape in shapes}
    return {name: {shape: (value(name, shape), shares[shape]) for shape in shapes} for name in VARIABLES}


def transitions(
    data: dict[str, dict[Shape, tuple[np.ndarray, np.ndarray]]], seed: int = 0
) -> dict[str, dict[Shape, Transition]]:
    """{variable: {shape: its transition}}, with intervals by resampling seeds."""
    fit = lambda x, p: fit_transition(x, p, np.unique(x, return_inverse=True)[1], seed=seed)
    return {name: {shape: fit(*xy) for shape, xy in shapes.items()} for name, shapes in data.items()}


def ratios(data: dict[str, dict[Shape, tuple[np.ndarray, np.ndarray]]]) -> dict[str, float]:
    """{variable: how badly one curve describes all shapes}, 1 at best."""
    return {
        name: collapse({s: x for s, (x, _) in shapes.items()}, {s: p for s, (_, p) in shapes.items()})
        for name, shapes in data.items()
    }


def shape_name(shape: Shape) -> str:
    return f"width {shape[0]}, depth {shape[1]}"


# --- Lines and prose ---


def flip_line(runs: Sequence[StoredRun]) -> str:
    shares = curves(runs)
    return "; ".join(f"{m} " + " ".join(f"{v:.2f}" for v in shares[m][1].mean(1)) for m in ("test", *MAPPINGS))


def flip_text(runs: Sequence[StoredRun]) -> str:
    """What γ alone does at one rate: mean shares, and where each answer leads."""
    shares = curves(runs)
    gammas = shares["test"][0]
    rows = []
    for i, g in enumerate(gammas):
        test, symmetric, inferential = (shares[m][1][i] for m in ("test", *MAPPINGS))
        more = f"{(symmetric > inferential).sum()} of {len(test)}"
        rows.append(f"| {g:g} | {spread(test)} | {spread(symmetric)} | {spread(inferential)} | {more} |")
    head = "| γ | seen pairs right | symmetric | inferential | seeds with more symmetric answers |\n|---|---|---|---|---|\n"
    return head + "\n".join(rows)


def search_text(store: Store) -> str:
    """Every stored trial of the settings, seeds together."""
    try:
        runs = load(SEARCH.specs("laptop"), store)
    except LookupError:
        return "The trials are not in this store."
    cells: dict[tuple, list[StoredRun]] = {}
    for r in runs:
        cells.setdefault((r.spec.train.batch, r.spec.rate, r.spec.decay, r.spec.gamma), []).append(r)
    shares = lambda group, m: ", ".join(f"{r.metrics[m]:.2f}" for r in group)
    steps = lambda group: ", ".join("–" if r.fit_step is None else f"{r.fit_step:,}" for r in group)
    rows = [
        f"| {batch} | {rate:g} | {decay:g} | {gamma:g} | {steps(group)} | "
        + " | ".join(shares(group, m) for m in ("test", *MAPPINGS))
        + " |"
        for (batch, rate, decay, gamma), group in sorted(cells.items())
    ]
    head = "| batch | rate | decay | γ | steps to 99 % | seen pairs right | symmetric | inferential |\n" + "|---" * 8 + "|\n"
    return head + "\n".join(rows)


def curves_line(runs: Sequence[StoredRun]) -> str:
    return "; ".join(
        f"{shape_name(s)}: symmetric " + " ".join(f"{v:.2f}" for v in curves(g)["symmetric"][1].mean(1))
        for s, g in by_shape(runs).items()
    )


def transitions_text(found: dict[str, dict[Shape, Transition]]) -> str:
    """The transition of each shape on each axis, with its interval."""
    shapes = list(next(iter(found.values())))
    cell = lambda t: f"{t.centre:.2f} [{t.low:.2f}, {t.high:.2f}]" if t.found else "none in the range"
    rows = [f"| {shape_name(s)} | " + " | ".join(cell(found[name][s]) for name in found) + " |" for s in shapes]
    return "| shape | " + " | ".join(found) + " |\n|---" * 1 + "|---" * len(found) + "|\n" + "\n".join(rows)


def advantage(
    data: dict[str, dict[Shape, tuple[np.ndarray, np.ndarray]]], draws: int = 200, seed: int = 0
) -> dict[str, tuple[float, float, float]]:
    """{variable: how many times better than γ it describes all shapes with one curve, with a 95 % interval}.

    The squared deviation on γ over that on the variable; runs are resampled within each shape and γ, for all variables alike.
    """
    rng = np.random.default_rng(seed)
    ratio = lambda d: {name: (b := ratios(d))["γ"] / b[name] for name in d if name != "γ"}
    found: dict[str, list[float]] = {}
    cells = {shape: [np.flatnonzero(x == v) for v in np.unique(x)] for shape, (x, _) in data["γ"].items()}
    for _ in range(draws):
        picks = {shape: np.concatenate([rng.choice(c, len(c)) for c in groups]) for shape, groups in cells.items()}
        drawn = {
            n: {shape: (x[picks[shape]], p[picks[shape]]) for shape, (x, p) in shapes.items()} for n, shapes in data.items()
        }
        for name, value in ratio(drawn).items():
            found.setdefault(name, []).append(value)
    return {n: (v, *map(float, np.percentile(found[n], [2.5, 97.5]))) for n, v in ratio(data).items()}


def verdict(
    found: dict[str, dict[Shape, Transition]], badness: dict[str, float], better: dict[str, tuple[float, float, float]]
) -> str:
    """The plain conclusion: which variable makes the curves fall on each other, and whether γ can be told from it."""
    words = ", ".join(f"{n} {badness[n]:.2f}" for n in sorted(badness, key=lambda n: badness[n]))
    intervals = ", ".join(f"{n} {v:.2f} [{low:.2f}, {high:.2f}]" for n, (v, low, high) in better.items())
    above, below = [n for n, v in better.items() if v[1] > 1], [n for n, v in better.items() if v[2] < 1]
    said = [f"**{n}** describes all shapes better than γ." for n in above] + [f"{n} does worse than γ." for n in below]
    plain = " ".join(said) if said else "**These data do not tell γ from the other variables.**"
    shapes = list(next(iter(found.values())))
    depths = sorted({depth for _, depth in shapes})
    real = max(sum(t.found for t in each.values()) for each in found.values())
    return (
        f"One curve for all shapes, against one for each: the squared deviation grows by a factor of {words}. Times better "
        f"than γ, with 95 % intervals by resampling runs: {intervals}. {plain} {real} of the {len(shapes)} shapes "
        f"compared ({'; '.join(map(shape_name, shapes))}) have their transition inside the range that was trained."
        + ("" if len(depths) > 1 else " All have one depth, so nothing is said of the depth.")
    )


# --- Claims ---


def _flip(store: Store, profile: str) -> Finding:
    runs = load(FLIP.specs(profile), store)
    shares = curves(runs)
    gammas = shares["test"][0]
    good = shares["test"][1].mean(1) >= SHADOW
    if not good.any():
        raise LookupError("no γ at which the seen pairs are learned on average")
    sym, inf = (np.where(good, shares[m][1].mean(1), np.nan) for m in MAPPINGS)
    s, i = int(np.nanargmax(sym)), int(np.nanargmax(inf))
    words = lambda m, at: f"{spread(shares[m][1][at])} at γ = {gammas[at]:g}"
    flips = gammas[i] > gammas[s]
    least = min(sym[s], inf[i]) if flips else 0.0
    return Finding(
        f"symmetric {words('symmetric', s)}; inferential {words('inferential', i)} (means over seeds, nothing selected)",
        graded({"both at least .5, in this order": bool(least >= 0.5), "both at least .9, in this order": bool(least >= 0.9)}),
        shares["test"][1].shape[1],
    )


def _declines(store: Store, profile: str) -> Finding:
    words, parts = [], {}
    runs = load(WIDTH.specs(profile), store)
    for shape, group in by_shape(runs).items():
        s, low, high = slope(group, BY_GAMMA, "symmetric")
        i, i_low, i_high = slope(group, BY_GAMMA, "inferential")
        parts[f"{shape_name(shape)}: symmetric falls"] = high < 0
        parts[f"{shape_name(shape)}: inferential rises"] = i_low > 0
        words.append(
            f"{shape_name(shape)}: symmetric {s:+.2f} [{low:+.2f}, {high:+.2f}], "
            f"inferential {i:+.2f} [{i_low:+.2f}, {i_high:+.2f}]"
        )
    return Finding("rank correlation with γ, " + "; ".join(words), graded(parts), len({r.spec.seed for r in runs}))


def _collapses(store: Store, profile: str) -> Finding:
    runs = load(WIDTH.specs(profile), store)
    better = advantage(points(runs))
    best = max(better, key=lambda n: better[n][0])
    value, low, high = better[best]
    return Finding(
        f"times better than γ: {best} {value:.2f} [{low:.2f}, {high:.2f}]; "
        + ", ".join(f"{n} {v[0]:.2f}" for n, v in better.items() if n != best),
        graded({"interval above 1": low > 1}),
        len({r.spec.seed for r in runs}),
    )


CHAPTER_07 = (
    Claim(
        "flip-at-one-rate",
        "zhang2024",
        "Fig 2, text",
        "At depth 2, γ alone turns the symmetric answer into the inferential one.",
        "γ = .5 symmetric, γ = .8 inferential",
        "means over seeds, seen pairs learned: symmetric ≥ .9 and, at a larger γ, inferential ≥ .9 (partly: both ≥ .5)",
        _flip,
    ),
    Claim(
        "width-trend",
        "ours",
        "widths and depths",
        "At every width and depth the symmetric answer gets rarer, and the inferential more frequent, as γ grows.",
        "not reported",
        "rank correlations over runs of a shape: intervals below and above 0",
        _declines,
    ),
    Claim(
        "width-collapse",
        "ours",
        "widths and depths",
        "The transition depends on the size of the weights rather than on γ as such.",
        "not reported",
        "one curve on the best other variable deviates less than one on γ, the 95 % interval of the ratio above 1",
        _collapses,
    ),
)
