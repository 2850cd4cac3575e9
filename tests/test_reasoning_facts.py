"""What chapters 9 to 11 say and draw of planted results, in numbers: facts, rows of tables, arrays, the figures of circuits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from planted import Shelf
from test_reasoning_analysis import (
    SHUFFLED,
    Planted,
    alike,
    attend,
    drawn,
    legends,
    lying,
    moved_snapshot,
    of,
    on_an_arc,
    planted,
    seen,
    texts,
)
from test_reasoning_claims import ablated, at_four

from lib.core.read.fact import ABSENT, Fact, in_words
from lib.core.read.measures import cosines
from lib.core.read.statistics import numerical_order
from lib.core.record.spec import RunSpec
from lib.core.record.store import StoredRun
from lib.reasoning_bias import ratios, theory
from lib.reasoning_bias import runs as stored
from lib.reasoning_bias.attention import figures as attention_figures
from lib.reasoning_bias.attention import metrics as attention
from lib.reasoning_bias.embeddings import figures as embedding_figures
from lib.reasoning_bias.embeddings import metrics as embeddings
from lib.reasoning_bias.experiments import (
    ABLATIONS,
    EMB,
    LARGE,
    MIDDLE,
    SMALL,
    ablation_specs,
    between_specs,
    bias_specs,
    circuit_specs,
    long_specs,
    many_rows_specs,
    more_specs,
    rows_specs,
    scale_specs,
)
from lib.reasoning_bias.memory_and_reasoning import metrics as memory_and_reasoning
from lib.reasoning_bias.ratios import Ratio
from lib.reasoning_bias.task import FIRST_KEY, LAST_KEY, MEMORY, REASONING

__all__ = ["at_four"]
"""Of every test here."""
SEVERAL = [s for s in bias_specs("laptop") if s.gamma == SMALL]


def values(facts: Mapping[str, Fact], *names: str) -> list[object]:
    """Some of them. All are facts that can be written."""
    assert all(isinstance(fact, Fact) and fact.text for fact in facts.values())
    return [facts[name].value for name in names]


# ---------------------------------------------------------------- chapter 9


def test_ratios_have_a_geometric_mean() -> None:
    assert ratios.middle([Ratio(2.0, False), Ratio(8.0, True)]) == pytest.approx(4)
    with pytest.raises(LookupError, match="halves in no stored run"):
        ratios.ratios([planted(halves={"memory": 100})])


def test_the_trend_is_of_runs_that_have_a_ratio() -> None:
    specs = [s for s in bias_specs("laptop") if s.gamma in (LARGE, MIDDLE, SMALL)]
    runs = of(specs, lambda s: {"reasoning": 100, "memory": round(100 + 100 * s.gamma)})
    assert memory_and_reasoning.trend(runs) == pytest.approx((1, 1, 1))
    noisy = of(specs, lambda s: {"reasoning": 100, "memory": 100 + (7 * s.seed + round(10 * s.gamma)) % 5})
    value, low, high = memory_and_reasoning.trend(noisy)
    assert low < value < high
    assert memory_and_reasoning.trend(noisy) == (value, low, high)  # the same resamples every time
    with pytest.raises(LookupError, match="fewer than two"):
        memory_and_reasoning.trend([*runs[:1], planted(halves={"memory": 100})])


def test_the_best_share_of_a_run_is_at_any_time() -> None:
    runs = [planted(shares={"held out": shares}) for shares in ([0.1, 0.8, 0.3], [0.2, None, 0.1])]
    assert stored.best(runs).tolist() == [0.8, 0.2]
    assert stored.best([planted(shares={"held out": [0.1, 0.3]}, **{"held out": 0.4})]).tolist() == [0.4]  # asked at the end


def test_points_of_variants() -> None:
    memory = {0.3: 100, 0.5: 200, 0.8: None}
    runs = of([s for s in bias_specs("laptop") if s.gamma in memory], lambda s: {"reasoning": 100, "memory": memory[s.gamma]})
    found, shares = ratios.points_of({"whole": runs, "none": [planted()]})
    assert found["whole"] == {g: [Ratio(v, v == 40)] * 4 for g, v in ((0.3, 1.0), (0.5, 2.0), (0.8, 40.0))}
    assert (found["none"], shares["none"]) == ({0.8: []}, {0.8: [0.0]})


def test_lengths_and_sizes_of_training_change_one_thing() -> None:
    """At the two γ; lengths shortest first, though the groups do not have as many seeds."""
    sizes = rows_specs("laptop")
    specs = [*bias_specs("laptop"), *(s for part in (ablation_specs("laptop"), sizes) for g in part.values() for s in g)]
    store, main = Shelf(map(planted, specs)), bias_specs("laptop")[0]
    lengths = list(memory_and_reasoning.by_length(store, "laptop").values())
    assert [(runs[0].spec.train.steps, len(runs)) for runs in lengths] == [(16_000, 4), (24_000, 6), (40_000, 8)]
    by_rows = list(memory_and_reasoning.of_sizes(store, "laptop").values())
    assert [dict(runs[0].spec.task)["rows"] for runs in by_rows] == [5000, 10_000, 20_000, 0]
    for runs in (*lengths, *by_rows):
        assert {r.spec.gamma for r in runs} == {LARGE, SMALL}
        assert len({(r.spec.train.steps, dict(r.spec.task)["rows"]) for r in runs}) == 1
        assert {(r.spec.model, r.spec.rate) for r in runs} == {(main.model, main.rate)}
    with pytest.raises(LookupError, match="not stored"):
        memory_and_reasoning.of_sizes(Shelf(map(planted, sizes["5,000 rows"])), "laptop")


def nine(memory: Callable[[RunSpec], int | None], reasoning: int | None = 100) -> dict[str, Fact]:
    """Facts of runs whose best share of held-out pairs is γ, and half as much without norms, …; at the end it is none."""

    def group(specs: Sequence[RunSpec], factor: float) -> list[Planted]:
        halves = lambda s: {"reasoning": reasoning, "memory": memory(s)}
        return [planted(s, halves(s), {"held out": [0.0, factor * s.gamma, 0.0]}, reasoning=0.9) for s in specs]

    bare, noisy = ([s for s in EMB.specs("laptop") if dict(s.task)["noise"] == noise] for noise in (False, True))
    main, small = bias_specs("laptop"), [*SEVERAL, *more_specs("laptop")]
    parts = (main, small, between_specs("laptop"), long_specs("laptop")["no norms"], many_rows_specs("laptop"), bare, noisy)
    return memory_and_reasoning.facts(*map(group, parts, (1, 0.9, 1, 0.5, 0.4, 0.3, 0.2)))


def test_the_facts_of_chapter_9() -> None:
    found = nine(lambda s: 100 if s.gamma < 0.4 else 400 if s.gamma == 0.4 else 800)
    assert values(found, "small", "large", "held-small", "held-large") == pytest.approx([8, 1, 0.72, 0.3])
    assert values(found, "rows-small", "end-small") == pytest.approx([0.9, 0])
    others = ("plain-small", "plain-large", "many-small", "many-large", "emb-small", "emb-large", "emb-noise")
    assert values(found, *others) == pytest.approx([0.4, 0.15, 0.32, 0.12, 0.24, 0.09, 0.16])
    assert found["jump"].value == pytest.approx(2 / 3)  # ln 4 of ln 8
    assert found["trend"].value[0] > 0.5
    assert nine(lambda s: 100)["jump"].value is None


def test_the_facts_of_chapter_9_where_reasoning_never_halves() -> None:
    assert values(nine(lambda s: None, None), "small", "large", "jump") == [None] * 3


# ---------------------------------------------------------------- chapter 10


def bumps(width: float) -> np.ndarray:
    """(10, 200) vectors of Eq. 12 with this σ_P, without noise."""
    return np.exp(-((np.arange(200) - np.arange(11, 21)[:, None]) ** 2) / (2 * width**2)) - 1 / 200


def test_a_shape_of_any_spread_by_hand() -> None:
    shape, key = theory.fitted_shape(15, 40, spread=2.0), theory.fitted_shape(30, 40, key=True, spread=5.0)
    np.testing.assert_allclose(shape[[15, 17, 11]], np.exp([0, -0.5, -2]) - 1 / 40)
    np.testing.assert_allclose(key[[30, 35, 20]], np.exp([0, -0.5, -2]))
    np.testing.assert_allclose([theory.fitted_shape(s, 200, spread=7.0) for s in REASONING], bumps(7.0))
    assert pytest.approx(6**0.5) == theory.SPREAD


def test_the_spread_that_fits_best() -> None:
    """Late in training, each run has its own."""
    widths = [embeddings.SPREADS[i] for i in (40, 25, 0, 60)]
    lie = lambda width: lying(np.eye(10, 200), bumps(width))
    runs = [planted(s, kept={200: lie(1.0), 20_000: lie(30.0), 40_000: lie(widths[s.seed])}) for s in SEVERAL]
    np.testing.assert_allclose([embeddings.own_spread(run) for run in runs], [(width, 0) for width in widths], atol=1e-9)


def test_cosines_of_what_has_moved_by_hand() -> None:
    spec = EMB.specs("laptop")[0]
    near, far = (moved_snapshot(spec, alike(c), on_an_arc(a), size) for c, a, size in ((0.25, 0.1, 1e-3), (0.75, 0.2, 1.0)))
    run = planted(spec, kept={200: near, 400: far})
    for step, cosine, arc in ((200, 0.25, 0.1), (400, 0.75, 0.2)):
        np.testing.assert_allclose(embeddings.off_diagonal(embeddings.moved_cosines(run, step, "memory")), cosine)
        np.testing.assert_allclose(embeddings.by_lag(embeddings.moved_cosines(run, step)), np.cos(arc * np.arange(1, 10)))


def test_the_labels_of_an_anchor_by_counting() -> None:
    """Sums of 100 keys and ten anchors: variances add, (n² − 1) / 12 each; every anchor meets the middle 91 sums."""
    ahead, width, flat = embeddings.labels_of_anchor()
    sums = [key + other for key in range(21, 121) for other in range(11, 21)]
    assert (ahead, width) == pytest.approx((np.mean(sums), (9999 / 12 + 99 / 12) ** 0.5))
    assert flat == list(Counter(sums).values()).count(10) == 91


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


def test_the_plane_of_the_entire_embedding_is_that_of_all_anchors_and_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reasoning anchors in order in a direction of their own are not so in the plane that has most of all tokens' variance."""
    mixed = (4, 9, 0, 6, 2, 8, 1, 5, 7, 3)
    tokens = lie_of_all(mixed, range(10), range(10))
    weights = {"embedding.token": torch.tensor(tokens), "head.weight": torch.ones(3, 3)}
    monkeypatch.setattr(StoredRun, "weights", lambda run: weights)
    run = planted(SEVERAL[0])
    found = embeddings.in_the_whole_plane(run)
    apart = lambda v: np.linalg.norm(v[:, None] - v[None], axis=-1)
    for kind, where in (("reasoning", REASONING), ("memory", MEMORY), ("key", range(FIRST_KEY, LAST_KEY + 1))):
        np.testing.assert_allclose(apart(found[kind]), apart(tokens[list(where), :2]), atol=15)  # of steps of 40 and 100
    orders = embeddings.plane_orders(run)
    assert orders["reasoning"] == pytest.approx(numerical_order(np.array(mixed)[:, None]), abs=0.1)
    assert orders["reasoning"] < 0.6 < 0.95 < min(orders["memory"], orders["key"])
    assert embeddings.order(tokens[list(REASONING)]) > 0.7


def two_times() -> dict[str, tuple[list[Planted], int]]:
    """The transformer at two times, and Emb-MLP at the second of two, by when it has moved little."""
    early = lambda seed: lying(alike(0.25 + 0.5 * seed), on_an_arc())
    runs = [planted(s, kept={200: early(s.seed), 400: lying(alike(0.9), on_an_arc(0.2))}) for s in SEVERAL[:2]]
    specs = [s for s in EMB.specs("laptop") if s.gamma == SMALL and s.seed < 2 and not dict(s.task)["noise"]]
    moved = lambda s, *how: moved_snapshot(s, alike(how[0]), on_an_arc(how[1]), how[2])
    emb = [planted(s, kept={200: moved(s, 0.95, 0.1, 1e-4), 400: moved(s, 0.9, 0.2, 0.5)}) for s in specs]
    return {"Emb-MLP early": (emb, 400), "transformer early": (runs, 200), "transformer late": (runs, 400)}


def test_embeddings_in_arrays() -> None:
    times = two_times()
    columns, used = embeddings.matrices(times, 1)
    assert [run.spec.seed for run in used] == [1, 1, 1]
    assert [run.spec.seed for run in embeddings.matrices(times, 7)[1]] == [0, 0, 0]  # a seed that is not there: the first
    assert [column["memory"][0, 1] for column in columns.values()][1:] == pytest.approx([0.75, 0.9])
    measured, lines = embeddings.lag_series(times, 40, SMALL)
    (moved, emb), (early, late) = (series.values() for series in measured.values())
    falling = lambda step: np.tile(np.cos(step * np.arange(1, 10)), (2, 1))
    for found, step in ((moved, 0.1), (early, 0.1), (late, 0.2)):  # moved: at the first snapshot
        np.testing.assert_allclose(found, falling(step))
    assert np.abs(emb - falling(0.2)).max() > 0.01  # the start included
    exact, noisy = lines.values()
    np.testing.assert_allclose(exact, embeddings.by_lag(embeddings.exact_cosines()))
    assert embeddings.by_lag(cosines(*[embeddings.fitted(40, SMALL, None)] * 2))[0] > noisy[0] > 0  # noise takes from a cosine
    np.testing.assert_array_equal(list(embeddings.lag_series(times, 40, SMALL)[1].values())[1], noisy)
    epochs, curves = embeddings.formation(times["transformer early"][0])
    assert epochs.tolist() == [1, 2]
    near, far, memory = curves.values()
    np.testing.assert_allclose(near, [[np.cos(0.1), np.cos(0.2)]] * 2)
    np.testing.assert_allclose(far, [[np.cos(0.9), np.cos(1.8)]] * 2)
    np.testing.assert_allclose(memory, [[0.25, 0.9], [0.75, 0.9]])
    assert embeddings.memory_alike(times["transformer early"][0]) == pytest.approx({200: 0.5, 400: 0.9})


def compared(run: StoredRun, exact: bool) -> embeddings.Compared:
    """A flow that is right by positions, and else wrong for memory anchors."""
    by = lambda memory, reasoning: {"memory": memory, "reasoning": reasoning}
    return embeddings.Compared(100, by(0.6 - exact / 2, 0.2), by(0.9, 0.97), 0.01, 0.003)


@pytest.fixture
def some_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of odd seeds, whose reasoning anchors have this order in the plane of all tokens."""
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: self.spec.seed % 2 == 1))
    orders = lambda run: {"reasoning": 0.4 + 0.1 * run.spec.seed, "memory": -0.25, "key": 0.9}
    monkeypatch.setattr(embeddings, "plane_orders", orders)


SPREADS = embeddings.SPREADS[10], embeddings.SPREADS[30]


@pytest.mark.usefixtures("some_weights")
@pytest.mark.parametrize("with_paper", [True, False])
@pytest.mark.parametrize("with_other", [True, False])
def test_the_facts_of_chapter_10(monkeypatch: pytest.MonkeyPatch, with_paper: bool, with_other: bool) -> None:
    """Also where one of the circuits, or both, are of no run."""
    times = two_times()
    times["no norms late"] = ([planted(s, kept={200: lying(alike(0.3), on_an_arc())}) for s in SEVERAL], 200)
    monkeypatch.setattr(embeddings, "compared", compared)
    own = [planted(s, kept={200: lying(np.eye(10, 200), bumps(SPREADS[i]))}) for i, s in enumerate(SEVERAL[:2])]
    circuits = {"paper": own[:1] * with_paper, "other": own[1:] * with_other}
    emb = times["Emb-MLP early"][0]
    cases = {"Emb-MLP": (emb, False), embeddings.AS_PRINTED: (emb, False), embeddings.BY_POSITIONS: (emb, True)}
    found = embeddings.facts(times, cases, circuits)
    assert values(found, "near", "alike", "plain-alike") == pytest.approx([np.cos(0.2), 0.9, 0.3])
    assert found["far"].value == pytest.approx((np.cos(1.8), np.cos(1.8)))
    assert values(found, "spread", "spread-other", "off") == [
        pytest.approx(SPREADS[0]) if with_paper else None,
        pytest.approx(SPREADS[1]) if with_other else None,
        pytest.approx(0, abs=1e-9) if with_paper else None,
    ]
    exact = embeddings.by_lag(np.abs(embeddings.exact_cosines() - np.cos(0.1 * np.subtract.outer(range(10), range(10)))))
    weights = np.arange(9, 0, -1)
    assert found["moved"].value == pytest.approx((exact * weights).sum() / weights.sum())
    assert found["whole"].value == pytest.approx((0.5, 0.5))
    flows = [f"flow-{key}-{kind}" for key in ("emb", "printed", "positions") for kind in ("memory", "reasoning")]
    assert values(found, *flows) == pytest.approx([0.6, 0.2, 0.6, 0.2, 0.1, 0.2])
    assert (found["off"].text == ABSENT) is not with_paper
    rows = embeddings.flow_rows(cases)
    assert rows[0][1:] == ("0.60", "0.20", "0.900", "0.970", "100", "0.3%", "0.01")
    assert rows[2][1:3] == ("0.10", "0.20")


@pytest.mark.usefixtures("some_weights")
def test_rows_of_orders_are_of_a_plane_of_their_own_and_of_all_tokens() -> None:
    runs = [planted(s, kept={200: lying(SHUFFLED, on_an_arc()), 400: lying(on_an_arc(), SHUFFLED)}) for s in SEVERAL]
    (_, memory, whole), (_, reasoning, ours) = embeddings.order_rows(runs, 200)
    assert [memory, reasoning] == [embeddings.written(embeddings.order(v)) for v in (SHUFFLED, on_an_arc())]
    assert (whole, ours) == ("−0.25, −0.25", "0.50, 0.70")


@pytest.mark.parametrize("other", [{}, {0.8: []}, {0.6: [(9.0, 0.2)], 0.8: [(8.0, 0.1), (7.0, 0.3)]}])
def test_the_figure_of_spreads_has_a_mark_for_each_run(other: dict[float, list[tuple[float, float]]]) -> None:
    """Also where a circuit is of no run."""
    paper = {0.8: [(2.5, 0.05), (3.0, 0.1)], 1.0: [(2.0, 0.02)]}
    for found in ({"paper": paper, "other": other}, {"paper": other, "other": paper}):
        figure = embedding_figures.spreads(found, theory.SPREAD)
        axes = drawn(figure, 2)
        for i, ax in enumerate(axes):
            for groups, mark in zip(found.values(), "os", strict=True):
                lines = [line for line in ax.lines if line.get_marker() == mark]
                assert sorted(v for line in lines for v in line.get_ydata()) == sorted(r[i] for g in groups.values() for r in g)
                assert {round(x, 1) for line in lines for x in line.get_xdata()} == {g for g, runs in groups.items() if runs}
        assert theory.SPREAD in [line.get_ydata()[0] for line in axes[0].lines]
        assert legends(figure) == [name for name, groups in found.items() if any(groups.values())]


# ---------------------------------------------------------------- chapter 11


def test_attention_in_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seeds at each of the paper's γ: attention off by γ / 10 at a twentieth of training, by 1.5 γ / 10 at the end."""
    specs = [s for s in bias_specs("laptop") if s.gamma in (LARGE, MIDDLE, SMALL) and s.seed < 2]
    at = lambda s, factor: seen(mean=0.1 * s.gamma * factor, single=0.2 * s.gamma * factor, gap=(4 + s.seed) * factor)
    runs = [planted(s, kept={200: at(s, 0.5), 2000: at(s, 1.0), 40_000: at(s, 1.5)}) for s in specs]
    monkeypatch.setattr(StoredRun, "has_weights", property(lambda self: False))
    matrices, shown = attention.matrices(runs, 1)
    assert [(r.spec.gamma, r.spec.seed) for r in shown] == [(LARGE, 1), (SMALL, 1)]
    assert [float(1 / 4 - m[3, 1]) for m in matrices.values()] == pytest.approx([0.03, 0.08, 0.12], abs=1e-6)
    found = list(attention.deviations_at(runs).values())
    assert [by[SMALL] for by in found] == [pytest.approx([v, v]) for v in (0.08, 0.16, 0.24)]
    (spectra,) = attention.spectra(runs, (LARGE, 0.99)).values()
    assert spectra[:, 0].tolist() == [4, 5]
    (epochs, kinds), *_ = attention.alignment(runs, (SMALL,)).values()
    assert epochs.tolist() == [1, 10, 200]
    np.testing.assert_allclose(kinds["reasoning"], np.full((2, 3), 0.6), rtol=1e-6)
    np.testing.assert_allclose(kinds["memory"], np.full((2, 3), 0.1), rtol=1e-6)
    epochs, leading = attention.leading(stored.at(runs, LARGE), 2)
    assert epochs.tolist() == [1, 10, 200]
    np.testing.assert_allclose(leading[1], [[2.5, 1], [5, 1], [7.5, 1]])


@pytest.mark.parametrize("width", [16, 200])
def test_chance_is_what_random_directions_have(width: int) -> None:
    """To the order 1 / d: the mean |cosine| is Γ(d / 2) / (√π Γ((d + 1) / 2)) exactly."""
    exact = math.exp(math.lgamma(width / 2) - math.lgamma((width + 1) / 2)) / math.pi**0.5
    spec = replace(SEVERAL[0], model=replace(SEVERAL[0].model, d_model=width))
    assert attention.chance(planted(spec)) == pytest.approx(exact, rel=0.3 / width)


def test_the_gap_between_ratios_of_the_two_starts() -> None:
    gap = lambda memory: attention.least_gap(
        of([s for s in bias_specs("laptop") if s.gamma in memory], lambda s: {"reasoning": 100, "memory": memory[s.gamma]})
    )
    assert gap({LARGE: 100, SMALL: 300}) == (pytest.approx(math.log(3)), False)
    assert gap({LARGE: 300, SMALL: None}) == (pytest.approx(math.log(40 / 3)), False)
    assert gap({LARGE: None, SMALL: 300}) == (pytest.approx(math.log(3 / 40)), True)
    assert math.isnan(attention.least_gap([planted(s) for s in bias_specs("laptop")])[0])


HELD, OFF = {True: 0.5, False: 0.7}, {True: 0.05, False: 0.3}
SOME = ((0.8, 12), (0.9, 12), (0.9, 13))
EACH = [(g, seed) for g in (0.6, 0.8, 0.9) for seed in (12, 13)]


def eleven(monkeypatch: pytest.MonkeyPatch, late: Sequence[tuple[float, int]]) -> list[Planted]:
    """Six runs, of which these have the paper's circuit: told early but for one of the others, if there is one."""
    is_late = lambda s: (s.gamma, s.seed) in late
    attend(monkeypatch, is_late)
    monkeypatch.setattr(attention, "averaged", lambda run: {"": 0.9, "attention.1": 0.1, "attention.2": 0.8})
    monkeypatch.setattr(attention, "moved", lambda run: {"other place": (0.1, 0.7 if is_late(run.spec) else 0.0)})
    monkeypatch.setattr(attention, "deviation_at_start", lambda spec: spec.seed / 100)
    early = lambda s: seen(0.6 if is_late(s) or (s.gamma, s.seed) == (0.6, 13) else 0.2)
    kept = lambda s: {200: seen(0.3), 3000: early(s), 40_000: seen(0.3, mean=OFF[is_late(s)])}
    specs = [s for s in circuit_specs("laptop") if (s.gamma, s.seed) in EACH]
    return [planted(s, kept=kept(s), **{"held out": HELD[is_late(s)]}) for s in specs]


@pytest.mark.parametrize("late", [SOME, EACH, []], ids=["both circuits", "the paper's alone", "the other alone"])
def test_the_facts_of_chapter_11(monkeypatch: pytest.MonkeyPatch, late: Sequence[tuple[float, int]]) -> None:
    runs = eleven(monkeypatch, late)
    weaker = lambda name, gamma, seed: 300 if gamma == LARGE else 299 if name == "no norms" else 301
    found = attention.facts(runs, runs[:2], attention.ablated(Shelf(ablated(weaker)), "laptop"))
    n, others = len(late), len(EACH) - len(late)
    in_groups = [(sum(g >= 0.9 for g, _ in late), 2), (sum(g <= 0.7 for g, _ in late), 2)]
    assert values(found, "small", "large") == in_groups
    assert found["earlier"].value == (sum(map(attention.selects_late, runs[:2])), 2)
    assert found["told"].value == (6 if n == 6 else 5, 6)
    of_late = ("held-late", "off-late", "whole", "first-averaged", "second-averaged", "moved")
    assert values(found, *of_late) == (pytest.approx([0.5, 0.05, 0.9, 0.1, 0.8, 0.7], abs=1e-6) if n else [None] * 6)
    assert values(found, "held-other", "off-other") == (pytest.approx([0.7, 0.3], abs=1e-6) if others else [None] * 2)
    assert found["pairs"].value == (1.0 if n and others else None)  # one, at γ = .8
    assert values(found, "epsilon", "stays") == [pytest.approx(0.12), in_words(len(ABLATIONS) - 2)]
    assert (found["moved"].text == ABSENT) is not n
    # by seed: with SOME both rise, with EACH and with none neither does
    rise = 2 * (late == SOME)
    assert values(found, "more", "fewer", "neither") == [in_words(n) for n in (rise, 0, 2 - rise)]
    assert found["sign"].value == (0.25 if rise else 1)


def test_the_facts_of_other_scales() -> None:
    """Of two runs each the first has the paper's circuit with twice the rows and, later, at another width."""
    found_at = {"40,000 rows": [0.1, 0.6, 0.4, 0.7, 0.8], "60,000 rows": [0.6, 0.4, 0.4, 0.4, 0.4], "width 200": [0.6] * 5}
    groups = {}
    for name, specs in scale_specs("laptop").items():
        history = {"step": [200, 400, 600, 800, 1000], "reasoning": [0.01, 0.02, 0.03, 0.04, 0.05]}
        groups[name] = [
            replace(planted(spec, memory=0.5, **{"held out": share}), history=history | {"on the key": key})
            for spec, key, share in zip(specs[:2], (found_at[name], [0.4] * 5), (0.2, 0.6), strict=True)
        ]
    found = attention.facts_on_scale({"20,000 rows": []} | groups)
    assert values(found, "once-late", "once-memory") == [("none", "none"), None]
    assert values(found, "twice-late", "thrice-late", "wide-late") == [("one", "two"), ("none", "two"), ("one", "two")]
    assert values(found, "twice-held-late", "twice-held-other") == pytest.approx([0.2, 0.6])
    assert values(found, "thrice-held-late", "thrice-memory") == [None, 0.5]
    # the key was found before, and lost; at width 200 with less known
    assert values(found, "found-runs", "found", "found-known", "between") == ["two", 800, 0.04, 0.4]
    assert found["scale-p"].value == 0.25  # two settings with one run of either circuit


@pytest.mark.parametrize(
    ("late", "rise", "fall"), [([(0.6, 12)], 0, 1), ([(0.8, 12), (0.8, 13)], 0, 0), ([(0.9, 12), (0.6, 13)], 1, 1)]
)
def test_circuits_are_counted_by_seed(
    monkeypatch: pytest.MonkeyPatch, late: Sequence[tuple[float, int]], rise: int, fall: int
) -> None:
    """Between the two bounds of γ a run counts for neither side."""
    assert attention.by_seed(eleven(monkeypatch, late)) == (rise, fall, 2 - rise - fall)


@pytest.mark.parametrize("late", [SOME, EACH, []], ids=["both circuits", "the paper's alone", "the other alone"])
def test_rows_and_figures_of_circuits(monkeypatch: pytest.MonkeyPatch, late: Sequence[tuple[float, int]]) -> None:
    """A column, a colour or a mark for each circuit, which may be of no run."""
    runs = eleven(monkeypatch, late)
    kinds = {True: len(late), False: len(EACH) - len(late)}
    counts = [f"{sum(g == gamma for g, _ in late)} of 2" for gamma in (0.6, 0.8, 0.9)]
    rows = attention.circuit_rows(runs)
    assert [row[1] for row in rows] == counts
    assert [row[2] == "–" for row in rows] == [row[4] == "–" for row in rows] == [count == "0 of 2" for count in counts]
    assert [row[3] == "–" for row in rows] == [row[5] == "–" for row in rows] == [count == "2 of 2" for count in counts]
    chain = attention.chain_rows(runs)
    assert [(row[1] == "–", row[2] == "–") for row in chain] == [(not kinds[True], not kinds[False])] * 5
    if late == SOME:
        assert chain[0][1:] == ("0.05", "0.30")
        assert chain[3][1:] == ("0.60", "0.20 to 0.60")
        assert chain[4][1:] == ("0.90", "0.10")
    shown = [(run.spec.gamma, run.spec.seed) for run in attention.one_of_each(runs).values()]
    assert shown == ([(0.8, 12), (0.8, 13)] if late == SOME else [(0.6, 12)])

    (ax,) = drawn(attention_figures.circuits(runs, runs[:3]), 1)
    assert texts(ax) == counts
    for is_late, mark in ((True, "o"), (False, "s")):
        earlier = sum(attention.selects_late(run) for run in runs[:3])
        hollow, full = [line for line in ax.lines if line.get_marker() == mark]
        assert [hollow.get_mfc(), len(hollow.get_ydata())] == ["none", earlier if is_late else 3 - earlier]
        assert list(full.get_ydata()) == [HELD[is_late]] * kinds[is_late]
    figure = attention_figures.decided(runs, 15, 0.4, 0.125)
    for ax, end in zip(drawn(figure, 2), (0.3, 0.1), strict=True):
        lines = [line for line in ax.lines if len(line.get_xdata()) == 3]
        assert [float(line.get_ydata()[-1]) for line in lines] == pytest.approx([end] * 6)
        assert lines[0].get_xdata().tolist() == [1, 15, 200]
        colours = Counter(line.get_color() for line in lines)
        assert colours == {attention_figures.LOOK[is_late][0]: n for is_late, n in kinds.items() if n}
    assert len(legends(figure)) == 3  # both circuits, and chance


def test_one_run_of_each_circuit_is_from_the_smallest_start_that_has_both(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = eleven(monkeypatch, [(0.6, 12), (0.8, 13), (0.9, 12), (0.9, 13)])
    assert [(r.spec.gamma, r.spec.seed) for r in attention.one_of_each(runs).values()] == [(0.8, 13), (0.8, 12)]
