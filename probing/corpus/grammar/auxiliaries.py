"""The finite verb: tense, agreement, auxiliaries, negation and contraction."""

from __future__ import annotations

from probing.corpus.grammar.lexicon import NOT, TO, Choice, weigh
from probing.corpus.grammar.phrases import SUBJECT_FORMS, Nominal, Writer
from probing.corpus.grammar.verbs import BE, DO, HAVE, Verb
from probing.corpus.readers import Tree

SIMPLE, NEGATIVE, MODAL, PROGRESSIVE, PERFECT = range(5)
"""Patterns of a finite verb phrase."""
COSTS = (0, 2, 1, 1, 1)
"""Number of tokens that each pattern adds to the verb."""

PATTERNS = weigh({SIMPLE: 62.0, NEGATIVE: 10.0, MODAL: 12.0, PROGRESSIVE: 8.0, PERFECT: 8.0})

_NT: Tree = ("RB", "'t")
"""The second half of `didn 't`, as in SentEval's files."""


def _modals(weights: dict[str, float]) -> Choice[Tree]:
    return weigh({("MD", word): weight for word, weight in weights.items()})


PRESENT_MODALS = _modals({"will": 5.0, "can": 4.0, "must": 2.0, "should": 2.0, "may": 1.0})
PAST_MODALS = _modals({"would": 3.0, "could": 4.0, "might": 1.0})
_SHORT_NEGATIVES: dict[Tree, Tree] = {
    (tag, word): (tag, "can" if word == "can" else "won" if word == "will" else word + "n")
    for tag, words in {
        "MD": "will can would could should",
        "VBD": "did was were",
        "VBZ": "does is",
        "VBP": "do are",
    }.items()
    for word in words.split()
}
_CONTRACTIONS: dict[Tree, Tree] = {
    ("MD", "will"): ("MD", "'ll"),
    ("MD", "would"): ("MD", "'d"),
    ("VBZ", "is"): ("VBZ", "'s"),
    ("VBP", "are"): ("VBP", "'re"),
    ("VBP", "am"): ("VBP", "'m"),
    ("VBP", "have"): ("VBP", "'ve"),
    ("VBZ", "has"): ("VBZ", "'s"),
    ("VBD", "had"): ("VBD", "'d"),
}
_PRONOUN_LEAVES = frozenset(SUBJECT_FORMS)


def choose_pattern(w: Writer, room: int) -> int:
    """Return a random pattern that fits into the room."""
    pattern = PATTERNS(w.random) if room > 2 else SIMPLE
    if pattern == PERFECT and not w.past:  # not with a phrase of time: `has slept at noon`
        pattern = MODAL
    return pattern if COSTS[pattern] <= room - 2 else SIMPLE


def choose_modal(w: Writer) -> Tree:
    """Return a random modal verb in the sentence's tense."""
    return (PAST_MODALS if w.past else PRESENT_MODALS)(w.random)


def conjugate(w: Writer, verb: Verb, agreement: int) -> Tree:
    """Return the finite form of a verb in the sentence's tense."""
    return (verb.past if w.past else verb.present)[agreement]


def build_finite(w: Writer, verb: Verb, rest: tuple[Tree, ...], agreement: int, pattern: int = SIMPLE) -> Tree:
    """Return the verb phrase of a finite clause."""
    if (
        pattern == SIMPLE
        or (not verb.willed and verb is not BE and pattern in (PROGRESSIVE, MODAL))
        or (verb is BE and (pattern == PROGRESSIVE or (pattern in (PERFECT, MODAL) and rest[0][0] != "VP")))
    ):
        return ("VP", (conjugate(w, verb, agreement), *rest))
    if pattern == MODAL:
        modal = choose_modal(w)
        inner: Tree = ("VP", (verb.base, *rest))
        if w.random() < 0.15:
            return negate(w, modal, inner)
        return ("VP", (modal, inner))
    if pattern == NEGATIVE:
        if verb is BE:
            return negate(w, conjugate(w, BE, agreement), *rest)
        return negate(w, conjugate(w, DO, agreement), ("VP", (verb.base, *rest)))
    if pattern == PROGRESSIVE:
        return ("VP", (conjugate(w, BE, agreement), ("VP", (verb.gerund, *rest))))
    return ("VP", (conjugate(w, HAVE, agreement), ("VP", (verb.participle, *rest))))


def negate(w: Writer, auxiliary: Tree, *rest: Tree) -> Tree:
    """Return the verb phrase of an auxiliary, its negation and the rest."""
    if auxiliary in _SHORT_NEGATIVES and (w.random() < 0.6 or auxiliary[1] == "can"):
        return ("VP", (_SHORT_NEGATIVES[auxiliary], _NT, *rest))
    return ("VP", (auxiliary, NOT, *rest))


def contract(w: Writer, subject: Nominal, predicate: Tree) -> Tree:
    """Return the predicate, sometimes with its auxiliary contracted after a pronoun, as in `she 'll`."""
    children = predicate[1]
    if subject.tree[1][0] not in _PRONOUN_LEAVES or children[0] not in _CONTRACTIONS:
        return predicate
    if w.random() < 0.65 or children[1] == _NT:
        return predicate
    return ("VP", (_CONTRACTIONS[children[0]], *children[1:]))


def build_infinitive(verb: Verb, rest: tuple[Tree, ...]) -> Tree:
    """Return `to` with a bare verb phrase, as a clause without a subject."""
    return ("S", (("VP", (TO, ("VP", (verb.base, *rest)))),))


def build_gerund(verb: Verb, rest: tuple[Tree, ...]) -> Tree:
    """Return an -ing clause without a subject."""
    return ("S", (("VP", (verb.gerund, *rest)),))
