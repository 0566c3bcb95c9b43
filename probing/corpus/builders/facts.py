"""What the builders need to know of a sentence, whatever kind of tree it came with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

QUOTES: Final = frozenset('"“”„«»')
"""Double quotes of any style."""


Target = tuple[str, str]
"""A label, and the word form that it was read off (lower-cased)."""


class Facts(NamedTuple):
    """One sentence as the builders see it; where a task has no answer, the text says why."""

    tokens: tuple[str, ...]
    depth: int
    top: str
    """The sequence of constituents right below the sentence node (or of the root's dependents); empty if excluded."""
    tense: Target | str
    subject: Target | str
    object: Target | str
    clauses: tuple[int, int, int] | str
    """Two coordinate clauses are tokens[:a] and tokens[b:c]; the conjunction lies between them."""
    kinds: str
    """The word class within which each noun or verb may replace another, `-` for all other tokens; spaces between."""
    proper: bool
    """Whether the first token is a proper noun, which keeps its capital anywhere."""


def is_word(token: str) -> bool:
    """Return whether a token is more than punctuation."""
    return token.isalpha() or any(map(str.isalnum, token))


def bag_of_words(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the lower-cased tokens in order of the alphabet: the same for all orders of a sentence."""
    return tuple(sorted(map(str.lower, tokens)))
