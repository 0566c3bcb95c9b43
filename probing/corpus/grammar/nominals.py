"""Noun phrases of any size: with phrases and clauses after the noun, and coordinated.

Coordinated common nouns are all plural, so that the number of a subject or object is never in doubt. A noun phrase
beside the verb of a relative clause has a determiner or shows its case: `who Mary saw` and `who saw Mary` are both
English, and a swap of two words must not turn the one into the other.
"""

from __future__ import annotations

from collections.abc import Callable

from probing.corpus.grammar.auxiliaries import build_finite
from probing.corpus.grammar.lexicon import (
    ADJECTIVES,
    AND,
    MASS,
    NOUNS,
    PERSONS,
    PORTABLE,
    SPOTS,
    THE,
    THEY,
    TO,
    WHO,
    Choice,
    Noun,
    weigh,
    zipf,
    zipf_leaves,
)
from probing.corpus.grammar.phrases import (
    DEEP,
    FLAT,
    PLURAL,
    SINGULAR,
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
from probing.corpus.grammar.verbs import BE, POSTURE, VerbGroup
from probing.corpus.readers import Tree

Place = tuple[Tree | None, str]
"""Preposition, or None if the noun has its own, and the sense of the noun."""


def _places(text: str) -> Choice[Place]:
    """Return the choice that a text like `barn 3, about battle 2` describes: a sense with its weight.

    Before the sense stands its preposition, unless the nouns of the sense have their own.
    """
    places: dict[Place, float] = {}
    for entry in text.split(","):
        *word, sense, weight = entry.split()
        places[("IN", word[0]) if word else None, sense] = float(weight)
    return weigh(places)


_PERSON = _places("from city 1")
MODIFIERS = dict.fromkeys(sorted(PERSONS), _PERSON) | {
    sense: _places(text)
    for sense, text in {
        "pet": "from city 1",
        "cattle": "barn 4",
        "mount": "barn 4",
        "beast": "wood 3, zoo 2",
        "wildlife": "wood 2, zoo 3",
        "insect": "garden 3",
        "vegetable": "from city 1",
        "fruit": "from city 1",
        "pastry": "basket 2, top 2",
        "dish": "top 2, basket 1",
        "clothing": "from city 1",
        "jewel": "of royal 1",
        "art": "gallery 2, of royal 3",
        "statue": "gallery 2, of royal 2",
        "letter": "from kin 3, from city 2",
        "book": "about battle 2, about royal 2, about beast 2, about tree 1",
        "paper": "top 2, luggage 1",
        "car": "road 3",
        "boat": "from city 1",
        "aircraft": "airfield 3",
        "tool": "from city 1",
        "implement": "from city 1",
        "vessel": "top 3",
        "container": "in room 2",
        "furniture": "from city 1",
        "part": "of car 1",
        "structure": "of building 1",
        "equipment": "barn 1",
        "opening": "of building 3",
        "device": "study 2",
        "plant": "garden 3",
        "tree": "wood 2",
        "instrument": "from city 2",
        "music": "about kin 2, about battle 1",
        "problem": "of scholar 2",
        "plan": "of clerk 2",
        "tale": "about royal 2, about kin 2, about crook 1",
        "error": "of crook 2",
        "contest": "in city 2",
        "battle": "for stronghold 1",
        "party": "in city 1",
        "show": "in city 1",
        "lecture": "about battle 1, about insect 1, about tree 1",
        "illness": "of patient 2",
        "debt": "of clerk 1",
        "pay": "of clerk 2",
        "peak": "near city 1",
        "crossing": "near city 1",
        "building": "in city 2",
        "room": "of building 2",
        "storm": "shore 2",
        "body": "of patient 2",
        "stronghold": "near city 1",
        "drink": "cup 3",
        "money": "luggage 2",
        "fabric": "from city 2",
        "crop": "field 2",
    }.items()
}
_THAT: Tree = ("WHNP", (("WDT", "that"),))
_WHICH: Tree = ("WHNP", (("WDT", "which"),))
_POSTURES = Choice(POSTURE.items[:3], [3.0, 3.0, 1.0])

_UNLISTED = MASS | {"kin", "parent", "body", "car", "boat", "aircraft", "contest", "battle"}
"""Senses without lists."""
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
    if room == 3 or sense == "body" or sense in SPOTS:
        return possess(w, sense, 3) if x < 0.14 and sense != "body" else describe(w, sense, min(room, 3))
    if room == 4:
        if x < 0.2:
            return possess(w, sense, 4)
        if x < 0.55 and w.style <= FLAT and not w.plain and sense not in _UNLISTED:
            return list_nouns(w, sense, 4)
        return describe(w, sense, 4)
    choice = (_PLAIN_EXTENSIONS if w.plain or sense in _UNLISTED else _EXTENSIONS)[w.style]
    return choice(w.random)(w, sense, room)


def locate(w: Writer, room: int, places: Choice[Place] | Choice[str]) -> Tree:
    """Return a prepositional phrase of place; `places` are senses, with or without prepositions."""
    place = places(w.random)
    preposition, sense = (None, place) if isinstance(place, str) else place
    if sense not in SPOTS:
        return ("PP", (preposition or ("IN", "near"), say_noun_phrase(w, sense, max(room - 1, 2), obj=True).tree))
    w.placed |= sense not in PORTABLE
    own, noun = SPOTS[sense](w.random)
    return ("PP", (preposition or own, _name_spot(w, sense, noun, room - 1)))


def _name_spot(w: Writer, sense: str, noun: Noun, room: int) -> Tree:
    quality = (ADJECTIVES[sense](w.random).leaf,) if room > 2 and w.random() < 0.5 else ()
    spot: Tree = ("NP", (THE, *quality, noun.singular))
    if room > 4 and sense in _OUTDOORS and w.style > FLAT:
        landmark = NOUNS["building"](w.random)
        spot = ("NP", (spot, ("PP", (_NEAR(w.random), ("NP", (THE, landmark.singular))))))
    return spot


def approach(w: Writer, room: int) -> Tree:
    """Return a prepositional phrase of direction, like `to the old garden`."""
    w.placed = True
    sense = w.scene.places(w.random)
    _, noun = SPOTS[sense](w.random)
    return ("PP", (TO if w.random() < 0.8 else _TOWARD, _name_spot(w, sense, noun, room - 1)))


_TOWARD: Tree = ("IN", "toward")
_OUTDOORS = frozenset(["garden", "field", "town", "shop", "shore", "barn", "road"])
_NEAR = zipf_leaves("IN", "near behind beside")


def _modify(w: Writer, sense: str, room: int) -> Nominal:
    size = 3 if room > 6 and w.random() < 0.6 else 2
    head = describe(w, sense, size)
    if sense in PERSONS - _UNMODIFIED and head.agreement == SINGULAR and w.random() < 0.5:
        dress = describe(w, "clothing", 3, plural=False, indefinite=True, noun=_OUTER_CLOTHING(w.random)).tree
        return head._replace(tree=("NP", (head.tree, ("PP", (("IN", "in"), dress)))))
    return head._replace(tree=extend(w, head.tree, sense, room - size))


_OUTER_CLOTHING = zipf([
    noun for noun in NOUNS["clothing"].items if noun.singular[1] in ("coat", "hat", "jacket", "sweater", "cape", "vest")
])  # fmt: skip


def extend(w: Writer, phrase: Tree, sense: str, room: int) -> Tree:
    """Return a noun phrase with its typical modifier after it, unless that is a place and there is one already."""
    if (
        sense in _UNMODIFIED
        or _is_owned(phrase)
        or (w.placed and any(_is_place(place) for _, place in MODIFIERS[sense].items))
    ):
        return phrase
    return ("NP", (phrase, locate(w, min(room, 4), MODIFIERS[sense])))


def _is_owned(phrase: Tree) -> bool:
    """Return whether a noun phrase begins with a possessive, so that nothing after it need say which one is meant."""
    return phrase[1][0][0] == "PRP$"


def _is_place(sense: str) -> bool:
    return sense in SPOTS and sense not in PORTABLE


_UNMODIFIED = frozenset(["kin", "parent", "body", "room", *SPOTS])


def _coordinate(w: Writer, sense: str, room: int) -> Nominal:
    if sense == "person" and room < 6:
        first, second = name_person(w), name_with_title(w)
    else:
        first = describe(w, sense, min(room // 2, 4), plural=True)
        second = describe(w, sense, min(room - room // 2 - 1, 4), plural=True)
    return Nominal(("NP", (first.tree, AND, second.tree)), PLURAL, THEY)


def _relate(w: Writer, sense: str, room: int) -> Nominal:
    size = 3 if room > 8 and w.random() < 0.5 else 2
    head = describe(w, sense, size)
    if _is_owned(head.tree):
        return head
    return head._replace(tree=("NP", (head.tree, relate(w, sense, head.agreement, room - size))))


def relate(w: Writer, sense: str, agreement: int, room: int, *, bare: bool = True) -> Tree:
    """Return a relative clause for a noun of a sense; `bare` allows it without a relative pronoun."""
    random = w.random
    x = random()
    acts = sense in w.scene.by_subject and room > 3
    if sense in w.scene.by_object and (x < 0.45 or not acts):
        group = w.scene.by_object[sense](random)
        if PERSONS.issuperset(group.subjects):
            return _relate_object(w, sense, group, room, bare=bare)
    opener = (WHO if random() < 0.8 else _THAT) if sense in PERSONS else _THAT if random() < 0.6 else _WHICH
    if acts and (x < 0.85 or w.placed):
        group = w.scene.by_subject[sense](random)
        noun = say_noun_phrase(w, group.objects(random), min(room - 2, 4), obj=True, lone=False)
        predicate = build_finite(w, group.verbs(random), (noun.tree,), agreement)
    elif sense in PERSONS and room > 3 and not w.placed:
        predicate = build_finite(w, _POSTURES(random), (locate(w, room - 2, w.scene.places),), agreement)
    else:
        w.timed = w.placed = True
        quality = ADJECTIVES[sense](random)
        degree = (VERY(random),) if quality.gradable else ()
        predicate = build_finite(w, BE, (("ADJP", (*degree, quality.leaf)),), agreement)
    return ("SBAR", (opener, ("S", (predicate,))))


def choose_agent(w: Writer, group: VerbGroup) -> str:
    """Return the sense of a subject for verbs of a group: a person if persons do it, of the first trade or any."""
    subjects = group.subjects
    return subjects[0] if len(subjects) == 1 or w.random() < 0.6 else subjects[int(w.random() * len(subjects))]


def _relate_object(w: Writer, sense: str, group: VerbGroup, room: int, *, bare: bool) -> Tree:
    random = w.random
    opener = _THAT if sense != "person" or random() < 0.6 else WHO
    tail: tuple[Tree, ...] = ()
    space = room - 2
    if space > 4 and random() < 0.7:
        tail = (locate(w, 3, group.places),) if group.places and not w.placed and random() < 0.5 else tell_time(w, 3)
        space -= 3
    subject = say_noun_phrase(w, choose_agent(w, group), 1 if random() < 0.4 else min(space, 3), lone=False)
    clause: Tree = ("S", (subject.tree, build_finite(w, group.verbs(random), tail, subject.agreement)))
    return ("SBAR", (clause,) if bare and sense not in PERSONS and room < 8 and random() < 0.3 else (opener, clause))


def _describe_action(w: Writer, sense: str, room: int) -> Nominal:
    random = w.random
    head = describe(w, sense, 2)
    if _is_owned(head.tree):
        return head
    if sense in PERSONS and not w.placed and random() < 0.4:
        action: Tree = ("VP", (_POSTURES(random).gerund, locate(w, room - 3, w.scene.places)))
    elif sense in PERSONS and sense in w.scene.by_subject and random() < 0.6:
        group = w.scene.by_subject[sense](random)
        noun = say_noun_phrase(w, group.objects(random), min(room - 3, 4), obj=True, lone=False)
        action = ("VP", (group.verbs(random).gerund, noun.tree))
    elif sense in w.scene.by_object and sense not in PERSONS:
        group = w.scene.by_object[sense](random)
        agent = say_noun_phrase(w, choose_agent(w, group), min(max(room - 4, 2), 4), obj=True)
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
