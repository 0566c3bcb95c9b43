"""Stems: pronounceable, the same everywhere, and never two words with one form."""

from __future__ import annotations

from collections import defaultdict

from probing.corpus.language.forms import FORMS, Form
from probing.corpus.language.homographs import HOMOGRAPHS
from probing.corpus.language.inflection import ADJECTIVE_ENDINGS, NOUN_ENDINGS, VERB_ENDINGS
from probing.corpus.language.lexicon import ADJECTIVES, NOMINALS, PREDICATIVES, WORDS
from probing.corpus.language.particles import (
    ADPOSITIONS,
    DETERMINERS,
    MARKER,
    NEGATION,
    PARTICLES,
    PURPOSE,
    RELATIVE,
    SUBORDINATORS,
)
from probing.corpus.language.stems import Mint, draw, spell_stem
from probing.corpus.language.verbs import BE, DO, MODALS, PASSIVE, PERFECT, VERBS

VOWELS = set("aeiou")


def test_a_draw_depends_on_the_key_only() -> None:
    assert [draw("gender dog", 3), draw("gender cat", 3), draw("dog", 1000)] == [2, 1, 335]


def test_a_stem_is_spelled_by_its_key() -> None:
    assert spell_stem("dog.n") == spell_stem("dog.n") != spell_stem("dog.v")
    assert spell_stem("Mary.n", initial="m").startswith("m")
    assert spell_stem("Emma.n", initial="e").startswith("e")


def test_a_stem_is_pronounceable() -> None:
    for number in range(500):
        stem = spell_stem(str(number))
        assert stem[-1] not in VOWELS
        groups = "".join("V" if letter in VOWELS else " " for letter in stem)
        assert "VV" not in groups
        assert "   V" not in groups
        assert not groups.endswith("   ")


def test_a_taken_form_makes_another_stem() -> None:
    stem = spell_stem("dog")
    mint = Mint(["", "a"], [stem + "a"])
    other = mint.coin("dog")
    assert other != stem
    assert mint.coin("dog") not in (stem, other)


def list_all_forms() -> list[Form]:
    verbs = [*VERBS.values(), BE, DO, PASSIVE, *PERFECT, *(verb for verb, _ in MODALS.values())]
    conjugations = [each for verb in verbs for each in (*verb.plain, *verb.joined)]
    return [
        *(form for noun in NOMINALS.values() for form in noun.cases),
        *(form for forms in (*DETERMINERS.values(), *ADJECTIVES.values(), RELATIVE) for form in forms),
        *(form for forms in ADPOSITIONS.values() for form in forms),
        *PREDICATIVES.values(),
        *WORDS.values(),
        *SUBORDINATORS.values(),
        *PARTICLES.values(),
        *(MARKER, NEGATION, PURPOSE),
        *(form for each in conjugations for tense in each[:2] for form in tense),
        *(form for each in conjugations for form in each[2:]),
    ]


def test_no_form_belongs_to_two_words() -> None:
    words = defaultdict(set)
    for form in list_all_forms():
        words[form.text].add(form.word)
        assert FORMS[form.text].word == form.word
        assert FORMS[form.text].stem == form.stem
    assert {text: found for text, found in words.items() if len(found) > 1} == {}
    assert len(words) > 15_000


def test_the_ending_tells_the_class() -> None:
    classes = [set(NOUN_ENDINGS), set(ADJECTIVE_ENDINGS), set(VERB_ENDINGS)]
    assert sum(map(len, classes)) == len(set.union(*classes))


def test_genders_and_classes_are_spread() -> None:
    genders = [noun.gender for (tag, _), noun in NOMINALS.items() if tag == "NN"]
    assert all(genders.count(gender) > 100 for gender in range(3))
    plurals = [noun.cases[0].features for (tag, _), noun in NOMINALS.items() if tag == "NNS"]
    assert all(plurals.count(mark) > 100 for mark in set(plurals))
    assert len(set(plurals)) == 3
    assert 100 < sum(verb.auxiliary for verb in VERBS.values()) < len(VERBS) - 100
    assert NOMINALS["NN", "woman"].gender == NOMINALS["NNP", "Mary"].gender == 1
    assert NOMINALS["NN", "king"].gender == NOMINALS["NNP", "Tom"].gender == 0


def test_the_homographs_of_the_grammar() -> None:
    assert {word for word, classes in HOMOGRAPHS.items() if {"noun", "verb"} <= classes} == {
        *("brake", "brakes", "cook", "cooks", "park", "parks", "reward", "rewards", "store", "stores", "tire", "tires"),
    }
    assert {word for word, classes in HOMOGRAPHS.items() if {"noun", "adjective"} <= classes} == {"patient", "secret"}
