"""CoNLL-U: multiword tokens, empty nodes, comments and features."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Sequence

import conllu as conllu_package
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probing.corpus.readers import BadTreeError, ParsedSentence, conllu
from probing.corpus.readers.conllu import parse_block, read_blocks


def block(*rows: str) -> str:
    """Return a block of the rows, each `id form tag head relation [features]`."""
    lines = []
    for row in rows:
        number, form, tag, head, relation, *features = row.split()
        lines.append("\t".join([number, form, "_", tag, "_", *(features or ["_"]), head, relation, "_", "_"]))
    return "\n".join(lines) + "\n"


def test_a_block_becomes_a_sentence() -> None:
    sentence = parse_block("# text = Dogs bark\n" + block("1 Dogs NOUN 2 nsubj Number=Plur", "2 bark VERB 0 root"))
    assert sentence == ParsedSentence(
        ("Dogs", "bark"), ("NOUN", "VERB"), None, (2, 0), ("nsubj", "root"), ({"Number": "Plur"}, {})
    )


def test_empty_nodes_are_left_out() -> None:
    sentence = parse_block(block("1 Sue PROPN 0 root", "1.1 likes VERB _ _", "2 coffee NOUN 1 orphan"))
    assert sentence.tokens == ("Sue", "coffee")
    assert sentence.heads == (0, 1)


def test_words_that_lie_side_by_side_stay_apart() -> None:
    sentence = parse_block(
        block("1 I PRON 4 nsubj", "2-3 didn't _ _ _", "2 did AUX 4 aux", "3 n't PART 4 advmod", "4 go VERB 0 root")
    )
    assert sentence.tokens == ("I", "didn", "'t", "go")
    assert sentence.heads == (4, 4, 4, 0)


def test_a_curly_apostrophe_does_not_make_a_contraction() -> None:
    sentence = parse_block(block("1-2 didn’t _ _ _", "1 did AUX 3 aux", "2 n't PART 3 advmod", "3 go VERB 0 root"))
    assert sentence.tokens == ("didn", "'t", "go")


def test_a_contraction_with_an_auxiliary_has_no_tense() -> None:
    rows = ["1-2 geliyordu _ _ _", "1 geliyo VERB 0 root Tense=Pres|Mood=Ind", "2 idi AUX 1 cop Tense=Past"]
    assert parse_block(block(*rows)).features == ({"Mood": "Ind"},)


def test_a_contraction_of_an_auxiliary_and_another_word_is_the_auxiliary() -> None:
    rows = ["1-2 miksei _ _ _", "1 miksi ADV 3 advmod", "2 ei AUX 3 aux Polarity=Neg", "3 tule VERB 0 root"]
    sentence = parse_block(block(*rows))
    assert sentence.tokens == ("miksei", "tule")
    assert (sentence.tags[0], sentence.relations[0], sentence.features) == ("AUX", "aux", ({"Polarity": "Neg"}, {}))


def test_a_contraction_stays_one_token_in_the_place_of_its_head() -> None:
    sentence = parse_block(
        block(
            "1 Il PRON 2 nsubj",
            "2 vient VERB 0 root",
            "3-4 du _ _ _",
            "3 de ADP 5 case",
            "4 le DET 5 det Definite=Def",
            "5 marché NOUN 2 obl",
            "6 . PUNCT 2 punct",
        )
    )
    assert sentence.tokens == ("Il", "vient", "du", "marché", ".")
    assert sentence.tags == ("PRON", "VERB", "ADP", "NOUN", "PUNCT")
    assert sentence.heads == (2, 0, 4, 2, 2)
    assert sentence.relations == ("nsubj", "root", "case", "obl", "punct")


def test_a_contraction_of_a_verb_keeps_the_verb() -> None:
    sentence = parse_block(block("1-2 dámelo _ _ _", "1 da VERB 0 root Mood=Imp", "2 melo PRON 1 obj", "3 ya ADV 1 x"))
    assert sentence.tokens == ("dámelo", "ya")
    assert (sentence.tags, sentence.heads, sentence.features) == (("VERB", "ADV"), (0, 1), ({"Mood": "Imp"}, {}))


def test_a_contraction_whose_later_word_is_the_root_stays_the_root() -> None:
    rows = [
        "1-2 xy _ _ _",
        "1 a CCONJ 4 cc",
        "2 b VERB 0 root",
        "3 c NOUN 2 obj",
        "4 d VERB 2 conj",
        "5 . PUNCT 2 punct",
    ]
    sentence = parse_block(block(*rows))
    assert sentence.tokens == ("xy", "c", "d", ".")
    assert sentence.heads == (0, 1, 1, 1)
    assert sentence.relations == ("root", "obj", "conj", "punct")


def test_multiword_tokens_that_overlap_are_refused() -> None:
    rows = ["1 a X 4 x", "2 b X 0 root", "3 c X 4 x", "4 d X 2 x", "5 e X 4 x"]
    with pytest.raises(BadTreeError, match="a multiword token 1-3 that overlaps with another one"):
        parse_block(block("2-4 uvw _ _ _", "1-3 xyz _ _ _", *rows))


def test_several_roots_and_other_scripts_are_read() -> None:
    sentence = parse_block(block("1 شكرا INTJ 0 root", "2 谢谢 VERB 0 root", "3 ありがとう INTJ 2 discourse"))
    assert sentence.tokens == ("شكرا", "谢谢", "ありがとう")
    assert sentence.heads == (0, 0, 2)


def test_blocks_are_separated_with_their_lines() -> None:
    text = "# a\n" + block("1 One NUM 0 root") + "\n\n# b\n" + block("1 Two NUM 0 root", "2 . PUNCT 1 punct")
    found = list(read_blocks(enumerate(text.splitlines(keepends=True), 1)))
    assert [number for number, _ in found] == [1, 5]
    assert [parse().tokens for _, parse in found] == [("One",), ("Two", ".")]


@st.composite
def heads(draw: st.DrawFn) -> list[int]:
    """Draw the heads of a tree: in some order, each word depends on an earlier one."""
    size = draw(st.integers(1, 12))
    order = draw(st.permutations(range(1, size + 1)))
    result = [0] * size
    for index in range(1, size):
        result[order[index] - 1] = draw(st.sampled_from(order[:index]))
    return result


@settings(deadline=None)
@given(heads(), st.data())
def test_any_tree_comes_back_as_it_was_written(heads: Sequence[int], data: st.DataObject) -> None:
    words = st.text(st.characters(categories=["L"], codec="utf-8"), min_size=1, max_size=5)
    forms = data.draw(st.lists(words, min_size=len(heads), max_size=len(heads)))
    rows = [f"{n} {form} X {head} dep" for n, (form, head) in enumerate(zip(forms, heads, strict=True), 1)]
    sentence = parse_block(block(*rows))
    assert sentence.tokens == tuple(forms)
    assert sentence.heads == tuple(heads)


@settings(deadline=None)
@given(heads(), st.data())
def test_contractions_leave_a_tree(heads: Sequence[int], data: st.DataObject) -> None:
    rows = [f"{n} w X {head} dep" for n, head in enumerate(heads, 1)]
    last, count = 0, 0
    while last + 2 <= len(heads):
        first = data.draw(st.integers(last + 1, len(heads) - 1))
        last = data.draw(st.integers(first + 1, len(heads)))
        rows.append(f"{first}-{last} contracted _ _ _")
        count += last - first
    found = parse_block(block(*rows)).heads or ()
    assert len(found) == len(heads) - count
    for place in range(1, len(found) + 1):
        above = place
        for _ in found:
            above = found[above - 1] if above else 0
        assert above == 0, "every word hangs on the root"


def make_block(heads: list[int]) -> str:
    return "".join(f"{place}\tw\tw\tNOUN\t_\t_\t{head}\tdep\t_\t_\n" for place, head in enumerate(heads, 1))


def is_tree(heads: list[int]) -> bool:
    """Follow each word's heads, as many steps as there are words."""
    if not all(0 <= head <= len(heads) for head in heads):
        return False
    for head in heads:
        above = head
        for _ in heads:
            above = heads[above - 1] if above else 0
        if above:
            return False
    return True


@given(st.lists(st.integers(0, 7), min_size=1, max_size=6))
@settings(max_examples=300, deadline=None)
def test_heads_must_make_a_tree(heads: list[int]) -> None:
    try:
        parsed = parse_block(make_block(heads))
    except BadTreeError:
        assert not is_tree(heads)
    else:
        assert is_tree(heads)
        assert parsed.heads == tuple(heads)


def test_a_head_outside_behind_another_word_is_named() -> None:
    with pytest.raises(BadTreeError, match=r"^a head \(9\) outside of the sentence$"):
        parse_block(make_block([2, 9, 0]))


@pytest.mark.timeout(120)
def test_a_block_of_very_many_words_is_read() -> None:
    """A check that followed every word up to the root would take minutes."""
    heads = list(range(100_000))
    assert parse_block(make_block(heads)).heads == tuple(heads)


def test_a_block_without_end_is_not_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small gzipped file may unpack to such a block; the block after it is read."""
    monkeypatch.setattr(conllu, "MAX_CHARACTERS", 1 << 20)
    word = "1\tw\tw\tNOUN\t_\t_\t0\troot\t_\t_\n"
    lines = ((number, word) for number in range(1, 200_001))
    tracemalloc.start()
    (first, refused), (second, parse) = read_blocks(itertools.chain(lines, [(200_001, "\n"), (200_002, word)]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20
    assert (first, second) == (1, 200_002)
    with pytest.raises(BadTreeError, match="^a block of more than 1 MiB$"):
        refused()
    assert parse().tokens == ("w",)


@settings(deadline=None)
@given(heads(), st.data())
def test_the_reader_agrees_with_the_conllu_package(heads: Sequence[int], data: st.DataObject) -> None:
    sets = st.sampled_from(["_", "Number=Sing", "Mood=Ind|Tense=Past", "Foreign=Yes|Typo=Yes", "Case=Acc,Dat"])
    tags = st.sampled_from(["NOUN", "VERB", "_", "PUNCT"])
    rows = [f"{n} w{n} {data.draw(tags)} {head} {'dep' if head else 'root'}" for n, head in enumerate(heads, 1)]
    text = block(*[f"{row} {data.draw(sets)}" for row in rows])
    (expected,) = conllu_package.parse(text)
    found = parse_block(text)
    assert found.heads == tuple(row["head"] for row in expected)
    assert found.tags == tuple(row["upos"].replace("_", "X") for row in expected)
    assert [dict(features) for features in found.features or ()] == [row["feats"] or {} for row in expected]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1\tDogs\t_\tNOUN", r"not CoNLL-U \(a line with 4 fields, expected 10\)"),
        ("x\tDogs\t_\tNOUN\t_\t_\t0\troot\t_\t_", r"not CoNLL-U \('x' is not the number of a word\)"),
        ("01\tDogs\t_\tNOUN\t_\t_\t0\troot\t_\t_", "the words are not numbered 1, 2, 3, …"),
        ("1\tDogs\t_\tNOUN\t_\t_\t9999999999\troot\t_\t_", r"a head \(999999999…\) outside of the sentence"),
        ("1\tDogs\t_\tNOUN\t_\t_\t0\t_\t_\t_", "word 1 has no head or no relation"),
    ],
)
def test_a_row_that_breaks_the_format_is_refused(row: str, reason: str) -> None:
    with pytest.raises(BadTreeError, match=reason):
        parse_block(row + "\n")


def test_fields_may_be_separated_by_spaces() -> None:
    assert parse_block("1  Dogs  _  NOUN  _  _  0  root  _  _\n").tokens == ("Dogs",)
