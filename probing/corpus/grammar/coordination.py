"""Two coordinate clauses whose order matters, because of what they mean.

With its clauses swapped, such a sentence has the same words, and the place of a single word must not give away the
swap. So most stories come in two kinds that mirror each other: `she baked a cake , and it was eaten` mentions a thing
and then says of it what such things do; `it was repaired , and she baked a cake` speaks of something else first. Each
word is as frequent in the first clause as in the second, and only who knows that cakes are eaten and engines repaired
can tell the order. The other stories state a cause before its effect. To make the number of the subject certain, common
nouns in the two subjects agree.
"""

from __future__ import annotations

from collections.abc import Callable

from probing.corpus.grammar.auxiliaries import PROGRESSIVE, SIMPLE, build_finite, conjugate, contract
from probing.corpus.grammar.clauses import EVENT, Clause, choose_predicate
from probing.corpus.grammar.lexicon import (
    AND,
    ANYONE,
    COMMA,
    HE,
    MASS,
    NOT,
    NOUNS,
    PERSONS,
    PLURAL_CHANCES,
    SHE,
    STOP,
    THEY,
    Choice,
    weigh,
    zipf,
)
from probing.corpus.grammar.mentions import define, define_two, introduce, name_two
from probing.corpus.grammar.nominals import choose_agent, locate
from probing.corpus.grammar.phrases import PLURAL, Nominal, Writer, describe, name_person, refer, remember, tell_time
from probing.corpus.grammar.predicates import Predicate, go
from probing.corpus.grammar.verbs import BE, DO, SCENES, Scene, Verb, VerbGroup, read_rows, zipf_verbs
from probing.corpus.readers import Tree

Pair = tuple[Clause, Clause]
"""The two clauses of a story."""

Step = tuple[VerbGroup, Verb]
"""An action, and one verb for it."""


Things = Choice[tuple[str, tuple[Step, ...]]]
"""Senses of the things at a place, with what persons do to them, one after the other."""


def _list_things(scene: Scene) -> dict[str, tuple[Step, ...]]:
    """Return sense -> steps for the things that persons have at the scene's place."""
    things: dict[str, tuple[Step, ...]] = {}
    for group in scene.groups:
        if group.places is not None and PERSONS.issuperset(group.subjects):
            for sense in group.objects.items:
                if sense not in ANYONE and sense not in ("body", "error"):
                    things[sense] = things.get(sense, ()) + tuple((group, verb) for verb in group.verbs.items)
    return {sense: steps for sense, steps in things.items() if len(steps) > 1}


_STORIES: Choice[tuple[Scene, Things]] = Choice(
    *zip(
        *(
            ((scene, weigh({item: len(item[1]) ** 0.5 for item in things.items()})), float(len(things)))
            for scene in SCENES.values()
            if len(things := _list_things(scene)) > 1
        ),
        strict=True,
    )
)
"""Scenes with two or more things, so that each can be told from another one."""


def _set_scene(w: Writer) -> Things:
    """Choose a scene for a story and return its things."""
    w.scene, things = _STORIES(w.random)
    return things


def _choose_steps(w: Writer, things: Things) -> tuple[str, Step, Step]:
    """Return a thing and two of the things that one does to it, in their order."""
    sense, steps = things(w.random)
    first = int(w.random() * (len(steps) - 1))
    second = first + 1 + int(w.random() * (len(steps) - 1 - first))
    return sense, steps[first], steps[second]


# State of a person | verbs for the reaction | senses of the object.
_REACTION_ROWS = """
hungry | fry chop roast | vegetable
hungry | cook serve | dish
thirsty | pour | drink
sick | call | medic
cold | close | opening
cold | knit mend | clothing
bored | play tune | instrument
sad | sing hum | music
rich | renovate build | building
curious | unpack unlock | container
"""
_REACTIONS = zipf([
    (word, zipf_verbs(verbs), zipf(senses.split())) for word, verbs, senses in read_rows(_REACTION_ROWS)
])  # fmt: skip


def _say(w: Writer, subject: Nominal, predicate: Predicate) -> Clause:
    verb, rest = predicate
    finite = build_finite(w, verb, rest, subject.agreement, PROGRESSIVE if w.past and w.random() < 0.15 else SIMPLE)
    return Clause(subject, contract(w, subject, finite))


def _mention(w: Writer, step: Step, sense: str, room: int) -> tuple[Clause, Nominal]:
    """Return a clause with a first mention as its object, like `Mary baked a cake in the kitchen`, and the mention."""
    group, verb = step
    size = 1 if w.random() < 0.5 or room < 5 else 2 if room < 8 else 3
    subject = name_person(w) if size == 1 else define(w, choose_agent(w, group), size)
    w.owner = subject.pronoun
    w.dated = w.past
    room -= size + 1
    space = 2 if room < 3 else 3
    new = introduce(w, sense, space)
    rest: tuple[Tree, ...] = (new.tree,)
    room -= space
    if room > 2 and group.places is not None:
        rest += (locate(w, room if room < 6 else room - 3, group.places),)
        room = 0 if room < 6 else 3
    rest += tell_time(w, room)
    return _say(w, subject, (verb, rest)), new


def _recall(w: Writer, step: Step, pronoun: int, room: int) -> Clause:
    """Return a clause about a thing, like `it was eaten at noon`."""
    group, action = step
    w.dated = w.past
    room -= 2
    inner: tuple[Tree, ...] = ()
    if room > 3:
        agent = define(w, choose_agent(w, group), min(room - 2, 3))
        inner = (("PP", (("IN", "by"), agent.tree)),)
        room -= 4
    passive: Tree = ("VP", (action.participle, *inner, *tell_time(w, room - 1)))
    return _say(w, refer(pronoun), (BE, (passive,)))


_VERY: Tree = ("RB", "very")


def _mention_again(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `Mary baked a cake , and it was eaten`."""
    sense, before, after = _choose_steps(w, _set_scene(w))
    opening, new = _mention(w, before, sense, first)
    w.placed = False
    return opening, _recall(w, after, new.pronoun, second)


def _turn_to(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `it was brewed , and Mary baked a cake`, about two things of a scene."""
    things = _set_scene(w)
    sense, before, _ = _choose_steps(w, things)
    other, _, after = _choose_steps(w, things)
    while other == sense:
        other, _, after = _choose_steps(w, things)
    closing, new = _mention(w, before, sense, second)
    # Mostly of the same number, which else would give away that the pronoun is not for the noun.
    alike = w.random() < 0.6
    plural = new.agreement == PLURAL if alike else w.random() < PLURAL_CHANCES[other] * w.plurality
    _, pronoun = remember(w, NOUNS[other](w.random), plural and other not in MASS)
    w.placed = False
    return _recall(w, after, pronoun, first), closing


def _choose_two(w: Writer, first: int, second: int) -> tuple[Nominal, Nominal]:
    """Return two subjects of the same kind: names, pronouns or nouns."""
    x = w.random()
    if x < 0.25:
        return name_two(w)
    if x < 0.5:
        return (refer(HE), refer(SHE)) if w.random() < 0.5 else (refer(SHE), refer(HE))
    return define_two(w, min(first, 3), min(second, 3))


def _react(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `the boy was hungry , and the cook fried some onions`."""
    subject, other = _choose_two(w, first - 2, second - 3)
    word, verbs, objects = _REACTIONS(w.random)
    room = first - 2 - len(subject.tree[1])
    state: Tree = ("ADJP", (_VERY, ("JJ", word)) if room == 1 else (("JJ", word),))
    opening = Clause(subject, ("VP", (conjugate(w, BE, subject.agreement), state)))
    room = second - 1 - len(other.tree[1])
    noun = introduce(w, objects(w.random), min(room, 3))
    rest: tuple[Tree, ...] = (noun.tree,)
    return opening, _say(w, other, (verbs(w.random), rest))


def _compare(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `the man slept , but the woman did not`."""
    subject, other = _choose_two(w, 2 if first < 9 else 3, second - 2)
    w.owner = subject.pronoun
    verb, rest = choose_predicate(w, "person", first - 2, EVENT)
    opening = Clause(subject, build_finite(w, verb, rest, subject.agreement))
    auxiliary = conjugate(w, BE if verb is BE else DO, other.agreement)
    return opening, Clause(other, ("VP", (auxiliary, NOT)))


def _warn(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `he must hurry home , or he will miss the concert`."""
    w.past, w.timed = False, True
    sense = "show" if w.random() < 0.5 else "lecture"
    w.scene = SCENES["theater" if sense == "show" else "study"]
    subject = refer(THEY if w.random() < 0.4 else HE if w.random() < 0.5 else SHE)
    verb, rest = go(w, "person", first - 2)
    opening = Clause(subject, ("VP", (("MD", "must" if w.random() < 0.6 else "should"), ("VP", (verb.base, *rest)))))
    noun = describe(w, sense, max(min(second - 3, 3), 2), plural=False)
    return opening, Clause(subject, ("VP", (("MD", "will"), ("VP", (("VB", "miss"), noun.tree)))))


_BUT: Tree = ("CC", "but")
_OR: Tree = ("CC", "or")
_KINDS: Choice[tuple[Callable[[Writer, int, int], Pair], Tree]] = weigh({
    (_mention_again, AND): 45.0,
    (_turn_to, AND): 45.5,
    (_react, AND): 6.0,
    (_compare, _BUT): 3.0,
    (_warn, _OR): 1.0,
})  # fmt: skip


def join_clauses(w: Writer, room: int, *, comma: bool = False) -> Tree:
    """Return a sentence of the form S_CC_S_ or S_,_CC_S_."""
    w.plain = True
    room -= 2 + comma
    kind, conjunction = _KINDS(w.random)
    share = 0.5 if w.random() < 0.55 else 0.3 + 0.4 * w.random()
    size = max(3, int(room * share + w.random()))
    first, second = kind(w, size, max(room - size, 3))
    return ("S", (first.tree, *((COMMA,) if comma else ()), conjunction, second.tree, STOP))
