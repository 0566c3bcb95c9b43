"""The nouns of the lexicon: every form has one number, and every noun one sense besides that of a place."""

from __future__ import annotations

from probing.corpus.grammar import lexicon


def test_no_noun_has_one_form_for_singular_and_plural() -> None:
    nouns = [noun for choice in lexicon.NOUNS.values() for noun in choice.items]
    singulars = {noun.singular[1] for noun in nouns}
    plurals = {noun.plural[1] for noun in nouns}
    assert singulars & plurals == set()


def test_a_noun_has_one_sense_besides_places_and_occasions() -> None:
    senses = lexicon.NOUNS.keys() - lexicon.SPOTS.keys() - {"occasion"}
    words = [noun.singular[1] for sense in senses for noun in lexicon.NOUNS[sense].items]
    assert sorted(words) == sorted(set(words))


def test_there_are_many_nouns() -> None:
    assert len({noun.singular for choice in lexicon.NOUNS.values() for noun in choice.items}) >= 520
