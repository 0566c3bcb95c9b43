"""Forms of Halvic words: every form is known, and from its text alone one can tell the word and its ending."""

from __future__ import annotations

from typing import NamedTuple

from probing.corpus.language.inflection import (
    AGREEING,
    CASE_NAMES,
    GENDER_NAMES,
    NOUN_CASES,
    NOUN_PLURALS,
    PERSONAL,
)
from probing.corpus.language.stems import draw


class Form(NamedTuple):
    """A word in one of its forms."""

    text: str
    word: str
    """English lemma and class of the word, like `paint.v`: two words with one stem are never confused."""
    stem: str
    features: str
    """What the ending says: `or` for an agreeing word, `3PL` for a finite verb, `ADN` for an adposition in a noun
    phrase."""
    gloss: str
    particle: str = ""
    """Particle that is joined to the verb."""


class NounForms(NamedTuple):
    """A noun, name or pronoun in one number: its forms by case, and what agrees with it."""

    word: str
    gender: int
    person: int
    """Person and number of a verb that has it as its subject."""
    sense: str
    """Sense in the English lexicon; empty for names and pronouns."""
    cases: tuple[Form, Form, Form, Form]


FORMS: dict[str, Form] = {}
"""Text of each form of the language -> the form."""


def add(form: Form) -> Form:
    """Enter a form into the language and return it; of forms with one text, the first counts."""
    FORMS.setdefault(form.text, form)
    return form


def agree(word: str, stem: str, gloss: str, genders: int = PERSONAL) -> tuple[Form, ...]:
    """Return the forms of a determiner or adjective, at gender * 4 + case."""
    return tuple(
        add(Form(stem + ending, word, stem, ending, f"{gloss}.{GENDER_NAMES[index // 4]}.{CASE_NAMES[index % 4]}"))
        for index, ending in enumerate(AGREEING[: genders * 4])
    )


def decline(word: str, stem: str, gloss: str) -> tuple[tuple[Form, ...], tuple[Form, ...]]:
    """Return the forms of a noun by case, singular and plural; its class follows from the word."""
    plural = NOUN_PLURALS[draw(f"class {word}", len(NOUN_PLURALS))]
    return _decline(word, stem, "", f"{gloss}.SG"), _decline(word, stem, plural, f"{gloss}.PL")


def _decline(word: str, stem: str, mark: str, gloss: str) -> tuple[Form, ...]:
    return tuple(
        add(Form(stem + mark + ending, word, stem, mark + ending, f"{gloss}.{CASE_NAMES[case]}"))
        for case, ending in enumerate(NOUN_CASES)
    )


def keep(text: str, word: str, gloss: str, features: str = "") -> Form:
    """Return a word that has one form only."""
    return add(Form(text, word, text, features, gloss))
