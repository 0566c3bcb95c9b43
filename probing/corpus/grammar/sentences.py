"""The kinds of sentences and their weights; a kind is named by the labels directly below the top node."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from probing.corpus.grammar.auxiliaries import build_finite, choose_pattern
from probing.corpus.grammar.clauses import SUBJECTS, choose_predicate, say_adverbial, say_clause
from probing.corpus.grammar.coordination import join_clauses
from probing.corpus.grammar.lexicon import (
    COMMA,
    PERSONS,
    SPOTS,
    STOP,
    TO,
    WHAT,
    WHO,
    Choice,
    weigh,
    zipf_leaves,
)
from probing.corpus.grammar.mentions import define
from probing.corpus.grammar.nominals import MODIFIERS, PLACES, choose_agent, locate, relate, say_noun_phrase
from probing.corpus.grammar.openings import (
    ACTIONS,
    CONNECTING_ADVERBS,
    PLACE_ADVERBS,
    PREVERBAL_ADVERBS,
    name_activity,
    open_with_adverb,
    open_with_clause,
    open_with_place,
    open_with_purpose,
    open_with_time,
)
from probing.corpus.grammar.phrases import FLAT, SINGULAR, Writer, describe
from probing.corpus.grammar.predicates import Kind, act_on
from probing.corpus.grammar.questions import (
    ask_about_state,
    ask_now,
    ask_what,
    ask_whether,
    ask_why,
    invert_place,
    order,
    request,
)
from probing.corpus.grammar.verbs import BE, GROUPS, GROUPS_BY_SUBJECT, weigh_by_size
from probing.corpus.readers import Tree

Opener = Callable[[Writer, int], Tree]
"""Function that makes a sentence, or the beginning of one, of about as many tokens as requested."""

_CONJUNCTIONS: Choice[Tree] = weigh({("CC", "but"): 5.0, ("CC", "and"): 5.0, ("CC", "or"): 1.0, ("CC", "yet"): 1.0})
_SO: Choice[Tree] = weigh({("IN", "so"): 4.0, ("IN", "for"): 1.0})
_MAYBE: Choice[Tree] = weigh({("RB", "maybe"): 4.0, ("RB", "perhaps"): 4.0, ("RB", "then"): 4.0})
_INTERJECTIONS = zipf_leaves("UH", "yes no oh well", label="INTJ")
_JUDGMENTS = zipf_leaves("JJ", "easy difficult important dangerous clever silly strange")
_UNKNOWN = zipf_leaves("JJ", "unclear obvious clear unknown important")
_MODIFIABLE = Choice(MODIFIERS, [0.0 if sense in SPOTS else 1.0 for sense in MODIFIERS])
_THING_GROUPS = weigh_by_size(
    [group for group in GROUPS if "person" in group.subjects and not PERSONS & set(group.objects.items)]
)


def _finish(label: str, *parts: Tree) -> Tree:
    return (label, (*parts, STOP))


def state_fact(w: Writer, room: int) -> Tree:
    """Return a sentence of the form NP_VP_."""
    clause = say_clause(w, room - 1)
    return _finish("S", clause.subject.tree, clause.predicate)


_SCENES = weigh_by_size(
    [
        group
        for group in GROUPS
        if group.places is not None and not {"kin", "parent", "body"} & {group.subjects[0], *group.objects.items}
    ]
)


def state_scene(w: Writer, room: int) -> Tree:
    """Return a plain sentence like `the cook fried the onions in the kitchen`, whatever the room."""
    group = _SCENES(w.random)
    sense = choose_agent(w, group)
    subject = define(w, "person" if sense in ("kin", "parent") else sense, 2)
    thing = define(w, group.objects(w.random), 2)
    place = locate(w, 2, group.places or PLACES)
    return _finish("S", subject.tree, build_finite(w, group.verbs(w.random), (thing.tree, place), subject.agreement))


def begin_with(w: Writer, room: int, *, opener: Opener, comma: bool = False, kinds: Choice[Kind] | None = None) -> Tree:
    """Return a sentence that begins with an opening before the subject."""
    opening = opener(w, max(3, int((room - 5) * (0.25 + 0.35 * w.random()))))
    clause = say_clause(w, room - 1 - count(opening) - comma, lone=False, kinds=kinds)
    return _finish("S", opening, *((COMMA,) if comma else ()), clause.subject.tree, clause.predicate)


def count(tree: Tree) -> int:
    """Return the number of tokens of a tree."""
    children = tree[1]
    return 1 if isinstance(children, str) else sum(map(count, children))


def begin_with_word(w: Writer, room: int, *, words: Choice[Tree]) -> Tree:
    """Return a sentence of the form CC_NP_VP_, IN_NP_VP_ or RB_NP_VP_."""
    clause = say_clause(w, room - 2, lone=False)
    return _finish("S", words(w.random), clause.subject.tree, clause.predicate)


def continue_with_adverb(w: Writer, room: int) -> Tree:
    """Return a sentence of the form CC_ADVP_NP_VP_."""
    if w.random() < 0.3:
        adverb, clause = PLACE_ADVERBS(w.random), say_clause(w, room - 3, lone=False)
    else:
        adverb, clause = CONNECTING_ADVERBS(w.random), say_clause(w, room - 3, least=2)
    return _finish("S", _CONJUNCTIONS(w.random), adverb, clause.subject.tree, clause.predicate)


def state_manner(w: Writer, room: int) -> Tree:
    """Return a sentence of the form NP_ADVP_VP_."""
    size = 1 if w.random() < 0.3 or room < 6 else 2 + int(w.random() * (room - 5) * 0.4)
    if w.style > FLAT:
        # No relative clause: the adverb could change places with its verb.
        size = min(size, 4)
    sense = SUBJECTS(w.random) if w.random() < 0.4 else "person"
    while sense not in PERSONS or sense not in GROUPS_BY_SUBJECT:
        sense = SUBJECTS(w.random)
    subject = say_noun_phrase(w, sense, size)
    verb, rest = act_on(w, sense, room - 2 - size)
    rest = tuple(part for part in rest if part[0] != "ADVP" or len(part[1]) > 1)
    return _finish("S", subject.tree, PREVERBAL_ADVERBS(w.random), build_finite(w, verb, rest, subject.agreement))


def name_thing(w: Writer, room: int) -> Tree:
    """Return a sentence of the form NP_PP_."""
    sense = _MODIFIABLE(w.random)
    size = 2 if room < 8 or w.random() < 0.4 else 3
    return _finish("NP", describe(w, sense, size).tree, locate(w, room - size - 1, MODIFIERS[sense]))


def name_thing_with_clause(w: Writer, room: int) -> Tree:
    """Return a sentence of the form NP_SBAR_."""
    sense = SUBJECTS(w.random)
    head = describe(w, sense, 2)
    return _finish("NP", head.tree, relate(w, sense, head.agreement, room - 3, bare=False))


def state_about_clause(w: Writer, room: int) -> Tree:
    """Return a sentence of the form SBAR_VP_."""
    size = max(3, int((room - 4) * (0.3 + 0.5 * w.random())))
    x = w.random()
    if x < 0.4:
        return _finish("S", *_reveal(w, size, room - size - 1))
    if x < 0.7:
        link: Tree = ("IN", "that" if w.random() < 0.7 else "whether")
        topic: Tree = ("SBAR", (link, say_clause(w, size - 1, lone=False).tree))
        if link[1] == "that":
            return _finish("S", topic, _judge(w, room - size - 1))
    else:
        verb, rest = choose_predicate(w, "person", size - 1)
        while rest and rest[0][0] == "NP" and len(rest[0][1]) == 1:
            # `who saw Mary` and `who Mary saw` are both English: no swap would be seen.
            verb, rest = choose_predicate(w, "person", size - 1)
        topic = ("SBAR", (WHO, ("S", (build_finite(w, verb, rest, SINGULAR),))))
    return _finish("S", topic, _call_unknown(w, room - size - 1))


def _reveal(w: Writer, size: int, room: int) -> tuple[Tree, Tree]:
    """Return a subject and a predicate like `what the king ate` and `was a cake`."""
    group = _THING_GROUPS(w.random)
    subject = say_noun_phrase(w, "person", max(size - 2, 1), lone=False)
    gap = build_finite(w, group.verbs(w.random), (), subject.agreement)
    sense = group.objects(w.random)
    if room < 6:
        thing = describe(w, sense, max(room - 1, 2), plural=False).tree
    else:
        thing = ("NP", (describe(w, sense, 2, plural=False).tree, locate(w, room - 3, MODIFIERS[sense])))
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


def _judge(w: Writer, room: int) -> Tree:
    """Return a predicate that fits a fact or an activity."""
    x = w.random()
    pattern = choose_pattern(w, room) if x < 0.3 else 0
    if x < 0.6 and room > 2:
        verb, rest = act_on(w, "tale", room)
        return build_finite(w, verb, rest, SINGULAR, pattern)
    if x < 0.8 and room > 2:
        idea = describe(w, "plan", min(room - 1, 4), plural=False, indefinite=True)
        return build_finite(w, BE, (idea.tree,), SINGULAR)
    rest = (("ADJP", (_JUDGMENTS(w.random),)),)
    if room > 7:
        rest += (say_adverbial(w, room - 3),)
    elif room > 4:
        quality = _JUDGMENTS(w.random)
        person = say_noun_phrase(w, "person", room - 3, obj=True)
        rest = (("ADJP", (quality, ("PP", (("IN", "for"), person.tree)))),)
    return build_finite(w, BE, rest, SINGULAR)


def exclaim(w: Writer, room: int) -> Tree:
    """Return a sentence of the form INTJ_,_NP_VP_."""
    clause = say_clause(w, room - 3)
    return _finish("S", _INTERJECTIONS(w.random), COMMA, clause.subject.tree, clause.predicate)


def continue_command(w: Writer, room: int) -> Tree:
    """Return a sentence of the form CC_VP_."""
    _, command = order(w, room - 1)
    return ("S", (_CONJUNCTIONS(w.random), *command))


def continue_with(w: Writer, room: int, *, opener: Opener, least: int, parts: int) -> Tree:
    """Return a sentence of the form CC_PP_NP_VP_ or CC_SBAR_NP_VP_; the opening is one of `parts` equal parts."""
    opening = opener(w, max(least, (room - 4) // parts))
    clause = say_clause(w, room - 2 - count(opening), lone=False)
    return _finish("S", _CONJUNCTIONS(w.random), opening, clause.subject.tree, clause.predicate)


def name_things(w: Writer, room: int) -> Tree:
    """Return a sentence of the form NP_CC_NP_."""
    sense = SUBJECTS(w.random)
    first = say_noun_phrase(w, sense, max(room // 2 - 1, 2))
    second = say_noun_phrase(w, sense, max(room - room // 2 - 1, 2))
    return _finish("NP", first.tree, ("CC", "and"), second.tree)


SENTENCES: Choice[Opener] = weigh({
    state_scene: 65.0,
    state_fact: 16.0,
    join_clauses: 12.0,
    partial(join_clauses, comma=True): 17.0,
    partial(begin_with, opener=open_with_adverb): 2.4,
    continue_with_adverb: 2.4,
    partial(begin_with_word, words=_CONJUNCTIONS): 2.4,
    partial(begin_with_word, words=_SO): 2.4,
    state_manner: 2.4,
    partial(begin_with, opener=open_with_time): 2.4,
    name_thing: 2.4,
    partial(begin_with, opener=open_with_place): 2.4,
    partial(begin_with_word, words=_MAYBE): 2.4,
    partial(begin_with, opener=open_with_clause): 2.4,
    state_about_clause: 2.6,
    partial(begin_with, opener=open_with_purpose, kinds=ACTIONS): 2.4,
    state_about_activity: 2.4,
    ask_whether: 2.4,
    order: 2.4,
    ask_why: 2.4,
    ask_what: 2.4,
    partial(begin_with, opener=open_with_adverb, comma=True): 1.5,
    partial(begin_with, opener=open_with_place, comma=True): 2.0,
    partial(begin_with, opener=open_with_clause, comma=True): 2.5,
    partial(begin_with, opener=open_with_purpose, comma=True, kinds=ACTIONS): 2.0,
    exclaim: 1.5,
    ask_now: 1.5,
    ask_about_state: 0.6,
    request: 0.6,
    invert_place: 0.6,
    continue_command: 0.6,
    partial(continue_with, opener=open_with_place, least=3, parts=3): 0.6,
    partial(continue_with, opener=open_with_clause, least=4, parts=2): 0.6,
    name_thing_with_clause: 0.6,
    name_things: 0.6,
})  # fmt: skip
