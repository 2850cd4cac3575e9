"""Claims on GPT-2's architecture (chapter 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from lib.composition.gpt2 import metrics
from lib.composition.phase_diagram.metrics import ends, largest
from lib.composition.runs import MAPPINGS, MOST_ROWS, REGION, learned_among, log_steps
from lib.composition.trends import BY_GAMMA, GOES_WITH, slope
from lib.composition.variations import (
    AGAIN,
    FACTORS_GAMMAS,
    GPT2,
    HEADS,
    LONGER,
    NORM,
    NOTHING,
    ROUNDED_SEEDS,
    rounded_specs,
)
from lib.core.model.transformer import ModelSpec
from lib.core.read import roundings
from lib.core.read.claim import OPPOSITE, TOO_SMALL, Claim, Measured, Part, above_zero, by_exact_test, by_interval, in_settings
from lib.core.read.measures import seeds
from lib.core.read.statistics import RARE
from lib.core.record.store import Store, StoredRun, load
from lib.core.sweep.experiment import again


def _at(runs: Sequence[StoredRun]) -> Measured:
    """Fig. 2c: symmetric at some γ, inferential at a larger one, by the mean over seeds?"""
    gamma = ends(runs).gamma
    trend = slope(learned_among(runs) or runs, BY_GAMMA, "inferential")
    parts = [by_interval(f"{m}, highest mean over seeds", largest(runs, m), ">=", REGION, group="regions") for m in MAPPINGS]
    apart = gamma["inferential"] - gamma["symmetric"]
    parts.append(Part("γ of the inferential one less that of the symmetric", apart, ">", 0.0, group="regions"))
    words = "rank correlation of γ and the inferential share"
    parts.append(above_zero(words, trend, GOES_WITH, "correlation", "{:.2f}"))
    return Measured(tuple(parts), seeds(runs))


def _gpt2(store: Store, profile: str) -> Measured:
    runs = load(GPT2.specs(profile), store)
    norms = {f"{norm}-norm": [r for r in runs if cast(ModelSpec, r.spec.model).norm == norm] for norm in ("post", "pre")}
    return in_settings({norm: _at(some) for norm, some in norms.items()})


LEARNED_SHARE = 0.75
"""Of the runs of smaller starts with one factor changed, those that have to have learned."""


def factors(store: Store, profile: str) -> Measured:
    """With every factor but the norm changed the smaller starts have more inferential answers; with the norm they do not."""
    found, parts = metrics.factor_runs(store, profile), []
    for name, runs in found.items():
        turn = metrics.turn(runs)
        if name != NORM:
            parts.append(by_exact_test(f"changed: {name}; exact p", turn.p, turn.opposite, turn.least, RARE))
        else:
            parts.append(
                Part(
                    f"changed: {name}; exact p",
                    turn.p,
                    ">",
                    RARE,
                    "{:.3f}",
                    failure=TOO_SMALL if turn.least > RARE else OPPOSITE,
                )
            )
    done = Part(
        "least share of smaller starts that have learned", metrics.least_learned(found), ">=", LEARNED_SHARE, given=True
    )
    return Measured(
        (done, *[replace(part, group="norm" if NORM in part.name or NOTHING in part.name else "") for part in parts]),
        len({run.spec.seed for runs in found.values() for run in runs}),
    )


def _fewer(store: Store, profile: str, name: str) -> Measured:
    """Do fewer small starts compose with this factor changed than with nothing changed, seed by seed?"""
    found = metrics.until_learned(store, profile)
    plain, changed = found[NOTHING], found[name]
    found_by_seed = metrics.fewer_by_seed(plain, changed)
    (a, n), (b, m) = metrics.composing(plain), metrics.composing(changed)
    test = by_exact_test(f"{a} of {n} runs compose with nothing changed, {b} of {m} with {name}: p", *found_by_seed, RARE)
    share = min(len(learned_among(runs)) / len(runs) for runs in (plain, changed))
    done = Part("least share of runs that have learned", share, ">=", LEARNED_SHARE, given=True)
    return Measured((done, test), seeds(plain))


def norm_after(store: Store, profile: str) -> Measured:
    return _fewer(store, profile, NORM)


def one_head(store: Store, profile: str) -> Measured:
    return _fewer(store, profile, HEADS)


MOST_SHIFT = 0.1
"""By how much bfloat16 may shift a mean share of answers, or the mean logarithm of the steps to MOST_ROWS."""
PRECISION = roundings.Question(
    rounded_specs,
    lambda profile: again(AGAIN, profile),
    {
        "symmetric share": (lambda run: run.metrics["symmetric"], MOST_SHIFT),
        "inferential share": (lambda run: run.metrics["inferential"], MOST_SHIFT),
        f"log of the steps to {MOST_ROWS:.0%} of the training rows": (partial(log_steps, share=MOST_ROWS), MOST_SHIFT),
    },
)

_SMALL = " and ".join(f"{gamma:g}" for gamma in FACTORS_GAMMAS if gamma > metrics.LARGE)
CLAIMS = (
    Claim(
        "gpt2-post",
        "zhang2024",
        "Fig 2c",
        "GPT-2 answers symmetrically at large and inferentially at small initialization, with the norm after each half block "
        "(post-norm) and with the norm before (pre-norm).",
        "post-norm: accuracies against γ, four runs each; pre-norm: in the text",
        f"with either norm: best mean of each answer at least {REGION:g}, symmetric at the smaller γ; inferential share rises "
        "with γ",
        _gpt2,
        revised="a claim for each norm",
        question="flip",
        figure="8.1",
    ),
    Claim(
        "gpt2-factors",
        "ours",
        "chapter 8",
        "Of the parts in which GPT-2's form differs from the paper's block, only the norm after each half block leaves no "
        "rise of the inferential answer with γ that a test sees.",
        "not in the sources",
        f"exact test of inferential shares at γ = {_SMALL} against γ = {metrics.LARGE:g}: one-sided p at most {RARE:g} in the "
        f"pre-norm model and with each other factor changed, above {RARE:g} with the norm after each half block; fixed before "
        f"these runs. With each factor changed {LEARNED_SHARE:.0%} of the runs at γ = {_SMALL} have learned",
        factors,
        revised="that they have learned was added after seeing the results, since most of those with the norm after that have "
        "not compose nearly; without it the claim holds. It had said that the norm decides whether γ flips the answer, which a "
        "test that sees no rise does not show",
        question="flip",
        figure="8.2",
    ),
    *(
        Claim(
            f"gpt2-until-{key}",
            "ours",
            "chapter 8",
            f"In GPT-2's form fewer small starts compose with {what}, also when trained until they have learned.",
            "not in the sources",
            f"eight new seeds at γ = {_SMALL}, a limit {LONGER} times as far: {LEARNED_SHARE:.0%} of the runs of either form "
            f"have learned; fewer of a seed's runs compose, with more than half of their answers inferential, than with "
            f"nothing changed: exact one-sided test of differences within seeds, p at most {RARE:g}",
            check,
            revised="seen in shorter runs, of which many had not learned; then asked of new seeds",
            question="flip",
            figure="8.3",
        )
        for key, what, check in (("norm", f"the {NORM}", norm_after), ("heads", HEADS, one_head))
    ),
    Claim(
        "gpt2-roundings",
        "ours",
        "chapter 8",
        "In bfloat16 the pre-norm model answers as in single precision, but for what the last bit changes, too.",
        "not asked",
        f"{len(ROUNDED_SEEDS)} new seeds at γ = {', '.join(f'{gamma:g}' for gamma in FACTORS_GAMMAS)}, nothing changed; "
        + PRECISION.criterion,
        PRECISION.measure,
        question="flip",
        figure="8.4",
    ),
)
