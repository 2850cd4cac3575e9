"""The mix of questions and stories: its numbers by hand, and its claims and words on planted results."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from planted import Shelf

from lib.book.dials import Dials
from lib.book.paths import BOOK
from lib.core.record.store import StoredRun
from lib.language.experiments import GAMMAS, MIX, mix_specs
from lib.language.mixture import figures, metrics
from lib.language.mixture.claims import CLAIMS
from lib.language.stories import SUBSTITUTE, mix, mix_vocabulary
from lib.language.study import mix_texts

LEVEL = (1.5, 3.0)
"""Planted losses of the two bigram models: their ΔL is 1, their mean 2.25."""
STEPS = np.arange(50, 1001, 50)
Pair = tuple[float, float]


@pytest.fixture
def level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "bigrams", lambda profile: LEVEL)


# ---------------------------------------------------------------- planted results

LEADING: Mapping[float, Pair] = {0.3: (0.5, 0.55), 0.5: (0.4, 0.6), 0.8: (0.3, 0.7)}
"""γ: the shares of training after which the loss of the questions, and that of the stories, is down. It falls evenly from 7."""
TRAILING = dict(zip(GAMMAS, [*LEADING.values()][::-1], strict=True))
EVEN = dict.fromkeys(GAMMAS, (0.4, 0.6))
DOWN = (1.0, 2.0)
TIED, UNTIED = (0.1, 0.5), (0.1, 0.3)


def planted(
    down: Mapping[float, Pair] = LEADING,
    end: Pair = DOWN,
    tied: Pair = TIED,
    untied: Pair = UNTIED,
    untied_down: Mapping[float, Pair] | None = None,
    early: Pair | None = None,
    noise: float = 0.01,
) -> list[StoredRun]:
    """Losses that fall to `end`, higher by `noise` with each seed, and cosines that stay but for `early`, the first."""
    runs = []
    for (is_tied, gamma), specs in mix_specs("laptop").items():
        for spec in specs:
            history: dict[str, Any] = {"step": STEPS.tolist()}
            for i, share in enumerate((down if is_tied or untied_down is None else untied_down)[gamma]):
                loss = 7 - (7 - end[i]) * np.minimum(STEPS / 1000 / share, 1) + noise * (spec.seed - MIX["laptop"].seeds[0])
                cosine = np.full(len(STEPS), (tied if is_tied else untied)[i] + noise * (spec.seed - MIX["laptop"].seeds[0]))
                if early:
                    cosine[0] = early[i]
                history |= {f"train {i}": loss.tolist(), f"test {i}": (loss + 0.2).tolist(), f"cosine {i}": cosine.tolist()}
            metrics = {f"{part} {i}": history[f"{part} {i}"][-1] for part in ("train", "test") for i in (0, 1)}
            where = {"device": "cpu", "precision": "x"}
            runs.append(StoredRun(spec, metrics, history, 1000, "unfitted", None, 1.0, where, Path(f"{spec.key}.json")))
    return runs


def found(**how: Any) -> dict[tuple[bool, float], list[StoredRun]]:
    return metrics.of_mix(Shelf(planted(**how)), "laptop")


CASES: dict[str, dict[str, Any]] = {
    "as in the paper": {},
    "the other way round": {"down": TRAILING, "tied": (0.5, 0.1), "untied": (0.2, 0.1), "early": (0.0, 0.1)},
    "no difference": {"down": EVEN, "tied": (0.2, 0.2), "untied": (0.2, 0.2)},
    "never there": {"end": (3.0, 5.0)},
    "below zero": {"tied": (-0.001, 0.0), "untied": (-0.2, -0.1)},
}


# ---------------------------------------------------------------- numbers


def test_a_bigram_model_by_hand() -> None:
    """Behind a come b and c, twice each; behind b once a and once the end; behind c the end: 6 of 7 tokens take ln 2."""
    rows = mix(
        [texts := [["a", "b", "a", "c"], ["a", "c"], ["a", "b"]], [["d"] * 4]], mix_vocabulary([texts, [["d"]]]), length=4
    )
    assert metrics.bigram_loss(rows, 0) == pytest.approx(6 / 7 * np.log(2))
    assert metrics.bigram_loss(rows, 1) == pytest.approx(0)


@pytest.mark.usefixtures("level")
def test_progress_is_equal_where_the_mean_loss_is_that_of_the_bigram_models() -> None:
    group = found(noise=0.0)[True, 0.8]
    at = metrics.at_progress(group, "laptop")
    mean = metrics.losses(group).mean(2)
    assert (mean[range(3), at] <= 2.25).all()
    assert (mean[range(3), at - 1] > 2.25).all()
    questions, stories = 1.0, 7 - 5 * STEPS[at[0]] / 700
    assert metrics.gap(group, "laptop") == pytest.approx((stories - questions) / questions)
    assert metrics.cosines_at(group, "laptop") == pytest.approx(np.array([TIED] * 3))
    assert metrics.reached(group, "laptop").tolist() == [STEPS[at[0]]] * 3
    assert (
        metrics.passed(group, "laptop").tolist() == [[300, 600]] * 3
    )  # 7 − 6·t/300 ≤ 1.5 from t = 275, 7 − 5·t/700 ≤ 3 from 560
    never = found(end=(3.0, 5.0))[True, 0.8]
    assert metrics.at_progress(never, "laptop").tolist() == [-1] * 3
    for values in (metrics.gap(never, "laptop"), metrics.cosines_at(never, "laptop"), metrics.reached(never, "laptop")):
        assert np.isnan(values).all()


# ---------------------------------------------------------------- claims


def judged(id: str, **how: Any) -> tuple[str, int]:
    record = next(claim for claim in CLAIMS if claim.id == id).evaluate(Shelf(planted(**how)), "laptop")
    return record["status"], len(record["failed"])


@pytest.mark.usefixtures("level")
def test_claims_follow_the_numbers() -> None:
    assert [judged(claim.id) for claim in CLAIMS] == [("reproduced", 0)] * 3
    other = CASES["the other way round"]
    assert judged("mix-faster", down={**LEADING, 0.8: (0.7, 0.3)}) == ("opposite", 1)
    assert judged("mix-gap", **other) == ("opposite", 2)
    assert judged("mix-gap", down={**LEADING, 0.5: (0.5, 0.3)}) == ("partly", 1)  # the middle is not between the ends
    assert judged("mix-gap", **CASES["no difference"], noise=0.0)[0] == "no clear effect"
    assert judged("mix-gap", **CASES["never there"])[0] == "too small to tell"
    assert judged("mix-embeddings", **other) == ("opposite", 1)
    assert judged("mix-embeddings", **CASES["never there"])[0] == "too small to tell"
    for claim in CLAIMS:
        record = claim.evaluate(Shelf(planted(**CASES["never there"])), "laptop")
        assert "nan" not in record["measured"]
    gaps = next(claim for claim in CLAIMS if claim.id == "mix-gap").evaluate(Shelf(planted(**CASES["never there"])), "laptop")
    assert "runs that do not come to the compared progress: 9 (needed: at most 0)" in gaps["measured"]


# ---------------------------------------------------------------- facts


@pytest.mark.usefixtures("level")
def test_facts_are_of_both_kinds_of_embeddings_and_of_held_out_texts() -> None:
    shown = {name: fact.text for name, fact in metrics.facts(found(noise=0.0, early=(0.0, 0.9)), "laptop").items()}
    assert (shown["even"], shown["progress"], shown["first"]) == ("1.00", "2.25", "6 of 9")  # from γ = .3 both pass at once
    assert (shown["cosine-tied-questions"], shown["cosine-untied-stories"]) == ("0.10", "0.30")
    assert (shown["apart-questions"], shown["apart-stories"], shown["held-least"]) == ("0.2", "0.2", "0.83")  # 2.2 / 1.2 − 1
    assert shown["lower-steps"] == "50 to 1000"
    assert float(shown["gap-tied-3"]) < float(shown["gap-tied-5"]) < float(shown["gap-tied-8"])
    assert float(shown["peak-large"]) < float(shown["peak-small"])
    other = {name: fact.text for name, fact in metrics.facts(found(**CASES["the other way round"]), "laptop").items()}
    assert other["rising"] == "0 of 20"
    assert other["lower-steps"] == "50 to 50"
    ahead = metrics.facts(found(end=(1.0, 1.5)), "laptop")
    assert ahead["end-below"].text == "9 of 9"
    never = metrics.facts(found(**CASES["never there"]), "laptop")
    assert (never["gap-tied-3"].text, never["first"].text) == ("–", "0 of 9")


@pytest.mark.usefixtures("level")
def test_tables_say_never_where_a_run_does_not_come_so_far() -> None:
    runs = found(down={**LEADING, 0.3: (2.0, 4.0)}, noise=0.0)  # it ends at losses of 4 and 5.75
    assert metrics.when_rows(runs, "laptop")[0] == ("tied", "0.3", "never", "never", "never", "–")
    assert metrics.loss_rows(found(noise=0.0))[2][:4] == ("tied", "0.8", "1.00 ± 0.00", "1.20 ± 0.00")


def test_the_corpora_are_measured_and_shown() -> None:
    rows = metrics.corpora_rows("smoke")
    assert {len(row) for row in rows} == {len(metrics.CORPORA_HEAD)} == {4}
    texts = mix_texts(MIX["smoke"].each, MIX["smoke"].tests)
    assert rows[0] == ("texts", f"{len(texts[0])}", f"{len(texts[1])}", "2,316")
    questions, stories = metrics.bigrams("smoke")
    assert questions > stories  # texts of 32 tokens: stories begin alike
    shown = [metrics.examples("smoke", seed) for seed in (0, 1, MIX["smoke"].each)]
    assert shown[0] == shown[2] != shown[1]
    assert re.match(
        r"> \*\*PrOntoQA\.\*\* Q: .+\. … True or false: .+\.<br>A: .+\. (True|False)\n\n"
        rf"> \*\*A story of our {SUBSTITUTE}\.\*\* .+ … .+",
        shown[0],
    )


# ---------------------------------------------------------------- figures and the page


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("case", ["as in the paper", "never there"])
def test_figures_are_drawn(case: str) -> None:
    runs = found(**CASES[case])
    tied = {metrics.name_of(gamma): runs[True, gamma] for gamma in GAMMAS}
    named = lambda measure: {
        kind: {metrics.name_of(gamma): measure(runs[is_tied, gamma], "laptop") for gamma in GAMMAS}
        for is_tied, kind in metrics.KINDS.items()
    }
    along = {name: (STEPS, metrics.losses(group)) for name, group in tied.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures.losses(along, LEVEL)
        figures.losses(along, (1, 1), "relative loss")
        gaps = {name: (STEPS, metrics.gap_along(group), metrics.losses(group).mean(2)) for name, group in tied.items()}
        figures.gap(gaps, {name: metrics.points(group, "laptop") for name, group in tied.items()}, 1.0)
        group = runs[True, 0.8]
        shown = (STEPS, metrics.cosines(group), metrics.reached(group, "laptop"), metrics.cosines_at(group, "laptop"))
        figures.cosines({"tied": shown, "untied": shown})
        figures.cosines_at(named(metrics.cosines_at))
    plt.close("all")


def test_the_page_calls_the_stories_what_they_are() -> None:
    cells = json.loads((BOOK / "22-questions-and-stories.ipynb").read_text(encoding="utf-8"))["cells"]
    assert SUBSTITUTE in "".join(cells[0]["source"])
    drawn = ["".join(cell["source"]) for cell in cells if "number=" in "".join(cell["source"])]
    assert len(drawn) == 5
    for source in drawn:
        caption = re.search(r"caption=(.+?)\n    runs=", source, re.DOTALL)
        assert SUBSTITUTE in re.sub(r'"\n\s+f?"', "", caption[1])


def test_dials_follow_each_loss_over_its_own_bigram_model() -> None:
    runs = found()
    data = metrics.dial_data(runs, "laptop")
    gamma, step = (dial["values"] for dial in data["dials"])
    assert gamma == sorted(GAMMAS)
    assert step[0] == STEPS[0]
    assert step[-1] == STEPS[-1]
    for corpus, series in zip((1, 0), data["series"], strict=True):
        ends = metrics.losses(runs[True, gamma[1]])[:, -1, corpus] / metrics.bigrams("laptop")[corpus]
        assert series["values"][1][-1] == pytest.approx([ends.mean(), ends.min(), ends.max()])
    assert "Dials over" in Dials(data, "rm-22").words()
