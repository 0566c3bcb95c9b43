"""The first pass over a corpus: its counts, the sentences it keeps, and the bound of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path

import pytest

from probing.corpus.builders import constituency, survey
from probing.corpus.builders.survey import Survey, count_part
from probing.corpus.readers import ParsedSentence
from probing.corpus.readers.brackets import parse_tree
from probing.errors import ProbingError

Corpus = Callable[[int, int], list[ParsedSentence]]
Take = Callable[..., Survey]


def test_every_sentence_comes_back_as_it_was(make_corpus: Corpus, take: Take) -> None:
    sentences = [s for s in make_corpus(0, 60) if 5 <= len(s.tokens) <= 28]
    found = take(sentences, seed=0)
    records = list(found.records())
    assert [annotations for _, _, annotations in records] == [constituency.extract(sentence) for sentence in sentences]
    assert [found.fetch(place) for place, _, _ in reversed(records)] == [
        annotations for _, _, annotations in reversed(records)
    ]


def test_priorities_depend_on_the_words_and_the_seed_alone(make_corpus: Corpus, take: Take) -> None:
    sentences = make_corpus(0, 20)

    def priorities(order: list[ParsedSentence], seed: int) -> set[int]:
        return {priority for _, priority, _ in take(order, seed=seed).records()}

    assert priorities(sentences, 1) == priorities(sentences[::-1], 1)
    assert priorities(sentences, 1).isdisjoint(priorities(sentences, 2))


def test_counts(take: Take) -> None:
    long = parse_tree("(S " + "(NN x) " * 29 + ")")
    short = parse_tree("(S (NP (NNS Dogs)) (VP (VBP bark)) (. .))")
    good = parse_tree("(S (NP (NNS Dogs)) (VP (VBP chase) (NP (DT the) (NN Dogs))) (. .))")
    masked = parse_tree("(S (NP (NN ____)) (VP (VBD ___) (NP (DT __) (NN _____))) (. .))")
    found = take([long, short, good, good, masked], seed=0)
    assert (found.sentences, found.kept, found.tokens) == (5, 2, 42)
    assert found.dropped == {
        "longer than 28 tokens": 1,
        "shorter than 5 tokens": 1,
        "without words: masked text, numbers or signs": 1,
    }
    assert list(found.other_sentences()) == [long.tokens, short.tokens]
    assert (found.forms["Dogs"], found.initials["Dogs"], found.folded["dogs"]) == (2, 3, 5)
    assert found.words == {("Dogs", "NNS"): 2, ("chase", "VBP"): 2, ("Dogs", "NN"): 2}
    assert found.targets["subject"] == {("NNS", "dogs"): 2}
    assert found.shapes == {(5, 5): 2}


def test_progress_is_reported_after_each_part(make_corpus: Corpus, take: Take) -> None:
    told: list[tuple[str, int, int | None]] = []
    take(make_corpus(0, 100) * 12, progress=lambda *step: told.append(step))
    assert told == [("counting", 500, None), ("counting", 1000, None), ("counting", 1200, None)]


def test_parts_add_up_to_the_whole(make_corpus: Corpus, take: Take, tmp_path: Path) -> None:
    sentences = make_corpus(0, 1200)
    whole = count_part(sentences, seed=0)
    parts = take(sentences)
    for name in ("kind", "sentences", "kept", "tokens", "dropped", "forms", "initials", "words", "shapes", "targets"):
        assert getattr(parts, name) == getattr(whole.counts, name), name
    assert parts.spool.path.read_bytes() == whole.records


def test_a_survey_can_be_read_by_another_process(make_corpus: Corpus, take: Take) -> None:
    found = take(make_corpus(0, 50))
    copy = deepcopy(found)
    assert list(copy.records()) == list(found.records())


def test_a_table_of_counts_forgets_the_rarest_when_it_grows_too_large(
    make_corpus: Corpus, monkeypatch: pytest.MonkeyPatch, take: Take
) -> None:
    monkeypatch.setattr(survey, "MAX_COUNTS", 10)
    found = take(make_corpus(0, 1000), seed=0)
    assert len(found.forms) <= 10
    assert found.forms["the"] > 1000
    assert found.forgotten > 0


def test_kinds_of_trees_do_not_mix(take: Take) -> None:
    penn = parse_tree("(S (NP (NNS Dogs)) (VP (VBP bark)) (. .))")
    other = ParsedSentence(("Go", "!"), ("VERB", "PUNCT"), None, (0, 1), ("root", "punct"))
    with pytest.raises(ProbingError, match="constituents and dependencies in one corpus. Build from one kind at a"):
        take([penn, other])
    with pytest.raises(ProbingError, match="constituents and words in one corpus"):
        take([penn] * 500 + [ParsedSentence(("Go", "!"), ())])


def test_a_failed_survey_leaves_no_file(make_corpus: Corpus, tmp_path: Path) -> None:
    def stop() -> Iterator[survey.CorpusPart]:
        yield count_part(make_corpus(0, 10), seed=0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        survey.take_survey(stop(), tmp_path)
    assert list(tmp_path.iterdir()) == []
