"""Penn-style brackets in all the forms that treebanks and parsers write them in."""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.tree import Tree as NltkTree

from probing.corpus.readers import BadTreeError, ParsedSentence, Tree, read_sentences
from probing.corpus.readers.brackets import parse_tree, read_brackets, strip_label

DOG = (
    "ROOT",
    (
        (
            "S",
            (
                ("NP", (("DT", "The"), ("NN", "dog"))),
                ("VP", (("VBD", "barked"),)),
                (".", "."),
            ),
        ),
    ),
)
S = "(S (NP (DT The) (NN dog)) (VP (VBD barked)) (. .))"


def read(text: str) -> list[ParsedSentence]:
    return [parse() for _, parse in read_brackets(enumerate(text.splitlines(keepends=True), 1))]


@pytest.mark.parametrize(
    "text",
    [
        S,
        f"( {S})",
        f"({S})",
        f"(ROOT {S})",
        f"(TOP {S} )",
        f"(S1 {S})",
        f"(ROOT\n  {S}\n)",
        S.replace(" (", "\n  ("),
        S.replace(" (", "\n\t("),
        S.replace(" (", "\n("),
        f"(\n{S})",
        S.replace("NP", "NP-SBJ-1").replace("(S ", "(S-HLN=2 "),
        S.replace("(VP ", "(VP (-NONE- *) ").replace("(DT", "(ADJP (NP (-NONE- *T*-1))) (DT"),
        f"origin\tThe dog ( barked ) .\t(ROOT {S})",
    ],
)
def test_all_ways_of_writing_a_tree_give_the_same_sentence(text: str) -> None:
    (sentence,) = read(text)
    assert sentence == ParsedSentence(("The", "dog", "barked", "."), ("DT", "NN", "VBD", "."), DOG)


def test_several_trees_on_a_line_and_headers_between_them() -> None:
    assert [len(sentence.tokens) for sentence in read(f"*x*x* copyright (c) *x*x*\n{S} {S}\n\n  {S}{S}\n")] == [4] * 4


def test_escapes_are_undone_and_tags_keep_their_names() -> None:
    (sentence,) = read(r"(S (-LRB- -LRB-) (PRP$ its) (`` ``) (NN and\/or) (NN \*) ('' '') (-RRB- -RRB-) (-LRB- -LSB-))")
    assert sentence.tokens == ("(", "its", '"', "and/or", "*", '"', ")", "[")
    assert sentence.tags == ("-LRB-", "PRP$", "``", "NN", "NN", "''", "-RRB-", "-LRB-")


def test_the_words_in_the_tree_are_the_tokens() -> None:
    (sentence,) = read("(S (NP (PRP I)) (VP (VBD did) (RB n't) (VP (VB go))))")
    assert sentence.tokens == ("I", "didn", "'t", "go")
    assert sentence.tree == ("ROOT", (("S", (("NP", (("PRP", "I"),)), VERBS)),))


VERBS: Tree = ("VP", (("VBD", "didn"), ("RB", "'t"), ("VP", (("VB", "go"),))))


@pytest.mark.parametrize(
    ("label", "plain"),
    [
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("NP-SBJ=3", "NP"),
        ("PRP$", "PRP$"),
        ("-LRB-", "-LRB-"),
        ("-NONE-", "-NONE-"),
        ("ADVP|PRT", "ADVP|PRT"),
        ("``", "``"),
    ],
)
def test_labels_lose_functions_and_indices(label: str, plain: str) -> None:
    assert strip_label(label) == plain


@pytest.mark.parametrize(
    ("label", "named"),
    [
        ("NP-TMP", "NP-ADV"),
        ("NP-EXT-2", "NP-ADV"),
        ("NP-LOC-CLR=1", "NP-ADV"),
        ("NP-SBJ-TMP", "NP"),
        ("NP-PRD", "NP-ADV"),
        ("NP-1", "NP"),
        ("PP-TMP", "PP"),
        ("ADVP-LOC", "ADVP"),
    ],
)
def test_adverbial_noun_phrases_have_their_own_label(label: str, named: str) -> None:
    (sentence,) = read(f"(S ({label} (NN today)) (VP (VBZ rains)))")
    assert sentence.tree == ("ROOT", (("S", ((named, (("NN", "today"),)), ("VP", (("VBZ", "rains"),)))),))


@pytest.mark.parametrize("form", ["(ROOT {})", "( {})", "{}"])
def test_reading_goes_on_after_a_tree_that_is_never_closed(tmp_path: Path, form: str) -> None:
    trees = [form.format(S.replace("dog", word)) for word in ("cat", "cow", "pig", "hen")]
    trees[1] = trees[1][:-8]
    path = tmp_path / "a.mrg"
    path.write_text("\n".join(trees) + "\n", encoding="utf-8")
    skipped: Counter[str] = Counter()
    assert [s.tokens[1] for s in read_sentences(path, "penn", skipped=skipped)] == ["cat", "pig", "hen"]
    assert skipped == {"brackets are not balanced: one is never closed": 1}


def test_many_trees_that_are_never_closed_are_given_up_at_once() -> None:
    found = list(read_brackets(enumerate(["(S (NP\n"] * 50_000, 1)))
    assert len(found) == 1
    with pytest.raises(BadTreeError, match="never closed"):
        found[0][1]()


def test_a_tree_that_stays_open_too_long_is_given_up() -> None:
    lines = [f"{S}\n", "(S (NP\n", *[f"  {S}\n"] * 30_000, f"{S}\n"]
    read_back = list(read_brackets(enumerate(lines, 1)))
    assert [number for number, _ in read_back[:2]] == [1, 2]
    assert len(read_back) > 2, "what follows is read"


WORDS = st.text(st.characters(categories=["L", "N"], codec="utf-8"), min_size=1, max_size=6)
LABELS = st.sampled_from(["S", "NP", "VP", "PP", "SBAR", "ADJP"])
TAGS = st.sampled_from(["NN", "VBD", "PRP$", "-LRB-", "IN", ",", "."])
LEAVES = st.tuples(TAGS, WORDS)
TREES: st.SearchStrategy[Tree] = st.recursive(
    LEAVES, lambda inner: st.tuples(LABELS, st.lists(inner, min_size=1, max_size=4).map(tuple)), max_leaves=15
)
SPACES = st.sampled_from([" ", "\n", "  \n\t", "\n\n  "])


def write(tree: Tree, space: str) -> str:
    label, children = tree
    if isinstance(children, str):
        return f"({label} {children})"
    return f"({label}{space}{space.join(write(child, space) for child in children)})"


def leaves(tree: Tree) -> list[tuple[str, str]]:
    label, children = tree
    return [(label, children)] if isinstance(children, str) else [leaf for child in children for leaf in leaves(child)]


@settings(deadline=None)
@given(st.lists(TREES, min_size=1, max_size=5), SPACES, SPACES)
def test_any_tree_comes_back_as_it_was_written(trees: list[Tree], inner: str, outer: str) -> None:
    text = outer.join(write(tree, inner) for tree in trees)
    assert [sentence.tree for sentence in read(text)] == [("ROOT", (tree,)) for tree in trees]
    assert [sentence.tokens for sentence in read(text)] == [tuple(w for _, w in leaves(tree)) for tree in trees]


@settings(deadline=None)
@given(st.text("()SNP \n", max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    for number, parse in read_brackets(enumerate(text.splitlines(keepends=True), 1)):
        assert number >= 1
        with contextlib.suppress(BadTreeError):
            assert parse().tokens


def test_deep_trees_are_refused() -> None:
    deepest = "(NP " * 249 + "(NN x)" + ")" * 249
    assert parse_tree(deepest).tokens == ("x",)
    with pytest.raises(BadTreeError, match="brackets are nested deeper than 250"):
        parse_tree(f"(NP (NP {deepest}))")


@pytest.mark.parametrize("line", ["(ROOT (S (X x))) ) (", "(ROOT (X x)) (Y y)", "(ROOT ((X x)", "(ROOT (X x)) )( "])
def test_a_line_that_looks_like_one_tree_is_refused(line: str) -> None:
    with pytest.raises(BadTreeError, match="brackets are not balanced"):
        list(read(line + "\n"))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_reader_agrees_with_nltk(data: st.DataObject) -> None:
    words = st.sampled_from(["a", "dog", "-LRB-", "and\\/or", "*T*-1", "$", "n't", "0"])
    labels = st.sampled_from(["S", "NP-SBJ-1", "VP", "-NONE-", "NN", ".", "PRP$", "NP=2", "ADJP|X"])
    leaves = st.tuples(labels, words).map(lambda leaf: f"({leaf[0]} {leaf[1]})")
    trees = st.recursive(
        leaves, lambda inner: st.tuples(labels, st.lists(inner, min_size=1)).map(lambda t: f"({t[0]} {' '.join(t[1])})")
    )
    text = data.draw(trees)
    found = [(strip_label(tag), word) for word, tag in NltkTree.fromstring(text).pos() if tag != "-NONE-"]
    with contextlib.suppress(BadTreeError):
        sentence = parse_tree(text)
        assert list(sentence.tags) == [tag for tag, _ in found]
        assert "".join(sentence.tokens) == "".join(
            {"-LRB-": "("}.get(word) or word.replace("\\/", "/").replace("\\*", "*") for _, word in found
        )
        return
    assert not found, "only a tree without words is refused"
