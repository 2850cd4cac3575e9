"""The chapter on SCAN and COGS, on planted results: what it says, whichever way they fall, and how its claims are judged."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from conftest import Shelf
from torch import Tensor

from lib.book.dials import Dials
from lib.core.record.store import StoredRun
from lib.language import cogs
from lib.language.arms import name_of
from lib.language.commands import figures, metrics, prose
from lib.language.commands.claims import CLAIMS
from lib.language.experiments import (
    COGS,
    CROSSED,
    JUMP,
    LARGE,
    LARGER,
    SCAN,
    SMALL,
    SMALLER,
    TURN,
    Kind,
    cogs_specs,
    scan_specs,
)
from lib.language.study import asked_for, cogs_data, make_cogs, make_scan

Share = Callable[[Kind], float]
LEXICAL = len(cogs.LEXICAL)


class Planted(StoredRun):
    """A run in no store. Its even rows are right; of the others, the second word is always the first one of the vocabulary."""

    def snapshots(self) -> dict[int, dict[str, Tensor]]:
        study = (make_scan if self.spec.experiment == "language-scan" else make_cogs)(self.spec)
        kept = {}
        for name, rows in study.asked.items():
            target = asked_for(rows)[1].clamp(min=0)
            even = (torch.arange(len(rows)) % 2 == self.spec.seed % 2).float()
            for i in (even == 0).nonzero()[:, 0].tolist():
                target[i, int(rows.start[i])] = 3
            kept |= {f"{name} right": even, f"{name} answers": target[study.shown(name)].float()}
        return {self.steps: kept}


def of(small: float = 0.9, large: float = 0.6, others: Mapping[tuple[float, float], float] | None = None) -> Share:
    """Shares by arm, alike at every size."""
    return lambda kind: (({SMALL: small, LARGE: large} | dict(others or {})) | {}).get(kind[2:], (small + large) / 2)


def planted(
    share: Share, inside: Share = of(0.995, 0.995), train: float = 1.0, profile: str = "laptop", jitter: float = 0.005
) -> list[Planted]:
    """`share` of the rows right where training does not go, `inside` of those of COGS in distribution, `train` of training."""
    runs = []
    for name, of_profile in (("scan", scan_specs), ("cogs", cogs_specs)):
        for kind, specs in of_profile(profile).items():
            for spec in specs:
                value = share(kind) - jitter * spec.seed
                metrics: dict[str, Any] = {"test": value, "train": train}
                if name == "cogs":
                    metrics |= {"gen": value, "test": inside(kind), "gen cases": [value] * LEXICAL + [value / 50] * 3}
                history = {"step": [50, 100], "train": [0.5, train]} | {
                    k: [0.1, v] for k, v in metrics.items() if k in ("test", "gen")
                }
                provenance = {"device": "cpu", "precision": "x"}
                runs.append(Planted(spec, metrics, history, 100, "fitted", None, 1.0, provenance, Path("x")))
    return runs


def found(share: Share = of(), profile: str = "laptop", **how: Any) -> tuple[metrics.Runs, metrics.Runs]:
    shelf = Shelf(planted(share, profile=profile, **how))
    return metrics.of_scan(shelf, profile), metrics.of_cogs(shelf, profile)


def judged(id: str, share: Share = of(), **how: Any) -> str:
    return next(claim for claim in CLAIMS if claim.id == id).evaluate(Shelf(planted(share, **how)), "laptop")["status"]


def only_at(sizes: Mapping[int, float], small: float = 0.6, large: float = 0.6) -> Share:
    """The small arm has other shares at some sizes."""
    return lambda kind: sizes.get(kind[1], small) if kind[2:] == SMALL else large


SIZES = SCAN["laptop"].sizes
LOW, MIDDLE, HIGH = SIZES


# ---------------------------------------------------------------- claims


def test_turn_left_is_judged_by_learning_by_every_size_and_by_one_clear_lead() -> None:
    assert judged("scan-turn-left") == "reproduced"
    assert judged("scan-turn-left", train=0.98) == "partly"
    assert judged("scan-turn-left", only_at({LOW: 0.9})) == "partly"
    assert judged("scan-turn-left", of(0.601, 0.6)) == "partly"  # above everywhere, clearly nowhere
    assert judged("scan-turn-left", of(0.3, 0.6), train=0.98) == "not reproduced"


def test_jump_may_be_composed_by_neither_arm() -> None:
    assert judged("scan-jump", lambda kind: 0.05 if kind[0] == JUMP else 0.9) == "reproduced"
    assert judged("scan-jump", lambda kind: 0.5 if kind[0] == JUMP and kind[2:] == SMALL else 0.0) == "not reproduced"
    assert judged("scan-jump", of(0.5, 0.5), train=0.5) == "not reproduced"


def test_cogs_is_judged_in_and_out_of_distribution() -> None:
    assert judged("cogs-in") == "reproduced"
    assert judged("cogs-in", inside=of(0.97, 0.97)) == "partly"
    assert judged("cogs-in", inside=of(0.97, 0.9)) == "not reproduced"
    assert judged("cogs-out") == "reproduced"
    assert judged("cogs-out", train=0.98) == "partly"
    assert judged("cogs-out", only_at({max(COGS["laptop"].sizes): 0.5}, small=0.7)) == "not reproduced"
    assert judged("cogs-out", of(0.5, 0.6), train=0.98) == "not reproduced"


# ---------------------------------------------------------------- sentences


AHEAD, UP, LEVEL, DOWN, BEHIND = (0.2, 0.1, 0.3), (0.2, -0.1, 0.5), (0.0, 0.0, 0.0), (-0.2, -0.5, 0.1), (-0.2, -0.3, -0.1)


@pytest.mark.parametrize(
    ("leads", "seeds", "said"),
    [
        ((AHEAD, AHEAD), 3, "clearly ahead at every size"),
        ((UP, AHEAD), 3, "ahead at every size, clearly at 2,000 rows"),
        ((UP, UP), 3, "in the mean ahead at every size, but nowhere clearly"),
        ((BEHIND, BEHIND), 3, "clearly behind at every size"),
        ((BEHIND, DOWN), 3, "behind at every size, clearly at 500 rows"),
        ((BEHIND, AHEAD, LEVEL), 3, "clearly ahead at 2,000 rows and clearly behind at 500 rows, neither at 4,000 rows"),
        ((BEHIND, UP), 3, "clearly behind at 500 rows, neither at 2,000 rows"),
        ((DOWN, UP, UP), 3, "in the mean ahead at 2,000 and 4,000 rows and behind at 500 rows, but nowhere clearly"),
        ((UP, LEVEL), 3, "in the mean ahead at 500 rows and level at 2,000 rows, but nowhere clearly"),
        ((LEVEL, LEVEL), 3, "level at every size"),
        ((LEVEL,), 1, "level at the one size, in the one seed that there is"),
        ((AHEAD,), 1, "ahead at the one size, in the one seed that there is"),
        ((AHEAD, BEHIND), 1, "ahead at 500 rows and behind at 2,000 rows, in the one seed that there is"),
    ],
)
def test_where_the_small_arm_is_ahead(leads: tuple[tuple[float, float, float], ...], seeds: int, said: str) -> None:
    assert prose.where(dict(zip((500, 2_000, 4_000), leads, strict=False)), seeds) == said


def test_the_verdict_follows_both_data_sets() -> None:
    said = prose.verdict(*found()).splitlines()
    assert said[0] == "The small arm (γ = 0.7, decay 0.1) against the large one (γ = 0.5, decay 0.01):"
    assert said[2:] == [
        '- **SCAN, "turn left":** clearly ahead at every size; 89.5% against 59.5% at 500 rows and 89.5% against 59.5% at '
        "21,890 rows.",
        "- **COGS, 21 cases:** clearly ahead at every size; 89.5% against 59.5% at 4,000 rows and 89.5% against 59.5% at "
        "16,000 rows.",
    ]
    assert prose.verdict(*found(of(0.2, 0.6))).count("clearly behind at every size") == 2
    assert "clearly ahead at 500 rows, neither at 2,000 and 21,890 rows" in prose.verdict(*found(only_at({LOW: 0.9})))
    assert "level at every size; 59.5%" in prose.verdict(*found(only_at({LOW: 0.9})))
    said = prose.verdict(*found(train=0.5))
    assert 'Not every run had learned 99% of its training rows (SCAN, "turn left", 500 rows, γ = 0.5, decay 0.01;' in said
    assert "jump" not in said


def test_the_answer_is_the_verdict_in_words() -> None:
    assert prose.answer(*found()) == (
        "Against a large start with little decay, a small start with much is clearly ahead at every size on SCAN's "
        '"turn left"; on the 21 cases that training does not show in COGS it is clearly ahead at every size. '
        "Where γ and decay are crossed, on SCAN both act clearly, on COGS both act clearly."
    )
    assert prose.answer(*found(of(0.2, 0.6))).count("clearly behind at every size") == 2
    said = prose.answer(*found(only_at({LOW: 0.9})))
    assert "show in COGS it is level at every size. " in said
    assert prose.answer(*found(train=0.5)).endswith(" Not every run had learned 99% of its training rows.")
    assert "in the one seed that there is" in prose.answer(*found(profile="smoke"))


@pytest.mark.parametrize(
    ("leads", "said"),
    [
        ([(0.1, 0.05, 0.2), (0.1, -0.1, 0.2)], "ahead at every size (clearly at some)"),
        ([(0.1, -0.1, 0.2), (0.1, -0.1, 0.2)], "ahead at every size (clearly at none)"),
        ([(0.1, -0.1, 0.2), (-0.1, -0.2, 0.1)], "ahead at some sizes and behind at others (clearly at none)"),
        ([(-0.1, -0.2, -0.05), (0.0, 0.0, 0.0)], "behind at some sizes (clearly at some)"),
        ([(0.1, 0.05, 0.2)], "clearly ahead at the one size"),
    ],
)
def test_briefly_where_the_small_arm_is_ahead(leads: list[tuple[float, float, float]], said: str) -> None:
    assert prose._briefly(dict(enumerate(leads)), 3) == said


def test_in_distribution_the_arms_are_alike_or_not() -> None:
    said = lambda *inside: prose.in_text(found(inside=of(*inside))[1])
    assert "is level at every size: 99.5% against 99.5% at 4,000 rows and 99.5%" in said(0.995, 0.995)
    assert "With 16,000 rows the arms are a point or less apart, and both reach 99%, which" in said(0.995, 0.995)
    assert "a point or less apart, and neither reaches 99%" in said(0.97, 0.965)
    assert "ahead at every size" in said(0.995, 0.9)
    assert "more than a point apart, and only the small one reaches 99%" in said(0.995, 0.9)
    assert "behind at every size" in said(0.9, 0.995)


def test_more_rows_are_fewer_looks_at_each() -> None:
    at = lambda low, high: lambda kind: low if kind[1] == 4_000 else high
    said = prose.rare_text(found(at(0.5, 0.6))[1])
    assert "a row of training is seen 48 times with 4,000 rows and 12 times with 16,000 rows" in said
    assert "Whether these 12 rows were learned we do not know: the sample on which training is measured has 1 of them." in said
    assert said.endswith("With more rows both arms have a larger share of the 21 cases right, all the same.")
    assert "With more rows both arms have a smaller share of the 21" in prose.rare_text(found(at(0.5, 0.4))[1])
    one = lambda kind: 0.5 if kind[1] == 4_000 or kind[2:] == LARGE else 0.3
    assert "With more rows the small arm has a smaller share of the 21" in prose.rare_text(found(one)[1])
    assert prose.rare_text(found(profile="smoke")[1]).count("With more rows") == 0


def test_jump_is_composed_by_neither_by_one_or_by_both() -> None:
    jump = lambda small, large: prose.control_text(
        found(lambda kind: (small if kind[2:] == SMALL else large) if kind[0] == JUMP else 0.9, jitter=0)[0]
    )
    assert jump(0.01, 0.02).startswith('Neither arm composes "jump": with 2,000 rows 1.0% (small arm) and 2.0% (large arm)')
    assert jump(0.3, 0.02).startswith('Only the small arm has some of "jump"')
    assert jump(0.01, 0.3).startswith('Only the large arm has some of "jump"')
    assert jump(0.3, 0.3).startswith('Both arms have some of "jump"')
    share = 13_146 / 19_701  # 15,335 of 21,890 rows have the action, and 2,189 of these are "turn left" itself
    assert f'"turn left" is in {share:.0%} of the other rows of its split, that of "jump" in 0%' in jump(0.01, 0.02)


def test_the_two_by_two_tells_the_start_from_the_decay() -> None:
    (g0, d0), (g1, d1) = LARGE, SMALL
    corner = lambda start, decay: {(g0, d1): 0.5 + decay, (g1, d0): 0.5 + start}
    said = lambda start, decay, **how: prose.parts_text(
        *found(of(0.5 + start + decay, 0.5, corner(start, decay) | {LARGER: 0.1, SMALLER: 0.8}), **how)
    )
    assert said(0.2, 0.0).count("only the start acts clearly") == 2
    assert "by +20.0 points [+18.9, +21.1]" in said(0.2, 0.0)
    assert said(0.0, -0.2).count("only the decay acts clearly") == 2
    assert "(0.1 in place of 0.01) by −20.0 points" in said(0.0, -0.2)
    assert said(0.1, 0.1).count("both act clearly") == 2
    assert said(0.0, 0.0).count("neither acts clearly") == 2
    assert said(0.0, 0.0).count("Beyond the paper's arms, γ = 0.3, decay 0 has 9.5% and γ = 0.8, decay 1 has 79.5%.") == 1
    assert "Not every run had learned its rows of training: γ = 0.3, decay 0; γ = 0.5, decay 0.01;" in said(0, 0, train=0.5)
    assert said(0.2, 0.0, profile="smoke").count("one seed cannot say which of the two acts") == 2


def test_cases_are_counted_where_the_arms_are_far_apart() -> None:
    said = prose.cases_text(found(of(0.9, 0.6))[1])
    assert said.startswith(
        "Neither arm has the structural cases. On the lexical ones the small arm is in the mean ahead with 4,000 and 16,000 "
        "rows. "
    )
    rows = [f"| {size} | 18 | 0 | hedgehog: subject → object |" for size in ("4,000", "16,000")]
    assert said.splitlines()[-2:] == rows
    other = prose.cases_text(found(of(0.3, 0.6))[1])
    assert "is in the mean behind with 4,000 and 16,000 rows." in other
    assert "| 4,000 | 0 | 18 | hedgehog" in other
    assert "| 4,000 | 0 | 0 | – |" in prose.cases_text(found(of(0.6, 0.6))[1])
    assert "| 4,000 | 18 | 0 |" in prose.cases_text(found(of(0.6, 0.5))[1])  # 0.6 − 0.5 is less than 0.1 in binary
    assert len(prose.cases_text(found(profile="smoke")[1]).splitlines()) == 5


def test_how_long_learning_takes_is_said_of_both_arms() -> None:
    assert '- SCAN, "turn left", 2,000 rows: the large arm 100, the small arm 100.' in prose.along_text(*found())
    assert "the large arm never, the small arm never." in prose.along_text(*found(train=0.5))
    assert prose.along_text(*found()).startswith("Steps until")
    late = found()
    for runs in late:
        for kind, group in runs.items():
            for run in group if kind[2:] == LARGE else ():
                run.history["train"] = [1.0, 1.0]
    both = "On average the small arm learns its rows of training later, on SCAN and COGS every run of it. Steps until"
    assert prose.along_text(*late).startswith(both)
    for runs in late:
        for kind, group in runs.items():
            if kind[2:] == LARGE:
                group[0].history["train"] = [0.5, 1.0]
    assert "later, but the runs of both overlap. Steps until" in prose.along_text(*late)
    runs = found()
    runs[1]["COGS", 16_000, *SMALL][0].history["train"] = [0.5, 0.9]
    assert "the small arm 100 (of 3 runs 1 never)" in prose.along_text(*runs)


def test_the_bound_of_the_recursive_cases_is_of_the_data() -> None:
    run = found(profile="smoke")[1]["COGS", 150, *SMALL][0]
    data = cogs_data(160, 10, 10, 30, 10)[0]
    highest = lambda row: max(map(int, re.findall(r"x _ (\d+)", row.form)), default=0)
    known = max(map(highest, cogs.fewer(data, 150).train))
    lost = [highest(row) > known for row in data.gen if row.case.endswith("recursion")]
    assert 0.5 < np.mean(lost) <= 1
    assert f"{np.mean(lost):.0%} of their rows ask for a variable" in prose.unseen_text(run)


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("target", "said", "right", "words"),
    [
        ("A B", "A B", True, "right"),
        ("A B", "A B", False, "all words right, but goes on"),
        ("A B C", "A <end> C", False, "`A` stops in place of `B`"),
        ("A B", "C B", False, "**`C`** in place of `A`"),
        ("A B C D E F G H I J", "A B C D E F G H I K", False, "… `B C D E F G H I` **`K`** in place of `J`"),
    ],
)
def test_an_answer_is_told_up_to_its_first_error(target: str, said: str, right: bool, words: str) -> None:
    assert prose.answered(("x", target, said, right)) == words


def test_examples_in_words_are_right_and_wrong() -> None:
    runs = found(profile="smoke")
    said = prose.scan_words(runs[0], seed=7).splitlines()  # no such seed: the first
    assert "| turn left twice | `LTURN LTURN` | right | right |" in said
    assert len(said) == 2 + 4  # one of each outcome for either primitive
    said = prose.cogs_words(runs[1], seed=0)
    assert "hedgehog: subject → object" in said
    assert "in place of `" in said
    assert "| right | right |" in said


def test_wrong_ends_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = found(profile="smoke")[0]
    six = "of the large arm's 6 wrong ones 1 and of the small arm's 6 wrong ones 1 are wrong in the end alone"
    assert f"24 were kept, to short commands; {six}" in prose.ends_text(runs)
    ended, wrong = ("a", "A", "A", False), ("a", "A", "B", False)
    monkeypatch.setattr(metrics, "scan_examples", lambda run: [wrong, wrong if run.spec.gamma == SMALL[0] else ended])
    said = prose.ends_text(runs)
    assert "of the large arm's 2 wrong ones 1 and of the small arm's 2 wrong ones 0 are wrong in the end alone" in said
    assert "50% of the large arm's and 0% of the small arm's kept answers would be right" in said
    monkeypatch.setattr(metrics, "scan_examples", lambda run: [("a", "A", "A", True)])
    assert "All 2 answers" in prose.ends_text(runs)


def test_a_model_that_says_what_is_no_word_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = Planted.snapshots
    nonsense = lambda run: {step: {n: v + 400 for n, v in kept.items()} for step, kept in snapshots(run).items()}
    monkeypatch.setattr(Planted, "snapshots", nonsense)
    assert "tokens that are no words" in prose.cogs_words(found(profile="smoke")[1], seed=0)


def test_tables_hold_every_group_and_every_setting() -> None:
    runs = found()
    assert len(prose.scan_table(runs[0]).splitlines()) == 2 + len(scan_specs("laptop"))
    assert len(prose.cogs_table(runs[1]).splitlines()) == 2 + len(cogs_specs("laptop"))
    assert "| jump opposite left twice | `LTURN LTURN JUMP LTURN LTURN JUMP` |" in prose.tasks_table(
        runs[1]["COGS", 4_000, *SMALL][0]
    )
    for profile in ("laptop", "paper"):
        rows = dict(prose.settings_table(profile))
        assert rows["SCAN: rows of training"].startswith(", ".join(f"{size:,}" for size in SCAN[profile].sizes))
        assert "e-" not in " ".join(rows.values())
    assert dict(prose.settings_table("laptop"))["steps"] == "SCAN 2,500, COGS 3,000"
    assert list(metrics.CASES) == list(cogs.CASES)
    assert len(set(metrics.CASES.values())) == len(cogs.CASES)


@pytest.mark.parametrize("profile", ["laptop", "smoke"])
def test_figures_are_drawn(profile: str) -> None:
    runs = found(profile=profile)
    drawn = [
        figures.by_size(metrics.of_sizes(*runs)),
        figures.along(metrics.of_histories(*runs)),
        figures.arms(metrics.of_arms(*runs), [name_of(arm) for arm in metrics.OURS]),
        figures.cases(metrics.cases_at_ends(runs[1]), len(cogs.STRUCTURAL)),
    ]
    assert [len(figure.axes) for figure in drawn] == [3, 3, 2, len(metrics.ends(runs[1], "COGS"))]
    lines = (prose.size_line(*runs), prose.along_line(*runs), prose.arms_line(*runs))
    assert all("nan" not in line for line in (*lines, prose.cases_line(runs[1])))
    for figure in drawn:
        plt.close(figure)


def test_runs_are_picked_by_arm_kind_and_size() -> None:
    runs = found()[0]
    assert len(metrics.some(runs, metrics.PAPERS, TURN)) == 2 * 3 * 3
    assert len(metrics.some(runs, metrics.PAPERS, size=MIDDLE)) == 2 * 2 * 3
    assert {run.spec.gamma for run in metrics.some(runs, main=TURN, size=MIDDLE)} == {0.3, 0.5, 0.7, 0.8}
    assert metrics.some(runs, CROSSED, JUMP) == []


def test_dials_have_every_size_arm_and_step() -> None:
    scan, cogs = found(of(0.9, 0.6))
    data = metrics.scan_dials(scan)
    assert [dial["values"] for dial in data["dials"]] == [list(SIZES), [LARGE[0], SMALL[0]], [50, 100]]
    test, train = (series["values"] for series in data["series"])
    assert test[0][1][1] == pytest.approx([0.9 - 0.005 * 2 / 2, 0.9 - 0.005 * 2, 0.9])
    assert test[2][0][0] == pytest.approx([0.1, 0.1, 0.1])
    assert train[0][0] == [[0.5, 0.5, 0.5], [1, 1, 1]]
    assert "Dials over" in Dials(data, "rm-a").words()
    data = metrics.cogs_dials(cogs)
    assert [series["label"] for series in data["series"]] == ["21 cases", "in distribution", "sentences of training"]
    assert data["start"] == {"size": data["dials"][0]["values"][-1], "gamma": SMALL[0], "step": 100}
    assert "Dials over" in Dials(data, "rm-b").words()
