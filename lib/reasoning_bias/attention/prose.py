"""Arrays, lines and sentences of chapter 11."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.record.store import StoredRun
from lib.reasoning_bias.attention import numbers
from lib.reasoning_bias.runs import KINDS, by_gamma, epoch
from lib.reasoning_bias.task import N_PLACES


def causal_line(runs: Sequence[StoredRun]) -> str:
    step = numbers.beginning(runs)
    parts = [f"{g:g}: {spread([numbers.off_average(r, step) for r in group])}" for g, group in by_gamma(runs).items()]
    return f"largest distance of the mean attention from 1 / i after {step:,} steps, by γ, " + "; ".join(parts)


def start_line(profile: str) -> str:
    before = numbers.start_deviations(profile)
    return ", ".join(f"γ = {g:g} {np.mean(v):.1g}" for g, v in before.items())


def alignment_line(runs: Sequence[StoredRun]) -> str:
    """At small initialization: σ1 / σ2 and the alignments, at a twentieth of training, and the largest at any time."""
    step = numbers.beginning(runs)
    kinds = next(iter(numbers.alignment(runs, [runs[0].spec.gamma]).values()))[1]
    at = list(runs[0].snapshots()).index(step)
    gap = [numbers.gap(r, step) for r in runs]
    parts = [f"{k} {spread(v[:, at])} (at any time at most {spread(v.max(1))})" for k, v in kinds.items()]
    return f"γ = {runs[0].spec.gamma:g}: first over second singular value {spread(gap)}; alignment with anchors: " + ", ".join(
        parts
    )


def reading_line(runs: Sequence[StoredRun]) -> str:
    found = np.array([numbers.reading(run)[1] for run in runs if run.has_weights]).mean(1)
    each = [", ".join(f"{name} {v:.2f}" for name, v in zip(numbers.ROLES, row, strict=True)) for row in found]
    return f"layer 2, last token, mean over {N_PLACES} places, by seed: " + "; ".join(each)


def causes_text(runs: Sequence[StoredRun]) -> str:
    """Is what is seen also used? The models' answers with an attention replaced by the causal average."""
    runs = [run for run in runs if run.has_weights]
    if not runs:
        return "Is what is seen also used? No weights of these runs are kept, so that this cannot be asked."
    found = [numbers.averaged(run) for run in runs]
    words = ", ".join(f"{spread([f[name] for f in found])} {how}" for name, how in numbers.AVERAGED.items())
    kept = [numbers.moved(run) for run in runs]
    own = {name: ", ".join(f"{pairs[name][0]:.2f}" for pairs in kept) for name in kept[0]}
    there = [pairs["other place"][1] for pairs in kept]
    gone = ", ".join(f"{v:.2f}" for v in there)
    places = sum(v >= numbers.MOST for v in there)
    return (
        f"Is what is seen also used? Share of right answers on new reasoning rows: {words}.\n\n"
        "Does the second attention look for a *place* or for a *token*? Give layer 2 the attention keys of another sequence. "
        f"If that one has its key at the same place, the weight on this place is {own['same place']} (by seed; with its own "
        f"keys {own['itself']}). If it has its key elsewhere, {own['other place']} is left, and "
        f"{gone} has gone to the place of the other one's key. "
    ) + (
        f"In {places} of {len(there)} seeds, then, the second attention matches *where* the key is, whichever key it is. It "
        "could hardly do otherwise: the key's own position cannot see the anchors behind it, so that nothing written there "
        "says that it is the key."
        if places
        else "In no seed, then, does most of the second attention go to *where* the other key is."
    )


def lemma_text(runs: Sequence[StoredRun]) -> str:
    """How long the average holds at small initialization: the range of ε over seeds at each snapshot, to a twentieth."""
    kept = [step for step in runs[0].snapshots() if step <= numbers.beginning(runs)]
    parts = []
    for step in kept:
        found = [float(r.snapshots()[step]["deviation"].max()) for r in runs]
        parts.append(f"{min(found):.1g} to {max(found):.1g} at epoch {step / epoch(runs[0].spec):g}")
    return f"At γ = {runs[0].spec.gamma:g}, ε is " + ", ".join(parts) + " (range over seeds)."


def direction_text(runs: Sequence[StoredRun]) -> str:
    """The gap between the singular values and the alignments, seed by seed, at two early snapshots."""
    kept = [step for step in runs[0].snapshots() if step <= numbers.beginning(runs)]
    rows = []
    for step in dict.fromkeys((kept[min(1, len(kept) - 1)], kept[-1])):
        gap = [numbers.gap(r, step) for r in runs]
        at = list(runs[0].snapshots()).index(step)
        kinds = {k: [float(numbers.alignments(r)[1][k][at].mean()) for r in runs] for k in KINDS}
        say = lambda values: ", ".join(f"{v:.2f}" for v in values)
        rows.append((f"{step / epoch(runs[0].spec):g}", say(gap), say(kinds["reasoning"]), say(kinds["memory"])))
    head = ("epoch", "first over second singular value", "with reasoning anchors", "with memory anchors")
    return f"Seed by seed at γ = {runs[0].spec.gamma:g}, |cosines| of the first direction:\n\n" + table(head, rows)


def solutions_text(runs: Sequence[StoredRun]) -> str:
    """Seed by seed: what is read where, and how well the model does on new reasoning rows and on held-out pairs."""
    reads = ("layer 1, second anchor reads the key", "layer 2, last token reads the key", "reads the anchors")
    rows = []
    for run in runs:
        if run.has_weights:
            read = numbers.reading(run).mean(1)
            cells = (read[0, 0], read[1, 0], read[1, 1] + read[1, 2], numbers.averaged(run)[""], run.metrics["held out"])
            rows.append((run.spec.seed, *(f"{v:.2f}" for v in cells)))
    return table(("seed", *reads, "new reasoning rows right", "held-out pairs right"), rows)


def verdict(runs: Sequence[StoredRun], everyone: Sequence[StoredRun]) -> str:
    """What attention does early, and what the trained one reads."""
    step = numbers.beginning(runs)
    near = sum(numbers.near_average(run) > HALF for run in runs)
    first = (
        f"At small initialization the first attention is an average before training, and in {near} of {len(runs)} seeds it is "
        "one at most times later."
    )
    gap = float(np.mean([numbers.gap(run, step) for run in runs]))
    at = list(runs[0].snapshots()).index(step)
    along = [float(numbers.alignments(run)[1]["reasoning"][at].mean()) for run in runs]
    one = "stands out" if gap >= TWICE else "does not stand far out"
    second = (
        f"Of its values one direction {one} ({gap:.1f} times the second), and it lies along the reasoning anchors in "
        f"{sum(v >= HALF for v in along)} of {len(along)} seeds."
    )
    kept = [run for run in everyone if run.has_weights]
    if not kept:
        return f"{first} {second}"
    key = [float(numbers.reading(run)[1, :, 0].min()) for run in kept]
    reads = sum(v >= MOSTLY for v in key)
    third = f"In {reads} of {len(key)} trained models the second attention finds the key wherever it stands."
    return f"{first} {second} {third}"


HALF, TWICE, MOSTLY = 0.5, 2, 0.8
"""Of snapshots or of a cosine; of two singular values; of an attention."""


def solutions_line(runs: Sequence[StoredRun]) -> str:
    """How many of the models read the key by their second attention, and how well each kind does on new rows."""
    kept = [run for run in runs if run.has_weights]
    if not kept:
        return "No weights of these runs are kept."
    found = [(float(numbers.reading(run)[1, :, 0].min()) >= MOSTLY, numbers.averaged(run)[""]) for run in kept]
    kinds = {True: "read the key with the second attention", False: "do not"}
    parts = [
        f"{len(shares)} {words} (new reasoning rows right: {spread(shares)})"
        for does, words in kinds.items()
        if (shares := [share for reads, share in found if reads is does])
    ]
    return f"Of {len(kept)} models, {' and '.join(parts)}."
