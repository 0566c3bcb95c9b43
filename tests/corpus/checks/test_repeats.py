"""Repeated, leaking and contradicting sentences are found by hashes as they would be by comparing all texts."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from probing.corpus.checks.repeats import Repeats, SentenceIndex
from probing.tasks.task_file import SPLITS

Line = tuple[str, str, str]


def collect(lines: list[Line]) -> SentenceIndex:
    index = SentenceIndex()
    for number, (split, label, sentence) in enumerate(lines, 1):
        index.add(number, split, label, sentence.split(), reordered=True)
    return index


def test_a_sentence_on_several_lines() -> None:
    index = collect([("tr", "A", "x y"), ("tr", "B", "z"), ("te", "B", "x  y"), ("va", "A", "x y"), ("tr", "A", "x y")])
    assert index.duplicates("tr") == Repeats(1, (1, 5))
    assert index.duplicates("va") == index.duplicates("te") == Repeats(0)
    assert index.leaks("tr", "te") == Repeats(1, (1, 3))
    assert index.leaks("va", "te") == Repeats(1, (4, 3))
    assert index.contradictions() == Repeats(1, (1, 3))
    assert sorted(index.first_numbers().tolist()) == [1, 2]


def test_versions_are_the_same_words_in_another_order_with_another_label() -> None:
    lines = [
        ("tr", "O", "I came and she left ."),
        ("tr", "O", "she left and I came ."),
        ("tr", "I", "She left and I came ."),
        ("tr", "I", "nothing like it ."),
        ("te", "I", "I came and she left ."),
    ]
    assert collect(lines).versions() == Repeats(1, (1, 3))
    assert collect(lines[:2]).versions() == Repeats(0)


def test_no_lines_at_all() -> None:
    index = SentenceIndex()
    assert index.contradictions() == index.versions() == index.duplicates("tr") == index.leaks("tr", "te")
    assert index.contradictions() == Repeats(0)
    assert len(index.first_numbers()) == 0


LINES = st.lists(
    st.tuples(st.sampled_from(list(SPLITS)), st.sampled_from("AB"), st.text("xy ", min_size=1).filter(str.strip)),
    max_size=30,
)


@settings(max_examples=200, deadline=None)
@given(LINES)
def test_counts_are_those_of_a_slow_count(lines: list[Line]) -> None:
    index = collect(lines)
    seen: dict[tuple[str, ...], list[tuple[int, str, str]]] = {}
    for number, (split, label, sentence) in enumerate(lines, 1):
        seen.setdefault(tuple(sentence.split()), []).append((number, split, label))
    for split in SPLITS:
        inside = [[n for n, where, _ in found if where == split] for found in seen.values()]
        assert index.duplicates(split).count == sum(len(numbers) - 1 for numbers in inside if numbers)
    for one, other in combinations(SPLITS, 2):
        assert index.leaks(one, other).count == sum({one, other} <= {s for _, s, _ in found} for found in seen.values())
    assert index.contradictions().count == sum(len({label for *_, label in found}) > 1 for found in seen.values())
    assert sorted(index.first_numbers().tolist()) == [found[0][0] for found in seen.values()]
