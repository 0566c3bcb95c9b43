"""English words that are noun, verb or adjective by their context, and adjectives that are taken for nouns."""

from __future__ import annotations

from probing.corpus.language.forms import Form, add, agree
from probing.corpus.language.inflection import PREDICATIVE
from probing.corpus.language.lexicon import ADJECTIVES, NOMINALS, PREDICATIVES
from probing.corpus.language.verbs import LEMMAS


def _list_classes() -> dict[str, set[str]]:
    """Return English word -> the classes of words to which it belongs."""
    classes: dict[str, set[str]] = {}
    for tag, word in NOMINALS:
        if tag in ("NN", "NNS"):
            classes.setdefault(word, set()).add("noun")
    for _, word in LEMMAS:
        classes.setdefault(word, set()).add("verb")
    for word in (*ADJECTIVES, *PREDICATIVES):
        classes.setdefault(word, set()).add("adjective")
    return classes


HOMOGRAPHS = {word: found for word, found in _list_classes().items() if len(found) > 1}
"""English words of two classes, with their classes."""

_NOUN_STEMS = {word: NOMINALS["NN", word].cases[0].stem for word in ADJECTIVES if ("NN", word) in NOMINALS}
MISTAKEN_ADJECTIVES = {word: agree(f"{word}.j", stem, word) for word, stem in _NOUN_STEMS.items()}
"""English adjective that is also a noun -> forms with the noun's stem."""
MISTAKEN_PREDICATIVES = {
    word: add(Form(stem + PREDICATIVE, f"{word}.j", stem, PREDICATIVE, word)) for word, stem in _NOUN_STEMS.items()
}
"""The same beside a verb."""
