"""Our words for COGS. The release's own lists are not copied: "our substitute vocabulary".

The order of a list is its order by frequency. Nouns begin with a consonant, so that "a" is right. No word is in two lists, but
for infinitives, which are verbs without an object or with one that may be omitted, and for the places of "beside", which are
those of "on" and "in". The words that the 21 cases test (lib/language/cogs.py) are in none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lib.language.text import LanguageError

_ANIMATE = """
    wizard rabbit baker pilot penguin farmer fox sailor dancer goat singer painter parrot gardener nurse horse doctor lawyer
    panda judge banker frog barber butcher moose builder plumber beaver tailor weaver camel potter fisher raven hunter
    shepherd badger miner knight duck prince princess seal king queen donkey duke monk gecko priest prophet llama poet
    novelist dolphin drummer fiddler mole juggler clown falcon magician detective lemur sheriff soldier pony captain guard
    jaguar spy thief lobster pirate robot koala bison cheetah chipmunk coyote crab cricket crow deer dove ferret finch gazelle
    goose gorilla heron hornet jackal leopard lizard lynx magpie mouse newt pelican
"""
_INANIMATE = """
    kettle lemon candle button pancake mirror hammer melon ribbon guitar pillow carrot bucket needle muffin blanket towel
    peach sponge comb pretzel brush pencil waffle crayon marker biscuit notebook letter sandwich stamp ticket burger passport
    wallet noodle coin medal dumpling necklace bracelet pickle ring watch tomato compass telescope potato camera radio turnip
    violin trumpet radish flute drum pumpkin whistle bell cherry ball kite pear puzzle doll plum puppet balloon banana scarf
    jacket mango sweater shirt coconut sock boot walnut glove helmet peanut mitten belt chestnut cape lantern mushroom battery
    magnet sausage rope feather meatball pebble ladder lollipop wrench cupcake pudding tambourine
"""
_NAMES = """
    Nora Hugo Clara Oscar Ruth Felix Greta Bruno Tessa Viktor Helen Simon Marta Klaus Irene Pavel Rosa Dario Agnes Boris Celia
    Diego Edith Fabio Gwen Henrik Ingrid Jonas Karin Lorenzo Miriam Nils Olga Piotr Quentin Renata Stefan Tamara Ulrich Vera
    Walter Xenia Yusuf Zelda Amos Bianca Cyril Daphne Emil Fiona Gustav Hilda Ivan Joan Kurt Louisa Milo Nadia Otto Petra
    Rafael Sabine Tobias Ursula Valentin Wanda Xavier Yvonne Zeno Albert Berta Conrad Doris Ernest Flora Gilbert Hazel Igor
    Judith Kaspar Leona Marcel Nina Orson Pia Ralph Selma Theo Uma Vincent Wilma Yara Zora Anton Beatrix Claus Dagmar Erwin
    Frida Gerta
"""
_ON = """
    table shelf bench stool desk counter tray plate carpet rug mat sofa couch bed mattress roof porch balcony terrace deck
    stage platform bridge road street sidewalk path trail track runway hill mountain cliff ridge boulder rock log stump branch
    lawn meadow field prairie beach dune reef raft boat barge canoe ferry yacht tractor truck trailer wagon sled surfboard
    skateboard bicycle motorcycle saddle throne pedestal podium scaffold staircase doormat windowsill mantel stove grill
    griddle board canvas poster blackboard chart map page piano bookcase dresser nightstand hammock swing trampoline seesaw
    pier dock wharf jetty dam wall fence hedge railing curb keyboard ledge
"""
_IN = """
    kitchen box garden bedroom cage basket garage barn tent bowl bathroom cellar closet cabin castle jar library forest pantry
    hallway shed stable kennel cottage palace temple church chapel monastery museum gallery school classroom laboratory
    hospital clinic pharmacy bakery restaurant cafeteria hotel motel theater cinema stadium gym studio factory warehouse
    quarry cave tunnel jungle greenhouse park playground zoo village town city valley canyon lake pond river pool bathtub cup
    mug glass pot crate barrel chest drawer cupboard locker suitcase backpack purse pocket sack pouch folder vault nest burrow
    den hive cradle crib taxi bus train submarine rocket bottle cabinet teapot vase
"""
_VERBS = {
    "unergative": """laugh sneeze yawn giggle smile dance snore swim cough nap jog shout blush frown kneel wink gallop wander
        march pray""",
    "unaccusative": """roll break melt freeze burn crack bounce spin grow float sink shrink snap twist bend tilt change improve
        collapse slide""",
    "omitting": """cook paint draw clean write sing hunt study knit sweep carve sew drink dust juggle dig film sketch mop
        type""",
    "transitive": """admire kick push chase follow catch carry find hold lift touch tickle poke praise scold greet rescue visit
        ignore trap""",
    "clausal": """say think hope believe know claim notice discover suspect announce deny admit fear guess realize hear mention
        imagine predict learn""",
    "controlling": """want try plan need decide agree refuse attempt prefer love choose start begin intend wish yearn hesitate
        struggle expect aim""",
    "dative": """give send hand offer sell lend mail pass bring show throw toss feed loan rent award slip post forward serve""",
}

_IRREGULAR = {
    "begin": ("began", "begun"),
    "bend": ("bent", "bent"),
    "break": ("broke", "broken"),
    "bring": ("brought", "brought"),
    "catch": ("caught", "caught"),
    "choose": ("chose", "chosen"),
    "dig": ("dug", "dug"),
    "draw": ("drew", "drawn"),
    "drink": ("drank", "drunk"),
    "feed": ("fed", "fed"),
    "find": ("found", "found"),
    "freeze": ("froze", "frozen"),
    "give": ("gave", "given"),
    "grow": ("grew", "grown"),
    "hear": ("heard", "heard"),
    "hold": ("held", "held"),
    "kneel": ("knelt", "knelt"),
    "know": ("knew", "known"),
    "lend": ("lent", "lent"),
    "say": ("said", "said"),
    "sell": ("sold", "sold"),
    "send": ("sent", "sent"),
    "sew": ("sewed", "sewn"),
    "show": ("showed", "shown"),
    "shrink": ("shrank", "shrunk"),
    "sing": ("sang", "sung"),
    "sink": ("sank", "sunk"),
    "slide": ("slid", "slid"),
    "spin": ("spun", "spun"),
    "sweep": ("swept", "swept"),
    "swim": ("swam", "swum"),
    "think": ("thought", "thought"),
    "throw": ("threw", "thrown"),
    "write": ("wrote", "written"),
}
_DOUBLED = frozenset(("admit", "jog", "knit", "mop", "nap", "plan", "prefer", "ship", "slip", "snap", "trap"))


def past(verb: str) -> str:
    """The past tense of a lemma of ours: past("draw") is "drew"."""
    return _IRREGULAR[verb][0] if verb in _IRREGULAR else _regular(verb)


def participle(verb: str) -> str:
    """The past participle of a lemma of ours: participle("draw") is "drawn"."""
    return _IRREGULAR[verb][1] if verb in _IRREGULAR else _regular(verb)


def _regular(verb: str) -> str:
    if verb in _DOUBLED:
        return f"{verb}{verb[-1]}ed"
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}ed"


class Words(NamedTuple):
    """The words of a grammar, each list by frequency. `places` is by preposition, `verbs` (lemmas) by class."""

    animate: tuple[str, ...]
    inanimate: tuple[str, ...]
    names: tuple[str, ...]
    places: dict[str, tuple[str, ...]]
    verbs: dict[str, tuple[str, ...]]


NOUNS, VERBS = 100, 20
"""How many nouns (names, places of one preposition) and how many verbs of one class there are; the release has as many."""


def _alternate(first: Sequence[str], second: Sequence[str], n: int) -> tuple[str, ...]:
    return tuple(word for pair in zip(first, second, strict=False) for word in pair)[:n]


def substitute(nouns: int = NOUNS, verbs: int = VERBS) -> Words:
    """The first `nouns` of each list of nouns, names and places, and the first `verbs` of each class of verbs.

    Raises LanguageError where a list is shorter than what is asked for, or nothing is."""
    for what, n, limit in (("nouns", nouns, NOUNS), ("verbs", verbs, VERBS)):
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= limit:
            raise LanguageError(f"{what} must be a whole number from 1 to {limit}, the words that there are, not {n!r}.")
    on, within = _ON.split(), _IN.split()
    lemmas = {kind: text.split() for kind, text in _VERBS.items()}
    places = {"on": on[:nouns], "in": within[:nouns], "beside": _alternate(on, within, nouns)}
    infinitives = _alternate(lemmas["unergative"], lemmas["omitting"], verbs)
    return Words(
        tuple(_ANIMATE.split()[:nouns]),
        tuple(_INANIMATE.split()[:nouns]),
        tuple(_NAMES.split()[:nouns]),
        {preposition: tuple(words) for preposition, words in places.items()},
        {**{kind: tuple(words[:verbs]) for kind, words in lemmas.items()}, "infinitive": infinitives},
    )
