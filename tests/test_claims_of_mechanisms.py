"""The ledger of chapters 3 to 8 judges: on planted results every verdict can be known, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted import judged, planted_run
from planted_composition import CLAIMS, NEEDS, make_run, new_seed, table

from lib.composition.condensation import claims as condensation_claims
from lib.composition.flip import CONFIRM_FIRST, HYBRIDS
from lib.composition.gpt2 import claims as gpt2_claims
from lib.composition.gpt2 import metrics as gpt2_numbers
from lib.composition.information_flow import claims as flow_claims
from lib.composition.information_flow.metrics import BOTH, EDGES, GROUPS, KEY_FIRST, PAIR_FIRST, Step, hybrid
from lib.composition.phases import phases
from lib.composition.rate_decay_data import claims as rate_decay_claims
from lib.composition.study import OFFSETS, make_study
from lib.composition.trajectories import PLAYED
from lib.composition.variations import FACTORS, FEW, GPT2, KEYS, NORM, factor_specs, rounded_specs, until_learned_specs
from lib.composition.width import claims as width_claims
from lib.composition.width import metrics as width_metrics
from lib.composition.width.metrics import VARIABLES
from lib.core.model.transformer import from_weights
from lib.core.read.claim import NO_EFFECT, NOT_RUN, OPPOSITE, PARTLY, REPRODUCED, TOO_SMALL
from lib.core.read.fact import ABSENT
from lib.core.read.roundings import Arms
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store, StoredRun


def evaluated(name: str, runs: Sequence[StoredRun] = ()) -> dict[str, Any]:
    return judged(CLAIMS, name, runs)


def status(name: str, runs: Sequence[StoredRun] = ()) -> str:
    return evaluated(name, runs)["status"]


def failed(name: str, runs: Sequence[StoredRun] = ()) -> list[str]:
    return evaluated(name, runs)["failed"]


def held(name: str, runs: Sequence[StoredRun] = ()) -> list[bool]:
    """Which parts of its criterion hold, in their order."""
    return [part["holds"] for part in evaluated(name, runs)["parts"]]


def plant(monkeypatch: pytest.MonkeyPatch, module: object, runs: list[StoredRun]) -> None:
    monkeypatch.setattr(module, "load", lambda specs, store: runs)


# --- Phases ---


def test_phases_are_found_by_level_and_by_seen_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [
        make_run(depth=2, gamma=0.5, symmetric=0.9),
        make_run(depth=2, gamma=0.6, symmetric=0.7),
        make_run(depth=2, gamma=0.7, symmetric=1.0, test=0.5),
        make_run(depth=3, gamma=0.5, inferential=0.85),
    ]
    found = {(p.mapping, p.depth): p for p in phases(runs)}
    assert [r.spec.gamma for r in found["symmetric", 2].runs] == [0.5]
    assert found["symmetric", 2].genuine
    assert not found["inferential", 2].genuine  # none there: the clearest stands in
    assert [r.spec.gamma for r in found["inferential", 3].runs] == [0.5]
    assert ("symmetric", 3) not in found
    with pytest.raises(ValueError, match="need runs"):
        phases([])


# --- What suggested a question does not judge it ---

JUDGED = ("flow-way", "flow-exact", "vectors-anchor", "vectors-early", "embedding-row")


def judging(signs: dict[float, int], first: int | None = None) -> list[StoredRun]:
    """Eight new seeds at each γ. sign: 1 where runs are as claims on the two ways and on γ say, −1 for the opposite, 0 where
    nothing goes with either; first: how many go key first, where it is not the sign that says so."""
    runs = []
    for (gamma, sign), seed in product(signs.items(), range(8)):
        key_first = seed < (4 + (2 if gamma > 0.9 else -2) * sign if first is None else first)
        up = sign if key_first else -sign
        row, early = np.array([0.5 + 0.3 * up, 0.5 - 0.3 * up]), 0.5 + 0.2 * sign * gamma
        told = {"between": np.array([[9, 9], row]), "answered": np.array([[early, 9], [9, 9]]), "step_shares": row}
        offsets = {-10: 0.6 - 0.1 * up, -9: 0.4 + 0.1 * up}
        way = KEY_FIRST if key_first else PAIR_FIRST
        runs.append(new_seed(gamma, seed, way, offsets, **told))
    return runs


@pytest.mark.parametrize("name", JUDGED)
def test_the_two_ways_are_judged_by_what_was_not_looked_at(telling: None, name: str) -> None:
    first, later = CONFIRM_FIRST, (0.35, 0.75, 1.1)
    assert status(name, judging(dict.fromkeys(first, 1))) == NOT_RUN
    for sign, expected in ((1, REPRODUCED), (-1, OPPOSITE), (0, NO_EFFECT)):
        assert status(name, judging(dict.fromkeys(first, -sign or 1) | dict.fromkeys(later, sign))) == expected
    others = judging(dict.fromkeys(first, 1))
    assert status(name, others + judging({0.35: 1}, first=0)) == NOT_RUN  # of one way alone
    alone = {"vectors-early": NOT_RUN, "flow-way": NOT_RUN}.get(name, TOO_SMALL)  # 1 of 8 is the least p
    assert status(name, others + judging({0.35: 1}, first=1)) == alone


MIXED = {(1, "key", "first anchor"), (1, "second anchor", "last"), (2, "first anchor", "last")}


def test_a_hybrid_is_read_from_what_is_needed(telling: None) -> None:
    assert hybrid(new_seed(needs=MIXED))
    without = [MIXED - {step} for step in MIXED if step[0] == 1]
    for other in (*NEEDS, *without, MIXED | {(1, "key", "second anchor")}):
        assert not hybrid(new_seed(needs=other)), other


@pytest.mark.parametrize(("half", "other", "expected"), [(1, 0, REPRODUCED), (0, 1, OPPOSITE), (1, 1, NO_EFFECT)])
def test_whether_hybrids_are_undecided_is_judged_by_seeds_of_its_own(
    telling: None, half: int, other: int, expected: str
) -> None:
    """half, other: are hybrids undecided, and those that go another way?"""
    open_, shut = {-16: 0.8, -10: 0.1}, {-10: 0.4, -11: 0.4, -16: 0.2}
    runs = []
    for spec in HYBRIDS.specs("laptop"):
        there = spec.seed % 2 == 0
        run = new_seed(needs=MIXED if there else PAIR_FIRST, offsets=open_ if (half if there else other) else shut)
        runs.append(replace(run, spec=spec))
    assert status("flow-hybrid", runs) == expected
    assert status("flow-hybrid", runs[1:]) == NOT_RUN
    alike = [replace(runs[0], spec=run.spec) for run in runs]
    assert status("flow-hybrid", alike) == TOO_SMALL


def test_what_the_anchor_passes_on_is_the_number_and_not_the_key(telling: None) -> None:
    """More often than in others, and more often than the key, in most of the runs that go key first."""
    key_too = lambda run: replace(run, metrics=run.metrics | {"between": run.metrics["between"][:, [0, 0]] + [0.0, 0.1]})
    runs = judging(dict.fromkeys((0.35, 0.55, 0.75), 1))
    assert held("vectors-anchor", list(map(key_too, runs))) == [True, False]
    assert held("vectors-anchor", [key_too(run) if run.spec.seed == 200 else run for run in runs]) == [True, True]


# --- Flow ---


def of_one_kind(offset: int, ways: Sequence[str | set[Step]]) -> list[StoredRun]:
    """Eight seeds at the two first γ that all give one answer; the first of them go these ways, the rest the last one."""
    return [
        new_seed(gamma, seed, ways[min(8 * i + seed, len(ways) - 1)], {offset: 1.0})
        for (i, gamma), seed in product(enumerate(CONFIRM_FIRST), range(8))
    ]


WHOLE = "share of runs that need every edge of the drawn route"


@pytest.mark.parametrize(
    ("name", "offset", "own", "other"),
    [("flow-symmetric", -6, PAIR_FIRST, KEY_FIRST), ("flow-inferential", -10, KEY_FIRST, PAIR_FIRST)],
)
def test_the_drawn_routes_are_asked_edge_by_edge(telling: None, name: str, offset: int, own: str, other: str) -> None:
    assert status(name, of_one_kind(offset, [own])) == REPRODUCED
    assert status(name, of_one_kind(offset, [other, own])) == REPRODUCED  # 15 of 16
    assert failed(name, of_one_kind(offset, [other, other, own])) == [WHOLE]
    assert status(name, of_one_kind(offset, [other])) == NO_EFFECT
    both = of_one_kind(offset, [BOTH])
    n = len(NEEDS[own])
    assert (status(name, both), held(name, both)) == (PARTLY, [True] * n + [False] * (7 - n) + [True])
    lacking = of_one_kind(offset, [set(sorted(NEEDS[own])[1:])])
    assert held(name, lacking) == [False] + [True] * 6 + [False]
    assert status(name, of_one_kind(-16 - offset, [own])) == NOT_RUN  # all give the other answer


def deeper(monkeypatch: pytest.MonkeyPatch, *groups: Sequence[StoredRun]) -> None:
    runs = [replace(run, path=Path(f"{i}.json")) for i, run in enumerate(chain(*groups))]
    monkeypatch.setattr(flow_claims, "deep_runs", lambda store, profile: runs)


def deep_seeds(offset: int, n: int = 6, depth: int = 3, **told: object) -> list[StoredRun]:
    return [new_seed(seed=seed, depth=depth, offsets={offset: 0.9}, **told) for seed in range(n)]


def test_the_deeper_route_has_an_order(telling: None, monkeypatch: pytest.MonkeyPatch) -> None:
    in_order = table(GROUPS, {(2, "key → anchors"): 0.9, (3, "anchors → last"): 0.9}, 3)
    backwards, last = in_order[[0, 2, 1]], table(GROUPS, {(3, "key → last"): 0.9}, 3)
    found = lambda *groups: (deeper(monkeypatch, *groups), status("flow-inferential-deep"), held("flow-inferential-deep"))[1:]
    runs = deep_seeds(-10, group_costs=in_order)
    plain, same = (deep_seeds(-7, group_costs=costs) for costs in (last, in_order))
    assert found(runs, plain) == (REPRODUCED, [True, True, True])
    assert found(runs, same) == (PARTLY, [True, True, False])
    assert found(deep_seeds(-10, group_costs=backwards), plain) == (PARTLY, [False, True, False])
    assert found(deep_seeds(-10, group_costs=last), same)[1] == [False, False, False]
    assert found([*runs[:3], *deep_seeds(-10, 3, group_costs=last)], plain) == (TOO_SMALL, [False, False, False])
    elsewhere = [replace(run, spec=replace(run.spec, model=replace(run.spec.model, depth=4))) for run in plain]
    for lacking in ((runs,), (plain,), (runs, elsewhere)):  # of one kind alone, and at one depth
        deeper(monkeypatch, *lacking)
        assert status("flow-inferential-deep") == NOT_RUN


def test_drawn_and_needed_edges_are_compared_group_by_group(telling: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the new seeds and of the deeper ones, inferential or not, with half of the edges as the level."""
    picture = lambda way, depth=2: table(EDGES, {(e[0], e[1:]): 1.0 for e in NEEDS[way]}, depth)
    drawn = lambda way, runs: [replace(run, metrics=run.metrics | {"drawn": picture(way)}) for run in runs]
    new = of_one_kind(-6, [PAIR_FIRST])
    deeper(monkeypatch)
    assert status("flow-causal", drawn(PAIR_FIRST, new)) == REPRODUCED
    assert held("flow-causal", drawn(BOTH, new)) == [False, True]  # 3 of 7 that are drawn are needed
    assert held("flow-causal", drawn(PAIR_FIRST, of_one_kind(-6, [BOTH]))) == [True, False]
    assert status("flow-causal", drawn(KEY_FIRST, new)) == NO_EFFECT
    false, true = (deep_seeds(o, 1, needs=PAIR_FIRST, drawn=picture(w, 3)) for o, w in ((-10, KEY_FIRST), (-7, PAIR_FIRST)))
    deeper(monkeypatch, false)
    assert held("flow-causal", drawn(PAIR_FIRST, new)) == [True, True, False, False]
    deeper(monkeypatch, false, true)
    assert held("flow-causal", drawn(PAIR_FIRST, new)) == [True, True, False, False, True, True]


def test_states_forget_the_order_at_every_depth(telling: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deep inferential runs do not make up for two-layer ones."""

    def judge(symmetric: float, inferential: float, deep: tuple[float, float] | None, n: int = 3) -> tuple[str, list[bool]]:
        runs = [
            new_seed(gamma, seed, offsets={offset: 1.0}, forgets_order=ratio)
            for gamma, offset, ratio in zip(CONFIRM_FIRST, (-6, -10), (symmetric, inferential), strict=True)
            for seed in range(8)
        ]
        deeper(monkeypatch, *(deep_seeds(o, n, forgets_order=r) for o, r in zip((-6, -10), deep or (), strict=False)))
        return status("flow-mirrored", runs), held("flow-mirrored", runs)

    assert judge(0.1, 0.8, None) == (REPRODUCED, [True, True])
    assert judge(0.1, 0.8, (0.2, 0.9)) == (REPRODUCED, [True] * 4)
    assert judge(0.1, 0.15, (0.2, 0.9)) == (PARTLY, [True, False, True, True])
    assert judge(0.1, 0.8, (0.6, 0.9)) == (PARTLY, [True, True, False, False])
    assert judge(0.1, 0.8, (0.6, 0.9), 2) == (REPRODUCED, [True, True])  # too few make no interval
    assert judge(0.6, 0.8, None)[0] == NO_EFFECT
    assert status("flow-mirrored", of_one_kind(-6, [PAIR_FIRST])) == NOT_RUN


# --- Vectors ---


def fused(
    symmetric: float, inferential: float, others: float = 0.0, most: int = 8, n: Sequence[int] = (2, 6), drop: float = 0.0
) -> list[StoredRun]:
    """New seeds at two γ, n of each that compose, but `most` altogether, and eight less n that are symmetric; the contrast and
    the cosine of equal numbers of each, less `drop` at the larger γ, and the cosine of others."""
    runs = []
    for (gamma, many, less), seed in product(zip(CONFIRM_FIRST, n, (0.0, drop), strict=True), range(8)):
        value = (inferential if seed < many else symmetric) - less
        told = {"answers": (value, others), "plain_contrast": value}
        composes = sum(run.metrics["inferential"] for run in runs) < most
        runs.append(new_seed(gamma, seed, offsets={-6 if seed >= many else -10 if composes else 0: 1.0}, **told))
    return runs


@pytest.mark.parametrize(
    ("runs", "expected", "parts"),
    [
        (fused(0.05, 0.95), REPRODUCED, [True, True, True, True]),
        (fused(0.05, 0.85), PARTLY, [True, False, True, True]),
        (fused(0.05, 0.95, others=0.9), PARTLY, [True, True, False, True]),  # near-parallel all of them
        (fused(0.6, 0.95), PARTLY, [True, True, True, False]),
        (fused(0.6, 0.85), PARTLY, [True, False, True, False]),
        (fused(0.95, 0.6), OPPOSITE, [False, False, True, False]),  # a half of the part on inferential runs
        (fused(0.6, 0.6), NO_EFFECT, [False, False, True, False]),
        (fused(0.6, 0.7, most=1), TOO_SMALL, [False, False, True, False]),  # 1 of 7 is the least p
        (fused(0.05, 0.95, most=0), NOT_RUN, []),
        (fused(0.05, 0.95, n=(0, 8)), NOT_RUN, []),  # γ alone differs
    ],
)
def test_fused_vectors_are_judged_by_their_parts(
    telling: None, runs: list[StoredRun], expected: str, parts: list[bool]
) -> None:
    assert (status("vectors-fused", runs), held("vectors-fused", runs)) == (expected, parts)


def test_fused_vectors_are_compared_within_each_gamma(telling: None) -> None:
    """What γ does to the contrast, and to which answers there are, is no difference between the two kinds of model."""
    runs = fused(0.85, 0.9, drop=0.5)
    contrast = lambda mapping: np.median([run.metrics["plain_contrast"] for run in runs if run.metrics[mapping]])
    assert contrast("symmetric") > contrast("inferential")
    assert held("vectors-fused", runs)[0]
    assert not held("vectors-fused", fused(0.9, 0.85, n=(6, 2), drop=0.5))[0]


# --- Complexity ---

MEASURED = {
    "condensation": ("condensation of W_Q(1)", 1),
    "embedding-order": ("order of the embedding", 1),
    "embedding-eigenvalues": ("embedding's effective dimension", -1),
    "stable-rank": ("mean stable rank", -1),
}


def measured(measure: str, value: Callable[[float], float], depth: int = 2, n: int = 8) -> list[StoredRun]:
    """New seeds, or runs of another depth, whose measure goes with γ."""
    names = [name for name, _ in MEASURED.values()]
    told = lambda g, s: {"measures_of": dict.fromkeys(names, 0.0) | {measure: value(g) + 0.001 * s}}
    return [new_seed(g, s, depth=depth, **told(g, s)) for g, s in product((0.35, 0.55, 1.25), range(n))]


@pytest.mark.parametrize("name", MEASURED)
def test_weights_are_simpler_above_the_median_gamma_of_every_depth(
    telling: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    measure, sign = MEASURED[name]
    rising, falling, flat = lambda g: sign * g, lambda g: -sign * g, lambda g: 0.0
    three_layers = lambda value, n=8: measured(measure, value, 3, n)

    def judge(value: Callable[[float], float], deep: list[StoredRun]) -> str:
        found = {3: [run for run in deep if run.spec.model.depth == 3]}
        monkeypatch.setattr(condensation_claims, "deeper", lambda store, profile: found)
        return status(name, measured(measure, value))

    unlearned = [replace(run, metrics=run.metrics | {"test": 0.5}) for run in three_layers(falling)]
    assert judge(rising, three_layers(rising)) == REPRODUCED
    assert judge(rising, three_layers(rising) + unlearned) == REPRODUCED  # what has not learned does not count
    assert (judge(rising, three_layers(flat)), held(name, measured(measure, rising))) == (PARTLY, [True, False])
    assert judge(flat, three_layers(falling)) == OPPOSITE
    assert judge(flat, three_layers(flat)) == NO_EFFECT
    assert judge(flat, three_layers(flat, n=1)) == TOO_SMALL
    assert judge(rising, three_layers(rising)[:8]) == NOT_RUN  # one γ alone at three layers


def growing(gamma: float, *histories: list[float]) -> list[StoredRun]:
    """The rate falls at 7,000."""
    history = {"step": list(range(1000, 8000, 1000))} | {f"eigenvalue {i + 1}": h for i, h in enumerate(histories)}
    return [replace(new_seed(gamma, seed), history=history, fit_step=1000) for seed in range(8)]


def test_growth_in_turn_is_what_is_asked(telling: None) -> None:
    """Of small weights at γ that did not suggest it: what larger ones and the first two γ do is not asked."""
    after = lambda n: [0.1] * n + [9.0] * (7 - n)
    in_turn, late = (after(1), after(2), after(3)), [9.0] * 6 + [9.8]
    others = growing(0.35, late, after(0), after(0)) + growing(1.25, late, after(0), after(0))
    judge = lambda *histories: (
        status("eigenvalue-growth", others + growing(0.95, *histories)),
        held("eigenvalue-growth", others + growing(0.95, *histories)),
    )
    assert judge(*in_turn) == (REPRODUCED, [True, True])
    assert judge(after(2), after(3), after(4)) == (NO_EFFECT, [False, False])  # 4,000 is not half again as late as 3,000
    assert judge(after(1), after(2), after(2)) == (PARTLY, [True, False])
    assert judge([0.1, *late[1:]], after(2), after(3)) == (REPRODUCED, [True, True])  # whether growth stops is not asked
    assert judge(late, after(0), after(0)) == (NO_EFFECT, [False, False])
    assert status("eigenvalue-growth", growing(0.35, *in_turn) + growing(1.25, *in_turn)) == NOT_RUN
    mixed = lambda *histories: others + growing(0.95, *histories)[:4] + growing(0.95, late, after(0), after(0))[4:]
    assert held("eigenvalue-growth", mixed(*in_turn)) == [False, False]  # half of them are not most
    assert status("eigenvalue-growth", mixed(*in_turn)) == TOO_SMALL
    refuted = mixed(after(2), after(3), after(4))  # that the third of half of them is later does not leave it open
    assert status("eigenvalue-growth", refuted) == NO_EFFECT


def both_answers(gamma: float, rank: tuple[float, float], n: int = 4) -> list[StoredRun]:
    """n runs of each answer, the rest undecided; rank: of symmetric and of inferential runs."""
    names = ("rank", "b", "c", "d", "e")
    made = []
    for seed in range(8):
        kind = seed // n if seed < 2 * n else 2
        value = (*rank, 9.0)[kind] + 0.001 * seed
        told = dict.fromkeys(names, 0.0) | {"rank": value}
        made.append(new_seed(gamma, seed, offsets={(-6, -10, 0)[kind]: 1.0}, measures_of=told))
    return made


def test_the_order_parameter_must_tell_answers_at_one_gamma(telling: None) -> None:
    """On either side, but on the same one at all γ; after counting all five measures."""
    judge = lambda *groups: status("order-parameter", [run for group in groups for run in group])
    up, down = (0.0, 1.0), (1.0, 0.0)
    assert judge(both_answers(0.95, up), both_answers(1.25, up)) == REPRODUCED
    assert judge(both_answers(0.95, down), both_answers(1.25, down)) == REPRODUCED
    assert judge(both_answers(0.95, up), both_answers(1.25, down)) == NO_EFFECT
    alone = both_answers(1.25, up, n=0)  # undecided
    assert judge(both_answers(0.95, up), alone) == TOO_SMALL  # 2 of 70, five times
    apart = [both_answers(gamma, rank, n=8) for gamma, rank in ((0.95, up), (1.25, down))]
    assert judge(*apart) == judge(alone, *apart[:1]) == NOT_RUN


# --- Rate, decay, data, width, GPT-2 ---


def with_rate_and_decay(inferential: Callable[[float, float], float]) -> list[StoredRun]:
    return [
        replace(run, spec=replace(run.spec, decay=d))
        for d, r, s in product((0.01, 0.1, 1.0), (1e-3, 2e-3, 3e-3), range(3))
        for run in [make_run(rate=r, seed=s, inferential=inferential(r, d))]
    ]


def test_rate_and_decay_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, rate_decay_claims, with_rate_and_decay(lambda rate, decay: 300 * rate))
    assert (status("rate-raises"), held("decay-raises")) == (REPRODUCED, [False])
    falling = with_rate_and_decay(lambda rate, decay: 1 - decay)
    plant(monkeypatch, rate_decay_claims, falling)
    assert (held("rate-raises"), status("decay-raises")) == ([False], OPPOSITE)
    unlearned = [replace(run, metrics=run.metrics | {"test": 0.5}) for run in falling]
    plant(monkeypatch, rate_decay_claims, falling[:2] + unlearned[2:])
    assert status("rate-raises") == status("decay-raises") == NOT_RUN


@pytest.mark.parametrize(
    ("trend", "expected"),
    [
        ((0.5, 0.01, 0.8), REPRODUCED),
        ((-0.5, -0.8, -0.01), OPPOSITE),
        ((0.1, -0.2, 0.3), TOO_SMALL),  # so wide that it allows a correlation that counts
        ((0.1, 0.0, 0.29), NO_EFFECT),
    ],
)
def test_an_interval_that_does_not_lie_above_zero_says_why(
    monkeypatch: pytest.MonkeyPatch, trend: tuple[float, float, float], expected: str
) -> None:
    plant(monkeypatch, rate_decay_claims, with_rate_and_decay(lambda rate, decay: 0.0))
    monkeypatch.setattr(rate_decay_claims, "slope", lambda runs, value, metric: trend)
    value, low, high = trend
    monkeypatch.setattr(rate_decay_claims, "lean_by_numbers", lambda runs: (-value, -high, -low))  # more numbers, less
    assert {status(name) for name in ("rate-raises", "decay-raises", "few-numbers-boundary")} == {expected}


@pytest.mark.parametrize(
    ("claim", "measure"), [("rate-decay-condense", "condensation of W_Q(1)"), ("rate-decay-order", "order of the embedding")]
)
def test_weights_must_go_with_rate_and_with_decay(monkeypatch: pytest.MonkeyPatch, claim: str, measure: str) -> None:
    names = ("condensation of W_Q(1)", "order of the embedding")
    runs = with_rate_and_decay(lambda rate, decay: 0.0)
    plant(monkeypatch, rate_decay_claims, [replace(run, metrics=run.metrics | {"test": 0.1}) for run in runs])
    assert status(claim) == NOT_RUN  # no weights are stored

    def judge(value: Callable[[float, float], float]) -> tuple[str, list[bool]]:
        of = lambda run: dict.fromkeys(names, 0.0) | {measure: value(1000 * run.spec.rate, run.spec.decay)}
        monkeypatch.setattr(rate_decay_claims, "measures_of", of)
        return status(claim), held(claim)

    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: True))
    assert judge(lambda rate, decay: rate + 2 * decay) == (REPRODUCED, [True, True])
    assert judge(lambda rate, decay: rate) == (PARTLY, [True, False])
    assert judge(lambda rate, decay: decay - rate) == (PARTLY, [False, True])
    assert judge(lambda rate, decay: -rate - decay) == (OPPOSITE, [False, False])
    assert judge(lambda rate, decay: 0.0) == (NO_EFFECT, [False, False])
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: self.spec.seed == 0 and self.spec.decay == 1.0))
    assert judge(lambda rate, decay: rate + 2 * decay) == (PARTLY, [True, False])  # of runs with weights: one decay


def test_the_corner_of_small_and_decayed(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(corner: float) -> tuple[str, list[bool]]:
        runs = [
            replace(run, spec=replace(run.spec, decay=d))
            for g, d, s in product((0.4, 0.8), (0.01, 1.0), range(2))
            for run in [make_run(gamma=g, seed=s, inferential=corner if (g, d) == (0.8, 1.0) else 0.1)]
        ]
        plant(monkeypatch, rate_decay_claims, runs)
        return status("decay-phases"), held("decay-phases")

    assert judge(0.9) == (REPRODUCED, [True, True, True])
    assert judge(0.3) == (PARTLY, [False, True, True])
    assert judge(0.1) == (NO_EFFECT, [False, True, False])
    assert judge(0.0) == (OPPOSITE, [False, True, False])


def test_few_numbers_turn_the_answer_or_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 30 numbers at two widths; those with 80 say something of the boundary alone."""

    def runs(leans: tuple[float, float], numbers: int = 30, width: int = 16) -> list[StoredRun]:
        """Three seeds at γ .5 and .8 with these leans."""
        made = [
            make_run(gamma=gamma, seed=seed, width=width, symmetric=max(-lean, 0.0), inferential=max(lean, 0.0))
            for (gamma, lean), seed in product(zip((0.5, 0.8), leans, strict=True), range(3))
        ]
        return [replace(run, spec=replace(run.spec, task=(("keys", numbers),))) for run in made]

    def judge(grid: list[StoredRun], few: tuple[float, float], name: str = "few-numbers-flip") -> tuple[str, list[bool]]:
        found = {KEYS.specs("laptop")[0].experiment: grid, FEW.specs("laptop")[0].experiment: runs(few, width=32)}
        monkeypatch.setattr(rate_decay_claims, "load", lambda specs, store: found[specs[0].experiment])
        return status(name), held(name)

    turns, back, symmetric = (-0.6, 0.9), (0.6, -0.9), (-0.9, -0.9)
    assert judge(runs(turns) + runs(symmetric, 80), turns) == (REPRODUCED, [True] * 6)
    assert judge(runs((-0.6, 0.4)) + runs(turns, 80), turns) == (PARTLY, [True, False, True, True, True, True])
    assert judge(runs((-0.4, 0.4)) + runs(turns, 80), (-0.4, 0.9)) == (PARTLY, [False, False, True, False, True, True])
    assert judge(runs((-0.4, 0.4)), (-0.4, 0.4)) == (NO_EFFECT, [False, False, True] * 2)
    assert judge(runs(back), back) == (PARTLY, [True, True, False] * 2)  # each answer is frequent, in the other order
    for few, many, expected in ((turns, symmetric, REPRODUCED), (symmetric, turns, OPPOSITE)):
        assert judge(runs(few) + runs(many, 80), turns, "few-numbers-boundary")[0] == expected


def test_harder_data_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(time: Callable[[int, float], int]) -> tuple[str, list[bool]]:
        found = []
        for k, g, s in product(range(4), (0.5, 0.8), range(2)):
            run = make_run(gamma=g, seed=s)
            history = {"step": [1, time(k, g)], "test": [0.0, 1.0]}
            found.append(replace(run, spec=replace(run.spec, task=(("groups", k),)), history=history))
        plant(monkeypatch, rate_decay_claims, found)
        return status("data-complexity"), held("data-complexity")

    assert judge(lambda k, g: 10 + k) == (REPRODUCED, [True, True])
    assert judge(lambda k, g: 10 + k if g == 0.5 else 10) == (PARTLY, [True, False])
    assert judge(lambda k, g: 10)[0] == NO_EFFECT


def unlearned(run: StoredRun) -> StoredRun:
    return replace(run, metrics=run.metrics | {"test": 0.5})


def gammas(symmetric: list[float], inferential: list[float], norm: str = "post", depth: int = 2) -> list[StoredRun]:
    runs = [
        make_run(depth=depth, gamma=g, seed=s, symmetric=a, inferential=b)
        for g, a, b in zip((0.3, 0.6, 0.9), symmetric, inferential, strict=True)
        for s in range(4)
    ]
    return [replace(r, spec=replace(r.spec, model=replace(r.spec.model, norm=norm))) for r in runs]


PAPERS, MIRRORED, EVEN = ([1.0, 0.5, 0.0], [0.0, 0.5, 1.0]), ([0.0, 0.5, 1.0], [1.0, 0.5, 0.0]), ([0.5] * 3, [0.5] * 3)


def test_the_flip_has_two_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    for shares, expected, parts in (
        (([1.0, 0.5, 0.0], [0.0, 0.2, 0.95]), REPRODUCED, [True, True, True]),
        (([1.0, 0.5, 0.0], [0.0, 0.2, 0.6]), PARTLY, [True, False, True]),
        (([0.4, 0.3, 0.0], [0.0, 0.2, 1.0]), PARTLY, [False, False, True]),
        (EVEN, TOO_SMALL, [False] * 3),
        (MIRRORED, OPPOSITE, [False] * 3),  # each answer is frequent, in the other order
    ):
        plant(monkeypatch, width_claims, gammas(*shares))
        assert (status("flip-at-one-rate"), held("flip-at-one-rate")) == (expected, parts)
    without = lambda *gone: [
        replace(r, metrics=r.metrics | {"test": 0.5}) if r.spec.gamma in gone else r for r in gammas(*PAPERS)
    ]
    plant(monkeypatch, width_claims, without(0.9))  # the inferential answer where the seen pairs are not learned
    assert held("flip-at-one-rate") == [True, False, True]
    plant(monkeypatch, width_claims, without(0.6, 0.9))  # four runs that have learned, at one γ
    assert (status("flip-at-one-rate"), held("flip-at-one-rate")) == (TOO_SMALL, [False] * 3)
    plant(monkeypatch, width_claims, without(0.3, 0.6, 0.9))
    assert status("flip-at-one-rate") == NOT_RUN


def test_trends_are_asked_of_every_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    for other, expected, parts in (
        (PAPERS, REPRODUCED, [True] * 4),
        (EVEN, PARTLY, [True, True, False, False]),
        ((PAPERS[0], EVEN[1]), PARTLY, [True, True, True, False]),
    ):
        plant(monkeypatch, width_claims, gammas(*PAPERS) + gammas(*other, depth=3))
        assert (status("width-trend"), held("width-trend")) == (expected, parts)
    bent = [0.5, 0.2, 0.5]  # an interval on both sides of 0
    for shares, expected, parts in (
        (EVEN, NO_EFFECT, [False, False]),
        (MIRRORED, OPPOSITE, [False, False]),
        ((PAPERS[0], bent), TOO_SMALL, [True, False]),  # a shape counts by both answers together
        ((bent, PAPERS[1]), TOO_SMALL, [False, True]),
        ((PAPERS[0], MIRRORED[1]), OPPOSITE, [True, False]),
    ):
        plant(monkeypatch, width_claims, gammas(*shares))
        assert (status("width-trend"), held("width-trend")) == (expected, parts)
    without = [unlearned(run) for run in gammas(*PAPERS)]
    plant(monkeypatch, width_claims, without + gammas(*MIRRORED))
    assert status("width-trend") == OPPOSITE  # by the runs that have learned
    plant(monkeypatch, width_claims, [unlearned(run) if run.spec.gamma > 0.3 else run for run in gammas(*PAPERS)])
    assert (status("width-trend"), held("width-trend")) == (TOO_SMALL, [False, False])  # one γ is left
    plant(monkeypatch, width_claims, without)
    assert status("width-trend") == NOT_RUN


def test_unlearned_runs_are_told_apart_where_a_boundary_is_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both widths lose the symmetric answer, the smaller one along with the seen pairs."""
    genuine = width_metrics._advantage.__wrapped__
    monkeypatch.setattr(width_metrics, "_advantage", lambda runs, draws, seed: genuine(runs, 10, seed))

    def runs(width: int, lost: bool) -> list[StoredRun]:
        return [
            make_run(gamma=g, seed=s, width=width, symmetric=share, test=1.0 if share > 0.5 or not lost else 0.5)
            for g, share in ((0.3, 0.9), (0.5, 0.8), (0.6, 0.1), (0.9, 0.0))
            for s in range(4)
        ]

    widths = runs(32, lost=True) + runs(128, lost=False)
    shown = {name: fact.text for name, fact in width_metrics.facts(gammas(*PAPERS), widths).items()}
    assert (shown["unfinished"], shown["unfinished-from"]) == ("8 of 32", "0.6")
    assert (shown["placed"], shown["placed-learned"]) == ("two", "one")
    assert shown["fall-wide"] == "−1.00 (−1.00 to −1.00)"
    assert shown["fall-narrow"] == "−1.00 (−1.00 to −1.00)"  # of two γ
    assert shown["seeds"] == "0%"  # equal runs agree
    assert shown["possible"] == "1.00"  # both fall alike
    nothing = width_metrics.facts(gammas(*PAPERS), [unlearned(run) for run in widths])
    assert {nothing[name].text for name in ("fall-wide", "fall-narrow", "best-learned")} == {ABSENT}
    assert nothing["placed-learned"].text == "none"


def test_what_a_perfect_variable_would_have_by_hand() -> None:
    """Shapes that fall at one γ leave nothing to gain; at two γ, one curve on γ leaves more. Runs that differ by their seed
    alone leave what no curve takes away."""
    falls = lambda width, at: [
        make_run(gamma=g, seed=s, width=width, symmetric=float(g < at)) for g in (0.3, 0.5, 0.7, 0.9) for s in range(4)
    ]
    assert width_metrics.attainable(falls(32, 0.6) + falls(64, 0.6)) == pytest.approx(1.0)
    assert width_metrics.attainable(falls(32, 0.4) + falls(64, 0.8)) > 2
    x, one = np.repeat([0.3, 0.9], 2), np.array([1.0, 0.0, 1.0, 0.0])
    assert width_metrics.between_seeds({"seeds": (x, one)}) == pytest.approx(1.0)
    bent = np.repeat([0.0, 1.0, 0.0], 2)  # no curve of one side can follow it, and equal runs agree
    assert width_metrics.between_seeds({"bent": (np.repeat([0.3, 0.6, 0.9], 2), bent)}) == 0


def test_the_variable_that_was_planted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Widths whose curves fall together on σ, and do not on γ."""
    rng = np.random.default_rng(0)

    def runs(name: str, centre: float, scale: float) -> list[StoredRun]:
        found = []
        for width, g, s in product((32, 64, 128), (0.5, 0.6, 0.7, 0.8, 0.9, 1.0), range(4)):
            p = 1 / (1 + np.exp((VARIABLES[name](g, width, 2) - centre) / scale))
            run = make_run(gamma=g, seed=s, symmetric=float(np.clip(p + rng.normal(0, 0.03), 0, 1)))
            found.append(replace(run, spec=replace(run.spec, model=replace(run.spec.model, d_model=width))))
        return found

    genuine = width_metrics._advantage.__wrapped__
    monkeypatch.setattr(width_metrics, "_advantage", lambda runs, draws, seed: genuine(runs, 40, seed))
    plant(monkeypatch, width_claims, runs("log₁₀ σ", -1.4, -0.05))
    assert status("width-collapse") == REPRODUCED
    plant(monkeypatch, width_claims, runs("γ", 0.75, 0.03))
    assert status("width-collapse") == OPPOSITE


@pytest.mark.parametrize(
    ("best", "expected"),
    [
        ((1.3, 1.1, 1.5), REPRODUCED),
        ((1.0, 0.95, 1.05), NO_EFFECT),
        ((1.0, 0.95, 1.21), TOO_SMALL),  # it reaches what a perfect variable would have
        ((0.9, 0.7, 1.1), TOO_SMALL),  # so wide that a little better could not show
        ((0.8, 0.7, 0.9), OPPOSITE),
    ],
)
def test_the_best_variable_is_judged_by_its_interval(
    monkeypatch: pytest.MonkeyPatch, best: tuple[float, float, float], expected: str
) -> None:
    plant(monkeypatch, width_claims, [make_run()])
    monkeypatch.setattr(width_claims, "advantage", lambda runs: {"worse": (0.5, 0.4, 3.0), "best": best})
    monkeypatch.setattr(width_claims, "attainable", lambda runs: 1.2)
    assert status("width-collapse") == expected


def test_gpt2_is_judged_norm_by_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(post: Sequence[StoredRun], pre: Sequence[StoredRun]) -> tuple[str, list[bool]]:
        plant(monkeypatch, gpt2_claims, [*post, *pre])
        return status("gpt2-post"), held("gpt2-post")

    papers, mirrored, even = (
        {norm: gammas(*shares, norm=norm) for norm in ("post", "pre")} for shares in (PAPERS, MIRRORED, EVEN)
    )
    assert judge(papers["post"], papers["pre"]) == (REPRODUCED, [True] * 8)
    assert judge(mirrored["post"], mirrored["pre"])[0] == OPPOSITE
    assert judge(even["post"], even["pre"])[0] == NO_EFFECT
    weaker = gammas([1.0, 0.5, 0.0], [0.0, 0.2, 0.6], norm="pre")
    assert judge(papers["post"], weaker) == (PARTLY, [True] * 4 + [True, False, True, True])
    off = lambda r: replace(r, metrics=r.metrics | {"test": 0.5, "inferential": 1.0}) if r.spec.gamma == 0.3 else r
    # the trend is one of runs that have learned
    assert judge([off(r) for r in papers["post"]], papers["pre"]) == (PARTLY, [True, True, False, True] + [True] * 4)


def one_factor(inferential: Callable[[RunSpec], float]) -> Callable[[list[RunSpec], Store], list[StoredRun]]:
    """A `load` that finds every run, with this share of inferential answers."""
    return lambda specs, store: [replace(make_run(inferential=inferential(spec)), spec=spec) for spec in specs]


def turning(spec: RunSpec) -> float:
    return spec.gamma + 0.0001 * spec.seed


def flat(spec: RunSpec) -> float:
    return 0.1 * spec.seed


@pytest.mark.parametrize(
    ("turns", "expected", "short"),
    [
        (lambda spec: spec.model.norm == "pre", REPRODUCED, []),
        (lambda spec: True, PARTLY, [NORM]),
        (lambda spec: spec.model.norm == "pre" and spec.model.activation != "relu", PARTLY, ["ReLU"]),
        (
            lambda spec: spec.model.norm == "pre" and spec.model.heads > 1 and spec.decay > 0.01,
            PARTLY,
            ["one head", "weight decay .01"],
        ),
        (lambda spec: spec.model.activation != "relu", PARTLY, ["ReLU", NORM]),
    ],
)
def test_the_norm_alone_must_stop_the_turn(
    monkeypatch: pytest.MonkeyPatch, turns: Callable[[RunSpec], bool], expected: str, short: list[str]
) -> None:
    monkeypatch.setattr(gpt2_numbers, "load", one_factor(lambda spec: turning(spec) if turns(spec) else flat(spec)))
    assert (status("gpt2-factors"), held("gpt2-factors")) == (expected, [True, *(name not in short for name in FACTORS)])


def test_too_few_learned_runs_of_one_factor_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with the norm after in the stored runs: one of its smaller starts in four may be unfinished, and no more."""

    def plant_unfinished(some: Callable[[RunSpec], bool]) -> None:
        turns = one_factor(lambda spec: turning(spec) if spec.model.norm == "pre" else flat(spec))
        short = lambda run: replace(run, metrics=run.metrics | {"train": 0.9}) if some(run.spec) else run
        monkeypatch.setattr(gpt2_numbers, "load", lambda specs, store: [short(run) for run in turns(specs, store)])

    plant_unfinished(lambda spec: spec.model.norm == "post" and spec.seed < 5 and spec.gamma > 0.3)
    assert status("gpt2-factors") == REPRODUCED
    plant_unfinished(lambda spec: spec.model.norm == "post" and spec.seed < 6 and spec.gamma > 0.3)
    assert (status("gpt2-factors"), held("gpt2-factors")) == (TOO_SMALL, [False] + [True] * len(FACTORS))
    plant_unfinished(lambda spec: spec.gamma == 0.3)  # the large starts are not asked
    assert status("gpt2-factors") == REPRODUCED


@pytest.mark.parametrize(
    ("composes", "learned", "expected"),
    [
        (lambda spec: spec.model.norm == "pre", lambda spec: True, REPRODUCED),
        (lambda spec: spec.model.norm == "pre" and spec.gamma == 0.7, lambda spec: True, REPRODUCED),  # one run less a seed
        (lambda spec: spec.model.norm == "pre", lambda spec: spec.model.norm == "pre" or spec.seed < 14, REPRODUCED),
        (lambda spec: spec.model.norm == "pre", lambda spec: spec.model.norm == "pre" or spec.seed < 13, TOO_SMALL),
        (lambda spec: spec.model.norm == "pre" and spec.seed < 12, lambda spec: True, NO_EFFECT),  # four seeds: p = 1 / 16
        (lambda spec: spec.model.norm == "pre" and spec.seed < 13, lambda spec: True, REPRODUCED),  # five: 1 / 32
        (lambda spec: True, lambda spec: True, NO_EFFECT),
        (lambda spec: spec.model.norm == "post", lambda spec: True, OPPOSITE),
    ],
)
def test_the_norm_after_is_judged_by_seeds_and_once_all_have_learned(
    monkeypatch: pytest.MonkeyPatch, composes: Callable[[RunSpec], bool], learned: Callable[[RunSpec], bool], expected: str
) -> None:
    train = lambda run: replace(run, metrics=run.metrics | {"train": 1.0 if learned(run.spec) else 0.9})
    of = one_factor(lambda spec: float(composes(spec)))
    monkeypatch.setattr(gpt2_numbers, "load", lambda specs, store: [train(run) for run in of(specs, store)])
    assert status("gpt2-until-norm") == expected
    assert status("gpt2-until-heads") == NO_EFFECT  # one head answers as several do
    assert judged(CLAIMS, "gpt2-until-norm", [], "paper")["status"] == NOT_RUN


def test_answers_are_told_place_by_place() -> None:
    """Of a model that has not learned, against a loop over its rows."""
    spec = until_learned_specs("smoke")[NORM][0]
    run = planted_run(spec, {})
    rows, model = make_study(spec).task.held_out_rows(), from_weights(spec.model, run.weights())
    found, said = gpt2_numbers.by_place(run), model(rows.tokens[None])[0].argmax(-1)
    for place in range(7):
        offsets = [int(a - key) for a, key, at in zip(said, rows.key, rows.place, strict=True) if at == place]
        assert found[place].tolist() == pytest.approx([offsets.count(wanted) / len(offsets) for wanted in (-6, -10)])


def test_until_learned_has_the_small_starts_on_seeds_of_its_own() -> None:
    before = {spec.seed for specs in factor_specs("laptop").values() for spec in specs}
    for name, specs in until_learned_specs("laptop").items():
        (model,) = {spec.model for spec in factor_specs("laptop")[name]}
        assert {spec.model for spec in specs} == {model}
        assert {(spec.gamma, spec.train.steps) for spec in specs} == {(0.7, 16_000), (0.9, 16_000)}
        assert not before & {spec.seed for spec in specs}
    assert not any(until_learned_specs("paper").values())


def test_the_facts_on_factors_tell_what_more_training_and_seeds_may_change() -> None:
    """Eight small starts a factor; with the norm after half are unfinished, and compose to within one step."""
    answers = lambda said: [said.get(offset, 0) for offset in OFFSETS] + [80 - sum(said.values())]

    def answered(spec: RunSpec) -> StoredRun:
        small, after = spec.gamma > 0.3, spec.model.norm == "post"
        near = after and small and spec.seed < 6
        told = {"train": 0.9, "offsets": answers({-11: 80})} if near else {"train": 1.0, "offsets": answers({})}
        return replace(make_run(inferential=float(small and not after), **told), spec=spec)

    found = {name: [answered(spec) for spec in specs] for name, specs in factor_specs("laptop").items()}
    shown = gpt2_numbers.facts({"pre-norm": gammas(*PAPERS, norm="pre")}, found)
    assert gpt2_numbers.least_learned(found) == 0.5
    assert (shown["small-nothing"].text, shown["small-norm"].text) == ("eight of eight", "none of eight")
    assert shown["p-nothing-seeds"].text == "0.06"  # four of four seeds: 1 / 16
    assert [shown[f"unchanged-{at}"].text for at in ("large", "middle", "last")] == ["0%", "100%", "100%"]
    assert [shown[f"unchanged-{at}-runs"].text for at in ("large", "last")] == ["none of four", "four of four"]


def test_more_seeds_are_counted_by_gamma_and_by_rounding() -> None:
    """Two of sixteen memorize at the large start and the others mix two answers; at .9 ten compose. Moving a bit turns two."""
    mixed = [80 * (offset in (-6, -16)) for offset in OFFSETS]

    def answered(spec: RunSpec, turned: bool = False) -> StoredRun:
        if spec.gamma == 0.3:
            run = make_run(symmetric=1.0) if spec.seed < 18 else make_run(symmetric=0.5, offsets=[*mixed, 0])
        else:
            run = make_run(inferential=float((spec.gamma == 0.7 or spec.seed < 26) and not turned))
        return replace(run, spec=spec)

    specs = rounded_specs("laptop")
    by_bit, by_half = (lambda spec, n=n: spec.gamma == 0.9 and spec.seed < 16 + n for n in (2, 7))
    arms = Arms(*([answered(s, of(s)) for s in specs] for of in (by_half, lambda spec: False, by_bit)))
    shown = {name: fact.text for name, fact in gpt2_numbers.gate_facts(arms).items()}
    assert [shown[f"gate-{at}"] for at in ("large", "middle", "last")] == ["none of 16", "16 of 16", "ten of 16"]
    assert [shown[f"gate-{name}"] for name in ("symmetric", "six", "sixteen", "ten")] == ["two", "50%", "50%", "0%"]
    assert (shown["gate-bit"], shown["gate-short"]) == ("30 of 32", "25 of 32")
    assert shown["gate-near"] == f"{2 / 48:.3f}"
    assert shown["gate-far"] == f"{(7 + 5) / 2 / 48:.3f}"  # two of the seven are turned by the bit as well
    assert shown["gate-shift"].startswith(f"−{6 / 48:.3f}")
    assert {fact.text for fact in gpt2_numbers.gate_facts(None).values()} == {ABSENT}
    small = [run for run in arms.single if run.spec.gamma > 0.3]
    fresh = {name: fact.text for name, fact in gpt2_numbers.fresh_facts(arms.single, small).items()}
    assert (fresh["fresh-small"], fresh["fresh-last"], fresh["fresh-seeds"]) == ("52 of 64", "20 of 32", "16")
    assert (fresh["fresh-large"], fresh["fresh-symmetric"]) == ("none", "two")


def test_twins_have_one_setting_and_seed_and_two_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = [spec for spec in GPT2.specs("laptop") if spec.model.norm == "pre"]
    answer = lambda spec, s, i: replace(make_run(symmetric=s, inferential=i), spec=spec)
    here = [answer(spec, *((0.8, 0.1) if spec.gamma == 0.3 else (0.21, 0.79))) for spec in specs]
    other = {
        (run.spec.gamma, run.spec.seed): answer(
            replace(run.spec, experiment=PLAYED.name, version=PLAYED.version),
            *(
                (0.98, 0.02)
                if (run.spec.gamma, run.spec.seed) == (0.8, 1)
                else (0.7, 0.0)
                if run.spec.gamma == 0.3
                else (0, 0.8)
            ),
        )
        for run in here
    }
    asked: list[RunSpec] = []
    load = lambda specs, store: asked.extend(specs) or [other[s.gamma, s.seed] for s in specs]
    monkeypatch.setattr(gpt2_numbers, "load_stored", load)
    twins = gpt2_numbers.played_twins(here, Store(Path("none")), "laptop")
    assert len(asked) == len(twins) == 20
    assert set(asked) <= set(PLAYED.specs("laptop"))
    assert all((a.spec.gamma, a.spec.seed) == (b.spec.gamma, b.spec.seed) for a, b in twins)
    shown = {name: fact.text for name, fact in gpt2_numbers.facts({"pre-norm": here}, {}, twins).items()}
    assert (shown["twins-kept"], shown["twins-turned"], shown["twins-shares"]) == ("19 of 20", "one", "79% and 98%")
    assert shown["played-symmetric"] == "70%"


def test_what_a_factor_that_stops_the_turn_says_hangs_on_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may turn the other way, or have too few to tell."""
    failures = lambda: {part.get("failure") for part in evaluated("gpt2-factors")["parts"][1:-1]}
    for load, expected in (
        (one_factor(flat), NO_EFFECT),
        (one_factor(lambda spec: -turning(spec)), OPPOSITE),
        (lambda specs, store: one_factor(turning)([specs[0], specs[-1]], store), TOO_SMALL),
    ):
        monkeypatch.setattr(gpt2_numbers, "load", load)
        assert failures() == {expected}
    assert judged(CLAIMS, "gpt2-factors", [], "paper")["status"] == NOT_RUN
