"""SCAN: counts of the published grammar, its meaning restated as a recursion, splits, and files in the released format."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lib.language import scan
from lib.language.text import END, OUT, LanguageError

N = 20_910
SEEDS = st.integers(0, 2**40)
PARTS = st.sampled_from([" ".join(words) for words, _ in scan.sentences()])
ACTIONS = {"walk": "WALK", "look": "LOOK", "run": "RUN", "jump": "JUMP", "left": "LTURN", "right": "RTURN"}


def interpreted(command: str) -> list[str]:
    """The meaning by recursion from the outside, as the paper's double brackets go."""
    for word in ("and", "after"):
        if f" {word} " in command:
            first, second = (interpreted(part) for part in command.split(f" {word} "))
            return first + second if word == "and" else second + first
    words = command.split()
    if words[-1] in ("twice", "thrice"):
        return interpreted(" ".join(words[:-1])) * {"twice": 2, "thrice": 3}[words[-1]]
    own = [ACTIONS[words[0]]] if words[0] != "turn" else []
    if len(words) == 1:
        return own
    turn = [ACTIONS[words[-1]]]
    return {"opposite": turn * 2 + own, "around": (turn + own) * 4}.get(words[1], turn + own)


def joined(which: torch.Tensor) -> list[str]:
    return [" ".join(scan.commands()[i][0]) for i in which.tolist()]


# ---------------------------------------------------------------- grammar and meaning


def test_the_grammar_has_the_published_counts() -> None:
    phrases = [words for words, _ in scan.sentences()]
    assert len([words for words in phrases if words[-1] not in ("twice", "thrice")]) == 34
    assert len(set(phrases)) == len(phrases) == 102
    words, actions = zip(*scan.commands(), strict=True)
    assert len(set(words)) == len(words) == N
    assert (len({w for c in words for w in c}), len({a for c in actions for a in c})) == (13, 6)
    assert (max(map(len, words)), max(map(len, actions))) == (9, 48)
    assert round(sum(map(len, words)) / N, 2) == 7.25
    assert round(sum(map(len, actions)) / N, 2) == 14.32


def test_no_action_is_a_command_word_and_the_vocabulary_has_both() -> None:
    words = {w for c, _ in scan.commands() for w in c}
    actions = {a for _, acts in scan.commands() for a in acts}
    assert words & actions == set()
    assert len(scan.VOCABULARY) == 3 + 13 + 6
    assert set(scan.VOCABULARY.words[3:]) == words | actions
    assert scan.RELEASED.keys() == actions


def test_meanings_by_hand() -> None:
    """The rows of the table of meanings, one each."""
    by_hand = {
        "jump": "JUMP",
        "turn left": "LTURN",
        "walk right": "RTURN WALK",
        "run opposite left": "LTURN LTURN RUN",
        "turn opposite right": "RTURN RTURN",
        "look around left": "LTURN LOOK LTURN LOOK LTURN LOOK LTURN LOOK",
        "turn around right": "RTURN RTURN RTURN RTURN",
        "jump left twice": "LTURN JUMP LTURN JUMP",
        "run thrice": "RUN RUN RUN",
        "jump and walk left": "JUMP LTURN WALK",
        "jump after walk left twice": "LTURN WALK LTURN WALK JUMP",
    }
    assert {command: " ".join(scan.meaning(command)) for command in by_hand} == by_hand


def test_every_command_means_what_the_recursion_says() -> None:
    for words, actions in scan.commands():
        assert list(actions) == interpreted(" ".join(words))


@given(PARTS, PARTS)
def test_a_command_means_what_its_parts_mean(x: str, y: str) -> None:
    assert scan.meaning(f"{x} and {y}") == scan.meaning(x) + scan.meaning(y)
    assert scan.meaning(f"{x} after {y}") == scan.meaning(f"{y} and {x}")
    if not x.endswith(("twice", "thrice")):
        assert scan.meaning(f"{x} twice") == scan.meaning(f"{x} and {x}")
        assert scan.meaning(f"{x} thrice") == scan.meaning(f"{x} twice") + scan.meaning(x)


@given(st.integers(0, N - 1))
def test_a_number_names_its_command(which: int) -> None:
    words, actions = scan.commands()[which]
    assert scan.number(words) == scan.number(" ".join(words)) == which
    row = scan.rows()[which : which + 1]
    length = int(row.length)
    assert scan.VOCABULARY.decode(row.tokens[0, :length]) == [*words, OUT, *actions, END]
    assert scan.rows().tokens.shape == (N, 9 + 48 + 2)


@pytest.mark.parametrize("command", ["", "jump jump", "turn", "walk and run and jump", "left jump", "I_JUMP"])
def test_what_the_grammar_lacks_has_no_number(command: str) -> None:
    with pytest.raises(LanguageError, match="not a command of SCAN's grammar"):
        scan.meaning(command)


# ---------------------------------------------------------------- splits


@given(SEEDS, SEEDS)
def test_the_simple_split_shares_out_every_command(seed: int, other: int) -> None:
    split = scan.split("simple", seed)
    assert (len(split.train), len(split.test), split.primitive) == (16_728, 4_182, None)
    assert torch.equal(torch.cat([split.train, split.test]).sort().values, torch.arange(N))
    assert torch.equal(split.test, scan.split("simple", seed).test)
    assert (seed == other) == torch.equal(split.test, scan.split("simple", other).test)


def test_the_simple_split_is_drawn_from_everywhere() -> None:
    """A fifth of 102 short commands, of those with "and" and of those with "after": within 4.5 standard errors."""
    test = joined(scan.split("simple").test)
    for word in ("and", "after"):
        assert abs(sum(f" {word} " in command for command in test) - 2_081) < 4.5 * 29
    assert 5 <= sum(" and " not in command and " after " not in command for command in test) <= 39


@pytest.mark.parametrize(
    ("name", "alone", "repeats", "others", "tested"),
    [("addprim_turn_left", "turn left", 2_189, 19_701, 1_208), ("addprim_jump", "jump", 1_467, 13_203, 7_706)],
)
def test_a_split_by_a_primitive(name: str, alone: str, repeats: int, others: int, tested: int) -> None:
    split = scan.split(name)
    train, test = Counter(joined(split.train)), joined(split.test)
    assert split.primitive == scan.number(alone)
    assert train.pop(alone) == repeats
    assert (len(train), set(train.values())) == (others, {1})
    assert len(set(test)) == len(test) == tested
    assert len(split.train) == repeats + others
    assert all(alone in command and command != alone for command in test)
    assert not any(alone in command for command in train)
    assert len({*train, *test, alone}) == N


def test_what_turn_left_is_tested_on() -> None:
    test = scan.split("addprim_turn_left").test
    commands = joined(test)
    assert sum(" and " in command for command in commands) == sum(" after " in command for command in commands) == 603
    assert {c for c in commands if " and " not in c and " after " not in c} == {"turn left twice", "turn left thrice"}
    lengths = [len(scan.commands()[i][1]) for i in test.tolist()]
    assert (round(sum(lengths) / len(lengths), 2), max(lengths)) == (9.24, 27)


def test_left_turns_are_in_most_training_rows() -> None:
    """Why this primitive is the easy one: its action is not rare."""
    train = scan.split("addprim_turn_left").train
    assert sum("LTURN" in scan.commands()[i][1] for i in train.tolist()) == 15_335


@given(st.sampled_from(list(scan.SPLITS)), st.integers(1, 14_670), st.integers(1, 14_670))
def test_a_sample_keeps_the_primitive_and_lies_within_a_larger_one(name: str, a: int, b: int) -> None:
    whole = scan.split(name)
    few, many = whole.sample(min(a, b)), whole.sample(max(a, b))
    assert (len(few.train), len(many.train)) == (min(a, b), max(a, b))
    assert few.test is whole.test
    assert Counter(few.train.tolist()) <= Counter(many.train.tolist()) <= Counter(whole.train.tolist())
    for sample in (few, many):
        copies = int((sample.train == whole.primitive).sum()) if whole.primitive is not None else 0
        assert copies == (-(-len(sample.train) // 10) if whole.primitive is not None else 0)
        assert len(set(sample.train.tolist())) == len(sample.train) - max(0, copies - 1)


def test_the_largest_sample_is_the_whole() -> None:
    whole = scan.split("addprim_jump")
    assert sorted(whole.sample(14_670).train.tolist()) == sorted(whole.train.tolist())


@pytest.mark.parametrize("size", [0, -1, 14_671, True, 2.0, "10"])
def test_a_size_that_cannot_be_drawn(size: object) -> None:
    with pytest.raises(LanguageError, match="an integer from 1 to 14,670"):
        scan.split("addprim_jump").sample(size)  # type: ignore[arg-type]


def test_a_split_of_another_name(tmp_path: Path) -> None:
    for ask in (scan.split, lambda name: scan.load(tmp_path, name)):
        with pytest.raises(LanguageError, match="one of simple, addprim_turn_left, addprim_jump, got 'length'"):
            ask("length")


# ---------------------------------------------------------------- files


def write(path: Path, which: torch.Tensor) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{scan.released(i)}\n" for i in which.tolist()), encoding="utf-8")


def release(folder: Path, name: str, split: scan.Split) -> None:
    write(folder / f"tasks_train_{name}.txt", split.train)
    write(folder / f"tasks_test_{name}.txt", split.test)


def test_a_line_of_the_release() -> None:
    line = "IN: turn left after jump right twice OUT: I_TURN_RIGHT I_JUMP I_TURN_RIGHT I_JUMP I_TURN_LEFT"
    assert scan.released(scan.number("turn left after jump right twice")) == line


@pytest.mark.parametrize("name", scan.SPLITS)
def test_what_is_written_is_read(name: str, tmp_path: Path) -> None:
    """In another order and of another draw than ours."""
    ours = scan.split(name, seed=5)
    mixed = scan.Split(ours.train.flip(0), ours.test.flip(0))
    release(tmp_path, name, mixed)
    found = scan.load(tmp_path, name)
    assert torch.equal(found.train, mixed.train)
    assert torch.equal(found.test, mixed.test)
    assert found.primitive == ours.primitive


def test_line_ends_empty_lines_and_a_mark_of_order_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_bytes("\ufeffIN: jump OUT: I_JUMP \r\n\r\nIN:  turn left OUT:\tI_TURN_LEFT".encode())
    assert joined(scan.read(path)) == ["jump", "turn left"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("jump OUT: I_JUMP", "line 2, does not begin with 'IN: ' ('jump OUT: I_JUMP'): give the file as it was released."),
        ("IN: jump I_JUMP", "line 2, has no ' OUT: ' ('IN: jump I_JUMP')"),
        ("IN: jump", "line 2, has no ' OUT: '"),
        ("IN: leap OUT: I_JUMP", "line 2, has the unknown command word 'leap'"),
        ("IN: jump OUT: JUMP", "line 2, has the unknown action word 'JUMP'"),
        ("IN: jump OUT: I_JUMP OUT: I_JUMP", "line 2, has the unknown action word 'OUT:'"),
        ("IN: jump walk OUT: I_JUMP", "line 2, has 'jump walk', which is not a command of SCAN's grammar"),
        ("IN: OUT: I_JUMP", "line 2, has '', which is not a command"),
        ("IN: jump twice OUT: I_JUMP", "line 2, gives 'jump twice' 1 actions in place of 2"),
        ("IN: jump OUT:", "line 2, gives 'jump' 0 actions in place of 1"),
        ("IN: jump left OUT: I_TURN_RIGHT I_JUMP", "gives 'jump left' the action I_TURN_RIGHT in place of I_TURN_LEFT"),
        ("x" * 1000, f"line 2, does not begin with 'IN: ' ('{'x' * 60}…')"),
    ],
)
def test_a_malformed_line_is_named(line: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_text(f"IN: walk OUT: I_WALK\n{line}\nIN: run OUT: I_RUN\n")
    with pytest.raises(LanguageError) as caught:
        scan.read(path)
    assert str(caught.value).startswith(f"{path}, line 2, ")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    with pytest.raises(LanguageError, match=r"no file .*some\.txt"):
        scan.read(path)
    for empty in ("", "\n \n"):
        path.write_text(empty)
        with pytest.raises(LanguageError, match=r"some\.txt is empty"):
            scan.read(path)
    for encoding in ("utf-16", "latin-1"):
        path.write_bytes("IN: jump OUT: I_JUMP é\n".encode(encoding))
        with pytest.raises(LanguageError, match=r"some\.txt is not UTF-8 text"):
            scan.read(path)
    with pytest.raises(LanguageError, match=f"{tmp_path} is not a plain file"):
        scan.read(tmp_path)
    os.mkfifo(tmp_path / "pipe")  # which would never end
    with pytest.raises(LanguageError, match="pipe is not a plain file"):
        scan.read(tmp_path / "pipe")


@pytest.mark.parametrize("name", ["x" * 5000, "x\0y"])
def test_a_folder_that_no_system_has(name: str, tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match=r"tasks_train_simple\.txt"):
        scan.load(tmp_path / name, "simple")


def test_a_folder_without_the_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match=r"no file .*tasks_train_addprim_jump\.txt"):
        scan.load(tmp_path, "addprim_jump")
    write(tmp_path / "tasks_train_addprim_jump.txt", torch.arange(3))
    with pytest.raises(LanguageError, match=r"no file .*tasks_test_addprim_jump\.txt"):
        scan.load(tmp_path, "addprim_jump")


@pytest.mark.parametrize("name", scan.SPLITS)
def test_files_of_another_split_are_refused(name: str, tmp_path: Path) -> None:
    ours = scan.split(name)
    cut = scan.Split(ours.train, ours.test[:-1])
    leaked, trained = ours.test.clone(), ours.train.clone()
    leaked[0] = ours.train[0]  # a test row of training; the row that it replaces is nowhere
    trained[0], swapped = ours.test[0], leaked  # each in the other's place
    release(tmp_path, name, cut)
    with pytest.raises(LanguageError, match=rf"tasks_test_{name}\.txt has {len(cut.test):,} rows and the release"):
        scan.load(tmp_path, name)
    release(tmp_path, name, scan.Split(ours.train, leaked))
    with pytest.raises(LanguageError, match=f"do not hold the commands of the split '{name}'"):
        scan.load(tmp_path, name)
    if ours.primitive is not None:
        release(tmp_path, name, scan.Split(trained, swapped))
        with pytest.raises(LanguageError, match=f"do not hold the commands of the split '{name}'"):
            scan.load(tmp_path, name)
