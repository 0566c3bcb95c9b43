"""Clauses, and the predicates and adjuncts that contain clauses themselves."""

from __future__ import annotations

from functools import cache, partial
from typing import NamedTuple

from probing.corpus.grammar.auxiliaries import (
    COSTS,
    NEGATIVE,
    PROGRESSIVE,
    SIMPLE,
    build_finite,
    build_gerund,
    build_infinitive,
    choose_pattern,
    conjugate,
    contract,
)
from probing.corpus.grammar.lexicon import ANYONE, IT, PERSONS, WHEN, Choice, weigh, zipf_leaves
from probing.corpus.grammar.nominals import say_noun_phrase
from probing.corpus.grammar.phrases import CHAIN, DEEP, LISTS, Nominal, Writer, count, refer
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
    HABITS,
    ORDERS,
    PERCEPTION,
    SCENES,
    STATES,
    TELLING,
    WISHES,
)
from probing.corpus.readers import Tree

_THAT: Tree = ("IN", "that")
_EAGER = zipf_leaves("JJ", "happy ready eager glad afraid proud willing")
_CERTAIN = zipf_leaves("JJ", "sure certain aware")

ANY, EVENT, ACTION = range(3)
"""Choices of predicates: all of them, what happens at one time, what one does on purpose."""


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
    w.dated = False
    return WISHES(w.random), (build_infinitive(*choose_predicate(w, sense, room - 2, ACTION)),)


def command(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate like `asked her to sleep`."""
    w.dated = False
    size = 1 if room < 8 or w.style >= DEEP else 2
    person = say_noun_phrase(w, _LISTENERS(w.random), size, obj=True)
    return ORDERS(w.random), (person.tree, build_infinitive(*choose_predicate(w, "person", room - size - 2, ACTION)))


def _do_something(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate for what one does on purpose, without a clause inside."""
    kind = act_on if sense in w.scene.by_subject and w.random() < 0.7 else go
    verb, rest = kind(w, sense, room)
    return (verb, rest) if verb.willed else _do_something(w, sense, room)


def keep_doing(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate like `started singing`."""
    w.dated = False
    return HABITS(w.random), (build_gerund(*_do_something(w, sense, max(room - 1, 2))),)


def perceive(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate like `saw the dog sleeping in the garden`."""
    w.dated = False
    seen = choose_person(w)
    size = 1 if room < 6 else 2
    subject = say_noun_phrase(w, seen, size, obj=True, lone=False)
    verb, rest = _do_something(w, seen, room - 1 - size)
    return PERCEPTION(w.random), (("S", (subject.tree, ("VP", (verb.gerund, *rest)))),)


def choose_person(w: Writer) -> str:
    """Return the sense of a person who takes part in the scene."""
    sense = w.scene.subjects(w.random)
    return sense if sense in PERSONS else choose_person(w)


def be_eager(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate like `was happy to see the king` or `was sure that the king slept`."""
    if w.random() < 0.5:
        w.dated = False
        inner = build_infinitive(*choose_predicate(w, sense, room - 3, ACTION))
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


_THING_KINDS: Kinds = {
    be_described: _PERSON_KINDS[be_described],
    act: (1, (5.0, 10.0, 10.0, 10.0, 10.0)),
    act_on: (2, (40.0, 24.0, 24.0, 24.0, 10.0)),
    act_toward: (3, (3.0, 6.0, 6.0, 6.0, 3.0)),
    undergo: (2, (4.0, 12.0, 12.0, 12.0, 12.0)),
}
_EVENTS: frozenset[Kind] = frozenset([act, act_on, act_with_particle])
_ACTIONS: frozenset[Kind] = frozenset([act_on, go, stay, act_toward, act_with_particle, give, tell, command])
_ALLOWED = {EVENT: _EVENTS, ACTION: _ACTIONS}
_NESTING: frozenset[Kind] = frozenset([state, tell, wish, command, keep_doing, perceive, be_eager])
MAX_NESTING = 2


@cache
def _weigh_kinds(
    scene: str, sense: str, style: int, room: int, choice: int, nest: bool, placed: bool, timed: bool
) -> Choice[Kind]:
    """Return the choice of a kind of predicate that suits a subject of a sense."""
    setting = SCENES[scene]
    needs: dict[Kind, bool] = {
        act: sense in setting.intransitives and not (choice == EVENT and sense in ANYONE),
        act_on: sense in setting.by_subject,
        act_toward: sense in setting.prepositionals,
        undergo: sense in setting.by_object,
        act_with_particle: sense in ANYONE and setting.particles is not None,
        go: not placed,
        stay: not placed,
        be_somewhere: not placed,
        be_described: not timed or not (sense in setting.by_object or sense in PERSONS),
        give: sense in ANYONE and setting.gifts is not None,
    }
    kinds = {
        kind: weights[style]
        for kind, (least, weights) in (_PERSON_KINDS if sense in PERSONS else _THING_KINDS).items()
        if least <= max(room, 2)
        and needs.get(kind, True)
        and (choice == ANY or kind in _ALLOWED[choice])
        and (nest or kind not in _NESTING)
    }
    if not sum(kinds.values()):
        kinds = {go: 1.0} if sense in PERSONS else {undergo: 1.0} if needs[undergo] else {act: 1.0}
    return weigh(kinds)


def choose_predicate(w: Writer, sense: str, room: int, choice: int = ANY) -> Predicate:
    """Return a random predicate that suits a subject of a sense."""
    room = max(room, 1)
    while True:
        nest = w.nesting < MAX_NESTING
        kind = _weigh_kinds(w.scene.name, sense, w.style, min(room, _MAX_ROOM), choice, nest, w.placed, w.timed)(
            w.random
        )
        w.nesting += kind in _NESTING
        verb, rest = kind(w, sense, room)
        if choice != ACTION or verb.willed or kind in _NESTING:
            return verb, rest


def say_clause(
    w: Writer,
    room: int,
    *,
    subject: Nominal | None = None,
    sense: str | None = None,
    kind: Kind | None = None,
    choice: int = ANY,
    lone: bool = True,
    least: int = 1,
) -> Clause:
    """Return a finite clause.

    lone: allow a single name or bare noun as the subject; least: smallest number of tokens of the subject;
    kind: the kind of predicate, or else `choice` says which are allowed.
    """
    random = w.random
    if subject is None:
        if sense is None:
            if choice == ANY and kind is None and room > 3 and least == 1 and lone and random() < 0.03:
                return _say_there(w, room)
            sense = w.scene.subjects(random)
            while choice == EVENT and sense not in w.scene.by_subject and sense not in w.scene.intransitives:
                sense = w.scene.subjects(random)
        size = max(_share_subject(w, room), least)
        subject = say_noun_phrase(w, sense, size, lone=lone)
        size = count(subject.tree)
    else:
        sense, size = sense or "person", 1
    room -= size
    w.owner = subject.pronoun
    pattern = SIMPLE if choice == EVENT or kind is not None else choose_pattern(w, room)
    if pattern == PROGRESSIVE and sense not in PERSONS:
        pattern = SIMPLE
    w.timed |= pattern == PROGRESSIVE and not w.past
    linked = _share_adverbial(w, room) if choice == ANY and kind is None and sense in PERSONS else 0
    if pattern == NEGATIVE:
        linked = 0
    w.timed |= linked > 0
    w.dated = w.past and pattern == SIMPLE
    nesting = w.nesting
    predicate_kind = kind or partial(choose_predicate, choice=choice)
    space = max(room - linked - COSTS[pattern], 1)
    verb, rest = predicate_kind(w, sense, space)
    if _is_indefinite(subject) and rest and rest[0][0] == "ADJP":
        verb, rest = predicate_kind(w, sense, space)
    if linked and not verb.stative and w.nesting == nesting:
        rest += (say_adverbial(w, linked, subject, sense),)
    predicate = build_finite(w, verb, rest, subject.agreement, pattern)
    return Clause(subject, contract(w, subject, predicate))


def _share_adverbial(w: Writer, room: int) -> int:
    """Return the number of tokens for an adverbial clause after the predicate, or 0 for none."""
    if room > 8 and w.nesting == 0 and w.random() < _LINK_CHANCES[w.style] * room:
        return 5 + int(w.random() * (room - 8))
    return 0


def _is_indefinite(subject: Nominal) -> bool:
    """Return whether a subject begins with `a`, so that a mere state is said of it rarely."""
    first = subject.tree[1][0]
    return first[0] == "DT" and first[1] in ("a", "an")


_LINK_CHANCES = (0.0, 0.0, 0.03, 0.025, 0.0)
"""Chance of an adverbial clause after the predicate, for each token of the room."""


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


_MOODS = zipf_leaves("JJ", "tired hungry thirsty ill nervous")
_ALTHOUGH: Tree = ("IN", "although")
_LINKS = zipf_leaves("IN", "while before after")
_ORDERED_LINKS = zipf_leaves("IN", "before after")


def say_adverbial(w: Writer, room: int, about: Nominal | None = None, sense: str = "person") -> Tree:
    """Return an adverbial clause, often about the same subject: `although she was tired`."""
    if about is None or about.pronoun == IT:
        return link_event(w, say_clause(w, room - 1, choice=EVENT))
    subject = refer(about.pronoun)
    if w.random() < 0.4:
        mood = build_finite(w, BE, (("ADJP", (_MOODS(w.random),)),), subject.agreement)
        return ("SBAR", (_ALTHOUGH, Clause(subject, mood).tree))
    return link_event(w, say_clause(w, room - 1, subject=subject, sense=sense, choice=EVENT), again=True)


def link_event(w: Writer, clause: Clause, *, again: bool = False) -> Tree:
    """Return an adverbial clause of time, like `when the king slept`; `again` if both clauses have one subject."""
    if again:
        return ("SBAR", (_ORDERED_LINKS(w.random), clause.tree))
    return ("SBAR", (WHEN if w.random() < 0.25 else _LINKS(w.random), clause.tree))
