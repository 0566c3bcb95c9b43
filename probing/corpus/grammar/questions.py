"""Questions and commands of the grammar."""

from __future__ import annotations

from probing.corpus.grammar.auxiliaries import build_finite, choose_modal, conjugate
from probing.corpus.grammar.clauses import ANY, EVENT, choose_predicate
from probing.corpus.grammar.lexicon import (
    ADJECTIVES,
    NOT,
    NOUNS,
    PERSONS,
    STOP,
    WHAT,
    WHEN,
    WHO,
    YOU,
    Choice,
    weigh,
    zipf,
)
from probing.corpus.grammar.nominals import choose_agent, locate, say_noun_phrase
from probing.corpus.grammar.phrases import PLURAL, SINGULAR, Nominal, Writer, describe
from probing.corpus.grammar.predicates import Kind, act_on, act_toward, act_with_particle, add_adjuncts, give, go
from probing.corpus.grammar.verbs import BE, DO, HAVE, VerbGroup, inflect_all
from probing.corpus.readers import Tree

QUESTION_MARK: Tree = (".", "?")
_EXCLAMATION: Tree = (".", "!")
_DO: Tree = ("VB", "do")
_WHERE: Tree = ("WHADVP", (("WRB", "where"),))
_WHY: Tree = ("WHADVP", (("WRB", "why"),))
_HOW: Tree = ("WHADVP", (("WRB", "how"),))
_ADVERBS = weigh({_WHY: 4.0, _HOW: 1.0, _WHERE: 1.5, WHEN: 1.5})
_COMMANDS: Choice[Kind] = weigh({act_on: 6.0, go: 2.0, act_toward: 2.0, act_with_particle: 2.0, give: 2.0})
_PLEASE: Tree = ("ADVP", (("RB", "please"),))


def _invert(
    w: Writer, subject: Nominal, sense: str, room: int, choice: int = ANY, *, modal: bool = True
) -> tuple[Tree, Tree, Tree]:
    """Return an auxiliary, the subject and the rest of a question."""
    x = w.random()
    w.owner = subject.pronoun
    if x < 0.2 and modal:
        verb, rest = choose_predicate(w, sense, room - 1, EVENT)
        while verb.stative and verb is not BE:
            verb, rest = choose_predicate(w, sense, room - 1, EVENT)
        return choose_modal(w), subject.tree, ("VP", (verb.base, *rest))
    w.dated = w.past and x > 0.45
    verb, rest = choose_predicate(w, sense, room - 1, choice)
    while verb is BE and rest[0][0] != "VP":
        verb, rest = choose_predicate(w, sense, room - 1, choice)
    if verb is BE:
        return conjugate(w, BE, subject.agreement), subject.tree, rest[0]
    if x < 0.35 and verb.willed:
        return conjugate(w, BE, subject.agreement), subject.tree, ("VP", (verb.gerund, *rest))
    if x < 0.45 and w.past:
        return conjugate(w, HAVE, subject.agreement), subject.tree, ("VP", (verb.participle, *rest))
    return conjugate(w, DO, subject.agreement), subject.tree, ("VP", (verb.base, *rest))


def _choose_subject(w: Writer, room: int) -> tuple[Nominal, str, int]:
    sense = w.scene.subjects(w.random)
    size = 1 if w.random() < 0.35 else 2 if room < 8 else 2 + int(w.random() * (room - 5) * 0.4)
    return say_noun_phrase(w, sense, size), sense, room - size


def ask_whether(w: Writer, room: int) -> Tree:
    """Return a sentence like `did the king sleep ?`, always in the past, so that it begins with a VBD."""
    w.past = True
    subject, sense, room = _choose_subject(w, room - 1)
    return ("SQ", (*_invert(w, subject, sense, room, modal=False), QUESTION_MARK))


def ask_now(w: Writer, room: int) -> Tree:
    """Return a sentence like `can the king sleep ?` or `does the king sleep ?`."""
    w.past = False
    subject, sense, room = _choose_subject(w, room - 1)
    return ("SQ", (*_invert(w, subject, sense, room), QUESTION_MARK))


def ask_about_state(w: Writer, room: int) -> Tree:
    """Return a sentence like `was the king old ?`."""
    subject, sense, room = _choose_subject(w, room - 1)
    state: Tree = ("ADJP", (ADJECTIVES[sense](w.random).leaf,))
    return ("SQ", (conjugate(w, BE, subject.agreement), subject.tree, state, QUESTION_MARK))


def ask_why(w: Writer, room: int) -> Tree:
    """Return a sentence like `why did the king sleep ?`."""
    opener = _ADVERBS(w.random)
    w.placed, w.timed = opener is _WHERE, opener is WHEN
    if opener is _WHY:
        subject, sense, room = _choose_subject(w, room - 2)
        return ("SBARQ", (opener, ("SQ", _invert(w, subject, sense, room)), QUESTION_MARK))
    group = choose_group(w)
    size = 1 if w.random() < 0.35 else 2 if room < 10 else 2 + int(w.random() * (room - 7) * 0.4)
    subject = say_noun_phrase(w, choose_agent(w, group), size)
    w.owner = subject.pronoun
    noun = say_noun_phrase(w, group.objects(w.random), room - size - 3, obj=True)
    verb = group.verbs(w.random)
    while not verb.willed:
        verb = group.verbs(w.random)
    action: Tree = ("VP", (verb.base, noun.tree))
    question: Tree = ("SQ", (conjugate(w, DO, subject.agreement), subject.tree, action))
    return ("SBARQ", (opener, question, QUESTION_MARK))


def choose_group(w: Writer) -> VerbGroup:
    """Return actions of the scene that persons do to things."""
    while True:
        group = w.scene.groups[int(w.random() * len(w.scene.groups))]
        if PERSONS.issuperset(group.subjects) and PERSONS.isdisjoint(group.objects.items):
            return group


def ask_what(w: Writer, room: int) -> Tree:
    """Return a sentence like `what did the king eat ?`, `who ate the cake ?` or `which king ate the cake ?`."""
    if w.random() < 0.5:
        return ("SBARQ", (*_ask_subject(w, room - 1), QUESTION_MARK))
    group = w.scene.by_subject["person"](w.random)
    sense = group.objects(w.random)
    opener = WHO if sense in PERSONS else WHAT
    if w.random() < 0.3:
        opener, _ = _say_which(w, sense)
    size = 1 if w.random() < 0.35 or room < 7 else 2
    if room > 9:
        size = 2 + int(w.random() * (room - 6) * 0.5)
    subject = say_noun_phrase(w, "person", size)
    rest = add_adjuncts(w, room - size - 4, places=group.places)
    verb = group.verbs(w.random)
    auxiliary = conjugate(w, DO, subject.agreement) if w.random() < 0.75 else choose_modal(w)
    return ("SBARQ", (opener, ("SQ", (auxiliary, subject.tree, ("VP", (verb.base, *rest)))), QUESTION_MARK))


def _ask_subject(w: Writer, room: int) -> tuple[Tree, Tree]:
    opener, agreement = _say_which(w, "person") if w.random() < 0.4 else (WHO, SINGULAR)
    verb, rest = choose_predicate(w, "person", room - len(opener[1]))
    return opener, ("SQ", (build_finite(w, verb, rest, agreement),))


def _say_which(w: Writer, sense: str) -> tuple[Tree, int]:
    """Return an opener like `which king`, and its agreement."""
    plural = w.random() < 0.5
    noun = NOUNS[sense](w.random)
    return ("WHNP", (("WDT", "which"), noun.plural if plural else noun.singular)), PLURAL if plural else SINGULAR


def order(w: Writer, room: int) -> Tree:
    """Return a sentence like `close the door .` or `do not close the door !`."""
    return ("S", (_say_command(w, room - 1), _EXCLAMATION if w.random() < 0.2 else STOP))


def request(w: Writer, room: int) -> Tree:
    """Return a sentence like `please close the door .`."""
    return ("S", (_PLEASE, _say_command(w, room - 2), STOP))


def _say_command(w: Writer, room: int) -> Tree:
    w.owner = YOU
    negative = room > 4 and w.random() < 0.25
    w.past = w.dated = False
    verb, rest = _COMMANDS(w.random)(w, "person", room - 2 * negative)
    while not verb.willed:
        verb, rest = _COMMANDS(w.random)(w, "person", room - 2 * negative)
    plain: Tree = ("VP", (verb.base, *rest))
    return ("VP", (_DO, NOT, plain)) if negative else plain


_INVERTING = zipf(inflect_all("stand sit wait rest"), shift=1.0)


def invert_place(w: Writer, room: int) -> Tree:
    """Return a sentence like `in the garden stood an old king .`."""
    size = max(room // 2, 3)
    noun = describe(w, "person", 2 if room < 8 else 3, indefinite=True)
    verb = _INVERTING(w.random)
    return ("SINV", (locate(w, size, w.scene.places), ("VP", (conjugate(w, verb, noun.agreement),)), noun.tree, STOP))
