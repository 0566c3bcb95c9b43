"""Questions and commands of the grammar."""

from __future__ import annotations

from probing.corpus.grammar.auxiliaries import build_finite, choose_modal, conjugate
from probing.corpus.grammar.clauses import SUBJECTS, choose_predicate
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
from probing.corpus.grammar.nominals import locate, say_noun_phrase
from probing.corpus.grammar.phrases import PLURAL, SINGULAR, Nominal, Writer, describe
from probing.corpus.grammar.predicates import Kind, act_on, act_toward, act_with_particle, add_adjuncts, give, go
from probing.corpus.grammar.verbs import BE, DO, GROUPS, HAVE, inflect_all, weigh_by_size
from probing.corpus.readers import Tree

QUESTION_MARK: Tree = (".", "?")
_EXCLAMATION: Tree = (".", "!")
_DO: Tree = ("VB", "do")
_WHERE: Tree = ("WHADVP", (("WRB", "where"),))
_WHY: Tree = ("WHADVP", (("WRB", "why"),))
_HOW: Tree = ("WHADVP", (("WRB", "how"),))
_REASONS = weigh({_WHY: 3.0, _HOW: 2.0})
_CIRCUMSTANCES = weigh({_WHERE: 1.0, WHEN: 1.0, _WHY: 1.0})
_ASKED_GROUPS = weigh_by_size([group for group in GROUPS if "person" in group.subjects and group.places])
_COMMANDS: Choice[Kind] = weigh({act_on: 6.0, go: 2.0, act_toward: 2.0, act_with_particle: 2.0, give: 2.0})
_PLEASE: Tree = ("ADVP", (("RB", "please"),))


def _invert(w: Writer, subject: Nominal, sense: str, room: int) -> tuple[Tree, Tree, Tree]:
    """Return an auxiliary, the subject and the rest of a question."""
    x = w.random()
    verb, rest = choose_predicate(w, sense, room - 1)
    if x < 0.2 or (verb is BE and rest[0][0] != "VP"):
        return choose_modal(w), subject.tree, ("VP", (verb.base, *rest))
    if verb is BE:
        return conjugate(w, BE, subject.agreement), subject.tree, rest[0]
    if x < 0.35 and not verb.stative:
        return conjugate(w, BE, subject.agreement), subject.tree, ("VP", (verb.gerund, *rest))
    if x < 0.45 and w.past:
        return conjugate(w, HAVE, subject.agreement), subject.tree, ("VP", (verb.participle, *rest))
    return conjugate(w, DO, subject.agreement), subject.tree, ("VP", (verb.base, *rest))


def _choose_subject(w: Writer, room: int) -> tuple[Nominal, str, int]:
    sense = SUBJECTS(w.random)
    size = 1 if w.random() < 0.35 else 2 if room < 8 else 2 + int(w.random() * (room - 5) * 0.4)
    return say_noun_phrase(w, sense, size), sense, room - size


def ask_whether(w: Writer, room: int) -> Tree:
    """Return a sentence like `did the king sleep ?`, always in the past, so that it begins with a VBD."""
    w.past = True
    subject, sense, room = _choose_subject(w, room - 1)
    parts = _invert(w, subject, sense, room)
    while parts[0][0] == "MD":
        parts = _invert(w, subject, sense, room)
    return ("SQ", (*parts, QUESTION_MARK))


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
    subject, sense, room = _choose_subject(w, room - 2)
    w.owner = subject.pronoun
    if sense == "person" and w.random() < 0.4:
        group = _ASKED_GROUPS(w.random)
        noun = say_noun_phrase(w, group.objects(w.random), room - 1, obj=True)
        action: Tree = ("VP", (group.verbs(w.random).base, noun.tree))
        question: Tree = ("SQ", (conjugate(w, DO, subject.agreement), subject.tree, action))
        return ("SBARQ", (_CIRCUMSTANCES(w.random), question, QUESTION_MARK))
    return ("SBARQ", (_REASONS(w.random), ("SQ", _invert(w, subject, sense, room)), QUESTION_MARK))


def ask_what(w: Writer, room: int) -> Tree:
    """Return a sentence like `what did the king eat ?`, `who ate the cake ?` or `which king ate the cake ?`."""
    if w.random() < 0.5:
        return ("SBARQ", (*_ask_subject(w, room - 1), QUESTION_MARK))
    group = _ASKED_GROUPS(w.random)
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
    verb, rest = _COMMANDS(w.random)(w, "person", room - 2 * negative)
    while verb.stative:
        verb, rest = _COMMANDS(w.random)(w, "person", room - 2 * negative)
    plain: Tree = ("VP", (verb.base, *rest))
    return ("VP", (_DO, NOT, plain)) if negative else plain


_INVERTING = zipf(inflect_all("stand sit wait rest"), shift=1.0)


_STANDING = weigh({"person": 4.0, "soldier": 1.0, "officer": 1.0, "mount": 1.0, "pet": 1.0})


def invert_place(w: Writer, room: int) -> Tree:
    """Return a sentence like `behind the house stood an old king .`."""
    size = max(room // 2, 3)
    noun = describe(w, _STANDING(w.random), 2 if room < 8 else 3)
    verb = _INVERTING(w.random)
    return ("SINV", (locate(w, size), ("VP", (conjugate(w, verb, noun.agreement),)), noun.tree, STOP))
