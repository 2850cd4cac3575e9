"""Numbers of the chapter on addition: what each arm knows of the held-out square, and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from lib.core.model.transformer import ModelSpec
from lib.core.read.fact import Fact, in_words, mean, span
from lib.core.read.measures import history
from lib.core.read.statistics import fisher_exact, spearman
from lib.core.record.store import Store, StoredRun, load
from lib.language import arms
from lib.language import number_parts as parts
from lib.language.addition_task import MARKS, Addition
from lib.language.experiments import (
    ADDITION_SEARCH,
    CROSSED,
    GPT2_RATES,
    HIGH_RATE,
    LARGE,
    LARGER,
    LOW_RATE,
    RANDOM,
    SMALL,
    SQUARE,
    adding_specs,
    gpt2_adding_specs,
    gpt2_rates_specs,
    low_rate_specs,
    post_adding_specs,
    post_high_specs,
)

Arm = tuple[str, float, float]
"""Split, γ and weight decay."""
OfArms = Mapping[tuple[float, float], Sequence[StoredRun]]
"""{(γ, weight decay): runs}"""
AtRates = Mapping[tuple[float, float, float], Sequence[StoredRun]]
"""{(learning rate, γ, weight decay): runs}"""
WELL = 0.95
"""The share of right sums in the square from which on we say that a model adds there (our choice)."""


SHOWN = (LARGER, LARGE, SMALL)
"""The arms that figures show, from the largest start on."""


def of_arms(store: Store, profile: str) -> dict[Arm, list[StoredRun]]:
    """Raises LookupError where some are missing."""
    return {arm: load(specs, store) for arm, specs in adding_specs(profile).items()}


def at_low_rate(store: Store, profile: str) -> dict[Arm, list[StoredRun]]:
    """The same arms at the low learning rate; none but for the laptop. Raises LookupError where some are missing."""
    return {arm: load(specs, store) for arm, specs in low_rate_specs(profile).items()}


Setting = tuple[str, float]
"""Form of the model and learning rate."""


def form_of(run: StoredRun) -> str:
    return "post-norm" if cast(ModelSpec, run.spec.model).norm == "post" else "GPT-2"


def by_setting(groups: Iterable[Sequence[StoredRun]]) -> dict[Setting, dict[tuple[float, float], list[StoredRun]]]:
    """{(form, learning rate): {(γ, weight decay): runs}} of the runs with a square held out."""
    found: dict[Setting, dict[tuple[float, float], list[StoredRun]]] = {}
    for run in (run for group in groups for run in group if task_of(run).split == SQUARE):
        arm = run.spec.gamma, run.spec.decay
        found.setdefault((form_of(run), run.spec.rate), {}).setdefault(arm, []).append(run)
    return found


def both_arms(groups: Iterable[Sequence[StoredRun]]) -> list[tuple[Setting, list[StoredRun], list[StoredRun]]]:
    """The large arm and the small one of every setting that has both."""
    return [(at, of[LARGE], of[SMALL]) for at, of in sorted(by_setting(groups).items()) if {LARGE, SMALL} <= set(of)]


def trials(store: Store, profile: str) -> list[StoredRun]:
    """The stored trials. Raises LookupError where some are missing."""
    return load(ADDITION_SEARCH.specs(profile), store)


def in_gpt2_form(store: Store, profile: str) -> dict[tuple[float, float], list[StoredRun]]:
    """{(γ, weight decay): runs of GPT-2's form}; none where the profile has that form anyway. Raises LookupError where some
    are missing."""
    return {arm: load(specs, store) for arm, specs in gpt2_adding_specs(profile).items()}


def at_rates(store: Store, profile: str) -> dict[tuple[float, float, float], list[StoredRun]]:
    """{(learning rate, γ, weight decay): runs of GPT-2's form} at other rates; none for the profile paper. Raises LookupError
    where some are missing."""
    return {kind: load(specs, store) for kind, specs in gpt2_rates_specs(profile).items()}


def at_high_rate(store: Store, profile: str) -> dict[tuple[float, float], list[StoredRun]]:
    """{(γ, weight decay): runs of the profile's own form} at a higher rate, on four of the new seeds; none for the profile
    paper. Raises LookupError where some are missing."""
    return {arm: load(specs, store) for arm, specs in post_high_specs(profile).items()}


def by_rate(groups: Iterable[Sequence[StoredRun]]) -> dict[Setting, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """{(form, learning rate): {arm: (shares of the square (R,), has a run learned? (R,))}} of the paper's two arms, wherever
    both are, the large one first."""
    return {
        at: {f"{name} start": (arms.shares(runs), arms.fitted(runs)) for name, runs in (("large", large), ("small", small))}
        for at, large, small in both_arms(groups)
    }


def on_new_seeds(store: Store, profile: str) -> dict[tuple[float, float], list[StoredRun]]:
    """{(γ, weight decay): runs} of the paper's two arms on new seeds, in single precision; none for the profile paper. Raises
    LookupError where some are missing."""
    return {arm: load(specs, store) for arm, specs in post_adding_specs(profile).items()}


def task_of(run: StoredRun) -> Addition:
    return Addition(**{name: value for name, value in run.spec.task if name != "keep"})


def rings(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R, distances) shares of right sums at the end by the distance of a pair from the edge of the square."""
    return np.array([run.metrics["rings"] for run in runs], dtype=float)


def off(run: StoredRun) -> np.ndarray:
    """(side, side): by how much the run's answer is off, for every pair of the square, a down and b across."""
    side = task_of(run).high - task_of(run).low + 1
    return parts.off(run).reshape(side, side)


def right(runs: Sequence[StoredRun]) -> np.ndarray:
    """(side, side): the share of runs that answer a pair of the square right."""
    return np.mean([off(run) == 0 for run in runs], 0)


def examples(run: StoredRun, count: int = 3) -> dict[str, list[tuple[int, int, int]]]:
    """{right or wrong: (a, b, answer) of some pairs along the diagonal of the square}, from the edge to the middle."""
    task, found = task_of(run), off(run)
    diagonal = [(task.low + i, task.low + i, 2 * (task.low + i) + int(found[i, i])) for i in range((len(found) + 1) // 2)]
    kinds = {"right": [d for d in diagonal if d[2] == d[0] + d[1]], "wrong": [d for d in diagonal if d[2] != d[0] + d[1]]}
    return {
        kind: [group[i] for i in np.unique(np.linspace(0, len(group) - 1, count).astype(int))] if group else []
        for kind, group in kinds.items()
    }


def _along(run: StoredRun, point: Sequence[float]) -> list[float]:
    """The share at the distance of a point of the dials along training; at its end the one that is reported."""
    rings: list[Any] = [*run.history["rings"][:-1], run.metrics["rings"]]
    return [ring[int(point[2])] for ring in rings]


def dial_data(runs: Mapping[Arm, Sequence[StoredRun]]) -> dict[str, Any]:
    """What lib.book.dials needs: shares of right sums by the distance from the edge, along training, by γ and weight decay."""
    crossed = {arm[1:]: group for arm, group in runs.items() if arm[0] == SQUARE and arm[1] in (LARGE[0], SMALL[0])}
    depth = rings(next(iter(crossed.values()))).shape[1]
    groups = {(decay, gamma, d): group for (gamma, decay), group in crossed.items() for d in range(depth)}
    return arms.dial_data(
        groups,
        {"decay": "weight decay", "gamma": "γ", "distance": "distance from the edge"},
        {"right": ("held-out sums", _along)},
        {"label": "share of right sums"} | arms.SHARE,
        f"Distance 0 is the outermost line of the square. {arms.seeds_text(groups, arms.fitted)} Thin: the other γ.",
        x="distance",
        learned=arms.fitted,
        start={"decay": LARGE[1], "gamma": LARGE[0], "distance": depth // 2},
    )


def errors(run: StoredRun) -> Counter[int]:
    """{by how much an answer is off: in how many pairs of the square}, of those that are wrong."""
    found = off(run)
    return Counter(found[found != 0].astype(int).tolist())


def usual_error(run: StoredRun, size: Callable[[int], int] = abs) -> tuple[int, int, int]:
    """The most frequent size of an error, in how many pairs of the square, and how many are wrong; zeros where none is."""
    sizes = Counter(map(size, errors(run).elements()))
    return (*sizes.most_common(1)[0], sizes.total()) if sizes else (0, 0, 0)


FAR = 20
"""Numbers are compared up to this distance."""


def alike(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R, FAR): the mean cosine of the embeddings of two numbers at distances 1, 2, …, about the mean of all numbers, of runs
    that keep their weights."""
    found = []
    for run in runs:
        numbers = run.weights()["embedding.token"].double().numpy()[len(MARKS) :][: task_of(run).numbers]
        apart = numbers - numbers.mean(0)
        apart /= np.linalg.norm(apart, axis=1, keepdims=True)
        found.append([float((apart[d:] * apart[:-d]).sum(1).mean()) for d in range(1, min(FAR, len(apart) - 1) + 1)])
    return np.array(found)


def kept(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Those that keep their weights."""
    return [run for run in runs if run.has_weights]


def _most_alike_at(runs: Sequence[StoredRun]) -> list[int]:
    return [int(line.argmax()) + 1 for line in alike(runs)]


def most_alike(runs: Sequence[StoredRun]) -> list[tuple[StoredRun, int]]:
    """Of runs that keep their weights: each, and the distance at which its numbers are most alike."""
    return list(zip(kept(runs), _most_alike_at(kept(runs)), strict=True))


def neighbourly(found: Sequence[tuple[StoredRun, int]]) -> tuple[int, int]:
    """In how many runs, of how many, no numbers are more alike than neighbours. found: what `most_alike` says."""
    return sum(distance == 1 for _, distance in found), len(found)


def misses_far(run: StoredRun) -> bool:
    """Does a run that has learned something of the square, but does not add there, miss most often by more than one?"""
    return 1 - WELL <= run.metrics["test"] < WELL and usual_error(run)[0] > 1


def alike_where_they_miss(runs: Sequence[StoredRun]) -> tuple[int, float, float]:
    """In how many of these runs, which keep their weights, the numbers are most alike at the distance of the most frequent
    error, or one off; in which share of all ways to give the errors to the runs there are as many; and the least share that
    could be."""
    if len(runs) < 2:  # no other way
        return 0, 1.0, 1.0
    from scipy.stats import permutation_test  # takes a second to import, which those who ask for the status need not wait for

    error = np.array([usual_error(run)[0] for run in runs])
    hits = abs(error[:, None] - _most_alike_at(runs)) <= 1
    count = lambda order, axis=0: hits[order.astype(int), np.arange(len(runs))].sum(axis)
    test = permutation_test((np.arange(len(runs)),), count, permutation_type="pairings", alternative="greater", rng=0)
    return int(hits.trace()), float(test.pvalue), float(np.mean(test.null_distribution == test.null_distribution.max()))


def adds(runs: Sequence[StoredRun]) -> tuple[int, int]:
    """In how many runs, of how many, WELL of the held-out sums are right."""
    return int((arms.shares(runs) >= WELL).sum()), len(runs)


def adding_more(runs: Sequence[StoredRun], others: Sequence[StoredRun]) -> tuple[float, float, float]:
    """Fisher's exact test of whether more runs add than of the others: p, p of the opposite, and the least p that could be
    where so many add in all. Shares lie near 1 or far below, so their mean and its interval say little."""
    (a, n), (b, m) = adds(runs), adds(others)
    best = min(n, a + b)
    table = lambda a, b: [[a, n - a], [b, m - b]]
    test = lambda table, side: round(fisher_exact(table, side), 12)  # 1/20 comes out above .05
    return test(table(a, b), "greater"), test(table(a, b), "less"), test(table(best, a + b - best), "greater")


def _mean(runs: Sequence[StoredRun]) -> float | None:
    return mean(arms.shares(runs))


def facts(
    runs: Mapping[Arm, Sequence[StoredRun]],
    low_rate: Mapping[Arm, Sequence[StoredRun]],
    gpt2: Mapping[tuple[float, float], Sequence[StoredRun]],
    new: Mapping[tuple[float, float], Sequence[StoredRun]],
) -> dict[str, Fact]:
    """What the text of chapter 19 says: of every arm, of these at the low learning rate, of GPT-2's form, and of new seeds."""
    task = task_of(runs[RANDOM, *LARGER][0])
    found = {
        "held-out": Fact(len(task.test), "{:,}", "pairs in the square, counted from the task"),
        "trained": Fact(len(task.train), "{:,}", "pairs outside of it, counted from the task"),
        "well": Fact(WELL, "{:.0%}", "our choice"),
        "random": Fact(_mean(runs[RANDOM, *LARGER]), "{:.0%}", f"of pairs held out at random right, {arms.name_of(LARGER)}"),
        "decay-product": arms.decay_product(runs[SQUARE, *SMALL][0]),
    }
    for name, arm in (("larger", LARGER), ("large", LARGE), ("small", SMALL)):
        rests = f"runs of γ = {arm[0]:g}, decay {arm[1]:g} with {WELL:.0%} of the square right"
        found[name] = Fact(adds(runs[SQUARE, *arm]), "{} of {}", rests)
        group = low_rate.get((SQUARE, *arm), ())
        if arm != LARGER:
            found[f"low-{name}"] = Fact(adds(group) if group else None, "{} of {}", f"{rests}, at 3e-4")
    p = adding_more(runs[SQUARE, *SMALL], runs[SQUARE, *LARGE])[0]
    found["fisher"] = Fact(p, "{:.2f}", "Fisher's one-sided exact test of the runs that add, small arm against large, p")
    failing = [run for run in runs[SQUARE, *LARGE] if adds([run])[0] == 0]
    for i, name in enumerate(("one", "other")):
        missed = usual_error(failing[i], int) if i < len(failing) else (None, None, None)
        rests = "the most frequent error of a run of the large arm that does not add"
        found[f"errors-{name}"] = Fact(missed, "{:+.0f} in {} of {}", rests)
    shares = arms.shares(runs[SQUARE, *LARGE])
    edge, middle = rings(runs[SQUARE, *LARGE]).mean(0)[[0, -1]]
    slow = low_rate.get((SQUARE, *LARGER), ())
    late = (int((arms.shares(slow, "train") < arms.FITTED).sum()), len(slow)) if slow else None
    found |= {
        "large-range": Fact(span(shares), "{:.0%} to {:.0%}", "least and largest share of the large arm"),
        "edge": Fact(float(edge), "{:.0%}", "right on the outermost line of the square, mean of the large arm"),
        "middle": Fact(float(middle), "{:.0%}", "right in the middle of the square, mean of the large arm"),
        "low-unlearned": Fact(late, "{} of {}", "runs of the larger start at 3e-4 below 99 % of training"),
    }
    for name, arm in (("crossed-decay", CROSSED[0]), ("crossed-start", CROSSED[1])):
        rests = f"of the square right, mean over seeds, {arms.name_of(arm)}"
        found[name] = Fact(_mean(runs[SQUARE, *arm]), "{:.0%}", rests)
    together = {arm: [*runs[SQUARE, *arm], *new.get(arm, ())] for arm in (SMALL, LARGE)}
    rests = "first and new seeds together, in bfloat16 and in single precision, counted afterwards"
    for name, arm in (("small", SMALL), ("large", LARGE)):
        count = adds(together[arm]) if new else None
        found[f"all-{name}"] = Fact(count, "{} of {}", f"runs that add, {arms.name_of(arm)}, {rests}")
    p = adding_more(together[SMALL], together[LARGE])[0] if new else None
    found["all-fisher"] = Fact(p, "{:.2g}", f"Fisher's one-sided exact test of these: {rests}")
    return found | _gpt2_facts(gpt2) | new_facts(new)


DIAL_SEEDS = (5, 6, 9, 10)
"""The runs of the large arm that no one had looked at when it was asked what cuts of their numbers do."""
SLOW_SEEDS = (5, 6, 7, 8, 9, 10)
"""The runs of the small arm that had not begun when it was asked whether they add by the slow part of their numbers."""


def of_seeds(runs: Sequence[StoredRun], seeds: Collection[int]) -> list[StoredRun]:
    return [run for run in runs if run.spec.seed in seeds]


def asked_for_slow(groups: Mapping[tuple[float, float], Sequence[StoredRun]]) -> dict[tuple[float, float], list[StoredRun]]:
    """The runs of the paper's two arms on the seeds SLOW_SEEDS."""
    return {arm: of_seeds(groups.get(arm, ()), SLOW_SEEDS) for arm in (LARGE, SMALL)}


def by_slow_part(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R,): the share of the square that is right where numbers have nothing but their slow part."""
    return np.array([parts.right(run, parts.FAST) for run in runs])


def new_facts(groups: Mapping[tuple[float, float], Sequence[StoredRun]]) -> dict[str, Fact]:
    """Of the paper's two arms on new seeds: how many add, and what they answer without a part of their numbers."""
    found = {}
    for name, arm in (("large", LARGE), ("small", SMALL)):
        runs = groups.get(arm, ())
        rests = f"{arms.name_of(arm)}, new seeds, single precision"
        for part in (parts.RULER, parts.DIAL):
            shares = span(parts.right(run, part) for run in kept(runs))
            found[f"new-{name}-{part}"] = Fact(shares, "{:.0%} to {:.0%}", f"of the square right with the {part} cut, {rests}")
    large, small = (kept(groups.get(arm, ())) for arm in (LARGE, SMALL))
    dials, waves = span(map(parts.period, large)), max(map(parts.period, small), default=None)
    costs = span(parts.right(run) - parts.right(run, parts.OTHER) for run in large)
    anywhere = span(parts.whole_turns(run, parts.RULER) for run in small)
    add = lambda group: (in_words(adds(group)[0]), in_words(len(group))) if group else None
    found |= {
        "new-large": Fact(add(large), "{} of {}", f"runs that add, {arms.name_of(LARGE)}, new seeds, single precision"),
        "new-small": Fact(add(small), "{} of {}", f"runs that add, {arms.name_of(SMALL)}, new seeds, single precision"),
        "new-fisher": Fact(
            adding_more(small, large)[0] if small else None,
            "{:.2f}",
            "Fisher's one-sided exact test of the runs that add, small arm against large, new seeds, p",
        ),
        "dials": Fact(dials, "{:.1f} to {:.1f}", "numbers after which the dial comes back, large arm, new seeds"),
        "other-cut": Fact(costs, "{:.0%} to {:.0%}", "of the square lost with other frequencies cut, large arm, new seeds"),
        "small-wave": Fact(
            waves, "{:.0f}", f"numbers, the strongest period of small starts, of up to {parts.LONGEST}, new seeds"
        ),
        "small-turns": Fact(
            anywhere, "{:.2f} to {:.2f}", "how much errors are whole turns of that period, ruler cut, small arm"
        ),
    }
    slow = {arm: by_slow_part(kept(runs)) for arm, runs in asked_for_slow(groups).items()}
    for name, arm in (("large", LARGE), ("small", SMALL)):
        rests = f"of the square right by the slow part of numbers alone, {arms.name_of(arm)}, the seeds that were judged"
        found[f"slow-{name}"] = Fact(span(slow[arm]), "{:.0%} to {:.0%}", rests)
    p = arms.by_ranks(slow[SMALL], slow[LARGE]).p if all(map(len, slow.values())) else None
    found["slow-ranks"] = Fact(
        p, "{:.2g}", "more of the square right so from the small start, exact one-sided rank test of runs"
    )
    judged = len(slow[SMALL])
    found["slow-asked"] = Fact(in_words(judged) if judged else None, "{}", "small starts that were judged")
    still = (in_words(int((slow[SMALL] >= WELL).sum())), in_words(judged)) if judged else None
    found["slow-add"] = Fact(still, "{} of {}", "small starts that were judged and add by the slow part of numbers alone")
    failing = [run for run in large if not adds([run])[0]]
    asked = of_seeds(large, DIAL_SEEDS)
    turns, rests = "{:.2f} to {:.2f}", "how much errors are whole turns of a run's own dial, large arm"
    for part in (parts.RULER, parts.DIAL):
        value = span(parts.whole_turns(run, part) for run in asked)
        found[f"asked-{part}"] = Fact(value, turns, f"{rests}, the four runs that were judged, the {part} cut")
        sizes = span(parts.turns_missed(run, part) for run in large)
        of = f"median size of errors, in turns of a run's own dial, large arm, new seeds, the {part} cut"
        found[f"turns-{part}"] = Fact(sizes, "{:.1f} to {:.1f}", of)
    less = sum(parts.turns_missed(run, parts.DIAL) < parts.turns_missed(run, parts.RULER) for run in large)
    of = "runs of the large arm on new seeds whose median error is smaller without the dial than without the ruler"
    found["turns-less"] = Fact((less, len(large)) if large else None, "{} of {}", of)
    found["failing-turns"] = Fact(span(map(parts.whole_turns, failing)), turns, f"{rests}, nothing cut")
    found["failing-range"] = Fact(
        span(arms.shares(failing)),
        "{:.0%} to {:.0%}",
        "of the square right, runs of the large arm on new seeds that do not add",
    )
    return found


def _gpt2_facts(groups: Mapping[tuple[float, float], Sequence[StoredRun]]) -> dict[str, Fact]:
    """Of the paper's two arms in GPT-2's form, and of those that differ from the large one in decay or in start alone."""
    arm = {"large": LARGE, "small": SMALL, "decays": CROSSED[0], "starts": CROSSED[1]}
    runs = {name: groups.get(key, ()) for name, key in arm.items()}
    there = {name: f"{arms.name_of(arm[name])}, in GPT-2's form at {LOW_RATE:g}" for name in arm}
    less = "of the square right than from the large start, exact one-sided rank test"
    found = {}
    for name, group in runs.items():
        found[f"gpt2-{name}-range"] = Fact(span(arms.shares(group)), "{:.1%} to {:.1%}", f"of the square right, {there[name]}")
    for name in ("large", "starts", "decays"):
        found[f"gpt2-{name}-train"] = Fact(
            span(arms.shares(runs[name], "train")), "{:.1%} to {:.1%}", f"of training right, {there[name]}"
        )
    for name in ("large", "small"):
        count = adds(runs[name]) if runs[name] else None
        found[f"gpt2-{name}"] = Fact(count, "{} of {}", f"runs that add, {there[name]}")
    p = adding_more(runs["large"], runs["small"])[0] if all(runs.values()) else None
    found["gpt2-fisher"] = Fact(
        p, "{:.2f}", "Fisher's one-sided exact test of runs that add, large arm against small, GPT-2's form"
    )
    for name in ("starts", "decays"):
        p = arms.by_ranks(arms.shares(runs["large"]), arms.shares(runs[name])).p if all(runs.values()) else None
        found[f"gpt2-{name}-ranks"] = Fact(p, "{:.2g}", f"less {less}, p, {there[name]}")
    for size, name in (("small", "starts"), ("large", "decays")):
        looks = most_alike(runs[name])
        rests = f"runs that keep their weights in which no numbers are more alike than neighbours, {there[name]}"
        found[f"gpt2-{name}-alike"] = Fact(neighbourly(looks) if looks else None, "{} of {}", rests)
        rests = f"the first run whose numbers are most alike {{}}, {there[name]}"
        dial, far = next(((run, far) for run, far in looks if far > 1), (None, None))
        ruler = [run for run, far in looks if far == 1][:1]
        missed = usual_error(dial) if dial else (None, None, None)
        on_dial, on_ruler = rests.format("some steps apart"), rests.format("one step apart")
        found |= {
            f"{size}-dial-misses": Fact(missed, "±{} in {} of {}", f"the most frequent size of an error, {on_dial}"),
            f"{size}-dial-far": Fact(far, "{}", f"distance of the numbers most alike, {on_dial}"),
            f"{size}-ruler-right": Fact(_mean(ruler), "{:.1%}", f"of the square right, {on_ruler}"),
        }
    return found


def of_papers(groups: OfArms) -> list[Sequence[StoredRun]]:
    """The paper's two arms, the large one first."""
    return [groups[arm] for arm in (LARGE, SMALL) if arm in groups]


def when_half_is_known(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R,): the share of the square that is right where a run first knows half of its pairs of training; NaN where never."""
    train, test = (history(runs, name)[1] for name in ("train", "test"))
    first = (train >= 0.5).argmax(1)
    return np.where((train >= 0.5).any(1), test[np.arange(len(runs)), first], np.nan)


def facts_on_rates(usual: OfArms, gpt2: AtRates, post: OfArms) -> dict[str, Fact]:
    """Of the paper's two arms in GPT-2's form at a higher learning rate and at a lower one, beside the `usual` one, and in the
    post-norm form at a higher one. Absent without runs."""
    asked = [("post-high", f"post-norm, learning rate {HIGH_RATE:g}", post, "more")]
    for rate, where in zip(GPT2_RATES, ("high", "low"), strict=True):
        of = {(gamma, decay): runs for (at, gamma, decay), runs in gpt2.items() if at == rate}
        asked.append((f"rate-{where}", f"GPT-2's form, learning rate {rate:g}", of, "less"))
    found = {}
    for name, form, runs, which in asked:
        both = [runs.get(arm, ()) for arm in (LARGE, SMALL)]
        for arm, group in zip(("large", "small"), both, strict=True):
            rests = f"runs that add, the {arm} arm, {form}"
            found[f"{name}-{arm}"] = Fact(adds(group) if group else None, "{} of {}", rests)
        more, other = map(arms.shares, both if which == "less" else reversed(both))
        rests = f"{which} of the square right from the small arm than from the large one, exact one-sided rank test, p, {form}"
        found[f"{name}-ranks"] = Fact(arms.by_ranks(more, other).p if all(both) else None, "{:.2g}", rests)
    every = [run for of in (usual, gpt2) for group in of.values() for run in group]
    rests = "rank correlation, over runs of GPT-2's form, of the square right when half of the pairs are known and at the end"
    then = when_half_is_known(every) if every else np.array([])
    there = np.isfinite(then)
    same = spearman(then[there], arms.shares(every)[there]) if there.any() else None
    found["early"] = Fact(same, "{:.2f}", rests)
    found["early-runs"] = Fact(
        int(there.sum()) or None, "{}", "runs of GPT-2's form that know half of their pairs, at all rates"
    )
    return found


# --- Rows of tables ---

ARM_HEAD = ("held out", "γ", "weight decay", "% of training right", "% of held-out pairs right")
SETTING_HEAD = (
    *("form", "learning rate", "runs"),
    *(f"{arm}, % of {of}" for arm in ("large", "small") for of in ("training", "square")),
)


def arm_rows(runs: Mapping[Arm, Sequence[StoredRun]]) -> list[tuple[str, ...]]:
    """Every arm: percent of pairs of training and of held-out pairs right at the end."""
    return [
        (split, f"{gamma:g}", f"{decay:g}", *arms.percents(group, arms.shares(group)))
        for (split, gamma, decay), group in runs.items()
    ]


def setting_rows(shown: Mapping[str, Iterable[Sequence[StoredRun]]]) -> list[tuple[str, ...]]:
    """By form and learning rate: the paper's two arms. shown: {what they are: groups of runs}."""
    rows = []
    for what, groups in shown.items():
        for (form, rate), *pair in both_arms(groups):
            seeds = ", ".join(map(str, sorted({run.spec.seed for run in pair[0]})))
            shares = [arms.percents(group, arms.shares(group)) for group in pair]
            rows.append((form, f"{rate:g}", f"{what}, seeds {seeds}", *shares[0], *shares[1]))
    return rows


ERROR_HEAD = ("form", "learning rate", "γ", "weight decay", "seed", "% of the square right", "off by (pairs)")


def error_rows(groups: Iterable[Sequence[StoredRun]]) -> list[tuple[str, ...]]:
    """By how much those runs miss that have learned something of the square and do not add there."""
    some = [run for group in groups for run in group if task_of(run).split == SQUARE]
    rows = []
    for run in (run for run in some if 1 - WELL <= run.metrics["test"] < WELL):
        often = ", ".join(f"{step:+d} ({count:,})" for step, count in errors(run).most_common(4))
        s = run.spec
        about = form_of(run), f"{s.rate:g}", f"{s.gamma:g}", f"{s.decay:g}", str(s.seed)
        rows.append((*about, f"{100 * run.metrics['test']:.1f}", often))
    return rows


def example_rows(runs: Mapping[Arm, Sequence[StoredRun]], seed: int) -> list[tuple[str, ...]]:
    """Some sums of one seed of each arm that is shown, right and wrong; of the first where there is no such seed."""
    rows = []
    for arm in SHOWN:
        run = arms.of_seed(runs[SQUARE, *arm], seed)
        for kind, found in examples(run).items():
            words = ", ".join(f"{a} + {b} → {answer}" for a, b, answer in found) or "none"
            rows.append((f"{arms.name_of(arm)}, seed {run.spec.seed}", kind, words))
    return rows
