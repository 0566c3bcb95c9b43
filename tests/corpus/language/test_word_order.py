"""Word order and concord, derived once more from the English tree by slow and obvious rules.

Nothing here uses the code of the transfer: only the words, their glosses, and the tables of docs/language.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from probing.corpus.grammar import generate
from probing.corpus.grammar.lexicon import NOUN_LEMMAS
from probing.corpus.grammar.verbs import VERB_LEMMAS
from probing.corpus.language import Pair, translate

VOWELS = {"M": "o", "F": "a", "N": "e", "PL": "i"}
CONSONANTS = {"NOM": "r", "ACC": "n", "DAT": "m", "GEN": "s"}
NOUN_ENDINGS = {"NOM": "", "ACC": "", "DAT": "u", "GEN": "us"}
PLURALS = ("ek", "ul", "ond")
PERSONS = {"1SG": "o", "3SG": "a", "1PL": "omo", "2": "ate", "3PL": "ono"}


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return [translate(sentence) for sentence in generate(23, 4000)]


def walk(tree) -> Iterator:  # type: ignore[no-untyped-def, type-arg]
    yield tree
    if not isinstance(tree[1], str):
        for child in tree[1]:
            yield from walk(child)


def list_leaves(tree, *, clauses: bool = True) -> list:  # type: ignore[no-untyped-def, type-arg]
    """Return the leaves of a tree, without those of clauses inside of it if so requested."""
    children = tree[1]
    if isinstance(children, str):
        return [tree]
    return [
        leaf
        for child in children
        if clauses or child[0] not in ("S", "SBAR", "VP")
        for leaf in list_leaves(child, clauses=clauses)
    ]


def lemmatise(gloss: str) -> str:
    return gloss.rpartition("+")[2].split(".")[0].rstrip("₂")


def find(pair: Pair, lemma: str) -> int | None:
    """Return the place of the only word with a lemma, or None if there is not one only."""
    places = [place for place, gloss in enumerate(pair.gloss) if lemmatise(gloss) == lemma]
    return places[0] if len(places) == 1 else None


def find_nouns(pair: Pair, tree) -> list[int]:  # type: ignore[no-untyped-def]
    leaves = [word for tag, word in list_leaves(tree, clauses=False) if tag in ("NN", "NNS")]
    places = [find(pair, NOUN_LEMMAS.get(word, word)) for word in leaves]
    return [place for place in places if place is not None]


def is_finite(gloss: str) -> bool:
    return ".PRS." in gloss or ".PST." in gloss


def test_subordinate_clauses_end_in_their_verb(pairs: list[Pair]) -> None:
    seen = 0
    for pair in pairs:
        for label, children in walk(pair.tree):
            if label != "SBAR":
                continue
            predicate = children[-1][1][-1]
            tag, word = predicate[1][0]
            place = find(pair, VERB_LEMMAS.get(word, "none")) if tag in ("VBD", "VBZ", "VBP") else None
            if place is None:
                continue
            seen += 1
            assert is_finite(pair.gloss[place])
            assert all(noun < place for noun in find_nouns(pair, ("VP", predicate[1][1:])))
            if len(children[-1][1]) == 2:
                assert all(noun < place for noun in find_nouns(pair, children[-1][1][0]))
    assert seen > 500


def test_the_verb_stands_between_a_fronted_phrase_and_the_subject(pairs: list[Pair]) -> None:
    seen = 0
    for pair in pairs:
        (label, children) = pair.tree[1][0]  # type: ignore[misc]
        parts = [child for child in children if child[0] not in (",", "CC")]  # type: ignore[union-attr]
        labels = [part[0] for part in parts]
        if label != "S" or labels[1:] != ["NP", "VP", "."] or labels[0] not in ("PP", "NP", "ADVP", "SBAR", "S"):
            continue
        front, subject = find_nouns(pair, parts[0]), find_nouns(pair, parts[1])
        finite = [place for place, gloss in enumerate(pair.gloss) if is_finite(gloss)]
        if front and subject:
            seen += 1
            between = [place for place in finite if max(front) < place < min(subject)]
            assert len(between) == 1
            if labels[0] in ("PP", "NP"):
                assert max(front) + 1 == between[0]
    assert seen > 100


def test_questions_and_commands_begin_with_their_verb(pairs: list[Pair]) -> None:
    for pair in pairs:
        label, children = pair.tree[1][0]  # type: ignore[misc]
        if label == "SQ":
            assert is_finite(pair.gloss[0])
        elif label == "S" and children[0][0] == "VP":
            assert pair.gloss[0].endswith(".IMP")
        elif label == "SBARQ":
            assert is_finite(pair.gloss[1]) or is_finite(pair.gloss[2])
        assert not any(lemmatise(gloss) == "do" for gloss in pair.gloss)


def test_participles_and_infinitives_are_last(pairs: list[Pair]) -> None:
    seen = 0
    for pair in pairs:
        for label, children in walk(pair.tree):
            if label == "VP" and children[0][0] in ("VB", "VBN", "VBG"):
                place = find(pair, VERB_LEMMAS.get(children[0][1], "none"))
                if place is not None and pair.gloss[place].endswith((".INF", ".PTCP", ".GER")):
                    seen += 1
                    assert all(noun < place for noun in find_nouns(pair, ("VP", children[1:])))
    assert seen > 500


def expect_case(parents: list, tree) -> str | None:  # type: ignore[no-untyped-def, type-arg]
    """Return the case of a noun phrase by its place in the tree, or None if the verb decides."""
    *_, parent = parents
    label, children = parent
    if label == "PP":
        return "GEN" if children[0][1] == "of" else "DAT"
    if label in ("S", "SQ") and children[-1] is not tree and any(child[0] == "VP" for child in children):
        nouns = [child for child in children if child[0] == "NP"]
        is_subject = tree is nouns[-1] and parents[-2][0] != "VP"
        return "NOM" if is_subject else None
    return None


def list_phrases(tree, parents) -> Iterator:  # type: ignore[no-untyped-def, type-arg]
    if not isinstance(tree[1], str):
        if tree[0] == "NP" and parents:
            yield tree, parents
        for child in tree[1]:
            yield from list_phrases(child, [*parents, tree])


def test_determiner_adjective_and_noun_agree(pairs: list[Pair]) -> None:
    genders: dict[str, str] = {}
    seen = cases = 0
    for pair in pairs:
        for tree, parents in list_phrases(pair.tree, []):
            tags = [child[0] for child in tree[1]]
            if tags not in (["DT", "NN"], ["DT", "JJ", "NN"], ["PRP$", "JJ", "NN"], ["DT", "NNS"], ["DT", "JJ", "NNS"]):
                continue
            lemma = NOUN_LEMMAS.get(tree[1][-1][1], tree[1][-1][1])
            place = find(pair, lemma)
            if place is None:
                continue
            seen += 1
            before = pair.target[place - len(tags) + 1 : place]
            _, number, case = pair.gloss[place].split(".")
            assert number == ("PL" if tags[-1] == "NNS" else "SG")
            gender = "PL" if number == "PL" else genders.setdefault(lemma, pair.gloss[place - 1].split(".")[1])
            assert all(token.endswith(VOWELS[gender] + CONSONANTS[case]) for token in before)
            marks = PLURALS if number == "PL" else ("",)
            assert pair.target[place].endswith(tuple(mark + NOUN_ENDINGS[case] for mark in marks))
            expected = expect_case(parents, tree)
            assert expected in (None, case) or parents[-1][1][0][0] == "TO"
            cases += expected is not None
    assert seen > 4000
    assert cases > 1500


def test_the_verb_of_a_plain_sentence_agrees_with_its_subject(pairs: list[Pair]) -> None:
    pronouns = {"i": "1SG", "you": "2", "we": "1PL", "they": "3PL", "he": "3SG", "she": "3SG", "it": "3SG"}
    seen = 0
    for pair in pairs:
        label, children = pair.tree[1][0]  # type: ignore[misc]
        if [label, *(child[0] for child in children)] != ["S", "NP", "VP", "."]:
            continue
        leaves = list_leaves(children[0], clauses=False)  # type: ignore[arg-type]
        finite = [place for place, gloss in enumerate(pair.gloss) if is_finite(gloss)]
        if len(finite) != 1 or leaves[0][0] == "EX":
            continue
        seen += 1
        tags = {tag for tag, _ in leaves}
        plural = "CC" in tags or ("NNS" in tags and children[0][1][0][0] != "NP")  # type: ignore[index]
        if children[0][1][0][0] == "NP" and "CC" not in tags:  # type: ignore[index]
            continue
        person = pronouns.get(leaves[0][1].lower(), "3PL" if plural else "3SG") if len(leaves) == 1 else None
        person = person or ("3PL" if plural else "3SG")
        assert pair.gloss[finite[0]].endswith(f".{person}")
        assert pair.target[finite[0]].endswith(PERSONS[person])
    assert seen > 300
