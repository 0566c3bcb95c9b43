"""Openings, which stand before the subject of a sentence: adverbs, phrases of time and place, clauses."""

from __future__ import annotations

from probing.corpus.grammar.auxiliaries import build_gerund, build_infinitive
from probing.corpus.grammar.clauses import ACTION, MAX_NESTING, choose_predicate
from probing.corpus.grammar.lexicon import NUMBERS, UNITS, zipf_leaves
from probing.corpus.grammar.nominals import approach, locate
from probing.corpus.grammar.phrases import FLAT, Writer, tell_time
from probing.corpus.grammar.predicates import Predicate, act_on
from probing.corpus.grammar.verbs import GOAL_VERBS, zipf_verbs
from probing.corpus.readers import Tree

COMMENTS = zipf_leaves(
    "RB", "fortunately unfortunately surprisingly apparently luckily naturally meanwhile obviously", label="ADVP"
)
"""Adverbs that need a comma."""
_PAST_ADVERBS = zipf_leaves("RB", "suddenly soon finally later afterwards eventually then", label="ADVP")
_PRESENT_ADVERBS = zipf_leaves("RB", "usually sometimes now often occasionally", label="ADVP")
MANNERS = zipf_leaves("RB", "quietly secretly gladly eagerly calmly proudly happily", label="ADVP")
HABITS = zipf_leaves("RB", "never often always rarely seldom", label="ADVP")
_LAST = zipf_leaves("NN", "night week year month summer winter spring")
_DAYS = zipf_leaves("NN", "morning day evening afternoon year week")
_LATER: Tree = ("RB", "later")
_MOODS = zipf_verbs("smile sigh")


def open_with_adverb(w: Writer, room: int) -> Tree:
    """Return an opening like `suddenly` or `two days later`."""
    w.timed = True
    if not w.past:
        return _PRESENT_ADVERBS(w.random)
    if room > 2 and w.random() < 0.25:
        return ("ADVP", (("NP", (NUMBERS(w.random), UNITS(w.random))), _LATER))
    return _PAST_ADVERBS(w.random)


def comment(w: Writer, room: int) -> Tree:
    """Return an adverb like `fortunately`, which needs a comma."""
    return COMMENTS(w.random)


def open_with_time(w: Writer, room: int) -> Tree:
    """Return a noun phrase of time, like `last night`, `every morning` or `that year`."""
    w.timed = True
    x = w.random()
    if x < 0.2:
        return ("NP", (("NN", "yesterday" if w.past else "today"),))
    if w.past and x < 0.6:
        return ("NP", (("JJ", "last"), _LAST(w.random)))
    return ("NP", (("DT", "that" if w.past and x < 0.8 else "every"), _DAYS(w.random)))


def open_with_place(w: Writer, room: int) -> Tree:
    """Return a prepositional phrase of place or time."""
    if room > 3 and w.random() < 0.55:
        return locate(w, room, w.scene.places)
    dated, w.dated = w.dated, False
    (phrase,) = tell_time(w, room)
    w.dated = dated
    return phrase


def open_with_purpose(w: Writer, room: int) -> Tree:
    """Return an opening like `to find the ring`."""
    return build_infinitive(*_intend(w, room - 1))


def open_with_gerund(w: Writer, room: int) -> Tree:
    """Return an opening like `leaving the house`."""
    return build_gerund(*_intend(w, room))


def _intend(w: Writer, room: int) -> Predicate:
    style, w.style = w.style, w.style if w.random() < 0.5 else FLAT
    w.timed = w.placed = True
    while True:
        verb, rest = act_on(w, "person", 4)
        # After a single word, the subject that follows could be misread: `to visit Mary the king hurried home`.
        if verb.willed and len(rest[0][1]) > 1:
            w.style, w.timed, w.placed = style, False, False
            return verb, rest


def show_mood(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate that goes with another action, like `smiled`."""
    return _MOODS(w.random), ()


def come(w: Writer, sense: str, room: int) -> Predicate:
    """Return a predicate with a purpose, like `hurried to the garden`."""
    return GOAL_VERBS(w.random), (approach(w, min(room - 1, 4)), *tell_time(w, room - 5))


def name_activity(w: Writer, room: int) -> Tree:
    """Return a clause that is a subject, like `leaving the house` or `to leave the house`."""
    w.timed, w.nesting = True, MAX_NESTING
    verb, rest = choose_predicate(w, "person", max(room - 1, 2), ACTION)
    return build_infinitive(verb, rest) if verb.stative or w.random() < 0.3 else build_gerund(verb, rest)
