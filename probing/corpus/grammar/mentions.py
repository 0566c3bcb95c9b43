"""Noun phrases for first and second mentions, like `a ring` and then `the ring`."""

from __future__ import annotations

from probing.corpus.grammar.lexicon import ADJECTIVES, MASS, NOUNS, NUMBERS, PLURAL_CHANCES, THE, Noun
from probing.corpus.grammar.nominals import extend
from probing.corpus.grammar.phrases import Nominal, Writer, name_person, remember
from probing.corpus.readers import Tree


def define(w: Writer, sense: str, room: int, noun: Noun | None = None, *, plural: bool | None = None) -> Nominal:
    """Return a noun phrase with `the`, sometimes with an adjective or a place."""
    noun = noun or NOUNS[sense](w.random)
    if plural is None:
        plural = sense not in MASS and w.random() < 0.48 * w.plurality
    leaf = noun.plural if plural else noun.singular
    adjective = (ADJECTIVES[sense](w.random).leaf,) if room > 2 and w.random() < 0.7 else ()
    phrase: Tree = ("NP", (THE, *adjective, leaf))
    return Nominal(extend(w, phrase, sense, room - 3) if room > 6 else phrase, *remember(w, noun, plural))


def name_two(w: Writer) -> tuple[Nominal, Nominal]:
    """Return two different first names."""
    first, second = name_person(w), name_person(w)
    while first.tree == second.tree:
        second = name_person(w)
    return first, second


def define_two(w: Writer, first: int, second: int) -> tuple[Nominal, Nominal]:
    """Return noun phrases for two different persons or groups of persons; `first` and `second` are their rooms."""
    nouns = NOUNS["person"]
    one, other = nouns(w.random), nouns(w.random)
    while one is other:
        other = nouns(w.random)
    plural = w.random() < 0.48 * w.plurality
    return define(w, "person", first, one, plural=plural), define(w, "person", second, other, plural=plural)


def introduce(w: Writer, sense: str, room: int) -> Nominal:
    """Return a first mention, like `a ring` or `two golden rings`."""
    noun = NOUNS[sense](w.random)
    plural = w.random() < PLURAL_CHANCES[sense] * w.plurality
    adjective = ADJECTIVES[sense](w.random) if room > 2 and w.random() < 0.5 else None
    determiner = NUMBERS(w.random) if plural else adjective.article if adjective else noun.article
    if sense in MASS:
        determiner = ("DT", "some")
    children = (determiner, *((adjective.leaf,) if adjective else ()), noun.plural if plural else noun.singular)
    return Nominal(("NP", children), *remember(w, noun, plural))
