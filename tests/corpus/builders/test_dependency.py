"""Each annotation of a tree of Universal Dependencies, on trees small enough to check by eye."""

from __future__ import annotations

import pytest

from probing.corpus.builders.annotations import Annotations
from probing.corpus.builders.dependency import extract
from probing.corpus.readers import ParsedSentence


def annotate(text: str) -> Annotations:
    """Return the annotations of words like `form/tag/head/relation/Feature=Value/…`."""
    rows = [word.split("/") for word in text.split()]
    return extract(
        ParsedSentence(
            tokens=tuple(row[0] for row in rows),
            tags=tuple(row[1] for row in rows),
            heads=tuple(int(row[2]) for row in rows),
            relations=tuple(row[3] for row in rows),
            features=tuple(dict(pair.split("=") for pair in row[4:]) for row in rows),
        )
    )


PAST, PRES = "Tense=Past/VerbForm=Fin", "Tense=Pres/VerbForm=Fin"
ACTIVE, CONDITIONAL = "Tense=Past/VerbForm=Part/Voice=Act", "Mood=Cnd/VerbForm=Fin"


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        (f"She/PRON/2/nsubj Left/VERB/0/root/{PAST}", ("PAST", "left")),
        (f"She/PRON/2/nsubj leaves/VERB/0/root/{PRES}", ("PRES", "leaves")),
        ("Elle/PRON/2/nsubj partait/VERB/0/root/Tense=Imp/VerbForm=Fin", ("PAST", "partait")),
        ("Elle/PRON/2/nsubj partira/VERB/0/root/Tense=Fut/VerbForm=Fin", "the main verb has no tense"),
        (f"She/PRON/3/nsubj is/AUX/3/cop/{PRES} happy/ADJ/0/root", ("PRES", "is")),
        (f"She/PRON/3/nsubj was/AUX/3/aux/{PAST} going/VERB/0/root/Tense=Pres/VerbForm=Part", ("PAST", "was")),
        (f"It/PRON/3/nsubj is/AUX/3/aux:pass/{PRES} done/VERB/0/root/Tense=Past/VerbForm=Part", ("PRES", "is")),
        (
            f"She/PRON/3/nsubj has/AUX/3/aux/{PRES} gone/VERB/0/root/Tense=Past/VerbForm=Part",
            "a past participle with a present auxiliary",
        ),
        ("Gone/VERB/0/root/Tense=Past/VerbForm=Part", "the main verb is a participle"),
        # a participle that is the ordinary past
        (f"Muž/NOUN/2/nsubj Přišel/VERB/0/root/{ACTIVE}", ("PAST", "přišel")),
        (f"Muž/NOUN/3/nsubj byl/AUX/3/cop/{ACTIVE} doma/ADV/0/root", ("PAST", "byl")),
        (
            f"Přišel/VERB/0/root/{ACTIVE} jsem/AUX/1/aux/{PRES} domů/ADV/1/advmod",
            "a past participle with a present auxiliary",
        ),
        (f"Byl/AUX/3/cop/{ACTIVE} jsem/AUX/3/aux/{PRES} doma/ADV/0/root", "a past participle with a present auxiliary"),
        (f"Přišel/VERB/0/root/{ACTIVE} by/AUX/1/aux/{CONDITIONAL} domů/ADV/1/advmod", "the main verb has no tense"),
        (f"Přišedší/ADJ/2/amod/{ACTIVE} muž/NOUN/0/root", "the main verb has no tense"),
        # a present auxiliary that makes a future, and one that does not
        (
            f"Er/PRON/3/nsubj wird/AUX/3/aux/{PRES} kommen/VERB/0/root/VerbForm=Inf",
            "an infinitive with a present auxiliary",
        ),
        (
            f"Er/PRON/3/nsubj wird/AUX/3/aux/{PRES} krank/ADJ/0/root sein/AUX/3/cop/VerbForm=Inf",
            "an infinitive with a present auxiliary",
        ),
        (f"Er/PRON/3/nsubj wird/AUX/3/aux:pass/{PRES} gesehen/VERB/0/root/VerbForm=Part", ("PRES", "wird")),
        (f"She/PRON/3/nsubj does/AUX/3/aux/{PRES} sleep/VERB/0/root/VerbForm=Inf", ("PRES", "does")),
        (f"She/PRON/3/nsubj did/AUX/3/aux/{PAST} sleep/VERB/0/root/VerbForm=Inf", ("PAST", "did")),
        ("Go/VERB/0/root/Mood=Imp/VerbForm=Fin", "the main verb has no tense"),
        ("She/PRON/2/nsubj left/VERB/0/root/Tense=Past", ("PAST", "left")),
        ("A/X/0/root B/X/0/root", "several roots"),
    ],
)
def test_tense(text: str, tense: object) -> None:
    assert annotate(text).tense == tense


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Dogs/NOUN/2/nsubj/Number=Plur bark/VERB/0/root", ("NNS", "dogs")),
        ("Dog/NOUN/2/nsubj:pass/Number=Sing fed/VERB/0/root", ("NN", "dog")),
        ("Dogs/NOUN/2/nsubj bark/VERB/0/root", "the subject has no number"),
        ("Bob/PROPN/2/nsubj/Number=Sing left/VERB/0/root", "the subject is no common noun"),
        ("Go/VERB/0/root", "no subject"),
    ],
)
def test_subject(text: str, subject: object) -> None:
    assert annotate(text).subject == subject


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See/VERB/0/root dogs/NOUN/1/obj/Number=Plur", ("NNS", "dogs")),
        ("Give/VERB/0/root her/PRON/1/iobj towel/NOUN/1/obj/Number=Sing", ("NN", "towel")),
        ("See/VERB/0/root him/PRON/1/obj/Number=Sing", "the object is no common noun"),
        ("Go/VERB/0/root", "no object"),
    ],
)
def test_object(text: str, found: object) -> None:
    assert annotate(text).object == found


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("Go/VERB/0/root", 1),
        ("The/DET/2/det dog/NOUN/3/nsubj barks/VERB/0/root", 3),
        ("a/X/2/x b/X/3/x c/X/4/x d/X/0/root e/X/4/x", 4),
        ("a/X/0/root b/X/0/root c/X/2/x", 2),
    ],
)
def test_depth_counts_words_on_the_longest_path(text: str, depth: int) -> None:
    assert annotate(text).depth == depth


@pytest.mark.parametrize(
    ("text", "top"),
    [
        ("Dogs/NOUN/2/nsubj chase/VERB/0/root cats/NOUN/2/obj ./PUNCT/2/punct", "nsubj_root_obj"),
        ("Dogs/NOUN/2/nsubj:pass fed/VERB/0/root", "nsubj_root"),
        ("Dogs/NOUN/3/nsubj ,/PUNCT/3/punct bark/VERB/0/root ./PUNCT/3/punct", ""),
        ("Go/VERB/0/root !/PUNCT/1/punct", ""),
        ("a/X/0/root b/X/0/root", ""),
    ],
)
def test_sequence_of_dependents(text: str, top: str) -> None:
    assert annotate(text).top == top


FIRST = "I/PRON/2/nsubj go/VERB/0/root"


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        (f"{FIRST} and/CCONJ/5/cc he/PRON/5/nsubj stays/VERB/2/conj ./PUNCT/2/punct", (2, 3, 5)),
        (f"{FIRST} ,/PUNCT/6/punct but/CCONJ/6/cc he/PRON/6/nsubj stays/VERB/2/conj", (2, 4, 6)),
        (f"{FIRST} and/CCONJ/4/cc stay/VERB/2/conj ./PUNCT/2/punct", "a coordinate clause has no subject of its own"),
        (f"{FIRST} there/ADV/2/advmod ./PUNCT/2/punct", "not two coordinate clauses"),
        (
            f"{FIRST} and/CCONJ/5/cc he/PRON/5/nsubj stays/VERB/2/conj home/ADV/2/advmod",
            "the clauses are not side by side",
        ),
    ],
)
def test_clauses(text: str, clauses: object) -> None:
    assert annotate(text).clauses == clauses


def test_nouns_and_verbs_are_classed_by_tag_and_features() -> None:
    found = annotate("Dogs/NOUN/2/nsubj/Number=Plur/Case=Nom bark/VERB/0/root now/ADV/2/advmod")
    assert found.kinds == "NOUN|Case=Nom|Number=Plur VERB -"


def test_a_sentence_without_features_has_annotations_too() -> None:
    found = extract(ParsedSentence(("Go", "!"), ("VERB", "PUNCT"), None, (0, 1), ("root", "punct")))
    assert found.tense == "the main verb has no tense"
    assert found.kinds == "VERB -"
