"""The mix of questions and stories: its numbers by hand, and its claims and words on planted results."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import Shelf

from lib.book.dials import Dials
from lib.book.paths import BOOK
from lib.core.record.store import StoredRun
from lib.language.experiments import GAMMAS, MIX, mix_specs
from lib.language.mixing import figures, metrics, prose
from lib.language.mixing.claims import CLAIMS
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


def of_one_seed(runs: Mapping[tuple[bool, float], list[StoredRun]]) -> dict[tuple[bool, float], list[StoredRun]]:
    return {kind: group[:1] for kind, group in runs.items()}


def said(runs: Mapping[tuple[bool, float], list[StoredRun]]) -> Iterator[str]:
    """Everything that is written about runs."""
    for of_runs in (prose.early_text, prose.losses_table, prose.losses_line):
        yield of_runs(runs)
    for of_both in (
        prose.verdict,
        prose.takeaway,
        prose.starts_text,
        prose.when_table,
        prose.progress_text,
        prose.bias_text,
        prose.along_text,
        prose.tying_text,
        prose.losses_text,
        prose.relative_line,
        prose.gap_line,
        prose.cosine_line,
    ):
        yield of_both(runs, "laptop")


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
    assert prose.reached(group, "laptop").tolist() == [STEPS[at[0]]] * 3
    assert (
        metrics.passed(group, "laptop").tolist() == [[300, 600]] * 3
    )  # 7 − 6·t/300 ≤ 1.5 from t = 275, 7 − 5·t/700 ≤ 3 from 560
    never = found(end=(3.0, 5.0))[True, 0.8]
    assert metrics.at_progress(never, "laptop").tolist() == [-1] * 3
    for values in (metrics.gap(never, "laptop"), metrics.cosines_at(never, "laptop"), prose.reached(never, "laptop")):
        assert np.isnan(values).all()


# ---------------------------------------------------------------- claims


def judged(id: str, **how: Any) -> tuple[str, int]:
    record = next(claim for claim in CLAIMS if claim.id == id).evaluate(Shelf(planted(**how)), "laptop")
    return record["status"], len(record["failed"])


@pytest.mark.usefixtures("level")
def test_claims_follow_the_numbers() -> None:
    assert [judged(claim.id) for claim in CLAIMS] == [("reproduced", 0)] * 3
    other = CASES["the other way round"]
    assert judged("mix-faster", down={**LEADING, 0.8: (0.7, 0.3)}) == ("not reproduced", 1)
    assert judged("mix-gap", **other) == ("not reproduced", 2)
    assert judged("mix-gap", down={**LEADING, 0.5: (0.5, 0.3)}) == ("partly", 1)  # the middle is not between the ends
    assert judged("mix-gap", **CASES["no difference"])[0] == "not reproduced"
    assert judged("mix-gap", **CASES["never there"]) == ("not reproduced", 2)
    assert judged("mix-embeddings", **other) == ("not reproduced", 1)
    assert judged("mix-embeddings", **CASES["never there"]) == ("not reproduced", 1)
    for claim in CLAIMS:
        record = claim.evaluate(Shelf(planted(**CASES["never there"])), "laptop")
        assert "nan" not in record["measured"]
    gaps = next(claim for claim in CLAIMS if claim.id == "mix-gap").evaluate(Shelf(planted(**CASES["never there"])), "laptop")
    assert "γ = 0.3 3 of 3 runs do not come so far" in gaps["measured"]


# ---------------------------------------------------------------- words


@pytest.mark.usefixtures("level")
def test_the_verdict_follows_the_numbers() -> None:
    text = prose.verdict(found(), "laptop")
    assert (
        "From a small start (γ = 0.8) the questions pass the level of a bigram model before the stories do (the stories are"
        in text
    )
    assert "At one mean loss the questions are the further ahead the smaller the start." in text
    assert "questions' words differ more than those of the stories'." in text
    text = prose.verdict(found(**CASES["the other way round"]), "laptop")
    assert "the *less* far ahead the smaller the start" in text
    assert "differ *less* than those of the stories'; earlier, at step 50, they differ" in text
    text = prose.verdict(found(down={**LEADING, 0.8: (0.7, 0.3)}), "laptop")
    assert (
        "(γ = 0.8) the stories pass the level of a bigram model before the questions do (the stories are our substitute corpus)"
        in text
    )
    assert "not clearly further ahead from a smaller start" in text
    text = prose.verdict(found(**CASES["no difference"]), "laptop")
    assert "From a small start (γ = 0.8), as from the larger ones, the questions pass the level" in text
    assert "as far ahead from every start" in text
    assert "do not in every run differ more than those of the stories'." in text
    text = prose.verdict(found(**CASES["never there"]), "laptop")
    assert "no run comes as far as a bigram model, on questions or on stories (our substitute corpus)" in text
    assert "Not every run from the small start comes to equal progress, where embeddings are compared; those of" in text
    both = prose.order_said(found(down=dict.fromkeys(GAMMAS, (0.5, 0.573)), noise=0.04), "laptop")
    assert re.search(
        r"neither corpus is learned first in every run: the questions are in \d of 3, the stories .* in \d\.", both
    )


@pytest.mark.usefixtures("level")
def test_starts_are_compared_as_far_as_every_run_comes() -> None:
    assert "Every run with tied embeddings comes so far." in prose.progress_text(found(), "laptop")
    runs = found(down={**LEADING, 0.3: (2.0, 4.0)}, noise=0.0)  # it ends at losses of 4 and 5.75
    said = prose.progress_text(runs, "laptop")
    assert said.endswith(
        "Not every run of γ = 0.3 comes so far. To compare all starts we also take the lowest mean loss that "
        "every run comes to, 4.88 nats."
    )
    assert prose.bias_text(runs, "laptop").startswith("At a mean loss of 4.88 nats ΔL ")
    assert "| tied | 0.3 | never | never | never | – |" in prose.when_table(runs, "laptop")


@pytest.mark.usefixtures("level")
def test_steps_at_which_the_lead_rises_with_gamma_are_told() -> None:
    none = prose.along_text(found(down=TRAILING), "laptop")
    assert "not known. Here ΔL's mean rises with γ at none of the 20 evaluations. At its peak" in none
    runs = found(down=EVEN)
    for gamma, more in zip(GAMMAS, (0.0, 0.1, 0.2), strict=True):
        for run in runs[True, gamma]:
            run.history["train 1"][:] = [2 + more] * 20
            run.history["train 0"][:] = [1.0] * 20
    assert "at every evaluation" in prose.along_text(runs, "laptop")
    for run in runs[True, 0.8]:
        run.history["train 1"][2:] = [2.0] * 18
    assert "at steps 50 to 100." in prose.along_text(runs, "laptop")
    steps = np.array([1, 2, 3, 4])
    assert prose._steps(steps[[0, 1, 3]], steps) == "3 of the 4 evaluations"


@pytest.mark.usefixtures("level")
def test_the_last_word_follows_the_numbers() -> None:
    text = prose.takeaway(found(), "laptop")
    assert "is not true from every start" in text  # from the largest start both come at once
    assert "By how much they lead rises with γ, tied or not; the paper has a rise." in text
    assert "the same, tied or not" in text
    text = prose.takeaway(found(**CASES["the other way round"]), "laptop")
    assert "lead falls with γ, tied or not; the paper has a rise" in text
    assert "Before, at step 50, it is the lower one where they are tied, as in the paper." in text
    mixed = prose.takeaway(found(untied_down=TRAILING), "laptop")
    assert "rises with γ with tied embeddings and falls with γ with untied ones; the paper" in mixed
    assert "; with untied embeddings they are the *less* far ahead" in prose.gap_said(found(untied_down=TRAILING), "laptop")
    assert "is true from every start, so it is no mark" in prose.takeaway(found(down={**LEADING, 0.3: (0.3, 0.6)}), "laptop")
    assert "hardly depends on γ, tied or not" in prose.takeaway(found(**CASES["no difference"]), "laptop")
    assert "not the same, tied and untied: it hangs on tying" in prose.takeaway(found(untied=(0.5, 0.1)), "laptop")
    level = prose.takeaway(found(tied=(0.2, 0.2)), "laptop")
    assert "the lower one where embeddings are untied, and neither corpus is clearly lower where they are not" in level
    assert "do not go far enough" in prose.takeaway(found(**CASES["never there"]), "laptop")


@pytest.mark.usefixtures("level")
def test_what_is_said_of_starts_of_entropy_and_of_steps_follows_the_numbers() -> None:
    every = found(down=dict.fromkeys(GAMMAS, (0.3, 0.7)))
    assert "pass their bigram model first from every start, in every run" in prose.starts_text(every, "laptop")
    assert "γ = 0.3: 0 of 3 runs; γ = 0.5: 3 of 3 runs" in prose.starts_text(found(), "laptop")
    above = "At a mean loss of 2.25 nats ΔL rises with γ, and is above that of two bigram models (1.00) from every start"
    assert prose.bias_text(found(), "laptop").startswith(above)
    one = found(down={**LEADING, 0.3: (0.5, 0.4)})
    assert "only for γ = 0.5 and 0.8. With untied embeddings" in prose.bias_text(one, "laptop")
    assert "from no start above" in prose.bias_text(found(down=dict.fromkeys(GAMMAS, (0.7, 0.3))), "laptop")
    assert "With untied embeddings, at 2.25 nats, it falls with γ: " in prose.bias_text(found(untied_down=TRAILING), "laptop")
    assert "it hardly depends on γ: " in prose.bias_text(found(untied_down=EVEN), "laptop")
    ends = lambda **how: prose.along_text(found(**how), "laptop")
    assert "At the end of training it hardly depends on γ: 1.00, 1.00 and 1.00 for γ = 0.3, 0.5 and 0.8." in ends(noise=0.0)
    unfinished = {0.3: (1.0, 1.0), 0.5: (1.0, 1.1), 0.8: (1.0, 1.2)}
    assert "ΔL rises with γ" in ends(down=unfinished)
    assert "ΔL falls with γ" in ends(down=dict(zip(GAMMAS, [*unfinished.values()][::-1], strict=True)))
    assert "ΔL has no clear order in γ" in ends(down={**unfinished, 0.5: (1.0, 1.3)})
    assert ends(end=(1.0, 1.5)).endswith(
        "It is then below that of two bigram models in every run for γ = 0.3, 0.5 and 0.8: measured by these, and on texts of "
        "training, the stories are ahead."
    )
    runs = found(end=(1.0, 1.5))
    runs[True, 0.3][0].history["train 1"][-1] = 3.0
    partly = prose.along_text(runs, "laptop")
    assert "models in every run for γ = 0.5 and 0.8, in 2 of 3 for γ = 0.3: measured" in partly
    kept = prose.losses_text(found(), "laptop")
    assert "Part of it is remembered: held-out losses lie above those of training by at most 0.20" in kept
    assert "ΔL would be 1.00 without any bias" in prose.corpora_text("laptop")


@pytest.mark.usefixtures("level")
def test_what_is_said_of_embeddings_names_the_steps_and_what_tying_does() -> None:
    assert (
        "it does not matter: with tied embeddings the questions' mean cosine is always the lower one. At step 50 it is 0.11"
        in (prose.early_text(found()))
    )
    early = prose.early_text(found(tied=(0.5, 0.1), early=(0.0, 0.1)))
    assert (
        "in every run the lower one at step 50 and the higher one at steps 100 to 1,000. At step 50 it is 0.00 against" in early
    )
    assert "neither corpus has the lower mean cosine in every run" in prose.early_text(found(tied=(0.2, 0.2)))
    text = prose.tying_text(found(), "laptop")
    assert "reaches 0.51 on stories with tied embeddings and 0.31 with untied ones, on PrOntoQA 0.11 and 0.11." in text
    assert "is the same, tied or not." in text
    assert "it hangs on tying" in prose.tying_text(found(untied=(0.2, 0.0)), "laptop")
    assert prose.tying_text(found(**CASES["never there"]), "laptop").endswith("0.11.")
    assert prose._steps(np.array([50, 150]), STEPS) == "2 of the 20 evaluations"


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("case", CASES)
def test_nothing_that_is_said_has_a_number_that_is_none(case: str) -> None:
    runs = found(**CASES[case])
    for text in [*said(runs), *said(of_one_seed(runs))]:
        assert not re.search(r"\bnan\b|\binf\b|−0\.0+\b|\de[-+]\d|(?<!\w)-\d", text), text
    assert " ± " not in prose.losses_table(of_one_seed(runs))


def test_the_corpora_are_measured_and_shown() -> None:
    text = prose.corpora_table("smoke")
    assert text.splitlines()[0].count("|") == 5
    assert f"our {SUBSTITUTE}" in text
    assert "a sample of the real corpus" in text
    texts = mix_texts(MIX["smoke"].each, MIX["smoke"].tests)
    assert f"| texts | {len(texts[0])} | {len(texts[1])} | 2,316 |" in text
    assert "The questions are harder" in prose.corpora_text("smoke")  # texts of 32 tokens: stories begin alike
    shown = [prose.examples_text("smoke", seed) for seed in (0, 1, MIX["smoke"].each)]
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
    tied = {prose.name_of(gamma): runs[True, gamma] for gamma in GAMMAS}
    named = lambda measure: {
        kind: {prose.name_of(gamma): measure(runs[is_tied, gamma], "laptop") for gamma in GAMMAS}
        for is_tied, kind in prose.KINDS.items()
    }
    along = {name: (STEPS, metrics.losses(group)) for name, group in tied.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures.losses(along, LEVEL)
        figures.relative(along)
        gaps = {name: (STEPS, metrics.gap_along(group), metrics.losses(group).mean(2)) for name, group in tied.items()}
        figures.gap(gaps, {name: prose.points(group, "laptop") for name, group in tied.items()}, 1.0)
        group = runs[True, 0.8]
        shown = (STEPS, metrics.cosines(group), prose.reached(group, "laptop"), metrics.cosines_at(group, "laptop"))
        figures.cosines({"tied": shown, "untied": shown})
        figures.cosines_at(named(metrics.cosines_at))
    plt.close("all")


def test_the_page_calls_the_stories_what_they_are() -> None:
    cells = json.loads((BOOK / "22-questions-and-stories.ipynb").read_text(encoding="utf-8"))["cells"]
    assert SUBSTITUTE in "".join(cells[0]["source"])
    drawn = ["".join(cell["source"]) for cell in cells if "number=" in "".join(cell["source"])]
    assert len(drawn) == 5
    for source in drawn:
        caption = re.search(r"caption=(.+?)\n    summary=", source, re.DOTALL)
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
