"""Translation of the grammar's sentences into Halvic: from the gold tree, label by label."""

from __future__ import annotations

from typing import NamedTuple

from probing.corpus.language.checks import Check, make_checks
from probing.corpus.language.draft import Draft
from probing.corpus.language.forms import Form
from probing.corpus.language.lexicon import Phrase
from probing.corpus.language.phenomena import PHENOMENA
from probing.corpus.language.sentences import say_sentence
from probing.corpus.readers import ParsedSentence, Tree

LANGUAGE_NAME = "Halvic"
LANGUAGE_CODE = "qhv"
"""Code of the language, from those that ISO 639 leaves for private use."""
LANGUAGE_VERSION = 1
"""Version of the language; it changes whenever the same sentence gets another translation or other checks."""


class Pair(NamedTuple):
    """An English sentence of the grammar and its translation."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    tree: Tree
    checks: tuple[Check, ...]
    gloss: tuple[str, ...]
    """Meaning of each word of the translation."""


def transfer(sentence: ParsedSentence, *, without: str | None = None) -> tuple[list[Form], Draft]:
    """Return the words of the translation, and what was noted on the way."""
    if sentence.tree is None:
        raise ValueError("a sentence of the grammar has a tree")
    draft = Draft(without)
    out: list[Form] = []
    say_sentence(draft, _lower_first(sentence.tree[1][0]), out)  # type: ignore[arg-type]
    return out, draft


def translate(sentence: ParsedSentence, *, without: str | None = None) -> Pair:
    """Return a sentence of the grammar with its translation; `without` leaves out the rule of one phenomenon."""
    if without is not None and without not in PHENOMENA:
        raise ValueError(f"without must be one of {', '.join(PHENOMENA)}. Got {without!r} instead")
    words, draft = transfer(sentence, without=without)
    return Pair(
        source=sentence.tokens,
        target=tuple(form.text for form in words),
        tree=sentence.tree,  # type: ignore[arg-type]
        checks=make_checks(draft.notes, words),
        gloss=tuple(form.gloss for form in words),
    )


def _lower_first(tree: Phrase) -> Phrase:
    """Return a tree whose first word is written as it would be in the middle of a sentence."""
    label, children = tree
    if isinstance(children, str):
        return tree if label == "NNP" or children == "I" else (label, children.lower())
    return label, (_lower_first(children[0]), *children[1:])
