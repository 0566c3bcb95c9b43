"""Clauses, and the predicates and adjuncts that contain clauses themselves."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from probing.corpus.grammar.auxiliaries import (
    COSTS,
    build_finite,
    build_gerund,
    build_infinitive,
    choose_pattern,
    conjugate,
    contract,
)
from probing.corpus.grammar.lexicon import ANYONE, PERSONS, WHEN, Choice, weigh, zipf_leaves
from probing.corpus.grammar.nominals import say_noun_phrase
from probing.corpus.grammar.phrases import CHAIN, DEEP, LISTS, Nominal, Writer, refer
from probing.corpus.grammar.predicates import (
    Kind,
    Predicate,
    act,
    act_on,
    act_toward,
    act_with_particle,
    be_described,
    be_somewhere,
    exist,
    give,
    go,
    stay,
    undergo,
)
from probing.corpus.grammar.verbs import (
    BE,
    GROUPS_BY_OBJECT,
    GROUPS_BY_SUBJECT,
    HABITS,
    INTRANSITIVES,
    ORDERS,
    PERCEPTION,
    PREPOSITIONALS,
    STATES,
    TELLING,
    WISHES,
    inflect_all,
    zipf_verbs,
)
from probing.corpus.readers import Tree

_EFFORTS = zipf_verbs("try agree refuse plan decide")
"""Verbs that may follow a verb of wishing: `hoped to try to sleep`, but not `hoped to want to sleep`."""
_IDLE_WISHES = frozenset(inflect_all("want* need* hope promise"))
_ACTIVITIES: Choice[Kind] = weigh({act_on: 4.0, go: 2.0})
_THAT: Tree = ("IN", "that")
_EAGER = zipf_leaves("JJ", "happy ready eager glad afraid proud willing")
_CERTAIN = zipf_leaves("JJ", "sure certain afraid glad aware")

_LINKS = zipf_leaves("IN", "while before after until although")

SUBJECTS = weigh(
    {"person": 34.0, "kin": 4.0, "parent": 3.0}
    | dict.fromkeys(sorted(PERSONS - {"person", "kin", "parent"}), 3.0)
    | {"pet": 3.0, "wildlife": 2.0, "beast": 2.0, "insect": 1.5, "cattle": 1.0, "mount": 1.0}
    | {"car": 1.5, "storm": 1.5, "plan": 1.5, "boat": 1.0, "tale": 1.0, "show": 1.0, "contest": 1.0, "party": 1.0}
    | dict.fromkeys(
        ["device", "plant", "tree", "clothing", "jewel", "part", "opening", "illness", "battle", "aircraft"], 0.5
    )
    | dict.fromkeys(["error", "lecture", "fruit", "dish", "building", "body", "drink", "pastry", "vegetable"], 0.5)
)


class Clause(NamedTuple):
    """A finite clause: its subject and its predicate."""

    subject: Nominal
    predicate: Tree

    @property
    def tree(self) -> Tree:
        """The clause as one tree."""
        return ("S", (self.subject.tree, self.predicate))


def state(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate like `said that the king slept`."""
    return STATES(w.random), (_say_that(w, room - 1),)


_LISTENERS = weigh({"person": 6.0, "kin": 3.0, "parent": 1.0})


def tell(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate like `told her that the king slept`."""
    listener = say_noun_phrase(w, _LISTENERS(w.random), 1 if room < 7 or w.style >= DEEP else 2, obj=True)
    return TELLING(w.random), (listener.tree, _say_that(w, room - 2, always=True))


def _say_that(w: Writer, room: int, *, always: bool = False) -> Tree:
    if always or w.random() < 0.6:
        return ("SBAR", (_THAT, say_clause(w, room - 1).tree))
    return ("SBAR", (say_clause(w, room).tree,))


def wish(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate like `wanted to sleep`."""
    verb, rest = choose_predicate(w, sense, room - 2)
    if verb in _IDLE_WISHES and rest[0][0] == "S":
        verb = _EFFORTS(w.random)
    return WISHES(w.random), (build_infinitive(verb, rest),)


def command(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate like `asked her to sleep`."""
    size = 1 if room < 8 or w.style >= DEEP else 2
    person = say_noun_phrase(w, _LISTENERS(w.random), size, obj=True)
    return ORDERS(w.random), (person.tree, build_infinitive(*choose_predicate(w, "person", room - size - 2)))


def keep_doing(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate like `started singing`."""
    verb, rest = _ACTIVITIES(w.random)(w, sense, max(room - 1, 2))
    if verb.stative:
        return WISHES(w.random), (build_infinitive(verb, rest),)
    return HABITS(w.random), (build_gerund(verb, rest),)


SEEN = weigh({"person": 4.0, "crook": 1.0, "pet": 1.0, "soldier": 1.0, "farmer": 1.0})


def perceive(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate like `saw the dog sleeping in the garden`."""
    seen = SEEN(w.random)
    size = 1 if room < 6 else 2
    subject = say_noun_phrase(w, seen, size, obj=True, lone=False)
    verb, rest = (act_on if w.random() < 0.5 else go)(w, seen, room - 1 - size)
    if verb.stative:
        verb, rest = go(w, seen, room - 1 - size)
    return PERCEPTION(w.random), (("S", (subject.tree, ("VP", (verb.gerund, *rest)))),)


def be_eager(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate like `was happy to see the king` or `was sure that the king slept`."""
    if w.random() < 0.5:
        inner = build_infinitive(*choose_predicate(w, sense, room - 3))
        return BE, (("ADJP", (_EAGER(w.random), inner)),)
    return BE, (("ADJP", (_CERTAIN(w.random), _say_that(w, room - 2))),)


Weights = tuple[float, float, float, float, float]
Kinds = dict[Kind, tuple[int, Weights]]

# Kind of predicate -> the smallest room that it needs, and its weight in each style from LISTS to CHAIN.
_PERSON_KINDS: Kinds = {
    act: (1, (1.0, 3.0, 3.0, 2.0, 1.0)),
    act_on: (2, (44.0, 40.0, 34.0, 18.0, 5.0)),
    go: (2, (1.0, 4.0, 4.0, 2.0, 1.0)),
    stay: (4, (0.0, 2.0, 2.0, 1.0, 0.0)),
    act_toward: (3, (3.0, 6.0, 6.0, 3.0, 0.0)),
    act_with_particle: (3, (5.0, 4.0, 3.0, 1.0, 0.0)),
    give: (5, (3.0, 6.0, 5.0, 2.0, 0.0)),
    be_described: (2, (2.0, 5.0, 6.0, 2.0, 0.5)),
    be_somewhere: (4, (0.0, 2.0, 2.0, 1.0, 0.0)),
    undergo: (2, (0.0, 2.0, 3.0, 0.0, 0.0)),
    state: (3, (0.0, 0.0, 9.0, 28.0, 30.0)),
    tell: (5, (0.0, 0.0, 3.0, 8.0, 10.0)),
    wish: (3, (0.0, 0.0, 7.0, 20.0, 40.0)),
    command: (5, (0.0, 0.0, 3.0, 8.0, 12.0)),
    keep_doing: (2, (0.0, 0.0, 3.0, 7.0, 9.0)),
    perceive: (4, (0.0, 0.0, 2.0, 4.0, 1.0)),
    be_eager: (4, (0.0, 0.0, 2.0, 7.0, 12.0)),
}
_MAX_ROOM = 30


def _other_kinds(sense: str) -> Kinds:
    kinds: Kinds = {be_described: _PERSON_KINDS[be_described]}
    if sense in INTRANSITIVES:
        kinds[act] = (1, (5.0, 10.0, 10.0, 10.0, 10.0))
    if sense in GROUPS_BY_SUBJECT:
        kinds[act_on] = (2, (40.0, 24.0, 24.0, 24.0, 10.0))
    if sense in PREPOSITIONALS:
        kinds[act_toward] = (3, (3.0, 6.0, 6.0, 6.0, 3.0))
    if sense in GROUPS_BY_OBJECT:
        kinds[undergo] = (2, (2.0, 9.0, 9.0, 9.0, 9.0))
    return kinds


def _tabulate(kinds: Kinds) -> list[list[Choice[Kind]]]:
    """Return the choice of a kind of predicate for each style and room."""
    return [
        [
            weigh({kind: weights[style] for kind, (least, weights) in kinds.items() if least <= max(room, 2)})
            for room in range(_MAX_ROOM + 1)
        ]
        for style in range(CHAIN + 1)
    ]


_NEEDS: dict[Kind, Container[str]] = {
    act: INTRANSITIVES,
    act_on: GROUPS_BY_SUBJECT,
    act_toward: PREPOSITIONALS,
    act_with_particle: ANYONE,
    give: ANYONE,
    undergo: GROUPS_BY_OBJECT,
}
"""Kind of predicate -> the senses of subjects that it can have; other kinds can have any."""


def _choose_kinds(sense: str) -> Kinds:
    """Return the kinds of predicates for a sense; persons of a trade mostly do what is theirs to do."""
    kinds = _PERSON_KINDS if sense in PERSONS else _other_kinds(sense)
    return {kind: entry for kind, entry in kinds.items() if kind not in _NEEDS or sense in _NEEDS[kind]}


_KINDS = {sense: _tabulate(_choose_kinds(sense)) for sense in SUBJECTS.items}


def choose_predicate(w: Writer, sense: str, room: int) -> Predicate:
    """Return a random predicate that suits a subject of a sense."""
    room = max(room, 1)
    kinds = _KINDS[sense][w.style][min(room, _MAX_ROOM)]
    kind = kinds(w.random)
    if w.eventful and kind is be_described:
        kind = kinds(w.random)
    return kind(w, sense, room)


def say_clause(
    w: Writer,
    room: int,
    *,
    subject: Nominal | None = None,
    sense: str | None = None,
    kinds: Choice[Kind] | None = None,
    lone: bool = True,
    least: int = 1,
) -> Clause:
    """Return a finite clause.

    lone: allow a single name or bare noun as the subject; least: smallest number of tokens of the subject;
    kinds: kinds of predicates to choose from, with a person as the subject.
    """
    random = w.random
    if subject is None:
        if kinds is not None:
            sense = "person"
        elif sense is None:
            if room > 3 and least == 1 and random() < 0.03:
                return _say_there(w, room)
            sense = SUBJECTS(random)
        size = max(_share_subject(w, room), least)
        subject = say_noun_phrase(w, sense, size, lone=lone)
        room -= size
    else:
        sense = sense or "person"
        room -= 1
    w.owner = subject.pronoun
    tail: tuple[Tree, ...] = ()
    if room > 8 and random() < _LINK_CHANCES[w.style]:
        size = 5 + int(random() * (room - 8))
        room -= size
        tail = (say_adverbial(w, size, subject, sense),)
    pattern = choose_pattern(w, room)
    kind = choose_predicate if kinds is None else kinds(random)
    verb, rest = kind(w, sense, max(room - COSTS[pattern], 4 if kinds else 1))
    if verb is BE or verb.stative:
        tail = ()
    predicate = build_finite(w, verb, rest + tail, subject.agreement, pattern)
    return Clause(subject, contract(w, subject, predicate))


_LINK_CHANCES = (0.0, 0.0, 0.3, 0.25, 0.0)


def _share_subject(w: Writer, room: int) -> int:
    x = w.random()
    if w.style == CHAIN:
        return 1 if x < 0.75 else 2
    if room < 5:
        return 1 if x < 0.45 else 2
    if w.style == LISTS:
        return 2 + int(x * (room - 4))
    if w.style == DEEP:
        return 1 if x < 0.5 else 2 if x < 0.85 else 3
    if room < 9 or x < 0.5:
        return 1 if x < 0.15 else 2 if x < 0.4 else 3
    return 3 + int(w.random() * room * 0.35)


def _say_there(w: Writer, room: int) -> Clause:
    noun, place = exist(w, room - 2)
    there = noun._replace(tree=("NP", (("EX", "there"),)))
    return Clause(there, ("VP", (conjugate(w, BE, noun.agreement), noun.tree, place)))


def say_adverbial(w: Writer, room: int, about: Nominal | None = None, sense: str = "person") -> Tree:
    """Return an adverbial clause, often about the same subject: `because she was old`."""
    subject = None
    if about is not None and w.random() < 0.5:
        subject = refer(about.pronoun)
    else:
        sense = SUBJECTS(w.random)
    eventful, w.eventful = w.eventful, True
    clause = say_clause(w, room - 1, subject=subject, sense=sense if subject else None)
    w.eventful = eventful
    return ("SBAR", (WHEN if w.random() < 0.25 else _LINKS(w.random), clause.tree))
