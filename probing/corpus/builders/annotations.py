"""The annotations of a sentence that the builders use, the same for both kinds of trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

QUOTES: Final = frozenset('"“”„«»')
"""Double quotes of any style."""

_ENGLISH, _GERMANIC, _ROMANCE = "and & both", "und sowie och og en", "et y e i și"
_SLAVIC, _OTHERS = "и і та й i a oraz in", "ja sekä ning ve ile és και"
AND: Final = frozenset(" ".join((_ENGLISH, _GERMANIC, _ROMANCE, _SLAVIC, _OTHERS)).split())
"""Conjunctions that make a plural of what they join, in the languages of most treebanks."""

Target = tuple[str, str]
"""Label, and the word form (lower-cased) that determines it."""


class Annotations(NamedTuple):
    """The annotations of one sentence; a text in place of a label is the reason why the sentence has none."""

    tokens: tuple[str, ...]
    depth: int
    """Depth of the tree."""
    top: str
    """Sequence of the constituents below the sentence node (or of the root's dependents); empty if excluded."""
    tense: Target | str
    """Tense of the main verb."""
    subject: Target | str
    """Number of the main clause's subject."""
    object: Target | str
    """Number of the main clause's direct object."""
    clauses: tuple[int, int, int] | str
    """Bounds (a, b, c) of two coordinate clauses, tokens[:a] and tokens[b:c], with the conjunction between them."""
    kinds: str
    """Word class of each noun or verb, and `-` for each other token, separated by spaces."""
    proper: bool
    """Whether the first token is a proper noun, which keeps its capital at any position."""


def is_word(token: str) -> bool:
    """Return whether a token has a letter or digit."""
    return token.isalpha() or any(map(str.isalnum, token))


def has_words(tokens: Sequence[str]) -> bool:
    """Return whether a sentence has words, and no more masked ones (`___`) and numbers than words."""
    words = sum(map(str.isalpha, tokens))
    if words and 2 * words >= len(tokens):
        return True
    words = sum(any(map(str.isalpha, token)) for token in tokens)
    others = sum((is_word(token) or not token.strip("_")) and not any(map(str.isalpha, token)) for token in tokens)
    return words >= max(1, others)


def bag_of_words(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the lower-cased tokens in alphabetical order, which are the same for all orders of a sentence."""
    return tuple(sorted(map(str.lower, tokens)))
