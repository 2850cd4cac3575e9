"""Where a figure is not the paper's, and the verdicts of chapters 3 to 8: on planted results every sentence can be known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from test_analysis import make_run
from test_claims_of_mechanisms import STORE, an_auc, flat, one_factor, turning

from lib.book import engine
from lib.composition import palette, words
from lib.composition.condensation import figures as condensation_figures
from lib.composition.condensation import metrics as condensation
from lib.composition.condensation import prose as condensation_prose
from lib.composition.condensation.metrics import Auc
from lib.composition.gpt2 import figures as gpt2_figures
from lib.composition.gpt2 import metrics as gpt2
from lib.composition.information_flow import figures as flow_figures
from lib.composition.information_flow import metrics as flow
from lib.composition.information_flow import prose as flow_prose
from lib.composition.information_flow.metrics import EDGES, Cuts, Flow
from lib.composition.phases import Phase
from lib.composition.rate_decay_data import figures as rate_decay_figures
from lib.composition.rate_decay_data import metrics as rate_decay
from lib.composition.task import LENGTH
from lib.composition.trends import BY_DECAY, BY_GAMMA, BY_RATE
from lib.composition.variations import FACTORS, factor_specs
from lib.composition.vectors import figures as vectors_figures
from lib.composition.vectors import metrics as vectors
from lib.composition.width import figures as width_figures
from lib.composition.width import metrics as width
from lib.core.read.fact import ABSENT
from lib.core.record.store import StoredRun

NAMES = list(EDGES)
KEY, FIRST, SECOND, LAST = 2, 3, 4, LENGTH - 1


def costs(depth: int, given: dict[tuple[int, str], float]) -> np.ndarray:
    found = np.zeros((1, depth, len(EDGES)))
    for (layer, name), value in given.items():
        found[0, layer - 1, NAMES.index(name)] = value
    return found


def phase(mapping: str, depth: int = 2, n: int = 1, genuine: bool = True) -> Phase:
    return Phase(mapping, depth, tuple(make_run(depth=depth, seed=s, **{mapping: 0.9}) for s in range(n)), genuine)


# --- Chapter 3 ---


def flow_along(*edges: tuple[int, int, int]) -> Flow:
    """Every token reads itself, but for the given (layer, source, query)."""
    attention = np.stack([np.eye(LENGTH)] * 2)
    for layer, source, query in edges:
        attention[layer - 1, query] *= 0.5
        attention[layer - 1, query, source] = 0.5
    return Flow(np.zeros(LENGTH, dtype=int), KEY, attention, 0)


def plant_drops(monkeypatch: pytest.MonkeyPatch, drops: Callable[[Phase], np.ndarray]) -> None:
    """Costs of classes of edges; a single edge costs what its class does."""
    of = [NAMES.index(next(c for c, (s, q) in EDGES.items() if e[0] in s and e[1] in q)) for e in flow.EDGE_ROLES]
    monkeypatch.setattr(flow_prose, "drops", drops)
    monkeypatch.setattr(flow, "drops", drops)
    monkeypatch.setattr(flow, "edge_drops", lambda p: drops(p)[:, :, of])


def test_the_papers_routes_are_known_and_so_is_what_they_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_drops(monkeypatch, lambda p: costs(2, {(1, "anchors → last"): 0.5, (2, "key → last"): 0.2}))
    symmetric = flow_along((1, FIRST, LAST), (1, SECOND, LAST), (2, KEY, LAST))
    assert flow.drawn_steps(symmetric) == flow.ROUTES["symmetric"]
    half = flow_along((1, KEY, FIRST), (2, FIRST, LAST), (2, KEY, LAST))
    text = flow_prose.route_text([phase("symmetric"), phase("inferential")], [symmetric, half])
    papers, other = text.splitlines()
    assert papers.startswith(
        "- **Symmetric, 2 layers: the paper's route.** Edges of the paper's route that this model needs: first anchor → last in"
    )
    assert papers.endswith("second anchor → last in layer 1. Edges that it needs beside them: none.")
    assert "not the paper's route" in other
    assert "2 are on the essential path" in other
    assert "Missing: key → second anchor in layer 1 and second anchor → last in layer 2." in other
    assert "Added: key → last in layer 2." in other
    assert "does not bring the second anchor to the last token" in other
    assert other.endswith("beside them: first anchor → last in layer 1 and second anchor → last in layer 1.")
    lone = flow_prose.route_text([phase("inferential")], [flow_along((2, KEY, LAST))])
    assert "does not bring the first anchor and second anchor to the last token" in lone


def test_the_order_of_the_two_steps_counts() -> None:
    assert flow.composes_in_order(costs(3, {(1, "key → anchors"): 0.9, (2, "anchors → last"): 0.9})[0])
    assert not flow.composes_in_order(costs(3, {(3, "key → anchors"): 0.9, (2, "anchors → last"): 0.9})[0])
    assert not flow.composes_in_order(costs(3, {(1, "key → anchors"): 0.9})[0])


def test_misses_are_counted_on_either_side_of_key_30(monkeypatch: pytest.MonkeyPatch) -> None:
    offsets = np.full((80, 7), -10)
    offsets[:5] = -6  # half of the keys below 30
    offsets[10:15] = -9  # 5 of the 70 others
    monkeypatch.setattr(flow_prose, "offsets_by_key", lambda run: offsets)
    text = flow_prose.misses_text([phase("symmetric"), phase("inferential", n=2)])
    assert "The 2 inferential runs" in text
    assert "50% of the questions with a key below 30 and in 7% of the others; 50% of all" in text
    assert "No run is inferential" in flow_prose.misses_text([phase("symmetric"), phase("inferential", genuine=False)])


def test_the_verdict_on_routes_follows_the_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = {
        ("symmetric", 2): costs(2, {(1, "anchors → last"): 0.9, (2, "key → last"): 0.8}),
        ("inferential", 2): costs(2, {(1, "key → anchors"): 0.9, (2, "anchors → last"): 0.9, (1, "anchors → last"): 0.6}),
        ("inferential", 3): costs(3, {(1, "key → anchors"): 0.9, (2, "anchors → last"): 0.9}),
    }
    drops = lambda p: planted[p.mapping, p.depth]
    plant_drops(monkeypatch, drops)
    text = flow_prose.routes([phase(m, d) for m, d in planted])
    assert text.startswith(
        "**By what cuts cost, 1 of 1 symmetric run of two layers needs every edge of the route that the paper "
    )
    assert "the only inferential one needs 4 of the 4 edges of its route.** In 1 of 1 inferential run of three layers" in text
    away = flow_prose.taken_away([phase(m, d) for m, d in planted])
    assert "- **Symmetric, two layers**: 1 of 1 run needs every edge of the paper's route.\n" in away
    assert away.endswith("route. On average it also costs much to cut anchors → last in layer 1.")
    planted["inferential", 2][0, 0] = 0
    assert "the only inferential one needs 2 of the 4 edges of its route.**" in flow_prose.routes([phase("inferential")])
    assert (
        "**: 0 of 1 run need every edge of the paper's route; the others need only first anchor → last in layer 2 and "
        in flow_prose.taken_away([phase("inferential")])
    )
    other = costs(2, {(1, "key → anchors"): 0.9, (2, "anchors → last"): 0.9})
    one = planted["symmetric", 2]
    planted["symmetric", 2] = np.concatenate([one, other, other])
    crossed = flow_prose.routes([phase("symmetric", n=3)])
    assert "1 of 3 symmetric runs of two layers needs every edge of the route that the paper draws; 2, at γ ≤ " in crossed
    assert "need the inferential route instead" in crossed
    met = costs(2, {(1, "key → anchors"): 0.9, (1, "anchor → anchor"): 0.9, (2, "anchors → last"): 0.9})
    planted["symmetric", 2] = met
    assert "1, at γ ≤ 0.5, needs the inferential route" in flow_prose.routes([phase("symmetric")])
    with monkeypatch.context() as patch:
        inside = flow.edge_drops
        keep = np.array(
            [query != "first anchor" and edge != ("first anchor", "last") for edge in flow.EDGE_ROLES for query in edge[1:]]
        )
        patch.setattr(flow, "edge_drops", lambda p: inside(p) * keep)
        assert "1, at γ ≤ 0.5, gathers key and first anchor at the second anchor.**" in flow_prose.routes([phase("symmetric")])
        gathered = flow_prose.taken_away([phase("symmetric")])
        assert "the others need key and first anchor gathered at the second anchor (1 run)" in gathered
    assert "the others need the inferential route (1 run)." in flow_prose.taken_away([phase("symmetric")])
    planted["symmetric", 2] = one * 0.1
    assert "0 of 1 symmetric run of two layers need every edge of the route that the paper draws.**" in flow_prose.routes(
        [phase("symmetric")]
    )
    assert "No run is decided enough" in flow_prose.routes([phase("symmetric", genuine=False)])
    assert "no run of two layers is decided enough" in flow_prose.taken_away([])


def test_cuts_are_told_by_how_many_runs_need_them(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = np.concatenate([costs(2, {(1, "anchors → last"): 0.9, (2, "key → last"): 0.9 * (s < 1)}) for s in range(2)])
    monkeypatch.setattr(flow_prose, "drops", lambda p: planted)
    monkeypatch.setattr(flow_prose, "agreement", lambda p: (2, 1, 1))
    text = flow_prose.cuts_text([phase("symmetric", n=2)])
    assert "(2 runs): all runs depend on anchors → last in layer 1; some on key → last in layer 2." in text
    assert text.endswith(
        "3 classes are drawn, of which 2 are causal (2 of 3 in symmetric runs); of 3 causal ones, 1 is not drawn."
    )
    every = flow_prose.cuts_text([phase("symmetric")], [phase("symmetric"), phase("inferential", depth=4)])
    assert every.endswith(
        "drawn, of which 4 are causal (2 of 3 in symmetric runs and 2 of 3 in inferential runs); of 6 causal ones, 2 are not "
        "drawn."
    )
    planted[:, 0] = 0
    planted[:, 1] *= np.array([1, 0])[:, None]
    assert "(2 runs): some depend on key → last in layer 2." in flow_prose.cuts_text([phase("symmetric", n=2)])
    planted[:] = 0
    assert "no class of edges matters to many runs" in flow_prose.cuts_text([phase("symmetric", n=2)])


def test_patches_say_where_a_difference_sits(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [phase("symmetric"), phase("inferential", n=2)]
    last = lambda own, moved: {
        what: np.array([[own if r == what else moved if r == "last" else 0.0 for r in flow.ROLES]]) for what in flow.ROLES[:3]
    }
    plant = lambda *each: monkeypatch.setattr(flow, "patch_effects", lambda run: each[runs.index(run)])
    runs = [run for group in groups for run in group.runs]
    plant(last(0.1, 0.8), last(0.4, 0.2), last(0.3, 0.2))
    text = flow_prose.patch_text(groups, {groups[0].title: last(0.1, 0.8), groups[1].title: last(0.4, 0.2)})
    assert "symmetric models the difference between two anchors has moved to the last token.\n" in text
    assert text.endswith("from its own place than from the last token.")
    plant(last(0.1, 0.8), last(0.8, 0.1), last(0.0, 0.9))
    text = flow_prose.patch_text(groups, {groups[0].title: last(0.1, 0.8), groups[1].title: last(0.4, 0.2)})
    assert "symmetric models the difference between two anchors has moved to the last token.\n" in text
    assert text.endswith("from its own place than from the last token in 1 of 2 runs (inferential, 2 layers).")
    plant(last(0.8, 0.1), last(0.6, 0.8), last(0.6, 0.8))
    text = flow_prose.patch_text(groups, {groups[0].title: last(0.8, 0.1), groups[1].title: last(0.6, 0.8)})
    assert text.count(" in none.") == 2
    assert "still acts mostly from its own place: symmetric, 2 layers and inferential, 2 layers. For an inferential" in text


# --- Chapter 4 ---


def plant_contrasts(monkeypatch: pytest.MonkeyPatch, centred: bool = True, plain: bool = True) -> None:
    """Contrasts that go with the inferential share, or not; cosines of equal answers that go with the symmetric share."""
    value = lambda on: lambda r: np.full(2, on * r.metrics["inferential"] + 0.01 * r.spec.seed)
    monkeypatch.setattr(vectors, "last_token", value(plain))
    monkeypatch.setattr(vectors, "last_token_centred", value(centred))
    monkeypatch.setattr(vectors, "at_anchor", value(False))
    monkeypatch.setattr(vectors, "at_anchor_plain", lambda r: 0.01 * r.spec.seed)
    monkeypatch.setattr(vectors, "answers", lambda r: (0.9 - r.metrics["symmetric"] / 2, 0.3))


def in_both(n: int, depth: int = 3, other: int | None = None) -> dict[str, list[StoredRun]]:
    many = {"symmetric": n, "inferential": n if other is None else other}
    return {m: [make_run(depth=depth, seed=s, **{m: 0.9}) for s in range(k)] for m, k in many.items()}


def test_facts_on_vectors_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_contrasts(monkeypatch)
    said = {name: fact.text for name, fact in vectors.facts(in_both(6)).items()}
    assert (said["plain-pairs"], said["plain-p"]) == ("100%", "0.0011")  # 1 of 924 draws of six from twelve
    assert (said["anchor-pairs"], said["symmetric-equal"], said["inferential-equal"]) == ("50%", "0.45", "0.90")
    assert (said["two-layers-inferential"], said["symmetric-runs"]) == ("none", "6")
    plant_contrasts(monkeypatch, plain=False)
    said = {name: fact.text for name, fact in vectors.facts(in_both(6, depth=2)).items()}
    assert (said["plain-pairs"], said["centred-pairs"], said["two-layers-symmetric"]) == ("50%", "100%", "six")


def test_facts_on_vectors_where_there_is_nothing_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_contrasts(monkeypatch)
    said = {name: fact.text for name, fact in vectors.facts({"symmetric": in_both(2)["symmetric"]}).items()}
    assert {said[name] for name in ("plain-pairs", "plain-p", "inferential-equal", "plain-rho")} == {"–"}
    assert said["plain-falls"] == "none of none"


def test_gamma_is_asked_within_a_phase_and_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    plant = lambda name, sign: monkeypatch.setattr(vectors, name, lambda r: np.full(2, sign * r.spec.gamma))
    runs = {"inferential": [make_run(gamma=g) for g in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)]}
    plant("last_token", -1)
    assert vectors.gamma_trends(runs, vectors.PLAIN)["inferential", 2][0] == pytest.approx(-1)
    plant("last_token", 1)
    assert vectors.gamma_trends(runs, vectors.PLAIN)["inferential", 2][1] > 0
    for few in ({"inferential": runs["inferential"][:4]}, {"inferential": [make_run(gamma=0.5, seed=s) for s in range(6)]}):
        assert vectors.gamma_trends(few, vectors.PLAIN) == {}


# --- Chapter 5 ---


def test_panels_say_what_their_models_answer() -> None:
    large, small = [make_run(gamma=0.5, symmetric=0.9)], [make_run(gamma=0.8, inferential=0.7, symmetric=0.1)]
    assert condensation_prose.panel_title(small) == "γ = 0.8: symmetric 0.10, inferential 0.70"
    assert condensation_prose.panel_title([*large, make_run(gamma=0.5)]) == "γ = 0.5: 1 symmetric, 1 neither"
    assert "the two are the paper's two phases.**" in condensation_prose.pair_text(large, small)
    assert "the other way round" in condensation_prose.pair_text(small, large)
    assert "are not the paper's two phases" in condensation_prose.pair_text(large, large)


def test_steps_of_strands_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = {0.5: np.arange(80) % 10 + 1, 1.0: np.full(80, 3)}
    monkeypatch.setattr(condensation, "neighbour_steps", lambda run: steps[run.spec.gamma])
    assert condensation.common_step(make_run(gamma=1.0)) == (3, 1.0)
    text = condensation_prose.neighbours_text([make_run(gamma=g, seed=s) for g in steps for s in range(2)])
    assert (
        "**In 2 of 4 models neighbours differ by a fixed step**, and in 2 of the 4 at γ = 0.5 and 1 (a step of 3 in 2)" in text
    )
    assert "| 2 | –, – | 3, 3 |" in text
    assert "and in 0 of the 1 at γ = 0.5. The" in condensation_prose.neighbours_text([make_run(gamma=0.5)])


def with_measures(monkeypatch: pytest.MonkeyPatch, value: Callable[[StoredRun], float]) -> None:
    """Weights that are the simpler, by both measures that are asked, the larger the value of a run."""
    measured = lambda run: {name: value(run) for name in ("condensation of W_Q(1)", "order of the embedding")}
    for module in (condensation, condensation_prose):
        monkeypatch.setattr(module, "measures_of", measured)


def test_a_twin_has_the_other_answer_and_the_nearest_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    with_measures(monkeypatch, lambda run: run.spec.gamma)
    example = make_run(gamma=1.0, inferential=0.9)
    near, far = make_run(gamma=0.95, symmetric=0.8), make_run(gamma=0.4, symmetric=1.0)
    others = [make_run(gamma=1.0, seed=1, symmetric=1.0, test=0.5), make_run(gamma=1.0, depth=3, symmetric=1.0)]
    assert condensation.twin([example, far, near, *others], example) is near  # fitted, and of the same depth
    text = condensation_prose.twin_text([example, far, near, *others], example)
    assert text.startswith("**Weights as simple are found with the other answer, too**: the symmetric run whose five measures")
    assert "has condensation 0.95 and order 0.95 (γ = 0.95, width" in text
    assert "symmetric share 0.80), against condensation 1.00 and order 1.00. So it is small weights" in text
    less = condensation_prose.twin_text([example, far], example)
    assert less.startswith("**The nearest weights of the other answer are less simple**")
    assert "So it is" not in less
    assert "cannot be asked" in condensation_prose.twin_text([example, *others], example)


def test_panels_of_one_setting_are_told_from_others() -> None:
    one = make_run()
    wide = replace(one, spec=replace(one.spec, model=replace(one.spec.model, d_model=400)))
    assert condensation_prose.settings_text([one, one]).startswith("Both have width ")
    assert condensation_prose.settings_text([wide, one]).startswith("The two differ in more than γ: width 400, batch ")


def test_condensation_is_asked_within_a_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    with_measures(monkeypatch, lambda run: run.spec.gamma - run.spec.model.depth)
    answers = {2: (0.0, 0.6, 0.9), 3: (0.9, 0.6, 0.0)}
    runs = [
        make_run(depth=d, gamma=g, inferential=a) for d in answers for g, a in zip((0.3, 0.6, 0.9), answers[d], strict=True)
    ]
    text = condensation_prose.panels_text(runs)
    assert text.startswith(
        "Of the 2 models of all depths and seeds with γ above 0.6, 1 answer (4, 3) mostly by composition and 0 "
    )
    assert "| 2 | 3 | +1.00 | +1.00 |" in text
    assert "| 3 | 3 | +1.00 | -1.00 |" in text


@pytest.mark.parametrize(
    ("gamma", "rank", "words"),
    [
        (an_auc(0.5, 0.4, 0.6), an_auc(0.55, 0.4, 0.7), "But neither γ nor any measure of simplicity tells which"),
        (
            an_auc(0.2, 0.1, 0.3),
            an_auc(0.55, 0.4, 0.7),
            "But the initialization rate γ tells which of the two answers a fitted run gives, and no",
        ),
        (
            an_auc(0.9, 0.8, 1.0),
            an_auc(0.7, 0.6, 0.8),
            "How simple the weights are foretells the answer no better than γ itself",
        ),
        (
            an_auc(0.6, 0.4, 0.8),
            an_auc(0.7, 0.6, 0.8),
            "How simple the weights are foretells the answer somewhat better than γ itself",
        ),
        (an_auc(0.6, 0.5, 0.7), an_auc(0.95, 0.9, 1.0), "How simple the weights are foretells the answer better than γ itself"),
    ],
)
def test_the_verdict_on_simple_weights(monkeypatch: pytest.MonkeyPatch, gamma: Auc, rank: Auc, words: str) -> None:
    by = {"γ": np.arange(5.0), "mean stable rank": -np.arange(5.0), "condensation of W_Q(1)": np.arange(5.0)}
    monkeypatch.setattr(condensation_prose, "scores", lambda runs: by)
    text = condensation_prose.simplicity([make_run()] * 5, {"γ": gamma, "rank": rank})
    assert text.startswith("**The smaller the initialization, the simpler the weights.**")
    assert f"**{words}" in text
    assert "(γ: {:.2f} [{:.2f}, {:.2f}]; the best measure, rank: {:.2f} [".format(*gamma[:3], rank[0]) in text
    monkeypatch.setattr(condensation_prose, "scores", lambda runs: {name: -v for name, v in by.items()} | {"γ": by["γ"]})
    assert "do not get simpler here.** **" in condensation_prose.simplicity([make_run()] * 5, {"γ": gamma, "rank": rank})


def by_depth(inferential: int = 5) -> list[StoredRun]:
    """Fitted runs of depths 2 and 3, each with 5 symmetric ones and some inferential ones after them; γ is one for all."""
    leans = [(s, float(s < 5)) for s in range(5 + inferential)]
    return [make_run(depth=d, seed=s, symmetric=y, inferential=1 - y) for d in (2, 3) for s, y in leans]


def plant_ranks(monkeypatch: pytest.MonkeyPatch, value: Callable[[StoredRun], float]) -> None:
    measured = lambda run: {"mean stable rank": value(run), "condensation of W_Q(1)": -value(run)}
    monkeypatch.setattr(condensation, "measures_of", measured)


def test_groups_tell_by_their_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    higher = {2: 1.0, 3: -1.0}
    plant_ranks(monkeypatch, lambda r: higher[r.spec.model.depth] * r.spec.seed)
    runs = by_depth()
    text = condensation_prose.depth_text(runs)
    assert (
        "(5 symmetric and 5 inferential runs): by mean stable rank and condensation of W_Q(1) inferential runs have the less "
        "simple weights.\n" in text
    )
    assert "have the simpler weights.\n" in text
    assert "**Groups do not agree on the direction**" in text
    higher[3] = 1.0
    assert "direction, inferential runs have the higher mean stable rank**" in condensation_prose.depth_text(runs)
    higher[3] = 0.0
    one = condensation_prose.depth_text(runs)
    assert "neither γ nor any measure tells the two apart." in one
    assert "direction, inferential runs have the higher mean stable rank**" in one
    higher[2] = 0.0
    assert "**No group that can be asked shows a direction**" in condensation_prose.depth_text(runs)
    few = condensation_prose.depth_text(by_depth(inferential=4))
    assert few.startswith("- Too few symmetric or inferential runs: ")
    assert ", depth 2 (5 and 4); " in few
    assert "direction" not in few


def test_gamma_is_named_where_it_tells() -> None:
    told = condensation_prose._told
    sure, rank = an_auc(0.9, 0.8, 1.0), "mean stable rank"
    assert told({"γ": sure, rank: an_auc(0.5, 0.4, 0.6)}) == "inferential runs have the larger γ"
    assert told({"γ": an_auc(0.1, 0.0, 0.2), rank: sure}) == (
        "inferential runs have the smaller γ and by mean stable rank the less simple weights"
    )
    assert told({"γ": an_auc(0.5, 0.4, 0.6), "order of the embedding": sure}) == (
        "by order of the embedding inferential runs have the simpler weights"
    )
    assert told({"γ": an_auc(0.5, 0.4, 0.6), "order of the embedding": sure, rank: sure}).endswith(
        "the now simpler, now less simple weights"
    )
    assert told({"γ": an_auc(0.5, 0.4, 0.6), rank: an_auc(0.5, 0.4, 0.6)}) == ""


def test_what_is_found_may_hang_on_who_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fitted runs cannot tell; those that are not fitted, or only just, turn the sign."""
    plant_ranks(monkeypatch, lambda r: r.spec.rate)
    pair = lambda n, symmetric, inferential, **given: [
        make_run(seed=s + n, rate=rate, symmetric=m, inferential=1 - m, **given)
        for s in range(8)
        for rate, m in ((symmetric, 1.0), (inferential, 0.0))
    ]
    strict, just, out = pair(0, 0.1, 0.2), pair(10, 0.2, 0.1, test=0.95), pair(20, 0.2, 0.05, test=0.5)
    runs = [*strict, *just, *out, *pair(30, 0.3, 0.01, test=0.5)]
    assert [len(some) for some in condensation.rules(runs).values()] == [64, 32, 16]
    text = condensation_prose.rules_text(runs)
    assert text.startswith("**Who is counted decides which way the measures point.**")
    assert "| all runs | fitted runs | runs right in 99% of the seen pairs |" in text
    assert "| inferential and symmetric runs | 32 and 32 | 16 and 16 | 8 and 8 |" in text
    assert "| pairs of one experiment and depth | 1024 | 256 | 64 |" in text
    assert "| **1.00 [1.00, 1.00]** |" in text
    assert ", depth 2: 32 inferential and 32 symmetric among all runs, 16 and 16 among the fitted." in text
    said = condensation_prose.taken_away(runs)
    assert said.startswith(
        "**Neither γ nor any measure of simplicity tells which of the two answers a fitted run gives**, between"
    )
    assert (
        "It hangs on who is counted: among all runs, by mean stable rank and condensation of W_Q(1) inferential runs have "
        in said
    )
    assert said.endswith("inferential runs have the less simple weights.")
    assert condensation_prose.rules_text(strict).startswith(
        "**The rule does not matter**: the direction is the same under each."
    )
    assert "hangs on" not in condensation_prose.taken_away(strict)
    assert condensation_prose.rules_text([*just, *strict]).startswith("**Who is counted decides whether a measure")
    untrained = [replace(run, metrics=run.metrics | {"train": 0.9}) for run in pair(40, 0.1, 0.2)[:3]]
    assert "By its training rows alone the rule leaves out 3 runs, 3 of them decided." in condensation_prose.rules_text(
        [*strict, *untrained]
    )
    symmetric = [make_run(seed=s, symmetric=1.0) for s in range(6)]
    assert "Under no rule" in condensation_prose.rules_text(symmetric)
    assert "cannot be asked" in condensation_prose.taken_away(symmetric)
    assert "nothing can be told apart" in condensation_prose.order_text(symmetric)
    few = condensation_prose.order_text([*strict, *(replace(r, spec=replace(r.spec, version=9)) for r in strict[6:10])])
    assert "They make 68 pairs within one experiment and depth, 4 of them in groups with fewer than 5 runs" in few
    assert "They make 64 pairs within one experiment and depth. **How simple the weights are foretells the answer better" in (
        condensation_prose.order_text(strict)
    )


def test_measures_that_go_with_gamma_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    up = np.arange(5.0)
    by = {"γ": up, "mean stable rank": -up, "condensation of W_Q(1)": up, "order of the embedding": up}
    monkeypatch.setattr(condensation_prose, "scores", lambda runs: by)
    text = condensation_prose.with_gamma_text([make_run()] * 5)
    assert text.startswith("By every measure weights get clearly simpler as γ grows: rank correlations with γ are 1.00 to 1.00")
    by["mean stable rank"] = up
    assert condensation_prose.with_gamma_text([make_run()] * 5).startswith(
        "By condensation of W_Q(1) and order of the embedding"
    )


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
    crossing = width.Crossing(0.7, 0.1, 0.6, 0.81, True)
    on = {"γ": {(32, 2): crossing, (64, 3): replace(crossing, found=False)}}
    rows = width.crossing_rows(on | {"log₁₀ σ√d": dict.fromkeys(on["γ"], crossing)})
    assert [row[1] == "0.70 [0.60, 0.81]" for row in rows] == [True, False]


def test_a_transition_is_placed_where_its_whole_interval_was_trained() -> None:
    data = {shape: (np.array([0.6, 0.8, 1.0]), np.zeros(3)) for shape in ((32, 2), (64, 2), (64, 3))}
    at = lambda low, high, found=True: width.Crossing(0.7, 0.1, low, high, found)
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
    assert set(said) == {f"{norm}-{name}" for norm in ("post", "pre") for name in ("slope", "symmetric", "inferential")}
    assert (said["post-symmetric"], said["pre-inferential"]) == (0.9, 0.8)
    assert (said["pre-slope"][0], said["post-slope"][0]) == pytest.approx((1, -0.5))
    turns = lambda spec: spec.model.norm == "pre" and spec.model.bias
    load = one_factor(lambda spec: turning(spec) if turns(spec) else flat(spec))
    found = {name: load(specs, STORE) for name, specs in factor_specs("laptop").items()}
    said = value({}, found)
    assert (said["kept"], said["factors"], said["share-nothing"], said["share-norm"]) == ("four", "five", 1, 0.5)
    assert said["p-nothing"] == pytest.approx(1 / 495)  # ways to draw four of twelve
    assert said["p-norm"] > 0.5
    rows = [row[1:] for row in gpt2.factor_rows(found)]
    assert rows[0] == ("12 of 12", "0.30", "0.70", "0.90", "0.002")
    assert rows[-1] == ("12 of 12", "0.55", "0.55", "0.55", f"{said['p-norm']:.3f}")


def test_labels_that_name_no_answer_are_counted() -> None:
    row = {"metric": "symmetric", "gamma": 0.9, "program": "native"}
    record = {
        "runs": 2,
        "depth": 2,
        "seeds": 1,
        "same_label": {"compiled": 2, "native": 2},
        "labels": [[0.6, 0, "exact: neither", "native: neither"], [0.9, 0, "exact: symmetric", "native: neither"]],
        "rows": [row | {"difference": 0.1, "difference_se": 0.01}, row | {"difference": -0.2, "difference_se": 0.15}],
    }
    text = engine.precision_lines(record)
    assert "1 of the 2 labels are “neither”" in text
    assert "-0.20 ± 0.15 (symmetric, γ = 0.9, native): within two standard errors" in text


# --- Words of several chapters: nothing false where nothing happens ---


def test_a_verdict_is_said_first_without_its_emphasis() -> None:
    said = "**It rises with γ (+0.50 [+0.10, +0.90])**: much. And more. **It stays open.**"
    assert words.answer(said) == "**Answer.** It rises with γ (+0.50 [+0.10, +0.90]): much. And more. It stays open."


def test_zero_has_no_sign() -> None:
    assert words.trend_words((-0.001, -0.2, 0.2)) == "+0.00 [-0.20, +0.20]"
    assert words.set_name("composition-flip", 1) == "large-batch runs"
    assert words.set_name("other", 3) == "`other`, version 3"


def test_words_of_runs_that_answer_nothing() -> None:
    """The same sentence on runs of which none follows a mapping."""
    assert "none reaches the level" in words.material_text([phase("symmetric", genuine=False)])
    assert "none reaches the level" not in words.material_text([phase("symmetric")])


# --- Figures draw what they are given ---


def drawn(figure: Figure) -> list[str]:
    """All texts of a figure that draws without complaint; it is closed."""
    figure.canvas.draw()
    texts = [text.get_text() for text in figure.findobj(Text) if text.get_visible()]
    plt.close(figure)
    return texts


def test_a_cut_is_told_by_how_many_runs_it_costs_much() -> None:
    whole = {"test": np.ones(3), "symmetric": np.ones(3)}
    after = {name: np.ones((3, 2, len(EDGES))) for name in whole}
    after["symmetric"][:2, 0, NAMES.index("anchors → last")] = 0.6
    after["symmetric"][2, 1, NAMES.index("key → last")] = 0.8  # costs less than EFFECT
    texts = drawn(flow_figures.cut_figure({"symmetric, 2 layers": Cuts(whole, after)}, {"symmetric, 2 layers": "symmetric"}))
    assert [text for text in texts if " of " in text] == ["2 of 3"]
    assert flow.route_classes("symmetric") == [(1, "anchors → last"), (2, "key → last")]


def test_measures_and_answers_are_drawn_with_and_without_a_contest() -> None:
    scores = {"γ": np.arange(4.0), "stable rank of W_Q(1)": np.arange(4.0)}
    lean = np.array([-1.0, -0.5, 0.5, 1.0])
    assert "all" not in drawn(condensation_figures.order_parameter(scores, lean, {}))
    found = {"all": dict.fromkeys(scores, an_auc(0.6, 0.4, 0.8))}
    texts = drawn(condensation_figures.order_parameter(scores, lean, found))
    assert {"all", "more inferential answers", "more symmetric answers"} <= set(texts)


def test_grids_frame_their_panels_by_answers_where_these_are_given() -> None:
    cells = {(2, g): np.eye(4) for g in (0.5, 1.0)}
    maps = {place: np.c_[np.random.default_rng(0).normal(size=(80, 2)), np.full(80, 0.5)] for place in cells}
    answers = {(2, 0.5): "neither", (2, 1.0): "symmetric"}
    for grid, given in ((condensation_figures.neuron_grid, cells), (condensation_figures.embedding_grid, maps)):
        assert not {"symmetric", "neither"} & set(drawn(grid(given)))
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


def test_ranks_are_means_over_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {(2, 0.5): {"embedding": 0.9, "W_Q(1)": 0.2, "W_Q(2)": 0.4}}
    monkeypatch.setattr(condensation, "rank_cells", lambda runs: cells)
    kinds = condensation.rank_kinds([])
    assert kinds == {(2, 0.5): {"embedding": 0.9, "W_Q": pytest.approx(0.3)}}
    assert {"query $W^Q$", "30", "90"} <= set(drawn(condensation_figures.rank_grid(kinds)))


def test_kinds_of_matrices_that_keep_their_rank_are_named() -> None:
    cells = lambda head, key: {(2, 0.5): {"W_K": 0.4, "head": head[0]}, (2, 1.0): {"W_K": key, "head": head[1]}}
    said = condensation_prose.kinds_text(cells((0.1, 0.1), 0.1))
    assert said.startswith(
        "From γ = 0.5 to γ = 1 the stable rank falls to less than half in every kind of matrix but the head, "
    )
    assert said.endswith(" which has few directions at the large initialization already.")
    assert condensation_prose.kinds_text(cells((0.3, 0.3), 0.1)).endswith("every kind of matrix but the head.")
    assert condensation_prose.kinds_text(cells((0.3, 0.1), 0.1)).endswith("in every kind of matrix.")
    assert condensation_prose.kinds_text(cells((0.3, 0.3), 0.3)).endswith("in no kind of matrix.")


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


def test_contrasts_are_drawn_depth_by_depth() -> None:
    groups = {"symmetric": {2: [np.ones(3)], 3: [np.zeros(2)]}, "inferential": {3: [np.ones(1)]}}
    texts = drawn(vectors_figures.contrast_figure(groups, palette.COLOUR, ["last token"]))
    assert {"last token", "depth (layers)", "2", "3"} <= set(texts)


def test_transitions_are_drawn_where_they_are_found() -> None:
    points = {
        (64, 2): (np.array([0.5, 0.5, 0.9]), np.array([1.0, 0.9, 0.0])),
        (64, 3): (np.array([0.5, 0.9]), np.array([1.0, 1.0])),
    }
    found = {(64, 2): width.Crossing(0.7, 0.1, 0.6, 0.8, True), (64, 3): width.Crossing(2.0, 0.1, 0.6, 3.0, False)}
    texts = drawn(width_figures.collapse_figure(points, found, {"σ": (1.0, 0.9, 1.1)}))
    assert {"width 64, depth 2", "width 64, depth 3", "σ"} <= set(texts)


def test_factors_are_drawn_hollow_where_runs_have_not_learned() -> None:
    found = {name: one_factor(turning)(specs, STORE) for name, specs in factor_specs("laptop").items()}
    found["ReLU"][0] = replace(found["ReLU"][0], metrics=found["ReLU"][0].metrics | {"train": 0.5})
    figure = gpt2_figures.factors(found)
    dots = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert (len(dots), sum(isinstance(line.get_markerfacecolor(), str) for line in dots)) == (12 * len(FACTORS), 1)
    assert {"γ = 0.3", "γ = 0.9", *(name.replace(", ", ",\n") for name in FACTORS)} <= set(drawn(figure))
