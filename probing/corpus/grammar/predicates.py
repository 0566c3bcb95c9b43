"""Predicates without clauses inside: verbs with their phrases.

Each kind of predicate is a function (writer, sense of the subject, room) -> verb and the phrases after it; the verb is
made finite, an infinitive or an -ing form afterwards. Adverbs have positions at which no swap with a neighbour makes
good English: manner after an object, direction after a verb of motion.
"""

from __future__ import annotations

from collections.abc import Callable

from probing.corpus.grammar.lexicon import ADJECTIVES, AND, COMPARABLE, TO, Choice, weigh, zipf_leaves
from probing.corpus.grammar.nominals import GOALS, locate, say_noun_phrase
from probing.corpus.grammar.phrases import FLAT, LISTS, Nominal, Writer, describe, tell_time
from probing.corpus.grammar.verbs import (
    BE,
    GIFTS,
    GROUPS_BY_OBJECT,
    GROUPS_BY_SUBJECT,
    INTRANSITIVES,
    MOTION,
    PARTICLES,
    POSTURE,
    PREPOSITIONALS,
    SEEMING,
    Verb,
)
from probing.corpus.readers import Tree

Predicate = tuple[Verb, tuple[Tree, ...]]
"""Verb and the phrases after it."""
Kind = Callable[[Writer, str, int], Predicate]

_MANNERS = zipf_leaves(
    "RB",
    "quickly slowly quietly carefully happily eagerly calmly gently proudly nervously secretly politely bravely "
    "angrily sadly patiently gladly cheerfully skillfully clumsily",
    label="ADVP",
)
_DIRECTIONS = zipf_leaves("RB", "home away back upstairs outside downstairs inside", label="ADVP")
_WAYS = zipf_leaves("RB", "outdoors indoors upstairs downstairs", label="ADVP")
_GIFT_SENSES = weigh({"document": 4.0, "treasure": 4.0, "food": 3.0, "clothing": 2.0, "tool": 1.0, "plant": 1.0})
_THERE = weigh({"person": 3.0, "animal": 3.0, "vehicle": 2.0, "treasure": 2.0, "plant": 1.0})
_DEGREES = zipf_leaves("RB", "very so too rather quite extremely")
_SHARED = frozenset(["laugh", "sing", "work", "wait", "dance", "swim"])
"""Verbs of activities that people share."""
_WITH: Tree = ("IN", "with")
_BY: Tree = ("IN", "by")


def add_adjuncts(
    w: Writer, room: int, *, tool: Choice[str] | None = None, manner: bool = False, company: bool = False
) -> tuple[Tree, ...]:
    """Return adjuncts of manner, means or company, place and time that fill the room."""
    random = w.random
    adjuncts: list[Tree] = []
    if manner and (room == 1 or (room > 3 and random() < 0.25)):
        adjuncts.append(_MANNERS(random))
        room -= 1
    if room < 2 or w.style == LISTS:
        return tuple(adjuncts)
    count = 1 if room < 5 else min(1 + room // (3 if w.style == FLAT else 5), 3)
    share = room // count
    if (company or tool) and (count == 3 or (room > 2 and random() < 0.25)):
        sense = tool(random) if tool and (not company or random() < 0.6) else "person"
        adjuncts.append(("PP", (_WITH, say_noun_phrase(w, sense, max(share - 1, 2), obj=True).tree)))
        count -= 1
    if count > 1 or (count == 1 and share > 2 and random() < 0.5):
        adjuncts.append(locate(w, share))
        count = 1 if count > 1 else 0
    if count:
        adjuncts.append(_tell_time_or_event(w, share))
    return tuple(adjuncts)


def _tell_time_or_event(w: Writer, room: int) -> Tree:
    if room > 4:
        preposition: Tree = ("IN", "after" if w.random() < 0.4 else "before" if w.random() < 0.5 else "during")
        return ("PP", (preposition, say_noun_phrase(w, "event", room - 1, obj=True).tree))
    return tell_time(w, room)


def split_room(w: Writer, room: int) -> tuple[int, int]:
    """Return the shares of an object and of adjuncts in the room."""
    if room < 5 or w.style == LISTS or (w.style != FLAT and w.random() < 0.5):
        return room, 0
    share = 2 + int(w.random() * (room - 3) * (0.75 if w.style == FLAT else 1.0))
    return share, room - share


def act_on(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb with an object, like `ate the cake with a fork`."""
    random = w.random
    group = GROUPS_BY_SUBJECT[sense](random)
    space, rest = split_room(w, room - 1)
    noun = say_noun_phrase(w, group.objects(random), space, obj=True)
    person = sense == "person"
    # After a relative clause, an adverb of manner could change places with the clause's verb.
    adjuncts = add_adjuncts(w, rest, tool=group.tool, manner=person and space < 5, company=person)
    return group.verbs(random), (noun.tree, *adjuncts)


def act(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb without an object, like `slept outdoors` or `slept in the garden`."""
    verb = INTRANSITIVES[sense](w.random)
    if room == 2:
        return verb, ((_WAYS(w.random),) if sense in ("person", "animal") else ())
    return verb, add_adjuncts(w, room - 1, company=sense == "person" and verb.base[1] in _SHARED)


def go(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb of motion, like `ran home` or `walked into the garden at night`."""
    random = w.random
    verb = MOTION(random)
    if room < 4 or random() < 0.25:
        return verb, (_DIRECTIONS(random), *add_adjuncts(w, room - 2, company=True))
    space, rest = split_room(w, room - 1)
    return verb, (locate(w, space, GOALS), *add_adjuncts(w, rest, company=True))


def stay(w: Writer, sense: str, room: int) -> Predicate:
    """Return a verb of posture with a place, like `sat on the bridge`."""
    space, rest = split_room(w, room - 1)
    return POSTURE(w.random), (locate(w, space), *add_adjuncts(w, rest, company=True))


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
    verb, gift_sense = GIFTS(random), _GIFT_SENSES(random)
    if random() < 0.5:
        space, rest = split_room(w, room - 2)
        receiver = say_noun_phrase(w, "person", 1, obj=True)
        gift = say_noun_phrase(w, gift_sense, max(space, 2))
        return verb, (receiver.tree, gift.tree, *add_adjuncts(w, rest))
    space, rest = split_room(w, room - 1)
    size = 2 + int(random() * max(space - 4, 1))
    gift = describe(w, gift_sense, size) if size < 5 else say_noun_phrase(w, gift_sense, size)
    receiver = say_noun_phrase(w, "person", space - size - 1, obj=True)
    return verb, (gift.tree, ("PP", (TO, receiver.tree)), *add_adjuncts(w, rest))


def be_described(w: Writer, sense: str, room: int) -> Predicate:
    """Return a linking verb with an adjective, like `was very old` or `seemed older than the king`."""
    random = w.random
    verb = BE if sense != "person" or random() < 0.6 else SEEMING(random)
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
    when = (tell_time(w, room - 3),) if room > 4 and sense in ("person", "animal") else ()
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
        rest = add_adjuncts(w, room - 2)
    else:
        space, left = split_room(w, room - 2)
        agent = say_noun_phrase(w, group.subjects[0], max(space - 1, 1), obj=True)
        rest = (("PP", (_BY, agent.tree)), *add_adjuncts(w, left))
    return BE, (("VP", (verb.participle, *rest)),)


def exist(w: Writer, room: int) -> tuple[Nominal, Tree]:
    """Return a noun phrase and a place for `there is`, like `a dog` and `in the garden`."""
    size = 2 if room < 6 else 3
    noun = describe(w, _THERE(w.random), size, plural=w.random() < 0.5, indefinite=True)
    return noun, locate(w, room - size)
