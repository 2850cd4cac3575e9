"""What chapter 7 says of its numbers: what γ alone does, trials and repeats, and what the boundary depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.composition.phase_diagram.numbers import ends, kind
from lib.composition.runs import MAPPINGS
from lib.composition.trends import Trend, curves
from lib.composition.width.numbers import DIFFER, Crossing, Shape, by_shape, placed, points, shape_name
from lib.composition.words import setting_words
from lib.core.read.measures import spread
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
        rows.append((f"{g:g}", spread(test), spread(symmetric), spread(inferential), more))
    return table(("γ", "seen pairs right", "symmetric", "inferential", "seeds with more symmetric answers"), rows)


def search_text(runs: Sequence[StoredRun]) -> str:
    """Every trial of the settings, seeds together; runs: all, or none where they are not stored."""
    if not runs:
        return "The trials are not in this store."
    cells: dict[tuple, list[StoredRun]] = {}
    for r in runs:
        cells.setdefault((r.spec.train.batch, r.spec.rate, r.spec.decay, r.spec.gamma), []).append(r)
    shares = lambda group, m: ", ".join(f"{r.metrics[m]:.2f}" for r in group)
    steps = lambda group: ", ".join("–" if r.fit_step is None else f"{r.fit_step:,}" for r in group)
    rows = [
        (batch, f"{rate:g}", f"{decay:g}", f"{gamma:g}", steps(group), *(shares(group, m) for m in ("test", *MAPPINGS)))
        for (batch, rate, decay, gamma), group in sorted(cells.items())
    ]
    head = ("batch", "learning rate", "decay", "γ", "steps to 99 %", "seen pairs right", *MAPPINGS)
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
        + (" **The kind of answer is stable; how exactly it is given is noise.**" if stable else "")
    )


def crossings_text(found: dict[str, dict[Shape, Crossing]], data: dict[str, dict[Shape, Points]]) -> str:
    """The transition of each shape on each axis, with its interval, and which of them is not placed. data: points(runs)."""
    shapes = list(next(iter(found.values())))
    cell = lambda t: f"{t.centre:.2f} [{t.low:.2f}, {t.high:.2f}]" if t.found else "none in the range"
    rows = [(shape_name(s), *(cell(found[name][s]) for name in found)) for s in shapes]
    wide = [shape_name(s) for s, inside in placed(found["γ"], data["γ"]).items() if not inside]
    said = (
        f"\n\nThe interval of {'; '.join(wide)} reaches beyond the γ that were trained, so no transition is placed there."
        if wide
        else ""
    )
    return table(("shape", *found), rows) + said


def verdict(
    found: dict[str, dict[Shape, Crossing]],
    data: dict[str, dict[Shape, Points]],
    better: dict[str, tuple[float, float, float]],
) -> str:
    """The plain conclusion: whether γ can be told from another variable, and how many crossings are placed at all."""
    intervals = ", ".join(f"{n} {v:.2f} [{low:.2f}, {high:.2f}]" for n, (v, low, high) in better.items())
    above, below = [n for n, v in better.items() if v[1] > 1], [n for n, v in better.items() if v[2] < 1]
    said = [f"**{n}** describes all shapes better than γ." for n in above] + [f"{n} does worse than γ." for n in below]
    plain = " ".join(said) if said else "**These data do not tell γ from the other variables.**"
    shapes = list(next(iter(found.values())))
    depths = sorted({depth for _, depth in shapes})
    whole = placed(found["γ"], data["γ"])
    return (
        f"{plain} The squared deviation of one curve on γ over that of one curve on the other variable, with 95 % intervals by "
        f"resampling runs: {intervals}. Above 1 the other variable does better. On γ, {len(whole)} of the "
        f"{number_of(len(shapes), 'shape')} compared {'has' if len(whole) == 1 else 'have'} a transition inside the range that "
        f"was trained, {sum(whole.values())} with the whole interval."
        + ("" if len(depths) > 1 else " All have one depth, so nothing is said of the depth.")
    )


def boundary(
    flips: Sequence[StoredRun],
    widths: Sequence[StoredRun],
    better: Mapping[str, Trend],
    full_length: Sequence[StoredRun] = (),
) -> str:
    """Does γ alone change the answer, and what does the boundary depend on?

    better: advantage of each variable over γ. full_length: chapter 2's runs, whose verdict may differ; none where they are not
    stored.
    """
    shares = curves(flips)
    gammas = shares["test"][0]
    at = {m: int(shares[m][1].mean(1).argmax()) for m in MAPPINGS}
    largest = {m: float(shares[m][1].mean(1)[at[m]]) for m in MAPPINGS}
    kinds = {m: [kind(r) for r in flips if r.spec.gamma == gammas[at[m]]] for m in MAPPINGS}
    ordered = gammas[at["symmetric"]] < gammas[at["inferential"]]
    turned = ordered and all(group.count(m) > len(group) / 2 for m, group in kinds.items())
    said = (
        f"**In the low-rate runs of two layers γ alone {'turns' if turned else 'does not turn'} the kind of answer from "
        "symmetric "
        f"to inferential** ({setting_words(flips[0])}). "
        + "; ".join(
            f"{'At' if m == MAPPINGS[0] else 'at'} γ = {gammas[at[m]]:g}, {largest[m]:.0%} of the answers are {m}, the most "
            "for "
            "any "
            f"γ, and most answers of {kinds[m].count(m)} of {number_of(len(kinds[m]))} lie nearer to that answer than to the "
            "other"
            for m in MAPPINGS
        )
        + ". "
    )
    if full_length:
        here, there = ends(flips).flips, ends(full_length).flips
        where = f"that chapter's full-length runs ({setting_words(full_length[0])})"
        outcome = {
            (True, True): f"γ alone turns the answer here and in {where}",
            (True, False): f"γ alone turns the answer here, but not in {where}: their settings differ",
            (False, True): f"γ alone does not turn the answer here, but it does in {where}: their settings differ",
            (False, False): f"γ alone turns the answer neither here nor in {where}",
        }
        said += (
            "By the stricter measure of [chapter 2](02-phase-diagram), that each answer lead by half of all answers where it "
            "is "
            f"most frequent, {outcome[here, there]}. "
        )
    best = [name for name, (_, low, _) in better.items() if low > 1]
    return said + (
        f"**The boundary goes with {listed(best)} rather than γ.**"
        if best
        else f"**What the boundary depends on stays open**: over {number_of(len(points(widths)['γ']), 'shape')} of model no "
        "variable does better than γ."
    )
