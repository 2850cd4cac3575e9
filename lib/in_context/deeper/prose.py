"""Lines, tables and sentences of chapter 16."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lib.core.model.init import gamma_std
from lib.core.read.tables import table
from lib.core.read.words import listed, number_of
from lib.core.record.store import StoredRun
from lib.in_context.deeper.metrics import (
    GROWN,
    NO_SKIP,
    SELECTS,
    TALK_START,
    THEORY,
    TURNED,
    angles_by_sign,
    by_layer,
    ends_of,
    growing,
    grown,
    growth,
    layers_of,
    selecting,
    separated,
    separating,
    specs_of,
    turning,
    whole,
)
from lib.in_context.runs import LEVEL, counted, small, start_attention, steps_to
from lib.in_context.study import N_TEST


def settings_table(profile: str) -> list[tuple[str, str]]:
    """How each variant is trained, as rows (name, value)."""
    variants = specs_of(profile)
    one = next(iter(variants.values()))
    words = {"sgd": "SGD", "adamw": "AdamW"}
    return [
        ("layers, neurons in each", f"{one[0].model.depth}, {one[0].model.neurons}"),
        ("steps, batch", f"{one[0].train.steps:,}, {one[0].train.batch}"),
        ("size of every entry of a, in the last layer", f"{one[0].model.readout:g}"),
        ("seeds", f"{len(one)}"),
        *(
            (
                name,
                f"{words[spec.train.optimizer]}, learning rate {spec.rate:g}, δ = {spec.model.delta:g}, γ = {spec.gamma:g} "
                f"(std {gamma_std(spec.model.neurons, spec.gamma):.2g}), "
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
    """Which layers select, and attention before and after training, by variant and layer."""
    rows, found = [], {}
    for name, runs in groups.items():
        if good := whole(runs):
            found[name] = selecting(good)
            for k, ends in zip(layers_of(good[0]), ends_of(good), strict=True):
                rows.append((name, k, f"{ends[:, 0].mean():.2f}", f"{ends[:, 1].mean():.2f}", f"{ends[:, 1].min():.2f}"))
        if len(good) < len(runs):
            rows.append((name, "–", f"{len(runs) - len(good)} of {len(runs)} runs diverged", "–", "–"))
    head = ("version", "layer", "before training", "after", "lowest seed")
    which = _which(("select", ""), found, groups)
    return f"{which} Attention of the query to examples with its own pattern, means of seeds:\n\n{table(head, rows)}".strip()


def learning_line(groups: Mapping[str, Sequence[StoredRun]]) -> str:
    parts = []
    for name, runs in groups.items():
        if good := whole(runs):
            error = counted([1 - run.metrics["unseen"] for run in good], N_TEST)
            loss = small([run.metrics["unseen loss"] for run in good], 3)
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


def separation_text(groups: Mapping[str, Sequence[StoredRun]]) -> str:
    """Which layers separate, whether by the sign of a, and what becomes of the layers below."""
    good = {name: some for name, runs in groups.items() if (some := whole(runs))}
    text = _which(("separate", ""), {name: separating(runs) for name, runs in good.items()}, groups)
    runs = good.get(THEORY, [])
    if not runs:
        return f"{text} Of *{THEORY}* nothing can be said: all runs diverged.".strip()
    up, down = (float(np.mean(angles)) for angles in zip(*map(angles_by_sign, runs), strict=True))
    way = "turn to q where a > 0 and to −q where a < 0" if up < 0.5 < down else "do not turn by the sign of a"
    return (
        f"{text} In the last layer, with *{THEORY}*, rows {way} (all rows: {up:.2f} π and {down:.2f} π on average; the "
        "talk's plot of "
        f"one layer has .16 π and .84 π). {lower_text(runs)}"
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
    rows, found = [], {}
    for name, runs in groups.items():
        if good := whole(runs):
            found[name] = growing(good)
            rows.append((name, *(f"{np.mean([grown(run, k) for run in good]):.0%}" for k in layers_of(good[0]))))
    depth = max(runs[0].spec.model.depth for runs in groups.values())
    rows = [row + ("",) * (depth + 1 - len(row)) for row in rows]
    head = ("version", *(f"layer {k}" for k in range(1, depth + 1)))
    return (
        f"{_which(('grow', ''), found, groups)} Share of neurons whose row of $W_O W_V$ is at least {GROWN:g} times as long as "
        f"before training, means of seeds:\n\n{table(head, rows)}"
    ).strip()


KNOWN = 0.99
"""The share of right signs on unseen tasks of who has learned the rule."""
DIVERGED = 100
"""A hinge loss from which on no number says anything."""


def verdict(groups: Mapping[str, Sequence[StoredRun]]) -> str:
    """Whether a version does in every layer what one layer does, and which layers select: sentences, and a table."""
    good = {name: whole(runs) for name, runs in groups.items()}
    rows, found = [], {}
    for name, runs in good.items():
        if not runs:
            rows.append((name, *["every run diverged"] * len(MEASURES)))
            continue
        found[name] = [measure(runs) for measure in MEASURES.values()]
        rows.append((name, *(_layers(layers, runs[0].spec.model.depth) for layers in found[name])))
    full = _alike(good)
    learn = "learn the rule in every version" if _known(groups) else "do not always learn the rule"
    alike = f"every layer does what one does with {listed(full)}" if full else "in no version does every layer do what one does"
    which = _which(("select", ""), {name: layers[0] for name, layers in found.items()}, good)
    return (
        f"Three layers {learn}, and {alike}: select the examples with the query's pattern, separate by label, and grow. {which}"
    ).strip() + f"\n\n{table(('version', *MEASURES), [*rows, ('*in the talk*', 'all 3', 'layer 1', 'neurons grow')])}"


def _known(groups: Mapping[str, Sequence[StoredRun]]) -> bool:
    """Whether every run of every version learned the rule."""
    return all(run.status != "diverged" and run.metrics["unseen"] >= KNOWN for runs in groups.values() for run in runs)


def _alike(good: Mapping[str, Sequence[StoredRun]]) -> list[str]:
    """The versions all of whose layers select, separate and grow."""
    every = lambda runs: all(len(measure(runs)) == len(layers_of(runs[0])) for measure in MEASURES.values())
    return [f"*{name}*" for name, runs in good.items() if runs and every(runs)]


def conclusion(groups: Mapping[str, Sequence[StoredRun]]) -> str:
    """What carries over from one layer, and from which settings that is known."""
    runs = whole(groups[THEORY])
    if not runs:
        return f"All runs of *{THEORY}* diverged: whether the last layer does what one layer does is not known."
    last = layers_of(runs[0])[-1]
    found = [measure(runs) for measure in MEASURES.values()]
    if all(layers == [last] for layers in found):
        does = "What one layer does, the last of three does, and those below it stay out of it"
    elif all(last in layers for layers in found):
        does = "What one layer does, the last of three does, and lower ones do some of it"
    else:
        does = "What one layer does, the last of three does not do in full"
    one, good = runs[0].spec, {name: some for name, every in groups.items() if (some := whole(every))}
    others = [[measure(some) for measure in MEASURES.values()] for name, some in good.items() if name != THEORY]
    else_ = (
        "Other ways of joining and training the blocks divide the work otherwise"
        if others and all(layers != found for layers in others)
        else "Not every other way of joining and training the blocks divides the work otherwise"
    )
    if _known(groups):
        else_ += ", and the rule is found by them as well"
    return (
        f"{does}, where blocks are added to a residual stream and trained by plain SGD from small weights (*{THEORY}*). "
        f"{else_}. So what is said of *every* layer depends on choices that the theory of one layer does not make. This "
        "is known of "
        f"{one.model.neurons} neurons a layer, {one.train.steps} steps and {number_of(len(runs), 'seed')}."
    )


MEASURES = {"layers that select": selecting, "that separate by label": separating, "that grow": growing}
"""What the verdict asks of the layers of a version."""


def _which(verb: tuple[str, str], found: Mapping[str, Sequence[int]], good: Mapping[str, Sequence[StoredRun]]) -> str:
    """Which layers do something in which versions; nothing where every run diverged."""
    groups: dict[str, list[str]] = {}
    for name, layers in found.items():
        depth = good[name][0].spec.model.depth
        if not layers or len(layers) == depth:
            who = "all layers" if layers else "no layer"
        else:
            who = f"layer{'s' * (len(layers) > 1)} {' and '.join(map(str, layers))} alone"
        groups.setdefault(who, []).append(f"*{name}*")
    parts = [f"{who} with {listed(names)}" for who, names in groups.items()]
    if not parts:
        return ""
    first, names = next(iter(groups.items()))
    one = first == "no layer" or first.startswith("layer ")
    parts[0] = f"{first} {verb[0]}{'s' * one}{verb[1]} with {listed(names)}"
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _layers(numbers: Sequence[int], count: int) -> str:
    if not numbers:
        return "none"
    return f"all {count}" if len(numbers) == count else f"layer{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def lower_text(runs: Sequence[StoredRun]) -> str:
    """What becomes of the rows of the layers below the last."""
    good = whole(runs)
    if not good:
        return "No run can be looked at: all diverged."
    below = layers_of(good[0])[:-1]
    size = [float(np.mean([np.median(growth(run, k)) for run in good])) for k in below]
    spreads = np.array([[turning(run, k) for run in good] for k in below]).mean(1)
    grows = "have grown" if min(size) >= GROWN else "have grown in part" if max(size) >= GROWN else "have hardly grown"
    wider = spreads[:, 1] > spreads[:, 0]
    turn = (
        "lean towards q and −q a little more than before training"
        if wider.all()
        else "lean towards q and −q no more than before training"
        if not wider.any()
        else "lean towards q and −q more than before training in some layers only"
    )
    return f"Below it rows {grows}; they {turn}."


def judged_text(groups: Mapping[str, Sequence[StoredRun]]) -> str:
    """Which version each claim is judged on, and what it would be on the others."""
    good = {name: some for name, runs in groups.items() if (some := whole(runs))}
    able = _alike(good)
    text = (
        f"With {listed(able)} the model would show selecting, separating and growing in every layer."
        if able
        else "No version shows selecting, separating and growing in every layer."
    )
    text += (
        f" The claims on separating and growing are judged with *{THEORY}*, the theory's optimizer. The claim "
        f"on selecting is judged with *{NO_SKIP}*, which was chosen when results were known, and that favours it."
    )
    others = [name for name, runs in good.items() if len(growing(runs)) == len(layers_of(runs[0]))]
    if others and THEORY not in others:
        which = listed([f"*{name}*" for name in others])
        text += f" Growing would hold in every layer with {which}, which it is not judged on."
    early = (
        [
            f"layer {k} ({v[:, 0].mean():.2f})"
            for k, v in zip(layers_of(good[NO_SKIP][0]), ends_of(good[NO_SKIP]), strict=True)
            if v[:, 0].min() >= SELECTS
        ]
        if NO_SKIP in good
        else []
    )
    if early:
        text += f" With *{NO_SKIP}* {' and '.join(early)} selects before training already, by our line of {SELECTS:g}."
    return text


def _loss(run: StoredRun) -> float:
    """The held-out hinge loss at the end; infinite where it was not finite."""
    value = run.metrics["unseen loss"]
    return float("inf") if value is None else value


def trials_text(found: Mapping[float, StoredRun], trained: Sequence[StoredRun] = ()) -> str:
    """What three layers without a residual stream make of a start at which attention is the talk's, and where they start that
    were trained for the chapter."""
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
    start = np.mean([start_attention(run) for run in trained], 0) if trained else ()
    so = (
        f"\n\nSo the version above starts from δ = {trained[0].spec.model.delta:g}, with attentions of "
        f"{', '.join(f'{v:.2f}' for v in start)}."
        if none and trained
        else ""
    )
    return (
        f"The talk's layers begin with attentions of {talk}. Ours begin near that at δ = {delta:g}"
        f"{', but from there they did not learn' if none else ''} (one seed each):\n\n"
        + table(("γ of $W_O$ and $W_P$", "attention at the start, by layer", "held-out loss at the end"), rows)
        + so
    )
