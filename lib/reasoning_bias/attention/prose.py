"""Arrays, lines and sentences of chapter 11."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lib.core.read.measures import spread
from lib.core.read.tables import table
from lib.core.record.store import StoredRun
from lib.reasoning_bias.attention import metrics
from lib.reasoning_bias.attention.metrics import EPSILON, HALF, rounded
from lib.reasoning_bias.experiments import ABLATIONS, LARGE, SMALL
from lib.reasoning_bias.ratios import closed, slowdown
from lib.reasoning_bias.runs import KINDS, at, epoch
from lib.reasoning_bias.study import causal_average
from lib.reasoning_bias.task import LENGTH, N_PLACES


def causal_line(matrices: Mapping[str, np.ndarray]) -> str:
    """How far each matrix that is drawn is from the causal average."""
    far = lambda matrix: float(np.abs(matrix - causal_average(LENGTH).numpy()).max())
    return "largest distance from 1 / i: " + ", ".join(f"{rounded(far(matrix))} ({name})" for name, matrix in matrices.items())


def early_text(runs: Sequence[StoredRun]) -> str:
    """Is the mean attention nearer to the average at small initialization than at large, once training has begun?"""
    step = metrics.beginning(runs)
    far = {gamma: [metrics.off_average(r, step) for r in at(runs, gamma)] for gamma in (SMALL, LARGE)}
    small, large = far.values()
    epochs = f"epoch {step / epoch(runs[0].spec):g}"
    said = f"({spread(small)} at γ = {SMALL:g}, {spread(large)} at γ = {LARGE:g}; mean over sequences and all seeds)"
    if max(small) < min(large):
        return f"At {epochs} the first attention is nearer to 1 / i in every seed at small initialization {said}."
    if np.mean(small) < np.mean(large) / 2:
        return f"At {epochs} the first attention is mostly nearer to 1 / i at small initialization {said}."
    nearer = metrics.share_of(sum(a < b for a, b in zip(small, large, strict=True)), len(small))
    return f"Once training has begun, at {epochs}, small initialization is nearer to 1 / i than large in {nearer} seeds {said}."


def start_line(profile: str) -> str:
    before = metrics.start_deviations(profile)
    return ", ".join(f"{rounded(float(np.mean(v)))} at γ = {g:g}" for g, v in before.items())


def alignment_line(runs: Sequence[StoredRun]) -> str:
    """At small initialization: σ1 / σ2 and the alignments, at a twentieth of training, and the largest at any time."""
    step = metrics.beginning(runs)
    kinds = next(iter(metrics.alignment(runs, [runs[0].spec.gamma]).values()))[1]
    at = list(runs[0].snapshots()).index(step)
    gap = [metrics.gap(r, step) for r in runs]
    parts = [f"{k} {spread(v[:, at])} (at any time at most {spread(v.max(1))})" for k, v in kinds.items()]
    return f"γ = {runs[0].spec.gamma:g}: first over second singular value {spread(gap)}; alignment with anchors: " + ", ".join(
        parts
    )


def reading_line(runs: Sequence[StoredRun]) -> str:
    found = np.array([metrics.reading(run)[1] for run in runs if run.has_weights]).mean(1)
    each = [", ".join(f"{name} {v:.2f}" for name, v in zip(metrics.ROLES, row, strict=True)) for row in found]
    return f"layer 2, last token, mean over {N_PLACES} places, by seed: " + "; ".join(each)


def causes_text(runs: Sequence[StoredRun]) -> str:
    """Is what is seen also used? The models' answers with an attention replaced by the causal average, and the second attention
    with the attention keys of another sequence."""
    runs = [run for run in runs if run.has_weights]
    if not runs:
        return "Is what is seen also used? No weights of these runs are kept, so that this cannot be asked."
    answers = [metrics.averaged(run) for run in runs]
    kept = [metrics.moved(run) for run in runs]
    head = ("seed", "right answers, as trained", "first attention averaged", "second attention averaged")
    shares = [
        (run.spec.seed, *(f"{found[name]:.2f}" for name in metrics.AVERAGED)) for run, found in zip(runs, answers, strict=True)
    ]
    places = ("own keys", "another's, key at the same place", "another's, key elsewhere", "attention to that place")
    weights = [
        (run.spec.seed, *(f"{pairs[name][0]:.2f}" for name in pairs), f"{pairs['other place'][1]:.2f}")
        for run, pairs in zip(runs, kept, strict=True)
    ]
    on_key = [pairs for pairs in kept if pairs["itself"][0] >= metrics.MOST]
    follow = sum(pairs["other place"][1] >= metrics.MOST for pairs in on_key)
    if not on_key:
        last = "In no seed, then, does most of the second attention rest on the key, so that there is nothing to follow."
    else:
        last = (
            f"In {metrics.share_of(len(on_key), len(kept))} seeds most of the second attention rests on the key. "
            f"In {metrics.share_of(follow, len(on_key))} of these it goes to *where* the other sequence's key is, whichever "
            "key it is. "
        )
        last += (
            "It could hardly do otherwise: the key's own position cannot see the anchors behind it, so that nothing written "
            "there says that it is the key. Positions from the anchors on can carry that they have seen them, so the key "
            "is the last that cannot: this is our reading of how it is found."
            if follow
            else "So it does not go by place."
        )
    return (
        f"Is what is seen also used? {_use_text(answers)} New reasoning rows:\n\n{table(head, shares)}\n\n"
        "Does the second attention look for a *place* or for a *token*? Give layer 2 the attention keys of another sequence. "
        f"Its weight on the key's place, and what goes to the other one's:\n\n{table(('seed', *places), weights)}\n\n{last}"
    )


def _use_text(answers: Sequence[Mapping[str, float]]) -> str:
    """Which of the two attentions the answers need."""
    mean = {name: float(np.mean([found[name] for found in answers])) for name in metrics.AVERAGED}
    needs = {"attention.1": "the first", "attention.2": "the second"}
    used = [words for name, words in needs.items() if mean[name] < mean[""] * HALF]
    if len(used) == len(needs):
        return "Both attentions are: with the causal average for either, most right answers are lost."
    if not used:
        return "Neither attention is much: with the causal average for either, most right answers stay."
    other = next(words for words in needs.values() if words not in used)
    return f"Only {used[0]} attention is: with the causal average for it most right answers are lost, for {other} most stay."


def lemma_text(runs: Sequence[StoredRun]) -> str:
    """Does the average hold at small initialization: before training, and the range of ε over seeds at its end."""
    last = max(runs[0].snapshots())
    before = max(metrics.deviation_at_start(r.spec) for r in runs)
    far = lambda step: [metrics.largest(r, step) for r in runs]
    end, (until, then) = far(last), _held(runs)
    name = lambda step: f"epoch {step / epoch(runs[0].spec):g}"
    if before > EPSILON:
        grown = "The lemma does not hold even before training"
    elif until == last:
        grown = "The lemma holds before training and in it"
    elif until:
        grown = (
            f"The lemma holds before training and until {name(until)} (ε at most {rounded(max(far(until)))}), in every seed, "
            f"but no longer at {name(then)} ({rounded(min(far(then)))} to {rounded(max(far(then)))})"
        )
    else:
        grown = "The lemma holds before training, and not in it" if min(end) > EPSILON else "The lemma holds in part"
    return (
        f"{grown}: at γ = {runs[0].spec.gamma:g}, ε is at most {rounded(before)} before it, and {rounded(min(end))} to "
        f"{rounded(max(end))} at its end (range over seeds)."
    )


def _held(runs: Sequence[StoredRun]) -> tuple[int, int]:
    """The last snapshot in training up to which ε stays small in every seed, 0 for none, and the one after it."""
    until = 0
    for step in sorted(step for step in runs[0].snapshots() if step):
        if max(metrics.largest(run, step) for run in runs) > EPSILON:
            return until, step
        until = step
    return until, until


def singles_text(runs: Sequence[StoredRun]) -> str:
    """Of trained models: how far the first attention is from the average, averaged over sequences and to a single one."""
    runs = [run for run in runs if run.has_weights]
    if not runs:
        return "No weights of these runs are kept, so that single sequences of trained models cannot be looked at."
    found = [metrics.from_average(run) for run in runs]
    head = [
        "seed",
        *(f"{what} {kind} sequence{s}" for kind in metrics.SEQUENCES for what, s in (("mean over", "s"), ("one", ""))),
    ]
    rows = [
        (run.spec.seed, *(f"{v:.2f}" for kind in metrics.SEQUENCES for v in f[kind]))
        for run, f in zip(runs, found, strict=True)
    ]
    near = {(kind, i): sum(f[kind][i] <= metrics.OFF for f in found) for kind in metrics.SEQUENCES for i in (0, 1)}
    cancels = any(near[kind, 0] > near[kind, 1] for kind in metrics.SEQUENCES)
    mean, single = (metrics.share_of(near["reasoning", i], len(found)) for i in (0, 1))
    first = (
        "Part of what single sequences select cancels in the mean"
        if cancels
        else "Single sequences are as near the average as their mean"
    )
    first += (
        f": averaged over reasoning sequences the first attention is within {metrics.OFF:g} of 1 / i in {mean} seeds, that of "
        f"a single one in {single}."
    )
    answers = [metrics.averaged(run) for run in runs]
    return f"{first} {_need_text(answers)}\n\n" + table(head, rows)


def _needed(answers: Sequence[Mapping[str, float]]) -> bool:
    """Are most right answers lost where the first attention is the average?"""
    whole, without = (float(np.mean([found[name] for found in answers])) for name in ("", "attention.1"))
    return without < whole * HALF


def _need_text(answers: Sequence[Mapping[str, float]]) -> str:
    """Whether answers need what the first attention selects."""
    whole, without = (float(np.mean([found[name] for found in answers])) for name in ("", "attention.1"))
    average = "with the causal average in its place"
    if _needed(answers):
        return (
            f"The answers need what it selects: {average} right answers to new reasoning rows fall from {whole:.2f} to "
            f"{without:.2f}."
        )
    return f"The answers need little of what it selects: {average} {without:.2f} of {whole:.2f} stay right."


def direction_text(runs: Sequence[StoredRun]) -> str:
    """Does one direction stand out and lie along the reasoning anchors alone? In words and seed by seed, at two early
    snapshots."""
    rows, said, at_once = [], [], 0
    for step in _early(runs):
        gap = [metrics.gap(r, step) for r in runs]
        index = list(runs[0].snapshots()).index(step)
        kinds = {k: [float(metrics.alignments(r)[1][k][index].mean()) for r in runs] for k in KINDS}
        say = lambda values: ", ".join(f"{v:.2f}" for v in values)
        name = f"{step / epoch(runs[0].spec):g}"
        rows.append((name, say(gap), say(kinds["reasoning"]), say(kinds["memory"])))
        out, along = [v >= TWICE for v in gap], [v >= HALF for v in kinds["reasoning"]]
        share = np.mean(kinds["reasoning"]) / np.mean(kinds["memory"])
        side = "along both kinds of anchors alike" if 1 / ALIKE <= share <= ALIKE else f"more along {_more(share)} anchors"
        where = "the first one" if said else "the first direction"
        count = metrics.share_of(sum(out), len(out))
        said.append(f"at epoch {name} one stands out in {count} seeds, and on average {where} lies {side}")
        at_once += sum(o and a and m <= ACROSS for o, a, m in zip(out, along, kinds["memory"], strict=True))
    head = ("epoch", "first over second singular value", "with reasoning anchors", "with memory anchors")
    seen = f"{at_once} times" if at_once > 1 else "once" if at_once else "at neither time in any seed"
    first = f"A direction that stands out and lies along the reasoning anchors alone is seen {seen}:"
    rule = f"To stand out, its singular value must be at least {TWICE} times the second."
    return f"{first} {'; '.join(said)}. {rule}" + (
        f"\n\nSeed by seed at γ = {runs[0].spec.gamma:g}, |cosines| of the first direction:\n\n" + table(head, rows)
    )


def _early(runs: Sequence[StoredRun]) -> list[int]:
    """Two early snapshots: the first one in training, and that at a twentieth of it."""
    kept = [step for step in runs[0].snapshots() if step <= metrics.beginning(runs)]
    return list(dict.fromkeys((kept[min(1, len(kept) - 1)], kept[-1])))


def _more(share: float) -> str:
    return "the reasoning" if share > 1 else "the memory"


ALIKE, ACROSS = 1.5, 0.2
"""Up to this ratio of mean |cosines| a direction lies along both kinds alike; |cosine| with anchors that it lies across."""


def solutions_text(runs: Sequence[StoredRun]) -> str:
    """Seed by seed: what is read where, and how well the model does on new reasoning rows and on held-out pairs. The last row
    is what the causal average would read."""
    reads = ("layer 1, second anchor reads the key", "layer 2, last token reads the key", "reads the anchors")
    rows = []
    for run in runs:
        if run.has_weights:
            read = metrics.reading(run).mean(1)
            cells = (read[0, 0], read[1, 0], read[1, 1] + read[1, 2], metrics.averaged(run)[""], run.metrics["held out"])
            rows.append((run.spec.seed, *(f"{v:.2f}" for v in cells)))
    first, last = metrics.reading_of_average().mean(1)
    rows.append(("causal average", f"{first:.2f}", f"{last:.2f}", f"{2 * last:.2f}", "–", "–"))
    return table(("seed", *reads, "new reasoning rows right", "held-out pairs right"), rows)


def answer(runs: Sequence[StoredRun], everyone: Sequence[StoredRun]) -> str:
    """What attention does early, and what the trained one reads, in two sentences."""
    found, n = _steps(runs), len(runs)
    if not found.start <= EPSILON:
        first = "At small initialization the first attention is no plain average even before training"
    elif found.single > n * HALF:
        first = "At small initialization the first attention starts as a plain average and mostly stays one"
    elif found.mean > n * HALF:
        first = (
            "At small initialization the first attention starts as a plain average; in training it stays within "
            f"{metrics.OFF:g} of one in {metrics.share_of(found.mean, n)} seeds, and only in the mean over many sequences"
        )
    else:
        first = "At small initialization the first attention starts as a plain average and does not stay one"
    if found.answers:
        first += f", and the trained models need {'what' if found.needed else 'little of what'} it selects"
    early = [f"in {metrics.share_of(count, n)} seeds at epoch {at:g}" for at, count in found.leading.items()]
    second = f"Its value matrix has one leading direction {', '.join(early)}"
    if kept := [run for run in everyone if run.has_weights]:
        reads = metrics.share_of(sum(map(_reads_key, kept)), len(kept))
        second += f", and in {reads} trained models the second attention finds the key, as the paper describes"
    return f"{first}. {second}."


@dataclass(frozen=True)
class _Steps:
    """What the steps of the argument come to: ε before training; the seeds in which the first attention is mostly the average
    in training, in the mean over sequences and in every one; the answers of the trained models, and whether they need it; the
    seeds in which the first singular value is twice the second, by epoch, and those in which its direction lies along the
    reasoning anchors."""

    start: float
    mean: int
    single: int
    answers: list[dict[str, float]]
    needed: bool
    leading: dict[float, int]
    along: int


def _steps(runs: Sequence[StoredRun]) -> _Steps:
    step = metrics.beginning(runs)
    mean, single = (sum(metrics.near_average(run, one) > HALF for run in runs) for one in (False, True))
    answers = [metrics.averaged(run) for run in runs if run.has_weights]
    at = list(runs[0].snapshots()).index(step)
    return _Steps(
        max(metrics.deviation_at_start(run.spec) for run in runs),
        mean,
        single,
        answers,
        bool(answers) and _needed(answers),
        {at / epoch(runs[0].spec): sum(float(metrics.gap(run, at)) >= TWICE for run in runs) for at in _early(runs)},
        sum(float(metrics.alignments(run)[1]["reasoning"][at].mean()) >= HALF for run in runs),
    )


def verdict(runs: Sequence[StoredRun], everyone: Sequence[StoredRun]) -> str:
    """The steps of the paper's argument, and what each comes to here, in a table."""
    found, n = _steps(runs), len(runs)
    seeds = lambda count: f"in {metrics.share_of(count, n)} seeds"
    rows = [
        ("before training the first attention is an average", "yes" if found.start <= EPSILON else "no"),
        (f"in most of training it still is, in the mean over sequences, within {metrics.OFF:g}", seeds(found.mean)),
        ("… and in every single sequence", seeds(found.single)),
    ]
    if found.answers:
        rows.append(("the trained models answer as well with the average in its place", "no" if found.needed else "yes"))
    rows += [
        *((f"at epoch {at:g} one singular value stands far above the others", seeds(k)) for at, k in found.leading.items()),
        ("early, its direction lies along the reasoning anchors", seeds(found.along)),
    ]
    if kept := [run for run in everyone if run.has_weights]:
        reads = metrics.share_of(sum(map(_reads_key, kept)), len(kept))
        rows.append(("the second attention finds the key wherever it stands", f"in {reads} models"))
    return f"The paper's argument, step by step, at γ = {runs[0].spec.gamma:g}:\n\n" + table(("step", "here"), rows)


TWICE, MOSTLY = 2, 0.8
"""Of two singular values; of an attention."""


def _reads_key(run: StoredRun) -> bool:
    """Does the second attention rest on the key, wherever it stands?"""
    return float(metrics.reading(run)[1, :, 0].min()) >= MOSTLY


def _brings_key(run: StoredRun) -> bool:
    """Does the first layer bring the key to the second anchor, and the second read the anchors?"""
    read = metrics.reading(run).mean(1)
    return bool(read[0, 0] >= MOSTLY and read[1, 1] + read[1, 2] >= MOSTLY)


def solutions_line(runs: Sequence[StoredRun]) -> str:
    """How many of the models do as the paper describes, how many bring the key to the second anchor first, and how well each
    kind does on new rows."""
    kept = [run for run in runs if run.has_weights]
    if not kept:
        return "No weights of these runs are kept."
    read, rest = ([run for run in kept if _reads_key(run) is does] for does in (True, False))
    right = {name: [metrics.averaged(run)[""] for run in group] for name, group in (("read", read), ("rest", rest))}
    said = f"Of {len(kept)} models, {len(read) or 'none'} read the key with the second attention, as the paper describes"
    said += f" (new reasoning rows right: {spread(right['read'])})." if read else "."
    if not rest:
        return said
    other = sum(_brings_key(run) for run in rest)
    said += (
        f" Of the other {len(rest)}, {'all' if other == len(rest) else other or 'none'} bring the key to the second anchor in "
        f"layer 1 and read the anchors in layer 2 (new reasoning rows right: {spread(right['rest'])}"
        f"{', of all of these' if 0 < other < len(rest) else ''})."
    )
    if read and other == len(rest):
        more = "the more" if len(read) > len(rest) else "the less" if len(read) < len(rest) else "no more"
        better = "the better" if np.mean(right["read"]) > np.mean(right["rest"]) else "not the better"
        said += f" So the paper's way is one of two, at our size {more} frequent, and {better} on new rows."
    return said


def ablations_text(taken: Mapping[str, Sequence[StoredRun]]) -> str:
    """With which parts taken away the bias stays, and where large initialization prefers reasoning, too."""
    changed = {name: runs for name, runs in taken.items() if name != ABLATIONS[0]}
    large = {name: [r for r in (slowdown(run) for run in at(runs, LARGE)) if r is not None] for name, runs in taken.items()}
    stays = [name for name, runs in changed.items() if metrics.bias_stays(runs)]
    untold = [name for name in changed if name not in stays and not closed(large[name])]
    lost = [name for name in changed if name not in stays and name not in untold]
    rule = f"every ratio at γ = {SMALL:g} above every one at {LARGE:g}"
    parts = [f"The bias stays ({rule}) with: {', '.join(stays)}." if stays else f"The bias stays ({rule}) in no variant."]
    if untold:
        parts.append(f"It cannot be told with: {', '.join(untold)}, where ratios at γ = {LARGE:g} are lower bounds.")
    if lost:
        parts.append(f"It does not stay with: {', '.join(lost)}.")
    prefers = [name for name, found in large.items() if found and min(r.value for r in found) >= TWICE]
    if prefers:
        parts.append(f"At γ = {LARGE:g}, too, memory takes at least twice as long in every seed with: {', '.join(prefers)}.")
    return " ".join(parts)
