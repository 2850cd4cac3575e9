"""COGS (Kim and Linzen 2020): English sentences and their logical forms, and 21 cases of what training did not show.

The authors' grammar with its probabilities and their rules for logical forms, by our own code and with our own words
(lib/language/cogs_words.py). A generated set is a pure function of its sizes and a seed. A sentence is drawn as a tree (Clause,
Noun), and `spell` writes the tree as a sentence and a form; positions of words count from 0.

What the definition leaves open, and we chose:
- A word that a case tests as object may be the theme of a dative too. A word that is tested as subject is an agent, and not the
  agent of a verb with "that".
- In the case of PPs on subjects an object may have PPs as in training, but a sentence has two at most.
- A case's clause is in a "… that" as often as the grammar has it (7.7 %). Unique sentences run out where there is little else
  to vary: there are only 40 of "the cobra rolled", so most rows of the three cases of cobra and hippo have a "… that".
- Primitives are the verbs of four classes (agent alone, theme alone, and two transitive ones) and the most frequent fifth of
  nouns and names.
- A variable `x _ i` is one token of a row, unless asked otherwise (`tokens`); files have three words, as the release has.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from lib.language.cogs_words import Words, participle, past, substitute
from lib.language.text import LanguageError, Rows, Vocabulary, opened, rows, vocabulary

# ---------------------------------------------------------------------------------------------- trees and how they are written


class Noun(NamedTuple):
    """A common noun, or a name (no determiner); `place` is a preposition and the noun phrase behind it."""

    word: str
    determiner: str | None = None
    place: tuple[str, Noun] | None = None


class Part(NamedTuple):
    """What stands in a role: a noun phrase, a clause (ccomp) or an infinitive (xcomp), and the word before it, if any."""

    role: str
    what: Noun | Clause | str
    marker: str | None = None


class Clause(NamedTuple):
    """A verb (lemma) and its parts in the order of the sentence; the first is the subject. `kind` is a key of KINDS."""

    kind: str
    verb: str
    parts: tuple[Part, ...]
    passive: bool = False


def spell(clause: Clause) -> tuple[str, str]:
    """The sentence and its logical form, words and marks parted by single spaces.

    First `* n ( x _ i ) ;` for each definite common noun, in order; then conjuncts by the position of their head."""
    words: list[str] = []
    definite: list[str] = []
    conjuncts: list[tuple[int, str]] = []

    def noun(phrase: Noun) -> str:
        word, determiner, place = phrase
        if determiner is None:
            words.append(word)
            return word
        words.extend((determiner, word))
        at = len(words) - 1
        me = f"x _ {at}"
        if determiner == "the":
            definite.append(f"* {word} ( {me} ) ; ")
        else:
            conjuncts.append((at, f"{word} ( {me} )"))
        if place is not None:
            words.append(place[0])
            conjuncts.append((at, f"{word} . nmod . {place[0]} ( {me} , {noun(place[1])} )"))
        return me

    def verb(clause: Clause) -> str:
        subject, *others = clause.parts
        who = noun(subject.what)  # type: ignore[arg-type]
        words.extend(("was", participle(clause.verb)) if clause.passive else (past(clause.verb),))
        at = len(words) - 1
        me = f"x _ {at}"
        conjuncts.append((at, f"{clause.verb} . {subject.role} ( {me} , {who} )"))
        for role, what, marker in others:
            if marker is not None:
                words.append(marker)
            if isinstance(what, str):
                words.append(what)
                argument = f"x _ {len(words) - 1}"
                conjuncts.append((len(words) - 1, f"{what} . agent ( {argument} , {who} )"))
            else:
                argument = noun(what) if isinstance(what, Noun) else verb(what)
            conjuncts.append((at, f"{clause.verb} . {role} ( {me} , {argument} )"))
        return me

    verb(clause)
    conjuncts.sort(key=lambda conjunct: conjunct[0])
    words[0] = words[0][0].upper() + words[0][1:]
    return " ".join((*words, ".")), "".join(definite) + " AND ".join(form for _, form in conjuncts)


def depths(clause: Clause) -> tuple[int, int]:
    """How many "that" and how many PPs a sentence has."""
    that = places = 0
    for part in clause.parts:
        if isinstance(part.what, Clause):
            inner = depths(part.what)
            that, places = that + 1 + inner[0], places + inner[1]
        elif isinstance(part.what, Noun):
            noun = part.what
            while noun.place is not None:
                noun, places = noun.place[1], places + 1
    return that, places


# ------------------------------------------------------------------------------------------------------------------ the grammar

_VP, _SUBJECT, _PASSIVE = 0.10525, 0.49, 0.375
KINDS = {
    "unergative": _SUBJECT * _VP,
    "causative": _SUBJECT * _VP,
    "omitted object": _SUBJECT * _VP,
    "optional object": _SUBJECT * _VP,
    "transitive": _SUBJECT * _VP,
    "infinitive": _SUBJECT * _VP,
    "PP dative": _SUBJECT * _VP,
    "double object": _SUBJECT * _VP,
    "that": _SUBJECT * 0.158,
    "unaccusative": 0.06,
    "passive": _PASSIVE * 3 / 4,
    "passive PP dative": _PASSIVE / 4,
    "passive double object": 0.075,
}
"""The kinds of clauses and the probability of each. "optional object" is the verb of "omitted object" with its object."""

_CLASS = {
    "unergative": "unergative",
    "causative": "unaccusative",
    "omitted object": "omitting",
    "optional object": "omitting",
    "transitive": "transitive",
    "infinitive": "controlling",
    "PP dative": "dative",
    "double object": "dative",
    "that": "clausal",
    "unaccusative": "unaccusative",
    "passive PP dative": "dative",
    "passive double object": "dative",
}
_PASSIVE_CLASSES = ("transitive", "omitting", "unaccusative")
_DETERMINERS = ("the", "a")
_PREPOSITIONS = ("on", "in", "beside")
_DEEPER, _NESTED, _AT_MOST = 0.1, KINDS["that"], 2
"""A PP within a PP; a "that" within a "that" (or around a case's clause); the most of either in training."""

_ZETA = (
    sum(k**-1.4 for k in range(1, 1000)) + 1000**-0.4 / 0.4 + 1000**-1.4 / 2 + 1.4 * 1000**-2.4 / 12
)  # ζ(1.4), Euler–Maclaurin


@cache
def _zipf(n: int) -> list[float]:
    """Cumulative probabilities of n words: k^−1.4/ζ(1.4), and what the words beyond n would have, shared evenly."""
    weights = [k**-1.4 / _ZETA for k in range(1, n + 1)]
    return list(accumulate(weight + (1 - sum(weights)) / n for weight in weights))


class Grammar:
    """Draws trees. `random` gives numbers in [0, 1), the only source of chance."""

    def __init__(self, words: Words, random: Callable[[], float]) -> None:
        self.words, self.random = words, random

    def _any(self, items: Sequence[str]) -> str:
        return items[int(self.random() * len(items))]

    def _word(self, items: Sequence[str]) -> str:
        return items[min(bisect_right(_zipf(len(items)), self.random()), len(items) - 1)]

    def _half(self) -> bool:
        return self.random() < 0.5

    def kind(self, kinds: Sequence[str] = tuple(KINDS)) -> str:
        """One of `kinds`, each as likely as in the grammar."""
        limits = list(accumulate(KINDS[kind] for kind in kinds))
        return kinds[min(bisect_right(limits, self.random() * limits[-1]), len(kinds) - 1)]

    def common(self, word: str, places: int = 0) -> Noun:
        """The word with a determiner and exactly so many PPs, one in the other."""
        place = None
        determiner = self._any(_DETERMINERS)
        if places:
            preposition = self._any(_PREPOSITIONS)
            place = preposition, self.common(self._word(self.words.places[preposition]), places - 1)
        return Noun(word, determiner, place)

    def nested(self, deeper: float, at_most: int | None = None) -> int:
        """How many of what nests with the probability `deeper`; at most `at_most`."""
        n = 0
        while (at_most is None or n < at_most) and self.random() < deeper:
            n += 1
        return n

    def perhaps_with_place(self, word: str) -> Noun:
        return self.common(word, 1 + self.nested(_DEEPER) if self._half() else 0)

    def animate(self) -> Noun:
        return self.common(self._word(self.words.animate)) if self._half() else Noun(self._word(self.words.names))

    def thing(self, places: int | None = None) -> Noun:
        """An inanimate object, half of them with PPs; with `places`, all of them with so many."""
        word = self._word(self.words.inanimate)
        return self.common(word, places) if places is not None else self.perhaps_with_place(word)

    def object(self, places: int | None = None) -> Noun:
        """The object of a transitive verb, inanimate or animate alike; with `places`, one with so many PPs."""
        if self._half():
            return self.thing(places)
        if places is None and self._half():
            return Noun(self._word(self.words.names))
        word = self._word(self.words.animate)
        return self.common(word, places) if places is not None else self.perhaps_with_place(word)

    def subject(self, kind: str, places: int | None = None) -> Noun:
        """The subject of a clause of this kind; with `places`, a common noun with so many PPs."""
        inanimate = kind in ("passive", "passive PP dative") or (kind == "unaccusative" and self._half())
        if places is not None:
            return self.common(self._word(self.words.inanimate if inanimate else self.words.animate), places)
        return self.common(self._word(self.words.inanimate)) if inanimate else self.animate()

    def clause(
        self,
        kind: str,
        subject: Noun | None = None,
        object: Noun | None = None,
        verb: str | None = None,
        infinitive: str | None = None,
    ) -> Clause:
        """A clause of this kind, with what is given in the place of what would be drawn; an object is the theme."""
        words = self.words
        if verb is None:
            verb = self._word(words.verbs[self._any(_PASSIVE_CLASSES) if kind == "passive" else _CLASS[kind]])
        first = subject if subject is not None else self.subject(kind)
        passive = kind.startswith("passive")
        role = "agent"
        others: list[Part] = []
        if kind in ("causative", "optional object", "transitive"):
            others = [Part("theme", object if object is not None else self.object())]
        elif kind in ("PP dative", "double object"):
            theme = Part("theme", object if object is not None else self.thing())
            if kind == "PP dative":
                others = [theme, Part("recipient", self.animate(), "to")]
            else:
                others = [Part("recipient", self.animate()), theme]
        elif kind == "infinitive":
            others = [Part("xcomp", infinitive if infinitive is not None else self._word(words.verbs["infinitive"]), "to")]
        elif kind == "that":
            others = [Part("ccomp", self.clause(self.kind()), "that")]
        elif kind == "unaccusative":
            role = "theme"
        elif passive:
            role = "theme"
            if kind == "passive PP dative":
                others = [Part("recipient", self.animate(), "to")]
            elif kind == "passive double object":
                role = "recipient"
                others = [Part("theme", self.thing())]
            if self._half():
                others.append(Part("agent", self.animate(), "by"))
        return Clause(kind, verb, (Part(role, first), *others), passive)

    def that(self, inner: Clause, times: int) -> Clause:
        """The clause in so many "… that"."""
        for _ in range(times):
            who = Part("agent", self.animate())
            inner = Clause("that", self._word(self.words.verbs["clausal"]), (who, Part("ccomp", inner, "that")))
        return inner

    def sentence(self) -> Clause:
        """A sentence of training: at most two "that" and two PPs."""
        while True:
            clause = self.clause(self.kind())
            if max(depths(clause)) <= _AT_MOST:
                return clause


# -------------------------------------------------------------------------------------------------------- exposures and cases

_AGENT = (
    "unergative",
    "causative",
    "omitted object",
    "optional object",
    "transitive",
    "infinitive",
    "PP dative",
    "double object",
)
_TRANSITIVE = ("causative", "optional object", "transitive")
_OBJECT = (*_TRANSITIVE, "PP dative", "double object")


class Use(NamedTuple):
    """A word in a slot of `Grammar.clause` (subject, object, verb, infinitive) of clauses of these kinds."""

    word: str
    slot: str
    kinds: tuple[str, ...]


EXPOSURES = {
    "hedgehog": Use("hedgehog", "subject", _AGENT),
    "Lina": Use("Lina", "subject", _AGENT),
    "cockroach": Use("cockroach", "object", _TRANSITIVE),
    "Charlie": Use("Charlie", "object", _TRANSITIVE),
    "bake": Use("bake", "verb", ("omitted object",)),
    "teleport": Use("teleport", "verb", ("double object",)),
    "cobra": Use("cobra", "subject", _TRANSITIVE),
    "bless": Use("bless", "verb", ("transitive",)),
    "squeeze": Use("squeeze", "verb", ("passive",)),
    "shatter": Use("shatter", "verb", ("unaccusative",)),
    "ship": Use("ship", "verb", ("PP dative",)),
    "hippo": Use("hippo", "subject", ("unaccusative",)),
}
"""The words that training shows in one sentence each, and where; three more are shown as primitives alone."""
LONE = ("shark", "Paula", "crawl")

LEXICAL = {
    "subj_to_obj_common": Use("hedgehog", "object", _OBJECT),
    "subj_to_obj_proper": Use("Lina", "object", _OBJECT),
    "obj_to_subj_common": Use("cockroach", "subject", _AGENT),
    "obj_to_subj_proper": Use("Charlie", "subject", _AGENT),
    "prim_to_subj_common": Use("shark", "subject", _AGENT),
    "prim_to_subj_proper": Use("Paula", "subject", _AGENT),
    "prim_to_obj_common": Use("shark", "object", _OBJECT),
    "prim_to_obj_proper": Use("Paula", "object", _OBJECT),
    "prim_to_inf_arg": Use("crawl", "infinitive", ("infinitive",)),
    "active_to_passive": Use("bless", "verb", ("passive",)),
    "passive_to_active": Use("squeeze", "verb", ("transitive",)),
    "obj_omitted_transitive_to_transitive": Use("bake", "verb", ("optional object",)),
    "unacc_to_transitive": Use("shatter", "verb", ("causative",)),
    "do_dative_to_pp_dative": Use("teleport", "verb", ("PP dative",)),
    "pp_dative_to_do_dative": Use("ship", "verb", ("double object",)),
    "only_seen_as_transitive_subj_as_unacc_subj": Use("cobra", "subject", ("unaccusative",)),
    "only_seen_as_unacc_subj_as_unerg_subj": Use("hippo", "subject", ("unergative",)),
    "only_seen_as_unacc_subj_as_obj_omitted_transitive_subj": Use("hippo", "subject", ("omitted object",)),
}
"""The 18 lexical cases under the names of the release: the word, and where it is tested."""
STRUCTURAL = ("obj_pp_to_subj_pp", "cp_recursion", "pp_recursion")
CASES = (*LEXICAL, *STRUCTURAL)
DEPTHS = range(3, 13)
"""How many "that" or PPs the recursive cases have; as many rows of each."""
IN_DISTRIBUTION, EXPOSURE, PRIMITIVE = "in_distribution", "exposure", "primitive"


def _use(grammar: Grammar, use: Use) -> Clause:
    """A clause with the word in its slot."""
    filler: Noun | str = use.word
    if use.slot in ("subject", "object") and use.word[0].isupper():
        filler = Noun(use.word)
    elif use.slot == "object":
        filler = grammar.perhaps_with_place(use.word)
    elif use.slot == "subject":
        filler = grammar.common(use.word)
    given: dict[str, Any] = {use.slot: filler}
    return grammar.clause(grammar.kind(use.kinds), **given)


def _exposed(grammar: Grammar, word: str) -> Clause:
    while True:
        clause = _use(grammar, EXPOSURES[word])
        if depths(clause)[1] <= _AT_MOST:
            return clause


_SIMPLE = tuple(kind for kind in KINDS if kind != "that")


def _tested(grammar: Grammar, case: str, depth: int) -> Clause:
    """A sentence of the case; `depth` is that of the recursive ones. Others have at most two "that" and two PPs."""
    while True:
        if case == "cp_recursion":
            clause = grammar.that(grammar.clause(grammar.kind(_SIMPLE)), depth)
        else:
            if case == "pp_recursion":
                kind = grammar.kind(_OBJECT)
                theme = grammar.object(depth) if kind in _TRANSITIVE else grammar.thing(depth)
                clause = grammar.clause(kind, object=theme)
            elif case == "obj_pp_to_subj_pp":
                kind = grammar.kind(_SIMPLE)
                clause = grammar.clause(kind, subject=grammar.subject(kind, 1 + grammar.nested(_DEEPER)))
            else:
                clause = _use(grammar, LEXICAL[case])
            clause = grammar.that(clause, grammar.nested(_NESTED, _AT_MOST))
        if case == "pp_recursion" or depths(clause)[1] <= _AT_MOST:
            return clause


# ------------------------------------------------------------------------------------------------------------------ whole sets


class Row(NamedTuple):
    """A sentence, its logical form, and what it is: in_distribution, exposure, primitive, or one of CASES."""

    sentence: str
    form: str
    case: str = IN_DISTRIBUTION


def primitives(words: Words) -> tuple[Row, ...]:
    """Single words and their forms: 80 verbs, 40 common nouns, 20 names, and the three of LONE, if all words are taken."""
    verbs, part = words.verbs, len(words.names) // 5
    forms = {noun: f"LAMBDA a . {noun} ( a )" for noun in (*words.animate[:part], *words.inanimate[:part], "shark")}
    forms |= {name: name for name in (*words.names[:part], "Paula")}
    forms |= {verb: f"LAMBDA a . LAMBDA e . {verb} . agent ( e , a )" for verb in (*verbs["unergative"], "crawl")}
    forms |= {verb: f"LAMBDA a . LAMBDA e . {verb} . theme ( e , a )" for verb in verbs["unaccusative"]}
    for verb in (*verbs["omitting"], *verbs["transitive"]):
        forms[verb] = f"LAMBDA a . LAMBDA b . LAMBDA e . {verb} . agent ( e , b ) AND {verb} . theme ( e , a )"
    return tuple(Row(word, form, PRIMITIVE) for word, form in forms.items())


@dataclass(frozen=True)
class Sizes:
    """Rows of train (with exposures and primitives), dev and test; of each case (a multiple of 10, for ten depths); words.

    Raises LanguageError for what cannot be."""

    train: int = 24_155
    dev: int = 3_000
    test: int = 3_000
    case: int = 1_000
    nouns: int = 100
    verbs: int = 20

    def __post_init__(self) -> None:
        for field in fields(self):
            n = getattr(self, field.name)
            if isinstance(n, bool) or not isinstance(n, int) or n < 1:
                raise LanguageError(f"{field.name} must be a whole number of at least 1, not {n!r}.")
        if self.case % len(DEPTHS):
            raise LanguageError(f"case must be a multiple of {len(DEPTHS)}, as many rows of each depth, not {self.case}.")
        fixed = len(EXPOSURES) + len(primitives(substitute(self.nouns, self.verbs)))
        if self.train <= fixed:
            raise LanguageError(
                f"train must be more than the {fixed} exposures and primitives that it begins with, not {self.train}."
            )


FULL = Sizes()
"""The sizes of the release."""


@dataclass(frozen=True)
class Data:
    """The four sets; gen has the 21 cases in their order."""

    train: tuple[Row, ...]
    dev: tuple[Row, ...]
    test: tuple[Row, ...]
    gen: tuple[Row, ...]


SETS = tuple(field.name for field in fields(Data))
_PATIENCE = 20_000  # sentences in a row that were there before


def _unique(draw: Callable[[], Clause], n: int, seen: set[str], what: str, case: str = IN_DISTRIBUTION) -> Iterator[Row]:
    """n rows with sentences that are not in `seen`, which grows by them."""
    for found in range(n):
        for _ in range(_PATIENCE):
            row = Row(*spell(draw()), case)
            if row.sentence not in seen:
                break
        else:
            raise LanguageError(
                f"there are about {found} different sentences of {what}, not {n}: ask for fewer, or for more words."
            )
        seen.add(row.sentence)
        yield row


def generate(sizes: Sizes, seed: int = 0) -> Data:
    """A set of these sizes, a pure function of them and the seed.

    Sentences are unique within and across the four sets. Train begins with exposures and primitives; its other rows are in no
    order, so that `fewer` is a sample. Raises LanguageError where the words do not make as many sentences."""
    words = substitute(sizes.nouns, sizes.verbs)

    def grammar(stream: str) -> Grammar:
        return Grammar(words, Random(f"COGS {seed} {stream}").random)

    seen: set[str] = set()
    fixed: list[Row] = []
    for word in EXPOSURES:
        fixed += _unique(partial(_exposed, grammar(word), word), 1, seen, word, EXPOSURE)
    fixed += primitives(words)
    n = sizes.train - len(fixed) + sizes.dev + sizes.test
    pool = list(_unique(grammar("sentences").sentence, n, seen, "training, dev and test"))
    order = Random(f"COGS {seed} order").random
    pool = [row for _, row in sorted(((order(), row) for row in pool), key=lambda pair: pair[0])]
    dev, test, train = pool[: sizes.dev], pool[sizes.dev : sizes.dev + sizes.test], pool[sizes.dev + sizes.test :]
    gen: list[Row] = []
    for case in CASES:
        draws = grammar(case)
        deep = DEPTHS if case in ("cp_recursion", "pp_recursion") else (0,)
        for depth in deep:
            gen += _unique(partial(_tested, draws, case, depth), sizes.case // len(deep), seen, case, case)
    return Data((*fixed, *train), tuple(dev), tuple(test), tuple(gen))


def fewer(data: Data, train: int) -> Data:
    """The set with `train` training rows: all exposures and primitives, and the first of the others.

    Smaller sets are in larger ones. Raises LanguageError if there are not as many, or not even room for the former."""
    fixed = sum(row.case != IN_DISTRIBUTION for row in data.train)
    if not fixed < train <= len(data.train):
        raise LanguageError(f"train must be from {fixed + 1} to {len(data.train)}, the rows that there are, not {train}.")
    left = train - fixed
    kept = []
    for row in data.train:
        left -= row.case == IN_DISTRIBUTION
        if row.case != IN_DISTRIBUTION or left >= 0:
            kept.append(row)
    return replace(data, train=tuple(kept))


# -------------------------------------------------------------------------------------------------------------- rows of tokens


def tokens(row: Row) -> tuple[list[str], list[str]]:
    """Words of the sentence and of the form; `x _ 4` is the one word `x_4`, our choice."""
    return row.sentence.split(), row.form.replace("x _ ", "x_").split()


def vocabulary_of(data: Data) -> Vocabulary:
    """Every word of the four sets. Of the deep cases that includes positions which training does not have."""
    return vocabulary(word for name in SETS for row in getattr(data, name) for side in tokens(row) for word in side)


def encode(chosen: Sequence[Row], words: Vocabulary) -> Rows:
    """Rows of a model (lib/language/text.py): sentence, OUT, form, END. Raises LanguageError as `rows` does."""
    return rows([tokens(row) for row in chosen], words)


# ---------------------------------------------------------------------------------------------------------------------- files


_VARIABLE = r"x _ \d+"
_WORD = r"[^\W\d_][\w'-]*"
_ARGUMENT = rf"(?:{_VARIABLE}|{_WORD})"
_ROLE = rf"(?:agent|theme|recipient|ccomp|xcomp|nmod \. {_WORD})"
_CONJUNCT = rf"(?:{_WORD} \( {_VARIABLE} \)|{_WORD} \. {_ROLE} \( {_VARIABLE} , {_ARGUMENT} \))"
_FORM = re.compile(rf"(?:\* {_WORD} \( {_VARIABLE} \) ; )*{_CONJUNCT}(?: AND {_CONJUNCT})*")
_EVENT = re.compile(rf"({_WORD}) \. (agent|theme|recipient|ccomp|xcomp) \( x _ (\d+) ,")
_LAMBDA = re.compile(
    rf"LAMBDA a \. (?:(?P<noun>{_WORD}) \( a \)|LAMBDA e \. (?P<one>{_WORD}) \. (?P<role>agent|theme) \( e , a \)"
    rf"|LAMBDA b \. LAMBDA e \. (?P<two>{_WORD}) \. agent \( e , b \) AND (?P=two) \. theme \( e , a \))"
)


@cache
def _lemmas() -> dict[str, str]:
    """{past or participle: lemma} of our verbs."""
    known = [verb for verbs in substitute(FULL.nouns, FULL.verbs).verbs.values() for verb in verbs]
    return {form(verb): verb for verb in known for form in (past, participle)}


def _subject_role(verb: str) -> str | None:
    """What the subject of a verb is that has no object, where our words or the cases' own say it."""
    known = substitute(FULL.nouns, FULL.verbs).verbs
    if verb in (*known["unaccusative"], "shatter"):
        return "theme"
    return "agent" if verb in (*known["unergative"], *known["omitting"], "crawl", "bake") else None


class _Reader:
    """Reads a sentence back into its tree. The form gives the verbs, {place: lemma}, and where a sentence without an object can
    mean both, whether its subject is a theme; where our words know the verb, they do."""

    def __init__(self, words: Sequence[str], form: str) -> None:
        self.words, self.at = words, 0
        events = [(lemma, role, int(place)) for lemma, role, place in _EVENT.findall(form)]
        self.verbs = {place: lemma for lemma, _, place in events}
        self.themes = {place for _, role, place in events if role == "theme"}

    def _take(self, *wanted: str) -> str | None:
        """The next word, where it is one of those, or any if none is named."""
        word = self.words[self.at] if self.at < len(self.words) else ""
        if wanted and word not in wanted:
            return None
        if word in ("", "."):
            raise LanguageError("the sentence ends before it is whole")
        self.at += 1
        return word

    def noun(self) -> Noun:
        word = str(self._take())
        if word.lower() not in _DETERMINERS:
            return Noun(word)
        head = str(self._take()).lower()  # the release has a "TV", which is tv in forms
        preposition = self._take(*_PREPOSITIONS)
        return Noun(head, word.lower(), (preposition, self.noun()) if preposition else None)

    def clause(self) -> Clause:
        subject, passive = self.noun(), self._take("was") is not None
        at, verb = self.at, self.verbs.get(self.at)
        word = self._take()
        if verb is None or _lemmas().get(str(word), verb) != verb:
            raise LanguageError(f"the form does not say what word {at}, {word}, does")
        others: list[Part] = []
        bare: list[Noun] = []
        while self.at < len(self.words) and self.words[self.at] != ".":
            if self._take("that"):
                others.append(Part("ccomp", self.clause(), "that"))
            elif self._take("by"):
                others.append(Part("agent", self.noun(), "by"))
            elif self._take("to"):
                infinitive = self.verbs.get(self.at) == self.words[self.at]
                others.append(Part("xcomp", str(self._take()), "to") if infinitive else Part("recipient", self.noun(), "to"))
            elif len(bare) == 2:
                raise LanguageError(f"word {self.at}, {self.words[self.at]}, has no part in the sentence")
            else:
                bare.append(self.noun())
                roles = ("recipient", "theme")[-len(bare) :]
                others = [Part(role, noun) for role, noun in zip(roles, bare, strict=True)]
        role = "agent"
        if passive:
            role = "recipient" if bare else "theme"
        elif not others:
            role = _subject_role(verb) or ("theme" if at in self.themes else "agent")
        return Clause("", verb, (Part(role, subject), *others), passive)

    def sentence(self) -> Clause:
        """All of it."""
        found = self.clause()
        if self.at != len(self.words) - 1:
            raise LanguageError(f"word {self.at}, {self.words[self.at]}, is not the last one")
        return found


def _wrong(row: Row) -> str | None:
    """What is wrong with a sentence and its form, if anything: the sentence is read, written as a form, and compared."""
    words = row.sentence.split(" ")
    if len(words) == 1:
        told = _LAMBDA.fullmatch(row.form)
        if not told and not (row.form == row.sentence and row.sentence[:1].isupper()):
            return "a word's form is neither a name nor a LAMBDA"
        if told and words[0].lower() not in told.group("noun", "one", "two"):
            return f"the form is of another word than {words[0]}"
        due = _subject_role(words[0]) if told and told["one"] else None
        return (
            f"the subject of {words[0]} is its {due}, not its {told['role']}"
            if told and due not in (None, told["role"])
            else None
        )
    if words[-1] != ".":
        return "the sentence does not end with ' .'"
    if not row.sentence[0].isupper():
        return "the sentence does not begin with a capital"
    if not _FORM.fullmatch(row.form):
        return "the logical form is not definite nouns and then conjuncts"
    for position in re.findall(r"x _ (\d+)", row.form):
        if int(position) >= len(words):
            return f"the form has x _ {position}, but the sentence {len(words)} words"
    try:
        due = spell(_Reader(words, row.form).sentence())[1]
    except LanguageError as error:
        return str(error)
    except RecursionError:
        return "the sentence is nested too deeply"
    found, wanted = (re.split(" ; | AND ", text) for text in (row.form, due))
    if more := [part for part in found if part not in wanted]:
        return f"the form says {more[0]}, which the sentence does not"
    if less := [part for part in wanted if part not in found]:
        return f"the form does not say {less[0]}, as the sentence does"
    return None if row.form == due else "the parts of the form are not in the order of the sentence, or one is there twice"


def load(folder: Path | str, sizes: Sizes | None = FULL) -> Data:
    """A user's own copy of the released files, or, with the sizes it was made with or None for any, what `save` wrote; checked.

    Raises LanguageError, in one sentence, for missing or unreadable files, lines that are not a sentence, a form and a case,
    forms that are not what their sentence says, a sentence that is there twice, cases or single words that are missing, and
    files of another length than `sizes` says. Taken on trust, of verbs that our words lack: their lemma, and whether the
    subject is an agent or a theme where there is no object.
    """
    folder = Path(folder)
    lacking = [f"{name}.tsv" for name in SETS if not (folder / f"{name}.tsv").is_file()]
    if lacking:
        raise LanguageError(
            f"{folder} lacks {', '.join(lacking)}: give the folder with train.tsv, dev.tsv, test.tsv and gen.tsv."
        )
    sets: dict[str, tuple[Row, ...]] = {}
    places: dict[str, str] = {}
    for name in SETS:
        path = folder / f"{name}.tsv"
        with opened(path, "copy it again") as file:
            lines = file.read().splitlines()
        if not lines:
            raise LanguageError(f"{path} is empty: copy it again.")
        found = []
        for number, line in enumerate(lines, 1):
            place = f"{path}, line {number}"
            cells = line.split("\t")
            if len(cells) != 3 or not all(cells):
                raise LanguageError(f"{place}: needs a sentence, a logical form and a case, parted by tabs.")
            row = Row(*cells)
            wrong = _wrong(row)
            if wrong is None and (row.case in CASES) != (name == "gen"):
                wrong = f"{row.case!r} is one of the cases, which are in gen.tsv alone"
                if name == "gen":
                    wrong = f"{row.case!r} is none of the {len(CASES)} cases"
            if wrong is None and row.sentence in places:
                wrong = f"the sentence is in {places[row.sentence]} too"
            if wrong is not None:
                raise LanguageError(f"{place}: {wrong}; copy the file again, or correct the line.")
            places[row.sentence] = place
            found.append(row)
        sets[name] = tuple(found)
    lacking = sorted(set(LONE) - {row.sentence for row in sets["train"]})
    if lacking:
        raise LanguageError(f"{folder / 'train.tsv'} lacks the single words {', '.join(lacking)}: copy the whole file.")
    lacking = sorted(set(CASES) - {row.case for row in sets["gen"]})
    if lacking:
        raise LanguageError(f"{folder / 'gen.tsv'} has no rows of {', '.join(lacking)}: copy the whole file.")
    wanted = {"train": sizes.train, "dev": sizes.dev, "test": sizes.test, "gen": sizes.case * len(CASES)} if sizes else {}
    for name, count in wanted.items():
        if len(sets[name]) != count:
            path = folder / f"{name}.tsv"
            raise LanguageError(f"{path} has {len(sets[name]):,} rows, not {count:,}: copy the whole file.")
    return Data(**sets)
