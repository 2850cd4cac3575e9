"""What PrOntoQA's labels give away to readers that do not reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lib.language.prontoqa_task import CONCEPTS, Example
from lib.language.text import LanguageError


def bag_of_words(train: Sequence[Example], test: Sequence[Example]) -> float:
    """Accuracy on `test` of a logistic regression on how often each word of the question, rules included, occurs.

    scikit-learn's, with L2 as it comes; words that `train` lacks are left out. Raises LanguageError if it has one label only.
    """
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    labels = [e.answer for e in train]
    if len(set(labels)) < 2:
        raise LanguageError("a bag of words learns from examples of both labels: give it more examples.")
    counts = DictVectorizer(sparse=False)
    model = LogisticRegression(max_iter=2000).fit(counts.fit_transform([Counter(e.prompt) for e in train]), labels)
    return float(model.score(counts.transform([Counter(e.prompt) for e in test]), [e.answer for e in test]))


def occurrences(example: Example, concept: str) -> int:
    """How many sentences of the context name a concept, in the singular or the plural."""
    return sum(word.lower() in (concept, f"{concept}es") for word in example.context)


def by_occurrence(example: Example) -> bool:
    """The answer of who believes the rule about the concept that is named more often, and of two named as often the first.

    By the published rules this is always right: the distractor's concept is named once, in its own rule.
    """
    return _answer(example, max(_rules(example), key=lambda rule: occurrences(example, _subject(rule))))  # max takes the first


def by_child(example: Example) -> bool:
    """The answer of who believes the rule whose concept has a child with an adjective, or no child, and never looks at the
    creature. In the hard variant it is always right: the child that a distractor's concept gets there has no adjective.
    """
    pairs = [(_subject(words), _object(words)) for words in sentences(example.context)]
    child = {above: below for below, above in pairs if above in CONCEPTS and below in CONCEPTS}
    described = {concept for concept, said in pairs if said not in CONCEPTS}
    rules = _rules(example)
    fits = lambda rule: child.get(_subject(rule)) in described | {None}
    return _answer(example, next((rule for rule in rules if fits(rule)), rules[0]))


def by_place(example: Example) -> bool:
    """The answer of who sees the creature's concept and does not walk up from it: believes the rule about that concept, if it
    has the adjective; else the first that has it behind all rules that name the concept; else the last that has it. Where rules
    of two chains are merged, each chain's in their order, it is right on three of four questions of two hops.
    """
    *rules, start = sentences(example.context)
    concept = _object(start)
    named = [i for i, rule in enumerate(rules) if concept in (_subject(rule), _object(rule))]
    asked = [i for i, rule in enumerate(rules) if example.asked in rule]
    own = [i for i in asked if _subject(rules[i]) == concept]
    behind = [i for i in asked if i > max(named)]
    return _answer(example, rules[(own or behind or asked[::-1])[0]])


def by_looks(train: Sequence[Example], test: Sequence[Example]) -> float:
    """Accuracy on `test` of a decision tree that learns from `train` which of the two rules to believe by what can be said of
    their concepts and places without looking at the creature: a search over simple readers.

    scikit-learn's, of depth 6, with 5 questions in a leaf at least.
    """
    from sklearn.tree import DecisionTreeClassifier

    seen = [e for e in train if len(_rules(e)) > 1]
    first = [_answer(e, _rules(e)[0]) == e.answer for e in seen]
    tree = DecisionTreeClassifier(max_depth=6, min_samples_leaf=5, random_state=0)
    if seen:
        tree.fit([_looks(e) for e in seen], first)

    def believed(example: Example) -> list[str]:
        rules = _rules(example)
        return rules[0 if not seen or len(rules) == 1 or tree.predict([_looks(example)])[0] else 1]

    return sum(_answer(e, believed(e)) == e.answer for e in test) / len(test)


def _looks(example: Example) -> list[float]:
    """Of the first two rules that name what is asked: how many parents and children the concept has in the context, how many of
    these have an adjective, how many sentences name it, where the rule stands, whether it is negated and whether it is in
    the singular; then by how much the first exceeds the second in each."""
    *rules, _ = sentences(example.context)
    said = [(_subject(rule), _object(rule)) for rule in rules]
    described = {concept for concept, what in said if what not in CONCEPTS}
    found = []
    for rule in _rules(example)[:2]:
        concept = _subject(rule)
        above = [what for one, what in said if one == concept and what in CONCEPTS]
        below = [one for one, what in said if what == concept]
        around = [above, below, [c for c in above if c in described], [c for c in below if c in described]]
        named = sum(concept in pair for pair in said)  # in rules: the creature's own sentence is not looked at
        place = (named, rules.index(rule), "not" in rule, rule[0] in ("Each", "Every"))
        found.append([*map(float, map(len, around)), *map(float, place)])
    return [*found[0], *found[1], *(a - b for a, b in zip(*found, strict=True))]


def _rules(example: Example) -> list[list[str]]:
    return [rule for rule in sentences(example.context) if example.asked in rule]


def _answer(example: Example, rule: list[str]) -> bool:
    return ("not" in rule) == ("not" in example.question)


def sentences(words: Sequence[str]) -> list[list[str]]:
    """Words in sentences, without their full stops."""
    found: list[list[str]] = [[]]
    for word in words:
        found.append([]) if word == "." else found[-1].append(word)
    return found[:-1]


def says(rule: Sequence[str]) -> tuple[str, bool, str]:
    """(of which concept, is it negated, what): what a rule says, in whatever form."""
    return _subject(rule), "not" in rule, _object(rule)


def _subject(rule: Sequence[str]) -> str:
    """The concept that a rule is about."""
    return rule[1] if rule[0] in ("Each", "Every") else rule[0].lower().removesuffix("es")


def _object(rule: Sequence[str]) -> str:
    """The concept or the adjective that a rule says of its subject."""
    return rule[-1].lower().removesuffix("es")
