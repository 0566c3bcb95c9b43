"""Inflection, checked by hand."""

from __future__ import annotations

import pytest

from probing.corpus.grammar import inflection, verbs


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
