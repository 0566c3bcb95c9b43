"""A translation in the making: which rule is left out, and what has been noted about the phenomena on the way."""

from __future__ import annotations

from collections.abc import Sequence

from probing.corpus.language.forms import Form, NounForms

Note = tuple[str, ...]
"""Name of a phenomenon, and the words that show it."""


class Draft:
    """Notes that the rules of transfer take while one sentence is translated, and the rule that is left out."""

    __slots__ = ("combinations", "notes", "without")

    def __init__(self, without: str | None) -> None:
        self.without = without
        """Phenomenon whose rule is left out."""
        self.notes: list[Note] = []
        self.combinations: list[tuple[str, str]] = []
        """Each word in a construction by which the corpus can be divided."""


def find_anchor(forms: Sequence[Form]) -> str:
    """Return what a check looks for: the last noun, verb, adjective, adverb or pronoun of a phrase, or nothing."""
    for form in reversed(forms):
        if form.word.endswith((".n", ".v", ".j", ".rb")):
            return form.word
        if form.word.endswith(".p"):
            return form.text
    return ""


def identify(noun: NounForms, case: int) -> str:
    """Return what a check looks for: a noun in any form, but a pronoun in this one, since pronouns are repeated."""
    return noun.cases[case].text if noun.word.endswith(".p") else noun.word
