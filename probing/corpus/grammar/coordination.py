"""Two coordinate clauses in one sentence."""

from __future__ import annotations

from collections.abc import Callable

from probing.corpus.grammar.clauses import Clause
from probing.corpus.grammar.lexicon import AND, COMMA, STOP, Choice, weigh
from probing.corpus.grammar.phrases import Writer
from probing.corpus.grammar.stories import (
    Pair,
    call_new,
    contrast,
    describe_new,
    liken,
    pass_on,
    tell_reaction,
    tell_sequence,
    use_new,
    warn,
)
from probing.corpus.readers import Tree

_BUT: Tree = ("CC", "but")
_OR: Tree = ("CC", "or")
_CONJUNCTIONS = weigh({AND: 7.0, _BUT: 2.0})
_KINDS: Choice[tuple[Callable[[Writer, int, int], Pair], Choice[Tree]]] = Choice(
    (
        (tell_sequence, weigh({AND: 1.0})),
        (tell_reaction, weigh({AND: 1.0})),
        (call_new, _CONJUNCTIONS),
        (describe_new, _CONJUNCTIONS),
        (use_new, _CONJUNCTIONS),
        (pass_on, _CONJUNCTIONS),
        (liken, weigh({AND: 1.0})),
        (contrast, weigh({_BUT: 4.0, AND: 1.0})),
        (warn, weigh({_OR: 1.0})),
    ),
    (10.0, 14.0, 10.0, 24.0, 10.0, 12.0, 7.0, 7.0, 6.0),
)


def join_clauses(w: Writer, room: int) -> Tree:
    """Return a sentence of the form S_CC_S_."""
    first, conjunction, second = _pair(w, room - 2)
    return ("S", (first, conjunction, second, STOP))


def join_clauses_with_comma(w: Writer, room: int) -> Tree:
    """Return a sentence of the form S_,_CC_S_."""
    first, conjunction, second = _pair(w, room - 3)
    return ("S", (first, COMMA, conjunction, second, STOP))


def _pair(w: Writer, room: int) -> tuple[Tree, Tree, Tree]:
    w.plain = True
    kind, conjunctions = _KINDS(w.random)
    share = 0.5 if w.random() < 0.4 else 0.3 + 0.4 * w.random()
    size = max(3, int(room * share))
    first, second = kind(w, size, max(room - size, 3))
    conjunction = conjunctions(w.random)
    opened = int(w.random() * 10) if conjunction is AND else -1
    return (
        _open(w, first) if opened == 0 else first.tree,
        conjunction,
        _open(w, second) if opened == 1 else second.tree,
    )


def _open(w: Writer, clause: Clause) -> Tree:
    """Return the clause with an adverb before it."""
    lone = len(clause.subject.tree[1]) == 1
    word = "then" if w.past or w.random() < 0.5 else "now"
    # Between a pronoun and its verb, `then` would be English too: `and he then slept`.
    adverb: Tree = ("RB", "so") if lone else ("ADVP", (("RB", word),))
    return ("S", (adverb, clause.subject.tree, clause.predicate))
