"""The form of a translator's source text: prose or tokens with spaces between, with or without capitals.

Sentences of tokens that a translator is to read are written in the form of the text that it was trained on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MARKS = frozenset(".,?!;:…。，？！")
"""Marks that prose writes at the end of a word, and tokenised text alone."""


@dataclass(frozen=True, slots=True)
class TextForm:
    """How sentences are written."""

    prose: bool
    """Whether marks stand at words, as in prose, and not as tokens of their own."""
    lowercase: bool
    """Whether there are no capitals."""

    @classmethod
    def find(cls, lines: Iterable[str]) -> TextForm:
        """Return the form of a text: prose if more marks stand at words than alone."""
        attached, alone, has_letters, has_capitals = 0, 0, False, False
        for line in lines:
            words = line.split()
            alone += sum(word in MARKS for word in words)
            attached += sum(word[-1] in MARKS for word in words if len(word) > 1)
            has_letters = has_letters or line.upper() != line
            has_capitals = has_capitals or line.lower() != line
        return cls(prose=attached > alone, lowercase=has_letters and not has_capitals)
