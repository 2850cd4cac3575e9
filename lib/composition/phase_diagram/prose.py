"""Sentences and tables of the phase diagram: each says what its numbers say, whichever way they fall."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import itemgetter

import numpy as np

from lib.composition import paper_size
from lib.composition.diagram import gain, gamma_of_gain
from lib.composition.experiments import GRIDS
from lib.composition.phase_diagram import metrics
from lib.composition.phase_diagram.metrics import AXES, PhaseTable, Setting, trend
from lib.composition.runs import MAPPINGS, REGION, SHADOW, clearest, generalizes, lean, learned_among, learned_at
from lib.composition.study import OFFSETS
from lib.composition.task import INFERENTIAL_OFFSET, N_KEYS, SYMMETRIC_OFFSET
from lib.composition.words import setting_words
from lib.core.read.statistics import interval, rank_trend, resamples, spearman
from lib.core.read.tables import table
from lib.core.read.words import listed, number_of, sentence
from lib.core.record.store import StoredRun

# --- Answers of two layers ---


def _key(offset: int) -> str:
    """`key − 6`."""
    return f"key {'−' if offset < 0 else '+'} {abs(offset)}"


_OFFSET = {"symmetric": _key(SYMMETRIC_OFFSET), "inferential": _key(INFERENTIAL_OFFSET)}


def _of(runs: Sequence[StoredRun], gamma: float) -> list[StoredRun]:
    return [run for run in runs if run.spec.gamma == gamma]


def flip_text(name: str, runs: Sequence[StoredRun]) -> str:
    """Whether γ alone turns the answer, and how far: exact shares first, then the kind of answer, run by run."""
    found = metrics.ends(runs)
    if found.flips:
        verdict = "γ alone turns the symmetric answer into the inferential one"
    elif found.in_order:
        verdict = f"γ alone does not turn the answer by half of all answers; {_leading(runs)}"
    else:
        verdict = "the inferential answer is not strongest at the smaller weights"
    words = []
    for mapping in MAPPINGS:
        here = _of(runs, found.gamma[mapping])
        kinds = Counter(metrics.kind(run) for run in here if metrics.has_counts(run))
        nearer = f"; most answers of {kinds[mapping]} of {number_of(sum(kinds.values()))} lie nearer to it" if kinds else ""
        if kinds.total() == 1:
            nearer = f"; most {'' if kinds[mapping] else 'do not '}lie nearer to it"
        words.append(
            f"at γ = {found.gamma[mapping]:g}, {found.mean[mapping][mapping]:.0%} of the answers are {_OFFSET[mapping]}{nearer}"
            + _unlearned(here)
        )
    return f"**{name}**: {verdict}. " + "; ".join(words)[0].upper() + "; ".join(words)[1:] + "."


def _leading(runs: Sequence[StoredRun]) -> str:
    """At how many γ each answer leads by the mean over seeds, and where the rarer one does."""
    found = metrics.leading(runs)
    most, least = sorted(found, key=lambda m: len(found[m]), reverse=True)
    total = len({run.spec.gamma for run in runs})
    where = f"at γ = {listed([f'{g:g}' for g in found[least]])}" if found[least] else "nowhere"
    return f"the {most} answer leads at {len(found[most])} of {total} γ, the {least} {where}"


def answer_text(sets: Mapping[str, Sequence[StoredRun]]) -> str:
    """Where γ alone clearly turns the answer, in one sentence. sets: {what runs are called: runs}."""
    clear = [name for name, runs in sets.items() if metrics.turns(runs)]
    rest = [name for name in sets if name not in clear]
    short = "Partly" if clear and rest else "Yes" if clear else "No"
    where = f"in {listed(clear)}" if clear else "in none of our settings"
    return (
        f"{short}: with two layers, smaller initial weights alone turn the symmetric answer into the inferential one {where}"
        + (f", but not clearly in {listed(rest)}" if clear and rest else "")
        + "."
    )


def sets_text(sets: Mapping[str, Sequence[StoredRun]]) -> str:
    """What the answer rests on: both ends of γ, the trend, and the paper's own two γ, set by set; and what a turn is."""
    rows, at_pair = [], []
    low, high = metrics.PAPER_PAIR
    for name, runs in sets.items():
        found, pair, trend = metrics.ends(runs), metrics.at_paper_pair(runs), metrics.clear_trend(runs)
        at_pair += [name] if pair.flips else []
        rows.append(
            (
                name,
                *(f"{found.mean[m][m]:.0%} at γ = {found.gamma[m]:g}" for m in MAPPINGS),
                f"{trend[0]:+.1f} [{trend[1]:+.1f}, {trend[2]:+.1f}]" if trend else "too few",
                *(
                    f"{mean['symmetric']:.0%} / {mean['inferential']:.0%}{_in_place_of(runs, gamma)}"
                    for gamma, mean in zip(metrics.PAPER_PAIR, pair.mean.values(), strict=True)
                ),
                "yes" if metrics.turns(runs) else "by its ends only" if found.flips else "no",
            )
        )
    head = ("models", "symmetric, most", "inferential, most", "trend with γ", f"γ = {low:g}", f"γ = {high:g}", "turns?")
    of_gain = lambda width: gamma_of_gain(gain(high, GRIDS["paper"].d_model), width)
    widths = sorted({run.spec.model.d_model for runs in sets.values() for run in runs} - {GRIDS["paper"].d_model})
    equal = listed([f"{of_gain(width):.2f} at width {width}" for width in widths])
    turned = f"{listed(at_pair)} turn" if at_pair else "none of them turns"
    return (
        table(head, rows)
        + "\n\nA set **turns** if each answer, at the γ where its mean share is largest, is ahead by half of all answers, the "
        "symmetric one at the larger weights, and if the lean (inferential less symmetric share) rises with γ among the runs "
        "that have learned (the trend is its slope, with a 95 % interval, which must lie above 0). The columns of single γ "
        "have the mean shares symmetric / inferential at the paper's two, or at the stored γ next to it in brackets. "
        f"**Between the paper's own γ = {low:g} and {high:g} {turned}.**"
        + (
            " A matrix of $d$ inputs stretches a vector about $\\sigma\\sqrt{d} = d^{\\,1/2 - \\gamma}$ times, its *gain*. "
            f"γ = {low:g} has gain 1 at every width; the gain that {high:g} has at the paper's is had at γ = {equal}."
            if widths
            else ""
        )
    )


def _in_place_of(runs: Sequence[StoredRun], gamma: float) -> str:
    """` (0.45, 0.55)`: the γ of the runs that stand for those at gamma; nothing if they are at gamma itself."""
    stored = sorted({run.spec.gamma for run in metrics.near(runs, gamma)})
    return "" if stored == [gamma] else f" ({', '.join(f'{g:g}' for g in stored)})"


def learned_text(sets: Mapping[str, Sequence[StoredRun]]) -> str:
    """Where runs that have not learned stand at an end of γ, set by set; nothing if all have learned everywhere."""
    return "\n".join(filter(None, (_short_of_learning(name, runs) for name, runs in sets.items())))


def _short_of_learning(name: str, runs: Sequence[StoredRun]) -> str:
    found, short = metrics.ends(runs), []
    for mapping in MAPPINGS:
        here = _of(runs, found.gamma[mapping])
        if (done := len(learned_among(here))) < len(here):
            short.append(f"at γ = {found.gamma[mapping]:g}, where the {mapping} answer is most frequent, {done} of {len(here)}")
    remark = _small_weights(runs)
    if not short and not remark:
        return ""
    known = f" {'; '.join(short)} have learned their training rows." if short else ""
    return f"- *{sentence(name)}*:{known}{remark}"


def _small_weights(runs: Sequence[StoredRun]) -> str:
    """Of the third of γ with the smallest weights: which answer runs give that know what they were taught, at held-out places
    too. Nothing for runs that were not asked for their training rows."""
    if any("train" not in run.metrics for run in runs):
        return ""
    gammas = sorted({run.spec.gamma for run in runs})
    small = gammas[-max(1, len(gammas) // 3) :]
    here = [run for run in runs if run.spec.gamma in small]
    whole = [run for run in here if generalizes(run)]
    if len(whole) == len(here):
        return ""
    leans = [sum(max(MAPPINGS, key=lambda m: r.metrics[m]) == mapping for r in whole) for mapping in MAPPINGS]
    return (
        f" Of the {number_of(len(here))} at γ ≥ {small[0]:g}, {len(whole)} have learned their training rows and {SHADOW:.0%} "
        f"of the seen pairs at held-out places: {leans[0]} symmetric, {leans[1]} inferential."
    )


def size_text(runs: Sequence[StoredRun]) -> str:
    """What the runs at the paper's size answer, γ by γ, in one sentence; nothing without runs."""
    if not runs:
        return ""
    words = []
    for gamma in sorted({run.spec.gamma for run in runs}):
        here = _of(runs, gamma)
        mean = {m: float(np.mean([run.metrics[m] for run in here])) for m in MAPPINGS}
        if clear := [m for m in MAPPINGS if mean[m] >= REGION]:
            said = f"gives the {clear[0]} answer ({mean[clear[0]]:.0%})"
        else:
            said = f"gives neither reliably ({', '.join(f'{mean[m]:.0%} {m}' for m in MAPPINGS)}"
            near = {m: float(np.mean([metrics.nearer(run)[m] for run in here])) for m in MAPPINGS}
            lean = [m for m in MAPPINGS if near[m] > 0.5]
            said += f"; {near[lean[0]]:.0%} lie nearer to the {lean[0]} answer" if lean else ""
            shares = np.mean([metrics.shares(run)[:-1] for run in here], 0)
            said += f"; most often {_key(OFFSETS[int(shares.argmax())])}, {shares.max():.0%})"
        words.append(f"γ = {gamma:g} {said}{_unlearned(here)}")
    most = max(len(_of(runs, gamma)) for gamma in {run.spec.gamma for run in runs})
    how_many = "one run" if most == 1 else f"at most {most} runs"
    return f"**At the paper's own size**, with {how_many} a γ and a fifth of its steps, {', and '.join(words)}."


FEW = 0.1
"""A run leans to an exact answer from this share on (our choice)."""


def odd_text(rows: Mapping[str, Sequence[StoredRun]]) -> str:
    """The γ at which runs lean to different exact answers. rows: {title: runs}."""
    words = []
    several = {name: runs for name, runs in rows.items() if len(runs) > len({run.spec.gamma for run in runs})}
    for name, runs in several.items():
        odd = []
        for gamma in sorted({run.spec.gamma for run in runs}):
            here = _of(runs, gamma)
            leans = [m for r in here for m, other in (MAPPINGS, MAPPINGS[::-1]) if r.metrics[m] > max(r.metrics[other], FEW)]
            if len(set(leans)) > 1:
                odd.append(f"{gamma:g} ({leans.count('symmetric')} of {len(leans)})")
        words.append(f"*{name}*: {f'at γ = {listed(odd)}' if odd else 'nowhere'}")
    if not several:
        return ""
    return (
        "At some γ, runs that differ in nothing but the seed lean to different exact answers (in brackets, how many lean to "
        f"key − 6, of those with more than {FEW:.0%} of either). {'; '.join(words)}."
    )


def _unlearned(runs: Sequence[StoredRun]) -> str:
    """A remark on runs some of which have not learned what they were taught; nothing if all have."""
    done = len(learned_among(runs))
    none = "none of them has" if len(runs) > 1 else "it has not"
    return "" if done == len(runs) else f" ({f'{done} of {len(runs)} have' if done else none} learned the training rows)"


def other_pre_norm_text(tried: Sequence[StoredRun]) -> str:
    """What the stored trials of the paper's block with pre-norm answer, γ by γ; nothing where there are none."""
    runs = [run for run in tried if run.spec.model.norm == "pre" and run.spec.model.activation == "relu"]
    if not runs:
        return ""
    gammas = sorted({run.spec.gamma for run in runs})
    words = []
    for gamma in gammas:
        mean = {m: float(np.mean([run.metrics[m] for run in _of(runs, gamma)])) for m in MAPPINGS}
        words.append(f"{', '.join(f'{mean[m]:.0%} {m}' for m in MAPPINGS)} at γ = {gamma:g}")
    first = runs[0].spec
    return (
        f"**Another recipe with pre-norm.** {number_of(len(runs), 'trial')} with pre-norm of the paper's own block otherwise "
        f"(ReLU, {number_of(first.model.heads, 'head')}, {setting_words(first)}) answer {'; '.join(words)}. From GPT-2's form "
        "above they differ in activation, heads and biases, and in batch, learning rate, decay and length, too; which of these "
        "matters is open."
    )


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
        near = [float(np.mean([metrics.nearer(r)[m] for r in here])) for m in MAPPINGS]
        medians = ", ".join(f"{metrics.median_offset(r):g}".replace("-", "−") for r in sorted(here, key=lambda r: r.spec.seed))
        rows.append((f"{gamma:g}", *(f"{v:.2f}" for v in (*exact, *near)), medians))
    head = ("γ", "exactly −6", "exactly −10", "nearer −6", "nearer −10", "median offset of each seed")
    return _coarse(runs) + "\n\n" + table(head, rows)


def _coarse(runs: Sequence[StoredRun]) -> str:
    """What the second reading counts beside exact answers: for each side, the most frequent other offset."""
    total = dict(zip(OFFSETS, np.mean([metrics.shares(run)[:-1] for run in runs], 0), strict=True))
    words = []
    for mapping, exact, side in (
        ("−6", SYMMETRIC_OFFSET, [o for o in OFFSETS if o > metrics.MIDDLE]),
        ("−10", INFERENTIAL_OFFSET, [o for o in OFFSETS if o < metrics.MIDDLE]),
    ):
        if not (whole := sum(total[o] for o in side)):
            continue
        other = max((o for o in side if o != exact), key=lambda o: total[o])
        rest = f", and the most frequent other offset is {other:d} ({total[other] / whole:.0%})".replace("-", "−")
        words.append(
            f"of the answers nearer to {mapping}, {total[exact] / whole:.0%} are exact" + (rest if total[other] else "")
        )
    return "The second reading is coarse: " + "; ".join(words) + "." if words else "No answer lies near the key."


def histogram_line(runs: Sequence[StoredRun]) -> str:
    medians = {g: sorted(metrics.median_offset(r) for r in _of(runs, g)) for g in sorted({r.spec.gamma for r in runs})}
    return "median offsets: " + "; ".join(f"γ = {g:g}: " + " ".join(f"{m:g}" for m in values) for g, values in medians.items())


def place_text(runs: Sequence[StoredRun]) -> str:
    """Is an answer exact place by place? How many runs agree over places, and whether the last place differs."""
    offsets = np.array([metrics.by_place(run) for run in runs])
    same = int((offsets == offsets[:, :1]).all(1).sum())
    others = offsets[:, :-1]
    lone = int(((others == others[:, :1]).all(1) & (offsets[:, -1] != offsets[:, 0])).sum())
    rest = len(runs) - same - lone
    return (
        f"{same} of {number_of(len(runs))} {'has' if same == 1 else 'have'} the same most frequent offset at all seven places."
        + (
            f" {lone} more {'has' if lone == 1 else 'have'} one offset at the first six places and a different one at the "
            "last, where the second anchor is itself the last token."
            if lone
            else ""
        )
        + (f" In the other {number_of(rest)} it changes from place to place." if rest else "")
    )


def place_line(runs: Sequence[StoredRun]) -> str:
    flat = Counter(int(v) for run in runs for v in metrics.by_place(run))
    return "most frequent offsets, by run and place: " + ", ".join(f"{o:d} ({n})" for o, n in flat.most_common(5))


def run_title(run: StoredRun) -> str:
    return f"depth {run.spec.model.depth}, γ = {run.spec.gamma:g}"


def curves_line(runs: Sequence[StoredRun]) -> str:
    return "; ".join(
        f"{run_title(r)}: " + ", ".join(f"{m} {r.metrics[m]:.2f}" for m in MAPPINGS) + f" after {r.steps} steps" for r in runs
    )


def _settled(run: StoredRun, name: str) -> str:
    """From which evaluated step on a share stays above one half, in words."""
    above = [v is not None and v > 0.5 for v in run.history[name]]
    if not above[-1]:
        return "at no step that lasts"
    first = len(above) - next((i for i, v in enumerate(reversed(above)) if not v), len(above))
    return f"from step {run.history['step'][first]:,} to the end"


def curves_text(runs: Sequence[StoredRun]) -> str:
    """When each example learned its training rows, and from when on its answer to the unseen pair stays what it is."""
    lines = []
    for run in runs:
        mapping = max(MAPPINGS, key=lambda m: run.metrics[m])
        values = [v for v in run.history[mapping] if v is not None]
        far = [abs(b - a) > 0.2 for a, b in pairwise(values)]
        swings = sum(now and not before for before, now in pairwise([False, *far]))
        moved = "without jumps" if not swings else f"in {number_of(swings, 'jump')}"
        what = "train" if "train" in run.history else "test"
        lines.append(
            f"- *{run_title(run)}, seed {run.spec.seed}*: most {'training rows' if what == 'train' else 'seen pairs'} are "
            f"right {_settled(run, what)}, and most answers to (4, 3) are {mapping} {_settled(run, mapping)}. This answer "
            f"comes {moved}."
        )
    return (
        "\n".join(lines)
        + "\n\nA jump is a change by more than a fifth between two evaluations, or several one after the other."
    )


def left_out_text(runs: Sequence[StoredRun]) -> str:
    """Of runs that have learned, those with the highest share of an answer that are no example, since they do not generalize;
    nothing where there are none."""
    words = []
    for mapping in MAPPINGS:
        best = min(learned_among(runs) or runs, key=lambda r: (-r.metrics[mapping], r.spec.gamma, r.spec.seed))
        if best.metrics[mapping] > clearest(runs, mapping).metrics[mapping]:
            words.append(
                f"The most {mapping} run of all that have learned (γ = {best.spec.gamma:g}, seed {best.spec.seed}, "
                f"{best.metrics[mapping]:.0%} {mapping}) is not shown: at held-out places it answers "
                f"{best.metrics['test']:.0%} of the seen pairs right."
            )
    return " ".join(words)


def full_width_text(runs: Sequence[StoredRun]) -> str:
    """Run by run at the paper's size: when it learned, what it answers along training and at the end, and place by place."""
    lines = []
    for run in runs:
        when = learned_at(run)
        known = "never learns its training rows" if math.isinf(when) else f"has learned its training rows by step {when:,.0f}"
        best = {
            m: max(
                ((v, s) for v, s in zip(run.history[m], run.history["step"], strict=True) if v is not None), key=itemgetter(0)
            )
            for m in MAPPINGS
        }
        first = max(MAPPINGS, key=lambda m: run.metrics[m])
        near = metrics.nearer(run)[first]
        said = f"- *γ = {run.spec.gamma:g}, seed {run.spec.seed}* {known}. "
        said += f"At the end {run.metrics[first]:.0%} of its answers are {first}"
        if best[first][0] > run.metrics[first] + 0.05:
            said += f", and {best[first][0]:.0%} were at most, at step {best[first][1]:,}"
        if run.metrics[first] < REGION:
            said += f"; {near:.0%} lie nearer to this answer than to the other"
        lines.append(said + ".")
    gammas = {run.spec.gamma for run in runs}
    missing = [g for g in paper_size.GAMMAS if g not in gammas]
    rest = f" Runs at γ = {listed([f'{g:g}' for g in missing])} are not stored yet." if missing else ""
    return "\n".join(lines) + ("\n\n" + rest.strip() if rest else "")


_LAYERS = {2: "two layers", 3: "three layers", 4: "four layers"}


def depth_rows(shallow: Sequence[StoredRun], deeper: Mapping[int, Sequence[StoredRun]]) -> dict[str, list[StoredRun]]:
    """Depth by depth the runs at the γ that all depths have, under their names."""
    every = {2: shallow} | dict(deeper)
    shared = set.intersection(*({run.spec.gamma for run in runs} for runs in every.values()))
    return {_LAYERS[depth]: [run for run in runs if run.spec.gamma in shared] for depth, runs in every.items()}


def depth_text(shallow: Sequence[StoredRun], deeper: Mapping[int, Sequence[StoredRun]]) -> str:
    """Depth by depth whether γ alone turns the answer, and how far its lean is from that of two layers at the same points."""
    said = []
    for depth, runs in deeper.items():
        words = flip_text(sentence(_LAYERS[depth]), runs)
        added, both = metrics.more_layers(shallow, runs), metrics.at_same_points(shallow, runs)
        if len(added) > 1:
            lean_by = f"by {added.mean():+.2f} ({number_of(len(added), 'pair')} of runs"
            if len({run.spec.seed for run in both[1]}) > 1:
                low, high = interval(added[resamples(len(added), 2000)].mean(1))
                verdict = "neither clearly more nor clearly less" if low <= 0 <= high else "more" if low > 0 else "less"
                lean_by = f"{verdict}, {lean_by}, 95 % interval {low:+.2f} to {high:+.2f})"
            else:
                lean_by += " of one seed)"
            mean = {m: [float(np.mean([run.metrics[m] for run in some])) for some in both] for m in MAPPINGS}
            words += (
                f" At the same γ and seed they lean to the inferential answer, against two layers, {lean_by}: the symmetric "
                f"share goes from {mean['symmetric'][0]:.0%} to {mean['symmetric'][1]:.0%}, the inferential one from "
                f"{mean['inferential'][0]:.0%} to {mean['inferential'][1]:.0%}, and the rest of the answers are neither."
            )
        said.append(words)
    return "\n\n".join(said)


def rate_rows(by_rate: Mapping[float, Sequence[StoredRun]]) -> dict[str, list[StoredRun]]:
    """Learning rate by learning rate the runs at the (γ, seed) that all rates have, under their names."""
    shared = metrics.of_all_rates(by_rate)
    return {f"learning rate {rate:g}": [run for run in shared if run.spec.rate == rate] for rate in sorted(by_rate)}


def rate_text(by_rate: Mapping[float, Sequence[StoredRun]]) -> str:
    """Rate by rate whether γ alone turns the answer, and what the paper's selection of the best rate makes of it."""
    said = [flip_text(sentence(name), runs) for name, runs in rate_rows(by_rate).items()]
    found = metrics.selected_ends(metrics.of_all_rates(by_rate))
    ends = listed(
        [
            f"{found.share[m]:.0%} {m} at γ = {found.gamma[m]:g} (ahead there by {found.lead[m]:z.0%} without selection)"
            for m in MAPPINGS
        ]
    )
    return "\n\n".join([*said, f"**The best rate for each answer and seed**, the paper's selection: at most {ends}."])


def step_text(runs: Sequence[StoredRun]) -> str:
    """The distance of nearest neighbours in the embedding that most numbers have, at both ends of γ, and where the paper's
    steps of 3 and 4 are most frequent."""
    words = []
    by_gamma = metrics.steps_by_gamma(runs)
    gammas = list(by_gamma)
    for gamma in dict.fromkeys((gammas[0], gammas[-1])):
        share = by_gamma[gamma]
        most = int(share.argmax())
        far = " or more" if most == len(share) - 1 else ""
        words.append(f"at γ = {gamma:g} the nearest neighbour of {share[most]:.0%} of the numbers lies {most + 1}{far} away")
    both = {gamma: float(share[2:4].sum()) for gamma, share in by_gamma.items()}
    peak = max(both, key=lambda gamma: both[gamma])
    return sentence("; ".join(words)) + (
        f". Steps of 3 and 4 together are most frequent at γ = {peak:g}, with {both[peak]:.0%} of the numbers."
        if both[peak]
        else ". Steps of 3 and 4 do not occur."
    )


def step_line(runs: Sequence[StoredRun]) -> str:
    share = metrics.steps_by_gamma(runs)
    return "share of steps of 3 and 4: " + "; ".join(f"γ = {g:g}: {v[2]:.2f} {v[3]:.2f}" for g, v in share.items())


def teacher_text(runs: Sequence[StoredRun]) -> str:
    """Does composing fail where few pairs teach the answer?"""
    if not runs:
        return "No run with stored weights leans to the inferential answer."
    levels, shares = metrics.teaching(runs)
    mean = shares.mean(0)
    s = spearman(levels.astype(float), mean)
    verdict = (
        "An answer that few seen pairs teach is seldom composed"
        if s > 0.5
        else "How many seen pairs teach an answer does not decide whether it is composed"
    )
    return (
        f"{verdict}: {mean[0]:.0%} of the answers that {number_of(int(levels[0]), 'pair')} "
        f"{'teaches' if levels[0] == 1 else 'teach'} are key − 10, and {mean[-1]:.0%} of those that "
        f"{levels[-1]} pairs teach ({number_of(len(runs))}, of which {len(learned_among(runs))} have learned their training "
        "rows)."
    )


def teacher_line(runs: Sequence[StoredRun]) -> str:
    if not runs:
        return "no run leans to the inferential answer"
    levels, shares = metrics.teaching(runs)
    return "share of key − 10 by teaching pairs: " + ", ".join(
        f"{n}: {v:.2f}" for n, v in zip(levels, shares.mean(0), strict=True)
    )


def generalization_line(right: np.ndarray, held_out: np.ndarray) -> str:
    return f"share right: {right[~held_out].mean():.3f} at trained places, {right[held_out].mean():.3f} at held-out ones"


def generalization_text(runs: Sequence[StoredRun], right: np.ndarray, held_out: np.ndarray) -> str:
    """Of one run what is right at trained and at held-out places, (7, keys); of all, how many learn and do not generalize."""
    learned = learned_among(runs)
    short = sum(run.metrics["test"] < SHADOW for run in learned)
    known, new = right[~held_out].mean(), right[held_out].mean()
    places = [str(p) for p, (row, mask) in enumerate(zip(right, held_out, strict=True)) if row[mask].mean() < SHADOW]
    said = (
        "This run answers its seen pairs as well where the key never trained as where it did."
        if new > known - 0.02
        else "This run knows its pairs wherever the key has trained, and errs where it has not"
        if known >= SHADOW
        else "This run errs more where the key has not trained than where it has"
    )
    if not said.endswith("."):
        said += f", most of all at place{'s' * (len(places) != 1)} {listed(places)}." if places else "."
    if not learned:
        return f"{said} None of {number_of(len(runs))} has learned its training rows."
    return (
        f"{said} Of {number_of(len(learned))} that learned their training rows, {short} "
        f"{'is' if short == 1 else 'are'} below {SHADOW:.0%} at held-out places."
    )


def speed_text(runs: Sequence[StoredRun]) -> str:
    """Do runs that learn fast answer symmetrically? Over all runs: rank correlation, and the fastest third against the rest."""
    steps = np.array([learned_at(run) for run in runs])
    leans = lambda some: np.array([lean(run) for run in some])
    every, (fast, slow) = leans(runs), map(leans, metrics.by_speed(runs))
    never = 1 + max(run.spec.train.steps for run in runs)  # later than all that learn, and at one rank
    s = spearman(np.where(np.isfinite(steps), steps, never), every)
    if s > 0.3:
        verdict = "Runs that learn late or never compose more"
    elif s < -0.3:
        verdict = "Runs that learn late or never compose less"
    else:
        verdict = "When a run learns says little about what it answers"
    words = (
        f"{verdict} (rank correlation {s:+.2f}, never last): of the fastest third {np.mean(fast < 0):.0%} lean to the "
        f"symmetric answer, of the others {np.mean(slow < 0):.0%}."
    )
    done = np.isfinite(steps)
    if done.all() or done.sum() < 3:
        return words
    return (
        f"{words} Among the {done.sum()} of {len(runs)} that learn at all it is {spearman(steps[done], every[done]):+.2f}; of "
        f"those that never learn {np.mean(every[~done] < 0):.0%} lean to the symmetric answer."
    )


def rate_lean_text(runs: Sequence[StoredRun]) -> str:
    """Do runs at higher learning rates, which learn sooner, lean more to the symmetric answer?"""
    rates = sorted({run.spec.rate for run in runs})
    of = lambda rate: [run for run in runs if run.spec.rate == rate]
    leans = ", ".join(f"{np.mean([lean(run) for run in of(rate)]):+.2f} at {rate:g}" for rate in rates)
    _, low, high = found = rank_trend([run.spec.rate for run in runs], [lean(run) for run in runs])
    which = "clearly to neither" if low <= 0 <= high else f"clearly more to the {MAPPINGS[low > 0]}"
    return (
        f"**Runs at higher learning rates lean {which} answer**: on average {leans} (rank correlation {found[0]:+.2f}, 95 % "
        f"interval {low:+.2f} to {high:+.2f}, {number_of(len(runs))})."
    )


def speed_line(runs: Sequence[StoredRun]) -> str:
    late = sum(not np.isfinite(learned_at(run)) for run in runs)
    return f"{len(runs)} runs, of which {late} never learned"


# --- The grid over γ and depth ---


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{v:g}" for v in values)


def _mean_line(values: dict[str, np.ndarray]) -> str:
    return "; ".join(
        f"{name} " + " / ".join(" ".join(f"{v:.2f}" for v in row) for row in rows) for name, rows in values.items()
    )


def selected_line(table: PhaseTable) -> str:
    return "depth by depth, over γ: " + _mean_line({m: table.selected(m)[0] for m in MAPPINGS})


def plain_line(table: PhaseTable) -> str:
    return "depth by depth, over γ: " + _mean_line({m: table.plain(m) for m in (*MAPPINGS, "neither")})


def phase_text(table: PhaseTable) -> str:
    """What the diagram with the paper's selection shows, in words."""
    lines = []
    for mapping, answer in zip(MAPPINGS, ("key − 6", "key − 10"), strict=True):
        accuracy, test = table.selected(mapping)
        inside = (accuracy >= REGION) & (test >= SHADOW)
        where = [
            f"γ = {_numbers(table.gammas[row])} at depth {depth}"
            for depth, row in zip(table.depths, inside, strict=True)
            if row.any()
        ]
        found = "; ".join(where) if where else "nowhere"
        short = [
            f"γ = {table.gammas[g]:g} at depth {table.depths[d]} ({accuracy[d, g]:.1%})"
            for d, g in np.argwhere((accuracy < REGION) & (accuracy >= REGION - 0.005) & (test >= SHADOW))
        ]
        just = f" Just below: {listed(short)}." if short else ""
        lines.append(f"- **{mapping.capitalize()}** ({answer} in at least {REGION:.0%} of the answers): {found}.{just}")
    flips = metrics.flip_depths(table)
    if flips:
        words = "; ".join(f"at depth {d} from γ = {low:g} to γ = {high:g}" for d, low, high in flips)
        lines.append(f"- **γ alone turns one into the other** {words}. Nothing else differs between the two cells.")
    else:
        lines.append("- **At no depth does γ alone turn one region into the other** on this grid.")
    return "\n".join(lines)


def plain_text(table: PhaseTable) -> str:
    """What the diagram without it adds: what the selection hid, and how common the third answer is."""
    lift = float(np.mean([table.selected(m)[0] - table.plain(m) for m in MAPPINGS]))
    both = sum(np.minimum(*(table.selected(m)[0] for m in MAPPINGS)).ravel() > 0.5)
    third = table.plain("neither")
    return (
        f"The selection adds {lift:.0%} of all answers on average, and in {both} of {third.size} cells it credits *both* "
        f"answers with more than half. Without it {third.mean():.0%} of all answers follow neither mapping."
    )


def spread_text(table: PhaseTable) -> str:
    """How far seeds and rates agree on the answer, run by run, and what the rate changes on average."""
    decided = np.maximum(table.symmetric, table.inferential) >= REGION
    lean = table.inferential > table.symmetric
    split = [
        (int(d), float(g))
        for i, d in enumerate(table.depths)
        for j, g in enumerate(table.gammas)
        if (lean & decided)[i, j].any() and (~lean & decided)[i, j].any()
    ]
    means = {m: getattr(table, m).mean((0, 1, 2)) for m in MAPPINGS}
    apart = max(np.ptp(values) for values in means.values())
    return (
        f"{decided.mean():.0%} of the runs are pure: they give one answer at least {REGION:.0%} of the time. In "
        f"{len(split)} of {table.plain('test').size} cells, runs with nothing but seed or learning rate between them settle on "
        f"opposite answers. Between learning rates the mean share of an answer differs by at most {apart:.0%}."
    )


def point_line(runs: Sequence[StoredRun]) -> str:
    means = ", ".join(f"{m} {np.mean([r.metrics[m] for r in runs]):.2f}" for m in ("test", *MAPPINGS))
    return f"mean over {number_of(len(runs))}: {means}"


# --- Settings ---


def full_length_settings(runs: Sequence[StoredRun]) -> list[tuple[str, str]]:
    """The settings of the full-length runs, in the rows of `settings_table`."""
    m, t = runs[0].spec.model, runs[0].spec.train
    data = dict(runs[0].spec.task).get("rows", 0)
    levels = lambda value: sorted({value(run) for run in runs})
    rates, gammas = levels(lambda r: r.spec.rate), levels(lambda r: r.spec.gamma)
    depths, seeds = [], levels(lambda r: r.spec.seed)
    for depth in levels(lambda r: r.spec.model.depth):
        here = [r.spec for r in runs if r.spec.model.depth == depth]
        at, of = ({s.gamma for s in here}, {s.seed for s in here})
        less = [f"{len(at)} of these γ"] * (len(at) < len(gammas)) + [number_of(len(of), "seed")] * (len(of) < len(seeds))
        depths.append(f"{depth} ({', '.join(less)})" if less else f"{depth}")
    return [
        ("γ", ", ".join(f"{g:g}" for g in gammas)),
        ("depth", ", ".join(depths)),
        ("seeds", str(len(seeds))),
        ("peak learning rates", f"{len(rates)}: {', '.join(f'{r:g}' for r in rates)}"),
        ("weight decay", f"{runs[0].spec.decay:g}"),
        ("d_model, d_ff, d_k = d_v", f"{m.d_model}, {m.d_ff}, {m.d_k}"),
        ("batch", str(t.batch)),
        ("training rows", f"{data:,}" if data else "always new"),
        ("schedule", f"warm-up {t.warmup} steps, cosine to {t.steps}"),
    ]


def differences_text(runs: Sequence[StoredRun]) -> str:
    """How far from the paper's training the two-layer runs and the fast settings are: samples, noise, decay of weights."""
    first = runs[0].spec
    paper, fast = GRIDS["paper"], GRIDS["laptop"]
    rows = []
    for name, width, rate, decay, train in (
        ("paper", paper.d_model, 2.5e-4, paper.decay, paper.train),
        ("full-length runs", first.model.d_model, first.rate, first.decay, first.train),
        ("fast diagram, at most", fast.d_model, max(fast.rates), fast.decay, fast.train),
    ):
        samples = train.batch * train.steps / 1e6
        noise = 1e6 * rate / math.sqrt(train.batch)
        rows.append((name, width, f"{samples:.1f}", f"{noise:.1f}", f"{rate * decay * 1e6:.1f}"))
    head = ("", "width", "million samples", "learning rate / √batch, × 10⁻⁶", "learning rate × decay, × 10⁻⁶")
    return table(head, rows)


def translation_table(diagram: PhaseTable, profile: str) -> str:
    """γ of this profile against σ of a d_model-input matrix, and the γ at which the paper's width has the same σ or gain."""
    width, paper = GRIDS[profile].d_model, GRIDS["paper"].d_model
    same_gain = lambda g: gamma_of_gain(gain(g, width), paper)
    rows = [
        (
            f"{g:g}",
            f"{width**-g:.4f}",
            f"{g * math.log(width) / math.log(paper):.2f}",
            f"{gain(g, width):.2f}",
            f"{same_gain(g):.2f}",
        )
        for g in diagram.gammas
    ]
    head = (
        f"γ at width {width}",
        "σ",
        f"γ with the same σ at width {paper}",
        "gain σ√d",
        f"γ with the same gain at width {paper}",
    )
    return table(head, rows)


def _setting(run: StoredRun) -> tuple:
    spec = run.spec
    task = tuple(dict(spec.task).get(name, usual) for name, usual in (("keys", N_KEYS), ("modulus", 7), ("rows", 0)))
    return spec.model.norm, spec.model.d_model, task, spec.train.batch, spec.rate, spec.decay, spec.train.steps


def trials_table(runs: Sequence[StoredRun]) -> str:
    """Every setting that was tried, with what it answered at every γ: mean shares over the seeds that were tried."""
    rows = []
    for setting in sorted({_setting(run) for run in runs}):
        here = [run for run in runs if _setting(run) == setting]
        gammas = sorted({run.spec.gamma for run in here})
        cells = []
        for gamma in gammas:
            means = [float(np.mean([r.metrics[m] for r in _of(here, gamma)])) for m in MAPPINGS]
            cells.append(f"{gamma:g}: {means[0]:.2f} / {means[1]:.2f}")
        norm, width, (keys, modulus, fixed), batch, rate, decay, steps = setting
        other = (
            f"{keys} numbers" if keys != N_KEYS else "",
            f"remainders modulo {modulus}" if modulus != 7 else "",
            f"{fixed:,} rows, again and again" if fixed else "",
        )
        size = ", ".join(filter(None, (str(width), f"{norm}-norm", *other)))
        rows.append((size, batch, f"{rate:.5f}".rstrip("0"), f"{decay:g}", f"{steps:,}", "; ".join(cells)))
    head = ("width", "batch", "learning rate", "decay", "steps", "γ: symmetric / inferential")
    return "The last column has γ by γ the mean shares symmetric / inferential.\n\n" + table(head, rows)


APART = 0.05
"""Two ends of γ lie apart from this separation on (our choice)."""


SEVERAL = 3
"""Runs from which on a separation is more than a trial's."""


def _several(found: Sequence[Setting]) -> list[Setting]:
    return [setting for setting in found if setting.runs_an_end >= SEVERAL]


def missing_text(found: Sequence[Setting], full_length: Sequence[StoredRun], own_size: Sequence[StoredRun] = ()) -> str:
    """The best setting of two layers that was found, and what was not trained, of what the paper has."""
    paper = GRIDS["paper"]
    depth, rates = max(run.spec.model.depth for run in full_length), len({run.spec.rate for run in full_length})
    seeds = min((sum(r.spec.gamma == g for r in own_size) for g in {r.spec.gamma for r in own_size}), default=0)
    missing = []
    if rates < len(paper.rates):
        missing.append(f"the paper's choice of the best of {len(paper.rates)} learning rates (full-length runs have {rates})")
    if seeds < len(paper.seeds):
        missing.append(f"further seeds at the paper's own size (it has {number_of(seeds, 'run')} a γ)")
    trained = {d: len({r.spec.seed for r in full_length if r.spec.model.depth == d}) for d in _LAYERS}
    if few := [_LAYERS[d] for d, n in trained.items() if 0 < n < max(trained.values())]:
        missing.append(f"further seeds of {listed(few)} at full length")
    if depth < max(paper.depths):
        missing.append(f"full-length runs of more than {_LAYERS[depth]}")
    spec = full_length[0].spec
    if (seen := spec.train.batch * spec.train.steps) < (all_ := paper.train.batch * paper.train.steps):
        missing.append(f"its {all_ / 1e6:.0f} million samples (full-length runs draw {seen / 1e6:.1f} million)")
    if not dict(spec.task).get("rows"):
        missing.append("its fixed set of rows, but in trials and at its own size")
    said = f"**Missing** {'is' if len(missing) == 1 else 'are'} {'; '.join(missing)}." if missing else ""
    if not found:
        return said
    several = _several(found) or list(found)
    best, top = (max(some, key=lambda s: s.separation) for some in (several, found))
    level = f" with {SEVERAL} runs or more an end" if _several(found) else ""
    words = (
        "**The separation of a setting** is half of what its mean lean gains from large to small weights; a clean flip has 1 "
        f"(Figure 2.12; ± is a standard error). Of {number_of(len(several), 'setting')} of the paper's block with two layers"
        f"{level} the largest has {_separation(best)}: {_in_full(best)}."
    )
    if level and (level_with := [s for s in several if s is not best and best.separation - s.separation <= best.error]):
        words += f" Within one standard error of it: {'; '.join(f'{_in_full(s)} ({_separation(s)})' for s in level_with)}."
    if top is not best:
        trials = sentence(number_of(len(top.large) + len(top.small), "trial"))
        words += f" {trials} at {_in_full(top)} had {top.separation:z.2f}"
        words_and_decay = lambda s: (setting_words(s.spec), s.spec.decay)
        alike = [s for s in several if words_and_decay(s) == words_and_decay(top)]
        again = next((s for s in alike if set(top.gammas) <= set(s.gammas)), None)
        if again:
            there, same = again.at(top.gammas), listed([f"{gamma:g}" for gamma in top.gammas])
            words += (
                f"; at the same γ ({same}) {len(there.large) + len(there.small)} more runs with new "
                f"seeds and a limit of {again.spec.train.steps:,} steps had {there.separation:z.2f}"
            )
        words += "."
    if own := [setting for setting in found if setting.spec.model.d_model == paper.d_model]:
        words += f" The paper's own size has {own[0].separation:z.2f} with {number_of(own[0].runs_an_end)} an end."
    return f"{words}\n\n{said}".strip()


def _separation(setting: Setting) -> str:
    """`0.36 ± 0.15, 8 runs an end`; without an error where an end has one run."""
    error = "" if math.isnan(setting.error) else f" ± {setting.error:.2f}"
    return f"{setting.separation:z.2f}{error}, {number_of(setting.runs_an_end)} an end"


def _in_full(setting: Setting) -> str:
    """`width 64, batch 1024, learning rate 0.0005, decay 0.1, 12,000 steps`."""
    return f"{setting_words(setting.spec)}, decay {setting.spec.decay:g}, {setting.spec.train.steps:,} steps"


def separation_text(found: Sequence[Setting]) -> str:
    """Does the flip sharpen with width, with quieter training and with more rows? The best setting, and a sentence an axis."""
    best = max(found, key=lambda s: s.separation)
    words = (
        f"{sum(x.separation > APART for x in found)} of {len(found)} settings lean more to the inferential answer at small "
        f"weights than at large ones, by a separation of more than {APART:g}; a clean flip has 1. It is largest, "
        f"{best.separation:z.2f}, at {setting_words(best.spec)}, with {number_of(best.runs_an_end)} an end."
    )
    if most := [x for x in _several(found) if x is not best]:
        first = max(most, key=lambda s: s.separation)
        words += (
            f" Of settings with {SEVERAL} runs or more an end the best has {first.separation:z.2f} (width "
            f"{first.spec.model.d_model}, learning rate {first.spec.rate:g}, {first.spec.train.steps:,} steps)."
        )
    if len(found) < 3:
        return words
    ways: dict[str, list[str]] = {}
    for axis in AXES:
        _, low, high = trend(found, axis)
        ways.setdefault("grows" if low > 0 else "falls" if high < 0 else "shows no clear trend", []).append(f"*{axis}*")
    return words + "".join(f" With {listed(axes)} the separation {says}." for says, axes in ways.items())


def separation_line(found: Sequence[Setting]) -> str:
    return "separations: " + " ".join(f"{s.spec.model.d_model}:{s.separation:z.2f}" for s in found)


# --- Verdicts ---


def verdict(sets: Mapping[str, Sequence[StoredRun]], own_size: Sequence[StoredRun] = ()) -> str:
    """The chapter's verdict: the answer, the ends of the sets that do not turn, and the runs of the paper's size."""
    said = [f"**{answer_text(sets)}**"]
    for name, runs in sets.items():
        if not metrics.turns(runs):
            found = metrics.ends(runs)
            ends = ", ".join(f"{found.mean[m][m]:.0%} {m} at γ = {found.gamma[m]:g}" for m in MAPPINGS)
            said.append(f"In {name} the answers are at most {ends}.{_small_weights(runs)}")
    return "\n\n".join(filter(None, (" ".join(said), size_text(own_size))))


def headline(rows: Mapping[str, Sequence[StoredRun]], own_size: Sequence[StoredRun] = ()) -> str:
    """What the first page says of its picture, row by row, and of the runs at the paper's own size."""
    said = [*(flip_text(sentence(name), runs) for name, runs in rows.items()), size_text(own_size), odd_text(rows)]
    return "\n\n".join(filter(None, said))
