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
    SPOTS,
    THE,
    THEY,
    WHO,
    Choice,
    weigh,
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
from probing.corpus.grammar.verbs import BE, GROUPS_BY_OBJECT, GROUPS_BY_SUBJECT, INTRANSITIVES, POSTURE, VerbGroup
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
PLACES = _places("home 3, garden 3, town 3, shop 2, wood 1, shore 2, in city 3")
"""Places for anyone."""
GOALS = _places(
    "into home 3, into wood 2, through garden 2, through town 2, across field 2, toward shore 1, into shop 2"
)
MODIFIERS = (
    dict.fromkeys(sorted(PERSONS), _PERSON)
    | {
        sense: _places(text)
        for sense, text in {
            "pet": "home 2, garden 2",
            "cattle": "barn 4",
            "mount": "barn 4",
            "beast": "wood 3, zoo 2",
            "wildlife": "wood 2, zoo 3",
            "insect": "garden 3",
            "vegetable": "basket 3, field 1",
            "fruit": "basket 3, garden 1",
            "pastry": "basket 2, top 2",
            "dish": "top 2, basket 1",
            "clothing": "luggage 4",
            "jewel": "luggage 2, shop 2",
            "art": "gallery 3, of royal 3",
            "statue": "gallery 2, of royal 2",
            "letter": "from kin 3, from city 2",
            "book": "about battle 2, about royal 2, about beast 2, about tree 1",
            "paper": "top 2, luggage 1",
            "car": "road 3, shed 1",
            "boat": "port 3, sea 1",
            "aircraft": "airfield 3",
            "tool": "shed 3",
            "implement": "shed 3",
            "vessel": "top 3",
            "container": "home 2",
            "furniture": "home 2, bureau 1",
            "part": "of building 3, of car 1",
            "opening": "of building 3",
            "device": "study 2, bureau 2",
            "plant": "garden 3",
            "tree": "wood 2, garden 2",
            "instrument": "from city 2, stage 1",
            "music": "about kin 2, about battle 1",
            "problem": "study 2",
            "plan": "of clerk 2, of royal 1",
            "tale": "about royal 2, about kin 2, about crook 1",
            "error": "of clerk 2, of medic 1",
            "contest": "arena 2, in city 2",
            "battle": "front 2, for stronghold 1",
            "party": "town 2, in city 1, court 1",
            "show": "stage 3, in city 1",
            "lecture": "study 3, about battle 1, about insect 1",
            "illness": "of patient 2",
            "debt": "of farmer 1, of kin 1",
            "pay": "of clerk 2, of officer 1",
            "peak": "near city 1",
            "crossing": "near city 1",
            "building": "town 2, in city 2",
            "room": "of building 2",
            "storm": "shore 2, sea 1",
            "body": "of patient 2",
            "stronghold": "shore 1",
            "drink": "cup 3",
            "money": "luggage 2",
            "fabric": "shop 2",
            "crop": "field 2",
        }.items()
    }
    | dict.fromkeys(SPOTS, _places("of kin 1, of clerk 1"))
)
_THAT: Tree = ("WHNP", (("WDT", "that"),))
_WHICH: Tree = ("WHNP", (("WDT", "which"),))
_POSTURES = Choice(POSTURE.items[:3], [3.0, 3.0, 1.0])

_UNLISTED = MASS | {"kin", "parent", "body", "occasion"}
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


def locate(w: Writer, room: int, places: Choice[Place] | Choice[str] = PLACES) -> Tree:
    """Return a prepositional phrase of place; `places` are senses, with or without prepositions."""
    place = places(w.random)
    preposition, sense = (None, place) if isinstance(place, str) else place
    room = max(room - 1, 2)
    if sense not in SPOTS:
        return ("PP", (preposition or ("IN", "near"), say_noun_phrase(w, sense, room, obj=True).tree))
    own, noun = SPOTS[sense](w.random)
    phrase = describe(w, sense, min(room, 3), noun=noun).tree
    if room > 4 and sense not in _INDOORS:
        phrase = ("NP", (phrase, ("PP", (_NEAR(w.random), define(w, "building", min(room - 3, 3))))))
    return ("PP", (preposition or own, phrase))


def define(w: Writer, sense: str, room: int) -> Tree:
    """Return a singular noun phrase with `the`."""
    quality = (ADJECTIVES[sense](w.random).leaf,) if room > 2 else ()
    return ("NP", (THE, *quality, NOUNS[sense](w.random).singular))


_INDOORS = frozenset(["top", "luggage", "basket", "cup", "front"])
_NEAR = zipf_leaves("IN", "near behind beside")


def _modify(w: Writer, sense: str, room: int) -> Nominal:
    size = 3 if room > 6 and w.random() < 0.6 else 2
    head = describe(w, sense, size)
    if sense in PERSONS and head.agreement == SINGULAR and w.random() < 0.5:
        dress = describe(w, "clothing", min(max(room - size - 1, 3), 3), plural=False, indefinite=True).tree
        return head._replace(tree=("NP", (head.tree, ("PP", (("IN", "in"), dress)))))
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
    opener = (WHO if random() < 0.8 else _THAT) if sense in PERSONS else _THAT if random() < 0.6 else _WHICH
    x = random()
    if x < 0.62 and room > 3 and sense in GROUPS_BY_SUBJECT:
        group = GROUPS_BY_SUBJECT[sense](random)
        noun = say_noun_phrase(w, group.objects(random), room - 2, obj=True, lone=False)
        predicate = build_finite(w, group.verbs(random), (noun.tree,), agreement)
    elif x < 0.8 and room > 3 and sense in PERSONS:
        predicate = build_finite(w, _POSTURES(random), (locate(w, room - 2),), agreement)
    elif x < 0.9 and room > 3 and sense in INTRANSITIVES:
        predicate = build_finite(w, INTRANSITIVES[sense].verbs(random), (tell_time(w, room - 2),), agreement)
    else:
        quality = ADJECTIVES[sense](random)
        degree = (VERY(random),) if room > 3 and quality.gradable else ()
        state: Tree = ("ADJP", (*degree, quality.leaf))
        predicate = build_finite(w, BE, (state,), agreement)
    return ("SBAR", (opener, ("S", (predicate,))))


def choose_agent(w: Writer, group: VerbGroup) -> str:
    """Return the sense of a subject for verbs of a group: a person if persons do it, of the first trade or any."""
    subjects = group.subjects
    return subjects[0] if len(subjects) == 1 or w.random() < 0.6 else subjects[int(w.random() * len(subjects))]


def _relate_object(w: Writer, sense: str, room: int, *, bare: bool) -> Tree:
    random = w.random
    group = GROUPS_BY_OBJECT[sense](random)
    opener = _THAT if sense != "person" or random() < 0.6 else WHO
    tail: tuple[Tree, ...] = ()
    space = room - 2
    if space > 4 and random() < 0.7:
        tail = (locate(w, 3, group.places) if group.places and random() < 0.5 else tell_time(w, 3),)
        space -= 3
    subject = say_noun_phrase(w, choose_agent(w, group), 1 if random() < 0.4 else space, lone=False)
    clause: Tree = ("S", (subject.tree, build_finite(w, group.verbs(random), tail, subject.agreement)))
    return ("SBAR", (clause,) if bare and room < 8 and random() < 0.4 else (opener, clause))


def _describe_action(w: Writer, sense: str, room: int) -> Nominal:
    random = w.random
    head = describe(w, sense, 2)
    if sense in PERSONS and random() < 0.4:
        action: Tree = ("VP", (_POSTURES(random).gerund, locate(w, room - 3)))
    elif sense in GROUPS_BY_SUBJECT and random() < 0.6:
        group = GROUPS_BY_SUBJECT[sense](random)
        verb = group.verbs(random)
        if verb.stative:
            return _modify(w, sense, room)
        action = ("VP", (verb.gerund, say_noun_phrase(w, group.objects(random), room - 3, obj=True, lone=False).tree))
    elif sense in GROUPS_BY_OBJECT:
        group = GROUPS_BY_OBJECT[sense](random)
        agent = say_noun_phrase(w, choose_agent(w, group), room - 4, obj=True)
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
