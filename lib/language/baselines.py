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
    pairs = [(_subject(words), words[-1].lower().removesuffix("es")) for words in sentences(example.context)]
    child = {above: below for below, above in pairs if above in CONCEPTS and below in CONCEPTS}
    described = {concept for concept, said in pairs if said not in CONCEPTS}
    rules = _rules(example)
    fits = lambda rule: child.get(_subject(rule)) in described | {None}
    return _answer(example, next((rule for rule in rules if fits(rule)), rules[0]))


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


def _subject(rule: Sequence[str]) -> str:
    """The concept that a rule is about."""
    return rule[1] if rule[0] in ("Each", "Every") else rule[0].lower().removesuffix("es")
