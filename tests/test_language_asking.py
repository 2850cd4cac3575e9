"""The chapter on PrOntoQA: what it says of planted results, whichever way they fall, and how its claims are graded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import Shelf
from torch import Tensor

from lib.core.record.store import StoredRun
from lib.language import arms
from lib.language.asking import figures, numbers, prose
from lib.language.asking.claims import CLAIMS
from lib.language.experiments import ARMS, ASKING, CHAIN, CROSSED, HARD, LARGE, LARGER, NONE, SMALL, SMALLER, Kind, asking_specs
from lib.language.study import make_asking

SIZES = ASKING["laptop"].sizes
MIDDLE = ASKING["laptop"].middle
LIMIT = ASKING["laptop"].gpt.train.steps
ASKED = 200


class Planted(StoredRun):
    """A run in no store: behind a chain of its own the first questions are right, so many as its `own` says, and of the chains
    that it writes itself every other one is not the gold one."""

    def snapshots(self) -> dict[int, dict[str, Tensor]]:
        count = round(ASKED * self.metrics["own"])
        kept = {"own": (torch.arange(ASKED) * 67 % ASKED < count).float()}
        if self.spec.experiment == "language-prontoqa" and self.metrics.get("writes"):
            test = make_asking(self.spec).test
            written = torch.zeros(12, int((test.rows.length - test.rows.start).max()))
            for i in range(12):
                start, end = int(test.rows.start[i]), int(test.rows.length[i])
                written[i, : end - start] = test.rows.tokens[i, start:end]
                written[i, 0] += i % 2  # another name
            kept["written"] = written
        return {self.steps: kept}


def planted(
    own: Mapping[Kind, float],
    fit: Mapping[Kind, float | None] | None = None,
    train: float = 1.0,
    label: float = 0.99,
    spread: float = 0.01,
    profile: str = "laptop",
    writes: bool = False,
) -> list[Planted]:
    """Runs whose shares fall with the seed. `fit`: the step at which a kind has learned, None for never."""
    runs = []
    for kind, specs in asking_specs(profile).items():
        for spec in specs:
            value = own.get(kind, 0.5) - spread * spec.seed
            step = (fit or {}).get(kind, 500)
            learned = train if step else 0.9
            metrics: dict[str, Any] = {"own": value, "label": label, "test": value - 0.1, "train": learned, "writes": writes}
            at = [step or 500, spec.train.steps]
            history = {"step": at, "train": [learned] * 2, "test": [0.1, value], "label": [0.5, label]}
            made = {"device": "cpu", "precision": "x"}
            runs.append(Planted(spec, metrics, history, at[1], "fitted", None, 1.0, made, Path(spec.key)))
    return runs


def found(profile: str = "laptop", **how: Any) -> dict[Kind, list[StoredRun]]:
    return numbers.of_asking(Shelf(planted(profile=profile, **how)), profile)


def both(large: float, small: float, variant: str = CHAIN) -> dict[Kind, float]:
    """The same shares at every size."""
    return {(variant, size, *arm): share for size in SIZES for arm, share in ((LARGE, large), (SMALL, small))}


GOOD = both(0.55, 0.9) | {(HARD, MIDDLE, *LARGE): 0.5, (HARD, MIDDLE, *SMALL): 0.8, (NONE, MIDDLE, *SMALL): 0.6}
TURNS = {(CHAIN, size, *LARGE): step for size, step in zip(SIZES, (700, 900, 1200, 800), strict=True)}
READERS = {False: {prose.BAG: 0.53, prose.NAMED: 1.0}, True: {prose.BAG: 0.48, prose.NAMED: 0.62}}


@pytest.fixture(autouse=True)
def readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of readers that do not reason, so that a sentence can be known."""
    monkeypatch.setattr(numbers, "without_reasoning", lambda profile, hard: READERS[hard])


# ---------------------------------------------------------------- claims


def judged(id: str, **how: Any) -> tuple[str, list[str]]:
    record = next(claim for claim in CLAIMS if claim.id == id).evaluate(Shelf(planted(**how)), "laptop")
    return record["status"], list(record["failed"])


def test_the_lead_is_judged_at_every_size_and_the_large_arm_at_the_smallest() -> None:
    assert judged("prontoqa-better", own=GOOD) == ("reproduced", [])
    status, failed = judged("prontoqa-better", own=GOOD | {(CHAIN, SIZES[-1], *LARGE): 0.95})
    assert (status, len(failed)) == ("partly", 1)
    assert judged("prontoqa-better", own=both(0.9, 0.5))[0] == "not reproduced"


def test_speed_is_judged_where_every_run_has_learned() -> None:
    slower = {(CHAIN, size, *LARGE): 900 for size in SIZES}
    assert judged("prontoqa-faster", own=GOOD, fit=slower)[0] == "reproduced"
    assert judged("prontoqa-faster", own=GOOD)[0] == "partly"  # as many steps
    never = dict.fromkeys(asking_specs("laptop"))
    assert judged("prontoqa-faster", own=GOOD, fit=never)[0] == "not reproduced"


def test_the_turn_needs_every_run_and_a_top_within() -> None:
    assert judged("prontoqa-turns", own=GOOD, fit=TURNS)[0] == "reproduced"
    assert judged("prontoqa-turns", own=GOOD, fit=TURNS | {(CHAIN, SIZES[-1], *LARGE): 1300})[0] == "partly"
    assert judged("prontoqa-turns", own=GOOD, fit=TURNS | {(CHAIN, SIZES[1], *LARGE): None})[0] == "not reproduced"


def test_the_hard_variant_asks_for_a_level_and_a_lead() -> None:
    assert judged("prontoqa-hard", own=GOOD)[0] == "reproduced"
    assert judged("prontoqa-hard", own=both(0.8, 0.8, HARD))[0] == "partly"
    assert judged("prontoqa-hard", own=both(0.6, 0.4, HARD))[0] == "not reproduced"


# ---------------------------------------------------------------- the answer


def test_the_answer_says_who_is_ahead_and_where() -> None:
    said = prose.verdict(found(own=GOOD), "laptop")
    assert said.startswith(
        "The paper's small arm answers more new questions right than its large one at every size of the training set "
        "(at 250 89.0% against 54.0%). "
    )
    even = GOOD | {(CHAIN, SIZES[-1], *LARGE): 0.9}
    said = prose.verdict(found(own=even), "laptop")
    assert "with 250, 1,000 and 4,000 questions in training (at 250 89.0% against 54.0%), and at 16,000 the two cannot" in said
    said = prose.verdict(found(own=both(0.9, 0.55)), "laptop")
    assert "large arm answers more new questions right than its small one at every size" in said
    assert "(at 250 89.0% against 54.0%)" in said
    turned = GOOD | {(CHAIN, SIZES[0], *LARGE): 0.95}
    assert "at 1,000, 4,000 and 16,000 the small one (at 1,000 89.0% against 54.0%), at 250 the large one." in prose.verdict(
        found(own=turned), "laptop"
    )
    assert "neither of the paper's arms answers clearly more right at any size" in prose.verdict(
        found(own=both(0.7, 0.7)), "laptop"
    )


def test_the_answer_says_who_learns_sooner_and_compares_only_what_is_learned() -> None:
    said = lambda **fit: prose.verdict(found(own=GOOD, fit=fit["fit"]), "laptop")
    assert "The small arm learns its own questions in fewer steps at every size." in said(fit=TURNS)
    assert "does not learn its own questions in fewer steps at every size" not in said(fit=TURNS)
    assert "The small arm does not learn its own questions in fewer steps" in said(fit={})
    first = {(CHAIN, SIZES[0], *LARGE): 700}
    assert "in fewer steps with 250, but not with 1,000, 4,000 and 16,000." in said(fit=first)
    assert "in fewer steps with 250; with 1,000, 4,000 and 16,000 not every run has learned them in 1,500 steps." in said(
        fit=first | {(CHAIN, size, *LARGE): None for size in SIZES[1:]}
    )
    never = dict.fromkeys(asking_specs("laptop"))
    assert "At no size do all runs of both learn their own questions in 1,500 steps: it is unfinished models" in said(fit=never)


def test_the_answer_says_what_a_high_share_is_worth() -> None:
    told = lambda large, small: prose.verdict(found(own=GOOD | both(large, small, HARD)), "laptop")
    assert "the concept that is named more often gives the answer in 100% of the questions" in told(0.9, 0.9)
    assert "gets 79.0% and the large one 49.0%, only the small arm clearly more than the 62.0% of the concept" in told(0.5, 0.8)
    assert "both clearly more than the 62.0%" in told(0.8, 0.8)
    assert "only the large arm clearly more" in told(0.8, 0.5)
    assert "neither clearly more" in told(0.5, 0.6)


# ---------------------------------------------------------------- other sentences


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([1, 2, 3, 4], "more questions take longer"),
        ([4, 3, 2, 1], "take less long"),
        ([1, 3, 2, 1], "first take longer to learn, then less long"),
        ([1, np.nan, np.nan, 2], "first take longer to learn, then less long"),
        ([1, 2, np.nan, np.nan], "more questions take longer"),
        ([2, 1, 3, 2], "go up and down"),
        ([2, 2, 2, 2], "do not change"),
        ([np.nan] * 4, "no size is learned"),
        ([1], "tells no course"),
    ],
)
def test_the_course_of_steps_is_told(steps: list[float], words: str) -> None:
    assert words in prose._shape(np.array(steps, float))


def test_a_run_that_does_not_fit_needs_more_than_the_limit() -> None:
    runs = found(own=GOOD, fit=TURNS | {(CHAIN, SIZES[2], *LARGE): None})
    said = prose.steps_text(runs)
    assert "From the large start more questions first take longer to learn, then less long, as the paper reports" in said
    assert "At 4,000 not every run of the large arm learns its questions in the 1,500 steps: it needs more than that" in said
    assert "of the small arm" not in said
    assert "| 4,000 | large | > 1,500 |" in prose.sizes_table(runs)
    group = runs[CHAIN, SIZES[2], *LARGE]
    group[0].history["train"][1] = 1.0
    assert prose.fit_words(group) == "> 1,500 in 2 of 3 runs"
    assert prose.fit_words(runs[CHAIN, SIZES[0], *LARGE]) == "700 ± 0"


def test_readings_are_told_apart() -> None:
    said = prose.readings_text(found(own=GOOD))
    assert "the large arm is right in 99.0% behind the gold chain and in 54.0% behind its own: it compares, and what it" in said
    assert "help the small arm (59.0% right without them)" in said
    assert "neither clearly help nor harm the large arm (49.0%" in prose.readings_text(found(own=GOOD | both(0.5, 0.9)))
    assert "harm the large arm" in prose.readings_text(found(own=both(0.5, 0.9) | both(0.8, 0.8, NONE)))
    assert "it has not learned even to compare" in prose.readings_text(found(own=GOOD, label=0.7))
    assert "its own chain is as good" in prose.readings_text(found(own=both(0.99, 0.99), label=0.99))


def test_the_hard_variant_is_compared_with_who_does_not_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    said = prose.hard_text(found(own=GOOD), "laptop")
    assert "the large arm falls from 54.0% to 49.0%, below the best reader without reasoning" in said
    assert "the small arm falls from 89.0% to 79.0%, above the best" in said
    assert "That reader is the concept named more often, with 62.0%: our variant makes counting weak, and not useless." in said
    said = prose.hard_text(found(own=both(0.62, 0.8) | both(0.62, 0.9, HARD)), "laptop")
    assert "the large arm has 61.0% in place of 61.0%, which is no clear difference, not clearly above or below" in said
    assert "the small arm rises from 79.0% to 89.0%" in said
    monkeypatch.setitem(READERS, True, {prose.BAG: 0.5, prose.NAMED: 0.49})
    assert "and useless" in prose.hard_text(found(own=GOOD), "laptop")


def test_parts_of_an_arm_are_told_apart() -> None:
    said = prose.parts_text(found(own=GOOD | {(CHAIN, MIDDLE, *CROSSED[0]): 0.6, (CHAIN, MIDDLE, *CROSSED[1]): 0.85}))
    assert (
        "by +30 and +30 points (at decay 0.01 and 0.1), the larger decay by +5 and +5 (at γ = 0.5 and 0.7): the start" in said
    )
    assert "A still larger start (γ = 0.3, decay 0) answers fewer than the paper's large arm: 49.0% against 54.0%." in said
    assert "A still smaller start (γ = 0.8, decay 1) answers fewer than the paper's small arm" in said
    said = prose.parts_text(found(own=GOOD | {(CHAIN, MIDDLE, *CROSSED[0]): 0.9, (CHAIN, MIDDLE, *CROSSED[1]): 0.55}))
    assert "by +0 and +0 points" in said
    assert "the decay does more" in said
    alike = {(CHAIN, MIDDLE, *arm): 0.9 for arm in ARMS}
    said = prose.parts_text(found(own=alike, fit={(CHAIN, MIDDLE, *SMALLER): None}))
    assert "Here neither part matters" in said
    assert "answers not clearly more or fewer than the paper's small arm: 89.0% against 89.0% (not every run has" in said
    assert "answers more than the paper's large arm" in prose.parts_text(found(own=alike | {(CHAIN, MIDDLE, *LARGER): 0.99}))


def test_hops_are_those_of_the_questions() -> None:
    runs = found(own=GOOD)
    shares = prose.by_hops(runs[CHAIN, MIDDLE, *SMALL])
    test = make_asking(runs[CHAIN, MIDDLE, *SMALL][0].spec).test
    weights = [float((test.hops[:ASKED] == h).float().mean()) for h in (1, 2)]
    assert list(shares) == [1, 2]
    assert weights[0] * shares[1] + weights[1] * shares[2] == pytest.approx(numbers.own(runs[CHAIN, MIDDLE, *SMALL]))
    assert prose.hops_table(runs).startswith("| questions | arm | 1 hop | 2 hops |")


def test_examples_are_in_words_and_say_which_are_right() -> None:
    said = prose.examples_text(found(own=GOOD, writes=True), seed=1)
    assert "**question** | Q:" in said
    assert "True or false:" in said
    assert "seed 1: wrong" in said
    assert "right, word by word" in said or "right, by another chain" in said
    assert "<" not in said.replace("<br>", "")
    assert "seed 0" in prose.examples_text(found(own=GOOD, writes=True), seed=7)


def test_a_question_is_shown_with_its_two_rules() -> None:
    said = prose.question_text("laptop")
    published, hard = said.split("*Hard variant.*")
    assert "and the second once." in published
    assert "and the second 3 times." in hard
    assert said.count("Two rules name") == 2
    assert "| the concept named more often | 1.000 | 0.620 |" in prose.readers_text("laptop")


def test_one_seed_and_one_size_are_enough() -> None:
    """As in the profile smoke."""
    runs = found("smoke", own={}, fit=dict.fromkeys(asking_specs("smoke")), writes=True)
    for text in (prose.verdict(runs, "smoke"), prose.hard_text(runs, "smoke"), prose.parts_text(runs), prose.steps_text(runs)):
        assert "nan" not in text
    prose.examples_text(runs, 0)
    draw(runs, "smoke")


# ---------------------------------------------------------------- figures


def draw(runs: dict[Kind, list[StoredRun]], profile: str) -> None:
    sizes, size = numbers.sizes(runs, CHAIN, *SMALL), prose.middle(runs)
    pair = {prose.name_of(arm): arm for arm in (LARGE, SMALL)}
    per = lambda name: {words: numbers.by_size(runs, CHAIN, *arm, name=name) for words, arm in pair.items()}
    figures.over_sizes(sizes, per("fit"), per("own"), prose.limit(runs))
    curves = lambda group: {"a": arms.history(group, "train"), "b": arms.history(group, "label")}
    figures.along({f"{n:,}": {words: curves(runs[CHAIN, n, *arm]) for words, arm in pair.items()} for n in sizes}, ["b"])
    alone = {words: numbers.own(runs[NONE, size, *arm]) for words, arm in pair.items()}
    figures.readings(sizes, {words: prose.reading_values(runs, arm) for words, arm in pair.items()}, alone, size)
    shares = lambda variant: {words: numbers.own(runs[variant, size, *arm]) for words, arm in pair.items()}
    figures.variants({v: shares(v) for v in (CHAIN, HARD)}, {CHAIN: READERS[False], HARD: READERS[True]})
    figures.arms({prose.name_of(arm): numbers.own(group).tolist() for arm, group in prose.arms_of(runs).items()}, ["none"])


def test_figures_are_drawn_and_a_run_that_never_fits_lies_above_the_limit() -> None:
    runs = found(own=GOOD, fit=TURNS | {(CHAIN, SIZES[2], *LARGE): None})
    draw(runs, "laptop")
    fig = figures.over_sizes(SIZES, {"a": np.array([[500.0], [np.nan]] * 2)}, {"a": np.full((4, 1), 0.9)}, LIMIT)
    for ax, lowest in zip(fig.axes, (LIMIT, 0.89), strict=True):
        marks = [line for line in ax.lines if line.get_markerfacecolor() == "white" and len(line.get_xdata())]
        assert sum(len(line.get_xdata()) for line in marks) == 2
        assert all((line.get_ydata() > lowest).all() for line in marks)
    assert "> 1,500" in [label.get_text() for label in fig.axes[0].get_yticklabels()]
