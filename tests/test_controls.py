"""The controls of the turn: what is trained, which runs count, and their claims, on planted runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from planted import Shelf, planted_run

from lib.composition import controls
from lib.composition.controls import DEEP, DIP, ONE_GPU, PAPER_SIZE, ROUNDING
from lib.composition.flip import CONFIRM, confirmed_runs
from lib.composition.phase_diagram.claims import CHAPTER_02, _paper_size
from lib.composition.phase_diagram.metrics import by_depth, depth_facts, of_one_kind, rounded, rounded_facts, slower
from lib.composition.runs import MOST_ROWS, learned_at
from lib.composition.study import OFFSETS
from lib.core.read.claim import NO_EFFECT, NOT_RUN, OPPOSITE, PARTLY, REPRODUCED, TOO_SMALL
from lib.core.read.fact import ABSENT
from lib.core.read.roundings import Arms, split
from lib.core.record.spec import RunSpec, SpecError
from lib.core.record.store import StoredRun

CLAIMS = {claim.id: claim for claim in CHAPTER_02}
CLAIMS["paper-size"] = dataclasses.replace(CLAIMS["two-layers-flip"], check=_paper_size)  # a setting of it
Shares = Callable[[RunSpec], tuple[float, float]]


def run_of(spec: RunSpec, symmetric: float, inferential: float, at: int = 1000, train: float = 1.0) -> StoredRun:
    """A run that knows nine tenths of its training rows at one step, and all a thousand later."""
    history = {"step": [at - 500, at, at + 1000], "train": [0.5, 0.9, train]}
    metrics = {"test": 1.0, "train": train, "symmetric": symmetric, "inferential": inferential}
    precision = {"precision": "bfloat16" if spec.train.precision == "any" else "float32"}
    return dataclasses.replace(planted_run(spec, metrics, history), provenance=precision)


def shelf(experiment: Any, shares: Shares, confirmed: Shares | None = None, **told: Any) -> Shelf:
    """All runs of a control; with `confirmed`, all new seeds of two layers."""
    runs = [run_of(spec, *shares(spec), **told) for spec in experiment.specs(ONE_GPU)]
    return Shelf(runs + ([run_of(spec, *confirmed(spec)) for spec in CONFIRM.specs("laptop")] if confirmed else []))


def judged(name: str, store: Shelf) -> dict[str, Any]:
    return CLAIMS[name].evaluate(store, "laptop")


def test_each_control_has_its_own_profile() -> None:
    assert [len(e.specs(ONE_GPU)) for e in controls.CONTROLS] == [48, 24, 32, 24, 12]
    for experiment in controls.CONTROLS:
        assert experiment.specs("laptop") == experiment.specs("paper") == []
        assert {spec.model.d_model for spec in experiment.specs("smoke")} == {16}
        with pytest.raises(SpecError, match="unknown profile"):
            experiment.specs("full")
    moved, short = ROUNDING.specs(ONE_GPU)[:24], ROUNDING.specs(ONE_GPU)[24:]
    assert {(s.nudge, s.train.precision) for s in moved} == {(1, "float32")}
    assert {(s.nudge, s.train.precision) for s in short} == {(0, "any")}
    same = {(s.gamma, s.seed, s.model, s.rate) for s in CONFIRM.specs("laptop")}
    assert {(s.gamma, s.seed, s.model, s.rate) for s in ROUNDING.specs(ONE_GPU)} <= same


def test_the_paper_size_has_the_settings_of_the_paper() -> None:
    spec = PAPER_SIZE.specs(ONE_GPU)[0]
    assert (spec.model.d_model, spec.train.batch, dict(spec.task)["rows"], spec.decay) == (400, 2048, 759_375, 0.01)
    assert (spec.train.warmup, spec.train.precision, spec.rate) == (3700, "float32", 2.0e-4 + 5e-5)


def test_a_seed_of_the_paper_size_counts_once_it_has_all_gammas() -> None:
    runs = shelf(PAPER_SIZE, lambda spec: (1.0, 0.0))
    lacking = Shelf([run for run in runs.runs.values() if (run.spec.seed, run.spec.gamma) != (1, 0.9)])
    assert {run.spec.seed for run in controls.paper_size(runs, "laptop")} == {0, 1, 2}
    assert {run.spec.seed for run in controls.paper_size(lacking, "laptop")} == {0, 2}
    assert controls.paper_size(Shelf([]), "laptop") == []


def by_gamma(at: dict[float, tuple[float, float]]) -> Shares:
    return lambda spec: at.get(spec.gamma, (0.0, 1.0))


@pytest.mark.parametrize(
    ("at", "status"),
    [
        ({0.5: (1.0, 0.0)}, REPRODUCED),  # what the paper reports
        ({0.5: (1.0, 0.0), 0.8: (0.0, 0.3)}, PARTLY),  # composes at smaller weights alone
        ({0.5: (0.2, 0.2), 0.8: (1.0, 0.0), 0.9: (1.0, 0.0), 1.0: (1.0, 0.0)}, NO_EFFECT),
    ],
)
def test_the_paper_size_is_judged_by_its_parts(at: dict[float, tuple[float, float]], status: str) -> None:
    assert judged("paper-size", shelf(PAPER_SIZE, by_gamma(at)))["status"] == status


def test_one_symmetric_run_at_small_weights_spoils_the_turn_by_kind() -> None:
    one = lambda spec: (1.0, 0.0) if spec.gamma == 0.5 or (spec.gamma, spec.seed) == (0.9, 2) else (0.0, 1.0)
    found = judged("paper-size", shelf(PAPER_SIZE, one))
    assert (found["status"], found["failed"]) == (PARTLY, ["symmetric runs from γ = 0.8 on"])


def test_the_dip_is_told_by_counts() -> None:
    symmetric, mixed = (lambda spec: (1.0, 0.0)), (lambda spec: (0.4, 0.4))
    half = lambda spec: (1.0, 0.0) if spec.seed % 2 else (0.4, 0.4)
    for inside, sides, status in (
        (half, symmetric, REPRODUCED),
        (symmetric, symmetric, NO_EFFECT),
        (symmetric, mixed, OPPOSITE),
    ):
        assert judged("dip", shelf(DIP, inside, sides))["status"] == status


def test_depth_is_compared_within_a_gamma() -> None:
    """The deeper runs have as many inferential answers over all; within each γ they have more, or fewer."""
    level = {0.55: 0.0, 0.75: 0.3, 0.95: 0.6}
    lean = lambda more: lambda spec: (0.0, level.get(spec.gamma, 0.5) + more + spec.seed % 4 / 1e4)
    for more, status in ((0.2, REPRODUCED), (-0.2, OPPOSITE), (0.0, NO_EFFECT)):
        assert judged("depth-turn", shelf(DEEP, lean(more + 0.3), lean(0.3)))["status"] == status


def test_depths_are_told_by_kind_at_the_gammas_of_the_deeper_ones() -> None:
    """Two layers are symmetric but for one γ; three compose where the seed is even; four do nothing."""
    two = lambda spec: (0.0, 0.9) if spec.gamma == 0.95 else (1.0, 0.0)
    deeper = lambda spec: ((0.1, 0.8) if spec.seed % 2 == 0 else (0.3, 0.2)) if spec.model.depth == 3 else (0.0, 0.0)
    store = shelf(DEEP, deeper, two)
    layers = by_depth(confirmed_runs(store, "laptop"), controls.deep_runs(store, ONE_GPU))
    assert {depth: len(runs) for depth, runs in layers.items()} == {2: 24, 3: 12, 4: 12}
    said = {name.removeprefix("deep-"): fact.text for name, fact in depth_facts(layers).items()}
    assert (said["2-large-symmetric"], said["2-rest-symmetric"]) == ("eight of eight", "eight of 16")
    assert (said["2-rest-inferential"], said["3-rest-inferential"]) == ("eight of 16", "four of eight")
    assert (said["3-large-inferential"], said["3-large-symmetric"], said["4-rest-symmetric"]) == (
        "two of four",
        "none of four",
        "none of eight",
    )
    assert (said["3-share"], said["4-share"], said["seeds"]) == ("50%", "0%", "four")
    assert float(said["3-p"]) < 0.05 < float(said["4-p"])
    turned = lambda spec: (0.0, 1.0) if spec.model.depth == 4 else (0.0, 0.0)
    found = depth_facts(by_depth(confirmed_runs(store, "laptop"), controls.deep_runs(shelf(DEEP, turned), ONE_GPU)))
    assert (found["deep-turn-p"].text, found["deep-turn-p-seeds"].text) == ("0.002", "0.062")  # 1 / 495 and 1 / 16
    absent = {fact.text for name, fact in depth_facts(by_depth((), ())).items() if name != "deep-seeds"}
    assert absent == {ABSENT}
    lacking = Shelf([run for run in store.runs.values() if run.spec.model.depth == 3])
    assert controls.deep_runs(lacking, ONE_GPU) == []


def two_arms(kinds: Shares, speed: float = 1.0) -> Shelf:
    """Single precision and its twin learn at 1,000 steps and are of one kind; bfloat16 as told."""
    plain = lambda spec: (1.0, 0.0) if spec.gamma < 1 else (0.0, 0.9)
    short = lambda spec: spec.train.precision == "any"
    place = lambda spec: 1000 + 10 * (spec.seed - 200) + 3 * spec.nudge
    runs = [
        run_of(spec, *(kinds if short(spec) else plain)(spec), at=round(place(spec) * (speed if short(spec) else 1)))
        for spec in (*ROUNDING.specs(ONE_GPU), *CONFIRM.specs("laptop"))
    ]
    return Shelf(runs)


def test_rounding_passes_where_it_changes_no_more_than_the_last_bit() -> None:
    same = lambda spec: (1.0, 0.0) if spec.gamma < 1 else (0.0, 0.9)
    assert judged("rounding", two_arms(same))["status"] == REPRODUCED
    slow = judged("rounding", two_arms(same, 3.0))
    assert slow["status"] == PARTLY
    assert slow["failed"] == ["steps to 90% of the training rows: two-sided p", "the same, upper end"]
    other = judged("rounding", two_arms(lambda spec: (0.4, 0.4)))
    assert [name.split(":")[0] for name in other["failed"]] == [
        "share inferential",
        "share symmetric",
        "kinds kept (0 of 24) no less often than by the last bit (24)",
    ]


def test_arms_are_compared_when_all_are_there_in_their_precision() -> None:
    whole = list(two_arms(lambda spec: (1.0, 0.0)).runs.values())
    found = split([run for run in reversed(whole) if run.spec.gamma in controls.ROUNDING_GAMMAS])
    assert found.whole
    assert [len(group) for group in found.named.values()] == [24, 24, 24]
    assert len({tuple((r.spec.gamma, r.spec.seed) for r in group) for group in found.named.values()}) == 1
    wide = [dataclasses.replace(run, provenance={"precision": "float32"}) for run in whole]  # where there is no bfloat16
    assert judged("rounding", Shelf(wide))["status"] == NOT_RUN


def test_times_are_those_to_nine_tenths_of_the_rows() -> None:
    spec = CONFIRM.specs("laptop")[0]
    one, twice = run_of(spec, 1.0, 0.0, 1000), run_of(spec, 0.0, 1.0, 2000)
    never = dataclasses.replace(one, history={"step": [500], "train": [0.5]})
    assert [learned_at(run, MOST_ROWS) for run in (one, twice, never)] == [1000.0, 2000.0, float("inf")]
    assert slower([twice], [one, one]) == pytest.approx((2.0, 2.0, 2.0))
    assert slower([never], [one, one])[0] == pytest.approx(2.0)  # counts with its last step
    assert len(of_one_kind([(one, one), (one, twice)])) == 1


@pytest.mark.parametrize(
    ("short", "status", "failed"),
    [
        (lambda spec: (0.9, 0.0) if spec.seed % 2 else (0.0, 0.9), REPRODUCED, []),
        (lambda spec: (0.0, 0.1) if spec.seed % 2 else (0.0, 0.45), PARTLY, ["more runs"]),  # further off, and undecided
        (lambda spec: (0.0, 0.41), PARTLY, ["more runs"]),
        (lambda spec: (0.0, 0.4), OPPOSITE, ["bfloat16 leads", "more runs"]),
    ],
)
def test_further_than_the_last_bit(short: Shares, status: str, failed: list[str]) -> None:
    """In single precision shares are .4 and .405, of neither kind."""
    shares = lambda spec: short(spec) if spec.train.precision == "any" else (0.0, 0.4 + 0.005 * spec.nudge)
    found = judged("rounding-further", shelf(controls.FURTHER, shares))
    assert found["status"] == status
    assert [name for name, told in product(found["failed"], failed) if name.startswith(told)] == found["failed"]
    plain = [run_of(spec, 0.0, 0.5) for spec in controls.FURTHER.specs(ONE_GPU)]
    assert judged("rounding-further", Shelf(plain[1:]))["status"] == NOT_RUN
    wide = [dataclasses.replace(run, provenance={"precision": "float32"}) for run in plain]
    assert judged("rounding-further", Shelf(wide))["status"] == NOT_RUN


def test_too_few_that_learn_tell_nothing() -> None:
    assert judged("paper-size", shelf(PAPER_SIZE, by_gamma({0.5: (1.0, 0.0)}), train=0.95))["status"] == TOO_SMALL


def test_kinds_are_held_against_those_in_single_precision_seed_by_seed() -> None:
    """At .95 every other seed is inferential, at 1.25 half are; the others there lie within one step of it."""
    shares = {
        "single": lambda spec: ((0.0, 0.9) if spec.seed < 204 else (0.0, 0.3)) if spec.gamma > 1 else (spec.seed % 2, 0.9),
        "moved": lambda spec: (0.0, 0.9) if spec.gamma > 1 else (1.0, 0.0),
        "short": lambda spec: (1.0, 0.0) if spec.gamma > 1 and spec.seed == 203 else (0.0, 1.0),
    }
    of = lambda arm, spec: run_of(spec, *((1.0, 0.0) if spec.gamma == 0.55 else shares[arm](spec)))
    by = lambda run, **said: dataclasses.replace(run, provenance=run.provenance | {"program": "native"} | said)
    told = {"offsets": [0.7 * 200 * (offset == -11) + 0.3 * 200 * (offset == -10) for offset in OFFSETS] + [0]}
    new = [by(of("single", spec)) for spec in CONFIRM.specs("laptop")]
    new = [dataclasses.replace(run, metrics=run.metrics | told) if run.metrics["inferential"] == 0.3 else run for run in new]
    nulls, halves = ([s for s in ROUNDING.specs(ONE_GPU) if bool(s.nudge) == nudge] for nudge in (True, False))
    program = lambda spec: "compiled" if (spec.gamma, spec.seed) == (0.95, 200) else "native"
    moved = [by(of("moved", spec), program=program(spec)) for spec in nulls]
    short = [by(of("short", spec), precision="bfloat16") for spec in halves]
    arms = rounded(new, [*moved, *short])
    found = {name: fact.text for name, fact in rounded_facts(arms, Arms()).items()}
    assert [found[f"moved-{gamma}"] for gamma in (55, 95, 125)] == ["eight of eight", "four of eight", "four of eight"]
    assert [found[f"short-{gamma}"] for gamma in (55, 95, 125)] == ["eight of eight", "four of eight", "three of eight"]
    assert (found["moved-all"], found["short-all"], found["short-slower"]) == ("16 of 24", "15 of 24", "1.00 to 1.00")
    assert (found["moved-beyond"], found["short-beyond"]) == ("eight of 16", "seven of 16")
    assert (found["moved-programs"], found["short-programs"]) == ("one of eight", "none of eight")
    assert (found["moved-exchanged-95"], found["moved-exchanged-95-p"]) == ("4.0", "1")
    assert (found["short-gained"], found["short-lost"]) == ("four", "one")
    assert found["rounded-runs"] == "16"
    assert [found[f"rounded-{arm}-neither"] for arm in ("single", "moved", "short")] == ["four", "none", "none"]
    assert (found["rounded-far"], found["rounded-near"]) == ("0.35", "0.30")
    further = rounded_facts(Arms(), arms.where(lambda run: run.spec.gamma > 1))
    assert [further[f"further-{name}"].text for name in ("runs", "far", "near")] == ["eight", "0.35", "0.30"]
    last = arms.where(lambda run: run.spec.gamma > 1)
    both = {name: fact.text for name, fact in rounded_facts(arms, last).items()}  # the last of them twice
    assert (both["both-short"], both["both-single"], both["further-eleven"]) == ("16 of 16", "24 of 32", "four of eight")
    wide = by(short[0], precision="float32")
    for some in ([], moved, short, [*moved[1:], *short], [*moved, *short[1:], wide]):  # an arm that is not whole says nothing
        said = rounded_facts(rounded(new, some), Arms())
        assert {fact.text for name, fact in said.items() if name != "tell-quarters"} == {ABSENT}
