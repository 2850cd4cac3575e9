"""The ledger of chapters 3 to 8 judges: on planted results every verdict can be known, in both directions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from test_analysis import make_run

from lib.composition.claims import CLAIMS_OF
from lib.composition.condensation import claims as condensation_claims
from lib.composition.condensation.metrics import Auc
from lib.composition.gpt2 import claims as gpt2_claims
from lib.composition.gpt2 import metrics as gpt2_numbers
from lib.composition.information_flow import claims as flow_claims
from lib.composition.information_flow import metrics as flow_numbers
from lib.composition.information_flow.metrics import EDGES, EFFECT
from lib.composition.phases import Phase, phases
from lib.composition.rate_decay_data import claims as rate_decay_claims
from lib.composition.runs import MAPPINGS
from lib.composition.variations import FACTORS, NORM
from lib.composition.vectors import claims as vectors_claims
from lib.composition.vectors import metrics as vectors_numbers
from lib.composition.width import claims as width_claims
from lib.composition.width.metrics import VARIABLES
from lib.core.read.claim import NO_EFFECT, NOT_REPRODUCED, NOT_RUN, OPPOSITE, PARTLY, REPRODUCED, TOO_SMALL
from lib.core.record.spec import RunSpec
from lib.core.record.store import Store, StoredRun

STORE = Store(Path("nowhere"))
CLAIMS = tuple(claim for claims in CLAIMS_OF.values() for claim in claims)
BY_ID = {claim.id: claim for claim in CLAIMS}
NAMES = list(EDGES)


def status(name: str) -> str:
    return BY_ID[name].evaluate(STORE, "laptop")["status"]


def failed(name: str) -> list[str]:
    return BY_ID[name].evaluate(STORE, "laptop")["failed"]


def held(name: str) -> list[bool]:
    """Which parts of its criterion hold, in their order."""
    return [part["holds"] for part in BY_ID[name].evaluate(STORE, "laptop")["parts"]]


def test_without_results_nothing_is_claimed() -> None:
    for claim in CLAIMS:
        if claim.id.startswith(("task-", "slides-")):
            continue
        assert claim.evaluate(STORE, "laptop")["status"] == NOT_RUN, claim.id


def test_claims_have_names_of_their_own() -> None:
    assert len(BY_ID) == len(CLAIMS)


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


# --- Flow ---


@pytest.fixture
def plant_cuts(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Costs of cuts, {(layer, class): cost}, for one run of a phase; at more depths than two of `mapping` alone. A single edge
    costs what its class does."""

    def plant(
        costs: dict[tuple[int, str], float], depth: int = 2, mapping: str = "inferential", both: tuple[str, ...] = MAPPINGS
    ) -> None:
        cost = np.zeros((1, depth, len(EDGES)))
        for (layer, name), value in costs.items():
            cost[0, layer - 1, NAMES.index(name)] = value
        phase = lambda store, profile, mapping, d=2: Phase(mapping, d, (make_run(depth=d),), True)
        monkeypatch.setattr(flow_claims, "_phase", phase)
        of = [NAMES.index(next(c for c, (s, q) in EDGES.items() if e[0] in s and e[1] in q)) for e in flow_numbers.EDGE_ROLES]
        monkeypatch.setattr(flow_claims, "drops", lambda phase: cost if phase.mapping == mapping or depth == 2 else 0 * cost)
        monkeypatch.setattr(flow_numbers, "edge_drops", lambda phase: cost[:, :, of])
        monkeypatch.setattr(flow_claims, "material", lambda store, profile: [])
        monkeypatch.setattr(flow_claims, "phases", lambda runs: [Phase(m, depth, (make_run(depth=depth),), True) for m in both])

    return plant


SYMMETRIC = {(1, "anchors → last"): 0.9, (2, "key → last"): 0.9}
INFERENTIAL = {(1, "key → anchors"): 0.9, (2, "anchors → last"): 0.9}


def test_the_drawn_routes_reproduce(plant_cuts: Callable[..., None]) -> None:
    plant_cuts(SYMMETRIC)
    assert (status("flow-symmetric"), status("flow-inferential")) == (REPRODUCED, NOT_REPRODUCED)
    plant_cuts(INFERENTIAL)
    assert status("flow-inferential") == REPRODUCED
    assert status("flow-symmetric") == NOT_REPRODUCED
    plant_cuts(SYMMETRIC | INFERENTIAL)
    assert status("flow-symmetric") == status("flow-inferential") == PARTLY  # both routes at once
    assert failed("flow-symmetric") == [f"key → anchors in any layer costs less than {EFFECT}"]
    spared = ("key → last in any layer", "anchors → last in layer 1")
    assert failed("flow-inferential") == [f"{step} costs less than {EFFECT}" for step in spared]
    plant_cuts({(1, "anchors → last"): 0.9})
    assert failed("flow-symmetric") == [
        f"key → last in layer 2 costs {EFFECT}",
        "nine runs of ten need each step",
        "nine runs of ten need every edge",
    ]


def test_every_edge_of_a_route_counts_by_itself(plant_cuts: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A class may be needed though one of its edges is not."""
    plant_cuts(SYMMETRIC)
    every = flow_numbers.edge_drops
    spared = np.array([edge != ("first anchor", "last") for edge in flow_numbers.EDGE_ROLES])
    monkeypatch.setattr(flow_numbers, "edge_drops", lambda phase: every(phase) * spared)
    assert failed("flow-symmetric") == ["nine runs of ten need every edge"]


def test_the_deeper_route_has_an_order(plant_cuts: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    plant_cuts({(2, "key → anchors"): 0.9, (3, "anchors → last"): 0.9}, depth=3)
    assert status("flow-inferential-deep") == REPRODUCED
    control = "at most half of symmetric runs do the same"
    plant_cuts({(2, "key → anchors"): 0.9, (3, "anchors → last"): 0.9}, depth=3, both=("inferential",))
    assert failed("flow-inferential-deep") == [control]  # nothing to compare with
    plant_cuts({(2, "key → anchors"): 0.9, (3, "anchors → last"): 0.9}, depth=3)
    order = flow_claims.drops(Phase("inferential", 3, (make_run(depth=3),), True))
    monkeypatch.setattr(flow_claims, "drops", lambda phase: order)  # symmetric runs do it, too
    assert failed("flow-inferential-deep") == [control]
    plant_cuts({(3, "key → anchors"): 0.9, (2, "anchors → last"): 0.9}, depth=3)
    assert status("flow-inferential-deep") == PARTLY  # key → last is spared, the order is wrong
    assert failed("flow-inferential-deep") == ["most need key → anchors and, later, anchors → last"]
    plant_cuts({(3, "key → last"): 0.9}, depth=3, both=("inferential",))
    assert status("flow-inferential-deep") == NOT_REPRODUCED


def test_states_forget_the_order_at_every_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deep inferential runs do not make up for two-layer ones."""
    ratio = {("symmetric", 2): 0.1, ("inferential", 2): 0.8, ("symmetric", 3): 0.2, ("inferential", 3): 0.9}
    runs = {place: make_run(depth=place[1], gamma=0.5 + i / 10) for i, place in enumerate(ratio)}
    monkeypatch.setattr(flow_claims, "material", lambda store, profile: [])
    monkeypatch.setattr(flow_claims, "phases", lambda _: [Phase(m, d, (run,), True) for (m, d), run in runs.items()])
    monkeypatch.setattr(flow_claims, "forgets_order", lambda run: ratio[next(p for p, r in runs.items() if r is run)])
    assert status("flow-mirrored") == REPRODUCED
    ratio["inferential", 2] = 0.15
    assert failed("flow-mirrored") == ["2 layers: less than half of the inferential ratio"]
    ratio["symmetric", 3] = 0.6
    assert failed("flow-mirrored")[1:] == [
        "2 layers: less than half of the inferential ratio",
        "3 layers: less than half of the inferential ratio",
    ]
    del runs["symmetric", 2], runs["symmetric", 3]
    with pytest.raises(LookupError, match="no depth"):
        BY_ID["flow-mirrored"].check(STORE, "laptop")


# --- Vectors ---


def plant_vectors(monkeypatch: pytest.MonkeyPatch, symmetric: float, inferential: float, others: float = 0.0) -> None:
    """Contrasts and cosines of equal numbers of each phase, told apart by learning rate; what the others' cosines are."""
    value = lambda r: (symmetric if r.spec.rate == 1e-3 else inferential) + 0.01 * r.spec.seed
    for name in ("last_token", "at_anchor", "last_token_centred"):
        monkeypatch.setattr(vectors_numbers, name, lambda r: np.full(2, value(r)))
    monkeypatch.setattr(vectors_numbers, "at_anchor_plain", value)
    for name in ("answers", "middles"):
        monkeypatch.setattr(vectors_claims, name, lambda r: (value(r), others))


def phase_runs(symmetric: int, inferential: int, depth: int = 2) -> dict[str, list[StoredRun]]:
    groups = (("symmetric", 1e-3, symmetric), ("inferential", 2e-3, inferential))
    return {m: [make_run(depth=depth, seed=s, rate=rate) for s in range(n)] for m, rate, n in groups}


def test_contrasts_decide_the_claims_on_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = phase_runs(6, 6)
    monkeypatch.setattr(vectors_claims, "_genuine", lambda store, profile: runs)
    names = ("vectors-fused", "vectors-anchor", "vectors-centred")
    plant_vectors(monkeypatch, 0.05, 0.95)
    assert {status(n) for n in names} == {REPRODUCED}
    plant_vectors(monkeypatch, 0.95, 0.05)
    assert {status(n) for n in names} == {OPPOSITE}
    plant_vectors(monkeypatch, 0.2, 0.205)  # no difference at any depth, though cosines are low
    assert [status(n) for n in names] == [PARTLY, NO_EFFECT, NO_EFFECT]
    near = ["depth 2, inferential: cosine of equal numbers"]
    contrast = lambda name: [f"contrast at the {name}, p", f"contrast at the {name}, depth 2 alone, p"]
    assert failed("vectors-fused") == [*contrast("last token"), *near]
    assert failed("vectors-anchor") == [*contrast("first anchor, centred"), *contrast("first anchor, values V"), *near]
    plant_vectors(monkeypatch, 0.05, 0.95, others=0.94)  # near-parallel all of them
    assert failed("vectors-fused") == failed("vectors-anchor") == ["depth 2, inferential: others lower by"]
    plant_vectors(monkeypatch, 0.6, 0.95)
    assert failed("vectors-fused") == ["depth 2, symmetric: cosine of equal answers"]


def test_few_runs_of_a_phase_do_not_reproduce_a_claim_on_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_vectors(monkeypatch, 0.05, 0.95)
    runs = phase_runs(6, 4)
    monkeypatch.setattr(vectors_claims, "_genuine", lambda store, profile: runs)
    for name in ("vectors-fused", "vectors-anchor", "vectors-centred"):
        assert (status(name), failed(name)) == (TOO_SMALL, ["runs of each phase at every depth"])
    runs["inferential"] = phase_runs(0, 4, depth=3)["inferential"]
    assert status("vectors-fused") == NOT_RUN  # no depth has both


def test_two_runs_are_too_few_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_vectors(monkeypatch, 0.3, 0.2)
    runs = phase_runs(2, 1)
    monkeypatch.setattr(vectors_claims, "_genuine", lambda store, profile: runs)
    assert status("vectors-anchor") == TOO_SMALL


# --- Complexity ---


def test_measures_decide_the_claims_on_condensation(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [make_run(depth=d, gamma=g, seed=s) for d, g, s in product((2, 3), (0.3, 0.5, 0.8, 1.0), range(3))]
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: True))
    plant(monkeypatch, condensation_claims, runs)
    names = ("condensation of W_Q(1)", "order of the embedding", "embedding's effective dimension", "mean stable rank")
    rising = lambda r: dict.fromkeys(names, r.spec.gamma + 0.01 * r.spec.seed)
    monkeypatch.setattr(condensation_claims, "measures_of", rising)
    assert status("condensation") == status("embedding-order") == REPRODUCED
    assert status("embedding-eigenvalues") == status("stable-rank") == NOT_REPRODUCED
    one_depth = lambda r: {n: v if r.spec.model.depth == 2 else 0.5 + 0.01 * r.spec.seed for n, v in rising(r).items()}
    monkeypatch.setattr(condensation_claims, "measures_of", one_depth)
    assert status("condensation") == PARTLY
    assert failed("condensation") == failed("embedding-order") == ["depth 3"]


def grown(*histories: list[float]) -> StoredRun:
    history = {"step": list(range(10, 80, 10))} | {f"eigenvalue {i + 1}": h for i, h in enumerate(histories)}
    return replace(make_run(gamma=1.0), history=history, fit_step=70)


def test_growth_in_turn_is_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    low = make_run(gamma=0.3)
    after = lambda n: [1.0] * n + [9.0] * (7 - n)
    plant(monkeypatch, condensation_claims, [low, grown(after(1), after(3))])
    assert status("eigenvalue-growth") == REPRODUCED
    plant(monkeypatch, condensation_claims, [low, grown(after(3), after(3))])
    assert status("eigenvalue-growth") == PARTLY  # growth stops, but the two grow together
    assert failed("eigenvalue-growth") == ["second grows half again as late, mostly"]
    plant(monkeypatch, condensation_claims, [low, grown(after(6), after(6))])
    assert status("eigenvalue-growth") == NOT_REPRODUCED  # and growth goes on to the end
    plant(monkeypatch, condensation_claims, [low, grown(after(7), after(7))])
    assert status("eigenvalue-growth") == PARTLY  # nothing grows, so at least growth has stopped
    plant(monkeypatch, condensation_claims, [low, grown([1.0, 9, 9, 9, 9, 10, 10.6], after(3))])
    assert failed("eigenvalue-growth") == ["largest settles within 5 %"]


def test_settling_is_asked_of_the_last_quarter_before_the_rate_falls() -> None:
    """Of the steps, whatever becomes of the eigenvalue before and after them."""
    history = {"step": list(range(100, 1300, 100)), "eigenvalue 1": [1.0, 2, 3, 4, 5, 6, 7, 8, 8.8, 8, 90, 90]}
    run = replace(make_run(), history=history, fit_step=1000)
    assert condensation_claims.late_change(run) == pytest.approx(0.1)
    assert condensation_claims.late_change(replace(run, fit_step=100)) == float("inf")  # a single evaluation


def an_auc(value: float, low: float, high: float) -> Auc:
    """One whose test agrees with its interval."""
    return Auc(value, low, high, 0.5 if low <= 0.5 <= high else 0.01)


def test_the_order_parameter_must_beat_gamma_and_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(condensation_claims, "material", lambda store, profile: [make_run()])
    give = lambda gamma, other: monkeypatch.setattr(condensation_claims, "aucs", lambda runs: {"γ": gamma, "rank": other})
    give(an_auc(0.5, 0.4, 0.6), an_auc(0.1, 0.0, 0.2))
    assert status("order-parameter") == REPRODUCED  # low values foretell as well as high ones
    give(an_auc(0.6, 0.4, 0.8), an_auc(0.75, 0.6, 0.9))
    assert status("order-parameter") == PARTLY
    assert failed("order-parameter") == ["the best's interval does not overlap γ's"]
    give(an_auc(0.5, 0.4, 0.6), an_auc(0.55, 0.4, 0.7))
    assert status("order-parameter") == NOT_REPRODUCED
    give(an_auc(0.82, 0.7, 0.91), an_auc(0.17, 0.08, 0.29))
    assert status("order-parameter") == PARTLY  # γ in the mirror is no better than γ
    give(an_auc(0.95, 0.9, 1.0), an_auc(0.8, 0.7, 0.9))
    assert status("order-parameter") == NOT_REPRODUCED
    found = {"γ": an_auc(0.5, 0.4, 0.6), "rank": an_auc(0.7, 0.45, 0.95), "order": an_auc(0.65, 0.6, 0.7)}
    monkeypatch.setattr(condensation_claims, "aucs", lambda runs: found)
    assert status("order-parameter") == NOT_REPRODUCED  # another than the best tells them apart
    give(an_auc(0.5, 0.4, 0.6), Auc(0.9, 0.8, 1.0, 0.06))
    assert status("order-parameter") == NOT_REPRODUCED  # the interval excludes 0.5, chance does not
    monkeypatch.setattr(condensation_claims, "material", lambda store, profile: [make_run(test=0.8)])
    assert status("order-parameter") == NOT_RUN  # none is fitted


# --- Rate, decay, data, width, GPT-2 ---


def with_rate_and_decay(inferential: Callable[[float, float], float]) -> list[StoredRun]:
    return [
        replace(run, spec=replace(run.spec, decay=d))
        for d, r, s in product((0.01, 0.1, 1.0), (1e-3, 2e-3, 3e-3), range(3))
        for run in [make_run(rate=r, seed=s, inferential=inferential(r, d))]
    ]


def test_rate_and_decay_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, rate_decay_claims, with_rate_and_decay(lambda rate, decay: 300 * rate))
    assert (status("rate-raises"), status("decay-raises")) == (REPRODUCED, NOT_REPRODUCED)
    plant(monkeypatch, rate_decay_claims, with_rate_and_decay(lambda rate, decay: 1 - decay))
    assert (status("rate-raises"), status("decay-raises")) == (NOT_REPRODUCED, NOT_REPRODUCED)


@pytest.mark.parametrize(
    ("claim", "measure"), [("rate-decay-condense", "condensation of W_Q(1)"), ("rate-decay-order", "order of the embedding")]
)
def test_weights_must_go_with_rate_and_with_decay(monkeypatch: pytest.MonkeyPatch, claim: str, measure: str) -> None:
    names = ("condensation of W_Q(1)", "order of the embedding")
    runs = with_rate_and_decay(lambda rate, decay: 0.0)
    plant(monkeypatch, rate_decay_claims, [replace(run, metrics=run.metrics | {"test": 0.1}) for run in runs])
    assert status(claim) == NOT_RUN  # no weights are stored

    def give(value: Callable[[float, float], float]) -> None:
        of = lambda run: dict.fromkeys(names, 0.0) | {measure: value(1000 * run.spec.rate, run.spec.decay)}
        monkeypatch.setattr(rate_decay_claims, "measures_of", of)

    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: True))
    give(lambda rate, decay: rate + 2 * decay)
    assert (status(claim), failed(claim)) == (REPRODUCED, [])
    give(lambda rate, decay: rate)
    assert (status(claim), failed(claim)) == (PARTLY, ["decay above 0.3"])
    give(lambda rate, decay: decay - rate)
    assert (status(claim), failed(claim)) == (PARTLY, ["learning rate above 0.3"])
    give(lambda rate, decay: -rate - decay)
    assert (status(claim), failed(claim)) == (NOT_REPRODUCED, ["learning rate above 0.3", "decay above 0.3"])
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: self.spec.seed == 0 and self.spec.decay == 1.0))
    give(lambda rate, decay: rate + 2 * decay)
    assert (status(claim), failed(claim)) == (PARTLY, ["decay above 0.3"])  # only runs with weights count: one decay


def test_the_corner_of_small_and_decayed(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = lambda corner: [
        replace(run, spec=replace(run.spec, decay=d))
        for g, d, s in product((0.4, 0.8), (0.01, 1.0), range(2))
        for run in [make_run(gamma=g, seed=s, inferential=corner if (g, d) == (0.8, 1.0) else 0.1)]
    ]
    plant(monkeypatch, rate_decay_claims, cells(0.9))
    assert status("decay-phases") == REPRODUCED
    plant(monkeypatch, rate_decay_claims, cells(0.3))
    assert status("decay-phases") == PARTLY
    assert failed("decay-phases") == ["that corner at least .5", "that corner at least .5, the opposite one below"]
    plant(monkeypatch, rate_decay_claims, cells(0.0))
    assert status("decay-phases") == NOT_REPRODUCED


def test_few_numbers_turn_the_answer_or_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def runs(few: tuple[float, float], many: tuple[float, float]) -> list[StoredRun]:
        """few, many: lean at γ .5 and .8, with 30 and with 80 numbers."""
        made = []
        for (k, leans), i, seed in product(((30, few), (80, many)), range(2), range(3)):
            lean = leans[i]
            run = make_run(gamma=(0.5, 0.8)[i], seed=seed, symmetric=max(-lean, 0.0), inferential=max(lean, 0.0))
            made.append(replace(run, spec=replace(run.spec, task=(("keys", k),))))
        return made

    both = lambda: (status("few-numbers-flip"), status("few-numbers-boundary"))
    plant(monkeypatch, rate_decay_claims, runs((-0.6, 0.9), (-0.6, 0.9))[:6])
    assert status("few-numbers-wide") == REPRODUCED
    plant(monkeypatch, rate_decay_claims, runs((-0.6, 0.4), (-0.6, 0.4))[:6])
    assert failed("few-numbers-wide") == [
        "at a larger γ the inferential answer ahead by half of all answers where it is most frequent"
    ]
    plant(monkeypatch, rate_decay_claims, runs((-0.6, 0.9), (-0.9, -0.9)))
    assert both() == (REPRODUCED, REPRODUCED)
    plant(monkeypatch, rate_decay_claims, runs((-0.4, 0.9), (-0.9, -0.9)))
    assert failed("few-numbers-flip") == ["the symmetric answer ahead by half of all answers where it is most frequent"]
    plant(monkeypatch, rate_decay_claims, runs((0.9, -0.6), (0.9, 0.9)))  # in the other order, and the other way
    assert both() == (PARTLY, NOT_REPRODUCED)
    plant(monkeypatch, rate_decay_claims, runs((-0.4, 0.4), (-0.4, 0.4)))
    assert both() == (NOT_REPRODUCED, NOT_REPRODUCED)


def test_harder_data_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    def runs(time: Callable[[int, float], int]) -> list[StoredRun]:
        found = []
        for k, g, s in product(range(4), (0.5, 0.8), range(2)):
            run = make_run(gamma=g, seed=s)
            history = {"step": [1, time(k, g)], "test": [0.0, 1.0]}
            found.append(replace(run, spec=replace(run.spec, task=(("groups", k),)), history=history))
        return found

    plant(monkeypatch, rate_decay_claims, runs(lambda k, g: 10 + k))
    assert status("data-complexity") == REPRODUCED
    plant(monkeypatch, rate_decay_claims, runs(lambda k, g: 10 + k if g == 0.5 else 10))
    assert status("data-complexity") == PARTLY
    assert failed("data-complexity") == ["γ = 0.8"]


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
        (EVEN, NO_EFFECT, [False] * 3),
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
    assert (status("flip-at-one-rate"), held("flip-at-one-rate")) == (NO_EFFECT, [False] * 3)
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
        ((PAPERS[0], bent), NO_EFFECT, [True, False]),  # a shape counts by both answers together
        ((bent, PAPERS[1]), NO_EFFECT, [False, True]),
        ((PAPERS[0], MIRRORED[1]), OPPOSITE, [True, False]),
    ):
        plant(monkeypatch, width_claims, gammas(*shares))
        assert (status("width-trend"), held("width-trend")) == (expected, parts)


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

    plant(monkeypatch, width_claims, runs("log₁₀ σ", -1.4, -0.05))
    assert status("width-collapse") == REPRODUCED
    plant(monkeypatch, width_claims, runs("γ", 0.75, 0.03))
    assert status("width-collapse") == OPPOSITE


@pytest.mark.parametrize(
    ("best", "expected"),
    [
        ((1.3, 1.1, 1.5), REPRODUCED),
        ((1.0, 0.95, 1.05), NO_EFFECT),
        ((1.2, 0.8, 1.4), TOO_SMALL),  # so wide that a little better could not show
        ((0.8, 0.7, 0.9), OPPOSITE),
    ],
)
def test_the_best_variable_is_judged_by_its_interval(
    monkeypatch: pytest.MonkeyPatch, best: tuple[float, float, float], expected: str
) -> None:
    plant(monkeypatch, width_claims, [make_run()])
    monkeypatch.setattr(width_claims, "advantage", lambda runs: {"worse": (0.5, 0.4, 3.0), "best": best})
    assert status("width-collapse") == expected


def test_gpt2_is_judged_norm_by_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, gpt2_claims, gammas(*PAPERS) + gammas(*MIRRORED, norm="pre"))
    assert (status("gpt2-post"), status("gpt2-pre")) == (REPRODUCED, OPPOSITE)
    plant(monkeypatch, gpt2_claims, gammas(*EVEN) + gammas([1.0, 0.5, 0.0], [0.0, 0.2, 0.6], norm="pre"))
    assert status("gpt2-post") == NO_EFFECT
    assert (status("gpt2-pre"), held("gpt2-pre")) == (PARTLY, [True, False, True, True])
    off = lambda r: replace(r, metrics=r.metrics | {"test": 0.5, "inferential": 1.0}) if r.spec.gamma == 0.3 else r
    plant(monkeypatch, gpt2_claims, [off(r) for r in gammas(*PAPERS)])  # the trend is one of runs that have learned
    assert (status("gpt2-post"), held("gpt2-post")) == (PARTLY, [True, True, False, True])


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
    assert (status("gpt2-factors"), held("gpt2-factors")) == (expected, [name not in short for name in FACTORS])


def test_what_a_factor_that_stops_the_turn_says_hangs_on_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may turn the other way, or have too few to tell."""
    failures = lambda: {part.get("failure") for part in BY_ID["gpt2-factors"].evaluate(STORE, "laptop")["parts"][:-1]}
    for load, expected in (
        (one_factor(flat), NO_EFFECT),
        (one_factor(lambda spec: -turning(spec)), OPPOSITE),
        (lambda specs, store: one_factor(turning)([specs[0], specs[-1]], store), TOO_SMALL),
    ):
        monkeypatch.setattr(gpt2_numbers, "load", load)
        assert failures() == {expected}
    assert BY_ID["gpt2-factors"].evaluate(STORE, "paper")["status"] == NOT_RUN
