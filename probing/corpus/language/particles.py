"""Words of Halvic that are not derived from English ones: determiners, pronouns, adpositions, conjunctions."""

from __future__ import annotations

from probing.corpus.language.forms import FORMS, Form, NounForms, add, agree, keep
from probing.corpus.language.inflection import (
    AGREEING,
    CASE_NAMES,
    FEMININE,
    FIRST,
    FIRST_PLURAL,
    GENDER_NAMES,
    MASCULINE,
    NEUTER,
    PERSONAL,
    PLURAL,
    SECOND,
    THIRD,
    THIRD_PLURAL,
    VERB_ENDINGS,
)


def _pair_words(text: str) -> dict[str, str]:
    """Return the mapping that a text like `the z, a un` describes."""
    return dict(entry.split() for entry in text.split(","))


_DETERMINERS = (
    "the z, a un, this diz, that jon, some zom, every jed, which kvel, many mult, several div, "
    "his hez, her haz, its het, their hiz, my min, our noz, your voz"
)
_SPELLINGS = {"an": "a", "these": "this", "those": "that"}
DETERMINERS = {english: agree(f"{english}.d", stem, english) for english, stem in _pair_words(_DETERMINERS).items()}
"""English determiner -> forms at gender * 4 + case."""
DETERMINERS |= {english: DETERMINERS[other] for english, other in _SPELLINGS.items()}
RELATIVE = agree("relative.p", "dr", "REL")
"""Relative pronoun at gender * 4 + case."""


def _decline_pronoun(word: str, stem: str, gender: int, person: int) -> NounForms:
    name = ".".join(filter(None, (word, GENDER_NAMES[gender])))
    first, second, third, fourth = (
        add(Form(stem + ending, f"{word}.p", stem, ending, f"{name}.{CASE_NAMES[case]}"))
        for case, ending in enumerate(AGREEING[gender * 4 : gender * 4 + 4])
    )
    return NounForms(f"{word}.p", gender, person, "", (first, second, third, fourth))


PRONOUNS = {
    english: forms
    for spellings, forms in (
        ("he him", _decline_pronoun("he", "l", MASCULINE, THIRD)),
        ("she her", _decline_pronoun("she", "l", FEMININE, THIRD)),
        ("it", _decline_pronoun("it", "l", NEUTER, THIRD)),
        ("they them", _decline_pronoun("they", "l", PLURAL, THIRD_PLURAL)),
        ("I i me", _decline_pronoun("I", "m", PERSONAL, FIRST)),
        ("we us", _decline_pronoun("we", "n", PERSONAL, FIRST_PLURAL)),
        ("you", _decline_pronoun("you", "j", PERSONAL, SECOND)),
        ("who", _decline_pronoun("who", "kv", MASCULINE, THIRD)),
        ("what", _decline_pronoun("what", "kv", NEUTER, THIRD)),
    )
    for english in spellings.split()
}
"""English pronoun -> its forms."""

_ADPOSITIONS = (
    "in ben, on sor, at pod, by gar, to ad, from dal, near nil, about zum, for gan, with kon, toward vel, behind tak, "
    "beside lat, during dum, after pos, before prel, than kam"
)
ADPOSITIONS = {
    english: (keep(text, f"{english}.a", english, "ADV"), keep(text + "i", f"{english}.a", f"{english}.ADN", "ADN"))
    for english, text in _pair_words(_ADPOSITIONS).items()
}
"""English preposition -> the adposition in a clause, and in a noun phrase."""

SUBORDINATORS = {
    english: keep(text, f"{english}.c", f"{english}.CONJ")
    for english, text in _pair_words(
        "that ke, whether lik, while dumke, before prelke, after poske, although malke, when kanke"
    ).items()
}
"""English conjunction or question word -> the conjunction of a subordinate clause."""

LITTLE_WORDS = {
    (tag, english): keep(text, f"{english}.{tag.lower()}", english)
    for tag, words in {
        "CC": "and edo, but sed, or odo, yet tamo",
        "IN": "so ergo, for nam",
        "RB": "please bitu",
        "EX": "there tul",
        "UH": "yes silo, no nelo, oh ojo, well bonu",
        "WRB": "where kud, when kand, why kvar, how kval",
        ",": ", ,",
        ".": ". ., ? ?, ! !",
    }.items()
    for english, text in ([(",", ",")] if tag == "," else _pair_words(words).items())
}
"""(Tag, English word) -> connector, answer, question word or mark."""
_THERE = LITTLE_WORDS["EX", "there"]
EXPLETIVE = NounForms(_THERE.word, NEUTER, THIRD, "", (_THERE, _THERE, _THERE, _THERE))
"""Word for `there` in `there is a king`, in the place of the subject."""
COMMA = LITTLE_WORDS[",", ","]
THE = DETERMINERS["the"]
NEGATION = keep("nek", "not.n", "NEG")
MARKER = keep("ti", "to.m", "TO")
"""Marker before an infinitive."""
PURPOSE = keep("por", "purpose.m", "PURPOSE")
"""Marker at the head of a clause of purpose."""

PARTICLES = {
    english: keep(text, f"{english}.prt", english.upper())
    for english, text in _pair_words("up ob, down nid, away vek, off af, out ut, over ur, back rit").items()
}
"""English particle -> the separable part of a verb."""

AUXILIARIES = _pair_words(
    "be ez, passive verd, perfect hab, perfect-2 sum, do fak, will vol, can pot, must deb, should zol, may likv"
)
"""Auxiliary -> its stem."""
FUNCTION_TEXTS = frozenset([*FORMS, *(stem + ending for stem in AUXILIARIES.values() for ending in VERB_ENDINGS)])
"""Texts that no other word may have."""
