"""The mix of questions and stories: its numbers by hand, and its claims and words on planted results."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from planted import Planted, Shelf, judged, planted_run

from lib.book.paths import BOOK
from lib.core.read.fact import ABSENT
from lib.core.record.store import StoredRun
from lib.language.experiments import GAMMAS, MIX, MIX_MOVED, fixed_head_specs, longer_mix_specs, mix_specs, tied_mix_specs
from lib.language.mixture import metrics
from lib.language.mixture.claims import CLAIMS
from lib.language.stories import SUBSTITUTE, mix, mix_vocabulary, smoothed_loss
from lib.language.study import mix_texts

LEVEL, HELD_OUT = (1.5, 3.0), (1.7, 3.2)
"""Planted losses of the two bigram models, whose ΔL is 1 and mean 2.25, and of models of word pairs on held-out texts, on which
planted losses are higher by as much."""
STEPS = np.arange(50, 1001, 50)
Pair = tuple[float, float]


@pytest.fixture
def level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "bigrams", lambda profile: LEVEL)
    monkeypatch.setattr(metrics, "levels", lambda profile, order=2: HELD_OUT if order == 2 else (1.0, 3.2))


# ---------------------------------------------------------------- planted results

LEADING: Mapping[float, Pair] = {0.3: (0.5, 0.55), 0.5: (0.4, 0.6), 0.8: (0.3, 0.7)}
"""γ: the shares of training after which the loss of the questions, and that of the stories, is down. It falls evenly from 7."""
TRAILING = dict(zip(GAMMAS, [*LEADING.values()][::-1], strict=True))
TIED, UNTIED = (0.1, 0.5), (0.1, 0.3)


def planted(
    down: Mapping[float, Pair] = LEADING,
    end: Pair = (1.0, 2.0),
    tied: Pair = TIED,
    untied: Pair = UNTIED,
    early: Pair | None = None,
    noise: float = 0.01,
) -> list[Planted]:
    """Losses that fall to `end`, higher by `noise` with each seed, and cosines that stay but for `early`, the first."""
    runs = []
    for (is_tied, gamma), specs in mix_specs("laptop").items():
        for spec in specs:
            more = noise * (spec.seed - MIX["laptop"].seeds[0])
            history: dict[str, Any] = {"step": STEPS.tolist()}
            for i, share in enumerate(down[gamma]):
                loss = 7 - (7 - end[i]) * np.minimum(STEPS / 1000 / share, 1) + more
                cosine = np.full(len(STEPS), (tied if is_tied else untied)[i] + more)
                if early:
                    cosine[0] = early[i]
                history |= {f"train {i}": loss.tolist(), f"test {i}": (loss + 0.2).tolist(), f"cosine {i}": cosine.tolist()}
            ends = {f"{part} {i}": history[f"{part} {i}"][-1] for part in ("train", "test") for i in (0, 1)}
            runs.append(planted_run(spec, ends, history))
    return runs


def found(**how: Any) -> dict[tuple[bool, float], list[StoredRun]]:
    return metrics.of_mix(Shelf(planted(**how)), "laptop")


TURNED: dict[str, Any] = {"down": TRAILING, "tied": (0.5, 0.1), "untied": (0.2, 0.1), "early": (0.0, 0.1)}
NEVER = {"end": (3.0, 5.0)}


# ---------------------------------------------------------------- numbers


def test_a_bigram_model_by_hand() -> None:
    """Behind a come b and c, twice each; behind b once a and once the end; behind c the end: 6 of 7 tokens take ln 2."""
    rows = mix(
        [texts := [["a", "b", "a", "c"], ["a", "c"], ["a", "b"]], [["d"] * 4]], mix_vocabulary([texts, [["d"]]]), length=4
    )
    assert metrics.bigram_loss(rows, 0) == pytest.approx(6 / 7 * np.log(2))
    assert metrics.bigram_loss(rows, 1) == pytest.approx(0)


def test_smoothed_pairs_and_triples_by_hand() -> None:
    """Of four words: behind 0 came 1 twice and 2 once, two kinds in three; of all, 1 came twice, 2 twice and 3 once."""
    known = [[0, 1, 2], [0, 1, 3], [0, 2]]
    alone = {1: (2 + 3 / 4) / 8, 2: (2 + 3 / 4) / 8, 3: (1 + 3 / 4) / 8, 0: 3 / 4 / 8}
    behind = {word: (seen + 2 * alone[word]) / 5 for word, seen in {0: 0, 1: 2, 2: 1, 3: 0}.items()}
    assert sum(alone.values()) == sum(behind.values()) == pytest.approx(1)
    for word, chance in behind.items():
        assert smoothed_loss(known, [[0, word]], 2, 4) == pytest.approx(-np.log(chance))
    assert smoothed_loss(known, [[3, 1]], 2, 4) == pytest.approx(-np.log(alone[1]))  # nothing came behind 3
    third = (1 + 2 * (1 + 2 * alone[2]) / 4) / 4  # behind 0 and 1 came 2 and 3; behind 1 the same
    assert smoothed_loss(known, [[0, 1, 2]], 3, 4) == pytest.approx(-(np.log(behind[1]) + np.log(third)) / 2)


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
    never = found(**NEVER)[True, 0.8]
    assert metrics.at_progress(never, "laptop").tolist() == [-1] * 3
    for values in (metrics.gap(never, "laptop"), metrics.cosines_at(never, "laptop"), metrics.reached(never, "laptop")):
        assert np.isnan(values).all()


# ---------------------------------------------------------------- claims


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize(
    ("claim", "how", "status", "failed"),
    [
        ("mix-faster", {}, "reproduced", 0),
        ("mix-faster", {"down": {**LEADING, 0.8: (0.7, 0.3)}}, "opposite", 1),
        ("mix-faster", {"down": {**LEADING, 0.8: (0.4, 0.48)}, "noise": 0.0}, "no clear effect", 1),  # both at once
        ("mix-gap", {}, "reproduced", 0),
        ("mix-gap", TURNED, "opposite", 2),
        ("mix-gap", {"down": {**LEADING, 0.5: (0.5, 0.3)}}, "partly", 1),  # the middle is not between the ends
        ("mix-gap", {"down": dict.fromkeys(GAMMAS, (0.4, 0.6)), "noise": 0.0}, "no clear effect", 2),
        ("mix-gap", NEVER, "too small to tell", 3),
        ("mix-embeddings", {}, "reproduced", 0),
        ("mix-embeddings", TURNED, "opposite", 1),
        ("mix-embeddings", NEVER, "too small to tell", 2),
    ],
)
def test_claims_follow_the_numbers(claim: str, how: dict[str, Any], status: str, failed: int) -> None:
    record = judged(CLAIMS, claim, planted(**how))
    assert (record["status"], len(record["failed"])) == (status, failed)
    assert "nan" not in record["measured"]
    if how is NEVER and claim == "mix-gap":
        assert "runs that do not come to the compared progress: 9 (needed: at most 0)" in record["measured"]


# ---------------------------------------------------------------- facts


@pytest.mark.usefixtures("level")
def test_facts_are_of_both_kinds_of_embeddings_and_of_held_out_texts() -> None:
    shown = {name: fact.text for name, fact in metrics.facts(found(noise=0.0, early=(0.0, 0.9)), "laptop").items()}
    assert (shown["even"], shown["progress"], shown["questions-pairs"]) == (
        "1.00",
        "2.25",
        "6 of 9",
    )  # from γ = .3 both pass at once
    assert (shown["cosine-tied-questions"], shown["cosine-untied-stories"]) == ("0.10", "0.30")
    assert shown["lower-steps"] == "50 to 1000"
    assert (shown["stories-triples-small"], shown["questions-triples-small"]) == ("3 of 3", "0 of 3")
    assert shown["gap-held-8"] == f"{(metrics.gap(found(noise=0.0)[True, 0.8], 'laptop', 'test')).mean():.2f}"
    assert float(shown["gap-tied-3"]) < float(shown["gap-tied-5"]) < float(shown["gap-tied-8"])
    other = {name: fact.text for name, fact in metrics.facts(found(**TURNED), "laptop").items()}
    assert other["rising"] == "0 of 20"
    assert other["lower-steps"] == "50 to 50"
    never = metrics.facts(found(**NEVER), "laptop")
    assert (never["gap-tied-3"].text, never["questions-pairs"].text) == ("–", "0 of 9")
    late = found(down={**LEADING, 0.3: (2.0, 4.0)}, noise=0.0)  # it ends at losses of 4 and 5.75
    assert metrics.when_rows(late, "laptop")[0] == ("tied", "0.3", "never", "never", "never", "–")
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


def test_the_page_calls_the_stories_what_they_are() -> None:
    cells = json.loads((BOOK / "22-questions-and-stories.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    assert SUBSTITUTE in sources[0]
    for caption in re.findall(r"caption=(.+?)\n    runs=", "\n".join(sources), re.DOTALL):
        assert SUBSTITUTE in re.sub(r'"\n\s+f?"', "", caption)


def test_dials_follow_each_loss_over_its_own_bigram_model() -> None:
    runs = found()
    data = metrics.dial_data(runs, "laptop")
    gamma, step = (dial["values"] for dial in data["dials"])
    assert gamma == sorted(GAMMAS)
    assert step[0] == STEPS[0]
    assert step[-1] == STEPS[-1]
    for corpus, series in zip((1, 0), data["series"], strict=True):
        ends = metrics.losses(runs[True, gamma[1]], "test")[:, -1, corpus] / metrics.levels("laptop")[corpus]
        assert series["values"][1][-1] == pytest.approx([ends.mean(), ends.min(), ends.max()])


# ---------------------------------------------------------------- longer training, and other roundings


def longer(ends: Mapping[float, Pair], more: float = 0.0) -> list[Planted]:
    """Losses of training at the end; the stories' of later seeds are higher by `more` each."""
    runs = []
    for gamma, specs in longer_mix_specs("laptop").items():
        for spec in specs:
            questions, stories = ends[gamma]
            late = [questions, stories + more * (spec.seed - 6)]
            history = {"step": [12_375, 12_500]} | {f"train {i}": [5.0, value] for i, value in enumerate(late)}
            history |= {f"test {i}": [5.0, value] for i, value in enumerate((1.0, 5 - 2 * spec.gamma))}
            runs.append(planted_run(spec, {}, history))
    return runs


RISING: Mapping[float, Pair] = {0.3: (0.6, 0.8), 0.5: (0.5, 0.8), 0.8: (0.4, 0.8)}


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ({"ends": RISING}, "reproduced"),
        ({"ends": dict(zip(GAMMAS, [*RISING.values()][::-1], strict=True))}, "opposite"),
        ({"ends": {**RISING, 0.5: (0.5, 0.5)}}, "no clear effect"),
        ({"ends": {**RISING, 0.3: (1.0, 1.3)}}, "too small to tell"),  # the largest start is not down
        ({"ends": {**RISING, 0.3: (0.6, 0.61), 0.5: (0.8, 0.81)}}, "no clear effect"),
    ],
)
def test_longer_training_asks_every_seed(how: dict[str, Any], status: str) -> None:
    assert judged(CLAIMS, "mix-gap-longer", longer(**how))["status"] == status
    assert judged(CLAIMS, "mix-gap-longer", longer(**how), "paper")["status"] == "not run"


def test_what_is_told_of_longer_training() -> None:
    """Planted: on rows of training ΔL rises with γ, on held-out ones it falls, 4 − 2γ."""
    told = metrics.facts_on_longer(metrics.of_longer(Shelf(longer(RISING)), "laptop"))
    of_each = lambda name: [told[f"{name}-{round(10 * gamma)}"].text for gamma in GAMMAS]
    assert of_each("longer") == of_each("done") == ["0.33", "0.60", "1.00"]  # all come to 1 nat with the last evaluation
    assert of_each("done-held") == ["3.40", "3.00", "2.40"]
    assert of_each("longer-least") == ["4.40", "4.00", "3.40"]
    names = ("longer-rises", "longer-steps", "longer-seeds", "longer-questions", "longer-stories", "done")
    assert [told[name].text for name in names] == ["3 of 3", "12,500", "three", "0.45", "0.80", "1"]
    never = metrics.facts_on_longer(metrics.of_longer(Shelf(longer({**RISING, 0.3: (1.0, 1.3)})), "laptop"))
    assert never["done-3"].text == ABSENT
    assert {fact.text for name, fact in metrics.facts_on_longer({}).items() if name != "done"} == {ABSENT}


def test_longer_training_is_new_seeds_of_the_tied_runs() -> None:
    told = mix_specs("laptop")
    for gamma, specs in longer_mix_specs("laptop").items():
        assert {spec.train.steps for spec in specs} == {12_500}
        assert not {spec.seed for spec in specs} & {spec.seed for spec in told[True, gamma]}
        assert {(spec.model, spec.task, spec.rate) for spec in specs} == {
            (spec.model, spec.task, spec.rate) for spec in told[True, gamma]
        }


@pytest.mark.usefixtures("level")
def test_the_lead_from_output_matrices_drawn_alike_is_told_by_start() -> None:
    stories = dict(zip(GAMMAS, (1.5, 1.8, 2.0), strict=True))
    history = lambda gamma: (
        {"step": [50]} | {f"{part} {i}": [v] for part in ("train", "test") for i, v in enumerate((1.0, stories[gamma]))}
    )
    runs = [planted_run(spec, {}, history(gamma)) for gamma, specs in fixed_head_specs("laptop").items() for spec in specs]
    told = metrics.facts_on_head(metrics.of_fixed_head(Shelf(runs), "laptop"), "laptop")
    assert [told[f"gap-head-{round(10 * gamma)}"].text for gamma in GAMMAS] == ["0.50", "0.80", "1.00"]
    assert told["head-seeds"].text == "three"
    assert {fact.text for fact in metrics.facts_on_head({}, "paper").values()} == {ABSENT}


def rounded(shift: float) -> list[Planted]:
    """The tied runs in bfloat16, whose questions lose `shift` more, beside single precision, with noise of the last bit."""
    runs = []
    for spec in (*tied_mix_specs("laptop"), *MIX_MOVED.specs("roundings")):
        short = spec.train.precision == "any"
        noise = 0.004 * (-1) ** (spec.seed + spec.nudge)
        losses = [1.0 + shift * short + noise, 2.0]
        history = {"step": [50]} | {f"{part} {i}": [losses[i]] for part in ("train", "test") for i in (0, 1)}
        run = planted_run(spec, {}, history)
        runs.append(dataclasses.replace(run, provenance={"precision": "bfloat16" if short else "float32"}))
    return runs


@pytest.mark.usefixtures("level")
def test_other_roundings_of_the_mix_are_asked() -> None:
    assert judged(CLAIMS, "mix-roundings", rounded(0.0))["status"] == "reproduced"
    assert judged(CLAIMS, "mix-roundings", rounded(0.1))["status"] in ("opposite", "partly")
    assert judged(CLAIMS, "mix-roundings", rounded(0.0)[1:])["status"] == "not run"
