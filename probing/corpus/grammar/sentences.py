"""The kinds of sentences and their weights; a kind is named by the labels directly below the top node."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from probing.corpus.grammar.auxiliaries import build_finite, choose_pattern
from probing.corpus.grammar.clauses import ANY, EVENT, choose_person, choose_predicate, link_event, say_clause
from probing.corpus.grammar.coordination import join_clauses
from probing.corpus.grammar.lexicon import COMMA, IT, PERSONS, STOP, TO, WHAT, WHO, Choice, weigh, zipf_leaves
from probing.corpus.grammar.nominals import choose_agent, extend, relate, say_noun_phrase
from probing.corpus.grammar.openings import (
    HABITS,
    MANNERS,
    come,
    comment,
    name_activity,
    open_with_adverb,
    open_with_gerund,
    open_with_place,
    open_with_purpose,
    open_with_time,
    show_mood,
)
from probing.corpus.grammar.phrases import FLAT, SINGULAR, Writer, count, describe, refer
from probing.corpus.grammar.predicates import Kind, act_on
from probing.corpus.grammar.questions import (
    ask_about_state,
    ask_now,
    ask_what,
    ask_whether,
    ask_why,
    choose_group,
    invert_place,
    order,
    request,
)
from probing.corpus.grammar.verbs import BE, zipf_verbs
from probing.corpus.readers import Tree

Opener = Callable[[Writer, int], Tree]
"""Function that makes a sentence, or the beginning of one, of about as many tokens as requested."""

_CONJUNCTIONS: Choice[Tree] = weigh({("CC", "but"): 5.0, ("CC", "and"): 5.0, ("CC", "yet"): 1.0})
_SO: Choice[Tree] = weigh({("IN", "so"): 4.0, ("IN", "for"): 1.0})
_MAYBE: Choice[Tree] = weigh({("RB", "maybe"): 4.0, ("RB", "perhaps"): 4.0})
_INTERJECTIONS = zipf_leaves("UH", "yes no oh well", label="INTJ")
_JUDGMENTS = zipf_leaves("JJ", "easy difficult important dangerous")
_UNKNOWN = zipf_leaves("JJ", "unclear obvious clear unknown important")
_EFFECTS = zipf_verbs("surprise annoy")
_OPINIONS = zipf_leaves("JJ", "good bad silly clever brilliant terrible wonderful strange")


def _finish(label: str, *parts: Tree) -> Tree:
    return (label, (*parts, STOP))


def state_fact(w: Writer, room: int) -> Tree:
    """Return a sentence of the form NP_VP_."""
    clause = say_clause(w, room - 1)
    return _finish("S", clause.subject.tree, clause.predicate)


def begin_with(w: Writer, room: int, *, opener: Opener, comma: bool = False, kind: Kind | None = None) -> Tree:
    """Return a sentence that begins with an opening before the subject; a long one has a comma."""
    size = max(3, int((room - 5) * (0.25 + 0.35 * w.random())))
    opening = opener(w, size if comma else min(size, 4))
    sense = None if kind is None else "person"
    choice = EVENT if opener in (open_with_time, open_with_adverb) else ANY
    clause = say_clause(w, room - 1 - count(opening) - comma, lone=False, kind=kind, sense=sense, choice=choice)
    return _finish("S", opening, *((COMMA,) if comma else ()), clause.subject.tree, clause.predicate)


def begin_with_clause(w: Writer, room: int, *, comma: bool = False, conjunction: bool = False) -> Tree:
    """Return a sentence like `when the king slept , he dreamed of a horse`; a long clause has a comma."""
    start = (_CONJUNCTIONS(w.random),) if conjunction else ()
    size = max(3, int((room - 5) * (0.25 + 0.35 * w.random())))
    sense = choose_person(w) if w.random() < 0.8 else w.scene.subjects(w.random)
    while sense not in w.scene.by_subject:
        sense = choose_person(w)
    style, w.style, w.timed = w.style, w.style if comma else FLAT, True
    event = say_clause(w, size if comma else min(size, 4), sense=sense, choice=EVENT, lone=False)
    while not comma and _needs_comma(event.predicate):
        event = say_clause(w, 6, sense=sense, choice=EVENT, lone=False)
    w.style = style
    again = sense in PERSONS and event.subject.pronoun != IT and w.random() < 0.5
    opening = link_event(w, event, again=again)
    clause = say_clause(
        w,
        room - 1 - count(opening) - comma - conjunction,
        subject=refer(event.subject.pronoun) if again else None,
        sense=sense if again else choose_person(w),
        choice=EVENT,
        lone=False,
    )
    return _finish("S", *start, opening, *((COMMA,) if comma else ()), clause.subject.tree, clause.predicate)


def _needs_comma(tree: Tree) -> bool:
    """Return whether the last word is a name, pronoun or verb, after which the next subject could be misread."""
    while not isinstance(tree[1], str):
        tree = tree[1][-1]
    return tree[0] not in ("NN", "NNS")


def begin_with_word(w: Writer, room: int, *, words: Choice[Tree]) -> Tree:
    """Return a sentence of the form CC_NP_VP_, IN_NP_VP_ or RB_NP_VP_."""
    clause = say_clause(w, room - 2, lone=False)
    return _finish("S", words(w.random), clause.subject.tree, clause.predicate)


def continue_with_adverb(w: Writer, room: int) -> Tree:
    """Return a sentence of the form CC_ADVP_NP_VP_."""
    adverb = open_with_adverb(w, 1)
    # After a pronoun, the adverb could change places with it: `but he soon slept`.
    clause = say_clause(w, room - 3, least=2, choice=EVENT)
    return _finish("S", _CONJUNCTIONS(w.random), adverb, clause.subject.tree, clause.predicate)


def state_manner(w: Writer, room: int) -> Tree:
    """Return a sentence of the form NP_ADVP_VP_."""
    size = 1 if w.random() < 0.3 or room < 6 else 2 + int(w.random() * (room - 5) * 0.4)
    if w.style > FLAT:
        # No relative clause: the adverb could change places with its verb.
        size = min(size, 4)
    sense = choose_person(w)
    while sense not in w.scene.by_subject:
        sense = choose_person(w)
    subject = say_noun_phrase(w, sense, size)
    w.owner = subject.pronoun
    habit = w.random() < 0.35
    w.timed = True
    while True:
        verb, rest = act_on(w, sense, room - 2 - size)
        if verb.willed or habit:
            break
    rest = tuple(part for part in rest if part[0] != "ADVP" or len(part[1]) > 1)
    adverb = (HABITS if habit else MANNERS)(w.random)
    return _finish("S", subject.tree, adverb, build_finite(w, verb, rest, subject.agreement))


def name_thing(w: Writer, room: int) -> Tree:
    """Return a sentence of the form NP_PP_."""
    while True:
        w.placed = False
        sense = w.scene.subjects(w.random)
        size = 2 if room < 8 or w.random() < 0.4 else 3
        phrase = extend(w, describe(w, sense, size).tree, sense, room - size - 1)
        if len(phrase[1]) == 2 and phrase[1][1][0] == "PP":
            return _finish("NP", *phrase[1])


def name_thing_with_clause(w: Writer, room: int) -> Tree:
    """Return a sentence of the form NP_SBAR_."""
    sense = w.scene.subjects(w.random)
    head = describe(w, sense, 2)
    return _finish("NP", head.tree, relate(w, sense, head.agreement, room - 3, bare=False))


def state_about_clause(w: Writer, room: int) -> Tree:
    """Return a sentence of the form SBAR_VP_."""
    size = min(max(3, int((room - 4) * (0.3 + 0.5 * w.random()))), 9)
    x = w.random()
    if x < 0.4:
        return _finish("S", *_reveal(w, size, room - size - 1))
    if x < 0.7:
        link: Tree = ("IN", "that" if w.random() < 0.7 else "whether")
        topic: Tree = ("SBAR", (link, say_clause(w, size - 1, lone=False, choice=EVENT).tree))
        if link[1] == "that":
            return _finish("S", topic, _judge(w, room - size - 1, fact=True))
    else:
        verb, rest = choose_predicate(w, "person", max(size - 1, 4), EVENT)
        while rest and rest[0][0] == "NP" and len(rest[0][1]) == 1:
            # `who saw Mary` and `who Mary saw` are both English: no swap would be seen.
            verb, rest = choose_predicate(w, "person", max(size - 1, 4), EVENT)
        topic = ("SBAR", (WHO, ("S", (build_finite(w, verb, rest, SINGULAR),))))
    return _finish("S", topic, _call_unknown(w, room - size - 1))


def _reveal(w: Writer, size: int, room: int) -> tuple[Tree, Tree]:
    """Return a subject and a predicate like `what the king ate` and `was a cake`."""
    group = choose_group(w)
    subject = say_noun_phrase(w, choose_agent(w, group), min(max(size - 2, 1), 3), lone=False)
    w.owner = subject.pronoun
    gap = build_finite(w, group.verbs(w.random), (), subject.agreement)
    sense = group.objects(w.random)
    thing = describe(w, sense, 2 if room > 5 else max(room - 1, 2), plural=False).tree
    if room > 5:
        thing = extend(w, thing, sense, room - 3)
    return ("SBAR", (WHAT, ("S", (subject.tree, gap)))), build_finite(w, BE, (thing,), SINGULAR)


def _call_unknown(w: Writer, room: int) -> Tree:
    """Return a predicate like `is obvious` or `was unclear to the king`."""
    quality = _UNKNOWN(w.random)
    if room < 5:
        return build_finite(w, BE, (("ADJP", (quality,)),), SINGULAR, choose_pattern(w, room))
    knower = say_noun_phrase(w, "person", room - 3, obj=True)
    return build_finite(w, BE, (("ADJP", (quality, ("PP", (TO, knower.tree)))),), SINGULAR)


def state_about_activity(w: Writer, room: int) -> Tree:
    """Return a sentence of the form S_VP_."""
    size = max(3, int((room - 4) * (0.3 + 0.4 * w.random())))
    return _finish("S", name_activity(w, size), _judge(w, room - size - 1))


def _judge(w: Writer, room: int, *, fact: bool = False) -> Tree:
    """Return a predicate that fits an activity or, if so requested, a fact."""
    x = w.random()
    if (fact or x < 0.5) and room > 2:
        person = say_noun_phrase(w, "person", room - 1, obj=True)
        return build_finite(w, _EFFECTS(w.random), (person.tree,), SINGULAR)
    pattern = choose_pattern(w, room) if x < 0.6 else 0
    if x < 0.75 and room > 2:
        idea: Tree = ("NP", (("DT", "a"), _OPINIONS(w.random), ("NN", "idea")))
        return build_finite(w, BE, (idea,), SINGULAR, pattern)
    whom: tuple[Tree, ...] = ()
    if room > 4:
        whom = (("PP", (("IN", "for"), say_noun_phrase(w, "person", room - 3, obj=True).tree)),)
    return build_finite(w, BE, (("ADJP", (_JUDGMENTS(w.random), *whom)),), SINGULAR, pattern)


def exclaim(w: Writer, room: int) -> Tree:
    """Return a sentence of the form INTJ_,_NP_VP_."""
    clause = say_clause(w, room - 3)
    return _finish("S", _INTERJECTIONS(w.random), COMMA, clause.subject.tree, clause.predicate)


def continue_command(w: Writer, room: int) -> Tree:
    """Return a sentence of the form CC_VP_."""
    _, command = order(w, room - 1)
    return ("S", (_CONJUNCTIONS(w.random), *command))


def continue_with_place(w: Writer, room: int) -> Tree:
    """Return a sentence of the form CC_PP_NP_VP_."""
    opening = open_with_place(w, max(3, min((room - 4) // 3, 5)))
    clause = say_clause(w, room - 2 - count(opening), lone=False)
    return _finish("S", _CONJUNCTIONS(w.random), opening, clause.subject.tree, clause.predicate)


def name_things(w: Writer, room: int) -> Tree:
    """Return a sentence of the form NP_CC_NP_."""
    sense = choose_person(w)
    first = say_noun_phrase(w, sense, min(max(room // 2 - 1, 2), 3))
    second = say_noun_phrase(w, sense, min(max(room - room // 2 - 1, 2), 3))
    return _finish("NP", first.tree, ("CC", "and"), second.tree)


SENTENCES: Choice[Opener] = weigh({
    state_fact: 22.0,
    join_clauses: 10.0,
    partial(join_clauses, comma=True): 16.0,
    partial(begin_with, opener=open_with_adverb): 2.6,
    continue_with_adverb: 2.6,
    partial(begin_with_word, words=_CONJUNCTIONS): 2.6,
    partial(begin_with_word, words=_SO): 2.6,
    state_manner: 2.6,
    partial(begin_with, opener=open_with_time): 2.6,
    name_thing: 2.6,
    partial(begin_with, opener=open_with_place): 2.6,
    partial(begin_with_word, words=_MAYBE): 2.6,
    begin_with_clause: 2.6,
    state_about_clause: 2.8,
    partial(begin_with, opener=open_with_purpose, kind=come): 2.6,
    state_about_activity: 2.6,
    ask_whether: 2.6,
    order: 2.6,
    ask_why: 2.6,
    ask_what: 2.6,
    partial(begin_with, opener=comment, comma=True): 1.5,
    partial(begin_with, opener=open_with_place, comma=True): 1.5,
    partial(begin_with_clause, comma=True): 5.0,
    partial(begin_with, opener=open_with_purpose, comma=True, kind=come): 1.5,
    partial(begin_with, opener=open_with_gerund, comma=True, kind=show_mood): 1.5,
    exclaim: 1.5,
    ask_now: 1.5,
    ask_about_state: 0.6,
    request: 0.6,
    invert_place: 0.6,
    continue_command: 0.6,
    continue_with_place: 0.6,
    partial(begin_with_clause, conjunction=True): 0.6,
    name_thing_with_clause: 0.6,
    name_things: 0.6,
})  # fmt: skip

LONG_SENTENCES: Choice[Opener] = weigh({
    state_fact: 4.0,
    partial(begin_with_clause, comma=True): 6.0,
    partial(begin_with_word, words=_CONJUNCTIONS): 2.0,
    partial(join_clauses, comma=True): 2.0,
    exclaim: 2.0,
})  # fmt: skip
"""Kinds of sentences that often become as long as is asked."""
