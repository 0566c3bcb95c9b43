"""TrDep's decorrelated sample, ToCo's classes and BShif's swaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probing.corpus.builders import build
from probing.corpus.builders.sampling import CannotBuildError
from probing.corpus.builders.syntactic import decorrelate, swap, swappable
from probing.corpus.readers import ParsedSentence
from probing.corpus.readers.brackets import parse_tree
from probing.statistics.correlation import pearson


def correlate(cells: dict[tuple[int, int], int]) -> float:
    """Return Pearson's r of depth and length; 0 where it is not defined."""
    return pearson([depth for depth, _ in cells], [length for _, length in cells], list(cells.values())) or 0.0


def corpus_of_shapes(scale: int) -> dict[tuple[int, int], int]:
    """Return a corpus in which deeper trees are longer."""
    return {
        (depth, length): max(1, int(scale * np.exp(-((length - 1.5 * depth) ** 2) / 20)))
        for depth in range(5, 13)
        for length in range(6, 24)
    }


def test_the_sample_of_depths_hardly_correlates_with_length() -> None:
    available = corpus_of_shapes(1000)
    assert correlate(available) > 0.4
    cells, _ = decorrelate(available, 3000)
    assert correlate(cells) <= 0.1001
    assert all(cells[cell] <= available[cell] for cell in cells)
    assert 1000 < sum(cells.values()) <= 3000


def test_a_large_corpus_gives_the_gaussian_itself() -> None:
    cells, tilt = decorrelate(dict.fromkeys(corpus_of_shapes(1), 100_000), 10_000)
    assert tilt == 0
    assert sum(cells.values()) == 10_000
    by_depth = [sum(count for (depth, _), count in cells.items() if depth == wanted) for wanted in range(5, 13)]
    assert by_depth == pytest.approx(by_depth[::-1], abs=3), "symmetric about the mean"
    assert by_depth.index(max(by_depth)) in (3, 4)


@settings(deadline=None)
@given(st.integers(1, 400), st.integers(30, 2000))
def test_any_sample_keeps_within_the_corpus(scale: int, size: int) -> None:
    available = corpus_of_shapes(scale)
    cells, _ = decorrelate(available, size)
    assert correlate(cells) <= 0.1001
    assert sum(cells.values()) <= size
    assert all(0 <= count <= available[cell] for cell, count in cells.items())


def test_depths_that_follow_from_lengths_cannot_be_sampled() -> None:
    with pytest.raises(CannotBuildError, match="no 30 sentences whose depth and length do not correlate"):
        decorrelate({(depth, depth): 100 for depth in range(6, 13)}, 1000)
    with pytest.raises(CannotBuildError, match="no sentences within the bounds of depth and length"):
        decorrelate({}, 1000)


def test_the_nineteen_most_frequent_sequences_and_other(tmp_path: Path) -> None:
    corpus = []
    for kind in range(25):
        for number in range(60 - kind):
            middle = " ".join(f"(X{kind} a{number}b{kind})" for _ in range(2))
            corpus.append(parse_tree(f"(S (NP (PRP it)) {middle} (VP (VBZ is)) (. .))"))
    sheet = build(corpus, tmp_path, train=200, dev=20, test=20, tasks=["ToCo"]).tasks[0]
    assert set(sheet.counts["tr"]) == {f"NP_X{kind}_X{kind}_VP_." for kind in range(19)} | {"OTHER"}
    assert set(sheet.counts["tr"].values()) == {10}
    assert (tmp_path / "top_constituents.txt").read_text(encoding="utf-8").count("\tOTHER\t") == 12


def test_a_sentence_that_comes_again_makes_no_class(tmp_path: Path) -> None:
    corpus = [parse_tree("(S (INTJ (UH No)) (VP (VBZ is) (RB not) (JJ so)) (. .))")] * 150
    for kind in range(3):
        corpus += [parse_tree(f"(S (NP (PRP it)) (X{kind} a{kind}b{n}) (VP (VBZ is) (JJ b)) (. .))") for n in range(30)]
    sheet = build(corpus, tmp_path / "many", train=60, dev=6, test=6, tasks=["ToCo"]).tasks[0]
    assert sheet.counts["tr"] == {f"NP_X{kind}_VP_.": 20 for kind in range(3)}
    corpus += [parse_tree(f"(S (NP (PRP it)) (X{n} c{n}) (VP (VBZ is) (JJ b)) (. .))") for n in range(3, 14)]
    sheet = build(corpus, tmp_path / "rest", train=40, dev=4, test=4, tasks=["ToCo"]).tasks[0]
    assert sheet.counts["tr"] == {"OTHER": 10, **{f"NP_X{kind}_VP_.": 10 for kind in range(3)}}
    assert "\tOTHER\tNo is not so .\n" in (tmp_path / "rest" / "top_constituents.txt").read_text(encoding="utf-8")


def sequences(*numbers: int) -> list[ParsedSentence]:
    """Return as many sentences of each of some sequences as the numbers say."""
    return [
        parse_tree(f"(S (NP (PRP it)) (X{kind} a{n}) (VP (VBZ is) (JJ b{kind})) (. .))")
        for kind, number in enumerate(numbers)
        for n in range(number)
    ]


@pytest.mark.parametrize(
    ("numbers", "classes", "imbalance", "lines"),
    [
        ((2000,) * 8, 8, 1, 16_000),
        # without the rarest ones, and the others a few times as frequent
        ((3000, 2000, 900, 800, 700, 600, 40, 30), 6, 3, 6_600),
        # a class that would cost too much
        ((4000, 4000, 14, 14, 14), 2, 1, 8_000),
    ],
)
def test_scarce_classes_are_fewer_or_unequal_whatever_informs_most(
    tmp_path: Path, numbers: tuple[int, ...], classes: int, imbalance: int, lines: int
) -> None:
    sheet = build(sequences(*numbers), tmp_path, tasks=["ToCo"]).tasks[0]
    assert (sheet.settings["classes"], sheet.settings["imbalance"]) == (classes, imbalance)
    assert sum(map(sheet.size, sheet.counts)) == pytest.approx(lines, rel=0.02)
    chosen = sheet.settings.get("chosen", "")
    assert (f"{classes} classes" in chosen) == (classes < len(numbers))
    assert (f"up to {imbalance} times" in chosen) == (imbalance > 1)
    assert chosen in (tmp_path / "datasheet.md").read_text(encoding="utf-8")


def test_the_users_own_imbalance_is_kept(tmp_path: Path) -> None:
    sheet = build(sequences(3000, 2000, 900, 300), tmp_path, tasks=["ToCo"], imbalance=2).tasks[0]
    assert sheet.settings["imbalance"] == 2
    assert "times" not in sheet.settings["chosen"]


def test_too_few_sequences_are_the_reason(tmp_path: Path) -> None:
    corpus = [parse_tree(f"(S (NP (PRP it)) (VP (VBZ is) (RB not) (JJ a{n})) (. .))") for n in range(50)]
    sheet = build(corpus, tmp_path, train=20, dev=2, test=2, tasks=["ToCo"]).tasks[0]
    assert sheet.reason == "fewer than two sequences have 12 sentences or more"


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("a b c d", [1, 2]),
        ("a b c .", [1]),
        ("a b , c d .", [3]),
        ("a that That b", [2]),
        ("a b", []),
        ("he 's done .", [1]),
    ],
)
def test_what_may_be_swapped(text: str, places: list[int]) -> None:
    assert list(swappable(tuple(text.split()))) == places


def test_swap() -> None:
    assert swap(("a", "b", "c", "d"), 1) == ("a", "c", "b", "d")


def test_shifted_sentences_are_one_swap_away_from_a_real_one(
    make_corpus: Callable[[int, int], list[ParsedSentence]], tmp_path: Path
) -> None:
    corpus = make_corpus(2, 400)
    quoted = [ParsedSentence(('"', *s.tokens[1:]), s.tags, s.tree) for s in corpus[:50]]
    sheet = build([*corpus, *quoted], tmp_path, train=200, dev=20, test=20, tasks=["BShif"]).tasks[0]
    known = {sentence.tokens for sentence in corpus}
    counts: Counter[str] = Counter()
    for line in (tmp_path / "bigram_shift.txt").read_text(encoding="utf-8").splitlines():
        _, label, text = line.split("\t")
        tokens = tuple(text.split())
        counts[label] += 1
        if label == "O":
            assert tokens in known
        else:
            assert tokens not in known
            assert any(swap(tokens, place) in known for place in range(1, len(tokens) - 1))
    assert counts == {"I": 120, "O": 120}
    assert sheet.dropped["double quotes"] == 50
