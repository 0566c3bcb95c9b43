"""SOMO: which words may replace which, and that changed and original sentences are alike in all else."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from probing.corpus.builders import build
from probing.corpus.builders.constituency import extract
from probing.corpus.builders.odd_man_out import RANGES, _assign_words, _Bigrams, find_neighbours
from probing.corpus.builders.sampling import Sizes
from probing.corpus.readers import ParsedSentence
from probing.corpus.readers.brackets import parse_tree


def test_neighbours_at_the_edges() -> None:
    assert find_neighbours(("a", "b", "c"), 1) == ("a", "c")
    assert find_neighbours(("a", "b"), 0) == ("", "b")
    assert find_neighbours(("a", "b"), 1) == ("a", "")


def bigrams(sentences: list[str], forms: dict[str, str]) -> _Bigrams:
    found = _Bigrams(forms, dict.fromkeys(forms, 1))
    for text in sentences:
        found.add(tuple(text.split()))
    found.close()
    return found


@pytest.mark.parametrize(
    ("corpus", "replacement"),
    [
        (["the dog ran", "the cat sat", "a cat ran"], "cat"),
        (["the dog ran", "the cat sat"], None),  # no `cat ran`
        (["the dog ran", "a cat ran"], None),  # no `the cat`
        (["the dog ran", "the mice ran"], None),  # another class
        (["the dog ran", *["the cat ran"] * 10], None),  # another range of frequency
        ([*["the dog ran"] * 10, *["the cat ran"] * 99], "cat"),
        (["the dog ran near cat", "the cat ran"], None),  # the word is there already
    ],
)
def test_a_replacement_keeps_class_and_bigram_frequencies(corpus: list[str], replacement: str | None) -> None:
    table = bigrams(corpus, {"dog": "NN", "cat": "NN", "mice": "NNS"})
    assert table.replace(tuple(corpus[0].split()), 1, Random(0)) == replacement


def test_only_words_of_their_own_class_may_be_replaced() -> None:
    annotations = extract(parse_tree("(S (NP (DT the) (NN run)) (VP (VBD ran) (NP (DT the) (NN dog))) (. .))"))
    table = bigrams([], {"run": "VB", "ran": "VBD", "dog": "NN"})
    assert table.places(annotations) == [2, 4]


@pytest.fixture(scope="module")
def rows(
    make_corpus: Callable[[int, int], list[ParsedSentence]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[ParsedSentence], list[tuple[str, str, tuple[str, ...]]]]:
    folder = tmp_path_factory.mktemp("somo")
    corpus = make_corpus(8, 6000)
    build(corpus, folder, train=800, dev=80, test=80, tasks=["SOMO"])
    lines = [line.split("\t") for line in (folder / "odd_man_out.txt").read_text(encoding="utf-8").splitlines()]
    return corpus, [(split, label, tuple(text.split())) for split, label, text in lines]


Rows = tuple[list[ParsedSentence], list[tuple[str, str, tuple[str, ...]]]]


def one_word_off(corpus: list[ParsedSentence]) -> dict[tuple[str | None, ...], set[tuple[str, ...]]]:
    """Return sentence without one of its words -> sentences of the corpus that it comes from."""
    index = defaultdict(set)
    for sentence in corpus:
        for place in range(len(sentence.tokens)):
            index[*sentence.tokens[:place], None, *sentence.tokens[place + 1 :]].add(sentence.tokens)
    return index


def test_changed_sentences_differ_from_a_real_one_in_one_word(rows: Rows) -> None:
    corpus, found = rows
    known = {sentence.tokens for sentence in corpus}
    index = one_word_off(corpus)
    for _, label, tokens in found:
        if label == "O":
            assert tokens in known
        else:
            assert any((*tokens[:place], None, *tokens[place + 1 :]) in index for place in range(len(tokens)))


def test_no_sentence_is_in_both_versions(rows: Rows) -> None:
    corpus, found = rows
    index = one_word_off(corpus)
    originals = {tokens for _, label, tokens in found if label == "O"}
    for _, label, tokens in found:
        if label == "C" and not any(tokens == sentence.tokens for sentence in corpus):
            sources = set().union(
                *(index.get((*tokens[:place], None, *tokens[place + 1 :]), set()) for place in range(len(tokens)))
            )
            assert len(sources) > 1 or sources.isdisjoint(originals)


def test_bigrams_stay_in_their_ranges_over_the_whole_corpus(
    make_corpus: Callable[[int, int], list[ParsedSentence]], tmp_path: Path
) -> None:
    corpus = make_corpus(8, 4000)
    # Sentences that are too short, and words under another tag, change the counts.
    dogs = [token for sentence in corpus[:50] for token in sentence.tokens[1:2]]
    corpus += [parse_tree(f"(NP (DT the) (JJ {word}))") for word in dogs for _ in range(12)]
    build(corpus, tmp_path, train=400, dev=40, test=40, tasks=["SOMO"])
    counts = Counter(pair for sentence in corpus for pair in pairwise(("", *sentence.tokens, "")))
    index = one_word_off([sentence for sentence in corpus if len(sentence.tokens) >= 5])
    checked = 0
    for line in (tmp_path / "odd_man_out.txt").read_text(encoding="utf-8").splitlines():
        _, label, text = line.split("\t")
        tokens = tuple(text.split())
        if label == "C":
            found = [
                find_ranges(counts, tokens, place) == find_ranges(counts, source, place)
                for place in range(len(tokens))
                for source in index.get((*tokens[:place], None, *tokens[place + 1 :]), ())
                if source != tokens
            ]
            checked += 1
            assert any(found)
    assert checked == 240


def find_ranges(counts: Counter[tuple[str, str]], tokens: tuple[str, ...], place: int) -> list[int]:
    """Return the ranges of frequency of the bigrams before and after a position."""
    before, after = find_neighbours(tokens, place)
    return [bisect_right(RANGES, counts[pair]) for pair in ((before, tokens[place]), (tokens[place], after))]


def test_labels_are_balanced(rows: Rows) -> None:
    counts = Counter((split, label) for split, label, _ in rows[1])
    assert counts == {(split, label): n for split, n in (("tr", 400), ("va", 40), ("te", 40)) for label in "CO"}


def test_sentences_without_a_replacement_do_not_make_the_task_smaller(
    make_corpus: Callable[[int, int], list[ParsedSentence]], tmp_path: Path
) -> None:
    sheet = build(make_corpus(8, 1500), tmp_path, train=100, dev=10, test=10, tasks=["SOMO"]).tasks[0]
    assert sheet.dropped["no replacement fits (of the sentences drawn)"] > 20
    assert [sheet.size(split) for split in ("tr", "va", "te")] == [100, 10, 10]


def test_too_few_words_are_the_reason(tmp_path: Path) -> None:
    corpus = [parse_tree(f"(S (NP (DT the) (NN n{i})) (VP (VBZ v{i}) (RB there)) (. .))") for i in range(30)]
    sheet = build(corpus, tmp_path, train=10, dev=2, test=2, tasks=["SOMO"]).tasks[0]
    assert sheet.reason is not None
    assert sheet.reason.startswith("only 0 nouns and verbs occur 2 to ")


def test_forms_that_differ_by_capitals_stay_in_one_split() -> None:
    words = [f"word{n}" for n in range(60)]
    forms = [*words, *(word.capitalize() for word in words)]
    counts = {form: 10 + n for n, form in enumerate(forms)}
    split_of = _assign_words(forms, counts, Sizes(80, 10, 10))
    assert all(split_of[word] == split_of[word.capitalize()] for word in words)
    assert set(split_of.values()) == {"tr", "va", "te"}
