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


WITH_NUMERAL = "the subject is a singular with a numeral"
DISAGREEING = "the subject and its verb do not agree"


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Dogs/NOUN/2/nsubj/Number=Plur bark/VERB/0/root", ("NNS", "dogs")),
        ("Dog/NOUN/2/nsubj:pass/Number=Sing fed/VERB/0/root", ("NN", "dog")),
        ("Dogs/NOUN/2/nsubj bark/VERB/0/root", "the subject has no number"),
        ("Bob/PROPN/2/nsubj/Number=Sing left/VERB/0/root", "the subject is no common noun"),
        ("Go/VERB/0/root", "no subject"),
        # `the answer is that dogs bark`: the subject of the sentence and that of the clause in it
        ("Dog/NOUN/3/nsubj:outer/Number=Sing Dogs/NOUN/3/nsubj/Number=Plur bark/VERB/0/root", "several subjects"),
        (
            "İki/NUM/2/nummod adam/NOUN/3/nsubj/Number=Sing geldi/VERB/0/root",
            WITH_NUMERAL,
        ),
        ("İki/NUM/2/det adam/NOUN/3/nsubj/Number=Sing geldi/VERB/0/root", WITH_NUMERAL),
        ("Two/NUM/2/nummod men/NOUN/3/nsubj/Number=Plur came/VERB/0/root", ("NNS", "men")),
        # the verb is plural because of what follows the noun, or of a numeral further below
        ("Number/NOUN/3/nsubj/Number=Sing are/AUX/3/cop/Number=Plur ill/ADJ/0/root", DISAGREEING),
        ("Euro/NOUN/2/nsubj/Number=Sing fehlen/VERB/0/root/Number=Plur", DISAGREEING),
        ("Army/NOUN/2/nsubj/Number=Sing fed/VERB/0/root/Number=Plur/VerbForm=Part", ("NN", "army")),
        # a Finnish plural with a singular verb: `there are soldiers in the army`
        (
            "sotilaita/NOUN/3/nsubj:cop/Number=Plur oli/AUX/3/cop/Number=Sing armeijassa/NOUN/0/root",
            ("NNS", "sotilaita"),
        ),
    ],
)
def test_subject(text: str, subject: object) -> None:
    assert annotate(text).subject == subject


UNCERTAIN = "the subject is a coordination of no certain number"


@pytest.mark.parametrize(
    ("nouns", "subject"),
    [
        (("Plur", "and", "Plur"), ("NNS", "a")),
        (("Plur", "and", "Sing"), ("NNS", "a")),
        (("Plur", "und", "Sing"), ("NNS", "a")),
        (("Plur", "or", "Plur"), ("NNS", "a")),
        (("Plur", "or", "Sing"), UNCERTAIN),
        # no word form shows the plural
        (("Sing", "and", "Sing"), UNCERTAIN),
        (("Sing", "and", "Plur"), UNCERTAIN),
        (("Sing", "or", "Sing"), UNCERTAIN),
    ],
)
def test_a_coordination_is_plural_if_it_is_certain_and_its_first_noun_shows_it(
    nouns: tuple[str, str, str], subject: object
) -> None:
    first, conjunction, second = nouns
    text = f"A/NOUN/4/nsubj/Number={first} {conjunction}/CCONJ/3/cc B/NOUN/1/conj/Number={second} came/VERB/0/root"
    assert annotate(text).subject == subject
    assert annotate(text.replace("nsubj", "obj")).object == (
        subject if subject != UNCERTAIN else UNCERTAIN.replace("subject", "object")
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See/VERB/0/root dogs/NOUN/1/obj/Number=Plur", ("NNS", "dogs")),
        ("Give/VERB/0/root her/PRON/1/iobj towel/NOUN/1/obj/Number=Sing", ("NN", "towel")),
        ("See/VERB/0/root him/PRON/1/obj/Number=Sing", "the object is no common noun"),
        ("Go/VERB/0/root", "no object"),
        ("fait/AUX/2/aux:caus rire/VERB/0/root élèves/NOUN/2/obj:agent/Number=Plur", "no object"),
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
