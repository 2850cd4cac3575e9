"""Facts of the page on the engine, and figures that compute: on planted results every number and every mark can be known."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from planted import Shelf
from planted_composition import make_run, new_seed, table

from lib.book import engine
from lib.composition import controls, palette
from lib.composition.condensation import figures as condensation_figures
from lib.composition.flip import CONFIRM
from lib.composition.information_flow import figures as flow_figures
from lib.composition.information_flow.metrics import EDGES, columns
from lib.composition.rate_decay_data import figures as rate_decay_figures
from lib.composition.rate_decay_data import metrics as rate_decay
from lib.composition.study import OFFSETS
from lib.composition.trends import BY_GAMMA
from lib.core.read.fact import ABSENT
from lib.core.read.roundings import Comparison
from lib.core.read.ways import BOTH, KEY_FIRST, PAIR_FIRST
from lib.core.record.store import StoredRun


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


def test_language_models_are_timed_in_either_precision() -> None:
    of = lambda task, **ratios: {"task": task} | {name: {"ratio": ratio} for name, ratio in ratios.items()}
    found = engine.language_facts([of("SCAN", bfloat16=4.0, float32=3.0), of("mix", bfloat16=2.0, float32=2.5)])
    ends = [found[f"language-{name}-{end}"].text for name in ("bf16", "single") for end in ("low", "high")]
    assert ends == ["2.0", "4.0", "2.5", "3.0"]
    assert engine.language_facts([of("SCAN", float32=3.0)])["language-bf16-low"].text == ABSENT  # where it is not there


def test_what_a_gpu_did_is_told_by_its_own_runs() -> None:
    """Two steps in a second are two steps of one run a second; what a CPU trained is not the GPU's, and the other way round."""
    on = lambda spec, device, steps, seconds, program="compiled": replace(
        make_run(), spec=spec, steps=steps, seconds=seconds, provenance={"device": device, "program": program}
    )
    paper, around = (e.specs(controls.ONE_GPU) for e in (controls.PAPER_SIZE, controls.DIP))
    new = CONFIRM.specs("laptop")
    runs = [on(paper[0], "cuda (A)", 100, 50.0), on(paper[1], "cpu (B)", 900, 1.0), on(around[0], "cuda (A)", 3000, 2.0)]
    runs += [on(new[0], "cpu (B)", 80, 2.0, "native"), on(new[1], "cpu (B)", 10, 2.0), on(new[2], "cuda (A)", 7, 1.0)]
    said = {name: fact.text for name, fact in engine.gpu_facts(Shelf(runs), {"total_flops": 1e18}).items()}
    assert (said["gpu-runs"], said["gpu-rate"], said["core-rate"], said["gpu-paper"]) == ("3", "1,500", "40", "2")
    assert {fact.text for name, fact in engine.gpu_facts(Shelf([]), {"total_flops": 1e18}).items() if name != "gpu-runs"} == {
        ABSENT
    }


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
    order, at, ends = columns([new_seed(*one) for one in NEW])
    assert [(run.spec.gamma, run.spec.seed - 200) for run in order] == [(0.55, 1), (1.25, 3), (1.25, 1), (1.25, 2), (1.25, 0)]
    assert at.tolist() == [0, 2, 3.5, 4.5, 6]
    ways = [(0.55, PAIR_FIRST, 0, 0), (1.25, PAIR_FIRST, 2, 2), (1.25, KEY_FIRST, 3.5, 4.5), (1.25, BOTH, 6, 6)]
    assert ends == ways


def test_edges_are_drawn_under_the_answers(telling: None) -> None:
    runs = [new_seed(*one) for one in NEW]
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


def test_neighbours_are_drawn_over_what_is_missed(telling: None) -> None:
    """Of the runs that compose; misses by 1, 3 or 4, and all others."""
    shares = np.array([0.5, 0.1, 0.2, 0.05, 0.15, 0, 0, 0, 0])
    figure = condensation_figures.row_figure([new_seed(*one, step_shares=shares) for one in NEW])
    above, below = figure.axes
    assert [v[0] for v in bars(above).values()] == pytest.approx([0.5, 0.2, 0.05, 0.25])
    assert np.sum(list(bars(above).values()), 0) == pytest.approx(np.ones(3))
    missed = [[bar.get_height() for bar in group] for group in below.containers]
    assert np.transpose(missed) == pytest.approx(np.array([[0.3, 0, 0.3, 0], [0.1, 0.1, 0, 0.1], [0.4, 0, 0, 0]]), abs=1e-9)
    assert ticks(below) == ["key\nfirst", "both"]
    assert "γ = 1.25" in drawn(figure)


def test_labels_of_a_map_keep_off_its_points() -> None:
    rng = np.random.default_rng(0)
    points, named = rng.normal(size=(80, 2)) * (1.0, 50.0), np.arange(80) % 10 == 0
    places = condensation_figures._free(points, named)
    assert places.shape == (8, 2)
    span = np.ptp(points, axis=0)
    assert np.linalg.norm((places[:, None] - points) / span, axis=-1).min() > 0.02
    assert np.linalg.norm((places - points[named]) / span, axis=-1).max() < 0.07


def test_a_boundary_runs_between_cells_that_lean_to_different_answers() -> None:
    """By the runs that have learned: at γ = .8 the first seed has not."""
    runs = []
    for k, gamma, seed in product((30, 80), (0.5, 0.8), range(6)):
        learned = gamma < 0.6 or seed > 0
        turned = not learned or (k, gamma) == (30, 0.8)
        run = make_run(gamma=gamma, seed=seed, symmetric=0.9 * (not turned), inferential=0.9 * turned, train=float(learned))
        runs.append(replace(run, spec=replace(run.spec, task=(("keys", k),))))
    leans = rate_decay.leans(runs, rate_decay.BY_KEYS, BY_GAMMA)
    assert leans == pytest.approx({(30, 0.5): -0.9, (30, 0.8): 0.9, (80, 0.5): -0.9, (80, 0.8): -0.9})
    cells = rate_decay.cells(runs, rate_decay.BY_KEYS, BY_GAMMA, "symmetric")
    fig = rate_decay_figures.shares_grid({"symmetric": cells}, [30, 80], [0.5, 0.8], "numbers", "γ", leans)
    drawn_lines = [np.array(line.get_xydata()).tolist() for line in fig.axes[0].lines if line.get_lw() == 2]
    assert drawn_lines == [[[0.5, -0.5], [0.5, 0.5]], [[0.5, 0.5], [1.5, 0.5]]]
    assert "boundary: the mean leans to the other answer beyond it" in drawn(fig)


def grid_run(decay: float, inferential: float, gamma: float = 0.5, seed: int = 0, **changed: Any) -> StoredRun:
    """A planted run of this decay, with what chapter 6 asks of it."""
    run = make_run(gamma=gamma, seed=seed, inferential=inferential, **changed)
    history = {"step": [1], "rank W_Q(1)": [1.0 + 1000 * run.spec.rate * (-1 if decay == 1.0 else 1)]}
    return replace(run, spec=replace(run.spec, decay=decay, task=(("keys", 30),)), history=history)


def test_grids_of_decay_are_compared_where_both_have_runs() -> None:
    """Decay does nothing up to .1; what rises is at 1, where the second grid learns nothing."""
    first = [grid_run(d, float(d == 1.0), seed=s, rate=r) for d, r, s in product((0.01, 0.1, 1.0), (1e-3, 2e-3), range(3))]
    change = {(0.5, 0): 0.2, (0.5, 1): 0.1, (0.8, 0): -0.3, (0.8, 1): 0.0}
    second = [
        grid_run(d, 0.4 + (change[g, s] if d == 0.1 else 0.0), gamma=g, seed=s, test=0.5 if d == 1.0 else 1.0)
        for d, (g, s) in product((0.0, 0.01, 0.1, 1.0), change)
    ]
    few = [grid_run(0.01, 0.5, gamma=g, offsets=[1] * len(OFFSETS), offsets_low=[0] * len(OFFSETS)) for g in (0.3, 0.8)]
    steps = {0.5: np.array([[1.0], [2.0], [math.inf]]), 0.8: np.array([[1.0], [2.0], [3.0]])}
    whole = [make_run(gamma=g, symmetric=a, inferential=b) for g, a, b in ((0.55, 0.9, 0.0), (1.4, 0.1, 0.7))]
    found = rate_decay.facts(first, second, few, few, steps, whole)
    shown = {name: fact.text for name, fact in found.items()}
    assert (shown["decay-little"], shown["little"], shown["little-at"]) == ("+0.00 (+0.00 to +0.00)", "12", "0.1")
    assert shown["decay"].startswith("+0.8")
    assert [shown[f"pairs-{name}"] for name in ("up", "down", "same", "mean")] == ["two", "one", "one", "+0.00"]
    assert shown["rank-rate"].startswith("+0.3")  # up at two decays, down at the third
    assert shown["rank-rate-most"].startswith("−1.00")
    assert [shown[f"all-{name}"] for name in ("symmetric", "gamma-symmetric", "inferential", "gamma-inferential")] == [
        "90%",
        "0.55",
        "70%",
        "1.4",
    ]
    assert shown["never"] == "1 of 2"
    alone = rate_decay.facts(first, second, few, few, steps)
    assert {alone[f"all-{name}"].text for name in ("symmetric", "gamma-inferential")} == {ABSENT}
    unlearned = [replace(run, metrics=run.metrics | {"test": 0.5}) if run.spec.decay == 0.1 else run for run in second]
    assert rate_decay.paired(unlearned, 0.0, 0.1).tolist() == []


def test_what_bfloat16_changes_is_drawn_in_units_of_what_is_allowed() -> None:
    c = Comparison(short=np.array([0.3, 0.1]), single=np.array([0.2, 0.1]), moved=np.array([0.2, 0.3]))
    (ax,) = engine.draw_roundings({"a model": {"a share": (c, 0.1), "another": (c, 0.2)}}).axes
    dots = [line.get_xdata() for line in ax.lines if line.get_marker() == "o"]
    assert [pytest.approx(x) for x in dots] == [[1, -1], [0, 2], [0.5, -0.5], [0, 1]]  # off the mean of both, and by the bit
    assert [text.get_text() for text in ax.texts] == ["a model", "a share", "another"]
    plt.close(ax.figure)
