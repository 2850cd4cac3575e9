"""Lines, tables and sentences of chapter 16."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.record.store import StoredRun
from lib.in_context.deeper.numbers import (
    GROWN,
    MOST,
    SELECTS,
    TALK_START,
    TURNED,
    angles_by_sign,
    by_layer,
    ends_of,
    grown,
    growth,
    layers_of,
    separated,
    whole,
)
from lib.in_context.experiments import deep_specs
from lib.in_context.runs import LEVEL, start_attention, steps_to


def settings_table(profile: str) -> list[tuple[str, str]]:
    """How each variant is trained, as rows (name, value)."""
    variants = deep_specs(profile)
    one = next(iter(variants.values()))
    words = {"sgd": "SGD", "adamw": "AdamW"}
    return [
        ("layers, neurons in each", f"{one[0].model.depth}, {one[0].model.neurons}"),
        ("steps, batch", f"{one[0].train.steps:,}, {one[0].train.batch}"),
        ("seeds", f"{len(one)}"),
        *(
            (
                name,
                f"{words[spec.train.optimizer]}, rate {spec.rate:g}, δ = {spec.model.delta:g}, γ = {spec.gamma:g}, "
                f"{'with' if spec.model.skip else 'without'} residual stream",
            )
            for name, (spec, *_) in variants.items()
        ),
    ]


def attention_line(groups: Mapping[str, Sequence[StoredRun]]) -> str:
    parts = []
    for name, runs in groups.items():
        good = whole(runs)
        parts.append(f"{name}: " + (by_layer(good, [v[:, 1] for v in ends_of(good)]) if good else "every run diverged"))
    return "attention at the end, " + "; ".join(parts)


def attention_table(groups: Mapping[str, Sequence[StoredRun]]) -> str:
    """Attention before and after training, by variant and layer."""
    rows = []
    for name, runs in groups.items():
        if good := whole(runs):
            for k, ends in zip(layers_of(good[0]), ends_of(good), strict=True):
                low = f"{ends[:, 1].min():.3f}"
                rows.append((name, k, spread(ends[:, 0], 3), spread(ends[:, 1], 3), low))
        if len(good) < len(runs):
            rows.append((name, "–", f"{len(runs) - len(good)} of {len(runs)} runs diverged", "–", "–"))
    head = ("variant", "layer", "before training", "after", "lowest seed")
    return "Attention of the query to examples with its own pattern:\n\n" + table(head, rows)


def learning_line(groups: Mapping[str, Sequence[StoredRun]]) -> str:
    parts = []
    for name, runs in groups.items():
        if good := whole(runs):
            error = spread([1 - run.metrics["unseen"] for run in good], 4)
            loss = spread([run.metrics["unseen loss"] for run in good], 3)
            steps = [s for s in map(steps_to, good) if s is not None]
            when = f"at {np.mean(steps):.0f} steps" if steps else "never"
            parts.append(
                f"{name}: wrong {error}, hinge loss {loss}, held-out loss of {LEVEL:g} {when} ({len(steps)} of {len(runs)})"
            )
        else:
            parts.append(f"{name}: every run diverged")
    return "unseen tasks at the end, " + "; ".join(parts)


def separation_line(groups: Mapping[str, Sequence[StoredRun]]) -> str:
    parts = []
    for name, runs in groups.items():
        if good := whole(runs):
            parts.append(f"{name}: " + by_layer(good, [[separated(run, k) for run in good] for k in layers_of(good[0])]))
    return f"large neurons with a label half within {TURNED:g} π of q or −q, " + ("; ".join(parts) or "no runs")


def signs_text(runs: Sequence[StoredRun]) -> str:
    """In the last layer: does a neuron turn to the side that its sign of a asks for?"""
    good = whole(runs)
    if not good:
        return "No run can be looked at: all diverged."
    up, down = zip(*map(angles_by_sign, good), strict=True)
    return (
        f"Last layer, means over all neurons and {len(good)} seeds: {spread(up)} π for a > 0 and {spread(down)} π for a < 0 "
        "(in one layer the talk's plot has .16 and .84 for its mean over neurons)."
    )


def growth_line(groups: Mapping[str, Sequence[StoredRun]]) -> str:
    parts = []
    for name, runs in groups.items():
        if good := whole(runs):
            median = [[float(np.median(growth(run, k))) for run in good] for k in layers_of(good[0])]
            parts.append(f"{name}: " + by_layer(good, median))
    return "median of norm after over before, " + ("; ".join(parts) or "no runs")


def growth_text(groups: Mapping[str, Sequence[StoredRun]]) -> str:
    """Which layers train at all: the share of neurons that grow by a tenth, by variant and layer."""
    rows = []
    for name, runs in groups.items():
        if good := whole(runs):
            cells = [spread([grown(run, k) for run in good]) for k in layers_of(good[0])]
            rows.append((name, *cells))
    depth = max(runs[0].spec.model.depth for runs in groups.values())
    rows = [row + ("",) * (depth + 1 - len(row)) for row in rows]
    return f"Share of neurons whose row of W_O W_V is at least {GROWN:g} times as long as before training:\n\n" + table(
        ("variant", *(f"layer {k}" for k in range(1, depth + 1))), rows
    )


KNOWN = 0.99
"""The share of right signs on unseen tasks of who has learned the rule."""
DIVERGED = 100
"""A hinge loss from which on no number says anything."""


def verdict(groups: Mapping[str, Sequence[StoredRun]]) -> str:
    """Which layers select, in each version, and which separate."""
    parts, as_one, known = [], False, True
    for name, runs in groups.items():
        if not (good := whole(runs)):
            parts.append(f"*{name}*: every run diverged")
            known = False
            continue
        known &= all(run.metrics["unseen"] >= KNOWN for run in good)
        ends = ends_of(good)
        chosen = [k for k, v in zip(layers_of(good[0]), ends, strict=True) if v[:, 1].min() >= SELECTS]
        apart = [k for k in layers_of(good[0]) if min(separated(run, k) for run in good) >= MOST]
        as_one |= len(chosen) == len(apart) == len(ends)
        parts.append(f"*{name}*: {_layers(chosen, len(ends))} selecting, {_layers(apart, len(ends))} separating by label")
    return (
        f"Three layers {'learn the rule in every version' if known else 'do not always learn the rule'}, and "
        f"{'some version does' if as_one else 'no version does'} in every layer what one layer does. "
        + "; ".join(parts)
        + ". (In *no skip* a column has to pass through every block; in *stacked* each block adds to its input.)"
    )


def _layers(numbers: Sequence[int], count: int) -> str:
    if not numbers:
        return "none"
    return "all layers" if len(numbers) == count else f"layer{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def _loss(run: StoredRun) -> float:
    """The held-out hinge loss at the end; infinite where it was not finite."""
    value = run.metrics["unseen loss"]
    return float("inf") if value is None else value


def trials_text(found: Mapping[float, StoredRun]) -> str:
    """What three layers without a residual stream make of a start at which attention is the talk's."""
    rows = [
        (
            f"{gamma:g}",
            ", ".join(f"{v:.2f}" for v in start_attention(run)),
            f"{loss:.2f}" if (loss := _loss(run)) < DIVERGED else "diverged",
        )
        for gamma, run in found.items()
    ]
    talk, delta = ", ".join(f"{v:g}" for v in TALK_START), next(iter(found.values())).spec.model.delta
    none = not any(_loss(run) <= LEVEL for run in found.values())
    return (
        f"The talk's layers begin with attentions of {talk}. Ours begin near that at δ = {delta:g}"
        f"{', but from there they did not learn' if none else ''} (one seed each):\n\n"
        + table(("γ of W_O and W_P", "attention at the start, by layer", "held-out loss at the end"), rows)
    )
