"""Inflection, checked by hand, and the promises that the lexicon keeps with it."""

from __future__ import annotations

import pytest

from probing.corpus.grammar import inflection, lexicon, verbs


@pytest.mark.parametrize(
    ("noun", "plural"),
    [
        ("dog", "dogs"),
        ("box", "boxes"),
        ("bus", "buses"),
        ("witch", "witches"),
        ("brush", "brushes"),
        ("city", "cities"),
        ("toy", "toys"),
        ("knife", "knives"),
        ("roof", "roofs"),
        ("potato", "potatoes"),
        ("piano", "pianos"),
        ("radio", "radios"),
        ("child", "children"),
        ("goose", "geese"),
        ("fisherman", "fishermen"),
        ("princess", "princesses"),
        ("secretary", "secretaries"),
    ],
)
def test_plural(noun: str, plural: str) -> None:
    assert inflection.inflect_plural(noun) == plural


@pytest.mark.parametrize(
    ("lemma", "third", "past", "participle", "gerund"),
    [
        ("walk", "walks", "walked", "walked", "walking"),
        ("bake", "bakes", "baked", "baked", "baking"),
        ("carry", "carries", "carried", "carried", "carrying"),
        ("enjoy", "enjoys", "enjoyed", "enjoyed", "enjoying"),
        ("stop", "stops", "stopped", "stopped", "stopping"),
        ("drop", "drops", "dropped", "dropped", "dropping"),
        ("visit", "visits", "visited", "visited", "visiting"),
        ("open", "opens", "opened", "opened", "opening"),
        ("fix", "fixes", "fixed", "fixed", "fixing"),
        ("chew", "chews", "chewed", "chewed", "chewing"),
        ("play", "plays", "played", "played", "playing"),
        ("cook", "cooks", "cooked", "cooked", "cooking"),
        ("admit", "admits", "admitted", "admitted", "admitting"),
        ("wash", "washes", "washed", "washed", "washing"),
        ("pass", "passes", "passed", "passed", "passing"),
        ("free", "frees", "freed", "freed", "freeing"),
        ("die", "dies", "died", "died", "dying"),
        ("begin", "begins", "began", "begun", "beginning"),
        ("eat", "eats", "ate", "eaten", "eating"),
        ("write", "writes", "wrote", "written", "writing"),
        ("swim", "swims", "swam", "swum", "swimming"),
        ("go", "goes", "went", "gone", "going"),
        ("have", "has", "had", "had", "having"),
        ("lose", "loses", "lost", "lost", "losing"),
        ("sew", "sews", "sewed", "sewn", "sewing"),
    ],
)
def test_verb_forms(lemma: str, third: str, past: str, participle: str, gerund: str) -> None:
    forms = verbs.inflect(lemma)
    assert forms.base == ("VB", lemma)
    assert forms.present == (("VBZ", third), ("VBP", lemma), ("VBP", lemma))
    assert forms.past == (("VBD", past),) * 3
    assert forms.participle == ("VBN", participle)
    assert forms.gerund == ("VBG", gerund)


@pytest.mark.parametrize(
    ("adjective", "comparative"),
    [
        ("old", "older"),
        ("big", "bigger"),
        ("happy", "happier"),
        ("large", "larger"),
        ("shy", "shier"),
        ("good", "better"),
    ],
)
def test_comparative(adjective: str, comparative: str) -> None:
    assert inflection.inflect_comparative(adjective) == comparative


@pytest.mark.parametrize(
    ("word", "article"),
    [("apple", "an"), ("dog", "a"), ("uniform", "a"), ("uncle", "an"), ("honest", "an"), ("house", "a")],
)  # fmt: skip
def test_article(word: str, article: str) -> None:
    assert inflection.choose_article(word) == article


def all_verbs() -> list[verbs.Verb]:
    lists = [group.verbs.items for group in verbs.GROUPS]
    lists += [choice.items for choice in verbs.INTRANSITIVES.values()]
    lists += [tuple(compound.verb for compound in choice.items) for choice in verbs.PREPOSITIONALS.values()]
    lists.append(tuple(compound.verb for compound in verbs.PARTICLES.items))
    for words in (
        verbs.STATES, verbs.TELLING, verbs.WISHES, verbs.ORDERS, verbs.HABITS, verbs.PERCEPTION,
        verbs.GIFTS, verbs.MOTION, verbs.POSTURE, verbs.SEEMING,
    ):  # fmt: skip
        lists.append(tuple(verbs.inflect_all(words)))
    return [verb for items in lists for verb in items]


def test_no_verb_has_one_form_for_present_and_past() -> None:
    alike = [verb.base[1] for verb in all_verbs() if verb.past[0][1] in (verb.base[1], verb.present[0][1])]
    assert alike == []


def test_no_form_is_the_past_of_one_verb_and_the_present_of_another() -> None:
    past = {verb.past[0][1] for verb in all_verbs()}
    present = {leaf[1] for verb in all_verbs() for leaf in verb.present}
    assert past & present == set()


def test_no_noun_has_one_form_for_singular_and_plural() -> None:
    nouns = [noun for choice in lexicon.NOUNS.values() for noun in choice.items]
    singulars = {noun.singular[1] for noun in nouns}
    plurals = {noun.plural[1] for noun in nouns}
    assert singulars & plurals == set()


def test_a_noun_has_one_sense() -> None:
    words = [noun.singular[1] for choice in lexicon.NOUNS.values() for noun in choice.items]
    assert sorted(words) == sorted(set(words))


def test_the_vocabulary_is_large() -> None:
    assert sum(len(choice.items) for choice in lexicon.NOUNS.values()) >= 400
    assert len({verb.base for verb in all_verbs()}) >= 250
