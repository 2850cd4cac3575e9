"""The ledger of chapters 9 to 11 judges: on planted results every verdict can be known, and the bar is where the words are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from test_reasoning_analysis import FIRST, Planted, alike, lying, on_an_arc, planted
from torch import Tensor

from lib.book.registry import CLAIMS as ALL_CLAIMS
from lib.book.registry import CLAIMS_OF
from lib.core.read.claim import NOT_REPRODUCED, NOT_RUN, PARTLY, REPRODUCED, graded
from lib.core.read.measures import cosines
from lib.core.read.statistics import numerical_order
from lib.core.record.spec import RunSpec
from lib.core.record.start import at_start
from lib.core.record.store import Store, StoredRun
from lib.reasoning_bias import claims, ratios, theory
from lib.reasoning_bias import runs as stored
from lib.reasoning_bias.attention import numbers as attention
from lib.reasoning_bias.attention import prose as attention_prose
from lib.reasoning_bias.embeddings import claims as embedding_claims
from lib.reasoning_bias.embeddings import numbers as embeddings
from lib.reasoning_bias.embeddings import prose as embedding_prose
from lib.reasoning_bias.embeddings.numbers import FlowError
from lib.reasoning_bias.experiments import (
    ABLATIONS,
    BIAS,
    EMB,
    LARGE,
    MIDDLE,
    QUIET,
    SETTINGS,
    SMALL,
    ablation_specs,
    bias_specs,
    flow_specs,
    long_specs,
    many_rows_specs,
    more_specs,
    rows_specs,
    table_specs,
)
from lib.reasoning_bias.memory_and_reasoning import numbers as memory_and_reasoning
from lib.reasoning_bias.memory_and_reasoning import prose as memory_prose
from lib.reasoning_bias.memory_and_reasoning.claims import HELD_OUT_ALONG, MEMORY_LATER
from lib.reasoning_bias.ratios import Ratio
from lib.reasoning_bias.runs import EARLY, EARLY_EMB, LATE
from lib.reasoning_bias.study import SETS, causal_average, make_study
from lib.reasoning_bias.task import FIRST_KEY, LAST_KEY, MEMORY, REASONING

BY_ID = {claim.id: claim for chapter in claims.CLAIMS_OF.values() for claim in chapter}
WITHOUT_RUNS = {"embedding-distributions", "attention-lemma"}
"""What is computed from the task or from weights before training."""
Halves = Callable[[RunSpec], Mapping[str, int | None]]


class Shelf(Store):
    """A store of planted runs."""

    def __init__(self, runs: Iterable[StoredRun]) -> None:
        super().__init__(Path("nowhere"))
        self.runs = {run.spec: run for run in runs}

    def get(self, spec: RunSpec) -> StoredRun | None:
        return self.runs.get(spec)


def status(id: str, runs: Iterable[StoredRun] = ()) -> str:
    return BY_ID[id].evaluate(Shelf(runs), "laptop")["status"]


def asks(id: str, *words: str) -> None:
    """The criterion, as readers see it, holds these words."""
    for part in words:
        assert part in BY_ID[id].criterion, f"{part!r} is not in {BY_ID[id].criterion!r}"


@pytest.fixture(autouse=True)
def at_four(monkeypatch: pytest.MonkeyPatch) -> None:
    """The losses before training are FIRST: planted losses fall to half of it."""
    monkeypatch.setattr(ratios, "first_losses", lambda run: dict.fromkeys(SETS, FIRST))


# ---------------------------------------------------------------- the list of claims


def test_claims_have_names_of_their_own_and_a_chapter() -> None:
    assert not [name for name, count in Counter(claim.id for claim in ALL_CLAIMS).items() if count > 1]
    chapters = {name: CLAIMS_OF[name] for name in ("09-memory-and-reasoning", "10-embeddings", "11-attention")}
    assert chapters == claims.CLAIMS_OF
    for name, prefix in zip(chapters, ("bias-", "embedding-", "attention-"), strict=True):
        assert chapters[name]
        for claim in chapters[name]:
            assert claim.id.startswith(prefix)
            assert claim.statement.endswith(".")
            assert claim.paper in ("yao2025", "ours")


@pytest.mark.parametrize("id", sorted(set(BY_ID) - WITHOUT_RUNS))
def test_without_results_nothing_is_claimed(id: str) -> None:
    record = BY_ID[id].evaluate(Shelf([]), "laptop")
    assert (record["status"], record["n_seeds"]) == (NOT_RUN, 0)
    assert "not stored" in record["measured"]


def test_one_missing_run_is_enough_to_claim_nothing() -> None:
    specs = bias_specs("laptop")
    record = BY_ID["bias-large-together"].evaluate(Shelf(map(planted, specs[1:])), "laptop")
    assert record["status"] == NOT_RUN
    assert f"1 of {len(specs)} runs are not stored" in record["measured"]


# ---------------------------------------------------------------- chapter 9: what is learned first


def of(specs: Sequence[RunSpec], halves: Halves, held: float = 0.5) -> list[Planted]:
    """Runs that end with this share of held-out pairs right."""
    return [planted(spec, halves(spec), **{"held out": held}) for spec in specs]


def transformers(memory: Callable[[RunSpec], int | None], held: Callable[[RunSpec], int | None]) -> list[Planted]:
    """All runs of the laptop profile; trained reasoning pairs halve at step 100."""
    return of(bias_specs("laptop"), lambda s: {"reasoning": 100, "memory": memory(s), "held out": held(s)})


def test_together_at_large_initialization() -> None:
    asks("bias-large-together", "geometric mean", "between 1 / 1.5 and 1.5", "the held-out loss halves in no run")
    verdict = lambda memory, held: status("bias-large-together", transformers(lambda s: memory, lambda s: held))
    assert verdict(149, None) == REPRODUCED
    assert verdict(151, None) == PARTLY
    assert verdict(67, None) == REPRODUCED
    assert verdict(66, None) == PARTLY  # memory first is not together either
    assert verdict(149, 4000) == verdict(67, 4000) == PARTLY
    assert verdict(151, 4000) == verdict(66, 4000) == NOT_REPRODUCED
    one = lambda s: 4000 if (s.gamma, s.seed) == (LARGE, 3) else None
    assert status("bias-large-together", transformers(lambda s: 100, one)) == PARTLY
    mean = {0: 400, 1: 100, 2: 50, 3: 100}  # its geometric mean is 119, its mean 162
    assert status("bias-large-together", transformers(lambda s: mean[s.seed], lambda s: None)) == REPRODUCED
    below = {0: 25, 1: 100, 2: 100, 3: 100}  # its geometric mean is 71, its mean 81; with 19 it is 66, and 80
    assert status("bias-large-together", transformers(lambda s: below[s.seed], lambda s: None)) == REPRODUCED
    below[0] = 19
    assert status("bias-large-together", transformers(lambda s: below[s.seed], lambda s: None)) == PARTLY
    never = of(bias_specs("laptop"), lambda s: {"memory": 100})
    assert status("bias-large-together", never) == NOT_RUN


def late(*seeds: int, reasoning: int = 3900, memory: int | None = None) -> list[Planted]:
    """Runs at large initialization where reasoning comes late, so that memory, which never does, has a lower bound near 1."""
    of_late = {"reasoning": reasoning, "memory": memory}
    return of(bias_specs("laptop"), lambda s: of_late if s.seed in seeds else {"reasoning": 100, "memory": 100})


def test_lower_bounds_are_not_together() -> None:
    """4,000 / 3,900, though it lies between the bars."""
    assert status("bias-large-together", late(2)) == status("bias-large-together", late(0, 1, 2, 3)) == PARTLY
    assert status("bias-large-together", late(2, memory=4000)) == REPRODUCED
    elsewhere = of(bias_specs("laptop"), lambda s: {"reasoning": 100, "memory": 100 if s.gamma == LARGE else None})
    assert status("bias-large-together", elsewhere) == REPRODUCED  # large initialization is what is asked
    measured = BY_ID["bias-large-together"].evaluate(Shelf(late(2)), "laptop")["measured"]
    assert measured.startswith("memory over reasoning ≥ 1.01 (1.00 to 1.03); the held-out loss halves in 0 of 4 runs")


def test_reasoning_first_at_small_initialization() -> None:
    asks("bias-small-reasoning-first", "in every run", "at least 2 times", "at most 1.5 times", "share at least .5")
    come = lambda s: {"reasoning": 100, "memory": 200, "held out": 149}
    assert status("bias-small-reasoning-first", of(bias_specs("laptop"), come, held=0.49)) == PARTLY
    verdict = lambda memory, held: status("bias-small-reasoning-first", transformers(lambda s: memory, lambda s: held))
    assert verdict(200, 149) == REPRODUCED
    assert verdict(None, 149) == REPRODUCED  # never within training, which is longer than twice
    assert verdict(199, 149) == PARTLY
    assert verdict(200, 151) == PARTLY
    assert verdict(199, 151) == PARTLY
    missed = lambda s: {"reasoning": 100, "memory": 199, "held out": 151}
    assert status("bias-small-reasoning-first", of(bias_specs("laptop"), missed, held=0.49)) == NOT_REPRODUCED
    assert verdict(200, None) == PARTLY
    last = lambda one, other: lambda s: other if (s.gamma, s.seed) == (SMALL, 3) else one
    assert status("bias-small-reasoning-first", transformers(last(300, 199), lambda s: 100)) == PARTLY
    assert status("bias-small-reasoning-first", transformers(lambda s: 300, last(100, 151))) == PARTLY


def test_held_out_pairs_that_never_come_along_are_not_near() -> None:
    """Though the lower bound on their ratio is below the bar."""
    runs = of(bias_specs("laptop"), lambda s: {"reasoning": 3900, "memory": 4000, "held out": None}, held=0)
    assert status("bias-small-reasoning-first", runs) == NOT_REPRODUCED
    one = lambda s: {"reasoning": 3000, "held out": None} if s.seed == 1 else {"reasoning": 100, "held out": 100}
    verdict = lambda memory: status(
        "bias-small-reasoning-first", of(bias_specs("laptop"), lambda s: one(s) | {"memory": memory}, held=0)
    )
    assert verdict(None) == NOT_REPRODUCED  # 4,000 / 3,000 is less than 2, too
    half = lambda s: one(s) | ({"reasoning": 2000} if s.seed == 1 else {})
    runs = of(bias_specs("laptop"), lambda s: half(s) | {"held out": 2999 if s.seed == 1 else 100})
    assert status("bias-small-reasoning-first", runs) == REPRODUCED  # memory never, which is at least twice 2,000
    assert status("bias-small-reasoning-first", of(bias_specs("laptop"), half)) == PARTLY


def test_the_finer_grid_and_the_further_seeds_are_not_among_the_main_runs() -> None:
    """They are stored beside them, and all is wrong there."""
    main = set(bias_specs("laptop"))
    right, wrong = {"reasoning": 100, "memory": 300, "held out": 100}, {"reasoning": 100, "memory": 100}
    runs = of(BIAS.specs("laptop"), lambda s: right if s in main else wrong)
    assert len(runs) > len(main)
    record = BY_ID["bias-small-reasoning-first"].evaluate(Shelf(runs), "laptop")
    assert (record["status"], record["n_seeds"]) == (REPRODUCED, 4)
    assert [r.spec for r in stored.transformers(Shelf(runs), "laptop")] == bias_specs("laptop")


def test_reasoning_is_first_only_where_it_comes_in_every_run() -> None:
    right, without = {"reasoning": 100, "memory": 300, "held out": 100}, {"memory": 300, "held out": 100}
    lacks = lambda gamma: of(bias_specs("laptop"), lambda s: without if (s.gamma, s.seed) == (gamma, 1) else right)
    assert status("bias-small-reasoning-first", lacks(None)) == REPRODUCED
    assert failed("bias-small-reasoning-first", lacks(SMALL)) == [MEMORY_LATER, HELD_OUT_ALONG]
    assert status("bias-small-reasoning-first", lacks(LARGE)) == REPRODUCED
    assert status("bias-small-reasoning-first", of(bias_specs("laptop"), lambda s: without)) == NOT_RUN


def test_the_gap_grows() -> None:
    asks("bias-grows", "interval above 0", "so it has from γ = .4 on", "the three means are in this order")
    verdict = lambda memory: status("bias-grows", transformers(memory, lambda s: None))
    assert verdict(lambda s: round(100 + 1000 * s.gamma + s.seed)) == REPRODUCED
    assert verdict(lambda s: round(2000 - 1000 * s.gamma + s.seed)) == NOT_REPRODUCED
    assert verdict(lambda s: 300) == NOT_REPRODUCED
    assert verdict(lambda s: round(100 + 1000 * s.gamma) if s.gamma != MIDDLE else 10) == PARTLY
    order = {LARGE: 200, MIDDLE: 300, SMALL: 400}
    assert verdict(lambda s: order.get(s.gamma, 1000 - round(900 * s.gamma))) == PARTLY  # and the others fall
    assert status("bias-grows", of(bias_specs("laptop"), lambda s: {"memory": 100})) == NOT_RUN


def test_the_gap_grows_beyond_the_first_step() -> None:
    """One step from γ = .3 to .4 makes a correlation, but none of what comes after; so do ratios that go up and down."""
    beyond, order = "so it has from γ = .4 on", "the three means are in this order"
    missed = lambda memory: failed("bias-grows", transformers(memory, lambda s: None))
    rising = lambda s: round(100 + 1000 * s.gamma)
    assert missed(lambda s: 100 if s.gamma == LARGE else 400) == [beyond, order]
    up_and_down = {0.3: 100, 0.4: 300, 0.5: 200, 0.6: 400, 0.7: 300, 0.8: 400, 0.9: 300, 1.0: 300}
    assert missed(lambda s: up_and_down[s.gamma]) == [beyond]
    assert missed(lambda s: rising(s) if s.gamma != LARGE else 10) == missed(rising) == []


def test_only_runs_with_a_ratio_are_counted() -> None:
    rising = lambda s: {"reasoning": 100 if s.seed else None, "memory": round(100 + 1000 * s.gamma)}
    record = BY_ID["bias-grows"].evaluate(Shelf(of(bias_specs("laptop"), rising)), "laptop")
    assert record["status"] == REPRODUCED
    assert "over 24 runs; ratios at γ = .3, .5, .8: 4.00, 6.00, 9.00" in record["measured"]


def test_two_initializations_show_no_growth() -> None:
    """The smoke profile has no γ = .5, and its reasoning does not halve: neither is a result."""
    smoke = lambda halves: BY_ID["bias-grows"].evaluate(Shelf(of(bias_specs("smoke"), lambda s: halves)), "smoke")
    some, none = smoke({"reasoning": 100, "memory": 300}), smoke({"memory": 300})
    assert some["status"] == none["status"] == NOT_RUN
    assert "no runs at γ = 0.5 are stored" in some["measured"]
    assert "halves in fewer than two" in none["measured"]


def without_norms(large: Halves) -> list[Planted]:
    """The long runs without norms; at the γ that are not asked for all is wrong."""
    bad = {"reasoning": 100, "memory": 900, "held out": 100}
    return of(long_specs("laptop")["no norms"], lambda s: large(s) if s.gamma == LARGE else bad)


def test_together_without_norms() -> None:
    id = "bias-large-together-no-norms"
    asks(id, "without norms: geometric mean", "between 1 / 1.5 and 1.5", "none a lower bound", "halves in no run")

    def verdict(memory: int | None, held: int | None, reasoning: int = 100) -> str:
        return status(id, without_norms(lambda s: {"reasoning": reasoning, "memory": memory, "held out": held}))

    assert verdict(149, None) == verdict(67, None) == REPRODUCED
    assert verdict(151, None) == verdict(66, None) == verdict(149, 4000) == verdict(None, None, 3900) == PARTLY
    assert verdict(151, 4000) == NOT_REPRODUCED
    four = without_norms(lambda s: {"reasoning": 100, "memory": 100, "held out": 4000 if s.seed == 3 else None})
    record = BY_ID[id].evaluate(Shelf(four), "laptop")
    assert (record["status"], record["n_seeds"]) == (PARTLY, 4)
    assert "the held-out loss halves in 1 of 4 runs" in record["measured"]
    with_norms = transformers(lambda s: 100, lambda s: None)
    short_runs = [planted(s) for s in ablation_specs("laptop")["no norms"]]
    assert status(id, with_norms + short_runs) == NOT_RUN  # neither the main runs nor short ones stand in
    assert {r.spec for r in memory_and_reasoning.without_norms(Shelf(four), "laptop", SMALL)} == {
        r.spec for r in four if r.spec.gamma == SMALL
    }


def many(
    memory: Callable[[RunSpec], int | None],
    held: Mapping[float, Sequence[float]],
    reasoning: Callable[[RunSpec], int | None] = lambda s: 100,
) -> list[Planted]:
    """Ten times the rows: where memory halves, and best shares of held-out pairs by γ and seed, which are none at the end."""
    return [
        planted(s, {"reasoning": reasoning(s), "memory": memory(s)}, {"held out": [0.0, held[s.gamma][s.seed], 0.0]})
        for s in many_rows_specs("laptop")
    ]


def test_on_as_many_rows_as_the_paper_has() -> None:
    id = "bias-many-rows"
    words = ("at γ = .8 in every run memory takes at least 2 times", "share there at least .5", "at most .1 at γ = .3")
    asks(id, *words)
    shares = lambda large, small: {LARGE: [large] * 4, MIDDLE: [0.5] * 4, SMALL: [small] * 4}
    at_small = lambda value: lambda s: value if s.gamma == SMALL else 100

    def missed(memory: int | None, large: float, small: float) -> list[int]:
        """Which of the three parts fail."""
        found = failed(id, many(at_small(memory), shares(large, small)))
        return [i for i, word in enumerate(words) if any(word in part for part in found)]

    assert missed(200, 0.1, 0.5) == missed(None, 0.0, 1.0) == []
    assert missed(199, 0.1, 0.5) == [0]
    assert missed(200, 0.1, 0.49) == [1]
    assert missed(200, 0.11, 0.5) == [2]
    assert missed(199, 0.11, 0.49) == [0, 1, 2]
    assert status(id, many(at_small(200), shares(0.1, 0.5))) == REPRODUCED
    assert status(id, many(at_small(199), shares(0.1, 0.5))) == PARTLY
    assert status(id, many(at_small(199), shares(0.11, 0.49))) == NOT_REPRODUCED
    means = {LARGE: [0.39, 0.0, 0.0, 0.0], MIDDLE: [0.0] * 4, SMALL: [1.0, 1.0, 0.01, 0.0]}  # .0975 and .5025
    assert status(id, many(at_small(200), means)) == REPRODUCED
    last = lambda one, other: lambda s: other if (s.gamma, s.seed) == (SMALL, 3) else one
    assert status(id, many(last(300, 199), shares(0.1, 0.5))) == PARTLY  # every run
    assert status(id, many(at_small(300), shares(0.1, 0.5), last(100, None))) == PARTLY  # where reasoning never comes
    assert status(id, many(at_small(None), shares(0.1, 0.5), last(100, 2001))) == PARTLY  # a bound of 4,000 / 2,001
    never_large = many(at_small(300), shares(0.1, 0.5), lambda s: 100 if s.gamma == SMALL else None)
    assert status(id, never_large) == NOT_RUN
    assert status(id, transformers(lambda s: 300, lambda s: 100)) == NOT_RUN  # the main runs do not stand in


def test_the_main_runs_by_how_long_they_train() -> None:
    """The same model and rows at the two γ, shortest first, though the groups do not have as many seeds."""
    specs = [*bias_specs("laptop"), *(s for part in (ablation_specs, rows_specs) for g in part("laptop").values() for s in g)]
    found = memory_and_reasoning.by_length(Shelf(map(planted, specs)), "laptop")
    assert [(name, len(runs)) for name, runs in found.items()] == [
        ("shortest, 16,000 steps", 4),
        ("shorter, 24,000 steps", 6),
        ("main runs, 40,000 steps", 8),
    ]
    main = bias_specs("laptop")[0]
    for name, runs in found.items():
        assert {r.spec.gamma for r in runs} == {LARGE, SMALL}
        assert {f"{r.spec.train.steps:,} steps" for r in runs} == {name.split(", ", 1)[1]}
        assert {(r.spec.model, r.spec.rate, dict(r.spec.task)["rows"]) for r in runs} == {(main.model, main.rate, 20_000)}


def emb_mlps(
    ratio: Mapping[float, Sequence[int | None]], held: Mapping[float, Sequence[float]], noise: Mapping[float, Sequence[float]]
) -> list[Planted]:
    """Emb-MLP at large and small initialization, by seed: ratio in percent (None: a lower bound of 2), best held-out shares
    without and with noise. At the γ that are not asked for all is wrong."""
    found = []
    for spec in EMB.specs("laptop"):
        noisy, g, i = dict(spec.task)["noise"], spec.gamma, spec.seed
        if g not in (LARGE, SMALL):
            found.append(planted(spec, {"reasoning": 3000}, {"held out": [0.3]}))
            continue
        halves = {"reasoning": 2000 if ratio[g][i] is None else 100, "memory": ratio[g][i]}
        found.append(planted(spec, halves, {"held out": [0.0, noise[g][i] if noisy else held[g][i], 0.0]}))
    return found


def test_the_contrast_of_emb_mlp() -> None:
    asks("bias-emb-mlp", "mean ratio at γ = .8 above every run's at .3", "at most .1 at γ = .3", "at least .5 at γ = .8")
    noise = {LARGE: [0.0] * 4, SMALL: [0.0] * 4}
    above, below = {LARGE: [100, 100, 100, 290], SMALL: [300] * 4}, {LARGE: [100, 100, 100, 310], SMALL: [300] * 4}
    verdict = lambda ratio, large, small: status(
        "bias-emb-mlp", emb_mlps(ratio, {LARGE: [large] * 4, SMALL: [small] * 4}, noise)
    )
    assert verdict(above, 0.09, 0.51) == REPRODUCED
    assert verdict(below, 0.09, 0.51) == verdict(above, 0.11, 0.51) == verdict(above, 0.09, 0.49) == PARTLY
    assert verdict(below, 0.11, 0.49) == NOT_REPRODUCED
    opened = {LARGE: [100, None, 100, 100], SMALL: [300] * 4}  # a lower bound of 2 may be more than 3
    assert verdict(opened, 0.09, 0.51) == PARTLY
    assert verdict(opened, 0.11, 0.49) == NOT_REPRODUCED
    assert verdict({LARGE: [100, 200, 100, 100], SMALL: [300] * 4}, 0.09, 0.51) == REPRODUCED
    assert verdict({LARGE: [199] * 4, SMALL: [None] * 4}, 0.09, 0.51) == REPRODUCED  # where it may only be larger
    assert verdict({LARGE: [201] * 4, SMALL: [None] * 4}, 0.09, 0.51) == PARTLY
    means = {LARGE: [0.39, 0.0, 0.0, 0.0], SMALL: [1.0, 1.0, 0.01, 0.0]}  # .0975 and .5025
    assert status("bias-emb-mlp", emb_mlps(above, means, noise)) == REPRODUCED


def test_emb_mlp_with_noise() -> None:
    asks(
        "bias-emb-mlp-noise",
        "below .1 in every run at γ = .3",
        "below .1 in every run at γ = .8",
        "at .8 at least .25 more without noise",
    )
    ratio, fails = {LARGE: [100] * 4, SMALL: [300] * 4}, [0.0, 0.0, 0.0, 0.0]

    def verdict(large: Sequence[float], small: Sequence[float], without: Sequence[float]) -> str:
        held = {LARGE: fails, SMALL: without}  # at large initialization no noise is no help
        return status("bias-emb-mlp-noise", emb_mlps(ratio, held, {LARGE: large, SMALL: small}))

    last = lambda value: [0.0, 0.0, 0.0, value]
    assert verdict(last(0.09), last(0.09), [0.9] * 4) == REPRODUCED
    assert verdict(last(0.1), last(0.09), [0.9] * 4) == verdict(last(0.09), last(0.1), [0.9] * 4) == PARTLY
    assert verdict(last(0.1), last(0.1), [0.9] * 4) == PARTLY  # better without noise all the same
    assert verdict(last(0.1), last(0.1), fails) == NOT_REPRODUCED
    assert verdict(fails, fails, [0.251] * 4) == verdict(fails, fails, last(1.004)) == REPRODUCED  # means of all seeds
    assert verdict(fails, fails, [0.249] * 4) == verdict(fails, fails, last(0.996)) == PARTLY
    assert verdict(fails, [0.08] * 4, [0.331] * 4) == REPRODUCED
    assert verdict(fails, [0.08] * 4, [0.329] * 4) == PARTLY
    assert verdict([0.08] * 4, fails, [0.251] * 4) == REPRODUCED  # small initialization with and without noise


def tables(window: Sequence[int | None], last: Sequence[float | None], plain: int | None = 1000) -> list[Planted]:
    """Memory tables at the laptop profile: for each seed where the loss halves near the key, and where it ends (else at 1)."""
    found = []
    for spec in table_specs("laptop"):
        near = dict(spec.task)["memory"] == "window"
        halves = {"memory": window[spec.seed] if near else plain}
        found.append(planted(spec, halves, **{"memory loss": last[spec.seed] if near else 1.0}))
    return found


def test_labels_near_the_key() -> None:
    asks("bias-table-window", "in every seed fewer steps", "a lower loss at the end")
    verdict = lambda *how: status("bias-table-window", tables(*how))
    assert verdict([999] * 4, [0.9] * 4) == REPRODUCED
    assert verdict([4000] * 4, [0.9] * 4, None) == PARTLY  # at the last step, or never: no difference that could be told
    assert verdict([3999] * 4, [0.9] * 4, None) == REPRODUCED
    assert verdict([1, 1, 1, 1000], [0.9] * 4) == PARTLY
    assert verdict([999] * 4, [0.1, 0.1, 1.0, 0.1]) == PARTLY
    assert verdict([1, None, 1, 1], [1.1, 0.1, 0.1, 0.1]) == NOT_REPRODUCED
    assert verdict([999] * 4, [0.9, 0.9, None, 0.9]) == PARTLY  # a run that diverged has no loss at the end
    assert verdict([999, 999, None, 999], [0.9, 0.9, None, 0.9]) == NOT_REPRODUCED


def test_what_never_halves_takes_at_least_all_of_training() -> None:
    said = lambda *how: BY_ID["bias-table-window"].evaluate(Shelf(tables(*how)), "laptop")["measured"]
    assert said([999] * 4, [0.9] * 4).startswith(
        "half of the memory loss after 1,000 steps with labels from all keys, 999 steps with labels near the key; "
        "loss at the end 1.00 ± 0.00 and 0.90 ± 0.00 nats"
    )
    assert "after at least 4,000 steps (4 of 4 never) with labels from all keys, 999 steps with" in said(
        [999] * 4, [0.9] * 4, None
    )
    near = said([1000, None, 1000, 1000], [0.9] * 4).split("; ")[0]
    assert near.endswith("1,000 steps with labels from all keys, at least 1,750 steps (1 of 4 never) with labels near the key")


def own_labels() -> np.ndarray:
    """(4, 200) the labels of groups 1 … 4, uniform on 30 … 49, 69, 89 and 109."""
    return np.stack([((np.arange(200) >= 30) & (np.arange(200) < 30 + 20 * i)) / (20 * i) for i in range(1, 5)])


POOLED = np.array([0.3, 0.2, 0.3, 0.2]) @ own_labels()
"""The labels of all memory rows: three, two, three and two anchors in the groups."""
Share = Callable[[int, int], float]


def grouped(inside: Share = lambda seed, i: 1.0, pooled: Share = lambda seed, i: 0.0) -> list[Planted]:
    """Early outputs by seed and group 1 … 4: the group's labels, but for a share of those of all groups; of that only `inside`,
    the rest at the two labels just outside of the range. Later they are all wrong."""
    found = []
    for spec in table_specs("laptop"):
        output = np.zeros((4, 200))
        for i, labels in enumerate(own_labels(), start=1):
            v, m = inside(spec.seed, i), pooled(spec.seed, i)
            output[i - 1] = v * ((1 - m) * labels + m * POOLED)
            output[i - 1, [29, 30 + 20 * i]] += (1 - v) / 2
        run = planted(spec)
        early = memory_and_reasoning.early_step(replace(run, kept=dict.fromkeys(dict(spec.task)["keep"])))
        wrong = {step: {"groups": torch.eye(4, 200)} for step in dict(spec.task)["keep"]}
        found.append(replace(run, kept=wrong | {early: {"groups": torch.tensor(output, dtype=torch.float32)}}))
    return found


def test_outputs_of_groups_stay_in_their_ranges() -> None:
    """Nine tenths are little enough that one label more or less in a range would be noticed."""
    asks("bias-table-groups", "in each group and seed", "at least .9 of the mass inside")
    assert status("bias-table-groups", grouped(lambda seed, i: 0.905)) == REPRODUCED
    assert status("bias-table-groups", grouped(lambda seed, i: 0.895 if (seed, i) == (2, 4) else 0.95)) == PARTLY
    assert status("bias-table-groups", grouped(lambda seed, i: 0.895 if seed == 0 else 1)) == NOT_REPRODUCED


def test_outputs_of_groups_are_those_of_the_group() -> None:
    """As far from the group's labels as from those of all groups where the output is half of each. The pooled labels of groups
    3 and 4 lie inside their ranges to .95 and 1, so that the mass alone would not tell them apart."""
    asks("bias-table-groups", "nearer to the group's labels than to those of all groups")
    wide = lambda m, seeds=range(4): grouped(pooled=lambda seed, i: m if i > 2 and seed in seeds else 0.0)
    assert status("bias-table-groups", wide(0.49)) == REPRODUCED
    assert status("bias-table-groups", wide(0.51)) == status("bias-table-groups", wide(0.51, [1])) == PARTLY
    every = lambda m: grouped(pooled=lambda seed, i: m if i > 2 else 0.3)  # at .3 groups 1 and 2 have .86 and .94 inside
    assert status("bias-table-groups", every(0.49)) == PARTLY
    assert status("bias-table-groups", grouped(pooled=lambda seed, i: 1.0)) == NOT_REPRODUCED  # knows no group
    one = lambda i: grouped(pooled=lambda seed, j: 0.51 if (seed, j) == (3, i) else 0.0)
    for i in (3, 4):
        assert status("bias-table-groups", one(i)) == PARTLY
    said = lambda runs: BY_ID["bias-table-groups"].evaluate(Shelf(runs), "laptop")["measured"]
    assert "; 15 of 16 outputs are nearer to their group's labels" in said(one(4))
    assert "; 8 of 16 outputs are nearer to their group's labels" in said(wide(0.51))
    few = [r for r in grouped(pooled=lambda seed, i: 0.49 + 0.02 * (i % 2)) if dict(r.spec.task)["memory"] == "groups"]
    assert memory_and_reasoning.group_is_nearer(few[0]).tolist() == [False, True, False, True]


# ---------------------------------------------------------------- chapter 10: embeddings

Lie = Callable[[str, str], tuple[np.ndarray, np.ndarray]]
TIMES = {
    "Emb-MLP early": EARLY_EMB,
    "Emb-MLP late": LATE,
    "transformer early": EARLY,
    "transformer late": LATE,
    "no norms early": EARLY,
    "no norms late": LATE,
}


def models(profile: str) -> dict[str, list[RunSpec]]:
    return {"Emb-MLP": EMB.specs(profile), "transformer": bias_specs(profile), "no norms": long_specs(profile)["no norms"]}


def lies(at: Lie, last: Lie | None = None) -> list[Planted]:
    """All models with embeddings at(model, "early" or "late") → (memory, reasoning) at every snapshot in the first or second
    half; `last` for the last seed."""
    found = []
    for name, specs in models("laptop").items():
        for spec in specs:
            keep = dict(spec.task)["keep"]
            how = last if last is not None and spec.seed == 3 else at
            when = lambda step, spec=spec: "early" if step < 0.5 * spec.train.steps else "late"
            found.append(planted(spec, kept={step: lying(*how(name, when(step))) for step in keep}))
    return found


SHUFFLED = on_an_arc()[[4, 9, 0, 6, 2, 8, 1, 5, 7, 3]]


def test_the_times_of_the_paper_are_met_by_snapshots() -> None:
    """To a factor of √2 at the profiles that claim anything, and in the order of the paper."""
    for profile in ("laptop", "paper"):
        specs = [spec for group in models(profile).values() for spec in group]
        runs = [planted(s, kept={step: {} for step in dict(s.task)["keep"]}) for s in specs]
        found = embeddings.at_times(Shelf(runs), profile)
        assert found.keys() == TIMES.keys()
        for name, (group, step) in found.items():
            assert {r.spec.gamma for r in group} == {SMALL}
            assert {r.spec for r in group} <= set(models(profile)[name.rsplit(" ", 1)[0]])
            assert not any(dict(r.spec.task).get("noise") for r in group)
            assert 0.7 < step / (TIMES[name] * group[0].spec.train.steps) < 1.42, name
        for name in models(profile):
            assert found[f"{name} early"][1] < found[f"{name} late"][1]


def test_cosines_fall_with_distance() -> None:
    asks("embedding-distance", "at most −.9 in every seed", "one part for each model and time")
    line = lambda model, time: (alike(0.5), on_an_arc())
    shuffled = lambda model, time: (alike(0.5), SHUFFLED)
    assert status("embedding-distance", lies(line)) == REPRODUCED
    assert (
        status("embedding-distance", lies(lambda m, t: shuffled(m, t) if (m, t) == ("Emb-MLP", "early") else line(m, t)))
        == PARTLY
    )
    plain = lies(lambda m, t: shuffled(m, t) if m == "no norms" else line(m, t))
    assert failed("embedding-distance", plain) == ["no norms early", "no norms late"]
    assert status("embedding-distance", lies(line, shuffled)) == NOT_REPRODUCED  # one seed of four in every part


@pytest.mark.parametrize(
    ("lags", "expected"), [([2, 1, 0, 4, 3, 5, 6, 7, 8], REPRODUCED), ([2, 1, 0, 4, 3, 6, 5, 8, 7], NOT_REPRODUCED)]
)
def test_the_bar_of_falling(monkeypatch: pytest.MonkeyPatch, lags: list[int], expected: str) -> None:
    """Nine means that fall but for a few swaps: squared ranks differ by 10 or 14, so −1 + 6 · 10 / 720 = −.917 or −.883."""
    monkeypatch.setattr(embeddings, "lag_cosines", lambda runs, step: -np.array([lags], float))
    assert status("embedding-distance", lies(lambda m, t: (alike(0.5), on_an_arc()))) == expected


def test_memory_anchors_stay_alike() -> None:
    asks("embedding-memory-alike", "at least .5 in every seed")
    at = lambda early, late: lambda m, t: (alike(early if t == "early" else late), on_an_arc())
    assert status("embedding-memory-alike", lies(at(0.51, 0.51))) == REPRODUCED
    assert status("embedding-memory-alike", lies(at(0.51, 0.49))) == PARTLY
    assert status("embedding-memory-alike", lies(at(0.51, 0.51), at(0.49, 0.51))) == PARTLY
    assert status("embedding-memory-alike", lies(at(0.49, 0.49))) == NOT_REPRODUCED


def test_numeric_order_is_judged_late_in_the_transformer(monkeypatch: pytest.MonkeyPatch) -> None:
    asks("embedding-plane", "at least .9 in every seed", "below .5 for memory anchors")
    line = lambda m, t: (SHUFFLED, on_an_arc())
    assert status("embedding-plane", lies(line)) == REPRODUCED
    assert (
        status("embedding-plane", lies(lambda m, t: line(m, t) if (m, t) == ("transformer", "late") else line(m, t)[::-1]))
        == REPRODUCED
    )
    assert status("embedding-plane", lies(lambda m, t: (on_an_arc(), on_an_arc()))) == PARTLY
    assert status("embedding-plane", lies(line, lambda m, t: (SHUFFLED, SHUFFLED))) == PARTLY
    assert status("embedding-plane", lies(lambda m, t: line(m, t)[::-1])) == NOT_REPRODUCED
    for own, memory, expected in (
        (0.91, 0.49, REPRODUCED),
        (0.89, 0.49, PARTLY),
        (0.91, 0.5, PARTLY),
        (0.89, 0.5, NOT_REPRODUCED),
    ):
        monkeypatch.setattr(embeddings, "order", lambda v, own=own, memory=memory: own if v[1, 1] else memory)
        assert status("embedding-plane", lies(lambda m, t: (np.zeros((10, 11)), on_an_arc()))) == expected


def test_distributions_are_checked_without_any_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asks("embedding-distributions", "within .001")
    assert status("embedding-distributions") == REPRODUCED
    checked = embedding_claims.CHECKED
    monkeypatch.setattr(embedding_claims, "CHECKED", (*checked[:4], checked[4] + 0.0016, *checked[5:]))
    assert status("embedding-distributions") == NOT_REPRODUCED


def in_theory(name: str) -> np.ndarray:
    """Cosines of reasoning anchors by a theory."""
    return embeddings.theories(200)[name]


def bumps(width: float) -> np.ndarray:
    """(10, 200) vectors of Eq. 12 with this σ_P, without noise."""
    return np.exp(-((np.arange(200) - np.arange(11, 21)[:, None]) ** 2) / (2 * width**2)) - 1 / 200


def test_a_shape_of_any_spread_by_hand() -> None:
    shape, key = theory.fitted_shape(15, 40, spread=2.0), theory.fitted_shape(30, 40, key=True, spread=5.0)
    np.testing.assert_allclose(shape[[15, 17, 11]], np.exp([0, -0.5, -2]) - 1 / 40)
    np.testing.assert_allclose(key[[30, 35, 20]], np.exp([0, -0.5, -2]))
    np.testing.assert_allclose([theory.fitted_shape(s, 200, spread=7.0) for s in REASONING], bumps(7.0))
    assert pytest.approx(6**0.5) == theory.SPREAD


def test_the_spread_that_fits_best_is_one_for_all_runs() -> None:
    """Three runs of one spread and one of another: no spread between them is nearer to all four than that of the three."""
    several, one = embeddings.SPREADS[40], embeddings.SPREADS[25]
    lie = lambda width: lying(np.eye(10, 200), bumps(width))
    widths = {0: several, 1: several, 2: one, 3: several}
    specs = [s for s in bias_specs("laptop") if s.gamma == SMALL]
    runs = [planted(s, kept={200: lie(1.0), 400: lie(widths[s.seed]), 600: lie(30.0)}) for s in specs]
    best, off = embeddings.best_spread(runs, 400)
    assert best == several
    apart = np.abs(cosines(bumps(several), bumps(several)) - cosines(bumps(one), bumps(one))).sum() / 90
    assert apart > 0.1
    np.testing.assert_allclose(off, [0, 0, apart, 0], atol=1e-9)


@pytest.mark.parametrize("width", [1.5, 4.0, 8.0, 20.0])
def test_theorem_1_may_have_any_spread(width: float) -> None:
    """Late in the transformer, and in no other model or time; at other initializations all may be otherwise."""
    runs = lies(lambda m, t: (np.eye(10, 200), bumps(width) if (m, t) == ("transformer", "late") else np.eye(10, 200)))
    record = BY_ID["embedding-theorem-1"].evaluate(Shelf(runs), "laptop")
    assert (record["status"], record["n_seeds"]) == (REPRODUCED, 4)
    found = min(embeddings.SPREADS, key=lambda v: abs(v - width))
    assert f" 0.00 at the σ_P that fits best, {found:.2f}; " in record["measured"]
    mirrored = lies(lambda m, t: (bumps(width), np.eye(10, 200) if (m, t) == ("transformer", "late") else bumps(width)))
    assert status("embedding-theorem-1", mirrored) == NOT_REPRODUCED


def test_the_bar_of_theorem_1(monkeypatch: pytest.MonkeyPatch) -> None:
    asks("embedding-theorem-1", "the one σ_P that fits best", "at most .1 in every seed")
    runs = lies(lambda m, t: (np.eye(10, 200), bumps(6**0.5)))  # at the paper's spread all would be right

    def verdict(*by_seed: float) -> str:
        monkeypatch.setattr(embeddings, "best_spread", lambda runs, step: (4.0, np.array(by_seed)))
        return status("embedding-theorem-1", runs)

    assert verdict(0.099, 0.0, 0.099, 0.099) == REPRODUCED
    assert verdict(0.0, 0.0, 0.0, 0.101) == NOT_REPRODUCED
    measured = BY_ID["embedding-theorem-1"].evaluate(Shelf(runs), "laptop")["measured"]
    other = np.abs(embeddings.off_diagonal(in_theory("P^s") - cosines(bumps(6**0.5), bumps(6**0.5)))).mean()
    assert measured.endswith(f"0.00 at the paper's √6 = 2.45, {other:.2f} for P^s")


def with_tokens(monkeypatch: pytest.MonkeyPatch, tokens: Callable[[RunSpec], np.ndarray]) -> list[Planted]:
    """The main runs with these embeddings of all tokens, (200, D), among their weights."""
    weights = lambda run: {"embedding.token": torch.tensor(tokens(run.spec)), "head.weight": torch.ones(3, 3)}
    monkeypatch.setattr(StoredRun, "weights", weights)
    return [planted(spec) for spec in bias_specs("laptop")]


def lie_of_all(reasoning: Sequence[int], memory: Sequence[int], hidden: Sequence[int]) -> np.ndarray:
    """(200, 64) keys far apart along a first axis and on both sides of a second, anchors in these places along it; along
    a third, where others do not vary, reasoning anchors in other places. What is no anchor or key is far off."""
    found = np.zeros((200, 64))
    found[:, 5] = 1e6 * (-1.0) ** np.arange(200)
    found[1:121, 5] = 0
    keys = np.arange(FIRST_KEY, LAST_KEY + 1)
    found[keys, 0], found[keys, 1] = 100.0 * (keys - keys.mean()), 400 * (-1.0) ** keys
    found[list(MEMORY), 1] = 40.0 * np.array(memory) - 180
    found[list(REASONING), 1] = 40.0 * np.array(reasoning) - 180
    found[list(REASONING), 2] = 80.0 * np.array(hidden) - 360
    return found


ORDER, MIXED = range(10), (4, 9, 0, 6, 2, 8, 1, 5, 7, 3)


def test_the_plane_of_the_entire_embedding_is_that_of_all_anchors_and_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reasoning anchors in order in a direction of their own are not so in the plane that has most of all tokens' variance."""
    tokens = lie_of_all(MIXED, ORDER, ORDER)
    run = with_tokens(monkeypatch, lambda spec: tokens)[0]
    np.testing.assert_array_equal(embeddings.whole_embedding(run), tokens.astype(np.float32))
    found = embeddings.in_the_whole_plane(run)
    assert {kind: points.shape for kind, points in found.items()} == {"reasoning": (10, 2), "memory": (10, 2), "key": (100, 2)}
    for kind, where in (("reasoning", REASONING), ("memory", MEMORY), ("key", range(FIRST_KEY, LAST_KEY + 1))):
        plane = tokens[list(where), :2]
        apart = lambda v: np.linalg.norm(v[:, None] - v[None], axis=-1)
        np.testing.assert_allclose(apart(found[kind]), apart(plane), atol=15, err_msg=kind)  # of steps of 40 and 100
    orders = embeddings.plane_orders(run)
    mixed = numerical_order(np.array(MIXED)[:, None])
    assert mixed < 0.5
    assert orders["reasoning"] == pytest.approx(mixed, abs=0.1)
    assert min(orders["memory"], orders["key"]) > 0.95
    assert embeddings.order(tokens[list(REASONING)]) > 0.7


def test_order_in_the_whole_plane(monkeypatch: pytest.MonkeyPatch) -> None:
    id = "embedding-plane-whole"
    asks(id, "in this plane at least .75 in every seed", "below .5 for memory anchors", "asked after the results")
    good, bad = lie_of_all(ORDER, MIXED, MIXED), lie_of_all(MIXED, ORDER, ORDER)
    assert status(id, with_tokens(monkeypatch, lambda s: good if s.gamma == SMALL else bad)) == REPRODUCED
    assert status(id, with_tokens(monkeypatch, lambda s: bad)) == NOT_REPRODUCED
    assert status(id, with_tokens(monkeypatch, lambda s: lie_of_all(ORDER, ORDER, MIXED))) == PARTLY

    def verdict(reasoning: float, memory: float, seed: int | None = None) -> str:
        """These orders in one seed or in all; the others have what is right."""
        orders = lambda run: (reasoning, memory) if seed in (None, run.spec.seed) else (0.9, 0.1)
        monkeypatch.setattr(
            embeddings, "plane_orders", lambda run: dict(zip(("reasoning", "memory"), orders(run), strict=True)) | {"key": 0.2}
        )
        return status(id, [planted(spec) for spec in bias_specs("laptop")])

    assert verdict(0.75, 0.49) == REPRODUCED  # the keys' own is told alone
    assert verdict(0.74, 0.49) == verdict(0.75, 0.5) == verdict(0.74, 0.49, 3) == verdict(0.75, 0.5, 2) == PARTLY
    assert verdict(0.74, 0.5, 1) == NOT_REPRODUCED
    measured = BY_ID[id].evaluate(Shelf([planted(spec) for spec in bias_specs("laptop")]), "laptop")["measured"]
    assert measured == (
        "order in the plane of the entire embedding, by seed: reasoning anchors 0.90, 0.74, 0.90, 0.90; keys 0.20, 0.20, 0.20, "
        "0.20; memory anchors 0.10, 0.50, 0.10, 0.10"
    )


def with_cosines(matrix: np.ndarray) -> np.ndarray:
    """(10, 10) vectors that have these cosines with each other."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(values.clip(0))


def start_of(spec: RunSpec) -> np.ndarray:
    return at_start(spec).embedding.token[0, 1:21].numpy().astype(float)


def went(spec: RunSpec, memory: np.ndarray, reasoning: np.ndarray, size: float = 1.0) -> dict[str, Tensor]:
    """A snapshot of embeddings that have moved by these, (10, ≤ D) each, from where the run starts."""
    by = [np.pad(v, ((0, 0), (0, spec.model.d_model - v.shape[1]))) for v in (memory, reasoning)]
    return {"anchors": torch.tensor(start_of(spec) + size * np.concatenate(by))}


def moving(
    off: Callable[[RunSpec], float], memory: Callable[[RunSpec], float], at: int = 0, size: float = 1e-4
) -> list[Planted]:
    """Emb-MLPs whose anchors have moved, at a snapshot, by little as against their start: reasoning anchors with cosines that
    are this much below the exact ones on average, memory anchors with this cosine. Elsewhere they are as they never should."""
    exact, found = in_theory("P^s"), []
    level = embeddings.off_diagonal(exact).mean()
    bad = (np.eye(10), np.eye(10))
    for spec in EMB.specs("laptop"):
        keep = dict(spec.task)["keep"]
        if spec.gamma != SMALL or dict(spec.task)["noise"]:
            found.append(planted(spec, kept=dict.fromkeys(keep, went(spec, *bad))))
            continue
        share = off(spec) / level
        good = went(spec, alike(memory(spec)), with_cosines((1 - share) * exact + share * np.eye(10)), size)
        found.append(planted(spec, kept={step: good if i == at else went(spec, *bad) for i, step in enumerate(keep)}))
    return found


def test_what_has_moved_is_judged_at_the_first_snapshot() -> None:
    """A distance of .101 below the exact cosines is .02 from those that are counted in the training set."""
    asks("embedding-moves-as-distributions", "at the first snapshot, every seed", "at most .1", "memory anchors at least .9")
    verdict = lambda off, memory, **how: status(
        "embedding-moves-as-distributions", moving(lambda s: off, lambda s: memory, **how)
    )
    assert verdict(0.099, 0.901) == verdict(0.0, 1.0) == REPRODUCED
    assert verdict(0.101, 0.901) == verdict(0.099, 0.899) == PARTLY
    assert verdict(0.101, 0.899) == NOT_REPRODUCED
    assert verdict(0.0, 1.0, at=1) == NOT_REPRODUCED
    last = lambda one, other: lambda s: other if s.seed == 3 else one
    one_seed = lambda off, memory: status("embedding-moves-as-distributions", moving(off, memory))
    assert one_seed(last(0.0, 0.101), lambda s: 1.0) == one_seed(lambda s: 0.0, last(1.0, 0.899)) == PARTLY
    assert one_seed(last(0.0, 0.101), last(1.0, 0.899)) == NOT_REPRODUCED
    record = BY_ID["embedding-moves-as-distributions"].evaluate(Shelf(moving(lambda s: 0.05, lambda s: 0.95)), "laptop")
    exact = in_theory("P^s")
    share = 1 - 0.05 / embeddings.off_diagonal(exact).mean()
    near, far = share * exact[0, 1], share * exact[0, 9]
    assert record["n_seeds"] == 4
    assert record["measured"] == (
        "after 1 epoch mean deviation from the exact distributions 0.05; at distance 1 and 9 "
        f"{near:.2f} and {far:.2f}; memory anchors 0.95, where they have 1"
    )


def test_what_has_moved_is_not_where_it_is() -> None:
    """Embeddings with the right cosines that came there from a random start, by as much as this start is large."""
    exact = with_cosines(in_theory("P^s"))
    found = []
    for spec in EMB.specs("laptop"):
        near = 1e-2 * np.concatenate([np.ones((10, 10)), exact])
        anchors = torch.tensor(np.pad(near, ((0, 0), (0, spec.model.d_model - 10))))
        found.append(planted(spec, kept={step: {"anchors": anchors} for step in dict(spec.task)["keep"]}))
    small = [r for r in found if r.spec.gamma == SMALL]
    np.testing.assert_allclose(embeddings.anchor_cosines(small[0], "reasoning"), in_theory("P^s"), atol=1e-9)
    assert status("embedding-moves-as-distributions", found) == NOT_REPRODUCED


def test_cosines_of_what_has_moved_by_hand() -> None:
    spec = EMB.specs("laptop")[0]
    run = planted(spec, kept={200: went(spec, alike(0.25), on_an_arc(), 1e-3), 400: went(spec, alike(0.75), on_an_arc(0.2))})
    np.testing.assert_allclose(embeddings.by_lag(embeddings.moved_cosines(run, 200)), np.cos(0.1 * np.arange(1, 10)))
    np.testing.assert_allclose(embeddings.by_lag(embeddings.moved_cosines(run, 400)), np.cos(0.2 * np.arange(1, 10)))
    for step, expected in ((200, 0.25), (400, 0.75)):
        np.testing.assert_allclose(embeddings.off_diagonal(embeddings.moved_cosines(run, step, "memory")), expected)


FLOWS = {"embedding-flow-emb-mlp": "Emb-MLP", "embedding-flow-one-layer": QUIET, "embedding-flow-positions": QUIET}


def flowing(
    monkeypatch: pytest.MonkeyPatch,
    error: Callable[[RunSpec, bool], float],
    cosine: float,
    left: Callable[[RunSpec], tuple[float, float, float]] = lambda spec: (1, 0.991, 0.989),
) -> list[Planted]:
    """Runs whose loss has fallen by .9 % at the second snapshot and by 1.1 % at the third; `left` is what is left of it. At
    the third all is right; at the second error and cosine are these; at the first both are bad."""

    def found(run: StoredRun, exact: bool) -> FlowError:
        e = {
            "memory": np.zeros((3, 10)),
            "reasoning": np.array([[9.0], [2 * error(run.spec, exact)], [0.0]]) + np.zeros((3, 10)),
        }
        c = {kind: np.array([[0.0], [cosine], [1.0]]) + np.zeros((3, 10)) for kind in ("memory", "reasoning")}
        return FlowError(np.array([10, 20, 30]), e, c, c, np.array([0.1, 0.2, 0.3]))

    monkeypatch.setattr(embeddings, "flow_error", found)
    history = lambda spec: {"step": [10, 20, 30], "loss": [part * FIRST for part in left(spec)]}
    return [replace(planted(spec), history=history(spec)) for specs in flow_specs("laptop").values() for spec in specs]


@pytest.mark.parametrize("id", FLOWS)
def test_flow_and_training_are_compared_until_the_loss_falls(monkeypatch: pytest.MonkeyPatch, id: str) -> None:
    verdict = lambda error, cosine: status(id, flowing(monkeypatch, error, cosine))
    assert verdict(lambda spec, exact: 0.24, 0.96) == REPRODUCED
    assert verdict(lambda spec, exact: 0.26, 0.96) == verdict(lambda spec, exact: 0.24, 0.94) == PARTLY
    assert verdict(lambda spec, exact: 0.26, 0.94) == NOT_REPRODUCED
    assert verdict(lambda spec, exact: 0.26 if spec.seed == 1 else 0.1, 0.96) == PARTLY  # every seed
    own = set(flow_specs("laptop")[FLOWS[id]])  # for one layer, those with the larger batch alone
    right = lambda spec, exact: 0.1 if spec in own and exact is ("positions" in id) else 0.9
    assert verdict(right, 0.96) == REPRODUCED
    runs = flowing(monkeypatch, lambda spec, exact: 0.1, 0.96)
    record = BY_ID[id].evaluate(Shelf(runs), "laptop")
    assert record["n_seeds"] == (2 if FLOWS[id] == QUIET else 4)
    assert record["measured"].startswith(
        "after 20 steps: the loss has fallen by 0.9 %, embeddings have moved by 0.20 of their "
    )
    ends = flowing(monkeypatch, lambda spec, exact: 0.1, 0.96, lambda spec: (1, 0.999, 0.998))
    assert BY_ID[id].evaluate(Shelf(ends), "laptop")["measured"].startswith("after 30 steps, where the runs end: the loss has ")


def test_the_words_of_the_flow() -> None:
    words = ("at the last snapshot before the loss has fallen by 1 %", "at most .25", "at least .95", "every seed")
    asks("embedding-flow-emb-mlp", *words)
    for id in ("embedding-flow-one-layer", "embedding-flow-positions"):
        asks(id, "the same")
    asks("embedding-flow-one-layer", "ten times the batch")
    assert pytest.approx(0.01) == embeddings.FEW


@pytest.mark.parametrize("id", FLOWS)
def test_a_loss_that_falls_before_the_first_snapshot_leaves_nothing_to_compare(
    monkeypatch: pytest.MonkeyPatch, id: str
) -> None:
    """Where all was right at the end."""
    right = lambda spec, exact: 0.0
    fell, not_yet = (0.989, 0.5, 0.1), (0.991, 0.5, 0.1)
    record = BY_ID[id].evaluate(Shelf(flowing(monkeypatch, right, 1.0, lambda spec: fell)), "laptop")
    assert (record["status"], record["n_seeds"]) == (NOT_RUN, 0)
    assert "has fallen before the first snapshot" in record["measured"]
    one = flowing(monkeypatch, right, 1.0, lambda spec: fell if spec.seed == 1 else (1, 1, 1))
    assert status(id, one) == NOT_RUN
    assert status(id, flowing(monkeypatch, right, 1.0, lambda spec: not_yet)) == NOT_REPRODUCED  # at the first both are bad
    with pytest.raises(LookupError, match="before the first snapshot"):
        embeddings.flow_numbers(flowing(monkeypatch, right, 1.0, lambda spec: fell)[0], exact=False)


def test_the_loss_before_training_is_that_of_the_two_trained_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mean; the held-out pairs are not trained."""
    first = {"memory": 0.5 * FIRST, "reasoning": 1.5 * FIRST, "held out": 9 * FIRST}
    monkeypatch.setattr(ratios, "first_losses", lambda run: first)
    runs = flowing(monkeypatch, lambda spec, exact: 0.24, 0.96)
    assert embeddings.flow_numbers(runs[0], exact=False) == pytest.approx((0.24, 0.96))
    found = embeddings.compared(runs[0], exact=False)
    assert (found.step, found.grown, found.ended) == (20, 0.2, False)
    assert found.fallen == pytest.approx(0.009)
    assert found.error == pytest.approx({"memory": 0, "reasoning": 0.48})
    assert [found.agrees(kind) for kind in ("memory", "reasoning")] == [True, False]


# ---------------------------------------------------------------- chapter 11: attention


def test_the_lemma_needs_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asks("attention-lemma", "falls at every step of γ", "at most .01 in every seed at γ = .8")

    def verdict(epsilon: Callable[[RunSpec], float]) -> str:
        monkeypatch.setattr(attention, "deviation_at_start", epsilon)
        return status("attention-lemma")

    assert verdict(lambda s: 10 ** (-2.6 * s.gamma)) == REPRODUCED  # .0083 at .8
    assert verdict(lambda s: 10 ** (-2.4 * s.gamma)) == PARTLY  # .012
    assert verdict(lambda s: 10 ** (-2.6 * s.gamma) * (1.3 if s.seed == 2 else 1)) == PARTLY  # .0108 in one seed
    assert verdict(lambda s: 0.001 if s.gamma in (0.4, 0.5) else 10 ** (-4 * s.gamma)) == PARTLY  # as much at .4 as at .5
    assert verdict(lambda s: 0.5) == NOT_REPRODUCED


Snapshot = Callable[[RunSpec], dict[str, Tensor]]


def snapped(at: Snapshot) -> list[Planted]:
    """Transformers with this snapshot at a twentieth of training, and with nonsense before and after."""
    found = []
    for spec in bias_specs("laptop"):
        run = planted(spec, kept={step: {} for step in dict(spec.task)["keep"]})
        early, now = attention.beginning([run]), at(spec)
        nonsense = {name: torch.full_like(value, 0.3) for name, value in now.items()}
        found.append(replace(run, kept=dict.fromkeys(run.kept, nonsense) | {early: now}))
    return found


@pytest.mark.parametrize("id", ["attention-one-direction", "attention-alignment"])
def test_a_twentieth_of_training_is_a_twentieth(id: str) -> None:
    asks(id, "at a twentieth of training", "in every seed")
    for profile in ("laptop", "paper"):
        specs = bias_specs(profile)
        run = planted(specs[0], kept={step: {} for step in dict(specs[0].task)["keep"]})
        assert attention.beginning([run]) == specs[0].train.steps // 20


def from_average(run: Planted, far: Callable[[int], float]) -> Planted:
    """The run with a first attention to one sequence this far from the causal average, by the number of the snapshot, in one
    entry; the mean over sequences is always far."""
    at = lambda i: causal_average(9) - far(i) * torch.outer(torch.eye(9)[3], torch.eye(9)[1])
    kept = {
        step: {"attention": causal_average(9) + 0.3 * torch.eye(9), "deviation": (at(i) - causal_average(9)).abs()}
        for i, step in enumerate(dict(run.spec.task)["keep"])
    }
    return replace(run, kept=kept)


def test_the_share_of_snapshots_near_the_average_by_hand() -> None:
    """Nine snapshots of twelve are from a twentieth of training on; what was before does not count."""
    run = planted(bias_specs("laptop")[0])
    share = lambda far: attention.near_average(from_average(run, far), single=True)
    mean = {step: {"attention": causal_average(9), "deviation": torch.ones(9, 9)} for step in dict(run.spec.task)["keep"]}
    assert attention.near_average(replace(run, kept=mean)) == 1  # the mean over sequences may be near where they are not
    assert attention.near_average(replace(run, kept=mean), single=True) == 0
    assert share(lambda i: 0.099) == 1
    assert share(lambda i: 0.101) == share(lambda i: -0.101) == 0
    assert share(lambda i: 0.0 if i < 3 else 0.2) == 0
    assert share(lambda i: 0.2 if i < 3 else 0.0) == 1
    assert share(lambda i: 0.2 if i in (3, 11) else 0.0) == pytest.approx(7 / 9)
    assert share(lambda i: 0.2 if i == 2 else 0.0) == 1


def test_attention_stays_near_the_causal_average() -> None:
    """One part a seed: more than half of the snapshots, that is five of nine."""
    asks("attention-causal", "more than .1 from 1 / i", "more than .5 of the snapshots", "from a twentieth of training on")
    asks("attention-causal", "one part for each seed", "any single one of 64 sequences")

    def runs(near: Callable[[RunSpec], int]) -> list[Planted]:
        far = lambda spec: lambda i: 0.099 if i < 3 + near(spec) else 0.2
        return [from_average(planted(s), far(s)) for s in bias_specs("laptop")]

    small = lambda value, other: runs(lambda s: value if s.gamma == SMALL else other)
    assert status("attention-causal", small(5, 0)) == REPRODUCED  # small initialization is what is asked
    assert status("attention-causal", small(4, 9)) == NOT_REPRODUCED
    assert failed("attention-causal", runs(lambda s: 4 if s.seed in (1, 3) else 9)) == ["seed 1", "seed 3"]
    record = BY_ID["attention-causal"].evaluate(Shelf(runs(lambda s: 2 * s.seed)), "laptop")
    assert (record["status"], record["n_seeds"]) == (PARTLY, 4)
    assert record["measured"] == (
        "share of snapshots near the average, by seed: in single sequences 0.00, 0.22, 0.44, 0.67, of the mean over sequences "
        "0.00, 0.00, 0.00, 0.00; largest distance from 1 / i in a sequence after 10 epochs 0.20, 0.10, 0.10, 0.10, at the end "
        "0.20, 0.20, 0.20, 0.20"
    )


def test_half_of_the_snapshots_are_not_more_than_half() -> None:
    few = lambda run: replace(run, kept={step: run.kept[step] for step in (2000, 40_000)})
    runs = [few(from_average(planted(s), lambda i: 0.2 if i == 11 else 0.0)) for s in bias_specs("laptop")]
    assert attention.near_average(runs[0], single=True) == 0.5
    assert status("attention-causal", runs) == NOT_REPRODUCED


def test_one_singular_value_stands_out() -> None:
    asks("attention-one-direction", "at least 2 times the second")
    values = lambda *by_seed: snapped(lambda s: {"spectrum": torch.tensor([by_seed[s.seed], 1.0, 0.5])})
    assert status("attention-one-direction", values(2.1, 9.0, 9.0, 9.0)) == REPRODUCED
    assert status("attention-one-direction", values(1.9, 9.0, 9.0, 9.0)) == NOT_REPRODUCED


def test_the_direction_is_that_of_the_reasoning_anchors() -> None:
    asks("attention-alignment", "at least .5 with reasoning", "at most .2 with memory")

    def verdict(reasoning: float, memory: float) -> str:
        """Half of the anchors of a kind point against the direction; what counts is the size of the cosine."""

        def at(spec: RunSpec) -> dict[str, Tensor]:
            cosine = torch.tensor([memory] * 10 + [reasoning] * 10) * torch.tensor([1.0, -1.0]).repeat(10)
            anchors = torch.stack([cosine, (1 - cosine**2).sqrt()], 1)
            return {"anchors": 3 * anchors, "direction": torch.tensor([1.0, 0.0])}

        return status("attention-alignment", snapped(at))

    assert verdict(0.51, 0.19) == REPRODUCED
    assert verdict(0.49, 0.19) == verdict(0.51, 0.21) == PARTLY
    assert verdict(0.49, 0.21) == NOT_REPRODUCED


def seed_by_seed(values: Mapping[int, float], other: float) -> Callable[[StoredRun], float]:
    """Values of small initialization by seed; of other γ none is asked for."""

    def of_run(run: StoredRun) -> float:
        assert run.spec.gamma == SMALL
        return values.get(run.spec.seed, other)

    return of_run


TWELVE = [*bias_specs("laptop"), *more_specs("laptop")]


def test_the_second_attention_reads_the_key_in_most_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is, in 9 of 12: four were trained at first, and eight more."""
    asks("attention-second-key", "at least .8", "at each place", "in at least 75% of the seeds")

    def record(bad: Mapping[int, float], place: int = 4, specs: Sequence[RunSpec] = TWELVE) -> dict[str, object]:
        value = seed_by_seed(bad, 0.81)

        def reading(run: StoredRun) -> np.ndarray:
            found = np.full((2, 7, 4), 0.9)
            found[0], found[..., 1:], found[1, place, 0] = 0.0, 0.0, value(run)
            return found

        monkeypatch.setattr(attention, "reading", reading)
        return BY_ID["attention-second-key"].evaluate(Shelf(map(planted, specs)), "laptop")

    three, four = dict.fromkeys((1, 4, 11), 0.79), dict.fromkeys((1, 4, 7, 11), 0.79)
    assert record({})["status"] == record(three)["status"] == record(three, 6)["status"] == REPRODUCED
    assert record(four)["status"] == record(four, 0)["status"] == NOT_REPRODUCED
    assert record(dict.fromkeys(range(4), 0.79))["status"] == NOT_REPRODUCED
    assert record(three)["n_seeds"] == 12
    assert record(three)["measured"].endswith(" at least .8 in 9 of 12 seeds (0.81), 0.79 in the others")
    assert record({})["measured"].endswith(" at least .8 in all 12 seeds (0.81)")
    assert record(dict.fromkeys(range(12), 0.5) | {7: 0.79})["measured"].endswith(" in none of 12 seeds (0.50 to 0.79)")
    assert record({}, specs=bias_specs("laptop"))["status"] == NOT_RUN
    assert record({}, specs=TWELVE[:-1])["status"] == NOT_RUN


def test_the_second_attention_moves_with_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    asks("attention-second-place", "at least .5 goes there", "at most .2 stays", "in at least 75% of the seeds")

    def verdict(right: tuple[float, float], bad: tuple[float, float] = (0.0, 1.0), seeds: Sequence[int] = ()) -> str:
        same = {"itself": (1.0, 0.0), "same place": (1.0, 0.0)}
        value = seed_by_seed(dict.fromkeys(seeds, bad), right)
        monkeypatch.setattr(attention, "moved", lambda run: same | {"other place": value(run)})
        return status("attention-second-place", map(planted, TWELVE))

    assert verdict((0.2, 0.5)) == REPRODUCED
    assert verdict((0.21, 0.5)) == verdict((0.2, 0.49)) == NOT_REPRODUCED
    assert verdict((0.1, 0.6), (0.21, 0.6), (0, 5, 11)) == verdict((0.1, 0.6), (0.1, 0.49), (0, 5, 11)) == REPRODUCED
    assert verdict((0.1, 0.6), (0.21, 0.6), (0, 5, 6, 11)) == verdict((0.1, 0.6), (0.1, 0.49), (0, 1, 2, 3)) == NOT_REPRODUCED
    measured = BY_ID["attention-second-place"].evaluate(Shelf(map(planted, TWELVE)), "laptop")["measured"]
    assert measured.endswith(
        ", so in 8 of 12 seeds (0.60), 0.49 in the others, by the weight that goes there; what stays: 0.10"
    )


def ablated(ratio: Callable[[str, float, int], int | None], never: Sequence[tuple[str, float]] = ()) -> list[Planted]:
    """Ablations whose memory halves after ratio(name, γ, seed) percent of reasoning's steps; reasoning never does at some. Of
    the lower rate it is the long runs': the short ones learn nothing."""
    slower = "rate / 2.5"
    found = [planted(spec) for spec in ablation_specs("laptop")[slower]]
    for name, specs in (ablation_specs("laptop") | {slower: long_specs("laptop")[slower]}).items():
        for spec in specs:
            reasoning = None if (name, spec.gamma) in never else 100
            found.append(planted(spec, {"reasoning": reasoning, "memory": ratio(name, spec.gamma, spec.seed)}))
    return found


def test_the_bias_survives_ablations_one_by_one() -> None:
    asks("attention-ablations", "every ratio at γ = .8 above every one at .3", "no lower bounds", "one part for each ablation")
    more = lambda name, gamma, seed: 302 + seed if gamma == SMALL else 298 + seed
    less = lambda name, gamma, seed: 300 if gamma == LARGE else 299
    assert status("attention-ablations", ablated(more)) == REPRODUCED
    assert status("attention-ablations", ablated(less)) == NOT_REPRODUCED
    assert status("attention-ablations", ablated(lambda n, g, s: less(n, g, s) if n == "no norms" else more(n, g, s))) == PARTLY
    whole = lambda n, g, s: less(n, g, s) if n == ABLATIONS[0] else more(n, g, s)
    assert status("attention-ablations", ablated(whole)) == REPRODUCED  # the model as it is is no ablation
    assert status("attention-ablations", ablated(more, never=[("no head", LARGE)])) == PARTLY
    overlap = lambda n, g, s: 299 if (n, g, s) == ("rate × 2", SMALL, 1) else more(n, g, s)  # where .3 has 2.98 to 3.00
    assert status("attention-ablations", ablated(overlap)) == PARTLY
    bound = lambda n, g, s: None if (n, g, s) == ("no norms", LARGE, 2) else 5000 if g == SMALL else 300
    assert status("attention-ablations", ablated(bound)) == PARTLY  # 50, but 40 or more at .3
    opened = lambda n, g, s: more(n, g, s) if g == LARGE else None
    assert status("attention-ablations", ablated(opened)) == REPRODUCED  # lower bounds at .8 may only be larger
    record = BY_ID["attention-ablations"].evaluate(Shelf(ablated(more, never=[("no head", LARGE)])), "laptop")
    assert "no output matrix: never halved and 3.02 (3.02 to 3.03)" in record["measured"]
    assert status("attention-ablations", ablated(more, never=[("no head", SMALL)])) == PARTLY
    assert status("attention-ablations", ablated(lambda n, g, s: 300)) == NOT_REPRODUCED  # as much is not more
    touch = lambda n, g, s: 301 if (n, g, s) == ("rate / 2.5", SMALL, 2) else more(n, g, s)
    assert status("attention-ablations", ablated(touch)) == PARTLY
    both = lambda n, g, s: None if n == "no norms" else more(n, g, s)  # two lower bounds
    assert status("attention-ablations", ablated(both)) == PARTLY
    assert status("attention-ablations", ablated(lambda n, g, s: 9 if n == "no norms" and g == LARGE else both(n, g, s))) == (
        REPRODUCED
    )


def test_the_ablation_with_the_fewest_seeds_counts() -> None:
    record = BY_ID["attention-ablations"].evaluate(Shelf(ablated(lambda n, g, s: 300 if g == SMALL else 100)), "laptop")
    assert (record["status"], record["n_seeds"]) == (REPRODUCED, 2)
    seeds = {name: len({s.seed for s in specs}) for name, specs in ablation_specs("laptop").items()}
    assert seeds == {"as it is": 3, "no norms": 3, "no head": 2, "rate / 2.5": 3, "rate × 2": 3}


def test_runs_at_the_lower_rate_are_as_long_as_the_main_runs() -> None:
    found = attention.ablated(Shelf(ablated(lambda n, g, s: 300)), "laptop")
    assert tuple(found) == ("as it is", "no norms", "no output matrix", "learning rate / 2.5", "learning rate × 2")
    main, short = SETTINGS["laptop"].train.steps, SETTINGS["laptop"].short.steps
    for name, runs in found.items():
        assert {r.spec.train.steps for r in runs} == {main if name == "learning rate / 2.5" else short}
        assert {r.spec.gamma for r in runs} == {LARGE, SMALL}
    assert [r.spec.rate for r in found["learning rate / 2.5"]] == pytest.approx([2e-4] * 8)
    assert stored.seeds(found["learning rate / 2.5"]) == 4
    short_alone = [r for r in ablated(lambda n, g, s: 300 if g == SMALL else 100) if r.spec.train.steps == short]
    assert status("attention-ablations", short_alone) == NOT_RUN


# ---------------------------------------------------------------- numbers over runs, and in words


def test_ratios_in_words() -> None:
    closed, opened = Ratio(2.0, False), Ratio(8.0, True)
    assert ratios.middle([closed, opened]) == pytest.approx(4)
    assert ratios.words([closed, closed]) == "2.00 (2.00 to 2.00)"
    assert ratios.words([closed, opened]) == "≥ 4.00 (2.00 to 8.00)"
    with pytest.raises(LookupError, match="halves in no stored run"):
        ratios.ratios([planted(halves={"memory": 100})])


def test_the_trend_is_of_runs_that_have_a_ratio() -> None:
    specs = [s for s in bias_specs("laptop") if s.gamma in (LARGE, MIDDLE, SMALL)]
    runs = of(specs, lambda s: {"reasoning": 100, "memory": round(100 + 100 * s.gamma)})
    value, low, high = memory_and_reasoning.trend(runs)
    assert (value, low, high) == pytest.approx((1, 1, 1))
    assert memory_and_reasoning.trend(runs) == (value, low, high)  # the same resamples every time
    noisy = of(specs, lambda s: {"reasoning": 100, "memory": 100 + (7 * s.seed + round(10 * s.gamma)) % 5})
    value, low, high = memory_and_reasoning.trend(noisy)
    assert low < value < high
    with pytest.raises(LookupError, match="fewer than two"):
        memory_and_reasoning.trend([*runs[:1], planted(halves={"memory": 100})])


def test_the_best_share_of_a_run_is_at_any_time() -> None:
    runs = [planted(shares={"held out": shares}) for shares in ([0.1, 0.8, 0.3], [0.2, None, 0.1])]
    assert stored.best(runs).tolist() == [0.8, 0.2]
    assert stored.best([planted(shares={"held out": [0.1, 0.3]}, **{"held out": 0.4})]).tolist() == [
        0.4
    ]  # asked again at the end


def test_most_of_the_way_of_a_ratio_is_told_by_where_it_lies() -> None:
    """Memory takes 1, 4, 6 and 8 times as long: ln 4 of ln 8 is two thirds."""
    memory = {0.3: 100, 0.4: 400, 0.5: 600, 0.6: 800}
    runs = of([s for s in bias_specs("laptop") if s.gamma in memory], lambda s: {"reasoning": 100, "memory": memory[s.gamma]})
    text = "From γ = 0.3 to 0.6 the ratio grows 8.0 times. 67% of that, in logarithms, lies below γ = 0.4."
    assert memory_prose.transition_text(runs) == text
    flat = of([r.spec for r in runs], lambda s: {"reasoning": 100, "memory": 100})
    assert memory_prose.transition_text(flat) == "From γ = 0.3 to 0.6 the ratio does not grow."


def test_the_length_of_training_is_told_where_it_matters() -> None:
    def at(large: int, small: int) -> list[Planted]:
        specs = [s for s in bias_specs("laptop") if s.gamma in (LARGE, SMALL)]
        memory = {LARGE: large, SMALL: small}
        return of(specs, lambda s: {"reasoning": 100, "memory": memory[s.gamma] + s.seed})

    same, later = at(150, 500), at(300, 502)
    text = memory_prose.length_text({"short": same, "long": later})
    assert text.startswith("At each length the small start has the larger ratio. At γ = 0.3 the ratio moves")
    assert "within the range" in memory_prose.length_text({"short": same, "long": at(151, 501)})
    assert "not the same" in memory_prose.length_text({"short": same, "long": at(500, 150)})
    assert memory_prose.length_text({"short": same[:1]}) == "Not every length has a ratio at both ends."


def test_what_the_small_start_alone_finds_is_counted_over_kinds_of_runs() -> None:
    def runs(large: float, small: float) -> list[Planted]:
        halves = lambda s: {"reasoning": 100, "memory": 100 if s.gamma == LARGE else 400}
        shares = {LARGE: large, SMALL: small}
        specs = [s for s in bias_specs("laptop") if s.gamma in shares]
        return [planted(s, halves(s), **{"held out": shares[s.gamma]}) for s in specs]

    apart, alike = runs(0.1, 0.9), runs(0.9, 0.9)
    assert "depends on the rows and on the model" in memory_prose.verdict(apart, apart, alike)
    assert "Only the small start finds" in memory_prose.verdict(apart, apart, apart)
    said = memory_prose.verdict(alike, alike, alike)
    assert "does not decide what generalizes" in said
    assert "| 90% | 90% |" in said


def test_halving_in_words() -> None:
    """In epochs: 40 steps each."""
    spec = bias_specs("laptop")[0]
    spec = replace(spec, task=(("rows", 4000),))
    runs = [planted(replace(spec, seed=i), {"memory": t}) for i, t in enumerate((400, 800, None))]
    assert memory_prose.halving_words(runs[:2], "memory") == "15.0 ± 7.1"
    assert memory_prose.halving_words(runs, "memory") == "15.0 ± 7.1 (1 of 3 never)"
    assert memory_prose.halving_words(runs[2:], "memory") == "never"


def bias_runs() -> list[Planted]:
    memory = {0.3: 100, 0.5: 200, 0.8: None}
    specs = [s for s in bias_specs("laptop") if s.gamma in memory and s.seed < 2]
    return of(specs, lambda s: {"reasoning": 100, "memory": memory[s.gamma], "held out": 150 if s.gamma == SMALL else None})


def test_sentences_follow_the_runs() -> None:
    runs = bias_runs()
    assert memory_prose.ratios_line(runs) == "0.3: 1.00 (1.00 to 1.00); 0.5: 2.00 (2.00 to 2.00); 0.8: ≥ 40.00 (40.00 to 40.00)"
    assert memory_prose.ratios_line(runs, "held out").endswith("0.8: 1.50 (1.50 to 1.50)")
    assert memory_prose.ratios_line([planted()]) == "0.8: never"
    assert memory_prose.bias_line({"a": runs[:2], "b": runs[-2:]}).startswith("a, memory over reasoning by γ, 0.8: ≥ 40.00")
    text = memory_prose.bias_text({"one": runs, "other": [planted()]})
    assert "memory over reasoning is 1.00 (1.00 to 1.00) at γ = 0.3 and ≥ 40.00 (40.00 to 40.00) at γ = 0.8" in text
    assert "2 of 6 ratios are lower bounds, so that their order says nothing. " in text
    assert "Rank correlation" not in text
    assert "Held-out over trained pairs, at the same two γ: ≥ 40.00 (40.00 to 40.00) and 1.50 (1.50 to 1.50)." in text
    assert "**other**: the reasoning loss does not halve" in text
    rising = of([r.spec for r in runs], lambda s: {"reasoning": 100, "memory": round(1000 * s.gamma)})
    assert "over 6 runs: +1.00 [+1.00, +1.00]" in memory_prose.bias_text({"one": rising})
    falling = of([r.spec for r in runs], lambda s: {"reasoning": 100, "memory": 900 - round(1000 * s.gamma)})
    assert "-1.00 [-1.00, -1.00]" in memory_prose.bias_text({"one": falling})
    table = memory_prose.training_text(runs, [0.3, 0.8])
    assert "| 0.3 | 0.5 ± 0.0 | 0.5 ± 0.0 | never | 0.50 ± 0.00 |" in table
    assert "| 0.8 | never | 0.5 ± 0.0 | 0.8 ± 0.0 | 0.50 ± 0.00 |" in table
    assert memory_prose.final_line({"all": [planted(memory=0.5), planted(memory=1.0)]}).startswith(
        "all: memory 0.75 ± 0.35, reasoning 0.00"
    )


def test_a_correlation_is_told_unless_more_than_a_tenth_are_lower_bounds() -> None:
    specs = bias_specs("laptop")[:20]

    def told(count: int, bounds: int) -> str:
        memory = {s: None if i < bounds else round(100 + 100 * s.gamma) for i, s in enumerate(specs[:count])}
        return memory_prose.bias_text({"one": of(specs[:count], lambda s: {"reasoning": 100, "memory": memory[s]})})

    assert "Rank correlation of γ with the ratio over 20 runs: +" in told(20, 2)
    assert "lower bounds" not in told(20, 2)
    assert "2 of 19 ratios are lower bounds" in told(19, 2)
    assert "3 of 20 ratios are lower bounds" in told(20, 3)
    assert "Rank correlation" not in told(19, 2) + told(20, 3)


def test_points_of_variants() -> None:
    found, shares = ratios.points_of({"whole": bias_runs(), "none": [planted()]})
    assert found["whole"] == {0.3: [Ratio(1.0, False)] * 2, 0.5: [Ratio(2.0, False)] * 2, 0.8: [Ratio(40.0, True)] * 2}
    assert found["none"] == {0.8: []}
    assert shares["none"] == {0.8: [0.0]}
    assert ratios.points_line({"none": [planted()]}) == "none: γ = 0.8 never"


def test_the_sizes_of_the_training_set_are_four() -> None:
    specs = rows_specs("laptop")
    taken = memory_and_reasoning.of_sizes(Shelf(planted(s) for group in specs.values() for s in group), "laptop")
    assert list(taken) == ["5,000 rows", "10,000 rows", "20,000 rows", "always new rows"]
    for runs, rows in zip(taken.values(), (5000, 10_000, 20_000, 0), strict=True):
        assert {(r.spec.gamma, r.spec.seed) for r in runs} == {(LARGE, 0), (LARGE, 1), (SMALL, 0), (SMALL, 1)}
        assert {dict(r.spec.task)["rows"] for r in runs} == {rows}
    with pytest.raises(LookupError, match="not stored"):
        memory_and_reasoning.of_sizes(Shelf(planted(s) for s in specs["5,000 rows"]), "laptop")


@pytest.mark.parametrize("rows", [1, 500, 5000])
def test_the_table_is_covered_as_counted_one_by_one(rows: int) -> None:
    """Of the rows that a run is trained on: entries (key, first, second), memory alone."""
    data = make_study(replace(bias_specs("laptop")[0], task=(("rows", max(rows, 500)),))).data
    every = zip(data.key.tolist(), data.first.tolist(), data.second.tolist(), strict=True)
    entries = Counter(entry for entry in [*every][:rows] if entry[1] <= 10)
    if rows == 5000:  # where some come again
        assert len(entries) < 0.95 * sum(entries.values()) < 0.6 * rows
    text = memory_prose.coverage_text(rows)
    assert f"Our {rows:,} rows hold {len(entries):,} of the 10,000 entries of the table, " in text
    assert f"each {sum(entries.values()) / len(entries):.1f} times on average" in text


def of_shares(seed: int, losses: Sequence[float], held: Sequence[float], known: Sequence[float], **final: float) -> Planted:
    """A run at γ = .8 with losses of held-out pairs, and shares of right answers, at steps 100, 200 and 300."""
    run = planted(replace(bias_specs("laptop")[0], gamma=SMALL, seed=seed), **final)
    history = {"step": [100, 200, 300], "held out loss": [*losses], "held out": [*held], "reasoning": [*known]}
    return replace(run, history=run.history | history)


def test_shares_when_the_held_out_loss_has_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first halves at step 250, midway between shares; the second at 200; the third never: only its end is told."""
    runs = [
        of_shares(0, [4, 3, 1], [0.0, 0.25, 0.75], [0.1, 0.5, 0.9], reasoning=0.9),
        of_shares(1, [4, 2, 3], [0.0, 0.3, 0.9], [0.1, 0.5, 0.6], reasoning=0.8, **{"held out": 0.6}),
        of_shares(2, [4, 3, 2.1], [0.9, 0.9, 0.9], [0.9, 0.9, 0.9], reasoning=1.0, **{"held out": 0.8}),
    ]
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: False))
    text = memory_prose.accuracy_text(runs)
    assert text == (
        "At γ = 0.8, when the held-out loss has halved, 0.40 ± 0.14 of the held-out rows and 0.60 ± 0.14 of the trained rows "
        "of reasoning are right."
    )
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: self.spec.seed > 0))
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.5 + 0.1 * run.spec.seed, "attention.1": 0.0})
    assert memory_prose.accuracy_text(runs).startswith(
        text + " At the end the trained rows are 0.90 ± 0.14 right, **new rows of the same pairs 0.65 ± 0.07**, "
        "held-out pairs 0.70 ± 0.14: "
    )
    assert memory_prose.accuracy_text(runs[2:]) == "The held-out loss does not halve."
    one = memory_prose.accuracy_text(runs[:1])
    assert "0.50 of the held-out rows and 0.70 of the trained rows" in one
    assert "At the end" not in one  # its weights are not kept


def test_findings_say_more_than_they_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares at the end; the trend where both models learn; the range over seeds of ε."""
    said = lambda id, runs=(): BY_ID[id].evaluate(Shelf(runs), "laptop")["measured"]
    specs = bias_specs("laptop")
    halves = {"reasoning": 100, "memory": 300, "held out": 100}
    final = lambda s: {"held out": 0.1 * s.seed, "reasoning": 1 - 0.1 * s.seed} if s.gamma == SMALL else {}
    text = said("bias-small-reasoning-first", [planted(s, halves, **final(s)) for s in specs])
    assert "; right at the end: held-out pairs 0.15 ± 0.13, rows of trained pairs 0.85 ± 0.13; " in text
    falls = lambda s: {"reasoning": 100, "memory": round(2000 - 1000 * s.gamma) if s.gamma >= 0.4 else 50}
    assert said("bias-grows", of(specs, falls)).endswith("; from .4 on alone -1.00 [-1.00, -1.00]")
    monkeypatch.setattr(attention, "deviation_at_start", lambda s: (1 + s.seed) * 10 ** (-round(10 * s.gamma)))
    assert "ε before training, by γ: 0.3: 0.001 to 0.004, " in said("attention-lemma")
    assert ", 0.8: 1 × 10⁻⁸ to 4 × 10⁻⁸, " in said("attention-lemma")


def test_settings_and_task_in_words() -> None:
    rows = {profile: dict(memory_prose.settings_table(profile)) for profile in ("laptop", "paper")}
    assert rows["laptop"].keys() == rows["paper"].keys()
    assert rows["paper"]["training rows"] == "200,000"
    assert rows["paper"]["steps (epochs)"] == "2,000,000 (1,000)"
    assert rows["laptop"]["seeds"] == "4"
    assert "198 trained pairs" in memory_prose.task_line()
    assert "10,000 entries" in memory_prose.task_line()
    assert "98 of reasoning" in memory_prose.task_line()


def test_the_labels_of_an_anchor_by_counting() -> None:
    """Sums of 100 keys and ten anchors: variances add, (n² − 1) / 12 each; every anchor meets the middle 91 sums."""
    ahead, width, flat = embeddings.labels_of_anchor()
    sums = [key + other for key in range(21, 121) for other in range(11, 21)]
    assert (ahead, width) == pytest.approx((np.mean(sums), np.std(sums)))
    assert ahead == pytest.approx(86)
    assert width == pytest.approx(((100**2 - 1) / 12 + (10**2 - 1) / 12) ** 0.5)
    assert flat == list(Counter(sums).values()).count(10) == 91
    text = embedding_prose.theory_text()
    assert "mean at s + 86.0, a standard deviation of 29.0, and are flat over 91 values" in text
    assert "a width of √6 = 2.45." in text


def test_memory_anchors_are_less_alike_in_the_training_set() -> None:
    own = embeddings.sampled_distributions("memory", 20_000)
    alike_by = [float(cosines(own[i : i + 1], own[j : j + 1])[0, 0]) for i in range(10) for j in range(i)]
    assert max(alike_by) < 0.9
    exact = embeddings.exact_distributions("memory")
    np.testing.assert_allclose(cosines(exact, exact), 1)
    specs = [s for s in bias_specs("laptop") if s.gamma == SMALL and s.seed < 2]
    by = {(0, 200): 0.2, (0, 400): 0.6, (1, 200): 0.5, (1, 400): 0.3}  # .35 and .45, though each seed has .5 at some time
    deep = [planted(s, kept={step: lying(alike(by[s.seed, step]), on_an_arc()) for step in (200, 400)}) for s in specs]
    emb = two_times()["Emb-MLP early"]
    text = embedding_prose.memory_text({"Emb-MLP early": emb, "transformer late": (deep, 200)})
    whole = [embeddings.off_diagonal(embeddings.anchor_cosines(r, "memory", 400)).mean() for r in emb[0]]
    assert max(whole) < 0.85
    assert f"memory anchors have a mean cosine of {embeddings.told(whole)}. What" in text
    assert "what they have *moved* has 0.90. In" in text
    assert "(at most 0.45, mean over seeds)" in text
    assert text.endswith(f"the label distributions counted in it have {np.mean(alike_by):.2f}.")


def two_times() -> dict[str, tuple[list[Planted], int]]:
    """The transformer at two times, and Emb-MLP at the second of two, by when it has moved little."""
    specs = [s for s in bias_specs("laptop") if s.gamma == SMALL and s.seed < 2]
    early = lambda seed: lying(alike(0.25 + 0.5 * seed), on_an_arc())
    runs = [planted(s, kept={200: early(s.seed), 400: lying(alike(0.9), on_an_arc(0.2))}) for s in specs]
    specs = [s for s in EMB.specs("laptop") if s.gamma == SMALL and s.seed < 2 and not dict(s.task)["noise"]]
    kept = lambda s: {200: went(s, alike(0.95), on_an_arc(), 1e-4), 400: went(s, alike(0.9), on_an_arc(0.2), 0.5)}
    emb = [planted(s, kept=kept(s)) for s in specs]
    return {"Emb-MLP early": (emb, 400), "transformer early": (runs, 200), "transformer late": (runs, 400)}


def test_embeddings_in_words() -> None:
    times = two_times()
    line = embedding_prose.cosine_line(times)
    assert "transformer early: memory 0.50 ± 0.35, reasoning 1.00 at distance 1, 0.62 at 9" in line
    assert "reasoning 0.98 at distance 1, −0.23 at 9" in line  # with a minus of its own
    columns, used = embeddings.matrices(times, 1)
    assert list(columns) == ["Emb-MLP\nepoch 2", "transformer\nepoch 1", "transformer\nepoch 2"]
    assert [run.spec.seed for run in used] == [1, 1, 1]
    assert columns["transformer\nepoch 1"]["memory"][0, 1] == pytest.approx(0.75)
    assert [run.spec.seed for run in embeddings.matrices(times, 7)[1]] == [
        0,
        0,
        0,
    ]  # a seed that is not there: the first
    measured, theory = embeddings.lag_series(times, 40, SMALL)
    assert list(measured) == [
        "Emb-MLP, moved (epoch 1)",
        "Emb-MLP early (epoch 2)",
        "transformer early (epoch 1)",
        "transformer late (epoch 2)",
    ]
    falling = lambda step: np.tile(np.cos(step * np.arange(1, 10)), (2, 1))
    np.testing.assert_allclose(measured["Emb-MLP, moved (epoch 1)"], falling(0.1))  # at the first snapshot
    np.testing.assert_allclose(measured["transformer late (epoch 2)"], falling(0.2))
    assert np.abs(measured["Emb-MLP early (epoch 2)"] - falling(0.2)).max() > 0.01  # the start included
    assert list(theory) == [r"$P^s - 1/d_\mathrm{vob}$ (Prop. 1)", "Eq. 14 with its noise, γ = 0.8"]
    exact, drawn = theory.values()
    np.testing.assert_allclose(exact, embedding_claims.CHECKED, atol=1e-3)
    shape = embeddings.fitted(40, SMALL, None)
    assert embeddings.by_lag(cosines(shape, shape))[0] > drawn[0] > 0  # noise takes from a cosine
    np.testing.assert_array_equal(embeddings.lag_series(times, 40, SMALL)[1]["Eq. 14 with its noise, γ = 0.8"], drawn)
    table = embedding_prose.deviation_table(times)
    lines = table.split("\n")
    lags = np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    off = lambda step, theory: np.abs(embeddings.off_diagonal(np.cos(step * lags) - in_theory(theory))).mean()
    told = lambda step: " | ".join(f"{off(step, theory):.2f}" for theory in ("P^s", "Eq. 14"))
    assert len(lines) == 6
    assert lines[2] == f"| Emb-MLP, moved, epoch 1 | {told(0.1)} |"  # at the first snapshot
    assert lines[3].startswith("| Emb-MLP early, epoch 2 | ")
    assert lines[4:] == [f"| transformer {w} | {told(a)} |" for w, a in (("early, epoch 1", 0.1), ("late, epoch 2", 0.2))]
    assert table.startswith("| mean distance of cosines from | $P^s$ | Eq. 14 |\n")
    assert embedding_prose.order_line(times["transformer late"][0], 400).startswith(
        "order in the plane, all seeds: memory anchors"
    )


def test_numbers_in_words() -> None:
    """A minus of its own, no spread that rounds to nothing, and powers of ten where digits would be zeros."""
    assert [embeddings.written(v) for v in (-0.444, -0.001, 0.5)] == ["−0.44", "0.00", "0.50"]
    assert [embeddings.told(v) for v in ([-1.0, -1.0], [-0.5, -0.3], [0.2])] == ["−1.00", "−0.40 ± 0.14", "0.20"]
    assert embeddings.told([100, 100], 0) == "100"
    assert embeddings.told([0.5, 0.508], 3) == "0.504 ± 0.006"
    assert [attention.rounded(v) for v in (0.7, 0.00023, 4.6e-5, 1.2e-10, 0)] == [
        "0.7",
        "0.0002",
        "5 × 10⁻⁵",
        "1 × 10⁻¹⁰",
        "0",
    ]
    assert [attention.share_of(n, 4) for n in (0, 3, 4)] == ["none of 4", "3 of 4", "all 4"]
    assert attention.share_of(1, 1) == "1 of 1"


def compared_at(error: float, cosine: float, step: int = 100, ended: bool = False) -> embeddings.Compared:
    """Memory anchors with this error and cosine, and reasoning anchors with none."""
    by = lambda memory, reasoning: {"memory": memory, "reasoning": reasoning}
    return embeddings.Compared(step, by(error, 0.0), by(cosine, 1.0), by(1.5, 1.0), 0.01, 0.003, ended)


def test_the_flow_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [planted(spec) for spec in flow_specs("laptop")["Emb-MLP"]]
    told: dict[bool, embeddings.Compared] = {False: compared_at(0.1, 0.99), True: compared_at(0.1, 0.99)}
    monkeypatch.setattr(embeddings, "compared", lambda run, exact: told[exact])
    text = embedding_prose.flow_text({"a": (runs, False)})
    assert text == (
        "- **a**: the flow arrives where training arrives, for both kinds of anchors.\n\n"
        "All are compared at the last snapshot before the loss has fallen by 1 %."
    )
    told[False] = compared_at(0.6, 0.9, ended=True)
    text = embedding_prose.flow_text({"a": (runs, False), "b": (runs, True)})
    assert (
        "- **a**: the flow arrives where training arrives for reasoning anchors, and elsewhere for the others: memory anchors "
        "go 1.5 times as far, with a cosine of 0.90 (error 0.60).\n"
    ) in text
    assert text.endswith(
        " The runs of “a” end at step 100, before that: the loss has fallen by 0.3 %, and embeddings have moved by 0.01 of "
        "their size. What is compared there is the very beginning."
    )
    rows = embedding_prose.flow_table({"a": (runs, False)}).split("\n")
    assert rows[2] == "| a | 0.00 | 0.60 | 1.000 | 0.900 | 100 | 0.3 % | 0.01 |"
    both = embeddings.Compared(100, *({"memory": v, "reasoning": v} for v in (0.6, 0.9, 2.0)), 0.01, 0.003, False)
    told[False] = both
    assert "arrives elsewhere, for both kinds of anchors: memory anchors go 2.0" in embedding_prose.flow_text(
        {"a": (runs, False)}
    )


@pytest.mark.parametrize(
    ("memory", "reasoning", "said"),
    [
        (0.4, 0.4, "halves both errors (it leaves 40% of that of memory anchors, 40% of that of reasoning anchors)"),
        (0.7, 0.4, "halves the error of reasoning anchors, which was mostly noise, and not that of memory anchors"),
        (0.7, 0.6, "halves neither error"),
        (1.1, 1.0, "does not lower the errors"),
    ],
)
def test_what_larger_batches_leave(monkeypatch: pytest.MonkeyPatch, memory: float, reasoning: float, said: str) -> None:
    """Errors at 20, the last step of both until either is compared; at others they say nothing."""
    large, small = ([replace(planted(s), path=Path(name)) for s in flow_specs("laptop")[QUIET]] for name in ("large", "small"))

    def error(run: StoredRun, exact: bool) -> FlowError:
        wide = run in large
        steps = np.array([10, 20, 30] if wide else [20, 30, 40])
        at = lambda left: np.where(steps[:, None] == 20, 0.5 * (left if wide else 1), 9.0) + np.zeros((3, 10))
        return FlowError(steps, {"memory": at(memory), "reasoning": at(reasoning)}, {}, {}, steps)

    monkeypatch.setattr(embeddings, "flow_error", error)
    monkeypatch.setattr(embeddings, "compared", lambda run, exact: compared_at(0, 1, 20 if run in large else 40))
    text = embedding_prose.batch_text((large, True), (small, True))
    assert text.startswith("At the same step (20), ten times the batch ")
    assert said in text
    monkeypatch.setattr(embeddings, "compared", lambda run, exact: compared_at(0, 1, 10))
    with pytest.raises(LookupError, match="no snapshot at the same step"):
        embedding_prose.batch_text((large, True), (small, True))


def test_the_verdict_on_embeddings_says_of_which_model(monkeypatch: pytest.MonkeyPatch) -> None:
    times = two_times()
    cases = dict.fromkeys(("Emb-MLP", *embedding_prose.LAYER), (times["Emb-MLP early"][0], False))
    cases[embeddings.BY_POSITIONS] = (times["Emb-MLP early"][0], True)
    told = {False: compared_at(0.6, 0.9), True: compared_at(0.6, 0.9)}
    monkeypatch.setattr(embeddings, "compared", lambda run, exact: told[exact])
    monkeypatch.setattr(embeddings, "best_spread", lambda runs, step: (3.0, np.array([0.05, 0.15])))
    text = embedding_prose.verdict(times, cases)
    assert "Memory anchors are alike in the transformer (mean cosine 0.90 late)." in text
    assert "In Emb-MLP the first movement is the one that the distribution of labels drives" in text
    assert (
        "the formula does not hold (relative errors 0.60 for memory anchors and 0.00 for reasoning anchors), with our " in text
    )
    assert "correction it does for reasoning anchors alone" in text
    assert "with the width that fits best (3.00), has the cosines of the trained transformer to 0.1 in 1 of 2 seeds" in text
    monkeypatch.setattr(embeddings, "moved_cosines", lambda run, step: np.eye(10))
    assert "the first movement is not the one that the distribution" in embedding_prose.verdict(times, cases)
    told[True] = compared_at(0.1, 0.99)
    assert "with our correction it does (" in embedding_prose.verdict(times, cases)
    told[False] = compared_at(0.1, 0.99)
    assert "the formula holds, too" in embedding_prose.verdict(times, cases)
    runs = times["transformer late"][0]
    never = [replace(run, kept={step: lying(alike(0.3), on_an_arc(0.2)) for step in run.kept}) for run in runs]
    text = embedding_prose.verdict(times | {"transformer late": (never, 400), "no norms late": (runs, 400)}, cases)
    assert (
        "never become alike in the transformer (mean cosine at most 0.30). Without norms they have 0.90 at epoch 2, the" in text
    )
    once = [replace(run, kept={200: run.kept[400], 400: never[0].kept[400]}) for run in runs]
    text = embedding_prose.verdict(times | {"transformer late": (once, 400), "no norms late": (once, 400)}, cases)
    assert "do not stay alike in the transformer (mean cosine 0.90, late 0.30)." in text
    assert "Without norms they reach 0.90 at epoch 1, and have 0.30 at epoch 2." in text


def test_formation_by_hand() -> None:
    """Mean cosines of each seed at each snapshot: distance 1, distance 9, and any two memory anchors."""
    runs = two_times()["transformer early"][0]
    epochs, curves = embeddings.formation(runs)
    assert epochs.tolist() == [1, 2]
    assert list(curves) == ["reasoning, distance 1", "reasoning, distance 9", "memory"]
    near, far, memory = curves.values()
    np.testing.assert_allclose(near, [[np.cos(0.1), np.cos(0.2)]] * 2)
    np.testing.assert_allclose(far, [[np.cos(0.9), np.cos(1.8)]] * 2)
    np.testing.assert_allclose(memory, [[0.25, 0.9], [0.75, 0.9]])


def arcs(*by_seed: Sequence[float]) -> list[Planted]:
    """Runs whose reasoning anchors lie on arcs with these steps, snapshot for snapshot, at epochs 1, 3, 6, …"""
    specs = [s for s in bias_specs("laptop") if s.gamma == SMALL]
    lie = lambda spec, steps: dict(zip(dict(spec.task)["keep"], (lying(alike(0.5), on_an_arc(a)) for a in steps), strict=False))
    return [planted(spec, kept=lie(spec, steps)) for spec, steps in zip(specs, by_seed, strict=False)]


def test_near_and_far_anchors_part_by_hand() -> None:
    """cos a − cos 9 a on an arc: .195 with steps of .071, .205 with .073. Seeds are averaged, and the first time counts."""
    gap = lambda a: np.cos(a) - np.cos(9 * a)
    assert gap(0.071) < 0.2 < gap(0.073)
    assert embeddings.parted(arcs([0.071, 0.073])) == 3
    assert embeddings.parted(arcs([0.01, 0.02, 0.071])) == float("inf")
    assert embeddings.parted(arcs([0.0, 0.073, 0.0])) == 3  # later it may close again
    assert embeddings.parted(arcs([0.073], [0.0])) == float("inf")
    runs = arcs([0.0, 0.05, 0.1], [0.05, 0.1, 0.15])
    for i, (epoch, later) in enumerate(((1, 3), (3, 6), (6, float("inf")))):
        mean = (gap(0.05 * i) + gap(0.05 * i + 0.05)) / 2
        assert embeddings.parted(runs, mean - 1e-9) == epoch
        assert embeddings.parted(runs, mean + 1e-9) == later


def test_order_in_all_dimensions_and_in_the_plane(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, of the runs with weights alone, lie on a line, what is not a key far off it. A larger pair of values hides the
    reasoning anchors' order in the plane; that of memory anchors there is none of."""
    tokens = torch.full((200, 11), 1e3) * torch.tensor([(-1.0) ** i for i in range(200)])[:, None]
    tokens[21:121] = torch.arange(100.0)[:, None] * torch.eye(11)[3]
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: self.spec.seed > 0))
    weights = lambda run: {"embedding.token": tokens if run.spec.seed else 0 * tokens}
    monkeypatch.setattr(StoredRun, "weights", weights)
    hidden = np.hstack([np.arange(10.0)[:, None], 12 * np.eye(10)])
    hidden[:, 1:3] += 15 * np.eye(2)[np.arange(10) % 2]
    specs = [s for s in bias_specs("laptop") if s.gamma == SMALL and s.seed < 3]
    wrong = lying(on_an_arc(), SHUFFLED)
    runs = [planted(s, kept={200: lying(SHUFFLED, hidden * (1 + s.seed)), 400: wrong}) for s in specs]
    entire = {"reasoning": 0.3, "memory": -0.2, "key": 0.9}
    monkeypatch.setattr(embeddings, "plane_orders", lambda run: {k: v + 0.01 * run.spec.seed for k, v in entire.items()})
    lines = embedding_prose.order_text((runs, 200)).split("\n")
    said = lambda v: f"{numerical_order(v):.2f} | {embeddings.order(v):.2f}"
    assert lines[-3:] == [
        f"| memory anchors | {said(SHUFFLED)} | −0.19, −0.18 |".replace("-", "−"),
        f"| reasoning anchors | {said(hidden)} | 0.31, 0.32 |",
        "| keys | 1.00 | 1.00 | 0.91, 0.92 |",
    ]
    assert lines[0] == (
        "In the transformer, late, keys keep the order of numbers, memory anchors do not, and reasoning anchors keep it "
        "loosely:"
    )
    assert numerical_order(hidden) != pytest.approx(embeddings.order(hidden), abs=0.005)


def test_check_values_of_the_theory_as_plotted() -> None:
    """Cosines of Eq. 14 without noise at width 200 by distance, calculated independently."""
    expected = (0.959, 0.844, 0.683, 0.507, 0.344, 0.213, 0.118, 0.057, 0.022)
    np.testing.assert_allclose(embeddings.by_lag(embeddings.theories(200)["Eq. 14"]), expected, atol=6e-4)


def test_mass_of_groups_in_words() -> None:
    runs = [r for r in grouped(lambda seed, i: 0.8 + 0.05 * i) if dict(r.spec.task)["memory"] == "groups"]
    assert memory_prose.groups_line(runs) == "mass inside the range of groups 1 to 4: " + ", ".join(
        f"{v:.2f} ± 0.00" for v in (0.85, 0.9, 0.95, 1.0)
    )


# ---------------------------------------------------------------- arrays and lines of chapter 11


def attentive() -> list[Planted]:
    """Two seeds at each of the paper's γ: attention off by γ / 10 at a twentieth of training, by 1.5 γ / 10 at the end."""
    found = []
    for spec in [s for s in bias_specs("laptop") if s.gamma in (LARGE, MIDDLE, SMALL) and s.seed < 2]:

        def at(factor: float, spec: RunSpec = spec) -> dict[str, Tensor]:
            anchors = torch.eye(20, 20)
            anchors[10:] = torch.eye(20)[10]
            return {
                "attention": causal_average(9) + 0.1 * spec.gamma * factor * torch.eye(9),
                "deviation": torch.full((9, 9), 0.2 * spec.gamma * factor),
                "spectrum": torch.tensor([4.0 + spec.seed, 2.0, 1.0, 0.5, 0.25]) * factor,
                "direction": torch.eye(20)[10],
                "anchors": anchors,
            }

        kept = {200: at(0.5), 2000: at(1.0), 40_000: at(1.5)}
        found.append(planted(spec, kept=kept))
    return found


def test_attention_in_arrays_and_words(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = attentive()
    matrices, drawn = attention.matrices(runs, 1)
    assert [(r.spec.gamma, r.spec.seed) for r in drawn] == [(LARGE, 1), (SMALL, 1)]
    average = causal_average(9).numpy()
    offs = {title: float(np.diagonal(m - average).mean()) for title, m in matrices.items()}
    expected = {"γ = 0.3, early": 0.03, "γ = 0.8, before": 0, "early": 0.08, "at the end": 0.12}
    assert offs == pytest.approx(expected, abs=1e-4)
    assert attention_prose.causal_line({"early": average + 0.04 * np.eye(9), "before": average + 3e-6}) == (
        "largest distance from 1 / i: 0.04 (early), 3 × 10⁻⁶ (before)"
    )
    assert "epoch 10, small initialization is hardly nearer" in attention_prose.early_text(runs)
    assert "(0.08 ± 0.00 at γ = 0.8, 0.03 ± 0.00 at γ = 0.3; " in attention_prose.early_text(runs)
    found = attention.deviations_at(runs)
    assert list(found) == ["epoch 1", "epoch 10", "epoch 200"]
    assert found["epoch 200"][SMALL] == pytest.approx([0.24, 0.24])
    spectra = attention.spectra(runs, (LARGE, 0.99))
    assert list(spectra) == ["γ = 0.3"]
    assert spectra["γ = 0.3"][:, 0].tolist() == [4, 5]
    (epochs, kinds), *_ = attention.alignment(runs, (SMALL,)).values()
    assert epochs.tolist() == [1, 10, 200]
    np.testing.assert_allclose(kinds["reasoning"], np.ones((2, 3)))
    np.testing.assert_allclose(kinds["memory"], np.zeros((2, 3)))
    epochs, values = attention.leading(stored.at(runs, LARGE), 3)
    assert epochs.tolist() == [1, 10, 200]
    np.testing.assert_allclose(values[1], [[2.5, 1, 0.5], [5, 2, 1], [7.5, 3, 1.5]])
    line = attention_prose.alignment_line(stored.at(runs, SMALL))
    assert line.startswith("γ = 0.8: first over second singular value 2.25 ± 0.35; alignment with anchors: memory 0.00")
    monkeypatch.setattr(attention, "deviation_at_start", lambda spec: 0.5 if spec.gamma == LARGE else 0.001)
    assert attention_prose.start_line("laptop").startswith("0.5 at γ = 0.3, 0.001 at γ = 0.4, ")


def aligned_runs() -> list[Planted]:
    """Three seeds at small initialization with four snapshots. Cosines with reasoning anchors grow and are negative as often
    as not, those with memory anchors are a tenth."""
    found = []
    for spec in [s for s in bias_specs("laptop") if s.gamma == SMALL and s.seed < 3]:

        def at(factor: float, spec: RunSpec = spec) -> dict[str, Tensor]:
            reasoning = factor * (0.2 + 0.1 * spec.seed)
            cosine = torch.tensor([reasoning / 10] * 10 + [reasoning] * 10) * torch.tensor([1.0, -1.0]).repeat(10)
            deviation = torch.zeros(9, 9)
            deviation[3, 1] = factor * (0.01 + 0.02 * spec.seed)
            return {
                "anchors": 2 * torch.stack([cosine, (1 - cosine**2).sqrt()], 1),
                "direction": torch.tensor([1.0, 0.0]),
                "spectrum": torch.tensor([2.0 + spec.seed, 1.0 / factor, 0.1]),
                "deviation": deviation,
            }

        found.append(planted(spec, kept={200: at(0.5), 600: at(1.0), 2000: at(2.0), 40_000: at(2.5)}))
    return found


def test_the_lemma_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """ε is the largest of all entries; its range over seeds, until training has begun and at the end."""

    def text(before: float) -> str:
        monkeypatch.setattr(attention, "deviation_at_start", lambda spec: before * (1 + spec.seed))
        return attention_prose.lemma_text(aligned_runs())

    assert text(2e-6) == (
        "The lemma holds before training, and not in it: at γ = 0.8, ε is at most 6 × 10⁻⁶ before it, then 0.005 to 0.03 at "
        "epoch 1, 0.01 to 0.05 at epoch 3, 0.02 to 0.1 at epoch 10, 0.03 to 0.1 at epoch 200 (range over seeds)."
    )
    assert text(0.1).startswith("The lemma does not hold even before training: at γ = 0.8, ε is at most 0.3 before it")
    still = {step: {"deviation": torch.full((9, 9), 0.009)} for step in (200, 2000, 40_000)}
    monkeypatch.setattr(attention, "deviation_at_start", lambda spec: 1e-3)
    calm = [planted(run.spec, kept=still) for run in aligned_runs()]
    assert attention_prose.lemma_text(calm).startswith("The lemma holds before training and in it: ")
    mixed = [planted(run.spec, kept={200: {"deviation": torch.ones(9, 9)}}) for run in aligned_runs()[:1]]
    mixed = [replace(run, kept={200: {}} | run.kept) for run in (*calm[:1], *mixed)]
    mixed = [replace(run, kept={200: run.kept[200]}) for run in mixed]
    assert attention_prose.lemma_text(mixed).startswith("The lemma holds in part: ")


def test_directions_in_words() -> None:
    """The second snapshot, and the one at a twentieth of training."""
    lines = attention_prose.direction_text(aligned_runs()).split("\n")
    assert lines[0] == (
        "At epoch 3 one direction stands out in all 3 seeds. The first one lies along the reasoning anchors (|cosine| at least "
        "0.5) in none of 3; on average it lies more along the reasoning anchors. At epoch 10 one direction stands out in all 3 "
        "seeds. The first one lies along the reasoning anchors (|cosine| at least 0.5) in 2 of 3; on average it lies more "
        "along the reasoning anchors. That one direction stands out and lies along the reasoning anchors alone is seen 2 times."
    )
    assert lines[2] == "Seed by seed at γ = 0.8, |cosines| of the first direction:"
    even = {"anchors": torch.eye(20)[[0] * 20], "direction": torch.eye(20)[0], "spectrum": torch.tensor([1.5, 1.0, 0.1])}
    text = attention_prose.direction_text([planted(aligned_runs()[0].spec, kept={200: even, 2000: even, 40_000: even})])
    assert "stands out in none of 1 seeds" in text
    assert "on average it lies along both kinds of anchors alike." in text
    assert "is seen at neither time in any seed." in text
    assert lines[-2:] == [
        "| 3 | 2.00, 3.00, 4.00 | 0.20, 0.30, 0.40 | 0.02, 0.03, 0.04 |",
        "| 10 | 4.00, 6.00, 8.00 | 0.40, 0.60, 0.80 | 0.04, 0.06, 0.08 |",
    ]
    assert [line.count("|") for line in lines[4:]] == [5] * 4


def test_single_sequences_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = aligned_runs()
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: False))
    assert attention_prose.singles_text(runs).startswith("No weights of these runs are kept")
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: True))
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.8, "attention.1": 0.1})
    found = {"memory": (0.05, 0.09), "reasoning": (0.08, 0.3)}
    monkeypatch.setattr(attention, "from_average", lambda run: found)
    text, rows = attention_prose.singles_text(runs).split("\n\n")
    assert text == (
        "Averaged over memory sequences, the trained models' first attention is within 0.1 of 1 / i in all 3 seeds, to the "
        "middle one of them in all 3 seeds. Averaged over reasoning sequences it is so in all 3 seeds, to the middle one of "
        "them in none of 3 seeds. So part of what single sequences select cancels in the mean. The answers need what it "
        "selects: with the causal average in its place right answers to new reasoning rows fall from 0.80 to 0.10."
    )
    assert rows.split("\n")[2] == "| 0 | 0.05 | 0.09 | 0.08 | 0.30 |"
    found["reasoning"] = (0.3, 0.3)
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.8, "attention.1": 0.7})
    text = attention_prose.singles_text(runs)
    assert "cancels" not in text
    assert "The answers need little of what it selects: with the causal average in its place 0.70 of 0.80 stay right." in text


def test_the_verdict_on_attention_tells_means_from_single_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [replace(run, kept={k: v | {"attention": causal_average(9)} for k, v in run.kept.items()}) for run in aligned_runs()]
    monkeypatch.setattr(attention, "deviation_at_start", lambda spec: 1e-3)
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: False))
    text = attention_prose.verdict(runs, runs)
    assert text == (
        "At small initialization the first attention is an average before training. In training, averaged over sequences, it "
        "is one most of the time in all 3 seeds; in every single sequence it is so in 2 of 3. The first layer's value matrix "
        "has one leading direction early in training (the largest singular value is 6.0 times the second); its first "
        "direction lies along the reasoning anchors in 2 of 3 seeds."
    )
    monkeypatch.setattr(attention, "deviation_at_start", lambda spec: 0.1)
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: True))
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.8, "attention.1": 0.1})
    monkeypatch.setattr(attention, "reading", lambda run: np.full((2, 7, 4), 0.9))
    text = attention_prose.verdict(runs, runs)
    assert "is not an average before training." in text
    assert "right answers to new reasoning rows fall from 0.80 to 0.10." in text
    assert text.endswith("In all 3 trained models the second attention finds the key wherever it stands.")


def test_kinds_of_solutions_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: True))
    runs = [planted(s) for s in TWELVE if s.gamma == SMALL][:4]
    by_key = np.array([[[0.2, 0.2, 0.2, 0.4]] * 7, [[0.9, 0.05, 0.05, 0.0]] * 7])
    by_anchor = np.array([[[0.9, 0.0, 0.0, 0.1]] * 7, [[0.0, 0.5, 0.4, 0.1]] * 7])
    neither = np.full((2, 7, 4), 0.25)

    def line(*kinds: np.ndarray) -> str:
        by = dict(zip((run.spec.seed for run in runs), kinds, strict=False))
        monkeypatch.setattr(attention, "reading", lambda run: by[run.spec.seed])
        shares = {seed: 0.9 if kind is by_key else 0.5 for seed, kind in by.items()}
        monkeypatch.setattr(attention, "averaged", lambda run: {"": shares[run.spec.seed]})
        return attention_prose.solutions_line(runs[: len(kinds)])

    assert line(by_key, by_key) == (
        "Of 2 models, 2 read the key with the second attention, as the paper describes (new reasoning rows right: 0.90 ± 0.00)."
    )
    text = line(by_key, by_anchor, by_anchor)
    assert "Of the other 2, all bring the key to the second anchor in layer 1" in text
    assert text.endswith("the paper's way is one of two, at our size the less frequent, and the better on new rows.")
    text = line(by_key, by_anchor, neither)
    assert "Of the other 2, 1 bring the key" in text
    assert "one of two" not in text
    assert line(by_anchor).startswith(
        "Of 1 models, none read the key with the second attention, as the paper describes. Of the "
    )


def test_ablations_in_words() -> None:
    more = lambda name, gamma, seed: 302 + seed if gamma == SMALL else 150
    text = lambda ratio, **how: attention_prose.ablations_text(attention.ablated(Shelf(ablated(ratio, **how)), "laptop"))
    every = "no norms, no output matrix, learning rate / 2.5, learning rate × 2"
    assert text(more) == f"The bias stays (every ratio at γ = 0.8 above every one at 0.3) with: {every}."
    assert text(lambda n, g, s: 250).startswith(
        "The bias stays (every ratio at γ = 0.8 above every one at 0.3) in no variant. "
    )
    assert f"It does not stay with: {every}. At γ = 0.3, too, memory takes at least twice" in text(lambda n, g, s: 250)
    assert "too, memory" not in text(lambda n, g, s: 199)
    untold = text(lambda n, g, s: None if (n, g) == ("no norms", LARGE) else more(n, g, s))
    assert "It cannot be told with: no norms, where ratios at γ = 0.3 are lower bounds." in untold


def test_solutions_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Means over places; the two anchors' shares are added; runs without weights are left out."""
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: self.spec.seed > 1))

    def reading(run: StoredRun) -> np.ndarray:
        found = np.zeros((2, 7, 4))
        found[0], found[1] = (0.11, 0.99, 0.99, 0.99), (0.22, 0.03, 0.3, 0.45)
        found[:, 0, 0] += 0.07 * run.spec.seed  # a seventh of it is in the mean
        return found

    monkeypatch.setattr(attention, "reading", reading)
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.1 * run.spec.seed, "attention.1": 0.9, "attention.2": 0.8})
    runs = [planted(s, **{"held out": 0.25 * s.seed, "reasoning": 0.99}) for s in bias_specs("laptop") if s.gamma == SMALL]
    lines = attention_prose.solutions_text(runs).split("\n")
    assert lines[2:4] == ["| 2 | 0.13 | 0.24 | 0.33 | 0.20 | 0.50 |", "| 3 | 0.14 | 0.25 | 0.33 | 0.30 | 0.75 |"]
    assert lines[4] == "| causal average | 0.19 | 0.11 | 0.22 | – | – |"
    assert [line.count("|") for line in lines] == [7] * 5


@pytest.mark.parametrize("width", [16, 64, 200])
def test_chance_is_what_random_directions_have(width: int) -> None:
    """To the order 1 / d: the mean |cosine| is Γ(d / 2) / (√π Γ((d + 1) / 2)) exactly."""
    spec = bias_specs("laptop")[0]
    found = attention.chance(planted(replace(spec, model=replace(spec.model, d_model=width))))
    rng = np.random.default_rng(width)
    one, other = rng.normal(size=(2, 20_000, width))
    cosine = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    assert found == pytest.approx(np.abs(cosine).mean(), rel=0.03)
    exact = math.exp(math.lgamma(width / 2) - math.lgamma((width + 1) / 2)) / math.pi**0.5
    assert found == pytest.approx(exact, rel=0.3 / width)


def test_readings_are_of_runs_with_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: self.spec.seed > 0))
    monkeypatch.setattr(attention, "reading", lambda run: np.full((2, 7, 4), 0.1) * np.array([1, 2])[:, None, None])
    runs = [planted(s) for s in bias_specs("laptop") if s.gamma == SMALL]
    found = attention.readings(runs)
    assert list(found) == ["seed 1", "seed 2", "seed 3"]
    assert {each.shape for each in found.values()} == {(2, 7, 4)}
    line = attention_prose.reading_line(runs)
    assert line.count("key 0.20, first anchor 0.20, second anchor 0.20, noise 0.20") == 3
    weights = lambda run: {
        "itself": (0.9, 0.0),
        "same place": (0.8, 0.1),
        "other place": (0.1, 0.6 if run.spec.seed > 1 else 0.4),
    }
    monkeypatch.setattr(attention, "moved", weights)
    shares = {"": 1.0, "attention.1": 0.25, "attention.2": 0.5}
    monkeypatch.setattr(attention, "averaged", lambda run: shares)
    text = attention_prose.causes_text(runs)
    parts = (
        "Only the first attention is: with the causal average for it most right answers are lost, for the second most stay.",
        "| 2 | 1.00 | 0.25 | 0.50 |",
        "| 1 | 0.90 | 0.80 | 0.10 | 0.40 |\n| 2 | 0.90 | 0.80 | 0.10 | 0.60 |",
        "In all 3 seeds most of the second attention rests on the key. In 2 of 3 of these it goes to *where*",
    )
    for part in parts:
        assert part in text


# ---------------------------------------------------------------- which parts fail, and what is said elsewhere


def failed(id: str, runs: Iterable[StoredRun] = ()) -> list[str]:
    return BY_ID[id].evaluate(Shelf(runs), "laptop")["failed"]


def test_a_grade_names_the_parts_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """In words of the criterion, or by group, seed, model and time, or ablation where each is a part."""
    rising = transformers(lambda s: round(100 + 1000 * s.gamma), lambda s: 300)
    for id, runs, parts in (
        ("bias-large-together", transformers(lambda s: 149, lambda s: 4000), ["the held-out loss halves in no run"]),
        ("bias-small-reasoning-first", rising, ["in every run held-out pairs take at most 1.5 times as long"]),
        ("bias-grows", rising, []),
        ("bias-table-window", tables([999] * 4, [1.1] * 4), ["in every seed a lower loss at the end"]),
    ):
        assert failed(id, runs) == parts
        asks(id, *parts)
    assert failed("bias-table-groups", grouped(lambda seed, i: 0.8 if (seed, i) == (1, 3) else 1)) == ["group 3"]
    odd = lies(lambda m, t: (alike(0.4 if (m, t) == ("transformer", "late") else 0.6), on_an_arc()))
    assert failed("embedding-memory-alike", odd) == ["transformer late"]
    assert failed("embedding-flow-emb-mlp", flowing(monkeypatch, lambda spec, exact: 0.24, 0.94)) == ["cosine at least .95"]
    monkeypatch.setattr(attention, "reading", lambda run: np.full((2, 7, 4), 0.7 if run.spec.seed > 3 else 0.9))
    assert failed("attention-second-key", map(planted, TWELVE)) == ["in at least 75% of the seeds"]
    less = lambda n, g, s: 301 if g == SMALL and n != "no head" else 298
    assert failed("attention-ablations", ablated(less)) == ["no output matrix"]


def whole(spec: RunSpec) -> Planted:
    """A run with a snapshot that every analysis can read."""
    lie = {"anchors": torch.nn.functional.pad(lying(alike(0.5), on_an_arc())["anchors"], (0, spec.model.d_model - 11))}
    kept = lie | {
        "attention": causal_average(9),
        "deviation": torch.zeros(9, 9),
        "spectrum": torch.tensor([2.0, 1.0, 0.5]),
        "direction": torch.eye(spec.model.d_model)[0],
        "groups": torch.ones(4, 200) / 200,
    }
    return planted(spec, {"reasoning": 100, "memory": 300, "held out": 100}, kept=dict.fromkeys(dict(spec.task)["keep"], kept))


@pytest.mark.parametrize("id", sorted(BY_ID))
def test_what_is_judged_is_in_the_criterion(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that could not be found there would tell a reader nothing; where the parts are many alike, it says so."""
    seen: list[str] = []
    for chapter in (claims.attention, claims.embeddings, claims.memory_and_reasoning):
        monkeypatch.setattr(chapter, "graded", lambda parts: seen.extend(parts) or graded(parts))
    monkeypatch.setattr(attention, "reading", lambda run: np.ones((2, 7, 4)))
    monkeypatch.setattr(attention, "moved", lambda run: {"other place": (0.0, 1.0)})
    monkeypatch.setattr(embeddings, "plane_orders", lambda run: dict.fromkeys(("reasoning", "memory", "key"), 0.6))
    specs = [*TWELVE, *EMB.specs("laptop"), *table_specs("laptop"), *many_rows_specs("laptop")]
    groups = (group for part in (ablation_specs, long_specs) for group in part("laptop").values())
    runs = [whole(s) for s in (*specs, *(s for group in groups for s in group))]
    if id in FLOWS:
        runs = flowing(monkeypatch, lambda spec, exact: 0.1, 0.96)
    BY_ID[id].evaluate(Shelf(runs), "laptop")
    criterion = BY_ID["embedding-flow-emb-mlp" if id in FLOWS else id].criterion  # of the others it is "the same"
    assert seen
    assert all(part in criterion for part in seen) or "one part for each" in criterion


def test_what_a_training_set_holds_is_told_at_any_size() -> None:
    """An advantage of storing rows is told only where entries hardly come twice, the paper's size only of smaller ones."""
    ours, paper, new = (memory_prose.coverage_text(rows) for rows in (20_000, 200_000, 0))
    assert "At the paper's size nearly every entry occurs" in ours
    assert ours.endswith("nearly as good to store a row as to store an entry.")
    assert "Our 200,000 rows hold 9,999 of the 10,000 entries of the table, each 10.1 times" in paper
    assert "the paper's" not in paper
    assert "as good" not in paper
    assert new == "Every row is new, so that all 10,000 entries of the table come again and again."
    assert "as good" not in memory_prose.coverage_text(60_000)  # each three times


def test_how_much_was_stored_is_told_by_the_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: True))
    run = lambda **final: of_shares(0, [4, 2, 1], [0, 0.5, 0.9], [0, 0.5, 0.9], **final)

    def end(trained: float, new: float, held: float) -> str:
        monkeypatch.setattr(attention, "averaged", lambda run: {"": new})
        text = memory_prose.accuracy_text([run(reasoning=trained, **{"held out": held})])
        return text.split(f"held-out pairs {held:.2f}: ")[1]

    assert end(0.9, 0.6, 0.4).startswith("much of the distance")
    assert end(0.9, 0.8, 0.4).startswith("less than half of the distance")
    assert end(0.8, 0.7, 0.9) == "no fewer than of the trained rows."
    not_finite = run(reasoning=0.9, **{"held out": 0.4})
    not_finite = replace(not_finite, history=not_finite.history | {"held out": [0.0, 0.5, None]})
    assert "0.50 of the held-out rows" in memory_prose.accuracy_text([not_finite])


def test_memory_anchors_in_words_where_all_is_otherwise() -> None:
    """Anchors that stay apart though they have moved, a transformer's that are alike, and few rows, which may be why."""
    emb = [planted(s, kept={400: went(s, np.eye(10), on_an_arc())}) for s in EMB.specs("laptop")[:1]]

    def text(level: float, rows: int) -> str:
        spec = bias_specs("laptop")[0]
        spec = replace(spec, task=tuple((dict(spec.task) | {"rows": rows}).items()))
        deep = [planted(spec, kept={400: lying(alike(level), on_an_arc())})]
        return embedding_prose.memory_text({"Emb-MLP early": (emb, 400), "transformer late": (deep, 400)})

    assert "Their random start is not most of what keeps them from 1" in text(0.2, 20_000)
    assert "is mostly their random start" not in text(0.2, 20_000)
    assert "does not explain this" in text(0.2, 20_000)
    assert "may explain this" in text(0.2, 600)
    assert text(0.6, 600).endswith("In the transformer they are alike at some snapshot, too (0.60, mean over seeds).")


def test_what_attention_goes_by_is_told_of_the_seeds_that_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [planted(s) for s in bias_specs("laptop") if s.gamma == SMALL]
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: False))
    assert attention_prose.causes_text(runs).endswith("No weights of these runs are kept, so that this cannot be asked.")
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: True))
    monkeypatch.setattr(attention, "averaged", lambda run: dict.fromkeys(attention.AVERAGED, 0.5))
    moved = lambda there: lambda run: {"itself": (0.9, 0.0), "same place": (0.2, 0.1), "other place": (0.1, there)}
    monkeypatch.setattr(attention, "moved", moved(0.4))
    text = attention_prose.causes_text(runs)
    assert text.endswith(
        "In none of 4 of these it goes to *where* the other sequence's key is, whichever key it is. So it does not go by place."
    )
    assert "could hardly do otherwise" not in text
    assert "Neither attention is much" in text
    monkeypatch.setattr(attention, "moved", moved(0.5))
    assert "In all 4 of these it goes to *where*" in attention_prose.causes_text(runs)
    monkeypatch.setattr(attention, "moved", lambda run: dict.fromkeys(("itself", "same place", "other place"), (0.0, 0.1)))
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.9, "attention.1": 0.1, "attention.2": 0.2})
    text = attention_prose.causes_text(runs)
    assert text.endswith(
        "In no seed, then, does most of the second attention rest on the key, so that there is nothing to follow."
    )
    assert "Both attentions are: " in text


@pytest.mark.parametrize("gamma", [0.4, 1.0, 1.3])
def test_a_readers_own_gamma_is_told_alone(gamma: float) -> None:
    """One γ, one seed, a loss that never halves: sentences and tables hold no more than there is."""
    spec = replace(bias_specs("laptop")[0], gamma=gamma, seed=7)
    learns, fails = planted(spec, {"reasoning": 100, "memory": 200, "held out": 100}), planted(spec)
    assert f"| {gamma:g} | 1.0 | 0.5 | 0.5 | 0.00 |" in memory_prose.training_text([learns], [gamma])
    assert f"| {gamma:g} | never | never | never | 0.00 |" in memory_prose.training_text([fails], [gamma])
    assert memory_prose.accuracy_text([fails]) == "The held-out loss does not halve."
    assert "so there is no ratio" in memory_prose.bias_text({"one": [fails]})
    diverged = replace(fails, history=fails.history | {"held out": [None]})
    assert f"| {gamma:g} | never | never | never | nan |" in memory_prose.training_text([diverged], [gamma])
