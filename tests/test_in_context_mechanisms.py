"""Pruning, three layers, and the story of copying: on models and runs that are planted every number can be worked out."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from test_in_context_claims import Shelf, judged
from torch import Tensor

from lib.core.read.claim import NOT_REPRODUCED, NOT_RUN, PARTLY, REPRODUCED
from lib.core.record.spec import RunSpec
from lib.core.record.start import at_start
from lib.core.record.store import StoredRun
from lib.in_context import runs as stored
from lib.in_context.deeper import figures as deeper_figures
from lib.in_context.deeper import numbers as deeper_numbers
from lib.in_context.deeper import prose as deeper_prose
from lib.in_context.deeper.claims import CLAIMS as CHAPTER_16
from lib.in_context.deeper.numbers import NO_SKIP, THEORY
from lib.in_context.experiments import SETTINGS, deep_specs, one_layer, story_specs, train_specs
from lib.in_context.models import signs
from lib.in_context.pruning import figures as pruning_figures
from lib.in_context.pruning import numbers as pruning_numbers
from lib.in_context.pruning import prose as pruning_prose
from lib.in_context.pruning.claims import CLAIMS as CHAPTER_14
from lib.in_context.pruning.numbers import LUCK, RATES, SHARES, Cost, cost, kept
from lib.in_context.story import claims as story_claims
from lib.in_context.story import figures as story_figures
from lib.in_context.story import numbers as story_numbers
from lib.in_context.story import prose as story_prose
from lib.in_context.story.claims import CLAIMS as CHAPTER_17
from lib.in_context.study import make_study, neurons
from lib.in_context.task import D_X, D, Task

BY_ID = {claim.id: claim for claim in (*CHAPTER_14, *CHAPTER_16, *CHAPTER_17)}
ONE = train_specs("smoke")[0]
M = ONE.model.neurons
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Planted(StoredRun):
    """A run that is in no store, under a path of its own: measures are remembered by it."""

    parts: dict[str, Tensor] = field(default_factory=dict)
    kept: dict[int, dict[str, Tensor]] = field(default_factory=dict)

    def weights(self) -> dict[str, Tensor]:
        return self.parts

    def snapshots(self) -> dict[int, dict[str, Tensor]]:
        return self.kept


def planted(
    spec: RunSpec = ONE,
    weights: dict[str, Tensor] | None = None,
    history: Mapping[str, Sequence[float | None]] = {},
    kept: dict[int, dict[str, Tensor]] | None = None,
    status: str = "fitted",
    **metrics: float,
) -> Planted:
    count = max(map(len, history.values()), default=2)
    steps = [spec.train.steps * (i + 1) // count for i in range(count)]
    told = {"step": steps} | {name: list(values) for name, values in history.items()}
    path = Path(f"nowhere/mechanisms-{next(_NUMBERS)}.json")
    how = {"device": "cpu (test)", "precision": "float32"}
    return Planted(spec, metrics, told, steps[-1], status, None, 1.0, how, path, parts=weights or {}, kept=kept or {})


def status(id: str, runs: Iterable[StoredRun] = (), profile: str = "smoke") -> str:
    return judged(BY_ID[id], runs, profile)["status"]


def drawn_figure(figure: Figure) -> None:
    figure.canvas.draw()
    plt.close(figure)


# ---------------------------------------------------------------- pruning: masks and costs


def copier(sizes: Sequence[float]) -> dict[str, Tensor]:
    """Weights of a model that copies the label of matching examples: neuron i adds sizes[i] to the margin of prompts whose
    label has its sign, and nothing to others."""
    layer = "layers.0."
    rows = torch.zeros(len(sizes), D)
    rows[:, D_X] = signs(len(sizes)) * torch.tensor(sizes) * math.sqrt(len(sizes))
    sharp = 4.0 * torch.eye(D)
    return {
        f"{layer}attention.W_Q.weight": sharp,
        f"{layer}attention.W_K.weight": sharp,
        f"{layer}W_V.weight": torch.eye(D),
        f"{layer}W_O.weight": rows,
    }


def test_names_of_planted_weights_are_the_models() -> None:
    assert set(copier([1.0] * M)) == {name for name, _ in at_start(ONE).named_parameters()}


def test_masks_take_the_first_of_an_order_away() -> None:
    order = np.array([3, 0, 2, 1])
    assert kept(order, [0, 1, 3], 4).tolist() == [[True] * 4, [True, True, True, False], [False, True, False, False]]
    some = kept(np.array([4, 1]), [1, 2], 5)  # neurons that are not in the order stay
    assert some.tolist() == [[True, True, True, True, False], [True, False, True, True, False]]


def test_a_mask_is_a_model_with_rows_of_zeros() -> None:
    model = at_start(ONE)
    prompts = stored.fresh(Task(length=5), 0, 40)
    effects, answer = stored.contributions(model, prompts).numpy(), prompts.answer.numpy()
    order = np.argsort(stored.row_norms(model))
    masks = kept(order, [0, 3, M - 1], M)
    found = cost(effects, answer, masks)
    for column, mask in enumerate(masks):
        pruned = at_start(ONE)
        pruned.layers[0].W_O.weight[0, ~torch.tensor(mask)] = 0
        asked = stored.ask(pruned, prompts)
        np.testing.assert_allclose(asked.margin, (effects * mask).sum(1), rtol=1e-4, atol=1e-6)
        assert found.error[column] == pytest.approx(asked.error)
        assert found.loss[column] == pytest.approx(asked.loss, rel=1e-5)
        assert found.margin[column] == pytest.approx((asked.margin * asked.answer).mean(), abs=1e-6)


def test_cost_by_hand() -> None:
    effects = np.array([[2.0, 0.5], [0.0, -0.5]])
    found = cost(effects, np.array([1.0, 1.0]), np.array([[True, True], [False, True], [False, False]]))
    assert found.error.tolist() == [0.5, 0.5, 1.0]  # a margin of 0 is wrong
    assert found.loss.tolist() == [0.75, 1.0, 1.0]
    assert found.margin.tolist() == [1.0, 0.0, 0.0]
    both = Cost.stack([found, found])
    assert both.error.shape == (2, 3)
    assert both.mean().loss.tolist() == both.at(slice(None)).loss[0].tolist() == [0.75, 1.0, 1.0]


def test_costs_of_a_copier() -> None:
    run = planted(weights=copier([0.3] * M))
    found = pruning_numbers.costs(run)
    assert found is pruning_numbers.costs(run)
    assert {name: len(c.error) for name, c in found.items()} == {
        "random": len(RATES),
        "W_O": len(RATES),
        "large, W_O": len(SHARES),
        "rest, W_O": 1,
        "W_O W_V": len(RATES),
        "large, W_O W_V": len(SHARES),
        "rest, W_O W_V": 1,
        "scaled": len(SHARES),
    }
    whole = 0.3 * M / 2
    for name in ("random", "W_O", "large, W_O", "rest, W_O W_V", "scaled"):
        assert found[name].margin[0] == pytest.approx(whole, rel=0.01)  # attention is not quite on matching columns alone
    np.testing.assert_allclose(found["scaled"].margin, found["scaled"].margin[0] * (1 - np.array(SHARES)), rtol=1e-5)
    np.testing.assert_allclose(found["large, W_O"].margin, found["scaled"].margin, atol=0.2 * whole)  # ten random orders
    assert found["random"].loss[-1] > 0.5 > found["random"].loss[0]
    assert pruning_numbers.large_shares([run]) == pruning_numbers.large_shares([run], "W_O W_V") == [1.0]
    other = pruning_numbers.costs(run, alpha=1.0, length=8)
    assert other["W_O"].error[0] == pytest.approx(0.5**8, abs=0.004)  # none matches: what it copies is the other label


def test_the_product_sees_what_the_rows_of_w_o_do_not() -> None:
    weights = copier([0.1] * M)
    weights["layers.0.W_O.weight"][: M // 2, D_X] /= 5
    weights["layers.0.W_O.weight"][: M // 2, 0] = 0.1 * math.sqrt(M)  # as long as the others, along another entry
    weights["layers.0.W_V.weight"][0, 0] = 0.0  # which W_V does not let through
    run = planted(weights=weights)
    model = stored.trained(run)
    assert stored.large(stored.row_norms(model)).all()
    assert stored.large(pruning_numbers.product_norms(model)).tolist() == [False] * (M // 2) + [True] * (M // 2)


def test_luck_counts_the_bounds_that_activity_reaches() -> None:
    found = pruning_numbers.luck(planted())
    assert found.shape == (M,)
    assert set(found.tolist()) <= set(range(len(LUCK) + 1))
    assert ((found == len(LUCK)) == stored.lucky(planted())).all()


# ---------------------------------------------------------------- pruning: claims

HALF = [0.2, 0.2, *[0.001] * 2] * (M // 4)
"""Neurons of which half are large, of both signs alike; the whole margin is 1 and a little more."""


@pytest.mark.parametrize(
    ("id", "good", "bad", "otherwise"),
    [
        ("icl-prune-large-share", HALF, [0.3] * M, NOT_REPRODUCED),
        ("icl-prune-large-share", HALF, [1.0, 1.0, *[0.001] * (M - 2)], NOT_REPRODUCED),
        ("icl-prune-small", HALF, [0.4, 0.4, *[0.15] * (M - 2)], PARTLY),  # the small ones hold the margin, not the sign
        ("icl-prune-random-error", [2.0, 2.0, *[0.0] * (M - 2)], [0.3] * M, NOT_REPRODUCED),  # two neurons do it all
        ("icl-prune-random-loss", [0.25, 0.25, *[0.001] * 2] * (M // 4), [2.0] * M, PARTLY),  # far margins feel nothing
        ("icl-prune-linear", HALF, [0.2] * M, PARTLY),  # a margin of 2: half of the neurons cost nothing
        ("icl-prune-linear", HALF, [1.0] * M, NOT_REPRODUCED),  # a margin of 10
        ("icl-prune-alpha", HALF, [0.0] * M, NOT_REPRODUCED),  # all wrong, whatever α'
        ("icl-prune-product", HALF, [0.3] * M, PARTLY),
    ],
)
def test_pruning_claims_judge(id: str, good: list[float], bad: list[float], otherwise: str) -> None:
    assert status(id, [planted(weights=copier(good))]) == REPRODUCED
    assert status(id, [planted(weights=copier(bad))]) == otherwise


def test_a_seed_outside_the_bounds_is_enough() -> None:
    specs = train_specs("laptop")
    sizes = [0.02, 0.02, 0.001, 0.001] * (specs[0].model.neurons // 4)
    runs = [planted(spec, copier(sizes)) for spec in specs]
    assert status("icl-prune-large-share", runs, "laptop") == REPRODUCED
    runs[3] = planted(specs[3], copier([0.02] * len(sizes)))
    assert status("icl-prune-large-share", runs, "laptop") == NOT_REPRODUCED
    assert status("icl-prune-large-share", runs[1:], "laptop") == NOT_RUN


def test_words_and_figures_of_pruning() -> None:
    angles = {"label angle.1": torch.full((M,), 0.1), "label norm.1": torch.ones(M)}
    runs = [planted(weights=copier(HALF), kept={10: angles, 20: angles})]
    assert "| 0.6 | 0." in pruning_prose.alpha_text(runs)
    assert "0.50 of the neurons" in pruning_prose.free_text(runs, 6)
    assert "can go before" not in pruning_prose.share_text(runs, 6)  # few examples, more errors: a margin below 1
    assert "can go before" in pruning_prose.share_text(runs, 20)
    assert "| rows of W_O | 0.50 |" in pruning_prose.norms_text(runs)
    assert pruning_prose.pruning_table(runs, 6).count("%") == 7
    norms, angle, names = pruning_numbers.luck_groups(runs)
    assert sum(map(len, norms)) == sum(map(len, angle)) == M
    assert len(names) == len(LUCK) + 1
    assert {round(float(v), 6) for group in angle for v in group} == {0.1, 0.9}  # the sign of a turns the angle round
    assert "lucky" in pruning_prose.luck_text(runs)
    drawn_figure(pruning_figures.pruning(pruning_numbers.prunings(runs, 6), 4000))
    drawn_figure(pruning_figures.by_luck(norms, angle, names))


@pytest.mark.parametrize("length", [1, 8, 40])
def test_words_of_pruning_at_other_lengths(length: int) -> None:
    """Of neurons that are all alike, and of one pair that does it all."""
    for sizes in ([0.2] * M, HALF):
        runs = [planted(weights=copier(sizes))]
        said = pruning_prose.share_text(runs, length)
        loss, scaled = (pruning_numbers.over_runs(runs, how, length=length).loss for how in ("large, W_O", "scaled"))
        assert f"by at most {np.abs(loss - scaled).max():.3f}" in said
        assert sizes == HALF or "1.00 of the margin." in said  # all are large: no curve lies lower
        whole = pruning_numbers.over_runs(runs, "W_O", length=length).margin[0, 0]
        assert ("can go before" in said) == (whole > 1)
        assert f"prompts of {length} examples" in pruning_prose.pruning_table(runs, length)
        assert f"l = {length}: " in pruning_prose.pruning_line(runs, length)
        assert pruning_prose.free_text(runs, length).count("Without the others") == 2
        assert "R" in pruning_prose.share_line(runs, length)


def test_a_curve_that_lies_lower_is_said_to() -> None:
    """Rows of W_O that are long for nothing are large by W_O, and not by W_O W_V."""
    weights = copier([0.1] * M)
    weights["layers.0.W_O.weight"][: M // 2, D_X] /= 5
    weights["layers.0.W_O.weight"][: M // 2, 0] = 0.1 * math.sqrt(M)
    weights["layers.0.W_V.weight"][0, 0] = 0.0
    assert "0.83 of the margin, which is why their curve lies lower." in pruning_prose.share_text(
        [planted(weights=weights)], 20
    )


# ---------------------------------------------------------------- three layers

DEEP = deep_specs("smoke")
LAYERS = (1, 2, 3)


def layers(attention: Sequence[Sequence[float]], angle: float, size: float, spec: RunSpec, state: str = "fitted") -> Planted:
    """A deep run: attention of each layer along training, and neurons of one angle whose rows are `size` times the start's."""
    start = [at_rows(spec, k) for k in LAYERS]
    end = {}
    for k, rows in zip(LAYERS, start, strict=True):
        end |= {f"{half} norm.{k}": size * rows[f"{half} norm"] for half in ("feature", "label")}
        end |= {f"label angle.{k}": torch.full_like(rows["label norm"], angle), f"feature angle.{k}": rows["feature angle"]}
    history = {f"attention.{k}": values for k, values in zip(LAYERS, attention, strict=True)}
    losses = {"unseen loss": [1.0, 0.05], "unseen": [0.5, 1.0], "seen loss": [1.0, 0.05]}
    metrics = {"unseen": 1.0, "unseen loss": 0.05}
    return planted(spec, history=history | losses, kept={10: end, 20: end}, status=state, **metrics)


def at_rows(spec: RunSpec, layer: int) -> dict[str, Tensor]:
    """The rows of W_O W_V before training."""
    return {name: v[0] for name, v in neurons(at_start(spec), 6, layer).items()}


def deep_shelf(name: str, run: Planted) -> list[Planted]:
    quiet = [[0.5, 0.5]] * 3
    return [run, *(layers(quiet, 0.5, 1.0, specs[0]) for other, specs in DEEP.items() if other != name)]


def test_attention_at_the_start_is_the_untrained_models() -> None:
    spec = DEEP[NO_SKIP][0]
    run = layers([[0.5, 0.6]] * 3, 0.5, 1.0, spec)
    study, model = make_study(spec), at_start(spec)
    test = study.watched[""]
    asked = model.query_attention(test.prompt[None])
    expected = [float((attention[0] * test.same).sum(-1).mean()) for attention in asked]
    assert stored.start_attention(run) == pytest.approx(expected, rel=1e-5)
    steps, values = deeper_numbers.attention_of([run, run], 2)
    assert steps.tolist() == [0, 10, 20]
    assert values.tolist() == [[pytest.approx(expected[1], rel=1e-5), 0.5, 0.6]] * 2


def test_growth_and_separation_by_hand() -> None:
    spec = DEEP[THEORY][0]
    run = layers([[0.5, 0.5]] * 3, 0.2, 3.0, spec)
    for k in LAYERS:
        np.testing.assert_allclose(deeper_numbers.growth(run, k), 3.0, rtol=1e-5)
        assert deeper_numbers.grown(run, k) == deeper_numbers.separated(run, k) == 1.0
    assert deeper_numbers.separated(layers([[0.5, 0.5]] * 3, 0.26, 1.0, spec), 3) == 0.0
    assert deeper_numbers.grown(layers([[0.5, 0.5]] * 3, 0.26, 1.09, spec), 3) == 0.0


@pytest.mark.parametrize(
    ("id", "name", "attention", "angle", "size", "expected"),
    [
        ("icl-deep-selects", THEORY, (0.95, 0.9, 0.99), 0.5, 1.0, REPRODUCED),
        ("icl-deep-selects", THEORY, (0.4, 0.4, 0.95), 0.5, 1.0, PARTLY),
        ("icl-deep-selects", THEORY, (0.4, 0.4, 0.89), 0.5, 1.0, NOT_REPRODUCED),
        ("icl-deep-selects-variants", NO_SKIP, (0.95, 0.95, 0.95), 0.5, 1.0, REPRODUCED),
        ("icl-deep-selects-variants", NO_SKIP, (0.95, 0.95, 0.85), 0.5, 1.0, PARTLY),
        ("icl-deep-selects-variants", NO_SKIP, (0.1, 0.1, 0.1), 0.5, 1.0, NOT_REPRODUCED),  # below the start, too
        ("icl-deep-separates", THEORY, (0.5, 0.5, 0.5), 0.8, 1.0, REPRODUCED),
        ("icl-deep-separates", THEORY, (0.5, 0.5, 0.5), 0.7, 1.0, NOT_REPRODUCED),
        ("icl-deep-grow", THEORY, (0.5, 0.5, 0.5), 0.5, 1.2, REPRODUCED),
        ("icl-deep-grow", THEORY, (0.5, 0.5, 0.5), 0.5, 1.05, NOT_REPRODUCED),
    ],
)
def test_deep_claims_judge(id: str, name: str, attention: tuple[float, ...], angle: float, size: float, expected: str) -> None:
    run = layers([[0.5, value] for value in attention], angle, size, DEEP[name][0])
    assert status(id, deep_shelf(name, run)) == expected


def test_of_runs_that_diverged_nothing_is_claimed_and_the_rest_is_drawn() -> None:
    lost = layers([[None]] * 3, 0.5, 1.0, DEEP[NO_SKIP][0], "diverged")
    shelf = deep_shelf(NO_SKIP, lost)
    assert status("icl-deep-selects-variants", shelf) == NOT_RUN
    groups = deeper_numbers.deep_runs(Shelf(shelf), "smoke")
    assert "every run diverged" in deeper_prose.attention_line(groups)
    assert "1 of 1 runs diverged" in deeper_prose.attention_table(groups)
    assert "every run diverged" in deeper_prose.learning_line(groups)
    assert NO_SKIP not in deeper_prose.growth_text(groups)
    drawn_figure(deeper_figures.learning(groups))
    drawn_figure(deeper_figures.attention(deeper_numbers.attentions(groups)))
    drawn_figure(deeper_figures.growing(deeper_numbers.growths(groups)))
    drawn_figure(deeper_figures.neurons(deeper_numbers.finals(groups)))
    ends = deeper_numbers.at_ends(groups[THEORY])
    assert list(ends) == ["step 10", "step 20"]
    assert "no sign" not in deeper_prose.signs_text(groups[THEORY])
    assert [name for name, _ in deeper_prose.settings_table("smoke")][-3:] == list(DEEP)


# ---------------------------------------------------------------- one story

STORY = story_specs("laptop")


def told(
    spec: RunSpec, attention: float = 0.8, seen: float = 0.0, unseen: float = 0.0, loss_at: int | None = 1, moved: float = 0.0
) -> Planted:
    """A run of four evaluations: the held-out loss is small from number `loss_at` on."""
    losses = [0.01 if loss_at is not None and i >= loss_at else 1.0 for i in range(4)]
    history = {
        "attention.1": [attention - moved] * 3 + [attention],
        "seen loss": losses,
        "unseen loss": losses,
        "seen": [0.5, 0.5, 0.5, 1 - seen],
        "unseen": [0.5, 0.5, 0.5, 1 - unseen],
    }
    return planted(spec, history=history, seen=1 - seen, unseen=1 - unseen)


def everywhere(**how: float) -> list[Planted]:
    return [told(spec, **how) for specs in STORY.values() for spec in specs]


def at(runs: list[Planted], delta: float | None = None, gamma: float | None = None, **how: float) -> list[Planted]:
    """The same with other runs at one δ, one γ, or one of both."""
    chosen = lambda r: delta in (None, r.spec.model.delta) and gamma in (None, r.spec.gamma)
    return [told(run.spec, **how) if chosen(run) else run for run in runs]


def test_attention_at_the_start_follows_the_softmax() -> None:
    specs = [specs[0] for (_, gamma), specs in STORY.items() if gamma == 0.5]
    found = [stored.start_attention(told(spec))[0] for spec in specs]
    deltas, theory = story_numbers.theory([spec.model.delta for spec in specs])
    assert found == pytest.approx(np.interp([spec.model.delta for spec in specs], deltas, theory).tolist(), abs=0.05)
    assert found == sorted(found)


def test_what_remembering_gives() -> None:
    assert story_numbers.remembering_error() == (0.25, 0.625)  # 6 of 24 reversed, a guess elsewhere
    assert story_numbers.remembering_error(Task(shifts=(1, 5))) == (0.0, 0.5)  # what is reversed is trained, too


def test_excess_where_the_trained_loss_passes_the_level() -> None:
    run = lambda seen, unseen: planted(story_spec(), history={"seen loss": seen, "unseen loss": unseen})
    assert story_numbers.excess(run([0.3, 0.2, 0.0], [0.4, 0.4, 0.2])) == pytest.approx(0.3 - 0.1)  # midway
    assert story_numbers.excess(run([0.3, 0.1, 0.0], [0.4, 0.25, 0.2])) == pytest.approx(0.15)
    assert math.isnan(story_numbers.excess(run([0.3, 0.2], [0.4, 0.4])))
    assert math.isnan(story_numbers.excess(run([0.05, 0.0], [0.4, 0.4])))


def story_spec() -> RunSpec:
    return next(iter(STORY.values()))[0]


def test_errors_on_the_way_at_an_attention() -> None:
    run = planted(story_spec(), history={"attention.1": [0.4, 0.8, 0.9], "unseen": [0.5, 0.75, 1.0]})
    assert story_numbers.error_at(run, 0.75) == 0.25
    assert math.isnan(story_numbers.error_at(run, 0.95))
    assert math.isnan(story_numbers.error_at(run, 0.3))  # there before the first evaluation


def test_story_claims_on_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story_claims, "start_attention", lambda run: (0.9,))
    assert status("story-large-delta-lazy", at(everywhere(), delta=1.0, attention=0.95), "laptop") == REPRODUCED
    assert status("story-large-delta-lazy", at(everywhere(), delta=1.0, attention=0.7), "laptop") == PARTLY
    monkeypatch.setattr(story_claims, "start_attention", lambda run: (0.5,))
    assert status("story-large-delta-lazy", at(everywhere(), delta=1.0, attention=0.9), "laptop") == NOT_REPRODUCED


def test_story_claims_on_steps() -> None:
    falling = everywhere()
    for delta, loss_at in ((0.1, None), (0.2, 2), (0.5, 1), (1.0, 0)):
        falling = at(falling, delta=delta, loss_at=loss_at)
    assert status("story-small-delta-slow", falling, "laptop") == REPRODUCED
    assert status("story-small-delta-slow", everywhere(), "laptop") == NOT_REPRODUCED


def test_story_claims_on_the_gap() -> None:
    runs = at(everywhere(), delta=0.2, gamma=0.1, unseen=0.05)
    assert status("story-gap", runs, "laptop") == REPRODUCED
    one = runs[:]
    place = next(i for i, r in enumerate(one) if (r.spec.model.delta, r.spec.gamma) == (0.2, 0.1))
    one[place] = told(one[place].spec)
    assert status("story-gap", one, "laptop") == NOT_REPRODUCED  # in one seed there is no gap
    one[place] = told(one[place].spec, seen=0.1, unseen=0.1)
    record = BY_ID["story-gap"].evaluate(Shelf(one), "laptop")
    assert (record["status"], record["n_seeds"]) == (REPRODUCED, 4)  # it did not learn, and is left out
    assert status("story-gap", at(runs, delta=0.2, seen=0.1, unseen=0.1), "laptop") == NOT_RUN


def test_story_claims_on_copying() -> None:
    runs = everywhere(attention=0.9)
    low = at(runs, gamma=0.1, attention=0.5, unseen=0.1)
    assert status("story-copy", low, "laptop") == REPRODUCED
    assert status("story-copy", at(runs, gamma=0.1, attention=0.5), "laptop") == NOT_REPRODUCED
    assert status("story-copy", everywhere(seen=0.1), "laptop") == NOT_RUN


def test_words_and_figures_of_the_story() -> None:
    found = story_numbers.story_runs(Shelf(at(everywhere(), gamma=0.1, attention=0.5, unseen=0.01, loss_at=None)), "laptop")
    deltas, gammas = story_numbers.deltas_of(found), story_numbers.gammas_of(found)
    assert story_prose.grid_table(found).count("(5 never)") == len(deltas)
    assert "20 of" not in story_prose.copying_text(found)
    assert "not seen" in story_prose.matched_text(found, 0.2)
    maps = story_numbers.maps_of(found, deltas, gammas)
    assert all(values.shape == (4, 4) for values in maps.values())
    assert np.isnan(maps["excess"][:, 0]).all()
    drawn_figure(story_figures.maps(maps, deltas, gammas))
    drawn_figure(story_figures.along({"some": found[0.2, 0.1]}))
    drawn_figure(story_figures.copying(found, 0.6))
    assert [name for name, _ in story_prose.settings_table("smoke")] == [n for n, _ in story_prose.settings_table("laptop")]


def test_words_where_no_run_learned() -> None:
    found = story_numbers.story_runs(Shelf(everywhere(seen=0.4, unseen=0.4, loss_at=None)), "laptop")
    assert story_prose.remembering_text(found).endswith("No run has learned its own tasks.")
    assert story_prose.copying_text(found) == "Only 0 runs learned their tasks, too few for a correlation."
    assert story_prose.matched_text(found, 0.2).count("not seen") == 4
    assert story_prose.matched_text(found, 0.3).startswith("No run starts from δ = 0.3")
    learned = story_numbers.story_runs(Shelf(everywhere(seen=0.01, unseen=0.03)), "laptop")
    assert story_prose.remembering_text(learned).endswith("any run that learned its own is **0.030**.")


# ---------------------------------------------------------------- the list of claims


def test_claims_have_names_of_their_own_and_say_nothing_without_results() -> None:
    assert not [id for id, count in Counter(c.id for c in (*CHAPTER_14, *CHAPTER_16, *CHAPTER_17)).items() if count > 1]
    for chapter, prefix in ((CHAPTER_14, "icl-prune-"), (CHAPTER_16, "icl-deep-"), (CHAPTER_17, "story-")):
        for claim in chapter:
            assert claim.id.startswith(prefix)
            assert claim.statement.endswith(".")
            assert claim.paper in ("li2024nonlinear", "ours")
            for profile in ("smoke", "laptop"):
                record = claim.evaluate(Shelf([]), profile)
                assert (record["status"], record["n_seeds"]) == (NOT_RUN, 0)


def test_sizes_are_of_the_last_layer() -> None:
    model = at_start(one_layer("icl-deep", SETTINGS["smoke"], 0, depth=2))
    model.layers[-1].W_O.weight.zero_()
    for size in pruning_numbers.SIZES.values():
        assert size(model).tolist() == [0.0] * M
