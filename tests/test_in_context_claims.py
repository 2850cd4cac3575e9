"""What chapter 12 says of stored runs: on planted ones every number can be worked out, and every bar is where the words are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from planted import Planted
from planted_in_context import judge_of, planted, random_weights
from torch import Tensor

from lib.core.read.claim import NO_EFFECT, NOT_RUN, PARTLY
from lib.core.read.fact import ABSENT
from lib.core.read.measures import history
from lib.core.read.statistics import wilson
from lib.core.record.spec import RunSpec, SpecError
from lib.core.record.start import at_start
from lib.core.record.store import StoredRun
from lib.in_context import runs as stored
from lib.in_context import starts, theory
from lib.in_context.experiments import GPT, SETTINGS, gpt_specs, one_layer, train_specs
from lib.in_context.learning import claims, metrics
from lib.in_context.learning.claims import CLAIMS
from lib.in_context.models import OneLayerSpec
from lib.in_context.out_of_domain.metrics import gpt_errors, needed
from lib.in_context.runs import FRESH_SEED, Answers, Share
from lib.in_context.study import TEST_SEED, error_rows, foreign, make_study
from lib.in_context.task import Task, all_pairs

SHORT = one_layer("icl-train", SETTINGS["smoke"], 0, {"length": 4, "keep": (10, 20)})
LAPTOP = train_specs("laptop")
M = LAPTOP[0].model.neurons
# ---------------------------------------------------------------- runs: prompts and answers


def test_the_task_of_a_run_and_changes_of_it() -> None:
    run = planted(SHORT)
    own = Task(length=4)
    assert stored.task_of(run) == stored.task_of(run, sum=None, outside=False) == own
    assert stored.task_of(run, alpha=0.6, length=9) == replace(own, alpha=0.6, length=9)
    assert stored.task_of(run, sum=1.1) == foreign(own, sum=1.1)
    assert stored.task_of(run, sum=1.1, alpha=0.9) == foreign(own, sum=1.1, alpha=0.9)
    assert stored.task_of(run, outside=True, length=2) == foreign(own, outside=True, length=2)
    few = planted(replace(SHORT, task=(("length", 4), ("shifts", (1,)), ("alpha", 0.4))))
    assert stored.task_of(few) == Task(length=4, shifts=(1,), alpha=0.4)
    with pytest.raises(SpecError, match="alpha must lie in"):
        stored.task_of(run, alpha=1.2)


def test_fresh_prompts_are_of_unseen_tasks_and_of_a_stream_of_each_run() -> None:
    task = Task(length=2)
    pairs = lambda t: {tuple(pair) for pair in stored.fresh(t, 0, 900).pair.tolist()}
    assert pairs(task) == set(map(tuple, task.unseen.tolist()))
    assert pairs(replace(task, shifts=(1, 2, 3, 4, 5))) == set(map(tuple, all_pairs(6).tolist()))
    for change in ({"sum": 1.1}, {"outside": True}):
        assert pairs(foreign(task, **change)) == set(map(tuple, all_pairs(3).tolist()))
    one, two = (stored.fresh(task, seed, 50).prompt for seed in (0, 1))
    assert not torch.equal(one, two)
    assert torch.equal(one, task.draw(torch.tensor(FRESH_SEED), torch.arange(50), task.unseen).prompt)
    assert torch.equal(stored.fresh(task, 1, 10).prompt, two[:10])  # more prompts do not change the first
    assert FRESH_SEED != TEST_SEED


@pytest.mark.parametrize("depth", [1, 3])
def test_answers_are_the_models(depth: int) -> None:
    spec = one_layer("icl-deep", SETTINGS["smoke"], 0, {"length": 4}, depth=depth)
    run = planted(spec, weights=random_weights(spec))
    model, prompts = stored.trained(run), stored.fresh(stored.task_of(run), 3, 45)
    found = stored.ask(model, prompts)
    assert found.margin.shape == found.answer.shape == found.attention.shape == (45,)
    np.testing.assert_allclose(found.margin, model(prompts.prompt[None])[0].numpy(), rtol=1e-5)
    np.testing.assert_array_equal(found.answer, prompts.answer.numpy())
    last = model.query_attention(prompts.prompt[None])[-1][0]
    for i in range(45):
        own = sum(float(last[i, j]) for j in range(4) if prompts.pattern[i, j] == prompts.pattern[i, -1])
        assert found.attention[i] == pytest.approx(own, abs=1e-5)


def test_errors_and_losses_by_hand() -> None:
    """A margin of zero is wrong."""
    said = Answers(np.array([2.0, 0.5, 0.0, -1.0]), np.array([1.0, -1.0, 1.0, -1.0]), np.zeros(4))
    assert said.error == 0.5
    assert said.loss == pytest.approx((0 + 1.5 + 1 + 0) / 4)


def test_shares_of_errors_pool_prompts() -> None:
    found = Share(np.array([0.25, 0.75]), 4)
    assert found.mean == 0.5
    assert found.interval == wilson(4, 8)
    assert Share(np.array([0.0, 0.0, 0.0]), 100.0).interval == wilson(0, 300)


def test_errors_of_gpt2_are_read_off_its_last_snapshot() -> None:
    """A share for each length, of the condition and the α' that are asked for."""
    runs, row = [], error_rows().index(("S1 = 1.1", 0.9))
    for seed, spec in enumerate(gpt_specs("smoke")[GPT][:1] * 2):
        wrong = torch.zeros(len(error_rows()), 21)
        wrong[row] = torch.linspace(0.5, 0.1 + 0.1 * seed, 21)
        counts = 100.0 + torch.arange(21).expand(len(error_rows()), -1) + 1000 * torch.arange(len(error_rows()))[:, None]
        early = {"errors": torch.ones_like(wrong), "counts": torch.ones_like(wrong)}
        runs.append(planted(spec, kept={5: early, 10: {"errors": wrong, "counts": counts}}))
    found = gpt_errors(runs, "S1 = 1.1", 0.9)
    assert len(found) == 21
    assert found[0].each.tolist() == [0.5, 0.5]
    assert found[20].each.tolist() == pytest.approx([0.1, 0.2])
    assert [share.total for share in found] == [100 + i + 1000 * row for i in range(21)]
    total = found[20].total
    assert found[20].interval == pytest.approx(wilson(0.15 * total, total), rel=1e-5)  # all runs answer the same prompts
    assert all(share.mean == 0 for share in gpt_errors(runs, "in domain", 1.0))
    with pytest.raises(ValueError, match="is not in list"):
        gpt_errors(runs, "S1 = 1.1", 0.7)


# ---------------------------------------------------------------- runs: how many examples, how many steps


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([0.5, 0.2, 0.1, 0.05], 10),
        ([0.5, 0.1, 0.2, 0.1], 15),  # it has to stay
        ([0.1, 0.1, 0.1, 0.1], 0),
        ([0.5, 0.5, 0.5, 0.11], None),
        ([0.1, 0.1, 0.1, 0.2], None),
    ],
)
def test_needed_examples_by_hand(shares: list[float], expected: int | None) -> None:
    assert needed([0, 5, 10, 15], shares, 0.1) == expected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0, 1))
def test_from_the_needed_length_on_all_are_at_the_level(shares: list[float], level: float) -> None:
    lengths = [3 * i for i in range(len(shares))]
    found = needed(lengths, shares, level)
    if found is None:
        assert shares[-1] > level
    else:
        assert all(share <= level for length, share in zip(lengths, shares, strict=True) if length >= found)
        assert found == 0 or shares[found // 3 - 1] > level


def test_histories_have_gaps_where_a_run_was_not_finite_or_had_stopped() -> None:
    whole = planted(SHORT, history={"loss": [1.0, None, 0.5]})
    short = replace(whole, history={"step": whole.history["step"][:1], "loss": [0.25]})
    for runs, order in (([whole, short], [0, 1]), ([short, whole], [1, 0])):
        steps, values = history(runs, "loss")
        assert steps.tolist() == whole.history["step"]
        np.testing.assert_array_equal(values[order], [[1.0, np.nan, 0.5], [0.25, np.nan, np.nan]])


def test_steps_to_a_loss_by_hand() -> None:
    run = planted(SHORT, history={"unseen loss": [0.5, 0.1], "seen loss": [0.1, 0.05]})
    assert stored.steps_to(run) == 20
    without = planted(SHORT, history={"seen loss": [None, 0.05]})  # all tasks are trained; not finite at first
    assert stored.steps_to(without) == 20
    assert stored.steps_to(planted(SHORT, history={"unseen loss": [0.5, 0.11], "seen loss": [0.0, 0.0]})) is None


# ---------------------------------------------------------------- runs: neurons


@pytest.mark.parametrize("depth", [1, 2])
def test_contributions_are_what_pruning_takes_away(depth: int) -> None:
    """They add up to F, and without a neuron F is less by its own, in the last layer."""
    spec = replace(SHORT, model=OneLayerSpec(8, 0.2, 5, depth=depth))
    model = stored.trained(planted(spec, weights=random_weights(spec)))
    prompts = stored.fresh(Task(length=4), 0, 25)
    found = stored.contributions(model, prompts)
    assert found.shape == (25, 8)
    margin = model(prompts.prompt[None])[0]
    torch.testing.assert_close(found.sum(1), margin, rtol=1e-4, atol=1e-5)
    assert (found * model.a >= 0).all()
    for neuron in (0, 5):
        weights = random_weights(spec)
        weights[f"layers.{depth - 1}.W_O.weight"][neuron] = 0
        pruned = stored.trained(planted(spec, weights=weights))
        torch.testing.assert_close(pruned(prompts.prompt[None])[0], margin - found[:, neuron], rtol=1e-4, atol=1e-5)
        assert found[:, neuron].abs().max() > 1e-3
        assert stored.row_norms(pruned)[neuron] == 0


def test_large_neurons_by_hand() -> None:
    """At least half of the mean of the largest tenth: of twenty, of two; of fewer than ten, of the largest."""
    norms = np.array([4.0, 2.0, *[1.6] * 8, 1.5, 1.499, *[0.1] * 8])
    assert stored.large(norms).tolist() == [True] * 11 + [False] * 9
    assert stored.large(norms[::-1]).tolist() == ([True] * 11 + [False] * 9)[::-1]
    assert stored.large(np.array([1.0, 0.5, 0.49])).tolist() == [True, True, False]
    assert stored.large(np.ones(30)).all()


def test_rows_of_a_snapshot() -> None:
    kept = {"feature norm.1": torch.tensor([3.0, 0.0]), "label norm.1": torch.tensor([4.0, 2.0])}
    kept |= {"feature angle.1": torch.zeros(2), "label angle.1": torch.ones(2)}
    deep = {name.replace(".1", ".2"): 2 * value for name, value in kept.items()}
    run = planted(SHORT, kept={10: kept | deep, 20: {name: 3 * value for name, value in kept.items()}})
    found = stored.neurons_at(run, 10)
    assert found.keys() == {"feature norm", "label norm", "feature angle", "label angle"}
    assert stored.row_size(found).tolist() == [5, 2]
    assert stored.row_size(stored.neurons_at(run, 10, layer=2)).tolist() == [10, 4]
    assert stored.row_size(stored.neurons_at(run, 20)).tolist() == [15, 6]


def test_luck_is_of_the_start_not_of_what_was_trained() -> None:
    """A real start: on prompts of a neuron's sign, is it on? Asked neuron by neuron, prompt by prompt."""
    run = planted(SHORT, weights=random_weights(SHORT))
    model, prompts = at_start(SHORT), stored.fresh(Task(length=4), 0, 400)
    layer = model.layers[0]
    attention = model.query_attention(prompts.prompt[None])[0][0]
    hidden = (attention[:, None] @ prompts.prompt[:, :-1])[:, 0] @ layer.W_V.weight[0].T @ layer.W_O.weight[0].T
    for share in (stored.LUCKY, 0.8):
        expected = [
            float((hidden[prompts.answer == sign, i] > 0).float().mean()) >= share
            for i, sign in enumerate(itertools.islice(itertools.cycle((1, -1)), len(model.a)))
        ]
        assert stored.lucky(run, share).tolist() == expected
        assert 0 < sum(expected) < len(expected)
    signs = itertools.islice(itertools.cycle((-1, 1)), len(model.a))  # the control: on prompts of the other sign
    other = [float((hidden[prompts.answer == sign, i] > 0).float().mean()) for i, sign in enumerate(signs)]
    assert stored.activity(run)[1].tolist() == pytest.approx(other)
    assert stored.lucky(run, own=False).tolist() == [share >= stored.LUCKY for share in other]


def test_neurons_before_training_are_those_of_the_start() -> None:
    run = planted(SHORT, weights=random_weights(SHORT))
    layer = at_start(SHORT).layers[0]
    rows = (layer.W_O.weight[0] @ layer.W_V.weight[0]).detach().numpy()
    np.testing.assert_allclose(stored.start_neurons(run)["label norm"], np.linalg.norm(rows[:, 30:], axis=1), rtol=1e-5)


def test_values_at_the_start_are_those_of_the_untrained_model() -> None:
    """On the prompts of the history, so that they are its value at step 0; trained weights play no part."""
    spec = replace(SHORT, model=replace(SHORT.model, depth=2))
    for of in (SHORT, spec):
        run = planted(of, weights=random_weights(of))
        expected = make_study(of).watch(at_start(of))
        assert stored.start_values(run) == {name: pytest.approx(value.item()) for name, value in expected.items()}
        attention = [expected[f"attention.{k}"].item() for k in range(1, of.model.depth + 1)]
        assert stored.start_attention(run) == pytest.approx(attention)


# ---------------------------------------------------------------- which start the talk's model had


def of_talk(spec: RunSpec = SHORT, times: float = 1.0, small: float = 0.16, labelled: bool = True) -> Planted:
    """A run with the talk's norms, times some factor at the end: one neuron in six is small, and what it reads is large.
    `labelled`: norms of rows of W_O are in the snapshots; else in the weights alone, as in runs that were stored first."""
    m = spec.model.neurons
    tiny = torch.arange(m) % 6 == 0
    rows = times * torch.where(tiny, small, 0.5)
    end = {"feature norm.1": times * torch.where(tiny, 9.0, 0.4), "label norm.1": times * torch.where(tiny, 9.0, 1.1)}
    start = {
        "feature norm.1": torch.full((m,), 0.025),
        "label norm.1": torch.full((m,), 0.021),
        "row norm.1": 7 * torch.ones(m),
    }
    weights = random_weights(spec)
    weights["layers.0.W_O.weight"] *= ((1.0 if labelled else rows) / weights["layers.0.W_O.weight"].norm(dim=1))[:, None]
    steps = dict(spec.task)["keep"]
    last = end | ({"row norm.1": rows} if labelled else {})
    kept = {steps[0]: start, **dict.fromkeys(steps[1:-1], start), steps[-1]: last}
    return planted(spec, kept=kept, weights=weights)


@pytest.mark.parametrize("labelled", [True, False])
def test_norms_that_the_talk_prints_are_measured(labelled: bool) -> None:
    found = starts.measured(of_talk(labelled=labelled))
    assert found == {
        "feature halves of large rows of W_O W_V, at the start": pytest.approx(0.025),
        "label halves of large rows of W_O W_V, at the start": pytest.approx(0.021),
        "feature halves of large rows of W_O W_V, at the end": pytest.approx(0.4),
        "label halves of large rows of W_O W_V, at the end": pytest.approx(1.1),
        "small rows of W_O, at the end": pytest.approx(0.16),
        "large rows of W_O, at the end": pytest.approx(0.5),
        "share of small rows, at the end": pytest.approx(4 / 20),
    }
    assert found.keys() == {quantity.name for quantity in starts.TALK}


def test_distance_to_the_talk_is_a_sum_of_logarithms() -> None:
    """Of what is printed: feature halves up to .47, label halves to 1.3, rows to .18 and .55; a share of .2 is above .19."""
    share = math.log(0.2 / 0.19)
    assert starts.distance(of_talk()) == pytest.approx(share)
    off = [0.8 / 0.47, 2.2 / 1.3, 0.32 / 0.18, 1.0 / 0.55]
    assert starts.distance(of_talk(times=2.0)) == pytest.approx(share + sum(map(math.log, off)))
    assert starts.distance(of_talk(small=0.5)) == math.inf  # nothing is small


# ---------------------------------------------------------------- claims

record = judge_of(CLAIMS)


def failed(id: str, runs: Iterable[StoredRun], profile: str = "laptop") -> list[str]:
    """The parts that fail; none where the claim is reproduced."""
    return record(id, runs, profile)["failed"]


Plan = Callable[[RunSpec], Mapping[str, Any]]


def of(plan: Plan) -> list[Planted]:
    """All main runs of the laptop profile, planted as `plan` has it for each."""
    return [planted(spec, **plan(spec)) for spec in LAPTOP]


def last_seed(usual: Any, other: Any) -> Callable[[RunSpec], Any]:
    return lambda spec: other if spec.seed == LAPTOP[-1].seed else usual


@pytest.mark.parametrize("id", [claim.id for claim in CLAIMS])
def test_one_missing_run_is_enough_to_claim_nothing(id: str) -> None:
    assert len(LAPTOP) == 8
    found = record(id, map(planted, LAPTOP[1:]))
    assert (found["status"], found["n_seeds"]) == (NOT_RUN, 0)
    assert found["measured"].startswith("1 of 8 runs are not stored yet")


# ---------------------------------------------------------------- unseen tasks


def right(unseen: float, seen: float, other: tuple[float, float] | None = None) -> list[Planted]:
    """Shares of wrong signs; `other` for the last seed."""
    wrong = last_seed((unseen, seen), other or (unseen, seen))
    return of(lambda s: {"unseen": 1 - wrong(s)[0], "seen": 1 - wrong(s)[1]})


def test_unseen_tasks() -> None:
    id, wrong, more = "icl-unseen-tasks", "wrong signs on unseen tasks, worst seed", "more than on trained tasks by, worst seed"
    assert failed(id, right(0.0099, 0.0)) == []
    assert failed(id, right(0.005, 0.03)) == []  # better on unseen tasks is not worse
    assert failed(id, right(0.0, 0.0, (0.0101, 0.005))) == failed(id, right(0.5, 0.492)) == [wrong]
    assert failed(id, right(0.5, 0.48)) == failed(id, right(0.0, 0.0, (0.5, 0.0))) == [wrong, more]
    assert record(id, right(0.0, 0.0))["n_seeds"] == 8


def test_of_runs_that_diverged_nothing_is_claimed() -> None:
    runs = [*right(0.0, 0.0)[1:], replace(planted(LAPTOP[0]), status="diverged", metrics={"unseen": None, "seen": None})]
    found = record("icl-unseen-tasks", runs)
    assert (found["status"], found["measured"]) == (NOT_RUN, "a run diverged and has no error")


# ---------------------------------------------------------------- projections and attention


def grown(times: float = 2.1, along: float = 0.81, late: float = 1.09, only: str = "") -> list[Planted]:
    """Norms that grow from 1 to `times`, the last part of it after half of training; in the other parts than `only`, if one is
    named, and all seeds but the last, they are fine."""

    def plan(spec: RunSpec) -> dict[str, Any]:
        told = {}
        for where in ("", "foreign "):
            for part in ("query", "key"):
                mine = not only or (only == where + part and spec.seed == LAPTOP[-1].seed)
                t, a, g = (times, along, late) if mine else (2.1, 0.81, 1.09)
                norm = np.array([1.0] * 10 + [t / g] * 41 + [t] * 49)
                told[f"{where}{part} norm"], told[f"{where}{part} projection"] = norm, a * norm
        return {"history": {name: values.tolist() for name, values in told.items()}}

    return of(plan)


def test_projections() -> None:
    id = "icl-projections"
    grow, project, settle = (
        "times that norms grow, the least",
        "share of the norm along the pattern, the least",
        "what the second half of training adds, the most",
    )
    assert failed(id, grown()) == failed(id, grown(along=0.83, late=1.0)) == []  # the talk's share, and its plateau
    for name, bad in ((grow, {"times": 1.99}), (project, {"along": 0.79}), (settle, {"late": 1.11})):
        for only in ("", "query", "key", "foreign query", "foreign key"):
            assert failed(id, grown(**bad, only=only)) == [name], only
    assert failed(id, grown(times=1.99, along=0.79)) == [grow, project]
    assert record(id, grown(times=1.99, along=0.79, late=1.11))["status"] == NO_EFFECT


@pytest.mark.parametrize(("id", "where"), [("icl-attention", ""), ("icl-attention-foreign", "foreign ")])
def test_attention(id: str, where: str) -> None:
    """The other one's values are those of no attention at all."""
    other = "attention.1" if where else "foreign attention.1"
    lowest, papers = "attention on the query's pattern, lowest seed", "the same against the paper's level"

    def runs(one: float, bad: float) -> list[Planted]:
        rise = lambda v: [0.4] * 99 + [v]
        return of(lambda s: {"history": {f"{where}attention.1": rise(last_seed(one, bad)(s)), other: [0.1] * 100}})

    assert failed(id, runs(0.98, 0.98)) == []
    assert failed(id, runs(0.99, 0.979)) == failed(id, runs(0.901, 0.901)) == [papers]
    assert failed(id, runs(0.99, 0.899)) == [lowest, papers]


# ---------------------------------------------------------------- neurons


def rows(feature: Sequence[float], up: float = 0.1, down: float = 0.9, big: float = 1.0) -> dict[int, dict[str, Tensor]]:
    """Snapshots in which one neuron in four is large in the end; its angle to the mean pattern is feature[0] at the first step
    and feature[1] at the last. At the first step the others are larger. Angles of small neurons are all wrong."""
    large, positive = torch.arange(M) % 8 < 2, torch.arange(M) % 2 == 0
    found = {}
    for step in dict(LAPTOP[0].task)["keep"]:
        first, last = step == 10, step == 1000
        angle = feature[0] if first else feature[1] if last else 0.77
        size = torch.where(large, big, 0.3 * big) if not first else torch.where(large, 0.1, 1.0)
        own = torch.where(positive, up, down) if last else torch.full((M,), 0.33)
        found[step] = {
            "feature norm.1": 0.6 * size,
            "label norm.1": 0.8 * size,
            "feature angle.1": torch.where(large, torch.tensor(float(angle)), torch.tensor(0.9)),
            "label angle.1": torch.where(large, own, 1 - own),
        }
    return found


def test_feature_halves() -> None:
    """Of the neurons that are large in the end, at both times."""
    id, turns = "icl-feature-half", "at the end, largest (π)"
    begins = "angle to the mean pattern at first, farthest from π/2 by (π)"
    runs = lambda one, bad: of(lambda s: {"kept": rows(last_seed(one, bad)(s))})
    assert failed(id, runs((0.5, 0.12), (0.5, 0.12))) == failed(id, runs((0.46, 0.19), (0.54, 0.19))) == []
    assert failed(id, runs((0.5, 0.1), (0.44, 0.1))) == failed(id, runs((0.5, 0.1), (0.56, 0.1))) == [begins]
    assert failed(id, runs((0.5, 0.1), (0.5, 0.21))) == [turns]
    assert failed(id, runs((0.5, 0.1), (0.56, 0.21))) == [begins, turns]


def test_label_halves() -> None:
    id, up, down = "icl-label-half", "angle to q, a > 0, largest (π)", "angle to q, a < 0, smallest (π)"
    runs = lambda one, bad: of(lambda s: {"kept": rows((0.5, 0.1), *last_seed(one, bad)(s))})
    assert failed(id, runs((0.16, 0.84), (0.16, 0.84))) == failed(id, runs((0.24, 0.76), (0.24, 0.76))) == []
    assert failed(id, runs((0.1, 0.9), (0.26, 0.9))) == [up]
    assert failed(id, runs((0.1, 0.9), (0.1, 0.74))) == [down]
    assert failed(id, runs((0.1, 0.9), (0.26, 0.74))) == [up, down]
    assert failed(id, runs((0.9, 0.1), (0.9, 0.1))) == [up, down]  # the wrong way round


Luck = tuple[int, int, int]
"""How many neurons are lucky, how many of them are large in the end, and how many of the others."""


def with_luck(monkeypatch: pytest.MonkeyPatch, usual: Luck, bad: Luck | None = None) -> list[Planted]:
    """The first neurons are lucky; the last seed is another if there is a `bad` one. Large rows are of norm 1, others of .1."""
    of_run = last_seed(usual, bad or usual)
    monkeypatch.setattr(metrics, "lucky", lambda run, own=True: (np.arange(M) < of_run(run.spec)[0]) == own)

    def kept(spec: RunSpec) -> dict[int, dict[str, Tensor]]:
        lucky, of_them, others = of_run(spec)
        place = torch.arange(M)
        size = torch.where((place < of_them) | ((place >= lucky) & (place < lucky + others)), 1.0, 0.1)
        last = {"feature norm.1": 0.6 * size, "label norm.1": 0.8 * size}
        return {10: {name: 5 - value for name, value in last.items()}, 1000: last}

    return of(lambda s: {"kept": kept(s)})


def test_lucky_neurons_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    found = lambda one, bad: failed("icl-lucky", with_luck(monkeypatch, one, bad))
    more, rest = "share that ends large, lucky less others, lowest seed", "share of the others that ends large, highest seed"
    assert found((10, 5, 20), (10, 5, 26)) == []  # one half, and 26 of 54
    assert found((10, 5, 20), (10, 5, 27)) == [more]  # one half on either side
    assert found((10, 5, 20), (10, 10, 28)) == [rest]  # others grow in one seed
    assert found((10, 5, 20), (9, 4, 30)) == [more, rest]
    assert found((10, 5, 20), (0, 0, 20)) == [more]  # none is lucky, so that there is no share of them
    assert found((10, 5, 20), (M, 50, 0)) == [more, rest]  # or all are
    assert record("icl-lucky", with_luck(monkeypatch, (10, 10, 40)))["status"] == PARTLY


def test_shares_that_end_large_are_of_runs_with_both_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = with_luck(monkeypatch, (10, 5, 27), (M, 50, 0))
    masks = [metrics.lucky(run) for run in runs]
    assert metrics.mean_shares(runs, masks) == (0.5, 0.5)
    assert metrics.mean_shares(runs[:1], [~masks[0]]) == (0.5, 0.5)
    assert all(map(math.isnan, metrics.mean_shares(runs[-1:], masks[-1:])))


# ---------------------------------------------------------------- gradients

SMOKE = train_specs("smoke")[0]


def test_the_slides_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are true, before and after training; the bar is 1e-6 of the largest entry, and each sum is a part."""
    runs = [planted(SMOKE, weights=random_weights(SMOKE))]
    parts = ["largest relative deviation, sums over l columns", "the same over l + 1"]
    found = lambda: failed("icl-gradients", runs, "smoke")
    assert found() == []
    true = theory.gradients

    def off(by: float, which: tuple[bool, ...], name: str) -> None:
        def told(w: Any, prompts: Any, z: Any, query_too: bool = False) -> dict[str, np.ndarray]:
            found = true(w, prompts, z, query_too)
            return found | ({name: found[name] * (1 + by)} if query_too in which else {})

        monkeypatch.setattr(theory, "gradients", told)

    for name in ("W_Q", "W_K", "W_V", "W_O"):
        off(8e-7, (False, True), name)
        assert found() == []
        off(1.2e-6, (False, True), name)
        assert found() == parts, name
        off(-0.5, (True,), name)
        assert found() == parts[1:]
    off(0.5, (False,), "W_V")
    assert found() == parts[:1]


def test_a_deviation_after_training_counts_as_well() -> None:
    """Where the weights that are told of are others than the trained ones."""
    run = planted(SMOKE, weights=random_weights(SMOKE))
    assert metrics.gradient_gap(run, False) < 1e-12
    arrays, asked = theory.arrays, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(theory, "arrays", lambda model: asked.append(model) or arrays(asked[0]))
        assert metrics.gradient_gap(run, False) > 0.01
    assert len(asked) == 2


def test_push_until_attention_is_half_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """From .4 before training to .8 at the end, half way is .6, at the third evaluation; the push on the way is what counts."""
    monkeypatch.setattr(metrics, "start_attention", lambda run: (0.4,))
    run = planted(SHORT, history={"attention.1": [0.45, 0.59, 0.61, 0.9, 0.8], "push": [0.1, 0.3, 0.8, 1.0, -1.0]})
    assert metrics.half_way(run) == 3
    assert metrics.push_until_half_way(run) == pytest.approx(0.4)
    soon = planted(SHORT, history={"attention.1": [0.7, 0.8], "push": [0.25, 1.0]})
    assert (metrics.half_way(soon), metrics.push_until_half_way(soon)) == (1, 0.25)


def test_push(monkeypatch: pytest.MonkeyPatch) -> None:
    """In every seed."""

    def found(one: float, bad: float) -> list[str]:
        cosine = last_seed(one, bad)
        monkeypatch.setattr(claims, "push_until_half_way", lambda run: cosine(run.spec))
        return failed("icl-push", map(planted, LAPTOP))

    assert found(0.51, 0.5) == []
    assert found(0.9, 0.49) == ["cosine of the push with the query's pattern, lowest seed"]


# ---------------------------------------------------------------- facts


def rising(late: Mapping[int, int] = {}) -> list[Planted]:
    """Attention is low for the first 6 evaluations, `late` in some seeds; neurons turn by step 60, and in the end a quarter is
    large. The loss falls at evaluation 11, 12, … by seed."""
    kept = rows((0.5, 0.12), 0.16, 0.84)
    kept[60]["label angle.1"] = torch.where(torch.arange(M) % 8 < 2, torch.where(torch.arange(M) % 2 == 0, 0.4, 0.7), 0.1)
    low = lambda s: late.get(s.seed, 6)
    loss = lambda s: [0.9] * (10 + s.seed) + [0.05] * (90 - s.seed)
    told = lambda s: {
        "attention.1": [0.41] * low(s) + [0.9] * (100 - low(s)),
        "unseen loss": loss(s),
        "seen loss": loss(s),
        "query norm": np.linspace(0.52, 2.5, 100).tolist(),
        "push": [0.3 + s.seed / 10] + [0.9] * 99,
    }
    return of(lambda s: {"kept": kept, "history": told(s), "unseen": 0.999 if s.seed else 1.0})


def test_what_comes_before_attention() -> None:
    """The last snapshot below one half in every seed."""
    before = lambda late: metrics.before_attention(rising(late))
    assert before({}) == before({1: 8, 2: 100}) == 60
    assert before({7: 5}) == 50
    assert before(dict.fromkeys(range(8), 100)) == 1000
    assert before({7: 0}) is None


def test_how_far_lengths_have_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """At step 60 W_Q p_query, from .5 before training on its way to 2.5, is at .62; label halves of the neurons that end large
    go from .1 to .8, the others' play no part."""
    monkeypatch.setattr(metrics, "start_values", lambda run: {"query norm": 0.5})
    begin = np.where(np.arange(M) % 8 < 2, 0.1, 9.0)
    monkeypatch.setattr(metrics, "start_neurons", lambda run: {"label norm": begin})
    runs = rising()
    for run in runs:
        run.snapshots()[60]["label norm.1"][:] = torch.where(torch.arange(M) % 8 < 2, 0.24, 7.0)
    half, query = metrics.grown(runs, 60)
    assert (half.times, half.way) == (pytest.approx(2.4), pytest.approx(0.2))
    assert (query.times, query.way) == (pytest.approx(1.24), pytest.approx(0.06))


def test_unseen_tasks_that_are_trained_ones_reversed() -> None:
    """All of the main runs' are; of those beside a cycle one in four; of all tasks but one direction of a pair, none."""
    assert [metrics.reversed_tasks(Task(shifts=shifts)) for shifts in ((1, 2, 3), (1,), (1, 5))] == [12, 6, 0]
    assert [len(Task(shifts=shifts).unseen) for shifts in ((1, 2, 3), (1,), (1, 5))] == [12, 24, 18]


def test_facts_on_the_paper_s_level_and_on_the_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed s is asked on fresh prompts at .977 + .001 s: three miss .98. Neurons that are active more often on their own sign's
    prompts are the large ones but for one."""
    monkeypatch.setattr(metrics, "lucky", lambda run, own=True: np.arange(M) < 20 + (not own))
    monkeypatch.setattr(metrics, "start_values", lambda run: {"push": 0.1, "query norm": 0.5})
    seeds = iter(range(8))
    level = lambda model, prompts: Answers(np.ones(2), np.ones(2), np.full(2, 0.977 + 0.001 * next(seeds)))
    monkeypatch.setattr(metrics, "ask", level)
    more = np.arange(M) % 8 < 2
    more[0] = False
    monkeypatch.setattr(metrics, "activity", lambda run: np.array([0.5 + 0.1 * more, np.full(M, 0.5)]))
    found = {name: fact.text for name, fact in metrics.facts(rising()).items()}
    assert [found[name] for name in ("seeds", "below", "short")] == ["eight", "three", "0.003"]
    assert [found[name] for name in ("soon-push", "soon-push-low", "first-step")] == ["0.65", "0.30", "ten"]
    assert [found[name] for name in ("own-more", "own-less")] == ["100%", "2%"]
    assert found["same-group"] == "98%"
    assert [found[name] for name in ("trained-tasks", "tasks", "reversed")] == ["18", "30", "12 of 12"]


def test_facts_where_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention is high from the first, or the loss never falls: what is not there is absent."""
    monkeypatch.setattr(metrics, "lucky", lambda run, own=True: np.arange(M) < 20)
    monkeypatch.setattr(metrics, "start_values", lambda run: {"push": 0.1, "query norm": 0.5})
    monkeypatch.setattr(metrics, "push_until_half_way", lambda run: 0.6)
    absent = lambda runs: {name for name, fact in metrics.facts(runs).items() if fact.text == ABSENT}
    assert absent(rising()) == set()
    assert absent(rising(dict.fromkeys(range(8), 0))) == {name for name in metrics.facts(rising()) if name.startswith("order-")}
    assert absent([replace(run, history=run.history | {"unseen loss": [0.9] * 100}) for run in rising()]) == {"steps"}


# ---------------------------------------------------------------- what figures show


def test_a_prompt_and_matrices_are_those_of_the_run() -> None:
    run = planted(SMOKE, weights=random_weights(SMOKE))
    shown, asked = metrics.shown_prompt(run), stored.fresh(stored.task_of(run), SMOKE.seed, 1)
    assert shown.matrix.shape == (31, 21)
    assert shown.same.tolist() == asked.same[0].tolist()
    expected = stored.trained(run).query_attention(asked.prompt[None])[0][0, 0]
    np.testing.assert_allclose(shown.attention["trained"], expected, rtol=1e-5)
    norms, kept = np.linalg.norm(random_weights(SMOKE)["layers.0.W_O.weight"].numpy(), axis=1), metrics.matrices(run).kept
    assert kept.sum() == 12  # of 20 the smallest 40 % go
    assert kept[:10].tolist() == (np.sort(norms[::2])[::-1] >= np.quantile(norms, 0.4)).tolist()
