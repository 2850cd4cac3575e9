"""What chapter 12 says of stored runs: on planted ones every number can be worked out, and every bar is where the words are."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from conftest import Shelf
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lib.core.read.claim import NOT_REPRODUCED, NOT_RUN, PARTLY, REPRODUCED, Claim
from lib.core.read.statistics import wilson
from lib.core.record.spec import RunSpec, SpecError
from lib.core.record.start import at_start
from lib.core.record.store import StoredRun
from lib.in_context import runs as stored
from lib.in_context import starts, theory
from lib.in_context.experiments import GPT, SETTINGS, gpt_specs, one_layer, start_specs, train_specs
from lib.in_context.learning import claims, figures, metrics, prose
from lib.in_context.learning.claims import CLAIMS
from lib.in_context.models import OneLayer, OneLayerSpec
from lib.in_context.out_of_domain.metrics import gpt_errors, needed
from lib.in_context.runs import FRESH_SEED, Answers, Share
from lib.in_context.study import TEST_SEED, error_rows, foreign, make_study
from lib.in_context.task import D_X, Task, all_pairs
from lib.in_context.task import D as WIDTH

BY_ID = {claim.id: claim for claim in CLAIMS}
SHORT = one_layer("icl-train", SETTINGS["smoke"], 0, {"length": 4, "keep": (10, 20)})
LAPTOP = train_specs("laptop")
M = LAPTOP[0].model.neurons
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Planted(StoredRun):
    """A run that is in no store."""

    kept: dict[int, dict[str, Tensor]] = field(default_factory=dict)
    kept_weights: dict[str, Tensor] | None = None

    def snapshots(self) -> dict[int, dict[str, Tensor]]:
        return self.kept

    def weights(self) -> dict[str, Tensor]:
        """Those of the start, if none were planted."""
        if self.kept_weights is not None:
            return self.kept_weights
        return {name: p[0].detach() for name, p in at_start(self.spec).named_parameters()}


def planted(
    spec: RunSpec = SHORT,
    history: Mapping[str, Sequence[float | None]] = {},
    kept: dict[int, dict[str, Tensor]] | None = None,
    weights: dict[str, Tensor] | None = None,
    **metrics: float,
) -> Planted:
    """A run with these parts, evaluated as often as its spec says, under a path of its own: measures are remembered by it."""
    steps = list(range(spec.train.eval_every, spec.train.steps + 1, spec.train.eval_every))
    told = {"step": steps} | {name: list(values) for name, values in history.items()}
    path = Path(f"nowhere/{next(_NUMBERS)}.json")
    return Planted(
        spec, metrics, told, spec.train.steps, "unfitted", None, 1.0, {}, path, kept=kept or {}, kept_weights=weights
    )


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def random_weights(spec: RunSpec, seed: int = 0) -> dict[str, Tensor]:
    parts = enumerate(at_start(spec).named_parameters())
    return {name: drawn(*p.shape[1:], seed=seed + i) / p.shape[-1] ** 0.5 for i, (name, p) in parts}


# ---------------------------------------------------------------- runs: prompts and answers


def test_the_task_of_a_run_and_changes_of_it() -> None:
    run = planted()
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
def test_answers_are_the_models_however_many_are_asked_at_once(depth: int) -> None:
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
    for chunk in (1, 7, 44, 45):
        again = stored.ask(model, prompts, chunk)
        for name in ("margin", "answer", "attention"):
            np.testing.assert_allclose(getattr(again, name), getattr(found, name), rtol=1e-4, atol=1e-6, err_msg=name)


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


def test_steps_to_a_loss_by_hand() -> None:
    run = planted(history={"unseen loss": [0.5, 0.1], "seen loss": [0.1, 0.05]})
    assert [stored.steps_to(run, level) for level in (0.5, 0.4, 0.1, 0.09)] == [10, 20, 20, None]
    assert stored.steps_to(run) == 20
    assert stored.steps_to(run, name="seen loss") == 10
    without = planted(history={"seen loss": [None, 0.05]})  # all tasks are trained; not finite at first
    assert stored.steps_to(without) == 20


def test_histories_have_gaps_where_a_run_was_not_finite() -> None:
    runs = [planted(history={"loss": [1.0, None]}), planted(history={"loss": [0.5, 0.25]})]
    steps, values = stored.history(runs, "loss")
    assert steps.tolist() == [10, 20]
    np.testing.assert_array_equal(values, [[1.0, np.nan], [0.5, 0.25]])


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
    torch.testing.assert_close(stored.contributions(model, prompts, chunk=4), found)
    assert (found * model.a >= 0).all()
    for neuron in (0, 5):
        weights = random_weights(spec)
        weights[f"layers.{depth - 1}.W_O.weight"][neuron] = 0
        pruned = stored.trained(planted(spec, weights=weights))
        torch.testing.assert_close(pruned(prompts.prompt[None])[0], margin - found[:, neuron], rtol=1e-4, atol=1e-5)
        assert found[:, neuron].abs().max() > 1e-3


def test_row_norms_are_of_the_last_layers_w_o() -> None:
    spec = replace(SHORT, model=OneLayerSpec(8, 0.2, 5, depth=2))
    weights = random_weights(spec)
    expected = np.linalg.norm(weights["layers.1.W_O.weight"].numpy(), axis=1)
    np.testing.assert_allclose(stored.row_norms(stored.trained(planted(spec, weights=weights))), expected, rtol=1e-6)


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
    run = planted(kept={10: kept | deep, 20: {name: 3 * value for name, value in kept.items()}})
    found = stored.neurons_at(run, 10)
    assert found.keys() == {"feature norm", "label norm", "feature angle", "label angle"}
    assert stored.row_size(found).tolist() == [5, 2]
    assert stored.row_size(stored.neurons_at(run, 10, layer=2)).tolist() == [10, 4]
    assert stored.row_size(stored.neurons_at(run, 20)).tolist() == [15, 6]


def reader(rows: Mapping[int, Tensor], neurons: int = 8) -> OneLayer:
    """A model whose attention is on the query's pattern, and whose neurons read these rows of what is attended to."""
    model = OneLayerSpec(neurons, 0.2, 21).build()
    with torch.no_grad():
        layer = model.layers[0]
        for part in (layer.attention.W_Q, layer.attention.W_K):
            part.weight[0, :6, :6] = 3 * torch.eye(6)
        layer.W_V.weight[0] = torch.eye(WIDTH)
        for i, row in rows.items():
            layer.W_O.weight[0, i] = row
    return model.eval().requires_grad_(False)


def test_lucky_neurons_of_a_model_that_is_made_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even neurons are positive. Lucky: what reads labels of its own sign, or is always on, or one pattern of six, as the least
    attention to it is enough to be on. Not: what reads the other sign, or nothing."""
    axes = torch.eye(WIDTH)
    rows = {0: axes[D_X], 1: -axes[D_X], 2: -axes[D_X], 3: axes[:6].sum(0), 4: axes[0], 5: -axes[:6].sum(0), 7: axes[D_X]}
    monkeypatch.setattr(stored, "at_start", lambda spec: reader(rows))
    run = planted(one_layer("icl-train", SETTINGS["smoke"], 0))
    assert stored.lucky(run).tolist() == [True, True, False, True, True, False, False, False]
    assert stored.lucky(run, share=0.95).tolist() == [True, True, False, True, False, False, False, False]


def test_luck_is_of_the_start_not_of_what_was_trained() -> None:
    """A real start: on prompts of a neuron's sign, is it on? Asked neuron by neuron, prompt by prompt."""
    run = planted(weights=random_weights(SHORT))
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


def test_a_printed_range_has_a_name() -> None:
    assert starts.Printed("length", starts.END, 0.02, 0.03).name == "length, at the end"


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
    return planted(spec, kept=kept, weights=weights, history={"attention.1": [0.4, 0.9 + times / 100]})


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


def test_the_nearest_trial_is_the_one_with_the_least_mean_distance() -> None:
    specs = start_specs("laptop")
    of = lambda place: (1.0, 1.2) if place == (60, 3.0) else (1.0, 2.0)
    shelf = [of_talk(spec, times) for place, two in specs.items() for spec, times in zip(two, of(place), strict=True)]
    found = starts.trials(Shelf(shelf), "laptop")
    assert {place: [run.spec for run in runs] for place, runs in found.items()} == specs
    assert starts.nearest(found) == (60, 3.0)
    rows = prose.trials_table(found).splitlines()
    assert [row for row in rows if "**" in row] == [row for row in rows if row.startswith("| **60** | **3 / 60** | 0.")]
    assert "| 100 | 2 / 100 | " in prose.trials_table(found)
    assert rows[2].endswith("| 0.915 ± 0.007 |")  # .91 and .92
    with pytest.raises(LookupError, match="1 of 2 runs are not stored"):
        starts.trials(Shelf(shelf[1:]), "laptop")


def test_norms_within_the_talks_ranges_are_counted() -> None:
    """A share of small rows of .2 is above .19; twice the norms at the end are above, too."""
    assert prose.norms_text([of_talk()]) == (
        "Of the 7 norms and shares that the talk prints, 6 lie in the talk's range on average (share of small rows, at the "
        "end: 5% above it)."
    )
    assert "2 lie in the talk's range" in prose.norms_text([of_talk(times=2.0)])
    assert "small rows of $W_O$, at the end: there are none in some seed" in prose.norms_text([of_talk(small=0.5)])
    low = prose.norms_text([of_talk(times=0.9)])
    assert "feature halves of large rows of $W_O W_V$, at the end: 3% below it" in low


def test_table_of_norms_stands_beside_the_talk() -> None:
    runs, chosen = [of_talk(), of_talk(times=2.0)], [of_talk()]
    alone, both = prose.norms_table(runs).splitlines(), prose.norms_table(runs, chosen).splitlines()
    assert len(alone) == len(both) == 2 + len(starts.TALK)
    assert len({row.count("|") for row in alone}) == len({row.count("|") for row in both}) == 1
    assert alone[-2] == "| large rows of $W_O$, at the end | 0.45 to 0.55 | 0.750 ± 0.354 |"
    assert both[-2] == "| large rows of $W_O$, at the end | 0.45 to 0.55 | 0.750 ± 0.354 | 0.500 |"


# ---------------------------------------------------------------- the list of claims


def judged(claim: Claim, runs: Iterable[StoredRun], profile: str) -> dict[str, Any]:
    """The claim on planted runs. What failed is named, in the words of the criterion (which speaks of no single layer)."""
    found = claim.evaluate(Shelf(runs), profile)
    assert bool(found["failed"]) == (found["status"] in (PARTLY, NOT_REPRODUCED))
    assert all(part.split(": ", 1)[-1] in claim.criterion for part in found["failed"])
    return found


def record(id: str, runs: Iterable[StoredRun], profile: str = "laptop") -> dict[str, Any]:
    return judged(BY_ID[id], runs, profile)


def status(id: str, runs: Iterable[StoredRun], profile: str = "laptop") -> str:
    return record(id, runs, profile)["status"]


def asks(id: str, *words: str) -> None:
    """The criterion, as readers see it, holds these words."""
    for part in words:
        assert part in BY_ID[id].criterion, f"{part!r} is not in {BY_ID[id].criterion!r}"


Plan = Callable[[RunSpec], Mapping[str, Any]]


def of(plan: Plan) -> list[Planted]:
    """All main runs of the laptop profile, planted as `plan` has it for each."""
    return [planted(spec, **plan(spec)) for spec in LAPTOP]


def last_seed(usual: Any, other: Any) -> Callable[[RunSpec], Any]:
    return lambda spec: other if spec.seed == LAPTOP[-1].seed else usual


def test_claims_have_names_of_their_own() -> None:
    assert not [id for id, count in Counter(claim.id for claim in CLAIMS).items() if count > 1]
    for claim in CLAIMS:
        assert claim.id.startswith("icl-")
        assert claim.statement.endswith(".")
        assert claim.paper in ("li2024nonlinear", "li2024talk")
        assert claim.criterion
    assert len(LAPTOP) == 8


@pytest.mark.parametrize("id", BY_ID)
def test_without_results_nothing_is_claimed(id: str) -> None:
    for runs, missing in (([], 8), (map(planted, LAPTOP[1:]), 1)):
        found = record(id, runs)
        assert (found["status"], found["n_seeds"]) == (NOT_RUN, 0)
        assert found["measured"].startswith(f"{missing} of 8 runs are not stored yet")


# ---------------------------------------------------------------- unseen tasks


def right(unseen: float, seen: float, other: tuple[float, float] | None = None) -> list[Planted]:
    """Shares of wrong signs; `other` for the last seed. Held-out losses fall below .1 at step 200 + 10 · seed."""
    wrong = last_seed((unseen, seen), other or (unseen, seen))
    fall = lambda spec: [0.9] * (19 + spec.seed) + [0.1] * (81 - spec.seed)
    return of(
        lambda s: {
            "unseen": 1 - wrong(s)[0],
            "seen": 1 - wrong(s)[1],
            "history": {"unseen loss": fall(s), "seen loss": fall(s)},
        }
    )


def test_unseen_tasks() -> None:
    asks(
        "icl-unseen-tasks",
        "in every seed at most 0.01 of the signs are wrong on unseen tasks",
        "in every seed not 0.01 more than",
    )
    assert status("icl-unseen-tasks", right(0.0099, 0.0)) == REPRODUCED
    assert status("icl-unseen-tasks", right(0.0, 0.0, (0.0101, 0.005))) == PARTLY
    assert status("icl-unseen-tasks", right(0.5, 0.492)) == PARTLY
    assert status("icl-unseen-tasks", right(0.5, 0.48)) == NOT_REPRODUCED
    assert status("icl-unseen-tasks", right(0.0, 0.0, (0.5, 0.0))) == NOT_REPRODUCED
    found = record("icl-unseen-tasks", right(0.004, 0.002))
    assert found["n_seeds"] == 8
    assert found["measured"].startswith("wrong on trained tasks 16 of 8,000, on unseen tasks 32 of 8,000; ")
    assert "after 235 steps on average (8 of 8 runs)" in found["measured"]  # 200, 210, …, 270


def test_where_no_run_learns_no_step_is_named() -> None:
    never = of(lambda s: {"unseen": 0.5, "seen": 0.5, "history": {"unseen loss": [0.9] * 100, "seen loss": [0.9] * 100}})
    assert "after no number of steps (0 of 8 runs)" in record("icl-unseen-tasks", never)["measured"]


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
    asks("icl-projections", "in every seed norms grow at least 2 times", "at least 0.8 of them", "adds at most 10%")
    verdict = lambda **how: status("icl-projections", grown(**how))
    assert verdict() == REPRODUCED
    for bad in ({"times": 1.99}, {"along": 0.79}, {"late": 1.11}):
        for only in ("", "query", "key", "foreign query", "foreign key"):
            assert verdict(**bad, only=only) == PARTLY, (bad, only)
    assert verdict(times=1.99, along=0.79) == PARTLY
    assert verdict(times=1.99, along=0.79, late=1.11) == NOT_REPRODUCED
    said = record("icl-projections", grown(times=3.0, along=0.95))["measured"]
    assert "query 3.0 ± 0.0 times, 0.95 ± 0.00 along, the second half adds at most 9.0%; key 3.0 ± 0.0 times" in said
    assert "key out of domain 3.0 ± 0.0 times, 0.95 ± 0.00 along" in said


@pytest.mark.parametrize(("id", "where"), [("icl-attention", ""), ("icl-attention-foreign", "foreign ")])
def test_attention(id: str, where: str) -> None:
    """The other one's values are those of no attention at all."""
    asks(id, "in every seed at least 0.98 at the end; in every seed at least 0.9 at the end counts as partly")
    other = "attention.1" if where else "foreign attention.1"

    def runs(last: Callable[[RunSpec], float]) -> list[Planted]:
        rise = lambda v: [0.4] * 11 + [0.7] * 88 + [v]
        return of(lambda s: {"history": {f"{where}attention.1": rise(last(s)), other: [0.1] * 100}})

    verdict = lambda one, bad: status(id, runs(last_seed(one, bad)))
    assert verdict(0.981, 0.981) == REPRODUCED
    assert verdict(0.99, 0.979) == PARTLY
    assert verdict(0.901, 0.901) == PARTLY
    assert verdict(0.99, 0.899) == NOT_REPRODUCED
    said = record(id, runs(lambda s: 0.95))["measured"]
    assert "0.400 ± 0.000 at step 10, 0.700 ± 0.000 at step 120, 0.950 ± 0.000 at the end" in said


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


def test_planted_rows_have_a_quarter_of_large_neurons() -> None:
    run = planted(LAPTOP[0], kept=rows((0.5, 0.1)))
    assert metrics.ends(run) == (10, 1000)
    assert metrics.large_neurons(run).tolist() == (np.arange(M) % 8 < 2).tolist()


def test_feature_halves() -> None:
    """Of the neurons that are large in the end, at both times."""
    asks("icl-feature-half", "mean over the large neurons", "within 0.05 π of π/2 at first", "at most 0.2 π at the end")
    verdict = lambda one, bad: status("icl-feature-half", of(lambda s: {"kept": rows(last_seed(one, bad)(s))}))
    assert verdict((0.46, 0.19), (0.54, 0.19)) == REPRODUCED
    assert verdict((0.5, 0.1), (0.44, 0.1)) == verdict((0.5, 0.1), (0.56, 0.1)) == PARTLY
    assert verdict((0.5, 0.1), (0.5, 0.21)) == PARTLY
    assert verdict((0.5, 0.1), (0.56, 0.21)) == NOT_REPRODUCED
    said = record("icl-feature-half", of(lambda s: {"kept": rows((0.5, 0.12))}))["measured"]
    assert "0.50 ± 0.00 π at step 10, 0.12 ± 0.00 π at the end" in said


def test_label_halves() -> None:
    asks(
        "icl-label-half", "mean over the large neurons, in every seed", "at most 0.25 π for a > 0", "at least 0.75 π for a < 0"
    )
    verdict = lambda one, bad: status("icl-label-half", of(lambda s: {"kept": rows((0.5, 0.1), *last_seed(one, bad)(s))}))
    assert verdict((0.24, 0.76), (0.24, 0.76)) == REPRODUCED
    assert verdict((0.1, 0.9), (0.26, 0.9)) == verdict((0.1, 0.9), (0.1, 0.74)) == PARTLY
    assert verdict((0.1, 0.9), (0.26, 0.74)) == NOT_REPRODUCED
    assert verdict((0.9, 0.1), (0.9, 0.1)) == NOT_REPRODUCED  # the wrong way round
    said = record("icl-label-half", of(lambda s: {"kept": rows((0.5, 0.1), 0.16, 0.84)}))["measured"]
    assert "0.16 ± 0.00 π for a > 0, 0.84 ± 0.00 π for a < 0" in said


Luck = tuple[int, int, int]
"""How many neurons are lucky, how many of them are large in the end, and how many of the others."""


def with_luck(monkeypatch: pytest.MonkeyPatch, usual: Luck, bad: Luck | None = None) -> list[Planted]:
    """The first neurons are lucky; the last seed is another if there is a `bad` one. Large rows are of norm 1, others of .1."""
    of_run = last_seed(usual, bad or usual)
    for module in (metrics, prose, claims):
        monkeypatch.setattr(module, "lucky", lambda run: np.arange(M) < of_run(run.spec)[0])

    def kept(spec: RunSpec) -> dict[int, dict[str, Tensor]]:
        lucky, of_them, others = of_run(spec)
        place = torch.arange(M)
        size = torch.where((place < of_them) | ((place >= lucky) & (place < lucky + others)), 1.0, 0.1)
        last = {"feature norm.1": 0.6 * size, "label norm.1": 0.8 * size}
        return {10: {name: 5 - value for name, value in last.items()}, 1000: last}

    return of(lambda s: {"kept": kept(s)})


def test_lucky_neurons_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    asks(
        "icl-lucky",
        "lucky: active on at least 50% of the prompts",
        "in every seed a larger share of the lucky ones ends large than of the others",
    )
    verdict = lambda one, bad: status("icl-lucky", with_luck(monkeypatch, one, bad))
    assert verdict((10, 5, 40), (10, 5, 44)) == REPRODUCED  # one half, and 44 of 90
    assert verdict((10, 5, 40), (10, 5, 45)) == NOT_REPRODUCED
    assert verdict((10, 5, 40), (9, 4, 60)) == NOT_REPRODUCED
    assert verdict((10, 5, 40), (0, 0, 40)) == NOT_REPRODUCED  # none is lucky, so that there is no share of them
    assert verdict((10, 5, 40), (M, 50, 0)) == NOT_REPRODUCED  # or all are
    said = record("icl-lucky", with_luck(monkeypatch, (25, 20, 15)))["measured"]
    assert said.startswith(
        "0.80 ± 0.00 of the lucky neurons end large, 0.20 ± 0.00 of the others; lucky are 0.25 ± 0.00 of all"
    )


# ---------------------------------------------------------------- gradients

SMOKE = train_specs("smoke")[0]


def test_the_slides_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are true, before and after training; the bar is 1e-6 of the largest entry, and each sum is a part."""
    asks("icl-gradients", "at most 1 millionth from automatic differentiation", "for sums over l columns; for sums over l + 1")
    runs = [planted(SMOKE, weights=random_weights(SMOKE))]
    verdict = lambda: status("icl-gradients", runs, "smoke")
    assert verdict() == REPRODUCED
    true = theory.gradients

    def off(by: float, which: tuple[bool, ...], name: str) -> None:
        def told(w: Any, prompts: Any, z: Any, query_too: bool = False) -> dict[str, np.ndarray]:
            found = true(w, prompts, z, query_too)
            return found | ({name: found[name] * (1 + by)} if query_too in which else {})

        monkeypatch.setattr(theory, "gradients", told)

    for name in ("W_Q", "W_K", "W_V", "W_O"):
        off(8e-7, (False, True), name)
        assert verdict() == REPRODUCED
        off(1.2e-6, (False, True), name)
        assert verdict() == NOT_REPRODUCED, name
        off(-0.5, (True,), name)
        assert verdict() == PARTLY
    off(0.5, (False,), "W_V")
    assert record("icl-gradients", runs, "smoke")["measured"].startswith("largest relative deviation 0.5 summed over the l")


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
    run = planted(history={"attention.1": [0.45, 0.59, 0.61, 0.9, 0.8], "push": [0.1, 0.3, 0.8, 1.0, -1.0]})
    assert metrics.half_way(run) == 3
    assert metrics.push_until_half_way(run) == pytest.approx(0.4)
    soon = planted(history={"attention.1": [0.7, 0.8], "push": [0.25, 1.0]})
    assert (metrics.half_way(soon), metrics.push_until_half_way(soon)) == (1, 0.25)


def test_the_push_before_training_is_that_of_the_start() -> None:
    run = planted(weights=random_weights(SHORT))
    assert metrics.first_push(run) == make_study(SHORT).watch(at_start(SHORT))["push"].item()
    assert 0 < abs(metrics.first_push(run)) < 1


def test_push(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every seed; before the first step it may be whatever it is."""
    asks("icl-push", "until attention is half way to its end: at least 0.5 in every seed")

    def found(one: float, bad: float) -> dict[str, Any]:
        cosine = last_seed(one, bad)
        monkeypatch.setattr(claims, "first_push", lambda run: -0.3)
        monkeypatch.setattr(claims, "push_until_half_way", lambda run: cosine(run.spec))
        return record("icl-push", map(planted, LAPTOP))

    assert found(0.51, 0.5)["status"] == REPRODUCED
    assert found(0.9, 0.49)["status"] == NOT_REPRODUCED
    assert "from 0.49 to 0.90; before the first step -0.30 ± 0.00" in found(0.9, 0.49)["measured"]


def test_a_claim_says_why_its_criterion_was_replaced() -> None:
    revised = {id for id, claim in BY_ID.items() if claim.evaluate(Shelf([]), "laptop")["revised"]}
    assert revised == {"icl-projections", "icl-lucky", "icl-push"}
    assert BY_ID["icl-push"].evaluate(Shelf([]), "laptop")["revised"] == BY_ID["icl-push"].revised


# ---------------------------------------------------------------- computed prose


def test_settings_are_those_of_the_specs() -> None:
    told = dict(prose.settings_table("laptop"))
    assert len(told) == len(prose.settings_table("laptop"))
    expected = ["6, 24", "2", "0.8", "20", "18 of 30", "100", "0.2 I; Gaussian, std 0.02", "0.02"]
    assert list(told.values())[:8] == expected
    assert told["training"] == "SGD on the hinge loss, learning rate 3, 1,000 steps of 200 new prompts"
    assert told["seeds"] == "8"
    assert dict(prose.settings_table("smoke"))["neurons m"] == "20"


def test_the_line_of_a_prompt_counts_its_examples() -> None:
    run = planted(LAPTOP[2])
    prompts = stored.fresh(Task(), 2, 6)
    for number in (0, 5):
        a, b = prompts.pair[number].tolist()
        same = sum(prompts.pattern[number, i] == prompts.pattern[number, -1] for i in range(20))
        said = f"task (μ{a + 1}, μ{b + 1}), {same} of 20 examples have the query's pattern"
        assert prose.prompt_line(run, number) == said
        assert prose.expected_text(run, number).endswith(f"pattern: {same} here, α l / 2 = 8 on average")


def test_words_on_learning() -> None:
    loss = lambda s: [0.9 + 0.01 * s.seed] + [0.5] * (9 + s.seed) + [0.02] * (90 - s.seed)
    runs = of(lambda s: {"unseen": 0.999, "unseen loss": 0.01, "history": {"unseen loss": loss(s), "seen loss": [0.5] * 100}})
    said = prose.learning_text(runs)
    assert "It is at most 0.1 after 110 to 180 steps." in said
    first = f"{np.mean([0.9 + 0.01 * i for i in range(8)]):.2f} ± 0.02"
    assert f"At step 10 the loss on tasks that are not trained is **{first}**." in said
    assert "At the end it is **0.0100**" in said
    end = "of the signs are wrong there (1,000 prompts, the same for all; mean ± standard deviation over 8 seeds)."
    assert f"**8 of 8,000** signs {end.removeprefix('of the signs ')}" in said
    none = of(lambda s: {"unseen": 1.0, "unseen loss": 0.0, "history": {"unseen loss": [0.0] * 100, "seen loss": [0.0] * 100}})
    assert "At the end it is **0**, and **none of 8,000** signs are wrong" in prose.learning_text(none)
    never = of(lambda s: {"unseen": 0.5, "unseen loss": 0.9, "history": {"unseen loss": [0.9] * 100, "seen loss": [0.9] * 100}})
    assert "never" in prose.learning_text(never)


def test_last_values_in_a_line() -> None:
    runs = of(lambda s: {"history": {"seen": [0.0] * 99 + [s.seed / 8], "attention.1": [1.0] * 99 + [0.5]}})
    assert prose.last_line(runs, ("seen", "attention.1")) == "seen 0.438 ± 0.306; attention.1 0.500 ± 0.000"


def test_words_on_neurons() -> None:
    runs = of(lambda s: {"kept": rows((0.5, 0.12), 0.16, 0.84)})
    said = prose.neurons_text(runs)
    assert said.startswith("**26%** of the neurons are large: their row has at least half the norm of the largest tenth. Mean ")
    for part in ("mean pattern | 0.12 |", "label halves to q, a > 0 | 0.16 |", "label halves to q, a < 0 | 0.84 |"):
        assert part in said
    assert prose.angles_line(runs[0], "feature", (10, 1000)) == (
        "step 10: large neurons 0.50 π; step 1000: large neurons 0.12 π"
    )
    assert prose.angles_line(runs[0], "label", (10, 1000)) == (
        "step 10: a > 0 0.33 π, a < 0 0.33 π; step 1000: a > 0 0.16 π, a < 0 0.84 π"
    )


def test_words_on_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = with_luck(monkeypatch, (25, 20, 15))
    said = prose.luck_text(runs)
    assert said.startswith(
        "**25%** of the neurons are lucky. That about half are is true by symmetry: a row of $W_O$ and its negative "
    )
    assert "After training **80%** of the lucky ones are large" in said
    assert said.endswith("and **20%** of the others: luck makes it more likely to grow.")
    assert prose.luck_line(runs) == "mean norm of a trained row: lucky 0.820 ± 0.000, others 0.280 ± 0.000"
    assert prose.luck_text(with_luck(monkeypatch, (25, 5, 60))).endswith("luck makes it no more likely to grow.")


def test_words_on_what_comes_first() -> None:
    """The last step with neurons at which attention is below one half in every seed; here step 60, or 50, or none."""
    kept = rows((0.5, 0.1))
    kept[60]["label angle.1"] = torch.where(torch.arange(M) % 2 == 0, 0.4, 0.7)
    rise = lambda spec, late: [0.41] * (late if spec.seed else 6) + [0.9] * (100 - (late if spec.seed else 6))
    runs = lambda late: of(lambda s: {"kept": kept, "history": {"attention.1": rise(s, late)}})
    said = prose.order_text(runs(8))
    assert said.startswith(
        "At step 60 attention on the query's pattern is still **0.41**, below 0.5 in every seed; at step 10 it was 0.41. "
    )
    assert "large have begun to turn by then" in said
    assert said.endswith("**0.40 π** from q for a > 0, **0.70 π** for a < 0. So neurons come first.")
    both = of(lambda s: {"kept": kept, "history": {"attention.1": [0.41] * 3 + [0.47] * 3 + [0.9] * 94}})
    assert prose.order_text(both).endswith("for a < 0.")  # attention has begun to move as well
    assert prose.order_text(runs(5)).startswith("At step 50 ")
    assert prose.order_text(runs(0)).endswith("is 0.5 or more wherever neurons were looked at.")


def test_words_on_the_first_push(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prose, "first_push", lambda run: 0.25 - 0.05 * run.spec.seed)
    monkeypatch.setattr(prose, "push_until_half_way", lambda run: 0.6)
    said = prose.push_text([planted(spec) for spec in LAPTOP])
    means = [0.25 - 0.05 * i for i in range(8)]
    assert f"a cosine of **{np.mean(means):.2f} ± {np.std(means, ddof=1):.2f}**" in said
    assert "5 of 8 seeds positive" in said
    assert said.endswith("half way to its end, it is **0.60** on average.")


def test_attention_of_short_runs_is_judged_at_its_last_step() -> None:
    runs = [planted(SMOKE, history={"attention.1": [0.4, 0.99]})]
    found = record("icl-attention", runs, "smoke")
    assert found["status"] == REPRODUCED
    assert "0.400 at step 10, 0.990 at step 20, 0.990 at the end" in found["measured"]


def test_better_on_unseen_tasks_is_not_worse() -> None:
    assert status("icl-unseen-tasks", right(0.005, 0.03)) == REPRODUCED


def test_histories_of_runs_that_stopped_have_gaps() -> None:
    runs = [planted(history={"loss": [1.0, 0.5]}), replace(planted(), history={"step": [10], "loss": [None]})]
    for order in (runs, runs[::-1]):
        steps, values = stored.history(order, "loss")
        assert steps.tolist() == [10, 20]
        assert np.isnan(values).sum() == 2


# ---------------------------------------------------------------- with other parameters


def test_settings_are_those_of_the_alpha_that_is_shown() -> None:
    assert dict(prose.settings_table("laptop", 0.4))["share α of examples of the task's two patterns"] == "0.4"
    assert prose.settings_table("laptop", 0.8) == prose.settings_table("laptop")


def test_words_on_learning_where_some_seeds_learn_late_or_never() -> None:
    """As with a small α: nothing is said to be near 1, or soon."""

    def runs(falls: Mapping[int, int]) -> list[Planted]:
        loss = lambda s: [0.6] * falls.get(s.seed, 100) + [0.1] * (100 - falls.get(s.seed, 100))
        return of(lambda s: {"unseen": 0.5, "unseen loss": 0.6, "history": {"unseen loss": loss(s), "seen loss": loss(s)}})

    said = prose.learning_text(runs({2: 49, 5: 79}))
    assert "At step 10 the loss on tasks that are not trained is **0.60**. In 2 of 8 seeds it is at most 0.1" in said
    assert "after 500 to 800 steps" in said
    assert "In 1 of 8 seeds it is at most 0.1 after 500 steps" in prose.learning_text(runs({2: 49}))
    assert "It never falls to 0.1." in prose.learning_text(runs({}))
    assert "the same for all; 1 seed)." in prose.learning_text(runs({})[:1])


def test_words_on_luck_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = with_luck(monkeypatch, (0, 0, 15), (25, 20, 15))
    assert "**20%** of the others (in the 1 of 8 seeds that have lucky neurons and others): luck" in prose.luck_text(runs)
    assert prose.luck_text(runs[:-1]).endswith("neurons are lucky. In no seed are there lucky neurons and others to compare.")


def test_words_on_what_comes_first_where_it_is_attention() -> None:
    """Label halves that are still straight, or turn the wrong way, have not begun."""
    for up, down in ((0.5, 0.5), (0.7, 0.3), (0.4, 0.5)):
        kept = rows((0.5, 0.1))
        kept[60]["label angle.1"] = torch.where(torch.arange(M) % 2 == 0, up, down)
        runs = of(lambda s, kept=kept: {"kept": kept, "history": {"attention.1": [0.1] * 6 + [0.9] * 94}})
        assert "large have not begun to turn" in prose.order_text(runs)
        assert "come first" not in prose.order_text(runs)


def test_words_on_neurons_that_all_turn_away() -> None:
    said = prose.neurons_text(of(lambda s: {"kept": rows((0.5, 0.8))}))
    assert "| feature halves to the mean pattern | 0.80 |" in said
    assert "nan" not in said


def test_the_verdict_is_that_of_the_runs() -> None:
    def said(unseen: float, attention: float, *angles: float) -> str:
        history = {"attention.1": [0.4] * 99 + [attention]}
        return prose.verdict(of(lambda s: {"unseen": unseen, "history": history, "kept": rows((0.5, 0.1), *angles)}))

    good = said(0.999, 0.98, 0.16, 0.84)
    assert good.startswith(
        "One layer learns to read a task from its prompt: of 1,000 answers on tasks that were never trained 1 "
    )
    assert good.endswith(
        "Attention finds the examples that show the query's pattern, and the neurons that grow copy their labels."
    )
    failed = said(0.5, 0.4, 0.5, 0.5)
    assert failed.startswith("Trained like this, one layer does not learn to read a task from its prompt: on tasks that were")
    assert "50% of the signs are wrong. Attention goes only in part to the examples" in failed
    assert failed.endswith("and the neurons that grow do not clearly read their labels.")
    for up, down in ((0.16, 0.5), (0.5, 0.84)):  # half of them are not all
        assert said(0.999, 0.98, up, down).endswith("and the neurons that grow do not clearly read their labels.")


def test_the_conclusion_is_that_of_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    said = lambda *luck: prose.conclusion(with_luck(monkeypatch, luck))
    known = "This is known of one layer without a residual stream, of orthogonal patterns, and of prompts in which 80%"
    monkeypatch.setattr(prose, "order_text", lambda runs: "So neurons come first.")
    assert said(25, 20, 15).startswith("Neurons begin to read labels before attention moves; ")
    assert known in said(25, 20, 15)
    assert "which of them grow the start decides." in said(25, 20, 15)  # a fifth of the others grow
    assert "which of them grow the start does not tell." in said(25, 5, 60)
    monkeypatch.setattr(prose, "order_text", lambda runs: "")
    assert said(25, 20, 15).startswith("Which moves first, attention or neurons, is not clear; ")


# ---------------------------------------------------------------- figures


def test_figures_draw_what_they_are_given() -> None:
    """A prompt, matrices and neurons of a run as arrays; along training its history."""
    spec = train_specs("smoke")[0]
    kept = {"feature norm.1": drawn(20).abs(), "feature angle.1": torch.rand(20), "label norm.1": drawn(20).abs()}
    kept |= {"label angle.1": torch.rand(20)}
    names = [
        f"{where}{part} {kind}" for where in ("", "foreign ") for part in ("query", "key") for kind in ("norm", "projection")
    ]
    names += ["attention.1", "foreign attention.1", "seen", "unseen", "seen loss", "unseen loss"]
    run = planted(spec, {name: [0.5, 1.0] for name in names}, {10: kept, 20: kept}, random_weights(spec))
    shown = metrics.shown_prompt(run, 3)
    asked = stored.fresh(stored.task_of(run), spec.seed, 4)
    assert shown.same.tolist() == asked.same[3].tolist()
    assert shown.matrix.shape == (31, 21)
    expected = stored.trained(run).query_attention(asked.prompt[None, 3:])[0][0, 0]
    np.testing.assert_allclose(shown.attention["trained"], expected, rtol=1e-5)
    matrices = metrics.matrices(run)
    norms = np.linalg.norm(random_weights(spec)["layers.0.W_O.weight"].numpy(), axis=1)
    assert matrices.kept.sum() == 12  # of 20 the smallest 40 % go
    assert matrices.kept[:10].tolist() == (np.sort(norms[::2])[::-1] >= np.quantile(norms, 0.4)).tolist()
    grown = metrics.growth_by_luck([run, run])
    assert sum(len(group.trained) for group in grown.values()) == 2 * 20
    assert [group.means.shape for group in grown.values()] == [(2, 2), (2, 2)]
    found = [figures.prompt(shown), figures.matrices(matrices), figures.luck(grown)]
    found += [
        figures.neurons(metrics.neurons_along(run, [10, 20]), half, stored.positive(run)) for half in ("feature", "label")
    ]
    found += [draw([run]) for draw in (figures.learning, figures.projections, figures.attention)]
    for figure in found:
        figure.canvas.draw()
        plt.close(figure)
