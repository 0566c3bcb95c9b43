"""SeLen's bins and WC's targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from probing.corpus.builders import build
from probing.corpus.builders.annotations import is_word
from probing.corpus.builders.sampling import CannotBuildError, Sizes
from probing.corpus.builders.surface import _choose_targets, _fill_targets, choose_min_characters
from probing.corpus.readers import ParsedSentence

WIDE = Sizes(100_000, 10_000, 10_000)


def choose(counts: Counter[str], sizes: Sizes) -> tuple[set[str], int]:
    return _choose_targets([word for word, _ in counts.most_common() if is_word(word)], counts, 4, sizes)


def plain(words: list[str]) -> ParsedSentence:
    leaves = tuple(("X", word) for word in words)
    return ParsedSentence(tuple(words), ("X",) * len(words), ("ROOT", (("S", leaves),)))


def read(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def test_bins_of_sentence_length(tmp_path: Path) -> None:
    corpus = [plain([f"w{n}", *["x"] * (length - 1)]) for length in range(3, 31) for n in range(20)]
    sheet = build(corpus, tmp_path, train=60, dev=12, test=12, tasks=["SeLen"])
    rows = read(tmp_path / "sentence_length.txt")
    assert [sheet.tasks[0].size(split) for split in ("tr", "va", "te")] == [60, 12, 12]
    bins = {label: {len(text.split()) for _, other, text in rows if other == label} for _, label, _ in rows}
    assert {label: (min(found), max(found)) for label, found in bins.items()} == {
        "0": (5, 8),
        "1": (9, 12),
        "2": (13, 16),
        "3": (17, 20),
        "4": (21, 25),
        "5": (26, 28),
    }
    assert sheet.corpus["dropped"] == {"longer than 28 tokens": 40, "shorter than 5 tokens": 40}


def test_a_missing_length_is_the_reason(
    make_corpus: Callable[[int, int], list[ParsedSentence]], tmp_path: Path
) -> None:
    short = [sentence for sentence in make_corpus(0, 300) if len(sentence.tokens) < 26]
    sheet = build(short, tmp_path, train=60, dev=12, test=12, tasks=["SeLen"])
    assert sheet.tasks[0].reason == "no sentences of 26 to 28 tokens"


def test_targets_follow_on_the_most_frequent_words() -> None:
    counts = Counter({f"word{rank:04}": 10_000 - rank for rank in range(1, 4001)})
    targets, skipped = choose(counts, WIDE)
    assert skipped == 2000
    assert targets == {f"word{rank:04}" for rank in range(2001, 3001)}


def test_short_words_and_punctuation_are_no_targets_but_words_have_ranks() -> None:
    counts = Counter({f"word{rank:04}": 10_000 - rank for rank in range(1, 4001)})
    counts.update({"...": 50_000, "----": 40_000, "abc": 7_900})
    targets, skipped = choose(counts, WIDE)
    assert skipped == 2000
    assert "abc" not in targets
    assert len(targets) == 1000


def test_a_small_corpus_has_fewer_targets_at_lower_ranks() -> None:
    counts = Counter({f"word{rank:04}": 6000 // rank for rank in range(1, 4001)})
    targets, skipped = choose(counts, WIDE)
    assert skipped == 2 * len(targets) < 200
    assert min(counts[word] for word in targets) >= 24


def test_small_sizes_have_room_for_few_targets() -> None:
    counts = Counter({f"word{rank:04}": 10_000 - rank for rank in range(1, 4001)})
    assert len(choose(counts, Sizes(2000, 200, 200))[0]) == 40
    assert len(choose(counts, Sizes(400, 40, 40))[0]) == 10
    with pytest.raises(CannotBuildError, match="room for 9 target words; at least 10 are needed, 100 tr, 10 va, 10 te"):
        choose(counts, Sizes(99, 40, 40))
    with pytest.raises(CannotBuildError, match="no 10 words of middle frequency occur 24 times or more"):
        choose(Counter({"word": 100}), WIDE)


def test_short_words_are_targets_where_all_words_are_short() -> None:
    assert choose_min_characters(["word"] * 30 + ["a"] * 70) == 4
    assert choose_min_characters(["谢谢"] * 80 + ["一二三四"] * 20) == 2


def test_targets_that_cannot_be_filled_are_left_out() -> None:
    available = {f"w{number:02}": 100 for number in range(20)} | {"rare": 5}
    assert len(_fill_targets(available, WIDE)) == 20
    with pytest.raises(CannotBuildError, match="only 1 target words have 12 sentences without another target"):
        _fill_targets({"word": 100, "rare": 5}, WIDE)


def test_a_sentence_holds_one_target_once(
    make_corpus: Callable[[int, int], list[ParsedSentence]], tmp_path: Path
) -> None:
    sheet = build(make_corpus(5, 4000), tmp_path, train=500, dev=50, test=50, tasks=["WC"])
    assert sheet.tasks[0].reason is None
    rows = read(tmp_path / "word_content.txt")
    targets = {label for _, label, _ in rows}
    assert len(targets) >= 10
    for _, label, text in rows:
        assert [word for word in text.lower().split() if word in targets] == [label]
