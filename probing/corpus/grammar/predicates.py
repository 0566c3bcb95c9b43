"""Predicates without clauses inside: verbs with their phrases.

Each kind of predicate is a function (writer, sense of the subject, room) -> verb and the phrases after it; the verb is
made finite, an infinitive or an -ing form afterwards. Adverbs have positions at which no swap with a neighbour makes
good English: manner after an object, direction after a verb of motion.
"""

from __future__ import annotations

from collections.abc import Callable

from probing.corpus.grammar.lexicon import ADJECTIVES, AND, COMPARABLE, PERSONS, TO, Choice, weigh, zipf_leaves
from probing.corpus.grammar.nominals import GOALS, choose_agent, locate, say_noun_phrase
from probing.corpus.grammar.phrases import FLAT, LISTS, Nominal, Writer, describe, tell_time
from probing.corpus.grammar.verbs import (
    BE,
    GIFTS,
    GOAL_VERBS,
    GROUPS_BY_OBJECT,
    GROUPS_BY_SUBJECT,
    INTRANSITIVES,
    MOTION,
    PARTICLES,
    POSTURE,
    PREPOSITIONALS,
    SEEMING,
    Verb,
    VerbGroup,
)
from probing.corpus.readers import Tree

Predicate = tuple[Verb, tuple[Tree, ...]]
"""Verb and the phrases after it."""
Kind = Callable[[Writer, str, int], Predicate]

_MANNERS = zipf_leaves(
    "RB",
    "quickly slowly quietly carefully happily eagerly calmly gently proudly nervously secretly patiently",
    label="ADVP",
)
_THERE = weigh({"person": 3.0, "pet": 2.0, "car": 2.0, "wildlife": 1.0, "tree": 1.0})
_DEGREES = zipf_leaves("RB", "very so too rather quite extremely")
_WITH: Tree = ("IN", "with")
_BY: Tree = ("IN", "by")


def add_adjuncts(
    w: Writer,
    room: int,
    *,
    places: Choice[str] | None = None,
    tool: Choice[str] | None = None,
    manner: bool = False,
) -> tuple[Tree, ...]:
    """Return adjuncts of manner, means, place and time that fill the room; without `places`, none of place."""
    random = w.random
    adjuncts: list[Tree] = []
    if manner and (room == 1 or (room > 3 and random() < 0.25)):
        adjuncts.append(_MANNERS(random))
        room -= 1
    if room < 2:
        return tuple(adjuncts)
    if tool and room > 5 and random() < 0.5:
        adjuncts.append(("PP", (_WITH, describe(w, tool(random), 3, plural=False, indefinite=True).tree)))
        room -= 4
    if places and room > 2 and (room > 4 or random() < 0.7):
        size = room if room < 5 or random() < 0.3 else room // 2 + 1
        adjuncts.append(locate(w, size, places))
        room -= size
    if room > 1:
        adjuncts.append(_tell_time_or_event(w, room))
    return tuple(adjuncts)


def _tell_time_or_event(w: Writer, room: int) -> Tree:
    if room > 4 and not w.timed and w.random() < 0.3:
        preposition: Tree = ("IN", "after" if w.random() < 0.4 else "before" if w.random() < 0.5 else "during")
        return ("PP", (preposition, describe(w, "occasion", 3, plural=False).tree))
    return tell_time(w, min(room, 3))


def split_room(w: Writer, room: int) -> tuple[int, int]:
    """Return the shares of an object and of adjuncts in the room."""
    if room < 5 or w.style == LISTS or (w.style != FLAT and w.random() < 0.5):
        return room, 0
    share = 2 + int(w.random() * (room - 3) * (0.75 if w.style == FLAT else 1.0))
    return share, room - share


def act_on(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb with an object, like `fried the onions in the kitchen`."""
    return act_in_scene(w, GROUPS_BY_SUBJECT[sense](w.random), room, person=sense in PERSONS)


def act_in_scene(w: Writer, group: VerbGroup, room: int, *, person: bool = True) -> Predicate:
    """Return a verb of a group with an object, a place and a time."""
    space, rest = split_room(w, room - 1)
    noun = say_noun_phrase(w, group.objects(w.random), space, obj=True)
    # After a relative clause, an adverb of manner could change places with the clause's verb.
    adjuncts = add_adjuncts(w, rest, places=group.places, tool=group.tool, manner=person and space < 5)
    return group.verbs(w.random), (noun.tree, *adjuncts)


def act(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb without an object, like `slept` or `slept in the garden`."""
    verbs, places = INTRANSITIVES[sense]
    return verbs(w.random), add_adjuncts(w, room - 1, places=places, manner=sense in PERSONS and room == 2)


def go(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb of motion, like `ran home` or `walked into the garden at night`."""
    random = w.random
    if room < 4 or random() < 0.25:
        directions, verbs = MOTION(random)
        return verbs(random), (directions(random), *add_adjuncts(w, min(room - 2, 5)))
    space, rest = split_room(w, room - 1)
    return GOAL_VERBS(random), (locate(w, space, GOALS), *add_adjuncts(w, rest))


def stay(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb of posture with a place, like `sat in the garden`."""
    space, rest = split_room(w, room - 1)
    return POSTURE(w.random), (locate(w, space), *add_adjuncts(w, rest))


def act_toward(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb with its preposition, like `looked at the king`."""
    compound = PREPOSITIONALS[sense](w.random)
    space, rest = split_room(w, room - 1)
    noun = say_noun_phrase(w, compound.objects(w.random), space - 1, obj=True)
    return compound.verb, (("PP", (compound.word, noun.tree)), *add_adjuncts(w, rest))


def act_with_particle(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb with its particle, like `turned off the radio` or `turned it off`."""
    compound = PARTICLES(w.random)
    particle: Tree = ("PRT", (compound.word,))
    space, rest = split_room(w, room - 1)
    if space < 3:
        pronoun: Tree = ("NP", (("PRP", "it" if w.random() < 0.6 else "them"),))
        return compound.verb, (pronoun, particle)
    noun = say_noun_phrase(w, compound.objects(w.random), space - 1, obj=True)
    return compound.verb, (particle, noun.tree, *add_adjuncts(w, rest))


def give(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb of giving, like `gave her a book` or `gave a book to the old king`.

    Before the gift the receiver is a pronoun or a name: only one common noun can be the object.
    """
    random = w.random
    gift_sense, verbs = GIFTS(random)
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
    when = (tell_time(w, room - 3),) if room > 4 and sense in PERSONS else ()
    return verb, (("ADJP", (*degree, quality.leaf)), *when)


def be_somewhere(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate like `was in the garden`."""
    space, rest = split_room(w, room - 1)
    return BE, (locate(w, space), *add_adjuncts(w, rest))


def undergo(w: Writer, sense: str, room: int) -> Predicate:
    """Return a passive, like `was eaten by the dog`."""
    random = w.random
    group = GROUPS_BY_OBJECT[sense](random)
    verb = group.verbs(random)
    if room < 4 or random() < 0.4:
        rest = add_adjuncts(w, room - 2, places=group.places)
    else:
        space, left = split_room(w, room - 2)
        agent = say_noun_phrase(w, choose_agent(w, group), max(space - 1, 2), obj=True)
        rest = (("PP", (_BY, agent.tree)), *add_adjuncts(w, left, places=group.places))
    return BE, (("VP", (verb.participle, *rest)),)


def exist(w: Writer, room: int) -> tuple[Nominal, Tree]:
    """Return a noun phrase and a place for `there is`, like `a dog` and `in the garden`."""
    size = 2 if room < 6 else 3
    noun = describe(w, _THERE(w.random), size, plural=w.random() < 0.5, indefinite=True)
    return noun, locate(w, room - size)
