"""Numbers of chapter 9: curves along training, ratios over γ and their trend, and what variants of the table do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from lib.core.read.fact import Fact, in_words, mean, span
from lib.core.read.statistics import Trend, rank_trend
from lib.core.record.store import Store, StoredRun, load
from lib.reasoning_bias.experiments import (
    LARGE,
    MIDDLE,
    SETTINGS,
    SMALL,
    TABLES,
    ablation_specs,
    bias_specs,
    long_specs,
    many_rows_specs,
    more_specs,
    rows_specs,
)
from lib.reasoning_bias.ratios import (
    Ratio,
    half,
    halving,
    middle,
    ratios,
    ratios_by_gamma,
    reaching,
    right_at,
    slowdown,
    slowdown_to,
)
from lib.reasoning_bias.runs import EARLY_EMB, at, best, by_gamma, epoch, histories, snapshot_near
from lib.reasoning_bias.study import SETS
from lib.reasoning_bias.task import GROUP_LABELS, HELD_OUT, MEMORY, REASONING, memory_group

LEARNED = 0.9
"""A run has learned its rows of reasoning when it has this share of them right at the end; before that, what it does with
held-out pairs is no evidence of what it makes of its rows (our choice, with the runs at hand)."""


def of_table(store: Store, profile: str, memory: str) -> list[StoredRun]:
    return [r for r in load(TABLES.specs(profile), store) if dict(r.spec.task)["memory"] == memory]


def many_rows(store: Store, profile: str, gamma: float | None = None) -> list[StoredRun]:
    """The main runs on MANY times as many rows. Raises LookupError where there is none at a γ."""
    runs = load(many_rows_specs(profile), store)
    return runs if gamma is None else at(runs, gamma)


def without_norms(store: Store, profile: str, gamma: float | None = None) -> list[StoredRun]:
    """The main runs without norms, at the paper's γ. Raises LookupError where there is none at a γ."""
    runs = load(long_specs(profile)["no norms"], store)
    return runs if gamma is None else at(runs, gamma)


def small_runs(store: Store, profile: str) -> list[StoredRun]:
    """All main runs at the paper's small initialization, the further seeds too."""
    return [*at(load(bias_specs(profile), store), SMALL), *load(more_specs(profile), store)]


def by_length(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    """{length of training: runs on the main training set at the paper's large and small initialization}, shortest first."""
    s = SETTINGS[profile]
    groups = [
        load(rows_specs(profile)[f"{s.rows:,} rows"], store),
        load(ablation_specs(profile)["as it is"], store),
        [run for gamma in (LARGE, SMALL) for run in at(load(bias_specs(profile), store), gamma)],
    ]
    names = ("shortest", "shorter", "main runs")
    return {f"{name}, {runs[0].spec.train.steps:,} steps": runs for name, runs in zip(names, groups, strict=True)}


def of_sizes(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    return {name: load(specs, store) for name, specs in rows_specs(profile).items()}


def each_once(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Without those that are there twice, as the main runs at SMALL are among the further seeds."""
    return list({run.path: run for run in runs}.values())


def trend(runs: Sequence[StoredRun]) -> Trend:
    """Rank correlation of γ with the ratio memory over reasoning, and its 95 % interval by resampling runs.

    Raises LookupError where fewer than two runs have a ratio.
    """
    pairs = np.array([(r.spec.gamma, s.value) for r in runs if (s := slowdown(r)) is not None])
    if len(pairs) < 2:
        raise LookupError("the reasoning loss halves in fewer than two stored runs")
    return rank_trend(*pairs.T)


def curves(panels: Mapping[str, Sequence[StoredRun]]) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """{title: {metric: epochs (n,) and values (runs, n)}} of the share of right answers and the loss of every set."""
    metrics = [metric for name in SETS for metric in (name, f"{name} loss")]
    return {title: {metric: histories(runs, metric) for metric in metrics} for title, runs in panels.items()}


def ends(panels: Mapping[str, Sequence[StoredRun]]) -> dict[str, dict[str, list[float]]]:
    """{title: {set: the share of right answers of each run at the end of training, asked in single precision}}."""
    return {title: {name: [run.metrics[name] for run in runs] for name in SETS} for title, runs in panels.items()}


def learned(runs: Sequence[StoredRun]) -> np.ndarray:
    """(R,) has a run learned its training rows of reasoning, of which the held-out pairs ask the rule?"""
    return np.array([(run.metrics["reasoning"] or 0.0) >= LEARNED for run in runs], dtype=bool)


def held_at_equal(runs: Sequence[StoredRun], large: Sequence[StoredRun]) -> list[float | None]:
    """The share of held-out pairs that each run has right when as many trained rows of reasoning are right as those of `large`
    that have the fewest end with. None where a run never has so many."""
    fewest = min(run.metrics["reasoning"] for run in large)
    return [right_at(run, "held out", reaching(run, "reasoning", fewest)) for run in runs]


def reader_losses() -> tuple[float, float]:
    """Nats that trained reasoning leaves to who knows the key and that the anchors are of reasoning, but neither of them; and
    to who knows the first anchor, too."""
    pairs = [(a, b) for a in REASONING for b in REASONING if (a, b) not in HELD_OUT]
    entropy = lambda sums: -sum(n / len(sums) * math.log(n / len(sums)) for n in Counter(sums).values())
    by_first = [[a + b for a, b in pairs if a == first] for first in REASONING]
    one = sum(len(sums) * entropy(sums) for sums in by_first) / len(pairs)
    return entropy([a + b for a, b in pairs]), one


SHARES = ("γ", "runs", "reasoning right, trained pairs", "memory right", "held-out pairs right, at best")


def shares_by_gamma(runs: Sequence[StoredRun]) -> list[tuple[str, ...]]:
    """SHARES for each γ: of both trained sets and of the held-out pairs from the lowest run to the highest, and the mean of the
    last."""
    between = lambda values: "{:.0%} to {:.0%}".format(*span(values))
    end = lambda group, name: between(run.metrics[name] for run in group)
    return [
        (
            f"{gamma:g}",
            f"{len(group)}",
            end(group, "reasoning"),
            end(group, "memory"),
            f"{between(best(group).tolist())}, mean {best(group).mean():.0%}",
        )
        for gamma, group in by_gamma(runs).items()
    ]


def bias(models: Mapping[str, Sequence[StoredRun]]) -> dict[str, dict[str, dict[float, list[Ratio]]]]:
    """{model: {slower set: {γ: ratios}}} of memory and of the held-out pairs."""
    return {name: {slower: ratios_by_gamma(runs, slower) for slower in ("memory", "held out")} for name, runs in models.items()}


def group_outputs(runs: Sequence[StoredRun]) -> np.ndarray:
    """(seeds, 4, V) the early mean output distribution of each memory group."""
    return np.array([run.snapshots()[early_step(run)]["groups"].numpy() for run in runs])


def group_mass(run: StoredRun) -> np.ndarray:
    """(4,) probability that the early mean output of each memory group gives to the group's own range of labels."""
    output = run.snapshots()[early_step(run)]["groups"].numpy()
    return np.array([row[labels].sum() / row.sum() for row, labels in zip(output, GROUP_LABELS, strict=True)])


def group_is_nearer(run: StoredRun) -> np.ndarray:
    """(4,) is the early mean output of a group nearer, in total variation, to the labels of this group than to those of all
    memory rows? The ranges are nested, so that a model that knows no group would also put much mass inside the wider ones."""
    output = run.snapshots()[early_step(run)]["groups"].numpy().astype(float)
    labels = np.zeros_like(output)
    for row, own in zip(labels, GROUP_LABELS, strict=True):
        row[own] = 1 / len(own)
    share = np.array([np.mean([int(memory_group(torch.tensor(s))) == i + 1 for s in MEMORY]) for i in range(4)])
    far = lambda other: np.abs(output - other).sum(1) / 2
    return far(labels) < far(share @ labels)


def early_step(run: StoredRun) -> int:
    return snapshot_near(run, EARLY_EMB)


def early_epoch(run: StoredRun) -> float:
    return early_step(run) / epoch(run.spec)


def own_settings(profile: str) -> list[tuple[str, str]]:
    """(setting, value) of what is not in every spec."""
    s = SETTINGS[profile]
    return [
        ("training rows, epochs", f"{s.rows:,}, {s.train.steps * s.train.batch / s.rows:,.0f}"),
        ("Emb-MLP: hidden units, peak learning rate, steps", f"{3 * s.d_model}, {s.emb_rate:g}, {s.emb_train.steps:,}"),
    ]


BETWEEN = "{:.0%} to {:.0%}"


def _ratio(runs: Sequence[StoredRun]) -> float | None:
    return middle(ratios(runs)) if any(slowdown(run) for run in runs) else None


def _held(runs: Sequence[StoredRun]) -> float:
    return float(best(runs).mean())


def _ends(runs: Sequence[StoredRun], name: str) -> tuple[float | None, float | None]:
    return span(run.metrics[name] for run in runs)


def _at_half_facts(small: Sequence[StoredRun], large: Sequence[StoredRun]) -> dict[str, Fact]:
    """What is right where the loss of reasoning has halved, what readers of a part have, and steps to half of the rows."""
    right = lambda group, name: mean(right_at(run, name, halving(run, "reasoning")) for run in group)
    to_half = [slowdown_to(run, 0.5) for run in small]
    known, one = reader_losses()
    rows = "rows of reasoning right where its loss has halved, mean"
    held = "held-out pairs right there, mean"
    return {
        "half-rows": Fact(right(small, "reasoning"), "{:.0%}", f"trained {rows}, γ = {SMALL:g}"),
        "half-held": Fact(right(small, "held out"), "{:.0%}", f"{held}, γ = {SMALL:g}"),
        "half-rows-large": Fact(right(large, "reasoning"), "{:.0%}", f"trained {rows}, γ = {LARGE:g}"),
        "half-held-large": Fact(right(large, "held out"), "{:.0%}", f"{held}, γ = {LARGE:g}"),
        "half-loss": Fact(mean(half(run, "reasoning") for run in small), "{:.1f}", f"nats, half of the loss, γ = {SMALL:g}"),
        "reader-key": Fact(known, "{:.1f}", "nats, trained reasoning, to who knows the key and the kind of the anchors"),
        "reader-one": Fact(one, "{:.1f}", "nats, to who knows one of the anchors, too"),
        "to-half-right": Fact(
            middle([found for found in to_half if found]) if all(to_half) else None,
            "{:.1f}",
            f"steps to half of the rows right, memory over reasoning, γ = {SMALL:g}, geometric mean"
            + ", a lower bound" * any(found.open for found in to_half if found),
        ),
        "half-right-large": Fact(
            in_words(sum(reaching(run, "memory", 0.5) is not None for run in large)),
            "{}",
            f"runs that have half of the rows of memory right, along training, γ = {LARGE:g}",
        ),
    }


QUARTER = 0.25
"""Of the rows right: the control has so many of either kind soon enough."""


def _range_facts(ordinary: Sequence[StoredRun], window: Sequence[StoredRun]) -> dict[str, Fact]:
    """The ratio with random labels from all keys and with random labels near the key, where there is no rule either."""
    everywhere, near = _ratio(ordinary), _ratio(window)
    spread = lambda group: span(r.value for run in group if (r := slowdown(run)))
    never = sum(r.open for run in ordinary if (r := slowdown(run)))
    part = 1 - math.log(near) / math.log(everywhere) if near and everywhere and everywhere > 1 else None
    to_quarter = [[slowdown_to(run, QUARTER) for run in group] for group in (window, ordinary)]
    quarters = [middle([r for r in found if r]) if all(found) else None for found in to_quarter]
    return {
        "window": Fact(near, "{:.1f}", f"the ratio with random labels near the key, γ = {SMALL:g}, shorter training"),
        "window-span": Fact(spread(window), "{:.1f} to {:.1f}", "the same, lowest and highest seed"),
        "ordinary": Fact(everywhere, "{:.1f}", f"the ratio with the ordinary table in this training; lower bounds: {never}"),
        "ordinary-span": Fact(spread(ordinary), "{:.1f} to {:.1f}", "the same, lowest and highest seed"),
        "range": Fact(part, "{:.0%}", "1 − ln(ratio, labels near the key) / ln(ratio, from all keys)"),
        "quarter-right": Fact(
            (QUARTER, *quarters),
            "at {:.0%} right {:.1f} against {:.1f}",
            "the ratio of steps to this share, with labels near the key and from all keys",
        ),
    }


def _large_start_facts(runs: Sequence[StoredRun], small: Sequence[StoredRun], plain: Sequence[StoredRun]) -> dict[str, Fact]:
    """How much of its own rows the large start has learned, and held-out pairs among runs that have learned theirs."""
    large, rest = at(runs, LARGE), [run for run in plain if run.spec.gamma > LARGE]
    every = each_once([*runs, *small])
    groups = by_gamma(every)
    after = min((gamma for gamma in groups if gamma > LARGE), default=LARGE)
    there = [run for run, counts in zip(every, learned(every), strict=True) if counts and run.spec.gamma >= MIDDLE]
    gammas, shares = [run.spec.gamma for run in there], {"best": best(there).tolist(), "equal": held_at_equal(there, large)}
    trends = {
        name: rank_trend(gammas, np.array(values, float)) if len(set(gammas)) > 1 and None not in values else (None,) * 3
        for name, values in shares.items()
    }
    correlation, rows = "{:.2f} ({:.2f} to {:.2f})", "rows right at the end"
    equal = "held-out pairs right, mean, when as many trained rows are as at the end of the lowest run of"
    return {
        "rows-large": Fact(_ends(large, "reasoning"), BETWEEN, f"trained {rows}, reasoning, γ = {LARGE:g}"),
        "memory-large": Fact(_ends(large, "memory"), BETWEEN, f"{rows}, memory, γ = {LARGE:g}"),
        "plain-rows-large": Fact(_ends(at(plain, LARGE), "reasoning"), BETWEEN, f"trained {rows}, no norms, γ = {LARGE:g}"),
        "plain-memory-large": Fact(_ends(at(plain, LARGE), "memory"), BETWEEN, f"{rows}, memory, no norms, γ = {LARGE:g}"),
        "plain-rows-rest": Fact(_ends(rest, "reasoning"), BETWEEN, f"trained {rows}, no norms, γ above {LARGE:g}"),
        "equal-small": Fact(mean(held_at_equal(small, large)), "{:.0%}", f"{equal} γ = {LARGE:g}; γ = {SMALL:g}"),
        "equal-large": Fact(mean(held_at_equal(large, large)), "{:.0%}", f"the same, γ = {LARGE:g}"),
        "held-next": Fact(_held(groups[after]), "{:.0%}", f"held-out pairs right at best, γ = {after:g}"),
        "held-rest": Fact(
            span(map(_held, by_gamma(there).values())),
            BETWEEN,
            f"means of γ from {MIDDLE:g} on, of runs that have learned reasoning",
        ),
        "held-trend": Fact(
            trends["best"], correlation, f"rank correlation of γ with this share, {len(there)} runs, 95 % interval"
        ),
        "equal-trend": Fact(trends["equal"], correlation, "the same at equal shares of trained rows, as above"),
    }


def facts(
    runs: Sequence[StoredRun],
    small: Sequence[StoredRun],
    finer: Sequence[StoredRun],
    plain: Sequence[StoredRun],
    many: Sequence[StoredRun],
    emb: Sequence[StoredRun],
    noisy: Sequence[StoredRun],
    ordinary: Sequence[StoredRun],
    window: Sequence[StoredRun],
) -> dict[str, Fact]:
    """What the text of chapter 9 says: of the main runs, all at SMALL, a finer grid, runs without norms, on many rows, of
    Emb-MLP and of Emb-MLP with noise; and, in a shorter training, with labels from all keys and with labels near the key."""
    large = at(runs, LARGE)
    fine = ratios_by_gamma([*runs, *finer])
    kept = {gamma: middle(found) for gamma, found in fine.items() if found}
    first, last = min(fine), max(fine)
    near = max((g for g in fine if g <= 0.4), default=first)
    known = all(g in kept for g in (first, near, last)) and kept[last] > kept[first]
    share = np.log(kept[near] / kept[first]) / np.log(kept[last] / kept[first]) if known else None
    value, low, high = trend(runs) if sum(slowdown(run) is not None for run in runs) > 1 else (None,) * 3
    who, few = f"{len(small)} seeds", f"{len(large)} seeds"
    end = lambda group, name: float(np.mean([run.metrics[name] for run in group]))
    return {
        **_at_half_facts(small, large),
        **_range_facts(ordinary, window),
        **_large_start_facts(runs, small, plain),
        "small": Fact(
            _ratio(small), "{:.1f}", f"steps to half of the loss, memory over reasoning, γ = {SMALL:g}, geometric mean, {who}"
        ),
        "large": Fact(_ratio(large), "{:.1f}", f"the same, γ = {LARGE:g}, {few}"),
        "held-small": Fact(_held(small), "{:.0%}", f"held-out pairs right at best, γ = {SMALL:g}, mean of {who}"),
        "held-first": Fact(_held(at(runs, SMALL)), "{:.0%}", "the same, the runs that were judged first"),
        "held-large": Fact(_held(large), "{:.0%}", f"the same, γ = {LARGE:g}, {few}"),
        "rows-small": Fact(
            end(small, "reasoning"), "{:.0%}", f"trained rows of reasoning right at the end, γ = {SMALL:g}, {who}"
        ),
        "end-small": Fact(end(small, "held out"), "{:.0%}", f"held-out pairs right at the end, γ = {SMALL:g}, {who}"),
        "trend": Fact(
            (value, low, high), "{:.2f} ({:.2f} to {:.2f})", f"rank correlation of γ with the ratio, {len(runs)} runs"
        ),
        "jump": Fact(
            None if share is None else float(share),
            "{:.0%}",
            f"of the rise from γ = {first:g} to {last:g}, in logarithms, below {near:g}",
        ),
        "plain-small": Fact(_held(at(plain, SMALL)), "{:.0%}", f"held-out pairs right at best without norms, γ = {SMALL:g}"),
        "plain-large": Fact(_held(at(plain, LARGE)), "{:.0%}", f"the same, γ = {LARGE:g}"),
        "plain-middle": Fact(_held(at(plain, MIDDLE)), "{:.0%}", f"the same, γ = {MIDDLE:g}"),
        "many-small": Fact(
            _held(at(many, SMALL)), "{:.0%}", f"held-out pairs right at best, ten times the rows, γ = {SMALL:g}"
        ),
        "many-large": Fact(_held(at(many, LARGE)), "{:.0%}", f"the same, γ = {LARGE:g}"),
        "emb-small": Fact(_held(at(emb, SMALL)), "{:.0%}", f"held-out pairs right at best, Emb-MLP, γ = {SMALL:g}"),
        "emb-large": Fact(_held(at(emb, LARGE)), "{:.0%}", f"the same, γ = {LARGE:g}"),
        "emb-noise": Fact(
            float(best(noisy).max()), "{:.0%}", "held-out pairs right at best, Emb-MLP on all nine tokens, highest run"
        ),
        "noise-rows": Fact(_ends(noisy, "reasoning"), BETWEEN, "trained rows of reasoning right at the end, of these runs"),
    }
