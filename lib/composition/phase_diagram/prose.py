"""Sentences about what runs answer to (4, 3): each says what its numbers say, whichever way they fall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from lib.composition.phase_diagram import numbers as answers
from lib.composition.runs import MAPPINGS, REGION, SHADOW, learned_among, learned_at
from lib.composition.scaling import AXES, Setting, trend
from lib.composition.task import INFERENTIAL_OFFSET, SYMMETRIC_OFFSET
from lib.core.measures import spearman
from lib.core.store import StoredRun

_OFFSET = {"symmetric": f"key − {-SYMMETRIC_OFFSET}", "inferential": f"key − {-INFERENTIAL_OFFSET}"}


def _of(runs: Sequence[StoredRun], gamma: float) -> list[StoredRun]:
    return [run for run in runs if run.spec.gamma == gamma]


def flip_text(name: str, runs: Sequence[StoredRun]) -> str:
    """Whether γ alone turns the answer, and how far: exact shares first, then the kind of answer, run by run."""
    found = answers.ends(runs)
    if found.flips:
        verdict = "γ alone turns the symmetric answer into the inferential one"
    elif found.gamma["symmetric"] < found.gamma["inferential"]:
        verdict = (
            "the symmetric answer is strongest at large and the inferential one at small weights, "
            "but not both by half of all answers"
        )
    else:
        verdict = "the inferential answer is not strongest at the smaller weights"
    words = []
    for mapping in MAPPINGS:
        here = _of(runs, found.gamma[mapping])
        kinds = Counter(answers.kind(run) for run in here if answers.has_counts(run))
        nearer = f"; the answers of {kinds[mapping]} of {sum(kinds.values())} runs lie nearer to it" if kinds else ""
        words.append(
            f"at γ = {found.gamma[mapping]:g}, {found.mean[mapping][mapping]:.0%} of the answers are {_OFFSET[mapping]}{nearer}"
        )
    return f"**{name}**: {verdict}. " + "; ".join(words)[0].upper() + "; ".join(words)[1:] + "."


def flip_line(runs: Sequence[StoredRun]) -> str:
    gammas = sorted({run.spec.gamma for run in runs})
    mean = lambda g, m: np.mean([r.metrics[m] for r in _of(runs, g)])
    return "; ".join(f"{m} " + " ".join(f"{mean(g, m):.2f}" for g in gammas) for m in MAPPINGS)


def kind_text(runs: Sequence[StoredRun]) -> str:
    """The second reading, γ by γ, as a table."""
    rows = []
    for gamma in sorted({run.spec.gamma for run in runs}):
        here = _of(runs, gamma)
        exact = [float(np.mean([r.metrics[m] for r in here])) for m in MAPPINGS]
        near = [float(np.mean([answers.nearer(r)[m] for r in here])) for m in MAPPINGS]
        medians = ", ".join(f"{answers.median_offset(r):g}".replace("-", "−") for r in sorted(here, key=lambda r: r.spec.seed))
        rows.append(f"| {gamma:g} | {exact[0]:.2f} | {exact[1]:.2f} | {near[0]:.2f} | {near[1]:.2f} | {medians} |")
    head = "| γ | exactly −6 | exactly −10 | nearer −6 | nearer −10 | median offset of each seed |\n|--:|--:|--:|--:|--:|---|\n"
    return head + "\n".join(rows)


def histogram_line(runs: Sequence[StoredRun]) -> str:
    medians = {g: sorted(answers.median_offset(r) for r in _of(runs, g)) for g in sorted({r.spec.gamma for r in runs})}
    return "median offsets: " + "; ".join(f"γ = {g:g}: " + " ".join(f"{m:g}" for m in values) for g, values in medians.items())


def place_text(runs: Sequence[StoredRun]) -> str:
    """Is an answer exact place by place? How many runs agree over places, and whether the last place differs."""
    offsets = np.array([answers.by_place(run) for run in runs])
    same = int((offsets == offsets[:, :1]).all(1).sum())
    others = offsets[:, :-1]
    lone = int(((others == others[:, :1]).all(1) & (offsets[:, -1] != offsets[:, 0])).sum())
    return (
        f"{same} of {len(runs)} runs give one and the same answer at all seven places; {lone} more at the first six and "
        f"another at the last, where the second anchor is itself the last token. The others decide place by place."
    )


def place_line(runs: Sequence[StoredRun]) -> str:
    flat = Counter(int(v) for run in runs for v in answers.by_place(run))
    return "most frequent offsets, by run and place: " + ", ".join(f"{o:d} ({n})" for o, n in flat.most_common(5))


def speed_text(runs: Sequence[StoredRun]) -> str:
    """Do runs that learn fast answer symmetrically? Over all runs: rank correlation, and the fastest third against the rest."""
    steps = np.array([learned_at(run) for run in runs])
    lean = np.array([run.metrics["inferential"] - run.metrics["symmetric"] for run in runs])
    order = np.argsort(steps, kind="stable")
    third = max(1, len(runs) // 3)
    fast, slow = lean[order[:third]], lean[order[third:]]
    s = spearman(np.argsort(np.argsort(steps, kind="stable")).astype(float), lean)
    if s > 0.3:
        verdict = "The later a run learns, the more it composes"
    elif s < -0.3:
        verdict = "The later a run learns, the less it composes"
    else:
        verdict = "When a run learns says little about what it answers"
    return (
        f"{verdict} (rank correlation {s:+.2f}). Of the fastest third of the runs {np.mean(fast < 0):.0%} lean to the "
        f"symmetric answer, of the others {np.mean(slow < 0):.0%}."
    )


def speed_line(runs: Sequence[StoredRun]) -> str:
    late = sum(not np.isfinite(learned_at(run)) for run in runs)
    return f"{len(runs)} runs, of which {late} never learned"


def step_text(runs: Sequence[StoredRun]) -> str:
    """The distance of nearest neighbours in the embedding that most numbers have, at both ends of γ."""
    words = []
    gammas = sorted({run.spec.gamma for run in runs})
    for gamma in (gammas[0], gammas[-1]):
        share = np.mean([answers.step_shares(run) for run in _of(runs, gamma)], 0)
        most = int(share.argmax())
        far = " or more" if most == len(share) - 1 else ""
        words.append(f"at γ = {gamma:g} the nearest neighbour of {share[most]:.0%} of the numbers lies {most + 1}{far} away")
    return "; ".join(words)[0].upper() + "; ".join(words)[1:] + "."


def step_line(runs: Sequence[StoredRun]) -> str:
    gammas = sorted({run.spec.gamma for run in runs})
    share = {g: np.mean([answers.step_shares(r) for r in _of(runs, g)], 0) for g in gammas}
    return "share of steps of 3 and 4: " + "; ".join(f"γ = {g:g}: {v[2]:.2f} {v[3]:.2f}" for g, v in share.items())


def teacher_text(runs: Sequence[StoredRun]) -> str:
    """Does composing fail where few pairs teach the answer?"""
    curves = [answers.by_teachers(run) for run in runs]
    if not curves:
        return "No run with stored weights leans to the inferential answer."
    levels, mean = curves[0][0], np.mean([share for _, share in curves], 0)
    s = spearman(levels.astype(float), mean)
    verdict = (
        "An answer that few seen pairs teach is seldom composed"
        if s > 0.5
        else "How many seen pairs teach an answer does not decide whether it is composed"
    )
    return (
        f"{verdict}: {mean[0]:.0%} of the answers that {levels[0]} pair teaches are key − 10, and {mean[-1]:.0%} of those that "
        f"{levels[-1]} pairs teach ({len(curves)} runs)."
    )


def teacher_line(runs: Sequence[StoredRun]) -> str:
    curves = [answers.by_teachers(run) for run in runs]
    if not curves:
        return "no run leans to the inferential answer"
    mean = np.mean([share for _, share in curves], 0)
    return "share of key − 10 by teaching pairs: " + ", ".join(f"{n}: {v:.2f}" for n, v in zip(curves[0][0], mean, strict=True))


def generalization_line(right: np.ndarray, held_out: np.ndarray) -> str:
    return f"share right: {right[~held_out].mean():.3f} at trained places, {right[held_out].mean():.3f} at held-out ones"


def generalization_text(runs: Sequence[StoredRun], right: np.ndarray, held_out: np.ndarray) -> str:
    """Of one run what is right at trained and at held-out places, (7, keys); of all, how many learn and do not generalize."""
    learned = learned_among(runs)
    short = sum(run.metrics["test"] < SHADOW for run in learned)
    return (
        f"This run answers {right[~held_out].mean():.1%} of the seen pairs right where the key has trained, and "
        f"{right[held_out].mean():.1%} where it has not. {len(learned)} of {len(runs)} runs learn their training rows; "
        f"below {SHADOW:.0%} at held-out places, where the paper's figure is hatched: {short} of them."
    )


def _setting(run: StoredRun) -> tuple:
    spec = run.spec
    keys = dict(spec.task).get("keys", 80)
    return spec.model.norm, spec.model.d_model, keys, spec.train.batch, spec.rate, spec.decay, spec.train.steps


def trials_table(runs: Sequence[StoredRun]) -> str:
    """Every setting that was tried, with what its two ends of γ answered: mean shares over the seeds that were tried."""
    rows = []
    for setting in sorted({_setting(run) for run in runs}):
        here = [run for run in runs if _setting(run) == setting]
        gammas = sorted({run.spec.gamma for run in here})
        cells = []
        for gamma in (gammas[0], gammas[-1]):
            means = [float(np.mean([r.metrics[m] for r in _of(here, gamma)])) for m in MAPPINGS]
            cells.append(f"{gamma:g}: {means[0]:.2f} / {means[1]:.2f}")
        norm, width, keys, batch, rate, decay, steps = setting
        noise = f"{1e6 * rate / batch**0.5:.1f}"
        which = f"{norm}-norm | {width} | {keys} | {batch} | {rate:.5f}".rstrip("0")
        seeds = len({run.spec.seed for run in here})
        rows.append(f"| {which} | {decay:g} | {steps:,} | {noise} | {len(gammas)} × {seeds} | {cells[0]} | {cells[1]} |")
    head = (
        "| norm | width | numbers | batch | learning rate | decay | steps | learning rate / √batch, × 10⁻⁶ | γ × seeds | "
        "largest weights, γ: symmetric / inferential | smallest weights |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|---|---|\n"
    )
    return head + "\n".join(rows)


def separation_text(found: Sequence[Setting]) -> str:
    """Does the flip sharpen with width, with quieter training and with more rows? The best setting, and a sentence an axis."""
    best = max(found, key=lambda s: s.separation)
    s = best.spec
    words = (
        f"Of {len(found)} settings of two layers, {sum(x.separation > 0 for x in found)} lean more to the inferential answer "
        f"at small weights than at large ones. The ends lie furthest apart at width {s.model.d_model}, batch {s.train.batch}, "
        f"learning rate {s.rate:g}, {s.train.steps:,} steps: a separation of {best.separation:.2f}, where a clean flip is 1."
    )
    if len(found) < 3:
        return words
    rows = []
    for axis in AXES:
        value, low, high = trend(found, axis)
        says = "grows" if low > 0 else "falls" if high < 0 else "shows no clear trend"
        rows.append(f"- With *{axis}* the separation {says}: rank correlation {value:+.2f} [{low:+.2f}, {high:+.2f}].")
    return words + "\n\n" + "\n".join(rows)


def separation_line(found: Sequence[Setting]) -> str:
    return "separations: " + " ".join(f"{s.spec.model.d_model}:{s.separation:.2f}" for s in found)


def verdict(two_layers: Sequence[StoredRun], pre_norm: Sequence[StoredRun]) -> str:
    """The chapter's verdict in two sentences."""
    found = answers.ends(two_layers)
    share = {m: f"{found.mean[m][m]:.0%}" for m in MAPPINGS}
    where = ", ".join(f"{share[m]} {m} at γ = {found.gamma[m]:g}" for m in MAPPINGS)
    if found.flips and min(found.mean[m][m] for m in MAPPINGS) >= REGION:
        first = f"The headline reproduces: with two layers γ alone turns the answer ({where})."
    elif found.flips:
        first = f"The answer turns with γ as the paper says, but it is less pure here ({where}; the paper has near 100 %)."
    else:
        first = f"At this size γ alone does not turn the answer by half of all answers ({where})."
    other = answers.ends(pre_norm)
    words = ", ".join(f"{other.mean[m][m]:.0%} {m} at γ = {other.gamma[m]:g}" for m in MAPPINGS)
    second = f"With pre-norm in GPT-2's form it {'does' if other.flips else 'does not'} ({words})."
    return f"**{first}** {second}"


def headline(rows: Mapping[str, Sequence[StoredRun]]) -> str:
    """What the first page says of its picture, row by row."""
    return "\n\n".join(flip_text(name[0].upper() + name[1:], runs) for name, runs in rows.items())
