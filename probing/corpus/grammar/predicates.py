"""Predicates without clauses inside: verbs with their phrases.

Each kind of predicate is a function (writer, sense of the subject, room) -> verb and the phrases after it; the verb is
made finite, an infinitive or an -ing form afterwards.
"""

from __future__ import annotations

from collections.abc import Callable

from probing.corpus.grammar.lexicon import (
    ADJECTIVES,
    AND,
    COMPARABLE,
    HE,
    IT,
    PERSONS,
    SHE,
    THEY,
    TO,
    Choice,
    weigh,
    zipf_leaves,
)
from probing.corpus.grammar.nominals import approach, choose_agent, locate, say_noun_phrase
from probing.corpus.grammar.phrases import FLAT, Nominal, Writer, count, describe, refer, tell_time
from probing.corpus.grammar.verbs import BE, GOAL_VERBS, MOTION, POSTURE, SEEMING, Verb
from probing.corpus.readers import Tree

Predicate = tuple[Verb, tuple[Tree, ...]]
"""Verb and the phrases after it."""
Kind = Callable[[Writer, str, int], Predicate]

_DEGREES = zipf_leaves("RB", "very so too rather quite extremely")
_BY: Tree = ("IN", "by")


def add_adjuncts(
    w: Writer,
    room: int,
    *,
    places: Choice[str] | None = None,
) -> tuple[Tree, ...]:
    """Return adjuncts of place and time that fill the room; without `places`, none of place."""
    random = w.random
    adjuncts: list[Tree] = []
    if places and not w.placed and room > 2 and (room > 4 or random() < 0.7):
        size = room if room < 5 or random() < 0.3 else room // 2 + 1
        place = locate(w, size, places)
        adjuncts.append(place)
        room -= count(place)
    return (*adjuncts, *tell_time(w, room))


def split_room(w: Writer, room: int) -> tuple[int, int]:
    """Return the shares of an object and of adjuncts in the room."""
    if room < 5 or w.style < FLAT or (w.style != FLAT and w.random() < 0.5):
        return room, 0
    share = 2 + int(w.random() * (room - 3) * (0.75 if w.style == FLAT else 1.0))
    return share, room - share


def act_on(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb with an object, like `fried the onions in the kitchen`."""
    group = w.scene.by_subject[sense](w.random)
    space, rest = split_room(w, room - 1)
    noun = say_noun_phrase(w, group.objects(w.random), space, obj=True)
    if w.style <= FLAT:
        rest += space - count(noun.tree)
    verb = group.verbs(w.random)
    w.timed |= sense not in PERSONS
    return verb, (noun.tree, *add_adjuncts(w, rest, places=group.places))


def act(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb without an object, like `slept` or `slept in the garden`."""
    verbs, places = w.scene.intransitives[sense](w.random)
    if sense not in PERSONS:
        w.timed = True
    return verbs(w.random), add_adjuncts(w, room - 1, places=places)


def go(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb of motion, like `ran home` or `walked to the garden at night`."""
    random = w.random
    if w.placed or room < 4 or random() < 0.2:
        directions, verbs = MOTION
        return verbs(random), (directions(random), *add_adjuncts(w, min(room - 2, 5)))
    space, rest = split_room(w, room - 1)
    return GOAL_VERBS(random), (approach(w, space), *add_adjuncts(w, rest))


def stay(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb of posture with a place, like `sat in the garden`."""
    if w.placed:
        return go(w, sense, room)
    space, rest = split_room(w, room - 1)
    return POSTURE(w.random), (locate(w, space, w.scene.places), *add_adjuncts(w, rest))


def act_toward(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb with its preposition, like `looked at the king`."""
    compound = w.scene.prepositionals[sense](w.random)
    space, rest = split_room(w, room - 1)
    noun = say_noun_phrase(w, compound.objects(w.random), space - 1, obj=True)
    w.timed |= compound.verb.stative
    return compound.verb, (("PP", (compound.word, noun.tree)), *add_adjuncts(w, rest))


def act_with_particle(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb with its particle, like `turned off the radio` or `turned it off`."""
    if w.scene.particles is None:
        return go(w, sense, room)
    compound = w.scene.particles(w.random)
    particle: Tree = ("PRT", (compound.word,))
    space, rest = split_room(w, room - 1)
    sense = compound.objects(w.random)
    if space < 3:
        one = IT if sense not in PERSONS else HE if w.random() < 0.5 else SHE
        return compound.verb, (refer(one if w.random() < 0.6 else THEY, obj=True).tree, particle)
    noun = say_noun_phrase(w, sense, space - 1, obj=True)
    return compound.verb, (particle, noun.tree, *add_adjuncts(w, rest))


def give(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb of giving, like `gave her a book` or `gave a book to the old king`.

    Before the gift the receiver is a pronoun or a name: only one common noun can be the object.
    """
    random = w.random
    if w.scene.gifts is None:
        return go(w, sense, room)
    gifts, verbs = w.scene.gifts(random)
    gift_sense = gifts(random)
    if random() < 0.5:
        space, rest = split_room(w, room - 2)
        receiver = say_noun_phrase(w, "person", 1, obj=True)
        gift = say_noun_phrase(w, gift_sense, max(space, 2))
        return verbs(random), (receiver.tree, gift.tree, *add_adjuncts(w, rest))
    space, rest = split_room(w, room - 1)
    size = 2 + int(random() * max(space - 4, 1))
    gift = describe(w, gift_sense, size) if size < 5 else say_noun_phrase(w, gift_sense, size)
    receiver = say_noun_phrase(w, _RECEIVERS(random), space - size - 1, obj=True)
    return verbs(random), (gift.tree, ("PP", (TO, receiver.tree)), *add_adjuncts(w, rest))


_RECEIVERS = weigh({"person": 4.0, "kin": 4.0, "parent": 2.0})


def be_described(w: Writer, sense: str, room: int) -> Predicate:
    """Return a linking verb with an adjective, like `was very old` or `seemed older than the king`."""
    random = w.random
    verb = BE if sense not in PERSONS or random() < 0.6 else SEEMING(random)
    if room > 3 and sense in COMPARABLE and (room > 6 or random() < 0.4):
        comparative = COMPARABLE[sense](random).comparative
        standard: Tree = ("PP", (("IN", "than"), say_noun_phrase(w, sense, room - 3, obj=True).tree))
        return verb, (("ADJP", (comparative, standard)),)
    quality = ADJECTIVES[sense](random)
    if room > 3 and random() < 0.3:
        other = ADJECTIVES[sense](random)
        if other is not quality and not w.plain:
            return verb, (("ADJP", (quality.leaf, AND, other.leaf)),)
    degree = (_DEGREES(random),) if room > 2 and quality.gradable and random() < 0.6 else ()
    return verb, (("ADJP", (*degree, quality.leaf)),)


def be_somewhere(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate like `was in the garden`."""
    if w.placed:
        return be_described(w, sense, room)
    space, rest = split_room(w, room - 1)
    return BE, (locate(w, space, w.scene.places), *add_adjuncts(w, rest))


def undergo(w: Writer, sense: str, room: int) -> Predicate:
    """Return a passive, like `was eaten by the dog`."""
    random = w.random
    group = w.scene.by_object[sense](random)
    verb = group.verbs(random)
    if room < 4 or random() < 0.4:
        rest = add_adjuncts(w, room - 2, places=group.places)
    else:
        space, left = split_room(w, room - 2)
        doer = choose_agent(w, group)
        w.timed |= doer not in PERSONS
        agent = say_noun_phrase(w, doer, max(space - 1, 2), obj=True)
        rest = (("PP", (_BY, agent.tree)), *add_adjuncts(w, left, places=group.places))
    return BE, (("VP", (verb.participle, *rest)),)


def exist(w: Writer, room: int) -> tuple[Nominal, Tree]:
    """Return a noun phrase and a place for `there is`, like `a woman` and `in the garden`."""
    size = 2 if room < 6 else 3
    noun = describe(w, "person", size, plural=w.random() < 0.5, indefinite=True)
    return noun, locate(w, room - size, w.scene.places)
