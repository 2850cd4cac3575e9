"""What chapter 7 says of its numbers: what γ alone does, trials and repeats, and what the boundary depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.composition.phase_diagram.metrics import HALF, clear_trend, ends, kind, turns
from lib.composition.runs import MAPPINGS
from lib.composition.trends import Trend, curves
from lib.composition.width.metrics import DIFFER, Crossing, Shape, by_shape, placed, points, shape_name
from lib.composition.words import setting_words, trend_words
from lib.core.read.tables import table
from lib.core.read.words import listed, number_of
from lib.core.record.store import StoredRun

Points = tuple[np.ndarray, np.ndarray]
"""The values of a variable and the shares, a run each."""


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
        rows.append((f"{g:g}", more, *(f"{values.mean():.0%}" for values in (symmetric, inferential, test))))
    return table(("γ", "runs with more symmetric answers", "symmetric, mean", "inferential, mean", "seen pairs right"), rows)


def search_text(runs: Sequence[StoredRun]) -> str:
    """Every trial of the settings, seeds together; runs: all, or none where they are not stored."""
    if not runs:
        return "The trials are not in this store."
    cells: dict[tuple, list[StoredRun]] = {}
    for r in runs:
        cells.setdefault((r.spec.train.batch, r.spec.rate, r.spec.decay, r.spec.gamma), []).append(r)
    shares = lambda group, m: ", ".join(f"{r.metrics[m]:.1f}" for r in group)
    steps = lambda group: ", ".join("–" if r.fit_step is None else f"{r.fit_step:,}" for r in group)
    rows = [
        (batch, f"{rate:g}", f"{decay:g}", f"{gamma:g}", steps(group), *(shares(group, m) for m in MAPPINGS))
        for (batch, rate, decay, gamma), group in sorted(cells.items())
    ]
    head = ("batch", "learning rate", "decay", "γ", "steps to 99 %", *MAPPINGS)
    return table(head, rows)


def curves_line(runs: Sequence[StoredRun]) -> str:
    return "; ".join(
        f"{shape_name(s)}: symmetric " + " ".join(f"{v:.2f}" for v in curves(g)["symmetric"][1].mean(1))
        for s, g in by_shape(runs).items()
    )


def repeats_text(pairs: Sequence[tuple[StoredRun, StoredRun]] | None) -> str:
    """How far runs agree with those of the fast diagram that have the same settings and seed; None: not stored."""
    if pairs is None:
        return "The runs of the fast diagram are not in this store, so nothing can be said of repeats."
    if not pairs:
        return "None of these runs repeats a run of the fast diagram."
    n, names = len(pairs), ("symmetric", "inferential")
    apart = {m: sum(abs(a.metrics[m] - b.metrics[m]) > DIFFER for a, b in pairs) for m in names}
    leads = lambda r: r.metrics["inferential"] > r.metrics["symmetric"]
    same = sum(leads(a) == leads(b) for a, b in pairs)
    widths = listed(sorted({str(a.spec.model.d_model) for a, _ in pairs}))
    another = all(a.provenance.get("program") != b.provenance.get("program") for a, b in pairs)
    stable = same >= 0.9 * n and max(apart.values()) > 0.1 * n
    return (
        f"{number_of(n)} of width {widths} repeat{'s' * (n == 1)} a run of the fast diagram, with the same "
        f"settings and seed{', by another program of the [engine](engine)' * another}. The share of inferential answers "
        f"differs by more than {DIFFER:g} in {apart['inferential']} of them, that of symmetric ones in {apart['symmetric']}. "
        f"Which of the two answers leads is the same in {same} of {n}."
        + (
            " **At these settings the leading answer repeats, and its exact share does not**; a second training of other "
            "models is in [chapter 8](08-gpt2)."
            if stable
            else ""
        )
    )


def crossings_text(found: dict[str, dict[Shape, Crossing]], data: dict[str, dict[Shape, Points]]) -> str:
    """The transition of each shape on each axis, with its interval, and which of them is not placed. data: points(runs)."""
    shown = [name for name in found if name in SHOWN]
    shapes = list(found[shown[0]])
    cell = lambda t: f"{t.centre:.2f} [{t.low:.2f}, {t.high:.2f}]" if t.found else "none in the range"
    rows = [(shape_name(s), *(cell(found[name][s]) for name in shown)) for s in shapes]
    wide = [shape_name(s) for s, inside in placed(found["γ"], data["γ"]).items() if not inside]
    said = (
        f"\n\nThe interval of {'; '.join(wide)} reaches beyond the γ that were trained, so its transition is hardly known."
        if wide
        else ""
    )
    return table(("shape", *(f"transition at {name}" for name in shown)), rows) + said


SHOWN = ("γ", "log₁₀ σ√d")
"""The variables whose transitions are written into a table; those of the others follow from them."""


def verdict(
    found: dict[str, dict[Shape, Crossing]],
    data: dict[str, dict[Shape, Points]],
    better: dict[str, tuple[float, float, float]],
) -> str:
    """The plain conclusion: whether γ can be told from another variable, and how many crossings are placed at all."""
    above, below = [n for n, v in better.items() if v[1] > 1], [n for n, v in better.items() if v[2] < 1]
    said = [f"**{n} describes all shapes better than γ.**" for n in above] + [f"{n} does worse than γ." for n in below]
    plain = " ".join(said) if said else "**These data do not tell γ from the other variables**: every interval holds 1."
    shapes = list(next(iter(found.values())))
    depths = sorted({depth for _, depth in shapes})
    whole = placed(found["γ"], data["γ"])
    return (
        f"{plain} On γ, {len(whole)} of the "
        f"{number_of(len(shapes), 'shape')} compared {'has' if len(whole) == 1 else 'have'} a transition inside the range that "
        f"was trained; of {sum(whole.values())} the whole interval lies inside, too."
        + ("" if len(depths) > 1 else " All have one depth, so nothing is said of the depth.")
    )


def _first(runs: Sequence[StoredRun]) -> str:
    """A remark where the symmetric answer first gets more frequent as γ grows; nothing where it is most frequent at once."""
    gammas, shares = curves(runs)["symmetric"]
    means = shares.mean(1)
    top = int(means.argmax())
    if means[top] - means[0] < RISES:
        return ""
    return f" The symmetric answer first gets more frequent, up to γ = {gammas[top]:g}."


RISES = 0.05
"""A mean share is larger from this difference on (our choice)."""


def boundary(flips: Sequence[StoredRun], widths: Sequence[StoredRun], better: Mapping[str, Trend]) -> str:
    """Does γ alone change the answer, and what does the boundary depend on? better: advantage of each variable over γ."""
    clear, by_ends = turns(flips), ends(flips).flips
    how = "turns" if clear else "does not clearly turn" if by_ends else "does not turn"
    best = [name for name, (_, low, _) in better.items() if low > 1]
    only = ": the two ends of γ differ as they should, the runs between them do not follow" if by_ends and not clear else ""
    first = f"**In the large-batch runs of two layers γ alone {how} the symmetric answer into the inferential one{only}.**"
    if best:
        return f"{first}{_first(flips)} **The boundary goes with {listed(best)} rather than γ.**"
    compared, every = len(points(widths)["γ"]), len(by_shape(widths))
    shapes = (
        number_of(compared, "shape") if compared == every else f"the {compared} of {every} shapes with a transition to place"
    )
    return f"{first}{_first(flips)} **No variable that we asked places the boundary better than γ**, over {shapes}."


def taken_away(flips: Sequence[StoredRun], full_length: Sequence[StoredRun] = ()) -> str:
    """What the answer does not say: at which settings the answer turns, how far, and whether chapter 2's runs agree.

    full_length: chapter 2's runs, whose verdict may differ; none where they are not stored.
    """
    found = ends(flips)
    kinds = {m: [kind(r) for r in flips if r.spec.gamma == found.gamma[m]] for m in MAPPINGS}
    lines = [
        f"- **The large-batch runs** have {setting_words(flips[0].spec)}. "
        + ", and ".join(
            f"{'t' if i else 'T'}he {m} answer is most frequent at γ = {found.gamma[m]:g} ({found.mean[m][m]:.0%} of all "
            f"answers), where {kinds[m].count(m)} of {number_of(len(kinds[m]))} lean to it"
            for i, m in enumerate(MAPPINGS)
        )
        + "."
    ]
    if trend := clear_trend(flips):
        low, high = trend[1:]
        words = "clearly rises with γ" if low > 0 else "clearly falls with γ" if high < 0 else "shows no clear trend with γ"
        lines.append(f"- **In between** the lean to the inferential answer {words} (slope {trend_words(trend)}, learned runs).")
    if full_length:
        here, there = turns(flips), turns(full_length)
        where = f"that chapter's full-length runs ({setting_words(full_length[0].spec)})"
        outcome = {
            (True, True): f"γ alone clearly turns the answer here and in {where}",
            (True, False): f"γ alone clearly turns the answer here, but not in {where}: their settings differ",
            (False, True): f"γ alone does not clearly turn the answer here, but it does in {where}: their settings differ",
            (False, False): f"γ alone clearly turns the answer neither here nor in {where}",
        }
        lines.append(
            "- **By the measure** of [chapter 2](02-phase-diagram), that each answer lead by half of all answers where it is "
            f"most frequent and that the lean clearly rise in between, {outcome[here, there]}."
        )
    return "\n".join(lines)


def inferential_first_text(widths: Sequence[StoredRun]) -> str:
    """The shapes that give mostly the inferential answer at their largest weights; nothing where none does."""
    words = []
    for shape, group in by_shape(widths).items():
        first = min(run.spec.gamma for run in group)
        share = float(np.mean([run.metrics["inferential"] for run in group if run.spec.gamma == first]))
        words += [f"{shape_name(shape)} ({share:.0%} at γ = {first:g})"] if share > HALF else []
    if not words:
        return ""
    return f"**Against the paper's order, most answers are inferential at the largest weights** of {listed(words)}."
