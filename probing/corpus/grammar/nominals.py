"""Noun phrases of any size: with phrases and clauses after the noun, and coordinated.

Coordinated common nouns are all plural, so that the number of a subject or object is never in doubt. A noun phrase
beside the verb of a relative clause has a determiner or shows its case: `who Mary saw` and `who saw Mary` are both
English, and a swap of two words must not turn the one into the other.
"""

from __future__ import annotations

from collections.abc import Callable

from probing.corpus.grammar.auxiliaries import build_finite
from probing.corpus.grammar.lexicon import ADJECTIVES, AND, MASS, THEY, WHO, Choice, weigh
from probing.corpus.grammar.phrases import (
    DEEP,
    FLAT,
    PLURAL,
    VERY,
    Nominal,
    Writer,
    describe,
    list_nouns,
    name_city,
    name_person,
    name_with_title,
    possess,
    say_shortest,
    tell_time,
)
from probing.corpus.grammar.verbs import BE, GROUPS_BY_OBJECT, GROUPS_BY_SUBJECT, INTRANSITIVES, POSTURE
from probing.corpus.readers import Tree

Place = tuple[Tree, str]
"""Preposition, and the sense of its noun."""


def _places(text: str) -> Choice[Place]:
    """Return the choice that a text like `in room 3, on ground 2` describes: preposition, sense and weight."""
    places: dict[Place, float] = {}
    for entry in text.split(","):
        word, sense, weight = entry.split()
        places[(("IN", word), sense)] = float(weight)
    return weigh(places)


# Only prepositions that go with few senses: after `near` or `behind`, any noun would fit, and no replacement be odd.
PLACES = _places("in room 12, inside room 3, outside room 2, on ground 7, along ground 1, in city 3")
GOALS = _places("through room 4, into room 6, across ground 4, along ground 3, up ground 1, toward room 2")
_THING = "on furniture 5, in container 5, under furniture 2, inside container 2"
MODIFIERS = {
    "person": _places("from city 4, in clothing 5, with animal 2, with container 2"),
    "animal": _places("in room 4, under furniture 2, on ground 3, inside room 1"),
    "food": _places("on furniture 4, in container 5, inside container 1"),
    "tool": _places(_THING),
    "vehicle": _places("on ground 5, outside room 3, from city 2"),
    "room": _places("on ground 4, in city 3, beyond ground 1"),
    "ground": _places("outside room 3, in city 3, beyond ground 1"),
    "furniture": _places("in room 5, inside room 1, from city 1"),
    "container": _places("on furniture 5, under furniture 2, in room 2"),
    "clothing": _places("in container 5, on furniture 3, from city 1"),
    "document": _places("about person 3, about event 4, about animal 3, on furniture 1, in container 1"),
    "plant": _places("in room 4, on ground 3, outside room 1"),
    "music": _places("from city 3, in room 2"),
    "idea": _places("about event 4, of person 4, about person 2"),
    "event": _places("in room 4, in city 4, on ground 1"),
    "treasure": _places(_THING),
    "device": _places("in room 4, on furniture 4"),
    "nature": _places("in city 3, on ground 3"),
    "drink": _places("in container 4, on furniture 2"),
}

_THAT: Tree = ("WHNP", (("WDT", "that"),))
_WHICH: Tree = ("WHNP", (("WDT", "which"),))
_POSTURES = Choice(POSTURE.items[:3], [3.0, 3.0, 1.0])

Extension = Callable[[Writer, str, int], Nominal]
"""Function that makes a long noun phrase of a sense and a room."""


def say_noun_phrase(w: Writer, sense: str, room: int, *, obj: bool = False, lone: bool = True) -> Nominal:
    """Return a noun phrase of a sense; `lone` allows single words without visible case."""
    if sense == "city":
        return Nominal(name_city(w), 0, 2)
    if room <= 1:
        return say_shortest(w, sense, obj=obj, lone=lone)
    x = w.random()
    if room == 2:
        return name_with_title(w) if sense == "person" and x < 0.1 else describe(w, sense, 2)
    if room == 3 or sense == "body":
        return possess(w, sense, 3) if x < 0.14 and sense != "body" else describe(w, sense, 3)
    if room == 4:
        if x < 0.2:
            return possess(w, sense, 4)
        if x < 0.55 and w.style <= FLAT and not w.plain and sense not in MASS:
            return list_nouns(w, sense, 4)
        return describe(w, sense, 4)
    choice = (_PLAIN_EXTENSIONS if w.plain or sense in MASS else _EXTENSIONS)[w.style]
    return choice(w.random)(w, sense, room)


def locate(w: Writer, room: int, places: Choice[Place] = PLACES) -> Tree:
    """Return a prepositional phrase of place."""
    preposition, sense = places(w.random)
    if sense == "city" and room > 3:
        preposition, sense = ("IN", "in"), "room"
    return ("PP", (preposition, say_noun_phrase(w, sense, max(room - 1, 2), obj=True).tree))


def _modify(w: Writer, sense: str, room: int) -> Nominal:
    size = 3 if room > 6 and w.random() < 0.6 else 2
    head = describe(w, sense, size)
    return head._replace(tree=("NP", (head.tree, locate(w, room - size, MODIFIERS[sense]))))


def _coordinate(w: Writer, sense: str, room: int) -> Nominal:
    if sense == "person" and room < 6:
        first, second = name_person(w), name_with_title(w)
    else:
        first = _pluralize(w, sense, room // 2)
        second = _pluralize(w, sense, room - room // 2 - 1)
    return Nominal(("NP", (first.tree, AND, second.tree)), PLURAL, THEY)


def _pluralize(w: Writer, sense: str, room: int) -> Nominal:
    if room > 5:
        head = describe(w, sense, 3, plural=True)
        return Nominal(("NP", (head.tree, locate(w, room - 3, MODIFIERS[sense]))), PLURAL, THEY)
    return describe(w, sense, room, plural=True)


def _relate(w: Writer, sense: str, room: int) -> Nominal:
    size = 3 if room > 8 and w.random() < 0.5 else 2
    head = describe(w, sense, size)
    return head._replace(tree=("NP", (head.tree, relate(w, sense, head.agreement, room - size))))


def relate(w: Writer, sense: str, agreement: int, room: int, *, bare: bool = True) -> Tree:
    """Return a relative clause for a noun of a sense; `bare` allows it without a relative pronoun."""
    random = w.random
    if random() < 0.45 and sense in GROUPS_BY_OBJECT:
        return _relate_object(w, sense, room, bare=bare)
    opener = (WHO if random() < 0.8 else _THAT) if sense == "person" else _THAT if random() < 0.6 else _WHICH
    x = random()
    if x < 0.62 and room > 3 and sense in GROUPS_BY_SUBJECT:
        group = GROUPS_BY_SUBJECT[sense](random)
        noun = say_noun_phrase(w, group.objects(random), room - 2, obj=True, lone=False)
        predicate = build_finite(w, group.verbs(random), (noun.tree,), agreement)
    elif x < 0.8 and room > 3 and sense in ("person", "animal"):
        predicate = build_finite(w, _POSTURES(random), (locate(w, room - 2),), agreement)
    elif x < 0.9 and room > 3 and sense in INTRANSITIVES:
        predicate = build_finite(w, INTRANSITIVES[sense](random), (tell_time(w, room - 2),), agreement)
    else:
        quality = ADJECTIVES[sense](random)
        degree = (VERY(random),) if room > 3 and quality.gradable else ()
        state: Tree = ("ADJP", (*degree, quality.leaf))
        predicate = build_finite(w, BE, (state,), agreement)
    return ("SBAR", (opener, ("S", (predicate,))))


def _relate_object(w: Writer, sense: str, room: int, *, bare: bool) -> Tree:
    random = w.random
    group = GROUPS_BY_OBJECT[sense](random)
    opener = _THAT if sense != "person" or random() < 0.6 else WHO
    tail: tuple[Tree, ...] = ()
    space = room - 2
    if space > 4 and random() < 0.7:
        tail = (locate(w, 3) if random() < 0.5 else tell_time(w, 3),)
        space -= 3
    subject = say_noun_phrase(w, group.subjects[0], 1 if random() < 0.4 else space, lone=False)
    clause: Tree = ("S", (subject.tree, build_finite(w, group.verbs(random), tail, subject.agreement)))
    return ("SBAR", (clause,) if bare and random() < 0.3 else (opener, clause))


def _describe_action(w: Writer, sense: str, room: int) -> Nominal:
    random = w.random
    head = describe(w, sense, 2)
    if sense in ("person", "animal") and random() < 0.4:
        action: Tree = ("VP", (_POSTURES(random).gerund, locate(w, room - 3)))
    elif sense in GROUPS_BY_SUBJECT and random() < 0.6:
        group = GROUPS_BY_SUBJECT[sense](random)
        verb = group.verbs(random)
        if verb.stative:
            return _modify(w, sense, room)
        action = ("VP", (verb.gerund, say_noun_phrase(w, group.objects(random), room - 3, obj=True, lone=False).tree))
    elif sense in GROUPS_BY_OBJECT:
        group = GROUPS_BY_OBJECT[sense](random)
        agent = say_noun_phrase(w, group.subjects[0], room - 4, obj=True)
        action = ("VP", (group.verbs(random).participle, ("PP", (("IN", "by"), agent.tree))))
    else:
        return _modify(w, sense, room)
    return head._replace(tree=("NP", (head.tree, action)))


_EXTENSIONS: tuple[Choice[Extension], ...] = (
    weigh({list_nouns: 9.0, _coordinate: 1.0}),
    weigh({list_nouns: 5.0, _coordinate: 4.0, _modify: 2.0}),
    weigh({list_nouns: 1.0, _coordinate: 2.0, _modify: 5.0, _relate: 3.0, _describe_action: 1.0}),
    weigh({_modify: 3.0, _relate: 6.0, _describe_action: 2.0}),
    weigh({_modify: 2.0, _relate: 6.0, _describe_action: 2.0}),
)
_PLAIN_EXTENSIONS: tuple[Choice[Extension], ...] = (
    weigh({_modify: 1.0}),
    weigh({_modify: 1.0}),
    weigh({_modify: 6.0, _relate: 3.0, _describe_action: 1.0}),
    *_EXTENSIONS[DEEP:],
)
