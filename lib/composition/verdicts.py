"""The verdicts that close chapters 3 to 8, computed from the runs that the chapters show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lib.composition.comparisons import Trend, number_of, sentence, trend_words
from lib.composition.condensation.prose import Auc, contest, scores
from lib.composition.information_flow.numbers import EDGES
from lib.composition.information_flow.prose import EFFECT, composes_in_order, drops, listed, off_route
from lib.composition.phase_diagram import numbers as answers
from lib.composition.phases import Phase
from lib.composition.rate_decay_data.claims import BY_DECAY, BY_GAMMA, BY_RATE, curves, harder, slope
from lib.composition.runs import MAPPINGS, learned_among
from lib.composition.vectors.claims import at_anchor, last_token, last_token_centred, of_depth
from lib.composition.width.numbers import by_shape
from lib.core.measures import spearman
from lib.core.store import StoredRun

# --- Chapter 3: routes ---


def routes(phases: Sequence[Phase]) -> str:
    """Do models read as the paper draws them, by what cuts cost?"""
    found = {(p.mapping, p.depth): p for p in phases if p.genuine}
    parts = []
    symmetric, inferential = found.get(("symmetric", 2)), found.get(("inferential", 2))
    if symmetric is not None:
        mean, names = drops(symmetric).mean(0), list(EDGES)
        costs = mean[0, names.index("anchors → last")], mean[1, names.index("key → last")]
        parts.append(
            f"**Symmetric models of two layers {'read' if min(costs) >= EFFECT else 'do not read'} as the paper draws them**: "
            f"when cut, the two steps of that route cost {costs[0]:.2f} and {costs[1]:.2f} of the answers "
            f"({number_of(len(symmetric.runs))})."
        )
    if inferential is not None:
        off = off_route(inferential)
        words = listed([f"{name} in layer {layer} ({cost:.2f})" for (layer, name), cost in off.items()]) if off else ""
        parts.append(
            f"**Inferential ones {'use more than' if off else 'use no more than'} the paper's route**"
            + (f": they also need {words}" if off else "")
            + f" ({number_of(len(inferential.runs))})."
        )
    deep = [run for (mapping, depth), p in found.items() if mapping == "inferential" and depth > 2 for run in drops(p)]
    if deep:
        right = sum(map(composes_in_order, deep))
        parts.append(
            f"In {right} of {number_of(len(deep), 'inferential run')} of three layers and more, the key reaches the anchors "
            "first and the anchors the last token in a later layer."
        )
    return " ".join(parts) or "No run is decided enough for a verdict."


# --- Chapter 4: vectors ---


def _larger(measure: Callable[[StoredRun], float], inferential: Sequence[StoredRun], symmetric: Sequence[StoredRun]) -> bool:
    """Is the mean of the inferential runs larger by two standard errors?"""
    i, s = (np.array([measure(r) for r in runs]) for runs in (inferential, symmetric))
    error = float(np.hypot(i.std(ddof=1) / len(i) ** 0.5, s.std(ddof=1) / len(s) ** 0.5))
    return bool(i.mean() - s.mean() > 2 * error)


def likeness(runs: Mapping[str, Sequence[StoredRun]]) -> str:
    """Do equal numbers look alike inside inferential models more than inside symmetric ones? runs: {mapping: runs}."""
    where = {
        "at the last token": lambda r: float(last_token(r)[-1]),
        "at the last token, centred": lambda r: float(last_token_centred(r)[-1]),
        "at the first anchor, centred": lambda r: float(at_anchor(r)[-2]),
    }
    clear, asked, few = [], 0, []
    for depth in sorted({r.spec.model.depth for group in runs.values() for r in group}):
        inferential, symmetric = (of_depth(runs.get(m, []), depth) for m in ("inferential", "symmetric"))
        if min(len(inferential), len(symmetric)) < 2:
            few.append(f"depth {depth} has {number_of(len(inferential), 'inferential run')} and {len(symmetric)} symmetric")
            continue
        asked += len(where)
        clear += [f"{name}, depth {depth}" for name, measure in where.items() if _larger(measure, inferential, symmetric)]
    verdict = (
        "Equal numbers look more alike in inferential models"
        if asked and len(clear) == asked
        else "Equal numbers look more alike in inferential models by some measures only"
        if clear
        else "Equal numbers do not look clearly more alike in inferential models"
    )
    return (
        f"**{verdict}**: the contrast is larger by two standard errors in {len(clear)} of {asked} comparisons within a depth"
        + (f" ({'; '.join(clear)})." if clear else ".")
        + (f" Too few to compare: {'; '.join(few)}." if few else "")
    )


# --- Chapter 5: panels and complexity ---


def simplicity(runs: Sequence[StoredRun], found: Mapping[str, Auc]) -> str:
    """Does small initialization make weights simple, and do simple weights foretell the answer? found: aucs(runs)."""
    by = scores(runs)
    names = ("mean stable rank", "condensation of W_Q(1)")
    with_gamma = [spearman(by["γ"], by[name]) for name in names]
    simple = with_gamma[0] < -0.5 and with_gamma[1] > 0.5
    said = (
        f"**The smaller the initialization, the simpler the weights{'' if simple else ': not so here'}**: rank correlations of "
        "γ with "
        + listed([f"{name} {value:+.2f}" for name, value in zip(names, with_gamma, strict=True)])
        + f" over {number_of(len(runs))}. "
    )
    if not found:
        return said + "Whether simple weights mean a composed answer cannot be asked of these runs."
    _, informs, better, clear = contest(dict(found))
    if not informs:
        return said + "**But simple weights do not foretell a composed answer**: no measure tells the two answers apart."
    if not better:
        return said + "**Simple weights foretell the answer no better than γ itself.**"
    return said + f"**Simple weights foretell the answer {'better' if clear else 'somewhat better'} than γ itself.**"


# --- Chapter 6: learning rate, decay, data ---


def _direction(trend: Trend) -> str:
    return "rises" if trend[1] > 0 else "falls" if trend[2] < 0 else "shows no trend"


def what_else_decides(optimization: Sequence[StoredRun], decay: Sequence[StoredRun], steps: Mapping[float, np.ndarray]) -> str:
    """Learning rate and decay where nothing hints at symmetry, decay and γ where something does, and complexity of data."""
    of = lambda runs, value: slope(learned_among(runs) or list(runs), value, "inferential")
    words = lambda name, t: f"{_direction(t)} with {name} ({trend_words(t)})"
    rate, plain = of(optimization, BY_RATE), of(optimization, BY_DECAY)
    with_exception, with_gamma = of(decay, BY_DECAY), of(decay, BY_GAMMA)
    harder_data = {gamma: harder(values) for gamma, values in sorted(steps.items())}
    longer = all(value > 0 for value in harder_data.values())
    return (
        f"**Where nothing hints at symmetry, the share of inferential answers {words('the learning rate', rate)} and "
        f"{words('weight decay', plain)}.** Where (3, 4) is taught as an exception, and with two layers, it "
        f"{words('decay', with_exception)} and {words('γ', with_gamma)}. Data that break with composition "
        f"{'take longer to learn' if longer else 'do not take longer to learn at every γ'}: rank correlation "
        + ", ".join(f"{value:+.2f} at γ = {gamma:g}" for gamma, value in harder_data.items())
        + "."
    )


# --- Chapter 7: width ---


def boundary(flips: Sequence[StoredRun], widths: Sequence[StoredRun], better: Mapping[str, Trend]) -> str:
    """Does γ alone change the answer, and what does the boundary depend on? better: advantage of each variable over γ."""
    shares = curves(flips)
    gammas = shares["test"][0]
    at = {m: int(shares[m][1].mean(1).argmax()) for m in MAPPINGS}
    largest = {m: float(shares[m][1].mean(1)[at[m]]) for m in MAPPINGS}
    kinds = {m: [answers.kind(r) for r in flips if r.spec.gamma == gammas[at[m]]] for m in MAPPINGS}
    ordered = gammas[at["symmetric"]] < gammas[at["inferential"]]
    turned = ordered and all(group.count(m) > len(group) / 2 for m, group in kinds.items())
    said = (
        f"**At two layers γ alone {'turns' if turned else 'does not turn'} the kind of answer from symmetric to inferential.** "
        + " ".join(
            f"At γ = {gammas[at[m]]:g}, where the {m} answer is most frequent, {kinds[m].count(m)} of "
            f"{number_of(len(kinds[m]))} lie nearer to it than to the other, and {largest[m]:.0%} of the answers are "
            "exactly it."
            for m in MAPPINGS
        )
        + " "
    )
    best = [name for name, (_, low, _) in better.items() if low > 1]
    return said + (
        f"**The boundary goes with {listed(best)} rather than γ.**"
        if best
        else f"What the boundary depends on stays open: over {number_of(len(by_shape(widths)), 'shape')} of model no variable "
        "does better than γ."
    )


# --- Chapter 8: GPT-2 ---


def architectures(by_norm: Mapping[str, Sequence[StoredRun]]) -> str:
    """For each norm: do means over seeds turn from symmetric to inferential as γ grows?"""
    turned, words = {}, []
    for title, group in by_norm.items():
        shares = curves(group)
        at = {m: int(shares[m][1].mean(1).argmax()) for m in MAPPINGS}
        value = {m: float(shares[m][1].mean(1)[at[m]]) for m in MAPPINGS}
        turned[title] = at["symmetric"] < at["inferential"] and min(value.values()) > 0.5
        where = ", ".join(f"{m} at most {value[m]:.2f} (γ = {shares[m][0][at[m]]:g})" for m in MAPPINGS)
        words.append(f"{title}: {where}")
    do, do_not = (listed([title for title, t in turned.items() if t is answer] or ["none"]) for answer in (True, False))
    said = f"{do} turns from symmetric to inferential as γ grows, {do_not} does not"
    if len(set(turned.values())) == 1:
        said = f"{'every' if all(turned.values()) else 'no'} norm turns from symmetric to inferential as γ grows"
    model = next(iter(by_norm.values()))[0].spec.model
    return (
        f"**{sentence(said)}.** Means over seeds: {'; '.join(words)}. The paper's figure is post-norm. Ours has "
        f"{number_of(model.depth, 'layer')} of width {model.d_model}."
    )
