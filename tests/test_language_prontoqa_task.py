"""PrOntoQA against its published rules, and its labels against a solver that reads nothing but the printed context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
import torch

from lib.core.model import rng
from lib.core.record.spec import SpecError
from lib.language.baselines import bag_of_words, by_child, by_looks, by_occurrence, by_place, occurrences, sentences
from lib.language.draws import Draws, mix, zipf
from lib.language.prontoqa_task import CONCEPTS, FAMILIES, LABELS, NAMES, Example, Task, questions
from lib.language.text import END, OUT, LanguageError

ADJECTIVES = {word for family in FAMILIES for word in family}
SMALL = Task(concepts=6, hops=(1, 2))


@cache
def sample(task: Task, count: int = 500, seed: int = 3) -> tuple[Example, ...]:
    return tuple(task.examples(seed, 0, count))


def read(rule: list[str]) -> tuple[str, bool, str]:
    """(who, not negated, what) of one sentence, nouns in the singular, by splitting at the verb."""
    verb = next(i for i, word in enumerate(rule) if word in ("is", "are"))
    one = lambda word: word.lower().removesuffix("es") if word.lower().endswith("puses") else word
    rest = [word for word in rule[verb + 1 :] if word not in ("a", "an")]
    return one(rule[verb - 1]), rest[0] != "not", one(rest[-1])


def solve(context: tuple[str, ...]) -> dict[str, bool]:
    """Everything that follows about the creature: what it is and what it is not, by chaining forward until nothing is new."""
    said = [read(sentence) for sentence in sentences(context)]
    (name,) = {who for who, _, _ in said} & set(NAMES)
    known = {what: sign for who, sign, what in said if who == name}
    while True:
        new = {what: sign for who, sign, what in said if known.get(who) and known.get(what) is not sign}
        if not new:
            return known
        assert not set(new) & set(known), "the context contradicts itself"
        known |= new


@pytest.mark.parametrize(("hops", "words"), [(1, 84), (2, 106), (3, 123), (4, 139), (5, 152)])
def test_sizes_are_the_published_programs(hops: int, words: float) -> None:
    task = Task(hops=(hops,))
    examples = sample(task, 1000)
    lengths = [len(e.words) for e in examples]
    assert sum(lengths) / len(lengths) == pytest.approx(words, abs=1.5)
    assert sum(length > 173 for length in lengths) <= 2  # the longest of the published program's that were counted
    assert 85 <= len({word for e in examples for word in e.words}) <= 87
    assert sum(e.answer for e in examples) / len(examples) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("task", [Task(), SMALL, Task(hard=True), Task(distractor=False)])
def test_labels_follow_from_the_context(task: Task) -> None:
    for example in sample(task, 200):
        name, sign, adjective = read(list(example.question[:-1]))
        assert (solve(example.context)[adjective] == sign) == example.answer
        assert name in NAMES
        assert adjective == example.asked
        assert len(path_to(example)) == example.hops


def path_to(example: Example) -> list[str]:
    """Concepts from the creature's to the true rule's, by the parents in the context."""
    said = [read(sentence) for sentence in sentences(example.context)]
    parent = {who: what for who, _, what in said if what in CONCEPTS and who in CONCEPTS}
    path = [next(what for who, _, what in said if who in NAMES)]
    while path[-1] != example.true:
        path.append(parent[path[-1]])
    return path


@pytest.mark.parametrize("task", [Task(), Task(hard=True)])
def test_two_rules_name_what_is_asked_and_only_the_true_one_is_tied_in(task: Task) -> None:
    for example in sample(task, 200):
        rules = [read(sentence) for sentence in sentences(example.context)]
        named = [(who, sign) for who, sign, what in rules if what == example.asked]
        assert sorted(who for who, _ in named) == sorted((example.true, example.aside))
        assert named[0][1] != named[1][1]
        assert example.aside not in solve(example.context)
        assert occurrences(example, example.true) >= 3
        assert occurrences(example, example.aside) == (3 if task.hard else 1)
        assert {what for _, _, what in rules} <= ADJECTIVES | set(CONCEPTS)
        families = [
            next(f for f in FAMILIES if what in f) for who, _, what in rules if what in ADJECTIVES if who != example.aside
        ]
        assert len(set(families)) == len(families)


def test_in_the_hard_variant_the_distractor_has_a_child_and_a_parent_of_its_own() -> None:
    task = Task(hard=True)
    for example in sample(task, 200):
        rules = [read(sentence) for sentence in sentences(example.context)]
        children = [who for who, _, what in rules if what == example.aside]
        parents = [what for who, _, what in rules if who == example.aside and what in CONCEPTS]
        assert len(children) == len(parents) == 1
        known = solve(example.context)
        assert children[0] not in known
        assert parents[0] not in known
        assert rules[example.place][0] == children[0]


def test_shortcuts_that_the_rules_leave_open_and_that_the_hard_variant_closes() -> None:
    first = lambda e: next(rule for rule in sentences(e.context) if e.asked in rule)
    by_order = lambda e: ("not" in first(e)) == ("not" in e.question)
    right = lambda reader, task: sum(reader(e) == e.answer for e in sample(task, 600)) / 600
    assert right(by_order, Task(distractor=False)) == 1  # from the sign alone
    assert right(by_occurrence, Task(hops=(2, 3))) == 1  # from where the concept occurs
    hard = Task(hops=(2, 3), hard=True)
    assert right(by_occurrence, hard) == pytest.approx(0.5, abs=0.06)
    assert right(by_child, Task(concepts=6, hops=(1, 2), hard=True)) == 1  # and never looks at the creature
    assert right(by_order, hard) == pytest.approx(0.5, abs=0.06)
    assert right(by_order, Task(hops=(5,))) < 0.35  # the distractor's rule comes first, and who believes it is wrong


def test_a_tree_finds_what_looks_tell_and_in_a_twin_nothing() -> None:
    told = lambda task: by_looks(sample(task, 600), sample(task, 300, seed=4))
    small = {"concepts": 6, "hops": (1, 2)}
    assert told(Task(**small)) == told(Task(**small, hard=True)) == 1
    assert told(Task(**small, twin=True)) == pytest.approx(0.5, abs=0.09)
    assert told(Task(**small, twin=True, shuffled=True)) == pytest.approx(0.5, abs=0.09)


def test_shuffled_rules_are_those_of_a_twin_in_another_order() -> None:
    task = Task(concepts=6, hops=(1, 2), twin=True)
    places = set()
    for merged, shuffled in zip(sample(task, 60), sample(replace(task, shuffled=True), 60), strict=True):
        rules, others = (sentences(e.context)[:-1] for e in (merged, shuffled))
        assert sorted(rules) == sorted(others)
        assert merged.hops == shuffled.hops
        assert (merged.true, merged.aside) == (shuffled.true, shuffled.aside)
        assert read(others[shuffled.place])[0] not in solve(shuffled.context)
        places.add(rules == others)
    assert False in places
    with pytest.raises(LanguageError, match="beside a twin alone"):
        Task(shuffled=True)


def test_a_tree_believes_the_only_rule_there_is() -> None:
    alone = sample(Task(concepts=6, hops=(1, 2), distractor=False), 20)
    assert by_looks(alone, alone) == by_looks(sample(SMALL, 60), alone) == 1


@pytest.mark.parametrize("task", [Task(twin=True, hops=(1, 2, 3)), Task(concepts=6, hops=(1, 2), twin=True)])
def test_a_twin_is_as_long_as_the_chain_and_says_the_opposite_at_one_place(task: Task) -> None:
    for example in sample(task, 100):
        rules = [read(sentence) for sentence in sentences(example.context)[:-1]]
        mine = {example.true}  # the chain of the true rule: whatever concepts rules tie to its concept
        for _ in rules:
            mine |= {c for who, _, what in rules for c in (who, what) if {who, what} & mine and c in CONCEPTS}
        one, other = ([rule for rule in rules if (rule[0] in mine) == own] for own in (True, False))
        assert rules[example.place][0] not in mine
        assert all(rule[0] in mine for rule in rules[: example.place])
        shape = lambda some: [(sign if what in ADJECTIVES else None) for _, sign, what in some]
        differ = [a != b for a, b in zip(shape(one), shape(other), strict=True)]
        assert sum(differ) == 1
        at = differ.index(True)
        assert one[at][2] == other[at][2] == example.asked
        assert {one[at][0], other[at][0]} == {example.true, example.aside}
        assert solve(example.context)[example.true]
        assert not {who for who, *_ in one} & {who for who, *_ in other}
        adjectives = [next(f for f in FAMILIES if what in f) for *_, what in rules if what in ADJECTIVES]
        assert len(set(adjectives)) == len(adjectives) - 1


def nearest(example: Example) -> bool:
    """Believes the rule about the adjective that stands nearest to one that names the creature's concept."""
    *rules, start = [read(sentence) for sentence in sentences(example.context)]
    near = [i for i, (who, _, what) in enumerate(rules) if start[2] in (who, what)]
    asked = [i for i, rule in enumerate(rules) if rule[2] == example.asked]
    best = min(asked, key=lambda i: min(abs(i - j) for j in near))
    return rules[best][1] == ("not" not in example.question)


def same_half(example: Example) -> bool:
    """Believes the rule about the adjective that stands in the same half of the rules as the creature's concept."""
    *rules, start = [read(sentence) for sentence in sentences(example.context)]
    half = [i < len(rules) / 2 for i in range(len(rules))]
    place = half[next(i for i, (who, _, what) in enumerate(rules) if start[2] in (who, what))]
    asked = [i for i, rule in enumerate(rules) if rule[2] == example.asked]
    found = [i for i in asked if half[i] == place] or asked
    return rules[found[0]][1] == ("not" not in example.question)


RIGHT = {nearest: (0.57, 0.50), same_half: (0.53, 0.50), by_place: (0.74, 0.50)}


@pytest.mark.parametrize(("reader", "shares"), RIGHT.items())
def test_places_tell_the_chain_where_rules_stand_in_order_and_nothing_where_they_are_shuffled(
    reader: Callable[[Example], bool], shares: tuple[float, float]
) -> None:
    """Where two rules have to be joined; one rule names the creature's concept itself, and is found by who looks there."""
    right = lambda hops, **how: sum(reader(e) == e.answer for e in sample(Task(6, hops, twin=True, **how), 1500)) / 1500
    assert (right((2,)), right((2,), shuffled=True)) == pytest.approx(shares, abs=0.04)
    assert right((1,)) > 0.6
    assert reader != by_place or right((1,), shuffled=True) == 1


def test_a_bag_of_words_reads_what_words_tell() -> None:
    """Where the label is whether the question is negated, words do tell it; else it guesses."""
    told = [e for e in sample(Task(concepts=2, hops=(1,), distractor=False)) if "not" not in e.context]
    assert bag_of_words(told[: len(told) // 2], told[len(told) // 2 :]) > 0.9
    assert bag_of_words(sample(SMALL), SMALL.examples(4, 0, 300)) == pytest.approx(0.5, abs=0.08)
    only = [e for e in sample(SMALL, 50) if e.answer]
    with pytest.raises(LanguageError, match="both labels"):
        bag_of_words(only, only)


def test_shares_are_those_of_the_rules() -> None:
    """Of what the selection of draws leaves alone: signs off the path, and where a path begins in its chain."""
    negated, begins, asked = [], [], []
    for example in sample(Task(hops=(1,), distractor=False), 1500):
        rules = [read(sentence) for sentence in sentences(example.context)[:-1]]
        signs = {who: sign for who, sign, what in rules if what in ADJECTIVES}
        asked.append(not signs.pop(example.true))
        negated += [not sign for sign in signs.values()]
        chain = [who for who, _, what in rules if what in CONCEPTS][::-1]  # from below the root down
        if len(chain) > 1:
            begins.append(chain.index(example.true) / (len(chain) - 1))
    share = lambda values: sum(values) / len(values)
    assert share(negated) == pytest.approx(1 / 3, abs=0.02)
    assert share(begins) == pytest.approx(1 / 2, abs=0.03)
    yes, no = 2 / 3 * 0.3 / 1.3, 1 / 3 * 0.7 / 1.7
    assert share(asked) == pytest.approx(no / (yes + no), abs=0.04)


def test_rules_stand_from_the_leaf_up() -> None:
    for example in sample(Task(distractor=False), 100):
        rules = [read(sentence) for sentence in sentences(example.context)[:-1]]
        assert [what in ADJECTIVES for _, _, what in rules] == [True, False] * (len(rules) // 2)
        for (who, _, _), (same, _, parent) in zip(rules[::2], rules[1::2], strict=True):
            assert who == same
            above = rules[rules.index((same, True, parent)) + 1 :]
            assert not above or above[0][0] == parent


def test_a_chain_of_thought_says_the_rules_as_printed_and_what_follows() -> None:
    for example in sample(Task(), 200):
        thoughts, context = sentences(example.chain), sentences(example.context)
        assert len(thoughts) == 2 * example.hops + 1
        assert thoughts[0] == context[-1]
        for rule, conclusion in zip(thoughts[1::2], thoughts[2::2], strict=True):
            assert rule in context
            assert read(rule)[1:] == read(conclusion)[1:]
        assert (thoughts[-1] == list(example.question[:-1])) == example.answer
        known = solve(example.context)
        assert all(known[what] == sign for who, sign, what in map(read, thoughts) if who in NAMES)


def test_text_and_articles() -> None:
    examples = sample(Task())
    first = examples[0]
    assert first.text.startswith("Q: ")
    assert " True or false: " in first.text
    question, answer = first.text.split("\n")
    assert question.endswith(".")
    assert answer.startswith("A: ")
    assert answer.endswith(first.label)
    pairs = {pair for e in examples for pair in zip(e.words, e.words[1:], strict=False) if pair[0] in ("a", "an")}
    assert {article for article, noun in pairs if noun == "impus"} == {"an"}
    assert {article for article, noun in pairs if noun != "impus"} == {"a"}
    rules = [s for e in examples for s in sentences(e.context)[:-1]]
    assert sum("are" in r for r in rules) / len(rules) == pytest.approx(0.5, abs=0.03)
    own = [r for r in rules if read(r)[2] in ADJECTIVES]
    assert {r[0] for r in own} == {"Each", "Every"} | {f"{c}es".capitalize() for c in CONCEPTS}


def test_an_example_is_a_function_of_its_seed_and_number() -> None:
    again = Task()
    assert again.examples(3, 7, 5) == list(sample(Task())[7:12])
    assert again.example(3, 7) != again.example(4, 7)
    assert len({e.words for e in sample(Task())}) == 500
    assert {e.hops for e in sample(SMALL)} == {1, 2}
    assert {c for e in sample(SMALL) for c in CONCEPTS if occurrences(e, c)} == set(CONCEPTS[:6])


def test_rows_with_and_without_the_chain() -> None:
    examples, words = sample(SMALL, 20), SMALL.vocabulary
    assert {w for e in sample(SMALL) for w in e.words} <= set(words.words)
    for chain in (True, False):
        found = questions(examples, words, chain)
        assert len(found) == 20
        for i, example in enumerate(examples):
            row = words.decode(found.rows.tokens[i, : found.rows.length[i]])
            assert row[found.label[i]] == LABELS[found.answer[i]] == example.label
            assert row[-1] == END
            start = int(found.rows.start[i])
            assert tuple(row[: start - 1]) == example.prompt
            assert row[start - 1] == OUT
            assert tuple(row[start:-2]) == (example.chain if chain else ())
    assert found[torch.tensor([4])].label.tolist() == [found.label[4]]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"concepts": 6}, LanguageError, "5 hops need at least 7 concepts"),
        ({"concepts": 6, "hops": (3,), "hard": True}, LanguageError, "3 hops need at least 7 concepts"),
        ({"concepts": 11}, LanguageError, "10 concepts"),
        ({"hops": ()}, LanguageError, "at least one number"),
        ({"distractor": False, "hard": True}, LanguageError, "about the distractor"),
        ({"hops": (0,)}, SpecError, "hops must be an integer of at least 1"),
    ],
)
def test_what_cannot_be_asked_is_refused(change: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Task(**change)


def test_choices_are_those_of_the_hash() -> None:
    signed = lambda x: x - 2**64 if x >= 2**63 else x
    for x in (0, 1, 12345, 2**63 + 5):
        assert signed(mix(x)) == int(rng.mix(torch.tensor(signed(x))))
    draws = Draws(1, 2, 3)
    values = [draws.uniform() for _ in range(2000)]
    assert min(values) >= 0
    assert max(values) < 1
    assert sum(values) / 2000 == pytest.approx(0.5, abs=0.02)
    assert [draws.uniform() for draws in [Draws(1, 2, 3)] for _ in range(5)] == values[:5]
    assert Draws(1, 2, 4).uniform() != values[0] != Draws(2, 2, 3).uniform()
    assert sorted(draws.shuffled("abcd")) == list("abcd")
    assert {draws.one("abc") for _ in range(50)} == set("abc")
    assert zipf(3) == pytest.approx([1, 1.5, 11 / 6])
    picks = [draws.weighted("abc", zipf(3)) for _ in range(2200)]
    assert [picks.count(c) / 200 for c in "abc"] == pytest.approx([6, 3, 2], rel=0.15)
