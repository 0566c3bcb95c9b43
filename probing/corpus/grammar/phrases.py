"""Short phrases: noun phrases without complements, and phrases of time.

`room` is the number of tokens that a phrase may take; it takes about that many.
"""

from __future__ import annotations

from typing import NamedTuple

from probing.corpus.grammar.lexicon import (
    ADJECTIVES,
    AND,
    CITIES,
    COMMA,
    HE,
    IT,
    MASS,
    ME,
    MONTHS,
    NOUNS,
    NUMBERS,
    PEOPLE,
    PERSONS,
    PLURAL_CHANCES,
    PORTABLE,
    SHE,
    SPOTS,
    SURNAMES,
    THE,
    THEY,
    TITLES,
    UNITS,
    WE,
    WEEKDAYS,
    YOU,
    Choice,
    Noun,
    Random,
    list_leaves,
    weigh,
    zipf_leaves,
)
from probing.corpus.grammar.verbs import SCENES
from probing.corpus.readers import Tree

LISTS, FLAT, MIXED, DEEP, CHAIN = range(5)
"""Styles of a sentence: long by lists of nouns, by adjuncts, by both, by nested clauses, by nested clauses only."""

SINGULAR, PLURAL, FIRST = range(3)
"""Agreement of a verb: third person singular, plural, first person singular."""


class Writer:
    """The random numbers, and the choices that are made once for a sentence."""

    __slots__ = (
        "dated",
        "nesting",
        "owner",
        "past",
        "placed",
        "plain",
        "plurality",
        "random",
        "scene",
        "style",
        "timed",
    )

    def __init__(self, random: Random) -> None:
        self.random = random
        self.scene = next(iter(SCENES.values()))
        """What the sentence is about."""
        self.style = MIXED
        self.past = True
        self.plurality = 1.0
        """Factor of the probability of a plural: lower for lengths at which lists, which are plural, are frequent."""
        self.timed = False
        """Whether there is a phrase of time already, or none fits."""
        self.placed = False
        """Whether there is a phrase of place already."""
        self.dated = False
        """Whether a date in the past suits the verb."""
        self.nesting = 0
        """Number of predicates with a clause inside, like `said that`."""
        self.plain = False
        """Whether coordination inside the clauses is forbidden."""
        self.owner = HE
        """Pronoun of the latest subject, to which most possessives refer."""


class Nominal(NamedTuple):
    """A noun phrase, the agreement of its verb, and the pronoun for a second mention."""

    tree: Tree
    agreement: int
    pronoun: int


SUBJECT_FORMS = list_leaves("PRP", "he she it they I we you")
OBJECT_FORMS = list_leaves("PRP", "him her it them me us you")
POSSESSIVES = list_leaves("PRP$", "his her its their my our your")
AGREEMENTS = (SINGULAR, SINGULAR, SINGULAR, PLURAL, FIRST, PLURAL, PLURAL)

_PRONOUNS = weigh({HE: 24, SHE: 24, THEY: 18, ME: 14, WE: 10, YOU: 7})
_MARKED_PRONOUNS = weigh({HE: 24, SHE: 24, THEY: 20, ME: 12, WE: 12})
"""Pronouns that show their case: after a swap with the verb, the others would still make a good sentence."""

_INDEFINITE: Tree = ("DT", "a")
_POSSESSIVE: Tree = ("PRP$", "")
_POSSESSIVE_WEIGHTS = {_POSSESSIVE: 16.0}
_OTHER_OWNERS = weigh({HE: 4.0, SHE: 4.0, THEY: 3.0, ME: 5.0, WE: 3.0, YOU: 2.0})
_OWNED_SENSES = (
    "kin parent pet cattle mount clothing jewel letter book car boat tool implement equipment container luggage "
    "furniture device plant instrument plan body pay debt home room garden"
)
_OWNED = frozenset(_OWNED_SENSES.split())
"""Senses of what belongs to a person."""
_SINGULAR_DETERMINERS: Choice[Tree] = weigh({THE: 38.0, _INDEFINITE: 34.0, ("DT", "this"): 5.0, **_POSSESSIVE_WEIGHTS})
_NUMBER: Tree = ("CD", "")
_LIST_WEIGHTS: dict[Tree, float] = {
    THE: 36.0, ("DT", "these"): 5.0, ("DT", "those"): 4.0, ("JJ", "many"): 5.0, ("JJ", "several"): 6.0
}  # fmt: skip
_PLURAL_DETERMINERS: Choice[Tree] = weigh({**_LIST_WEIGHTS, ("DT", "some"): 6.0, _NUMBER: 14.0, **_POSSESSIVE_WEIGHTS})
_LIST_DETERMINERS = weigh(_LIST_WEIGHTS)
_MASS_DETERMINERS: Choice[Tree] = weigh({THE: 5.0, ("DT", "some"): 4.0})
_BEFORE_NUMBERS = frozenset([THE, ("DT", "these"), ("DT", "those")])
VERY = zipf_leaves("RB", "very rather extremely")


def refer(pronoun: int, *, obj: bool = False) -> Nominal:
    """Return a personal pronoun as a noun phrase."""
    leaf = (OBJECT_FORMS if obj else SUBJECT_FORMS)[pronoun]
    return Nominal(("NP", (leaf,)), AGREEMENTS[pronoun], pronoun)


def name_person(w: Writer) -> Nominal:
    """Return a first name."""
    leaf, pronoun = PEOPLE(w.random)
    return Nominal(("NP", (leaf,)), SINGULAR, pronoun)


def name_with_title(w: Writer) -> Nominal:
    """Return a title with a surname."""
    title, pronoun = TITLES(w.random)
    if pronoun is None:
        pronoun = HE if w.random() < 0.5 else SHE
    return Nominal(("NP", (title, SURNAMES(w.random))), SINGULAR, pronoun)


def say_shortest(w: Writer, sense: str, *, obj: bool, lone: bool) -> Nominal:
    """Return a noun phrase of one token: a pronoun, a name or a bare noun.

    Without `lone`, only phrases whose swap with a verb makes a bad sentence: case-marked pronouns, or two tokens.
    """
    random = w.random
    if sense in PERSONS:
        if lone and random() < 0.45:
            return name_person(w)
        return refer((_PRONOUNS if lone and not obj else _MARKED_PRONOUNS)(random), obj=obj)
    if not lone or sense == "body":
        return describe(w, sense, 2)
    if sense in MASS:
        noun = NOUNS[sense](random)
        return Nominal(("NP", (noun.singular,)), SINGULAR, IT)
    x = random()
    if x < 0.1:
        return refer(IT if random() < 0.6 else THEY, obj=obj)
    if x < 0.65:
        return describe(w, sense, 2)
    noun = NOUNS[sense](random)
    return Nominal(("NP", (noun.plural,)), PLURAL, THEY)


def describe(
    w: Writer,
    sense: str,
    room: int,
    *,
    plural: bool | None = None,
    indefinite: bool = False,
    noun: Noun | None = None,
) -> Nominal:
    """Return a flat noun phrase with a common noun: determiner, perhaps a number, an adjective, the noun."""
    random = w.random
    noun = noun or NOUNS[sense](random)
    if plural is None:
        plural = random() < PLURAL_CHANCES[sense] * w.plurality or (sense == "body" and AGREEMENTS[w.owner] == PLURAL)
    determiner = _choose_determiner(w, sense, plural, indefinite)
    qualities: tuple[Tree, ...] = ()
    if room > 3 or (room == 3 and random() < (0.9 if w.style <= FLAT else 0.6)):
        adjective = ADJECTIVES[sense](random)
        qualities = (adjective.leaf,)
        if determiner is _INDEFINITE:
            determiner = adjective.article
            if room > 3 and w.style > FLAT and adjective.gradable:
                very = VERY(random)
                determiner = ("DT", "an" if very[1] == "extremely" else "a")
                qualities = (("ADJP", (very, adjective.leaf)),)
        elif room > 3 and plural and determiner in _BEFORE_NUMBERS and random() < 0.6:
            qualities = (NUMBERS(random), adjective.leaf)
    elif determiner is _INDEFINITE:
        determiner = noun.article
    leaf = noun.plural if plural else noun.singular
    return Nominal(("NP", (determiner, *qualities, leaf)), *remember(w, noun, plural))


def _choose_determiner(w: Writer, sense: str, plural: bool, indefinite: bool) -> Tree:
    random = w.random
    if indefinite:
        return NUMBERS(random) if plural else _INDEFINITE
    if sense == "body" and w.owner != IT:
        return POSSESSIVES[w.owner]
    if sense in _ALWAYS_OWNED:
        return own(w)
    if sense in SPOTS and sense not in PORTABLE:
        return THE
    if sense in MASS:
        return _MASS_DETERMINERS(random)
    determiner = (_PLURAL_DETERMINERS if plural else _SINGULAR_DETERMINERS)(random)
    if determiner is _POSSESSIVE:
        return own(w) if sense in _OWNED else THE
    return NUMBERS(random) if determiner is _NUMBER else determiner


_ALWAYS_OWNED = frozenset(["kin", "parent", "body"])


def own(w: Writer) -> Tree:
    """Return a possessive pronoun, mostly that of the latest subject."""
    return POSSESSIVES[w.owner if w.owner != IT and w.random() < 0.8 else _OTHER_OWNERS(w.random)]


def remember(w: Writer, noun: Noun, plural: bool) -> tuple[int, int]:
    """Return the agreement and the pronoun of a noun."""
    if plural:
        return PLURAL, THEY
    if noun.pronoun is None:
        return SINGULAR, HE if w.random() < 0.5 else SHE
    return SINGULAR, noun.pronoun


def possess(w: Writer, sense: str, room: int) -> Nominal:
    """Return a noun phrase with an owner before it: `Mary 's dog`, `the king 's old dog`."""
    if sense not in _OWNED:
        return describe(w, sense, room)
    random = w.random
    noun = NOUNS[sense](random)
    plural = random() < PLURAL_CHANCES[sense] * w.plurality
    owner = describe(w, "person", 2, plural=False).tree if room > 3 else name_person(w).tree
    owned: tuple[Tree, ...] = (("NP", (*owner[1], ("POS", "'s"))),)
    if room > 4:
        owned += (ADJECTIVES[sense](random).leaf,)
    owned += (noun.plural if plural else noun.singular,)
    return Nominal(("NP", owned), *remember(w, noun, plural))


def list_nouns(w: Writer, sense: str, room: int) -> Nominal:
    """Return a flat list of plural nouns under one determiner: `the cats , dogs and horses`."""
    random = w.random
    count = 2 if room < 7 or random() < 0.7 or len(NOUNS[sense].items) < 4 else 3
    nouns: list[Tree] = []
    while len(nouns) < count:
        leaf = NOUNS[sense](random).plural
        if leaf not in nouns:
            nouns.append(leaf)
    children = [_LIST_DETERMINERS(random)]
    if room > 2 * count:
        children.append(ADJECTIVES[sense](random).leaf)
    for leaf in nouns[:-2]:
        children += (leaf, COMMA)
    children += (nouns[-2], AND, nouns[-1])
    return Nominal(("NP", tuple(children)), PLURAL, THEY)


_TIMES_OF_DAY = zipf_leaves("NN", "morning evening afternoon")
_POINTS = zipf_leaves("NN", "night noon midnight dawn sunset")
_SEASONS = zipf_leaves("NN", "summer winter spring autumn")
_AROUND_EVENTS = zipf_leaves("IN", "after before during")
_AGO: Tree = ("RB", "ago")


def tell_time(w: Writer, room: int) -> tuple[Tree, ...]:
    """Return a phrase of time of two or three tokens that suits the sentence's tense; none if there is one already."""
    if w.timed or room < 2:
        return ()
    w.timed = True
    x = w.random()
    if room == 2 or x < 0.3:
        return (_name_time(w),)
    if x < 0.6:
        return (("PP", (("IN", "in"), ("NP", (THE, _TIMES_OF_DAY(w.random))))),)
    if x < 0.8 and w.dated:
        return (("ADVP", (("NP", (NUMBERS(w.random), UNITS(w.random))), _AGO)),)
    event = NOUNS["occasion"](w.random).singular
    return (("PP", (_AROUND_EVENTS(w.random), ("NP", (THE, event)))),)


def _name_time(w: Writer) -> Tree:
    """Return a phrase of time of two tokens, like `at noon`."""
    x = w.random()
    preposition, words = ("at", _POINTS) if x < (0.4 if w.past else 0.75) else ("in", _SEASONS)
    if w.past and x > 0.5:
        preposition, words = ("on", WEEKDAYS) if x < 0.75 else ("in", MONTHS)
    return ("PP", (("IN", preposition), ("NP", (words(w.random),))))


def count(tree: Tree) -> int:
    """Return the number of tokens of a tree."""
    children = tree[1]
    return 1 if isinstance(children, str) else sum(map(count, children))


def name_city(w: Writer) -> Tree:
    """Return a city's name as a noun phrase."""
    return ("NP", (CITIES(w.random),))
