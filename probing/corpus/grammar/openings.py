"""Openings, which stand before the subject of a sentence: adverbs, phrases of time and place, clauses."""

from __future__ import annotations

from probing.corpus.grammar.auxiliaries import build_gerund, build_infinitive
from probing.corpus.grammar.clauses import say_clause
from probing.corpus.grammar.lexicon import NUMBERS, UNITS, WHEN, Choice, weigh, zipf_leaves
from probing.corpus.grammar.nominals import locate
from probing.corpus.grammar.phrases import FLAT, Writer, describe, tell_time
from probing.corpus.grammar.predicates import Kind, act_on, give, go
from probing.corpus.readers import Tree

ADVERBS = zipf_leaves(
    "RB",
    "suddenly finally soon fortunately usually sometimes unfortunately surprisingly apparently meanwhile eventually "
    "clearly obviously luckily naturally afterwards later",
    label="ADVP",
)
CONNECTING_ADVERBS = zipf_leaves("RB", "then now suddenly finally soon still later usually sometimes", label="ADVP")
PLACE_ADVERBS = zipf_leaves("RB", "outside upstairs inside downstairs here there", label="ADVP")
"""Adverbs that cannot stand between a pronoun and its verb, even after a swap."""
PREVERBAL_ADVERBS = zipf_leaves(
    "RB", "never always often rarely quickly secretly really hardly quietly carefully proudly simply", label="ADVP"
)
ACTIONS: Choice[Kind] = weigh({go: 1.0})
"""Kinds of predicates for actions that have a purpose."""
_ACTIVITIES: Choice[Kind] = weigh({act_on: 6.0, go: 2.0, give: 1.0})
_LAST = zipf_leaves("NN", "night week year month summer winter spring")
_DAYS = zipf_leaves("NN", "morning day evening afternoon year week")
_LATER: Tree = ("RB", "later")
_LINKS = zipf_leaves("IN", "while before after although as")


def open_with_adverb(w: Writer, room: int) -> Tree:
    """Return an opening like `suddenly` or `two days later`."""
    if room > 2 and w.past and w.random() < 0.25:
        w.timed = True
        return ("ADVP", (("NP", (NUMBERS(w.random), UNITS(w.random))), _LATER))
    return ADVERBS(w.random)


def open_with_time(w: Writer, room: int) -> Tree:
    """Return a noun phrase of time, like `last night`, `every morning` or `this year`."""
    w.timed = True
    x = w.random()
    if x < 0.2:
        return ("NP", (("NN", "yesterday" if w.past else "today"),))
    if w.past and x < 0.6:
        return ("NP", (("JJ", "last"), _LAST(w.random)))
    if x < 0.8:
        return ("NP", (("DT", "every"), _DAYS(w.random)))
    return ("NP", (("DT", "that" if w.past else "this"), _DAYS(w.random)))


def open_with_place(w: Writer, room: int) -> Tree:
    """Return a prepositional phrase of place or time."""
    x = w.random()
    if room > 3 and x < 0.55:
        return locate(w, room)
    if room > 4 and x < 0.75:
        preposition: Tree = ("IN", "after" if w.random() < 0.5 else "before")
        return ("PP", (preposition, describe(w, "occasion", 3, plural=False).tree))
    phrase = tell_time(w, room)
    return phrase if phrase[0] == "PP" else locate(w, room)


def open_with_clause(w: Writer, room: int) -> Tree:
    """Return an opening like `when the king slept`."""
    w.eventful = True
    clause = say_clause(w, max(room - 1, 2))
    w.eventful = False
    return ("SBAR", (WHEN if w.random() < 0.3 else _LINKS(w.random), clause.tree))


def open_with_purpose(w: Writer, room: int) -> Tree:
    """Return an opening like `to find the ring` or `leaving the house`."""
    style, w.style = w.style, w.style if w.random() < 0.5 else FLAT
    verb, rest = act_on(w, "person", min(room - 1, 7))
    w.style = style
    if w.random() < 0.5 or verb.stative:
        return build_infinitive(verb, rest)
    return build_gerund(verb, rest)


def name_activity(w: Writer, room: int) -> Tree:
    """Return a clause that is a subject, like `leaving the house` or `to leave the house`."""
    verb, rest = _ACTIVITIES(w.random)(w, "person", max(room - 1, 2))
    if verb.stative or w.random() < 0.3:
        return build_infinitive(verb, rest)
    return build_gerund(verb, rest)
