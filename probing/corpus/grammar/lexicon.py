"""The words of the embedded grammar except the verbs, as weighted choices: nouns and adjectives by sense, names."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar

from probing.corpus.grammar import nouns
from probing.corpus.grammar.adjectives import ABSOLUTE, SHORT
from probing.corpus.grammar.adjectives import ADJECTIVES as ADJECTIVE_LISTS
from probing.corpus.grammar.inflection import choose_article, inflect_comparative, inflect_plural
from probing.corpus.readers import Tree

T = TypeVar("T")
Random = Callable[[], float]
"""Function that returns a random number from 0 to 1."""

HE, SHE, IT, THEY, ME, WE, YOU = range(7)
"""Pronouns by which a noun phrase is mentioned again."""

COMMA: Tree = (",", ",")
STOP: Tree = (".", ".")
AND: Tree = ("CC", "and")
NOT: Tree = ("RB", "not")
THE: Tree = ("DT", "the")
TO: Tree = ("TO", "to")
WHAT: Tree = ("WHNP", (("WP", "what"),))
WHEN: Tree = ("WHADVP", (("WRB", "when"),))
WHO: Tree = ("WHNP", (("WP", "who"),))


class Choice(Generic[T]):
    """A weighted choice among items, precomputed so that a draw is one bisection."""

    __slots__ = ("_bounds", "items")

    def __init__(self, items: Iterable[T], weights: Iterable[float]) -> None:
        self.items = tuple(items)
        *bounds, total = accumulate(weights)
        self._bounds = [bound / total for bound in bounds]

    def __call__(self, random: Random) -> T:
        return self.items[bisect(self._bounds, random())]


def zipf(items: Sequence[T], shift: float = 4.0) -> Choice[T]:
    """Return a choice in which the item of rank r has weight 1 / (r + shift)."""
    return Choice(items, [1.0 / (rank + shift) for rank in range(1, len(items) + 1)])


def weigh(weights: Mapping[T, float]) -> Choice[T]:
    """Return a choice among a mapping's keys by its values."""
    return Choice(weights, weights.values())


def list_leaves(tag: str, words: str) -> list[Tree]:
    """Return a leaf for each word."""
    return [(tag, word) for word in words.split()]


def zipf_leaves(tag: str, words: str, *, label: str = "") -> Choice[Tree]:
    """Return a Zipf-like choice among words, as leaves or, with a label, as phrases of one leaf."""
    leaves = list_leaves(tag, words)
    return zipf([(label, (leaf,)) for leaf in leaves] if label else leaves)


class Noun(NamedTuple):
    """A common noun: its leaves, the article before it, and its pronoun."""

    singular: Tree
    plural: Tree
    article: Tree
    pronoun: int | None
    """Pronoun HE, SHE or IT; None for a person of either sex."""


class Adjective(NamedTuple):
    """An adjective: its leaf, the article before it, and its one-word comparative."""

    leaf: Tree
    article: Tree
    comparative: Tree
    """Comparative in one word; an empty leaf if the adjective has none."""
    gradable: bool
    """Whether the adjective has degrees, as in `very old`."""


PERSONS = frozenset(nouns.PEOPLE)
"""Senses of persons."""
ANYONE = ("person", "kin", "parent")
"""Senses of persons without a trade."""
MASS = frozenset(nouns.MASS)
"""Senses of nouns without a plural."""
_TITLES = {"Mr.": HE, "Mrs.": SHE, "Doctor": None, "Miss": SHE, "Professor": None}
_RARELY_PLURAL = [
    "parent",
    "body",
    "storm",
    "battle",
    "debt",
    "pay",
    "building",
    "party",
    "instrument",
    "occasion",
    "structure",
]


def _noun(sense: str, entry: str) -> Noun:
    word, _, sex = entry.partition("/")
    pronoun = {"m": HE, "f": SHE, "": None if sense in PERSONS else IT}[sex]
    return Noun(("NN", word), ("NNS", inflect_plural(word)), ("DT", choose_article(word)), pronoun)


def _adjective(word: str) -> Adjective:
    comparative = inflect_comparative(word) if word in SHORT.split() else ""
    gradable = word not in ABSOLUTE.split()
    return Adjective(("JJ", word), ("DT", choose_article(word)), ("JJR", comparative), gradable)


def _spot(entry: str) -> tuple[Tree, Noun]:
    preposition, _, word = entry.partition("/")
    return ("IN", preposition), _noun("", word)


SPOTS = {sense: zipf([_spot(entry) for entry in words.split()]) for sense, words in nouns.SPOTS.items()}
"""Sense of a place -> prepositions and nouns."""
PORTABLE = frozenset(["top", "luggage", "basket", "cup"])
"""Senses of places that are things themselves."""
NOUNS = {
    sense: zipf([_noun(sense, entry) for entry in words.split()], shift=12.0)
    for sense, words in (nouns.PEOPLE | nouns.THINGS | nouns.MASS).items()
} | {sense: zipf([noun for _, noun in choice.items]) for sense, choice in SPOTS.items()}
PLURAL_CHANCES = (
    dict.fromkeys(NOUNS, 0.5)
    | dict.fromkeys(SPOTS.keys() - PORTABLE, 0.0)
    | dict.fromkeys(_RARELY_PLURAL, 0.25)
    | dict.fromkeys(["car", "boat", "aircraft", "contest", "stronghold"], 0.15)
    | dict.fromkeys([*MASS, "parent"], 0.0)
)
ADJECTIVES = {sense: zipf([_adjective(word) for word in words.split()]) for sense, words in ADJECTIVE_LISTS.items()}
COMPARABLE = {
    sense: zipf(comparable)
    for sense, choice in ADJECTIVES.items()
    if (comparable := [adjective for adjective in choice.items if adjective.comparative[1]])
}
"""Sense -> adjectives with a comparative, for the senses that have any."""

PEOPLE: Choice[tuple[Tree, int]] = zipf(
    [
        (("NNP", name), pronoun)
        for names in zip(nouns.MEN.split(), nouns.WOMEN.split(), strict=True)
        for name, pronoun in zip(names, (HE, SHE), strict=True)
    ],
    shift=8.0,
)
SURNAMES = zipf(list_leaves("NNP", nouns.SURNAMES), shift=8.0)
TITLES: Choice[tuple[Tree, int | None]] = zipf([(("NNP", title), sex) for title, sex in _TITLES.items()])
CITIES = zipf(list_leaves("NNP", nouns.CITIES), shift=8.0)
WEEKDAYS = zipf(list_leaves("NNP", nouns.WEEKDAYS))
MONTHS = zipf(list_leaves("NNP", nouns.MONTHS))
NUMBERS = zipf(list_leaves("CD", nouns.NUMBERS), shift=1.0)
UNITS = zipf_leaves("NNS", "days weeks years months hours minutes")
"""Units of time."""

NOUN_LEMMAS = {
    leaf[1]: noun.singular[1]
    for choice in NOUNS.values()
    for noun in choice.items
    for leaf in (noun.singular, noun.plural)
} | {
    leaf[1]: adjective.leaf[1]
    for choice in ADJECTIVES.values()
    for adjective in choice.items
    for leaf in (adjective.leaf, adjective.comparative)
    if leaf[1]
}
NOUN_LEMMAS |= {word: word for word in ("morning", "evening", "afternoon", "noon", "night", "ago")}
"""Form of a noun, adjective or word of time -> its lemma."""
