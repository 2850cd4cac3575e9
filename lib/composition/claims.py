"""Every statement of the sources on composite functions that the book tests; chapters 3 to 8 keep theirs with their checks."""

from __future__ import annotations

from lib.composition.answer_claims import CHAPTER_02_ANSWERS
from lib.composition.condensation.claims import CHAPTER_05
from lib.composition.information_flow.claims import CHAPTER_03
from lib.composition.phase_diagram import claims as checks
from lib.composition.phase_diagram.claims import Check
from lib.composition.rate_decay_data.claims import CHAPTER_06, CHAPTER_08
from lib.composition.runs import REGION
from lib.composition.vectors.claims import CHAPTER_04
from lib.composition.width.claims import CHAPTER_07
from lib.core.claim import Claim


def _claim(
    id: str,
    item: str,
    statement: str,
    reported: str,
    criterion: str,
    check: Check,
    paper: str = "zhang2024",
    by_construction: bool = False,
) -> Claim:
    return Claim(id, paper, item, statement, reported, criterion, check, by_construction)


CHAPTER_01 = (
    _claim(
        "task-pairs",
        "Fig 1a",
        "Fourteen of 16 anchor pairs follow the rule, one does not, one is unseen.",
        "14, 1 and 1",
        "the task object has these counts",
        checks.sixteen,
        by_construction=True,
    ),
    _claim(
        "task-two-answers",
        "Fig 1b",
        "The unseen pair (4, 3) can be answered by symmetry or by composition, and the two answers differ.",
        "key − 6 and key − 10",
        "the two offsets differ, and no other pair breaks the symmetry",
        checks.two_answers,
        by_construction=True,
    ),
    _claim(
        "task-data-generalization",
        "Fig 8",
        "Models generalize to new data of seen pairs.",
        "test accuracy above 90 % outside the shadow",
        "more than half of all runs reach 90 % on held-out (key, place)",
        checks.data_generalization,
    ),
    _claim(
        "task-generalization-differs",
        "Fig 8",
        "Good data generalization does not decide how the unseen task is answered.",
        "both solutions occur",
        "among runs with at least 99 % on seen pairs, both mappings reach 95 % somewhere",
        checks.task_generalization,
    ),
    _claim(
        "task-split",
        "Fig 9",
        "Training never shows a key at its held-out place; every key and every place occurs.",
        "x mod 7 ≠ p in training",
        "no violation in 30,000 rows; every test row is held out; all keys and places train",
        checks.split,
        by_construction=True,
    ),
    _claim(
        "slides-ladder",
        "Ladder of complexities",
        "The 16 pair maps reduce to ten symmetric maps made from four primitives.",
        "16, 10 and 4",
        "counted from the task object",
        checks.ladder,
        "zhang2024slides",
        by_construction=True,
    ),
    _claim(
        "slides-errata",
        "Inference example",
        "The slides' worked entries follow from the four functions.",
        "all entries",
        "no entry disagrees with the four functions",
        checks.slides,
        "zhang2024slides",
    ),
)

CHAPTER_02 = (
    *CHAPTER_02_ANSWERS,
    _claim(
        "phase-symmetric",
        "Fig 2a",
        "There is a region of γ and depth where the unseen pair is answered symmetrically.",
        "at large initialization, near 100 %",
        f"fast settings: some cell with selected accuracy on key − 6 of at least {REGION:g} and seen pairs above 90 %",
        checks.region("symmetric"),
    ),
    _claim(
        "phase-inferential",
        "Fig 2b",
        "There is a region of γ and depth where the unseen pair is answered inferentially.",
        "at small initialization, near 100 %",
        f"fast settings: some cell with selected accuracy on key − 10 of at least {REGION:g} and seen pairs above 90 %",
        checks.region("inferential"),
    ),
    _claim(
        "phase-order",
        "Fig 2a, b",
        "The symmetric region lies at larger initialization (smaller γ) than the inferential one.",
        "large initialization: symmetric; small: inferential",
        "fast settings: at every depth that has both regions, the mean γ of symmetric cells is smaller",
        checks.order,
    ),
    _claim(
        "phase-flip",
        "Fig 2a, b",
        "γ alone turns the solution from symmetric to inferential at fixed depth.",
        "at depth 2, between γ = .5 and .8",
        f"fast settings: some depth has both mappings at {REGION:g} or more, symmetric at the smaller γ",
        checks.flip,
    ),
    _claim(
        "phase-trend",
        "Fig 2a, b",
        "The smaller the initialization, the more a model leans to the inferential answer.",
        "seen in the diagram",
        "fast settings: the slope of inferential − symmetric against γ has a 95 % interval above 0 at each depth",
        checks.trend,
    ),
    _claim(
        "phase-depth2-gamma05",
        "Fig 2a",
        "Two layers at γ = .5 are symmetric.",
        "near 100 % on key − 6",
        f"fast settings: selected symmetric accuracy at least {REGION:g} and above the inferential one",
        checks.at("symmetric", 2, 0.5),
    ),
    _claim(
        "phase-depth2-gamma08",
        "Fig 2b",
        "Two layers at γ = .8 are inferential.",
        "near 100 % on key − 10",
        f"fast settings: selected inferential accuracy at least {REGION:g} and above the symmetric one",
        checks.at("inferential", 2, 0.8),
    ),
    _claim(
        "phase-shadow",
        "Fig 2a, b",
        "Very large initialization in deep models does not even fit the seen pairs.",
        "shadow: test accuracy below 90 %",
        "fast settings: at the largest depth and smallest γ of the grid, test accuracy on seen pairs is below 90 %",
        checks.shadow,
    ),
    _claim(
        "phase-rate",
        "after Fig 14",
        "A larger learning rate raises inferential accuracy.",
        "at depth 3, with (3, 4) and (4, 3) both unseen; here (3, 4) is seen",
        "fast settings: mean inferential share is higher at the largest learning rate than at the smallest, at each depth",
        checks.rates,
    ),
    _claim(
        "phase-third",
        "Fig 2a, b",
        "Models that learn the seen pairs also give a third kind of answer, following neither mapping.",
        "not discussed",
        "fast settings: in more than 5 % of the fitted runs, more than half of the answers follow neither",
        checks.third_answer,
        "ours",
    ),
    _claim(
        "phase-selection",
        "Fig 2a, b",
        "Choosing the best learning rate for each mapping makes both regions look larger than a typical run.",
        "not discussed",
        "fast settings: selected accuracy exceeds the plain mean by more than .02 for both mappings",
        checks.selection,
        "ours",
    ),
)

CLAIMS = CHAPTER_01 + CHAPTER_02 + CHAPTER_03 + CHAPTER_04 + CHAPTER_05 + CHAPTER_06 + CHAPTER_07 + CHAPTER_08
