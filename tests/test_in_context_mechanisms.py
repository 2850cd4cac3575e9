"""Pruning, three layers, and the story of copying: on models and runs that are planted every number can be worked out."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import Shelf
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from test_in_context_claims import bars_are_said, judged
from torch import Tensor

from lib.core.read.claim import NOT_REPRODUCED, NOT_RUN, PARTLY, REPRODUCED
from lib.core.record.spec import RunSpec
from lib.core.record.start import at_start
from lib.core.record.store import StoredRun
from lib.in_context import runs as stored
from lib.in_context.deeper import figures as deeper_figures
from lib.in_context.deeper import metrics as deeper_numbers
from lib.in_context.deeper import prose as deeper_prose
from lib.in_context.deeper.claims import CLAIMS as CHAPTER_16
from lib.in_context.deeper.metrics import NO_SKIP, THEORY
from lib.in_context.experiments import (
    STORY_GAMMAS,
    deep_trial_specs,
    story_specs,
    train_specs,
    wide_specs,
)
from lib.in_context.models import signs
from lib.in_context.pruning import figures as pruning_figures
from lib.in_context.pruning import metrics as pruning_numbers
from lib.in_context.pruning.claims import CLAIMS as CHAPTER_14
from lib.in_context.pruning.metrics import FIG14, LUCK, RATES, SHARES, Cost, cost, kept
from lib.in_context.story import claims as story_claims
from lib.in_context.story import figures as story_figures
from lib.in_context.story import metrics as story_numbers
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


def copier(sizes: Sequence[float], sharp: float = 4.0) -> dict[str, Tensor]:
    """Weights of a model that copies the label of matching examples: neuron i adds sizes[i] to the margin of prompts whose
    label has its sign, and nothing to others. With less `sharp` attention it copies others' labels as well. Main runs' entries
    of a are of size 2 / m."""
    layer = "layers.0."
    rows = torch.zeros(len(sizes), D)
    rows[:, D_X] = signs(len(sizes)) * torch.tensor(sizes) * len(sizes) / 2
    return {
        f"{layer}attention.W_Q.weight": sharp * torch.eye(D),
        f"{layer}attention.W_K.weight": sharp * torch.eye(D),
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
        "magnitude": len(RATES),
        "large": len(SHARES),
        "rest": 1,
        "scaled": len(SHARES),
    }
    whole = 0.3 * M / 2
    for name in found:
        assert found[name].margin[0] == pytest.approx(whole, rel=0.01)  # attention is not quite on matching columns alone
    np.testing.assert_allclose(found["scaled"].margin, found["scaled"].margin[0] * (1 - np.array(SHARES)), rtol=1e-5)
    np.testing.assert_allclose(found["large"].margin, found["scaled"].margin, atol=0.2 * whole)  # ten random orders
    assert found["random"].loss[-1] > 0.5 > found["random"].loss[0]
    assert pruning_numbers.large_shares([run]) == [1.0]
    other = pruning_numbers.costs(run, alpha=1.0, length=8)
    assert other["magnitude"].error[0] == pytest.approx(0.5**8, abs=0.004)  # none matches: what it copies is the other label


def test_the_smallest_rows_go_first() -> None:
    """Half of the neurons do next to nothing: they may go, in any number, and of the others a share R takes R of the margin."""
    runs = [planted(weights=copier(HALF))]
    found = pruning_numbers.costs(runs[0])
    half = RATES.index(0.5)
    np.testing.assert_allclose(found["magnitude"].margin[: half + 1], found["magnitude"].margin[0], rtol=0.02)
    assert found["magnitude"].margin[half + 2] < 0.9 * found["magnitude"].margin[0]
    np.testing.assert_allclose(found["random"].margin, found["magnitude"].margin[0] * (1 - np.array(RATES)), atol=0.2)
    assert found["rest"].margin[0] == pytest.approx(found["magnitude"].margin[half])
    np.testing.assert_allclose(found["large"].margin / found["large"].margin[0], 1 - np.array(SHARES), atol=0.15)
    ordered, random = pruning_numbers.at_rate(runs, 0.5)
    assert (ordered.margin, random.margin) == (found["magnitude"].margin[half], found["random"].margin[half])
    by = pruning_numbers.by_alpha(runs, 8)
    assert by[0.6].margin[0].tolist() == pruning_numbers.costs(runs[0], alpha=0.6, length=8)["magnitude"].margin.tolist()
    assert list(by) == [0.6, 0.8, 1.0]


def test_norms_before_training_are_those_of_the_start() -> None:
    found = pruning_numbers.norms_of([planted(weights=copier(HALF))])
    np.testing.assert_allclose(found.after[0], np.abs(HALF) * M / 2, rtol=1e-6)
    np.testing.assert_allclose(found.before[0], stored.row_norms(at_start(ONE)))
    assert found.bounds.tolist() == pytest.approx([0.1 * M / 2])


def test_luck_counts_the_bounds_that_activity_reaches() -> None:
    found = pruning_numbers.luck(planted())
    assert found.shape == (M,)
    assert set(found.tolist()) <= set(range(len(LUCK) + 1))
    assert ((found == len(LUCK)) == stored.lucky(planted(), LUCK[-1])).all()


# ---------------------------------------------------------------- pruning: claims

HALF = [0.2, 0.2, *[0.001] * 2] * (M // 4)
"""Neurons of which half are large, of both signs alike; the whole margin is 1 and a little more."""


MANY = [0.3] * (M - 3) + [0.01] * 3
"""About as many are large as in the talk: of its neurons 83 %."""
WRONG, LOSS = "rise of the share of wrong signs", "rise of the hinge loss"
ABOVE, FLAT = "hinge loss, random less magnitude, lowest seed", "by magnitude, farthest from unpruned"
RISE, STRAIGHT = "rise of the mean hinge loss over R, the least", "its correlation with R"
TOGETHER, ORDERED = "unpruned, range of mean hinge losses over α'", "pruned, mean step from one α' to the next, the least"
STEPS, PARTED = "pruned less unpruned step, lowest seed", "pruned, the first above the last by"


def failed(id: str, runs: Iterable[StoredRun], profile: str = "smoke") -> list[str]:
    """The parts that fail; none where the claim is reproduced."""
    found = judged(BY_ID[id], runs, profile)
    bars_are_said(found)
    return found["failed"]


@pytest.mark.parametrize(
    ("id", "sizes", "expected"),
    [
        ("icl-prune-large-share", HALF, []),
        ("icl-prune-large-share", MANY, []),
        ("icl-prune-large-share", [0.3] * M, ["the same, highest seed"]),
        ("icl-prune-large-share", [1.0, 1.0, *[0.001] * (M - 2)], ["share of large neurons, lowest seed"]),
        ("icl-prune-small", HALF, []),
        ("icl-prune-small", [0.3] * M, ["share of small neurons, lowest seed"]),
        ("icl-prune-small", [0.4, 0.4, *[0.15] * (M - 2)], [LOSS]),  # the small ones hold the margin, not the sign
        ("icl-prune-small", [0.2, -0.2, *[0.05] * (M - 2)], [WRONG, LOSS]),  # they hold the sign of one half of the answers
        ("icl-prune-random-error", [2.0, 2.0, *[0.0] * (M - 2)], []),  # two neurons do it all
        ("icl-prune-random-error", [0.3] * M, ["share of wrong signs, random less magnitude"]),
        ("icl-prune-random-loss", HALF, []),
        ("icl-prune-random-loss", [-size for size in HALF], [ABOVE]),  # large neurons do harm
        ("icl-prune-random-loss", [0.15, 0.15, 0.05, 0.05] * (M // 4), [FLAT]),
        ("icl-prune-random-loss", [0.1] * M, [ABOVE, FLAT]),
        ("icl-prune-linear", HALF, []),
        ("icl-prune-linear", [0.2] * M, [RISE]),  # a margin of 2: half of the neurons cost nothing
        ("icl-prune-linear", [1.0] * M, [RISE, STRAIGHT]),  # a margin of 10
    ],
)
def test_pruning_claims_judge(id: str, sizes: list[float], expected: list[str]) -> None:
    assert failed(id, [planted(weights=copier(sizes))]) == expected


@pytest.mark.parametrize(
    ("size", "sharp", "expected"),
    [
        (0.15, 0.9, []),  # a margin of 1.5, where all matches count
        (0.0, 0.9, [ORDERED, STEPS, PARTED]),  # all wrong, whatever α'
        (0.5, 0.9, [ORDERED, STEPS, PARTED]),  # a margin of 5: the loss feels nothing
        (0.05, 0.9, [TOGETHER, STEPS]),  # one of .5, so that the loss feels every example from the start
        (-0.15, 0.9, [TOGETHER, ORDERED, STEPS, PARTED]),  # the more matches the worse
        (0.15, 1.2, [PARTED]),  # in order, but they stay together
    ],
)
def test_order_by_alpha(size: float, sharp: float, expected: list[str]) -> None:
    assert failed("icl-prune-alpha", [planted(weights=copier([size] * M, sharp))]) == expected


def test_a_seed_outside_the_bounds_is_enough() -> None:
    specs = train_specs("laptop")
    sizes = [0.02, 0.02, 0.001, 0.001] * (specs[0].model.neurons // 4)
    runs = [planted(spec, copier(sizes)) for spec in specs]
    assert failed("icl-prune-large-share", runs, "laptop") == []
    runs[3] = planted(specs[3], copier([0.02] * len(sizes)))
    assert failed("icl-prune-large-share", runs, "laptop") == ["the same, highest seed"]
    assert status("icl-prune-large-share", runs[1:], "laptop") == NOT_RUN


def test_facts_of_pruning_by_hand() -> None:
    """A margin of 1 and a little, of which half of the neurons hold all; few prompts show no match, and are wrong."""
    run = planted(weights=copier(HALF))
    said = {name: fact.text for name, fact in pruning_numbers.facts([run]).items()}
    expected = {"neurons": "20", "small": "50%", "free": "0.0000", "margin": "1.00", "half-margin": "0.50", "half-loss": "0.50"}
    assert said | expected | {"prompts": "4,000", "ordered-40": said["ordered-20"]} == said
    group, big = pruning_numbers.luck(run), np.array(HALF) > 0.1
    for name, i in (("unlucky-large", 0), ("luckiest-large", len(LUCK))):
        assert said[name] == f"{big[group == i].mean():.0%}"
    costs = pruning_numbers.costs(run, alpha=FIG14)
    for name, how in (("ordered", "magnitude"), ("random", "random")):
        assert said[f"{name}-40"] == f"{costs[how].loss[RATES.index(0.4)]:.3f}"
    assert int(said["whole-wrong"]) == round(4000 * costs["magnitude"].error[0])


def test_figures_of_pruning() -> None:
    """Those of both orders at the α' of the talk's figure."""
    angles = {"label angle.1": torch.full((M,), 0.1), "label norm.1": torch.ones(M)}
    runs = [planted(weights=copier(HALF), kept={10: angles, 20: angles})]
    norms, angle, names = pruning_numbers.luck_groups(runs)
    assert sum(map(len, norms)) == sum(map(len, angle)) == M
    assert len(names) == len(LUCK) + 1
    assert {round(float(v), 6) for group in angle for v in group} == {0.1, 0.9}  # the sign of a turns the angle round
    both, pruned = pruning_numbers.norms_of(runs), pruning_numbers.prunings(runs, 6)
    for how, found in pruned.items():
        assert found.loss[0].tolist() == pruning_numbers.costs(runs[0], alpha=FIG14, length=6)[how].loss.tolist()
    drawn_figure(pruning_figures.sorted_norms(both, both))
    drawn_figure(pruning_figures.pruning(pruned))
    drawn_figure(pruning_figures.share_of_large(*(pruning_numbers.over_runs(runs, how) for how in ("large", "scaled"))))
    drawn_figure(pruning_figures.by_luck(norms, angle, names))


def test_counts_and_small_numbers_are_said_in_words() -> None:
    assert stored.counted([0.0, 0.0], 4000) == "none of 8,000"
    assert stored.counted([0.0, 0.00025], 4000) == "1 of 8,000"
    assert (stored.small([0.0, 0.0], 3), stored.small([0.0, 0.0004], 3)) == ("0", "< 0.001")
    assert (stored.small([0.0006], 3), stored.small([-0.5, -0.5])) == ("0.001", "−0.50")


# ---------------------------------------------------------------- three layers

DEEP = deeper_numbers.specs_of("smoke")
ADAMW = deeper_numbers.NAMES["stacked, AdamW"]
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
        ("icl-deep-selects", NO_SKIP, (0.95, 0.75, 0.8), 0.5, 1.0, REPRODUCED),
        ("icl-deep-selects", NO_SKIP, (0.95, 0.74, 0.8), 0.5, 1.0, PARTLY),
        ("icl-deep-selects", NO_SKIP, (0.5, 0.5, 0.5), 0.5, 1.0, PARTLY),  # it rises
        ("icl-deep-selects", NO_SKIP, (0.95, 0.8, 0.77), 0.5, 1.0, PARTLY),  # in layer 3 it was there from the start
        ("icl-deep-selects", NO_SKIP, (0.95, 0.8, 0.79), 0.5, 1.0, PARTLY),  # though it rises a little
        ("icl-deep-selects", NO_SKIP, (0.1, 0.1, 0.1), 0.5, 1.0, NOT_REPRODUCED),
        ("icl-deep-separates", THEORY, (0.5, 0.5, 0.5), 0.8, 1.0, REPRODUCED),
        ("icl-deep-separates", THEORY, (0.5, 0.5, 0.5), 0.7, 1.0, NOT_REPRODUCED),
        ("icl-deep-grow", THEORY, (0.5, 0.5, 0.5), 0.5, 1.2, REPRODUCED),
        ("icl-deep-grow", THEORY, (0.5, 0.5, 0.5), 0.5, 1.05, NOT_REPRODUCED),
    ],
)
def test_deep_claims_judge(
    monkeypatch: pytest.MonkeyPatch, id: str, name: str, attention: tuple[float, ...], angle: float, size: float, expected: str
) -> None:
    start = 0.78 if attention[-1] in (0.77, 0.79) else 0.3
    monkeypatch.setattr(deeper_numbers, "start_attention", lambda run: (0.4, 0.4, start))
    run = layers([[0.5, value] for value in attention], angle, size, DEEP[name][0])
    assert status(id, deep_shelf(name, run)) == expected


def test_of_runs_that_diverged_nothing_is_claimed_and_the_rest_is_drawn() -> None:
    lost = layers([[None]] * 3, 0.5, 1.0, DEEP[NO_SKIP][0], "diverged")
    shelf = deep_shelf(NO_SKIP, lost)
    assert status("icl-deep-selects", shelf) == NOT_RUN
    groups = deeper_numbers.deep_runs(Shelf(shelf), "smoke")
    assert "every run diverged" in deeper_prose.attention_line(groups)
    assert "1 of 1 runs diverged" in deeper_prose.attention_table(groups)
    assert "every run diverged" in deeper_prose.learning_line(groups)
    assert NO_SKIP not in deeper_prose.growth_text(groups)
    drawn_figure(deeper_figures.learning(groups))
    drawn_figure(deeper_figures.attention(deeper_numbers.attentions(groups)))
    drawn_figure(deeper_figures.growing(deeper_numbers.growths(groups)))
    turned = deeper_numbers.turned(groups)
    assert [len(turned[name]) for name in (NO_SKIP, THEORY)] == [0, 3]
    drawn_figure(deeper_figures.angles(turned))
    verdict = deeper_prose.verdict(groups)
    assert verdict.startswith(
        "Three layers do not always learn the rule, and in no version does every layer do what one does: select the "
        "examples with "
        "the query's pattern, separate by label, and grow. No layer selects with *residual stream, SGD* and "
        "*residual stream, AdamW*.\n\n|"
    )
    assert f"| {NO_SKIP} | every run diverged | every run diverged | every run diverged |" in verdict
    assert NO_SKIP not in verdict.split("|")[0]
    assert deeper_prose.lower_text([lost]) == "No run can be looked at: all diverged."
    assert deeper_prose.judged_text(groups).startswith("No version shows selecting, separating and growing in every layer.")
    gone = {name: [replace(run, status="diverged") for run in runs] for name, runs in groups.items()}
    assert deeper_prose.verdict(gone).startswith("Three layers do not always learn the rule, and in no version ")
    assert deeper_prose.conclusion(gone).startswith(f"All runs of *{THEORY}* diverged")
    assert deeper_prose.separation_text(gone) == f"Of *{THEORY}* nothing can be said: all runs diverged."
    assert [name for name, _ in deeper_prose.settings_table("smoke")][-3:] == list(DEEP)


def test_the_verdict_names_the_layers_that_select_and_separate() -> None:
    runs = [
        layers([[0.5, value] for value in (0.75, 0.74, 0.9)], 0.1, 1.0, DEEP[NO_SKIP][0]),
        layers([[0.5, 0.8]] * 3, 0.5, 1.0, DEEP[THEORY][0]),
        layers([[0.5, value] for value in (0.1, 0.2, 0.8)], 0.5, 1.0, DEEP[ADAMW][0]),
    ]
    angles = runs[2].kept[20]
    angles["label angle.2"] = torch.full_like(angles["label angle.2"], 0.76)
    verdict = lambda: deeper_prose.verdict(deeper_numbers.deep_runs(Shelf(runs), "smoke"))
    said = verdict()
    assert said.startswith(
        "Three layers learn the rule in every version, and in no version does every layer do what one does: select the "
        "examples "
        f"with the query's pattern, separate by label, and grow. Layers 1 and 3 alone select with *{NO_SKIP}*; all layers "
        f"with *{THEORY}*; layer 3 alone with *{ADAMW}*.\n\n|"
    )
    groups = deeper_numbers.deep_runs(Shelf(runs), "smoke")
    assert deeper_prose.separation_text(groups).startswith(
        f"All layers separate with *{NO_SKIP}*; no layer with *{THEORY}*; layer 2 alone with *{ADAMW}*. "
    )
    assert deeper_prose.growth_text(groups).startswith(f"No layer grows with *{NO_SKIP}*, *{THEORY}* and *{ADAMW}*. Share")
    assert deeper_prose.conclusion(groups).startswith(
        "What one layer does, the last of three does not do in full, where blocks"
    )
    assert "divide the work otherwise, and the rule is found by them as well." in deeper_prose.conclusion(groups)
    rows = {row.split("|")[1].strip(): [cell.strip() for cell in row.split("|")[2:-1]] for row in said.splitlines()[4:]}
    assert rows == {
        NO_SKIP: ["layers 1, 3", "all 3", "none"],
        THEORY: ["all 3", "none", "none"],
        ADAMW: ["layer 3", "layer 2", "none"],
        "*in the talk*": ["all 3", "layer 1", "neurons grow"],
    }
    runs[1] = layers([[0.5, 0.8]] * 3, 0.9, 1.2, DEEP[THEORY][0])
    runs[2] = replace(runs[2], metrics=runs[2].metrics | {"unseen": 0.98})
    assert verdict().startswith(
        f"Three layers do not always learn the rule, and every layer does what one does with *{THEORY}*: select"
    )
    assert deeper_prose.conclusion(deeper_numbers.deep_runs(Shelf(runs), "smoke")).startswith(
        "What one layer does, the last of three does, and lower ones do some of it, where blocks"
    )
    judged_on = deeper_prose.judged_text(deeper_numbers.deep_runs(Shelf(runs), "smoke"))
    assert judged_on.startswith(f"With *{THEORY}* the model would show selecting, separating and growing in every layer.")


def test_which_version_a_claim_is_judged_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another version grows, and where a layer selects before training."""
    monkeypatch.setattr(deeper_numbers, "start_attention", lambda run: (0.8, 0.4, 0.4))
    runs = [layers([[0.5, 0.8]] * 3, 0.5, 1.2 if "AdamW" in name else 1.0, specs[0]) for name, specs in DEEP.items()]
    said = deeper_prose.judged_text(deeper_numbers.deep_runs(Shelf(runs), "smoke"))
    assert f"Growing would hold in every layer with *{ADAMW}*, which it is not judged on." in said
    assert said.endswith(f"With *{NO_SKIP}* layer 1 (0.80) selects before training already, by our line of 0.75.")


def test_what_becomes_of_lower_layers() -> None:
    said = lambda angle, size: deeper_prose.lower_text([layers([[0.5, 0.5]] * 3, angle, size, DEEP[THEORY][0])])
    assert said(0.5, 1.02) == "Below it rows have hardly grown; they lean towards q and −q no more than before training."
    assert said(0.9, 1.5) == "Below it rows have grown; they lean towards q and −q a little more than before training."


def test_where_large_neurons_point_by_hand() -> None:
    """The share near q or −q is the large rows' alone, and the start is there beside the end."""
    spec = DEEP[THEORY][0]
    turned = deeper_numbers.turned({"one": [layers([[0.5, 0.5]] * 3, 0.2, 3.0, spec)]})["one"]
    for found, k in zip(turned, LAYERS, strict=True):
        np.testing.assert_allclose(found.after, 0.2, rtol=1e-6)
        np.testing.assert_allclose(found.before, at_rows(spec, k)["label angle"], rtol=1e-6)
        assert found.near == 1.0
        assert found.long.any()
        assert found.positive.mean() == 0.5


def test_words_on_trials_without_a_residual_stream() -> None:
    specs = deep_trial_specs("laptop")
    of = lambda *losses: {
        gamma: planted(spec, **{"unseen loss": loss}) for (gamma, spec), loss in zip(specs.items(), losses, strict=True)
    }
    shelf = Shelf(of(1.0, 0.99, None, 1e6).values())
    found = deeper_numbers.trial_runs(shelf, "laptop")
    said = deeper_prose.trials_text(found)
    assert "attentions of 0.53, 0.43, 0.43. Ours begin near that at δ = 0.35, but from there they did not learn (one" in said
    rows = said.splitlines()[-4:]
    assert [row.split("|")[-2].strip() for row in rows] == ["1.00", "0.99", "diverged", "diverged"]
    first = ", ".join(f"{v:.2f}" for v in stored.start_attention(found[0.2]))
    assert rows[0].startswith(f"| 0.2 | {first} | ")
    assert "did not learn" not in deeper_prose.trials_text(of(1.0, 0.05, None, 1.0))
    trained = [found[0.2]]
    assert deeper_prose.trials_text(found, trained).splitlines()[-1] == (
        "So the version above starts from δ = 0.35, with attentions of " + first + "."
    )
    assert "So the version" not in deeper_prose.trials_text(of(1.0, 0.05, None, 1.0), trained)


# ---------------------------------------------------------------- one story

STORY, WIDE = story_specs("laptop"), story_specs("laptop", wide=True)
LEAST = STORY_GAMMAS[0]
"""The γ of the largest start of W_O with the small readout."""


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


def everywhere(wide: bool = False, **how: float) -> list[Planted]:
    return [told(spec, **how) for specs in (WIDE if wide else STORY).values() for spec in specs]


def at(runs: list[Planted], delta: float | None = None, gamma: float | None = None, **how: float) -> list[Planted]:
    """The same with other runs at one δ, one γ, or one of both."""
    chosen = lambda r: delta in (None, r.spec.model.delta) and gamma in (None, r.spec.gamma)
    return [told(run.spec, **how) if chosen(run) else run for run in runs]


def test_attention_at_the_start_follows_the_softmax() -> None:
    specs = [specs[0] for (_, gamma), specs in STORY.items() if gamma == story_numbers.MAIN_GAMMA]
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
    runs = at(everywhere(wide=True), delta=0.2, gamma=0.1, unseen=0.05)
    assert status("story-gap", everywhere(), "laptop") == NOT_RUN  # with the small readout it is not asked
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
    runs = everywhere(wide=True, attention=0.9)
    low = at(runs, gamma=0.1, attention=0.5, unseen=0.1)
    assert status("story-copy", low, "laptop") == REPRODUCED
    assert status("story-copy", at(runs, gamma=0.1, attention=0.5), "laptop") == NOT_REPRODUCED
    assert status("story-copy", everywhere(wide=True, seen=0.1), "laptop") == NOT_RUN


def test_with_a_small_readout_everyone_copies() -> None:
    """Of 80 runs: all that learned, and 72 learned."""

    def at_these(unseen: float, lost: int) -> str:
        runs = everywhere(unseen=0.0099)
        runs = [told(r.spec, seen=0.3, unseen=0.5) if i < lost else r for i, r in enumerate(runs)]
        runs[-1] = told(runs[-1].spec, unseen=unseen)
        return status("story-copies", runs, "laptop")

    assert len(everywhere()) == 80
    assert at_these(0.0099, 8) == REPRODUCED
    assert at_these(0.011, 8) == at_these(0.0099, 9) == PARTLY
    assert at_these(0.011, 9) == NOT_REPRODUCED
    assert status("story-copies", everywhere(seen=0.3), "laptop") == NOT_RUN


def grid(*runs: Planted) -> dict[tuple[float, float], list[Planted]]:
    return {(0.2, 0.5): list(runs)}


def test_the_verdict_of_the_story() -> None:
    said = lambda small, wide: story_prose.verdict(grid(*small), grid(*wide))
    spec = story_spec()
    good, lost, worse = told(spec, unseen=0.002), told(spec, seen=0.4, unseen=0.6), told(spec, unseen=0.05)
    copies = (
        "Started small or large, the model copies from the prompt in all 1 runs that learned their tasks, and remembers in "
        "none."
    )
    assert said([good, lost], [good]) == f"{copies} {story_prose.WIDE} it is no different."
    assert said([good], [lost]).endswith(f"{story_prose.WIDE} no run learned its tasks.")
    trace = f"{story_prose.WIDE} up to 5.0% of the answers on other tasks are wrong"
    assert said([good], [good, worse, lost]).endswith(f"{trace}: a trace of something else.")
    learning = told(spec, unseen=0.05, moved=0.1)
    assert story_numbers.rising(learning) == pytest.approx(0.1)
    still = f"{trace}, where attention was still rising when training ended."
    assert said([good], [good, learning]).endswith(still)
    assert said([good], [worse, learning]).endswith("a trace of something else.")  # one was done
    assert said([good, worse], [worse]).startswith("Started small or large, the model does not always copy from the prompt.")
    assert "trace" not in said([good, worse], [worse])
    assert said([lost], [good]) == "No run learned its six tasks, so nothing can be said of copying."


def test_the_conclusion_of_the_story() -> None:
    """Where δ decides how long it takes, and where it does not; where all copy, and where some do not."""
    slow = {0.1: None, 0.2: 2, 0.5: 1, 1.0: 0}
    falling = everywhere()
    for delta, loss_at in slow.items():
        falling = at(falling, delta=delta, loss_at=loss_at)
    of = lambda runs: story_prose.conclusion(story_numbers.story_runs(Shelf(runs), "laptop"), {})
    assert of(falling).startswith("A start changes how long learning takes; not which solution is found. That is known of six ")
    rising = everywhere()
    for delta, loss_at in zip(slow, reversed(slow.values()), strict=True):
        rising = at(rising, delta=delta, loss_at=loss_at)
    assert of(rising).startswith("A start does not change in one direction how long learning takes; not which")
    assert "and in some runs what is found." in of(everywhere(unseen=0.05))
    assert of(everywhere(seen=0.4)) == "Whether a start decides between copying and remembering was not seen."


def test_larger_starts_are_behind_where_they_are() -> None:
    of = lambda *means: {float(i): np.array([m, m]) for i, m in enumerate(means) if m is not None}
    behind = "Starts of $W_O$ with γ ≤ 1 are farther behind than those with γ ≥ 2."
    assert story_prose._behind([of(0.2, 0.3, 0.1, 0.15), of(0.1, 0.02, None, 0.01)]) == behind
    mixed = [of(0.2, 0.3, 0.1, 0.15), of(0.1, 0.02, 0.05, 0.01)]
    assert story_prose._behind(mixed) == "Larger starts of $W_O$ are not farther behind throughout."
    assert story_prose._behind([of(0.2)]) == ""
    assert story_numbers.at_most([0.0, 0.0]) == "none"
    assert story_numbers.at_most([0.0, 0.0002]) == "fewer than 1 in 2,000"
    assert story_numbers.at_most([0.021, 0.0]) == "at most 2.1%"


def test_two_starts_are_compared_beside_the_talk() -> None:
    """One run each: of the first all rows are large, of the second half of them."""
    runs = []
    for spec, sizes in ((train_specs("smoke")[0], [0.3] * M), (wide_specs("smoke")[0], HALF)):
        rows = torch.tensor(sizes) * M / 2
        kept = {"feature norm.1": rows, "label norm.1": 2 * rows, "row norm.1": rows}
        history = {"attention.1": [0.5, 0.9]}
        runs.append(planted(spec, copier(sizes), history, {10: kept, 20: kept}, unseen=0.75, seen=1.0))
    found = story_numbers.starts_compared(Shelf(runs), "smoke")
    assert list(found) == ["small", "1 / √m"]
    assert found["small"].keys() == found["1 / √m"].keys()
    assert found["1 / √m"]["large rows of W_O, at the end"].tolist() == pytest.approx([2.0])
    table = story_prose.starts_table(found).splitlines()
    assert table[0] == "|  | talk | start: small | start: 1 / √m |"
    assert "| wrong on unseen tasks |  | 0.250 | 0.250 |" in table
    assert "| small rows of $W_O$, at the end | 0.14 to 0.18 | none | 0.010 |" in table
    assert "| label halves of large rows of $W_O W_V$, at the end | 1 to 1.3 | 6.000 | 4.000 |" in table
    ordered, random = (pruning_numbers.at_rate([runs[1]], 0.2)[i].loss[0] for i in (0, 1))
    assert table[-2].endswith(f" | {f'{ordered:.3f}' if ordered else 'none'} |")
    assert table[-1].startswith("| hinge loss, 20% pruned at random |")
    assert table[-1].endswith(f" | {random:.3f} |")
    assert not any("at the start" in row for row in table)


def test_words_and_figures_of_the_story() -> None:
    found = story_numbers.story_runs(Shelf(at(everywhere(), gamma=LEAST, attention=0.5, unseen=0.01, loss_at=None)), "laptop")
    deltas, gammas = story_numbers.deltas_of(found), story_numbers.gammas_of(found)
    assert "20 of" not in story_prose.copying_text(found)
    assert "| small | 0.15 | 0.1 | not seen |" in story_prose.matched_text({"small": found}, 0.2)
    assert "at most 1.0%; their attention ends at 0.50 to 0.80" in story_prose.maps_text(found)
    assert story_prose.maps_text(found).startswith("Not every model copies. ")  # 1 − .99 is a little more than .01
    assert story_prose.maps_text(story_numbers.story_runs(Shelf(everywhere()), "laptop")).startswith("**No model remembers.** ")
    maps = story_numbers.maps_of(found, deltas, gammas)
    assert all(values.shape == (4, 4) for values in maps.values())
    assert np.isnan(maps["excess"][:, 0]).all()
    drawn_figure(story_figures.maps(maps, deltas, gammas))
    drawn_figure(story_figures.along({"some": found[0.2, LEAST]}))
    drawn_figure(story_figures.copying(found, 0.6))
    small, wide = (dict(story_prose.settings_table("laptop", large)) for large in (False, True))
    assert small.keys() == wide.keys() == dict(story_prose.settings_table("smoke")).keys()
    assert (small["neurons, size of a"], wide["neurons, size of a"]) == ("64, 0.0312", "200, 0.0707")
    assert small["γ (learning rate)"].endswith("0.94 (1.9)")
    assert wide["γ (learning rate)"].endswith("0.5 (0.3), 0.7 (0.3)")


def test_words_where_no_run_learned() -> None:
    found = story_numbers.story_runs(Shelf(everywhere(seen=0.4, unseen=0.4, loss_at=None)), "laptop")
    assert story_prose.copying_text(found) == "Only 0 runs learned their tasks, too few for a correlation."
    assert story_prose.matched_text({"small": found}, 0.2).count("not seen") == 4
    assert story_prose.matched_text({"small": found}, 0.3).startswith("No run starts from δ = 0.3")
    assert story_prose.maps_text(found) == "No run learned its six tasks."
    learned = story_numbers.story_runs(Shelf(everywhere(seen=0.01, unseen=0.03)), "laptop")
    assert "Their errors on unseen ones: at most 3.0%;" in story_prose.maps_text(learned)
    assert story_prose.maps_text(learned).startswith("Not every model copies.")


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
