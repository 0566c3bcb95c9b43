"""The nouns of the lexicon: every form has one number, and every noun one sense."""

from __future__ import annotations

from probing.corpus.grammar import lexicon


def test_no_noun_has_one_form_for_singular_and_plural() -> None:
    nouns = [noun for choice in lexicon.NOUNS.values() for noun in choice.items]
    singulars = {noun.singular[1] for noun in nouns}
    plurals = {noun.plural[1] for noun in nouns}
    assert singulars & plurals == set()


def test_a_noun_has_one_sense() -> None:
    words = [noun.singular[1] for choice in lexicon.NOUNS.values() for noun in choice.items]
    assert sorted(words) == sorted(set(words))


def test_there_are_many_nouns() -> None:
    assert len({noun.singular for choice in lexicon.NOUNS.values() for noun in choice.items}) >= 520
