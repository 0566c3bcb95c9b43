"""Two coordinate clauses whose order matters: a cause before its effect, a noun before its pronoun.

With its clauses swapped, such a sentence has the same words, and only their order must give away the swap. So each word
must begin the first clause as often as the second: otherwise a capital `He` would give it away. Therefore the kinds of
stories come in pairs whose clauses have mirrored first words (`the … he` and `he … the`). To make the number of the
subject and the object certain, common nouns in the two subjects agree, and only the first clause has a common noun as
its object.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from probing.corpus.grammar.auxiliaries import build_finite, choose_pattern, conjugate, contract
from probing.corpus.grammar.clauses import Clause, choose_predicate, state, wish
from probing.corpus.grammar.lexicon import AND, COMMA, HE, IT, NOT, SHE, STOP, THE, THEY, Choice, weigh, zipf
from probing.corpus.grammar.mentions import Novelty, define, define_two, introduce, name_two
from probing.corpus.grammar.phrases import MIXED, Nominal, Writer, describe, name_person, refer
from probing.corpus.grammar.predicates import (
    Kind,
    Predicate,
    act,
    act_toward,
    add_adjuncts,
    be_described,
    go,
    stay,
    undergo,
)
from probing.corpus.grammar.verbs import (
    BE,
    DO,
    GROUPS,
    GROUPS_BY_OBJECT,
    GROUPS_BY_SUBJECT,
    INTRANSITIVES,
    VerbGroup,
    read_rows,
    zipf_verbs,
)
from probing.corpus.readers import Tree

Pair = tuple[Clause, Clause]
"""The two clauses of a story."""

_MEETINGS = zipf([group for group in GROUPS if group.objects.items == ("person",) and "person" in group.subjects])
_AS_WELL: Tree = ("ADVP", (("RB", "as"), ("RB", "well")))
_FIRST_TIMES: Choice[Tree] = zipf([
    ("PP", (("IN", "at"), ("NP", (("JJ", "first"),)))),
    ("PP", (("IN", "in"), ("NP", (THE, ("NN", "beginning"))))),
    ("PP", (("IN", "at"), ("NP", (THE, ("NN", "start"))))),
])  # fmt: skip
_LAST_TIMES: Choice[Tree] = zipf([
    ("PP", (("IN", "after"), ("NP", (("DT", "that"),)))),
    ("PP", (("IN", "in"), ("NP", (THE, ("NN", "end"))))),
    ("PP", (("IN", "at"), ("NP", (("JJ", "last"),)))),
])  # fmt: skip
_PERSON_KINDS: Choice[Kind] = weigh({act: 3.0, go: 4.0, stay: 2.0, act_toward: 3.0, be_described: 2.0})
_ANIMAL_KINDS: Choice[Kind] = weigh({act: 3.0, go: 4.0, be_described: 1.0})

# State of a person | verbs for their reaction | senses of the object.
_REACTION_ROWS = """
hungry | eat cook bake fry | food
thirsty | drink pour sip boil | drink
tired | sleep rest yawn relax |
sad | cry weep sigh |
happy | laugh smile sing dance |
rich | buy collect | treasure vehicle
poor | sell steal | treasure clothing
cold | wear mend | clothing
lonely | visit invite | person
curious | open search | container room
dirty | wash mend | clothing
afraid | hide escape run |
lazy | sleep rest wait |
"""
_REACTIONS = zipf([
    (word, zipf_verbs(verbs), zipf(senses.split()) if senses else None)
    for word, verbs, senses in read_rows(_REACTION_ROWS)
])  # fmt: skip


def _say(w: Writer, subject: Nominal, predicate: Predicate, *tail: Tree) -> Clause:
    verb, rest = predicate
    finite = build_finite(w, verb, rest + tail, subject.agreement, choose_pattern(w, 9) if w.random() < 0.5 else 0)
    return Clause(subject, contract(w, subject, finite))


def _say_more(w: Writer, subject: Nominal, sense: str, room: int, *tail: Tree) -> Clause:
    """Return a clause without a direct object."""
    least = 2
    if sense in ("person", "animal"):
        kind = (_PERSON_KINDS if sense == "person" else _ANIMAL_KINDS)(w.random)
        least = 4 if kind in (stay, act_toward) else 2
        if w.style != MIXED and sense == "person" and room > 4 and w.random() < 0.5:
            return _say(w, subject, (state if w.random() < 0.5 else wish)(w, "person", room), *tail)
    elif sense in GROUPS_BY_OBJECT and w.random() < 0.4:
        kind = undergo
    else:
        kind = act if sense in INTRANSITIVES and w.random() < 0.4 else be_described
    return _say(w, subject, kind(w, sense, max(room, least)), *tail)


def _mirror(w: Writer, things: float) -> int:
    """Return a pronoun as often as the mirrored kind of story has it; `things` is the share of `it`."""
    if w.random() < 0.48 * w.plurality:
        return THEY
    return IT if w.random() < things else HE if w.random() < 0.5 else SHE


def _times(w: Writer, room: int, chance: float) -> tuple[tuple[Tree, ...], tuple[Tree, ...], int]:
    """Return phrases of time for the first and the second clause, like `at first`, and the room that they take."""
    if room < 5 or w.random() > chance:
        return (), (), 0
    return (_FIRST_TIMES(w.random),) if w.random() < 0.5 else (), (_LAST_TIMES(w.random),), 2


def _tell_sequence(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `the farmer fed a dog at first , and he slept in the end`."""
    sense = "person" if w.random() < 0.8 else "animal"
    begin, end, used = _times(w, min(first, second), 0.8)
    size = 2 if first < 7 else 3
    subject = define(w, sense, size)
    opening = _say(w, subject, choose_predicate(w, sense, first - size - used), *begin)
    return opening, _say_more(w, refer(subject.pronoun), sense, second - 1 - used, *end)


def _tell_reaction(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `the farmer was hungry , and he ate a cake`."""
    subject = define(w, "person", first - 2)
    state, verbs, objects = _REACTIONS(w.random)
    opening = Clause(subject, ("VP", (conjugate(w, BE, subject.agreement), ("ADJP", (("JJ", state),)))))
    verb = verbs(w.random)
    if objects is None:
        reaction: Predicate = (verb, add_adjuncts(w, second - 2))
    else:
        size = max(min(second - 2, 4), 2)
        noun = describe(w, objects(w.random), size)
        reaction = (verb, (noun.tree, *add_adjuncts(w, second - 2 - size)))
    return opening, _say(w, refer(subject.pronoun), reaction)


def _acquire(w: Writer, subject: Nominal, sense: str, room: int, *, people: bool = False) -> tuple[Clause, Novelty]:
    """Return a clause whose object is mentioned for the first time, and that mention; `people` asks for a person."""
    group = _choose_group(w, sense, people)
    new = introduce(w, group.objects(w.random), room - 2)
    rest: tuple[Tree, ...] = (new.phrase.tree,)
    if 5 < room < 8:
        rest += add_adjuncts(w, room - 5)
    predicate = build_finite(w, group.verbs(w.random), rest, subject.agreement)
    return Clause(subject, predicate), new


def _choose_group(w: Writer, sense: str, people: bool) -> VerbGroup:
    if people:
        return _MEETINGS(w.random)
    group = GROUPS_BY_SUBJECT[sense](w.random)
    while "body" in group.objects.items:
        group = GROUPS_BY_SUBJECT[sense](w.random)
    return group


def _describe_new(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `she bought a ring , and the ring was golden`."""
    pronoun = _mirror(w, 0.08)
    opening, new = _acquire(w, refer(pronoun), "animal" if pronoun == IT else "person", first)
    subject = define(w, new.sense, 2, new.noun, plural=new.plural)
    return opening, _say_more(w, subject, new.sense, second - 2)


def _call_new(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `Mary bought a ring , and it was golden`."""
    opening, new = _acquire(w, name_person(w), "person", first, people=w.random() < 0.6)
    return opening, _say_more(w, refer(new.phrase.pronoun), new.sense, second - 1)


def _use(w: Writer, subject: Nominal, new: Novelty, room: int) -> Clause:
    """Return a clause whose object is the pronoun of an earlier mention."""
    groups = GROUPS_BY_OBJECT[new.sense]
    group = groups(w.random)
    while "person" not in group.subjects:
        group = groups(w.random)
    obj = refer(new.phrase.pronoun, obj=True).tree
    rest = add_adjuncts(w, room - 2, tool=group.tool, manner=True)
    return Clause(subject, build_finite(w, group.verbs(w.random), (obj, *rest), subject.agreement))


def _use_new(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `she baked a cake , and Tom ate it`."""
    pronoun = _mirror(w, 0.35)
    opening, new = _acquire(w, refer(pronoun), "animal" if pronoun == IT else "person", first)
    return opening, _use(w, name_person(w), new, second - 1)


def _pass_on(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `the cook baked a cake , and the children ate it`."""
    used = 1 if w.random() < 0.5 else 2
    giver, taker = name_two(w) if used == 1 else define_two(w, 2, 2)
    opening, new = _acquire(w, giver, "person", first - used + 1)
    return opening, _use(w, taker, new, second - used)


def _compare(w: Writer, first: int, second: int, *, echo: Tree) -> Pair:
    """Return two clauses like `the king slept , but the queen did not`, in which `not` is the echo."""
    if w.random() < 0.4:
        subject, other = name_two(w)
    else:
        subject, other = define_two(w, 2 if first < 9 else 3, max(2, min(second - 3, 7)))
    verb, rest = choose_predicate(w, "person", first - 2)
    opening = Clause(subject, build_finite(w, verb, rest, subject.agreement))
    auxiliary = conjugate(w, BE if verb is BE else DO, other.agreement)
    return opening, Clause(other, ("VP", (auxiliary, echo)))


_LOSSES: Choice[Tree] = weigh({("VB", "miss"): 1.0, ("VB", "lose"): 1.0})


def _warn(w: Writer, first: int, second: int) -> Pair:
    """Return two clauses like `he must hurry , or he will miss the race`."""
    w.past = False
    pronoun = THEY if w.random() < 0.4 else HE if w.random() < 0.5 else SHE
    subject = refer(pronoun)
    verb, rest = go(w, "person", first - 2) if w.random() < 0.6 else act_toward(w, "person", max(first - 2, 3))
    opening = Clause(subject, ("VP", (("MD", "must" if w.random() < 0.6 else "should"), ("VP", (verb.base, *rest)))))
    loss = _LOSSES(w.random)
    noun = describe(w, "event" if loss[1] == "miss" else "treasure", max(min(second - 3, 4), 2))
    rest = (noun.tree, *add_adjuncts(w, second - 7))
    return opening, Clause(subject, ("VP", (("MD", "will"), ("VP", (loss, *rest)))))


_BUT: Tree = ("CC", "but")
_OR: Tree = ("CC", "or")
_CONJUNCTIONS = weigh({AND: 7.0, _BUT: 2.0})
_KINDS: Choice[tuple[Callable[[Writer, int, int], Pair], Choice[Tree]]] = weigh({
    (_tell_sequence, weigh({AND: 1.0})): 10.0,
    (_tell_reaction, weigh({AND: 1.0})): 14.0,
    (_call_new, _CONJUNCTIONS): 10.0,
    (_describe_new, _CONJUNCTIONS): 24.0,
    (_use_new, _CONJUNCTIONS): 10.0,
    (_pass_on, _CONJUNCTIONS): 12.0,
    (partial(_compare, echo=_AS_WELL), weigh({AND: 1.0})): 7.0,
    (partial(_compare, echo=NOT), weigh({_BUT: 4.0, AND: 1.0})): 7.0,
    (_warn, weigh({_OR: 1.0})): 6.0,
})  # fmt: skip


def join_clauses(w: Writer, room: int, *, comma: bool = False) -> Tree:
    """Return a sentence of the form S_CC_S_ or S_,_CC_S_."""
    w.plain = True
    room -= 2 + comma
    kind, conjunctions = _KINDS(w.random)
    share = 0.5 if w.random() < 0.4 else 0.3 + 0.4 * w.random()
    size = max(3, int(room * share))
    first, second = kind(w, size, max(room - size, 3))
    conjunction = conjunctions(w.random)
    opened = int(w.random() * 10) if conjunction is AND else -1
    beginning = _open(w, first) if opened == 0 else first.tree
    end = _open(w, second) if opened == 1 else second.tree
    return ("S", (beginning, *((COMMA,) if comma else ()), conjunction, end, STOP))


def _open(w: Writer, clause: Clause) -> Tree:
    """Return the clause with an adverb before it."""
    lone = len(clause.subject.tree[1]) == 1
    word = "then" if w.past or w.random() < 0.5 else "now"
    # Between a pronoun and its verb, `then` would be English too: `and he then slept`.
    adverb: Tree = ("RB", "so") if lone else ("ADVP", (("RB", word),))
    return ("S", (adverb, clause.subject.tree, clause.predicate))
