"""Measures of complexity, against planted structure, numpy and brute force; and the hook that watches them in training."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import make_tiny_spec
from hypothesis import given
from hypothesis import strategies as st
from planted_composition import new_seed
from torch import Tensor

from lib.composition.condensation.metrics import (
    condensation,
    greedy_groups,
    growth,
    growth_facts,
    late_change,
    lead,
    matrices,
    measures,
    neuron_cosines,
    row_compared,
    rows_facts,
)
from lib.composition.spectra import covariance_eigenvalues, keys_embedding, stable_rank, watch
from lib.composition.study import Composition, make_study
from lib.composition.variations import WIDTH, Watched, make_watched
from lib.core.model.init import apply_gamma_stacked
from lib.core.model.transformer import Transformer
from lib.core.read.fact import ABSENT
from lib.core.read.statistics import numerical_order, spearman
from lib.core.read.ways import BOTH, KEY_FIRST, PAIR_FIRST
from lib.core.record.store import Store, StoredRun, load
from lib.core.sweep.jobs import sweep
from lib.core.train.ensemble import Ask, Ensemble
from lib.core.train.loop import train
from lib.core.train.plan import Options

SEEDS = st.integers(0, 10**6)
PLAIN = Options(device="cpu", bf16=False, backend="eager")


def make_model(gammas: tuple[float, ...], **changes: Any) -> Transformer:
    model = Transformer(make_tiny_spec(**changes).model, len(gammas))
    apply_gamma_stacked(model, gammas, range(len(gammas)))
    return model


def weights_of(model: Transformer, run: int) -> dict[str, Tensor]:
    return {name: p[run].detach() for name, p in model.named_parameters()}


# ---------------------------------------------------------------- stable rank


@given(seed=SEEDS, n=st.integers(1, 12), m=st.integers(1, 12), scale=st.floats(1e-4, 1e4), sign=st.sampled_from([-1, 1]))
def test_stable_rank_is_that_of_the_svd_at_any_scale(seed: int, n: int, m: int, scale: float, sign: int) -> None:
    w = torch.tensor(np.random.default_rng(seed).normal(size=(n, m)))
    s = torch.linalg.svdvals(w)
    expected = ((s / s[0]) ** 2).sum().item()
    assert stable_rank(w).item() == pytest.approx(expected, rel=1e-5)
    assert stable_rank(sign * scale * w).item() == pytest.approx(expected, rel=1e-5)
    assert stable_rank(w.float().T).item() == pytest.approx(expected, rel=1e-4)
    assert 1 - 1e-6 <= expected <= min(n, m) + 1e-6


def test_stable_rank_of_a_stack_is_that_of_each() -> None:
    stack = torch.randn(2, 3, 7, 4, generator=torch.Generator().manual_seed(0))
    ranks = stable_rank(stack)
    assert ranks.shape == (2, 3)
    for i, j in product(range(2), range(3)):
        assert ranks[i, j].item() == pytest.approx(stable_rank(stack[i, j]).item())


def test_stable_rank_of_nothing_is_no_number() -> None:
    assert stable_rank(torch.zeros(3, 4)).isnan()


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(("norm", "head_bias"), [("post", True), ("pre", False)])
def test_matrices_are_those_of_the_blocks_alone(norm: str, head_bias: bool) -> None:
    model = make_model((0.5,), norm=norm, head_bias=head_bias, bias=True)
    found = matrices(weights_of(model, 0))
    parts = [*(f"attention.W_{name}" for name in "QKVO"), "W_1", "W_2"]
    assert set(found) == {f"blocks.{i}.{part}.weight" for i in range(2) for part in parts}
    assert torch.equal(found["blocks.1.W_2.weight"], model.blocks[1].W_2.weight[0])


# ---------------------------------------------------------------- condensation


def test_neurons_are_columns() -> None:
    weight = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 5.0]])
    assert neuron_cosines(weight).tolist() == [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


@given(seed=SEEDS, sizes=st.lists(st.integers(1, 6), min_size=1, max_size=6))
def test_planted_groups_are_found_in_any_order(seed: int, sizes: list[int]) -> None:
    """Orthogonal directions with a little noise, their columns permuted and scaled."""
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.normal(size=(10, 10)))[0][:, : len(sizes)]
    label = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    weight = directions[:, label] * rng.uniform(0.1, 10, len(label)) * (1 + 0.01 * rng.normal(size=(10, len(label))))
    groups = greedy_groups(neuron_cosines(weight))
    planted = {k: np.flatnonzero(label == k).tolist() for k in range(len(sizes))}
    assert sorted(groups) == sorted(planted.values())
    assert [group[0] for group in groups] == sorted(group[0] for group in groups)
    flipped = weight * rng.choice([-1, 1], len(label))
    assert condensation(neuron_cosines(flipped)) == pytest.approx(1 - len(sizes) / len(label))


def test_groups_gather_around_their_first() -> None:
    """0 is near 1, 1 is near 2, but 2 is not near 0, the neuron that is asked. The threshold itself is not above it."""
    cosine = np.array([[1, 0.8, 0.1, 0.7], [0.8, 1, 0.9, 0], [0.1, 0.9, 1, 0], [0.7, 0, 0, 1]])
    assert greedy_groups(cosine) == [[0, 1], [2], [3]]
    assert greedy_groups(cosine[np.ix_([1, 0, 2, 3], [1, 0, 2, 3])]) == [[0, 1, 2], [3]]


def test_condensation_ends() -> None:
    assert condensation(neuron_cosines(np.linalg.qr(np.random.default_rng(0).normal(size=(12, 12)))[0])) == 0
    one = np.outer(np.arange(1.0, 6), np.ones(50))
    assert condensation(neuron_cosines(one)) == pytest.approx(1 - 1 / 50)
    one[:, ::2] *= -1
    assert condensation(neuron_cosines(one)) == pytest.approx(1 - 1 / 50)


# ---------------------------------------------------------------- the embedding


@pytest.mark.parametrize(("n", "width"), [(80, 16), (10, 16), (7, 7)])
def test_covariance_eigenvalues_are_numpys(n: int, width: int) -> None:
    """More vectors than directions or fewer; with zeros for the directions that are not taken, in every run of a stack."""
    rng = np.random.default_rng(n)
    stack = rng.normal(size=(2, n, width)) @ rng.normal(size=(width, width)) + 5
    found = covariance_eigenvalues(torch.tensor(stack))
    assert found.shape == (2, width)
    for run in range(2):
        expected = np.sort(np.linalg.eigvalsh(np.cov(stack[run].T)))[::-1]
        np.testing.assert_allclose(found[run], expected, rtol=1e-4, atol=1e-3)


def test_keys_embedding_is_of_the_numbers() -> None:
    weights = weights_of(make_model((0.5,)), 0)
    assert np.array_equal(keys_embedding(weights), weights["embedding.token"].numpy()[20:100])


def test_numerical_order_of_lines_and_of_none() -> None:
    numbers = np.arange(80.0)
    line = numbers[:, None] * np.array([3.0, 4.0])  # all distances are exact
    assert numerical_order(line) == pytest.approx(1, abs=1e-12)
    assert numerical_order(line[::-1] + 7) == pytest.approx(1, abs=1e-12)
    rng = np.random.default_rng(0)
    assert numerical_order(numbers[:, None] * rng.normal(size=16)) > 0.999
    assert abs(numerical_order(line[rng.permutation(80)])) < 0.1
    circle = np.stack([np.cos(numbers * 2 * np.pi / 80), np.sin(numbers * 2 * np.pi / 80)], 1)
    assert numerical_order(circle) < 0.8


# ---------------------------------------------------------------- ranks


@given(pairs=st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 3)), min_size=3, max_size=30))
def test_spearman_is_scipys(pairs: list[tuple[int, int]]) -> None:
    """With ties on both sides."""
    stats = pytest.importorskip("scipy.stats")
    x, y = np.array(pairs, dtype=float).T
    if len(set(x)) > 1 and len(set(y)) > 1:
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    else:
        assert spearman(x, y) == 0


# ---------------------------------------------------------------- of whole models


def test_measures_of_a_planted_model() -> None:
    """Each in its place: W_Q(1) of one direction, the other blocks' matrices of full rank, an embedding on a line."""
    weights = weights_of(make_model((0.5,)), 0)
    spec = make_tiny_spec().model
    for name, w in weights.items():
        if name.startswith("blocks") and w.dim() == 2:
            weights[name] = torch.eye(*w.shape)
    weights["blocks.0.attention.W_Q.weight"] = torch.ones(spec.d_model, spec.d_k)
    weights["embedding.token"] = torch.arange(201.0)[:, None] * torch.ones(spec.d_model)
    found = measures(weights)
    assert found == pytest.approx(
        {
            "mean stable rank": (11 + 1 / 8) / 12,
            "stable rank of W_Q(1)": 1 / 8,
            "embedding's effective dimension": 1 / 16,
            "condensation of W_Q(1)": 1 - 1 / 8,
            "order of the embedding": 1,
        },
        abs=1e-5,
    )


def test_effective_dimension_by_hand() -> None:
    """Four corners have three equal directions; variances 4 and 1 count as (4 + 1)² / (4² + 1²)."""
    weights, token = weights_of(make_model((0.5,)), 0), torch.arange(201)
    sides = torch.stack([2.0 * (-1) ** token, 1.0 * (-1) ** (token // 2)], 1)
    for embedding, expected in ((2 * torch.eye(16)[token % 4], 3), (torch.nn.functional.pad(sides, (0, 14)), 25 / 17)):
        weights["embedding.token"] = embedding
        assert measures(weights)["embedding's effective dimension"] == pytest.approx(expected / 16, rel=1e-4)


def test_watch_agrees_with_measures() -> None:
    model = make_model((0.2, 0.5, 0.9), depth=3, bias=True, norm="pre")
    with torch.no_grad():
        model.blocks[1].W_1.weight[1] *= torch.linspace(0, 1, 32)
        model.blocks[0].attention.W_Q.weight[2, :, 1:] = 0
    found = watch(model)
    assert list(found) == [*(f"eigenvalue {i}" for i in range(1, 9)), "rank W_Q(1)", "rank"]
    assert {v.shape for v in found.values()} == {(3,)}
    assert not any(v.requires_grad for v in found.values())
    for run in range(3):
        weights = weights_of(model, run)
        measured = measures(weights)
        assert all(np.isfinite(v) for v in measured.values())
        assert found["rank"][run].item() == pytest.approx(measured["mean stable rank"], rel=1e-5)
        assert found["rank W_Q(1)"][run].item() == pytest.approx(measured["stable rank of W_Q(1)"], rel=1e-5)
        eigenvalues = np.linalg.eigvalsh(np.cov(keys_embedding(weights).T))[::-1][:8]
        np.testing.assert_allclose([found[f"eigenvalue {i}"][run] for i in range(1, 9)], eigenvalues, rtol=1e-4)
    assert found["rank W_Q(1)"][2] == pytest.approx(1 / 8)


def test_watch_keeps_as_many_eigenvalues_as_there_are() -> None:
    found = watch(make_model((0.5,), d_model=4))
    assert [name for name in found if name.startswith("eigenvalue")] == [f"eigenvalue {i}" for i in range(1, 5)]


# ---------------------------------------------------------------- watched while they train

WATCHED = {*(f"eigenvalue {i}" for i in range(1, 9)), "rank", "rank W_Q(1)"}


def test_a_watched_run_keeps_the_history_of_its_weights(tmp_path: Path) -> None:
    """As long as that of its steps, ending with the weights that are kept, and read back from the store."""
    (spec,) = WIDTH.specs("smoke")[:1]
    assert type(WIDTH.make_study(spec)) is Watched
    (result,) = train([spec], make_watched(spec), PLAIN)
    measured = Composition().measure(Ask(Ensemble(spec, 1, torch.device("cpu"), torch.float32, "eager")))
    assert result.history.keys() == {"step", "loss", *measured, *WATCHED}
    assert len(result.history["step"]) == spec.train.steps // spec.train.eval_every > 1
    assert {len(values) for values in result.history.values()} == {len(result.history["step"])}
    assert len(set(result.history["rank"])) > 1
    last = measures(result.weights)
    assert result.history["rank"][-1] == pytest.approx(last["mean stable rank"], rel=1e-5)
    assert result.history["rank W_Q(1)"][-1] == pytest.approx(last["stable rank of W_Q(1)"], rel=1e-5)
    assert result.metrics.keys() == measured.keys()
    store = Store(tmp_path)
    sweep([spec], store, make_watched, PLAIN, progress=False)
    (stored,) = load([spec], store)
    assert stored.history["rank"] == pytest.approx(result.history["rank"], rel=1e-5)


def test_watching_changes_nothing_else() -> None:
    """Two slots: each run gets its own numbers, and a study that does not watch trains the same."""
    (spec,) = WIDTH.specs("smoke")[:1]
    specs = [spec, replace(spec, gamma=spec.gamma + 0.5)]
    watched = {r.spec: r for r in train(specs, make_watched(spec), PLAIN)}
    plain = {r.spec: r for r in train(specs, make_study(spec), PLAIN)}
    for s in specs:
        assert {n: v for n, v in watched[s].history.items() if n not in WATCHED} == plain[s].history
        assert watched[s].metrics == plain[s].metrics
        (alone,) = train([s], make_watched(s), PLAIN)
        for name in WATCHED:
            assert watched[s].history[name] == pytest.approx(alone.history[name], rel=1e-3)
    ranks = [watched[s].history["eigenvalue 1"][0] for s in specs]
    assert ranks[0] != pytest.approx(ranks[1], rel=0.1)


def test_a_diverged_run_is_watched_to_its_end() -> None:
    """It has no numbers any more; the others of its ensemble go on."""
    (spec,) = WIDTH.specs("smoke")[:1]
    wild = replace(spec, rate=1e30)
    results = {r.spec: r for r in train([spec, wild], make_watched(spec), PLAIN)}
    assert results[wild].status == "diverged"
    assert results[wild].history["rank"][-1] is None
    assert all(value is not None for value in results[spec].history["rank"])


# ---------------------------------------------------------------- over runs


def test_growth_by_hand() -> None:
    """The first step at a tenth of the largest value, which may come and go; what was not finite is no value."""
    history = {"step": [100, 200, 300, 400]}
    history |= {
        "eigenvalue 1": [0.99, 1.0, 10.0, 2.0],
        "eigenvalue 2": [None, 0.1, None, 1.01],
        "eigenvalue 3": [0.0] * 3 + [5.0],
    }
    assert growth(replace(new_seed(), history=history)) == [200, 400, 400]


def test_settling_is_asked_of_the_last_quarter_before_the_rate_falls() -> None:
    """Of the steps, whatever becomes of the eigenvalue before and after them. The rate falls 6,000 steps after the rows are
    known, and at the latest 10,000 before the end."""
    run = new_seed()
    values = [1.0, 2, 3, 4, 5, 6, 7, 8, 8.8, 8, 90, 90]
    changes = lambda step, fit: late_change(
        replace(run, history={"step": [step * i for i in range(1, 13)], "eigenvalue 1": values}, fit_step=fit)
    )
    assert changes(1000, 4000) == pytest.approx(0.1)
    assert changes(6000, None) == changes(6000, 69_000) == pytest.approx(0.1)
    assert changes(6000, 0) == float("inf")  # a single evaluation
    cosine = replace(run.spec, train=replace(run.spec.train, schedule="cosine", anneal=0, steps=10_000))
    run = replace(run, spec=cosine)
    assert changes(1000, 0) == pytest.approx(0.1)


def test_the_lead_is_the_least_once_the_largest_has_grown() -> None:
    history = {"step": [100, 200, 300, 400], "eigenvalue 1": [0.5, 6.0, 10.0, None], "eigenvalue 2": [0.5, 2.0, 4.0, 9.0]}
    assert lead(replace(new_seed(), history=history)) == pytest.approx(2.5)  # before a tenth of 10 it is 1


def test_growth_is_told_of_runs_that_had_learned() -> None:
    """The rate falls at 7,000, so that its last quarter begins at 5,250."""
    after = lambda n, end=9.0: [0.1] * n + [end] * (8 - n)

    def grown(gamma: float, offset: int, learned: int, *histories: list[float]) -> StoredRun:
        steps = list(range(1000, 9000, 1000))
        history = {"step": steps, "train": [0.99 if step >= learned else 0.98 for step in steps]}
        history |= {f"eigenvalue {i + 1}": values for i, values in enumerate(histories)}
        return replace(new_seed(gamma, offsets={offset: 1.0}), history=history, fit_step=1000)

    flat = ([9.0] * 7 + [18.0], after(0, 8.0), after(0, 7.0))
    ahead = ([9.0] * 7 + [18.0], after(0, 5.0), after(0, 4.0))
    later = [
        grown(0.95, -10, 5000, [1, 9, 9, 9, 9, 8, 10, 11], after(2, 4.0), after(3, 3.0)),  # 3,000 is half again 2,000
        grown(0.95, -10, 2000, [9.0] * 5 + [10, 14, 20], after(2, 4.0), after(2, 3.0)),
        grown(1.1, -6, 2000, *flat),
        grown(1.1, -10, 6000, *ahead),  # learned too late to be asked, but before the rate falls
        grown(1.4, -6, 7000, *flat),
        grown(1.4, -6, 8000, *flat),
        grown(0.75, -6, 9000, *flat),  # not small
    ]
    high = [grown(1.25, -10, 2000, after(1), after(2, 3.0), after(3, 2.0)), grown(1.25, -10, 2000, *ahead)]
    said = {name: fact.text for name, fact in growth_facts(high, later).items()}
    assert said["grow-late"] == "one of two"
    counts = {"runs": "six", "follow": "two", "turn": "one", "unlearned": "one"}
    counts |= {"settled": "three", "composed": "two", "table": "one"}
    assert {name: said[f"judged-{name}"] for name in counts} == counts
    assert (said["composed-change"], said["table-change"], said["table-gain"]) == ("25% to 40%", "0%", "100%")
    assert (said["lead-composing"], said["lead-others"]) == ("1.8", "1.1")
    assert (said["hold"], said["known"], said["learned"]) == ("6,000", "95%", "99%")
    none = {name: fact.text for name, fact in growth_facts([], later[-1:]).items()}
    assert (none["judged-runs"], none["composed-change"], none["table-gain"], none["lead-others"]) == ("none", *[ABSENT] * 3)


def test_rows_are_counted_with_and_without_composing(telling: None) -> None:
    """A row, steps of three or four, and steps of two: what is told of those that go key first is not of those that compose."""
    shares = {"row": (0.9, 0.1, 0, 0), "strands": (0.1, 0.1, 0.4, 0.4), "other": (0, 1, 0, 0)}

    def seed(gamma: float, way: str, lies: str, **offsets: float) -> StoredRun:
        told = {int(name[1:]) * -1: share for name, share in offsets.items()}
        return new_seed(gamma, 0, way, told, step_shares=np.array([*shares[lies], *[0] * 5]))

    later = [
        seed(1.1, KEY_FIRST, "row", m10=0.4, m11=0.6),
        seed(1.1, KEY_FIRST, "strands", m10=0.4, m11=0.6),
        seed(1.1, KEY_FIRST, "strands", m6=1.0),
        seed(1.1, KEY_FIRST, "row", m6=1.0),
        seed(1.1, PAIR_FIRST, "strands", m10=1.0),
        seed(1.1, PAIR_FIRST, "other", m6=1.0),
        seed(0.75, PAIR_FIRST, "strands", m10=1.0),
    ]
    said = {name: fact.text for name, fact in rows_facts(later).items()}
    expected = {"composing": "four", "rows": "one", "first-composing": "two", "first": "four", "first-rows": "two"}
    expected |= {"slips": "two", "both": "one", "first-strands": "two", "others": "three", "other-strands": "two"}
    assert {name: said[f"later-{name}"] for name in expected} == expected
    assert said["row-all-p"] == "0.2"  # of the 15 pairs that may not go key first, 3 have shares as small
    assert said["strands-p"] == "0.67"  # one of three has none, and two of three go key first


def test_rows_are_compared_among_runs_that_compose(telling: None) -> None:
    def row(way: str, one: float, offset: int = -10) -> StoredRun:
        return new_seed(1.25, 0, way, {offset: 0.8}, step_shares=np.array([one, 1 - one, *[0] * 7]))

    runs = [row(KEY_FIRST, 0.9), row(PAIR_FIRST, 0.1), row(BOTH, 0.3)]
    strayed = row(PAIR_FIRST, 1.0, -6)
    found = row_compared([*runs, strayed])
    assert (found.share, found.p) == pytest.approx((1, 1 / 3))
    assert row_compared([runs[0], strayed]) is None
