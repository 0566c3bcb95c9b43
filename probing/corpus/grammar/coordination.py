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
from probing.corpus.grammar.clauses import Clause, choose_predicate
from probing.corpus.grammar.lexicon import (
    ADJECTIVES,
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
    SPOTS,
    STOP,
    THEY,
    Choice,
    weigh,
    zipf,
)
from probing.corpus.grammar.mentions import define, define_two, introduce, name_two
from probing.corpus.grammar.nominals import choose_agent, locate
from probing.corpus.grammar.phrases import PLURAL, Nominal, Writer, describe, name_person, refer, remember, tell_time
from probing.corpus.grammar.predicates import Predicate, act_on, go
from probing.corpus.grammar.verbs import (
    BE,
    DO,
    GROUPS,
    GROUPS_BY_OBJECT,
    INTRANSITIVES,
    VerbGroup,
    read_rows,
    weigh_by_size,
    zipf_verbs,
)
from probing.corpus.readers import Tree

Pair = tuple[Clause, Clause]
"""The two clauses of a story."""

_TOPICS = weigh_by_size(
    [
        group
        for group in GROUPS
        if PERSONS.issuperset(group.subjects)
        and not {*ANYONE, *SPOTS, "body", "pay", "plan", "error"} & set(group.objects.items)
    ]
)
"""Actions with objects that are worth mentioning again."""

# State of a person | verbs for the reaction | senses of the object.
_REACTION_ROWS = """
hungry | fry chop roast | vegetable
hungry | cook serve | dish
thirsty | pour brew | drink
sick | call | medic
cold | close | opening
cold | knit mend | clothing
bored | play tune | instrument
sad | sing hum | music
poor | lend | money
rich | renovate build | building
lost | stop | car
late | rent | car
curious | unpack unlock | container
dirty | wash scrub | vessel
"""
_REACTIONS = zipf([
    (word, zipf_verbs(verbs), zipf(senses.split())) for word, verbs, senses in read_rows(_REACTION_ROWS)
])  # fmt: skip


def _say(w: Writer, subject: Nominal, predicate: Predicate) -> Clause:
    verb, rest = predicate
    finite = build_finite(w, verb, rest, subject.agreement, PROGRESSIVE if w.random() < 0.15 else SIMPLE)
    return Clause(subject, contract(w, subject, finite))


def _mention(w: Writer, group: VerbGroup, sense: str, room: int) -> tuple[Clause, Nominal]:
    """Return a clause with a first mention as its object, like `Mary baked a cake in the kitchen`, and the mention."""
    size = 1 if w.random() < 0.5 or room < 5 else 2 if room < 8 else 3
    subject = name_person(w) if size == 1 else define(w, choose_agent(w, group), size)
    w.owner = subject.pronoun
    room -= size + 1
    space = 2 if room < 3 else 3
    new = introduce(w, sense, space).phrase
    rest: tuple[Tree, ...] = (new.tree,)
    room -= space
    if room > 2 and group.places is not None:
        rest += (locate(w, room if room < 6 else room - 3, group.places),)
        room = 0 if room < 6 else 3
    if room > 1:
        rest += (tell_time(w, room),)
    return _say(w, subject, (group.verbs(w.random), rest)), new


def _recall(w: Writer, sense: str, pronoun: int, room: int) -> Clause:
    """Return a clause about a thing of a sense, like `it was eaten at noon`."""
    subject = refer(pronoun)
    x = w.random()
    room -= 2
    verb = BE
    rest: tuple[Tree, ...] = ()
    if sense in INTRANSITIVES and x < 0.5:
        verb = INTRANSITIVES[sense].verbs(w.random)
        if 1 < room < 5:
            rest = (tell_time(w, room),)
    elif x < 0.8:
        group = GROUPS_BY_OBJECT[sense](w.random)
        inner: tuple[Tree, ...] = ()
        if room > 3:
            agent = describe(w, choose_agent(w, group), min(room - 2, 3))
            inner = (("PP", (("IN", "by"), agent.tree)),)
        elif room > 2:
            inner = (tell_time(w, room - 1),)
        rest = (("VP", (group.verbs(w.random).participle, *inner)),)
        room = max(room - 5, 0)
    else:
        quality = ADJECTIVES[sense](w.random)
        degree: tuple[Tree, ...] = (_VERY,) if quality.gradable and room > 1 else ()
        rest = (("ADJP", (*degree, quality.leaf)),)
        room = 0
    if room > 4:
        rest += (tell_time(w, 3),)
    return _say(w, subject, (verb, rest))


_VERY: Tree = ("RB", "very")


def _mention_again(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `Mary baked a cake , and it was eaten`."""
    group = _TOPICS(w.random)
    sense = group.objects(w.random)
    opening, new = _mention(w, group, sense, first)
    return opening, _recall(w, sense, new.pronoun, second)


def _turn_to(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `it was repaired , and Mary baked a cake`."""
    group, other = _TOPICS(w.random), _TOPICS(w.random)
    while set(group.subjects) & set(other.subjects) - {"person", "kin", "parent"} or group.places is other.places:
        other = _TOPICS(w.random)
    closing, new = _mention(w, group, group.objects(w.random), second)
    sense = other.objects(w.random)
    # Mostly of the same number, which else would give away that the pronoun is not for the noun.
    alike = w.random() < 0.6
    plural = new.agreement == PLURAL if alike else w.random() < PLURAL_CHANCES[sense] * w.plurality
    _, pronoun = remember(w, NOUNS[sense](w.random), plural and sense not in MASS)
    return _recall(w, sense, pronoun, first), closing


def _choose_two(w: Writer, first: int, second: int) -> tuple[Nominal, Nominal]:
    """Return two subjects of the same kind: names, pronouns or nouns."""
    x = w.random()
    if x < 0.4:
        return name_two(w)
    if x < 0.7:
        return (refer(HE), refer(SHE)) if w.random() < 0.5 else (refer(SHE), refer(HE))
    return define_two(w, min(first, 3), min(second, 3))


def _react(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `the boy was hungry , and the cook fried some onions`."""
    subject, other = _choose_two(w, first - 2, second - 3)
    word, verbs, objects = _REACTIONS(w.random)
    room = first - 2 - len(subject.tree[1])
    when = (tell_time(w, room),) if room > 1 else ()
    state: Tree = ("ADJP", (_VERY, ("JJ", word)) if room == 1 else (("JJ", word),))
    opening = Clause(subject, ("VP", (conjugate(w, BE, subject.agreement), state, *when)))
    room = second - 1 - len(other.tree[1])
    noun = introduce(w, objects(w.random), min(room, 3)).phrase
    rest: tuple[Tree, ...] = (noun.tree,)
    if room > 4:
        rest += (tell_time(w, room - 3),)
    return opening, _say(w, other, (verbs(w.random), rest))


def _compare(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `the man slept , but the woman did not`."""
    subject, other = _choose_two(w, 2 if first < 9 else 3, second - 2)
    w.owner = subject.pronoun
    verb, rest = choose_predicate(w, "person", first - 2)
    opening = Clause(subject, build_finite(w, verb, rest, subject.agreement))
    auxiliary = conjugate(w, BE if verb is BE else DO, other.agreement)
    return opening, Clause(other, ("VP", (auxiliary, NOT)))


def _warn(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `he must hurry home , or he will miss the concert`."""
    w.past = False
    subject = refer(THEY if w.random() < 0.4 else HE if w.random() < 0.5 else SHE)
    verb, rest = go(w, "person", first - 2) if w.random() < 0.6 else act_on(w, "person", max(first - 2, 3))
    opening = Clause(subject, ("VP", (("MD", "must" if w.random() < 0.6 else "should"), ("VP", (verb.base, *rest)))))
    noun = describe(w, "show" if w.random() < 0.5 else "lecture", max(min(second - 3, 3), 2), plural=False)
    return opening, Clause(subject, ("VP", (("MD", "will"), ("VP", (("VB", "miss"), noun.tree)))))


_BUT: Tree = ("CC", "but")
_OR: Tree = ("CC", "or")
_CONJUNCTIONS = weigh({AND: 7.0, _BUT: 2.0})
# A story about one thing repeats words more often, and is then left out: the mirrored kinds end up equally frequent.
_KINDS: Choice[tuple[Callable[[Writer, int, int], Pair], Choice[Tree]]] = weigh({
    (_mention_again, _CONJUNCTIONS): 51.0,
    (_turn_to, _CONJUNCTIONS): 41.0,
    (_react, weigh({AND: 1.0})): 4.0,
    (_compare, weigh({_BUT: 1.0})): 1.0,
    (_warn, weigh({_OR: 1.0})): 1.0,
})  # fmt: skip


def join_clauses(w: Writer, room: int, *, comma: bool = False) -> Tree:
    """Return a sentence of the form S_CC_S_ or S_,_CC_S_."""
    w.plain = True
    room -= 2 + comma
    kind, conjunctions = _KINDS(w.random)
    share = 0.5 if w.random() < 0.55 else 0.3 + 0.4 * w.random()
    size = max(3, int(room * share + w.random()))
    first, second = kind(w, size, max(room - size, 3))
    return ("S", (first.tree, *((COMMA,) if comma else ()), conjunctions(w.random), second.tree, STOP))
