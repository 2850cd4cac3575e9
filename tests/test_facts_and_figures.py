"""Facts of chapters 6 to 8, rows and figures: on planted results every number and every mark can be known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from conftest import planted, table
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from planted import Shelf
from test_analysis import make_run
from test_claims_of_mechanisms import flat, one_factor, turning

from lib.book import engine
from lib.composition import controls, palette
from lib.composition.condensation import figures as condensation_figures
from lib.composition.flip import CONFIRM
from lib.composition.gpt2 import figures as gpt2_figures
from lib.composition.gpt2 import metrics as gpt2
from lib.composition.information_flow import figures as flow_figures
from lib.composition.information_flow.metrics import BOTH, EDGES, GROUPS, KEY_FIRST, ORDERED, PAIR_FIRST, ROLES, columns
from lib.composition.rate_decay_data import figures as rate_decay_figures
from lib.composition.rate_decay_data import metrics as rate_decay
from lib.composition.trends import BY_DECAY, BY_GAMMA, BY_RATE
from lib.composition.variations import FACTORS, factor_specs
from lib.composition.vectors import figures as vectors_figures
from lib.composition.vectors.metrics import Nearest, Similarity
from lib.composition.width import figures as width_figures
from lib.composition.width import metrics as width
from lib.core.read import style
from lib.core.read.fact import ABSENT
from lib.core.record.store import StoredRun

# --- Chapter 6 ---


def rates_and_decays(rank: Callable[[float, float], float], inferential: float = 0.0) -> list[StoredRun]:
    runs = []
    for rate, decay, seed in product((1e-3, 2e-3, 3e-3), (0.01, 0.1, 1.0), range(2)):
        run = make_run(rate=rate, seed=seed, inferential=inferential)
        history = {"rank W_Q(1)": [1.0, rank(rate, decay)]}
        runs.append(replace(run, spec=replace(run.spec, decay=decay), history=history))
    return runs


def over_numbers(shares: Callable[[int, float], tuple[float, float]]) -> list[StoredRun]:
    """30 and 80 numbers, γ .5 and .8, six seeds. shares: (numbers, γ) → symmetric and inferential share."""
    runs = []
    for k, gamma, seed in product((30, 80), (0.5, 0.8), range(6)):
        run = make_run(gamma=gamma, seed=seed, symmetric=shares(k, gamma)[0], inferential=shares(k, gamma)[1])
        runs.append(replace(run, spec=replace(run.spec, task=(("keys", k),))))
    return runs


def wider(runs: list[StoredRun]) -> list[StoredRun]:
    """The runs with 30 numbers, at twice the width."""
    model = lambda run: replace(run.spec.model, d_model=2 * run.spec.model.d_model)
    return [replace(r, spec=replace(r.spec, model=model(r))) for r in rate_decay.with_fewest(runs)]


def test_facts_of_chapter_6_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_decay, "exact_above", lambda run: 1.0)
    runs = rates_and_decays(lambda rate, decay: -decay)
    rising = [replace(r, metrics=r.metrics | {"inferential": 100 * r.spec.rate}) for r in runs]
    turning = over_numbers(lambda k, gamma: (0.0, 0.9) if (k, gamma) == (30, 0.8) else (0.9, 0.0))
    one = over_numbers(lambda k, gamma: (0.3, 0.8) if k == 30 else (0.9, 0.0))
    steps = {0.5: np.array([[1.0, 3.0], [3.0, 5.0], [np.inf, 7.0]]), 0.8: np.array([[2.0, 2.0], [4.0, 4.0], [np.inf, np.inf]])}
    said = {name: fact.text for name, fact in rate_decay.facts(rising, runs, turning, wider(one), steps).items()}
    assert said["rate"].startswith("+1.00 (+1.00")
    assert said["decay"].startswith("+0.00 (")
    assert said["rank"].startswith("−1.00 (−1.00")
    assert said["numbers"].startswith("−0.")
    assert (said["learned"], said["kept"], said["fewest"]) == ("18 of 18", "0", "30")
    assert (said["narrow-symmetric"], said["narrow-inferential"], said["wide-inferential"]) == ("90%", "90%", "80%")
    assert (said["wide-above"], said["wide-learned"]) == ("100%", "12 of 12")
    assert (said["steps-large-none"], said["steps-large-five"], said["steps-small-five"], said["never"]) == (
        "2",
        "4",
        "4",
        "3 of 4",
    )


def test_each_number_of_numbers_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_decay, "exact_above", lambda run: 1.0)
    turning = over_numbers(lambda k, gamma: (0.0, 0.9) if (k, gamma) == (30, 0.8) else (0.9, 0.0))
    one = over_numbers(lambda k, gamma: (0.3, 0.9) if k == 30 else (0.9, 0.0))
    rows = rate_decay.number_rows(turning, wider(one))
    assert rows[0] == ("30", "16", "12 of 12", "0.90 ± 0.00 at γ = 0.5", "0.90 ± 0.00 at γ = 0.8", "1.00 ± 0.00")
    assert rows[-1] == ("30", "32", "12 of 12", "0.30 ± 0.00 at γ = 0.5", "0.90 ± 0.00 at γ = 0.5", "1.00 ± 0.00")


# --- Chapter 7 ---


def over_gamma(*levels: tuple[float, float, float], depth: int = 2) -> list[StoredRun]:
    """Two seeds at each (γ, symmetric share, inferential share)."""
    return [make_run(depth=depth, gamma=g, seed=s, symmetric=a, inferential=b) for g, a, b in levels for s in range(2)]


def test_shapes_that_are_inferential_at_the_largest_weights_are_found() -> None:
    """By the mean over seeds, and by nothing that smaller weights do."""
    runs = (
        over_gamma((0.3, 0.9, 0.1), (0.6, 0.0, 1.0))
        + over_gamma((0.6, 1.0, 0.0), depth=3)
        + over_gamma((0.6, 1.0, 0.0), depth=4)
    )
    first = {3: (0.8, 0.2), 4: (0.9, 0.2)}  # just one half, and more
    runs += [make_run(depth=d, gamma=0.3, seed=s, inferential=i) for d, shares in first.items() for s, i in enumerate(shares)]
    assert width.highest_at_first(runs) == [(16, 4)]


def test_facts_on_width_by_hand() -> None:
    flips = over_gamma((0.5, 0.6, 0.3), (0.7, 0.8, 0.1), (0.9, 0.0, 0.4))
    deep = over_gamma((0.4, 0.1, 0.8), (0.6, 0.3, 0.2), depth=3)  # mostly inferential at the largest weights, never symmetric
    facts = width.facts(flips, over_gamma((0.4, 1.0, 0.0), (0.6, 0.9, 0.0), (0.8, 0.1, 0.9)) + deep)
    assert ABSENT not in {fact.text for fact in facts.values()}
    assert {name: fact.value for name, fact in facts.items() if name != "best"} == {
        "symmetric": 0.8,
        "symmetric-at": 0.7,
        "inferential": 0.4,
        "inferential-at": 0.9,
        "shapes": (1, 2),
        "placed": "one",
        "first": "one",
    }
    assert width.facts(flips, deep)["shapes"].value == (0, 1)
    assert facts["best"].value == pytest.approx((1, 1, 1))  # one shape has a transition: every variable describes it as well


def test_rows_of_the_lab_record_by_hand() -> None:
    fast, slow = (replace(run, fit_step=step) for run, step in zip(over_gamma((0.5, 0.6, 0.3)), (1200, None), strict=True))
    other = make_run(gamma=0.3, symmetric=0.2, inferential=0.9, test=0.5)
    assert width.flip_rows([fast, slow, other]) == [
        ("0.3", "0 of 1", "20%", "90%", "50%"),
        ("0.5", "2 of 2", "60%", "30%", "100%"),
    ]
    assert [row[3:] for row in width.trial_rows([slow, other, fast])] == [
        ("0.3", "–", "0.2", "0.9"),
        ("0.5", "1,200, –", "0.6, 0.6", "0.3, 0.3"),
    ]
    crossing = width.Crossing(0.7, 0.6, 0.81, True)
    on = {"γ": {(32, 2): crossing, (64, 3): replace(crossing, found=False)}}
    rows = width.crossing_rows(on | {"log₁₀ σ√d": dict.fromkeys(on["γ"], crossing)})
    assert [row[1] == "0.70 [0.60, 0.81]" for row in rows] == [True, False]


def test_a_transition_is_placed_where_its_whole_interval_was_trained() -> None:
    data = {shape: (np.array([0.6, 0.8, 1.0]), np.zeros(3)) for shape in ((32, 2), (64, 2), (64, 3))}
    at = lambda low, high, found=True: width.Crossing(0.7, low, high, found)
    found = dict(zip(data, (at(0.65, 0.75), at(-0.1, 1.3), at(0.65, 0.75, False)), strict=True))
    assert width.placed(found, data) == {(32, 2): True, (64, 2): False}


# --- Chapter 8 and the engine ---


def test_a_turn_by_hand() -> None:
    """Two runs at γ = .3 and two above it: six ways to draw two of four."""
    runs = lambda *shares: [make_run(gamma=g, inferential=i) for g, i in zip((0.3, 0.3, 0.7, 0.9), shares, strict=True)]
    turn = lambda *shares: dataclasses.astuple(gpt2.turn(runs(*shares)))
    assert turn(0.1, 0.2, 0.5, 0.8) == pytest.approx((1, 1 / 6, 1, 1 / 6))
    assert turn(0.1, 0.6, 0.5, 0.8) == pytest.approx((3 / 4, 2 / 6, 5 / 6, 1 / 6))
    assert turn(0.5, 0.8, 0.1, 0.2) == pytest.approx((0, 1, 1 / 6, 1 / 6))
    for part in (slice(2), slice(2, 4)):
        with pytest.raises(LookupError, match="no runs"):
            gpt2.turn(runs(0.1, 0.2, 0.5, 0.8)[part])


def test_facts_on_gpt2_by_hand() -> None:
    """Trends are over runs that have learned; without runs of single factors nothing is said of these."""

    def value(*given: dict[str, list[StoredRun]]) -> dict[str, object]:
        facts = gpt2.facts(*given)
        assert ABSENT not in {fact.text for fact in facts.values()}
        return {name: fact.value for name, fact in facts.items()}

    runs = over_gamma((0.3, 0.9, 0.8), (0.6, 0.5, 0.4), (0.9, 0.0, 0.6))
    unlearned = [replace(run, metrics=run.metrics | {"train": 0.5}) if run.spec.gamma == 0.3 else run for run in runs]
    said = value({"post-norm": runs, "pre-norm": unlearned}, {})
    assert set(said) == {f"{norm}-{name}" for norm in ("post", "pre") for name in ("slope", "symmetric", "inferential")} | {
        "pre-last"
    }
    assert said["pre-last"] == ("two", "two")
    assert (said["post-symmetric"], said["pre-inferential"]) == (0.9, 0.8)
    assert (said["pre-slope"][0], said["post-slope"][0]) == pytest.approx((1, -0.5))
    turns = lambda spec: spec.model.norm == "pre" and spec.model.bias
    load = one_factor(lambda spec: turning(spec) if turns(spec) else flat(spec))
    found = {name: load(specs, Shelf([])) for name, specs in factor_specs("laptop").items()}
    said = value({}, found)
    assert (said["kept"], said["factors"]) == ("four", "five")
    assert (said["small-nothing"], said["small-norm"]) == (("eight", "eight"), ("four", "eight"))  # two of four seeds
    assert (said["large-inferential"], said["large-runs"], said["norm-unlearned"]) == ("four", 28, "none")
    assert (said["small-others"], said["large-symmetric"]) == ("four to eight", "none")
    assert (said["heads-low"], said["heads-high"]) == pytest.approx((0.30055, 0.90055))
    assert (said["five-middle"], said["five-last"]) == (("18", "20"), ("18", "20"))
    assert (said["heads-middle"], said["heads-last"]) == (("four", "four"), ("four", "four"))
    assert said["heads-least"] == pytest.approx(0.7004)
    assert (said["norm-learned"], said["norm-learned-inferential"], said["norm-close"]) == ("eight", "four", "none")
    assert (said["fisher-heads"], said["fisher-norm"]) == pytest.approx((1, 1 / 13))  # of 12 of 16 all four others in one
    assert said["p-nothing"] == pytest.approx(1 / 495)  # ways to draw four of twelve
    assert said["p-norm"] > 0.5


def test_what_the_engine_page_says_is_of_the_right_rows() -> None:
    """The paper's row of two, the largest difference of either sign, labels of single precision alone."""
    timing = {"d_model": 400, "depth": 3, "batch": 2048, "precision": "bfloat16", "fraction_of_peak": 0.5, "peak_tflops": 2.0}
    timings = [
        timing | {"size": "laptop", "d_model": 64, "ratio_same_allocator": 7.0, "fraction_of_peak": 0.1},
        timing | {"size": "paper", "ratio_same_allocator": 4.0},
    ]
    point = {"against": "runs", "ratio_same_allocator": None}
    scaling = [point | {"value": runs, "engine_ms": ms} for runs, ms in ((1, 4.0), (16, 2.0))]
    scaling.append(timing | {"against": "depth", "value": 1, "engine_ms": 1.0, "ratio_same_allocator": 9.0})
    program = {"depth": 3, "batch": 2048, "peak_tflops": 1.0}
    programs = [program | {"d_model": 64, "ratio": 2.3}, program | {"d_model": 400, "ratio": 1.2}]
    taken = {"runs": 3, "depth": 2, "run_steps": 10}
    retrain = [
        taken | {"which": "after", "commit": "b", "seconds": 60.0, "run_steps": 5},
        taken | {"which": "before", "commit": "a", "seconds": 240.0},
    ]
    row = {"metric": "symmetric", "gamma": 0.9, "program": "native"}
    precision = {
        "runs": 2,
        "seeds": 1,
        "same_label": {"compiled": 2, "native": 1},
        "labels": [[0.6, 0, "exact: neither", "native: neither"], [0.9, 0, "exact: symmetric", "native: neither"]],
        "rows": [row | {"difference": 0.1, "difference_se": 0.01}, row | {"difference": -0.2, "difference_se": 0.15}],
    }
    assumed = {"sustained_flops": 3e14, "slots": 64, "start_seconds": 90.0}
    cluster = {"runs": 5, "total_flops": 86_400e12, "assumed": assumed, "seconds_to_store": 0.001}
    cluster["rows"] = [{"hours": 22.4, "longest_run_hours": 0.1}, {"hours": 0.1, "longest_run_hours": 0.08}]
    said = {
        name: fact.text
        for name, fact in engine.facts(timings, scaling, timings[:1], programs, retrain, precision, cluster).items()
    }
    assert (said["native-at-paper"], said["native-most"], said["cluster-days"]) == ("1.2", "2.3", "1")
    assert (said["bf16-low"], said["bf16-high"], said["single-low"]) == ("4.0", "9.0", "7.0")
    assert (said["runs-one"], said["runs-many"], said["both-bf16"]) == ("4.0", "2.0", "7.0")
    assert (said["retrain-before"], said["retrain-after"], said["retrain-ratio"]) == ("4.0", "1.0", "2.0")
    assert (said["neither"], said["same-native"]) == ("one", "1 of 2")
    assert (said["widest"], said["widest-where"]) == ("−0.20\u00a0±\u00a00.15", "symmetric share at γ = 0.9")
    assert (said["cluster-longest"], said["cluster-hours"]) == ("5", "22")


def test_what_a_gpu_did_is_told_by_its_own_runs() -> None:
    """Two steps in a second are two steps of one run a second; what a CPU trained is not the GPU's, and the other way round."""
    on = lambda spec, device, steps, seconds, program="compiled": replace(
        make_run(), spec=spec, steps=steps, seconds=seconds, provenance={"device": device, "program": program}
    )
    paper, around = (e.specs(controls.ONE_GPU) for e in (controls.PAPER_SIZE, controls.DIP))
    new = CONFIRM.specs("laptop")
    runs = [on(paper[0], "cuda (A)", 100, 50.0), on(paper[1], "cpu (B)", 900, 1.0), on(around[0], "cuda (A)", 3000, 2.0)]
    runs += [on(new[0], "cpu (B)", 80, 2.0, "native"), on(new[1], "cpu (B)", 10, 2.0), on(new[2], "cuda (A)", 7, 1.0)]
    said = {name: fact.text for name, fact in engine.gpu_facts(Shelf(runs)).items()}
    assert (said["gpu-runs"], said["gpu-rate"], said["core-rate"], said["gpu-paper"]) == ("3", "1,500", "40", "2")
    assert {fact.text for name, fact in engine.gpu_facts(Shelf([])).items() if name != "gpu-runs"} == {ABSENT}


# --- Figures draw what they are given ---


def drawn(figure: Figure) -> list[str]:
    """All texts of a figure that draws without complaint; it is closed."""
    figure.canvas.draw()
    texts = [text.get_text() for text in figure.findobj(Text) if text.get_visible()]
    plt.close(figure)
    return texts


def bars(ax: Axes) -> dict[str, list[float]]:
    """Heights of stacked bars by their label."""
    return {group.get_label(): [bar.get_height() for bar in group] for group in ax.containers}


def ticks(ax: Axes, axis: str = "x") -> list[str]:
    return [label.get_text() for label in getattr(ax, f"get_{axis}ticklabels")()]


def squares(ax: Axes, marker: str = "s") -> list[tuple[float, float]]:
    """Where points with this marker stand."""
    return [point for line in ax.lines if line.get_marker() == marker for point in line.get_xydata().tolist()]


NEW = [
    (1.25, 0, BOTH, {-10: 0.6, -9: 0.4}),
    (0.55, 1, PAIR_FIRST, {-6: 1.0}),
    (1.25, 2, KEY_FIRST, {-10: 0.7, -11: 0.1, -7: 0.1, 0: 0.1}),
    (1.25, 1, KEY_FIRST, {-10: 0.4, -9: 0.1, -11: 0.2, -6: 0.3}),
    (1.25, 3, PAIR_FIRST, {-6: 0.6}),
]
"""γ, seed, way and answers; the last is off −10 and −6 by more than what is counted."""


def test_runs_stand_by_gamma_way_and_exactness(telling: None) -> None:
    """With a gap between ways, and a wider one between γ."""
    order, at, ends = columns([planted(*one) for one in NEW])
    assert [(run.spec.gamma, run.spec.seed - 200) for run in order] == [(0.55, 1), (1.25, 3), (1.25, 1), (1.25, 2), (1.25, 0)]
    assert at.tolist() == [0, 2, 3.5, 4.5, 6]
    ways = [(0.55, PAIR_FIRST, 0, 0), (1.25, PAIR_FIRST, 2, 2), (1.25, KEY_FIRST, 3.5, 4.5), (1.25, BOTH, 6, 6)]
    assert ends == ways


def test_edges_are_drawn_under_the_answers(telling: None) -> None:
    runs = [planted(*one) for one in NEW]
    last = ("key", "last")
    runs[1].metrics["edge_costs"] = table(EDGES, {(2, last): 1.0})
    runs[4].metrics["edge_costs"] = table(EDGES, {(1, EDGES[0]): 0.5, (2, last): 0.5})
    figure = flow_figures.edge_figure(runs)
    above, below = figure.axes
    assert np.sum(list(bars(above).values()), 0) == pytest.approx(np.ones(5))
    assert bars(above)["−9 or −11"] == pytest.approx([0, 0, 0.3, 0.1, 0.4])
    assert bars(above)["other"] == pytest.approx([0, 0.4, 0, 0.2, 0])
    assert ticks(below) == ["pair first", "pair first", "key first", "both"]
    colours = {  # γ = .55, then the one that goes pair first at 1.25
        (label, x): np.array(bar.get_facecolor()[:3])
        for y, label in enumerate(ticks(below, "y"))
        for bar in below.patches
        for x in (0, 2)
        if bar.get_y() + bar.get_height() / 2 == pytest.approx(y) and bar.get_x() + 0.43 == pytest.approx(x)
    }
    full = np.array(to_rgb(palette.COLOUR["symmetric"]))
    assert colours["key → last, 2", 0] == pytest.approx(full, abs=0.01)
    assert full.sum() + 0.1 < colours["key → last, 2", 2].sum() < 2.9
    white = {place for place, colour in colours.items() if colour.min() > 0.95}
    assert white == set(colours) - {("key → last, 2", 0), ("key → last, 2", 2), ("key → anchor 1, 1", 2)}
    assert {"γ = 0.55", "γ = 1.25", "−6", "−10"} <= set(drawn(figure))


def test_exact_answers_are_drawn_by_way_of_the_runs_that_compose(telling: None) -> None:
    figure = flow_figures.exact_figure([planted(*one) for one in [*NEW, (0.95, 0, PAIR_FIRST, {-10: 1.0})]])
    first, second = figure.axes
    assert (first.get_title("left"), second.get_title("left")) == ("γ = 0.95", "γ = 1.25")
    assert ticks(first, "y") == ticks(second, "y") == [PAIR_FIRST, KEY_FIRST, BOTH]
    assert (squares(first), squares(first, "o")) == ([], [[1.0, 0]])
    assert (sorted(squares(second)), squares(second, "o")) == ([[0.4, 1], [0.7, 1]], [[0.6, 2]])
    drawn(figure)
    drawn(flow_figures.exact_figure([planted(*NEW[1])]))  # none composes


def test_cuts_of_groups_are_told_by_how_many_runs_need_them(telling: None) -> None:
    costs = [
        table(GROUPS, {(1, "key → anchors"): 0.3, (2, "anchors → last"): value, (3, "key → last"): 0.29}, 3)
        for value in (0.3, 0.9, 0.0)
    ]
    figure = flow_figures.group_figure({"one": [planted(group_costs=c) for c in costs]}, {"one": "inferential"})
    (ax,) = figure.axes
    assert {tuple(text.get_position()): text.get_text() for text in ax.texts} == {(0, 2): "3 of 3", (1, 1): "2 of 3"}
    assert (ticks(ax, "y"), ticks(ax)[1]) == (["layer 3", "layer 2", "layer 1"], "anchors\n→ last")
    drawn(figure)


def test_patches_are_written_from_a_twentieth_on() -> None:
    last = np.array([[0.0, 0.049, 0.05, 0.0], [0.0, 0.0, 0.0, 0.96]])
    shown = {"two": dict.fromkeys(ROLES[:3], last), "three": dict.fromkeys(ROLES[:3], np.zeros((3, 4)))}
    figure = flow_figures.patch_figure(shown, {"two": "symmetric", "three": "inferential"})
    assert [{tuple(text.get_position()) for text in ax.texts} for ax in figure.axes] == [{(2, 0), (3, 1)}] * 3 + [set()] * 3
    assert ticks(figure.axes[3], "y") == ["embedding", "after layer 1", "after layer 2"]
    assert {"1.0", "two\nother key", "other first anchor"} <= set(drawn(figure))


def test_every_sequence_has_its_place_on_the_map_of_states() -> None:
    pairs = [pair for pair in ORDERED for _ in range(2)]
    points = np.random.default_rng(0).normal(size=(len(pairs), 2))
    figure = flow_figures.state_maps({"one": points, "other": -points}, pairs)
    for ax, sign in zip(figure.axes, (1, -1), strict=True):
        found = {group.get_label(): sign * np.array(group.get_offsets()) for group in ax.collections}
        assert found.keys() == {str(pair) for pair in ORDERED}
        assert found["(4, 3)"] == pytest.approx(points[[i for i, pair in enumerate(pairs) if pair == (4, 3)]])
    assert {"one", "other", "(3, 4)"} <= set(drawn(figure))


def test_measures_are_drawn_over_gamma_in_the_colour_of_the_answer(telling: None) -> None:
    value = lambda v: {"measures_of": {name: v / (i + 1) for i, name in enumerate(condensation_figures.MEASURES)}}
    given = [(0.55, -6, 0.2), (0.55, -6, 0.4), (0.55, 0, 0.9), (1.25, -10, 0.8)]
    figure = condensation_figures.measures_figure([planted(g, offsets={answer: 1.0}, **value(v)) for g, answer, v in given])
    for i, ax in enumerate(figure.axes):
        (medians,) = [line for line in ax.lines if line.get_marker() == "None"]
        assert medians.get_xydata() == pytest.approx(np.array([[0.55, 0.4], [1.25, 0.8]]) / [1, i + 1])
        dots = {to_hex(line.get_color()): len(line.get_xdata()) for line in ax.lines if line.get_marker() == "o"}
        assert dots == {to_hex(palette.COLOUR[name]): n for name, n in (("symmetric", 2), ("inferential", 1), ("neither", 1))}
    drawn(figure)


def test_neighbours_are_drawn_over_what_is_missed(telling: None) -> None:
    """Of the runs that compose; misses by 1, 3 or 4, and all others."""
    shares = np.array([0.5, 0.1, 0.2, 0.05, 0.15, 0, 0, 0, 0])
    figure = condensation_figures.row_figure([planted(*one, step_shares=shares) for one in NEW])
    above, below = figure.axes
    assert [v[0] for v in bars(above).values()] == pytest.approx([0.5, 0.2, 0.05, 0.25])
    assert np.sum(list(bars(above).values()), 0) == pytest.approx(np.ones(3))
    missed = [[bar.get_height() for bar in group] for group in below.containers]
    assert np.transpose(missed) == pytest.approx(np.array([[0.3, 0, 0.3, 0], [0.1, 0.1, 0, 0.1], [0.4, 0, 0, 0]]), abs=1e-9)
    assert ticks(below) == ["key\nfirst", "both"]
    assert "γ = 1.25" in drawn(figure)


def test_shares_are_drawn_by_gamma_and_way(telling: None) -> None:
    """A column a group; runs that go key first are filled squares."""
    given = ((1.25, BOTH, 0.2), (1.25, KEY_FIRST, 0.8), (1.25, KEY_FIRST, 0.9), (0.55, KEY_FIRST, 0.5), (0.55, PAIR_FIRST, 0))
    runs = [planted(gamma, needs=way, share=value) for gamma, way, value in given]
    shares = {"one": lambda run: run.metrics["share"], "less": lambda run: 1 - run.metrics["share"]}
    figure = vectors_figures.shares_figure(runs, shares, "share")
    assert ticks(figure.axes[0]) == ["0.55, pair first", "0.55, key first", "1.25, key first", "1.25, both"]
    for ax, value in zip(figure.axes, (lambda v: v, lambda v: 1 - v), strict=True):
        assert [(round(x), y) for x, y in squares(ax)] == [(1, value(0.5)), (2, value(0.8)), (2, value(0.9))]
        assert [(round(x), y) for x, y in squares(ax, "o")] == [(0, value(0)), (3, value(0.2))]
        faces = {line.get_marker(): line.get_markerfacecolor() for line in ax.lines}
        assert faces == {"s": style.PURPLE, "o": "white"}
    assert {"one", "less", "share"} <= set(drawn(figure))


def test_nearest_vectors_are_drawn_and_counted() -> None:
    """Purple where the number is the same, to within one."""
    one = Nearest(np.zeros(4), np.array([50, 51, 52, 53]), np.zeros(4), np.array([50, 50, 54, 60]))
    figure = vectors_figures.nearest_figure(
        {"early": [one, one], "late": [one, replace(one, nearest_number=one.number)]}, "ab", "sum"
    )
    for ax in figure.axes[:3]:
        points = {line.get_color(): line.get_xydata().tolist() for line in ax.lines}
        assert points == {style.GREY: [[52, 54], [53, 60]], style.PURPLE: [[50, 50], [51, 50]]}
    assert {"a\nearly: 50%", "b\nlate: 100%", "sum\nof the nearest"} <= set(drawn(figure))


def test_cosines_that_count_are_drawn_as_points_too() -> None:
    agree = np.eye(3, k=-1, dtype=bool)
    values = np.arange(9.0).reshape(3, 3) / 10
    s = Similarity(values, agree, np.tri(3, dtype=bool))
    figure = vectors_figures.cosine_figure([s, s], ["one", "other"])
    for ax in figure.axes[2:4]:
        points = {line.get_color(): sorted(line.get_xdata().tolist()) for line in ax.lines if line.get_marker() == "."}
        assert points == {style.ORANGE: [0.3, 0.7], style.GREY: [0.0, 0.4, 0.6, 0.8]}
        assert [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "None"] == pytest.approx([0.45, 0.5])
    assert {"one", "other", "equal numbers"} <= set(drawn(figure))


def test_grids_frame_their_panels_by_answers_where_these_are_given() -> None:
    cells = {(2, g): np.eye(4) for g in (0.5, 1.0)}
    maps = {place: np.c_[np.random.default_rng(0).normal(size=(80, 2)), np.full(80, 0.5)] for place in cells}
    answers = {(2, 0.5): "neither", (2, 1.0): "symmetric"}
    for grid, given in ((condensation_figures.neuron_grid, cells), (condensation_figures.embedding_grid, maps)):
        assert not {"symmetric", "neither"} & set(drawn(grid(given, "depth", "γ")))
        figure = grid(given, "depth", "γ", answers)
        frames = [to_hex(ax.spines["top"].get_edgecolor()).upper() for ax in figure.axes[:2]]
        assert frames == [palette.COLOUR["neither"], palette.COLOUR["symmetric"]]
        texts = drawn(figure)
        assert {"symmetric", "neither"} <= set(texts)
        assert "inferential" not in texts


def test_labels_of_a_map_keep_off_its_points() -> None:
    rng = np.random.default_rng(0)
    points, named = rng.normal(size=(80, 2)) * (1.0, 50.0), np.arange(80) % 10 == 0
    places = condensation_figures._free(points, named)
    assert places.shape == (8, 2)
    span = np.ptp(points, axis=0)
    assert np.linalg.norm((places[:, None] - points) / span, axis=-1).min() > 0.02
    assert np.linalg.norm((places - points[named]) / span, axis=-1).max() < 0.07


def test_a_cell_has_a_stripe_a_run() -> None:
    runs = rates_and_decays(lambda rate, decay: 0.0, inferential=0.5)
    runs[0] = replace(runs[0], metrics=runs[0].metrics | {"test": 0.1, "train": 0.1})
    cells = rate_decay.cells(runs, BY_DECAY, BY_RATE, "inferential")
    assert len(cells) == 9
    assert sorted(cells[0.01, 1e-3]) == [(0.5, False), (0.5, True)]
    levels = [sorted({place[i] for place in cells}) for i in (0, 1)]
    plain = drawn(rate_decay_figures.shares_grid({"inferential": cells}, *levels, "decay", "rate"))
    assert "inferential (key − 10)" in plain
    assert "boundary: the mean leans to the other answer beyond it" not in plain


def test_a_boundary_runs_between_cells_that_lean_to_different_answers() -> None:
    runs = over_numbers(lambda k, gamma: (0.0, 0.9) if (k, gamma) == (30, 0.8) else (0.9, 0.0))
    runs = [replace(r, metrics=r.metrics | {"train": float(r.spec.gamma < 0.6 or r.spec.seed > 0)}) for r in runs]
    runs = [replace(r, metrics=r.metrics | {"inferential": 1.0}) if not r.metrics["train"] else r for r in runs]
    leans = rate_decay.leans(runs, rate_decay.BY_KEYS, BY_GAMMA)
    assert leans == pytest.approx({(30, 0.5): -0.9, (30, 0.8): 0.9, (80, 0.5): -0.9, (80, 0.8): -0.9})
    cells = rate_decay.cells(runs, rate_decay.BY_KEYS, BY_GAMMA, "symmetric")
    fig = rate_decay_figures.shares_grid({"symmetric": cells}, [30, 80], [0.5, 0.8], "numbers", "γ", leans)
    drawn_lines = [np.array(line.get_xydata()).tolist() for line in fig.axes[0].lines if line.get_lw() == 2]
    assert drawn_lines == [[[0.5, -0.5], [0.5, 0.5]], [[0.5, 0.5], [1.5, 0.5]]]
    assert "boundary: the mean leans to the other answer beyond it" in drawn(fig)


def test_transitions_are_drawn_where_they_are_found() -> None:
    points = {
        (64, 2): (np.array([0.5, 0.5, 0.9]), np.array([1.0, 0.9, 0.0])),
        (64, 3): (np.array([0.5, 0.9]), np.array([1.0, 1.0])),
    }
    found = {(64, 2): width.Crossing(0.7, 0.6, 0.8, True), (64, 3): width.Crossing(2.0, 0.6, 3.0, False)}
    texts = drawn(width_figures.collapse_figure(points, found, {"σ": (1.0, 0.9, 1.1)}))
    assert {"width 64, depth 2", "width 64, depth 3", "σ"} <= set(texts)


def test_factors_are_drawn_hollow_where_runs_have_not_learned() -> None:
    found = {name: one_factor(turning)(specs, Shelf([])) for name, specs in factor_specs("laptop").items()}
    found["ReLU"][0] = replace(found["ReLU"][0], metrics=found["ReLU"][0].metrics | {"train": 0.5})
    figure = gpt2_figures.factors(found)
    dots = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert (len(dots), sum(isinstance(line.get_markerfacecolor(), str) for line in dots)) == (12 * len(FACTORS), 1)
    assert {"γ = 0.3", "γ = 0.9", *(name.replace(", ", ",\n") for name in FACTORS)} <= set(drawn(figure))
