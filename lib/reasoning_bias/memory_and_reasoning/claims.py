"""What the claims of the second study ask of stored results: numbers over seeds, and whether a criterion holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from lib.core.claim import Finding, graded
from lib.core.measures import spearman, spread
from lib.core.store import Store, StoredRun
from lib.core.sweep import load
from lib.reasoning_bias import runs as analysis
from lib.reasoning_bias.experiments import (
    BIAS,
    EMB,
    LARGE,
    MEMORY,
    MIDDLE,
    SMALL,
    rows_specs,
)
from lib.reasoning_bias.runs import Ratio
from lib.reasoning_bias.task import MEMORY as MEMORY_ANCHORS
from lib.reasoning_bias.task import memory_group

EARLY_EMB, EARLY, LATE = 0.05, 0.2, 0.9
"""Where in training the paper's Figures 4 and 5 look: epochs 50, 200 and 900 of 1,000, as shares."""
BEGINNING = 0.05
"""Where in training we look at the first attention; the paper's figure does not say."""
FEW = 0.05
"""Flow and training are compared as long as the loss has fallen by less than this share."""


def at(runs: Sequence[StoredRun], gamma: float) -> list[StoredRun]:
    """Raises LookupError where there is none at this γ."""
    if not (found := [r for r in runs if r.spec.gamma == gamma]):
        raise LookupError(f"no runs at γ = {gamma:g} are stored")
    return found


def transformers(store: Store, profile: str, gamma: float | None = None) -> list[StoredRun]:
    runs = load(BIAS.specs(profile), store)
    return runs if gamma is None else at(runs, gamma)


def emb_mlps(store: Store, profile: str, gamma: float | None = None, noise: bool = False) -> list[StoredRun]:
    runs = [r for r in load(EMB.specs(profile), store) if dict(r.spec.task)["noise"] == noise]
    return runs if gamma is None else at(runs, gamma)


def of_table(store: Store, profile: str, memory: str) -> list[StoredRun]:
    return [r for r in load(MEMORY.specs(profile), store) if dict(r.spec.task)["memory"] == memory]


def of_sizes(store: Store, profile: str) -> dict[str, list[StoredRun]]:
    return {name: load(specs, store) for name, specs in rows_specs(profile).items()}


def ratios(runs: Sequence[StoredRun], slower: str = "memory") -> list[Ratio]:
    """Raises LookupError unless the reasoning loss halves in some run."""
    if not (found := [r for r in (analysis.slowdown(run, slower) for run in runs) if r is not None]):
        raise LookupError("the reasoning loss halves in no stored run")
    return found


def closed(found: Sequence[Ratio]) -> bool:
    """Is none of them a lower bound?"""
    return not any(r.open for r in found)


def middle(found: Sequence[Ratio]) -> float:
    """Geometric mean; lower bounds count as they are."""
    return float(np.exp(np.mean(np.log([r.value for r in found]))))


def ratio_everywhere(runs: Sequence[StoredRun], slower: str = "memory") -> bool:
    """Does the reasoning loss halve in every run?"""
    return all(analysis.slowdown(run, slower) is not None for run in runs)


def words(found: Sequence[Ratio]) -> str:
    """Geometric mean and range, with a sign where some are lower bounds."""
    low, high = (f(r.value for r in found) for f in (min, max))
    return f"{'≥ ' if any(r.open for r in found) else ''}{middle(found):.2f} [{low:.2f}, {high:.2f}]"


def best(runs: Sequence[StoredRun], name: str = "held out") -> np.ndarray:
    """The highest share of right answers that each run has along training."""
    return np.array([max(v for v in r.history[name] if v is not None) for r in runs])


def trend(runs: Sequence[StoredRun], draws: int = 1000) -> tuple[float, float, float]:
    """Rank correlation of γ with the ratio memory over reasoning, and its 95 % interval by resampling runs.

    Raises LookupError where fewer than two runs have a ratio.
    """
    pairs = np.array([(r.spec.gamma, s.value) for r in runs if (s := analysis.slowdown(r)) is not None])
    if len(pairs) < 2:
        raise LookupError("the reasoning loss halves in fewer than two stored runs")
    rng = np.random.default_rng(0)
    found = [spearman(*pairs[rng.integers(0, len(pairs), len(pairs))].T) for _ in range(draws)]
    return spearman(*pairs.T), *(float(v) for v in np.percentile(found, (2.5, 97.5)))


def seeds(runs: Sequence[StoredRun]) -> int:
    return len({r.spec.seed for r in runs})


def together(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile, LARGE)
    found, held = ratios(runs), [analysis.halving(r, "held out") for r in runs]
    return Finding(
        f"memory over reasoning {words(found)}; the held-out loss halves in {len(held) - held.count(None)} of {len(held)} "
        f"runs; held-out pairs right at best {spread(best(runs))}",
        graded([closed(found) and 1 / 1.5 <= middle(found) <= 1.5, all(h is None for h in held)]),
        seeds(runs),
    )


def reasoning_first(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile, SMALL)
    memory, held, every = ratios(runs), ratios(runs, "held out"), ratio_everywhere(runs)
    return Finding(
        f"memory over reasoning {words(memory)}; held-out over trained pairs {words(held)}; right at the end: held-out pairs "
        f"{spread([r.metrics['held out'] for r in runs])}, rows of trained pairs "
        f"{spread([r.metrics['reasoning'] for r in runs])}",
        graded([every and all(r.value >= 2 for r in memory), every and closed(held) and all(r.value <= 1.5 for r in held)]),
        seeds(runs),
    )


def gap_grows(store: Store, profile: str) -> Finding:
    runs = transformers(store, profile)
    value, low, high = trend(runs)
    ends = [middle(ratios(at(runs, g))) for g in (LARGE, MIDDLE, SMALL)]
    return Finding(
        f"rank correlation of γ and the ratio {value:+.2f} [{low:+.2f}, {high:+.2f}] over {len(ratios(runs))} runs; "
        "ratios at γ = .3, .5, .8: " + ", ".join(f"{v:.2f}" for v in ends) + f"; from .4 to .8 alone {_middle_words(runs)}",
        graded([low > 0, ends[0] < ends[1] < ends[2]]),
        seeds(runs),
    )


def _middle_words(runs: Sequence[StoredRun]) -> str:
    value, low, high = trend([r for r in runs if 0.4 <= r.spec.gamma <= SMALL])
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"


def emb_contrast(store: Store, profile: str) -> Finding:
    large, small = (emb_mlps(store, profile, g) for g in (LARGE, SMALL))
    one, other = ratios(large), ratios(small)
    return Finding(
        f"memory over reasoning {words(one)} at γ = {LARGE:g}, {words(other)} at γ = {SMALL:g}; "
        f"held-out pairs right at best {spread(best(large))} and {spread(best(small))}",
        graded(
            [
                closed(one) and middle(other) > max(r.value for r in one),
                bool(best(large).mean() <= 0.1),
                bool(best(small).mean() >= 0.5),
            ]
        ),
        seeds(small),
    )


def emb_noise(store: Store, profile: str) -> Finding:
    groups = [emb_mlps(store, profile, g, noise=True) for g in (LARGE, SMALL)]
    held, without = [best(g) for g in groups], best(emb_mlps(store, profile, SMALL))
    return Finding(
        f"held-out pairs right at best {spread(held[0])} (γ = {LARGE:g}) and {spread(held[1])} (γ = {SMALL:g}); without noise "
        f"{spread(without)} (γ = {SMALL:g})",
        graded([*(bool(h.max() < 0.1) for h in held), bool(without.mean() >= held[1].mean() + 0.25)]),
        seeds(groups[0]),
    )


def window_faster(store: Store, profile: str) -> Finding:
    plain, window = (of_table(store, profile, name) for name in ("key", "window"))
    half = [[analysis.halving(r, "memory") for r in runs] for runs in (plain, window)]
    finished = [np.array([plain[0].steps if h is None else h for h in found]) for found in half]
    last = [np.array([r.metrics["memory loss"] for r in runs], dtype=float) for runs in (plain, window)]
    never = lambda i: f" ({half[i].count(None)} of {len(half[i])} never)" if None in half[i] else ""
    say = lambda i: f"{'at least ' if None in half[i] else ''}{finished[i].mean():,.0f} steps{never(i)}"
    return Finding(
        f"half of the memory loss after {say(0)} with labels from all keys, {say(1)} with labels near the key; "
        f"loss at the end {spread(last[0])} and {spread(last[1])} nats",
        graded([bool((finished[1] < finished[0]).all()), bool((last[1] < last[0]).all())]),
        seeds(window),
    )


def group_ranges(store: Store, profile: str) -> Finding:
    runs = of_table(store, profile, "groups")
    inside, nearer = np.array([group_mass(r) for r in runs]), np.array([group_is_nearer(r) for r in runs])
    return Finding(
        f"mass inside the group's own range, groups 1 to 4: {', '.join(spread(v) for v in inside.T)}, "
        f"after {early_epoch(runs[0]):g} epochs; {int(nearer.sum())} of {nearer.size} outputs are nearer to their group's "
        "labels than to those of all groups together",
        graded([bool(v.min() >= 0.9 and near.all()) for v, near in zip(inside.T, nearer.T, strict=True)]),
        seeds(runs),
    )


def group_mass(run: StoredRun) -> np.ndarray:
    """(4,) probability that the early mean output of each memory group gives to the group's own range of labels."""
    output = run.snapshots()[early_step(run)]["groups"].numpy()
    return np.array([output[i, 30 : 30 + 20 * (i + 1)].sum() / output[i].sum() for i in range(4)])


def group_is_nearer(run: StoredRun) -> np.ndarray:
    """(4,) is the early mean output of a group nearer, in total variation, to the labels of this group than to those of all
    memory rows? The ranges are nested, so that a model that knows no group would also put much mass inside the wider ones."""
    output = run.snapshots()[early_step(run)]["groups"].numpy().astype(float)
    labels = np.zeros_like(output)
    for i in range(4):
        labels[i, 30 : 30 + 20 * (i + 1)] = 1 / (20 * (i + 1))
    share = np.array([np.mean([int(memory_group(torch.tensor(s))) == i + 1 for s in MEMORY_ANCHORS]) for i in range(4)])
    far = lambda other: np.abs(output - other).sum(1) / 2
    return far(labels) < far(share @ labels)


def early_step(run: StoredRun) -> int:
    return analysis.snapshot_near(run, EARLY_EMB)


def early_epoch(run: StoredRun) -> float:
    return early_step(run) / analysis.epoch(run.spec)
