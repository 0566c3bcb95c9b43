"""Nouns, names, adjectives and adverbs of Halvic, by the leaf of the English tree that they translate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probing.corpus.grammar import nouns
from probing.corpus.grammar.inflection import inflect_plural
from probing.corpus.grammar.lexicon import ADJECTIVES as ENGLISH_ADJECTIVES
from probing.corpus.grammar.lexicon import HE, IT, NOUN_LEMMAS, NOUNS, SHE
from probing.corpus.grammar.lexicon import PERSONS as ENGLISH_PERSONS
from probing.corpus.grammar.verbs import VERB_LEMMAS
from probing.corpus.language.forms import Form, NounForms, add, agree, decline, keep
from probing.corpus.language.inflection import (
    COMPARATIVE,
    ENDINGS,
    FEMININE,
    MASCULINE,
    NEUTER,
    PLURAL,
    PREDICATIVE,
    THIRD,
    THIRD_PLURAL,
)
from probing.corpus.language.particles import DETERMINERS, EXPLETIVE, FUNCTION_TEXTS, LITTLE_WORDS, PRONOUNS
from probing.corpus.language.stems import Mint, draw

_TIMES = (
    "night week year month summer winter spring autumn morning day evening afternoon noon midnight dawn sunset hour "
    "minute"
)
_ADJECTIVES = (
    "ready eager glad afraid willing sure certain aware ill unclear obvious clear easy thirsty bored last important "
    "difficult dangerous unknown happy proud tired hungry nervous good bad silly clever brilliant terrible wonderful "
    "strange cold sick sad rich curious"
)
"""Adjectives of the kinds of sentences, some of which the lexicon has too."""
_ADVERBS = (
    "often ago gladly very calmly sometimes unfortunately rather perhaps afterwards so home happily maybe extremely "
    "away suddenly secretly finally always then occasionally usually later quietly never meanwhile rarely eventually "
    "now luckily fortunately obviously soon proudly naturally apparently eagerly seldom surprisingly too quite"
)
_TITLES = "Mr. Mrs. Doctor Miss Professor"
_NAMES = " ".join((nouns.MEN, nouns.WOMEN, nouns.SURNAMES, nouns.CITIES, nouns.WEEKDAYS, nouns.MONTHS))

_ENGLISH = {*map(str, (*NOUN_LEMMAS, *VERB_LEMMAS)), *" ".join((_TIMES, _ADJECTIVES, _ADVERBS, _NAMES)).split()}
MINT = Mint(ENDINGS, _ENGLISH | FUNCTION_TEXTS)
"""Source of all stems, which are drawn in the order of this module and then of the verbs."""

Leaf = tuple[str, str]
"""Tag and English word."""
Phrase = tuple[str, Any]
"""A tree of the grammar: a label and children, or a tag and a word."""


def _list_nouns() -> Iterator[tuple[str, str, int]]:
    """Yield each common noun with its sense and its gender: natural, or else by hash; a person is never neuter."""
    for sense, choice in NOUNS.items():
        for noun in choice.items:
            lemma = str(noun.singular[1])
            drawn = draw(f"gender {lemma}", 2 if sense in ENGLISH_PERSONS else 3)
            yield lemma, sense, {HE: MASCULINE, SHE: FEMININE, IT: drawn, None: drawn}[noun.pronoun]
    for lemma in _TIMES.split():
        yield lemma, "time", draw(f"gender {lemma}", 3)


def _enter_nouns() -> dict[Leaf, NounForms]:
    leaves: dict[Leaf, NounForms] = {}
    for lemma, sense, gender in _list_nouns():
        if ("NN", lemma) in leaves:
            continue
        word = f"{lemma}.n"
        singular, plural = decline(word, MINT.coin(word), lemma)
        leaves["NN", lemma] = NounForms(word, gender, THIRD, sense, singular)  # type: ignore[arg-type]
        leaves["NNS", inflect_plural(lemma)] = NounForms(word, PLURAL, THIRD_PLURAL, sense, plural)  # type: ignore[arg-type]
    return leaves


def _enter_names() -> dict[Leaf, NounForms]:
    leaves: dict[Leaf, NounForms] = {}
    for name in _NAMES.split():
        word = f"{name}.n"
        stem = MINT.coin(word, initial=name[0].lower()).capitalize()
        gender = MASCULINE if name in nouns.MEN else FEMININE if name in nouns.WOMEN else NEUTER
        leaves["NNP", name] = NounForms(word, gender, THIRD, "", decline(word, stem, name)[0])  # type: ignore[arg-type]
    for title in _TITLES.split():
        leaves["NNP", title] = _freeze(title, MINT.coin(title, syllables=1, initial=title[0].lower()).capitalize())
    for word in ("yesterday", "today"):
        leaves["NN", word] = _freeze(word, MINT.coin(word))
    return leaves


def _freeze(word: str, text: str) -> NounForms:
    """Return a noun that has the same form in all cases."""
    form = keep(text, f"{word}.n", word)
    return NounForms(form.word, NEUTER, THIRD, "", (form, form, form, form))


NOMINALS = _enter_nouns() | _enter_names() | {("PRP", word): forms for word, forms in PRONOUNS.items()}
NOMINALS["EX", "there"] = EXPLETIVE
"""Leaf of a noun, name or pronoun -> its forms."""

ADJECTIVES: dict[str, tuple[Form, ...]] = {"many": DETERMINERS["many"], "several": DETERMINERS["several"]}
"""English adjective -> forms before a noun, at gender * 4 + case."""
PREDICATIVES: dict[str, Form] = {}
"""English adjective or comparative -> the form beside a verb."""


def _enter_adjectives() -> None:
    english = [adjective for choice in ENGLISH_ADJECTIVES.values() for adjective in choice.items]
    comparatives = {str(adjective.leaf[1]): str(adjective.comparative[1]) for adjective in english}
    for lemma in dict.fromkeys([*comparatives, *_ADJECTIVES.split()]):
        word = f"{lemma}.j"
        stem = MINT.coin(word, syllables=1)
        ADJECTIVES[lemma] = agree(word, stem, lemma)
        PREDICATIVES[lemma] = add(Form(stem + PREDICATIVE, word, stem, PREDICATIVE, lemma))
        if comparative := comparatives.get(lemma):
            PREDICATIVES[comparative] = add(Form(stem + COMPARATIVE, word, stem, COMPARATIVE, f"{lemma}.CMP"))


_enter_adjectives()

WORDS: dict[Leaf, Form] = LITTLE_WORDS | {
    (tag, word): keep(MINT.coin(f"{word}.{tag.lower()}", syllables=syllables), f"{word}.{tag.lower()}", word)
    for tag, words, syllables in (("RB", _ADVERBS, 2), ("CD", nouns.NUMBERS, 1))
    for word in words.split()
}
"""Leaf of a word that does not inflect -> the word."""
