"""PrOntoQA (Saparov and He 2023): is a made-up creature of a made-up ontology blue? Made by the default rules of its program.

An ontology is one chain of concepts, each the parent of the next, all but the root with an adjective of their own or its
negation. A question names a creature of one concept and asks for the adjective of one above it; answering takes `hops` rules,
the last of which is the adjective's. A distractor says the opposite of the asked adjective about a concept that stands aside;
without it the answer could be read from whether the adjective is negated. With it, exactly two rules name the adjective, and
still the true one can be told without reasoning: its concept occurs elsewhere in the context. In the `hard` variant, which is
ours, the distractor's concept has a child and a parent of its own, so that it occurs elsewhere too, and stands before the true
rule as often as behind it. (By the published rules, the more hops the likelier the distractor comes first.) In the `twin`
variant, ours, too, it stands in a chain of its own that differs from the creature's in this one sign; the rules of both chains
are merged at random, each chain's in their order, so that looks do not tell the true one. Places still do: a rule that stands
behind those of the creature's concept is rather of its chain. Where they are `shuffled`, all rules stand in any order, and the
true one is found by joining rules alone.

An example is a pure function of (task, seed, number). Its words are the published text's, with its capitals; every mark is a
word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from lib.core.record.spec import check_count
from lib.language.draws import Draws
from lib.language.text import LanguageError, Rows, Vocabulary, rows, vocabulary

CONCEPTS = ("wumpus", "yumpus", "zumpus", "dumpus", "rompus", "numpus", "tumpus", "vumpus", "impus", "jompus")
NAMES = ("Fae", "Rex", "Sally", "Max", "Alex", "Sam", "Polly", "Stella", "Wren")
FAMILIES = (
    ("blue", "red", "brown", "orange"),
    ("small", "large"),
    ("metallic", "wooden", "luminous", "liquid"),
    ("transparent", "opaque"),
    ("nervous", "happy", "feisty", "shy"),
    ("bright", "dull"),
    ("sweet", "sour", "spicy", "bitter"),
    ("floral", "fruity", "earthy"),
    ("hot", "cold", "temperate"),
    ("kind", "mean", "angry", "amenable", "aggressive"),
)
"""Adjectives; the ontology takes at most one of a family, so that no two of its rules can contradict each other."""
LABELS = ("False", "True")
_GRAMMAR = ("Q", "A", ":", ".", "is", "are", "a", "an", "not", "Each", "Every", "or", "false")
_EXAMPLE = 71  # stream of random numbers
_DRAWS = 100_000  # far beyond need: 8 hops, the rarest, take some hundred

Words = tuple[str, ...]


@dataclass(frozen=True)
class Property:
    """An adjective or its negation."""

    adjective: str
    negated: bool

    @property
    def words(self) -> Words:
        return ("not", self.adjective) if self.negated else (self.adjective,)

    @property
    def opposite(self) -> Property:
        return Property(self.adjective, not self.negated)


@dataclass(frozen=True)
class Node:
    """A concept, its adjective and its parent; the root of a chain has neither."""

    concept: str
    own: Property | None
    parent: str | None


@dataclass(frozen=True)
class Example:
    """A question. `context`, `question` and `chain` are words: the rules and the creature's concept; what is asked, with the
    full stop; the chain of thought. `answer` is whether what is asked is true; `place` the sentence, from 0, at which the
    distractor's rules begin, if there are any; `true` and `aside` the concepts of the true rule and of the distractor's."""

    context: Words
    question: Words
    chain: Words
    answer: bool
    hops: int
    asked: str
    true: str
    aside: str | None
    place: int | None

    @property
    def label(self) -> str:
        return LABELS[self.answer]

    @property
    def prompt(self) -> Words:
        """The published text up to `A:`."""
        return ("Q", ":", *self.context, "True", "or", "false", ":", *self.question)

    @property
    def words(self) -> Words:
        """The published text."""
        return (*self.prompt, "A", ":", *self.chain, self.label)

    @property
    def text(self) -> str:
        """As it is printed, on two lines."""
        join = lambda words: " ".join(words).replace(" .", ".").replace(" :", ":")
        return f"{join(self.prompt)}\n{join(('A', ':', *self.chain, self.label))}"


@dataclass(frozen=True)
class Task:
    """Which questions are drawn: `hops`, each as often as the others, among the first `concepts` concepts. Rules stand from the
    leaf up.

    Raises LanguageError for hops that the concepts cannot hold; SpecError for numbers that are none.
    """

    concepts: int = 10
    hops: tuple[int, ...] = (1, 2, 3, 4, 5)
    distractor: bool = True
    hard: bool = False
    twin: bool = False
    shuffled: bool = False

    def __post_init__(self) -> None:
        check_count("concepts", self.concepts)
        if not self.hops:
            raise LanguageError("hops must name at least one number of hops.")
        for count in self.hops:
            check_count("hops", count)
        if self.concepts > len(CONCEPTS):
            raise LanguageError(f"there are {len(CONCEPTS)} concepts at most, got {self.concepts}.")
        if (self.hard or self.twin) and not self.distractor:
            raise LanguageError("the hard variant is about the distractor: ask for both or for neither.")
        if self.hard and self.twin:
            raise LanguageError("the twin of a chain is hard enough: ask for one of both.")
        if self.shuffled and not self.twin:
            raise LanguageError("rules are shuffled beside a twin alone: ask for both or for neither.")
        hops = max(self.hops)
        if hops > self._below:
            least = hops + 1 + (hops + 1 if self.twin else self._aside)
            raise LanguageError(f"{hops} hops need at least {least} concepts, got {self.concepts}.")

    @property
    def _aside(self) -> int:
        """Concepts that stand beside the chain: the distractor's, in the hard variant its child and its parent, or a twin's."""
        return 3 if self.hard else self.concepts // 2 if self.twin else int(self.distractor)

    @property
    def _below(self) -> int:
        """The most concepts below the root."""
        return (self.concepts // 2 if self.twin else self.concepts - self._aside) - 1

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Every word that this task can print."""
        concepts = CONCEPTS[: self.concepts]
        nouns = [form for c in concepts for form in (c, f"{c}es", f"{c}es".capitalize())]
        adjectives = [word for family in FAMILIES for word in family]
        return vocabulary([*nouns, *adjectives, *NAMES, *LABELS, *_GRAMMAR])

    def _signs(self, draws: Draws, hops: int) -> list[bool]:
        """Is each node's adjective negated? For the nodes of a chain below its root."""
        stop, signs = 0.5 / (hops + 2), []
        for _ in range(self._below):
            if draws.chance(stop):
                break
            signs.append(draws.chance(1 / 3))  # weight ½ against 1
        return signs

    def _climb(self, draws: Draws, signs: list[bool], hops: int) -> range | None:
        """Places in the chain from the creature's concept up to the one whose adjective is asked, or None unless they take
        exactly `hops` steps. The root is place 0, has no adjective, and is the end of a climb in vain."""
        if len(signs) < hops:
            return None
        start = hops + draws.below(len(signs) - hops + 1)
        for at in range(start, 0, -1):
            weight = 0.7 if signs[at - 1] else 0.3  # against 1 for the parent
            if draws.chance(weight / (1 + weight)):
                return range(start, at - 1, -1) if start - at + 1 == hops else None
        return None

    def example(self, seed: int, number: int) -> Example:
        draws = Draws(seed, _EXAMPLE, number)
        hops = draws.one(self.hops)
        for _ in range(_DRAWS):
            signs = self._signs(draws, hops)
            path = self._climb(draws, signs, hops)
            if path is not None:
                break
        else:
            raise LanguageError(f"no ontology with {hops} hops was found in {_DRAWS} draws: ask for fewer hops.")
        # words do not decide whether a draw is kept, so they are drawn for the one that is
        concepts = draws.shuffled(CONCEPTS[: self.concepts])
        if self.twin:  # the climb ends more often at a negated adjective, which would tell the chains apart
            signs[path[-1] - 1] = draws.chance(0.5)
        aside, chain = concepts[: self._aside], concepts[self._aside :]
        families = draws.shuffled(FAMILIES)
        nodes = [Node(chain[0], None, None)]
        for sign, concept, family in zip(signs, chain[1:], families, strict=False):
            nodes.append(Node(concept, Property(draws.one(family), sign), nodes[-1].concept))
        twin = self._twin(draws, nodes, path[-1], aside, families[len(nodes) - 1 :]) if self.twin else []
        return self._written(draws, nodes, [nodes[at] for at in path], aside, twin)

    def _twin(
        self, draws: Draws, nodes: list[Node], asked: int, concepts: Sequence[str], families: Sequence[Words]
    ) -> list[Node]:
        """A chain of other concepts like `nodes`, whose concept at the place `asked` has the opposite of what is asked."""
        own = [node.own for node in nodes]
        spare = iter(families)
        found = [Node(concepts[0], None, None)]
        for place, told in enumerate(own[1:], 1):
            assert told is not None
            said = told.opposite if place == asked else Property(draws.one(next(spare)), told.negated)
            found.append(Node(concepts[place], said, found[-1].concept))
        return found

    def _written(
        self, draws: Draws, nodes: list[Node], path: list[Node], aside: Sequence[str], twin: Sequence[Node] = ()
    ) -> Example:
        fact = path[-1].own
        assert fact is not None, "a path ends at a concept with an adjective"

        def ruled(nodes: Sequence[Node]) -> tuple[dict[str, Words], dict[str, Words]]:
            """By concept, the rule of its own adjective and that of its parent."""
            own = {node.concept: _rule(draws, node.concept, node.own.words) for node in nodes[1:] if node.own}
            return own, {node.concept: _rule(draws, node.concept, parent=node.parent) for node in nodes[1:]}

        def told(nodes: Sequence[Node], own: dict[str, Words], parent: dict[str, Words]) -> list[Words]:
            return [rules[node.concept] for node in nodes[:0:-1] for rules in (own, parent)]

        own, parent = ruled(nodes)
        sentences = told(nodes, own, parent)
        place, beside = None, ""
        if twin:
            rules_of_twin = ruled(twin)
            beside = twin[nodes.index(path[-1])].concept
            beside_them = told(twin, *rules_of_twin)
            order = draws.shuffled([True] * len(sentences) + [False] * len(beside_them))
            place, queues = order.index(False), {True: iter(sentences), False: iter(beside_them)}
            sentences = [next(queues[own_chain]) for own_chain in order]
            if self.shuffled:
                sentences = draws.shuffled(sentences)
                place = min(sentences.index(rule) for rule in beside_them)
        elif aside:
            beside = aside[0]
            rules = [_rule(draws, aside[0], fact.opposite.words)]
            low, high = 0, len(sentences)
            if self.hard:  # a chain of its own, printed as chains are
                rules = [_rule(draws, aside[1], parent=aside[0]), *rules, _rule(draws, aside[0], parent=aside[2])]
                true = sentences.index(own[path[-1].concept])
                low, high = (low, true) if draws.chance(0.5) else (true + 1, high)
            place = low + draws.below(high - low + 1)
            sentences[place:place] = rules
        name = draws.one(NAMES)
        start = _sentence(name, "is", *_a(path[0].concept))
        thoughts = list(start)
        for node in path[:-1]:
            assert node.parent is not None, "only the first concept of a chain has none"
            thoughts += (*parent[node.concept], *_sentence(name, "is", *_a(node.parent)))
        thoughts += (*own[path[-1].concept], *_sentence(name, "is", *fact.words))
        answer = not draws.chance(0.5)
        asked = fact if answer else fact.opposite
        return Example(
            context=(*(word for sentence in sentences for word in sentence), *start),
            question=_sentence(name, "is", *asked.words),
            chain=tuple(thoughts),
            answer=answer,
            hops=len(path),
            asked=fact.adjective,
            true=path[-1].concept,
            aside=beside or None,
            place=place,
        )

    def examples(self, seed: int, first: int, count: int) -> list[Example]:
        """Examples number first … first + count − 1 of the stream `seed`."""
        return [self.example(seed, number) for number in range(first, first + count)]


def _a(concept: str) -> Words:
    return ("an" if concept[0] in "aeiou" else "a", concept)


def _sentence(*words: str) -> Words:
    return (*words, ".")


def _rule(draws: Draws, concept: str, words: Words = (), parent: str | None = None) -> Words:
    """That every `concept` is `words`, or is a `parent`: in the plural half of the time, else with Each or Every."""
    if draws.chance(0.5):
        return _sentence(f"{concept}es".capitalize(), "are", *((f"{parent}es",) if parent else words))
    return _sentence(draws.one(("Each", "Every")), concept, "is", *(_a(parent) if parent else words))


@dataclass(frozen=True)
class Questions:
    """Examples as rows. `rows`: (N, L), the source is the text up to `A:`, in whose place OUT stands, and the target the chain,
    if it is given, and the label; `label` (N,) the position of the label, which is predicted at the position before it;
    `answer` (N,) bool."""

    rows: Rows
    label: Tensor
    answer: Tensor

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, which: Tensor | slice) -> Questions:
        return Questions(self.rows[which], self.label[which], self.answer[which])


def questions(examples: Sequence[Example], words: Vocabulary, chain: bool = True) -> Questions:
    """With the gold chain before the label, or with the label alone. Raises LanguageError as `rows` does."""
    found = rows([(e.prompt, (*e.chain, e.label) if chain else (e.label,)) for e in examples], words)
    return Questions(found, found.length - 2, torch.tensor([e.answer for e in examples]))


def judged(logits: Tensor, labels: Tensor, words: Vocabulary) -> Tensor:
    """(N,) bool: is True more likely than False? From logits (N, L, V), each given the text before the label at `labels` (N,).

    Only the two labels are compared, so that chance is one half."""
    at = logits[torch.arange(len(labels), device=labels.device), labels - 1]
    false, true = words.encode(LABELS)
    return at[:, true] > at[:, false]
