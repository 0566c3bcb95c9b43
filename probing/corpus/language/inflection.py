"""Endings of Halvic: the ending alone shows whether a word is a noun, an adjective or a verb.

Determiners, adjectives and pronouns end in a vowel for the gender and a consonant for the case. A noun has the plural
of its class, then the case. A verb has its tense, then person and number.
"""

from __future__ import annotations

NOMINATIVE, ACCUSATIVE, DATIVE, GENITIVE = range(4)
MASCULINE, FEMININE, NEUTER, PLURAL, PERSONAL = range(5)
"""Genders; the plural has none of the three, and neither have the speaker and the hearer."""

CASE_NAMES = ("NOM", "ACC", "DAT", "GEN")
GENDER_NAMES = ("M", "F", "N", "PL", "")

AGREEING = tuple(vowel + consonant for vowel in "oaeiu" for consonant in "rnms")
"""Endings of determiners, adjectives and pronouns, at gender * 4 + case."""
PREDICATIVE, COMPARATIVE = "i", "azi"
"""Endings of adjectives beside a verb, which do not agree."""

NOUN_CASES = ("", "", "u", "us")
NOUN_PLURALS = ("ek", "ul", "ond")
"""Marks of the plural, one for each class of nouns; the case follows."""

FIRST, THIRD, FIRST_PLURAL, SECOND, THIRD_PLURAL = range(5)
PERSON_NAMES = ("1SG", "3SG", "1PL", "2", "3PL")
PERSONS = ("o", "a", "omo", "ate", "ono")
PRESENT, PAST, INFINITIVE, PARTICIPLE, GERUND, IMPERATIVE = range(6)
"""Shapes of a verb; the first two are finite."""
PAST_MARK = "id"
NONFINITE = {INFINITIVE: "ei", PARTICIPLE: "it", GERUND: "ant", IMPERATIVE: "e"}
SHAPE_NAMES = ("PRS", "PST", "INF", "PTCP", "GER", "IMP")

NOUN_ENDINGS = tuple(mark + case for mark in ("", *NOUN_PLURALS) for case in NOUN_CASES[1:])
ADJECTIVE_ENDINGS = (*AGREEING[: PERSONAL * 4], PREDICATIVE, COMPARATIVE)
VERB_ENDINGS = (*(mark + person for mark in ("", PAST_MARK) for person in PERSONS), *NONFINITE.values())
ENDINGS = (*NOUN_ENDINGS, *ADJECTIVE_ENDINGS, *VERB_ENDINGS)
